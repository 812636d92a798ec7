"""Any list of subsets, judged by the trees: up to 64 of them beside up to 64 references at a time.

Such a rectangle of hybrids is walked down each tree together. At a split the references that are
not on the input's side leave it where the player is not held: what goes either way is again made of
rectangles, a word of references × a word of subsets. However many subsets a list has, and however
many players there are, a rectangle costs about as much as its few distinct ways down the trees.

Single hybrids, each with a subset and a reference of its own, are the same thing once more: 64 of
them are lanes, that leave the input's side where their reference does and their subset does not
hold the player; the list beside them is the one subset that holds nobody.

A verdict is 2 where the event surely holds, 0 where it surely fails, 1 where rounding could make it
either (see `margins`).
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from suffice.evaluate.trees.blocks import Kernel, choose_kernel, cores
from suffice.evaluate.trees.ensemble import Ints
from suffice.evaluate.trees.problem import LANES, Lanes, Problem
from suffice.randomness import Stream, generator
from suffice.typing import BoolVector, Counts, Held, Reals, Words

__all__ = ["DOUBT", "FAILS", "HOLDS", "NumpyWalk", "SubsetLists", "Verdicts", "Walk", "make_walk"]

Verdicts = NDArray[np.uint8]
FAILS, DOUBT, HOLDS = range(3)

_WORDS_KEPT = 1 << 24
"""Words by test and block that are kept from list to list: 128 MB."""

_TREES_TIMED = 16
"""Of so many trees a few subsets are judged to tell what a list will cost."""

_WORTH_THREADS = 2e-3
"""Seconds; starting threads takes a tenth of it."""

_LEAVES_AT_ONCE = 1 << 14
"""Reached by numpy's kernel, written out as rows of 64 numbers."""


class SubsetLists:
    """The lists of one problem; `kernel` as the engine was given it, None to choose."""

    def __init__(self, problem: Problem, kernel: Kernel | None) -> None:
        self._problem = problem
        self._lanes = problem.list_lanes
        self._given = kernel
        self._words: dict[int, Words] = {}
        tests = len(problem.player) + 1
        self._keep_words = tests * self._lanes.blocks <= _WORDS_KEPT
        self._seconds: dict[Kernel, float] = {}

    def seconds_per_hybrid(self, kernel: Kernel | None = None) -> float:
        """About what a hybrid of a long list costs: by a kernel, or by the one to be used."""
        kernel = kernel or self._given or choose_kernel(lambda: 0.0)
        if kernel not in self._seconds:
            self._seconds[kernel] = self._measured(kernel)
        return self._seconds[kernel] / (cores() if kernel == "numba" else 1)

    def verdicts(self, held: Held) -> Verdicts:
        """(subsets, references)"""
        out = np.full((len(held), len(self._lanes.order)), HOLDS, dtype=np.uint8)
        kernel = self._kernel(out.size)
        words = np.ascontiguousarray(_as_words(held.T, "little").T)
        workers = cores() if kernel == "numba" else 1
        if self.seconds_per_hybrid(kernel) * out.size < _WORTH_THREADS:
            workers = 1
        # Enough tasks to share evenly.
        cuts = 1 if workers == 1 else min(len(words), -(-8 * workers // self._lanes.blocks))
        edges = [len(words) * i // cuts for i in range(cuts + 1)]

        def work(task: int) -> None:
            block, cut = divmod(task, cuts)
            walk = self._walk(kernel, block)
            places = self._lanes.references(block)
            for i in range(edges[cut], edges[cut + 1]):
                walk.judge(words[i], places, out[LANES * i : LANES * (i + 1)])

        _run(work, range(self._lanes.blocks * cuts), workers)
        return self._turned(out)

    def verdicts_of(self, held: Held, references: Counts) -> Verdicts:
        """(rows,): of single hybrids."""
        problem, rows = self._problem, len(references)
        out = np.full((1, rows), HOLDS, dtype=np.uint8)
        kernel = self._kernel(rows)
        nobody = np.zeros(problem.d, dtype=np.uint64)
        for start in range(0, rows, LANES):
            part = slice(start, start + LANES)
            differs = problem.sides.words(references[part])
            # A row is lane r ^ 7, as a reference would be: that is the order of packed bits.
            holding = _as_words(held[part].T, "big")[:, 0]
            differs[:-1] &= ~holding[problem.player]
            lanes = Lanes(np.arange(len(references[part])), LANES)
            walk = make_walk(kernel, problem, differs, lanes.everyone(0))
            walk.judge(nobody, lanes.order, out[:, part])
        return self._turned(out)[0]

    def _turned(self, verdicts: Verdicts) -> Verdicts:
        reverse = self._problem.reading.reverse
        return np.asarray(HOLDS - verdicts, dtype=np.uint8) if reverse else verdicts

    def _kernel(self, hybrids: int) -> Kernel:
        return self._given or choose_kernel(lambda: self.seconds_per_hybrid("numpy") * hybrids)

    def _walk(self, kernel: Kernel, block: int, trees: int | None = None) -> Walk:
        words = self._words.get(block)
        if words is None:
            words = self._problem.sides.words(self._lanes.references(block))
            if self._keep_words:
                self._words[block] = words
        return make_walk(kernel, self._problem, words, self._lanes.everyone(block), trees)

    def _measured(self, kernel: Kernel) -> float:
        """Seconds per hybrid of one thread, from a few trees and one rectangle."""
        rng = generator(0, Stream.CHECKS)
        words = _as_words(rng.random((self._problem.d, LANES)) < 0.5, "little")[:, 0]
        places = self._lanes.references(0)
        out = np.full((LANES, len(self._lanes.order)), HOLDS, dtype=np.uint8)
        walk = self._walk(kernel, 0, _TREES_TIMED)
        for _ in range(2):  # the first call of a compiled function loads it
            started = perf_counter()
            walk.judge(words, places, out)
            seconds = perf_counter() - started
        trees = len(self._problem.ensemble.roots)
        return seconds * max(1.0, trees / _TREES_TIMED) / (LANES * len(places))


class Walk(Protocol):
    """A kernel at work on one word of references."""

    def judge(self, held: Words, places: Counts, verdicts: Verdicts) -> None:
        """Lower the verdicts, (subsets, references), of one word of subsets.

        `held` has for every player the word of subsets that hold it; `places` are the columns of
        the verdicts that the references in the lanes have.
        """
        ...


def make_walk(
    kernel: Kernel, problem: Problem, differs: Words, everyone: int, trees: int | None = None
) -> Walk:
    """A kernel made ready for a word of references; for all trees, or some to tell the time."""
    if kernel == "numpy":
        return NumpyWalk(problem, differs, everyone, trees)
    from suffice.evaluate.trees.compiled import CompiledWalk

    return CompiledWalk(problem, differs, everyone, trees)


class NumpyWalk:
    """All trees at once, level by level; gives what the compiled kernel gives, slower."""

    def __init__(self, problem: Problem, differs: Words, everyone: int, trees: int | None) -> None:
        self._problem = problem
        self._differs = differs
        self._everyone = np.uint64(everyone)
        self._trees = trees

    def judge(self, held: Words, places: Counts, verdicts: Verdicts) -> None:
        """Lower the verdicts of one word of subsets."""
        wanted = _first(len(verdicts))
        for m, nodes in zip(self._problem.reading.margins, self._problem.nodes, strict=True):
            scores = self._scores(m.roots[: self._trees], nodes, held, wanted)
            score = scores[np.arange(len(places)) ^ 7, : len(verdicts)].T
            fails = (score < m.no_below) | (score > m.no_above)
            holds = (score >= m.yes_from) & (score <= m.yes_to)
            verdict = np.where(fails, FAILS, np.where(holds, HOLDS, DOUBT)).astype(np.uint8)
            verdicts[:, places] = np.minimum(verdicts[:, places], verdict)

    def _scores(self, roots: Ints, nodes: Ints, held: Words, wanted: np.uint64) -> Reals:
        """(lanes, subsets): sums of few enough whole numbers to be exact in float64."""
        node = roots.astype(np.int64)
        group = np.full(len(node), self._everyone)
        subsets = np.full(len(node), wanted)
        scores = np.zeros((LANES, LANES))
        while len(node):
            leaf = nodes[node, 0] < 0
            reached = np.flatnonzero(leaf)
            for start in range(0, len(reached), _LEAVES_AT_ONCE):
                at = reached[start : start + _LEAVES_AT_ONCE]
                values = _lanes_of(group[at]) * nodes[node[at], 1, None]
                scores += values.T @ _lanes_of(subsets[at])
            test, toward, away, player = nodes[node[~leaf]].T.astype(np.int64)
            group, subsets = group[~leaf], subsets[~leaf]
            others, holding = group & self._differs[test], subsets & held[player]
            parts = (others != 0) & (holding != subsets)
            stay, held_back = parts & (others != group), parts & (holding != 0)
            node = np.concatenate([np.where(parts, away, toward), toward[stay], toward[held_back]])
            rest = np.where(parts, subsets ^ holding, subsets)
            subsets = np.concatenate([rest, subsets[stay], holding[held_back]])
            left = np.where(parts, others, group)
            group = np.concatenate([left, (group ^ others)[stay], others[held_back]])
        return scores


def _first(count: int) -> np.uint64:
    """The word of so many first bits."""
    return np.uint64((1 << count) - 1)


def _lanes_of(words: Words) -> Reals:
    """(words, 64): a one for each bit set."""
    bits = words.astype("<u8").view(np.uint8).reshape(-1, 8)
    return np.unpackbits(bits, axis=1, bitorder="little").astype(np.float64)


def _as_words(truths: BoolVector, bitorder: Literal["little", "big"]) -> Words:
    """(rows, columns) -> (rows, words): bits packed along the columns, byte by byte in memory."""
    rows, columns = truths.shape
    out = np.zeros((rows, 8 * -(-columns // LANES)), dtype=np.uint8)
    packed = np.packbits(truths, axis=1, bitorder=bitorder)
    out[:, : packed.shape[1]] = packed
    return out.view("<u8").astype(np.uint64)


def _run(work: Callable[[int], None], tasks: range, workers: int) -> None:
    """Do all tasks, in threads where they are worth it; an interrupt waits for those at work."""
    if workers == 1 or len(tasks) == 1:
        for task in tasks:
            work(task)
        return
    with ThreadPoolExecutor(min(workers, len(tasks))) as pool:
        for _ in pool.map(work, tasks):
            pass
