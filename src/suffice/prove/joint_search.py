"""Search for a point at which several sums reach their bounds at once.

An outcome that is one of several classes, and not the input's, is reached only where its class
leads every other one. The first sum is searched for boxes in which all its trees have one value;
each of these is searched for the second sum, and so on. That visits every point at which all sums
reach their bounds, and its end without one is a proof. With one sum it is a `BoxSearch`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from suffice.prove.branch_and_bound import NO_POINT, POINT, UNFINISHED, BoxSearch
from suffice.prove.leaf_boxes import RequiredSum
from suffice.typing import Counts

_NEVER = 2**62
"""No sum is as large, so that a search goes on until all trees of a box are constant."""


class JointSearch:
    """Search of a box for points at which all sums reach what they need.

    The sums that reach it in the smallest part of the domain should come first.
    """

    def __init__(self, sums: Sequence[RequiredSum], n_cells: int) -> None:
        """`n_cells` is the largest number of cells of any column."""
        self._sums = tuple(sums)
        self._searches = [BoxSearch(one.leaves, n_cells) for one in sums]
        self._start = np.zeros(0, dtype=np.int64)
        self._level = 0
        self._done_boxes = 0
        self.is_stuck = False
        """True if a search ran out of memory for boxes, so that the search cannot continue."""

    @property
    def boxes(self) -> int:
        """The number of boxes that the current search has looked at."""
        return self._done_boxes + sum(s.boxes for s in self._searches[: self._level + 1])

    @property
    def point(self) -> NDArray[np.int32]:
        """The cells of the point that was found last."""
        return self._searches[-1].point

    @property
    def is_sure(self) -> bool:
        """True if the point that was found last has another outcome, whatever the rounding."""
        pairs = zip(self._searches, self._sums, strict=True)
        return all(search.point_sum >= one.sure for search, one in pairs)

    @property
    def beyond(self) -> int:
        """By how much the first sum could exceed its need in boxes not yet looked at."""
        return max(self._searches[0].bound - self._sums[0].need, 0)

    def begin(self, low: Counts, high: Counts, start: Counts) -> None:
        """Begin a search of a box. Points stay at the cells of `start` where they can."""
        self._start = start
        self._done_boxes = 0
        self.is_stuck = False
        self._begin_level(0, low, high)

    def _begin_level(self, level: int, low: Counts, high: Counts) -> None:
        self._level = level
        one = self._sums[level]
        sure = one.sure if level == len(self._sums) - 1 else _NEVER
        self._searches[level].begin(low, high, self._start, one.need, sure)

    def go_on(self, most_boxes: int) -> int:
        """Search on for at most so many boxes: `NO_POINT`, `POINT` or `UNFINISHED`."""
        end = self.boxes + most_boxes
        while True:
            search = self._searches[self._level]
            verdict = search.go_on(max(end - self.boxes, 1))
            if search.is_stuck:
                self.is_stuck = True
                return UNFINISHED
            if verdict == NO_POINT:
                if self._level == 0:
                    return NO_POINT
                self._done_boxes += search.boxes
                self._level -= 1
            elif verdict == POINT:
                if self._level == len(self._searches) - 1:
                    return POINT
                self._begin_level(self._level + 1, *search.box)
            if self.boxes >= end:
                return UNFINISHED
