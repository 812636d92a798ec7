"""Partial orders on a finite space of factors (Sect. 3, "Partial order"; Sect. 5).

An order answers one question, "is c no worse than c'?", for all pairs at once: `matrix(factors)`
holds c_i ⪯ c_j at [i, j]. The paper treats the order as primitive, so a user's own is checked
before it is believed: an answer computed from something that is not an order means nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from suffice.errors import InputError
from suffice.factors.kinds import Factor
from suffice.typing import Counts

__all__ = [
    "CostOrder",
    "CustomOrder",
    "Order",
    "SubsetOrder",
    "check_costs",
    "check_order",
    "linear_extension",
    "upward_closure",
]

Relation = NDArray[np.bool_]
"""[i, j]: c_i ⪯ c_j."""


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

    def matrix(self, factors: Sequence[Factor]) -> Relation:
        """Compare conditions, then costs."""
        costs = check_costs([self.cost(factor) for factor in factors], factors)
        return SubsetOrder().matrix(factors) & (costs[:, None] <= costs[None, :])


@dataclass(frozen=True)
class CustomOrder:
    """The user's own preference: `no_worse(c, c')` says whether c ⪯ c'."""

    no_worse: Callable[[Factor, Factor], bool]

    def matrix(self, factors: Sequence[Factor]) -> Relation:
        """Ask for every pair."""
        return np.array(
            [[bool(self.no_worse(a, b)) for b in factors] for a in factors], dtype=bool
        ).reshape(len(factors), len(factors))


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


def check_costs(costs: Sequence[float], names: Sequence[object]) -> NDArray[np.float64]:
    """Raise unless every cost is a number and none is negative."""
    values = np.asarray(costs, dtype=float)
    bad = np.flatnonzero(~(values >= 0))
    if len(bad):
        i = int(bad[0])
        raise InputError("cost", f"{values[i]} for {names[i]!r}", "a number >= 0 for every factor")
    return values


def linear_extension(relation: Relation) -> Counts:
    """An order of visiting in which nothing comes before what is below it; ties by position.

    In a partial order c ≺ c' implies that c has strictly fewer factors below it, so sorting by
    that number is a topological sort (Alg. 1, line 17).
    """
    return np.argsort(relation.sum(axis=0), kind="stable")


def upward_closure(relation: Relation, chosen: Sequence[int]) -> Counts:
    """All factors at or above a chosen one (Alg. 1, line 10)."""
    return np.flatnonzero(relation[list(chosen)].any(axis=0))
