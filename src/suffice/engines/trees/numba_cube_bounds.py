"""Compiled (numba) counterpart of `cube_bounds`: bounds on tree scores of 64 cubes at a time.

Down a tree, some references × some cubes are a group. At a split those references that are not on
the input's side leave it in cubes that free the player and stay in cubes that hold it; cubes that
leave it undecided go both ways, and from there on the path knows which. (`numba_kernels` walks
subsets in the same manner; there every subset goes one way.)

Leaves of one tree are ranked by value. A walk only notes, by rank and reference, the word of cubes
that reach a leaf of that rank; from either end of the ranks, the cubes not seen before are those
whose extreme it is. Where all cubes of a group have both of the tree's extremes already, it is
walked no further.

numba takes most of a second to import, so this module is imported only when that pays.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from suffice.engines.trees.cube_bounds import BoundFunction, CubeStates, RankedTrees, pack_cubes
from suffice.engines.trees.encoded_input import LANES
from suffice.engines.trees.ensemble import Ints
from suffice.engines.trees.numba_kernels import cached_njit, count_bits, lowest_bit
from suffice.typing import BitWords, Counts

_SPREAD_FROM = 10
"""From so many cubes on, adding a leaf to all 64 at once is faster than to each by itself."""


def bound_by_numba(
    trees: RankedTrees, differs: BitWords, everyone: int, states: CubeStates
) -> tuple[Ints, Ints]:
    """Return by cube and lane the lowest and the highest sum."""
    rectangles = -(-len(states) // LANES)
    bounds = np.zeros((2, rectangles, LANES, LANES), dtype=np.int32)
    held, freed = (pack_cubes(states == state) for state in (1, 2))
    ranks = int(np.diff(trees.starts).max(initial=1))
    stack = np.empty((2 * trees.depth + 2, 5), dtype=np.uint64)
    reached = np.zeros((ranks, LANES), dtype=np.uint64)
    lanes = np.zeros(ranks, dtype=np.uint64)
    for i in range(rectangles):
        cubes = min(LANES, len(states) - LANES * i)
        bound_rectangle(
            trees.roots,
            trees.nodes.view(np.uint32),
            trees.starts,
            trees.values,
            differs,
            np.uint64(everyone),
            held[i],
            freed[i],
            np.uint64((1 << cubes) - 1),
            stack,
            reached,
            lanes,
            bounds[0, i],
            bounds[1, i],
        )
    low, high = bounds.transpose(0, 1, 3, 2).reshape(2, -1, LANES)[:, : len(states)]
    return low, high


@cached_njit
def bound_rectangle(
    roots: Any,
    nodes: Any,
    starts: Any,
    values: Any,
    differs: Any,
    everyone: Any,
    held: Any,
    freed: Any,
    every_cube: Any,
    stack: Any,
    reached: Any,
    lanes: Any,
    lowest: Any,
    highest: Any,
) -> None:
    """Add up by lane and cube the extreme reachable leaves of the trees.

    A row of `nodes` is (test, child on the input's side, other child, player, the player's number
    in its tree or 64), at a leaf (2^32 - 1, rank, 0, 0, 64). `values[starts[t]:]` are tree t's
    leaves by rank. `held` and `freed` have for each player the word of cubes that do so. `reached`,
    by rank and lane, and `lanes`, by rank, are zero before and after.
    """
    zero, one, no_test = np.uint64(0), np.uint64(1), np.uint64(2**32 - 1)
    no_number = np.uint64(64)
    for tree in range(len(roots)):
        first = starts[tree]
        last = np.uint64(starts[tree + 1] - first - 1)
        stack[0, 0] = np.uint64(roots[tree])
        stack[0, 1] = everyone
        stack[0, 2] = every_cube
        stack[0, 3] = zero
        stack[0, 4] = zero
        top = one
        while top != zero:
            top -= one
            node = stack[top, 0]
            group = stack[top, 1]
            cubes = stack[top, 2]
            needed = group
            if (group & lanes[zero] & lanes[last]) == group:  # else some have not both extremes
                while needed != zero:
                    lane = lowest_bit(needed)
                    if (cubes & ~(reached[zero, lane] & reached[last, lane])) != zero:
                        break
                    needed &= needed - one
                if needed == zero:
                    continue
            path_held = stack[top, 3]
            path_freed = stack[top, 4]
            while True:
                test = np.uint64(nodes[node, 0])
                if test == no_test:
                    break
                toward = np.uint64(nodes[node, 1])
                others = group & differs[test]
                if others == zero:
                    node = toward
                    continue
                # The path remembers 64 players of a tree. One beyond them may be taken both ways on
                # one path, which makes bounds wider but never wrong.
                number = np.uint64(nodes[node, 4])
                bit = zero if number == no_number else one << number
                if (path_held & bit) != zero:
                    node = toward
                    continue
                player = np.uint64(nodes[node, 3])
                holding = zero if (path_freed & bit) != zero else cubes & ~freed[player]
                freeing = cubes & ~held[player]
                if freeing == zero:  # all cubes hold the player
                    node = toward
                    continue
                if others != group:  # those on the input's side go on as they are
                    stack[top, 0] = toward
                    stack[top, 1] = group ^ others
                    stack[top, 2] = cubes
                    stack[top, 3] = path_held
                    stack[top, 4] = path_freed
                    top += one
                if holding != zero:
                    stack[top, 0] = toward
                    stack[top, 1] = others
                    stack[top, 2] = holding
                    stack[top, 3] = path_held | bit
                    stack[top, 4] = path_freed
                    top += one
                path_freed |= bit
                node = np.uint64(nodes[node, 2])
                group = others
                cubes = freeing
            # A leaf is only marked as reached: extremes are taken per tree, not per leaf.
            rank = np.uint64(nodes[node, 1])
            lanes[rank] |= group
            while group != zero:
                reached[rank, lowest_bit(group)] |= cubes
                group &= group - one
        ranks = np.int64(last) + 1
        _add_extremes(values, first, ranks, False, everyone, every_cube, reached, lanes, lowest)
        _add_extremes(values, first, ranks, True, everyone, every_cube, reached, lanes, highest)
        # Only what was marked is cleared: most trees reach few of their leaves.
        for i in range(ranks):
            rank = np.uint64(i)
            group = lanes[rank]
            lanes[rank] = zero
            while group != zero:
                reached[rank, lowest_bit(group)] = zero
                group &= group - one


@cached_njit
def _add_extremes(
    values: Any,
    first: Any,
    ranks: Any,
    from_top: bool,
    everyone: Any,
    every_cube: Any,
    reached: Any,
    lanes: Any,
    total: Any,
) -> None:
    """Add to each lane and cube the first leaf that it reaches, in order of rank or against it."""
    zero, one = np.uint64(0), np.uint64(1)
    left = np.full(64, every_cube, dtype=np.uint64)
    unsettled = everyone
    for i in range(ranks):
        rank = np.uint64(ranks - 1 - i if from_top else i)
        value = np.int32(values[first + np.int64(rank)])
        group = lanes[rank] & unsettled
        while group != zero:
            lane = lowest_bit(group)
            group &= group - one
            # The first rank at which a cube shows up is its extreme: it is not looked for again.
            cubes = reached[rank, lane] & left[lane]
            left[lane] ^= cubes
            if left[lane] == zero:
                unsettled ^= one << lane
            row = total[lane]
            if count_bits(cubes) < np.uint64(_SPREAD_FROM):
                while cubes != zero:
                    at = lowest_bit(cubes)
                    row[at] = np.int32(row[at] + value)
                    cubes &= cubes - one
            else:
                # Of constant length and without branches, so that it is vectorised.
                for k in range(64):
                    chosen = np.int32((cubes >> np.uint64(k)) & one)
                    row[k] = np.int32(row[k] + np.int32(value * chosen))
        if unsettled == zero:
            break


# The fast path of `cubes`, valid where all leaves are a few equal steps apart: trees that vote.


_MOST_STEPS = 2


@dataclass(frozen=True, eq=False)
class EqualStepTrees:
    """The trees of one margin, whose leaves are `base` (all trees together) and whole steps."""

    base: int
    step: int
    nodes: Ints
    """Inner nodes, each after those below it: (test, toward, away, player). A child is the number
    of a row in this table, or -1 - steps at a leaf."""
    starts: Counts
    """By tree: its first row; and the end."""
    steps: Ints
    """By tree: from its lowest leaf to its highest."""
    same_player_above: Counts
    """(3, pairs): a row, the test of a node above it on the same player, and 1 if away from it."""

    def before(self, differs: BitWords) -> BoundFunction:
        """Return the function that bounds cubes beside some references."""
        # Below a split on the same player a path has decided already: there the lanes that parted
        # above have no choice left, and go where that split sent them.
        own, forced = differs[self.nodes[:, 0]], np.zeros((2, len(self.nodes)), dtype=np.uint64)
        row, test, away = self.same_player_above
        np.bitwise_or.at(forced, (away, row), differs[test])
        free = own & ~forced[0]
        return partial(_bound_equal_steps, self, free & ~forced[1], free & forced[1])


def find_equal_steps(trees: RankedTrees) -> EqualStepTrees | None:
    """Return the trees as votes; None where their leaves are not a few equal steps apart."""
    values, starts = trees.values.astype(np.int64), trees.starts
    lowest, spread = values[starts[:-1]], values[starts[1:] - 1] - values[starts[:-1]]
    gaps = np.delete(np.diff(values), starts[1:-1] - 1)  # but those from tree to tree
    # All leaves are a lowest value plus whole steps, so sums can be counted bit by bit.
    step = int(np.gcd.reduce(gaps, initial=0))
    if not step or spread.max() > _MOST_STEPS * step:
        return None
    node, tree, depth, parent, away = _inner_nodes(trees)
    order = np.lexsort((-depth, tree))  # children before their parents, tree by tree
    row_of = np.zeros(len(trees.nodes), dtype=np.int64)
    row_of[node[order]] = np.arange(len(order))
    children = trees.nodes[node[order], 1:3].astype(np.int64)
    rank = np.where(trees.nodes[children, 0] < 0, trees.nodes[children, 1], 0)
    votes = (values[starts[tree[order]][:, None] + rank] - lowest[tree[order]][:, None]) // step
    rows = np.where(trees.nodes[children, 0] < 0, -1 - votes, row_of[children])
    test, player = trees.nodes[node[order]][:, [0, 3]].T
    return EqualStepTrees(
        base=int(lowest.sum()),
        step=step,
        nodes=np.stack([test, rows[:, 0], rows[:, 1], player], axis=1).astype(np.int32),
        starts=np.searchsorted(tree[order], np.arange(len(trees.roots) + 1)),
        steps=(spread // step).astype(np.int32),
        same_player_above=_same_player_above(trees.nodes, node, parent, away, row_of),
    )


def _inner_nodes(trees: RankedTrees) -> tuple[Counts, ...]:
    """Return for all inner nodes their number, tree, depth, parent (-1 at a root) and whether they
    are the other side's child."""
    node, tree = trees.roots.astype(np.int64), np.arange(len(trees.roots))
    parent, away = np.full(len(node), -1), np.zeros(len(node), dtype=np.int64)
    parts: list[tuple[Counts, ...]] = []
    while True:
        inner = trees.nodes[node, 0] >= 0
        node, tree, parent, away = (a[inner] for a in (node, tree, parent, away))
        parts.append((node, tree, np.full(len(node), len(parts)), parent, away))
        if not len(node):
            return tuple(np.concatenate(column) for column in zip(*parts, strict=True))
        parent, tree = np.tile(node, 2), np.tile(tree, 2)
        away = np.repeat([0, 1], len(node))
        node = np.concatenate([trees.nodes[node, 1], trees.nodes[node, 2]]).astype(np.int64)


def _same_player_above(
    nodes: Ints, node: Counts, parent: Counts, away: Counts, row_of: Counts
) -> Counts:
    """Return pairs of a node and one above it that tests the same player."""
    above, turned = np.full(len(nodes), -1), np.zeros(len(nodes), dtype=np.int64)
    above[node], turned[node] = parent, away
    found, start, at = [np.empty((3, 0), dtype=np.int64)], node, node
    while len(at):
        side, up = turned[at], above[at]
        start, side, at = start[up >= 0], side[up >= 0], up[up >= 0]
        same = nodes[start, 3] == nodes[at, 3]
        found.append(np.stack([row_of[start], nodes[at, 0], side])[:, same].astype(np.int64))
    return np.concatenate(found, axis=1)


def _bound_equal_steps(
    trees: EqualStepTrees, choice: BitWords, gone: BitWords, states: CubeStates
) -> tuple[Ints, Ints]:
    """Return by cube and lane the lowest and the highest sum."""
    rectangles = -(-len(states) // LANES)
    counts = np.zeros((2, rectangles, LANES, LANES), dtype=np.int32)
    held, freed = (pack_cubes(states == state) for state in (1, 2))
    most = int(np.diff(trees.starts).max(initial=0))
    scratch = np.zeros((2, 2 + most, LANES), dtype=np.uint64)
    scratch[:, 1] = ~np.uint64(0)
    bits = np.empty((2, int(trees.steps.sum()).bit_length(), LANES), dtype=np.uint64)
    for i in range(rectangles):
        count_reachable_steps(
            trees.nodes,
            trees.starts,
            trees.steps,
            choice,
            gone,
            held[i],
            freed[i],
            scratch,
            bits,
            counts[0, i],
            counts[1, i],
        )
    bounds = trees.base + trees.step * counts.transpose(0, 1, 3, 2).astype(np.int64)
    low, high = bounds.reshape(2, -1, LANES)[:, : len(states)].astype(np.int32)
    return low, high


@cached_njit
def count_reachable_steps(
    nodes: Any,
    starts: Any,
    steps: Any,
    choice: Any,
    gone: Any,
    held: Any,
    freed: Any,
    scratch: Any,
    bits: Any,
    lowest: Any,
    highest: Any,
) -> None:
    """Count by lane and cube the steps of all trees' lowest and highest reachable leaves.

    Where a lane is in `choice` of a row, the player decides; where in `gone`, it is away; else
    toward. In `scratch` the rows of reaches are: nobody, everybody, and the tree's nodes.
    """
    zero, one, every = np.uint64(0), np.uint64(1), ~np.uint64(0)
    least, most = bits[0], bits[1]
    least[:] = zero
    most[:] = zero
    below, above = scratch[0], scratch[1]
    carry = np.empty(64, dtype=np.uint64)
    stays = np.empty(64, dtype=np.uint64)
    goes = np.empty(64, dtype=np.uint64)
    for tree in range(len(steps)):
        first = starts[tree]
        # Level by level: may a leaf of at least so many steps be reached, and must one be?
        for level in range(1, steps[tree] + 1):
            for row in range(first, starts[tree + 1]):
                toward = nodes[row, 1]
                away = nodes[row, 2]
                may_hold = ~freed[nodes[row, 3]]
                may_free = ~held[nodes[row, 3]]
                decides = choice[row]
                leaves = gone[row]
                if toward < 0:  # a leaf, of -1 - toward steps
                    reaches = np.int64(-1 - toward >= level)
                    up_toward, down_toward = above[reaches], below[1 - reaches]
                else:
                    up_toward, down_toward = above[toward - first + 2], below[toward - first + 2]
                if away < 0:
                    reaches = np.int64(-1 - away >= level)
                    up_away, down_away = above[reaches], below[1 - reaches]
                else:
                    up_away, down_away = above[away - first + 2], below[away - first + 2]
                up, down = above[row - first + 2], below[row - first + 2]
                # Three short loops: one long one, of so many rows, would not be vectorised.
                for k in range(64):
                    lane = np.uint64(k)
                    either = zero - ((decides >> lane) & one)
                    never = zero - ((leaves >> lane) & one)
                    stays[k] = (either & may_hold) | (every ^ (either | never))
                    goes[k] = (either & may_free) | never
                for k in range(64):
                    up[k] = (up_toward[k] & stays[k]) | (up_away[k] & goes[k])
                for k in range(64):
                    down[k] = (down_toward[k] & stays[k]) | (down_away[k] & goes[k])
            root = starts[tree + 1] - first + 1
            for k in range(64):
                carry[k] = above[root, k]
            # Counts of 64 cubes are kept in bit planes: plane p has bit p of each cube's count.
            _add_to_bit_planes(most, carry)
            for k in range(64):
                carry[k] = every ^ below[root, k]
            _add_to_bit_planes(least, carry)
    for plane in range(bits.shape[1]):
        for k in range(64):
            for cube in range(64):
                shift = np.uint64(cube)
                low = np.int32((least[plane, k] >> shift) & one)
                high = np.int32((most[plane, k] >> shift) & one)
                lowest[k, cube] = np.int32(lowest[k, cube] + np.int32(low << plane))
                highest[k, cube] = np.int32(highest[k, cube] + np.int32(high << plane))


@cached_njit
def _add_to_bit_planes(planes: Any, carry: Any) -> None:
    """Add one to every count whose bit is set."""
    for plane in range(len(planes)):
        row = planes[plane]
        left = np.uint64(0)
        for k in range(64):
            both = row[k] & carry[k]
            row[k] ^= carry[k]
            carry[k] = both
            left |= both
        # Nothing to carry in any lane: the planes above stay as they are.
        if left == np.uint64(0):
            break
