"""Rows of words with amounts beside them: shares on an axis with their intervals, and numbers.

Options of recourse, rules, Shapley values and probabilities of causation are all drawn so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from suffice.plots.canvas import Canvas, Scale, paint
from suffice.plots.lettering import Legend, fonts
from suffice.plots.signature import starts_at
from suffice.wording import percent, with_sign

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from suffice.audit.gaps import Share

__all__ = [
    "Amount",
    "Chart",
    "Heading",
    "Line",
    "draw_chart",
    "fewest",
    "paint_chart",
    "share",
    "share_of",
    "signed",
    "width_of",
]

_EDGE = 0.18
_LETTERS = 8.5
_LEAST, _LABELS = 1.4, 3.0
_PANEL = 2.15
_TOLD = 1.05
"""What an amount takes that is written beside its mark."""
_FEW = 4
"""Of more columns each takes as little as it needs."""


@dataclass(frozen=True)
class Amount:
    """A number as it is drawn and told. Without a value but with an interval: somewhere within."""

    value: float | None
    told: str
    interval: tuple[float, float] | None = None
    was: float | None = None
    """What a share was before: a ring, beside the dot of what it is."""


@dataclass(frozen=True)
class Heading:
    """What a column of amounts shows."""

    words: str
    kind: Literal["share", "number"]
    tau: float | None = None
    """The threshold that shares are held against."""


@dataclass(frozen=True)
class Line:
    """What a row is about, and its amounts by column."""

    words: tuple[str, ...]
    amounts: tuple[Amount, ...]


@dataclass(frozen=True)
class Chart:
    """The whole picture."""

    title: str
    lead: tuple[str, ...]
    headings: tuple[Heading, ...]
    lines: tuple[Line, ...]
    more: str
    """What is not shown, and where it is; "" where all is."""
    notes: tuple[str, ...]


def share(value: float | None, interval: tuple[float, float] | None = None) -> Amount:
    """A share, told with its interval.

    >>> share(0.5, (0.25, 0.75)).told, share(None, (0.25, 0.75)).told, share(None).told
    ('50% (25–75%)', '25% to 75%', '–')
    """
    if interval is None:
        return Amount(value, percent(value))
    low, high = map(percent, interval)
    if value is None:
        return Amount(value, low if low == high else f"{low} to {high}", interval)
    return Amount(value, f"{percent(value)} ({low.removesuffix('%')}–{high})", interval)


def share_of(counted: Share) -> Amount:
    """So many of so many, told with the interval."""
    return share(counted.share, counted.interval if counted.n else None)


def signed(value: float | None) -> Amount:
    """A value with its sign.

    >>> [signed(value).told for value in (0.25, -0.25, 0.0, None)]
    ['+0.250', '−0.250', '0.000', '–']
    """
    return Amount(None, "–") if value is None else Amount(value, with_sign(value))


def width_of(chart: Chart) -> float:
    """How wide the picture is in a figure of its own."""
    labels = _LABELS
    if len(chart.headings) > _FEW:
        words = [words for line in chart.lines for words in line.words]
        labels = min(labels, max((fonts().width(w, _LETTERS) for w in words), default=0.0) + 0.2)
    return max(6.0, 2 * _EDGE + max(_LEAST, labels) + sum(_panels(chart)) + 0.1)


def _panels(chart: Chart) -> list[float]:
    """How wide each column is in a figure of its own."""
    if len(chart.headings) <= _FEW:
        return [_PANEL] * len(chart.headings)
    return [
        max(_PANEL - _TOLD + _told(chart, column), fonts().width(heading.words, 8.0) + 0.25)
        for column, heading in enumerate(chart.headings)
    ]


def _told(chart: Chart, column: int) -> float:
    """What the amounts of a column take that are written beside their marks."""
    if len(chart.headings) <= _FEW:
        return _TOLD
    told = (line.amounts[column].told for line in chart.lines)
    return max((fonts().width(words, 8.0) for words in told), default=0.0) + 0.22


def paint_chart(ax: Any, chart: Chart) -> Axes:
    """A figure that is one chart, and as wide as it needs."""
    return paint(ax, (width_of(chart), 4.0), lambda canvas: draw_chart(chart, canvas))


def draw_chart(chart: Chart, canvas: Canvas) -> float:
    """Draw it; how far down it came."""
    ink, legend = canvas.ink, Legend(canvas.fonts)
    room = canvas.width - 2 * _EDGE
    y = canvas.paragraph(_EDGE, _EDGE, chart.title, room, size=12, bold=True)
    for words in chart.lead:
        y = canvas.paragraph(_EDGE, y, words, room, size=9)
    y += 0.12
    if chart.lines:
        y = _rows(chart, canvas, legend, y)
    if chart.more:
        y = canvas.paragraph(_EDGE, y, chart.more, room, size=8.5, color=ink.soft)
    for words in (*legend.told, *chart.notes):
        y = canvas.paragraph(_EDGE, y + 0.02, words, room, size=7.5, color=ink.soft)
    return y + _EDGE


def _rows(chart: Chart, canvas: Canvas, legend: Legend, y: float) -> float:
    ink, size = canvas.ink, _LETTERS
    labels = max(_LEAST, canvas.width - 2 * _EDGE - sum(_panels(chart)))
    labels = min(labels, 0.5 * canvas.width) if chart.headings else canvas.width - 2 * _EDGE
    scales = _scales(chart, canvas, labels)
    for heading, scale in zip(chart.headings, scales, strict=True):
        canvas.write(scale.left, y + 0.06, heading.words, size=8, color=ink.soft)
        if heading.tau is not None:
            at = scale.at(heading.tau)
            words = f"τ = {heading.tau:g}"
            canvas.write(at, y + 0.21, words, size=8, bold=True, ha="center")
    y += 0.3 if any(heading.tau is not None for heading in chart.headings) else 0.18
    top = y
    for number, line in enumerate(chart.lines):
        told = [
            piece
            for words in line.words
            for piece in legend.fitted(canvas.fonts.told(words), labels - 0.15, size, 2)
        ]
        high = max(0.24, len(told) * canvas.leading(size) + 0.08)
        if number % 2 == 0:
            canvas.box(_EDGE, y, canvas.width - 2 * _EDGE, high, facecolor=ink.line,
                       edgecolor="none", alpha=0.28, zorder=0)  # fmt: skip
        first = y + high / 2 - (len(told) - 1) / 2 * canvas.leading(size)
        # A line without any amount heads those below it.
        bold = bool(line.amounts) and not any(amount.told for amount in line.amounts)
        for place, words in enumerate(told):
            at = first + place * canvas.leading(size)
            canvas.write(_EDGE + 0.05, at, words, size=size, bold=bold)
        for heading, amount, scale in zip(chart.headings, line.amounts, scales, strict=True):
            _amount(heading, amount, scale, canvas, y + high / 2)
        y += high
    for heading, scale in zip(chart.headings, scales, strict=True):
        if heading.tau is not None:
            at = scale.at(heading.tau)
            canvas.line([at, at], [top, y], color=ink.text, lw=1, ls=(0, (4, 2)), zorder=4)
        if heading.kind == "share":
            canvas.axis(scale, y)
        else:
            zero = scale.at(0.0)
            canvas.line([zero, zero], [top, y], color=ink.soft, lw=0.8, zorder=1)
    return y + (0.26 if any(h.kind == "share" for h in chart.headings) else 0.08)


def _scales(chart: Chart, canvas: Canvas, labels: float) -> list[Scale]:
    panels = _panels(chart)
    wider = (canvas.width - 2 * _EDGE - labels) / (sum(panels) or 1.0)
    out, start = [], _EDGE + labels
    for column, heading in enumerate(chart.headings):
        left, start = start + 0.1, start + panels[column] * wider
        right = start - _told(chart, column) - 0.05
        amounts = [line.amounts[column] for line in chart.lines]
        values = [v for a in amounts for v in (a.value, a.was) if v is not None]
        if heading.kind == "share":
            lows = values + [a.interval[0] for a in amounts if a.interval is not None]
            tau = [heading.tau] if heading.tau is not None else []
            out.append(Scale(starts_at([*lows, *tau, 1.0]), 1.0, left, right))
        else:
            low, high = min([0.0, *values]), max([0.0, *values])
            out.append(Scale(low, high if high > low else low + 1.0, left, right))
    return out


def _amount(heading: Heading, amount: Amount, scale: Scale, canvas: Canvas, middle: float) -> None:
    ink = canvas.ink
    canvas.write(scale.right + 0.1, middle, amount.told, size=8)
    if heading.kind == "number":
        if amount.value is not None:
            # Below zero a bar is hollow, so that its sign is seen without colour.
            down = amount.value < 0
            ends = sorted((scale.at(0.0), scale.at(amount.value)))
            canvas.box(ends[0], middle - 0.065, max(ends[1] - ends[0], 0.012), 0.13,
                       facecolor=ink.paper if down else ink.keep, lw=1.0,
                       edgecolor=ink.flip if down else ink.keep, zorder=2)  # fmt: skip
        return
    if amount.interval is not None:
        low, high = (scale.at(end) for end in amount.interval)
        thick = 1.2 if amount.value is not None else 5.0
        canvas.line([low, high], [middle] * 2, color=ink.keep, lw=thick, zorder=3,
                    solid_capstyle="butt")  # fmt: skip
        for end in (low, high):
            canvas.line([end, end], [middle - 0.05, middle + 0.05], color=ink.keep, lw=1.2)
    if amount.was is not None:
        places = [scale.at(share) for share in (amount.was, amount.value) if share is not None]
        canvas.line(places, [middle] * len(places), color=ink.keep, lw=1.6, zorder=3)
        canvas.line(places[:1], [middle], color=ink.keep, ls="", marker="o", ms=5.5, zorder=4,
                    mfc=ink.paper, mew=1.3)  # fmt: skip
    if amount.value is not None:
        canvas.line([scale.at(amount.value)], [middle], color=ink.keep, ls="", marker="o",
                    ms=5.5, zorder=4)  # fmt: skip


def fewest(words: Sequence[str], most: int) -> tuple[str, ...]:
    """The first few lines, and how many more there are.

    >>> fewest(["a", "b", "c", "d"], 3)
    ('a', 'b', 'and 2 more')
    """
    if len(words) <= most:
        return tuple(words)
    return (*words[: most - 1], f"and {len(words) - most + 1} more")
