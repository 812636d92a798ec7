"""Casting computed values to the dtype of the column they are written into."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.typing import BoolVector, Values

if TYPE_CHECKING:
    from suffice.tables.table import Table

__all__ = ["cast", "cast_pandas", "fitting"]


def cast(values: Values, dtype: np.dtype[Any]) -> tuple[Values, BoolVector]:
    """Values of a numpy dtype, and where they do not fit it; integers are rounded to.

    >>> cast(np.array([1.4, 300.0]), np.dtype("uint8"))[1].tolist()
    [False, True]
    """
    if dtype.kind in "iu" and values.dtype.kind not in "biu":
        values = np.rint(_converted(values, np.dtype(float)))
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        with np.errstate(invalid="ignore"):  # comparisons with NaN are false, which is right
            bad = ~((values >= limits.min) & (values <= limits.max))
        return np.where(bad, 0, values).astype(dtype), bad
    out = _converted(values, dtype)
    if dtype.kind == "f":
        return out, np.isnan(out)
    return out, np.asarray(out != values, dtype=bool)


def cast_pandas(values: Values, dtype: Any) -> tuple[Any, BoolVector]:
    """The same for a pandas dtype; categories keep theirs."""
    import pandas as pd

    if isinstance(dtype, np.dtype):
        return cast(values, dtype)
    if isinstance(dtype, pd.CategoricalDtype):
        codes = dtype.categories.get_indexer(pd.Index(values))
        return pd.Categorical.from_codes(codes, dtype=dtype), codes < 0
    if hasattr(dtype, "numpy_dtype") and dtype.kind in "iufb":
        numbers, bad = cast(values, dtype.numpy_dtype)
        return pd.array(numbers, dtype=dtype), bad
    out = pd.array(list(values), dtype=dtype)
    return out, np.asarray(out.astype(object) != values.astype(object), dtype=bool)


def fitting(
    table: Table,
    position: int,
    values: Values,
    to_dtype: Callable[[Values], tuple[Any, Values]],
    argument: str,
) -> Any:
    """Values in the column's dtype, or an error that shows one that does not fit."""
    try:
        out, bad = to_dtype(values)
    except Exception as error:  # every library has its own class for a failed cast
        raise table.misfit(position, values[0], argument) from error
    if bad.any():
        raise table.misfit(position, values[np.argmax(bad)], argument)
    return out


def _converted(values: Values, dtype: np.dtype[Any]) -> Values:
    """Convert all, or nothing: text that is no number becomes NaN."""
    try:
        return values.astype(dtype)
    except (TypeError, ValueError):
        if dtype.kind != "f":
            raise
        return np.full(len(values), np.nan)
