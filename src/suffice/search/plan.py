"""What a search will do, told before it is done: which way, how long, and what would give more.

`search="auto"` counts every set where that is predicted to take seconds. Where it is not, every set
is decided at the τ asked for if that takes seconds: by streaming the lattice, or with few rows.
Else the search is an anytime one: it returns the best sets it has verified when its time is over,
and says what it did not look at.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any, Literal

import numpy as np

from suffice.context.hybrids import Hybrids
from suffice.context.swap import SwapHybrids
from suffice.evaluate import Evaluator, Idle, LatticeEvaluator
from suffice.factors.lattice import Lattice
from suffice.randomness import Stream, generator
from suffice.results import Column, Frozen, Panel, Result, Sheet
from suffice.search.limits import EXHAUSTIVE_PLAYERS, STREAMED_PLAYERS, Limits
from suffice.search.question import Question
from suffice.typing import Scalar
from suffice.wording import count, duration, large

__all__ = ["PATIENCE", "More", "Narrowed", "Plan", "Way", "make_plan"]

Way = Literal["exhaustive", "streamed", "bounds", "pruned", "greedy", "anytime"]
"""How the sets are searched: "streamed" is exhaustive at one τ, "anytime" the best within a time;
the others are what `search=` calls them."""

PATIENCE = 10.0
"""Seconds that a first answer may take where no limit is given."""

_SECONDS_PER_HYBRID = 1.5e-7
"""What it takes to tell a hybrid from others, whether or not the model is asked about it."""

_SECONDS_PER_SET = 1e-6
"""What it takes to read both views from a set's count, and the cheapest changes."""

_SECONDS_PER_STREAMED_SET = 3e-8
"""What it takes to decide a set at one τ from its count, 64 of them to a word."""

_BYTES_PER_SET = 56
"""Counts and intervals of both views; the outcomes come on top, a bit for each reference."""

_HOPELESS = 1e5
"""Seconds by the pace at hand: no closer look makes that seconds."""

_MOMENT = 0.5
"""Seconds that a closer look at a model's pace may take, or a few times as many."""

_MANY_ROWS = 1 << 12

_PRUNED_SHARE = 0.35
"""Of the distinct rows: what a pruned search asks about, with room to spare."""

_AT_ONCE = 1 << 22
"""So few hybrids are no work for an engine: how fast it is need not be measured."""

_COUNTED = 900
"""Players: past so many, the number of their sets is no float any more."""

_NEVER = 1e300
"""Seconds, or sets: past all waiting, and still a number that can be stored."""


@dataclass(frozen=True, eq=False)
class Narrowed:
    """A question about those players that may matter."""

    hybrids: tuple[Hybrids, Hybrids]
    """Of the keep view and of the flip view."""
    question: Question
    players: tuple[int, ...]
    """The numbers that its players have among all."""
    idle: Mapping[int, Idle]
    """Those that were left out, and why."""

    @classmethod
    def of_all(cls, hybrids: tuple[Hybrids, Hybrids], question: Question) -> Narrowed:
        """No player is left out."""
        return cls(hybrids, question, tuple(range(hybrids[0].d)), {})


@dataclass(frozen=True)
class More:
    """One call that would give more, and about how long it would take."""

    arguments: Mapping[str, Scalar]
    """What to ask with; `groups` and `n_references` are said when the explainer is made."""
    seconds: float
    complete: bool
    """Would that be every set there is?"""

    def __post_init__(self) -> None:
        object.__setattr__(self, "arguments", Frozen(self.arguments))

    def __str__(self) -> str:
        return self.told({})

    def told(self, names: Mapping[str, str]) -> str:
        """The call; `names` has options in place of arguments, where a command was called.

        >>> More({"time_limit": 60.0}, 60, complete=False).told({})
        'explain(x, time_limit=60)'
        >>> More({"groups": "auto"}, 0.2, complete=True).told({"groups": "--auto-groups"})
        '--auto-groups'
        """
        if any(name in names for name in self.arguments):
            return " ".join(_option(names[name], v) for name, v in self.arguments.items())
        given = ", ".join(
            f"{name}={value!r}" if isinstance(value, str) else f"{name}={_shown(value)}"
            for name, value in self.arguments.items()
        )
        made = "groups" in self.arguments or "n_references" in self.arguments
        return f"Explainer(model, data, {given})" if made else f"explain(x, {given})"


@dataclass(frozen=True, repr=False)
class Plan(Result):
    """How a question will be searched, and what that is predicted to take.

    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from suffice import Explainer, datasets
    >>> X, y = datasets.loans()
    >>> X = X[["age", "income", "debt", "late payments"]]
    >>> model = RandomForestClassifier(random_state=0).fit(X, y)
    >>> plan = Explainer(model, X).plan(X.iloc[8])
    >>> plan.way, plan.players, plan.complete
    ('exhaustive', 4, True)
    """

    asked: str
    """The search as it was asked for."""
    way: Way
    players: int
    left_out: int
    """Players that cannot matter here, besides."""
    references: int
    evaluator: str
    complete: bool
    """Will the answer be every set there is, if the prediction holds?"""
    every_tau: bool
    """Will every τ be answered, or the one asked for?"""
    seconds: float
    """Predicted; of a search that ends with its time, that time."""
    exhaustive_seconds: float
    """Predicted for every set, whether or not that is done: to count it, or beyond what memory
    holds to decide it at this τ."""
    limits: Limits = field(default_factory=Limits)
    more: tuple[More, ...] = ()
    """Calls that would give more, the quickest first; none where the answer is complete."""
    copies: tuple[tuple[str, ...], ...] = ()
    """Features that are perfect copies of each other in the data, where that was looked for."""

    @property
    def sets(self) -> int:
        """How many sets of players there are."""
        return 1 << self.players

    @property
    def sheet(self) -> Sheet:
        """The plan in words."""
        calls = tuple((str(more), more.complete, duration(more.seconds)) for more in self.more)
        columns = Column("what would give more"), Column("complete"), Column("takes about")
        return Sheet(
            f"Plan: {self.told()}",
            (self._size(),),
            (Panel(columns, calls),) if calls else (),
            tuple(f"Copies of each other: {', '.join(names)}." for names in self.copies),
        )

    def told(self) -> str:
        """What will be done, in a sentence."""
        if self.way == "anytime":
            return f"{_WAYS[self.way]} within {duration(self.seconds)}."
        return f"{_WAYS[self.way]}, {_in(self.seconds)}."

    def _size(self) -> str:
        left = f" ({self.left_out} more cannot matter here)" if self.left_out else ""
        return (
            f"{count(self.players, 'feature')}{left}, so {large(self.sets)} sets, against "
            f"{count(self.references, 'reference')}, by {self.evaluator}: all of them would be "
            f"counted {_in(self.exhaustive_seconds)}."
        )

    def to_frame(self) -> Any:
        """This plan, and below it what would give more, as a pandas frame."""
        import pandas as pd

        rows: list[tuple[str, float, bool]] = [(self.way, self.seconds, self.complete)]
        rows += [(str(m), m.seconds, m.complete) for m in self.more]
        return pd.DataFrame(rows, columns=["call", "seconds", "complete"])

    def __repr__(self) -> str:
        return f"<Plan: {self.told()}>"


_WAYS: dict[Way, str] = {
    "exhaustive": "every set is counted",
    "streamed": "every set is decided at this τ",
    "bounds": "sets are decided at this τ in bulk, by bounds",
    "pruned": "every set is decided at this τ, with few model rows",
    "greedy": "small sets are counted, larger ones looked for from many starts",
    "anytime": "the best sets that can be verified",
}


def make_plan(asked: str, evaluator: Evaluator, narrowed: Narrowed) -> Plan:
    """Choose how to search: as asked, or for "auto" by what it is predicted to take."""
    question, hybrids = narrowed.question, narrowed.hybrids
    limits, d = question.limits, hybrids[0].d
    sweeping = _sweep_seconds(evaluator, narrowed, may_ask=asked == "auto")
    counting = sweeping + _sets(d) * _SECONDS_PER_SET
    streaming = sweeping + _sets(d) * _SECONDS_PER_STREAMED_SET
    plan = Plan(
        asked=asked,
        way="anytime",
        players=d,
        left_out=len(narrowed.idle),
        references=evaluator.n,
        evaluator=evaluator.name,
        complete=False,
        every_tau=False,
        seconds=limits.time_limit or PATIENCE,
        exhaustive_seconds=counting if d <= EXHAUSTIVE_PLAYERS else streaming,
        limits=limits,
    )
    if asked != "auto":
        return _as_asked(plan, evaluator)
    return _automatic(plan, evaluator, hybrids[0], question, streaming)


def _as_asked(plan: Plan, evaluator: Evaluator) -> Plan:
    """The way that was named."""
    limits, seconds = plan.limits, plan.exhaustive_seconds
    streams = isinstance(evaluator, LatticeEvaluator) and plan.players <= STREAMED_PLAYERS
    if plan.asked in ("exhaustive", "pruned") and not streams:
        limits.checked(plan.players)
    took = min(seconds, limits.time_limit or np.inf)
    whole = limits.none
    if plan.asked == "exhaustive":
        # An engine can go on where memory ends.
        beyond = whole and plan.players > EXHAUSTIVE_PLAYERS
        way: Way = "streamed" if beyond else "exhaustive"
        return replace(plan, way=way, complete=whole, every_tau=not beyond, seconds=took)
    if plan.asked == "pruned":
        return replace(plan, way="pruned", complete=whole, seconds=took * _PRUNED_SHARE)
    way = "bounds" if plan.asked == "bounds" else "greedy"
    return replace(plan, way=way, seconds=took)


def _automatic(
    plan: Plan, evaluator: Evaluator, hybrids: Hybrids, question: Question, streaming: float
) -> Plan:
    limits, seconds, d = plan.limits, plan.exhaustive_seconds, plan.players
    patience = limits.time_limit or PATIENCE
    if limits.max_size is not None and limits.max_size < d:
        # Small sets only: that is what was asked for, so all of them, or those there is time for.
        sets = 2 * sum(Lattice(d).width(size) for size in range(limits.max_size + 1))
        predicted = seconds * (sets / plan.sets) if d <= _COUNTED else _NEVER
        bounded = limits if limits.time_limit or limits.budget else _by_default(limits, predicted)
        took = min(predicted, patience)
        return replace(plan, way="exhaustive", every_tau=True, seconds=took, limits=bounded)
    rows = plan.sets * plan.references if d <= _COUNTED else np.inf
    affordable = limits.budget is None or rows <= limits.budget
    if d <= EXHAUSTIVE_PLAYERS and affordable and seconds <= patience and _fits(plan):
        return replace(plan, way="exhaustive", complete=True, every_tau=True, seconds=seconds)
    lattice = isinstance(evaluator, LatticeEvaluator) and limits.budget is None
    few_tests = question.adjust in ("none", "bonferroni")
    if lattice and d <= STREAMED_PLAYERS and streaming <= patience and few_tests:
        return replace(plan, way="streamed", complete=True, seconds=streaming)
    swapped = isinstance(hybrids, SwapHybrids) and not isinstance(evaluator, LatticeEvaluator)
    rows_alone = _PRUNED_SHARE * seconds
    if swapped and d <= 16 and affordable and few_tests and rows_alone <= patience:
        return replace(plan, way="pruned", complete=True, seconds=rows_alone)
    bounded = _by_default(limits, np.inf) if limits.none else limits
    # A correction for many tests needs to know how many there are: small sets, as far as time goes.
    way: Way = "anytime" if question.adjust == "none" else "exhaustive"
    return replace(plan, way=way, seconds=patience, limits=bounded)


def _by_default(limits: Limits, predicted: float) -> Limits:
    """The same limits, and the time that a first answer may take, unless it will take less."""
    if predicted <= PATIENCE:
        return limits
    return replace(limits, time_limit=PATIENCE, unasked=True)


def _sweep_seconds(evaluator: Evaluator, narrowed: Narrowed, may_ask: bool) -> float:
    """Predicted for the outcomes of all sets: by asking the model, or by an engine's sweep.

    Where something hangs on it, the model may be asked about a few rows to see how fast it is.
    """
    hybrids, n, sets = narrowed.hybrids, evaluator.n, _sets(narrowed.hybrids[0].d)
    if sets == _NEVER:
        return _NEVER
    if isinstance(evaluator, LatticeEvaluator):
        few = sets * n <= _AT_ONCE or hybrids[0].d > STREAMED_PLAYERS
        return sets * n * _SECONDS_PER_HYBRID if few else evaluator.sweep_seconds()
    sweeps = 1 if hybrids[0] is hybrids[1] else 2
    rows, finding = _distinct(hybrids[0], sets), sets * n * _SECONDS_PER_HYBRID
    predicted = sweeps * (rows * (evaluator.pace() or 0.0) + finding)
    clear = predicted <= PATIENCE or predicted > _HOPELESS
    if clear or not may_ask or narrowed.question.limits.budget is not None:
        return predicted
    # A pace taken from a few rows is mostly the price of a call: look again before giving up.
    return sweeps * (rows * _pace_of_many(evaluator, hybrids[0].d) + finding)


def _pace_of_many(evaluator: Evaluator, d: int) -> float:
    """Seconds a row, in calls of more and more rows until that no longer falls, or takes long."""
    rng, rows, pace, total = generator(0, Stream.PACE), 1, np.inf, 0.0
    while rows < _MANY_ROWS and total < _MOMENT:
        rows *= 4
        held = rng.random((rows, d)) < 0.5
        references = rng.integers(evaluator.n, size=rows)
        started = perf_counter()
        evaluator.outcomes_of(held, references)
        took = perf_counter() - started
        before, pace, total = pace, took / rows, total + took
        if pace > before / 2:
            break
    return pace


def _sets(d: int) -> float:
    """How many there are, as long as that is a float."""
    return float(1 << d) if d <= _COUNTED else _NEVER


def _distinct(hybrids: Hybrids, sets: float) -> float:
    """The most distinct rows: a reference that shares values with the input makes fewer."""
    if not isinstance(hybrids, SwapHybrids):
        return sets * hybrids.n
    moved = (hybrids.codes[1:] != hybrids.codes[0]).sum(axis=1)
    return float(np.exp2(moved).sum())


def _fits(plan: Plan) -> bool:
    """Is there memory for the counts and outcomes of all sets, with as much left over?"""
    try:
        free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):  # a system that does not tell
        free = 1 << 32
    return plan.sets * (_BYTES_PER_SET + plan.references / 8) <= free / 2


def _in(seconds: float) -> str:
    told = duration(seconds)
    return f"in {told}" if told[0] in "uo" else f"in about {told}"


def _option(name: str, value: Scalar) -> str:
    """An option of a command; one that says its value already is a flag."""
    return name if str(value) in name.split("-") else f"{name} {_shown(value)}"


def _shown(value: Scalar) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
