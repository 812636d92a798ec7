"""The cubes that are still open, those of the smallest sets first.

A cube is all sets that contain `inside` and avoid `outside`; its smallest set is `inside`. All sets
smaller than every open cube's smallest are decided, and what is found small closes most of what is
larger: so cubes wait by the size of their smallest set. Within a size the last come first, which
keeps few waiting. Where too many wait all the same, the narrowest go first until fewer do.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from suffice.typing import Held

__all__ = ["Cubes", "Frontier"]

Cubes = tuple[Held, Held]
"""(cubes, players) twice: who is inside, who is outside."""

_MOST_BYTES = 1 << 29
"""Of cubes waiting; past it the largest sets go first, of which few children wait."""


class Frontier:
    """Open cubes in bits, by the size of their smallest set."""

    def __init__(self, d: int) -> None:
        self._d = d
        self._waiting: list[list[NDArray[np.uint8]]] = [[] for _ in range(d + 1)]
        self._counts = np.zeros(d + 1, dtype=np.int64)
        self._most = _MOST_BYTES // (2 * ((d + 7) // 8))

    def __len__(self) -> int:
        return int(self._counts.sum())

    @property
    def smallest(self) -> int:
        """The size of the smallest set in an open cube; d + 1 where none is open."""
        sizes = np.flatnonzero(self._counts)
        return int(sizes[0]) if len(sizes) else self._d + 1

    def push(self, inside: Held, outside: Held) -> None:
        """Let cubes wait."""
        sizes = inside.sum(axis=1)
        packed = np.stack([np.packbits(inside, axis=1), np.packbits(outside, axis=1)], axis=1)
        for size in np.unique(sizes).tolist():
            mine = packed[sizes == size]
            self._waiting[size].append(mine)
            self._counts[size] += len(mine)

    def pop(self, count: int) -> Cubes:
        """Take up to so many cubes, of one size or of several."""
        sizes = np.flatnonzero(self._counts).tolist()
        if len(self) > self._most:
            sizes.reverse()
        taken = []
        for size in sizes:
            chunks = self._waiting[size]
            while chunks and count:
                chunk = chunks.pop()
                if len(chunk) > count:
                    chunks.append(chunk[:-count])
                    chunk = chunk[-count:]
                taken.append(chunk)
                count -= len(chunk)
                self._counts[size] -= len(chunk)
            if not count:
                break
        packed = np.concatenate(taken)
        bits = np.unpackbits(packed, axis=2, count=self._d).astype(bool)
        return bits[:, 0], bits[:, 1]
