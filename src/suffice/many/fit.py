"""Slices of a streamed table, with the same dtypes in every one: those of the data explained from.

A file knows less than a table. A column of whole numbers comes as floats from the slice in which
one is missing, a category with the values of that slice only, and in a CSV file everything is text.
So the data says what each column is. A cell that cannot be that stays what it is: the column
becomes one of objects, and reading that one row tells what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from suffice.tables import PandasTable, Table
from suffice.tables.cells import is_missing
from suffice.tables.table import as_moment, same, same_moment
from suffice.typing import Values

__all__ = ["fitted", "parsed"]


def fitted(rows: Table, like: Table) -> Table:
    """These rows with the dtypes that their columns have in `like`, wherever all cells fit them.

    Of frames of other libraries, and of arrays, each row is fitted as it is read.

    >>> import pandas as pd
    >>> data = PandasTable(pd.DataFrame({"age": [41, 23]}))
    >>> fitted(PandasTable(pd.DataFrame({"age": [30.0, 50.0]})), data).dtype(0)
    'int64'
    >>> fitted(PandasTable(pd.DataFrame({"age": [30.0, None]})), data).native["age"].tolist()
    [30.0, nan]
    """
    if not isinstance(rows, PandasTable) or not isinstance(like, PandasTable):
        return rows
    frame = rows.native.copy(deep=False)
    kinds = dict(zip(like.names, like.native.dtypes, strict=True))
    for j, name in enumerate(rows.names):
        if name in kinds:
            frame.isetitem(j, _cast(frame.iloc[:, j], kinds[name]))
    return PandasTable(frame)


def _cast(column: Any, dtype: Any) -> Any:
    import pandas as pd

    categories = isinstance(dtype, pd.CategoricalDtype)
    if column.dtype == dtype and not categories:
        return column
    if categories and isinstance(column.dtype, pd.CategoricalDtype):
        if list(column.dtype.categories) == list(dtype.categories) and column.dtype == dtype:
            return column
        column = column.astype(object)
    if dtype.kind == "M" and column.dtype.kind != "M":
        return _moments(column, dtype)
    try:
        cast = column.astype(dtype)
    except Exception:  # every dtype has its own class for a failed cast
        return column.astype(object)
    kept = all(map(same, cast.astype(object), column.astype(object)))
    return cast if kept else column.astype(object)


def _moments(column: Any, dtype: Any) -> Any:
    """Dates given as such or as text; numbers are none."""
    import pandas as pd

    given = column.astype(object)
    try:
        moments = [pd.NaT if is_missing(value) else as_moment(value) for value in given]
        cast = pd.Series(moments, index=column.index, dtype=dtype)
    except Exception:  # as above
        return given
    kept = all(m is pd.NaT or same_moment(c, m) for c, m in zip(cast, moments, strict=True))
    return cast if kept else given


def parsed(texts: Any, like: Table, position: int) -> Any:
    """The cells of a CSV column as what the column holds in `like`; what cannot be, stays text.

    >>> import pandas as pd
    >>> data = PandasTable(pd.DataFrame({"age": [41, 23], "own": [True, False]}))
    >>> parsed(pd.Series(["30", "old", None]), data, 0).tolist()
    [30, 'old', None]
    >>> parsed(pd.Series(["True", "false"]), data, 1).tolist()
    [True, False]
    """
    known = like.categories(position)
    if known is not None:
        return _each(texts, {str(value): value for value in known}.get)
    values = like.column(position)
    if _are_truths(values):
        return _each(texts, _TRUTH.get)
    if like.holds_moments(position) or values.dtype.kind not in "iuf":
        return texts
    if like.holds_whole_numbers(position):
        return _each(texts, _whole)
    try:  # Python would read a number where "_" is between its digits
        if not texts.str.contains("_", regex=False).any():
            return texts.astype("float64")
    except ValueError:
        pass
    return _each(texts, _number)


def _are_truths(values: Values) -> bool:
    """Also of a column of objects, as truth values are where one is missing."""
    if values.dtype.kind != "O":
        return values.dtype.kind == "b"
    return {type(value) for value in values.tolist() if value is not None} == {bool}


_TRUTH = {"True": True, "TRUE": True, "true": True, "False": False, "FALSE": False, "false": False}


def _each(texts: Any, read: Callable[[str], Any]) -> Any:
    import pandas as pd

    def cell(text: Any) -> Any:
        if not isinstance(text, str):  # a missing value
            return None
        value = read(text)
        return text if value is None else value

    return pd.Series([cell(text) for text in texts], index=texts.index, dtype=object)


def _number(text: str) -> float | None:
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


def _whole(text: str) -> int | float | None:
    try:
        return None if "_" in text else int(text)
    except ValueError:
        return _number(text)
