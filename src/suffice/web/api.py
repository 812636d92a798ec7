"""The explorer's own interface, which its page uses and anyone may: JSON in, JSON out.

Long answers come as lines of JSON: progress while it takes, then the answer or the error. To stop
one, hang up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

import suffice
from suffice.explanation import Explanation
from suffice.report.explanation import piece
from suffice.results import Result
from suffice.web.asked import (
    AskedRecourse,
    AskedRow,
    AskedRows,
    ExplainInput,
    PredictInput,
)
from suffice.web.code import notebook_code
from suffice.web.room import Room

__all__ = ["ENDPOINTS", "Endpoint", "openapi"]


@dataclass(frozen=True)
class Endpoint:
    """One question: where, what is sent, and how it is answered."""

    path: str
    says: str
    asked: type | None
    answer: Callable[[Room, Any], Any]
    lines: bool = False
    """Does the answer come as lines, with progress?"""


def _about(room: Room, _: None) -> Any:
    return room.about()


def _explained(room: Room, asked: ExplainInput) -> Any:
    return {"html": piece(room.explain(asked))}


def _recourse(room: Room, asked: AskedRecourse) -> Any:
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
    return {"options": options, "more": found.more, "sheet": _sheet(found)}


def _shapley(room: Room, asked: ExplainInput) -> Any:
    found = room.shapley(asked)
    return {"values": dict(found), "sheet": _sheet(found)}


def _rules(room: Room, asked: ExplainInput) -> Any:
    return {"sheet": _sheet(room.rules(asked))}


def _page(room: Room, asked: ExplainInput) -> Any:
    return {"name": "explanation.html", "content": room.explain(asked).to_html()}


def _json(room: Room, asked: ExplainInput) -> Any:
    return {"name": "explanation.json", "content": room.explain(asked).to_json()}


def _code(room: Room, asked: ExplainInput) -> Any:
    return {"name": "explanation.py", "content": notebook_code(room, asked)}


def _sheet(result: Result | Explanation) -> Any:
    panels = [msgspec.to_builtins(p) | {"more": str(p.more)} for p in result.sheet.panels]
    return msgspec.to_builtins(result.sheet) | {"panels": panels}


ENDPOINTS = (
    Endpoint("about", "The models, the columns, and what may be asked.", None, _about),
    Endpoint("rows", "A page of the table, filtered and sorted.", AskedRows, Room.rows),
    Endpoint("row", "The values of one row.", AskedRow, lambda room, a: room.row_values(a.row)),
    Endpoint("predict", "The model's answer for one input.", PredictInput, Room.predict),
    Endpoint(
        "explain",
        "What suffices to keep the input's outcome, and what to flip it.",
        ExplainInput,
        _explained,
        lines=True,
    ),
    Endpoint(
        "recourse",
        "The cheapest changes that give another outcome.",
        AskedRecourse,
        _recourse,
        lines=True,
    ),
    Endpoint("shapley", "What each feature adds.", ExplainInput, _shapley, lines=True),
    Endpoint("rules", "The best rules for the input.", ExplainInput, _rules, lines=True),
    Endpoint("export/page", "The explanation as a page.", ExplainInput, _page, lines=True),
    Endpoint("export/json", "The explanation as JSON.", ExplainInput, _json, lines=True),
    Endpoint("export/code", "Code that asks the same.", ExplainInput, _code, lines=True),
)
"""All of them, each by POST to /api/PATH."""


def openapi() -> dict[str, Any]:
    """The interface, described as OpenAPI 3.1.

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
