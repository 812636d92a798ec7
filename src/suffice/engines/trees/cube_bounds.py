"""Bounds on tree scores of cubes (sets that hold some features, free others), 64 a word (NumPy).

A cube is all sets that hold some players and free some others. With a reference, a tree then
reaches some of its leaves; the sums over the trees of the lowest and of the highest bound every
score of the cube. They are integers (see `IntegerMargin`), so nothing is rounded, and an event is
decided for a cube by comparing both bounds.

Along one path a player is held or freed throughout, even where the cube leaves it undecided: paths
that would need both are not walked. For that each tree numbers its own players; past 64 of them
some contradictory paths are walked after all, which loosens the bounds and keeps them sound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from suffice.engines.trees.encoded_input import LANES, EncodedInput, IntegerMargin
from suffice.engines.trees.ensemble import Ints
from suffice.engines.work import (
    Backend,
    available_cores,
    load_numba,
    numba_is_installed,
    run_in_threads,
)
from suffice.factors.lattice import unpack_rows
from suffice.typing import BitWords, BoolVector, Counts, HeldSets, Outcomes, Reals

CubeStates = NDArray[np.uint8]
"""(cubes, players): 0 undecided, 1 held, 2 freed."""

BoundFunction = Callable[[CubeStates], tuple[Ints, Ints]]
"""By cube and lane of one word of references: the lowest and the highest sum."""

_NO_BIT = 64
_CUBES_AT_ONCE = 256
"""Cubes that one thread bounds before it can be interrupted."""
_WALKED_AT_ONCE = 1 << 12
"""Pairs of a cube and a tree that numpy walks together."""
_LEVERAGE_CELLS = 1 << 24
"""Most nodes × references for the leverage; of more, a sample of the references is used."""
_LEVERAGE_AT_ONCE = 1 << 18
"""Nodes × references whose weights are in memory together."""


class CubeBounds:
    """The trees of one problem, prepared to bound cubes; `kernel` None: numba if it is installed.

    A search by bounds takes seconds at least, so that loading numba always pays.
    """

    def __init__(self, problem: EncodedInput, kernel: Backend | None = None) -> None:
        self._problem = problem
        self._lanes = problem.list_lanes
        self._compiled = kernel == "numba" or (
            kernel is None and numba_is_installed() and load_numba()
        )
        if self._compiled:  # the first call of a compiled function is a slow one
            self._bounds[0][0](np.empty((0, problem.d), dtype=np.uint8))

    def event(self, held: HeldSets, freed: HeldSets) -> tuple[Outcomes, Outcomes]:
        """Return (cubes, references): whether the event surely holds, and whether it may."""
        n, lanes = len(self._lanes.order), self._lanes
        states = held.astype(np.uint8) + 2 * freed.astype(np.uint8)
        surely = np.ones((len(held), n), dtype=bool)
        never = np.zeros((len(held), n), dtype=bool)

        def work(task: int) -> None:
            part, block = tasks[task]
            places = lanes.references(block)
            lane = np.arange(len(places)) ^ 7
            for margin, bounds in zip(self._problem.margins.margins, self._bounds, strict=True):
                low, high = (bound[:, lane] for bound in bounds[block](states[part]))
                # The sums of all hybrids of a cube lie between its bounds. So the event holds in
                # all of it if both ends surely hold, and in none if the range misses every yes.
                surely[part, places] &= (low >= margin.yes_from) & (high <= margin.yes_to)
                never[part, places] |= (high < margin.no_below) | (low > margin.no_above)

        starts = range(0, len(held), _CUBES_AT_ONCE)
        parts = [slice(start, start + _CUBES_AT_ONCE) for start in starts]
        tasks = [(part, block) for part in parts for block in range(lanes.blocks)]
        run_in_threads(work, len(tasks), available_cores() if self._compiled else 1)
        if self._problem.margins.reverse:
            surely, never = never, surely
        return surely, ~never

    @cached_property
    def _bounds(self) -> list[list[BoundFunction]]:
        """Bound functions by margin and block of references."""
        own = _player_numbers_by_tree(self._problem)
        margins = [RankedTrees(self._problem, m, own) for m in self._problem.margins.margins]
        everyone = [self._lanes.all_lanes(block) for block in range(self._lanes.blocks)]
        both = list(zip(self._words, everyone, strict=True))
        if not self._compiled:
            return [[partial(bound_by_numpy, t, w, e) for w, e in both] for t in margins]
        from suffice.engines.trees.numba_cube_bounds import bound_by_numba, find_equal_steps

        votes = [find_equal_steps(trees) for trees in margins]
        return [
            [partial(bound_by_numba, t, w, e) if v is None else v.before(w) for w, e in both]
            for t, v in zip(margins, votes, strict=True)
        ]

    @cached_property
    def _words(self) -> list[BitWords]:
        """Words of lanes that leave the input's side, by block of references and test."""
        blocks = range(self._lanes.blocks)
        return [self._problem.sides.words(self._lanes.references(block)) for block in blocks]

    def leverage(self) -> Reals:
        """Return (references, players): how far a player moves scores, the others being random."""
        problem, test, n = self._problem, self._problem.ensemble.test, len(self._lanes.order)
        levels = list(_levels(problem))
        step = sum(
            _gaps_between_children(problem, margin, levels) for margin in problem.margins.margins
        )
        assert isinstance(step, np.ndarray)
        some = np.arange(0, n, 1 + n * len(test) // _LEVERAGE_CELLS)
        words, moved = np.stack(self._words), np.zeros((problem.d, len(some)))
        together = max(1, _LEVERAGE_AT_ONCE // len(test))
        for start in range(0, len(some), together):
            part = slice(start, start + together)
            block, lane = np.divmod(some[part], LANES)
            bits = words[block] >> (lane ^ 7).astype(np.uint64)[:, None] & np.uint64(1)
            differs = bits.astype(bool).T
            weight = np.zeros((len(test), len(block)))
            weight[problem.ensemble.roots] = 1.0
            # The weight of a node is the chance to reach it when a coin is thrown at every test
            # that the input and the reference answer differently.
            for level in levels:
                parts, here = differs[test[level]], weight[level]
                weight[problem.toward[level]] = np.where(parts, here / 2, here)
                weight[problem.away[level]] = np.where(parts, here / 2, 0.0)
                shares = parts * here * step[level][:, None]
                np.add.at(moved[:, part], problem.player[test[level]], shares)
        out = np.tile(moved.mean(axis=1), (n, 1))
        out[self._lanes.order[some]] = moved.T
        return out


class RankedTrees:
    """The trees of one margin, the leaves of each ranked by value."""

    def __init__(self, problem: EncodedInput, margin: IntegerMargin, own: Ints) -> None:
        roots, test = problem.ensemble.roots, problem.ensemble.test
        tree = np.searchsorted(margin.roots, np.arange(len(test)), side="right") - 1
        # A margin leaves out trees with one value everywhere; their nodes are never reached.
        ends = np.append(roots, len(test))[np.searchsorted(roots, margin.roots, side="right")]
        leaf = np.flatnonzero((test < 0) & (tree >= 0) & (np.arange(len(test)) < ends[tree]))
        pairs = np.stack([tree[leaf], margin.value[leaf]], axis=1)
        distinct, rank = np.unique(pairs, axis=0, return_inverse=True)
        self.depth = problem.ensemble.depth
        self.roots = margin.roots
        self.values: Ints = distinct[:, 1].astype(np.int32)
        """By tree and rank."""
        self.starts: Counts = np.searchsorted(distinct[:, 0], np.arange(len(self.roots) + 1))
        """By tree: where its values begin; and the end."""
        toward, away = problem.toward.copy(), np.where(test < 0, 0, problem.away)
        toward[leaf] = rank.ravel() - self.starts[tree[leaf]]
        player = np.append(problem.player, 0)[test]
        self.nodes: Ints = np.stack([test, toward, away, player, own], axis=1).astype(np.int32)
        """By node: (test, toward, away, player, its number in the tree), at a leaf (-1, rank, …)"""


def bound_by_numpy(
    trees: RankedTrees, differs: BitWords, everyone: int, states: CubeStates
) -> tuple[Ints, Ints]:
    """Return by cube and lane the lowest and the highest sum; walks all trees level by level."""
    low, high = (np.zeros((len(states), LANES), dtype=np.int32) for _ in range(2))
    if not len(trees.roots):
        return low, high
    step = max(1, _WALKED_AT_ONCE // len(trees.roots))
    for start in range(0, len(states), step):
        part = slice(start, start + step)
        low[part], high[part] = _extreme_leaves(trees, differs, np.uint64(everyone), states[part])
    return low, high


def _extreme_leaves(
    trees: RankedTrees, differs: BitWords, everyone: np.uint64, states: CubeStates
) -> tuple[Ints, Ints]:
    count, cubes = len(trees.roots), len(states)
    # One entry for each pair of a cube and a tree: the node it has come to, the references that
    # come there, and the players that were held or freed on the way. A player is the same at every
    # test, so a path that held one must not free it further down; without that, bounds are looser.
    pair = np.arange(cubes * count)
    node = np.tile(trees.roots.astype(np.int64), cubes)
    group = np.full(len(pair), everyone)
    held, freed = np.zeros((2, len(pair)), dtype=np.uint64)
    found: list[tuple[Counts, BitWords, Ints]] = []
    while len(pair):
        leaf = trees.nodes[node, 0] < 0
        tree = pair[leaf] % count
        value = trees.values[trees.starts[tree] + trees.nodes[node[leaf], 1]]
        found.append((pair[leaf], group[leaf], value))
        pair, node, group, held, freed = (a[~leaf] for a in (pair, node, group, held, freed))
        test, toward, away, player, own = trees.nodes[node].T.astype(np.int64)
        # A shift by 64 sets no bit, so a player without a number is not remembered.
        number = np.minimum(own, _NO_BIT - 1).astype(np.uint64)
        bit = np.where(own < _NO_BIT, np.uint64(1) << number, np.uint64(0))
        state = states[pair // count, player]
        others = group & differs[test]
        may_hold = (state != 2) & (freed & bit == 0)
        may_free = (state != 1) & (held & bit == 0)
        # References on the input's side of the test go its way, whatever is held. The others go the
        # input's way if the player may be held, and their own way if it may be freed.
        branches = (
            (group & ~others, toward, held, freed, np.ones(len(pair), dtype=bool)),
            (others, toward, np.where(state == 0, held | bit, held), freed, may_hold),
            (others, away, held, np.where(state == 0, freed | bit, freed), may_free),
        )
        kept = [
            (pair[k], child[k], lanes[k], h[k], f[k])
            for lanes, child, h, f, open_ in branches
            for k in [np.flatnonzero(open_ & (lanes != 0))]
        ]
        pair, node, group, held, freed = (
            np.concatenate(column) for column in zip(*kept, strict=True)
        )
    pairs, groups, values = (np.concatenate(column) for column in zip(*found, strict=True))
    # Leaves of a pair stand together after the sort; each pair has one, so no run is empty.
    order = np.argsort(pairs, kind="stable")
    first = np.searchsorted(pairs[order], np.arange(cubes * count))
    lanes = unpack_rows(groups[order])
    top, value = np.iinfo(np.int32).max, values[order, None]
    least = np.minimum.reduceat(np.where(lanes, value, top), first)
    most = np.maximum.reduceat(np.where(lanes, value, -top), first)
    present = unpack_rows(np.array([everyone], dtype=np.uint64))[0]
    low, high = (
        np.where(present, extreme.reshape(cubes, count, LANES), 0).sum(axis=1, dtype=np.int32)
        for extreme in (least, most)
    )
    return low, high


def pack_cubes(states: BoolVector) -> BitWords:
    """Return (rectangles, players): words of cubes."""
    players = states.shape[1]
    padded = np.zeros((-(-len(states) // LANES) * LANES, players), dtype=np.uint8)
    padded[: len(states)] = states
    packed = np.packbits(padded.reshape(-1, LANES, players), axis=1, bitorder="little")
    words = np.ascontiguousarray(packed.transpose(0, 2, 1)).view("<u8")
    return np.asarray(words[..., 0], dtype=np.uint64)


def _player_numbers_by_tree(problem: EncodedInput) -> Ints:
    """Return by node the number of its player among the players of its tree, 64 beyond the first
    64."""
    roots, test = problem.ensemble.roots, problem.ensemble.test
    out = np.full(len(test), _NO_BIT, dtype=np.int32)
    for first, end in zip(roots.tolist(), [*roots[1:].tolist(), len(test)], strict=True):
        inner = first + np.flatnonzero(test[first:end] >= 0)
        _, own = np.unique(problem.player[test[inner]], return_inverse=True)
        out[inner] = np.minimum(own, _NO_BIT)
    return out


def _levels(problem: EncodedInput) -> Iterator[Counts]:
    """Yield the inner nodes of all trees, level by level."""
    test, level = problem.ensemble.test, problem.ensemble.roots.astype(np.int64)
    while len(level := level[test[level] >= 0]):
        yield level
        level = np.concatenate([problem.toward[level], problem.away[level]]).astype(np.int64)


def _gaps_between_children(
    problem: EncodedInput, margin: IntegerMargin, levels: list[Counts]
) -> Reals:
    """Return by node the distance between the means of its two sides."""
    mean, step = margin.value.astype(np.float64), np.zeros(len(margin.value))
    for level in reversed(levels):
        one, other = mean[problem.toward[level]], mean[problem.away[level]]
        mean[level], step[level] = (one + other) / 2, np.abs(one - other)
    return step
