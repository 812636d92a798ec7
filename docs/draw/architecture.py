"""Draw the packages of suffice as a house, and the path of one explanation through it.

    python -m docs.draw.architecture

A storey is a run of layers of import-linter's contract in `pyproject.toml`, so imports point down
or stay on their storey. A room is a package or a module. The more lines, the higher the storey and
the wider the room, but every room is wide enough for its name. Thin lines are imports, from the
roof down. The numbered path is a trace of `Explainer.explain`. The picture holds the facts it was
drawn from, and the same facts give the same bytes.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "suffice"
PICTURE = ROOT / "docs" / "pictures" / "architecture.svg"

STOREYS = {
    "Ways in": "__main__",
    "Show": "plots",
    "Many decisions": "audit",
    "Questions": "ranking",
    "Search": "search",
    "Framework": "basis",
    "Foundation": "tables",
}
"""Storeys by the first module of their uppermost layer."""

PURPOSES = {
    "cli": "the command",
    "web": "the explorer",
    "testing": "checks for extensions",
    "plots": "figures",
    "report": "HTML pages, terminal, notebook",
    "summary": "explanations in words",
    "audit": "cohorts, reliance, drift, grades, records",
    "batch": "whole tables to Parquet, in processes or on a cluster",
    "explainer": "Explainer",
    "image": "regions",
    "text": "words",
    "explanation": "the result and its two views",
    "recourse": "cheapest changes",
    "rules": "anchors",
    "causation": "probabilities of causation",
    "attribution": "Shapley values",
    "engines": "outcomes of hybrids: trees, additive models, text pipelines, any model",
    "search": "exhaustive, streamed, bounds, pruned, greedy, anytime",
    "context": "how input and references mix",
    "models": "adapters of model libraries",
    "factors": "feature sets and orders",
    "tables": "pandas, polars, arrow, numpy",
}
"""What a room is for, where it is wide enough to say it."""

WIDTH, LEFT, TOP, GAP = 1100, 146, 84, 30
LEAST_WIDE, LEAST_HIGH, ROOMS_HIGH = 99, 54, 600
RADIUS = 11


@dataclass(frozen=True)
class Facts:
    """The facts that the picture shows."""

    layers: tuple[tuple[str, ...], ...]
    """From the top down; modules of one layer may not import each other."""
    imports: frozenset[tuple[str, str]]
    """Pairs of an importing and an imported module."""
    sizes: Mapping[str, int]
    """Lines of each module or package."""
    path: Mapping[str, str]
    """Modules that an explanation enters, in order, each with the file that it enters first."""

    def storeys(self) -> dict[str, list[str]]:
        """Return the modules of each storey, from the top down."""
        names = {first: name for name, first in STOREYS.items()}
        found: dict[str, list[str]] = {}
        current = ""
        for layer in self.layers:
            current = names.get(layer[0], current)
            found.setdefault(current, []).extend(layer)
        return found

    def to_json(self) -> str:
        """Return the facts as JSON, for the metadata of the picture."""
        imports = sorted(self.imports)
        return json.dumps([self.layers, imports, dict(self.sizes), dict(self.path)])

    @classmethod
    def from_json(cls, text: str) -> Facts:
        """Read what `to_json` wrote."""
        layers, imports, sizes, path = json.loads(text)
        pairs = frozenset((who, whom) for who, whom in imports)
        return cls(tuple(map(tuple, layers)), pairs, sizes, path)


def read_facts() -> Facts:
    """Read layers, imports and sizes from the sources, and trace one explanation."""
    layers = read_layers()
    modules = {module for layer in layers for module in layer}
    return Facts(layers, read_imports(modules), read_sizes(modules), read_path())


def read_layers() -> tuple[tuple[str, ...], ...]:
    """Return the layers that `make lint` checks."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = settings["tool"]["importlinter"]["contracts"]
    return tuple(tuple(layer.split(" | ")) for layer in contract["layers"])


def read_imports(modules: set[str]) -> frozenset[tuple[str, str]]:
    """Return the imports between modules, those in functions included, as import-linter does."""
    import grimp

    graph = grimp.build_graph("suffice", cache_dir=None)
    pairs = (
        (_room_of(who), _room_of(whom))
        for who in graph.modules
        for whom in graph.find_modules_directly_imported_by(who)
    )
    return frozenset((a, b) for a, b in pairs if a != b and {a, b} <= modules)


def read_sizes(modules: set[str]) -> dict[str, int]:
    """Return the lines of each module, or of all files of a package."""
    sizes = dict.fromkeys(sorted(modules), 0)
    for file in PACKAGE.rglob("*.py"):
        room = file.relative_to(PACKAGE).parts[0].removesuffix(".py")
        if room in sizes:
            sizes[room] += file.read_text(encoding="utf-8").count("\n")
    return sizes


def read_path() -> dict[str, str]:
    """Trace an explanation of a forest's decision, read as trees."""
    from sklearn.ensemble import RandomForestClassifier
    from tools.house import files_entered

    from suffice import Explainer, datasets

    X, y = datasets.loans()
    X = X[["age", "income", "debt", "late payments"]]
    forest = RandomForestClassifier(20, random_state=0).fit(X, y)
    explainer = Explainer(forest, X, engine="trees")
    path: dict[str, str] = {}
    for file in files_entered(lambda: explainer.explain(X.iloc[8])):
        path.setdefault(Path(file).parts[0].removesuffix(".py"), file)
    return path


def _room_of(module: str) -> str:
    return [*module.split("."), ""][1]


@dataclass(frozen=True)
class Room:
    """A rectangle of the picture."""

    name: str
    x: int
    y: int
    wide: int
    high: int

    @property
    def badge(self) -> tuple[int, int]:
        """Where the number of the path stands."""
        return self.x + self.wide - RADIUS - 6, self.y + self.high - RADIUS - 6


STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #1c2330 }
  .paper { fill: #ffffff }
  .room { fill: #eef1f6; stroke: #c3cbd8 }
  .lit { fill: #dcecf8; stroke: #7fb3d8 }
  .import { fill: none; stroke: #8a95a6; opacity: 0.35 }
  .path { fill: none; stroke: #0072b2; stroke-width: 2.5; opacity: 0.6 }
  .badge { fill: #0072b2 }
  .number { fill: #ffffff; font-size: 12px; text-anchor: middle }
  .name { font-size: 14px; font-weight: 600 }
  .soft { fill: #5b6575; font-size: 11.5px }
  .storey { fill: #5b6575; font-weight: 600 }
  .title { font-size: 18px; font-weight: 600 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6eaf2 }
    .paper { fill: #12161d }
    .room { fill: #1b222d; stroke: #3a4557 }
    .lit { fill: #16304a; stroke: #3d78a8 }
    .import { stroke: #78849a }
    .path { stroke: #56b4e9 }
    .badge { fill: #56b4e9 }
    .number { fill: #101010 }
    .soft, .storey { fill: #a3adbd }
  }
"""


def drawing(facts: Facts) -> str:
    """Return the picture as SVG."""
    rooms = {room.name: room for room in _rooms(facts)}
    bottom = max(room.y + room.high for room in rooms.values())
    height = bottom + 40 + 18 * -(-len(facts.path) // 3) + 26
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}" role="img" aria-labelledby="t d">',
        '<title id="t">The packages of suffice</title>',
        f'<desc id="d">An explanation enters, in this order: {", ".join(facts.path)}.</desc>',
        f"<metadata>{facts.to_json()}</metadata>",
        f"<style>{STYLE}</style>",
        f'<rect class="paper" width="{WIDTH}" height="{height}"/>',
        '<text class="title" x="20" y="34">The packages of suffice, and the path of '
        "explainer.explain(x) through them</text>",
        '<text class="soft" x="20" y="56">Rooms are as large as they have lines; thin lines are '
        "imports, which only point down or stay on a storey.</text>",
    ]
    out += [_import(rooms[a], rooms[b]) for a, b in sorted(facts.imports)]
    for storey, names in facts.storeys().items():
        first = rooms[names[0]]
        out.append(f'<text class="storey" x="20" y="{first.y + 22}">{storey}</text>')
    way = [rooms[name] for name in facts.path]
    out += [_rectangle(room, lit=room in way) for room in rooms.values()]
    out += _path_lines(way)  # above the rooms, below the text
    for name, room in rooms.items():
        out += _room_text(room, facts.sizes[name])
    out += _badges(way)
    out += _legend(facts.path, bottom + 40)
    return "\n".join([*out, "</svg>", ""])


def _rooms(facts: Facts) -> Iterator[Room]:
    """Lay out the rooms: a storey's height and a room's width are shares of the lines."""
    total = sum(facts.sizes.values())
    y, room_for_rooms = TOP, WIDTH - LEFT - 20
    for names in facts.storeys().values():
        lines = sum(facts.sizes[name] for name in names)
        high = max(LEAST_HIGH, round(ROOMS_HIGH * lines / total))
        # Every room is wide enough for its name; what is left is shared out by lines.
        spare = room_for_rooms - LEAST_WIDE * len(names) - 8 * (len(names) - 1)
        x = LEFT
        for name in names:
            wide = LEAST_WIDE + round(spare * facts.sizes[name] / lines)
            yield Room(name, x, y, wide, high)
            x += wide + 8
        y += high + GAP


def _import(who: Room, whom: Room) -> str:
    """Draw one import as a curve from the floor of a room to the ceiling of the other."""
    x1, x2 = who.x + who.wide // 2, whom.x + whom.wide // 2
    if who.y == whom.y:  # neighbours on one storey: an arc below both
        y = who.y + who.high
        return f'<path class="import" d="M{x1} {y} C{x1} {y + GAP} {x2} {y + GAP} {x2} {y}"/>'
    y1, y2 = who.y + who.high, whom.y
    middle = (y1 + y2) // 2
    return f'<path class="import" d="M{x1} {y1} C{x1} {middle} {x2} {middle} {x2} {y2}"/>'


def _rectangle(room: Room, lit: bool) -> str:
    kind = "room lit" if lit else "room"
    place = f'x="{room.x}" y="{room.y}" width="{room.wide}" height="{room.high}"'
    return f'<rect class="{kind}" {place} rx="5"/>'


def _room_text(room: Room, lines: int) -> Iterator[str]:
    yield f'<text class="name" x="{room.x + 9}" y="{room.y + 22}">{room.name}</text>'
    texts = [*_wrapped(PURPOSES.get(room.name, ""), (room.wide - 16) // 6), f"{lines:,} lines"]
    fitting = texts if len(texts) * 15 <= room.high - 30 else texts[-1:]
    for i, text in enumerate(fitting):
        yield f'<text class="soft" x="{room.x + 9}" y="{room.y + 39 + 15 * i}">{text}</text>'


def _wrapped(text: str, width: int) -> list[str]:
    """Break a text into lines of at most `width` letters; none if a word is longer."""
    from textwrap import wrap

    return wrap(text, width) if text and max(map(len, text.split())) <= width else []


def _path_lines(rooms: list[Room]) -> Iterator[str]:
    for a, b in pairwise(rooms):
        (x1, y1), (x2, y2) = a.badge, b.badge
        # Bent to one side, so that the way there and the way back are two lines.
        bend = (x1 + x2) // 2 + (y2 - y1) // 5, (y1 + y2) // 2 - (x2 - x1) // 5
        yield f'<path class="path" d="M{x1} {y1} Q{bend[0]} {bend[1]} {x2} {y2}"/>'


def _badges(rooms: list[Room]) -> Iterator[str]:
    for step, room in enumerate(rooms, start=1):
        x, y = room.badge
        yield f'<circle class="badge" cx="{x}" cy="{y}" r="{RADIUS}"/>'
        yield f'<text class="number" x="{x}" y="{y + 4}">{step}</text>'


def _legend(path: Mapping[str, str], y: int) -> Iterator[str]:
    """List the file by which the path enters each room, in three columns."""
    yield f'<text class="storey" x="20" y="{y}">Enters by</text>'
    rows = -(-len(path) // 3)
    for i, file in enumerate(path.values()):
        x, down = LEFT + (i // rows) * 310, y + 18 * (i % rows)
        yield f'<text class="soft" x="{x}" y="{down}">{i + 1}  {file}</text>'


def committed_facts() -> Facts:
    """Return the facts that the committed picture was drawn from."""
    (found,) = re.findall("<metadata>(.*?)</metadata>", PICTURE.read_text(encoding="utf-8"))
    return Facts.from_json(found)


def main(*_: Any) -> None:
    """Draw the picture again."""
    PICTURE.write_text(drawing(read_facts()), encoding="utf-8")
    print(PICTURE.relative_to(ROOT))


if __name__ == "__main__":
    main()
