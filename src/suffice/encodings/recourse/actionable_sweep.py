"""The players that can change, and the sweep behind a search: outcomes of all sets of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import comb

import numpy as np

from suffice.context.players import Players
from suffice.context.swap import SwapHybrids
from suffice.decision import Decision
from suffice.evaluate import BlackBox, Evaluator, LatticeEvaluator, Tick
from suffice.search.limits import EXHAUSTIVE_PLAYERS, LimitKeeper, Limits
from suffice.search.question import Question
from suffice.search.sweep import Sweep, run_sweep
from suffice.typing import BoolVector, Counts, Held, Outcomes

__all__ = ["FEW_ROWS", "Actionable", "ActionableSweep", "find_actionable", "sweep_actionable"]

_MOST = 1 << 22
"""Of one size: a size that a limit left half done is dropped if it has more."""
_BYTES = 1 << 30
"""What is kept of all sets may take so much memory."""
FEW_ROWS = 1 << 12
"""So few rows are asked without predicting how long it takes: a first call is a slow one."""
_AT_ONCE = 1 << 22
"""So few hybrids are no work for an engine: how fast it is need not be measured."""
_LOOKED_AT = 4e-8
"""Seconds in which one hybrid of a sweep is looked at."""
_SAFELY = 0.4
"""A sweep of the whole lattice cannot be stopped: it must be predicted to take no more than this
part of the time."""


@dataclass(frozen=True, eq=False)
class Actionable:
    """The players that can change, with their own columns, and what tells their sets' outcomes."""

    numbers: tuple[int, ...]
    """Their numbers among all players."""
    players: Players
    evaluator: Evaluator
    rows: float
    """At most so many rows are different among the hybrids of all sets."""
    hybrids: SwapHybrids | None
    """What is evaluated; None where changes have consequences."""

    def model(self, decision: Decision, patience: float | None) -> Evaluator:
        """The model itself, asked about the same hybrids."""
        assert self.hybrids is not None
        return BlackBox(decision.target, self.hybrids, decision.y, patience=patience)

    def prepare(self) -> None:
        """Make ready for seconds of work, where that takes a moment and saves most of them."""
        if self.evaluator.name == "trees":
            from suffice.evaluate.trees.blocks import load_numba

            load_numba()

    def sets(self, max_size: int | None) -> int:
        """How many sets of up to so many players there are."""
        d = len(self.numbers)
        return sum(comb(d, size) for size in range(min(d, max_size or d) + 1))

    def may_end_early(self, max_size: int | None, keeper: LimitKeeper) -> bool:
        """Will a limit perhaps end the sweep before all sets were looked at?"""
        rows, seconds = keeper.rows_left, keeper.seconds_left
        if rows is not None and min(self.rows, self.sets(max_size) * self.evaluator.n) > rows / 2:
            return True
        return seconds is not None and self.seconds(max_size) > _SAFELY * seconds

    def seconds(self, max_size: int | None) -> float:
        """About how long it takes to look at all sets of up to so many players; inf: too many.

        0 where so little has to be asked that it need not be known.
        """
        d, n = len(self.numbers), self.evaluator.n
        sets = self.sets(max_size)
        if sets * (n // 8 + 64) > _BYTES or sets > 1 << EXHAUSTIVE_PLAYERS:
            return np.inf
        rows = min(self.rows, sets * n)
        if rows <= FEW_ROWS:
            return 0.0
        looked_at = _LOOKED_AT * sets * n
        if sets == 1 << d and isinstance(self.evaluator, LatticeEvaluator):
            measured = sets * n > _AT_ONCE
            return looked_at + (self.evaluator.sweep_seconds() if measured else 0.0)
        return looked_at + rows * (self.evaluator.pace() or 0.0)


@dataclass(frozen=True, eq=False)
class ActionableSweep:
    """The outcomes of sets of the players that can change."""

    actionable: Actionable
    sweep: Sweep

    @property
    def numbers(self) -> tuple[int, ...]:
        """Their numbers among all players."""
        return self.actionable.numbers

    @property
    def players(self) -> Players:
        """They themselves, with their own columns."""
        return self.actionable.players

    @property
    def largest_swept(self) -> int:
        """The largest size of which sets were swept, and few enough of them to look at all."""
        return max(
            (k for k, swept, width in self._by_size() if swept and width <= _MOST), default=0
        )

    @property
    def whole(self) -> int:
        """The size up to which all sets were swept."""
        d = self.sweep.tally.d
        return min((k for k, swept, width in self._by_size() if swept < width), default=d + 1) - 1

    def _by_size(self) -> Iterator[tuple[int, int, int]]:
        """(size of a set replaced, how many were swept, how many there are)."""
        lattice = self.sweep.tally.lattice
        for size in range(lattice.d + 1):
            yield size, self.sweep.tally.listed(lattice.d - size), lattice.width(size)


def find_actionable(
    decision: Decision, numbers: tuple[int, ...], keeper: LimitKeeper, bounded: bool
) -> Actionable:
    """The players of these numbers; all others keep the input's values."""
    players = Players(
        tuple(decision.players.names[p] for p in numbers),
        tuple(decision.players.columns[p] for p in numbers),
    )
    left = replace(keeper.limits, max_size=None, budget=keeper.rows_left)
    evaluator: Evaluator
    hybrids = None
    if decision.context.is_causal:
        flip = decision.hybrids[1]
        evaluator = _Among(decision.evaluator(flip, left, not bounded), numbers, flip.d)
        rows = float(flip.n << len(numbers))
    else:
        hybrids = SwapHybrids(decision.pool, decision.players).among(numbers)
        evaluator = decision.evaluator(hybrids, left, not bounded)
        rows = _distinct(hybrids)
    keeper.note(evaluator.rows_predicted)  # an engine checks itself on a few rows when it is made
    return Actionable(numbers, players, evaluator, rows, hybrids)


def sweep_actionable(
    actionable: Actionable,
    max_size: int | None,
    keeper: LimitKeeper,
    seed: int,
    progress: bool | None,
) -> ActionableSweep:
    """Evaluate the sets of these players on every reference, as far as the limits allow."""
    d, limits = len(actionable.numbers), replace(keeper.limits, max_size=max_size)
    left = keeper.seconds_left
    if left is not None and limits.budget is None and max_size is None:
        # A sweep of the whole lattice is so much faster that it is worth a prediction.
        lattice = isinstance(actionable.evaluator, LatticeEvaluator)
        if lattice and actionable.seconds(None) <= _SAFELY * left:
            limits = Limits()
    question = Question(limits=limits, seed=seed, progress=progress, ends="replaced")
    return ActionableSweep(actionable, run_sweep(actionable.evaluator, d, question, keeper))


def _distinct(hybrids: SwapHybrids) -> float:
    """The most distinct rows: a reference that shares values with the input makes fewer."""
    moved = (hybrids.codes[1:] != hybrids.codes[0]).sum(axis=1)
    with np.errstate(over="ignore"):
        return float(np.exp2(moved.astype(float)).sum())


class _Among:
    """An evaluator of all players, asked about sets of some of them: the rest are held."""

    def __init__(self, evaluator: Evaluator, numbers: tuple[int, ...], d: int) -> None:
        self._evaluator = evaluator
        self._numbers = list(numbers)
        self._d = d

    @property
    def name(self) -> str:
        return self._evaluator.name

    @property
    def note(self) -> str | None:
        return self._evaluator.note

    @property
    def n(self) -> int:
        return self._evaluator.n

    @property
    def rows_predicted(self) -> int:
        return self._evaluator.rows_predicted

    @property
    def model_seconds(self) -> float:
        return self._evaluator.model_seconds

    def pace(self) -> float | None:
        return self._evaluator.pace()

    def outcomes(self, held: Held, tick: Tick | None = None) -> Outcomes:
        return self._evaluator.outcomes(self._all(held), tick)

    def outcomes_of(self, held: Held, references: Counts) -> BoolVector:
        return self._evaluator.outcomes_of(self._all(held), references)

    def _all(self, held: Held) -> Held:
        out = np.ones((len(held), self._d), dtype=bool)
        out[:, self._numbers] = held
        return out
