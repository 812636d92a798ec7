"""What is on the screen, as code to run in a notebook."""

from __future__ import annotations

from pprint import pformat
from typing import Any

from suffice.web.asked import Condition, Contrast, ExplainInput
from suffice.web.room import Room

__all__ = ["notebook_code"]


def notebook_code(room: Room, asked: ExplainInput) -> str:
    """Python that asks the same question of the same model and data."""
    contrast = asked.contrast
    given = asked.input
    lines = [
        "import pandas as pd",
        "import suffice",
        "",
        *room.opening(asked.model),
        "",
    ]
    if room.text is not None:
        lines += _call("explainer = suffice.TextExplainer", ["model"], _of_text(contrast))
        lines += [f"x = {room.text_of(given)!r}"]
    else:
        lines += _call(
            "explainer = suffice.Explainer", ["model", "data"], _of_table(room, contrast)
        )
        if given.row is None:
            lines += [f"x = {pformat(dict(given.values), sort_dicts=False)}"]
        else:
            lines += [f"x = data.iloc[{given.row}].to_dict()"]
            if given.values:
                lines += [f"x |= {pformat(dict(given.values), sort_dicts=False)}"]
    question: dict[str, Any] = {"tau": asked.tau}
    defaults = ExplainInput(input=given)
    for name in ("alpha", "adjust", "max_size", "search", "time_limit"):
        if getattr(asked, name) != getattr(defaults, name):
            question[name] = getattr(asked, name)
    lines += _call("e = explainer.explain", ["x"], {k: repr(v) for k, v in question.items()})
    lines += ["e"]
    return "\n".join(lines) + "\n"


def _call(function: str, positional: list[str], named: dict[str, str]) -> list[str]:
    inside = [*positional, *(f"{name}={value}" for name, value in named.items())]
    line = f"{function}({', '.join(inside)})"
    if len(line) <= 88:
        return [line]
    return [f"{function}(", *(f"    {part}," for part in inside), ")"]


def _of_text(contrast: Contrast) -> dict[str, str]:
    found = {} if contrast.outcome is None else {"outcome": repr(contrast.outcome)}
    if contrast.n_references is not None:
        found["n_references"] = repr(contrast.n_references)
    return found


def _of_table(room: Room, contrast: Contrast) -> dict[str, str]:
    found: dict[str, str] = {}
    if contrast.at_least is not None:
        found["outcome"] = f"suffice.at_least({contrast.at_least!r})"
    elif contrast.at_most is not None:
        found["outcome"] = f"suffice.at_most({contrast.at_most!r})"
    elif contrast.outcome is not None:
        found["outcome"] = repr(room.label(contrast.outcome))
    if isinstance(contrast.references, list):
        parts = [_condition(c) for c in contrast.references]
        found["references"] = " & ".join(parts) or '"all"'
    elif contrast.references != "opposite":
        found["references"] = repr(contrast.references)
    n = room.n_references if contrast.n_references is None else contrast.n_references
    if n is not None:
        found["n_references"] = repr(n)
    if contrast.groups:
        found["groups"] = repr(contrast.groups)
    if contrast.causal:
        found["context"] = "suffice.CausalContext(causes)"
    found["random_state"] = repr(room.seed)
    return found


def _condition(c: Condition) -> str:
    column = f"data[{c.column!r}]"
    if c.test == "is missing":
        return f"{column}.isna()"
    if c.test == "contains":
        return f"{column}.astype(str).str.contains({str(c.value)!r}, case=False, regex=False)"
    sign = {"is": "==", "is not": "!=", "at least": ">=", "at most": "<="}[c.test]
    return f"({column} {sign} {c.value!r})"
