"""The drawing in ARCHITECTURE is what the code says today."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

pytest.importorskip(
    "grimp", reason="grimp, which reads imports for import-linter, is not installed"
)

from docs.draw.architecture import PICTURE, Facts, drawing, read_imports, read_layers

ROOT = Path(__file__).parents[1]
AGAIN = "the code has changed: run python -m docs.draw.architecture, and look at it"


@pytest.mark.slow
def test_the_committed_drawing_is_what_the_code_says() -> None:
    """In a process of its own: the way is traced, and other tests leave things loaded."""
    code = "from docs.draw.architecture import drawing, facts; print(drawing(facts()), end='')"
    command = [sys.executable, "-c", code]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    assert ran.stdout.decode() == PICTURE.read_text(encoding="utf-8"), AGAIN


def test_imports_are_drawn_where_the_layers_allow_them() -> None:
    layers = read_layers()
    modules = {module for layer in layers for module in layer}
    imports = read_imports(modules)
    told = Facts(layers, imports, {"explainer": "explainer.py"})
    assert ("explainer", "search") in imports and ("search", "explainer") not in imports
    assert all(told.may_import(who, whom) for who, whom in imports)
    package = ROOT / "src" / "suffice"
    there = {p.stem for p in package.glob("*.py")} | {
        p.parent.name for p in package.glob("*/__init__.py")
    }
    assert modules == there - {"__init__", "datasets", "suffice"}


def test_every_import_is_one_square_and_every_step_one_number() -> None:
    layers = ("a",), ("b", "c"), ("d",)
    way = {"a": "a.py", "d": "d/first.py"}
    told = Facts(layers, frozenset({("a", "b"), ("a", "d"), ("c", "d")}), way)
    assert told.may_import("a", "d") and not told.may_import("b", "c")
    picture = ElementTree.fromstring(drawing(Facts(layers, told.imports, way), below="b"))
    kinds = [e.get("class") for e in picture.iter("{http://www.w3.org/2000/svg}rect")]
    legend = 1
    assert kinds.count("way") == 1 + legend  # a imports d, both on the way
    assert kinds.count("does") == 2 + legend
    assert kinds.count("may") == 2 + legend  # a may import c, b may import d
    words = [e.text for e in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert "d/first.py" in words and words.count("2") == 2


def test_architecture_shows_the_drawing() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    assert f"({PICTURE.relative_to(ROOT)})" in text
