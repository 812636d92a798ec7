"""`search="exhaustive"`: count every set in one pass for both views; `Tally` of their counts.

Subsets are visited by size from both ends, 0, d, 1, d-1, …, so that when a limit stops the sweep
both views are exhaustive up to some size, and say which.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from suffice.engines import Evaluator, LatticeEvaluator
from suffice.errors import NotVisitedError
from suffice.factors.lattice import Lattice, by_level, by_mask
from suffice.progress import LARGEST_TOTAL, Progress, progress_bar
from suffice.search.hybrid_sampling import HybridSample, sample_hybrids, sample_size
from suffice.search.limits import LimitKeeper, LimitReached, Stop
from suffice.search.question import Question
from suffice.typing import BoolVector, Counts, SmallCounts, ViewName

_HYBRIDS_AT_ONCE = 1 << 20
"""Hybrids evaluated together: enough to find most equal rows."""
_BUDGETED_HYBRIDS_AT_ONCE = 1 << 16
"""Fewer under a budget, since the rows that they took are known only afterwards."""


@dataclass(frozen=True, eq=False)
class Sweep:
    """Result of a sweep: counts of the keep view, outcomes of hybrids, and why it stopped."""

    tally: Tally
    packed: NDArray[np.uint8] | tuple[NDArray[np.uint8], ...]
    """The outcomes of each subset's hybrids, one bit per reference: by bit mask, or by level and
    subset. A complete sweep may have either form."""
    draws: HybridSample | None
    """Sample of D for necessity; None for a complete sweep."""
    stopped: Stop | None
    """Limit that ended the sweep before every subset was visited; None if none did."""

    def outcomes(self, size: int, ranks: Counts) -> NDArray[np.bool_]:
        """Return the stored outcomes (subsets, references) of some subsets of one size."""
        rows, at = self._rows(size, ranks)
        return self._unpacked(rows[at])

    def outcomes_of(self, masks: Counts) -> NDArray[np.bool_]:
        """Return the outcomes of subsets of any sizes by bit mask, for a complete sweep."""
        if not isinstance(self.packed, tuple):
            return self._unpacked(self.packed[masks])
        return self._unpacked(self._by_mask[masks])

    def flips(self, members: Counts, references: Counts) -> BoolVector:
        """Return whether replacing each set by the reference at its index loses the outcome.

        The sets have one size, as rows of increasing players. False for sets not visited.
        """
        d, lattice, size = self.tally.d, self.tally.lattice, members.shape[1]
        if not isinstance(self.packed, tuple):
            held = (1 << d) - 1 - (1 << members).sum(axis=1)
            return np.asarray(_bit(self.packed, held, references) == 0)
        # Replacing a set is holding its complement, which is numbered backwards.
        held = lattice.width(size) - 1 - lattice.ranks(members)
        rows = self.packed[d - size]
        seen = held < len(rows)
        return np.asarray(seen & (_bit(rows, np.where(seen, held, 0), references) == 0))

    @property
    def bits(self) -> tuple[NDArray[np.uint8], ...]:
        """Packed outcomes by level and subset."""
        return self.packed if isinstance(self.packed, tuple) else by_level(self.packed)

    @cached_property
    def _by_mask(self) -> NDArray[np.uint8]:
        return by_mask(self.bits)

    def _rows(self, size: int, ranks: Counts) -> tuple[NDArray[np.uint8], Counts]:
        """Return packed outcomes, and the rows of them for these subsets of one size."""
        if isinstance(self.packed, tuple):
            return self.packed[size], ranks
        return self.packed, self.tally.lattice.masks(size, ranks)

    def _unpacked(self, rows: NDArray[np.uint8]) -> NDArray[np.bool_]:
        return np.unpackbits(rows, axis=1, count=self.tally.n).view(bool)


def _bit(rows: NDArray[np.uint8], at: Counts, references: Counts) -> NDArray[np.uint8]:
    return np.asarray(rows[at, references >> 3] >> (7 - (references & 7)) & 1)


def exhaustive_search(
    evaluator: Evaluator,
    d: int,
    question: Question = Question(),  # noqa: B008 - frozen
    keeper: LimitKeeper | None = None,
) -> Sweep:
    """Evaluate the lattice's subsets on every reference, as far as the limits allow.

    A time limit starts now, unless a `keeper` that already counts is given.
    """
    limits = question.limits.validated()
    limits.require_bounded(d)
    keeper = LimitKeeper(limits) if keeper is None else keeper
    if limits.unlimited and isinstance(evaluator, LatticeEvaluator):
        whole = _sweep_by_mask(evaluator, d, question.progress, keeper)
        if whole is not None:
            return whole
    lattice, n, views = Lattice(d), evaluator.n, question.views
    left = keeper.rows_left
    count = sample_size(keeper) if left is None else max(0, min(sample_size(keeper), left - 2 * n))
    # Under a limit on time or work the sample is drawn first: nothing may be left at the end.
    first = keeper.may_run_out
    draws = None
    if first:
        asking = partial(keeper.part(0.1).ask, evaluator)
        draws = sample_hybrids(asking, d, n, question, count)
    sweeping = keeper.part(1.0) if first else keeper.reserving(count)
    sweeping.expect(evaluator)
    store = _SweepStore(lattice, n)
    largest = limits.largest(d)
    small, large = "keep" in views, "flip" in views
    wanted = [k for k in range(d + 1) if (small and k <= largest) or (large and k >= d - largest)]
    todo = _SegmentQueue(lattice, wanted, views)
    total = todo.left * n
    stopped = limits.size_stop(d)
    with progress_bar(
        "hybrids", total if total < LARGEST_TOTAL else None, question.progress
    ) as bar:
        while todo.left:
            sets = sweeping.batch(
                _HYBRIDS_AT_ONCE if left is None else _BUDGETED_HYBRIDS_AT_ONCE, n
            )
            if not sets:
                stopped = sweeping.forbids(n)
                break
            segments = list(todo.take(min(todo.left, sets)))
            held = np.concatenate([lattice.held(*segment) for segment in segments])
            try:
                with sweeping.counting(evaluator, len(held) * n):
                    outcomes = evaluator.outcomes(held, _BarTick(bar, len(held) * n, keeper))
            except LimitReached as limit:  # within a batch, which is then dropped
                stopped = limit.stop
                break
            store.put(segments, outcomes)
    tally = store.tally()
    if not first and not tally.complete:
        draws = sample_hybrids(partial(keeper.ask, evaluator), d, n, question, count)
    return Sweep(tally, store.packed(), None if tally.complete else draws, stopped)


def _sweep_by_mask(
    evaluator: LatticeEvaluator, d: int, progress: bool | None, keeper: LimitKeeper
) -> Sweep | None:
    """The fast path, valid for an exhaustive sweep by an evaluator that knows the whole lattice.

    Such an evaluator counts all subsets together, in the order of their bit masks, which the
    tally keeps. None: it gave up its reading of the model, which the keeper's limits may end.
    """
    n = evaluator.n
    hits = bits = None
    with progress_bar("hybrids", n << d, progress) as bar:
        for start, block_hits, block_bits in evaluator.sweep():
            if len(block_hits) == 1 << d:  # not copied: a copy takes as long as the climb
                hits, bits = block_hits, block_bits
            else:
                if hits is None or bits is None:
                    hits = np.empty(1 << d, dtype=smallest_count_dtype(n))
                    bits = np.empty((1 << d, (n + 7) // 8), dtype=np.uint8)
                block = slice(start, start + len(block_hits))
                hits[block], bits[block] = block_hits, block_bits
            bar.update(len(block_hits) * n)
            unfinished = start + len(block_hits) < 1 << d
            if unfinished and evaluator.name == "blackbox" and not keeper.limits.unlimited:
                return None
    assert hits is not None and bits is not None, "a sweep has blocks"
    return Sweep(Tally.of_dense(hits, n), bits, None, None)


class _SegmentQueue:
    """Segments (size, start, stop) still to visit, small and large sizes in turn."""

    def __init__(self, lattice: Lattice, sizes: list[int], views: tuple[ViewName, ...]) -> None:
        d = lattice.d
        # Sets of size k are held in the keep view; those that they replace, in the flip view.
        nearest = {"keep": lambda k: k, "flip": lambda k: d - k}
        self._segments = [
            (size, 0, lattice.width(size))
            for size in sorted(sizes, key=lambda k: (min(nearest[view](k) for view in views), k))
        ]
        self.left = sum(stop for _, _, stop in self._segments)

    def take(self, count: int) -> Iterator[tuple[int, int, int]]:
        """Yield the next `count` subsets, in as many segments as they span."""
        self.left -= count
        while count:
            size, start, stop = self._segments.pop(0)
            cut = min(stop, start + count)
            if cut < stop:
                self._segments.insert(0, (size, cut, stop))
            count -= cut - start
            yield size, start, cut


class _SweepStore:
    """Collects blocks in the order of visiting, which within a level is the lattice's own."""

    def __init__(self, lattice: Lattice, n: int) -> None:
        self._lattice = lattice
        self._n = n
        self._hits: list[list[Counts]] = [[] for _ in range(lattice.d + 1)]
        self._bits: list[list[NDArray[np.uint8]]] = [[] for _ in range(lattice.d + 1)]

    def put(self, segments: list[tuple[int, int, int]], outcomes: NDArray[np.bool_]) -> None:
        at = 0
        hits = outcomes.sum(axis=1, dtype=np.int64)
        bits = np.packbits(outcomes, axis=1)
        for size, start, stop in segments:
            part = slice(at, at + stop - start)
            self._hits[size].append(hits[part])
            self._bits[size].append(bits[part])
            at += stop - start

    def tally(self) -> Tally:
        empty = np.empty(0, dtype=np.int64)
        levels = tuple(np.concatenate(parts) if parts else empty for parts in self._hits)
        return Tally(self._lattice.d, self._n, levels)

    def packed(self) -> tuple[NDArray[np.uint8], ...]:
        empty = np.empty((0, (self._n + 7) // 8), dtype=np.uint8)
        return tuple(np.concatenate(parts) if parts else empty for parts in self._bits)


@dataclass(frozen=True)
class _BarTick:
    """Progress callback that moves the bar, and ends the batch when the time is over."""

    bar: Progress
    hybrids: int
    keeper: LimitKeeper

    def __call__(self, share: float) -> None:
        self.bar.update(share * self.hybrids)
        self.keeper.check(0)


# `Tally`: number of references with the view's outcome, for every set counted in one view.


class Tally:
    """Hits among `n` references.

    A complete search has them in one array by bit mask (`dense`), in the smallest integers that
    hold n: engines count in this form, questions about the whole lattice are fastest in it, and it
    is stored. A bounded search has them level by level: `levels[k]` lists subsets of size k in the
    lattice's order, from number `start(k)` on. Sets that were not visited take no memory, since a
    level may be far too large. Each form is made from the other when it is read.

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
        """Store the counts; `starts` has the first number of each level, None if all are 0."""
        self.d = d
        self.n = n
        self.levels = levels
        self.starts = starts

    @classmethod
    def of_dense(cls, counts: Counts | SmallCounts, n: int) -> Tally:
        """Return the tally of all 2^d counts by bit mask; copies them only to change the dtype."""
        tally = cls.__new__(cls)
        tally.d, tally.n, tally.starts = len(counts).bit_length() - 1, n, None
        tally.dense = counts.astype(smallest_count_dtype(n), copy=False)
        tally.visited, tally.exhaustive_size = len(counts), tally.d
        return tally

    @property
    def lattice(self) -> Lattice:
        """Lattice of the subsets that are counted."""
        return Lattice(self.d)

    def other_view(self) -> Tally:
        """Return the counts of the other view of these hybrids: held becomes replaced.

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
        """Return the number of the first listed subset of this size."""
        return 0 if self.starts is None else self.starts[size]

    def n_evaluated(self, size: int) -> int:
        """Return the number of subsets of this size that were evaluated."""
        return self.lattice.width(size) if self.complete else len(self.levels[size])

    @cached_property
    def visited(self) -> int:
        """Number of subsets that were evaluated."""
        return sum(len(level) for level in self.levels)

    @property
    def complete(self) -> bool:
        """True if every subset was evaluated."""
        return self.visited == self.lattice.count

    @cached_property
    def exhaustive_size(self) -> int:
        """Largest size up to which all subsets were evaluated; -1: not even the empty one."""
        for size, level in enumerate(self.levels):
            if len(level) < self.lattice.width(size):
                return size - 1
        return self.d

    @property
    def coverage_text(self) -> str:
        """Text of the sizes that were evaluated completely."""
        size = self.exhaustive_size
        return f"exhaustive up to size {size}" if size >= 0 else "exhaustive at no size"

    def hits(self, members: Sequence[int]) -> int:
        """Return the count of one subset."""
        if self.complete:
            return int(self.dense[self.lattice.mask(members)])
        level, size = self.levels[len(members)], len(members)
        at = self.lattice.rank(members) - self.start(size)
        if not 0 <= at < len(level):
            raise NotVisitedError(
                f"this subset of {size} features was not evaluated: the search was bounded, and "
                f"{self.coverage_text}. Raise max_size, budget or time_limit."
            )
        return int(level[at])

    @cached_property
    def dense(self) -> SmallCounts:
        """Hits by bit mask, for a complete tally, in a small dtype: widen it before adding up."""
        return by_mask(self.levels).astype(smallest_count_dtype(self.n))

    @cached_property
    def levels(self) -> tuple[Counts, ...]:
        """Hits by size, in the lattice's order, as far as they were visited."""
        return by_level(self.dense.astype(np.int64))


def smallest_count_dtype(n: int) -> np.dtype[np.unsignedinteger]:
    """Return the smallest dtype that holds counts up to n."""
    return np.min_scalar_type(n)
