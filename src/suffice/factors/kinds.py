"""The kinds of factor: each a Boolean property of z, with an exact repr and a JSON form."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from math import isinf
from typing import Annotated, Any, ClassVar, Literal, cast

import msgspec
import numpy as np

from suffice.errors import InputError, did_you_mean, one_line, shorten
from suffice.results import json_text
from suffice.typing import BoolVector, Scalar, Values

__all__ = ["COMPARISONS", "HELD", "AnyFactor", "Factor", "read_factors"]

Sample = Mapping[str, Values]
"""z, by column: the model's columns and the auxiliaries together."""

HELD = "held:"
"""Auxiliary column `held:p` records whether player p kept the input's value in this hybrid."""

Comparison = Literal["<", "<=", ">", ">=", "!="]

_TRUTH = (bool, int, float, np.bool_, np.number)

COMPARISONS: dict[Comparison, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "!=": operator.ne,
}


class Factor(msgspec.Struct, frozen=True, tag_field="kind", repr_omit_defaults=False):
    """A Boolean property of z. Combine with `&`, `|` and `~`; call it on a sample.

    >>> import pandas as pd
    >>> from suffice import Sample, compare, equals
    >>> factor = equals("home", "own") & ~compare("age", ">=", 40)
    >>> factor
    equals('home', 'own') & ~compare('age', '>=', 40)
    >>> factor(Sample(pd.DataFrame({"home": ["own", "own"], "age": [30, 50]}))).tolist()
    [True, False]
    """

    def __call__(self, z: Sample) -> BoolVector:
        """c(z) for each row; every kind of factor says what it means."""
        raise NotImplementedError

    def __and__(self, other: Factor) -> Factor:
        return And(_flatten(And, self) + _flatten(And, *read_factors([other], "&")))

    def __or__(self, other: Factor) -> Factor:
        return Or(_flatten(Or, self) + _flatten(Or, *read_factors([other], "|")))

    def __invert__(self) -> Factor:
        return self.part if isinstance(self, Not) else Not(cast(AnyFactor, self))

    def conditions(self) -> frozenset[object]:
        """What must hold for the factor to hold: the set that the subset order compares."""
        return frozenset({self})

    def columns(self) -> Iterator[str]:
        """The columns of z that the factor reads."""
        raise NotImplementedError

    def atoms(self) -> Iterator[Factor]:
        """The factors that this one is made of."""
        yield self

    def to_json(self) -> str:
        """A text that `factor_from_json` reads back."""
        self.check_storable()
        return json_text(self)

    def check_storable(self) -> None:
        """Raise where a value would be lost: JSON has no infinity, and would say "missing"."""
        for atom in self.atoms():
            given = atom.value if isinstance(atom, Equals | Compare) else None
            for value in atom.values if isinstance(atom, IsIn) else (given,):
                if isinstance(value, float) and isinf(value):
                    raise InputError("factor", repr(atom), "finite numbers, where it is stored")


class Equals(Factor, frozen=True, tag="equals"):
    """The column has this value (`None`: the value is missing)."""

    column: str
    value: Scalar

    def __call__(self, z: Sample) -> BoolVector:
        return _is(_column(z, self.column), self.value)

    def columns(self) -> Iterator[str]:
        yield self.column

    def __repr__(self) -> str:
        return f"equals({self.column!r}, {self.value!r})"


class IsIn(Factor, frozen=True, tag="in"):
    """The column has one of these values."""

    column: str
    values: Annotated[tuple[Scalar, ...], msgspec.Meta(min_length=1)]

    def __call__(self, z: Sample) -> BoolVector:
        column = _column(z, self.column)
        return np.asarray(np.logical_or.reduce([_is(column, v) for v in self.values]))

    def columns(self) -> Iterator[str]:
        yield self.column

    def __repr__(self) -> str:
        return f"isin({self.column!r}, {list(self.values)!r})"


class Between(Factor, frozen=True, tag="between"):
    """low <= column <= high."""

    column: str
    low: float
    high: float

    def __call__(self, z: Sample) -> BoolVector:
        column = _column(z, self.column)
        return _ordered(self, lambda: (column >= self.low) & (column <= self.high))

    def columns(self) -> Iterator[str]:
        yield self.column

    def __repr__(self) -> str:
        return f"between({self.column!r}, {self.low!r}, {self.high!r})"


class Compare(Factor, frozen=True, tag="compare"):
    """The column compared with a value: <, <=, >, >= or !=."""

    column: str
    relation: Comparison
    value: Scalar

    def __call__(self, z: Sample) -> BoolVector:
        column = _column(z, self.column)
        if self.relation == "!=":
            return ~_is(column, self.value)
        return _ordered(self, lambda: COMPARISONS[self.relation](column, self.value))

    def columns(self) -> Iterator[str]:
        yield self.column

    def __repr__(self) -> str:
        return f"compare({self.column!r}, {self.relation!r}, {self.value!r})"


class Auxiliary(Factor, frozen=True, tag="auxiliary"):
    """The auxiliary column is true: a tag of how z was drawn, or other metadata."""

    name: str

    def __call__(self, z: Sample) -> BoolVector:
        column = _column(z, self.name)
        plain = column.dtype.kind in "biuf" or all(isinstance(c, _TRUTH) for c in column.tolist())
        if not plain or not np.isin(column, [0, 1]).all():
            got = f"column {self.name!r} of other values"
            raise InputError("auxiliary", got, "truth values, none missing", "Use equals or isin.")
        return column.astype(bool)

    def columns(self) -> Iterator[str]:
        yield self.name

    def __repr__(self) -> str:
        return f"auxiliary({self.name!r})"


class Held(Factor, frozen=True, tag="held"):
    """z was built by holding just these players at the input's values (Prop. 1's c_S)."""

    players: tuple[str, ...]

    def __call__(self, z: Sample) -> BoolVector:
        recorded = [name for name in _checked(z) if name.startswith(HELD)]
        if not recorded:
            raise InputError(
                "held", "a context of plain rows", "hybrids, which record what was held"
            )
        for player in self.players:
            if HELD + player not in recorded:
                known = [name.removeprefix(HELD) for name in recorded]
                raise InputError(
                    "held", repr(player), "players of the context", did_you_mean(player, known)
                )
        want = {HELD + player for player in self.players}
        return np.asarray(
            np.logical_and.reduce(
                [np.asarray(z[name], dtype=bool) == (name in want) for name in recorded]
            )
        )

    def conditions(self) -> frozenset[object]:
        return frozenset(("held", player) for player in self.players)

    def columns(self) -> Iterator[str]:
        return (HELD + player for player in self.players)

    def __repr__(self) -> str:
        return f"held({', '.join(map(repr, self.players))})"


class _Many(Factor, frozen=True):
    """Several factors joined by one word; parts are kept in the order they were written."""

    parts: Annotated[tuple[AnyFactor, ...], msgspec.Meta(min_length=1)]
    sign: ClassVar[str]

    def columns(self) -> Iterator[str]:
        return (name for part in self.parts for name in part.columns())

    def atoms(self) -> Iterator[Factor]:
        return (atom for part in self.parts for atom in part.atoms())

    def __repr__(self) -> str:
        return f" {self.sign} ".join(
            f"({part!r})" if isinstance(part, _Many) else repr(part) for part in self.parts
        )


class And(_Many, frozen=True, tag="and"):
    """All parts hold."""

    sign: ClassVar[str] = "&"

    def __call__(self, z: Sample) -> BoolVector:
        """All of c_1(z), …, c_k(z)."""
        return np.asarray(np.logical_and.reduce([part(z) for part in self.parts]))

    def conditions(self) -> frozenset[object]:
        """The parts' conditions together."""
        return frozenset().union(*(part.conditions() for part in self.parts))


class Or(_Many, frozen=True, tag="or"):
    """At least one part holds."""

    sign: ClassVar[str] = "|"

    def __call__(self, z: Sample) -> BoolVector:
        return np.asarray(np.logical_or.reduce([part(z) for part in self.parts]))


class Not(Factor, frozen=True, tag="not"):
    """The part does not hold: the paper's 1 - c."""

    part: AnyFactor

    def __call__(self, z: Sample) -> BoolVector:
        return ~self.part(z)

    def columns(self) -> Iterator[str]:
        return self.part.columns()

    def atoms(self) -> Iterator[Factor]:
        return self.part.atoms()

    def __repr__(self) -> str:
        return f"~({self.part!r})" if isinstance(self.part, _Many) else f"~{self.part!r}"


AnyFactor = Equals | IsIn | Between | Compare | Auxiliary | Held | And | Or | Not


def read_factors(given: object, argument: str = "factors") -> tuple[Factor, ...]:
    """Several factors, each made by one of the functions that make them."""
    allowed, hint = "factors", "Make one with equals, isin, between, compare, held or auxiliary."
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise InputError(argument, given, f"a list of {allowed}", hint)
    found = tuple(given)
    for factor in found:
        if not isinstance(factor, Factor):
            raise InputError(argument, shorten(factor), allowed, hint)
    return found


def _ordered(factor: Factor, compared: Callable[[], Any]) -> BoolVector:
    try:
        with np.errstate(invalid="ignore"):  # a missing number is neither less nor more
            return np.asarray(compared(), dtype=bool)
    except Exception as error:  # values of the user's own may raise anything
        hint = f"The column's values have no such order ({one_line(error)})."
        raise InputError("factor", repr(factor), "a column that can be compared", hint) from error


def _flatten(kind: type[_Many], factor: Factor) -> tuple[Any, ...]:
    return factor.parts if isinstance(factor, kind) else (factor,)


def _column(z: Sample, name: str) -> Values:
    try:
        given = _checked(z)[name]
    except KeyError:
        known = [column for column in z if not column.startswith(HELD)]
        raise InputError("column", repr(name), "a column of z", did_you_mean(name, known)) from None
    column = np.asarray(given)
    if column.ndim != 1:
        raise InputError("z", f"{shorten(given)} for column {name!r}", "an array of values")
    return column


def _checked(z: Sample) -> Sample:
    given: object = z
    if isinstance(given, Mapping):
        return z
    raise InputError("z", given, "a sample, such as Sample(frame), or {column: array of values}")


def _is(column: Values, value: Scalar) -> BoolVector:
    if value is None:
        from pandas import isna

        return np.asarray(isna(column), dtype=bool)
    try:
        return np.asarray(column == value, dtype=bool)
    except Exception:  # pd.NA, arrays, or values whose own == raises, among the cells
        return np.array([_equal(cell, value) for cell in column], dtype=bool)


def _equal(cell: Any, value: Scalar) -> bool:
    try:
        return bool(cell == value)
    except Exception:
        return False
