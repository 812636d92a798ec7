"""What a change costs: the distance from the input over the columns that are changed.

Numeric columns count |Δ| divided by the column's median absolute deviation in the data, other
columns 0 or 1 (the measure of the paper's recourse experiments). A column whose deviation is zero,
because more than half of it is one value, is scaled by its mean absolute deviation instead. To
become infinite costs infinitely much, that is, never happens; to stay so costs nothing.

The cost of a set is the sum over its players, always in the same order. Whoever compares costs asks
the cost order (`factors/order.py`), which takes those that differ only by rounding as equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from suffice.checks import number, ran
from suffice.context.players import Players
from suffice.context.pool import Pool, References
from suffice.errors import InputError, shorten
from suffice.factors.lattice import masks_of_held
from suffice.factors.order import cost_ranks
from suffice.tables import Table, column_codes, plain
from suffice.typing import Counts, Held, Reals, Values

__all__ = [
    "LARGEST",
    "CostSpec",
    "Prices",
    "SetCosts",
    "change_costs",
    "cheapest_first",
    "column_costs",
    "player_costs",
    "scaled",
    "total_costs",
]

CostSpec = Mapping[str, float] | Callable[[str, Any, Values], Any] | None
"""None: the measure above. A mapping: weights on it. A callable: (column, from, to) -> costs."""

LARGEST = 1e300
"""No change between finite numbers costs more, so that sums of such costs stay finite."""

_SHRUNK = 2.0**-4
"""Numbers near the largest that a float holds are compared after this: exact, being a power of two,
and neither differences nor means of two then overflow."""

_TOGETHER = 8
"""Players whose sums are tabulated together."""


def change_costs(pool: Table, data: Table, players: Players, cost: CostSpec = None) -> Reals:
    """(n, d): what it costs to give the input each reference's values on each player."""
    return player_costs(column_costs(pool, data, cost), players)


def player_costs(by_column: Reals, players: Players) -> Reals:
    """(n, d): the costs of each player's columns together."""
    if all(len(columns) == 1 for columns in players.columns):
        return by_column[:, [j for (j,) in players.columns]]
    return np.stack([sum(by_column[:, j] for j in columns) for columns in players.columns], axis=1)


def column_costs(pool: Table, data: Table, cost: CostSpec = None) -> Reals:
    """(n, columns): what it costs to give the input each reference's value in each column."""
    if not isinstance(pool, Pool):
        return column_costs_of_table(pool, data, cost)
    # Kept with the references, which many inputs share; a key by identity stays its own, since what
    # is kept holds on to the object.
    key = "prices", data, id(cost)
    return pool.references.once(key, lambda: Prices(data, pool.references, cost)).of(pool)


def column_costs_of_table(pool: Table, data: Table, cost: CostSpec = None) -> Reals:
    """The general path: column by column, whatever they hold."""
    cost = _checked_cost(cost)
    if callable(cost):
        columns = [_own_cost(cost, name, pool.column(j)) for j, name in enumerate(data.names)]
    else:
        weights = _weights(cost or {}, data)
        columns = [
            _weighted(_distance(pool.column(j), data.column(j)), weights.get(name, 1.0))
            for j, name in enumerate(data.names)
        ]
    return np.stack(columns, axis=1)


class Prices:
    """What it costs to give inputs the values of the same references, made ready once.

    The columns' deviations and the references' numbers are then read once. The costs are just those
    that `column_costs` tells.
    """

    def __init__(self, data: Table, references: References, cost: CostSpec = None) -> None:
        self._data = data
        self._cost = _checked_cost(cost)
        table, columns = references.table, range(len(data.names))
        if callable(self._cost):
            return
        self._numeric = [
            j
            for j in columns
            if data.column(j).dtype.kind in "iuf" and table.column(j).dtype.kind in "iuf"
        ]
        there = [table.column(j).astype(float) for j in self._numeric]
        self._there = np.stack(there, axis=1) if there else np.empty((len(table), 0))
        self._all_finite = bool(np.isfinite(self._there).all())
        self._scales = np.array([_shrunk_scale(data.column(j)) for j in self._numeric])
        weights = _weights(self._cost or {}, data)
        self._weights = np.array([weights.get(name, 1.0) for name in data.names])

    def of(self, pool: Pool) -> Reals:
        """(n, columns): what it costs to give the pool's input each of its references' values."""
        if callable(self._cost):
            return column_costs_of_table(pool, self._data, self._cost)
        here = pool.inputs.once(self, lambda: self._input_numbers(pool))
        if here is None:  # of other dtypes, which decide how a column is read
            return column_costs_of_table(pool, self._data, self._cost)
        numbers = self._away_from(here[pool.place])
        if len(self._numeric) == len(self._data.names):
            away = numbers
        else:
            codes = pool.codes()
            away = (codes[1:] != codes[0]).astype(float)
            away[:, self._numeric] = numbers
        return away if self._cost is None else _weighted(away, self._weights)

    def _input_numbers(self, pool: Pool) -> Reals | None:
        """(inputs, numeric columns): their values; None where a column has another dtype."""
        above, below = pool.inputs.table, pool.references.table
        columns = [above.column(j) for j in self._numeric]
        pairs = zip(columns, self._numeric, strict=True)
        if any(column.dtype != below.column(j).dtype for column, j in pairs):
            return None
        numbers = [column.astype(float) for column in columns]
        return np.stack(numbers, axis=1) if numbers else np.empty((len(above), 0))

    def _away_from(self, here: Reals) -> Reals:
        """(n, numeric columns): how far an input's values are from those of the references."""
        there = self._there
        with np.errstate(all="ignore"):  # infinities that are equal are no change
            away = np.abs(there * _SHRUNK - here * _SHRUNK) / self._scales
        if self._all_finite and np.isfinite(here).all():
            return np.asarray(np.minimum(away, LARGEST))
        return _with_odd_ones(away, here, there)


def _with_odd_ones(away: Reals, here: Any, there: Reals) -> Reals:
    """Distances, where some values are missing or infinite."""
    missing = np.isnan(there)
    away = np.where(np.isfinite(there) & np.isfinite(here), np.minimum(away, LARGEST), np.inf)
    told = np.where(missing, 1.0, np.where(there == here, 0.0, away))
    out: Reals = np.where(np.isnan(here), np.where(missing, 0.0, 1.0), told)
    return out


def _checked_cost(cost: CostSpec) -> CostSpec:
    given: object = cost
    if not (given is None or callable(given) or isinstance(given, Mapping)):
        allowed = "None, a mapping of column to weight, or a callable (column, from, to) -> costs"
        raise InputError("cost", cost, allowed)
    return cost


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


def _weighted(away: Reals, weight: float | Reals) -> Reals:
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
    with np.errstate(all="ignore"):  # infinities that are equal are no change, as below
        away = np.abs(there * _SHRUNK - here * _SHRUNK) / _shrunk_scale(column)
    return _with_odd_ones(away, here, there)


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


class SetCosts:
    """What sets of players cost together, for many sets and references at once.

    The sums of all 256 subsets of eight players are tabulated, and a set looks up one row per
    table. A sum never falls as a set grows.
    """

    def __init__(self, costs: Reals) -> None:
        """`costs[r, j]` is what player j's change to reference r's values costs."""
        self._tables = []
        for start in range(0, costs.shape[1], _TOGETHER):
            block = costs[:, start : start + _TOGETHER].T
            table = np.zeros((1 << len(block), len(costs)))
            for j, part in enumerate(block):
                np.add(table[: 1 << j], part, out=table[1 << j : 2 << j])
            self._tables.append(table)

    def of(self, members: Held) -> Reals:
        """(sets, references): the costs of sets, each a row of truth values over the players."""
        starts = range(0, members.shape[1], _TOGETHER)
        blocks = [members[:, start : start + _TOGETHER] for start in starts]
        return self._sums(map(masks_of_held, blocks))

    def of_masks(self, masks: Counts) -> Reals:
        """The same for sets given by bit mask; for at most 62 players."""
        places = range(len(self._tables))
        return self._sums(masks >> _TOGETHER * i & (1 << _TOGETHER) - 1 for i in places)

    def _sums(self, codes: Iterable[Counts]) -> Reals:
        out: Reals | None = None
        for table, rows in zip(self._tables, codes, strict=True):
            out = table[rows] if out is None else np.add(out, table[rows], out=out)
        assert out is not None
        return out


def total_costs(parts: Reals) -> Reals:
    """(changes, players) -> (changes,): the same sums in the same order as those of `SetCosts`."""
    out = np.zeros(len(parts))
    for start in range(0, parts.shape[1], _TOGETHER):
        block = np.zeros(len(parts))
        for part in parts[:, start : start + _TOGETHER].T:
            block = block + part
        out = out + block
    return out


def cheapest_first(costs: Reals) -> Counts:
    """The order of costs; those that are equal, rounding aside, stay as they came.

    >>> cheapest_first(np.array([3.0, 14 / 3, 8 / 3 + 1 + 1, 1.0])).tolist()
    [3, 0, 1, 2]
    """
    return np.argsort(cost_ranks(costs), kind="stable")
