"""Why there is no option: which constraints, each lifted alone, would leave one."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from suffice.decision import Decision
from suffice.encodings.recourse.constraints import Constraints
from suffice.encodings.recourse.result import Option, Solution
from suffice.search.limits import LimitKeeper
from suffice.typing import Reals
from suffice.wording import count

__all__ = ["Solves", "why_infeasible"]

_TOLD = 5
"""So many constraints are named that were not lifted to the end."""


class Solves(Protocol):
    """What is needed of a solver to find out why it found nothing."""

    decision: Decision
    costs: Reals

    def solve(self, constraints: Constraints, most: int | None, keeper: LimitKeeper) -> Solution:
        """The options under these constraints."""
        ...


def why_infeasible(
    solver: Solves, constraints: Constraints, found: Solution, keeper: LimitKeeper
) -> list[str]:
    """Lift each constraint alone, then all together, and say what each would allow.

    Rows and seconds that are left are shared evenly among these searches.
    """
    attempts = list(constraints.lifted())
    if not attempts:
        return [] if found.cut_short else [_nothing_works(solver)]
    sentences, undecided = [], []
    for i, lifted in enumerate(attempts):
        solution = solver.solve(lifted.rest, 1, keeper.part(1 / (len(attempts) + 1 - i)))
        if solution.options:
            would_do = _would_do(solution.options[0])
            sentences.append(f"{lifted.says}: {lifted.if_lifted}, {would_do}.")
        elif solution.cut_short:
            undecided.append(lifted.says)
    if sentences:
        return sentences + _unknown(undecided)
    together = solver.solve(Constraints(), 1, keeper)
    if together.options:
        without = f"without all of them {_would_do(together.options[0])}."
        return [f"No constraint alone is the reason: {without}", *_unknown(undecided)]
    if together.cut_short or undecided:
        said = "No way was found without the constraints either, as far as was searched."
        return [said, *_unknown(undecided)]
    return [_nothing_works(solver)]


def _would_do(option: Option) -> str:
    return f"{{{', '.join(option.features)}}} at cost {option.cost:.3g} would do ({option.says})"


def _unknown(undecided: list[str]) -> list[str]:
    if not undecided:
        return []
    more = len(undecided) - _TOLD
    named = "; ".join(undecided[:_TOLD]) + (f"; and {more} more" if more > 0 else "")
    return [f"Not searched to the end without: {named}."]


def _nothing_works(solver: Solves) -> str:
    decision = solver.decision
    desired = decision.target.event.describe(not decision.y)
    finite = "" if np.isfinite(solver.costs).all() else ", at a finite cost"
    none = f"none of the {count(len(decision.references), 'reference')} does"
    return (
        f"No change to observed values gives {desired}{finite}, even without constraints: {none}, "
        "on any set of features. Use other references, or ask for another outcome in desired."
    )
