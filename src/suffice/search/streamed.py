"""Exhaustive to 30 players at one τ, for evaluators that know the whole lattice.

Its subsets go by in the order of their bit masks, and of each only the hits are kept, a byte where
there are up to 255 references: 1 GiB for 30 players, two with more. Then one view is decided after
the other, with one bit per subset: which pass at τ, which contain one that does, which of those are
the least. The flip view is the same array read backwards, since complements are.

Why hits are kept. A subset comes after all that it contains, so whether it is in the closure of
what passed before could be told as it goes by, but for the keep view only: what decides a subset in
the flip view comes after it. Exact necessity needs the hits of all that lie in the closure, passing
or not; a second stream in place of a byte per subset would take as long as the first.

Where a limit ends the stream, all that the subsets seen contain was seen, too: what passes and is
least among them is minimal for the keep view. Of the flip view nothing follows, since the smallest
sets replaced are seen last. So under a limit the small sets of both views are counted first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import comb

import numpy as np
from numpy.typing import NDArray

from suffice.evaluate import LatticeEvaluator
from suffice.factors import bitsets
from suffice.factors.lattice import Lattice, masks_of_held, members_of
from suffice.progress import progress_bar
from suffice.search.decided import Decided
from suffice.search.findings import Findings, Found
from suffice.search.intervals import climb
from suffice.search.limits import LimitKeeper
from suffice.search.profile import Profile
from suffice.search.question import Question
from suffice.search.stop import Stop
from suffice.search.sweep import DRAWS, Draws, Sweep, draw_hybrids, run_sweep
from suffice.search.tally import Tally
from suffice.typing import BoolVector, Counts, Reals, Words

__all__ = ["STREAMED_PLAYERS", "streamed_search"]

STREAMED_PLAYERS = 30
"""2^30 hits of a byte or two still fit in memory."""

_LISTED = 1 << 15
"""Factors listed of a view. There can be 155 million, and nobody reads the first hundred."""

_TALLIED = 1 << 18
"""Sets whose hits are handed on, from both ends of the lattice."""

_SLAB_PLAYERS = 16
"""Subsets of so many players are dealt with together: their hits stay in the cache."""

_HYBRIDS_AT_ONCE = 1 << 20


def streamed_search(
    evaluator: LatticeEvaluator, d: int, question: Question, keeper: LimitKeeper | None = None
) -> Decided:
    """Find the τ-minimal factors of both views, and their necessity, exactly.

    A time limit counts from now, unless a `keeper` is given that has counted before. It and a
    budget are kept to within a block of the stream, whose model rows are known only afterwards.
    """
    n, limits = evaluator.n, question.limits
    keeper = LimitKeeper(limits) if keeper is None else keeper
    largest = d if limits.max_size is None else min(limits.max_size, d)
    rule = _Rule(question.fewest_hits(n, sum(comb(d, k) for k in range(largest + 1))), largest)
    limited = limits.budget is not None or limits.time_limit is not None
    small = _small_sets(evaluator, d, question, keeper) if limited else None
    draws = _draw(evaluator, d, question, keeper) if small is None else small.draws
    tally, stopped = Tally(d, n, (np.empty(0, dtype=np.int64),) * (d + 1)), None
    keep = flip = _View((), largest, 1.0)
    if rule.least <= n:  # else not even a set that hits for every reference would pass
        # What is done with the counts takes a small part of the time that they took.
        seen = _stream(evaluator, d, question.progress, keeper.part(0.9))
        stopped = seen.stopped
        if stopped is None:
            tally = seen.ends()
            weights = Profile.of(tally, question).weights
            keep = _decide(seen, rule, weights)
            flip = _decide(seen.other_view(), rule, weights[::-1])
        elif small is not None:
            tally = small.tally
            keep = _decide(seen, rule).joined(_counted(tally, rule))
            flip = _View((), -1, seen.share).joined(_counted(tally.other_view(), rule))
    stopped = stopped or keep.stopped or flip.stopped
    if stopped is None and largest < d:
        stopped = Stop("max_size", largest)
    return Decided(
        tally,
        keep.findings(question.tau, stopped is None),
        flip.findings(question.tau, stopped is None),
        _flip_outcomes(evaluator, d, flip.factors),
        draws,
        stopped,
    )


@dataclass(frozen=True)
class _Rule:
    """What a factor must be."""

    least: int
    """So many hits at least."""
    largest: int
    """So many players at most."""


# -- the stream --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Seen:
    """The hits of all bit masks below `count`, as one view has them."""

    d: int
    n: int
    hits: NDArray[np.unsignedinteger]
    """By bit mask, of the keep view; the flip view's masks are the complements, so backwards."""
    count: int
    stopped: Stop | None
    flipped: bool = False

    @property
    def share(self) -> float:
        """How much of the lattice went by."""
        return self.count / (1 << self.d)

    @property
    def players(self) -> int:
        """Only so many are in what was seen; a subset of them counts for any of the others, too."""
        return max(0, self.count - 1).bit_length()

    def other_view(self) -> _Seen:
        """Replacing a set is holding its complement; a reference hits where it missed."""
        return replace(self, hits=self.hits[::-1], flipped=not self.flipped)

    def slab(self, first: int, count: int) -> NDArray[np.unsignedinteger]:
        """The view's hits of some consecutive masks."""
        hits = self.hits[first : first + count]
        return self.n - hits if self.flipped else hits

    def ends(self) -> Tally:
        """Whole levels from both ends, as long as there are few."""
        lattice, end = Lattice(self.d), _end_size(self.d)
        levels = [np.empty(0, dtype=np.int64)] * (self.d + 1)
        for size in range(self.d + 1):
            if min(size, self.d - size) <= end:
                levels[size] = self.hits[masks_of_held(lattice.held(size))].astype(np.int64)
        return Tally(self.d, self.n, tuple(levels))


def _stream(
    evaluator: LatticeEvaluator, d: int, progress: bool | None, keeper: LimitKeeper
) -> _Seen:
    """Count as much of the lattice as the limits allow."""
    n, count, block, stopped = evaluator.n, 0, 1, None
    # Zeros, so that what is not seen does not pass; they take no memory until they are written.
    hits = np.zeros(1 << d, dtype=np.min_scalar_type(n))
    blocks = evaluator.counts()
    with progress_bar("hybrids", n << d, progress) as bar:
        while count < 1 << d and stopped is None:
            with keeper.counting(evaluator, block * n):  # as long as the last, or so
                start, found = next(blocks)
            keeper.cover((len(found) - block) * n)
            block = len(found)
            hits[start : start + block] = found
            # An engine that gives itself up begins again.
            bar.update((start + block - count) * n)
            count = start + block
            if count < 1 << d:
                stopped = keeper.forbids(n)
    return _Seen(d, n, hits, count, stopped)


# -- one view ----------------------------------------------------------------------------


@dataclass(frozen=True)
class _View:
    """What is known of one view."""

    factors: tuple[Found, ...]
    decided_size: int
    decided_share: float
    covered: tuple[float, float] | None = None
    stopped: Stop | None = None

    def joined(self, other: _View) -> _View:
        """What both know: of the stream's part of the lattice, and of small sets."""
        factors = tuple(dict.fromkeys((*self.factors, *other.factors)))
        size = max(self.decided_size, other.decided_size)
        share = max(self.decided_share, other.decided_share)
        return replace(self, factors=factors, decided_size=size, decided_share=share)

    def findings(self, tau: float, decided: bool) -> Findings:
        return Findings(
            tau, self.factors, decided, self.decided_size, True, self.covered, self.decided_share
        )


def _decide(seen: _Seen, rule: _Rule, weights: Reals | None = None) -> _View:
    """The least of what passes, and with weights by size how much of the outcome they cover."""
    d = seen.players
    slab = 1 << min(d, _SLAB_PLAYERS)
    sizes = np.bitwise_count(np.arange(slab, dtype=np.uint32))
    slabs = range(0, 1 << d, slab)
    all_hits, inside, closed_sets, others = (_BySize(d, slab) for _ in range(4))

    closed = bitsets.empty(d)
    for first in slabs:
        hits = seen.slab(first, slab)
        all_hits.add(first, hits)
        passing = (hits >= rule.least) & (sizes + first.bit_count() <= rule.largest)
        _words(closed, first, slab)[:] = bitsets.pack(passing)
    bitsets.close_upward(closed, d)
    for first in slabs:
        within = bitsets.truths(_words(closed, first, slab), slab)
        if within.any():
            inside.add(first, seen.slab(first, slab) * within)
            closed_sets.add(first, within)
        looked_at = ~within & (sizes + first.bit_count() <= rule.largest)
        others.add(first, looked_at[: max(0, seen.count - first)])

    # A set is decided if it was looked at, or if it contains a factor: whatever it has besides of
    # players that are in nothing that was seen.
    besides = [comb(seen.d - d, k) for k in range(seen.d - d + 1)]
    decided = np.convolve(closed_sets.totals(), besides)
    decided[: d + 1] += others.totals()
    whole = decided == [comb(seen.d, k) for k in range(seen.d + 1)]
    decided_size = int(np.argmin([*whole, False])) - 1
    masks, count = _smallest(bitsets.least_of(closed, d), seen)
    stopped = None
    if len(masks) < count:
        stopped = Stop("many", count)
        decided_size = min(decided_size, int(masks[-1]).bit_count() - 1)
    covered = None
    if weights is not None:
        covered = float(inside.totals() @ weights), float(all_hits.totals() @ weights)
    factors = [Found(members_of(int(m)), int(seen.slab(int(m), 1)[0])) for m in masks]
    share = int(decided.sum()) / (1 << seen.d)
    return _View(tuple(factors), decided_size, share, covered, stopped)


class _BySize:
    """Sums over all subsets of a size, from one slab after another.

    Within a slab sizes differ as they do in any other, so that slabs whose fixed players are
    equally many are added up, and told apart by size only in the end.
    """

    def __init__(self, d: int, slab: int) -> None:
        self._d = d
        self._sums = np.zeros((d + 2 - slab.bit_length(), slab), dtype=np.int64)

    def add(self, first: int, values: NDArray[np.unsignedinteger | np.bool_]) -> None:
        """Add the values of consecutive masks."""
        self._sums[first.bit_count(), : len(values)] += values

    def totals(self) -> Counts:
        """By size."""
        out = np.zeros(self._d + 1, dtype=np.int64)
        sizes = np.bitwise_count(np.arange(self._sums.shape[1], dtype=np.uint32))
        for fixed, sums in enumerate(self._sums):
            np.add.at(out, sizes + fixed, sums)
        return out


def _words(bits: Words, first: int, count: int) -> Words:
    """The words of consecutive masks."""
    at = first // bitsets.WORD_BITS
    return bits[at : at - (-count // bitsets.WORD_BITS)]


def _smallest(least: Words, seen: _Seen) -> tuple[Counts, int]:
    """The first factors, smaller ones first and then the surer, as masks; and how many are there.

    Not all of them are ever at hand together.
    """
    masks = np.empty(0, dtype=np.int64)
    largest = seen.d
    for first in range(0, len(least), 1 << 12):
        some = bitsets.masks_in(least[first : first + (1 << 12)]) + first * bitsets.WORD_BITS
        masks = np.concatenate([masks, some[np.bitwise_count(some) <= largest]])
        if len(masks) > 4 * _LISTED:
            masks = _in_order(masks, seen)[:_LISTED]
            largest = int(masks[-1]).bit_count()
    return _in_order(masks, seen)[:_LISTED], int(np.bitwise_count(least).sum(dtype=np.int64))


def _in_order(masks: Counts, seen: _Seen) -> Counts:
    # Signs are turned, so hits must have room for them.
    hits = seen.hits[masks].astype(np.int64)
    surer_first = hits if seen.flipped else -hits
    return masks[np.lexsort((masks, surer_first, np.bitwise_count(masks)))]


# -- beside the stream -------------------------------------------------------------------


def _end_size(d: int) -> int:
    """Sets of up to this size, held or replaced, are few enough to keep their hits."""
    count = 0
    for size in range(d // 2 + 1):
        count += comb(d, size) * (1 if 2 * size == d else 2)
        if count > _TALLIED:
            return size - 1
    return d


def _small_sets(
    evaluator: LatticeEvaluator, d: int, question: Question, keeper: LimitKeeper
) -> Sweep:
    """Count small sets of both views, and draw from D, with a part of what is allowed."""
    limits = question.limits
    size = min(_end_size(d), d if limits.max_size is None else limits.max_size)
    of_small = replace(question, limits=replace(limits, max_size=size))
    return run_sweep(evaluator, d, of_small, keeper.part(0.2))


def _counted(tally: Tally, rule: _Rule) -> _View:
    """What small sets say of a view, where all of them were counted up to some size."""
    size = min(tally.exhaustive_size, rule.largest)
    if size < 0:
        return _View((), -1, 0.0)
    levels = tally.levels[: size + 1]
    ladder = climb([(level >= rule.least).astype(float) for level in levels], tally.d)
    factors = []
    for k, (passes, below) in enumerate(zip(ladder.passes, ladder.below, strict=True)):
        ranks = np.flatnonzero(passes > below)
        members = tally.lattice.unrank(k, ranks).tolist()
        hits = levels[k][ranks].tolist()
        factors += [Found(tuple(m), h) for m, h in zip(members, hits, strict=True)]
    return _View(tuple(factors), size, tally.visited / tally.lattice.count)


def _draw(
    evaluator: LatticeEvaluator, d: int, question: Question, keeper: LimitKeeper
) -> Draws | None:
    """A sample of D: for the necessity of single sets, which the stream does not add up."""
    n, weights = evaluator.n, question.size_weights
    held, references = draw_hybrids(d, n, question.seed, DRAWS, weights)
    return Draws(held, keeper.ask(evaluator, held, references), references)


def _flip_outcomes(
    evaluator: LatticeEvaluator, d: int, factors: tuple[Found, ...]
) -> tuple[BoolVector, ...]:
    """By factor: the references that keep the outcome when the factor is replaced."""
    held = np.ones((len(factors), d), dtype=bool)
    for row, factor in zip(held, factors, strict=True):
        row[list(factor.members)] = False
    step = max(1, _HYBRIDS_AT_ONCE // evaluator.n)
    parts = [evaluator.outcomes(held[at : at + step]) for at in range(0, len(held), step)]
    return tuple(outcomes for part in parts for outcomes in part)
