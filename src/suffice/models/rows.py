"""Rows as other libraries take them: cut into batches, or as one array of numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from suffice.errors import InputError, shorten
from suffice.tables.frames import as_table
from suffice.typing import Values

__all__ = ["as_numbers", "batches", "columns_as_numbers", "to_pandas"]

_HINT = (
    "Pass suffice.adapt(model, preprocess=…), a function that turns rows into what the model takes."
)


def batches(rows: Any, size: int | None) -> Iterator[Any]:
    """Rows of any kind (frame, array, list), at most `size` at a time."""
    n = len(rows)
    if size is None or n <= size:
        yield rows
        return
    for start in range(0, n, size):
        if hasattr(rows, "iloc"):
            yield rows.iloc[start : start + size]
        elif hasattr(rows, "slice"):  # polars and pyarrow: from where, and how many
            yield rows.slice(start, min(size, n - start))
        else:
            yield rows[start : start + size]


def as_numbers(rows: Any, dtype: Any = np.float64) -> Values:
    """(rows, columns) of floats, or pictures as they are; an error names a column of no numbers."""
    if isinstance(rows, np.ndarray) and rows.ndim >= 2 and rows.dtype.kind in "biuf":
        return rows.astype(dtype)  # a copy: models may write into it
    return np.stack(columns_as_numbers(rows), axis=1).astype(dtype)


def columns_as_numbers(rows: Any) -> list[Values]:
    """One array of numbers per column, missing values as NaN."""
    if isinstance(rows, list) and rows and isinstance(rows[0], str):
        raise InputError("data", "texts", "columns of numbers for this model", _HINT)
    table = as_table(rows)
    return [_numbers(table.column(j), name) for j, name in enumerate(table.names)]


def _numbers(values: Values, name: str) -> Values:
    if values.dtype.kind in "biuf":
        return values
    if values.dtype == object:
        plain = np.asarray([np.nan if v is None else v for v in values.tolist()])
        if plain.dtype.kind in "biuf":
            return plain
    example = next((v for v in values.tolist() if not isinstance(v, int | float)), None)
    got = f"column {name!r}, which holds {shorten(example)}"
    raise InputError("data", got, "columns of numbers for this model", _HINT)


def to_pandas(rows: Any) -> Any:
    """Frames of other libraries as pandas; arrays and pandas frames as they are."""
    if isinstance(rows, np.ndarray) or hasattr(rows, "iloc"):
        return rows
    return rows.to_pandas() if hasattr(rows, "to_pandas") else np.asarray(rows)
