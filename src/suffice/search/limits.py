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
"""The counts of 2^24 subsets, and all that is read from them, still fit in memory."""

STREAMED_PLAYERS = 30
"""The hits of 2^30 subsets, one or two bytes each, fit in memory where an engine sweeps them."""

DEFAULT_WORK = 10 * UNITS_PER_SECOND
"""Work of a search where no limit is given: about ten seconds on a laptop with two cores."""

_FIRST_BATCH = 16
"""Hybrids worked out together under a time limit before it is known how long one takes."""
_BATCHES_PER_TIME_LIMIT = 20
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
    """Limits of a search: largest size of a set, model rows, seconds, and work."""

    max_size: int | None = None
    budget: int | None = None
    time_limit: float | None = None
    unasked: bool = False
    """Whether the time limit is a default, since none was given."""
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
        """Return the same limits in plain numbers; raise for one that cannot be meant."""
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
        """Raise if nothing is bounded and there are more subsets than can be counted."""
        if d > EXHAUSTIVE_PLAYERS and self.unlimited:
            raise InputError(
                "data",
                f"{d} features, so 2^{d} subsets",
                f"at most {EXHAUSTIVE_PLAYERS} for an exhaustive search",
                "Use search='auto', which finds what can be found in time; max_size (e.g. 3) for "
                "small sets only; or groups='auto' to join columns into fewer players.",
            )

    def largest(self, d: int) -> int:
        """Return the size of the largest sets of d players that may be reported."""
        return d if self.max_size is None else min(self.max_size, d)

    def size_stop(self, d: int) -> Stop | None:
        """Return the end of a search whose largest sets are not all d players; None for others."""
        largest = self.largest(d)
        return None if largest == d else Stop("max_size", largest)

    def check_budget(self, n: int, sets: int = 1, used: int = 0) -> None:
        """Raise for a budget too small for so many sets per view on each of n references.

        `used` rows were predicted before: the input itself.
        """
        least = 2 * sets * n + used
        if self.budget is not None and self.budget < least:
            each = f"{plural(sets, 'set')} per view on each of {plural(n, 'reference')}"
            beside = f", and {used} for the input" if used else ""
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
        self._started = self._now if started is None else started
        self._used = _Usage()
        # How far each may go here; never looked at where the user gave no such limit.
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
        """Is there a time limit?"""
        return self.limits.time_limit is not None

    @property
    def may_run_out(self) -> bool:
        """Is there a limit on time or work, so that nothing may be left for what comes last?"""
        return self.timed or self.limits.work is not None

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

    @property
    def work_left(self) -> float | None:
        """Work that may still be done; None: any amount."""
        if self.limits.work is None:
            return None
        return max(0.0, self._work - self._used.work)

    # -- what may be done next ----------------------------------------------------------

    def forbids(self, rows: int = 1) -> Stop | None:
        """Return the limit that forbids so many more predicted rows; None: they are allowed.

        With rows=0: which limit forbids to go on even where nothing has to be asked?
        """
        used, given = self._used, self.limits
        # The next batch takes as long as the last, or so.
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
        """Return how many units, of so many hybrids each, may be evaluated together; 0: none.

        At most `most` hybrids, or as many as a small part of the time limit allows; but one unit,
        unless a limit forbids it. Each hybrid may be a row to ask.
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
        """Hybrids that the work left suffices for if each is a row to ask; -1: not even a batch."""
        left = self._work - self._used.work - CALL
        return -1.0 if left < 0 else left / max(self._hybrid_work + self._row_work, 1.0)

    def paced(self, most: int) -> int:
        """Return the number of hybrids for one batch: `most`, or what the time limit allows."""
        return int(min(most, self._batch)) if self.timed else most

    def check(self, rows: int = 1) -> None:
        """Raise LimitReached where a limit forbids to ask about so many rows more."""
        stop = self.forbids(rows)
        if stop is not None:
            raise LimitReached(stop)

    # -- parts of it --------------------------------------------------------------------

    def part(self, share: float) -> LimitKeeper:
        """A keeper of a share of what is left now; it writes in the same books.

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
        """Return a keeper that writes in the same books, bounded by the budget only."""
        other = self.part(1.0)
        other.limits = replace(self.limits, time_limit=None, work=None)
        return other

    def charging(self, work: float) -> LimitKeeper:
        """Return a keeper that writes in the same books and takes each hybrid for so much work.

        For rows that are predicted without an evaluator, of whose work `counting` would not know.
        """
        if self.limits.work is None:
            return self
        other = copy(self)
        other._expected, other._hybrid_work, other._row_work = None, work, 0.0
        return other

    def reserving(self, rows: int) -> LimitKeeper:
        """A keeper of all but so many rows, which are kept for what comes after."""
        other = self.part(1.0)
        other._rows, other._hybrids = self._rows - rows, self._hybrids - rows
        return other

    # -- asking within the limits -------------------------------------------------------

    def ask(self, evaluator: Evaluator, held: HeldSets, references: Counts) -> BoolVector:
        """Outcomes of single hybrids in their order, up to the first that a limit forbids."""
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
        """Outcomes of whole sets in their order, up to the first set that a limit forbids."""
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
            except LimitReached:  # in the middle of a batch, which is then given up
                break
            start += len(part)
        return np.concatenate(parts)

    # -- what is written down -----------------------------------------------------------

    @contextmanager
    def counting(
        self, evaluator: Evaluator | None, hybrids: int, effort: float = 1.0
    ) -> Iterator[None]:
        """Time a batch of so many hybrids, and note the rows that its evaluator predicts.

        `effort` is the work of one in terms of that of a hybrid.
        """
        before, started = 0 if evaluator is None else evaluator.rows_predicted, self._now
        try:
            yield
        finally:
            rows = 0 if evaluator is None else evaluator.rows_predicted - before
            self.note(rows, hybrids, self._now - started)
            self._used.work += CALL + hybrids * effort * self._hybrid_work + rows * self._row_work

    def spend(self, work: float) -> None:
        """Note work that is done without an evaluator, such as counting what one found."""
        self._used.work += work

    def cover(self, hybrids: int) -> None:
        """Note so many hybrids as evaluated, whether the model predicted them or not."""
        self._used.hybrids += hybrids

    def expect(self, evaluator: Evaluator) -> None:
        """Take the evaluator's own word for what a hybrid costs, until that was measured.

        Rows that an engine asks about, to check itself or near a tie, are not counted as work:
        how many they are depends on what was checked before, and the answer must not.
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
        """Note the predicted rows, hybrids and seconds of one batch."""
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
    """Checks the limits within a batch; not at its end, where nothing is saved by giving it up."""

    keeper: LimitKeeper
    left: float = 1.0

    def __call__(self, share: float) -> None:
        self.left -= share
        if self.left > 1e-9:
            self.keeper.check(0)


# What ended a search: a fact until it is shown.


HYBRIDS_PER_ROW = 1000
"""Hybrids that may be covered for each row of a budget. A row that is known already, or that an
engine works out from the model's own shape, costs no row: without this a budget would bound what
the model is asked and not the search."""

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
"""The kinds that are a user's own bounds, and the argument that each was given in."""

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
