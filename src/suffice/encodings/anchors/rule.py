"""One rule, as it is told to a user."""

from __future__ import annotations

from dataclasses import dataclass

from suffice.encodings.anchors.wording import in_words
from suffice.factors.kinds import Factor
from suffice.inference import clopper_pearson, p_value
from suffice.typing import BoolVector

__all__ = ["Rule", "make_rule"]


@dataclass(frozen=True)
class Rule:
    """If the conditions hold, then the outcome: how surely, and for how many.

    `coverage` and `necessity` are taken over the rows of the data, whatever distribution precision
    is taken over: c_A is a property of x alone, so whom a rule applies to needs no made-up rows.
    """

    factor: Factor | None
    """The conditions; None for the empty rule, which always holds."""
    precision: float | None
    """PS(c_A, y): among the rows that satisfy the rule, the share with the outcome. None: none."""
    interval: tuple[float, float] | None
    """Exact 95% Clopper–Pearson interval, reading those rows as a sample."""
    n: int
    """How many rows that share is taken over."""
    p_value: float | None
    """Exact one-sided binomial test of precision <= τ."""
    coverage: float
    """The share of the data's rows that satisfy the rule."""
    necessity: float | None
    """PN(c_A, y): among the data's rows with the outcome, the share that satisfy the rule."""
    minimal_for: tuple[float, float] | None = None
    """(low, high]: the thresholds at which the rule is τ-minimal; None where that is unknown."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the rule reads."""
        return () if self.factor is None else tuple(dict.fromkeys(self.factor.columns()))

    def __str__(self) -> str:
        return in_words(self.factor)


def make_rule(
    factor: Factor | None,
    counted: tuple[int, int],
    of_data: tuple[int, int],
    has_outcome: BoolVector,
    tau: float,
    minimal_for: tuple[float, float] | None = None,
) -> Rule:
    """A rule from n(A & y) and n(A) over D, and from the same counts over the data."""
    hits, n = counted
    low, high = clopper_pearson(hits, max(n, 1))
    met, both = of_data
    with_outcome = int(has_outcome.sum())
    return Rule(
        factor=factor,
        precision=hits / n if n else None,
        interval=(float(low), float(high)) if n else None,
        n=n,
        p_value=float(p_value(hits, n, tau)) if n else None,
        coverage=met / len(has_outcome),
        necessity=both / with_outcome if with_outcome else None,
        minimal_for=minimal_for,
    )
