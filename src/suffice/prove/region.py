"""Region of a proved set: a box of values around the input's for which the set stays proved.

A proved set holds its features at the input's values. Often other values of theirs would do: the
region is a product of runs of numbers and sets of categories, one for each column held, such that
every row of the domain inside has the outcome, whatever its other features are. It is grown from
the input's cells in steps that double, in all directions in turn, until no direction allows one
more cell (cf. interval rules: arXiv 2505.10991). Only the slab that a step adds is searched.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from itertools import product
from operator import and_
from typing import Any

import numpy as np

from suffice.factors import Factor, between, compare, equals, isin
from suffice.prove.domain import column_places, next_number
from suffice.prove.leaf_boxes import runs_of
from suffice.prove.prover import OutOfTimeError, Prover
from suffice.tables.cells import as_scalar, missing_mask
from suffice.typing import Counts, Reals


@dataclass(eq=False)
class _Direction:
    """A direction in which cells of a column are added, the nearest first."""

    column: int
    waiting: list[int]
    step: int = 1
    halve: bool = False
    """Whether a step failed, so that steps get shorter."""


@dataclass(eq=False)
class _Column:
    """A column that the set holds: its cells, in the order of their values where it has one."""

    number: int
    start: int
    values: list[list[Any]]
    """By cell: its values among the candidates, missing ones left out."""
    missing: bool
    """Whether the input's value is missing."""
    numeric: bool
    allowed: set[int] = field(default_factory=set)

    @property
    def in_order(self) -> list[int]:
        """The cells that hold numbers, in their order."""
        cells = [c for c, values in enumerate(self.values) if values]
        return sorted(cells, key=lambda c: min(self.values[c]))

    def directions(self) -> list[_Direction]:
        """Return the directions from the input's cell: up and down, or each category."""
        if self.missing:
            return []
        if not self.numeric:
            others = [c for c, v in enumerate(self.values) if v and c != self.start]
            return [_Direction(self.number, [c]) for c in others]
        cells = self.in_order
        place = cells.index(self.start)
        up, down = cells[place + 1 :], cells[:place][::-1]
        return [_Direction(self.number, cells) for cells in (up, down) if cells]


def proved_region(prover: Prover, mask: int) -> tuple[Factor | None, bool]:
    """Return the conditions of the region of a proved set, and whether it was grown to its end.

    None: all rows of the domain have the outcome.
    """
    columns = {
        j: _read_column(prover, j)
        for player, owned in enumerate(prover.decision.players.columns)
        if mask >> player & 1
        for j in owned
        if prover.domain.sizes[j] > 1
    }
    directions = [direction for column in columns.values() for direction in column.directions()]
    finished = True
    try:
        while directions:
            directions = [d for d in directions if _grow(prover, columns, d)]
    except OutOfTimeError:
        finished = False
    conditions = [c for column in columns.values() if (c := _condition(prover, column)) is not None]
    return (reduce(and_, conditions) if conditions else None), finished


def _grow(prover: Prover, columns: dict[int, _Column], direction: _Direction) -> bool:
    """Add a step of cells if that keeps the proof; return whether the direction has more to try."""
    column = columns[direction.column]
    cells = direction.waiting[: direction.step]
    if _keeps(prover, columns, column, set(cells)):
        column.allowed |= set(cells)
        del direction.waiting[: len(cells)]
        direction.step = max(1, direction.step // 2) if direction.halve else 2 * direction.step
        return bool(direction.waiting)
    if len(cells) == 1:
        return False
    direction.step, direction.halve = len(cells) // 2, True
    return True


def _keeps(prover: Prover, columns: dict[int, _Column], grown: _Column, cells: set[int]) -> bool:
    """Return whether every row of a slab of new cells has the outcome."""
    high = prover.domain.sizes - 1
    runs = [
        runs_of(sum(1 << c for c in (cells if column is grown else column.allowed)))
        for column in columns.values()
    ]
    for combination in product(*runs):
        first, last = np.zeros_like(high), high.copy()
        for j, (begin, end) in zip(columns, combination, strict=True):
            first[j], last[j] = begin, end
        if not prover.search_box(first, last).proved:
            return False
    return True


def _read_column(prover: Prover, j: int) -> _Column:
    domain = prover.domain
    values = domain.candidates.column(j)[: domain.counts[j]]
    missing = missing_mask(values)
    places = column_places(domain, j)
    by_cell: list[list[Any]] = [[] for _ in range(int(domain.sizes[j]))]
    for value, place, lost in zip(values, places.tolist(), missing.tolist(), strict=True):
        if not lost:
            by_cell[place].append(as_scalar(value))
    own = prover.decision.row.column(j)
    start = int(prover.start[j])
    is_missing = bool(missing_mask(own)[0])
    if not is_missing and as_scalar(own[0]) not in by_cell[start]:
        by_cell[start].append(as_scalar(own[0]))
    numeric = values.dtype.kind in "fiu" and not prover.is_category(j)
    return _Column(j, start, by_cell, is_missing, numeric, {start})


def _condition(prover: Prover, column: _Column) -> Factor | None:
    """Return the condition on a column; None where all its values are allowed."""
    name = prover.decision.data.names[column.number]
    if column.missing:
        return equals(name, None)
    if len(column.allowed) == len(column.values):
        return None
    if not column.numeric:
        values = [v for c in sorted(column.allowed) for v in column.values[c]]
        return equals(name, values[0]) if len(values) == 1 else isin(name, values)
    cells = column.in_order
    inside = [c for c in cells if c in column.allowed]
    numbers: Reals = np.array([v for c in inside for v in column.values[c]], dtype=np.float64)
    low, high = float(numbers.min()), float(numbers.max())
    outside = [v for c in cells if c not in column.allowed for v in column.values[c]]
    if any(low < float(v) < high for v in outside):
        # Where a forbidden factor takes a number out of a run, its cell is not a run of numbers.
        return equals(name, as_scalar(prover.decision.row.column(column.number)[0]))
    if inside[0] == cells[0] and inside[-1] == cells[-1]:
        return between(name, low, high)  # a missing value is the only one left out
    if inside[0] == cells[0]:
        return compare(name, "<=", high)
    below = column.values[cells[cells.index(inside[0]) - 1]]
    before = float(np.array(below, dtype=np.float64).max())
    low = min(low, _first_number(prover, column.number, before, inside[0], low))
    if inside[-1] == cells[-1]:
        return compare(name, ">=", low)
    return between(name, low, high)


def _first_number(prover: Prover, j: int, before: float, cell: int, low: float) -> float:
    """Return a small number of a cell of a run of numbers, or `low`.

    `before` is a number of the cell below. The next one above it may still lie in that cell, where
    a library rounds.
    """
    if prover.domain.kind == "values" or prover.cell_of is None:
        return low
    for number in next_number(prover.decision.data, j, before):
        if number < low:
            row = prover.decision.row.with_columns(
                {j: np.array([number]).astype(prover.decision.data.column(j).dtype)}
            )
            found: Counts = prover.cell_of(row)
            if found[j] == cell:
                return float(number)
    return low
