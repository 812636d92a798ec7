"""API of the explorer: endpoints with JSON requests and answers, and their OpenAPI description.

Long answers are lines of JSON: progress, then the answer or the error. Closing the connection stops
the work.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pprint import pformat
from typing import Any

import msgspec

import suffice
from suffice.explanation import Explanation
from suffice.question_fields import QuestionFields
from suffice.report.render_explanation import page_section
from suffice.results import Result
from suffice.web.requests import (
    ContrastRequest,
    ExplainRequest,
    PredictRequest,
    RecourseOptionsRequest,
    RowCondition,
    RowRequest,
    RowsRequest,
    RulesRequest,
    ShapleyRequest,
)
from suffice.web.session import Session


@dataclass(frozen=True)
class Endpoint:
    """An endpoint: its path, the type of its requests, and the function that answers."""

    path: str
    says: str
    asked: type | None
    answer: Callable[[Session, Any], Any]
    lines: bool = False
    """Whether the answer comes as lines of JSON, with progress."""


def _about(room: Session, _: None) -> Any:
    return room.about()


def _explain(room: Session, asked: ExplainRequest) -> Any:
    return {"html": page_section(room.explain(asked))}


def _recourse(room: Session, asked: RecourseOptionsRequest) -> Any:
    found = room.recourse(asked)
    options = [
        {
            "features": list(option.features),
            "changes": {name: list(change) for name, change in option.changes.items()},
            "says": option.says,
            "cost": option.cost,
            "sufficiency": option.sufficiency,
            "necessity": option.necessity,
        }
        for option in found.options
    ]
    return {"options": options, "more": found.more, "sheet": _sheet_json(found)}


def _shapley(room: Session, asked: ShapleyRequest) -> Any:
    found = room.shapley(asked)
    return {"values": dict(found), "sheet": _sheet_json(found)}


def _rules(room: Session, asked: RulesRequest) -> Any:
    return {"sheet": _sheet_json(room.rules(asked))}


def _export_page(room: Session, asked: ExplainRequest) -> Any:
    return {"name": "explanation.html", "content": room.explain(asked).to_html()}


def _export_json(room: Session, asked: ExplainRequest) -> Any:
    return {"name": "explanation.json", "content": room.explain(asked).to_json()}


def _export_code(room: Session, asked: ExplainRequest) -> Any:
    return {"name": "explanation.py", "content": notebook_code(room, asked)}


def _sheet_json(result: Result | Explanation) -> Any:
    panels = [msgspec.to_builtins(p) | {"more": str(p.more)} for p in result.sheet.panels]
    return msgspec.to_builtins(result.sheet) | {"panels": panels}


ENDPOINTS = (
    Endpoint("about", "The models, the columns, and what may be asked.", None, _about),
    Endpoint("rows", "A page of the table, filtered and sorted.", RowsRequest, Session.rows),
    Endpoint("row", "The values of one row.", RowRequest, lambda room, a: room.row_values(a.row)),
    Endpoint("predict", "The model's answer for one input.", PredictRequest, Session.predict),
    Endpoint(
        "explain",
        "What suffices to keep the input's outcome, and what to flip it.",
        ExplainRequest,
        _explain,
        lines=True,
    ),
    Endpoint(
        "recourse",
        "The cheapest changes that give another outcome.",
        RecourseOptionsRequest,
        _recourse,
        lines=True,
    ),
    Endpoint("shapley", "What each feature adds.", ShapleyRequest, _shapley, lines=True),
    Endpoint("rules", "The best rules for the input.", RulesRequest, _rules, lines=True),
    Endpoint("export/page", "The explanation as a page.", ExplainRequest, _export_page, lines=True),
    Endpoint("export/json", "The explanation as JSON.", ExplainRequest, _export_json, lines=True),
    Endpoint("export/code", "Code that asks the same.", ExplainRequest, _export_code, lines=True),
)
"""All endpoints, each answering POST requests to /api/PATH."""


def openapi() -> dict[str, Any]:
    """Return the OpenAPI 3.1 description of the API.

    >>> sorted(openapi()["paths"])[:2]
    ['/api/about', '/api/explain']
    """
    asked = [e.asked for e in ENDPOINTS if e.asked is not None]
    kinds = list(dict.fromkeys(asked))
    schemas, components = msgspec.json.schema_components(
        kinds, ref_template="#/components/schemas/{name}"
    )
    by_kind = dict(zip(kinds, schemas, strict=True))
    paths: dict[str, Any] = {}
    for endpoint in ENDPOINTS:
        kind = "application/x-ndjson" if endpoint.lines else "application/json"
        told = (
            'Lines of JSON: {"progress", "what"} …, then {"answer"} or {"error"}.'
            if endpoint.lines
            else '{"answer"} or, with status 422, {"error"}.'
        )
        operation: dict[str, Any] = {
            "summary": endpoint.says,
            "responses": {
                "200": {"description": told, "content": {kind: {"schema": {}}}},
                "401": {"description": "Without the token that was printed at the start."},
                "422": {"description": "What is wrong with the request, as a sentence."},
            },
        }
        if endpoint.asked is not None:
            body = {"application/json": {"schema": by_kind[endpoint.asked]}}
            operation["requestBody"] = {"content": body}
        paths[f"/api/{endpoint.path}"] = {"post": operation}
    info = {"title": "suffice explorer", "version": suffice.__version__}
    return {
        "openapi": "3.1.0",
        "info": info,
        "paths": paths,
        "components": {"schemas": components},
    }


# Export of a question as Python code.


def notebook_code(room: Session, asked: ExplainRequest) -> str:
    """Return Python code that asks the same question of the same model and data."""
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
        lines += _format_call(
            "explainer = suffice.TextExplainer", ["model"], _text_arguments(contrast)
        )
        lines += [f"x = {room.text_of(given)!r}"]
    else:
        named = _table_arguments(room, asked.model, contrast)
        lines += _format_call("explainer = suffice.Explainer", ["model", "data"], named)
        if given.row is None:
            lines += [f"x = {pformat(dict(given.values), sort_dicts=False)}"]
        else:
            lines += [f"x = data.iloc[{given.row}].to_dict()"]
            if given.values:
                lines += [f"x |= {pformat(dict(given.values), sort_dicts=False)}"]
    question: dict[str, Any] = {"tau": asked.tau}
    defaults = ExplainRequest(input=given)
    for name in (*QuestionFields.__struct_fields__, "time_limit"):
        if getattr(asked, name) != getattr(defaults, name):
            question[name] = getattr(asked, name)
    lines += _format_call("e = explainer.explain", ["x"], {k: repr(v) for k, v in question.items()})
    lines += ["e"]
    return "\n".join(lines) + "\n"


def _format_call(function: str, positional: list[str], named: dict[str, str]) -> list[str]:
    inside = [*positional, *(f"{name}={value}" for name, value in named.items())]
    line = f"{function}({', '.join(inside)})"
    if len(line) <= 88:
        return [line]
    return [f"{function}(", *(f"    {part}," for part in inside), ")"]


def _text_arguments(contrast: ContrastRequest) -> dict[str, str]:
    found = {} if contrast.outcome is None else {"outcome": repr(contrast.outcome)}
    if contrast.n_references is not None:
        found["n_references"] = repr(contrast.n_references)
    return found


def _table_arguments(room: Session, model: str | None, contrast: ContrastRequest) -> dict[str, str]:
    found: dict[str, str] = {}
    if contrast.at_least is not None:
        found["outcome"] = f"suffice.at_least({contrast.at_least!r})"
    elif contrast.at_most is not None:
        found["outcome"] = f"suffice.at_most({contrast.at_most!r})"
    elif contrast.outcome is not None:
        found["outcome"] = repr(room.label(contrast.outcome, model))
    if isinstance(contrast.references, list):
        parts = [_condition_code(c) for c in contrast.references]
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


def _condition_code(c: RowCondition) -> str:
    column = f"data[{c.column!r}]"
    if c.test == "is missing":
        return f"{column}.isna()"
    if c.test == "contains":
        return f"{column}.astype(str).str.contains({str(c.value)!r}, case=False, regex=False)"
    sign = {"is": "==", "is not": "!=", "at least": ">=", "at most": "<="}[c.test]
    return f"({column} {sign} {c.value!r})"
