"""What a change must respect, and which references' values respect it on which sets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from suffice.checks import names
from suffice.context.players import Players
from suffice.encodings.recourse.column_rules import ColumnRule, keeps_rules
from suffice.errors import InputError, did_you_mean
from suffice.factors import Factor
from suffice.tables.table import Table
from suffice.typing import BoolVector, Counts, Held, Outcomes

__all__ = ["AllowedReferences", "Constraints", "Lifted", "Names", "fixed_players", "satisfied"]

Names = str | Iterable[str]
_FEATURES = "names of features"


@dataclass(frozen=True)
class Constraints:
    """Everything that is asked of a change besides the outcome; each part can be lifted alone."""

    fixed: Mapping[int, str] = field(default_factory=dict)
    """Players that cannot change, with the reason in words."""
    rules: tuple[ColumnRule, ...] = ()
    forbidden: tuple[Factor, ...] = ()
    tau: float | None = None
    max_cost: float = np.inf
    max_size: int | None = None

    def lifted(self) -> Iterator[Lifted]:
        """Each constraint taken away alone."""
        for player, says in self.fixed.items():
            rest = {p: why for p, why in self.fixed.items() if p != player}
            yield Lifted(says, "if it could change", replace(self, fixed=rest))
        for i, rule in enumerate(self.rules):
            rules = self.rules[:i] + self.rules[i + 1 :]
            yield Lifted(rule.says, "if it need not", replace(self, rules=rules))
        for i, factor in enumerate(self.forbidden):
            others = self.forbidden[:i] + self.forbidden[i + 1 :]
            says = f"{factor!r} is forbidden"
            yield Lifted(says, "if it were allowed", replace(self, forbidden=others))
        if self.max_cost < np.inf:
            says = f"max_cost={self.max_cost:g}"
            yield Lifted(says, "at a higher price", replace(self, max_cost=np.inf))
        if self.max_size is not None:
            says = f"max_size={self.max_size}"
            yield Lifted(says, "with larger sets", replace(self, max_size=None))
        if self.tau is not None:
            says = f"tau={self.tau:g}"
            yield Lifted(says, "if one verified change is enough", replace(self, tau=None))


@dataclass(frozen=True)
class Lifted:
    """One constraint in words, what lifting it means, and the constraints that are left."""

    says: str
    if_lifted: str
    rest: Constraints


def fixed_players(
    table: Table, players: Players, immutable: Names, actionable: Names | None
) -> dict[int, str]:
    """The players that cannot change, with the reason in words.

    A group of columns moves as one: if one of its columns is immutable, so is the group, and it is
    actionable only as a whole.
    """
    fixed: dict[int, str] = {}
    for name in names("immutable", immutable, _FEATURES):
        player = _player(table, players, name, "immutable")
        label = players.names[player]
        within = f"{label} is immutable, as its column {name} is"
        fixed[player] = f"{label} is immutable" if name == label else within
    if actionable is None:
        return fixed
    free = _actionable(table, players, actionable)
    both = sorted(free & set(fixed))
    if both:
        name = players.names[both[0]]
        raise InputError("actionable", f"{name!r}, which is also immutable", "names in one of them")
    for player, name in enumerate(players.names):
        if player not in free and player not in fixed:
            fixed[player] = f"{name} is not actionable"
    return dict(sorted(fixed.items()))


def _actionable(table: Table, players: Players, actionable: Names) -> set[int]:
    asked = names("actionable", actionable, _FEATURES)
    if not asked:
        hint = "Leave it out to let everything change."
        raise InputError("actionable", "no name", "one feature or more", hint)
    free = set()
    for name in asked:
        player = _player(table, players, name, "actionable")
        members = {table.names[j] for j in players.columns[player]}
        if name != players.names[player] and not members <= set(asked):
            group = players.names[player]
            got = f"{name!r}, one column of the group {group!r}"
            raise InputError("actionable", got, "whole groups: their columns change together")
        free.add(player)
    return free


def _player(table: Table, players: Players, name: str, argument: str) -> int:
    if name in players.names:
        return players.names.index(name)
    if name in table.names:
        return int(players.of_column[table.names.index(name)])
    hint = did_you_mean(name, dict.fromkeys((*players.names, *table.names)))
    raise InputError(argument, f"unknown feature {name!r}", "features or columns", hint)


class AllowedReferences:
    """Which references are allowed on which sets, for one input (row 0 of the pool).

    A reference is allowed on T if its values on T's columns meet every rule and the resulting row
    satisfies no forbidden factor. What a factor says depends only on which of the players *it
    reads* are in T, so it is worked out once per such pattern and not once per hybrid.
    """

    def __init__(self, pool: Table, players: Players, constraints: Constraints) -> None:
        self._n = len(pool) - 1
        self._players = len(players)
        self._refused = None
        if constraints.rules:
            refused = ~keeps_rules(pool, players, constraints.rules)[1:]
            self._refused = refused.T.astype(np.float32)
        self._factors = [_ByPattern(factor, pool, players) for factor in constraints.forbidden]

    def on(self, members: Held) -> Outcomes:
        """(sets, references): is the reference allowed on the set?"""
        out: Outcomes = np.ones((len(members), self._n), dtype=bool)
        if self._refused is not None:  # by how many members: small whole numbers, exact
            out = np.asarray(members.astype(np.float32) @ self._refused == 0)
        for factor in self._factors:
            out &= ~factor.holds(members)
        return out

    def pairs(self, members: Held, references: Counts) -> BoolVector:
        """(pairs,): is references[i] allowed on the set members[i]?"""
        out: BoolVector = np.ones(len(members), dtype=bool)
        if not len(members):
            return out
        if self._refused is not None:
            out = np.asarray(~(members & (self._refused.T[references] > 0)).any(axis=1))
        for factor in self._factors:
            out &= ~factor.holds_for(members, references)
        return out

    def alone(self) -> Held:
        """(references, players): does the reference's value of that player meet every rule?"""
        players = self._players
        if self._refused is None:
            return np.ones((self._n, players), dtype=bool)
        return np.asarray(self._refused.T == 0)


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
        """(sets, references)."""
        truth, which = self._by_pattern(members)
        return np.asarray(truth[which])

    def holds_for(self, members: Held, references: Counts) -> BoolVector:
        """(pairs,): of each set, for the reference beside it only."""
        truth, which = self._by_pattern(members)
        return np.asarray(truth[which, references])

    def _by_pattern(self, members: Held) -> tuple[Outcomes, Counts]:
        """(patterns, references), and which pattern each set has."""
        patterns, which = np.unique(members[:, self._readers], axis=0, return_inverse=True)
        truth = np.array([self._under(dict(zip(self._readers, p, strict=True))) for p in patterns])
        return truth, which.reshape(-1)

    def _under(self, replaced: dict[int, np.bool_]) -> BoolVector:
        references = np.arange(1, self._n + 1)
        rows = {
            name: references if owner is not None and replaced[owner] else np.zeros_like(references)
            for name, owner in self._owner.items()
        }
        return self._factor({name: self._values[name][at] for name, at in rows.items()})


def satisfied(factor: Factor, pool: Table, rows: Counts) -> BoolVector:
    """Does the factor hold for rows that take, in column j, the value of the pool's rows[:, j]?"""
    at = {name: pool.names.index(name) for name in dict.fromkeys(factor.columns())}
    return factor({name: pool.column(j)[rows[:, j]] for name, j in at.items()})
