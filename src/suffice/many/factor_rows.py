"""Every τ-minimal factor of a chunk's explanations, and necessity, in columns.

Rows whose counts are at hand are read all at once (`views.py`); the others through their own views.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from suffice.explanation import Explanation, View
from suffice.factors.lattice import members_of
from suffice.inference import clopper_pearson, p_value
from suffice.many.kept import Kept, to_json
from suffice.many.lists import lists
from suffice.many.views import MinimalSets, minimal_sets
from suffice.search.findings import Proof
from suffice.typing import Counts, Reals

__all__ = ["FACTOR", "factor_columns"]

FACTOR = pa.struct(
    [
        ("view", pa.string()),
        ("outcome", pa.string()),
        ("features", pa.list_(pa.string())),
        ("size", pa.int32()),
        ("sufficiency", pa.float64()),
        ("low", pa.float64()),
        ("high", pa.float64()),
        ("n", pa.int32()),
        ("hits", pa.int32()),
        ("p_value", pa.float64()),
        ("minimal_above", pa.float64()),
        ("minimal_up_to", pa.float64()),
        ("proof", pa.string()),
        ("cost", pa.float64()),
        ("values", pa.string()),
        ("change", pa.string()),
    ]
)
"""A factor, with the names that `Explanation.to_frame` has; values and change are JSON."""


@dataclass(frozen=True, eq=False)
class _Set:
    """A τ-minimal set of one row and view."""

    members: tuple[int, ...]
    hits: int
    low: float
    high: float
    proof: Proof
    p_value: float | None
    """None: the test of this very set, without a correction for others."""


@dataclass(frozen=True, eq=False)
class _Of:
    """One view of one row: its sets, and necessity with the bounds of an estimate."""

    view: View
    sets: Sequence[_Set]
    necessity: float | None
    bounds: tuple[float, float] | None


def factor_columns(explained: list[Explanation], kept: list[Kept]) -> dict[str, pa.Array]:
    """The columns of factors, their numbers and necessity, of explanations and what is kept."""
    at_once = [i for i, (e, k) in enumerate(zip(explained, kept, strict=True)) if _at_once(e, k)]
    views = dict(_from_counts(explained, kept, at_once))
    for i in sorted(set(range(len(explained))).difference(at_once)):
        views[i] = _from_view(explained[i].keep), _from_view(explained[i].flip)
    pairs = [views[i] for i in range(len(explained))]
    columns: dict[str, pa.Array] = {}
    for name, of_view in (("keep", [keep for keep, _ in pairs]), ("flip", [f for _, f in pairs])):
        bounds = [of.bounds or (None, None) for of in of_view]
        columns |= {
            f"{name}_factors": pa.array([len(of.sets) for of in of_view], pa.int32()),
            f"{name}_necessity": pa.array([of.necessity for of in of_view], pa.float64()),
            f"{name}_necessity_low": pa.array([low for low, _ in bounds], pa.float64()),
            f"{name}_necessity_high": pa.array([high for _, high in bounds], pa.float64()),
        }
    lengths = np.array([len(keep.sets) + len(flip.sets) for keep, flip in pairs], dtype=np.int64)
    every = [(of, s) for pair in pairs for of in pair for s in of.sets]
    return columns | {"factors": lists(lengths, _structs(every))}


# -- what the sets are -------------------------------------------------------------------


def _at_once(e: Explanation, kept: Kept) -> bool:
    """May `minimal_sets` be asked?"""
    p = e.keep_profile
    return kept.counts is not None and p.adjust == "none" and p.size_weights is None and p.complete


def _from_counts(
    explained: list[Explanation], kept: list[Kept], chosen: list[int]
) -> Iterator[tuple[int, tuple[_Of, _Of]]]:
    if not chosen:
        return
    first = explained[chosen[0]]
    n = np.array([explained[i].keep_profile.tally.n for i in chosen])
    held = np.array([kept[i].counts for i in chosen], dtype=np.int32)
    own = [kept[i].counts if kept[i].flip_counts is None else kept[i].flip_counts for i in chosen]
    # Replacing a set is holding its complement, whose bits are the others.
    replaced = n[:, None].astype(np.int32) - np.array(own, dtype=np.int32)[:, ::-1]
    tau, alpha = first.tau, first.keep_profile.alpha
    keep, flip = (minimal_sets(hits, n, tau, alpha) for hits in (held, replaced))
    for i, of_keep, of_flip in zip(chosen, _by_row(keep), _by_row(flip), strict=True):
        e = explained[i]
        yield i, (_of(e.keep, *of_keep), _of(e.flip, *of_flip))


def _of(view: View, sets: list[_Set], necessity: float | None) -> _Of:
    return _Of(view, sets, necessity, None)


def _by_row(found: MinimalSets) -> Iterator[tuple[list[_Set], float | None]]:
    cuts = np.searchsorted(found.rows, np.arange(len(found.covered) + 1)).tolist()
    columns = (found.masks, found.hits, found.low, found.high)
    sets = [
        _Set(_members(mask), hits, low, high, "exhaustive", None)
        for mask, hits, low, high in zip(*(c.tolist() for c in columns), strict=True)
    ]
    covered, outcome = found.covered.tolist(), found.outcome.tolist()
    for i, (start, stop) in enumerate(pairwise(cuts)):
        yield sets[start:stop], covered[i] / outcome[i] if outcome[i] else None


_members = lru_cache(maxsize=1 << 13)(members_of)


def _from_view(view: View) -> _Of:
    profile, tau = view.profile, view.tau
    sets = [
        _Set(m.members, m.hits, m.low, m.high, m.proof, profile.p_value(m.hits, tau))
        for m in profile.minimal_at(tau)
    ]
    return _Of(view, sets, view.necessity, view.necessity_interval)


# -- their cells -------------------------------------------------------------------------


def _structs(every: list[tuple[_Of, _Set]]) -> pa.Array:
    hits = np.array([s.hits for _, s in every], dtype=np.int64)
    n = np.array([of.view.explanation.provenance.n_references for of, _ in every], dtype=np.int64)
    tau = every[0][0].view.tau if every else 1.0
    low, high, p = _certainty(hits, n, tau)
    given = [s.p_value for _, s in every]
    sizes = np.array([len(s.members) for _, s in every], dtype=np.int64)
    told = [_told(of.view, s.members) for of, s in every]
    cells: dict[str, Any] = {
        "view": [of.view.name for of, _ in every],
        "outcome": [of.view.outcome for of, _ in every],
        "size": sizes.astype(np.int32),
        "sufficiency": hits / n,
        "low": low,
        "high": high,
        "n": n.astype(np.int32),
        "hits": hits.astype(np.int32),
        "p_value": [
            mine if own is None else own for mine, own in zip(p.tolist(), given, strict=True)
        ],
        "minimal_above": [s.low for _, s in every],
        "minimal_up_to": [s.high for _, s in every],
        "proof": [s.proof for _, s in every],
        "cost": [cost for _, cost, _ in told],
        "values": [values for values, _, _ in told],
        "change": [change for _, _, change in told],
    }
    names = [of.view.players[j].name for of, s in every for j in s.members]
    arrays = {name: pa.array(cell, FACTOR.field(name).type) for name, cell in cells.items()}
    arrays["features"] = lists(sizes, pa.array(names, pa.string()))
    return pa.StructArray.from_arrays([arrays[f.name] for f in FACTOR], fields=list(FACTOR))


def _told(view: View, members: tuple[int, ...]) -> tuple[str, float | None, str | None]:
    """The input's values; what the cheapest change of the set costs, and its values."""
    values = to_json({c: v for j in members for c, v in view.players[j].values.items()})
    mask = sum(1 << j for j in members)
    change = view.changes.get(mask)
    if change is None:
        return values, None, None
    return values, change.cost, to_json(change.values)


def _certainty(hits: Counts, n: Counts, tau: float) -> tuple[Reals, Reals, Reals]:
    """Intervals and p-values: equal counts have equal ones, and these take the longest."""
    if not len(hits):
        return np.empty(0), np.empty(0), np.empty(0)
    distinct, which = np.unique(np.stack([hits, n]), axis=1, return_inverse=True)
    low, high = clopper_pearson(*distinct)
    return low[which], high[which], p_value(distinct[0], distinct[1], tau)[which]
