"""What a stream over the lattice leaves: the hits of every subset that went by.

They are kept as they come, by bit mask, in a byte each where there are up to 255 references: 1 GiB
for 30 players, two with more. Why not a bit each: a subset comes after all that it contains, so
whether it is in the closure of what passes could be told as it goes by, but in the keep view alone;
what decides it in the flip view comes after it. Exact necessity is a sum over the hits of all that
lies in the closure, passing or not, and to stream once more for it would take as long as at first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.evaluate import LatticeEvaluator
from suffice.factors.lattice import Lattice, masks_of_held
from suffice.progress import progress_bar
from suffice.search.limits import LimitKeeper
from suffice.search.stop import Stop
from suffice.search.tally import Tally

__all__ = ["Hits", "Seen", "end_size", "stream"]

Hits = NDArray[np.unsignedinteger[Any]]
"""Hits in as few bytes as hold them."""

_TALLIED = 1 << 18
"""Sets whose hits are handed on by size, from both ends of the lattice."""


@dataclass(frozen=True, eq=False)
class Seen:
    """The hits of all bit masks below `count`, as one view reads them."""

    d: int
    n: int
    held: Hits
    """How often the outcome was kept, by bit mask of what is held; in the flip view backwards, so
    by what is replaced."""
    count: int
    stopped: Stop | None
    """The limit that ended the stream; None: all went by."""
    flip: bool = False

    @property
    def share(self) -> float:
        """How much of the lattice went by."""
        return self.count / (1 << self.d)

    @property
    def players(self) -> int:
        """What went by are sets of the first so many."""
        return max(0, self.count - 1).bit_length()

    def other_view(self) -> Seen:
        """Replacing a set is holding its complement, whose mask is as far from the other end.

        For a stream that was not stopped: of another, the sets that went by are the last ones here.
        """
        return replace(self, held=self.held[::-1], flip=not self.flip)

    def hits(self, first: int, count: int) -> Hits:
        """Of consecutive masks. A reference hits in one view where it misses in the other."""
        held = self.held[first : first + count]
        return self.n - held if self.flip else held

    def ends(self) -> Tally:
        """The counts of small sets, of either view, in the lattice's order."""
        lattice, end = Lattice(self.d), end_size(self.d)
        levels = [np.empty(0, dtype=np.int64)] * (self.d + 1)
        for size in range(self.d + 1):
            if min(size, self.d - size) <= end:
                levels[size] = self.held[masks_of_held(lattice.held(size))].astype(np.int64)
        return Tally(self.d, self.n, tuple(levels))


def end_size(d: int) -> int:
    """Sets of up to this size, held or replaced, are few enough to hand their hits on."""
    count = 0
    for size in range(d // 2 + 1):
        count += comb(d, size) * (1 if 2 * size == d else 2)
        if count > _TALLIED:
            return size - 1
    return d


def stream(evaluator: LatticeEvaluator, d: int, progress: bool | None, keeper: LimitKeeper) -> Seen:
    """Count as much of the lattice as the limits allow."""
    n, count, block = evaluator.n, 0, 1
    stopped: Stop | None = None
    # Zeros, so that what is not seen does not pass; they take no memory until they are written.
    held = np.zeros(1 << d, dtype=np.min_scalar_type(n))
    blocks = evaluator.counts()
    with progress_bar("hybrids", n << d, progress) as bar:
        while count < 1 << d:
            stopped = keeper.forbids(n)
            if stopped is not None:
                break
            with keeper.counting(evaluator, block * n):  # as many as the last time, or so
                start, hits = next(blocks)
            keeper.cover((len(hits) - block) * n)
            block, end = len(hits), start + len(hits)
            held[start:end] = hits
            bar.update((end - count) * n)  # an engine that gives itself up begins again
            count = end
    return Seen(d, n, held, count, stopped)
