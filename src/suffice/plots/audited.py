"""Audits as figures: roles, reliance, reasons, cohorts, and the few sets that serve for many."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from suffice.audit.cohort.result import Cohort, Part
from suffice.audit.decisions import set_words
from suffice.audit.gaps import Share
from suffice.audit.global_factors import GlobalFactors
from suffice.audit.reasons import Reasons
from suffice.audit.reliance import Reliance
from suffice.audit.roles import Role, Roles
from suffice.checks import whole
from suffice.plots.canvas import Canvas, paint, require_answer
from suffice.plots.charts import (
    Amount,
    Chart,
    Heading,
    Line,
    draw_chart,
    paint_chart,
    share,
    signed,
    width_of,
)
from suffice.plots.steps import Span, Spans, draw_spans
from suffice.wording import count, harmless, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "audit_chart",
    "cohort",
    "cover",
    "cover_spans",
    "gap_spans",
    "reasons",
    "reliance",
    "roles",
]

_PARTS = 8
"""Parts of a cohort that are drawn."""


def roles(result: Roles, *, ax: Any = None, most: int = 20) -> Axes:
    """What each feature is to both views: how often in every minimal set and in some; and what it
    adds to sufficiency (its Shapley value).

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
    require_answer(result, Roles, "what audit.roles answers")
    return paint_chart(ax, audit_chart(result, whole("most", most)))


def reliance(result: Reliance, *, ax: Any = None, most: int = 20) -> Axes:
    """Of each group's decisions: how many protected features alone flip, and how many do not stand
    with them freed, with intervals; and the gaps between groups.

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
    require_answer(result, Reliance, "what audit.reliance answers")
    most = whole("most", most)
    chart, gaps = audit_chart(result, most), gap_spans(result, most)

    def draw(canvas: Canvas) -> float:
        y = draw_chart(chart, canvas)
        return draw_spans(gaps, canvas, y - 0.1) if gaps.spans else y

    return paint(ax, (width_of(chart), 4.0), draw)


def reasons(result: Reasons, *, ax: Any = None, most: int = 20) -> Axes:
    """One decision's reasons, each with its share of the ways out; of many, how often each is.

    Examples
    --------
    >>> import suffice
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = suffice.datasets.loans()
    >>> X = X[["income", "debt"]]
    >>> model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    >>> e = suffice.Explainer(model, X).explain(X.iloc[8])
    >>> said = {"income": ("R1", "Income too low"), "debt": ("R2", "Debt too high")}
    >>> ax = suffice.plots.reasons(suffice.audit.reasons(e, said))
    """
    require_answer(result, Reasons, "what audit.reasons answers")
    return paint_chart(ax, audit_chart(result, whole("most", most)))


def cohort(result: Cohort, *, ax: Any = None, most: int = 5) -> Axes:
    """Of each outcome, group and view, the sets that are minimal most often: for what share of
    decisions each suffices, with its interval, and its bar in the barcode of the summed counts.

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
    require_answer(result, Cohort, "what audit.cohort answers")
    return paint_chart(ax, audit_chart(result, whole("most", most)))


def cover(result: GlobalFactors, *, ax: Any = None, most: int = 20) -> Axes:
    """How many decisions each set adds to those that the sets before it serve, up to the share that
    was wanted.

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
    require_answer(result, GlobalFactors, "what audit.global_factors answers")
    spans = cover_spans(result, whole("most", most))
    return paint(ax, (7.2, 4.0), lambda canvas: draw_spans(spans, canvas, 0.0))


# -- facts --------------------------------------------------------------------------------


def audit_chart(result: Roles | Reliance | Reasons | Cohort, most: int = 20) -> Chart:
    """The facts of a chart: at most so many rows (of each part)."""
    if isinstance(result, Roles):
        return _of_roles(result, most)
    if isinstance(result, Reliance):
        return _of_reliance(result, most)
    if isinstance(result, Reasons):
        return _of_reasons(result, most)
    return _of_cohort(result, most)


def _of_roles(result: Roles, most: int) -> Chart:
    by_view = {(r.view, r.feature): r for r in result.rows}
    weight = Counter[str]()
    for r in result.rows:
        weight[r.feature] += r.relevant
    names = sorted(weight, key=lambda name: (-weight[name], -(_shapley(by_view, name) or 0.0)))
    lines = tuple(
        Line(
            (harmless(name),),
            (
                *(_role(by_view.get((view, name)), result.n) for view in ("keep", "flip")),
                signed(_shapley(by_view, name)),
            ),
        )
        for name in names[:most]
    )
    hidden = len(names) - len(lines)
    one = result.n == 1
    note = (
        "Where the dot is: the share of sufficient combinations that are so because of the feature."
        if one
        else "From the share of decisions in whose every minimal set it is, to that in whose some."
    )
    return Chart(
        title=result.sheet.title,
        lead=result.sheet.lead,
        headings=(
            Heading("to keep: " + ("pivotal" if one else "in every – in some"), "share"),
            Heading("to flip: " + ("pivotal" if one else "in every – in some"), "share"),
            Heading("Shapley value (keep)", "number"),
        ),
        lines=lines,
        more=f"and {count(hidden, 'more feature')}: .to_frame()" if hidden else "",
        notes=(note, "A hollow bar is below zero.", *result.sheet.notes[1:]),
    )


def _shapley(by_view: dict[Any, Role], name: str) -> float | None:
    found = by_view.get(("keep", name))
    return None if found is None else found.shapley


def _role(role: Role | None, n: int) -> Amount:
    if role is None or not role.decisions:
        return Amount(None, "no set")
    if n == 1:
        return Amount(role.pivotal, role.kind)
    every, some = role.indispensable / role.decisions, role.relevant / role.decisions
    told = percent(some) if every == some else f"{percent(every).removesuffix('%')}–{percent(some)}"
    return Amount(some, told, (every, some))


def _of_reliance(result: Reliance, most: int) -> Chart:
    shown = result.groups[:most]
    several = len(result.protected) > 1
    lines = tuple(
        Line(
            (
                " · ".join(
                    filter(
                        None,
                        (
                            harmless(g.protected) if several else "",
                            "all decisions" if g.group is None else harmless(g.group),
                        ),
                    )
                ),
                count(g.decisions, "decision"),
            ),
            (_share(g.flipped), _share(g.falls)),
        )
        for g in shown
    )
    hidden = len(result.groups) - len(shown)
    return Chart(
        title=result.sheet.title,
        lead=result.sheet.lead[: len(result.protected)],
        headings=(
            Heading("flipped by them alone", "share"),
            Heading("do not stand with them freed", "share"),
        ),
        lines=lines,
        more=f"and {count(hidden, 'more group')}: .groups" if hidden else "",
        notes=result.sheet.notes,
    )


def _share(found: Share) -> Amount:
    return share(found.share, found.interval if found.n else None)


def _of_reasons(result: Reasons, most: int) -> Chart:
    sheet = result.sheet
    if len(result) == 1:
        (d,) = result.decisions
        lines = [
            Line((f"{harmless(r.text)} ({harmless(r.code)})",), (share(r.necessity),))
            for r in d.reasons[:most]
        ]
        heading = Heading("of the ways out have it changed", "share")
        hidden = len(d.reasons) - len(lines)
        more = f"and {count(hidden, 'more reason')}: [0].reasons" if hidden else ""
        return Chart(sheet.title, sheet.lead, (heading,), tuple(lines), more, sheet.notes)
    given = Counter((r.code, r.text) for d in result for r in d.reasons)
    ranked = sorted(given.items(), key=lambda item: (-item[1], item[0]))
    lines = [
        Line((f"{harmless(said)} ({harmless(code)})",), (_share(Share(n, len(result))),))
        for (code, said), n in ranked[:most]
    ]
    hidden = len(ranked) - len(lines)
    more = f"and {count(hidden, 'more reason')}: .to_frame()" if hidden else ""
    held = [words for words in sheet.lead if "held for review" in words]
    lead = (sheet.lead[0], *held)
    heading = Heading("given in", "share")
    note = "Shares of decisions, with exact 95% intervals. A decision has several reasons."
    return Chart(sheet.title, lead, (heading,), tuple(lines), more, (note,))


def _of_cohort(result: Cohort, most: int) -> Chart:
    lines = [line for part in result.parts[:_PARTS] for line in _part(part, most)]
    hidden = len(result.parts) - _PARTS
    sets = sum(len(p.sets) - min(len(p.sets), most) + p.more for p in result.parts)
    more = [f"and {count(hidden, 'more part')}: .parts"] if hidden > 0 else []
    more += [f"and {count(sets, 'more set')}: .to_frame()"] if sets else []
    found = [d for d in result.differences if d.found]
    lead = [result.sheet.lead[-1]] if result.differences else []
    lead += [
        f"{set_words(d.features)} to {d.view} “{harmless(d.outcome)}”: "
        f"{harmless(d.groups[0])} {percent(d.shares[0].share)}, "
        f"{harmless(d.groups[1])} {percent(d.shares[1].share)}."
        for d in found[:3]
    ]
    return Chart(
        title=result.sheet.title,
        lead=tuple(lead),
        headings=(
            Heading("suffices for so many decisions", "share"),
            Heading("minimal for these τ", "share"),
        ),
        lines=tuple(lines),
        more="; ".join(more),
        notes=(
            "Whiskers: exact 95% intervals of the shares of decisions. Bars: for which thresholds "
            "a set is minimal in the counts of all these decisions, summed.",
        ),
    )


def _part(part: Part, most: int) -> list[Line]:
    does = "keep" if part.view == "keep" else "flip"
    nothing = Amount(None, "")
    heading = f"To {does} “{harmless(part.who)}”: {count(part.decisions, 'decision')}"
    lines = [Line((heading,), (nothing, nothing))]
    bars = {features: (low, high) for features, low, high in part.barcode or ()}
    for s in part.sets[:most]:
        bar = bars.get(s.features)
        told = Amount(None, "–") if bar is None else share(None, bar)
        lines.append(Line((harmless(set_words(s.features)),), (_share(s.share), told)))
    return lines if part.sets else [*lines, Line(("no set suffices",), (Amount(None, "–"),) * 2)]


def gap_spans(result: Reliance, most: int = 20) -> Spans:
    """The gaps between groups, the surest first."""
    ranked = sorted(result.gaps, key=lambda b: (b.gap.p_value, -abs(b.gap.difference)))
    several = len(result.protected) > 1
    spans = tuple(
        Span(
            (f"{harmless(b.protected)}: " if several else "")
            + f"{harmless(b.groups[0])} less {harmless(b.groups[1])}",
            b.gap.low,
            b.gap.high,
            b.gap.difference,
            f"{100 * b.gap.difference:+.0f} ({100 * b.gap.low:+.0f} to {100 * b.gap.high:+.0f})",
        )
        for b in ranked[: min(most, 10)]
    )
    hidden = len(ranked) - len(spans)
    more = f"and {count(hidden, 'more pair')} of groups: .gaps" if hidden else ""
    title = "Gaps between groups, in points of decisions so flipped (95%)"
    return Spans(title, (), spans, 0.0, "no gap", more, signed=True)


def cover_spans(result: GlobalFactors, most: int = 20) -> Spans:
    """What each set adds, from what was served before it."""
    spans, before = [], 0
    for s in result.sets[:most]:
        told = f"+{s.new:,}, {percent((before + s.new) / result.n)}"
        ends = before / result.n, (before + s.new) / result.n
        spans.append(Span(harmless(set_words(s.features)), *ends, None, told))
        before += s.new
    hidden = len(result.sets) - len(spans)
    more = f"and {count(hidden, 'more set')}: .sets" if hidden else ""
    title, lead = result.sheet.title, result.sheet.lead
    wanted = f"wanted: {percent(result.wanted)}"
    return Spans(title, lead, tuple(spans), result.wanted, wanted, more)
