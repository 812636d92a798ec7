"""Exhaustive search of up to 30 features at one τ, streamed by engines that sweep all sets.

The engine yields subsets in the order of their bit masks, and only their hits are kept
(`StreamedHits`). Then one view after the other is decided (`decide_view`): all its minimal sets,
and their necessity, exactly. The flip view is the same hits read backwards.

Under a time limit or a budget the small sets of both views are counted first: a stream that is
stopped decides nothing in the flip view, whose small sets come last.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.engines import LatticeEvaluator
from suffice.factors import bitsets
from suffice.factors.lattice import Lattice, climb, held_of_members, masks_of_held, members_of
from suffice.progress import Progress, progress_bar
from suffice.search.exhaustive import Sweep, Tally, exhaustive_search
from suffice.search.findings import DecidedSets, Findings, FoundSet
from suffice.search.hybrid_sampling import SAMPLE_SIZE, sample_hybrids
from suffice.search.limits import LimitKeeper, Stop
from suffice.search.profile import Profile
from suffice.search.question import Question
from suffice.typing import BitWords, BoolVector, Counts, Reals

_STREAMING_SHARE = 0.9
"""Share of the allowed time for counting: deciding afterwards takes a small part of it."""

_HYBRIDS_AT_ONCE = 1 << 20


def streamed_search(
    evaluator: LatticeEvaluator, d: int, question: Question, keeper: LimitKeeper | None = None
) -> DecidedSets:
    """Find the τ-minimal factors of both views and their necessity, exactly.

    A time limit starts now, unless a `keeper` that already counts is given. A time limit or budget
    may be exceeded by one block of the stream, whose model rows are known only afterwards.
    """
    n, largest = evaluator.n, question.limits.largest(d)
    rule = PassCriterion(question.fewest_hits(n, Lattice(d).count_up_to(largest)), largest)
    keeper = LimitKeeper(question.limits) if keeper is None else keeper
    # The sample is for the necessity of single sets: the stream adds up that of all factors only.
    asking = partial(keeper.ask, evaluator)
    sample = partial(sample_hybrids, asking, d, n, question, SAMPLE_SIZE)
    if rule.least > n:  # not even a set that hits for every reference would pass
        tally = Tally(d, n, (np.empty(0, dtype=np.int64),) * (d + 1))
        none_pass = ViewDecisions((), largest, 1.0)
        keep = none_pass if "keep" in question.views else _NOT_ASKED
        flip = none_pass if "flip" in question.views else _NOT_ASKED
        stopped, draws = None, sample()
    else:
        small = _sweep_small_sets(evaluator, d, question, keeper)
        seen = stream_hits(evaluator, d, question.progress, keeper.part(_STREAMING_SHARE))
        tally, keep, flip = _decide_views(seen, small, rule, question)
        # Any set that was not streamed may contain a factor found.
        asked = [view for view in (keep, flip) if view is not _NOT_ASKED]
        whole = all(view.decided_size == d for view in asked)
        stopped = None if whole else seen.stopped or keep.stopped or flip.stopped
        draws = sample() if small is None else small.draws
    return DecidedSets(
        tally,
        keep.findings(question.tau, keep.decided_size == d == largest),
        flip.findings(question.tau, flip.decided_size == d == largest),
        _flip_outcomes(evaluator, d, flip.factors),
        draws,
        stopped or question.limits.size_stop(d),
    )


def _decide_views(
    seen: StreamedHits, small: Sweep | None, rule: PassCriterion, question: Question
) -> tuple[Tally, ViewDecisions, ViewDecisions]:
    """Return the counts to report, and the decisions of keep and flip.

    A view that the question leaves out stays undecided: another search reads its hybrids.
    """
    keep = flip = _NOT_ASKED
    with progress_bar("sets", 2 * len(question.views) << seen.players, question.progress) as bar:
        if seen.stopped is None:
            tally = seen.ends()
            weights = Profile.of(tally, question).weights
            if "keep" in question.views:
                keep = decide_view(seen, rule, bar, weights)
            if "flip" in question.views:
                flip = decide_view(seen.other_view(), rule, bar, weights[::-1])
            return tally, keep, flip
        assert small is not None, "nothing but a limit stops a stream"
        if "keep" in question.views:
            keep = decide_view(seen, rule, bar).joined(decide_small_sets(small.tally, rule))
    if "flip" in question.views:
        # Masks are streamed from the empty set up, so a replaced set's supersets come before its
        # subsets: none of the streamed sets is known to be minimal in this view.
        flip = ViewDecisions((), -1, seen.share).joined(
            decide_small_sets(small.tally.other_view(), rule)
        )
    return small.tally, keep, flip


def _sweep_small_sets(
    evaluator: LatticeEvaluator, d: int, question: Question, keeper: LimitKeeper
) -> Sweep | None:
    """Count small sets of both views and sample D, with a share of the limits; None without
    limits."""
    if not keeper.may_run_out and keeper.rows_left is None:
        return None
    limits = question.limits
    size = min(largest_tallied_size(d), limits.largest(d))
    of_small = replace(question, limits=replace(limits, max_size=size))
    return exhaustive_search(evaluator, d, of_small, keeper.part(0.2))


def _flip_outcomes(
    evaluator: LatticeEvaluator, d: int, factors: tuple[FoundSet, ...]
) -> tuple[BoolVector, ...]:
    """Return the references that keep the outcome when a factor is replaced, by factor."""
    held = ~held_of_members([factor.members for factor in factors], d)
    step = max(1, _HYBRIDS_AT_ONCE // evaluator.n)
    parts = [evaluator.outcomes(held[at : at + step]) for at in range(0, len(held), step)]
    return tuple(outcomes for part in parts for outcomes in part)


# Hits of every streamed subset.


Hits = NDArray[np.unsignedinteger[Any]]
"""Hits, in the smallest dtype that holds them."""

_MOST_TALLIED = 1 << 18
"""Most sets whose hits are reported by size, from both ends of the lattice."""


@dataclass(frozen=True, eq=False)
class StreamedHits:
    """Hits of all bit masks below `count`, as one view reads them."""

    d: int
    n: int
    held: Hits
    """Number of references that keep the outcome, by bit mask of the held set; in the flip view
    reversed, so by the replaced set."""
    count: int
    stopped: Stop | None
    """Limit that ended the stream; None: all sets were streamed."""
    flip: bool = False

    @property
    def share(self) -> float:
        """Share of the lattice that was streamed."""
        return self.count / (1 << self.d)

    @property
    def players(self) -> int:
        """Number of first players whose subsets include all that were streamed."""
        return max(0, self.count - 1).bit_length()

    def other_view(self) -> StreamedHits:
        """Return the hits of the other view: those of complements, so in reverse order of masks.

        Only for a complete stream; in one that stopped, the streamed sets would be the last ones.
        """
        return replace(self, held=self.held[::-1], flip=not self.flip)

    def hits(self, first: int, count: int) -> Hits:
        """Return the hits of consecutive masks; in the flip view, all others of the n."""
        held = self.held[first : first + count]
        return self.n - held if self.flip else held

    def ends(self) -> Tally:
        """Return the counts of small sets of both views, in the lattice's order."""
        lattice, end = Lattice(self.d), largest_tallied_size(self.d)
        levels = [np.empty(0, dtype=np.int64)] * (self.d + 1)
        for size in range(self.d + 1):
            if min(size, self.d - size) <= end:
                levels[size] = self.held[masks_of_held(lattice.held(size))].astype(np.int64)
        return Tally(self.d, self.n, tuple(levels))


def largest_tallied_size(d: int) -> int:
    """Return the size up to which sets, held or replaced, are few enough to report their hits."""
    count = 0
    for size in range(d // 2 + 1):
        count += comb(d, size) * (1 if 2 * size == d else 2)
        if count > _MOST_TALLIED:
            return size - 1
    return d


def stream_hits(
    evaluator: LatticeEvaluator, d: int, progress: bool | None, keeper: LimitKeeper
) -> StreamedHits:
    """Count as much of the lattice as the limits allow."""
    n, count, block = evaluator.n, 0, 1
    stopped: Stop | None = None
    # Zeros, so that sets not streamed fail; pages take no memory until they are written.
    held = np.zeros(1 << d, dtype=np.min_scalar_type(n))
    blocks = evaluator.sweep_counts()
    with progress_bar("hybrids", n << d, progress) as bar:
        while count < 1 << d:
            stopped = keeper.forbids(n)
            if stopped is not None:
                break
            with keeper.counting(evaluator, block * n):  # about as many as in the last block
                start, hits = next(blocks)
            keeper.cover((len(hits) - block) * n)
            block, end = len(hits), start + len(hits)
            held[start:end] = hits
            bar.update((end - count) * n)  # an engine that gives up its reading starts over
            count = end
    return StreamedHits(d, n, held, count, stopped)


# Decisions of one view at one τ from the hits of all subsets: minimal sets and necessity.


_MOST_LISTED = 1 << 17
"""Most minimal sets listed of a view: breast cancer has 46,128, and 30 players may have 155
million."""

_MASKS_AT_ONCE = 1 << 16
"""Masks processed at once: their hits stay in the processor's cache."""

_WORDS_AT_ONCE = 1 << 12
"""Words whose masks are expanded at once."""


@dataclass(frozen=True)
class PassCriterion:
    """Criterion of a factor: fewest hits and largest size."""

    least: int
    """Fewest hits."""
    largest: int
    """Most players."""


@dataclass(frozen=True)
class ViewDecisions:
    """Decisions of one view: factors, decided sizes and shares."""

    factors: tuple[FoundSet, ...]
    decided_size: int
    decided_share: float
    covered: tuple[float, float] | None = None
    stopped: Stop | None = None
    """Limit on listed sets, if there are more minimal sets than are listed."""

    def joined(self, other: ViewDecisions) -> ViewDecisions:
        """Return the sets that either of the two decided."""
        return replace(
            self,
            factors=tuple(dict.fromkeys((*self.factors, *other.factors))),
            decided_size=max(self.decided_size, other.decided_size),
            decided_share=max(self.decided_share, other.decided_share),
        )

    def findings(self, tau: float, decided: bool) -> Findings:
        """Return these decisions as `Findings`."""
        size, share = self.decided_size, self.decided_share
        return Findings(tau, self.factors, decided, size, True, self.covered, share)


_NOT_ASKED = ViewDecisions((), -1, 0.0)
"""Decisions of a view that the question leaves out."""


def decide_view(
    seen: StreamedHits, rule: PassCriterion, bar: Progress, weights: Reals | None = None
) -> ViewDecisions:
    """Return the minimal sets and their necessity, with weights by size as in D.

    `bar` advances twice for each set.
    """
    d = seen.players
    slab = min(_MASKS_AT_ONCE, 1 << d)
    slabs, sizes = range(0, 1 << d, slab), np.bitwise_count(np.arange(slab, dtype=np.uint32))
    outcome, inside, above, looked_at = (_SumsBySize(d, sizes) for _ in range(4))

    closed = bitsets.empty(d)
    for first in slabs:
        hits = seen.hits(first, slab)
        outcome.add(first, hits)
        passing = (hits >= rule.least) & (sizes + first.bit_count() <= rule.largest)
        bitsets.word_slice(closed, first, slab)[:] = bitsets.pack(passing)
        bar.update(slab)
    bitsets.close_upward(closed, d)
    for first in slabs:
        closure = bitsets.unpack(bitsets.word_slice(closed, first, slab), slab)
        if closure.any():
            inside.add(first, seen.hits(first, slab) * closure)
            above.add(first, closure)
        failing = ~closure & (sizes + first.bit_count() <= rule.largest)
        looked_at.add(first, failing[: max(0, seen.count - first)])
        bar.update(slab)

    masks, count = _smallest_masks(bitsets.minimal_elements(closed, d), seen)
    # A set of the closure with players added beyond the streamed ones is in the closure, too.
    unseen = [comb(seen.d - d, k) for k in range(seen.d - d + 1)]
    decided = np.convolve(above.totals(), unseen)
    decided[: d + 1] += looked_at.totals()
    whole = decided == [comb(seen.d, k) for k in range(seen.d + 1)]
    known = ViewDecisions(
        tuple(FoundSet(members_of(int(m)), int(seen.hits(int(m), 1)[0])) for m in masks),
        int(np.argmin([*whole, False])) - 1,
        int(decided.sum()) / (1 << seen.d),
    )
    if weights is not None:
        covered = float(inside.totals() @ weights), float(outcome.totals() @ weights)
        known = replace(known, covered=covered)
    if len(masks) < count:  # all of the smaller sizes are listed
        size = min(known.decided_size, int(masks[-1]).bit_count() - 1)
        known = replace(known, decided_size=size, stopped=Stop("many", count))
    return known


class _SumsBySize:
    """Sums over all subsets of a size, added slab by slab.

    The sizes of the sets within a slab are the same pattern in every slab, plus the number of
    players that all sets of the slab have. So slabs with the same number are added up first, and
    split by size at the end.
    """

    def __init__(self, d: int, sizes: NDArray[np.uint8]) -> None:
        self._sizes = sizes
        self._d = d
        self._sums = np.zeros((d + 2 - len(sizes).bit_length(), len(sizes)), dtype=np.int64)

    def add(self, first: int, values: NDArray[Any]) -> None:
        """Add the values of consecutive masks."""
        self._sums[first.bit_count(), : len(values)] += values

    def totals(self) -> Counts:
        """Return the sums by size."""
        out = np.zeros(self._d + 1, dtype=np.int64)
        for more, sums in enumerate(self._sums):
            np.add.at(out, self._sizes + more, sums)
        return out


def _smallest_masks(least: BitWords, seen: StreamedHits) -> tuple[Counts, int]:
    """Return the masks to list (smaller sets first, then more sufficient ones), and their total.

    The masks are never all in memory at once.
    """
    masks, largest = np.empty(0, dtype=np.int64), seen.d
    for at in range(0, len(least), _WORDS_AT_ONCE):
        some = bitsets.masks_in(least[at : at + _WORDS_AT_ONCE]) + at * bitsets.WORD_BITS
        masks = np.concatenate([masks, some[np.bitwise_count(some) <= largest]])
        if len(masks) > 4 * _MOST_LISTED:
            masks = _sort_masks(masks, seen)[:_MOST_LISTED]
            largest = int(masks[-1]).bit_count()
    return _sort_masks(masks, seen)[:_MOST_LISTED], int(np.bitwise_count(least).sum(dtype=np.int64))


def _sort_masks(masks: Counts, seen: StreamedHits) -> Counts:
    held = seen.held[masks].astype(np.int64)
    return masks[np.lexsort((masks, held if seen.flip else -held, np.bitwise_count(masks)))]


def decide_small_sets(tally: Tally, rule: PassCriterion) -> ViewDecisions:
    """Return the decisions from small sets, all of which were counted up to some size."""
    size = min(tally.exhaustive_size, rule.largest)
    if size < 0:
        return ViewDecisions((), -1, 0.0)
    levels = tally.levels[: size + 1]
    ladder = climb([(level >= rule.least).astype(float) for level in levels], tally.d)
    factors = []
    for k, (passes, below) in enumerate(zip(ladder.passes, ladder.below, strict=True)):
        ranks = np.flatnonzero(passes > below)
        members = tally.lattice.unrank(k, ranks).tolist()
        hits = levels[k][ranks].tolist()
        factors += [FoundSet(tuple(m), h) for m, h in zip(members, hits, strict=True)]
    return ViewDecisions(tuple(factors), size, sum(map(len, levels)) / tally.lattice.count)
