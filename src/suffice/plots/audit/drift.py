"""What changed between two explanations: shares as they were beside what they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from suffice.audit.decisions import set_words
from suffice.audit.drift.decision import FactorChange
from suffice.audit.drift.result import Drift
from suffice.audit.gaps import Share
from suffice.checks import whole
from suffice.plots.canvas import require_answer
from suffice.plots.charts import Amount, Chart, Heading, Line, paint_chart, share_of
from suffice.wording import count, harmless, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["drift", "drift_chart"]

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


def drift_chart(result: Drift, most: int = 12) -> Chart:
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


def _counted(result: Drift) -> list[Line]:
    """Shares of decisions, and of options."""
    rows: list[tuple[str, str, Share]] = [
        ("another outcome", "decisions", result.changed),
        ("other minimal sets", "decisions with the same outcome", result.other_sets),
        ("other reason codes", "decisions with the same outcome", result.other_codes),
        ("ways out that no longer work", "options", result.fallen),
    ]
    return [
        Line((words, f"of {part.n:,} {of}"), (share_of(part),))
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
