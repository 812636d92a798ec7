"""The doors to audits."""

from __future__ import annotations

from functools import cache
from typing import Any

import suffice as sf
from tests.doors import NAMES, PROGRESS, Door
from tests.tiny import (
    CATALOGUE,
    explanation,
)

TAKES = {
    "tau": "none",
    "ids": "none list matrix",
    "by": "none list nones matrix",
    "progress": PROGRESS,
}


@cache
def doors() -> list[Door]:
    read: dict[str, Any] = {"explanations": explanation(), "tau": None, "progress": False}
    return [
        Door("audit.roles", sf.audit.roles, read, TAKES),
        Door(
            "audit.reliance",
            sf.audit.reliance,
            {**read, "protected": "age", "by": None, "ids": None},
            TAKES,
        ),
        Door("audit.cohort", sf.audit.cohort, {**read, "by": None, "most": 3, "ids": None}, TAKES),
        Door(
            "audit.global_factors",
            sf.audit.global_factors,
            {**read, "cover": 0.5, "view": "keep", "max_size": 2, "ids": None},
            {**TAKES, "max_size": "none"},
        ),
        Door(
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
            {**TAKES, "adverse": "none", "protected": NAMES},
        ),
        Door(
            "audit.read_catalogue",
            sf.audit.read_catalogue,
            {"given": CATALOGUE, "blanks": False},
            {"blanks": "true"},
            {"given": "catalogue"},
        ),
    ]
