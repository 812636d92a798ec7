"""Peak memory of a search, predicted from counts: sets, and hybrids that budget and work allow.

The bytes are upper bounds of what was measured, from 4 to 800 features and 50 to 50,000 references,
beside what the model itself takes. `make soak` compares them with the peak of real searches.
"""

from __future__ import annotations

from math import log2

import numpy as np

from suffice.context.hybrids import Hybrids
from suffice.engines import Evaluator, LatticeEvaluator
from suffice.factors.lattice import Lattice
from suffice.search.limits import HYBRIDS_PER_ROW, Limits

BYTES_PER_SET = 56
"""Counts and intervals of both views; the outcomes come on top, a bit for each reference."""

_BASE = 16e6
"""Small arrays, and what a search imports."""

_BYTES_PER_SWEPT_HYBRID = 20
_SWEPT_TOGETHER = 1 << 21
_SETS_SWEPT_TOGETHER = 1 << 8
"""Hybrids of one block of an engine: so many, or those of so many sets."""

_BYTES_PER_ASKED_HYBRID = 48
"""Keys of a hybrid and its place among the distinct ones; a byte for each player comes on top."""

_ASKED_TOGETHER = 1 << 20
_BYTES_PER_CELL = 24
_CELLS_PER_CALL = 1 << 22
"""Cells of the rows that the model predicts in one call, in the forms they take on the way."""

_BYTES_PER_ANSWER = 60
_MOST_ANSWERS = 1 << 22
"""Rows whose predictions are kept."""

_BYTES_PER_NUMBERED_HYBRID = 100
_MOST_NUMBERED = 1 << 22
"""Hybrids that a pruned search numbers in advance."""

_BYTES_PER_KNOWN_SET = 320
_MOST_KNOWN_BYTES = 1 << 28
"""Sets whose outcomes are kept by a search that does not count all sets."""

_STREAMED_BASE = 64e6

_MANY = 1e18


def predict_bytes(way: str, evaluator: Evaluator, hybrids: Hybrids, limits: Limits) -> float:
    """Return the bytes that a search of one sweep takes at its peak, at most about."""
    d, n = hybrids.d, evaluator.n
    largest = limits.largest(d)
    counted = 2 * Lattice(d).count_up_to(largest) if largest < d else 1 << d
    sets = _as_float(counted)
    rows = min(sets * n, _affordable_hybrids(evaluator, limits))
    total = _BASE
    if isinstance(evaluator, LatticeEvaluator):
        together = max(_SWEPT_TOGETHER, _SETS_SWEPT_TOGETHER * n)
        total += _BYTES_PER_SWEPT_HYBRID * min(rows, together)
    else:
        block = min(max(rows, n), _ASKED_TOGETHER)
        columns = len(hybrids.pool.names)
        total += block * (_BYTES_PER_ASKED_HYBRID + d)
        total += _BYTES_PER_CELL * min(block * columns, _CELLS_PER_CALL)
        total += _BYTES_PER_ANSWER * min(rows, _MOST_ANSWERS)
    if way == "exhaustive":
        total += min(sets, rows / n + 1) * (BYTES_PER_SET + n / 8)
    elif way == "streamed":
        total += _STREAMED_BASE + 2 * np.min_scalar_type(n).itemsize * sets
    elif way == "pruned":
        total += _BYTES_PER_NUMBERED_HYBRID * min(sets * n, _MOST_NUMBERED)
    if way not in ("exhaustive", "streamed"):
        known = rows / n * (_BYTES_PER_KNOWN_SET + n / 8 + d / 8)
        total += min(known, _MOST_KNOWN_BYTES)
    return total


def _affordable_hybrids(evaluator: Evaluator, limits: Limits) -> float:
    """Return how many hybrids the limits on rows and work allow. A clock is not foreseen."""
    each = max(evaluator.work_per_hybrid(), 1.0)
    most = _MANY
    if limits.budget is not None:
        engine = isinstance(evaluator, LatticeEvaluator)
        most = float(limits.budget) * (HYBRIDS_PER_ROW if engine else 1)
    if limits.work is not None:
        most = min(most, limits.work / each)
    return most


def _as_float(count: int) -> float:
    return float(count) if log2(max(count, 1)) < log2(_MANY) else _MANY
