"""Conversion of frames and arrays of any library to a `Table`; CSV without formulas."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from suffice.errors import InputError, short_repr
from suffice.formatting import join_first, plural
from suffice.tables.backends import ArrayTable, NarwhalsTable, PandasTable
from suffice.tables.cells import object_array
from suffice.tables.table import Table, all_of_type, is_frame

_TABLE_FORMS = "a pandas, polars or pyarrow frame, or a two-dimensional array"


def as_table(data: Any, names: Sequence[str] | None = None, argument: str = "data") -> Table:
    """Return a frame or a two-dimensional array as a table; `names` name an array's columns.

    >>> as_table([[1.0, 2.0], [3.0, 4.0]]).names
    ('x0', 'x1')
    """
    if isinstance(data, Table):
        return data
    table = wrap_frame(data, argument) if is_frame(data) else _wrap_array(data, names, argument)
    twice = [name for name, count in Counter(table.names).items() if count > 1]
    if twice:
        raise InputError(
            argument, f"duplicate column name {twice[0]!r}", "distinct names", "Rename one."
        )
    if not len(table) or not table.names:
        raise InputError(argument, "no rows or no columns", "at least one of each")
    return table


def wrap_frame(data: Any, argument: str) -> Table:
    """Return a frame of any library as a table, unchecked but for names that pandas cannot find."""
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
    if isinstance(data, Mapping) or all_of_type(Mapping, data):
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
