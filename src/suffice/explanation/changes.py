"""The cheapest change of every set that flips at some τ, put into words only when looked at.

There can be tens of thousands of such sets, and a user looks at a few.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from suffice.context.hybrids import Hybrids
from suffice.explanation.factor import Change
from suffice.explanation.view import View
from suffice.factors.lattice import members_of
from suffice.search.changes import cheapest_changes
from suffice.search.strategy import Answer
from suffice.tables.table import plain
from suffice.typing import Reals, Scalar

__all__ = ["CheapestChanges", "find_changes"]


@dataclass(frozen=True, eq=False)
class CheapestChanges(Mapping[int, Change]):
    """By bit mask of features: the cost, and the row of the pool whose values do it."""

    found: Mapping[int, tuple[float, int]]
    hybrids: Hybrids

    def __getitem__(self, mask: int) -> Change:
        cost, row = self.found[mask]
        players, names = self.hybrids.players, self.hybrids.pool.names
        values = self._values_of(row)
        columns = [j for member in members_of(mask) for j in players.columns[member]]
        return Change(cost, {names[j]: values[j] for j in columns})

    def _values_of(self, row: int) -> list[Scalar]:
        """A row's values as they are shown. A few rows serve many sets, so each is read once."""
        if row not in self._read:
            pool = self.hybrids.pool
            self._read[row] = [plain(pool.column(j)[row]) for j in range(len(pool.names))]
        return self._read[row]

    @cached_property
    def _read(self) -> dict[int, list[Scalar]]:
        return {}

    def __iter__(self) -> Iterator[int]:
        return iter(self.found)

    def __len__(self) -> int:
        return len(self.found)


def find_changes(flip: View, answer: Answer, hybrids: Hybrids, costs: Reals) -> CheapestChanges:
    """For each set that is minimal at some τ: the reference that flips at the least cost.

    Rows that a sampler made were never observed, so there is no change of theirs to report.
    """
    if hybrids.donors(np.ones((1, hybrids.d), dtype=bool)) is None:
        return CheapestChanges({}, hybrids)
    lattice = flip.tally.lattice
    found: dict[int, tuple[float, int]] = {}
    if answer.sweep is not None:
        # Without a test all bars are there, whatever test is asked for later.
        plain = replace(flip.profile, findings=None).tested(None, "none")
        for size, ranks in plain.bars_by_size():
            best, whose = cheapest_changes(answer.sweep, size, ranks, costs, hybrids)
            masks = [lattice.mask(members) for members in lattice.unrank(size, ranks).tolist()]
            pairs = zip(best.tolist(), whose.tolist(), strict=True)
            found |= dict(zip(masks, pairs, strict=True))
    for members, flips in answer.flips.items():
        held = np.ones((1, hybrids.d), dtype=bool)
        held[0, list(members)] = False
        donors = hybrids.donors(held)
        assert donors is not None
        prices = np.where(flips, costs[donors[0] - 1][:, list(members)].sum(axis=1), np.inf)
        found[lattice.mask(members)] = float(prices.min()), int(donors[0, prices.argmin()])
    affordable = {mask: pair for mask, pair in found.items() if pair[0] < np.inf}
    return CheapestChanges(affordable, hybrids)
