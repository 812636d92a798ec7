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
from suffice.evaluate.additive.split import WORD, Ask, split_blocks
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

_AT_ONCE = 1 << 22
"""Numbers of 64 bits that a list is worked out in at once."""

_TIMED_HYBRIDS = 1 << 21
"""Of so many a sweep is timed to tell what all of them take."""

_SECONDS_PER_SUM = 1e-8
"""Where few players make a sweep too short to be timed."""

_PROBES = 64
"""Hybrids that are put to the model as well, to see that it does what its parameters say."""


class AdditiveEngine(Engine):
    """A lattice evaluator for targets whose event is a conjunction of additive margins.

    A model is read by its class and its fitted parameters, which another version of its library
    may use otherwise. So now and then a few hybrids are put to the model as well; one difference is
    reason enough not to serve. Raises `Unreadable` then, and for an event that the scores do not
    tell.
    """

    name = "additive"

    def __init__(self, model: AdditiveShape, target: Target, hybrids: SwapHybrids, y: bool) -> None:
        super().__init__(target, hybrids, y)
        scores, classes = model.scores(hybrids), target.model.classes or ()
        if target.event.kind == "versus" and model.probabilities_apart:
            raise Unreadable(f"the probabilities of {model.name} are a fit of their own")
        with np.errstate(all="ignore"):  # what is not finite in the end is refused
            self._margins = margins_of(target.event, scores, classes, model.scores_are)
        if model.checks.due(target.event.kind) and not self._agrees_with_model():
            model.checks.deny()
            raise Unreadable(f"{model.name} does not predict as its parameters say")

    def pace(self) -> float | None:
        """Next to nothing: the model is asked about few hybrids."""
        return None

    def outcomes(self, held: Held, tick: Tick | None = None) -> Outcomes:
        """(subsets, references): does the hybrid have the input's outcome?"""
        out = np.empty((len(held), self.n), dtype=bool)
        step = max(1, _AT_ONCE // (self.n * len(self._margins)))
        for start in range(0, len(held), step):
            part = held[start : start + step]
            holds, doubt = self._margins.decide(self._margins.deltas @ part.T.astype(np.float64))
            reference, subset = doubt.nonzero()
            found = np.equal(holds.T, self._y)
            found[subset, reference] = self._ask(part[subset], reference, tick, again=True)
            out[start : start + step] = found
            if tick is not None:
                tick(len(part) / len(held))
        return out

    def outcomes_of(self, held: Held, references: Counts) -> BoolVector:
        """(rows,): the outcome of hybrid (held[i], references[i])."""
        outcomes, doubt = (np.empty(len(held), dtype=bool) for _ in range(2))
        step = max(1, _AT_ONCE // (self._hybrids.d * len(self._margins)))
        for start in range(0, len(held), step):
            part = slice(start, start + step)
            outcomes[part], doubt[part] = self._decide(held[part], references[part])
        outcomes[doubt] = self._ask(held[doubt], references[doubt], again=True)
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
        for first, packed in self._split(self._margins, d, self._event):
            bits = np.ascontiguousarray(packed.T).reshape(-1, len(packed)).view(np.uint8)
            yield first, _hits(packed), bits[:, : (self.n + 7) // 8]

    def counts(self) -> Iterator[tuple[int, Counts]]:
        """The first mask of each block of a sweep, and the hits of its masks."""
        d = self._hybrids.d
        if d <= _FEW_PLAYERS:
            for first, hits, _ in self._sweep_directly(d):
                yield first, hits.astype(np.int64, copy=False)
            return
        for first, packed in self._split(self._margins, d, self._event):
            yield first, _hits(packed)

    def sweep_seconds(self) -> float:
        """About how long a sweep takes: of the first players, and of two fewer, and so on.

        Whatever is in doubt there is not asked of the model.
        """
        d = self._hybrids.d
        most = max(_FEW_PLAYERS + 3, (_TIMED_HYBRIDS // self.n).bit_length())
        if d <= _FEW_PLAYERS:
            return 2.0**d * self.n * len(self._margins) * _SECONDS_PER_SUM
        times = {}
        for players in (min(d, most), max(_FEW_PLAYERS, min(d, most) - 2)):
            some = self._margins
            some = Margins(some.starts, some.deltas[..., :players], some.slack)
            started = perf_counter()
            for _, packed in self._split(some, players, lambda masks, _: masks < 0):
                _hits(packed)
            times[players] = perf_counter() - started
        (players, longer), (fewer, shorter) = times.items()
        rate = max(0.0, longer - shorter) / (2.0**players - 2.0**fewer)
        return longer + rate * (2.0**d - 2.0**players)

    def _split(self, margins: Margins, d: int, ask: Ask) -> Iterator[tuple[int, Words]]:
        """Blocks of `split_blocks`, with the bits of where the input's outcome holds."""
        every = _all_bits(self.n)
        for first, packed in split_blocks(margins, d, ask):
            if not self._y:
                np.bitwise_xor(packed, every, out=packed)
            yield first, packed

    def _sweep_directly(self, d: int) -> Iterator[Swept]:
        step = max(1, _SUMS // (self.n * len(self._margins)))
        for first in range(0, 1 << d, step):
            outcomes = self.outcomes(held_of_masks(np.arange(first, min(first + step, 1 << d)), d))
            yield first, outcomes.sum(axis=1, dtype=np.int64), np.packbits(outcomes, axis=1)

    def _event(self, masks: Counts, references: Counts) -> BoolVector:
        """Does the event hold, says the model, for single hybrids given by their masks?"""
        return np.equal(self._ask(held_of_masks(masks, self._hybrids.d), references), self._y)


def _hits(packed: Words) -> Counts:
    """By mask, from a block of `split_blocks`."""
    return np.asarray(np.bitwise_count(packed).sum(axis=0, dtype=np.int64).T.ravel())


def _all_bits(n: int) -> Words:
    """(words, 1, 1): a bit for each reference, none for what fills up the last word."""
    bits = np.zeros(-(-n // 64) * 64, dtype=bool)
    bits[:n] = True
    return np.packbits(bits).view(WORD)[:, None, None]
