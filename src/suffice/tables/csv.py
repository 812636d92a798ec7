"""Tables as CSV that is safe to open."""

from __future__ import annotations

from typing import Any

__all__ = ["as_csv"]

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def as_csv(frame: Any) -> str:
    """A frame as CSV in which no cell is taken for a formula by the program that opens it.

    >>> import pandas as pd
    >>> print(as_csv(pd.DataFrame({"name": ["=1+1", "Ann"], "debt": [-2, 3]})))
    name,debt
    '=1+1,-2
    Ann,3
    """
    texts = frame.select_dtypes(exclude="number").columns
    guarded = frame.assign(**{name: [_guarded(cell) for cell in frame[name]] for name in texts})
    text: str = guarded.to_csv(index=False, lineterminator="\n")
    return text


def _guarded(cell: Any) -> Any:
    return f"'{cell}" if isinstance(cell, str) and cell[:1] in _FORMULA else cell
