"""From a user's arguments to constraints, with an error for each that cannot be meant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from suffice.context.players import Players
from suffice.encodings.recourse.rules import (
    Direction,
    Known,
    OneOf,
    Range,
    Rule,
    Step,
    is_numeric,
    ranks,
)
from suffice.errors import InputError, did_you_mean, shorten
from suffice.factors import Factor
from suffice.tables.table import Table, plain
from suffice.typing import Values

__all__ = [
    "Names",
    "read_directions",
    "read_fixed",
    "read_forbidden",
    "read_known",
    "read_ranges",
    "read_steps",
]

Names = str | Iterable[str]


def read_fixed(
    table: Table, players: Players, immutable: Names, actionable: Names | None
) -> dict[int, str]:
    """The players that cannot change, with the reason in words.

    A group of columns moves as one: if one of its columns is immutable, so is the group, and it is
    actionable only as a whole.
    """
    barred: dict[int, str] = {}
    for name in _names(immutable, "immutable"):
        player = _player(table, players, name, "immutable")
        label = players.names[player]
        within = f"{label} is immutable, as its column {name} is"
        barred[player] = f"{label} is immutable" if name == label else within
    if actionable is None:
        return barred
    free = _actionable(table, players, actionable)
    both = sorted(free & set(barred))
    if both:
        name = players.names[both[0]]
        raise InputError("actionable", f"{name!r}, which is also immutable", "names in one of them")
    for player, name in enumerate(players.names):
        if player not in free and player not in barred:
            barred[player] = f"{name} is not actionable"
    return dict(sorted(barred.items()))


def _actionable(table: Table, players: Players, actionable: Names) -> set[int]:
    names = _names(actionable, "actionable")
    if not names:
        hint = "Leave it out to let everything change."
        raise InputError("actionable", "no name", "one feature or more", hint)
    free = set()
    for name in names:
        player = _player(table, players, name, "actionable")
        members = {table.names[j] for j in players.columns[player]}
        if name != players.names[player] and not members <= set(names):
            group = players.names[player]
            got = f"{name!r}, one column of the group {group!r}"
            raise InputError("actionable", got, "whole groups: their columns change together")
        free.add(player)
    return free


def read_ranges(table: Table, ranges: Mapping[str, Any] | None) -> list[Rule]:
    """{column: (low, high)} bounds numbers; {column: [values]} lists what is allowed."""
    rules: list[Rule] = []
    for name, given in _mapping(ranges, "ranges", "{column: (low, high)} or {column: [values]}"):
        j = table.position(name, "ranges")
        if isinstance(given, tuple):
            rules.append(_range(table, j, given))
        elif isinstance(given, str) or not isinstance(given, Iterable):
            raise InputError("ranges", f"{name}: {shorten(given)}", "(low, high) or a list")
        else:
            rules.append(_one_of(table, j, list(given)))
    return rules


def _range(table: Table, j: int, given: tuple[Any, ...]) -> Range:
    name = table.names[j]
    allowed = "(low, high), either of them None, with low <= high"
    if not is_numeric(table.column(j)):
        hint = "List the allowed values in square brackets."
        got = f"{name}: {shorten(given)}, for a column that is not numeric"
        raise InputError("ranges", got, "(low, high) for numbers, [values] for the rest", hint)
    numbers = (int, float, np.number)
    if len(given) != 2 or not all(v is None or isinstance(v, numbers) for v in given):
        raise InputError("ranges", f"{name}: {shorten(given)}", allowed)
    low = -np.inf if given[0] is None else float(given[0])
    high = np.inf if given[1] is None else float(given[1])
    if not low <= high or (given[0] is None and given[1] is None):
        raise InputError("ranges", f"{name}: {shorten(given)}", allowed)
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


def read_known(table: Table, rules: list[Rule]) -> list[Rule]:
    """No new value may be missing, unless the list of allowed values has None in it."""
    asked_for = {rule.column for rule in rules if isinstance(rule, OneOf) and None in rule.values}
    known = (Known(j, name) for j, name in enumerate(table.names) if j not in asked_for)
    return [rule for rule in known if not rule.meets(table).all()]


def read_directions(table: Table, increasing: Names, decreasing: Names) -> list[Rule]:
    """Columns that may only go up, and those that may only go down."""
    rules: list[Rule] = []
    for argument, names in (("increasing", increasing), ("decreasing", decreasing)):
        for name in _names(names, argument):
            j = table.position(name, argument)
            if ranks(table, j) is None:
                got = f"{name!r} of dtype {shorten(table.dtype(j))}"
                raise InputError(argument, got, "numeric columns, or ordered categories")
            rules.append(Direction(j, name, argument == "increasing"))
    return rules


def read_steps(table: Table, steps: Mapping[str, float] | None) -> list[Rule]:
    """{column: step}."""
    rules: list[Rule] = []
    for name, step in _mapping(steps, "steps", "{column: step}"):
        j = table.position(name, "steps")
        values = table.column(j)
        if not is_numeric(values):
            got = f"{name!r} of dtype {shorten(table.dtype(j))}"
            raise InputError("steps", got, "numeric columns")
        if not (isinstance(step, int | float | np.number) and 0 < step < np.inf):
            raise InputError("steps", f"{name}: {shorten(step)}", "a positive number")
        if _is_whole(table, j, values) and float(step) != round(float(step)):
            got = f"{name}: {step}, for a column of whole numbers"
            raise InputError("steps", got, "a whole number")
        rules.append(Step(j, name, float(step)))
    return rules


def _is_whole(table: Table, j: int, values: Values) -> bool:
    """Can the column hold whole numbers only? With missing values numpy shows them as floats."""
    return values.dtype.kind in "iu" or table.dtype(j).lower().startswith(("int", "uint"))


def read_forbidden(table: Table, forbidden: Factor | Iterable[Factor]) -> tuple[Factor, ...]:
    """Factors of the model's own columns."""
    allowed = "factors, such as equals('Housing', 'own') & compare('Age', '<', 25)"
    given: object = [forbidden] if isinstance(forbidden, Factor) else forbidden
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


def _names(names: object, argument: str) -> list[str]:
    if isinstance(names, str):
        return [names]
    if not isinstance(names, Iterable):
        raise InputError(argument, names, "names of features")
    return [str(name) for name in names]


def _player(table: Table, players: Players, name: str, argument: str) -> int:
    if name in players.names:
        return players.names.index(name)
    known: Sequence[str] = dict.fromkeys((*players.names, *table.names)).keys()  # type: ignore[assignment]
    if name not in known:
        hint = did_you_mean(name, known)
        raise InputError(argument, f"unknown feature {name!r}", "features or columns", hint)
    return int(players.of_column[table.names.index(name)])


def _mapping(given: Mapping[str, Any] | None, argument: str, allowed: str) -> list[tuple[str, Any]]:
    if given is None:
        return []
    whatever: object = given
    if not isinstance(whatever, Mapping):
        raise InputError(argument, whatever, allowed)
    return [(str(name), value) for name, value in whatever.items()]
