"""Reason codes as a chart: those of one decision, or how often each is given."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from suffice.audit.gaps import Share
from suffice.audit.reasons import Reasons
from suffice.checks import whole
from suffice.plots.canvas import require_answer
from suffice.plots.charts import Chart, Heading, Line, paint_chart, share, share_of
from suffice.wording import count, harmless

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["reasons", "reasons_chart"]


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
    return paint_chart(ax, reasons_chart(result, whole("most", most)))


def reasons_chart(result: Reasons, most: int = 20) -> Chart:
    """The facts of the chart: at most so many reasons."""
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
    # Several features of a decision may have one code: it is given once.
    given = Counter(said for d in result for said in {(r.code, r.text) for r in d.reasons})
    ranked = sorted(given.items(), key=lambda item: (-item[1], item[0]))
    lines = [
        Line((f"{harmless(said)} ({harmless(code)})",), (share_of(Share(n, len(result))),))
        for (code, said), n in ranked[:most]
    ]
    hidden = len(ranked) - len(lines)
    more = f"and {count(hidden, 'more reason')}: .to_frame()" if hidden else ""
    lead = tuple(filter(None, (result.asked, result.withheld)))
    heading = Heading("given in", "share")
    note = "Shares of decisions, with exact 95% intervals. A decision has several reasons."
    return Chart(sheet.title, lead, (heading,), tuple(lines), more, (note,))
