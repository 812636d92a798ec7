"""One column's condition: the interval between cuts that an input's number lies in, or its value.

Numbers are cut as Anchors cuts them, into intervals (low, high] between quantiles, open at both
ends of the scale. Everything else, and numbers that take only a few values, must be equal.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from suffice.errors import InputError
from suffice.factors.kinds import Factor
from suffice.factors.predicates import compare, equals
from suffice.tables.table import Table
from suffice.typing import Reals, Values

__all__ = ["Cut", "as_numbers", "bounds_around", "quantile_cuts", "same_value"]

Cut = int | float


def as_numbers(table: Table, position: int) -> Reals | None:
    """A column's values as floats, missing ones as NaN; None where it is no column of numbers."""
    # A category may well be written in digits: its dtype says that they do not count.
    if table.dtype(position).startswith(("Categor", "Enum")):
        return None
    values = table.column(position)
    if values.dtype.kind == "O":
        numbers = all(isinstance(v, int | float | np.number) for v in values)
        truths = any(isinstance(v, bool | np.bool_) for v in values)
        return values.astype(float) if numbers and not truths else None
    return values.astype(float) if values.dtype.kind in "iuf" else None


def quantile_cuts(values: Reals, also: float, bins: int) -> list[Cut]:
    """Cuts between `bins` bins of about as many values each, the duplicates dropped.

    Each is written as short as can be without parting the values, or the number `also`, otherwise.

    >>> quantile_cuts(np.array([0.1234, 0.2345, 0.3456, 0.4567]), 0.3, bins=2)
    [0.29]
    >>> quantile_cuts(np.arange(10.0), 3.0, bins=4)
    [2, 4, 6]
    """
    finite = values[np.isfinite(values)]
    if not len(finite):
        return []
    known = np.unique(np.append(finite, also))
    whole = bool((known == np.floor(known)).all() and np.abs(known).max() < 2**53)
    cuts: list[Cut] = []
    for cut in np.unique(np.quantile(finite, np.arange(1, bins) / bins)):
        above = int(np.searchsorted(known, cut, side="right"))
        if above < len(known):  # else nothing lies beyond it
            short = int(np.floor(cut)) if whole else _short(cut, known[above - 1], known[above])
            cuts.append(short)
    return sorted(set(cuts))


def _short(cut: float, low: float, high: float) -> float:
    """The number with the fewest digits, near the cut, that lies in [low, high) as the cut does."""
    for digits in range(1, 17):
        short = float(f"{cut:.{digits}g}")
        if low <= short < high:
            return short
    return float(cut)


def bounds_around(
    name: str, value: Values, cuts: Sequence[Cut]
) -> tuple[list[Factor], list[Factor]]:
    """The lower and the upper bounds that hold of an input's value (a column of one row).

    The tightest come last: together they are the interval (low, high] that the value lies in. The
    column itself is compared, in its own dtype, just as the factors will compare it.

    >>> bounds_around("age", np.array([33]), [20, 30, 45])
    ([compare('age', '>', 20), compare('age', '>', 30)], [compare('age', '<=', 45)])
    """
    above = [bool((value > cut)[0]) for cut in cuts]
    pairs = list(zip(cuts, above, strict=True))
    lower = [compare(name, ">", cut) for cut, beyond in pairs if beyond]
    upper = [compare(name, "<=", cut) for cut, beyond in reversed(pairs) if not beyond]
    return lower, upper


def same_value(name: str, value: Values) -> Factor:
    """The column has the input's value; `equals(column, None)` where that is missing."""
    from pandas import isna

    try:
        factor = equals(name, None if isna(value[0]) else value[0])
        if bool(factor({name: value})[0]):
            return factor
    except (InputError, ValueError):  # a date, a list, …: no value that a factor can name
        pass
    raise InputError(
        "columns",
        f"column {name!r}, whose value {value[0]!r} no rule can name",
        "columns of numbers, texts, categories or truth values",
        "List the columns that rules may use with columns=[…]; the others keep each row's own.",
    )
