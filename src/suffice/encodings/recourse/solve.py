"""Proposition 3 itself: the sets that are minimal under the cost order, subject to constraints."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suffice.context.cost import CostSpec, change_costs
from suffice.decision import Decision
from suffice.encodings.recourse.constraints import Constraints
from suffice.encodings.recourse.field import Field, is_causal, sweep_actionable
from suffice.encodings.recourse.grid_search import Purse
from suffice.encodings.recourse.on_grid import choose_on_grid
from suffice.encodings.recourse.options import Option
from suffice.encodings.recourse.reliability import choose_reliable
from suffice.encodings.recourse.setting import (
    Choices,
    Chosen,
    Setting,
    choose_observed,
    make_setting,
)
from suffice.encodings.recourse.survey import estimated_necessity
from suffice.errors import InputError, ModelError
from suffice.inference import clopper_pearson
from suffice.search.limits import EXHAUSTIVE_PLAYERS
from suffice.tables.table import plain

__all__ = ["Solution", "Solver"]


@dataclass(frozen=True)
class Solution:
    """Options, and why there may be others (None: there are none)."""

    options: tuple[Option, ...]
    cut_short: str | None = None


class Solver:
    """Solves for one decision under varying constraints; what is swept once is kept."""

    def __init__(
        self, decision: Decision, cost: CostSpec, values: str, progress: bool | None
    ) -> None:
        self.decision = decision
        self._cost = cost
        self._grid = values == "grid"
        self._progress = progress
        self._fields: dict[tuple[tuple[int, ...], int | None], Field] = {}
        self.prices = change_costs(decision.pool, decision.data, decision.players, cost)

    def solve(self, constraints: Constraints, n: int | None, purse: Purse) -> Solution:
        """The options under these constraints, cheapest first, at most n."""
        players = range(len(self.decision.players))
        numbers = tuple(p for p in players if p not in constraints.fixed)
        if not numbers:
            return Solution(())
        if self._grid and len(numbers) > EXHAUSTIVE_PLAYERS:
            got = f"'grid' with {len(numbers)} features that can change"
            hint = "Name those that can change in actionable."
            raise InputError("values", got, f"at most {EXHAUSTIVE_PLAYERS} for a grid", hint)
        here = self._swept(numbers, constraints.max_size)
        setting = make_setting(self.decision, constraints, here, self.prices)
        if self._grid:
            choices = choose_on_grid(setting, self._cost, n, purse, self._progress)
        elif is_causal(self.decision):
            choices = choose_reliable(setting, n)
        else:
            choices = choose_observed(setting, n)
        if not is_causal(self.decision):  # where draws differ, reliability says what this would
            self._verify(choices)
        members = [chosen.members for chosen in choices.chosen]
        necessity = (
            setting.survey.necessity(members)
            if here.sweep.tally.complete
            else estimated_necessity(here.sweep, setting.allowed, self.decision.seed, members)
        )
        options = [
            _option(setting, choices, chosen, pn)
            for chosen, pn in zip(choices.chosen, necessity, strict=True)
        ]
        return Solution(tuple(options), choices.cut_short)

    def _swept(self, numbers: tuple[int, ...], max_size: int | None) -> Field:
        key = numbers, None if max_size is None or max_size >= len(numbers) else max_size
        if key not in self._fields:
            self._fields[key] = sweep_actionable(self.decision, *key, self._progress)
        return self._fields[key]

    def _verify(self, choices: Choices) -> None:
        """Ask the model itself about every option's row, all in one batch."""
        if not choices.chosen:
            return
        rows = choices.pool.gather(np.stack([chosen.rows for chosen in choices.chosen]))
        if (self.decision.target(rows) == self.decision.y).any():
            raise ModelError(
                "the model answers differently when asked twice about the same row: a change that "
                "gave the desired outcome in the search does not give it now. Recourse needs a "
                "model whose answer depends on the row alone."
            )


def _option(setting: Setting, choices: Choices, chosen: Chosen, necessity: float | None) -> Option:
    survey, players, pool = setting.survey, setting.here.players, choices.pool
    columns = sorted(j for m in chosen.members for j in players.columns[m])
    position = survey.sets.position(chosen.members)
    n, hits = int(survey.n[position]), int(survey.hits[position])
    low, high = clopper_pearson(hits, max(n, 1))
    return Option(
        features=tuple(players.names[m] for m in chosen.members),
        values={pool.names[j]: plain(pool.column(j)[chosen.rows[j]]) for j in columns},
        old={pool.names[j]: plain(pool.column(j)[0]) for j in columns},
        cost=chosen.cost,
        sufficiency=hits / n if n else None,
        interval=(float(low), float(high)) if n else None,
        n=n,
        necessity=necessity,
        reliability=chosen.reliability,
    )
