"""Texts, terminal screens, notebook cells and pages of results; many explanations in one page.

The public function `suffice.report` is `suffice.report.render_result.report`. It has this package's
name, and lazy-loader keeps it the function whichever module of the package was imported first.
"""
