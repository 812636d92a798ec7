"""Mechanisms, the structural equations of nodes: value = f(parents, noise).

Noise is the part of a value that the parents do not explain. For nodes without parents the noise
*is* the value.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from suffice.context.causal.graph import (
    NodeCategories,
    distinct_values,
    map_distinct,
    short_value,
    value_array,
)
from suffice.errors import InputError, short_repr
from suffice.formatting import plural
from suffice.tables import column_codes
from suffice.tables.cells import missing_mask, object_array
from suffice.typing import Reals, Values
from suffice.validation import check_number

Parents: TypeAlias = Mapping[str, Values]
"""The parents' values by name, one per row each."""

NoiseSampler: TypeAlias = Callable[[int, np.random.Generator], Any]
"""Draws n values with a generator."""

Support: TypeAlias = tuple[Values, Reals]
"""Finitely many states of noise, and their probabilities."""

Recoverability: TypeAlias = Literal["exact", "posterior", "none"]
"""Whether noise can be found from a row: exactly; by a draw from the noise that fits; not at
all."""


class Mechanism(ABC):
    """Base class of structural equations, each computed on whole columns."""

    recoverable: Recoverability = "none"
    verify: ClassVar[bool] = False
    """Whether to check that noise found from values gives these values again."""

    @abstractmethod
    def draw(self, n: int, rng: np.random.Generator) -> Values:
        """Draw noise for n rows."""

    @abstractmethod
    def value(self, parents: Parents, noise: Values) -> Values:
        """Compute the node's values from its parents and noise."""

    @abstractmethod
    def abduct(self, parents: Parents, values: Values, rng: np.random.Generator) -> Values:
        """Return noise that gives these values."""

    def support(self) -> Support | None:
        """Return all states of the noise with their probabilities; None unless they are finite."""
        return None

    def labels(self) -> NodeCategories | None:
        """Return all values of the node if they are categories; None for numbers."""
        return None


class RootMechanism(Mechanism):
    """Base class of mechanisms without parents, whose value is the noise itself."""

    recoverable: Recoverability = "exact"

    def value(self, parents: Parents, noise: Values) -> Values:
        """Return the noise, which is the value."""
        return noise

    def abduct(self, parents: Parents, values: Values, rng: np.random.Generator) -> Values:
        """Return the values, which are the noise."""
        return values

    def labels(self) -> NodeCategories | None:
        """Return all values of the node if they are categories; None for numbers."""
        support = self.support()
        return NodeCategories(support[0]) if support and support[0].dtype.kind in "Ob" else None


class Empirical(RootMechanism):
    """Root mechanism that draws observed values with replacement."""

    def __init__(self, observed: Any) -> None:
        self._observed = value_array(observed)

    def __repr__(self) -> str:
        return f"Empirical({plural(len(self._observed), 'value')})"

    def draw(self, n: int, rng: np.random.Generator) -> Values:
        """Draw observed values with replacement."""
        return np.asarray(self._observed[rng.integers(len(self._observed), size=n)])

    def support(self) -> Support:
        """Return the distinct values and their frequencies."""
        return self._support

    @cached_property
    def _support(self) -> Support:
        counts = np.bincount(column_codes(self._observed))
        return distinct_values(self._observed), counts / counts.sum()


class Discrete(RootMechanism):
    """Root mechanism that draws values with given probabilities."""

    def __init__(self, distribution: Mapping[Any, float], node: str = "distribution") -> None:
        allowed = "probabilities >= 0 that sum to 1"
        given = []
        for probability in distribution.values():
            try:
                given.append(check_number("mechanisms", probability, allowed, least=0))
            except InputError as error:
                got = f"{short_repr(probability)} as a probability of {node}"
                raise InputError("mechanisms", got, allowed) from error
        probabilities = np.array(given)
        total = probabilities.sum()
        if not np.isclose(total, 1.0):
            got = (
                f"probabilities of {node} that sum to {total:.6g}: {short_repr(dict(distribution))}"
            )
            raise InputError("mechanisms", got, allowed)
        self._values = array_of_one_type(list(distribution))
        if self._values.ndim != 1 or missing_mask(self._values).any():
            got = f"{short_repr(dict(distribution))} for {node}"
            raise InputError("mechanisms", got, "values that are text, numbers or Booleans")
        self._probabilities = probabilities / total

    def __repr__(self) -> str:
        held = dict(zip(self._values.tolist(), self._probabilities.tolist(), strict=True))
        return f"Discrete({short_repr(held)})"

    def draw(self, n: int, rng: np.random.Generator) -> Values:
        """Draw values by their probabilities."""
        rows = rng.choice(len(self._values), size=n, p=self._probabilities)
        return np.asarray(self._values[rows])

    def support(self) -> Support:
        """Return the values and their probabilities."""
        return self._values, self._probabilities


class Sampled(RootMechanism):
    """Root mechanism that draws values from a sampler, a function of (n, rng)."""

    def __init__(self, sampler: NoiseSampler) -> None:
        self._sampler = sampler

    def __repr__(self) -> str:
        return f"Sampled({function_name(self._sampler)})"

    def draw(self, n: int, rng: np.random.Generator) -> Values:
        """Draw values by calling the sampler."""
        return value_array(self._sampler(n, rng))


class Deterministic(Mechanism):
    """Mechanism without noise: a function of the parents as keywords."""

    recoverable: Recoverability = "exact"
    verify = True  # a row may contradict the function

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __repr__(self) -> str:
        return f"Deterministic({function_name(self.function)})"

    def draw(self, n: int, rng: np.random.Generator) -> Values:
        """Return the only state of the noise, for each row."""
        return np.zeros(n)

    def value(self, parents: Parents, noise: Values) -> Values:
        """Compute the values by the function."""
        return np.asarray(self.function(**parents))

    def abduct(self, parents: Parents, values: Values, rng: np.random.Generator) -> Values:
        """Return the only state of the noise, for each row."""
        return np.zeros(len(values))

    def support(self) -> Support:
        """Return the only state of the noise."""
        return np.zeros(1), np.ones(1)


class Additive(Mechanism):
    """Mechanism of additive noise: a function of the parents plus Gaussian or sampled noise."""

    recoverable: Recoverability = "exact"

    def __init__(self, mean: Callable[[Parents], Values], noise: float | NoiseSampler) -> None:
        self.mean = mean
        self.noise = noise

    def __repr__(self) -> str:
        noise = function_name(self.noise) if callable(self.noise) else f"std {self.noise:.4g}"
        return f"Additive({self.mean!r}, noise: {noise})"

    def draw(self, n: int, rng: np.random.Generator) -> Values:
        """Draw Gaussian noise with the given standard deviation, or noise of the sampler."""
        if callable(self.noise):
            return value_array(self.noise(n, rng))
        return rng.normal(0.0, self.noise, n)

    def value(self, parents: Parents, noise: Values) -> Values:
        """Add noise to the mean that the parents give."""
        return np.asarray(self.mean(parents) + noise)

    def abduct(self, parents: Parents, values: Values, rng: np.random.Generator) -> Values:
        """Return the differences between the values and the mean that the parents give."""
        return np.asarray(values - self.mean(parents))

    def support(self) -> Support | None:
        """Return the only state of the noise if it is always 0, else None."""
        return (np.zeros(1), np.ones(1)) if self.noise == 0 else None


class Noisy(Mechanism):
    """Mechanism of any noise: function(noise, **parents)."""

    verify = True  # the user's inverse may not be one

    def __init__(
        self,
        function: Callable[..., Any],
        noise: Sampled | Discrete,
        inverse: Callable[..., Any] | None = None,
    ) -> None:
        self.function, self.noise, self.inverse = function, noise, inverse
        found: Recoverability = "posterior" if isinstance(noise, Discrete) else "none"
        self.recoverable: Recoverability = "exact" if inverse else found

    def __repr__(self) -> str:
        inverse = "" if self.inverse is None else f", inverse: {function_name(self.inverse)}"
        return f"Noisy({function_name(self.function)}, noise: {self.noise!r}{inverse})"

    def draw(self, n: int, rng: np.random.Generator) -> Values:
        """Draw noise from the sampler or by the probabilities."""
        return self.noise.draw(n, rng)

    def value(self, parents: Parents, noise: Values) -> Values:
        """Compute the values by the function."""
        return np.asarray(self.function(noise, **parents))

    def abduct(self, parents: Parents, values: Values, rng: np.random.Generator) -> Values:
        """Invert the function, or draw one of the states that give the value by its odds."""
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
        """Return the states of the noise and their probabilities, if a distribution was given."""
        return self.noise.support()


def array_of_one_type(values: Sequence[Any]) -> Values:
    """Return values as an array: of their type, or of objects if types are mixed (1 stays 1)."""
    if len({type(value) for value in values}) == 1:
        return value_array(values)
    if all(isinstance(v, int | float | np.number) and not isinstance(v, bool) for v in values):
        return value_array(values)
    return object_array(values)


def function_name(function: Callable[..., Any]) -> str:
    """Return the name of a function, for reprs."""
    return str(getattr(function, "__qualname__", type(function).__name__))


class Categorical(Mechanism):
    """Mechanism of categories, whose probabilities depend on the parents."""

    recoverable: Recoverability = "posterior"

    def __init__(
        self, node: str, labels: NodeCategories, probabilities: Callable[[Parents], Reals]
    ) -> None:
        self.node, self._labels, self._ask = node, labels, probabilities

    def __repr__(self) -> str:
        return f"Categorical({len(self._labels)} labels by {self._ask!r})"

    def labels(self) -> NodeCategories:
        """Return the categories that occurred in the data."""
        return self._labels

    def probabilities(self, parents: Parents) -> Reals:
        """Return probabilities (rows, labels)."""
        found = np.asarray(map_distinct(parents, self._ask))
        fits = found.shape[1:] == (len(self._labels),) and np.isfinite(found).all()
        if not fits or (found < 0).any() or (found.sum(axis=1) <= 0).any():
            raise InputError(
                f"mechanisms[{self.node!r}]",
                f"a classifier that gave {short_repr(found[:1].tolist())}",
                f"a probability for each of its {len(self._labels)} labels",
            )
        return found

    def draw(self, n: int, rng: np.random.Generator) -> Values:
        """Draw a uniform number per row."""
        return rng.random(n)

    def value(self, parents: Parents, noise: Values) -> Values:
        """Return the label whose part of [0, 1) contains the noise."""
        ends = self._ends(parents)[:, 1:-1]
        return np.asarray(self._labels.values[(noise[:, None] >= ends).sum(axis=1)])

    def abduct(self, parents: Parents, values: Values, rng: np.random.Generator) -> Values:
        """Draw the noise uniformly from the part of [0, 1) of the observed label."""
        codes = self._labels.codes(values, self.node, "values")
        ends, rows = self._ends(parents), np.arange(len(values))
        low, high = ends[rows, codes], ends[rows, codes + 1]
        if (low >= high).any():
            row = int(np.argmax(low >= high))
            raise InputError(
                "values",
                f"{self.node} = {short_value(values[row])} in row {row}, to which the mechanism "
                "fitted "
                f"for {self.node!r} gives probability 0",
                "rows that the model can produce",
                "Its noise cannot be recovered: use noise='sampled', or leave this node to the "
                "default mechanism, which gives no label seen probability 0.",
            )
        drawn = low + (high - low) * rng.random(len(values))
        return np.asarray(np.minimum(drawn, np.nextafter(high, low)))

    def _ends(self, parents: Parents) -> Reals:
        """Return (rows, labels + 1): ends of each label's part of [0, 1), from 0 to exactly 1."""
        total = np.cumsum(self.probabilities(parents), axis=1)
        return np.pad(total / total[:, -1:], ((0, 0), (1, 0)))


@dataclass(frozen=True)
class AdditiveRecipe:
    """Recipe that `additive` returns: a mean, and noise that may have to be fitted."""

    mean: Any
    std: float | None
    noise: NoiseSampler | None


def additive(
    mean: Any, *, std: float | None = None, noise: NoiseSampler | None = None
) -> AdditiveRecipe:
    """Describe a node as `mean` plus noise: a function of its parents, or a regressor to fit.

    Noise is Gaussian with standard deviation `std`, or drawn by `noise(n, rng)`; with neither, its
    variance is the residual mean square on the data.

    >>> from suffice.context.causal import CausalModel
    >>> scm = CausalModel([("x", "y")], mechanisms={
    ...     "x": {0: 0.5, 1: 0.5}, "y": additive(lambda x: 2 * x, std=0.1)})
    >>> scm.capabilities
    {'x': 'exact', 'y': 'exact'}
    """
    if std is not None and noise is not None:
        raise InputError("std", f"{std} and noise= as well", "one of the two")
    if noise is not None and not callable(noise):
        raise InputError("noise", noise, "None or a sampler of (n, rng)")
    spread = None if std is None else check_number("std", std, "None or a number >= 0", least=0)
    return AdditiveRecipe(mean, spread, noise)


def noisy(
    function: Callable[..., Any],
    noise: NoiseSampler | Mapping[Any, float] | float,
    *,
    inverse: Callable[..., Any] | None = None,
) -> Noisy:
    """Make a mechanism from `function(noise, **parents)`, vectorised over arrays.

    `noise` is a sampler of (n, rng), a distribution {value: probability}, or a number p (True with
    probability p). `inverse(values, **parents)` gives the noise back; without one, noise is only
    recovered where it has finitely many states.

    >>> noisy(lambda noise, rain: rain ^ noise, noise=0.1).recoverable
    'posterior'
    """
    if not callable(function):
        raise InputError("function", function, "a function of noise and the parents")
    if inverse is not None and not callable(inverse):
        raise InputError("inverse", inverse, "None or a function of values and the parents")
    if callable(noise):
        return Noisy(function, Sampled(noise), inverse)
    if isinstance(noise, Mapping):
        return Noisy(function, Discrete(noise, "noise"), inverse)
    allowed = "a sampler of (n, rng), {value: probability}, or a probability"
    chance = check_number("noise", noise, allowed, least=0, most=1)
    return Noisy(function, Discrete({True: chance, False: 1 - chance}, "noise"), inverse)
