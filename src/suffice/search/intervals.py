"""Every τ at once: each factor's interval of thresholds at which it is τ-minimal.

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

import numpy as np

from suffice.factors.lattice import (
    Lattice,
    by_level,
    by_mask,
    drop_one_ranks,
    over_subsets,
)
from suffice.typing import Reals

__all__ = ["Ladder", "climb", "climb_dense", "climb_levels"]

_SUBSETS_AT_ONCE = 1 << 18


@dataclass(frozen=True)
class Ladder:
    """By level and subset: the largest passing τ strictly below it, and at or below it."""

    passes: tuple[Reals, ...]
    below: tuple[Reals, ...]
    reach: tuple[Reals, ...]


def climb(passes: Sequence[Reals], d: int, start: int = 0) -> Ladder:
    """Intervals under the subset order, from level 0 up to the last level given.

    Only the last level may be a part of its level, from number `start` on: all that is below a
    subset must be known to say what is minimal.
    """
    if len(passes) == d + 1 and all(
        len(level) == Lattice(d).width(size) for size, level in enumerate(passes)
    ):
        return climb_dense(passes, d)
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


def climb_dense(passes: Sequence[Reals], d: int) -> Ladder:
    """The fast path, valid when all 2^d subsets are given: a running maximum along each player."""
    reach = over_subsets(by_mask(passes), np.maximum)
    below = np.zeros(1 << d)
    for j in range(d):  # the reaches of the subsets that lack one member
        source, sink = reach.reshape(-1, 2, 1 << j), below.reshape(-1, 2, 1 << j)
        np.maximum(sink[:, 1], source[:, 0], out=sink[:, 1])
    return Ladder(tuple(passes), by_level(below), by_level(reach))
