"""Names for the arrays that travel between modules, so that signatures say what they carry."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

BoolVector: TypeAlias = NDArray[np.bool_]
"""One Boolean per row of a sample, or per reference."""

HeldSets: TypeAlias = NDArray[np.bool_]
"""(subsets, players): which players keep the input's values."""

Outcomes: TypeAlias = NDArray[np.bool_]
"""(subsets, references): does the hybrid have the input's outcome?"""

SatisfiedRows: TypeAlias = np.ndarray[tuple[int, int], np.dtype[np.bool_]]
"""(factors, rows): which rows of a sample satisfy each factor."""

Counts: TypeAlias = NDArray[np.int64]
"""Whole numbers: hits per subset, ranks, positions."""

SmallCounts: TypeAlias = NDArray[np.unsignedinteger[Any]]
"""Hits of all 2^d subsets by bit mask, in the smallest type that holds them."""

BitWords: TypeAlias = NDArray[np.uint64]
"""Sets of up to 64 references, a bit each."""

Reals: TypeAlias = NDArray[np.float64]
"""Probabilities, bounds, costs."""

Values: TypeAlias = NDArray[Any]
"""A column's values or a model's raw output, of whatever dtype."""

Scalar: TypeAlias = str | int | float | bool | None
"""A value as it is shown and stored."""

ViewName: TypeAlias = Literal["keep", "flip"]
"""Which of the two views."""

VIEWS: tuple[ViewName, ...] = ("keep", "flip")
