"""What each feature is to decisions, as a chart."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from suffice.audit.roles import Role, Roles
from suffice.checks import whole
from suffice.plots.canvas import require_answer
from suffice.plots.charts import Amount, Chart, Heading, Line, paint_chart, signed
from suffice.wording import count, harmless, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["roles", "roles_chart"]


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
    return paint_chart(ax, roles_chart(result, whole("most", most)))


def roles_chart(result: Roles, most: int = 20) -> Chart:
    """The facts of the chart: at most so many features."""
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
        notes=(note, "A hollow bar is below zero.", *result.caveats),
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
