"""Arrow arrays of lists, made of arrays: Python objects in every cell would take the time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from suffice.typing import BoolVector, Counts, SmallCounts

__all__ = ["count_lists", "lists"]


def lists(lengths: Counts, values: pa.Array, missing: BoolVector | None = None) -> pa.Array:
    """A list for each row, of so many of the values, one after another.

    >>> lists(np.array([2, 0, 1]), pa.array(["a", "b", "c"])).to_pylist()
    [['a', 'b'], [], ['c']]
    """
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    mask = None if missing is None else pa.array(missing, pa.bool_())
    return pa.ListArray.from_arrays(pa.array(offsets), values, mask=mask)


def count_lists(counts: Sequence[SmallCounts | None]) -> pa.Array:
    """Whole numbers of each row, or null."""
    lengths = np.array([0 if c is None else len(c) for c in counts], dtype=np.int64)
    missing = np.array([c is None for c in counts], dtype=bool)
    there = [c.astype(np.int32) for c in counts if c is not None]
    values = np.concatenate(there) if there else np.empty(0, dtype=np.int32)
    return lists(lengths, pa.array(values), missing)
