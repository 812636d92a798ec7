"""The lattice of all subsets of d features: numbers, masks, supersets, sums, minimal thresholds.

Subsets of one size are numbered in colexicographic order, which is the numeric order of their bit
masks (Knuth, TAOCP 4A, 7.2.1.3). Two facts make that numbering pay:

- a subset's number is a sum of binomials (the combinatorial number system), so any subset is
  found without a table, for two players or for several hundred;
- the complement reverses it: if S has number i among the subsets of its size, its complement has
  number C(d, |S|) - 1 - i among those of the complementary size. `flip` is `keep` read backwards.

>>> lattice = Lattice(3)
>>> [lattice.members(2, i, i + 1)[0].tolist() for i in range(lattice.width(2))]
[[0, 1], [0, 2], [1, 2]]
>>> lattice.rank([0, 2])
1
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import comb
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from suffice.typing import BitWords, BoolVector, Counts, HeldSets, Reals, SmallCounts

Numbers = TypeVar("Numbers", bound=np.generic)


@dataclass(frozen=True)
class Lattice:
    """All subsets of `d` players."""

    d: int

    @property
    def count(self) -> int:
        """Number of subsets, 2^d."""
        return 1 << self.d

    def width(self, size: int) -> int:
        """Return the number of subsets of one size.

        >>> Lattice(5).width(2)
        10
        """
        return comb(self.d, size)

    def count_up_to(self, size: int) -> int:
        """Return how many subsets have at most this size.

        >>> Lattice(5).count_up_to(2)
        16
        """
        if size >= self.d:
            return self.count
        return sum(comb(self.d, k) for k in range(size + 1))

    def members(self, size: int, start: int = 0, stop: int | None = None) -> Counts:
        """Return the subsets of one size with ranks `start` to `stop`, as rows of players."""
        return self.unrank(size, np.arange(start, self.width(size) if stop is None else stop))

    def unrank(self, size: int, ranks: Counts) -> Counts:
        """Return the subsets of one size with these ranks, as rows of increasing players."""
        if 2 * size > self.d > 62:  # far fewer are left out than taken: number the complements
            return np.nonzero(self.held_at(size, ranks))[1].reshape(-1, size)
        left = np.array(ranks, dtype=np.int64)
        out = np.empty((len(left), size), dtype=np.int64)
        table = _binomials(self.d, size)
        for k in range(size, 0, -1):
            # The largest player c with C(c, k) <= left is the subset's k-th.
            player = np.searchsorted(table[k], left, side="right") - 1
            out[:, k - 1] = player
            left -= table[k][player]
        return out

    def held(self, size: int, start: int = 0, stop: int | None = None) -> HeldSets:
        """Return the subsets with ranks `start` to `stop` as rows of Booleans over the players."""
        return self.held_at(size, np.arange(start, self.width(size) if stop is None else stop))

    def held_at(self, size: int, ranks: Counts) -> HeldSets:
        """Return the subsets of one size with these ranks, as rows of Booleans over the players."""
        if 2 * size > self.d:
            return ~self.held_at(self.d - size, self.width(size) - 1 - ranks)
        out = np.zeros((len(ranks), self.d), dtype=bool)
        np.put_along_axis(out, self.unrank(size, ranks), True, axis=1)
        return out

    def rank(self, members: Sequence[int]) -> int:
        """Return the rank of a subset among those of its size."""
        if 2 * len(members) > self.d:
            others = set(range(self.d)).difference(members)
            return self.width(len(members)) - 1 - self.rank(sorted(others))
        return sum(comb(player, k) for k, player in enumerate(sorted(members), start=1))

    def ranks(self, members: Counts) -> Counts:
        """Return the ranks of subsets of one size, given as rows of increasing players.

        >>> Lattice(4).ranks(np.array([[0, 1], [0, 2]])).tolist()
        [0, 1]
        """
        size = members.shape[1]
        table = _binomials(self.d, size)
        return np.asarray(table[np.arange(size) + 1, members].sum(axis=1), dtype=np.int64)

    def masks(self, size: int, ranks: Counts) -> Counts:
        """Return the subsets of one size with these ranks as bit masks, from a table of all 2^d.

        >>> Lattice(4).masks(2, np.array([0, 1])).tolist()
        [3, 5]
        """
        first = _level_ends(self.d)[size - 1] if size else 0
        return np.asarray(masks_by_size(self.d)[first + ranks])

    def mask(self, members: Sequence[int]) -> int:
        """Return a subset as a bit mask.

        >>> Lattice(4).mask([0, 3])
        9
        """
        out = 0
        for player in members:
            out |= 1 << player
        return out


def drop_one_ranks(members: Counts, d: int) -> Counts:
    """Return, per subset and member, the rank of the subset without that member.

    >>> drop_one_ranks(np.array([[0, 1, 2], [0, 1, 3]]), 4).tolist()
    [[2, 1, 0], [4, 3, 0]]
    """
    size = members.shape[1]
    table = _binomials(d, size)
    places = np.arange(size)
    stay = table[places + 1, members]  # a member before the dropped one keeps its place
    shift = table[places, members]  # one after it moves down a place
    before = np.cumsum(stay, axis=1) - stay
    after = shift[:, ::-1].cumsum(axis=1)[:, ::-1] - shift
    return np.asarray(before + after, dtype=np.int64)


# -- arrays over all 2^d subsets ---------------------------------------------------------
#
# Where all subsets are at hand, they are numbered by bit mask: player j is bit j.


@lru_cache(maxsize=1 << 12)
def members_of(mask: int) -> tuple[int, ...]:
    """Return the players of a subset given as a bit mask.

    >>> members_of(9)
    (0, 3)
    """
    return tuple(j for j in range(mask.bit_length()) if mask >> j & 1)


def held_of_masks(masks: NDArray[np.signedinteger[Any]], d: int) -> HeldSets:
    """Return bit masks as rows of Booleans over the players.

    >>> held_of_masks(np.array([1, 2]), 2).tolist()
    [[True, False], [False, True]]
    """
    return (masks[:, None] >> np.arange(d) & 1).astype(bool)


def held_of_members(sets: Sequence[Iterable[int]], d: int) -> HeldSets:
    """Return (sets, d): sets of players, each a sequence of numbers, as rows of Booleans.

    >>> held_of_members([(0, 2), ()], 3).tolist()
    [[True, False, True], [False, False, False]]
    """
    out = np.zeros((len(sets), d), dtype=bool)
    for row, members in zip(out, sets, strict=True):
        row[list(members)] = True
    return out


def masks_of_held(held: HeldSets) -> Counts:
    """Return rows of Booleans as bit masks; for at most 62 players.

    >>> masks_of_held(np.array([[True, False], [True, True]])).tolist()
    [1, 3]
    """
    return np.asarray(held @ (1 << np.arange(held.shape[1], dtype=np.int64)))


BitOrder = Literal["little", "big"]
"""Which bit of a byte comes first."""

_WORD_BYTES = np.dtype("<u8")
"""Little-endian words of 64 bits: `numpy.packbits` fills their bytes."""


def pack_rows(flags: NDArray[np.bool_], bitorder: BitOrder = "little") -> BitWords:
    """Pack each row of flags into words of 64 bits: (rows, words).

    >>> pack_rows(np.array([[True, False, True], [False, False, False]])).tolist()
    [[5], [0]]
    """
    rows, columns = flags.shape
    out = np.zeros((rows, 8 * -(-columns // 64)), dtype=np.uint8)
    packed = np.packbits(flags, axis=1, bitorder=bitorder)
    out[:, : packed.shape[1]] = packed
    return out.view(_WORD_BYTES).astype(np.uint64)


def unpack_rows(words: BitWords, bitorder: BitOrder = "little") -> NDArray[np.bool_]:
    """Unpack each word into a row of 64 flags: the inverse of `pack_rows` for single words."""
    bits = words.astype(_WORD_BYTES).view(np.uint8).reshape(-1, 8)
    return np.unpackbits(bits, axis=1, bitorder=bitorder).view(np.bool_)


@lru_cache(maxsize=8)
def masks_by_size(d: int) -> Counts:
    """Return all bit masks in the lattice's order: by size, then by value.

    >>> masks_by_size(2).tolist()
    [0, 1, 2, 3]
    """
    order = np.argsort(sizes_by_mask(d), kind="stable")
    order.setflags(write=False)
    return order


def by_level(dense: NDArray[Numbers]) -> tuple[NDArray[Numbers], ...]:
    """Split numbers indexed by bit mask into one array per size, in the lattice's order.

    >>> [level.tolist() for level in by_level(np.array([0, 10, 20, 30]))]
    [[0], [10, 20], [30]]
    """
    d = _players(dense)
    return tuple(np.split(dense[masks_by_size(d)], _level_ends(d)))


def by_mask(levels: Sequence[NDArray[Numbers]]) -> NDArray[Numbers]:
    """Join numbers of all sizes into one array indexed by bit mask."""
    joined = np.concatenate(levels)
    out = np.empty_like(joined)
    out[masks_by_size(_players(joined))] = joined
    return out


def over_subsets(values: NDArray[Numbers], operation: np.ufunc) -> NDArray[Numbers]:
    """Combine each subset's value with those of all subsets inside it, in place.

    Subsets without player j are half of the array, so each of the d steps is one vectorised
    operation (the zeta transform of the subset lattice).

    >>> over_subsets(np.array([1, 10, 100, 1000]), np.add).tolist()
    [1, 11, 101, 1111]
    """
    for j in range(_players(values)):
        for without, having in halves(values, j):
            operation(having, without, out=having)
    return values


def over_supersets(values: NDArray[Numbers], operation: np.ufunc) -> NDArray[Numbers]:
    """Combine each subset's value with those of all that contain it, in place.

    >>> over_supersets(np.array([1, 10, 100, 1000]), np.add).tolist()
    [1111, 1010, 1100, 1000]
    """
    for j in range(_players(values)):
        for without, having in halves(values, j):
            operation(without, having, out=without)
    return values


def supersets_of(masks: Sequence[int] | Counts, d: int) -> BoolVector:
    """Return, by bit mask, whether each subset of d players contains one of the given ones.

    >>> supersets_of([0b001, 0b110], 3).tolist()
    [False, True, False, True, False, True, True, True]
    """
    found = np.zeros(1 << d, dtype=bool)
    found[masks] = True
    return over_subsets(found, np.logical_or)


def halves(
    values: NDArray[Numbers], player: int
) -> Iterator[tuple[NDArray[Numbers], NDArray[Numbers]]]:
    """Yield views of the values without a player and with it, in matching parts.

    >>> [(a.tolist(), b.tolist()) for a, b in halves(np.arange(4), 0)]
    [([[0], [2]], [[1], [3]])]
    """
    run = 1 << player
    if values.ndim == 1 and 1 < run <= _SHORT_RUN and len(values) >= _LONG_ARRAY:
        # numpy works along runs, and each takes as long to begin as 20 numbers do: a few passes
        # over single numbers far apart are up to twelve times as fast.
        for start in range(run):
            yield values[start :: 2 * run], values[start + run :: 2 * run]
    else:
        pairs = values.reshape(-1, 2, run, *values.shape[1:])
        yield pairs[:, 0], pairs[:, 1]


_SHORT_RUN = 16
_LONG_ARRAY = 1 << 13


@lru_cache(maxsize=8)
def sizes_by_mask(d: int) -> NDArray[np.uint8]:
    """Return the number of players of each subset, indexed by bit mask.

    >>> sizes_by_mask(2).tolist()
    [0, 1, 1, 2]
    """
    sizes = np.bitwise_count(np.arange(1 << d, dtype=np.uint32))
    sizes.setflags(write=False)
    return sizes


def _players(dense: NDArray[Numbers]) -> int:
    return len(dense).bit_length() - 1


@lru_cache(maxsize=32)
def _level_ends(d: int) -> Counts:
    """Return the numbers of subsets with at most 0, 1, …, d - 1 players."""
    return np.cumsum([comb(d, size) for size in range(d)])


@lru_cache(maxsize=64)
def _binomials(d: int, size: int) -> Counts:
    """Return table[k, c] = C(c, k) for c <= d, capped at the largest int64."""
    top = np.iinfo(np.int64).max
    table = np.array([[min(comb(c, k), top) for c in range(d + 1)] for k in range(size + 1)])
    table = table.astype(np.int64)
    table.setflags(write=False)
    return table


# Thresholds at which each set is τ-minimal: an interval per set, from one pass over all sets.
#
# By Definition 4 a factor c is τ-minimal exactly when PS(c) >= τ and no factor strictly below it
# has PS >= τ. With m(c) the largest PS strictly below c, that is m(c) < τ <= PS(c): one pass from
# the bottom of the lattice gives every factor its interval (m(c), PS(c)], and no τ needs a new
# search. The largest PS at or below c, max(m(c), PS(c)), is c's *reach*: c lies in the upward
# closure of the τ-minimal factors exactly when τ <= reach(c), so cumulative PN is a sum over
# reaches. In sample mode the largest τ at which c passes its test stands in place of PS(c).


Real = TypeVar("Real", bound=np.floating[Any] | np.integer[Any])

_SUBSETS_AT_ONCE = 1 << 18


@dataclass(frozen=True)
class Ladder:
    """Largest passing τ strictly below each subset, and at or below it, by level."""

    passes: tuple[Reals, ...]
    below: tuple[Reals, ...]
    reach: tuple[Reals, ...]


@dataclass(frozen=True, eq=False)
class Steps:
    """The ladder by bit mask, where all 2^d subsets are known, in numbers of few bits.

    A subset's passing τ depends on its count alone, and n references allow n + 1 counts. So few
    values of τ occur, and their small index numbers are compared in place of the values.

    >>> steps = climb_steps(np.array([0, 1, 2, 1], dtype=np.uint8), np.array([0, 0.5, 0.9]))
    >>> steps.taus[steps.below].tolist(), steps.taus[steps.reach].tolist()
    ([0.0, 0.0, 0.0, 0.9], [0.0, 0.5, 0.9, 0.9])
    """

    taus: Reals
    """Ascending; the first is 0, the entry of subsets that pass at no τ."""
    passes: SmallCounts
    below: SmallCounts
    reach: SmallCounts


def climb(passes: Sequence[Reals], d: int, start: int = 0) -> Ladder:
    """Return the intervals of subsets under the subset order, from level 0 to the last one given.

    Only the last level may be incomplete, with subsets from number `start` on: whether a subset is
    minimal depends on all subsets below it.

    >>> passes = [np.array([0.0]), np.array([0.5, 0.9]), np.array([0.8])]  # {}; {0}, {1}; {0, 1}
    >>> ladder = climb(passes, d=2)
    >>> [level.tolist() for level in ladder.below]
    [[0.0], [0.0, 0.0], [0.9]]
    >>> [level.tolist() for level in ladder.reach]
    [[0.0], [0.5, 0.9], [0.9]]
    """
    if len(passes) == d + 1 and all(
        len(level) == Lattice(d).width(size) for size, level in enumerate(passes)
    ):
        below, reach = climb_dense(by_mask(passes))
        return Ladder(tuple(passes), by_level(below), by_level(reach))
    return climb_levels(passes, d, start)


def climb_levels(passes: Sequence[Reals], d: int, start: int = 0) -> Ladder:
    """Return the intervals in general: each subset looks up those that lack one of its members."""
    lattice = Lattice(d)
    below = [np.zeros(len(passes[0]))]
    reach = [np.asarray(passes[0], dtype=float)]
    for size, level in enumerate(passes[1:], start=1):
        low = np.empty(len(level))
        first = start if size == len(passes) - 1 else 0
        for at in range(0, len(level), _SUBSETS_AT_ONCE):
            stop = min(at + _SUBSETS_AT_ONCE, len(level))
            ranks = drop_one_ranks(lattice.members(size, first + at, first + stop), d)
            low[at:stop] = reach[-1][ranks].max(axis=1)
        below.append(low)
        reach.append(np.maximum(level, low))
    return Ladder(tuple(passes), tuple(below), tuple(reach))


def climb_steps(passes: SmallCounts, taus: Reals) -> Steps:
    """Return intervals of all 2^d subsets by bit mask; `passes` are indices into `taus`."""
    return Steps(taus, passes, *climb_dense(passes))


def climb_dense(passes: NDArray[Real]) -> tuple[NDArray[Real], NDArray[Real]]:
    """Return (below, reach) by bit mask, on a fast path for when all 2^d subsets are given.

    For one player after the other, each set with the player takes the maximum over the set without
    it. After player j both arrays are the largest values over the subsets that lack only players up
    to j, `below` without the set itself.
    """
    reach, below = passes.copy(), np.zeros_like(passes)
    for j in range(len(passes).bit_length() - 1):
        pairs = zip(halves(reach, j), halves(below, j), strict=True)
        for (without, having), (_, under) in pairs:
            np.maximum(under, without, out=under)
            np.maximum(having, without, out=having)
    return below, reach
