"""A page for a board, and a notebook cell: self-contained, light and dark, nothing fetched."""

from __future__ import annotations

from dataclasses import dataclass

from suffice.explanation.subject import ImageSubject
from suffice.report.environment import rendered
from suffice.report.excerpt import excerpt
from suffice.summary import Bar, Summary, ViewSummary
from suffice.wording import named

__all__ = ["Barcode", "Curve", "Map", "barcode", "curve", "region_map", "render"]

_VALUES_OPEN = 20
"""More of the input's values than this are folded away."""

_PICTURE = 360
"""The longer side of a drawn picture: a page may hold fifty of them."""


@dataclass(frozen=True)
class Barcode:
    """What the barcode draws: each bar's place on a scale of 0 to 100, surest first."""

    bars: tuple[Bar, ...]
    left_out: int


@dataclass(frozen=True)
class Curve:
    """What the curve draws: the corners of a falling step function, in percent."""

    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Map:
    """The picture with its regions outlined, and where to write their labels."""

    uri: str
    width: int
    height: int
    labels: tuple[tuple[float, float, str], ...]


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


def region_map(summary: Summary) -> Map:
    """The map with its labels, in its own pixels."""
    from suffice.image.overlay import draw_map, label_places

    assert summary.picture is not None
    drawn = draw_map(summary.picture, _PICTURE)
    height, width = drawn.pixels.shape[:2]
    places = [(x * width, y * height, named(label)) for x, y, label in label_places(summary.picture)]
    return Map(drawn.uri, width, height, tuple(places))


def marked(picture: ImageSubject, regions: tuple[int, ...], view: str) -> str:
    """A factor's regions in their picture, as a data URI."""
    from suffice.image.overlay import draw_marked

    return draw_marked(picture, regions, view, _PICTURE).uri


def render(template: str, summary: Summary) -> str:
    """A page, or a piece of one, for a summary."""
    return rendered(
        template,
        s=summary,
        barcode=barcode,
        curve=curve,
        excerpt=excerpt,
        marked=marked,
        region_map=region_map,
        values_open=_VALUES_OPEN,
    )
