"""The doors to figures."""

from __future__ import annotations

from functools import cache
from typing import Any

import suffice as sf
from tests.doors import NAMES, Door
from tests.tiny import (
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


@cache
def doors() -> list[Door]:
    e = explanation()
    return [
        Door(
            "Result.plot", drawn(e.plot), {"kind": None, "ax": None}, {"kind": "none", "ax": "none"}
        ),
        door("factors", {"result": e, "most": 2}),
        door("barcode", {"result": e, "most": 2}),
        door("curve", {"result": e}),
        door("lattice", {"result": e}),
        door(
            "compare",
            {"result": e, "ranking": None, "absolute": False},
            {"ranking": "none", "absolute": "true"},
        ),
        door("recourse", {"result": recourse(), "most": 2}),
        door("global_recourse", {"result": few_changes(), "most": 2}),
        door("rule", {"result": rules(), "most": 2}),
        door("shapley", {"result": sf.shapley_values(e.keep), "most": 2}),
        door("drift", {"result": sf.audit.compare(e, e), "most": 2}),
        door("stability", {"result": stability(), "most": 2}),
        door("grades", {"result": sf.audit.grade(EXPLAINER, ROW, ["job", "age"])}),
        door("measures", {"result": recourse(), "most": 2}),
        door("roles", {"result": sf.audit.roles(e), "most": 2}),
        door("reliance", {"result": sf.audit.reliance(e, "age", by="job"), "most": 2}),
        door("reasons", {"result": sf.audit.reasons(e, CATALOGUE), "most": 2}),
        door("cohort", {"result": sf.audit.cohort([e, e], by=["a", "b"]), "most": 2}),
        door("cover", {"result": sf.audit.global_factors([e, e], cover=0.5), "most": 2}),
        door("text", {"result": of_text(), "most": 2}),
        door("image", {"result": of_image()}),
        door(
            "dag",
            {"model": [("a", "b")], "do": (), "row": None},
            {"do": f"{NAMES} array", "row": "none"},
        ),
    ]
