"""The signature picture: a matrix of minimal sets, how surely each suffices, and for which τ.

Keep stands above flip, in the same columns. One line at τ crosses the shares, one the barcode and
the necessity beneath it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from suffice.checks import whole
from suffice.explanation import Explanation, View
from suffice.plots.canvas import DASHES, MARKS, Canvas, Scale, paint
from suffice.plots.lettering import Legend, fonts
from suffice.plots.signature import Feature, SetRow, Signature, ViewRows, as_views, signature_of
from suffice.plots.thresholds import BarRow, corners, draw_bar
from suffice.wording import cut, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["factors"]

_ROW = 0.25
_EDGE = 0.18
_RIGHT = 5.0
"""What shares and barcode need."""
_CURVE = 0.8
_UPRIGHT = 9
"""Of more columns the heads stand upright."""
_NARROW, _BROAD = 0.3, 0.5
_LEAST = 2.3
"""As wide is the matrix of a few features, so that words find room beneath."""
_HEAD = 8.5
_TALL = 1.9
"""The longest head that stands upright, in inches."""


def factors(result: Explanation | View, *, ax: Any = None, most: int = 12) -> Axes:
    """The signature picture: which sets keep the decision, which flip it, how surely, for which τ.

    A row is a minimal set: its dots say which features are in it. To the right stand how surely it
    suffices, with a 95% interval, and the thresholds at which it is minimal. Beneath them is
    necessity against τ. Hollow rows are sets that are minimal at other thresholds than the τ asked
    for.

    Parameters
    ----------
    result
        An explanation, or one of its views.
    ax
        Axes to draw into, or a figure; None: a figure of its own.
    most
        At most so many sets of each view; how many more there are is said.

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
    views, most = as_views(result), whole("most", most)
    if ax is None:
        signature = signature_of(result, most)
        return paint(None, (_width(signature), 6.0), lambda canvas: _draw(signature, canvas))

    signatures: list[Signature] = []

    def draw(canvas: Canvas) -> float:
        # Chosen at the first size of letters: smaller ones are to fit these sets, not to add more.
        if not signatures:
            around = 1.2 + 2.6 * len(views)
            fits = int((canvas.height - around) / len(views) / _ROW)
            widest = max(1, int((canvas.width - _RIGHT - 2 * _EDGE) / 0.17))
            signatures.append(signature_of(result, min(most, max(3, fits)), widest))
        return _draw(signatures[0], canvas)

    return paint(ax, (9.0, 6.0), draw)


def _width(s: Signature) -> float:
    return 2 * _EDGE + max(_LEAST, len(s.features) * _column(s)) + _RIGHT


def _column(s: Signature) -> float:
    """How wide a column should be: for its longest word where columns are few."""
    if len(s.features) > _UPRIGHT:
        return _NARROW
    words = [word for f in s.features for word in (*f.name.split(), *f.value.split())]
    letters = fonts()
    longest = max((letters.width(cut(word, 60), _HEAD, bold=True) for word in words), default=0)
    return min(0.85, max(_BROAD, longest + 0.1))


def _draw(s: Signature, canvas: Canvas) -> float:
    legend = Legend(canvas.fonts, ".players has it in full")
    right, n = canvas.width - _EDGE, max(len(s.features), 1)
    room = right - _EDGE
    left = min(max(n * _column(s), _LEAST), room - _RIGHT)
    matrix = (_EDGE, _EDGE + left)
    free = right - matrix[1]
    shares = Scale(s.shares_from, 1.0, matrix[1] + 0.3, matrix[1] + 0.5 * free - 0.75)
    bars = Scale(s.bars_from, 1.0, matrix[1] + 0.5 * free + 0.6, right - 0.15)
    y = canvas.paragraph(_EDGE, _EDGE, s.question, room, size=13, bold=True)
    if s.predicted:
        y = canvas.paragraph(_EDGE, y, s.predicted, room, color=canvas.ink.soft)
    y += 0.12
    for view in s.views:
        y = _view(view, s, canvas, legend, (matrix, shares, bars), y)
    for note in (*legend.told, *s.notes):
        y = canvas.paragraph(_EDGE, y, note, room, size=7.5, color=canvas.ink.soft)
    return y + _EDGE


def _place(s: Signature, matrix: tuple[float, float], column: int) -> float:
    left, right = matrix
    return left + (column + 0.5) * (right - left) / len(s.features)


def _heads(
    s: Signature, canvas: Canvas, legend: Legend, matrix: tuple[float, float]
) -> tuple[float, Callable[[float], None]]:
    """How high the heads are, and what draws them down to a y: names with values under them."""
    each = (matrix[1] - matrix[0]) / len(s.features)
    told = canvas.fonts.told
    if each >= _column(s) - 1e-9 and len(s.features) <= _UPRIGHT:
        heads = [
            (
                legend.fitted(told(f.name), each - 0.06, _HEAD, 4),
                legend.fitted(told(f.value), each - 0.06, _HEAD, 1 if f.several else 3, bold=True),
            )
            for f in s.features
        ]

        def lay(bottom: float) -> None:
            for column, (names, values) in enumerate(heads):
                top = bottom - (len(names) + len(values)) * canvas.leading(_HEAD)
                for line, words in enumerate(names + values):
                    bold = line >= len(names)
                    canvas.write(
                        _place(s, matrix, column),
                        top + (line + 0.5) * canvas.leading(_HEAD),
                        words,
                        size=_HEAD,
                        bold=bold,
                        color=canvas.ink.text if bold else canvas.ink.soft,
                        ha="center",
                    )

        return max(len(n) + len(v) for n, v in heads) * canvas.leading(_HEAD), lay
    lines = 2 if each >= _NARROW else 1
    size = 8.0 if each >= 0.2 else 7.0
    upright = [
        legend.fitted(told(_in_one_line(f)), _TALL, size, lines, brief=told(f.name))
        for f in s.features
    ]

    def stand(bottom: float) -> None:
        for column, head in enumerate(upright):
            for number, words in enumerate(head):
                aside = (number - (len(head) - 1) / 2) * canvas.leading(size)
                x = _place(s, matrix, column) + aside
                canvas.write(x, bottom - 0.03, words, size=size, rotation=90)

    return max(canvas.fonts.width(line, size) for head in upright for line in head) + 0.05, stand


def _in_one_line(f: Feature) -> str:
    if f.several:
        return f"{f.name} ({f.value})"
    return f"{f.name} = {f.value}" if f.value else f.name


def _view(
    view: ViewRows,
    s: Signature,
    canvas: Canvas,
    legend: Legend,
    across: tuple[tuple[float, float], Scale, Scale],
    y: float,
) -> float:
    matrix, shares, bars = across
    ink, color = canvas.ink, canvas.ink.of(view.view)
    room = canvas.width - 2 * _EDGE
    canvas.box(_EDGE, y, room, 0.02, facecolor=color, edgecolor="none")
    y = canvas.paragraph(_EDGE, y + 0.07, view.title, room, size=11, bold=True, color=color)
    y = canvas.paragraph(_EDGE, y, view.nothing or view.lead, room, size=8.5) + 0.1
    if not view.rows:
        return canvas.paragraph(_EDGE, y, view.no_curve, room, size=8.5, color=ink.soft) + 0.16
    y = _above(view, s, canvas, legend, across, y)
    top = y
    for number, row in enumerate(view.rows):
        _row(row, number, view, s, canvas, across, y)
        y += _ROW
    bottom = y
    below = canvas.axis(shares, y)
    beside = shares.left - 0.32 - matrix[0]
    words_end = y + 0.1
    for words, ink_of in (*((m, ink.soft) for m in view.more), (view.necessity_words, ink.text)):
        words_end = canvas.paragraph(matrix[0], words_end, words, beside, size=8.5, color=ink_of)
    end, to = _necessity(view, s, canvas, bars, bottom)
    for scale, until in ((shares, bottom), (bars, to)):
        at = scale.at(s.tau)
        canvas.line([at, at], [top, until], color=ink.text, lw=1.0, ls=(0, (4, 2)), zorder=4)
    return max(below, words_end, end) + 0.16


def _above(
    view: ViewRows,
    s: Signature,
    canvas: Canvas,
    legend: Legend,
    across: tuple[tuple[float, float], Scale, Scale],
    y: float,
) -> float:
    """The heads of the matrix, what the two panels show, and the τ of the lines."""
    matrix, shares, bars = across
    size = 8.0
    high, heads = _heads(s, canvas, legend, matrix)
    panels = [
        (shares, f"{view.share_words} so many references", bars.left - 0.5 - shares.left),
        (bars, "minimal at these thresholds τ", bars.right - bars.left + 0.1),
    ]
    lines = [canvas.fonts.lines(words, room, size) for _, words, room in panels]
    needed = max(map(len, lines)) * canvas.leading(size) + 0.18
    bottom = y + max(high, needed)
    heads(bottom - 0.04)
    for (scale, _, _), told in zip(panels, lines, strict=True):
        for number, words in enumerate(told):
            at = bottom - 0.18 - (len(told) - number - 0.5) * canvas.leading(size)
            canvas.write(scale.left, at, words, size=size, color=canvas.ink.soft)
        words = f"τ = {s.tau:g}"
        half = canvas.fonts.width(words, 8.0, bold=True) / 2
        x = min(max(scale.at(s.tau), scale.left + half), canvas.width - half - 0.05)
        canvas.write(x, bottom - 0.08, words, size=8, bold=True, ha="center")
    return bottom + 0.02


def _row(
    row: SetRow,
    number: int,
    view: ViewRows,
    s: Signature,
    canvas: Canvas,
    across: tuple[tuple[float, float], Scale, Scale],
    y: float,
) -> None:
    matrix, shares, bars = across
    ink, color, mark = canvas.ink, canvas.ink.of(view.view), MARKS[view.view]
    middle = y + _ROW / 2
    if number % 2 == 0:
        canvas.box(matrix[0], y, canvas.width - _EDGE - matrix[0], _ROW, facecolor=ink.line,
                   edgecolor="none", alpha=0.28, zorder=0)  # fmt: skip
    fill = color if row.at_tau else ink.paper
    places = [_place(s, matrix, column) for column in range(len(s.features))]
    empty = [x for column, x in enumerate(places) if column not in row.members]
    canvas.line(empty, [middle] * len(empty), color=ink.line, ls="", marker=".", ms=4, zorder=1)
    held = [places[column] for column in row.members]
    if held:
        canvas.line([held[0], held[-1]], [middle] * 2, color=color, lw=2, zorder=2)
        canvas.line(held, [middle] * len(held), color=color, ls="", marker=mark, ms=7.5,
                    mfc=fill, mew=1.4, zorder=3)  # fmt: skip
    else:
        canvas.write(matrix[0] + 0.05, middle, "nothing: it comes about anyway", size=8.5)
    if row.elsewhere:
        canvas.write(matrix[1] + 0.04, middle, f"+{row.elsewhere}", size=8, bold=True)
    told = percent(row.sufficiency)
    if row.interval is not None:
        low, high = row.interval
        told += f" ({percent(low).removesuffix('%')}–{percent(high)})"
        canvas.line([shares.at(low), shares.at(high)], [middle] * 2, color=color, lw=1.2, zorder=3)
        for end in (low, high):
            canvas.line([shares.at(end)] * 2, [middle - 0.05, middle + 0.05], color=color, lw=1.2)
    canvas.line([shares.at(row.sufficiency)], [middle], color=color, ls="", marker=mark, ms=5.5,
                mfc=fill, mew=1.3, zorder=4)  # fmt: skip
    canvas.write(shares.right + 0.1, middle, told, size=8)
    bar = BarRow("", *row.minimal_for, row.at_tau, row.from_tau)
    draw_bar(bar, color, bars, canvas, middle)


def _necessity(
    view: ViewRows, s: Signature, canvas: Canvas, bars: Scale, y: float
) -> tuple[float, float]:
    """Necessity against τ, under the barcode and on its axis.

    Where the next may begin, and how far down the line at τ goes.
    """
    ink, color = canvas.ink, canvas.ink.of(view.view)
    if not view.curve:
        end, room = canvas.axis(bars, y) + 0.05, bars.right - bars.left
        return canvas.paragraph(bars.left, end, view.no_curve, room, size=8, color=ink.soft), y
    top, bottom = y + 0.28, y + 0.28 + _CURVE
    canvas.write(bars.left, y + 0.15, "necessity, by τ", size=8, color=ink.soft)
    up = Scale(0.0, 1.0, bottom, top)
    for share in (0.0, 0.5, 1.0):
        canvas.line([bars.left, bars.right], [up.at(share)] * 2, color=ink.line, lw=0.6, zorder=0)
        canvas.write(bars.left - 0.05, up.at(share), percent(share), size=7, ha="right")
    xs, ys = corners(view.curve, bars.low)
    canvas.line([bars.at(x) for x in xs], [up.at(share) for share in ys], color=color, lw=1.8,
                ls=DASHES[view.view], zorder=3)  # fmt: skip
    if view.necessity is not None:
        x, at = bars.at(s.tau), up.at(view.necessity)
        canvas.line([x], [at], color=color, ls="", marker=MARKS[view.view], ms=6, mec=ink.paper,
                    zorder=5)  # fmt: skip
        # The curve falls, so beneath it on the left there is room.
        canvas.write(x - 0.07, min(at + 0.13, bottom - 0.07), percent(view.necessity), size=8,
                     bold=True, ha="right")  # fmt: skip
    return canvas.axis(bars, bottom), bottom
