"""All hybrids' margins written out, references side by side: the short way for few players."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from suffice.evaluate.additive.bits import subset_sums
from suffice.evaluate.additive.scores import Margins
from suffice.typing import Counts

__all__ = ["Block", "dense_blocks"]

Block = tuple[int, NDArray[np.uint8], Counts, Counts]
"""First mask; (masks, bytes) where the event holds for certain, packed along the references; and
the hybrids in doubt, as masks (counted from the first) and references."""

_HYBRIDS = 1 << 21


def dense_blocks(margins: Margins, d: int) -> Iterator[Block]:
    """Every mask in order, in blocks of bounded size."""
    n = margins.starts.shape[1]
    low = min(d, max(0, int(np.log2(max(1, _HYBRIDS // (n * len(margins)))))))
    # (M, 2^low, n), with the references innermost as the packed bits are.
    near = np.ascontiguousarray(np.moveaxis(subset_sums(margins.deltas[..., :low]), 1, 2))
    for high in range(1 << (d - low)):
        held = [low + j for j in range(d - low) if high >> j & 1]
        far = margins.deltas[..., held].sum(axis=-1)
        holds, doubt = margins.decide(near + far[:, None, :])
        mask, reference = doubt.nonzero()
        yield high << low, np.packbits(holds, axis=1), mask, reference
