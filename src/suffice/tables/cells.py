"""A cell: how it is shown and stored, whether it is missing, and which cells are the same.

Cells are told apart by numbers that are equal exactly where a model could not tell two of them
apart. So 0.0 is not -0.0, 1 is not True, and 1.0 is not 1 where a column holds both. All missing
values are one. Larger values have larger numbers, missing ones the largest.

Rows of such numbers are told apart by one number each. Equal ones are found by a hash table, since
a sort takes six times as long.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from math import isfinite
from typing import Any

import numpy as np

from suffice.typing import Counts, Scalar, Values

__all__ = [
    "as_objects",
    "column_codes",
    "distinct_rows",
    "first_seen",
    "is_missing",
    "joint_codes",
    "plain",
    "storable",
]

_SAME_WHERE_EQUAL = frozenset({str, np.str_, int, bool, bytes, date})
"""Types whose equal values nothing can tell apart. Not floats (0.0 is -0.0), Decimals (1.0 is 1.00)
or points in time (one instant has many time zones)."""
_COMPARABLE = (int, float, np.floating, Decimal), (datetime,), (time,), (timedelta,)
"""Values of these types have an order among themselves."""


def plain(value: Any) -> Scalar:
    r"""A cell as it is shown and stored: no library's own types, missing as None.

    >>> plain(np.float64(2.0)), plain(float("nan")), plain(np.str_("own")), plain([1, 2])
    (2.0, None, 'own', '[1, 2]')
    """
    if isinstance(value, np.datetime64 | np.timedelta64 | date | timedelta):
        return _moment_in_words(value)
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, bool | int):
        return value
    if is_missing(value):
        return None
    if isinstance(value, float):
        return value if isfinite(value) else str(value)
    return storable(value.tolist() if isinstance(value, np.ndarray) else value)


def storable(given: object) -> str:
    r"""As text, with lone surrogates, which no file can hold, written out as escapes.

    >>> storable("a\ud800b"), storable(1)
    ('a\\ud800b', '1')
    """
    try:
        text = str(given)
    except Exception:  # an object whose own repr raises
        text = object.__repr__(given)
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def is_missing(value: Any) -> bool:
    """Is it None, NaN, NaT, pandas' NA or a Decimal that is no number?

    >>> is_missing(None), is_missing(Decimal("sNaN")), is_missing(""), is_missing([None])
    (True, True, False, False)
    """
    if value is None:
        return True
    if isinstance(value, str | bytes | bool | int):
        return False
    if isinstance(value, Decimal):  # a signalling one raises when it is compared
        return value.is_nan()
    if isinstance(value, float):
        return value != value
    import pandas as pd

    found = pd.isna(value)
    return isinstance(found, bool | np.bool_) and bool(found)


def as_objects(cells: Sequence[Any]) -> Values:
    """Cells as an array of objects, which are what they were: NumPy would take lists apart."""
    return np.fromiter(cells, dtype=object, count=len(cells))


def _moment_in_words(value: Any) -> str | None:
    """A date in ISO's form, or a duration."""
    import pandas as pd

    try:
        if isinstance(value, np.datetime64):
            value = pd.Timestamp(value)
        elif isinstance(value, np.timedelta64 | timedelta):
            value = pd.Timedelta(value)
    except (ValueError, OverflowError):  # a year beyond what pandas can count
        return str(value)
    if value is pd.NaT:
        return None
    return str(value.isoformat() if isinstance(value, date) else value)


def column_codes(values: Values) -> Counts:
    """Number the distinct values so that order is kept; missing values are equal to each other.

    >>> column_codes(np.array(["b", "a", "b"])).tolist()
    [1, 0, 1]
    >>> column_codes(np.array([0.0, -0.0, np.nan, 7.0, np.nan])).tolist()
    [1, 0, 3, 2, 3]
    """
    array = np.asarray(values)
    if array.dtype.kind not in "biufmM" or array.dtype.itemsize > 8:
        return _object_codes(array.tolist())
    import pandas as pd

    # A hash table, and a sort of what is distinct: sorting all takes six times as long.
    codes, distinct = pd.factorize(array, use_na_sentinel=False)
    order = np.argsort(distinct, kind="stable")
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    found = np.asarray(rank[codes])
    return _with_signs(array, found) if array.dtype.kind == "f" else found


def _with_signs(values: Values, codes: Counts) -> Counts:
    """Tell 0.0 from -0.0, which are equal and so have one number, where both occur."""
    if np.count_nonzero(values) == len(values):
        return codes
    zero = values == 0
    negative = zero & np.signbit(values)
    if not negative.any() or (negative == zero).all():
        return codes
    return np.asarray(codes + ((codes >= codes[zero.argmax()]) & ~negative))


def _object_codes(cells: list[Any]) -> Counts:
    """A dictionary serves: strings keep their hash, and few are distinct."""
    kinds = set(map(type, cells))
    if not (len(kinds) == 1 and kinds <= _SAME_WHERE_EQUAL):
        cells = [None if is_missing(cell) else cell for cell in cells]
        kinds = set(map(type, cells)) - {type(None)}
        if kinds and kinds <= {float, np.float64}:
            return column_codes(np.array(cells, dtype=float))
        if not (len(kinds) == 1 and kinds <= _SAME_WHERE_EQUAL):
            return _told_apart(cells)
    distinct = set(cells)
    ordered = [*sorted(distinct - {None}), None] if None in distinct else sorted(distinct)
    number = dict(zip(ordered, range(len(ordered)), strict=True))
    return np.fromiter(map(number.__getitem__, cells), np.int64, len(cells))


def _told_apart(cells: list[Any]) -> Counts:
    """The same for cells of several types, or of types whose equal values may differ."""
    keys = [None if cell is None else (_identity(cell), _hashable(cell)) for cell in cells]
    distinct = {key: cell for key, cell in zip(keys, cells, strict=True) if key is not None}
    order = sorted(distinct, key=lambda key: key[0])
    if any(all(isinstance(c, kind) for c in distinct.values()) for kind in _COMPARABLE):
        with suppress(TypeError):  # times with a zone and times without have no order
            order = sorted(order, key=distinct.__getitem__)
    number: dict[Hashable, int] = {key: i for i, key in enumerate(order)} | {None: len(order)}
    return np.fromiter(map(number.__getitem__, keys), np.int64, len(keys))


def _identity(cell: Any) -> str:
    """What a cell is, in full; containers by what they hold, since NumPy would cut them short."""
    if isinstance(cell, np.generic) and cell.dtype.kind in "biufU":
        cell = cell.item()
    kind = type(cell).__name__
    if isinstance(cell, dict):
        return f"{kind} {[(_identity(k), _identity(v)) for k, v in cell.items()]}"
    if isinstance(cell, set | frozenset):
        return f"{kind} {sorted(map(_identity, cell))}"
    if isinstance(cell, np.ndarray):
        return f"{kind} {cell.dtype} {cell.shape} {_identity(cell.tolist())}"
    if isinstance(cell, list | tuple):
        return f"{kind} {[_identity(c) for c in cell]}"
    try:
        return f"{kind} {cell!r}"
    except Exception:  # a repr of the user's own that raises
        return f"{kind} {object.__repr__(cell)}"


def _hashable(cell: Any) -> Hashable:
    """The cell itself beside what it says it is, which may not be all; None where it cannot be."""
    try:
        hash(cell)
    except TypeError:
        return None
    return None if isinstance(cell, tuple | frozenset) else cell  # (1,) equals (True,)


def first_seen(keys: Counts) -> tuple[Counts, Counts]:
    """Number the distinct keys in order of appearance; also where each appears first.

    >>> [array.tolist() for array in first_seen(np.array([7, 5, 7, 5, 9]))]
    [[0, 1, 0, 1, 2], [0, 1, 4]]
    """
    import pandas as pd

    identity, distinct = pd.factorize(keys)
    first = np.empty(len(distinct), dtype=np.int64)
    first[identity[::-1]] = np.arange(len(keys) - 1, -1, -1)
    return identity, first


def distinct_rows(codes: Counts) -> tuple[Counts, Counts]:
    """The same for rows of whole numbers >= 0."""
    return first_seen(joint_codes(codes))


def joint_codes(columns: Counts) -> Counts:
    """One number per row, equal exactly where rows are.

    As many columns as fit are joined in one integer, which is then made small again: no product
    leaves int64.
    """
    import pandas as pd

    key, room = np.zeros(len(columns), dtype=np.int64), 1
    for column in columns.T:
        digits = column - column.min(initial=0)
        size = int(digits.max(initial=0)) + 1
        if room * size >= 2**62:
            key, digits = (pd.factorize(part)[0].astype(np.int64) for part in (key, digits))
            size, room = int(digits.max(initial=0)) + 1, len(columns)
        key, room = key * size + digits, room * size
    return key
