"""Compiled (numba) comparison of sets with thousands of minimal sets, 64 to a word.

numba takes most of a second to import, so this module is imported only when that pays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.engines.trees.numba_kernels import cached_njit, count_bits


@cached_njit
def compare_sets(words: Any, last: Any, others: Any, inside: Any, completing: Any) -> None:
    """Count the known sets inside each set, and mark the players that would complete one.

    `words` has for each player the words of known sets that have it, `last` the bits of the last
    word that stand for sets.
    """
    zero = np.uint64(0)
    d, width = words.shape
    once = np.empty(width, dtype=np.uint64)
    twice = np.empty(width, dtype=np.uint64)
    for i in range(len(others)):
        once[:] = zero
        twice[:] = zero
        for player in range(d):
            if others[i, player] == 0:
                row = words[player]
                for w in range(width):
                    twice[w] |= once[w] & row[w]
                    once[w] |= row[w]
        count = zero
        for w in range(width - 1):
            count += count_bits(~once[w])
        count += count_bits(~once[width - 1] & last)
        inside[i] = np.int64(count)
        for w in range(width):
            once[w] &= ~twice[w]  # lacking exactly one
        for player in range(d):
            if others[i, player] == 0:
                row = words[player]
                any_set = zero
                for w in range(width):
                    any_set |= once[w] & row[w]
                completing[i, player] = np.uint8(any_set != zero)
