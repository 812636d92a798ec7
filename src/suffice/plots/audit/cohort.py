"""Which sets suffice in each part of a cohort, and for how many of its decisions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from suffice.audit.cohort.result import Cohort, Part
from suffice.audit.decisions import set_words
from suffice.audit.gaps import differing
from suffice.checks import whole
from suffice.plots.canvas import require_answer
from suffice.plots.charts import Amount, Chart, Heading, Line, paint_chart, share, share_of
from suffice.wording import count, harmless, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["cohort", "cohort_chart"]

_PARTS = 8
"""Parts of a cohort that are drawn."""


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
    return paint_chart(ax, cohort_chart(result, whole("most", most)))


def cohort_chart(result: Cohort, most: int = 5) -> Chart:
    """The facts of the chart: at most so many sets of each part."""
    lines = [line for part in result.parts[:_PARTS] for line in _part(part, most)]
    hidden = len(result.parts) - _PARTS
    sets = sum(len(p.sets) - min(len(p.sets), most) + p.more for p in result.parts)
    more = [f"and {count(hidden, 'more part')}: .parts"] if hidden > 0 else []
    more += [f"and {count(sets, 'more set')}: .to_frame()"] if sets else []
    lead = [f"{differing(len(result.found))}."] if result.differences else []
    lead += [
        f"{set_words(d.features)} to {d.view} “{harmless(d.outcome)}”: "
        f"{harmless(d.groups[0])} {percent(d.shares[0].share)}, "
        f"{harmless(d.groups[1])} {percent(d.shares[1].share)}."
        for d in result.found[:3]
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
    nothing = Amount(None, "")
    heading = f"To {part.view} “{harmless(part.who)}”: {count(part.decisions, 'decision')}"
    lines = [Line((heading,), (nothing, nothing))]
    bars = {features: (low, high) for features, low, high in part.barcode or ()}
    for s in part.sets[:most]:
        bar = bars.get(s.features)
        told = Amount(None, "–") if bar is None else share(None, bar)
        lines.append(Line((harmless(set_words(s.features)),), (share_of(s.share), told)))
    return lines if part.sets else [*lines, Line(("no set suffices",), (Amount(None, "–"),) * 2)]
