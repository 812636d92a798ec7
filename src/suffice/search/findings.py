"""`Findings` of a search at one τ: minimal sets, open sets, share decided; index of subsets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from suffice.engines.work import choose_backend
from suffice.factors.lattice import (
    held_of_masks,
    held_of_members,
    masks_by_size,
    masks_of_held,
    pack_rows,
)
from suffice.search.exhaustive import Tally
from suffice.search.hybrid_sampling import HybridSample, OutcomesOf
from suffice.search.limits import Stop
from suffice.typing import BitWords, BoolVector, Counts, HeldSets, Outcomes

Proof = Literal["exhaustive", "one smaller", "none"]
"""Evidence of minimality: all sets inside were compared, those one smaller, or none for want of
time."""


@dataclass(frozen=True)
class FoundSet:
    """Factor found by a search that does not count every set."""

    members: tuple[int, ...]
    hits: int
    proof: Proof = "exhaustive"


@dataclass(frozen=True)
class Findings:
    """Factors that a search found at one τ without counting every set."""

    tau: float
    factors: tuple[FoundSet, ...]
    decided: bool
    """True if every subset was decided at τ, or contains a factor that was found."""
    decided_size: int = -1
    """Size up to which every subset was decided; -1: not even the empty one."""
    only_at_tau: bool = False
    """True if the search counted too little to know anything at another τ."""
    covered: tuple[float, float] | None = None
    """Weight under D of the outcome's hybrids in the closure of the factors, and of all of them.
    None if not all were counted."""
    decided_share: float | None = None
    """Share of all subsets that is decided at τ; None if it was not counted."""


def merge_findings(parts: Iterable[Findings], besides: Iterable[tuple[int, ...]] = ()) -> Findings:
    """Join the findings of several searches at one τ; drop supersets of other factors.

    `besides` are the factors of another search, which are not listed again.
    """
    parts = list(parts)
    known: dict[tuple[int, ...], FoundSet | None] = dict.fromkeys(besides)
    for factor in (f for part in parts for f in part.factors):
        other = known.setdefault(factor.members, factor)
        # If two searches found a set, the better proof is kept.
        if other is not None and _PROOFS_BY_STRENGTH.index(
            factor.proof
        ) < _PROOFS_BY_STRENGTH.index(other.proof):
            known[factor.members] = factor
    minimal = [
        known[members] for members in _without_supersets(sorted(known, key=lambda m: (len(m), m)))
    ]
    shares = [part.decided_share for part in parts if part.decided_share is not None]
    return Findings(
        parts[0].tau,
        tuple(factor for factor in minimal if factor is not None),
        decided=any(part.decided for part in parts),
        decided_size=max(part.decided_size for part in parts),
        decided_share=max(shares, default=None),
    )


_PROOFS_BY_STRENGTH: tuple[Proof, ...] = ("exhaustive", "one smaller", "none")

_SETS_AT_ONCE = 1024


def _without_supersets(sets: list[tuple[int, ...]]) -> Iterator[tuple[int, ...]]:
    """Yield the sets, of distinct ones, that contain no other."""
    d = 1 + max((members[-1] for members in sets if members), default=0)
    held = held_of_members(sets, d).astype(np.float32)
    for start in range(0, len(sets), _SETS_AT_ONCE):
        lacking = (1 - held[start : start + _SETS_AT_ONCE]) @ held.T
        alone = (lacking == 0).sum(axis=1) == 1  # each contains itself
        yield from (sets[start + i] for i in np.flatnonzero(alone).tolist())


# Result of a search that decides every set at one τ, rather than counting all of them.


@dataclass(frozen=True, eq=False)
class DecidedSets:
    """Factors of both views at one τ, and why the search stopped."""

    tally: Tally
    """Hits of the sets that were counted, mostly the empty and the full one."""
    keep: Findings
    flip: Findings
    flip_outcomes: tuple[BoolVector, ...]
    """For each flip factor, the references that keep the input's outcome when it is replaced."""
    draws: HybridSample | None
    """Sample of D, for necessity; None if none was needed, or the limits did not allow one."""
    stopped: Stop | None
    """Limit that ended the search; None if every set is decided."""
    outcomes_of: OutcomesOf | None = None
    """Function that returns outcomes of single hybrids, if the search cached them."""


# Undecided sets of a small lattice: the search is complete when none is left.


_MOST_PLAYERS = 20
"""Most players for which undecided sets are kept; of more, starts cannot reach all sets."""


class UndecidedSets:
    """Sets that have not failed and contain no factor found so far.

    >>> sets = UndecidedSets(2)
    >>> sets.mark_failed(np.array([[False, False]]))
    >>> sets.mark_supersets([0])
    >>> sets.count, sets.smallest(10).tolist()
    (1, [[False, True]])
    """

    def __init__(self, d: int) -> None:
        self._d = d
        self._open = np.ones(1 << d, dtype=bool) if d <= _MOST_PLAYERS else None

    @property
    def count(self) -> float:
        """Number of undecided sets; infinite where no table is kept."""
        return np.inf if self._open is None else int(self._open.sum())

    @property
    def decided_share(self) -> float | None:
        """Share of all sets that is decided; None where no table is kept."""
        return None if self._open is None else 1 - int(self._open.sum()) / len(self._open)

    def mark_failed(self, sets: HeldSets) -> None:
        """Mark sets that do not suffice."""
        if self._open is not None:
            self._open[masks_of_held(sets)] = False

    def mark_sizes_up_to(self, size: int) -> None:
        """Mark every set of at most `size` players as decided."""
        if self._open is not None:
            sizes = np.bitwise_count(np.arange(len(self._open), dtype=np.uint32))
            self._open[sizes <= size] = False

    def mark_supersets(self, members: Sequence[int]) -> None:
        """Mark the supersets of a factor as decided: none of them is minimal."""
        if not len(members):
            self.mark_all()
        if self._open is None:
            return
        # One axis for each player, the last of them first.
        lattice = self._open.reshape((2,) * (len(self._open).bit_length() - 1))
        inside = [1 if j in members else slice(None) for j in range(lattice.ndim)]
        lattice[tuple(reversed(inside))] = False

    def mark_all(self) -> None:
        """Mark every set as decided, even if no table is kept."""
        self._open = np.zeros(1 << min(self._d, _MOST_PLAYERS), dtype=bool)

    def smallest(self, most: int) -> HeldSets:
        """Return at most `most` undecided sets, all of the smallest size that has any."""
        assert self._open is not None  # or else none could be left
        masks = masks_by_size(self._d)
        masks = masks[self._open[masks]][:most]
        sizes = np.bitwise_count(masks)
        return held_of_masks(masks[sizes == sizes[:1]], self._d)


# Families of minimal sets found so far, and an index of which of them a set contains.
#
# There can be many thousands, and every cube is compared with all of them, so they are indexed: for
# each player, a bit per set that has it. The union of the bits over the players that a cube's
# smallest set lacks marks the sets that are not inside it; a set of which one player is lacking is
# in that union once.


_PAIRS_AT_ONCE = 1 << 22
"""Pairs of a given set and a known set that NumPy compares at once."""
_WORK_PER_PAIR = 0.3
"""Work of comparing a pair by the compiled function."""


class MinimalSetFamily:
    """Family of passing sets, with the outcomes of their hybrids; none contains another."""

    def __init__(self, d: int, n: int) -> None:
        self.sets: HeldSets = np.empty((0, d), dtype=bool)
        self.outcomes: Outcomes = np.empty((0, n), dtype=bool)
        self._index = SubsetIndex(self.sets)

    @classmethod
    def minimal(cls, sets: HeldSets, outcomes: Outcomes) -> MinimalSetFamily:
        """Return a family of sets, none of which contains another."""
        passing = cls(sets.shape[1], outcomes.shape[1])
        passing.sets, passing.outcomes, passing._index = sets, outcomes, SubsetIndex(sets)
        return passing

    def add(self, sets: HeldSets, outcomes: Outcomes) -> None:
        """Add passing sets; drop those that contain another."""
        _, new = np.unique(np.packbits(sets, axis=1), axis=0, return_index=True)
        new = new[self._index.count_subsets(sets[new]) == 0]
        if not len(new):
            return
        among = SubsetIndex(sets[new])
        minimal = among.count_subsets(sets[new]) == 1  # itself
        still = among.count_subsets(self.sets) == 0
        new = new[minimal]
        self.sets = np.concatenate([self.sets[still], sets[new]])
        self.outcomes = np.concatenate([self.outcomes[still], outcomes[new]])
        self._index = SubsetIndex(self.sets)

    def compare(self, sets: HeldSets) -> tuple[BoolVector, HeldSets]:
        """Return which sets contain a known one, and the players that would complete one."""
        inside, completing = self._index.compare(sets)
        return inside > 0, completing


class SubsetIndex:
    """Index of sets: which of them are inside others, or would be with one player more."""

    def __init__(self, sets: HeldSets) -> None:
        self._sets = sets

    def count_subsets(self, others: HeldSets) -> Counts:
        """Return how many of the indexed sets each of the others contains."""
        return self.compare(others)[0]

    def compare(self, others: HeldSets) -> tuple[Counts, HeldSets]:
        """Return `count_subsets`, and by set the players any of which would raise its count."""
        inside, completing = np.zeros(len(others), dtype=np.int64), np.zeros_like(others)
        if len(self._sets) and len(others):
            if choose_backend(_WORK_PER_PAIR * len(self._sets) * len(others)) == "numba":
                self._compare_words(others, inside, completing)
            else:
                self._compare_products(others, inside, completing)
        return inside, completing

    def _compare_products(self, others: HeldSets, inside: Counts, completing: HeldSets) -> None:
        """Compare by a matrix product that counts the players each lacks of every set."""
        sets = self._sets.astype(np.float32)
        step = max(1, _PAIRS_AT_ONCE // len(sets))
        for start in range(0, len(others), step):
            part = slice(start, start + step)
            lacking = ~others[part]
            missing = lacking.astype(np.float32) @ sets.T
            inside[part] = (missing == 0).sum(axis=1)
            completing[part] = ((missing == 1).astype(np.float32) @ sets > 0) & lacking

    def _compare_words(self, others: HeldSets, inside: Counts, completing: HeldSets) -> None:
        from suffice.search.minimal_sets_kernel import compare_sets

        words, last = self._words
        compare_sets(words, last, others.view(np.uint8), inside, completing.view(np.uint8))

    @property
    def _words(self) -> tuple[BitWords, np.uint64]:
        """Sets that have each player (players, words), and the used bits of the last word."""
        used = (len(self._sets) - 1) % 64 + 1
        return pack_rows(self._sets.T), np.uint64((1 << used) - 1)
