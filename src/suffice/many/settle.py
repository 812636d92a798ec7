"""How all rows are searched, settled once: the pace of a moment must not decide about single rows.

`search="auto"` looks at how fast a model is. Where every set is to be counted, that is said for all
rows alike, and the run gives the same bytes wherever it is made. Where a search ends with its time,
it cannot.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from suffice.errors import SufficeError
from suffice.search.plan import Plan
from suffice.tables import Table

__all__ = ["Plans", "Settled", "settle"]


class Plans(Protocol):
    """What an explainer is to those who ask how it would search."""

    @property
    def plan(self) -> Callable[..., Plan]:
        """How a row would be searched."""
        ...


@dataclass(frozen=True)
class Settled:
    """The search for every row, and whether it gives the same answer twice."""

    search: str
    repeatable: bool


def settle(
    explainer: Plans, rows: Sequence[Table | SufficeError], asked: Mapping[str, Any]
) -> Settled:
    """Look at the plan of the first row that has one."""
    search = str(asked.get("search", "auto"))
    for row in rows:
        try:
            if isinstance(row, SufficeError):
                continue
            plan = explainer.plan(row, **asked)
        except SufficeError:
            continue
        if search == "auto" and plan.way == "exhaustive" and plan.complete:
            return Settled("exhaustive", True)
        return Settled(search, plan.limits.time_limit is None)
    return Settled(search, search == "exhaustive")
