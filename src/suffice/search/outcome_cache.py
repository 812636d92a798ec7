"""Cache of outcomes by feature set in a search: effects of features, and tests that stop early.

References are predicted in one seeded order, so an entry is a number of references and their
outcomes. Replacing a set is holding its complement, so both views share one cache if they read the
same hybrids. Counts of small sets come from their sweep.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np

from suffice.engines import Evaluator, LatticeEvaluator
from suffice.factors.lattice import Lattice
from suffice.inference import fewest_hits
from suffice.randomness import Stream, generator
from suffice.search.exhaustive import Sweep
from suffice.search.findings import UndecidedSets
from suffice.search.limits import LimitKeeper
from suffice.search.question import Question
from suffice.typing import BoolVector, Counts, HeldSets, Outcomes, Reals, ViewName

_MOST_BYTES = 1 << 28
"""Memory of the cache; when it is full, the oldest half is dropped and may be predicted again."""
_EFFECT_SAMPLE_SIZE = 1 << 12
"""Hybrids from which the effects of players are estimated."""
_BYTES_PER_SET = 320
"""Bytes of a cached set in addition to its outcomes, roughly."""


class _KnownOutcomes(NamedTuple):
    """Outcomes of the first `seen` references in the cache's order, one bit each."""

    seen: int
    bits: bytes


_NO_OUTCOMES = _KnownOutcomes(0, b"")


class OutcomeCache:
    """Cache of outcomes by set; predicts those that it lacks."""

    def __init__(
        self, evaluator: Evaluator, d: int, seed: int = 0, sweep: Sweep | None = None
    ) -> None:
        self.evaluator = evaluator
        self.n = evaluator.n
        self.d = d
        self.lattice = Lattice(d)
        self._sweep = sweep
        self._seed = seed
        self._effects: tuple[Reals, Reals] | None = None
        self._known: dict[bytes, _KnownOutcomes] = {}
        self._order = generator(seed, Stream.TESTS).permutation(self.n)
        self.seen = 0 if sweep is None else sweep.tally.visited
        """Number of sets predicted so far."""
        self.most = max(1, _MOST_BYTES // (_BYTES_PER_SET + self.n // 8 + d // 8))
        """Most sets in the cache."""

    @cached_property
    def whole_sets(self) -> bool:
        """True if the evaluator is an engine, which computes a set on all references at once."""
        return isinstance(self.evaluator, LatticeEvaluator)

    def read(self, sweep: Sweep) -> None:
        """Use the counts of a sweep of small sets from now on."""
        self._sweep = sweep
        self.seen += sweep.tally.visited

    def smallest_sufficient(
        self, flip: bool, need: int
    ) -> tuple[tuple[int, ...], BoolVector] | None:
        """Return the smallest passing set among those known on all references, with its hits."""
        best: tuple[tuple[int, ...], BoolVector] | None = None
        for key, known in self._known.items():
            if known.seen < self.n:
                continue
            bits = np.unpackbits(np.frombuffer(known.bits, dtype=np.uint8), count=self.n)
            hits = bits.astype(bool) != flip
            held = np.unpackbits(np.frombuffer(key, dtype=np.uint8), count=self.d).astype(bool)
            members = np.flatnonzero(held != flip)
            if hits.sum() >= need and (best is None or len(members) < len(best[0])):
                by_reference = np.empty(self.n, dtype=bool)
                by_reference[self._order] = hits
                best = tuple(members.tolist()), by_reference
        return best

    def __len__(self) -> int:
        """Return the number of cached sets, without those that a sweep counted."""
        return len(self._known)

    def outcomes(self, held: HeldSets, seen: int, keeper: LimitKeeper) -> Outcomes:
        """Return (sets, seen): outcomes with the first `seen` references in the cache's order.

        Raises LimitReached if a limit does not allow all of them; the cache keeps those predicted.
        """
        keys = [row.tobytes() for row in np.packbits(held, axis=1)]
        places = {key: i for i, key in enumerate(keys)}
        at = {key: i for i, key in enumerate(places)}
        each = self._each(held[list(places.values())], list(places), seen, keeper)
        return each[[at[key] for key in keys]]

    def _each(self, held: HeldSets, keys: list[bytes], seen: int, keeper: LimitKeeper) -> Outcomes:
        """Return the outcomes of sets that are all different."""
        known = self._recall(held, keys)
        depth = np.array([entry.seen for entry in known], dtype=np.int64)
        for start in np.unique(depth[depth < seen]).tolist():
            lacking = np.flatnonzero(depth == start)
            answers = self._ask(held[lacking], start, seen, keeper)
            for i, row in zip(lacking.tolist(), answers, strict=False):
                known[i] = _extend_outcomes(known[i], row)
            self.seen += len(answers) if start == 0 else 0
            self._known.update((keys[i], known[i]) for i in lacking[: len(answers)].tolist())
            self._forget()
            if len(answers) < len(lacking):
                keeper.check(seen - start)
        packed = np.frombuffer(
            b"".join(entry.bits[: (seen + 7) // 8] for entry in known), dtype=np.uint8
        )
        rows = np.unpackbits(packed.reshape(len(held), -1), axis=1, count=seen)
        return rows.astype(bool)

    def outcomes_by_reference(self, held: BoolVector, keeper: LimitKeeper) -> BoolVector:
        """Return (n,): the outcomes of one set by reference."""
        out = np.empty(self.n, dtype=bool)
        out[self._order] = self.outcomes(held[None], self.n, keeper)[0]
        return out

    def effects(self, keeper: LimitKeeper) -> tuple[Reals, Reals]:
        """Return how much more often the outcome holds with each player held than without.

        The second array has their standard errors. Both views share them: in the flip view,
        replacing a player brings the other outcome more often by exactly as much.
        """
        if self._effects is None:
            self._effects = self._estimate(keeper.part(0.1))
        return self._effects

    def _estimate(self, keeper: LimitKeeper) -> tuple[Reals, Reals]:
        """Estimate effects from single hybrids of random subsets, all sizes equally likely."""
        rng = generator(self._seed, Stream.STARTS, 1)
        left = keeper.rows_left
        rows = int(
            min(
                _EFFECT_SAMPLE_SIZE,
                self.n * self.lattice.count // 8,
                _EFFECT_SAMPLE_SIZE if left is None else left,
            )
        )
        density = rng.random((rows, 1))
        held = rng.random((rows, self.d)) < density
        hits = keeper.ask(self.evaluator, held, rng.integers(self.n, size=rows))
        if len(hits) <= self.d:  # too few to rank players by
            return np.zeros(self.d), np.ones(self.d)
        held, density = held[: len(hits)], density[: len(hits)]
        # Minus the density, or a player would be credited with the effects of players that
        # happened to be held with it.
        gains = (held - density) * (hits - hits.mean())[:, None]
        return gains.mean(axis=0), gains.std(axis=0) / np.sqrt(len(hits))

    def failures_in_sweep(self, need: int, flip: bool) -> Iterator[tuple[int, Counts]]:
        """Yield each size with the numbers of the swept sets that have fewer hits than needed."""
        if self._sweep is None:
            return
        tally = self._sweep.tally.other_view() if flip else self._sweep.tally
        for size, level in enumerate(tally.levels):
            if len(level):
                yield size, tally.start(size) + np.flatnonzero(level < need)

    def _ask(self, held: HeldSets, start: int, stop: int, keeper: LimitKeeper) -> Outcomes:
        """Predict references start to stop; return the outcomes of as many sets as limits allow."""
        if start == 0 and stop == self.n and self.whole_sets:
            return keeper.ask_sets(self.evaluator, held)[:, self._order]
        references = self._order[start:stop]
        asked = np.repeat(held, len(references), axis=0)
        answers = keeper.ask(self.evaluator, asked, np.tile(references, len(held)))
        sets = len(answers) // len(references)
        return answers[: sets * len(references)].reshape(sets, len(references))

    # -- what is known ------------------------------------------------------------------

    def _recall(self, held: HeldSets, keys: list[bytes]) -> list[_KnownOutcomes]:
        known = [self._known.get(key, _NO_OUTCOMES) for key in keys]
        if self._sweep is None:
            return known
        sizes = held.sum(axis=1)
        for size in np.unique(sizes).tolist():
            visited = self._sweep.tally.n_evaluated(size)
            if not visited:
                continue
            new = [i for i in np.flatnonzero(sizes == size).tolist() if known[i].seen < self.n]
            ranks = [self.lattice.rank(np.flatnonzero(held[i]).tolist()) for i in new]
            swept = [(i, rank) for i, rank in zip(new, ranks, strict=True) if rank < visited]
            at = np.array([rank for _, rank in swept], dtype=np.int64)
            outcomes = self._sweep.outcomes(size, at)[:, self._order]
            for (i, _), row in zip(swept, np.packbits(outcomes, axis=1), strict=True):
                known[i] = _KnownOutcomes(self.n, row.tobytes())
        return known

    def _forget(self) -> None:
        if len(self._known) > self.most:
            for key in list(self._known)[: len(self._known) - self.most // 2]:
                del self._known[key]


def _extend_outcomes(known: _KnownOutcomes, more: BoolVector) -> _KnownOutcomes:
    before = np.unpackbits(np.frombuffer(known.bits, dtype=np.uint8), count=known.seen)
    bits = np.concatenate([before.astype(bool), more])
    return _KnownOutcomes(len(bits), np.packbits(bits).tobytes())


# Early stopping of tests of one set: curtailment, and sequential tests with α spending.
#
# Few references decide a subset that is clearly sufficient or clearly not. They come in one seeded
# random order; after an eighth, a quarter, a half and all of them ("looks") the subsets whose
# verdict is fixed drop out.
#
# *Curtailed* verdicts always equal those of the full test: a subset passes once its hits reach the
# count that the full test needs, and fails once the references left cannot bring it there.
#
# *Sequential* verdicts (Lan & DeMets, *Discrete sequential boundaries for clinical trials*,
# Biometrika 1983) may pass at any look i whose exact p-value is at most α_i, where the α_i add up
# to α. By the union bound a subset with PS <= τ then passes with probability at most α, however the
# looks depend on each other. There is no stopping for futility except by curtailment, when no later
# look could pass any more; that can only lose passes, so it adds no error.


HitsFunction = Callable[[HeldSets, int], BoolVector]
"""Returns (sets, seen): which of the first `seen` references hit with each set."""

_LOOK_SHARES = (0.125, 0.25, 0.5, 1.0)
_HYBRIDS_AT_ONCE = 1 << 20


class Boundary(NamedTuple):
    """Looks of a test: references seen, hits from which a set passes, hits below which it fails."""

    seen: Counts
    passes: Counts
    fails: Counts


def sequential_boundary(n: int, tau: float, alpha: float) -> Boundary:
    """Return the boundary of the sequential test at level α on n references."""
    seen = _looks(n, _LOOK_SHARES)
    levels = np.diff(alpha_spent(seen / n, alpha), prepend=0.0)
    looks = zip(seen.tolist(), levels.tolist(), strict=True)
    fewest = [fewest_hits(k, tau, level) for k, level in looks]
    passes = [need if need <= k else n + 1 for need, k in zip(fewest, seen.tolist(), strict=True)]
    return _with_curtailment(seen, np.array(passes))


def curtailed_boundary(n: int, need: int, looks: tuple[float, ...] = _LOOK_SHARES) -> Boundary:
    """Return the boundary of a test that needs this count among all n references."""
    seen = _looks(n, looks)
    return _with_curtailment(seen, np.full(len(seen), need))


def alpha_spent(time: Reals, alpha: float) -> Reals:
    """Return the part of α that may be spent after this share of the references.

    Pocock's α ln(1 + (e - 1) t): it decides clear cases early, which saves rows.

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
    """Verdict of each subset: whether it passed, and after how many looks."""

    passed: BoolVector
    looks: Counts


def verdicts_by_looks(hits_of: HitsFunction, sets: HeldSets, boundary: Boundary) -> SetVerdicts:
    """Decide each set with as few references as the boundary allows.

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


# Test of sufficiency in one view.


class SufficiencyTest:
    """Test of sufficiency in one view, so that the search deals with sets only.

    In the flip view replacing T is holding its complement, and a hit is a reference that misses.
    """

    def __init__(
        self, cache: OutcomeCache, view: ViewName, question: Question, keeper: LimitKeeper
    ) -> None:
        self._cache = cache
        self._flip = view == "flip"
        self._keeper = keeper
        tau, alpha = question.tau, question.alpha
        self.n = cache.n
        """Number of references."""
        self.need = fewest_hits(self.n, tau, alpha)
        """Fewest hits that pass the test on all references."""
        self.undecided = UndecidedSets(cache.d)
        """Sets without a verdict."""
        if self.need > self.n:
            self.undecided.mark_all()  # not even a set that hits for every reference would pass
        for size, failing in cache.failures_in_sweep(self.need, self._flip):
            self.undecided.mark_failed(cache.lattice.held_at(size, failing))
        if cache.whole_sets:
            self._full = self._quick = curtailed_boundary(self.n, self.need, (1.0,))
            return
        self._full = curtailed_boundary(self.n, self.need)
        # Without α there is no sequential test: the quick one is the full one.
        self._quick = self._full if alpha is None else sequential_boundary(self.n, tau, alpha)

    @property
    def subsets_left(self) -> float:
        """Number of subsets that the budget still allows, with all references each."""
        left = self._keeper.rows_left
        return np.inf if left is None else left / self.n

    def passes(self, sets: HeldSets, quick: bool = False) -> BoolVector:
        """Return which sets pass the full test or, if `quick`, the sequential one."""
        boundary = self._quick if quick else self._full
        passed = verdicts_by_looks(self._hits, sets, boundary).passed
        if boundary is self._full:
            self.undecided.mark_failed(sets[~passed])
        return passed

    def hits(self, members: BoolVector) -> BoolVector:
        """Return (n,): which references hit with one set."""
        return np.asarray(
            self._cache.outcomes_by_reference(self._held(members), self._keeper) != self._flip
        )

    def _hits(self, sets: HeldSets, seen: int) -> Outcomes:
        return np.asarray(self._cache.outcomes(self._held(sets), seen, self._keeper) != self._flip)

    def _held(self, sets: HeldSets) -> HeldSets:
        return ~sets if self._flip else sets
