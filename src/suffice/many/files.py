"""Tables in files, read a batch at a time: Parquet by row groups, CSV from its beginning."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from suffice.errors import InputError, did_you_mean, shorten
from suffice.many.fit import fitted, parsed
from suffice.many.source import BATCH, Source
from suffice.tables import PandasTable, Table

__all__ = ["CsvFile", "FileSource", "ParquetFiles", "TableFile", "open_file"]


def open_file(path: Path, argument: str = "X") -> TableFile:
    """A Parquet file, a folder of them, or a CSV file."""
    try:
        there = path.exists()
    except OSError:  # a name that no file can have
        there = False
    if not there:
        raise InputError(argument, f"{path}, which is not there", _ALLOWED)
    if path.is_dir():
        parts = sorted(path.rglob("*.parquet"))
        if not parts:
            raise InputError(argument, f"{path}, a folder without .parquet files", _ALLOWED)
        return ParquetFiles(path, parts, argument)
    if path.suffix.lower() in (".parquet", ".pq"):
        return ParquetFiles(path, [path], argument)
    if path.suffix.lower() == ".csv":
        return CsvFile(path, argument)
    raise InputError(argument, path.name, _ALLOWED)


_ALLOWED = "a .parquet or .csv file, or a folder of .parquet files"


class TableFile(ABC):
    """A table on disk: its columns, and its rows from any of them on."""

    names: tuple[str, ...]
    total: int | None
    """How many rows, where the file says so."""

    def __init__(self, path: Path, argument: str) -> None:
        self.path = path
        self.argument = argument

    @abstractmethod
    def frames(self, columns: Sequence[str], first: int = 0) -> Iterator[Any]:
        """These columns as pandas frames of a few thousand rows, from a row on."""

    @abstractmethod
    def like(self, frame: Any, like: Table) -> Table:
        """Such a frame with the dtypes that its columns have in a table."""

    def position(self, name: str, argument: str) -> int:
        """Where a column stands."""
        if name not in self.names:
            hint = did_you_mean(name, self.names)
            raise InputError(
                argument, f"unknown column {shorten(name)}", f"a column of {self}", hint
            )
        return self.names.index(name)

    def fingerprint(self) -> str:
        """Of the bytes of the file, or of every file of the folder."""
        digest = sha256()
        for part in self._parts():
            with part.open("rb") as file:
                while block := file.read(2**20):
                    digest.update(block)
        return digest.hexdigest()

    def _parts(self) -> Sequence[Path]:
        return [self.path]

    def _unreadable(self, error: Exception) -> InputError:
        return InputError(self.argument, f"{self.path.name}: {error}", "a readable table")

    def __str__(self) -> str:
        return self.path.name


class ParquetFiles(TableFile):
    """One Parquet file, or several in the order of their names."""

    total: int

    def __init__(self, path: Path, parts: Sequence[Path], argument: str) -> None:
        super().__init__(path, argument)
        try:
            from pyarrow import parquet
        except ImportError as error:
            hint = "pip install suffice[parquet]"
            got = "a Parquet file, which needs pyarrow"
            raise InputError(argument, got, "a .csv file", hint) from error
        try:
            self._files = [parquet.ParquetFile(part) for part in parts]
        except Exception as error:  # pyarrow's errors have several bases
            raise self._unreadable(error) from error
        first = self._files[0].schema_arrow
        for part, file in zip(parts, self._files, strict=True):
            if not file.schema_arrow.equals(first):
                got = f"{part.name}, whose columns differ from those of {parts[0].name}"
                raise InputError(argument, got, "files of one table")
        self._paths = parts
        self.names = tuple(first.names)
        self.total = sum(file.metadata.num_rows for file in self._files)

    def frames(self, columns: Sequence[str], first: int = 0) -> Iterator[Any]:
        """Row groups before the first are passed over by their lengths alone."""
        left = first
        for file in self._files:
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
                    BATCH, row_groups=list(range(start, groups)), columns=list(columns)
                )
                for batch in batches:
                    rows, left = batch.slice(left), max(0, left - len(batch))
                    if len(rows):
                        # Whole numbers beside a missing one stay whole.
                        yield rows.to_pandas(integer_object_nulls=True)[list(columns)]
            except InputError:
                raise
            except Exception as error:
                raise self._unreadable(error) from error

    def like(self, frame: Any, like: Table) -> Table:
        """What the file says of its columns is right but for what a slice cannot show."""
        return fitted(PandasTable(frame), like)

    def _parts(self) -> Sequence[Path]:
        return self._paths


class CsvFile(TableFile):
    """A CSV file: text, until the data says what its columns are."""

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
        """Rows before the first are read and forgotten: where they end, only reading tells."""
        import pandas as pd

        left = first
        try:
            with pd.read_csv(
                self.path, usecols=list(columns), dtype=str, chunksize=BATCH
            ) as chunks:
                for chunk in chunks:
                    rows, left = chunk.iloc[left:], max(0, left - len(chunk))
                    if len(rows):
                        yield rows[list(columns)].reset_index(drop=True)
        except InputError:
            raise
        except Exception as error:
            raise self._unreadable(error) from error

    def like(self, frame: Any, like: Table) -> Table:
        """Text as what the columns hold in the table."""
        columns = {
            name: parsed(frame[name], like, like.names.index(name))
            if name in like.names
            else frame[name]
            for name in frame.columns
        }
        import pandas as pd

        return fitted(PandasTable(pd.DataFrame(columns)), like)


class FileSource(Source):
    """Some columns of a file."""

    def __init__(self, file: TableFile, like: Table, columns: Mapping[str, str]) -> None:
        super().__init__(file.total)
        for name, argument in columns.items():
            file.position(name, argument)
        self._file = file
        self._like = like
        self._columns = list(columns)
        self.name = file.path.name
        self.jumps = file.total is not None

    def _from(self, first: int) -> Iterator[Table]:
        for frame in self._file.frames(self._columns, first):
            yield self._file.like(frame, self._like)

    def fingerprint(self) -> str:
        """Of the file's bytes."""
        return self._file.fingerprint()
