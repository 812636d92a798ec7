"""The additive engine: outcomes of hybrids from subset sums, and from the model near the boundary.

Where rounding could make the model's own sum fall on the other side, the model is asked, about each
distinct row once; everywhere else the sign of a sum settles it. So the counts are the black box's.

One thing no evaluator can mend: a matrix product may round the same row differently in another
place of another batch, so that a model contradicts itself on a row whose score is a rounding away
from 0 without being 0. There the answer is the model's own, as it gave it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from suffice.context.swap import SwapHybrids
from suffice.evaluate.additive.bits import WORD, Words
from suffice.evaluate.additive.scores import Margins
from suffice.evaluate.additive.split import split_blocks
from suffice.evaluate.blackbox import BlackBox
from suffice.evaluate.protocol import Tick
from suffice.factors.lattice import held_of_masks
from suffice.randomness import Stream, generator
from suffice.target import Target
from suffice.typing import BoolVector, Counts, Held, Outcomes

__all__ = ["AdditiveEngine"]

_FEW_PLAYERS = 9
"""Up to here computing every sum is faster than preparing to compute few of them."""

_SUMS = 1 << 18
"""Computed together: few enough to stay in cache."""

_ASK = 1 << 18
"""Hybrids looked through together for distinct rows."""


class AdditiveEngine:
    """A lattice evaluator for targets whose event is a conjunction of additive margins."""

    name = "additive"
    note = None
    seconds_per_row = None  # next to nothing: the model is asked about few hybrids

    def __init__(self, target: Target, hybrids: SwapHybrids, y: bool, margins: Margins) -> None:
        self._model = BlackBox(target, hybrids, y, distinct=False)
        self._hybrids = hybrids
        self._y = y
        self._margins = margins

    @property
    def n(self) -> int:
        """How many references there are."""
        return self._hybrids.n

    @property
    def rows_predicted(self) -> int:
        """Rows that the model was really asked about."""
        return self._model.rows_predicted

    @property
    def model_seconds(self) -> float:
        """Time spent inside the model."""
        return self._model.model_seconds

    def outcomes(self, held: Held, tick: Tick | None = None) -> Outcomes:
        """(subsets, references): does the hybrid have the input's outcome?"""
        chosen = held.astype(np.float64)
        holds, doubt = self._margins.decide(self._margins.deltas @ chosen.T)
        reference, subset = doubt.nonzero()
        out = np.equal(holds.T, self._y)
        out[subset, reference] = self._ask(held[subset], reference)
        if tick is not None:
            tick(1.0)
        return np.asarray(out)

    def outcomes_of(self, held: Held, references: Counts) -> BoolVector:
        """(rows,): the outcome of hybrid (held[i], references[i])."""
        outcomes, doubt = self.decide(held, references)
        outcomes[doubt] = self._ask(held[doubt], references[doubt])
        return outcomes

    def agrees_with_model(self, probes: int) -> bool:
        """Put some hybrids to the model: does it answer as it should where there is no doubt?"""
        rng = generator(0, Stream.CHECKS)
        held = rng.random((probes, self._hybrids.d)) < rng.random((probes, 1))
        references = rng.integers(self.n, size=probes)
        outcomes, doubt = self.decide(held, references)
        return bool((doubt | (outcomes == self._ask(held, references))).all())

    def decide(self, held: Held, references: Counts) -> tuple[BoolVector, BoolVector]:
        """(rows,): what the sums alone say of single hybrids, and which of them are in doubt."""
        margins = Margins(
            self._margins.starts[:, references],
            self._margins.deltas[:, references],
            self._margins.slack[:, references],
        )
        holds, doubt = margins.decide(np.einsum("mrj,rj->mr", margins.deltas, held))
        return np.equal(holds, self._y), doubt

    def sweep(self) -> Iterator[tuple[int, Counts, NDArray[np.uint8]]]:
        """Blocks of consecutive bit masks, as `LatticeEvaluator` wants them."""
        d = self._hybrids.d
        if d <= _FEW_PLAYERS:
            yield from self._sweep_directly(d)
            return
        every = _all_bits(self.n)
        for first, packed in split_blocks(self._margins, d, self._event):
            if not self._y:
                np.bitwise_xor(packed, every, out=packed)
            hits = np.bitwise_count(packed).sum(axis=0, dtype=np.int64)
            bits = np.ascontiguousarray(packed.T).reshape(-1, len(every)).view(np.uint8)
            yield first, hits.T.ravel(), bits[:, : (self.n + 7) // 8]

    def _sweep_directly(self, d: int) -> Iterator[tuple[int, Counts, NDArray[np.uint8]]]:
        step = max(1, _SUMS // (self.n * len(self._margins)))
        for first in range(0, 1 << d, step):
            outcomes = self.outcomes(held_of_masks(np.arange(first, min(first + step, 1 << d)), d))
            yield first, outcomes.sum(axis=1, dtype=np.int64), np.packbits(outcomes, axis=1)

    def _event(self, masks: Counts, references: Counts) -> BoolVector:
        """Does the event hold, says the model, for single hybrids given by their masks?"""
        return np.equal(self._ask(held_of_masks(masks, self._hybrids.d), references), self._y)

    def _ask(self, held: Held, references: Counts) -> BoolVector:
        """The outcomes of single hybrids, each distinct row asked for once."""
        out = np.empty(len(references), dtype=bool)
        for start in range(0, len(out), _ASK):
            part = slice(start, start + _ASK)
            identity, first = self._hybrids.distinct(held[part], references[part])
            answers = self._model.outcomes_of(held[part][first], references[part][first])
            out[part] = answers[identity]
        return out


def _all_bits(n: int) -> Words:
    """(words, 1, 1): a bit for each reference, none for what fills up the last word."""
    bits = np.zeros(-(-n // 64) * 64, dtype=bool)
    bits[:n] = True
    return np.packbits(bits).view(WORD)[:, None, None]
