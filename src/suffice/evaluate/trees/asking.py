"""Asks the model what its trees leave open, each distinct hybrid once, and checks a little more."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.context.swap import SwapHybrids
from suffice.evaluate.blackbox import BlackBox
from suffice.evaluate.trees.problem import Problem
from suffice.factors.lattice import held_of_masks
from suffice.randomness import Stream, generator
from suffice.typing import BoolVector, Counts, Words

__all__ = ["Asking"]

_CHECKED = 32
"""Decided hybrids per sweep that the model is asked about all the same."""

_ROWS_AT_ONCE = 1 << 20


class Asking:
    """Collects undecided hybrids from the kernels' threads, then settles them."""

    def __init__(self, box: BlackBox, hybrids: SwapHybrids, problem: Problem) -> None:
        self._box = box
        self._hybrids = hybrids
        self._width = problem.width
        self._order = problem.order
        self._open: list[tuple[Counts, Counts]] = []

    def note(self, first_mask: int, block: int, undecided: Words) -> None:
        """Remember the undecided lanes of a slab (appending to a list is safe in threads)."""
        rows = np.flatnonzero(undecided)
        if len(rows):
            lanes = np.unpackbits(
                undecided[rows].astype("<u8").view(np.uint8).reshape(-1, 8), axis=1
            )
            row, reference = np.nonzero(lanes)  # big-endian bits undo the order of lanes
            self._open.append((first_mask + rows[row], block * self._width + reference))

    def settle(self, words: NDArray[Any], start: int, y: bool) -> bool:
        """Write the model's answers into `words`; False if it denies a decided one."""
        masks, references = self._checks(words, start)
        decided = len(masks)
        masks = np.concatenate([masks, *(m for m, _ in self._open)])
        references = np.concatenate([references, *(r for _, r in self._open)])
        self._open = []
        for at in range(0, len(masks), _ROWS_AT_ONCE):
            part = slice(at, at + _ROWS_AT_ONCE)
            mask, reference = masks[part], references[part]
            answers = self._ask(mask, reference)
            row, block = mask - start, reference // self._width
            lane = (reference % self._width ^ 7).astype(words.dtype)
            bit = np.left_shift(words.dtype.type(1), lane)
            if (
                at == 0
                and (
                    answers[:decided] != (words[block[:decided], row[:decided]] & bit[:decided] > 0)
                ).any()
            ):
                return False
            np.bitwise_and.at(words, (block, row), ~bit)
            np.bitwise_or.at(words, (block[answers], row[answers]), bit[answers])
        return True

    def _checks(self, words: NDArray[Any], start: int) -> tuple[Counts, Counts]:
        """A few hybrids, always the same ones, that no kernel left open."""
        rng = generator(0, Stream.CHECKS, start)
        masks = start + rng.integers(words.shape[1], size=_CHECKED)
        references = rng.integers(self._hybrids.n, size=_CHECKED)
        still_open = [np.isin(masks, m) & np.isin(references, r) for m, r in self._open]
        free = ~np.any(still_open, axis=0) if still_open else slice(None)
        return masks[free], references[free]

    def _ask(self, masks: Counts, places: Counts) -> BoolVector:
        d, references = self._hybrids.d, self._order[places]
        held = held_of_masks(masks, d)
        identity, first = self._hybrids.distinct(held, references)
        return self._box.outcomes_of(held[first], references[first])[identity]
