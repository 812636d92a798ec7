"""What holds for every test, those in the sources and in the guide included."""

import os
import sys
from pathlib import Path

import pytest

BESIDE = Path(__file__).parents[1] / "shared" / "data"
LOADERS = "adult", "german", "mails", "reviews", "words"

# What a build of the documentation leaves there, and what only a build can import; and a page that
# tests/test_audit_guide.py follows, commands and all.
collect_ignore = [
    "docs/_build",
    "docs/conf.py",
    "docs/gallery",
    "docs/guides/audit-a-credit-model.md",
]


@pytest.fixture(autouse=True)
def closed_figures():
    """No figure of one test stays open in the next."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(autouse=True)
def data_for_loaders(request, monkeypatch):
    """Examples of the loaders run where the data is."""
    path = request.node.path
    if isinstance(request.node, pytest.DoctestItem) and path.parent.name == "datasets":
        place = Path(os.environ.get("SUFFICE_DATA", BESIDE))
        if path.stem in LOADERS and not place.is_dir():
            pytest.skip("the real data sets are not here")
        monkeypatch.setenv("SUFFICE_DATA", str(place))
