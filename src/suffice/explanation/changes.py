"""What flips cost: the cheapest change of every set, and the cheapest change there is.

There can be tens of thousands of sets that flip at some τ, and a user looks at a few: a change is
put into words only when it is looked at.

The cheapest change of all is the answer to `Explainer.recourse` without constraints, read from the
same outcomes. A set that is minimal at some τ need not hold it: one reference may flip on a larger
set at less than it costs any other to flip on a smaller one. Only sets whose every feature really
changes are looked at: a smaller one has the same row; or else, where effects follow at random,
luck did it. A reference's features are taken in the order of their costs, and a set that costs more
than the best so far is not grown further: of the 2^d · n pairs of a set and a reference few are
ever priced.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from suffice.context.cost import change_costs
from suffice.context.hybrids import Hybrids
from suffice.context.pool import Pool
from suffice.context.swap import PooledHybrids
from suffice.decision import Decision
from suffice.explanation.factor import Change, Player
from suffice.factors.lattice import members_of
from suffice.factors.order import ROUNDING
from suffice.search.answer import Answer
from suffice.search.plan import Narrowed
from suffice.search.profile import Profile
from suffice.search.sweep import Sweep
from suffice.tables import Table, plain
from suffice.typing import Counts, Held, Reals, Scalar

__all__ = ["CheapestChanges", "find_changes"]

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

_SETS_AT_ONCE = 4096


@dataclass(frozen=True, eq=False)
class CheapestChanges(Mapping[int, Change]):
    """By bit mask of features: the cost, and the row of the pool whose values do it."""

    found: Mapping[int, Priced]
    hybrids: Hybrids
    players: tuple[Player, ...]

    def __getitem__(self, mask: int) -> Change:
        cost, row = self.found[mask]
        values = self.values_of(row)
        players = tuple(self.players[j] for j in members_of(mask))
        return Change(players, {c: values[c] for p in players for c in p.values}, cost)

    def values_of(self, row: int) -> Mapping[str, Scalar]:
        """A row's values as they are shown. A few rows serve many sets, so each is read once."""
        pool = self.hybrids.pool
        if isinstance(pool, Pool) and row:  # inputs that share references share what they show
            return pool.references.once(("shown", row), lambda: _shown(pool, row))
        if row not in self._read:
            self._read[row] = _shown(pool, row)
        return self._read[row]

    @cached_property
    def _read(self) -> dict[int, Mapping[str, Scalar]]:
        return {}

    def __iter__(self) -> Iterator[int]:
        return iter(self.found)

    def __len__(self) -> int:
        return len(self.found)


def _shown(pool: Table, row: int) -> Mapping[str, Scalar]:
    return {name: plain(pool.column(j)[row]) for j, name in enumerate(pool.names)}


def find_changes(
    decision: Decision,
    narrowed: Narrowed,
    answer: Answer,
    flip: Profile,
    players: tuple[Player, ...],
) -> tuple[CheapestChanges, Change | None]:
    """The cheapest change of each set that is minimal at some τ, and the cheapest of any set.

    Rows that a sampler made were never observed, so there is no change of theirs to report. No one
    can act on a value that is not told, so none becomes missing.
    """
    hybrids = narrowed.hybrids[1]
    if hybrids.donors(np.ones((1, hybrids.d), dtype=bool)) is None:
        return CheapestChanges({}, hybrids, players), None
    costs = change_costs(decision.pool, decision.data, decision.players, decision.cost)
    costs = costs[:, list(narrowed.players)]
    costs[_lost(hybrids)] = np.inf
    found = _found(answer, hybrids, costs)
    swept = {} if answer.sweep is None else _swept(answer.sweep, flip, hybrids, costs)
    affordable = {mask: priced for mask, priced in (swept | found).items() if priced[0] < np.inf}
    changes = CheapestChanges(affordable, hybrids, players)
    best = cheapest_of_all(answer.sweep, affordable, hybrids, costs, decision.context.is_causal)
    if best is None:
        return changes, None
    mask, priced = best
    return changes, replace(changes, found={mask: priced})[mask]


def _swept(sweep: Sweep, flip: Profile, hybrids: Hybrids, costs: Reals) -> dict[int, Priced]:
    """Of the sets in the sweep that are minimal at some τ."""
    out: dict[int, Priced] = {}
    lattice = flip.tally.lattice
    # Without a test all bars are there, whatever test is asked for later.
    for size, ranks in replace(flip, findings=None).tested(None, "none").bars_by_size():
        best, whose = _cheapest(sweep, size, ranks, costs, hybrids)
        masks = [lattice.mask(members) for members in lattice.unrank(size, ranks).tolist()]
        out |= zip(masks, zip(best.tolist(), whose.tolist(), strict=True), strict=True)
    return out


def _cheapest(
    sweep: Sweep, size: int, ranks: Counts, costs: Reals, hybrids: Hybrids
) -> tuple[Reals, Counts]:
    """For some sets of one size: the least cost of a flip, and the pool's row that does it.

    `costs[r, j]` is what it costs to give the input reference r's value on player j. Where no
    reference flips, or each would need a change of infinite cost, the cost is infinite.
    """
    lattice = sweep.tally.lattice
    forbidden = np.isinf(costs)
    finite = np.where(forbidden, 0.0, costs)
    best, whose = np.empty(len(ranks)), np.empty(len(ranks), dtype=np.int64)
    for start in range(0, len(ranks), _SETS_AT_ONCE):
        part = slice(start, start + _SETS_AT_ONCE)
        replaced = lattice.held_at(size, ranks[part])
        # Replacing a set is holding its complement, which is numbered backwards.
        kept = sweep.outcomes(lattice.d - size, lattice.width(size) - 1 - ranks[part])
        moved = replaced.astype(float)
        price = np.where(moved @ forbidden.T > 0, np.inf, moved @ finite.T)
        donors = hybrids.donors(~replaced)
        if donors is None:
            raise TypeError("rows that were made, not observed, have no cost")
        total = np.where(kept, np.inf, np.take_along_axis(price, donors - 1, axis=1))
        best[part] = total.min(axis=1)
        whose[part] = donors[np.arange(len(total)), total.argmin(axis=1)]
    return best, whose


def _found(answer: Answer, hybrids: Hybrids, costs: Reals) -> dict[int, Priced]:
    """Of the sets that were found outside the sweep."""
    out: dict[int, Priced] = {}
    for members, flips in answer.flips.items():
        held = np.ones((1, hybrids.d), dtype=bool)
        held[0, list(members)] = False
        donors = hybrids.donors(held)
        assert donors is not None
        prices = np.where(flips, costs[donors[0] - 1][:, list(members)].sum(axis=1), np.inf)
        mask = sum(1 << member for member in members)
        out[mask] = float(prices.min()), int(donors[0, prices.argmin()])
    return out


def _lost(hybrids: Hybrids) -> Held:
    """(references, players): would a value become missing that the input has?"""
    from pandas import isna

    pool = hybrids.pool
    missing = np.stack(
        [np.asarray(isna(pool.column(j)), dtype=bool) for j in range(len(pool.names))], axis=1
    )
    return of_players(hybrids, missing[1:] & ~missing[0])


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
        return self.cost * (1 + ROUNDING if size < self.mask.bit_count() else 1 - ROUNDING)


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
            members = lattice.unrank(size, lattice.width(size) - 1 - part)
            replaced = np.zeros((len(part), lattice.d))
            np.put_along_axis(replaced, members, 1.0, axis=1)
            price = np.where(replaced @ never.T > 0, np.inf, replaced @ finite.T)
            sets, which = np.nonzero(price <= self.best.limit(size))
            if len(sets):
                self._try(members[sets], references[which], price[sets, which])
