"""The doors to figures."""

from __future__ import annotations

from typing import Any

import suffice as sf
from tests.doors import NAMES, Door
from tests.tiny import EXPLAINER, FEW_CHANGES, OF_IMAGE, OF_TEXT, RECOURSE, ROW, RULES, STABILITY, E

CATALOGUE = {"age": ("A", "Age"), "job": ("J", "Job")}


def drawn(call: Any) -> Any:
    """The call, with its figure closed again: thousands are made."""

    def draw(**given: Any) -> Any:
        from matplotlib import pyplot

        try:
            return call(**given)
        finally:
            pyplot.close("all")

    return draw


def door(name: str, valid: dict[str, Any], takes: dict[str, str] | None = None) -> Door:
    call = drawn(getattr(sf.plots, name))
    return Door(f"plots.{name}", call, {**valid, "ax": None}, {"ax": "none", **(takes or {})})


DOORS = [
    Door("Result.plot", drawn(E.plot), {"kind": None, "ax": None}, {"kind": "none", "ax": "none"}),
    door("factors", {"result": E, "most": 2}),
    door("barcode", {"result": E, "most": 2}),
    door("curve", {"result": E}),
    door("lattice", {"result": E}),
    door(
        "compare",
        {"result": E, "ranking": None, "absolute": False},
        {"ranking": "none", "absolute": "true"},
    ),
    door("recourse", {"result": RECOURSE, "most": 2}),
    door("global_recourse", {"result": FEW_CHANGES, "most": 2}),
    door("rule", {"result": RULES, "most": 2}),
    door("shapley", {"result": sf.shapley_values(E.keep), "most": 2}),
    door("drift", {"result": sf.audit.compare(E, E), "most": 2}),
    door("stability", {"result": STABILITY, "most": 2}),
    door("grades", {"result": sf.audit.grade(EXPLAINER, ROW, ["job", "age"])}),
    door("measures", {"result": RECOURSE, "most": 2}),
    door("roles", {"result": sf.audit.roles(E), "most": 2}),
    door("reliance", {"result": sf.audit.reliance(E, "age", by="job"), "most": 2}),
    door("reasons", {"result": sf.audit.reasons(E, CATALOGUE), "most": 2}),
    door("cohort", {"result": sf.audit.cohort([E, E], by=["a", "b"]), "most": 2}),
    door("cover", {"result": sf.audit.global_factors([E, E], cover=0.5), "most": 2}),
    door("text", {"result": OF_TEXT, "most": 2}),
    door("image", {"result": OF_IMAGE}),
    door(
        "dag",
        {"model": [("a", "b")], "do": (), "row": None},
        {"do": f"{NAMES} array", "row": "none"},
    ),
]
