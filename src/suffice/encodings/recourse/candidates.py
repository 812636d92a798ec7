"""Which new values a player may take, cheapest first: the grid's axes.

A column's values are those observed in the data, or, with a step, the input's own plus and minus
whole steps. A group's values are the *joint* ones observed: its columns only make sense together.
"""

from __future__ import annotations

import numpy as np

from suffice.context.cost import CostSpec, column_costs
from suffice.context.players import Players
from suffice.encodings.recourse.allowed import by_player
from suffice.encodings.recourse.grid import ROUNDING, Grid
from suffice.encodings.recourse.rules import Range, Rule, Step, within_rules
from suffice.errors import InputError
from suffice.tables.distinct import distinct_rows
from suffice.tables.table import Table
from suffice.typing import Reals

__all__ = ["make_grid"]

_MOST_STEPS = 100_000


def make_grid(
    pool: Table, data: Table, players: Players, rules: tuple[Rule, ...], cost: CostSpec
) -> Grid:
    """Find every player's allowed values; `pool` holds the input in row 0."""
    observed = pool.stack(data)
    table, stepped = _with_steps(observed, players, rules)
    allowed = by_player(within_rules(table, rules), players)
    prices = column_costs(table, data, cost)
    rows, costs = [], []
    codes = table.codes()
    for j, columns in enumerate(players.columns):
        which, first = distinct_rows(codes[:, list(columns)])
        if len(columns) == 1 and columns[0] in stepped:
            first = np.array(stepped[columns[0]], dtype=np.int64)
        first = first[(which[first] != which[0]) & allowed[first, j]]
        price = prices[first - 1][:, list(columns)].sum(axis=1)
        first, price = first[price < np.inf], price[price < np.inf]
        # Equal costs are told apart by value, so that the order of the data's rows is no matter.
        order = np.lexsort((*codes[first][:, list(columns)].T, price))
        rows.append(np.concatenate([[0], first[order]]))
        costs.append(np.concatenate([[0.0], price[order]]))
    return Grid(table, players, tuple(rows), tuple(costs))


def _with_steps(
    observed: Table, players: Players, rules: tuple[Rule, ...]
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


def _stepped(observed: Table, rule: Step, rules: tuple[Rule, ...]) -> Reals:
    """The input's value and whole steps from it, within its ranges or else the observed ones."""
    column = observed.column(rule.column).astype(float)
    origin = column[0]
    if np.isnan(origin):
        return np.empty(0)
    low, high = float(np.nanmin(column)), float(np.nanmax(column))
    for other in rules:
        if isinstance(other, Range) and other.column == rule.column:
            low = other.low if other.low > -np.inf else low
            high = other.high if other.high < np.inf else high
    first = int(np.ceil((low - origin) / rule.step - ROUNDING))
    last = int(np.floor((high - origin) / rule.step + ROUNDING))
    if last - first > _MOST_STEPS:
        got = f"{rule.name}: {rule.step:g}, which makes {last - first:,} values"
        raise InputError("steps", got, f"at most {_MOST_STEPS:,} values", "Take larger steps.")
    steps = np.arange(first, last + 1)
    return np.asarray(origin + steps * rule.step)
