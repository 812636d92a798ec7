"""Set cover: the fewest or cheapest columns of a Boolean table that cover a share of its rows.

`smallest_cover` solves the problem exactly, by integer programming, if that takes little work;
otherwise it returns the best cover found with a lower bound on the number of columns.
`cheapest_cover` looks, among covers of the smallest size, for the one of least cost.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np

from suffice.factors.order import COST_TOLERANCE
from suffice.typing import BoolVector, Counts, Outcomes, Reals

_MOST_CELLS = 500_000
"""Most cells, without equal rows and columns, of a table that the integer program is given. This
and a number of nodes bound its work: with a limit on time the cover would depend on the machine."""


def smallest_cover(table: Outcomes, share: float) -> tuple[list[int], int]:
    """Return the fewest columns that cover this share of the rows, and a lower bound on them.

    A row is covered if one of the columns is true in it. If the share cannot be reached, the
    largest share that can be reached is covered.

    >>> table = np.array([[1, 0, 1], [1, 0, 0], [0, 1, 1], [0, 1, 0]], dtype=bool)
    >>> smallest_cover(table, 1.0), smallest_cover(table, 0.5)
    (([0, 1], 2), ([0], 1))
    """
    # Rows that no column covers would make the integer program infeasible.
    reachable = int(table.any(axis=1).sum()) if table.size else 0
    needed = min(rows_needed(share, len(table)), reachable)
    greedy = _greedy(table, needed)
    # One column is the fewest there can be, so nothing is left to prove.
    if len(greedy) <= 1:
        return greedy, len(greedy)
    exact, bound = _exact(table, needed)
    if exact is not None and len(exact) <= len(greedy):
        return exact, bound
    return greedy, bound


def rows_needed(share: float, n: int) -> int:
    """Return the smallest number of rows that is at least this share of n rows."""
    return int(np.ceil(share * n - 1e-9))  # 0.7 * 10 is 7.000000000000001


def _greedy(table: Outcomes, needed: int) -> list[int]:
    """Add the column that covers most new rows until enough are covered; the first of equals."""
    known = np.zeros(len(table), dtype=bool)
    chosen: list[int] = []
    while known.sum() < needed:
        chosen.append(int((table & ~known[:, None]).sum(axis=0).argmax()))
        known |= table[:, chosen[-1]]
    return chosen


def _exact(table: Outcomes, needed: int) -> tuple[list[int] | None, int]:
    """Solve the cover as an integer program; return the columns, or None, and a lower bound.

    Variables: column chosen (integer), row covered (continuous, which the constraints make 0 or 1).
    Equal rows are merged into one with a weight, equal columns into one.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array, eye_array, hstack

    columns = np.unique(table, axis=1, return_index=True)[1]
    columns.sort()
    rows, times = np.unique(table[:, columns], axis=0, return_counts=True)
    n, m = rows.shape
    if n * m > _MOST_CELLS:
        return None, _least_columns(table, needed)
    covers = hstack([csr_array(rows.astype(float)), -eye_array(n)]).tocsr()
    cost = np.concatenate([np.ones(m), np.zeros(n)])
    total = np.concatenate([np.zeros(m), times.astype(float)])[None, :]
    found = milp(
        cost,
        integrality=np.concatenate([np.ones(m), np.zeros(n)]),
        bounds=Bounds(0, 1),
        constraints=[LinearConstraint(covers, lb=0), LinearConstraint(total, lb=needed - 1e-6)],
        options={"node_limit": max(1, _MOST_CELLS // (n * m))},
    )
    # The solver's bound is a float: 2.0000001 stands for 2.
    bound = 1 if found.mip_dual_bound is None else int(np.ceil(found.mip_dual_bound - 1e-6))
    if found.x is None:
        return None, max(1, bound)
    chosen = [int(columns[j]) for j in np.flatnonzero(found.x[:m] > 0.5)]
    # The solver works within tolerances, so its cover is counted before it is believed.
    known = table[:, chosen].any(axis=1).sum()
    return (chosen if known >= needed else None), max(1, bound)


def _least_columns(table: Outcomes, needed: int) -> int:
    """Return how many columns are needed at least: as if no row were covered by two of them."""
    covered = np.cumsum(np.sort(table.sum(axis=0))[::-1])
    return int(np.searchsorted(covered, needed)) + 1


_EXTRA_CHANGES = 4
"""Covers with up to this many more changes than needed are priced, to report what they save."""
_MAX_CELLS = 1 << 25
"""Limit on costs read by the enumeration of all choices of one size: some seconds."""


@dataclass(frozen=True)
class Cover:
    """Chosen changes by their numbers, those that add most rows first."""

    chosen: tuple[int, ...]
    fewest: int
    """Number of changes needed."""
    could_be: int
    """Lower bound on the changes needed; equal to `fewest` if that is proved."""
    cheapest: bool
    """Whether it is proved that no other choice of this size costs less."""
    prices: tuple[float, ...]
    """Mean cost of the rows needed, with the fewest changes, one more, two more, …"""


def cheapest_cover(costs: Reals, share: float, at_most: int | None = None) -> Cover:
    """Return the fewest changes that cover the share, and the cheapest among as few.

    `costs` is (rows, changes), infinite if a change does not work for a row. With `at_most`, up to
    that many changes are chosen if more of them cost less.

    >>> costs = np.array([[2.0, 3.0, np.inf], [np.inf, 3.0, 1.0], [np.inf, np.inf, 9.0]])
    >>> cheapest_cover(costs, 0.6)
    Cover(chosen=(1,), fewest=1, could_be=1, cheapest=True, prices=(3.0, 1.5))
    >>> cheapest_cover(costs, 0.6, at_most=2).chosen, cheapest_cover(costs, 1.0).chosen
    ((2, 0), (2, 0))
    """
    kept = _undominated(costs)
    own = costs[:, kept]
    works = np.isfinite(own)
    # The number of changes depends only on the rows each works for, not on its costs.
    strong = _undominated(np.where(works, 0.0, np.inf))
    found, bound = smallest_cover(works[:, strong], share)
    needed = min(rows_needed(share, len(costs)), int(works.any(axis=1).sum()))
    fewest, tried = len(found), own.shape[1]
    best, proved = _cheapest_of_size(own, sorted(int(strong[j]) for j in found), needed)
    chosen, prices = best, [_price(own, best, needed)]
    for k in range(
        fewest + 1, min(tried, max(fewest + _EXTRA_CHANGES, at_most or 0)) + 1 if fewest else 0
    ):
        best, sure = _cheapest_of_size(own, _with_one_more(own, best, needed), needed)
        price = _price(own, best, needed)
        if price >= prices[-1] * (1 - COST_TOLERANCE):
            break
        prices.append(price)
        if at_most is not None and k <= at_most:
            chosen, proved = best, sure
    order = tuple(int(kept[j]) for j in _by_rows_added(own, chosen))
    return Cover(
        chosen=order,
        fewest=fewest,
        could_be=bound,
        # If fewer changes might suffice, this choice is not proved to be among the fewest.
        cheapest=proved and bound == fewest,
        prices=tuple(price / needed for price in prices) if fewest else (),
    )


def _prices(costs: Reals, needed: int) -> Reals:
    """Return, for each choice, the total cost of the `needed` rows that pay least.

    `costs` is (rows, choices); the total is infinite if fewer rows are covered.
    """
    return np.asarray(np.partition(costs, needed - 1, axis=0)[:needed].sum(axis=0))


def _price(costs: Reals, chosen: list[int], needed: int) -> float:
    """Return the total cost of the `needed` rows that pay least with these changes."""
    return float(_prices(costs[:, chosen].min(axis=1)[:, None], needed)[0]) if chosen else 0.0


def _cheapest_of_size(costs: Reals, start: list[int], needed: int) -> tuple[list[int], bool]:
    """Return changes of least price, as many as in `start`, and whether that is proved."""
    if not start:
        return [], True
    every = comb(costs.shape[1], len(start)) * len(costs) <= _MAX_CELLS
    found = (
        _best_by_enumeration(costs, len(start), needed)
        if every
        else _best_by_exchange(costs, start, needed)
    )
    return found, every


def _undominated(costs: Reals) -> Counts:
    """Return the changes that no other dominates: works for all their rows at no higher cost."""
    kept: BoolVector = np.asarray(np.isfinite(costs).any(axis=0))
    for j in range(costs.shape[1]):
        if not kept[j]:
            continue
        column = costs[:, j : j + 1]
        worse: BoolVector = np.asarray((column <= costs).all(axis=0))
        same = worse & (column >= costs).all(axis=0)
        worse &= ~same | (np.arange(len(worse)) > j)
        worse[j] = False
        kept &= ~worse
    return np.flatnonzero(kept)


def _with_one_more(costs: Reals, chosen: list[int], needed: int) -> list[int]:
    """Return the chosen changes with the one more that lowers the price most."""
    base = costs[:, chosen].min(axis=1)
    prices = _prices(np.minimum(base[:, None], costs), needed)
    prices[chosen] = np.inf
    return sorted([*chosen, _first_minimum(prices)])


def _best_by_enumeration(costs: Reals, k: int, needed: int) -> list[int]:
    """Return the k changes of least price, by trying all choices; the first of equals."""
    m = costs.shape[1]
    best, least = list(range(k)), np.inf
    for before in combinations(range(m), k - 1):
        rest = np.arange(before[-1] + 1 if before else 0, m)
        if not len(rest):
            continue
        base = costs[:, list(before)].min(axis=1, initial=np.inf)
        prices = _prices(np.minimum(base[:, None], costs[:, rest]), needed)
        at = _first_minimum(prices)
        if prices[at] < least * (1 - COST_TOLERANCE):
            best, least = [*before, int(rest[at])], float(prices[at])
    return best


def _best_by_exchange(costs: Reals, start: list[int], needed: int) -> list[int]:
    """Exchange one change for another as long as that lowers the price (local search)."""
    best = list(start)
    least = _price(costs, best, needed)
    while True:
        trials = []
        for place in range(len(best)):
            others = best[:place] + best[place + 1 :]
            base = costs[:, others].min(axis=1, initial=np.inf)
            prices = _prices(np.minimum(base[:, None], costs), needed)
            at = _first_minimum(prices)
            trials.append((float(prices[at]), sorted([*others, at])))
        price, found = min(trials, key=lambda trial: trial[0])
        if price >= least * (1 - COST_TOLERANCE):
            return best
        best, least = found, price


def _first_minimum(prices: Reals) -> int:
    """Return the first position whose price equals the smallest up to rounding."""
    return int(np.flatnonzero(prices <= prices.min() * (1 + COST_TOLERANCE))[0])


def _by_rows_added(costs: Reals, chosen: list[int]) -> list[int]:
    """Order the changes by the rows each adds to those before it; the cheaper of equals first."""
    works = np.isfinite(costs)
    known = np.zeros(len(costs), dtype=bool)
    left, out = list(chosen), []
    while left:
        add = [(-int((works[:, j] & ~known).sum()), _mean_finite(costs[:, j]), j) for j in left]
        out.append(min(add)[2])
        known |= works[:, out[-1]]
        left.remove(out[-1])
    return out


def _mean_finite(costs: Reals) -> float:
    finite = costs[np.isfinite(costs)]
    return float(finite.mean()) if len(finite) else np.inf
