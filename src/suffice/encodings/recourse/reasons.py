"""Why there is no option: which constraints, each lifted alone, would leave one."""

from __future__ import annotations

import numpy as np

from suffice.encodings.recourse.constraints import Constraints
from suffice.encodings.recourse.grid_search import Purse
from suffice.encodings.recourse.options import Option
from suffice.encodings.recourse.solve import Solver
from suffice.search.limits import EXHAUSTIVE_PLAYERS

__all__ = ["why_infeasible"]


def why_infeasible(solver: Solver, constraints: Constraints, desired: str, purse: Purse) -> str:
    """Lift each constraint alone, then all together, and say what each would allow.

    Rows that are left in the purse are shared evenly among these searches of the grid.
    """
    attempts = list(constraints.lifted())
    if not attempts:
        return _nothing_works(solver, desired)
    share = None if purse.left is None else purse.left // (len(attempts) + 1)
    sentences, undecided = [], []
    for says, relaxed in attempts:
        words = says.split(":")[0]
        if _too_wide(solver, relaxed):
            undecided.append(words)
            continue
        solution = solver.solve(relaxed, 1, Purse(share))
        if solution.options:
            sentences.append(f"{says}, {_would_do(solution.options[0])}.")
        elif solution.cut_short:
            undecided.append(words)
    if sentences:
        return "\n".join(sentences + _unknown(undecided))
    alone = "No constraint alone is the reason"
    free = Constraints(max_size=constraints.max_size if _too_wide(solver, Constraints()) else None)
    together = solver.solve(free, 1, Purse(share))
    if together.options:
        without = f"without all of them {_would_do(together.options[0])}."
        return "\n".join([f"{alone}: {without}", *_unknown(undecided)])
    if together.cut_short or undecided:
        return "\n".join([f"{alone}, as far as was searched.", *_unknown(undecided)])
    return _nothing_works(solver, desired)


def _too_wide(solver: Solver, constraints: Constraints) -> bool:
    """Are there too many sets to look at once this is lifted?"""
    free = len(solver.decision.players) - len(constraints.fixed)
    return free > EXHAUSTIVE_PLAYERS and constraints.max_size is None


def _would_do(option: Option) -> str:
    return f"{{{', '.join(option.features)}}} at cost {option.cost:.3g} would do ({option})"


def _unknown(undecided: list[str]) -> list[str]:
    if not undecided:
        return []
    return [f"Not searched to the end without: {'; '.join(undecided)}."]


def _nothing_works(solver: Solver, desired: str) -> str:
    n = len(solver.decision.references)
    finite = "" if np.isfinite(solver.prices).all() else ", at a finite cost"
    return (
        f"No change to observed values gives {desired}{finite}, even without constraints: none of "
        f"the {n} reference(s) does, on any set of features. Use other references, or ask for "
        "another outcome in desired."
    )
