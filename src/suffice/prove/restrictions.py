"""Restrictions of a domain: features that stay fixed, ranges, directions and forbidden factors.

The arguments are read as those of recourse are. A restricted domain holds the rows whose every
value is the input's own or meets the column's rules, and that satisfy no forbidden factor. The
domain depends on the input then.

Trees do not ask what a forbidden factor asks. So its atoms are added to the tests that cut a column
into cells (`domain`), and the factor becomes one more tree, whose leaves at forbidden cells lower
the sum below any bound that a search looks for (`leaf_boxes.forbid`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import numpy as np

from suffice.context.change_rules import (
    ColumnRule,
    Direction,
    MissingKept,
    Names,
    OneOf,
    Range,
    ResolvedChanges,
)
from suffice.decision import Decision
from suffice.errors import InputError
from suffice.factors import Factor
from suffice.factors.predicates import Between, Compare, Equals, IsIn
from suffice.recourse.constraints import RecourseRequest
from suffice.tables.table import Table
from suffice.typing import BoolVector, HeldSets, Scalar


@dataclass(frozen=True)
class Restrictions:
    """Which rows of a domain are left; without any, all of them."""

    row: Table | None = None
    """The input; None where nothing is restricted."""
    fixed: frozenset[int] = frozenset()
    """Columns that keep the input's value."""
    rules: tuple[ColumnRule, ...] = ()
    forbidden: tuple[Factor, ...] = ()
    texts: tuple[str, ...] = ()
    """One sentence for each restriction."""

    def __bool__(self) -> bool:
        return bool(self.fixed or self.rules or self.forbidden)

    @property
    def atoms(self) -> tuple[Factor, ...]:
        """The distinct conditions that the forbidden factors combine, one column each."""
        return tuple(dict.fromkeys(atom for factor in self.forbidden for atom in factor.atoms()))

    def allowed(self, rows: Table) -> HeldSets:
        """Return (rows, columns): whether a value is the input's own or meets its rules."""
        if self.row is None:
            return np.ones((len(rows), len(rows.names)), dtype=bool)
        below = self.row.stack(rows)
        codes = below.codes()
        unchanged = codes[1:] == codes[0]
        out = np.ones_like(unchanged)
        for rule in self.rules:
            out[:, rule.column] &= rule.meets(below)[1:]
        out[:, sorted(self.fixed)] = False
        return np.asarray(out | unchanged)

    def forbids(self, rows: Table) -> BoolVector:
        """Return the rows that satisfy a forbidden factor."""
        out = np.zeros(len(rows), dtype=bool)
        for factor in self.forbidden:
            out |= factor({name: rows.column(rows.names.index(name)) for name in factor.columns()})
        return out

    def ends(self, column: int) -> tuple[float, float]:
        """Return the least and the largest number that the column's rules allow."""
        low, high = -inf, inf
        for rule in self.rules:
            if rule.column != column:
                continue
            if isinstance(rule, Range):
                low, high = max(low, rule.low), min(high, rule.high)
            elif isinstance(rule, Direction) and self.row is not None:
                here = float(rule.order(self.row)[0])
                low, high = (max(low, here), high) if rule.up else (low, min(high, here))
        return low, high

    def listed(self, column: int) -> tuple[Scalar, ...] | None:
        """Return the values that a rule lists for the column; None without such a rule."""
        lists = [r.values for r in self.rules if isinstance(r, OneOf) and r.column == column]
        return lists[0] if lists else None

    def constants(self, name: str) -> list[float]:
        """Return the numbers that forbidden factors compare a column with."""
        found: list[Any] = []
        for atom in self.atoms:
            if name not in atom.columns():
                continue
            if isinstance(atom, Between):
                found += [atom.low, atom.high]
            elif isinstance(atom, IsIn):
                found += atom.values
            elif isinstance(atom, Equals | Compare):
                found.append(atom.value)
            else:  # a column of Booleans is true or false
                found += [0, 1]
        return [float(value) for value in found if isinstance(value, int | float)]


def read_restrictions(
    decision: Decision,
    immutable: Names,
    ranges: Mapping[str, Any] | None,
    increasing: Names,
    decreasing: Names,
    forbidden: Factor | Iterable[Factor],
) -> Restrictions:
    """Read the arguments of `Explainer.prove` that restrict its domain."""
    request = RecourseRequest(
        immutable=immutable,
        ranges=ranges,
        increasing=increasing,
        decreasing=decreasing,
        forbidden=forbidden,
    )
    # What an explainer declares is about changes that people make; sufficiency, and so proof, is
    # about all values.
    free = replace(decision, changes=ResolvedChanges())
    read = request.constraints(free)
    rules = tuple(rule for rule in read.rules if not isinstance(rule, MissingKept))
    for factor in read.forbidden:
        for atom in factor.atoms():
            if len(set(atom.columns())) != 1:
                raise InputError("forbidden", atom, "conditions on one column each")
    columns = decision.players.columns
    fixed = frozenset(j for player in read.fixed for j in columns[player])
    texts = [*read.fixed.values(), *(rule.text for rule in rules)]
    texts += [f"{factor!r} is forbidden" for factor in read.forbidden]
    if not texts:
        return Restrictions()
    return Restrictions(decision.row, fixed, rules, read.forbidden, tuple(texts))
