"""Global recourse: the changes with whom they help, and what share of each group pays how much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import floor, log10
from typing import TYPE_CHECKING, Any

from suffice.audit.recourse import GlobalRecourse
from suffice.checks import whole
from suffice.plots.canvas import Canvas, Ink, Scale, paint, require_answer
from suffice.plots.charts import (
    Amount,
    Chart,
    Heading,
    Line,
    draw_chart,
    fewest,
    share_of,
    width_of,
)
from suffice.plots.lettering import Legend
from suffice.wording import count, named, percent, price

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Burden", "Reached", "burden_of", "global_recourse"]

_EDGE, _HIGH, _BESIDE = 0.18, 1.9, 1.9
"""Inches: around, of the curves, and for the names at their ends."""
_CURVES = 6
"""Groups that are drawn, the largest; more lines cannot be told apart."""
_DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1.5, 1.5)))


@dataclass(frozen=True)
class Reached:
    """Of one group, the share that a change helps for at most so much."""

    words: str
    steps: tuple[tuple[float, float], ...]
    """(cost, share), rising."""


@dataclass(frozen=True)
class Burden:
    """The whole picture."""

    chart: Chart
    curves: tuple[Reached, ...]
    dearest: float
    notes: tuple[str, ...]


def global_recourse(result: GlobalRecourse, *, ax: Any = None, most: int = 12) -> Axes:
    """The changes, and below, of each group the share that one of them helps, by what it costs.

    A curve that ends lower leaves more out; one that rises later is of a group that pays more.

    Examples
    --------
    >>> import suffice
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = suffice.datasets.loans(200)
    >>> X = X[["income", "debt", "late payments"]]
    >>> explainer = suffice.Explainer(LogisticRegression(max_iter=1000).fit(X, y), X)
    >>> few = suffice.audit.global_recourse(explainer, X, desired="granted", max_searched=10)
    >>> ax = suffice.plots.global_recourse(few)
    """
    require_answer(result, GlobalRecourse, "what audit.global_recourse answers")
    found = burden_of(result, whole("most", most))
    return paint(ax, (width_of(found.chart), 6.0), lambda canvas: _draw(found, canvas))


def burden_of(result: GlobalRecourse, most: int = 12) -> Burden:
    """The facts of the picture: at most so many changes."""
    sheet = result.sheet
    lines = tuple(
        Line(
            fewest([move.says for move in change.moves], 4),
            (
                share_of(worth.works),
                Amount(worth.taken, f"{worth.taken:,}"),
                _paid(worth.mean_cost),
            ),
        )
        for change, worth in zip(result.changes, result.worths, strict=True)
    )
    more = len(lines) - most
    headings = (
        Heading("works for so many of the refused", "share"),
        Heading("cheapest for so many rows", "number"),
        Heading("mean cost", "number"),
    )
    told = f"and {count(more, 'more change')}: .changes" if more > 0 else ""
    largest = sorted(result.groups[1:], key=lambda g: (-g.covered.n, str(g.group)))
    names = sorted(str(g.group) for g in largest[:_CURVES])
    curves = tuple(
        _reached(named(name), [r.cost for r in result.rows if r.group == name]) for name in names
    )
    if not curves:
        taken, best = ([r.cost for r in result.rows], [r.own for r in result.rows])
        curves = _reached("these changes", taken), _reached("best of all tried", best)
    paid = [cost for curve in curves for cost, _ in curve.steps]
    hidden = len(largest) - len(names)
    notes = (f"Of {count(len(largest), 'group')} the {len(names)} largest are drawn.",)
    return Burden(
        chart=Chart(sheet.title, sheet.lead, headings, lines[:most], told, ()),
        curves=curves,
        dearest=max(paid, default=0.0),
        notes=(notes if hidden > 0 else ()) + sheet.notes,
    )


def _paid(cost: float | None) -> Amount:
    return Amount(cost, "–" if cost is None else price(cost))


def _reached(name: str, paid: Sequence[float | None]) -> Reached:
    n, costs = len(paid), sorted(cost for cost in paid if cost is not None)
    steps = {cost: (i + 1) / n for i, cost in enumerate(costs)}
    return Reached(f"{name}: {percent(len(costs) / n)} of {n:,}", (*steps.items(),))


# -- drawing ------------------------------------------------------------------------------


def _draw(found: Burden, canvas: Canvas) -> float:
    y, legend = draw_chart(found.chart, canvas), Legend(canvas.fonts)
    if any(curve.steps for curve in found.curves):
        y = _curves(found, canvas, legend, y)
    room = canvas.width - 2 * _EDGE
    for words in (*legend.told, *found.notes):
        y = canvas.paragraph(_EDGE, y + 0.02, words, room, size=7.5, color=canvas.ink.soft)
    return y + _EDGE


def _curves(found: Burden, canvas: Canvas, legend: Legend, y: float) -> float:
    ink = canvas.ink
    y = canvas.paragraph(
        _EDGE, y, "Share of the refused that a change helps, by what it costs them",
        canvas.width - 2 * _EDGE, size=9, bold=True,
    )  # fmt: skip
    top, bottom = y + 0.1, y + 0.1 + _HIGH
    beside = min(_BESIDE, 0.35 * canvas.width)
    ticks = _round_numbers(found.dearest or 1.0)
    across = Scale(0.0, ticks[-1], _EDGE + 0.42, canvas.width - _EDGE - beside)
    up = Scale(0.0, 1.0, bottom, top)
    for at in (0.0, 0.25, 0.5, 0.75, 1.0):
        level = up.at(at)
        canvas.line([across.left, across.right], [level] * 2, color=ink.line, lw=0.8, zorder=0)
        canvas.write(across.left - 0.06, level, percent(at), size=7.5, ha="right")
    canvas.line([across.left, across.right], [bottom] * 2, color=ink.soft, lw=0.8)
    for tick in ticks:
        x = across.at(tick)
        canvas.line([x, x], [bottom, bottom + 0.05], color=ink.soft, lw=0.8)
        canvas.write(x, bottom + 0.13, price(tick), size=7.5, ha="center")
    canvas.write((across.left + across.right) / 2, bottom + 0.29, "cost", size=8, ha="center",
                 color=ink.soft)  # fmt: skip
    ends = [up.at(curve.steps[-1][1] if curve.steps else 0.0) for curve in found.curves]
    for number, (curve, end, place) in enumerate(
        zip(found.curves, ends, _spread(ends, 0.17, bottom), strict=True)
    ):
        how = {"color": _color(ink, number), "ls": _DASHES[number % len(_DASHES)]}
        xs, ys = [across.at(0.0)], [up.at(0.0)]
        for cost, reached in curve.steps:
            xs += [across.at(cost)] * 2
            ys += [ys[-1], up.at(reached)]
        canvas.line([*xs, across.right], [*ys, end], lw=1.6, zorder=3, **how)
        beyond = across.right + 0.14
        canvas.line([across.right, beyond], [end, place], lw=0.8, **how | {"ls": "-"})
        (words,) = legend.fitted(canvas.fonts.told(curve.words), beside - 0.2, 8, 1)
        canvas.write(beyond + 0.04, place, words, size=8)
    return bottom + 0.44


def _color(ink: Ink, number: int) -> str:
    return (ink.keep, ink.flip, ink.other, ink.text)[number % 4]


def _round_numbers(highest: float) -> list[float]:
    """From 0 to the highest or a little more, in a few round steps.

    >>> _round_numbers(7.3), _round_numbers(0.3), _round_numbers(1200)
    ([0.0, 2.0, 4.0, 6.0, 8.0], [0.0, 0.1, 0.2, 0.3], [0.0, 500.0, 1000.0, 1500.0])
    """
    ten = 10.0 ** floor(log10(highest))
    step = next(s * ten for s in (0.1, 0.2, 0.5, 1.0, 2.0, 5.0) if highest / (s * ten) <= 5)
    n = int(-(-highest // step)) if highest > step else 1
    return [round(i * step, 12) for i in range(n + 1)]


def _spread(ends: list[float], apart: float, lowest: float) -> list[float]:
    """Places for names, as near to their lines as they can be without touching each other.

    >>> _spread([1.0, 1.05, 3.0], 0.5, 9.0)
    [1.0, 1.5, 3.0]
    >>> _spread([9.0, 9.0], 0.5, 9.0)
    [8.5, 9.0]
    """
    order = sorted(range(len(ends)), key=lambda i: (ends[i], i))
    out = list(ends)
    for before, i in pairwise(order):
        out[i] = max(out[i], out[before] + apart)
    ceiling = lowest
    for i in reversed(order):
        out[i] = min(out[i], ceiling)
        ceiling = out[i] - apart
    return out
