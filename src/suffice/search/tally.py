"""One view's counts: for every subset visited, how many references had the view's outcome."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from suffice.errors import NotVisitedError
from suffice.factors.lattice import Lattice, by_mask
from suffice.typing import Counts

__all__ = ["Tally"]


@dataclass(frozen=True, eq=False)
class Tally:
    """Hits among `n` references, level by level of the lattice.

    `levels[k]` lists subsets of size k in the lattice's order, from number `start(k)` on: all of
    them, or a run where the search was bounded. What was not visited takes no room, since a level
    may be far too wide for it.
    """

    d: int
    n: int
    levels: tuple[Counts, ...]
    starts: tuple[int, ...] | None = None
    """By level: the number of the first subset listed. None: every list begins with the first."""

    @property
    def lattice(self) -> Lattice:
        """The subsets that are counted."""
        return Lattice(self.d)

    def other_view(self) -> Tally:
        """The same hybrids read the other way: what was held becomes what is replaced.

        Replacing T is holding its complement, and complements are numbered backwards; a reference
        hits in one view exactly where it misses in the other.
        """
        levels, starts = [], []
        for size in range(self.d, -1, -1):
            level = self.levels[size]
            levels.append(self.n - level[::-1])
            starts.append(self.lattice.width(size) - self.start(size) - len(level))
        return Tally(self.d, self.n, tuple(levels), tuple(starts))

    def start(self, size: int) -> int:
        """The number of the first subset of this size that is listed."""
        return 0 if self.starts is None else self.starts[size]

    @cached_property
    def visited(self) -> int:
        """How many subsets were evaluated."""
        return sum(len(level) for level in self.levels)

    @property
    def complete(self) -> bool:
        """Was every subset evaluated?"""
        return self.visited == self.lattice.count

    @cached_property
    def exhaustive_size(self) -> int:
        """All subsets up to this size were evaluated; -1 if not even the empty one."""
        for size, level in enumerate(self.levels):
            if len(level) < self.lattice.width(size):
                return size - 1
        return self.d

    def hits(self, members: Sequence[int]) -> int:
        """The count of one subset."""
        level, size = self.levels[len(members)], len(members)
        at = self.lattice.rank(members) - self.start(size)
        if not 0 <= at < len(level):
            raise NotVisitedError(
                f"this subset of {size} features was not evaluated: the search was "
                f"bounded, and exhaustive up to size {self.exhaustive_size}. "
                "Raise max_size, budget or time_limit."
            )
        return int(level[at])

    @cached_property
    def dense(self) -> Counts:
        """Hits by bit mask, for a complete tally."""
        return by_mask(self.levels)
