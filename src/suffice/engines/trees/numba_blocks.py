"""Compiled (numba) counterparts of the NumPy kernels in `lattice_sweep` and `subset_lists`.

A block's leaves are found once and kept, and each slab takes those that it reaches. Where there are
too many to keep, every slab walks the trees again, with its fixed players fixed, in portions.

In trees with many leaves the references of a block soon go separate ways. `sweep_by_lists` walks
such trees once for many blocks and lists the leaves by reference.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.engines.trees import numba_kernels as kernel
from suffice.engines.trees.encoded_input import LANES, EncodedInput
from suffice.engines.trees.ensemble import Ints
from suffice.engines.trees.lattice_sweep import LeafPortions, ThreadBuffers
from suffice.engines.trees.subset_lists import Verdicts
from suffice.engines.work import available_cores
from suffice.factors.bitsets import unpack_rows
from suffice.typing import BitWords, Counts, HeldSets

_TWO_WAY_PLAYERS = 12
"""Most players with two accumulators: beyond, summing the second costs more than it saves."""

_MAX_PORTION = 1 << 19
"""The largest portion of leaves that a block may keep, of 32 bytes each."""

_FIRST_PORTION = 1 << 14


def _buffer(buffers: ThreadBuffers, name: Any, shape: tuple[int, ...], dtype: type) -> NDArray[Any]:
    found = buffers.get(name)
    if found is None or found.shape != shape:
        found = buffers[name] = np.empty(shape, dtype=dtype)
    return found


class NumbaBlock:
    """One block of references; it uses the buffers of one thread."""

    def __init__(
        self,
        problem: EncodedInput,
        block: int,
        players: int,
        scratch: ThreadBuffers,
        leaves: LeafPortions | None,
    ) -> None:
        self._problem = problem
        self._block = block
        self._players = players
        self._everyone = np.uint64(problem.lanes.all_lanes(block))
        # A level of a tree pushes at most two rows.
        self._stack = np.empty((2 * problem.ensemble.depth + 2, 4), dtype=np.uint64)
        self._scratch = scratch
        cells = problem.lanes.width << players
        two_way = players <= _TWO_WAY_PLAYERS
        self._above = _buffer(scratch, "above", (cells,), np.int32)
        self._below = _buffer(scratch, "below", (cells if two_way else 0,), np.int32)
        margins = range(len(problem.margins.margins))
        self._kept: Sequence[list[BitWords] | None] = leaves or [self._keep(m) for m in margins]

    def leaves(self) -> LeafPortions:
        """Return copies of all leaves found; empty if they were too many to keep."""
        kept = [parts for parts in self._kept if parts is not None]
        if len(kept) < len(self._kept):
            return []
        return [[part.copy() for part in parts] for parts in kept]

    @cached_property
    def _differs(self) -> BitWords:
        return self._problem.sides.words(self._problem.lanes.references(self._block))

    def slab(self, number: int) -> tuple[BitWords, BitWords]:
        """Return by mask the lanes where the event surely holds, and those where it fails."""
        players, width = self._players, self._problem.lanes.width
        yes = np.full(1 << players, self._everyone, dtype=np.uint64)
        no = np.zeros(1 << players, dtype=np.uint64)
        held = np.uint64(number << players)
        for i, margin in enumerate(self._problem.margins.margins):
            # The sums overwrite the accumulators, which belong to the thread: clear them each time.
            self._above[:] = 0
            self._below[:] = 0
            kept = self._kept[i]
            for leaves in self._walk(i, number) if kept is None else kept:
                kernel.add_leaves(
                    leaves, len(leaves), held, players, self._above, self._below, width
                )
            for sums in (self._above, self._below):
                if len(sums):
                    kernel.sum_subsets(sums, width, players)
            kernel.decide_masks(
                self._above,
                self._below,
                width,
                np.int32(margin.no_below),
                np.int32(margin.yes_from),
                np.int32(margin.yes_to),
                np.int32(margin.no_above),
                yes,
                no,
            )
        no &= self._everyone  # lanes without a reference have sums as well
        return (no, yes) if self._problem.margins.reverse else (yes, no)

    def _keep(self, margin: int) -> list[BitWords] | None:
        """Return all leaves of a margin, in portions; None if there are too many to keep."""
        parts: list[BitWords] = []
        progress = np.zeros(2, dtype=np.int64)
        # Portions double, so that few leaves take little memory and many take few calls.
        while (room := _FIRST_PORTION << len(parts)) <= _MAX_PORTION:
            leaves = _buffer(self._scratch, (margin, room), (room, 4), np.uint64)
            found = self._find(margin, 0, 0, progress, leaves)
            parts.append(leaves[:found])
            if found < room:
                return parts
        return None

    def _walk(self, margin: int, number: int) -> Iterator[BitWords]:
        """Yield the leaves that a slab reaches, in portions."""
        held = number << self._players
        freed = ((1 << self._problem.d) - (1 << self._players)) ^ held
        progress = np.zeros(2, dtype=np.int64)
        leaves = _buffer(self._scratch, "leaves", (_FIRST_PORTION, 4), np.uint64)
        found = len(leaves)
        while found == len(leaves):  # a full portion: there may be more
            found = self._find(margin, held, freed, progress, leaves)
            yield leaves[:found]

    def _find(self, margin: int, held: int, freed: int, progress: Counts, leaves: BitWords) -> int:
        problem = self._problem
        found: int = kernel.find_leaves(
            problem.margins.margins[margin].roots,
            problem.nodes[margin].view(np.uint32),
            self._differs,
            self._everyone,
            np.uint64(held),
            np.uint64(freed),
            self._stack,
            progress,
            leaves,
        )
        return found


_LEAST_ROOM = 1 << 12
"""Leaves that a lane's list has room for; no multiple of a page, or all lists would share sets of
the cache."""

_IDLE_BUFFERS: list[ThreadBuffers] = []
"""Buffers that are kept from one input to the next, for as many tasks as there are cores: fresh
memory is slow to touch."""


def sweep_by_lists(problem: EncodedInput, blocks: range) -> Iterator[tuple[BitWords, BitWords]]:
    """Yield by block what `NumbaBlock.slab` gives for the whole lattice; for up to 14 players."""
    everyone = np.array([problem.lanes.all_lanes(block) for block in blocks], dtype=np.uint64)
    yes = np.repeat(everyone[:, None], 1 << problem.d, axis=1)
    no = np.zeros_like(yes)
    try:
        buffers = _IDLE_BUFFERS.pop()  # which only one thread can take
    except IndexError:
        buffers = {}
    for margin, (nodes, _) in zip(problem.margins.margins, problem.both_ways, strict=True):
        summed = _summed_lists(problem, margin.roots, nodes, blocks, everyone, buffers)
        for place, (above, below) in enumerate(summed):
            kernel.decide_masks(
                above,
                below,
                problem.lanes.width,
                np.int32(margin.no_below),
                np.int32(margin.yes_from),
                np.int32(margin.yes_to),
                np.int32(margin.no_above),
                yes[place],
                no[place],
            )
    if len(_IDLE_BUFFERS) < available_cores():
        _IDLE_BUFFERS.append(buffers)
    no &= everyone[:, None]
    yield from zip(no, yes, strict=True) if problem.margins.reverse else zip(yes, no, strict=True)


def _summed_lists(
    problem: EncodedInput,
    roots: Ints,
    nodes: Ints,
    blocks: range,
    everyone: BitWords,
    buffers: ThreadBuffers,
) -> Iterator[tuple[Ints, Ints]]:
    """Yield by block the sums over subsets, from below and from above; the next overwrite them."""
    d, width, depth = problem.d, problem.lanes.width, problem.ensemble.depth
    left = problem.sides.left_by_block(problem.lanes)
    assert left is not None
    everybody = np.flatnonzero(unpack_rows(everyone)).astype(np.uint64)
    # A lane comes to 2^d leaves of a tree at most, so each walk gets on by a tree.
    room = max(2 << d, _LEAST_ROOM) + 8
    leaves = _buffer(buffers, "leaves", (len(blocks), LANES * room), np.uint64)
    counts = _buffer(buffers, "counts", (len(blocks), LANES), np.uint32)
    reached = _buffer(buffers, "reached", (LANES * len(blocks) * (depth + 2),), np.uint32)
    several = _buffer(buffers, "several", (room,), np.uint64)
    many = _buffer(buffers, "many", (room,), np.uint64)
    stack = np.empty((depth + 1, 4), dtype=np.uint64)
    half = width << d
    all_sums: list[Ints] = []
    tree = 0
    while tree < len(roots):
        begun = tree > 0
        counts[:] = 0
        tree = kernel.list_leaves(
            roots,
            nodes.view(np.uint32),
            problem.sides.input_left,
            left.ravel(),
            left.shape[1],
            blocks.start,
            everybody,
            tree,
            1 << d,
            stack,
            reached,
            leaves.ravel(),
            counts.ravel(),
        )
        if not begun:  # one table serves all blocks unless there are more walks than one
            tables = 1 if tree == len(roots) else len(blocks)
            all_sums = list(_buffer(buffers, "sums", (tables, 2 * half), np.int32))
        for place in range(len(blocks)):
            sums = all_sums[place % len(all_sums)]
            if not begun:
                sums[:] = 0
            # A block of few references has as many lanes; the rest of its word is empty.
            kernel.add_listed_leaves(
                leaves[place, : width * room], counts[place, :width], several, many, sums
            )
            if tree == len(roots):
                kernel.sum_subsets(sums[:half], width, d)
                kernel.sum_subsets(sums[half:], width, d)
                yield sums[:half], sums[half:]


class NumbaWalk:
    """One word of references, evaluated with one word of subsets after another, in any thread."""

    def __init__(self, problem: EncodedInput, differs: BitWords, everyone: int) -> None:
        self._everyone = np.uint64(everyone)
        self._stack_shape = (2 * problem.ensemble.depth + 2, 3)
        self._margins = []
        stack = np.empty(self._stack_shape, dtype=np.uint64)
        for margin, nodes in zip(problem.margins.margins, problem.nodes, strict=True):
            starts = np.empty(len(margin.roots), dtype=np.uint64)
            table = np.empty((len(nodes), 2), dtype=np.uint64)
            rows = kernel.prune_trees(
                margin.roots, nodes.view(np.uint32), differs, self._everyone, stack, starts, table
            )
            # A copy, since the table was made for all nodes and the walk needs few of them.
            self._margins.append((margin, starts, table[:rows].copy()))

    def decide(self, held: BitWords, rows: Counts, places: Counts, verdicts: Verdicts) -> None:
        """Lower the verdicts of one word of subsets."""
        wanted = np.uint64((1 << len(rows)) - 1)
        stack = np.empty(self._stack_shape, dtype=np.uint64)
        for margin, starts, table in self._margins:
            scores = np.zeros(64 * 64, dtype=np.int32)
            kernel.score_rectangle(starts, table, self._everyone, held, wanted, stack, scores)
            kernel.decide_rectangle(
                scores,
                np.int32(margin.no_below),
                np.int32(margin.yes_from),
                np.int32(margin.yes_to),
                np.int32(margin.no_above),
                rows,
                places,
                verdicts,
            )

    def sums_of_hybrids(self, held: HeldSets, lanes: Counts) -> list[Ints]:
        """Return by margin the sums (rows,) of single hybrids."""
        out = []
        for _, starts, table in self._margins:
            scores = np.empty(len(lanes), dtype=np.int32)
            kernel.score_rows(starts, table, lanes, held, scores)
            out.append(scores)
        return out
