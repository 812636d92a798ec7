"""Counts of every rule, over the data as they are, and which rules are τ-minimal by counts.

A rule A was met by n(A) rows of D, of which n(A & y) have the outcome: PS(c_A, y) = n(A & y) / n(A)
is its precision (Prop. 2). Where rows are made to satisfy the rule all n(A) are the same; where
they are only looked at each rule has its own, perhaps none, and then no precision either.

To look at the data takes no model call. All that matters of a row is which conditions it satisfies
and whether it has the outcome, so rows that are alike in this are counted once. With a bit per
condition a row is a mask, and satisfies A exactly when its mask contains A's; so all 2^d rules are
counted by one histogram of masks and its sums over supersets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from suffice.encodings.anchors.conditions import Conditions
from suffice.factors.lattice import Lattice, by_level, masks_of_held, over_supersets
from suffice.inference import lower_bound
from suffice.progress import progress_bar
from suffice.search.intervals import Ladder, climb
from suffice.search.limits import EXHAUSTIVE_PLAYERS
from suffice.tables.cells import distinct_rows
from suffice.typing import BoolVector, Counts, Held, Reals

__all__ = [
    "Counted",
    "Observed",
    "RuleCounts",
    "count_by_masks",
    "count_observed",
    "count_one_by_one",
    "observe",
]

_CELLS_AT_ONCE = 1 << 22


@dataclass(frozen=True)
class Counted:
    """One rule's conditions and counts, and the thresholds (low, high] at which it is minimal."""

    members: tuple[int, ...]
    hits: int
    n: int
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class RuleCounts:
    """By size, in the lattice's order: n(A & y) and n(A). Levels end at the largest size asked.

    Sets of conditions that stand for no rule have n(A) = 0, like a rule that no row satisfies.
    """

    d: int
    hits: tuple[Counts, ...]
    n: tuple[Counts, ...]

    def ladder(self, alpha: float | None) -> Ladder:
        """The largest τ that each rule meets (with α: passes the test at), and below it.

        A rule that no row satisfies meets none: -1, which is never above what lies below it.
        """
        return climb(
            [_passing(h, m, alpha) for h, m in zip(self.hits, self.n, strict=True)], self.d
        )

    def minimal_at(self, tau: float, ladder: Ladder) -> Iterator[Counted]:
        """Every τ-minimal rule (Def. 4): m < τ <= PS, with m the best PS strictly inside it."""
        for size, (passes, below) in enumerate(zip(ladder.passes, ladder.below, strict=True)):
            for rank in np.flatnonzero((below < tau) & (tau <= passes)).tolist():
                yield self._at(size, rank, ladder)

    def best(self, ladder: Ladder) -> Counted:
        """The rule that meets the highest τ, the smallest such."""
        tops = [float(level.max()) for level in ladder.passes]
        size = int(np.argmax(tops))
        return self._at(size, int(np.argmax(ladder.passes[size])), ladder)

    def of(self, members: Sequence[int], ladder: Ladder) -> Counted:
        """One rule, minimal somewhere or not (then low = high)."""
        return self._at(len(members), Lattice(self.d).rank(members), ladder)

    def _at(self, size: int, rank: int, ladder: Ladder) -> Counted:
        members = Lattice(self.d).unrank(size, np.array([rank]))[0]
        low = float(ladder.below[size][rank])
        return Counted(
            tuple(members.tolist()),
            int(self.hits[size][rank]),
            int(self.n[size][rank]),
            low,
            max(low, float(ladder.passes[size][rank])),
        )


@dataclass(frozen=True, eq=False)
class Observed:
    """The rows of the data by the conditions that they satisfy."""

    patterns: Held
    """(patterns, conditions): the sets of conditions that some row satisfies, each once."""
    n: Counts
    """How many rows satisfy just these."""
    hits: Counts
    """How many of them have the outcome."""

    def covered(self, rules: Held) -> tuple[Counts, Counts]:
        """For each rule, a row of truth values over the conditions: n(A & y) and n(A)."""
        hits = np.empty(len(rules), dtype=np.int64)
        n = np.empty(len(rules), dtype=np.int64)
        fails = (~self.patterns).astype(np.float32)
        step = max(1, _CELLS_AT_ONCE // len(self.patterns))
        for start in range(0, len(rules), step):
            part = slice(start, start + step)
            met = rules[part].astype(np.float32) @ fails.T == 0  # none of its conditions fails
            hits[part], n[part] = met @ self.hits, met @ self.n
        return hits, n


def observe(satisfied: Held, has_outcome: BoolVector) -> Observed:
    """From (rows, conditions), which row satisfies which, and which rows have the outcome."""
    identity, first = distinct_rows(satisfied.astype(np.int64))
    # Sorted, so that nothing depends on the order of the data's rows.
    patterns, place = np.unique(satisfied[first], axis=0, return_inverse=True)
    which = place.ravel()[identity]
    n, hits = (np.bincount(rows, minlength=len(patterns)) for rows in (which, which[has_outcome]))
    return Observed(patterns, n, hits)


def count_observed(
    conditions: Conditions, observed: Observed, largest: int, progress: bool | None = None
) -> RuleCounts:
    """Counts of every rule of up to `largest` features over the rows of the data."""
    sizes = conditions.sizes(largest)
    if len(conditions) <= EXHAUSTIVE_PLAYERS:
        counts = count_by_masks(observed, sizes)
    else:
        counts = count_one_by_one(observed, sizes, progress)
    if conditions.independent:
        return counts
    lattice = Lattice(len(conditions))
    rules = [conditions.are_rules(lattice.held(size), largest) for size in sizes]
    hits, n = (
        tuple(level * rule for level, rule in zip(levels, rules, strict=True))
        for levels in (counts.hits, counts.n)
    )
    return RuleCounts(counts.d, hits, n)


def count_one_by_one(observed: Observed, sizes: range, progress: bool | None = None) -> RuleCounts:
    """The general path, for any number of conditions."""
    lattice = Lattice(observed.patterns.shape[1])
    step = max(1, _CELLS_AT_ONCE // len(observed.patterns))
    widths = [lattice.width(size) for size in sizes]
    hits = [np.empty(width, dtype=np.int64) for width in widths]
    n = [np.empty(width, dtype=np.int64) for width in widths]
    with progress_bar("rules", sum(widths), progress) as bar:
        for size, width in zip(sizes, widths, strict=True):
            for start in range(0, width, step):
                part = slice(start, min(start + step, width))
                rules = lattice.held(size, part.start, part.stop)
                hits[size][part], n[size][part] = observed.covered(rules)
                bar.update(len(rules))
    return RuleCounts(lattice.d, tuple(hits), tuple(n))


def count_by_masks(observed: Observed, sizes: range) -> RuleCounts:
    """The fast path, valid where 2^d numbers fit in memory: a zeta transform over supersets."""
    d = observed.patterns.shape[1]
    masks = masks_of_held(observed.patterns)

    def levels(of: Counts) -> tuple[Counts, ...]:
        counts = np.zeros(1 << d, dtype=np.int64)
        counts[masks] = of
        return by_level(over_supersets(counts, np.add))[: len(sizes)]

    return RuleCounts(d, levels(observed.hits), levels(observed.n))


def _passing(hits: Counts, n: Counts, alpha: float | None) -> Reals:
    seen = n > 0
    out = np.full(len(hits), -1.0)
    out[seen] = hits[seen] / n[seen] if alpha is None else lower_bound(hits[seen], n[seen], alpha)
    return out
