"""What the references tell of every set: how many are allowed, how many succeed, at what price."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from suffice.encodings.recourse.allowed import Allowed
from suffice.encodings.recourse.sets import Sets
from suffice.encodings.recourse.sums import Unions
from suffice.factors.lattice import masks_by_size
from suffice.search.sweep import Sweep, draw_hybrids
from suffice.typing import Counts, Outcomes, Reals

__all__ = ["Survey", "candidates", "estimated_necessity", "take_survey"]

_CELLS = 1 << 23
"""Sets × references looked at together."""


@dataclass(frozen=True, eq=False)
class Survey:
    """By position of a set: counts of references, and the cheapest allowed change that succeeds."""

    sets: Sets
    hits: Counts
    n: Counts
    cost: Reals
    """Infinite where no allowed change of finite cost succeeds."""
    reference: Counts
    """Whose values do it."""

    @property
    def sufficiency(self) -> Reals:
        """PS(T, desired) over the allowed references; 0 where there are none."""
        return np.asarray(self.hits / np.maximum(self.n, 1))

    def necessity(self, chosen: Sequence[tuple[int, ...]]) -> list[float | None]:
        """PN of some sets' upward closures over the allowed hybrids; every set must be known."""
        d = self.sets.d
        above = np.empty(1 << d)
        above[masks_by_size(d)] = self.hits
        everything = float(above.sum())
        for j in range(d):  # sums over supersets: one addition along each player
            halves = above.reshape(-1, 2, 1 << j)
            halves[:, 0] += halves[:, 1]
        masks = [self.sets.lattice.mask(members) for members in chosen]
        return [float(above[mask]) / everything if everything else None for mask in masks]


def take_survey(sweep: Sweep, allowed: Allowed, costs: Reals, largest: int) -> Survey:
    """Look at all sets of up to `largest` players, a block at a time.

    `costs[r, j]` is what it costs to give the input reference r's values on player j.
    """
    sets = Sets(sweep.tally.d, largest)
    prices = Unions(costs, np.add)
    hits, n = np.zeros(len(sets), dtype=np.int64), np.zeros(len(sets), dtype=np.int64)
    cost, reference = np.full(len(sets), np.inf), np.zeros(len(sets), dtype=np.int64)
    for size, start, at, members in sets.blocks(max(1, _CELLS // sweep.tally.n)):
        ok = allowed.of(members)
        succeeds = _succeeds(sweep, size, start, len(members)) & ok
        hits[at], n[at] = succeeds.sum(axis=1), ok.sum(axis=1)
        some = np.flatnonzero(succeeds.any(axis=1))
        if size and len(some):
            price = np.where(succeeds[some], prices.of(members[some]), np.inf)
            best = price.argmin(axis=1)
            positions = np.arange(at.start, at.stop)[some]
            cost[positions], reference[positions] = price[np.arange(len(some)), best], best
    return Survey(sets, hits, n, cost, reference)


def candidates(
    sweep: Sweep, allowed: Allowed, costs: Reals, members: tuple[int, ...]
) -> tuple[Counts, Reals]:
    """The references that succeed on one set, cheapest first, and what each costs."""
    lattice = sweep.tally.lattice
    which = np.zeros((1, lattice.d), dtype=bool)
    which[0, list(members)] = True
    succeeds = _succeeds(sweep, len(members), lattice.rank(members), 1) & allowed.of(which)
    price = np.where(succeeds, Unions(costs, np.add).of(which), np.inf)[0]
    order = np.argsort(price, kind="stable")
    order = order[price[order] < np.inf]
    return order, price[order]


def estimated_necessity(
    sweep: Sweep, allowed: Allowed, seed: int, chosen: Sequence[tuple[int, ...]]
) -> list[float | None]:
    """The same necessity from hybrids drawn at random, where not every set was visited."""
    draws = sweep.draws
    if draws is None:
        return [None] * len(chosen)
    # The sweep keeps what was held; the same seed gives the references again.
    _, references = draw_hybrids(sweep.tally.d, sweep.tally.n, seed, len(draws.held), None)
    ok = allowed.of(~draws.held)[np.arange(len(references)), references]
    replaced = ~draws.held[ok & ~draws.outcomes]
    if not len(replaced):
        return [None] * len(chosen)
    return [float(replaced[:, list(members)].all(axis=1).mean()) for members in chosen]


def _succeeds(sweep: Sweep, size: int, start: int, count: int) -> Outcomes:
    """Replacing a set is holding its complement, which is numbered backwards."""
    lattice = sweep.tally.lattice
    ranks = lattice.width(size) - 1 - np.arange(start, start + count)
    return ~sweep.outcomes(lattice.d - size, ranks)
