"""Families of minimal sets found so far, and an index of which of them a set contains.

There can be many thousands, and every cube is compared with all of them. So they are kept as an
index: for each player the words of those sets that have it. The sets that a cube's smallest set
lacks something of are the union over the players it lacks; those of which it lacks one player are
in that union once.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from suffice.engines.backend import load_numba, numba_is_installed, numba_is_loaded
from suffice.typing import BitWords, BoolVector, Counts, HeldSets, Outcomes

_PAIRS_AT_ONCE = 1 << 22
"""Pairs of a set asked about and a set known that numpy compares together."""
_PAIRS_WORTH_COMPILING = 1 << 27
"""Pairs compared, in all, before numba's start pays."""


class MinimalSetFamily:
    """Sets that pass, with the outcomes of their hybrids; none contains another."""

    def __init__(self, d: int, n: int) -> None:
        self.sets: HeldSets = np.empty((0, d), dtype=bool)
        self.outcomes: Outcomes = np.empty((0, n), dtype=bool)
        self._index = SubsetIndex(self.sets)

    @classmethod
    def minimal(cls, sets: HeldSets, outcomes: Outcomes) -> MinimalSetFamily:
        """Sets of which it is known that none contains another."""
        passing = cls(sets.shape[1], outcomes.shape[1])
        passing.sets, passing.outcomes, passing._index = sets, outcomes, SubsetIndex(sets)
        return passing

    def add(self, sets: HeldSets, outcomes: Outcomes) -> None:
        """Note sets that pass; those that contain another are of no use."""
        _, new = np.unique(np.packbits(sets, axis=1), axis=0, return_index=True)
        new = new[self._index.inside(sets[new]) == 0]
        if not len(new):
            return
        among = SubsetIndex(sets[new])
        minimal = among.inside(sets[new]) == 1  # itself
        still = among.inside(self.sets) == 0
        new = new[minimal]
        self.sets = np.concatenate([self.sets[still], sets[new]])
        self.outcomes = np.concatenate([self.outcomes[still], outcomes[new]])
        self._index = SubsetIndex(self.sets)

    def beside(self, sets: HeldSets) -> tuple[BoolVector, HeldSets]:
        """Which sets contain a known one; and the players who would complete one."""
        inside, completing = self._index.compare(sets)
        return inside > 0, completing


class SubsetIndex:
    """Which of some sets are inside others, or would be with one player more."""

    pairs = 0
    """Compared so far, in this process."""

    def __init__(self, sets: HeldSets) -> None:
        self._sets = sets

    def inside(self, others: HeldSets) -> Counts:
        """How many of the sets each of the others contains."""
        return self.compare(others)[0]

    def compare(self, others: HeldSets) -> tuple[Counts, HeldSets]:
        """The same, and the players of whom it is said that with one of them it would be more."""
        inside, completing = np.zeros(len(others), dtype=np.int64), np.zeros_like(others)
        if len(self._sets) and len(others):
            SubsetIndex.pairs += len(self._sets) * len(others)
            if numba_is_loaded() or (SubsetIndex.pairs > _PAIRS_WORTH_COMPILING and _numba_loads()):
                self._compare_words(others, inside, completing)
            else:
                self._compare_products(others, inside, completing)
        return inside, completing

    def _compare_products(self, others: HeldSets, inside: Counts, completing: HeldSets) -> None:
        """One matrix product counts what each lacks of every set."""
        sets = self._sets.astype(np.float32)
        step = max(1, _PAIRS_AT_ONCE // len(sets))
        for start in range(0, len(others), step):
            part = slice(start, start + step)
            lacking = ~others[part]
            missing = lacking.astype(np.float32) @ sets.T
            inside[part] = (missing == 0).sum(axis=1)
            completing[part] = ((missing == 1).astype(np.float32) @ sets > 0) & lacking

    def _compare_words(self, others: HeldSets, inside: Counts, completing: HeldSets) -> None:
        from suffice.search.minimal_sets_kernel import compare_sets

        words, last = self._words
        compare_sets(words, last, others.view(np.uint8), inside, completing.view(np.uint8))

    @property
    def _words(self) -> tuple[BitWords, np.uint64]:
        """(players, words): the sets that have a player; and the bits of the last word in use."""
        count, d = self._sets.shape
        packed: NDArray[np.uint8] = np.zeros((d, 8 * -(-count // 64)), dtype=np.uint8)
        bits = np.packbits(self._sets.T, axis=1, bitorder="little")
        packed[:, : bits.shape[1]] = bits
        used = (count - 1) % 64 + 1
        return packed.view("<u8").astype(np.uint64), np.uint64((1 << used) - 1)


@cache
def _numba_loads() -> bool:
    return numba_is_installed() and load_numba()
