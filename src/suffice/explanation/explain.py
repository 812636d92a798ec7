"""Explain one decision: plan and run the search, read both views, price changes, provenance."""

from __future__ import annotations

import platform
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache, partial
from time import perf_counter
from typing import Any, Literal

import numpy as np

from suffice.context.cost import CostSpec
from suffice.context.hybrids import Context, SwapHybrids
from suffice.context.players import association_matrix, cluster_columns, duplicate_columns
from suffice.decision import INPUT_ROWS_AGAIN, Decision
from suffice.engines import Evaluator, IdlePlayerEvaluator
from suffice.explanation.cheapest_changes import find_cheapest_changes
from suffice.explanation.explanation import Explanation
from suffice.explanation.schema import ContextRecord, Provenance, ReferencesRecord
from suffice.explanation.sufficient_factor import LeftOutFeature, Player
from suffice.factors.lattice import Lattice
from suffice.search import LimitKeeper, Question
from suffice.search.findings import Findings, FoundSet
from suffice.search.limits import STREAMED_PLAYERS, Limits
from suffice.search.plan import (
    DEFAULT_TIME_LIMIT,
    Plan,
    SearchTask,
    Suggestion,
    Suggestions,
    drop_idle_players,
    make_plan,
    may_drop_idle_players,
)
from suffice.search.strategies import SearchResult, run_search
from suffice.tables import as_scalar
from suffice.typing import VIEWS, Outcomes


@dataclass(frozen=True)
class SearchRequest:
    """Question about a decision, and the method of search."""

    question: Question
    how: str


def explain_decision(
    decision: Decision,
    asking: SearchRequest,
    references: Any,
    started: float,
    ready: PreparedSearch | None = None,
    spent: int | None = None,
) -> Explanation:
    """Search in the way named, and read both views from the counts.

    `references` is how they were chosen, for the record; the time limit counts from `started`.
    `ready` is the question prepared, where that was done before. `spent` are rows that the model
    predicted for this question before; None: those for the input itself.
    """
    ready = ready or prepare_search(decision, asking)
    spent = (decision.rows_predicted if spent is None else spent) + ready.spent
    # Whether an engine or the model predicted the input depends on what was explained before: a
    # budget is charged for either, so that it leaves as many rows to the search.
    charged = spent + decision.rows_by_engine
    narrowed, plan = ready.narrowed, ready.plan
    hybrids, question = narrowed.hybrids, narrowed.question
    one_sweep = hybrids[0] is hybrids[1]
    sets = (2 if plan.way == "greedy" else 1) * (2 - one_sweep)
    score = decision.own_score
    question.limits.check_budget(hybrids[0].n, sets, charged)
    keeper = LimitKeeper(question.limits, started=started)
    keeper.note(charged + sum(evaluator.rows_predicted for evaluator in ready.evaluators))
    if one_sweep:
        searches = [FinishedSearch(ready.evaluators[0], ready.search(0, question, keeper))]
    else:  # half of what is allowed goes to the first view, what is left to the second
        searches = [
            FinishedSearch(
                evaluator,
                ready.search(view, replace(question, views=(VIEWS[view],)), keeper.part(share)),
            )
            for view, (evaluator, share) in enumerate(
                zip(ready.evaluators, (0.5, 1.0), strict=True)
            )
        ]
    if narrowed.idle and any(s.evaluator.name != plan.evaluator for s in searches):
        # The model disagreed with the engine's reading of it, which had named the idle features.
        spent += sum(searched.evaluator.rows_predicted for searched in searches)
        return explain_decision(decision, asking, references, started, spent=spent)
    lost = any(_lost_input(searched) for searched in searches)
    room = keeper.within_budget().forbids(INPUT_ROWS_AGAIN) is None
    if lost and room and question.alpha is None:
        rows_again = decision.require_same_prediction()
        keeper.note(rows_again)
        spent += rows_again
    kept, flipped = searches[0].answer, searches[-1].answer

    event = decision.target.event
    described = _describe_players(decision)
    players = tuple(described[p] for p in narrowed.players)
    flip = flipped.keep.other_view(flipped.flip_findings)
    evaluator = searches[-1].evaluator  # it counts the rows that it predicts
    rows = keeper.rows - evaluator.rows_predicted
    changes, cheapest, directions = find_cheapest_changes(
        decision,
        narrowed,
        flipped,
        flip,
        players,
        evaluator,
        keeper,
        _may_ask_recourse(decision, asking),
    )
    rows = keeper.rows - evaluator.rows_predicted - rows
    return Explanation(
        prediction=as_scalar(decision.prediction),
        score=score,
        outcome=event.describe(decision.y),
        other_outcome=event.describe(not decision.y),
        players=players,
        tau=question.tau,
        keep_profile=kept.keep,
        flip_profile=flip,
        provenance=_make_provenance(
            decision, plan, searches, references, perf_counter() - started, spent + rows
        ),
        stopped=kept.stopped or flipped.stopped,
        changes=changes,
        cheapest=cheapest[0] if cheapest else None,
        cheapest_ties=cheapest[1:],
        directions=directions,
        one_sweep=one_sweep,
        left_out=tuple(LeftOutFeature(described[p], why) for p, why in narrowed.idle.items()),
    )


def _lost_input(searched: FinishedSearch) -> bool:
    """Return whether a hybrid that holds every player, which is the input, had another outcome.

    The evaluator does not see it where the input is also one of its references, and so the hybrid
    of other sets that came first.
    """
    if getattr(searched.evaluator, "lost_input", False):
        return True
    tally = searched.answer.keep.tally
    counted = tally.dense[-1:] if tally.complete else tally.levels[tally.d]
    return bool((counted < tally.n).any())


def _may_ask_recourse(decision: Decision, asking: SearchRequest) -> bool:
    """Return whether recourse may be searched too, which keeps no limit of the question.

    Not after a greedy search, which is chosen to predict few rows; nor with a test, which is for
    models that predict at random, since recourse needs models that do not.
    """
    limits, alpha = asking.question.limits, asking.question.alpha
    thrifty = asking.how == "greedy"
    return limits.unlimited and alpha is None and not thrifty and decision.supports_recourse


def _narrow(decision: Decision, question: Question) -> tuple[SearchTask, int]:
    """Leave out players that cannot matter, where looking for them can pay; and rows predicted."""
    hybrids = decision.hybrids[0]
    # A text or a picture shows all its parts.
    if not decision.context.is_swap or not may_drop_idle_players(hybrids, question):
        return SearchTask.of_all(decision.hybrids, question), 0
    evaluator = decision.evaluator(hybrids, question.limits)
    return drop_idle_players(hybrids, question, evaluator), evaluator.rows_predicted


@dataclass(frozen=True, eq=False)
class PreparedSearch:
    """A question that is ready to be searched."""

    narrowed: SearchTask
    evaluators: tuple[Evaluator, ...]
    """Evaluators of the keep view and of the flip view; one if both read the same hybrids."""
    plan: Plan
    spent: int = 0
    """Rows that the model predicted for evaluators that were set aside."""

    def search(self, view: int, question: Question, keeper: LimitKeeper) -> SearchResult:
        """Search one view's hybrids, or both views' at once."""
        evaluator, hybrids = self.evaluators[view], self.narrowed.hybrids[view]
        d, whole = hybrids.d, None
        if question.limits.budget is not None and self._may_end_empty(question, evaluator.n, d):
            # Before the search, or it would leave no rows for them.
            ends = np.array([[view == "keep"] * d for view in question.views])
            whole = keeper.within_budget().ask_sets(evaluator, ends)
        found = run_search(self.plan.way, evaluator, hybrids, question, keeper)
        return _add_whole_sets(found, evaluator, d, question, keeper, whole)

    def _may_end_empty(self, question: Question, n: int, d: int) -> bool:
        """Return whether a limit may end the search before a set was verified that can pass.

        An anytime or a greedy search predicts the whole sets first, and an exhaustive one of both
        views counts them first.
        """
        counts_first = self.plan.way == "exhaustive" and question.views == VIEWS
        if counts_first or self.plan.way in ("anytime", "greedy"):
            return False
        can_pass = question.adjust == "none" and question.fewest_hits(n, 1) <= n
        return can_pass and question.limits.largest(d) == d


def _add_whole_sets(
    found: SearchResult,
    evaluator: Evaluator,
    d: int,
    question: Question,
    keeper: LimitKeeper,
    whole: Outcomes | None,
) -> SearchResult:
    """Report the set of all players in each view that a limit left without any set.

    It usually suffices: with all players held a hybrid is the input, with all replaced a reference.
    `whole` has their outcomes, a row for each view of the question. None: they are read from the
    sweep that counted them, or predicted even after the time is over (an anytime search predicts
    them before it reads the clock), so that the answer has a set where there is one. The budget is
    kept.
    """
    if found.stopped is None or question.adjust != "none" or question.limits.largest(d) < d:
        return found
    views = {"keep": found.keep, "flip": found.keep.other_view(found.flip_findings)}
    empty = [i for i, view in enumerate(question.views) if not views[view].minimal_at(question.tau)]
    if not empty:
        return found
    sizes = [d if view == "keep" else 0 for view in question.views]
    if whole is None and found.sweep is not None:
        levels, first = found.sweep.tally.levels, np.zeros(1, dtype=np.int64)
        if all(len(levels[size]) for size in sizes):
            whole = np.concatenate([found.sweep.outcomes(size, first) for size in sizes])
    if whole is None:
        if keeper.within_budget().forbids(len(sizes) * evaluator.n) is not None:
            return found
        held = np.array([[size > 0] * d for size in sizes])
        with keeper.counting(evaluator, len(sizes) * evaluator.n):
            whole = evaluator.outcomes(held)
    players, least = tuple(range(d)), question.fewest_hits(evaluator.n, 1)
    for i in empty:
        view = question.views[i]
        hits = whole[i] if view == "keep" else ~whole[i]
        if hits.sum() < least:
            continue
        known = views[view].findings or Findings(question.tau, (), decided=False)
        findings = replace(known, factors=(FoundSet(players, int(hits.sum()), "none"),))
        if view == "keep":
            found = replace(found, keep=replace(found.keep, findings=findings))
        else:
            found = replace(found, flip_findings=findings, flips={**found.flips, players: hits})
    return found


def prepare_search(decision: Decision, asking: SearchRequest) -> PreparedSearch:
    """Leave out what cannot matter, choose evaluators, and plan the search."""
    question, how = asking.question, asking.how
    if question.alpha is None:  # tests allow for a model that answers at random
        decision.require_consistent()
    narrowed, spent = _narrow(decision, question)
    limits = question.limits
    whole = how in ("auto", "exhaustive") and limits.max_size is None and limits.budget is None
    evaluators = _make_evaluators(decision, narrowed, limits, whole)
    plan = make_plan(how, evaluators[0], narrowed)
    sweeps = plan.way in ("exhaustive", "streamed") and plan.limits.unlimited
    if (plan.limits, sweeps) != (limits, whole):
        spent += sum(evaluator.rows_predicted for evaluator in evaluators)
        evaluators = _make_evaluators(decision, narrowed, plan.limits, sweeps)
        bounded = replace(narrowed.question, limits=plan.limits)
        narrowed = replace(narrowed, question=bounded)
    if _may_have_lost_reading(narrowed, evaluators):
        # Making these checked the reading again. Where that denied it, it named no idle players.
        again, more = _narrow(decision, question)
        spent += more
        if again.idle != narrowed.idle:
            ready = prepare_search(decision, asking)
            spent += sum(evaluator.rows_predicted for evaluator in evaluators)
            return replace(ready, spent=ready.spent + spent)
    if how == "auto" and not plan.complete:
        plan = plan.with_suggestions(partial(suggest_calls, plan, decision, narrowed))
    return PreparedSearch(narrowed, evaluators, plan, spent)


def _may_have_lost_reading(narrowed: SearchTask, evaluators: tuple[Evaluator, ...]) -> bool:
    """Return whether an engine named idle players, and none serves now."""
    by_engine = any(why != "same" for why in narrowed.idle.values())
    return by_engine and not isinstance(evaluators[0], IdlePlayerEvaluator)


def _make_evaluators(
    decision: Decision, narrowed: SearchTask, limits: Limits, whole: bool
) -> tuple[Evaluator, ...]:
    views = dict.fromkeys(narrowed.hybrids)
    return tuple(decision.evaluator(hybrids, limits, whole) for hybrids in views)


@dataclass(frozen=True, eq=False)
class FinishedSearch:
    """Result of one search, with the evaluator that it used."""

    evaluator: Evaluator
    answer: SearchResult

    @property
    def hybrids(self) -> int:
        """Number of hybrids whose outcome was computed."""
        tally, findings = self.answer.keep.tally, self.answer.keep.findings
        if tally.complete or (findings is not None and findings.covered is not None):
            return tally.n << tally.d
        # A search that decides sets without counting them has at least the rows that it predicted.
        return max(tally.visited * tally.n, self.evaluator.rows_predicted)


def _describe_players(decision: Decision) -> tuple[Player, ...]:
    names, players = decision.data.names, decision.players
    values = decision.inputs.row_values(decision.index)
    return tuple(
        Player(name, {names[j]: values[j] for j in columns})
        for name, columns in zip(players.names, players.columns, strict=True)
    )


def _make_provenance(
    decision: Decision,
    plan: Plan,
    searches: list[FinishedSearch],
    references: Any,
    seconds: float,
    spent: int,
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
        rows_predicted=spent + sum(evaluator.rows_predicted for evaluator in evaluators),
        data=(len(data), len(data.names)),
        cost=describe_cost(decision.cost),
        change_rules=decision.changes.text,
        created=datetime.now(UTC),
        seconds=seconds,
        model_seconds=sum(evaluator.model_seconds for evaluator in evaluators),
        unseen_labels=getattr(decision.target.model, "unseen_labels", ()),
        versions=library_versions(),
        context=describe_context(decision.context),
        plan=plan,
    )


def describe_references(spec: object) -> ReferencesRecord:
    """Return how references were chosen."""
    if not isinstance(spec, str):
        return ReferencesRecord("given", f"given as {type(spec).__name__}")
    if spec == "all":
        return ReferencesRecord("all", "the whole data")
    return ReferencesRecord("opposite", "predicted otherwise")


def describe_context(context: Context) -> ContextRecord:
    """Return how hybrids are made of the input and the references."""
    return ContextRecord(context.kind, context.describe(), context.draws_effects)


def describe_cost(cost: CostSpec) -> Literal["deviations", "weighted", "own"]:
    """Return the kind of cost, as stored in results."""
    return "own" if callable(cost) else "weighted" if cost else "deviations"


@lru_cache(maxsize=1)
def library_versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries that numbers depend on."""
    from importlib.metadata import version

    names = ("suffice", "numpy", "pandas", "scikit-learn")
    return {"python": platform.python_version()} | {name: version(name) for name in names}


# What would give more than a search that is not complete: calls, and about how long they take.


_MOST_SUGGESTIONS = 2
_LONGEST_SUGGESTION = 3600.0
"""Seconds: what takes longer is not worth telling."""
_LONGER_FACTOR = 6
"""Times: a longer time limit."""
_FEWEST_REFERENCES = 20
"""With fewer, shares are too coarse to speak of."""
_MOST_COLUMNS_COMPARED = 300
"""Comparing each two of more columns would take its own time."""


def suggest_calls(plan: Plan, decision: Decision, narrowed: SearchTask) -> Suggestions:
    """Return calls that would give more than this plan, and copies among the features."""
    calls: list[Suggestion] = []
    copies: tuple[tuple[str, ...], ...] = ()
    hybrids, data = narrowed.hybrids[0], decision.data
    table = isinstance(hybrids, SwapHybrids) and decision.context.is_swap
    whole = plan.limits.max_size is None
    if table and whole and len(data.names) <= _MOST_COLUMNS_COMPARED:
        close = association_matrix(data)
        copies = duplicate_columns(data, close)
        if all(len(columns) == 1 for columns in decision.players.columns):
            groups = cluster_columns(data.names, close).values()
            joined = sum(len(columns) - 1 for columns in groups)
            seconds = _seconds_with_players(plan, plan.players - joined)
            if joined and seconds <= DEFAULT_TIME_LIMIT:
                calls.append(Suggestion({"groups": "auto"}, seconds, complete=True))
    engine, seconds = plan.evaluator != "blackbox", plan.exhaustive_seconds
    if whole and engine and plan.players <= STREAMED_PLAYERS and seconds <= _LONGEST_SUGGESTION:
        calls.append(Suggestion({"search": "exhaustive"}, seconds, complete=True))
    few = int(plan.references * 0.8 * DEFAULT_TIME_LIMIT / max(seconds, 1e-9))
    if table and whole and _FEWEST_REFERENCES <= few < plan.references:
        calls.append(Suggestion({"n_references": few}, 0.8 * DEFAULT_TIME_LIMIT, complete=True))
    largest = plan.limits.max_size
    if largest is not None and not plan.limits.unasked and plan.limits.time_limit is None:
        calls.append(_suggest_larger_sets(plan, largest + 1))
    elif plan.limits.budget is None:
        longer = _LONGER_FACTOR * plan.seconds
        calls.append(Suggestion({"time_limit": longer}, longer, complete=False))
    else:
        calls.append(
            Suggestion(
                {"budget": _LONGER_FACTOR * plan.limits.budget},
                _LONGER_FACTOR * plan.seconds,
                False,
            )
        )
    calls.sort(key=lambda more: (not more.complete, more.seconds))
    return tuple(calls[:_MOST_SUGGESTIONS]), copies


def _seconds_with_players(plan: Plan, players: int) -> float:
    """Return the seconds that counting all sets of so many players would take."""
    return max(0.1, plan.exhaustive_seconds * 2.0 ** (players - plan.players))


def _suggest_larger_sets(plan: Plan, size: int) -> Suggestion:
    """Return the suggestion to search sets of up to `size` features."""
    lattice = Lattice(plan.players)
    seconds = plan.seconds * lattice.count_up_to(size) / lattice.count_up_to(size - 1)
    return Suggestion({"max_size": size}, seconds, complete=size >= plan.players)
