"""Rows within a rounding of where a model decides otherwise, found by asking it alone.

From a row with an outcome to one without, columns are swapped one after another until the outcome
turns; if that column holds numbers that are no whole ones, the interval between its two values is
halved until no number lies between. There a reader that adds up in another order is found out.
"""

from __future__ import annotations

import numpy as np

from suffice.tables.table import Table
from suffice.target import Target
from suffice.typing import Counts, Reals

__all__ = ["at_the_boundary"]

_PAIRS = 12
_HALVINGS = 80
"""From numbers a few thousand apart to neighbours in float64."""


def at_the_boundary(target: Target, rows: Table, rng: np.random.Generator) -> Table | None:
    """An input at the boundary, others on both sides of it, then the rows; None: there is none."""
    floats = [j for j in range(len(rows.names)) if rows.column(j).dtype.kind == "f"]
    if not floats:
        return None
    whole = np.isfinite(np.stack([rows.column(j) for j in floats], axis=1)).all(axis=1)
    outcome = target(rows)
    having, lacking = np.flatnonzero(outcome & whole), np.flatnonzero(~outcome & whole)
    if not (len(having) and len(lacking)):
        return None
    starts, ends = (rng.choice(side, size=_PAIRS) for side in (having, lacking))
    ways = (_turn(target, rows, *pair, rng) for pair in zip(starts, ends, strict=True))
    turns = [(sides, column) for sides, column in ways if column in floats]
    if not turns:
        return None
    columns = np.array([column for _, column in turns])
    with_it, without = (rows.gather(np.stack([s[i] for s, _ in turns])) for i in (0, 1))
    has, lacks = _cells(with_it, columns), _cells(without, columns)
    for _ in range(_HALVINGS):
        tried = _with(with_it, columns, has / 2 + lacks / 2)
        middle = _cells(tried, columns)  # as the column rounds it
        open_ = (middle != has) & (middle != lacks)
        if not open_.any():
            break
        there = target(tried)
        has = np.where(there & open_, middle, has)
        lacks = np.where(~there & open_, middle, lacks)
    return _with(with_it, columns, has).stack_all([_with(with_it, columns, lacks), rows])


def _turn(
    target: Target, rows: Table, start: int, end: int, rng: np.random.Generator
) -> tuple[Counts, int]:
    """Where the outcome turns on the way between two rows: both sides, and the column swapped."""
    d = len(rows.names)
    order = rng.permutation(d)
    steps = np.full((d + 1, d), start)
    for step, column in enumerate(order.tolist()):
        steps[step + 1 :, column] = end
    turn = int(np.argmin(target(rows.gather(steps))))  # the first without; the last one lacks it
    return steps[turn - 1 : turn + 1], int(order[turn - 1])


def _with(rows: Table, columns: Counts, values: Reals) -> Table:
    """The rows, each with a value of its own in a column of its own."""
    made = {}
    for column in np.unique(columns).tolist():
        cells = rows.column(column).copy()
        here = columns == column
        cells[here] = values[here]
        made[column] = cells
    return rows.with_columns(made, "rows")


def _cells(rows: Table, columns: Counts) -> Reals:
    cells = (rows.column(int(column))[i] for i, column in enumerate(columns))
    return np.array([float(cell) for cell in cells])
