"""One view at one τ, from the hits of all subsets: the minimal sets, and what they cover.

One bit per subset says which pass, then which contain one that passes; the least of these are the
minimal sets (`factors.bitsets`). Sums over the closure are taken slab by slab.

What a stream saw before it was stopped is enough for the keep view: all that lies inside a set that
was seen was seen before it. So the least of those that pass are minimal, whatever comes later.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.factors import bitsets
from suffice.factors.lattice import members_of
from suffice.progress import Progress
from suffice.search.findings import Findings, Found
from suffice.search.intervals import climb
from suffice.search.stop import Stop
from suffice.search.streamed.seen import Seen
from suffice.search.tally import Tally
from suffice.typing import Counts, Reals, Words

__all__ = ["Known", "Rule", "counted", "decide"]

_LISTED = 1 << 17
"""Minimal sets that are listed of a view: breast cancer has 46,128, and 30 players may have 155
million."""

_SLAB = 1 << 16
"""Masks dealt with together: their hits stay in the cache."""

_WORDS = 1 << 12
"""Words of which the masks are written out together."""


@dataclass(frozen=True)
class Rule:
    """What a factor must be."""

    least: int
    """So many hits at least."""
    largest: int
    """So many players at most."""


@dataclass(frozen=True)
class Known:
    """What is known of one view."""

    factors: tuple[Found, ...]
    decided_size: int
    decided_share: float
    covered: tuple[float, float] | None = None
    stopped: Stop | None = None
    """There are more minimal sets than are listed."""

    def joined(self, other: Known) -> Known:
        """What either knows."""
        return replace(
            self,
            factors=tuple(dict.fromkeys((*self.factors, *other.factors))),
            decided_size=max(self.decided_size, other.decided_size),
            decided_share=max(self.decided_share, other.decided_share),
        )

    def findings(self, tau: float, decided: bool) -> Findings:
        """The same as every search says it."""
        size, share = self.decided_size, self.decided_share
        return Findings(tau, self.factors, decided, size, True, self.covered, share)


def decide(seen: Seen, rule: Rule, bar: Progress, weights: Reals | None = None) -> Known:
    """The minimal sets; and how much they cover, where weights by size say what a set counts.

    `bar` is told of each set twice.
    """
    d = seen.players
    slab = min(_SLAB, 1 << d)
    slabs, sizes = range(0, 1 << d, slab), np.bitwise_count(np.arange(slab, dtype=np.uint32))
    outcome, inside, above, looked_at = (_BySize(d, sizes) for _ in range(4))

    closed = bitsets.empty(d)
    for first in slabs:
        hits = seen.hits(first, slab)
        outcome.add(first, hits)
        passing = (hits >= rule.least) & (sizes + first.bit_count() <= rule.largest)
        bitsets.run(closed, first, slab)[:] = bitsets.pack(passing)
        bar.update(slab)
    bitsets.close_upward(closed, d)
    for first in slabs:
        closure = bitsets.truths(bitsets.run(closed, first, slab), slab)
        if closure.any():
            inside.add(first, seen.hits(first, slab) * closure)
            above.add(first, closure)
        failing = ~closure & (sizes + first.bit_count() <= rule.largest)
        looked_at.add(first, failing[: max(0, seen.count - first)])
        bar.update(slab)

    masks, count = _smallest(bitsets.least_of(closed, d), seen)
    # What adds players that were not seen to a set of the closure is in it, too.
    unseen = [comb(seen.d - d, k) for k in range(seen.d - d + 1)]
    decided = np.convolve(above.totals(), unseen)
    decided[: d + 1] += looked_at.totals()
    whole = decided == [comb(seen.d, k) for k in range(seen.d + 1)]
    known = Known(
        tuple(Found(members_of(int(m)), int(seen.hits(int(m), 1)[0])) for m in masks),
        int(np.argmin([*whole, False])) - 1,
        int(decided.sum()) / (1 << seen.d),
    )
    if weights is not None:
        covered = float(inside.totals() @ weights), float(outcome.totals() @ weights)
        known = replace(known, covered=covered)
    if len(masks) < count:  # all of the smaller sizes are listed
        size = min(known.decided_size, int(masks[-1]).bit_count() - 1)
        known = replace(known, decided_size=size, stopped=Stop("many", count))
    return known


class _BySize:
    """Sums over all subsets of a size, from one slab after another.

    Within a slab sizes differ as they do in any other; so slabs that have equally many players in
    all their sets are added up, and told apart by size only in the end.
    """

    def __init__(self, d: int, sizes: NDArray[np.uint8]) -> None:
        self._sizes = sizes
        self._d = d
        self._sums = np.zeros((d + 2 - len(sizes).bit_length(), len(sizes)), dtype=np.int64)

    def add(self, first: int, values: NDArray[Any]) -> None:
        """Add the values of consecutive masks."""
        self._sums[first.bit_count(), : len(values)] += values

    def totals(self) -> Counts:
        """By size."""
        out = np.zeros(self._d + 1, dtype=np.int64)
        for more, sums in enumerate(self._sums):
            np.add.at(out, self._sizes + more, sums)
        return out


def _smallest(least: Words, seen: Seen) -> tuple[Counts, int]:
    """The sets to list, as masks: smaller ones first, then the surer; and how many there are.

    They are never all written out together.
    """
    masks, largest = np.empty(0, dtype=np.int64), seen.d
    for at in range(0, len(least), _WORDS):
        some = bitsets.masks_in(least[at : at + _WORDS]) + at * bitsets.WORD_BITS
        masks = np.concatenate([masks, some[np.bitwise_count(some) <= largest]])
        if len(masks) > 4 * _LISTED:
            masks = _in_order(masks, seen)[:_LISTED]
            largest = int(masks[-1]).bit_count()
    return _in_order(masks, seen)[:_LISTED], int(np.bitwise_count(least).sum(dtype=np.int64))


def _in_order(masks: Counts, seen: Seen) -> Counts:
    held = seen.held[masks].astype(np.int64)
    return masks[np.lexsort((masks, held if seen.flip else -held, np.bitwise_count(masks)))]


def counted(tally: Tally, rule: Rule) -> Known:
    """What small sets say of a view, where all of them were counted up to some size."""
    size = min(tally.exhaustive_size, rule.largest)
    if size < 0:
        return Known((), -1, 0.0)
    levels = tally.levels[: size + 1]
    ladder = climb([(level >= rule.least).astype(float) for level in levels], tally.d)
    factors = []
    for k, (passes, below) in enumerate(zip(ladder.passes, ladder.below, strict=True)):
        ranks = np.flatnonzero(passes > below)
        members = tally.lattice.unrank(k, ranks).tolist()
        hits = levels[k][ranks].tolist()
        factors += [Found(tuple(m), h) for m, h in zip(members, hits, strict=True)]
    return Known(tuple(factors), size, sum(map(len, levels)) / tally.lattice.count)
