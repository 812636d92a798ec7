"""Outcomes of all 2^d sets from trees, packed as bits, with NumPy or lists of leaves; their work.

A run of consecutive masks is cut into slabs, the references into blocks; each (block, slab) is one
call of a kernel, and blocks run in threads. Runs are small, so that results come often, and large
enough that preparing blocks is a small part of the work; if memory allows, blocks stay prepared.

Numpy's kernel walks all trees and references of a block together, level by level. The frontier is a
set of arrays (node, word of lanes, players held, players freed), one entry per path that is still
alive; a step moves every entry one split down and adds entries where lanes part. Leaves become
signed terms exactly as in the compiled kernel (`numba_kernels` says why), grouped by how many there
are per leaf, and numpy does the subset sums along axes of length two.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from suffice.engines.trees.encoded_input import LANES, EncodedInput, IntegerMargin
from suffice.engines.trees.ensemble import Ints
from suffice.engines.work import (
    LATTICE_CELL,
    LEAF,
    Backend,
    _thread_pool,
    available_cores,
    choose_backend,
    run_in_threads,
)
from suffice.factors.lattice import over_subsets, pack_rows, unpack_rows
from suffice.typing import BitWords, Counts, Reals

LeafPortions = list[list[BitWords]]
"""Leaves that a block found in the trees and can use again, by margin and in portions."""

ThreadBuffers = dict[Any, NDArray[Any]]
"""A thread's buffers, which its blocks use in turn: first writes to new memory are slow."""

MAX_SWEEP_PLAYERS = 30
"""Most players of a sweep of the whole lattice."""

_SLAB_CELLS = 1 << 21
"""Masks × lanes of a slab, 32 bits each: larger slabs leave the cache."""

_RUN_BYTES = 1 << 24
"""Bytes of outcomes of a run: a third of a second's work with numba."""

_LEAVES_KEPT = 1 << 27
"""Most bytes of leaves that are kept from run to run."""

_MASKS_TRANSPOSED_AT_ONCE = 1 << 11
"""Masks that are transposed together, so that the piece stays in the cache."""

_LEAVES_LISTED = 30
"""Mean leaves of a tree from which on they are listed by reference: in smaller trees the references
of a block stay together."""

_LISTED_PLAYERS = 12
"""Most players of a sweep by lists. With more, masks are most of the work and lists grow long;
their entries have bits for 14."""

_LISTED_BLOCKS = 16
"""Most blocks whose leaves are listed together."""

HybridPlaces = tuple[Counts, Counts]
"""Pairs of a mask and the place of a reference in the order of lanes, as two arrays."""


class LatticeSweep:
    """The sweep of one problem; `kernel` is "numba", "numpy" or None to choose."""

    def __init__(self, problem: EncodedInput, kernel: Backend | None) -> None:
        self._problem = problem
        self.kernel = kernel or choose_backend(sweep_work(problem))
        self.masks_per_run = 1 << min(problem.d, _log2(8 * _RUN_BYTES // len(problem.lanes.order)))
        """Masks of a run: the same for both kernels, since the model is checked run by run."""
        large = problem.ensemble.leaves >= _LEAVES_LISTED * len(problem.ensemble.roots)
        self.by_lists = large and self.can_list
        """Are leaves listed by reference? The outcomes are the same."""
        self._leaves: dict[int, LeafPortions] = {}
        self._room = _LEAVES_KEPT if self.masks_per_run < 1 << problem.d else 0

    @property
    def can_list(self) -> bool:
        """True if the whole lattice is one run and few enough players for lists of leaves."""
        problem = self._problem
        return (
            self.kernel == "numba"
            and problem.d <= _LISTED_PLAYERS
            and self.masks_per_run == 1 << problem.d
            and problem.sides.left_by_block(problem.lanes) is not None
        )

    def run(self, start: int, y: bool) -> tuple[NDArray[Any], HybridPlaces]:
        """Return (blocks, masks): words of lanes with the input's outcome; and those undecided."""
        lanes = self._problem.lanes
        players = self._slab_players(_log2(self.masks_per_run))
        size = 1 << players
        slabs = self.masks_per_run // size
        # Handed on as bytes, so their order in memory matters.
        out = np.empty((lanes.blocks, self.masks_per_run), dtype=f"<u{lanes.width // 8}")
        undecided: list[HybridPlaces] = []
        # Enough tasks to share evenly, few enough that making a block ready is not done too often.
        cuts = max(1, min(slabs, -(-8 // lanes.blocks)))
        edges = [slabs * i // cuts for i in range(cuts + 1)]
        local = threading.local()

        def put(block: int, slab: int, yes: BitWords, no: BitWords) -> None:
            out[block, slab * size : (slab + 1) * size] = yes if y else no
            masks, places = _places_of_set_lanes(np.uint64(lanes.all_lanes(block)) & ~(yes | no))
            if len(masks):  # appending to a list is safe in threads
                first = start + slab * size
                undecided.append((first + masks, block * lanes.width + places))

        def work(task: int) -> None:
            block, cut = divmod(task, cuts)
            at_work = self._ready(block, players, local.__dict__.setdefault("scratch", {}))
            for slab in range(edges[cut], edges[cut + 1]):
                put(block, slab, *at_work.slab(start // size + slab))

        workers = available_cores() if self.kernel == "numba" else 1
        if self.by_lists:
            self._run_by_lists(put, workers)
        else:
            _ = self._problem.nodes  # made here, or several threads would make them
            run_in_threads(work, lanes.blocks * cuts, workers)
        none = np.empty(0, dtype=np.int64)
        parts = zip((none, none), *undecided, strict=True)
        masks, references = (np.concatenate(part) for part in parts)
        # Threads end in any order, but the model must predict the same hybrids in every run.
        order = np.lexsort((references, masks))
        return out, (masks[order], references[order])

    def _run_by_lists(
        self, put: Callable[[int, int, BitWords, BitWords], None], workers: int
    ) -> None:
        blocks = self._problem.lanes.blocks
        # Every task walks all trees, so there are no more tasks than workers if lists allow it.
        tasks = max(min(workers, blocks), -(-blocks // _LISTED_BLOCKS))
        edges = [blocks * i // tasks for i in range(tasks + 1)]

        def work(task: int) -> None:
            here = range(edges[task], edges[task + 1])
            for block, (yes, no) in zip(here, _decide_by_lists(self._problem, here), strict=True):
                put(block, 0, yes, no)

        self._problem.sides.left_by_block(self._problem.lanes)  # made before there are threads
        run_in_threads(work, tasks, workers)

    def pack_by_mask(self, words: NDArray[Any]) -> NDArray[np.uint8]:
        """Return (masks, bytes): words of lanes as packed bits of references, in their order."""
        if len(words) == 1:  # a single row is a column already
            turned = words.reshape(-1, 1)
        else:
            turned = np.empty(words.shape[::-1], dtype=words.dtype)
            for part in _mask_slices(len(turned)):
                turned[part] = words[:, part].T
        order = self._problem.lanes.order
        bits = turned.view(np.uint8)[:, : (len(order) + 7) // 8]
        if (np.diff(order) == 1).all():
            return bits
        places, out = np.argsort(order), np.empty(bits.shape, dtype=np.uint8)
        for part in _mask_slices(len(turned)):  # so few that their single bits stay in the cache
            lanes = np.unpackbits(bits[part], axis=1, count=len(order))
            out[part] = np.packbits(lanes.take(places, axis=1), axis=1)
        return out

    def _slab_players(self, players: int) -> int:
        return min(players, _log2(_SLAB_CELLS // self._problem.lanes.width))

    def _ready(self, block: int, players: int, scratch: ThreadBuffers) -> ReferenceBlock:
        """Return a prepared block for a thread, with its leaves of the last run if kept."""
        known = self._leaves.get(block)
        at_work = make_block(self.kernel, self._problem, block, players, scratch, leaves=known)
        if known is None and self._room > 0:
            leaves = at_work.leaves()
            self._room -= sum(part.nbytes for parts in leaves for part in parts)
            if leaves and self._room > 0:
                self._leaves[block] = leaves
        return at_work


def _mask_slices(rows: int) -> Iterator[slice]:
    return (
        slice(start, start + _MASKS_TRANSPOSED_AT_ONCE)
        for start in range(0, rows, _MASKS_TRANSPOSED_AT_ONCE)
    )


def _places_of_set_lanes(words: BitWords) -> HybridPlaces:
    """Return the rows that have lanes set, and the references of these lanes."""
    rows = np.flatnonzero(words)
    row, reference = np.nonzero(unpack_rows(words[rows], "big"))  # undoes the order of lanes
    return rows[row], reference


def sweep_work(problem: EncodedInput) -> float:
    """Return the work of all 2^d subsets with all references, as `engines.work` counts it.

    In each slab every leaf that a block of references reaches is added once, for each margin.
    """
    d, lanes = problem.d, problem.lanes
    slabs = 2.0 ** (d - min(d, _log2(_SLAB_CELLS // lanes.width)))
    leaves = problem.ensemble.leaves * slabs
    return (
        len(problem.margins.margins)
        * lanes.blocks
        * (LEAF * leaves + LATTICE_CELL * lanes.width * 2.0**d)
    )


def _log2(cells: int) -> int:
    return max(0, cells.bit_length() - 1)


# The sweep by lists, for compiled kernels: in trees with many leaves the references of a block soon
# go separate ways, so one walk of the trees lists the leaves of many blocks by reference.


def thread_buffer(
    buffers: ThreadBuffers, name: Any, shape: tuple[int, ...], dtype: type
) -> NDArray[Any]:
    """Return the thread's buffer of a name, made anew where its shape differs."""
    found = buffers.get(name)
    if found is None or found.shape != shape:
        found = buffers[name] = np.empty(shape, dtype=dtype)
    return found


_LEAST_ROOM = 1 << 12
"""Leaves that a lane's list has room for; no multiple of a page, or all lists would share sets of
the cache."""

_IDLE_BUFFERS: list[ThreadBuffers] = []
"""Buffers that are kept from one input to the next, for as many tasks as there are cores: fresh
memory is slow to touch."""


def _decide_by_lists(problem: EncodedInput, blocks: range) -> Iterator[tuple[BitWords, BitWords]]:
    """Yield by block what `NumbaBlock.slab` gives for the whole lattice; for up to 14 players."""
    from suffice.engines.trees import numba_kernels as kernel

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
    from suffice.engines.trees import numba_kernels as kernel

    d, width, depth = problem.d, problem.lanes.width, problem.ensemble.depth
    left = problem.sides.left_by_block(problem.lanes)
    assert left is not None
    everybody = np.flatnonzero(unpack_rows(everyone)).astype(np.uint64)
    # A lane comes to 2^d leaves of a tree at most, so each walk gets on by a tree.
    room = max(2 << d, _LEAST_ROOM) + 8
    leaves = thread_buffer(buffers, "leaves", (len(blocks), LANES * room), np.uint64)
    counts = thread_buffer(buffers, "counts", (len(blocks), LANES), np.uint32)
    reached = thread_buffer(buffers, "reached", (LANES * len(blocks) * (depth + 2),), np.uint32)
    several = thread_buffer(buffers, "several", (room,), np.uint64)
    many = thread_buffer(buffers, "many", (room,), np.uint64)
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
            all_sums = list(thread_buffer(buffers, "sums", (tables, 2 * half), np.int32))
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


class ReferenceBlock(Protocol):
    """Protocol of a kernel for one block of references."""

    def slab(self, number: int) -> tuple[BitWords, BitWords]:
        """Return by mask the lanes that surely have the event, and those that surely do not."""
        ...

    def leaves(self) -> LeafPortions:
        """Return the leaves from which the same block can be made again; empty if not kept."""
        ...


def make_block(
    kernel: Backend,
    problem: EncodedInput,
    block: int,
    players: int,
    scratch: ThreadBuffers,
    leaves: LeafPortions | None = None,
) -> ReferenceBlock:
    """Return a kernel prepared for one block of references."""
    if kernel == "numpy":
        return NumpyBlock(problem, block, players)
    from suffice.engines.trees.numba_blocks import NumbaBlock

    return NumbaBlock(problem, block, players, scratch, leaves)


if hasattr(os, "register_at_fork"):  # threads do not live on in a forked process
    os.register_at_fork(after_in_child=_thread_pool.cache_clear)


class NumpyBlock:
    """One block of references; its results are those of the compiled kernel."""

    def __init__(self, problem: EncodedInput, block: int, players: int) -> None:
        self._problem = problem
        self._players = players
        self._everyone = np.uint64(problem.lanes.all_lanes(block))
        self._differs = problem.sides.words(problem.lanes.references(block))

    def slab(self, number: int) -> tuple[BitWords, BitWords]:
        """Return by mask the lanes where the event surely holds, and those where it fails."""
        problem, players = self._problem, self._players
        held = number << players
        freed = ((1 << problem.d) - (1 << players)) ^ held
        width = problem.lanes.width
        present = (self._everyone >> np.arange(width, dtype=np.uint64) & np.uint64(1)).astype(bool)
        yes = np.broadcast_to(present, (1 << players, width))
        no = np.zeros_like(yes)
        for margin, nodes in zip(problem.margins.margins, problem.nodes, strict=True):
            score = self._scores(margin, nodes, held, freed)
            yes = yes & (score >= margin.yes_from) & (score <= margin.yes_to)
            no |= present & ((score < margin.no_below) | (score > margin.no_above))
        if problem.margins.reverse:
            yes, no = no, yes
        return pack_rows(yes)[:, 0], pack_rows(no)[:, 0]

    def leaves(self) -> LeafPortions:
        """Return no leaves: numpy's kernel keeps none."""
        return []

    def _scores(self, margin: IntegerMargin, nodes: Ints, held: int, freed: int) -> Ints:
        """Return (masks, lanes) int32; partial sums may wrap around, the final ones are right."""
        width, size = self._problem.lanes.width, 1 << self._players
        terms = _signed_terms(*self._reached(margin, nodes, held, freed), size)
        # Whole numbers this small are added exactly in float64, and then wrapped around.
        sums = _sums_of_terms(*terms, width, 2 * size * width).astype(np.int64)
        above, below = sums.astype(np.int32).reshape(2, size, width)
        return np.asarray(over_subsets(above, np.add) + over_subsets(below, np.add)[::-1])

    def _reached(
        self, margin: IntegerMargin, nodes: Ints, held_first: int, freed_first: int
    ) -> tuple[Counts, BitWords, Counts, Counts]:
        """Return the leaves that the block reaches: value, lanes, players held, players freed."""
        tests, toward, away, players = np.ascontiguousarray(nodes.T).astype(np.int64)
        node = margin.roots.astype(np.int64)
        group = np.full(len(node), self._everyone)
        path = np.full(
            len(node), held_first | freed_first << _FREED_SHIFT
        )  # players held, and freed
        parts: list[tuple[Counts, BitWords, Counts]] = []
        while True:
            test = tests[node]
            inner = np.flatnonzero(test >= 0)
            leaf = np.flatnonzero((test < 0) & (toward[node] != 0))  # a leaf of 0 adds nothing
            parts.append((toward[node[leaf]], group[leaf], path[leaf]))
            if not len(inner):
                break
            test, node, group, path = test[inner], node[inner], group[inner], path[inner]
            others = group & self._differs[test]
            bit = np.left_shift(1, players[node])
            leave = (others != 0) & (path & bit == 0)
            both = np.flatnonzero(
                leave & (path & bit << _FREED_SHIFT == 0)
            )  # they part: held, and freed
            stay = np.flatnonzero(leave & (others != group))  # lanes on the input's side continue
            near = toward[node]
            node = np.concatenate([np.where(leave, away[node], near), near[both], near[stay]])
            left = np.where(leave, others, group)
            group = np.concatenate([left, others[both], (group ^ others)[stay]])
            held, path_stay = path[both] | bit[both], path[stay]
            path[both] |= bit[both] << _FREED_SHIFT
            path = np.concatenate([path, held, path_stay])
        value, group, path = (np.concatenate(column) for column in zip(*parts, strict=True))
        low = (1 << self._players) - 1
        return value, group, path & low, path >> _FREED_SHIFT & low


_FREED_SHIFT = 32
"""First bit of a path's freed players; the bits below are its held players."""


def _signed_terms(
    value: Counts, group: BitWords, held: Counts, freed: Counts, size: int
) -> tuple[Counts, BitWords, Reals]:
    """Return signed terms of leaves, from below or, `size` rows later, above: row, lanes, value.

    A leaf is one term at row | T for every part T of the fewer of its players, held or freed.
    """
    upward = np.bitwise_count(freed) <= np.bitwise_count(held)
    first = np.where(upward, held, freed + size)
    spread = np.where(upward, freed, held)
    found: list[tuple[Counts, BitWords, Reals]] = []
    counts = np.bitwise_count(spread)
    for count in range(int(counts.max(initial=0)) + 1):
        chosen = np.flatnonzero(counts == count)
        row, rest, lanes = first[chosen], spread[chosen], group[chosen]
        signed = value[chosen].astype(np.float64)
        for _ in range(count):
            bit = rest & -rest
            row, rest = np.concatenate([row, row | bit]), np.tile(rest ^ bit, 2)
            lanes, signed = np.tile(lanes, 2), np.concatenate([signed, -signed])
        found.append((row, lanes, signed))
    rows, groups, values = zip(*found, strict=True)
    return np.concatenate(rows), np.concatenate(groups), np.concatenate(values)


_LANES_ONE_BY_ONE = 6
"""Most lanes of a word that are added one by one; few words have more."""


def _sums_of_terms(row: Counts, group: BitWords, value: Reals, width: int, cells: int) -> Reals:
    """Return the sums by row and lane; a term counts for every lane of its word."""
    first, one = row * width, np.uint64(1)
    sums = np.zeros(cells)
    for _ in range(_LANES_ONE_BY_ONE):
        rest = group & (group - one)
        sums += np.bincount(first + np.bitwise_count((group ^ rest) - one), value, cells)
        more = np.flatnonzero(rest)
        first, group, value = first[more], rest[more], value[more]
    term, lane = np.nonzero(unpack_rows(group))
    return np.asarray(sums + np.bincount(first[term] + lane, value[term], cells))
