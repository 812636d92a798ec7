"""A table as plain numbers, for libraries that take columns as they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from suffice.evaluate.protocol import Unreadable
from suffice.tables.table import Table
from suffice.typing import Reals

__all__ = ["numbers"]


def numbers(
    table: Table, single: bool = False, categories: Sequence[Sequence[Any]] | None = None
) -> Reals:
    """(rows, columns) in float64; with `single` each value is rounded to float32 first.

    Columns of a pandas category dtype become the positions of their values in `categories`, one
    list for each such column, in order; without that they are not read.
    """
    columns, left = [], list(categories or ())
    for j in range(len(table.names)):
        if table.dtype(j).startswith("CategoricalDtype"):
            if not left:
                raise Unreadable(f"column {table.names[j]!r} holds categories")
            columns.append(_positions(table.column(j), left.pop(0)))
            continue
        values = table.column(j)
        if values.dtype.kind not in "fiub":
            raise Unreadable(f"column {table.names[j]!r} does not hold numbers")
        columns.append(values.astype(np.float32 if single else np.float64).astype(np.float64))
    return np.stack(columns, axis=1)


def _positions(values: Any, known: Sequence[Any]) -> Reals:
    import pandas as pd

    codes = pd.Index(list(known)).get_indexer(values).astype(np.float64)
    codes[codes < 0] = np.nan
    return np.asarray(codes)
