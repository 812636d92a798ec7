"""Changes that many rows could make: in which columns, which way, and to which values.

A row's own recourse says what moves and which way; that is its *pattern*. A pattern with the values
of any reference is a candidate: values that were observed together, as in a row's recourse.

A number (or an ordered category) moves "to at least" or "to at most" a value, so that a row that is
better off already stays as it is and pays nothing: "income to 50" would have those with 60 earn
less. All else is set to a value. Columns of a group only make sense together, so all are set. A
shift ("income +10") is not offered: it would take rows to values that nobody has, and further the
further they are already.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from suffice.context.players import Players
from suffice.context.pool import References
from suffice.decision import Decision
from suffice.encodings.recourse import Option
from suffice.encodings.recourse.column_rules import ColumnRule, Direction, ranks
from suffice.randomness import Stream, generator
from suffice.tables.cells import first_seen, joint_codes
from suffice.tables.table import Table
from suffice.typing import Counts, Reals

__all__ = ["AT_LEAST", "AT_MOST", "TO", "Candidates", "Pattern", "make_candidates", "ordered"]

AT_MOST, AT_LEAST, TO = -1, 1, 2

Pattern = tuple[tuple[int, int], ...]
"""(column, which way), for each column that moves."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """Changes to be tried: each a pattern, and the row that its values come from."""

    values: References
    ways: Counts
    """(changes, columns): which way each column moves; 0 where it stays."""
    source: Counts
    """(changes,): rows of `values`."""
    possible: int
    """How many there are with every reference's values; more than these where some were drawn."""

    def __len__(self) -> int:
        return len(self.source)


def ordered(table: Table) -> dict[int, Reals]:
    """By column, its values' places in their order; only columns that have one.

    Truth values have two, so that to set them is as good.
    """
    found = {j: ranks(table, j) for j in range(len(table.names))}
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
) -> Candidates:
    """The patterns of all options, each with all references' values; at most so many, if told.

    What the options themselves change to is taken first, and the rest is drawn.
    """
    tables = list({id(d.references): d.references for d, _ in found}.values())
    values = tables[0] if len(tables) == 1 else _joined(tables)
    codes = values.codes
    allowed = _allowed(values.table, rules)
    place = _Places(values)
    new = ordered(values.table)
    own: dict[Pattern, set[int]] = {}
    for decision, options in found:
        old = ordered(decision.row)
        for option in options:
            at = place.of(option.values)
            rises = {j: _rises(old.get(j), order[at]) for j, order in new.items()}
            for pattern in _patterns(option, players, values.table.names, rises):
                own.setdefault(pattern, set()).add(at)
    ways, source, first = [], [], []
    for pattern in sorted(own, key=lambda p: (len(p), p)):
        columns = [j for j, _ in pattern]
        which, rows = first_seen(joint_codes(codes[:, columns]))
        told = set(which[list(own[pattern])].tolist())
        rows = rows[allowed[rows][:, columns].all(axis=1)]
        # By value, so that the order of the references is no matter.
        rows = rows[np.lexsort(codes[rows][:, columns[::-1]].T)]
        way = np.zeros(len(values.table.names), dtype=np.int64)
        way[columns] = [way for _, way in pattern]
        ways += [way] * len(rows)
        source.append(rows)
        first += [int(which[row]) in told for row in rows]
    if not ways:
        none = np.empty(0, dtype=np.int64)
        return Candidates(values, np.empty((0, codes.shape[1]), dtype=np.int64), none, 0)
    taken = _drawn(np.array(first), most, seed)
    return Candidates(values, np.array(ways)[taken], np.concatenate(source)[taken], len(ways))


def _drawn(first: Counts, most: int | None, seed: int) -> Counts:
    """Which candidates are tried: as many as may be, the rows' own before others."""
    if most is None or len(first) <= most:
        return np.arange(len(first))
    order = generator(seed, Stream.CANDIDATES).permutation(len(first))
    order = order[np.argsort(~first[order], kind="stable")]
    return np.sort(order[:most])


def _joined(tables: list[References]) -> References:
    return References(tables[0].table.stack_all([other.table for other in tables[1:]]))


def _allowed(values: Table, rules: Sequence[ColumnRule]) -> Counts:
    """(rows, columns): may this be anyone's new value? Directions depend on whose, and wait."""
    out = np.ones((len(values), len(values.names)), dtype=bool)
    for rule in rules:
        if not isinstance(rule, Direction):
            out[:, rule.column] &= rule.meets(values)
    return out


class _Places:
    """The row of a table that an option's values come from."""

    def __init__(self, values: References) -> None:
        self._values = values
        self._cells = [values.cells(row) for row in range(len(values))]
        self._known: dict[tuple[str, ...], dict[tuple[object, ...], int]] = {}

    def of(self, wanted: Mapping[str, object]) -> int:
        names = tuple(wanted)
        if names not in self._known:
            at = [self._values.table.names.index(name) for name in names]
            keys = [tuple(cells[j] for j in at) for cells in self._cells]
            self._known[names] = {key: row for row, key in reversed(list(enumerate(keys)))}
        return self._known[names][tuple(wanted.values())]


def _rises(old: Reals | None, new: float) -> bool | None:
    """Is the new value above the row's own? None where that is missing."""
    return None if old is None or np.isnan(old[0]) else bool(new > old[0])


def _patterns(
    option: Option, players: Players, names: Sequence[str], rises: Mapping[int, bool | None]
) -> Iterator[Pattern]:
    """What an option moves and which way: either way where the row's own value is missing."""
    choices: list[list[tuple[int, int]]] = []
    for name in option.features:
        columns = players.columns[players.names.index(name)]
        if len(columns) > 1:
            choices += [[(j, TO)] for j in columns]
            continue
        (j,) = columns
        if names[j] not in option.changes:
            continue  # as it is already: nothing for others to learn from
        if j not in rises:
            choices.append([(j, TO)])
            continue
        up = rises[j]
        ways = (AT_LEAST, AT_MOST) if up is None else (AT_LEAST,) if up else (AT_MOST,)
        choices.append([(j, way) for way in ways])
    for chosen in product(*choices):
        yield tuple(sorted(chosen))
