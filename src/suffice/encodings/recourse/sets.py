"""Sets of players in one flat order: by size, then as the lattice numbers them.

Position 0 is the empty set, then come the single players, and so on. For d players and all sizes
it is the order of `masks_by_size`, so numbers by position and numbers by bit mask are permutations
of each other. A flat array may end after any size.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from suffice.factors.lattice import Lattice, drop_one_ranks
from suffice.typing import BoolVector, Counts, Held, Reals

__all__ = ["Sets"]

_AT_ONCE = 1 << 16


@dataclass(frozen=True)
class Sets:
    """All sets of up to `largest` of `d` players."""

    d: int
    largest: int

    @property
    def lattice(self) -> Lattice:
        """The lattice that numbers the sets of one size."""
        return Lattice(self.d)

    @cached_property
    def _starts(self) -> Counts:
        widths = [self.lattice.width(size) for size in range(self.largest + 1)]
        return np.concatenate([[0], np.cumsum(widths)])

    def __len__(self) -> int:
        return int(self._starts[-1])

    def blocks(self, most: int) -> Iterator[tuple[int, int, slice, Held]]:
        """Runs of sets of one size: (size, first rank, positions, which players)."""
        for size in range(self.largest + 1):
            width = self.lattice.width(size)
            for start in range(0, width, most):
                stop = min(start + most, width)
                at = int(self._starts[size])
                members = self.lattice.held(size, start, stop)
                yield size, start, slice(at + start, at + stop), members

    def members(self, position: int) -> tuple[int, ...]:
        """The players of one set."""
        size = int(np.searchsorted(self._starts, position, side="right")) - 1
        rank = np.array([position - self._starts[size]])
        return tuple(self.lattice.unrank(size, rank)[0].tolist())

    def position(self, members: tuple[int, ...]) -> int:
        """Where a set stands."""
        return int(self._starts[len(members)]) + self.lattice.rank(members)

    def sizes(self) -> Counts:
        """By position: how many players."""
        return np.repeat(np.arange(self.largest + 1), np.diff(self._starts))

    def least_inside(self, costs: Reals) -> Reals:
        """By position: the least cost of any set strictly inside it."""
        inside = np.full(len(self), np.inf)
        for size in range(1, self.largest + 1):
            width = self.lattice.width(size)
            at, below = int(self._starts[size]), int(self._starts[size - 1])
            for start in range(0, width, _AT_ONCE):
                stop = min(start + _AT_ONCE, width)
                dropped = below + drop_one_ranks(self.lattice.members(size, start, stop), self.d)
                least = np.minimum(costs[dropped], inside[dropped])
                inside[at + start : at + stop] = least.min(axis=1)
        return inside

    def minimal(self, costs: Reals) -> BoolVector:
        """Which sets of finite cost have no subset that costs as little (the paper's cost order).

        T' ≺ T when T' ⊂ T and cost(T') <= cost(T): a superset that is strictly cheaper than all
        that lies inside it is minimal, too.
        """
        return np.asarray((costs < np.inf) & (costs < self.least_inside(costs)))
