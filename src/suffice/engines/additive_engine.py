"""The additive engine (linear models, naive Bayes): outcomes of hybrids from sums of their terms.

The sign of a sum decides the outcome, except where the model's own sum could be rounded to the
other side of 0: such a hybrid is in doubt, and the model predicts it, each distinct row once. So
the counts equal those of the black box.

One case remains. A matrix product may round the same row differently at another place of another
batch, so a model can contradict itself on a row whose score is within rounding of 0. There the
outcome is the one that the model happened to predict.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from suffice.context.hybrids import SwapHybrids
from suffice.engines.additive_margins import (
    WORD_DTYPE,
    AdditiveMargins,
    AskModel,
    bound_margins_over_cubes,
    margin_leverage,
    meet_in_the_middle,
    read_additive_margins,
)
from suffice.engines.additive_model import AdditiveModel, SupportsAdditiveScores, wrong_reading
from suffice.engines.blackbox import BaseEngine, sweep_by_lists
from suffice.engines.evaluator import Evaluator, IdleReason, ProgressCallback, SweepBlock
from suffice.engines.select_engine import Unreadable
from suffice.engines.work import ADDITIVE_SUM, MULTIPLICATION
from suffice.factors.lattice import held_of_masks
from suffice.target import Target
from suffice.typing import BitWords, BoolVector, Counts, HeldSets, Outcomes, Reals

if TYPE_CHECKING:
    from suffice.engines.text_pipeline import TextPipelineModel

_FEW_PLAYERS = 9
"""Most players for which computing every sum is faster than meeting in the middle."""

_SUMS_AT_ONCE = 1 << 18
"""Sums computed together: few enough to stay in the processor's cache."""

_NUMBERS_AT_ONCE = 1 << 22
"""Most 64-bit numbers that the outcomes of a list of sets are computed in at once."""


class AdditiveEngine(BaseEngine):
    """A lattice evaluator for targets whose event is a conjunction of additive margins.

    A model is read by its class and its fitted parameters, which another version of its library may
    use differently. So for some inputs the model also predicts a few hybrids; a single difference
    raises `Unreadable`. So does an event that cannot be decided from the scores.
    """

    name = "additive"

    def __init__(
        self,
        model: SupportsAdditiveScores,
        target: Target,
        hybrids: SwapHybrids,
        y: bool,
        patience: float | None = None,
    ) -> None:
        super().__init__(target, hybrids, y, patience)
        scores, classes = model.scores(hybrids), target.wrapped.classes or ()
        if target.event.kind == "versus" and model.has_separate_probabilities:
            raise Unreadable(f"the probabilities of {model.name} are fitted apart from its scores")
        with np.errstate(all="ignore"):  # margins that are not finite are refused below
            self._margins = read_additive_margins(target.event, scores, classes, model.score_method)
        if model.checks.due(target.event.kind) and not self._agrees_with_model(self._decide):
            model.checks.failed = True
            raise wrong_reading(model.name, self.rows_predicted)

    def work_per_hybrid(self) -> float:
        """Return the work of one sum over the players, for each margin."""
        return MULTIPLICATION * self._hybrids.d * len(self._margins)

    def outcomes(self, held: HeldSets, tick: ProgressCallback | None = None) -> Outcomes:
        """Return (subsets, references): whether each hybrid has the input's outcome."""
        out = np.empty((len(held), self.n), dtype=bool)
        if tick is not None and not len(held):
            tick(1.0)
        step = max(1, _NUMBERS_AT_ONCE // (self.n * len(self._margins)))
        for start in range(0, len(held), step):
            part = held[start : start + step]
            holds, doubt = self._margins.decide(self._margins.deltas @ part.T.astype(np.float64))
            reference, subset = doubt.nonzero()
            found = np.equal(holds.T, self._y)
            # Cached, since other lists and the other view come back to the same doubtful hybrids.
            found[subset, reference] = self._predict(part[subset], reference, tick, cache=True)
            out[start : start + step] = found
            if tick is not None:
                tick(len(part) / len(held))
        return out

    def outcomes_of_hybrids(self, held: HeldSets, references: Counts) -> BoolVector:
        """Return (rows,): whether hybrid (held[i], references[i]) has the input's outcome."""
        outcomes, doubt = (np.empty(len(held), dtype=bool) for _ in range(2))
        step = max(1, _NUMBERS_AT_ONCE // (self._hybrids.d * len(self._margins)))
        for start in range(0, len(held), step):
            part = slice(start, start + step)
            outcomes[part], doubt[part] = self._decide(held[part], references[part])
        outcomes[doubt] = self._predict(held[doubt], references[doubt], cache=True)
        return outcomes

    def idle_players(self) -> Mapping[int, IdleReason]:
        """Return the players that add the same to every score, whether held or replaced."""
        # Exactly 0: a player that changes only the last bit of a sum may still decide a tie.
        moved = (self._margins.deltas != 0).any(axis=(0, 1))
        return {int(player): "alike" for player in np.flatnonzero(~moved)}

    def _bound_event(self, held: HeldSets, freed: HeldSets) -> tuple[Outcomes, Outcomes]:
        return bound_margins_over_cubes(self._margins, held, freed)

    def leverage(self) -> Reals:
        """Return (references, players): how far each player moves the margins."""
        return margin_leverage(self._margins)

    def _decide(self, held: HeldSets, references: Counts) -> tuple[BoolVector, BoolVector]:
        """Return (rows,): the outcomes of single hybrids by the sums, and which are in doubt."""
        margins = AdditiveMargins(
            self._margins.starts[:, references],
            self._margins.deltas[:, references],
            self._margins.slack[:, references],
        )
        holds, doubt = margins.decide(np.einsum("mrj,rj->mr", margins.deltas, held))
        return np.equal(holds, self._y), doubt

    def sweep(self) -> Iterator[SweepBlock]:
        """Yield every bit mask from 0 to 2^d - 1, in blocks (see `LatticeEvaluator.sweep`)."""
        d = self._hybrids.d
        if d <= _FEW_PLAYERS:
            yield from self._sweep_directly(d)
            return
        for first, packed in self._split(self._margins, d, self._event):
            bits = np.ascontiguousarray(packed.T).reshape(-1, len(packed)).view(np.uint8)
            yield first, _count_hits(packed), bits[:, : (self.n + 7) // 8]

    def sweep_counts(self) -> Iterator[tuple[int, Counts]]:
        """Yield the first mask of each block of a sweep, and the hits of its masks."""
        d = self._hybrids.d
        if d <= _FEW_PLAYERS:
            yield from super().sweep_counts()
            return
        for first, packed in self._split(self._margins, d, self._event):
            yield first, _count_hits(packed)

    def sweep_work(self) -> float:
        """Return the work of a sweep, which meets in the middle."""
        return ADDITIVE_SUM * len(self._margins) * self.n * 2.0**self._hybrids.d

    def _split(
        self, margins: AdditiveMargins, d: int, ask: AskModel
    ) -> Iterator[tuple[int, BitWords]]:
        """Yield blocks of `meet_in_the_middle`, with a bit where the input's outcome holds."""
        every = _all_references_mask(self.n)
        for first, packed in meet_in_the_middle(margins, d, ask):
            if not self._y:  # unused bits of the last word stay 0, since hits are counted in bits
                np.bitwise_xor(packed, every, out=packed)
            yield first, packed

    def _sweep_directly(self, d: int) -> Iterator[SweepBlock]:
        return sweep_by_lists(
            self.outcomes, d, max(1, _SUMS_AT_ONCE // (self.n * len(self._margins)))
        )

    def _event(self, masks: Counts, references: Counts) -> BoolVector:
        """Return whether the model predicts the event for single hybrids, given by masks."""
        return np.equal(self._predict(held_of_masks(masks, self._hybrids.d), references), self._y)


def _count_hits(packed: BitWords) -> Counts:
    """Count the set bits of each mask in a block of `meet_in_the_middle`."""
    return np.asarray(np.bitwise_count(packed).sum(axis=0, dtype=np.int64).T.ravel())


def _all_references_mask(n: int) -> BitWords:
    """Return (words, 1, 1): a bit for each reference; unused bits of the last word are 0."""
    bits = np.zeros(-(-n // 64) * 64, dtype=bool)
    bits[:n] = True
    return np.packbits(bits).view(WORD_DTYPE)[:, None, None]


def make_additive_engine(
    read: AdditiveModel | TextPipelineModel,
    target: Target,
    hybrids: SwapHybrids,
    y: bool,
    patience: float | None = None,
) -> Evaluator:
    """Return the engine for a model as it was read: additive, or for text pipelines with a norm.

    A model that once failed a check against its predictions is not tried again.
    """
    if read.checks.failed:
        raise wrong_reading(read.name)
    if isinstance(read, AdditiveModel) or read.is_additive:
        return AdditiveEngine(read, target, hybrids, y, patience)
    from suffice.engines.text_engine import TextEngine

    return TextEngine(read, target, hybrids, y, patience)
