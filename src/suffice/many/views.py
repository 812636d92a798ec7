"""Both views of many rows at one τ, from their counts, all rows at once.

The same numbers as each row's own `View` reads (`search/profile.py`). That takes half a millisecond
a row, a good part of what explaining takes. This way is valid where every set was counted, D holds
all sets alike, and no correction for many tests looks at all of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from suffice.factors.lattice import over_subsets
from suffice.inference import passing_levels
from suffice.typing import Counts, Reals

__all__ = ["MinimalSets", "minimal_sets"]

_CELLS = 1 << 20
"""Sets of all rows that are looked at together: about what the caches hold."""


@dataclass(frozen=True, eq=False)
class MinimalSets:
    """The τ-minimal sets of one view, row by row in the order of the view; and necessity."""

    rows: Counts
    masks: Counts
    hits: Counts
    low: Reals
    high: Reals
    covered: Counts
    """By row: hybrids with the outcome in the closure of the sets."""
    outcome: Counts
    """And all that have it."""


def minimal_sets(
    hits: NDArray[np.int32], n: Counts, tau: float, alpha: float | None
) -> MinimalSets:
    """Of hits by row and bit mask, among n references of each row."""
    rows, sets = hits.shape
    step = max(1, _CELLS // sets)
    parts = [
        _minimal_sets(hits[at : at + step], n[at : at + step], tau, alpha)
        for at in range(0, max(rows, 1), step)
    ]
    return MinimalSets(
        np.concatenate([part.rows + i * step for i, part in enumerate(parts)]),
        np.concatenate([part.masks for part in parts]),
        np.concatenate([part.hits for part in parts]),
        np.concatenate([part.low for part in parts]),
        np.concatenate([part.high for part in parts]),
        np.concatenate([part.covered for part in parts]),
        np.concatenate([part.outcome for part in parts]),
    )


def _minimal_sets(
    hits: NDArray[np.int32], n: Counts, tau: float, alpha: float | None
) -> MinimalSets:
    by_set = np.ascontiguousarray(hits.T)
    passes = _passes(by_set, n, alpha)
    reach = over_subsets(passes.copy(), np.maximum)
    below = np.zeros_like(passes)
    for j in range(len(passes).bit_length() - 1):  # the reaches of those that lack one member
        shape = (-1, 2, 1 << j, passes.shape[1])
        source, sink = reach.reshape(shape), below.reshape(shape)
        np.maximum(sink[:, 1], source[:, 0], out=sink[:, 1])
    masks, rows = np.nonzero((below < tau) & (tau <= passes))
    found = by_set[masks, rows].astype(np.int64)
    order = np.lexsort((masks, -found, np.bitwise_count(masks), rows))
    masks, rows, found = masks[order], rows[order], found[order]
    return MinimalSets(
        rows,
        masks,
        found,
        below[masks, rows],
        passes[masks, rows],
        np.where(reach >= tau, by_set, 0).sum(axis=0, dtype=np.int64),
        by_set.sum(axis=0, dtype=np.int64),
    )


def _passes(hits: NDArray[np.int32], n: Counts, alpha: float | None) -> Reals:
    """The largest τ at which each set passes."""
    if alpha is None:
        return np.asarray(hits / n, dtype=float)
    # Equal counts pass alike, so the test's bound is worked out once for each.
    out = np.empty(hits.shape)
    for m in np.unique(n).tolist():
        table = passing_levels(np.arange(m + 1), m, alpha, "none", 1)
        mine = n == m
        out[:, mine] = table[hits[:, mine]]
    return out
