"""From rows to results: pieces are cut, given to a team, and come back in whatever order.

A piece that lost its worker is given out again. One that is lost again is split, until the single
row is found that no worker survives; what becomes of that row is the caller's to say, and the rest
is done. Sizes follow the clock, so results must not depend on them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import TypeVar

from suffice.many.brake import Brake
from suffice.many.team import Done, Lost, Piece, Pieces, Team
from suffice.progress import Progress
from suffice.wording import count

__all__ = ["PIECE_SECONDS", "drive"]

R = TypeVar("R")

PIECE_SECONDS = 2.0
"""A piece takes about so long: much longer than sending it, and no great loss."""

_FIRST_ROWS, _MOST_ROWS, _GROWTH = 2, 20_000, 4
_SHORTEST = 10
"""The last pieces are shorter, so that all workers end together, but not by more than this."""

_IN_HAND = 2
"""Pieces given out for each worker: one at work, and one ready for when it is done."""

_DEATHS = 3
"""So many workers must have died of a single row: one or two may be killed by chance."""

_LOOK = 0.5
"""Seconds after which limits and signals are looked at, if nothing comes back before."""


def drive(
    pieces: Pieces,
    team: Team[R],
    *,
    failed: Callable[[Piece, Lost], R],
    brake: Brake | None = None,
    errors: Callable[[R], int] = lambda _: 0,
    bar: Progress | None = None,
    piece_seconds: float = PIECE_SECONDS,
) -> Iterator[tuple[Piece, R]]:
    """Do all pieces; give each with its result, in the order in which they come back.

    Parameters
    ----------
    pieces
        Where rows come from. At most two pieces for each worker are taken before results come back.
    team
        Who does them. It is not closed here.
    failed
        Makes a result for a piece of one row that cannot be done.
    brake
        Limits; where it was pulled, pieces in hand are finished, and `brake.reason` says why.
    errors
        How many rows of a result ended in an error.
    bar
        Told of rows that are done, and of errors.

    >>> from suffice.many.team import Here, RowsInHand
    >>> with Here(lambda piece: [10 // n for n in piece.rows]) as team:
    ...     rows = RowsInHand([1, 2, 0, 5])
    ...     sorted((p.first, r) for p, r in drive(rows, team, failed=lambda p, lost: lost.reason))
    [(0, [10, 5]), (2, 'ZeroDivisionError: integer division or modulo by zero'), (3, [2])]
    """
    brake = brake or Brake()
    size = _Size(piece_seconds)
    lost_before: dict[tuple[int, int], int] = {}
    again: deque[Piece] = deque()
    suspects: deque[Piece] = deque()
    in_hand = 0
    while True:
        while in_hand < _IN_HAND * team.workers and not brake.pulled():
            piece = again.popleft() if again else pieces.take(size.rows(pieces.left, team.workers))
            if piece is None and suspects and not in_hand:
                piece = suspects.popleft()  # by itself, so that nothing else can be to blame
            if piece is None:
                break
            team.submit(piece)
            in_hand += 1
        if not in_hand:
            return
        for outcome in team.wait(_LOOK):
            in_hand -= 1
            piece = outcome.piece
            if isinstance(outcome, Done):
                size.learn(len(piece), outcome.seconds)
                result = outcome.result
                brake.count_errors(errors(result))
            else:
                place = (piece.first, len(piece))
                deaths = lost_before[place] = lost_before.get(place, 0) + 1
                enough = _DEATHS if len(piece) == 1 else 2
                if outcome.by_chance and deaths < enough:
                    again.appendleft(piece)
                    continue
                if len(piece) > 1:
                    again.extendleft(reversed(piece.split()))
                    continue
                if not outcome.alone:
                    suspects.append(piece)
                    continue
                result = failed(piece, outcome)
                brake.count_errors(1)
            if bar is not None:
                bar.update(len(piece))
                if brake.errors:
                    bar.set_postfix_str(count(brake.errors, "error"))
            yield piece, result


class _Size:
    """How many rows a piece has: what was done in the last ones says what the next can do."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._pace: float | None = None
        self._largest = _FIRST_ROWS

    def learn(self, rows: int, seconds: float) -> None:
        """So many rows took so long."""
        pace = seconds / rows
        # The first of a worker's pieces makes things ready, so the past is soon forgotten.
        self._pace = pace if self._pace is None else min(pace, (self._pace + pace) / 2)
        self._largest = max(self._largest, rows)

    def rows(self, left: int | None, workers: int) -> int:
        """Rows of the next piece; the last ones are smaller, so that all workers end together."""
        if self._pace is None:
            return _FIRST_ROWS
        fitting = self._seconds / max(self._pace, 1e-9)
        rows = min(fitting, _GROWTH * self._largest, _MOST_ROWS)
        if left is not None:
            rows = min(rows, max(-(-left // (2 * workers)), fitting / _SHORTEST))
        return max(1, int(rows))
