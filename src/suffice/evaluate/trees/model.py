"""The trees of one model, with all that lasts from input to input.

What an event asks of the sums is read once: that takes as long as all the rest. The reading is
checked once, and now and then again. So is the repeating of the library's own additions. If the
model ever denies the reading, it is given up for all inputs that follow.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.evaluate.trees.ensemble import Ensemble
from suffice.evaluate.trees.margins import Reading, read_event
from suffice.randomness import Stream, generator
from suffice.target import Event
from suffice.typing import Counts

__all__ = ["Checks", "TreeModel"]

_CHECKED = 32
"""Decided hybrids that the model is asked about all the same, the first time."""

_CHECKED_AGAIN = 8
"""After that, so many now and then."""

_UNCHECKED = 1 << 26
"""No more hybrids are worked out from one check to the next, or one step of the work."""


class TreeModel:
    """The trees of one model, and what is known of them from the inputs so far."""

    def __init__(self, ensemble: Ensemble) -> None:
        self.ensemble = ensemble
        self.checks = Checks()
        self.denied = False
        """Has the model answered otherwise than the trees, as they were read?"""
        self.replays: bool | None = None if ensemble.replay is not None else False
        """Are the library's additions repeated to the bit? None: that was not checked yet."""
        self.sweep_seconds: dict[tuple[int, int], float] = {}
        """By numbers of players and references: about what counting all sets takes."""
        self._readings: dict[tuple[Any, ...], Reading] = {}

    def reading(self, event: Event) -> Reading:
        """The event's margins; `Unreadable` where the sums do not tell it."""
        if event.kind == "within":  # another event for every input
            return read_event(self.ensemble, event)
        key = event.kind, event.parameters
        if key not in self._readings:
            self._readings[key] = read_event(self.ensemble, event)
        return self._readings[key]


class Checks:
    """When to compare with the model's own answers, which are dear beside what trees tell.

    The first hybrids of all are checked, one by one as they come, until there were enough; and then
    a few more whenever four times as many were worked out as at the last check, or very many. That
    depends on what was asked before and on counts alone, so that the same questions in the same
    order ask the same rows on any machine.
    """

    def __init__(self) -> None:
        self._rng = generator(0, Stream.CHECKS)
        self._checked = 0
        self._worked_out = 0
        self._next = 0

    def count(self, hybrids: int) -> int:
        """Of so many hybrids, now worked out, how many to ask the model about."""
        self._worked_out += hybrids
        missing = _CHECKED - self._checked
        if missing <= 0 and self._worked_out < self._next:
            return 0
        count = missing if missing > 0 else _CHECKED_AGAIN
        self._checked += min(hybrids, count)
        self._next = self._worked_out + min(3 * self._worked_out, _UNCHECKED)
        return count

    def due(self, hybrids: int) -> Counts:
        """Which of them."""
        count = self.count(hybrids)
        if hybrids <= count:
            return np.arange(hybrids)
        return np.unique(self._rng.integers(hybrids, size=count))
