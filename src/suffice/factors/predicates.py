"""Factors as predicates: Boolean properties of z, with an exact repr and a JSON form."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from math import isinf
from typing import Annotated, Any, ClassVar, Literal, cast

import msgspec
import numpy as np

from suffice import validation as checks
from suffice.errors import InputError, did_you_mean, one_line, short_repr
from suffice.results import json_text, read_json
from suffice.tables.cells import equals_label, missing_mask
from suffice.typing import BoolVector, Scalar, Values

SampleColumns = Mapping[str, Values]
"""z, by column: the model's columns and the auxiliaries together."""

HELD_PREFIX = "held:"
"""Auxiliary column `held:p` records whether player p kept the input's value in this hybrid."""

ComparisonSign = Literal["<", "<=", ">", ">=", "!="]

_BOOLEAN_TYPES = (bool, int, float, np.bool_, np.number)

COMPARISONS: dict[ComparisonSign, Callable[[Any, Any], Any]] = {
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

    def __call__(self, z: SampleColumns) -> BoolVector:
        """Return c(z) for each row of the sample."""
        raise NotImplementedError

    def __and__(self, other: Factor) -> Factor:
        return And(_flatten(And, self) + _flatten(And, *read_factors([other], "&")))

    def __or__(self, other: Factor) -> Factor:
        return Or(_flatten(Or, self) + _flatten(Or, *read_factors([other], "|")))

    def __invert__(self) -> Factor:
        return self.part if isinstance(self, Not) else Not(cast(AnyFactor, self))

    def conditions(self) -> frozenset[object]:
        """Return the conditions that must all hold: the set that the subset order compares."""
        return frozenset({self})

    def columns(self) -> Iterator[str]:
        """Yield the columns of z that the factor reads."""
        raise NotImplementedError

    def atoms(self) -> Iterator[Factor]:
        """Yield the factors that are no compounds."""
        yield self

    def to_json(self) -> str:
        """Return the factor as JSON, which `factor_from_json` reads."""
        self.check_storable()
        return json_text(self)

    def check_storable(self) -> None:
        """Raise for an infinite value, which JSON cannot hold."""
        for atom in self.atoms():
            given = atom.value if isinstance(atom, Equals | Compare) else None
            for value in atom.values if isinstance(atom, IsIn) else (given,):
                if isinstance(value, float) and isinf(value):
                    raise InputError("factor", repr(atom), "finite numbers, where it is stored")


class _ColumnFactor(Factor, frozen=True):
    """Base class of factors on the values of one column."""

    column: str

    def columns(self) -> Iterator[str]:
        """Yield the column that the factor reads."""
        yield self.column


class Equals(_ColumnFactor, frozen=True, tag="equals"):
    """Factor: the column has this value (`None`: the value is missing)."""

    value: Scalar

    def __call__(self, z: SampleColumns) -> BoolVector:
        """Return which rows of the sample satisfy the factor."""
        return _equals_value(_column(z, self.column), self.value)

    def __repr__(self) -> str:
        return f"equals({self.column!r}, {self.value!r})"


class IsIn(_ColumnFactor, frozen=True, tag="in"):
    """Factor: the column has one of these values."""

    values: Annotated[tuple[Scalar, ...], msgspec.Meta(min_length=1)]

    def __call__(self, z: SampleColumns) -> BoolVector:
        """Return which rows of the sample satisfy the factor."""
        column = _column(z, self.column)
        return np.asarray(np.logical_or.reduce([_equals_value(column, v) for v in self.values]))

    def __repr__(self) -> str:
        return f"isin({self.column!r}, {list(self.values)!r})"


class Between(_ColumnFactor, frozen=True, tag="between"):
    """Factor: low <= column <= high."""

    low: float
    high: float

    def __call__(self, z: SampleColumns) -> BoolVector:
        """Return which rows of the sample satisfy the factor."""
        column = _column(z, self.column)
        return _compare_ordered(self, lambda: (column >= self.low) & (column <= self.high))

    def __repr__(self) -> str:
        return f"between({self.column!r}, {self.low!r}, {self.high!r})"


class Compare(_ColumnFactor, frozen=True, tag="compare"):
    """Factor: the column compared with a value by <, <=, >, >= or !=."""

    relation: ComparisonSign
    value: Scalar

    def __call__(self, z: SampleColumns) -> BoolVector:
        """Return which rows of the sample satisfy the factor."""
        column = _column(z, self.column)
        if self.relation == "!=":
            return ~_equals_value(column, self.value)
        return _compare_ordered(self, lambda: COMPARISONS[self.relation](column, self.value))

    def __repr__(self) -> str:
        return f"compare({self.column!r}, {self.relation!r}, {self.value!r})"


class Auxiliary(Factor, frozen=True, tag="auxiliary"):
    """Factor: an auxiliary column is true, such as a tag of how z was drawn."""

    name: str

    def __call__(self, z: SampleColumns) -> BoolVector:
        """Return which rows of the sample satisfy the factor."""
        column = _column(z, self.name)
        plain = column.dtype.kind in "biuf" or all(
            isinstance(c, _BOOLEAN_TYPES) for c in column.tolist()
        )
        if not plain or not np.isin(column, [0, 1]).all():
            got = f"column {self.name!r} of other values"
            raise InputError("auxiliary", got, "Booleans, none missing", "Use equals or isin.")
        return column.astype(bool)

    def columns(self) -> Iterator[str]:
        """Yield the columns that the factor reads."""
        yield self.name

    def __repr__(self) -> str:
        return f"auxiliary({self.name!r})"


class Held(Factor, frozen=True, tag="held"):
    """Factor: z was built by holding just these players at the input's values (Prop. 1's c_S)."""

    players: tuple[str, ...]

    def __call__(self, z: SampleColumns) -> BoolVector:
        """Return which rows of the sample satisfy the factor."""
        recorded = [name for name in _check_sample(z) if name.startswith(HELD_PREFIX)]
        if not recorded:
            raise InputError(
                "held", "a context of plain rows", "hybrids, which record what was held"
            )
        for player in self.players:
            if HELD_PREFIX + player not in recorded:
                known = [name.removeprefix(HELD_PREFIX) for name in recorded]
                raise InputError(
                    "held", repr(player), "players of the context", did_you_mean(player, known)
                )
        want = {HELD_PREFIX + player for player in self.players}
        return np.asarray(
            np.logical_and.reduce(
                [np.asarray(z[name], dtype=bool) == (name in want) for name in recorded]
            )
        )

    def conditions(self) -> frozenset[object]:
        """Return the conditions that must all hold, for the subset order."""
        return frozenset(("held", player) for player in self.players)

    def columns(self) -> Iterator[str]:
        """Yield the columns that the factor reads."""
        return (HELD_PREFIX + player for player in self.players)

    def __repr__(self) -> str:
        return f"held({', '.join(map(repr, self.players))})"


class _Junction(Factor, frozen=True):
    """Base class of conjunctions and disjunctions, with parts in the order given."""

    parts: Annotated[tuple[AnyFactor, ...], msgspec.Meta(min_length=1)]
    sign: ClassVar[str]

    def columns(self) -> Iterator[str]:
        """Yield the columns that the factor reads."""
        return (name for part in self.parts for name in part.columns())

    def atoms(self) -> Iterator[Factor]:
        """Yield the factors that are no compounds."""
        return (atom for part in self.parts for atom in part.atoms())

    def __repr__(self) -> str:
        return f" {self.sign} ".join(
            f"({part!r})" if isinstance(part, _Junction) else repr(part) for part in self.parts
        )


class And(_Junction, frozen=True, tag="and"):
    """Factor: all parts hold."""

    sign: ClassVar[str] = "&"

    def __call__(self, z: SampleColumns) -> BoolVector:
        """Return which rows satisfy all of c_1, …, c_k."""
        return np.asarray(np.logical_and.reduce([part(z) for part in self.parts]))

    def conditions(self) -> frozenset[object]:
        """Return the conditions of all parts."""
        return frozenset().union(*(part.conditions() for part in self.parts))


class Or(_Junction, frozen=True, tag="or"):
    """Factor: at least one part holds."""

    sign: ClassVar[str] = "|"

    def __call__(self, z: SampleColumns) -> BoolVector:
        """Return which rows of the sample satisfy the factor."""
        return np.asarray(np.logical_or.reduce([part(z) for part in self.parts]))


class Not(Factor, frozen=True, tag="not"):
    """Factor: the part does not hold, the paper's 1 - c."""

    part: AnyFactor

    def __call__(self, z: SampleColumns) -> BoolVector:
        """Return which rows of the sample satisfy the factor."""
        return ~self.part(z)

    def columns(self) -> Iterator[str]:
        """Yield the columns that the factor reads."""
        return self.part.columns()

    def atoms(self) -> Iterator[Factor]:
        """Yield the factors that are no compounds."""
        return self.part.atoms()

    def __repr__(self) -> str:
        return f"~({self.part!r})" if isinstance(self.part, _Junction) else f"~{self.part!r}"


AnyFactor = Equals | IsIn | Between | Compare | Auxiliary | Held | And | Or | Not


def read_factors(given: object, argument: str = "factors") -> tuple[Factor, ...]:
    """Return several factors as a tuple; raise for anything that is no factor."""
    allowed, hint = "factors", "Make one with equals, isin, between, compare, held or auxiliary."
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise InputError(argument, given, f"a list of {allowed}", hint)
    found = tuple(given)
    for factor in found:
        if not isinstance(factor, Factor):
            raise InputError(argument, short_repr(factor), allowed, hint)
    return found


def _compare_ordered(factor: Factor, compared: Callable[[], Any]) -> BoolVector:
    try:
        with np.errstate(invalid="ignore"):  # a missing number is neither less nor more
            return np.asarray(compared(), dtype=bool)
    except Exception as error:  # values of the user's own may raise anything
        hint = f"The column's values have no such order ({one_line(error)})."
        raise InputError("factor", repr(factor), "a column that can be compared", hint) from error


def _flatten(kind: type[_Junction], factor: Factor) -> tuple[Any, ...]:
    return factor.parts if isinstance(factor, kind) else (factor,)


def _column(z: SampleColumns, name: str) -> Values:
    try:
        given = _check_sample(z)[name]
    except KeyError:
        known = [column for column in z if not column.startswith(HELD_PREFIX)]
        raise InputError("column", repr(name), "a column of z", did_you_mean(name, known)) from None
    column = np.asarray(given)
    if column.ndim != 1:
        raise InputError("z", f"{short_repr(given)} for column {name!r}", "an array of values")
    return column


def _check_sample(z: SampleColumns) -> SampleColumns:
    given: object = z
    if isinstance(given, Mapping):
        return z
    raise InputError("z", given, "a sample, such as Sample(frame), or {column: array of values}")


def _equals_value(column: Values, value: Scalar) -> BoolVector:
    return missing_mask(column) if value is None else equals_label(column, value)


# Factors as predicates on z = (x, w): a small algebra with exact reprs and a JSON form.


def equals(column: str, value: object) -> Factor:
    """Return the factor that a column has this value; `None` means a missing value.

    >>> equals("Housing", "own")
    equals('Housing', 'own')
    """
    return Equals(_check_name("column", column), _factor_value(value))


def isin(column: str, values: Iterable[object]) -> Factor:
    """Return the factor that a column has one of these values.

    >>> isin("Job", [2, 3])
    isin('Job', [2, 3])
    """
    given: object = values
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        hint = f"For one value: [{short_repr(given)}]." if isinstance(given, str) else ""
        shown = repr(given) if isinstance(given, str) else given
        raise InputError("values", shown, "a list of values", hint)
    plain = tuple(_factor_value(v, "values") for v in given)
    if not plain:
        raise InputError("values", "no value", "one value or more")
    return IsIn(_check_name("column", column), plain)


def between(column: str, low: float, high: float) -> Factor:
    """Return the factor that a column lies in [low, high].

    >>> between("Age", 30, 40)
    between('Age', 30.0, 40.0)
    """
    ends = [
        checks.check_number(name, end, "a finite number (compare takes one bound)")
        for name, end in (("low", low), ("high", high))
    ]
    if ends[0] > ends[1]:
        raise InputError("low, high", f"{low!r}, {high!r}", "two numbers with low <= high")
    return Between(_check_name("column", column), *ends)


def compare(column: str, relation: str, value: object) -> Factor:
    """Return the factor that compares a column with a value.

    >>> ~compare("Age", ">=", 40)
    ~compare('Age', '>=', 40)
    """
    return Compare(
        _check_name("column", column),
        checks.check_choice("relation", relation, COMPARISONS),
        _factor_value(value),
    )


def auxiliary(name: str) -> Factor:
    """Return the factor that an auxiliary column is true.

    >>> auxiliary("do(income > 50k)")
    auxiliary('do(income > 50k)')
    """
    return Auxiliary(_check_name("name", name))


def held(*players: str) -> Factor:
    """Return the factor that a hybrid holds just these players at the input's values.

    >>> held("Age", "Job").conditions() > held("Age").conditions()
    True
    """
    return Held(tuple(sorted(_check_name("players", player) for player in players)))


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


def _check_name(argument: str, given: object) -> str:
    return checks.check_string(argument, given, "a name, which is a text")


def _factor_value(value: object, argument: str = "value") -> Scalar:
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and value != value:
        return None
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise InputError(argument, value, "a whole number of at most 64 bits")
    if value is None or isinstance(value, str | int | float | bool):
        return value
    raise InputError(argument, value, "a string, a number, a Boolean or None")
