"""Proposition 3 itself: the sets that are minimal under the cost order, subject to constraints."""

from __future__ import annotations

import numpy as np

from suffice.context.cost import change_costs
from suffice.decision import Decision
from suffice.encodings.recourse.actionable_sweep import ActionableSweep, sweep_actionable
from suffice.encodings.recourse.choose import (
    Candidates,
    Choices,
    Chosen,
    choose_observed,
    choose_reliable,
    find_candidates,
    flipped,
)
from suffice.encodings.recourse.constraints import Constraints
from suffice.encodings.recourse.grid_search import choose_on_grid
from suffice.encodings.recourse.infeasible import why_infeasible
from suffice.encodings.recourse.request import RecourseRequest
from suffice.encodings.recourse.result import Option, Recourse, Solution
from suffice.errors import InputError, ModelError
from suffice.search.limits import EXHAUSTIVE_PLAYERS, LimitKeeper
from suffice.tables import plain
from suffice.wording import count

__all__ = ["Solver", "find_recourse"]

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
    _check_context(decision, request)
    keeper = LimitKeeper(request.limits, started=request.started)
    constraints = request.constraints(decision)
    solver = Solver(decision, request)
    solution = solver.solve(constraints, request.max_options, keeper)
    reasons = list(solution.cut_short)
    if not solution.options:
        reasons += why_infeasible(solver, constraints, solution, keeper)
    return Recourse(
        desired=event.describe(not decision.y),
        outcome=event.describe(decision.y),
        options=solution.options,
        tau=request.tau,
        values=request.values,
        complete=not solution.cut_short,
        reason="\n".join(reasons) or None,
    )


def _check_context(decision: Decision, request: RecourseRequest) -> None:
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
    if request.values == "grid" and context.is_causal:
        hint = "What follows from a value is drawn per reference."
        raise InputError("values", "'grid' in a causal context", "'observed'", hint)


class Solver:
    """Solves for one decision under varying constraints; what is swept once is kept."""

    def __init__(self, decision: Decision, request: RecourseRequest) -> None:
        self.decision = decision
        self._request = request
        self._sweeps: dict[tuple[tuple[int, ...], int | None], ActionableSweep] = {}
        cost = decision.cost if request.cost is None else request.cost
        self.costs = change_costs(decision.pool, decision.data, decision.players, cost)

    def solve(self, constraints: Constraints, most: int | None, keeper: LimitKeeper) -> Solution:
        """The options under these constraints, cheapest first, at most so many."""
        decision, grid = self.decision, self._request.values == "grid"
        numbers = self._free(constraints)
        if not numbers:
            return Solution(())
        if grid and len(numbers) > EXHAUSTIVE_PLAYERS:
            got = f"'grid' with {len(numbers)} features that can change"
            hint = "Name those that can change in actionable."
            raise InputError("values", got, f"at most {EXHAUSTIVE_PLAYERS} for a grid", hint)
        actionable = self._swept(numbers, constraints.max_size, keeper)
        candidates = find_candidates(decision, constraints, actionable, self.costs, not grid)
        if grid:
            choices = choose_on_grid(candidates, self._request, most, keeper)
        elif decision.context.is_causal:
            choices = choose_reliable(candidates, most, keeper)
        else:
            choices = choose_observed(candidates, most)
        chosen, unverified = self._verified(choices, keeper)
        necessity = candidates.counts.necessity([option.members for option in chosen])
        options = [
            _option(candidates, choices, option, pn)
            for option, pn in zip(chosen, necessity, strict=True)
        ]
        cut_short = (*actionable.cut_short, *choices.cut_short, *unverified)
        return Solution(tuple(options), cut_short)

    def too_wide(self, constraints: Constraints) -> bool:
        """Are there too many sets to look at, and nothing that bounds the search?"""
        grid = self._request.values == "grid"
        unbounded = constraints.max_size is None and self._request.limits.none
        return len(self._free(constraints)) > EXHAUSTIVE_PLAYERS and (grid or unbounded)

    def _free(self, constraints: Constraints) -> tuple[int, ...]:
        players = range(len(self.decision.players))
        return tuple(p for p in players if p not in constraints.fixed)

    def _swept(
        self, numbers: tuple[int, ...], max_size: int | None, keeper: LimitKeeper
    ) -> ActionableSweep:
        key = numbers, None if max_size is None or max_size >= len(numbers) else max_size
        if key not in self._sweeps:
            last = self._request.values == "observed" and not self.decision.context.is_causal
            share = _BEFORE_OPTIONS if last else _BEFORE_SEARCH
            self._sweeps[key] = sweep_actionable(
                self.decision, *key, keeper, share, self._request.progress
            )
        return self._sweeps[key]

    def _verified(
        self, choices: Choices, keeper: LimitKeeper
    ) -> tuple[list[Chosen], tuple[str, ...]]:
        """The options that the model itself confirms, and what is to be said of others."""
        asked = [option for option in choices.chosen if not option.confirmed]
        rows = np.array([option.rows for option in asked])
        confirmed = flipped(self.decision, choices.pool, rows, keeper)
        if not confirmed.all():
            raise ModelError(
                "the model answers differently when asked twice about the same row: a change that "
                "gave the desired outcome in the search does not give it now. Recourse needs a "
                "model whose answer depends on the row alone."
            )
        left_out = asked[len(confirmed) :]
        if not left_out:
            return choices.chosen, ()
        said = f"{count(len(left_out), 'option')} could not be verified: {keeper.forbids()}."
        return [option for option in choices.chosen if option not in left_out], (said,)


def _option(
    candidates: Candidates, choices: Choices, chosen: Chosen, necessity: float | None
) -> Option:
    players, pool = candidates.actionable.players, choices.pool
    columns = sorted(j for m in chosen.members for j in players.columns[m])
    n, hits = candidates.counts.of(chosen.members)
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
