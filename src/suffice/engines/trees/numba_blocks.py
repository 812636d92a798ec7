"""Compiled (numba) counterparts of the NumPy kernels in `lattice_sweep` and `subset_lists`.

A block's leaves are found once and kept, and each slab takes those that it reaches. Where there are
too many to keep, every slab walks the trees again, with its fixed players fixed, in portions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from suffice.engines.trees import numba_kernels as kernel
from suffice.engines.trees.encoded_input import EncodedInput
from suffice.engines.trees.ensemble import Ints
from suffice.engines.trees.lattice_sweep import LeafPortions, ThreadBuffers, thread_buffer
from suffice.engines.trees.subset_lists import Verdicts
from suffice.typing import BitWords, Counts, HeldSets

_TWO_WAY_PLAYERS = 12
"""Most players with two accumulators: beyond, summing the second costs more than it saves."""

_MAX_PORTION = 1 << 19
"""The largest portion of leaves that a block may keep, of 32 bytes each."""

_FIRST_PORTION = 1 << 14


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
        self._above = thread_buffer(scratch, "above", (cells,), np.int32)
        self._below = thread_buffer(scratch, "below", (cells if two_way else 0,), np.int32)
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
            leaves = thread_buffer(self._scratch, (margin, room), (room, 4), np.uint64)
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
        leaves = thread_buffer(self._scratch, "leaves", (_FIRST_PORTION, 4), np.uint64)
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
