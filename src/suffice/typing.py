"""Types of the arrays that travel between modules, and bounds of the numbers that results store."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

BoolVector: TypeAlias = NDArray[np.bool_]
"""One Boolean per row of a sample, or per reference."""

HeldSets: TypeAlias = NDArray[np.bool_]
"""(subsets, players): which players keep the input's values."""

Outcomes: TypeAlias = NDArray[np.bool_]
"""(subsets, references): True if the hybrid has the input's outcome."""

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
"""Cell of a table as it is shown and stored."""

ViewName: TypeAlias = Literal["keep", "flip"]
"""Name of one of the two views."""

VIEWS: tuple[ViewName, ...] = ("keep", "flip")

# Bounds of stored numbers: reading a result back refuses whatever is outside.

NaturalNumber: TypeAlias = Annotated[int, Meta(ge=0)]
"""A number of things, or a position."""

NonNegative: TypeAlias = Annotated[float, Meta(ge=0)]
"""A cost or a duration."""

Proportion: TypeAlias = Annotated[float, Meta(ge=0, le=1)]
"""One count divided by another, a bound of it, or a p-value."""

RoundedShare: TypeAlias = Annotated[float, Meta(ge=-1e-9, le=1 + 1e-9)]
"""A share that is a sum of others, so that rounding may take it past the ends."""

SignedShare: TypeAlias = Annotated[float, Meta(ge=-1 - 1e-9, le=1 + 1e-9)]
"""A difference of two shares, or a sum of such differences."""


Adjustment = Literal["none", "bonferroni", "holm", "bh"]
