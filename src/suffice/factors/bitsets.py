"""Sets of subsets with one bit for each: those of 30 players take 128 MiB.

The subset with bit mask m is bit m mod 64 of word m // 64. So players 0 to 5 are found inside a
word and the others between words: what `lattice.over_subsets` does for numbers by mask is done here
by shifts for the first six, and by `over_subsets` itself, on words, for the rest.

>>> up = pack(np.array([False, True, False, False]))  # just {0}, of two players
>>> close_upward(up, 2)
>>> masks_in(up).tolist()  # {0} and {0, 1}
[1, 3]
>>> masks_in(least_of(up, 2)).tolist()
[1]
"""

from __future__ import annotations

import numpy as np

from suffice.factors.lattice import over_subsets
from suffice.typing import BoolVector, Counts, Words

__all__ = [
    "WORD_BITS",
    "close_upward",
    "empty",
    "least_of",
    "masks_in",
    "pack",
    "run",
    "truths",
]

WORD_BITS = 64

_WORD = np.dtype("<u8")
"""Little-endian, on nearly all machines the plain ones: `numpy.packbits` fills their bytes."""

_INSIDE = 6
"""Players that a word has a bit for every subset of."""

_WITHOUT = [
    np.uint64(sum(1 << m for m in range(WORD_BITS) if not m >> j & 1)) for j in range(_INSIDE)
]
"""By player inside a word: the bits of the subsets that lack it."""


def empty(d: int) -> Words:
    """No subset of d players."""
    return np.zeros(-(-(1 << d) // WORD_BITS), dtype=_WORD)


def pack(chosen: BoolVector) -> Words:
    """The subsets for which it is so, told by bit mask: of all masks, or of a run of whole words.

    >>> pack(np.array([True, True, False, True])).tolist()
    [11]
    """
    words = np.zeros(-(-len(chosen) // WORD_BITS), dtype=_WORD)
    bits = np.packbits(chosen, bitorder="little")
    words.view(np.uint8)[: len(bits)] = bits
    return words


def truths(words: Words, count: int) -> BoolVector:
    """The way back, for the first `count` bit masks."""
    bits = np.unpackbits(words.view(np.uint8), count=count, bitorder="little")
    return bits.view(np.bool_)


def run(words: Words, first: int, count: int) -> Words:
    """The words of consecutive bit masks, from the first of a word on."""
    at = first // WORD_BITS
    return words[at : at - (-count // WORD_BITS)]


def masks_in(words: Words) -> Counts:
    """The bit masks of the subsets that are in, in increasing order."""
    some = np.flatnonzero(words)
    at, bit = np.nonzero(truths(words[some], len(some) * WORD_BITS).reshape(-1, WORD_BITS))
    return some[at] * WORD_BITS + bit


def close_upward(words: Words, d: int) -> None:
    """Add every subset that contains one that is in, in place."""
    scratch = np.empty_like(words)
    for j in range(min(d, _INSIDE)):
        words |= _joined_by(words, j, scratch)
    over_subsets(words, np.bitwise_or)


def least_of(closed: Words, d: int) -> Words:
    """The least elements of what is closed upward: those with no other of it inside.

    A subset has another inside exactly if one of the subsets that lack one member is in.
    """
    least = closed.copy()
    scratch = np.empty_like(closed)
    for j in range(min(d, _INSIDE)):
        least &= ~_joined_by(closed, j, scratch)
    for j in range(d - _INSIDE):
        lacking, having = (a.reshape(-1, 2, 1 << j) for a in (closed, least))
        having[:, 1] &= ~lacking[:, 0]
    return least


def _joined_by(words: Words, j: int, out: Words) -> Words:
    """The subsets that come of those that lack player j when it joins them."""
    np.bitwise_and(words, _WITHOUT[j], out=out)
    return np.left_shift(out, np.uint64(1 << j), out=out)
