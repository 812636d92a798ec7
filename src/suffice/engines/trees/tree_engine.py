"""`TreeEngine`: each hybrid's outcome from the trees; ties by replay of additions, or the model.

A list of subsets is evaluated rectangle by rectangle (`subset_lists`), the whole lattice in slabs
(`lattice_sweep`). Hybrids that the integers leave in doubt (scores within rounding of a boundary,
see `IntegerMargin`) are decided by repeating the library's additions (`LibrarySum`), or predicted
by the model, each distinct one once. The model also predicts a few hybrids that are not in doubt,
as a check of the reading: if it ever disagrees, the reading is given up and the black box is used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from suffice.context.hybrids import SwapHybrids
from suffice.engines.blackbox import BaseEngine, scale_progress, sweep_by_lists
from suffice.engines.evaluator import IdleReason, ProgressCallback, SweepBlock
from suffice.engines.select_engine import WRONG_TREES
from suffice.engines.trees.encoded_input import LANES, EncodedInput, encode_input
from suffice.engines.trees.ensemble import Ensemble
from suffice.engines.trees.lattice_sweep import (
    MAX_SWEEP_PLAYERS,
    HybridPlaces,
    LatticeSweep,
    sweep_work,
)
from suffice.engines.trees.subset_lists import (
    DOUBT,
    FAILS,
    HOLDS,
    SubsetLists,
    Verdicts,
    leaf_nodes,
)
from suffice.engines.trees.tree_model import FIRST_CHECKS, TreeModel
from suffice.engines.work import (
    NUMPY_FACTOR,
    Backend,
    estimate_seconds,
    load_numba,
    numba_is_installed,
    numba_is_loaded,
)
from suffice.factors.lattice import held_of_masks
from suffice.randomness import Stream, generator
from suffice.tables.cells import label_array
from suffice.target import Event, Target
from suffice.typing import BoolVector, Counts, HeldSets, Outcomes, Reals, SmallCounts

if TYPE_CHECKING:
    from suffice.engines.trees.cube_bounds import CubeBounds

_DOUBTS_COMPARED, _OTHERS_COMPARED = 48, 16
"""Hybrids in doubt, and others, whose scores must equal the library's to the bit."""

_WORK_AT_ONCE = 5e7
"""Work on a list between two calls of `tick`."""

_ROWS_AT_ONCE = 1 << 20
"""Hybrids evaluated together, of which those in doubt are predicted."""


class TreeEngine(BaseEngine):
    """A tree ensemble on swapped values: any list of subsets, or the whole lattice in one sweep.

    `kernel` is "numba", "numpy", or None to choose: numba where it is installed and the work is
    worth its start. Raises `Unreadable` for an event that the trees do not decide.
    """

    @property
    def name(self) -> str:
        """The name in the provenance: "blackbox" after a fallback to the model."""
        return "blackbox" if self._uses_model else "trees"

    def __init__(
        self,
        model: TreeModel,
        target: Target,
        hybrids: SwapHybrids,
        y: bool,
        kernel: Backend | None = None,
        patience: float | None = None,
    ) -> None:
        super().__init__(target, hybrids, y, patience)
        self._problem = encode_input(model.ensemble, model.event_margins(target.event), hybrids)
        self._kernel = kernel
        self._model = model
        self._event = target.event
        self._hurried = patience is not None
        self._uses_model = False
        if model.disagrees:
            self._fall_back()

    @cached_property
    def _lists(self) -> SubsetLists:
        return SubsetLists(self._problem, self._kernel)

    @property
    def kernels_loaded(self) -> bool:
        """True if numba's kernels are loaded, or the model itself is used."""
        return self._uses_model or (self._kernel != "numpy" and numba_is_loaded())

    def load_kernels(self) -> bool:
        """Load numba's kernels; return False if numba is missing or `kernel` is another."""
        if self._uses_model:
            return True
        return self._kernel != "numpy" and numba_is_installed() and load_numba()

    def seconds_per_hybrid(self) -> float | None:
        """Return the predicted seconds of a hybrid in a list, by the kernel that is used."""
        if self._uses_model:
            return self._box.seconds_per_hybrid()
        times = NUMPY_FACTOR if self._lists.backend(0) == "numpy" else 1.0
        return estimate_seconds(times * self.work_per_hybrid())

    def work_per_hybrid(self) -> float:
        """Return the work of one hybrid of a long list."""
        if self._uses_model:
            return self._box.work_per_hybrid()
        return self._problem.work_per_hybrid

    def outcomes(self, held: HeldSets, tick: ProgressCallback | None = None) -> Outcomes:
        """Return (subsets, references): whether each hybrid has the input's outcome."""
        tick = tick or _ignore_progress
        if self._uses_model:
            return self._box.outcomes(held, tick)
        out = np.empty((len(held), self.n), dtype=bool)
        # Each piece counts as work for the check schedule, so its size may not follow from a clock.
        at_once = min(_ROWS_AT_ONCE, _WORK_AT_ONCE / self.work_per_hybrid())
        step = max(1, int(at_once) // self.n)
        for start in range(0, len(held), step):
            part = held[start : start + step]
            verdicts = self._lists.verdicts(part)
            found = self._resolve_verdicts(verdicts.ravel(), _SubsetHybrids(part, self.n), tick)
            if found is None:  # the reading is wrong: earlier outcomes of this list are dropped too
                return self._box.outcomes(held, scale_progress(tick, 1.0 - start / len(held)))
            out[start : start + step] = found.reshape(verdicts.shape)
            tick(len(part) / len(held))
        if not len(held):
            tick(1.0)
        return out

    def outcomes_of_hybrids(self, held: HeldSets, references: Counts) -> BoolVector:
        """Return (rows,): whether hybrid (held[i], references[i]) has the input's outcome."""
        if self._uses_model:
            return self._box.outcomes_of_hybrids(held, references)
        verdicts = self._lists.verdicts_of(held, references)
        found = self._resolve_verdicts(verdicts, _SingleHybrids(held, references), _ignore_progress)
        return self._box.outcomes_of_hybrids(held, references) if found is None else found

    def _resolve_verdicts(
        self, verdicts: Verdicts, hybrids: _SubsetHybrids | _SingleHybrids, tick: ProgressCallback
    ) -> BoolVector | None:
        """Return outcomes from verdicts, or None if the model contradicts one of them.

        The model predicts the rows in doubt, and a few others as a check.
        """
        doubt = np.flatnonzero(verdicts == DOUBT)
        checked = self._model.checks.due(len(verdicts))
        checked = checked[verdicts[checked] != DOUBT]
        out = np.equal(verdicts, HOLDS if self._y else FAILS)
        if (self._predict(*hybrids.at(checked), tick, cache=True) != out[checked]).any():
            self._fall_back()
            return None
        out[doubt] = self._resolve_doubts(*hybrids.at(doubt), tick, cache=True)
        return out

    def _resolve_doubts(
        self,
        held: HeldSets,
        references: Counts,
        tick: ProgressCallback | None = None,
        cache: bool = False,
    ) -> BoolVector:
        """Return the outcomes of hybrids in doubt, by the library's additions where possible.

        The model predicts them where no `LibrarySum` is valid, and those that it leaves open.
        """
        if not len(references) or not self._sums_match(held, references):
            return self._predict(held, references, tick, cache)
        identity, first = self._hybrids.distinct(held, references)
        held, references = held[first], references[first]
        out, sure = self._outcomes_from_sums(held, references)
        if not sure.all():
            out[~sure] = self._predict(held[~sure], references[~sure], tick, cache)
        return out[identity]

    def _outcomes_from_sums(
        self, held: HeldSets, references: Counts
    ) -> tuple[BoolVector, BoolVector]:
        """Return the outcomes of single hybrids by the library's additions, and which are sure."""
        sums = sum_like_library(self._problem, held, references, self._kernel)
        holds, sure = read_library_sums(self._problem.ensemble, self._event, sums)
        return holds == self._y, sure

    def _sums_match(self, held: HeldSets, references: Counts) -> bool:
        """Return whether sums equal the library's to the bit, checked on the first hybrids in doubt
        and some others."""
        # Another order of additions would show at near-ties; other hybrids are added, since there
        # may be no near-tie among the first.
        if self._model.sums_match is None:
            rng = generator(0, Stream.CHECKS)
            others = rng.random((_OTHERS_COMPARED, held.shape[1])) < 0.5
            held = np.concatenate([held[:_DOUBTS_COMPARED], others])
            beside = rng.integers(self.n, size=_OTHERS_COMPARED)
            references = np.concatenate([references[:_DOUBTS_COMPARED], beside])
            self._model.sums_match = self._check_replay(held, references)
        return self._model.sums_match

    def _check_replay(self, held: HeldSets, references: Counts) -> bool:
        ensemble = self._problem.ensemble
        assert ensemble.replay is not None
        sums = sum_like_library(self._problem, held, references, self._kernel)
        theirs = ensemble.replay.scores(self._hybrids.rows(held, references))
        self._box.rows_predicted += len(held)
        if not scores_match(ensemble, sums, theirs):
            return False
        out, sure = self._outcomes_from_sums(held, references)
        return bool((out == self._predict(held, references))[sure].all())

    def _fall_back(self) -> None:
        self._uses_model = self._model.disagrees = True
        self.note = f"{WRONG_TREES}, so the model predicted every hybrid"

    def check_reading(self) -> bool:
        """Make the first checks of the reading if they are due; return whether the model agrees."""
        if not self._model.checks.begun:
            rng = generator(0, Stream.CHECKS)
            held = rng.random((FIRST_CHECKS, self._hybrids.d)) < rng.random((FIRST_CHECKS, 1))
            self.outcomes_of_hybrids(held, rng.integers(self.n, size=FIRST_CHECKS))
        return not self._uses_model

    def idle_players(self) -> Mapping[int, IdleReason]:
        """Return the players that no tree tests, or no split between the input and a reference.

        A wrong reading would leave out a player that matters, and no later check could see it, so
        the reading is checked first. None are idle where the model disagrees with it.
        """
        if not self.check_reading():
            return {}
        problem = self._problem
        read, parted = (np.zeros(self._hybrids.d, dtype=bool) for _ in range(2))
        read[problem.player] = True
        lanes = problem.list_lanes
        for block in range(lanes.blocks):
            differs = problem.sides.words(lanes.references(block))[: len(problem.player)]
            parted[problem.player[differs != 0]] = True
        return {int(p): "alike" if read[p] else "unread" for p in np.flatnonzero(~parted)}

    def _bound_event(self, held: HeldSets, freed: HeldSets) -> tuple[Outcomes, Outcomes]:
        if self._uses_model:  # without trees, only single sets have bounds
            shape = len(held), self.n
            return np.zeros(shape, dtype=bool), np.ones(shape, dtype=bool)
        return self._cubes.event(held, freed)

    def leverage(self) -> Reals:
        """Return (references, players): about how far each player moves the scores."""
        return self._cubes.leverage()

    @cached_property
    def _cubes(self) -> CubeBounds:
        from suffice.engines.trees.cube_bounds import CubeBounds  # only wide tables need it

        return CubeBounds(self._problem, self._kernel)

    def sweep(self) -> Iterator[SweepBlock]:
        """Yield all 2^d subsets in blocks of consecutive masks, for at most 30 players."""
        for start, words in self._runs():
            if words is None:
                yield from self._sweep_by_model()
                return
            yield start, _count_lanes(words), self._lattice.pack_by_mask(words)

    def sweep_counts(self) -> Iterator[tuple[int, Counts]]:
        """Yield the first mask of each block of a sweep, and the hits of its masks."""
        for start, words in self._runs():
            if words is None:
                for first, hits, _ in self._sweep_by_model():
                    yield first, hits.astype(np.int64, copy=False)
                return
            yield start, _count_lanes(words).astype(np.int64)

    def sweep_work(self) -> float:
        """Return the work of a sweep, or of a list of all subsets if there are too many for one."""
        d = self._problem.d
        if d > MAX_SWEEP_PLAYERS:
            return float(np.ldexp(self.work_per_hybrid() * self.n, min(d, 900)))
        return sweep_work(self._problem)

    @cached_property
    def _lattice(self) -> LatticeSweep:
        if self._problem.d > MAX_SWEEP_PLAYERS:
            raise ValueError(
                f"A sweep supports at most {MAX_SWEEP_PLAYERS} players; got {self._problem.d}."
            )
        return LatticeSweep(self._problem, self._kernel)

    def _runs(self) -> Iterator[tuple[int, NDArray[Any] | None]]:
        """Yield the first mask of each run, and its words of lanes by block and mask.

        None: the model contradicts the trees, so it has to predict the whole sweep.
        """
        lattice = self._lattice
        for start in range(0, 1 << self._problem.d, lattice.masks_per_run):
            if not self._uses_model:
                words, undecided = lattice.run(start, self._y)
                if self._resolve_run(words, start, undecided):
                    yield start, words
                    continue
                self._fall_back()
            yield start, None
            return

    def _resolve_run(self, words: NDArray[Any], start: int, undecided: HybridPlaces) -> bool:
        """Write the model's predictions into `words`; False if it contradicts a decided outcome."""
        d, width, order = self._problem.d, self._problem.lanes.width, self._problem.lanes.order
        masks, places = self._to_check(words, start, undecided)
        if len(masks):
            answers = self._predict(held_of_masks(masks, d), order[places])
            row, bit = masks - start, _lane_bits_of(words, places % width)
            if (answers != (words[places // width, row] & bit > 0)).any():
                return False
        for at in range(0, len(undecided[0]), _ROWS_AT_ONCE):
            mask, place = (numbers[at : at + _ROWS_AT_ONCE] for numbers in undecided)
            answers = self._resolve_doubts(held_of_masks(mask, d), order[place])
            row, block, bit = mask - start, place // width, _lane_bits_of(words, place % width)
            # `at`, since several hybrids may have their bits in one word.
            np.bitwise_and.at(words, (block, row), ~bit)
            np.bitwise_or.at(words, (block[answers], row[answers]), bit[answers])
        return True

    def _to_check(self, words: NDArray[Any], start: int, undecided: HybridPlaces) -> HybridPlaces:
        """Return a few decided hybrids to check, the same in every run."""
        if not (count := self._model.checks.count(words.shape[1] * self.n)):
            none = np.empty(0, dtype=np.int64)
            return none, none
        rng = generator(0, Stream.CHECKS, start)
        masks = start + rng.integers(words.shape[1], size=count)
        places = rng.integers(self.n, size=count)
        # The model predicts undecided hybrids anyway, and they say nothing about the reading.
        free = ~np.isin(masks * self.n + places, undecided[0] * self.n + undecided[1])
        return masks[free], places[free]

    def _sweep_by_model(self) -> Iterator[SweepBlock]:
        """Sweep the whole lattice again by calling the model.

        Under a time limit each block takes about one call: a sweep can only be ended between them.
        """
        rows = min(_ROWS_AT_ONCE, self._box.rows_per_call) if self._hurried else _ROWS_AT_ONCE
        return sweep_by_lists(self._box.outcomes, self._problem.d, max(1, rows // self.n))


@dataclass(frozen=True)
class _SubsetHybrids:
    """The hybrids of some subsets with all references, row by row."""

    held: HeldSets
    n: int

    def at(self, places: Counts) -> tuple[HeldSets, Counts]:
        return self.held[places // self.n], places % self.n


@dataclass(frozen=True)
class _SingleHybrids:
    """Hybrids given one by one, by subset and reference."""

    held: HeldSets
    references: Counts

    def at(self, places: Counts) -> tuple[HeldSets, Counts]:
        return self.held[places], self.references[places]


def _ignore_progress(share: float) -> None:
    """Ignore the share of the work that was done."""


def _lane_bits_of(words: NDArray[Any], places: Counts) -> NDArray[Any]:
    """Return the bit of each reference's lane in the words of its block."""
    return np.asarray(np.left_shift(words.dtype.type(1), (places ^ 7).astype(words.dtype)))


def _count_lanes(words: NDArray[Any]) -> SmallCounts:
    """Count the lanes of each mask, from words by block and mask."""
    lanes = 8 * words.itemsize * len(words)
    hits: SmallCounts = np.bitwise_count(words[0]).astype(np.min_scalar_type(lanes), copy=False)
    for block in words[1:]:
        hits += np.bitwise_count(block)
    return hits


# A library's own arithmetic, repeated: the same additions, in its order and its precision.


_STEPS_AT_ONCE = 1 << 18
"""Hybrids × trees that numpy walks together."""


def sum_like_library(
    problem: EncodedInput, held: HeldSets, references: Counts, kernel: Backend | None = None
) -> Reals:
    """Return (rows, outputs): the library's own sums of single hybrids; needs a `LibrarySum`.

    `kernel` None: the compiled kernel if it is loaded already, since loading it would take longer.
    """
    kernel = kernel or ("numba" if numba_is_loaded() else "numpy")
    ensemble = problem.ensemble
    assert ensemble.replay is not None
    # xgboost adds in float32, every other library in float64.
    kind = np.float32 if ensemble.unit > 2.0**-53 else np.float64
    sums = np.tile(ensemble.replay.base.astype(kind), (len(held), 1))
    values = ensemble.values.astype(kind, copy=False)
    lanes = problem.list_lanes
    place = np.empty(len(lanes.order), dtype=np.int64)
    place[lanes.order] = np.arange(len(place))
    block, lane = np.divmod(place[references], LANES)
    lane ^= 7
    sides = problem.sides
    left = sides.left_by_block(lanes) if kernel == "numba" else None
    if left is None:  # the words of those blocks alone that are asked about
        seen, block = np.unique(block, return_inverse=True)
        some = [lanes.references(number) for number in seen.tolist()]
    if kernel == "numba":
        from suffice.engines.trees.numba_kernels import add_leaves_in_order

        if left is None:
            left = np.stack([sides.left(references) for references in some], axis=1)
        nodes, goes = problem.both_ways[0][0].view(np.uint32), sides.input_left
        add_leaves_in_order(ensemble.roots, nodes, values, goes, left, block, lane, held, sums)
        return sums
    differs = np.stack([sides.words(references) for references in some])
    step = max(1, _STEPS_AT_ONCE // len(ensemble.roots))
    for at in range(0, len(held), step):
        rows = slice(at, at + step)
        walk = ensemble.roots, problem.nodes[0], differs, block[rows], lane[rows], held[rows]
        for leaves in leaf_nodes(*walk):
            sums[rows] += values[leaves]
    return sums


def scores_match(ensemble: Ensemble, sums: Reals, theirs: Any) -> bool:
    """Return whether the library's scores of some rows equal these sums to the bit."""
    theirs, ours = np.asarray(theirs), _divide_sums(ensemble, sums)
    return theirs.size == ours.size and bool((theirs.reshape(ours.shape) == ours).all())


def _divide_sums(ensemble: Ensemble, sums: Reals) -> Reals:
    return sums if ensemble.divisor == 1.0 else sums / ensemble.divisor


def read_library_sums(
    ensemble: Ensemble, event: Event, sums: Reals
) -> tuple[BoolVector, BoolVector]:
    """Return by row whether the event holds, and whether that is sure; else the model must be
    asked."""
    scores = _divide_sums(ensemble, sums)
    sure = np.ones(len(scores), dtype=bool)
    if ensemble.classes is None:
        return np.asarray(event.holds(scores[:, 0])), sure
    if ensemble.shares and event.needs_scores:
        return np.asarray(event.holds(scores)), sure
    if ensemble.shares:
        winner = scores.argmax(axis=1)
    elif ensemble.margin:
        winner, sure = _binary_winner(ensemble, event, scores[:, 0])
    else:
        winner, sure = _multiclass_winner(ensemble, scores)
    if event.needs_scores:  # one of two classes rather than the other
        return winner == event.parameters[0], sure
    holds = np.asarray(event.holds(label_array(ensemble.classes)), dtype=bool)
    return holds[winner], sure


def _binary_winner(ensemble: Ensemble, event: Event, margin: Reals) -> tuple[Counts, BoolVector]:
    assert ensemble.replay is not None
    # The sigmoid of a margin so near 0 may round to 1/2: between these the model is asked.
    low, high = (n * ensemble.unit / ensemble.steepness for n in (0.99, 3.01))
    if ensemble.replay.parts is not None and not event.needs_scores:
        low, high = ensemble.replay.parts
    return (margin >= high).astype(np.int64), (margin <= low) | (margin >= high)


def _multiclass_winner(ensemble: Ensemble, scores: Reals) -> tuple[Counts, BoolVector]:
    winner = scores.argmax(axis=1)
    behind = scores.max(axis=1)[:, None] - scores
    # Softmax may round a lead so small to equal probabilities, and then the first class wins.
    earlier = np.arange(scores.shape[1]) < winner[:, None]
    return winner, ~(earlier & (behind < 4.01 * ensemble.unit)).any(axis=1)
