"""What a search found that decided subsets at one τ, in place of counting them all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Findings", "Found", "Proof"]

Proof = Literal["exhaustive", "one smaller"]
"""How minimality is known: against all smaller sets inside, or against those one smaller."""


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
