"""A page for a board, and a notebook cell: self-contained, light and dark, nothing fetched."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any

from suffice.explanation import Explanation
from suffice.report.excerpt import excerpt
from suffice.summary import Bar, Summary, ViewSummary, percent, summarise

__all__ = ["Barcode", "Curve", "barcode", "curve", "fragment", "page"]

_FACTORS_SHOWN = 25


@dataclass(frozen=True)
class Barcode:
    """What the barcode draws: each bar's place on a scale of 0 to 100, surest first."""

    bars: tuple[Bar, ...]
    left_out: int


@dataclass(frozen=True)
class Curve:
    """What the curve draws: the corners of a falling step function, in percent."""

    points: tuple[tuple[float, float], ...]


def page(explanation: Explanation) -> str:
    """A whole HTML document."""
    return _render("page.html.j2", summarise(explanation))


def fragment(explanation: Explanation) -> str:
    """A piece of HTML that brings its own style, for a notebook."""
    return _render("fragment.html.j2", summarise(explanation))


def barcode(view: ViewSummary) -> Barcode:
    """The bars to draw; those left out are counted, not forgotten."""
    return Barcode(view.bars, view.n_bars - len(view.bars))


def curve(view: ViewSummary) -> Curve:
    """Cumulative PN against τ: constant up to each step's τ, then falling to the next's."""
    points: list[tuple[float, float]] = []
    before = 0.0
    for tau, necessity in view.curve:
        points += [(100 * before, 100 * necessity), (100 * tau, 100 * necessity)]
        before = tau
    points += [(100 * before, 0.0), (100.0, 0.0)] if before < 1 else []
    return Curve(tuple(points))


def _render(template: str, summary: Summary) -> str:
    text: str = _environment().get_template(template).render(s=summary)
    return text


@lru_cache(maxsize=1)
def _environment() -> Any:
    from jinja2 import DictLoader, Environment, StrictUndefined

    folder = resources.files("suffice.report") / "templates"
    files = {item.name: item.read_text(encoding="utf-8") for item in folder.iterdir()}
    environment = Environment(
        loader=DictLoader(files),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {
        "barcode": barcode,
        "curve": curve,
        "excerpt": excerpt,
        "factors_shown": _FACTORS_SHOWN,
    }
    environment.filters["percent"] = percent
    return environment
