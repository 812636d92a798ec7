"""Rows by column name, whatever library they came in, converted once at the boundary.

The model must get its columns back with the names, order and dtypes it was fitted on, so a hybrid
is never rebuilt from plain values: each of its columns is *picked* from a pool of real rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any, Self

import numpy as np

from suffice.errors import InputError, did_you_mean, one_line, shorten
from suffice.tables.cells import column_codes, is_missing, plain, storable
from suffice.typing import Counts, Held, Values
from suffice.wording import and_more

__all__ = ["Table", "as_moment", "is_frame", "same", "same_moment"]

_SEQUENCE = (list, tuple, np.ndarray)


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
    def take(self, rows: Counts) -> Self:
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
    def with_columns(self, columns: Mapping[int, Values], argument: str = "values") -> Table:
        """This table with new values in these columns, cast to the dtypes they have.

        Integer columns take rounded numbers; a value that does not fit is an error.
        """

    @abstractmethod
    def stack(self, below: Table) -> Table:
        """This table with another of the same columns below it."""

    @abstractmethod
    def dtype(self, position: int) -> str:
        """The column's dtype, for messages."""

    @abstractmethod
    def same_dtype(self, position: int, other: Table) -> bool:
        """Has the column at this position the same dtype in another table of this kind?"""

    @abstractmethod
    def holds_moments(self, position: int) -> bool:
        """Is it a column of dates or of points in time?"""

    @abstractmethod
    def holds_whole_numbers(self, position: int) -> bool:
        """Is it a column that can hold whole numbers only, missing ones beside?"""

    @abstractmethod
    def cell(self, row: int, position: int) -> Any:
        """One value, as its library gives it."""

    @abstractmethod
    def _fitted(self, position: int, value: Any) -> tuple[Any, Any]:
        """A value in the column's dtype: as a column of one row, and by itself."""

    @abstractmethod
    def _row(self, cells: Sequence[Any]) -> Table:
        """One row of such columns."""

    def position(self, name: object, argument: str) -> int:
        """Where a named column stands."""
        try:
            return self.names.index(storable(name))
        except ValueError:
            hint = did_you_mean(name, self.names)
            got = f"unknown column {shorten(name)}"
            raise InputError(argument, got, "columns of data", hint) from None

    def one(self, values: Sequence[Any], argument: str = "x") -> Table:
        """One row of these values in this table's dtypes; an error where one does not fit."""
        cells = []
        for j, value in enumerate(values):
            try:
                if self.holds_moments(j) and not is_missing(value):
                    cell, kept = self._fitted(j, as_moment(value))
                    fits = same_moment(kept, as_moment(value))
                else:
                    cell, kept = self._fitted(j, value)
                    fits = same(kept, value)
            except Exception as error:  # every library has its own class for a failed cast
                raise self.misfit(j, value, argument) from error
            if not fits:
                raise self.misfit(j, value, argument)
            cells.append(cell)
        return self._row(cells)

    def stack_all(self, below: Sequence[Table]) -> Table:
        """This table with others of the same columns below it, all at once."""
        out: Table = self
        for table in below:
            out = out.stack(table)
        return out

    def codes(self) -> Counts:
        """(rows, columns): equal values share a number; larger values have larger ones."""
        return np.stack([column_codes(self.column(j)) for j in range(len(self.names))], axis=1)

    def same_kind(self, other: Table) -> bool:
        """Is the other table of the same library, so that the two can be stacked?"""
        return type(self) is type(other)

    def labelled_like(self, other: Table) -> Table:
        """This table with the labels of another's columns, which may be more than names."""
        return self

    def categories(self, position: int) -> list[Any] | None:
        """The values that the column's dtype lists; None if it lists none."""
        return None

    def misfit(self, position: int, value: object, argument: str = "x") -> InputError:
        """The error for a value that the column cannot hold."""
        got = f"{shorten(value)} for column {self.names[position]!r}"
        known = self.categories(position)
        if known is not None:
            allowed = f"one of its categories: {and_more(map(repr, known))}"
            hint = did_you_mean(value, known, or_list=False)
            return InputError(argument, got, allowed, hint)
        what = "a date, such as '2020-01-31'," if self.holds_moments(position) else "a value"
        dtype = one_line(self.dtype(position), 120)
        return InputError(argument, got, f"{what} that fits its dtype, {dtype}")


def is_frame(data: object) -> bool:
    """Does it have named columns? Asked of the class: a lazy frame must work to answer."""
    return hasattr(type(data), "columns") or hasattr(type(data), "column_names")


def same(kept: Any, given: Any) -> bool:
    """Did a cast keep the value? 23.5 in a column of whole numbers, or a text cut short, did not.

    >>> same(np.float32(0.1), 0.1), same(23, 23.5), same(Decimal("1.50"), 1.5), same(1, "1")
    (True, False, True, False)
    """
    if is_missing(kept) or is_missing(given):
        return is_missing(kept) and is_missing(given)
    if isinstance(kept, _SEQUENCE) and isinstance(given, _SEQUENCE):
        return len(kept) == len(given) and all(map(same, kept, given))
    if isinstance(kept, Decimal) and isinstance(given, int | float | Decimal):
        return kept == given or (isinstance(given, float) and float(kept) == given)
    half = isinstance(kept, np.float16)
    kept, given = plain(kept), plain(given)
    if isinstance(kept, float) and isinstance(given, int | float):
        # A float16 or float32 column rounds what it is given: its dtype's doing, not a misfit.
        return bool(np.isclose(kept, given, rtol=1e-3 if half else 1e-6, atol=0.0))
    return bool(kept == given)


def as_moment(value: Any) -> Any:
    """A date or time, given as such or as text, for a column of them.

    Numbers are refused: a library would count 2020 from the year 1970 on, in a unit of its own.
    """
    import pandas as pd

    if not isinstance(value, str | date | np.datetime64):
        raise TypeError("no date")
    moment: Any = pd.Timestamp(value)
    if moment is pd.NaT:
        raise ValueError("no date")
    return moment


def same_moment(kept: Any, given: Any) -> bool:
    """Did a column of dates keep the moment? One without a zone is read in the column's own."""
    import pandas as pd

    moment = pd.Timestamp(kept)
    if given.tzinfo is None and moment.tzinfo is not None:
        moment = moment.tz_localize(None)
    return bool(moment == given)
