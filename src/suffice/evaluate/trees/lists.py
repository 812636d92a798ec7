"""Any list of subsets, judged by the trees: up to 64 of them beside up to 64 references at a time.

Such a rectangle of hybrids is walked down each tree together. At a split the references that are
not on the input's side leave it where the player is not held: what goes either way is again made of
rectangles, a word of references × a word of subsets. However many players there are, a rectangle
costs about as much as its distinct ways down the trees; so subsets are sorted first, by the players
on whom most hybrids part, to bring those into a word that have most of their ways in common.

A verdict is 2 where the event surely holds, 0 where it surely fails, 1 where rounding could make it
either (see `margins`).
"""

from __future__ import annotations

from functools import cached_property
from time import perf_counter
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from suffice.evaluate.trees.blocks import Kernel, choose_kernel, cores, run_tasks
from suffice.evaluate.trees.ensemble import Ints
from suffice.evaluate.trees.margins import Margin
from suffice.evaluate.trees.problem import LANES, Problem
from suffice.randomness import Stream, generator
from suffice.typing import Counts, Held, Reals, Words

__all__ = ["DOUBT", "FAILS", "HOLDS", "NumpyWalk", "SubsetLists", "Verdicts", "Walk", "make_walk"]

Verdicts = NDArray[np.uint8]
FAILS, DOUBT, HOLDS = range(3)

_BYTES_KEPT = 1 << 27
"""Of trees made ready for blocks of references, kept from list to list."""

_TREES_TIMED = 16
"""Of so many trees a few subsets are judged to tell what a list will cost."""

_WORTH_THREADS = 2e-3
"""Seconds; starting threads takes a tenth of it."""

_ENTRIES_AT_ONCE = 1 << 14
"""Leaves reached by numpy's kernel, or its single hybrids × trees, that are written out."""


class SubsetLists:
    """The lists of one problem; `kernel` as the engine was given it, None to choose."""

    def __init__(self, problem: Problem, kernel: Kernel | None) -> None:
        self._problem = problem
        self._lanes = problem.list_lanes
        self._given = kernel
        self._walks: dict[tuple[Kernel, int], Walk] = {}
        most = 16 * problem.nodes[0].shape[0] * len(problem.nodes) * self._lanes.blocks
        self._keep_walks = most <= _BYTES_KEPT
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
        order = self._alike_together(held)
        words = _by_player(held[order])
        blocks, workers = self._lanes.blocks, self._workers(kernel, out.size)
        # Enough tasks to share evenly.
        cuts = 1 if workers == 1 else min(len(words), -(-8 * workers // blocks))
        edges = [len(words) * i // cuts for i in range(cuts + 1)]

        def work(task: int) -> None:
            block, cut = divmod(task, cuts)
            walk, places = self._walk(kernel, block), self._lanes.references(block)
            for i in range(edges[cut], edges[cut + 1]):
                walk.judge(words[i], order[LANES * i : LANES * (i + 1)], places, out)

        run_tasks(work, blocks * cuts, workers)
        return self._turned(out)

    def verdicts_of(self, held: Held, references: Counts) -> Verdicts:
        """(rows,): of single hybrids."""
        out = np.full(len(references), HOLDS, dtype=np.uint8)
        kernel = self._kernel(len(out))
        block, place = np.divmod(np.argsort(self._lanes.order)[references], self._lanes.width)
        blocks = np.unique(block)

        def work(task: int) -> None:
            rows = np.flatnonzero(block == blocks[task])
            scores = self._walk(kernel, int(blocks[task])).scores_of(held[rows], place[rows] ^ 7)
            for margin, score in zip(self._problem.reading.margins, scores, strict=True):
                out[rows] = np.minimum(out[rows], _verdicts(margin, score))

        run_tasks(work, len(blocks), self._workers(kernel, len(out)))
        return self._turned(out)

    def _turned(self, verdicts: Verdicts) -> Verdicts:
        reverse = self._problem.reading.reverse
        return np.asarray(HOLDS - verdicts, dtype=np.uint8) if reverse else verdicts

    def _kernel(self, hybrids: int) -> Kernel:
        return self._given or choose_kernel(lambda: self.seconds_per_hybrid("numpy") * hybrids)

    def _workers(self, kernel: Kernel, hybrids: int) -> int:
        long = self.seconds_per_hybrid(kernel) * hybrids >= _WORTH_THREADS
        return cores() if kernel == "numba" and long else 1

    def _walk(self, kernel: Kernel, block: int) -> Walk:
        walk = self._walks.get((kernel, block))
        if walk is None:
            walk = self._make_walk(kernel, block)
            if self._keep_walks:
                self._walks[kernel, block] = walk
        return walk

    def _make_walk(self, kernel: Kernel, block: int, trees: int | None = None) -> Walk:
        differs = self._problem.sides.words(self._lanes.references(block))
        return make_walk(kernel, self._problem, differs, self._lanes.everyone(block), trees)

    def _alike_together(self, held: Held) -> Counts:
        """The order in which subsets are given words."""
        if len(held) <= LANES:
            return np.arange(len(held))
        # Byte by byte the first player comes first: so it must in the number that is sorted by.
        numbers = _as_words(held[:, self._telling], "big")[:, 0].byteswap()
        return np.argsort(numbers, kind="stable")

    @cached_property
    def _telling(self) -> Counts:
        """Up to 64 players, first those on whom most hybrids part from the input's way."""
        problem = self._problem
        words = problem.sides.words(self._lanes.references(0))
        leaving = np.bitwise_count(words) / len(self._lanes.references(0))
        weight = np.zeros(problem.d)
        node = problem.ensemble.roots
        share = np.ones(len(node))  # of the hybrids that come to a node
        while len(node):
            inner = problem.ensemble.test[node] >= 0
            node, share = node[inner], share[inner]
            test = problem.ensemble.test[node]
            np.add.at(weight, problem.player[test], share * leaving[test])
            away = share * leaving[test] / 2  # as if every second subset held the player
            node = np.concatenate([problem.toward[node], problem.away[node]])
            share = np.concatenate([share - away, away])
        return np.argsort(-weight, kind="stable")[:LANES]

    def _measured(self, kernel: Kernel) -> float:
        """Seconds per hybrid of one thread, from a few trees and one rectangle."""
        rng = generator(0, Stream.CHECKS)
        words = _by_player(rng.random((LANES, self._problem.d)) < 0.5)[0]
        rows, places = np.arange(LANES), self._lanes.references(0)
        out = np.full((LANES, len(self._lanes.order)), HOLDS, dtype=np.uint8)
        walk = self._make_walk(kernel, 0, _TREES_TIMED)
        for _ in range(2):  # the first call of a compiled function loads it
            started = perf_counter()
            walk.judge(words, rows, places, out)
            seconds = perf_counter() - started
        trees = len(self._problem.ensemble.roots)
        return seconds * max(1.0, trees / _TREES_TIMED) / (LANES * len(places))


class Walk(Protocol):
    """A kernel at work on one word of references; threads may share it."""

    def judge(self, held: Words, rows: Counts, places: Counts, verdicts: Verdicts) -> None:
        """Lower the verdicts, (subsets, references), of one word of subsets.

        `held` has for every player the word of subsets that hold it; `rows` are those that the
        subsets have in the verdicts, `places` the columns of the references.
        """
        ...

    def scores_of(self, held: Held, lanes: Counts) -> list[Ints]:
        """By margin, (rows,): of single hybrids."""
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
        self._differs = differs
        self._everyone = np.uint64(everyone)
        self._margins = [
            (margin, margin.roots[:trees].astype(np.int64), nodes)
            for margin, nodes in zip(problem.reading.margins, problem.nodes, strict=True)
        ]

    def judge(self, held: Words, rows: Counts, places: Counts, verdicts: Verdicts) -> None:
        """Lower the verdicts of one word of subsets."""
        wanted = np.uint64((1 << len(rows)) - 1)
        lanes, here = np.arange(len(places)) ^ 7, np.ix_(rows, places)
        for margin, roots, nodes in self._margins:
            scores = self._scores(roots, nodes, held, wanted)[lanes, : len(rows)].T
            verdicts[here] = np.minimum(verdicts[here], _verdicts(margin, scores))

    def _scores(self, roots: Counts, nodes: Ints, held: Words, wanted: np.uint64) -> Reals:
        """(lanes, subsets): sums of few enough whole numbers to be exact in float64."""
        node, group = roots, np.full(len(roots), self._everyone)
        subsets = np.full(len(node), wanted)
        scores = np.zeros((LANES, LANES))
        while len(node):
            leaf = nodes[node, 0] < 0
            reached = np.flatnonzero(leaf)
            for start in range(0, len(reached), _ENTRIES_AT_ONCE):
                at = reached[start : start + _ENTRIES_AT_ONCE]
                values = _lanes_of(group[at]) * nodes[node[at], 1, None]
                scores += values.T @ _lanes_of(subsets[at])
            test, toward, away, player = nodes[node[~leaf]].T.astype(np.int64)
            group, subsets = group[~leaf], subsets[~leaf]
            others, holding = group & self._differs[test], subsets & held[player]
            parts = (others != 0) & (holding != subsets)
            stay, held_back = parts & (others != group), parts & (holding != 0)
            node = np.concatenate([np.where(parts, away, toward), toward[stay], toward[held_back]])
            left = np.where(parts, others, group)
            group = np.concatenate([left, (group ^ others)[stay], others[held_back]])
            free = np.where(parts, subsets ^ holding, subsets)
            subsets = np.concatenate([free, subsets[stay], holding[held_back]])
        return scores

    def scores_of(self, held: Held, lanes: Counts) -> list[Ints]:
        """By margin, (rows,): of single hybrids."""
        out = []
        for _, roots, nodes in self._margins:
            step = max(1, _ENTRIES_AT_ONCE // max(1, len(roots)))
            parts = [slice(at, at + step) for at in range(0, len(lanes), step)]
            out.append(np.concatenate([self._sums(roots, nodes, held[p], lanes[p]) for p in parts]))
        return out

    def _sums(self, roots: Counts, nodes: Ints, held: Held, lanes: Counts) -> Ints:
        row = np.repeat(np.arange(len(lanes)), len(roots))
        node = np.tile(roots, len(lanes))
        lane = lanes.astype(np.uint64)[row]
        while (inner := np.flatnonzero(nodes[node, 0] >= 0)).size:
            test, toward, away, player = nodes[node[inner]].T
            leaves = (self._differs[test] >> lane[inner] & np.uint64(1)).astype(bool)
            node[inner] = np.where(leaves & ~held[row[inner], player], away, toward)
        sums = nodes[node, 1].reshape(len(lanes), len(roots)).sum(axis=1, dtype=np.int64)
        return np.asarray(sums.astype(np.int32))


def _verdicts(margin: Margin, scores: NDArray[Any]) -> Verdicts:
    fails = (scores < margin.no_below) | (scores > margin.no_above)
    holds = (scores >= margin.yes_from) & (scores <= margin.yes_to)
    return np.where(fails, FAILS, np.where(holds, HOLDS, DOUBT)).astype(np.uint8)


def _by_player(held: Held) -> Words:
    """(words, players): which of 64 subsets after another hold a player."""
    return np.ascontiguousarray(_as_words(held.T, "little").T)


def _as_words(truths: Held, bitorder: Literal["little", "big"]) -> Words:
    """(rows, columns) -> (rows, words): bits packed along the columns, byte by byte in memory."""
    rows, columns = truths.shape
    out = np.zeros((rows, 8 * -(-columns // LANES)), dtype=np.uint8)
    packed = np.packbits(truths, axis=1, bitorder=bitorder)
    out[:, : packed.shape[1]] = packed
    return out.view("<u8").astype(np.uint64)


def _lanes_of(words: Words) -> Reals:
    """(words, 64): a one for each bit set."""
    bits = words.astype("<u8").view(np.uint8).reshape(-1, 8)
    return np.unpackbits(bits, axis=1, bitorder="little").astype(np.float64)
