"""Hasse diagram of all sets of up to six features, with sufficiencies and minimal sets."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

from suffice.errors import InputError, NotVisitedError
from suffice.explanation import Explanation, View
from suffice.formatting import percent, plural
from suffice.plots.canvas import MARKERS, Canvas, as_views, paint
from suffice.summary import summarise
from suffice.summary.signature import signature_column

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_MOST_FEATURES = 6
_EDGE, _ACROSS, _DOWN = 0.18, 0.5, 0.72
_LETTERS = "ABCDEF"


@dataclass(frozen=True)
class HasseNode:
    """A set of features, each named by a letter."""

    letters: str
    sufficiency: float | None
    """None where the set was not evaluated."""
    minimal: bool
    """Whether the set is minimal at τ."""


@dataclass(frozen=True)
class HasseDiagram:
    """Sets of one view by size; lines join each set to the sets with one feature more."""

    view: Literal["keep", "flip"]
    title: str
    tau: float
    features: tuple[str, ...]
    """Letter, name and value of each feature."""
    levels: tuple[tuple[HasseNode, ...], ...]
    """Sets by size, the empty set first."""


def lattice(result: Explanation | View, *, ax: Any = None) -> Axes:
    """Draw the lattice of all sets of up to 6 features: a fuller colour is a higher sufficiency.

    Sets stand above their subsets; minimal sets are framed and have a mark. The figure shows how
    they separate sets that suffice from sets that do not, and where a larger set suffices less.

    Examples
    --------
    >>> import suffice
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = suffice.datasets.loans()
    >>> X = X[["income", "debt", "late payments"]]
    >>> model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    >>> e = suffice.Explainer(model, X)(X.iloc[8])
    >>> ax = suffice.plots.lattice(e.keep)
    """
    found = [hasse_diagram_of(view) for view in as_views(result)]
    widest = max(len(level) for level in found[0].levels)
    size = max(6.0, 2 * _EDGE + _ACROSS * widest), 4.0
    return paint(ax, size, lambda canvas: _draw(found, canvas))


def hasse_diagram_of(view: View) -> HasseDiagram:
    """Return the data of the diagram; raise for more than six features."""
    d = len(view.players)
    if d > _MOST_FEATURES:
        allowed = f"an explanation of up to {_MOST_FEATURES} features"
        hint = "plots.factors and plots.barcode draw any number."
        raise InputError("result", f"an explanation of {plural(d, 'feature')}", allowed, hint)
    minimal = {factor.features for factor in view.factors}
    names = [player.name for player in view.players]
    levels = []
    for size in range(d + 1):
        level = []
        for members in combinations(range(d), size):
            chosen = tuple(names[i] for i in members)
            try:
                share: float | None = view.sufficiency(chosen)
            except NotVisitedError:
                share = None
            letters = "".join(_LETTERS[i] for i in members)
            level.append(HasseNode(letters, share, chosen in minimal))
        levels.append(tuple(level))
    (words,) = summarise(view, most=1).views
    # Letters stand in the boxes, so names of any length fit the legend.
    names = [signature_column(view.explanation, player).full_name for player in view.players]
    features = tuple(map(": ".join, zip(_LETTERS, names, strict=False)))
    return HasseDiagram(view.name, words.title, view.tau, features, tuple(levels))


def _draw(found: list[HasseDiagram], canvas: Canvas) -> float:
    ink, room, y = canvas.ink, canvas.width - 2 * _EDGE, _EDGE
    for diagram in found:
        color = ink.for_view(diagram.view)
        y = canvas.paragraph(_EDGE, y, diagram.title, room, size=12, bold=True, color=color) + 0.1
        y = _draw_levels(diagram, canvas, y) + 0.05
        y = canvas.paragraph(_EDGE, y, " · ".join(diagram.features), room, size=8.5) + 0.15
    words = (
        "Each box is a set; its number is the share of references for which it suffices (fuller "
        f"colour: more). Framed boxes with a mark are the minimal sets at τ = {found[0].tau:g}. A "
        "line leads to the sets with one feature more."
    )
    if any(node.sufficiency is None for d in found for level in d.levels for node in level):
        words += " A question mark: never evaluated."
    return canvas.paragraph(_EDGE, y, words, room, size=7.5, color=ink.soft) + _EDGE


def _draw_levels(diagram: HasseDiagram, canvas: Canvas, y: float) -> float:
    """Draw a box per set, the full set at the top; return the y below the empty set."""
    ink, color = canvas.ink, canvas.ink.for_view(diagram.view)
    widest = max(map(len, diagram.levels))
    across = min(0.9, (canvas.width - 2 * _EDGE) / widest)
    half, high = 0.45 * across, 0.2
    places: dict[str, tuple[float, float]] = {}
    for size, level in enumerate(diagram.levels):
        middle = y + (len(diagram.levels) - 1 - size) * _DOWN + high
        for number, node in enumerate(level):
            x = canvas.width / 2 + (number - (len(level) - 1) / 2) * across
            places[node.letters] = x, middle
    for letters, (x, at) in places.items():
        for drop in letters:
            # Every set with one feature less stands one row below.
            below = places[letters.replace(drop, "")]
            canvas.line([x, below[0]], [at, below[1]], color=ink.line, lw=0.8, zorder=1)
    points = min(8.5, 72 * across / 4.6)
    for level in diagram.levels:
        for node in level:
            x, at = places[node.letters]
            share = node.sufficiency
            fill = ink.paper if share is None else ink.blend(color, 0.05 + 0.85 * share)
            canvas.box(x - half, at - high, 2 * half, 2 * high, facecolor=fill, zorder=2,
                       edgecolor=ink.text if node.minimal else ink.soft,
                       lw=2.4 if node.minimal else 0.6)  # fmt: skip
            over = ink.text_on(fill)
            name = node.letters or "none"
            canvas.write(
                x, at - 0.08, name, size=points, bold=node.minimal, ha="center", color=over
            )
            text = "?" if share is None else percent(share)
            canvas.write(x, at + 0.09, text, size=points - 0.5, ha="center", color=over)
            if node.minimal:
                canvas.line([x + half], [at - high], color=ink.text, ls="", zorder=6,
                            marker=MARKERS[diagram.view], ms=6, mec=ink.paper)  # fmt: skip
    return y + (len(diagram.levels) - 1) * _DOWN + 2 * high
