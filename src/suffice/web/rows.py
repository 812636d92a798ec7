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
from suffice.tables import Table, column_codes, plain
from suffice.tables.cells import is_missing
from suffice.typing import BoolVector, Counts, Scalar, Values
from suffice.web.asked import AskedRows, Condition

__all__ = ["ColumnFacts", "Page", "Rows", "shown"]

_MOST_ROWS = 500
"""Of one page."""

_MOST_VALUES = 60
"""A column of more distinct values is typed in, not chosen from a list."""

_ORDERS_KEPT = 6


@dataclass(frozen=True)
class ColumnFacts:
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
class Page:
    """Some rows of the table, and how many there are under these conditions."""

    total: int
    numbers: list[int]
    values: list[list[Scalar]]
    predictions: list[Scalar]


class Rows:
    """A table with the model's answer for each row."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._orders: OrderedDict[Any, Counts] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._table)

    def columns(self) -> list[ColumnFacts]:
        """Every column as a form shows it."""
        return [self._facts(j) for j in range(len(self._table.names))]

    def page(self, asked: AskedRows, answers: Values, model: str) -> Page:
        """The rows wanted, in the order wanted."""
        if not 1 <= asked.count <= _MOST_ROWS:
            raise InputError("count", asked.count, f"1 to {_MOST_ROWS} rows at once")
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
        return Page(
            len(numbers),
            chosen.tolist(),
            [[shown(column[i]) for column in columns] for i in range(len(chosen))],
            [shown(answer) for answer in answers[chosen]],
        )

    def mask(self, conditions: list[Condition]) -> BoolVector:
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

    def _test(self, column: Values, condition: Condition) -> BoolVector:
        value, test = condition.value, condition.test
        if column.dtype.kind in "iuf" and isinstance(value, int | float):
            # A million numbers may all be distinct: they are compared as a whole.
            compare = {"is": np.equal, "is not": np.not_equal, "at least": np.greater_equal}
            if test in compare or test == "at most":
                return np.asarray(compare.get(test, np.less_equal)(column, value))
        distinct, which = _distinct(column)
        if test == "is missing":
            holds = [is_missing(v) for v in distinct]
        elif test == "contains":
            part = str(value).casefold()
            holds = [not is_missing(v) and part in str(plain(v)).casefold() for v in distinct]
        elif test in ("is", "is not"):
            same = [not is_missing(v) and _alike(plain(v), value) for v in distinct]
            holds = same if test == "is" else [not s for s in same]
        else:
            holds = [not is_missing(v) and _compares(plain(v), test, value) for v in distinct]
        return np.asarray(holds, dtype=bool)[which]

    def _predicted(self, answers: Values, wanted: str) -> BoolVector:
        distinct, which = _distinct(answers)
        return np.asarray([str(plain(v)) == wanted for v in distinct], dtype=bool)[which]

    def _order(self, asked: AskedRows, answers: Values, model: str) -> Counts:
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
                while len(self._orders) > _ORDERS_KEPT:
                    self._orders.popitem(last=False)
        return order[::-1] if asked.descending else order

    def _facts(self, j: int) -> ColumnFacts:
        table = self._table
        distinct, _ = _distinct(table.column(j))
        # Missing values are alike, and so one of the distinct ones at most.
        missing = [i for i in (0, len(distinct) - 1) if is_missing(distinct[i])]
        known = np.delete(distinct, missing)
        kinds = {type(plain(v)) for v in known[:_MOST_VALUES]}
        numbers = bool(kinds) and kinds <= {int, float}
        kind = "number" if numbers else "truth" if kinds == {bool} else "text"
        if table.holds_moments(j):
            kind = "moment"
        listed = table.categories(j)
        few = listed if listed is not None else known if len(known) <= _MOST_VALUES else None
        return ColumnFacts(
            name=table.names[j],
            kind=kind,
            whole=table.holds_whole_numbers(j),
            lowest=shown(known[0]) if numbers else None,
            highest=shown(known[-1]) if numbers else None,
            values=None if few is None else [shown(v) for v in few],
            missing=bool(missing),
        )


def shown(value: Any) -> Scalar:
    """A cell as JSON has it: what is missing is null."""
    if is_missing(value):
        return None
    found = plain(value)
    if isinstance(found, float) and not np.isfinite(found):
        return str(found)
    return found


def _distinct(column: Values) -> tuple[Values, Counts]:
    codes = column_codes(column)
    first = np.full(int(codes.max()) + 1, -1, dtype=np.int64)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    return column[first], codes


def _alike(cell: Scalar, value: Scalar) -> bool:
    """A form sends texts, and numbers as numbers: both find the cell that shows so."""
    return cell == value or str(cell) == str(value)


def _compares(cell: Any, test: str, value: Any) -> bool:
    try:
        return bool(cell >= value if test == "at least" else cell <= value)
    except TypeError:
        return bool(str(cell) >= str(value) if test == "at least" else str(cell) <= str(value))
