"""Every τ-minimal factor of a chunk's explanations, and necessity, in columns.

Rows whose counts are at hand are read all at once (`views.py`); the others through their own views.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

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


class _Set(NamedTuple):
    """A τ-minimal set of one row and view."""

    members: tuple[int, ...]
    hits: int
    low: float
    high: float
    proof: Proof
    p_value: float | None
    """None: that of this very set, without a correction for others."""


class _Of(NamedTuple):
    """One view of one row: its sets, and necessity with the bounds of an estimate."""

    sets: list[_Set]
    necessity: float | None
    bounds: tuple[float, float] | None


def factor_columns(explained: list[Explanation], kept: list[Kept]) -> dict[str, pa.Array]:
    """The columns of factors, their numbers and necessity, of explanations and what is kept."""
    at_once = [i for i, (e, k) in enumerate(zip(explained, kept, strict=True)) if _at_once(e, k)]
    views = dict(_from_counts(explained, kept, at_once))
    for i in set(range(len(explained))).difference(at_once):
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
    cells = _Cells()
    for e, (keep, flip) in zip(explained, pairs, strict=True):
        cells.add(e, keep.sets, flip.sets)
    lengths = np.array([len(keep.sets) + len(flip.sets) for keep, flip in pairs], dtype=np.int64)
    return columns | {"factors": lists(lengths, cells.structs())}


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
    n = np.array([explained[i].provenance.n_references for i in chosen])
    held = np.array([kept[i].counts for i in chosen], dtype=np.int32)
    own = [kept[i].counts if kept[i].flip_counts is None else kept[i].flip_counts for i in chosen]
    # Replacing a set is holding its complement, whose bits are the others.
    replaced = n[:, None].astype(np.int32) - np.array(own, dtype=np.int32)[:, ::-1]
    tau, alpha = first.tau, first.keep_profile.alpha
    keep, flip = (_by_row(minimal_sets(hits, n, tau, alpha)) for hits in (held, replaced))
    yield from zip(chosen, zip(keep, flip, strict=True), strict=True)


def _by_row(found: MinimalSets) -> Iterator[_Of]:
    cuts = np.searchsorted(found.rows, np.arange(len(found.covered) + 1)).tolist()
    columns = (found.masks, found.hits, found.low, found.high)
    sets = [
        _Set(_members(mask), hits, low, high, "exhaustive", None)
        for mask, hits, low, high in zip(*(c.tolist() for c in columns), strict=True)
    ]
    covered, outcome = found.covered.tolist(), found.outcome.tolist()
    for i, (start, stop) in enumerate(pairwise(cuts)):
        yield _Of(sets[start:stop], covered[i] / outcome[i] if outcome[i] else None, None)


_members = lru_cache(maxsize=1 << 13)(members_of)


def _from_view(view: View) -> _Of:
    profile, tau = view.profile, view.tau
    sets = [
        _Set(m.members, m.hits, m.low, m.high, m.proof, profile.p_value(m.hits, tau))
        for m in profile.minimal_at(tau)
    ]
    return _Of(sets, view.necessity, view.necessity_interval)


# -- their cells -------------------------------------------------------------------------


class _Cells:
    """The cells of factors, one factor after another: there may be a hundred thousand."""

    def __init__(self) -> None:
        self._sets: list[_Set] = []
        self._n: list[int] = []
        self._tau = 1.0
        self._names: list[str] = []
        self._texts: dict[str, list[Any]] = {
            name: [] for name in ("view", "outcome", "values", "cost", "change")
        }

    def add(self, e: Explanation, keep: list[_Set], flip: list[_Set]) -> None:
        """The factors of an explanation."""
        texts, sets, k = self._texts, keep + flip, len(keep)
        names = [player.name for player in e.players]
        values = [to_json(player.values)[1:-1] for player in e.players]
        for members, *_ in sets:
            self._names += [names[j] for j in members]
            texts["values"].append("{" + ",".join([values[j] for j in members]) + "}")
        changes = [e.changes.get(sum([1 << j for j in members])) for members, *_ in flip]
        texts["cost"] += [None] * k + [c and c.cost for c in changes]
        texts["change"] += [None] * k + [c and to_json(c.values) for c in changes]
        texts["view"] += ["keep"] * k + ["flip"] * len(flip)
        texts["outcome"] += [e.outcome] * k + [e.other_outcome] * len(flip)
        self._sets += sets
        self._n += [e.provenance.n_references] * len(sets)
        self._tau = e.tau

    def structs(self) -> pa.Array:
        """All of them as Arrow's."""
        sets = self._sets
        members, hits_of, low_of, high_of, proofs, given = (
            zip(*sets, strict=True) if sets else [()] * 6
        )
        hits, n = np.array(hits_of, dtype=np.int64), np.array(self._n, dtype=np.int64)
        low, high, p = _certainty(hits, n, self._tau)
        sizes = np.array([len(m) for m in members], dtype=np.int64)
        own = [a if b is None else b for a, b in zip(p.tolist(), given, strict=True)]
        cells: dict[str, Any] = self._texts | {
            "size": sizes.astype(np.int32),
            "sufficiency": hits / n,
            "low": low,
            "high": high,
            "n": n.astype(np.int32),
            "hits": hits.astype(np.int32),
            "p_value": own,
            "minimal_above": low_of,
            "minimal_up_to": high_of,
            "proof": proofs,
        }
        arrays = {name: pa.array(cell, FACTOR.field(name).type) for name, cell in cells.items()}
        arrays["features"] = lists(sizes, pa.array(self._names, pa.string()))
        return pa.StructArray.from_arrays([arrays[f.name] for f in FACTOR], fields=list(FACTOR))


def _certainty(hits: Counts, n: Counts, tau: float) -> tuple[Reals, Reals, Reals]:
    """Intervals and p-values: equal counts have equal ones, and these take the longest."""
    if not len(hits):
        return np.empty(0), np.empty(0), np.empty(0)
    distinct, which = np.unique(np.stack([hits, n]), axis=1, return_inverse=True)
    low, high = clopper_pearson(*distinct)
    return low[which], high[which], p_value(distinct[0], distinct[1], tau)[which]
