"""The sets that one view has found to pass, and which of them others contain."""

from __future__ import annotations

import numpy as np

from suffice.typing import BoolVector, Counts, Held, Outcomes

__all__ = ["Passing"]

_CELLS = 1 << 22
"""Pairs of a set asked about and a set known that are compared together."""


class Passing:
    """Sets that pass, with the outcomes of their hybrids; none is listed twice."""

    def __init__(self, d: int, n: int) -> None:
        self.sets: Held = np.empty((0, d), dtype=bool)
        self.outcomes: Outcomes = np.empty((0, n), dtype=bool)

    def add(self, sets: Held, outcomes: Outcomes) -> None:
        """Note sets that pass; those that contain a known one are of no use."""
        new = np.flatnonzero(~self.beside(sets)[0])
        new = new[_minimal(sets[new])]
        sets, outcomes = sets[new], outcomes[new]
        still = ~_contain(self.sets, sets)[0]
        self.sets = np.concatenate([self.sets[still], sets])
        self.outcomes = np.concatenate([self.outcomes[still], outcomes])

    def beside(self, sets: Held) -> tuple[BoolVector, Held]:
        """Which sets contain a known one, and for the others the players who would complete one."""
        return _contain(sets, self.sets)


def _contain(sets: Held, known: Held) -> tuple[BoolVector, Held]:
    contains, completing = np.zeros(len(sets), dtype=bool), np.zeros_like(sets)
    step = max(1, _CELLS // max(1, len(known)))
    factors = known.astype(np.float32)
    for start in range(0, len(sets) if len(known) else 0, step):
        part = slice(start, start + step)
        missing = (~sets[part]).astype(np.float32) @ factors.T
        contains[part] = (missing == 0).any(axis=1)
        completing[part] = ((missing == 1).astype(np.float32) @ factors > 0) & ~sets[part]
    return contains, completing


def _minimal(sets: Held) -> Counts:
    """Which sets contain no other one; of equal ones the first."""
    _, first = np.unique(np.packbits(sets, axis=1), axis=0, return_index=True)
    some = sets[np.sort(first)].astype(np.float32)
    inside = (1 - some) @ some.T == 0  # (i, j): is j inside i?
    return np.asarray(np.sort(first)[inside.sum(axis=1) == 1])
