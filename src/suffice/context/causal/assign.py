"""The mechanism of each node: what the user gave for it, else one fitted from the data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np

from suffice.checks import number, ran
from suffice.context.causal.domains import NodeData, is_missing
from suffice.context.causal.graph import Graph
from suffice.context.causal.learned import Fitter
from suffice.context.causal.mechanisms import (
    Additive,
    Deterministic,
    Discrete,
    Empirical,
    Mechanism,
    Noisy,
    Parents,
    Root,
    Sampled,
    Sampler,
    called,
)
from suffice.errors import InputError, did_you_mean, shorten
from suffice.typing import Values

__all__ = ["AdditiveRecipe", "additive", "make_mechanisms", "noisy"]

_ROOT = (
    "for a node without causes: a distribution {value: probability}, a probability, "
    "values to resample, or a sampler of (n, rng)"
)
_CHILD = (
    "for a node with causes: a function of them by keyword, additive(...), noisy(...), "
    "or a scikit-learn estimator to fit"
)


@dataclass(frozen=True)
class AdditiveRecipe:
    """What `additive` returns: an expectation, and noise that may have to be fitted."""

    mean: Any
    std: float | None
    noise: Sampler | None


def additive(
    mean: Any, *, std: float | None = None, noise: Sampler | None = None
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
    spread = None if std is None else number("std", std, "None or a number >= 0", least=0)
    return AdditiveRecipe(mean, spread, noise)


def noisy(
    function: Callable[..., Any],
    noise: Sampler | Mapping[Any, float] | float,
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
    chance = number("noise", noise, allowed, least=0, most=1)
    return Noisy(function, Discrete({True: chance, False: 1 - chance}, "noise"), inverse)


@dataclass(frozen=True)
class _ByKeyword:
    """A function of the parents by keyword, asked with all of them at once."""

    function: Callable[..., Any]

    def __call__(self, parents: Parents) -> Values:
        return np.asarray(self.function(**parents))

    def __repr__(self) -> str:
        return called(self.function)


def make_mechanisms(
    graph: Graph,
    columns: Mapping[str, NodeData],
    given: Mapping[str, Any],
    fit: Fitter,
    in_data: Sequence[str] = (),
) -> dict[str, Mechanism]:
    """One mechanism per node, in topological order; `in_data` are all columns of the data."""
    graph.require(given, "mechanisms")
    maker = _Maker(graph, columns, fit, in_data)
    return {
        node: maker.child(node, given.get(node))
        if graph.parents[node]
        else maker.root(node, given.get(node))
        for node in graph.nodes
    }


@dataclass(frozen=True)
class _Maker:
    graph: Graph
    columns: Mapping[str, NodeData]
    fit: Fitter
    in_data: Sequence[str]

    def root(self, node: str, given: Any) -> Mechanism:
        if given is None:
            return Empirical(self._column(node, node).complete().values)
        if isinstance(given, Mechanism):
            return given
        if isinstance(given, Mapping):
            return Discrete(given, node)
        wrong = InputError("mechanisms", f"{shorten(given)} for {node!r}", _ROOT)
        if isinstance(given, int | float | np.number) and not isinstance(given, bool):
            chance = number(f"mechanisms[{node!r}]", given, "a probability", least=0, most=1)
            return Discrete({True: chance, False: 1 - chance}, node)
        if callable(given) and not isinstance(given, type):
            _require_call(given, node, (), first=2, allowed=_ROOT)
            return Sampled(given)
        if isinstance(given, bool | str | AdditiveRecipe) or _is_estimator(given):
            raise wrong
        try:
            values = np.asarray(given)
        except ValueError:  # lists of different lengths
            raise wrong from None
        if values.ndim != 1 or not len(values) or is_missing(values).any():
            raise wrong
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            raise wrong
        return Empirical(values)

    def child(self, node: str, given: Any) -> Mechanism:
        parents = self.graph.parents[node]
        if given is None or _is_estimator(given):
            return self._fit(node, given)
        if isinstance(given, AdditiveRecipe):
            return self._additive(node, given)
        if isinstance(given, Noisy):
            _require_call(given.function, node, parents, first=1, allowed=_CHILD)
            return given
        if isinstance(given, Mechanism) and not isinstance(given, Root):
            return given
        if callable(given) and not isinstance(given, type | Root):
            _require_call(given, node, parents, first=0, allowed=_CHILD)
            return Deterministic(given)
        raise InputError("mechanisms", f"{shorten(given)} for {node!r}", _CHILD)

    def _additive(self, node: str, recipe: AdditiveRecipe) -> Mechanism:
        if _is_estimator(recipe.mean):
            fitted = self._fit(node, recipe.mean, recipe.std)
            if not isinstance(fitted, Additive):
                allowed = "a regressor or a function of the parents in additive(...)"
                raise InputError("mechanisms", f"{shorten(recipe.mean)} for {node!r}", allowed)
            return Additive(fitted.mean, recipe.noise) if recipe.noise else fitted
        if not callable(recipe.mean):
            raise InputError("mechanisms", f"additive({shorten(recipe.mean)}) for {node!r}", _CHILD)
        parents = self.graph.parents[node]
        _require_call(recipe.mean, node, parents, first=0, allowed=_CHILD)
        mean = _ByKeyword(recipe.mean)
        noise: float | Sampler | None = recipe.std if recipe.noise is None else recipe.noise
        if noise is None:
            values = {p: self._column(p, node).complete().values for p in parents}
            column = self._column(node, node).complete()
            if not column.domain.numbers:
                allowed = "numbers, to add noise to"
                raise InputError("data", f"{node!r}, which is categorical", allowed)
            allowed = "a function of the parents as whole arrays"
            expected = ran(f"mechanisms[{node!r}]", mean, allowed, values)
            noise = float(np.sqrt(np.mean((column.values - expected) ** 2)))
        return Additive(mean, noise)

    def _fit(self, node: str, estimator: Any, std: float | None = None) -> Mechanism:
        column = self._column(node, node).complete()
        parents = {p: self._column(p, node).complete() for p in self.graph.parents[node]}
        return self.fit(column, parents, estimator, std)

    def _column(self, name: str, needed_by: str) -> NodeData:
        if name in self.columns:
            return self.columns[name]
        if self.in_data:
            raise InputError(
                "data",
                f"no column {name!r}",
                "a column for every node that is fitted, and for its causes",
                did_you_mean(name, self.in_data),
            )
        raise InputError(
            "mechanisms",
            f"an unfitted mechanism: nothing for {needed_by!r}, and no data to fit it on",
            "a mechanism for every node, or data",
        )


def _is_estimator(given: Any) -> bool:
    return hasattr(given, "fit") and hasattr(given, "predict") and not isinstance(given, type)


def _require_call(
    function: Callable[..., Any], node: str, parents: Iterable[str], first: int, allowed: str
) -> None:
    """Can it be called so? Asked now: a clear message instead of a TypeError later."""
    try:
        takes = signature(function)
    except (TypeError, ValueError):  # built-in functions do not say what they take
        return
    try:
        takes.bind(*[None] * first, **dict.fromkeys(parents))
    except TypeError as error:
        raise InputError(
            "mechanisms",
            f"a function{takes} for {node!r}",
            allowed,
            f"Its causes are: {', '.join(parents) or 'none'} ({error}).",
        ) from error
