"""The drawing in ARCHITECTURE: who may import whom, who does, and the way of an explanation.

    python -m docs.draw.architecture

All of it is read from the code: the layers from import-linter's contract in `pyproject.toml`, the
imports from the sources, the way from a trace of `Explainer.explain`. The picture is text with
whole numbers, so that the same code gives the same bytes.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PICTURE = ROOT / "docs" / "pictures" / "architecture.svg"

CELL, LEFT, TOP = 20, 160, 148
BADGE = 34
"""Where the numbers of the way stand."""


@dataclass(frozen=True)
class Facts:
    """What is drawn."""

    layers: tuple[tuple[str, ...], ...]
    """From the top down; modules of one layer may not import each other."""
    imports: frozenset[tuple[str, str]]
    """(who, whom), between two of them."""
    way: Mapping[str, str]
    """The modules that an explanation enters, in the order in which it first does; and the file of
    each that it enters first."""

    @property
    def modules(self) -> tuple[str, ...]:
        return tuple(module for layer in self.layers for module in layer)

    def may_import(self, who: str, whom: str) -> bool:
        """Is the one in a layer above the other's?"""
        place = {module: i for i, layer in enumerate(self.layers) for module in layer}
        return place[who] < place[whom]


def facts() -> Facts:
    layers = read_layers()
    modules = {module for layer in layers for module in layer}
    return Facts(layers, read_imports(modules), read_way())


def read_layers() -> tuple[tuple[str, ...], ...]:
    """The layers that `make lint` checks."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = settings["tool"]["importlinter"]["contracts"]
    return tuple(tuple(layer.split(" | ")) for layer in contract["layers"])


def read_imports(modules: set[str]) -> frozenset[tuple[str, str]]:
    """Who imports whom, as import-linter sees it: imports inside functions count."""
    import grimp

    graph = grimp.build_graph("suffice", cache_dir=None)
    pairs = (
        (_room(who), _room(whom))
        for who in graph.modules
        for whom in graph.find_modules_directly_imported_by(who)
    )
    return frozenset((a, b) for a, b in pairs if a != b and {a, b} <= modules)


def read_way() -> dict[str, str]:
    """By an explanation of a forest's decision, read as trees whatever the machine's pace."""
    from sklearn.ensemble import RandomForestClassifier
    from tools.files_on_path import files_in_order

    from suffice import Explainer, datasets

    X, y = datasets.loans()
    X = X[["age", "income", "debt", "late payments"]]
    forest = RandomForestClassifier(20, random_state=0).fit(X, y)
    explainer = Explainer(forest, X, engine="trees")
    files = files_in_order(lambda: explainer.explain(X.iloc[8]))
    way: dict[str, str] = {}
    for file in files:
        way.setdefault(Path(file).parts[0].removesuffix(".py"), file)
    return way


def _room(module: str) -> str:
    return [*module.split("."), ""][1]


STYLE = """
  .paper { fill: #ffffff } .band { fill: #f3f5f8 } .may { fill: #bcc5d2 } .does { fill: #8a95a6 }
  .way { fill: #0072b2 } text { font: 13px system-ui, sans-serif; fill: #1c2330 }
  .soft { fill: #5b6575; font-size: 12px } .title { font-size: 17px; font-weight: 600 }
  .on { font-weight: 600 } .number { fill: #ffffff; font-size: 11px; text-anchor: middle }
  @media (prefers-color-scheme: dark) {
    .paper { fill: #12161d } .band { fill: #191f29 } .may { fill: #414b5c } .does { fill: #78849a }
    .way { fill: #56b4e9 } text { fill: #e6eaf2 } .soft { fill: #a3adbd } .number { fill: #101010 }
  }
"""


def drawing(told: Facts, below: str = "inference") -> str:
    """The picture as SVG; the way is told from the row of the module `below` on."""
    modules, steps = told.modules, list(told.way)
    row = {module: TOP + CELL * i for i, module in enumerate(modules)}
    side = CELL * len(modules)
    width, height = LEFT + side + 20, TOP + side + 92
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img" aria-labelledby="t d">',
        '<title id="t">The modules of suffice</title>',
        f'<desc id="d">An explanation enters, in this order: {", ".join(told.way)}.</desc>',
        f"<style>{STYLE}</style>",
        f'<rect class="paper" width="{width}" height="{height}"/>',
        '<text class="title" x="20" y="32">The way of an explanation, and who imports whom</text>',
    ]
    for i, layer in enumerate(told.layers):
        if i % 2 == 0:
            high = CELL * len(layer)
            wide = LEFT + side - BADGE + 14
            y = row[layer[0]]
            place = f'x="{BADGE - 14}" y="{y}" width="{wide}" height="{high}"'
            out.append(f'<rect class="band" {place}/>')
    for who in modules:
        step = steps.index(who) + 1 if who in steps else 0
        middle = row[who] + CELL // 2
        if step:
            out.append(f'<circle class="way" cx="{BADGE}" cy="{middle}" r="8"/>')
            out.append(f'<text class="number" x="{BADGE}" y="{middle + 4}">{step}</text>')
        on = ' class="on"' if step else ""
        out.append(f'<text{on} x="{BADGE + 16}" y="{middle + 5}">{who}</text>')
        column = LEFT + CELL * modules.index(who)
        out.append(
            f'<text{on} transform="translate({column + 14},{TOP - 8}) rotate(-60)">{who}</text>'
        )
        out += _cells(told, who, row[who])
    out += _way(told, row[below])
    out += _legend(TOP + side + 26)
    return "\n".join([*out, "</svg>", ""])


def _cells(told: Facts, who: str, y: int) -> list[str]:
    """What one module may import, and what it does."""
    out = []
    for i, whom in enumerate(told.modules):
        if not told.may_import(who, whom):
            continue
        kind = "may"
        if (who, whom) in told.imports:
            kind = "way" if who in told.way and whom in told.way else "does"
        size, at = (16, 2) if kind != "may" else (4, 8)
        x = LEFT + CELL * i + at
        out.append(
            f'<rect class="{kind}" x="{x}" y="{y + at}" width="{size}" height="{size}" rx="2"/>'
        )
    return out


def _way(told: Facts, y: int) -> list[str]:
    """The way in words, where the drawing is empty: nobody imports what is above."""
    out = [f'<text class="soft" x="{LEFT + 8}" y="{y + 15}">explainer.explain(x) enters</text>']
    for step, file in enumerate(told.way.values(), start=1):
        at = y + CELL // 2 + CELL * step
        out.append(f'<circle class="way" cx="{LEFT + 16}" cy="{at}" r="8"/>')
        out.append(f'<text class="number" x="{LEFT + 16}" y="{at + 4}">{step}</text>')
        out.append(f'<text class="soft" x="{LEFT + 32}" y="{at + 4}">{file}</text>')
    return out


def _legend(y: int) -> list[str]:
    return [
        f'<rect class="may" x="26" y="{y - 8}" width="4" height="4" rx="2"/>',
        f'<text class="soft" x="44" y="{y}">the row’s module may import the column’s: it stands in '
        "a layer above it (bands)</text>",
        f'<rect class="does" x="20" y="{y + 10}" width="16" height="16" rx="2"/>',
        f'<text class="soft" x="44" y="{y + 23}">and does</text>',
        f'<rect class="way" x="120" y="{y + 10}" width="16" height="16" rx="2"/>',
        f'<text class="soft" x="144" y="{y + 23}">and does, both being on the way of '
        "explainer.explain(x)</text>",
        f'<circle class="way" cx="28" cy="{y + 42}" r="8"/>',
        f'<text class="number" x="28" y="{y + 46}">1</text>',
        f'<text class="soft" x="44" y="{y + 46}">the order in which the way first enters modules, '
        "and by which file</text>",
    ]


def main() -> None:
    PICTURE.write_text(drawing(facts()), encoding="utf-8")
    print(PICTURE.relative_to(ROOT))


if __name__ == "__main__":
    main()
