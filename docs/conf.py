"""Sphinx settings. A build runs the gallery's examples, and measures and downloads nothing."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from sphinx_gallery.sorting import ExplicitOrder

import suffice

project = "suffice"
copyright = "the suffice contributors"
version = release = suffice.__version__
extensions = [
    "docs.mathml",
    "myst_parser",
    "sphinx.ext.autodoc",
    "docs.blocks",
    "docs.docstrings",
    "docs.images",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
default_role = "code"
exclude_patterns = ["_build"]
nitpicky = False

myst_enable_extensions = ["attrs_block", "attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
suppress_warnings = ["config.cache", "myst.header"]

autodoc_member_order = "bysource"
autodoc_typehints = "description"

html_theme = "furo"
html_title = "suffice"
pygments_dark_style = "github-dark"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"
html_show_sphinx = False

# From one decision to many, then other kinds of models and inputs; a script that comes new is last.
_GALLERY = (
    "credit.py",
    "custom_cost.py",
    "income_recourse.py",
    "audit.py",
    "grade.py",
    "portfolio.py",
    "pipeline.py",
    "xgboost_model.py",
    "classes.py",
    "regression.py",
    "breast_cancer.py",
    "causal.py",
    "auxiliaries.py",
    "sentiment.py",
    "spam.py",
    "digits.py",
    "*",
)

# What is copied can be pasted: prompts are left behind, and so is what is printed.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "within_subsection_order": ExplicitOrder(_GALLERY),
    # It needs a cluster.
    "ignore_pattern": r"__init__\.py|portfolio_on_dask\.py",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "min_reported_time": 1_000_000,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "remove_config_comments": True,
    "image_scrapers": ("matplotlib",),
    "matplotlib_animations": False,
}
