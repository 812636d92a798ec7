"""The cheapest change there is: over every set that was swept and every reference.

It is the answer to `Explainer.recourse` without constraints, read from the same outcomes. A set
that is minimal at some τ need not hold it: one reference may flip on a larger set at less than it
costs any other to flip on a smaller one.

Only sets whose every feature really changes are looked at. A smaller one has the same row; or else,
where effects follow at random, luck did it. A reference's features are taken in the order of their
costs, and a set that costs more than the best so far is not grown further: of the 2^d · n pairs of
a set and a reference few are ever priced.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from suffice.context.hybrids import Hybrids
from suffice.context.swap import PooledHybrids
from suffice.search.sweep import Sweep
from suffice.typing import Counts, Held, Reals

__all__ = ["Priced", "cheapest_of_all", "of_players"]

Priced = tuple[float, int]
"""What a change costs, and the row of the pool whose values it takes."""

_REFERENCES = 32
"""References whose sets are grown together."""

_DENSE = 20
"""Pricing all pairs of a size at once is so many times faster, per pair, than growing them."""

_FEW = 1 << 15
"""So many pairs are grown without a thought."""

_CELLS = 1 << 20
"""Pairs priced at once."""

_SAME = 1e-9
"""Costs that differ by no more than this share were only added up in another order."""


def cheapest_of_all(
    sweep: Sweep | None, known: Mapping[int, Priced], hybrids: Hybrids, costs: Reals, causal: bool
) -> tuple[int, Priced] | None:
    """The bit mask of the set, its cost and whose values; None where nothing affordable flips.

    `known` are changes of single sets, which bound what is worth looking at. Of equally cheap
    changes, one of the fewest features is taken.
    """
    codes = hybrids.pool.codes()
    changed = of_players(hybrids, codes[1:] != codes[0])
    best = _best_known(known, changed, causal)
    # Where each set has references of its own, only what is known of each is comparable.
    if sweep is None or best is None or not isinstance(hybrids, PooledHybrids):
        return best if best is None else (best.mask, (best.cost, best.row))
    search = _Cheapest(sweep, np.where(changed, costs, np.inf), best)
    nearest = np.argsort(search.ascending[:, 0], kind="stable")
    for start in range(0, len(nearest), _REFERENCES):
        search.look_at(nearest[start : start + _REFERENCES])
    return search.best.mask, (search.best.cost, search.best.row)


def of_players(hybrids: Hybrids, columns: Held) -> Held:
    """(rows, columns) -> (rows, players): is it so for any of a player's columns?"""
    by_player = [columns[:, list(c)].any(axis=1) for c in hybrids.players.columns]
    return np.stack(by_player, axis=1)


@dataclass(frozen=True)
class _Best:
    mask: int
    cost: float
    row: int

    def limit(self, size: int) -> float:
        """What a set of this size may cost to be better: less, or as much with fewer features."""
        return self.cost * (1 + _SAME if size < self.mask.bit_count() else 1 - _SAME)


def _best_known(known: Mapping[int, Priced], changed: Held, causal: bool) -> _Best | None:
    if not known:
        return None

    def by_cost(item: tuple[int, Priced]) -> tuple[float, int, int]:
        mask, (cost, _) = item
        return cost, mask.bit_count(), mask

    # Where luck may have done it, the cheapest need not count; elsewhere it does.
    ordered = sorted(known.items(), key=by_cost) if causal else [min(known.items(), key=by_cost)]
    for mask, (cost, row) in ordered:
        moved = sum(1 << int(j) for j in np.flatnonzero(changed[row - 1]) if mask >> int(j) & 1)
        if moved == mask or not causal:
            return _Best(moved, cost, row)
    return None


class _Cheapest:
    """The best so far, and the outcomes and prices that it is searched in."""

    def __init__(self, sweep: Sweep, prices: Reals, best: _Best) -> None:
        self.best = best
        self._sweep = sweep
        self._prices = prices
        self._order = np.argsort(prices, axis=1, kind="stable")
        self.ascending = np.take_along_axis(prices, self._order, axis=1)
        """(references, players): what the features of each cost, the cheapest first."""
        d, levels = sweep.tally.d, sweep.tally.levels
        # By size of the replaced set: the held sets, by number, that some reference flips from.
        self._flips = [np.flatnonzero(level < sweep.tally.n) for level in reversed(levels)]
        unvisited = [size for size in range(1, d + 1) if not len(levels[d - size])]
        self._deepest = min(unvisited, default=d + 1) - 1

    def look_at(self, references: Counts) -> None:
        """Grow the sets of these references, smaller ones first, while they are cheap enough."""
        of = references
        last, cost = np.full(len(of), -1), np.zeros(len(of))
        members = np.empty((len(of), 0), dtype=np.int64)
        for size in range(1, self._deepest + 1):
            room = self.best.limit(size) - cost
            upto = (self.ascending[of] <= room[:, None]).sum(axis=1)
            more = np.maximum(upto - last - 1, 0)
            if not more.any():
                return
            all_at_once = len(self._flips[size]) * len(references) // _DENSE
            if int(more.sum()) > max(_FEW, all_at_once):
                for larger in range(size, self._deepest + 1):
                    self._price_all(larger, references)
                return
            grown = np.repeat(np.arange(len(of)), more)
            first = np.repeat(np.cumsum(more) - more, more)
            last = last[grown] + 1 + np.arange(len(grown)) - first
            of, members = of[grown], np.column_stack([members[grown], last])
            cost = cost[grown] + self.ascending[of, last]
            self._try(np.sort(self._order[of[:, None], members], axis=1), of, cost)

    def _try(self, members: Counts, references: Counts, cost: Reals) -> None:
        """Is the cheapest of these sets that flips better than the best so far?"""
        size = members.shape[1]
        lattice = self._sweep.tally.lattice
        # Replacing a set is holding its complement, which is numbered backwards.
        held = lattice.width(size) - 1 - lattice.ranks(members)
        flips = self._sweep.flips(lattice.d - size, held, references)
        if not flips.any():
            return
        at = int(np.where(flips, cost, np.inf).argmin())
        if cost[at] <= self.best.limit(size):
            mask = lattice.mask(members[at].tolist())
            self.best = _Best(mask, float(cost[at]), 1 + int(references[at]))

    def _price_all(self, size: int, references: Counts) -> None:
        """The same for all sets of one size that flip for some reference."""
        lattice, flips = self._sweep.tally.lattice, self._flips[size]
        within = self.ascending[references, :size].sum(axis=1) <= self.best.limit(size)
        references = np.sort(references[within])
        if not len(references):
            return
        never = np.isinf(self._prices[references])
        finite = np.where(never, 0.0, self._prices[references])
        for part in np.array_split(flips, 1 + len(flips) * len(references) // _CELLS):
            ranks = lattice.width(size) - 1 - part
            members = lattice.unrank(size, ranks)
            replaced = lattice.held_at(size, ranks).astype(float)
            price = np.where(replaced @ never.T > 0, np.inf, replaced @ finite.T)
            sets, which = np.nonzero(price <= self.best.limit(size))
            if len(sets):
                self._try(members[sets], references[which], price[sets, which])
