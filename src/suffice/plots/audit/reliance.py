"""How far each group's decisions rest on protected features, and the gaps between groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from suffice.audit.gaps import points_within
from suffice.audit.reliance import Reliance
from suffice.checks import whole
from suffice.plots.canvas import Canvas, paint, require_answer
from suffice.plots.charts import Chart, Heading, Line, draw_chart, share_of, width_of
from suffice.plots.spans import Span, Spans, draw_spans
from suffice.wording import count, harmless

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["gap_spans", "reliance", "reliance_chart"]


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
    chart, gaps = reliance_chart(result, most), gap_spans(result, most)

    def draw(canvas: Canvas) -> float:
        y = draw_chart(chart, canvas)
        return draw_spans(gaps, canvas, y - 0.1) if gaps.spans else y

    return paint(ax, (width_of(chart), 4.0), draw)


def reliance_chart(result: Reliance, most: int = 20) -> Chart:
    """The facts of the chart: at most so many groups."""
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
            (share_of(g.flipped), share_of(g.falls)),
        )
        for g in shown
    )
    hidden = len(result.groups) - len(shown)
    return Chart(
        title=result.sheet.title,
        lead=result.told,
        headings=(
            Heading("flipped by them alone", "share"),
            Heading("do not stand with them freed", "share"),
        ),
        lines=lines,
        more=f"and {count(hidden, 'more group')}: .groups" if hidden else "",
        notes=result.sheet.notes,
    )


def gap_spans(result: Reliance, most: int = 20) -> Spans:
    """The gaps between groups, the surest first."""
    several = len(result.protected) > 1
    spans = tuple(
        Span(
            (f"{harmless(b.protected)}: " if several else "")
            + f"{harmless(b.groups[0])} less {harmless(b.groups[1])}",
            b.gap.low,
            b.gap.high,
            b.gap.difference,
            points_within(b.gap.difference, b.gap.low, b.gap.high),
        )
        for b in result.gaps[: min(most, 10)]
    )
    hidden = len(result.gaps) - len(spans)
    more = f"and {count(hidden, 'more pair')} of groups: .gaps" if hidden else ""
    title = "Gaps between groups, in points of decisions so flipped (95%)"
    lead = (f"{result.differing}.",) if result.gaps else ()
    return Spans(title, lead, spans, 0.0, "no gap", more, signed=True)
