"""Sets of subsets as bits, and the turn from bits along masks to bits along references."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from suffice.typing import Counts, Reals

__all__ = ["subset_sums", "suffix_sets", "transpose_bits"]

Bytes = NDArray[np.uint8]


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


def suffix_sets(order: Counts) -> Bytes:
    """(…, m) -> (…, m + 1, m / 8): row k holds the set order[k:], element i as bit i.

    Bits are counted from the least significant of the first byte. For m a multiple of 64.

    >>> np.unpackbits(suffix_sets(np.arange(64))[62], bitorder="little").nonzero()[0].tolist()
    [62, 63]
    """
    *shape, m = order.shape
    rows = np.zeros((*shape, m + 1, m // 8), dtype=np.uint8)
    single = (np.uint8(1) << (order & 7).astype(np.uint8))[..., None]
    np.put_along_axis(rows[..., :m, :], (order >> 3)[..., None], single, axis=-1)
    words = rows.view(np.uint64)[..., ::-1, :]
    np.bitwise_or.accumulate(words, axis=-2, out=words)
    return rows


def transpose_bits(rows: Bytes) -> Bytes:
    """(b, 8) -> (b, 8): 8 references' bits along 8 masks, to 8 masks' bits along 8 references.

    In: byte i of a row is reference 7 - i, its bit m (from the least significant) is mask m. Out:
    byte m is mask m, and reference i is bit i from the *most* significant, as `numpy.packbits` has
    it. That is the plain transpose of an 8 × 8 matrix in one word, three swaps of halves (Warren,
    Hacker's Delight, 2nd ed., Sect. 7-3), for all words at once.
    """
    x = np.ascontiguousarray(rows).view("<u8")
    for shift, mask in ((7, 0x00AA00AA00AA00AA), (14, 0x0000CCCC0000CCCC), (28, 0xF0F0F0F0)):
        t = x >> np.uint64(shift)
        t ^= x
        t &= np.uint64(mask)
        x = x ^ t
        t <<= np.uint64(shift)
        x ^= t
    return x.view(np.uint8).reshape(rows.shape)
