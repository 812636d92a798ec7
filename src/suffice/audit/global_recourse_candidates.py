"""Candidate changes for many rows, and the cost of each change for every row it works for.

The recourse options of a row give the columns that move and their directions: a *pattern*. A
pattern with the values of any reference is a candidate, so that values were observed together.

A number (or an ordered category) moves "to at least" or "to at most" a value, so that a row that is
better off already stays as it is and pays nothing: "income to 50" would make those with 60 earn
less. Other columns are set to a value. Columns of a group only make sense together, so all are set.
A shift ("income +10") is no candidate: it would take rows to values that were never observed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from suffice.context.change_rules import (
    ColumnRule,
    Direction,
    MissingKept,
    OneOf,
    ordinal_ranks,
)
from suffice.context.cost import CostSpec, player_costs, price_columns, total_costs
from suffice.context.players import Players
from suffice.context.references import CachedRows, Pool, References
from suffice.decision import Decision
from suffice.factors.order import cost_at_most
from suffice.progress import Progress
from suffice.randomness import Stream, generator
from suffice.recourse import Option
from suffice.recourse.constraints import Constraints, factor_holds
from suffice.tables.cells import distinct_keys, joint_codes, missing_mask
from suffice.tables.table import Table
from suffice.target import Target
from suffice.typing import BoolVector, Counts, Outcomes, Reals

AT_MOST, AT_LEAST, SET_TO = -1, 1, 2
"""Directions of a column; 0 where it stays."""

MovePattern = tuple[tuple[int, int], ...]
"""(column, direction) of each column that moves."""


@dataclass(frozen=True, eq=False)
class ChangeCandidates:
    """Changes to try: each a pattern, and the reference that its values come from."""

    values: References
    directions: Counts
    """(changes, columns): direction of each column; 0 where it stays."""
    source: Counts
    """(changes,): row of `values` for each change."""
    possible: int
    """Number of candidates before sampling."""

    def __len__(self) -> int:
        return len(self.source)


def column_ranks(table: Table) -> dict[int, Reals]:
    """Return the ranks of the values of each ordered column.

    Boolean columns are left out: with two values, setting one is the same as moving to it.
    """
    found = {j: ordinal_ranks(table, j) for j in range(len(table.names))}
    return {
        j: order
        for j, order in found.items()
        if order is not None and table.column(j).dtype.kind != "b"
    }


def make_candidates(
    found: Sequence[tuple[Decision, Sequence[Option]]],
    players: Players,
    rules: Sequence[ColumnRule],
    most: int | None,
    seed: int,
) -> ChangeCandidates:
    """Return the patterns of all options with the values of all references, at most `most`.

    The options' own values come first; the rest is drawn with the seed.
    """
    tables = list({id(d.references): d.references for d, _ in found}.values())
    values = tables[0] if len(tables) == 1 else _stack_references(tables)
    codes = values.codes
    allowed = _allowed(values.table, rules)
    reference_rows = _ReferenceRows(values)
    new = column_ranks(values.table)
    own: dict[MovePattern, set[int]] = {}
    for decision, options in found:
        old = column_ranks(decision.row)
        for option in options:
            at = reference_rows.find(option.values)
            rises = {j: _rises(old.get(j), order[at]) for j, order in new.items()}
            for pattern in _patterns(option, players, values.table.names, rises):
                own.setdefault(pattern, set()).add(at)
    directions, source, first = [], [], []
    for pattern in sorted(own, key=lambda p: (len(p), p)):
        columns = [j for j, _ in pattern]
        which, rows = distinct_keys(joint_codes(codes[:, columns].T, len(codes)))
        from_options = set(which[list(own[pattern])].tolist())
        rows = rows[allowed[rows][:, columns].all(axis=1)]
        # Sorted by value, so that the result does not depend on the order of the references.
        rows = rows[np.lexsort(codes[rows][:, columns[::-1]].T)]
        direction = np.zeros(len(values.table.names), dtype=np.int64)
        direction[columns] = [way for _, way in pattern]
        directions += [direction] * len(rows)
        source.append(rows)
        first += [int(which[row]) in from_options for row in rows]
    if not directions:
        none = np.empty(0, dtype=np.int64)
        return ChangeCandidates(values, np.empty((0, codes.shape[1]), dtype=np.int64), none, 0)
    taken = _sample_candidates(np.array(first), most, seed)
    return ChangeCandidates(
        values, np.array(directions)[taken], np.concatenate(source)[taken], len(directions)
    )


def _sample_candidates(first: Counts, most: int | None, seed: int) -> Counts:
    """Return the numbers of the candidates to try: the options' own first, then drawn ones."""
    if most is None or len(first) <= most:
        return np.arange(len(first))
    order = generator(seed, Stream.CANDIDATES).permutation(len(first))
    order = order[np.argsort(~first[order], kind="stable")]
    return np.sort(order[:most])


def _stack_references(tables: list[References]) -> References:
    return References(tables[0].table.stack(*(other.table for other in tables[1:])))


def _allowed(values: Table, rules: Sequence[ColumnRule]) -> Counts:
    """Return (rows, columns): whether the rules allow the value as new.

    Rules of direction depend on the old value and are checked for each row later.
    """
    out = np.ones((len(values), len(values.names)), dtype=bool)
    for rule in rules:
        if isinstance(rule, MissingKept):  # whichever row it was read for
            out[:, rule.column] &= ~missing_mask(values.column(rule.column))
        elif not isinstance(rule, Direction):
            out[:, rule.column] &= rule.meets(values)
    return out


class _ReferenceRows:
    """Index from the values of an option to the first reference that has them."""

    def __init__(self, values: References) -> None:
        self._values = values
        self._cells = [values.row_values(row) for row in range(len(values))]
        self._known: dict[tuple[str, ...], dict[tuple[object, ...], int]] = {}

    def find(self, wanted: Mapping[str, object]) -> int:
        """Return the number of the first reference with these values by column."""
        names = tuple(wanted)
        if names not in self._known:
            at = [self._values.table.names.index(name) for name in names]
            keys = [tuple(cells[j] for j in at) for cells in self._cells]
            self._known[names] = {key: row for row, key in reversed(list(enumerate(keys)))}
        return self._known[names][tuple(wanted.values())]


def _rises(old: Reals | None, new: float) -> bool | None:
    """Return whether the new value is above the row's own; None if that is missing."""
    return None if old is None or np.isnan(old[0]) else bool(new > old[0])


def _patterns(
    option: Option, players: Players, names: Sequence[str], rises: Mapping[int, bool | None]
) -> Iterator[MovePattern]:
    """Yield the patterns of an option; both directions if the row's own value is missing."""
    choices: list[list[tuple[int, int]]] = []
    for name in option.features:
        columns = players.columns[players.names.index(name)]
        if len(columns) > 1:
            choices += [[(j, SET_TO)] for j in columns]
            continue
        (j,) = columns
        if names[j] not in option.changes:
            continue  # the row has the value already, so the option shows no direction
        if j not in rises:
            choices.append([(j, SET_TO)])
            continue
        up = rises[j]
        allowed = (AT_LEAST, AT_MOST) if up is None else (AT_LEAST,) if up else (AT_MOST,)
        choices.append([(j, direction) for direction in allowed])
    for chosen in product(*choices):
        yield tuple(sorted(chosen))


_BATCH_ROWS = 1 << 16
"""Rows that the model predicts in one call."""


@dataclass(eq=False)
class CandidateTrial:
    """Refused rows, candidate changes and constraints: computes the cost of each change by row."""

    target: Target
    wanted: bool
    """Answer of the target for a row with the desired outcome."""
    rows: CachedRows
    candidates: ChangeCandidates
    constraints: Constraints
    players: Players
    data: Table
    cost: CostSpec
    missing_costs: Mapping[int, float]
    """By column: the cost of setting or removing a missing value, where that is allowed."""
    n_predicted: int = 0
    """Number of rows that the model predicted."""

    def __post_init__(self) -> None:
        both = self.rows.table.stack(self.candidates.values.table)
        self._both, self._codes, self._order = both, both.codes(), column_ranks(both)
        rules = self.constraints.rules
        none_listed = {r.column for r in rules if isinstance(r, OneOf) and None in r.values}
        columns = set(range(len(both.names))) - none_listed
        self._missing = dict.fromkeys(columns, np.inf) | dict(self.missing_costs)

    def costs(self, bar: Progress) -> Reals:
        """Return (rows, changes) costs; infinite if the change does not work for the row."""
        n, m = len(self.rows), len(self.candidates)
        out = np.full((n, m), np.inf)
        at_once = max(1, _BATCH_ROWS // max(1, m))
        for start in range(0, n, at_once):
            some = np.arange(start, min(start + at_once, n))
            out[some] = self._costs_of_rows(some)
            bar.update(len(some) * m)
        return out

    def _costs_of_rows(self, rows: Counts) -> Reals:
        """Return the costs of some rows; the model predicts only allowed and affordable changes."""
        moved = self._moved_columns(rows)
        prices = np.stack([self._prices(int(i), part) for i, part in zip(rows, moved, strict=True)])
        possible = moved.any(axis=2) & np.isfinite(prices)
        possible &= cost_at_most(prices, self.constraints.max_cost) & self._right_way(rows, moved)
        place, change = np.nonzero(possible)
        source = len(self.rows) + self.candidates.source[change]
        picks = np.where(moved[place, change], source[:, None], rows[place][:, None])
        works = np.ones(len(picks), dtype=bool)
        for factor in self.constraints.forbidden:
            works &= ~factor_holds(factor, self._both, picks)
        works[works] = self._predict(picks[works])
        return np.where(_scatter(possible, works), prices, np.inf)

    def _moved_columns(self, rows: Counts) -> Outcomes:
        """Return (rows, changes, columns): whether the row does not meet the requirement yet."""
        ways, source = self.candidates.directions, len(self.rows) + self.candidates.source
        out = np.zeros((len(rows), *ways.shape), dtype=bool)
        for j in np.flatnonzero(ways.any(axis=0)).tolist():
            out[:, :, j] = (ways[:, j] == SET_TO) & (
                self._codes[rows, j][:, None] != self._codes[source, j]
            )
            if j in self._order:  # NaN compares false: a missing value meets no requirement
                old, new = self._order[j][rows][:, None], self._order[j][source]
                out[:, :, j] |= (ways[:, j] == AT_LEAST) & ~(old >= new)
                out[:, :, j] |= (ways[:, j] == AT_MOST) & ~(old <= new)
        return out

    def _prices(self, row: int, moved: Outcomes) -> Reals:
        """Return the cost of each change for one row, over the columns that really move."""
        candidates = self.candidates
        pool = Pool(self.rows, row, candidates.values)
        each = price_columns(pool, self.data, self.cost, self._missing)[candidates.source]
        return total_costs(player_costs(np.where(moved, each, 0.0), self.players))

    def _right_way(self, rows: Counts, moved: Outcomes) -> Outcomes:
        """Return (rows, changes): whether columns limited to one direction keep to it."""
        out: Outcomes = np.ones(moved.shape[:2], dtype=bool)
        source = len(self.rows) + self.candidates.source
        for rule in self.constraints.rules:
            if isinstance(rule, Direction):
                order = rule.order(self._both)
                old, new = order[rows][:, None], order[source]
                out &= ~moved[:, :, rule.column] | (new >= old if rule.up else new <= old)
        return out

    def _predict(self, picks: Counts) -> BoolVector:
        """Return whether the model gives each of these rows the desired outcome."""
        self.n_predicted += len(picks)
        found = predict_in_batches(
            self.target, len(picks), lambda part: self._both.gather(picks[part])
        )
        return np.asarray(found == self.wanted)


def predict_in_batches(target: Target, n: int, rows: Callable[[slice], Table]) -> BoolVector:
    """Return the target's answers for n rows, predicted in batches."""
    found = [np.empty(0, dtype=bool)]
    found += [target(rows(slice(i, i + _BATCH_ROWS))) for i in range(0, n, _BATCH_ROWS)]
    return np.concatenate(found)


def _scatter(possible: Outcomes, works: BoolVector) -> Outcomes:
    out = np.zeros_like(possible)
    out[possible] = works
    return out
