"""The compiled walk behind `cubes`: every tree's lowest and highest reachable leaf, lane by lane.

Leaves of one tree are ranked by value. A walk only notes, by rank, the word of lanes that reach a
leaf of that rank; from either end of the ranks, the lanes not seen before are those whose extreme
it is. So a lane is added to twice per tree, however many leaves it reaches, and a lane that has
reached both of the tree's extremes is walked no further.

numba takes most of a second to import, so this module is imported only when that pays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.evaluate.trees.cubes import RankedTrees, States
from suffice.evaluate.trees.ensemble import Ints
from suffice.evaluate.trees.kernel import _compiled, _count, _lowest
from suffice.evaluate.trees.problem import LANES
from suffice.typing import Words

__all__ = ["bound_compiled", "bound_cubes"]


@_compiled
def bound_cubes(
    roots: Any,
    nodes: Any,
    starts: Any,
    values: Any,
    differs: Any,
    everyone: Any,
    states: Any,
    stack: Any,
    reached: Any,
    lowest: Any,
    highest: Any,
) -> None:
    """By cube and lane, the sums over the trees of their extreme reachable leaves.

    A row of `nodes` is (test, child on the input's side, other child, player, the player's bit
    among its tree's players or 64), at a leaf (2^32 - 1, rank, 0, 0, 64). `values[starts[t]:]` are
    tree t's leaves by rank. `states` has 0 for an undecided player, 1 held, 2 freed.
    """
    zero, one, no_test = np.uint64(0), np.uint64(1), np.uint64(2**32 - 1)
    for cube in range(len(states)):
        state = states[cube]
        low = lowest[cube]
        high = highest[cube]
        low[:] = 0
        high[:] = 0
        for tree in range(len(roots)):
            first = starts[tree]
            ranks = starts[tree + 1] - first
            for rank in range(ranks):
                reached[rank] = zero
            last = np.uint64(ranks - 1)
            stack[0, 0] = np.uint64(roots[tree])
            stack[0, 1] = everyone
            stack[0, 2] = zero
            stack[0, 3] = zero
            top = one
            while top != zero:
                top -= one
                node = stack[top, 0]
                group = stack[top, 1] & ~(reached[zero] & reached[last])
                if group == zero:
                    continue
                held = stack[top, 2]
                freed = stack[top, 3]
                while True:
                    test = np.uint64(nodes[node, 0])
                    if test == no_test:
                        break
                    toward = np.uint64(nodes[node, 1])
                    others = group & differs[test]
                    if others == zero:
                        node = toward
                        continue
                    known = state[np.uint64(nodes[node, 3])]
                    shift = np.uint64(nodes[node, 4])
                    bit = zero if shift == np.uint64(64) else one << shift
                    if known == 1 or (held & bit) != zero:
                        node = toward
                        continue
                    if others != group:  # those on the input's side go on as they are
                        stack[top, 0] = toward
                        stack[top, 1] = group ^ others
                        stack[top, 2] = held
                        stack[top, 3] = freed
                        top += one
                    if known == 0 and (freed & bit) == zero:
                        stack[top, 0] = toward
                        stack[top, 1] = others
                        stack[top, 2] = held | bit
                        stack[top, 3] = freed
                        top += one
                        freed |= bit
                    node = np.uint64(nodes[node, 2])
                    group = others
                reached[np.uint64(nodes[node, 1])] |= group
            _add_extremes(values, first, ranks, 1, reached, everyone, high)
            _add_extremes(values, first, ranks, -1, reached, everyone, low)


@_compiled
def _add_extremes(
    values: Any, first: int, ranks: int, step: int, reached: Any, everyone: Any, total: Any
) -> None:
    """Add to each lane the last leaf that it reaches (step 1), or the first (step -1)."""
    zero, one = np.uint64(0), np.uint64(1)
    left = everyone
    for i in range(ranks):
        rank = ranks - 1 - i if step > 0 else i
        lanes = reached[np.uint64(rank)] & left
        if lanes == zero:
            continue
        left ^= lanes
        value = np.int32(values[first + rank])
        if _count(lanes) > np.uint64(12):
            for lane in range(64):
                chosen = np.int32((lanes >> np.uint64(lane)) & one)
                total[lane] = np.int32(total[lane] + value * chosen)
        else:
            while lanes != zero:
                lane = _lowest(lanes)
                total[lane] = np.int32(total[lane] + value)
                lanes &= lanes - one
        if left == zero:
            break


def bound_compiled(
    trees: RankedTrees, differs: Words, everyone: int, states: States
) -> tuple[Ints, Ints]:
    """By cube and lane: the lowest and the highest sum."""
    low, high = (np.zeros((len(states), LANES), dtype=np.int32) for _ in range(2))
    if len(trees.roots):
        bound_cubes(
            trees.roots,
            trees.nodes.view(np.uint32),
            trees.starts,
            trees.values,
            differs,
            np.uint64(everyone),
            states,
            np.empty((2 * trees.depth + 2, 4), dtype=np.uint64),
            np.empty(int(np.diff(trees.starts).max()), dtype=np.uint64),
            low,
            high,
        )
    return low, high
