"""In how many models that were fitted again an explanation holds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from suffice.audit.decisions import set_words
from suffice.audit.gaps import Share
from suffice.audit.stability.result import Stability, StableDecision
from suffice.checks import whole
from suffice.plots.canvas import require_answer
from suffice.plots.charts import Amount, Chart, Heading, Line, paint_chart, share
from suffice.wording import harmless, percent, price

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["stability", "stability_chart"]


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


def stability_chart(result: Stability, most: int = 20) -> Chart:
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
