"""Figure of global recourse: changes, and the share of each group helped by cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import floor, log10
from typing import TYPE_CHECKING, Any

from suffice.audit.global_recourse_result import GlobalRecourse
from suffice.formatting import format_cost, format_name, percent, plural
from suffice.plots.canvas import Canvas, Ink, Scale, paint, require_result
from suffice.plots.charts import (
    Chart,
    ChartCell,
    ChartColumn,
    ChartRow,
    chart_width,
    draw_chart,
    first_lines,
    proportion_cell,
)
from suffice.plots.lettering import Footnotes
from suffice.results import OmittedRows
from suffice.validation import check_integer

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_EDGE, _HIGH, _BESIDE = 0.18, 1.9, 1.9
"""Margin, height of the curves, and width of the labels at their ends, in inches."""
_GROUPS_DRAWN = 6
"""Most groups in the figure, the largest; readers cannot distinguish more lines."""
_DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1.5, 1.5)))


@dataclass(frozen=True)
class CostCurve:
    """Cumulative distribution of the cost of recourse in one group."""

    label: str
    steps: tuple[tuple[float, float], ...]
    """Pairs (cost, share of the group that a change helps at this cost or less), ascending."""


@dataclass(frozen=True)
class RecourseCosts:
    """Data of the figure: the chart of changes and a curve for each group."""

    chart: Chart
    curves: tuple[CostCurve, ...]
    highest_cost: float
    notes: tuple[str, ...]


def global_recourse(result: GlobalRecourse, *, ax: Any = None, most: int = 12) -> Axes:
    """Draw the changes, and below the share of each group that a change helps, by cost.

    A curve that ends lower leaves more rows without recourse; a curve that rises later belongs to
    a group that pays more.

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
    require_result(result, GlobalRecourse, "a result of audit.global_recourse")
    found = recourse_costs_of(result, check_integer("most", most))
    return paint(ax, (chart_width(found.chart), 6.0), lambda canvas: _draw(found, canvas))


def recourse_costs_of(result: GlobalRecourse, most: int = 12) -> RecourseCosts:
    """Return the data of the figure, with at most `most` changes."""
    sheet = result.sheet
    rows = tuple(
        ChartRow(
            first_lines([move.text for move in change.moves], 4),
            (
                proportion_cell(worth.works),
                ChartCell(worth.taken, f"{worth.taken:,}"),
                _cost_cell(worth.mean_cost),
            ),
        )
        for change, worth in zip(result.changes, result.worths, strict=True)
    )
    columns = (
        ChartColumn("works for so many of the refused", "share"),
        ChartColumn("cheapest for so many rows", "number"),
        ChartColumn("mean cost", "number"),
    )
    more = str(OmittedRows(len(rows) - most, ".changes", "change"))
    # Group 0 is all rows together.
    largest = sorted(result.groups[1:], key=lambda g: (-g.covered.n, str(g.group)))
    names = sorted(str(g.group) for g in largest[:_GROUPS_DRAWN])
    curves = tuple(
        _cost_curve(format_name(name), [r.cost for r in result.rows if r.group == name])
        for name in names
    )
    if not curves:
        taken, best = ([r.cost for r in result.rows], [r.own for r in result.rows])
        curves = _cost_curve("these changes", taken), _cost_curve("best of all tried", best)
    paid = [cost for curve in curves for cost, _ in curve.steps]
    hidden = len(largest) - len(names)
    notes = (f"Of {plural(len(largest), 'group')} the {len(names)} largest are drawn.",)
    return RecourseCosts(
        chart=Chart(sheet.title, sheet.lead, columns, rows[:most], more, ()),
        curves=curves,
        highest_cost=max(paid, default=0.0),
        notes=(notes if hidden > 0 else ()) + sheet.notes,
    )


def _cost_cell(cost: float | None) -> ChartCell:
    return ChartCell(cost, "–" if cost is None else format_cost(cost))


def _cost_curve(name: str, paid: Sequence[float | None]) -> CostCurve:
    n, costs = len(paid), sorted(cost for cost in paid if cost is not None)
    # Rows of equal cost are one step: the last share of each cost remains.
    steps = {cost: (i + 1) / n for i, cost in enumerate(costs)}
    return CostCurve(f"{name}: {percent(len(costs) / n)} of {n:,}", (*steps.items(),))


# -- drawing ------------------------------------------------------------------------------


def _draw(found: RecourseCosts, canvas: Canvas) -> float:
    y, legend = draw_chart(found.chart, canvas), Footnotes(canvas.fonts)
    if any(curve.steps for curve in found.curves):
        y = _draw_curves(found, canvas, legend, y)
    room = canvas.width - 2 * _EDGE
    for words in (*legend.notes, *found.notes):
        y = canvas.paragraph(_EDGE, y + 0.02, words, room, size=7.5, color=canvas.ink.soft)
    return y + _EDGE


def _draw_curves(found: RecourseCosts, canvas: Canvas, legend: Footnotes, y: float) -> float:
    ink = canvas.ink
    y = canvas.paragraph(
        _EDGE, y, "Share of the refused that a change helps, by what it costs them",
        canvas.width - 2 * _EDGE, size=9, bold=True,
    )  # fmt: skip
    top, bottom = y + 0.1, y + 0.1 + _HIGH
    beside = min(_BESIDE, 0.35 * canvas.width)
    ticks = _round_ticks(found.highest_cost or 1.0)
    across = Scale(0.0, ticks[-1], _EDGE + 0.42, canvas.width - _EDGE - beside)
    up = Scale(0.0, 1.0, bottom, top)
    for at in (0.0, 0.25, 0.5, 0.75, 1.0):
        level = up.position(at)
        canvas.line([across.left, across.right], [level] * 2, color=ink.line, lw=0.8, zorder=0)
        canvas.write(across.left - 0.06, level, percent(at), size=7.5, ha="right")
    canvas.line([across.left, across.right], [bottom] * 2, color=ink.soft, lw=0.8)
    for tick in ticks:
        x = across.position(tick)
        canvas.line([x, x], [bottom, bottom + 0.05], color=ink.soft, lw=0.8)
        canvas.write(x, bottom + 0.13, format_cost(tick), size=7.5, ha="center")
    canvas.write((across.left + across.right) / 2, bottom + 0.29, "cost", size=8, ha="center",
                 color=ink.soft)  # fmt: skip
    # A group without recourse has a curve along the bottom.
    ends = [up.position(curve.steps[-1][1] if curve.steps else 0.0) for curve in found.curves]
    for number, (curve, end, place) in enumerate(
        zip(found.curves, ends, _spread_labels(ends, 0.17, bottom), strict=True)
    ):
        how = {"color": _color(ink, number), "ls": _DASHES[number % len(_DASHES)]}
        xs, ys = [across.position(0.0)], [up.position(0.0)]
        for cost, reached in curve.steps:
            xs += [across.position(cost)] * 2
            ys += [ys[-1], up.position(reached)]
        # Curves continue to the right edge, so that their final heights can be compared.
        canvas.line([*xs, across.right], [*ys, end], lw=1.6, zorder=3, **how)
        beyond = across.right + 0.14
        canvas.line([across.right, beyond], [end, place], lw=0.8, **how | {"ls": "-"})
        (words,) = legend.fit(canvas.fonts.printable(curve.label), beside - 0.2, 8, 1)
        canvas.write(beyond + 0.04, place, words, size=8)
    return bottom + 0.44


def _color(ink: Ink, number: int) -> str:
    return (ink.keep, ink.flip, ink.other, ink.text)[number % 4]


def _round_ticks(highest: float) -> list[float]:
    """Return ticks from 0 to `highest` or a little more, in a few round steps.

    >>> _round_ticks(7.3), _round_ticks(0.3), _round_ticks(1200)
    ([0.0, 2.0, 4.0, 6.0, 8.0], [0.0, 0.1, 0.2, 0.3], [0.0, 500.0, 1000.0, 1500.0])
    """
    ten = 10.0 ** floor(log10(highest))
    step = next(s * ten for s in (0.1, 0.2, 0.5, 1.0, 2.0, 5.0) if highest / (s * ten) <= 5)
    n = int(-(-highest // step)) if highest > step else 1
    return [round(i * step, 12) for i in range(n + 1)]


def _spread_labels(ends: list[float], apart: float, lowest: float) -> list[float]:
    """Return positions of labels, as near to the ends of their curves as possible.

    Labels are at least `apart` from each other, and none lies below `lowest`.

    >>> _spread_labels([1.0, 1.05, 3.0], 0.5, 9.0)
    [1.0, 1.5, 3.0]
    >>> _spread_labels([9.0, 9.0], 0.5, 9.0)
    [8.5, 9.0]
    """
    order = sorted(range(len(ends)), key=lambda i: (ends[i], i))
    out = list(ends)
    # First push labels down from each other, then back up from the lowest place allowed.
    for before, i in pairwise(order):
        out[i] = max(out[i], out[before] + apart)
    ceiling = lowest
    for i in reversed(order):
        out[i] = min(out[i], ceiling)
        ceiling = out[i] - apart
    return out
