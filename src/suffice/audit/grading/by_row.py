"""Whose claim is whose: what was given by the name of a tool, for each row, or for all of them.

It is guessed from the kinds of what was given, before any claim is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from suffice.errors import InputError
from suffice.factors.kinds import Factor
from suffice.tables import as_table, has_several_rows, is_frame

__all__ = ["by_row", "is_function", "is_tools", "rows_of"]


def is_tools(other: Any) -> bool:
    """Claims by the name of a tool, rather than scores by feature."""
    if not isinstance(other, Mapping) or not other or hasattr(other, "importances_mean"):
        return False
    kinds = (bool, int, float, np.number)
    return all(isinstance(name, str) for name in other) and not any(
        isinstance(value, kinds) for value in other.values()
    )


def is_function(other: Any) -> bool:
    """Is it called with each row, rather than read?"""
    return callable(other) and not isinstance(other, Factor) and not hasattr(other, "as_map")


def by_row(tool: str, other: Any, n: int) -> Callable[[int, Any], Any]:
    """What the tool says of each row, by the row's number and the row."""
    if is_function(other):
        return lambda number, row: other(row)
    several = _sequence_of(other, n) if n > 1 else None
    if several is None and n > 1 and isinstance(other, list | tuple) and _one_each(other):
        several = other
        if len(other) != n:
            got = f"{len(other)} of {tool!r}"
            raise InputError("other", got, f"one for each of the {n} inputs, or a function")
    if several is None and n > 1 and is_frame(other):
        hint = "Of counterfactuals pass a list of frames; of scores pass frame.to_numpy()."
        raise InputError("other", f"one frame of {tool!r}", f"one for each of the {n} inputs", hint)
    if several is None:
        return lambda number, row: other
    each = several
    return lambda number, row: each[number]


def _sequence_of(other: Any, n: int) -> Sequence[Any] | None:
    """The claims about each of n rows, where one object holds them; None: it does not."""
    if hasattr(other, "values") and hasattr(other, "base_values"):
        values = np.asarray(other.values)
        return [other[i] for i in range(n)] if values.ndim > 1 and len(values) == n else None
    if hasattr(other, "cf_examples_list") and len(other.cf_examples_list) == n:
        return list(other.cf_examples_list)
    if isinstance(other, np.ndarray) and other.ndim == 2 and len(other) == n:
        return list(other)
    return None


def _one_each(other: Sequence[Any]) -> bool:
    """Is this a list of claims, rather than one: names, scores, or pairs of both?"""
    if all(isinstance(item, str) for item in other):
        return any(_looks_like_a_rule(item) for item in other)
    if all(isinstance(item, int | float | np.number) for item in other):
        return False
    pairs = all(isinstance(item, tuple) and len(item) == 2 for item in other)
    return not (pairs and all(isinstance(score, int | float | np.number) for _, score in other))


def _looks_like_a_rule(text: str) -> bool:
    return any(sign in text for sign in "<>=≤≥≠") or " in {" in text or text == "always"


def rows_of(x: Any) -> list[Any]:
    """The inputs one by one, of the kind that they came in."""
    if not has_several_rows(x):
        return [x]
    if is_frame(x):
        table = as_table(x, argument="x")
        return [table.take(np.array([i])).native for i in range(len(table))]
    return list(x)
