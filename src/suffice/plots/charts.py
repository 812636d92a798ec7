"""Charts: a row per label, with numbers drawn as dots, intervals or bars on a common axis.

Recourse options, rules, Shapley values, probabilities of causation and audits are drawn this way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from suffice.formatting import percent, percent_range, percentage_points, with_sign
from suffice.plots.canvas import Canvas, Scale, paint
from suffice.plots.lettering import Footnotes, fonts
from suffice.summary.signature import axis_start

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from suffice.inference import Share

_EDGE = 0.18
_FONT_SIZE = 8.5
_LEAST_LABEL_WIDTH, _LABEL_WIDTH = 1.4, 3.0
_COLUMN_WIDTH = 2.15
_NUMBER_WIDTH = 1.05
"""Width of the number that is written right of its mark."""
_FIXED_WIDTH_COLUMNS = 4
"""Number of columns up to which all have one width; in wider charts each fits its content."""


@dataclass(frozen=True)
class ChartCell:
    """A number of a chart. Without a value but with an interval: some number in the interval."""

    value: float | None
    text: str
    interval: tuple[float, float] | None = None
    before: float | None = None
    """An earlier value, drawn as a ring beside the dot of `value`."""


@dataclass(frozen=True)
class ChartColumn:
    """A column of numbers: shares on an axis, numbers as bars, or differences around zero."""

    heading: str
    kind: Literal["share", "number", "difference"]
    reference: float | None = None
    """Where a dashed line is drawn: the threshold τ, unless labelled otherwise."""
    reference_label: str = ""


@dataclass(frozen=True)
class ChartRow:
    """A row of a chart: the lines of its label, and a cell for each column."""

    labels: tuple[str, ...]
    cells: tuple[ChartCell, ...]


@dataclass(frozen=True)
class Chart:
    """Data of a chart: title, sentences above, columns, rows and notes below."""

    title: str
    lead: tuple[str, ...]
    columns: tuple[ChartColumn, ...]
    rows: tuple[ChartRow, ...]
    more: str
    """What is not shown, and where to find it; "" where everything is shown."""
    notes: tuple[str, ...]


def necessity_cell(necessity: float | None, baseline: float | None) -> ChartCell:
    """Return the cell of a necessity, with what chance gives beside it.

    >>> necessity_cell(0.75, 0.5).text, necessity_cell(0.75, None).text
    ('75% (by chance 50%)', '75%')
    """
    chance = "" if baseline is None or necessity is None else f" (by chance {percent(baseline)})"
    return ChartCell(necessity, f"{percent(necessity)}{chance}")


def share_cell(value: float | None, interval: tuple[float, float] | None = None) -> ChartCell:
    """Return the cell of a share, with its interval in the text.

    >>> (share_cell(0.5, (0.25, 0.75)).text,
    ...  share_cell(None, (0.25, 0.75)).text, share_cell(None).text)
    ('50% (25–75%)', '25% to 75%', '–')
    """
    if interval is None:
        return ChartCell(value, percent(value))
    if value is None:
        low, high = map(percent, interval)
        return ChartCell(value, low if low == high else f"{low} to {high}", interval)
    return ChartCell(value, f"{percent(value)} ({percent_range(*interval)})", interval)


def proportion_cell(counted: Share) -> ChartCell:
    """Return the cell of a counted share, with its exact interval."""
    return share_cell(counted.share, counted.interval if counted.n else None)


def signed_cell(value: float | None) -> ChartCell:
    """Return the cell of a number that is written with its sign.

    >>> [signed_cell(value).text for value in (0.25, -0.25, 0.0, None)]
    ['+0.250', '−0.250', '0.000', '–']
    """
    return ChartCell(None, "–") if value is None else ChartCell(value, with_sign(value))


def chart_width(chart: Chart) -> float:
    """Return the width in inches of a figure that holds one chart."""
    labels = _LABEL_WIDTH
    if len(chart.columns) > _FIXED_WIDTH_COLUMNS:
        words = [label for row in chart.rows for label in row.labels]
        labels = min(labels, max((fonts().width(w, _FONT_SIZE) for w in words), default=0.0) + 0.2)
    return max(6.0, 2 * _EDGE + max(_LEAST_LABEL_WIDTH, labels) + sum(_column_widths(chart)) + 0.1)


def _column_widths(chart: Chart) -> list[float]:
    """Return the widths of the columns in a figure that holds one chart."""
    # Width of a column's axis, without its number.
    plots = _COLUMN_WIDTH - _NUMBER_WIDTH
    widths = [plots + _number_width(chart, column) for column in range(len(chart.columns))]
    if len(chart.columns) <= _FIXED_WIDTH_COLUMNS:
        return widths
    headings = [fonts().width(column.heading, 8.0) + 0.25 for column in chart.columns]
    return [max(pair) for pair in zip(widths, headings, strict=True)]


def _number_width(chart: Chart, column: int) -> float:
    """Return the width of the texts of a column, which stand right of its marks."""
    texts = (row.cells[column].text for row in chart.rows)
    # The column of numbers is as wide as its widest text, so that marks never touch it.
    widest = max((fonts().width(text, 8.0) for text in texts), default=0.0)
    few = len(chart.columns) <= _FIXED_WIDTH_COLUMNS
    return max(_NUMBER_WIDTH, widest) if few else widest + 0.22


def paint_chart(ax: Any, *charts: Chart) -> Axes:
    """Draw charts below each other, in a figure as wide as the first one needs."""

    def draw(canvas: Canvas) -> float:
        y = 0.0
        for chart in charts:
            y = draw_chart(chart, canvas, max(0.0, y - 0.1))
        return y

    return paint(ax, (chart_width(charts[0]), 4.0), draw)


def draw_chart(chart: Chart, canvas: Canvas, y: float = 0.0) -> float:
    """Draw a chart from y downwards; return the y below it."""
    ink, legend = canvas.ink, Footnotes(canvas.fonts)
    room = canvas.width - 2 * _EDGE
    y = canvas.paragraph(_EDGE, y + _EDGE, chart.title, room, size=10 if y else 12, bold=True)
    for sentence in chart.lead:
        y = canvas.paragraph(_EDGE, y, sentence, room, size=9)
    y += 0.12
    if chart.rows:
        y = _draw_rows(chart, canvas, legend, y)
    if chart.more:
        y = canvas.paragraph(_EDGE, y, chart.more, room, size=8.5, color=ink.soft)
    for note in (*legend.notes, *chart.notes):
        y = canvas.paragraph(_EDGE, y + 0.02, note, room, size=7.5, color=ink.soft)
    return y + _EDGE


def _draw_rows(chart: Chart, canvas: Canvas, legend: Footnotes, y: float) -> float:
    ink, size = canvas.ink, _FONT_SIZE
    labels = max(_LEAST_LABEL_WIDTH, canvas.width - 2 * _EDGE - sum(_column_widths(chart)))
    # Columns keep half of the width however long the labels are.
    labels = min(labels, 0.5 * canvas.width) if chart.columns else canvas.width - 2 * _EDGE
    scales = _scales(chart, canvas, labels)
    heads = [*zip(chart.columns, scales, strict=True)]
    headed = any(column.heading for column in chart.columns)
    for column, scale in heads:
        canvas.write(scale.left, y + 0.06, column.heading, size=8, color=ink.soft)
        if column.reference is not None:
            at = y + (0.21 if headed else 0.06)
            canvas.reference_label(scale, column.reference, at, column.reference_label)
    y += 0.3 if headed and any(c.reference is not None for c in chart.columns) else 0.18
    top = y
    for number, row in enumerate(chart.rows):
        lines = [
            line
            for label in row.labels
            for line in legend.fit(canvas.fonts.printable(label), labels - 0.15, size, 2)
        ]
        height = max(0.24, len(lines) * canvas.leading(size) + 0.08)
        canvas.stripe(number, _EDGE, y, canvas.width - 2 * _EDGE, height)
        # A row whose cells are all empty is the heading of the rows below it.
        bold = bool(row.cells) and not any(cell.text for cell in row.cells)
        canvas.write_lines(_EDGE + 0.05, y + height / 2, lines, size=size, bold=bold)
        for (column, scale), cell in zip(heads, row.cells, strict=True):
            _draw_cell(column, cell, scale, canvas, y + height / 2)
        y += height
    for column, scale in heads:
        if column.reference is not None:
            canvas.reference_line(scale, column.reference, top, y)
        if column.kind == "number":
            zero = scale.position(0.0)
            canvas.line([zero, zero], [top, y], color=ink.soft, lw=0.8, zorder=1)
        else:
            canvas.axis(scale, y, percentage_points if column.kind == "difference" else percent)
    return y + (0.26 if any(c.kind != "number" for c in chart.columns) else 0.08)


def _scales(chart: Chart, canvas: Canvas, labels: float) -> list[Scale]:
    panels = _column_widths(chart)
    wider = (canvas.width - 2 * _EDGE - labels) / (sum(panels) or 1.0)
    out, start = [], _EDGE + labels
    for number, column in enumerate(chart.columns):
        left, start = start + 0.1, start + panels[number] * wider
        right = start - _number_width(chart, number) - 0.05
        cells = [row.cells[number] for row in chart.rows]
        values = [v for cell in cells for v in (cell.value, cell.before) if v is not None]
        ends = [end for cell in cells if cell.interval is not None for end in cell.interval]
        if column.kind == "share":
            reference = [] if column.reference is None else [column.reference]
            # The reference belongs to the range: a line outside the axis would be drawn at its end.
            out.append(Scale(axis_start([*values, *ends, *reference, 1.0]), 1.0, left, right))
        elif column.kind == "difference":
            widest = max(map(abs, [*values, *ends]), default=0.0)
            # Symmetric around zero, so that the eye compares both directions by length.
            reach = next((r for r in (0.05, 0.1, 0.2, 0.5) if widest <= r), 1.0)
            out.append(Scale(-reach, reach, left, right))
        else:
            # Bars start at zero, or their lengths would say nothing.
            low, high = min([0.0, *values]), max([0.0, *values])
            out.append(Scale(low, high if high > low else low + 1.0, left, right))
    return out


def _draw_cell(
    column: ChartColumn, cell: ChartCell, scale: Scale, canvas: Canvas, middle: float
) -> None:
    ink = canvas.ink
    canvas.write(scale.right + 0.1, middle, cell.text, size=8)
    if column.kind == "number":
        if cell.value is not None:
            # A bar below zero is hollow, so that its sign does not depend on colour.
            below = cell.value < 0
            color = ink.flip if below else ink.keep
            _draw_bar(scale, (0.0, cell.value), canvas, middle, color, hollow=below)
        return
    if cell.interval is not None and cell.value is None:
        _draw_bar(scale, cell.interval, canvas, middle, ink.keep)
    elif cell.interval is not None:
        canvas.whiskers(scale, cell.interval, middle, ink.keep)
    if cell.before is not None:
        ends = [scale.position(share) for share in (cell.before, cell.value) if share is not None]
        canvas.line(ends, [middle] * len(ends), color=ink.keep, lw=1.6, zorder=3)
        canvas.line(ends[:1], [middle], color=ink.keep, ls="", marker="o", ms=5.5, zorder=4,
                    mfc=ink.paper, mew=1.3)  # fmt: skip
    if cell.value is not None:
        canvas.line([scale.position(cell.value)], [middle], color=ink.keep, ls="", marker="o",
                    ms=5.5, zorder=4)  # fmt: skip


def _draw_bar(
    scale: Scale,
    interval: tuple[float, float],
    canvas: Canvas,
    middle: float,
    color: str,
    hollow: bool = False,
) -> None:
    low, high = sorted(map(scale.position, interval))
    canvas.box(low, middle - 0.065, max(high - low, 0.012), 0.13, lw=1.0, zorder=2,
               facecolor=canvas.ink.paper if hollow else color, edgecolor=color)  # fmt: skip


def first_lines(words: Sequence[str], most: int) -> tuple[str, ...]:
    """Return the first lines, and in the last one how many more there are.

    >>> first_lines(["a", "b", "c", "d"], 3)
    ('a', 'b', 'and 2 more')
    """
    if len(words) <= most:
        return tuple(words)
    return (*words[: most - 1], f"and {len(words) - most + 1} more")
