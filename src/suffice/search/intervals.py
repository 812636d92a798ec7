"""Thresholds at which each set is τ-minimal: an interval per set, from one pass over all sets.

By Definition 4 a factor c is τ-minimal exactly when PS(c) >= τ and no factor strictly below it has
PS >= τ. With m(c) the largest PS strictly below c, that is m(c) < τ <= PS(c): one pass from the
bottom of the lattice gives every factor its interval (m(c), PS(c)], and no τ needs a new search.
The largest PS at or below c, max(m(c), PS(c)), is c's *reach*: c lies in the upward closure of the
τ-minimal factors exactly when τ <= reach(c), so cumulative PN is a sum over reaches.

In sample mode the largest τ at which c passes its test stands in place of PS(c).

>>> import numpy as np
>>> passes = [np.array([0.0]), np.array([0.5, 0.9]), np.array([0.8])]  # {}; {0}, {1}; {0, 1}
>>> ladder = climb(passes, d=2)
>>> [level.tolist() for level in ladder.below]
[[0.0], [0.0, 0.0], [0.9]]
>>> [level.tolist() for level in ladder.reach]
[[0.0], [0.5, 0.9], [0.9]]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from suffice.factors.lattice import Lattice, by_level, by_mask, drop_one_ranks, halves
from suffice.typing import Reals, SmallCounts

Real = TypeVar("Real", bound=np.floating[Any] | np.integer[Any])

_SUBSETS_AT_ONCE = 1 << 18


@dataclass(frozen=True)
class Ladder:
    """Largest passing τ strictly below each subset, and at or below it, by level."""

    passes: tuple[Reals, ...]
    below: tuple[Reals, ...]
    reach: tuple[Reals, ...]


@dataclass(frozen=True, eq=False)
class Steps:
    """The same by bit mask, where all 2^d subsets are known, in numbers of few bits.

    A subset's passing τ hangs on its count alone, and among n references there are n + 1 counts. So
    there are few different τ, and their numbers are compared in place of them.

    >>> steps = climb_steps(np.array([0, 1, 2, 1], dtype=np.uint8), np.array([0, 0.5, 0.9]))
    >>> steps.taus[steps.below].tolist(), steps.taus[steps.reach].tolist()
    ([0.0, 0.0, 0.0, 0.9], [0.0, 0.5, 0.9, 0.9])
    """

    taus: Reals
    """Ascending; the first is 0, which stands for what passes nowhere."""
    passes: SmallCounts
    below: SmallCounts
    reach: SmallCounts


def climb(passes: Sequence[Reals], d: int, start: int = 0) -> Ladder:
    """Intervals under the subset order, from level 0 up to the last level given.

    Only the last level may be a part of its level, from number `start` on: all that is below a
    subset must be known to say what is minimal.
    """
    if len(passes) == d + 1 and all(
        len(level) == Lattice(d).width(size) for size, level in enumerate(passes)
    ):
        below, reach = climb_dense(by_mask(passes))
        return Ladder(tuple(passes), by_level(below), by_level(reach))
    return climb_levels(passes, d, start)


def climb_levels(passes: Sequence[Reals], d: int, start: int = 0) -> Ladder:
    """The general path: each subset looks up the subsets that lack one of its members."""
    lattice = Lattice(d)
    below = [np.zeros(len(passes[0]))]
    reach = [np.asarray(passes[0], dtype=float)]
    for size, level in enumerate(passes[1:], start=1):
        low = np.empty(len(level))
        first = start if size == len(passes) - 1 else 0
        for at in range(0, len(level), _SUBSETS_AT_ONCE):
            stop = min(at + _SUBSETS_AT_ONCE, len(level))
            ranks = drop_one_ranks(lattice.members(size, first + at, first + stop), d)
            low[at:stop] = reach[-1][ranks].max(axis=1)
        below.append(low)
        reach.append(np.maximum(level, low))
    return Ladder(tuple(passes), tuple(below), tuple(reach))


def climb_steps(passes: SmallCounts, taus: Reals) -> Steps:
    """Intervals by bit mask of all 2^d subsets, from the numbers of the τ that each passes at."""
    return Steps(taus, passes, *climb_dense(passes))


def climb_dense(passes: NDArray[Real]) -> tuple[NDArray[Real], NDArray[Real]]:
    """The fast path, valid when all 2^d subsets are given, by bit mask: (below, reach).

    Player after player, each set with it learns what lies inside the set without it. After player j
    both are the largest over those subsets that differ in players up to j, `below` without the set
    itself.
    """
    reach, below = passes.copy(), np.zeros_like(passes)
    for j in range(len(passes).bit_length() - 1):
        pairs = zip(halves(reach, j), halves(below, j), strict=True)
        for (without, having), (_, under) in pairs:
            np.maximum(under, without, out=under)
            np.maximum(having, without, out=having)
    return below, reach
