"""Background data of a large file for references: all rows or a sample; cells that are no numbers.

The dtype of a column follows from the whole table and not from the sample: one missing integer
makes all integers of the column floats. A column counts as numeric if at most one cell in a hundred
is not a number: rows with such a cell are left out of the data, and become errors if they are
explained.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from io import StringIO
from typing import Any

import numpy as np

from suffice.batch.table_files import BOOLEAN_WORDS, CsvFile, ParquetFiles, TableFile, parse_numbers
from suffice.errors import InputError
from suffice.randomness import Stream, generator
from suffice.typing import BoolVector, Counts

MAX_BACKGROUND_ROWS = 100_000
"""The largest number of rows of background data."""

_MAX_NON_NUMERIC_SHARE = 0.01
"""Largest share of cells of a numeric column that are not numbers."""


@dataclass(frozen=True)
class NonNumericCells:
    """The cells of a numeric column that are not numbers: their number, and one example."""

    column: str
    cells: int
    example: str
    row: int


@dataclass(frozen=True, eq=False)
class Background:
    """Background data: rows, the number of rows of the file, and non-numeric cells by column."""

    frame: Any
    total: int
    non_numeric: tuple[NonNumericCells, ...] = ()

    @property
    def sampled(self) -> bool:
        """True if the rows are a sample of the file."""
        return self.total > MAX_BACKGROUND_ROWS


def read_background(file: TableFile, seed: int) -> Background:
    """Return the rows of a file, or a sample, with the dtypes of the whole file in pandas."""
    if isinstance(file, ParquetFiles):
        return _from_parquet(file, seed)
    assert isinstance(file, CsvFile)
    return _from_csv(file, seed)


def _sample_row_numbers(total: int, seed: int, file: TableFile) -> Counts:
    """Return the sorted numbers of the rows to read."""
    if not total:
        raise InputError(file.argument, f"{file}, which has no rows", "a table with rows")
    if total <= MAX_BACKGROUND_ROWS:
        return np.arange(total)
    # Without replacement, and read in the order of the file, which cannot be read backwards.
    drawn = generator(seed, Stream.BACKGROUND).choice(
        total, size=MAX_BACKGROUND_ROWS, replace=False
    )
    return np.sort(drawn)


def _take_rows(frames: Iterable[Any], numbers: Counts) -> Iterator[Any]:
    """Yield the rows with these sorted numbers, from frames one after another."""
    start = 0
    for frame in frames:
        low, high = np.searchsorted(numbers, [start, start + len(frame)])
        yield frame.iloc[numbers[low:high] - start]
        start += len(frame)


def _from_parquet(file: ParquetFiles, seed: int) -> Background:
    import pandas as pd

    numbers = _sample_row_numbers(file.total, seed, file)
    dtypes: dict[str, _ParquetColumn] = {name: _ParquetColumn() for name in file.names}

    def updated_frames() -> Iterator[Any]:
        for frame in file.frames(file.names):
            for name, dtype in dtypes.items():
                dtype.update(frame[name])
            yield frame

    parts = list(_take_rows(updated_frames(), numbers))
    columns = {}
    for name, dtype in dtypes.items():
        cells = pd.concat([part[name].astype(dtype.join_dtype(part[name])) for part in parts])
        columns[name] = cells.astype(dtype.final_dtype(cells)).reset_index(drop=True)
    return Background(pd.DataFrame(columns), file.total)


@dataclass
class _ParquetColumn:
    """The dtype of a Parquet column, from all its slices."""

    missing: bool = False
    whole: bool = False
    categories: dict[Any, None] = field(default_factory=dict)
    ordered: bool = False

    def update(self, cells: Any) -> None:
        import pandas as pd

        self.missing = self.missing or bool(cells.isna().any())
        if isinstance(cells.dtype, pd.CategoricalDtype):
            self.categories |= dict.fromkeys(cells.dtype.categories)
            self.ordered = bool(cells.dtype.ordered)
        elif cells.dtype.kind in "iu":
            self.whole = True

    def join_dtype(self, cells: Any) -> Any:
        """Return the dtype in which slices are concatenated."""
        return object if self.categories or cells.dtype == object else cells.dtype

    def final_dtype(self, cells: Any) -> Any:
        """Return the dtype of the whole column."""
        import pandas as pd

        if self.categories:
            return pd.CategoricalDtype(list(self.categories), self.ordered)
        # Integers beside a missing value were read as objects, but are floats in pandas.
        plain = cells.dtype == object or isinstance(cells.dtype, np.dtype)
        return np.float64 if self.whole and self.missing and plain else cells.dtype


def _from_csv(file: CsvFile, seed: int) -> Background:
    import pandas as pd

    columns = {name: _CsvColumn(name) for name in file.names}
    total = 0
    for frame in file.frames(file.names):
        for name, texts in columns.items():
            texts.update(frame[name], total)
        total += len(frame)
    numbers = _sample_row_numbers(total, seed, file)
    sample = pd.concat(list(_take_rows(file.frames(file.names), numbers)), ignore_index=True)
    non_numeric = tuple(c for c in (texts.non_numeric() for texts in columns.values()) if c)
    for column in non_numeric:
        sample = sample[~_is_not_number(sample[column.column])]
    # Written and read again, so that pandas parses the cells exactly as it would in the file.
    dtypes = {name: texts.dtype() for name, texts in columns.items()}
    read = {name: dtype for name, dtype in dtypes.items() if dtype is not object}
    text = StringIO(sample.to_csv(index=False))
    frame = pd.read_csv(text, dtype=read).astype(dict.fromkeys(dtypes.keys() - read, object))
    return Background(frame, total, non_numeric)


class _CsvColumn:
    """The dtype of a CSV column, from counts over the texts of all rows."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._present = self._missing = self._booleans = self._bad = 0
        self._whole = True
        self._example = ("", 0)

    def update(self, texts: Any, first: int) -> None:
        """Count more texts, the first of which is in row number `first`."""
        present = texts[texts.notna()]
        self._present += len(present)
        self._missing += len(texts) - len(present)
        self._booleans += int(present.isin(list(BOOLEAN_WORDS)).sum())
        bad = _is_not_number(texts)
        if bad.any() and not self._bad:
            at = int(np.argmax(bad))
            self._example = (str(texts.iloc[at]), first + at)
        self._bad += int(bad.sum())
        if self._whole:
            good = texts[texts.notna().to_numpy() & ~bad]
            self._whole = bool(good.str.fullmatch(r"\s*[+-]?\d{1,18}\s*").all())

    def _is_numeric(self) -> bool:
        return self._present > 0 and self._bad <= _MAX_NON_NUMERIC_SHARE * self._present

    def non_numeric(self) -> NonNumericCells | None:
        """Return the cells of a numeric column that are not numbers; None if there are none."""
        if not self._bad or not self._is_numeric():
            return None
        return NonNumericCells(self._name, self._bad, *self._example)

    def dtype(self) -> Any:
        """Return the dtype that pandas would give the whole column without its bad cells."""
        if self._present and self._booleans == self._present:
            return object if self._missing else bool
        if not self._present:
            return float
        if not self._is_numeric():
            return str
        return np.int64 if self._whole and not self._missing else np.float64


def _is_not_number(texts: Any) -> BoolVector:
    """Return whether each cell is present and not a number."""
    import pandas as pd

    if parse_numbers(texts) is not None:
        return np.zeros(len(texts), dtype=bool)
    numbers = pd.to_numeric(texts, errors="coerce")
    return np.asarray(texts.notna() & numbers.isna(), dtype=bool)
