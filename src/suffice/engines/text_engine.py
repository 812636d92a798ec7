"""The text engine: outcomes of texts from word counts, for pipelines such as TF-IDF.

The norm of a TF-IDF vector, a logarithm or a test for presence makes a word's effect depend on
other words, so the score of each hybrid is computed: a matrix product gives the counts of its
terms, a second one the score. That takes a few dozen operations; joining a text, cutting it into
words and looking up each of them takes thousands.

The bound. Each value has a relative error of a few roundings, the norm one more for each term, and
both the model and this file add up T products; so the two are apart by less than γ times Σ|w_t v_t|
/ ‖v‖ + |b|, with γ as in `rounding_factor`. The sum is bounded once for all hybrids: by ‖w‖ (Cauchy
and Schwarz), by the largest |w_t| for the norm l1, else by the largest value of each term. Where a
margin is within that bound of 0, the model predicts the hybrid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from suffice.context.hybrids import SwapHybrids
from suffice.engines.additive_margins import rounding_factor, score_combinations
from suffice.engines.additive_model import wrong_reading
from suffice.engines.blackbox import BaseEngine, sweep_by_lists
from suffice.engines.evaluator import IdleReason, ProgressCallback, SweepBlock
from suffice.engines.select_engine import Unreadable
from suffice.engines.text_pipeline import TermCounts, TextPipelineModel, score_operations
from suffice.engines.work import MULTIPLICATION
from suffice.target import Target
from suffice.typing import BoolVector, Counts, HeldSets, Outcomes, Reals

_COUNTS_AT_ONCE = 1 << 20
"""Counts computed together: few enough to stay in the processor's cache."""

_MASKS_PER_BLOCK = 1 << 16
"""Sets of a block of a sweep."""

_PASSES = 8
"""Passes over the counts of a hybrid's terms: a logarithm, a norm, a score."""


class TextEngine(BaseEngine):
    """An evaluator for text pipelines, with the exactness and the checks of the additive engine.

    It can also bound cubes of sets, by `TextMarginBounds`.
    """

    name = "additive"

    def __init__(
        self,
        model: TextPipelineModel,
        target: Target,
        hybrids: SwapHybrids,
        y: bool,
        patience: float | None = None,
    ) -> None:
        super().__init__(target, hybrids, y, patience)
        classes = target.wrapped.classes or ()
        margins = score_combinations(
            target.event, model.linear.decision, classes, model.score_method
        )
        signs = np.zeros((len(margins), len(model.linear.base)))
        for m, (of_score, _, _) in enumerate(margins):
            signs[m, list(of_score)] = list(of_score.values())
        constants = np.array([constant for _, constant, _ in margins])
        blur = np.abs(constants) + np.array([blur for _, _, blur in margins])
        size = np.abs(signs) @ np.abs(model.linear.base) + blur
        self._references = [
            _ReferenceMargins(model, one, signs, signs @ model.linear.base + constants, size)
            for one in model.counted(hybrids)
        ]
        if model.checks.due(target.event.kind) and not self._agrees_with_model(self._decide):
            model.checks.failed = True
            raise wrong_reading(model.name, self.rows_predicted)

    def outcomes(self, held: HeldSets, tick: ProgressCallback | None = None) -> Outcomes:
        """Return (subsets, references): whether each hybrid has the input's outcome."""
        out = np.empty((len(held), self.n), dtype=bool)
        for r in range(self.n):
            out[:, r] = self._outcomes_with_reference(r, held)
            if tick is not None:
                tick(1 / self.n)
        return out

    def outcomes_of_hybrids(self, held: HeldSets, references: Counts) -> BoolVector:
        """Return (rows,): whether hybrid (held[i], references[i]) has the input's outcome."""
        out = np.empty(len(held), dtype=bool)
        for r in np.unique(references).tolist():
            rows = references == r
            out[rows] = self._outcomes_with_reference(r, held[rows])
        return out

    def sweep(self) -> Iterator[SweepBlock]:
        """Yield every bit mask from 0 to 2^d - 1, in blocks."""
        return sweep_by_lists(self.outcomes, self._hybrids.d, _MASKS_PER_BLOCK)

    def work_per_hybrid(self) -> float:
        """Return the work of the counts of one hybrid's terms and of its scores."""
        terms = float(np.mean([reference.width for reference in self._references]))
        return MULTIPLICATION * (self._hybrids.d + _PASSES) * terms

    def sweep_work(self) -> float:
        """Return the work of all hybrids; each is counted separately."""
        return self.work_per_hybrid() * self.n * 2.0**self._hybrids.d

    def _bound_event(self, held: HeldSets, freed: HeldSets) -> tuple[Outcomes, Outcomes]:
        surely, may = (np.empty((len(held), self.n), dtype=bool) for _ in range(2))
        for r, reference in enumerate(self._references):
            step = max(1, _COUNTS_AT_ONCE // reference.width)
            for start in range(0, len(held), step):
                part = slice(start, start + step)
                always, never = reference.bounds.decide_cubes(held[part], freed[part])
                surely[part, r], may[part, r] = always, ~never
        return surely, may

    def never_helps(self) -> BoolVector:
        """Return (d,): whether holding the player instead of replacing it never helps."""
        sign = 1.0 if self._y else -1.0
        never = [players_never_raising(reference.bounds, sign) for reference in self._references]
        return np.asarray(np.logical_and.reduce(never))

    def leverage(self) -> Reals:
        """Return (references, players): about how far each player moves a hybrid's score."""
        return np.stack([reference.bounds.leverage for reference in self._references])

    def idle_players(self) -> Mapping[int, IdleReason]:
        """Return the players without a word of the vocabulary, and those with equal counts of
        words."""
        moved, read = (
            np.logical_or.reduce(parts)
            for parts in zip(*(one.touched for one in self._references), strict=True)
        )
        return {int(p): "alike" if read[p] else "unread" for p in np.flatnonzero(~moved)}

    def _outcomes_with_reference(self, r: int, held: HeldSets) -> BoolVector:
        """Return (rows,): the outcomes of sets with reference r."""
        reference = self._references[r]
        step = max(1, _COUNTS_AT_ONCE // reference.width)
        out = np.empty(len(held), dtype=bool)
        for start in range(0, len(held), step):
            part = held[start : start + step]
            holds, doubt = reference.decide(part)
            outcomes = np.equal(holds, self._y)
            if doubt.any():
                asked = part[doubt]
                outcomes[doubt] = self._predict(asked, np.full(len(asked), r))
            out[start : start + step] = outcomes
        return out

    def _decide(self, held: HeldSets, references: Counts) -> tuple[BoolVector, BoolVector]:
        """Return (rows,): the outcomes of single hybrids by counts, and which are in doubt."""
        outcomes, doubt = (np.empty(len(held), dtype=bool) for _ in range(2))
        for r in np.unique(references).tolist():
            rows = references == r
            outcomes[rows], doubt[rows] = self._references[r].decide(held[rows])
        return np.equal(outcomes, self._y), doubt


class _ReferenceMargins:
    """The margins of hybrids with one reference, from counts."""

    def __init__(
        self, model: TextPipelineModel, counted: TermCounts, signs: Reals, base: Reals, size: Reals
    ) -> None:
        # A term without weight still matters as part of a norm.
        weights = signs @ model.linear.weights[:, counted.columns]
        seen = (model.scale[counted.columns] > 0) & ((weights != 0).any(axis=0) | bool(model.norm))
        self._model = model
        self._columns = np.asarray(counted.columns, dtype=np.int64)[seen]
        self._weights = weights[:, seen]
        self._base = base
        held, replaced = counted.held[:, seen], counted.replaced[:, seen]
        rest = counted.rest[seen]
        # A term that only one player has, and no reference, adds the same whatever else is held.
        once = ((held != 0).sum(axis=0) == 1) & ~(replaced != 0).any(axis=0) & (rest == 0)
        own = model.values(held[:, once], self._columns[once])
        self._shared = self._columns[~once]
        self._of_shared = self._weights[:, ~once]
        self._start = (replaced.sum(axis=0) + rest)[~once]
        # (d, M + 1 + shared terms): what a held player adds to the margins, the norm, the counts.
        adds = self._sizes(own).sum(axis=1, keepdims=True)
        self._steps = np.hstack([own @ self._weights[:, once].T, adds, (held - replaced)[:, ~once]])
        self.width = max(1, *held.shape)
        self.touched = (held != replaced).any(axis=1), ((held != 0) | (replaced != 0)).any(axis=1)
        most = np.maximum(np.abs(held), np.abs(replaced)).sum(axis=0) + np.abs(rest)
        part = rounding_factor(score_operations(len(self._columns)) + 4 * len(held), model.eps)
        self._slack = part * (self._largest(most) + size) + np.finfo(float).tiny
        if not (np.isfinite(self._slack).all() and np.isfinite(self._weights).all()):
            raise Unreadable("the model's weights are not all finite on these words")
        self.bounds = TextMarginBounds(
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

    def decide(self, held: HeldSets) -> tuple[BoolVector, BoolVector]:
        """Return (rows,): where the event holds, and where it is in doubt."""
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
        """Return what the values of terms add to the norm l1, or to the square of the norm l2."""
        return np.abs(values) if self._model.norm == "l1" else np.square(values)

    def _largest(self, most: Reals) -> Reals:
        """Return (M,): an upper bound of Σ|w_t v_t| / ‖v‖."""
        sizes = np.abs(self._weights)
        if self._model.norm == "l2":
            return np.asarray(np.linalg.norm(sizes, axis=1))
        if self._model.norm == "l1":
            return np.asarray(sizes.max(axis=1, initial=0.0))
        return sizes @ self._model.values(most, self._columns)


# Bounds on the margins of a text while some of its words are neither held nor freed.


_BOUND_SLACK_FACTOR = 8.0
"""Bounds add up the same numbers again, in another order, so they use several times the slack."""

_TANGENTS = (0.1, 0.5, 1.0)
"""Points between the least and the largest Q at which the root is bounded by a tangent; the best
bound of these is used."""


@dataclass(frozen=True, eq=False)
class TextMarginBounds:
    """Bounds on the margins of all hybrids of one reference, over cubes of sets."""

    values: Callable[[Reals], Reals]
    """(…, T) counts -> values, nondecreasing in each count."""
    proportional: bool
    """Whether each value is a multiple of its count."""
    norm: str | None
    held: Reals
    """(d, T): what a player adds to the counts where it is held."""
    replaced: Reals
    """(d, T): what it adds where it is replaced."""
    rest: Reals
    """(T,): counts of cells that are always there."""
    weights: Reals
    """(M, T)"""
    base: Reals
    slack: Reals

    def decide_cubes(self, held: HeldSets, freed: HeldSets) -> tuple[BoolVector, BoolVector]:
        """Return (cubes,) twice: whether the event holds for all sets of a cube; for none."""
        cubes = _CubeTerms(self, held.astype(np.float64), freed.astype(np.float64))
        always, never = np.ones(len(held), dtype=bool), np.zeros(len(held), dtype=bool)
        size = cubes.size
        reach = np.ones(len(held)) if size is None else np.maximum(size.highest, 0.0)
        reach = np.sqrt(reach) if self.norm == "l2" else reach
        nothing = reach == 0  # no known word: the base alone decides
        for weights, base, slack in self._margins:
            part = cubes.weighted(weights)
            least = self._least(part, size, base)
            most = -self._least(part.negated, size, -base)
            always &= np.where(nothing, base > slack, least > slack * reach)
            never |= np.where(nothing, base < -slack, most < -slack * reach)
        return always, never

    @property
    def norms(self) -> tuple[float, float]:
        """Lower and upper bound of the norms of all hybrids."""
        no_players = np.zeros((1, len(self.held)))
        size = _CubeTerms(self, no_players, no_players).size
        if size is None:
            return 1.0, 1.0
        low, high = max(float(size.lowest[0]), 0.0), max(float(size.highest[0]), 0.0)
        return (low, high) if self.norm == "l1" else (low**0.5, high**0.5)

    @property
    def leverage(self) -> Reals:
        """Return (d,): about how far each player moves a margin, directly and through the norm."""
        change = self.values(self.held) - self.values(self.replaced)
        direct = np.abs(change @ self.weights.T).max(axis=1, initial=0.0)
        if self.norm is None:
            return np.asarray(direct)
        size = np.abs(change).sum(axis=1)
        return np.asarray(direct + np.abs(self.base).max() * size / 2)

    @property
    def _margins(self) -> Iterator[tuple[Reals, float, float]]:
        """Weights, base and slack of each margin in turn."""
        slack = (_BOUND_SLACK_FACTOR * self.slack).tolist()
        return zip(self.weights, self.base.tolist(), slack, strict=True)

    def _least(self, part: _CubeSum, size: _CubeSum | None, base: float) -> Reals:
        """Return (cubes,): a lower bound of A + base · N over each cube, N being the norm."""
        if size is None:
            return part.lowest + base
        if self.norm == "l1":
            return part.plus(size, np.full(len(part.start), base)).lowest
        low, high = np.maximum(size.lowest, 0.0), np.maximum(size.highest, 0.0)
        if base >= 0:
            both = np.sqrt(low) + np.sqrt(high)
            slope = np.divide(base, both, out=np.zeros_like(both), where=both > 0)
            return np.asarray(part.plus(size, slope).lowest + base * np.sqrt(low) - slope * low)
        found = np.full(len(low), -np.inf)
        for share in _TANGENTS:
            root = np.sqrt(low + share * (high - low))
            slope = np.divide(base / 2, root, out=np.zeros_like(root), where=root > 0)
            found = np.maximum(found, part.plus(size, slope).lowest + base * root / 2)
        return found


class _CubeSum(NamedTuple):
    """Sum over each cube: start + Σ steps of the open players held + a number in [least, most]."""

    start: Reals
    """(cubes,): the sum with every open player freed."""
    steps: Reals
    """(cubes, d): what each open player adds when it is held; 0 for the others."""
    least: Reals
    """(cubes,): lower bound of the terms that several open players share."""
    most: Reals
    """(cubes,): upper bound of these terms."""

    @property
    def lowest(self) -> Reals:
        """(cubes,): lower bound of the sum over the sets of each cube."""
        return np.asarray(self.start + self.least + np.minimum(self.steps, 0.0).sum(axis=1))

    @property
    def highest(self) -> Reals:
        """(cubes,): upper bound of the sum over the sets of each cube."""
        return np.asarray(self.start + self.most + np.maximum(self.steps, 0.0).sum(axis=1))

    @property
    def negated(self) -> _CubeSum:
        """Return the sum with the opposite sign."""
        return _CubeSum(-self.start, -self.steps, -self.most, -self.least)

    def plus(self, other: _CubeSum, times: Reals) -> _CubeSum:
        """Return this sum plus a multiple of another, with one factor for each cube."""
        ends = other.least * times, other.most * times
        return _CubeSum(
            self.start + other.start * times,
            self.steps + other.steps * times[:, None],
            self.least + np.minimum(*ends),
            self.most + np.maximum(*ends),
        )


class _CubeTerms:
    """Cubes with the values of terms over them, and the player of each open term."""

    def __init__(self, of: TextMarginBounds, held: Reals, freed: Reals) -> None:
        self._of = of
        self._open = 1.0 - held - freed
        self._fixed = held @ of.held + freed @ of.replaced + of.rest
        low, high = np.minimum(of.held, of.replaced), np.maximum(of.held, of.replaced)
        # (cubes, T): values at the least and at the largest count.
        self._least = of.values(self._fixed + self._open @ low)
        self._most = of.values(self._fixed + self._open @ high)
        self._sign = np.sign(of.held - of.replaced)
        self._shared = self._open @ np.abs(self._sign) > 1
        # Whether the only open player of a term lowers it by being held.
        self._falls = self._open @ self._sign < 0

    @property
    def size(self) -> _CubeSum | None:
        """The norm l1, or the square of l2; None where there is no norm."""
        if self._of.norm is None:
            return None
        size: Callable[[Reals], Reals] = np.abs if self._of.norm == "l1" else np.square
        least, most = size(self._least), size(self._most)
        # Hashed counts have either sign, so a range of them may contain 0.
        through = (self._least < 0) & (self._most > 0)
        return self._summed(least, most, np.where(through, 0.0, np.minimum(least, most)))

    def weighted(self, weights: Reals) -> _CubeSum:
        """Return Σ w_t v_t over the terms."""
        of = self._of
        if not of.proportional:
            ends = self._least * weights, self._most * weights
            return self._summed(*ends, np.minimum(*ends))
        # Values are proportional to counts, so the sum is one over players, even of shared terms.
        start = of.values(self._fixed + self._open @ of.replaced) @ weights
        steps = self._open * ((of.values(of.held) - of.values(of.replaced)) @ weights)
        return _CubeSum(start, steps, np.zeros_like(start), np.zeros_like(start))

    def _summed(self, at_least: Reals, at_most: Reals, lowest: Reals) -> _CubeSum:
        """Return the sum over terms, given their values at the least and at the largest count.

        `lowest` bounds the terms that several open players share from below.
        """
        shared = self._shared
        freed = np.where(self._falls, at_most, at_least)
        moves = np.where(shared, 0.0, at_most - at_least)
        return _CubeSum(
            np.where(shared, 0.0, freed).sum(axis=1),
            self._open * (moves @ self._sign.T),
            np.where(shared, lowest, 0.0).sum(axis=1),
            np.where(shared, np.maximum(at_least, at_most), 0.0).sum(axis=1),
        )


# Words whose being held never brings the outcome about: no minimal set has one.


_SIGN_SLACK_FACTOR = 16.0
"""Multiple of the slack: both margins are rounded, by the model and here."""


def players_never_raising(bounds: TextMarginBounds, sign: float) -> BoolVector:
    """Return (d,): the players whose being held never raises a margin; with sign -1, lowers one."""
    out = np.ones(len(bounds.held), dtype=bool)
    changes = _HoldingEffects(bounds)
    for weights, base, slack in zip(bounds.weights, bounds.base, bounds.slack, strict=True):
        most = changes.weighted(sign * weights)
        reach = 1.0
        if bounds.norm is not None:
            least_n, most_n = changes.of_norm()
            most = most + np.maximum(sign * base * least_n, sign * base * most_n)
            reach = changes.largest
            # The margin of a text without a known word is the base alone.
            out &= bool(sign * base <= 0 or changes.smallest > 0)
        out &= most < -_SIGN_SLACK_FACTOR * slack * reach
    return out


class _HoldingEffects:
    """Bounds on what holding each player adds, over all sets of the other players."""

    def __init__(self, bounds: TextMarginBounds) -> None:
        self._bounds = bounds
        low = np.minimum(bounds.held, bounds.replaced)
        high = np.maximum(bounds.held, bounds.replaced)
        totals = bounds.rest + low.sum(axis=0), bounds.rest + high.sum(axis=0)
        # (d, T): bounds of the counts of all other players.
        self._low, self._high = totals[0] - low, totals[1] - high
        self.smallest, self.largest = bounds.norms

    def weighted(self, weights: Reals) -> Reals:
        """Return (d,): the most that Σ w_t v_t can rise by."""
        least, most = self._between(self._bounds.values)
        return np.asarray(np.maximum(least * weights, most * weights).sum(axis=1))

    def of_norm(self) -> tuple[Reals, Reals]:
        """Return (d,) twice: the least and the most that the norm can change by."""
        bounds = self._bounds
        size: Callable[[Reals], Reals] = np.abs if bounds.norm == "l1" else np.square
        least, most = (
            change.sum(axis=1) for change in self._between(lambda c: size(bounds.values(c)))
        )
        if bounds.norm == "l1":
            return least, most
        # The root of a larger Q moves less: a step of q by q / (√Q + √(Q + q)).
        low, high = self.smallest, max(self.largest, np.finfo(float).tiny)
        far = [np.abs(q) / (low + np.sqrt(low**2 + np.abs(q)) + (q == 0)) for q in (least, most)]
        near = [np.abs(q) / (2 * high) for q in (least, most)]
        return np.where(least < 0, -far[0], near[0]), np.where(most > 0, far[1], -near[1])

    def _between(self, function: Callable[[Reals], Reals]) -> tuple[Reals, Reals]:
        """Return (d, T) twice: the least and the most that holding a player changes f(count) by."""
        bounds = self._bounds
        least, most = np.full(self._low.shape, np.inf), np.full(self._low.shape, -np.inf)
        for count in np.arange(self._low.min(initial=0), self._high.max(initial=0) + 1):
            change = function(count + bounds.held) - function(count + bounds.replaced)
            possible = (self._low <= count) & (count <= self._high)
            least = np.where(possible, np.minimum(least, change), least)
            most = np.where(possible, np.maximum(most, change), most)
        return least, most
