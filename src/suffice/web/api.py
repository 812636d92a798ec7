"""API of the explorer: endpoints with JSON requests and answers, exported code, OpenAPI.

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
from suffice.errors import with_other_names
from suffice.explanation import Explanation
from suffice.question_fields import QuestionFields
from suffice.recourse import Recourse
from suffice.recourse.solver import SUGGESTION_START
from suffice.report.render_explanation import page_section
from suffice.results import Result
from suffice.summary import ReaderHints
from suffice.target import Outcome
from suffice.web.requests import (
    ChangeRules,
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
from suffice.web.session import MAX_SECONDS, Session

EXPLORER_HINTS = ReaderHints(
    lower="move the slider to {tau}",
    factors="the saved JSON has them all",
    values="the saved JSON has them all",
    full="the saved JSON",
    left_out="the saved JSON has them",
    names="point at one to see it in full",
    refine="shorten the text",
    most_seconds=MAX_SECONDS,
    arguments={
        "max_size": "size of sets",
        "n_references": "references",
        "time_limit": "time limit",
        "search": "search",
        "groups": "auto-join correlated columns",
        "budget": "budget",
    },
)
"""Hints for readers in the browser: labels of the page's form in place of arguments of Python."""

FIELD_LABELS = {
    "max_size": "size of sets",
    "n_references": "references, at most",
    "time_limit": "time limit",
}
"""Labels of the page's form by field of a request, for errors: the API names the field itself."""

_RECOURSE_LABELS = {
    "max_cost": "cost at most",
    "max_size": "features changed at most",
    "max_options": "the number of options shown",
    "time_limit": "time limit",
}


@dataclass(frozen=True)
class Endpoint:
    """An endpoint: its path, the type of its requests, and the function that answers."""

    path: str
    summary: str
    request_type: type | None
    handler: Callable[[Session, Any], Any]
    streamed: bool = False
    """Whether the answer comes as lines of JSON, with progress."""


def _explain(session: Session, request: ExplainRequest) -> Any:
    return {"html": page_section(session.explain(request), EXPLORER_HINTS)}


def _recourse(session: Session, request: RecourseOptionsRequest) -> Any:
    found = session.recourse(request)
    options = [
        {
            "features": list(option.features),
            "changes": {name: list(change) for name, change in option.changes.items()},
            "text": option.text,
            "cost": option.cost,
            "sufficiency": option.sufficiency,
            "necessity": option.necessity,
            "necessity_baseline": option.necessity_baseline,
        }
        for option in found.options
    ]
    return {"options": options, "more": found.more, "sheet": _recourse_sheet(found)}


def _recourse_sheet(found: Recourse) -> Any:
    """Return the sheet with labels of the page's form in place of Python's arguments."""
    sheet = _sheet_json(found)
    # Suggestions name calls of Python, which a visitor of the page cannot make.
    notes = [n for n in sheet["notes"] if not n.startswith(SUGGESTION_START)]
    if len(notes) < len(sheet["notes"]):
        notes.append(f"{SUGGESTION_START}allow more time, or restrict what may change.")
    return sheet | {"notes": [with_other_names(note, _RECOURSE_LABELS) for note in notes]}


def _shapley(session: Session, request: ShapleyRequest) -> Any:
    found = session.shapley(request)
    ends = {"base": found.base, "everything": found.everything}
    return {"values": dict(found), **ends, "sheet": _sheet_json(found)}


def _rules(session: Session, request: RulesRequest) -> Any:
    return {"sheet": _sheet_json(session.rules(request))}


def _export_page(session: Session, request: ExplainRequest) -> Any:
    return {"name": "explanation.html", "content": session.explain(request).to_html()}


def _export_json(session: Session, request: ExplainRequest) -> Any:
    return {"name": "explanation.json", "content": session.explain(request).to_json()}


def _export_code(session: Session, request: ExplainRequest) -> Any:
    return {"name": "explanation.py", "content": notebook_code(session, request)}


def _sheet_json(result: Result | Explanation) -> Any:
    # `alone`: where Python has the rows that are left out is of no use in a browser.
    panels = [msgspec.to_builtins(p) | {"more": p.more.alone} for p in result.sheet.panels]
    return msgspec.to_builtins(result.sheet) | {"panels": panels}


ENDPOINTS = (
    Endpoint(
        "about",
        "The models, the columns, the classes, and what may change.",
        None,
        lambda session, _: session.describe(),
    ),
    Endpoint("rows", "A page of the table, filtered and sorted.", RowsRequest, Session.rows),
    Endpoint(
        "row",
        "The values of one row.",
        RowRequest,
        lambda session, request: session.row_values(request.row),
    ),
    Endpoint("predict", "The model's answer for one input.", PredictRequest, Session.predict),
    Endpoint(
        "explain",
        "What suffices to keep the input's outcome, and what to flip it.",
        ExplainRequest,
        _explain,
        streamed=True,
    ),
    Endpoint(
        "recourse",
        "The cheapest changes that give another outcome.",
        RecourseOptionsRequest,
        _recourse,
        streamed=True,
    ),
    Endpoint("shapley", "What each feature adds.", ShapleyRequest, _shapley, streamed=True),
    Endpoint("rules", "The best rules for the input.", RulesRequest, _rules, streamed=True),
    Endpoint(
        "export/page", "The explanation as a page.", ExplainRequest, _export_page, streamed=True
    ),
    Endpoint(
        "export/json", "The explanation as JSON.", ExplainRequest, _export_json, streamed=True
    ),
    Endpoint(
        "export/code", "Code that asks the same.", ExplainRequest, _export_code, streamed=True
    ),
)
"""All endpoints, each answering POST requests to /api/PATH."""


def openapi() -> dict[str, Any]:
    """Return the OpenAPI 3.1 description of the API.

    >>> sorted(openapi()["paths"])[:2]
    ['/api/about', '/api/explain']
    """
    # Several endpoints share a type, which the description must define once.
    types = list(dict.fromkeys(e.request_type for e in ENDPOINTS if e.request_type is not None))
    schemas, components = msgspec.json.schema_components(
        types, ref_template="#/components/schemas/{name}"
    )
    by_type = dict(zip(types, schemas, strict=True))
    paths: dict[str, Any] = {}
    for endpoint in ENDPOINTS:
        media_type = "application/x-ndjson" if endpoint.streamed else "application/json"
        answer = (
            'Lines of JSON: {"progress", "what", "place"} …, then {"answer"} or {"error"}. "place" '
            "is the question's place among those that wait, from 1; null once it is computed."
            if endpoint.streamed
            else '{"answer"} or, with status 422, {"error"}.'
        )
        operation: dict[str, Any] = {
            "summary": endpoint.summary,
            "responses": {
                "200": {"description": answer, "content": {media_type: {"schema": {}}}},
                "401": {"description": "Without the token that was printed at the start."},
                "422": {"description": "What is wrong with the request, as a sentence."},
            },
        }
        if endpoint.request_type is not None:
            body = {"application/json": {"schema": by_type[endpoint.request_type]}}
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


def notebook_code(session: Session, request: ExplainRequest) -> str:
    """Return Python code that asks the same question of the same model and data."""
    session.prepare(request)  # code for a request that `explain` refuses would ask another question
    contrast = request.contrast
    given = request.input
    lines = [
        "import pandas as pd",
        "import suffice",
        "",
        *session.opening_code(request.model),
        "",
    ]
    if session.text_column is not None:
        named = _text_arguments(session, request.model, contrast)
        lines += _format_call("explainer = suffice.TextExplainer", ["model"], named)
        lines += [f"x = {session.read_text(given)!r}"]
    else:
        named = _table_arguments(session, request.model, contrast, request.changes)
        lines += _format_call("explainer = suffice.Explainer", ["model", "data"], named)
        if given.row is None:
            lines += [f"x = {pformat(dict(given.values), sort_dicts=False)}"]
        else:
            # A frame of one row: a series would turn whole numbers beside others into floats.
            row = f"data.iloc[[{given.row}]]"
            lines += [f'x = {row}.to_dict("records")[0]' if given.values else f"x = {row}"]
            if given.values:
                lines += [f"x |= {pformat(dict(given.values), sort_dicts=False)}"]
    question: dict[str, Any] = {"tau": request.tau}
    # Only what differs from the defaults is written, so that the code stays short.
    defaults = ExplainRequest(input=given)
    for name in (*QuestionFields.__struct_fields__, "time_limit"):
        if getattr(request, name) != getattr(defaults, name):
            question[name] = getattr(request, name)
    lines += _format_call("e = explainer.explain", ["x"], {k: repr(v) for k, v in question.items()})
    lines += ["e"]
    return "\n".join(lines) + "\n"


def _format_call(function: str, positional: list[str], named: dict[str, str]) -> list[str]:
    inside = [*positional, *(f"{name}={value}" for name, value in named.items())]
    line = f"{function}({', '.join(inside)})"
    if len(line) <= 88:
        return [line]
    return [f"{function}(", *(f"    {part}," for part in inside), ")"]


def _text_arguments(
    session: Session, model: str | None, contrast: ContrastRequest
) -> dict[str, str]:
    found = _outcome_argument(session, model, contrast)
    if contrast.n_references is not None:
        found["n_references"] = repr(contrast.n_references)
    if contrast.mask == "corpus":
        found["mask"] = f"suffice.Corpus(data[{session.text_column!r}].astype(str).tolist())"
    found["random_state"] = repr(session.seed)
    return found


def _outcome_argument(
    session: Session, model: str | None, contrast: ContrastRequest
) -> dict[str, str]:
    outcome = session.outcome(model, contrast)
    if outcome is None:
        return {}
    return {"outcome": f"suffice.{outcome!r}" if isinstance(outcome, Outcome) else repr(outcome)}


def _table_arguments(
    session: Session, model: str | None, contrast: ContrastRequest, changes: ChangeRules
) -> dict[str, str]:
    found = _outcome_argument(session, model, contrast)
    if isinstance(contrast.references, list):
        parts = [_condition_code(c) for c in contrast.references]
        found["references"] = " & ".join(parts) or '"all"'
    elif contrast.references != "opposite":
        found["references"] = repr(contrast.references)
    # The server's own default differs from the one of Python, so it is written out.
    n = session.n_references if contrast.n_references is None else contrast.n_references
    if n is not None:
        found["n_references"] = repr(n)
    if contrast.groups:
        found["groups"] = repr(contrast.groups)
    if contrast.causal:
        found["context"] = "suffice.CausalContext(causes)"
    rules = session.declared_changes(changes)
    found |= {name: repr(names) for name, names in rules.items() if names is not None}
    found["random_state"] = repr(session.seed)
    return found


def _condition_code(c: RowCondition) -> str:
    column = f"data[{c.column!r}]"
    if c.test == "is missing":
        return f"{column}.isna()"
    if c.test == "contains":
        return f"{column}.astype(str).str.contains({str(c.value)!r}, case=False, regex=False)"
    sign = {"is": "==", "is not": "!=", "at least": ">=", "at most": "<="}[c.test]
    return f"({column} {sign} {c.value!r})"
