"""The table as the explorer shows it: filtered, sorted and paged here, never sent whole.

A million rows are sorted once for each column and filtered by whole columns; a page is fifty rows.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np

from suffice.errors import InputError, did_you_mean
from suffice.tables import Table, as_scalar, column_codes
from suffice.tables.cells import is_missing
from suffice.typing import BoolVector, Counts, Scalar, Values
from suffice.web.requests import RowCondition, RowsRequest

_MAX_PAGE_ROWS = 500
"""Of one page."""

_MAX_LISTED_VALUES = 60
"""A column of more distinct values is typed in, not chosen from a list."""

_MAX_CACHED_ORDERS = 6


@dataclass(frozen=True)
class ColumnInfo:
    """What a form needs to know of a column."""

    name: str
    kind: str
    """ "number", "truth", "moment" or "text"."""
    whole: bool
    lowest: Scalar
    highest: Scalar
    values: list[Scalar] | None
    """Its values where they are few, in their order; None: too many to list."""
    missing: bool


@dataclass(frozen=True)
class RowPage:
    """Some rows of the table, and how many there are under these conditions."""

    total: int
    numbers: list[int]
    values: list[list[Scalar]]
    predictions: list[Scalar]


class PagedTable:
    """A table with the model's answer for each row."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._orders: OrderedDict[Any, Counts] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._table)

    def columns(self) -> list[ColumnInfo]:
        """Every column as a form shows it."""
        return [self._facts(j) for j in range(len(self._table.names))]

    def page(self, asked: RowsRequest, answers: Values, model: str) -> RowPage:
        """The rows wanted, in the order wanted."""
        if not 1 <= asked.count <= _MAX_PAGE_ROWS:
            raise InputError("count", asked.count, f"1 to {_MAX_PAGE_ROWS} rows at once")
        if asked.first < 0:
            raise InputError("first", asked.first, "0 or more")
        numbers = self._order(asked, answers, model)
        mask = self.mask(asked.where)
        if asked.prediction is not None:
            mask = mask & self._predicted(answers, asked.prediction)
        if not mask.all():
            numbers = numbers[mask[numbers]]
        chosen = numbers[asked.first : asked.first + asked.count]
        part = self._table.take(chosen)
        columns = [part.column(j) for j in range(len(part.names))]
        return RowPage(
            len(numbers),
            chosen.tolist(),
            [[to_json_value(column[i]) for column in columns] for i in range(len(chosen))],
            [to_json_value(answer) for answer in answers[chosen]],
        )

    def mask(self, conditions: list[RowCondition]) -> BoolVector:
        """The rows that fulfil all of these."""
        found = np.ones(len(self._table), dtype=bool)
        for condition in conditions:
            j = self._position(condition.column)
            found &= self._test(self._table.column(j), condition)
        return found

    def _position(self, name: str) -> int:
        names = self._table.names
        if name not in names:
            raise InputError("column", name, "a column of the table", did_you_mean(name, names))
        return names.index(name)

    def _test(self, column: Values, condition: RowCondition) -> BoolVector:
        value, test = condition.value, condition.test
        if column.dtype.kind in "iuf" and isinstance(value, int | float):
            # A million numbers may all be distinct: they are compared as a whole.
            compare = {"is": np.equal, "is not": np.not_equal, "at least": np.greater_equal}
            if test in compare or test == "at most":
                return np.asarray(compare.get(test, np.less_equal)(column, value))
        distinct, which = _distinct_values(column)
        if test == "is missing":
            holds = [is_missing(v) for v in distinct]
        elif test == "contains":
            part = str(value).casefold()
            holds = [not is_missing(v) and part in str(as_scalar(v)).casefold() for v in distinct]
        elif test in ("is", "is not"):
            same = [not is_missing(v) and _same_value(as_scalar(v), value) for v in distinct]
            holds = same if test == "is" else [not s for s in same]
        else:
            holds = [not is_missing(v) and _compare(as_scalar(v), test, value) for v in distinct]
        return np.asarray(holds, dtype=bool)[which]

    def _predicted(self, answers: Values, wanted: str) -> BoolVector:
        distinct, which = _distinct_values(answers)
        return np.asarray([str(as_scalar(v)) == wanted for v in distinct], dtype=bool)[which]

    def _order(self, asked: RowsRequest, answers: Values, model: str) -> Counts:
        if asked.sort is None:
            return np.arange(len(self._table))
        key = ("prediction", model) if asked.sort == "prediction" else asked.sort
        with self._lock:
            order = self._orders.get(key)
            if order is None:
                by_prediction = asked.sort == "prediction"
                column = (
                    answers if by_prediction else self._table.column(self._position(asked.sort))
                )
                order = np.argsort(column_codes(column), kind="stable")
                self._orders[key] = order
                while len(self._orders) > _MAX_CACHED_ORDERS:
                    self._orders.popitem(last=False)
        return order[::-1] if asked.descending else order

    def _facts(self, j: int) -> ColumnInfo:
        table = self._table
        distinct, _ = _distinct_values(table.column(j))
        # Missing values are alike, and so one of the distinct ones at most.
        missing = [i for i in (0, len(distinct) - 1) if is_missing(distinct[i])]
        known = np.delete(distinct, missing)
        kinds = {type(as_scalar(v)) for v in known[:_MAX_LISTED_VALUES]}
        numbers = bool(kinds) and kinds <= {int, float}
        kind = "number" if numbers else "truth" if kinds == {bool} else "text"
        if table.is_datetime(j):
            kind = "moment"
        listed = table.categories(j)
        few = listed if listed is not None else known if len(known) <= _MAX_LISTED_VALUES else None
        return ColumnInfo(
            name=table.names[j],
            kind=kind,
            whole=table.is_integer(j),
            lowest=to_json_value(known[0]) if numbers else None,
            highest=to_json_value(known[-1]) if numbers else None,
            values=None if few is None else [to_json_value(v) for v in few],
            missing=bool(missing),
        )


def to_json_value(value: Any) -> Scalar:
    """A cell as JSON has it: what is missing is null."""
    if is_missing(value):
        return None
    found = as_scalar(value)
    if isinstance(found, float) and not np.isfinite(found):
        return str(found)
    return found


def _distinct_values(column: Values) -> tuple[Values, Counts]:
    codes = column_codes(column)
    first = np.full(int(codes.max()) + 1, -1, dtype=np.int64)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    return column[first], codes


def _same_value(cell: Scalar, value: Scalar) -> bool:
    """A form sends texts, and numbers as numbers: both find the cell that shows so."""
    return cell == value or str(cell) == str(value)


def _compare(cell: Any, test: str, value: Any) -> bool:
    try:
        return bool(cell >= value if test == "at least" else cell <= value)
    except TypeError:
        return bool(str(cell) >= str(value) if test == "at least" else str(cell) <= str(value))
