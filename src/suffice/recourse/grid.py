"""Recourse with values="grid": the cheapest combination of column values for every feature set.

Each combination belongs to one set: the players that it changes. Going up in cost, the first
combination that the model confirms is its set's cheapest, and nothing dearer in that set or in a
superset is minimal under the cost order, so dearer ones are never predicted. The grid is visited in
slabs of cost, each predicted in large batches; a slab may hold a few combinations that a stricter
order would have skipped, which changes no answer.

A set's changes are the references' joint values, as without a grid, and all combinations in which
*every* member takes another value: one that lets a member stay is a change of the smaller set. So
the search starts from the references' cheapest changes and improves on those.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from suffice.context.change_rules import ColumnRule, Range, Step, meets_rules
from suffice.context.cost import CostSpec, player_costs, price_columns, total_costs
from suffice.context.players import Players
from suffice.decision import Decision
from suffice.errors import InputError
from suffice.factors.lattice import masks_by_size, over_supersets
from suffice.factors.order import COST_TOLERANCE, cost_at_most
from suffice.progress import progress_bar
from suffice.recourse.candidates import (
    SelectedCandidates,
    SetTable,
    count_left_out,
    describe_stop,
    keeper_of_rows,
    predict_flips,
)
from suffice.recourse.causal import Worlds, single_world
from suffice.recourse.constraints import Constraints, RecourseRequest, factor_holds
from suffice.search.limits import LimitKeeper, Stop
from suffice.tables.cells import distinct_rows
from suffice.tables.table import Table
from suffice.typing import BoolVector, Counts, Reals

_POINTS_PER_CALL = 1 << 15
_FEWEST_ROWS_PER_SLAB = 1 << 12
_POINT_WORK = 100.0
"""Work of making one combination of the grid, in the units of `engines.work`."""


def select_from_grid(
    table: SetTable, request: RecourseRequest, most: int | None, keeper: LimitKeeper
) -> SelectedCandidates:
    """Select the minimal sets, each with its cheapest combination of values."""
    decision, constraints, d = table.decision, table.constraints, table.d
    known = table.affordable
    worlds = None
    if decision.context.is_causal:
        worlds = single_world(decision, table.features.players)
        # A reference may have succeeded with a feature set to the value it has, which is no change.
        known = np.full(len(table), np.inf)
    masks = masks_by_size(d)[: len(table)]
    cost = decision.cost if request.cost is None else request.cost
    missing = request.missing_costs(decision)
    grid = make_grid(decision, table.features.players, constraints.rules, cost, missing)

    def least(best: CheapestOnGrid) -> Reals:
        by_mask = np.full(1 << d, np.inf)
        for mask, (price, _) in best.found.items():
            by_mask[mask] = price
        return np.asarray(np.minimum(known, by_mask[masks]))

    def enough(best: CheapestOnGrid, below: float) -> bool:
        if most is None:
            return False
        costs = least(best)
        # All that costs less than `below` is known, so no later find can improve or precede these.
        sure = table.minimal(costs) & (costs * (1 + 2 * COST_TOLERANCE) < below)
        return int(sure.sum()) >= most

    wanted = np.zeros(1 << d, dtype=bool)
    wanted[masks[1:]] = table.eligible[1:]
    reach = np.full(1 << d, np.inf)
    reach[masks] = np.minimum(known, table.least_inside(known))
    reach[~over_supersets(wanted.copy(), np.logical_or)] = -1.0  # subsets of no wanted set
    # Changes that the grid does not improve on have yet to be verified, one row each.
    searching = keeper.reserving(len(table.minimal_positions(known)[:most]))
    searching = keeper_of_rows(decision, searching)
    search = _GridSearch(grid, decision, worlds, constraints, wanted, reach, searching)
    best = search.run(enough, request.progress)
    costs = least(best)
    positions = table.minimal_positions(costs)
    selected = []
    for position in positions[:most]:
        candidate = table.cheapest_observed(int(position))
        if costs[position] < known[position]:
            price, rows = best.found[int(masks[position])]
            candidate = replace(candidate, cost=price, rows=rows, confirmed=True)
        selected.append(candidate)
    ended_early = best.stop is None and best.exact_below < np.inf
    more = None if ended_early else count_left_out(most, len(positions))
    return SelectedCandidates(grid.pool, selected, _grid_stop_text(best), more)


@dataclass
class CheapestOnGrid:
    """The combinations of the grid that are cheaper than the references' changes."""

    found: dict[int, tuple[float, Counts]] = field(default_factory=dict)
    """By bit mask of the players changed: the least cost, and the pool's row for each column."""
    stop: Stop | None = None
    """The limit that ended the search; None where none did."""
    exact_below: float = np.inf
    """Every combination that costs less was visited or ruled out."""


@dataclass(frozen=True, eq=False)
class _GridSearch:
    """Search of the grid, upward in cost, for changes cheaper than those known."""

    grid: Grid
    decision: Decision
    worlds: Worlds | None
    """The consequences of changes, in a causal context."""
    constraints: Constraints
    wanted: BoolVector
    """By bit mask: whether the set may become an option."""
    reach: Reals
    """By bit mask: the least cost known for a set or a subset, below which a combination is of
    interest; -1 for subsets of no wanted set. Lowered as cheaper combinations are found.
    Invariant: never larger for a superset."""
    keeper: LimitKeeper

    def run(
        self, enough: Callable[[CheapestOnGrid, float], bool], progress: bool | None
    ) -> CheapestOnGrid:
        """Visit slabs of rising cost until `enough(best, cost)`, where all cheaper is known."""
        best, keeper = CheapestOnGrid(), self.keeper
        low, predicted = 0.0, 0
        # Slabs as narrow as the smallest cost would be too many; most that matter lie near `known`.
        known = float(self.reach[self.wanted].min(initial=np.inf))
        width = max(self.grid.first_step, known / 4 if known < np.inf else 0.0)
        dearest = min(self.constraints.max_cost, self.grid.dearest)
        # Past the last combination, also where that costs nothing.
        top = dearest * (1 + 2 * COST_TOLERANCE) + np.finfo(float).tiny
        with progress_bar("rows", progress=progress) as bar:
            while low < top and not enough(best, low) and (self.reach > low).any():
                high = min(low + width, top)
                before = keeper.rows
                for points in _batches(self.grid.points(low, high, self.reach, self.wanted)):
                    spent = keeper.rows
                    best.stop = self._predict(points, best)
                    bar.update(keeper.rows - spent)
                    if best.stop is not None:
                        best.exact_below = low
                        return best
                in_slab = keeper.rows - before
                predicted += in_slab
                # A slab of a quarter of all rows so far: few rows are wasted past the last option.
                aim = max(_FEWEST_ROWS_PER_SLAB, predicted // 4)
                width *= 2.0 if in_slab < aim else 0.5 if in_slab > 4 * aim else 1.0
                low = high
        if low < top and (self.reach > low).any():
            best.exact_below = low
        return best

    def _predict(self, points: GridPoints, best: CheapestOnGrid) -> Stop | None:
        """Predict some combinations and remember those that flip; return a limit that forbids."""
        rows = self.grid.pool_rows(points)
        # Checked once more: `reach` may have been lowered since the points were made.
        ok = points.cost < self.reach[points.mask] * (1 + COST_TOLERANCE)
        for factor in self.constraints.forbidden:
            ok &= ~factor_holds(factor, self.grid.pool, rows)
        self.keeper.cover(int((~ok).sum()))
        self.keeper.spend(_POINT_WORK * len(rows))
        at = np.flatnonzero(ok)
        flips = predict_flips(self.decision, self.grid.pool, rows[at], self.keeper, self.worlds)
        found = at[: len(flips)][flips]
        self._remember(best, points.take(found), rows[found])
        return self.keeper.forbids(min(1, len(at) - len(flips)))

    def _remember(self, best: CheapestOnGrid, points: GridPoints, rows: Counts) -> None:
        """Remember the cheapest confirmed combination of each set."""
        costs = total_costs(self.grid.costs_of(points))
        masks = np.arange(len(self.reach))
        for i in np.argsort(costs, kind="stable"):
            mask, cost = int(points.mask[i]), float(costs[i])
            if cost < self.reach[mask] and cost_at_most(cost, self.constraints.max_cost):
                best.found[mask] = cost, rows[i]
                around = (masks & mask) == mask
                self.reach[around] = np.minimum(self.reach[around], cost)


def _batches(parts: Iterator[GridPoints]) -> Iterator[GridPoints]:
    """Join small pieces, since a model predicts many rows at once faster than one by one."""
    waiting: list[GridPoints] = []
    for part in parts:
        waiting.append(part)
        if sum(map(len, waiting)) >= _POINTS_PER_CALL:
            yield GridPoints.concatenate(waiting)
            waiting = []
    if waiting:
        yield GridPoints.concatenate(waiting)


def _grid_stop_text(best: CheapestOnGrid) -> tuple[str, ...]:
    if best.stop is None:
        return ()
    exact = f"options that cost less than {best.exact_below:.3g} are exact, dearer ones "
    if best.exact_below == 0:
        exact = "no option is known to be the cheapest: they "
    stop = describe_stop(best.stop)
    return (f"{stop} during the search of the grid: {exact}may be improved upon, or be missing.",)


# -- the grid: every player's possible values, and all combinations between two costs -----------


_POINTS_PER_BLOCK = 1 << 16
"""Combinations in memory together, for each player."""
_MOST_STEPS = 100_000
"""Most values that `steps` may give one column."""


@dataclass(frozen=True, eq=False)
class GridPoints:
    """Combinations of the grid: their costs, the players changed, and the values chosen."""

    cost: Reals
    """Correct to within rounding, since players are added in another order than in `SetCosts`."""
    mask: Counts
    """Bit mask of the players changed."""
    choice: Counts
    """(points, players): the number of the player's value; 0 is the input's own."""

    def __len__(self) -> int:
        return len(self.cost)

    def take(self, at: Counts | BoolVector) -> GridPoints:
        """Return the combinations at these positions."""
        return GridPoints(self.cost[at], self.mask[at], self.choice[at])

    @staticmethod
    def concatenate(parts: list[GridPoints]) -> GridPoints:
        """Return all combinations of the parts, in order."""
        return GridPoints(
            np.concatenate([part.cost for part in parts]),
            np.concatenate([part.mask for part in parts]),
            np.concatenate([part.choice for part in parts]),
        )


@dataclass(frozen=True, eq=False)
class Grid:
    """The values of every player, cheapest first; number 0 is the input's own."""

    pool: Table
    """The input in row 0, then the rows that values come from."""
    players: Players
    rows: tuple[Counts, ...]
    """By player: the pool's row of each value."""
    costs: tuple[Reals, ...]
    """By player: the cost of each value, ascending."""

    @property
    def dearest(self) -> float:
        """Cost of the most expensive combination."""
        return float(sum(costs[-1] for costs in self.costs))

    @property
    def first_step(self) -> float:
        """The smallest positive cost of a value."""
        positive = [costs[costs > 0] for costs in self.costs]
        return float(min((c[0] for c in positive if len(c)), default=1.0))

    def points(
        self, low: float, high: float, reach: Reals, wanted: BoolVector
    ) -> Iterator[GridPoints]:
        """Yield the combinations of wanted sets with low <= cost < high and cost < reach[set].

        Branch and bound: players are added one by one, the one with most values last. A partial
        combination is dropped as soon as no values of the other players can bring its cost into
        the interval, or its cost exceeds reach[set], which is valid because `reach` never rises as
        a set grows. Work is split so that few combinations are in memory at any time.
        """
        order = np.argsort([len(costs) for costs in self.costs], kind="stable")
        most = np.cumsum([self.costs[j][-1] for j in order[::-1]])[::-1]
        rest = np.append(most[1:], 0.0)  # the most that the players still to come can add
        slack = COST_TOLERANCE * (1 + min(high, self.dearest))

        def extend(front: GridPoints, depth: int) -> Iterator[GridPoints]:
            if depth == len(order):
                yield front.take((front.cost >= low) & (front.cost < high) & wanted[front.mask])
                return
            player = int(order[depth])
            costs = self.costs[player]
            first = np.searchsorted(costs, low - rest[depth] - front.cost - slack)
            last = np.searchsorted(costs, high - front.cost + slack)
            counts = np.maximum(last - first, 0)
            for start, stop in _split_by_count(counts):
                parent, value = _parents_and_values(start, first[start:stop], counts[start:stop])
                cost = front.cost[parent] + costs[value]
                mask = front.mask[parent] | np.where(value > 0, 1 << player, 0)
                keep = cost < reach[mask] * (1 + COST_TOLERANCE)
                if keep.any():
                    choice = front.choice[parent[keep]]
                    choice[:, player] = value[keep]
                    yield from extend(GridPoints(cost[keep], mask[keep], choice), depth + 1)

        nothing = np.zeros((1, len(order)), dtype=np.int64)
        yield from extend(GridPoints(np.zeros(1), np.zeros(1, dtype=np.int64), nothing), 0)

    def costs_of(self, points: GridPoints) -> Reals:
        """Return (points, players): the cost of each player's change."""
        return np.stack([costs[points.choice[:, j]] for j, costs in enumerate(self.costs)], axis=1)

    def pool_rows(self, points: GridPoints) -> Counts:
        """Return (points, columns): the pool's row that each column's value comes from."""
        out = np.zeros((len(points), len(self.pool.names)), dtype=np.int64)
        for j, rows in enumerate(self.rows):
            out[:, list(self.players.columns[j])] = rows[points.choice[:, j]][:, None]
        return out


def _split_by_count(counts: Counts) -> Iterator[tuple[int, int]]:
    """Yield (start, stop) of pieces whose counts add up to about `_POINTS_PER_BLOCK`."""
    sums = np.cumsum(counts)
    cuts = np.searchsorted(sums, np.arange(_POINTS_PER_BLOCK, sums[-1], _POINTS_PER_BLOCK)) + 1
    yield from pairwise(np.unique([0, *cuts, len(counts)]).tolist())


def _parents_and_values(start: int, first: Counts, counts: Counts) -> tuple[Counts, Counts]:
    """Return, for each parent's run of values first, first + 1, …, the parents and the values."""
    parent = np.repeat(np.arange(len(counts)), counts)
    begins = np.cumsum(counts) - counts
    return start + parent, np.arange(len(parent)) - begins[parent] + first[parent]


def make_grid(
    decision: Decision,
    players: Players,
    rules: tuple[ColumnRule, ...],
    cost: CostSpec,
    missing: Mapping[int, float],
) -> Grid:
    """Make the grid of every player's allowed values of finite cost."""
    data = decision.data
    table, stepped = _with_steps(decision.pool.stack(data), players, rules)
    allowed = meets_rules(table, players, rules)
    prices = player_costs(price_columns(table, data, cost, missing), players)
    codes = table.codes()
    rows, costs = [], []
    for j, columns in enumerate(players.columns):
        which, first = distinct_rows(codes[:, list(columns)])
        if len(columns) == 1 and columns[0] in stepped:
            first = np.array(stepped[columns[0]], dtype=np.int64)
        first = first[(which[first] != which[0]) & allowed[first, j]]
        price = prices[first - 1, j]
        first, price = first[price < np.inf], price[price < np.inf]
        # Ties in cost are broken by value, so that the order of the data's rows does not matter.
        order = np.lexsort((*codes[first][:, list(columns)].T, price))
        rows.append(np.concatenate([[0], first[order]]))
        costs.append(np.concatenate([[0.0], price[order]]))
    return Grid(table, players, tuple(rows), tuple(costs))


def _with_steps(
    observed: Table, players: Players, rules: tuple[ColumnRule, ...]
) -> tuple[Table, dict[int, range]]:
    """Append to the observed rows the input with each stepped value; also return their rows.

    Only players of a single column take steps.
    """
    table = observed
    where: dict[int, range] = {}
    alone = {columns[0] for columns in players.columns if len(columns) == 1}
    for rule in rules:
        if isinstance(rule, Step) and rule.column in alone:
            values = _step_values(observed, rule, rules)
            where[rule.column] = range(len(table), len(table) + len(values))
            if len(values):
                copies = observed.take(np.zeros(len(values), dtype=np.int64))
                table = table.stack(copies.with_columns({rule.column: values}))
    return table, where


def _step_values(observed: Table, rule: Step, rules: tuple[ColumnRule, ...]) -> Reals:
    """Return the values whole steps from the input's, within `ranges` or the observed range."""
    column = observed.column(rule.column).astype(float)
    origin = column[0]
    if not np.isfinite(origin):
        return np.empty(0)
    finite = column[np.isfinite(column)]
    low, high = float(finite.min()), float(finite.max())
    for other in rules:
        if isinstance(other, Range) and other.column == rule.column:
            low = other.low if other.low > -np.inf else low
            high = other.high if other.high < np.inf else high
    with np.errstate(over="ignore"):
        first = np.ceil((low - origin) / rule.step - COST_TOLERANCE)
        last = np.floor((high - origin) / rule.step + COST_TOLERANCE)
        width = last - first
    if not width <= _MOST_STEPS:
        shown = f"{width:,.0f} values" if width < 1e15 else "more than 10^15 values"
        got = f"{rule.name}: {rule.step:g}, which makes {shown}"
        raise InputError("steps", got, f"at most {_MOST_STEPS:,} values", "Take larger steps.")
    steps = np.arange(first, last + 1)
    return np.asarray(origin + steps * rule.step)
