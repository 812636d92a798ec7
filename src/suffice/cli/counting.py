"""How far a long run has come: a bar on a terminal, else a line now and then."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any

from suffice.cli.output import tell
from suffice.progress import watched
from suffice.wording import count, duration

__all__ = ["Counter", "counted", "progress_line"]

_EVERY = 30.0
"""Seconds from one line to the next, where there is no terminal."""


@contextmanager
def counted(errors: Callable[[], int]) -> Iterator[Counter]:
    """Show the progress made inside: rows, rows a second, time left, and errors so far."""
    counter = Counter(_Bar() if sys.stderr.isatty() else _Lines(), errors)
    with watched(counter.see):
        try:
            yield counter
        finally:
            counter.close()


class Counter:
    """Rows that were done while it looked on; those that were there before are not its own."""

    def __init__(self, shows: _Bar | _Lines, errors: Callable[[], int]) -> None:
        self._shows, self._errors = shows, errors
        self._before: float | None = None
        self.rows = 0

    def see(self, what: str, done: float, total: float | None) -> None:
        """So many are done, of so many; what the search of a single row counts is not shown."""
        if what != "explanations":
            return
        if self._before is None:
            self._before = done
            self._shows.begin(done, total)
        self.rows = int(done - self._before)
        self._shows.show(done, total, self._errors())

    def close(self) -> None:
        """No more will come."""
        self._shows.close()


class _Bar:
    """One line of the terminal, written over."""

    _bar: Any = None

    def begin(self, done: float, total: float | None) -> None:
        from tqdm import tqdm

        self._bar = tqdm(
            total=total, initial=int(done), unit=" rows", dynamic_ncols=True, mininterval=0.2
        )

    def show(self, done: float, total: float | None, errors: int) -> None:
        self._bar.total = total
        if errors:
            self._bar.set_postfix_str(count(errors, "error"), refresh=False)
        self._bar.update(int(done) - self._bar.n)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


class _Lines:
    """A line now and then: for logs."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._begun = self._told = (0.0, 0.0)

    def begin(self, done: float, _: float | None) -> None:
        self._begun = self._told = self._clock(), done

    def show(self, done: float, total: float | None, errors: int) -> None:
        now = self._clock()
        if now - self._told[0] < _EVERY:
            return
        self._told = now, done
        started, before = self._begun
        tell(progress_line(done, total, (done - before) / (now - started), errors))

    def close(self) -> None:
        """The end is told by others."""


def progress_line(done: float, total: float | None, rate: float, errors: int) -> str:
    """How far it is, in a line.

    >>> progress_line(12_000, 32_561, 1020, 3)
    '12,000 of 32,561 rows, 1,020 a second, 20 s left, 3 errors'
    >>> progress_line(12_000, None, 0.5, 0)
    '12,000 rows, 0.5 a second'
    """
    parts = [f"{done:,.0f} rows" if total is None else f"{done:,.0f} of {total:,.0f} rows"]
    parts.append(f"{rate:,.0f} a second" if rate >= 10 else f"{rate:.1f} a second")
    if total is not None and rate > 0:
        parts.append(f"{duration((total - done) / rate)} left")
    if errors:
        parts.append(count(errors, "error"))
    return ", ".join(parts)
