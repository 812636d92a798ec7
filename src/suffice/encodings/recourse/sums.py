"""Sums over the players of a set, for many sets and references at once.

Players are taken eight at a time: the sums of all 256 subsets of the eight are tabulated, and a
set looks up one row per table. Within and across tables players are added in their own order, so
that a sum does not depend on how it was asked for, and never falls as a set grows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.typing import Counts, Held, Reals

__all__ = ["Unions", "total"]

_TOGETHER = 8


class Unions:
    """`parts[r, j]` joined over the players j of a set, by `np.add` or `np.logical_or`."""

    def __init__(self, parts: NDArray[Any], join: np.ufunc) -> None:
        self._join = join
        self._tables = []
        for start in range(0, parts.shape[1], _TOGETHER):
            block = parts[:, start : start + _TOGETHER].T
            table = np.zeros((1 << len(block), len(parts)), dtype=parts.dtype)
            for j, part in enumerate(block):
                join(table[: 1 << j], part, out=table[1 << j : 2 << j])
            self._tables.append(table)

    def of(self, members: Held) -> NDArray[Any]:
        """(sets, references)."""
        out = None
        for b, table in enumerate(self._tables):
            block = members[:, b * _TOGETHER : (b + 1) * _TOGETHER]
            codes: Counts = block @ (1 << np.arange(block.shape[1]))
            out = table[codes] if out is None else self._join(out, table[codes], out=out)
        assert out is not None
        return out


def total(parts: Reals) -> Reals:
    """(points, players) -> (points,): the same sums in the same order, for single points."""
    out = np.zeros(len(parts))
    for start in range(0, parts.shape[1], _TOGETHER):
        block = np.zeros(len(parts))
        for part in parts[:, start : start + _TOGETHER].T:
            block = block + part
        out = out + block
    return out
