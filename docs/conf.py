"""Sphinx settings."""

project = "suffice"
copyright = "the suffice contributors"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
default_role = "code"
myst_heading_anchors = 3
html_theme = "furo"
html_title = "suffice"
autodoc_member_order = "bysource"
autodoc_typehints = "description"
exclude_patterns = ["_build"]
suppress_warnings = ["myst.header"]
nitpicky = False
