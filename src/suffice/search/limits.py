"""How far a search may go: what a user may bound, and what was used of it.

`Limits` are what the user gave, `LimitKeeper` keeps one search within them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from suffice.checks import number, whole
from suffice.errors import InputError
from suffice.evaluate import Evaluator
from suffice.search.stop import HYBRIDS_PER_ROW, Stop
from suffice.typing import BoolVector, Counts, Held, Outcomes

__all__ = [
    "EXHAUSTIVE_PLAYERS",
    "STREAMED_PLAYERS",
    "LimitKeeper",
    "LimitReached",
    "Limits",
]

EXHAUSTIVE_PLAYERS = 24
"""The counts of 2^24 subsets, and all that is read from them, still fit in memory."""

STREAMED_PLAYERS = 30
"""Of 2^30 subsets a bit each does, where an engine can sweep them."""

_FIRST_BATCH = 16
"""Hybrids worked out together under a time limit before it is known how long one takes."""
_BATCHES = 20
"""A batch takes about this part of the time limit: no limit is passed by more than one batch."""
_GROWTH = 4
_ROWS_AT_ONCE = 1 << 17
_HYBRIDS_AT_ONCE = 1 << 20


class LimitReached(Exception):  # noqa: N818 - it is how a search ends, not an error
    """A limit forbids what would have to be done next."""

    def __init__(self, stop: Stop) -> None:
        super().__init__(str(stop))
        self.stop = stop


@dataclass(frozen=True)
class Limits:
    """How far to go: largest size of a set, rows the model may be asked, seconds."""

    max_size: int | None = None
    budget: int | None = None
    time_limit: float | None = None
    unasked: bool = False
    """Is the time limit our own, since none was given?"""

    @property
    def none(self) -> bool:
        """Is the sweep to be exhaustive?"""
        return self.max_size is None and self.budget is None and self.time_limit is None

    @property
    def patience(self) -> float | None:
        """How many seconds one batch may take; None: any number."""
        return None if self.time_limit is None else self.time_limit / _BATCHES

    def checked(self, d: int) -> Limits:
        """The same limits in plain numbers; an error for one that cannot be meant.

        Also where none is given and one is needed.
        """
        limits = Limits(
            None if self.max_size is None else whole("max_size", self.max_size, also="None"),
            None if self.budget is None else whole("budget", self.budget, also="None"),
            None
            if self.time_limit is None
            else number(
                "time_limit", self.time_limit, "None or a positive number of seconds", above=0
            ),
            self.unasked,
        )
        if d > EXHAUSTIVE_PLAYERS and limits.none:
            raise InputError(
                "data",
                f"{d} features, so 2^{d} subsets",
                f"at most {EXHAUSTIVE_PLAYERS} for an exhaustive search",
                "Use search='auto', which finds what can be found in time; max_size (e.g. 3) for "
                "small sets only; or groups='auto' to join columns into fewer players.",
            )
        return limits

    def check_budget(self, n: int, sets: int = 1) -> None:
        """Raise for a budget too small for so many sets per view on each of n references."""
        if self.budget is not None and self.budget < 2 * sets * n:
            raise InputError(
                "budget",
                f"{self.budget} rows",
                f"at least {2 * sets * n}: {sets} set(s) per view on each of {n} references",
                "Use fewer references with n_references.",
            )


@dataclass
class _Used:
    """What a search has used so far."""

    rows: int = 0
    hybrids: int = 0


class LimitKeeper:
    """Keeps a search within its limits: notes what was used, says how much may be done next.

    What it is asked changes nothing; only `ask` and the methods that note something write. Only a
    time limit looks at the clock: with a budget the same rows are asked on any machine. The time
    counts from `started`, as `clock` tells it: by default from now.
    """

    def __init__(
        self,
        limits: Limits = Limits(),
        *,
        clock: Callable[[], float] = perf_counter,
        started: float | None = None,
    ) -> None:
        self.limits = limits
        self._clock = clock
        self._started = clock() if started is None else started
        self._used = _Used()
        # How far each may go here; never looked at where the user gave no such limit.
        self._rows = limits.budget or 0
        self._hybrids = HYBRIDS_PER_ROW * self._rows
        self._seconds = limits.time_limit or 0.0
        self._batch = float(_FIRST_BATCH)
        self._last_batch = 0.0

    # -- what was used ------------------------------------------------------------------

    @property
    def timed(self) -> bool:
        """Is there a time limit?"""
        return self.limits.time_limit is not None

    @property
    def rows(self) -> int:
        """Rows that the model was asked about so far."""
        return self._used.rows

    @property
    def rows_left(self) -> int | None:
        """Rows that the model may still be asked about; None: any number."""
        return None if self.limits.budget is None else max(0, self._rows - self._used.rows)

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the time is over; None: any number."""
        return max(0.0, self._seconds - self._elapsed) if self.timed else None

    # -- what may be done next ----------------------------------------------------------

    def forbids(self, rows: int = 1) -> Stop | None:
        """Which limit forbids to ask about so many rows more? None: they may be asked.

        With rows=0: which limit forbids to go on even where nothing has to be asked?
        """
        used, given = self._used, self.limits
        # The next batch takes as long as the last, or so.
        if given.time_limit is not None and self._elapsed + self._last_batch >= self._seconds:
            return Stop("patience" if given.unasked else "time_limit", given.time_limit)
        if given.budget is not None and used.rows + rows > self._rows:
            return Stop("budget", given.budget)
        if given.budget is not None and used.hybrids + rows > self._hybrids:
            return Stop("hybrids", given.budget)
        return None

    def batch(self, most: int, unit: int = 1) -> int:
        """How many units, of so many hybrids each, may be worked out together; 0: none.

        At most `most` hybrids, or as many as a small part of the time limit allows; but one unit,
        unless a limit forbids it. Each hybrid may be a row to ask.
        """
        if self.forbids(unit) is not None:
            return 0
        units = max(1, self.paced(most) // unit)
        if self.limits.budget is None:
            return units
        left = min(self._rows - self._used.rows, self._hybrids - self._used.hybrids)
        return min(units, left // unit)

    def paced(self, most: int) -> int:
        """How many hybrids to deal with together: `most`, or what the time limit has room for."""
        return int(min(most, self._batch)) if self.timed else most

    def check(self, rows: int = 1) -> None:
        """Raise LimitReached where a limit forbids to ask about so many rows more."""
        stop = self.forbids(rows)
        if stop is not None:
            raise LimitReached(stop)

    # -- parts of it --------------------------------------------------------------------

    def part(self, share: float) -> LimitKeeper:
        """A keeper of a share of what is left now; it writes in the same books.

        What it says of a limit is still said of the limit as the user gave it.
        """
        used, elapsed, other = self._used, self._elapsed, copy(self)
        other._batch, other._last_batch = float(_FIRST_BATCH), 0.0
        other._seconds = elapsed + (self._seconds - elapsed) * share
        other._rows = used.rows + int((self._rows - used.rows) * share)
        other._hybrids = used.hybrids + int((self._hybrids - used.hybrids) * share)
        return other

    def keeping_back(self, rows: int) -> LimitKeeper:
        """A keeper of all but so many rows, which are kept for what comes after."""
        other = self.part(1.0)
        other._rows, other._hybrids = self._rows - rows, self._hybrids - rows
        return other

    # -- asking within the limits -------------------------------------------------------

    def ask(self, evaluator: Evaluator, held: Held, references: Counts) -> BoolVector:
        """Outcomes of single hybrids in their order, up to the first that a limit forbids."""
        if self.timed:
            self.expect(evaluator.pace())
        parts = [np.empty(0, dtype=bool)]
        start = 0
        while start < len(held):
            part = slice(start, start + self.batch(_ROWS_AT_ONCE))
            if part.start == part.stop:
                break
            with self.counting(evaluator, len(held[part])):
                parts.append(evaluator.outcomes_of(held[part], references[part]))
            start = part.stop
        return np.concatenate(parts)

    def ask_sets(self, evaluator: Evaluator, held: Held) -> Outcomes:
        """Outcomes of whole sets in their order, up to the first set that a limit forbids."""
        if self.timed:
            self.expect(evaluator.pace())
        parts = [np.empty((0, evaluator.n), dtype=bool)]
        start, over = 0, self.part(1.0)
        while start < len(held):
            part = held[start : start + self.batch(_HYBRIDS_AT_ONCE, evaluator.n)]
            if not len(part):
                break
            try:
                with self.counting(evaluator, len(part) * evaluator.n):
                    parts.append(evaluator.outcomes(part, lambda _: over.check(0)))
            except LimitReached:  # in the middle of a batch, which is then given up
                break
            start += len(part)
        return np.concatenate(parts)

    # -- what is written down -----------------------------------------------------------

    @contextmanager
    def counting(self, evaluator: Evaluator | None, hybrids: int) -> Iterator[None]:
        """Note how long so many hybrids take, and what the evaluator asks of the model."""
        before, started = 0 if evaluator is None else evaluator.rows_predicted, self._now
        try:
            yield
        finally:
            rows = 0 if evaluator is None else evaluator.rows_predicted - before
            self.note(rows, hybrids, self._now - started)

    def cover(self, hybrids: int) -> None:
        """So many hybrids were dealt with, whether or not the model was asked."""
        self._used.hybrids += hybrids

    def expect(self, seconds_per_hybrid: float | None) -> None:
        """About what a hybrid costs, until that was measured; None: nobody knows."""
        patience = self.limits.patience
        if patience is not None and seconds_per_hybrid and not self._last_batch:
            self._batch = max(1.0, patience / seconds_per_hybrid)

    def note(self, rows: int, hybrids: int = 0, seconds: float = 0.0) -> None:
        """So many rows were asked, for so many hybrids, in one batch that took so long."""
        self._used.rows += rows
        self._used.hybrids += hybrids
        patience = self.limits.patience
        if patience is not None and hybrids:
            self._last_batch = seconds
            affordable = patience / max(seconds, 1e-9) * hybrids
            self._batch = max(1.0, min(affordable, _GROWTH * max(self._batch, float(hybrids))))

    # -- the clock ----------------------------------------------------------------------

    @property
    def _now(self) -> float:
        return self._clock() if self.timed else 0.0

    @property
    def _elapsed(self) -> float:
        return self._now - self._started if self.timed else 0.0
