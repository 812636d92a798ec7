"""Partial orders on a finite space of factors (Sect. 3, "Partial order"; Sect. 5).

An order answers one question, "is c no worse than c'?", for all pairs at once: `matrix(factors)`
holds c_i ⪯ c_j at [i, j]. The paper treats the order as primitive, so a user's own is checked
before it is believed: an answer computed from something that is not an order means nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from suffice.errors import InputError, short_repr
from suffice.factors.predicates import Factor, read_factors
from suffice.typing import BoolVector, Counts, Reals
from suffice.validation import call_user_function

Relation = NDArray[np.bool_]
"""[i, j]: c_i ⪯ c_j."""

COST_TOLERANCE = 1e-9
"""Costs that differ by less than this share of themselves are equal: they are sums of quotients
that were rounded, so that 8/3 + 1 + 1 is not the float 14/3."""


@runtime_checkable
class Order(Protocol):
    """A partial order, as the matrix of its relation on a given list of factors."""

    def matrix(self, factors: Sequence[Factor]) -> Relation:
        """Return a Boolean matrix: [i, j] is whether factors[i] ⪯ factors[j]."""
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
        """Return the relation of the factors' sets of conditions."""
        sets = [factor.conditions() for factor in read_factors(factors)]
        atoms = {atom: i for i, atom in enumerate(dict.fromkeys(a for s in sets for a in s))}
        has = np.zeros((len(sets), len(atoms)), dtype=np.float32)
        for i, conditions in enumerate(sets):
            has[i, [atoms[a] for a in conditions]] = 1
        # |c ∩ c'| = |c| says that c ⊆ c'; float32 counts whole numbers exactly up to 2^24.
        return np.asarray(has @ has.T == has.sum(axis=1)[:, None])


@dataclass(frozen=True)
class CostOrder:
    """c ⪯ c' when c ⪯ c' by subset and cost(c) <= cost(c'), rounding aside.

    >>> from suffice.factors.predicates import compare, equals
    >>> rich, owner = compare("income", ">", 60), equals("home", "owns")
    >>> CostOrder(lambda c: 3.0 if c == rich else 1.0).matrix([rich, rich & owner]).tolist()
    [[True, False], [False, True]]
    """

    cost: Callable[[Factor], float]

    def __post_init__(self) -> None:
        if not callable(self.cost):
            raise InputError("cost", self.cost, _COST_FUNCTION)

    def matrix(self, factors: Sequence[Factor]) -> Relation:
        """Return the relation of the factors' conditions and costs."""
        given = read_factors(factors)
        ranks = cost_ranks(np.array([self._price(factor) for factor in given]))
        return SubsetOrder().matrix(given) & (ranks[:, None] <= ranks[None, :])

    def _price(self, factor: Factor) -> float:
        found = call_user_function(
            "cost", self.cost, _COST_FUNCTION, factor, about=f"for {factor!r}"
        )
        try:
            price = float(found)
        except (TypeError, ValueError, OverflowError):
            price = np.nan
        if not price >= 0:
            got = f"{short_repr(found)} for {factor!r}"
            raise InputError("cost", got, "a number >= 0 for every factor")
        return price


@dataclass(frozen=True)
class CustomOrder:
    """Order given by a function: `no_worse(c, c')` returns whether c ⪯ c'.

    >>> from suffice import CustomOrder, held
    >>> shorter = CustomOrder(lambda c, other: c == other or len(repr(c)) < len(repr(other)))
    >>> shorter.matrix([held("age"), held("income")]).tolist()
    [[True, True], [False, True]]
    """

    no_worse: Callable[[Factor, Factor], bool]

    def __post_init__(self) -> None:
        if not callable(self.no_worse):
            raise InputError("no_worse", self.no_worse, _PREFERENCE_FUNCTION)

    def matrix(self, factors: Sequence[Factor]) -> Relation:
        """Return the relation by calling `no_worse` for every pair."""
        given = read_factors(factors)
        answers = [[self._asked(a, b) for b in given] for a in given]
        return np.array(answers, dtype=bool).reshape(len(given), len(given))

    def _asked(self, a: Factor, b: Factor) -> bool:
        answer = call_user_function("no_worse", self.no_worse, _PREFERENCE_FUNCTION, a, b)
        if isinstance(answer, bool | np.bool_):
            return bool(answer)
        raise InputError("no_worse", f"the answer {short_repr(answer)}", _PREFERENCE_FUNCTION)


_COST_FUNCTION = "a function from a factor to its cost"
_PREFERENCE_FUNCTION = "a function (c, c') -> True or False"


def read_relation(order: Order, factors: Sequence[Factor]) -> Relation:
    """Return an order's relation on factors, checked: the order may be the user's."""
    given: object = order
    if isinstance(given, type) or not isinstance(given, Order):
        raise InputError("order", given, "SubsetOrder(), CostOrder(cost) or CustomOrder(no_worse)")
    size = len(factors)
    allowed = f"a matrix of Booleans for the {size} factors"
    found = call_user_function("order", order.matrix, allowed, factors)
    if (
        not isinstance(found, np.ndarray)
        or found.dtype != np.dtype(bool)
        or found.shape != (size, size)
    ):
        raise InputError("order", f"the relation {short_repr(found)}", allowed)
    check_partial_order(found, factors)
    return found


def check_partial_order(relation: Relation, factors: Sequence[Factor]) -> None:
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


def cost_at_most(costs: Reals | float, than: Reals | float) -> BoolVector:
    """Return whether each cost is at most the other, rounding aside.

    >>> bool(14 / 3 <= 8 / 3 + 1 + 1), bool(cost_at_most(14 / 3, 8 / 3 + 1 + 1))
    (False, True)
    """
    with np.errstate(over="ignore"):  # near the largest float; an infinite cost is above it
        return np.asarray(costs <= np.multiply(than, 1 + COST_TOLERANCE))


def cost_ranks(costs: Reals) -> Counts:
    """Return integer ranks of costs; costs that are equal, rounding aside, share a rank.

    Each rank holds what is no dearer than its cheapest, so that to have the same rank is transitive
    even where a chain of costs, each close to the next, leads from one to quite another.

    >>> cost_ranks(np.array([3.0, 14 / 3, 8 / 3 + 1 + 1, 1.0])).tolist()
    [1, 2, 2, 0]
    """
    # One pass over the sorted costs: each rank begins at the first cost above the last rank.
    ranks = np.empty(len(costs), dtype=np.int64)
    order = np.argsort(costs, kind="stable")
    ordered = costs[order]
    rank = start = 0
    while start < len(order):
        with np.errstate(over="ignore"):
            last = ordered[start] * (1 + COST_TOLERANCE)
        stop = int(np.searchsorted(ordered, last, side="right"))
        ranks[order[start:stop]] = rank
        rank, start = rank + 1, stop
    return ranks


def linear_extension(relation: Relation) -> Counts:
    """Return an order of visiting in which no factor precedes one below it; ties by position.

    In a partial order c ≺ c' implies that c has strictly fewer factors below it, so sorting by
    that number is a topological sort (Alg. 1, line 17).
    """
    return np.argsort(relation.sum(axis=0), kind="stable")


def upward_closure(relation: Relation, chosen: Sequence[int]) -> Counts:
    """Return the factors at or above a chosen one (Alg. 1, line 10)."""
    return np.flatnonzero(relation[list(chosen)].any(axis=0))
