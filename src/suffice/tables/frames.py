"""The kinds of table that users bring: arrays, pandas frames, and all that narwhals knows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np

from suffice.errors import InputError
from suffice.tables.cast import cast, cast_pandas
from suffice.tables.table import Table, is_frame
from suffice.typing import Counts, Held, Values

__all__ = ["ArrayTable", "NarwhalsTable", "PandasTable", "as_table"]


def as_table(data: Any, names: Sequence[str] | None = None, argument: str = "data") -> Table:
    """Wrap a frame or a two-dimensional array; `names` are the columns' of an array.

    >>> as_table([[1.0, 2.0], [3.0, 4.0]]).names
    ('x0', 'x1')
    """
    if isinstance(data, Table):
        return data
    allowed = "a pandas, polars or pyarrow frame, or a two-dimensional array"
    if type(data).__module__.startswith("pandas") and hasattr(data, "columns"):
        table: Table = PandasTable(data)
    elif is_frame(data):
        import narwhals as nw

        try:
            table = NarwhalsTable(nw.from_native(data, eager_only=True))
        except (TypeError, ValueError) as error:
            raise InputError(argument, type(data).__name__, allowed, str(error)) from error
    else:
        if hasattr(data, "toarray"):
            raise InputError(argument, "a sparse matrix", allowed, "Pass data.toarray().")
        array = np.asarray(data)
        if array.ndim != 2:
            raise InputError(argument, f"an array of {array.ndim} dimension(s)", allowed)
        names = names or [f"x{j}" for j in range(array.shape[1])]
        if len(names) != array.shape[1]:
            got = f"an array of {array.shape[1]} columns"
            listed = ", ".join(names)
            raise InputError(argument, got, f"an array of {len(names)} columns: {listed}")
        table = ArrayTable(array, names)
    twice = [name for name, count in Counter(table.names).items() if count > 1]
    if twice:
        raise InputError(
            argument, f"duplicate column name {twice[0]!r}", "distinct names", "Rename one."
        )
    if not len(table) or not table.names:
        raise InputError(argument, "no rows or no columns", "at least one of each")
    return table


class ArrayTable(Table):
    """A numpy array with names for its columns."""

    def __init__(self, array: Values, names: Sequence[str]) -> None:
        self._array = array
        self.names = tuple(str(name) for name in names)

    def __len__(self) -> int:
        return len(self._array)

    @property
    def native(self) -> Values:
        """The array itself."""
        return self._array

    def column(self, position: int) -> Values:
        """One column, as a view."""
        return self._array[:, position]

    def take(self, rows: Counts) -> ArrayTable:
        """These rows."""
        return ArrayTable(self._array[rows], self.names)

    def select(self, positions: Sequence[int]) -> ArrayTable:
        """These columns."""
        return ArrayTable(self._array[:, list(positions)], [self.names[j] for j in positions])

    def splice(self, first: Held, rows: Counts) -> ArrayTable:
        """Whole rows are gathered, then written over: two passes, both along the memory."""
        out = self._array[rows]
        np.copyto(out, self._array[0], where=first)
        return ArrayTable(out, self.names)

    def gather(self, rows: Counts) -> ArrayTable:
        """Pick each cell."""
        return ArrayTable(np.take_along_axis(self._array, rows, axis=0), self.names)

    def with_columns(self, columns: Mapping[int, Values]) -> ArrayTable:
        """Write the columns into a copy."""
        out = self._array.copy()
        for j, values in columns.items():
            out[:, j] = _fitting(self, j, values, lambda v: cast(v, self._array.dtype))
        return ArrayTable(out, self.names)

    def stack(self, below: Table) -> ArrayTable:
        """Append rows."""
        return ArrayTable(np.concatenate([self._array, np.asarray(below.native)]), self.names)

    def one(self, values: Sequence[Any]) -> ArrayTable:
        """One row, each value checked against the array's dtype."""
        row = np.empty((1, len(values)), dtype=self._array.dtype)
        for j, value in enumerate(values):
            try:
                row[0, j] = value
            except (TypeError, ValueError, OverflowError) as error:
                raise self.misfit(j, value) from error
            if not _same(row[0, j], value):
                raise self.misfit(j, value)
        return ArrayTable(row, self.names)

    def dtype(self, position: int) -> str:
        """The array's dtype."""
        return str(self._array.dtype)


class PandasTable(Table):
    """A pandas frame; extension dtypes and categories survive every operation."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        self.names = tuple(str(name) for name in frame.columns)

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
        values = self._frame.iloc[:, position]
        kind = values.dtype.kind
        if values.hasnans and kind in "iuf":
            return np.asarray(values.to_numpy(dtype=float, na_value=np.nan))
        if values.hasnans and kind in "Ob":
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

        Plain numbers as numpy has them, which are quicker to take from. Not objects: of these
        pandas would guess the dtype anew.
        """
        columns = [self._frame.iloc[:, j] for j in range(len(self.names))]
        plain = [isinstance(c.dtype, np.dtype) and c.dtype.kind in "biuf" for c in columns]
        return [c.to_numpy() if p else c.array for c, p in zip(columns, plain, strict=True)]

    def with_columns(self, columns: Mapping[int, Values]) -> PandasTable:
        """Put the columns in a shallow copy; index and categories stay."""
        frame = self._frame.copy(deep=False)
        for j, values in columns.items():
            dtype = self._frame.dtypes.iloc[j]
            frame.isetitem(j, _fitting(self, j, values, partial(cast_pandas, dtype=dtype)))
        return PandasTable(frame)

    def stack(self, below: Table) -> PandasTable:
        """Append rows; both have the same dtypes, so none is widened."""
        import pandas as pd

        return PandasTable(pd.concat([self._frame, below.native], ignore_index=True))

    def one(self, values: Sequence[Any]) -> PandasTable:
        """One row in this frame's dtypes."""
        import pandas as pd

        columns = {}
        for j, value in enumerate(values):
            dtype = self._dtypes[j]
            if isinstance(dtype, pd.CategoricalDtype) and not (
                pd.isna(value) or value in dtype.categories
            ):
                raise self.misfit(j, value)
            try:
                cell = pd.Series([value], dtype=dtype).array
            except (TypeError, ValueError, OverflowError) as error:
                raise self.misfit(j, value) from error
            if dtype.kind != "M" and not _same(cell[0], value):  # a date may be given as text
                raise self.misfit(j, value)
            columns[j] = cell
        return self._named(columns)

    def dtype(self, position: int) -> str:
        """The column's dtype, with a category's values."""
        dtype = self._dtypes[position]
        return repr(dtype) if str(dtype) == "category" else str(dtype)

    def _named(self, columns: dict[int, Any] | Values) -> PandasTable:
        import pandas as pd

        frame = pd.DataFrame(columns, copy=False)
        frame.columns = self._frame.columns
        return PandasTable(frame)


class NarwhalsTable(Table):
    """A frame of any other eager library: polars, pyarrow, …"""

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        self.names = tuple(frame.columns)

    def __len__(self) -> int:
        return len(self._frame)

    @property
    def native(self) -> Any:
        """The frame in its own library's kind."""
        return self._frame.to_native()

    def column(self, position: int) -> Values:
        """One column as numpy values."""
        return np.asarray(self._frame[self.names[position]].to_numpy())

    def take(self, rows: Counts) -> NarwhalsTable:
        """These rows."""
        return NarwhalsTable(self._frame[rows])

    def select(self, positions: Sequence[int]) -> NarwhalsTable:
        """These columns."""
        return NarwhalsTable(self._frame.select([self.names[j] for j in positions]))

    def splice(self, first: Held, rows: Counts) -> NarwhalsTable:
        """Pick each column's values."""
        columns = zip(self.names, np.ascontiguousarray(first.T), strict=True)
        return self._gather(
            {name: self._frame[name][np.where(held, 0, rows)] for name, held in columns}
        )

    def gather(self, rows: Counts) -> NarwhalsTable:
        """Pick each column's values from rows of its own."""
        columns = zip(self.names, np.ascontiguousarray(rows.T), strict=True)
        return self._gather({name: self._frame[name][of] for name, of in columns})

    def with_columns(self, columns: Mapping[int, Values]) -> NarwhalsTable:
        """Put the columns in a copy."""
        series = [_fitting(self, j, v, partial(self._cast, j)) for j, v in columns.items()]
        return NarwhalsTable(self._frame.with_columns(*series))

    def _cast(self, position: int, values: Values) -> tuple[Any, Values]:
        import narwhals as nw

        column = self._frame[self.names[position]]
        if column.dtype.is_integer() and values.dtype.kind == "f":
            values = np.rint(values).astype(np.int64)
        backend = self._frame.implementation
        if backend.is_pyarrow():
            cells = _arrow_cells(column, values.tolist()).alias(column.name)
        else:
            cells = nw.new_series(column.name, values.tolist(), backend=backend).cast(column.dtype)
        if column.dtype.is_float():
            return cells, np.zeros(len(values), dtype=bool)
        return cells, np.asarray(np.array(cells.to_list(), dtype=object) != values, dtype=bool)

    def stack(self, below: Table) -> NarwhalsTable:
        """Append rows."""
        import narwhals as nw

        return NarwhalsTable(nw.concat([self._frame, nw.from_native(below.native)]))

    def one(self, values: Sequence[Any]) -> NarwhalsTable:
        """One row in this frame's dtypes."""
        import narwhals as nw

        columns = {}
        backend = self._frame.implementation
        for j, value in enumerate(values):
            column = self._frame[self.names[j]]
            try:
                if backend.is_pyarrow():  # narwhals knows one string type where arrow has several
                    cell = _arrow_cells(column, [value])
                else:
                    cell = nw.new_series(column.name, [value], backend=backend).cast(column.dtype)
            except Exception as error:  # every library has its own class for a failed cast
                raise self.misfit(j, value) from error
            if not _same(cell[0], value):
                raise self.misfit(j, value)
            columns[column.name] = cell
        return self._gather(columns)

    def dtype(self, position: int) -> str:
        """The column's dtype."""
        return str(self._frame.schema[self.names[position]])

    def _gather(self, columns: dict[str, Any]) -> NarwhalsTable:
        import narwhals as nw

        return NarwhalsTable(nw.from_dict(columns))


def _arrow_cells(column: Any, values: list[Any]) -> Any:
    import narwhals as nw
    import pyarrow as pa

    cells = pa.array(values).cast(column.to_native().type)
    return nw.from_native(pa.chunked_array([cells]), series_only=True)


def _fitting(
    table: Table, position: int, values: Values, to_dtype: Callable[[Values], tuple[Any, Values]]
) -> Any:
    """Values in the column's dtype, or an error that shows one that does not fit."""
    try:
        out, bad = to_dtype(values)
    except Exception as error:  # every library has its own class for a failed cast
        raise table.misfit(position, values[0], "values") from error
    if bad.any():
        raise table.misfit(position, values[np.argmax(bad)], "values")
    return out


def _same(kept: Any, given: Any) -> bool:
    """Did the cast keep the value? 23.5 in an integer column, or an unseen category, did not."""
    from suffice.tables.table import plain

    half = isinstance(kept, np.float16)
    kept, given = plain(kept), plain(given)
    if isinstance(kept, float) and isinstance(given, int | float):
        # A float16 or float32 column rounds what it is given: its dtype's doing, not a misfit.
        return bool(np.isclose(kept, given, rtol=1e-3 if half else 1e-6, atol=0.0))
    return bool(kept == given)
