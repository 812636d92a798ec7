"""The data as they are: how often each rule holds, and how often with the outcome.

Nothing is made up and the model is not asked again: n(A) counts the rows that satisfy A. With a bit
per condition every row is a mask, and it satisfies A exactly when its mask contains A's; so all 2^d
rules are counted by one histogram of masks and its sums over supersets.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from suffice.encodings.anchors.conditions import Conditions
from suffice.encodings.anchors.counts import RuleCounts
from suffice.factors.lattice import Lattice, masks_by_size
from suffice.search.limits import EXHAUSTIVE_PLAYERS
from suffice.typing import BoolVector, Counts, Held

__all__ = ["count_by_masks", "count_observed", "count_one_by_one", "covered"]

_CELLS_AT_ONCE = 1 << 22


def count_observed(
    conditions: Conditions, satisfied: Held, has_outcome: BoolVector, largest: int
) -> RuleCounts:
    """Counts of every rule of up to `largest` features over the rows of the data."""
    few = len(conditions) <= EXHAUSTIVE_PLAYERS
    count = count_by_masks if few else count_one_by_one
    if not conditions.chained:
        return count(satisfied, has_outcome, largest)
    counts = count(satisfied, has_outcome, len(conditions))
    lattice = Lattice(len(conditions))
    rules = [conditions.are_rules(lattice.held(size), largest) for size in range(lattice.d + 1)]
    return replace(counts, n=tuple(n * r for n, r in zip(counts.n, rules, strict=True)))


def count_one_by_one(satisfied: Held, has_outcome: BoolVector, largest: int) -> RuleCounts:
    """The general path, for any number of conditions."""
    lattice = Lattice(satisfied.shape[1])
    step = max(1, _CELLS_AT_ONCE // len(satisfied))
    hits, n = [], []
    for size in range(largest + 1):
        width = lattice.width(size)
        parts = [
            covered(lattice.held(size, start, min(start + step, width)), satisfied, has_outcome)
            for start in range(0, width, step)
        ]
        n.append(np.concatenate([met for met, _ in parts]))
        hits.append(np.concatenate([both for _, both in parts]))
    return RuleCounts(lattice.d, tuple(hits), tuple(n))


def covered(rules: Held, satisfied: Held, has_outcome: BoolVector) -> tuple[Counts, Counts]:
    """For each rule, a row of truth values over the conditions: n(A) and n(A & y)."""
    n = np.empty(len(rules), dtype=np.int64)
    both = np.empty(len(rules), dtype=np.int64)
    fails = (~satisfied).astype(np.float32)
    step = max(1, _CELLS_AT_ONCE // len(satisfied))
    for start in range(0, len(rules), step):
        part = slice(start, start + step)
        met = rules[part].astype(np.float32) @ fails.T == 0  # none of its conditions fails
        n[part], both[part] = met.sum(axis=1), met[:, has_outcome].sum(axis=1)
    return n, both


def count_by_masks(satisfied: Held, has_outcome: BoolVector, largest: int) -> RuleCounts:
    """The fast path, valid where 2^d numbers fit in memory: a zeta transform over supersets."""
    d = satisfied.shape[1]
    masks = satisfied @ (1 << np.arange(d, dtype=np.int64))
    order = masks_by_size(d)
    cuts = np.cumsum([Lattice(d).width(size) for size in range(d)])

    def levels(of: Counts) -> tuple[Counts, ...]:
        counts = np.bincount(of, minlength=1 << d)
        for j in range(d):
            halves = counts.reshape(-1, 2, 1 << j)
            halves[:, 0] += halves[:, 1]
        return tuple(np.split(counts[order], cuts)[: largest + 1])

    return RuleCounts(d, levels(masks[has_outcome]), levels(masks))
