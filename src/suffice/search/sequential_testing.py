"""Early stopping of tests of one set: curtailment, and sequential tests with α spending.

A subset that is clearly sufficient or clearly not needs few references to show it. References are
looked at in one seeded random order, at an eighth, a quarter, a half and all of them; after each
look the subsets whose verdict is fixed drop out.

*Curtailed* verdicts are those of the full test, always: a subset passes once its hits reach the
count that the full test asks for, and fails once the references left cannot bring it there.

*Sequential* verdicts (Lan & DeMets, *Discrete sequential boundaries for clinical trials*,
Biometrika 1983) may pass at any look i whose exact p-value is at most α_i, where the α_i add up to
α. By the union bound a subset with PS <= τ then passes with probability at most α, however the
looks depend on each other. There is no stopping for futility except by curtailment, when no later
look could pass any more; that can only lose passes, so it adds no error.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from suffice.inference import fewest_hits
from suffice.search.findings import UndecidedSets
from suffice.search.limits import LimitKeeper
from suffice.search.outcome_cache import OutcomeCache
from suffice.search.question import Question
from suffice.typing import BoolVector, Counts, HeldSets, Outcomes, Reals, ViewName

HitsFunction = Callable[[HeldSets, int], BoolVector]
"""(sets, seen): which of the first `seen` references hit with each set."""

_LOOK_SHARES = (0.125, 0.25, 0.5, 1.0)
_HYBRIDS_AT_ONCE = 1 << 20


class Boundary(NamedTuple):
    """At each look: the references seen, and the hits from and below which a verdict is fixed."""

    seen: Counts
    passes: Counts
    fails: Counts


def sequential_boundary(n: int, tau: float, alpha: float) -> Boundary:
    """The looks at n references, and the hits that decide at each."""
    seen = _looks(n, _LOOK_SHARES)
    levels = np.diff(alpha_spent(seen / n, alpha), prepend=0.0)
    looks = zip(seen.tolist(), levels.tolist(), strict=True)
    fewest = [fewest_hits(k, tau, level) for k, level in looks]
    passes = [need if need <= k else n + 1 for need, k in zip(fewest, seen.tolist(), strict=True)]
    return _with_curtailment(seen, np.array(passes))


def curtailed_boundary(n: int, need: int, looks: tuple[float, ...] = _LOOK_SHARES) -> Boundary:
    """The same for a count that is needed of all n."""
    seen = _looks(n, looks)
    return _with_curtailment(seen, np.full(len(seen), need))


def alpha_spent(time: Reals, alpha: float) -> Reals:
    """How much of α may be spent once this share of the references was looked at.

    Pocock's α ln(1 + (e - 1) t): clear cases are seen early, which is what saves rows.

    >>> alpha_spent(np.array([0.125, 0.5, 1.0]), 0.05).round(4).tolist()
    [0.0097, 0.031, 0.05]
    """
    return np.asarray(alpha * np.log1p((math.e - 1) * time))


def _looks(n: int, shares: tuple[float, ...]) -> Counts:
    return np.unique(np.ceil(n * np.array(shares)).astype(np.int64))


def _with_curtailment(seen: Counts, passes: Counts) -> Boundary:
    # With h hits now, h + (seen[j] - seen[i]) is the most that look j can find.
    fails = np.array(
        [np.min(passes[i + 1 :] - seen[i + 1 :] + seen[i]) for i in range(len(seen) - 1)]
        + [passes[-1]]
    )
    return Boundary(seen, passes, fails)


class SetVerdicts(NamedTuple):
    """For each subset, did it pass and after how many looks."""

    passed: BoolVector
    looks: Counts


def verdicts_by_looks(hits_of: HitsFunction, sets: HeldSets, boundary: Boundary) -> SetVerdicts:
    """Look at no more references than it takes to decide each set.

    >>> def all_held(sets, seen):  # no reference hits unless all is held
    ...     return np.repeat(sets.all(axis=1, keepdims=True), seen, axis=1)
    >>> sets = np.array([[True, True], [True, False]])
    >>> verdicts_by_looks(all_held, sets, sequential_boundary(400, 0.9, 0.05))
    SetVerdicts(passed=array([ True, False]), looks=array([1, 1]))
    """
    passed = np.zeros(len(sets), dtype=bool)
    looks = np.zeros(len(sets), dtype=np.int64)
    step = max(1, _HYBRIDS_AT_ONCE // int(boundary.seen[-1]))
    for start in range(0, len(sets), step):
        undecided = np.arange(start, min(start + step, len(sets)))
        for look, (seen, passes, fails) in enumerate(zip(*boundary, strict=True), start=1):
            hits = hits_of(sets[undecided], seen).sum(axis=1)
            looks[undecided] = look
            passed[undecided] = hits >= passes
            undecided = undecided[(hits < passes) & (hits >= fails)]
            if not len(undecided):
                break
    return SetVerdicts(passed, looks)


# Which sets of players are sufficient in one view, by one test.


class SufficiencyTest:
    """Knows the view and the test, so that the search itself speaks only of sets.

    In the flip view replacing T is holding its complement, and a hit is a reference that misses.
    """

    def __init__(
        self, memo: OutcomeCache, view: ViewName, question: Question, keeper: LimitKeeper
    ) -> None:
        self._memo = memo
        self._flip = view == "flip"
        self._keeper = keeper
        tau, alpha = question.tau, question.alpha
        self.n = memo.n
        """How many references there are."""
        self.need = fewest_hits(self.n, tau, alpha)
        """The fewest hits that pass the test on all references."""
        self.open = UndecidedSets(memo.d)
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

    def passes(self, sets: HeldSets, quick: bool = False) -> BoolVector:
        """Is each set sufficient by the full test or, if `quick`, by the sequential one?"""
        boundary = self._quick if quick else self._full
        passed = verdicts_by_looks(self._hits, sets, boundary).passed
        if boundary is self._full:
            self.open.close(sets[~passed])
        return passed

    def hits(self, members: BoolVector) -> BoolVector:
        """(n,): which references hit, for one set."""
        return np.asarray(self._memo.in_full(self._held(members), self._keeper) != self._flip)

    def _hits(self, sets: HeldSets, seen: int) -> Outcomes:
        return np.asarray(self._memo.outcomes(self._held(sets), seen, self._keeper) != self._flip)

    def _held(self, sets: HeldSets) -> HeldSets:
        return ~sets if self._flip else sets
