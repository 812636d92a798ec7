"""What a change costs: the distance from the input over the columns that are changed.

Numeric columns count |Δ| divided by the column's median absolute deviation in the data, other
columns 0 or 1 (the measure of the paper's recourse experiments). A column whose deviation is zero,
because more than half of it is one value, is scaled by its mean absolute deviation instead. To
become infinite costs infinitely much, that is, never happens; to stay so costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from suffice.checks import number, ran
from suffice.context.players import Players
from suffice.errors import InputError, shorten
from suffice.tables.table import Table, column_codes, plain
from suffice.typing import Reals, Values

__all__ = ["LARGEST", "CostSpec", "change_costs", "column_costs", "scaled"]

CostSpec = Mapping[str, float] | Callable[[str, Any, Values], Any] | None
"""None: the measure above. A mapping: weights on it. A callable: (column, from, to) -> costs."""

LARGEST = 1e300
"""No change between finite numbers costs more, so that sums of such costs stay finite."""

_SHRUNK = 2.0**-4
"""Numbers near the largest that a float holds are compared after this: exact, being a power of two,
and neither differences nor means of two then overflow."""


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
    if callable(cost):
        columns = [_own_cost(cost, name, pool.column(j)) for j, name in enumerate(data.names)]
    else:
        weights = _weights(cost or {}, data)
        columns = [
            _weighted(_distance(pool.column(j), data.column(j)), weights.get(name, 1.0))
            for j, name in enumerate(data.names)
        ]
    return np.stack(columns, axis=1)


def _weights(given: Mapping[str, float], data: Table) -> dict[str, float]:
    weights = {}
    for name, weight in given.items():
        column = data.names[data.position(name, "cost")]
        try:
            forbidden = isinstance(weight, float | np.floating) and weight == np.inf
            weights[column] = np.inf if forbidden else number("cost", weight, least=0)
        except InputError:
            got = f"{shorten(weight)} for column {name!r}"
            raise InputError("cost", got, "a number >= 0 as weight (inf: never)") from None
    return weights


def _weighted(away: Reals, weight: float) -> Reals:
    # An infinite weight forbids a change; no change costs nothing even then.
    out: Reals = np.where(away == 0, 0.0, weight * np.where(away == 0, 1.0, away))
    return out


def _own_cost(cost: Callable[[str, Any, Values], Any], name: str, values: Values) -> Reals:
    """The costs that the user's function gives to a column's changes."""
    allowed = "a function (column, from, to) -> costs"
    there = values[1:].copy()  # the function may write into it
    about = f"for column {name!r}"
    found = ran("cost", cost, allowed, name, plain(values[0]), there, about=about)
    try:
        out = np.asarray(found, dtype=float)
    except (TypeError, ValueError) as error:
        got = f"{shorten(found)} {about}"
        raise InputError("cost", got, f"{allowed}, which are numbers") from error
    if out.shape != there.shape:
        got = f"shape {out.shape} {about}"
        raise InputError("cost", got, f"one cost per reference, shape {there.shape}")
    if not (out >= 0).all():
        got = f"{out[~(out >= 0)][0]} {about}"
        raise InputError("cost", got, "numbers >= 0 (inf: never), none missing")
    return out


def _distance(values: Values, column: Values) -> Reals:
    """How far the first value is from each of the others."""
    if values.dtype.kind not in "iuf" or column.dtype.kind not in "iuf":
        codes = column_codes(values)
        return np.asarray(codes[1:] != codes[0], dtype=float)
    numbers = values.astype(float)
    here, there = numbers[0], numbers[1:]
    missing = np.isnan(there)
    if np.isnan(here):
        return np.where(missing, 0.0, 1.0)
    with np.errstate(all="ignore"):  # infinities that are equal are no change, as below
        away = np.abs(there * _SHRUNK - here * _SHRUNK) / _shrunk_scale(column)
    away = np.where(np.isfinite(there) & np.isfinite(here), np.minimum(away, LARGEST), np.inf)
    out: Reals = np.where(missing, 1.0, np.where(there == here, 0.0, away))
    return out


def scaled(values: Values, column: Values) -> Reals:
    """Finite numbers, counted in the column's deviations."""
    with np.errstate(over="ignore"):
        out = values.astype(float) * _SHRUNK / _shrunk_scale(column)
    return np.clip(out, -LARGEST, LARGEST)


def _shrunk_scale(column: Values) -> float:
    """A numeric column's median absolute deviation, or else what stands in for it."""
    finite = column.astype(float)
    finite = finite[np.isfinite(finite)] * _SHRUNK
    if not len(finite):
        return _SHRUNK
    away = np.abs(finite - np.median(finite))
    with np.errstate(over="ignore"):
        usual = float(np.median(away) or away.mean() or _SHRUNK)
    return usual if np.isfinite(usual) else float((away / len(away)).sum())
