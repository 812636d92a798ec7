"""Figures of audits: cohort, cover, drift, stability, reasons, reliance and roles, as charts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from suffice.audit.cohort import Cohort, CohortPart
from suffice.audit.decision_drift import FactorChange
from suffice.audit.drift import Drift
from suffice.audit.global_factors import GlobalFactors
from suffice.audit.reasons import Reasons
from suffice.audit.reliance import Reliance
from suffice.audit.roles import Role, Roles
from suffice.audit.stability_result import Stability, StableDecision
from suffice.formatting import (
    format_cost,
    format_features,
    percent,
    percent_range,
    plural,
    printable,
)
from suffice.inference import Share
from suffice.plots.canvas import require_result
from suffice.plots.charts import (
    Chart,
    ChartCell,
    ChartColumn,
    ChartRow,
    necessity_cell,
    paint_chart,
    proportion_cell,
    share_cell,
    signed_cell,
)
from suffice.results import OmittedRows
from suffice.validation import check_integer

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PARTS_DRAWN = 8
"""Most parts of a cohort in one figure."""


def cohort(result: Cohort, *, ax: Any = None, most: int = 5) -> Axes:
    """Draw the sets that are minimal most often, for each outcome, group and view of a cohort.

    Each set has the share of decisions for which it suffices, with an interval, and the thresholds
    at which it is minimal in the summed counts.

    Examples
    --------
    >>> import suffice
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = suffice.datasets.loans()
    >>> X = X[["income", "debt", "late payments"]]
    >>> model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    >>> es = suffice.Explainer(model, X).explain_many(X.iloc[:20])
    >>> ax = suffice.plots.cohort(suffice.audit.cohort(es))
    """
    require_result(result, Cohort, "a result of audit.cohort")
    return paint_chart(ax, cohort_chart(result, check_integer("most", most)))


def cohort_chart(result: Cohort, most: int = 5) -> Chart:
    """Return the chart of a cohort, with at most `most` sets of each part."""
    lines = [line for part in result.parts[:_PARTS_DRAWN] for line in _part_rows(part, most)]
    sets = sum(len(p.sets) - min(len(p.sets), most) + p.more for p in result.parts)
    parts = len(result.parts) - _PARTS_DRAWN
    more = OmittedRows(parts, ".parts", "part"), OmittedRows(sets, ".to_frame()", "set")
    lead = [f"{result.differing}."] if result.differences else []
    lead += [
        f"{format_features(d.features)} to {d.view} “{printable(d.outcome)}”: "
        f"{printable(d.groups[0])} {percent(d.shares[0].share)}, "
        f"{printable(d.groups[1])} {percent(d.shares[1].share)}."
        for d in result.found[:3]
    ]
    return Chart(
        title=result.sheet.title,
        lead=tuple(lead),
        columns=(
            ChartColumn("suffices for so many decisions", "share"),
            ChartColumn("minimal for these τ", "share"),
        ),
        rows=tuple(lines),
        more="; ".join(map(str, filter(None, more))),
        notes=(
            "Whiskers: exact 95% intervals of the shares of decisions. Bars: for which thresholds "
            "a set is minimal in the counts of all these decisions, summed.",
        ),
    )


def _part_rows(part: CohortPart, most: int) -> list[ChartRow]:
    # A row of empty cells is drawn as a heading.
    nothing = ChartCell(None, "")
    heading = f"To {part.view} “{printable(part.who)}”: {plural(part.decisions, 'decision')}"
    lines = [ChartRow((heading,), (nothing, nothing))]
    bars = {features: (low, high) for features, low, high in part.barcode or ()}
    for s in part.sets[:most]:
        bar = bars.get(s.features)
        thresholds = ChartCell(None, "–") if bar is None else share_cell(None, bar)
        cells = proportion_cell(s.share), thresholds
        lines.append(ChartRow((printable(format_features(s.features)),), cells))
    if not part.sets:
        lines.append(ChartRow(("no set suffices",), (ChartCell(None, "–"),) * 2))
    return lines


# Global factors: few sets that cover many decisions.


def cover(result: GlobalFactors, *, ax: Any = None, most: int = 20) -> Axes:
    """Draw how many decisions each set adds to those covered by the sets before it.

    A dashed line marks the share of decisions that was to be covered.

    Examples
    --------
    >>> import suffice
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = suffice.datasets.loans()
    >>> X = X[["income", "debt", "late payments"]]
    >>> model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    >>> es = suffice.Explainer(model, X).explain_many(X.iloc[:20])
    >>> ax = suffice.plots.cover(suffice.audit.global_factors(es))
    """
    require_result(result, GlobalFactors, "a result of audit.global_factors")
    return paint_chart(ax, cover_chart(result, check_integer("most", most)))


def cover_chart(result: GlobalFactors, most: int = 20) -> Chart:
    """Return the chart of the decisions that each set adds to those covered before."""
    rows, before = [], 0
    for s in result.sets[:most]:
        # A bar begins where the sets before it end: together they reach the covered share.
        interval = before / result.n, (before + s.new) / result.n
        text = f"+{s.new:,}, {percent(interval[1])}"
        label = printable(format_features(s.features))
        rows.append(ChartRow((label,), (ChartCell(None, text, interval),)))
        before += s.new
    wanted = ChartColumn("", "share", result.wanted, f"wanted: {percent(result.wanted)}")
    more = str(OmittedRows(len(result.sets) - len(rows), ".sets", "set"))
    sheet = result.sheet
    return Chart(sheet.title, sheet.lead, (wanted,), tuple(rows), more, ())


# Drift: shares before and after a change of the model or the data.


_RING_NOTE = "A ring is before, a dot after."


def drift(result: Drift, *, ax: Any = None, most: int = 12) -> Axes:
    """Draw what changed between two models or two points in time.

    For one decision: the sufficiency of each set before and after, against τ. For many: the shares
    of decisions that changed, and the share of minimal sets that name each feature.

    Examples
    --------
    >>> import suffice
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = suffice.datasets.loans()
    >>> X = X[["income", "debt", "late payments"]]
    >>> models = [DecisionTreeClassifier(max_depth=d, random_state=0).fit(X, y) for d in (3, 4)]
    >>> before, after = (suffice.Explainer(m, X).explain_many(X.iloc[:20]) for m in models)
    >>> ax = suffice.plots.drift(suffice.audit.compare(before, after))
    """
    require_result(result, Drift, "a result of audit.compare")
    return paint_chart(ax, drift_chart(result, check_integer("most", most)))


def drift_chart(result: Drift, most: int = 12) -> Chart:
    """Return the chart of a drift, with at most `most` sets or features."""
    sheet = result.sheet
    if len(result) > 1:
        lines = [*_changed_share_rows(result), *_feature_rows(result, most)]
        more = str(OmittedRows(len(result.by_feature) - most, ".by_feature", "feature"))
        heading = ChartColumn("share", "share")
        ring = (_RING_NOTE,) if result.by_feature else ()
        return Chart(sheet.title, sheet.lead[:1], (heading,), tuple(lines), more, ring)
    (d,) = result.decisions
    shown = d.factors[:most]
    headings = (
        ChartColumn("sufficiency", "share", result.tau),
        ChartColumn("moved, in points (95%)", "number"),
    )
    lines = [_set_change_row(f) for f in shown]
    more = str(OmittedRows(len(d.factors) - len(shown), ".to_factor_frame()", "set"))
    notes = (_RING_NOTE, "A hollow bar is below zero.") if lines else ()
    return Chart(sheet.title, sheet.lead, headings, tuple(lines), more, notes)


def _changed_share_rows(result: Drift) -> list[ChartRow]:
    """Return the rows of decisions and recourse options that changed."""
    rows: list[tuple[str, str, Share]] = [
        ("another outcome", "decisions", result.changed),
        ("other minimal sets", "decisions with the same outcome", result.other_sets),
        ("other reason codes", "decisions with the same outcome", result.other_codes),
        ("recourse options that no longer work", "options", result.fallen),
    ]
    return [
        ChartRow((words, f"of {part.n:,} {of}"), (proportion_cell(part),))
        for words, of, part in rows
        if part.n
    ]


def _feature_rows(result: Drift, most: int) -> list[ChartRow]:
    return [
        ChartRow(
            (f"minimal sets with {printable(f.feature)}", f"mean of {f.decisions:,} decisions"),
            (_before_after_cell(f.before, f.after),),
        )
        for f in result.by_feature[:most]
    ]


def _set_change_row(f: FactorChange) -> ChartRow:
    words = printable(format_features(f.features)), f"to {f.view}; {f.text}"
    before, after = (None if s is None else s.share for s in (f.before, f.after))
    shift = ChartCell(None, "–") if f.shift is None else ChartCell(f.shift.difference, str(f.shift))
    return ChartRow(words, (_before_after_cell(before, after), shift))


def _before_after_cell(before: float | None, after: float | None) -> ChartCell:
    """Return the cell of a share with its earlier value.

    >>> _before_after_cell(0.5, 0.75).text
    '50% → 75%'
    """
    return ChartCell(after, f"{percent(before)} → {percent(after)}", before=before)


# Stability: in how many retrained models an explanation holds.


def stability(result: Stability, *, ax: Any = None, most: int = 20) -> Axes:
    """Draw in how many retrained models an explanation holds.

    For one decision: its outcome, each minimal set and each recourse option. For many: each
    decision, the least stable first.

    Examples
    --------
    >>> import suffice
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = suffice.datasets.loans(300)
    >>> X = X[["income", "debt", "late payments"]]
    >>> tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    >>> found = suffice.audit.stability(tree, X, y, k=3, rows=X.iloc[[8]], recourse=True)
    >>> ax = suffice.plots.stability(found)
    """
    require_result(result, Stability, "a result of audit.stability")
    return paint_chart(ax, stability_chart(result, check_integer("most", most)))


def stability_chart(result: Stability, most: int = 20) -> Chart:
    """Return the chart of stability, with at most `most` rows."""
    sheet = result.sheet
    if len(result) == 1:
        (d,) = result.decisions
        lines = list(_decision_rows(d))
        headings: tuple[ChartColumn, ...] = (ChartColumn("holds in", "share"),)
    else:
        recourse = any(d.options for d in result.decisions)
        # The least stable first: of many rows only the first are drawn.
        order = sorted(result.decisions, key=lambda d: d.same.hits)
        lines = [_decision_row(d, recourse) for d in order]
        headings = (
            ChartColumn("same outcome in", "share"),
            ChartColumn("its sets suffice in, mean", "share"),
            *([ChartColumn("its options work in, mean", "share")] if recourse else []),
        )
    more = str(OmittedRows(len(lines) - most, ".to_frame()"))
    return Chart(sheet.title, sheet.lead, headings, tuple(lines[:most]), more, ())


def _decision_rows(d: StableDecision) -> Iterator[ChartRow]:
    yield ChartRow((f"the outcome, {printable(d.outcome)}",), (_models_cell(d.same),))
    for f in d.factors:
        words = (
            printable(format_features(f.features)),
            f"suffices to {f.view}; minimal in {f.minimal}",
        )
        yield ChartRow(words, (_models_cell(f.holds),))
    for o in d.options:
        yield ChartRow(
            (printable(o.text), f"a recourse option, cost {format_cost(o.cost)}"),
            (_models_cell(o.works),),
        )


def _decision_row(d: StableDecision, recourse: bool) -> ChartRow:
    shares = (d.sets_hold, d.options_work) if recourse else (d.sets_hold,)
    label = f"decision {printable(d.name)}: {printable(d.outcome)}"
    return ChartRow((label,), (_models_cell(d.same), *map(share_cell, shares)))


def _models_cell(part: Share) -> ChartCell:
    """Return the cell of a share of models, written as a count with its interval."""
    text = f"{part.hits} of {part.n} ({percent_range(*part.interval)})"
    return ChartCell(part.share, text, part.interval)


# Reason codes of one decision, or how often each code is given.


def reasons(result: Reasons, *, ax: Any = None, most: int = 20) -> Axes:
    """Draw reason codes: of one decision with their necessity, of many how often each is given.

    The necessity of a reason is the share of changes of the outcome that alter its features.

    Examples
    --------
    >>> import suffice
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = suffice.datasets.loans()
    >>> X = X[["income", "debt"]]
    >>> model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    >>> e = suffice.Explainer(model, X).explain(X.iloc[8])
    >>> said = {"income": {"any": ("R1", "Income")}, "debt": {"any": ("R2", "Debt")}}
    >>> ax = suffice.plots.reasons(suffice.audit.reasons(e, said))
    """
    require_result(result, Reasons, "a result of audit.reasons")
    return paint_chart(ax, reasons_chart(result, check_integer("most", most)))


def reasons_chart(result: Reasons, most: int = 20) -> Chart:
    """Return the chart of reasons, with at most `most` of them."""
    sheet = result.sheet
    if len(result) == 1:
        (d,) = result.decisions
        lines = [
            ChartRow(
                (f"{printable(r.text)} ({printable(r.code)})",),
                (necessity_cell(r.necessity, r.necessity_baseline),),
            )
            for r in d.reasons[:most]
        ]
        heading = ChartColumn("of the changes alter it", "share")
        more = str(OmittedRows(len(d.reasons) - len(lines), "[0].reasons", "reason"))
        return Chart(sheet.title, sheet.lead, (heading,), tuple(lines), more, sheet.notes)
    # Several features of a decision may have the same code, which then counts once.
    given = Counter(said for d in result for said in {(r.code, r.text) for r in d.reasons})
    ranked = sorted(given.items(), key=lambda item: (-item[1], item[0]))
    lines = [
        ChartRow(
            (f"{printable(said)} ({printable(code)})",), (proportion_cell(Share(n, len(result))),)
        )
        for (code, said), n in ranked[:most]
    ]
    more = str(OmittedRows(len(ranked) - len(lines), ".to_frame()", "reason"))
    lead = tuple(filter(None, (result.asked, result.withheld)))
    heading = ChartColumn("given in", "share")
    note = "Shares of decisions, with exact 95% intervals. A decision has several reasons."
    return Chart(sheet.title, lead, (heading,), tuple(lines), more, (note,))


# Reliance on protected features, and gaps between groups.


def reliance(result: Reliance, *, ax: Any = None, most: int = 20) -> Axes:
    """Draw how far the decisions of each group rest on protected features, and the gaps.

    The columns are the shares of decisions that fall when the protected features are freed, and of
    those that these features alone flip for some reference, both with intervals.

    Examples
    --------
    >>> import suffice
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = suffice.datasets.loans()
    >>> X = X[["age", "income", "debt"]]
    >>> model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    >>> es = suffice.Explainer(model, X).explain_many(X.iloc[:20])
    >>> ax = suffice.plots.reliance(suffice.audit.reliance(es, "age"))
    """
    require_result(result, Reliance, "a result of audit.reliance")
    most = check_integer("most", most)
    # Without groups there is nothing to compare, so no second chart.
    gaps = gap_chart(result, most)
    return paint_chart(ax, reliance_chart(result, most), *([gaps] if gaps.rows else []))


def reliance_chart(result: Reliance, most: int = 20) -> Chart:
    """Return the chart of reliance, with at most `most` groups."""
    shown = result.groups[:most]
    several = len(result.protected) > 1
    lines = tuple(
        ChartRow(
            (
                " · ".join(
                    filter(
                        None,
                        (
                            printable(g.protected) if several else "",
                            "all decisions" if g.group is None else printable(g.group),
                        ),
                    )
                ),
                plural(g.decisions, "decision"),
            ),
            (proportion_cell(g.falls), proportion_cell(g.flipped)),
        )
        for g in shown
    )
    return Chart(
        title=result.sheet.title,
        lead=result.findings,
        columns=(
            ChartColumn("fall with them freed", "share"),
            ChartColumn("flipped by some reference", "share"),
        ),
        rows=lines,
        more=str(OmittedRows(len(result.groups) - len(shown), ".groups", "group")),
        notes=result.sheet.notes,
    )


def gap_chart(result: Reliance, most: int = 20) -> Chart:
    """Return the chart of the gaps between groups, the surest first."""
    several = len(result.protected) > 1
    rows = []
    for b in result.gaps[:most]:
        of = f"{printable(b.protected)}: " if several else ""
        label = f"{of}{printable(b.groups[0])} less {printable(b.groups[1])}"
        gap = ChartCell(b.gap.difference, str(b.adjusted), (b.adjusted.low, b.adjusted.high))
        rows.append(ChartRow((label,), (gap,)))
    title = "Gaps between groups, in points of decisions so flipped (95%, adjusted)"
    lead = (f"{result.differing}.",) if result.gaps else ()
    no_gap = ChartColumn("", "difference", 0.0, "no gap")
    more = str(OmittedRows(len(result.gaps) - len(rows), ".gaps", "gap"))
    return Chart(title, lead, (no_gap,), tuple(rows), more, ())


# Roles of features.


def roles(result: Roles, *, ax: Any = None, most: int = 20) -> Axes:
    """Draw the role of each feature: how often it is in every minimal set, or in some.

    The last column is what the feature adds to sufficiency, its Shapley value.

    Examples
    --------
    >>> import suffice
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = suffice.datasets.loans()
    >>> X = X[["income", "debt", "late payments"]]
    >>> model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    >>> es = suffice.Explainer(model, X).explain_many(X.iloc[:20])
    >>> ax = suffice.plots.roles(suffice.audit.roles(es))
    """
    require_result(result, Roles, "a result of audit.roles")
    return paint_chart(ax, roles_chart(result, check_integer("most", most)))


def roles_chart(result: Roles, most: int = 20) -> Chart:
    """Return the chart of roles, with at most `most` features."""
    by_view = {(r.view, r.feature): r for r in result.rows}
    weight = Counter[str]()
    for r in result.rows:
        # One order for both views: by how many decisions a feature is relevant in.
        weight[r.feature] += r.relevant
    names = sorted(
        weight, key=lambda name: (-weight[name], -(_shapley_value(by_view, name) or 0.0))
    )
    lines = tuple(
        ChartRow(
            (printable(name),),
            (
                *(
                    _role_cell(by_view.get((view, name)), result.n, result.complete)
                    for view in ("keep", "flip")
                ),
                signed_cell(_shapley_value(by_view, name)),
            ),
        )
        for name in names[:most]
    )
    one = result.n == 1
    note = (
        "Where the dot is: the share of sufficient combinations that are so because of the feature."
        if one
        else "From the share of decisions in whose every minimal set it is, to that in whose some."
    )
    return Chart(
        title=result.sheet.title,
        lead=result.sheet.lead,
        columns=(
            ChartColumn("to keep: " + ("pivotal" if one else "in every – in some"), "share"),
            ChartColumn("to flip: " + ("pivotal" if one else "in every – in some"), "share"),
            ChartColumn("Shapley value (keep)", "number"),
        ),
        rows=lines,
        more=str(OmittedRows(len(names) - len(lines), ".to_frame()", "feature")),
        notes=(note, "A hollow bar is below zero.", *result.caveats),
    )


def _shapley_value(by_view: dict[Any, Role], name: str) -> float | None:
    found = by_view.get(("keep", name))
    return None if found is None else found.shapley


def _role_cell(role: Role | None, n: int, complete: bool) -> ChartCell:
    if role is None or not role.decisions:
        return ChartCell(None, "no set")
    if n == 1:
        return ChartCell(role.pivotal, role.membership(complete))
    every, some = role.indispensable / role.decisions, role.relevant / role.decisions
    text = percent(some) if every == some else percent_range(every, some)
    return ChartCell(some, text, (every, some))
