"""Calls of figures."""

from __future__ import annotations

from functools import cache
from typing import Any

import suffice as sf
from tests.example_results import (
    CATALOGUE,
    EXPLAINER,
    ROW,
    explanation,
    few_changes,
    of_image,
    of_text,
    recourse,
    rules,
    stability,
)
from tests.public_api.call_cases import NAMES, CallCase


def closing_figures(call: Any) -> Any:
    """The call, with its figure closed again: thousands are made."""

    def draw(**given: Any) -> Any:
        from matplotlib import pyplot

        try:
            return call(**given)
        finally:
            pyplot.close("all")

    return draw


def plot_call(name: str, valid: dict[str, Any], takes: dict[str, str] | None = None) -> CallCase:
    call = closing_figures(getattr(sf.plots, name))
    return CallCase(f"plots.{name}", call, {**valid, "ax": None}, {"ax": "none", **(takes or {})})


@cache
def make_cases() -> list[CallCase]:
    e = explanation()
    return [
        CallCase(
            "Result.plot",
            closing_figures(e.plot),
            {"kind": None, "ax": None},
            {"kind": "none", "ax": "none"},
        ),
        plot_call("factors", {"result": e, "most": 2}),
        plot_call("barcode", {"result": e, "most": 2}),
        plot_call("curve", {"result": e}),
        plot_call("lattice", {"result": e}),
        plot_call(
            "compare",
            {"result": e, "ranking": None, "absolute": False},
            {"ranking": "none", "absolute": "true"},
        ),
        plot_call("recourse", {"result": recourse(), "most": 2}),
        plot_call("global_recourse", {"result": few_changes(), "most": 2}),
        plot_call("rule", {"result": rules(), "most": 2}),
        plot_call("shapley", {"result": sf.shapley_values(e.keep), "most": 2}),
        plot_call("drift", {"result": sf.audit.compare(e, e), "most": 2}),
        plot_call("stability", {"result": stability(), "most": 2}),
        plot_call("grades", {"result": sf.audit.grade(EXPLAINER, ROW, ["job", "age"])}),
        plot_call("measures", {"result": recourse(), "most": 2}),
        plot_call("roles", {"result": sf.audit.roles(e), "most": 2}),
        plot_call("reliance", {"result": sf.audit.reliance(e, "age", by="job"), "most": 2}),
        plot_call("reasons", {"result": sf.audit.reasons(e, CATALOGUE), "most": 2}),
        plot_call("cohort", {"result": sf.audit.cohort([e, e], by=["a", "b"]), "most": 2}),
        plot_call("cover", {"result": sf.audit.global_factors([e, e], cover=0.5), "most": 2}),
        plot_call("text", {"result": of_text(), "most": 2}),
        plot_call("image", {"result": of_image()}),
        plot_call(
            "dag",
            {"model": [("a", "b")], "do": (), "row": None},
            {"do": f"{NAMES} array", "row": "none"},
        ),
    ]
