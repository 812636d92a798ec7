"""Every hybrid's outcome from the trees themselves, with the model asked only where it must be.

A list of subsets is judged rectangle by rectangle (`lists`), the whole lattice in slabs (`blocks`).
What the integers cannot decide (scores within rounding of a boundary, see `margins`) is decided by
repeating the library's own additions (`replay`), or asked of the model, each distinct hybrid once.
The model is also asked about a few hybrids that are decided, as a check on the reading of it: if it
ever disagrees, the reading is given up and the black box takes over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from suffice.context.swap import SwapHybrids
from suffice.evaluate.blackbox import Engine, part_of
from suffice.evaluate.protocol import Idle, Swept, Tick
from suffice.evaluate.trees.blocks import MOST_PLAYERS, Kernel, LatticeSweep, Places
from suffice.evaluate.trees.lists import DOUBT, FAILS, HOLDS, SubsetLists, Verdicts
from suffice.evaluate.trees.model import TreeModel
from suffice.evaluate.trees.problem import make_problem
from suffice.evaluate.trees.replay import add_up, read_sums, same_scores
from suffice.factors.lattice import held_of_masks
from suffice.randomness import Stream, generator
from suffice.target import Target
from suffice.typing import BoolVector, Counts, Held, Outcomes, Reals, SmallCounts

if TYPE_CHECKING:
    from suffice.evaluate.trees.cubes import CubeBounds

__all__ = ["TreeEngine"]

_REPLAYED, _REPLAYED_BESIDES = 48, 16
"""Hybrids in doubt, and others, whose scores must be the library's own to the bit."""

_SECONDS_AT_ONCE = 0.2
"""Of a list's work that is done between two ticks."""

_MOMENT = 1.0
"""Seconds: of a sweep that takes less, no plan hangs on how long."""

_ROWS_AT_ONCE = 1 << 20
"""Hybrids written out together to be asked about."""


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
        self._model = model
        self._event = target.event
        self._given_up = False
        if model.denied:
            self._give_up()

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
        checked = self._model.checks.due(len(verdicts))
        checked = checked[verdicts[checked] != DOUBT]
        out = np.equal(verdicts, HOLDS if self._y else FAILS)
        if (self._ask(*hybrids.at(checked), tick, again=True) != out[checked]).any():
            self._give_up()
            return None
        out[doubt] = self._tell(*hybrids.at(doubt), tick, again=True)
        return out

    def _tell(
        self, held: Held, references: Counts, tick: Tick | None = None, again: bool = False
    ) -> BoolVector:
        """The outcomes of hybrids in doubt, as `_ask` gives them but without a call where possible.

        The model is asked where no `Replay` is valid, and about what one leaves open.
        """
        if not len(references) or not self._replays(held, references):
            return self._ask(held, references, tick, again)
        identity, first = self._hybrids.distinct(held, references)
        held, references = held[first], references[first]
        out, sure = self._replayed(held, references)
        if not sure.all():
            out[~sure] = self._ask(held[~sure], references[~sure], tick, again)
        return out[identity]

    def _replayed(self, held: Held, references: Counts) -> tuple[BoolVector, BoolVector]:
        """The outcomes of single hybrids by the library's own additions, and which are sure."""
        sums = add_up(self._problem, held, references, self._kernel)
        holds, sure = read_sums(self._problem.ensemble, self._event, sums)
        return holds == self._y, sure

    def _replays(self, held: Held, references: Counts) -> bool:
        """Are sums repeated to the bit? The first hybrids in doubt, and some others, tell."""
        if self._model.replays is None:
            rng = generator(0, Stream.CHECKS)
            others = rng.random((_REPLAYED_BESIDES, held.shape[1])) < 0.5
            held = np.concatenate([held[:_REPLAYED], others])
            beside = rng.integers(self.n, size=_REPLAYED_BESIDES)
            references = np.concatenate([references[:_REPLAYED], beside])
            self._model.replays = self._check_replay(held, references)
        return self._model.replays

    def _check_replay(self, held: Held, references: Counts) -> bool:
        ensemble = self._problem.ensemble
        assert ensemble.replay is not None
        sums = add_up(self._problem, held, references, self._kernel)
        theirs = ensemble.replay.scores(self._hybrids.rows(held, references))
        self._box.rows_predicted += len(held)
        if not same_scores(ensemble, sums, theirs):
            return False
        out, sure = self._replayed(held, references)
        return bool((out == self._ask(held, references))[sure].all())

    def _give_up(self) -> None:
        self._given_up = self._model.denied = True
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
                for first, hits, _ in self._ask_everything():
                    yield first, hits.astype(np.int64, copy=False)
                return
            yield start, _hits(words).astype(np.int64)

    def sweep_seconds(self) -> float:
        """About how long a sweep takes, from what a small part of one takes."""
        d = self._problem.d
        if d > MOST_PLAYERS:
            return self._lists.seconds_per_hybrid() * self.n * 2.0**d
        known, shape = self._model.sweep_seconds, (d, self.n)
        # What takes a moment takes one for the next input too; where it may matter, look again.
        if known.get(shape, inf) > _MOMENT:
            known[shape] = self._lattice.seconds()
        return known[shape]

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
        d, width, order = self._problem.d, self._problem.lanes.width, self._problem.lanes.order
        masks, places = self._to_check(words, start, undecided)
        if len(masks):
            answers = self._ask(held_of_masks(masks, d), order[places])
            row, bit = masks - start, _bits(words, places % width)
            if (answers != (words[places // width, row] & bit > 0)).any():
                return False
        for at in range(0, len(undecided[0]), _ROWS_AT_ONCE):
            mask, place = (numbers[at : at + _ROWS_AT_ONCE] for numbers in undecided)
            answers = self._tell(held_of_masks(mask, d), order[place])
            row, block, bit = mask - start, place // width, _bits(words, place % width)
            np.bitwise_and.at(words, (block, row), ~bit)
            np.bitwise_or.at(words, (block[answers], row[answers]), bit[answers])
        return True

    def _to_check(self, words: NDArray[Any], start: int, undecided: Places) -> Places:
        """A few hybrids, always the same ones, that no kernel left undecided."""
        if not (count := self._model.checks.count(words.shape[1] * self.n)):
            none = np.empty(0, dtype=np.int64)
            return none, none
        rng = generator(0, Stream.CHECKS, start)
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


def _bits(words: NDArray[Any], places: Counts) -> NDArray[Any]:
    """The bit of a lane that each of these references of a block has in its word."""
    return np.asarray(np.left_shift(words.dtype.type(1), (places ^ 7).astype(words.dtype)))


def _hits(words: NDArray[Any]) -> SmallCounts:
    """By mask, from words of lanes by block and mask."""
    lanes = 8 * words.itemsize * len(words)
    hits: SmallCounts = np.bitwise_count(words[0]).astype(np.min_scalar_type(lanes), copy=False)
    for block in words[1:]:
        hits += np.bitwise_count(block)
    return hits
