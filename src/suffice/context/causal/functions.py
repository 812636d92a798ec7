"""Structural equations that the user writes down: with no noise, with added noise, with any."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.context.causal.mechanisms import (
    Discrete,
    Mechanism,
    Parents,
    Recoverable,
    Sampler,
    Support,
    drawn,
)
from suffice.errors import InputError
from suffice.typing import Values

__all__ = ["Additive", "AdditiveRecipe", "Deterministic", "Noisy", "additive", "noisy"]


class Deterministic(Mechanism):
    """A function of the parents, by keyword; there is no noise."""

    recoverable: Recoverable = "exact"
    verify = True  # a row may contradict the function

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

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

    def draw(self, n: int, rng: np.random.Generator) -> Values:
        """Gaussian noise with the given standard deviation, or the sampler's."""
        if callable(self.noise):
            return drawn(self.noise, n, rng)
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
        noise: Sampler | Mapping[Any, float] | float,
        inverse: Callable[..., Any] | None = None,
    ) -> None:
        self.function, self.inverse = function, inverse
        self._sampler: Sampler | None = None
        self._states: Discrete | None = None
        if callable(noise):
            self._sampler = noise
        else:
            given = noise if isinstance(noise, Mapping) else {True: noise, False: 1 - noise}
            self._states = Discrete(given, "noise")
        self.recoverable: Recoverable = (
            "exact" if inverse else "posterior" if self._states else "none"
        )

    def draw(self, n: int, rng: np.random.Generator) -> Values:
        """Ask the sampler, or draw by the probabilities."""
        if self._sampler is not None:
            return drawn(self._sampler, n, rng)
        assert self._states is not None
        return self._states.draw(n, rng)

    def value(self, parents: Parents, noise: Values) -> Values:
        """The function's."""
        return np.asarray(self.function(noise, **parents))

    def abduct(self, parents: Parents, values: Values, rng: np.random.Generator) -> Values:
        """By the inverse; else one of the states that give the value, drawn by their odds."""
        if self.inverse is not None:
            return np.asarray(self.inverse(values, **parents))
        assert self._states is not None
        states, odds = self._states.support()
        fits = [self.value(parents, np.repeat(s, len(values))) == values for s in states[:, None]]
        weights = np.stack(fits, axis=1) * odds
        reached = np.cumsum(weights, axis=1)
        # Rows that no state gives keep any state: the model's check then names the node.
        chosen = reached <= rng.random(len(values))[:, None] * reached[:, -1:]
        return np.asarray(states[np.minimum(chosen.sum(axis=1), len(states) - 1)])

    def support(self) -> Support | None:
        """The states of the noise, if a distribution was given."""
        return None if self._states is None else self._states.support()


@dataclass(frozen=True)
class AdditiveRecipe:
    """What `additive` returns: an expectation, and noise that may have to be fitted."""

    mean: Any
    std: float | None
    noise: Sampler | None


def additive(mean: Any, std: float | None = None, noise: Sampler | None = None) -> AdditiveRecipe:
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
    if std is not None and not (np.isfinite(std) and std >= 0):
        raise InputError("std", std, "a number >= 0")
    return AdditiveRecipe(mean, std, noise)


def noisy(
    function: Callable[..., Any],
    noise: Sampler | Mapping[Any, float] | float,
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
    return Noisy(function, noise, inverse)
