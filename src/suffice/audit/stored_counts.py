"""Counts of stored decisions, read column by column from Parquet for a group of rows at once.

Building an explanation of a row takes a millisecond, and reading its views as much again. The fast
path is valid for rows stored as plain counts: no correction over all of a row's counts, all set
sizes reported, and all sets equally likely under D. Other rows take the general path.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from suffice.audit.decision_counts import DecisionCounts, FlipCosts, SufficiencyLevels
from suffice.batch.factor_columns import minimal_sets_of_rows
from suffice.batch.load import Stored
from suffice.batch.stored_row import read_directions
from suffice.errors import InputError
from suffice.explanation import Change, Explanation, Player
from suffice.explanation.schema import ContextRecord, Direction
from suffice.factors.lattice import members_of
from suffice.inference import passing_taus
from suffice.typing import Counts, Reals, Scalar, SmallCounts, ViewName


def read_stored_counts(
    stored: Stored, names: Sequence[str], tau: float | None
) -> Iterator[DecisionCounts]:
    """Yield the counts of every decision of a stored batch, in order."""
    # An adjusted test depends on all counts of a row, and other weights on its context: both need
    # the explanation.
    shared, first = stored.manifest.shared, 0
    plain = shared.adjust == "none" and shared.size_weights is None
    plain = plain and (shared.max_size is None or shared.max_size >= shared.n_players)
    for table in stored.tables():
        group = _StoredRows(table, stored) if plain else None
        for i in range(len(table)):
            number = first + i
            if group is not None and group.has_counts[i]:
                yield _StoredCounts(number, names[number], group, i, tau)
            else:
                yield DecisionCounts(number, names[number], stored[number], tau)
        first += len(table)


class _StoredRows:
    """Columns of a group of stored rows; each is decoded at its first use."""

    def __init__(self, table: pa.Table, stored: Stored) -> None:
        self._table, self.stored, self.shared = table, stored, stored.manifest.shared
        self.features = tuple(name for name, _ in self.shared.players)
        self.has_counts = ~np.asarray(table["counts"].is_null())
        # Rows without counts have no place in the arrays of counts.
        self.where = np.cumsum(self.has_counts) - 1
        """Position of each row among the rows that have counts."""
        self.outcome = table["outcome"].to_pylist()
        self.tau: list[float] = table["tau"].to_pylist()
        self.complete: list[bool] = table["complete"].to_pylist()
        self.n = np.asarray(table["n_references"], dtype=np.int64)
        self._minimal_masks: dict[tuple[ViewName, float], tuple[Counts, Counts]] = {}

    @cached_property
    def keep(self) -> Any:
        """(rows with counts, sets): references that keep the outcome, by the mask held."""
        return self._counts("counts", self.has_counts)

    @cached_property
    def flip(self) -> Any:
        """(rows with counts, sets): references that flip the outcome, by the mask replaced.

        Replacing a set is holding its complement, and complements are numbered backwards.
        """
        own = ~np.asarray(self._table["flip_counts"].is_null())
        swept = self.keep
        if own.any():
            # Arrow's buffers are read-only, and `keep` needs its own counts unchanged.
            swept = swept.copy()
            swept[self.where[own]] = self._counts("flip_counts", own)
        # What does not keep the outcome flips it.
        return self.n[self.has_counts, None].astype(swept.dtype) - swept[:, ::-1]

    def _counts(self, column: str, there: Any) -> Any:
        cells, sets = _column(self._table, column), 1 << self.shared.n_players
        flat = np.asarray(cells.flatten())
        n = self.n[there]
        # A Parquet file may have been edited: counts index arrays below, so they are checked first.
        if len(flat) != len(n) * sets or flat.min(initial=0) < 0:
            raise InputError("counts", f"{len(flat)} counts", f"{sets} of each decision")
        found = flat.reshape(-1, sets)
        if (found.max(axis=1, initial=0) > n).any():
            raise InputError("counts", "more than there are references", "0 to n")
        return found

    def minimal_masks(self, view: ViewName, tau: float, row: int) -> list[int]:
        """Return the τ-minimal masks of one row; those of all rows are computed together."""
        key = view, tau
        if key not in self._minimal_masks:
            hits = self.keep if view == "keep" else self.flip
            n, alpha = self.n[self.has_counts], self.shared.alpha
            found = minimal_sets_of_rows(hits, n, tau, alpha)
            # Results are sorted by row, so each row is a slice.
            cuts = np.searchsorted(found.rows, np.arange(len(n) + 1))
            self._minimal_masks[key] = found.masks, cuts
        masks, cuts = self._minimal_masks[key]
        at = self.where[row]
        own: list[int] = masks[cuts[at] : cuts[at + 1]].tolist()
        return own

    @cached_property
    def inputs(self) -> list[str]:
        """Input values by column, as JSON text for each row."""
        texts: list[str] = self._table["values"].to_pylist()
        return texts

    @cached_property
    def changes(self) -> tuple[Counts, Counts, Reals, Counts]:
        """Offset of each row's first change; then masks, costs and donor numbers of all changes."""
        cells = _column(self._table, "changes")
        values = cells.values
        parts = [np.asarray(values.field(name)) for name in ("set", "cost", "donor")]
        return np.asarray(cells.offsets), parts[0], parts[1], parts[2]

    @cached_property
    def donors(self) -> tuple[Counts, Any]:
        """Offset of each row's first donor; then the values of all donors."""
        cells = _column(self._table, "donors")
        return np.asarray(cells.offsets), cells.values

    @cached_property
    def cheapest_cost(self) -> list[float | None]:
        """Cost of the cheapest change of each row."""
        costs: list[float | None] = self._table["cheapest_cost"].to_pylist()
        return costs

    @cached_property
    def directions(self) -> list[str | None]:
        """Directions of features as JSON text, for each row."""
        if "directions" not in self._table.column_names:  # stored by an earlier version
            return [None] * len(self._table)
        texts: list[str | None] = self._table["directions"].to_pylist()
        return texts

    def cheapest(self, row: int) -> tuple[list[str], str]:
        """Return the features of one row's cheapest change, and the new values as JSON."""
        cells = [self._table[f"cheapest_{what}"][row].as_py() for what in ("features", "change")]
        return cells[0], cells[1]


def _column(table: pa.Table, name: str) -> Any:
    column = table[name].combine_chunks()
    return column.chunk(0) if isinstance(column, pa.ChunkedArray) else column


class _StoredCounts(DecisionCounts):
    """Counts of one stored row, read from the columns of its group."""

    def __init__(
        self, number: int, name: str, group: _StoredRows, row: int, tau: float | None
    ) -> None:
        self.number, self.name, self._group, self._row = number, name, group, row
        self.outcome, self.features = group.outcome[row], group.features
        self.irrelevant_features = ()
        self.tau = group.tau[row] if tau is None else tau
        self.n_references, self.complete = int(group.n[row]), group.complete[row]

    @property
    def explanation(self) -> Explanation:
        return self._group.stored[self.number]

    @property
    def context(self) -> ContextRecord:
        return self._group.shared.provenance.context

    def hits(self, view: ViewName) -> SmallCounts:
        hits = self._group.keep if view == "keep" else self._group.flip
        found: SmallCounts = hits[self._group.where[self._row]]
        return found

    def levels(self, view: ViewName) -> SufficiencyLevels:
        taus = _levels_by_hits(self.n_references, self._group.shared.alpha)
        return SufficiencyLevels(self.hits(view), taus)

    def count_set(self, view: ViewName, mask: int) -> tuple[int, bool]:
        index, taus = self.levels(view)
        return int(index[mask]), bool(taus[index[mask]] >= self.tau)

    def minimal_masks(self, view: ViewName) -> list[int]:
        return self._group.minimal_masks(view, self.tau, self._row)

    def weights(self, view: ViewName) -> Reals:
        return _equal_weights(len(self.features))

    def size_weights(self, view: ViewName) -> None:
        return None

    def values(self, feature: int) -> Mapping[str, Scalar]:
        values = self.inputs
        return {column: values[column] for column in self._group.shared.players[feature][1]}

    @cached_property
    def inputs(self) -> Mapping[str, Scalar]:
        values: dict[str, Scalar] = msgspec.json.decode(self._group.inputs[self._row])
        return values

    @cached_property
    def flip_costs(self) -> FlipCosts:
        starts, masks, costs, _ = self._group.changes
        mine = slice(starts[self._row], starts[self._row + 1])
        return FlipCosts(masks[mine], costs[mine])

    @property
    def directions(self) -> Mapping[str, Direction]:
        return read_directions(self._group.directions[self._row])

    def change(self, mask: int) -> Change:
        starts, masks, costs, donors = self._group.changes
        start, stop = starts[self._row], starts[self._row + 1]
        # If a mask is stored twice, the later change is the one that a loaded explanation has.
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
def _levels_by_hits(n: int, alpha: float | None) -> Reals:
    return passing_taus(np.arange(n + 1), n, alpha, "none", 1)


@lru_cache(maxsize=16)
def _equal_weights(d: int) -> Reals:
    return np.ones(d + 1)
