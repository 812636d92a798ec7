"""A Boolean cause and a Boolean effect as data: a joint distribution, or the arms of a trial.

Users have these as probabilities, as counts, or as a row per case; here all become probabilities.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isclose, isfinite
from typing import Any, NamedTuple, cast

import numpy as np

from suffice.errors import InputError
from suffice.tables.frames import as_table
from suffice.tables.table import is_frame
from suffice.typing import BoolVector

__all__ = ["Arms", "Joint", "read_arms", "read_joint"]

CELLS = ((True, True), (True, False), (False, True), (False, False))


class Joint(NamedTuple):
    """P(cause, effect), the cause first: `no_yes` is P(x', y)."""

    yes_yes: float
    yes_no: float
    no_yes: float
    no_no: float

    @property
    def cause(self) -> float:
        """P(x)."""
        return self.yes_yes + self.yes_no

    @property
    def no_cause(self) -> float:
        """P(x')."""
        return self.no_yes + self.no_no

    @property
    def effect(self) -> float:
        """P(y)."""
        return self.yes_yes + self.no_yes


class Arms(NamedTuple):
    """P(y_x) and P(y_x'): the effect's share where the cause is set, and where it is prevented."""

    treated: float
    control: float


def read_joint(given: Any) -> Joint:
    """The joint distribution of (cause, effect) from {(x, y): …}, a 2x2 array or a frame of rows.

    >>> read_joint({(True, True): 30, (True, False): 10, (False, True): 20, (False, False): 40})
    Joint(yes_yes=0.3, yes_no=0.1, no_yes=0.2, no_no=0.4)
    >>> read_joint([[40, 20], [10, 30]]).yes_yes  # [cause][effect], as pandas.crosstab has it
    0.3
    """
    argument = "observational"
    if isinstance(given, Mapping):
        unknown = [key for key in given if key not in CELLS]
        if unknown:
            raise InputError(
                argument, f"cell {unknown[0]!r}", "cells (cause, effect) of truth values"
            )
        cells = [given.get(key, 0) for key in CELLS]
    elif is_frame(given):
        cause, effect = _two_columns(given, argument)
        cells = [int(((cause == x) & (effect == y)).sum()) for x, y in CELLS]
    else:
        table = np.asarray(given)
        if table.shape != (2, 2) or table.dtype.kind not in "iuf":
            allowed = "{(x, y): probability or count}, a 2x2 array, or a frame of two columns"
            hint = "An array is read as [cause][effect], False before True."
            raise InputError(argument, given, allowed, hint)
        cells = [table[int(x), int(y)] for x, y in CELLS]
    return Joint(*_normalised(cells, argument))


def read_arms(given: Any) -> Arms:
    """A trial's two shares from {True: …, False: …} or a frame of rows (assigned cause, effect).

    >>> read_arms({True: (30, 40), False: 0.25})
    Arms(treated=0.75, control=0.25)
    """
    argument = "experimental"
    if isinstance(given, Mapping):
        if set(given) != {True, False}:
            got = f"arms {sorted(map(str, given))}"
            raise InputError(argument, got, "a share or (events, n) for each of True and False")
        return Arms(_share(given[True], argument), _share(given[False], argument))
    if not is_frame(given):
        allowed = "{True: P(y | do(x)), False: P(y | do(x'))}, counts (events, n), or a frame"
        raise InputError(argument, given, allowed)
    cause, effect = _two_columns(given, argument)
    if cause.all() or not cause.any():
        raise InputError(argument, "a trial with one arm", "rows with the cause and rows without")
    return Arms(float(effect[cause].mean()), float(effect[~cause].mean()))


def _normalised(cells: list[Any], argument: str) -> list[float]:
    numbers = [_number(cell, argument) for cell in cells]
    total = sum(numbers)
    if total <= 0:
        raise InputError(argument, "no case at all", "a positive total")
    # 0.2 can only be a probability; 1 may be a count, and 3.5 a weighted one.
    shares = all(v <= 1 for v in numbers) and any(v != int(v) for v in numbers)
    if shares and not isclose(total, 1, abs_tol=1e-6):
        hint = "These bounds are for a cause of two values, and one joint distribution."
        raise InputError(argument, f"probabilities with sum {total:g}", "a sum of 1", hint)
    return [v / total for v in numbers]


def _share(arm: Any, argument: str) -> float:
    if isinstance(arm, tuple | list) and len(arm) == 2:
        events, n = (_number(v, argument) for v in arm)
        if not 0 <= events <= n or n == 0:
            raise InputError(argument, arm, "(events, n) with 0 <= events <= n and n > 0")
        return events / n
    share = _number(arm, argument)
    if share > 1:
        raise InputError(argument, arm, "a probability", "Counts are given as (events, n).")
    return share


def _number(value: Any, argument: str) -> float:
    fits = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not fits or not isfinite(value) or value < 0:
        raise InputError(argument, value, "finite numbers >= 0")
    return float(value)


def _two_columns(frame: Any, argument: str) -> tuple[BoolVector, BoolVector]:
    table = as_table(frame, argument=argument)
    if set(table.names) == {"False", "True"}:
        hint = "Pass its counts: pandas.crosstab(cause, effect).to_numpy()."
        raise InputError(argument, "a cross table", "a frame with a row per case", hint)
    if len(table.names) != 2:
        got = f"{len(table.names)} columns"
        raise InputError(argument, got, "exactly two columns: the cause, then the effect")
    read = []
    for j, name in enumerate(table.names):
        column = table.column(j)
        if not set(np.unique(column.astype(str))) <= {"True", "False", "0", "1", "0.0", "1.0"}:
            got = f"column {name!r} of other values"
            raise InputError(argument, got, "truth values, none missing")
        read.append(column.astype(bool))
    return cast(tuple[BoolVector, BoolVector], tuple(read))
