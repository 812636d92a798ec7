"""One view's branch and bound: which cubes hold no minimal set, and which sets are one.

Sufficiency is not monotone: a set may pass whose superset fails, and the other way round. So a cube
is closed only where

- fewer references may have the view's outcome than a factor needs: no set in it passes;
- its smallest set contains one that passes: no other set in it is minimal;
- enough references surely have the outcome: all its sets pass, and only the smallest can be
  minimal, which is counted;
- it is a single set, which is counted.

Any other cube is cut in two by the player that matters most to the references in doubt. A player
who would complete a set that passes is left outside at once: the other half is of the second kind.

Players of whom the evaluator knows that no minimal set has them are outside from the start.

When no cube is open, every set fails or contains a set that was found to pass. So the minimal ones
of these are the τ-minimal factors, in whatever order they were found.
"""

from __future__ import annotations

import numpy as np

from suffice.evaluate import CubeEvaluator, OneWayEvaluator
from suffice.search.bounds.few import FEW, minimal_among
from suffice.search.bounds.frontier import Cubes, Frontier
from suffice.search.bounds.passing import Passing
from suffice.search.limits import LimitKeeper
from suffice.typing import Counts, Held, Outcomes, Reals, ViewName

__all__ = ["Side"]


class Side:
    """What one view has found among sets of up to `largest` players, and what is still open.

    A set passes with at least `least` references of the view's outcome.
    """

    def __init__(
        self,
        view: ViewName,
        evaluator: CubeEvaluator,
        leverage: Reals,
        *,
        least: int,
        largest: int,
    ) -> None:
        self.evaluator = evaluator
        self._keep = view == "keep"
        self._d, self._least, self._largest = leverage.shape[1], least, largest
        self._leverage = leverage.astype(np.float32)
        self.passing = Passing(self._d, evaluator.n)
        self._never = np.zeros(self._d, dtype=bool)
        if isinstance(evaluator, OneWayEvaluator):
            self._never = evaluator.never_helps()
        self.restart()

    def restart(self) -> None:
        """Open everything again, but for the sets that were counted."""
        self._decided = [0] * (self._d + 1)  # cubes closed, by how many players they fixed
        self.open = Frontier(self._d)
        nobody = np.zeros((1, self._d), dtype=bool)
        self.open.push(nobody, self._never[None])

    def count_few(self, keeper: LimitKeeper) -> None:
        """Count all sets of the players that help, where they are few: then nothing is open."""
        players = np.flatnonzero(~self._never)
        if not self._never.any() or len(players) > FEW:
            return
        sets = minimal_among(
            players,
            self.evaluator,
            self._d,
            keep=self._keep,
            least=self._least,
            largest=self._largest,
            keeper=keeper,
        )
        if sets is None:
            return
        held = sets if self._keep else ~sets
        self.passing = Passing.minimal(sets, self.evaluator.outcomes(held))
        self.open = Frontier(self._d)
        self._close(np.array([self._d - len(players)]))

    @property
    def decided_share(self) -> float:
        """The share of all sets that is decided, of any size."""
        d = self._d
        sets = sum(cubes << (d - fixed) for fixed, cubes in enumerate(self._decided))
        # A set with players who never help is decided with the set without them.
        return float(sets / (1 << (d - int(self._never.sum()))))

    @property
    def decided_size(self) -> int:
        """Every set of up to this size is decided."""
        return min(self.open.smallest - 1, self._largest)

    def step(self, count: int) -> None:
        """Deal with up to so many open cubes."""
        inside, outside = self._left_out(self.open.pop(count))
        size = inside.sum(axis=1)
        if self._largest < self._d:
            # Where the smallest set is as large as may be, it alone is asked about.
            outside[size == self._largest] = ~inside[size == self._largest]
            inside, outside = (players[size <= self._largest] for players in (inside, outside))
        single = (inside | outside).all(axis=1)
        self.count(inside[single])
        self._close(np.full(int(single.sum()), self._d))
        self._bound(inside[~single], outside[~single])

    def count(self, sets: Held) -> Counts:
        """Count sets, and keep those that pass: the hits of each."""
        if not len(sets):
            return np.empty(0, dtype=np.int64)
        outcomes = self.evaluator.outcomes(sets if self._keep else ~sets)
        hits = self.hits(outcomes)
        passes = hits >= self._least
        self.passing.add(sets[passes], outcomes[passes])
        return hits

    def hits(self, outcomes: Outcomes) -> Counts:
        """By set: how many references have the view's outcome."""
        return np.asarray((outcomes == self._keep).sum(axis=1), dtype=np.int64)

    def _left_out(self, cubes: Cubes) -> Cubes:
        """Close what contains a set that passes, and leave outside who would complete one."""
        inside, outside = cubes
        contains, completing = self.passing.beside(inside)
        fixed = inside.sum(axis=1) + outside.sum(axis=1)
        self._close(fixed[contains])
        new = (completing & ~outside)[~contains]
        count, fixed = new.sum(axis=1), fixed[~contains]
        for i in range(1, int(count.max(initial=0)) + 1):
            self._close(fixed[count >= i] + i)
        return inside[~contains], outside[~contains] | new

    def _bound(self, inside: Held, outside: Held) -> None:
        if not len(inside):
            return
        if self._keep:
            surely, may = self.evaluator.cubes(inside, outside)
        else:
            kept, may_keep = self.evaluator.cubes(outside, inside)
            surely, may = ~may_keep, ~kept
        fails = may.sum(axis=1) < self._least
        passes = surely.sum(axis=1) >= self._least
        self._close((inside | outside)[fails | passes].sum(axis=1))
        self.count(inside[passes])
        going = ~(fails | passes)
        inside, outside, doubt = inside[going], outside[going], (may & ~surely)[going]
        weight = doubt.astype(np.float32) @ self._leverage
        weight[inside | outside] = -1.0
        cut = np.zeros_like(inside)
        cut[np.arange(len(cut)), weight.argmax(axis=1)] = True
        self.open.push(inside | cut, outside)
        self.open.push(inside, outside | cut)

    def _close(self, fixed: Counts) -> None:
        for players, cubes in enumerate(np.bincount(fixed).tolist()):
            self._decided[players] += cubes
