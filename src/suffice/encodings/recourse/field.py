"""The sweep behind a search for recourse: outcomes of all sets of the players that can change."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suffice.context.players import Players
from suffice.context.swap import SwapContext, SwapHybrids
from suffice.decision import Decision
from suffice.errors import InputError
from suffice.evaluate import Evaluator, Tick
from suffice.search.limits import Limits
from suffice.search.question import Question
from suffice.search.sweep import Sweep, run_sweep
from suffice.tables.table import Table
from suffice.typing import Counts, Held, Outcomes

__all__ = ["Field", "check_context", "is_causal", "sweep_actionable"]


@dataclass(frozen=True, eq=False)
class Field:
    """The actionable players, with their own columns, and the outcomes of their sets."""

    numbers: tuple[int, ...]
    """Their numbers among all players."""
    players: Players
    sweep: Sweep


def is_causal(decision: Decision) -> bool:
    """Do changes have consequences (a causal context)?"""
    return decision.context.is_causal


def check_context(decision: Decision) -> None:
    """Raise for a context whose rows are drawn and not chosen."""
    if not (isinstance(decision.context, SwapContext) or is_causal(decision)):
        raise InputError(
            "context",
            decision.context.describe(),
            "values swapped, or a causal context",
            "Recourse needs changes that can be chosen and carried out; here the values come "
            "with what is held.",
        )


def sweep_actionable(
    decision: Decision, numbers: tuple[int, ...], max_size: int | None, progress: bool | None
) -> Field:
    """Evaluate the sets of these players on every reference; all others keep the input's values."""
    players = Players(
        tuple(decision.players.names[p] for p in numbers),
        tuple(decision.players.columns[p] for p in numbers),
    )
    d = len(numbers)
    limits = Limits(max_size=None if max_size is None or max_size >= d else max_size).checked(d)
    evaluator: Evaluator
    if is_causal(decision):
        flip = decision.hybrids[1]
        evaluator = _Among(decision.evaluator(flip, limits), numbers, flip.d)
    else:
        context = _swap_context(decision.pool, players)
        evaluator = decision.evaluator(context, limits, limits.none)
    question = Question(limits=limits, seed=decision.seed, progress=progress)
    return Field(numbers, players, run_sweep(evaluator, d, question))


def _swap_context(pool: Table, players: Players) -> SwapHybrids:
    """Hybrids of the actionable players only, as any engine knows them.

    Elsewhere the references carry the input's values. So it does not matter which player those
    columns are counted with, and the first takes them.
    """
    free = [j for columns in players.columns for j in columns]
    fixed = np.ones(len(pool.names), dtype=bool)
    fixed[free] = False
    rows = len(pool)
    like_input = pool.splice(np.broadcast_to(fixed, (rows, len(fixed))), np.arange(rows))
    first = (*players.columns[0], *np.flatnonzero(fixed).tolist())
    return SwapHybrids(like_input, Players(players.names, (first, *players.columns[1:])))


class _Among:
    """An evaluator of all players, asked about sets of some of them: the rest are held."""

    def __init__(self, evaluator: Evaluator, numbers: tuple[int, ...], d: int) -> None:
        self.name, self.note = evaluator.name, evaluator.note
        self.seconds_per_row = evaluator.seconds_per_row
        self.rows_predicted = 0
        self.model_seconds = 0.0
        self._evaluator = evaluator
        self._numbers = list(numbers)
        self._d = d

    @property
    def n(self) -> int:
        return self._evaluator.n

    def outcomes(self, held: Held, tick: Tick | None = None) -> Outcomes:
        out = self._evaluator.outcomes(self._all(held), tick)
        self._note()
        return out

    def outcomes_of(self, held: Held, references: Counts) -> Outcomes:
        out = self._evaluator.outcomes_of(self._all(held), references)
        self._note()
        return out

    def _note(self) -> None:
        self.rows_predicted = self._evaluator.rows_predicted
        self.model_seconds = self._evaluator.model_seconds

    def _all(self, held: Held) -> Held:
        out = np.ones((len(held), self._d), dtype=bool)
        out[:, self._numbers] = held
        return out
