"""What changed over many decisions, summed from each: set by set, and feature by feature."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from suffice.audit.decisions import VIEWS, ViewName
from suffice.audit.drift.decision import DecisionDrift

__all__ = ["FeatureDrift", "SetDrift", "feature_drifts", "set_drifts"]


@dataclass(frozen=True)
class SetDrift:
    """One set of features over all decisions of one outcome."""

    view: ViewName
    outcome: str
    features: tuple[str, ...]
    lost: int
    gained: int
    decisions: int
    """With this outcome on both sides."""


@dataclass(frozen=True)
class FeatureDrift:
    """One feature over all decisions with the same outcome on both sides."""

    feature: str
    before: float
    """Of the minimal sets, those that have it: the mean share over the decisions."""
    after: float
    fell: int
    """Decisions in which that share fell."""
    rose: int
    decisions: int
    """With minimal sets on both sides."""

    @property
    def difference(self) -> float:
        """After less before."""
        return self.after - self.before


def set_drifts(decisions: Iterable[DecisionDrift]) -> tuple[SetDrift, ...]:
    """Sets gained or lost in some of these decisions, those of most decisions first.

    The decisions have the same outcome on both sides.
    """
    lost: Counter[tuple[ViewName, str, tuple[str, ...]]] = Counter()
    gained: Counter[tuple[ViewName, str, tuple[str, ...]]] = Counter()
    of: Counter[str] = Counter()
    for d in decisions:
        of[d.outcomes[0]] += 1
        for f in d.factors:
            if f.fate != "kept":
                counted = lost if f.fate == "lost" else gained
                counted[f.view, d.outcomes[0], f.features] += 1
    found = [SetDrift(*key, lost[key], gained[key], of[key[1]]) for key in {**lost, **gained}]
    return tuple(sorted(found, key=_order))


def _order(s: SetDrift) -> tuple[int, int, str, int, tuple[str, ...]]:
    most = max(s.lost, s.gained)
    return -most, VIEWS.index(s.view), s.outcome, len(s.features), s.features


def feature_drifts(decisions: Iterable[DecisionDrift]) -> tuple[FeatureDrift, ...]:
    """How much of the minimal sets each feature is part of, what moved most first.

    Of decisions with the same outcome on both sides, those count that have minimal sets on both.
    """
    shares: dict[str, list[tuple[float, float]]] = {}
    known = [d for d in decisions if all(d.n_minimal)]
    for d in known:
        before, after = d.n_minimal
        for name, old, new in d.members:
            shares.setdefault(name, []).append((old / before, new / after))
    found = [
        FeatureDrift(
            name,
            sum(old for old, _ in pairs) / len(known),
            sum(new for _, new in pairs) / len(known),
            sum(new < old for old, new in pairs),
            sum(new > old for old, new in pairs),
            len(known),
        )
        for name, pairs in shares.items()
    ]
    return tuple(sorted(found, key=lambda f: -abs(f.difference)))
