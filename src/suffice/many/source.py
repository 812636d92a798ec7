"""Where the rows to explain come from: by number, read as they are needed, never all at once.

A source gives slices. Whatever slices are asked for, a row has the same cells in each, so that
nothing in an answer depends on where a chunk began. Going on is cheap; going back opens the table
again, which a table that can be read only once refuses.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.checks import text
from suffice.errors import InputError, SufficeError, shorten
from suffice.many.fit import fitted
from suffice.tables import ArrayTable, PandasTable, Table, as_table, is_frame

__all__ = ["BATCH", "Source", "hash_rows", "open_source"]

BATCH = 4096
"""Rows that are read at once."""

_ALLOWED = (
    "a frame, an array, an iterator of frames, a .parquet or .csv file, or a folder of .parquet "
    "files"
)


class Source(ABC):
    """Rows by number, from 0."""

    name: str
    """What it is called in messages and in the manifest."""
    id: str | None = None
    """The column that names the rows, which is in every slice; None: there is none."""
    jumps = True
    """Does it begin at a row without reading those before it?"""

    def __init__(self, total: int | None) -> None:
        self.total = total
        """How many rows there are; None where only reading tells."""
        self._at = 0
        self._held: Table | None = None
        self._ahead: Iterator[Table] | None = None

    @abstractmethod
    def _from(self, first: int) -> Iterator[Table]:
        """All rows from a number on, in tables of any length but none."""

    @abstractmethod
    def fingerprint(self) -> str | None:
        """What tells this table from another; None where it can be read only once."""

    def rows(self, first: int, last: int) -> Table | None:
        """The rows from `first` up to but without `last`; fewer at the end, and None past it.

        >>> import pandas as pd
        >>> ages = pd.DataFrame({"age": [41, 23, 60]})
        >>> source = open_source(ages, as_table(ages))
        >>> source.rows(1, 10).native["age"].tolist(), source.rows(3, 10)
        ([23, 60], None)
        """
        if self._ahead is None or first < self._at or (first > self._at and self.jumps):
            self._ahead, self._held, self._at = self._from(first), None, first
        while self._at < first:
            if self._take(min(first - self._at, BATCH)) is None:
                return None
        return self._take(last - first)

    def peek(self, rows: int) -> Table | None:
        """The first rows, without going on to those after them."""
        found = self.rows(0, rows)
        if found is not None:
            self._held = found if self._held is None else _stacked([found, self._held])
            self._at = 0
        return found

    def _take(self, most: int) -> Table | None:
        """The next rows."""
        tables = [] if self._held is None else [self._held]
        read = sum(map(len, tables))
        while read < most and self._ahead is not None:
            table = next(self._ahead, None)
            if table is None:
                break
            tables.append(table)
            read += len(table)
        if not tables:
            return None
        joined = _stacked(tables)
        asked = min(most, read)
        self._at += asked
        self._held = joined.take(np.arange(asked, read)) if asked < read else None
        return joined.take(np.arange(asked)) if asked < read else joined


def open_source(
    X: Any, like: Table, *, id: str | None = None, rows: str | None = None, argument: str = "X"
) -> Source:
    """The rows of `X` with the columns that `like` has, and the one that names the rows.

    Parameters
    ----------
    X
        A pandas, polars or pyarrow frame, an array, an iterator of frames, the path of a Parquet or
        CSV file, or of a folder of Parquet files. Columns that `like` has not are left out.
    like
        The data that is explained from: what the columns are.
    id
        The column that names the rows.
    rows
        Of a file, which rows: "0:1000", "5,9,12", "0:10,50", or "COLUMN=VALUE". Without `id` their
        numbers in the file then name them.
    """
    from suffice.many.selection import Selected, read_selection

    selection = None if rows is None else read_selection(text("rows", rows))
    # By column, the argument that an error about it is to name.
    columns = dict.fromkeys(like.names, argument)
    if id is not None:
        columns.setdefault(id, "id")
    keep = list(columns)
    if selection is not None and selection.column:
        columns.setdefault(selection.column, "rows")
    source = _opened(X, like, columns, argument)
    source.id = id
    if selection is None:
        return source
    if not isinstance(X, str | PathLike):
        raise InputError("rows", repr(rows), "None, for what is no file", "Pass only those rows.")
    return Selected(source, selection, keep)


def _opened(X: Any, like: Table, columns: Mapping[str, str], argument: str) -> Source:
    if isinstance(X, str | PathLike):
        from suffice.many.files import FileSource, open_file

        return FileSource(open_file(Path(X), argument), like, columns)
    if isinstance(X, Table) or is_frame(X) or isinstance(X, np.ndarray):
        return _InMemory(_projected(X, like, columns, argument), like)
    if isinstance(X, Mapping | bytes) or not isinstance(X, Iterable):
        got = "a mapping" if isinstance(X, Mapping) else shorten(X)
        raise InputError(argument, got, _ALLOWED)
    if isinstance(X, list | tuple) and not any(is_frame(part) for part in X):
        return _InMemory(_projected(X, like, columns, argument), like)
    return _Frames(X, like, columns, argument)


class _InMemory(Source):
    def __init__(self, table: Table, like: Table) -> None:
        super().__init__(len(table))
        self._table = table
        self._like = like
        self.name = _kind(table)

    def _from(self, first: int) -> Iterator[Table]:
        for start in range(first, len(self._table), BATCH):
            stop = min(start + BATCH, len(self._table))
            yield fitted(self._table.take(np.arange(start, stop)), self._like)

    def fingerprint(self) -> str:
        """Of every cell, a batch at a time."""
        digest = sha256()
        for table in self._from(0):
            digest.update(hash_rows(table))
        return digest.hexdigest()


class _Frames(Source):
    """Frames as they come; those of an iterator come once."""

    jumps = False

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

    def _from(self, first: int) -> Iterator[Table]:
        if self._once and self._spent:
            hint = "Pass it anew, or a frame, a list of frames or a file."
            got = "an iterator, which was read past the row wanted"
            raise InputError(self._argument, got, _ALLOWED, hint)
        self._spent = True
        return self._after(first)

    def _after(self, first: int) -> Iterator[Table]:
        left, kind = first, ""
        for number, frame in enumerate(self._frames):
            if len(frame) == 0:
                continue
            try:
                table = _projected(frame, self._like, self._columns, self._argument)
            except SufficeError as error:
                raise error.at(f"frame {number}") from error
            kind = kind or _kind(table)
            if _kind(table) != kind:
                got = f"{_kind(table)} after {kind}"
                raise InputError(self._argument, got, "frames of one kind")
            if left >= len(table):
                left -= len(table)
                continue
            yield fitted(table.take(np.arange(left, len(table))) if left else table, self._like)
            left = 0

    def fingerprint(self) -> None:
        """Not before it is read."""
        return


def _projected(X: Any, like: Table, columns: Mapping[str, str], argument: str) -> Table:
    table = as_table(X, names=like.names, argument=argument)
    if isinstance(table, ArrayTable) and list(columns) == list(table.names):
        return table
    return table.select([table.position(name, blamed) for name, blamed in columns.items()])


def _stacked(tables: Sequence[Table]) -> Table:
    """Joined by halves: one after the other would copy the first as often as there are others."""
    if len(tables) == 1:
        return tables[0]
    middle = len(tables) // 2
    first, second = _stacked(tables[:middle]), _stacked(tables[middle:])
    try:
        return first.stack(second)
    except Exception as error:  # every library has its own class for frames that do not fit
        got = f"frames that cannot be joined: {error}"
        raise InputError("X", got, "frames with the same dtypes") from error


def _kind(table: Table) -> str:
    kind = type(table.native)
    return f"a {kind.__module__.partition('.')[0]} {kind.__name__}"


def hash_rows(table: Table) -> bytes:
    """Eight bytes for each row, which tell its cells and nothing else; columns count in order.

    >>> import pandas as pd
    >>> whole = as_table(pd.DataFrame({"age": [41, 23], "job": ["none", None]}))
    >>> hash_rows(whole) == b"".join(hash_rows(whole.take(np.array([i]))) for i in (0, 1))
    True
    """
    mixed: NDArray[np.uint64] = np.zeros(len(table), dtype=np.uint64)
    for j in range(len(table.names)):
        mixed = np.add(mixed * np.uint64(0x9E3779B97F4A7C15), _hashes(table, j))
    return mixed.astype("<u8").tobytes()


def _hashes(table: Table, position: int) -> NDArray[np.uint64]:
    """Of one column's cells; of cells of several types by what they are, not by their object."""
    import pandas as pd

    if isinstance(table, PandasTable):  # alike, whether or not a value is missing in this slice
        cells = table.native.iloc[:, position]
    else:
        values = table.column(position)
        cells = pd.Series(values.astype(np.float64) if values.dtype.kind in "iu" else values)
    if cells.dtype == object:
        cells = pd.Series([f"{type(v).__name__}:{v}" for v in cells], dtype=object)
    hashed = pd.util.hash_pandas_object(cells, index=False, categorize=False)
    return np.asarray(hashed.to_numpy(), dtype=np.uint64)
