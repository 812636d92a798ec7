"""The grid: for each player its possible new values, and all combinations between two costs.

A column's values are those observed in the data, or, with a step, the input's own plus and minus
whole steps. A group's values are the *joint* ones observed: its columns only make sense together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from suffice.context.cost import CostSpec, column_costs, player_costs
from suffice.context.players import Players
from suffice.decision import Decision
from suffice.encodings.recourse.column_rules import ColumnRule, Range, Step, keeps_rules
from suffice.errors import InputError
from suffice.factors.order import ROUNDING
from suffice.tables.cells import distinct_rows
from suffice.tables.table import Table
from suffice.typing import BoolVector, Counts, Reals

__all__ = ["Grid", "Points", "make_grid"]

_AT_ONCE = 1 << 16
"""Combinations in memory together, for each player."""
_MOST_STEPS = 100_000


@dataclass(frozen=True, eq=False)
class Points:
    """Some combinations: what each costs, which players change, and from which rows."""

    cost: Reals
    """To within rounding: players were added in the grid's order."""
    mask: Counts
    choice: Counts
    """(points, players): the number of the player's value; 0 is the input's own."""

    def __len__(self) -> int:
        return len(self.cost)

    def some(self, at: Counts | BoolVector) -> Points:
        """These of them."""
        return Points(self.cost[at], self.mask[at], self.choice[at])

    @staticmethod
    def joined(parts: list[Points]) -> Points:
        """All of these together."""
        return Points(
            np.concatenate([part.cost for part in parts]),
            np.concatenate([part.mask for part in parts]),
            np.concatenate([part.choice for part in parts]),
        )


@dataclass(frozen=True, eq=False)
class Grid:
    """Per player its values, cheapest first, as rows of a pool; number 0 is the input's own."""

    pool: Table
    players: Players
    rows: tuple[Counts, ...]
    costs: tuple[Reals, ...]

    @property
    def dearest(self) -> float:
        """What the most expensive combination costs."""
        return float(sum(costs[-1] for costs in self.costs))

    @property
    def first_step(self) -> float:
        """The smallest cost that is not zero."""
        positive = [costs[costs > 0] for costs in self.costs]
        return float(min((c[0] for c in positive if len(c)), default=1.0))

    def points(self, low: float, high: float, reach: Reals, wanted: BoolVector) -> Iterator[Points]:
        """All combinations of wanted sets with low <= cost < high, and cost below reach[set].

        `reach` must not rise as a set grows. Players are added one by one, the one with most
        values last; a combination is dropped as soon as no value of the others can bring it into
        the interval. Work is split so that few combinations are in memory at any time.
        """
        order = np.argsort([len(costs) for costs in self.costs], kind="stable")
        most = np.cumsum([self.costs[j][-1] for j in order[::-1]])[::-1]
        rest = np.append(most[1:], 0.0)  # what the players still to come can add
        slack = ROUNDING * (1 + min(high, self.dearest))

        def extend(front: Points, depth: int) -> Iterator[Points]:
            if depth == len(order):
                yield front.some((front.cost >= low) & (front.cost < high) & wanted[front.mask])
                return
            player = int(order[depth])
            costs = self.costs[player]
            first = np.searchsorted(costs, low - rest[depth] - front.cost - slack)
            last = np.searchsorted(costs, high - front.cost + slack)
            counts = np.maximum(last - first, 0)
            for start, stop in _pieces(counts):
                parent, value = _runs(start, first[start:stop], counts[start:stop])
                cost = front.cost[parent] + costs[value]
                mask = front.mask[parent] | np.where(value > 0, 1 << player, 0)
                keep = cost < reach[mask] * (1 + ROUNDING)
                if keep.any():
                    choice = front.choice[parent[keep]]
                    choice[:, player] = value[keep]
                    yield from extend(Points(cost[keep], mask[keep], choice), depth + 1)

        nothing = np.zeros((1, len(order)), dtype=np.int64)
        yield from extend(Points(np.zeros(1), np.zeros(1, dtype=np.int64), nothing), 0)

    def parts(self, points: Points) -> Reals:
        """(points, players): what each player's change costs."""
        return np.stack([costs[points.choice[:, j]] for j, costs in enumerate(self.costs)], axis=1)

    def picks(self, points: Points) -> Counts:
        """(points, columns): the pool's row that each column's value comes from."""
        out = np.zeros((len(points), len(self.pool.names)), dtype=np.int64)
        for j, rows in enumerate(self.rows):
            out[:, list(self.players.columns[j])] = rows[points.choice[:, j]][:, None]
        return out


def _pieces(counts: Counts) -> Iterator[tuple[int, int]]:
    """Cut a list into pieces whose counts add up to little more than is held at once."""
    sums = np.cumsum(counts)
    cuts = np.searchsorted(sums, np.arange(_AT_ONCE, sums[-1], _AT_ONCE)) + 1
    yield from pairwise(np.unique([0, *cuts, len(counts)]).tolist())


def _runs(start: int, first: Counts, counts: Counts) -> tuple[Counts, Counts]:
    """Each parent's run of values first, first + 1, …, one after the other."""
    parent = np.repeat(np.arange(len(counts)), counts)
    begins = np.cumsum(counts) - counts
    return start + parent, np.arange(len(parent)) - begins[parent] + first[parent]


def make_grid(
    decision: Decision, players: Players, rules: tuple[ColumnRule, ...], cost: CostSpec
) -> Grid:
    """Find every player's allowed values, each with its cost."""
    data = decision.data
    table, stepped = _with_steps(decision.pool.stack(data), players, rules)
    allowed = keeps_rules(table, players, rules)
    prices = player_costs(column_costs(table, data, cost), players)
    codes = table.codes()
    rows, costs = [], []
    for j, columns in enumerate(players.columns):
        which, first = distinct_rows(codes[:, list(columns)])
        if len(columns) == 1 and columns[0] in stepped:
            first = np.array(stepped[columns[0]], dtype=np.int64)
        first = first[(which[first] != which[0]) & allowed[first, j]]
        price = prices[first - 1, j]
        first, price = first[price < np.inf], price[price < np.inf]
        # Equal costs are told apart by value, so that the order of the data's rows is no matter.
        order = np.lexsort((*codes[first][:, list(columns)].T, price))
        rows.append(np.concatenate([[0], first[order]]))
        costs.append(np.concatenate([[0.0], price[order]]))
    return Grid(table, players, tuple(rows), tuple(costs))


def _with_steps(
    observed: Table, players: Players, rules: tuple[ColumnRule, ...]
) -> tuple[Table, dict[int, range]]:
    """The observed rows, and below them the input with each stepped value of single columns."""
    table = observed
    where: dict[int, range] = {}
    alone = {columns[0] for columns in players.columns if len(columns) == 1}
    for rule in rules:
        if isinstance(rule, Step) and rule.column in alone:
            values = _stepped(observed, rule, rules)
            where[rule.column] = range(len(table), len(table) + len(values))
            if len(values):
                copies = observed.take(np.zeros(len(values), dtype=np.int64))
                table = table.stack(copies.with_columns({rule.column: values}))
    return table, where


def _stepped(observed: Table, rule: Step, rules: tuple[ColumnRule, ...]) -> Reals:
    """The input's value and whole steps from it, within its ranges or else the observed ones."""
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
        first = np.ceil((low - origin) / rule.step - ROUNDING)
        last = np.floor((high - origin) / rule.step + ROUNDING)
        width = last - first
    if not width <= _MOST_STEPS:
        shown = f"{width:,.0f} values" if width < 1e15 else "no end of values"
        got = f"{rule.name}: {rule.step:g}, which makes {shown}"
        raise InputError("steps", got, f"at most {_MOST_STEPS:,} values", "Take larger steps.")
    steps = np.arange(first, last + 1)
    return np.asarray(origin + steps * rule.step)
