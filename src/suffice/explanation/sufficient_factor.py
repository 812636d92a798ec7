"""`SufficientFactor`, `Change`, `Player` and `LeftOutFeature`: the parts that a view lists."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from suffice.engines import IdleReason
from suffice.formatting import (
    format_change,
    format_condition,
    format_cost,
    format_name,
    percent,
    plural,
)
from suffice.results import FrozenDict
from suffice.search.findings import Proof
from suffice.typing import Scalar, ViewName


@dataclass(frozen=True)
class Player:
    """A feature or a group of columns, with the input's values."""

    name: str
    values: Mapping[str, Scalar]

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", FrozenDict(self.values))

    def __str__(self) -> str:
        return format_condition(self.name, self.values)


@dataclass(frozen=True)
class LeftOutFeature:
    """A feature that was left out of the search, since it cannot matter here, and why."""

    player: Player
    reason: IdleReason

    def __str__(self) -> str:
        return f"{format_name(self.player.name)} ({_IDLE_REASONS[self.reason]})"


_IDLE_REASONS: dict[IdleReason, str] = {
    "same": "the same in every reference",
    "unread": "the model never reads it",
    "alike": "the model treats the input's value and every reference's alike",
}


@dataclass(frozen=True)
class Change:
    """New values of some features, as one reference has them, that flip the outcome."""

    players: tuple[Player, ...]
    """The features, with the input's values."""
    values: Mapping[str, Scalar]
    """The new values of all their columns."""
    cost: float
    reliability: float = 1.0
    """The share of draws in which these values flip the outcome: below 1 only for the cheapest
    change in a causal context whose effects are random."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", FrozenDict(self.values))

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the features."""
        return tuple(player.name for player in self.players)

    def __str__(self) -> str:
        moves = [format_change(player.name, player.values, self.values) for player in self.players]
        # Only where effects are drawn at random can a set flip as it is.
        text = ", ".join(filter(None, moves)) or "as they are, by chance downstream"
        if self.reliability < 1:
            text += f" (works in {percent(self.reliability)} of draws)"
        return text


@dataclass(frozen=True, repr=False)
class SufficientFactor:
    """A set of features that suffices, with how surely and at which thresholds.

    >>> import numpy as np
    >>> import pandas as pd
    >>> from suffice import Explainer
    >>> people = pd.DataFrame({"income": [20, 30, 60, 70], "debt": [9, 2, 8, 1]})
    >>> def grant(rows):
    ...     return np.where(rows["income"] - 4 * rows["debt"] > 20, "granted", "refused")
    >>> e = Explainer(grant, people).explain({"income": 25, "debt": 8}, tau=0.6)
    >>> factor = e.flip[0]
    >>> factor.features, factor.sufficiency, factor.n
    (('income',), 0.6666666666666666, 3)
    >>> factor.change.values
    {'income': 60}
    """

    view: ViewName
    players: tuple[Player, ...]
    """The features, with the input's values: held (keep), or to be replaced (flip)."""
    sufficiency: float
    """PS: the share of references for which the outcome came about."""
    interval: tuple[float, float]
    """Exact 95% Clopper–Pearson interval, reading the references as a sample."""
    n: int
    """How many references that share is taken over."""
    p_value: float
    """p-value of the exact one-sided binomial test of PS <= τ, adjusted if `adjust` was given."""
    minimal_for: tuple[float, float]
    """(low, high]: the thresholds τ at which this factor is τ-minimal."""
    proof: Proof = "exhaustive"
    """How minimality is known: against all smaller sets inside it, those one smaller, or not."""
    change: Change | None = None
    """For flips: the cheapest change of this very set among the references. None for keep."""

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the features."""
        return tuple(player.name for player in self.players)

    @property
    def values(self) -> Mapping[str, Scalar]:
        """The input's values on those features' columns."""
        return FrozenDict({c: v for player in self.players for c, v in player.values.items()})

    @property
    def size(self) -> int:
        """Number of features that the factor names."""
        return len(self.players)

    @property
    def cost(self) -> float | None:
        """Cost of the cheapest change of this set that flips the outcome.

        None for keep, for sets that are minimal at no τ, and where no change has a finite cost.
        """
        return None if self.change is None else self.change.cost

    def __str__(self) -> str:
        told = f"{percent(self.sufficiency)} of {plural(self.n, 'reference')}"
        if self.view == "keep":
            what = ", ".join(map(str, self.players)) or "nothing"
            return f"holding {what} keeps it for {told}"
        what = ", ".join(map(format_condition, self.features)) or "nothing"
        text = f"replacing {what} flips it for {told}"
        if self.change is None:
            return text
        return (
            f"{text}; cheapest change of this set: {self.change} (cost "
            f"{format_cost(self.change.cost)})"
        )

    def __repr__(self) -> str:
        return f"<SufficientFactor: {self}>"


_FRAME_COLUMNS = (
    "view outcome features size sufficiency low high n p_value minimal_above minimal_up_to cost "
    "values change"
)


def factor_frame(factors: Iterable[tuple[str, SufficientFactor]]) -> Any:
    """Return a pandas frame with a row for each factor and the outcome that it suffices for."""
    import pandas as pd

    rows = [
        {
            "view": factor.view,
            "outcome": outcome,
            "features": factor.features,
            "size": factor.size,
            "sufficiency": factor.sufficiency,
            "low": factor.interval[0],
            "high": factor.interval[1],
            "n": factor.n,
            "p_value": factor.p_value,
            "minimal_above": factor.minimal_for[0],
            "minimal_up_to": factor.minimal_for[1],
            "cost": factor.cost,
            "values": dict(factor.values),
            "change": None if factor.change is None else dict(factor.change.values),
        }
        for outcome, factor in factors
    ]
    return pd.DataFrame(rows, columns=_FRAME_COLUMNS.split())
