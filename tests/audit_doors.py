"""The doors to audits."""

from __future__ import annotations

from typing import Any

import suffice as sf
from tests.doors import NAMES, PROGRESS, Door
from tests.tiny import E

CATALOGUE = {"age": ("A", "Age"), "job": ("J", "Job")}
READ: dict[str, Any] = {"explanations": E, "tau": None, "progress": False}
TAKES = {
    "tau": "none",
    "ids": "none list matrix",
    "by": "none list nones matrix",
    "progress": PROGRESS,
}

DOORS = [
    Door("audit.roles", sf.audit.roles, READ, TAKES),
    Door(
        "audit.reliance",
        sf.audit.reliance,
        {**READ, "protected": "age", "by": None, "ids": None},
        TAKES,
    ),
    Door("audit.cohort", sf.audit.cohort, {**READ, "by": None, "most": 3, "ids": None}, TAKES),
    Door(
        "audit.global_factors",
        sf.audit.global_factors,
        {**READ, "cover": 0.5, "view": "keep", "max_size": 2, "ids": None},
        {**TAKES, "max_size": "none"},
    ),
    Door(
        "audit.reasons",
        sf.audit.reasons,
        {
            "explanations": E,
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
