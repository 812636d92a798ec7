"""The answer for one input: every τ-minimal rule, and what else the counts can tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, overload

import numpy as np

from suffice.checks import level, level_or_same, threshold
from suffice.context.players import Players
from suffice.encodings.anchors.conditions import Conditions
from suffice.encodings.anchors.counts import Counted, Observed, RuleCounts
from suffice.encodings.anchors.record import RulesRecord, stored_conditions, stored_rows
from suffice.encodings.anchors.rule import Distribution, InData, Rule, to_frame
from suffice.errors import NotVisitedError
from suffice.factors.words import in_words
from suffice.results import Column, Panel, Rest, Result, Sheet
from suffice.search.intervals import Ladder
from suffice.wording import count, percent, three_digits

__all__ = ["AnchorRules"]

_RULES_SHOWN = 5
_JUDGED = {
    "perturbed": "of the data's rows, changed to meet the rule",
    "observed": "of the data's rows that meet the rule",
}


@dataclass(frozen=True, eq=False, repr=False)
class AnchorRules(Result, Sequence[Rule]):
    """Every τ-minimal rule for one input, and the one that covers most.

    It is a sequence of its rules. Nothing here calls the model: another τ or α, or any other rule
    of the same conditions, is read from counts.
    """

    plots = ("rule",)

    stored: ClassVar[type] = RulesRecord

    outcome: str
    """The outcome, in words, that the rules suffice for."""
    tau: float
    alpha: float | None
    distribution: Distribution
    """What precision is a share of: rows "perturbed" to satisfy the rule, or rows "observed"."""
    conditions: Conditions
    """What rules are made of."""
    largest: int
    """The most features that a rule may use."""
    counts: RuleCounts
    """Of every rule, over the distribution."""
    observed: Observed
    """The rows of the data, by the conditions that they satisfy."""

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
            f"No rule reaches precision {self.tau:g}: the highest{tested} is "
            f"{three_digits(top.high)}, of '{said}'. Lower tau,{larger}{rows} or cut numbers more "
            "finely (bins, cuts)."
        )

    def at(
        self, tau: float | None = None, *, alpha: float | Literal["same"] | None = "same"
    ) -> AnchorRules:
        """The same counts at another τ, or with another test; no model call."""
        return replace(
            self,
            tau=self.tau if tau is None else threshold(tau),
            alpha=level_or_same(alpha, self.alpha),
        )

    def rule(self, *features: str) -> Rule:
        """The rule of all that can be asked of these features, minimal or not."""
        known = self.conditions.features
        asked = {known[f] for f in Players(known, ()).numbers(features)}
        if len(asked) > self.largest:
            raise NotVisitedError(
                f"rules of {len(asked)} features were not looked at: raise max_size."
            )
        members = [i for i, c in enumerate(self.conditions) if c.feature in asked]
        return self._rules([self.counts.of(members, self._ladder)])[0]

    @overload
    def __getitem__(self, place: int) -> Rule: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Rule, ...]: ...
    def __getitem__(self, place: int | slice) -> Rule | tuple[Rule, ...]:
        return self.rules[place]

    def __len__(self) -> int:
        return len(self.rules)

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    @property
    def sheet(self) -> Sheet:
        """The widest rule in a sentence, then all of them."""
        title = f"When else is it “{self.outcome}”?"
        notes = () if self.complete else ("Larger rules were not looked at (max_size).",)
        if self.best is None:
            return Sheet(title, lead=(str(self.reason),), notes=notes)
        tested = "" if self.alpha is None else f", tested at α = {self.alpha:g}"
        found = f"{count(len(self), 'rule')} of precision at least {self.tau:g}{tested}"
        lead = (
            f"If {self.best.words}, the outcome is the same in {percent(self.best.precision)} of "
            f"cases. {percent(self.best.coverage)} of the data meet this rule.",
        )
        columns = (
            Column("precision", "share"),
            Column("coverage", "share"),
            Column("necessity", "share"),
            Column("if"),
        )
        shown = self.rules[:_RULES_SHOWN]
        panel = Panel(
            columns,
            tuple((r.precision, r.coverage, r.necessity, r.words) for r in shown),
            heading=f"{found}, from which nothing can be left out",
            more=Rest(len(self) - len(shown), ".rules"),
        )
        meaning = (
            f"Precision: {_JUDGED[self.distribution]}, the share with the outcome. Coverage: the "
            "share of the data that meets the rule. Necessity: the share of the data with the "
            "outcome that meets it."
        )
        return Sheet(title, lead, (panel,), (*notes, meaning))

    def to_frame(self) -> Any:
        """The rules as a pandas frame, a row each."""
        return to_frame(self.rules)

    def __eq__(self, other: object) -> bool:
        """The same question with the same counts."""
        return isinstance(other, AnchorRules) and self._record() == other._record()

    def __hash__(self) -> int:
        return hash((self.outcome, self.tau, self.alpha, self.distribution, self.conditions))

    def _record(self) -> RulesRecord:
        perturbed = self.distribution == "perturbed"
        return RulesRecord(
            self.outcome,
            self.tau,
            self.alpha,
            self.distribution,
            self.largest,
            stored_conditions(self.conditions),
            stored_rows(self.observed),
            int(self.counts.n[0][0]) if perturbed else None,
            [level.tolist() for level in self.counts.hits] if perturbed else None,
        )

    @classmethod
    def _from_record(cls, record: RulesRecord) -> AnchorRules:
        conditions, observed = record.conditions_read(), record.data_read()
        return AnchorRules(
            record.outcome,
            threshold(record.tau),
            level(record.alpha),
            record.distribution,
            conditions,
            record.largest,
            record.counts_read(conditions, observed),
            observed,
        )

    @cached_property
    def _ladder(self) -> Ladder:
        return self.counts.ladder(self.alpha)

    def _rules(self, found: Sequence[Counted]) -> list[Rule]:
        held = np.zeros((len(found), len(self.conditions)), dtype=bool)
        for i, counted in enumerate(found):
            held[i, list(counted.members)] = True
        hits, n = self.observed.covered(held)
        rows, outcome = int(self.observed.n.sum()), int(self.observed.hits.sum())
        return [
            Rule(
                self.conditions.factor(c.members),  # type: ignore[arg-type]
                self.outcome,
                self.distribution,
                c.n,
                c.hits,
                InData(rows, int(n[i]), outcome, int(hits[i])),
                self.tau,
                (c.low, c.high),
            )
            for i, c in enumerate(found)
        ]
