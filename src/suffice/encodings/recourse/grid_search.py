"""The cheapest combination for every set, found exactly by going through the grid by cost.

Each combination belongs to one set: the players that it changes. Going up in cost, the first that
the model confirms is its set's cheapest, and nothing dearer in that set or in a larger one is
minimal under the cost order; those are never asked about. The grid is taken in slabs of cost, each
asked in large batches, so a slab may hold a few combinations that a stricter order would have
skipped; the answer is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from suffice.encodings.recourse.allowed import satisfied
from suffice.encodings.recourse.grid import ROUNDING, Grid, Points
from suffice.encodings.recourse.sums import total
from suffice.factors import Factor
from suffice.progress import progress_bar
from suffice.target import Target
from suffice.typing import BoolVector, Counts, Reals

__all__ = ["Found", "GridSearch", "Purse"]

_BATCH = 1 << 15
_FEW = 1 << 12


@dataclass
class Purse:
    """How many rows the model may still be asked about; None: any number."""

    left: int | None = None
    spent: int = 0

    def take(self, rows: int) -> int:
        """As many of these as may be asked."""
        granted = rows if self.left is None else min(rows, self.left)
        self.spent += granted
        if self.left is not None:
            self.left -= granted
        return granted


@dataclass
class Found:
    """By bit mask of the players changed: the least cost, and the rows that values come from."""

    best: dict[int, tuple[float, Counts]] = field(default_factory=dict)
    exact_below: float = np.inf
    """Every cheaper combination was dealt with; infinite where the search was not cut short."""


@dataclass(frozen=True, eq=False)
class GridSearch:
    """Improves on what is known; by bit mask, `wanted` sets are those that may become options."""

    grid: Grid
    target: Target
    y: bool
    forbidden: tuple[Factor, ...]
    wanted: BoolVector
    reach: Reals
    """The least cost known for a wanted set or one inside it; -1 for sets inside no wanted one.
    It is lowered as cheaper combinations are found, and never rises as a set grows."""

    def run(
        self,
        max_cost: float,
        purse: Purse,
        enough: Callable[[Found, float], bool],
        progress: bool | None,
    ) -> Found:
        """Go up in cost; `enough(found, cost)` may stop it when all below that cost is known."""
        found = Found()
        low, asked = 0.0, 0
        # Slabs as narrow as the smallest cost would be many; most of what counts lies near `known`.
        known = float(self.reach[self.wanted].min(initial=np.inf))
        width = max(self.grid.first_step, known / 4 if known < np.inf else 0.0)
        top = float(np.nextafter(min(max_cost, self.grid.dearest * (1 + ROUNDING)), np.inf))
        with progress_bar("rows", None, progress) as bar:
            while low < top and not enough(found, low) and (self.reach > low).any():
                high = min(low + width, top)
                before = purse.spent
                for points in _batches(self.grid.points(low, high, self.reach, self.wanted)):
                    spent = purse.spent
                    if not self._ask(points, purse, found):
                        found.exact_below = low
                        return found
                    bar.update(purse.spent - spent)
                in_slab = purse.spent - before
                asked += in_slab
                # About a quarter of all so far: little is asked in vain past the last that counts.
                aim = max(_FEW, asked // 4)
                width *= 2.0 if in_slab < aim else 0.5 if in_slab > 4 * aim else 1.0
                low = high
        return found

    def _ask(self, points: Points, purse: Purse, found: Found) -> bool:
        """Put some combinations to the model; False where the purse did not hold that many."""
        rows = self.grid.picks(points)
        ok = points.cost < self.reach[points.mask] * (1 + ROUNDING)  # it may have been lowered
        for factor in self.forbidden:
            ok &= ~satisfied(factor, self.grid.pool, rows)
        at = np.flatnonzero(ok)
        granted = purse.take(len(at))
        within = at[:granted]
        if granted:
            flips = within[self.target(self.grid.pool.gather(rows[within])) != self.y]
            self._note(found, points.some(flips), rows[flips])
        return granted == len(at)

    def _note(self, found: Found, points: Points, rows: Counts) -> None:
        """Remember the cheapest confirmed combination of each set."""
        costs = total(self.grid.parts(points))
        masks = np.arange(len(self.reach))
        for i in np.argsort(costs, kind="stable"):
            mask, cost = int(points.mask[i]), float(costs[i])
            if cost < self.reach[mask]:
                found.best[mask] = cost, rows[i]
                around = (masks & mask) == mask
                self.reach[around] = np.minimum(self.reach[around], cost)


def _batches(parts: Iterator[Points]) -> Iterator[Points]:
    """Join small pieces: a model is quicker asked about many rows at once."""
    waiting: list[Points] = []
    for part in parts:
        waiting.append(part)
        if sum(map(len, waiting)) >= _BATCH:
            yield _joined(waiting)
            waiting = []
    if waiting:
        yield _joined(waiting)


def _joined(parts: list[Points]) -> Points:
    def together(name: str) -> Any:
        return np.concatenate([getattr(part, name) for part in parts])

    return Points(together("cost"), together("mask"), together("choice"))
