"""Factors as predicates on z = (x, w): a small algebra with exact reprs and a JSON form.

The paper's own example, "female, and drawn from a context in which an intervention fixes income
above $50k":

>>> c = equals("gender", "female") & auxiliary("do(income > 50k)")
>>> c
equals('gender', 'female') & auxiliary('do(income > 50k)')
>>> z = {"gender": np.array(["female", "male"]), "do(income > 50k)": np.array([True, True])}
>>> c(z).tolist()
[True, False]
>>> factor_from_json(c.to_json()) == c
True
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec
import numpy as np

from suffice import checks
from suffice.errors import InputError, shorten
from suffice.factors.kinds import (
    COMPARISONS,
    AnyFactor,
    Auxiliary,
    Between,
    Compare,
    Equals,
    Factor,
    Held,
    IsIn,
)
from suffice.results import read_json
from suffice.typing import Scalar

__all__ = ["auxiliary", "between", "compare", "equals", "factor_from_json", "held", "isin"]


def equals(column: str, value: object) -> Factor:
    """The column has this value; `None` asks whether it is missing.

    >>> equals("Housing", "own")
    equals('Housing', 'own')
    """
    return Equals(_name("column", column), _plain(value))


def isin(column: str, values: Iterable[object]) -> Factor:
    """The column has one of these values.

    >>> isin("Job", [2, 3])
    isin('Job', [2, 3])
    """
    given: object = values
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        hint = f"For one value: [{shorten(given)}]." if isinstance(given, str) else ""
        shown = repr(given) if isinstance(given, str) else given
        raise InputError("values", shown, "a list of values", hint)
    plain = tuple(_plain(v, "values") for v in given)
    if not plain:
        raise InputError("values", "no value", "one value or more")
    return IsIn(_name("column", column), plain)


def between(column: str, low: float, high: float) -> Factor:
    """The column lies in [low, high].

    >>> between("Age", 30, 40)
    between('Age', 30.0, 40.0)
    """
    ends = [
        checks.number(name, end, "a finite number (compare asks for one bound)")
        for name, end in (("low", low), ("high", high))
    ]
    if ends[0] > ends[1]:
        raise InputError("low, high", f"{low!r}, {high!r}", "two numbers with low <= high")
    return Between(_name("column", column), *ends)


def compare(column: str, relation: str, value: object) -> Factor:
    """The column compared with a value.

    >>> ~compare("Age", ">=", 40)
    ~compare('Age', '>=', 40)
    """
    return Compare(
        _name("column", column), checks.choice("relation", relation, COMPARISONS), _plain(value)
    )


def auxiliary(name: str) -> Factor:
    """The auxiliary column is true.

    >>> auxiliary("do(income > 50k)")
    auxiliary('do(income > 50k)')
    """
    return Auxiliary(_name("name", name))


def held(*players: str) -> Factor:
    """The hybrid holds just these players at the input's values.

    >>> held("Age", "Job").conditions() > held("Age").conditions()
    True
    """
    return Held(tuple(sorted(_name("players", player) for player in players)))


def factor_from_json(text: str | bytes) -> Factor:
    """Read a factor back from `Factor.to_json`.

    >>> factor = equals("home", "own") & compare("age", ">=", 40)
    >>> factor_from_json(factor.to_json()) == factor
    True
    """
    allowed = "JSON written by Factor.to_json"
    try:
        factor: Factor = msgspec.convert(read_json(text, allowed), type=AnyFactor)
    except (msgspec.ValidationError, RecursionError) as error:
        raise InputError("text", str(error), allowed) from error
    return factor


def _name(argument: str, given: object) -> str:
    return checks.text(argument, given, "a name, which is a text")


def _plain(value: object, argument: str = "value") -> Scalar:
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and value != value:
        return None
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise InputError(argument, value, "a whole number of at most 64 bits")
    if value is None or isinstance(value, str | int | float | bool):
        return value
    raise InputError(argument, value, "a string, a number, a truth value or None")
