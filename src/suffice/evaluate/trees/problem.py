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

from suffice.context.pool import Pool
from suffice.context.swap import SwapHybrids
from suffice.evaluate.protocol import Unreadable
from suffice.evaluate.trees.ensemble import Ensemble, Ints, Tests
from suffice.evaluate.trees.margins import Reading
from suffice.typing import BoolVector, Counts, Reals, Words

__all__ = ["LANES", "Lanes", "Places", "Problem", "Sides", "make_problem"]

LANES = 64
"""Bits of a word."""

_WIDE_PLAYERS = 11
"""Up to so many players a block has 64 lanes, past it 32: what a walk shares among references is
then worth less than an accumulator that stays in the cache."""

_SORTED_HYBRIDS = 1 << 22
"""Past so many hybrids, putting their outcomes back in order costs more than sorting saves."""

_BYTES_KEPT = 1 << 24
"""Words by test of blocks of references that are kept for the next input."""


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
    lanes: Lanes
    """Of a sweep; those of a list are `list_lanes`."""
    sides: Sides
    both_ways: BothWays

    @property
    def list_lanes(self) -> Lanes:
        """The references in whole words."""
        return Lanes(self.lanes.order, LANES)

    @cached_property
    def toward(self) -> Ints:
        """By node: the child on the input's side (and `away` the other)."""
        return np.where(self._goes_left, self.ensemble.left, self.ensemble.right)

    @cached_property
    def away(self) -> Ints:
        """By node: the child on the other side."""
        return np.where(self._goes_left, self.ensemble.right, self.ensemble.left)

    @cached_property
    def _goes_left(self) -> BoolVector:
        # The leaves' number, -1, finds one answer more than there are tests.
        return np.append(self.sides.input_left, False)[self.ensemble.test]

    @cached_property
    def nodes(self) -> tuple[Ints, ...]:
        """By margin and node: (test, toward, away, player), at a leaf (-1, value, 0, 0)."""
        goes_left = self._goes_left[:, None]
        return tuple(
            # Two numbers to a word, since half as many are chosen in half the time.
            np.where(goes_left, left.view(np.int64), right.view(np.int64)).view(np.int32)
            for left, right in self.both_ways
        )


BothWays = tuple[tuple[Ints, Ints], ...]
"""By margin: the nodes of an input that goes left at every test, and of one that goes right."""


def _both_ways(ensemble: Ensemble, reading: Reading, player: Ints) -> BothWays:
    test, leaf = ensemble.test, ensemble.test < 0
    owner = np.append(player, 0)[test]
    left, right = (np.where(leaf, 0, child) for child in (ensemble.left, ensemble.right))

    def nodes(value: Ints, toward: Ints, away: Ints) -> Ints:
        columns = [test, np.where(leaf, value, toward), away, owner]
        return np.stack(columns, axis=1).astype(np.int32)

    return tuple(
        (nodes(m.value, left, right), nodes(m.value, right, left)) for m in reading.margins
    )


def make_problem(ensemble: Ensemble, reading: Reading, hybrids: SwapHybrids) -> Problem:
    """Turn an ensemble towards a context's input."""
    rows = _matrix(ensemble, hybrids)
    tests, pool = ensemble.tests, hybrids.pool
    source = np.arange(rows.shape[1]) if ensemble.source is None else ensemble.source
    if isinstance(pool, Pool):  # many inputs may have these references
        lanes = pool.references.once(("lanes", hybrids.players.columns), lambda: _lanes(hybrids))
        places = pool.references.once(("places", tests), lambda: Places(tests, rows[1:]))
    else:
        lanes, places = _lanes(hybrids), Places(tests, rows[1:])
    player = hybrids.players.of_column[source[tests.column]].astype(np.int32)

    def both_ways() -> BothWays:
        return _both_ways(ensemble, reading, player)

    return Problem(
        ensemble,
        reading,
        d=hybrids.d,
        player=player,
        lanes=lanes,
        sides=Sides(places, rows[:1]),
        both_ways=(
            pool.references.once(("nodes", reading, hybrids.players.columns), both_ways)
            if isinstance(pool, Pool)
            else both_ways()
        ),
    )


def _lanes(hybrids: SwapHybrids) -> Lanes:
    n = hybrids.n
    width = 64 if hybrids.d <= _WIDE_PLAYERS else 32
    while width > 8 and n <= width // 2:
        width //= 2
    order = _alike_together(hybrids) if n << hybrids.d <= _SORTED_HYBRIDS else np.arange(n)
    return Lanes(order, width)


def _matrix(ensemble: Ensemble, hybrids: SwapHybrids) -> Reals:
    """The pool as the trees see it: its input and its references in their numbers."""
    pool = hybrids.pool
    try:
        return pool.by_row(ensemble.matrix) if isinstance(pool, Pool) else ensemble.matrix(pool)
    except Unreadable:
        raise
    except Exception as error:  # turning rows into a matrix is the library's own doing
        raise Unreadable(
            "the model's library turns rows into numbers in a way that suffice cannot repeat"
        ) from error


def _alike_together(hybrids: SwapHybrids) -> Counts:
    pool = hybrids.pool
    if isinstance(pool, Pool):
        codes = pool.references.player_codes(hybrids.players)
    else:
        codes = hybrids.codes[1:]
    finest_first = np.argsort(-codes.max(axis=0), kind="stable")
    return np.lexsort(codes[:, finest_first].T)


class Places:
    """The references' values, as places among the sorted thresholds: the same for every input."""

    def __init__(self, tests: Tests, rows: Reals) -> None:
        self.tests = tests
        self._rows = rows
        by_threshold = tests.by_threshold
        columns, starts = np.unique(tests.column[by_threshold], return_index=True)
        ends = np.append(starts, len(tests.column))[1:]
        limits = tests.threshold[by_threshold]
        self._places: Counts = np.empty((len(columns), len(rows)), dtype=np.int64)
        for i, (column, start, end) in enumerate(zip(columns, starts, ends, strict=True)):
            # NaN sorts past every threshold: it is never switched on.
            self._places[i] = start + np.searchsorted(limits[start:end], rows[:, column])
        self._ends: Counts = ends
        self._missing = np.isnan(rows) if np.isnan(rows).any() else None
        self._left: dict[bytes, Words] = {}

    def left(self, references: Counts) -> Words:
        """By test: which of up to 64 references, each in its lane, go left. One word more is 0."""
        key = references.tobytes()
        if key not in self._left:
            found = self._worked_out(references)
            if sum(word.nbytes for word in self._left.values()) < _BYTES_KEPT:
                self._left[key] = found
            return found
        return self._left[key]

    def _worked_out(self, references: Counts) -> Words:
        tests = self.tests
        places = self._places[:, references]
        bits = lane_bits(len(references))
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
            values = self._rows[references, tests.column[number]]
            out[number] = np.bitwise_or.reduce(bits[tests.answer(number, values)], initial=0)
        return out


class Sides:
    """Who stands on the input's side of each test."""

    def __init__(self, places: Places, row: Reals) -> None:
        """`row` is the input as the trees see it, in a matrix of one row."""
        self._places = places
        self.input_left: BoolVector = self._answers(row)[:, 0]
        flip = np.where(self.input_left, ~np.uint64(0), np.uint64(0))
        self._flip: Words = np.append(flip, np.uint64(0))

    def words(self, references: Counts) -> Words:
        """By test: which of up to 64 references, each in its lane, are not on the input's side."""
        everyone = np.bitwise_or.reduce(lane_bits(len(references)))
        return np.asarray(self._places.left(references) ^ (self._flip & everyone))

    def _answers(self, rows: Reals) -> BoolVector:
        """(tests, rows): who goes left."""
        tests = self._places.tests
        values = rows[:, tests.column].T
        left = np.where(
            np.isnan(values), tests.missing_left[:, None], values <= tests.threshold[:, None]
        )
        for number in tests.categories:
            left[number] = tests.answer(number, values[number])
        return np.asarray(left)


def lane_bits(references: int) -> Words:
    """The bit of each lane."""
    return np.left_shift(np.uint64(1), (np.arange(references) ^ 7).astype(np.uint64))
