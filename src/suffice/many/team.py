"""Who does the work: pieces of rows go in, and come out done, or lost with the reason.

A piece is a run of consecutive rows. A team does pieces by one function, which it was given once:
in this process (`Here`), in others on this machine (`processes`), or on a cluster (`dask`). Teams
know nothing of retrying, sizes or limits: that is `drive`'s.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from time import perf_counter
from typing import Any, Generic, Protocol, Self, TypeVar

from suffice.errors import SufficeError, one_line

__all__ = ["Does", "Done", "Here", "Lost", "Piece", "Pieces", "RowsInHand", "Team", "TeamError"]

R = TypeVar("R")


class TeamError(SufficeError, RuntimeError):
    """The team cannot work at all: no process starts, or the cluster went away."""


@dataclass(frozen=True)
class Piece:
    """Consecutive rows: a list, an Arrow table or a frame, anything that has a length and slices.

    `note` is what the function needs besides the rows, and goes wherever they go.
    """

    first: int
    """The number of its first row."""
    rows: Any
    note: Any = None

    def __len__(self) -> int:
        return len(self.rows)

    def split(self, parts: int = 16) -> list[Piece]:
        """The same rows in at most so many pieces.

        >>> [(p.first, p.rows) for p in Piece(40, [1, 2, 3, 4, 5]).split(2)]
        [(40, [1, 2]), (42, [3, 4, 5])]
        """
        edges = [len(self) * i // parts for i in range(parts + 1)]
        return [
            replace(self, first=self.first + low, rows=self.rows[low:high])
            for low, high in pairwise(edges)
            if low < high
        ]


Does = Callable[[Piece], R]
"""What is done with a piece: a pure function that can be pickled."""


class Pieces(Protocol):
    """Where pieces come from, cut as they are asked for: nothing is read ahead."""

    @property
    def left(self) -> int | None:
        """Rows that are still to be taken; None where that is not known."""
        ...

    def take(self, most: int) -> Piece | None:
        """The next rows, at most so many; None when there are no more."""
        ...


class RowsInHand:
    """Pieces of rows that are all in memory.

    >>> pieces = RowsInHand("abcde")
    >>> pieces.take(3), pieces.left
    (Piece(first=0, rows='abc', note=None), 2)
    """

    def __init__(self, rows: Any, note: Any = None) -> None:
        self._rest = Piece(0, rows, note)
        self._taken = 0

    @property
    def left(self) -> int:
        """Rows that are still to be taken."""
        return len(self._rest) - self._taken

    def take(self, most: int) -> Piece | None:
        """The next rows, at most so many; None when there are no more."""
        low, self._taken = self._taken, min(self._taken + most, len(self._rest))
        rows = self._rest.rows[low : self._taken]
        return replace(self._rest, first=low, rows=rows) if low < self._taken else None


@dataclass(frozen=True)
class Done(Generic[R]):
    """A piece with what the function made of it, and how long that took where it was done."""

    piece: Piece
    result: R
    seconds: float


@dataclass(frozen=True)
class Lost:
    """A piece that was not done: its worker ended, took too long, or the function raised."""

    piece: Piece
    reason: str
    """As a sentence goes on after the row: "the process ended with signal 9"."""
    error: BaseException | None = None
    """What the function raised, if it did."""
    by_chance: bool = field(default=False, kw_only=True)
    """May it go well the next time? Workers are killed for reasons that are no row's fault."""
    alone: bool = field(default=True, kw_only=True)
    """Was it the only piece that its worker can have died of?"""


class Team(Protocol[R]):
    """Those who do pieces. `with team:` closes it."""

    @property
    def workers(self) -> int:
        """How many pieces are done at the same time."""
        ...

    def submit(self, piece: Piece) -> None:
        """Give a piece to whoever is free next."""
        ...

    def wait(self, seconds: float) -> Sequence[Done[R] | Lost]:
        """What has come back; nothing if nothing does in so many seconds."""
        ...

    def close(self) -> None:
        """End all work at once, and leave nothing behind."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


class Here(Generic[R]):
    """A team of one: this process. What ends the process or hangs is not survived.

    >>> with Here(lambda piece: sum(piece.rows)) as team:
    ...     team.submit(Piece(0, [1, 2]))
    ...     [done] = team.wait(1)
    >>> done.result
    3
    """

    workers = 1

    def __init__(self, function: Does[R]) -> None:
        self._function = function
        self._given: deque[Piece] = deque()

    def submit(self, piece: Piece) -> None:
        """Put a piece in line."""
        self._given.append(piece)

    def wait(self, seconds: float) -> Sequence[Done[R] | Lost]:
        """Do the next piece."""
        if not self._given:
            return []
        piece, started = self._given.popleft(), perf_counter()
        try:
            result = self._function(piece)
        except Exception as error:
            return [Lost(piece, raised(error), error)]
        return [Done(piece, result, perf_counter() - started)]

    def close(self) -> None:
        """Forget what was not done."""
        self._given.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def raised(error: BaseException) -> str:
    """What was raised, in a line.

    >>> raised(KeyError("income"))
    "KeyError: 'income'"
    """
    return one_line(f"{type(error).__name__}: {error}")
