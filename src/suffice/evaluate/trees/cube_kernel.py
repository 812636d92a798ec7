"""The compiled walk behind `cubes`: 64 cubes beside 64 references, a rectangle at a time.

Down a tree, some references × some cubes are a group. At a split those references that are not on
the input's side leave it in cubes that free the player and stay in cubes that hold it; cubes that
leave it undecided go both ways, and from there on the path knows which. (`kernel` walks subsets in
the same manner; there every subset goes one way.)

Leaves of one tree are ranked by value. A walk only notes, by rank and reference, the word of cubes
that reach a leaf of that rank; from either end of the ranks, the cubes not seen before are those
whose extreme it is. Where all cubes of a group have both of the tree's extremes already, it is
walked no further.

numba takes most of a second to import, so this module is imported only when that pays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.evaluate.trees.cubes import RankedTrees, States, by_rectangle
from suffice.evaluate.trees.ensemble import Ints
from suffice.evaluate.trees.kernel import compiled, count_bits, lowest_bit
from suffice.evaluate.trees.problem import LANES
from suffice.typing import Words

__all__ = ["bound_compiled", "bound_rectangle"]

_SPREAD_FROM = 10
"""From so many cubes on, adding a leaf to all 64 at once is faster than to each by itself."""


def bound_compiled(
    trees: RankedTrees, differs: Words, everyone: int, states: States
) -> tuple[Ints, Ints]:
    """By cube and lane: the lowest and the highest sum."""
    rectangles = -(-len(states) // LANES)
    bounds = np.zeros((2, rectangles, LANES, LANES), dtype=np.int32)
    held, freed = (by_rectangle(states == state) for state in (1, 2))
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


@compiled
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
    """By lane and cube, add up the trees' extreme reachable leaves.

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
                number = np.uint64(nodes[node, 4])
                bit = zero if number == no_number else one << number
                if (path_held & bit) != zero:
                    node = toward
                    continue
                player = np.uint64(nodes[node, 3])
                holding = zero if (path_freed & bit) != zero else cubes & ~freed[player]
                freeing = cubes & ~held[player]
                if freeing == zero:
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
            rank = np.uint64(nodes[node, 1])
            lanes[rank] |= group
            while group != zero:
                reached[rank, lowest_bit(group)] |= cubes
                group &= group - one
        ranks = np.int64(last) + 1
        _add_extremes(values, first, ranks, False, everyone, every_cube, reached, lanes, lowest)
        _add_extremes(values, first, ranks, True, everyone, every_cube, reached, lanes, highest)
        for i in range(ranks):
            rank = np.uint64(i)
            group = lanes[rank]
            lanes[rank] = zero
            while group != zero:
                reached[rank, lowest_bit(group)] = zero
                group &= group - one


@compiled
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
                for k in range(64):
                    chosen = np.int32((cubes >> np.uint64(k)) & one)
                    row[k] = np.int32(row[k] + np.int32(value * chosen))
        if unsettled == zero:
            break
