"""The fast path of `cubes`, valid where all leaves are a few equal steps apart: trees that vote.

The shares 0 and 1 of a fully grown forest are such leaves. What a tree's extreme leaf is, is then
a matter of yes and no: can a leaf of so many steps be reached? From the leaves up, that is a word
of 64 cubes for every reference at every node:

    reach = (reach toward, in cubes that do not free the player)
         or (reach away, in cubes that do not hold it)

with the first half alone for a reference on the input's side of the split. 64 references are a row
of words, which processors take by fours; no group is ever followed by itself. Sums over the trees
are counted bit by bit, too: the first bits of all counts in one row of words, the second in the
next.

A player that was tested above is not undecided any more. A reference that was not on the input's
side there has come here with the player held, if this node is on that side, or else with it freed:
which of the two a node can tell once and for all, so it is `forced`, word by word of references.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from suffice.evaluate.trees.cubes import Bound, RankedTrees, States, by_rectangle
from suffice.evaluate.trees.ensemble import Ints
from suffice.evaluate.trees.kernel import compiled
from suffice.evaluate.trees.problem import LANES
from suffice.typing import Counts, Words

__all__ = ["VotingTrees", "count_votes", "find_votes"]

_MOST_STEPS = 2


@dataclass(frozen=True, eq=False)
class VotingTrees:
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
    asked_above: Counts
    """(3, pairs): a row, the test of a node above it on the same player, and 1 if away from it."""

    def before(self, differs: Words) -> Bound:
        """How to bound cubes, before some references."""
        own, forced = differs[self.nodes[:, 0]], np.zeros((2, len(self.nodes)), dtype=np.uint64)
        row, test, away = self.asked_above
        np.bitwise_or.at(forced, (away, row), differs[test])
        free = own & ~forced[0]
        return partial(_bound, self, free & ~forced[1], free & forced[1])


def find_votes(trees: RankedTrees) -> VotingTrees | None:
    """The same trees as votes; None where their leaves are not a few equal steps apart."""
    values, starts = trees.values.astype(np.int64), trees.starts
    lowest, spread = values[starts[:-1]], values[starts[1:] - 1] - values[starts[:-1]]
    gaps = np.delete(np.diff(values), starts[1:-1] - 1)  # but those from tree to tree
    step = int(np.gcd.reduce(gaps, initial=0))
    if not step or spread.max() > _MOST_STEPS * step:
        return None
    node, tree, depth, parent, away = _inner_nodes(trees)
    order = np.lexsort((-depth, tree))
    row_of = np.zeros(len(trees.nodes), dtype=np.int64)
    row_of[node[order]] = np.arange(len(order))
    children = trees.nodes[node[order], 1:3].astype(np.int64)
    rank = np.where(trees.nodes[children, 0] < 0, trees.nodes[children, 1], 0)
    votes = (values[starts[tree[order]][:, None] + rank] - lowest[tree[order]][:, None]) // step
    rows = np.where(trees.nodes[children, 0] < 0, -1 - votes, row_of[children])
    test, player = trees.nodes[node[order]][:, [0, 3]].T
    return VotingTrees(
        base=int(lowest.sum()),
        step=step,
        nodes=np.stack([test, rows[:, 0], rows[:, 1], player], axis=1).astype(np.int32),
        starts=np.searchsorted(tree[order], np.arange(len(trees.roots) + 1)),
        steps=(spread // step).astype(np.int32),
        asked_above=_asked_above(trees.nodes, node, parent, away, row_of),
    )


def _inner_nodes(trees: RankedTrees) -> tuple[Counts, ...]:
    """Of all inner nodes: number, tree, depth, the node above (-1) and whether this is away."""
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


def _asked_above(nodes: Ints, node: Counts, parent: Counts, away: Counts, row_of: Counts) -> Counts:
    """Pairs of a node and one above it that asks the same player."""
    above, turned = np.full(len(nodes), -1), np.zeros(len(nodes), dtype=np.int64)
    above[node], turned[node] = parent, away
    found, start, at = [np.empty((3, 0), dtype=np.int64)], node, node
    while len(at):
        side, up = turned[at], above[at]
        start, side, at = start[up >= 0], side[up >= 0], up[up >= 0]
        same = nodes[start, 3] == nodes[at, 3]
        found.append(np.stack([row_of[start], nodes[at, 0], side])[:, same].astype(np.int64))
    return np.concatenate(found, axis=1)


def _bound(trees: VotingTrees, choice: Words, gone: Words, states: States) -> tuple[Ints, Ints]:
    """By cube and lane: the lowest and the highest sum."""
    rectangles = -(-len(states) // LANES)
    counts = np.zeros((2, rectangles, LANES, LANES), dtype=np.int32)
    held, freed = (by_rectangle(states == state) for state in (1, 2))
    most = int(np.diff(trees.starts).max(initial=0))
    scratch = np.zeros((2, 2 + most, LANES), dtype=np.uint64)
    scratch[:, 1] = ~np.uint64(0)
    bits = np.empty((2, int(trees.steps.sum()).bit_length(), LANES), dtype=np.uint64)
    for i in range(rectangles):
        count_votes(
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


@compiled
def count_votes(
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
    """By lane and cube, count the steps of all trees' lowest and highest reachable leaves.

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
            _add_bits(most, carry)
            for k in range(64):
                carry[k] = every ^ below[root, k]
            _add_bits(least, carry)
    for plane in range(bits.shape[1]):
        for k in range(64):
            for cube in range(64):
                shift = np.uint64(cube)
                low = np.int32((least[plane, k] >> shift) & one)
                high = np.int32((most[plane, k] >> shift) & one)
                lowest[k, cube] = np.int32(lowest[k, cube] + np.int32(low << plane))
                highest[k, cube] = np.int32(highest[k, cube] + np.int32(high << plane))


@compiled
def _add_bits(planes: Any, carry: Any) -> None:
    """Add one to every count whose bit is set."""
    for plane in range(len(planes)):
        row = planes[plane]
        left = np.uint64(0)
        for k in range(64):
            both = row[k] & carry[k]
            row[k] ^= carry[k]
            carry[k] = both
            left |= both
        if left == np.uint64(0):
            break
