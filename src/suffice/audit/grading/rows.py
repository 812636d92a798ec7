"""Marks of counterfactual rows: do they flip, at what cost, and with which changes to spare?

All of it is asked of the model: whether a row has another outcome, and whether it still has where
some of its changes are taken back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np

from suffice.checks import number
from suffice.context.cost import column_costs_of_table, player_costs, total_costs
from suffice.decision import Decision
from suffice.errors import InputError, SufficeError
from suffice.explanation import Explanation
from suffice.factors.lattice import held_of_masks, members_of
from suffice.factors.order import no_dearer
from suffice.factors.reading import Labels
from suffice.tables import Table, plain, read_row
from suffice.wording import moved

__all__ = ["Cheapest", "RowMark", "mark_rows", "read_rows"]

_CHANGES = 12
"""Of so many changes every part is tried; of more, nothing is said of what could be spared."""


@dataclass(frozen=True)
class RowMark:
    """One counterfactual row."""

    change: str
    """What it changes, in words."""
    features: tuple[str, ...]
    """The features that it changes."""
    flips: bool
    """Has it another outcome? As the model says."""
    cost: float | None
    """What the change costs; None where it cannot be paid at all."""
    spare: tuple[str, ...] | None
    """The most changes, by cost, that can be taken back so that it still flips: () for none, None
    where that is not known, or it does not flip."""
    spare_cost: float | None
    """What the rest costs."""

    def __post_init__(self) -> None:
        for name in ("cost", "spare_cost"):
            if getattr(self, name) is not None:
                number(name, getattr(self, name), "a number >= 0", least=0)
        if not set(self.spare or ()) <= set(self.features):
            raise InputError("spare", self.spare, "some of the features that change")


@dataclass(frozen=True)
class Cheapest:
    """The cheapest change to values of one reference that flips the outcome."""

    change: str
    features: tuple[str, ...]
    cost: float

    def __post_init__(self) -> None:
        number("cost", self.cost, "a number >= 0", least=0)

    @classmethod
    def of(cls, e: Explanation) -> Cheapest | None:
        """As the explanation has it."""
        best = e.cheapest
        return None if best is None else cls(str(best), best.features, best.cost)


def read_rows(
    given: Sequence[Mapping[str, Any]], decision: Decision, labels: Labels | None
) -> Table | None:
    """The rows, with the data's dtypes and all its columns; None where there are none.

    What a row does not name stays as the input has it.
    """
    row, data = decision.row, decision.data
    here = {name: row.cell(0, j) for j, name in enumerate(data.names)}
    found = []
    for i, cells in enumerate(given):
        try:
            named = {str(name): value for name, value in cells.items()}
            told = {n: _value(v, n, data, labels) for n, v in named.items()}
            found.append(read_row({**here, **told}, data, argument="other"))
        except SufficeError as error:
            raise error.at(f"counterfactual {i}") from error
    return found[0].stack_all(found[1:]) if found else None


def _value(value: Any, column: str, data: Table, labels: Labels | None) -> Any:
    """The column's own value: what it is called elsewhere, or as DiCE gives it, a text."""
    known = (labels or {}).get(column, {})
    pairs = known.items() if isinstance(known, Mapping) else enumerate(known)
    for own, name in pairs:
        if name == value:
            return own
    if isinstance(value, str) and column in data.names:
        j = data.names.index(column)
        if data.column(j).dtype.kind in "iuf":
            try:
                return float(value)
            except ValueError:
                return value
    return value


def mark_rows(rows: Table, decision: Decision) -> tuple[RowMark, ...]:
    """Each row's mark, in order."""
    players = decision.players
    pool = decision.row.stack(rows)
    codes = pool.codes()
    moves = codes[1:] != codes[0]
    by_player = np.stack([moves[:, list(c)].any(axis=1) for c in players.columns], axis=1)
    costs = player_costs(column_costs_of_table(pool, decision.data, decision.cost), players)
    costs = np.where(by_player, costs, 0.0)
    flips = decision.target(rows) != decision.y
    marks = []
    for i in range(len(rows)):
        changed = np.flatnonzero(by_player[i])
        spare, rest = None, None
        if flips[i] and len(changed) <= _CHANGES:
            kept = _cheapest_part(pool, i + 1, changed, costs[i], decision)
            spare = tuple(players.names[p] for p in changed if p not in kept)
            rest = float(total_costs(costs[i : i + 1, sorted(kept)])[0])
        total = float(total_costs(costs[i : i + 1])[0])
        marks.append(
            RowMark(
                change=_words(pool, i + 1, changed, decision),
                features=tuple(players.names[p] for p in changed),
                flips=bool(flips[i]),
                cost=total if isfinite(total) else None,
                spare=spare,
                spare_cost=rest if rest is not None and isfinite(rest) else None,
            )
        )
    return tuple(marks)


def _cheapest_part(pool: Table, row: int, changed: Any, costs: Any, decision: Decision) -> set[int]:
    """The cheapest of the row's changes that flip by themselves, of equal ones the fewest."""
    masks = np.arange(1 << len(changed))
    parts = held_of_masks(masks, len(changed))
    source = np.zeros((len(masks), len(pool.names)), dtype=np.int64)
    for place, player in enumerate(changed):
        source[:, list(decision.players.columns[player])] = row * parts[:, place : place + 1]
    flips = decision.target(pool.gather(source)) != decision.y
    flips[-1] = True  # the row itself, which was asked alone
    prices = total_costs(np.where(parts, costs[changed], 0.0))
    best = len(masks) - 1
    for mask in np.flatnonzero(flips).tolist():
        fewer = mask.bit_count() < best.bit_count()
        cheaper = not no_dearer(prices[best], prices[mask])
        if cheaper or (fewer and no_dearer(prices[mask], prices[best])):
            best = mask
    return {int(changed[place]) for place in members_of(best)}


def _words(pool: Table, row: int, changed: Any, decision: Decision) -> str:
    told = []
    for player in changed:
        columns = decision.players.columns[player]
        old, new = ({pool.names[j]: plain(pool.cell(at, j)) for j in columns} for at in (0, row))
        told.append(moved(decision.players.names[player], old, new))
    return ", ".join(filter(None, told)) or "nothing"
