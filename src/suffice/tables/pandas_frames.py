"""A table that is a pandas frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np

from suffice.tables.cast import cast_pandas, fitting
from suffice.tables.cells import as_objects, is_missing, storable
from suffice.tables.table import Table
from suffice.typing import Counts, Held, Values
from suffice.wording import and_more

__all__ = ["PandasTable"]

EXACT_FLOAT = 2**53
"""Whole numbers up to this are exact as floats, in which missing ones can be NaN."""


class PandasTable(Table):
    """A pandas frame; extension dtypes and categories survive every operation."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        self.names = tuple(storable(name) for name in frame.columns)
        self._columns: dict[int, Values] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        """Stored and sent without what is quickly read again."""
        return PandasTable, (self._frame,)

    def __len__(self) -> int:
        return len(self._frame)

    @property
    def native(self) -> Any:
        """The frame itself."""
        return self._frame

    def column(self, position: int) -> Values:
        """One column as numpy values (categories as their labels, missing as NaN or None)."""
        if self._block is not None:
            return self._block[:, position]
        # Codes, costs and what is shown each ask for every column, and a frame is slow to tell.
        if position not in self._columns:
            self._columns[position] = self._read(position)
        return self._columns[position]

    def _read(self, position: int) -> Values:
        values = self._frame.iloc[:, position]
        kind = values.dtype.kind
        missing = values.hasnans
        if missing and (kind == "f" or (kind in "iu" and _exact_as_floats(values))):
            return np.asarray(values.to_numpy(dtype=float, na_value=np.nan))
        if missing and kind in "iuOb":
            return np.asarray(np.where(values.isna(), None, values.to_numpy(dtype=object)))
        nullable = hasattr(values.dtype, "numpy_dtype") and kind in "iufb"
        return np.asarray(values.to_numpy(values.dtype.numpy_dtype if nullable else None))

    def take(self, rows: Counts) -> PandasTable:
        """These rows, with a fresh index."""
        return PandasTable(self._frame.iloc[rows].reset_index(drop=True))

    def select(self, positions: Sequence[int]) -> PandasTable:
        """These columns."""
        return PandasTable(self._frame.iloc[:, list(positions)])

    def splice(self, first: Held, rows: Counts) -> PandasTable:
        """Pick each column's values; `take` on the array keeps the dtype and skips the index."""
        if self._block is not None:
            out = self._block[rows]
            np.copyto(out, self._block[0], where=first)
            return self._named(out)
        columns = {
            j: array.take(np.where(held, 0, rows))
            for j, (array, held) in enumerate(
                zip(self._arrays, np.ascontiguousarray(first.T), strict=True)
            )
        }
        return self._named(columns)

    def gather(self, rows: Counts) -> PandasTable:
        """Pick each column's values from rows of its own."""
        columns = zip(self._arrays, np.ascontiguousarray(rows.T), strict=True)
        return self._named({j: array.take(of) for j, (array, of) in enumerate(columns)})

    @cached_property
    def _block(self) -> Values | None:
        """All values in one array, where every column has the same plain dtype of numbers.

        Of hundreds of columns, as word vectors have, pandas takes longer to handle each than to
        handle all. Not across dtypes, which one array would widen.
        """
        kinds = set(self._dtypes)
        if len(kinds) != 1 or not isinstance(kind := kinds.pop(), np.dtype):
            return None
        return np.ascontiguousarray(self._frame.to_numpy()) if kind.kind in "biuf" else None

    @cached_property
    def _dtypes(self) -> list[Any]:
        return list(self._frame.dtypes)

    @cached_property
    def _arrays(self) -> list[Any]:
        """The columns' arrays: getting at them takes pandas longer than a small `take`.

        Numbers and objects as numpy has them, which are quicker to take from.
        """
        columns = [self._frame.iloc[:, j] for j in range(len(self.names))]
        plain = [isinstance(c.dtype, np.dtype) and c.dtype.kind in "biufO" for c in columns]
        return [c.to_numpy() if p else c.array for c, p in zip(columns, plain, strict=True)]

    def with_columns(self, columns: Mapping[int, Values], argument: str = "values") -> PandasTable:
        """Put the columns in a shallow copy; index and categories stay."""
        frame = self._frame.copy(deep=False)
        for j, values in columns.items():
            to_dtype = partial(cast_pandas, dtype=self._dtypes[j])
            frame.isetitem(j, _as_it_is(fitting(self, j, values, to_dtype, argument)))
        return PandasTable(frame)

    def stack(self, below: Table) -> PandasTable:
        """Append rows; both have the same dtypes, so none is widened."""
        return self.stack_all([below])

    def stack_all(self, below: Sequence[Table]) -> PandasTable:
        """Append the rows of several tables in one go."""
        import pandas as pd

        frames = [self._frame, *(table.native for table in below)]
        return PandasTable(pd.concat(frames, ignore_index=True))

    def dtype(self, position: int) -> str:
        """The column's dtype, with a category's values."""
        known = self.categories(position)
        if known is None:
            return str(self._dtypes[position])
        return f"category of {and_more(map(repr, known))}"

    def same_dtype(self, position: int, other: Table) -> bool:
        """Has the other frame's column the same dtype, a category the same values in order?"""
        theirs = other.native.dtypes.iloc[position]
        alike = self.categories(position) == other.categories(position)
        return alike and bool(self._dtypes[position] == theirs)

    def holds_moments(self, position: int) -> bool:
        """Is it a column of dates?"""
        return bool(self._dtypes[position].kind == "M")

    def holds_whole_numbers(self, position: int) -> bool:
        """Also of a nullable column, whose missing values numpy shows as floats."""
        return bool(self._dtypes[position].kind in "iu")

    def categories(self, position: int) -> list[Any] | None:
        """A category's values."""
        import pandas as pd

        dtype = self._dtypes[position]
        return list(dtype.categories) if isinstance(dtype, pd.CategoricalDtype) else None

    def cell(self, row: int, position: int) -> Any:
        """One value."""
        return self._frame.iloc[row, position]

    def labelled_like(self, other: Table) -> PandasTable:
        """Labels that are equal as names may still be others: 0 and "0"."""
        if list(self._frame.columns) == list(other.native.columns):
            return self
        return PandasTable(self._frame.set_axis(other.native.columns, axis=1))

    def _fitted(self, position: int, value: Any) -> tuple[Any, Any]:
        import pandas as pd

        dtype = self._dtypes[position]
        if dtype.kind == "O" and isinstance(dtype, np.dtype):
            return as_objects([value]), value
        # pandas would make an unseen category missing, which `same` tells.
        cell = pd.Series([value], dtype=dtype)
        if cell.dtype != dtype:  # a list stays an object, whatever dtype is asked for
            raise TypeError("a value of another dtype")
        return cell.array, cell.iloc[0]

    def _row(self, cells: Sequence[Any]) -> PandasTable:
        return self._named(dict(enumerate(cells)))

    def _named(self, columns: dict[int, Any] | Values) -> PandasTable:
        import pandas as pd

        if isinstance(columns, dict):
            columns = {j: _as_it_is(values) for j, values in columns.items()}
        frame = pd.DataFrame(columns, copy=False)
        frame.columns = self._frame.columns
        return PandasTable(frame)


def _exact_as_floats(values: Any) -> bool:
    largest = values.abs().max()
    return is_missing(largest) or bool(largest <= EXACT_FLOAT)


def _as_it_is(values: Any) -> Any:
    """A new column's values; of an array of objects pandas would guess the dtype anew."""
    import pandas as pd

    if isinstance(values, np.ndarray) and values.dtype == object:
        return pd.Index(values, dtype=object, copy=False, tupleize_cols=False)
    return values
