"""How a node comes about: value = function of its parents and of its own noise.

Noise is whatever is not explained by the parents. Nodes without parents are all noise: for them,
noise *is* the value.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from suffice.context.causal.columns import as_values, distinct_values
from suffice.errors import InputError
from suffice.tables.table import column_codes
from suffice.typing import Reals, Values

__all__ = [
    "Discrete",
    "Empirical",
    "Mechanism",
    "Parents",
    "Recoverable",
    "Root",
    "Sampled",
    "Sampler",
    "Support",
]

Parents: TypeAlias = Mapping[str, Values]
"""The parents' values by name, one per row each."""

Sampler: TypeAlias = Callable[[int, np.random.Generator], Any]
"""Draws n values with a generator."""

Support: TypeAlias = tuple[Values, Reals]
"""Finitely many states of noise, and their probabilities."""

Recoverable: TypeAlias = Literal["exact", "posterior", "none"]
"""Can noise be found from a row? Exactly; up to a draw from those that fit; not at all."""


class Mechanism(ABC):
    """One structural equation, over whole columns."""

    recoverable: Recoverable
    verify: ClassVar[bool] = False
    """Must noise that was found be checked to give the values it was found from?"""

    @abstractmethod
    def draw(self, n: int, rng: np.random.Generator) -> Values:
        """Noise for n rows."""

    @abstractmethod
    def value(self, parents: Parents, noise: Values) -> Values:
        """The node's values."""

    @abstractmethod
    def abduct(self, parents: Parents, values: Values, rng: np.random.Generator) -> Values:
        """Noise that gives these values."""

    def support(self) -> Support | None:
        """All states of the noise, if they are finitely many."""
        return None


class Root(Mechanism):
    """A node without parents."""

    recoverable: Recoverable = "exact"

    def value(self, parents: Parents, noise: Values) -> Values:
        """The noise itself."""
        return noise

    def abduct(self, parents: Parents, values: Values, rng: np.random.Generator) -> Values:
        """The value itself."""
        return values


class Empirical(Root):
    """Values drawn with replacement from those observed."""

    def __init__(self, observed: Any) -> None:
        self._observed = as_values(observed)

    def draw(self, n: int, rng: np.random.Generator) -> Values:
        """Resample the column."""
        return np.asarray(self._observed[rng.integers(len(self._observed), size=n)])

    def support(self) -> Support:
        """The distinct values and how frequent they are."""
        return self._support

    @cached_property
    def _support(self) -> Support:
        counts = np.bincount(column_codes(self._observed))
        return distinct_values(self._observed), counts / counts.sum()


class Discrete(Root):
    """Values with given probabilities."""

    def __init__(self, distribution: Mapping[Any, float], node: str = "distribution") -> None:
        probabilities = np.array([float(p) for p in distribution.values()])
        total = probabilities.sum()
        if not len(distribution) or (probabilities < 0).any() or not np.isclose(total, 1.0):
            raise InputError(
                "mechanisms",
                f"probabilities of {node} that sum to {total:.6g}: {dict(distribution)!r}",
                "probabilities >= 0 that sum to 1",
            )
        self._values = one_kind(list(distribution))
        self._probabilities = probabilities / total

    def draw(self, n: int, rng: np.random.Generator) -> Values:
        """Draw by the probabilities."""
        rows = rng.choice(len(self._values), size=n, p=self._probabilities)
        return np.asarray(self._values[rows])

    def support(self) -> Support:
        """The distribution as it was given."""
        return self._values, self._probabilities


class Sampled(Root):
    """Values from a sampler: any function of (n, rng)."""

    def __init__(self, sampler: Sampler) -> None:
        self._sampler = sampler

    def draw(self, n: int, rng: np.random.Generator) -> Values:
        """Call the sampler."""
        return drawn(self._sampler, n, rng)


def drawn(sampler: Sampler, n: int, rng: np.random.Generator) -> Values:
    """A sampler's answer, checked to have one value per row."""
    noise = as_values(sampler(n, rng))
    if noise.shape != (n,):
        raise InputError(
            "mechanisms", f"a sampler that returned shape {noise.shape}", f"{n} values for n={n}"
        )
    return noise


def one_kind(values: Sequence[Any]) -> Values:
    """Values of one type as numpy has them; mixed ones as objects, so that 1 stays 1."""
    if len({type(value) for value in values}) == 1:
        return as_values(values)
    if all(isinstance(v, int | float | np.number) and not isinstance(v, bool) for v in values):
        return as_values(values)
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out
