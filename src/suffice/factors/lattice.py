"""The lattice of intervention targets: all subsets of d players, level by level.

Subsets of one size are numbered in colexicographic order, which is the numeric order of their bit
masks (Knuth, TAOCP 4A, 7.2.1.3). Two facts make that numbering pay:

- a subset's number is a sum of binomials (the combinatorial number system), so any subset is
  found without a table, for two players or for several hundred;
- the complement reverses it: if S has number i among the subsets of its size, its complement has
  number C(d, |S|) - 1 - i among those of the complementary size. `flip` is `keep` read backwards.

>>> lattice = Lattice(3)
>>> [lattice.members(2, i, i + 1)[0].tolist() for i in range(lattice.width(2))]
[[0, 1], [0, 2], [1, 2]]
>>> lattice.rank([0, 2])
1
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import comb

import numpy as np

from suffice.typing import Counts, Held

__all__ = ["Lattice", "drop_one_ranks", "masks_by_size"]


@dataclass(frozen=True)
class Lattice:
    """All subsets of `d` players."""

    d: int

    @property
    def count(self) -> int:
        """How many subsets there are."""
        return 1 << self.d

    def width(self, size: int) -> int:
        """How many subsets have this size.

        >>> Lattice(5).width(2)
        10
        """
        return comb(self.d, size)

    def members(self, size: int, start: int = 0, stop: int | None = None) -> Counts:
        """The subsets of one size, from number `start` up to `stop`, each a row of players."""
        return self.unrank(size, np.arange(start, self.width(size) if stop is None else stop))

    def unrank(self, size: int, ranks: Counts) -> Counts:
        """The subsets of one size with these numbers, as rows of increasing players."""
        left = np.array(ranks, dtype=np.int64)
        out = np.empty((len(left), size), dtype=np.int64)
        table = _binomials(self.d, size)
        for k in range(size, 0, -1):
            # The largest player c with C(c, k) <= left is the subset's k-th.
            player = np.searchsorted(table[k], left, side="right") - 1
            out[:, k - 1] = player
            left -= table[k][player]
        return out

    def held(self, size: int, start: int = 0, stop: int | None = None) -> Held:
        """The same subsets as rows of truth values over the players."""
        stop = self.width(size) if stop is None else stop
        if 2 * size > self.d:  # fewer players are left out than taken: number the complements
            last = self.width(size)
            return ~self.held(self.d - size, last - stop, last - start)[::-1]
        members = self.members(size, start, stop)
        out = np.zeros((len(members), self.d), dtype=bool)
        np.put_along_axis(out, members, True, axis=1)
        return out

    def rank(self, members: Sequence[int]) -> int:
        """The number of a subset among those of its size."""
        return sum(comb(player, k) for k, player in enumerate(sorted(members), start=1))

    def mask(self, members: Sequence[int]) -> int:
        """A subset as the bits of an integer.

        >>> Lattice(4).mask([0, 3])
        9
        """
        out = 0
        for player in members:
            out |= 1 << player
        return out


def drop_one_ranks(members: Counts, d: int) -> Counts:
    """For each subset, the numbers of the subsets that lack one of its members: same shape.

    >>> drop_one_ranks(np.array([[0, 1, 2], [0, 1, 3]]), 4).tolist()
    [[2, 1, 0], [4, 3, 0]]
    """
    size = members.shape[1]
    table = _binomials(d, size)
    places = np.arange(size)
    stay = table[places + 1, members]  # a member before the dropped one keeps its place
    shift = table[places, members]  # one after it moves down a place
    before = np.cumsum(stay, axis=1) - stay
    after = shift[:, ::-1].cumsum(axis=1)[:, ::-1] - shift
    return np.asarray(before + after, dtype=np.int64)


@lru_cache(maxsize=8)
def masks_by_size(d: int) -> Counts:
    """All bit masks, ordered by size and then by value: the lattice's own order, for dense arrays.

    >>> masks_by_size(2).tolist()
    [0, 1, 2, 3]
    """
    sizes = np.bitwise_count(np.arange(1 << d, dtype=np.uint32))
    order = np.argsort(sizes, kind="stable")
    order.setflags(write=False)
    return order


@lru_cache(maxsize=64)
def _binomials(d: int, size: int) -> Counts:
    """table[k, c] = C(c, k) for c <= d, capped at the top of int64: none in reach is larger."""
    top = np.iinfo(np.int64).max
    table = np.array([[min(comb(c, k), top) for c in range(d + 1)] for k in range(size + 1)])
    table = table.astype(np.int64)
    table.setflags(write=False)
    return table
