"""`Table`, the interface of tabular data from NumPy, pandas, polars or pyarrow.

A model gets its columns back with the names, order and dtypes that it was fitted on. So a hybrid is
never rebuilt from Python values: each of its cells is picked from rows that the user passed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from suffice.errors import InputError, did_you_mean, one_line, short_repr
from suffice.formatting import join_first
from suffice.tables.casting import same_timestamp, same_value, to_timestamp
from suffice.tables.cells import MAX_EXACT_INTEGER, column_codes, is_missing, utf8_text
from suffice.typing import Counts, HeldSets, Values


class Table(ABC):
    """A two-dimensional table: picks rows, columns and cells, stacks, and keeps its library."""

    names: tuple[str, ...]

    @abstractmethod
    def __len__(self) -> int: ...

    @property
    @abstractmethod
    def native(self) -> Any:
        """The frame or array of the library that the table came from."""

    @abstractmethod
    def column(self, position: int) -> Values:
        """Return one column as a NumPy array."""

    @abstractmethod
    def take(self, rows: Counts) -> Self:
        """Return the rows with these numbers, in this order."""

    @abstractmethod
    def select(self, positions: Sequence[int]) -> Table:
        """Return the columns at these positions, in this order."""

    @abstractmethod
    def splice(self, from_first_row: HeldSets, rows: Counts) -> Table:
        """Return rows made of the first row and others.

        Row i has, in column j, the first row's value where `from_first_row[i, j]`, else the value
        of row `rows[i]`.
        """

    @abstractmethod
    def gather(self, rows: Counts) -> Table:
        """Return rows made cell by cell: row i has, in column j, the value of row rows[i, j]."""

    @abstractmethod
    def with_columns(self, columns: Mapping[int, Values], argument: str = "values") -> Table:
        """Return this table with new values in some columns, cast to the dtypes they have.

        Integer columns take rounded numbers; a value that does not fit is an error.
        """

    @abstractmethod
    def stack(self, *below: Table) -> Table:
        """Return this table with the rows of others below; all have the same columns and dtypes."""

    @abstractmethod
    def dtype(self, position: int) -> str:
        """Return the name of a column's dtype, for messages."""

    @abstractmethod
    def same_dtype(self, position: int, other: Table) -> bool:
        """Return whether a column has the same dtype in another table of the same library."""

    @abstractmethod
    def is_datetime(self, position: int) -> bool:
        """Return whether a column holds dates or points in time."""

    @abstractmethod
    def is_integer(self, position: int) -> bool:
        """Return whether a column's dtype holds integers only, missing values aside."""

    @abstractmethod
    def cells(self, position: int) -> list[Any]:
        """Return a column's cells as Python objects of the table's library."""

    @abstractmethod
    def _native_column(self, position: int) -> Any:
        """Return a column in the form that `_from_columns` takes."""

    @abstractmethod
    def _cast_cells(self, position: int, cells: list[Any]) -> tuple[Any, list[Any]]:
        """Return cells as a native column of the column's dtype, and the cells that it holds."""

    @abstractmethod
    def _from_columns(self, columns: Sequence[Any]) -> Table:
        """Return a table with this table's names and these native columns."""

    def cell(self, row: int, position: int) -> Any:
        """Return one cell as its library gives it."""
        return self.take(np.array([row])).cells(position)[0]

    def position(self, name: object, argument: str) -> int:
        """Return the position of a named column."""
        try:
            return self.names.index(utf8_text(name))
        except ValueError:
            hint = did_you_mean(name, self.names)
            got = f"unknown column {short_repr(name)}"
            raise InputError(argument, got, "columns of data", hint) from None

    def from_cells(self, columns: Sequence[list[Any]], argument: str = "x") -> Table:
        """Return a table of these cells, column by column, in the dtypes of this table."""
        cast = [self.cast_cells(j, cells, argument) for j, cells in enumerate(columns)]
        return self._from_columns(cast)

    def cast_cells(self, position: int, cells: list[Any], argument: str = "x") -> Any:
        """Return cells as a native column; an error where the dtype cannot hold a value exactly.

        Where a library refuses several cells together, the error names the first of them: `conform`
        casts the rows one by one then.
        """
        if self.is_datetime(position):
            return self._cast_datetimes(position, cells, argument)
        try:
            column, kept = self._cast_cells(position, cells)
        except Exception as error:  # every library has its own class for a failed cast
            raise self.cast_error(position, cells[0], argument) from error
        for found, cell in zip(kept, cells, strict=True):
            if not same_value(found, cell):
                raise self.cast_error(position, cell, argument)
            if isinstance(cell, float) and isinstance(found, int | np.integer):
                self._check_exact(position, cell, argument)
        return column

    def _check_exact(self, position: int, cell: float, argument: str) -> None:
        """Raise for a float so large that it may be a rounded integer: `df.iloc[i]` makes such."""
        if abs(cell) >= MAX_EXACT_INTEGER:
            got = f"the float {cell:.0f} for column {self.names[position]!r}, perhaps rounded"
            hint = (
                "A row of a frame as a series may hold floats: pass df.iloc[[i]], not df.iloc[i]."
            )
            raise InputError(argument, got, "the integer itself from 2^53 on", hint)

    def _cast_datetimes(self, position: int, cells: list[Any], argument: str) -> Any:
        try:
            times = [None if is_missing(cell) else to_timestamp(cell) for cell in cells]
            column, kept = self._cast_cells(position, times)
        except Exception as error:
            raise self.cast_error(position, cells[0], argument) from error
        for found, time, cell in zip(kept, times, cells, strict=True):
            fits = is_missing(found) if time is None else same_timestamp(found, time)
            if not fits:
                raise self.cast_error(position, cell, argument)
        return column

    def codes(self) -> Counts:
        """Return (rows, columns): integers, equal and ordered as each column's values are."""
        return np.stack([column_codes(self.column(j)) for j in range(len(self.names))], axis=1)

    def same_library(self, other: Table) -> bool:
        """Return whether another table is of the same library, so that the two can be stacked."""
        return type(self) is type(other)

    @property
    def library_name(self) -> str:
        """The library and class of the native table, for messages: "a pandas DataFrame"."""
        kind = type(self.native)
        return f"a {kind.__module__.partition('.')[0]} {kind.__name__}"

    def with_labels_of(self, other: Table) -> Table:
        """Return this table with the column labels of another, which need not be strings."""
        return self

    def categories(self, position: int) -> list[Any] | None:
        """Return the values that a categorical dtype lists; None for other dtypes."""
        return None

    def cast_error(self, position: int, value: object, argument: str = "x") -> InputError:
        """Return the error for a value that a column cannot hold."""
        got = f"{short_repr(value)} for column {self.names[position]!r}"
        known = self.categories(position)
        if known is not None:
            allowed = f"one of its categories: {join_first(map(repr, known))}"
            hint = did_you_mean(value, known, or_list=False)
            return InputError(argument, got, allowed, hint)
        what = "a date, such as '2020-01-31'," if self.is_datetime(position) else "a value"
        dtype = one_line(self.dtype(position), 120)
        return InputError(argument, got, f"{what} that fits its dtype, {dtype}")


def is_frame(data: object) -> bool:
    """Return whether an object has named columns; on a lazy frame the attribute would compute."""
    return hasattr(type(data), "columns") or hasattr(type(data), "column_names")
