"""Costs of changes: the distance from the input over the columns that are changed.

Numeric columns count |Δ| divided by the column's median absolute deviation in the data, other
columns 0 or 1 (the measure of the paper's recourse experiments). A column whose deviation is zero,
because more than half of it is one value, is scaled by its mean absolute deviation instead. A
change to an infinite value has infinite cost, so it is never made; an infinite value that stays
costs 0.

The cost of a set is the sum over its players, always in the same order. Costs are compared by the
functions of `factors/order.py`, which treat costs that differ only by rounding as equal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from suffice.context.change_rules import ResolvedChanges, meets_rules
from suffice.context.players import Players
from suffice.context.references import Pool, References
from suffice.errors import InputError, short_repr
from suffice.factors.lattice import masks_of_held
from suffice.factors.order import cost_ranks
from suffice.tables import Table, as_scalar, column_codes
from suffice.tables.cells import missing_mask
from suffice.typing import Counts, HeldSets, Reals, Values
from suffice.validation import call_user_function, check_number

CostSpec = Mapping[str, float] | Callable[[str, Any, Values], Any] | None
"""None: the measure above. A mapping: weights on it. A callable: (column, from, to) -> costs."""

MAX_COST = 1e300
"""No change between finite numbers costs more, so that sums of such costs stay finite."""

_OVERFLOW_FACTOR = 2.0**-4
"""Numbers near the largest that a float holds are compared after this: exact, being a power of two,
and neither differences nor means of two then overflow."""

_MOST_TABULATED_PLAYERS = 64
"""Costs of more players are added up by a product: tables would take too much memory."""
_PLAYERS_PER_TABLE = 8
"""Players whose sums are tabulated together."""


def change_costs(pool: Table, data: Table, players: Players, cost: CostSpec = None) -> Reals:
    """Return (n, d): the cost of giving the input each reference's values on each player."""
    return player_costs(column_costs(pool, data, cost), players)


def player_costs(by_column: Reals, players: Players) -> Reals:
    """Return (n, d): the sum of the costs of each player's columns."""
    if all(len(columns) == 1 for columns in players.columns):
        return by_column[:, [j for (j,) in players.columns]]
    return np.stack([sum(by_column[:, j] for j in columns) for columns in players.columns], axis=1)


def column_costs(pool: Table, data: Table, cost: CostSpec = None) -> Reals:
    """Return (n, columns): the cost of giving the input each reference's value in a column."""
    if not isinstance(pool, Pool):
        return column_costs_of_table(pool, data, cost)
    # Kept with the references, which many inputs share; a key by identity stays its own, since what
    # is kept holds on to the object.
    key = "prices", data, id(cost)
    return pool.references.cached(key, lambda: ReferenceCosts(data, pool.references, cost)).of(pool)


def column_costs_of_table(pool: Table, data: Table, cost: CostSpec = None) -> Reals:
    """Return the costs of `column_costs` for a table that caches nothing, column by column."""
    cost = _check_cost(cost)
    if callable(cost):
        columns = [_user_costs(cost, name, pool.column(j)) for j, name in enumerate(data.names)]
    else:
        weights = _weights(cost or {}, data)
        columns = [
            _weighted(_distance(pool.column(j), data.column(j)), weights.get(name, 1.0))
            for j, name in enumerate(data.names)
        ]
    return np.stack(columns, axis=1)


def declared_change_costs(
    pool: Table, data: Table, players: Players, cost: CostSpec, changes: ResolvedChanges
) -> Reals:
    """Return (references, players): the cost of each change, infinite where it is forbidden.

    Taking over the value that the input has is no change, which no rule forbids.
    """
    missing = {**dict.fromkeys(range(len(pool.names)), np.inf), **changes.missing_costs}
    out = player_costs(price_columns(pool, data, cost, missing), players)
    if changes.fixed:
        fixed = list(changes.fixed)
        codes = players.codes(pool.codes())
        out[:, fixed] = np.where(codes[1:, fixed] != codes[0, fixed], np.inf, out[:, fixed])
    if changes.directions:
        out[~meets_rules(pool, players, changes.directions)[1:]] = np.inf
    return out


def price_columns(pool: Table, data: Table, cost: CostSpec, missing: Mapping[int, float]) -> Reals:
    """Return (references, columns): the cost of giving the input each reference's value.

    `missing` has, by column, the cost of setting a missing value or of making a value missing; for
    columns without an entry it is that of `column_costs`.
    """
    costs = column_costs(pool, data, cost)
    apart = _missing_changes(pool)
    if apart is not None:
        for j, price in missing.items():
            costs[apart[:, j], j] = price
    return costs


def _missing_changes(pool: Table) -> HeldSets | None:
    """Return (references, columns): whether only one of reference and input is missing.

    None where no cell is.
    """
    if isinstance(pool, Pool):  # inputs that share references share what is known of those
        below = pool.references.cached("missing", lambda: _missing_cells(pool.references.table))
        above = pool.inputs.cached("missing", lambda: _missing_cells(pool.inputs.table))[pool.index]
    else:
        cells = _missing_cells(pool)
        above, below = cells[0], cells[1:]
    return np.asarray(below != above) if above.any() or below.any() else None


def _missing_cells(table: Table) -> HeldSets:
    columns = (missing_mask(table.column(j)) for j in range(len(table.names)))
    return np.stack([np.asarray(column, dtype=bool) for column in columns], axis=1)


class ReferenceCosts:
    """Costs of changing inputs to the same references, prepared once for many inputs.

    The columns' deviations and the references' numbers are then read once. The costs equal those of
    `column_costs`.
    """

    def __init__(self, data: Table, references: References, cost: CostSpec = None) -> None:
        self._data = data
        self._cost = _check_cost(cost)
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
        self._scales = np.array([_column_deviation(data.column(j)) for j in self._numeric])
        weights = _weights(self._cost or {}, data)
        self._weights = np.array([weights.get(name, 1.0) for name in data.names])

    def of(self, pool: Pool) -> Reals:
        """Return (n, columns): the cost of giving the input each of its references' values."""
        if callable(self._cost):
            return column_costs_of_table(pool, self._data, self._cost)
        here = pool.inputs.cached(self, lambda: self._input_numbers(pool))
        if here is None:  # of other dtypes, which decide how a column is read
            return column_costs_of_table(pool, self._data, self._cost)
        numbers = _numeric_distance(
            here[pool.index], self._there, self._scales, finite=self._all_finite
        )
        if len(self._numeric) == len(self._data.names):
            away = numbers
        else:
            codes = pool.codes()
            away = (codes[1:] != codes[0]).astype(float)
            away[:, self._numeric] = numbers
        return away if self._cost is None else _weighted(away, self._weights)

    def _input_numbers(self, pool: Pool) -> Reals | None:
        """Return (inputs, numeric columns): the inputs' values; None where a dtype differs."""
        above, below = pool.inputs.table, pool.references.table
        columns = [above.column(j) for j in self._numeric]
        pairs = zip(columns, self._numeric, strict=True)
        if any(column.dtype != below.column(j).dtype for column, j in pairs):
            return None
        numbers = [column.astype(float) for column in columns]
        return np.stack(numbers, axis=1) if numbers else np.empty((len(above), 0))


def _numeric_distance(
    here: Any, there: Reals, deviation: float | Reals, *, finite: bool = False
) -> Reals:
    """Return |there - here| in deviations; pass `finite=True` if every value of `there` is finite.

    A missing value is at distance 0 from a missing one and 1 from any number. An infinite value is
    at distance 0 from itself and infinitely far from any other.
    """
    with np.errstate(all="ignore"):  # inf - inf, replaced below
        away = np.abs(there * _OVERFLOW_FACTOR - here * _OVERFLOW_FACTOR) / deviation
    if finite and np.isfinite(here).all():
        return np.asarray(np.minimum(away, MAX_COST))
    missing = np.isnan(there)
    away = np.where(np.isfinite(there) & np.isfinite(here), np.minimum(away, MAX_COST), np.inf)
    away = np.where(missing, 1.0, np.where(there == here, 0.0, away))
    out: Reals = np.where(np.isnan(here), np.where(missing, 0.0, 1.0), away)
    return out


def _check_cost(cost: CostSpec) -> CostSpec:
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
            weights[column] = np.inf if forbidden else check_number("cost", weight, least=0)
        except InputError:
            got = f"{short_repr(weight)} for column {name!r}"
            raise InputError("cost", got, "a number >= 0 as weight (inf: never)") from None
    return weights


def _weighted(away: Reals, weight: float | Reals) -> Reals:
    # An infinite weight forbids a change; no change costs nothing even then.
    out: Reals = np.where(away == 0, 0.0, weight * np.where(away == 0, 1.0, away))
    return out


def _user_costs(cost: Callable[[str, Any, Values], Any], name: str, values: Values) -> Reals:
    """Return the costs that the user's function gives to the changes of a column."""
    allowed = "a function (column, from, to) -> costs"
    there = values[1:].copy()  # the function may write into it
    about = f"for column {name!r}"
    found = call_user_function(
        "cost", cost, allowed, name, as_scalar(values[0]), there, about=about
    )
    try:
        out = np.asarray(found, dtype=float)
    except (TypeError, ValueError) as error:
        got = f"{short_repr(found)} {about}"
        raise InputError("cost", got, f"{allowed}, which are numbers") from error
    if out.shape != there.shape:
        got = f"shape {out.shape} {about}"
        raise InputError("cost", got, f"one cost per reference, shape {there.shape}")
    if not (out >= 0).all():
        got = f"{out[~(out >= 0)][0]} {about}"
        raise InputError("cost", got, "numbers >= 0 (inf: never), none missing")
    return out


def _distance(values: Values, column: Values) -> Reals:
    """Return the distances from the first value to each of the others."""
    if values.dtype.kind not in "iuf" or column.dtype.kind not in "iuf":
        codes = column_codes(values)
        return np.asarray(codes[1:] != codes[0], dtype=float)
    numbers = values.astype(float)
    return _numeric_distance(numbers[0], numbers[1:], _column_deviation(column))


def scale_by_deviation(values: Values, column: Values) -> Reals:
    """Return numbers divided by the column's deviation, cut to what is finite."""
    with np.errstate(over="ignore"):
        out = values.astype(float) * _OVERFLOW_FACTOR / _column_deviation(column)
    return np.clip(out, -MAX_COST, MAX_COST)


def _column_deviation(column: Values) -> float:
    """Return a numeric column's median absolute deviation; the mean one where that is 0."""
    # Halves and means of numbers near the largest float overflow unless they are scaled first.
    finite = column.astype(float)
    finite = finite[np.isfinite(finite)] * _OVERFLOW_FACTOR
    if not len(finite):
        return _OVERFLOW_FACTOR
    away = np.abs(finite - np.median(finite))
    with np.errstate(over="ignore"):
        usual = float(np.median(away) or away.mean() or _OVERFLOW_FACTOR)
    return usual if np.isfinite(usual) else float((away / len(away)).sum())


_REFERENCES_PER_TABLE = 1 << 11
"""References that are tabulated together: 4 MB for a table."""

_FEW_SETS = 1 << 6
"""Sets whose costs are summed without a table, where the tables are not kept."""


class SetCosts:
    """Costs of sets of players, for many sets and references at once.

    The sums of all 256 subsets of eight players are tabulated, and a set looks up one row per
    table. Tables of many references are made a part at a time, since they would take 2 kB for each
    reference and eight players. A sum never falls as a set grows.
    """

    def __init__(self, costs: Reals) -> None:
        """Take `costs`, where costs[r, j] is the cost of player j's change to reference r."""
        self._costs = costs
        self._tabulated = 0 < costs.shape[1] <= _MOST_TABULATED_PLAYERS

    def of(self, members: HeldSets) -> Reals:
        """Return (sets, references): the costs of sets, given as rows of Booleans."""
        if not self._tabulated:
            # Infinite costs are counted apart, since 0 · inf is not a number.
            never = np.isinf(self._costs)
            moved = members.astype(float)
            out: Reals = moved @ np.where(never, 0.0, self._costs).T
            out[moved @ never.T > 0] = np.inf
            return out
        blocks = [members[:, start : start + _PLAYERS_PER_TABLE] for start in self._starts]
        return self._sums([masks_of_held(block) for block in blocks])

    def of_masks(self, masks: Counts) -> Reals:
        """Return (sets, references): the costs of sets given as bit masks of at most 62 players."""
        lowest = (1 << _PLAYERS_PER_TABLE) - 1
        return self._sums([masks >> start & lowest for start in self._starts])

    @property
    def _starts(self) -> range:
        return range(0, self._costs.shape[1], _PLAYERS_PER_TABLE)

    @cached_property
    def _kept_tables(self) -> list[Reals]:
        return _tabulate(self._costs)

    def _sums(self, codes: Sequence[Counts]) -> Reals:
        sets, n = len(codes[0]), len(self._costs)
        if n <= _REFERENCES_PER_TABLE:
            return _look_up(self._kept_tables, codes)
        if sets < _FEW_SETS:
            return self._add_up(codes)
        out = np.empty((sets, n))
        for start in range(0, n, _REFERENCES_PER_TABLE):
            part = slice(start, start + _REFERENCES_PER_TABLE)
            out[:, part] = _look_up(_tabulate(self._costs[part]), codes)
        return out

    def _add_up(self, codes: Sequence[Counts]) -> Reals:
        """Return the same sums, added in the same order, without tables."""
        out = np.zeros((len(codes[0]), len(self._costs)))
        for start, code in zip(self._starts, codes, strict=True):
            block = np.zeros_like(out)
            for j, part in enumerate(self._costs[:, start : start + _PLAYERS_PER_TABLE].T):
                holds = (code >> j & 1).astype(bool)[:, None]
                np.add(block, part, out=block, where=holds)
            out += block
        return out


def _tabulate(costs: Reals) -> list[Reals]:
    """Return a table (subsets, references) for each eight players."""
    tables = []
    for start in range(0, costs.shape[1], _PLAYERS_PER_TABLE):
        block = costs[:, start : start + _PLAYERS_PER_TABLE].T
        table = np.zeros((1 << len(block), len(costs)))
        for j, part in enumerate(block):
            np.add(table[: 1 << j], part, out=table[1 << j : 2 << j])
        tables.append(table)
    return tables


def _look_up(tables: Sequence[Reals], codes: Sequence[Counts]) -> Reals:
    out: Reals = tables[0][codes[0]]
    for table, rows in zip(tables[1:], codes[1:], strict=True):
        np.add(out, table[rows], out=out)
    return out


def total_costs(parts: Reals) -> Reals:
    """Return the sum of each row's costs, added in the order in which `SetCosts` adds them."""
    out = np.zeros(len(parts))
    for start in range(0, parts.shape[1], _PLAYERS_PER_TABLE):
        block = np.zeros(len(parts))
        for part in parts[:, start : start + _PLAYERS_PER_TABLE].T:
            block = block + part
        out = out + block
    return out


def cheapest_first(costs: Reals) -> Counts:
    """Return positions that sort costs; costs that are equal, rounding aside, stay in order.

    >>> cheapest_first(np.array([3.0, 14 / 3, 8 / 3 + 1 + 1, 1.0])).tolist()
    [3, 0, 1, 2]
    """
    return np.argsort(cost_ranks(costs), kind="stable")
