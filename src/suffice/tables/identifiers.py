"""Columns that tell rows apart and say nothing else: an account's number, a name.

A model that was given one by mistake may lean on it, and hybrids that mix it mean nothing. So it is
hinted at. Only where it is plain: all values differ, and the column holds text or is called an id.
Numbers that all differ are measurements as a rule, and dates are dates.
"""

from __future__ import annotations

import re

import numpy as np

from suffice.tables.table import Table
from suffice.typing import Values

__all__ = ["identifier_columns"]

_FEWEST_ROWS = 20
"""In fewer rows values may all differ by chance."""

_LONGEST = 60
"""Longer texts are prose, in which no two rows agree either."""

_CALLED_ID = re.compile(
    r"^(id|ids|uid|uuid|guid|index|row|unnamed: \d+)$"
    r"|[ _.-](id|uid|uuid|guid|no|nr|number|key)$"
    r"|(?-i:[a-z](ID|Id|UUID)$)",
    re.IGNORECASE,
)


def identifier_columns(table: Table) -> tuple[str, ...]:
    """The names of columns that seem to identify rows.

    >>> from suffice.tables import as_table
    >>> rows = [[i, i / 7, f"A. No. {i}", "own"] for i in range(30)]
    >>> identifier_columns(as_table(rows, names=["account_id", "debt", "who", "home"]))
    ('account_id', 'who')
    """
    if len(table) < _FEWEST_ROWS:
        return ()
    return tuple(name for j, name in enumerate(table.names) if _identifies(name, table.column(j)))


def _identifies(name: str, values: Values) -> bool:
    called_id = _CALLED_ID.search(name) is not None
    if values.dtype.kind in "iuf":
        if not called_id or not np.isfinite(values).all() or (values != np.rint(values)).any():
            return False
        return len(np.unique(values)) == len(values)
    if values.dtype.kind not in "OUS":
        return False
    cells = values.tolist()
    kinds = set(map(type, cells))
    named = kinds <= {str, bytes, np.str_} and max(map(len, cells)) <= _LONGEST
    if not (named or (called_id and kinds <= {int})):
        return False
    return len(set(cells)) == len(cells)
