"""Which group each row of a table belongs to: by a column, a function of the row, or a label."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from suffice.checks import ran
from suffice.errors import InputError, did_you_mean
from suffice.tables import Table, plain
from suffice.wording import show

__all__ = ["RowsBy", "labels_of", "names_of_rows"]

RowsBy = str | Callable[[Mapping[str, Any]], Any] | Sequence[Any] | None
"""How rows are told apart: a column of the table, whether or not the model knows it; a function of
the row's values by column; or a label for each row."""

_MOST = 50


def labels_of(by: RowsBy, table: Table) -> list[str | None]:
    """Each row's group, in words; all None where none was asked for."""
    if by is None:
        return [None] * len(table)
    found = [show(plain(label)) for label in _groups(by, table)]
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
    return _listed("by", by, len(table), "a column of X, a function, or")


def names_of_rows(ids: Sequence[Any] | None, n: int) -> list[str]:
    """What each row is called: as it was given, or its number."""
    if ids is None:
        return [str(number) for number in range(n)]
    return [show(plain(name)) for name in _listed("ids", ids, n, "None or")]


def _listed(argument: str, given: Any, n: int, also: str) -> list[Any]:
    """One thing for each row."""
    allowed = f"{also} one for each of the {n:,} rows"
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise InputError(argument, repr(given) if isinstance(given, str) else given, allowed)
    found = list(np.atleast_1d(given) if isinstance(given, np.ndarray) else given)
    if len(found) != n:
        raise InputError(argument, f"{len(found):,} labels", allowed)
    return found
