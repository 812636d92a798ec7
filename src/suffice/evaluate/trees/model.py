"""The trees of one model, with all that lasts from input to input.

What an event asks of the sums is read once: that takes as long as all the rest. The reading is
checked once, and now and then again. So is the repeating of the library's own additions. If the
model ever denies the reading, it is given up for all inputs that follow.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.evaluate.trees.ensemble import Ensemble, Ints
from suffice.evaluate.trees.margins import Reading, read_event
from suffice.randomness import Stream, generator
from suffice.tables.table import Table
from suffice.target import Event
from suffice.typing import Counts, Reals

__all__ = ["Checks", "TreeModel", "leaves_of"]

_CHECKED = 32
"""Decided hybrids that the model is asked about all the same, the first time."""

_CHECKED_AGAIN = 8
"""After that, so many now and then."""

_UNCHECKED = 1 << 26
"""No more hybrids are worked out from one check to the next, or one step of the work."""

_ALIKE = 8
"""Inputs whose class shares must have been the library's own to the bit before it is not asked."""


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
        self._alike = 0

    def reading(self, event: Event) -> Reading:
        """The event's margins; `Unreadable` where the sums do not tell it."""
        if event.kind == "within":  # another event for every input
            return read_event(self.ensemble, event)
        key = event.kind, event.parameters
        if key not in self._readings:
            self._readings[key] = read_event(self.ensemble, event)
        return self._readings[key]

    def shares(self, rows: Table) -> Reals | None:
        """(rows, classes): a forest's own class shares, soon without a call of it.

        At first they are asked for and compared, bit by bit, with what is added up here. None: not
        a forest, or not one whose additions are repeated (see `replay`); or the rows are strange.
        """
        replay = self.ensemble.replay
        if replay is None or self.replays is False or self.denied or not self.ensemble.shares:
            return None
        try:
            seen = self.ensemble.matrix(rows)
            sums = np.zeros((len(rows), len(self.ensemble.base)))
            for leaves in leaves_of(self.ensemble, seen):
                sums += self.ensemble.values[leaves]
            ours = sums / self.ensemble.divisor
            if self.replays or self._alike >= _ALIKE:
                return ours
            theirs = np.asarray(replay.scores(rows))
        except Exception:  # the library's own: the model will say what is wrong with the rows
            return None
        self._alike += len(rows)
        if not np.array_equal(theirs, ours):
            self.replays = False
        return theirs


def leaves_of(ensemble: Ensemble, rows: Reals) -> Ints:
    """(trees, rows): the leaf that each row, as the trees see it, comes to in each tree."""
    tests = ensemble.tests
    row = np.tile(np.arange(len(rows)), len(ensemble.roots))
    node = np.repeat(ensemble.roots, len(rows))
    inner = np.arange(len(node))
    while (inner := inner[ensemble.test[node[inner]] >= 0]).size:
        test = ensemble.test[node[inner]]
        values = rows[row[inner], tests.column[test]]
        left = values <= tests.threshold[test]
        left = np.where(np.isnan(values), tests.missing_left[test], left)
        for number in tests.categories:
            asked = test == number
            left[asked] = tests.answer(number, values[asked])
        node[inner] = np.where(left, ensemble.left[node[inner]], ensemble.right[node[inner]])
    return np.asarray(node.reshape(len(ensemble.roots), len(rows)))


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
