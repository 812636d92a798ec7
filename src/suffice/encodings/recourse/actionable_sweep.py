"""The sweep behind a search for recourse: outcomes of all sets of the players that can change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from suffice.context.players import Players
from suffice.context.swap import SwapHybrids
from suffice.decision import Decision
from suffice.evaluate import Evaluator, Tick
from suffice.search.limits import LimitKeeper
from suffice.search.question import Question
from suffice.search.sweep import Sweep, run_sweep
from suffice.tables.table import Table
from suffice.typing import BoolVector, Counts, Held, Outcomes
from suffice.wording import count

__all__ = ["ActionableSweep", "sweep_actionable"]

_MOST = 1 << 22
"""Of one size: a size that a limit left half done is dropped if it has more."""


@dataclass(frozen=True, eq=False)
class ActionableSweep:
    """The actionable players, with their own columns, and the outcomes of their sets."""

    numbers: tuple[int, ...]
    """Their numbers among all players."""
    players: Players
    sweep: Sweep

    @property
    def largest_swept(self) -> int:
        """The largest size of which sets were swept, and few enough of them to look at all."""
        return max(
            (k for k, swept, width in self._by_size() if swept and width <= _MOST), default=0
        )

    @property
    def cut_short(self) -> tuple[str, ...]:
        """What is to be said where a limit ended the sweep; a size is no such limit."""
        stop = self.sweep.stopped
        if stop is None or stop.kind == "max_size":
            return ()
        if not self.largest_swept:
            each = f"each takes up to {count(self.sweep.tally.n, 'row')}, one per reference"
            return (f"Stopped by {stop} before any set of features was looked at: {each}.",)
        whole = min(size for size, swept, width in self._by_size() if swept < width) - 1
        sizes = f"more than {count(whole, 'feature')}" if whole else "features"
        return (f"Stopped by {stop} before all sets of {sizes} were looked at.",)

    def _by_size(self) -> Iterator[tuple[int, int, int]]:
        """(size of a set replaced, how many were swept, how many there are)."""
        lattice = self.sweep.tally.lattice
        for size in range(lattice.d + 1):
            yield size, len(self.sweep.bits[lattice.d - size]), lattice.width(size)


def sweep_actionable(
    decision: Decision,
    numbers: tuple[int, ...],
    max_size: int | None,
    keeper: LimitKeeper,
    share: float,
    progress: bool | None,
) -> ActionableSweep:
    """Evaluate the sets of these players on every reference; all others keep the input's values.

    A share of what the limits still allow may be used.
    """
    players = Players(
        tuple(decision.players.names[p] for p in numbers),
        tuple(decision.players.columns[p] for p in numbers),
    )
    d = len(numbers)
    limits = replace(keeper.limits, max_size=max_size).checked(d)
    left = replace(limits, budget=keeper.rows_left)
    evaluator: Evaluator
    if decision.context.is_causal:
        flip = decision.hybrids[1]
        evaluator = _Among(decision.evaluator(flip, left, limits.none), numbers, flip.d)
    else:
        evaluator = decision.evaluator(_swapped(decision.pool, players), left, limits.none)
    keeper.note(evaluator.rows_predicted)  # an engine checks itself on a few rows when it is made
    question = Question(limits=limits, seed=decision.seed, progress=progress, ends="replaced")
    return ActionableSweep(numbers, players, run_sweep(evaluator, d, question, keeper.part(share)))


def _swapped(pool: Table, players: Players) -> SwapHybrids:
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

    @property
    def seconds_per_row(self) -> float | None:
        return self._evaluator.seconds_per_row

    def outcomes(self, held: Held, tick: Tick | None = None) -> Outcomes:
        return self._evaluator.outcomes(self._all(held), tick)

    def outcomes_of(self, held: Held, references: Counts) -> BoolVector:
        return self._evaluator.outcomes_of(self._all(held), references)

    def _all(self, held: Held) -> Held:
        out = np.ones((len(held), self._d), dtype=bool)
        out[:, self._numbers] = held
        return out
