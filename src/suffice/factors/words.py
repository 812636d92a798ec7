"""Factors in a newcomer's words: 30 < age ≤ 45 and home = rents."""

from __future__ import annotations

from suffice.factors.kinds import (
    And,
    Auxiliary,
    Between,
    Compare,
    Equals,
    Factor,
    Held,
    IsIn,
    Not,
    Or,
)
from suffice.typing import Scalar
from suffice.wording import harmless, listed, show

__all__ = ["in_words"]

_SIGNS = {"<=": "≤", ">=": "≥", "!=": "≠"}
_TURNED = {">": "<", ">=": "≤"}


def in_words(factor: Factor | None) -> str:
    """The factor in words; None is the empty rule, which asks nothing.

    >>> from suffice import compare, equals, held
    >>> in_words(compare("age", ">", 30) & equals("home", "rents") & compare("age", "<=", 45))
    '30 < age ≤ 45 and home = rents'
    >>> in_words(equals("guarantor", False) & compare("rate", "<=", 0.123456789))
    'guarantor = no and rate ≤ 0.123456789'
    >>> in_words(held("age", "job"))
    'just age and job held'
    """
    if factor is None:
        return "always"
    if isinstance(factor, And):
        return " and ".join(_both_bounds(list(factor.parts)))
    return _one(factor)


def _both_bounds(parts: list[Factor]) -> list[str]:
    """Two bounds of one column are said together, where the first of them stood."""
    out = []
    while parts:
        first = parts.pop(0)
        other = next((p for p in parts if _bounds(first, p) or _bounds(p, first)), None)
        if other is None:
            out.append(f"({_one(first)})" if isinstance(first, And | Or) else _one(first))
            continue
        parts.remove(other)
        low, high = (first, other) if _bounds(first, other) else (other, first)
        assert isinstance(low, Compare) and isinstance(high, Compare)
        out.append(f"{_value(low.value)} {_TURNED[low.relation]} {_one(high)}")
    return out


def _bounds(low: Factor, high: Factor) -> bool:
    return (
        isinstance(low, Compare)
        and isinstance(high, Compare)
        and low.column == high.column
        and low.relation in (">", ">=")
        and high.relation in ("<", "<=")
    )


def _one(factor: Factor) -> str:
    match factor:
        case Equals(column, None):
            return f"{harmless(column)} is missing"
        case Equals(column, value):
            return f"{harmless(column)} = {_value(value)}"
        case Compare(column, relation, value):
            return f"{harmless(column)} {_SIGNS.get(relation, relation)} {_value(value)}"
        case IsIn(column, values):
            return f"{harmless(column)} in {{{', '.join(map(_value, values))}}}"
        case Between(column, low, high):
            return f"{_value(low)} ≤ {harmless(column)} ≤ {_value(high)}"
        case Or(parts):
            return " or ".join(_grouped(part) for part in parts)
        case Not(part):
            return f"not ({in_words(part)})"
        case And():
            return in_words(factor)
        case Auxiliary(name):
            return harmless(name)
        case Held(players):
            return f"just {listed(map(harmless, players))} held" if players else "nothing held"
        case _:
            return repr(factor)


def _grouped(factor: Factor) -> str:
    return f"({in_words(factor)})" if isinstance(factor, And) else _one(factor)


def _value(value: Scalar) -> str:
    """A value as it is shown anywhere, but for numbers with all their digits: they are bounds."""
    return repr(value).removesuffix(".0") if isinstance(value, float) else show(value)
