"""`Tally`: for every set counted in one view, how many references had the view's outcome."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from suffice.errors import NotVisitedError
from suffice.factors.lattice import Lattice, by_level, by_mask
from suffice.typing import Counts, SmallCounts


class Tally:
    """Hits among `n` references.

    Of a complete search they stand in one array by bit mask (`dense`), in the smallest numbers that
    hold n: that is how engines count, how every question about the whole lattice is answered
    fastest, and what is stored. Of a bounded one they stand level by level: `levels[k]` lists
    subsets of size k in the lattice's order, from number `start(k)` on. What was not visited takes
    no room, since a level may be far too wide for it. Each form is made from the other when asked
    for.

    >>> tally = Tally.of_dense(np.array([0, 2, 1, 3]), n=3)
    >>> [level.tolist() for level in tally.levels]
    [[0], [2, 1], [3]]
    >>> tally.dense.dtype, tally.other_view().dense.tolist()
    (dtype('uint8'), [0, 2, 1, 3])
    """

    def __init__(
        self,
        d: int,
        n: int,
        levels: tuple[Counts, ...],
        starts: tuple[int, ...] | None = None,
    ) -> None:
        """`starts`: by level the number of the first subset listed; None: all from the first on."""
        self.d = d
        self.n = n
        self.levels = levels
        self.starts = starts

    @classmethod
    def of_dense(cls, counts: Counts | SmallCounts, n: int) -> Tally:
        """All 2^d counts, by bit mask. An array of the smallest type is kept, not copied."""
        tally = cls.__new__(cls)
        tally.d, tally.n, tally.starts = len(counts).bit_length() - 1, n, None
        tally.dense = counts.astype(smallest_count_dtype(n), copy=False)
        tally.visited, tally.exhaustive_size = len(counts), tally.d
        return tally

    @property
    def lattice(self) -> Lattice:
        """The subsets that are counted."""
        return Lattice(self.d)

    def other_view(self) -> Tally:
        """The same hybrids read the other way: what was held becomes what is replaced.

        Replacing T is holding its complement, and complements are numbered backwards, by bit mask
        as among sets of one size; a reference hits in one view exactly where it misses in the
        other.
        """
        if self.complete:
            return Tally.of_dense(self.dense.dtype.type(self.n) - self.dense[::-1], self.n)
        levels, starts = [], []
        for size in range(self.d, -1, -1):
            level = self.levels[size]
            levels.append(self.n - level[::-1])
            # Of thousands of players the widths are huge numbers: none is needed for no sets.
            first = self.lattice.width(size) - self.start(size) - len(level) if len(level) else 0
            starts.append(first)
        return Tally(self.d, self.n, tuple(levels), tuple(starts))

    def start(self, size: int) -> int:
        """The number of the first subset of this size that is listed."""
        return 0 if self.starts is None else self.starts[size]

    def listed(self, size: int) -> int:
        """How many subsets of this size were evaluated."""
        return self.lattice.width(size) if self.complete else len(self.levels[size])

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

    @property
    def evaluated_whole(self) -> str:
        """Up to which size, in words."""
        size = self.exhaustive_size
        return f"exhaustive up to size {size}" if size >= 0 else "exhaustive at no size"

    def hits(self, members: Sequence[int]) -> int:
        """The count of one subset."""
        if self.complete:
            return int(self.dense[self.lattice.mask(members)])
        level, size = self.levels[len(members)], len(members)
        at = self.lattice.rank(members) - self.start(size)
        if not 0 <= at < len(level):
            raise NotVisitedError(
                f"this subset of {size} features was not evaluated: the search was bounded, and "
                f"{self.evaluated_whole}. Raise max_size, budget or time_limit."
            )
        return int(level[at])

    @cached_property
    def dense(self) -> SmallCounts:
        """Hits by bit mask, for a complete tally: numbers so small that their sums need others."""
        return by_mask(self.levels).astype(smallest_count_dtype(self.n))

    @cached_property
    def levels(self) -> tuple[Counts, ...]:
        """Hits by size, in the lattice's order, as far as they were visited."""
        return by_level(self.dense.astype(np.int64))


def smallest_count_dtype(n: int) -> np.dtype[np.unsignedinteger]:
    """The smallest numbers that hold counts up to n."""
    return np.min_scalar_type(n)
