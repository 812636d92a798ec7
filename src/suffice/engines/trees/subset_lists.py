"""Outcomes of any list of sets from trees, packed as bits, 64 sets by 64 references (NumPy kernel).

A rectangle of hybrids (64 sets × 64 references) descends each tree together. At a split, references
on the other side than the input part from it in the sets that do not hold the player, so either
branch again gets rectangles: a word of references × a word of subsets. Whatever the number of
players, a rectangle costs about as much as its distinct paths down the trees. So subsets are first
sorted by the players that part most hybrids: those of one word then share most of their paths.

A verdict is 2 where the event surely holds, 0 where it surely fails, 1 where rounding could make it
either (see `IntegerMargin`).
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from suffice.engines.trees.encoded_input import LANES, EncodedInput, IntegerMargin
from suffice.engines.trees.ensemble import Ints
from suffice.engines.work import Backend, available_cores, choose_backend, run_in_threads
from suffice.factors.lattice import pack_rows, unpack_rows
from suffice.typing import BitWords, Counts, HeldSets, Reals

Verdicts = NDArray[np.uint8]
FAILS, DOUBT, HOLDS = range(3)

_MAX_WALK_BYTES = 1 << 27
"""Largest cache of trees prepared for blocks of references, reused from list to list."""

_MIN_WORK_FOR_THREADS = 2e6
"""Least work for which threads pay: starting them takes a tenth of it."""

_ENTRIES_AT_ONCE = 1 << 14
"""Entries that the NumPy kernel expands at once: leaves reached, or single hybrids × trees."""


class SubsetLists:
    """Verdicts for lists of sets of one input; `kernel` None chooses by the work."""

    def __init__(self, problem: EncodedInput, kernel: Backend | None) -> None:
        self._problem = problem
        # Lists have no accumulators that must fit a cache, so blocks are always whole words.
        self._lanes = problem.list_lanes
        self._given = kernel
        self._walks: dict[tuple[Backend, int], TreeWalk] = {}
        # A walk's table has two words of 64 bits per node.
        most = 16 * problem.nodes[0].shape[0] * len(problem.nodes) * self._lanes.blocks
        self._keep_walks = most <= _MAX_WALK_BYTES

    def backend(self, hybrids: int) -> Backend:
        """Return the kernel for a list with this many hybrids."""
        return self._given or choose_backend(self._problem.work_per_hybrid * hybrids)

    def verdicts(self, held: HeldSets) -> Verdicts:
        """Return the verdicts (subsets, references) of a list of subsets."""
        out = np.full((len(held), len(self._lanes.order)), HOLDS, dtype=np.uint8)
        kernel = self.backend(out.size)
        order = self._order_similar_subsets(held)
        words = _words_by_player(held[order])
        blocks, workers = self._lanes.blocks, self._workers(kernel, out.size)
        # Eight tasks per worker, so that all end at about the same time.
        cuts = 1 if workers == 1 else min(len(words), -(-8 * workers // blocks))
        edges = [len(words) * i // cuts for i in range(cuts + 1)]

        def work(task: int) -> None:
            block, cut = divmod(task, cuts)
            walk, places = self._walk(kernel, block), self._lanes.references(block)
            for i in range(edges[cut], edges[cut + 1]):
                walk.decide(words[i], order[LANES * i : LANES * (i + 1)], places, out)

        run_in_threads(work, blocks * cuts, workers)
        return self._negate_if_needed(out)

    def verdicts_of(self, held: HeldSets, references: Counts) -> Verdicts:
        """Return the verdicts (rows,) of single hybrids."""
        out = np.full(len(references), HOLDS, dtype=np.uint8)
        kernel = self.backend(len(out))
        block, place = np.divmod(np.argsort(self._lanes.order)[references], self._lanes.width)
        blocks = np.unique(block)

        def work(task: int) -> None:
            rows = np.flatnonzero(block == blocks[task])
            scores = self._walk(kernel, int(blocks[task])).sums_of_hybrids(
                held[rows], place[rows] ^ 7
            )
            for margin, score in zip(self._problem.margins.margins, scores, strict=True):
                out[rows] = np.minimum(out[rows], _verdicts_from_scores(margin, score))

        run_in_threads(work, len(blocks), self._workers(kernel, len(out)))
        return self._negate_if_needed(out)

    def _negate_if_needed(self, verdicts: Verdicts) -> Verdicts:
        reverse = self._problem.margins.reverse
        return np.asarray(HOLDS - verdicts, dtype=np.uint8) if reverse else verdicts

    def _workers(self, kernel: Backend, hybrids: int) -> int:
        long = self._problem.work_per_hybrid * hybrids >= _MIN_WORK_FOR_THREADS
        return available_cores() if kernel == "numba" and long else 1

    def _walk(self, kernel: Backend, block: int) -> TreeWalk:
        walk = self._walks.get((kernel, block))
        if walk is None:
            walk = self._make_walk(kernel, block)
            if self._keep_walks:
                self._walks[kernel, block] = walk
        return walk

    def _make_walk(self, kernel: Backend, block: int) -> TreeWalk:
        differs = self._problem.sides.words(self._lanes.references(block))
        return make_tree_walk(kernel, self._problem, differs, self._lanes.all_lanes(block))

    def _order_similar_subsets(self, held: HeldSets) -> Counts:
        """Return the order of the subsets that puts similar ones into one word."""
        if len(held) <= LANES:
            return np.arange(len(held))
        # The first player must be the most significant bit of the sort key; packed bytes are in
        # order, so the number's bytes are swapped.
        numbers = pack_rows(held[:, self._players_by_influence], "big")[:, 0].byteswap()
        return np.argsort(numbers, kind="stable")

    @cached_property
    def _players_by_influence(self) -> Counts:
        """Up to 64 players, first those at whose splits most hybrids leave the input's path."""
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
        return np.argsort(-weight, kind="stable")[:LANES]  # a sort key is one word


class TreeWalk(Protocol):
    """Protocol of a kernel prepared for one word of references; threads may share it."""

    def decide(self, held: BitWords, rows: Counts, places: Counts, verdicts: Verdicts) -> None:
        """Lower the verdicts, (subsets, references), of one word of subsets.

        `held` has for every player the word of subsets that hold it; `rows` and `places` are the
        rows of the subsets and the columns of the references in `verdicts`.
        """
        ...

    def sums_of_hybrids(self, held: HeldSets, lanes: Counts) -> list[Ints]:
        """Return by margin the sums (rows,) of single hybrids."""
        ...


def make_tree_walk(
    kernel: Backend,
    problem: EncodedInput,
    differs: BitWords,
    everyone: int,
) -> TreeWalk:
    """Return a kernel prepared for a word of references."""
    if kernel == "numpy":
        return NumpyWalk(problem, differs, everyone)
    from suffice.engines.trees.numba_blocks import NumbaWalk

    return NumbaWalk(problem, differs, everyone)


class NumpyWalk:
    """Walk of all trees at once, level by level; its verdicts are those of the compiled kernel."""

    def __init__(self, problem: EncodedInput, differs: BitWords, everyone: int) -> None:
        self._differs = differs
        self._everyone = np.uint64(everyone)
        self._margins = [
            (margin, margin.roots.astype(np.int64), nodes)
            for margin, nodes in zip(problem.margins.margins, problem.nodes, strict=True)
        ]

    def decide(self, held: BitWords, rows: Counts, places: Counts, verdicts: Verdicts) -> None:
        """Lower the verdicts of one word of subsets."""
        wanted = np.uint64((1 << len(rows)) - 1)
        lanes, here = np.arange(len(places)) ^ 7, np.ix_(rows, places)
        for margin, roots, nodes in self._margins:
            scores = self._scores(roots, nodes, held, wanted)[lanes, : len(rows)].T
            verdicts[here] = np.minimum(verdicts[here], _verdicts_from_scores(margin, scores))

    def _scores(self, roots: Counts, nodes: Ints, held: BitWords, wanted: np.uint64) -> Reals:
        """Return sums (lanes, subsets), of few enough whole numbers to be exact in float64."""
        node, group = roots, np.full(len(roots), self._everyone)
        subsets = np.full(len(node), wanted)
        scores = np.zeros((LANES, LANES))
        while len(node):
            leaf = nodes[node, 0] < 0
            reached = np.flatnonzero(leaf)
            for start in range(0, len(reached), _ENTRIES_AT_ONCE):
                at = reached[start : start + _ENTRIES_AT_ONCE]
                values = unpack_rows(group[at]).astype(float) * nodes[node[at], 1, None]
                scores += values.T @ unpack_rows(subsets[at]).astype(float)  # by BLAS
            test, toward, away, player = nodes[node[~leaf]].T.astype(np.int64)
            group, subsets = group[~leaf], subsets[~leaf]
            # As in the compiled kernel: references on the other side leave the input's path in sets
            # that do not hold the player; the remaining hybrids form two more rectangles.
            others, holding = group & self._differs[test], subsets & held[player]
            parts = (others != 0) & (holding != subsets)
            stay, held_back = parts & (others != group), parts & (holding != 0)
            node = np.concatenate([np.where(parts, away, toward), toward[stay], toward[held_back]])
            left = np.where(parts, others, group)
            group = np.concatenate([left, (group ^ others)[stay], others[held_back]])
            free = np.where(parts, subsets ^ holding, subsets)
            subsets = np.concatenate([free, subsets[stay], holding[held_back]])
        return scores

    def sums_of_hybrids(self, held: HeldSets, lanes: Counts) -> list[Ints]:
        """Return by margin the sums (rows,) of single hybrids."""
        out = []
        for _, roots, nodes in self._margins:
            step = max(1, _ENTRIES_AT_ONCE // max(1, len(roots)))
            parts = [slice(at, at + step) for at in range(0, len(lanes), step)]
            out.append(np.concatenate([self._sums(roots, nodes, held[p], lanes[p]) for p in parts]))
        return out

    def _sums(self, roots: Counts, nodes: Ints, held: HeldSets, lanes: Counts) -> Ints:
        block = np.zeros(len(lanes), dtype=np.int64)
        leaves = leaf_nodes(roots, nodes, self._differs[None], block, lanes, held)
        return np.asarray(nodes[leaves, 1].sum(axis=0, dtype=np.int64).astype(np.int32))


def leaf_nodes(
    roots: Ints | Counts,
    nodes: Ints,
    differs: BitWords,
    block: Counts,
    lanes: Counts,
    held: HeldSets,
) -> Counts:
    """Return (trees, rows): the leaf that each single hybrid reaches in each tree.

    Row i is the hybrid of the set held[i] and lane lanes[i] of block block[i] of the references;
    `differs` has the words of each block by test.
    """
    row = np.tile(np.arange(len(lanes)), len(roots))
    node = np.repeat(roots, len(lanes)).astype(np.int64)
    lane = lanes.astype(np.uint64)[row]
    inner = np.arange(len(node))
    while (inner := inner[nodes[node[inner], 0] >= 0]).size:
        test, toward, away, player = nodes[node[inner]].T
        leaves = (differs[block[row[inner]], test] >> lane[inner] & np.uint64(1)).astype(bool)
        node[inner] = np.where(leaves & ~held[row[inner], player], away, toward)
    return node.reshape(len(roots), len(lanes))


def _verdicts_from_scores(margin: IntegerMargin, scores: NDArray[Any]) -> Verdicts:
    fails = (scores < margin.no_below) | (scores > margin.no_above)
    holds = (scores >= margin.yes_from) & (scores <= margin.yes_to)
    return np.where(fails, FAILS, np.where(holds, HOLDS, DOUBT)).astype(np.uint8)


def _words_by_player(held: HeldSets) -> BitWords:
    """Return (words, players): the bits of each 64 consecutive subsets that hold the player."""
    return np.ascontiguousarray(pack_rows(held.T).T)
