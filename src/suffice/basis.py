"""The basis ⟨f, D, C, ⪯⟩ (Def. 1): everything that fixes an answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from suffice.context.sample import Sample
from suffice.errors import InputError, did_you_mean
from suffice.factors.kinds import Auxiliary, Factor
from suffice.factors.order import Order, Relation, SubsetOrder, check_order, relation_of
from suffice.target import Target
from suffice.typing import BoolVector

__all__ = ["Basis"]


@dataclass(frozen=True, eq=False)
class Basis:
    """A target, a sample of the context, a finite space of factors and an order on it.

    Its parts are checked against each other when it is made: factors must read columns that the
    sample has, and the order must be one on these factors.
    """

    target: Target
    sample: Sample
    factors: Sequence[Factor]
    order: Order = field(default_factory=SubsetOrder)

    def __post_init__(self) -> None:
        _require("target", self.target, Target, "a Target: see make_target")
        _require("sample", self.sample, Sample, "a Sample of z = (x, w)")
        _require("factors", self.factors, Iterable, "a list of factors", "One factor: [factor].")
        _require("order", self.order, Order, "SubsetOrder(), CostOrder(cost) or CustomOrder(f)")
        object.__setattr__(self, "factors", tuple(self.factors))
        if not self.factors:
            raise InputError("factors", "no factor", "a finite space of at least one factor")
        seen: set[Factor] = set()
        given: Sequence[object] = self.factors
        for factor in given:
            if not isinstance(factor, Factor):
                hint = "Make one with equals, isin, between, compare, held or auxiliary."
                raise InputError("factors", factor, "factors", hint)
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
        check_order(self.relation, self.factors)

    @cached_property
    def relation(self) -> Relation:
        """[i, j]: factor i ⪯ factor j."""
        return relation_of(self.order, self.factors)

    @cached_property
    def outcomes(self) -> BoolVector:
        """f(z) for every row of the sample."""
        return self.target(self.sample.x)

    @cached_property
    def satisfied(self) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
        """(factors, rows): c(z)."""
        return np.stack([factor(self.sample) for factor in self.factors])


def _require(argument: str, given: object, kind: type, allowed: str, hint: str = "") -> None:
    if not isinstance(given, kind) or isinstance(given, str):
        raise InputError(argument, repr(given) if isinstance(given, str) else given, allowed, hint)
