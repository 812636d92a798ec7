"""Stored decisions as audits read them: the columns of a group of rows, all at once.

Making an explanation of a row takes a millisecond, and asking its views as much again. This way is
valid for rows that are stored as plain counts, where no correction looks at all of a row's counts,
all sets are reported and D holds all of them alike; other rows take the general path.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from suffice.audit.decisions import ViewName
from suffice.audit.known import FromExplanation, Known, Levels, Priced
from suffice.errors import InputError
from suffice.explanation import Change, Explanation, Player
from suffice.factors.lattice import members_of
from suffice.inference import passing_levels
from suffice.many.load import Stored
from suffice.many.views import minimal_sets
from suffice.typing import Counts, Reals, Scalar, SmallCounts

__all__ = ["from_stored"]


def from_stored(stored: Stored, called: Sequence[str], tau: float | None) -> Iterator[Known]:
    """Every decision of a folder, in order."""
    shared, first = stored.manifest.shared, 0
    plain = shared.adjust == "none" and shared.size_weights is None
    plain = plain and (shared.max_size is None or shared.max_size >= shared.d)
    for table in stored.tables():
        group = _Group(table, stored) if plain else None
        for i in range(len(table)):
            number = first + i
            if group is not None and group.has_counts[i]:
                yield _FromGroup(number, called[number], group, i, tau)
            else:
                yield FromExplanation(number, called[number], stored[number], tau)
        first += len(table)


class _Group:
    """Some rows, column by column; each is made when it is first asked for."""

    def __init__(self, table: pa.Table, stored: Stored) -> None:
        self._table, self.stored, self.shared = table, stored, stored.manifest.shared
        self.features = tuple(name for name, _ in self.shared.players)
        self.has_counts = ~np.asarray(table["counts"].is_null())
        self.where = np.cumsum(self.has_counts) - 1
        """Of each row that has counts: its place among these."""
        self.outcome = table["outcome"].to_pylist()
        self.tau: list[float] = table["tau"].to_pylist()
        self.complete: list[bool] = table["complete"].to_pylist()
        self.n = np.asarray(table["n_references"], dtype=np.int64)
        self._minimal: dict[tuple[ViewName, float], tuple[Counts, Counts]] = {}

    @cached_property
    def keep(self) -> Any:
        """(rows with counts, sets): references that keep the outcome, by what is held."""
        return self._counts("counts", self.has_counts)

    @cached_property
    def flip(self) -> Any:
        """The same of those that flip it, by what is replaced: holding the complement."""
        own = ~np.asarray(self._table["flip_counts"].is_null())
        swept = self.keep
        if own.any():
            swept = swept.copy()
            swept[self.where[own]] = self._counts("flip_counts", own)
        return self.n[self.has_counts, None].astype(swept.dtype) - swept[:, ::-1]

    def _counts(self, column: str, there: Any) -> Any:
        cells, sets = _column(self._table, column), 1 << self.shared.d
        flat = np.asarray(cells.flatten())
        n = self.n[there]
        if len(flat) != len(n) * sets or flat.min(initial=0) < 0:
            raise InputError("counts", f"{len(flat)} counts", f"{sets} of each decision")
        found = flat.reshape(-1, sets)
        if (found.max(axis=1, initial=0) > n).any():
            raise InputError("counts", "more than there are references", "0 to n")
        return found

    def minimal(self, view: ViewName, tau: float, row: int) -> list[int]:
        """The τ-minimal sets of one row: all rows' are found together."""
        key = view, tau
        if key not in self._minimal:
            hits = self.keep if view == "keep" else self.flip
            n, alpha = self.n[self.has_counts], self.shared.alpha
            found = minimal_sets(hits, n, tau, alpha)
            cuts = np.searchsorted(found.rows, np.arange(len(n) + 1))
            self._minimal[key] = found.masks, cuts
        masks, cuts = self._minimal[key]
        at = self.where[row]
        own: list[int] = masks[cuts[at] : cuts[at + 1]].tolist()
        return own

    @cached_property
    def inputs(self) -> list[str]:
        """Values by column, as JSON."""
        texts: list[str] = self._table["values"].to_pylist()
        return texts

    @cached_property
    def changes(self) -> tuple[Counts, Counts, Reals, Counts]:
        """Where each row's begin; masks, costs and donors."""
        cells = _column(self._table, "changes")
        values = cells.values
        parts = [np.asarray(values.field(name)) for name in ("set", "cost", "donor")]
        return np.asarray(cells.offsets), parts[0], parts[1], parts[2]

    @cached_property
    def donors(self) -> tuple[Counts, Any]:
        """Where each row's begin, and all of them."""
        cells = _column(self._table, "donors")
        return np.asarray(cells.offsets), cells.values

    @cached_property
    def cheapest_cost(self) -> list[float | None]:
        """By row."""
        costs: list[float | None] = self._table["cheapest_cost"].to_pylist()
        return costs

    def cheapest(self, row: int) -> tuple[list[str], str]:
        """The features of one row's cheapest change, and their new values as JSON."""
        cells = [self._table[f"cheapest_{what}"][row].as_py() for what in ("features", "change")]
        return cells[0], cells[1]


def _column(table: pa.Table, name: str) -> Any:
    column = table[name].combine_chunks()
    return column.chunk(0) if isinstance(column, pa.ChunkedArray) else column


class _FromGroup(Known):
    """The fast path: one row of a group."""

    idle = ()

    def __init__(self, number: int, name: str, group: _Group, row: int, tau: float | None) -> None:
        self.number, self.name, self._group, self._row = number, name, group, row
        self.outcome, self.features = group.outcome[row], group.features
        self.tau = group.tau[row] if tau is None else tau
        self.n, self.complete = int(group.n[row]), group.complete[row]

    @property
    def explanation(self) -> Explanation:
        return self._group.stored[self.number]

    def hits(self, view: ViewName) -> SmallCounts | None:
        hits = self._group.keep if view == "keep" else self._group.flip
        found: SmallCounts = hits[self._group.where[self._row]]
        return found

    def levels(self, view: ViewName) -> Levels:
        hits = self.hits(view)
        assert hits is not None
        return Levels(hits, _levels(self.n, self._group.shared.alpha))

    def minimal(self, view: ViewName) -> list[int]:
        return self._group.minimal(view, self.tau, self._row)

    def weights(self, view: ViewName) -> Reals:
        return _ones(len(self.features))

    def values(self, player: int) -> Mapping[str, Scalar]:
        values = self.inputs
        return {column: values[column] for column in self._group.shared.players[player][1]}

    @cached_property
    def inputs(self) -> Mapping[str, Scalar]:
        values: dict[str, Scalar] = msgspec.json.decode(self._group.inputs[self._row])
        return values

    @cached_property
    def priced(self) -> Priced:
        starts, masks, costs, _ = self._group.changes
        mine = slice(starts[self._row], starts[self._row + 1])
        return Priced(masks[mine], costs[mine])

    def change(self, mask: int) -> Change:
        starts, masks, costs, donors = self._group.changes
        start, stop = starts[self._row], starts[self._row + 1]
        at = start + int(np.flatnonzero(masks[start:stop] == mask)[-1])
        begin, cells = self._group.donors
        text = cells[int(begin[self._row]) + int(donors[at])].as_py()
        values = msgspec.json.decode(text)
        players = tuple(self._player(j) for j in members_of(mask))
        new = {column: values[column] for player in players for column in player.values}
        return Change(players, new, float(costs[at]))

    @property
    def cheapest_cost(self) -> float | None:
        return self._group.cheapest_cost[self._row]

    @property
    def cheapest(self) -> Change | None:
        cost = self.cheapest_cost
        if cost is None:
            return None
        features, text = self._group.cheapest(self._row)
        players = tuple(self._player(self.features.index(name)) for name in features)
        return Change(players, msgspec.json.decode(text), cost)

    def _player(self, number: int) -> Player:
        return Player(self.features[number], self.values(number))


@lru_cache(maxsize=64)
def _levels(n: int, alpha: float | None) -> Reals:
    return passing_levels(np.arange(n + 1), n, alpha, "none", 1)


@lru_cache(maxsize=16)
def _ones(d: int) -> Reals:
    return np.ones(d + 1)
