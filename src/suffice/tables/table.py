"""Rows by column name, whatever library they came in, converted once at the boundary.

The model must get its columns back with the names, order and dtypes it was fitted on, so a hybrid
is never rebuilt from plain values: each of its columns is *picked* from a pool of real rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, cast

import numpy as np

from suffice.errors import InputError, did_you_mean, one_line, shorten
from suffice.typing import Counts, Held, Scalar, Values

__all__ = ["Table", "as_row_mapping", "column_codes", "has_several_rows", "is_frame", "plain"]


class Table(ABC):
    """A two-dimensional table that can pick, stack and hand itself back in its own kind."""

    names: tuple[str, ...]

    @abstractmethod
    def __len__(self) -> int: ...

    @property
    @abstractmethod
    def native(self) -> Any:
        """The table as the library it came from knows it."""

    @abstractmethod
    def column(self, position: int) -> Values:
        """One column's values."""

    @abstractmethod
    def take(self, rows: Counts) -> Table:
        """These rows, in this order."""

    @abstractmethod
    def select(self, positions: Sequence[int]) -> Table:
        """These columns, in this order."""

    @abstractmethod
    def splice(self, first: Held, rows: Counts) -> Table:
        """Row i takes, in column j, the first row's value where first[i, j], else row rows[i]'s."""

    @abstractmethod
    def gather(self, rows: Counts) -> Table:
        """Row i takes, in column j, the value of row rows[i, j]."""

    @abstractmethod
    def with_columns(self, columns: Mapping[int, Values]) -> Table:
        """This table with new values in these columns, cast to the dtypes they have.

        Integer columns take rounded numbers; a value that does not fit is an error.
        """

    @abstractmethod
    def stack(self, below: Table) -> Table:
        """This table with another of the same columns below it."""

    @abstractmethod
    def one(self, values: Sequence[Any]) -> Table:
        """One row of these values in this table's dtypes; an error where one does not fit."""

    @abstractmethod
    def dtype(self, position: int) -> str:
        """The column's dtype, for messages."""

    def position(self, name: str, argument: str) -> int:
        """Where a named column stands."""
        try:
            return self.names.index(name)
        except ValueError:
            hint = did_you_mean(name, self.names)
            raise InputError(
                argument, f"unknown column {name!r}", "columns of data", hint
            ) from None

    def adopt(self, row: object, argument: str = "x") -> Table:
        """Read one row given in any form, with this table's columns and dtypes."""
        given = as_row_mapping(row, self.names, argument)
        extra = [name for name in given if name not in self.names]
        if extra:
            hint = did_you_mean(extra[0], self.names)
            raise InputError(argument, f"extra column {extra[0]!r}", "the columns of data", hint)
        missing = [name for name in self.names if name not in given]
        if missing:
            raise InputError(
                argument,
                f"no value for {', '.join(map(repr, missing))}",
                f"a value for each of the {len(self.names)} columns of data",
            )
        return self.one([given[name] for name in self.names])

    def codes(self) -> Counts:
        """(rows, columns): equal values share a number; larger values have larger ones."""
        return np.stack([column_codes(self.column(j)) for j in range(len(self.names))], axis=1)

    def misfit(self, position: int, value: object, argument: str = "x") -> InputError:
        """The error for a value that the column cannot hold."""
        return InputError(
            argument,
            f"{shorten(value)} for column {self.names[position]!r}",
            f"a value that fits its dtype, {one_line(self.dtype(position), 120)}",
        )


def as_row_mapping(row: object, names: Sequence[str], argument: str) -> dict[str, Any]:
    """One row as {column: value}, from a mapping, a series, a one-row frame, an array or a list."""
    if isinstance(row, Mapping):
        return {str(k): v for k, v in row.items()}
    frame = getattr(row, "to_dict", None)
    if is_frame(row):
        _require_one_row(len(cast(Any, row)), argument)
        if type(row).__module__.startswith("pandas"):  # whose columns may have any kind of name
            frame_row = cast(Any, row)
            return {str(c): frame_row.iloc[0, j] for j, c in enumerate(frame_row.columns)}
        import narwhals as nw

        wide: Any = nw.from_native(cast(Any, row), eager_only=True)
        return {str(name): wide[name][0] for name in wide.columns}
    if frame is not None and hasattr(row, "index"):  # a pandas series: a row of a frame
        return {str(k): v for k, v in frame().items()}
    values = np.asarray(row, dtype=object)
    if values.ndim == 2:
        _require_one_row(len(values), argument)
        values = values[0]
    if values.ndim != 1:
        allowed = "a mapping, a series, a one-row frame, or a list of values"
        raise InputError(argument, row, allowed)
    if len(values) != len(names):
        raise InputError(
            argument,
            f"{len(values)} values",
            f"one value for each of the {len(names)} columns of data",
            "Pass a mapping or a one-row frame to name them.",
        )
    return dict(zip(names, values, strict=True))


def is_frame(data: object) -> bool:
    """Does it have named columns? Asked of the class: a lazy frame must work to answer."""
    return hasattr(type(data), "columns") or hasattr(type(data), "column_names")


def column_codes(values: Values) -> Counts:
    """Number the distinct values so that order is kept; missing values are equal to each other.

    >>> column_codes(np.array(["b", "a", "b"])).tolist()
    [1, 0, 1]
    """
    import pandas as pd

    array = np.asarray(values)
    if array.dtype == object:
        array = _told_apart(array)
    codes, distinct = pd.factorize(array, use_na_sentinel=False)
    order = _argsort(np.asarray(distinct))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return np.asarray(rank[codes])


def plain(value: Any) -> Scalar:
    """A cell as it is shown and stored: no library's own types, missing as None.

    >>> plain(np.float64(2.0)), plain(float("nan")), plain(np.str_("own"))
    (2.0, None, 'own')
    """
    import pandas as pd

    if isinstance(value, np.datetime64):
        value = pd.Timestamp(value)
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, str | bool | int):
        return value
    if value is None or (np.ndim(value) == 0 and pd.isna(value)):
        return None
    if isinstance(value, float):
        return value if isfinite(value) else str(value)
    return str(value.isoformat() if hasattr(value, "isoformat") else value)


def _told_apart(values: Values) -> Values:
    """Cells of several types, or that cannot be hashed, named by type and text: 1 is not True."""
    kinds = {type(v) for v in values if v is not None}
    if len(kinds) < 2 and all(kind.__hash__ is not None for kind in kinds):
        return values
    out = np.empty(len(values), dtype=object)
    out[:] = [None if v is None else f"{type(v).__name__} {v!r}" for v in values]
    return out


def _argsort(distinct: Values) -> Counts:
    try:
        return np.argsort(distinct, kind="stable")
    except TypeError:  # values of several types, or missing ones among strings
        keys = [(type(v).__name__, str(v)) for v in distinct]
        return np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.int64)


def has_several_rows(x: Any) -> bool:
    """Is this a table of more than one row, or a list of rows, rather than one row?

    >>> has_several_rows([1, "own"]), has_several_rows([[1, "own"], [2, "rents"]])
    (False, True)
    """
    if is_frame(x):
        return len(x.shape) == 2 and x.shape[0] > 1
    if isinstance(x, np.ndarray):
        return x.ndim == 2 and len(x) > 1
    rows = isinstance(x, list | tuple) and len(x) > 1
    return rows and all(isinstance(row, Mapping | list | tuple | np.ndarray) for row in x)


def _require_one_row(n: int, argument: str) -> None:
    if n != 1:
        raise InputError(
            argument, f"{n} rows", "exactly one row", "explain_many takes several at once."
        )
