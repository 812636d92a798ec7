"""One input and its references, as the trees see them: the kernels' common ground.

References are taken in blocks of up to 64. Within a block, reference r is lane r ^ 7: the bits of
its words, byte by byte in memory, are then the order that `numpy.packbits` writes. A sweep of the
lattice takes fewer to a block where its accumulators would leave the cache, a list of subsets 64.

In a small lattice the walk over the trees is most of the work, and it is shared by references that
take the same turns; so they are sorted first, coarse columns before fine ones, to bring such
references into the same block. (On German credit this saves a third of the leaves visited.)

Which references part from the input at which test is one word of lanes per test. Comparing every
reference with every threshold would take as long as the walk that follows. Instead the thresholds
of a column are sorted once per model; a value goes left at all of them from its own place on. So a
lane's bit is switched on at that place and off at the column's end, and a running exclusive-or over
all sorted tests leaves in each the word of lanes that go left.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from suffice.context.swap import SwapHybrids
from suffice.evaluate.protocol import Unreadable
from suffice.evaluate.trees.ensemble import Ensemble, Ints, Tests
from suffice.evaluate.trees.margins import Reading
from suffice.typing import BoolVector, Counts, Reals, Words

__all__ = ["LANES", "Lanes", "Problem", "Sides", "make_problem"]

LANES = 64
"""Bits of a word."""

_WIDE_PLAYERS = 11
"""Up to so many players a block has 64 lanes, past it 32: what a walk shares among references is
then worth less than an accumulator that stays in the cache."""

_SORTED_HYBRIDS = 1 << 22
"""Past so many hybrids, putting their outcomes back in order costs more than sorting saves."""


@dataclass(frozen=True, eq=False)
class Lanes:
    """Which references stand in which lanes of which block."""

    order: Counts
    """The references in the order in which they are given lanes."""
    width: int
    """Lanes per block."""

    @property
    def blocks(self) -> int:
        """How many blocks of references there are."""
        return -(-len(self.order) // self.width)

    def references(self, block: int) -> Counts:
        """Those of a block: the one at r stands in lane r ^ 7."""
        return self.order[block * self.width : (block + 1) * self.width]

    def everyone(self, block: int) -> int:
        """The word of all the lanes that hold a reference."""
        return sum(1 << (r ^ 7) for r in range(len(self.references(block))))


@dataclass(frozen=True, eq=False)
class Problem:
    """The ensemble turned towards one input, with the references' values in lanes."""

    ensemble: Ensemble
    reading: Reading
    d: int
    player: Ints
    """By test: the player that its column belongs to."""
    toward: Ints
    """By node: the child on the input's side (and `away` the other)."""
    away: Ints
    lanes: Lanes
    """Of a sweep; those of a list are `list_lanes`."""
    sides: Sides

    @property
    def list_lanes(self) -> Lanes:
        """The references in whole words."""
        return Lanes(self.lanes.order, LANES)

    @cached_property
    def nodes(self) -> tuple[Ints, ...]:
        """By margin and node: (test, toward, away, player), at a leaf (-1, value, 0, 0)."""
        test, leaf = self.ensemble.test, self.ensemble.test < 0
        player = np.append(self.player, 0)[test]
        toward, away = self.toward, np.where(leaf, 0, self.away)
        return tuple(
            np.stack([test, np.where(leaf, m.value, toward), away, player], axis=1).astype(np.int32)
            for m in self.reading.margins
        )


def make_problem(ensemble: Ensemble, reading: Reading, hybrids: SwapHybrids) -> Problem:
    """Turn an ensemble towards a context's input."""
    rows = _matrix(ensemble, hybrids)
    tests, n = ensemble.tests, hybrids.n
    source = np.arange(rows.shape[1]) if ensemble.source is None else ensemble.source
    width = 64 if hybrids.d <= _WIDE_PLAYERS else 32
    while width > 8 and n <= width // 2:
        width //= 2
    order = _alike_together(hybrids) if n << hybrids.d <= _SORTED_HYBRIDS else np.arange(n)
    sides = Sides(tests, rows)
    # The leaves' number, -1, finds one answer more than there are tests.
    goes_left = np.append(sides.input_left, False)[ensemble.test]
    return Problem(
        ensemble,
        reading,
        d=hybrids.d,
        player=hybrids.players.of_column[source[tests.column]].astype(np.int32),
        toward=np.where(goes_left, ensemble.left, ensemble.right),
        away=np.where(goes_left, ensemble.right, ensemble.left),
        lanes=Lanes(order, width),
        sides=sides,
    )


def _matrix(ensemble: Ensemble, hybrids: SwapHybrids) -> Reals:
    """The pool as the trees see it: its input and its references in their numbers."""
    try:
        return ensemble.matrix(hybrids.pool)
    except Unreadable:
        raise
    except Exception as error:  # turning rows into a matrix is the library's own doing
        raise Unreadable(
            "the model's library turns rows into numbers in a way that suffice cannot repeat"
        ) from error


def _alike_together(hybrids: SwapHybrids) -> Counts:
    codes = hybrids.codes[1:]
    finest_first = np.argsort(-codes.max(axis=0), kind="stable")
    return np.lexsort(codes[:, finest_first].T)


class Sides:
    """The references' values, as places among the sorted thresholds."""

    def __init__(self, tests: Tests, rows: Reals) -> None:
        """`rows` has the input first, then the references."""
        self._tests = tests
        self._rows = rows
        by_threshold = tests.by_threshold
        self.input_left: BoolVector = self._answers(rows[:1])[:, 0]
        self._flip = np.where(self.input_left, ~np.uint64(0), np.uint64(0))
        columns, starts = np.unique(tests.column[by_threshold], return_index=True)
        ends = np.append(starts, len(tests.column))[1:]
        limits = tests.threshold[by_threshold]
        self._places: Counts = np.empty((len(columns), len(rows) - 1), dtype=np.int64)
        for i, (column, start, end) in enumerate(zip(columns, starts, ends, strict=True)):
            # NaN sorts past every threshold: it is never switched on.
            self._places[i] = start + np.searchsorted(limits[start:end], rows[1:, column])
        self._ends: Counts = ends
        self._missing = np.isnan(rows[1:]) if np.isnan(rows).any() else None

    def words(self, references: Counts) -> Words:
        """By test: which of up to 64 references, each in its lane, are not on the input's side."""
        tests = self._tests
        places = self._places[:, references]
        bits = np.left_shift(np.uint64(1), (np.arange(len(references)) ^ 7).astype(np.uint64))
        left = np.zeros(len(tests.column) + 1, dtype=np.uint64)
        np.bitwise_xor.at(left, places.ravel(), np.tile(bits, len(places)))
        left[self._ends] ^= np.bitwise_or.reduce(bits)
        left = np.bitwise_xor.accumulate(left)
        out = np.zeros_like(left)
        out[tests.by_threshold] = left[:-1]
        if self._missing is not None:
            absent = self._missing[references]
            nowhere = np.bitwise_or.reduce(np.where(absent, bits[:, None], np.uint64(0)), axis=0)
            out[:-1] |= np.where(tests.missing_left, nowhere[tests.column], np.uint64(0))
        for number in tests.categories:
            values = self._rows[1 + references, tests.column[number]]
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
