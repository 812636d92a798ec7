"""Limits of a search (`max_size`, `budget`, `time_limit`, work), and `LimitKeeper`, which counts.

`Limits` are what the user gave, or the default amount of work; `LimitKeeper` keeps one search
within them. Rows and work are counted, so that searches bounded by them give the same answer on
every machine. Only `time_limit` looks at a clock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Literal

import msgspec
import numpy as np

from suffice.engines import Evaluator, LatticeEvaluator
from suffice.engines.blackbox import CallTimes
from suffice.engines.work import CALL, LOOKUP, UNITS_PER_SECOND
from suffice.errors import InputError
from suffice.formatting import plural
from suffice.typing import BoolVector, Counts, HeldSets, Outcomes
from suffice.validation import check_integer, check_number

EXHAUSTIVE_PLAYERS = 24
"""Most players for exhaustive search: 2^24 counts and all derived arrays fit in memory."""

STREAMED_PLAYERS = 30
"""Most players for a streamed search: 2^30 hits of one or two bytes each fit in memory."""

DEFAULT_WORK = 10 * UNITS_PER_SECOND
"""Work of a search where no limit is given: about ten seconds on a laptop with two cores."""

_FIRST_BATCH = 16
"""Hybrids of the first batch under a time limit, before the time of one is known."""
_BATCHES_PER_TIME_LIMIT = 20
"""Batches that a time limit is cut into: a limit is exceeded by one batch at most."""
_GROWTH = 4
_ROWS_AT_ONCE = 1 << 17
_HYBRIDS_AT_ONCE = 1 << 20


class LimitReached(Exception):  # noqa: N818 - it is how a search ends, not an error
    """Raised when a limit forbids the next step of a search."""

    def __init__(self, stop: Stop) -> None:
        super().__init__(str(stop))
        self.stop = stop


@dataclass(frozen=True)
class Limits:
    """Limits of a search: largest size of a set, model rows, seconds, and work."""

    max_size: int | None = None
    budget: int | None = None
    time_limit: float | None = None
    unasked: bool = False
    """True if the time limit is the default because none was given."""
    work: float | None = None
    """Work in the units of `engines.work`: set where the user gave no limit."""

    @property
    def unlimited(self) -> bool:
        """True if no limit is set."""
        limits = (self.max_size, self.budget, self.time_limit, self.work)
        return all(limit is None for limit in limits)

    @property
    def ends_early(self) -> bool:
        """True if rows, time or work are bounded, so that a search may end before it is done."""
        return any(limit is not None for limit in (self.budget, self.time_limit, self.work))

    @property
    def batch_seconds(self) -> float | None:
        """Seconds that one batch may take; None: no limit."""
        return None if self.time_limit is None else self.time_limit / _BATCHES_PER_TIME_LIMIT

    def validated(self) -> Limits:
        """Return the limits as plain numbers; raise for one that makes no sense."""
        return Limits(
            None
            if self.max_size is None
            else check_integer("max_size", self.max_size, also="None"),
            None if self.budget is None else check_integer("budget", self.budget, also="None"),
            None
            if self.time_limit is None
            else check_number(
                "time_limit", self.time_limit, "None or a positive number of seconds", above=0
            ),
            self.unasked,
            self.work,
        )

    def require_bounded(self, d: int) -> None:
        """Raise if no limit is set and there are more subsets than can be counted."""
        if d > EXHAUSTIVE_PLAYERS and self.unlimited:
            raise InputError(
                "data",
                f"{d} features, so 2^{d} subsets",
                f"at most {EXHAUSTIVE_PLAYERS} for an exhaustive search",
                "Use search='auto', which finds what a fixed amount of work can; max_size (e.g. 3) "
                "for small sets only; or groups='auto' to join columns into fewer players.",
            )

    def largest(self, d: int) -> int:
        """Return the size of the largest sets of d players that may be reported."""
        return d if self.max_size is None else min(self.max_size, d)

    def size_stop(self, d: int) -> Stop | None:
        """Return the end of a search whose largest sets are not all d players; None for others."""
        largest = self.largest(d)
        return None if largest == d else Stop("max_size", largest)

    def check_budget(self, n: int, sets: int = 1, used: int = 0) -> None:
        """Raise for a budget too small for `sets` sets per view on each of n references.

        `used` rows were predicted before: the input itself, and texts to choose a mask.
        """
        least = 2 * sets * n + used
        if self.budget is not None and self.budget < least:
            each = f"{plural(sets, 'set')} per view on each of {plural(n, 'reference')}"
            beside = f", and {used} before the search" if used else ""
            raise InputError(
                "budget",
                f"{self.budget} rows",
                f"at least {least}: {each}{beside}",
                "Use fewer references with n_references.",
            )


@dataclass
class _Usage:
    """Rows, hybrids, seconds and work that a search has used so far."""

    rows: int = 0
    hybrids: int = 0
    work: float = 0.0


class LimitKeeper:
    """Keeps a search within its limits: counts what was used and what is still allowed.

    Only `ask`, `ask_sets` and the methods that record usage change its state. Only a time limit
    reads the clock: under a budget every machine predicts the same rows. Time counts from
    `started` on `clock`, by default from now.
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
        self._started = self._now if started is None else started
        self._used = _Usage()
        # Upper ends of each usage; not read for limits that the user did not give.
        self._rows = limits.budget or 0
        self._hybrids = HYBRIDS_PER_ROW * self._rows
        self._seconds = limits.time_limit or 0.0
        self._work = limits.work or 0.0
        self._hybrid_work = self._row_work = 0.0
        self._expected: Evaluator | None = None
        self._batch = float(_FIRST_BATCH)
        self._last_batch = 0.0
        self._batch_times = CallTimes()

    # -- what was used ------------------------------------------------------------------

    @property
    def timed(self) -> bool:
        """True if there is a time limit."""
        return self.limits.time_limit is not None

    @property
    def may_run_out(self) -> bool:
        """True if time or work is limited, so that nothing may be left for the last step."""
        return self.timed or self.limits.work is not None

    @property
    def rows(self) -> int:
        """Rows predicted so far."""
        return self._used.rows

    @property
    def rows_left(self) -> int | None:
        """Rows that may still be predicted; None: any number."""
        return None if self.limits.budget is None else max(0, self._rows - self._used.rows)

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the time is over; None: any number."""
        return max(0.0, self._seconds - self._elapsed) if self.timed else None

    @property
    def work_left(self) -> float | None:
        """Work that may still be done; None: any amount."""
        if self.limits.work is None:
            return None
        return max(0.0, self._work - self._used.work)

    # -- what may be done next ----------------------------------------------------------

    def forbids(self, rows: int = 1) -> Stop | None:
        """Return the limit that forbids predicting `rows` more rows; None if they are allowed.

        With rows=0: the limit that forbids going on even without a prediction.
        """
        used, given = self._used, self.limits
        # The next batch takes about as long as the last.
        if given.time_limit is not None and self._elapsed + self._last_batch >= self._seconds:
            return Stop("patience" if given.unasked else "time_limit", given.time_limit)
        if given.work is not None and self._affordable < rows:
            return Stop("work", given.work)
        if given.budget is not None and used.rows + rows > self._rows:
            return Stop("budget", given.budget)
        if given.budget is not None and used.hybrids + rows > self._hybrids:
            return Stop("hybrids", given.budget)
        return None

    def batch(self, most: int, unit: int = 1) -> int:
        """Return how many units of `unit` hybrids each may be evaluated together; 0: none.

        At most `most` hybrids, or as many as a small part of the time limit allows, but at least
        one unit unless a limit forbids it. Each hybrid may be a row to predict.
        """
        if self.forbids(unit) is not None:
            return 0
        units = max(1, self.paced(most) // unit)
        if self.limits.work is not None:
            units = int(min(units, self._affordable // unit))
        if self.limits.budget is None:
            return units
        left = min(self._rows - self._used.rows, self._hybrids - self._used.hybrids)
        return min(units, left // unit)

    @property
    def _affordable(self) -> float:
        """Hybrids that the remaining work allows if each is predicted; -1: not even a batch."""
        left = self._work - self._used.work - CALL
        return -1.0 if left < 0 else left / max(self._hybrid_work + self._row_work, 1.0)

    def paced(self, most: int) -> int:
        """Return the number of hybrids for one batch: `most`, or what the time limit allows."""
        return int(min(most, self._batch)) if self.timed else most

    def check(self, rows: int = 1) -> None:
        """Raise LimitReached if a limit forbids predicting `rows` more rows."""
        stop = self.forbids(rows)
        if stop is not None:
            raise LimitReached(stop)

    # -- parts of it --------------------------------------------------------------------

    def part(self, share: float) -> LimitKeeper:
        """Return a keeper of a share of what is left now, which counts into the same usage.

        The reason why it ended still names the limit as the user gave it.
        """
        used, elapsed, other = self._used, self._elapsed, copy(self)
        other._batch, other._last_batch = float(_FIRST_BATCH), 0.0
        other._batch_times = CallTimes()
        other._seconds = elapsed + (self._seconds - elapsed) * share
        other._rows = used.rows + int((self._rows - used.rows) * share)
        other._hybrids = used.hybrids + int((self._hybrids - used.hybrids) * share)
        other._work = used.work + (self._work - used.work) * share
        return other

    def within_budget(self) -> LimitKeeper:
        """Return a keeper that counts into the same usage, bounded by the budget only."""
        other = self.part(1.0)
        other.limits = replace(self.limits, time_limit=None, work=None)
        return other

    def charging(self, work: float) -> LimitKeeper:
        """Return a keeper that counts into the same usage, and `work` for each hybrid.

        For rows that are predicted without an evaluator, whose work `counting` cannot know.
        """
        if self.limits.work is None:
            return self
        other = copy(self)
        other._expected, other._hybrid_work, other._row_work = None, work, 0.0
        return other

    def reserving(self, rows: int) -> LimitKeeper:
        """Return a keeper of all rows left but `rows`, which are reserved for a later step."""
        other = self.part(1.0)
        other._rows, other._hybrids = self._rows - rows, self._hybrids - rows
        return other

    # -- asking within the limits -------------------------------------------------------

    def ask(self, evaluator: Evaluator, held: HeldSets, references: Counts) -> BoolVector:
        """Return outcomes of single hybrids in order, up to the first that a limit forbids."""
        self.expect(evaluator)
        parts = [np.empty(0, dtype=bool)]
        start = 0
        while start < len(held):
            part = slice(start, start + self.batch(_ROWS_AT_ONCE))
            if part.start == part.stop:
                break
            with self.counting(evaluator, len(held[part])):
                parts.append(evaluator.outcomes_of_hybrids(held[part], references[part]))
            start = part.stop
        return np.concatenate(parts)

    def ask_sets(self, evaluator: Evaluator, held: HeldSets) -> Outcomes:
        """Return outcomes of whole sets in order, up to the first set that a limit forbids."""
        self.expect(evaluator)
        parts = [np.empty((0, evaluator.n), dtype=bool)]
        start, over = 0, self.part(1.0)
        while start < len(held):
            part = held[start : start + self.batch(_HYBRIDS_AT_ONCE, evaluator.n)]
            if not len(part):
                break
            try:
                with self.counting(evaluator, len(part) * evaluator.n):
                    parts.append(evaluator.outcomes(part, _CheckWithin(over)))
            except LimitReached:  # within a batch, which is then dropped
                break
            start += len(part)
        return np.concatenate(parts)

    # -- recording usage ----------------------------------------------------------------

    @contextmanager
    def counting(
        self, evaluator: Evaluator | None, hybrids: int, effort: float = 1.0
    ) -> Iterator[None]:
        """Time a batch of hybrids, and record the rows that its evaluator predicts.

        `effort` is the work of one as a multiple of a hybrid's.
        """
        before, started = 0 if evaluator is None else evaluator.rows_predicted, self._now
        try:
            yield
        finally:
            rows = 0 if evaluator is None else evaluator.rows_predicted - before
            self.note(rows, hybrids, self._now - started)
            self._used.work += CALL + hybrids * effort * self._hybrid_work + rows * self._row_work

    def spend(self, work: float) -> None:
        """Record work done without an evaluator, such as counting the sets that one found."""
        self._used.work += work

    def cover(self, hybrids: int) -> None:
        """Record hybrids as evaluated, whether the model predicted them or not."""
        self._used.hybrids += hybrids

    def expect(self, evaluator: Evaluator) -> None:
        """Use the evaluator's estimate of a hybrid's cost until one is measured.

        Rows that an engine predicts as a check or near a tie are not counted as work: their number
        depends on earlier checks, and the result must not.
        """
        if self.limits.work is not None and evaluator is not self._expected:
            self._expected = evaluator
            each = evaluator.work_per_hybrid()
            engine = isinstance(evaluator, LatticeEvaluator)
            self._hybrid_work, self._row_work = (each, 0.0) if engine else (LOOKUP, each)
        patience = self.limits.batch_seconds
        if patience is None or self._last_batch:
            return
        seconds = evaluator.seconds_per_hybrid()
        if seconds:
            self._batch = max(1.0, patience / seconds)

    def note(self, rows: int, hybrids: int = 0, seconds: float = 0.0) -> None:
        """Record the predicted rows, hybrids and seconds of one batch."""
        self._used.rows += rows
        self._used.hybrids += hybrids
        patience = self.limits.batch_seconds
        if patience is not None and hybrids:
            self._last_batch = seconds
            self._batch_times.record(hybrids, seconds)
            affordable = self._batch_times.rows_within(patience)
            self._batch = max(1.0, min(affordable, _GROWTH * max(self._batch, float(hybrids))))

    # -- the clock ----------------------------------------------------------------------

    @property
    def _now(self) -> float:
        return self._clock() if self.timed else 0.0

    @property
    def _elapsed(self) -> float:
        return self._now - self._started if self.timed else 0.0


@dataclass
class _CheckWithin:
    """Progress callback that checks limits within a batch, but not at its end."""

    keeper: LimitKeeper
    left: float = 1.0

    def __call__(self, share: float) -> None:
        self.left -= share
        if self.left > 1e-9:
            self.keeper.check(0)


# Reason why a search ended, as data.


HYBRIDS_PER_ROW = 1000
"""Hybrids that may be evaluated for each row of a budget. Cached rows, and hybrids that an engine
computes, cost no row: without this a budget would bound model calls but not the search."""

StopKind = Literal[
    "max_size",
    "budget",
    "hybrids",
    "time_limit",
    "patience",
    "work",
    "fruitless",
    "starts",
    "many",
]


class Stop(msgspec.Struct, frozen=True):
    """Reason why a search ended: the kind of limit, and the limit as it was given.

    >>> str(Stop("budget", 2000)), str(Stop("time_limit", 0.5)), str(Stop("max_size", 3))
    ('budget=2000 model rows', 'time_limit=0.5 s', 'max_size=3')
    """

    kind: StopKind
    limit: int | float

    def __str__(self) -> str:
        return self.text({})

    def text(self, arguments: Mapping[str, str]) -> str:
        """Return the limit as text; `arguments` maps arguments to the names of a command's options.

        >>> Stop("max_size", 3).text({"max_size": "--max-size"})
        '--max-size 3'
        """
        limit_text = _STOP_SENTENCES[self.kind].format(self.limit, HYBRIDS_PER_ROW)
        argument = _STOP_ARGUMENTS.get(self.kind)
        if argument is None:
            return limit_text
        if argument in arguments:
            return f"{arguments[argument]} {limit_text}"
        return f"{argument}={limit_text}"


_STOP_ARGUMENTS: dict[StopKind, str] = {
    "max_size": "max_size",
    "budget": "budget",
    "hybrids": "budget",
    "time_limit": "time_limit",
}
"""Kinds of limits that the user gives, and the argument of each."""

_STOP_SENTENCES: dict[StopKind, str] = {
    "max_size": "{0}",
    "budget": "{0} model rows",
    "hybrids": "{0} model rows, at most {1:,} hybrids for each",
    "time_limit": "{0:g} s",
    "patience": "its {0:g} s, the time it takes where no time_limit is given",
    "work": "the work that a search may take where no limit is given",
    "fruitless": "{0} starts in a row brought nothing new",
    "starts": "{0} starts",
    "many": "{0:,} minimal sets in one view, of which only the smallest are listed",
}
