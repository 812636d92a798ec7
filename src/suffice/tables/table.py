"""`Table`, the interface of tables of all libraries; rows (mapping, list) in a table's dtypes.

A model gets its columns back with the names, order and dtypes that it was fitted on. So a hybrid is
never rebuilt from Python values: each of its cells is picked from rows that the user passed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any, Self

import numpy as np

from suffice.errors import InputError, SufficeError, did_you_mean, one_line, short_repr
from suffice.formatting import join_first
from suffice.tables.cells import MAX_EXACT_INTEGER, as_scalar, column_codes, is_missing, utf8_text
from suffice.typing import BoolVector, Counts, HeldSets, Values


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


# Dtypes: `conform` rows to a table's columns and dtypes, and cast computed values to a column's.
#
# Two rules on purpose. Rows that a user passes are refused where a dtype cannot hold a value
# exactly (`conform`): 23.5 is no integer. Values that a causal model computes are rounded
# (`cast_column`).


def conform(
    rows: Table, like: Table, argument: str = "x", ignored: Collection[str] = ()
) -> tuple[Table | None, dict[int, SufficeError]]:
    """Return the rows with the columns, library and dtypes of `like`, and an error per bad row.

    Columns in `ignored` may be among the rows' own. The table is None where no row fits.

    >>> from suffice.tables import as_table
    >>> loans = as_table([[41, 12], [23, 0]], names=["age", "debt"])
    >>> given = as_table([[30.0, 3.0], [30.5, 3.0]], names=["age", "debt"])
    >>> table, errors = conform(given, loans)
    >>> table.native.tolist(), list(errors), errors[1].got
    ([[30, 3]], [1], "30.5 for column 'age'")
    """
    try:
        check_column_names(rows.names, like, argument, ignored)
    except InputError as error:
        return None, dict.fromkeys(range(len(rows)), error)
    chosen = rows.select([rows.names.index(name) for name in like.names])
    same = [like.same_dtype(j, chosen) for j in range(len(like.names))]
    if all(same):
        return chosen.with_labels_of(like).take(np.arange(len(rows))), {}
    parts: list[Table] = []
    errors: dict[int, SufficeError] = {}
    _conform_by_halves(chosen, like, same, argument, 0, parts, errors)
    return (parts[0].stack(*parts[1:]) if parts else None), errors


def _conform_by_halves(
    rows: Table,
    like: Table,
    same: list[bool],
    argument: str,
    first: int,
    parts: list[Table],
    errors: dict[int, SufficeError],
) -> None:
    """Cast rows a column at a time; where that fails, halves of the rows, down to the bad ones.

    A cast of a whole column is hundreds of times as fast as one per cell, and bad rows are few.
    """
    try:
        columns = [
            rows._native_column(j) if kept else like.cast_cells(j, rows.cells(j), argument)
            for j, kept in enumerate(same)
        ]
        parts.append(like._from_columns(columns))
    except SufficeError as error:
        if len(rows) == 1:
            errors[first] = error
            return
        middle = len(rows) // 2
        for start, stop in ((0, middle), (middle, len(rows))):
            half = rows.take(np.arange(start, stop))
            _conform_by_halves(half, like, same, argument, first + start, parts, errors)


def check_column_names(
    given: Sequence[str], like: Table, argument: str, ignored: Collection[str] = ()
) -> None:
    """Raise unless the names are those of `like`, each once, in any order, or in `ignored`."""
    twice = [name for name, count in Counter(given).items() if count > 1]
    if twice:
        raise InputError(argument, f"two values for {twice[0]!r}", "one value for each column")
    extra = [name for name in given if name not in like.names and name not in ignored]
    if extra:
        hint = did_you_mean(extra[0], like.names)
        got = f"extra column{'s' * (len(extra) > 1)} {join_first(map(repr, extra))}"
        raise InputError(argument, got, "the columns of data", hint)
    missing = [name for name in like.names if name not in given]
    if missing:
        raise InputError(
            argument,
            f"no value for {join_first(map(repr, missing))}",
            f"a value for each of the {len(like.names)} columns of data",
        )


_ROW_FORMS = "a mapping, a series, a one-row frame, or a list of values"


def read_row(row: Any, like: Table, argument: str = "x", ignored: Collection[str] = ()) -> Table:
    """Return one row, given in any form, as a table with the columns and dtypes of another.

    Columns in `ignored` may be among the row's own.

    >>> from suffice.tables import as_table
    >>> loans = as_table([[41, 12.5], [23, 0.0]], names=["age", "debt"])
    >>> read_row({"debt": 3, "age": 30, "name": "A."}, loans, ignored=["name"]).native.tolist()
    [[30.0, 3.0]]
    """
    if is_frame(row):
        from suffice.tables.conversion import wrap_frame

        if len(row) != 1:
            raise _several_rows_error(len(row), argument)
        table, errors = conform(wrap_frame(row, argument), like, argument, ignored)
        if table is None:
            raise errors[0]
        return table
    given = _named_values(row, like.names, argument)
    check_column_names([name for name, _ in given], like, argument, ignored)
    values = dict(given)
    return like.from_cells([[values[name]] for name in like.names], argument)


def has_several_rows(x: Any) -> bool:
    """Return whether `x` is a table of several rows or a list of rows, rather than one row.

    >>> has_several_rows([1, "own"]), has_several_rows([[1, "own"], [2, "rents"]])
    (False, True)
    """
    if is_frame(x):
        return len(x.shape) == 2 and x.shape[0] > 1
    if isinstance(x, np.ndarray):
        return x.ndim == 2 and len(x) > 1
    rows = isinstance(x, list | tuple) and len(x) > 1
    return rows and all(isinstance(row, Mapping | list | tuple | np.ndarray) for row in x)


def _named_values(row: Any, names: Sequence[str], argument: str) -> list[tuple[str, Any]]:
    """Return (column, value) pairs of a mapping, series or list; a column may occur twice."""
    if isinstance(row, Mapping):
        return [(utf8_text(name), value) for name, value in row.items()]
    import pandas as pd

    if isinstance(row, pd.Series):
        return [(utf8_text(name), value) for name, value in row.items()]
    values = _unnamed_values(row, len(names), argument)
    if len(values) != len(names):
        raise InputError(
            argument,
            f"{len(values)} values",
            f"one value for each of the {len(names)} columns of data",
            "Pass a mapping or a one-row frame to name them.",
        )
    return list(zip(names, values, strict=True))


def _unnamed_values(row: Any, width: int, argument: str) -> Sequence[Any]:
    """Return the values of a list or array of one row."""
    if isinstance(row, list | tuple):
        rows = all_of_type(list | tuple | np.ndarray, row)
        if rows and len(row) == 1:
            return list(row[0])
        if rows and all(len(values) == width for values in row):
            raise _several_rows_error(len(row), argument)
        return row
    values: Values = np.asarray(row, dtype=object)
    if values.ndim == 2:
        if len(values) != 1:
            raise _several_rows_error(len(values), argument)
        values = values[0]
    if values.ndim != 1:
        raise InputError(argument, short_repr(row), _ROW_FORMS)
    return list(values)


def _several_rows_error(n: int, argument: str) -> InputError:
    hint = "Pass one row at a time; explain_many explains several."
    return InputError(argument, f"{n} rows", "exactly one row", hint)


def all_of_type(kind: Any, things: Any) -> bool:
    """Return whether things are a list, not an empty one, of objects of one type."""
    if not isinstance(things, list | tuple) or not things:
        return False
    return all(isinstance(thing, kind) for thing in things)


def cast_numpy(values: Values, dtype: np.dtype[Any]) -> tuple[Values, BoolVector]:
    """Return values in a NumPy dtype, rounded for integers, and a mask of those that do not fit.

    >>> cast_numpy(np.array([1.4, 300.0]), np.dtype("uint8"))[1].tolist()
    [False, True]
    """
    if dtype.kind in "iu" and values.dtype.kind not in "biu":
        values = np.rint(_convert_or_nan(values, np.dtype(float)))
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        with np.errstate(invalid="ignore"):  # comparisons with NaN are false, which is right
            bad = ~((values >= limits.min) & (values <= limits.max))
        return np.where(bad, 0, values).astype(dtype), bad
    out = _convert_or_nan(values, dtype)
    if dtype.kind == "f":
        return out, np.isnan(out)
    return out, np.asarray(out != values, dtype=bool)


def cast_pandas(values: Values, dtype: Any) -> tuple[Any, BoolVector]:
    """Return values in a pandas dtype, as `cast_numpy` does; categories stay the dtype's own."""
    import pandas as pd

    if isinstance(dtype, np.dtype):
        return cast_numpy(values, dtype)
    if isinstance(dtype, pd.CategoricalDtype):
        codes = dtype.categories.get_indexer(pd.Index(values))
        return pd.Categorical.from_codes(codes, dtype=dtype), codes < 0
    if hasattr(dtype, "numpy_dtype") and dtype.kind in "iufb":
        numbers, bad = cast_numpy(values, dtype.numpy_dtype)
        return pd.array(numbers, dtype=dtype), bad
    out = pd.array(list(values), dtype=dtype)
    return out, np.asarray(out.astype(object) != values.astype(object), dtype=bool)


def cast_column(
    table: Table,
    position: int,
    values: Values,
    to_dtype: Callable[[Values], tuple[Any, Values]],
    argument: str,
) -> Any:
    """Return values in a column's dtype, integers rounded; an error names one that does not fit."""
    try:
        out, bad = to_dtype(values)
    except Exception as error:  # every library has its own class for a failed cast
        raise table.cast_error(position, values[0], argument) from error
    if bad.any():
        raise table.cast_error(position, values[np.argmax(bad)], argument)
    return out


def _convert_or_nan(values: Values, dtype: np.dtype[Any]) -> Values:
    """Return converted values; all NaN where a float dtype cannot hold one of them."""
    try:
        return values.astype(dtype)
    except (TypeError, ValueError):
        if dtype.kind != "f":
            raise
        return np.full(len(values), np.nan)


_SEQUENCE_TYPES = (list, tuple, np.ndarray)


def same_value(kept: Any, given: Any) -> bool:
    """Return whether a cast kept the value: 23.5 as an integer or a truncated text did not.

    >>> (same_value(np.float32(0.1), 0.1), same_value(23, 23.5),
    ...  same_value(Decimal("1.50"), 1.5), same_value(1, "1"))
    (True, False, True, False)
    """
    if is_missing(kept) or is_missing(given):
        return is_missing(kept) and is_missing(given)
    if isinstance(kept, _SEQUENCE_TYPES) and isinstance(given, _SEQUENCE_TYPES):
        return len(kept) == len(given) and all(map(same_value, kept, given))
    if isinstance(kept, Decimal) and isinstance(given, int | float | Decimal):
        return kept == given or (isinstance(given, float) and float(kept) == given)
    half = isinstance(kept, np.float16)
    kept, given = as_scalar(kept), as_scalar(given)
    if isinstance(kept, float) and isinstance(given, int | float):
        # Rounding to float16 or float32 is what the column's dtype means, and accepted.
        return bool(np.isclose(kept, given, rtol=1e-3 if half else 1e-6, atol=0.0))
    return bool(kept == given)


def to_timestamp(value: Any) -> Any:
    """Return a date or time, given as such or as text, as a pandas timestamp.

    Numbers are refused: libraries read 2020 as a count since 1970, each in another unit.
    """
    import pandas as pd

    if not isinstance(value, str | date | np.datetime64):
        raise TypeError("no date")
    timestamp: Any = pd.Timestamp(value)
    if timestamp is pd.NaT:
        raise ValueError("no date")
    return timestamp


def same_timestamp(kept: Any, given: Any) -> bool:
    """Return whether a cast kept a timestamp; one without a time zone is read in the column's."""
    import pandas as pd

    timestamp = pd.Timestamp(kept)
    if given.tzinfo is None and timestamp.tzinfo is not None:
        timestamp = timestamp.tz_localize(None)
    return bool(timestamp == given)
