"""Parquet and CSV tables read a batch at a time, in the dtypes of the data; repeated ids."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from suffice.batch.hashing import hash_file, hash_rows
from suffice.errors import InputError, did_you_mean, missing_package, short_repr
from suffice.formatting import plural
from suffice.tables import PandasTable, Table, as_scalar
from suffice.typing import Values


def open_file(path: Path, argument: str = "X") -> TableFile:
    """Return the table of a Parquet file, a folder of Parquet files, or a CSV file."""
    try:
        exists = path.exists()
    except OSError:  # a name that no file can have
        exists = False
    if not exists:
        raise InputError(argument, f"{path}, which does not exist", _ALLOWED_FILES)
    if path.is_dir():
        parts = sorted(path.rglob("*.parquet"))
        if not parts:
            raise InputError(argument, f"{path}, a folder without .parquet files", _ALLOWED_FILES)
        return ParquetFiles(path, parts, argument)
    if path.suffix.lower() in (".parquet", ".pq"):
        return ParquetFiles(path, [path], argument)
    if path.suffix.lower() == ".csv":
        return CsvFile(path, argument)
    raise InputError(argument, path.name, _ALLOWED_FILES)


_ALLOWED_FILES = "a .parquet or .csv file, or a folder of .parquet files"


class TableFile(ABC):
    """A table on disk: its column names, and its rows from any row number on."""

    names: tuple[str, ...]
    total: int | None
    """Number of rows; None if only reading the whole file tells it (CSV)."""

    def __init__(self, path: Path, argument: str) -> None:
        self.path = path
        self.argument = argument

    @abstractmethod
    def frames(self, columns: Sequence[str], first: int = 0) -> Iterator[Any]:
        """Yield columns as pandas frames of a few thousand rows, from row number `first` on."""

    @abstractmethod
    def conform(self, frame: Any, like: Table) -> Table:
        """Return a frame that `frames` yielded, with the dtypes of the columns of `like`."""

    def position(self, name: str, argument: str) -> int:
        """Return the position of a column; an InputError about `argument` if it is unknown."""
        if name not in self.names:
            hint = did_you_mean(name, self.names)
            raise InputError(
                argument, f"unknown column {short_repr(name)}", f"a column of {self}", hint
            )
        return self.names.index(name)

    def fingerprint(self) -> str:
        """Return the SHA-256 of the bytes of the file, or of all files of the folder."""
        return hash_file(*self._files())

    def _files(self) -> Sequence[Path]:
        return [self.path]

    def _unreadable(self, error: Exception) -> InputError:
        return InputError(self.argument, f"{self.path.name}: {error}", "a readable table")

    def __str__(self) -> str:
        return self.path.name


class ParquetFiles(TableFile):
    """Parquet file, or several in the order of their names, read a batch at a time."""

    total: int

    def __init__(self, path: Path, parts: Sequence[Path], argument: str) -> None:
        super().__init__(path, argument)
        try:
            from pyarrow import parquet
        except ImportError as error:
            raise missing_package("Reading a Parquet file", "pyarrow", "parquet") from error
        try:
            self._opened = [parquet.ParquetFile(part) for part in parts]
        except Exception as error:  # pyarrow's errors have several bases
            raise self._unreadable(error) from error
        first = self._opened[0].schema_arrow
        for part, file in zip(parts, self._opened, strict=True):
            if not file.schema_arrow.equals(first):
                got = f"{part.name}, whose columns differ from those of {parts[0].name}"
                raise InputError(argument, got, "files of one table")
        self._paths = parts
        self.names = tuple(first.names)
        self.total = sum(file.metadata.num_rows for file in self._opened)

    def frames(self, columns: Sequence[str], first: int = 0) -> Iterator[Any]:
        """Yield columns as pandas frames; row groups before `first` are skipped, not read."""
        left = first
        for file in self._opened:
            groups = file.metadata.num_row_groups
            sizes = [file.metadata.row_group(i).num_rows for i in range(groups)]
            start = 0
            while start < groups and left >= sizes[start]:
                left -= sizes[start]
                start += 1
            if start == groups:
                continue
            try:
                batches = file.iter_batches(
                    BATCH_ROWS, row_groups=list(range(start, groups)), columns=list(columns)
                )
                for batch in batches:
                    rows, left = batch.slice(left), max(0, left - len(batch))
                    if len(rows):
                        # Integers beside a missing value stay integers, as objects.
                        yield rows.to_pandas(integer_object_nulls=True)[list(columns)]
            except InputError:
                raise
            except Exception as error:
                raise self._unreadable(error) from error

    def conform(self, frame: Any, like: Table) -> Table:
        """Return the frame with the dtypes of `like`, which a slice alone need not show."""
        return conform_dtypes(PandasTable(frame), like)

    def _files(self) -> Sequence[Path]:
        return self._paths


class CsvFile(TableFile):
    """A CSV file, whose cells are text until `conform` gives them the dtypes of the data."""

    total = None

    def __init__(self, path: Path, argument: str) -> None:
        super().__init__(path, argument)
        import pandas as pd

        try:
            heading = pd.read_csv(path, nrows=0)
        except Exception as error:  # whatever a bad file makes pandas raise
            raise self._unreadable(error) from error
        self.names = tuple(map(str, heading.columns))

    def frames(self, columns: Sequence[str], first: int = 0) -> Iterator[Any]:
        """Yield columns as frames of texts; rows before `first` are read and dropped."""
        import pandas as pd

        left = first
        try:
            with pd.read_csv(
                self.path, usecols=list(columns), dtype=str, chunksize=BATCH_ROWS
            ) as chunks:
                for chunk in chunks:
                    rows, left = chunk.iloc[left:], max(0, left - len(chunk))
                    if len(rows):
                        yield rows[list(columns)].reset_index(drop=True)
        except InputError:
            raise
        except Exception as error:
            raise self._unreadable(error) from error

    def conform(self, frame: Any, like: Table) -> Table:
        """Return the frame with texts parsed as the values that the columns hold in `like`."""
        import pandas as pd

        columns = {
            name: parse_csv_column(frame[name], like, like.names.index(name))
            if name in like.names
            else frame[name]
            for name in frame.columns
        }
        return conform_dtypes(PandasTable(pd.DataFrame(columns)), like)


BATCH_ROWS = 4096
"""Rows read at a time."""


# -- dtypes: every slice of a streamed table gets those of the explainer's data -----------


def conform_dtypes(rows: Table, like: Table) -> Table:
    """Return pandas rows with the dtypes of `like`, except columns in which a cell does not fit.

    Frames of other libraries and arrays are returned as they are: the explainer casts their rows.

    >>> import pandas as pd
    >>> data = PandasTable(pd.DataFrame({"age": [41, 23]}))
    >>> conform_dtypes(PandasTable(pd.DataFrame({"age": [30.0, 50.0]})), data).dtype(0)
    'int64'
    >>> missing = PandasTable(pd.DataFrame({"age": [30.0, None]}))
    >>> conform_dtypes(missing, data).native["age"].tolist()
    [30.0, nan]
    """
    if not isinstance(rows, PandasTable) or not isinstance(like, PandasTable):
        return rows
    frame = rows.native.copy(deep=False)
    for j, name in enumerate(rows.names):
        if name not in like.names:
            continue
        column = frame.iloc[:, j]
        wanted = like.names.index(name)
        if like.select([wanted]).same_dtype(0, rows.select([j])):
            continue
        try:
            frame.isetitem(j, like.cast_cells(wanted, rows.cells(j)))
        except InputError:  # read row by row later, where the error is that of its row
            frame.isetitem(j, column.astype(object))
    return PandasTable(frame)


def parse_csv_column(texts: Any, like: Table, position: int) -> Any:
    """Return the cells of a CSV column as values of a column of `like`; others stay text.

    >>> import pandas as pd
    >>> data = PandasTable(pd.DataFrame({"age": [41, 23], "own": [True, False]}))
    >>> parse_csv_column(pd.Series(["30", "old", None]), data, 0).tolist()
    [30, 'old', None]
    >>> parse_csv_column(pd.Series(["True", "false"]), data, 1).tolist()
    [True, False]
    """
    known = like.categories(position)
    if known is not None:
        return _parse_cells(texts, {str(value): value for value in known}.get)
    values = like.column(position)
    if _are_booleans(values):
        return _parse_cells(texts, BOOLEAN_WORDS.get)
    if like.is_datetime(position) or values.dtype.kind not in "iuf":
        return texts
    if like.is_integer(position):
        return _parse_cells(texts, _parse_integer)
    numbers = parse_numbers(texts)
    return _parse_cells(texts, _parse_float) if numbers is None else numbers


def parse_numbers(texts: Any) -> Any:
    """Return texts as a series of floats, missing ones as NaN; None if one is not a number."""
    try:  # "1_000" is a number to Python, but to no other reader of CSV files
        if not texts.str.contains("_", regex=False).any():
            return texts.astype("float64")
    except ValueError:
        pass
    return None


def _are_booleans(values: Values) -> bool:
    """Return whether a column holds Booleans; beside a missing value they are objects."""
    if values.dtype.kind != "O":
        return values.dtype.kind == "b"
    return {type(value) for value in values.tolist() if value is not None} == {bool}


BOOLEAN_WORDS = {
    "True": True,
    "TRUE": True,
    "true": True,
    "False": False,
    "FALSE": False,
    "false": False,
}


def _parse_cells(texts: Any, read: Callable[[str], Any]) -> Any:
    """Return cells parsed by a function; a text for which it returns None stays text."""
    import pandas as pd

    def cell(text: Any) -> Any:
        if not isinstance(text, str):  # a missing value
            return None
        value = read(text)
        return text if value is None else value

    return pd.Series([cell(text) for text in texts], index=texts.index, dtype=object)


def _parse_float(text: str) -> float | None:
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


def _parse_integer(text: str) -> int | float | None:
    try:
        return None if "_" in text else int(text)
    except ValueError:
        return _parse_float(text)


# -- repeated ids, reported before a run and not after it --------------------------------


MAX_IDS_CHECKED = 10_000_000
"""Number of rows whose ids are compared: eight bytes of memory each."""


@dataclass(frozen=True)
class RepeatedIds:
    """Numbers of rows whose id repeats an earlier one, or is missing, with one example."""

    n_repeated: int
    example: object
    row_numbers: tuple[int, int]
    """The first two rows with the id `example`."""
    missing: int

    def __str__(self) -> str:
        parts = []
        if self.n_repeated:
            first, second = self.row_numbers
            example = f"{self.example!r}: rows {first} and {second}"
            rows = plural(self.n_repeated, "row")
            parts.append(f"{rows} with the id of an earlier one ({example})")
        if self.missing:
            parts.append(f"{plural(self.missing, 'row')} without one")
        return " and ".join(parts)


def find_repeated_ids(file: TableFile, column: str) -> RepeatedIds | None:
    """Return repeated and missing ids among the first rows of a file; None if there are none.

    >>> import tempfile, pathlib
    >>> from suffice.batch.table_files import open_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "t.csv"
    ...     _ = path.write_text("who,age\\nann,41\\nbob,23\\nann,60\\n")
    ...     print(find_repeated_ids(open_file(path), "who"))
    1 row with the id of an earlier one ('ann': rows 0 and 2)
    """
    file.position(column, "--id")
    hashes, missing, read = [np.empty(0, dtype=np.uint64)], 0, 0
    for frame in file.frames([column]):
        there = frame[frame[column].notna()]
        missing += len(frame) - len(there)
        hashes.append(np.frombuffer(hash_rows(PandasTable(there)), dtype="<u8"))
        read += len(frame)
        if read >= MAX_IDS_CHECKED:
            break
    found, counts = np.unique(np.concatenate(hashes), return_counts=True)
    repeated = int((counts - 1).sum())
    if not repeated:
        return RepeatedIds(0, None, (0, 0), missing) if missing else None
    example, where = _find_repeated_id(file, column, found[np.argmax(counts > 1)])
    return RepeatedIds(repeated, example, where, missing)


def _find_repeated_id(
    file: TableFile, column: str, wanted: np.uint64
) -> tuple[object, tuple[int, int]]:
    """Return the id with a hash, and the first two rows that have it."""
    rows: list[int] = []
    start, value = 0, None
    for frame in file.frames([column]):
        there = np.flatnonzero(frame[column].notna())
        hashes = np.frombuffer(hash_rows(PandasTable(frame.iloc[there])), dtype="<u8")
        for at in there[hashes == wanted].tolist():
            value = as_scalar(frame[column].iloc[at])
            rows.append(start + at)
        if len(rows) > 1:
            break
        start += len(frame)
    return value, (rows[0], rows[1])
