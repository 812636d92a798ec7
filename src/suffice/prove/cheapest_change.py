"""Cheapest change of numbers and categories that gives another outcome, with a certificate.

Recourse over references and grids tries values that somebody has. A tree model's cells allow more:
best-first branch and bound over boxes of cells finds the cheapest row of a whole domain. The cost
of a box's nearest point bounds the cost of all its rows from below; branch and bound over the trees
(`Prover.search_box`) says whether any of them has the outcome. A box without one is dropped; a box
with one is cut between its nearest point and the row found. When no box is left that could hold a
cheaper row, the best one is proved cheapest; when the work runs out, the bound of the boxes left
says by how much a cheaper row could undercut it.

A cell's nearest number is known up to the rounding of the trees' numbers: bounds are computed at
the next float32 beyond the cell's end, so that certificates hold up to about one part in a million.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from time import perf_counter

import numpy as np

from suffice.context.cost import price_columns
from suffice.decision import Decision
from suffice.engines.select_engine import Unreadable
from suffice.errors import InputError
from suffice.prove.domain import column_places, next_number, places_of_numbers
from suffice.prove.prover import OutOfTimeError, Prover, make_prover
from suffice.prove.restrictions import Restrictions
from suffice.recourse import Option, Recourse, RecourseRequest
from suffice.tables.cells import as_scalar, missing_mask
from suffice.typing import BoolVector, Counts, Reals

_BOXES = 25_000
"""Boxes of rows that are looked at before a search ends with a gap: seconds of work."""

_BOXES_OF_QUERY = 25
"""What a question about a box costs besides the boxes that it looks at."""

_BOXES_PER_QUERY = 20_000

_TOLERANCE = 1e-6
"""Costs that differ by no more of themselves are equal, since cells end within a rounding."""

_UNSUPPORTED = ("tau", "steps", "max_size", "budget")


def find_cheapest_change(decision: Decision, request: RecourseRequest, started: float) -> Recourse:
    """Return the cheapest row of the range with the desired outcome, as a result of recourse."""
    for name in _UNSUPPORTED:
        if getattr(request, name) is not None:
            allowed = "left out with values='any', which looks for one cheapest row"
            raise InputError(name, getattr(request, name), allowed)
    constraints = request.constraints(decision)
    players = decision.players
    fixed = frozenset(j for p in constraints.fixed for j in players.columns[p])
    for name, columns in zip(players.names, players.columns, strict=True):
        if len(columns) > 1 and not set(columns) <= fixed:
            got = f"'any', with the group {name!r}"
            raise InputError("values", got, "'any' for features of one column, else 'observed'")
    texts = (*constraints.fixed.values(), *(r.text for r in constraints.rules), "recourse")
    limits = Restrictions(decision.row, fixed, constraints.rules, constraints.forbidden, texts)
    try:
        decision.engine_selector.read_trees()  # an additive model has no trees
        prover = make_prover(decision, "range", _BOXES_PER_QUERY, limits)
    except Unreadable as reason:
        got = f"'any', for a model or an outcome without certificates: {reason}"
        hint = "values='grid' and 'observed' serve any model."
        raise InputError("values", got, "a tree model that suffice reads", hint) from None
    if request.time_limit is not None:
        end = started + request.time_limit
        prover.out_of_time = lambda: perf_counter() > end
    search = _CheapestSearch(prover, request, constraints.max_cost)
    search.run()
    prover.check()
    return search.result()


class _CheapestSearch:
    """Best-first search over boxes of cells."""

    def __init__(self, prover: Prover, request: RecourseRequest, max_cost: float) -> None:
        self.prover = prover
        self.max_cost = max_cost
        decision = prover.decision
        near, beyond, lost = _nearest_cells(prover)
        missing = dict.fromkeys(range(len(near)), np.inf) | request.missing_costs(decision)
        spec = decision.cost if request.cost is None else request.cost

        def price(cells: list[list[object]]) -> Reals:
            table = decision.data.from_cells(cells, "data")
            return price_columns(decision.row.stack(table), decision.data, spec, missing)

        self.cost = price(near)
        self.bound = np.minimum(self.cost, price(beyond))
        # A missing value may share a cell with numbers, and be cheaper or dearer than they are.
        for j, (cell, value) in lost.items():
            only = [[value] * len(near[0]) if k == j else cells for k, cells in enumerate(near)]
            cost = float(price(only)[cell, j])
            if cost < self.cost[cell, j]:
                near[j][cell], self.cost[cell, j] = value, cost
                self.bound[cell, j] = min(cost, self.bound[cell, j])
        self.near = decision.data.from_cells(near, "data")
        for j, size in enumerate(prover.domain.sizes):
            self.cost[size:, j] = self.bound[size:, j] = np.inf
            start = int(prover.start[j])
            self.cost[start, j] = self.bound[start, j] = 0.0
        self.best: Counts | None = None
        self.best_cost = np.inf
        self.lower = 0.0
        self.stopped: str | None = None

    def run(self) -> None:
        """Search until the best row is proved cheapest, or the work runs out."""
        last = self.prover.domain.sizes - 1
        heap: list[tuple[float, int, Counts, Counts]] = []
        count = 0
        heappush(heap, (0.0, count, np.zeros_like(last), last))
        queries = 0
        left_open = np.inf  # the least bound of the boxes that could not be decided
        try:
            while heap:
                bound, _, low, high = heappop(heap)
                if bound > self._room():
                    break
                if self.prover.boxes + _BOXES_OF_QUERY * queries >= _BOXES:
                    waits = (bound, count + 1, low, high)  # no other box has this number
                    heappush(heap, waits)
                    self.stopped = (
                        f"{self.prover.boxes:,} boxes were looked at in {queries:,} steps"
                    )
                    break
                box = self._trim(low, high)
                if box is None:
                    continue
                low, high = box
                queries += 1
                result = self.prover.search_box(low, high)
                if result.refutation is None:
                    if not result.proved:
                        left_open = min(left_open, bound)
                    continue
                assert result.refutation.cells is not None
                point = np.array(result.refutation.cells)
                nearest = self._nearest(low, high)
                self._offer(self._improve(point, nearest))
                for half in self._cut(low, high, nearest, point):
                    count += 1
                    heappush(heap, (self._least(*half), count, *half))
        except OutOfTimeError:
            self.stopped = "the time limit was reached"
            left_open = min(left_open, bound)
        waiting = min((box[0] for box in heap), default=np.inf)
        self.lower = min(left_open, waiting, self.best_cost)
        if np.isfinite(left_open) and self.stopped is None and left_open <= self._room():
            self.stopped = "some boxes of rows could not be decided"

    def _room(self) -> float:
        """Return the largest bound of a box that could hold a row worth finding."""
        if self.best is None:
            return self.max_cost
        return min(self.max_cost, self.best_cost * (1 - _TOLERANCE))

    def _least(self, low: Counts, high: Counts) -> float:
        return float(
            sum(
                self.bound[a : b + 1, j].min()
                for j, (a, b) in enumerate(zip(low, high, strict=True))
            )
        )

    def _nearest(self, low: Counts, high: Counts) -> Counts:
        return np.array(
            [
                a + int(self.cost[a : b + 1, j].argmin())
                for j, (a, b) in enumerate(zip(low, high, strict=True))
            ]
        )

    def _trim(self, low: Counts, high: Counts) -> tuple[Counts, Counts] | None:
        """Leave out cells at the ends that are too dear; None where all rows are."""
        low, high = low.copy(), high.copy()
        room = self._room()
        least = [
            self.bound[a : b + 1, j].min() for j, (a, b) in enumerate(zip(low, high, strict=True))
        ]
        total = float(sum(least))
        if total > room or not np.isfinite(total):
            return None
        for j in range(len(low)):
            ends = np.flatnonzero(
                total - least[j] + self.bound[low[j] : high[j] + 1, j] <= min(room, 1e300)
            )
            if not len(ends):
                return None
            low[j], high[j] = low[j] + ends[0], low[j] + ends[-1]
        return low, high

    def _improve(self, point: Counts, nearest: Counts) -> Counts:
        """Take back changes of a row that are not needed, the dearest first."""
        point = point.copy()
        for j in np.argsort(-self._costs_of(point), kind="stable"):
            if point[j] != nearest[j]:
                other = point.copy()
                other[j] = nearest[j]
                if self._surely_lost(other):
                    point = other
        return point

    def _costs_of(self, point: Counts) -> Reals:
        return np.asarray(self.cost[point, np.arange(len(point))])

    def _surely_lost(self, point: Counts) -> bool:
        cells = point.astype(np.int32)[None]
        return any(
            all(int(way.leaves.sums(cells)[0]) >= way.sure for way in route)
            for route in self.prover.routes
        )

    def _offer(self, point: Counts) -> None:
        cost = float(self._costs_of(point).sum())
        if cost < self.best_cost and cost <= self.max_cost:
            self.best, self.best_cost = point, cost

    def _cut(
        self, low: Counts, high: Counts, nearest: Counts, point: Counts
    ) -> Sequence[tuple[Counts, Counts]]:
        """Return the halves of a box, cut between its nearest point and a row that was found."""
        if (nearest == point).all():
            return ()  # no row of the box is cheaper
        gain = self._costs_of(point) - self._costs_of(nearest)
        gain[nearest == point] = -1.0
        j = int(gain.argmax())
        a, b = sorted((int(nearest[j]), int(point[j])))
        costs = self.cost[a : b + 1, j]
        middle = (self.cost[nearest[j], j] + self.cost[point[j], j]) / 2
        side: BoolVector = (costs >= middle) == (self.cost[b, j] >= middle)
        # The first cell from which on all cells to b are on b's side of the middle.
        other = np.flatnonzero(~side)
        cut = a + (int(other[-1]) + 1 if len(other) else 1)
        cut = min(max(cut, a + 1), b)
        below, above = high.copy(), low.copy()
        below[j], above[j] = cut - 1, cut
        return (low, below), (above, high)

    def result(self) -> Recourse:
        """Return the best row as recourse."""
        decision = self.prover.decision
        options: tuple[Option, ...] = ()
        if self.best is not None:
            options = (self._option(self.best),)
        certified = self.stopped is None
        gap = None if self.best is None else max(self.best_cost - self.lower, 0.0)
        reason = None
        if self.best is None:
            domain = "of the data's range that the constraints allow"
            if certified:
                reason = f"Proved: no row {domain} has the outcome"
                reason += "." if np.isinf(self.max_cost) else f" at a cost of {self.max_cost:g}."
            else:
                reason = f"No row was found, and {self.stopped}: there may be one."
        elif not certified:
            reason = f"Not proved cheapest, since {self.stopped}."
        event = decision.target.event
        return Recourse(
            desired=event.describe(not decision.y),
            outcome=event.describe(decision.y),
            options=options,
            tau=None,
            values="any",
            complete=certified,
            reason=reason,
            more=0 if not options else None,
            certified=certified,
            gap=0.0 if certified and gap is not None else gap,
        )

    def _option(self, point: Counts) -> Option:
        decision = self.prover.decision
        start = self.prover.start
        rows = np.where(point == start, len(self.near), point)[None]
        row = self.near.stack(decision.row).gather(rows)
        if bool(decision.target(row)[0]) == decision.y:
            raise Unreadable("the model does not predict a change as its parameters say")
        changed = [j for j in range(len(point)) if point[j] != start[j]]
        old = {row.names[j]: as_scalar(decision.row.cell(0, j)) for j in changed}
        new = {row.names[j]: as_scalar(row.cell(0, j)) for j in changed}
        names = tuple(
            name
            for name, columns in zip(decision.players.names, decision.players.columns, strict=True)
            if set(columns) & set(changed)
        )
        return Option(names, new, old, self.best_cost, 0, None, None)


def _nearest_cells(
    prover: Prover,
) -> tuple[list[list[object]], list[list[object]], dict[int, tuple[int, object]]]:
    """Return by column the value of each cell that is nearest to the input's, and one as near.

    The second bounds the distance of the cell's values from below: it lies between them and the
    input's. The last has the cell and the value of missing values, by column.
    """
    domain, decision = prover.domain, prover.decision
    longest = int(domain.sizes.max())
    near, beyond = [], []
    missing: dict[int, tuple[int, object]] = {}
    for j in range(len(domain.sizes)):
        values = domain.candidates.cells(j)[: domain.counts[j]]
        lost = missing_mask(domain.candidates.column(j)[: domain.counts[j]])
        places = column_places(domain, j)
        shown = [values[int(i)] for i in domain.shown[j]]
        bounds = list(shown)
        here = decision.row.column(j)
        if lost.any():
            first = int(np.argmax(lost))
            missing[j] = int(places[first]), values[first]
        if here.dtype.kind in "fiu" and not missing_mask(here)[0] and not prover.is_category(j):
            _move_to_ends(prover, j, values, lost, places, shown, bounds)
        near.append(shown + shown[:1] * (longest - len(shown)))
        beyond.append(bounds + bounds[:1] * (longest - len(bounds)))
    return near, beyond, missing


def _move_to_ends(
    prover: Prover,
    j: int,
    values: list[object],
    lost: BoolVector,
    places: Counts,
    shown: list[object],
    bounds: list[object],
) -> None:
    """Put into `shown` and `bounds` the numbers of each cell that are nearest to the input's."""
    decision, domain = prover.decision, prover.domain
    own = float(decision.row.column(j)[0])
    whole = decision.data.is_integer(j)
    by_cell: dict[int, list[float]] = {}
    for value, gone, place in zip(values, lost.tolist(), places.tolist(), strict=True):
        if not gone:
            by_cell.setdefault(place, []).append(float(value))  # type: ignore[arg-type]
    numbers = np.unique([n for listed in by_cell.values() for n in listed])
    # By cell above the input's: the largest known number below it, and the numbers right after.
    tried: list[tuple[int, float]] = []
    for cell, listed in by_cell.items():
        if cell == int(prover.start[j]):
            continue
        nearest = bound = min(listed, key=lambda n: abs(n - own))
        if nearest > own:
            place = int(np.searchsorted(numbers, min(listed)))
            bound = max(float(numbers[place - 1]), own) if place else own
            after = next_number(decision.data, j, bound)
            tried += [(cell, number) for number in reversed(after) if number < nearest]
        elif not whole:
            bound = min(max(next_number(decision.data, j, nearest)), own)
        shown[cell] = int(nearest) if whole else nearest
        bounds[cell] = int(bound) if whole else bound
    if not tried or prover.ensemble is None:
        return
    drawn = np.array([number for _, number in tried])
    found = places_of_numbers(domain, prover.ensemble, decision.row, j, drawn)
    rows = decision.row.take(np.zeros(len(drawn), dtype=np.int64))
    rows = rows.with_columns({j: drawn.astype(decision.row.column(j).dtype)})
    allowed = prover.limits.allowed(rows)[:, j]
    # Of two numbers in a cell the last one tried is the nearer.
    for (cell, number), place, fits in zip(tried, found.tolist(), allowed.tolist(), strict=True):
        if place == cell and fits:
            shown[cell] = int(number) if whole else number
