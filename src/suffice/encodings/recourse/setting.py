"""All that is known of one search before anything is chosen, and what a choice is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from suffice.decision import Decision
from suffice.encodings.recourse.allowed import Allowed
from suffice.encodings.recourse.constraints import Constraints
from suffice.encodings.recourse.field import Field
from suffice.encodings.recourse.survey import Survey, take_survey
from suffice.tables.table import Table
from suffice.typing import BoolVector, Counts, Reals

__all__ = ["Choices", "Chosen", "Setting", "choose_observed", "make_setting"]


@dataclass(frozen=True, eq=False)
class Setting:
    """The decision, who may change and how, and what the references tell of every set."""

    decision: Decision
    constraints: Constraints
    here: Field
    allowed: Allowed
    costs: Reals
    """(references, actionable players)."""
    survey: Survey
    eligible: BoolVector
    """By position: sets small enough whose sufficiency reaches τ."""

    def rows_of(self, members: Sequence[int], row: int) -> Counts:
        """One row of the pool for the columns of these players, the input for all others."""
        rows = np.zeros(len(self.decision.pool.names), dtype=np.int64)
        rows[[j for m in members for j in self.here.players.columns[m]]] = row
        return rows

    def cheapest(self, costs: Reals, n: int | None) -> Counts:
        """Positions of the sets that are minimal under the cost order: cheapest, then smallest."""
        positions = np.flatnonzero(self.survey.sets.minimal(costs))
        # Positions are by size, so a stable sort breaks ties by it.
        return positions[np.argsort(costs[positions], kind="stable")][:n]


@dataclass(frozen=True, eq=False)
class Chosen:
    """An option in the making: its set, and the pool's row for each column's value."""

    members: tuple[int, ...]
    cost: float
    rows: Counts
    reliability: float = 1.0


@dataclass(frozen=True, eq=False)
class Choices:
    """What was chosen, the pool that values come from, and why there may be others."""

    pool: Table
    chosen: list[Chosen]
    cut_short: str | None = None


def make_setting(
    decision: Decision, constraints: Constraints, here: Field, prices: Reals
) -> Setting:
    """Survey the swept sets; `prices` are the costs of all players."""
    allowed = Allowed(decision.pool, here.players, constraints.rules, constraints.forbidden)
    costs = prices[:, list(here.numbers)]
    d = len(here.numbers)
    largest = min(d, constraints.max_size or d)
    # A complete sweep tells necessity exactly, so all of it is looked at.
    survey = take_survey(here.sweep, allowed, costs, d if here.sweep.tally.complete else largest)
    eligible = survey.sets.sizes() <= largest
    if constraints.tau is not None:
        eligible &= (survey.n > 0) & (survey.sufficiency >= constraints.tau)
    return Setting(decision, constraints, here, allowed, costs, survey, eligible)


def choose_observed(setting: Setting, n: int | None) -> Choices:
    """Each set's cheapest reference that succeeds, for the sets that are minimal."""
    survey = setting.survey
    affordable = setting.eligible & (survey.cost <= setting.constraints.max_cost)
    chosen = []
    for position in setting.cheapest(np.where(affordable, survey.cost, np.inf), n):
        members = survey.sets.members(int(position))
        rows = setting.rows_of(members, 1 + int(survey.reference[position]))
        chosen.append(Chosen(members, float(survey.cost[position]), rows))
    return Choices(setting.decision.pool, chosen)
