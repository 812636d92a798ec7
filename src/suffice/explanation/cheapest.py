"""The cheapest change there is: over every set that was swept and every reference.

It is the answer to `Explainer.recourse` without constraints, read from the same outcomes. A set
that is minimal at some τ need not hold it: one reference may flip on a larger set at less than it
costs any other to flip on a smaller one.

Only sets whose every feature really changes are looked at. A smaller one has the same row; or else,
where effects follow at random, luck did it. So what a reference's k cheapest features cost bounds
what any k of them cost, and past a small size no set can be cheaper than the best so far.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from suffice.context.hybrids import Hybrids
from suffice.factors.lattice import members_of
from suffice.search.sweep import Sweep
from suffice.typing import Counts, Held, Reals

__all__ = ["Priced", "cheapest_of_all", "of_players"]

Priced = tuple[float, int]
"""What a change costs, and the row of the pool whose values it takes."""

_CELLS = 1 << 21
"""Sets × references priced together."""

_SAME = 1e-9
"""Costs that differ by no more than this share were only added up in another order."""


def cheapest_of_all(
    sweep: Sweep | None, found: Mapping[int, Priced], hybrids: Hybrids, costs: Reals, causal: bool
) -> tuple[int, Priced] | None:
    """The bit mask of the set, its cost and whose values; None where nothing affordable flips.

    `found` are changes of sets outside the sweep. Of equally cheap ones, the set with the fewest
    features is taken.
    """
    codes = hybrids.pool.codes()
    changed = of_players(hybrids, codes[1:] != codes[0])
    best: tuple[int, Priced] | None = None
    least = np.inf
    for mask, (cost, row) in sorted(found.items(), key=lambda item: item[0].bit_count()):
        moved = sum(1 << j for j in members_of(mask) if changed[row - 1, j])
        if cost < least * (1 - _SAME) and (moved == mask or not causal):
            best, least = (moved, (cost, row)), cost
    if sweep is None:
        return best
    prices = np.where(changed, costs, np.inf)
    bound = np.sort(prices, axis=1).cumsum(axis=1)
    for size in range(1, hybrids.d + 1):
        near = np.flatnonzero(bound[:, size - 1] < least * (1 - _SAME))
        if not len(near):
            break
        candidate = _cheapest_of_size(sweep, size, hybrids, prices, near)
        if candidate is not None and candidate[1][0] < least * (1 - _SAME):
            best, least = candidate, candidate[1][0]
    return best


def of_players(hybrids: Hybrids, columns: Held) -> Held:
    """(rows, columns) -> (rows, players): is it so for any of a player's columns?"""
    by_player = [columns[:, list(c)].any(axis=1) for c in hybrids.players.columns]
    return np.stack(by_player, axis=1)


def _cheapest_of_size(
    sweep: Sweep, size: int, hybrids: Hybrids, prices: Reals, near: Counts
) -> tuple[int, Priced] | None:
    """The cheapest change of a set of this size, among the references that can be near enough."""
    lattice, n = sweep.tally.lattice, sweep.tally.n
    kept = sweep.tally.levels[lattice.d - size]
    flips = np.flatnonzero(kept < n)
    never = np.isinf(prices[near])
    finite = np.where(never, 0.0, prices[near])
    best: tuple[int, Priced] | None = None
    for part in np.array_split(flips, 1 + len(flips) * n // _CELLS):
        if not len(part):
            continue
        # Holding a set is replacing its complement, which is numbered backwards.
        members = lattice.unrank(size, lattice.width(size) - 1 - part)
        replaced = np.zeros((len(part), lattice.d))
        np.put_along_axis(replaced, members, 1.0, axis=1)
        price = np.full((len(part), len(prices)), np.inf)
        price[:, near] = np.where(replaced @ never.T > 0, np.inf, replaced @ finite.T)
        donors = hybrids.donors(replaced == 0)
        assert donors is not None
        total = np.take_along_axis(price, donors - 1, axis=1)
        total[sweep.outcomes(lattice.d - size, part)] = np.inf
        which, whose = divmod(int(total.argmin()), n)
        cost = float(total[which, whose])
        if cost < np.inf and (best is None or cost < best[1][0] * (1 - _SAME)):
            best = lattice.mask(members[which].tolist()), (cost, int(donors[which, whose]))
    return best
