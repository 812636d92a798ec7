"""Algorithm 1 of the paper (LENS), line by line, on any basis ⟨f, D, C, ⪯⟩ (Def. 1).

It is the oracle for tests of all faster searches, and the way to search among factors that
are not sets of features. The comments give the line numbers of the paper's listing.

>>> import numpy as np, pandas as pd
>>> from suffice import Basis, Sample, Target, auxiliary, equals
>>> from suffice.target import Event
>>> class Lender:
...     classes = ("refused", "granted")
...     def predict(self, rows):
...         income = rows.column(rows.names.index("income"))
...         return np.where(income > 50, "granted", "refused")
>>> z = pd.DataFrame({"gender": ["f", "f", "m", "m"], "income": [40, 60, 60, 70],
...                   "do(income > 50)": [False, True, True, True]})
>>> granted = Event("granted", "refused", lambda labels: labels == "granted")
>>> raised, female = auxiliary("do(income > 50)"), equals("gender", "f")
>>> basis = Basis(Target(Lender(), granted), Sample(z, ["do(income > 50)"]),
...               [female, raised, female & raised])
>>> found = minimal_sufficient_factors(basis, y=True, tau=0.9)
>>> found.factors, found.sufficiency, found.necessity
((auxiliary('do(income > 50)'),), (1.0,), 1.0)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

import numpy as np

from suffice.context.hybrids import Sample
from suffice.errors import InputError, did_you_mean
from suffice.factors.order import Order, Relation, SubsetOrder, linear_extension, read_relation
from suffice.factors.predicates import AnyFactor, Auxiliary, Factor, read_factors
from suffice.factors.rule_text import format_rule
from suffice.formatting import chance_phrase, format_name, join_first, percent, plural
from suffice.inference import adjusted_p_values, p_value
from suffice.measures import Measures, measure, measure_any, ratio
from suffice.results import Column, Panel, Result, Sheet
from suffice.target import Target
from suffice.typing import Adjustment, BoolVector, NaturalNumber, SatisfiedRows, Scalar
from suffice.validation import check_adjustment, check_alpha, check_bool, check_tau


@dataclass(frozen=True, eq=False)
class Basis:
    """A target, a sample of the context, a finite space of factors and an order on it.

    Its parts are checked against each other when it is made: factors must read columns that the
    sample has, and the order must be one on these factors.

    >>> import pandas as pd
    >>> from suffice import Basis, Sample, compare, make_target
    >>> z = pd.DataFrame({"income": [20, 60, 80], "age": [30, 50, 40]})
    >>> target = make_target(lambda rows: rows["income"] > 50, z, True)
    >>> basis = Basis(target, Sample(z), [compare("income", ">", 50), compare("age", ">", 35)])
    >>> len(basis.factors)
    2
    """

    target: Target
    sample: Sample
    factors: Sequence[Factor]
    order: Order = field(default_factory=SubsetOrder)

    def __post_init__(self) -> None:
        target: object = self.target
        if not isinstance(target, Target):
            hint = "make_target(model, data, outcome) makes one of any model."
            raise InputError("target", target, "a Target", hint)
        sample: object = self.sample
        if not isinstance(sample, Sample):
            raise InputError("sample", sample, "a Sample", "Sample(frame) makes one of any table.")
        object.__setattr__(self, "factors", read_factors(self.factors))
        if not self.factors:
            raise InputError("factors", "no factor", "a finite space of at least one factor")
        seen: set[Factor] = set()
        for factor in self.factors:
            if factor in seen:
                raise InputError("factors", f"{factor!r} twice", "distinct factors")
            seen.add(factor)
            for name in factor.columns():
                if name not in self.sample:
                    hint = did_you_mean(name, self.sample)
                    raise InputError("factors", f"{factor!r}", "factors on columns of z", hint)
            for atom in factor.atoms():
                if isinstance(atom, Auxiliary) and atom.name not in self.sample.auxiliaries:
                    hint = f"{atom.name!r} is a column of x; use equals or compare."
                    raise InputError("factors", f"{factor!r}", "auxiliaries of the sample", hint)
        _ = self.relation  # raises now if it is no order

    @cached_property
    def relation(self) -> Relation:
        """Relation as a matrix: [i, j] is True if factor i ⪯ factor j."""
        return read_relation(self.order, self.factors)

    @cached_property
    def outcomes(self) -> BoolVector:
        """Outcome f(z) of every row of the sample."""
        return self.target(self.sample.x)

    @cached_property
    def satisfied(self) -> SatisfiedRows:
        """Truth of each factor for each sampled row, (factors, rows): the paper's c(z)."""
        return np.stack([factor(self.sample) for factor in self.factors])


@dataclass(frozen=True, repr=False)
class MinimalFactors(Result):
    """Result of Algorithm 1: the τ-minimal factors with their PS, and their cumulative PN."""

    outcome: str
    """Text of the outcome that the factors suffice for."""
    tau: float
    alpha: float | None
    """Level of the test that each factor had to pass; None: shares are compared with τ untested."""
    adjust: Adjustment
    rows: NaturalNumber
    """Number of rows of z."""
    factors: tuple[AnyFactor, ...]
    n: tuple[int, ...]
    """Number of rows that satisfy each factor."""
    sufficiency: tuple[float, ...]
    """Share of those rows that have the outcome, for each factor."""
    p_values: tuple[float, ...] | None
    """The (adjusted) p-values that were compared with α; None without a test."""
    necessity: float | None
    """Cumulative PN, over the upward closure; None where no row has the outcome."""
    undefined: tuple[AnyFactor, ...]
    """Factors that no row satisfies: their PS is undefined, so they cannot be returned."""
    necessity_baseline: float | None = None
    """Necessity expected by chance: the share of all rows in the upward closure."""

    def __post_init__(self) -> None:
        check_tau(self.tau)
        check_adjustment(self.adjust, check_alpha(self.alpha))
        by_factor = (self.n, self.sufficiency, *([] if self.p_values is None else [self.p_values]))
        if any(len(numbers) != len(self.factors) for numbers in by_factor):
            raise InputError("factors", f"{len(self.factors)}", "as many as there are numbers")
        shares = (*self.sufficiency, *(self.p_values or ()), self.necessity or 0.0)
        shares += (self.necessity_baseline or 0.0,)
        if not all(0 <= share <= 1 for share in shares):
            raise InputError("sufficiency", "a share beyond 0 to 1", "shares")
        if not all(0 < n <= self.rows for n in self.n):
            raise InputError("n", self.n, f"numbers of rows from 1 to {self.rows}")

    @property
    def sheet(self) -> Sheet:
        """Table of the factors, how often each suffices, and how much of the outcome all cover."""
        columns = [Column("suffices", "share"), Column("rows", "number"), Column("factor")]
        rows: list[tuple[Scalar, ...]] = [
            (share, n, format_rule(factor))
            for share, n, factor in zip(self.sufficiency, self.n, self.factors, strict=True)
        ]
        if self.p_values is not None:
            columns.append(Column("p-value", "number"))
            rows = [(*row, p) for row, p in zip(rows, self.p_values, strict=True)]
        never = ""
        if self.undefined:
            never = f"No row satisfies {join_first(map(format_rule, self.undefined), 4)}."
        return Sheet(
            f"What suffices for “{format_name(self.outcome)}”?",
            lead=tuple(filter(None, (self._summed_up, self._covered))),
            panels=(Panel(tuple(columns), tuple(rows)),) if rows else (),
            notes=tuple(filter(None, (f"Counted on {plural(self.rows, 'row')}.", never))),
        )

    @property
    def _summed_up(self) -> str:
        outcome, often = f"“{format_name(self.outcome)}”", percent(self.tau)
        test = "" if self.alpha is None else f", by an exact binomial test at α = {self.alpha:g}"
        if self.adjust != "none":
            test += f" ({self.adjust}-adjusted)"
        if not self.factors:
            return f"No factor brings {outcome} about in at least {often} of its rows{test}."
        who = "This factor brings" if len(self.factors) == 1 else "Each of these factors brings"
        what = (
            "no factor that is preferred to it does"
            if len(self.factors) == 1
            else ("none that is preferred to one of them does")
        )
        return f"{who} {outcome} about in at least {often} of its rows{test}; {what}."

    @property
    def _covered(self) -> str:
        outcome = f"“{format_name(self.outcome)}”"
        if self.necessity is None:
            return f"No row has the outcome {outcome}."
        if not self.factors:
            return ""
        one = len(self.factors) == 1
        who = (
            "It and those that it is preferred to cover"
            if one
            else ("They and those that they are preferred to cover")
        )
        chance = ""
        lift = ratio(self.necessity, self.necessity_baseline)
        if self.necessity_baseline is not None and lift is not None:
            chance = f"; {chance_phrase(self.necessity_baseline, lift)}"
        share = percent(self.necessity)
        return f"{who} {share} of the rows with {outcome} (cumulative necessity{chance})."

    def _record(self) -> MinimalFactors:
        for factor in (*self.factors, *self.undefined):
            factor.check_storable()
        return self

    def to_frame(self) -> Any:
        """Return the factors as a pandas frame, one row per factor."""
        import pandas as pd

        return pd.DataFrame(
            {
                "factor": list(map(format_rule, self.factors)),
                "sufficiency": list(self.sufficiency),
                "n": list(self.n),
                "p_value": [None] * len(self.factors) if self.p_values is None else self.p_values,
            }
        )


def minimal_sufficient_factors(
    basis: Basis,
    *,
    y: bool,
    tau: float,
    alpha: float | None = None,
    adjust: Adjustment = "none",
) -> MinimalFactors:
    """Return the τ-minimal factors of the basis for outcome `y` (True: the target's event).

    Without `alpha` the sample's proportions are taken as they are (oracle mode, Thm. 1); with it,
    a factor must pass the exact binomial test of PS <= τ at that level (sample mode, Thm. 2).

    >>> import pandas as pd
    >>> from suffice import Basis, Sample, compare, make_target, minimal_sufficient_factors
    >>> z = pd.DataFrame({"income": [20, 60, 80], "age": [30, 50, 40]})
    >>> target = make_target(lambda rows: rows["income"] > 50, z, True)
    >>> basis = Basis(target, Sample(z), [compare("income", ">", 50), compare("age", ">", 45)])
    >>> found = minimal_sufficient_factors(basis, y=True, tau=0.9)
    >>> found.factors, found.sufficiency
    ((compare('income', '>', 50), compare('age', '>', 45)), (1.0, 1.0))
    """
    if not isinstance(basis, Basis):
        raise InputError("basis", basis, "a Basis of target, sample, factors and order")
    tau, alpha, y = check_tau(tau), check_alpha(alpha), check_bool("y", y)
    adjust = check_adjustment(adjust, alpha)
    has_outcome = basis.outcomes == y
    counts = [measure(row, has_outcome) for row in basis.satisfied]  # probSuff's n(c&y) and n(c)
    p = _adjusted_by_factor(counts, tau, adjust) if alpha is not None else None

    candidates: list[int] = []  # line 18
    for c in linear_extension(basis.relation):  # lines 17 and 19
        if any(basis.relation[found, c] for found in candidates):  # line 20
            continue  # line 21
        ps = counts[c].sufficiency  # line 23
        if ps is None:
            continue
        if p is not None and alpha is not None:  # line 24
            if p[c] <= alpha:  # lines 25–26
                candidates.append(c)
        elif ps >= tau:  # line 29
            candidates.append(c)
    closure = measure_any(basis.satisfied, candidates, has_outcome, basis.relation)  # line 33

    factors = cast(tuple[AnyFactor, ...], basis.factors)
    return MinimalFactors(
        outcome=basis.target.event.describe(y),
        tau=tau,
        alpha=alpha,
        adjust=adjust,
        rows=len(has_outcome),
        factors=tuple(factors[c] for c in candidates),
        n=tuple(int(counts[c].factor) for c in candidates),
        sufficiency=tuple(counts[c].both / counts[c].factor for c in candidates),
        p_values=None if p is None else tuple(float(p[c]) for c in candidates),
        necessity=closure.necessity,
        undefined=tuple(f for f, m in zip(factors, counts, strict=True) if not m.factor),
        necessity_baseline=closure.baseline,
    )


def _adjusted_by_factor(
    counts: list[Measures], tau: float, adjust: Adjustment
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return p-values over the family of all factors that can be tested, those with n(c) > 0."""
    out = np.full(len(counts), np.inf)
    tested = [i for i, m in enumerate(counts) if m.factor]
    hits = np.array([counts[i].both for i in tested])
    n = np.array([counts[i].factor for i in tested])
    out[tested] = adjusted_p_values(p_value(hits, n, tau), adjust)
    return out
