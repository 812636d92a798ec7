"""From a decision and a question to the explanation: search, read both views, price the flips."""

from __future__ import annotations

import platform
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from time import perf_counter
from typing import Any, Literal

from suffice.context.cost import CostSpec
from suffice.context.swap import SwapHybrids
from suffice.decision import Decision
from suffice.evaluate import Evaluator
from suffice.explanation.changes import find_changes
from suffice.explanation.explanation import Explanation, mirrored
from suffice.explanation.factor import LeftOut, Player
from suffice.explanation.record import ContextRecord, Provenance, ReferencesRecord
from suffice.search import LimitKeeper, Question
from suffice.search.answer import Answer
from suffice.search.idle import WORTH_LOOKING, narrow
from suffice.search.limits import Limits
from suffice.search.plan import Narrowed, Plan, make_plan
from suffice.search.strategy import VIEW_ENDS, answer
from suffice.tables import plain

__all__ = [
    "Asking",
    "Prepared",
    "describe_cost",
    "describe_references",
    "explain_decision",
    "prepare",
    "versions",
]


@dataclass(frozen=True)
class Asking:
    """What is asked of a decision, and in which way its sets are to be searched."""

    question: Question
    how: str


def explain_decision(
    decision: Decision,
    asking: Asking,
    references: Any,
    started: float,
    ready: Prepared | None = None,
) -> Explanation:
    """Search in the way named, and read both views from the counts.

    `references` is how they were chosen, for the record; the time limit counts from `started`.
    `ready` is the question prepared, where that was done before.
    """
    ready = ready or prepare(decision, asking)
    narrowed, plan = ready.narrowed, ready.plan
    hybrids, question = narrowed.hybrids, narrowed.question
    one_sweep = hybrids[0] is hybrids[1]
    sets = (2 if plan.way == "greedy" else 1) * (2 - one_sweep)
    question.limits.check_budget(hybrids[0].n, sets)
    keeper = LimitKeeper(question.limits, started=started)
    keeper.note(sum(evaluator.rows_predicted for evaluator in ready.evaluators))
    if one_sweep:
        searches = [Searched(ready.evaluators[0], ready.search(0, question, keeper))]
    else:  # half of what is allowed goes to the first view, what is left to the second
        searches = [
            Searched(
                evaluator,
                ready.search(view, replace(question, ends=VIEW_ENDS[view]), keeper.part(share)),
            )
            for view, (evaluator, share) in enumerate(
                zip(ready.evaluators, (0.5, 1.0), strict=True)
            )
        ]
    kept, flipped = searches[0].answer, searches[-1].answer

    event = decision.target.event
    described = _describe_players(decision)
    players = tuple(described[p] for p in narrowed.players)
    flip = mirrored(flipped.keep, flipped.flip_findings)
    changes, cheapest = find_changes(decision, narrowed, flipped, flip, players)
    return Explanation(
        prediction=plain(decision.prediction),
        score=decision.own_score,
        outcome=event.describe(decision.y),
        other_outcome=event.describe(not decision.y),
        players=players,
        tau=question.tau,
        keep_profile=kept.keep,
        flip_profile=flip,
        provenance=_provenance(decision, plan, searches, references, perf_counter() - started),
        stopped=kept.stopped or flipped.stopped,
        changes=changes,
        cheapest=cheapest,
        one_sweep=one_sweep,
        left_out=tuple(LeftOut(described[p], why) for p, why in narrowed.idle.items()),
    )


def _narrowed(decision: Decision, question: Question) -> Narrowed:
    """The question without players that cannot matter, where looking for them can pay."""
    hybrids = decision.hybrids[0]
    # A text or a picture shows all its parts.
    shown = not decision.context.is_swap
    if shown or not isinstance(hybrids, SwapHybrids) or hybrids.d <= WORTH_LOOKING:
        return Narrowed.of_all(decision.hybrids, question)
    evaluator = decision.evaluator(hybrids, question.limits)
    return narrow(hybrids, question, evaluator)


@dataclass(frozen=True, eq=False)
class Prepared:
    """A question that is ready to be searched."""

    narrowed: Narrowed
    evaluators: tuple[Evaluator, ...]
    """Of the keep view and of the flip view; one where both read the same hybrids."""
    plan: Plan

    def search(self, view: int, question: Question, keeper: LimitKeeper) -> Answer:
        """Search one view's hybrids, or both views' at once."""
        evaluator, hybrids = self.evaluators[view], self.narrowed.hybrids[view]
        return answer(self.plan.way, evaluator, hybrids, question, keeper)


def prepare(decision: Decision, asking: Asking) -> Prepared:
    """Leave out what cannot matter, choose evaluators, and plan the search."""
    question, how = asking.question, asking.how
    narrowed = _narrowed(decision, question)
    limits = question.limits
    whole = how in ("auto", "exhaustive") and limits.max_size is None and limits.budget is None
    evaluators = _evaluators(decision, narrowed, limits, whole)
    plan = make_plan(how, evaluators[0], narrowed)
    sweeps = plan.way in ("exhaustive", "streamed") and plan.limits.none
    if (plan.limits, sweeps) != (limits, whole):
        evaluators = _evaluators(decision, narrowed, plan.limits, sweeps)
        bounded = replace(narrowed.question, limits=plan.limits)
        narrowed = replace(narrowed, question=bounded)
    if how == "auto" and not plan.complete:
        from suffice.explanation.more import with_more

        plan = with_more(plan, decision, narrowed)
    return Prepared(narrowed, evaluators, plan)


def _evaluators(
    decision: Decision, narrowed: Narrowed, limits: Limits, whole: bool
) -> tuple[Evaluator, ...]:
    views = dict.fromkeys(narrowed.hybrids)
    return tuple(decision.evaluator(hybrids, limits, whole) for hybrids in views)


@dataclass(frozen=True, eq=False)
class Searched:
    """What one search found, and by which evaluator."""

    evaluator: Evaluator
    answer: Answer

    @property
    def hybrids(self) -> int:
        """Hybrids whose outcome was worked out."""
        tally, findings = self.answer.keep.tally, self.answer.keep.findings
        if tally.complete or (findings is not None and findings.covered is not None):
            return tally.n << tally.d
        # A search that decides without counting knows at least what it asked.
        return max(tally.visited * tally.n, self.evaluator.rows_predicted)


def _describe_players(decision: Decision) -> tuple[Player, ...]:
    names, players = decision.data.names, decision.players
    values = decision.inputs.cells(decision.place)
    return tuple(
        Player(name, {names[j]: values[j] for j in columns})
        for name, columns in zip(players.names, players.columns, strict=True)
    )


def _provenance(
    decision: Decision, plan: Plan, searches: list[Searched], references: Any, seconds: float
) -> Provenance:
    evaluators = [searched.evaluator for searched in searches]
    first, data = evaluators[0], decision.data
    return Provenance(
        model=repr(decision.target.model),
        evaluator=first.name,
        note=first.note,
        references=describe_references(references),
        n_references=first.n,
        random_state=decision.seed,
        hybrids=sum(searched.hybrids for searched in searches),
        rows_predicted=sum(evaluator.rows_predicted for evaluator in evaluators),
        data=(len(data), len(data.names)),
        cost=describe_cost(decision.cost),
        created=datetime.now(UTC),
        seconds=seconds,
        model_seconds=sum(evaluator.model_seconds for evaluator in evaluators),
        versions=versions(),
        context=ContextRecord(decision.context.kind, decision.context.describe()),
        plan=plan,
    )


def describe_references(spec: object) -> ReferencesRecord:
    """How references were chosen."""
    if not isinstance(spec, str):
        return ReferencesRecord("given", f"given as {type(spec).__name__}")
    if spec == "all":
        return ReferencesRecord("all", "the whole data")
    return ReferencesRecord("opposite", "predicted otherwise")


def describe_cost(cost: CostSpec) -> Literal["deviations", "weighted", "own"]:
    """What a change costs, in a word."""
    return "own" if callable(cost) else "weighted" if cost else "deviations"


@lru_cache(maxsize=1)
def versions() -> dict[str, str]:
    """Of what the numbers depend on."""
    from importlib.metadata import version

    names = ("suffice", "numpy", "pandas", "scikit-learn")
    return {"python": platform.python_version()} | {name: version(name) for name in names}
