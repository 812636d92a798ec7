"""One view's counts: for every subset visited, how many references had the view's outcome."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from suffice.errors import NotVisitedError
from suffice.factors.lattice import Lattice, by_mask
from suffice.typing import Counts

__all__ = ["UNSEEN", "Tally"]

UNSEEN = -1
"""Stands where a subset was not visited."""


@dataclass(frozen=True, eq=False)
class Tally:
    """Hits among `n` references, level by level of the lattice.

    `levels[k]` lists the subsets of size k in the lattice's order. It may end early, or hold
    UNSEEN, where the search was bounded.
    """

    d: int
    n: int
    levels: tuple[Counts, ...]

    @property
    def lattice(self) -> Lattice:
        """The subsets that are counted."""
        return Lattice(self.d)

    def other_view(self) -> Tally:
        """The same hybrids read the other way: what was held becomes what is replaced.

        Replacing T is holding its complement, and complements are numbered backwards; a reference
        hits in one view exactly where it misses in the other.
        """
        levels = []
        for size in range(self.d + 1):
            level = self.levels[self.d - size]
            if len(level) not in (0, self.lattice.width(size)):
                whole = np.full(self.lattice.width(size), UNSEEN, dtype=level.dtype)
                whole[: len(level)] = level
                level = whole
            backwards = level[::-1]
            levels.append(np.where(backwards == UNSEEN, UNSEEN, self.n - backwards))
        return Tally(self.d, self.n, tuple(levels))

    @cached_property
    def visited(self) -> int:
        """How many subsets were evaluated."""
        return int(sum(int((level != UNSEEN).sum()) for level in self.levels))

    @property
    def complete(self) -> bool:
        """Was every subset evaluated?"""
        return self.visited == self.lattice.count

    @cached_property
    def exhaustive_size(self) -> int:
        """All subsets up to this size were evaluated; -1 if not even the empty one."""
        for size, level in enumerate(self.levels):
            if len(level) < self.lattice.width(size) or (level == UNSEEN).any():
                return size - 1
        return self.d

    def hits(self, members: Sequence[int]) -> int:
        """The count of one subset."""
        level, rank = self.levels[len(members)], self.lattice.rank(members)
        if rank >= len(level) or level[rank] == UNSEEN:
            raise NotVisitedError(
                f"this subset of {len(members)} features was not evaluated: the search was "
                f"bounded, and exhaustive up to size {self.exhaustive_size}. "
                "Raise max_size, budget or time_limit."
            )
        return int(level[rank])

    @cached_property
    def dense(self) -> Counts:
        """Hits by bit mask, for a complete tally."""
        return by_mask(self.levels)
