"""Branch and bound over boxes of cells (numba): whether a sum of leaf values reaches a bound there.

Each tree contributes the value of the one leaf whose box holds the point. The bound of a box is the
sum over trees of the largest value among the leaves that meet it; trees of few leaves that depend
on one column only inside the box are first added up to one step function per column, whose maximum
is exact. All sums are of integers (`engines.trees.encoded_input`), so nothing is rounded.

Before a box is halved, the bounds of both halves are computed for every column and every cut, in
one scan: the leaves of a tree are sorted by value, so a scan ends at the first leaf that covers the
rest. Halves that cannot reach the bound are cut off without branching. The box is then halved at
the cut where the bounds of both halves fall most (by the product), the better half first.

The functions below are compiled where numba is installed; without it Python runs them as they are,
about a hundred times as slowly. Effort is counted in boxes, so the verdicts are the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from suffice.engines.work import load_numba
from suffice.typing import Counts

F = TypeVar("F", bound=Callable[..., Any])


def _compiler() -> Callable[[F], F]:
    """Return numba's compiler, or a function that leaves functions as they are."""
    if load_numba():
        from suffice.engines.trees.numba_kernels import cached_njit

        return cached_njit
    return lambda function: function


_compiled = _compiler()

NO_POINT, POINT, UNFINISHED = 0, 1, 2
"""No point of the box reaches the bound; `point` does; the boxes allowed were used up."""

_LEVELS = 1000
"""Boxes that can wait at a time. One more column is halved at each level."""


@dataclass(frozen=True, eq=False)
class LeafBoxes:
    """The leaves of all trees as boxes of cells, those of a tree together, largest value first."""

    low: NDArray[np.int32]
    """(leaves, columns): the first cell of each column."""
    high: NDArray[np.int32]
    """(leaves, columns): the last cell."""
    value: NDArray[np.int64]
    first: NDArray[np.int32]
    """(trees + 1,): where the leaves of each tree begin."""
    base: int
    """Sum of the trees that have one value everywhere; they are left out."""
    most_steps: int = 12
    """Most leaves of a tree that is tested for depending on one column only: larger trees hardly
    ever do."""

    def sums(self, points: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return the sum at each point, (points, columns) of cells, leaf by leaf."""
        inside = [((self.low <= p) & (p <= self.high)).all(axis=1) for p in points]
        return np.array([self.base + self.value[here].sum() for here in inside])


@_compiled
def _restrict(
    source: Any,
    source_first: Any,
    trees: Any,
    kept: Any,
    kept_first: Any,
    low: Any,
    high: Any,
    value: Any,
    box_low: Any,
    box_high: Any,
    columns: Any,
    n_columns: Any,
    base: Any,
) -> Any:
    """Keep the leaves that meet a box, which was changed in the given columns.

    Trees with one value in the whole box go into the base. Returns the number of trees that are
    left, the base and the bound of the box. `kept` may be `source` itself.
    """
    left = 0
    place = 0
    bound = 0
    end = 0
    kept_first[0] = 0
    for tree in range(trees):
        start = place
        begin = end
        end = source_first[tree + 1]  # read before kept_first, perhaps the same array, is written
        for k in range(begin, end):
            leaf = source[k]
            meets = True
            for a in range(n_columns):
                j = columns[a]
                if low[leaf, j] > box_high[j] or high[leaf, j] < box_low[j]:
                    meets = False
                    break
            if meets:
                kept[place] = leaf
                place += 1
        if value[kept[start]] == value[kept[place - 1]]:
            base += value[kept[start]]
            place = start
        else:
            bound += value[kept[start]]
            left += 1
            kept_first[left] = place
    return left, base, base + bound


@_compiled
def _add_step_functions(
    leaves: Any,
    first: Any,
    trees: Any,
    low: Any,
    high: Any,
    value: Any,
    box_low: Any,
    box_high: Any,
    only: Any,
    steps: Any,
    top: Any,
    has_steps: Any,
    most_steps: Any,
) -> Any:
    """Add up the small trees that depend on one column only to one step function per column.

    `only[tree]` is that column, or -1. Returns the bound without the base, and the number of trees
    that are not added up.
    """
    d = low.shape[1]
    for j in range(d):
        has_steps[j] = False
    others = 0
    bound = 0
    for tree in range(trees):
        column = -1 if first[tree + 1] - first[tree] <= most_steps else -2
        for k in range(first[tree], first[tree + 1]):
            if column == -2:
                break
            leaf = leaves[k]
            for j in range(d):
                if (
                    j != column
                    and box_low[j] < box_high[j]
                    and (low[leaf, j] > box_low[j] or high[leaf, j] < box_high[j])
                ):
                    if column >= 0:
                        column = -2
                        break
                    column = j
        if column < 0:
            only[tree] = -1
            others += 1
            bound += value[leaves[first[tree]]]
            continue
        only[tree] = column
        if not has_steps[column]:
            has_steps[column] = True
            for c in range(box_low[column], box_high[column] + 2):
                steps[column, c] = 0
        for k in range(first[tree], first[tree + 1]):
            leaf = leaves[k]
            steps[column, max(low[leaf, column], box_low[column])] += value[leaf]
            steps[column, min(high[leaf, column], box_high[column]) + 1] -= value[leaf]
    for j in range(d):
        if has_steps[j]:
            most = steps[j, box_low[j]]
            for c in range(box_low[j] + 1, box_high[j] + 1):
                steps[j, c] += steps[j, c - 1]
                most = max(most, steps[j, c])
            top[j] = most
            bound += most
    return bound, others


@_compiled
def _look_ahead(
    leaves: Any,
    first: Any,
    trees: Any,
    low: Any,
    high: Any,
    value: Any,
    begin: Any,
    end: Any,
    j: Any,
    below: Any,
    above: Any,
    only: Any,
    steps: Any,
    top: Any,
    has_steps: Any,
) -> None:
    """Compute by how much the bound falls on cells < c and on cells >= c of column j, for each c.

    `below[c]` and `above[c]` are zero or negative, for c from `begin` + 1 to `end`.
    """
    for c in range(begin, end + 2):
        below[c] = 0
        above[c] = 0
    for tree in range(trees):
        if only[tree] >= 0:
            continue
        stop = first[tree + 1]
        best = leaves[first[tree]]
        if low[best, j] > begin:
            # Below the best leaf's first cell the next best one counts, until it ends in turn.
            reached = low[best, j] + 1
            for k in range(first[tree] + 1, stop):
                leaf = leaves[k]
                cell = max(low[leaf, j], begin)
                if cell + 1 < reached:
                    below[cell + 1] += value[leaf] - value[best]
                    below[reached] -= value[leaf] - value[best]
                    reached = cell + 1
                    if cell == begin:
                        break
        if high[best, j] < end:
            reached = high[best, j]
            for k in range(first[tree] + 1, stop):
                leaf = leaves[k]
                cell = min(high[leaf, j], end)
                if cell > reached:
                    above[reached + 1] += value[leaf] - value[best]
                    if cell < end:
                        above[cell + 1] -= value[leaf] - value[best]
                    reached = cell
                    if cell == end:
                        break
    for c in range(begin + 2, end + 1):
        below[c] += below[c - 1]
        above[c] += above[c - 1]
    if has_steps[j]:
        most = steps[j, begin]
        for c in range(begin + 1, end + 1):
            below[c] += most - top[j]
            most = max(most, steps[j, c])
        most = steps[j, end]
        for c in range(end, begin, -1):
            most = max(most, steps[j, c])
            above[c] += most - top[j]


@_compiled
def _count_leaves(
    leaves: Any,
    size: Any,
    low: Any,
    high: Any,
    begin: Any,
    end: Any,
    j: Any,
    below: Any,
    above: Any,
) -> None:
    """Count the leaves that cells < c, and cells >= c, of column j do not meet."""
    for c in range(begin, end + 2):
        below[c] = 0
        above[c] = 0
    for k in range(size):
        leaf = leaves[k]
        if low[leaf, j] > begin:
            below[low[leaf, j]] += 1
        if high[leaf, j] < end:
            above[high[leaf, j] + 1] += 1
    for c in range(end - 1, begin, -1):
        below[c] += below[c + 1]
    for c in range(begin + 2, end + 1):
        above[c] += above[c - 1]


@_compiled
def _search(
    low: Any,
    high: Any,
    value: Any,
    arena: Any,
    begin: Any,
    first: Any,
    trees: Any,
    bases: Any,
    bounds: Any,
    lows: Any,
    highs: Any,
    waiting: Any,
    state: Any,
    start: Any,
    need: Any,
    sure: Any,
    most_boxes: Any,
    below: Any,
    above: Any,
    columns: Any,
    point: Any,
    only: Any,
    steps: Any,
    top: Any,
    has_steps: Any,
    most_steps: Any,
) -> Any:
    """Search for a point whose sum is at least `need`; it can be called again to go on.

    `state` holds the level, whether its box is still to be taken from the waiting halves, and the
    number of boxes so far. A point is returned where all trees have one value in its box, so that
    all points of the box have its sum, or where its sum is at least `sure`.
    """
    d = low.shape[1]
    level = state[0]
    boxes = 0
    fresh = state[1] == 0
    state[1] = 1
    while level >= 0:
        if not fresh:  # take the waiting half of the highest level that has one
            while level >= 0 and waiting[level, 0] < 0:
                level -= 1
            if level < 0:
                break
            j = waiting[level, 0]
            for f in range(d):
                lows[level + 1, f] = lows[level, f]
                highs[level + 1, f] = highs[level, f]
            if waiting[level, 2] == 0:
                highs[level + 1, j] = waiting[level, 1] - 1
            else:
                lows[level + 1, j] = waiting[level, 1]
            waiting[level, 0] = -1
            columns[0] = j
            begin[level + 1] = begin[level] + first[level, trees[level]]
            left, base, bound = _restrict(
                arena[begin[level] :],
                first[level],
                trees[level],
                arena[begin[level + 1] :],
                first[level + 1],
                low,
                high,
                value,
                lows[level + 1],
                highs[level + 1],
                columns,
                1,
                bases[level],
            )
            level += 1
            trees[level] = left
            bases[level] = base
            bounds[level] = bound
            waiting[level, 0] = -1
            if bound < need:
                level -= 1
                continue
        fresh = False
        boxes += 1
        if boxes > most_boxes:
            state[0] = level
            state[1] = 0  # this box comes first when the search goes on
            state[2] += boxes - 1
            return UNFINISHED
        cut_off = False
        leaves = arena[begin[level] :]
        best = -1.0
        best_column = -1
        best_cut = 0
        best_side = 0
        bound = bases[level]
        while True:
            left = trees[level]
            bound, others = _add_step_functions(
                leaves,
                first[level],
                left,
                low,
                high,
                value,
                lows[level],
                highs[level],
                only,
                steps,
                top,
                has_steps,
                most_steps,
            )
            bound += bases[level]
            bounds[level] = bound
            if bound < need:
                cut_off = True
                break
            if left == 0:
                break
            if others == 0 and bound >= sure:
                # The columns are independent here: leave the cell of `start` only where the sum
                # would otherwise fall below `sure`.
                total = bound
                for j in range(d):
                    point[j] = min(max(start[j], lows[level, j]), highs[level, j])
                    if has_steps[j]:
                        loss = top[j] - steps[j, point[j]]
                        if total - loss >= sure:
                            total -= loss
                        else:
                            for c in range(lows[level, j], highs[level, j] + 1):
                                if steps[j, c] == top[j]:
                                    point[j] = c
                                    break
                bases[level] = total
                state[0] = level - 1
                state[2] += boxes
                return POINT
            best = -1.0
            n_columns = 0
            for j in range(d):
                a = lows[level, j]
                b = highs[level, j]
                if a == b:
                    continue
                _look_ahead(
                    leaves,
                    first[level],
                    left,
                    low,
                    high,
                    value,
                    a,
                    b,
                    j,
                    below,
                    above,
                    only,
                    steps,
                    top,
                    has_steps,
                )
                new_a = a
                new_b = b
                for c in range(a + 1, b + 1):
                    if bound + below[c] >= need:
                        break
                    new_a = c
                for c in range(b, a, -1):
                    if bound + above[c] >= need:
                        break
                    new_b = c - 1
                if new_a > new_b:
                    cut_off = True
                    break
                if new_a > a or new_b < b:
                    lows[level, j] = new_a
                    highs[level, j] = new_b
                    columns[n_columns] = j
                    n_columns += 1
                elif n_columns == 0:
                    for c in range(a + 1, b + 1):
                        gain = float(below[c]) * float(above[c])
                        if gain > best:
                            best = gain
                            best_column = j
                            best_cut = c
                            best_side = 0 if below[c] >= above[c] else 1
            if cut_off or n_columns == 0:
                break
            left, base, bound = _restrict(
                leaves,
                first[level],
                left,
                leaves,
                first[level],
                low,
                high,
                value,
                lows[level],
                highs[level],
                columns,
                n_columns,
                bases[level],
            )
            trees[level] = left
            bases[level] = base
        if cut_off:
            level -= 1
            continue
        if trees[level] == 0:
            for j in range(d):
                point[j] = min(max(start[j], lows[level, j]), highs[level, j])
            state[0] = level - 1
            state[2] += boxes
            return POINT
        size = first[level, trees[level]]
        if level + 2 >= lows.shape[0] or begin[level] + 3 * size > arena.shape[0]:
            state[0] = -2  # out of memory for boxes: the search cannot continue
            state[2] += boxes
            return UNFINISHED
        slack = 0.01 * float(bound - need + 1)
        if best <= slack * slack:
            # No cut lowers the bounds of both halves: cut so that both lose many leaves instead.
            most = -1.0
            for j in range(d):
                a = lows[level, j]
                b = highs[level, j]
                if a == b:
                    continue
                _count_leaves(leaves, size, low, high, a, b, j, below, above)
                for c in range(a + 1, b + 1):
                    gain = float(below[c]) * float(above[c])
                    if gain > most:
                        most = gain
                        best_column = j
                        best_cut = c
                        best_side = 0 if below[c] <= above[c] else 1
        for f in range(d):
            lows[level + 1, f] = lows[level, f]
            highs[level + 1, f] = highs[level, f]
        waiting[level, 0] = best_column
        waiting[level, 1] = best_cut
        waiting[level, 2] = 1 - best_side
        if best_side == 0:
            highs[level + 1, best_column] = best_cut - 1
        else:
            lows[level + 1, best_column] = best_cut
        columns[0] = best_column
        begin[level + 1] = begin[level] + size
        left, base, bound = _restrict(
            leaves,
            first[level],
            trees[level],
            arena[begin[level + 1] :],
            first[level + 1],
            low,
            high,
            value,
            lows[level + 1],
            highs[level + 1],
            columns,
            1,
            bases[level],
        )
        level += 1
        trees[level] = left
        bases[level] = base
        bounds[level] = bound
        waiting[level, 0] = -1
        fresh = True
    state[0] = -1
    state[2] += boxes
    return NO_POINT


class BoxSearch:
    """Search for points whose sum of leaf values reaches a bound, within a box.

    >>> step = LeafBoxes(
    ...     low=np.array([[2], [0]], dtype=np.int32),
    ...     high=np.array([[4], [1]], dtype=np.int32),
    ...     value=np.array([5, 0]),
    ...     first=np.array([0, 2], dtype=np.int32),
    ...     base=1,
    ... )
    >>> search = BoxSearch(step, n_cells=5)
    >>> search.begin(np.array([0]), np.array([4]), start=np.array([0]), need=6, sure=6)
    >>> search.go_on(100) == POINT, search.point.tolist(), search.go_on(100) == NO_POINT
    (True, [2], True)
    """

    def __init__(self, leaves: LeafBoxes, n_cells: int) -> None:
        """Prepare to search boxes of these leaves; `n_cells` is the most cells of any column."""
        n, d = leaves.low.shape
        trees = len(leaves.first) - 1
        self._leaves = leaves
        self._arena = np.empty(max(1 << 20, 40 * n), dtype=np.int32)
        self._begin = np.zeros(_LEVELS, dtype=np.int64)
        self._first = np.empty((_LEVELS, trees + 1), dtype=np.int32)
        self._trees = np.zeros(_LEVELS, dtype=np.int64)
        self._bases = np.zeros(_LEVELS, dtype=np.int64)
        self._bounds = np.zeros(_LEVELS, dtype=np.int64)
        self._lows = np.zeros((_LEVELS, d), dtype=np.int32)
        self._highs = np.zeros((_LEVELS, d), dtype=np.int32)
        self._waiting = np.full((_LEVELS, 3), -1, dtype=np.int64)
        self._below = np.zeros(n_cells + 2, dtype=np.int64)
        self._above = np.zeros(n_cells + 2, dtype=np.int64)
        self._columns = np.zeros(d, dtype=np.int64)
        self._only = np.zeros(max(trees, 1), dtype=np.int64)
        self._steps = np.zeros((d, n_cells + 2), dtype=np.int64)
        self._top = np.zeros(d, dtype=np.int64)
        self._has_steps = np.zeros(d, dtype=np.bool_)
        self._state = np.zeros(3, dtype=np.int64)
        self._start = np.zeros(d, dtype=np.int64)
        self._need = self._sure = 0
        self.point = np.zeros(d, dtype=np.int32)
        """The cells of the point that was found."""

    @property
    def boxes(self) -> int:
        """The number of boxes that the current search has looked at."""
        return int(self._state[2])

    @property
    def point_sum(self) -> int:
        """The sum of the point that was found last."""
        return int(self._bases[int(self._state[0]) + 1])

    @property
    def box(self) -> tuple[Counts, Counts]:
        """The first and last cells of the box in which the last point was found."""
        level = int(self._state[0]) + 1
        return self._lows[level].astype(np.int64), self._highs[level].astype(np.int64)

    @property
    def is_stuck(self) -> bool:
        """True if the search ran out of memory for boxes and cannot continue."""
        return bool(self._state[0] == -2)

    @property
    def bound(self) -> int:
        """The largest sum that the boxes not yet looked at could hold."""
        waits = self._waiting[:, 0] >= 0
        level = int(self._state[0])
        if level < 0:
            return int(self._bounds[0])
        waits[level] = True
        return int(self._bounds[: level + 1][waits[: level + 1]].max())

    def begin(self, low: Counts, high: Counts, start: Counts, need: int, sure: int) -> None:
        """Begin a search of a box for a point whose sum is at least `need`.

        Points stay at the cells of `start` where they can. A point whose sum is at least `sure` is
        returned even if other points of its box have other sums.
        """
        leaves = self._leaves
        self._lows[0], self._highs[0], self._start[:] = low, high, start
        self._need, self._sure = need, sure
        trees = len(leaves.first) - 1
        every = np.arange(len(leaves.value), dtype=np.int32)
        self._trees[0], self._bases[0], self._bounds[0] = _restrict(
            every,
            leaves.first,
            trees,
            self._arena,
            self._first[0],
            leaves.low,
            leaves.high,
            leaves.value,
            self._lows[0],
            self._highs[0],
            np.arange(len(low)),
            len(low),
            leaves.base,
        )
        self._waiting[:, 0] = -1
        self._state[:] = 0

    def go_on(self, most_boxes: int) -> int:
        """Search on for at most so many boxes: `NO_POINT`, `POINT` or `UNFINISHED`."""
        if self._state[0] < 0:
            return NO_POINT if self._state[0] == -1 else UNFINISHED
        leaves = self._leaves
        return int(
            _search(
                leaves.low,
                leaves.high,
                leaves.value,
                self._arena,
                self._begin,
                self._first,
                self._trees,
                self._bases,
                self._bounds,
                self._lows,
                self._highs,
                self._waiting,
                self._state,
                self._start,
                self._need,
                self._sure,
                most_boxes,
                self._below,
                self._above,
                self._columns,
                self.point,
                self._only,
                self._steps,
                self._top,
                self._has_steps,
                leaves.most_steps,
            )
        )
