"""A table that is one NumPy array."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from suffice.tables.cast import cast, fitting
from suffice.tables.cells import is_missing, storable
from suffice.tables.table import Table
from suffice.typing import Counts, Held, Values

__all__ = ["ArrayTable"]


class ArrayTable(Table):
    """A numpy array with names for its columns."""

    def __init__(self, array: Values, names: Sequence[str]) -> None:
        self._array = array
        self.names = tuple(storable(name) for name in names)

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

    def with_columns(self, columns: Mapping[int, Values], argument: str = "values") -> ArrayTable:
        """Write the columns into a copy."""
        out = self._array.copy()
        for j, values in columns.items():
            out[:, j] = fitting(self, j, values, lambda v: cast(v, self._array.dtype), argument)
        return ArrayTable(out, self.names)

    def stack(self, below: Table) -> ArrayTable:
        """Append rows; texts of any length, though NumPy's dtype has a longest."""
        return self.stack_all([below])

    def stack_all(self, below: Sequence[Table]) -> ArrayTable:
        """Append the rows of several tables in one go."""
        arrays = [self._array, *(np.asarray(table.native) for table in below)]
        return ArrayTable(np.concatenate(arrays), self.names)

    def dtype(self, position: int) -> str:
        """The array's dtype."""
        return "text" if self._array.dtype.kind == "U" else str(self._array.dtype)

    def same_dtype(self, position: int, other: Table) -> bool:
        """Has the other array the same dtype?"""
        return self.dtype(position) == other.dtype(position)

    def holds_moments(self, position: int) -> bool:
        """Is it an array of dates?"""
        return self._array.dtype.kind == "M"

    def holds_whole_numbers(self, position: int) -> bool:
        """As its dtype says."""
        return self._array.dtype.kind in "iu"

    def cell(self, row: int, position: int) -> Any:
        """One value."""
        return self.column(position)[row]

    def _fitted(self, position: int, value: Any) -> tuple[Any, Any]:
        dtype = self._array.dtype
        if dtype.kind == "M":
            value = np.datetime64("NaT") if is_missing(value) else value.to_datetime64()
        elif dtype.kind == "U" and isinstance(value, str):
            dtype = np.dtype(f"U{max(1, len(value))}")
        cell = np.empty(1, dtype=dtype)
        cell[0] = value
        return cell, cell[0]

    def _row(self, cells: Sequence[Any]) -> ArrayTable:
        return ArrayTable(np.concatenate(cells)[None, :], self.names)
