"""Partial orders on a finite space of factors (Sect. 3, "Partial order"; Sect. 5).

An order answers one question, "is c no worse than c'?", for all pairs at once: `matrix(factors)`
holds c_i ⪯ c_j at [i, j]. The paper treats the order as primitive, so a user's own is checked
before it is believed: an answer computed from something that is not an order means nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from suffice.checks import ran, truth
from suffice.errors import InputError, shorten
from suffice.factors.kinds import Factor
from suffice.typing import Counts

__all__ = [
    "CostOrder",
    "CustomOrder",
    "Order",
    "SubsetOrder",
    "check_order",
    "linear_extension",
    "relation_of",
    "upward_closure",
]

_COST = "a function from a factor to a number >= 0"
_NO_WORSE = "a function from two factors to True or False"

Relation = NDArray[np.bool_]
"""[i, j]: c_i ⪯ c_j."""


@runtime_checkable
class Order(Protocol):
    """A partial order, as the matrix of its relation on a given list of factors."""

    def matrix(self, factors: Sequence[Factor]) -> Relation:
        """Hold at [i, j] whether factors[i] ⪯ factors[j]."""
        ...


@dataclass(frozen=True)
class SubsetOrder:
    """c ⪯ c' when every condition of c is a condition of c'.

    >>> from suffice.factors.predicates import compare, equals
    >>> female, adult = equals("gender", "female"), compare("age", ">=", 40)
    >>> SubsetOrder().matrix([female, female & adult]).tolist()
    [[True, True], [False, True]]
    """

    def matrix(self, factors: Sequence[Factor]) -> Relation:
        """Compare the factors' sets of conditions."""
        sets = [factor.conditions() for factor in factors]
        atoms = {atom: i for i, atom in enumerate(dict.fromkeys(a for s in sets for a in s))}
        has = np.zeros((len(sets), len(atoms)), dtype=np.float32)
        for i, conditions in enumerate(sets):
            has[i, [atoms[a] for a in conditions]] = 1
        # |c ∩ c'| = |c| says that c ⊆ c'; float32 counts whole numbers exactly up to 2^24.
        return np.asarray(has @ has.T == has.sum(axis=1)[:, None])


@dataclass(frozen=True)
class CostOrder:
    """c ⪯ c' when c ⪯ c' by subset and cost(c) <= cost(c')."""

    cost: Callable[[Factor], float]

    def __post_init__(self) -> None:
        _check_callable("cost", self.cost, _COST)

    def matrix(self, factors: Sequence[Factor]) -> Relation:
        """Compare conditions, then costs."""
        given = [ran("cost", self.cost, _COST, factor) for factor in factors]
        costs = _checked_costs(given, factors)
        return SubsetOrder().matrix(factors) & (costs[:, None] <= costs[None, :])


@dataclass(frozen=True)
class CustomOrder:
    """The user's own preference: `no_worse(c, c')` says whether c ⪯ c'."""

    no_worse: Callable[[Factor, Factor], bool]

    def __post_init__(self) -> None:
        _check_callable("no_worse", self.no_worse, _NO_WORSE)

    def matrix(self, factors: Sequence[Factor]) -> Relation:
        """Ask for every pair."""
        said = [
            [truth("order", ran("order", self.no_worse, _NO_WORSE, a, b)) for b in factors]
            for a in factors
        ]
        return np.array(said, dtype=bool).reshape(len(factors), len(factors))


def relation_of(order: Order, factors: Sequence[Factor]) -> Relation:
    """What an order says of each pair; whatever it raises is told as its own."""
    allowed = f"an order whose matrix is {len(factors)} × {len(factors)} truth values"
    given = ran("order", order.matrix, allowed, factors)
    if (
        not isinstance(given, np.ndarray)
        or given.dtype != bool
        or given.shape != (len(factors),) * 2
    ):
        raise InputError("order", f"a matrix {shorten(given)}", allowed)
    return np.asarray(given)


def check_order(relation: Relation, factors: Sequence[Factor]) -> None:
    """Raise unless the relation is reflexive, antisymmetric and transitive on these factors."""
    allowed = "a partial order on the factor space"
    for (i,) in np.argwhere(~np.diag(relation))[:1]:
        raise InputError("order", f"{factors[i]!r} not ⪯ itself", allowed, "It is not reflexive.")
    both = relation & relation.T & ~np.eye(len(factors), dtype=bool)
    for i, j in np.argwhere(both)[:1]:
        pair = f"{factors[i]!r} ⪯ {factors[j]!r} and the reverse"
        hint = "It is not antisymmetric: two different factors may not each precede the other."
        raise InputError("order", pair, allowed, hint)
    steps = relation.astype(np.float32)
    missing = (steps @ steps > 0) & ~relation
    for i, k in np.argwhere(missing)[:1]:
        j = int(np.argmax(relation[i] & relation[:, k]))
        chain = f"{factors[i]!r} ⪯ {factors[j]!r} ⪯ {factors[k]!r} but not the first ⪯ the last"
        raise InputError("order", chain, allowed, "It is not transitive.")


def _checked_costs(given: Sequence[object], factors: Sequence[Factor]) -> NDArray[np.float64]:
    costs = np.full(len(given), np.nan)
    for i, (cost, factor) in enumerate(zip(given, factors, strict=True)):
        if not isinstance(cost, str | bool | np.bool_):
            with suppress(TypeError, ValueError, OverflowError):
                costs[i] = float(cost)  # type: ignore[arg-type]
        if not costs[i] >= 0:
            got = f"{shorten(cost)} for {factor!r}"
            raise InputError("cost", got, "a number >= 0 for every factor")
    return costs


def _check_callable(argument: str, given: Any, allowed: str) -> None:
    if not callable(given):
        raise InputError(argument, given, allowed)


def linear_extension(relation: Relation) -> Counts:
    """An order of visiting in which nothing comes before what is below it; ties by position.

    In a partial order c ≺ c' implies that c has strictly fewer factors below it, so sorting by
    that number is a topological sort (Alg. 1, line 17).
    """
    return np.argsort(relation.sum(axis=0), kind="stable")


def upward_closure(relation: Relation, chosen: Sequence[int]) -> Counts:
    """All factors at or above a chosen one (Alg. 1, line 10)."""
    return np.flatnonzero(relation[list(chosen)].any(axis=0))
