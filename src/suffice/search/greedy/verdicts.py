"""Verdicts on subsets that stop asking early: curtailment, and sequential tests with α spending.

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

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from suffice.evaluate import Evaluator
from suffice.inference import fewest_hits
from suffice.randomness import Stream, generator
from suffice.search.limits import LimitKeeper
from suffice.search.question import Question, ViewName
from suffice.typing import BoolVector, Counts, Held, Reals

__all__ = [
    "Boundary",
    "Judge",
    "Verdicts",
    "curtailed_boundary",
    "sequential_boundary",
    "spent",
    "verdicts_by_looks",
]

HitsOf = Callable[[Held, Counts], BoolVector]
"""(subsets (rows, d), references (rows,)) -> is it a hit?"""

_LOOKS = (0.125, 0.25, 0.5, 1.0)
_ROWS_AT_ONCE = 1 << 17


class Judge:
    """Which sets of players are sufficient?

    It knows the view and the test, so that the search itself speaks only of sets: in the flip view
    replacing T is holding its complement, and a hit is a reference that misses. It remembers its
    verdicts, and asks the model about many subsets in one call.
    """

    def __init__(
        self, evaluator: Evaluator, view: ViewName, question: Question, keeper: LimitKeeper
    ) -> None:
        self._evaluator = evaluator
        self._flip = view == "flip"
        self._keeper = keeper
        self._known: dict[tuple[bool, bytes], bool] = {}
        tau, alpha = question.tau, question.alpha
        self.n = evaluator.n
        """How many references there are."""
        self.need = fewest_hits(self.n, tau, alpha)
        """The fewest hits that pass the test on all references."""
        self._full = curtailed_boundary(self.n, self.need)
        # Without α there is nothing to be quick about: both are the full answer.
        self._quick = None if alpha is None else sequential_boundary(self.n, tau, alpha)
        self._order = generator(question.seed, Stream.TESTS).permutation(self.n)

    @property
    def subsets_left(self) -> float:
        """How many subsets the budget can still pay for, were each asked in full."""
        left = self._keeper.rows_left
        return np.inf if left is None else left / self.n

    def passes(self, sets: Held, quick: bool = False) -> BoolVector:
        """Is each set sufficient by the full test or, if `quick`, by the sequential one?"""
        quick = quick and self._quick is not None
        keys = [(quick, row.tobytes()) for row in np.packbits(sets, axis=1)]
        new = {key: i for i, key in enumerate(keys) if key not in self._known}
        boundary = self._quick if quick and self._quick is not None else self._full
        found = verdicts_by_looks(self.hits_of, sets[list(new.values())], boundary, self._order)
        self._known.update(zip(new, found.passed.tolist(), strict=True))
        return np.array([self._known[key] for key in keys], dtype=bool)

    def hits(self, members: BoolVector) -> BoolVector:
        """(n,): which references hit, for one set."""
        return self.hits_of(np.tile(members, (self.n, 1)), np.arange(self.n))

    def hits_of(self, sets: Held, references: Counts) -> BoolVector:
        """(rows,): does reference references[i] hit with sets[i]? All of them, or LimitReached."""
        self._keeper.check(len(sets))
        hits = self._ask(sets, references, self._keeper)
        if len(hits) < len(sets):
            self._keeper.check()
        return hits

    def some_hits_of(self, sets: Held, references: Counts, share: float) -> BoolVector:
        """The same for the first of them, as far as a share of what is left allows."""
        return self._ask(sets, references, self._keeper.part(share))

    def _ask(self, sets: Held, references: Counts, keeper: LimitKeeper) -> BoolVector:
        held = ~sets if self._flip else sets
        return np.asarray(keeper.ask(self._evaluator, held, references) != self._flip)


class Boundary(NamedTuple):
    """At each look: the references seen, and the hits from and below which a verdict is fixed."""

    seen: Counts
    passes: Counts
    fails: Counts


def sequential_boundary(n: int, tau: float, alpha: float) -> Boundary:
    """The looks at n references, and the hits that decide at each."""
    seen = _looks(n)
    levels = np.diff(spent(seen / n, alpha), prepend=0.0)
    looks = zip(seen.tolist(), levels.tolist(), strict=True)
    fewest = [fewest_hits(k, tau, level) for k, level in looks]
    passes = [need if need <= k else n + 1 for need, k in zip(fewest, seen.tolist(), strict=True)]
    return _with_curtailment(seen, np.array(passes))


def curtailed_boundary(n: int, need: int) -> Boundary:
    """The same for a count that is needed of all n."""
    seen = _looks(n)
    return _with_curtailment(seen, np.full(len(seen), need))


def spent(time: Reals, alpha: float) -> Reals:
    """How much of α may be spent once this share of the references was looked at.

    Pocock's α ln(1 + (e - 1) t): clear cases are seen early, which is what saves rows.

    >>> spent(np.array([0.125, 0.5, 1.0]), 0.05).round(4).tolist()
    [0.0097, 0.031, 0.05]
    """
    return np.asarray(alpha * np.log1p((np.e - 1) * time))


def _looks(n: int) -> Counts:
    return np.unique(np.ceil(n * np.array(_LOOKS)).astype(np.int64))


def _with_curtailment(seen: Counts, passes: Counts) -> Boundary:
    # With h hits now, h + (seen[j] - seen[i]) is the most that look j can find.
    fails = np.array(
        [np.min(passes[i + 1 :] - seen[i + 1 :] + seen[i]) for i in range(len(seen) - 1)]
        + [passes[-1]]
    )
    return Boundary(seen, passes, fails)


class Verdicts(NamedTuple):
    """For each subset, did it pass and after how many looks; and the rows asked for in all."""

    passed: BoolVector
    looks: Counts
    rows: int


def verdicts_by_looks(hits_of: HitsOf, sets: Held, boundary: Boundary, order: Counts) -> Verdicts:
    """Look at the references in `order`, at no more of them than it takes to decide each set.

    >>> def all_held(sets, references):  # no reference hits unless all is held
    ...     return sets.all(axis=1)
    >>> sets = np.array([[True, True], [True, False]])
    >>> verdicts_by_looks(all_held, sets, sequential_boundary(400, 0.9, 0.05), np.arange(400))
    Verdicts(passed=array([ True, False]), looks=array([1, 1]), rows=100)
    """
    passed = np.zeros(len(sets), dtype=bool)
    looks = np.zeros(len(sets), dtype=np.int64)
    rows = 0
    step = max(1, _ROWS_AT_ONCE // len(order))
    for start in range(0, len(sets), step):
        undecided = np.arange(start, min(start + step, len(sets)))
        hits = np.zeros(len(sets), dtype=np.int64)
        before = 0
        for look, (seen, passes, fails) in enumerate(zip(*boundary, strict=True), start=1):
            references = np.tile(order[before:seen], len(undecided))
            asked = np.repeat(sets[undecided], seen - before, axis=0)
            rows += len(references)
            found = hits_of(asked, references).reshape(len(undecided), -1)
            hits[undecided] += found.sum(axis=1)
            looks[undecided] = look
            before = seen
            passed[undecided] = hits[undecided] >= passes
            undecided = undecided[(hits[undecided] < passes) & (hits[undecided] >= fails)]
            if not len(undecided):
                break
    return Verdicts(passed, looks, rows)
