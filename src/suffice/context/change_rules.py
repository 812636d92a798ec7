"""Rules on changes: immutable or actionable features, directions, ranges, steps, missing values.

`DeclaredChanges` holds the rules given to `Explainer`, and `ResolvedChanges` the same rules by
column and player of its data, read once. Headlines and audits price a change that they forbid as
infinitely dear (`cost.declared_change_costs`). Recourse reads them as constraints, so that it can
name the one that excludes an option.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from suffice.context.players import Players
from suffice.errors import InputError, did_you_mean, short_repr
from suffice.formatting import format_value, join_words
from suffice.tables import as_scalar, column_codes
from suffice.tables.cells import missing_mask, utf8_text
from suffice.tables.table import Table
from suffice.typing import BoolVector, HeldSets, Reals, Scalar, Values
from suffice.validation import check_name_list, check_number

Names = str | Iterable[str]
MissingCost = float | Mapping[str, float] | None
"""None: no value becomes missing, and no missing value is set. A number, or one by column: both are
allowed at that cost."""

_FEATURE_NAMES = "names of features"
_ONE_OF_THEM = "each name in one of them"


@dataclass(frozen=True)
class DeclaredChanges:
    """Declared changes: which features may change and how, as `Explainer` documents."""

    immutable: tuple[str, ...] = ()
    actionable: tuple[str, ...] | None = None
    increasing: tuple[str, ...] = ()
    decreasing: tuple[str, ...] = ()
    missing_cost: MissingCost = None

    @classmethod
    def read(
        cls,
        immutable: Names,
        actionable: Names | None,
        increasing: Names,
        decreasing: Names,
        missing_cost: MissingCost,
    ) -> DeclaredChanges:
        """Read names of features and columns, each given alone or in a list."""
        columns = "names of columns"
        return cls(
            tuple(check_name_list("immutable", immutable, _FEATURE_NAMES)),
            None
            if actionable is None
            else tuple(check_name_list("actionable", actionable, _FEATURE_NAMES)),
            tuple(check_name_list("increasing", increasing, columns)),
            tuple(check_name_list("decreasing", decreasing, columns)),
            dict(missing_cost) if isinstance(missing_cost, Mapping) else missing_cost,
        )

    def resolve(self, table: Table, players: Players) -> ResolvedChanges:
        """Return the rules by column and player.

        Raise for unknown names, columns without an order, and rules that contradict.
        """
        fixed, directions = self.fixed(table, players), self.directions(table)
        resolved = ResolvedChanges(fixed, directions, self.missing_costs(table), self.text)
        for argument in ("increasing", "decreasing"):
            for name in getattr(self, argument):
                player = int(players.of_column[table.position(name, argument)])
                if {name, players.names[player]} & set(self.immutable):
                    got = f"{name!r}, which is also immutable"
                    raise InputError(argument, got, _ONE_OF_THEM)
        for name in self.increasing:
            if name in self.decreasing:
                hint = "A column that can do neither is immutable."
                got = f"{name!r}, which is also increasing"
                raise InputError("decreasing", got, _ONE_OF_THEM, hint)
        return resolved

    def fixed(self, table: Table, players: Players) -> dict[int, str]:
        """Return the indices of the players that cannot change, each with the reason.

        A group of columns moves as one: if one of its columns is immutable, so is the group, and it
        is actionable only as a whole.
        """
        fixed: dict[int, str] = {}
        for name in self.immutable:
            player = _find_player(table, players, name, "immutable")
            label = players.names[player]
            within = f"{label} is immutable, as its column {name} is"
            fixed[player] = f"{label} is immutable" if name == label else within
        if self.actionable is None:
            return fixed
        free = _actionable_players(table, players, self.actionable)
        both = sorted(free & set(fixed))
        if both:
            got = f"{players.names[both[0]]!r}, which is also immutable"
            raise InputError("actionable", got, _ONE_OF_THEM)
        for player, name in enumerate(players.names):
            if player not in free and player not in fixed:
                fixed[player] = f"{name} is not actionable"
        return dict(sorted(fixed.items()))

    def free(self, table: Table, players: Players) -> list[int]:
        """Return the numbers of the players named in `actionable`."""
        if self.actionable is None:
            return []
        return sorted(_actionable_players(table, players, self.actionable))

    def directions(self, table: Table) -> tuple[ColumnRule, ...]:
        """Return a rule for each column that may only increase, or only decrease."""
        rules: list[ColumnRule] = []
        for argument in ("increasing", "decreasing"):
            for name in getattr(self, argument):
                j = table.position(name, argument)
                if ordinal_ranks(table, j) is None:
                    got = f"{name!r} of dtype {short_repr(table.dtype(j))}"
                    raise InputError(argument, got, "numeric columns, or ordered categories")
                rules.append(Direction(j, name, argument == "increasing"))
        return tuple(rules)

    def missing_costs(self, table: Table) -> dict[int, float]:
        """Return, by position of a column, the cost of setting or removing a missing value.

        Columns without an entry neither lose a value nor gain one.
        """
        given = self.missing_cost
        allowed = "None, a number >= 0, or {column: number}"
        if given is None:
            return {}
        if not isinstance(given, Mapping):
            cost = check_number("missing_cost", given, allowed, least=0)
            return dict.fromkeys(range(len(table.names)), cost)
        out = {}
        for name, one in given.items():
            j = table.position(utf8_text(name), "missing_cost")
            try:
                out[j] = check_number("missing_cost", one, least=0)
            except InputError:
                got = f"{short_repr(one)} for column {name!r}"
                raise InputError("missing_cost", got, allowed) from None
        return out

    @property
    def text(self) -> str:
        """Describe the rules on features; empty where nothing is declared.

        >>> DeclaredChanges(immutable=("age",), increasing=("income",)).text
        'age immutable; income may only increase'
        """
        parts = [f"{join_words(self.immutable)} immutable"] if self.immutable else []
        if self.actionable is not None:
            parts.append(f"only {join_words(self.actionable)} may change")
        parts += [f"{join_words(self.increasing)} may only increase"] if self.increasing else []
        parts += [f"{join_words(self.decreasing)} may only decrease"] if self.decreasing else []
        return "; ".join(parts)


@dataclass(frozen=True)
class ResolvedChanges:
    """Declared changes by the columns and players of one table; by default no rule."""

    fixed: Mapping[int, str] = field(default_factory=dict)
    """The players that cannot change, each with the reason."""
    directions: tuple[ColumnRule, ...] = ()
    missing_costs: Mapping[int, float] = field(default_factory=dict)
    """By position of a column: the cost of setting or removing a missing value."""
    text: str = ""
    """The rules in words; empty where nothing is declared."""


def _actionable_players(table: Table, players: Players, actionable: tuple[str, ...]) -> set[int]:
    given = list(actionable)
    if not given:
        hint = "Leave it out to let everything change."
        raise InputError("actionable", "no name", "one feature or more", hint)
    free = set()
    for name in given:
        player = _find_player(table, players, name, "actionable")
        members = {table.names[j] for j in players.columns[player]}
        if name != players.names[player] and not members <= set(given):
            group = players.names[player]
            got = f"{name!r}, one column of the group {group!r}"
            raise InputError("actionable", got, "whole groups: their columns change together")
        free.add(player)
    return free


def _find_player(table: Table, players: Players, name: str, argument: str) -> int:
    if name in players.names:
        return players.names.index(name)
    if name in table.names:
        return int(players.of_column[table.names.index(name)])
    hint = did_you_mean(name, dict.fromkeys((*players.names, *table.names)))
    raise InputError(argument, f"unknown feature {name!r}", "features or columns", hint)


# -- rules on the new value of one column: a range, a list, a direction, a step -----------------


_STEP_TOLERANCE = 1e-6
"""How far from a whole number of steps a change may be: float32 columns round."""


class ColumnRule(Protocol):
    """A condition on the new values of one column; row 0 of every table is the input."""

    @property
    def column(self) -> int:
        """Position of the column in the table."""
        ...

    @property
    def text(self) -> str:
        """Sentence that states the rule, as in error messages."""
        ...

    def meets(self, table: Table) -> BoolVector:
        """Return, by row, whether the column's value meets the rule."""
        ...


@dataclass(frozen=True)
class Range:
    """Rule: a number between two bounds, bounds included; an infinite bound is none."""

    column: int
    name: str
    low: float
    high: float

    @property
    def text(self) -> str:
        """Describe the finite bounds."""
        if np.isinf(self.high):
            return f"{self.name} must be at least {self.low:g}"
        if np.isinf(self.low):
            return f"{self.name} must be at most {self.high:g}"
        return f"{self.name} must lie between {self.low:g} and {self.high:g}"

    def meets(self, table: Table) -> BoolVector:
        """Return, by row, whether the value is within the bounds; a missing value is not."""
        values = table.column(self.column).astype(float)
        return np.asarray((values >= self.low) & (values <= self.high))


@dataclass(frozen=True)
class OneOf:
    """Rule: one of the listed values."""

    column: int
    name: str
    values: tuple[Scalar, ...]

    @property
    def text(self) -> str:
        """Describe the allowed values, in the order given."""
        return f"{self.name} must be one of {', '.join(map(format_value, self.values))}"

    def meets(self, table: Table) -> BoolVector:
        """Return, by row, whether the value is listed; 2 and 2.0 are the same value."""
        values = table.column(self.column)
        allowed = set(self.values)
        return np.fromiter((as_scalar(v) in allowed for v in values), dtype=bool, count=len(values))


@dataclass(frozen=True)
class Direction:
    """Rule: the value may only increase, or only decrease."""

    column: int
    name: str
    up: bool

    @property
    def text(self) -> str:
        """Sentence that states the allowed direction."""
        return f"{self.name} may only {'increase' if self.up else 'decrease'}"

    def meets(self, table: Table) -> BoolVector:
        """Compare numbers, or ranks of ordered categories; a missing value never meets the rule."""
        order = self.order(table)
        return np.asarray(order >= order[0] if self.up else order <= order[0])

    def order(self, table: Table) -> Reals:
        """Return the ranks of the column's values."""
        order = ordinal_ranks(table, self.column)
        assert order is not None  # `DeclaredChanges.directions` refuses unordered columns
        return order


@dataclass(frozen=True)
class Step:
    """Rule: the value changes by whole multiples of a step."""

    column: int
    name: str
    step: float

    @property
    def text(self) -> str:
        """Sentence that states the allowed step."""
        return f"{self.name} changes by multiples of {self.step:g}"

    def meets(self, table: Table) -> BoolVector:
        """Return, by row, whether the change is a multiple of the step, within rounding."""
        values = table.column(self.column).astype(float)
        with np.errstate(invalid="ignore", over="ignore"):  # no step leads from or to infinity
            steps = (values - values[0]) / self.step
            whole = np.abs(steps - np.rint(steps)) <= _STEP_TOLERANCE * np.maximum(1, abs(steps))
        return np.asarray(whole | (values == values[0]))


@dataclass(frozen=True)
class MissingKept:
    """Rule: a value does not become missing, and a missing value is not set.

    A known value cannot be made unknown, and a value that is not known cannot be chosen;
    `missing_cost` allows both.
    """

    column: int
    name: str
    missing: bool
    """Whether the input's value is missing."""

    @property
    def text(self) -> str:
        """Sentence that states the rule, as in error messages."""
        if self.missing:
            return f"{self.name} must stay missing without missing_cost"
        return f"{self.name} must not become missing"

    def meets(self, table: Table) -> BoolVector:
        """Return, by row, whether the value is missing if and only if the input's is."""
        return np.asarray(missing_mask(table.column(self.column)) == self.missing)


def meets_rules(table: Table, players: Players, rules: tuple[ColumnRule, ...]) -> HeldSets:
    """Return (rows, players): whether all the player's values are unchanged or meet their rules."""
    by_column = np.ones((len(table), len(table.names)), dtype=bool)
    for rule in rules:
        by_column[:, rule.column] &= rule.meets(table)
    for j in {rule.column for rule in rules}:
        codes = column_codes(table.column(j))
        by_column[:, j] |= codes == codes[0]
    return np.stack([by_column[:, list(c)].all(axis=1) for c in players.columns], axis=1)


def is_numeric(values: Values) -> bool:
    """Return whether the values are numbers; Booleans are not."""
    return values.dtype.kind in "iuf"


def ordinal_ranks(table: Table, position: int) -> Reals | None:
    """Return the ranks of a column's values, or None where the column has no order.

    Numbers and Booleans are ordered, and categories that are declared ordered.
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
    place = {as_scalar(category): float(i) for i, category in enumerate(dtype.categories)}
    return np.array([place.get(as_scalar(value), np.nan) for value in values])
