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

from docs.draw.architecture import (
    PICTURE,
    PURPOSES,
    Facts,
    committed_facts,
    drawing,
    read_imports,
    read_layers,
)

ROOT = Path(__file__).parents[2]
AGAIN = "the code has changed: run python -m docs.draw.architecture, and look at the picture"


@pytest.mark.slow
def test_the_committed_drawing_shows_the_code_of_today() -> None:
    """In a process of its own: other tests load and cache what an explanation would enter."""
    code = "from docs.draw.architecture import read_facts; print(read_facts().to_json())"
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=True)
    today, shown = Facts.from_json(ran.stdout.decode()), committed_facts()
    assert (today.layers, today.imports) == (shown.layers, shown.imports), AGAIN
    assert list(today.path.items()) == list(shown.path.items()), AGAIN
    # A line more or less does not need another picture; a fifth of a package does.
    assert {
        name: (shown.sizes[name], lines)
        for name, lines in today.sizes.items()
        if abs(lines - shown.sizes[name]) > max(60, lines / 5)
    } == {}, AGAIN


def test_the_committed_drawing_is_drawn_from_its_facts() -> None:
    assert PICTURE.read_text(encoding="utf-8") == drawing(committed_facts()), AGAIN


def test_imports_are_drawn_where_the_layers_allow_them() -> None:
    layers = read_layers()
    floor = {module: i for i, layer in enumerate(layers) for module in layer}
    imports = read_imports(set(floor))
    assert ("explainer", "search") in imports and ("search", "explainer") not in imports
    assert all(floor[who] < floor[whom] for who, whom in imports)
    package = ROOT / "src" / "suffice"
    there = {p.stem for p in package.glob("*.py")} | {
        p.parent.name for p in package.glob("*/__init__.py")
    }
    assert set(floor) == there - {"__init__", "datasets", "suffice"}
    assert PURPOSES.keys() <= set(floor)


def test_every_module_is_a_room_and_every_step_a_number() -> None:
    layers = ("plots",), ("search", "engines"), ("errors",)
    imports = frozenset({("plots", "search"), ("search", "errors"), ("plots", "errors")})
    sizes = {"plots": 4000, "search": 3000, "engines": 1000, "errors": 10}
    path = {"search": "search/plan.py", "errors": "errors.py"}
    facts = Facts(layers, imports, sizes, path)
    assert Facts.from_json(facts.to_json()) == facts
    assert facts.storeys() == {"Show": ["plots"], "Search": ["search", "engines", "errors"]}
    picture = ElementTree.fromstring(drawing(facts))
    name = "{http://www.w3.org/2000/svg}"
    kinds = [e.get("class") for e in picture.iter(f"{name}rect")]
    assert kinds.count("room") == 2 and kinds.count("room lit") == 2
    curves = [e.get("class") for e in picture.iter(f"{name}path")]
    assert curves.count("import") == 3 and curves.count("path") == 1
    wide = {
        e.get("y"): int(e.get("width"))
        for e in picture.iter(f"{name}rect")
        if e.get("class") != "paper"
    }
    assert max(wide.values()) == wide[min(wide, key=int)]  # one room is as wide as its storey
    texts = [e.text for e in picture.iter(f"{name}text")]
    assert "1  search/plan.py" in texts and {"1", "2", "3,000 lines"} <= set(texts)


def test_architecture_shows_the_drawing() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    assert f"({PICTURE.relative_to(ROOT)})" in text
