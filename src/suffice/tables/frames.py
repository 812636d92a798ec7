"""What users bring, read once: a table of several rows, or one row in any form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from suffice.errors import InputError, did_you_mean, shorten
from suffice.tables.arrays import ArrayTable
from suffice.tables.cells import as_objects, storable
from suffice.tables.other_frames import NarwhalsTable
from suffice.tables.pandas_frames import PandasTable
from suffice.tables.table import Table, is_frame
from suffice.typing import Values
from suffice.wording import and_more

__all__ = ["as_table", "has_several_rows", "read_row"]

_TABLE = "a pandas, polars or pyarrow frame, or a two-dimensional array"
_ROW = "a mapping, a series, a one-row frame, or a list of values"


def as_table(data: Any, names: Sequence[str] | None = None, argument: str = "data") -> Table:
    """Wrap a frame or a two-dimensional array; `names` are the columns' of an array.

    >>> as_table([[1.0, 2.0], [3.0, 4.0]]).names
    ('x0', 'x1')
    """
    if isinstance(data, Table):
        return data
    table = _frame(data, argument) if is_frame(data) else _array(data, names, argument)
    twice = [name for name, count in Counter(table.names).items() if count > 1]
    if twice:
        raise InputError(
            argument, f"duplicate column name {twice[0]!r}", "distinct names", "Rename one."
        )
    if not len(table) or not table.names:
        raise InputError(argument, "no rows or no columns", "at least one of each")
    return table


def _frame(data: Any, argument: str) -> Table:
    if type(data).__module__.startswith("pandas"):
        return PandasTable(data)
    import narwhals as nw

    try:
        return NarwhalsTable(nw.from_native(data, eager_only=True))
    except (TypeError, ValueError) as error:
        raise InputError(argument, type(data).__name__, _TABLE, str(error)) from error


def _array(data: Any, names: Sequence[str] | None, argument: str) -> ArrayTable:
    if hasattr(data, "toarray"):
        raise InputError(argument, "a sparse matrix", _TABLE, f"Pass {argument}.toarray().")
    if isinstance(data, np.ma.MaskedArray):
        hint = f"Pass {argument}.filled(…) with what stands for a missing value."
        raise InputError(argument, "a masked array", _TABLE, hint)
    if isinstance(data, Mapping) or _all(Mapping, data):
        got = "a mapping" if isinstance(data, Mapping) else "a list of mappings"
        raise InputError(argument, got, _TABLE, f"Pass pandas.DataFrame({argument}).")
    try:
        array = np.asarray(data)
    except ValueError as error:  # ragged lists
        lengths = sorted({len(row) for row in data if isinstance(row, Sequence | np.ndarray)})
        got = f"rows of {and_more(map(str, lengths))} values" if lengths else type(data).__name__
        raise InputError(argument, got, f"{_TABLE}, with as many values in each row") from error
    if not array.ndim:
        raise InputError(argument, data, _TABLE)
    if array.ndim != 2:
        raise InputError(argument, f"an array of {array.ndim} dimension(s)", _TABLE)
    if array.dtype.kind in "US" and not isinstance(data, np.ndarray):
        # NumPy would turn the numbers beside texts into texts.
        array = np.stack([as_objects(list(row)) for row in data])
    names = names or [f"x{j}" for j in range(array.shape[1])]
    if len(names) != array.shape[1]:
        got = f"an array of {array.shape[1]} columns"
        allowed = f"an array of {len(names)} columns: {and_more(names)}"
        raise InputError(argument, got, allowed)
    return ArrayTable(array, names)


def read_row(row: Any, like: Table, argument: str = "x", ignored: Collection[str] = ()) -> Table:
    """One row given in any form, with the columns and dtypes of a table.

    Columns named in `ignored` may be there or not.

    >>> loans = as_table([[41, 12.5], [23, 0.0]], names=["age", "debt"])
    >>> read_row({"debt": 3, "age": 30, "name": "A."}, loans, ignored=["name"]).native.tolist()
    [[30.0, 3.0]]
    """
    given = _pairs(row, like.names, argument)
    values = dict(given)
    twice = [name for name, count in Counter(name for name, _ in given).items() if count > 1]
    if twice:
        raise InputError(argument, f"two values for {twice[0]!r}", "one value for each column")
    extra = [name for name in values if name not in like.names and name not in ignored]
    if extra:
        hint = did_you_mean(extra[0], like.names)
        got = f"extra column{'s' * (len(extra) > 1)} {and_more(map(repr, extra))}"
        raise InputError(argument, got, "the columns of data", hint)
    missing = [name for name in like.names if name not in values]
    if missing:
        raise InputError(
            argument,
            f"no value for {and_more(map(repr, missing))}",
            f"a value for each of the {len(like.names)} columns of data",
        )
    if is_frame(row):  # as it is, where nothing has to be cast
        table = as_table(row, argument=argument)
        chosen = table.select([table.names.index(name) for name in like.names])
        same = like.same_kind(chosen)
        if same and all(like.same_dtype(j, chosen) for j in range(len(like.names))):
            return chosen.labelled_like(like).take(np.array([0]))
    return like.one([values[name] for name in like.names], argument)


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


def _pairs(row: Any, names: Sequence[str], argument: str) -> list[tuple[str, Any]]:
    """A row's columns and values, each column as often as it is given."""
    if isinstance(row, Mapping):
        return [(storable(name), value) for name, value in row.items()]
    if is_frame(row):
        if len(row) != 1:
            raise _not_one_row(len(row), argument)
        table = _frame(row, argument)
        return [(name, table.cell(0, j)) for j, name in enumerate(table.names)]
    import pandas as pd

    if isinstance(row, pd.Series):
        return [(storable(name), value) for name, value in row.items()]
    values = _values(row, len(names), argument)
    if len(values) != len(names):
        raise InputError(
            argument,
            f"{len(values)} values",
            f"one value for each of the {len(names)} columns of data",
            "Pass a mapping or a one-row frame to name them.",
        )
    return list(zip(names, values, strict=True))


def _values(row: Any, width: int, argument: str) -> Sequence[Any]:
    """The values of a row that names none; a table of one row is that row."""
    if isinstance(row, list | tuple):
        rows = _all(list | tuple | np.ndarray, row)
        if rows and len(row) == 1:
            return list(row[0])
        if rows and all(len(values) == width for values in row):
            raise _not_one_row(len(row), argument)
        return row
    values: Values = np.asarray(row, dtype=object)
    if values.ndim == 2:
        if len(values) != 1:
            raise _not_one_row(len(values), argument)
        values = values[0]
    if values.ndim != 1:
        raise InputError(argument, shorten(row), _ROW)
    return list(values)


def _all(kind: Any, things: Any) -> bool:
    if not isinstance(things, list | tuple) or not things:
        return False
    return all(isinstance(thing, kind) for thing in things)


def _not_one_row(n: int, argument: str) -> InputError:
    return InputError(
        argument, f"{n} rows", "exactly one row", "explain_many takes several at once."
    )
