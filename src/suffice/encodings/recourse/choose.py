"""Choosing the options among the sets: those that are minimal under the cost order.

Where changes have no consequences, a set's change is the cheapest that its sweep confirmed. Where
they have, see `reliable`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from suffice.context.cost import cheapest_first
from suffice.decision import Decision
from suffice.encodings.recourse.actionable_sweep import ActionableSweep
from suffice.encodings.recourse.constraints import AllowedReferences, Constraints
from suffice.encodings.recourse.result import beyond
from suffice.encodings.recourse.set_counts import SetCounts, count_sets
from suffice.factors.order import no_dearer
from suffice.search.limits import LimitKeeper
from suffice.search.stop import Stop
from suffice.tables.table import Table
from suffice.typing import BoolVector, Counts, Reals
from suffice.wording import count

if TYPE_CHECKING:
    from suffice.encodings.recourse.consequences import Worlds

__all__ = [
    "Candidates",
    "Choices",
    "Chosen",
    "choose_observed",
    "find_candidates",
    "flipped",
    "stopped_by",
]

_AT_ONCE = 1 << 16
"""Rows put to the model together."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """The sets that may become options, and what the references tell of them."""

    decision: Decision
    constraints: Constraints
    actionable: ActionableSweep
    counts: SetCounts
    eligible: BoolVector
    """By position: sets small enough whose sufficiency reaches τ."""

    @property
    def whole(self) -> int:
        """The size up to which every set was looked at on every reference."""
        return min(self.actionable.whole, self.counts.whole)

    @property
    def everything(self) -> bool:
        """Was every set looked at that is not larger than asked for?"""
        d = self.counts.sets.d
        return self.whole >= min(d, self.constraints.max_size or d)

    @property
    def not_looked_at(self) -> tuple[str, ...]:
        """Which sets were not looked at, and what ended it; nothing where all were."""
        if self.everything:
            return ()
        tally, stop = self.actionable.sweep.tally, self.counts.stopped
        if not self.counts.counted[1:].any():
            each = f"each takes up to {count(tally.n, 'row')}, one per reference"
            return (f"{stopped_by(stop)} before any set of features was looked at: {each}.",)
        sizes = f"more than {count(self.whole, 'feature')}" if self.whole else "features"
        return (f"{stopped_by(stop)} before all sets of {sizes} were looked at.",)

    @property
    def affordable(self) -> Reals:
        """By position: the least cost of an eligible set, infinite where it is over the limit."""
        ok = self.eligible & no_dearer(self.counts.cost, self.constraints.max_cost)
        return np.where(ok, self.counts.cost, np.inf)

    def minimal(self, costs: Reals) -> Counts:
        """Positions of the sets that are minimal under the cost order: cheapest, then smallest."""
        positions = np.flatnonzero(self.counts.sets.minimal(costs))
        # Positions are by size, so where costs are equal the smaller set stays first.
        return positions[cheapest_first(costs[positions])]

    def rows_of(self, members: Sequence[int], row: int) -> Counts:
        """One row of the pool for the columns of these players, the input for all others."""
        rows = np.zeros(len(self.decision.pool.names), dtype=np.int64)
        rows[[j for m in members for j in self.actionable.players.columns[m]]] = row
        return rows

    def observed(self, position: int) -> Chosen:
        """A set with the values of its cheapest reference that succeeds."""
        counts = self.counts
        members = counts.sets.members(position)
        rows = self.rows_of(members, 1 + int(counts.reference[position]))
        return Chosen(members, float(counts.cost[position]), rows)


@dataclass(frozen=True, eq=False)
class Chosen:
    """An option in the making: its set, and the pool's row for each column's value."""

    members: tuple[int, ...]
    cost: float
    rows: Counts
    reliability: float = 1.0
    confirmed: bool = False
    """Has the model itself been asked about these very values?"""
    counts: tuple[int, int | None] | None = None
    """How many references are allowed and how many succeed; None: as in the candidates' counts."""


@dataclass(frozen=True, eq=False)
class Choices:
    """What was chosen, the pool that values come from, and why there may be others."""

    pool: Table
    chosen: list[Chosen]
    cut_short: tuple[str, ...] = ()
    more: int | None = 0
    """Further options that were left out; None: not looked for."""


def stopped_by(stop: Stop | None) -> str:
    """What ended a search, as the beginning of a sentence.

    >>> stopped_by(Stop("time_limit", 5.0)), stopped_by(Stop("patience", 10.0))[:18]
    ('Stopped by time_limit=5 s', 'Stopped by its 10 ')
    """
    return f"Stopped by {stop}" + ("," if stop is not None and stop.kind == "patience" else "")


def find_candidates(
    decision: Decision,
    constraints: Constraints,
    actionable: ActionableSweep,
    costs: Reals,
    only_swept: bool,
    keeper: LimitKeeper,
) -> Candidates:
    """Count the references on all sets, or only on swept ones; `costs` are those of all players."""
    allowed = AllowedReferences(decision.pool, actionable.players, constraints)
    d = len(actionable.numbers)
    largest = min(d, constraints.max_size or d)
    if only_swept:
        largest = min(largest, actionable.largest_swept)
    # A complete sweep tells necessity exactly, so all of it is looked at.
    look_at = d if actionable.sweep.tally.complete else largest
    own = costs[:, list(actionable.numbers)]
    counts = count_sets(actionable.sweep, allowed, own, look_at, keeper)
    eligible = counts.sets.sizes() <= largest
    if constraints.tau is not None:
        eligible &= counts.reaches(constraints.tau)
    return Candidates(decision, constraints, actionable, counts, eligible)


def flipped(
    decision: Decision,
    pool: Table,
    rows: Counts,
    keeper: LimitKeeper,
    worlds: Worlds | None = None,
    draws: Counts | None = None,
    at_least: int = 0,
) -> BoolVector:
    """Does the model give each row another outcome than the input has?

    Row i takes, in column j, the value of the pool's row rows[i, j]; row 0 of the pool is the
    input. With `worlds`, effects of what was changed follow, in world draws[i]. Rows at the end
    that a limit forbids to ask are left out; but `at_least` so many are asked whatever the time.
    """
    out = [np.empty(0, dtype=bool)]
    asked = 0
    while asked < len(rows):
        batch = keeper.batch(len(rows) - asked)
        if not batch and asked < at_least and keeper.timed:
            left = keeper.rows_left
            batch = min(at_least, len(rows)) - asked if left is None else min(at_least, left)
        if not batch:
            break
        part = slice(asked, asked + min(batch, _AT_ONCE))
        batch = len(rows[part])
        with keeper.counting(None, batch):
            table = pool.gather(rows[part])
            if worlds is not None:
                world = np.zeros(batch, dtype=np.int64) if draws is None else draws[part]
                table = worlds.after(table, rows[part] > 0, world)
            out.append(decision.target(table) != decision.y)
        keeper.note(batch)
        asked += batch
    return np.concatenate(out)


def choose_observed(candidates: Candidates, most: int | None) -> Choices:
    """Each set's cheapest reference that succeeds, for the sets that are minimal."""
    positions = candidates.minimal(candidates.affordable)
    chosen = [candidates.observed(int(position)) for position in positions[:most]]
    return Choices(candidates.decision.pool, chosen, more=beyond(most, len(positions)))
