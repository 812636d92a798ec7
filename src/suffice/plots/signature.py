"""Signature picture in matplotlib: a matrix of minimal sets, sufficiency, thresholds, necessity."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from suffice.explanation import Explanation, View, as_views
from suffice.formatting import percent, percent_range, plural, truncate
from suffice.plots.canvas import DASHES, MARKERS, Canvas, Scale, paint
from suffice.plots.lettering import Footnotes, fonts
from suffice.plots.thresholds import draw_bar
from suffice.summary import Summary, ViewSignature, ViewSummary, summarise
from suffice.summary.signature import (
    SignatureColumn,
    SignatureLimits,
    SignatureRow,
    axis_start,
    step_corners,
)
from suffice.validation import check_integer

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_EVERY_COLUMN = 12
"""Up to this many features all have a column, also those that are in no set shown."""
_OTHER_ROWS = 4
"""Most sets that are minimal at other thresholds, below those at τ."""
_ROW_HEIGHT = 0.25
_EDGE = 0.18
_RIGHT_WIDTH = 5.0
"""Width of the two panels right of the matrix, in inches."""
_CURVE_HEIGHT = 0.8
_MOST_LEVEL_HEADS = 9
"""With more columns, the heads are rotated by 90°."""
_NARROW, _BROAD = 0.3, 0.5
_LEAST_MATRIX_WIDTH = 2.3
"""Least width of the matrix, so that the text below it has room."""
_HEAD_SIZE = 8.5
_TALLEST_HEAD = 1.9
"""Height of the longest rotated head, in inches."""


def factors(result: Explanation | View, *, ax: Any = None, most: int = 12) -> Axes:
    """Draw the signature picture: minimal sets, their sufficiency, thresholds and necessity.

    A row is a minimal set, and its dots are the features in it. To the right are its sufficiency
    with a 95% interval, and the thresholds at which it is minimal. Below them is necessity against
    τ. Hollow rows are sets that are minimal at other thresholds than the τ of the explanation.

    Parameters
    ----------
    result
        An explanation, or one of its views.
    ax
        Axes to draw into, or a figure; None makes a new figure.
    most
        Most sets of each view; a note counts the others.

    Examples
    --------
    >>> import suffice
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = suffice.datasets.loans()
    >>> X = X[["income", "debt", "late payments"]]
    >>> model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    >>> e = suffice.Explainer(model, X)(X.iloc[8])
    >>> ax = suffice.plots.factors(e)
    >>> ax.figure.savefig("why.png")  # doctest: +SKIP
    """
    views, most = as_views(result), check_integer("most", most)
    if ax is None:
        figure = signature_figure(result, most)
        return paint(None, (_figure_width(figure), 6.0), lambda canvas: _draw(figure, canvas))

    figures: list[SignatureFigure] = []

    def draw(canvas: Canvas) -> float:
        # Chosen at the first, largest scale: a smaller one has to fit these sets, not add more.
        if not figures:
            around = 1.2 + 2.6 * len(views)
            fits = int((canvas.height - around) / len(views) / _ROW_HEIGHT)
            widest = max(1, int((canvas.width - _RIGHT_WIDTH - 2 * _EDGE) / 0.17))
            figures.append(signature_figure(result, min(most, max(3, fits)), widest))
        return _draw(figures[0], canvas)

    return paint(ax, (9.0, 6.0), draw)


@dataclass(frozen=True)
class SignatureFigure:
    """Data of the figure: a summary with signatures, the starts of axes, and notes."""

    summary: Summary
    views: tuple[tuple[ViewSummary, ViewSignature], ...]
    tau: float
    n_columns: int
    """Most columns of a view."""
    shares_from: float
    bars_from: float
    notes: tuple[str, ...]


def signature_figure(
    result: Explanation | View, most: int = 12, widest: int = 40
) -> SignatureFigure:
    """Return the data of the figure: `most` sets of each view, and `widest` columns."""
    # The page shows more rows and columns: it can scroll.
    limits = SignatureLimits(most, _OTHER_ROWS, widest, min(widest, _EVERY_COLUMN))
    summary = summarise(result, most=1, signature=limits)
    views = tuple((v, v.signature) for v in summary.views if v.signature is not None)
    tau = summary.views[0].tau
    rows = [row for _, signature in views for row in signature.rows]
    # One reference makes every share 0 or 1, with an interval that says nothing.
    whiskers = [row.interval[0] for row in rows] if summary.views[0].n_references > 1 else []
    return SignatureFigure(
        summary=summary,
        views=views,
        tau=tau,
        n_columns=max(len(signature.columns) for _, signature in views),
        shares_from=axis_start([tau, *(row.sufficiency for row in rows), *whiskers]),
        bars_from=axis_start([tau, *(row.low for row in rows)]),
        notes=tuple(_notes(as_views(result)[0].explanation, summary, views)),
    )


def _notes(
    e: Explanation,
    summary: Summary,
    views: tuple[tuple[ViewSummary, ViewSignature], ...],
) -> Iterable[str]:
    yield f"{summary.status}: {summary.completeness}"
    rows = [row for _, signature in views for row in signature.rows]
    feature = summary.feature
    if any(row.n_without_column for row in rows):
        yield f"A + counts the {feature}s of a set for which there is no room."
    n = len(e.players)
    if any(len(signature.columns) < n for _, signature in views):
        yield f"Of {plural(n, feature)}, only those in the sets of a view have a column."
    if any(row.unknown_below_tau for row in rows):
        yield "Bars with a dotted start belong to sets that were decided at τ only, not below it."
    if (alpha := e.keep.alpha) is not None:
        yield (
            f"Sets are tested (α = {alpha:g}), so a bar ends at the highest τ that its set "
            "passes, below its share."
        )
    if summary.views[0].n_references > 1:
        yield "Whiskers: 95% interval, reading the references as a sample."
    yield "Columns: the most necessary first."


def _figure_width(s: SignatureFigure) -> float:
    return 2 * _EDGE + max(_LEAST_MATRIX_WIDTH, s.n_columns * _column_width(s)) + _RIGHT_WIDTH


def _column_width(s: SignatureFigure) -> float:
    """Return the width of a column, which fits its longest word where columns are few."""
    if s.n_columns > _MOST_LEVEL_HEADS:
        return _NARROW
    columns = [column for _, signature in s.views for column in signature.columns]
    words = [word for c in columns for word in (*_name(s, c).split(), *c.value.split())]
    letters = fonts()
    longest = max(
        (letters.width(truncate(word, 60), _HEAD_SIZE, bold=True) for word in words), default=0
    )
    return min(0.85, max(_BROAD, longest + 0.1))


def _name(s: SignatureFigure, column: SignatureColumn) -> str:
    """Return the name of a feature; words of a text in quotation marks."""
    return f"“{column.feature_name}”" if s.summary.source_text else column.feature_name


def _draw(s: SignatureFigure, canvas: Canvas) -> float:
    legend = Footnotes(canvas.fonts, ".players has it in full")
    right, n = canvas.width - _EDGE, max(s.n_columns, 1)
    room = right - _EDGE
    left = min(max(n * _column_width(s), _LEAST_MATRIX_WIDTH), room - _RIGHT_WIDTH)
    matrix = (_EDGE, _EDGE + left)
    free = right - matrix[1]
    shares = Scale(s.shares_from, 1.0, matrix[1] + 0.3, matrix[1] + 0.5 * free - 0.75)
    bars = Scale(s.bars_from, 1.0, matrix[1] + 0.5 * free + 0.6, right - 0.15)
    y = canvas.paragraph(_EDGE, _EDGE, s.summary.question, room, size=13, bold=True)
    if s.summary.prediction_text:
        y = canvas.paragraph(_EDGE, y, s.summary.prediction_text, room, color=canvas.ink.soft)
    y += 0.12
    for view, signature in s.views:
        y = _draw_view(view, signature, s, canvas, legend, (matrix, shares, bars), y)
    for note in (*legend.notes, *s.notes):
        y = canvas.paragraph(_EDGE, y, note, room, size=7.5, color=canvas.ink.soft)
    return y + _EDGE


def _column_x(signature: ViewSignature, matrix: tuple[float, float], column: int) -> float:
    left, right = matrix
    return left + (column + 0.5) * (right - left) / len(signature.columns)


def _column_heads(
    s: SignatureFigure,
    signature: ViewSignature,
    canvas: Canvas,
    legend: Footnotes,
    matrix: tuple[float, float],
) -> tuple[float, Callable[[float], None]]:
    """Return the height of the column heads, and a function that draws them above a given y."""
    each = (matrix[1] - matrix[0]) / len(signature.columns)
    letters = canvas.fonts.printable
    if each >= _column_width(s) - 1e-9 and s.n_columns <= _MOST_LEVEL_HEADS:
        heads = [
            (
                # The columns of a group do not fit below its name, so a footnote lists them.
                legend.fit(
                    letters(c.full_name if c.group else _name(s, c)),
                    each - 0.06,
                    _HEAD_SIZE,
                    4,
                    brief=letters(c.name) if c.group else "",
                ),
                legend.fit(letters(c.value), each - 0.06, _HEAD_SIZE, 3, bold=True),
            )
            for c in signature.columns
        ]

        def level(bottom: float) -> None:
            for column, (names, values) in enumerate(heads):
                top = bottom - (len(names) + len(values)) * canvas.leading(_HEAD_SIZE)
                for line, words in enumerate(names + values):
                    bold = line >= len(names)
                    canvas.write(
                        _column_x(signature, matrix, column),
                        top + (line + 0.5) * canvas.leading(_HEAD_SIZE),
                        words,
                        size=_HEAD_SIZE,
                        bold=bold,
                        color=canvas.ink.text if bold else canvas.ink.soft,
                        ha="center",
                    )

        return max(len(n) + len(v) for n, v in heads) * canvas.leading(_HEAD_SIZE), level
    # Rotated heads of two lines need this width to stay apart.
    lines = 2 if each >= _NARROW else 1
    size = 8.0 if each >= 0.2 else 7.0
    upright = [
        legend.fit(
            letters(_name(s, c) if s.summary.source_text else c.full_name),
            _TALLEST_HEAD,
            size,
            lines,
            brief=letters(_name(s, c)),
        )
        for c in signature.columns
    ]

    def stand(bottom: float) -> None:
        for column, head in enumerate(upright):
            x = _column_x(signature, matrix, column)
            canvas.write_upright(x, bottom - 0.03, head, size=size)

    return max(canvas.fonts.width(line, size) for head in upright for line in head) + 0.05, stand


def _draw_view(
    view: ViewSummary,
    signature: ViewSignature,
    s: SignatureFigure,
    canvas: Canvas,
    legend: Footnotes,
    across: tuple[tuple[float, float], Scale, Scale],
    y: float,
) -> float:
    matrix, shares, bars = across
    ink, color = canvas.ink, canvas.ink.for_view(view.name)
    room = canvas.width - 2 * _EDGE
    canvas.box(_EDGE, y, room, 0.02, facecolor=color, edgecolor="none")
    y = canvas.paragraph(_EDGE, y + 0.07, view.title, room, size=11, bold=True, color=color)
    y = canvas.paragraph(_EDGE, y, view.none_reached or view.lead, room, size=8.5) + 0.1
    if not signature.rows:
        return canvas.paragraph(_EDGE, y, view.curve_note, room, size=8.5, color=ink.soft) + 0.16
    y = _draw_headings(view, signature, s, canvas, legend, across, y)
    top = y
    for number, row in enumerate(signature.rows):
        _draw_row(row, number, view, signature, canvas, across, y)
        y += _ROW_HEIGHT
    bottom = y
    below = canvas.axis(shares, y)
    beside = shares.left - 0.32 - matrix[0]
    words_end = y + 0.1
    hidden = signature.hidden_note and f"{signature.hidden_note}: .{view.name}.barcode"
    for words, color_of in ((hidden, ink.soft), (view.necessity_text, ink.text)):
        words_end = canvas.paragraph(matrix[0], words_end, words, beside, size=8.5, color=color_of)
    end, to = _draw_necessity(view, canvas, bars, bottom)
    for scale, until in ((shares, bottom), (bars, to)):
        canvas.reference_line(scale, s.tau, top, until)
    return max(below, words_end, end) + 0.16


def _draw_headings(
    view: ViewSummary,
    signature: ViewSignature,
    s: SignatureFigure,
    canvas: Canvas,
    legend: Footnotes,
    across: tuple[tuple[float, float], Scale, Scale],
    y: float,
) -> float:
    """Draw the column heads, the titles of both panels and the labels of τ; return the y below."""
    matrix, shares, bars = across
    size = 8.0
    high, draw_heads = _column_heads(s, signature, canvas, legend, matrix)
    panels = [
        (shares, f"{view.name}s it for so many references", bars.left - 0.5 - shares.left),
        (bars, "minimal at these thresholds τ", bars.right - bars.left + 0.1),
    ]
    lines = [canvas.fonts.lines(words, room, size) for _, words, room in panels]
    # Both panels share one baseline with the column heads, so the tallest of them decides.
    needed = max(map(len, lines)) * canvas.leading(size) + 0.18
    bottom = y + max(high, needed)
    draw_heads(bottom - 0.04)
    for (scale, _, _), title in zip(panels, lines, strict=True):
        for number, words in enumerate(title):
            at = bottom - 0.18 - (len(title) - number - 0.5) * canvas.leading(size)
            canvas.write(scale.left, at, words, size=size, color=canvas.ink.soft)
        canvas.reference_label(scale, s.tau, bottom - 0.08)
    return bottom + 0.02


def _draw_row(
    row: SignatureRow,
    number: int,
    view: ViewSummary,
    signature: ViewSignature,
    canvas: Canvas,
    across: tuple[tuple[float, float], Scale, Scale],
    y: float,
) -> None:
    matrix, shares, bars = across
    ink, color, mark = canvas.ink, canvas.ink.for_view(view.name), MARKERS[view.name]
    middle = y + _ROW_HEIGHT / 2
    canvas.stripe(number, matrix[0], y, canvas.width - _EDGE - matrix[0], _ROW_HEIGHT)
    fill = color if row.at_tau else ink.paper
    places = [_column_x(signature, matrix, column) for column in range(len(signature.columns))]
    empty = [x for column, x in enumerate(places) if column not in row.columns]
    canvas.line(empty, [middle] * len(empty), color=ink.line, ls="", marker=".", ms=4, zorder=1)
    held = [places[column] for column in row.columns]
    if held:
        canvas.line([held[0], held[-1]], [middle] * 2, color=color, lw=2, zorder=2)
        canvas.line(held, [middle] * len(held), color=color, ls="", marker=mark, ms=7.5,
                    mfc=fill, mew=1.4, zorder=3)  # fmt: skip
    elif not row.n_without_column:
        canvas.write(matrix[0] + 0.05, middle, "nothing: it comes about anyway", size=8.5)
    if row.n_without_column:
        canvas.write(matrix[1] + 0.04, middle, f"+{row.n_without_column}", size=8, bold=True)
    share = percent(row.sufficiency)
    if view.n_references > 1:
        share += f" ({percent_range(*row.interval)})"
        canvas.whiskers(shares, row.interval, middle, color)
    canvas.line([shares.position(row.sufficiency)], [middle], color=color, ls="", marker=mark,
                ms=5.5, mfc=fill, mew=1.3, zorder=4)  # fmt: skip
    canvas.write(shares.right + 0.1, middle, share, size=8)
    draw_bar(row, color, bars, canvas, middle)


def _draw_necessity(
    view: ViewSummary, canvas: Canvas, bars: Scale, y: float
) -> tuple[float, float]:
    """Draw necessity against τ under the barcode, on the same axis.

    Return the y below it, and the y down to which the line at τ is drawn.
    """
    ink, color = canvas.ink, canvas.ink.for_view(view.name)
    if not view.curve:
        end, room = canvas.axis(bars, y) + 0.05, bars.right - bars.left
        return canvas.paragraph(bars.left, end, view.curve_note, room, size=8, color=ink.soft), y
    top, bottom = y + 0.28, y + 0.28 + _CURVE_HEIGHT
    canvas.write(bars.left, y + 0.15, "necessity (thin: by chance)", size=8, color=ink.soft)
    up = Scale(0.0, 1.0, bottom, top)
    for share in (0.0, 0.5, 1.0):
        level = up.position(share)
        canvas.line([bars.left, bars.right], [level] * 2, color=ink.line, lw=0.6, zorder=0)
        canvas.write(bars.left - 0.05, level, percent(share), size=7, ha="right")
    for curve, width in ((view.chance_curve, 0.8), (view.curve, 1.8)):
        xs, ys = step_corners(curve, bars.low)
        canvas.line([*map(bars.position, xs)], [*map(up.position, ys)], color=color, lw=width,
                    ls=DASHES[view.name], zorder=3)  # fmt: skip
    if view.necessity is not None:
        x, at = bars.position(view.tau), up.position(view.necessity)
        canvas.line([x], [at], color=color, ls="", marker=MARKERS[view.name], ms=6, mec=ink.paper,
                    zorder=5)  # fmt: skip
        # The curve falls to the right, so below it on the left there is room for the number. The
        # line of chance may pass there, and is covered.
        words, below = percent(view.necessity), min(at + 0.13, bottom - 0.07)
        wide = canvas.fonts.width(words, 8, bold=True)
        canvas.box(x - 0.09 - wide, below - 0.07, wide + 0.04, 0.14, facecolor=ink.paper,
                   edgecolor="none", zorder=4)  # fmt: skip
        canvas.write(x - 0.07, below, words, size=8, bold=True, ha="right")
    return canvas.axis(bars, bottom), bottom
