"""The whole lattice, a run of consecutive masks at a time, from the kernels' slabs.

A run is cut into slabs, the references into blocks; each (block, slab) is one call of a kernel, and
blocks run in threads. A run is small enough to be handed on often, and large enough that making
blocks ready for it is a small part of the work; where there is room, they stay ready.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from math import inf
from time import perf_counter
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from suffice.evaluate.trees.blocks import (
    Kernel,
    Leaves,
    ReferenceBlock,
    Scratch,
    choose_kernel,
    cores,
    make_block,
    run_tasks,
)
from suffice.evaluate.trees.problem import Problem
from suffice.typing import Counts, Words

Done = TypeVar("Done")

__all__ = ["MOST_PLAYERS", "LatticeSweep", "Places"]

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
        turned = np.empty(words.shape[::-1], dtype=words.dtype)
        for start in range(0, len(turned), _TURNED_AT_ONCE):
            part = slice(start, start + _TURNED_AT_ONCE)
            turned[part] = words[:, part].T
        order = self._problem.lanes.order
        bits = turned.view(np.uint8)[:, : (len(order) + 7) // 8]
        if (np.diff(order) == 1).all():
            return bits
        lanes = np.unpackbits(bits, axis=1, count=len(order))
        return np.packbits(lanes[:, np.argsort(order)], axis=1)

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
