"""`check_order`: a custom order is a partial order on any list of factors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from suffice.errors import InputError, short_repr
from suffice.factors.order import Order, Relation, check_partial_order as check_axioms
from suffice.factors.predicates import Factor, read_factors
from suffice.testing.assertions import errors_as_assertions, pickled_copy, require
from suffice.validation import check_integer

_LISTS = 20


def check_order(order: Order, factors: Sequence[Factor], *, seed: int = 0) -> int:
    """Check that an order is partial on these factors and on lists of some of them.

    The relation must be reflexive, antisymmetric and transitive; of two factors it must say the
    same whichever others are listed, and in whatever order; and it must send itself to other
    processes. Gives the number of pairs that were compared.

    >>> from suffice import CustomOrder, SubsetOrder, compare, equals
    >>> from suffice.testing import check_order
    >>> female, adult = equals("gender", "female"), compare("age", ">=", 40)
    >>> check_order(SubsetOrder(), [female, adult, female & adult])
    9
    >>> check_order(CustomOrder(lambda a, b: True), [female, adult, female & adult])
    Traceback (most recent call last):
        ...
    AssertionError: It is not antisymmetric: ... may not each precede the other. Found: ...
    """
    given = read_factors(factors)
    rng = np.random.default_rng(check_integer("seed", seed, least=0))
    if len(given) < 3:
        raise InputError("factors", f"{len(given)}", "three factors or more, to see the axioms")
    require(isinstance(order, Order), f"{short_repr(order)} has no matrix(factors)")
    relation = _matrix(order, given)
    try:
        check_axioms(relation, given)
    except InputError as error:
        raise AssertionError(f"{error.hint} Found: {error.got}.") from error
    repeated = np.array_equal(relation, _matrix(order, given))
    require(repeated, "asked twice about the same factors, the order answers otherwise")
    _check_lists(order, given, relation, rng)
    empty = _matrix(order, ())
    require(empty.shape == (0, 0), f"of no factors, matrix gives shape {empty.shape}, not (0, 0)")
    _check_copy(order, given, relation)
    return len(given) ** 2


def _matrix(order: Order, factors: Sequence[Factor]) -> Relation:
    with errors_as_assertions(f"matrix of {len(factors)} factors"):
        found = order.matrix(factors)
    size = len(factors)
    require(isinstance(found, np.ndarray), f"matrix gives {short_repr(found)}, no numpy array")
    require(found.dtype == np.dtype(bool), f"matrix holds {found.dtype}, not Booleans")
    require(found.shape == (size, size), f"of {size} factors, matrix has shape {found.shape}")
    return found


def _check_lists(
    order: Order, factors: Sequence[Factor], relation: Relation, rng: np.random.Generator
) -> None:
    for _ in range(_LISTS):
        some = rng.permutation(len(factors))[: rng.integers(2, len(factors) + 1)]
        found = _matrix(order, [factors[i] for i in some])
        for i, j in np.argwhere(found != relation[np.ix_(some, some)])[:1]:
            pair = f"{factors[some[i]]!r} ⪯ {factors[some[j]]!r}"
            raise AssertionError(f"whether {pair} hangs on the other factors that are listed")


def _check_copy(order: Order, factors: Sequence[Factor], relation: Relation) -> None:
    with errors_as_assertions("sending the order to another process"):
        copy: Order = pickled_copy(order)
    same = np.array_equal(relation, _matrix(copy, factors))
    require(same, "sent to another process, the order answers otherwise")
