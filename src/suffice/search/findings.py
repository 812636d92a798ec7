"""`Findings` of a search that decided sets at one τ: minimal sets, open sets, share decided."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from suffice.factors.lattice import held_of_masks, masks_by_size, masks_of_held
from suffice.search.hybrid_sampling import HybridSample
from suffice.search.limits import Stop
from suffice.search.tally import Tally
from suffice.typing import BoolVector, HeldSets

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
    """What several searches found at one τ, without what holds a smaller factor.

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
    """Of distinct sets, those that hold no other."""
    held = np.zeros((len(sets), 1 + max((m[-1] for m in sets if m), default=0)), dtype=np.float32)
    for row, members in zip(held, sets, strict=True):
        row[list(members)] = 1
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


# Which sets of a small lattice a search has still to decide: with none left it has seen all.


_MOST_PLAYERS = 20
"""A byte for each set: past this many players nobody sees them all by starts, and none is kept."""


class UndecidedSets:
    """The sets that were not found to fail and that hold no factor that was found.

    >>> sets = UndecidedSets(2)
    >>> sets.close(np.array([[False, False]]))
    >>> sets.close_above([0])
    >>> sets.left, sets.smallest(10).tolist()
    (1, [[False, True]])
    """

    def __init__(self, d: int) -> None:
        self._d = d
        self._open = np.ones(1 << d, dtype=bool) if d <= _MOST_PLAYERS else None

    @property
    def left(self) -> float:
        """How many there are; infinitely many, as it were, where no count is kept."""
        return np.inf if self._open is None else int(self._open.sum())

    @property
    def closed_share(self) -> float | None:
        """The share of all sets that is not open; None where no count is kept."""
        return None if self._open is None else 1 - int(self._open.sum()) / len(self._open)

    def close(self, sets: HeldSets) -> None:
        """These fail."""
        if self._open is not None:
            self._open[masks_of_held(sets)] = False

    def close_up_to(self, size: int) -> None:
        """Sets of so many players or fewer fail, or are factors."""
        if self._open is not None:
            sizes = np.bitwise_count(np.arange(len(self._open), dtype=np.uint32))
            self._open[sizes <= size] = False

    def close_above(self, members: Sequence[int]) -> None:
        """This is a factor: whatever contains it need not be looked at."""
        if not len(members):
            self.close_all()
        if self._open is None:
            return
        # One axis for each player, the last of them first.
        lattice = self._open.reshape((2,) * (len(self._open).bit_length() - 1))
        inside = [1 if j in members else slice(None) for j in range(lattice.ndim)]
        lattice[tuple(reversed(inside))] = False

    def close_all(self) -> None:
        """Nothing is left to look at, however many players there are."""
        self._open = np.zeros(1 << min(self._d, _MOST_PLAYERS), dtype=bool)

    def smallest(self, most: int) -> HeldSets:
        """Open sets of the smallest size that has any, at most so many of them."""
        assert self._open is not None  # or else none could be left
        masks = masks_by_size(self._d)
        masks = masks[self._open[masks]][:most]
        sizes = np.bitwise_count(masks)
        return held_of_masks(masks[sizes == sizes[:1]], self._d)
