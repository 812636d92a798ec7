"""Causal graph (DAG) with the effects of an intervention; Hasse diagram of up to six features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any, Literal

from suffice.context.causal import CausalModel
from suffice.context.causal.graph import Graph, read_graph
from suffice.errors import InputError, NotVisitedError
from suffice.explanation import Explanation, View, as_views
from suffice.formatting import format_name, format_value, join_words, percent, plural, printable
from suffice.plots.canvas import MARKERS, Canvas, paint
from suffice.plots.lettering import Footnotes
from suffice.summary import summarise
from suffice.summary.signature import signature_column
from suffice.tables import as_scalar
from suffice.typing import ViewName
from suffice.validation import check_name_list

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_EDGE, _ACROSS, _DOWN = 0.25, 1.75, 0.75
_SWEEPS = 8

NodeRole = Literal["set", "changes", "stays"]


@dataclass(frozen=True)
class DagNode:
    """A variable, its role in the intervention, and its position."""

    name: str
    role: NodeRole
    text: str
    """Value, or change of the value; "" where none is known."""
    layer: int
    """Column from the left, after all causes of the variable."""
    place: float
    """Row from the top."""


@dataclass(frozen=True)
class Arrow:
    """Arrow from a cause to its effect."""

    cause: str
    effect: str
    role: Literal["cut", "carries", "plain"]
    """"cut" into a variable that is set; "carries" along the effects of the intervention."""
    via: tuple[tuple[int, float], ...]
    """Positions in the layers between, so that the arrow crosses no variable."""


@dataclass(frozen=True)
class Dag:
    """Data of the figure."""

    title: str
    nodes: tuple[DagNode, ...]
    arrows: tuple[Arrow, ...]
    notes: tuple[str, ...]


def dag(
    model: Any,
    *,
    do: Mapping[str, Any] | Sequence[str] | str = (),
    row: Any = None,
    ax: Any = None,
) -> Axes:
    """Draw a causal graph, and what an intervention changes.

    Parameters
    ----------
    model
        A `CausalModel`, or its graph as `CausalModel` takes it.
    do
        The intervention: {node: value}, or only names. Its effects are shaded; arrows into the
        variables that are set are cut.
    row
        The observed row, {node: value}: with a model and values in `do`, each variable shows its
        counterfactual change for this row.
    ax
        Axes to draw into, or a figure; None: a figure of its own.

    Examples
    --------
    >>> import suffice
    >>> model = suffice.CausalModel(
    ...     [("job", "income"), ("income", "savings")],
    ...     mechanisms={
    ...         "job": {"office": 0.5, "none": 0.5},
    ...         "income": lambda job: (job == "office") * 40,
    ...         "savings": lambda income: income // 10,
    ...     },
    ... )
    >>> ax = suffice.plots.dag(
    ...     model, do={"job": "office"}, row={"job": "none", "income": 0, "savings": 0}
    ... )
    """
    found = dag_of(model, do=do, row=row)
    layers = 1 + max((node.layer for node in found.nodes), default=0)
    return paint(ax, (max(4.5, _ACROSS * layers), 3.0), lambda canvas: _draw_dag(found, canvas))


def dag_of(model: Any, *, do: Mapping[str, Any] | Sequence[str] | str = (), row: Any = None) -> Dag:
    """Return the data of the figure: what is set, what may change, and the layout."""
    graph = _graph_of(model)
    given = dict(do) if isinstance(do, Mapping) else dict.fromkeys(check_name_list("do", do))
    # Names are checked before the layout, so that an error names the argument.
    graph.require(given, "do")
    texts = _node_texts(model, graph, do, row)
    # A variable that is set does not follow its causes, even if it is an effect of another.
    effects = frozenset[str]().union(*(graph.descendants[node] for node in given)) - set(given)
    layer, place, routes = _layout(graph)
    nodes = tuple(
        DagNode(
            printable(node),
            "set" if node in given else "changes" if node in effects else "stays",
            texts[node],
            layer[node],
            place[node],
        )
        for node in graph.nodes
    )
    arrows = []
    for effect in graph.nodes:
        for cause in graph.parents[effect]:
            carries = effect in effects and (cause in effects or cause in given)
            role: Literal["cut", "carries", "plain"] = "carries" if carries else "plain"
            if effect in given:
                role = "cut"
            arrows.append(Arrow(printable(cause), printable(effect), role, routes[cause, effect]))
    title = "Causes and effects"
    notes: tuple[str, ...] = ()
    if given:
        title = f"What setting {join_words(map(format_name, given))} changes"
        follow = join_words([n.name for n in nodes if n.role == "changes"]) or "nothing"
        notes = (
            f"Thick frame: set. Shaded: may follow ({follow}). Plain: stays as it is. Dashed "
            "arrows are cut, since what is set no longer follows its causes.",
        )
    return Dag(title, nodes, tuple(arrows), notes)


def _graph_of(model: Any) -> Graph:
    if isinstance(model, CausalModel):
        return read_graph({node: list(model.parents(node)) for node in model.nodes})
    try:
        return read_graph(model)
    except InputError as error:
        allowed = f"a CausalModel, or {error.allowed}"
        raise InputError("model", error.got, allowed, error.hint) from error


def _node_texts(model: Any, graph: Graph, do: Any, row: Any) -> dict[str, str]:
    """Return the value or the change of each node, as far as it is known."""
    values = do if isinstance(do, Mapping) else {}
    given = {node: format_value(as_scalar(value)) for node, value in values.items()}
    if row is None:
        return {node: f"set to {given[node]}" if node in given else "" for node in graph.nodes}
    if not isinstance(row, Mapping):
        raise InputError("row", row, "None, or {node: value} for every node")
    if not isinstance(model, CausalModel) or not isinstance(do, Mapping):
        allowed = "None where the model is only a graph, or do only names"
        raise InputError("row", dict(row), allowed)
    after = model.counterfactual(row, do).iloc[0]
    out = {}
    for node in graph.nodes:
        before, now = (format_value(as_scalar(value)) for value in (row[node], after[node]))
        out[node] = before if before == now else f"{before} → {now}"
    return out


# -- layout -------------------------------------------------------------------------------

_Spot = tuple[str, str, int]
"""A place in a layer: of a node (node, "", layer), or of an arrow (cause, effect, layer)."""
_Routes = dict[tuple[str, str], tuple[tuple[int, float], ...]]


def _layout(graph: Graph) -> tuple[dict[str, int], dict[str, float], _Routes]:
    """Return layers, rows and the routes of arrows, by the method of Sugiyama et al. (1981).

    The layer of a node is the length of the longest path from a root. An arrow over several layers
    takes a place in each of them, so that it crosses no variable. Sweeps over the layers then sort
    each one by the mean position of its neighbours.
    """
    layer: dict[str, int] = {}
    for node in graph.nodes:
        layer[node] = 1 + max((layer[parent] for parent in graph.parents[node]), default=-1)
    spot: dict[str, _Spot] = {node: (node, "", layer[node]) for node in graph.nodes}
    near: dict[_Spot, list[_Spot]] = {spot[node]: [] for node in graph.nodes}
    chains: dict[tuple[str, str], list[_Spot]] = {}
    for effect in graph.nodes:
        for cause in graph.parents[effect]:
            # A dummy place in each layer between keeps the arrow from crossing variables.
            between = range(layer[cause] + 1, layer[effect])
            chains[cause, effect] = [(cause, effect, k) for k in between]
            near |= {passing: [] for passing in chains[cause, effect]}
            for a, b in pairwise([spot[cause], *chains[cause, effect], spot[effect]]):
                near[a].append(b)
                near[b].append(a)
    rows: list[list[_Spot]] = [[] for _ in range(1 + max(layer.values(), default=0))]
    for passing in near:
        rows[passing[2]].append(passing)
    at: dict[_Spot, float] = {}
    for row in rows:
        at |= _centred(row)
    for sweep in range(_SWEEPS):
        for row in rows if sweep % 2 == 0 else rows[::-1]:
            # The barycentre heuristic: neighbours pull a node towards their mean, which removes
            # most crossings.
            middles = {s: sum(at[o] for o in near[s]) / max(1, len(near[s])) for s in row}
            row.sort(key=middles.__getitem__)
            at |= _centred(row)
    top = min(at.values(), default=0.0)
    routes = {ends: tuple((s[2], at[s] - top) for s in chain) for ends, chain in chains.items()}
    return layer, {node: at[spot[node]] - top for node in graph.nodes}, routes


def _centred(row: Sequence[_Spot]) -> dict[_Spot, float]:
    """Return positions one below the other, centred at 0."""
    return {spot: i - (len(row) - 1) / 2 for i, spot in enumerate(row)}


def _draw_dag(found: Dag, canvas: Canvas) -> float:
    from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
    from matplotlib.path import Path

    ink, legend, size = canvas.ink, Footnotes(canvas.fonts), 9.0
    room = canvas.width - 2 * _EDGE
    top = canvas.paragraph(_EDGE, _EDGE, found.title, room, size=12, bold=True) + 0.15
    layers = 1 + max((node.layer for node in found.nodes), default=0)
    across = room / layers
    lowest = max([n.place for n in found.nodes] + [p for a in found.arrows for _, p in a.via] + [0])

    def spot(layer: float, place: float) -> tuple[float, float]:
        return _EDGE + (layer + 0.5) * across, top + (place + 0.5) * _DOWN

    half: dict[str, float] = {}
    where = {node.name: spot(node.layer, node.place) for node in found.nodes}
    for node in found.nodes:
        x, y = where[node.name]
        bold = node.role == "set"
        lines = legend.fit(canvas.fonts.printable(node.name), 0.72 * across - 0.16, size, 2, bold)
        texts = legend.fit(canvas.fonts.printable(node.text), 0.72 * across - 0.16, size, 2)
        wide = max(canvas.fonts.width(words, size, bold) for words in (*lines, *texts))
        half[node.name] = wide / 2 + 0.08
        high = (len(lines) + len(texts)) * canvas.leading(size) / 2 + 0.05
        color = {"set": ink.flip, "changes": ink.keep, "stays": ink.soft}[node.role]
        fill = ink.blend(color, 0.2) if node.role == "changes" else ink.paper
        box = FancyBboxPatch(
            (x - half[node.name], y - high), 2 * half[node.name], 2 * high,
            boxstyle="round,pad=0,rounding_size=0.06", facecolor=fill, edgecolor=color,
            lw=2.6 if bold else 1.2, clip_on=False, zorder=3,
        )  # fmt: skip
        canvas.add(box)
        first = y - (len(lines) + len(texts) - 1) / 2 * canvas.leading(size)
        for number, words in enumerate([*lines, *texts]):
            at = first + number * canvas.leading(size)
            soft = ink.soft if number >= len(lines) and not bold else ink.text
            canvas.write(x, at, words, size=size, bold=bold, ha="center", color=soft)
    for arrow in found.arrows:
        start, end = where[arrow.cause], where[arrow.effect]
        points = [(start[0] + half[arrow.cause], start[1])]
        points += [spot(*via) for via in arrow.via]
        points.append((end[0] - half[arrow.effect] - 0.03, end[1]))
        vertices, codes = [points[0]], [Path.MOVETO]
        for (x0, y0), (x1, y1) in pairwise(points):
            # Curves leave and arrive horizontally.
            middle = (x0 + x1) / 2
            vertices += [(middle, y0), (middle, y1), (x1, y1)]
            codes += [Path.CURVE4] * 3
        color = {"cut": ink.soft, "carries": ink.keep, "plain": ink.soft}[arrow.role]
        curve = Path(vertices, codes)
        drawn = FancyArrowPatch(
            path=curve, arrowstyle="-|>", color=color, mutation_scale=10 * canvas.scale,
            lw=2.0 if arrow.role == "carries" else 0.9, clip_on=False, zorder=2,
            ls=(0, (3, 2)) if arrow.role == "cut" else "-",
        )  # fmt: skip
        canvas.add(drawn)
    y = top + (lowest + 1) * _DOWN + 0.1
    for words in (*legend.notes, *found.notes):
        y = canvas.paragraph(_EDGE, y, words, room, size=8, color=ink.soft)
    return y + 0.18


# Hasse diagram of all sets of up to six features, with sufficiencies and minimal sets.


_MOST_FEATURES = 6
_SET_EDGE, _SET_ACROSS, _SET_DOWN = 0.18, 0.5, 0.72
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

    view: ViewName
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
    size = max(6.0, 2 * _SET_EDGE + _SET_ACROSS * widest), 4.0
    return paint(ax, size, lambda canvas: _draw_hasse(found, canvas))


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


def _draw_hasse(found: list[HasseDiagram], canvas: Canvas) -> float:
    ink, room, y = canvas.ink, canvas.width - 2 * _SET_EDGE, _SET_EDGE
    for diagram in found:
        color = ink.for_view(diagram.view)
        y = (
            canvas.paragraph(_SET_EDGE, y, diagram.title, room, size=12, bold=True, color=color)
            + 0.1
        )
        y = _draw_levels(diagram, canvas, y) + 0.05
        y = canvas.paragraph(_SET_EDGE, y, " · ".join(diagram.features), room, size=8.5) + 0.15
    words = (
        "Each box is a set; its number is the share of references for which it suffices (fuller "
        f"colour: more). Framed boxes with a mark are the minimal sets at τ = {found[0].tau:g}. A "
        "line leads to the sets with one feature more."
    )
    if any(node.sufficiency is None for d in found for level in d.levels for node in level):
        words += " A question mark: never evaluated."
    return canvas.paragraph(_SET_EDGE, y, words, room, size=7.5, color=ink.soft) + _SET_EDGE


def _draw_levels(diagram: HasseDiagram, canvas: Canvas, y: float) -> float:
    """Draw a box per set, the full set at the top; return the y below the empty set."""
    ink, color = canvas.ink, canvas.ink.for_view(diagram.view)
    widest = max(map(len, diagram.levels))
    across = min(0.9, (canvas.width - 2 * _SET_EDGE) / widest)
    half, high = 0.45 * across, 0.2
    places: dict[str, tuple[float, float]] = {}
    for size, level in enumerate(diagram.levels):
        middle = y + (len(diagram.levels) - 1 - size) * _SET_DOWN + high
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
    return y + (len(diagram.levels) - 1) * _SET_DOWN + 2 * high
