"""Every τ at once: the barcode of minimal sets, and necessity against τ (Rmk. 2, App. B)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import nextafter
from typing import TYPE_CHECKING, Any, Literal

from suffice.checks import whole
from suffice.explanation import Explanation, View
from suffice.plots.canvas import DASHES, MARKS, Canvas, Scale, axes_for, ink_for, label, paint, tidy
from suffice.plots.lettering import Legend, fonts
from suffice.plots.signature import as_views, starts_at
from suffice.summary import summarise
from suffice.wording import count, harmless, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "BarRow",
    "Bars",
    "Curve",
    "Curves",
    "barcode",
    "bars_of",
    "corners",
    "curve",
    "curves_of",
    "draw_bar",
]

_EDGE = 0.18
_LABELS = 3.4


@dataclass(frozen=True)
class BarRow:
    """A set, and the thresholds (low, high] at which it is minimal."""

    names: str
    """Its features, in full."""
    low: float
    high: float
    at_tau: bool
    from_tau: bool
    """Is nothing known below τ, so that the bar begins there?"""


@dataclass(frozen=True)
class Bars:
    """The barcode of one view: the highest bars first."""

    view: Literal["keep", "flip"]
    title: str
    tau: float
    rows: tuple[BarRow, ...]
    more: str
    """How many bars are not shown, and for which τ; "" where all are."""
    note: str
    """What is not known of other thresholds; "" where all is."""


@dataclass(frozen=True)
class Curve:
    """Necessity of one view's sets against τ."""

    view: Literal["keep", "flip"]
    label: str
    steps: tuple[tuple[float, float], ...]
    """(τ, necessity): each holds for thresholds up to and including its τ."""
    at_tau: float | None
    missing: str
    """Why there are no steps; "" where there are."""


@dataclass(frozen=True)
class Curves:
    """The curves of an explanation, or of one view."""

    title: str
    tau: float
    curves: tuple[Curve, ...]


def barcode(result: Explanation | View, *, ax: Any = None, most: int = 24) -> Axes:
    """The barcode: for each set, the thresholds τ at which it is minimal.

    A solid bar is the answer at the τ asked for. Of more bars than `most`, those at τ and then the
    longest are shown; how many more there are is said.

    Examples
    --------
    >>> import suffice
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = suffice.datasets.loans()
    >>> X = X[["income", "debt", "late payments"]]
    >>> model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    >>> e = suffice.Explainer(model, X)(X.iloc[8])
    >>> ax = suffice.plots.barcode(e.keep)
    """
    views, most = as_views(result), whole("most", most)

    found: list[Bars] = []

    def draw(canvas: Canvas) -> float:
        # Chosen at the first size of letters: smaller ones are to fit these sets, not to add more.
        if not found:
            fits = int((canvas.height - 1.1 * len(views)) / len(views) / 0.22)
            rows = most if ax is None else min(most, max(3, fits))
            found.extend(bars_of(view, rows) for view in views)
        return _draw_bars(found, canvas, 5 if ax is None else 2)

    return paint(ax, (7.5, 5.0), draw)


def curve(result: Explanation | View, *, ax: Any = None) -> Axes:
    """Necessity against τ: how much of the outcome the minimal sets account for.

    A lower τ takes in more sets, which cover more. The mark is the τ asked for.

    Examples
    --------
    >>> import suffice
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = suffice.datasets.loans()
    >>> X = X[["income", "debt", "late payments"]]
    >>> model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    >>> e = suffice.Explainer(model, X)(X.iloc[8])
    >>> ax = suffice.plots.curve(e)
    """
    found = curves_of(result)
    return _draw_curves(found, axes_for(ax, (6.0, 3.6)))


def bars_of(view: View, most: int = 24) -> Bars:
    """The facts of a barcode."""
    numbers = {player.name: i for i, player in enumerate(view.players)}
    sets = {tuple(numbers[name] for name in f.features): f.minimal_for for f in view[:most]}
    for minimal in view.profile.minimal_somewhere(most):
        sets.setdefault(minimal.members, (minimal.low, minimal.high))
    rows = []
    found = view.profile.findings is not None
    for members, (low, high) in [*sets.items()][:most]:
        names = in_full(view, members)
        at_tau = low < view.tau <= high
        rows.append(BarRow(names, low, high, at_tau, found and low == nextafter(view.tau, 0.0)))
    rows.sort(key=lambda row: (-row.high, row.low, len(row.names)))
    more, note = "", ""
    if hidden := view.profile.n_minimal_somewhere - len(rows):
        lows, highs = view.profile.bars.low, view.profile.bars.high
        where = f" at τ = {view.tau:g}"
        if len(lows):
            where = (
                f", for τ between {percent(float(lows.min()))} and {percent(float(highs.max()))}"
            )
        more = f"and {count(hidden, 'more set')}{where}: .{view.name}.barcode"
    if found:
        note = f"This search decided sets at τ = {view.tau:g}; of lower thresholds little is known."
    (words,) = summarise(view, most=1).views
    return Bars(view.name, words.title, view.tau, tuple(rows), more, note)


def in_full(view: View, members: Sequence[int]) -> str:
    """A set's features by name, however long; words of a text in quotation marks."""
    from suffice.explanation.subject import TextSubject

    text = isinstance(view.explanation.subject, TextSubject)
    names = [harmless(view.players[i].name) for i in members]
    return ", ".join(f"“{name}”" if text else name for name in names) or "nothing"


def curves_of(result: Explanation | View) -> Curves:
    """The facts of the curves."""
    views, summary = as_views(result), summarise(result, most=1)
    curves = []
    for view, words in zip(views, summary.views, strict=True):
        missing = ""
        if not words.curve:
            missing = f"{words.title}: necessity is not known for other τ"
            if view.tally.n == 1:
                missing = f"{words.title}: one reference, so every τ is alike"
        curves.append(Curve(view.name, words.title, words.curve, words.necessity, missing))
    return Curves("Necessity of the minimal sets, by threshold", views[0].tau, tuple(curves))


def corners(
    curve: Sequence[tuple[float, float]], start: float = 0.0
) -> tuple[list[float], list[float]]:
    """The corners of a falling step function: each height holds up to and including its τ.

    >>> corners([(0.5, 1.0), (0.8, 0.25)])
    ([0.0, 0.5, 0.5, 0.8, 0.8, 1.0], [1.0, 1.0, 0.25, 0.25, 0.0, 0.0])
    >>> corners([(0.5, 1.0), (1.0, 0.25)], start=0.6)
    ([0.6, 1.0], [0.25, 0.25])
    """
    xs: list[float] = []
    ys: list[float] = []
    before = start
    last = [(1.0, 0.0)] if not curve or curve[-1][0] < 1 else []
    for tau, share in (*curve, *last):
        if tau > start:
            xs += [before, tau]
            ys += [share, share]
            before = tau
    return xs, ys


def _draw_bars(found: Sequence[Bars], canvas: Canvas, most_lines: int) -> float:
    legend = Legend(canvas.fonts, ".players has it in full")
    right = canvas.width - _EDGE - 0.15
    labels = min(_LABELS, 0.45 * canvas.width)
    lows = [row.low for bars in found for row in bars.rows]
    scale = Scale(starts_at([found[0].tau, *lows]), 1.0, _EDGE + labels + 0.15, right)
    y = _EDGE
    for bars in found:
        y = _draw_view(bars, scale, labels, legend, canvas, y, most_lines)
    for words in legend.told:
        y = canvas.paragraph(_EDGE, y, words, right - _EDGE, size=7.5, color=canvas.ink.soft)
    return y + _EDGE


def _draw_view(
    bars: Bars,
    scale: Scale,
    labels: float,
    legend: Legend,
    canvas: Canvas,
    y: float,
    most_lines: int,
) -> float:
    ink, color = canvas.ink, canvas.ink.of(bars.view)
    room, size = scale.right - _EDGE, 8.5
    y = canvas.paragraph(_EDGE, y, bars.title, room, size=11, bold=True, color=color) + 0.02
    canvas.write(scale.left, y, "minimal at these thresholds τ", size=8, color=ink.soft)
    words = f"τ = {bars.tau:g}"
    half = canvas.fonts.width(words, 8.0, bold=True) / 2
    x = scale.at(bars.tau)
    inside = min(max(x, scale.left + half), canvas.width - half - 0.05)
    canvas.write(inside, y + 0.15, words, size=8, bold=True, ha="center")
    y += 0.26
    top = y
    if not bars.rows:
        y = canvas.paragraph(_EDGE, y, "No set is known.", labels, size=size)
    for number, row in enumerate(bars.rows):
        lines = legend.fitted(canvas.fonts.told(row.names), labels, size, most_lines)
        high = max(0.22, len(lines) * canvas.leading(size) + 0.06)
        if number % 2 == 0:
            canvas.box(_EDGE, y, room + 0.15, high, facecolor=ink.line, edgecolor="none",
                       alpha=0.28, zorder=0)  # fmt: skip
        first = y + high / 2 - (len(lines) - 1) / 2 * canvas.leading(size)
        for line, told in enumerate(lines):
            canvas.write(_EDGE + 0.05, first + line * canvas.leading(size), told, size=size)
        draw_bar(row, color, scale, canvas, y + high / 2)
        y += high
    canvas.line([x, x], [top, y], color=ink.text, lw=1.0, ls=(0, (4, 2)), zorder=4)
    y = canvas.axis(scale, y) + 0.04
    for told in filter(None, (bars.more, bars.note)):
        y = canvas.paragraph(_EDGE, y, told, room, size=8.5, color=ink.soft)
    return y + 0.14


def draw_bar(row: BarRow, color: str, scale: Scale, canvas: Canvas, middle: float) -> None:
    """A bar: solid at the τ asked for, hollow at others, dotted where little is known."""
    low, high = scale.at(row.low), scale.at(row.high)
    if row.from_tau:
        canvas.line([scale.left, low], [middle] * 2, color=color, lw=1.2, ls=":", zorder=2)
    canvas.box(low, middle - 0.06, max(high - low, 0.015), 0.12, edgecolor=color, lw=0.9,
               facecolor=color if row.at_tau else canvas.ink.paper, zorder=2)  # fmt: skip


def _draw_curves(found: Curves, ax: Axes) -> Axes:
    ink, families = ink_for(ax), fonts()
    for one in found.curves:
        color = ink.of(one.view)
        if one.steps:
            xs, ys = corners(one.steps)
            ax.plot(xs, ys, color=color, lw=1.8, ls=DASHES[one.view], zorder=3)
        if one.at_tau is not None:
            # In the legend by line and mark, so that it can be read without colour.
            name = f"{one.label}: {percent(one.at_tau)} at τ = {found.tau:g}"
            ax.plot([found.tau], [one.at_tau], color=color, marker=MARKS[one.view], ms=7,
                    mec=ink.paper, ls=DASHES[one.view], label=name, zorder=5)  # fmt: skip
    ax.axvline(found.tau, color=ink.text, lw=1, ls=(0, (4, 2)), zorder=2)
    ax.set(xlim=(0, 1.0), ylim=(0, 1.04))
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_ticks([0, 0.25, 0.5, 0.75, 1.0], ["0%", "25%", "50%", "75%", "100%"])
    label(ax.xaxis.label, "threshold τ", families, color=ink.text)
    label(ax.yaxis.label, "necessity: share of the outcome covered", families, color=ink.text)
    label(ax.title, found.title, families, color=ink.text, fontsize=11)
    tidy(ax, ink)
    missing = [one.missing for one in found.curves if one.missing]
    for number, words in enumerate(missing):
        text = ax.text(0.03, 0.06 + 0.07 * number, "", transform=ax.transAxes)
        label(text, words, families, color=ink.soft, fontsize=8.5)
    handles, names = ax.get_legend_handles_labels()
    if handles:
        legend = ax.legend(handles, names, frameon=False, fontsize=9, handlelength=3.5)
        for text in legend.get_texts():
            label(text, text.get_text(), families, color=ink.text)
    return ax
