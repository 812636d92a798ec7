"""A Boolean cause and a Boolean effect as data: a joint distribution, or the arms of a trial.

Users have these as probabilities, as counts, or as a row per case; here all become probabilities.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isclose, isfinite
from typing import Annotated, Any

import msgspec
import numpy as np

from suffice.checks import number
from suffice.errors import InputError
from suffice.tables import is_frame
from suffice.tables.frames import as_table
from suffice.typing import BoolVector, Values

__all__ = ["Arms", "Joint", "Probability", "read_arms", "read_joint"]

Probability = Annotated[float, msgspec.Meta(ge=0, le=1)]

CELLS = ((True, True), (True, False), (False, True), (False, False))


@dataclass(frozen=True)
class Joint(Mapping[tuple[bool, bool], float]):
    """P(cause, effect), the cause first: `no_yes` is P(x', y), which is also at [False, True]."""

    yes_yes: Probability
    yes_no: Probability
    no_yes: Probability
    no_no: Probability

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

    def __getitem__(self, cell: tuple[bool, bool]) -> float:
        cells = zip(CELLS, (self.yes_yes, self.yes_no, self.no_yes, self.no_no), strict=True)
        return dict(cells)[cell]

    def __iter__(self) -> Iterator[tuple[bool, bool]]:
        return iter(CELLS)

    def __len__(self) -> int:
        return len(CELLS)


@dataclass(frozen=True)
class Arms(Mapping[bool, float]):
    """P(y_x) and P(y_x'): the effect's share where the cause is set, and where it is prevented."""

    treated: Probability
    control: Probability

    def __getitem__(self, arm: bool) -> float:
        return {True: self.treated, False: self.control}[arm]

    def __iter__(self) -> Iterator[bool]:
        return iter((True, False))

    def __len__(self) -> int:
        return 2


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
    numbers = [number(argument, cell, "finite numbers >= 0", least=0) for cell in cells]
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


def _share(arm: Any, argument: str) -> float:
    allowed = "finite numbers >= 0"
    if isinstance(arm, tuple | list) and len(arm) == 2:
        events, n = (number(argument, v, allowed, least=0) for v in arm)
        if not 0 <= events <= n or n == 0:
            raise InputError(argument, arm, "(events, n) with 0 <= events <= n and n > 0")
        return events / n
    share = number(argument, arm, allowed, least=0)
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
    cause, effect = (_truths(table.column(j), table.names[j], argument) for j in range(2))
    return cause, effect


def _truths(values: Values, name: str, argument: str) -> BoolVector:
    """Truth values, or numbers that are 0 or 1; the text "False" is neither, and would be true."""
    plain = values.tolist()
    if not all(isinstance(v, bool | int | float) and v in (0, 1) for v in plain):
        raise InputError(argument, f"column {name!r} of other values", "truth values, none missing")
    return np.array(plain, dtype=bool)
