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
from functools import cached_property
from typing import Any

import numpy as np

from suffice.checks import number, ran
from suffice.context.players import Players
from suffice.errors import InputError, shorten
from suffice.factors.lattice import masks_of_held
from suffice.factors.order import cost_ranks
from suffice.tables import Table, column_codes, plain
from suffice.typing import BoolVector, Counts, Held, Reals, Values

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
    """What it costs to give an input the values of the references, ready for many inputs.

    The columns' deviations, and the references' numbers, are the same for every input that is held
    against the same references: they are read once. `of` gives just what `change_costs` does.
    """

    def __init__(
        self, data: Table, references: Table, players: Players, cost: CostSpec = None
    ) -> None:
        self._data = data
        self._references = references
        self._players = players
        self._cost = _checked_cost(cost)

    def of(self, row: Table) -> Reals:
        """(n, d): what it costs to give this input each reference's values on each player."""
        cost, columns = self._cost, range(len(self._data.names))
        if callable(cost):
            own = [_own_cost(cost, self._data.names[j], self._pooled(row, j)) for j in columns]
            return player_costs(np.stack(own, axis=1), self._players)
        away = np.empty((len(self._references), len(columns)))
        there = self._numbers
        # Of one dtype they stand in one column as they are, with the input or without.
        same = [row.column(j).dtype == self._references.column(j).dtype for j in columns]
        fast = [i for i, j in enumerate(there.columns) if same[j]]
        if fast:
            here = np.array([float(row.column(there.columns[i])[0]) for i in fast])
            away[:, [there.columns[i] for i in fast]] = there.away_from(here, fast)
        taken = {there.columns[i] for i in fast}
        for j in columns:
            if j in taken:
                continue
            known = self._words.get(j)
            value = row.column(j)[0]
            if known is not None and same[j] and type(value) is str:
                away[:, j] = known.differ_from(value)
            else:
                away[:, j] = _distance(self._pooled(row, j), self._data.column(j))
        return player_costs(_weighted(away, self._weights), self._players)

    def to_what_is_told(self, row: Table) -> Reals:
        """The same, but infinite where a value would become missing that the input has.

        No one can act on a value that is not told.
        """
        from pandas import isna

        costs = self.of(row)
        for j, missing in self._missing.items():
            if not isna(row.column(j))[0]:
                costs[missing, self._players.of_column[j]] = np.inf
        return costs

    def _pooled(self, row: Table, j: int) -> Values:
        """A column of the input and the references below it."""
        here, there = row.column(j), self._references.column(j)
        if here.dtype == there.dtype:
            return np.concatenate([here, there])
        return row.stack(self._references).column(j)

    @cached_property
    def _weights(self) -> Reals:
        assert not callable(self._cost)
        given = _weights(self._cost or {}, self._data)
        return np.array([given.get(name, 1.0) for name in self._data.names])

    @cached_property
    def _numbers(self) -> _Numbers:
        data, references = self._data, self._references
        columns = [
            j
            for j in range(len(data.names))
            if data.column(j).dtype.kind in "iuf" and references.column(j).dtype.kind in "iuf"
        ]
        there = [references.column(j).astype(float) for j in columns]
        scales = [_shrunk_scale(data.column(j)) for j in columns]
        return _Numbers(columns, there, scales)

    @cached_property
    def _words(self) -> dict[int, _Words]:
        """By column: references that are all text, so that equal cells are the same cell."""
        out = {}
        for j in range(len(self._data.names)):
            values = self._references.column(j)
            if values.dtype == object and set(map(type, values)) == {str}:
                out[j] = _Words(values)
        return out

    @cached_property
    def _missing(self) -> dict[int, BoolVector]:
        """By column where some are: the references whose value is missing."""
        from pandas import isna

        columns = range(len(self._data.names))
        found = {j: np.asarray(isna(self._references.column(j)), dtype=bool) for j in columns}
        return {j: missing for j, missing in found.items() if missing.any()}


class _Numbers:
    """The references' columns of numbers, made ready."""

    def __init__(self, columns: list[int], there: list[Reals], scales: list[float]) -> None:
        self.columns = columns
        self._there = np.stack(there, axis=1) if there else np.empty((0, 0))
        self._scales = np.array(scales)
        self._plain = bool(np.isfinite(self._there).all())
        """Is none missing or infinite?"""

    def away_from(self, here: Reals, which: list[int]) -> Reals:
        """(n, columns): how far these values of the input are from those of the references."""
        all_of_them = len(which) == len(self.columns)
        there = self._there if all_of_them else self._there[:, which]
        scales = self._scales if all_of_them else self._scales[which]
        with np.errstate(all="ignore"):  # infinities that are equal are no change, as below
            away = np.abs(there * _SHRUNK - here * _SHRUNK) / scales
        if self._plain and np.isfinite(here).all():
            return np.asarray(np.minimum(away, LARGEST))
        return _with_odd_ones(away, here, there)


def _with_odd_ones(away: Reals, here: Any, there: Reals) -> Reals:
    """Distances, where some values are missing or infinite."""
    missing = np.isnan(there)
    away = np.where(np.isfinite(there) & np.isfinite(here), np.minimum(away, LARGEST), np.inf)
    told = np.where(missing, 1.0, np.where(there == here, 0.0, away))
    out: Reals = np.where(np.isnan(here), np.where(missing, 0.0, 1.0), told)
    return out


class _Words:
    """A column of text, numbered."""

    def __init__(self, values: Values) -> None:
        self._number = {word: i for i, word in enumerate(dict.fromkeys(values.tolist()))}
        self._codes = np.array([self._number[word] for word in values.tolist()])

    def differ_from(self, word: str) -> BoolVector:
        """Which are another word?"""
        return np.asarray(self._codes != self._number.get(word, -1))


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
