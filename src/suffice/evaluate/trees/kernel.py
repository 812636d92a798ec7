"""The compiled kernel: every score of a slab of the lattice, for up to 64 references together.

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

numba takes most of a second to import, so this module is imported only when that pays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba  # type: ignore[import-untyped,unused-ignore]
import numpy as np

__all__ = ["answer_words", "sum_lattice"]

F = TypeVar("F", bound=Callable[..., Any])


def _compiled(function: F) -> F:
    """Compile on first call; keep the result on disk where there is a place for it."""
    try:
        return cast(F, numba.njit(nogil=True, cache=True)(function))
    except RuntimeError:  # a read-only installation without a home: compile in every process
        return cast(F, numba.njit(nogil=True)(function))


_DE_BRUIJN = 0x03F79D71B4CB0A89
_LOWEST = np.zeros(64, dtype=np.int64)
for _bit in range(64):
    _LOWEST[((_DE_BRUIJN << _bit) % 2**64) >> 58] = _bit


@_compiled
def _lowest(word: Any) -> Any:
    """The number of the lowest bit set (numba has no instruction for it)."""
    alone = word & (~word + np.uint64(1))
    return _LOWEST[np.int64((alone * np.uint64(_DE_BRUIJN)) >> np.uint64(58))]


@_compiled
def _count(word: Any) -> Any:
    """How many bits are set, of 32."""
    word -= (word >> np.uint64(1)) & np.uint64(0x55555555)
    word = (word & np.uint64(0x33333333)) + ((word >> np.uint64(2)) & np.uint64(0x33333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F)
    return (word * np.uint64(0x01010101) >> np.uint64(24)) & np.uint64(0xFF)


@_compiled
def sum_lattice(
    roots: Any,
    nodes: Any,
    differs: Any,
    everyone: Any,
    held_first: int,
    freed_first: int,
    players: int,
    stack: Any,
    groups: Any,
    above: Any,
    below: Any,
    width: int,
) -> None:
    """Fill `above` and `below`, (2^players × width) int32: a score is above[S] + below[not S].

    Players from `players` up are fixed: held or freed from the start. A row of `nodes` is (test,
    child on the input's side, other child, the player's bit), and at a leaf (-1, value, 0, 0).
    """
    low = (1 << players) - 1
    one_way = len(below) == 0
    above[:] = 0
    below[:] = 0
    position = np.empty(64, dtype=np.int64)
    sign = np.ones(1 << players, dtype=np.int8)
    for part in range(1, 1 << players):
        sign[part] = -sign[part & (part - 1)]
    for root in roots:
        stack[0, 0] = root
        stack[0, 1] = held_first
        stack[0, 2] = freed_first
        groups[0] = everyone
        top = 1
        while top > 0:
            top -= 1
            node = stack[top, 0]
            held = stack[top, 1]
            freed = stack[top, 2]
            group = groups[top]
            while nodes[node, 0] >= 0:
                others = group & differs[nodes[node, 0]]
                bit = nodes[node, 3]
                if others == 0 or held & bit:
                    node = np.int64(nodes[node, 1])
                    continue
                if others != group:
                    stack[top, 0] = nodes[node, 1]
                    stack[top, 1] = held
                    stack[top, 2] = freed
                    groups[top] = group ^ others
                    top += 1
                if not freed & bit:
                    stack[top, 0] = nodes[node, 1]
                    stack[top, 1] = held | bit
                    stack[top, 2] = freed
                    groups[top] = others
                    top += 1
                    freed |= bit
                node = np.int64(nodes[node, 2])
                group = others
            leaf = nodes[node, 1]
            if leaf == 0:
                continue
            held &= low
            freed &= low
            upward = one_way or _count(np.uint64(freed)) <= _count(np.uint64(held))
            flat = above if upward else below
            spread = freed if upward else held
            first = (held if upward else freed) * width
            lanes = 0
            while group:
                position[lanes] = first + _lowest(group)
                lanes += 1
                group &= group - np.uint64(1)
            part = 0
            while True:  # over the parts of `spread`
                signed = np.int32(leaf * sign[part])
                for k in range(lanes):
                    at = position[k] + part * width
                    flat[at] = np.int32(flat[at] + signed)
                if part == spread:
                    break
                part = (part - spread) & spread
    _subset_sums(above, width, players)
    if not one_way:
        _subset_sums(below, width, players)


@_compiled
def _subset_sums(flat: Any, width: int, players: int) -> None:
    """The zeta transform, two players at a time, finishing small blocks before large ones."""
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


@_compiled
def answer_words(
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
