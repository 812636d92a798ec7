"""A sweep of the lattice, run by run: by numpy's kernel here, by numba's where its start has paid.

A run of consecutive masks is cut into slabs, the references into blocks; each (block, slab) is one
call of a kernel, and blocks run in threads. A run is small enough to be handed on often, and large
enough that making blocks ready for it is a small part of the work; where there is room, they stay
ready.

Numpy's kernel walks all trees and references of a block together, level by level. The frontier is a
set of arrays (node, word of lanes, players held, players freed), one entry per path that is still
alive; a step moves every entry one split down and adds entries where lanes part. Leaves become
signed terms exactly as in the compiled kernel (`kernel` says why), grouped by how many there are
per leaf, and numpy does the subset sums along axes of length two.

The compiled kernel is much faster, once numba is loaded; that takes most of a second. Whether it
will pay is not known in advance, since more questions may come, so it is treated like skis.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from math import inf
from time import perf_counter
from typing import Any, Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from suffice.evaluate.trees.ensemble import Ints
from suffice.evaluate.trees.margins import Margin
from suffice.evaluate.trees.problem import Problem
from suffice.factors.lattice import over_subsets
from suffice.typing import BoolVector, Counts, Reals, Words

__all__ = [
    "MOST_PLAYERS",
    "NUMBA_START",
    "Kernel",
    "LatticeSweep",
    "Leaves",
    "NumpyBlock",
    "Places",
    "ReferenceBlock",
    "Scratch",
    "SkiRental",
    "choose_kernel",
    "cores",
    "make_block",
    "run_tasks",
]

Done = TypeVar("Done")

Kernel = Literal["numba", "numpy"]

Leaves = list[list[Words]]
"""By margin, in portions: what a block found in the trees and may use again."""

Scratch = dict[Any, NDArray[Any]]
"""A thread's buffers, used by one block after another: fresh memory is slow to touch."""

MOST_PLAYERS = 30
"""No sweep of the whole lattice is longer."""

_SLAB_CELLS = 1 << 21
"""Masks × lanes of a slab, 32 bits each: more is slower, as it leaves the cache."""

_RUN_BYTES = {"numba": 1 << 26, "numpy": 1 << 23}
"""Outcomes that are held before they are handed on: a third of a second's work."""

_LEAVES_KEPT = 1 << 27
"""Bytes of leaves that are kept from run to run."""

_TURNED_AT_ONCE = 1 << 11
"""Masks of which a transposed piece stays in the cache."""

_TREES_TIMED, _PLAYERS_TIMED = 8, {"numba": 16, "numpy": 9}
"""A slab of so many players and trees is worked out to tell what a sweep will cost."""

Places = tuple[Counts, Counts]
"""Masks, and beside each the place of a reference in the order of lanes."""


class LatticeSweep:
    """The sweep of one problem; `kernel` as the engine was given it, None to choose."""

    def __init__(self, problem: Problem, kernel: Kernel | None, otherwise: float = inf) -> None:
        """`otherwise` is what asking the model would take, where that may be done instead."""
        self._problem = problem
        self._seconds: dict[Kernel, float] = {}
        self.kernel = kernel or choose_kernel(lambda: min(otherwise, self.seconds("numpy")))
        most = 8 * _RUN_BYTES[self.kernel] // len(problem.lanes.order)
        self.rows = 1 << min(problem.d, _log2(most))
        """Masks of a run."""
        self._leaves: dict[int, Leaves] = {}
        self._room = _LEAVES_KEPT if self.rows < 1 << problem.d else 0

    def seconds(self, kernel: Kernel | None = None) -> float:
        """About what a sweep takes, by a kernel or by the one that is used."""
        kernel = kernel or self.kernel
        if kernel not in self._seconds:
            self._seconds[kernel] = self._measured(kernel)
        return self._seconds[kernel]

    def _measured(self, kernel: Kernel) -> float:
        """A slab by a few trees and one by none, times all of them."""
        problem = self._problem
        full = self._slab_players(problem.d)
        players = min(full, _PLAYERS_TIMED[kernel])
        last = (1 << problem.d - players) - 1
        runs = 2 if kernel == "numba" else 1  # the first call of a compiled function loads it
        ready, block = _timed(
            lambda: make_block(kernel, problem, 0, players, {}, _TREES_TIMED), runs
        )
        terms, _ = _timed(lambda: block.slab(last), runs)
        bare = make_block(kernel, problem, 0, players, {}, trees=0)
        sums, _ = _timed(lambda: bare.slab(last), runs)
        scale = max(1.0, len(problem.ensemble.roots) / _TREES_TIMED)
        slab = (sums + max(0.0, terms - sums) * scale) * 2.0 ** (full - players)
        blocks, slabs = problem.lanes.blocks, 2.0 ** (problem.d - full)
        workers = min(blocks * slabs, cores()) if kernel == "numba" else 1
        return blocks * (ready * scale + slabs * slab) / workers

    def run(self, start: int, y: bool) -> tuple[NDArray[Any], Places]:
        """(blocks, masks): the words of lanes that have the input's outcome; and the undecided."""
        lanes = self._problem.lanes
        players = self._slab_players(_log2(self.rows))
        size = 1 << players
        slabs = self.rows // size
        # Handed on as bytes, so their order in memory matters.
        out = np.empty((lanes.blocks, self.rows), dtype=f"<u{lanes.width // 8}")
        undecided: list[Places] = []
        # Enough tasks to share evenly, few enough that making a block ready is not done too often.
        cuts = max(1, min(slabs, -(-8 // lanes.blocks)))
        edges = [slabs * i // cuts for i in range(cuts + 1)]
        local = threading.local()

        def work(task: int) -> None:
            block, cut = divmod(task, cuts)
            everyone = np.uint64(lanes.everyone(block))
            at_work = self._ready(block, players, local.__dict__.setdefault("scratch", {}))
            for slab in range(edges[cut], edges[cut + 1]):
                yes, no = at_work.slab(start // size + slab)
                out[block, slab * size : (slab + 1) * size] = yes if y else no
                masks, places = _set_lanes(everyone & ~(yes | no))
                if len(masks):  # appending to a list is safe in threads
                    first = start + slab * size
                    undecided.append((first + masks, block * lanes.width + places))

        run_tasks(work, lanes.blocks * cuts, cores() if self.kernel == "numba" else 1)
        none = np.empty(0, dtype=np.int64)
        masks, places = zip((none, none), *undecided, strict=True)
        return out, (np.concatenate(masks), np.concatenate(places))

    def by_mask(self, words: NDArray[Any]) -> NDArray[np.uint8]:
        """(masks, bytes): words of lanes turned into packed bits of references, in their order."""
        if len(words) == 1:  # one row is a column as it stands
            turned = words.reshape(-1, 1)
        else:
            turned = np.empty(words.shape[::-1], dtype=words.dtype)
            for part in _parts(len(turned)):
                turned[part] = words[:, part].T
        order = self._problem.lanes.order
        bits = turned.view(np.uint8)[:, : (len(order) + 7) // 8]
        if (np.diff(order) == 1).all():
            return bits
        places, out = np.argsort(order), np.empty(bits.shape, dtype=np.uint8)
        for part in _parts(len(turned)):  # so few that their single bits stay in the cache
            lanes = np.unpackbits(bits[part], axis=1, count=len(order))
            out[part] = np.packbits(lanes.take(places, axis=1), axis=1)
        return out

    def _slab_players(self, players: int) -> int:
        return min(players, _log2(_SLAB_CELLS // self._problem.lanes.width))

    def _ready(self, block: int, players: int, scratch: Scratch) -> ReferenceBlock:
        """A block at work in a thread, with its leaves of the last run where there is room."""
        known = self._leaves.get(block)
        at_work = make_block(self.kernel, self._problem, block, players, scratch, leaves=known)
        if known is None and self._room > 0:
            leaves = at_work.leaves()
            self._room -= sum(part.nbytes for parts in leaves for part in parts)
            if leaves and self._room > 0:
                self._leaves[block] = leaves
        return at_work


def _parts(rows: int) -> Iterator[slice]:
    return (slice(start, start + _TURNED_AT_ONCE) for start in range(0, rows, _TURNED_AT_ONCE))


def _set_lanes(words: Words) -> Places:
    """Which rows have lanes set, and the references in those lanes."""
    rows = np.flatnonzero(words)
    lanes = np.unpackbits(words[rows].astype("<u8").view(np.uint8).reshape(-1, 8), axis=1)
    row, reference = np.nonzero(lanes)  # big-endian bits undo the order of lanes
    return rows[row], reference


def _timed(work: Callable[[], Done], runs: int) -> tuple[float, Done]:
    """The least seconds of some runs of the same work."""
    least = inf
    for _ in range(runs):
        started = perf_counter()
        done = work()
        least = min(least, perf_counter() - started)
    return least, done


def _log2(cells: int) -> int:
    return max(0, cells.bit_length() - 1)


class ReferenceBlock(Protocol):
    """A kernel at work on one block of references."""

    def slab(self, number: int) -> tuple[Words, Words]:
        """By mask: the lanes that surely have the event, and those that surely do not."""
        ...

    def leaves(self) -> Leaves:
        """What would make the same block ready at once; nothing where that is not kept."""
        ...


class SkiRental:
    """When to buy: once the rents would come to more than the price.

    Not knowing how often one will ski, that never costs more than twice the best choice.
    """

    def __init__(self, price: float) -> None:
        self.price = price
        self.paid = 0.0

    def should_buy(self, rent: float) -> bool:
        """Would this rent bring the rents paid above the price?"""
        return self.paid + rent > self.price

    def pay(self, rent: float) -> None:
        """Rent once more."""
        self.paid += rent


NUMBA_START = SkiRental(price=0.8)
"""The rent is numpy's work in this process, in seconds; the price what loading numba takes."""


def choose_kernel(ahead: Callable[[], float], start: SkiRental = NUMBA_START) -> Kernel:
    """Numba where it is loaded already, or where its start is earned back by now.

    `ahead` guesses the seconds that numpy would take for the work ahead.
    """
    if not find_numba():
        return "numpy"
    if numba_is_loaded():
        return "numba"
    rent = ahead()
    if start.should_buy(rent) and load_numba():
        return "numba"
    start.pay(rent)
    return "numpy"


@cache
def find_numba() -> bool:
    """Is numba installed?"""
    return find_spec("numba") is not None


def load_numba() -> bool:
    """Load the kernels; numba refuses a numpy that is newer than it knows."""
    try:
        import_module("suffice.evaluate.trees.compiled")
    except ImportError:
        return False
    return True


def cores() -> int:
    """Cores that this process may use; one of several processes is told its share like this."""
    share = os.environ.get("OMP_NUM_THREADS", "")
    most = int(share) if share.isdecimal() and int(share) else sys.maxsize
    if hasattr(os, "sched_getaffinity"):
        return min(most, len(os.sched_getaffinity(0)))
    return min(most, os.cpu_count() or 1)


def numba_is_loaded() -> bool:
    """Are the kernels ready, so that they cost nothing more?"""
    return "suffice.evaluate.trees.kernel" in sys.modules


def make_block(
    kernel: Kernel,
    problem: Problem,
    block: int,
    players: int,
    scratch: Scratch,
    trees: int | None = None,
    leaves: Leaves | None = None,
) -> ReferenceBlock:
    """A kernel made ready for one block of references; for all trees, or some to tell the time."""
    if kernel == "numpy":
        return NumpyBlock(problem, block, players, trees)
    from suffice.evaluate.trees.compiled import CompiledBlock

    return CompiledBlock(problem, block, players, scratch, trees, leaves)


def run_tasks(work: Callable[[int], None], tasks: int, workers: int) -> None:
    """Do all tasks, in threads where there are several; an interrupt waits for those at work.

    Threads are kept for the next time: starting one takes as long as a small task.
    """
    left = iter(range(tasks))  # shared: each number is taken by one thread

    def take() -> None:
        for task in left:
            work(task)

    if min(workers, tasks) <= 1:
        return take()
    helpers = [_helpers().submit(take) for _ in range(min(workers, tasks))]
    try:
        for helper in helpers:
            helper.result()
    finally:
        for _ in left:  # after an error nobody takes more
            pass
        wait([helper for helper in helpers if not helper.cancel()])  # those that have begun


@cache
def _helpers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(cores(), thread_name_prefix="suffice-trees")


if hasattr(os, "register_at_fork"):  # threads do not live on in a forked process
    os.register_at_fork(after_in_child=_helpers.cache_clear)


class NumpyBlock:
    """One block of references; gives what the compiled kernel gives, slower."""

    def __init__(self, problem: Problem, block: int, players: int, trees: int | None) -> None:
        self._problem = problem
        self._trees = trees
        self._players = players
        self._everyone = np.uint64(problem.lanes.everyone(block))
        self._differs = problem.sides.words(problem.lanes.references(block))

    def slab(self, number: int) -> tuple[Words, Words]:
        """By mask: the lanes for which the event surely holds, and those for which it fails."""
        problem, players = self._problem, self._players
        held = number << players
        freed = ((1 << problem.d) - (1 << players)) ^ held
        width = problem.lanes.width
        present = (self._everyone >> np.arange(width, dtype=np.uint64) & np.uint64(1)).astype(bool)
        yes = np.broadcast_to(present, (1 << players, width))
        no = np.zeros_like(yes)
        for margin, nodes in zip(problem.reading.margins, problem.nodes, strict=True):
            score = self._scores(margin, nodes, held, freed)
            yes = yes & (score >= margin.yes_from) & (score <= margin.yes_to)
            no |= present & ((score < margin.no_below) | (score > margin.no_above))
        if problem.reading.reverse:
            yes, no = no, yes
        return _as_words(yes), _as_words(no)

    def leaves(self) -> Leaves:
        """Nothing is kept."""
        return []

    def _scores(self, margin: Margin, nodes: Ints, held: int, freed: int) -> Ints:
        """(masks, lanes) int32; sums wrap around on the way and are right in the end."""
        width, size = self._problem.lanes.width, 1 << self._players
        terms = _terms(*self._reached(margin, nodes, held, freed), size)
        # Whole numbers this small are added exactly in float64, and then wrapped around.
        sums = _sums_of_terms(*terms, width, 2 * size * width).astype(np.int64)
        above, below = sums.astype(np.int32).reshape(2, size, width)
        return np.asarray(over_subsets(above, np.add) + over_subsets(below, np.add)[::-1])

    def _reached(
        self, margin: Margin, nodes: Ints, held_first: int, freed_first: int
    ) -> tuple[Counts, Words, Counts, Counts]:
        """The leaves that the block reaches: value, lanes that come there, players held, freed."""
        tests, toward, away, players = np.ascontiguousarray(nodes.T).astype(np.int64)
        node = margin.roots[: self._trees].astype(np.int64)
        group = np.full(len(node), self._everyone)
        path = np.full(len(node), held_first | freed_first << _FREED)  # players held, and freed
        parts: list[tuple[Counts, Words, Counts]] = []
        while True:
            test = tests[node]
            leaf, inner = np.flatnonzero(test < 0), np.flatnonzero(test >= 0)
            parts.append((toward[node[leaf]], group[leaf], path[leaf]))
            if not len(inner):
                break
            test, node, group, path = test[inner], node[inner], group[inner], path[inner]
            others = group & self._differs[test]
            bit = np.left_shift(1, players[node])
            leave = (others != 0) & (path & bit == 0)
            both = np.flatnonzero(leave & (path & bit << _FREED == 0))  # they part: held, and freed
            stay = np.flatnonzero(leave & (others != group))  # the input's side goes on as it is
            near = toward[node]
            node = np.concatenate([np.where(leave, away[node], near), near[both], near[stay]])
            left = np.where(leave, others, group)
            group = np.concatenate([left, others[both], (group ^ others)[stay]])
            held, path_stay = path[both] | bit[both], path[stay]
            path[both] |= bit[both] << _FREED
            path = np.concatenate([path, held, path_stay])
        value, group, path = (np.concatenate(column) for column in zip(*parts, strict=True))
        low = (1 << self._players) - 1
        return value, group, path & low, path >> _FREED & low


_FREED = 32
"""From this bit on, a path has the players that are freed; before it those that are held."""


def _terms(
    value: Counts, group: Words, held: Counts, freed: Counts, size: int
) -> tuple[Counts, Words, Reals]:
    """Signed terms of leaves, from below or, `size` rows further on, from above: row, lanes, value.

    A leaf is one term at row | T for every part T of the fewer of its players, held or freed.
    """
    upward = np.bitwise_count(freed) <= np.bitwise_count(held)
    first = np.where(upward, held, freed + size)
    spread = np.where(upward, freed, held)
    found: list[tuple[Counts, Words, Reals]] = []
    counts = np.bitwise_count(spread)
    for count in range(int(counts.max(initial=0)) + 1):
        chosen = np.flatnonzero(counts == count)
        row, rest, lanes = first[chosen], spread[chosen], group[chosen]
        signed = value[chosen].astype(np.float64)
        for _ in range(count):
            bit = rest & -rest
            row, rest = np.concatenate([row, row | bit]), np.tile(rest ^ bit, 2)
            lanes, signed = np.tile(lanes, 2), np.concatenate([signed, -signed])
        found.append((row, lanes, signed))
    rows, groups, values = zip(*found, strict=True)
    return np.concatenate(rows), np.concatenate(groups), np.concatenate(values)


_LANES_APART = 6
"""Lanes of a word that are taken one by one; few words have more."""


def _sums_of_terms(row: Counts, group: Words, value: Reals, width: int, cells: int) -> Reals:
    """By row and lane; a term counts for every lane of its word."""
    first, one = row * width, np.uint64(1)
    sums = np.zeros(cells)
    for _ in range(_LANES_APART):
        rest = group & (group - one)
        sums += np.bincount(first + np.bitwise_count((group ^ rest) - one), value, cells)
        more = np.flatnonzero(rest)
        first, group, value = first[more], rest[more], value[more]
    bits = np.unpackbits(group.astype("<u8").view(np.uint8).reshape(-1, 8), 1, bitorder="little")
    term, lane = np.nonzero(bits)
    return np.asarray(sums + np.bincount(first[term] + lane, value[term], cells))


def _as_words(lanes: BoolVector) -> Words:
    out = np.zeros((len(lanes), 8), dtype=np.uint8)
    packed = np.packbits(lanes, axis=1, bitorder="little")
    out[:, : packed.shape[1]] = packed
    return out.view("<u8").ravel().astype(np.uint64)
