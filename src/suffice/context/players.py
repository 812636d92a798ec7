"""Players: the features that are held or replaced (columns or groups); groups by correlation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from suffice.errors import InputError, did_you_mean, short_repr
from suffice.tables import column_codes
from suffice.tables.cells import distinct_rows, missing_mask, utf8_text
from suffice.tables.table import Table
from suffice.typing import BoolVector, Counts, Reals, Values
from suffice.validation import check_number

ColumnGroups = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Players:
    """Names, and the positions of the columns that move together under each name."""

    names: tuple[str, ...]
    columns: tuple[tuple[int, ...], ...]

    def __len__(self) -> int:
        return len(self.names)

    def take(self, numbers: Iterable[int]) -> Players:
        """Return the players of these numbers, in this order."""
        chosen = tuple(numbers)
        return Players(tuple(self.names[p] for p in chosen), tuple(self.columns[p] for p in chosen))

    @cached_property
    def of_column(self) -> Counts:
        """Index of each column's player."""
        out = np.empty(sum(map(len, self.columns)), dtype=np.int64)
        for player, columns in enumerate(self.columns):
            out[list(columns)] = player
        return out

    def codes(self, columns: Counts) -> Counts:
        """Return (rows, d): integers, equal where two rows agree on all columns of a player.

        `columns` has such integers per column (`Table.codes`). They are numbered as they appear, so
        the first row has 0 for every player.
        """
        parts = (columns[:, list(positions)] for positions in self.columns)
        return np.stack([distinct_rows(part)[0] for part in parts], axis=1)

    def indices(self, features: object, argument: str = "features") -> tuple[int, ...]:
        """Return the indices of named players; `argument` names the argument in errors."""
        if isinstance(features, bytes) or not isinstance(features, Iterable):
            raise InputError(argument, features, "names of features")
        listed = [features] if isinstance(features, str) else features
        asked = [_player_name(name, argument) for name in listed]
        for name in asked:
            if name not in self.names:
                hint = did_you_mean(name, self.names)
                raise InputError(argument, f"unknown feature {name!r}", "known features", hint)
        return tuple(sorted({self.names.index(name) for name in asked}))


def _player_name(given: object, argument: str) -> str:
    """Return a name as tables have it: that of a column called 1 is "1"."""
    try:
        return str(given)
    except Exception as error:  # an object that cannot be shown is no name
        raise InputError(argument, given, "names of features") from error


def make_players(table: Table, groups: ColumnGroups | None = None) -> Players:
    """Return one player per column, or per group of columns in `groups`.

    >>> from suffice.tables.conversion import as_table
    >>> t = as_table([[1, 0, 0]], names=["age", "red", "blue"])
    >>> make_players(t, {"colour": ["red", "blue"]}).names
    ('age', 'colour')
    """
    known = _read_groups(groups)
    owner: dict[int, str] = {}
    for name, members in known.items():
        for member in members:
            column = table.position(member, "groups")
            if column in owner:
                raise InputError(
                    "groups",
                    f"{member!r} in both {owner[column]!r} and {name!r}",
                    "each column in one group at most",
                )
            owner[column] = name
    names: dict[str, list[int]] = {}
    for column, label in enumerate(table.names):
        player = owner.get(column, label)
        if column not in owner and player in known:
            raise InputError(
                "groups",
                f"group {player!r}, which is also a column outside it",
                "group names that no other column has",
            )
        names.setdefault(player, []).append(column)
    return Players(tuple(names), tuple(tuple(columns) for columns in names.values()))


def _read_groups(groups: object) -> dict[str, list[str]]:
    """Return groups as {name: names of columns}; columns may be given by labels of any type."""
    if groups is None:
        return {}
    if not isinstance(groups, Mapping):
        raise InputError("groups", groups, '{"name": [columns]} or None')
    found = {}
    for name, members in groups.items():
        if not isinstance(name, str):
            raise InputError("groups", f"the name {short_repr(name)}", "names that are text")
        columns = isinstance(members, Iterable) and not isinstance(members, str | bytes | Mapping)
        found[utf8_text(name)] = [utf8_text(m) for m in members] if columns else []
        if not found[utf8_text(name)]:
            got = f"{name!r}: {short_repr(members)}"
            raise InputError("groups", got, "a list of columns per group")
    return found


# Groups of correlated columns: the paper's "higher level of abstraction", found in the data.


_MAX_NAMES = 2


def auto_groups(table: Table, threshold: float = 0.7) -> dict[str, list[str]]:
    """Join columns whose association is on average at least `threshold`.

    Columns that go with no other, and constant ones, are in no group.

    >>> from suffice.tables.conversion import as_table
    >>> rows = [[1, 10, 5], [2, 25, 1], [3, 31, 4], [4, 44, 2], [5, 49, 3]]
    >>> auto_groups(as_table(rows, names=["income", "debt", "age"]))
    {'income + debt': ['income', 'debt']}
    """
    least = check_number("threshold", threshold, "a number in (0, 1]", above=0, most=1)
    return cluster_columns(table.names, association_matrix(table), least)


def cluster_columns(names: Sequence[str], close: Reals, least: float = 0.7) -> dict[str, list[str]]:
    """Join columns as `auto_groups` does, from the association of each pair."""
    if len(names) < 2:
        return {}
    from scipy.cluster.hierarchy import fcluster, linkage  # slow to import, so not at start-up
    from scipy.spatial.distance import squareform

    # Average linkage: a column joins a group if it is close to its members on average, so that
    # chains of pairwise close columns do not grow into one group.
    apart = squareform(1.0 - close, checks=False)
    labels = fcluster(linkage(apart, "average"), 1.0 - least + 1e-9, "distance")
    clusters: dict[int, list[str]] = {}
    for label, name in zip(labels.tolist(), names, strict=True):
        clusters.setdefault(label, []).append(name)
    taken = set(names)
    return {_group_name(c, taken): c for c in clusters.values() if len(c) > 1}


def duplicate_columns(table: Table, close: Reals) -> tuple[tuple[str, ...], ...]:
    """Return groups of columns that determine each other in every row, numbers by their order.

    A number is no copy of a category that determines it: several categories may have one number.

    >>> from suffice.tables.conversion import as_table
    >>> rows = as_table([[1, 12, 5], [2, 24, 1], [3, 36, 5]], names=["years", "months", "debt"])
    >>> duplicate_columns(rows, association_matrix(rows))
    (('years', 'months'),)
    """
    numeric = np.array([_is_numeric(table.column(j)) for j in range(len(table.names))])
    same = (close == 1.0) & (numeric[:, None] == numeric)
    first = same.argmax(axis=1)
    groups = (np.flatnonzero(first == j) for j in np.unique(first))
    return tuple(tuple(table.names[j] for j in group) for group in groups if len(group) > 1)


def association_matrix(table: Table) -> Reals:
    """Return (columns, columns): the association of each pair, from 0 to 1."""
    columns = [_rank_column(table.column(j)) for j in range(len(table.names))]
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


class _RankedColumn(NamedTuple):
    """Ranks of a numeric column or codes of another, and a mask of cells that are present."""

    numeric: bool
    ranks: Reals
    present: BoolVector


def _rank_column(values: Values) -> _RankedColumn:
    import pandas as pd

    present = ~missing_mask(values)
    if _is_numeric(values):
        if values.dtype.kind == "O":
            values = np.where(present, values, np.nan).astype(float)
        ranks = pd.Series(values).rank().to_numpy(dtype=float)
        return _RankedColumn(True, np.where(present, ranks, 0.0), present)
    return _RankedColumn(False, column_codes(values).astype(float), present)


def _is_numeric(values: Values) -> bool:
    if values.dtype.kind != "O":
        return values.dtype.kind in "biufmM"
    known = values[~missing_mask(values)]  # of a nullable dtype, whose cells are objects
    return bool(len(known)) and all(isinstance(v, int | float | np.number) for v in known)


def _spearman(ranks: Reals, present: BoolVector) -> Reals:
    """Return |ρ| of each pair of columns, over the rows in which both are present."""
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
    """Return the correlation ratio of ranks between categories, less what chance explains (ε)."""
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
    """Return Cramér's V with Bergsma's correction."""
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


def _group_name(columns: list[str], taken: set[str]) -> str:
    """Return a name of the first columns and a count of the rest, different from those taken."""
    shown = " + ".join(columns[:_MAX_NAMES])
    more = len(columns) - _MAX_NAMES
    name = f"{shown} … +{more}" if more > 0 else shown
    while name in taken:
        name += " (group)"
    taken.add(name)
    return name
