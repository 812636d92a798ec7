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

from suffice.context.cost import SetCosts, change_costs
from suffice.context.hybrids import Hybrids
from suffice.context.players import Players
from suffice.context.pool import Pool
from suffice.context.swap import PooledHybrids, SwapHybrids
from suffice.decision import Decision
from suffice.explanation.factor import Change, Player
from suffice.factors.lattice import held_of_masks, members_of
from suffice.factors.order import ROUNDING
from suffice.search.answer import Answer
from suffice.search.plan import Narrowed
from suffice.search.profile import Profile
from suffice.search.sweep import Sweep
from suffice.tables import Table, plain
from suffice.typing import Counts, Held, Outcomes, Reals, Scalar

__all__ = ["CheapestChanges", "find_changes"]

_REFERENCES = 256
"""References whose sets are grown together at first; then twice as many, and so on."""

_DENSE = 20
"""Pricing all pairs of a size at once is so many times faster, per pair, than growing them."""

_FEW = 1 << 15
"""So many pairs are grown without a thought."""

_CELLS = 1 << 20
"""Pairs priced at once."""

_SETS_AT_ONCE = 4096

_TABULATED = 64
"""Players: of more, sums of costs are not tabulated."""


@dataclass(frozen=True, eq=False)
class Priced:
    """By set, one place in each: its bit mask, the least cost of a flip, and whose values do it."""

    masks: list[int]
    costs: Reals
    rows: Counts
    """Rows of the pool."""

    @classmethod
    def joined(cls, parts: list[Priced]) -> Priced:
        """All of them, each set once, without those that cannot be afforded."""
        masks = [mask for part in parts for mask in part.masks]
        costs = np.concatenate([np.empty(0), *(part.costs for part in parts)])
        rows = np.concatenate([np.empty(0, dtype=np.int64), *(part.rows for part in parts)])
        some = np.flatnonzero(costs < np.inf).tolist()
        if len(parts) > 1:
            some = list({masks[i]: i for i in some}.values())
        return cls([masks[i] for i in some], costs[some], rows[some])


@dataclass(frozen=True, eq=False)
class CheapestChanges(Mapping[int, Change]):
    """By bit mask of features: the cost, and the row of the pool whose values do it."""

    priced: Priced
    hybrids: Hybrids
    players: tuple[Player, ...]

    def __getitem__(self, mask: int) -> Change:
        return self.change(mask, *self.found[mask])

    def change(self, mask: int, cost: float, row: int) -> Change:
        """A set's change to the values of a row of the pool."""
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
    def found(self) -> dict[int, tuple[float, int]]:
        """By bit mask: the cost, and the row of the pool."""
        pairs = zip(self.priced.costs.tolist(), self.priced.rows.tolist(), strict=True)
        return dict(zip(self.priced.masks, pairs, strict=True))

    @cached_property
    def _read(self) -> dict[int, Mapping[str, Scalar]]:
        return {}

    def __iter__(self) -> Iterator[int]:
        return iter(self.priced.masks)

    def __len__(self) -> int:
        return len(self.priced.masks)


def _shown(pool: Table, row: int) -> Mapping[str, Scalar]:
    if isinstance(pool, Pool) and row:
        return dict(zip(pool.names, pool.references.cells(row - 1), strict=True))
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
        return CheapestChanges(Priced.joined([]), hybrids, players), None
    costs = change_costs(decision.pool, decision.data, decision.players, decision.cost)
    _forbid_losses(costs, decision.pool, decision.players)
    if narrowed.idle:
        costs = costs[:, list(narrowed.players)]
    prices = _SetPrices(costs)
    parts = [] if answer.sweep is None else list(_swept(answer.sweep, flip, hybrids, prices))
    priced = Priced.joined([*parts, *_found(answer, hybrids, prices)])
    changes = CheapestChanges(priced, hybrids, players)
    causal = decision.context.is_causal
    best = cheapest_of_all(answer.sweep, priced, hybrids, costs, causal)
    return changes, None if best is None else changes.change(best.mask, best.cost, best.row)


def _forbid_losses(costs: Reals, pool: Table, players: Players) -> None:
    """Make it cost infinitely much to lose a value that the input has."""
    if isinstance(pool, Pool):
        below = pool.references.once("missing", lambda: _missing(pool.references.table))
        if not below.any():
            return
        missing = np.concatenate([_missing(pool.inputs.table)[[pool.place]], below])
    else:
        missing = _missing(pool)
    lost = missing[1:] & ~missing[0]
    for player, columns in enumerate(players.columns):
        costs[lost[:, list(columns)].any(axis=1), player] = np.inf


def _missing(table: Table) -> Held:
    from pandas import isna

    columns = (isna(table.column(j)) for j in range(len(table.names)))
    return np.stack([np.asarray(column, dtype=bool) for column in columns], axis=1)


def _swept(sweep: Sweep, flip: Profile, hybrids: Hybrids, prices: _SetPrices) -> Iterator[Priced]:
    """Of the sets in the sweep that are minimal at some τ."""
    lattice, d = flip.tally.lattice, flip.tally.d
    # Without a test all bars are there, whatever test is asked for later.
    counted = flip if flip.findings is None else replace(flip, findings=None)
    bars = counted.tested(None, "none").bars
    if flip.tally.complete:
        for masks in _in_parts(bars.places):
            # Replacing a set is holding its complement.
            kept = sweep.outcomes_of((1 << d) - 1 - masks)
            replaced = held_of_masks(masks, d)
            price = prices.tables.of_masks(masks)
            yield _cheapest(masks.tolist(), price, kept, replaced, hybrids)
        return
    for size, which in bars.by_size():
        for ranks in _in_parts(bars.places[which]):
            replaced = lattice.held_at(size, ranks)
            # Complements are numbered backwards.
            kept = sweep.outcomes(d - size, lattice.width(size) - 1 - ranks)
            named = [lattice.mask(members) for members in lattice.unrank(size, ranks).tolist()]
            yield _cheapest(named, prices.of(replaced), kept, replaced, hybrids)


def _in_parts(places: Counts) -> Iterator[Counts]:
    for start in range(0, len(places), _SETS_AT_ONCE):
        yield places[start : start + _SETS_AT_ONCE]


def _cheapest(
    masks: list[int], price: Reals, kept: Outcomes, replaced: Held, hybrids: Hybrids
) -> Priced:
    """For some sets: the least cost of a flip, and the pool's row that does it.

    `price` is what replacing each set by each reference's values costs. Where no reference flips,
    or each would need a change of infinite cost, the cost is infinite.
    """
    each = np.arange(len(price))
    if isinstance(hybrids, PooledHybrids):  # every set takes values from the references in order
        np.putmask(price, kept, np.inf)
        first = price.argmin(axis=1)
        return Priced(masks, price[each, first], first + 1)
    donors = hybrids.donors(~replaced)
    if donors is None:
        raise TypeError("rows that were made, not observed, have no cost")
    price = np.where(kept, np.inf, np.take_along_axis(price, donors - 1, axis=1))
    first = price.argmin(axis=1)
    return Priced(masks, price[each, first], donors[each, first])


def _found(answer: Answer, hybrids: Hybrids, prices: _SetPrices) -> Iterator[Priced]:
    """Of the sets that were found outside the sweep."""
    found = list(answer.flips.items())
    for start in range(0, len(found), _SETS_AT_ONCE):
        some = found[start : start + _SETS_AT_ONCE]
        replaced = np.zeros((len(some), hybrids.d), dtype=bool)
        for row, (members, _) in zip(replaced, some, strict=True):
            row[list(members)] = True
        masks = [sum(1 << member for member in members) for members, _ in some]
        kept = ~np.stack([flips for _, flips in some])
        yield _cheapest(masks, prices.of(replaced), kept, replaced, hybrids)


class _SetPrices:
    """What sets cost together: from tables, or, of more players than have room in them, a product
    in which infinite costs are counted apart."""

    def __init__(self, costs: Reals) -> None:
        self._costs = costs

    def of(self, sets: Held) -> Reals:
        """(sets, references): what giving each set the values of each reference costs."""
        if self._costs.shape[1] <= _TABULATED:
            return self.tables.of(sets)
        never = np.isinf(self._costs)
        moved = sets.astype(float)
        out: Reals = moved @ np.where(never, 0.0, self._costs).T
        out[moved @ never.T > 0] = np.inf
        return out

    @cached_property
    def tables(self) -> SetCosts:
        """For few players, and so for all sets by bit mask."""
        return SetCosts(self._costs)


def cheapest_of_all(
    sweep: Sweep | None, known: Priced, hybrids: Hybrids, costs: Reals, causal: bool
) -> _Best | None:
    """The bit mask of the set, its cost and whose values; None where nothing affordable flips.

    `known` are changes of single sets, which bound what is worth looking at. Of equally cheap
    changes, one of the fewest features is taken.
    """
    changed = _changed(hybrids)
    best = _best_known(known, changed, causal)
    # Where each set has references of its own, only what is known of each is comparable.
    if sweep is None or best is None or not isinstance(hybrids, PooledHybrids):
        return best
    search = _Cheapest(sweep, np.where(changed, costs, np.inf), best)
    nearest, start, some = search.nearest, 0, _REFERENCES
    while start < len(nearest):
        search.look_at(nearest[start : start + some])
        start, some = start + some, 2 * some
    return search.best


def _changed(hybrids: Hybrids) -> Held:
    """(references, players): has the reference another value than the input?"""
    if isinstance(hybrids, SwapHybrids):
        return np.asarray(hybrids.codes[1:] != hybrids.codes[0])
    codes = hybrids.pool.codes()
    other = codes[1:] != codes[0]
    players = [other[:, list(columns)].any(axis=1) for columns in hybrids.players.columns]
    return np.stack(players, axis=1)


@dataclass(frozen=True)
class _Best:
    mask: int
    cost: float
    row: int

    def limit(self, size: int) -> float:
        """What a set of this size may cost to be better: less, or as much with fewer features."""
        return self.cost * (1 + ROUNDING if size < self.mask.bit_count() else 1 - ROUNDING)


def _best_known(known: Priced, changed: Held, causal: bool) -> _Best | None:
    if not known.masks:
        return None
    # Where luck may have done it, the cheapest need not count; elsewhere it does.
    most = np.inf if causal else known.costs.min()
    some = np.flatnonzero(known.costs <= most).tolist()
    by_cost = sorted(
        some, key=lambda i: (known.costs[i], known.masks[i].bit_count(), known.masks[i])
    )
    for i in by_cost:
        mask, row = known.masks[i], int(known.rows[i])
        moved = sum(1 << int(j) for j in np.flatnonzero(changed[row - 1]) if mask >> int(j) & 1)
        if moved == mask or not causal:
            return _Best(moved, float(known.costs[i]), row)
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
        d = sweep.tally.d
        unvisited = [size for size in range(1, d + 1) if not sweep.tally.listed(d - size)]
        self._deepest = min(unvisited, default=d + 1) - 1

    @property
    def nearest(self) -> Counts:
        """References with some feature cheap enough to be worth looking at, the cheapest first."""
        cheapest = self.ascending[:, 0]
        near = np.flatnonzero(cheapest <= self.best.limit(1))
        return near[np.argsort(cheapest[near], kind="stable")]

    @cached_property
    def _flips(self) -> list[Counts]:
        """By size of the replaced set: the held sets, by number, that some reference flips from."""
        levels, n = self._sweep.tally.levels, self._sweep.tally.n
        return [np.flatnonzero(level < n) for level in reversed(levels)]

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
            pairs = int(more.sum())
            if pairs > _FEW and pairs > len(self._flips[size]) * len(references) // _DENSE:
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
        flips = self._sweep.flips(members, references)
        if not flips.any():
            return
        at = int(np.where(flips, cost, np.inf).argmin())
        if cost[at] <= self.best.limit(members.shape[1]):
            mask = sum(1 << player for player in members[at].tolist())
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
