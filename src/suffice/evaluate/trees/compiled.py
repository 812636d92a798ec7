"""Runs the compiled kernels: on slabs of the lattice, and on any 64 subsets at a time.

A block's leaves are found once and kept, and each slab takes those that it reaches. Where there are
too many to keep, every slab walks the trees again, with its fixed players fixed, in portions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.evaluate.trees import kernel
from suffice.evaluate.trees.blocks import Leaves, Scratch
from suffice.evaluate.trees.ensemble import Ints
from suffice.evaluate.trees.lists import Verdicts
from suffice.evaluate.trees.problem import Problem
from suffice.typing import Counts, Held, Words

__all__ = ["CompiledBlock", "CompiledWalk"]

_TWO_WAY_PLAYERS = 12
"""Past so many players, summing a second accumulator costs more than it saves in the walk."""

_LEAVES_KEPT = 1 << 19
"""The largest portion of leaves that a block may keep, of 32 bytes each."""

_FIRST_ROOM = 1 << 14


class CompiledBlock:
    """One block of references, at work in the buffers of one thread."""

    def __init__(
        self,
        problem: Problem,
        block: int,
        players: int,
        scratch: Scratch,
        trees: int | None,
        leaves: Leaves | None,
    ) -> None:
        self._problem = problem
        self._block = block
        self._players = players
        self._trees = trees
        self._everyone = np.uint64(problem.lanes.everyone(block))
        self._stack = np.empty((2 * problem.ensemble.depth + 2, 4), dtype=np.uint64)
        self._scratch = scratch
        cells = problem.lanes.width << players
        two_way = players <= _TWO_WAY_PLAYERS
        self._above = self._buffer("above", cells, np.int32)
        self._below = self._buffer("below", cells if two_way else 0, np.int32)
        margins = range(len(problem.reading.margins))
        self._kept: Sequence[list[Words] | None] = leaves or [self._keep(m) for m in margins]

    def leaves(self) -> Leaves:
        """Copies of all that was found, unless it was too much to keep."""
        kept = [parts for parts in self._kept if parts is not None]
        if len(kept) < len(self._kept):
            return []
        return [[part.copy() for part in parts] for parts in kept]

    @cached_property
    def _differs(self) -> Words:
        return self._problem.sides.words(self._problem.lanes.references(self._block))

    def slab(self, number: int) -> tuple[Words, Words]:
        """By mask: the lanes for which the event surely holds, and those for which it fails."""
        players, width = self._players, self._problem.lanes.width
        yes = np.full(1 << players, self._everyone, dtype=np.uint64)
        no = np.zeros(1 << players, dtype=np.uint64)
        held = np.uint64(number << players)
        for i, margin in enumerate(self._problem.reading.margins):
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
            kernel.answer_words(
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
        no &= self._everyone
        return (no, yes) if self._problem.reading.reverse else (yes, no)

    def _buffer(self, name: Any, shape: Any, dtype: type) -> NDArray[Any]:
        found = self._scratch.get(name)
        if found is None or found.size != np.prod(shape):
            found = self._scratch[name] = np.empty(shape, dtype=dtype)
        return found

    def _keep(self, margin: int) -> list[Words] | None:
        """All leaves of a margin, in portions; or None where they are too many."""
        parts: list[Words] = []
        progress = np.zeros(2, dtype=np.int64)
        while (room := _FIRST_ROOM << len(parts)) <= _LEAVES_KEPT:
            leaves = self._buffer((margin, room), (room, 4), np.uint64)
            found = self._find(margin, 0, 0, progress, leaves)
            parts.append(leaves[:found])
            if found < room:
                return parts
        return None

    def _walk(self, margin: int, number: int) -> Iterator[Words]:
        """The leaves that a slab reaches, in portions."""
        held = number << self._players
        freed = ((1 << self._problem.d) - (1 << self._players)) ^ held
        progress = np.zeros(2, dtype=np.int64)
        leaves = self._buffer("leaves", (_FIRST_ROOM, 4), np.uint64)
        found = len(leaves)
        while found == len(leaves):
            found = self._find(margin, held, freed, progress, leaves)
            yield leaves[:found]

    def _find(self, margin: int, held: int, freed: int, progress: Counts, leaves: Words) -> int:
        problem = self._problem
        found: int = kernel.find_leaves(
            problem.reading.margins[margin].roots[: self._trees],
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


class CompiledWalk:
    """One word of references, beside one word of subsets after another, in any thread."""

    def __init__(self, problem: Problem, differs: Words, everyone: int, trees: int | None) -> None:
        self._everyone = np.uint64(everyone)
        self._stack_shape = (2 * problem.ensemble.depth + 2, 3)
        self._margins = []
        stack = np.empty(self._stack_shape, dtype=np.uint64)
        for margin, nodes in zip(problem.reading.margins, problem.nodes, strict=True):
            roots = margin.roots[:trees]
            starts = np.empty(len(roots), dtype=np.uint64)
            table = np.empty((len(nodes), 2), dtype=np.uint64)
            rows = kernel.prune(
                roots, nodes.view(np.uint32), differs, self._everyone, stack, starts, table
            )
            self._margins.append((margin, starts, table[:rows].copy()))

    def judge(self, held: Words, rows: Counts, places: Counts, verdicts: Verdicts) -> None:
        """Lower the verdicts of one word of subsets."""
        wanted = np.uint64((1 << len(rows)) - 1)
        stack = np.empty(self._stack_shape, dtype=np.uint64)
        for margin, starts, table in self._margins:
            scores = np.zeros(64 * 64, dtype=np.int32)
            kernel.score_rectangle(starts, table, self._everyone, held, wanted, stack, scores)
            kernel.judge_rectangle(
                scores,
                np.int32(margin.no_below),
                np.int32(margin.yes_from),
                np.int32(margin.yes_to),
                np.int32(margin.no_above),
                rows,
                places,
                verdicts,
            )

    def scores_of(self, held: Held, lanes: Counts) -> list[Ints]:
        """By margin, (rows,): of single hybrids."""
        out = []
        for _, starts, table in self._margins:
            scores = np.empty(len(lanes), dtype=np.int32)
            kernel.score_rows(starts, table, lanes, held, scores)
            out.append(scores)
        return out
