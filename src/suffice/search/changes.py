"""The cheapest change per set of features: which reference flips the outcome at the least cost."""

from __future__ import annotations

import numpy as np

from suffice.context.hybrids import Hybrids
from suffice.search.sweep import Sweep
from suffice.typing import Counts, Reals

__all__ = ["cheapest_changes"]

_FACTORS_AT_ONCE = 4096


def cheapest_changes(
    sweep: Sweep, size: int, ranks: Counts, costs: Reals, hybrids: Hybrids
) -> tuple[Reals, Counts]:
    """For some flip factors of one size: the least cost of a flip, and the pool's row that does it.

    `costs[r, j]` is what it costs to give the input reference r's value on player j. Where no
    reference flips, or each would need a change of infinite cost, the cost is infinite.
    """
    lattice = sweep.tally.lattice
    forbidden = np.isinf(costs)
    finite = np.where(forbidden, 0.0, costs)
    best, whose = np.empty(len(ranks)), np.empty(len(ranks), dtype=np.int64)
    for start in range(0, len(ranks), _FACTORS_AT_ONCE):
        part = slice(start, start + _FACTORS_AT_ONCE)
        replaced = lattice.held_at(size, ranks[part])
        # Replacing a set is holding its complement, which is numbered backwards.
        kept = sweep.outcomes(lattice.d - size, lattice.width(size) - 1 - ranks[part])
        moved = replaced.astype(float)
        price = np.where(moved @ forbidden.T > 0, np.inf, moved @ finite.T)
        donors = hybrids.donors(~replaced)
        if donors is None:
            raise TypeError("rows that were made, not observed, have no cost")
        total = np.where(kept, np.inf, np.take_along_axis(price, donors - 1, axis=1))
        best[part] = total.min(axis=1)
        whose[part] = donors[np.arange(len(total)), total.argmin(axis=1)]
    return best, whose
