"""Which sets of a small lattice a search has still to decide: with none left it has seen all."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from suffice.factors.lattice import held_of_masks, masks_by_size, masks_of_held
from suffice.typing import Held

__all__ = ["OpenSets"]

_MOST_PLAYERS = 20
"""A byte for each set: past this many players nobody sees them all by starts, and none is kept."""


class OpenSets:
    """The sets that were not found to fail and that hold no factor that was found.

    >>> sets = OpenSets(2)
    >>> sets.close(np.array([[False, False]]))
    >>> sets.close_above([0])
    >>> sets.left, sets.smallest(10).tolist()
    (1, [[False, True]])
    """

    def __init__(self, d: int) -> None:
        self._d = d
        self._open = np.ones(1 << d, dtype=bool) if d <= _MOST_PLAYERS else None

    @property
    def left(self) -> float:
        """How many there are; infinitely many, as it were, where no count is kept."""
        return np.inf if self._open is None else int(self._open.sum())

    @property
    def closed_share(self) -> float | None:
        """The share of all sets that is not open; None where no count is kept."""
        return None if self._open is None else 1 - int(self._open.sum()) / len(self._open)

    def close(self, sets: Held) -> None:
        """These fail."""
        if self._open is not None:
            self._open[masks_of_held(sets)] = False

    def close_up_to(self, size: int) -> None:
        """Sets of so many players or fewer fail, or are factors."""
        if self._open is not None:
            sizes = np.bitwise_count(np.arange(len(self._open), dtype=np.uint32))
            self._open[sizes <= size] = False

    def close_above(self, members: Sequence[int]) -> None:
        """This is a factor: whatever contains it need not be looked at."""
        if not len(members):
            self.close_all()
        if self._open is None:
            return
        # One axis for each player, the last of them first.
        lattice = self._open.reshape((2,) * (len(self._open).bit_length() - 1))
        inside = [1 if j in members else slice(None) for j in range(lattice.ndim)]
        lattice[tuple(reversed(inside))] = False

    def close_all(self) -> None:
        """Nothing is left to look at, however many players there are."""
        self._open = np.zeros(1 << min(self._d, _MOST_PLAYERS), dtype=bool)

    def smallest(self, most: int) -> Held:
        """Open sets of the smallest size that has any, at most so many of them."""
        assert self._open is not None  # or else none could be left
        masks = masks_by_size(self._d)
        masks = masks[self._open[masks]][:most]
        sizes = np.bitwise_count(masks)
        return held_of_masks(masks[sizes == sizes[:1]], self._d)
