"""Every candidate tried on every row: what it costs there, if it is allowed and truly works."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from suffice.audit.recourse.candidates import AT_LEAST, AT_MOST, TO, Candidates, ordered
from suffice.context.cost import CostSpec, column_costs, player_costs, total_costs
from suffice.context.players import Players
from suffice.context.pool import Pool, Rows
from suffice.encodings.recourse.column_rules import Direction
from suffice.encodings.recourse.constraints import Constraints, satisfied
from suffice.factors.order import no_dearer
from suffice.progress import Progress
from suffice.tables.table import Table
from suffice.target import Target
from suffice.typing import BoolVector, Counts, Outcomes, Reals

__all__ = ["Trial", "in_parts"]

_AT_ONCE = 1 << 16
"""Rows put to the model together."""


@dataclass(eq=False)
class Trial:
    """Rows that lack an outcome, changes that might give it, and what a change must respect."""

    target: Target
    wanted: bool
    """What the target must say of a row for it to have the outcome."""
    rows: Rows
    candidates: Candidates
    constraints: Constraints
    players: Players
    data: Table
    cost: CostSpec
    asked: int = 0
    """Rows that the model was asked about."""

    def __post_init__(self) -> None:
        both = self.rows.table.stack(self.candidates.values.table)
        self._both, self._codes, self._order = both, both.codes(), ordered(both)

    def costs(self, bar: Progress) -> Reals:
        """(rows, changes): what a change costs a row; infinite where it does not work for it."""
        n, m = len(self.rows), len(self.candidates)
        out = np.full((n, m), np.inf)
        at_once = max(1, _AT_ONCE // max(1, m))
        for start in range(0, n, at_once):
            some = np.arange(start, min(start + at_once, n))
            out[some] = self._some(some)
            bar.update(len(some) * m)
        return out

    def _some(self, rows: Counts) -> Reals:
        moved = self._moved(rows)
        prices = np.stack([self._prices(int(i), part) for i, part in zip(rows, moved, strict=True)])
        possible = moved.any(axis=2) & np.isfinite(prices)
        possible &= no_dearer(prices, self.constraints.max_cost) & self._right_way(rows, moved)
        place, change = np.nonzero(possible)
        source = len(self.rows) + self.candidates.source[change]
        picks = np.where(moved[place, change], source[:, None], rows[place][:, None])
        works = np.ones(len(picks), dtype=bool)
        for factor in self.constraints.forbidden:
            works &= ~satisfied(factor, self._both, picks)
        works[works] = self._asked(picks[works])
        return np.where(_scattered(possible, works), prices, np.inf)

    def _moved(self, rows: Counts) -> Outcomes:
        """(rows, changes, columns): is the row's value not yet what the change asks for?"""
        ways, source = self.candidates.ways, len(self.rows) + self.candidates.source
        out = np.zeros((len(rows), *ways.shape), dtype=bool)
        for j in np.flatnonzero(ways.any(axis=0)).tolist():
            out[:, :, j] = (ways[:, j] == TO) & (
                self._codes[rows, j][:, None] != self._codes[source, j]
            )
            if j in self._order:  # what is missing is neither enough nor little enough
                old, new = self._order[j][rows][:, None], self._order[j][source]
                out[:, :, j] |= (ways[:, j] == AT_LEAST) & ~(old >= new)
                out[:, :, j] |= (ways[:, j] == AT_MOST) & ~(old <= new)
        return out

    def _prices(self, row: int, moved: Outcomes) -> Reals:
        """(changes,): the cost of what really moves."""
        candidates = self.candidates
        pool = Pool(self.rows, row, candidates.values)
        each = column_costs(pool, self.data, self.cost)[candidates.source]
        return total_costs(player_costs(np.where(moved, each, 0.0), self.players))

    def _right_way(self, rows: Counts, moved: Outcomes) -> Outcomes:
        """(rows, changes): does every column that may go one way only go that way, or stay?"""
        out: Outcomes = np.ones(moved.shape[:2], dtype=bool)
        source = len(self.rows) + self.candidates.source
        for rule in self.constraints.rules:
            if isinstance(rule, Direction):
                order = rule.order(self._both)
                old, new = order[rows][:, None], order[source]
                out &= ~moved[:, :, rule.column] | (new >= old if rule.up else new <= old)
        return out

    def _asked(self, picks: Counts) -> BoolVector:
        """Does the model give each of these rows the outcome?"""
        self.asked += len(picks)
        found = in_parts(self.target, len(picks), lambda part: self._both.gather(picks[part]))
        return np.asarray(found == self.wanted)


def in_parts(target: Target, n: int, rows: Callable[[slice], Table]) -> BoolVector:
    """What the target says of n rows, put to the model a part at a time."""
    found = [np.empty(0, dtype=bool)]
    found += [target(rows(slice(i, i + _AT_ONCE))) for i in range(0, n, _AT_ONCE)]
    return np.concatenate(found)


def _scattered(possible: Outcomes, works: BoolVector) -> Outcomes:
    out = np.zeros_like(possible)
    out[possible] = works
    return out
