"""The few sets that serve for many decisions, one after another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from suffice.audit.decisions import set_words
from suffice.audit.global_factors import GlobalFactors
from suffice.checks import whole
from suffice.plots.canvas import paint, require_answer
from suffice.plots.spans import Span, Spans, draw_spans
from suffice.wording import count, harmless, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["cover", "cover_spans"]


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
