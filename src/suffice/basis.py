"""The basis ⟨f, D, C, ⪯⟩ (Def. 1) of an explanation: target function, sample, factors and order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from suffice.context.hybrids import Sample
from suffice.errors import InputError, did_you_mean
from suffice.factors.order import Order, Relation, SubsetOrder, read_relation
from suffice.factors.predicates import Auxiliary, Factor, read_factors
from suffice.target import Target
from suffice.typing import BoolVector, SatisfiedRows


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
        _ = self.relation  # an order that is none is told now

    @cached_property
    def relation(self) -> Relation:
        """[i, j]: factor i ⪯ factor j."""
        return read_relation(self.order, self.factors)

    @cached_property
    def outcomes(self) -> BoolVector:
        """f(z) for every row of the sample."""
        return self.target(self.sample.x)

    @cached_property
    def satisfied(self) -> SatisfiedRows:
        """(factors, rows): c(z)."""
        return np.stack([factor(self.sample) for factor in self.factors])
