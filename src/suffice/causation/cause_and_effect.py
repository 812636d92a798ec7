"""A Boolean cause and a Boolean effect as data: a joint distribution, or the arms of a trial.

Users have these as probabilities, as counts, or as a row per case; here all become probabilities.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isclose, isfinite
from typing import Annotated, Any, NamedTuple, cast

import msgspec
import numpy as np

from suffice.errors import InputError, did_you_mean, short_repr
from suffice.factors.predicates import AnyFactor, Factor, equals
from suffice.formatting import format_value
from suffice.tables import is_frame
from suffice.tables.conversion import as_table
from suffice.typing import BoolVector, Scalar, Values
from suffice.validation import check_number

Probability = Annotated[float, msgspec.Meta(ge=0, le=1)]

CELLS = ((True, True), (True, False), (False, True), (False, False))


@dataclass(frozen=True)
class Joint(Mapping[tuple[bool, bool], float]):
    """Joint distribution P(cause, effect): `no_yes` is P(x', y), also at [False, True]."""

    yes_yes: Probability
    yes_no: Probability
    no_yes: Probability
    no_no: Probability

    @property
    def cause(self) -> float:
        """Probability of the cause, P(x)."""
        return self.yes_yes + self.yes_no

    @property
    def no_cause(self) -> float:
        """Probability of the cause's absence, P(x')."""
        return self.no_yes + self.no_no

    @property
    def effect(self) -> float:
        """Probability of the effect, P(y)."""
        return self.yes_yes + self.no_yes

    def __getitem__(self, cell: tuple[bool, bool]) -> float:
        cells = zip(CELLS, (self.yes_yes, self.yes_no, self.no_yes, self.no_no), strict=True)
        return dict(cells)[cell]

    def __iter__(self) -> Iterator[tuple[bool, bool]]:
        return iter(CELLS)

    def __len__(self) -> int:
        return len(CELLS)


@dataclass(frozen=True)
class Arms(Mapping[bool, float]):
    """P(y_x) and P(y_x'): the effect's share where the cause is set and where it is prevented."""

    treated: Probability
    control: Probability

    def __getitem__(self, arm: bool) -> float:
        return {True: self.treated, False: self.control}[arm]

    def __iter__(self) -> Iterator[bool]:
        return iter((True, False))

    def __len__(self) -> int:
        return 2


def read_joint(given: Any) -> Joint:
    """Read the joint distribution of (cause, effect) from a mapping, a 2x2 array or a frame.

    >>> read_joint({(True, True): 30, (True, False): 10, (False, True): 20, (False, False): 40})
    Joint(yes_yes=0.3, yes_no=0.1, no_yes=0.2, no_no=0.4)
    >>> read_joint([[40, 20], [10, 30]]).yes_yes  # [cause][effect], as pandas.crosstab has it
    0.3
    """
    argument = "observational"
    if isinstance(given, Mapping):
        unknown = [key for key in given if key not in CELLS]
        if unknown:
            raise InputError(argument, f"cell {unknown[0]!r}", "cells (cause, effect) of Booleans")
        cells = [given.get(key, 0) for key in CELLS]
    elif is_frame(given):
        cause, effect = _two_columns(given, argument)
        cells = [int(((cause == x) & (effect == y)).sum()) for x, y in CELLS]
    else:
        try:
            table = np.asarray(given)
        except ValueError:  # rows of different lengths
            table = np.empty(0)
        if table.shape != (2, 2) or table.dtype.kind not in "iuf":
            allowed = "{(x, y): probability or count}, a 2x2 array, or a frame of two columns"
            hint = "An array is read as [cause][effect], False before True."
            raise InputError(argument, given, allowed, hint)
        cells = [table[int(x), int(y)] for x, y in CELLS]
    return Joint(*_normalised(cells, argument))


def read_arms(given: Any) -> Arms:
    """Read a trial's two shares from {True: …, False: …} or a frame (assigned cause, effect).

    >>> read_arms({True: (30, 40), False: 0.25})
    Arms(treated=0.75, control=0.25)
    """
    argument = "experimental"
    if isinstance(given, Mapping):
        if set(given) != {True, False}:
            got = f"arms {sorted(map(str, given))}"
            raise InputError(argument, got, "a share or (events, n) for each of True and False")
        return Arms(_read_arm(given[True], argument), _read_arm(given[False], argument))
    if not is_frame(given):
        allowed = "{True: P(y | do(x)), False: P(y | do(x'))}, counts (events, n), or a frame"
        raise InputError(argument, given, allowed)
    cause, effect = _two_columns(given, argument)
    if cause.all() or not cause.any():
        raise InputError(argument, "a trial with one arm", "rows with the cause and rows without")
    return Arms(float(effect[cause].mean()), float(effect[~cause].mean()))


def _normalised(cells: list[Any], argument: str) -> list[float]:
    numbers = [check_number(argument, cell, "finite numbers >= 0", least=0) for cell in cells]
    total = sum(numbers)
    if not total > 0 or not isfinite(total):
        got = "counts too large to add up" if total else "no case at all"
        raise InputError(argument, got, "a positive, finite total")
    # 0.2 can only be a probability; 1 may be a count, and 3.5 a weighted one.
    shares = all(v <= 1 for v in numbers) and any(v != int(v) for v in numbers)
    if shares and not isclose(total, 1, abs_tol=1e-6):
        hint = "These bounds are for a cause of two values, and one joint distribution."
        raise InputError(argument, f"probabilities with sum {total:g}", "a sum of 1", hint)
    return [v / total for v in numbers]


def _read_arm(arm: Any, argument: str) -> float:
    allowed = "finite numbers >= 0"
    if isinstance(arm, tuple | list) and len(arm) == 2:
        events, n = (check_number(argument, v, allowed, least=0) for v in arm)
        if not 0 <= events <= n or n == 0:
            raise InputError(argument, arm, "(events, n) with 0 <= events <= n and n > 0")
        return events / n
    share = check_number(argument, arm, allowed, least=0)
    if share > 1 + 1e-9:
        raise InputError(argument, arm, "a probability", "Counts are given as (events, n).")
    return min(share, 1.0)  # a sum of shares may be 1.0000000000000002


def _two_columns(frame: Any, argument: str) -> tuple[BoolVector, BoolVector]:
    table = as_table(frame, argument=argument)
    if set(table.names) == {"False", "True"}:
        hint = "Pass its counts: pandas.crosstab(cause, effect).to_numpy()."
        raise InputError(argument, "a cross table", "a frame with a row per case", hint)
    if len(table.names) != 2:
        got = f"{len(table.names)} columns"
        raise InputError(argument, got, "exactly two columns: the cause, then the effect")
    cause, effect = (_read_booleans(table.column(j), table.names[j], argument) for j in range(2))
    return cause, effect


def _read_booleans(values: Values, name: str, argument: str) -> BoolVector:
    """Read Booleans or numbers 0 and 1; raise for texts, since "False" would be true."""
    plain = values.tolist()
    if not all(isinstance(v, bool | int | float) and v in (0, 1) for v in plain):
        raise InputError(argument, f"column {name!r} of other values", "Booleans, none missing")
    return np.array(plain, dtype=bool)


# Causes and effects that are given by nodes of a structural causal model.


World = Mapping[str, Values]
"""Every node's values, one per world."""


class Cause(NamedTuple):
    """The cause: X = x rather than X = x'."""

    node: str
    value: Scalar
    other: Scalar

    @property
    def tag(self) -> str:
        """Name of the auxiliary column W that is true where X was set to x."""
        return f"do({self.node} = {self.value})"

    def __str__(self) -> str:
        return f"{self.node} = {format_value(self.value)} rather than {format_value(self.other)}"


def read_cause(cause: Any, factual: World, possible: BoolVector) -> Cause:
    """Read the argument `cause`; `possible` marks the worlds that can occur."""
    if isinstance(cause, tuple) and len(cause) == 3:
        node, *given = cause
        _require_node(node, "cause", factual)
        read = Cause(node, *(_read_scalar(value, "cause") for value in given))
        if read.value == read.other:
            raise InputError("cause", cause, "two different values")
        for value in (read.value, read.other):
            if not (equals(node, value)(factual) & possible).any():
                raise InputError(
                    "cause",
                    f"{node} = {value!r}, which no world has",
                    "values that the cause takes",
                    "A node of numbers hardly ever equals one of them; make a Boolean node of it, "
                    "such as lambda dose: dose > 3.",
                )
        return read
    if not isinstance(cause, str):
        raise InputError("cause", cause, "a Boolean node's name, or (name, x, x')")
    _require_node(cause, "cause", factual)
    values = factual[cause]
    if not _is_boolean(values):
        hint = f"Say which values are compared: ({cause!r}, x, x')."
        raise InputError("cause", f"{cause!r}, which is not Boolean", "a Boolean node", hint)
    if values.dtype.kind in "iuf":  # written as 0 and 1: set to a number, as its effects expect
        return Cause(cause, values.dtype.type(1).item(), values.dtype.type(0).item())
    return Cause(cause, True, False)


def read_effect(effect: Any, cause: Cause, factual: World) -> tuple[AnyFactor, bool]:
    """Read the argument `effect` as a factor, and whether one of its values may be a slip."""
    if isinstance(effect, Factor):
        for name in effect.columns():
            _require_node(name, "effect", factual)
        return cast(AnyFactor, effect), False
    named = isinstance(effect, tuple) and len(effect) == 2
    name, value = effect if named else (effect, True)
    if not isinstance(name, str):
        allowed = "a Boolean node's name, (name, value), or a factor such as compare(name, '>=', 7)"
        raise InputError("effect", effect, allowed)
    _require_node(name, "effect", factual)
    if name == cause.node:
        raise InputError("effect", f"{name!r}, the cause itself", "another node")
    boolean = _is_boolean(factual[name])
    if not named and not boolean:
        hint = f"Say which value: ({name!r}, value), or compare({name!r}, '>=', …)."
        raise InputError("effect", f"{name!r}, which is not Boolean", "a Boolean node", hint)
    value = _read_scalar(value, "effect")
    return cast(AnyFactor, equals(name, value)), not (boolean and value in (True, False))


def _require_node(name: object, argument: str, factual: World) -> None:
    if not isinstance(name, str) or name not in factual:
        hint = did_you_mean(name, factual) if isinstance(name, str) else ""
        got = f"unknown node {short_repr(name)}"
        raise InputError(argument, got, "nodes of the causal model", hint)


def _read_scalar(value: object, argument: str) -> Scalar:
    """Return a value that can be compared with nodes and stored."""
    value = value.item() if isinstance(value, np.generic) else value
    # Past 2^63 there is nothing in an array that a whole number could equal.
    if isinstance(value, str) or (isinstance(value, float) and isfinite(value)):
        return value
    if isinstance(value, int) and abs(value) < 2**63:
        return value
    raise InputError(argument, value, "values that are text, numbers or Booleans")


def _is_boolean(values: Values) -> bool:
    if values.dtype.kind == "O":
        return all(isinstance(v, bool | np.bool_) for v in values)
    return values.dtype.kind == "b" or (
        values.dtype.kind in "iuf" and bool(np.isin(values, (0, 1)).all())
    )


Interval = tuple[Probability, Probability]
"""A lower and an upper bound."""
