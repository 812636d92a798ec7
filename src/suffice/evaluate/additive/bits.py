"""Sets of subsets as bits, and the turn from bits along masks to bits along references."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from suffice.typing import Counts, Reals

__all__ = ["WORD", "Words", "bit_of", "subset_sums", "suffix_sets", "transpose_bits"]

Words = NDArray[np.uint64]
"""Little-endian by way of `WORD`, which on nearly all machines is the plain type."""

WORD = np.dtype("<u8")


def subset_sums(deltas: Reals, out: Reals | None = None) -> Reals:
    """(…, d) -> (…, 2^d): the sum over every subset, by doubling: S ∪ {j} is S plus delta_j.

    >>> subset_sums(np.array([1.0, 10.0])).tolist()
    [0.0, 1.0, 10.0, 11.0]
    """
    d = deltas.shape[-1]
    sums = np.zeros((*deltas.shape[:-1], 1 << d)) if out is None else out
    for j in range(d):
        half = 1 << j
        np.add(sums[..., :half], deltas[..., j, None], out=sums[..., half : 2 * half])
    return sums


def suffix_sets(order: Counts) -> Words:
    """(…, m) -> (…, m + 1, m / 64): row k holds the set order[k:], element i as bit i.

    Bits are counted from the least significant of the first word. For m a multiple of 64.

    >>> [hex(row[0]) for row in suffix_sets(np.arange(64))[62:]]
    ['0xc000000000000000', '0x8000000000000000', '0x0']
    """
    *shape, m = order.shape
    rows = np.zeros((*shape, m + 1, m // 64), dtype=WORD)
    single = np.uint64(1) << (order & 63).astype(np.uint64)
    np.put_along_axis(rows[..., :m, :], (order >> 6)[..., None], single[..., None], axis=-1)
    backwards = rows[..., ::-1, :]
    np.bitwise_or.accumulate(backwards, axis=-2, out=backwards)
    return rows


def transpose_bits(square: Words) -> None:
    """(64, b) in place: bit j of word i of each column trades places with bit i of word j.

    Six rounds of swapped halves (Warren, Hacker's Delight, 2nd ed., Sect. 7-3), each of them a few
    operations on whole rows for all b squares at once.
    """
    scratch = np.empty(square.size // 2, dtype=WORD)
    half, mask = 32, 0xFFFFFFFF
    while half:
        pairs = square.reshape(32 // half, 2, half, -1)
        upper, lower = pairs[:, 0], pairs[:, 1]
        t = np.right_shift(upper, np.uint64(half), out=scratch.reshape(upper.shape))
        t ^= lower
        t &= np.uint64(mask)
        lower ^= t
        t <<= np.uint64(half)
        upper ^= t
        half >>= 1
        mask ^= (mask << half) & 0xFFFFFFFFFFFFFFFF


def bit_of(references: Counts) -> Counts:
    """Where a reference's bit is in its little-endian word, so that the bytes of the words are what
    `numpy.packbits` makes: bytes in order, the first reference in the most significant bit.

    >>> bit_of(np.array([0, 7, 8, 64])).tolist()
    [7, 0, 15, 7]
    """
    return (references & 63) ^ 7
