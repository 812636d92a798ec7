"""Every figure of the package keeps the contract of `figure_contract.check_figure`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import suffice
from suffice.plots.audit_charts import (
    cohort_chart,
    cover_chart,
    drift_chart,
    gap_chart,
    reasons_chart,
    reliance_chart,
    roles_chart,
    stability_chart,
)
from suffice.plots.diagrams import dag_of, hasse_diagram_of
from suffice.plots.highlights import text_highlights_of
from suffice.plots.recourse_costs import recourse_costs_of
from suffice.plots.result_charts import chart_of
from suffice.plots.signature import signature_figure
from suffice.plots.thresholds import barcode_of, necessity_curves_of
from suffice.plots.tool_comparison import comparison_of, grade_figure_of
from tests.example_results import RESULTS, of_image, of_text, recourse, result, rules
from tests.plots.figure_contract import check_figure
from tests.plots.plot_cases import refused_explanation

GRAPH = [("job", "income"), ("age", "income"), ("income", "savings")]


def values() -> Any:
    return suffice.shapley_values(refused_explanation().keep)


FIGURES: dict[str, tuple[Callable[[], Any], Any]] = {
    "factors": (refused_explanation, signature_figure),
    "barcode": (lambda: refused_explanation().keep, barcode_of),
    "curve": (refused_explanation, necessity_curves_of),
    "lattice": (lambda: refused_explanation().keep, hasse_diagram_of),
    "compare": (lambda: refused_explanation().keep, comparison_of),
    "recourse": (recourse, chart_of),
    "rule": (rules, chart_of),
    "shapley": (values, chart_of),
    "measures": (lambda: suffice.top_k(refused_explanation().keep, 1), chart_of),
    "text": (of_text, text_highlights_of),
    "image": (of_image, None),  # its facts hold pixels
    "dag": (lambda: GRAPH, dag_of),
}
AUDITS: dict[str, Any] = {
    "cohort": cohort_chart,
    "cover": cover_chart,
    "drift": drift_chart,
    "global_recourse": recourse_costs_of,
    "grades": grade_figure_of,
    "reasons": reasons_chart,
    "reliance": lambda result: (reliance_chart(result), gap_chart(result)),
    "roles": roles_chart,
    "stability": stability_chart,
}


@pytest.mark.parametrize("kind", suffice.plots.__all__)
def test_figures_keep_the_contract(kind: str) -> None:
    pytest.importorskip("matplotlib")
    if kind in AUDITS:
        facts = AUDITS[kind]
        shown = next(result(name) for name in RESULTS if kind in result(name).plots)
    else:
        make, facts = FIGURES[kind]
        shown = make()
    assert check_figure(getattr(suffice.plots, kind), shown, facts=facts) > 3


def test_the_contract_names_each_fault_of_a_figure() -> None:
    plt = pytest.importorskip("matplotlib.pyplot")

    def own(result: Any, ax: Any = None) -> Any:
        return suffice.plots.shapley(result)

    def styled(result: Any, ax: Any = None) -> Any:
        drawn = suffice.plots.shapley(result, ax=ax)
        plt.rcParams["font.size"] = 33
        return drawn

    def black(result: Any, ax: Any = None) -> Any:
        drawn = suffice.plots.shapley(result, ax=ax)
        for text in drawn.texts:
            text.set_color("black")
        return drawn

    def beyond(result: Any, ax: Any = None) -> Any:
        drawn = suffice.plots.shapley(result, ax=ax)
        drawn.text(-50, 0, "out of sight", clip_on=False)
        return drawn

    def careless(result: Any, ax: Any = None) -> Any:
        return suffice.plots.shapley(values(), ax=ax if hasattr(ax, "figure") else None)

    said = {
        own: "given an Axes, it returns another",
        styled: "changes the global setting font.size",
        black: "has a contrast of 1.0 on its background",
        beyond: "'out of sight' lies beyond the figure's edge",
        lambda result, ax=None: 3: "it returns 3, not the Axes",
        careless: "draws without a word for a wrong|of another kind: raised",
    }
    for draw, words in said.items():
        with pytest.raises(AssertionError, match=words):
            check_figure(draw, values())
    with pytest.raises(AssertionError, match="no frozen dataclass"):
        check_figure(suffice.plots.shapley, values(), facts=lambda found: {"n": len(found)})
    assert plt.get_fignums() == []
    assert plt.rcParams["font.size"] != 33
