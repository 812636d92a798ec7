"""Work distribution: pieces of rows, worker protocol, and a loop with retries, limits and Ctrl-C.

A piece is a block of consecutive rows. Workers apply one function to pieces: in this process
(`LocalWorker`), in other processes on this machine (`process_pool`), or on a cluster (`dask`).
Workers know nothing of retries, piece sizes or limits: `run_pieces` handles all three.
"""

from __future__ import annotations

import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise
from time import monotonic, perf_counter
from types import FrameType
from typing import Any, Generic, Protocol, Self, TypeVar, cast

from suffice.errors import InputError, SufficeError, one_line
from suffice.formatting import duration, plural
from suffice.progress import Progress
from suffice.validation import check_integer, check_number

R = TypeVar("R")


class WorkerError(SufficeError, RuntimeError):
    """No worker can work at all: no process starts, or the cluster is gone."""


@dataclass(frozen=True)
class Piece:
    """Consecutive rows: a list, an Arrow table or a frame, anything with a length and slices."""

    first: int
    """The number of the first row."""
    rows: Any
    context_data: Any = None
    """Further data that the function needs; every part of the piece keeps it."""

    def __len__(self) -> int:
        return len(self.rows)

    def split(self, parts: int = 16) -> list[Piece]:
        """Return the same rows in at most `parts` pieces.

        >>> [(p.first, p.rows) for p in Piece(40, [1, 2, 3, 4, 5]).split(2)]
        [(40, [1, 2]), (42, [3, 4, 5])]
        """
        edges = [len(self) * i // parts for i in range(parts + 1)]
        return [
            replace(self, first=self.first + low, rows=self.rows[low:high])
            for low, high in pairwise(edges)
            if low < high
        ]


PieceFunction = Callable[[Piece], R]
"""A pure function from a piece to its result, which can be pickled."""


def pickle_function(function: PieceFunction[Any], argument: str, hint: str) -> bytes:
    """Return the pickle of a function; an InputError about `argument` if that is impossible."""
    import cloudpickle  # type: ignore[import-untyped,unused-ignore]

    try:
        return cast(bytes, cloudpickle.dumps(function, protocol=5))
    except Exception as error:  # each library has its own class for objects it cannot pickle
        got = f"a model that cannot be sent to workers ({one_line(error.__cause__ or error)})"
        raise InputError(argument, got, "a model that can be pickled", hint) from error


class PieceSource(Protocol):
    """Protocol of a source of pieces, which are cut when they are taken: nothing is read ahead."""

    @property
    def rows_left(self) -> int | None:
        """Number of rows that were not taken yet; None if it is unknown."""
        ...

    def take(self, most: int) -> Piece | None:
        """Return the next rows, at most `most`; None after the last row."""
        ...


class RowsInMemory:
    """A source of pieces whose rows are all in memory.

    >>> pieces = RowsInMemory("abcde")
    >>> pieces.take(3), pieces.rows_left
    (Piece(first=0, rows='abc', context_data=None), 2)
    """

    def __init__(self, rows: Any, context_data: Any = None) -> None:
        self._all = Piece(0, rows, context_data)
        self._taken = 0

    @property
    def rows_left(self) -> int:
        """Number of rows that were not taken yet."""
        return len(self._all) - self._taken

    def take(self, most: int) -> Piece | None:
        """Return the next rows, at most `most`; None after the last row."""
        low, self._taken = self._taken, min(self._taken + most, len(self._all))
        rows = self._all.rows[low : self._taken]
        return replace(self._all, first=low, rows=rows) if low < self._taken else None


@dataclass(frozen=True)
class CompletedPiece(Generic[R]):
    """A piece with the function's result, and the seconds the function took in its worker."""

    piece: Piece
    result: R
    seconds: float


@dataclass(frozen=True)
class LostPiece:
    """A piece without a result: its worker ended, took too long, or the function raised."""

    piece: Piece
    reason: str
    """A clause that can follow the row number: "the process ended with signal 9"."""
    error: BaseException | None = None
    """The exception that the function raised, if it did."""
    retryable: bool = field(default=False, kw_only=True)
    """Whether another attempt may succeed: a worker can be killed for reasons that no row
    caused."""
    ran_alone: bool = field(default=True, kw_only=True)
    """Whether no other piece can have ended the worker."""


class Workers(Protocol[R]):
    """Protocol of workers that apply a function to pieces. `with workers:` closes them."""

    @property
    def n_workers(self) -> int:
        """Number of pieces that are worked on at the same time."""
        ...

    def submit(self, piece: Piece) -> None:
        """Queue a piece for the next free worker."""
        ...

    def wait(self, seconds: float) -> Sequence[CompletedPiece[R] | LostPiece]:
        """Return the pieces that came back; an empty list if none does within `seconds`."""
        ...

    def close(self) -> None:
        """End all work at once, and leave no process and no file behind."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


class LocalWorker(Generic[R]):
    """Worker in this process, which a function that hangs or ends the process takes with it.

    >>> with LocalWorker(lambda piece: sum(piece.rows)) as worker:
    ...     worker.submit(Piece(0, [1, 2]))
    ...     [completed] = worker.wait(1)
    >>> completed.result
    3
    """

    n_workers = 1

    def __init__(self, function: PieceFunction[R]) -> None:
        self._function = function
        self._queue: deque[Piece] = deque()

    def submit(self, piece: Piece) -> None:
        """Add a piece to the queue."""
        self._queue.append(piece)

    def wait(self, seconds: float) -> Sequence[CompletedPiece[R] | LostPiece]:
        """Apply the function to the next piece in the queue, however long that takes."""
        if not self._queue:
            return []
        piece, started = self._queue.popleft(), perf_counter()
        try:
            result = self._function(piece)
        except Exception as error:
            return [LostPiece(piece, format_error(error), error)]
        return [CompletedPiece(piece, result, perf_counter() - started)]

    def close(self) -> None:
        """Remove all pieces from the queue."""
        self._queue.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def format_error(error: BaseException) -> str:
    """Return the class and the message of an exception on one line.

    >>> format_error(KeyError("income"))
    "KeyError: 'income'"
    """
    return one_line(f"{type(error).__name__}: {error}")


# -- limits and signals ------------------------------------------------------------------


class RunStopper:
    """Limits of a run (time, errors, signals), and the reason why it was stopped.

    Parameters
    ----------
    stop_after
        Start no new piece after this many seconds.
    max_errors
        Start no new piece once more rows than this have ended in an error.
    on_signal
        Called with a message as soon as a signal arrives: the pieces that are running still have
        to be finished, which can take a while.
    clock
        Returns the time in seconds.

    >>> stopper = RunStopper(max_errors=1)
    >>> stopper.count_errors(2)
    >>> stopper.should_stop(), stopper.reason
    (True, 'more than 1 row ended in an error')
    """

    def __init__(
        self,
        *,
        stop_after: float | None = None,
        max_errors: int | None = None,
        on_signal: Callable[[str], object] = lambda _: None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.reason: str | None = None
        """Why the run was stopped; None if it was not."""
        self.signal: signal.Signals | None = None
        """The signal that stopped the run, if one did."""
        self.errors = 0
        """Number of rows that ended in an error so far."""
        if stop_after is not None:
            stop_after = check_number("stop_after", stop_after, "None or seconds > 0", above=0)
        if max_errors is not None:
            max_errors = check_integer("max_errors", max_errors, least=0, also="None")
        self._stop_after, self._max_errors = stop_after, max_errors
        self._message_signal, self._clock = on_signal, clock
        self._started = clock()

    def start(self) -> None:
        """Count the seconds of `stop_after` from now on."""
        self._started = self._clock()

    def stop(self, reason: str) -> None:
        """Start nothing new; the first reason given is kept."""
        self.reason = self.reason or reason

    def count_errors(self, errors: int) -> None:
        """Add a number of rows that ended in an error."""
        self.errors += errors
        if self.too_many_errors:
            self.stop(f"more than {plural(cast(int, self._max_errors), 'row')} ended in an error")

    @property
    def too_many_errors(self) -> bool:
        """True if more rows have ended in an error than `max_errors` allows."""
        return self._max_errors is not None and self.errors > self._max_errors

    def should_stop(self) -> bool:
        """Return whether no new piece may be started."""
        limit = self._stop_after
        if limit is not None and self._clock() - self._started >= limit:
            self.stop(f"the time limit of {duration(limit)} was reached")
        return self.reason is not None

    @contextmanager
    def handle_signals(self) -> Iterator[None]:
        """Stop on SIGINT and SIGTERM after the running pieces, and at once on the second signal.

        Only the main thread may set signal handlers: in any other thread nothing is changed.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {s: signal.signal(s, self._on_signal) for s in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                # None: the handler was set outside Python, which cannot restore it.
                signal.signal(number, signal.SIG_DFL if handler is None else handler)

    def _on_signal(self, number: int, _: FrameType | None) -> None:
        name = signal.Signals(number).name
        if self.signal is not None:
            raise KeyboardInterrupt(f"{name} while stopping")
        self.signal = signal.Signals(number)
        self.reason = f"{name} was received"
        self._message_signal(
            f"{name}: the rows that are running will be finished. Repeat to stop at once."
        )


# -- the loop ----------------------------------------------------------------------------


PIECE_SECONDS = 2.0
"""Target duration of a piece: much longer than sending it, and no great loss if it is lost."""

_FIRST_ROWS, _MOST_ROWS, _GROWTH = 2, 20_000, 4
_MAX_SHORTENING = 10
"""The last pieces are shorter, so that all workers end together, but by at most this factor."""

_PIECES_PER_WORKER = 2
"""Pieces submitted for each worker: one that runs, and one that is ready when it ends."""

_DEATHS_PER_ROW = 3
"""A single row is given up when this many workers died of it: one or two may die by chance."""

_POLL_SECONDS = 0.5
"""Seconds after which limits and signals are checked if no piece comes back before."""


def run_pieces(
    pieces: PieceSource,
    workers: Workers[R],
    *,
    failed: Callable[[Piece, LostPiece], R],
    stopper: RunStopper | None = None,
    errors: Callable[[R], int] = lambda _: 0,
    bar: Progress | None = None,
    piece_seconds: float | None = None,
) -> Iterator[tuple[Piece, R]]:
    """Run all pieces, and yield each with its result in the order in which they complete.

    Parameters
    ----------
    pieces
        The source of rows. At most two pieces for each worker are taken before results come back.
    workers
        The workers; they are not closed here.
    failed
        Makes the result of a piece of one row that no worker can complete.
    stopper
        Limits. When one is reached, running pieces are finished and `stopper.reason` is set.
    errors
        Counts the rows of a result that ended in an error.
    bar
        A progress bar, updated with completed rows and with errors.
    piece_seconds
        Target duration of a piece; None: `PIECE_SECONDS`.

    >>> from suffice.batch.workers import LocalWorker, RowsInMemory
    >>> with LocalWorker(lambda piece: [10 // n for n in piece.rows]) as worker:
    ...     rows = RowsInMemory([1, 2, 0, 5])
    ...     completed = run_pieces(rows, worker, failed=lambda piece, lost: lost.reason)
    ...     sorted((piece.first, result) for piece, result in completed)
    [(0, [10, 5]), (2, 'ZeroDivisionError: integer division or modulo by zero'), (3, [2])]
    """
    stopper = stopper or RunStopper()
    stopper.start()
    queue = _PieceQueue(pieces, PIECE_SECONDS if piece_seconds is None else piece_seconds)
    running = 0
    while True:
        while running < _PIECES_PER_WORKER * workers.n_workers and not stopper.should_stop():
            piece = queue.next_piece(workers.n_workers, running)
            if piece is None:
                break
            workers.submit(piece)
            running += 1
        if not running:
            return
        for outcome in workers.wait(_POLL_SECONDS):
            running -= 1
            piece = outcome.piece
            if isinstance(outcome, CompletedPiece):
                queue.size.learn(len(piece), outcome.seconds)
                result = outcome.result
                stopper.count_errors(errors(result))
            elif queue.requeue(outcome):
                continue
            else:
                result = failed(piece, outcome)
                stopper.count_errors(1)
            if bar is not None:
                bar.update(len(piece))
                if stopper.errors:
                    bar.set_postfix_str(plural(stopper.errors, "error"))
            yield piece, result


class _PieceQueue:
    """The pieces still to run: those to retry first, then new ones, then suspects alone.

    A lost piece is retried, then split until the row that ends its workers is found. A suspect is a
    single row that was lost while its worker had other pieces: it runs again when nothing else
    does, so that no other row can be the cause.
    """

    def __init__(self, pieces: PieceSource, piece_seconds: float) -> None:
        self.size = _PieceSize(piece_seconds)
        self._pieces = pieces
        self._losses: dict[tuple[int, int], int] = {}
        self._retries: deque[Piece] = deque()
        self._suspects: deque[Piece] = deque()

    def next_piece(self, n_workers: int, running: int) -> Piece | None:
        """Return the piece to submit next; None if there is none for now."""
        if self._retries:
            return self._retries.popleft()
        piece = self._pieces.take(self.size.rows(self._pieces.rows_left, n_workers))
        if piece is None and self._suspects and not running:
            return self._suspects.popleft()
        return piece

    def requeue(self, lost: LostPiece) -> bool:
        """Queue a lost piece again, whole or split; return False for a row that is given up."""
        piece = lost.piece
        place = (piece.first, len(piece))
        losses = self._losses[place] = self._losses.get(place, 0) + 1
        if lost.retryable and losses < (_DEATHS_PER_ROW if len(piece) == 1 else 2):
            self._retries.appendleft(piece)
        elif len(piece) > 1:
            self._retries.extendleft(reversed(piece.split()))
        elif not lost.ran_alone:
            self._suspects.append(piece)
        else:
            return False
        return True


class _PieceSize:
    """The number of rows of the next piece, from the time that earlier pieces took."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._seconds_per_row: float | None = None
        self._largest = _FIRST_ROWS

    def learn(self, rows: int, seconds: float) -> None:
        """Update the estimate with a piece that was completed."""
        new, old = seconds / rows, self._seconds_per_row
        # A worker's first piece compiles kernels and fills caches, so old times lose weight fast.
        self._seconds_per_row = new if old is None else min(new, (old + new) / 2)
        self._largest = max(self._largest, rows)

    def rows(self, left: int | None, n_workers: int) -> int:
        """Return the rows of the next piece; the last are smaller, so that workers end together."""
        if self._seconds_per_row is None:
            return _FIRST_ROWS
        fitting = self._seconds / max(self._seconds_per_row, 1e-9)
        rows = min(fitting, _GROWTH * self._largest, _MOST_ROWS)
        if left is not None:
            rows = min(rows, max(-(-left // (2 * n_workers)), fitting / _MAX_SHORTENING))
        return max(1, int(rows))
