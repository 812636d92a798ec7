"""From the question, as a user puts it, to the answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.context.cost import CostSpec
from suffice.decision import Decision
from suffice.encodings.recourse.constraints import Constraints
from suffice.encodings.recourse.field import check_context, is_causal
from suffice.encodings.recourse.grid_search import Purse
from suffice.encodings.recourse.options import Recourse
from suffice.encodings.recourse.reading import (
    Names,
    read_directions,
    read_fixed,
    read_forbidden,
    read_known,
    read_ranges,
    read_steps,
)
from suffice.encodings.recourse.reasons import why_infeasible
from suffice.encodings.recourse.solve import Solver
from suffice.errors import InputError
from suffice.factors import Factor
from suffice.search.algorithm1 import check_tau
from suffice.search.limits import Limits

__all__ = ["Wish", "find_recourse"]

VALUES = ("observed", "grid")


@dataclass(frozen=True)
class Wish:
    """What `Explainer.recourse` was asked for, as it was given."""

    tau: float | None = None
    immutable: Names = ()
    actionable: Names | None = None
    ranges: Mapping[str, Any] | None = None
    increasing: Names = ()
    decreasing: Names = ()
    steps: Mapping[str, float] | None = None
    forbidden: Factor | Iterable[Factor] = ()
    cost: CostSpec = None
    max_cost: float | None = None
    max_size: int | None = None
    n: int | None = None
    values: str = "observed"
    budget: int | None = None
    progress: bool | None = None


def find_recourse(decision: Decision, wish: Wish, asked_for: bool = False) -> Recourse:
    """c* = argmin cost(c) subject to PS(c, 1 - y) >= τ, and every other minimal option.

    `asked_for` says that the decision's event is the outcome wanted, which the input must lack.
    """
    event = decision.target.event
    if asked_for and decision.y:
        raise InputError(
            "desired", f"{event.says}, which the input has already", "an outcome it does not have"
        )
    check_context(decision)
    _check(wish, decision)
    constraints = _constraints(decision, wish)
    desired = event.describe(not decision.y)
    cost = decision.cost if wish.cost is None else wish.cost
    solver = Solver(decision, cost, wish.values, wish.progress)
    purse = Purse(None if wish.budget is None else int(wish.budget))
    solution = solver.solve(constraints, wish.n, purse)
    reason = solution.cut_short
    if not solution.options:
        why = why_infeasible(solver, constraints, desired, purse)
        reason = why if reason is None else f"{reason}\n{why}"
    return Recourse(
        desired=desired,
        outcome=event.describe(decision.y),
        options=solution.options,
        tau=constraints.tau,
        values=wish.values,
        complete=solution.cut_short is None,
        reason=reason,
    )


def _check(wish: Wish, decision: Decision) -> None:
    if wish.tau is not None:
        check_tau(wish.tau)
    if wish.values not in VALUES:
        raise InputError("values", repr(wish.values), "one of " + ", ".join(VALUES))
    if wish.values == "grid" and is_causal(decision):
        hint = "What follows from a value is drawn per reference."
        raise InputError("values", "'grid' in a causal context", "'observed'", hint)
    if wish.budget is not None and wish.values != "grid":
        raise InputError("budget", wish.budget, "None, unless values='grid'", "It bounds the grid.")
    Limits(budget=wish.budget).checked(0)
    for name in ("n", "max_size"):
        given: object = getattr(wish, name)
        if given is not None and not (isinstance(given, int | np.integer) and given >= 1):
            raise InputError(name, given, "None or a whole number >= 1")
    price: object = wish.max_cost
    if price is not None and not (isinstance(price, int | float | np.number) and price > 0):
        raise InputError("max_cost", price, "None or a positive number")


def _constraints(decision: Decision, wish: Wish) -> Constraints:
    table = decision.pool.stack(decision.data)
    fixed = read_fixed(table, decision.players, wish.immutable, wish.actionable)
    rules = [
        *read_ranges(table, wish.ranges),
        *read_directions(table, wish.increasing, wish.decreasing),
        *read_steps(table, wish.steps),
    ]
    rules += read_known(table, rules)
    return Constraints(
        fixed,
        tuple(rules),
        read_forbidden(table, wish.forbidden),
        None if wish.tau is None else float(wish.tau),
        np.inf if wish.max_cost is None else float(wish.max_cost),
        None if wish.max_size is None else int(wish.max_size),
    )
