"""The additive engine: outcomes of hybrids from subset sums, and from the model near the boundary.

Where rounding could make the model's own sum fall on the other side, the model is asked, about each
distinct row once; everywhere else the sign of a sum settles it. So the counts are the black box's.

One thing no evaluator can mend: a matrix product may round the same row differently in another
place of another batch, so that a model contradicts itself on a row whose score is a rounding away
from 0 without being 0. There the answer is the model's own, as it gave it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from time import perf_counter

import numpy as np

from suffice.context.swap import SwapHybrids
from suffice.evaluate.additive.cubes import bound_cubes, leverage
from suffice.evaluate.additive.readers import AdditiveShape
from suffice.evaluate.additive.scores import Margins, margins_of
from suffice.evaluate.additive.split import WORD, split_blocks
from suffice.evaluate.blackbox import Engine
from suffice.evaluate.protocol import Idle, Swept, Tick, Unreadable
from suffice.factors.lattice import held_of_masks
from suffice.randomness import Stream, generator
from suffice.target import Target
from suffice.typing import BoolVector, Counts, Held, Outcomes, Reals, Words

__all__ = ["AdditiveEngine"]

_FEW_PLAYERS = 9
"""Up to here computing every sum is faster than preparing to compute few of them."""

_SUMS = 1 << 18
"""Computed together: few enough to stay in cache."""

_PROBES = 64
"""Hybrids that are put to the model as well, to see that it does what its parameters say."""


class AdditiveEngine(Engine):
    """A lattice evaluator for targets whose event is a conjunction of additive margins.

    A model is read by its class and its fitted parameters, which another version of its library
    may use otherwise. So a few hybrids are put to the model as well; one difference is reason
    enough not to serve. Raises `Unreadable` then, and for an event that the scores do not tell.
    """

    name = "additive"

    def __init__(self, model: AdditiveShape, target: Target, hybrids: SwapHybrids, y: bool) -> None:
        super().__init__(target, hybrids, y)
        scores, classes = model.scores(hybrids), target.model.classes or ()
        if target.event.kind == "versus" and model.probabilities_apart:
            raise Unreadable(f"the probabilities of {model.name} are a fit of their own")
        with np.errstate(all="ignore"):  # what is not finite in the end is refused
            self._margins = margins_of(target.event, scores, classes, model.scores_are)
        if not self._agrees_with_model():
            raise Unreadable(f"{model.name} does not predict as its parameters say")

    def pace(self) -> float | None:
        """Next to nothing: the model is asked about few hybrids."""
        return None

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
        outcomes, doubt = self._decide(held, references)
        outcomes[doubt] = self._ask(held[doubt], references[doubt])
        return outcomes

    def idle(self) -> Mapping[int, Idle]:
        """The players that add the same to every score, whether held or replaced."""
        moved = (self._margins.deltas != 0).any(axis=(0, 1))
        return {int(player): "alike" for player in np.flatnonzero(~moved)}

    def cubes(self, held: Held, freed: Held) -> tuple[Outcomes, Outcomes]:
        """(cubes, references): do all hybrids surely have the input's outcome? may some?"""
        surely, may = bound_cubes(self._margins, held, freed)
        if not self._y:
            surely, may = ~may, ~surely
        single = (held | freed).all(axis=1)
        if single.any():
            surely[single] = may[single] = self.outcomes(held[single])
        return surely, may

    def leverage(self) -> Reals:
        """(references, players): how far each player moves the margins."""
        return leverage(self._margins)

    def _agrees_with_model(self) -> bool:
        """Does the model answer as the sums say, wherever they are in no doubt?"""
        rng = generator(0, Stream.CHECKS)
        held = rng.random((_PROBES, self._hybrids.d)) < rng.random((_PROBES, 1))
        references = rng.integers(self.n, size=_PROBES)
        outcomes, doubt = self._decide(held, references)
        return bool((doubt | (outcomes == self._ask(held, references))).all())

    def _decide(self, held: Held, references: Counts) -> tuple[BoolVector, BoolVector]:
        """(rows,): what the sums alone say of single hybrids, and which of them are in doubt."""
        margins = Margins(
            self._margins.starts[:, references],
            self._margins.deltas[:, references],
            self._margins.slack[:, references],
        )
        holds, doubt = margins.decide(np.einsum("mrj,rj->mr", margins.deltas, held))
        return np.equal(holds, self._y), doubt

    def sweep(self) -> Iterator[Swept]:
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

    def counts(self) -> Iterator[tuple[int, Counts]]:
        """The first mask of each block of a sweep, and the hits of its masks."""
        for start, hits, _ in self.sweep():
            yield start, hits

    def sweep_seconds(self) -> float:
        """About how long a sweep takes: its first block, times all of them."""
        started = perf_counter()
        _, hits, _ = next(self.sweep())
        return (perf_counter() - started) * 2.0**self._hybrids.d / len(hits)

    def _sweep_directly(self, d: int) -> Iterator[Swept]:
        step = max(1, _SUMS // (self.n * len(self._margins)))
        for first in range(0, 1 << d, step):
            outcomes = self.outcomes(held_of_masks(np.arange(first, min(first + step, 1 << d)), d))
            yield first, outcomes.sum(axis=1, dtype=np.int64), np.packbits(outcomes, axis=1)

    def _event(self, masks: Counts, references: Counts) -> BoolVector:
        """Does the event hold, says the model, for single hybrids given by their masks?"""
        return np.equal(self._ask(held_of_masks(masks, self._hybrids.d), references), self._y)


def _all_bits(n: int) -> Words:
    """(words, 1, 1): a bit for each reference, none for what fills up the last word."""
    bits = np.zeros(-(-n // 64) * 64, dtype=bool)
    bits[:n] = True
    return np.packbits(bits).view(WORD)[:, None, None]
