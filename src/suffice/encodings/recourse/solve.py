"""Proposition 3 itself: the sets that are minimal under the cost order, subject to constraints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from suffice.context.cost import change_costs
from suffice.decision import Decision
from suffice.encodings.recourse.actionable_sweep import (
    FEW_ROWS,
    Actionable,
    ActionableSweep,
    find_actionable,
    sweep_actionable,
)
from suffice.encodings.recourse.choose import (
    Candidates,
    Choices,
    Chosen,
    choose_observed,
    find_candidates,
    flipped,
    stopped_by,
)
from suffice.encodings.recourse.constraints import AllowedReferences, Constraints
from suffice.encodings.recourse.grid_search import choose_on_grid
from suffice.encodings.recourse.infeasible import why_infeasible
from suffice.encodings.recourse.request import RecourseRequest, ValuesFrom
from suffice.encodings.recourse.result import Option, Recourse, Solution, beyond, cheapest
from suffice.errors import InputError, ModelError
from suffice.evaluate import ModelReader
from suffice.search.idle import WORTH_LOOKING
from suffice.search.limits import EXHAUSTIVE_PLAYERS, LimitKeeper
from suffice.search.plan import PATIENCE
from suffice.tables import plain
from suffice.typing import Held
from suffice.wording import count

if TYPE_CHECKING:
    from suffice.encodings.recourse.shrink import LargeSets

__all__ = ["Solver", "find_recourse"]

_FOR_REASONS = 0.5
"""The part of that again in which is searched why there is no way."""

_LONGER, _ENOUGH, _LONGEST = 6, 4.0, 3600.0
"""A longer time limit; or one of so many times what a sweep takes, which leaves room for all else,
if it is not over an hour."""
_SOME_ON_GRID = 12
"""Of too many features for a grid, so many are taken."""
_LAST_BATCH = 16
_FOR_LARGE, _FOR_SMALL = 0.3, 0.4
"""Where sets are too many: the part of the rows and seconds to find large ones, and of what is left
the part to look at all small ones."""
_BEFORE_SEARCH = 0.5
"""The part of the rows and seconds that the sweep may take where a search follows it."""
_BEFORE_OPTIONS = 0.9
"""The same where none does: the rest is for asking the model about each option once more."""


def find_recourse(decision: Decision, request: RecourseRequest) -> Recourse:
    """c* = argmin cost(c) subject to PS(c, 1 - y) >= τ, and every other minimal option.

    Where the request names an outcome, the decision's event is that one, which the input must lack.
    """
    event = decision.target.event
    if request.desired is not None and decision.y:
        got = f"{event.says}, which the input has already"
        raise InputError("desired", got, "an outcome it does not have")
    _check_context(decision)
    constraints = request.constraints(decision)
    solver = Solver(decision, request)
    keeper = solver.keeper([constraints], request.started, 1.0)
    solution = solver.solve(constraints, request.max_options, keeper)
    reasons = list(solution.cut_short)
    if reasons:
        reasons.append(solver.what_helps(constraints))
    if not solution.options:
        if not request.bounded:
            lifted = [*(one.rest for one in constraints.lifted()), Constraints()]
            keeper = solver.keeper(lifted, request.clock(), _FOR_REASONS)
        reasons += why_infeasible(solver, constraints, solution, keeper)
    return Recourse(
        desired=event.describe(not decision.y),
        outcome=event.describe(decision.y),
        options=solution.options,
        tau=request.tau,
        values=request.values,
        complete=not solution.cut_short,
        reason="\n".join(reasons) or None,
        more=solution.more,
    )


def _check_context(decision: Decision) -> None:
    """Raise for a context whose rows are drawn and not chosen."""
    context = decision.context
    if not (context.is_swap or context.is_causal):
        raise InputError(
            "context",
            context.describe(),
            "values swapped, or a causal context",
            "Recourse needs changes that can be chosen and carried out; here the values come "
            "with what is held.",
        )


class Solver:
    """Solves for one decision under varying constraints; what is swept once is kept."""

    def __init__(self, decision: Decision, request: RecourseRequest) -> None:
        self.decision = decision
        self._request = request
        self._actionable: dict[tuple[tuple[int, ...], bool], Actionable] = {}
        self._idle: dict[tuple[int, ...], set[int]] = {}
        self._sweeps: dict[tuple[tuple[int, ...], int | None], ActionableSweep] = {}
        cost = decision.cost if request.cost is None else request.cost
        self.costs = change_costs(decision.pool, decision.data, decision.players, cost)

    def keeper(self, questions: Sequence[Constraints], started: float, share: float) -> LimitKeeper:
        """Keeps to what the user allows, or to the usual time where a question takes longer."""
        request = self._request
        limits = request.limits
        if not request.bounded and any(map(self._takes_long, questions)):
            limits = replace(limits, time_limit=share * PATIENCE, unasked=True)
        return LimitKeeper(limits, clock=request.clock, started=started)

    def _takes_long(self, constraints: Constraints) -> bool:
        numbers = self._free(constraints, self._request.values, LimitKeeper())
        if len(self.decision.references) << len(numbers) <= FEW_ROWS:
            return False
        actionable = self._among(numbers, LimitKeeper())
        return actionable.seconds(constraints.max_size) > PATIENCE

    def solve(self, constraints: Constraints, most: int | None, keeper: LimitKeeper) -> Solution:
        """The options under these constraints, cheapest first, at most so many."""
        numbers = self._free(constraints, self._request.values, keeper)
        if not numbers:
            return Solution(())
        if self._request.values == "grid" and len(numbers) > EXHAUSTIVE_PLAYERS:
            return self._solve_wide_grid(numbers, constraints, most, keeper)
        return self._solve(numbers, constraints, most, keeper, self._request.values)

    def _solve(
        self,
        numbers: tuple[int, ...],
        constraints: Constraints,
        most: int | None,
        keeper: LimitKeeper,
        values: ValuesFrom,
    ) -> Solution:
        decision, request = self.decision, self._request
        actionable = self._among(numbers, keeper)
        alone = values == "observed" and decision.context.is_swap
        large = None
        if alone and actionable.may_end_early(constraints.max_size, keeper):
            large = self._large_sets(actionable, constraints, keeper.part(_FOR_LARGE))
            large.find_whole()
            actionable.prepare()
            large.find()
        share = _BEFORE_OPTIONS if alone else _BEFORE_SEARCH
        share = share if large is None else _FOR_SMALL
        swept = self._swept(actionable, constraints.max_size, keeper.part(share))
        looking = keeper.part(_BEFORE_SEARCH)
        candidates = find_candidates(
            decision, constraints, swept, self.costs, values == "observed", looking
        )
        if values == "grid":
            choices = choose_on_grid(candidates, request, most, keeper.part(_BEFORE_OPTIONS))
        elif decision.context.is_causal:
            from suffice.encodings.recourse.reliable import choose_reliable

            choices = choose_reliable(candidates, most, keeper)
        elif large is None or candidates.everything:
            choices = choose_observed(candidates, most)
        else:
            from suffice.encodings.recourse.wide import choose_widely

            large.keeper = keeper.part(_BEFORE_OPTIONS)
            choices = choose_widely(candidates, large, most)
        chosen, unverified = self._verified(choices, actionable, keeper)
        necessity = candidates.counts.necessity([option.members for option in chosen])
        options = [
            _option(candidates, choices, option, pn)
            for option, pn in zip(chosen, necessity, strict=True)
        ]
        cut_short = (*candidates.not_looked_at, *choices.cut_short, *unverified)
        return Solution(tuple(options), cut_short, choices.more)

    def what_helps(self, constraints: Constraints) -> str:
        """What to ask for to have more looked at than there was time for."""
        calls = [self._longer(constraints)]
        if len(self.decision.players) == len(self.decision.pool.names):
            calls.append("Explainer(model, data, groups='auto'), which joins features")
        return f"More would give {'; '.join(calls)}; or immutable, actionable or max_size."

    def _longer(self, constraints: Constraints) -> str:
        """The same call with more of what ended the search."""
        request = self._request
        if request.budget is not None:
            return f"recourse(x, budget={_LONGER * request.budget})"
        seconds = _LONGER * (request.time_limit or PATIENCE)
        if request.values == "observed" and self.decision.context.is_swap:
            keeper = LimitKeeper()
            actionable = self._among(self._free(constraints, "observed", keeper), keeper)
            whole = _ENOUGH * actionable.seconds(constraints.max_size)
            seconds = max(seconds, whole) if whole < _LONGEST else seconds
        return f"recourse(x, time_limit={ceil(seconds)})"

    def _solve_wide_grid(
        self,
        numbers: tuple[int, ...],
        constraints: Constraints,
        most: int | None,
        keeper: LimitKeeper,
    ) -> Solution:
        """The grid of those features that the references' own cheapest changes make use of."""
        free = self._free(constraints, "observed", keeper)
        observed = Solution(())
        if free:
            observed = self._solve(free, constraints, None, keeper.part(0.5), "observed")
        names = self.decision.players.names
        used = [names.index(name) for option in observed.options for name in option.features]
        used += np.argsort(self.costs.mean(axis=0), kind="stable").tolist()
        some = tuple(sorted([p for p in dict.fromkeys(used) if p in numbers][:_SOME_ON_GRID]))
        grid = self._solve(some, constraints, most, keeper, "grid")
        # What all of the ways have in common was not counted for the grid.
        found = [replace(option, necessity=None) for option in grid.options]
        said = (
            f"{count(len(numbers), 'feature')} are too many for a grid: it was made of "
            f"{len(some)}, those of the cheapest changes to observed values. "
            "Name others in actionable."
        )
        options = cheapest([*found, *observed.options])
        cut_short = dict.fromkeys((said, *observed.cut_short, *grid.cut_short))
        more = beyond(most, len(options)) if grid.more == 0 else None
        return Solution(options[:most], tuple(cut_short), more)

    def _free(
        self, constraints: Constraints, values: ValuesFrom, keeper: LimitKeeper
    ) -> tuple[int, ...]:
        """The players that can change, without those whose change cannot matter.

        Where every reference has the input's value, changing it is changing nothing: a set with it
        has the counts of the set without it, at no lower cost. Where no reference's value is
        allowed, no change of a set with it is. Neither is in any option, or alters necessity.
        """
        decision = self.decision
        free = [p for p in range(len(decision.players)) if p not in constraints.fixed]
        if values == "grid" or decision.context.is_causal or not free:
            return tuple(free)
        meets = AllowedReferences(decision.pool, decision.players, constraints).alone()
        moving = (p for p in free if self._differs[:, p].any() and meets[:, p].any())
        return self._read_by_model(tuple(moving), constraints, keeper)

    def _read_by_model(
        self, numbers: tuple[int, ...], constraints: Constraints, keeper: LimitKeeper
    ) -> tuple[int, ...]:
        """The same without players that an engine knows not to move the model, as above.

        Those that a rule or a forbidden factor speaks of stay: which references are allowed depends
        on them.
        """
        if len(numbers) <= WORTH_LOOKING:
            return numbers
        evaluator = self._among(numbers, keeper).evaluator
        if not isinstance(evaluator, ModelReader):
            return numbers
        of_column, names = self.decision.players.of_column, self.decision.pool.names
        spoken_of = {rule.column for rule in constraints.rules}
        for factor in constraints.forbidden:
            spoken_of |= {names.index(name) for name in factor.columns()}
        stay = {int(of_column[j]) for j in spoken_of}
        if numbers not in self._idle:
            self._idle[numbers] = {numbers[i] for i in evaluator.idle()}
        return tuple(p for p in numbers if p in stay or p not in self._idle[numbers])

    @cached_property
    def _differs(self) -> Held:
        """(references, players): is the reference's value another than the input's?"""
        codes = self.decision.pool.codes()
        columns = codes[1:] != codes[0]
        return np.stack(
            [columns[:, list(c)].any(axis=1) for c in self.decision.players.columns], axis=1
        )

    def _among(self, numbers: tuple[int, ...], keeper: LimitKeeper) -> Actionable:
        bounded = not keeper.limits.none
        key = numbers, bounded
        if key not in self._actionable:
            self._actionable[key] = find_actionable(self.decision, numbers, keeper, bounded)
        return self._actionable[key]

    def _swept(
        self, actionable: Actionable, max_size: int | None, keeper: LimitKeeper
    ) -> ActionableSweep:
        numbers = actionable.numbers
        key = numbers, None if max_size is None or max_size >= len(numbers) else max_size
        if key not in self._sweeps:
            self._sweeps[key] = sweep_actionable(
                actionable, key[1], keeper, self.decision.seed, self._request.progress
            )
        return self._sweeps[key]

    def _large_sets(
        self, actionable: Actionable, constraints: Constraints, keeper: LimitKeeper
    ) -> LargeSets:
        from suffice.encodings.recourse.shrink import LargeSets

        decision, numbers = self.decision, list(actionable.numbers)
        return LargeSets(
            actionable.evaluator,
            actionable.model(decision, keeper.limits.patience),
            AllowedReferences(decision.pool, actionable.players, constraints),
            constraints,
            self.costs[:, numbers],
            self._differs[:, numbers],
            keeper,
            decision.seed,
        )

    def _verified(
        self, choices: Choices, actionable: Actionable, keeper: LimitKeeper
    ) -> tuple[list[Chosen], tuple[str, ...]]:
        """The options that the model itself confirms, and what is to be said of others."""
        asked = [option for option in choices.chosen if not option.confirmed]
        rows = np.array([option.rows for option in asked])
        by_model = actionable.evaluator.name == "blackbox"  # so it was asked about these before
        # When the time is over, what it was spent on is still worth one small batch.
        at_least = 0 if by_model else _LAST_BATCH
        confirmed = flipped(self.decision, choices.pool, rows, keeper, at_least=at_least)
        if not confirmed.all():
            raise ModelError(
                "the model answers differently when asked twice about the same row: a change that "
                "gave the desired outcome in the search does not give it now. Recourse needs a "
                "model whose answer depends on the row alone."
            )
        left_out = asked[len(confirmed) :]
        if by_model or not left_out:
            return choices.chosen, ()
        options = count(len(left_out), "option")
        said = f"{stopped_by(keeper.forbids())} before {options} could be verified."
        return [option for option in choices.chosen if option not in left_out], (said,)


def _option(
    candidates: Candidates, choices: Choices, chosen: Chosen, necessity: float | None
) -> Option:
    players, pool = candidates.actionable.players, choices.pool
    columns = sorted(j for m in chosen.members for j in players.columns[m])
    n, hits = chosen.counts or candidates.counts.of(chosen.members)
    return Option(
        features=tuple(players.names[m] for m in chosen.members),
        values={pool.names[j]: plain(pool.column(j)[chosen.rows[j]]) for j in columns},
        old={pool.names[j]: plain(pool.column(j)[0]) for j in columns},
        cost=chosen.cost,
        n=n,
        hits=hits,
        necessity=necessity,
        reliability=chosen.reliability,
    )
