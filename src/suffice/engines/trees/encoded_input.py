"""Encoding of one input and its references as bits for the tree kernels: 64 references per word.

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

from suffice.context.hybrids import SwapHybrids
from suffice.context.references import Pool
from suffice.engines.evaluator import unreadable_on_error
from suffice.engines.trees.ensemble import Ensemble, Ints, SplitTable
from suffice.engines.trees.margins import EventMargins
from suffice.typing import BitWords, BoolVector, Counts, Reals

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
class ReferenceLanes:
    """Assignment of references to blocks and to lanes within them."""

    order: Counts
    """The references in the order in which they are given lanes."""
    width: int
    """Lanes per block."""

    @property
    def blocks(self) -> int:
        """The number of blocks of references."""
        return -(-len(self.order) // self.width)

    def references(self, block: int) -> Counts:
        """Return the references of a block: the one at position r has lane r ^ 7."""
        return self.order[block * self.width : (block + 1) * self.width]

    def all_lanes(self, block: int) -> int:
        """The word of all the lanes that hold a reference."""
        return sum(1 << (r ^ 7) for r in range(len(self.references(block))))


@dataclass(frozen=True, eq=False)
class EncodedInput:
    """The ensemble turned towards one input, with the references' values in lanes."""

    ensemble: Ensemble
    margins: EventMargins
    d: int
    player: Ints
    """By test: the player that its column belongs to."""
    lanes: ReferenceLanes
    """Of a sweep; those of a list are `list_lanes`."""
    sides: InputSides
    both_ways: NodeTables

    @property
    def list_lanes(self) -> ReferenceLanes:
        """The references in whole words."""
        return ReferenceLanes(self.lanes.order, LANES)

    @cached_property
    def toward(self) -> Ints:
        """Children on the input's side, by node."""
        return np.where(self._goes_left, self.ensemble.left, self.ensemble.right)

    @cached_property
    def away(self) -> Ints:
        """Children on the other side, by node."""
        return np.where(self._goes_left, self.ensemble.right, self.ensemble.left)

    @cached_property
    def _goes_left(self) -> BoolVector:
        # The leaves' number, -1, finds one answer more than there are tests.
        return np.append(self.sides.input_left, False)[self.ensemble.test]

    @cached_property
    def nodes(self) -> tuple[Ints, ...]:
        """Node tables (test, toward, away, player) of an input that goes left everywhere, and of
        one that goes right."""
        goes_left = self._goes_left[:, None]
        return tuple(
            # Two numbers to a word, since half as many are chosen in half the time.
            np.where(goes_left, left.view(np.int64), right.view(np.int64)).view(np.int32)
            for left, right in self.both_ways
        )


NodeTables = tuple[tuple[Ints, Ints], ...]
"""By margin: the nodes of an input that goes left at every test, and of one that goes right."""


def _node_tables(ensemble: Ensemble, reading: EventMargins, player: Ints) -> NodeTables:
    test, leaf = ensemble.test, ensemble.test < 0
    owner = np.append(player, 0)[test]
    left, right = (np.where(leaf, 0, child) for child in (ensemble.left, ensemble.right))

    def nodes(value: Ints, toward: Ints, away: Ints) -> Ints:
        columns = [test, np.where(leaf, value, toward), away, owner]
        return np.stack(columns, axis=1).astype(np.int32)

    return tuple(
        (nodes(m.value, left, right), nodes(m.value, right, left)) for m in reading.margins
    )


def encode_input(ensemble: Ensemble, reading: EventMargins, hybrids: SwapHybrids) -> EncodedInput:
    """Turn an ensemble towards a context's input."""
    rows = _pool_matrix(ensemble, hybrids)
    tests, pool = ensemble.tests, hybrids.pool
    source = np.arange(rows.shape[1]) if ensemble.source is None else ensemble.source
    if isinstance(pool, Pool):  # many inputs may have these references
        lanes = pool.references.cached(
            ("lanes", hybrids.players.columns), lambda: _assign_lanes(hybrids)
        )
        places = pool.references.cached(("places", tests), lambda: ThresholdRanks(tests, rows[1:]))
    else:
        lanes, places = _assign_lanes(hybrids), ThresholdRanks(tests, rows[1:])
    player = hybrids.players.of_column[source[tests.column]].astype(np.int32)

    def both_ways() -> NodeTables:
        return _node_tables(ensemble, reading, player)

    return EncodedInput(
        ensemble,
        reading,
        d=hybrids.d,
        player=player,
        lanes=lanes,
        sides=InputSides(places, rows[:1]),
        both_ways=(
            pool.references.cached(("nodes", reading, hybrids.players.columns), both_ways)
            if isinstance(pool, Pool)
            else both_ways()
        ),
    )


def _assign_lanes(hybrids: SwapHybrids) -> ReferenceLanes:
    n = hybrids.n
    width = 64 if hybrids.d <= _WIDE_PLAYERS else 32
    while width > 8 and n <= width // 2:  # no lanes for references that are not there
        width //= 2
    order = (
        _order_similar_references(hybrids) if n << hybrids.d <= _SORTED_HYBRIDS else np.arange(n)
    )
    return ReferenceLanes(order, width)


def _pool_matrix(ensemble: Ensemble, hybrids: SwapHybrids) -> Reals:
    """The pool as the trees see it: its input and its references in their numbers."""
    pool = hybrids.pool
    with unreadable_on_error(
        "the model's library turns rows into numbers in a way that suffice cannot repeat"
    ):
        if isinstance(pool, Pool):
            return pool.apply_by_row(ensemble.matrix)
        return ensemble.matrix(pool)


def _order_similar_references(hybrids: SwapHybrids) -> Counts:
    pool = hybrids.pool
    if isinstance(pool, Pool):
        codes = pool.references.player_codes(hybrids.players)
    else:
        codes = hybrids.codes[1:]
    # The last key of `lexsort` is the first to sort by: the coarsest column.
    finest_first = np.argsort(-codes.max(axis=0), kind="stable")
    return np.lexsort(codes[:, finest_first].T)


class ThresholdRanks:
    """The references' values, as places among the sorted thresholds: the same for every input."""

    def __init__(self, tests: SplitTable, rows: Reals) -> None:
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
        self._left: dict[bytes, BitWords] = {}

    def left(self, references: Counts) -> BitWords:
        """Return by test the word of references that go left, and one more word of zeros."""
        key = references.tobytes()
        if key not in self._left:
            found = self._worked_out(references)
            if sum(word.nbytes for word in self._left.values()) < _BYTES_KEPT:
                self._left[key] = found
            return found
        return self._left[key]

    def _worked_out(self, references: Counts) -> BitWords:
        tests = self.tests
        places = self._places[:, references]
        bits = lane_bits(len(references))
        left = np.zeros(len(tests.column) + 1, dtype=np.uint64)
        np.bitwise_xor.at(left, places.ravel(), np.tile(bits, len(places)))
        # A lane is switched on at its place and off at the column's end: the running exclusive-or
        # makes of these two marks the run of splits at which it goes left.
        left[self._ends] ^= np.bitwise_or.reduce(bits)
        left = np.bitwise_xor.accumulate(left)
        out = np.zeros_like(left)
        out[tests.by_threshold] = left[:-1]
        # Missing values do not follow from thresholds: each split says where they go.
        if self._missing is not None:
            absent = self._missing[references]
            nowhere = np.bitwise_or.reduce(np.where(absent, bits[:, None], np.uint64(0)), axis=0)
            out[:-1] |= np.where(tests.missing_left, nowhere[tests.column], np.uint64(0))
        for number in tests.categories:
            values = self._rows[references, tests.column[number]]
            out[number] = np.bitwise_or.reduce(bits[tests.answer(number, values)], initial=0)
        return out


class InputSides:
    """Comparison of references with the input: the lanes on the other side of each test."""

    def __init__(self, places: ThresholdRanks, row: Reals) -> None:
        """`row` is the input as the trees see it, in a matrix of one row."""
        self._places = places
        self.input_left: BoolVector = self._answers(row)[:, 0]
        # Where the input goes left, those who leave its side are those who do not go left.
        flip = np.where(self.input_left, ~np.uint64(0), np.uint64(0))
        self._flip: BitWords = np.append(flip, np.uint64(0))

    def words(self, references: Counts) -> BitWords:
        """Return by test the word of references that are not on the input's side."""
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


def lane_bits(references: int) -> BitWords:
    """The bit of each lane."""
    return np.left_shift(np.uint64(1), (np.arange(references) ^ 7).astype(np.uint64))
