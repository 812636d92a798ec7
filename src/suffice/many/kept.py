"""What is kept of one explanation, in the cells of a row, and the explanation that they give back.

Where every set of a table's features was counted, the counts are kept, by bit mask: every τ can be
asked later, without the model. Whatever is not of that plain form is kept as its record, in JSON;
one of a search that counted more sets than `MOST_KEPT`, at its own τ only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from suffice.errors import InputError
from suffice.explanation import Change, Explanation, Player
from suffice.explanation.changes import CheapestChanges
from suffice.explanation.explanation import mirrored
from suffice.explanation.record import ExplanationRecord
from suffice.explanation.storing import at_its_tau, record_of, without_pace
from suffice.factors.lattice import members_of
from suffice.many.shared import Shared
from suffice.results import json_text, read_json
from suffice.search.profile import Profile
from suffice.search.tally import Tally
from suffice.target import OwnScore
from suffice.typing import Scalar, SmallCounts

__all__ = [
    "MOST_KEPT",
    "Kept",
    "Written",
    "keep_of",
    "read_kept",
    "read_scalar",
    "scalar_cells",
    "to_json",
]

MOST_KEPT = 1 << 12
"""Sets whose counts are kept unless it is said otherwise: those of 12 features."""

_KINDS = {str: "text", bool: "truth", int: "whole", float: "number", type(None): "missing"}


class Changes(NamedTuple):
    """Cheapest changes, one place in each: bit mask, cost, and the number of whose values do it."""

    masks: list[int]
    costs: list[float]
    donors: list[int]


@dataclass(frozen=True, eq=False)
class Kept:
    """The cells that give an explanation back."""

    counts: SmallCounts | None
    """By bit mask of what is held: references that keep the outcome. None: see `record`."""
    flip_counts: SmallCounts | None
    """The same of the hybrids that the flip view reads, where it reads others."""
    changes: Changes
    donors: list[str]
    """Values by column, as JSON."""
    record: str | None


Written = dict[int, tuple[Mapping[str, Scalar], str]]
"""What was written of values, by which object they are: references serve many explanations."""


def keep_of(e: Explanation, shared: Shared, counts: bool | None, written: Written) -> Kept:
    """What is kept of an explanation; `counts` None: those of up to `MOST_KEPT` sets."""
    visited = max(e.keep_profile.tally.visited, e.flip_profile.tally.visited)
    few = counts or (counts is None and visited <= MOST_KEPT)
    if few and _is_plain(e) and shared.fits(e):
        flip = None if e.one_sweep else mirrored(e.flip_profile).tally.dense
        return Kept(e.keep_profile.tally.dense, flip, *_changes(e, written), None)
    # Holm and Benjamini–Hochberg look at all counts to say what a factor's p-value is.
    stays = few or e.keep_profile.adjust in ("holm", "bh")
    kept = e if stays else at_its_tau(e)
    provenance = without_pace(e.provenance, hybrids=_known_hybrids(e))
    return Kept(
        None,
        None,
        Changes([], [], []),
        [],
        json_text(record_of(replace(kept, provenance=provenance))),
    )


def _is_plain(e: Explanation) -> bool:
    """Was every set counted, and is nothing known besides?"""
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
    """Hybrids whose outcome is known, as far as the counts tell."""
    profiles = [e.keep_profile] if e.one_sweep else [e.keep_profile, e.flip_profile]
    return sum(
        p.tally.n << p.tally.d if p.covers_exactly(e.tau) else p.tally.n * p.tally.visited
        for p in profiles
    )


def _changes(e: Explanation, written: Written) -> tuple[Changes, list[str]]:
    if isinstance(e.changes, CheapestChanges):  # a few rows serve many sets
        priced = e.changes.priced
        rows = priced.rows.tolist()
        donors = {row: i for i, row in enumerate(dict.fromkeys(rows))}
        found = Changes(priced.masks, priced.costs.tolist(), [donors[row] for row in rows])
        return found, [_once(e.changes.values_of(row), written) for row in donors]
    listed = list(e.changes.values())
    costs, places = [change.cost for change in listed], list(range(len(listed)))
    return Changes(list(e.changes), costs, places), [to_json(c.values) for c in listed]


def _once(values: Mapping[str, Scalar], written: Written) -> str:
    if id(values) not in written:
        written[id(values)] = values, to_json(values)
    return written[id(values)][1]


@dataclass(frozen=True, eq=False)
class StoredChanges(Mapping[int, Change]):
    """By bit mask of features: the cost, and the number of the values that do it."""

    found: Mapping[int, tuple[float, int]]
    donors: list[str]
    players: tuple[Player, ...]

    def __getitem__(self, mask: int) -> Change:
        cost, donor = self.found[mask]
        values = self._values[donor]
        players = tuple(self.players[j] for j in members_of(mask))
        return Change(players, {c: values[c] for p in players for c in p.values}, cost)

    @cached_property
    def _values(self) -> list[dict[str, Scalar]]:
        return [msgspec.json.decode(text) for text in self.donors]

    def __iter__(self) -> Iterator[int]:
        return iter(self.found)

    def __len__(self) -> int:
        return len(self.found)


def read_kept(cells: Mapping[str, Any], shared: Shared) -> Explanation:
    """The explanation that the cells of a row were made from; an error where they make no sense."""
    if cells["record"] is not None:
        content = read_json(cells["record"], "a stored explanation")
        return Explanation._from_record(msgspec.convert(content, type=ExplanationRecord))
    n, d = cells["n_references"], shared.d
    keep = Profile(
        _tally(cells["counts"], n, d),
        shared.alpha,
        shared.adjust,
        shared.max_size,
        shared.size_weights,
    )
    own = cells["flip_counts"]
    swept = keep if own is None else replace(keep, tally=_tally(own, n, d))
    players = shared.players_of(msgspec.json.decode(cells["values"]))
    found = {c["set"]: (c["cost"], c["donor"]) for c in cells["changes"]}
    score = cells["score"]
    return Explanation(
        prediction=read_scalar(cells["prediction"], cells["prediction_kind"]),
        score=None if score is None else OwnScore(score, cells["score_kind"]),
        outcome=cells["outcome"],
        other_outcome=cells["other_outcome"],
        players=players,
        tau=cells["tau"],
        keep_profile=keep,
        flip_profile=mirrored(swept),
        provenance=shared.provenance_of(n, (n << d) * (1 if own is None else 2)),
        changes=StoredChanges(found, cells["donors"], players),
        cheapest=_cheapest(cells, players),
        one_sweep=own is None,
    )


def _cheapest(cells: Mapping[str, Any], players: tuple[Player, ...]) -> Change | None:
    if cells["cheapest_cost"] is None:
        return None
    named = {player.name: player for player in players}
    features = tuple(named[name] for name in cells["cheapest_features"])
    return Change(features, msgspec.json.decode(cells["cheapest_change"]), cells["cheapest_cost"])


def _tally(given: NDArray[np.integer[Any]], n: int, d: int) -> Tally:
    counts = np.asarray(given, dtype=np.int64)
    if len(counts) != 1 << d or counts.min() < 0 or counts.max() > n:
        raise InputError("counts", f"{len(counts)} counts", f"{1 << d} of 0 to {n}")
    return Tally.of_dense(counts, n)


def scalar_cells(value: Scalar) -> tuple[str | None, str]:
    """A value as text, and of which kind it is: `read_scalar` gives it back.

    >>> scalar_cells("granted"), scalar_cells(True), scalar_cells(0.1)
    (('granted', 'text'), ('true', 'truth'), ('0.1', 'number'))
    """
    kind = _KINDS[type(value)]
    if value is None or isinstance(value, str):
        return value, kind
    return msgspec.json.encode(value).decode(), kind


def read_scalar(text: str | None, kind: str) -> Scalar:
    """The way back.

    >>> read_scalar("7", "whole"), read_scalar("7", "text"), read_scalar("7.0", "number")
    (7, '7', 7.0)
    """
    if kind in ("text", "missing") or text is None:
        return text
    if kind == "truth":
        return text == "true"
    return int(text) if kind == "whole" else float(text)


def to_json(values: Mapping[str, Scalar]) -> str:
    """Values by column as JSON."""
    return msgspec.json.encode(dict(values)).decode()
