"""One cell: how it is shown and stored, whether it is missing, and whether two are the same."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from decimal import Decimal
from math import isfinite
from typing import Any

import numpy as np

from suffice.typing import Scalar, Values

__all__ = ["as_moment", "as_objects", "is_missing", "plain", "same", "storable"]


_SEQUENCE = (list, tuple, np.ndarray)


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
    return storable(str(value.tolist() if isinstance(value, np.ndarray) else value))


def storable(text: str) -> str:
    r"""The text with lone surrogates, which no file can hold, written out as escapes.

    >>> storable("a\ud800b")
    'a\\ud800b'
    """
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


def same(kept: Any, given: Any) -> bool:
    """Did a cast keep the value? 23.5 in a column of whole numbers, or a text cut short, did not.

    >>> same(np.float32(0.1), 0.1), same(23, 23.5), same(Decimal("1.50"), 1.5), same(1, "1")
    (True, False, True, False)
    """
    if is_missing(kept) or is_missing(given):
        return is_missing(kept) and is_missing(given)
    if isinstance(kept, _SEQUENCE) and isinstance(given, _SEQUENCE):
        return len(kept) == len(given) and all(map(same, kept, given))
    if isinstance(kept, Decimal) and isinstance(given, int | float | Decimal):
        return kept == given or (isinstance(given, float) and float(kept) == given)
    half = isinstance(kept, np.float16)
    kept, given = plain(kept), plain(given)
    if isinstance(kept, float) and isinstance(given, int | float):
        # A float16 or float32 column rounds what it is given: its dtype's doing, not a misfit.
        return bool(np.isclose(kept, given, rtol=1e-3 if half else 1e-6, atol=0.0))
    return bool(kept == given)


def as_moment(value: Any) -> Any:
    """A date or time, given as such or as text, for a column of them.

    Numbers are refused: a library would count 2020 from the year 1970 on, in a unit of its own.
    """
    import pandas as pd

    if not isinstance(value, str | date | np.datetime64):
        raise TypeError("no date")
    moment: Any = pd.Timestamp(value)
    if moment is pd.NaT:
        raise ValueError("no date")
    return moment


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
