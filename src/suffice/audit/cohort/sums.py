"""A cohort's own lattice: counts of decisions with the same outcome, added up set by set.

A sum of counts is a count, over all references of all decisions. So a cohort has a barcode, a curve
and minimal sets as one decision has; and beside each set, in how many decisions it suffices.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from suffice.audit.all_features import MOST_FEATURES, AllFeatures
from suffice.audit.cohort.result import Barcode, CohortSet, Curve, Part
from suffice.audit.decisions import ViewName
from suffice.audit.known import Known, Levels
from suffice.explanation.counting import necessity_curve
from suffice.factors.lattice import members_of
from suffice.search.profile import Profile
from suffice.search.tally import Tally, smallest_type
from suffice.typing import Counts, Reals, SmallCounts

__all__ = ["LISTED", "Key", "Sum"]

LISTED = 40
"""Sets of a part that are told, the most frequent first."""

Key = tuple[str, str | None, ViewName]
"""Outcome, group and view."""


class Sum:
    """Counts of one part, added up decision by decision."""

    def __init__(self, everything: AllFeatures) -> None:
        self._of = everything
        d = len(everything.names)
        self._hits: Counts | None = np.zeros(1 << d, np.int64) if d <= MOST_FEATURES else None
        self._minimal: Counter[int] = Counter()
        self._rows: list[tuple[tuple[str, ...], SmallCounts, Levels, float]] = []
        """Of each decision: its features, its counts, up to which τ sets suffice, and its τ."""
        self._likely: set[tuple[float, ...] | None] = set()
        self.references = 0

    @property
    def decisions(self) -> int:
        """How many."""
        return len(self._rows)

    def add(self, known: Known, view: ViewName) -> None:
        """One more decision."""
        hits = known.hits(view)
        assert hits is not None
        if self._hits is not None:
            self._hits += self._of.spread(known.features, hits)
        self._minimal.update(self._of.outwards(known.features, known.minimal(view)))
        small = smallest_type(known.n)
        which, taus = known.levels(view)
        levels = Levels(which.astype(small, copy=False), taus)
        self._rows.append((known.features, hits.astype(small, copy=False), levels, known.tau))
        self._likely.add(known.size_weights(view))
        self.references += known.n

    def listed(self, most: int) -> list[int]:
        """The sets that are minimal most often; the smaller first among equals."""
        minimal = self._minimal
        return sorted(minimal, key=lambda mask: (-minimal[mask], mask.bit_count(), mask))[:most]

    def of(self, masks: list[int]) -> tuple[Counts, Counts, Reals]:
        """By set: all hits, in how many decisions it suffices; and (decisions, sets) up to which
        τ it does."""
        own: dict[tuple[str, ...], list[int]] = {}
        hits, suffices = np.zeros(len(masks), np.int64), np.zeros(len(masks), np.int64)
        levels = np.empty((self.decisions, len(masks)))
        for i, (features, counts, known, tau) in enumerate(self._rows):
            if features not in own:
                own[features] = self._of.inwards(features, masks)
            at = own[features]
            hits += counts[at]
            levels[i] = known.taus[known.which[at]]
            suffices += levels[i] >= tau
        return hits, suffices, levels

    def part(self, key: Key, masks: list[int]) -> Part:
        """What is told of them, with these sets."""
        outcome, group, view = key
        hits, suffices, levels = self.of(masks)
        sets = tuple(
            CohortSet(
                features=self._of.named(mask),
                suffices=int(suffices[j]),
                minimal=self._minimal[mask],
                decisions=self.decisions,
                hits=int(hits[j]),
                references=self.references,
                steps=_steps(levels[:, j]),
            )
            for j, mask in enumerate(masks)
        )
        barcode, more_bars, curve = self._every_tau(masks)
        return Part(
            outcome=outcome,
            group=group,
            view=view,
            decisions=self.decisions,
            references=self.references,
            sets=sets,
            more=len(self._minimal) - len(masks),
            barcode=barcode,
            more_bars=more_bars,
            curve=curve,
        )

    def _every_tau(self, masks: list[int]) -> tuple[Barcode | None, int, Curve | None]:
        """The longest bars, those of these sets among them; how many more; and the curve."""
        if self._hits is None:
            return None, 0, None
        # Where D is not the same for all, no curve is that of their sum.
        same = next(iter(self._likely)) if len(self._likely) == 1 else None
        profile = Profile(Tally.of_dense(self._hits, self.references), size_weights=same)
        bars = {m.members: (m.low, m.high) for m in profile.minimal_somewhere(LISTED)}
        for mask in masks:
            members = members_of(mask)
            low, high = profile.interval(members)
            if low < high:
                bars[members] = low, high
        order = sorted(bars, key=lambda m: (-bars[m][1], bars[m][0], len(m), m[::-1]))
        barcode = tuple((tuple(self._of.names[i] for i in m), *bars[m]) for m in order)
        more = profile.n_minimal_somewhere - len(bars)
        return barcode, more, necessity_curve(profile) if len(self._likely) == 1 else None


def _steps(shares: Reals) -> Curve:
    taus, times = np.unique(shares, return_counts=True)
    left = times[::-1].cumsum()[::-1] / len(shares)
    return tuple((float(t), float(s)) for t, s in zip(taus, left, strict=True) if t > 0)
