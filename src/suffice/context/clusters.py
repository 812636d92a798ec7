"""Groups of correlated columns: the paper's "higher level of abstraction", found in the data.

With many columns that say much the same, single columns are poor players: no small set suffices,
because what is replaced in one column is still held in its twin, and hybrids mix values that never
occur together. `auto_groups` joins such columns into one player each.

How strongly two columns go together is a number from 0 to 1: Spearman's |ρ| for two numbers,
Cramér's V for two categories, the correlation ratio of ranks for one of each. The last two are
corrected for bias (Bergsma 2013; Kelley's ε²), or a column of many rare categories would seem to
go with everything. Rows where either is missing are left out. Average-linkage clustering of
1 - association is cut at 1 - threshold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from suffice.checks import number
from suffice.tables import Table, column_codes
from suffice.typing import BoolVector, Counts, Reals, Values

__all__ = ["association", "auto_groups", "copies_among", "join_close"]

_NAMES_SHOWN = 2


def auto_groups(table: Table, threshold: float = 0.7) -> dict[str, list[str]]:
    """Join columns whose association is on average at least `threshold`.

    Columns that go with no other, and constant ones, are in no group.

    >>> from suffice.tables.frames import as_table
    >>> rows = [[1, 10, 5], [2, 25, 1], [3, 31, 4], [4, 44, 2], [5, 49, 3]]
    >>> auto_groups(as_table(rows, names=["income", "debt", "age"]))
    {'income + debt': ['income', 'debt']}
    """
    least = number("threshold", threshold, "a number in (0, 1]", above=0, most=1)
    return join_close(table.names, association(table), least)


def join_close(names: Sequence[str], close: Reals, least: float = 0.7) -> dict[str, list[str]]:
    """The same, from how strongly each two columns go together."""
    if len(names) < 2:
        return {}
    from scipy.cluster.hierarchy import fcluster, linkage  # slow to import, so not at start-up
    from scipy.spatial.distance import squareform

    apart = squareform(1.0 - close, checks=False)
    labels = fcluster(linkage(apart, "average"), 1.0 - least + 1e-9, "distance")
    clusters: dict[int, list[str]] = {}
    for label, name in zip(labels.tolist(), names, strict=True):
        clusters.setdefault(label, []).append(name)
    taken = set(names)
    return {_name(c, taken): c for c in clusters.values() if len(c) > 1}


def copies_among(table: Table, close: Reals) -> tuple[tuple[str, ...], ...]:
    """Columns that are perfect copies: in every row each tells the other, numbers by their order.

    A number and a category that tells it are no copies: many categories may have one number.

    >>> from suffice.tables.frames import as_table
    >>> rows = as_table([[1, 12, 5], [2, 24, 1], [3, 36, 5]], names=["years", "months", "debt"])
    >>> copies_among(rows, association(rows))
    (('years', 'months'),)
    """
    numeric = np.array([_prepare(table.column(j)).numeric for j in range(len(table.names))])
    same = (close == 1.0) & (numeric[:, None] == numeric)
    first = same.argmax(axis=1)
    groups = (np.flatnonzero(first == j) for j in np.unique(first))
    return tuple(tuple(table.names[j] for j in group) for group in groups if len(group) > 1)


def association(table: Table) -> Reals:
    """(columns, columns): how strongly each two go together, from 0 to 1."""
    columns = [_prepare(table.column(j)) for j in range(len(table.names))]
    out = np.eye(len(columns))
    numeric = [j for j, column in enumerate(columns) if column.numeric]
    if numeric:
        ranks = np.stack([columns[j].ranks for j in numeric], axis=1)
        present = np.stack([columns[j].present for j in numeric], axis=1)
        out[np.ix_(numeric, numeric)] = _spearman(ranks, present)
    for j, category in enumerate(columns):
        for i, other in enumerate(columns):
            if category.numeric or (i >= j and not other.numeric):
                continue
            both = category.present & other.present
            measure = _correlation_ratio if other.numeric else _cramers_v
            codes = category.ranks[both].astype(np.int64)
            out[i, j] = out[j, i] = measure(other.ranks[both], codes)
    # Sums in another order of rows differ in the last digits, and must not decide a tie.
    rounded: Reals = np.clip(out, 0.0, 1.0).round(9)
    return rounded


class _Column(NamedTuple):
    """A column's ranks, or a category's codes, and where it is not missing."""

    numeric: bool
    ranks: Reals
    present: BoolVector


def _prepare(values: Values) -> _Column:
    import pandas as pd

    present = ~np.asarray(pd.isna(values))
    if values.dtype.kind == "O" and _numbers(values[present]):
        values = np.where(present, values, np.nan).astype(float)  # a nullable dtype's values
    if values.dtype.kind in "biufmM":
        ranks = pd.Series(values).rank().to_numpy(dtype=float)
        return _Column(True, np.where(present, ranks, 0.0), present)
    return _Column(False, column_codes(values).astype(float), present)


def _numbers(values: Values) -> bool:
    return bool(len(values)) and all(isinstance(v, int | float | np.number) for v in values)


def _spearman(ranks: Reals, present: BoolVector) -> Reals:
    """|ρ| of each two columns over the rows that have both, as matrix products over all pairs."""
    there = present.astype(float)
    # Centred first: sums of large ranks would cancel badly.
    centred = np.where(present, ranks - ranks.sum(axis=0) / np.maximum(there.sum(axis=0), 1), 0.0)
    n = np.maximum(there.T @ there, 1.0)
    total = centred.T @ there  # [i, j]: the sum of column i over the rows that have j too
    squares = (centred**2).T @ there - total**2 / n
    scale = np.sqrt(np.maximum(squares * squares.T, 0.0))
    together = np.abs(centred.T @ centred - total * total.T / n)
    out = np.divide(together, scale, out=np.zeros_like(scale), where=scale > 1e-9 * n**2)
    np.fill_diagonal(out, 1.0)
    return np.asarray(out)


def _correlation_ratio(ranks: Reals, codes: Counts) -> float:
    """η of ranks between categories, as ε: the share of variance beyond what chance explains."""
    sizes = np.bincount(codes)
    n, k = len(codes), int((sizes > 0).sum())
    centred = ranks - ranks.mean() if n else ranks
    total = float(centred @ centred)
    if k < 2 or n <= k or total <= 0:
        return 0.0
    sums = np.bincount(codes, weights=centred)
    between = float((sums[sizes > 0] ** 2 / sizes[sizes > 0]).sum())
    return float(np.sqrt(max(0.0, between - (k - 1) * (total - between) / (n - k)) / total))


def _cramers_v(first: Reals, second: Counts) -> float:
    """Cramér's V with Bergsma's correction."""
    _, a = np.unique(first, return_inverse=True)
    _, b = np.unique(second, return_inverse=True)
    n = len(a)
    r, c = (int(codes.max()) + 1 if n else 0 for codes in (a, b))
    if min(r, c) < 2:
        return 0.0
    # Cells that occur are at most n; a full table of r × c could be far larger.
    cells, seen = np.unique(a * c + b, return_counts=True)
    expected = np.bincount(a)[cells // c] * np.bincount(b)[cells % c]
    phi = float((seen**2 / expected).sum()) - 1.0
    phi = max(0.0, phi - (r - 1) * (c - 1) / (n - 1))
    rows, columns = r - (r - 1) ** 2 / (n - 1), c - (c - 1) ** 2 / (n - 1)
    return float(np.sqrt(phi / m)) if (m := min(rows, columns) - 1) > 0 else 0.0


def _name(columns: list[str], taken: set[str]) -> str:
    """The first columns' names and how many more; never a name that is taken."""
    shown = " + ".join(columns[:_NAMES_SHOWN])
    more = len(columns) - _NAMES_SHOWN
    name = f"{shown} … +{more}" if more > 0 else shown
    while name in taken:
        name += " (group)"
    taken.add(name)
    return name
