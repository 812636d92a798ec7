"""Conversion of input (frame, array, mapping, list) to a table or a row; CSV without formulas."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from suffice.errors import InputError, short_repr
from suffice.formatting import join_first, plural
from suffice.tables.backends import ArrayTable, NarwhalsTable, PandasTable
from suffice.tables.cells import object_array, utf8_text
from suffice.tables.table import Table, check_column_names, conform, is_frame
from suffice.typing import Values

_TABLE_FORMS = "a pandas, polars or pyarrow frame, or a two-dimensional array"
_ROW_FORMS = "a mapping, a series, a one-row frame, or a list of values"


def as_table(data: Any, names: Sequence[str] | None = None, argument: str = "data") -> Table:
    """Return a frame or a two-dimensional array as a table; `names` name an array's columns.

    >>> as_table([[1.0, 2.0], [3.0, 4.0]]).names
    ('x0', 'x1')
    """
    if isinstance(data, Table):
        return data
    table = _wrap_frame(data, argument) if is_frame(data) else _wrap_array(data, names, argument)
    twice = [name for name, count in Counter(table.names).items() if count > 1]
    if twice:
        raise InputError(
            argument, f"duplicate column name {twice[0]!r}", "distinct names", "Rename one."
        )
    if not len(table) or not table.names:
        raise InputError(argument, "no rows or no columns", "at least one of each")
    return table


def _wrap_frame(data: Any, argument: str) -> Table:
    if type(data).__module__.startswith("pandas"):
        for name in data.columns:
            if not isinstance(name, Hashable):
                hint = "pandas itself cannot find such a column."
                raise InputError(argument, f"a column called {short_repr(name)}", "names", hint)
        return PandasTable(data)
    import narwhals as nw

    try:
        return NarwhalsTable(nw.from_native(data, eager_only=True))
    except (TypeError, ValueError) as error:
        raise InputError(argument, type(data).__name__, _TABLE_FORMS, str(error)) from error


def _wrap_array(data: Any, names: Sequence[str] | None, argument: str) -> ArrayTable:
    if hasattr(data, "toarray"):
        raise InputError(argument, "a sparse matrix", _TABLE_FORMS, f"Pass {argument}.toarray().")
    if isinstance(data, np.ma.MaskedArray):
        hint = f"Pass {argument}.filled(value), with a value for missing cells."
        raise InputError(argument, "a masked array", _TABLE_FORMS, hint)
    if isinstance(data, Mapping) or _all_of_type(Mapping, data):
        got = "a mapping" if isinstance(data, Mapping) else "a list of mappings"
        raise InputError(argument, got, _TABLE_FORMS, f"Pass pandas.DataFrame({argument}).")
    try:
        array = np.asarray(data)
    except ValueError as error:  # ragged lists
        lengths = sorted({len(row) for row in data if isinstance(row, Sequence | np.ndarray)})
        got = f"rows of {join_first(map(str, lengths))} values" if lengths else type(data).__name__
        raise InputError(
            argument, got, f"{_TABLE_FORMS}, with as many values in each row"
        ) from error
    if not array.ndim:
        raise InputError(argument, data, _TABLE_FORMS)
    if array.ndim != 2:
        raise InputError(argument, f"an array of {plural(array.ndim, 'dimension')}", _TABLE_FORMS)
    if array.dtype.kind in "US" and not isinstance(data, np.ndarray):
        # NumPy has turned numbers beside texts into texts.
        array = np.stack([object_array(list(row)) for row in data])
    names = names or [f"x{j}" for j in range(array.shape[1])]
    if len(names) != array.shape[1]:
        got = f"an array of {array.shape[1]} columns"
        allowed = f"an array of {len(names)} columns: {join_first(names)}"
        raise InputError(argument, got, allowed)
    return ArrayTable(array, names)


def read_row(row: Any, like: Table, argument: str = "x", ignored: Collection[str] = ()) -> Table:
    """Return one row, given in any form, as a table with the columns and dtypes of another.

    Columns in `ignored` may be among the row's own.

    >>> loans = as_table([[41, 12.5], [23, 0.0]], names=["age", "debt"])
    >>> read_row({"debt": 3, "age": 30, "name": "A."}, loans, ignored=["name"]).native.tolist()
    [[30.0, 3.0]]
    """
    if is_frame(row):
        if len(row) != 1:
            raise _several_rows_error(len(row), argument)
        table, errors = conform(_wrap_frame(row, argument), like, argument, ignored)
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
        rows = _all_of_type(list | tuple | np.ndarray, row)
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


def _all_of_type(kind: Any, things: Any) -> bool:
    if not isinstance(things, list | tuple) or not things:
        return False
    return all(isinstance(thing, kind) for thing in things)


def _several_rows_error(n: int, argument: str) -> InputError:
    hint = "Pass one row at a time; explain_many explains several."
    return InputError(argument, f"{n} rows", "exactly one row", hint)


_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def as_csv(frame: Any) -> str:
    """Return a frame as CSV in which a spreadsheet takes no cell or heading for a formula.

    Texts that start like a formula get a leading apostrophe (CSV injection); numbers stay. Texts
    are quoted where one has a carriage return: `csv` quotes only the line ends that it writes, but
    readers take any as the end of a row, and what follows as a cell.

    >>> import pandas as pd
    >>> print(as_csv(pd.DataFrame({"name": ["=1+1", "Ann"], "debt": [-2, 3]})))
    name,debt
    '=1+1,-2
    Ann,3
    """
    texts = [_escape_formula(name) for name in frame.columns]
    escaped = frame.set_axis(texts, axis=1)
    for j, dtype in enumerate(frame.dtypes):
        if dtype.kind == "O":  # texts, also of a category or of a string dtype
            cells = [_escape_formula(cell) for cell in frame.iloc[:, j]]
            escaped.isetitem(j, object_array(cells))
            texts += cells
    returns = any(isinstance(text, str) and "\r" in text for text in texts)
    quoting = csv.QUOTE_NONNUMERIC if returns else csv.QUOTE_MINIMAL
    text: str = escaped.to_csv(index=False, lineterminator="\n", quoting=quoting)
    return text


def _escape_formula(cell: Any) -> Any:
    return f"'{cell}" if isinstance(cell, str) and cell[:1] in _FORMULA_STARTS else cell
