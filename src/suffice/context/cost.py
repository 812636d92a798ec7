"""What a change costs: the distance from the input over the columns that are changed.

Numeric columns count |Δ| divided by the column's median absolute deviation in the data, other
columns 0 or 1 (the measure of the paper's recourse experiments). A column whose deviation is zero,
because more than half of it is one value, is scaled by its mean absolute deviation instead. To
become infinite costs infinitely much, that is, never happens; to stay so costs nothing.

The cost of a set is the sum over its players, always in the same order. Whoever compares costs asks
the cost order (`factors/order.py`), which takes those that differ only by rounding as equal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from suffice.checks import number, ran
from suffice.context.players import Players
from suffice.context.pool import Pool
from suffice.errors import InputError, shorten
from suffice.factors.lattice import masks_of_held
from suffice.factors.order import cost_ranks
from suffice.tables import Table, column_codes, plain
from suffice.typing import Counts, Held, Reals, Values

__all__ = [
    "LARGEST",
    "CostSpec",
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
        scales = _scales(pool, data)
        columns = [
            _weighted(_distance(pool.column(j), scales[j]), weights.get(name, 1.0))
            for j, name in enumerate(data.names)
        ]
    return np.stack(columns, axis=1)


def _scales(pool: Table, data: Table) -> list[float | None]:
    """What each column's differences are divided by; None where it holds no numbers."""

    def measured() -> list[float | None]:
        columns = (data.column(j) for j in range(len(data.names)))
        return [_shrunk_scale(c) if c.dtype.kind in "iuf" else None for c in columns]

    # The same for every input, so kept with the references that inputs share.
    return (
        pool.references.once(("scales", data), measured) if isinstance(pool, Pool) else measured()
    )


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


def _distance(values: Values, scale: float | None) -> Reals:
    """How far the first value is from each of the others."""
    if values.dtype.kind not in "iuf" or scale is None:
        codes = column_codes(values)
        return np.asarray(codes[1:] != codes[0], dtype=float)
    numbers = values.astype(float)
    here, there = numbers[0], numbers[1:]
    missing = np.isnan(there)
    if np.isnan(here):
        return np.where(missing, 0.0, 1.0)
    with np.errstate(all="ignore"):  # infinities that are equal are no change, as below
        away = np.abs(there * _SHRUNK - here * _SHRUNK) / scale
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
        codes = list(map(masks_of_held, blocks))
        out: Reals = self._tables[0][codes[0]]
        for table, rows in zip(self._tables[1:], codes[1:], strict=True):
            out += table[rows]
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
