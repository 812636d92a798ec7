"""Times of calls of a model, from which follows how many rows the next call may have.

A call often costs some milliseconds whatever its rows: a forest starts threads, a service is
reached. Rows per second alone would then make each call smaller than the one before, and slower
for each row, down to calls of one row.
"""

from __future__ import annotations

_GROWTH = 4
"""Times: how much larger than the last a call may be that costs more than it should anyway."""


class CallTimes:
    """Seconds that calls with different numbers of rows took.

    >>> times = CallTimes()
    >>> times.record(400, 0.4)  # of one call nobody knows what each row added
    >>> times.rows_within(0.1)
    100.0
    >>> times.record(100, 0.325)  # 300 ms for the call and 0.25 ms for each row
    >>> round(times.rows_within(0.7)), round(times.rows_within(0.1))
    (1600, 400)
    """

    def __init__(self) -> None:
        self._last = (1, 0.0)
        self._by_magnitude: dict[int, tuple[int, float]] = {}

    def record(self, rows: int, seconds: float) -> None:
        """Note that a call with so many rows took so long."""
        self._last = (rows, seconds)
        self._by_magnitude[rows.bit_length()] = self._last

    def rows_within(self, seconds: float) -> float:
        """Return how many rows a call of so many seconds may have.

        Where a call without rows would take as long, return as many as double that: fewer rows
        would save less than half of the call.
        """
        rows, took = self._last
        overhead = self._overhead()
        if overhead <= 0.0:
            return rows * seconds / max(took, 1e-9)
        each = max((took - overhead) / rows, 1e-12)
        if seconds >= 2 * overhead:
            return (seconds - overhead) / each
        return min(overhead / each, float(_GROWTH * rows))

    def _overhead(self) -> float:
        """Return the seconds that the last call would have taken without rows; 0: not known.

        Another call tells, of at most half as many rows or at least twice as many: with sizes that
        are closer, the noise of two times would pass for a difference.
        """
        rows, took = self._last
        others = sorted(self._by_magnitude.values())
        other = next((o for o in others if 2 * o[0] <= rows), None)
        other = other or next((o for o in others if o[0] >= 2 * rows), None)
        if other is None:
            return 0.0
        each = max(0.0, (took - other[1]) / (rows - other[0]))
        return max(0.0, took - each * rows)
