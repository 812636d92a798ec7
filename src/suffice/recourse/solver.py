"""`find_recourse`: cheapest options, also for explanations; verified, or the reason for none.

Proposition 3: options are the feature sets minimal under the cost order, subject to constraints.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from math import ceil

import numpy as np

from suffice.context.change_rules import meets_rules
from suffice.context.cost import player_costs, price_columns
from suffice.decision import Decision
from suffice.engines import IdlePlayerEvaluator, LatticeEvaluator
from suffice.engines.work import estimate_seconds
from suffice.errors import InputError, ModelError
from suffice.factors.order import cost_at_most
from suffice.formatting import percent, plural
from suffice.recourse.candidates import (
    FEW_ROWS,
    ActionableFeatures,
    Candidate,
    SelectedCandidates,
    SetTable,
    describe_stop,
    keeper_of_rows,
    make_actionable_features,
    make_set_table,
    predict_flips,
    select_observed,
)
from suffice.recourse.causal import has_random_consequences, select_causal
from suffice.recourse.constraints import (
    RELAXED_RELIABILITY,
    Constraints,
    RecourseRequest,
)
from suffice.recourse.grid import select_from_grid
from suffice.recourse.large_sets import LargeSetSearch, select_with_large_sets
from suffice.recourse.option import Option, Recourse
from suffice.search.exhaustive import Sweep
from suffice.search.limits import DEFAULT_WORK, EXHAUSTIVE_PLAYERS, LimitKeeper
from suffice.search.plan import DEFAULT_TIME_LIMIT, SKIP_IDLE_CHECK_UP_TO
from suffice.tables import as_scalar

_DEFAULT_SHARE = 0.1
"""The share of `DEFAULT_WORK` that recourse takes without a limit. An explanation that left
sets open takes it too, for its cheapest change; ten times as much hardly finds a cheaper one.
"""
_WORK_FOR_REASONS = 0.5
"""The share of recourse's default work in which the reasons for no option are searched."""
_LONGER_FACTOR, _SWEEP_FACTOR, _LONGEST_SUGGESTION = 6, 4.0, 3600.0
"""The time limit suggested is so many times longer; or so many times what a sweep is predicted to
take, which leaves room for the rest, if that is not over an hour."""
_LAST_BATCH = 16
"""Options verified even where the time is over: finding those took the time."""
_LARGE_SETS_SHARE, _SMALL_SETS_SHARE = 0.3, 0.4
"""Where there are too many sets: the share of rows, seconds and work for finding large sets, and of
the rest the share for sweeping all small ones."""
_SHARE_BEFORE_SEARCH = 0.5
"""The share of rows, seconds and work that the sweep may take where a search follows."""
_SHARE_BEFORE_VERIFYING = 0.9
"""Share for the sweep where no search follows: the rest is for verifying every option."""


SUGGESTION_START = "To search more: "
"""Start of the reason that suggests calls of Python, which the explorer replaces."""


@dataclass(frozen=True)
class Solution:
    """The options under some constraints, and the reasons why others may be missing."""

    options: tuple[Option, ...]
    incomplete_reasons: tuple[str, ...] = ()
    more: int | None = 0
    """How many further options were left out; None: the search ended before counting them."""


def find_recourse(
    decision: Decision, request: RecourseRequest, started: float | None = None
) -> Recourse:
    """Find c* = argmin cost(c) subject to PS(c, 1 - y) >= τ, and every other minimal option.

    A time limit counts from `started`, by default from now.
    """
    _check_context(decision)
    if request.values == "any":
        raise InputError("values", "'any'", "'observed' or 'grid' (Explainer.recourse takes 'any')")
    constraints = request.constraints(decision)
    solver = RecourseSolver(decision, request)
    solver.check_grid_size(constraints)
    keeper = solver.keeper([constraints], 1.0, started)
    solution = solver.solve(constraints, request.max_options, keeper)
    reasons = list(solution.incomplete_reasons)
    if reasons:
        reasons.append(solver.suggestion(constraints))
    if not solution.options:
        reasons += infeasibility_reasons(solver, constraints, solution, keeper)
    event = decision.target.event
    return Recourse(
        desired=event.describe(not decision.y),
        outcome=event.describe(decision.y),
        options=solution.options,
        tau=request.tau,
        values=request.values,
        complete=not solution.incomplete_reasons,
        reason="\n".join(reasons) or None,
        more=solution.more,
    )


def find_cheapest_options(
    decision: Decision, progress: bool | None = None
) -> tuple[tuple[Option, ...], int]:
    """Return recourse's best option without limits, others of its cost, and the rows predicted.

    This is the computation of `find_recourse`, so that an explanation whose own search left sets
    open names the same cheapest change.
    """
    request = RecourseRequest(progress=progress)
    constraints = request.constraints(decision)
    solver = RecourseSolver(decision, request)
    keeper = solver.keeper([constraints])
    options = solver.solve(constraints, request.max_options, keeper).options
    cheapest = takewhile(lambda option: cost_at_most(option.cost, options[0].cost), options)
    return tuple(cheapest), keeper.rows + solver.rows_checked


def _check_context(decision: Decision) -> None:
    """Raise for a context in which new values cannot be chosen."""
    context = decision.context
    if not decision.supports_recourse:
        raise InputError(
            "context",
            context.describe(),
            "values swapped, or a causal context",
            "Recourse needs changes that can be chosen and carried out; in this context the values "
            "depend on the features that are held.",
        )


class RecourseSolver:
    """Solve for one decision under varying constraints; evaluators and sweeps are reused."""

    def __init__(self, decision: Decision, request: RecourseRequest) -> None:
        self.decision = decision
        self.request = request
        self._actionable: dict[tuple[tuple[int, ...], bool], ActionableFeatures] = {}
        self._idle: dict[tuple[int, ...], set[int]] = {}
        self.rows_checked = 0
        """Rows that the model predicted to check an engine, of which no keeper knows."""
        self._sweeps: dict[tuple[tuple[int, ...], int | None], Sweep] = {}
        cost = decision.cost if request.cost is None else request.cost
        missing = request.missing_costs(decision)
        by_column = price_columns(decision.pool, decision.data, cost, missing)
        self.costs = player_costs(by_column, decision.players)

    def keeper(
        self, questions: Sequence[Constraints], share: float = 1.0, started: float | None = None
    ) -> LimitKeeper:
        """Return a keeper of the user's limits, or of default work where a search takes more.

        Default work is counted, so that the same question has the same answer on every machine;
        `share` is that of recourse's part of `DEFAULT_WORK`. A time limit counts from `started`, by
        default from now.
        """
        request = self.request
        limits = request.limits
        if not request.has_limit and any(map(self._takes_long, questions)):
            limits = replace(limits, work=share * _DEFAULT_SHARE * DEFAULT_WORK)
        return LimitKeeper(limits, started=started)

    def _takes_long(self, constraints: Constraints) -> bool:
        numbers = self._movable_players(constraints, LimitKeeper())
        if len(self.decision.references) << len(numbers) <= FEW_ROWS:
            return False
        features = self._actionable_features(numbers, LimitKeeper())
        return features.predicted_work(constraints.max_size) > DEFAULT_WORK

    def check_grid_size(self, constraints: Constraints) -> None:
        """Raise for a grid of more features than can be searched."""
        found = self._grid_too_wide(constraints)
        if found:
            raise InputError(
                "values",
                f"'grid' with {plural(found, 'feature')} that can change",
                f"'grid' with at most {EXHAUSTIVE_PLAYERS} features, or 'observed'",
                "Name the features that can change in actionable=[...].",
            )

    def _grid_too_wide(self, constraints: Constraints) -> int:
        """Return the number of features that can change if a grid has too many, else 0."""
        if self.request.values != "grid":
            return 0
        found = len(self._movable_players(constraints, LimitKeeper()))
        return found if found > EXHAUSTIVE_PLAYERS else 0

    def solve(self, constraints: Constraints, most: int | None, keeper: LimitKeeper) -> Solution:
        """Return the options under these constraints, cheapest first, at most `most`."""
        too_wide = self._grid_too_wide(constraints)
        if too_wide:  # only where a constraint was relaxed: `check_grid_size` refuses the rest
            return Solution((), (f"{too_wide} features are too many for a grid.",))
        numbers = self._movable_players(constraints, keeper)
        if not numbers:
            return Solution(())
        features = self._actionable_features(numbers, keeper)
        grid, causal = self.request.values == "grid", self.decision.context.is_causal
        large = None
        if not grid and not causal and features.may_end_early(constraints.max_size, keeper):
            # Find something that works before the sweep, or the loading of kernels, takes its time.
            costs = self.costs[:, list(numbers)]
            large = LargeSetSearch(features, constraints, costs, keeper.part(_LARGE_SETS_SHARE))
            large.try_whole_references()
            large.features = features = features.ready(keeper)
            large.keeper = keeper.part(_LARGE_SETS_SHARE)
            large.search()
        share = _SHARE_BEFORE_SEARCH if grid or causal else _SHARE_BEFORE_VERIFYING
        share = share if large is None else _SMALL_SETS_SHARE
        sweep = self._sweep(features, constraints.max_size, keeper.part(share))
        if self._reading_was_denied(features, keeper):
            return self.solve(constraints, most, keeper)
        counting = keeper.part(_SHARE_BEFORE_SEARCH)
        table = make_set_table(constraints, features, sweep, self.costs, not grid, counting)
        if grid:
            searching = keeper.part(_SHARE_BEFORE_VERIFYING)
            selected = select_from_grid(table, self.request, most, searching)
        elif causal:
            selected = select_causal(table, most, keeper)
        elif large is None or table.complete:
            selected = select_observed(table, most)
        else:
            large.keeper = keeper.part(_SHARE_BEFORE_VERIFYING)
            selected = select_with_large_sets(table, large, most)
        verified, unverified = self._verify(selected, features, keeper)
        necessity = table.necessity([candidate.members for candidate in verified])
        options = [
            _make_option(table, selected, candidate, *shares)
            for candidate, shares in zip(verified, necessity, strict=True)
        ]
        reasons = (*table.unvisited_text, *selected.incomplete_reasons, *unverified)
        return Solution(tuple(options), reasons, selected.more)

    def suggestion(self, constraints: Constraints) -> str:
        """Return the sentence on calls that would search more."""
        calls = [self._longer_call(constraints)]
        if len(self.decision.players) == len(self.decision.pool.names):
            calls.append("Explainer(model, data, groups='auto'), which joins features")
        return f"{SUGGESTION_START}{'; '.join(calls)}; or immutable, actionable or max_size."

    def _longer_call(self, constraints: Constraints) -> str:
        """Return the same call with more of the limit that ended the search."""
        request = self.request
        if request.budget is not None:
            return f"recourse(x, budget={_LONGER_FACTOR * request.budget})"
        seconds = _LONGER_FACTOR * (request.time_limit or DEFAULT_TIME_LIMIT)
        if request.values == "observed" and self.decision.context.is_swap:
            keeper = LimitKeeper()
            numbers = self._movable_players(constraints, keeper)
            features = self._actionable_features(numbers, keeper)
            whole = _SWEEP_FACTOR * estimate_seconds(features.predicted_work(constraints.max_size))
            seconds = max(seconds, whole) if whole < _LONGEST_SUGGESTION else seconds
        return f"recourse(x, time_limit={ceil(seconds)})"

    def _movable_players(self, constraints: Constraints, keeper: LimitKeeper) -> tuple[int, ...]:
        """Return the players that can change, without those whose change cannot matter.

        A player on which every reference has the input's value is left out: a set with the player
        has the counts of the set without it, at no lower cost. So is a player on which no
        reference's value is allowed, since then no change of a set with the player is. Neither is
        in any option, and neither alters necessity. A grid takes values from the whole data and a
        causal context changes descendants, so there both stay.
        """
        decision, fixed = self.decision, constraints.fixed
        if self.request.values == "grid" or decision.context.is_causal:
            return tuple(p for p in range(len(decision.players)) if p not in fixed)
        meets = meets_rules(decision.pool, decision.players, constraints.rules)[1:]
        moving = np.flatnonzero(decision.differs.any(axis=0) & meets.any(axis=0)).tolist()
        free = tuple(p for p in moving if p not in fixed)
        return self._players_read_by_model(free, constraints, keeper)

    def _players_read_by_model(
        self, numbers: tuple[int, ...], constraints: Constraints, keeper: LimitKeeper
    ) -> tuple[int, ...]:
        """Leave out the players that an engine knows never to change the outcome.

        Players in a rule or a forbidden factor stay, since these decide which references are
        allowed.
        """
        if len(numbers) <= SKIP_IDLE_CHECK_UP_TO:
            return numbers
        of_column, names = self.decision.players.of_column, self.decision.pool.names
        constrained = {rule.column for rule in constraints.rules}
        for factor in constraints.forbidden:
            constrained |= {names.index(name) for name in factor.columns()}
        stay = {int(of_column[j]) for j in constrained}
        if numbers not in self._idle:
            self._idle[numbers] = self._idle_players(numbers, keeper)
        return tuple(p for p in numbers if p in stay or p not in self._idle[numbers])

    def _idle_players(self, numbers: tuple[int, ...], keeper: LimitKeeper) -> set[int]:
        """Return the players among these that an engine knows never to change the outcome."""
        evaluator = self._actionable_features(numbers, keeper).evaluator
        if not isinstance(evaluator, IdlePlayerEvaluator):
            return set()
        before = evaluator.rows_predicted
        idle = {numbers[i] for i in evaluator.idle_players()}
        self.rows_checked += evaluator.rows_predicted - before
        return idle

    def _reading_was_denied(self, features: ActionableFeatures, keeper: LimitKeeper) -> bool:
        """Return whether an engine left players out by a reading that the model denied since.

        Then they are searched from now on.
        """
        if features.evaluator.name != "blackbox":
            return False
        left_out = {numbers: idle for numbers, idle in self._idle.items() if idle}
        for numbers in left_out:
            # Engines made before the denial would go on with the wrong reading.
            self._actionable = {key: f for key, f in self._actionable.items() if key[0] != numbers}
            self._idle[numbers] = self._idle_players(numbers, keeper)
        return any(self._idle[numbers] != idle for numbers, idle in left_out.items())

    def _actionable_features(
        self, numbers: tuple[int, ...], keeper: LimitKeeper
    ) -> ActionableFeatures:
        bounded = not keeper.limits.unlimited
        key = numbers, bounded
        if key not in self._actionable:
            without = self._actionable.get((numbers, False))
            # An engine is the same with limits on work and without, and making it takes time.
            reusable = without is not None and isinstance(without.evaluator, LatticeEvaluator)
            if without is not None and reusable and not self.request.has_limit:
                self._actionable[key] = without
            else:
                made = make_actionable_features(self.decision, numbers, keeper, bounded)
                self._actionable[key] = made
        return self._actionable[key]

    def _sweep(
        self, features: ActionableFeatures, max_size: int | None, keeper: LimitKeeper
    ) -> Sweep:
        numbers = features.numbers
        key = numbers, None if max_size is None or max_size >= len(numbers) else max_size
        if key not in self._sweeps:
            self._sweeps[key] = features.sweep(key[1], keeper, self.request.progress)
        return self._sweeps[key]

    def _verify(
        self, selected: SelectedCandidates, features: ActionableFeatures, keeper: LimitKeeper
    ) -> tuple[list[Candidate], tuple[str, ...]]:
        """Return the candidates that the model confirms, and the sentence on unverified ones."""
        open_ = [candidate for candidate in selected.candidates if not candidate.confirmed]
        rows = np.array([candidate.rows for candidate in open_])
        by_model = features.evaluator.name == "blackbox"  # so the model predicted these before
        at_least = 0 if by_model else _LAST_BATCH
        keeper = keeper_of_rows(self.decision, keeper)
        confirmed = predict_flips(self.decision, selected.pool, rows, keeper, at_least=at_least)
        if not confirmed.all():
            raise ModelError(
                _INCONSISTENT_MODEL if by_model else _WRONG_ENGINE.format(features.evaluator.name)
            )
        left_out = open_[len(confirmed) :]
        if by_model or not left_out:
            return selected.candidates, ()
        options = plural(len(left_out), "option")
        text = f"{describe_stop(keeper.forbids())} before {options} could be verified."
        return [found for found in selected.candidates if found not in left_out], (text,)


_INCONSISTENT_MODEL = (
    "The model predicts differently for the same row: a change that gave the desired outcome in "
    "the search does not give it now. Recourse needs a model whose prediction depends on the row "
    "alone."
)
_WRONG_ENGINE = (
    "The engine {0!r} and the model disagree: a change that gives the desired outcome by the "
    "engine does not give it when the model predicts the row. Pass engine='blackbox' to Explainer, "
    "which always predicts with the model."
)


def _make_option(
    table: SetTable,
    selected: SelectedCandidates,
    found: Candidate,
    necessity: float | None,
    baseline: float | None,
) -> Option:
    players, pool = table.features.players, selected.pool
    columns = sorted(j for m in found.members for j in players.columns[m])
    return Option(
        features=tuple(players.names[m] for m in found.members),
        values={pool.names[j]: as_scalar(pool.column(j)[found.rows[j]]) for j in columns},
        old={pool.names[j]: as_scalar(pool.column(j)[0]) for j in columns},
        cost=found.cost,
        n=found.n,
        hits=found.hits,
        necessity=necessity,
        reliability=found.reliability,
        necessity_baseline=baseline,
    )


# -- why there is no option: which constraints, each relaxed alone, would leave one --------------

_MOST_NAMED = 5
"""Most constraints that are named as not searched to the end."""


def infeasibility_reasons(
    solver: RecourseSolver, constraints: Constraints, found: Solution, keeper: LimitKeeper
) -> list[str]:
    """Relax each constraint alone, then all together, and return what each would allow.

    The rows and seconds that are left are shared evenly among these searches. Without limits of the
    user's, long searches have default work of their own.
    """
    random = has_random_consequences(solver.decision)
    attempts = list(constraints.relaxations(random))
    if not solver.request.has_limit:
        questions = [*(relaxed.rest for relaxed in attempts), Constraints.none()]
        keeper = solver.keeper(questions, _WORK_FOR_REASONS)
    if not attempts:
        return [] if found.incomplete_reasons else [_nothing_works(solver, random)]
    sentences, undecided = [], []
    for i, relaxed in enumerate(attempts):
        solution = solver.solve(relaxed.rest, 1, keeper.part(1 / (len(attempts) + 1 - i)))
        if solution.options:
            option = _describe_option(solution.options[0])
            sentences.append(f"{relaxed.text}: {relaxed.when_relaxed}, {option}.")
        elif solution.incomplete_reasons:
            undecided.append(relaxed.text)
    if sentences:
        return sentences + _describe_undecided(undecided)
    together = solver.solve(Constraints.none(), 1, keeper)
    if together.options:
        without = f"without all of them {_describe_option(together.options[0])}."
        return [f"No constraint alone is the reason: {without}", *_describe_undecided(undecided)]
    if together.incomplete_reasons or undecided:
        text = "No option was found without the constraints either, as far as was searched."
        return [text, *_describe_undecided(undecided)]
    return [_nothing_works(solver, random)]


def _describe_option(option: Option) -> str:
    draws = f" in {percent(option.reliability)} of the draws" if option.reliability < 1 else ""
    features = ", ".join(option.features)
    return f"{{{features}}} at cost {option.cost:.3g} would do{draws} ({option.text})"


def _describe_undecided(undecided: list[str]) -> list[str]:
    if not undecided:
        return []
    more = len(undecided) - _MOST_NAMED
    named = "; ".join(undecided[:_MOST_NAMED]) + (f"; and {more} more" if more > 0 else "")
    return [f"Not searched to the end without: {named}."]


def _nothing_works(solver: RecourseSolver, random: bool) -> str:
    """Return the sentence for a search without constraints that was complete and found nothing."""
    decision = solver.decision
    desired = decision.target.event.describe(not decision.y)
    finite = "" if np.isfinite(solver.costs).all() else " at a finite cost"
    if solver.request.values == "grid":
        return (
            f"No combination of observed values gives {desired}{finite}, with or without the "
            "constraints. Give steps for values that the data lacks, or ask for another outcome in "
            "desired."
        )
    n = len(decision.references)
    often = f" in {percent(RELAXED_RELIABILITY)} of the draws" if random else ""
    others = "" if random else "values='grid', which combines values of the whole data; "
    return (
        f"No reference's values give {desired}{finite}{often} on any feature set, with or without "
        f"the constraints: none of the {plural(n, 'reference')} does. To find more, use {others}"
        "other references; or another outcome in desired."
    )
