"""Verdicts on subsets for a search that visits few of them, within a budget and a time limit.

The judge knows the view, the test and the limits, so that the search itself speaks only of sets:
in the flip view replacing T is holding its complement, and a hit is a reference that misses. It
remembers its verdicts, and asks the model about many subsets in one call.
"""

from __future__ import annotations

from time import perf_counter
from typing import Literal

import numpy as np

from suffice.evaluate import Evaluator
from suffice.inference import passing_levels
from suffice.search.limits import Limits
from suffice.search.sequential import curtailed_verdicts, sequential_verdicts
from suffice.typing import BoolVector, Counts, Held

__all__ = ["Judge", "LimitReached", "ViewName"]

ViewName = Literal["keep", "flip"]

_ROWS_PER_CALL = 1 << 17
_FIRST_TIMED_CALL = 1 << 12


class LimitReached(Exception):  # noqa: N818 - it is how a search ends, not an error
    """The budget or the time is used up; the text says which."""


class Judge:
    """Which sets of players are sufficient?"""

    def __init__(
        self,
        evaluator: Evaluator,
        view: ViewName,
        tau: float,
        alpha: float | None,
        limits: Limits,
        seed: int,
        started: float | None,
    ) -> None:
        self._evaluator = evaluator
        self._flip = view == "flip"
        self._tau, self._alpha = tau, alpha
        self._limits, self._seed = limits, seed
        self._started = perf_counter() if started is None else started
        self._last_call = 0.0
        self._rows_per_call = _ROWS_PER_CALL if limits.time_limit is None else _FIRST_TIMED_CALL
        self._known: dict[tuple[bool, bytes], bool] = {}
        counts = np.arange(self.n + 1)
        passing = passing_levels(counts, self.n, alpha, "none", 1) >= tau
        self.need = int(np.argmax(passing)) if passing.any() else self.n + 1
        """The smallest number of hits that passes the test on all references."""

    @property
    def n(self) -> int:
        """How many references there are."""
        return self._evaluator.n

    @property
    def subsets_left(self) -> float:
        """How many subsets the budget can still pay for, were each asked in full."""
        if self._limits.budget is None:
            return np.inf
        return (self._limits.budget - self._evaluator.rows_predicted) / self.n

    def passes(self, sets: Held, quick: bool = False) -> BoolVector:
        """Is each set sufficient by the full test or, if `quick`, by the sequential one?

        Without α there is nothing to be quick about: both are the full answer.
        """
        quick = quick and self._alpha is not None
        keys = [(quick, row.tobytes()) for row in np.packbits(sets, axis=1)]
        new = {key: i for i, key in enumerate(keys) if key not in self._known}
        asked = sets[list(new.values())]
        if quick and self._alpha is not None:
            found = sequential_verdicts(
                self.hits_of, asked, self.n, self._tau, self._alpha, self._seed
            )
        else:
            found = curtailed_verdicts(self.hits_of, asked, self.n, self.need, self._seed)
        self._known.update(zip(new, found.passed.tolist(), strict=True))
        return np.array([self._known[key] for key in keys], dtype=bool)

    def hits(self, members: BoolVector) -> BoolVector:
        """(n,): which references hit, for one set."""
        return self.hits_of(np.tile(members, (self.n, 1)), np.arange(self.n))

    def hits_of(self, sets: Held, references: Counts) -> BoolVector:
        """(rows,): does reference references[i] hit with sets[i]? In calls the limits allow."""
        out = np.empty(len(sets), dtype=bool)
        start = 0
        while start < len(sets):
            part = slice(start, min(start + self._rows_per_call, len(sets)))
            self._check_limits(part.stop - start)
            before = perf_counter()
            held = ~sets[part] if self._flip else sets[part]
            out[part] = self._evaluator.outcomes_of(held, references[part]) != self._flip
            self._note(part.stop - start, perf_counter() - before)
            start = part.stop
        return out

    def _check_limits(self, rows: int) -> None:
        budget, seconds = self._limits.budget, self._limits.time_limit
        if budget is not None and self._evaluator.rows_predicted + rows > budget:
            raise LimitReached(f"budget={int(budget)} model rows")
        if seconds is not None:
            spent = perf_counter() - self._started
            if spent + self._last_call >= seconds:
                raise LimitReached(f"time_limit={seconds:g} s")

    def _note(self, rows: int, seconds: float) -> None:
        """Only a time limit looks at the clock: without one the same calls are made anywhere."""
        if self._limits.time_limit is not None:
            self._last_call = seconds
            allowed = self._limits.time_limit / 20 * rows / max(seconds, 1e-9)
            self._rows_per_call = max(1, int(min(allowed, 4 * self._rows_per_call, _ROWS_PER_CALL)))
