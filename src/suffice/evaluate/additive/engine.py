"""The additive engine: outcomes of hybrids from subset sums, and from the model near the boundary.

Where rounding could make the model's own sum fall on the other side, the model is asked, about each
distinct row once; everywhere else the sign of a sum settles it. So the counts are the black box's.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from suffice.context.swap import SwapContext
from suffice.evaluate.additive.dense import dense_blocks
from suffice.evaluate.additive.scores import Margins
from suffice.evaluate.additive.split import split_blocks
from suffice.evaluate.blackbox import BlackBox
from suffice.target import Target
from suffice.typing import BoolVector, Counts, Held, Outcomes

__all__ = ["AdditiveEngine"]

_DENSE_PLAYERS = 11
"""Up to here writing all sums out is as fast as splitting them."""

_ASK = 1 << 18
"""Hybrids looked through together for distinct rows."""


class AdditiveEngine:
    """A lattice evaluator for targets whose event is a conjunction of additive margins."""

    name = "additive"

    def __init__(self, target: Target, context: SwapContext, y: bool, margins: Margins) -> None:
        self._model = BlackBox(target, context, y, distinct=False)
        self._context = context
        self._y = y
        self._margins = margins

    @property
    def n(self) -> int:
        """How many references there are."""
        return self._context.n

    @property
    def rows_predicted(self) -> int:
        """Rows near the boundary, on which the model had to be asked."""
        return self._model.rows_predicted

    @property
    def model_seconds(self) -> float:
        """Time spent inside the model."""
        return self._model.model_seconds

    def outcomes(self, held: Held) -> Outcomes:
        """(subsets, references): does the hybrid have the input's outcome?"""
        chosen = held.astype(np.float64)
        holds, doubt = self._margins.decide(chosen @ self._margins.deltas.transpose(0, 2, 1))
        subset, reference = doubt.nonzero()
        out = holds == self._y
        out[subset, reference] = self._ask(held[subset], reference)
        return out

    def outcomes_of(self, held: Held, references: Counts) -> BoolVector:
        """(rows,): the outcome of hybrid (held[i], references[i])."""
        margins = Margins(
            self._margins.starts[:, references],
            self._margins.deltas[:, references],
            self._margins.slack[:, references],
        )
        holds, doubt = margins.decide(np.einsum("mrj,rj->mr", margins.deltas, held))
        out = holds == self._y
        out[doubt] = self._ask(held[doubt], references[doubt])
        return out

    def sweep(self) -> Iterator[tuple[int, Counts, NDArray[np.uint8]]]:
        """Blocks of consecutive bit masks, as `LatticeEvaluator` wants them."""
        d = self._context.d
        blocks = dense_blocks if d <= _DENSE_PLAYERS else split_blocks
        padding = np.packbits(np.ones(self.n, dtype=bool))
        for first, bits, masks, references in blocks(self._margins, d):
            if not self._y:
                np.bitwise_not(bits, out=bits)
                bits &= padding
            for start in range(0, len(masks), _ASK):
                part = slice(start, start + _ASK)
                mask, reference = masks[part], references[part]
                held = ((first + mask)[:, None] >> np.arange(d) & 1).astype(bool)
                _write(bits, mask, reference, self._ask(held, reference))
            yield first, _count(bits), bits

    def _ask(self, held: Held, references: Counts) -> BoolVector:
        if not len(references):
            return np.empty(0, dtype=bool)
        identity, first = _distinct(self._context.codes, held, references)
        return self._model.outcomes_of(held[first], references[first])[identity]


def _write(
    bits: NDArray[np.uint8], masks: Counts, references: Counts, outcomes: BoolVector
) -> None:
    """Set or clear single bits. One position in the byte at a time: no byte is then met twice."""
    for position in range(8):
        here = (references & 7) == position
        byte = (masks[here], references[here] >> 3)
        bit = np.uint8(128 >> position)
        bits[byte] = np.where(outcomes[here], bits[byte] | bit, bits[byte] & ~bit)


def _count(bits: NDArray[np.uint8]) -> Counts:
    """Bits set per row. Column by column: a row's few bytes are too short a run to sum."""
    hits = np.zeros(len(bits), dtype=np.int64)
    for start in range(0, len(bits), 4096):
        part = np.bitwise_count(np.ascontiguousarray(bits[start : start + 4096].T))
        hits[start : start + 4096] = part.sum(axis=0, dtype=np.int32)
    return hits


def _distinct(codes: Counts, held: Held, references: Counts) -> tuple[Counts, Counts]:
    """Number the distinct hybrids; also where each appears first.

    Exact: the codes of as many players as fit in one integer are joined, then made small again.
    """
    import pandas as pd

    key = np.zeros(len(references), dtype=np.int64)
    room = 1
    for j, size in enumerate((codes.max(axis=0) + 1).tolist()):
        if room * size >= 1 << 62:
            key = pd.factorize(key)[0].astype(np.int64)
            room = int(key.max()) + 1
        key = key * size + np.where(held[:, j], codes[0, j], codes[references + 1, j])
        room *= size
    identity, distinct = pd.factorize(key)
    first = np.empty(len(distinct), dtype=np.int64)
    first[identity[::-1]] = np.arange(len(key) - 1, -1, -1)
    return identity, first
