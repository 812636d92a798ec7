"""Every hybrid's outcome from the trees themselves, with the model asked only where it must be.

A list of subsets is judged rectangle by rectangle (`lists`), the whole lattice in slabs (`blocks`).
What the integers cannot decide (scores within rounding of a boundary, see `margins`) is asked of
the model, each distinct hybrid once. The same call asks a few hybrids that are decided, as a check
on the reading of the model: if it ever disagrees, the reading is given up and the black box takes
over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from suffice.context.swap import SwapHybrids
from suffice.evaluate.blackbox import Engine, part_of
from suffice.evaluate.protocol import Idle, Swept, Tick
from suffice.evaluate.trees.blocks import MOST_PLAYERS, Kernel, LatticeSweep, Places
from suffice.evaluate.trees.ensemble import Ensemble
from suffice.evaluate.trees.lists import DOUBT, FAILS, HOLDS, SubsetLists, Verdicts
from suffice.evaluate.trees.margins import Reading, read_event
from suffice.evaluate.trees.problem import make_problem
from suffice.factors.lattice import held_of_masks
from suffice.randomness import Stream, generator
from suffice.target import Event, Target
from suffice.typing import BoolVector, Counts, Held, Outcomes, Reals

if TYPE_CHECKING:
    from suffice.evaluate.trees.cubes import CubeBounds

__all__ = ["TreeEngine", "TreeModel"]

_CHECKED = 32
"""Decided hybrids that the model is asked about all the same, the first time."""

_CHECKED_AGAIN = 8
"""After that, so many now and then."""

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
        answers = self._ask(*hybrids.at(np.concatenate([checked, doubt])), tick, again=True)
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
        for start, words in self._runs():
            if words is None:
                yield from self._ask_everything()
                return
            yield start, _hits(words), self._lattice.by_mask(words)

    def counts(self) -> Iterator[tuple[int, Counts]]:
        """The first mask of each block of a sweep, and the hits of its masks."""
        for start, words in self._runs():
            if words is None:
                yield from ((first, hits) for first, hits, _ in self._ask_everything())
                return
            yield start, _hits(words)

    def sweep_seconds(self) -> float:
        """About how long a sweep takes, from what a small part of one takes."""
        d = self._problem.d
        if d > MOST_PLAYERS:
            return self._lists.seconds_per_hybrid() * self.n * 2.0**d
        return self._lattice.seconds()

    def sweeps_within(self, asking: float) -> bool:
        """Is a sweep faster than asking the model, which would take so many seconds?

        Numba counts as loaded once as much time was spent without it as loading it takes.
        """
        if "_lattice" not in self.__dict__:
            self._lattice = LatticeSweep(self._problem, self._kernel, asking)
        return self._lattice.seconds() < asking

    @cached_property
    def _lattice(self) -> LatticeSweep:
        if self._problem.d > MOST_PLAYERS:
            raise ValueError(f"no sweep is long enough for {self._problem.d} players")
        return LatticeSweep(self._problem, self._kernel)

    def _runs(self) -> Iterator[tuple[int, NDArray[Any] | None]]:
        """The first mask of each run, and its words of lanes by block and mask.

        None: the model denies what the trees say, and has to be asked, from the beginning.
        """
        lattice = self._lattice
        for start in range(0, 1 << self._problem.d, lattice.rows):
            if not self._given_up:
                words, undecided = lattice.run(start, self._y)
                if self._settle(words, start, undecided):
                    yield start, words
                    continue
                self._give_up()
            yield start, None
            return

    def _settle(self, words: NDArray[Any], start: int, undecided: Places) -> bool:
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

    def _to_check(self, words: NDArray[Any], start: int, undecided: Places) -> Places:
        """A few hybrids, always the same ones, that no kernel left undecided."""
        rng, count = generator(0, Stream.CHECKS, start), self._checks.count(words.shape[1] * self.n)
        masks = start + rng.integers(words.shape[1], size=count)
        places = rng.integers(self.n, size=count)
        free = ~np.isin(masks * self.n + places, undecided[0] * self.n + undecided[1])
        return masks[free], places[free]

    def _ask_everything(self) -> Iterator[Swept]:
        """A sweep from its beginning, by asking the model."""
        d = self._problem.d
        step = max(1, _ROWS_AT_ONCE // self.n)
        for start in range(0, 1 << d, step):
            masks = np.arange(start, min(start + step, 1 << d))
            outcomes = self._box.outcomes(held_of_masks(masks, d))
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

    def count(self, hybrids: int) -> int:
        """Of so many hybrids, now worked out, how many to ask the model about."""
        self._worked_out += hybrids
        missing = _CHECKED - self._checked
        if missing <= 0 and self._worked_out < self._next:
            return 0
        count = missing if missing > 0 else _CHECKED_AGAIN
        self._checked += min(hybrids, count)
        self._next = 2 * self._worked_out
        return count

    def due(self, hybrids: int) -> Counts:
        """Which of them."""
        count = self.count(hybrids)
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


def _hits(words: NDArray[Any]) -> Counts:
    """By mask, from words of lanes by block and mask."""
    hits = np.zeros(words.shape[1], dtype=np.int64)
    for block in words:
        hits += np.bitwise_count(block)
    return hits
