"""What a rule may ask of one column: the interval between cuts, a bound, or the input's value.

Numbers are cut as Anchors cuts them, into intervals (low, high] between quantiles, open at both
ends of the scale. Everything else, and numbers that take only a few values, must be equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from suffice.checks import choice, names, whole
from suffice.errors import InputError, shorten
from suffice.factors.kinds import Factor
from suffice.factors.predicates import compare, equals
from suffice.tables import Table, plain, storable
from suffice.typing import Reals, Values
from suffice.wording import show

__all__ = ["Bounds", "Cutting", "bounds_around", "make_cutting", "quantile_cuts"]

Bounds = Literal["cell", "any"]
Cut = int | float


@dataclass(frozen=True)
class Cutting:
    """How a user wants columns to become conditions, checked against the data."""

    bins: int
    cuts: Mapping[int, Sequence[Cut]]
    """By position of the column."""
    equal: frozenset[int]
    """The columns whose value must be the input's, though they are numbers."""
    bounds: Bounds

    def chains(self, data: Table, row: Table, j: int) -> list[list[Factor]]:
        """What may be asked of a column: chains of factors, each the next one's weaker form.

        A value to be equal is a chain of one, and so is the cell of a number. Bounds are two
        chains, from below and from above.
        """
        name, value = data.names[j], row.column(j)
        numbers, mine = _as_numbers(data, j), _as_numbers(row, j)
        if j in self.equal or numbers is None or mine is None or np.isnan(mine[0]):
            return [[_same_value(name, value)]]
        cuts = self.cuts.get(j)
        if cuts is None:
            if len(np.unique(numbers[~np.isnan(numbers)])) <= self.bins:
                return [[_same_value(name, value)]]
            cuts = quantile_cuts(numbers, float(mine[0]), self.bins)
        lower, upper = bounds_around(name, value, cuts)
        if self.bounds == "any":
            return [lower, upper]
        if lower and upper:
            return [[lower[-1] & upper[-1]]]
        return [(lower or upper)[-1:]]


def make_cutting(
    data: Table, bins: object, cuts: object, categorical: object, bounds: object
) -> Cutting:
    """Raise where one of these is amiss."""
    if cuts is not None and not isinstance(cuts, Mapping):
        raise InputError("cuts", cuts, "{column: [increasing numbers]} or None")
    given = {storable(name): _increasing(storable(name), own) for name, own in (cuts or {}).items()}
    by_column = {data.position(name, "cuts"): own for name, own in given.items()}
    columns = names("categorical", categorical, "a column or a list of columns")
    equal = frozenset(data.position(name, "categorical") for name in columns)
    for j in by_column:
        if j in equal:
            got = f"column {data.names[j]!r}, which is also categorical"
            raise InputError("cuts", got, "columns of numbers that are not categorical")
        if _as_numbers(data, j) is None:
            got = f"column {data.names[j]!r} of dtype {data.dtype(j)}"
            raise InputError("cuts", got, "columns of numbers", "Other columns must be equal.")
    known: tuple[Bounds, ...] = ("cell", "any")
    return Cutting(whole("bins", bins, least=2), by_column, equal, choice("bounds", bounds, known))


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
    integers = bool((known == np.floor(known)).all() and np.abs(known).max() < 2**53)
    cuts: list[Cut] = []
    for cut in np.unique(_quantiles(finite, np.arange(1, bins) / bins)):
        above = int(np.searchsorted(known, cut, side="right"))
        if above < len(known):  # else nothing lies beyond it
            short = int(np.floor(cut)) if integers else _short(cut, known[above - 1], known[above])
            cuts.append(short)
    return sorted(set(cuts))


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


def _as_numbers(table: Table, position: int) -> Reals | None:
    """A column's values as floats, missing ones as NaN; None where it is no column of numbers."""
    # A category may well be written in digits: its dtype says that they do not count.
    if table.categories(position) is not None:
        return None
    values = table.column(position)
    if values.dtype.kind == "O":
        numbers = all(isinstance(v, int | float | np.number) for v in values)
        truths = any(isinstance(v, bool | np.bool_) for v in values)
        if truths or not numbers:
            return None
    elif values.dtype.kind not in "iuf":
        return None
    try:
        return values.astype(float)
    except OverflowError:  # whole numbers past every float can be equal, but not cut
        return None


def _same_value(name: str, value: Values) -> Factor:
    """The column has the input's value; `equals(column, None)` where that is missing."""
    try:
        factor = _equal(name, value)
        if bool(factor({name: value})[0]):
            return factor
    except (InputError, TypeError, ValueError):  # a date, a list, …: nothing a factor can name
        pass
    raise InputError(
        "features",
        f"column {name!r}, whose value {_told(value[0])} no rule can name",
        "columns of numbers, texts, categories or truth values",
        "List the features that rules may use with features=[…]; the others keep each row's own.",
    )


def _told(cell: object) -> str:
    return shorten(cell if isinstance(cell, list | tuple | dict) else show(plain(cell)))


def _equal(name: str, value: Values) -> Factor:
    from pandas import isna

    cell = value[0]
    if isinstance(cell, float | np.floating) and np.isinf(cell):  # JSON has no such number
        largest = float(np.finfo(value.dtype if value.dtype.kind == "f" else float).max)
        return compare(name, ">", largest) if cell > 0 else compare(name, "<", -largest)
    return equals(name, None if isna(cell) else cell)


def _increasing(name: object, cuts: object) -> list[Cut]:
    """A column's cuts: one or more finite numbers, each larger than the one before."""
    try:
        given = np.asarray(cuts)
    except ValueError:  # ragged lists
        given = np.empty(0)
    fit = given.ndim == 1 and len(given) > 0 and given.dtype.kind in "iuf"
    if not fit or not np.isfinite(given).all() or (np.diff(given) <= 0).any():
        got = f"{shorten(cuts)} for column {name!r}"
        raise InputError("cuts", got, "finite numbers, each larger than the one before")
    # As they were written: an array would make floats of whole numbers among them.
    as_written: Iterable[Cut] = given if isinstance(cuts, np.ndarray) else cuts  # type: ignore[assignment]
    return [v.item() if isinstance(v, np.generic) else v for v in as_written]


def _quantiles(finite: Reals, shares: Reals) -> Reals:
    """Between neighbours, as NumPy's own; of two that are too far apart to subtract, the lower."""
    with np.errstate(over="ignore", invalid="ignore"):
        between = np.quantile(finite, shares)
    lost = ~np.isfinite(between)
    return np.where(lost, np.quantile(finite, shares, method="lower"), between)


def _short(cut: float, low: float, high: float) -> float:
    """The number with the fewest digits, near the cut, that lies in [low, high) as the cut does."""
    for digits in range(1, 17):
        short = float(f"{cut:.{digits}g}")
        if low <= short < high:
            return short
    return float(cut)
