"""One input and its references, as the trees see them: the kernels' common ground.

References are taken 64 at a time. Within such a block, reference r is lane r ^ 7: the bits of a
word, byte by byte in memory, are then the order that `numpy.packbits` writes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from suffice.context.swap import SwapContext
from suffice.evaluate.trees.ensemble import Ensemble, Ints
from suffice.evaluate.trees.margins import Reading
from suffice.typing import BoolVector, Reals

__all__ = ["BLOCK", "Problem", "Words", "make_problem"]

BLOCK = 64
"""References per block: the bits of a word."""

Words = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Problem:
    """The ensemble turned towards one input, with the references' values in lanes."""

    ensemble: Ensemble
    reading: Reading
    d: int
    n: int
    player: Ints
    """By test: the player that its column belongs to."""
    toward: Ints
    """By node: the child on the input's side (and `away` the other)."""
    away: Ints
    input_left: BoolVector
    """By test: does the input go left?"""
    lanes: Reals
    """(blocks, columns, width): the references' values; a lane without one has the input's."""

    @property
    def width(self) -> int:
        """Lanes per block."""
        return int(self.lanes.shape[2])

    @property
    def blocks(self) -> int:
        """How many blocks of references there are."""
        return len(self.lanes)

    def everyone(self, block: int) -> int:
        """The word of all the lanes that hold a reference."""
        count = min(BLOCK, self.n - block * BLOCK)
        return sum(1 << (r ^ 7) for r in range(count))

    def categorical_words(self, block: int) -> dict[int, int]:
        """For each categorical test, the lanes that are not on the input's side."""
        tests = self.ensemble.tests
        out = {}
        for number in tests.categories:
            left = tests.answer(number, self.lanes[block, tests.column[number]])
            differs = np.flatnonzero(left != self.input_left[number])
            out[number] = sum(1 << lane for lane in differs.tolist())
        return out

    @cached_property
    def nodes(self) -> tuple[Ints, ...]:
        """For each margin, (test, toward, away, player's bit) by node; (-1, value, 0, 0) at a leaf."""
        test, leaf = self.ensemble.test, self.ensemble.test < 0
        bits = np.where(leaf, 0, np.left_shift(1, self.player)[test] if len(self.player) else 0)
        toward, away = self.toward, np.where(leaf, 0, self.away)
        return tuple(
            np.stack([test, np.where(leaf, m.value, toward), away, bits], axis=1).astype(np.int32)
            for m in self.reading.margins
        )

    @cached_property
    def depth(self) -> int:
        """The longest path of any tree, in splits."""
        level, depth = self.ensemble.roots, 0
        while len(level := level[self.ensemble.test[level] >= 0]):
            level = np.concatenate([self.toward[level], self.away[level]])
            depth += 1
        return depth


def make_problem(ensemble: Ensemble, reading: Reading, context: SwapContext) -> Problem:
    """Turn an ensemble towards a context's input."""
    rows = ensemble.matrix(context.pool)
    tests, n = ensemble.tests, context.n
    source = np.arange(rows.shape[1]) if ensemble.source is None else ensemble.source
    blocks = -(-n // BLOCK)
    width = BLOCK if blocks > 1 else -(-n // 8) * 8
    lanes = np.repeat(rows[0][:, None], blocks * width, axis=1)
    lanes[:, np.arange(n) ^ 7] = rows[1:].T
    values = rows[0][tests.column]
    left = np.where(np.isnan(values), tests.missing_left, values <= tests.threshold)
    for number in tests.categories:
        left[number] = tests.answer(number, values[number : number + 1])[0]
    goes_left = left[ensemble.test]  # leaves read the last test, which does no harm
    return Problem(
        ensemble,
        reading,
        d=context.d,
        n=n,
        player=context.players.of_column[source[tests.column]].astype(np.int32),
        toward=np.where(goes_left, ensemble.left, ensemble.right),
        away=np.where(goes_left, ensemble.right, ensemble.left),
        input_left=left,
        lanes=np.ascontiguousarray(
            lanes.reshape(len(lanes), blocks, width).transpose(1, 0, 2), dtype=np.float64
        ),
    )
