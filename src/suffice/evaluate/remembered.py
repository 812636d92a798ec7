"""What the model said of rows that were asked about before, by their keys."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from suffice.typing import BoolVector, Counts

__all__ = ["Known", "Remembered"]

_MOST = 1 << 22
"""Rows remembered: some forty megabytes. What comes after them is not kept."""

Known = NDArray[np.int8]
"""1: yes, -1: no, 0: not known."""


@dataclass(eq=False)
class Remembered:
    """Answers by key, in a few sorted runs: what is asked often and what is added often is cheap.

    >>> answers = Remembered()
    >>> answers.note(np.array([7, 3]), np.array([True, False]))
    >>> answers.recall(np.array([3, 5, 7])).tolist()
    [-1, 0, 1]
    """

    _runs: list[tuple[Counts, Known]] = field(default_factory=list)
    """Keys in order, with the answers to them; the longest run first."""

    def __len__(self) -> int:
        return sum(len(keys) for keys, _ in self._runs)

    def recall(self, keys: Counts) -> Known:
        """What is known of the rows with these keys."""
        out = np.zeros(len(keys), dtype=np.int8)
        for run, answers in self._runs:
            at = np.minimum(np.searchsorted(run, keys), len(run) - 1)
            out = np.where(run[at] == keys, answers[at], out)
        return out

    def note(self, keys: Counts, answers: BoolVector) -> None:
        """Keep answers to rows that were not known, as long as there is room."""
        if not len(keys) or len(self) + len(keys) > _MOST:
            return
        self._runs.append((keys, np.where(answers, 1, -1).astype(np.int8)))
        # Each run is more than twice as long as the next: so there are few, and few are sorted.
        while len(self._runs) > 1 and len(self._runs[-2][0]) <= 2 * len(self._runs[-1][0]):
            last, before = self._runs.pop(), self._runs.pop()
            self._runs.append(
                (np.concatenate([before[0], last[0]]), np.concatenate([before[1], last[1]]))
            )
        longest, signs = self._runs.pop()
        order = np.argsort(longest, kind="stable")
        self._runs.append((longest[order], signs[order]))
