"""Where each start of a greedy search looks: among which players, and in which order.

*Among which.* One player of every factor already known is forbidden: a minimal hitting set of them,
as in Reiter's diagnosis and in the MARCO enumeration of minimal unsatisfiable sets. So whatever is
found is new and contains no factor known before; and where PS happens to be monotone, every factor
not yet known lies in some such universe.

*In which order.* A greedy search keeps what comes early, so a random order ends in sets padded with
weak players where a few strong ones would do. A few single hybrids of random subsets, of all sizes
alike, show who is strong (as Shapley values do, from which this differs by noise only). Orders are
then drawn as the estimates might have come out, and every second one is drawn without looking at
them, lest a set of weak players never get its turn.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from suffice.typing import BoolVector, Counts, Reals

__all__ = ["Starts", "hitting_set"]

_DRAWS = 8
"""How often to draw for a universe that was not tried before."""


class Starts:
    """Draws universes of players to search in."""

    def __init__(self, effect: Reals, error: Reals, rng: np.random.Generator) -> None:
        self._d = len(effect)
        self._rng = rng
        self._drawn = 0
        self._tried: set[bytes] = set()
        self._effect, self._error = effect, error

    def universe(self, known: Sequence[tuple[int, ...]]) -> Counts:
        """Players among which no known factor lies whole, in the order to try them in."""
        for _ in range(_DRAWS):
            forbidden = hitting_set(known, self._d, self._rng)
            if forbidden.tobytes() not in self._tried:
                break
        # Where all draws were tried before, another order of the players may still find more.
        self._tried.add(forbidden.tobytes())
        return self._order(np.flatnonzero(~forbidden))

    def _order(self, players: Counts) -> Counts:
        """These players, the promising first; or, every second time, in any order."""
        self._drawn += 1
        if self._drawn % 2 == 0:
            return self._rng.permutation(players)
        noise = self._rng.normal(size=len(players))
        drawn = self._effect[players] + self._error[players] * noise
        return players[np.argsort(-drawn, kind="stable")]


def hitting_set(sets: Sequence[tuple[int, ...]], d: int, rng: np.random.Generator) -> BoolVector:
    """Draw a set of players that meets each of `sets`, and from which none can be left out.

    >>> hitting_set([(0, 1), (1, 2), (1,)], 4, np.random.default_rng(0)).tolist()
    [False, True, False, False]
    """
    chosen = np.zeros(d, dtype=bool)
    for i in rng.permutation(len(sets)).tolist():
        members = list(sets[i])
        if not chosen[members].any():
            chosen[rng.choice(members)] = True
    contains = np.zeros((len(sets), d), dtype=bool)
    for row, factor in zip(contains, sets, strict=True):
        row[list(factor)] = True
    met = contains @ chosen.astype(np.int64)
    for player in rng.permutation(np.flatnonzero(chosen)).tolist():
        mine = contains[:, player]
        if (met[mine] > 1).all():
            chosen[player] = False
            met -= mine
    return chosen
