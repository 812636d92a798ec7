"""Choosing the options among the sets: those that are minimal under the cost order.

Where changes have no consequences, a set's change is the cheapest that its sweep confirmed. Where
consequences are drawn at random, a reference that succeeded may have been lucky: its values were
tried once, with one draw of what follows. So they are tried with every draw that the context has,
and a set whose values are not reliable enough tries its next cheapest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

import numpy as np

from suffice.context.cost import cheapest_first
from suffice.decision import Decision
from suffice.encodings.recourse.actionable_sweep import ActionableSweep
from suffice.encodings.recourse.constraints import AllowedReferences, Constraints
from suffice.encodings.recourse.request import RecourseRequest
from suffice.encodings.recourse.set_counts import SetCounts, count_sets
from suffice.factors.order import no_dearer
from suffice.search.limits import LimitKeeper
from suffice.search.stop import Stop
from suffice.tables.cells import distinct_rows
from suffice.tables.table import Table
from suffice.typing import BoolVector, Counts, Reals
from suffice.wording import count, percent

__all__ = [
    "Candidates",
    "Choices",
    "Chosen",
    "choose_observed",
    "choose_reliable",
    "find_candidates",
    "flipped",
]

_TRIED = 10
"""So many different changes of a set are tried, cheapest first."""
_LIKELY = 0.5
"""Without τ, a change must work at least this often."""


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

    def not_looked_at(self, request: RecourseRequest) -> tuple[str, ...]:
        """Which sets were not looked at, and what ended it."""
        sweep = self.actionable.sweep
        stop = None if sweep.tally.complete else sweep.stopped
        if stop is None or stop.kind == "max_size":
            stop = request.out_of_time
        stopped = request.stopped(stop)
        if not self.counts.counted[1:].any():
            each = f"each takes up to {count(sweep.tally.n, 'row')}, one per reference"
            return (f"{stopped} before any set of features was looked at: {each}.",)
        sizes = f"more than {count(self.whole, 'feature')}" if self.whole else "features"
        return (f"{stopped} before all sets of {sizes} were looked at.",)

    @property
    def affordable(self) -> Reals:
        """By position: the least cost of an eligible set, infinite where it is over the limit."""
        ok = self.eligible & no_dearer(self.counts.cost, self.constraints.max_cost)
        return np.where(ok, self.counts.cost, np.inf)

    def minimal(self, costs: Reals, most: int | None) -> Counts:
        """Positions of the sets that are minimal under the cost order: cheapest, then smallest."""
        positions = np.flatnonzero(self.counts.sets.minimal(costs))
        # Positions are by size, so where costs are equal the smaller set stays first.
        return positions[cheapest_first(costs[positions])][:most]

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


def flipped(decision: Decision, pool: Table, rows: Counts, keeper: LimitKeeper) -> BoolVector:
    """Does the model give each row another outcome than the input has?

    Row i takes, in column j, the value of the pool's row rows[i, j]. Rows at the end that a limit
    forbids to ask are left out.
    """
    out = [np.empty(0, dtype=bool)]
    asked = 0
    while asked < len(rows):
        batch = keeper.batch(len(rows) - asked)
        if not batch:
            break
        with keeper.counting(None, batch):
            out.append(decision.target(pool.gather(rows[asked : asked + batch])) != decision.y)
        keeper.note(batch)
        asked += batch
    return np.concatenate(out)


def choose_observed(candidates: Candidates, most: int | None) -> Choices:
    """Each set's cheapest reference that succeeds, for the sets that are minimal."""
    positions = candidates.minimal(candidates.affordable, most)
    chosen = [candidates.observed(int(position)) for position in positions]
    return Choices(candidates.decision.pool, chosen)


def choose_reliable(candidates: Candidates, most: int | None, keeper: LimitKeeper) -> Choices:
    """Take sets in order of cost; accept one if its change works in enough of the draws.

    In that order no later change is cheaper, so a set that contains an accepted one is done with.
    """
    counts, decision = candidates.counts, candidates.decision
    max_cost, tau = candidates.constraints.max_cost, candidates.constraints.tau
    least = _LIKELY if tau is None else tau
    affordable, sizes = candidates.affordable, counts.sets.sizes()
    queue = [
        (float(affordable[p]), int(sizes[p]), int(p), 0)
        for p in np.flatnonzero(affordable < np.inf)
    ]
    heapify(queue)
    codes = decision.pool.codes()
    tries: dict[int, tuple[Counts, Reals]] = {}
    chosen: list[Chosen] = []
    given_up, stop = 0, None
    while queue and not _enough(chosen, most, queue[0][0]):
        cost, size, position, at = heappop(queue)
        members = counts.sets.members(position)
        if any(set(accepted.members) <= set(members) for accepted in chosen):
            continue
        if position not in tries:
            tries[position] = _different(candidates, members, codes)
        references, prices = tries[position]
        if at >= len(references):
            continue  # no change of all its features gave the desired outcome
        if prices[at] > cost:
            heappush(queue, (float(prices[at]), size, position, at))
            continue
        stop = keeper.forbids(len(decision.references))
        if stop is not None:
            break
        row = 1 + int(references[at])
        numbers = [candidates.actionable.numbers[m] for m in members]
        share = _reliability(decision, numbers, row, keeper)
        more = at + 1 < len(references) and no_dearer(prices[at + 1], max_cost)
        if share >= least:
            # A smaller set of equal cost may come later, where rounding put it second.
            chosen = [old for old in chosen if not set(members) < set(old.members)]
            rows = candidates.rows_of(members, row)
            chosen.append(Chosen(members, cost, rows, share, confirmed=True))
        elif more and at + 1 < _TRIED:
            heappush(queue, (float(prices[at + 1]), size, position, at + 1))
        elif more:
            given_up += 1
    order = cheapest_first(np.array([option.cost for option in chosen]))
    by_cost = [chosen[i] for i in order][:most]
    return Choices(decision.pool, by_cost, _why_cut_short(given_up, least, stop))


def _enough(chosen: list[Chosen], most: int | None, next_cost: float) -> bool:
    """Are there enough options, and does the next cost more than the last of them?"""
    if most is None or len(chosen) < most:
        return False
    return not no_dearer(next_cost, chosen[-1].cost)


def _why_cut_short(given_up: int, least: float, stop: Stop | None) -> tuple[str, ...]:
    said = []
    if given_up:
        said.append(
            f"For {count(given_up, 'set')} of features the {_TRIED} cheapest changes work in fewer "
            f"than {percent(least)} of the draws, and dearer ones were not tried."
        )
    if stop is not None:
        said.append(f"Stopped by {stop} before every change was tried.")
    return tuple(said)


def _different(
    candidates: Candidates, members: tuple[int, ...], codes: Counts
) -> tuple[Counts, Reals]:
    """The set's successful changes, each once, cheapest first.

    Every feature must really change. Setting one to what it is would draw its effects afresh, and
    luck is not an action that anyone could take.
    """
    columns_of = candidates.actionable.players.columns
    references, prices = candidates.counts.changes(members)
    changed = codes[1 + references] != codes[0]
    of_each = [changed[:, list(columns_of[m])].any(axis=1) for m in members]
    acts = np.logical_and.reduce(of_each)
    references, prices = references[acts], prices[acts]
    columns = [j for m in members for j in columns_of[m]]
    _, first = distinct_rows(codes[1 + references][:, columns])
    return references[first], prices[first]


def _reliability(decision: Decision, replaced: list[int], row: int, keeper: LimitKeeper) -> float:
    """The share of the context's draws in which the input, given this row's values, succeeds."""
    copies = decision.pool.take(np.full(len(decision.references), row, dtype=np.int64))
    _, flip = decision.context.bind(decision.row.stack(copies), decision.players, decision.seed)
    evaluator = decision.evaluator(flip)
    held = np.ones((1, flip.d), dtype=bool)
    held[0, replaced] = False
    with keeper.counting(evaluator, flip.n):
        kept = evaluator.outcomes(held)
    return 1.0 - float(kept.mean())
