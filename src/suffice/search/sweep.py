"""One pass over the hybrids that answers both views, within the limits a user sets.

Subsets are visited by size from both ends, 0, d, 1, d-1, …, so that when a limit stops the sweep
both views are exhaustive up to some size, and say which.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from suffice.evaluate import Evaluator, LatticeEvaluator
from suffice.factors.lattice import Lattice, masks_by_size
from suffice.randomness import Stream, generator
from suffice.search.limits import Limits
from suffice.search.tally import Tally
from suffice.typing import BoolVector, Counts, Held

__all__ = [
    "DRAWS",
    "Draws",
    "Ends",
    "Sweep",
    "draw_hybrids",
    "progress_bar",
    "run_sweep",
]

_BLOCK = 1 << 20
"""Hybrids evaluated together: enough to find most that are the same row."""
_BUDGETED_BLOCK = 1 << 16
_FIRST_TIMED_BLOCK = 1 << 14
Ends = Literal["both", "held", "replaced"]
"""Whose small sets are visited first: one view's, or both in turn."""

DRAWS = 1024
"""Hybrids drawn to estimate necessity: an interval of about ±0.03."""


@dataclass(frozen=True, eq=False)
class Draws:
    """Hybrids drawn at random from D, to estimate what a bounded sweep cannot count."""

    held: Held
    outcomes: BoolVector


@dataclass(frozen=True, eq=False)
class Sweep:
    """Counts of the keep view, which hybrids had the outcome, and how the work went."""

    tally: Tally
    bits: tuple[NDArray[np.uint8], ...]
    """By level and subset: the outcomes of its hybrids, one bit per reference."""
    draws: Draws | None
    """None where the sweep is complete."""
    stopped: str | None
    """Why the sweep ended before every subset was visited; None if it did not."""

    def outcomes(self, size: int, ranks: Counts) -> NDArray[np.bool_]:
        """(subsets, references): the outcomes of some subsets of one size, once more."""
        packed = self.bits[size][ranks]
        return np.unpackbits(packed, axis=1, count=self.tally.n).astype(bool)


def run_sweep(
    evaluator: Evaluator,
    d: int,
    limits: Limits,
    seed: int = 0,
    progress: bool | None = None,
    started: float | None = None,
    size_weights: Sequence[float] | None = None,
    ends: Ends = "both",
) -> Sweep:
    """Evaluate the lattice's subsets on every reference, as far as the limits allow.

    `size_weights` says how likely each size of the held set is in D (None: all sets alike). A time
    limit counts from `started` (as `perf_counter` tells it): by default from now. `ends` says whose
    small sets count: those held, those replaced, or both alike.
    """
    limits = limits.checked(d)
    if limits.none and isinstance(evaluator, LatticeEvaluator):
        return _sweep_by_mask(evaluator, d, progress)
    lattice = Lattice(d)
    clock = _Clock(limits, evaluator, perf_counter() if started is None else started)
    store = _Store(lattice, evaluator.n)
    largest = d if limits.max_size is None else min(limits.max_size, d)
    small, large = ends != "replaced", ends != "held"
    wanted = [k for k in range(d + 1) if (small and k <= largest) or (large and k >= d - largest)]
    todo = _Queue(lattice, wanted, ends)
    total = todo.left * evaluator.n
    with progress_bar(total, progress) as bar:
        while todo.left:
            block = min(todo.left, clock.subsets_per_block())
            if block == 0 or (clock.expired and store.visited):
                break
            segments = list(todo.take(block))
            held = np.concatenate([lattice.held(*segment) for segment in segments])
            started = perf_counter()
            outcomes = evaluator.outcomes(held, partial(_advance, bar, len(held) * evaluator.n))
            clock.note(len(held), perf_counter() - started)
            store.put(segments, outcomes)
    tally = store.tally()
    stopped = clock.reason if todo.left else None
    if stopped is None and largest < d:
        stopped = f"max_size={limits.max_size}"
    draws = (
        None if tally.complete else _draw(evaluator, d, seed, clock.rows_kept_back, size_weights)
    )
    return Sweep(tally, store.packed(), draws, stopped)


def _sweep_by_mask(evaluator: LatticeEvaluator, d: int, progress: bool | None) -> Sweep:
    """The fast path, valid for an exhaustive sweep by an evaluator that knows the whole lattice.

    Such an evaluator counts all subsets together, in the order of their bit masks; here they are
    only put into the lattice's order.
    """
    n = evaluator.n
    hits = np.empty(1 << d, dtype=np.int64)
    bits = np.empty((1 << d, (n + 7) // 8), dtype=np.uint8)
    with progress_bar(len(hits) * n, progress) as bar:
        for start, block_hits, block_bits in evaluator.sweep():
            block = slice(start, start + len(block_hits))
            hits[block], bits[block] = block_hits, block_bits
            bar.update(len(block_hits) * n)
    order = masks_by_size(d)
    cuts = np.cumsum([Lattice(d).width(size) for size in range(d)])
    tally = Tally(d, n, tuple(np.split(hits[order], cuts)))
    return Sweep(tally, tuple(bits[part] for part in np.split(order, cuts)), None, None)


class _Queue:
    """Segments (size, start, stop) still to visit, small and large sizes in turn."""

    def __init__(self, lattice: Lattice, sizes: list[int], ends: Ends) -> None:
        d = lattice.d
        first = {"both": lambda k: min(k, d - k), "held": lambda k: k, "replaced": lambda k: d - k}
        self._segments = [
            (size, 0, lattice.width(size))
            for size in sorted(sizes, key=lambda k: (first[ends](k), k))
        ]
        self.left = sum(stop for _, _, stop in self._segments)

    def take(self, count: int) -> Iterator[tuple[int, int, int]]:
        """The next `count` subsets, in as many segments as they span."""
        self.left -= count
        while count:
            size, start, stop = self._segments.pop(0)
            cut = min(stop, start + count)
            if cut < stop:
                self._segments.insert(0, (size, cut, stop))
            count -= cut - start
            yield size, start, cut


class _Clock:
    """Sizes each block of work: large ones are efficient, but limits want small ones.

    Only a time limit looks at the clock: with a budget, the same rows are asked for on any machine.
    """

    def __init__(self, limits: Limits, evaluator: Evaluator, started: float) -> None:
        self._limits = limits
        self._evaluator = evaluator
        self._started = started
        self._last_block = 0.0
        budget, n = limits.budget, evaluator.n
        self._block = _BLOCK if budget is None else _BUDGETED_BLOCK
        if limits.time_limit is not None:
            self._block = _FIRST_TIMED_BLOCK
        self.rows_kept_back = DRAWS
        if budget is not None:
            self.rows_kept_back = max(0, min(DRAWS, budget // 10, budget - 2 * n))
        pace = evaluator.seconds_per_row
        if limits.time_limit is not None and pace:
            affordable = int(limits.time_limit / 20 / pace)
            self._block = max(1, min(self._block, affordable))
            self.rows_kept_back = max(16, min(self.rows_kept_back, affordable))
        self.reason: str | None = None

    @property
    def expired(self) -> bool:
        limit = self._limits.time_limit
        spent = perf_counter() - self._started
        over = limit is not None and spent + self._last_block >= limit
        if over:
            self.reason = f"time_limit={limit:g} s"
        return over

    def subsets_per_block(self) -> int:
        """How many subsets may be evaluated next; 0 when the budget is used up."""
        n = self._evaluator.n
        subsets = max(1, self._block // n)
        if self._limits.budget is None:
            return subsets
        used = self._evaluator.rows_predicted
        room = int(self._limits.budget) - self.rows_kept_back - used
        if room < n:
            self.reason = f"budget={int(self._limits.budget)} model rows"
        return min(subsets, room // n)

    def note(self, subsets: int, seconds: float) -> None:
        """Learn from a block's time how large the next may be: a twentieth of what is allowed."""
        if self._limits.time_limit is not None:
            self._last_block = seconds
            per_hybrid = max(seconds, 1e-9) / (subsets * self._evaluator.n)
            allowed = self._limits.time_limit / 20 / per_hybrid
            self._block = int(min(allowed, 4 * self._block, _BLOCK))


class _Store:
    """Collects blocks in the order of visiting, which within a level is the lattice's own."""

    def __init__(self, lattice: Lattice, n: int) -> None:
        self._lattice = lattice
        self._n = n
        self._hits: list[list[Counts]] = [[] for _ in range(lattice.d + 1)]
        self._bits: list[list[NDArray[np.uint8]]] = [[] for _ in range(lattice.d + 1)]
        self.visited = 0

    def put(self, segments: list[tuple[int, int, int]], outcomes: NDArray[np.bool_]) -> None:
        at = 0
        hits = outcomes.sum(axis=1, dtype=np.int64)
        bits = np.packbits(outcomes, axis=1)
        for size, start, stop in segments:
            part = slice(at, at + stop - start)
            self._hits[size].append(hits[part])
            self._bits[size].append(bits[part])
            at += stop - start
        self.visited += at

    def tally(self) -> Tally:
        empty = np.empty(0, dtype=np.int64)
        levels = tuple(np.concatenate(parts) if parts else empty for parts in self._hits)
        return Tally(self._lattice.d, self._n, levels)

    def packed(self) -> tuple[NDArray[np.uint8], ...]:
        empty = np.empty((0, (self._n + 7) // 8), dtype=np.uint8)
        return tuple(np.concatenate(parts) if parts else empty for parts in self._bits)


def _draw(
    evaluator: Evaluator, d: int, seed: int, count: int, weights: Sequence[float] | None
) -> Draws | None:
    if count == 0:
        return None
    held, references = draw_hybrids(d, evaluator.n, seed, count, weights)
    return Draws(held, evaluator.outcomes_of(held, references))


def draw_hybrids(
    d: int, n: int, seed: int, count: int, weights: Sequence[float] | None
) -> tuple[Held, Counts]:
    """A seeded sample of D itself: S as D draws it, r uniform over the references."""
    rng = generator(seed, Stream.NECESSITY)
    if weights is None:
        held = rng.random((count, d)) < 0.5
    else:
        sizes = rng.choice(d + 1, size=count, p=np.array(weights) / np.sum(weights))
        held = rng.random((count, d)).argsort(axis=1).argsort(axis=1) < sizes[:, None]
    return held, rng.integers(n, size=count)


def _advance(bar: Any, hybrids: int, share: float) -> None:
    bar.update(share * hybrids)


def progress_bar(total: int, progress: bool | None) -> Any:
    """Shown only for work over a second, and on a terminal unless asked for outright."""
    from tqdm.auto import tqdm

    disable = None if progress is None else not progress
    return tqdm(total=total, desc="hybrids", unit="", unit_scale=True, delay=1, disable=disable)
