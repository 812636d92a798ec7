"""What holds for every test, those in the sources and in the guide included."""

import sys

import pytest

# What a build of the documentation leaves there.
collect_ignore = ["docs/_build", "docs/gallery"]


@pytest.fixture(autouse=True)
def closed_figures():
    """No figure of one test stays open in the next."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
