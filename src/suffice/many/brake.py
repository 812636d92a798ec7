"""When to stop before the end: a limit is reached, or the user asks.

Stopping is gentle: no new pieces are begun, those in hand are finished. Why is said in words that
the caller can go on from ("…; resume with …").
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from types import FrameType

from suffice.wording import count, duration

__all__ = ["Brake"]


class Brake:
    """Limits of a run, and why it was stopped.

    Parameters
    ----------
    time_limit
        Begin nothing new after so many seconds.
    max_errors
        Begin nothing new once more rows than this have ended in an error.
    say
        Told at once when a signal asks to stop: finishing what is in hand takes its time.

    >>> brake = Brake(max_errors=1)
    >>> brake.count_errors(2)
    >>> brake.pulled(), brake.reason
    (True, 'there were more than the 1 error that max_errors allows')
    """

    def __init__(
        self,
        *,
        time_limit: float | None = None,
        max_errors: int | None = None,
        say: Callable[[str], object] = lambda _: None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.reason: str | None = None
        """Why the run was stopped; None if it was not."""
        self.errors = 0
        """Rows that ended in an error so far."""
        self._time_limit, self._max_errors = time_limit, max_errors
        self._say, self._clock = say, clock
        self._started = clock()
        self._signalled = False

    def pull(self, reason: str) -> None:
        """Begin nothing new; the first reason stays."""
        self.reason = self.reason or reason

    def count_errors(self, errors: int) -> None:
        """So many more rows ended in an error."""
        self.errors += errors
        if self._max_errors is not None and self.errors > self._max_errors:
            allowed = count(self._max_errors, "error")
            self.pull(f"there were more than the {allowed} that max_errors allows")

    def pulled(self) -> bool:
        """Is nothing new to be begun?"""
        limit = self._time_limit
        if limit is not None and self._clock() - self._started >= limit:
            self.pull(f"the time limit of {duration(limit)} was reached")
        return self.reason is not None

    @contextmanager
    def heeding_signals(self) -> Iterator[None]:
        """Stop gently on SIGINT and SIGTERM, and at once on the second.

        Only the main thread may say what a signal does: in any other, signals stay as they are.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {s: signal.signal(s, self._asked) for s in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                # A handler that was not set from Python cannot be set again from Python.
                signal.signal(number, signal.SIG_DFL if handler is None else handler)

    def _asked(self, number: int, _: FrameType | None) -> None:
        name = signal.Signals(number).name
        if self._signalled:
            raise KeyboardInterrupt(f"{name} while stopping")
        self._signalled = True
        self.reason = f"{name} asked to stop"
        self._say(f"{name}: finishing what is in hand. Once more to stop at once.")
