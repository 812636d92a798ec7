"""`Findings` of a search at one τ: minimal sets, open sets, share decided; index of subsets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from suffice.engines.work import choose_backend
from suffice.factors.bitsets import pack_rows
from suffice.factors.lattice import held_of_masks, held_of_members, masks_by_size, masks_of_held
from suffice.search.exhaustive import Tally
from suffice.search.hybrid_sampling import HybridSample, OutcomesOf
from suffice.search.limits import Stop
from suffice.typing import BitWords, BoolVector, Counts, HeldSets, Outcomes

Proof = Literal["exhaustive", "one smaller", "none"]
"""How minimality is known: against all smaller sets inside, against those one smaller, or not at
all, since the time was over."""


@dataclass(frozen=True)
class FoundSet:
    """A factor that a search found without counting everything."""

    members: tuple[int, ...]
    hits: int
    proof: Proof = "exhaustive"


@dataclass(frozen=True)
class Findings:
    """The factors that such a search found at one τ."""

    tau: float
    factors: tuple[FoundSet, ...]
    decided: bool
    """Was every subset decided at τ, or left out because a factor inside it was found?"""
    decided_size: int = -1
    """Every subset of up to this size was; -1: not even the empty one."""
    only_at_tau: bool = False
    """Is nothing known at another τ, because the search counted too little?"""
    covered: tuple[float, float] | None = None
    """How much of the outcome lies in the closure of the factors, and how much there is: hybrids,
    weighed as D draws them. None where they were not all counted."""
    decided_share: float | None = None
    """The share of all subsets that is decided at τ; None where nobody kept count."""


def merge_findings(parts: Iterable[Findings], besides: Iterable[tuple[int, ...]] = ()) -> Findings:
    """Join the findings of several searches at one τ; drop supersets of other factors.

    `besides` are factors that are known from elsewhere, and not listed again.
    """
    parts = list(parts)
    known: dict[tuple[int, ...], FoundSet | None] = dict.fromkeys(besides)
    for factor in (f for part in parts for f in part.factors):
        other = known.setdefault(factor.members, factor)
        # Of a set that two of them found, the better proof is kept.
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
        alone = (lacking == 0).sum(axis=1) == 1  # each holds itself
        yield from (sets[start + i] for i in np.flatnonzero(alone).tolist())


# What a search gives that decides every set at one τ, rather than counting all of them.


@dataclass(frozen=True, eq=False)
class DecidedSets:
    """The factors of both views at one τ, and how the work went."""

    tally: Tally
    """Hits of those sets that were counted all the same: the empty and the full one, mostly."""
    keep: Findings
    flip: Findings
    flip_outcomes: tuple[BoolVector, ...]
    """By flip factor: which references still have the input's outcome when the factor is replaced;
    the others flip."""
    draws: HybridSample | None
    """A sample of D, for necessity; None where none was needed, or there was no room for one."""
    stopped: Stop | None
    """What ended the search; None if every set is decided."""
    outcomes_of: OutcomesOf | None = None
    """Outcomes of single hybrids, where the search remembers those that it asked about."""


# Sets of a small lattice that a search has not decided: none left means that it is complete.


_MOST_PLAYERS = 20
"""With more players no table of undecided sets is kept: starts cannot reach all of them."""


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
        """Note sets that do not suffice."""
        if self._open is not None:
            self._open[masks_of_held(sets)] = False

    def mark_sizes_up_to(self, size: int) -> None:
        """Note that every set of at most `size` players is decided."""
        if self._open is not None:
            sizes = np.bitwise_count(np.arange(len(self._open), dtype=np.uint32))
            self._open[sizes <= size] = False

    def mark_supersets(self, members: Sequence[int]) -> None:
        """Note a factor: no superset of it is minimal, so all of them are decided."""
        if not len(members):
            self.mark_all()
        if self._open is None:
            return
        # One axis for each player, the last of them first.
        lattice = self._open.reshape((2,) * (len(self._open).bit_length() - 1))
        inside = [1 if j in members else slice(None) for j in range(lattice.ndim)]
        lattice[tuple(reversed(inside))] = False

    def mark_all(self) -> None:
        """Note that every set is decided, whether a table is kept or not."""
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
# There can be many thousands, and every cube is compared with all of them. So they are kept as an
# index: for each player the words of those sets that have it. The sets that a cube's smallest set
# lacks something of are the union over the players it lacks; those of which it lacks one player are
# in that union once.


_PAIRS_AT_ONCE = 1 << 22
"""Pairs of a set asked about and a set known that numpy compares together."""
_WORK_PER_PAIR = 0.3
"""Work of comparing a pair by the compiled function."""


class MinimalSetFamily:
    """Sets that pass, with the outcomes of their hybrids; none contains another."""

    def __init__(self, d: int, n: int) -> None:
        self.sets: HeldSets = np.empty((0, d), dtype=bool)
        self.outcomes: Outcomes = np.empty((0, n), dtype=bool)
        self._index = SubsetIndex(self.sets)

    @classmethod
    def minimal(cls, sets: HeldSets, outcomes: Outcomes) -> MinimalSetFamily:
        """Sets of which it is known that none contains another."""
        passing = cls(sets.shape[1], outcomes.shape[1])
        passing.sets, passing.outcomes, passing._index = sets, outcomes, SubsetIndex(sets)
        return passing

    def add(self, sets: HeldSets, outcomes: Outcomes) -> None:
        """Note sets that pass; those that contain another are of no use."""
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
        """Return these counts, and for each set the players any of which would raise its count."""
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
        """(players, words): the sets that have a player; and the bits of the last word in use."""
        used = (len(self._sets) - 1) % 64 + 1
        return pack_rows(self._sets.T), np.uint64((1 << used) - 1)
