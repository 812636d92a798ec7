"""Where few players can be in a minimal set at all, every set of them is counted.

The others are all replaced in the keep view and all held in the flip view, as they are for any set
that has none of them. A set that has one passes only where the set without it does: so what is
minimal among these few is minimal among all, and there is no other.
"""

from __future__ import annotations

import numpy as np

from suffice.evaluate import Evaluator
from suffice.factors import bitsets
from suffice.factors.lattice import held_of_masks
from suffice.search.limits import LimitKeeper
from suffice.typing import Counts, Held

__all__ = ["FEW", "minimal_among"]

FEW = 21
"""Players: 2^21 sets of each view take seconds where an engine works them out."""

_HYBRIDS = 1 << 15
"""Worked out together: few enough to stay in cache."""


def minimal_among(
    players: Counts,
    evaluator: Evaluator,
    d: int,
    *,
    keep: bool,
    least: int,
    largest: int,
    keeper: LimitKeeper,
) -> Held | None:
    """(sets, d): the minimal sets of one view; None where the limits leave no room to count."""
    few, n = len(players), evaluator.n
    passing = np.zeros(1 << few, dtype=bool)
    start = 0
    while start < len(passing):
        count = keeper.batch(_HYBRIDS, n)
        if not count:
            return None
        masks = np.arange(start, min(start + count, len(passing)))
        sets = np.zeros((len(masks), d), dtype=bool)
        sets[:, players] = held_of_masks(masks, few)
        with keeper.counting(evaluator, len(masks) * n):
            outcomes = evaluator.outcomes(sets if keep else ~sets)
        hits = (outcomes == keep).sum(axis=1)
        passing[masks] = (hits >= least) & (np.bitwise_count(masks) <= largest)
        start += len(masks)
    closed = bitsets.pack(passing)
    bitsets.close_upward(closed, few)
    masks = bitsets.masks_in(bitsets.least_of(closed, few))
    out = np.zeros((len(masks), d), dtype=bool)
    out[:, players] = held_of_masks(masks, few)
    return out
