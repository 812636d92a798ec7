"""The rows of a source that a store has not: cut into pieces as they are asked for."""

from __future__ import annotations

from suffice.many.source import Source
from suffice.many.store import Store
from suffice.many.team import Piece

__all__ = ["MissingRows"]


class MissingRows:
    """What is still to do, in order. Nothing is read before it is asked for."""

    def __init__(self, source: Source, store: Store) -> None:
        self._source = source
        self._store = store
        self._at = 0
        self.total = source.total
        """How many rows there are; of some sources only known when all were taken."""
        self.there = 0 if self.total is None else self.total - self._count(self.total)
        """How many of them the store had before."""
        self._left = None if self.total is None else self.total - self.there

    def _count(self, total: int) -> int:
        missing, at = 0, 0
        while (gap := self._store.gap(at, total)) is not None:
            missing, at = missing + gap[1] - gap[0], gap[1]
        return missing

    @property
    def left(self) -> int | None:
        """Rows that are still to be taken; None where that is not known."""
        return self._left

    def take(self, most: int) -> Piece | None:
        """The next rows that are missing, at most so many; None when there are no more."""
        gap = self._store.gap(self._at, self.total)
        if gap is None:
            return None
        first, stop = gap
        rows = self._source.rows(first, min(stop, first + most))
        if rows is None:  # the end, of a source that could not say where it is
            self.total = first
            return None
        if self.total is None:
            self.there += first - self._at
        self._at = first + len(rows)
        if self._left is not None:
            self._left -= len(rows)
        return Piece(first, rows.native)
