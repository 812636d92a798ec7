"""What the references tell of every set: how many are allowed, how many succeed, at what price.

Sets stand in one flat order: by size, then as the lattice numbers them. Position 0 is the empty
set, then come the single players, and so on. For d players and all sizes it is the order of
`masks_by_size`, so numbers by position and numbers by bit mask are permutations of each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from suffice.context.cost import SetCosts
from suffice.encodings.recourse.constraints import AllowedReferences
from suffice.factors.lattice import Lattice, drop_one_ranks, masks_by_size, over_supersets
from suffice.factors.order import no_dearer
from suffice.search.limits import LimitKeeper
from suffice.search.stop import Stop
from suffice.search.sweep import Sweep
from suffice.typing import BoolVector, Counts, Held, Outcomes, Reals

__all__ = ["SetCounts", "Sets", "count_sets"]

_CELLS = 1 << 23
"""Sets × references looked at together."""
_HURRIED_CELLS = 1 << 20
"""The same where a time limit has to be obeyed."""
_SETS = 1 << 16
"""Sets looked at together where references do not matter."""


@dataclass(frozen=True)
class Sets:
    """All sets of up to `largest` of `d` players."""

    d: int
    largest: int

    @property
    def lattice(self) -> Lattice:
        """The lattice that numbers the sets of one size."""
        return Lattice(self.d)

    @cached_property
    def starts(self) -> Counts:
        """By size: the position of its first set; at the end, how many sets there are."""
        widths = [self.lattice.width(size) for size in range(self.largest + 1)]
        return np.concatenate([[0], np.cumsum(widths)])

    def __len__(self) -> int:
        return int(self.starts[-1])

    def members(self, position: int) -> tuple[int, ...]:
        """The players of one set."""
        size = int(np.searchsorted(self.starts, position, side="right")) - 1
        rank = np.array([position - self.starts[size]])
        return tuple(self.lattice.unrank(size, rank)[0].tolist())

    def position(self, members: tuple[int, ...]) -> int:
        """Where a set stands."""
        return int(self.starts[len(members)]) + self.lattice.rank(members)

    def sizes(self) -> Counts:
        """By position: how many players."""
        return np.repeat(np.arange(self.largest + 1), np.diff(self.starts))

    def least_inside(self, costs: Reals) -> Reals:
        """By position: the least cost of any set strictly inside it."""
        inside = np.full(len(self), np.inf)
        for size in range(1, self.largest + 1):
            width = self.lattice.width(size)
            at, below = int(self.starts[size]), int(self.starts[size - 1])
            for start in range(0, width, _SETS):
                stop = min(start + _SETS, width)
                dropped = below + drop_one_ranks(self.lattice.members(size, start, stop), self.d)
                least = np.minimum(costs[dropped], inside[dropped])
                inside[at + start : at + stop] = least.min(axis=1)
        return inside

    def minimal(self, costs: Reals) -> BoolVector:
        """Which sets of finite cost have no subset that costs as little (the paper's cost order).

        T' ≺ T when T' ⊂ T and cost(T') <= cost(T), rounding aside: a superset that is strictly
        cheaper than all that lies inside it is minimal, too.
        """
        return np.asarray((costs < np.inf) & ~no_dearer(self.least_inside(costs), costs))


@dataclass(frozen=True, eq=False)
class SetCounts:
    """By position of a set: counts of references, and the cheapest allowed change that succeeds."""

    sweep: Sweep
    allowed: AllowedReferences
    costs: Reals
    """(references, players): what it costs to give the input a reference's values on a player."""
    sets: Sets
    counted: BoolVector
    """Was the set looked at before a limit was reached? If not, the rest is 0 or infinite."""
    hits: Counts
    n: Counts
    cost: Reals
    """Infinite where no allowed change of finite cost succeeds."""
    reference: Counts
    """Whose values do it."""
    stopped: Stop | None
    """The limit that ended the sweep, or this look at it; None: neither was ended."""

    def reaches(self, tau: float) -> BoolVector:
        """Is PS(T, desired), over the references allowed on T, at least τ?"""
        return np.asarray((self.n > 0) & (self.hits / np.maximum(self.n, 1) >= tau))

    def of(self, members: tuple[int, ...]) -> tuple[int, int | None]:
        """How many references are allowed on one set, and how many succeed; None: not counted."""
        position = self.sets.position(members)
        if self.counted[position]:
            return int(self.n[position]), int(self.hits[position])
        return self.allowed_on(members), None

    def allowed_on(self, members: tuple[int, ...]) -> int:
        """How many references are allowed on one set."""
        return int(self.allowed.on(self._which(members)).sum())

    @property
    def whole(self) -> int:
        """The size up to which all sets were counted."""
        missing = np.flatnonzero(~self.counted)
        if not len(missing):
            return self.sets.largest
        return int(np.searchsorted(self.sets.starts, missing[0], side="right")) - 2

    def succeeds(self, positions: Counts) -> Outcomes:
        """(positions, references): do sets that were counted succeed with a reference's values?"""
        sizes = np.searchsorted(self.sets.starts, positions, side="right") - 1
        out = np.zeros((len(positions), self.sweep.tally.n), dtype=bool)
        for size in np.unique(sizes).tolist():
            here = sizes == size
            out[here] = _succeeds(self.sweep, size, positions[here] - self.sets.starts[size])
        return out

    def _which(self, members: tuple[int, ...]) -> Held:
        out = np.zeros((1, self.sets.d), dtype=bool)
        out[0, list(members)] = True
        return out

    def necessity(self, chosen: Sequence[tuple[int, ...]]) -> list[float | None]:
        """PN of some sets' upward closures over the allowed hybrids."""
        if self.sweep.tally.complete and self.counted.all():
            return self._exact_necessity(chosen)
        return self._estimated_necessity(chosen)

    def _exact_necessity(self, chosen: Sequence[tuple[int, ...]]) -> list[float | None]:
        d = self.sets.d
        above = np.empty(1 << d)
        above[masks_by_size(d)] = self.hits
        everything = float(above.sum())
        over_supersets(above, np.add)
        masks = [self.sets.lattice.mask(members) for members in chosen]
        return [float(above[mask]) / everything if everything else None for mask in masks]

    def _estimated_necessity(self, chosen: Sequence[tuple[int, ...]]) -> list[float | None]:
        """From hybrids drawn at random, where not every set was visited."""
        draws = self.sweep.draws
        if draws is None or draws.references is None:
            return [None] * len(chosen)
        ok = self.allowed.on(~draws.held)[np.arange(len(draws.held)), draws.references]
        replaced = ~draws.held[ok & ~draws.outcomes]
        if not len(replaced):
            return [None] * len(chosen)
        return [float(replaced[:, list(members)].all(axis=1).mean()) for members in chosen]


def count_sets(
    sweep: Sweep, allowed: AllowedReferences, costs: Reals, largest: int, keeper: LimitKeeper
) -> SetCounts:
    """Look at all swept sets of up to `largest` players, a block at a time, while there is time."""
    sets = Sets(sweep.tally.d, largest)
    lattice, prices = sets.lattice, SetCosts(costs)
    counted = np.zeros(len(sets), dtype=bool)
    hits, n = np.zeros(len(sets), dtype=np.int64), np.zeros(len(sets), dtype=np.int64)
    cost, reference = np.full(len(sets), np.inf), np.zeros(len(sets), dtype=np.int64)
    stop = sweep.stopped
    most = max(1, (_HURRIED_CELLS if keeper.timed else _CELLS) // sweep.tally.n)
    for size in range(largest + 1):
        width = lattice.width(size)
        # Complements are numbered backwards, so what a limit left out stands first.
        for start in range(width - sweep.tally.listed(lattice.d - size), width, most):
            over = keeper.forbids(0) if keeper.timed and size > 1 else None
            if over is not None:
                stop = over
                break
            end = min(start + most, width)
            members = lattice.held(size, start, end)
            ok = allowed.on(members)
            succeeds = _succeeds(sweep, size, np.arange(start, end)) & ok
            at = sets.starts[size] + np.arange(start, end)
            counted[at], hits[at], n[at] = True, succeeds.sum(axis=1), ok.sum(axis=1)
            some = np.flatnonzero(succeeds.any(axis=1))
            if size and len(some):
                price = np.where(succeeds[some], prices.of(members[some]), np.inf)
                best = price.argmin(axis=1)
                cost[at[some]], reference[at[some]] = price[np.arange(len(some)), best], best
    return SetCounts(sweep, allowed, costs, sets, counted, hits, n, cost, reference, stop)


def _succeeds(sweep: Sweep, size: int, ranks: Counts) -> Outcomes:
    """Replacing a set is holding its complement, which is numbered backwards."""
    lattice = sweep.tally.lattice
    return ~sweep.outcomes(lattice.d - size, lattice.width(size) - 1 - ranks)
