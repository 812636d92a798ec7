"""Figures of recourse, rules, Shapley values, causation and any other result, as charts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from suffice.attribution import ShapleyInteractions, ShapleyValues
from suffice.causation import Causation, CausationBounds
from suffice.formatting import (
    format_cost,
    format_value,
    plural,
    printable,
    three_digits,
    with_sign,
)
from suffice.plots.canvas import Canvas, paint, require_result
from suffice.plots.charts import (
    Chart,
    ChartCell,
    ChartColumn,
    ChartRow,
    first_lines,
    necessity_cell,
    paint_chart,
    share_cell,
    signed_cell,
)
from suffice.plots.lettering import Footnotes
from suffice.recourse import Option, Recourse
from suffice.results import Cell, Column, Estimate, OmittedRows, Panel, Result
from suffice.rules import AnchorRules, Rule
from suffice.validation import check_integer

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CHANGES_LISTED = 8
"""Most changes of one recourse option, each on a line."""


def recourse(result: Recourse | Option, *, ax: Any = None, most: int = 12) -> Axes:
    """Draw recourse options: what to change, the cost, how often it works, and its necessity.

    A row is an option, the cheapest first.

    Examples
    --------
    >>> import suffice
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = suffice.datasets.loans()
    >>> X = X[["income", "debt", "late payments"]]
    >>> model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    >>> options = suffice.Explainer(model, X).recourse(X.iloc[8])
    >>> ax = suffice.plots.recourse(options)
    """
    allowed = "a result of Explainer.recourse, or one of its options"
    require_result(result, Recourse | Option, allowed)
    return paint_chart(ax, chart_of(result, check_integer("most", most)))


def rule(result: Rule | AnchorRules, *, ax: Any = None, most: int = 12) -> Axes:
    """Draw rules with their precision against τ, their coverage and their necessity.

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
    require_result(result, Rule | AnchorRules, "a rule, or a result of Explainer.anchor")
    return paint_chart(ax, chart_of(result, check_integer("most", most)))


def shapley(result: ShapleyValues | ShapleyInteractions, *, ax: Any = None, most: int = 20) -> Axes:
    """Draw Shapley values as bars with numbers, and interactions of two features as a heat map.

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
    allowed = "a result of shapley_values or shapley_interactions"
    require_result(result, ShapleyValues | ShapleyInteractions, allowed)
    most = check_integer("most", most)
    if isinstance(result, ShapleyInteractions) and result.order == 2:
        heat = interaction_heatmap_of(result, most)
        return paint(ax, heat.size, lambda canvas: draw_interaction_heatmap(heat, canvas))
    return paint_chart(ax, chart_of(result, most))


def measures(result: Result, *, ax: Any = None, most: int = 20) -> Axes:
    """Draw the numbers of any result: shares on an axis, with intervals where they are known.

    Examples
    --------
    >>> import suffice
    >>> bounds = suffice.causation_bounds({(True, True): 30, (False, False): 40})
    >>> ax = suffice.plots.measures(bounds)
    """
    require_result(result, Result, "a result of this package")
    return paint_chart(ax, chart_of(result, check_integer("most", most)))


def chart_of(result: Result, most: int = 20) -> Chart:
    """Return the chart of a result, with at most `most` rows."""
    if isinstance(result, Recourse):
        return _recourse_chart(result, most)
    if isinstance(result, Option):
        title = f"A change, at a cost of {format_cost(result.cost)}"
        random = result.reliability < 1
        columns = _recourse_columns(None, random)
        return Chart(title, result.sheet.lead, columns, (_option_row(result, random),), "", ())
    if isinstance(result, Rule):
        sheet = result.sheet
        return Chart(sheet.title, sheet.lead, _RULE_COLUMNS, (_rule_row(result),), "", sheet.notes)
    if isinstance(result, AnchorRules):
        return _rules_chart(result, most)
    if isinstance(result, ShapleyValues | ShapleyInteractions):
        return _shapley_chart(result, most)
    if isinstance(result, Causation):
        return _causation_chart(result)
    if isinstance(result, CausationBounds):
        return _causation_bounds_chart(result)
    return _table_chart(result, most)


# -- recourse -----------------------------------------------------------------------------


def _recourse_columns(tau: float | None, random: bool) -> tuple[ChartColumn, ...]:
    return (
        ChartColumn("cost", "number"),
        ChartColumn("works for so many references", "share", tau),
        *([ChartColumn("works in so many draws", "share")] if random else []),
        ChartColumn("set necessity", "share"),
    )


def _recourse_chart(result: Recourse, most: int) -> Chart:
    sheet, shown = result.sheet, result.options[:most]
    random = any(option.reliability < 1 for option in result.options)
    order = ", the cheapest first" if len(result) > 1 and result.more == 0 else ""
    return Chart(
        title=f"{printable(sheet.title)}{order}",
        lead=(),
        columns=_recourse_columns(result.tau, random),
        rows=tuple(_option_row(option, random) for option in shown),
        more=str(OmittedRows(len(result) - len(shown), ".options", "option")),
        notes=sheet.notes,
    )


def _option_row(option: Option, random: bool) -> ChartRow:
    moves = [
        f"{printable(name)}: {format_value(old)} → {format_value(new)}"
        for name, (old, new) in option.changes.items()
    ]
    still = [name for name in option.features if name in option.values]
    same = [printable(name) for name in still if name not in option.changes]
    moves += [f"{', '.join(same)} as {'it is' if len(same) == 1 else 'they are'}"] if same else []
    cells = [
        ChartCell(option.cost, format_cost(option.cost)),
        share_cell(option.sufficiency, option.interval),
        *([share_cell(option.reliability)] if random else []),
        necessity_cell(option.necessity, option.necessity_baseline),
    ]
    return ChartRow(first_lines(moves, _CHANGES_LISTED), tuple(cells))


# -- rules --------------------------------------------------------------------------------

_RULE_COLUMNS = (
    ChartColumn("precision", "share"),
    ChartColumn("coverage", "share"),
    ChartColumn("recall", "share"),
)


def _rule_row(found: Rule) -> ChartRow:
    words = f"if {printable(found.words)}" if found.factor is not None else "always"
    shares = (
        share_cell(found.precision, found.interval),
        share_cell(found.coverage),
        necessity_cell(found.necessity, found.coverage),
    )
    return ChartRow((words,), shares)


def _rules_chart(result: AnchorRules, most: int) -> Chart:
    sheet, shown = result.sheet, result.rules[:most]
    precision = ChartColumn("precision", "share", result.tau)
    return Chart(
        title=sheet.title,
        lead=sheet.lead,
        columns=(precision, *_RULE_COLUMNS[1:]),
        rows=tuple(map(_rule_row, shown)),
        more=str(OmittedRows(len(result) - len(shown), ".rules", "rule")),
        notes=sheet.notes,
    )


# -- Shapley ------------------------------------------------------------------------------


def _shapley_chart(result: ShapleyValues | ShapleyInteractions, most: int) -> Chart:
    sheet = result.sheet
    pairs = [
        (printable(key if isinstance(key, str) else ", ".join(key)), value)
        for key, value in result.items()
    ]
    pairs.sort(key=lambda pair: -abs(pair[1]))
    rest = pairs[most:]
    what = "adds" if isinstance(result, ShapleyValues) else "interaction"
    more = ""
    if rest:
        noun = "feature" if isinstance(result, ShapleyValues) else "set"
        total = three_digits(sum(value for _, value in rest))
        more = f"and {plural(len(rest), f'more {noun}')}, {total} together: .to_frame()"
    return Chart(
        title=sheet.title,
        lead=sheet.lead,
        columns=(ChartColumn(what, "number"),),
        rows=tuple(ChartRow((name,), (signed_cell(value),)) for name, value in pairs[:most]),
        more=more,
        notes=(*sheet.notes, "A hollow bar is below zero."),
    )


# -- causes -------------------------------------------------------------------------------


def _causation_chart(result: Causation) -> Chart:
    sheet = result.sheet
    (panel,) = sheet.panels
    values = result.necessity, result.sufficiency, result.pns
    intervals = result.intervals or (None, None, None)
    rows = tuple(
        ChartRow((str(row[0]), str(row[-1])), (share_cell(value, interval),))
        for row, value, interval in zip(panel.rows, values, intervals, strict=True)
    )
    column = ChartColumn("probability", "share")
    return Chart(sheet.title, sheet.lead, (column,), rows, "", sheet.notes)


def _causation_bounds_chart(result: CausationBounds) -> Chart:
    pairs = {"necessity": result.necessity, "sufficiency": result.sufficiency, "pns": result.pns}
    rows = tuple(ChartRow((name,), (share_cell(None, pair),)) for name, pair in pairs.items())
    sheet = result.sheet
    return Chart(sheet.title, sheet.lead, (ChartColumn("between", "share"),), rows, "", sheet.notes)


# -- anything else ------------------------------------------------------------------------


def _table_chart(result: Result, most: int) -> Chart:
    """Return the chart of the first table with numbers; its text columns are the row labels."""
    sheet = result.sheet
    panel = next((p for p in sheet.panels if any(c.kind != "text" for c in p.columns)), None)
    if panel is None:
        words = tuple(row for p in sheet.panels for row in _text_rows(p))
        return Chart(sheet.title, sheet.lead, (), words[:most], "", sheet.notes)
    lined = [[*zip(panel.columns, row, strict=True)] for row in panel.rows[:most]]
    columns = tuple(ChartColumn(c.heading, c.kind) for c in panel.columns if c.kind != "text")
    rows = tuple(
        ChartRow(
            tuple(c.text_of(v) for c, v in cells if c.kind == "text" and v not in (None, "")),
            tuple(_table_cell(c, v) for c, v in cells if c.kind != "text"),
        )
        for cells in lined
    )
    hidden = len(panel.rows) - len(rows)
    more = str(OmittedRows(hidden, ".to_frame()", "row") if hidden else panel.more)
    lead = (*sheet.lead, panel.heading) if panel.heading else sheet.lead
    return Chart(sheet.title, lead, columns, rows, more, sheet.notes)


def _table_cell(column: Column, cell: Cell) -> ChartCell:
    if isinstance(cell, Estimate):
        return ChartCell(cell.value, column.text_of(cell), (cell.low, cell.high))
    if not isinstance(cell, int | float):
        return ChartCell(None, column.text_of(cell))
    text = f"{cell:,.3g}" if column.kind == "number" else column.text_of(cell)
    return ChartCell(float(cell), text)


def _text_rows(panel: Panel) -> list[ChartRow]:
    return [
        ChartRow(
            (", ".join(text for text, cell in zip(*pair, strict=True) if cell is not None),), ()
        )
        for pair in zip(panel.texts, panel.rows, strict=True)
    ]


# Heat map of pairwise interactions: what two features add beyond the sum of their own values.


_EDGE, _CELL, _LABELS = 0.18, 0.62, 1.9
_TALLEST_HEAD = 1.3


@dataclass(frozen=True)
class InteractionHeatmap:
    """Symmetric matrix of interactions; its diagonal is empty."""

    title: str
    lead: tuple[str, ...]
    names: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]
    more: str
    notes: tuple[str, ...]

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of a new figure in inches; its height is then fitted to the content."""
        return max(6.0, 2 * _EDGE + _LABELS + _CELL * len(self.names)), 5.0


def interaction_heatmap_of(result: ShapleyInteractions, most: int = 20) -> InteractionHeatmap:
    """Return the heat map of the `most` features with the strongest interactions."""
    names = result.features
    strongest = dict.fromkeys(names, 0.0)
    for pair, value in result.items():
        for name in pair:
            strongest[name] = max(strongest[name], abs(value))
    kept = set(sorted(names, key=lambda name: -strongest[name])[:most])
    shown = [name for name in names if name in kept]
    values = tuple(tuple(None if a == b else result[a, b] for b in shown) for a in shown)
    hidden = len(names) - len(shown)
    more = f"and {plural(hidden, 'more feature')} with weaker ones: .to_frame()" if hidden else ""
    sheet = result.sheet
    return InteractionHeatmap(
        sheet.title, sheet.lead, tuple(map(printable, shown)), values, more, sheet.notes
    )


def draw_interaction_heatmap(heat: InteractionHeatmap, canvas: Canvas) -> float:
    """Draw a heat map with numbers in its cells; return the y below it."""
    ink, legend, size = canvas.ink, Footnotes(canvas.fonts), 8.5
    room, n = canvas.width - 2 * _EDGE, len(heat.names)
    y = canvas.paragraph(_EDGE, _EDGE, heat.title, room, size=12, bold=True)
    for words in heat.lead:
        y = canvas.paragraph(_EDGE, y, words, room)
    y += 0.1
    labels = min(_LABELS, 0.35 * canvas.width)
    cell = min(_CELL, (room - labels) / n)
    left = _EDGE + labels
    names = [canvas.fonts.printable(name) for name in heat.names]
    heads = [legend.fit(name, _TALLEST_HEAD, size, 2 if cell > 0.35 else 1) for name in names]
    y += max(canvas.fonts.width(line, size) for head in heads for line in head) + 0.05
    for column, head in enumerate(heads):
        canvas.write_upright(left + (column + 0.5) * cell, y - 0.04, head, size=size)
    largest = max((abs(a) for row in heat.values for a in row if a is not None), default=0.0)
    for number, row in enumerate(heat.values):
        middle = y + (number + 0.5) * cell
        lines = legend.fit(names[number], labels - 0.1, size, 2)
        canvas.write_lines(left - 0.08, middle, lines, size=size, ha="right")
        for column, value in enumerate(row):
            if value is None:
                continue
            strength = 0.75 * abs(value) / largest if largest else 0.0
            color = ink.blend(ink.keep if value >= 0 else ink.flip, strength)
            canvas.box(left + column * cell, y + number * cell, cell, cell, facecolor=color,
                       edgecolor=ink.paper, lw=1.0, zorder=1)  # fmt: skip
            fits = min(8.0, 72 * cell / 5.2)
            canvas.write(left + (column + 0.5) * cell, middle, with_sign(value), size=fits,
                         ha="center", color=ink.text_on(color))  # fmt: skip
    y += n * cell + 0.12
    for words in (heat.more, *legend.notes, *heat.notes):
        y = canvas.paragraph(_EDGE, y, words, room, size=7.5, color=ink.soft)
    return y + _EDGE
