"""Sphinx settings."""

import sys
from pathlib import Path

project = "suffice"
copyright = "the suffice contributors"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
default_role = "code"
myst_heading_anchors = 3
html_theme = "furo"
html_title = "suffice"
autodoc_member_order = "bysource"
autodoc_typehints = "description"
exclude_patterns = ["_build", "_generated"]
suppress_warnings = ["myst.header"]
nitpicky = False

_GENERATED = Path(__file__).parent / "_generated"


def setup(app):
    """Make the figures once: the timings of "How it is fast" are measured on this machine."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    timings, dag = _GENERATED / "time-against-d.svg", _GENERATED / "german-dag.svg"
    digits = _GENERATED / "digit-regions.png"
    if not timings.exists():
        from benchmarks.time_against_d import draw, measure

        draw(measure(), timings)
    if not dag.exists():
        from experiments.german.causal import draw as draw_dag

        draw_dag(dag)
    if not digits.exists():
        from docs.draw_digits import draw as draw_digits

        draw_digits(digits)
    from docs.figures_of_results import collect

    collect(_GENERATED / "results")
