"""The fewest changes that work for so many rows and, among as few, those that cost least.

What changes cost is what the share asked for would pay: each row takes the cheapest change that
works for it, and the rows for which that is cheapest count, as many as are needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np

from suffice.audit.covering import cover_with_fewest, rows_needed
from suffice.factors.order import ROUNDING
from suffice.typing import BoolVector, Counts, Reals

__all__ = ["Cover", "cheap_cover"]

_MORE = 4
"""So many more changes than it takes are looked at: what they would save."""
_CELLS = 1 << 25
"""Costs that may be looked at to try all choices of so many changes: some seconds."""


@dataclass(frozen=True)
class Cover:
    """Changes by their numbers, those that add most first."""

    chosen: tuple[int, ...]
    fewest: int
    """How many it takes."""
    could_be: int
    """No fewer can do it: as many as it takes where that is proved."""
    cheapest: bool
    """Is it proved that no others, as many as were chosen, cost less?"""
    prices: tuple[float, ...]
    """With the fewest, one more, two more, …: what the rows needed pay on average."""


def cheap_cover(costs: Reals, share: float, at_most: int | None = None) -> Cover:
    """Of changes with these costs (infinite where one does not work), the fewest, and cheap.

    With `at_most`, as many as that where the fewest are fewer and cost more.

    >>> costs = np.array([[2.0, 3.0, np.inf], [np.inf, 3.0, 1.0], [np.inf, np.inf, 9.0]])
    >>> cheap_cover(costs, 0.6)
    Cover(chosen=(1,), fewest=1, could_be=1, cheapest=True, prices=(3.0, 1.5))
    >>> cheap_cover(costs, 0.6, at_most=2).chosen, cheap_cover(costs, 1.0).chosen
    ((2, 0), (2, 0))
    """
    kept = _undominated(costs)
    own = costs[:, kept]
    works = np.isfinite(own)
    # Whom a change works for decides how few will do, whatever it costs them.
    strong = _undominated(np.where(works, 0.0, np.inf))
    found, bound = cover_with_fewest(works[:, strong], share)
    needed = min(rows_needed(share, len(costs)), int(works.any(axis=1).sum()))
    fewest, tried = len(found), own.shape[1]
    best, proved = _cheapest(own, sorted(int(strong[j]) for j in found), needed)
    chosen, prices = best, [_price(own, best, needed)]
    for k in range(fewest + 1, min(tried, max(fewest + _MORE, at_most or 0)) + 1 if fewest else 0):
        best, sure = _cheapest(own, _with_one_more(own, best, needed), needed)
        price = _price(own, best, needed)
        if price >= prices[-1] * (1 - ROUNDING):
            break
        prices.append(price)
        if at_most is not None and k <= at_most:
            chosen, proved = best, sure
    order = tuple(int(kept[j]) for j in _by_what_they_add(own, chosen))
    return Cover(
        chosen=order,
        fewest=fewest,
        could_be=bound,
        # Where fewer might do, a choice of so many is no choice among the fewest.
        cheapest=proved and bound == fewest,
        prices=tuple(price / needed for price in prices) if fewest else (),
    )


def _prices(costs: Reals, needed: int) -> Reals:
    """(choices,): what the `needed` rows pay that pay least; infinite where so many are not there.

    `costs` is (rows, choices).
    """
    return np.asarray(np.partition(costs, needed - 1, axis=0)[:needed].sum(axis=0))


def _price(costs: Reals, chosen: list[int], needed: int) -> float:
    """What they pay with these changes."""
    return float(_prices(costs[:, chosen].min(axis=1)[:, None], needed)[0]) if chosen else 0.0


def _cheapest(costs: Reals, start: list[int], needed: int) -> tuple[list[int], bool]:
    """As many changes as there are at the start, of least price; and is that proved?"""
    if not start:
        return [], True
    every = comb(costs.shape[1], len(start)) * len(costs) <= _CELLS
    found = _best_of_all(costs, len(start), needed) if every else _improved(costs, start, needed)
    return found, every


def _undominated(costs: Reals) -> Counts:
    """Changes than which no other works wherever they do and costs no more; of equals the first."""
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
    """And the change that makes them cheapest."""
    base = costs[:, chosen].min(axis=1)
    prices = _prices(np.minimum(base[:, None], costs), needed)
    prices[chosen] = np.inf
    return sorted([*chosen, _first_least(prices)])


def _best_of_all(costs: Reals, k: int, needed: int) -> list[int]:
    """The k changes of least price, all choices tried; the first among equals."""
    m = costs.shape[1]
    best, least = list(range(k)), np.inf
    for before in combinations(range(m), k - 1):
        rest = np.arange(before[-1] + 1 if before else 0, m)
        if not len(rest):
            continue
        base = costs[:, list(before)].min(axis=1, initial=np.inf)
        prices = _prices(np.minimum(base[:, None], costs[:, rest]), needed)
        at = _first_least(prices)
        if prices[at] < least * (1 - ROUNDING):
            best, least = [*before, int(rest[at])], float(prices[at])
    return best


def _improved(costs: Reals, start: list[int], needed: int) -> list[int]:
    """One change exchanged for another as long as that is cheaper."""
    best = list(start)
    least = _price(costs, best, needed)
    while True:
        trials = []
        for place in range(len(best)):
            others = best[:place] + best[place + 1 :]
            base = costs[:, others].min(axis=1, initial=np.inf)
            prices = _prices(np.minimum(base[:, None], costs), needed)
            at = _first_least(prices)
            trials.append((float(prices[at]), sorted([*others, at])))
        price, found = min(trials, key=lambda trial: trial[0])
        if price >= least * (1 - ROUNDING):
            return best
        best, least = found, price


def _first_least(prices: Reals) -> int:
    """The first that is as small as the smallest, rounding aside."""
    return int(np.flatnonzero(prices <= prices.min() * (1 + ROUNDING))[0])


def _by_what_they_add(costs: Reals, chosen: list[int]) -> list[int]:
    """The one that works for most rows first, then whichever adds most; the cheaper of equals."""
    works = np.isfinite(costs)
    known = np.zeros(len(costs), dtype=bool)
    left, out = list(chosen), []
    while left:
        add = [(-int((works[:, j] & ~known).sum()), _mean(costs[:, j]), j) for j in left]
        out.append(min(add)[2])
        known |= works[:, out[-1]]
        left.remove(out[-1])
    return out


def _mean(costs: Reals) -> float:
    finite = costs[np.isfinite(costs)]
    return float(finite.mean()) if len(finite) else np.inf
