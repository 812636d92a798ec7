"""Bit sets of feature sets (one bit per subset): upward closure, minimal elements.

The subset with bit mask m is bit m mod 64 of word m // 64. So players 0 to 5 are found inside a
word and the others between words: what `lattice.over_subsets` does for numbers by mask is done here
by shifts for the first six, and by `over_subsets` itself, on words, for the rest.

>>> up = pack(np.array([False, True, False, False]))  # just {0}, of two players
>>> close_upward(up, 2)
>>> masks_in(up).tolist()  # {0} and {0, 1}
[1, 3]
>>> masks_in(minimal_elements(up, 2)).tolist()
[1]
"""

from __future__ import annotations

import numpy as np

from suffice.factors.lattice import over_subsets
from suffice.typing import BitWords, BoolVector, Counts

WORD_BITS = 64

_WORD = np.dtype("<u8")
"""Little-endian, on nearly all machines the plain ones: `numpy.packbits` fills their bytes."""

_PLAYERS_PER_WORD = 6
"""Players that a word has a bit for every subset of."""

_BITS_WITHOUT = [
    np.uint64(sum(1 << m for m in range(WORD_BITS) if not m >> j & 1))
    for j in range(_PLAYERS_PER_WORD)
]
"""By player inside a word: the bits of the subsets that lack it."""


def empty(d: int) -> BitWords:
    """Return the empty set of subsets of d players."""
    return np.zeros(-(-(1 << d) // WORD_BITS), dtype=_WORD)


def pack(chosen: BoolVector) -> BitWords:
    """Pack Booleans by bit mask into words, for all masks or for a run of whole words.

    >>> pack(np.array([True, True, False, True])).tolist()
    [11]
    """
    words = np.zeros(-(-len(chosen) // WORD_BITS), dtype=_WORD)
    bits = np.packbits(chosen, bitorder="little")
    words.view(np.uint8)[: len(bits)] = bits
    return words


def unpack(words: BitWords, count: int) -> BoolVector:
    """Unpack words into Booleans for the first `count` bit masks."""
    bits = np.unpackbits(words.view(np.uint8), count=count, bitorder="little")
    return bits.view(np.bool_)


def word_slice(words: BitWords, first: int, count: int) -> BitWords:
    """Return the words of consecutive bit masks; `first` must begin a word."""
    at = first // WORD_BITS
    return words[at : at - (-count // WORD_BITS)]


def masks_in(words: BitWords) -> Counts:
    """Return the bit masks of the subsets in a set, in increasing order."""
    some = np.flatnonzero(words)
    at, bit = np.nonzero(unpack(words[some], len(some) * WORD_BITS).reshape(-1, WORD_BITS))
    return some[at] * WORD_BITS + bit


def close_upward(words: BitWords, d: int) -> None:
    """Add every superset of the subsets in a set, in place."""
    # The first six players are bits within a word, so adding one is a shift; each other player is
    # an axis of the array of words, which `over_subsets` combines.
    scratch = np.empty_like(words)
    for j in range(min(d, _PLAYERS_PER_WORD)):
        words |= _add_player(words, j, scratch)
    over_subsets(words, np.bitwise_or)


def minimal_elements(closed: BitWords, d: int) -> BitWords:
    """Return the minimal elements of an upward closed set of subsets.

    A subset has another inside exactly if one of the subsets that lack one member is in.
    """
    least = closed.copy()
    scratch = np.empty_like(closed)
    for j in range(min(d, _PLAYERS_PER_WORD)):
        least &= ~_add_player(closed, j, scratch)
    for j in range(d - _PLAYERS_PER_WORD):
        lacking, having = (a.reshape(-1, 2, 1 << j) for a in (closed, least))
        having[:, 1] &= ~lacking[:, 0]
    return least


def _add_player(words: BitWords, j: int, out: BitWords) -> BitWords:
    """Return the subsets that result when player j joins those that lack it."""
    np.bitwise_and(words, _BITS_WITHOUT[j], out=out)
    return np.left_shift(out, np.uint64(1 << j), out=out)
