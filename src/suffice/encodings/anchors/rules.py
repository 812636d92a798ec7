"""The answer for one input: every τ-minimal rule, and what else the counts can tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from suffice.checks import level_or_same, threshold
from suffice.context.players import Players
from suffice.encodings.anchors.conditions import Conditions
from suffice.encodings.anchors.counts import Counted, RuleCounts
from suffice.encodings.anchors.observed import covered
from suffice.encodings.anchors.rule import Rule, make_rule
from suffice.encodings.anchors.wording import in_words
from suffice.errors import NotVisitedError
from suffice.search.intervals import Ladder
from suffice.typing import BoolVector, Held

__all__ = ["AnchorRules"]

_RULES_SHOWN = 5


@dataclass(frozen=True, eq=False)
class AnchorRules:
    """Every τ-minimal rule for one input, and the one that covers most.

    Nothing here calls the model: another τ or α, or any other rule of the same conditions, is read
    from counts.
    """

    outcome: str
    """The outcome, in words, that the rules suffice for."""
    tau: float
    alpha: float | None
    context: Literal["perturbed", "observed"]
    conditions: Conditions = field(repr=False)
    """What rules are made of."""
    largest: int = field(repr=False)
    """The most features that a rule may use."""
    counts: RuleCounts = field(repr=False)
    satisfied: Held = field(repr=False)
    """(rows of the data, conditions): which row satisfies which condition."""
    has_outcome: BoolVector = field(repr=False)
    """Which rows of the data have the outcome."""

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """All τ-minimal rules: the widest coverage first, then the surer, then the shorter."""
        found = list(self.counts.minimal_at(self.tau, self._ladder))
        rules = self._rules(found)
        order = sorted(
            range(len(found)),
            key=lambda i: (
                -rules[i].coverage,
                -(rules[i].precision or 0.0),
                len(rules[i].columns),
                found[i].members,
            ),
        )
        return tuple(rules[i] for i in order)

    @property
    def best(self) -> Rule | None:
        """The rule with the greatest coverage among all whose precision is at least τ.

        It is always a τ-minimal one. A rule A with PS >= τ contains a τ-minimal rule B: a smallest
        one inside A, A itself included, that still has PS >= τ. B asks no more than A, so every row
        that satisfies A satisfies B, and B covers no less. None where no rule gets there.
        """
        return self.rules[0] if self.rules else None

    @property
    def complete(self) -> bool:
        """Was every rule of these conditions looked at?"""
        return self.largest >= len(self.conditions.features)

    @property
    def reason(self) -> str | None:
        """Why there is no rule, and what to change; None where there is one."""
        if self.rules:
            return None
        top = self.counts.best(self._ladder)
        said = in_words(self.conditions.factor(top.members))
        tested = "" if self.alpha is None else f", by its lower bound at α = {self.alpha:g},"
        larger = "" if self.complete else " allow larger rules (max_size),"
        rows = "" if self.alpha is None else " use more rows,"
        return (
            f"No rule reaches precision {self.tau:g}: the highest{tested} is {top.high:.3f}, of "
            f"'{said}'. Lower tau,{larger}{rows} or cut numbers more finely (bins, cuts)."
        )

    def at(
        self, tau: float | None = None, alpha: float | Literal["same"] | None = "same"
    ) -> AnchorRules:
        """The same counts at another τ, or with another test; no model call."""
        tau = self.tau if tau is None else threshold(tau)
        return replace(self, tau=tau, alpha=level_or_same(alpha, self.alpha))

    def rule(self, *names: str) -> Rule:
        """The rule of all that can be asked of these features, minimal or not."""
        features = self.conditions.features
        asked = Players(features, ()).numbers(names)
        if len(asked) > self.largest:
            raise NotVisitedError(
                f"rules of {len(asked)} features were not looked at: raise max_size."
            )
        chosen = {features[f] for f in asked}
        members = [i for i, c in enumerate(self.conditions) if c.name in chosen]
        return self._rules([self.counts.of(members, self._ladder)])[0]

    def to_frame(self) -> Any:
        """The rules as a pandas frame, a row each."""
        import pandas as pd

        numbers = ("n", "p_value", "coverage", "necessity")
        rows = [
            {"rule": str(rule), "precision": rule.precision}
            | dict(zip(("low", "high"), rule.interval or (None, None), strict=True))
            | {name: getattr(rule, name) for name in numbers}
            for rule in self.rules
        ]
        return pd.DataFrame(rows, columns=["rule", "precision", "low", "high", *numbers])

    def __str__(self) -> str:
        if self.best is None:
            return str(self.reason)
        head = f"{self.outcome}, with precision at least {self.tau:g}, if"
        listed = [
            f"  {rule}: precision {rule.precision:.3f}, coverage {rule.coverage:.3f}"
            for rule in self.rules[:_RULES_SHOWN]
        ]
        more = len(self.rules) - len(listed)
        rest = [f"  … and {more} more"] if more else []
        note = [] if self.complete else ["  (larger rules were not looked at)"]
        return "\n".join([head, *listed, *rest, *note])

    @cached_property
    def _ladder(self) -> Ladder:
        return self.counts.ladder(self.alpha)

    def _rules(self, found: Sequence[Counted]) -> list[Rule]:
        held = np.zeros((len(found), len(self.conditions)), dtype=bool)
        for i, counted in enumerate(found):
            held[i, list(counted.members)] = True
        met, both = covered(held, self.satisfied, self.has_outcome)
        return [
            make_rule(
                self.conditions.factor(c.members),
                (c.hits, c.n),
                (int(met[i]), int(both[i])),
                self.has_outcome,
                self.tau,
                (c.low, c.high),
            )
            for i, c in enumerate(found)
        ]
