"""Recourse, rules, Shapley values and every other result with numbers, as charts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from suffice.checks import whole
from suffice.encodings.anchors import AnchorRules, Rule
from suffice.encodings.attribution import ShapleyInteractions, ShapleyValues
from suffice.encodings.causation import Causation, CausationBounds
from suffice.encodings.recourse import Option, Recourse
from suffice.plots.canvas import paint, require_answer
from suffice.plots.charts import (
    Amount,
    Chart,
    Heading,
    Line,
    fewest,
    paint_chart,
    share,
    signed,
)
from suffice.plots.heat import draw_heat, heat_of
from suffice.results import Column, Panel, Rest, Result
from suffice.typing import Scalar
from suffice.wording import count, harmless, price, show, three_digits

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["chart_of", "measures", "recourse", "rule", "shapley"]

_CHANGES = 8
"""So many changes of one option are told line by line."""


def recourse(result: Recourse | Option, *, ax: Any = None, most: int = 12) -> Axes:
    """What to change, from what to what: the cost, how surely it works, how much depends on it.

    A row is an option, the cheapest first.

    Examples
    --------
    >>> import suffice
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = suffice.datasets.loans()
    >>> X = X[["income", "debt", "late payments"]]
    >>> model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    >>> ways = suffice.Explainer(model, X).recourse(X.iloc[8])
    >>> ax = suffice.plots.recourse(ways)
    """
    require_answer(
        result, Recourse | Option, "what explainer.recourse answers, or one of its options"
    )
    return paint_chart(ax, chart_of(result, whole("most", most)))


def rule(result: Rule | AnchorRules, *, ax: Any = None, most: int = 12) -> Axes:
    """Rules with their precision, against τ, their coverage and their necessity.

    Examples
    --------
    >>> import suffice
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = suffice.datasets.loans()
    >>> X = X[["income", "debt", "late payments"]]
    >>> model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    >>> rules = suffice.Explainer(model, X).anchor(X.iloc[8])
    >>> ax = suffice.plots.rule(rules)
    """
    require_answer(result, Rule | AnchorRules, "a rule, or what explainer.anchor answers")
    return paint_chart(ax, chart_of(result, whole("most", most)))


def shapley(result: ShapleyValues | ShapleyInteractions, *, ax: Any = None, most: int = 20) -> Axes:
    """Shapley values as bars, with the exact values; interactions of two features as a heat map.

    Examples
    --------
    >>> import suffice
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = suffice.datasets.loans()
    >>> X = X[["income", "debt", "late payments"]]
    >>> model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    >>> e = suffice.Explainer(model, X)(X.iloc[8])
    >>> ax = suffice.plots.shapley(suffice.shapley_values(e.keep))
    >>> ax = suffice.plots.shapley(suffice.shapley_interactions(e.keep))
    """
    allowed = "what shapley_values or shapley_interactions answers"
    require_answer(result, ShapleyValues | ShapleyInteractions, allowed)
    most = whole("most", most)
    if isinstance(result, ShapleyInteractions) and result.order == 2:
        heat = heat_of(result, most)
        return paint(ax, heat.size, lambda canvas: draw_heat(heat, canvas))
    return paint_chart(ax, chart_of(result, most))


def measures(result: Result, *, ax: Any = None, most: int = 20) -> Axes:
    """The numbers of any result: its shares on an axis, with intervals where they are known.

    Examples
    --------
    >>> import suffice
    >>> bounds = suffice.causation_bounds({(True, True): 30, (False, False): 40})
    >>> ax = suffice.plots.measures(bounds)
    """
    require_answer(result, Result, "an answer of this package")
    return paint_chart(ax, chart_of(result, whole("most", most)))


def chart_of(result: Result, most: int = 20) -> Chart:
    """The facts of a chart: at most so many rows."""
    if isinstance(result, Recourse):
        return _of_recourse(result, most)
    if isinstance(result, Option):
        title = f"A change, at a cost of {price(result.cost)}"
        random = result.reliability < 1
        headings = _ways_headings(None, random)
        return Chart(title, result.sheet.lead, headings, (_of_option(result, random),), "", ())
    if isinstance(result, Rule):
        sheet = result.sheet
        return Chart(sheet.title, sheet.lead, _RULES, (_of_rule(result),), "", sheet.notes)
    if isinstance(result, AnchorRules):
        return _of_rules(result, most)
    if isinstance(result, ShapleyValues | ShapleyInteractions):
        return _of_amounts(result, most)
    if isinstance(result, Causation):
        return _of_causation(result)
    if isinstance(result, CausationBounds):
        return _of_bounds(result)
    return _of_sheet(result, most)


# -- recourse -----------------------------------------------------------------------------


def _ways_headings(tau: float | None, random: bool) -> tuple[Heading, ...]:
    return (
        Heading("cost", "number"),
        Heading("works for so many references", "share", tau),
        *([Heading("works in so many draws", "share")] if random else []),
        Heading("of all ways, those with it", "share"),
    )


def _of_recourse(result: Recourse, most: int) -> Chart:
    sheet, shown = result.sheet, result.options[:most]
    random = any(option.reliability < 1 for option in result.options)
    more = len(result) - len(shown)
    order = ", the cheapest first" if len(result) > 1 and result.more == 0 else ""
    return Chart(
        title=f"{harmless(sheet.title)}{order}",
        lead=(),
        headings=_ways_headings(result.tau, random),
        lines=tuple(_of_option(option, random) for option in shown),
        more=f"and {count(more, 'more way')}: .options" if more else "",
        notes=sheet.notes,
    )


def _of_option(option: Option, random: bool) -> Line:
    moves = [
        f"{harmless(name)}: {show(old)} → {show(new)}"
        for name, (old, new) in option.changes.items()
    ]
    still = [name for name in option.features if name in option.values]
    same = [harmless(name) for name in still if name not in option.changes]
    moves += [f"{', '.join(same)} as {'it is' if len(same) == 1 else 'they are'}"] if same else []
    amounts = [
        Amount(option.cost, price(option.cost)),
        share(option.sufficiency, option.interval),
        *([share(option.reliability)] if random else []),
        share(option.necessity),
    ]
    return Line(fewest(moves, _CHANGES), tuple(amounts))


# -- rules --------------------------------------------------------------------------------

_RULES = (
    Heading("precision", "share"),
    Heading("coverage", "share"),
    Heading("necessity", "share"),
)


def _of_rule(found: Rule) -> Line:
    words = f"if {harmless(found.words)}" if found.factor is not None else "always"
    shares = share(found.precision, found.interval), share(found.coverage), share(found.necessity)
    return Line((words,), shares)


def _of_rules(result: AnchorRules, most: int) -> Chart:
    sheet, shown = result.sheet, result.rules[:most]
    more = len(result) - len(shown)
    precision = Heading("precision", "share", result.tau)
    return Chart(
        title=sheet.title,
        lead=sheet.lead,
        headings=(precision, *_RULES[1:]),
        lines=tuple(map(_of_rule, shown)),
        more=f"and {count(more, 'more rule')}: .rules" if more else "",
        notes=sheet.notes,
    )


# -- Shapley ------------------------------------------------------------------------------


def _of_amounts(result: ShapleyValues | ShapleyInteractions, most: int) -> Chart:
    sheet = result.sheet
    pairs = [
        (harmless(key if isinstance(key, str) else ", ".join(key)), value)
        for key, value in result.items()
    ]
    pairs.sort(key=lambda pair: -abs(pair[1]))
    rest = pairs[most:]
    what = "adds" if isinstance(result, ShapleyValues) else "interaction"
    more = ""
    if rest:
        noun = "feature" if isinstance(result, ShapleyValues) else "set"
        total = three_digits(sum(value for _, value in rest))
        more = f"and {count(len(rest), f'more {noun}')}, {total} together: .to_frame()"
    return Chart(
        title=sheet.title,
        lead=sheet.lead,
        headings=(Heading(what, "number"),),
        lines=tuple(Line((name,), (signed(value),)) for name, value in pairs[:most]),
        more=more,
        notes=(*sheet.notes, "A hollow bar is below zero."),
    )


# -- causes -------------------------------------------------------------------------------


def _of_causation(result: Causation) -> Chart:
    sheet = result.sheet
    (panel,) = sheet.panels
    values = result.necessity, result.sufficiency, result.pns
    within = result.intervals or (None, None, None)
    lines = [
        Line((str(name), str(row[-1])), (share(value, interval),))
        for (name, *_), row, value, interval in zip(
            panel.rows, panel.rows, values, within, strict=True
        )
    ]
    headings = (Heading("probability", "share"),)
    return Chart(sheet.title, sheet.lead, headings, tuple(lines), "", sheet.notes)


def _of_bounds(result: CausationBounds) -> Chart:
    pairs = {"necessity": result.necessity, "sufficiency": result.sufficiency, "pns": result.pns}
    lines = tuple(Line((name,), (share(None, pair),)) for name, pair in pairs.items())
    sheet = result.sheet
    return Chart(sheet.title, sheet.lead, (Heading("between", "share"),), lines, "", sheet.notes)


# -- anything else ------------------------------------------------------------------------


def _of_sheet(result: Result, most: int) -> Chart:
    """The first table of a result: its words are rows, its shares and numbers are drawn."""
    sheet = result.sheet
    panel = next((p for p in sheet.panels if any(c.kind != "text" for c in p.columns)), None)
    if panel is None:
        words = tuple(row for p in sheet.panels for row in _in_words(p))
        return Chart(sheet.title, sheet.lead, (), words[:most], "", sheet.notes)
    bounds = _bounds(panel.columns)
    told = [i for i, column in enumerate(panel.columns) if column.kind == "text"]
    folded = {j for pair in bounds.values() for j in range(pair.start, pair.stop)}
    drawn = [i for i in range(len(panel.columns)) if i not in told and i not in folded]
    headings = tuple(
        Heading(panel.columns[i].heading, "share" if panel.columns[i].kind == "share" else "number")
        for i in drawn
    )
    lines = tuple(
        Line(
            tuple(show(row[i]) for i in told if row[i] not in (None, "")),
            tuple(_of_cell(panel.columns[i], row[i], row[bounds.get(i, slice(0))]) for i in drawn),
        )
        for row in panel.rows[:most]
    )
    hidden = len(panel.rows) - len(lines)
    more = str(Rest(hidden, ".to_frame()", "row") if hidden else panel.more)
    lead = (*sheet.lead, panel.heading) if panel.heading else sheet.lead
    return Chart(sheet.title, lead, headings, lines, more, sheet.notes)


def _bounds(columns: tuple[Column, ...]) -> dict[int, slice]:
    """By the place of a share's column: where its interval stands, "from" and "to" beside it."""
    after = ((i, slice(i + 1, i + 3)) for i, column in enumerate(columns) if column.kind == "share")
    return {i: pair for i, pair in after if [c.heading for c in columns[pair]] == ["from", "to"]}


def _of_cell(column: Column, value: Scalar, bounds: tuple[Scalar, ...]) -> Amount:
    if not isinstance(value, int | float):
        return Amount(None, "–" if value is None else show(value))
    if column.kind != "share":
        return Amount(float(value), f"{value:,.3g}")
    match bounds:
        case (int() | float() as low, int() | float() as high):
            return share(float(value), (float(low), float(high)))
    return share(float(value))


def _in_words(panel: Panel) -> list[Line]:
    return [Line((", ".join(show(v) for v in row if v is not None),), ()) for row in panel.rows]
