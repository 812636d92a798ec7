"""Which sets of players are sufficient in one view, by one test."""

from __future__ import annotations

import numpy as np

from suffice.inference import fewest_hits
from suffice.search.greedy.memo import Memo
from suffice.search.greedy.verdicts import (
    curtailed_boundary,
    sequential_boundary,
    verdicts_by_looks,
)
from suffice.search.limits import LimitKeeper
from suffice.search.open_sets import OpenSets
from suffice.search.question import Question
from suffice.typing import BoolVector, Held, Outcomes, ViewName

__all__ = ["Judge"]


class Judge:
    """Knows the view and the test, so that the search itself speaks only of sets.

    In the flip view replacing T is holding its complement, and a hit is a reference that misses.
    """

    def __init__(self, memo: Memo, view: ViewName, question: Question, keeper: LimitKeeper) -> None:
        self._memo = memo
        self._flip = view == "flip"
        self._keeper = keeper
        tau, alpha = question.tau, question.alpha
        self.n = memo.n
        """How many references there are."""
        self.need = fewest_hits(self.n, tau, alpha)
        """The fewest hits that pass the test on all references."""
        self.open = OpenSets(memo.d)
        """The sets on which a verdict is still to be given."""
        if self.need > self.n:
            self.open.close_all()  # not even a set that hits for every reference would pass
        for size, failing in memo.swept_below(self.need, self._flip):
            self.open.close(memo.lattice.held_at(size, failing))
        if memo.whole_sets:
            self._full = self._quick = curtailed_boundary(self.n, self.need, (1.0,))
            return
        self._full = curtailed_boundary(self.n, self.need)
        # Without α there is nothing to be quick about: both are the full answer.
        self._quick = self._full if alpha is None else sequential_boundary(self.n, tau, alpha)

    @property
    def subsets_left(self) -> float:
        """How many subsets the budget can still pay for, were each asked in full."""
        left = self._keeper.rows_left
        return np.inf if left is None else left / self.n

    def passes(self, sets: Held, quick: bool = False) -> BoolVector:
        """Is each set sufficient by the full test or, if `quick`, by the sequential one?"""
        boundary = self._quick if quick else self._full
        passed = verdicts_by_looks(self._hits, sets, boundary).passed
        if boundary is self._full:
            self.open.close(sets[~passed])
        return passed

    def hits(self, members: BoolVector) -> BoolVector:
        """(n,): which references hit, for one set."""
        return np.asarray(self._memo.in_full(self._held(members), self._keeper) != self._flip)

    def _hits(self, sets: Held, seen: int) -> Outcomes:
        return np.asarray(self._memo.outcomes(self._held(sets), seen, self._keeper) != self._flip)

    def _held(self, sets: Held) -> Held:
        return ~sets if self._flip else sets
