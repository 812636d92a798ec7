"""Every hybrid's outcome from the trees themselves, with the model asked only where it must be.

The lattice is cut into slabs of consecutive masks, the references into blocks; each (block,
slab) is one call of a kernel, and blocks run in threads. What the integers cannot decide (scores
within rounding of a boundary, see `margins`) is asked of the model, each distinct hybrid once. The
same call asks a few hybrids that are decided, as a check on the reading of the model: if it ever
disagrees, the reading is given up and the black box takes over.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from suffice.context.swap import SwapHybrids
from suffice.evaluate.blackbox import Engine, part_of
from suffice.evaluate.protocol import Idle, Swept, Tick
from suffice.evaluate.trees.blocks import (
    Kernel,
    choose_kernel,
    cores,
    make_block,
    numpy_seconds,
)
from suffice.evaluate.trees.ensemble import Ensemble
from suffice.evaluate.trees.lists import DOUBT, FAILS, HOLDS, SubsetLists, Verdicts
from suffice.evaluate.trees.margins import Reading, read_event
from suffice.evaluate.trees.problem import make_problem
from suffice.factors.lattice import held_of_masks
from suffice.randomness import Stream, generator
from suffice.target import Event, Target
from suffice.typing import BoolVector, Counts, Held, Outcomes, Reals, Words

if TYPE_CHECKING:
    from suffice.evaluate.trees.cubes import CubeBounds

__all__ = ["TreeEngine", "TreeModel"]

_MOST_PLAYERS = 30
"""No sweep of the whole lattice is longer."""

_SLAB_CELLS = 1 << 21
"""Masks × lanes of a slab, 32 bits each: more is slower, as it leaves the cache."""

_BLOCK_BYTES = 1 << 27
"""Outcomes that are held before they are handed on."""

_COUNTED_CELLS = 1 << 28
"""Masks × lanes that are counted before their hits are handed on: some tenths of a second."""

_COUNTED_PLAYERS = 22
"""And masks of so many players: their hits take 32 MB."""

_TURNED_AT_ONCE = 1 << 11
"""Masks of which a transposed piece stays in the cache."""

_CHECKED = 32
"""Decided hybrids per block of masks that the model is asked about all the same."""

_CHECKED_AGAIN = 8
"""Decided hybrids of a list, after the first so many, that it is asked about now and then."""

_SECONDS_AT_ONCE = 0.2
"""Of a list's work that is done between two ticks."""

_ROWS_AT_ONCE = 1 << 20
"""Hybrids written out together to be asked about."""


class TreeModel:
    """The trees of one model, and what events ask of their sums.

    That is kept for the next input: reading an event takes as long as all the rest.
    """

    def __init__(self, ensemble: Ensemble) -> None:
        self.ensemble = ensemble
        self._readings: dict[tuple[Any, ...], Reading] = {}

    def reading(self, event: Event) -> Reading:
        """The event's margins; `Unreadable` where the sums do not tell it."""
        if event.kind == "within":  # another event for every input
            return read_event(self.ensemble, event)
        key = event.kind, event.parameters
        if key not in self._readings:
            self._readings[key] = read_event(self.ensemble, event)
        return self._readings[key]


class TreeEngine(Engine):
    """A tree ensemble on swapped values: any list of subsets, or the whole lattice in one sweep.

    `kernel` is "numba", "numpy", or None to choose: numba where it is installed and the work is
    worth its start. Raises `Unreadable` for a question that the trees do not tell.
    """

    name = "trees"

    def __init__(
        self,
        model: TreeModel,
        target: Target,
        hybrids: SwapHybrids,
        y: bool,
        kernel: Kernel | None = None,
    ) -> None:
        super().__init__(target, hybrids, y)
        self._problem = make_problem(model.ensemble, model.reading(target.event), hybrids)
        self._kernel = kernel
        self._checks = _Checks()
        self._given_up = False

    @cached_property
    def _lists(self) -> SubsetLists:
        return SubsetLists(self._problem, self._kernel)

    def pace(self) -> float | None:
        """Of a hybrid in a list, as timed on a few of them."""
        if self._given_up:
            return self._box.pace()
        return self._lists.seconds_per_hybrid()

    def outcomes(self, held: Held, tick: Tick | None = None) -> Outcomes:
        """(subsets, references): does the hybrid have the input's outcome?"""
        tick = tick or _nothing
        if self._given_up:
            return self._box.outcomes(held, tick)
        out = np.empty((len(held), self.n), dtype=bool)
        at_once = min(_ROWS_AT_ONCE, int(_SECONDS_AT_ONCE / self._lists.seconds_per_hybrid()))
        step = max(1, at_once // self.n)
        for start in range(0, len(held), step):
            part = held[start : start + step]
            verdicts = self._lists.verdicts(part)
            found = self._settled(verdicts.ravel(), _Rectangle(part, self.n), tick)
            if found is None:  # what was found before in this list is given up as well
                return self._box.outcomes(held, part_of(tick, 1.0 - start / len(held)))
            out[start : start + step] = found.reshape(verdicts.shape)
            tick(len(part) / len(held))
        if not len(held):
            tick(1.0)
        return out

    def outcomes_of(self, held: Held, references: Counts) -> BoolVector:
        """(rows,): the same for single hybrids."""
        if self._given_up:
            return self._box.outcomes_of(held, references)
        verdicts = self._lists.verdicts_of(held, references)
        found = self._settled(verdicts, _Rows(held, references), _nothing)
        return self._box.outcomes_of(held, references) if found is None else found

    def _settled(
        self, verdicts: Verdicts, hybrids: _Rectangle | _Rows, tick: Tick
    ) -> BoolVector | None:
        """Outcomes from verdicts; the model is asked about those in doubt and about a few others.

        None: it denies one of these.
        """
        doubt = np.flatnonzero(verdicts == DOUBT)
        checked = self._checks.due(len(verdicts))
        checked = checked[verdicts[checked] != DOUBT]
        out = np.equal(verdicts, HOLDS if self._y else FAILS)
        answers = self._ask(*hybrids.at(np.concatenate([checked, doubt])), tick)
        if (answers[: len(checked)] != out[checked]).any():
            self._give_up()
            return None
        out[doubt] = answers[len(checked) :]
        return out

    def _give_up(self) -> None:
        self._given_up = True
        self.note = (
            "the trees, as they were read, disagree with the model's predictions, so that "
            "it was asked about every hybrid"
        )

    def idle(self) -> Mapping[int, Idle]:
        """The players that no tree tests, and those with no split between input and reference."""
        problem = self._problem
        read, parted = (np.zeros(self._hybrids.d, dtype=bool) for _ in range(2))
        read[problem.player] = True
        lanes = problem.list_lanes
        for block in range(lanes.blocks):
            differs = problem.sides.words(lanes.references(block))[: len(problem.player)]
            parted[problem.player[differs != 0]] = True
        return {int(p): "alike" if read[p] else "unread" for p in np.flatnonzero(~parted)}

    def cubes(self, held: Held, freed: Held) -> tuple[Outcomes, Outcomes]:
        """(cubes, references): do all hybrids surely have the input's outcome? may some?"""
        if self._given_up:  # nothing is known but of single sets
            surely, may = np.repeat([[[False]], [[True]]], len(held), axis=1).repeat(self.n, axis=2)
        else:
            surely, may = self._cubes.event(held, freed)
        if not self._y:
            surely, may = ~may, ~surely
        single = (held | freed).all(axis=1)
        if single.any():
            surely[single] = may[single] = self.outcomes(held[single])
        return surely, may

    def leverage(self) -> Reals:
        """(references, players): about how far each player moves the scores."""
        return self._cubes.leverage()

    @cached_property
    def _cubes(self) -> CubeBounds:
        from suffice.evaluate.trees.cubes import CubeBounds  # only wide tables need it

        return CubeBounds(self._problem, self._kernel)

    def sweep(self) -> Iterator[Swept]:
        """All 2^d subsets, in blocks of consecutive masks; for at most 30 players."""
        rows = 1 << min(self._problem.d, _log2(8 * _BLOCK_BYTES // self.n))
        for start, words in self._blocks(rows):
            yield start, _hits(words), self._bits(words)
        if self._given_up:
            yield from self._ask_everything(rows)

    def counts(self) -> Iterator[tuple[int, Counts]]:
        """The first mask of each block of a sweep, and the hits of its masks.

        Blocks are smaller than a sweep's: they take little memory, and an interrupt waits for one.
        """
        lanes = self._problem.lanes
        cells = _log2(_COUNTED_CELLS // (lanes.blocks * lanes.width))
        rows = 1 << min(self._problem.d, _COUNTED_PLAYERS, cells)
        for start, words in self._blocks(rows):
            yield start, _hits(words)
        if self._given_up:
            for start, hits, _ in self._ask_everything(rows):
                yield start, hits

    def _blocks(self, rows: int) -> Iterator[tuple[int, NDArray[Any]]]:
        """Of so many masks each: words of lanes that have the input's outcome, all settled.

        None follows once the model denied what the trees say.
        """
        if self._problem.d > _MOST_PLAYERS:
            raise ValueError(f"no sweep is long enough for {self._problem.d} players")
        kernel = self._kernel or choose_kernel(lambda: numpy_seconds(self._problem))
        for start in range(0, 1 << self._problem.d, rows):
            if self._given_up:
                return
            words, undecided = self._evaluate(kernel, start, rows)
            if not self._settle(words, start, undecided):
                self._give_up()
                return
            yield start, words

    def sweep_seconds(self) -> float:
        """About how long a sweep takes: one slab of one block, times all of them."""
        problem = self._problem
        if problem.d > _MOST_PLAYERS:
            return self._lists.seconds_per_hybrid() * self.n * 2.0**problem.d
        kernel = self._kernel or choose_kernel(lambda: numpy_seconds(problem))
        players = min(problem.d, _log2(_SLAB_CELLS // problem.lanes.width))
        times = []
        for slab in (0, 0, (1 << problem.d - players) - 1):  # the first call is a slow one
            started = perf_counter()
            make_block(kernel, problem, 0, players, {}).slab(slab)
            times.append(perf_counter() - started)
        tasks = problem.lanes.blocks << problem.d - players
        workers = 1 if kernel == "numpy" else min(tasks, cores())
        return max(times[1:]) * tasks / workers

    def _evaluate(self, kernel: Kernel, start: int, rows: int) -> tuple[NDArray[Any], _Hybrids]:
        """(blocks, masks): the words of lanes that have the input's outcome; and the undecided."""
        problem = self._problem
        players = min(_log2(rows), _log2(_SLAB_CELLS // problem.lanes.width))
        size = 1 << players
        slabs = rows // size
        # Handed on as bytes, so their order in memory matters.
        out = np.empty((problem.lanes.blocks, rows), dtype=f"<u{problem.lanes.width // 8}")
        undecided: list[_Hybrids] = []
        # Enough tasks to share evenly, few enough that preparing a block is not done too often.
        cuts = max(1, min(slabs, -(-8 // problem.lanes.blocks)))
        edges = [slabs * i // cuts for i in range(cuts + 1)]

        local = threading.local()

        def work(task: int) -> None:
            block, cut = divmod(task, cuts)
            scratch = local.__dict__.setdefault("scratch", {})
            everyone = np.uint64(problem.lanes.everyone(block))
            at_work = make_block(kernel, problem, block, players, scratch)
            for slab in range(edges[cut], edges[cut + 1]):
                yes, no = at_work.slab(start // size + slab)
                here = slice(slab * size, (slab + 1) * size)
                out[block, here] = yes if self._y else no
                masks, lanes = _places(everyone & ~(yes | no))
                if len(masks):  # appending to a list is safe in threads
                    first = start + slab * size
                    undecided.append((first + masks, block * problem.lanes.width + lanes))

        tasks = range(problem.lanes.blocks * cuts)
        workers = min(len(tasks), cores())
        if kernel == "numpy" or workers == 1:
            for task in tasks:
                work(task)
        else:
            with ThreadPoolExecutor(workers) as pool:
                list(pool.map(work, tasks))
        none = np.empty(0, dtype=np.int64)
        masks, places = zip((none, none), *undecided, strict=True)
        return out, (np.concatenate(masks), np.concatenate(places))

    def _settle(self, words: NDArray[Any], start: int, undecided: _Hybrids) -> bool:
        """Write the model's answers into `words`; False if it denies a decided one."""
        checked = self._to_check(words, start, undecided)
        decided = len(checked[0])
        masks, places = (np.concatenate(both) for both in zip(checked, undecided, strict=True))
        d, width = self._problem.d, self._problem.lanes.width
        for at in range(0, len(masks), _ROWS_AT_ONCE):
            part = slice(at, at + _ROWS_AT_ONCE)
            mask, place = masks[part], places[part]
            answers = self._ask(held_of_masks(mask, d), self._problem.lanes.order[place])
            row, block = mask - start, place // width
            bit = np.left_shift(words.dtype.type(1), (place % width ^ 7).astype(words.dtype))
            if at == 0:
                first = slice(decided)
                if (answers[first] != (words[block[first], row[first]] & bit[first] > 0)).any():
                    return False
            np.bitwise_and.at(words, (block, row), ~bit)
            np.bitwise_or.at(words, (block[answers], row[answers]), bit[answers])
        return True

    def _to_check(self, words: NDArray[Any], start: int, undecided: _Hybrids) -> _Hybrids:
        """A few hybrids, always the same ones, that no kernel left undecided."""
        rng = generator(0, Stream.CHECKS, start)
        masks = start + rng.integers(words.shape[1], size=_CHECKED)
        places = rng.integers(self.n, size=_CHECKED)
        free = ~np.isin(masks * self.n + places, undecided[0] * self.n + undecided[1])
        return masks[free], places[free]

    def _bits(self, words: NDArray[Any]) -> NDArray[np.uint8]:
        """Turn blocks × masks into masks × references, and put these back in order."""
        turned = np.empty(words.shape[::-1], dtype=words.dtype)
        for start in range(0, len(turned), _TURNED_AT_ONCE):
            part = slice(start, start + _TURNED_AT_ONCE)
            turned[part] = words[:, part].T
        bits = turned.view(np.uint8)[:, : (self.n + 7) // 8]
        if (np.diff(self._problem.lanes.order) == 1).all():
            return bits
        lanes = np.unpackbits(bits, axis=1, count=self.n)
        return np.packbits(lanes[:, np.argsort(self._problem.lanes.order)], axis=1)

    def _ask_everything(self, rows: int) -> Iterator[Swept]:
        d = self._problem.d
        step = max(1, min(rows, (1 << 20) // self.n))
        for start in range(0, 1 << d, step):
            outcomes = self.outcomes(held_of_masks(np.arange(start, min(start + step, 1 << d)), d))
            yield start, outcomes.sum(axis=1, dtype=np.int64), np.packbits(outcomes, axis=1)


class _Checks:
    """When to compare with the model's own answers, which are dear beside what trees tell.

    The first hybrids of all are checked, one by one as they come, until there were enough; and then
    a few more whenever twice as many were worked out as at the last check. That depends on counts
    alone, so that the same rows are asked on any machine.
    """

    def __init__(self) -> None:
        self._rng = generator(0, Stream.CHECKS)
        self._checked = 0
        self._worked_out = 0
        self._next = 0

    def due(self, hybrids: int) -> Counts:
        """Which of so many hybrids, now worked out, to ask the model about."""
        self._worked_out += hybrids
        missing = _CHECKED - self._checked
        if missing <= 0 and self._worked_out < self._next:
            return np.empty(0, dtype=np.int64)
        count = missing if missing > 0 else _CHECKED_AGAIN
        self._checked += min(hybrids, count)
        self._next = 2 * self._worked_out
        if hybrids <= count:
            return np.arange(hybrids)
        return np.unique(self._rng.integers(hybrids, size=count))


@dataclass(frozen=True)
class _Rectangle:
    """The hybrids of some subsets with all references, row by row."""

    held: Held
    n: int

    def at(self, places: Counts) -> tuple[Held, Counts]:
        return self.held[places // self.n], places % self.n


@dataclass(frozen=True)
class _Rows:
    """Single hybrids."""

    held: Held
    references: Counts

    def at(self, places: Counts) -> tuple[Held, Counts]:
        return self.held[places], self.references[places]


def _nothing(share: float) -> None:
    """The tick of nobody who counts."""


_Hybrids = tuple[Counts, Counts]
"""Masks, and beside each the place of a reference in the order of lanes."""


def _hits(words: NDArray[Any]) -> Counts:
    """By mask: how many lanes of all blocks are set."""
    hits = np.zeros(words.shape[1], dtype=np.int64)
    for block in words:
        hits += np.bitwise_count(block)
    return hits


def _places(words: Words) -> _Hybrids:
    """Which rows have lanes set, and the references in those lanes."""
    rows = np.flatnonzero(words)
    lanes = np.unpackbits(words[rows].astype("<u8").view(np.uint8).reshape(-1, 8), axis=1)
    row, reference = np.nonzero(lanes)  # big-endian bits undo the order of lanes
    return rows[row], reference


def _log2(cells: int) -> int:
    return max(0, cells.bit_length() - 1)
