"""Drift and stability, as charts: what shares were beside what they are; what holds, how often."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from suffice.audit.decisions import set_words
from suffice.audit.drift.decision import FactorChange
from suffice.audit.drift.result import Drift
from suffice.audit.gaps import Share
from suffice.audit.stability.result import Stability, StableDecision
from suffice.checks import whole
from suffice.plots.canvas import require_answer
from suffice.plots.charts import Amount, Chart, Heading, Line, paint_chart, share
from suffice.wording import count, harmless, percent, price

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["drift", "drift_chart", "stability", "stability_chart"]

_RING = "A ring is before, a dot after."


def drift(result: Drift, *, ax: Any = None, most: int = 12) -> Axes:
    """What changed: of one decision, each set's sufficiency before and after, against τ; of many,
    the shares of decisions that changed, and what part each feature has in the minimal sets.

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
    require_answer(result, Drift, "what audit.compare answers")
    return paint_chart(ax, drift_chart(result, whole("most", most)))


def drift_chart(result: Drift, most: int) -> Chart:
    """The facts of the chart: at most so many rows."""
    sheet = result.sheet
    if len(result) > 1:
        lines = [*_counted(result), *_featured(result, most)]
        hidden = len(result.by_feature) - most
        more = f"and {count(hidden, 'more feature')}: .by_feature" if hidden > 0 else ""
        heading = Heading("share", "share")
        ring = (_RING,) if result.by_feature else ()
        return Chart(sheet.title, sheet.lead[:1], (heading,), tuple(lines), more, ring)
    (d,) = result.decisions
    shown = d.factors[:most]
    headings = (
        Heading("sufficiency", "share", result.tau),
        Heading("moved, in points (95%)", "number"),
    )
    lines = [_factor(f) for f in shown]
    hidden = len(d.factors) - len(shown)
    more = f"and {count(hidden, 'more set')}: .to_factor_frame()" if hidden else ""
    notes = (_RING, "A hollow bar is below zero.") if lines else ()
    return Chart(sheet.title, sheet.lead, headings, tuple(lines), more, notes)


def stability(result: Stability, *, ax: Any = None, most: int = 20) -> Axes:
    """In how many retrained models things hold: of one decision, its outcome, each minimal set and
    each way out; of many, each decision, the least stable first.

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
    require_answer(result, Stability, "what audit.stability answers")
    return paint_chart(ax, stability_chart(result, whole("most", most)))


def stability_chart(result: Stability, most: int) -> Chart:
    """The facts of the chart: at most so many rows."""
    sheet = result.sheet
    if len(result) == 1:
        (d,) = result.decisions
        lines = list(_held(d))
        headings: tuple[Heading, ...] = (Heading("holds in", "share"),)
    else:
        ways = any(d.options for d in result.decisions)
        order = sorted(result.decisions, key=lambda d: d.same.hits)
        lines = [_stable(d, ways) for d in order]
        headings = (
            Heading("same outcome in", "share"),
            Heading("its sets suffice in, mean", "share"),
            *([Heading("its ways out work in, mean", "share")] if ways else []),
        )
    hidden = len(lines) - most
    more = f"and {hidden:,} more: .to_frame()" if hidden > 0 else ""
    return Chart(sheet.title, sheet.lead, headings, tuple(lines[:most]), more, ())


def _held(d: StableDecision) -> Iterator[Line]:
    yield Line((f"the outcome, {harmless(d.outcome)}",), (_of_models(d.same),))
    for f in d.factors:
        words = harmless(set_words(f.features)), f"suffices to {f.view}; minimal in {f.minimal}"
        yield Line(words, (_of_models(f.holds),))
    for o in d.options:
        yield Line((harmless(o.says), f"a way out, cost {price(o.cost)}"), (_of_models(o.works),))


def _stable(d: StableDecision, ways: bool) -> Line:
    held = d.sets_hold, d.options_work
    words = f"decision {harmless(d.name)}: {harmless(d.outcome)}"
    return Line((words,), (_of_models(d.same), *map(share, held[: 1 + ways])))


def _of_models(part: Share) -> Amount:
    """A share of models, told as a count with its interval."""
    low, high = map(percent, part.interval)
    told = f"{part.hits} of {part.n} ({low.removesuffix('%')}–{high})"
    return Amount(part.share, told, part.interval)


def _counted(result: Drift) -> list[Line]:
    """Shares of decisions, and of options."""
    rows: list[tuple[str, str, Share]] = [
        ("another outcome", "decisions", result.changed),
        ("other minimal sets", "decisions with the same outcome", result.other_sets),
        ("other reason codes", "decisions with the same outcome", result.other_codes),
        ("ways out that no longer work", "options", result.fallen),
    ]
    return [
        Line((words, f"of {part.n:,} {of}"), (share(part.share, part.interval),))
        for words, of, part in rows
        if part.n
    ]


def _featured(result: Drift, most: int) -> list[Line]:
    return [
        Line(
            (f"minimal sets with {harmless(f.feature)}", f"mean of {f.decisions:,} decisions"),
            (_moved(f.before, f.after),),
        )
        for f in result.by_feature[:most]
    ]


def _factor(f: FactorChange) -> Line:
    words = harmless(set_words(f.features)), f"to {f.view}; {f.says}"
    before, after = (None if s is None else s.share for s in (f.before, f.after))
    shift = Amount(None, "–") if f.shift is None else Amount(f.shift.difference, str(f.shift))
    return Line(words, (_moved(before, after), shift))


def _moved(before: float | None, after: float | None) -> Amount:
    """A share, told with what it was.

    >>> _moved(0.5, 0.75).told
    '50% → 75%'
    """
    return Amount(after, f"{percent(before)} → {percent(after)}", was=before)
