"""Dtypes: `conform` rows to a table's columns and dtypes, and cast computed values to a column's.

Two rules on purpose. Rows that a user passes are refused where a dtype cannot hold a value exactly
(`conform`): 23.5 is no integer. Values that a causal model computes are rounded (`cast_column`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.errors import InputError, SufficeError, did_you_mean
from suffice.formatting import join_first
from suffice.tables.cells import as_scalar, is_missing
from suffice.typing import BoolVector, Values

if TYPE_CHECKING:
    from suffice.tables.table import Table


def conform(
    rows: Table, like: Table, argument: str = "x", ignored: Collection[str] = ()
) -> tuple[Table | None, dict[int, SufficeError]]:
    """Return the rows with the columns, library and dtypes of `like`, and an error per bad row.

    Columns in `ignored` may be among the rows' own. The table is None where no row fits.

    >>> from suffice.tables import as_table
    >>> loans = as_table([[41, 12], [23, 0]], names=["age", "debt"])
    >>> given = as_table([[30.0, 3.0], [30.5, 3.0]], names=["age", "debt"])
    >>> table, errors = conform(given, loans)
    >>> table.native.tolist(), list(errors), errors[1].got
    ([[30, 3]], [1], "30.5 for column 'age'")
    """
    try:
        check_column_names(rows.names, like, argument, ignored)
    except InputError as error:
        return None, dict.fromkeys(range(len(rows)), error)
    chosen = rows.select([rows.names.index(name) for name in like.names])
    same = [like.same_dtype(j, chosen) for j in range(len(like.names))]
    if all(same):
        return chosen.with_labels_of(like).take(np.arange(len(rows))), {}
    parts: list[Table] = []
    errors: dict[int, SufficeError] = {}
    _conform_by_halves(chosen, like, same, argument, 0, parts, errors)
    return (parts[0].stack(*parts[1:]) if parts else None), errors


def _conform_by_halves(
    rows: Table,
    like: Table,
    same: list[bool],
    argument: str,
    first: int,
    parts: list[Table],
    errors: dict[int, SufficeError],
) -> None:
    """Cast rows a column at a time; where that fails, halves of the rows, down to the bad ones.

    A cast of a whole column is hundreds of times as fast as one per cell, and bad rows are few.
    """
    try:
        columns = [
            rows._native_column(j) if kept else like.cast_cells(j, rows.cells(j), argument)
            for j, kept in enumerate(same)
        ]
        parts.append(like._from_columns(columns))
    except SufficeError as error:
        if len(rows) == 1:
            errors[first] = error
            return
        middle = len(rows) // 2
        for start, stop in ((0, middle), (middle, len(rows))):
            half = rows.take(np.arange(start, stop))
            _conform_by_halves(half, like, same, argument, first + start, parts, errors)


def check_column_names(
    given: Sequence[str], like: Table, argument: str, ignored: Collection[str] = ()
) -> None:
    """Raise unless the names are those of `like`, each once, in any order, or in `ignored`."""
    twice = [name for name, count in Counter(given).items() if count > 1]
    if twice:
        raise InputError(argument, f"two values for {twice[0]!r}", "one value for each column")
    extra = [name for name in given if name not in like.names and name not in ignored]
    if extra:
        hint = did_you_mean(extra[0], like.names)
        got = f"extra column{'s' * (len(extra) > 1)} {join_first(map(repr, extra))}"
        raise InputError(argument, got, "the columns of data", hint)
    missing = [name for name in like.names if name not in given]
    if missing:
        raise InputError(
            argument,
            f"no value for {join_first(map(repr, missing))}",
            f"a value for each of the {len(like.names)} columns of data",
        )


def cast_numpy(values: Values, dtype: np.dtype[Any]) -> tuple[Values, BoolVector]:
    """Return values in a NumPy dtype, rounded for integers, and a mask of those that do not fit.

    >>> cast_numpy(np.array([1.4, 300.0]), np.dtype("uint8"))[1].tolist()
    [False, True]
    """
    if dtype.kind in "iu" and values.dtype.kind not in "biu":
        values = np.rint(_convert_or_nan(values, np.dtype(float)))
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        with np.errstate(invalid="ignore"):  # comparisons with NaN are false, which is right
            bad = ~((values >= limits.min) & (values <= limits.max))
        return np.where(bad, 0, values).astype(dtype), bad
    out = _convert_or_nan(values, dtype)
    if dtype.kind == "f":
        return out, np.isnan(out)
    return out, np.asarray(out != values, dtype=bool)


def cast_pandas(values: Values, dtype: Any) -> tuple[Any, BoolVector]:
    """Return values in a pandas dtype, as `cast_numpy` does; categories stay the dtype's own."""
    import pandas as pd

    if isinstance(dtype, np.dtype):
        return cast_numpy(values, dtype)
    if isinstance(dtype, pd.CategoricalDtype):
        codes = dtype.categories.get_indexer(pd.Index(values))
        return pd.Categorical.from_codes(codes, dtype=dtype), codes < 0
    if hasattr(dtype, "numpy_dtype") and dtype.kind in "iufb":
        numbers, bad = cast_numpy(values, dtype.numpy_dtype)
        return pd.array(numbers, dtype=dtype), bad
    out = pd.array(list(values), dtype=dtype)
    return out, np.asarray(out.astype(object) != values.astype(object), dtype=bool)


def cast_column(
    table: Table,
    position: int,
    values: Values,
    to_dtype: Callable[[Values], tuple[Any, Values]],
    argument: str,
) -> Any:
    """Return values in a column's dtype, integers rounded; an error names one that does not fit."""
    try:
        out, bad = to_dtype(values)
    except Exception as error:  # every library has its own class for a failed cast
        raise table.cast_error(position, values[0], argument) from error
    if bad.any():
        raise table.cast_error(position, values[np.argmax(bad)], argument)
    return out


def _convert_or_nan(values: Values, dtype: np.dtype[Any]) -> Values:
    """Return converted values; all NaN where a float dtype cannot hold one of them."""
    try:
        return values.astype(dtype)
    except (TypeError, ValueError):
        if dtype.kind != "f":
            raise
        return np.full(len(values), np.nan)


_SEQUENCE_TYPES = (list, tuple, np.ndarray)


def same_value(kept: Any, given: Any) -> bool:
    """Return whether a cast kept the value: 23.5 as an integer or a truncated text did not.

    >>> (same_value(np.float32(0.1), 0.1), same_value(23, 23.5),
    ...  same_value(Decimal("1.50"), 1.5), same_value(1, "1"))
    (True, False, True, False)
    """
    if is_missing(kept) or is_missing(given):
        return is_missing(kept) and is_missing(given)
    if isinstance(kept, _SEQUENCE_TYPES) and isinstance(given, _SEQUENCE_TYPES):
        return len(kept) == len(given) and all(map(same_value, kept, given))
    if isinstance(kept, Decimal) and isinstance(given, int | float | Decimal):
        return kept == given or (isinstance(given, float) and float(kept) == given)
    half = isinstance(kept, np.float16)
    kept, given = as_scalar(kept), as_scalar(given)
    if isinstance(kept, float) and isinstance(given, int | float):
        # Rounding to float16 or float32 is what the column's dtype means, and accepted.
        return bool(np.isclose(kept, given, rtol=1e-3 if half else 1e-6, atol=0.0))
    return bool(kept == given)


def to_timestamp(value: Any) -> Any:
    """Return a date or time, given as such or as text, as a pandas timestamp.

    Numbers are refused: libraries read 2020 as a count since 1970, each in another unit.
    """
    import pandas as pd

    if not isinstance(value, str | date | np.datetime64):
        raise TypeError("no date")
    timestamp: Any = pd.Timestamp(value)
    if timestamp is pd.NaT:
        raise ValueError("no date")
    return timestamp


def same_timestamp(kept: Any, given: Any) -> bool:
    """Return whether a cast kept a timestamp; one without a time zone is read in the column's."""
    import pandas as pd

    timestamp = pd.Timestamp(kept)
    if given.tzinfo is None and timestamp.tzinfo is not None:
        timestamp = timestamp.tz_localize(None)
    return bool(timestamp == given)
