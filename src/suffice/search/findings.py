"""What a search found that decided subsets at one τ, in place of counting them all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

__all__ = ["Findings", "Found", "Proof", "joined"]

Proof = Literal["exhaustive", "one smaller", "none"]
"""How minimality is known: against all smaller sets inside, against those one smaller, or not at
all, since the time was over."""


@dataclass(frozen=True)
class Found:
    """A factor that a search found without counting everything."""

    members: tuple[int, ...]
    hits: int
    proof: Proof = "exhaustive"


@dataclass(frozen=True)
class Findings:
    """The factors that such a search found at one τ."""

    tau: float
    factors: tuple[Found, ...]
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


def joined(parts: Iterable[Findings], besides: Iterable[tuple[int, ...]] = ()) -> Findings:
    """What several searches found at one τ, without what holds a smaller factor.

    `besides` are factors that are known from elsewhere, and not listed again.
    """
    parts = list(parts)
    known: dict[tuple[int, ...], Found | None] = dict.fromkeys(besides)
    for factor in (f for part in parts for f in part.factors):
        other = known.setdefault(factor.members, factor)
        # Of a set that two of them found, the better proof is kept.
        if other is not None and _PROOFS.index(factor.proof) < _PROOFS.index(other.proof):
            known[factor.members] = factor
    minimal = [known[members] for members in _minimal(sorted(known, key=lambda m: (len(m), m)))]
    shares = [part.decided_share for part in parts if part.decided_share is not None]
    return Findings(
        parts[0].tau,
        tuple(factor for factor in minimal if factor is not None),
        decided=any(part.decided for part in parts),
        decided_size=max(part.decided_size for part in parts),
        decided_share=max(shares, default=None),
    )


_PROOFS: tuple[Proof, ...] = ("exhaustive", "one smaller", "none")

_SETS_AT_ONCE = 1024


def _minimal(sets: list[tuple[int, ...]]) -> Iterator[tuple[int, ...]]:
    """Of distinct sets, those that hold no other."""
    held = np.zeros((len(sets), 1 + max((m[-1] for m in sets if m), default=0)), dtype=np.float32)
    for row, members in zip(held, sets, strict=True):
        row[list(members)] = 1
    for start in range(0, len(sets), _SETS_AT_ONCE):
        lacking = (1 - held[start : start + _SETS_AT_ONCE]) @ held.T
        alone = (lacking == 0).sum(axis=1) == 1  # each holds itself
        yield from (sets[start + i] for i in np.flatnonzero(alone).tolist())
