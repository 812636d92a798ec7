"""The data that references are drawn from, where the table may be larger than memory.

All rows up to a limit, else a seeded sample of so many. What a column holds is settled by the whole
table and not by the sample: a whole number that is missing once makes floats of all. A column in
which one cell in a hundred at most is no number is one of numbers: rows with such a cell are left
out of the data, and are errors where they are to be explained.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from io import StringIO
from typing import Any

import numpy as np

from suffice.errors import InputError
from suffice.many.files import CsvFile, ParquetFiles, TableFile
from suffice.randomness import Stream, generator
from suffice.typing import BoolVector, Counts

__all__ = ["MOST_ROWS", "Background", "Spoiled", "read_background"]

MOST_ROWS = 100_000
"""Of the data that references are drawn from."""

_SPOILED = 0.01
"""A column of numbers has at most this share of cells that are none."""


@dataclass(frozen=True)
class Spoiled:
    """A column of numbers in which some cells are none."""

    column: str
    cells: int
    example: str
    row: int


@dataclass(frozen=True, eq=False)
class Background:
    """The rows, how many the table has, and which of its columns have odd cells."""

    frame: Any
    total: int
    spoiled: tuple[Spoiled, ...] = ()

    @property
    def sampled(self) -> bool:
        """Are there rows that were not drawn?"""
        return self.total > MOST_ROWS


def read_background(file: TableFile, seed: int) -> Background:
    """The rows of a table, or a sample of them, as pandas reads the whole."""
    if isinstance(file, ParquetFiles):
        return _from_parquet(file, seed)
    assert isinstance(file, CsvFile)
    return _from_csv(file, seed)


def _drawn(total: int, seed: int, file: TableFile) -> Counts:
    """Numbers of the rows that are read, in order."""
    if not total:
        raise InputError(file.argument, f"{file}, which has no rows", "a table with rows")
    if total <= MOST_ROWS:
        return np.arange(total)
    drawn = generator(seed, Stream.BACKGROUND).choice(total, size=MOST_ROWS, replace=False)
    return np.sort(drawn)


def _picked(frames: Iterable[Any], numbers: Counts) -> Iterator[Any]:
    """The rows with these numbers, of frames one after another."""
    start = 0
    for frame in frames:
        low, high = np.searchsorted(numbers, [start, start + len(frame)])
        yield frame.iloc[numbers[low:high] - start]
        start += len(frame)


def _from_parquet(file: ParquetFiles, seed: int) -> Background:
    import pandas as pd

    numbers = _drawn(file.total, seed, file)
    kinds: dict[str, _Kind] = {name: _Kind() for name in file.names}

    def seen() -> Iterator[Any]:
        for frame in file.frames(file.names):
            for name, kind in kinds.items():
                kind.see(frame[name])
            yield frame

    parts = list(_picked(seen(), numbers))
    columns = {}
    for name, kind in kinds.items():
        cells = pd.concat([part[name].astype(kind.of(part[name])) for part in parts])
        columns[name] = cells.astype(kind.settled(cells)).reset_index(drop=True)
    return Background(pd.DataFrame(columns), file.total)


@dataclass
class _Kind:
    """What all slices of a Parquet column say of it together."""

    missing: bool = False
    whole: bool = False
    categories: dict[Any, None] = field(default_factory=dict)
    ordered: bool = False

    def see(self, cells: Any) -> None:
        import pandas as pd

        self.missing = self.missing or bool(cells.isna().any())
        if isinstance(cells.dtype, pd.CategoricalDtype):
            self.categories |= dict.fromkeys(cells.dtype.categories)
            self.ordered = bool(cells.dtype.ordered)
        elif cells.dtype.kind in "iu":
            self.whole = True

    def of(self, cells: Any) -> Any:
        """The dtype in which slices are joined."""
        return object if self.categories or cells.dtype == object else cells.dtype

    def settled(self, cells: Any) -> Any:
        """And the one of the whole column."""
        import pandas as pd

        if self.categories:
            return pd.CategoricalDtype(list(self.categories), self.ordered)
        # Whole numbers beside a missing one came as objects, and are floats to pandas.
        plain = cells.dtype == object or isinstance(cells.dtype, np.dtype)
        return np.float64 if self.whole and self.missing and plain else cells.dtype


def _from_csv(file: CsvFile, seed: int) -> Background:
    import pandas as pd

    columns = {name: _Texts(name) for name in file.names}
    total = 0
    for frame in file.frames(file.names):
        for name, texts in columns.items():
            texts.see(frame[name], total)
        total += len(frame)
    numbers = _drawn(total, seed, file)
    picked = pd.concat(list(_picked(file.frames(file.names), numbers)), ignore_index=True)
    spoiled = tuple(s for s in (texts.spoiled() for texts in columns.values()) if s is not None)
    for column in spoiled:
        picked = picked[~_no_number(picked[column.column])]
    # Read as pandas reads a file, so that everything is what it is there.
    dtypes = {name: texts.dtype() for name, texts in columns.items()}
    read = {name: dtype for name, dtype in dtypes.items() if dtype is not object}
    text = StringIO(picked.to_csv(index=False))
    frame = pd.read_csv(text, dtype=read).astype(dict.fromkeys(dtypes.keys() - read, object))
    return Background(frame, total, spoiled)


class _Texts:
    """What the cells of a CSV column are, of all rows."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._there = self._missing = self._truths = self._bad = 0
        self._whole = True
        self._example = ("", 0)

    def see(self, texts: Any, first: int) -> None:
        """Some more of them, the first of which is in this row."""
        there = texts[texts.notna()]
        self._there += len(there)
        self._missing += len(texts) - len(there)
        self._truths += int(there.isin(_TRUTHS).sum())
        bad = _no_number(texts)
        if bad.any() and not self._bad:
            at = int(np.argmax(bad))
            self._example = (str(texts.iloc[at]), first + at)
        self._bad += int(bad.sum())
        if self._whole:
            good = texts[texts.notna().to_numpy() & ~bad]
            self._whole = bool(good.str.fullmatch(r"\s*[+-]?\d{1,18}\s*").all())

    def _numbers(self) -> bool:
        return self._there > 0 and self._bad <= _SPOILED * self._there

    def spoiled(self) -> Spoiled | None:
        """Is it a column of numbers with cells that are none?"""
        if not self._bad or not self._numbers():
            return None
        return Spoiled(self._name, self._bad, *self._example)

    def dtype(self) -> Any:
        """As pandas would read the whole column, were all its cells good."""
        if self._there and self._truths == self._there:
            return object if self._missing else bool
        if not self._there:
            return float
        if not self._numbers():
            return str
        return np.int64 if self._whole and not self._missing else np.float64


_TRUTHS = ["True", "TRUE", "true", "False", "FALSE", "false"]


def _no_number(texts: Any) -> BoolVector:
    """Which cells are there and are no numbers."""
    import pandas as pd

    try:
        texts.astype("float64")
        if not texts.str.contains("_", regex=False).any():
            return np.zeros(len(texts), dtype=bool)
    except ValueError:
        pass
    numbers = pd.to_numeric(texts, errors="coerce")
    return np.asarray(texts.notna() & numbers.isna(), dtype=bool)
