"""Arguments of recourse as constraints; references and feature sets that rules allow or forbid.

`RecourseRequest` validates the arguments of `Explainer.recourse`; `Constraints` holds all
conditions on a change; `AllowedReferences` finds, by feature set, the references that satisfy them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from suffice.context.change_rules import (
    ColumnRule,
    DeclaredChanges,
    MissingCost,
    MissingKept,
    Names,
    OneOf,
    Range,
    Step,
    is_numeric,
    meets_rules,
)
from suffice.context.cost import CostSpec
from suffice.context.players import Players
from suffice.decision import Decision
from suffice.errors import InputError, did_you_mean, short_repr
from suffice.factors import Factor
from suffice.formatting import percent
from suffice.search.limits import Limits
from suffice.tables import as_scalar
from suffice.tables.cells import missing_mask, utf8_text
from suffice.tables.table import Table
from suffice.typing import BoolVector, Counts, HeldSets, Outcomes
from suffice.validation import check_bool, check_choice, check_integer, check_number, check_tau

ValueSource = Literal["observed", "grid", "any"]


@dataclass(frozen=True, kw_only=True)
class RecourseRequest:
    """The arguments of `Explainer.recourse`, documented there; validated when constructed."""

    tau: float | None = None
    immutable: Names = ()
    actionable: Names | None = None
    ranges: Mapping[str, Any] | None = None
    increasing: Names = ()
    decreasing: Names = ()
    steps: Mapping[str, float] | None = None
    forbidden: Factor | Iterable[Factor] = ()
    cost: CostSpec = None
    missing_cost: MissingCost = None
    max_cost: float | None = None
    max_size: int | None = None
    max_options: int | None = None
    values: ValueSource = "observed"
    budget: int | None = None
    time_limit: float | None = None
    progress: bool | None = None

    def __post_init__(self) -> None:
        def read(name: str, value: object) -> None:
            object.__setattr__(self, name, value)

        if self.tau is not None:
            read("tau", check_tau(self.tau))
        if self.max_cost is not None:
            allowed = "None or a positive number"
            read("max_cost", check_number("max_cost", self.max_cost, allowed, above=0))
        if self.max_options is not None:
            read("max_options", check_integer("max_options", self.max_options, also="None"))
        if self.progress is not None:
            read("progress", check_bool("progress", self.progress))
        read("values", check_choice("values", self.values, ("observed", "grid", "any")))
        limits = Limits(self.max_size, self.budget, self.time_limit).validated()
        read("max_size", limits.max_size)
        read("budget", limits.budget)
        read("time_limit", limits.time_limit)

    @property
    def limits(self) -> Limits:
        """The limits on sizes, rows and seconds."""
        return Limits(self.max_size, self.budget, self.time_limit)

    @property
    def has_limit(self) -> bool:
        """True if the user bounds the rows or the seconds of the search."""
        return self.budget is not None or self.time_limit is not None

    def changes(self) -> DeclaredChanges:
        """Return the rules on features that the request adds to those of the explainer."""
        return DeclaredChanges.read(
            self.immutable, self.actionable, self.increasing, self.decreasing, self.missing_cost
        )

    def missing_costs(self, decision: Decision) -> dict[int, float]:
        """Return, by column, the cost of setting or removing a missing value where allowed."""
        own = self.changes().missing_costs(decision.data)
        return {**decision.changes.missing_costs, **own}

    def constraints(self, decision: Decision) -> Constraints:
        """Read the constraints on a change, in the columns of the decision.

        They are those of the request and those that were declared to the explainer.
        """
        players, declared, requested = decision.players, decision.changes, self.changes()
        # The rows are joined only to read values: a copy of all data takes memory.
        directed = requested.increasing or requested.decreasing
        no_factors = isinstance(self.forbidden, tuple) and not self.forbidden
        names_only = self.ranges is None and self.steps is None and no_factors and not directed
        table = decision.data if names_only else decision.pool.stack(decision.data)
        # Names are checked against the request alone, so that an error names its argument.
        own = requested.resolve(table, players)
        fixed = declared.fixed
        for player in requested.free(table, players):
            # Asking for a feature that the explainer fixes is a contradiction, not a preference.
            if player in fixed:
                got = f"{players.names[player]!r}, though for this Explainer {fixed[player]}"
                raise InputError("actionable", got, "features that the Explainer lets change")
        directions = dict.fromkeys([*declared.directions, *own.directions])
        rules = [
            *_read_ranges(table, self.ranges),
            *directions,
            *_read_steps(table, self.steps),
        ]
        kept = _missing_rules(decision, rules, self.missing_costs(decision))
        return Constraints(
            dict(sorted({**own.fixed, **fixed}.items())),
            (*rules, *kept),
            _read_forbidden(table, self.forbidden),
            self.tau,
            np.inf if self.max_cost is None else self.max_cost,
            self.max_size,
        )


DEFAULT_RELIABILITY = 0.5
"""Without τ, a change with random consequences must work in at least this share of the draws."""
RELAXED_RELIABILITY = 0.125
"""The share to which that is relaxed to see whether it is what rules every change out. Not zero:
64 draws without a success then suffice to give a change up (`causal._STAGES`)."""


@dataclass(frozen=True)
class Constraints:
    """Every condition on a change besides the outcome; each can be relaxed alone."""

    fixed: Mapping[int, str] = field(default_factory=dict)
    """Numbers of the players that cannot change, with the reason in words."""
    rules: tuple[ColumnRule, ...] = ()
    forbidden: tuple[Factor, ...] = ()
    tau: float | None = None
    max_cost: float = np.inf
    max_size: int | None = None
    reliability: float = DEFAULT_RELIABILITY
    """Without τ, the least share of random draws in which a change must work. It applies only in a
    causal context whose consequences are random."""

    def relaxations(self, random: bool) -> Iterator[RelaxedConstraint]:
        """Relax each constraint alone; `random`: whether consequences are drawn at random."""
        for player, text in self.fixed.items():
            # One constraint at a time: two that only exclude options together are not named.
            rest = {p: why for p, why in self.fixed.items() if p != player}
            yield RelaxedConstraint(text, "if it could change", replace(self, fixed=rest))
        for i, rule in enumerate(self.rules):
            rules = self.rules[:i] + self.rules[i + 1 :]
            yield RelaxedConstraint(rule.text, "if it need not", replace(self, rules=rules))
        for i, factor in enumerate(self.forbidden):
            others = self.forbidden[:i] + self.forbidden[i + 1 :]
            text = f"{factor!r} is forbidden"
            yield RelaxedConstraint(text, "if it were allowed", replace(self, forbidden=others))
        if self.max_cost < np.inf:
            text = f"max_cost={self.max_cost:g}"
            yield RelaxedConstraint(text, "at a higher price", replace(self, max_cost=np.inf))
        if self.max_size is not None:
            text = f"max_size={self.max_size}"
            yield RelaxedConstraint(text, "with larger sets", replace(self, max_size=None))
        if self.tau is not None:
            enough = "if one verified change is enough"
            yield RelaxedConstraint(f"tau={self.tau:g}", enough, replace(self, tau=None))
        elif random and self.reliability > RELAXED_RELIABILITY:
            text = f"Without tau a change must work in {percent(self.reliability)} of the draws"
            less = replace(self, reliability=RELAXED_RELIABILITY)
            yield RelaxedConstraint(text, "with a smaller tau", less)

    @classmethod
    def none(cls) -> Constraints:
        """Return constraints that allow every change."""
        return cls(reliability=RELAXED_RELIABILITY)


@dataclass(frozen=True)
class RelaxedConstraint:
    """Text of one constraint, text of its relaxation, and the other constraints."""

    text: str
    when_relaxed: str
    rest: Constraints


# -- reading the arguments ---------------------------------------------------------------------


def _read_ranges(table: Table, ranges: object) -> list[ColumnRule]:
    """Read `ranges`: {column: (low, high)} bounds numbers, {column: [values]} lists values."""
    rules: list[ColumnRule] = []
    for name, given in _read_mapping(
        "ranges", ranges, "{column: (low, high)} or {column: [values]}"
    ):
        j = table.position(name, "ranges")
        if isinstance(given, tuple):
            rules.append(_read_range(table, j, given))
        elif isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
            raise InputError("ranges", f"{name}: {short_repr(given)}", "(low, high) or a list")
        else:
            rules.append(_read_one_of(table, j, list(given)))
    return rules


def _read_range(table: Table, j: int, given: tuple[Any, ...]) -> Range:
    name = table.names[j]
    if not is_numeric(table.column(j)):
        hint = "List the allowed values in square brackets."
        got = f"{name}: {short_repr(given)}, for a column that is not numeric"
        raise InputError("ranges", got, "(low, high) for numbers, [values] for the rest", hint)
    allowed = "(low, high), either of them None, with low <= high"
    refusal = InputError("ranges", f"{name}: {short_repr(given)}", allowed)
    if len(given) != 2 or all(end is None for end in given):
        raise refusal
    try:
        low = -np.inf if given[0] is None else check_number("ranges", given[0])
        high = np.inf if given[1] is None else check_number("ranges", given[1])
    except InputError:
        raise refusal from None
    if low > high:
        raise refusal
    return Range(j, name, low, high)


def _read_one_of(table: Table, j: int, given: list[Any]) -> OneOf:
    name = table.names[j]
    if not given:
        raise InputError("ranges", f"{name}: no value", "one value or more")
    known = {as_scalar(value): None for value in table.column(j)}
    for value in given:
        # References have observed values only, so an unseen one could never be reached.
        if as_scalar(value) not in known:
            got = f"{name}: {short_repr(value)}, which the column never has"
            hint = did_you_mean(value, sorted(known, key=str))
            if is_numeric(table.column(j)):
                hint = "A range of numbers is a tuple, (low, high)."
            raise InputError("ranges", got, "values observed in the data", hint)
    return OneOf(j, name, tuple(as_scalar(value) for value in given))


def _missing_rules(
    decision: Decision, rules: list[ColumnRule], costs: Mapping[int, float]
) -> list[ColumnRule]:
    """Return rules that keep missing and known values so, but for columns with a missing cost.

    A known value may become missing where `ranges` lists None for the column.
    """
    none_listed = {rule.column for rule in rules if isinstance(rule, OneOf) and None in rule.values}
    out: list[ColumnRule] = []
    pool, data = decision.pool, decision.data
    for j, name in enumerate(data.names):
        missing = missing_mask(pool.column(j))
        allowed = j in costs or (j in none_listed and not missing[0])
        if not allowed and (missing.any() or missing_mask(data.column(j)).any()):
            out.append(MissingKept(j, name, bool(missing[0])))
    return out


def _read_steps(table: Table, steps: object) -> list[ColumnRule]:
    """Read `steps`: {column: step}."""
    rules: list[ColumnRule] = []
    for name, given in _read_mapping("steps", steps, "{column: step}"):
        j = table.position(name, "steps")
        if not is_numeric(table.column(j)):
            got = f"{name!r} of dtype {short_repr(table.dtype(j))}"
            raise InputError("steps", got, "numeric columns")
        try:
            step = check_number("steps", given, above=0)
        except InputError:
            got = f"{name}: {short_repr(given)}"
            raise InputError("steps", got, "a positive number") from None
        if table.is_integer(j) and step != round(step):
            got = f"{name}: {step:g}, for a column of whole numbers"
            raise InputError("steps", got, "a whole number")
        rules.append(Step(j, name, step))
    return rules


def _read_forbidden(table: Table, forbidden: object) -> tuple[Factor, ...]:
    """Read `forbidden`: factors of the model's own columns."""
    allowed = "factors, such as equals('Housing', 'own') & compare('Age', '<', 25)"
    given = [forbidden] if isinstance(forbidden, Factor) else forbidden
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InputError("forbidden", given, allowed)
    factors = tuple(given)
    for factor in factors:
        if not isinstance(factor, Factor):
            raise InputError("forbidden", factor, allowed)
        for name in factor.columns():
            table.position(name, "forbidden")
        # Tried once on the data: a factor that cannot compare its column fails here.
        factor({name: table.column(table.names.index(name)) for name in factor.columns()})
    return factors


def _read_mapping(argument: str, given: object, allowed: str) -> list[tuple[str, Any]]:
    if given is None:
        return []
    if not isinstance(given, Mapping):
        raise InputError(argument, given, allowed)
    return [(utf8_text(name), value) for name, value in given.items()]


# -- references that the constraints allow -----------------------------------------------------


class AllowedReferences:
    """Find the references that are allowed on feature sets, for one input (row 0 of the pool).

    A reference is allowed on T if its values on T's columns meet every rule and the resulting row
    satisfies no forbidden factor. The value of a factor depends only on which of the players that
    the factor reads are in T, so it is computed once per such pattern and not once per hybrid.
    """

    def __init__(self, pool: Table, players: Players, constraints: Constraints) -> None:
        self._n = len(pool) - 1
        self._players = players
        self._refused = None
        if constraints.rules:
            # Row 0 of the pool is the input, whose own values are not restricted.
            refused = ~meets_rules(pool, players, constraints.rules)[1:]
            self._refused = refused.T.astype(np.float32)
        self._factors = [
            _FactorByPattern(factor, pool, players) for factor in constraints.forbidden
        ]

    def by_set(self, members: HeldSets) -> Outcomes:
        """Return (sets, references): whether the reference is allowed on the set."""
        out: Outcomes = np.ones((len(members), self._n), dtype=bool)
        if self._refused is not None:
            # The product counts refused members: small whole numbers, which float32 holds exactly.
            out = np.asarray(members.astype(np.float32) @ self._refused == 0)
        for factor in self._factors:
            out &= ~factor.by_set(members)
        return out

    def by_pair(self, members: HeldSets, references: Counts) -> BoolVector:
        """Return (pairs,): whether references[i] is allowed on the set members[i]."""
        out: BoolVector = np.ones(len(members), dtype=bool)
        if not len(members):
            return out
        if self._refused is not None:
            out = np.asarray(~(members & (self._refused.T[references] > 0)).any(axis=1))
        for factor in self._factors:
            out &= ~factor.by_pair(members, references)
        return out

    def by_player(self) -> HeldSets:
        """Return (references, players): whether the player's values there meet every rule."""
        if self._refused is None:
            return np.ones((self._n, len(self._players)), dtype=bool)
        return np.asarray(self._refused.T == 0)


class _FactorByPattern:
    """Evaluate one factor on hybrids, once for each pattern of replaced players that it reads."""

    def __init__(self, factor: Factor, pool: Table, players: Players) -> None:
        self._factor = factor
        self._columns = [pool.names.index(name) for name in dict.fromkeys(factor.columns())]
        self._values = {pool.names[j]: pool.column(j) for j in self._columns}
        # Columns without a player are held in every hybrid.
        owner = {j: p for p, columns in enumerate(players.columns) for j in columns}
        self._readers = sorted({owner[j] for j in self._columns if j in owner})
        self._owner = {pool.names[j]: owner.get(j) for j in self._columns}
        self._n = len(pool) - 1

    def by_set(self, members: HeldSets) -> Outcomes:
        """Return (sets, references): whether the factor holds."""
        truth, which = self._by_pattern(members)
        return np.asarray(truth[which])

    def by_pair(self, members: HeldSets, references: Counts) -> BoolVector:
        """Return (pairs,): whether the factor holds for members[i] with references[i]."""
        truth, which = self._by_pattern(members)
        return np.asarray(truth[which, references])

    def _by_pattern(self, members: HeldSets) -> tuple[Outcomes, Counts]:
        """Return whether the factor holds, (patterns, references), and the pattern of each set."""
        # Few patterns, since a factor reads few features: millions of sets share them.
        patterns, which = np.unique(members[:, self._readers], axis=0, return_inverse=True)
        truth: Outcomes = np.empty((len(patterns), self._n), dtype=bool)
        for i, pattern in enumerate(patterns):
            truth[i] = self._under(dict(zip(self._readers, pattern, strict=True)))
        return truth, which.reshape(-1)

    def _under(self, replaced: dict[int, np.bool_]) -> BoolVector:
        references = np.arange(1, self._n + 1)
        rows = {
            name: references if owner is not None and replaced[owner] else np.zeros_like(references)
            for name, owner in self._owner.items()
        }
        return self._factor({name: self._values[name][at] for name, at in rows.items()})


def factor_holds(factor: Factor, pool: Table, rows: Counts) -> BoolVector:
    """Evaluate a factor on rows that take, in column j, the values of the pool's rows[:, j]."""
    at = {name: pool.names.index(name) for name in dict.fromkeys(factor.columns())}
    return factor({name: pool.column(j)[rows[:, j]] for name, j in at.items()})
