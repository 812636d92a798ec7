"""Conversion of an explanation to the cells of a stored row, and back.

If every set of features was counted, the counts are stored by bit mask, and every τ can be answered
later without the model. Any other explanation is stored as its JSON record; if its search counted
more sets than `MAX_STORED_SETS`, the record holds the answer at its own τ only.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, NamedTuple

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from suffice.batch.manifest import RunConstants
from suffice.errors import InputError
from suffice.explanation import Change, Explanation, Player
from suffice.explanation.cheapest_changes import CheapestChanges
from suffice.explanation.schema import Direction, ExplanationRecord
from suffice.explanation.storage import only_at_its_tau, to_record, without_timing
from suffice.factors.lattice import members_of
from suffice.results import json_text, read_json
from suffice.search.exhaustive import Tally
from suffice.search.profile import Profile
from suffice.target import PredictionScore
from suffice.typing import Scalar, SmallCounts

MAX_STORED_SETS = 1 << 12
"""Number of sets whose counts are stored by default: the sets of 12 features."""

_SCALAR_KINDS = {str: "text", bool: "truth", int: "whole", float: "number", type(None): "missing"}


class ChangeColumns(NamedTuple):
    """Cheapest changes as columns: bit mask, cost, and the index of the donor of the values."""

    masks: list[int]
    costs: list[float]
    donors: list[int]


@dataclass(frozen=True, eq=False)
class StoredCells:
    """The cells from which an explanation is restored."""

    counts: SmallCounts | None
    """References that keep the outcome, by bit mask of the held set. None: see `record`."""
    flip_counts: SmallCounts | None
    """Counts like `counts` over the hybrids of the flip view, if these differ."""
    changes: ChangeColumns
    donors: list[str]
    """Values by column of each donor, as JSON."""
    record: str | None


JsonCache = dict[int, tuple[Mapping[str, Scalar], str]]
"""JSON texts by the id of the mapping, which is kept alive: references serve many explanations."""


def explanation_to_cells(
    e: Explanation, shared: RunConstants, counts: bool | None, cache: JsonCache
) -> StoredCells:
    """Return the cells of an explanation; `counts` None: store up to `MAX_STORED_SETS` counts."""
    visited = max(e.keep_profile.tally.visited, e.flip_profile.tally.visited)
    few = counts or (counts is None and visited <= MAX_STORED_SETS)
    if few and _has_plain_counts(e) and shared.matches(e):
        flip = None if e.one_sweep else e.flip_profile.other_view().tally.dense
        return StoredCells(e.keep_profile.tally.dense, flip, *_change_columns(e, cache), None)
    # A p-value under Holm or Benjamini–Hochberg depends on the counts of all sets.
    stays = few or e.keep_profile.adjust in ("holm", "bh")
    kept = e if stays else only_at_its_tau(e)
    provenance = without_timing(e.provenance, hybrids=_known_hybrids(e))
    return StoredCells(
        None,
        None,
        ChangeColumns([], [], []),
        [],
        json_text(to_record(replace(kept, provenance=provenance))),
    )


def _has_plain_counts(e: Explanation) -> bool:
    """Return whether counts of all sets are the whole answer, so that no record is needed."""
    keep, flip = e.keep_profile, e.flip_profile
    return (
        keep.tally.complete
        and flip.tally.complete
        and keep.findings is None
        and flip.findings is None
        and e.stopped is None
        and e.subject is None
    )


def _known_hybrids(e: Explanation) -> int:
    """Return the number of hybrids whose outcome is known, computed from the counts alone.

    The number in the provenance may depend on timing, and stored rows must not.
    """
    profiles = [e.keep_profile] if e.one_sweep else [e.keep_profile, e.flip_profile]
    return sum(
        p.tally.n << p.tally.d if p.necessity_is_exact(e.tau) else p.tally.n * p.tally.visited
        for p in profiles
    )


def _change_columns(e: Explanation, cache: JsonCache) -> tuple[ChangeColumns, list[str]]:
    """Return the cheapest changes as columns, and the values of their donors as JSON."""
    if isinstance(e.changes, CheapestChanges):  # a few references are donors of many sets
        priced = e.changes.priced
        rows = priced.rows.tolist()
        donors = {row: i for i, row in enumerate(dict.fromkeys(rows))}
        found = ChangeColumns(priced.masks, priced.costs.tolist(), [donors[row] for row in rows])
        return found, [_cached_json(e.changes.values_of(row), cache) for row in donors]
    listed = list(e.changes.values())
    costs, places = [change.cost for change in listed], list(range(len(listed)))
    return ChangeColumns(list(e.changes), costs, places), [values_to_json(c.values) for c in listed]


def _cached_json(values: Mapping[str, Scalar], cache: JsonCache) -> str:
    if id(values) not in cache:
        cache[id(values)] = values, values_to_json(values)
    return cache[id(values)][1]


@dataclass(frozen=True, eq=False)
class StoredChanges(Mapping[int, Change]):
    """Cheapest changes by bit mask of features; a change is made when it is looked up."""

    found: Mapping[int, tuple[float, int]]
    """Cost, and the index of the donor, by bit mask."""
    donors: list[dict[str, Scalar]]
    """Values by column of each donor."""
    players: tuple[Player, ...]

    def __getitem__(self, mask: int) -> Change:
        cost, donor = self.found[mask]
        values = self.donors[donor]
        players = tuple(self.players[j] for j in members_of(mask))
        return Change(players, {c: values[c] for p in players for c in p.values}, cost)

    def __iter__(self) -> Iterator[int]:
        return iter(self.found)

    def __len__(self) -> int:
        return len(self.found)


# Bounds also refuse NaN, which compares false with any number. A cost may be infinite.
_Number = Annotated[float, Meta(ge=-sys.float_info.max)]
_Cost = Annotated[float, Meta(ge=0)]


class _ChangeBounds(msgspec.Struct):
    set: Annotated[int, Meta(ge=0)]
    cost: _Cost
    donor: Annotated[int, Meta(ge=0)]


class _CellBounds(msgspec.Struct):
    """Types and bounds of the cells of a stored row; counts are checked by `_read_tally`."""

    prediction: str | None
    outcome: str
    other_outcome: str
    n_references: Annotated[int, Meta(ge=1)]
    tau: Annotated[float, Meta(gt=0, le=1)]
    score: _Number | None
    changes: list[_ChangeBounds]
    cheapest_cost: _Cost | None
    cheapest_reliability: Annotated[float, Meta(ge=0, le=1)] | None = None


def explanation_from_cells(cells: Mapping[str, Any], shared: RunConstants) -> Explanation:
    """Return the explanation of a stored row; an error if its cells are impossible."""
    if cells["record"] is not None:
        content = read_json(cells["record"], "a stored explanation")
        return Explanation._from_record(msgspec.convert(content, type=ExplanationRecord))
    n, d = cells["n_references"], shared.n_players
    _check_cells(cells, d)
    keep = Profile(
        _read_tally(cells["counts"], n, d),
        shared.alpha,
        shared.adjust,
        shared.max_size,
        shared.size_weights,
    )
    own = cells["flip_counts"]
    swept = keep if own is None else replace(keep, tally=_read_tally(own, n, d))
    players = shared.players_of(msgspec.json.decode(cells["values"]))
    found = {c["set"]: (c["cost"], c["donor"]) for c in cells["changes"]}
    score = cells["score"]
    return Explanation(
        prediction=scalar_from_cells(cells["prediction"], cells["prediction_kind"]),
        score=None if score is None else PredictionScore(score, cells["score_kind"]),
        outcome=cells["outcome"],
        other_outcome=cells["other_outcome"],
        players=players,
        tau=cells["tau"],
        keep_profile=keep,
        flip_profile=swept.other_view(),
        provenance=shared.provenance_of(n, (n << d) * (1 if own is None else 2)),
        changes=StoredChanges(found, _read_donors(cells["donors"], players), players),
        cheapest=_read_cheapest_change(cells, players),
        cheapest_ties=_read_ties(cells, players),
        directions=read_directions(cells.get("directions")),
        one_sweep=own is None,
    )


def _read_donors(texts: list[str], players: tuple[Player, ...]) -> list[dict[str, Scalar]]:
    """Return values by column of each donor; an error unless it has a value for each column."""
    donors = [msgspec.json.decode(text, type=dict[str, Scalar]) for text in texts]
    columns = {column for player in players for column in player.values}
    if not all(columns <= values.keys() for values in donors):
        raise InputError(
            "donors", "a donor without all columns", f"values of {len(columns)} columns"
        )
    return donors


def _check_cells(cells: Mapping[str, Any], d: int) -> None:
    """Raise for cells that no explanation of d players can have."""
    for change in msgspec.convert(cells, _CellBounds).changes:
        if change.set >> d or change.donor >= len(cells["donors"]):
            got = f"set {change.set} with donor {change.donor}"
            allowed = f"sets of {d} features and {len(cells['donors'])} donors"
            raise InputError("changes", got, allowed)


class _Tie(msgspec.Struct):
    """Another change of the same cost as the cheapest, as it is stored."""

    features: list[str]
    values: dict[str, Scalar]
    cost: _Cost
    reliability: Annotated[float, Meta(ge=0, le=1)]


def ties_to_json(ties: tuple[Change, ...]) -> str | None:
    """Return the other changes of the least cost as JSON; None where there are none."""
    stored = [_Tie(list(c.features), dict(c.values), c.cost, c.reliability) for c in ties]
    return msgspec.json.encode(stored).decode() if stored else None


def _read_ties(cells: Mapping[str, Any], players: tuple[Player, ...]) -> tuple[Change, ...]:
    text = cells.get("cheapest_ties")  # which folders of earlier versions do not have
    if text is None:
        return ()
    named = {player.name: player for player in players}
    return tuple(
        _make_change(tuple(named[name] for name in t.features), t.values, t.cost, t.reliability)
        for t in msgspec.json.decode(text, type=list[_Tie])
    )


def directions_to_json(directions: Mapping[str, Direction]) -> str | None:
    """Return the directions by feature as JSON; None where there are none."""
    return msgspec.json.encode(directions).decode() if directions else None


def read_directions(text: str | None) -> dict[str, Direction]:
    """Return the directions by feature; none where an earlier version stored the row."""
    return {} if text is None else msgspec.json.decode(text, type=dict[str, Direction])


def _read_cheapest_change(cells: Mapping[str, Any], players: tuple[Player, ...]) -> Change | None:
    if cells["cheapest_cost"] is None:
        return None
    named = {player.name: player for player in players}
    features = tuple(named[name] for name in cells["cheapest_features"])
    reliability = cells.get("cheapest_reliability")
    values = msgspec.json.decode(cells["cheapest_change"], type=dict[str, Scalar])
    cost = cells["cheapest_cost"]
    return _make_change(features, values, cost, 1.0 if reliability is None else reliability)


def _make_change(
    features: tuple[Player, ...], values: dict[str, Scalar], cost: float, reliability: float
) -> Change:
    """Return a change that was stored; an error unless it has the columns of its features."""
    if values.keys() != {column for player in features for column in player.values}:
        got = f"a change of {', '.join(values) or 'nothing'}"
        raise InputError("cheapest_change", got, "values of the columns of its features")
    return Change(features, values, cost, reliability)


def _read_tally(given: NDArray[np.integer[Any]], n: int, d: int) -> Tally:
    counts = np.asarray(given, dtype=np.int64)
    if len(counts) != 1 << d or counts.min() < 0 or counts.max() > n:
        raise InputError("counts", f"{len(counts)} counts", f"{1 << d} of 0 to {n}")
    return Tally.of_dense(counts, n)


def scalar_to_cells(value: Scalar) -> tuple[str | None, str]:
    """Return a value as text, and its kind, from which `scalar_from_cells` restores it.

    >>> scalar_to_cells("granted"), scalar_to_cells(True), scalar_to_cells(0.1)
    (('granted', 'text'), ('true', 'truth'), ('0.1', 'number'))
    """
    kind = _SCALAR_KINDS[type(value)]
    if value is None or isinstance(value, str):
        return value, kind
    return msgspec.json.encode(value).decode(), kind


def scalar_from_cells(text: str | None, kind: str) -> Scalar:
    """Return the value with this text and kind.

    >>> (scalar_from_cells("7", "whole"), scalar_from_cells("7", "text"),
    ...  scalar_from_cells("7.0", "number"))
    (7, '7', 7.0)
    """
    if kind in ("text", "missing") or text is None:
        return text
    if kind == "truth":
        return text == "true"
    return int(text) if kind == "whole" else float(text)


def values_to_json(values: Mapping[str, Scalar]) -> str:
    """Return values by column as JSON."""
    return msgspec.json.encode(dict(values)).decode()
