"""A tree ensemble as plain arrays, whatever library fitted it.

Every library's numeric split is brought to one form here, `value <= threshold` in float64: a strict
`<` becomes `<=` at the next smaller number of the library's own float type, and a library that
compares float32 has its columns rounded to float32 before they are widened. What is left to say of
a split is where missing values go, and for a categorical split which categories go left.

Many nodes ask the same question (histogram-based libraries have at most 255 thresholds per
column), so the questions are kept once, as `Tests`, and nodes refer to them by number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.tables.table import Table
from suffice.typing import BoolVector, Counts, Reals

__all__ = ["AT_ZERO", "Categories", "Ensemble", "Ints", "Replay", "Tests"]

Ints = NDArray[np.int32]


@dataclass(frozen=True)
class Categories:
    """A categorical split: `members` go left (or right), other `known` ones the other way.

    What is neither goes where missing values go; `known` None means that everything is known.
    """

    members: frozenset[int]
    left: bool = True
    known: frozenset[int] | None = None

    @cached_property
    def sorted_members(self) -> Reals:
        """With a NaN past them, which equals nothing."""
        return np.array([*sorted(self.members), np.nan])

    @cached_property
    def sorted_known(self) -> Reals:
        """The same for `known`."""
        return np.array([*sorted(self.known or ()), np.nan])


@dataclass(frozen=True, eq=False)
class Tests:
    """The distinct questions that nodes ask of a row."""

    column: Ints
    threshold: Reals
    missing_left: BoolVector
    categories: dict[int, Categories]
    """By number of the test; all others compare with their threshold."""

    @cached_property
    def by_threshold(self) -> Counts:
        """The tests in order of column and threshold."""
        return np.lexsort((self.threshold, self.column))

    def answer(self, number: int, values: Reals) -> BoolVector:
        """Which of a column's values go left."""
        missing = np.isnan(values)
        if number not in self.categories:
            left = values <= self.threshold[number]
        else:
            split = self.categories[number]
            whole = np.trunc(np.where(missing, -1.0, values))
            left = _among(whole, split.sorted_members) == split.left
            if split.known is not None:
                missing = missing | ~_among(whole, split.sorted_known)
        return np.asarray(np.where(missing, self.missing_left[number], left))


def _among(values: Reals, numbers: Reals) -> BoolVector:
    """Which values are among sorted numbers; `numpy.isin` takes five times as long for a few."""
    return np.asarray(numbers[np.searchsorted(numbers, values)] == values)


AT_ZERO = (-5e-324, 0.0)
"""Two classes that part at zero, which is the second's."""


@dataclass(frozen=True, eq=False)
class Replay:
    """What is known of a library's own additions beyond the trees: see `replay`."""

    scores: Callable[[Table], Any]
    """The library's own scores of rows, before any link: what sums over the divisor must equal."""
    base: Reals
    """(outputs,): what is added to first, to the bit."""
    parts: tuple[float, float] | None = None
    """For labels of two classes: a margin up to the first number is the first class's, one from the
    second on the second's; None: as the sigmoid says."""


@dataclass(frozen=True, eq=False)
class Ensemble:
    """All trees, one after another; the score of a row is base + sum of its leaves / divisor."""

    roots: Ints
    test: Ints
    """By node: the number of its test, -1 at a leaf."""
    left: Ints
    right: Ints
    values: Reals
    """(nodes, outputs), zero at inner nodes."""
    tests: Tests
    matrix: Callable[[Table], Reals]
    """Rows as the trees see them, (rows, columns)."""
    base: Reals
    """(outputs,)"""
    divisor: float = 1.0
    classes: tuple[Any, ...] | None = None
    leaf_answers: bool = False
    """One tree, whose leaf is the model's answer: nothing is added to it."""
    tie_to_first: bool = True
    """Of two classes with equal scores the first wins, but for one library's binary margin."""
    unit: float = 2.0**-53
    """Relative rounding error of one addition in the library's own sum."""
    link_slack: float = 0.0
    """How far from its boundary a score may be and yet read as equal by the link function."""
    source: Ints | None = None
    """For each column of the matrix the table's column, where they differ."""
    single: bool = False
    """The matrix is the table's own columns, rounded to float32."""
    shares: bool = False
    """The scores of classes are their probabilities, not what a link function makes them of."""
    steepness: float = 1.0
    """Of a binary margin: its logistic function, so many times as steep, is the probability."""
    unsure: tuple[float, float] = (0.0, 0.0)
    """A binary margin between these decides nothing, and the model is asked."""
    replay: Replay | None = None
    """How to add up as the library itself does, where that is known; see there."""

    @property
    def margin(self) -> bool:
        """Is a binary classifier's one output the second class's lead over the first?"""
        return self.classes is not None and len(self.classes) == 2 and len(self.base) == 1

    @cached_property
    def depth(self) -> int:
        """The longest path of any tree, in splits."""
        level, depth = self.roots, 0
        while len(level := level[self.test[level] >= 0]):
            level = np.concatenate([self.left[level], self.right[level]])
            depth += 1
        return depth
