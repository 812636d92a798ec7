"""Which references are allowed on which sets.

A reference is allowed on T if its values on T's columns meet every rule and the resulting row
satisfies no forbidden factor. What a factor says depends only on which of the players *it reads*
are in T, so it is worked out once per such pattern and not once per hybrid.
"""

from __future__ import annotations

import numpy as np

from suffice.context.players import Players
from suffice.encodings.recourse.rules import Rule, within_rules
from suffice.encodings.recourse.sums import Unions
from suffice.factors import Factor
from suffice.tables.table import Table
from suffice.typing import BoolVector, Counts, Held, Outcomes

__all__ = ["Allowed", "by_player", "satisfied"]


class Allowed:
    """Rules and forbidden factors, for one input (row 0 of the pool) and its references."""

    def __init__(
        self, pool: Table, players: Players, rules: tuple[Rule, ...], forbidden: tuple[Factor, ...]
    ) -> None:
        self._n = len(pool) - 1
        refused = ~by_player(within_rules(pool, rules), players)[1:]
        self._refused = Unions(refused, np.logical_or) if refused.any() else None
        self._factors = [_ByPattern(factor, pool, players) for factor in forbidden]

    def of(self, members: Held) -> Outcomes:
        """(sets, references)."""
        out: Outcomes = np.ones((len(members), self._n), dtype=bool)
        if self._refused is not None:
            out = ~self._refused.of(members)
        for factor in self._factors:
            out &= ~factor.holds(members)
        return out


class _ByPattern:
    """Where one factor holds, by which of the players that it reads are replaced."""

    def __init__(self, factor: Factor, pool: Table, players: Players) -> None:
        self._factor = factor
        self._columns = [pool.names.index(name) for name in dict.fromkeys(factor.columns())]
        self._values = {pool.names[j]: pool.column(j) for j in self._columns}
        owner = {j: p for p, columns in enumerate(players.columns) for j in columns}
        self._readers = sorted({owner[j] for j in self._columns if j in owner})
        self._owner = {pool.names[j]: owner.get(j) for j in self._columns}
        self._n = len(pool) - 1

    def holds(self, members: Held) -> Outcomes:
        patterns, which = np.unique(members[:, self._readers], axis=0, return_inverse=True)
        truth = np.array([self._under(dict(zip(self._readers, p, strict=True))) for p in patterns])
        return np.asarray(truth[which.reshape(-1)])

    def _under(self, replaced: dict[int, np.bool_]) -> BoolVector:
        references = np.arange(1, self._n + 1)
        rows = {
            name: references if owner is not None and replaced[owner] else np.zeros_like(references)
            for name, owner in self._owner.items()
        }
        return self._factor({name: self._values[name][at] for name, at in rows.items()})


def satisfied(factor: Factor, pool: Table, rows: Counts) -> BoolVector:
    """Does the factor hold for rows that take, in column j, the value of the pool's rows[:, j]?"""
    names = dict.fromkeys(factor.columns())
    at = {name: pool.names.index(name) for name in names}
    return factor({name: pool.column(j)[rows[:, j]] for name, j in at.items()})


def by_player(by_column: Held, players: Players) -> Held:
    """All of a player's columns together."""
    return np.stack([by_column[:, list(c)].all(axis=1) for c in players.columns], axis=1)
