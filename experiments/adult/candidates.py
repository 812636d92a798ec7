"""What a method proposes for one input, and which proposal is preferable (Sect. 5.3)."""

from collections.abc import Iterable, Sequence
from typing import TypedDict

import numpy as np
import pandas as pd

from suffice import Recourse
from suffice.context import make_players
from suffice.context.cost import change_costs
from suffice.tables import as_table

__all__ = [
    "Candidate",
    "at_least_as_good",
    "costs",
    "from_recourse",
    "from_rows",
    "minimally_valid",
    "preferable",
    "unaccounted",
]

_ROUNDING = 1e-9


class Candidate(TypedDict):
    """The features to change, what that costs, and the change in words."""

    targets: list[str]
    cost: float
    change: str
    sufficiency: float | None
    """PS over the references; None for a counterfactual row, which has none."""


def from_recourse(r: Recourse) -> list[Candidate]:
    return [
        Candidate(targets=sorted(o.features), cost=o.cost, change=str(o), sufficiency=o.sufficiency)
        for o in r.options
    ]


def from_rows(row: pd.DataFrame, rows: pd.DataFrame, data: pd.DataFrame) -> list[Candidate]:
    """Each row as a change of the input, at the same costs as an option of recourse."""
    if not len(rows):
        return []
    pool = as_table(row.reset_index(drop=True)).stack(as_table(rows))
    table = as_table(data)
    price = change_costs(pool, table, make_players(table)).sum(axis=1)
    old = row.iloc[0].to_dict()
    out = []
    for new, cost in zip(rows.to_dict("records"), price.tolist(), strict=True):
        changed = [c for c in rows.columns if new[c] != old[c]]
        words = ", ".join(f"{c} {old[c]} → {new[c]}" for c in changed)
        out.append(Candidate(targets=sorted(changed), cost=cost, change=words, sufficiency=None))
    return sorted(out, key=lambda c: (c["cost"], c["change"]))


def costs(candidates: Sequence[Candidate]) -> dict[str, float]:
    """Mean, least and greatest; missing where nothing is proposed."""
    price = [c["cost"] for c in candidates] or [np.nan]
    return {"mean": float(np.mean(price)), "min": min(price), "max": max(price)}


def at_least_as_good(a: Candidate, b: Candidate) -> bool:
    """a ⪯_cost b: no other features, at no higher cost."""
    return set(a["targets"]) <= set(b["targets"]) and a["cost"] <= b["cost"] + _ROUNDING


def preferable(a: Candidate, b: Candidate) -> bool:
    """a ≺_cost b."""
    return at_least_as_good(a, b) and not at_least_as_good(b, a)


def minimally_valid(own: Iterable[Candidate], others: Sequence[Candidate]) -> list[Candidate]:
    """Those to which nothing that the other method proposes is preferable."""
    return [c for c in own if not any(preferable(o, c) for o in others)]


def unaccounted(own: Iterable[Candidate], others: Sequence[Candidate]) -> list[Candidate]:
    """Those that the other method neither proposes nor betters."""
    return [c for c in own if not any(at_least_as_good(o, c) for o in others)]
