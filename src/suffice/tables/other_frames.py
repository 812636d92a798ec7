"""A table that is a frame of any other library that narwhals knows: polars, pyarrow, …"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from suffice.tables.cast import fitting
from suffice.tables.cells import as_objects, is_missing
from suffice.tables.pandas_frames import EXACT_FLOAT
from suffice.tables.table import Table
from suffice.typing import Counts, Held, Values

__all__ = ["NarwhalsTable"]


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
        """One column as numpy values; texts and nested values as objects.

        As NumPy's own text, a cell would lose the NULs at its end, and a list its level.
        """
        series = self._frame[self.names[position]]
        dtype = series.dtype
        if dtype.is_integer() and series.null_count() and not _exact_as_floats(series):
            return as_objects(series.to_list())
        if dtype.is_numeric() or dtype.is_temporal() or dtype.is_boolean():
            return np.asarray(series.to_numpy())
        return as_objects(series.to_list())

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

    def with_columns(
        self, columns: Mapping[int, Values], argument: str = "values"
    ) -> NarwhalsTable:
        """Put the columns in a copy."""
        series = [fitting(self, j, v, partial(self._cast, j), argument) for j, v in columns.items()]
        return NarwhalsTable(self._frame.with_columns(*series))

    def _cast(self, position: int, values: Values) -> tuple[Any, Values]:
        dtype = self._frame.schema[self.names[position]]
        if dtype.is_integer() and values.dtype.kind == "f":
            values = np.rint(values).astype(np.int64)
        cells = self._series(position, values.tolist())
        if dtype.is_float():
            return cells, np.zeros(len(values), dtype=bool)
        return cells, np.asarray(np.array(cells.to_list(), dtype=object) != values, dtype=bool)

    def stack(self, below: Table) -> NarwhalsTable:
        """Append rows."""
        import narwhals as nw

        return NarwhalsTable(nw.concat([self._frame, nw.from_native(below.native)]))

    def dtype(self, position: int) -> str:
        """The column's dtype."""
        return str(self._frame.schema[self.names[position]])

    def same_kind(self, other: Table) -> bool:
        """Is the other frame of the same library?"""
        return type(self.native) is type(other.native)

    def same_dtype(self, position: int, other: Table) -> bool:
        """Has the other frame's column the same dtype?"""
        name = self.names[position]
        return bool(self._native_dtype(name) == NarwhalsTable._native_dtype(other, name))  # type: ignore[arg-type]

    def _native_dtype(self, name: str) -> Any:
        """The library's own, of which it may have several where narwhals knows one."""
        native = self._frame[name].to_native()
        return native.type if self._frame.implementation.is_pyarrow() else native.dtype

    def holds_moments(self, position: int) -> bool:
        """Is it a column of dates or of points in time?"""
        import narwhals as nw

        return self._frame.schema[self.names[position]] in (nw.Date, nw.Datetime)

    def holds_whole_numbers(self, position: int) -> bool:
        """As its library says."""
        return bool(self._frame.schema[self.names[position]].is_integer())

    def categories(self, position: int) -> list[Any] | None:
        """An enum's values."""
        import narwhals as nw

        dtype = self._frame.schema[self.names[position]]
        return list(dtype.categories) if isinstance(dtype, nw.Enum) else None

    def cell(self, row: int, position: int) -> Any:
        """One value."""
        return self._frame[self.names[position]][row : row + 1].to_list()[0]

    def _fitted(self, position: int, value: Any) -> tuple[Any, Any]:
        dtype = self._frame.schema[self.names[position]]
        if is_missing(value) and not (dtype.is_float() and isinstance(value, float)):
            value = None  # of the other kinds of nothing polars knows none, and may panic
        elif self.holds_moments(position):
            value = value.to_pydatetime(warn=False)
        cell = self._series(position, [value])
        return cell, cell.to_list()[0]

    def _row(self, cells: Sequence[Any]) -> NarwhalsTable:
        return self._gather(dict(zip(self.names, cells, strict=True)))

    def _series(self, position: int, values: list[Any]) -> Any:
        """Values in the column's dtype and under its name."""
        import narwhals as nw

        column = self._frame[self.names[position]]
        if self._frame.implementation.is_pyarrow():  # it has several string types, narwhals one
            import pyarrow as pa

            cells = pa.array(values).cast(column.to_native().type)
            series = nw.from_native(pa.chunked_array([cells]), series_only=True)
            return series.alias(column.name)
        backend = self._frame.implementation
        return nw.new_series(column.name, values, backend=backend).cast(column.dtype)

    def _gather(self, columns: dict[str, Any]) -> NarwhalsTable:
        import narwhals as nw

        return NarwhalsTable(nw.from_dict(columns))


def _exact_as_floats(series: Any) -> bool:
    return bool((series.abs().max() or 0) <= EXACT_FLOAT)
