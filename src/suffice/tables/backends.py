"""Tables over NumPy arrays, pandas frames, and frames that narwhals reads (polars, pyarrow)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from typing import Any, Self

import numpy as np

from suffice.formatting import join_first
from suffice.tables.cells import MAX_EXACT_INTEGER, is_missing, object_array, utf8_text
from suffice.tables.table import Table, cast_column, cast_numpy, cast_pandas
from suffice.typing import Counts, HeldSets, Values


class ArrayTable(Table):
    """A two-dimensional NumPy array with names for its columns."""

    def __init__(self, array: Values, names: Sequence[str]) -> None:
        self._array = array
        self.names = tuple(utf8_text(name) for name in names)

    def __len__(self) -> int:
        return len(self._array)

    @property
    def native(self) -> Values:
        """The NumPy array that the table wraps."""
        return self._array

    def column(self, position: int) -> Values:
        """Return one column as a view."""
        return self._array[:, position]

    def take(self, rows: Counts) -> ArrayTable:
        """Return the rows with these numbers, in this order."""
        return ArrayTable(self._array[rows], self.names)

    def select(self, positions: Sequence[int]) -> ArrayTable:
        """Return the columns at these positions, in this order."""
        return ArrayTable(self._array[:, list(positions)], [self.names[j] for j in positions])

    def splice(self, from_first_row: HeldSets, rows: Counts) -> ArrayTable:
        """Return rows made of the first row and others."""
        # Whole rows are gathered, then written over: two passes, both along the memory.
        out = self._array[rows]
        np.copyto(out, self._array[0], where=from_first_row)
        return ArrayTable(out, self.names)

    def gather(self, rows: Counts) -> ArrayTable:
        """Return rows made cell by cell: cell [i, j] comes from row rows[i, j]."""
        return ArrayTable(np.take_along_axis(self._array, rows, axis=0), self.names)

    def with_columns(self, columns: Mapping[int, Values], argument: str = "values") -> ArrayTable:
        """Return a copy with new columns, cast to the array's dtype."""
        out = self._array.copy()
        for j, values in columns.items():
            out[:, j] = cast_column(
                self, j, values, lambda v: cast_numpy(v, self._array.dtype), argument
            )
        return ArrayTable(out, self.names)

    def stack(self, *below: Table) -> ArrayTable:
        """Append rows; NumPy widens a text dtype where texts below are longer."""
        arrays = [self._array, *(np.asarray(table.native) for table in below)]
        return ArrayTable(np.concatenate(arrays), self.names)

    def dtype(self, position: int) -> str:
        """Return the name of the array's dtype."""
        return "text" if self._array.dtype.kind == "U" else str(self._array.dtype)

    def same_dtype(self, position: int, other: Table) -> bool:
        """Return whether the other array has the same dtype."""
        return self.dtype(position) == other.dtype(position)

    def is_datetime(self, position: int) -> bool:
        """Return whether the array holds dates."""
        return self._array.dtype.kind == "M"

    def is_integer(self, position: int) -> bool:
        """Return whether the array's dtype holds integers."""
        return self._array.dtype.kind in "iu"

    def cells(self, position: int) -> list[Any]:
        """Return a column's cells; of NumPy's types only dates, which Python would round."""
        values = self.column(position)
        return list(values) if values.dtype.kind in "mM" else values.tolist()

    def _native_column(self, position: int) -> Values:
        return self.column(position)

    def _cast_cells(self, position: int, cells: list[Any]) -> tuple[Any, list[Any]]:
        dtype = self._array.dtype
        if dtype.kind == "M":
            cells = [
                np.datetime64("NaT") if is_missing(cell) else cell.to_datetime64() for cell in cells
            ]
        elif dtype.kind == "U":  # as wide as the longest text, so that none is cut
            widths = [len(cell) for cell in cells if isinstance(cell, str)]
            dtype = np.dtype(f"U{max([1, *widths])}")
        column = np.empty(len(cells), dtype=dtype)
        for i, cell in enumerate(cells):  # one by one: NumPy would take lists apart
            column[i] = cell
        return column, list(column)

    def _from_columns(self, columns: Sequence[Any]) -> ArrayTable:
        return ArrayTable(np.stack(columns, axis=1), self.names)


class HiddenColumnTable(ArrayTable):
    """Array of which only some columns are features; rows keep the others, hidden.

    Words of a text or pixels of an image that no feature covers are hidden columns: the model gets
    them, but they are neither held nor replaced by any set.
    """

    def __init__(self, array: Values, names: Sequence[str], visible: Sequence[int]) -> None:
        """Wrap an array with the names of all columns; `visible`: the positions of the features."""
        super().__init__(array, [names[j] for j in visible])
        self._every_name = list(names)
        self._visible = list(visible)

    def column(self, position: int) -> Values:
        """Return the cells of one feature."""
        return self._array[:, self._visible[position]]

    def take(self, rows: Counts) -> Self:
        """Return the rows at these positions, with hidden cells."""
        return self._like(self._array[rows])

    def stack(self, *below: Table) -> Self:
        """Append the rows of other tables, with hidden cells."""
        return self._like(np.concatenate([self._array, *(np.asarray(t.native) for t in below)]))

    def splice(self, from_first_row: HeldSets, rows: Counts) -> Self:
        """Return rows made of the first row and others; hidden cells come from `rows`."""
        whole = from_first_row
        if len(self._visible) < self._array.shape[1]:
            whole = np.zeros((len(rows), self._array.shape[1]), dtype=bool)
            whole[:, self._visible] = from_first_row
        out = self._array[rows]
        np.copyto(out, self._array[0], where=whole)
        return self._like(out)

    def gather(self, rows: Counts) -> Self:
        """Return rows made cell by cell; hidden cells come from the row of the first feature."""
        whole = np.repeat(rows[:, :1], self._array.shape[1], axis=1)
        whole[:, self._visible] = rows
        return self._like(np.take_along_axis(self._array, whole, axis=0))

    def with_hidden_of(self, row: int) -> Self:
        """Return a copy in which all rows have the hidden cells of one row."""
        hidden = np.setdiff1d(np.arange(self._array.shape[1]), self._visible)
        out = self._array.copy()
        out[:, hidden] = out[row, hidden]
        return self._like(out)

    def _like(self, cells: Values) -> Self:
        return type(self)(cells, self._every_name, self._visible)


class PandasTable(Table):
    """A pandas frame; extension dtypes and categories are kept by every operation."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        self.names = tuple(utf8_text(name) for name in frame.columns)
        self._columns: dict[int, Values] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without the cached columns."""
        return PandasTable, (self._frame,)

    def __len__(self) -> int:
        return len(self._frame)

    @property
    def native(self) -> Any:
        """The pandas frame that the table wraps."""
        return self._frame

    def column(self, position: int) -> Values:
        """Return a column as a NumPy array: categories as their values, missing as NaN or None."""
        if self._block is not None:
            return self._block[:, position]
        # Cached: codes, costs and displays each read every column, and pandas is slow at that.
        if position not in self._columns:
            self._columns[position] = self._read_column(position)
        return self._columns[position]

    def _read_column(self, position: int) -> Values:
        values = self._frame.iloc[:, position]
        kind = values.dtype.kind
        missing = values.hasnans
        if missing and (kind == "f" or (kind in "iu" and _exact_in_pandas(values))):
            return np.asarray(values.to_numpy(dtype=float, na_value=np.nan))
        if missing and kind in "iuOb":
            return np.asarray(np.where(values.isna(), None, values.to_numpy(dtype=object)))
        nullable = hasattr(values.dtype, "numpy_dtype") and kind in "iufb"
        return np.asarray(values.to_numpy(values.dtype.numpy_dtype if nullable else None))

    def take(self, rows: Counts) -> PandasTable:
        """Return the rows with these numbers, under a new index."""
        return PandasTable(self._frame.iloc[rows].reset_index(drop=True))

    def select(self, positions: Sequence[int]) -> PandasTable:
        """Return the columns at these positions, in this order."""
        return PandasTable(self._frame.iloc[:, list(positions)])

    def splice(self, from_first_row: HeldSets, rows: Counts) -> PandasTable:
        """Return rows made of the first row and others."""
        if self._block is not None:
            out = self._block[rows]
            np.copyto(out, self._block[0], where=from_first_row)
            return self._with_labels(out)
        # `take` on a column's array keeps the dtype and skips the index.
        columns = {
            j: array.take(np.where(held, 0, rows))
            for j, (array, held) in enumerate(
                zip(self._arrays, np.ascontiguousarray(from_first_row.T), strict=True)
            )
        }
        return self._with_labels(columns)

    def gather(self, rows: Counts) -> PandasTable:
        """Return rows made cell by cell: cell [i, j] comes from row rows[i, j]."""
        columns = zip(self._arrays, np.ascontiguousarray(rows.T), strict=True)
        return self._with_labels({j: array.take(of) for j, (array, of) in enumerate(columns)})

    @cached_property
    def _block(self) -> Values | None:
        """Values as one array, if all columns have the same numeric NumPy dtype.

        With hundreds of columns, such as word vectors, one array is much faster than a column at a
        time. None where dtypes differ: one array would widen them.
        """
        kinds = set(self._dtypes)
        if len(kinds) != 1 or not isinstance(kind := kinds.pop(), np.dtype):
            return None
        return np.ascontiguousarray(self._frame.to_numpy()) if kind.kind in "biuf" else None

    @cached_property
    def is_plain(self) -> bool:
        """True if every column is an array of NumPy's own numbers."""
        return all(isinstance(d, np.dtype) and d.kind in "iuf" for d in self._dtypes)

    @cached_property
    def _dtypes(self) -> list[Any]:
        return list(self._frame.dtypes)

    @cached_property
    def _arrays(self) -> list[Any]:
        """The columns' arrays, NumPy's own for numbers and objects, which are faster to take from.

        Cached: reading a column from a frame takes longer than a small `take`.
        """
        columns = [self._frame.iloc[:, j] for j in range(len(self.names))]
        plain = [isinstance(c.dtype, np.dtype) and c.dtype.kind in "biufO" for c in columns]
        return [c.to_numpy() if p else c.array for c, p in zip(columns, plain, strict=True)]

    def with_columns(self, columns: Mapping[int, Values], argument: str = "values") -> PandasTable:
        """Return a shallow copy with new columns; index and categories stay."""
        frame = self._frame.copy(deep=False)
        for j, values in columns.items():
            to_dtype = partial(cast_pandas, dtype=self._dtypes[j])
            frame.isetitem(j, _keep_object_dtype(cast_column(self, j, values, to_dtype, argument)))
        return PandasTable(frame)

    def stack(self, *below: Table) -> PandasTable:
        """Append rows; all tables have the same dtypes, so none is widened."""
        import pandas as pd

        frames = [self._frame, *(table.native for table in below)]
        return PandasTable(pd.concat(frames, ignore_index=True))

    def dtype(self, position: int) -> str:
        """Return the name of a column's dtype; of a categorical one its categories."""
        known = self.categories(position)
        if known is None:
            return str(self._dtypes[position])
        return f"category of {join_first(map(repr, known))}"

    def same_dtype(self, position: int, other: Table) -> bool:
        """Return whether the dtypes are equal; of categories also the values and their order."""
        if not self.same_library(other):
            return False
        theirs = other.native.dtypes.iloc[position]
        alike = self.categories(position) == other.categories(position)
        return alike and bool(self._dtypes[position] == theirs)

    def is_datetime(self, position: int) -> bool:
        """Return whether a column holds dates."""
        return bool(self._dtypes[position].kind == "M")

    def is_integer(self, position: int) -> bool:
        """Return whether a column holds integers, missing values aside."""
        return bool(self._dtypes[position].kind in "iu")

    def categories(self, position: int) -> list[Any] | None:
        """Return the categories of a categorical column."""
        import pandas as pd

        dtype = self._dtypes[position]
        return list(dtype.categories) if isinstance(dtype, pd.CategoricalDtype) else None

    def cells(self, position: int) -> list[Any]:
        """Return a column's cells."""
        return list(self._frame.iloc[:, position])

    def _native_column(self, position: int) -> Any:
        return self._arrays[position]

    def with_labels_of(self, other: Table) -> PandasTable:
        """Return this frame under another's column labels: 0 and "0" have the same name."""
        if list(self._frame.columns) == list(other.native.columns):
            return self
        return PandasTable(self._frame.set_axis(other.native.columns, axis=1))

    def _cast_cells(self, position: int, cells: list[Any]) -> tuple[Any, list[Any]]:
        import pandas as pd

        dtype = self._dtypes[position]
        if dtype.kind == "O" and isinstance(dtype, np.dtype):
            return object_array(cells), cells
        if (numbers := _plain_numbers(cells, dtype)) is not None:
            return numbers, list(numbers)
        # pandas turns an unseen category into a missing value, which `same_value` finds.
        column = pd.Series(cells, dtype=dtype)
        if column.dtype != dtype:  # a list stays an object, whatever the dtype
            raise TypeError("a value of another dtype")
        return column.array, list(column)

    def _from_columns(self, columns: Sequence[Any]) -> PandasTable:
        return self._with_labels(dict(enumerate(columns)))

    def _with_labels(self, columns: dict[int, Any] | Values) -> PandasTable:
        import pandas as pd

        if isinstance(columns, dict):
            columns = {j: _keep_object_dtype(values) for j, values in columns.items()}
        frame = pd.DataFrame(columns, copy=False)
        frame.columns = self._frame.columns
        table = PandasTable(frame)
        if isinstance(columns, dict):  # known: reading them again from pandas is slow
            table._columns = {
                j: values
                for j, values in columns.items()
                if isinstance(values, np.ndarray) and values.dtype in (np.int64, np.float64)
            }
        return table


def _plain_numbers(cells: list[Any], dtype: Any) -> Values | None:
    """Return numbers in a NumPy dtype as `pd.Series` has them, which takes 50 times as long.

    None for anything but 64-bit numbers, and where an integer may not be kept exactly.
    """
    if dtype not in (np.int64, np.float64):
        return None
    if not {*map(type, cells)} <= {int, float, np.int64, np.float64}:
        return None
    small = (abs(cell) <= MAX_EXACT_INTEGER and cell == int(cell) for cell in cells)
    if dtype == np.int64 and not all(small):
        return None
    return np.array(cells, dtype=dtype)


def _exact_in_pandas(values: Any) -> bool:
    largest = values.abs().max()
    return is_missing(largest) or bool(largest <= MAX_EXACT_INTEGER)


def _keep_object_dtype(values: Any) -> Any:
    """Return values for a new column; for an array of objects pandas would infer another dtype."""
    import pandas as pd

    if isinstance(values, np.ndarray) and values.dtype == object:
        return pd.Index(values, dtype=object, copy=False, tupleize_cols=False)
    return values


class NarwhalsTable(Table):
    """A frame of any other eager library that narwhals reads: polars, pyarrow, …"""

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        self.names = tuple(frame.columns)

    def __len__(self) -> int:
        return len(self._frame)

    @property
    def native(self) -> Any:
        """The frame of the user's library."""
        return self._frame.to_native()

    def column(self, position: int) -> Values:
        """Return a column as a NumPy array; texts and nested values as objects.

        NumPy's text dtype would drop trailing NULs, and lists would become another dimension.
        """
        series = self._frame[self.names[position]]
        dtype = series.dtype
        if dtype.is_integer() and series.null_count() and not _exact_in_narwhals(series):
            return object_array(series.to_list())
        if dtype.is_numeric() or dtype.is_temporal() or dtype.is_boolean():
            return np.asarray(series.to_numpy())
        return object_array(series.to_list())

    def take(self, rows: Counts) -> NarwhalsTable:
        """Return the rows with these numbers, in this order."""
        return NarwhalsTable(self._frame[rows])

    def select(self, positions: Sequence[int]) -> NarwhalsTable:
        """Return the columns at these positions, in this order."""
        return NarwhalsTable(self._frame.select([self.names[j] for j in positions]))

    def splice(self, from_first_row: HeldSets, rows: Counts) -> NarwhalsTable:
        """Return rows made of the first row and others."""
        columns = zip(self.names, np.ascontiguousarray(from_first_row.T), strict=True)
        return self._from_columns(
            [self._frame[name][np.where(held, 0, rows)] for name, held in columns]
        )

    def gather(self, rows: Counts) -> NarwhalsTable:
        """Return rows made cell by cell: cell [i, j] comes from row rows[i, j]."""
        columns = zip(self.names, np.ascontiguousarray(rows.T), strict=True)
        return self._from_columns([self._frame[name][of] for name, of in columns])

    def with_columns(
        self, columns: Mapping[int, Values], argument: str = "values"
    ) -> NarwhalsTable:
        """Return a copy with new columns."""
        series = [
            cast_column(self, j, v, partial(self._cast, j), argument) for j, v in columns.items()
        ]
        return NarwhalsTable(self._frame.with_columns(*series))

    def _cast(self, position: int, values: Values) -> tuple[Any, Values]:
        dtype = self._frame.schema[self.names[position]]
        if dtype.is_integer() and values.dtype.kind == "f":
            values = np.rint(values).astype(np.int64)
        cells = self._series(position, values.tolist())
        if dtype.is_float():
            return cells, np.zeros(len(values), dtype=bool)
        return cells, np.asarray(np.array(cells.to_list(), dtype=object) != values, dtype=bool)

    def stack(self, *below: Table) -> NarwhalsTable:
        """Append rows of all tables at once."""
        import narwhals as nw

        frames = [self._frame, *(nw.from_native(table.native) for table in below)]
        return NarwhalsTable(nw.concat(frames))

    def dtype(self, position: int) -> str:
        """Return the name of a column's dtype."""
        return str(self._frame.schema[self.names[position]])

    def same_library(self, other: Table) -> bool:
        """Return whether the other frame is of the same library."""
        return type(self.native) is type(other.native)

    def same_dtype(self, position: int, other: Table) -> bool:
        """Return whether the library's own dtypes are equal; narwhals does not distinguish all."""
        if not isinstance(other, NarwhalsTable) or not self.same_library(other):
            return False
        return bool(self._native_dtype(position) == other._native_dtype(position))

    def _native_dtype(self, position: int) -> Any:
        native = self._frame[self.names[position]].to_native()
        return native.type if self._frame.implementation.is_pyarrow() else native.dtype

    def is_datetime(self, position: int) -> bool:
        """Return whether a column holds dates or points in time."""
        import narwhals as nw

        return self._frame.schema[self.names[position]] in (nw.Date, nw.Datetime)

    def is_integer(self, position: int) -> bool:
        """Return whether the library's dtype holds integers."""
        return bool(self._frame.schema[self.names[position]].is_integer())

    def categories(self, position: int) -> list[Any] | None:
        """Return the values of an enum column."""
        import narwhals as nw

        dtype = self._frame.schema[self.names[position]]
        return list(dtype.categories) if isinstance(dtype, nw.Enum) else None

    def cells(self, position: int) -> list[Any]:
        """Return a column's cells."""
        return list(self._native_column(position).to_list())

    def _native_column(self, position: int) -> Any:
        return self._frame[self.names[position]]

    def _cast_cells(self, position: int, cells: list[Any]) -> tuple[Any, list[Any]]:
        dtype = self._frame.schema[self.names[position]]
        given: list[Any] = []
        for cell in cells:
            if is_missing(cell) and not (dtype.is_float() and isinstance(cell, float)):
                given.append(None)  # polars knows no other missing value, and may panic
            elif self.is_datetime(position):
                given.append(cell.to_pydatetime(warn=False))
            else:
                given.append(cell)
        column = self._series(position, given)
        return column, column.to_list()

    def _from_columns(self, columns: Sequence[Any]) -> NarwhalsTable:
        import narwhals as nw

        return NarwhalsTable(nw.from_dict(dict(zip(self.names, columns, strict=True))))

    def _series(self, position: int, values: list[Any]) -> Any:
        """Return values as a series with the column's dtype and name."""
        import narwhals as nw

        column = self._frame[self.names[position]]
        if self._frame.implementation.is_pyarrow():  # it has several string types, narwhals one
            import pyarrow as pa

            cells = pa.array(values).cast(column.to_native().type)
            series = nw.from_native(pa.chunked_array([cells]), series_only=True)
            return series.alias(column.name)
        backend = self._frame.implementation
        return nw.new_series(column.name, values, backend=backend).cast(column.dtype)


def _exact_in_narwhals(series: Any) -> bool:
    return bool((series.abs().max() or 0) <= MAX_EXACT_INTEGER)
