"""One input and its references, as the trees see them: the kernels' common ground.

References are taken in blocks of up to 64. Within a block, reference r is lane r ^ 7: the bits of
its words, byte by byte in memory, are then the order that `numpy.packbits` writes.

In a small lattice the walk over the trees is most of the work, and it is shared by references that
take the same turns; so they are sorted first, coarse columns before fine ones, to bring such
references into the same block. (On German credit this saves a third of the leaves visited.)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from suffice.context.swap import SwapHybrids
from suffice.evaluate.trees.ensemble import Ensemble, Ints
from suffice.evaluate.trees.margins import Reading
from suffice.evaluate.trees.sides import Sides
from suffice.typing import Counts

__all__ = ["Problem", "make_problem"]

_WIDE_PLAYERS = 11
"""Up to so many players a block has 64 lanes, past it 32: what a walk shares among references is
then worth less than an accumulator that stays in the cache."""

_SORTED_HYBRIDS = 1 << 22
"""Past so many hybrids, putting their outcomes back in order costs more than sorting saves."""


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
    order: Counts
    """The references in the order in which they are given lanes."""
    width: int
    """Lanes per block."""
    sides: Sides

    @property
    def blocks(self) -> int:
        """How many blocks of references there are."""
        return -(-self.n // self.width)

    def everyone(self, block: int) -> int:
        """The word of all the lanes that hold a reference."""
        count = min(self.width, self.n - block * self.width)
        return sum(1 << (r ^ 7) for r in range(count))

    @cached_property
    def nodes(self) -> tuple[Ints, ...]:
        """By margin and node: (test, toward, away, player's bit), at a leaf (-1, value, 0, 0)."""
        test, leaf = self.ensemble.test, self.ensemble.test < 0
        bits = np.append(np.left_shift(1, self.player), 0)[test]
        toward, away = self.toward, np.where(leaf, 0, self.away)
        return tuple(
            np.stack([test, np.where(leaf, m.value, toward), away, bits], axis=1).astype(np.int32)
            for m in self.reading.margins
        )


def make_problem(ensemble: Ensemble, reading: Reading, hybrids: SwapHybrids) -> Problem:
    """Turn an ensemble towards a context's input."""
    rows = ensemble.matrix(hybrids.pool)
    tests, n = ensemble.tests, hybrids.n
    source = np.arange(rows.shape[1]) if ensemble.source is None else ensemble.source
    width = 64 if hybrids.d <= _WIDE_PLAYERS else 32
    while width > 8 and n <= width // 2:
        width //= 2
    order = _alike_together(hybrids) if n << hybrids.d <= _SORTED_HYBRIDS else np.arange(n)
    sides = Sides(tests, rows[np.append(0, 1 + order)], width)
    # The leaves' number, -1, finds one answer more than there are tests.
    goes_left = np.append(sides.input_left, False)[ensemble.test]
    return Problem(
        ensemble,
        reading,
        d=hybrids.d,
        n=n,
        player=hybrids.players.of_column[source[tests.column]].astype(np.int32),
        toward=np.where(goes_left, ensemble.left, ensemble.right),
        away=np.where(goes_left, ensemble.right, ensemble.left),
        order=order,
        width=width,
        sides=sides,
    )


def _alike_together(hybrids: SwapHybrids) -> Counts:
    codes = hybrids.codes[1:]
    finest_first = np.argsort(-codes.max(axis=0), kind="stable")
    return np.lexsort(codes[:, finest_first].T)
