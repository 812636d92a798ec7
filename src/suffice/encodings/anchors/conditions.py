"""The conditions that rules are made of, each true of the input.

Proposition 2 sets c_A(z) = 1 iff A(x) = 1: a rule A is a conjunction of conditions, so the rules
about an input are sets of its conditions, ordered by inclusion like any factors.

Conditions may come in chains, "age > 30" after "age > 20". Then a rule with the second holds the
first as well: such *closed* sets stand for one rule each, inclusion between them says which rule
asks less, and sets that are not closed stand for no rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_

import numpy as np

from suffice.context.players import Players
from suffice.context.sample import Sample
from suffice.decision import Decision
from suffice.encodings.anchors.cutting import Cutting
from suffice.errors import InputError, did_you_mean
from suffice.factors.kinds import And, Factor
from suffice.tables.table import Table
from suffice.typing import BoolVector, Held

__all__ = ["Condition", "Conditions", "conditions_of", "make_conditions"]


@dataclass(frozen=True)
class Condition:
    """One thing that a rule may ask."""

    name: str
    """The feature or group that it is about."""
    columns: tuple[int, ...]
    """The positions of the columns that it reads."""
    factor: Factor
    after: int | None = None
    """The next weaker condition of its chain, by position."""


class Conditions(tuple[Condition, ...]):
    """All conditions of one input, those of one feature side by side."""

    __slots__ = ()

    @property
    def features(self) -> tuple[str, ...]:
        """The features that they are about."""
        return tuple(dict.fromkeys(c.name for c in self))

    @property
    def chained(self) -> bool:
        """Do some imply others?"""
        return any(c.after is not None for c in self)

    def holds(self, rows: Table) -> Held:
        """(rows, conditions): which row satisfies which condition."""
        context = Sample(rows)
        out = np.empty((len(rows), len(self)), dtype=bool)
        for i, condition in enumerate(self):
            out[:, i] = condition.factor(context)
        return out

    def are_rules(self, held: Held, largest: int) -> BoolVector:
        """Which sets of conditions stand for a rule, of at most so many features?"""
        fit = np.ones(len(held), dtype=bool)
        for i, condition in enumerate(self):
            if condition.after is not None:
                fit &= held[:, condition.after] | ~held[:, i]
        if largest < len(self.features):
            of_feature = np.array([self.features.index(c.name) for c in self])
            used = [held[:, of_feature == f].any(axis=1) for f in range(len(self.features))]
            fit &= np.sum(used, axis=0) <= largest
        return fit

    def factor(self, members: Sequence[int]) -> Factor | None:
        """The rule of these conditions, said once: what others imply is left out."""
        implied = {self[m].after for m in members}
        parts = [self[m].factor for m in members if m not in implied]
        return reduce(and_, parts) if parts else None


def make_conditions(
    decision: Decision, cutting: Cutting, columns: Sequence[str] | None = None
) -> Conditions:
    """The input's conditions, for the features among `columns` (None: all).

    A condition that every row of the data satisfies is none: no rule is the stronger for it.
    """
    data, row, players = decision.data, decision.row, decision.players
    context = Sample(data)
    found: list[Condition] = []
    for player in _chosen(players, columns):
        name, mine = players.names[player], players.columns[player]
        chains = {j: cutting.chains(data, row, j) for j in mine}
        if len(mine) > 1:  # a group asks for all of its columns at once, as tightly as it can
            tight = {j: [c[-1] for c in chains[j] if c] for j in mine}
            parts = {j: [f for f in tight[j] if not f(context).all()] for j in mine}
            read = tuple(j for j in mine if parts[j])
            if read:
                factor = reduce(and_, [f for j in read for f in parts[j]])
                found.append(Condition(name, read, factor))
            continue
        for chain in chains[mine[0]]:
            after = None
            for factor in chain:
                if not factor(context).all():
                    found.append(Condition(name, mine, factor, after))
                    after = len(found) - 1
    return Conditions(found)


def conditions_of(rule: Factor, data: Table, players: Players) -> Conditions:
    """Any factor on columns of the data, taken apart as far as its players stay apart.

    The parts of a conjunction are conditions of their own unless they read a player in common.
    """
    at = {name: data.position(name, "rule") for name in rule.columns()}
    groups: list[tuple[set[int], list[Factor]]] = []
    for part in rule.parts if isinstance(rule, And) else (rule,):
        mine = {int(players.of_column[at[name]]) for name in part.columns()}
        joined = [g for g in groups if g[0] & mine]
        groups = [g for g in groups if not g[0] & mine]
        parts = [p for _, before in joined for p in before]
        groups.append((mine.union(*(g[0] for g in joined)), [*parts, part]))
    made = []
    for owners, parts in groups:
        factor = reduce(and_, parts)
        read = tuple(sorted({at[name] for name in factor.columns()}))
        made.append(Condition(" + ".join(players.names[p] for p in sorted(owners)), read, factor))
    return Conditions(made)


def _chosen(players: Players, columns: Sequence[str] | None) -> tuple[int, ...]:
    if columns is None:
        return tuple(range(len(players)))
    allowed = "names of features, or of groups of them"
    if isinstance(columns, str) or not isinstance(columns, Iterable) or not list(columns):
        raise InputError("columns", columns, "a list of " + allowed)
    for name in columns:
        if name not in players.names:
            hint = did_you_mean(name, players.names)
            raise InputError("columns", f"unknown feature {name!r}", allowed, hint)
    return players.numbers(columns)
