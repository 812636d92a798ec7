"""Figures over all thresholds τ: barcode of minimal sets, and necessity (Rmk. 2, App. B)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from suffice.explanation import Explanation, View, as_views
from suffice.explanation.schema import TextSubject
from suffice.formatting import percent, printable
from suffice.plots.canvas import (
    DASHES,
    MARKERS,
    Canvas,
    Scale,
    axes_for,
    axes_legend,
    ink_for,
    label_axes,
    paint,
    root_figure,
    set_label,
)
from suffice.plots.lettering import Footnotes, fonts
from suffice.summary import SignatureLimits, SignatureRow, summarise
from suffice.summary.signature import axis_start, order_by_necessity, step_corners
from suffice.typing import ViewName
from suffice.validation import check_integer

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_EDGE = 0.18
_LABEL_WIDTH = 3.4


@dataclass(frozen=True)
class BarRow:
    """A set, and the thresholds in (low, high] at which it is minimal."""

    names: str
    """Full names of the features."""
    low: float
    high: float
    at_tau: bool
    unknown_below_tau: bool
    """Whether the set was decided at τ only, so that its bar begins there."""


@dataclass(frozen=True)
class Barcode:
    """Barcode of one view, with the bars that reach highest first."""

    view: ViewName
    title: str
    tau: float
    rows: tuple[BarRow, ...]
    more: str
    """How many bars are not shown, and for which τ; "" where all are shown."""
    note: str
    """What is unknown at other thresholds; "" where nothing is."""


@dataclass(frozen=True)
class NecessityCurve:
    """Necessity of the minimal sets of one view against τ."""

    view: ViewName
    label: str
    steps: tuple[tuple[float, float], ...]
    """Pairs (τ, necessity); each necessity holds up to and including its τ."""
    at_tau: float | None
    chance: tuple[tuple[float, float], ...]
    """Pairs (τ, share of all hybrids, whatever their outcome): the necessity expected by chance."""
    chance_at_tau: float | None
    missing_reason: str
    """Why there are no steps; "" where there are some."""


@dataclass(frozen=True)
class NecessityCurves:
    """Necessity curves of an explanation, or of one view."""

    title: str
    tau: float
    curves: tuple[NecessityCurve, ...]


def barcode(result: Explanation | View, *, ax: Any = None, most: int = 24) -> Axes:
    """Draw the barcode: for each set, the thresholds τ at which it is minimal.

    A solid bar belongs to a set that is minimal at the τ of the explanation. Of more bars than
    `most`, those at τ and then the longest are drawn, and a note counts the others.

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
    views, most = as_views(result), check_integer("most", most)

    found: list[Barcode] = []

    def draw(canvas: Canvas) -> float:
        # Chosen at the first, largest scale: a smaller one has to fit these sets, not add more.
        if not found:
            # Given axes cannot grow: as many bars as fit, and a note counts the others.
            fits = int((canvas.height - 1.1 * len(views)) / len(views) / 0.22)
            rows = most if ax is None else min(most, max(3, fits))
            found.extend(barcode_of(view, rows) for view in views)
        return _draw_bars(found, canvas, 5 if ax is None else 2)

    return paint(ax, (7.5, 5.0), draw)


def curve(result: Explanation | View, *, ax: Any = None) -> Axes:
    """Draw necessity against τ: the share of the outcome that the minimal sets cover.

    A lower τ admits more sets, which cover more. A marker is at the τ of the explanation.

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
    found = necessity_curves_of(result)
    return _draw_curves(found, axes_for(ax, (6.0, 3.6)))


def barcode_of(view: View, most: int = 24) -> Barcode:
    """Return the barcode of a view, with at most `most` bars."""
    d = len(view.players)
    (words,) = summarise(view, most=1, signature=SignatureLimits(most, most, d, d)).views
    assert words.signature is not None
    # The names of a set in the order of the signature, so that both pictures read alike.
    order = order_by_necessity(view.explanation)
    rows = []
    for row in words.signature.rows:
        names = [printable(view.players[i].name) for i in sorted(order[c] for c in row.columns)]
        if isinstance(view.explanation.subject, TextSubject):
            names = [f"“{name}”" for name in names]
        label = ", ".join(names) or "nothing"
        rows.append(BarRow(label, row.low, row.high, row.at_tau, row.unknown_below_tau))
    rows.sort(key=lambda row: (-row.high, row.low, len(row.names)))
    hidden, note = words.signature.hidden_note, ""
    if (findings := view.profile.findings) is not None:
        known = f"This search decided sets at τ = {findings.tau:g}"
        note = f"{known}; of lower thresholds little is known."
    more = f"{hidden}: .{view.name}.barcode" if hidden else ""
    return Barcode(view.name, words.title, view.tau, tuple(rows), more, note)


def necessity_curves_of(result: Explanation | View) -> NecessityCurves:
    """Return the data of the necessity curves."""
    views, summary = as_views(result), summarise(result, most=1)
    curves = []
    for view, words in zip(views, summary.views, strict=True):
        why = "" if words.curve else words.curve_note or words.necessity_text
        missing = f"{words.title}: {why}" if why else ""
        curves.append(
            NecessityCurve(
                view=view.name,
                label=words.title,
                steps=words.curve,
                at_tau=words.necessity,
                chance=words.chance_curve,
                chance_at_tau=words.necessity_baseline,
                missing_reason=missing,
            )
        )
    return NecessityCurves(
        "Cumulative necessity of the minimal sets, by threshold", views[0].tau, tuple(curves)
    )


def _draw_bars(found: Sequence[Barcode], canvas: Canvas, most_lines: int) -> float:
    legend = Footnotes(canvas.fonts, ".players has it in full")
    right = canvas.width - _EDGE - 0.15
    labels = min(_LABEL_WIDTH, 0.45 * canvas.width)
    lows = [row.low for bars in found for row in bars.rows]
    scale = Scale(axis_start([found[0].tau, *lows]), 1.0, _EDGE + labels + 0.15, right)
    y = _EDGE
    for bars in found:
        y = _draw_view(bars, scale, labels, legend, canvas, y, most_lines)
    for words in legend.notes:
        y = canvas.paragraph(_EDGE, y, words, right - _EDGE, size=7.5, color=canvas.ink.soft)
    return y + _EDGE


def _draw_view(
    bars: Barcode,
    scale: Scale,
    labels: float,
    legend: Footnotes,
    canvas: Canvas,
    y: float,
    most_lines: int,
) -> float:
    ink, color = canvas.ink, canvas.ink.for_view(bars.view)
    room, size = scale.right - _EDGE, 8.5
    y = canvas.paragraph(_EDGE, y, bars.title, room, size=11, bold=True, color=color) + 0.02
    canvas.write(scale.left, y, "minimal at these thresholds τ", size=8, color=ink.soft)
    canvas.reference_label(scale, bars.tau, y + 0.15)
    y += 0.26
    top = y
    if not bars.rows:
        y = canvas.paragraph(_EDGE, y, "No set is known.", labels, size=size)
    for number, row in enumerate(bars.rows):
        lines = legend.fit(canvas.fonts.printable(row.names), labels, size, most_lines)
        high = max(0.22, len(lines) * canvas.leading(size) + 0.06)
        canvas.stripe(number, _EDGE, y, room + 0.15, high)
        canvas.write_lines(_EDGE + 0.05, y + high / 2, lines, size=size)
        draw_bar(row, color, scale, canvas, y + high / 2)
        y += high
    canvas.reference_line(scale, bars.tau, top, y)
    y = canvas.axis(scale, y) + 0.04
    for note in filter(None, (bars.more, bars.note)):
        y = canvas.paragraph(_EDGE, y, note, room, size=8.5, color=ink.soft)
    return y + 0.14


def draw_bar(
    row: BarRow | SignatureRow, color: str, scale: Scale, canvas: Canvas, middle: float
) -> None:
    """Draw a bar: solid if minimal at τ, hollow otherwise, dotted where nothing is known."""
    low, high = scale.position(row.low), scale.position(row.high)
    if row.unknown_below_tau:
        canvas.line([scale.left, low], [middle] * 2, color=color, lw=1.2, ls=":", zorder=2)
    canvas.box(low, middle - 0.06, max(high - low, 0.015), 0.12, edgecolor=color, lw=0.9,
               facecolor=color if row.at_tau else canvas.ink.paper, zorder=2)  # fmt: skip


def _draw_curves(found: NecessityCurves, ax: Axes) -> Axes:
    ink, families = ink_for(ax), fonts()
    for one in found.curves:
        color = ink.for_view(one.view)
        if one.steps:
            xs, ys = step_corners(one.steps)
            ax.plot(xs, ys, color=color, lw=1.8, ls=DASHES[one.view], zorder=3)
            # The area between the curve and this thin line is what the outcome adds to chance.
            ax.plot(*step_corners(one.chance), color=color, lw=0.8, ls=DASHES[one.view], zorder=2)
        if one.at_tau is not None:
            # The legend shows line and marker, so that it can be read without colour.
            by = "" if one.chance_at_tau is None else f", by chance {percent(one.chance_at_tau)}"
            name = f"{one.label}: {percent(one.at_tau)} at τ = {found.tau:g}{by}"
            ax.plot([found.tau], [one.at_tau], color=color, marker=MARKERS[one.view], ms=7,
                    mec=ink.paper, ls=DASHES[one.view], label=name, zorder=5)  # fmt: skip
    ax.axvline(found.tau, color=ink.text, lw=1, ls=(0, (4, 2)), zorder=2)
    ax.set(xlim=(0, 1.0), ylim=(0, 1.04))
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_ticks([0, 0.25, 0.5, 0.75, 1.0], ["0%", "25%", "50%", "75%", "100%"])
    label_axes(ax, ink, "threshold τ", "share covered (thin: by chance)", found.title)
    room = 0.94 * ax.bbox.width / root_figure(ax).dpi
    missing = [
        line for one in found.curves for line in families.lines(one.missing_reason, room, 8.5)
    ]
    # Written from the bottom upwards, where falling curves leave room.
    for number, line in enumerate(reversed(missing)):
        text = ax.text(0.03, 0.06 + 0.07 * number, "", transform=ax.transAxes)
        set_label(text, line, families, color=ink.soft, fontsize=8.5)
    if ax.get_legend_handles_labels()[0]:
        axes_legend(ax, ink, fontsize=9, handlelength=3.5)
    return ax
