"""What the search asks of an evaluator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from suffice.evaluate.blackbox import Tick
from suffice.typing import Counts, Held, Outcomes

__all__ = ["Evaluator", "LatticeEvaluator"]


class Evaluator(Protocol):
    """Outcomes of hybrids, and what it took to get them."""

    name: str
    rows_predicted: int
    """Rows that the model was really asked about."""
    model_seconds: float
    """Time spent inside the model."""

    @property
    def n(self) -> int:
        """How many references there are."""
        ...

    def outcomes(self, held: Held, tick: Tick | None = None) -> Outcomes:
        """(subsets, references): does the hybrid have the input's outcome?

        `tick` is told the share of this work that was just done; the shares add up to 1.
        """
        ...

    def outcomes_of(self, held: Held, references: Counts) -> Outcomes:
        """(rows,): the same for single hybrids, subset held[i] with reference references[i]."""
        ...


@runtime_checkable
class LatticeEvaluator(Evaluator, Protocol):
    """An evaluator that can also work out all 2^d subsets together, faster than one by one."""

    def sweep(self) -> Iterator[tuple[int, Counts, NDArray[np.uint8]]]:
        """Blocks of consecutive bit masks (player j is bit j), from 0 to 2^d - 1.

        Each block is (first mask, hits per mask, outcomes per mask as `numpy.packbits` packs them
        along the references).
        """
        ...
