"""One sufficient factor, as it is told to a user."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from suffice.results import Frozen
from suffice.search.profile import Proof
from suffice.typing import Scalar

__all__ = ["Change", "Player", "SufficientFactor"]


@dataclass(frozen=True)
class Player:
    """A feature or a group of columns, with the input's values."""

    name: str
    values: Mapping[str, Scalar]

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", Frozen(self.values))


@dataclass(frozen=True)
class Change:
    """The cheapest observed change of a factor's features that flips the outcome."""

    cost: float
    values: Mapping[str, Scalar]

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", Frozen(self.values))


@dataclass(frozen=True)
class SufficientFactor:
    """A set of features that suffices, with how surely and at which thresholds."""

    features: tuple[str, ...]
    values: Mapping[str, Scalar]
    """The input's values on those features' columns: held (keep), or to be replaced (flip)."""
    sufficiency: float
    """PS: the share of references for which the outcome came about."""
    interval: tuple[float, float]
    """Exact 95% Clopper–Pearson interval, reading the references as a sample."""
    n: int
    """How many references that share is taken over."""
    p_value: float
    """Exact one-sided binomial test of PS <= τ (adjusted where that was asked for)."""
    minimal_for: tuple[float, float]
    """(low, high]: the thresholds τ at which this factor is τ-minimal."""
    proof: Proof = "exhaustive"
    """How minimality is known: against all smaller sets inside it, or those one smaller."""
    change: Change | None = None
    """For flips: the cheapest change among the references. None for keep."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", Frozen(self.values))

    @property
    def size(self) -> int:
        """How many features it names."""
        return len(self.features)

    @property
    def cost(self) -> float | None:
        """What the cheapest change costs.

        None for keep, for sets that are minimal at no τ, and where no change can be afforded.
        """
        return None if self.change is None else self.change.cost
