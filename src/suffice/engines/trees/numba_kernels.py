"""Compiled (numba) functions of trees: their leaves, scores of rows, sums over subsets.

A reference is a lane, a set of references a 64-bit word, so that partitioning them at a split is
one AND. Walking a tree, `held` are the players on whom the path needs the input's values, `freed`
those on whom it needs the references'. At a split on player j where a reference is not on the
input's side, it takes the input's way with j held and its own way with j freed. A leaf with (A, B)
is reached by exactly the subsets S that contain A and avoid B, and

    [A ⊆ S] [S ∩ B = ∅] = Σ over T ⊆ B of (-1)^|T| [A ∪ T ⊆ S]

so its value is added, signed, at the masks A ∪ T; a subset-sum over the slab then gives every
score. Where B is larger than A the same is done on complements, with the parts of A:

    [A ⊆ S] [S ∩ B = ∅] = Σ over T ⊆ A of (-1)^|T| [B ∪ T ⊆ not S].

So there are two accumulators, and a leaf costs 2^min(|A|, |B|) additions; in a large lattice, where
the sums take longer than the walk, there is only the first. Rows of an accumulator are masks, its
columns lanes: all loops over lanes are contiguous.

Subsets that are no slab are walked themselves: up to 64 of them beside up to 64 references, a
rectangle of hybrids that is parted at a split (`score_rectangle`).

numba takes most of a second to import, so this module is imported only when that pays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba  # type: ignore[import-untyped,import-not-found,unused-ignore]
import numpy as np
from numba.extending import (  # type: ignore[import-untyped,import-not-found,unused-ignore]
    intrinsic,
)

F = TypeVar("F", bound=Callable[..., Any])


def cached_njit(function: F) -> F:
    """Compile on first call; keep the result on disk where there is a place for it."""
    try:
        return cast(F, numba.njit(nogil=True, cache=True)(function))
    except RuntimeError:  # a read-only installation without a home: compile in every process
        return cast(F, numba.njit(nogil=True)(function))


def _intrinsic(function: Callable[..., Any]) -> Callable[[Any], Any]:
    """Return an instruction of the processor as a function of one word."""
    return cast(Callable[[Any], Any], intrinsic(function))


@_intrinsic
def lowest_bit(typing: Any, word: Any) -> Any:
    """Return the number of the lowest bit set, by an instruction that numba has no name for."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], context.get_constant(numba.boolean, True))

    return numba.uint64(numba.uint64), generate


@_intrinsic
def count_bits(typing: Any, word: Any) -> Any:
    """Return the number of bits that are set, by another method."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return numba.uint64(numba.uint64), generate


@cached_njit
def find_leaves(
    roots: Any,
    nodes: Any,
    differs: Any,
    everyone: Any,
    held_first: Any,
    freed_first: Any,
    stack: Any,
    progress: Any,
    leaves: Any,
) -> Any:
    """Walk the trees and write rows (A, B, word of lanes, value) to `leaves`; say how many.

    Leaves of 0 are left out.

    Where `leaves` fills up the walk stops, to be called again: `progress` holds the next tree and
    the height of the stack. A row of `nodes` is (test, child on the input's side, other child,
    player), and at a leaf (-1, value, 0, 0), as uint32. All that is an index here is
    unsigned: numba tests signed ones for being negative.
    """
    zero, one, no_test = np.uint64(0), np.uint64(1), np.uint64(2**32 - 1)
    room = np.uint64(len(leaves))
    # The stack keeps its content between calls, so a walk goes on where the buffer was full. A leaf
    # is taken off the stack only when there is room for it.
    top = np.uint64(progress[1])
    found = zero
    while found < room:
        if top == zero:
            if progress[0] == len(roots):
                break
            stack[0, 0] = roots[progress[0]]
            stack[0, 1] = held_first
            stack[0, 2] = freed_first
            stack[0, 3] = everyone
            top = one
            progress[0] += 1
        top -= one
        node = stack[top, 0]
        held = stack[top, 1]
        freed = stack[top, 2]
        group = stack[top, 3]
        while True:
            test = np.uint64(nodes[node, 0])
            if test == no_test:
                break
            toward = np.uint64(nodes[node, 1])
            others = group & differs[test]
            bit = one << np.uint64(nodes[node, 3])
            if others == zero or (held & bit) != zero:
                # All are on the input's side, or the path has the player held: no one leaves.
                node = toward
                continue
            if others != group:  # those on the input's side go on as they are
                stack[top, 0] = toward
                stack[top, 1] = held
                stack[top, 2] = freed
                stack[top, 3] = group ^ others
                top += one
            if (freed & bit) == zero:  # the others part: with the player held, and freed
                stack[top, 0] = toward
                stack[top, 1] = held | bit
                stack[top, 2] = freed
                stack[top, 3] = others
                top += one
                freed |= bit
            # The walk goes on with one part itself, so the stack grows by two rows a level at most.
            node = np.uint64(nodes[node, 2])
            group = others
        if nodes[node, 1] != 0:
            leaves[found, 0] = held
            leaves[found, 1] = freed
            leaves[found, 2] = group
            leaves[found, 3] = nodes[node, 1]
            found += one
    progress[1] = top
    return np.int64(found)


@cached_njit
def add_leaves(
    leaves: Any, count: int, held_high: Any, players: int, above: Any, below: Any, width: int
) -> None:
    """Add the signed terms of those leaves that a slab reaches.

    Players from `players` up are fixed in a slab: those in `held_high` are held, the others freed.
    """
    zero, one, wide = np.uint64(0), np.uint64(1), np.uint64(width)
    low = np.uint64((1 << players) - 1)
    one_way = len(below) == 0
    position = np.empty(64, dtype=np.uint64)
    # sign[T] = (-1)^|T|: taking the lowest player out of T turns the sign.
    sign = np.ones(1 << players, dtype=np.int8)
    for i in range(1, 1 << players):
        sign[i] = -sign[i & (i - 1)]
    for i in range(count):
        row = np.uint64(i)
        held = leaves[row, 0]
        freed = leaves[row, 1]
        # A leaf that needs a fixed player the other way is not reached in this slab.
        if ((held & ~low & ~held_high) | (freed & held_high)) != zero:
            continue
        held &= low
        freed &= low
        group = leaves[row, 2]
        leaf = np.int32(leaves[row, 3])
        # The smaller of A and B is spread over its parts: 2^min(|A|, |B|) additions.
        upward = one_way or count_bits(freed) <= count_bits(held)
        flat = above if upward else below
        spread = freed if upward else held
        first = (held if upward else freed) * wide
        lanes = zero
        while group != zero:
            position[lanes] = first + lowest_bit(group)
            lanes += one
            group &= group - one
        part = zero
        while True:  # over the parts T of `spread`
            signed = np.int32(leaf * sign[part])
            for k in range(lanes):
                at = position[np.uint64(k)] + part * wide
                flat[at] = np.int32(flat[at] + signed)
            if part == spread:
                break
            part = (part - spread) & spread  # the next subset of `spread`, after the last 0


@cached_njit
def list_leaves(
    roots: Any,
    nodes: Any,
    input_left: Any,
    left: Any,
    all_blocks: int,
    first_block: int,
    everybody: Any,
    first_tree: int,
    most: int,
    stack: Any,
    reached: Any,
    entries: Any,
    counts: Any,
) -> Any:
    """List by lane the leaves that it reaches, from `first_tree` on; return the next tree to walk.

    Leaves of 0 are left out.

    `left` has the words of `all_blocks` blocks by test; lanes are counted from `first_block` on,
    and `everybody` are those with a reference. `entries` has equal room for each lane: words
    (value, players to spread, row of the accumulators), of 32, 16 and 16 bits. `most` is 2^d, the
    most leaves of a tree that a lane reaches: the walk stops before a tree whose leaves might not
    fit.

    A path down a tree has a list of those who come there, in `reached`: lane and players held, 16
    bits each. The players freed are the same for all of them. At a split those who go the input's
    way stay in their list, those who leave are copied behind it; so each level of a tree adds no
    more than all lanes to what is stacked. Branches are few, since they take the time here.
    """
    one, two, low16 = np.uint64(1), np.uint64(2), np.uint64(0xFFFF)
    six, sixteen, half, low6 = np.uint64(6), np.uint64(16), np.uint64(32), np.uint64(63)
    zero, no_test = np.uint64(0), np.uint64(2**32 - 1)
    blocks, base, total = np.uint64(all_blocks), np.uint64(first_block), np.uint64(len(everybody))
    size, room = np.uint64(most), np.uint64(len(entries) // len(counts))
    for tree in range(first_tree, len(roots)):
        for i in range(len(counts)):
            if np.uint64(counts[i]) + size > room:
                return tree
        for i in range(total):
            reached[np.uint64(i)] = np.uint32(everybody[np.uint64(i)] << sixteen)
        node, freed, start, count, top = np.uint64(roots[tree]), zero, zero, total, zero
        while True:
            test = np.uint64(nodes[node, 0])
            if test == no_test:
                value = np.uint64(nodes[node, 1]) << half
                freed_count = count_bits(freed)
                upward = value | freed << sixteen
                downward = value | (freed + size)
                if value == zero:
                    count = zero
                for i in range(count):
                    entry = np.uint64(reached[start + np.uint64(i)])
                    lane, held = entry >> sixteen, entry & low16
                    # The smaller of the two is spread, as in `add_leaves`.
                    up = freed_count <= count_bits(held)
                    at = np.uint64(counts[lane])
                    entries[lane * room + at] = upward | held if up else downward | held << sixteen
                    counts[lane] = np.uint32(at + one)
                if top == zero:
                    break
                top -= one
                node = stack[top, 0]
                freed = stack[top, 1]
                start = stack[top, 2]
                count = stack[top, 3]
                continue
            goes_left = np.uint64(input_left[test])
            toward = np.uint64(nodes[node, two - goes_left])
            player = np.uint64(nodes[node, 3])
            first = test * blocks + base
            end = start + count
            stay, gone = start, end
            if freed & (one << player) == zero:
                # Those on the other side part: with the player held they stay, with it freed they
                # leave, unless the path has it held.
                for i in range(count):
                    at = start + np.uint64(i)
                    entry = np.uint64(reached[at])
                    lane = entry >> sixteen
                    goes = left[first + (lane >> six)] >> (lane & low6)
                    differs = (goes ^ goes_left) & one
                    reached[gone] = np.uint32(entry)
                    gone += differs & ~(entry >> player)
                    reached[at] = np.uint32(entry | differs << player)
                stay = end
            else:
                for i in range(count):
                    entry = np.uint64(reached[start + np.uint64(i)])
                    lane = entry >> sixteen
                    goes = left[first + (lane >> six)] >> (lane & low6)
                    differs = (goes ^ goes_left) & one
                    reached[gone] = np.uint32(entry)
                    gone += differs
                    reached[stay] = np.uint32(entry)
                    stay += one - differs
            count = stay - start
            if gone == end:
                node = toward
                continue
            if count != zero:
                stack[top, 0] = toward
                stack[top, 1] = freed
                stack[top, 2] = start
                stack[top, 3] = count
                top += one
            node = np.uint64(nodes[node, one + goes_left])
            freed |= one << player
            start = end
            count = gone - end
    return len(roots)


@cached_njit
def add_listed_leaves(entries: Any, counts: Any, several: Any, many: Any, flat: Any) -> None:
    """Add the signed terms of the leaves listed by lane, as `add_leaves` does, to `flat`.

    `flat` has the accumulator from below and then that from above. The terms of a leaf are first
    those of one part and of none, without a branch; the others are put aside, in `several` with two
    players to spread and in `many` with more.
    """
    zero, one, low16 = np.uint64(0), np.uint64(1), np.uint64(0xFFFF)
    sixteen, half, wide = np.uint64(16), np.uint64(32), np.uint64(len(counts))
    room = np.uint64(len(entries) // len(counts))
    for number in range(len(counts)):
        lane = np.uint64(number)
        few, more = zero, zero
        for i in range(counts[number]):
            entry = entries[lane * room + np.uint64(i)]
            value = np.int32(entry >> half)
            row, spread = entry & low16, entry >> sixteen & low16
            part = spread & (zero - spread)
            at = row * wide + lane
            flat[at] = np.int32(flat[at] + value)
            at = (row + part) * wide + lane
            flat[at] = np.int32(flat[at] - (np.int32(0) if spread == zero else value))
            rest = spread ^ part
            beyond = rest & (rest - one)
            several[few] = entry
            few += np.uint64((rest != zero) & (beyond == zero))
            many[more] = entry
            more += np.uint64(beyond != zero)
        for i in range(few):
            entry = several[np.uint64(i)]
            value = np.int32(entry >> half)
            row, spread = entry & low16, entry >> sixteen & low16
            part = spread & (zero - spread)
            at = (row + spread) * wide + lane
            flat[at] = np.int32(flat[at] + value)
            at = (row + spread - part) * wide + lane
            flat[at] = np.int32(flat[at] - value)
        for i in range(more):
            entry = many[np.uint64(i)]
            value = np.int32(entry >> half)
            row, spread = entry & low16, entry >> sixteen & low16
            lowest = spread & (zero - spread)
            spread ^= lowest
            part = (zero - spread) & spread
            while part != zero:  # over the parts of the others, but for the empty one
                signed = np.int32(-value) if count_bits(part) & one else value
                at = (row + part) * wide + lane
                flat[at] = np.int32(flat[at] + signed)
                at = (row + part + lowest) * wide + lane
                flat[at] = np.int32(flat[at] - signed)
                part = (part - spread) & spread


@cached_njit
def sum_subsets(flat: Any, width: int, players: int) -> None:
    """The zeta transform, two players at a time, finishing small blocks before large ones."""
    # 64 masks of 64 lanes of 32 bits are 16 KB: they stay in the first cache for six players.
    step = width << min(players, 6)
    for start in range(0, width << players, step):
        half = width
        while 4 * half <= step:
            for at in range(start, start + step, 4 * half):
                a = flat[at : at + half]
                b = flat[at + half : at + 2 * half]
                c = flat[at + 2 * half : at + 3 * half]
                d = flat[at + 3 * half : at + 4 * half]
                for j in range(half):
                    low = np.int32(a[j] + b[j])
                    high = c[j]
                    b[j] = low
                    c[j] = np.int32(a[j] + high)
                    d[j] = np.int32(d[j] + np.int32(low + high))
            half *= 4
        while 2 * half <= step:
            for at in range(start, start + step, 2 * half):
                a = flat[at : at + half]
                b = flat[at + half : at + 2 * half]
                for j in range(half):
                    b[j] = np.int32(a[j] + b[j])
            half *= 2
        # As in a binary counter: with every finished block, the larger blocks that it completes are
        # summed at once, while half of them is still in the cache.
        end = start + step
        blocks = end // step
        half = step
        while blocks & 1 == 0:
            a = flat[end - 2 * half : end - half]
            b = flat[end - half : end]
            for j in range(half):
                b[j] = np.int32(a[j] + b[j])
            half *= 2
            blocks >>= 1


@cached_njit
def decide_masks(
    above: Any,
    below: Any,
    width: int,
    no_below: Any,
    yes_from: Any,
    yes_to: Any,
    no_above: Any,
    yes: Any,
    no: Any,
) -> None:
    """Narrow `yes` and widen `no`, words of lanes by mask, by what the scores say."""
    rows = len(yes)
    for row in range(rows):
        scores = above[row * width : (row + 1) * width]
        if len(below):
            # Terms on complements were summed from the other end: mask i of them is row -1 - i.
            more = below[(rows - 1 - row) * width : (rows - row) * width]
            for lane in range(width):
                scores[lane] = np.int32(scores[lane] + more[lane])
        sure = np.uint64(0)
        never = np.uint64(0)
        for lane in range(width):
            score = scores[lane]
            sure |= np.uint64((score >= yes_from) & (score <= yes_to)) << np.uint64(lane)
            never |= np.uint64((score < no_below) | (score > no_above)) << np.uint64(lane)
        yes[row] &= sure
        no[row] |= never


@cached_njit
def prune_trees(
    roots: Any, nodes: Any, differs: Any, everyone: Any, stack: Any, starts: Any, table: Any
) -> Any:
    """Write what a word of references can reach of the trees to `table`; say how many rows.

    A split at which none of those who come there leaves the input's side is left out. A row is
    (the lanes that leave, the child that they go to and 2^32 times the player); the child on the
    input's side is the next row. A leaf is (0, value). `starts` is told where the trees begin.
    """
    zero, one, no_test = np.uint64(0), np.uint64(1), np.uint64(2**32 - 1)
    nobody = no_test
    at = zero
    for i in range(len(roots)):
        starts[i] = at
        stack[0, 0] = np.uint64(roots[i])
        stack[0, 1] = everyone
        stack[0, 2] = nobody
        top = one
        while top != zero:
            top -= one
            node = stack[top, 0]
            reached = stack[top, 1]
            if stack[top, 2] != nobody:
                # Only now is it known where the other side's child is written: tell its parent.
                table[stack[top, 2], 1] |= at
            while True:
                test = np.uint64(nodes[node, 0])
                if test == no_test:
                    break
                others = reached & differs[test]
                if others != zero:
                    table[at, 0] = others
                    table[at, 1] = np.uint64(nodes[node, 3]) << np.uint64(32)
                    stack[top, 0] = np.uint64(nodes[node, 2])
                    stack[top, 1] = others
                    stack[top, 2] = at
                    top += one
                    at += one
                node = np.uint64(nodes[node, 1])
            table[at, 0] = zero
            table[at, 1] = np.uint64(nodes[node, 1])
            at += one
    return np.int64(at)


_SPREAD_FROM = 10
"""From so many subsets on, adding a leaf to all 64 at once is faster than to each by itself."""


@cached_njit
def score_rectangle(
    starts: Any, table: Any, everyone: Any, held: Any, wanted: Any, stack: Any, scores: Any
) -> None:
    """Add up the leaves of the hybrids of some references and some subsets, words of each.

    `held` has for every player the word of subsets that hold it. A group is a rectangle, some
    references × some subsets. At a split those references that are not on the input's side leave
    it where the player is not held; the rest are again rectangles, two at most. Scores are by
    lane, 64 subsets each.
    """
    zero, one, low = np.uint64(0), np.uint64(1), np.uint64(2**32 - 1)
    side, shift, half = np.uint64(64), np.uint64(6), np.uint64(32)
    spread = np.empty(64, dtype=np.int32)
    position = np.empty(64, dtype=np.uint64)
    for i in range(len(starts)):
        stack[0, 0] = starts[i]
        stack[0, 1] = everyone
        stack[0, 2] = wanted
        top = one
        while top != zero:
            top -= one
            at = stack[top, 0]
            group = stack[top, 1]
            subsets = stack[top, 2]
            while True:
                leaving = table[at, 0]
                rest = table[at, 1]
                if leaving == zero:
                    break
                others = group & leaving
                at += one
                if others == zero:
                    continue
                holding = subsets & held[rest >> half]
                if holding == subsets:  # every subset holds the player: all go the input's way
                    continue
                if others != group:
                    stack[top, 0] = at
                    stack[top, 1] = group ^ others
                    stack[top, 2] = subsets
                    top += one
                if holding != zero:
                    stack[top, 0] = at
                    stack[top, 1] = others
                    stack[top, 2] = holding
                    top += one
                at = rest & low
                group = others
                subsets ^= holding
            leaf = np.int32(rest)
            if count_bits(subsets) < np.uint64(_SPREAD_FROM):
                count = zero
                while subsets != zero:
                    position[count] = lowest_bit(subsets)
                    subsets &= subsets - one
                    count += one
                while group != zero:
                    first = lowest_bit(group) << shift
                    group &= group - one
                    for k in range(count):
                        cell = first + position[np.uint64(k)]
                        scores[cell] = np.int32(scores[cell] + leaf)
            else:
                # Loops of constant length over contiguous cells become vector instructions.
                for k in range(64):
                    chosen = np.int32((subsets >> np.uint64(k)) & one)
                    spread[k] = np.int32(leaf * chosen)
                while group != zero:
                    first = lowest_bit(group) << shift
                    group &= group - one
                    lane = scores[first : first + side]
                    for k in range(64):
                        lane[k] = np.int32(lane[k] + spread[k])


@cached_njit
def score_rows(starts: Any, table: Any, lanes: Any, held: Any, scores: Any) -> None:
    """Add up the leaves of single hybrids: reference `lanes[i]`, players `held[i]`."""
    zero, one, low, half = np.uint64(0), np.uint64(1), np.uint64(2**32 - 1), np.uint64(32)
    for i in range(len(lanes)):
        row = np.uint64(i)
        lane = one << np.uint64(lanes[row])
        total = np.int32(0)
        for k in range(len(starts)):
            at = starts[np.uint64(k)]
            while True:
                leaving = table[at, 0]
                rest = table[at, 1]
                if leaving == zero:
                    break
                if leaving & lane != zero and not held[row, rest >> half]:
                    at = rest & low
                else:
                    at += one
            total = np.int32(total + np.int32(rest))
        scores[row] = total


@cached_njit
def add_leaves_in_order(
    roots: Any,
    nodes: Any,
    values: Any,
    input_left: Any,
    left: Any,
    blocks: Any,
    lanes: Any,
    held: Any,
    sums: Any,
) -> None:
    """Add the leaves of single hybrids to `sums`, tree after tree, in the precision of `values`.

    Hybrid i has the reference in lane `lanes[i]` of the words `left[:, blocks[i]]` by test, and
    holds `held[i]`. `nodes` are those of an input that goes left everywhere. All rows go down a
    tree together, level by level, so that they wait for memory together. No addition may be
    reordered, and none is: numba keeps to the order that is written unless told otherwise.
    """
    one, two = np.uint64(1), np.uint64(2)
    no_test = np.uint64(2**32 - 1)
    nodes_of = np.empty(len(lanes), dtype=np.uint64)
    for k in range(len(roots)):
        nodes_of[:] = np.uint64(roots[k])
        moved = True
        while moved:
            moved = False
            for i in range(len(lanes)):
                row = np.uint64(i)
                node = nodes_of[row]
                test = np.uint64(nodes[node, 0])
                if test != no_test:
                    goes_left = (left[test, np.uint64(blocks[row])] >> np.uint64(lanes[row])) & one
                    differs = goes_left ^ np.uint64(input_left[test])
                    goes_left ^= differs & np.uint64(held[row, np.uint64(nodes[node, 3])])
                    nodes_of[row] = np.uint64(nodes[node, two - goes_left])
                    moved = True
        for i in range(len(lanes)):
            for output in range(sums.shape[1]):
                sums[i, output] += values[nodes_of[i], output]


@cached_njit
def decide_rectangle(
    scores: Any,
    no_below: Any,
    yes_from: Any,
    yes_to: Any,
    no_above: Any,
    rows: Any,
    places: Any,
    verdicts: Any,
) -> None:
    """Lower verdicts that were 2, surely yes, to 1, in doubt, or 0, no, by what the scores say.

    Subset k of a lane belongs to row `rows[k]`, reference i, in lane i ^ 7, to column `places[i]`.
    """
    for i in range(len(places)):
        lane = scores[64 * (i ^ 7) : 64 * (i ^ 7) + 64]
        for k in range(len(rows)):
            score = lane[k]
            if score < no_below or score > no_above:
                verdicts[rows[k], places[i]] = np.uint8(0)
            elif score < yes_from or score > yes_to:
                verdicts[rows[k], places[i]] = min(verdicts[rows[k], places[i]], np.uint8(1))
