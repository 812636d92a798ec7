"""The stored form of the rules about one input: counts, not conclusions.

Rules at any τ follow from how often every rule held with the outcome. Over the data that is told by
the sets of conditions that rows satisfy; only perturbed rows need a count for each rule.
"""

from __future__ import annotations

from itertools import pairwise

import msgspec
import numpy as np

from suffice.checks import whole
from suffice.encodings.anchors.conditions import Condition, Conditions
from suffice.encodings.anchors.counts import Observed, RuleCounts, count_observed
from suffice.encodings.anchors.rule import Distribution
from suffice.errors import InputError
from suffice.factors.kinds import AnyFactor
from suffice.factors.lattice import Lattice
from suffice.search.limits import EXHAUSTIVE_PLAYERS
from suffice.wording import large

__all__ = ["RulesRecord", "stored_conditions", "stored_rows"]


class ConditionRecord(msgspec.Struct, frozen=True):
    """A condition, and whether it asks more of what the one before it asks."""

    feature: str
    factor: AnyFactor
    tightens: bool


class PatternRecord(msgspec.Struct, frozen=True):
    """Rows of the data that satisfy the same conditions."""

    satisfied: str
    """A digit per condition."""
    n: int
    hits: int
    """How many of the n have the outcome."""


class RulesRecord(msgspec.Struct, frozen=True):
    """Everything that an answer is made of."""

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
        """What rules are made of; an error where there are more sets of it than can be counted."""
        found = Conditions(Condition(c.feature, c.factor, c.tightens) for c in self.conditions)
        for before, condition in pairwise([None, *found]):
            if condition.tightens and (before is None or before.feature != condition.feature):
                raise _amiss(f"a condition on {condition.feature!r} that tightens no other")
        whole("largest", self.largest, 0, len(found.features))
        if (sets := found.sets(self.largest)) > 1 << EXHAUSTIVE_PLAYERS:
            raise _amiss(f"{large(sets)} sets of conditions")
        return found

    def data_read(self) -> Observed:
        """The rows of the data, by the conditions that they satisfy."""
        d = len(self.conditions)
        digits = [pattern.satisfied for pattern in self.data]
        if not digits or any(len(own) != d or own.strip("01") for own in digits):
            raise _amiss(f"rows that do not say which of {d} conditions they satisfy")
        if any(a >= b for a, b in pairwise(digits)):
            raise _amiss("the same rows twice, or not in order")
        for pattern in self.data:
            whole("n", pattern.n, 1, 2**53 // len(self.data))
            whole("hits", pattern.hits, 0, pattern.n)
        patterns = np.array([[digit == "1" for digit in own] for own in digits], dtype=bool)
        return Observed(
            patterns.reshape(len(digits), d),
            np.array([pattern.n for pattern in self.data], dtype=np.int64),
            np.array([pattern.hits for pattern in self.data], dtype=np.int64),
        )

    def counts_read(self, conditions: Conditions, observed: Observed) -> RuleCounts:
        """Of every rule: as they were stored, or from the rows of the data."""
        if self.distribution == "observed":
            if self.n_rows is not None or self.hits is not None:
                raise _amiss("counts of perturbed rows where rows are observed")
            return count_observed(conditions, observed, self.largest, progress=False)
        if self.n_rows is None or self.hits is None:
            raise _amiss("no counts of perturbed rows")
        n_rows = whole("n_rows", self.n_rows)
        lattice, sizes = Lattice(len(conditions)), conditions.sizes(self.largest)
        if [len(level) for level in self.hits] != [lattice.width(size) for size in sizes]:
            raise _amiss(f"counts for other sets than those of {lattice.d} conditions")
        if any(not 0 <= hit <= n_rows for level in self.hits for hit in level):
            raise _amiss(f"a count of other than 0 to {n_rows} rows")
        hits = tuple(np.array(level, dtype=np.int64) for level in self.hits)
        n = tuple(
            n_rows * conditions.are_rules(lattice.held(size), self.largest).astype(np.int64)
            for size in sizes
        )
        if any((own > of).any() for own, of in zip(hits, n, strict=True)):
            raise _amiss("a count for a set of conditions that is no rule")
        return RuleCounts(lattice.d, hits, n)


def stored_conditions(conditions: Conditions) -> list[ConditionRecord]:
    """What rules are made of, to be stored."""
    return [ConditionRecord(c.feature, c.factor, c.tightens) for c in conditions]  # type: ignore[arg-type]


def stored_rows(observed: Observed) -> list[PatternRecord]:
    """The rows of the data, by the conditions that they satisfy."""
    return [
        PatternRecord("".join("01"[int(held)] for held in pattern), int(n), int(hits))
        for pattern, n, hits in zip(observed.patterns, observed.n, observed.hits, strict=True)
    ]


def _amiss(got: str) -> InputError:
    return InputError("text", got, "JSON written by AnchorRules.to_json")
