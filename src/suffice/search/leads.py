"""Which players to try first: a rough estimate of what each does, from a few single hybrids.

A greedy search keeps what comes early in its order, so a random order ends in sets padded with weak
players where a few strong ones would do. One model call on hybrids of random subsets, of all
sizes alike, shows who is strong (as Shapley values do, from which this differs by noise only).
Orders are then drawn as the estimates might have come out, and every second one is drawn without
looking at them, lest a set of weak players never get its turn.
"""

from __future__ import annotations

import numpy as np

from suffice.search.judge import Judge
from suffice.typing import Counts, Reals

__all__ = ["Leads"]

_ROWS = 1 << 12


class Leads:
    """Draws orders of players."""

    def __init__(self, judge: Judge, d: int, rng: np.random.Generator) -> None:
        self._rng = rng
        self._drawn = 0
        self._effect, self._error = _effects(judge, d, rng)

    def order(self, players: Counts) -> Counts:
        """These players, the promising first; or, every second time, in any order."""
        self._drawn += 1
        if self._drawn % 2 == 0:
            return self._rng.permutation(players)
        noise = self._rng.normal(size=len(players))
        drawn = self._effect[players] + self._error[players] * noise
        return players[np.argsort(-drawn, kind="stable")]


def _effects(judge: Judge, d: int, rng: np.random.Generator) -> tuple[Reals, Reals]:
    """How much more often a hit comes with each player than without it, and the standard error."""
    rows = int(min(_ROWS, judge.subsets_left * judge.n // 10))
    density = rng.random((rows, 1))
    sets = rng.random((rows, d)) < density
    hits = judge.some_hits_of(sets, rng.integers(judge.n, size=rows), share=0.1)
    if len(hits) <= d:  # too few to tell players apart
        return np.zeros(d), np.ones(d)
    sets, density = sets[: len(hits)], density[: len(hits)]
    # Less the density: or else a player would be credited with those that came along.
    gains = (sets - density) * (hits - hits.mean())[:, None]
    return gains.mean(axis=0), gains.std(axis=0) / np.sqrt(len(hits))
