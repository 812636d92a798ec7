"""What groups and decisions are called: one way for all audits, which loses nothing.

A name tells apart whatever differs: numbers are written with all their digits, texts as they are.
Rounding and cutting are for showing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from suffice.checks import ran
from suffice.errors import InputError, did_you_mean
from suffice.explanation import Explanation
from suffice.tables import Table, plain
from suffice.tables.cells import is_missing
from suffice.typing import Scalar
from suffice.wording import and_more

__all__ = ["By", "RowsBy", "grouping", "label_of", "labels_of", "names_of", "names_of_rows"]

By = str | Callable[[Explanation], Any] | Sequence[Any] | None
"""How decisions are told apart: a column of the input, a function of the explanation, or a label
for each."""

RowsBy = str | Callable[[Mapping[str, Any]], Any] | Sequence[Any] | None
"""How rows are told apart: a column of the table, whether or not the model knows it; a function of
the row's values by column; or a label for each row."""

_MOST = 50


class _Decision(Protocol):
    """As much of a decision as its group is found by."""

    number: int

    @property
    def explanation(self) -> Explanation: ...

    @property
    def inputs(self) -> Mapping[str, Scalar]: ...


def label_of(value: Any) -> str:
    """A group's or a decision's name; whatever is missing is a group, too.

    >>> label_of("own"), label_of(True), label_of(1.0), label_of(123456.71), label_of(float("nan"))
    ('own', 'yes', '1', '123456.71', 'missing')
    """
    known = plain(value)
    if known is None:
        return "missing"
    if isinstance(known, bool):
        return "yes" if known else "no"
    if isinstance(known, float):
        return repr(known + 0.0).removesuffix(".0")  # -0.0 is 0.0
    return str(known)


def grouping(by: By, n: int) -> Callable[[_Decision], str | None]:
    """How the group of one of n decisions is found; None where none was asked for."""
    if by is None:
        return lambda known: None
    if isinstance(by, str):
        column = by

        def value_of(known: _Decision) -> str:
            values = known.inputs
            if column not in values:
                allowed = f"a column of the inputs: {and_more(map(repr, values))}"
                raise InputError("by", repr(column), allowed)
            return label_of(values[column])

        return value_of
    if callable(by):
        ask, what = by, "a function of an explanation"
        return lambda known: label_of(ran("by", ask, what, known.explanation))
    also = "a column of the inputs, a function of an explanation, or labels, "
    labels = _one_each("by", by, n, "decisions", also)
    return lambda known: label_of(labels[known.number])


def labels_of(by: RowsBy, table: Table) -> list[str | None]:
    """The group of each row; all None where none was asked for."""
    if by is None:
        return [None] * len(table)
    found = [label_of(group) for group in _groups(by, table)]
    groups = len(set(found))
    if groups > _MOST:
        hint = "A function makes fewer: by=lambda row: row['age'] >= 40."
        raise InputError("by", f"{groups:,} groups", f"at most {_MOST}", hint)
    return [*found]


def _groups(by: Any, table: Table) -> Iterable[Any]:
    if isinstance(by, str):
        if by not in table.names:
            hint = did_you_mean(by, table.names)
            raise InputError("by", repr(by), "a column of X, a function, or labels", hint)
        return table.column(table.names.index(by))
    if callable(by):
        columns = [table.column(j) for j in range(len(table.names))]
        rows = (
            dict(zip(table.names, map(plain, cells), strict=True))
            for cells in zip(*columns, strict=True)
        )
        allowed = "a function of a row, {column: value}, that gives its group"
        return [ran("by", by, allowed, row, about=f"for row {i}") for i, row in enumerate(rows)]
    return _one_each("by", by, len(table), "rows", "a column of X, a function, or labels, ")


def names_of(decisions: Sequence[Any], ids: Sequence[Any] | None) -> list[str]:
    """What each decision is called: as it was given, as it was stored, else its number."""
    if ids is not None:
        return _names(ids, len(decisions), "decisions")
    return [label_of(name) for name in getattr(decisions, "ids", range(len(decisions)))]


def names_of_rows(ids: Sequence[Any] | None, n: int) -> list[str]:
    """What each row is called: as it was given, or its number."""
    return _names(range(n) if ids is None else ids, n, "rows")


def _names(ids: Any, n: int, of: str) -> list[str]:
    given = _one_each("ids", ids, n, of, "None, or names, ")
    if any(map(is_missing, given)):
        raise InputError("ids", "no name for some of them", f"one for each of the {n:,} {of}")
    return [label_of(name) for name in given]


def _one_each(argument: str, given: Any, n: int, of: str, also: str) -> list[Any]:
    """As many as there are of them."""
    each = f"one for each of the {n:,} {of}"
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        got = repr(given) if isinstance(given, str) else given
        raise InputError(argument, got, f"{also}{each}")
    found = list(np.atleast_1d(given) if isinstance(given, np.ndarray) else given)
    if len(found) != n:
        what = "names" if argument == "ids" else "labels"
        raise InputError(argument, f"{len(found):,} {what}", each)
    return found
