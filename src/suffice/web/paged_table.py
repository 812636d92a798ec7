"""Pages of the explorer's table: rows are filtered, sorted and cut here, never sent whole.

A million rows are sorted once for each column and filtered by whole columns; a page is fifty rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from suffice.errors import InputError, did_you_mean
from suffice.tables import Table, as_scalar, column_codes
from suffice.tables.cells import is_missing, matches_text
from suffice.typing import BoolVector, Counts, Scalar, Values
from suffice.web.requests import RowCondition, RowsRequest

_MAX_PAGE_ROWS = 500

_MAX_LISTED_VALUES = 60
"""A column of more distinct values is typed in, not chosen from a list."""

_MAX_CACHED_ORDERS = 6


@dataclass(frozen=True)
class ColumnInfo:
    """A column as a form needs it: kind, range, listed values."""

    name: str
    kind: str
    """ "number", "boolean", "moment" or "text"."""
    whole: bool
    lowest: Scalar
    highest: Scalar
    values: list[Scalar] | None
    """The values in order if they are few; None: too many to list."""
    missing: bool


@dataclass(frozen=True)
class RowPage:
    """Rows of one page, and the number of all rows that meet the conditions."""

    total: int
    numbers: list[int]
    values: list[list[Scalar]]
    predictions: list[Scalar]
    scores: list[float | None] | None = None
    """The model's score of each prediction; None where it has no scores, or predicts numbers."""


class PagedTable:
    """A table with the models' prediction for each row."""

    def __init__(self, table: Table, predictions: Mapping[str, Values]) -> None:
        self._table = table
        self._predictions = predictions
        self._order = lru_cache(_MAX_CACHED_ORDERS)(self._compute_order)
        self._infos = [self._column_info(j) for j in range(len(table.names))]

    def __len__(self) -> int:
        return len(self._table)

    def columns(self) -> list[ColumnInfo]:
        """Return each column as a form shows it."""
        return self._infos

    def page(self, request: RowsRequest, model: str) -> RowPage:
        """Return the rows of a page, with the predictions of a model."""
        if not 1 <= request.count <= _MAX_PAGE_ROWS:
            raise InputError("count", request.count, f"1 to {_MAX_PAGE_ROWS} rows at once")
        if request.first < 0:
            raise InputError("first", request.first, "0 or more")
        predictions = self._predictions[model]
        numbers = self._sorted_rows(request, model)
        # Rows are sorted first, from the cache, and filtered in that order.
        mask = self.mask(request.where)
        if request.prediction is not None:
            mask = mask & _is_predicted(predictions, request.prediction)
        if not mask.all():
            numbers = numbers[mask[numbers]]
        chosen = numbers[request.first : request.first + request.count]
        part = self._table.take(chosen)
        columns = [part.column(j) for j in range(len(part.names))]
        return RowPage(
            len(numbers),
            chosen.tolist(),
            [[to_json_value(column[i]) for column in columns] for i in range(len(chosen))],
            [to_json_value(prediction) for prediction in predictions[chosen]],
        )

    def mask(self, conditions: list[RowCondition]) -> BoolVector:
        """Return, by row, whether all conditions hold."""
        found = np.ones(len(self._table), dtype=bool)
        for condition in conditions:
            if (condition.value is None) != (condition.test == "is missing"):
                allowed = f"{'no' if condition.value is not None else 'a'} value"
                raise InputError("value", condition.value, f"{allowed} for “{condition.test}”")
            found &= _matches(self._table.column(self._position(condition.column)), condition)
        return found

    def _position(self, name: str) -> int:
        names = self._table.names
        if name not in names:
            raise InputError("column", name, "a column of the table", did_you_mean(name, names))
        return names.index(name)

    def _sorted_rows(self, request: RowsRequest, model: str) -> Counts:
        if request.sort is None:
            order = np.arange(len(self._table))
        elif request.sort == "prediction":
            order = self._order(None, model)
        else:
            order = self._order(self._position(request.sort), "")
        return order[::-1] if request.descending else order

    def _compute_order(self, position: int | None, model: str) -> Counts:
        """Return row numbers sorted by a column, or by the predictions of a model."""
        by = self._predictions[model] if position is None else self._table.column(position)
        return np.argsort(column_codes(by), kind="stable")

    def _column_info(self, j: int) -> ColumnInfo:
        table = self._table
        distinct, _ = _distinct_values(table.column(j))
        # All missing values are equal, so at most one of the distinct values is missing.
        missing = [i for i in (0, len(distinct) - 1) if is_missing(distinct[i])]
        known = np.delete(distinct, missing)
        kinds = {type(as_scalar(v)) for v in known[:_MAX_LISTED_VALUES]}
        numbers = bool(kinds) and kinds <= {int, float}
        kind = "number" if numbers else "boolean" if kinds == {bool} else "text"
        if table.is_datetime(j):
            kind = "moment"
        # A dtype may list categories that no row has; a form offers them too.
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


def _matches(column: Values, condition: RowCondition) -> BoolVector:
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


def _is_predicted(predictions: Values, wanted: str) -> BoolVector:
    distinct, which = _distinct_values(predictions)
    return np.asarray([str(as_scalar(v)) == wanted for v in distinct], dtype=bool)[which]


def to_json_value(value: Any) -> Scalar:
    """Return a cell as JSON; a missing value is null."""
    if is_missing(value):
        return None
    found = as_scalar(value)
    if isinstance(found, float) and not np.isfinite(found):
        return str(found)
    return found


def _distinct_values(column: Values) -> tuple[Values, Counts]:
    codes = column_codes(column)
    first = np.full(int(codes.max()) + 1, -1, dtype=np.int64)
    # Assigned from the last row to the first, so that the first row of each code remains.
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    return column[first], codes


def _same_value(cell: Scalar, value: Scalar) -> bool:
    """Return whether a cell equals the value, or its text, since forms send texts."""
    return cell == value or (value is not None and matches_text(cell, str(value)))


def _compare(cell: Any, test: str, value: Any) -> bool:
    try:
        return bool(cell >= value if test == "at least" else cell <= value)
    except TypeError:
        return bool(str(cell) >= str(value) if test == "at least" else str(cell) <= str(value))
