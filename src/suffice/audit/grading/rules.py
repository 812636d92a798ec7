"""A rule's marks: its own precision and coverage, and what could be left out of it (Prop. 2)."""

from __future__ import annotations

from dataclasses import dataclass

from suffice.decision import Decision
from suffice.encodings.anchors import Rule, score_rule
from suffice.encodings.anchors.conditions import Conditions, conditions_of, holds
from suffice.encodings.anchors.perturbed import count_perturbed, perturb
from suffice.errors import InputError
from suffice.explainer import Explainer
from suffice.factors.kinds import Factor
from suffice.factors.lattice import Lattice
from suffice.factors.words import in_words
from suffice.inference import fewest_hits

__all__ = ["RuleMark", "mark_rule"]

_CONDITIONS = 8
"""So many conditions are left out in every combination; of more, nothing is said."""


@dataclass(frozen=True)
class RuleMark:
    """One rule, scored exactly over the data's rows made to meet it."""

    rule: Rule
    holds: bool
    """Is it true of the input?"""
    conditions: int
    """How many it has, those on one feature taken together."""
    spare: tuple[str, ...] | None
    """The most conditions that can be left out, so that the rest does as well: reaches τ if the
    rule does, and else is as precise. None where that is not known."""

    def __post_init__(self) -> None:
        if len(self.spare or ()) > self.conditions:
            raise InputError("spare", self.spare, f"at most {self.conditions} conditions")

    @property
    def reaches(self) -> bool | None:
        """Is its precision τ or more? None where no row meets it."""
        return None if self.rule.precision is None else self.rule.precision >= self.rule.tau


def mark_rule(
    explainer: Explainer, decision: Decision, factor: Factor | None, tau: float
) -> RuleMark:
    """Score a rule, and look for conditions that it does not need."""
    if factor is None:
        return RuleMark(score_rule(explainer, decision.row, None, tau=tau), True, 0, ())
    conditions = conditions_of(factor, decision.data, decision.players)
    held = bool(holds(factor, decision.row)[0])
    known = decision.row.stack(decision.data)
    if not conditions.holds(known).any(axis=0).all():  # one of them is met nowhere
        rule = score_rule(explainer, decision.row, factor, distribution="observed", tau=tau)
        return RuleMark(rule, held, len(conditions), None)
    rule = score_rule(explainer, decision.row, factor, tau=tau)
    few = len(conditions) <= _CONDITIONS
    return RuleMark(rule, held, len(conditions), _spare(decision, conditions, tau) if few else None)


def _spare(decision: Decision, conditions: Conditions, tau: float) -> tuple[str, ...]:
    """Every rule made of some of the conditions is counted, over the same rows."""
    d = len(conditions)
    hybrids = perturb(decision, conditions)
    counts = count_perturbed(decision, conditions, hybrids, d, progress=False)
    level = min(int(counts.hits[d][0]), fewest_hits(hybrids.n, tau))
    size = next(size for size, hits in enumerate(counts.hits) if hits.max() >= level)
    place = int(counts.hits[size].argmax())
    kept = Lattice(d).members(size, place, place + 1)[0].tolist()
    return tuple(in_words(c.factor) for i, c in enumerate(conditions) if i not in kept)
