"""Row sources: rows by number from a frame, an array, an iterator of frames or a file.

A source returns slices and reads rows when they are needed, never all at once. A row has the same
cells in every slice, so that no answer depends on where a chunk begins. Reading forward is cheap;
reading backward opens the table again, which an iterator cannot do. `SelectedRows` is a selection
of rows ("0:1000", "region=north").
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from suffice.batch.hashing import hash_rows
from suffice.batch.table_files import BATCH_ROWS, TableFile, conform_dtypes, open_file
from suffice.errors import InputError, SufficeError, short_repr
from suffice.tables import ArrayTable, PandasTable, Table, as_table, is_frame
from suffice.tables.cells import matches_text
from suffice.typing import BoolVector, Counts
from suffice.validation import check_string

_ALLOWED_TABLES = (
    "a frame, an array, an iterator of frames, a .parquet or .csv file, or a folder of .parquet "
    "files"
)


class RowSource(ABC):
    """Rows by number, from 0."""

    name: str
    """The name of the source in messages."""
    id: str | None = None
    """The column that identifies the rows, which every slice has; None: there is none."""
    can_seek = True
    """Whether reading can begin at a row without reading those before it."""

    def __init__(self, total: int | None) -> None:
        self.total = total
        """Number of rows; None if it is known only after the last row."""
        # The next row is number `_at`. Rows that were read but not returned are in `_buffer`; the
        # rows after these come from `_iterator`.
        self._at = 0
        self._buffer: Table | None = None
        self._iterator: Iterator[Table] | None = None

    @abstractmethod
    def _read_from(self, first: int) -> Iterator[Table]:
        """Yield all rows from a number on, in non-empty tables."""

    @abstractmethod
    def fingerprint(self) -> str | None:
        """Return a hash of all rows; None if they can be read only once."""

    def rows(self, first: int, last: int) -> Table | None:
        """Return the rows from `first` up to but without `last`; None after the last row.

        >>> import pandas as pd
        >>> ages = pd.DataFrame({"age": [41, 23, 60]})
        >>> source = open_source(ages, as_table(ages))
        >>> source.rows(1, 10).native["age"].tolist(), source.rows(3, 10)
        ([23, 60], None)
        """
        # Going back, or far ahead where that is cheap, opens the table again.
        if self._iterator is None or first < self._at or (first > self._at and self.can_seek):
            self._iterator, self._buffer, self._at = self._read_from(first), None, first
        # A source that cannot seek reads and drops the rows before.
        while self._at < first:
            if self._take(min(first - self._at, BATCH_ROWS)) is None:
                return None
        return self._take(last - first)

    def peek(self, rows: int) -> Table | None:
        """Return the first rows; they stay the next rows to be read."""
        found = self.rows(0, rows)
        if found is not None:
            self._buffer = found if self._buffer is None else _concatenate([found, self._buffer])
            self._at = 0
        return found

    def _take(self, most: int) -> Table | None:
        """Return the next rows, at most `most`; None after the last row."""
        tables = [] if self._buffer is None else [self._buffer]
        read = sum(map(len, tables))
        while read < most and self._iterator is not None:
            table = next(self._iterator, None)
            if table is None:
                break
            tables.append(table)
            read += len(table)
        if not tables:
            return None
        joined = _concatenate(tables)
        taken = min(most, read)
        self._at += taken
        self._buffer = joined.take(np.arange(taken, read)) if taken < read else None
        return joined.take(np.arange(taken)) if taken < read else joined


def open_source(
    X: Any, like: Table, *, id: str | None = None, rows: str | None = None, argument: str = "X"
) -> RowSource:
    """Return a source of the rows of `X`, with the columns of `like` and the id column.

    Parameters
    ----------
    X
        A pandas, polars or pyarrow frame, an array, an iterator of frames, the path of a Parquet or
        CSV file, or of a folder of Parquet files. Columns that `like` lacks are left out.
    like
        The explainer's data, whose columns and dtypes the rows get.
    id
        The column that identifies the rows.
    rows
        Rows of a file to select: "0:1000", "5,9,12", "0:10,50", or "COLUMN=VALUE". Without `id`,
        their numbers in the file become their ids.
    argument
        The name of `X` in error messages.
    """

    selection = None if rows is None else parse_selection(check_string("rows", rows))
    # For each column, the argument that an error about the column names.
    columns = dict.fromkeys(like.names, argument)
    if id is not None:
        columns.setdefault(id, "id")
    keep = list(columns)
    if selection is not None and selection.column:
        columns.setdefault(selection.column, "rows")
    source = _open_table(X, like, columns, argument)
    source.id = id
    if selection is None:
        return source
    if not isinstance(X, str | PathLike):
        hint = "Select the rows of a frame or an array before passing it."
        raise InputError("rows", repr(rows), "None unless X is a file", hint)
    return SelectedRows(source, selection, keep)


def _open_table(X: Any, like: Table, columns: Mapping[str, str], argument: str) -> RowSource:
    if isinstance(X, str | PathLike):
        return FileSource(open_file(Path(X), argument), like, columns)
    if isinstance(X, Table) or is_frame(X) or isinstance(X, np.ndarray):
        return _TableSource(_select_columns(X, like, columns, argument), like)
    if isinstance(X, Mapping | bytes) or not isinstance(X, Iterable):
        got = "a mapping" if isinstance(X, Mapping) else short_repr(X)
        raise InputError(argument, got, _ALLOWED_TABLES)
    if isinstance(X, list | tuple) and not any(is_frame(part) for part in X):
        return _TableSource(_select_columns(X, like, columns, argument), like)
    return _FramesSource(X, like, columns, argument)


class _TableSource(RowSource):
    """The rows of a frame or an array."""

    def __init__(self, table: Table, like: Table) -> None:
        super().__init__(len(table))
        self._table = table
        self._like = like
        self.name = table.library_name

    def _read_from(self, first: int) -> Iterator[Table]:
        for start in range(first, len(self._table), BATCH_ROWS):
            stop = min(start + BATCH_ROWS, len(self._table))
            yield conform_dtypes(self._table.take(np.arange(start, stop)), self._like)

    def fingerprint(self) -> str:
        """Return a hash of all cells, computed a batch at a time."""
        digest = sha256()
        for table in self._read_from(0):
            digest.update(hash_rows(table))
        return digest.hexdigest()


class _FramesSource(RowSource):
    """The rows of frames, one frame after another; an iterator of frames can be read once."""

    can_seek = False

    def __init__(
        self, frames: Iterable[Any], like: Table, columns: Mapping[str, str], argument: str
    ) -> None:
        super().__init__(None)
        self._frames = frames
        self._once = isinstance(frames, Iterator)
        self._spent = False
        self._like = like
        self._columns = columns
        self._argument = argument
        self.name = "an iterator of frames" if self._once else "frames"

    def _read_from(self, first: int) -> Iterator[Table]:
        if self._once and self._spent:
            hint = "Pass a new iterator, or a frame, a list of frames or a file."
            got = "an iterator, which was already read past the row needed"
            raise InputError(self._argument, got, _ALLOWED_TABLES, hint)
        self._spent = True
        return self._skip_to(first)

    def _skip_to(self, first: int) -> Iterator[Table]:
        """Yield the rows from a number on; frames before it are read and dropped."""
        left, kind = first, ""
        for number, frame in enumerate(self._frames):
            if len(frame) == 0:
                continue
            try:
                table = _select_columns(frame, self._like, self._columns, self._argument)
            except SufficeError as error:
                raise error.at(f"frame {number}") from error
            kind = kind or table.library_name
            if table.library_name != kind:
                got = f"{table.library_name} after {kind}"
                raise InputError(self._argument, got, "frames of one kind")
            if left >= len(table):
                left -= len(table)
                continue
            yield conform_dtypes(
                table.take(np.arange(left, len(table))) if left else table, self._like
            )
            left = 0

    def fingerprint(self) -> None:
        """Return None: a hash would need a second pass over the frames."""
        return


def _select_columns(X: Any, like: Table, columns: Mapping[str, str], argument: str) -> Table:
    table = as_table(X, names=like.names, argument=argument)
    if isinstance(table, ArrayTable) and list(columns) == list(table.names):
        return table
    return table.select([table.position(name, blamed) for name, blamed in columns.items()])


def _concatenate(tables: Sequence[Table]) -> Table:
    """Return the rows of all tables as one table."""
    if len(tables) == 1:
        return tables[0]
    try:
        return tables[0].stack(*tables[1:])
    except Exception as error:  # every library has its own class for frames that do not fit
        got = f"frames that cannot be joined: {error}"
        raise InputError("X", got, "frames with the same dtypes") from error


class FileSource(RowSource):
    """The rows of a file, with some of its columns."""

    def __init__(self, file: TableFile, like: Table, columns: Mapping[str, str]) -> None:
        super().__init__(file.total)
        for name, argument in columns.items():
            file.position(name, argument)
        self._file = file
        self._like = like
        self._columns = list(columns)
        self.name = file.path.name
        self.can_seek = file.total is not None

    def _read_from(self, first: int) -> Iterator[Table]:
        for frame in self._file.frames(self._columns, first):
            yield self._file.conform(frame, self._like)

    def fingerprint(self) -> str:
        """Return a hash of the file's bytes."""
        return self._file.fingerprint()


# -- row selection: by number ("0:1000", "5,9,12") or by a value ("region=north") --------


_ALLOWED_SELECTIONS = "numbers from 0 such as '0:1000', '5,9,12' or '0:10,50', or 'COLUMN=VALUE'"


@dataclass(frozen=True)
class RowSelection:
    """Ranges of row numbers, or the value that a column must have: see `parse_selection`."""

    ranges: tuple[tuple[int, int | None], ...] = ((0, None),)
    column: str = ""
    value: str = ""
    text: str = ""
    """The selection as the user wrote it."""
    argument: str = "rows"
    """The name of the user's argument, for error messages."""

    def count(self, total: int | None, table_name: str) -> int | None:
        """Return the number of selected rows of a table; None if it is known only after reading.

        A range that ends after the last row is an InputError.
        """
        if self.column:
            return None
        count = 0
        for start, stop in self.ranges:
            end = total if stop is None else stop
            if end is None:
                return None
            if total is not None and not start < end <= total:
                raise self.too_large(total, table_name)
            count += end - start
        return count

    def too_large(self, total: int, table_name: str) -> InputError:
        """Return the error of a range that ends after the last row of a table."""
        allowed = f"0 to {total - 1}, which are the rows of {table_name}"
        return InputError(self.argument, repr(self.text), allowed)

    def mask(self, table: Table) -> BoolVector:
        """Return whether each row of a table has the value of the selection."""
        if not self.column:
            return np.ones(len(table), dtype=bool)
        column = table.column(table.position(self.column, self.argument))
        return np.array([matches_text(cell, self.value) for cell in column.tolist()], dtype=bool)

    def numbers(self, table: Table, table_name: str = "the table") -> Counts:
        """Return the numbers of the selected rows of a table in memory.

        >>> import pandas as pd
        >>> table = as_table(pd.DataFrame({"region": ["north", "south", "north"]}))
        >>> parse_selection("region=north").numbers(table).tolist()
        [0, 2]
        """
        self.count(len(table), table_name)
        parts = [np.arange(len(table))[start:stop] for start, stop in self.ranges]
        numbers = np.concatenate(parts)
        return numbers[self.mask(table)[numbers]]


def parse_selection(text: str, argument: str = "rows") -> RowSelection:
    """Return the selection that a user wrote; an InputError about `argument` if it is malformed.

    >>> parse_selection("50,0:10").ranges, parse_selection("7:").ranges
    (((0, 10), (50, 51)), ((7, None),))
    >>> parse_selection("region=north").column
    'region'
    """
    if "=" in text:
        column, _, value = (part.strip() for part in text.partition("="))
        if not column:
            raise InputError(argument, repr(text), _ALLOWED_SELECTIONS)
        return RowSelection(column=column, value=value, text=text, argument=argument)
    ranges = [_parse_range(part.strip(), text, argument) for part in text.split(",")]
    # Sorted, so that the file is read once from its beginning.
    ranges.sort(key=lambda r: r[0])
    for (_, stop), (start, _) in pairwise(ranges):
        if stop is None or start < stop:
            got = f"{text!r}, which has row {start} twice"
            raise InputError(argument, got, _ALLOWED_SELECTIONS)
    return RowSelection(tuple(ranges), text=text, argument=argument)


def _parse_range(part: str, text: str, argument: str) -> tuple[int, int | None]:
    start, colon, stop = part.partition(":")
    numbers = [start or "0", stop] if colon else [start]
    if not all(number.isdecimal() or (colon and not number) for number in numbers):
        raise InputError(argument, repr(text), _ALLOWED_SELECTIONS)
    if not colon:
        return int(start), int(start) + 1
    found = int(numbers[0]), int(stop) if stop else None
    if found[1] is not None and found[1] <= found[0]:
        raise InputError(argument, f"{part!r}, which selects no row", _ALLOWED_SELECTIONS)
    return found


class SelectedRows(RowSource):
    """Selected rows of a file, numbered from 0; without an id column, old numbers are the ids."""

    can_seek = False

    def __init__(self, source: RowSource, selection: RowSelection, keep: Sequence[str]) -> None:
        super().__init__(selection.count(source.total, source.name))
        self._source = source
        self._selection = selection
        self._keep = list(keep)
        self._numbered = source.id is None
        self.id = source.id or unused_column_name(keep)
        self.name = f"{source.name}, rows {selection.text}"

    def _read_from(self, first: int) -> Iterator[Table]:
        left = first
        for numbers, table in self._selected():
            if left >= len(table):
                left -= len(table)
                continue
            frame = table.native.iloc[left:][self._keep].reset_index(drop=True)
            if self._numbered:
                frame[self.id] = numbers[left:]
            yield PandasTable(frame)
            left = 0

    def _selected(self) -> Iterator[tuple[Counts, Table]]:
        """Yield the selected rows, with their numbers in the whole table."""
        selection = self._selection
        for start, stop in selection.ranges:
            at = start
            while stop is None or at < stop:
                table = self._source.rows(
                    at, at + BATCH_ROWS if stop is None else min(at + BATCH_ROWS, stop)
                )
                if table is None:
                    if stop is not None:
                        raise selection.too_large(at, self._source.name)
                    break
                numbers = np.arange(at, at + len(table))
                mask = selection.mask(table)
                if mask.any():
                    yield numbers[mask], table.take(np.flatnonzero(mask))
                at += len(table)

    def fingerprint(self) -> str | None:
        """Return a hash of the whole table and the selection."""
        whole = self._source.fingerprint()
        text = f"{whole} {self._selection.text}"
        return None if whole is None else sha256(text.encode()).hexdigest()


def unused_column_name(taken: Collection[str]) -> str:
    """Return "row", or "row_", "row__" and so on if columns have that name."""
    name = "row"
    while name in taken:
        name += "_"
    return name
