"""Calls of audits."""

from __future__ import annotations

from functools import cache
from typing import Any

import suffice as sf
from tests.example_results import CATALOGUE, EXPLAINER, explanation
from tests.public_api.call_cases import NAMES, PROGRESS, CallCase

AUDIT_ACCEPTS = {
    "tau": "none",
    "ids": "none list matrix",
    "by": "none list nones matrix",
    "progress": PROGRESS,
}


@cache
def make_cases() -> list[CallCase]:
    read: dict[str, Any] = {"explanations": explanation(), "tau": None, "progress": False}
    return [
        CallCase("audit.roles", sf.audit.roles, read, AUDIT_ACCEPTS),
        CallCase(
            "audit.reliance",
            sf.audit.reliance,
            {**read, "protected": "age", "by": None, "ids": None, "explainer": EXPLAINER},
            {**AUDIT_ACCEPTS, "explainer": "none"},
        ),
        CallCase(
            "audit.cohort",
            sf.audit.cohort,
            {**read, "by": None, "most": 3, "ids": None},
            AUDIT_ACCEPTS,
        ),
        CallCase(
            "audit.global_factors",
            sf.audit.global_factors,
            {**read, "cover": 0.5, "view": "keep", "max_size": 2, "ids": None},
            {**AUDIT_ACCEPTS, "max_size": "none"},
        ),
        CallCase(
            "audit.reasons",
            sf.audit.reasons,
            {
                "explanations": explanation(),
                "catalogue": CATALOGUE,
                "k": 2,
                "adverse": None,
                "protected": (),
                "problems": "raise",
                "ids": None,
                "progress": False,
            },
            {**AUDIT_ACCEPTS, "adverse": "none", "protected": NAMES},
        ),
        CallCase(
            "audit.read_catalogue",
            sf.audit.read_catalogue,
            {"given": CATALOGUE, "blanks": False},
            {"blanks": "true"},
            {"given": "catalogue"},
        ),
    ]
