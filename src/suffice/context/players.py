"""Players: the d things that are held or replaced. A column each, or a group of columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from suffice.errors import InputError, did_you_mean, shorten
from suffice.tables.cells import storable
from suffice.tables.table import Table
from suffice.typing import Counts

__all__ = ["Players", "make_players"]

Groups = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Players:
    """Names, and the positions of the columns that move together under each name."""

    names: tuple[str, ...]
    columns: tuple[tuple[int, ...], ...]

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def of_column(self) -> Counts:
        """For each column, its player."""
        out = np.empty(sum(map(len, self.columns)), dtype=np.int64)
        for player, columns in enumerate(self.columns):
            out[list(columns)] = player
        return out

    def numbers(self, features: object, argument: str = "features") -> tuple[int, ...]:
        """Read names of players as their numbers; `argument` is what the user calls them."""
        if isinstance(features, bytes) or not isinstance(features, Iterable):
            raise InputError(argument, features, "names of features")
        listed = [features] if isinstance(features, str) else features
        asked = [_name(name, argument) for name in listed]
        for name in asked:
            if name not in self.names:
                hint = did_you_mean(name, self.names)
                raise InputError(argument, f"unknown feature {name!r}", "known features", hint)
        return tuple(sorted({self.names.index(name) for name in asked}))


def _name(given: object, argument: str) -> str:
    """A name as tables have it: of a column called 1 it is "1"."""
    try:
        return str(given)
    except Exception as error:  # an object that cannot be shown is no name
        raise InputError(argument, given, "names of features") from error


def make_players(table: Table, groups: Groups | None = None) -> Players:
    """One player per column, except where `groups` makes one of several.

    >>> from suffice.tables.frames import as_table
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
    """Groups by name, each with the names of its columns, which may be given as numbers, too."""
    if groups is None:
        return {}
    if not isinstance(groups, Mapping):
        raise InputError("groups", groups, '{"name": [columns]} or None')
    found = {}
    for name, members in groups.items():
        if not isinstance(name, str):
            raise InputError("groups", f"the name {shorten(name)}", "names that are text")
        columns = isinstance(members, Iterable) and not isinstance(members, str | bytes | Mapping)
        found[storable(name)] = [storable(m) for m in members] if columns else []
        if not found[storable(name)]:
            got = f"{name!r}: {shorten(members)}"
            raise InputError("groups", got, "a list of columns per group")
    return found
