"""How a user wants columns to become conditions, checked against the data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np

from suffice.encodings.anchors.cells import (
    Cut,
    as_numbers,
    bounds_around,
    quantile_cuts,
    same_value,
)
from suffice.errors import InputError
from suffice.factors.kinds import Factor
from suffice.tables.table import Table

__all__ = ["BoundsName", "Cutting", "make_cutting"]

BoundsName = Literal["cell", "any"]


@dataclass(frozen=True)
class Cutting:
    """Checked: how many bins, cuts by column, columns that must be equal, which bounds count."""

    bins: int
    cuts: Mapping[int, Sequence[Cut]]
    equal: frozenset[int]
    bounds: BoundsName

    def chains(self, data: Table, row: Table, j: int) -> list[list[Factor]]:
        """What may be asked of a column: chains of factors, each the next one's weaker form.

        A value to be equal is a chain of one, and so is the cell of a number. Bounds are two
        chains, from below and from above.
        """
        name, value = data.names[j], row.column(j)
        numbers, mine = as_numbers(data, j), as_numbers(row, j)
        if j in self.equal or numbers is None or mine is None or np.isnan(mine[0]):
            return [[same_value(name, value)]]
        cuts = self.cuts.get(j)
        if cuts is None:
            if len(np.unique(numbers[~np.isnan(numbers)])) <= self.bins:
                return [[same_value(name, value)]]
            cuts = quantile_cuts(numbers, float(mine[0]), self.bins)
        lower, upper = bounds_around(name, value, cuts)
        if self.bounds == "any":
            return [lower, upper]
        if lower and upper:
            return [[lower[-1] & upper[-1]]]
        return [(lower or upper)[-1:]]


def make_cutting(
    data: Table,
    bins: object,
    cuts: object,
    categorical: Iterable[str],
    bounds: BoundsName,
) -> Cutting:
    """Raise where one of these is amiss."""
    if not isinstance(bins, int | np.integer) or isinstance(bins, bool) or bins < 2:
        raise InputError("bins", bins, "a whole number >= 2")
    if bounds not in ("cell", "any"):
        raise InputError("bounds", repr(bounds), "'cell' or 'any'")
    given = {} if cuts is None else cuts
    if not isinstance(given, Mapping):
        raise InputError("cuts", given, "{column: [increasing numbers]} or None")
    if isinstance(categorical, str):
        raise InputError("categorical", repr(categorical), "a list of columns")
    equal = frozenset(data.position(str(name), "categorical") for name in categorical)
    by_column = {data.position(str(name), "cuts"): _numbers(name, c) for name, c in given.items()}
    for j in by_column:
        if j in equal:
            got = f"column {data.names[j]!r}, which is also categorical"
            raise InputError("cuts", got, "columns of numbers that are not categorical")
        if as_numbers(data, j) is None:
            got = f"column {data.names[j]!r} of dtype {data.dtype(j)}"
            raise InputError("cuts", got, "columns of numbers", "Other columns must be equal.")
    return Cutting(int(bins), by_column, equal, bounds)


def _numbers(name: object, cuts: object) -> list[Cut]:
    """A column's cuts: one or more finite numbers, each larger than the one before."""
    given = np.asarray(cuts)
    fit = given.ndim == 1 and len(given) > 0 and given.dtype.kind in "iuf"
    if not fit or not np.isfinite(given).all() or (np.diff(given) <= 0).any():
        got = f"{cuts!r} for column {name!r}"
        raise InputError("cuts", got, "finite numbers, each larger than the one before")
    return [v.item() if isinstance(v, np.generic) else v for v in cast(Iterable[Cut], cuts)]
