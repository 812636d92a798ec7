"""What a change costs: the distance from the input over the columns that are changed.

Numeric columns count |Δ| divided by the column's median absolute deviation in the data, other
columns 0 or 1 (the measure of the paper's recourse experiments). A column whose deviation is zero,
because more than half of it is one value, is scaled by its mean absolute deviation instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from suffice.context.players import Players
from suffice.errors import InputError, did_you_mean
from suffice.tables.table import Table, plain
from suffice.typing import Reals, Values

__all__ = ["CostSpec", "change_costs", "column_costs", "scale_of"]

CostSpec = Mapping[str, float] | Callable[[str, Any, Values], Any] | None
"""None: the measure above. A mapping: weights on it. A callable: (column, from, to) -> costs."""


def change_costs(pool: Table, data: Table, players: Players, cost: CostSpec = None) -> Reals:
    """(n, d): what it costs to give the input each reference's values on each player."""
    by_column = column_costs(pool, data, cost)
    return np.stack([sum(by_column[:, j] for j in columns) for columns in players.columns], axis=1)


def column_costs(pool: Table, data: Table, cost: CostSpec = None) -> Reals:
    """(n, columns): what it costs to give the input each reference's value in each column."""
    given: object = cost
    if not (given is None or callable(given) or isinstance(given, Mapping)):
        allowed = "None, a mapping of column to weight, or a callable (column, from, to) -> costs"
        raise InputError("cost", cost, allowed)
    if isinstance(cost, Mapping):
        for name, weight in cost.items():
            if name not in data.names:
                hint = did_you_mean(name, data.names)
                raise InputError("cost", f"unknown column {name!r}", "columns of data", hint)
            whatever: object = weight
            if not isinstance(whatever, int | float | np.number):
                raise InputError("cost", f"{weight!r} for column {name!r}", "a number as weight")
    return np.stack([_column_cost(pool, data, j, cost) for j in range(len(data.names))], axis=1)


def _column_cost(pool: Table, data: Table, j: int, cost: CostSpec) -> Reals:
    name = data.names[j]
    values = pool.column(j)
    origin, there = values[0], values[1:]
    if callable(cost):
        try:
            out = np.asarray(cost(name, plain(origin), there), dtype=float)
        except Exception as error:  # told in the function's own words
            got = f"a function that raised {type(error).__name__} for column {name!r}: {error}"
            raise InputError("cost", got, "(column, from, to) -> costs") from error
        if out.shape != there.shape:
            got = f"shape {out.shape} for column {name!r}"
            raise InputError("cost", got, f"one cost per reference, shape {there.shape}")
    else:
        weight = float(cost.get(name, 1.0)) if cost else 1.0
        away = _distance(origin, there, data.column(j))
        # An infinite weight forbids a change; no change costs nothing even then.
        out = np.where(away == 0, 0.0, weight * np.where(away == 0, 1.0, away))
    if not (out >= 0).all():
        bad = out[~(out >= 0)][0]
        raise InputError(
            "cost", f"{bad} for column {name!r}", "numbers >= 0 (inf: never), none missing"
        )
    return np.asarray(out, dtype=float)


def _distance(origin: Any, there: Values, column: Values) -> Reals:
    if column.dtype.kind not in "iuf":
        from pandas import isna

        gone = isna(there) if plain(origin) is None else there == origin
        return 1.0 - np.asarray(gone, dtype=float)
    out = np.abs(there.astype(float) - float(origin)) / scale_of(column)
    missing = np.isnan(there.astype(float))
    if np.isnan(float(origin)):
        return np.where(missing, 0.0, 1.0)
    return np.where(missing, 1.0, out)


def scale_of(column: Values) -> float:
    """A numeric column's median absolute deviation, or else what stands in for it."""
    column = column.astype(float)
    column = column[~np.isnan(column)]
    away = np.abs(column - np.median(column)) if len(column) else np.zeros(1)
    return float(np.median(away) or away.mean() or 1.0)
