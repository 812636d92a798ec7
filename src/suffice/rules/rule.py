"""`Rule` and `AnchorRules`: rules such as "30 < age ≤ 45 and home = rents", and their storage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, Literal, overload

import msgspec
import numpy as np

from suffice.context.players import Players
from suffice.errors import InputError, NotVisitedError
from suffice.factors.lattice import Ladder, Lattice, held_of_members
from suffice.factors.predicates import AnyFactor
from suffice.factors.rule_text import format_rule
from suffice.formatting import (
    format_integer,
    format_lift,
    format_value,
    percent,
    plural,
    three_digits,
)
from suffice.inference import Share, p_value
from suffice.measures import ratio
from suffice.results import Column, OmittedRows, Panel, Result, Sheet
from suffice.rules.conditions import Condition, Conditions
from suffice.rules.rule_counts import CountedRule, ObservedPatterns, RuleCounts, count_observed
from suffice.search.limits import EXHAUSTIVE_PLAYERS
from suffice.validation import check_alpha, check_alpha_or_same, check_integer, check_tau

Distribution = Literal["perturbed", "observed"]
PrecisionSource = Distribution | Literal["sample"]


@dataclass(frozen=True)
class InData:
    """Counts of the data's rows: all, that satisfy a rule, with its outcome, and that do both."""

    rows: int
    met: int
    outcome: int
    both: int

    def __post_init__(self) -> None:
        check_integer("rows", self.rows)
        check_integer("met", self.met, 0, self.rows)
        check_integer("outcome", self.outcome, 0, self.rows)
        check_integer("both", self.both, max(0, self.met + self.outcome - self.rows), self.met)
        check_integer("outcome", self.outcome, self.both)


@dataclass(frozen=True, repr=False)
class Rule(Result):
    """Rule "if the conditions hold, then the outcome", with precision, coverage and necessity.

    `coverage` and `necessity` are shares of the data's rows whatever the distribution of precision:
    c_A is a property of x alone, so the rows that a rule applies to need not be perturbed.
    """

    plots = ("rule",)

    factor: AnyFactor | None
    """The conditions; None for the empty rule, which always holds."""
    outcome: str
    """The outcome, in words, that the rule is for."""
    distribution: PrecisionSource
    """Which rows precision is a share of: the data's, made to satisfy the rule ("perturbed") or
    looked at ("observed"), or those of a sample that was given."""
    n: int
    """How many rows precision is a share of."""
    hits: int
    """How many of them have the outcome."""
    in_data: InData
    """Counts of rule and outcome over the rows of the data."""
    tau: float = 0.9
    """The precision that `p_value` tests against."""
    minimal_for: tuple[float, float] | None = None
    """(low, high]: the thresholds at which the rule is τ-minimal; None where that is unknown."""

    def __post_init__(self) -> None:
        check_integer("n", self.n, 0)
        check_integer("hits", self.hits, 0, self.n)
        check_tau(self.tau)
        low, high = self.minimal_for or (0, 1)
        if not 0 <= low <= high <= 1:
            raise InputError("minimal_for", self.minimal_for, "two numbers from 0 to 1, in order")

    @property
    def precision(self) -> float | None:
        """PS(c_A, y): among the rows that satisfy the rule, the share with the outcome.

        None where there is no such row.
        """
        return self.hits / self.n if self.n else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Exact 95% Clopper–Pearson interval of precision, reading those rows as a sample."""
        return Share(self.hits, self.n).interval if self.n else None

    @property
    def p_value(self) -> float | None:
        """Exact one-sided binomial test of precision <= τ."""
        return float(p_value(self.hits, self.n, self.tau)) if self.n else None

    @property
    def coverage(self) -> float:
        """The share of the data's rows that satisfy the rule."""
        return self.in_data.met / self.in_data.rows

    @property
    def necessity(self) -> float | None:
        """PN(c_A, y): among the data's rows with the outcome, the share that satisfy the rule."""
        return self.in_data.both / self.in_data.outcome if self.in_data.outcome else None

    @property
    def necessity_lift(self) -> float | None:
        """The necessity divided by the coverage, which is what chance gives for it."""
        return ratio(self.necessity, self.coverage)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the rule reads."""
        return () if self.factor is None else tuple(dict.fromkeys(self.factor.columns()))

    @property
    def words(self) -> str:
        """Text of the conditions; "always" if there are none."""
        return format_rule(self.factor)

    @property
    def sheet(self) -> Sheet:
        """The rule, its three measures and what they mean."""
        what = f"“{self.outcome}”"
        lift = self.necessity_lift
        chance = "" if lift is None else f"; by chance the coverage, lift {format_lift(lift)}"
        rows = (
            ("precision", self.precision, f"of {self._judged}, those with the outcome"),
            ("coverage", self.coverage, "of the data's rows, those that meet the rule"),
            (
                "recall",
                self.necessity,
                f"of the data's rows with the outcome, those that do{chance}",
            ),
        )
        columns = (Column("measure"), Column("share", "share"), Column("what it is a share of"))
        return Sheet(
            f"If {self.words}, then {what}" if self.factor is not None else f"Always {what}",
            lead=(self._summed_up,),
            panels=(Panel(columns, rows),),
            notes=self._notes,
        )

    def to_frame(self) -> Any:
        """Return the rule as a pandas frame of one row."""
        return rules_frame((self,))

    @property
    def _judged(self) -> str:
        rows = plural(self.n, "row")
        if self.distribution == "perturbed":
            return f"{rows} of data changed to meet the rule"
        where = "data" if self.distribution == "observed" else "the sample"
        return f"{rows} of {where} that meet the rule"

    @property
    def _summed_up(self) -> str:
        if self.interval is None:
            return "No row meets the rule, so nothing is known of its precision."
        low, high = map(percent, self.interval)
        return (
            f"{percent(self.precision)} of the rows that meet it have this outcome (95% interval "
            f"{low} to {high}). {percent(self.coverage)} of the data meet it."
        )

    @property
    def _notes(self) -> tuple[str, ...]:
        notes = []
        if self.p_value is not None:
            test = (
                f"Binomial test of precision {format_value(self.tau)} or less: p = "
                f"{self.p_value:.2g}."
            )
            notes.append(test)
        if self.minimal_for is not None and self.minimal_for[0] < self.minimal_for[1]:
            low, high = map(three_digits, self.minimal_for)
            notes.append(
                f"For a precision above {low} and up to {high} nothing can be left out of it."
            )
        return tuple(notes)


def rules_frame(rules: tuple[Rule, ...]) -> Any:
    """Return rules as a pandas frame, with a row each."""
    import pandas as pd

    columns = "rule precision low high n p_value coverage necessity necessity_lift"
    none = None, None
    rows = [
        (
            r.words,
            r.precision,
            *(r.interval or none),
            r.n,
            r.p_value,
            r.coverage,
            r.necessity,
            r.necessity_lift,
        )
        for r in rules
    ]
    return pd.DataFrame(rows, columns=columns.split())


# The stored form of the rules about one input: counts, not conclusions.


class ConditionRecord(msgspec.Struct, frozen=True):
    """Stored condition, and whether it tightens the one before it."""

    feature: str
    factor: AnyFactor
    tightens: bool


class PatternRecord(msgspec.Struct, frozen=True):
    """Stored count of the rows of the data that satisfy the same conditions."""

    satisfied: str
    """A digit per condition."""
    n: int
    hits: int
    """How many of the n have the outcome."""


class RulesRecord(msgspec.Struct, frozen=True):
    """Stored form of `AnchorRules`."""

    outcome: str
    tau: float
    alpha: float | None
    distribution: Distribution
    largest: int
    """The most features that a rule may use."""
    conditions: list[ConditionRecord]
    data: list[PatternRecord]
    n_rows: int | None
    """How many rows were perturbed; None where none was."""
    hits: list[list[int]] | None
    """By size of the set of conditions, then in order of its bit mask: how many perturbed rows have
    the outcome. 0 for a set that is no rule; None where no row was perturbed."""

    def conditions_read(self) -> Conditions:
        """Return the conditions; raise where they have more sets than can be counted."""
        found = Conditions(Condition(c.feature, c.factor, c.tightens) for c in self.conditions)
        for before, condition in pairwise([None, *found]):
            if condition.tightens and (before is None or before.feature != condition.feature):
                raise _corrupt_record(
                    f"a condition on {condition.feature!r} that tightens no other"
                )
        check_integer("largest", self.largest, 0, len(found.features))
        if (sets := found.sets(self.largest)) > 1 << EXHAUSTIVE_PLAYERS:
            raise _corrupt_record(f"{format_integer(sets)} sets of conditions")
        return found

    def data_read(self) -> ObservedPatterns:
        """Return the rows of the data, grouped by the conditions that they satisfy."""
        d = len(self.conditions)
        digits = [pattern.satisfied for pattern in self.data]
        if not digits or any(len(own) != d or own.strip("01") for own in digits):
            raise _corrupt_record(f"rows that do not say which of {d} conditions they satisfy")
        if any(a >= b for a, b in pairwise(digits)):
            raise _corrupt_record("the same rows twice, or not in order")
        for pattern in self.data:
            check_integer("n", pattern.n, 1, 2**53 // len(self.data))
            check_integer("hits", pattern.hits, 0, pattern.n)
        patterns = np.array([[digit == "1" for digit in own] for own in digits], dtype=bool)
        return ObservedPatterns(
            patterns.reshape(len(digits), d),
            np.array([pattern.n for pattern in self.data], dtype=np.int64),
            np.array([pattern.hits for pattern in self.data], dtype=np.int64),
        )

    def counts_read(self, conditions: Conditions, observed: ObservedPatterns) -> RuleCounts:
        """Return the counts of every rule: as stored, or from the rows of the data."""
        if self.distribution == "observed":
            if self.n_rows is not None or self.hits is not None:
                raise _corrupt_record("counts of perturbed rows where rows are observed")
            return count_observed(conditions, observed, self.largest, progress=False)
        if self.n_rows is None or self.hits is None:
            raise _corrupt_record("no counts of perturbed rows")
        n_rows = check_integer("n_rows", self.n_rows)
        lattice, sizes = Lattice(len(conditions)), conditions.sizes(self.largest)
        if [len(level) for level in self.hits] != [lattice.width(size) for size in sizes]:
            raise _corrupt_record(f"counts for other sets than those of {lattice.d} conditions")
        if any(not 0 <= hit <= n_rows for level in self.hits for hit in level):
            raise _corrupt_record(f"a count of other than 0 to {n_rows} rows")
        hits = tuple(np.array(level, dtype=np.int64) for level in self.hits)
        n = tuple(
            n_rows * conditions.are_rules(lattice.held(size), self.largest).astype(np.int64)
            for size in sizes
        )
        if any((own > of).any() for own, of in zip(hits, n, strict=True)):
            raise _corrupt_record("a count for a set of conditions that is no rule")
        return RuleCounts(lattice.d, hits, n)


def condition_records(conditions: Conditions) -> list[ConditionRecord]:
    """Return the conditions in their stored form."""
    return [ConditionRecord(c.feature, c.factor, c.tightens) for c in conditions]  # type: ignore[arg-type]


def pattern_records(observed: ObservedPatterns) -> list[PatternRecord]:
    """Return the stored form of rows, grouped by the conditions that they satisfy."""
    return [
        PatternRecord("".join("01"[int(held)] for held in pattern), int(n), int(hits))
        for pattern, n, hits in zip(observed.patterns, observed.n, observed.hits, strict=True)
    ]


def _corrupt_record(got: str) -> InputError:
    return InputError("text", got, "JSON written by AnchorRules.to_json")


# The result for one input: every τ-minimal rule, and everything else that follows from the counts.


_RULES_SHOWN = 5
_PRECISION_OF = {
    "perturbed": "of the data's rows, changed to meet the rule",
    "observed": "of the data's rows that meet the rule",
}


@dataclass(frozen=True, eq=False, repr=False)
class AnchorRules(Result, Sequence[Rule]):
    """Result of `anchor`: every τ-minimal rule of one input, the one that covers most first.

    A sequence of rules. No method calls the model: another τ or α, or any other rule of the same
    conditions, is read from counts.
    """

    plots = ("rule",)

    stored: ClassVar[type] = RulesRecord

    outcome: str
    """The outcome, in words, that the rules suffice for."""
    tau: float
    alpha: float | None
    distribution: Distribution
    """Rows that precision is a share of: "perturbed" to satisfy the rule, or "observed"."""
    conditions: Conditions
    """Conditions that rules are made of."""
    largest: int
    """The most features that a rule may use."""
    counts: RuleCounts
    """Counts of every rule over the distribution."""
    observed: ObservedPatterns
    """The rows of the data, by the conditions that they satisfy."""

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """τ-minimal rules: the widest coverage first, then the surer, then the shorter."""
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
        one inside A, A itself included, that still has PS >= τ. The conditions of B are among those
        of A, so every row that satisfies A satisfies B, and B covers no less. None if no rule
        reaches τ.
        """
        return self.rules[0] if self.rules else None

    @property
    def complete(self) -> bool:
        """True if every rule of these conditions was counted."""
        return self.largest >= len(self.conditions.features)

    @property
    def reason(self) -> str | None:
        """Reason why there is no rule, and what to change; None where there is one."""
        if self.rules:
            return None
        top = self.counts.best(self._ladder)
        said = format_rule(self.conditions.factor(top.members))
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
        """Return the rules at another τ, or with another test, from the same counts."""
        return replace(
            self,
            tau=self.tau if tau is None else check_tau(tau),
            alpha=check_alpha_or_same(alpha, self.alpha),
        )

    def rule(self, *features: str) -> Rule:
        """Return the rule of all conditions on these features, minimal or not."""
        known = self.conditions.features
        asked = {known[f] for f in Players(known, ()).indices(features)}
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
        title = f"Rules for “{self.outcome}”"
        notes = () if self.complete else ("Larger rules were not looked at (max_size).",)
        if self.best is None:
            return Sheet(title, lead=(str(self.reason),), notes=notes)
        tested = "" if self.alpha is None else f", tested at α = {self.alpha:g}"
        found = f"{plural(len(self), 'rule')} of precision at least {self.tau:g}{tested}"
        lead = (
            f"If {self.best.words}, the outcome is the same in {percent(self.best.precision)} of "
            f"cases. {percent(self.best.coverage)} of the data meet this rule.",
        )
        columns = (
            Column("precision", "share"),
            Column("coverage", "share"),
            Column("recall", "share"),
            Column("lift", "number"),
            Column("if"),
        )
        shown = self.rules[:_RULES_SHOWN]
        panel = Panel(
            columns,
            tuple((r.precision, r.coverage, r.necessity, r.necessity_lift, r.words) for r in shown),
            heading=f"{found}, from which nothing can be left out",
            more=OmittedRows(len(self) - len(shown), ".rules"),
        )
        meaning = (
            f"Precision: {_PRECISION_OF[self.distribution]}, the share with the outcome. Coverage: "
            "the share of the data that meets the rule. Recall: the share of the data with the "
            "outcome that meets it, which is the rule's necessity. Lift: recall divided by "
            "coverage, which chance gives."
        )
        return Sheet(title, lead, (panel,), (*notes, meaning))

    def to_frame(self) -> Any:
        """Return the rules as a pandas frame, with a row each."""
        return rules_frame(self.rules)

    def __eq__(self, other: object) -> bool:
        """Compare questions and counts."""
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
            condition_records(self.conditions),
            pattern_records(self.observed),
            int(self.counts.n[0][0]) if perturbed else None,
            [level.tolist() for level in self.counts.hits] if perturbed else None,
        )

    @classmethod
    def _from_record(cls, record: RulesRecord) -> AnchorRules:
        conditions, observed = record.conditions_read(), record.data_read()
        return AnchorRules(
            record.outcome,
            check_tau(record.tau),
            check_alpha(record.alpha),
            record.distribution,
            conditions,
            record.largest,
            record.counts_read(conditions, observed),
            observed,
        )

    @cached_property
    def _ladder(self) -> Ladder:
        return self.counts.ladder(self.alpha)

    def _rules(self, found: Sequence[CountedRule]) -> list[Rule]:
        held = held_of_members([rule.members for rule in found], len(self.conditions))
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
