"""Conditions of rules, each true of the input: bins and cuts of numbers, categories, intervals.

Proposition 2 sets c_A(z) = 1 iff A(x) = 1: a rule A is a conjunction of conditions, so the rules
about an input are sets of its conditions, ordered by inclusion like any factors.

Conditions on one feature can form a chain, such as "age > 20", "age > 30": each implies those
before it. A set with a condition then has to contain the weaker ones of its chain as well. Each
such *closed* set stands for one rule, and a rule whose set is a subset of another's is weaker. Sets
that are not closed stand for no rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import takewhile
from operator import and_
from typing import Literal

import numpy as np

from suffice.context.hybrids import Sample
from suffice.context.players import Players
from suffice.decision import Decision
from suffice.errors import InputError, did_you_mean, short_repr
from suffice.factors.predicates import And, Factor, compare, equals
from suffice.formatting import format_value
from suffice.tables import as_scalar, utf8_text
from suffice.tables.table import Table
from suffice.typing import BoolVector, HeldSets, Reals, Values
from suffice.validation import call_user_function, check_choice, check_integer, check_name_list


@dataclass(frozen=True)
class Condition:
    """Condition of a rule: a factor on the columns of one feature."""

    feature: str
    """The feature or group that it is about."""
    factor: Factor
    tightens: bool = False
    """Whether it is a tighter form of the condition before it."""


class Conditions(tuple[Condition, ...]):
    """All conditions of one input: those of one feature side by side, chains in a row."""

    __slots__ = ()

    @property
    def features(self) -> tuple[str, ...]:
        """The features that the conditions read, each once."""
        return tuple(dict.fromkeys(c.feature for c in self))

    @property
    def independent(self) -> bool:
        """True if each feature has one condition, so that any set of them is a rule of its size."""
        return len(self) == len(self.features)

    @property
    def chains(self) -> Iterator[tuple[int, ...]]:
        """The positions of each chain's conditions, the weakest first."""
        for i, condition in enumerate(self):
            if not condition.tightens:
                rest = takewhile(lambda j: self[j].tightens, range(i + 1, len(self)))
                yield (i, *rest)

    def holds(self, rows: Table) -> HeldSets:
        """Return (rows, conditions): whether each row satisfies each condition."""
        out = np.empty((len(rows), len(self)), dtype=bool)
        for i, condition in enumerate(self):
            out[:, i] = condition.factor(Sample(rows))
        return out

    def are_rules(self, held: HeldSets, largest: int) -> BoolVector:
        """Return which sets of conditions stand for a rule on at most `largest` features.

        A condition of a chain stands for a rule only with all weaker ones before it, so that every
        rule is one set of conditions.
        """
        fit = np.ones(len(held), dtype=bool)
        for i, condition in enumerate(self):
            if condition.tightens:
                fit &= held[:, i - 1] | ~held[:, i]
        if largest < len(self.features):
            of_feature = np.array([self.features.index(c.feature) for c in self])
            used = [held[:, of_feature == f].any(axis=1) for f in range(len(self.features))]
            fit &= np.sum(used, axis=0) <= largest
        return fit

    def sizes(self, largest: int) -> range:
        """Return the sizes of sets that rules on at most `largest` features may have.

        Where a feature has several conditions, a rule on few features may hold many of them.
        """
        return range((largest if self.independent else len(self)) + 1)

    def sets(self, largest: int) -> int:
        """Return the number of sets of conditions of these sizes."""
        total, width = 0, 1
        for size in self.sizes(largest):
            total += width
            width = width * (len(self) - size) // (size + 1)
        return total

    def factor(self, members: Sequence[int]) -> Factor | None:
        """Return the rule of these conditions, without those that others imply."""
        implied = {m - 1 for m in members if self[m].tightens}
        parts = [self[m].factor for m in members if m not in implied]
        return reduce(and_, parts) if parts else None


def make_conditions(decision: Decision, cutting: Binning, features: object = None) -> Conditions:
    """Return the conditions of the input on these features (None: all).

    Conditions that every row of the data satisfies are left out: they make no rule stronger.
    """
    data, row, players = decision.data, decision.row, decision.players
    sample = Sample(data)
    found: list[Condition] = []
    for player in _chosen_players(players, features):
        name, columns = players.names[player], players.columns[player]
        chains = [
            [factor for factor in chain if not factor(sample).all()]
            for j in columns
            for chain in cutting.chains(data, row, j)
        ]
        if len(columns) > 1:  # a group has one condition: the tightest ones of its columns together
            tightest = [chain[-1] for chain in chains if chain]
            chains = [[reduce(and_, tightest)]] if tightest else []
        found += [
            Condition(name, factor, tightens=place > 0)
            for chain in chains
            for place, factor in enumerate(chain)
        ]
    return Conditions(found)


def conditions_from_rule(rule: Factor, data: Table, players: Players) -> Conditions:
    """Split a rule into conditions: parts of a conjunction that read different players.

    Parts that read a player in common stay one condition.
    """
    groups: list[tuple[set[int], list[Factor]]] = []
    for part in rule.parts if isinstance(rule, And) else (rule,):
        read = {data.position(name, "rule") for name in part.columns()}
        mine = {int(players.of_column[j]) for j in read}
        joined = [g for g in groups if g[0] & mine]
        groups = [g for g in groups if not g[0] & mine]
        parts = [p for _, before in joined for p in before]
        groups.append((mine.union(*(g[0] for g in joined)), [*parts, part]))
    return Conditions(
        Condition(" + ".join(players.names[p] for p in sorted(owners)), reduce(and_, parts))
        for owners, parts in groups
    )


def rule_holds(rule: Factor | None, rows: Table) -> BoolVector:
    """Return which rows satisfy a user's own rule; the empty rule, None, holds everywhere."""
    if rule is None:
        return np.ones(len(rows), dtype=bool)
    allowed = "a factor that gives one Boolean per row"
    truth = np.asarray(call_user_function("rule", rule, allowed, Sample(rows)))
    if truth.shape != (len(rows),) or truth.dtype != bool:
        raise InputError("rule", f"{truth.dtype} of shape {truth.shape}", allowed)
    return truth


def _chosen_players(players: Players, features: object) -> tuple[int, ...]:
    if features is None:
        return tuple(range(len(players)))
    allowed = "a name or a list of names, of features or groups of them"
    asked = check_name_list("features", features, allowed)
    if not asked:
        raise InputError("features", features, allowed)
    for name in asked:
        if name not in players.names:
            hint = did_you_mean(name, players.names)
            raise InputError("features", f"unknown feature {name!r}", allowed, hint)
    return players.indices(asked)


# Conditions on one column: the interval between cuts, a bound, or the input's value.


BoundsMode = Literal["cell", "any"]
Cut = int | float


@dataclass(frozen=True)
class Binning:
    """Options of how columns become conditions, validated against the data."""

    bins: int
    cuts: Mapping[int, Sequence[Cut]]
    """By position of the column."""
    equal: frozenset[int]
    """The columns whose value must be the input's, though they are numbers."""
    bounds: BoundsMode

    def chains(self, data: Table, row: Table, j: int) -> list[list[Factor]]:
        """Return the conditions on a column as chains of factors, the weakest first.

        Equality with a value is a chain of one, and so is the cell of a number. Bounds are two
        chains, from below and from above.
        """
        name, value = data.names[j], row.column(j)
        numbers, mine = _as_numbers(data, j), _as_numbers(row, j)
        if j in self.equal or numbers is None or mine is None or np.isnan(mine[0]):
            return [[_value_condition(name, value)]]
        cuts = self.cuts.get(j)
        if cuts is None:
            if len(np.unique(numbers[~np.isnan(numbers)])) <= self.bins:
                return [[_value_condition(name, value)]]
            cuts = quantile_cuts(numbers, float(mine[0]), self.bins)
        lower, upper = bounds_around(name, value, cuts)
        if self.bounds == "any":
            return [lower, upper]
        if lower and upper:
            return [[lower[-1] & upper[-1]]]
        return [(lower or upper)[-1:]]


def make_binning(
    data: Table, bins: object, cuts: object, categorical: object, bounds: object
) -> Binning:
    """Validate the arguments of `anchor` on bins and return them."""
    if cuts is not None and not isinstance(cuts, Mapping):
        raise InputError("cuts", cuts, "{column: [increasing numbers]} or None")
    given = {
        utf8_text(name): _read_cuts(utf8_text(name), own) for name, own in (cuts or {}).items()
    }
    by_column = {data.position(name, "cuts"): own for name, own in given.items()}
    columns = check_name_list("categorical", categorical, "a column or a list of columns")
    equal = frozenset(data.position(name, "categorical") for name in columns)
    for j in by_column:
        if j in equal:
            got = f"column {data.names[j]!r}, which is also categorical"
            raise InputError("cuts", got, "columns of numbers that are not categorical")
        if _as_numbers(data, j) is None:
            got = f"column {data.names[j]!r} of dtype {data.dtype(j)}"
            hint = "Rules compare other columns by equality."
            raise InputError("cuts", got, "columns of numbers", hint)
    known: tuple[BoundsMode, ...] = ("cell", "any")
    return Binning(
        check_integer("bins", bins, least=2),
        by_column,
        equal,
        check_choice("bounds", bounds, known),
    )


def quantile_cuts(values: Reals, also: float, bins: int) -> list[Cut]:
    """Return cuts between `bins` bins of about as many values each, without duplicates.

    Each is rounded to as few digits as leave every value, and the number `also`, on the same side.

    >>> quantile_cuts(np.array([0.1234, 0.2345, 0.3456, 0.4567]), 0.3, bins=2)
    [0.29]
    >>> quantile_cuts(np.arange(10.0), 3.0, bins=4)
    [2, 4, 6]
    """
    finite = values[np.isfinite(values)]
    if not len(finite):
        return []
    known = np.unique(np.append(finite, also))
    integers = bool((known == np.floor(known)).all() and np.abs(known).max() < 2**53)
    cuts: list[Cut] = []
    for cut in np.unique(_quantiles(finite, np.arange(1, bins) / bins)):
        above = int(np.searchsorted(known, cut, side="right"))
        if above < len(known):  # else no value is above the cut
            short = (
                int(np.floor(cut))
                if integers
                else _shortest_number(cut, known[above - 1], known[above])
            )
            cuts.append(short)
    return sorted(set(cuts))


def bounds_around(
    name: str, value: Values, cuts: Sequence[Cut]
) -> tuple[list[Factor], list[Factor]]:
    """Return the lower and the upper bounds that an input's value (a column of one row) satisfies.

    The tightest come last: together they are the interval (low, high] around the value. The column
    is compared in its own dtype, as the factors compare it.

    >>> bounds_around("age", np.array([33]), [20, 30, 45])
    ([compare('age', '>', 20), compare('age', '>', 30)], [compare('age', '<=', 45)])
    """
    above = [bool((value > cut)[0]) for cut in cuts]
    pairs = list(zip(cuts, above, strict=True))
    lower = [compare(name, ">", cut) for cut, beyond in pairs if beyond]
    upper = [compare(name, "<=", cut) for cut, beyond in reversed(pairs) if not beyond]
    return lower, upper


def _as_numbers(table: Table, position: int) -> Reals | None:
    """Return a column's values as floats, missing ones as NaN; None if it has no numbers."""
    # Categories may be numbers, but a categorical dtype means that these are labels.
    if table.categories(position) is not None:
        return None
    values = table.column(position)
    if values.dtype.kind == "O":
        numbers = all(isinstance(v, int | float | np.number) for v in values)
        booleans = any(isinstance(v, bool | np.bool_) for v in values)
        if booleans or not numbers:
            return None
    elif values.dtype.kind not in "iuf":
        return None
    try:
        return values.astype(float)
    except OverflowError:  # integers beyond all floats can be compared by equality, but not cut
        return None


def _value_condition(name: str, value: Values) -> Factor:
    """Return the factor "equal to the input's value"; `equals(column, None)` if it is missing."""
    try:
        factor = _equals_value(name, value)
        if bool(factor({name: value})[0]):
            return factor
    except (InputError, TypeError, ValueError):  # a date, a list, …, which no factor can hold
        pass
    raise InputError(
        "features",
        f"column {name!r}, whose value {_show_cell(value[0])} cannot be written in a rule",
        "columns of numbers, texts, categories or Booleans",
        "List the features that rules may use with features=[…]; others keep each row's values.",
    )


def _show_cell(cell: object) -> str:
    return short_repr(
        cell if isinstance(cell, list | tuple | dict) else format_value(as_scalar(cell))
    )


def _equals_value(name: str, value: Values) -> Factor:
    from pandas import isna

    cell = value[0]
    if isinstance(cell, float | np.floating) and np.isinf(cell):  # JSON has no such number
        largest = float(np.finfo(value.dtype if value.dtype.kind == "f" else float).max)
        return compare(name, ">", largest) if cell > 0 else compare(name, "<", -largest)
    return equals(name, None if isna(cell) else cell)


def _read_cuts(name: object, cuts: object) -> list[Cut]:
    """Return a column's cuts; raise unless they are finite numbers in increasing order."""
    try:
        given = np.asarray(cuts)
    except ValueError:  # ragged lists
        given = np.empty(0)
    fit = given.ndim == 1 and len(given) > 0 and given.dtype.kind in "iuf"
    if not fit or not np.isfinite(given).all() or (np.diff(given) <= 0).any():
        got = f"{short_repr(cuts)} for column {name!r}"
        raise InputError("cuts", got, "finite numbers, each larger than the one before")
    # The numbers as they were given: an array would turn integers among floats into floats.
    as_written: Iterable[Cut] = given if isinstance(cuts, np.ndarray) else cuts  # type: ignore[assignment]
    return [v.item() if isinstance(v, np.generic) else v for v in as_written]


def _quantiles(finite: Reals, shares: Reals) -> Reals:
    """Return quantiles as NumPy does; of two values too far apart to subtract, the lower one."""
    with np.errstate(over="ignore", invalid="ignore"):
        between = np.quantile(finite, shares)
    lost = ~np.isfinite(between)
    return np.where(lost, np.quantile(finite, shares, method="lower"), between)


def _shortest_number(cut: float, low: float, high: float) -> float:
    """Return the number of fewest digits near the cut that lies in [low, high), as the cut does."""
    for digits in range(1, 17):
        short = float(f"{cut:.{digits}g}")
        if low <= short < high:
            return short
    return float(cut)
