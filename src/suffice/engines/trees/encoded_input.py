"""Input, references, trees and outcome as arrays for kernels: 64 references a word, and margins.

References are taken in blocks of up to 64. Within a block, reference r is lane r ^ 7: the bits of
its words, byte by byte in memory, are then the order that `numpy.packbits` writes. A sweep of the
lattice takes fewer to a block where its accumulators would leave the cache, a list of subsets 64.

In a small lattice the walk over the trees is most of the work, and references that take the same
branches share it. So references are sorted first, by coarse columns before fine ones, to bring
similar ones into one block. (On German credit this saves a third of the leaves visited.)

Each test has a word of lanes: the references on another side than the input. Comparing every
reference with every threshold would take as long as the walk that follows. Instead the thresholds
of a column are sorted once per model; a value goes left at all of them from its own place on. So a
lane's bit is switched on at that place and off at the column's end, and a running exclusive-or over
all sorted tests leaves in each the word of lanes that go left.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import ceil, floor, fsum, inf

import numpy as np

from suffice.context.hybrids import SwapHybrids
from suffice.context.references import Pool
from suffice.engines.select_engine import Unreadable, unreadable_on_error
from suffice.engines.trees.ensemble import Ensemble, Ints, SplitTable
from suffice.engines.work import LIST_LEAF
from suffice.tables.cells import label_array
from suffice.target import Event
from suffice.typing import BitWords, BoolVector, Counts, HeldSets, Reals

LANES = 64
"""Bits of a word."""

_WIDE_PLAYERS = 11
"""Most players for which a block has 64 lanes; for more it has 32, since an accumulator that stays
in the cache is then worth more than a walk shared by more references."""

_SORTED_HYBRIDS = 1 << 22
"""Most hybrids for which references are sorted: beyond, restoring their order costs more than
sorting saves."""

_BYTES_KEPT = 1 << 24
"""Most bytes of words by test that are kept for the next input."""


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
        here = min(self.width, len(self.order) - block * self.width)
        if here % 8 == 0:
            return (1 << here) - 1
        return sum(1 << (r ^ 7) for r in range(here))


@dataclass(frozen=True, eq=False)
class EncodedInput:
    """The ensemble with children on the input's side and its other side, and references in
    lanes."""

    ensemble: Ensemble
    margins: EventMargins
    d: int
    player: Ints
    """By test: the player that its column belongs to."""
    lanes: ReferenceLanes
    """Lanes for a sweep of all sets; `list_lanes` has those for a list of sets."""
    sides: InputSides
    both_ways: NodeTables

    @property
    def list_lanes(self) -> ReferenceLanes:
        """Lanes for a list of sets: the references in whole words."""
        return ReferenceLanes(self.lanes.order, LANES)

    @cached_property
    def work_per_hybrid(self) -> float:
        """The work of one hybrid of a long list of subsets, as `engines.work` counts it."""
        leaves = len(self.margins.margins) * self.ensemble.leaves
        return LIST_LEAF * leaves / (LANES * len(self.list_lanes.references(0)))

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
        # A leaf's test number, -1, reads the last entry, which is appended here.
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
    """Encode an ensemble for a context's input and references."""
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
    while width > 8 and n <= width // 2:  # few references need no wide words
        width //= 2
    order = (
        _order_similar_references(hybrids) if n << hybrids.d <= _SORTED_HYBRIDS else np.arange(n)
    )
    return ReferenceLanes(order, width)


def _pool_matrix(ensemble: Ensemble, hybrids: SwapHybrids) -> Reals:
    """Return the matrix of the pool that the trees read: the input, then the references."""
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
        # Only categorical splits read the values again.
        self._rows = rows if tests.categories else None
        by_threshold = tests.by_threshold
        columns, starts = np.unique(tests.column[by_threshold], return_index=True)
        ends = np.append(starts, len(tests.column))[1:]
        limits = tests.threshold[by_threshold]
        self._places: Ints = np.empty((len(columns), len(rows)), dtype=np.int32)
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

    def left_by_block(self, lanes: ReferenceLanes) -> BitWords | None:
        """Return (tests + 1, blocks): the words of `left` of all blocks; None if they are many."""
        if 8 * len(self.tests.column) * lanes.blocks > _BYTES_KEPT:
            return None
        key = b"%d lanes " % lanes.width + lanes.order.tobytes()
        if key not in self._left:
            words = [self._worked_out(lanes.references(block)) for block in range(lanes.blocks)]
            self._left[key] = np.stack(words, axis=1)
        return self._left[key]

    def _worked_out(self, references: Counts) -> BitWords:
        tests = self.tests
        places = self._places[:, references].astype(np.int64)
        bits = lane_bits(len(references))
        left = np.zeros(len(tests.column) + 1, dtype=np.uint64)
        np.bitwise_xor.at(left, places.ravel(), np.tile(bits, len(places)))
        # A lane is switched on at its place and off at the column's end: the running exclusive-or
        # makes of these two marks the run of splits at which it goes left.
        left[self._ends] ^= np.bitwise_or.reduce(bits)
        left = np.bitwise_xor.accumulate(left)
        out = np.zeros_like(left)
        out[tests.by_threshold] = left[:-1]
        # Missing values do not follow from thresholds: each split has a side for them.
        if self._missing is not None:
            absent = self._missing[references]
            nowhere = np.bitwise_or.reduce(np.where(absent, bits[:, None], np.uint64(0)), axis=0)
            out[:-1] |= np.where(tests.missing_left, nowhere[tests.column], np.uint64(0))
        for number in tests.categories:
            assert self._rows is not None
            values = self._rows[references, tests.column[number]]
            out[number] = np.bitwise_or.reduce(bits[tests.answer(number, values)], initial=0)
        return out


class InputSides:
    """Comparison of references with the input: the lanes on the other side of each test."""

    def __init__(self, places: ThresholdRanks, row: Reals) -> None:
        """Read the input's sides from `row`, the matrix of one row that the trees read."""
        self._places = places
        self.input_left: BoolVector = np.ascontiguousarray(go_left(places.tests, row)[:, 0])
        """By test: does the input go left?"""

    @cached_property
    def _flip(self) -> BitWords:
        # Where the input goes left, those who leave its side are those who do not go left.
        flip = np.where(self.input_left, ~np.uint64(0), np.uint64(0))
        return np.append(flip, np.uint64(0))

    def left_by_block(self, lanes: ReferenceLanes) -> BitWords | None:
        """Return (tests + 1, blocks): the words of references that go left; None if many."""
        return self._places.left_by_block(lanes)

    def left(self, references: Counts) -> BitWords:
        """Return by test the word of references that go left."""
        return self._places.left(references)

    def words(self, references: Counts) -> BitWords:
        """Return by test the word of references that are not on the input's side."""
        everyone = np.bitwise_or.reduce(lane_bits(len(references)))
        return np.asarray(self._places.left(references) ^ (self._flip & everyone))


def go_left(tests: SplitTable, rows: Reals) -> HeldSets:
    """Return (tests, rows): whether the row, as the trees read it, goes left at the test."""
    values = rows[:, tests.column].T
    left = np.where(
        np.isnan(values), tests.missing_left[:, None], values <= tests.threshold[:, None]
    )
    for number in tests.categories:
        left[number] = tests.answer(number, values[number])
    return np.asarray(left)


def lane_bits(references: int) -> BitWords:
    """Return the bit of each reference's lane."""
    return np.left_shift(np.uint64(1), (np.arange(references) ^ 7).astype(np.uint64))


# Margins of an outcome: integer sums over trees, and the intervals of them that decide it.
#
# An event is read as margins: sums over the trees that must lie in given intervals, all of them at
# once. A class c is predicted when its lead over each other class is positive; a threshold bounds
# one sum; a band bounds it on both sides.
#
# Sums over the lattice are made in 32-bit integers, because the signed terms of a subset-sum cancel
# exactly there (even where one overflows: arithmetic modulo 2^32 is a ring, and only the final sum
# has to fit) and nowhere else. Write s = Σ v_t for the true sum of one leaf value per tree, m_t for
# the middle of tree t's range and h_t for half its width. With scale k = (2^30 - 2n) / Σ h_t, the
# integer q = Σ rint(k (v_t - m_t)) fits, and
#
#     |q - k (s - Σ m_t)| <= n/2 + 1.
#
# The library itself rounds: adding n numbers of absolute values at most a_t one after another, in
# any order, and then a base, is off by at most (n + 1) u (Σ a_t + |base|), u being half a unit in
# the last place of its floats. Twice that (leaves and bounds are rounded too) and the rounding of q
# are the slack: beyond it the integer decides as the library does, within it the hybrid is in
# doubt.
#
# Two common cases need no slack. A single tree's leaves are read by the event itself. And leaves
# that are whole multiples of 2^-20 (the shares 0 and 1 of a fully grown forest) sum without any
# rounding, in integers and in the library alike.


_INT32_MAX = 2**31 - 1
_LARGEST_SUM = 2**30
_DYADIC = 2.0**20


@dataclass(frozen=True, eq=False)
class IntegerMargin:
    """Integers by leaf. The margin holds for sums from `yes_from` to `yes_to` and fails for sums
    below `no_below` or above `no_above`; others are in doubt."""

    roots: Ints
    value: Ints
    no_below: int
    yes_from: int
    yes_to: int
    no_above: int


@dataclass(frozen=True)
class EventMargins:
    """Margins of an event: it holds if all of them hold; with `reverse`, if not all of them do."""

    margins: tuple[IntegerMargin, ...]
    reverse: bool = False


def read_event_margins(ensemble: Ensemble, event: Event) -> EventMargins:
    """Return the margins of an event; `Unreadable` if the scores do not decide it."""
    if event.kind == "custom":
        raise Unreadable("an outcome given as a function can only be asked of the model")
    # Also of a reader that forgot to give the classes.
    if ensemble.classes is None and event.kind not in ("within", "at_least", "at_most"):
        raise Unreadable(f"the trees give a number, which does not tell the outcome {event.text!r}")
    if ensemble.leaf_answers:
        return EventMargins((_single_tree(ensemble, event),))
    if event.kind == "versus":
        first, second = event.parameters
        if not ensemble.margin and not ensemble.shares and len(ensemble.base) > 2:
            raise Unreadable("versus compares probabilities, which softmax may round to equal ones")
        return EventMargins((_class_lead(ensemble, first, second),))
    if ensemble.classes is None:
        return EventMargins((_value_range(ensemble, event),))
    accepted = np.asarray(event.holds(label_array(ensemble.classes)), dtype=bool)
    if accepted.sum() not in (1, len(accepted) - 1):
        raise Unreadable(f"the outcome {event.text!r} does not set one class against the rest")
    # One class wins if it leads each of the others. Where all classes but one are accepted, the
    # margins are those of that one, and the event is their negation.
    reverse = accepted.sum() != 1
    winner = int(np.flatnonzero(accepted ^ reverse)[0])
    others = [k for k in range(len(accepted)) if k != winner]
    return EventMargins(tuple(_class_lead(ensemble, winner, other) for other in others), reverse)


def _single_tree(ensemble: Ensemble, event: Event) -> IntegerMargin:
    """Return the margin of a single tree, whose leaves are read by the event itself."""
    answers = ensemble.values if ensemble.classes is not None else ensemble.values[:, 0]
    if ensemble.classes is not None and not event.needs_scores:
        answers = label_array(ensemble.classes)[ensemble.values.argmax(axis=1)]
    holds = np.asarray(event.holds(answers), dtype=bool) & (ensemble.test < 0)
    return IntegerMargin(ensemble.roots, holds.astype(np.int32), 1, 1, _INT32_MAX, _INT32_MAX)


def _class_lead(ensemble: Ensemble, winner: int, other: int) -> IntegerMargin:
    """Return the margin of one class's lead over another; one of the two wins ties."""
    unsure = 0.0, 0.0
    if ensemble.margin:
        sign = 1.0 if winner == 1 else -1.0
        values, base = sign * ensemble.values[:, 0], sign * float(ensemble.base[0])
        unsure = ensemble.unsure if winner == 1 else (-ensemble.unsure[1], -ensemble.unsure[0])
    else:
        values = ensemble.values[:, winner] - ensemble.values[:, other]
        base = float(ensemble.base[winner] - ensemble.base[other])
    # Libraries give equal scores to the first or to the last class: a lead of 0 may be enough.
    ties = (winner < other) == ensemble.tie_to_first
    exact = _dyadic_leaves(ensemble, values, base)
    if exact is not None and unsure == (0.0, 0.0):
        first = 0 if ties else 1
        margin = IntegerMargin(ensemble.roots, exact, first, first, _INT32_MAX, _INT32_MAX)
        return _zero_common_leaves(ensemble, margin)
    largest = float(np.abs(ensemble.base).max())
    start, sure = ((bound - base) * ensemble.divisor for bound in unsure)
    scaled = _scaled_margin(ensemble, values, start, inf, largest, sure - start)
    return _zero_common_leaves(ensemble, scaled)


def _zero_common_leaves(ensemble: Ensemble, margin: IntegerMargin) -> IntegerMargin:
    """Subtract from each tree's leaves their commonest value, and all of these from the bounds.

    A leaf of 0 need not be added: most leaves of a fully grown forest are of few values.
    """
    leaf = np.flatnonzero(ensemble.test < 0)
    tree = np.searchsorted(ensemble.roots, leaf, side="right") - 1
    order = np.lexsort((margin.value[leaf], tree))
    found = margin.value[leaf[order]].astype(np.int64)
    new = (np.diff(tree[order], prepend=-1) != 0) | (np.diff(found, prepend=0) != 0)
    first = np.flatnonzero(new)
    length = np.diff(np.append(first, len(leaf)))
    last_is_commonest = first[np.lexsort((length, tree[order][first]))]
    common = np.zeros(len(ensemble.roots), dtype=np.int64)
    common[tree[order][last_is_commonest]] = found[last_is_commonest]
    value = margin.value.astype(np.int64)
    value[leaf] -= common[tree]
    if np.maximum.reduceat(np.abs(value), ensemble.roots).sum() >= _INT32_MAX:
        return margin  # sums might not fit

    def moved(bound: int) -> int:
        if not -_INT32_MAX <= bound < _INT32_MAX:
            return bound  # no bound
        return _round_to_int32(bound - int(common.sum()), up=True)

    return IntegerMargin(
        margin.roots,
        value.astype(np.int32),
        moved(margin.no_below),
        moved(margin.yes_from),
        moved(margin.yes_to),
        moved(margin.no_above),
    )


def _value_range(ensemble: Ensemble, event: Event) -> IntegerMargin:
    if event.kind == "within":
        centre, delta = event.parameters
        bounds = centre - delta, centre + delta
    else:
        bounds = (
            (event.parameters[0], inf) if event.kind == "at_least" else (-inf, event.parameters[0])
        )
    base = float(ensemble.base[0])
    low, high = ((bound - base) * ensemble.divisor for bound in bounds)
    largest = max(abs(term) for term in (base, *event.parameters))
    return _scaled_margin(ensemble, ensemble.values[:, 0], low, high, largest)


def _dyadic_leaves(ensemble: Ensemble, values: Reals, base: float) -> Ints | None:
    """Return leaves as multiples of 2^-20; None unless all are, with sums that are not rounded."""
    whole = values * _DYADIC
    bound = len(ensemble.roots) * float(np.abs(ensemble.values).max())
    if base or ensemble.link_slack or bound >= 2**10 or (whole != np.rint(whole)).any():
        return None
    if (ensemble.values * _DYADIC != np.rint(ensemble.values * _DYADIC)).any():
        return None
    return whole.astype(np.int32)


def _scaled_margin(
    ensemble: Ensemble,
    values: Reals,
    low: float,
    high: float,
    largest: float,
    unsure: float = 0.0,
) -> IntegerMargin:
    """Return the margin of sums from `low` to `high`; the first `unsure` of these are in doubt."""
    leaf = ensemble.test < 0
    # Leaves of each tree are centred on 0, which makes sums smaller and the scale finer. The bounds
    # move by the centres, and trees whose leaves are all equal drop out.
    lowest, highest = ensemble.leaf_ranges(values)
    middle, half = (highest + lowest) / 2, (highest - lowest) / 2
    active = half > 0
    n = int(active.sum())
    scale = (_LARGEST_SUM - 2 * n) / max(fsum(half), np.finfo(float).tiny * _LARGEST_SUM)
    size = np.diff(np.append(ensemble.roots, len(leaf)))
    value = np.where(leaf, np.rint((values - np.repeat(middle, size)) * scale), 0)
    # A library may add what cancels in a lead (two classes' scores), so bound all outputs.
    biggest = np.maximum.reduceat(np.abs(ensemble.values).max(axis=1), ensemble.roots)
    total = fsum(biggest) + ensemble.divisor * largest
    rounding = ensemble.rounding_bound(total)
    # Each integer leaf is off by up to 1/2, the ends are rounded outwards, and the library's own
    # sum has rounding errors: sums within this distance of an end are in doubt.
    slack = n / 2 + 2 + scale * (rounding + ensemble.divisor * ensemble.link_slack)
    at, to = ((bound - fsum(middle)) * scale for bound in (low, high))
    return IntegerMargin(
        ensemble.roots[active],
        value.astype(np.int32),
        _round_to_int32(at - slack, up=False),
        _round_to_int32(at + scale * unsure + slack, up=True),
        _round_to_int32(to - slack, up=False),
        _round_to_int32(to + slack, up=True),
    )


def _round_to_int32(bound: float, up: bool) -> int:
    if abs(bound) >= _INT32_MAX:
        return _INT32_MAX if bound > 0 else -_INT32_MAX - 1
    return ceil(bound) if up else floor(bound)
