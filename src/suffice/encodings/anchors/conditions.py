"""The conditions that rules are made of: one per player, each true of the input.

Proposition 2 sets c_A(z) = 1 iff A(x) = 1: a rule A is a conjunction of conditions, so the rules
about an input are the subsets of its conditions, ordered by inclusion like any factors.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import cast

import numpy as np

from suffice.context.players import Players
from suffice.context.sample import TableContext
from suffice.context.table import Table
from suffice.decision import Decision
from suffice.encodings.anchors.cells import (
    Cut,
    as_numbers,
    cell_around,
    quantile_cuts,
    same_value,
)
from suffice.errors import InputError, did_you_mean
from suffice.factors.kinds import And, Factor
from suffice.typing import Held

__all__ = ["Condition", "Cutting", "conditions_of", "holds", "make_conditions"]


@dataclass(frozen=True)
class Condition:
    """What a rule may ask of one player, and the positions of the columns that it reads."""

    name: str
    columns: tuple[int, ...]
    factor: Factor


@dataclass(frozen=True)
class Cutting:
    """How columns become conditions, as the user wants it."""

    bins: int = 4
    cuts: Mapping[str, Sequence[float]] | None = None
    categorical: Iterable[str] = ()

    def checked(self, data: Table) -> tuple[int, dict[int, list[Cut]], set[int]]:
        """Bins, cuts by column and the columns that must be equal; an error where one is amiss."""
        bins: object = self.bins
        if not isinstance(bins, int | np.integer) or isinstance(bins, bool) or bins < 2:
            raise InputError("bins", bins, "a whole number >= 2")
        given: object = {} if self.cuts is None else self.cuts
        if not isinstance(given, Mapping):
            raise InputError("cuts", given, "{column: [increasing numbers]} or None")
        if isinstance(self.categorical, str):
            raise InputError("categorical", repr(self.categorical), "a list of columns")
        equal = {data.position(str(name), "categorical") for name in self.categorical}
        cuts = {data.position(str(name), "cuts"): _numbers(name, c) for name, c in given.items()}
        for j in cuts:
            if j in equal:
                got = f"column {data.names[j]!r}, which is also categorical"
                raise InputError("cuts", got, "columns of numbers that are not categorical")
            if as_numbers(data, j) is None:
                got = f"column {data.names[j]!r} of dtype {data.dtype(j)}"
                raise InputError("cuts", got, "columns of numbers", "Other columns must be equal.")
        return int(bins), cuts, equal


def make_conditions(
    decision: Decision, cutting: Cutting, columns: Sequence[str] | None = None
) -> tuple[Condition, ...]:
    """The input's conditions, one per player among `columns` (None: all).

    A condition that every row of the data satisfies is none: no rule is the stronger for it.
    """
    data, row, players = decision.data, decision.row, decision.players
    bins, cuts, equal = cutting.checked(data)
    context = TableContext(data)
    found = []
    for player in _chosen(players, columns):
        parts: dict[int, Factor] = {}
        for j in players.columns[player]:
            factor = _condition(data, row, j, bins, cuts.get(j), j in equal)
            if factor is not None and not factor(context).all():
                parts[j] = factor
        if parts:
            both = reduce(and_, parts.values())
            found.append(Condition(players.names[player], tuple(parts), both))
    return tuple(found)


def conditions_of(rule: Factor, data: Table, players: Players) -> tuple[Condition, ...]:
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
    return tuple(made)


def holds(conditions: Sequence[Condition], rows: Table) -> Held:
    """(rows, conditions): which row satisfies which condition."""
    context = TableContext(rows)
    out = np.empty((len(rows), len(conditions)), dtype=bool)
    for i, condition in enumerate(conditions):
        out[:, i] = condition.factor(context)
    return out


def _condition(
    data: Table, row: Table, j: int, bins: int, cuts: list[Cut] | None, equal: bool
) -> Factor | None:
    """One column's condition: an interval, a value, or none."""
    name, value = data.names[j], row.column(j)
    numbers, mine = as_numbers(data, j), as_numbers(row, j)
    if equal or numbers is None or mine is None or np.isnan(mine[0]):
        return same_value(name, value)
    if cuts is None:
        if len(np.unique(numbers[~np.isnan(numbers)])) <= bins:
            return same_value(name, value)
        cuts = quantile_cuts(numbers, float(mine[0]), bins)
    return cell_around(name, value, cuts)


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


def _numbers(name: object, cuts: object) -> list[Cut]:
    """A column's cuts: one or more finite numbers, each larger than the one before."""
    given = np.asarray(cuts)
    fit = given.ndim == 1 and len(given) > 0 and given.dtype.kind in "iuf"
    if not fit or not np.isfinite(given).all() or (np.diff(given) <= 0).any():
        got = f"{cuts!r} for column {name!r}"
        raise InputError("cuts", got, "finite numbers, each larger than the one before")
    return [v.item() if isinstance(v, np.generic) else v for v in cast(Iterable[Cut], cuts)]
