"""Choosing from a grid: the cheapest combination for each set, with the observed ones for a start.

A set's changes are the references' joint values, as without a grid, and all combinations in which
*every* member takes another value: one that lets a member stay is a change of the smaller set.
"""

from __future__ import annotations

import numpy as np

from suffice.context.cost import CostSpec
from suffice.encodings.recourse.candidates import make_grid
from suffice.encodings.recourse.grid_search import Found, GridSearch, Purse
from suffice.encodings.recourse.setting import Choices, Chosen, Setting
from suffice.factors.lattice import masks_by_size
from suffice.typing import BoolVector, Reals

__all__ = ["choose_on_grid"]


def choose_on_grid(
    setting: Setting, cost: CostSpec, n: int | None, purse: Purse, progress: bool | None
) -> Choices:
    """Each set's cheapest combination, for the sets that are minimal under the cost order."""
    decision, constraints, survey = setting.decision, setting.constraints, setting.survey
    sets = survey.sets
    grid = make_grid(decision.pool, decision.data, setting.here.players, constraints.rules, cost)
    masks = masks_by_size(sets.d)[: len(sets)]
    affordable = setting.eligible & (survey.cost <= constraints.max_cost)
    known = np.where(affordable, survey.cost, np.inf)

    def least(found: Found) -> Reals:
        by_mask = np.full(1 << sets.d, np.inf)
        for mask, (price, _) in found.best.items():
            by_mask[mask] = price
        return np.asarray(np.minimum(known, by_mask[masks]))

    def enough(found: Found, below: float) -> bool:
        if n is None:
            return False
        costs = least(found)
        return int((sets.minimal(costs) & (costs < below)).sum()) >= n

    wanted = np.zeros(1 << sets.d, dtype=bool)
    wanted[masks[1:]] = setting.eligible[1:]
    reach = np.full(1 << sets.d, np.inf)
    reach[masks] = np.minimum(known, sets.least_inside(known))
    reach[~_part_of_wanted(wanted)] = -1.0
    search = GridSearch(grid, decision.target, decision.y, constraints.forbidden, wanted, reach)
    found = search.run(constraints.max_cost, purse, enough, progress)
    costs = least(found)
    chosen = []
    for position in setting.cheapest(costs, n):
        members, price = sets.members(int(position)), float(costs[position])
        if known[position] > price:
            rows = found.best[int(masks[position])][1]
        else:
            rows = setting.rows_of(members, 1 + int(survey.reference[position]))
        chosen.append(Chosen(members, price, rows))
    return Choices(grid.pool, chosen, _cut_short(found, purse))


def _part_of_wanted(wanted: BoolVector) -> BoolVector:
    """By bit mask: is the set wanted, or inside one that is?"""
    out = wanted.copy()
    for j in range(len(wanted).bit_length() - 1):
        halves = out.reshape(-1, 2, 1 << j)
        halves[:, 0] |= halves[:, 1]
    return out


def _cut_short(found: Found, purse: Purse) -> str | None:
    if found.exact_below == np.inf:
        return None
    exact = f"options that cost less than {found.exact_below:.3g} are exact, dearer ones "
    if found.exact_below == 0:
        exact = "no option is known to be the cheapest: they "
    return (
        f"The budget of {purse.spent:,} model rows ended the search of the grid: {exact}"
        "may be improved upon, or be missing."
    )
