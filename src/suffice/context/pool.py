"""Inputs and references side by side: what follows from either is worked out once.

Most inputs of a portfolio are contrasted with the same references, and inputs come many at a time.
`Rows` keeps what was made of each of its rows by itself: the numbers that a model's trees see, the
terms that it adds up. A `Pool` is one input above its references, as a table. It is only stacked
where a hybrid is built; its columns and codes are read from what is known of its two parts.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property
from threading import Lock
from typing import Any, Self, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from suffice.context.players import Players
from suffice.tables.cells import column_codes, distinct_rows, plain
from suffice.tables.table import Table
from suffice.typing import Counts, Held, Scalar, Values

__all__ = ["Pool", "ReferenceSets", "References", "Rows"]

Made = TypeVar("Made")

RowByRow = Callable[[Table], NDArray[Any]]
"""Gives an array with a row for each row of a table, which depends on that row alone."""

_CELLS_KEPT = 1 << 22
_SETS_KEPT = 64
"""Sets of references, and cells of them all, that an explainer keeps."""

_NOWHERE = -1
"""In place of the number of a value that no reference has."""


class Rows(Sequence[Table]):
    """The rows of a table, each a table of its own, with what was worked out of them."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self._made: dict[Hashable, Any] = {}

    def __len__(self) -> int:
        return len(self.table)

    @overload
    def __getitem__(self, which: int) -> Table: ...
    @overload
    def __getitem__(self, which: slice) -> Rows: ...
    def __getitem__(self, which: int | slice) -> Table | Rows:
        if isinstance(which, slice):
            return Rows(self.table.take(np.arange(len(self))[which]))
        if not -len(self) <= which < len(self):
            raise IndexError(which)
        return self.row(which % len(self))

    @classmethod
    def together(cls, rows: Sequence[Table]) -> Rows:
        """Tables of a row each, of one kind and with the same dtypes, as one."""
        if isinstance(rows, Rows):
            return rows
        first, *others = rows
        return cls(first.stack_all(others) if others else first)

    def __reduce__(self) -> tuple[Any, ...]:
        """Stored and sent without what can be worked out again."""
        return type(self), (self.table,)

    def once(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """What `make` gives, kept under a key as long as the rows are."""
        if key not in self._made:
            self._made[key] = make()
        found: Made = self._made[key]
        return found

    def row(self, place: int) -> Table:
        """One of them, as a table of its own."""
        return self.table if len(self.table) == 1 else self.table.take(np.array([place]))

    def cells(self, place: int) -> list[Scalar]:
        """The values of one row, as they are shown."""
        columns = self.once("columns", self._columns)
        alone = None
        out = []
        for j, column in enumerate(columns):
            if column is None:
                alone = self.row(place) if alone is None else alone
                out.append(plain(alone.column(j)[0]))
            else:
                out.append(plain(column[place]))
        return out

    def _columns(self) -> list[Values | None]:
        """None for whole numbers that another row's missing one has turned into floats."""
        table = self.table
        columns = [table.column(j) for j in range(len(table.names))]
        return [
            None if values.dtype.kind in "fO" and table.holds_whole_numbers(j) else values
            for j, values in enumerate(columns)
        ]


class References(Rows):
    """The rows that inputs are contrasted with."""

    @cached_property
    def codes(self) -> Counts:
        """(n, columns): equal values of a column share a number; larger ones have larger ones."""
        return self.table.codes()

    def player_codes(self, players: Players) -> Counts:
        """(n, d): the same for what players hold, numbered as they appear."""
        return self.once(("codes of players", players.columns), lambda: self._numbered(players))

    def _numbered(self, players: Players) -> Counts:
        parts = (self.codes[:, list(columns)] for columns in players.columns)
        return np.stack([distinct_rows(part)[0] for part in parts], axis=1)


class ReferenceSets:
    """The sets of references that were asked for last, as many as memory should hold.

    A copy of it, or one that is sent elsewhere, begins with none.
    """

    def __init__(self) -> None:
        self._sets: dict[Hashable, References] = {}
        self._lock = Lock()

    def get(self, key: Hashable, choose: Callable[[], Table]) -> References:
        """The set of this key, chosen if it is not there."""
        with self._lock:
            found = self._sets.pop(key, None)
        if found is None:
            found = References(choose())
        with self._lock:
            self._sets[key] = found  # the one used last stands last
            sizes = [len(kept) * len(kept.table.names) for kept in self._sets.values()]
            while len(sizes) > 1 and (sum(sizes) > _CELLS_KEPT or len(sizes) > _SETS_KEPT):
                del self._sets[next(iter(self._sets))], sizes[0]
        return found

    def __len__(self) -> int:
        return len(self._sets)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), ()


class Pool(Table):
    """An input in row 0 and its references below it."""

    def __init__(self, inputs: Rows, place: int, references: References) -> None:
        self.inputs = inputs
        self.place = place
        self.references = references
        self.names = references.table.names

    def __len__(self) -> int:
        return 1 + len(self.references)

    def by_row(self, make: RowByRow) -> NDArray[Any]:
        """What `make` gives of the pool, where what it gives of a row depends on that row alone.

        Where not all inputs can be read together, each is read by itself: its fault is its own.
        """
        below = self.references.once(make, lambda: make(self.references.table))
        every = self.inputs.once(make, lambda: _if_all_can_be_read(make, self.inputs.table))
        above = (
            make(self.inputs.row(self.place))
            if every is None
            else every[self.place : self.place + 1]
        )
        return np.concatenate([above, below])

    def column(self, position: int) -> Values:
        """One column; from the parts where both are read alike, alone and together."""
        above = self.inputs.table.column(position)
        below = self.references.table.column(position)
        if above.dtype != below.dtype:  # missing values in one part, which decide how all are read
            return self._whole.column(position)
        return np.concatenate([above[self.place : self.place + 1], below])

    def codes(self) -> Counts:
        """As of the whole: the references' own numbers make room for the input's where it is new.

        >>> from suffice.tables.frames import as_table
        >>> references = References(as_table([[3.0], [7.0], [3.0]]))
        >>> Pool(Rows(as_table([[5.0]])), 0, references).codes().ravel().tolist()
        [1, 0, 2, 0]
        """
        place, known = self._places
        below = self.references.codes
        out = np.concatenate([place[None], below + (~known & (below >= place))])
        for j in np.flatnonzero(place < 0):  # values whose order hangs on what stands beside them
            out[:, j] = column_codes(self.column(int(j)))
        return out

    def player_codes(self, players: Players) -> Counts:
        """(1 + n, d): numbers of what players hold, as they appear: the input's are 0."""
        below = self.references.player_codes(players)
        place, known = self._places
        if (place < 0).any():
            codes = self.codes()
            parts = (codes[:, list(columns)] for columns in players.columns)
            return np.stack([distinct_rows(part)[0] for part in parts], axis=1)
        equal = known & (self.references.codes == place)
        if len(players) == len(self.names):
            alike = equal[:, [columns[0] for columns in players.columns]]
        else:
            alike = np.stack([equal[:, list(c)].all(axis=1) for c in players.columns], axis=1)
        # Numbers up to the one that the input has move up to let it be the first.
        own = np.where(alike.any(axis=0), below[alike.argmax(axis=0), np.arange(len(players))], -1)
        above = np.where(own < 0, below.max(axis=0) + 1, own)
        out = np.zeros((len(self), len(players)), dtype=np.int64)
        out[1:] = np.where(alike, 0, below + (below < above))
        return out

    @property
    def _places(self) -> tuple[Counts, NDArray[np.bool_]]:
        """(columns,): where the input's values stand among the references', and are they there?"""
        key = ("places", self.references)
        places, known = self.inputs.once(key, lambda: _places(self.inputs, self.references))
        return places[self.place], known[self.place]

    @cached_property
    def _whole(self) -> Table:
        return self.inputs.row(self.place).stack(self.references.table)

    def __reduce__(self) -> tuple[Any, ...]:
        """Stored as the table that it is, without what is known of others."""
        return _as_it_is, (self._whole,)

    @property
    def native(self) -> Any:
        """The table as the library it came from knows it."""
        return self._whole.native

    def take(self, rows: Counts) -> Self:
        """These rows, in this order."""
        taken: Any = self._whole.take(rows)
        return taken  # type: ignore[no-any-return]

    def select(self, positions: Sequence[int]) -> Table:
        """These columns, in this order."""
        return self._whole.select(positions)

    def splice(self, first: Held, rows: Counts) -> Table:
        """Row i takes, in column j, the first row's value where first[i, j], else row rows[i]'s."""
        return self._whole.splice(first, rows)

    def gather(self, rows: Counts) -> Table:
        """Row i takes, in column j, the value of row rows[i, j]."""
        return self._whole.gather(rows)

    def with_columns(self, columns: Mapping[int, Values], argument: str = "values") -> Table:
        """This table with new values in these columns."""
        return self._whole.with_columns(columns, argument)

    def stack(self, below: Table) -> Table:
        """This table with another of the same columns below it."""
        return self._whole.stack(below)

    def dtype(self, position: int) -> str:
        """The column's dtype, for messages."""
        return self._whole.dtype(position)

    def same_dtype(self, position: int, other: Table) -> bool:
        """Has the column the same dtype in another table?"""
        return self._whole.same_dtype(position, other)

    def same_kind(self, other: Table) -> bool:
        """Is the other table of the same library?"""
        return self._whole.same_kind(other)

    def holds_moments(self, position: int) -> bool:
        """Is it a column of dates or of points in time?"""
        return self._whole.holds_moments(position)

    def holds_whole_numbers(self, position: int) -> bool:
        """Is it a column that can hold whole numbers only?"""
        return self._whole.holds_whole_numbers(position)

    def categories(self, position: int) -> list[Any] | None:
        """The values that the column's dtype lists."""
        return self._whole.categories(position)

    def cell(self, row: int, position: int) -> Any:
        """One value, as its library gives it."""
        return self._whole.cell(row, position)

    def _fitted(self, position: int, value: Any) -> tuple[Any, Any]:
        return self._whole._fitted(position, value)

    def _row(self, cells: Sequence[Any]) -> Table:
        return self._whole._row(cells)


def _as_it_is(table: Table) -> Table:
    return table


def _if_all_can_be_read(make: RowByRow, table: Table) -> NDArray[Any] | None:
    try:
        return make(table)
    except Exception:  # whatever it is: reading each row by itself tells whose fault it is
        return None


def _places(inputs: Rows, references: References) -> tuple[Counts, NDArray[np.bool_]]:
    """(inputs, columns): the number of each value among the references', or where it would stand.

    _NOWHERE in a column of values whose order depends on which others there are.
    """
    shape = len(inputs), len(references.table.names)
    places = np.full(shape, _NOWHERE, dtype=np.int64)
    known = np.zeros(shape, dtype=bool)
    for j in range(shape[1]):
        above, below = inputs.table.column(j), references.table.column(j)
        if above.dtype != below.dtype or not _have_one_order(above, below):
            continue
        codes = column_codes(np.concatenate([above, below]))
        order = np.unique(codes[len(above) :])
        places[:, j] = np.searchsorted(order, codes[: len(above)])
        known[:, j] = order[np.minimum(places[:, j], len(order) - 1)] == codes[: len(above)]
    return places, known


def _have_one_order(above: Values, below: Values) -> bool:
    """Is the order of any two values the same whatever others there are? Of mixed types not."""
    if above.dtype.kind in "biufmM":
        return above.dtype.itemsize <= 8
    return {*map(type, above.tolist()), *map(type, below.tolist())} <= {str, type(None)}
