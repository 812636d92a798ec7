"""Every hybrid's outcome from the trees themselves, with the model asked only where it must be.

The lattice is cut into slabs of consecutive masks, the references into blocks; each (block,
slab) is one call of a kernel, and blocks run in threads. What the integers cannot decide (scores
within rounding of a boundary, see `margins`) is asked of the model, each distinct hybrid once. The
same call asks a few hybrids that are decided, as a check on the reading of the model: if it ever
disagrees, the reading is given up and the black box takes over.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from importlib.util import find_spec
from time import perf_counter
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from suffice.context.swap import SwapHybrids
from suffice.evaluate.blackbox import BlackBox
from suffice.evaluate.trees.asking import Asking
from suffice.evaluate.trees.ensemble import Ensemble
from suffice.evaluate.trees.fallback import NumpyBlock
from suffice.evaluate.trees.margins import Reading
from suffice.evaluate.trees.problem import Problem, make_problem
from suffice.factors.lattice import held_of_masks
from suffice.target import Target
from suffice.typing import Counts, Words

__all__ = ["TreeEngine"]

_SLAB_CELLS = 1 << 21
"""Masks × lanes of a slab, 32 bits each: more is slower, as it leaves the cache."""

_BLOCK_BYTES = 1 << 27
"""Outcomes that are held before they are handed on."""

_TURNED_AT_ONCE = 1 << 11
"""Masks of which a transposed piece stays in the cache."""

_NUMBA_START = 0.8
"""Seconds of numpy's work from which importing numba and loading its kernels pays."""

_rent = [0.0]
"""Seconds of such work in this process so far."""


class Block(Protocol):
    """A kernel at work on one block of references."""

    def slab(self, number: int) -> tuple[Words, Words]:
        """By mask: the lanes that surely have the event, and those that surely do not."""
        ...


class TreeEngine(BlackBox):
    """A tree ensemble on a swap context: a black box that can also sweep the whole lattice.

    `kernel` is "numba", "numpy", or None to choose: numba where it is installed and the work is
    worth its start. `note` says why the black box took over, if it did.
    """

    name = "trees"

    def __init__(
        self,
        ensemble: Ensemble,
        reading: Reading,
        target: Target,
        hybrids: SwapHybrids,
        y: bool,
        kernel: str | None = None,
    ) -> None:
        super().__init__(target, hybrids, y)
        self._swapped = hybrids

        self._problem = make_problem(ensemble, reading, hybrids)
        self._kernel = kernel

    def sweep(self) -> Iterator[tuple[int, Counts, NDArray[np.uint8]]]:
        """All 2^d subsets, in blocks of consecutive masks; see `LatticeEvaluator`."""
        asking = Asking(self, self._swapped, self._problem)
        kernel = self._kernel or choose_kernel(self._problem)
        rows = 1 << min(self._problem.d, _log2(8 * _BLOCK_BYTES // self.n))
        start = 0
        while start < 1 << self._problem.d:
            words = self._evaluate(kernel, start, rows, asking)
            if not asking.settle(words, start, self._y):
                self.note = "its trees, as read, disagree with its predictions"
                self.name = BlackBox.name
                yield from self._ask_everything(rows)
                return
            yield start, *self._finish(words)
            start += rows

    def _evaluate(self, kernel: str, start: int, rows: int, asking: Asking) -> NDArray[Any]:
        """(blocks, masks): the words of lanes that have the input's outcome."""
        problem = self._problem
        players = min(_log2(rows), _log2(_SLAB_CELLS // problem.width))
        size = 1 << players
        slabs = rows // size
        # Handed on as bytes, so their order in memory matters.
        out = np.empty((problem.blocks, rows), dtype=f"<u{problem.width // 8}")
        # Enough tasks to share evenly, few enough that preparing a block is not done too often.
        cuts = max(1, min(slabs, -(-8 // problem.blocks)))
        edges = [slabs * i // cuts for i in range(cuts + 1)]

        local = threading.local()

        def work(task: int) -> None:
            block, cut = divmod(task, cuts)
            scratch = local.__dict__.setdefault("scratch", {})
            everyone = np.uint64(problem.everyone(block))
            at_work = make_block(kernel, problem, block, players, scratch)
            for slab in range(edges[cut], edges[cut + 1]):
                yes, no = at_work.slab(start // size + slab)
                here = slice(slab * size, (slab + 1) * size)
                out[block, here] = yes if self._y else no
                asking.note(start + slab * size, block, everyone & ~(yes | no))

        tasks = range(problem.blocks * cuts)
        workers = min(len(tasks), _cores())
        if kernel == "numpy" or workers == 1:
            for task in tasks:
                work(task)
        else:
            with ThreadPoolExecutor(workers) as pool:
                list(pool.map(work, tasks))
        return out

    def _finish(self, words: NDArray[Any]) -> tuple[Counts, NDArray[np.uint8]]:
        """Count, turn blocks × masks into masks × references, and put these back in order."""
        masks = words.shape[1]
        hits = np.zeros(masks, dtype=np.int64)
        for block in words:
            hits += np.bitwise_count(block)
        turned = np.empty(words.shape[::-1], dtype=words.dtype)
        for start in range(0, masks, _TURNED_AT_ONCE):
            part = slice(start, start + _TURNED_AT_ONCE)
            turned[part] = words[:, part].T
        bits = turned.view(np.uint8)[:, : (self.n + 7) // 8]
        if (np.diff(self._problem.order) == 1).all():
            return hits, bits
        lanes = np.unpackbits(bits, axis=1, count=self.n)
        return hits, np.packbits(lanes[:, np.argsort(self._problem.order)], axis=1)

    def _ask_everything(self, rows: int) -> Iterator[tuple[int, Counts, NDArray[np.uint8]]]:
        d = self._problem.d
        step = max(1, min(rows, (1 << 20) // self.n))
        for start in range(0, 1 << d, step):
            masks = np.arange(start, min(start + step, 1 << d))
            outcomes = self.outcomes(held_of_masks(masks, d))
            yield start, outcomes.sum(axis=1, dtype=np.int64), np.packbits(outcomes, axis=1)


def make_block(
    kernel: str, problem: Problem, block: int, players: int, scratch: dict[Any, NDArray[Any]]
) -> Block:
    """A kernel made ready for one block of references."""
    if kernel == "numpy":
        return NumpyBlock(problem, block, players)
    from suffice.evaluate.trees.compiled import CompiledBlock

    return CompiledBlock(problem, block, players, scratch)


def choose_kernel(problem: Problem) -> str:
    """Numba where it is loaded already, or where its start is soon earned back.

    Like someone who rents skis until the rent has come to the price of a pair: numpy's work so far
    in this process counts, so that many small questions load numba too. The work ahead is guessed
    from a part of it: one slab of the first block.
    """
    if not find_numba():
        return "numpy"
    if numba_is_loaded():
        return "numba"
    players = min(problem.d, 9)
    started = perf_counter()
    make_block("numpy", problem, 0, players, {}).slab(0)
    ahead = (perf_counter() - started) * problem.blocks * 2.0 ** (problem.d - players)
    if _rent[0] + ahead > _NUMBA_START and _load_numba():
        return "numba"
    _rent[0] += ahead
    return "numpy"


def find_numba() -> bool:
    """Is numba installed?"""
    return find_spec("numba") is not None


def _load_numba() -> bool:
    """Load the kernels; numba refuses a numpy that is newer than it knows."""
    try:
        import_module("suffice.evaluate.trees.compiled")
    except ImportError:
        return False
    return True


def numba_is_loaded() -> bool:
    """Are the kernels ready, so that they cost nothing more?"""
    return "suffice.evaluate.trees.kernel" in sys.modules


def _cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _log2(cells: int) -> int:
    return max(0, cells.bit_length() - 1)
