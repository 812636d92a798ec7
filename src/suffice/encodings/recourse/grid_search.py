"""The cheapest combination for every set, found exactly by going through the grid by cost.

Each combination belongs to one set: the players that it changes. Going up in cost, the first that
the model confirms is its set's cheapest, and nothing dearer in that set or in a larger one is
minimal under the cost order; those are never asked about. The grid is taken in slabs of cost, each
asked in large batches, so a slab may hold a few combinations that a stricter order would have
skipped; the answer is the same.

A set's changes are the references' joint values, as without a grid, and all combinations in which
*every* member takes another value: one that lets a member stay is a change of the smaller set. So
the search starts from what the references tell, and improves on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from suffice.context.cost import total_costs
from suffice.decision import Decision
from suffice.encodings.recourse.choose import Candidates, Choices, Chosen, flipped, stopped_by
from suffice.encodings.recourse.constraints import Constraints, satisfied
from suffice.encodings.recourse.grid import Grid, Points, make_grid
from suffice.encodings.recourse.request import RecourseRequest
from suffice.encodings.recourse.result import beyond
from suffice.factors.lattice import masks_by_size, over_supersets
from suffice.factors.order import ROUNDING, no_dearer
from suffice.progress import progress_bar
from suffice.search.limits import LimitKeeper
from suffice.search.stop import Stop
from suffice.typing import BoolVector, Counts, Reals

if TYPE_CHECKING:
    from suffice.encodings.recourse.consequences import Worlds

__all__ = ["choose_on_grid"]

_BATCH = 1 << 15
_FEW = 1 << 12


def choose_on_grid(
    candidates: Candidates, request: RecourseRequest, most: int | None, keeper: LimitKeeper
) -> Choices:
    """Each set's cheapest combination, for the sets that are minimal under the cost order."""
    decision, constraints = candidates.decision, candidates.constraints
    sets, known = candidates.counts.sets, candidates.affordable
    worlds = None
    if decision.context.is_causal:
        from suffice.encodings.recourse.consequences import the_world

        worlds = the_world(decision, candidates.actionable.players)
        # A reference may have succeeded with a feature set to what it is, which is no change of it.
        known = np.full(len(sets), np.inf)
    masks = masks_by_size(sets.d)[: len(sets)]
    cost = decision.cost if request.cost is None else request.cost
    grid = make_grid(decision, candidates.actionable.players, constraints.rules, cost)

    def least(best: GridBest) -> Reals:
        by_mask = np.full(1 << sets.d, np.inf)
        for mask, (price, _) in best.found.items():
            by_mask[mask] = price
        return np.asarray(np.minimum(known, by_mask[masks]))

    def enough(best: GridBest, below: float) -> bool:
        if most is None:
            return False
        costs = least(best)
        # All that costs less than `below` is known, so these cannot be improved on or preceded.
        sure = sets.minimal(costs) & (costs * (1 + 2 * ROUNDING) < below)
        return int(sure.sum()) >= most

    wanted = np.zeros(1 << sets.d, dtype=bool)
    wanted[masks[1:]] = candidates.eligible[1:]
    reach = np.full(1 << sets.d, np.inf)
    reach[masks] = np.minimum(known, sets.least_inside(known))
    reach[~over_supersets(wanted.copy(), np.logical_or)] = -1.0  # not inside a wanted one
    # What the grid does not improve on has yet to be verified, a row for each.
    searching = keeper.keeping_back(len(candidates.minimal(known)[:most]))
    search = _GridSearch(grid, decision, worlds, constraints, wanted, reach, searching)
    best = search.run(enough, request.progress)
    costs = least(best)
    positions = candidates.minimal(costs)
    chosen = []
    for position in positions[:most]:
        option = candidates.observed(int(position))
        if costs[position] < known[position]:
            price, rows = best.found[int(masks[position])]
            option = Chosen(option.members, price, rows, confirmed=True)
        chosen.append(option)
    ended_early = best.stop is None and best.exact_below < np.inf
    more = None if ended_early else beyond(most, len(positions))
    return Choices(grid.pool, chosen, _why_cut_short(best), more)


@dataclass
class GridBest:
    """What the grid has that is cheaper than what the references tell."""

    found: dict[int, tuple[float, Counts]] = field(default_factory=dict)
    """By bit mask of the players changed: the least cost, and the rows that values come from."""
    stop: Stop | None = None
    """The limit that ended the search; None where it was not cut short."""
    exact_below: float = np.inf
    """Every cheaper combination was dealt with."""


@dataclass(frozen=True, eq=False)
class _GridSearch:
    """Improves on what is known; by bit mask, `wanted` sets are those that may become options."""

    grid: Grid
    decision: Decision
    worlds: Worlds | None
    """What follows from changes, where anything does."""
    constraints: Constraints
    wanted: BoolVector
    reach: Reals
    """The least cost known for a wanted set or one inside it; -1 for sets inside no wanted one.
    It is lowered as cheaper combinations are found, and never rises as a set grows."""
    keeper: LimitKeeper

    def run(self, enough: Callable[[GridBest, float], bool], progress: bool | None) -> GridBest:
        """Go up in cost; `enough(best, cost)` may stop it when all below that cost is known."""
        best, keeper = GridBest(), self.keeper
        low, asked = 0.0, 0
        # Slabs as narrow as the smallest cost would be many; most of what counts lies near `known`.
        known = float(self.reach[self.wanted].min(initial=np.inf))
        width = max(self.grid.first_step, known / 4 if known < np.inf else 0.0)
        dearest = min(self.constraints.max_cost, self.grid.dearest)
        top = dearest * (1 + 2 * ROUNDING) + np.finfo(float).tiny  # past the last, whatever it is
        with progress_bar("rows", progress=progress) as bar:
            while low < top and not enough(best, low) and (self.reach > low).any():
                high = min(low + width, top)
                before = keeper.rows
                for points in _batches(self.grid.points(low, high, self.reach, self.wanted)):
                    spent = keeper.rows
                    best.stop = self._ask(points, best)
                    bar.update(keeper.rows - spent)
                    if best.stop is not None:
                        best.exact_below = low
                        return best
                in_slab = keeper.rows - before
                asked += in_slab
                # About a quarter of all so far: little is asked in vain past the last that counts.
                aim = max(_FEW, asked // 4)
                width *= 2.0 if in_slab < aim else 0.5 if in_slab > 4 * aim else 1.0
                low = high
        if low < top and (self.reach > low).any():
            best.exact_below = low
        return best

    def _ask(self, points: Points, best: GridBest) -> Stop | None:
        """Put some combinations to the model; the limit that forbids it, if one does."""
        rows = self.grid.picks(points)
        ok = points.cost < self.reach[points.mask] * (1 + ROUNDING)  # it may have been lowered
        for factor in self.constraints.forbidden:
            ok &= ~satisfied(factor, self.grid.pool, rows)
        self.keeper.cover(int((~ok).sum()))
        at = np.flatnonzero(ok)
        flips = flipped(self.decision, self.grid.pool, rows[at], self.keeper, self.worlds)
        found = at[: len(flips)][flips]
        self._note(best, points.some(found), rows[found])
        return self.keeper.forbids(min(1, len(at) - len(flips)))

    def _note(self, best: GridBest, points: Points, rows: Counts) -> None:
        """Remember the cheapest confirmed combination of each set."""
        costs = total_costs(self.grid.parts(points))
        masks = np.arange(len(self.reach))
        for i in np.argsort(costs, kind="stable"):
            mask, cost = int(points.mask[i]), float(costs[i])
            if cost < self.reach[mask] and no_dearer(cost, self.constraints.max_cost):
                best.found[mask] = cost, rows[i]
                around = (masks & mask) == mask
                self.reach[around] = np.minimum(self.reach[around], cost)


def _batches(parts: Iterator[Points]) -> Iterator[Points]:
    """Join small pieces: a model is quicker asked about many rows at once."""
    waiting: list[Points] = []
    for part in parts:
        waiting.append(part)
        if sum(map(len, waiting)) >= _BATCH:
            yield Points.joined(waiting)
            waiting = []
    if waiting:
        yield Points.joined(waiting)


def _why_cut_short(best: GridBest) -> tuple[str, ...]:
    if best.stop is None:
        return ()
    exact = f"options that cost less than {best.exact_below:.3g} are exact, dearer ones "
    if best.exact_below == 0:
        exact = "no option is known to be the cheapest: they "
    said = f"{stopped_by(best.stop)} on the way through the grid: {exact}may be improved upon"
    return (f"{said}, or be missing.",)
