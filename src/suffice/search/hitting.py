"""Random minimal hitting sets: what to forbid so that no known factor can be found again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from suffice.typing import BoolVector

__all__ = ["hitting_set"]


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
