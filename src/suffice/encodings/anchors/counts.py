"""Counts of every rule, and which rules are τ-minimal by them.

A rule A was met by n(A) rows of D, of which n(A & y) have the outcome: PS(c_A, y) = n(A & y) / n(A)
is its precision (Prop. 2). Where rows are made to satisfy the rule all n(A) are the same; where
they are only looked at each rule has its own, perhaps none, and then no precision either.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from suffice.factors.lattice import Lattice
from suffice.inference import lower_bound
from suffice.search.intervals import Ladder, climb
from suffice.typing import Counts, Reals

__all__ = ["Counted", "RuleCounts"]


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


def _passing(hits: Counts, n: Counts, alpha: float | None) -> Reals:
    seen = n > 0
    out = np.full(len(hits), -1.0)
    out[seen] = hits[seen] / n[seen] if alpha is None else lower_bound(hits[seen], n[seen], alpha)
    return out
