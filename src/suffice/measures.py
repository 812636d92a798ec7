"""The four measures of a set or rule (Defs 2–3, Rmk. 1): precision, recall and their negatives.

With n(c) rows that satisfy c, n(y) that have the outcome, n(c&y) both and n in all:

    PS(c, y)         = n(c&y) / n(c)                              precision
    PN(c, y)         = n(c&y) / n(y)                              recall
    PS(1-c, 1-y)     = n(not c & not y) / n(not c)                negative predictive value
    PN(1-c, 1-y)     = n(not c & not y) / n(not y)                true negative rate

Where nothing is counted in a denominator the measure is undefined: None, never 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from suffice.factors.order import Relation, upward_closure
from suffice.typing import BoolVector, SatisfiedRows


@dataclass(frozen=True)
class Measures:
    """Counts, and the four measures read from them.

    >>> m = Measures(both=8, factor=10, outcome=20, total=100)
    >>> m.sufficiency, m.necessity
    (0.8, 0.4)
    >>> m.contrapositive.sufficiency == m.negative_predictive_value
    True
    """

    both: float
    """n(c & y)"""
    factor: float
    """n(c)"""
    outcome: float
    """n(y)"""
    total: float
    """n"""

    @property
    def sufficiency(self) -> float | None:
        """PS(c, y) = P(f(z) = y | c(z) = 1)."""
        return _share(self.both, self.factor)

    @property
    def necessity(self) -> float | None:
        """PN(c, y) = P(c(z) = 1 | f(z) = y)."""
        return _share(self.both, self.outcome)

    @property
    def baseline(self) -> float | None:
        """P(c(z) = 1): what the necessity would be if the factor and the outcome were unrelated."""
        return _share(self.factor, self.total)

    @property
    def lift(self) -> float | None:
        """Necessity divided by its baseline: P(c, y) / (P(c) P(y)), 1 where they are unrelated.

        >>> Measures(both=8, factor=10, outcome=20, total=100).lift
        4.0
        """
        return ratio(self.necessity, self.baseline)

    @property
    def contrapositive(self) -> Measures:
        """Measures of 1 - c and 1 - y, from the same counts."""
        neither = self.total - self.factor - self.outcome + self.both
        return Measures(neither, self.total - self.factor, self.total - self.outcome, self.total)

    @property
    def negative_predictive_value(self) -> float | None:
        """PS(1-c, 1-y) = P(f(z) ≠ y | c(z) = 0)."""
        return self.contrapositive.sufficiency

    @property
    def true_negative_rate(self) -> float | None:
        """PN(1-c, 1-y) = P(c(z) = 0 | f(z) ≠ y)."""
        return self.contrapositive.necessity


def measure(satisfied: BoolVector, has_outcome: BoolVector) -> Measures:
    """Count one factor, or a set of factors already joined, against an outcome."""
    return Measures(
        both=int((satisfied & has_outcome).sum()),
        factor=int(satisfied.sum()),
        outcome=int(has_outcome.sum()),
        total=len(has_outcome),
    )


def measure_any(
    satisfied: SatisfiedRows,
    chosen: Sequence[int],
    has_outcome: BoolVector,
    relation: Relation | None = None,
) -> Measures:
    """Count rows that satisfy one of the factors, or of their upward closure under a relation."""
    if relation is not None and len(chosen):
        chosen = list(map(int, upward_closure(relation, chosen)))
    any_satisfied = np.asarray(satisfied[list(chosen)].any(axis=0))
    return measure(any_satisfied, has_outcome)


def ratio(necessity: float | None, baseline: float | None) -> float | None:
    """Return the lift of a necessity over its baseline; None where one is unknown or zero."""
    return necessity / baseline if necessity is not None and baseline else None


def _share(part: float, whole: float) -> float | None:
    return min(part / whole, 1.0) if whole else None
