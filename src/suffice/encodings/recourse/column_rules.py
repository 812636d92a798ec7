"""Rules on the new value of one column: a range, a list, a direction, a step.

A rule restricts *new* values only. A value that stays as it is breaks none, not even where the
input's own lies outside the range.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from suffice.context.players import Players
from suffice.tables import Table, column_codes, plain
from suffice.typing import BoolVector, Held, Reals, Scalar, Values
from suffice.wording import show

__all__ = [
    "ColumnRule",
    "Direction",
    "NotMissing",
    "OneOf",
    "Range",
    "Step",
    "is_numeric",
    "keeps_rules",
    "ranks",
]

_WHOLE = 1e-6
"""How far from a whole number of steps a change may be: room for what a float32 column rounds."""


class ColumnRule(Protocol):
    """What new values of one column must meet; the input is row 0 of every table asked about."""

    @property
    def column(self) -> int:
        """The column's position."""
        ...

    @property
    def says(self) -> str:
        """The rule in words."""
        ...

    def meets(self, table: Table) -> BoolVector:
        """Does each row's value meet the rule?"""
        ...


@dataclass(frozen=True)
class Range:
    """A number between two bounds; an infinite bound is none."""

    column: int
    name: str
    low: float
    high: float

    @property
    def says(self) -> str:
        """The bounds that there are."""
        if np.isinf(self.high):
            return f"{self.name} must be at least {self.low:g}"
        if np.isinf(self.low):
            return f"{self.name} must be at most {self.high:g}"
        return f"{self.name} must lie between {self.low:g} and {self.high:g}"

    def meets(self, table: Table) -> BoolVector:
        """Inside, bounds included; what is missing is not."""
        values = table.column(self.column).astype(float)
        return np.asarray((values >= self.low) & (values <= self.high))


@dataclass(frozen=True)
class OneOf:
    """One of some values."""

    column: int
    name: str
    values: tuple[Scalar, ...]

    @property
    def says(self) -> str:
        """The values, in the order they were given."""
        return f"{self.name} must be one of {', '.join(map(show, self.values))}"

    def meets(self, table: Table) -> BoolVector:
        """Compared as they are shown: 2 and 2.0 are one value."""
        values = table.column(self.column)
        allowed = set(self.values)
        return np.fromiter((plain(v) in allowed for v in values), dtype=bool, count=len(values))


@dataclass(frozen=True)
class Direction:
    """Only up, or only down."""

    column: int
    name: str
    up: bool

    @property
    def says(self) -> str:
        """Which way."""
        return f"{self.name} may only {'increase' if self.up else 'decrease'}"

    def meets(self, table: Table) -> BoolVector:
        """By number, or by the order of the categories; missing values have no place in it."""
        order = self.order(table)
        return np.asarray(order >= order[0] if self.up else order <= order[0])

    def order(self, table: Table) -> Reals:
        """The values' places in their order."""
        order = ranks(table, self.column)
        assert order is not None  # checked when the rule was read
        return order


@dataclass(frozen=True)
class Step:
    """Only by whole multiples of a step."""

    column: int
    name: str
    step: float

    @property
    def says(self) -> str:
        """The step."""
        return f"{self.name} changes by multiples of {self.step:g}"

    def meets(self, table: Table) -> BoolVector:
        """To a millionth of a step."""
        values = table.column(self.column).astype(float)
        with np.errstate(invalid="ignore", over="ignore"):  # no step leads from or to infinity
            steps = (values - values[0]) / self.step
            whole = np.abs(steps - np.rint(steps)) <= _WHOLE * np.maximum(1, abs(steps))
        return np.asarray(whole | (values == values[0]))


@dataclass(frozen=True)
class NotMissing:
    """A value must be known: no one can act on one that is not told."""

    column: int
    name: str

    @property
    def says(self) -> str:
        """What it must not become."""
        return f"{self.name} must not become missing"

    def meets(self, table: Table) -> BoolVector:
        """Is there a value?"""
        from pandas import isna

        return ~np.asarray(isna(table.column(self.column)), dtype=bool)


def keeps_rules(table: Table, players: Players, rules: tuple[ColumnRule, ...]) -> Held:
    """(rows, players): is each of the player's values as in row 0, or one that meets its rules?"""
    by_column = np.ones((len(table), len(table.names)), dtype=bool)
    for rule in rules:
        by_column[:, rule.column] &= rule.meets(table)
    for j in {rule.column for rule in rules}:
        codes = column_codes(table.column(j))
        by_column[:, j] |= codes == codes[0]
    return np.stack([by_column[:, list(c)].all(axis=1) for c in players.columns], axis=1)


def is_numeric(values: Values) -> bool:
    """Are these numbers? Truth values are not."""
    return values.dtype.kind in "iuf"


def ranks(table: Table, position: int) -> Reals | None:
    """A column's values as numbers in their order; None where they have none.

    Numbers and truth values are ordered, and categories that say so.
    """
    values = table.column(position)
    if values.dtype.kind in "iufb":
        return values.astype(float)
    import narwhals as nw

    # narwhals calls an ordered pandas categorical an Enum, as polars does.
    frame = nw.from_native(table.native, eager_only=True, pass_through=True)
    dtype = frame[:, position].dtype if isinstance(frame, nw.DataFrame) else None
    if not isinstance(dtype, nw.Enum):
        return None
    place = {plain(category): float(i) for i, category in enumerate(dtype.categories)}
    return np.array([place.get(plain(value), np.nan) for value in values])
