"""Where consequences are drawn at random: how often do *these very values* work?

A reference that succeeded may have been lucky: its values were tried once, with one draw of what
follows. Here the values are tried with every draw that the context has. Sets are taken from the
cheapest change up; one whose values are not reliable enough tries its next cheapest.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush

import numpy as np

from suffice.decision import Decision
from suffice.encodings.recourse.setting import Choices, Chosen, Setting
from suffice.encodings.recourse.survey import candidates
from suffice.tables.distinct import distinct_rows
from suffice.typing import Counts, Reals

__all__ = ["choose_reliable"]

_TRIED = 10
"""So many different changes of a set are tried, cheapest first."""
_LIKELY = 0.5
"""Without τ, a change must work at least this often."""


def choose_reliable(setting: Setting, n: int | None) -> Choices:
    """Take sets in order of cost; accept one if its change works in enough of the draws.

    In that order no later change is cheaper, so a set that contains an accepted one is done with.
    """
    survey, max_cost = setting.survey, setting.constraints.max_cost
    least = _LIKELY if setting.constraints.tau is None else setting.constraints.tau
    affordable = setting.eligible & (survey.cost <= max_cost) & (survey.cost < np.inf)
    sizes = survey.sets.sizes()
    queue = [(float(survey.cost[p]), int(sizes[p]), int(p), 0) for p in np.flatnonzero(affordable)]
    heapify(queue)
    codes = setting.decision.pool.codes()
    tries: dict[int, tuple[Counts, Reals]] = {}
    chosen: list[Chosen] = []
    given_up = 0
    while queue and (n is None or len(chosen) < n):
        cost, size, position, at = heappop(queue)
        members = survey.sets.members(position)
        if any(set(accepted.members) <= set(members) for accepted in chosen):
            continue
        if position not in tries:
            tries[position] = _different(setting, members, codes)
        references, prices = tries[position]
        if at >= len(references):
            continue  # no change of all its features gave the desired outcome
        if prices[at] > cost:
            heappush(queue, (float(prices[at]), size, position, at))
            continue
        row = 1 + int(references[at])
        share = _reliability(setting.decision, [setting.here.numbers[m] for m in members], row)
        more = at + 1 < len(references) and prices[at + 1] <= max_cost
        if share >= least:
            chosen.append(Chosen(members, cost, setting.rows_of(members, row), share))
        elif more and at + 1 < _TRIED:
            heappush(queue, (float(prices[at + 1]), size, position, at + 1))
        elif more:
            given_up += 1
    cut_short = (
        f"For {given_up} set(s) of features the {_TRIED} cheapest changes work in fewer than "
        f"{100 * least:.0f}% of the draws, and dearer ones were not tried."
    )
    return Choices(setting.decision.pool, chosen, cut_short if given_up else None)


def _different(setting: Setting, members: tuple[int, ...], codes: Counts) -> tuple[Counts, Reals]:
    """The set's successful changes, each once, cheapest first.

    Every feature must really change. Setting one to what it is would draw its effects afresh, and
    luck is not an action that anyone could take.
    """
    here = setting.here
    references, prices = candidates(here.sweep, setting.allowed, setting.costs, members)
    columns = [j for m in members for j in here.players.columns[m]]
    changed = codes[1 + references] != codes[0]
    of_each = [changed[:, list(here.players.columns[m])].any(axis=1) for m in members]
    acts = np.logical_and.reduce(of_each)
    references, prices = references[acts], prices[acts]
    _, first = distinct_rows(codes[1 + references][:, columns])
    return references[first], prices[first]


def _reliability(decision: Decision, replaced: list[int], row: int) -> float:
    """The share of the context's draws in which the input, given this row's values, succeeds."""
    copies = decision.pool.take(np.full(len(decision.references), row, dtype=np.int64))
    _, flip = decision.context.bind(decision.row.stack(copies), decision.players, decision.seed)
    evaluator = decision.evaluator(flip)
    held = np.ones((1, flip.d), dtype=bool)
    held[0, replaced] = False
    return 1.0 - float(evaluator.outcomes(held).mean())
