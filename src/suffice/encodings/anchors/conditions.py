"""The conditions that rules are made of, each true of the input.

Proposition 2 sets c_A(z) = 1 iff A(x) = 1: a rule A is a conjunction of conditions, so the rules
about an input are sets of its conditions, ordered by inclusion like any factors.

Conditions may come in chains, "age > 30" after "age > 20". Then a rule with the second holds the
first as well: such *closed* sets stand for one rule each, inclusion between them says which rule
asks less, and sets that are not closed stand for no rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import takewhile
from operator import and_

import numpy as np

from suffice.checks import names, ran
from suffice.context.players import Players
from suffice.context.sample import Sample
from suffice.decision import Decision
from suffice.encodings.anchors.cutting import Cutting
from suffice.errors import InputError, did_you_mean
from suffice.factors.kinds import And, Factor
from suffice.tables.table import Table
from suffice.typing import BoolVector, Held

__all__ = ["Condition", "Conditions", "conditions_of", "holds", "make_conditions"]


@dataclass(frozen=True)
class Condition:
    """One thing that a rule may ask."""

    feature: str
    """The feature or group that it is about."""
    factor: Factor
    tightens: bool = False
    """Does it ask more of what the condition before it asks?"""


class Conditions(tuple[Condition, ...]):
    """All conditions of one input: those of one feature side by side, chains in a row."""

    __slots__ = ()

    @property
    def features(self) -> tuple[str, ...]:
        """The features that they are about."""
        return tuple(dict.fromkeys(c.feature for c in self))

    @property
    def independent(self) -> bool:
        """Has each feature only one, so that any set of conditions is a rule of its size?"""
        return len(self) == len(self.features)

    @property
    def chains(self) -> Iterator[tuple[int, ...]]:
        """The positions of each chain's conditions, the weakest first."""
        for i, condition in enumerate(self):
            if not condition.tightens:
                rest = takewhile(lambda j: self[j].tightens, range(i + 1, len(self)))
                yield (i, *rest)

    def holds(self, rows: Table) -> Held:
        """(rows, conditions): which row satisfies which condition."""
        out = np.empty((len(rows), len(self)), dtype=bool)
        for i, condition in enumerate(self):
            out[:, i] = condition.factor(Sample(rows))
        return out

    def are_rules(self, held: Held, largest: int) -> BoolVector:
        """Which sets of conditions stand for a rule, of at most so many features?"""
        fit = np.ones(len(held), dtype=bool)
        for i, condition in enumerate(self):
            if condition.tightens:
                fit &= held[:, i - 1] | ~held[:, i]
        if largest < len(self.features):
            of_feature = np.array([self.features.index(c.feature) for c in self])
            used = [held[:, of_feature == f].any(axis=1) for f in range(len(self.features))]
            fit &= np.sum(used, axis=0) <= largest
        return fit

    def sizes(self, largest: int) -> range:
        """The sizes of sets that rules of at most so many features may have.

        Where a feature has several conditions a rule on few features may still hold many.
        """
        return range((largest if self.independent else len(self)) + 1)

    def sets(self, largest: int) -> int:
        """How many sets of conditions there are of those sizes."""
        total, width = 0, 1
        for size in self.sizes(largest):
            total += width
            width = width * (len(self) - size) // (size + 1)
        return total

    def factor(self, members: Sequence[int]) -> Factor | None:
        """The rule of these conditions, said once: what others imply is left out."""
        implied = {m - 1 for m in members if self[m].tightens}
        parts = [self[m].factor for m in members if m not in implied]
        return reduce(and_, parts) if parts else None


def make_conditions(decision: Decision, cutting: Cutting, features: object = None) -> Conditions:
    """The input's conditions, for these features (None: all).

    A condition that every row of the data satisfies is none: no rule is the stronger for it.
    """
    data, row, players = decision.data, decision.row, decision.players
    sample = Sample(data)
    found: list[Condition] = []
    for player in _chosen(players, features):
        name, columns = players.names[player], players.columns[player]
        chains = [
            [factor for factor in chain if not factor(sample).all()]
            for j in columns
            for chain in cutting.chains(data, row, j)
        ]
        if len(columns) > 1:  # a group asks for all of its columns at once, as tightly as it can
            tightest = [chain[-1] for chain in chains if chain]
            chains = [[reduce(and_, tightest)]] if tightest else []
        found += [
            Condition(name, factor, tightens=place > 0)
            for chain in chains
            for place, factor in enumerate(chain)
        ]
    return Conditions(found)


def conditions_of(rule: Factor, data: Table, players: Players) -> Conditions:
    """Any factor on columns of the data, taken apart as far as its players stay apart.

    The parts of a conjunction are conditions of their own unless they read a player in common.
    """
    groups: list[tuple[set[int], list[Factor]]] = []
    for part in rule.parts if isinstance(rule, And) else (rule,):
        read = {data.position(name, "rule") for name in part.columns()}
        mine = {int(players.of_column[j]) for j in read}
        joined = [g for g in groups if g[0] & mine]
        groups = [g for g in groups if not g[0] & mine]
        parts = [p for _, before in joined for p in before]
        groups.append((mine.union(*(g[0] for g in joined)), [*parts, part]))
    return Conditions(
        Condition(" + ".join(players.names[p] for p in sorted(owners)), reduce(and_, parts))
        for owners, parts in groups
    )


def holds(rule: Factor | None, rows: Table) -> BoolVector:
    """Which rows satisfy a user's own rule; the empty rule, None, holds everywhere."""
    if rule is None:
        return np.ones(len(rows), dtype=bool)
    allowed = "a factor that gives one truth value per row"
    truth = np.asarray(ran("rule", rule, allowed, Sample(rows)))
    if truth.shape != (len(rows),) or truth.dtype != bool:
        raise InputError("rule", f"{truth.dtype} of shape {truth.shape}", allowed)
    return truth


def _chosen(players: Players, features: object) -> tuple[int, ...]:
    if features is None:
        return tuple(range(len(players)))
    allowed = "a name or a list of names, of features or groups of them"
    asked = names("features", features, allowed)
    if not asked:
        raise InputError("features", features, allowed)
    for name in asked:
        if name not in players.names:
            hint = did_you_mean(name, players.names)
            raise InputError("features", f"unknown feature {name!r}", allowed, hint)
    return players.numbers(asked)
