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

from suffice.checks import number
from suffice.context.causal.domains import Labels, as_values, boxed, distinct_values, is_missing
from suffice.errors import InputError, shorten
from suffice.tables import column_codes
from suffice.typing import Reals, Values
from suffice.wording import count

__all__ = [
    "Additive",
    "Deterministic",
    "Discrete",
    "Empirical",
    "Mechanism",
    "Noisy",
    "Parents",
    "Recoverable",
    "Root",
    "Sampled",
    "Sampler",
    "Support",
    "called",
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

    recoverable: Recoverable = "none"
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

    def labels(self) -> Labels | None:
        """All values of the node, where they are labels: of numbers, others can be thought of."""
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

    def labels(self) -> Labels | None:
        """The values it can have, unless they are numbers."""
        support = self.support()
        return Labels(support[0]) if support and support[0].dtype.kind in "Ob" else None


class Empirical(Root):
    """Values drawn with replacement from those observed."""

    def __init__(self, observed: Any) -> None:
        self._observed = as_values(observed)

    def __repr__(self) -> str:
        return f"Empirical({count(len(self._observed), 'value')})"

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
        allowed = "probabilities >= 0 that sum to 1"
        given = []
        for probability in distribution.values():
            try:
                given.append(number("mechanisms", probability, allowed, least=0))
            except InputError as error:
                got = f"{shorten(probability)} as a probability of {node}"
                raise InputError("mechanisms", got, allowed) from error
        probabilities = np.array(given)
        total = probabilities.sum()
        if not np.isclose(total, 1.0):
            got = f"probabilities of {node} that sum to {total:.6g}: {shorten(dict(distribution))}"
            raise InputError("mechanisms", got, allowed)
        self._values = one_kind(list(distribution))
        if self._values.ndim != 1 or is_missing(self._values).any():
            got = f"{shorten(dict(distribution))} for {node}"
            raise InputError("mechanisms", got, "values that are text, numbers or truth values")
        self._probabilities = probabilities / total

    def __repr__(self) -> str:
        held = dict(zip(self._values.tolist(), self._probabilities.tolist(), strict=True))
        return f"Discrete({shorten(held)})"

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

    def __repr__(self) -> str:
        return f"Sampled({called(self._sampler)})"

    def draw(self, n: int, rng: np.random.Generator) -> Values:
        """Call the sampler."""
        return as_values(self._sampler(n, rng))


class Deterministic(Mechanism):
    """A function of the parents, by keyword; there is no noise."""

    recoverable: Recoverable = "exact"
    verify = True  # a row may contradict the function

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __repr__(self) -> str:
        return f"Deterministic({called(self.function)})"

    def draw(self, n: int, rng: np.random.Generator) -> Values:
        """The one state there is."""
        return np.zeros(n)

    def value(self, parents: Parents, noise: Values) -> Values:
        """The function's."""
        return np.asarray(self.function(**parents))

    def abduct(self, parents: Parents, values: Values, rng: np.random.Generator) -> Values:
        """The one state there is."""
        return np.zeros(len(values))

    def support(self) -> Support:
        """One state."""
        return np.zeros(1), np.ones(1)


class Additive(Mechanism):
    """A function of the parents plus noise, Gaussian or from a sampler."""

    recoverable: Recoverable = "exact"

    def __init__(self, mean: Callable[[Parents], Values], noise: float | Sampler) -> None:
        self.mean = mean
        self.noise = noise

    def __repr__(self) -> str:
        noise = called(self.noise) if callable(self.noise) else f"std {self.noise:.4g}"
        return f"Additive({self.mean!r}, noise: {noise})"

    def draw(self, n: int, rng: np.random.Generator) -> Values:
        """Gaussian noise with the given standard deviation, or the sampler's."""
        if callable(self.noise):
            return as_values(self.noise(n, rng))
        return rng.normal(0.0, self.noise, n)

    def value(self, parents: Parents, noise: Values) -> Values:
        """What is expected from the parents, plus noise."""
        return np.asarray(self.mean(parents) + noise)

    def abduct(self, parents: Parents, values: Values, rng: np.random.Generator) -> Values:
        """What the parents do not explain."""
        return np.asarray(values - self.mean(parents))

    def support(self) -> Support | None:
        """One state, if the noise is always 0."""
        return (np.zeros(1), np.ones(1)) if self.noise == 0 else None


class Noisy(Mechanism):
    """A function of noise and the parents: function(noise, **parents)."""

    verify = True  # the user's inverse may not be one

    def __init__(
        self,
        function: Callable[..., Any],
        noise: Sampled | Discrete,
        inverse: Callable[..., Any] | None = None,
    ) -> None:
        self.function, self.noise, self.inverse = function, noise, inverse
        found: Recoverable = "posterior" if isinstance(noise, Discrete) else "none"
        self.recoverable: Recoverable = "exact" if inverse else found

    def __repr__(self) -> str:
        inverse = "" if self.inverse is None else f", inverse: {called(self.inverse)}"
        return f"Noisy({called(self.function)}, noise: {self.noise!r}{inverse})"

    def draw(self, n: int, rng: np.random.Generator) -> Values:
        """Ask the sampler, or draw by the probabilities."""
        return self.noise.draw(n, rng)

    def value(self, parents: Parents, noise: Values) -> Values:
        """The function's."""
        return np.asarray(self.function(noise, **parents))

    def abduct(self, parents: Parents, values: Values, rng: np.random.Generator) -> Values:
        """By the inverse; else one of the states that give the value, drawn by their odds."""
        if self.inverse is not None:
            return np.asarray(self.inverse(values, **parents))
        assert isinstance(self.noise, Discrete)
        states, odds = self.noise.support()
        fits = [self.value(parents, np.repeat(s, len(values))) == values for s in states[:, None]]
        weights = np.stack(fits, axis=1) * odds
        reached = np.cumsum(weights, axis=1)
        # Rows that no state gives keep any state: the model's check then names the node.
        chosen = reached <= rng.random(len(values))[:, None] * reached[:, -1:]
        return np.asarray(states[np.minimum(chosen.sum(axis=1), len(states) - 1)])

    def support(self) -> Support | None:
        """The states of the noise, if a distribution was given."""
        return self.noise.support()


def one_kind(values: Sequence[Any]) -> Values:
    """Values of one type as numpy has them; mixed ones as objects, so that 1 stays 1."""
    if len({type(value) for value in values}) == 1:
        return as_values(values)
    if all(isinstance(v, int | float | np.number) and not isinstance(v, bool) for v in values):
        return as_values(values)
    return boxed(values)


def called(function: Callable[..., Any]) -> str:
    """What a function is called, for reprs."""
    return str(getattr(function, "__qualname__", type(function).__name__))
