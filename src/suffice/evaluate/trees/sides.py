"""Which references part from the input at which test, as one word of lanes per test.

Comparing every reference with every threshold would take as long as the walk that follows. Instead
the thresholds of a column are sorted once per model; a value goes left at all of them from its own
place on. So a lane's bit is switched on at that place and off at the column's end, and a running
exclusive-or over all sorted tests leaves in each the word of lanes that go left.
"""

from __future__ import annotations

import numpy as np

from suffice.evaluate.trees.ensemble import Tests
from suffice.typing import BoolVector, Counts, Reals, Words

__all__ = ["Sides"]


class Sides:
    """The references' values, as places among the sorted thresholds."""

    def __init__(self, tests: Tests, rows: Reals, width: int) -> None:
        """`rows` has the input first, then the references in the order of their lanes."""
        self._tests = tests
        self._width = width
        self._rows = rows
        by_threshold = tests.by_threshold
        self.input_left: BoolVector = self._answers(rows[:1])[:, 0]
        self._flip = np.where(self.input_left, ~np.uint64(0), np.uint64(0))
        columns, starts = np.unique(tests.column[by_threshold], return_index=True)
        ends = np.append(starts, len(tests))[1:]
        limits = tests.threshold[by_threshold]
        self._places: Counts = np.empty((len(columns), len(rows) - 1), dtype=np.int64)
        for i, (column, start, end) in enumerate(zip(columns, starts, ends, strict=True)):
            # NaN sorts past every threshold: it is never switched on.
            self._places[i] = start + np.searchsorted(limits[start:end], rows[1:, column])
        self._ends: Counts = ends
        self._missing = np.isnan(rows[1:]) if np.isnan(rows).any() else None

    def words(self, block: int) -> Words:
        """By test: the lanes of a block that are not on the input's side."""
        tests, first = self._tests, block * self._width
        places = self._places[:, first : first + self._width]
        bits = np.left_shift(np.uint64(1), (np.arange(places.shape[1]) ^ 7).astype(np.uint64))
        left = np.zeros(len(tests) + 1, dtype=np.uint64)
        np.bitwise_xor.at(left, places.ravel(), np.tile(bits, len(places)))
        left[self._ends] ^= np.bitwise_or.reduce(bits)
        left = np.bitwise_xor.accumulate(left)
        out = np.zeros_like(left)
        out[tests.by_threshold] = left[:-1]
        if self._missing is not None:
            absent = self._missing[first : first + self._width]
            nowhere = np.bitwise_or.reduce(np.where(absent, bits[:, None], np.uint64(0)), axis=0)
            out[:-1] |= np.where(tests.missing_left, nowhere[tests.column], np.uint64(0))
        for number in tests.categories:
            values = self._rows[1 + first : 1 + first + self._width, tests.column[number]]
            out[number] = np.bitwise_or.reduce(bits[tests.answer(number, values)], initial=0)
        out[:-1] ^= self._flip & np.bitwise_or.reduce(bits)
        return out

    def _answers(self, rows: Reals) -> BoolVector:
        """(tests, rows): who goes left."""
        tests = self._tests
        values = rows[:, tests.column].T
        left = np.where(
            np.isnan(values), tests.missing_left[:, None], values <= tests.threshold[:, None]
        )
        for number in tests.categories:
            left[number] = tests.answer(number, values[number])
        return np.asarray(left)
