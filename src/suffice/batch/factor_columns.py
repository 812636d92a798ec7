"""Minimal factors and necessities of many rows at once, from their counts, as Arrow columns.

Rows with plain counts are handled together by `minimal_sets_of_rows`, which repeats
`Profile.minimal_at` for a block of rows (half a millisecond a row); other rows through their views.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from suffice.batch.stored_row import StoredCells, values_to_json
from suffice.explanation import Explanation, View
from suffice.factors.lattice import members_of, over_subsets
from suffice.inference import clopper_pearson, p_value, passing_taus
from suffice.search.findings import Proof
from suffice.typing import BoolVector, Counts, Reals, SmallCounts

FACTOR_TYPE = pa.struct(
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
"""Arrow type of a factor, with the names of `Explanation.to_frame`; values and change are JSON."""


class _FactorSet(NamedTuple):
    """A τ-minimal set of one row and view."""

    members: tuple[int, ...]
    hits: int
    low: float
    high: float
    proof: Proof
    p_value: float | None
    """None: computed from this set's counts alone, without correction for multiple tests."""


class _ViewFactors(NamedTuple):
    """The minimal sets of one view of one row, and its necessity with the bounds of an estimate."""

    sets: list[_FactorSet]
    necessity: float | None
    bounds: tuple[float, float] | None


def factor_columns(explained: list[Explanation], kept: list[StoredCells]) -> dict[str, pa.Array]:
    """Return the columns of factors, numbers of factors and necessities of explanations."""
    together = [
        i for i, (e, k) in enumerate(zip(explained, kept, strict=True)) if _can_read_counts(e, k)
    ]
    views = dict(_from_counts(explained, kept, together))
    for i in set(range(len(explained))).difference(together):
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
    cells = _FactorCells()
    for e, (keep, flip) in zip(explained, pairs, strict=True):
        cells.add(e, keep.sets, flip.sets)
    lengths = np.array([len(keep.sets) + len(flip.sets) for keep, flip in pairs], dtype=np.int64)
    return columns | {"factors": list_array(lengths, cells.to_arrow())}


# -- minimal sets ------------------------------------------------------------------------


def _can_read_counts(e: Explanation, kept: StoredCells) -> bool:
    """Return whether `minimal_sets_of_rows` is valid: plain counts, no correction, no weights."""
    p = e.keep_profile
    return kept.counts is not None and p.adjust == "none" and p.size_weights is None and p.decided


def _from_counts(
    explained: list[Explanation], kept: list[StoredCells], chosen: list[int]
) -> Iterator[tuple[int, tuple[_ViewFactors, _ViewFactors]]]:
    """Yield the index and both views of each chosen explanation, from stored counts."""
    if not chosen:
        return
    first = explained[chosen[0]]
    n = np.array([explained[i].provenance.n_references for i in chosen])
    held = np.array([kept[i].counts for i in chosen], dtype=np.int32)
    own = [kept[i].counts if kept[i].flip_counts is None else kept[i].flip_counts for i in chosen]
    # Replacing a set is holding its complement, whose mask is read from the end of the counts.
    replaced = n[:, None].astype(np.int32) - np.array(own, dtype=np.int32)[:, ::-1]
    tau, alpha = first.tau, first.keep_profile.alpha
    keep, flip = (
        _split_by_row(minimal_sets_of_rows(hits, n, tau, alpha)) for hits in (held, replaced)
    )
    yield from zip(chosen, zip(keep, flip, strict=True), strict=True)


def _split_by_row(found: MinimalSetColumns) -> Iterator[_ViewFactors]:
    cuts = np.searchsorted(found.rows, np.arange(len(found.covered) + 1)).tolist()
    columns = (found.masks, found.hits, found.low, found.high)
    sets = [
        _FactorSet(_cached_members(mask), hits, low, high, "exhaustive", None)
        for mask, hits, low, high in zip(*(c.tolist() for c in columns), strict=True)
    ]
    covered, outcome = found.covered.tolist(), found.outcome.tolist()
    for i, (start, stop) in enumerate(pairwise(cuts)):
        yield _ViewFactors(sets[start:stop], covered[i] / outcome[i] if outcome[i] else None, None)


_cached_members = lru_cache(maxsize=1 << 13)(members_of)


def _from_view(view: View) -> _ViewFactors:
    profile, tau = view.profile, view.tau
    sets = [
        _FactorSet(m.members, m.hits, m.low, m.high, m.proof, profile.p_value(m.hits, tau))
        for m in profile.minimal_at(tau)
    ]
    return _ViewFactors(sets, view.necessity, view.necessity_interval)


# -- cells of factors --------------------------------------------------------------------


class _FactorCells:
    """Cells of factors as lists by column: a chunk may have a hundred thousand factors."""

    def __init__(self) -> None:
        self._sets: list[_FactorSet] = []
        self._n: list[int] = []
        self._tau = 1.0
        self._names: list[str] = []
        self._texts: dict[str, list[Any]] = {
            name: [] for name in ("view", "outcome", "values", "cost", "change")
        }

    def add(self, e: Explanation, keep: list[_FactorSet], flip: list[_FactorSet]) -> None:
        """Append the factors of an explanation."""
        texts, sets, k = self._texts, keep + flip, len(keep)
        names = [player.name for player in e.players]
        values = [values_to_json(player.values)[1:-1] for player in e.players]
        for members, *_ in sets:
            self._names += [names[j] for j in members]
            texts["values"].append("{" + ",".join([values[j] for j in members]) + "}")
        changes = [e.changes.get(sum([1 << j for j in members])) for members, *_ in flip]
        texts["cost"] += [None] * k + [c and c.cost for c in changes]
        texts["change"] += [None] * k + [c and values_to_json(c.values) for c in changes]
        texts["view"] += ["keep"] * k + ["flip"] * len(flip)
        texts["outcome"] += [e.outcome] * k + [e.other_outcome] * len(flip)
        self._sets += sets
        self._n += [e.provenance.n_references] * len(sets)
        self._tau = e.tau

    def to_arrow(self) -> pa.Array:
        """Return all factors as an Arrow array of structs."""
        sets = self._sets
        members, hits_of, low_of, high_of, proofs, given = (
            zip(*sets, strict=True) if sets else [()] * 6
        )
        hits, n = np.array(hits_of, dtype=np.int64), np.array(self._n, dtype=np.int64)
        low, high, p = _intervals_and_p_values(hits, n, self._tau)
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
        arrays = {
            name: pa.array(cell, FACTOR_TYPE.field(name).type) for name, cell in cells.items()
        }
        arrays["features"] = list_array(sizes, pa.array(self._names, pa.string()))
        return pa.StructArray.from_arrays(
            [arrays[f.name] for f in FACTOR_TYPE], fields=list(FACTOR_TYPE)
        )


def _intervals_and_p_values(hits: Counts, n: Counts, tau: float) -> tuple[Reals, Reals, Reals]:
    """Return bounds and p-values of counts, computed once for equal counts: the slowest step."""
    if not len(hits):
        return np.empty(0), np.empty(0), np.empty(0)
    distinct, which = np.unique(np.stack([hits, n]), axis=1, return_inverse=True)
    low, high = clopper_pearson(*distinct)
    return low[which], high[which], p_value(distinct[0], distinct[1], tau)[which]


# -- minimal sets of many rows, from their counts ----------------------------------------


_CELLS_PER_BLOCK = 1 << 20
"""Counts of a block of rows: about as many as the processor's caches hold."""


@dataclass(frozen=True, eq=False)
class MinimalSetColumns:
    """The τ-minimal sets of one view, row by row in the order of the view, and necessity."""

    rows: Counts
    masks: Counts
    hits: Counts
    low: Reals
    high: Reals
    covered: Counts
    """For each row, the hybrids with the outcome whose set contains a minimal set."""
    outcome: Counts
    """For each row, all hybrids with the outcome."""


def minimal_sets_of_rows(
    hits: NDArray[np.int32], n: Counts, tau: float, alpha: float | None
) -> MinimalSetColumns:
    """Return the minimal sets of rows from hits by row and bit mask, among n references each."""
    rows, sets = hits.shape
    step = max(1, _CELLS_PER_BLOCK // sets)
    parts = [
        _minimal_sets_of_block(hits[at : at + step], n[at : at + step], tau, alpha)
        for at in range(0, max(rows, 1), step)
    ]
    return MinimalSetColumns(
        np.concatenate([part.rows + i * step for i, part in enumerate(parts)]),
        np.concatenate([part.masks for part in parts]),
        np.concatenate([part.hits for part in parts]),
        np.concatenate([part.low for part in parts]),
        np.concatenate([part.high for part in parts]),
        np.concatenate([part.covered for part in parts]),
        np.concatenate([part.outcome for part in parts]),
    )


def _minimal_sets_of_block(
    hits: NDArray[np.int32], n: Counts, tau: float, alpha: float | None
) -> MinimalSetColumns:
    """Return the minimal sets of a block of rows.

    A set is τ-minimal if it passes at τ and no proper subset does. `reach` has for each set the
    largest τ at which the set or a subset passes, and `below` the same for proper subsets: the
    maximum of `reach` over the subsets that lack one member.
    """
    by_set = np.ascontiguousarray(hits.T)
    passes = _passing_thresholds(by_set, n, alpha)
    reach = over_subsets(passes.copy(), np.maximum)
    below = np.zeros_like(passes)
    for j in range(len(passes).bit_length() - 1):
        # Axis 1 is member j: absent (0) or present (1).
        shape = (-1, 2, 1 << j, passes.shape[1])
        source, sink = reach.reshape(shape), below.reshape(shape)
        np.maximum(sink[:, 1], source[:, 0], out=sink[:, 1])
    masks, rows = np.nonzero((below < tau) & (tau <= passes))
    found = by_set[masks, rows].astype(np.int64)
    order = np.lexsort((masks, -found, np.bitwise_count(masks), rows))
    masks, rows, found = masks[order], rows[order], found[order]
    return MinimalSetColumns(
        rows,
        masks,
        found,
        below[masks, rows],
        passes[masks, rows],
        np.where(reach >= tau, by_set, 0).sum(axis=0, dtype=np.int64),
        by_set.sum(axis=0, dtype=np.int64),
    )


def _passing_thresholds(hits: NDArray[np.int32], n: Counts, alpha: float | None) -> Reals:
    """Return the largest τ at which each set passes."""
    if alpha is None:
        return np.asarray(hits / n, dtype=float)
    # The bound of the test depends on the counts only, so it is computed once for each count.
    out = np.empty(hits.shape)
    for m in np.unique(n).tolist():
        table = passing_taus(np.arange(m + 1), m, alpha, "none", 1)
        mine = n == m
        out[:, mine] = table[hits[:, mine]]
    return out


# -- Arrow arrays of lists, built from arrays: a Python object for each cell would be slow --


def list_array(lengths: Counts, values: pa.Array, missing: BoolVector | None = None) -> pa.Array:
    """Return an array of lists with these lengths, of consecutive values.

    >>> list_array(np.array([2, 0, 1]), pa.array(["a", "b", "c"])).to_pylist()
    [['a', 'b'], [], ['c']]
    """
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    mask = None if missing is None else pa.array(missing, pa.bool_())
    return pa.ListArray.from_arrays(pa.array(offsets), values, mask=mask)


def count_list_array(counts: Sequence[SmallCounts | None]) -> pa.Array:
    """Return an array of lists of integers, with null for None."""
    lengths = np.array([0 if c is None else len(c) for c in counts], dtype=np.int64)
    missing = np.array([c is None for c in counts], dtype=bool)
    there = [c.astype(np.int32) for c in counts if c is not None]
    values = np.concatenate(there) if there else np.empty(0, dtype=np.int32)
    return list_array(lengths, pa.array(values), missing)
