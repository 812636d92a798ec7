"""The cheapest change of every set that flips at some τ, put into words only when looked at.

There can be tens of thousands of such sets, and a user looks at a few.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from suffice.context.cost import change_costs
from suffice.context.hybrids import Hybrids
from suffice.decision import Decision
from suffice.explanation.cheapest import Priced, cheapest_of_all, of_players
from suffice.explanation.factor import Change, Player
from suffice.factors.lattice import members_of
from suffice.search.profile import Profile
from suffice.search.strategy import Answer
from suffice.search.sweep import Sweep
from suffice.tables import plain
from suffice.typing import Counts, Held, Reals, Scalar

__all__ = ["CheapestChanges", "find_changes"]

_SETS_AT_ONCE = 4096


@dataclass(frozen=True, eq=False)
class CheapestChanges(Mapping[int, Change]):
    """By bit mask of features: the cost, and the row of the pool whose values do it."""

    found: Mapping[int, Priced]
    hybrids: Hybrids
    players: tuple[Player, ...]

    def __getitem__(self, mask: int) -> Change:
        cost, row = self.found[mask]
        values = self._values_of(row)
        players = tuple(self.players[j] for j in members_of(mask))
        return Change(players, {c: values[c] for p in players for c in p.values}, cost)

    def _values_of(self, row: int) -> Mapping[str, Scalar]:
        """A row's values as they are shown. A few rows serve many sets, so each is read once."""
        if row not in self._read:
            pool = self.hybrids.pool
            columns = enumerate(pool.names)
            self._read[row] = {name: plain(pool.column(j)[row]) for j, name in columns}
        return self._read[row]

    @cached_property
    def _read(self) -> dict[int, Mapping[str, Scalar]]:
        return {}

    def __iter__(self) -> Iterator[int]:
        return iter(self.found)

    def __len__(self) -> int:
        return len(self.found)


def find_changes(
    decision: Decision, answer: Answer, flip: Profile, players: tuple[Player, ...]
) -> tuple[CheapestChanges, Change | None]:
    """The cheapest change of each set that is minimal at some τ, and the cheapest of any set.

    Rows that a sampler made were never observed, so there is no change of theirs to report. No one
    can act on a value that is not told, so none becomes missing.
    """
    hybrids = decision.hybrids[1]
    if hybrids.donors(np.ones((1, hybrids.d), dtype=bool)) is None:
        return CheapestChanges({}, hybrids, players), None
    costs = change_costs(decision.pool, decision.data, decision.players, decision.cost)
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
