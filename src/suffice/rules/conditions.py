"""The conditions that rules are made of, each true of the input.

Proposition 2 sets c_A(z) = 1 iff A(x) = 1: a rule A is a conjunction of conditions, so the rules
about an input are sets of its conditions, ordered by inclusion like any factors.

Conditions may come in chains, "age > 30" after "age > 20". Then a rule with the second holds the
first as well: such *closed* sets stand for one rule each, inclusion between them says which rule
asks less, and sets that are not closed stand for no rule.
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
    """One thing that a rule may ask."""

    feature: str
    """The feature or group that it is about."""
    factor: Factor
    tightens: bool = False
    """Does it ask more of what the condition before it asks?"""


class Conditions(tuple[Condition, ...]):
    """All conditions of one input: those of one feature side by side, chains in a row."""

    __slots__ = ()

    @property
    def features(self) -> tuple[str, ...]:
        """The features that they are about."""
        return tuple(dict.fromkeys(c.feature for c in self))

    @property
    def independent(self) -> bool:
        """Has each feature only one, so that any set of conditions is a rule of its size?"""
        return len(self) == len(self.features)

    @property
    def chains(self) -> Iterator[tuple[int, ...]]:
        """The positions of each chain's conditions, the weakest first."""
        for i, condition in enumerate(self):
            if not condition.tightens:
                rest = takewhile(lambda j: self[j].tightens, range(i + 1, len(self)))
                yield (i, *rest)

    def holds(self, rows: Table) -> HeldSets:
        """(rows, conditions): which row satisfies which condition."""
        out = np.empty((len(rows), len(self)), dtype=bool)
        for i, condition in enumerate(self):
            out[:, i] = condition.factor(Sample(rows))
        return out

    def are_rules(self, held: HeldSets, largest: int) -> BoolVector:
        """Which sets of conditions stand for a rule, of at most so many features?"""
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
        """The sizes of sets that rules of at most so many features may have.

        Where a feature has several conditions a rule on few features may still hold many.
        """
        return range((largest if self.independent else len(self)) + 1)

    def sets(self, largest: int) -> int:
        """How many sets of conditions there are of those sizes."""
        total, width = 0, 1
        for size in self.sizes(largest):
            total += width
            width = width * (len(self) - size) // (size + 1)
        return total

    def factor(self, members: Sequence[int]) -> Factor | None:
        """The rule of these conditions, said once: what others imply is left out."""
        implied = {m - 1 for m in members if self[m].tightens}
        parts = [self[m].factor for m in members if m not in implied]
        return reduce(and_, parts) if parts else None


def make_conditions(decision: Decision, cutting: Binning, features: object = None) -> Conditions:
    """The input's conditions, for these features (None: all).

    A condition that every row of the data satisfies is none: no rule is the stronger for it.
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
        if len(columns) > 1:  # a group asks for all of its columns at once, as tightly as it can
            tightest = [chain[-1] for chain in chains if chain]
            chains = [[reduce(and_, tightest)]] if tightest else []
        found += [
            Condition(name, factor, tightens=place > 0)
            for chain in chains
            for place, factor in enumerate(chain)
        ]
    return Conditions(found)


def conditions_from_rule(rule: Factor, data: Table, players: Players) -> Conditions:
    """Any factor on columns of the data, taken apart as far as its players stay apart.

    The parts of a conjunction are conditions of their own unless they read a player in common.
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
    """Which rows satisfy a user's own rule; the empty rule, None, holds everywhere."""
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


# What a rule may ask of one column: the interval between cuts, a bound, or the input's value.


BoundsMode = Literal["cell", "any"]
Cut = int | float


@dataclass(frozen=True)
class Binning:
    """How a user wants columns to become conditions, checked against the data."""

    bins: int
    cuts: Mapping[int, Sequence[Cut]]
    """By position of the column."""
    equal: frozenset[int]
    """The columns whose value must be the input's, though they are numbers."""
    bounds: BoundsMode

    def chains(self, data: Table, row: Table, j: int) -> list[list[Factor]]:
        """What may be asked of a column: chains of factors, each the next one's weaker form.

        A value to be equal is a chain of one, and so is the cell of a number. Bounds are two
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
    """Raise where one of these is amiss."""
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
            raise InputError("cuts", got, "columns of numbers", "Other columns must be equal.")
    known: tuple[BoundsMode, ...] = ("cell", "any")
    return Binning(
        check_integer("bins", bins, least=2),
        by_column,
        equal,
        check_choice("bounds", bounds, known),
    )


def quantile_cuts(values: Reals, also: float, bins: int) -> list[Cut]:
    """Cuts between `bins` bins of about as many values each, the duplicates dropped.

    Each is written as short as can be without parting the values, or the number `also`, otherwise.

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
        if above < len(known):  # else nothing lies beyond it
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
    """The lower and the upper bounds that hold of an input's value (a column of one row).

    The tightest come last: together they are the interval (low, high] that the value lies in. The
    column itself is compared, in its own dtype, just as the factors will compare it.

    >>> bounds_around("age", np.array([33]), [20, 30, 45])
    ([compare('age', '>', 20), compare('age', '>', 30)], [compare('age', '<=', 45)])
    """
    above = [bool((value > cut)[0]) for cut in cuts]
    pairs = list(zip(cuts, above, strict=True))
    lower = [compare(name, ">", cut) for cut, beyond in pairs if beyond]
    upper = [compare(name, "<=", cut) for cut, beyond in reversed(pairs) if not beyond]
    return lower, upper


def _as_numbers(table: Table, position: int) -> Reals | None:
    """A column's values as floats, missing ones as NaN; None where it is no column of numbers."""
    # A category may well be written in digits: its dtype says that they do not count.
    if table.categories(position) is not None:
        return None
    values = table.column(position)
    if values.dtype.kind == "O":
        numbers = all(isinstance(v, int | float | np.number) for v in values)
        truths = any(isinstance(v, bool | np.bool_) for v in values)
        if truths or not numbers:
            return None
    elif values.dtype.kind not in "iuf":
        return None
    try:
        return values.astype(float)
    except OverflowError:  # whole numbers past every float can be equal, but not cut
        return None


def _value_condition(name: str, value: Values) -> Factor:
    """The column has the input's value; `equals(column, None)` where that is missing."""
    try:
        factor = _equals_value(name, value)
        if bool(factor({name: value})[0]):
            return factor
    except (InputError, TypeError, ValueError):  # a date, a list, …: nothing a factor can name
        pass
    raise InputError(
        "features",
        f"column {name!r}, whose value {_show_cell(value[0])} no rule can name",
        "columns of numbers, texts, categories or Booleans",
        "List the features that rules may use with features=[…]; the others keep each row's own.",
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
    """A column's cuts: one or more finite numbers, each larger than the one before."""
    try:
        given = np.asarray(cuts)
    except ValueError:  # ragged lists
        given = np.empty(0)
    fit = given.ndim == 1 and len(given) > 0 and given.dtype.kind in "iuf"
    if not fit or not np.isfinite(given).all() or (np.diff(given) <= 0).any():
        got = f"{short_repr(cuts)} for column {name!r}"
        raise InputError("cuts", got, "finite numbers, each larger than the one before")
    # As they were written: an array would make floats of whole numbers among them.
    as_written: Iterable[Cut] = given if isinstance(cuts, np.ndarray) else cuts  # type: ignore[assignment]
    return [v.item() if isinstance(v, np.generic) else v for v in as_written]


def _quantiles(finite: Reals, shares: Reals) -> Reals:
    """Between neighbours, as NumPy's own; of two that are too far apart to subtract, the lower."""
    with np.errstate(over="ignore", invalid="ignore"):
        between = np.quantile(finite, shares)
    lost = ~np.isfinite(between)
    return np.where(lost, np.quantile(finite, shares, method="lower"), between)


def _shortest_number(cut: float, low: float, high: float) -> float:
    """The number with the fewest digits, near the cut, that lies in [low, high) as the cut does."""
    for digits in range(1, 17):
        short = float(f"{cut:.{digits}g}")
        if low <= short < high:
            return short
    return float(cut)
