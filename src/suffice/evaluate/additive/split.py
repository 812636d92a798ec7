"""Meeting in the middle: 2^d outcomes per reference from 2^(d - 8) binary searches.

Split the players into the first eight and the rest. A margin is then low + high, with low one of 256
subset sums. Once these are sorted, the low halves that carry a given high half over the boundary
are a *suffix* of that order (Horowitz and Sahni, "Computing Partitions with Applications to the
Knapsack Problem", JACM 21, 1974): one binary search finds it, and its 256 bits are read from a
table of all 257 suffixes. No hybrid's margin is ever computed, and neither is a test for doubt:
the hybrids within slack of the boundary are those between two neighbouring suffixes.

The subtraction slack - high rounds where the sum low + high would; the slack allows for it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from suffice.evaluate.additive.bits import subset_sums, suffix_sets, transpose_bits
from suffice.evaluate.additive.dense import Block
from suffice.evaluate.additive.scores import Margins
from suffice.typing import Counts, Reals

__all__ = ["LOW", "split_blocks"]

LOW = 8
"""Players in the low half: at ten the table of suffixes costs more than the searches it saves."""

_BYTES = 1 << 24
"""Of a block's outcomes."""


def split_blocks(margins: Margins, d: int) -> Iterator[Block]:
    """Every mask in order, in blocks of bounded size; for d >= `LOW`."""
    n = margins.starts.shape[1]
    groups = (n + 7) // 8
    # A block is a run of consecutive high halves: all subsets of the first `near` high players.
    near = min(d - LOW, max(4, int(np.log2(_BYTES / groups)) - LOW))
    masks = 1 << (LOW + near)
    for block in range(1 << (d - LOW - near)):
        held = [LOW + near + j for j in range(d - LOW - near) if block >> j & 1]
        by_group = np.empty((groups, masks), dtype=np.uint8)
        doubts = [
            _eight_references(margins, near, held, first, by_group[first // 8])
            for first in range(0, n, 8)
        ]
        mask, reference = (np.concatenate(parts) for parts in zip(*doubts, strict=True))
        yield block * masks, np.ascontiguousarray(by_group.T), mask, reference


def _eight_references(
    margins: Margins, near: int, held: list[int], first: int, out: NDArray[np.uint8]
) -> tuple[Counts, Counts]:
    """Fill in one byte per mask; return the hybrids in doubt as (masks, references)."""
    eight = slice(first, first + 8)
    deltas, slack = margins.deltas[:, eight], margins.slack[:, eight]
    high = subset_sums(deltas[..., LOW : LOW + near])
    high += (margins.starts[:, eight] + deltas[..., held].sum(axis=-1))[..., None]
    low = subset_sums(deltas[..., :LOW])
    order = np.argsort(low, axis=-1, kind="stable")
    low = np.take_along_axis(low, order, axis=-1)
    sets = suffix_sets(order).view(np.uint64)
    rows = np.zeros((len(out) // 8, 8), dtype=np.uint8)
    masks, references = [], []
    for i in range(low.shape[1]):
        certain, doubtful = _one_reference(low[:, i], high[:, i], slack[:, i], sets[:, i])
        rows[:, 7 - i] = certain.view(np.uint8).ravel()
        masks.append(doubtful)
        references.append(np.full(len(doubtful), first + i))
    out[:] = transpose_bits(rows).ravel()
    return np.concatenate(masks), np.concatenate(references)


def _one_reference(
    low: Reals, high: Reals, slack: Reals, sets: NDArray[np.uint64]
) -> tuple[NDArray[np.uint64], Counts]:
    """(high halves, words): which low halves suffice for certain; and the masks in doubt."""
    certain: NDArray[np.uint64] | None = None
    unsure = np.zeros(high.shape[1], dtype=bool)
    for m in range(len(low)):
        at = np.searchsorted(low[m], slack[m] - high[m], side="right")
        below = low[m][at - 1]  # the largest that is not certain; at 0 there is none
        unsure |= (below + high[m] >= -2 * slack[m]) & (at > 0)
        part = sets[m].take(at, axis=0)
        certain = part if certain is None else certain & part
    assert certain is not None
    where = unsure.nonzero()[0]
    if not len(where):
        return certain, where
    possible = ~np.zeros((len(where), certain.shape[1]), dtype=np.uint64)
    for m in range(len(low)):
        at = np.searchsorted(low[m], -slack[m] - high[m, where], side="left")
        possible &= sets[m].take(at, axis=0)
    doubt = (possible & ~certain[where]).view(np.uint8)
    row, bit = np.unpackbits(doubt, axis=1, bitorder="little").nonzero()
    return certain, (where[row] << LOW) + bit
