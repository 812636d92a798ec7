"""Outcomes of texts from counts of words, for pipelines whose scores are no plain sums.

The norm of a TF-IDF vector, a logarithm or the mere presence of a word tie the words together, so a
score is worked out for each hybrid: a matrix product gives the counts of its terms, a second one
the score. That takes a few dozen operations where joining a text, cutting it into words and looking
each of them up takes thousands.

The bound. Each value has a relative error of a few roundings, the norm one more for each term, and
both the model and this file add up T products; so the two are apart by less than γ times
Σ|w_t v_t| / ‖v‖ + |b|, with γ as in `scores`. The sum is bounded once for all hybrids: by ‖w‖
(Cauchy and Schwarz), by the largest |w_t| for the norm l1, else by the most that each term can be.
Where a margin is within that of 0, the model is asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from time import perf_counter

import numpy as np

from suffice.context.swap import SwapHybrids
from suffice.evaluate.additive.scores import combinations, gamma
from suffice.evaluate.additive.text_bounds import MarginBounds
from suffice.evaluate.additive.vectorised import Counted, VectorisedModel, roundings
from suffice.evaluate.blackbox import Engine
from suffice.evaluate.protocol import Idle, Swept, Tick, Unreadable
from suffice.factors.lattice import held_of_masks
from suffice.randomness import Stream, generator
from suffice.target import Target
from suffice.typing import BoolVector, Counts, Held, Outcomes, Reals

__all__ = ["TextEngine"]

_CELLS = 1 << 20
"""Counts worked out together: few enough to stay in cache."""

_MASKS = 1 << 16
"""Sets of a block of a sweep."""

_PROBES = 64
"""Hybrids that are put to the model as well, to see that it does what its parameters say."""


class TextEngine(Engine):
    """An evaluator for text pipelines: as exact as the additive engine, and as careful.

    It bounds cubes of sets besides, by `text_bounds`.
    """

    name = "additive"

    def __init__(
        self, model: VectorisedModel, target: Target, hybrids: SwapHybrids, y: bool
    ) -> None:
        super().__init__(target, hybrids, y)
        classes = target.model.classes or ()
        margins = combinations(target.event, model.linear.decision, classes, model.scores_are)
        signs = np.zeros((len(margins), len(model.linear.base)))
        for m, (of_score, _, _) in enumerate(margins):
            signs[m, list(of_score)] = list(of_score.values())
        constants = np.array([constant for _, constant, _ in margins])
        blur = np.abs(constants) + np.array([blur for _, _, blur in margins])
        size = np.abs(signs) @ np.abs(model.linear.base) + blur
        self._references = [
            _Reference(model, one, signs, signs @ model.linear.base + constants, size)
            for one in model.counted(hybrids)
        ]
        if not self._agrees_with_model():
            raise Unreadable(f"{model.name} does not predict as its parameters say")

    def pace(self) -> float | None:
        """Next to nothing: the model is asked about few hybrids."""
        return None

    def outcomes(self, held: Held, tick: Tick | None = None) -> Outcomes:
        """(subsets, references): does the hybrid have the input's outcome?"""
        out = np.empty((len(held), self.n), dtype=bool)
        for r in range(self.n):
            out[:, r] = self._outcomes_beside(r, held)
            if tick is not None:
                tick(1 / self.n)
        return out

    def outcomes_of(self, held: Held, references: Counts) -> BoolVector:
        """(rows,): the outcome of hybrid (held[i], references[i])."""
        out = np.empty(len(held), dtype=bool)
        for r in np.unique(references).tolist():
            rows = references == r
            out[rows] = self._outcomes_beside(r, held[rows])
        return out

    def sweep(self) -> Iterator[Swept]:
        """Every bit mask from 0 to 2^d - 1, in blocks."""
        d = self._hybrids.d
        for first in range(0, 1 << d, _MASKS):
            outcomes = self.outcomes(
                held_of_masks(np.arange(first, min(first + _MASKS, 1 << d)), d)
            )
            yield first, outcomes.sum(axis=1, dtype=np.int64), np.packbits(outcomes, axis=1)

    def counts(self) -> Iterator[tuple[int, Counts]]:
        """The first mask of each block of a sweep, and the hits of its masks."""
        for start, hits, _ in self.sweep():
            yield start, hits.astype(np.int64, copy=False)

    def sweep_seconds(self) -> float:
        """About how long a sweep takes: its first block, times all of them."""
        started = perf_counter()
        _, hits, _ = next(self.sweep())
        return (perf_counter() - started) * 2.0**self._hybrids.d / len(hits)

    def cubes(self, held: Held, freed: Held) -> tuple[Outcomes, Outcomes]:
        """(cubes, references): do all hybrids of a cube surely have the input's outcome? may some?

        A cube is all sets that hold `held` and nothing of `freed`.
        """
        surely, may = (np.empty((len(held), self.n), dtype=bool) for _ in range(2))
        for r, reference in enumerate(self._references):
            step = max(1, _CELLS // reference.width)
            for start in range(0, len(held), step):
                part = slice(start, start + step)
                always, never = reference.bounds.settle(held[part], freed[part])
                surely[part, r], may[part, r] = (always, ~never) if self._y else (never, ~always)
        single = (held | freed).all(axis=1)
        surely[single] = may[single] = self.outcomes(held[single])
        return surely, may

    def never_helps(self) -> BoolVector:
        """(d,): the players that, held rather than replaced, never bring the outcome about."""
        from suffice.evaluate.additive.text_signs import never_raising

        sign = 1.0 if self._y else -1.0
        never = [never_raising(reference.bounds, sign) for reference in self._references]
        return np.asarray(np.logical_and.reduce(never))

    def leverage(self) -> Reals:
        """(references, players): about how far each player moves a hybrid's score."""
        return np.stack([reference.bounds.leverage for reference in self._references])

    def idle(self) -> Mapping[int, Idle]:
        """The players without a word that the model knows, and those it counts alike."""
        moved, read = (
            np.logical_or.reduce(parts)
            for parts in zip(*(one.touched for one in self._references), strict=True)
        )
        return {int(p): "alike" if read[p] else "unread" for p in np.flatnonzero(~moved)}

    def _outcomes_beside(self, r: int, held: Held) -> BoolVector:
        """(rows,): outcomes with one reference."""
        reference = self._references[r]
        step = max(1, _CELLS // reference.width)
        out = np.empty(len(held), dtype=bool)
        for start in range(0, len(held), step):
            part = held[start : start + step]
            holds, doubt = reference.decide(part)
            outcomes = np.equal(holds, self._y)
            if doubt.any():
                asked = part[doubt]
                outcomes[doubt] = self._ask(asked, np.full(len(asked), r))
            out[start : start + step] = outcomes
        return out

    def _agrees_with_model(self) -> bool:
        """Does the model answer as the scores say, wherever they are in no doubt?"""
        rng = generator(0, Stream.CHECKS)
        held = rng.random((_PROBES, self._hybrids.d)) < rng.random((_PROBES, 1))
        references = rng.integers(self.n, size=_PROBES)
        truth = self._ask(held, references)
        for r in np.unique(references).tolist():
            rows = references == r
            holds, doubt = self._references[r].decide(held[rows])
            if not (doubt | (np.equal(holds, self._y) == truth[rows])).all():
                return False
        return True


class _Reference:
    """The margins of hybrids with one reference, from counts."""

    def __init__(
        self, model: VectorisedModel, counted: Counted, signs: Reals, base: Reals, size: Reals
    ) -> None:
        # A term without weight matters where there is a norm that it is part of.
        weights = signs @ model.linear.weights[:, counted.columns]
        seen = (model.scale[counted.columns] > 0) & ((weights != 0).any(axis=0) | bool(model.norm))
        self._model = model
        self._columns = np.asarray(counted.columns, dtype=np.int64)[seen]
        self._weights = weights[:, seen]
        self._base = base
        held, replaced = counted.held[:, seen], counted.replaced[:, seen]
        rest = counted.rest[seen]
        # A term that is one player's alone, and gone with it, adds the same wherever it stands.
        once = ((held != 0).sum(axis=0) == 1) & ~(replaced != 0).any(axis=0) & (rest == 0)
        own = model.values(held[:, once], self._columns[once])
        self._shared = self._columns[~once]
        self._of_shared = self._weights[:, ~once]
        self._start = (replaced.sum(axis=0) + rest)[~once]
        # (d, M + 1 + shared terms): what a player held adds to margins, to the norm, to counts.
        adds = self._sizes(own).sum(axis=1, keepdims=True)
        self._steps = np.hstack([own @ self._weights[:, once].T, adds, (held - replaced)[:, ~once]])
        self.width = max(1, *held.shape)
        self.touched = (held != replaced).any(axis=1), ((held != 0) | (replaced != 0)).any(axis=1)
        most = np.maximum(np.abs(held), np.abs(replaced)).sum(axis=0) + np.abs(rest)
        part = gamma(roundings(len(self._columns)) + 4 * len(held), model.eps)
        self._slack = part * (self._largest(most) + size) + np.finfo(float).tiny
        if not (np.isfinite(self._slack).all() and np.isfinite(self._weights).all()):
            raise Unreadable("the model's weights are not all finite on these words")
        self.bounds = MarginBounds(
            lambda counts: model.values(counts, self._columns),
            model.tally == "count",
            model.norm,
            held,
            replaced,
            rest,
            self._weights,
            base,
            self._slack,
        )

    def decide(self, held: Held) -> tuple[BoolVector, BoolVector]:
        """(rows,): where does the event hold, and where can only the model tell?"""
        m = len(self._base)
        steps = held.astype(np.float64) @ self._steps
        values = self._model.values(steps[:, m + 1 :] + self._start, self._shared)
        sums = steps[:, :m] + values @ self._of_shared.T
        if self._model.norm is not None:
            size = steps[:, m] + self._sizes(values).sum(axis=1)
            norm = size if self._model.norm == "l1" else np.sqrt(size)
            sums /= np.where(norm > 0, norm, 1.0)[:, None]
        margins = sums + self._base
        holds = np.logical_and.reduce(margins > self._slack, axis=1)
        return holds, np.logical_and.reduce(margins >= -self._slack, axis=1) & ~holds

    def _sizes(self, values: Reals) -> Reals:
        """What values add to the norm l1, or to the square of l2."""
        return np.abs(values) if self._model.norm == "l1" else np.square(values)

    def _largest(self, most: Reals) -> Reals:
        """(M,): more than Σ|w_t v_t| / ‖v‖ can be."""
        sizes = np.abs(self._weights)
        if self._model.norm == "l2":
            return np.asarray(np.linalg.norm(sizes, axis=1))
        if self._model.norm == "l1":
            return np.asarray(sizes.max(axis=1, initial=0.0))
        return sizes @ self._model.values(most, self._columns)
