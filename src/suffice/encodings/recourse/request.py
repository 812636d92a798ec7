"""What recourse is asked for: a user's arguments, checked, and read as constraints."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Literal

import numpy as np

from suffice.checks import choice, names, number, threshold, truth, whole
from suffice.context.cost import CostSpec
from suffice.decision import Decision
from suffice.encodings.recourse.column_rules import (
    ColumnRule,
    Direction,
    NotMissing,
    OneOf,
    Range,
    Step,
    is_numeric,
    ranks,
)
from suffice.encodings.recourse.constraints import Constraints, Names, fixed_players
from suffice.errors import InputError, did_you_mean, shorten
from suffice.factors import Factor
from suffice.search.limits import Limits
from suffice.tables import Table, plain, storable

__all__ = ["RecourseRequest", "ValuesFrom"]

ValuesFrom = Literal["observed", "grid"]


@dataclass(frozen=True, kw_only=True)
class RecourseRequest:
    """The arguments of `Explainer.recourse`, which says what they mean; checked when made."""

    tau: float | None = None
    immutable: Names = ()
    actionable: Names | None = None
    ranges: Mapping[str, Any] | None = None
    increasing: Names = ()
    decreasing: Names = ()
    steps: Mapping[str, float] | None = None
    forbidden: Factor | Iterable[Factor] = ()
    cost: CostSpec = None
    max_cost: float | None = None
    max_size: int | None = None
    max_options: int | None = None
    desired: Any = None
    values: ValuesFrom = "observed"
    budget: int | None = None
    time_limit: float | None = None
    progress: bool | None = None
    clock: Callable[[], float] = perf_counter
    """What tells the time."""
    started: float = field(default_factory=perf_counter)
    """When the question was put: a time limit counts from here."""

    def __post_init__(self) -> None:
        def read(name: str, value: object) -> None:
            object.__setattr__(self, name, value)

        if self.tau is not None:
            read("tau", threshold(self.tau))
        if self.max_cost is not None:
            allowed = "None or a positive number"
            read("max_cost", number("max_cost", self.max_cost, allowed, above=0))
        if self.max_options is not None:
            read("max_options", whole("max_options", self.max_options, also="None"))
        if self.progress is not None:
            read("progress", truth("progress", self.progress))
        read("values", choice("values", self.values, ("observed", "grid")))
        limits = Limits(self.max_size, self.budget, self.time_limit).checked(0)
        read("max_size", limits.max_size)
        read("budget", limits.budget)
        read("time_limit", limits.time_limit)

    @property
    def limits(self) -> Limits:
        """How far the search may go."""
        return Limits(self.max_size, self.budget, self.time_limit)

    @property
    def bounded(self) -> bool:
        """Did the user say how long the search may go on?"""
        return self.budget is not None or self.time_limit is not None

    def constraints(self, decision: Decision) -> Constraints:
        """Everything that is asked of a change besides the outcome, in the decision's columns."""
        table, players = decision.pool.stack(decision.data), decision.players
        rules = [
            *_ranges(table, self.ranges),
            *_directions(table, "increasing", self.increasing),
            *_directions(table, "decreasing", self.decreasing),
            *_steps(table, self.steps),
        ]
        return Constraints(
            fixed_players(table, players, self.immutable, self.actionable),
            (*rules, *_not_missing(table, rules)),
            _forbidden(table, self.forbidden),
            self.tau,
            np.inf if self.max_cost is None else self.max_cost,
            self.max_size,
        )


def _ranges(table: Table, ranges: object) -> list[ColumnRule]:
    """{column: (low, high)} bounds numbers; {column: [values]} lists what is allowed."""
    rules: list[ColumnRule] = []
    for name, given in _items("ranges", ranges, "{column: (low, high)} or {column: [values]}"):
        j = table.position(name, "ranges")
        if isinstance(given, tuple):
            rules.append(_range(table, j, given))
        elif isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
            raise InputError("ranges", f"{name}: {shorten(given)}", "(low, high) or a list")
        else:
            rules.append(_one_of(table, j, list(given)))
    return rules


def _range(table: Table, j: int, given: tuple[Any, ...]) -> Range:
    name = table.names[j]
    if not is_numeric(table.column(j)):
        hint = "List the allowed values in square brackets."
        got = f"{name}: {shorten(given)}, for a column that is not numeric"
        raise InputError("ranges", got, "(low, high) for numbers, [values] for the rest", hint)
    allowed = "(low, high), either of them None, with low <= high"
    refusal = InputError("ranges", f"{name}: {shorten(given)}", allowed)
    if len(given) != 2 or all(end is None for end in given):
        raise refusal
    try:
        low = -np.inf if given[0] is None else number("ranges", given[0])
        high = np.inf if given[1] is None else number("ranges", given[1])
    except InputError:
        raise refusal from None
    if low > high:
        raise refusal
    return Range(j, name, low, high)


def _one_of(table: Table, j: int, given: list[Any]) -> OneOf:
    name = table.names[j]
    if not given:
        raise InputError("ranges", f"{name}: no value", "one value or more")
    known = {plain(value): None for value in table.column(j)}
    for value in given:
        if plain(value) not in known:
            got = f"{name}: {shorten(value)}, which the column never has"
            hint = did_you_mean(value, sorted(known, key=str))
            if is_numeric(table.column(j)):
                hint = "A range of numbers is a tuple, (low, high)."
            raise InputError("ranges", got, "values observed in the data", hint)
    return OneOf(j, name, tuple(plain(value) for value in given))


def _not_missing(table: Table, rules: list[ColumnRule]) -> list[ColumnRule]:
    """No new value may be missing, unless the list of allowed values has None in it."""
    from pandas import isna

    asked_for = {rule.column for rule in rules if isinstance(rule, OneOf) and None in rule.values}
    return [
        NotMissing(j, name)
        for j, name in enumerate(table.names)
        if j not in asked_for and np.any(isna(table.column(j)))
    ]


def _directions(table: Table, argument: str, given: Names) -> list[ColumnRule]:
    """Columns that may only go up, or only down."""
    rules: list[ColumnRule] = []
    for name in names(argument, given, "names of columns"):
        j = table.position(name, argument)
        if ranks(table, j) is None:
            got = f"{name!r} of dtype {shorten(table.dtype(j))}"
            raise InputError(argument, got, "numeric columns, or ordered categories")
        rules.append(Direction(j, name, argument == "increasing"))
    return rules


def _steps(table: Table, steps: object) -> list[ColumnRule]:
    """{column: step}."""
    rules: list[ColumnRule] = []
    for name, given in _items("steps", steps, "{column: step}"):
        j = table.position(name, "steps")
        if not is_numeric(table.column(j)):
            got = f"{name!r} of dtype {shorten(table.dtype(j))}"
            raise InputError("steps", got, "numeric columns")
        try:
            step = number("steps", given, above=0)
        except InputError:
            got = f"{name}: {shorten(given)}"
            raise InputError("steps", got, "a positive number") from None
        if table.holds_whole_numbers(j) and step != round(step):
            got = f"{name}: {step:g}, for a column of whole numbers"
            raise InputError("steps", got, "a whole number")
        rules.append(Step(j, name, step))
    return rules


def _forbidden(table: Table, forbidden: object) -> tuple[Factor, ...]:
    """Factors of the model's own columns."""
    allowed = "factors, such as equals('Housing', 'own') & compare('Age', '<', 25)"
    given = [forbidden] if isinstance(forbidden, Factor) else forbidden
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InputError("forbidden", given, allowed)
    factors = tuple(given)
    for factor in factors:
        if not isinstance(factor, Factor):
            raise InputError("forbidden", factor, allowed)
        for name in factor.columns():
            table.position(name, "forbidden")
        factor({name: table.column(table.names.index(name)) for name in factor.columns()})
    return factors


def _items(argument: str, given: object, allowed: str) -> list[tuple[str, Any]]:
    if given is None:
        return []
    if not isinstance(given, Mapping):
        raise InputError(argument, given, allowed)
    return [(storable(name), value) for name, value in given.items()]
