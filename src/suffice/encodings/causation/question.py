"""Reading "is this a cause of that?" as asked of a structural causal model's nodes."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any, NamedTuple, cast

import numpy as np

from suffice.errors import InputError, did_you_mean, shorten
from suffice.factors.kinds import AnyFactor, Factor
from suffice.factors.predicates import equals
from suffice.typing import BoolVector, Scalar, Values
from suffice.wording import show

__all__ = ["Cause", "World", "read_cause", "read_effect"]

World = Mapping[str, Values]
"""Every node's values, one per world."""


class Cause(NamedTuple):
    """X = x rather than X = x'."""

    node: str
    value: Scalar
    other: Scalar

    @property
    def tag(self) -> str:
        """The name of W: true where X was set to x."""
        return f"do({self.node} = {self.value})"

    def __str__(self) -> str:
        return f"{self.node} = {show(self.value)} rather than {show(self.other)}"


def read_cause(cause: Any, factual: World, possible: BoolVector) -> Cause:
    """The cause that is meant; `possible` marks the worlds that can occur."""
    if isinstance(cause, tuple) and len(cause) == 3:
        node, *given = cause
        _require_node(node, "cause", factual)
        read = Cause(node, *(_scalar(value, "cause") for value in given))
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
    """The predicate on nodes that `effect` means, and whether a value of it might be a slip."""
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
    value = _scalar(value, "effect")
    return cast(AnyFactor, equals(name, value)), not (boolean and value in (True, False))


def _require_node(name: object, argument: str, factual: World) -> None:
    if not isinstance(name, str) or name not in factual:
        hint = did_you_mean(name, factual) if isinstance(name, str) else ""
        got = f"unknown node {shorten(name)}"
        raise InputError(argument, got, "nodes of the causal model", hint)


def _scalar(value: object, argument: str) -> Scalar:
    """A value that a node can be compared with, and that can be stored."""
    value = value.item() if isinstance(value, np.generic) else value
    # Past 2^63 there is nothing in an array that a whole number could equal.
    if isinstance(value, str) or (isinstance(value, float) and isfinite(value)):
        return value
    if isinstance(value, int) and abs(value) < 2**63:
        return value
    raise InputError(argument, value, "values that are text, numbers or truth values")


def _is_boolean(values: Values) -> bool:
    if values.dtype.kind == "O":
        return all(isinstance(v, bool | np.bool_) for v in values)
    return values.dtype.kind == "b" or (
        values.dtype.kind in "iuf" and bool(np.isin(values, (0, 1)).all())
    )
