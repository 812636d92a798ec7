"""How much more the model may be asked, under a budget of rows and a time limit."""

from __future__ import annotations

from time import perf_counter

from suffice.evaluate import Evaluator
from suffice.search.limits import Limits

__all__ = ["Meter"]

_FIRST_TIMED_ROWS = 256
"""Asked together under a time limit before it is known how long a row takes."""


class Meter:
    """Says how many rows may be asked next, and why no more when there are none."""

    def __init__(self, limits: Limits, evaluator: Evaluator, started: float) -> None:
        self._limits = limits
        self._evaluator = evaluator
        self._started = started
        self.timed = limits.time_limit is not None
        self.stopped: str | None = None

    def late(self) -> bool:
        """Has the time come?"""
        seconds = self._limits.time_limit
        if seconds is not None and perf_counter() - self._started >= seconds:
            self.stopped = f"time_limit={seconds:g} s"
        return self.stopped is not None

    def room(self) -> int | None:
        """Rows that may be asked now; None: any number."""
        room = None
        budget, seconds = self._limits.budget, self._limits.time_limit
        asked = self._evaluator.rows_predicted
        if seconds is not None:
            # Only a time limit looks at the clock: with a budget all machines ask the same rows.
            if self.late():
                return 0
            pace = self._evaluator.model_seconds / max(1, asked)
            room = max(1, int(seconds / 20 / pace)) if pace else _FIRST_TIMED_ROWS
        if budget is not None:
            left = int(budget) - asked
            if left <= 0:
                self.stopped = f"budget={int(budget)} model rows"
                return 0
            room = left if room is None else min(room, left)
        return room
