"""Reading what the user gave for each node as its mechanism; fitting the ones not given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np

from suffice.context.causal.columns import Column, is_missing
from suffice.context.causal.fitted import fit_classifier, fit_regressor
from suffice.context.causal.functions import Additive, AdditiveRecipe, Deterministic, Noisy
from suffice.context.causal.graph import Graph
from suffice.context.causal.mechanisms import Discrete, Empirical, Mechanism, Root, Sampled
from suffice.errors import InputError, did_you_mean, shorten

__all__ = ["make_mechanisms"]

_ROOT = (
    "for a node without causes: a distribution {value: probability}, a probability, "
    "values to resample, or a sampler of (n, rng)"
)
_CHILD = (
    "for a node with causes: a function of them by keyword, additive(...), noisy(...), "
    "or a scikit-learn estimator to fit"
)


def make_mechanisms(
    graph: Graph,
    columns: Mapping[str, Column],
    given: Mapping[str, Any],
    random_state: int,
    in_data: Sequence[str] = (),
) -> dict[str, Mechanism]:
    """One mechanism per node, in topological order; `in_data` are all columns of the data."""
    graph.require(given, "mechanisms")
    maker = _Maker(graph, columns, random_state, in_data)
    return {
        node: maker.child(node, given.get(node))
        if graph.parents[node]
        else maker.root(node, given.get(node))
        for node in graph.nodes
    }


@dataclass(frozen=True)
class _Maker:
    graph: Graph
    columns: Mapping[str, Column]
    random_state: int
    in_data: Sequence[str]

    def root(self, node: str, given: Any) -> Mechanism:
        if given is None:
            return Empirical(self._column(node, node).complete().values)
        if isinstance(given, Mechanism):
            return given
        if isinstance(given, Mapping):
            return Discrete(given, node)
        if isinstance(given, int | float | np.number):
            return Discrete({True: float(given), False: 1 - float(given)}, node)
        if callable(given) and not isinstance(given, type):
            _require_call(given, node, (), first=2, allowed=_ROOT)
            return Sampled(given)
        if isinstance(given, str | AdditiveRecipe) or _is_estimator(given):
            raise InputError("mechanisms", f"{shorten(given)} for {node!r}", _ROOT)
        values = np.asarray(given)
        if values.ndim != 1 or not len(values) or is_missing(values).any():
            raise InputError("mechanisms", f"{shorten(given)} for {node!r}", _ROOT)
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
        mean = _by_keyword(recipe.mean)
        noise = recipe.noise or recipe.std
        if noise is None:
            values = {p: self._column(p, node).complete().values for p in parents}
            residuals = self._column(node, node).complete().values - mean(values)
            noise = float(np.sqrt(np.mean(residuals**2)))
        return Additive(mean, noise)

    def _fit(self, node: str, estimator: Any, std: float | None = None) -> Mechanism:
        column = self._column(node, node).complete()
        parents = {p: self._column(p, node).complete() for p in self.graph.parents[node]}
        self._require_kind(node, estimator, column)
        if estimator is None:
            estimator = _default(column, self.random_state)
        else:
            from sklearn.base import clone

            estimator = clone(estimator)
            if estimator.get_params().get("random_state", 0) is None:
                estimator.set_params(random_state=self.random_state)
        if column.labels is None:
            return fit_regressor(node, estimator, parents, column, std)
        return fit_classifier(node, estimator, parents, column)

    @staticmethod
    def _require_kind(node: str, estimator: Any, column: Column) -> None:
        from sklearn.base import is_classifier, is_regressor

        got = f"{shorten(estimator)} for {node!r}"
        if column.labels is None and estimator is not None and not is_regressor(estimator):
            hint = f"Name {node!r} in categorical=[...] if its numbers are labels."
            raise InputError("mechanisms", got, f"a regressor, since {node!r} holds numbers", hint)
        if column.labels is not None and estimator is not None and not is_classifier(estimator):
            raise InputError("mechanisms", got, f"a classifier, since {node!r} is categorical")

    def _column(self, name: str, needed_by: str) -> Column:
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


def _default(column: Column, random_state: int) -> Any:
    """The paper's choice (appendix, German credit): linear regressions and random forests."""
    if column.labels is None:
        from sklearn.linear_model import LinearRegression

        return LinearRegression()
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(random_state=random_state)


def _is_estimator(given: Any) -> bool:
    return hasattr(given, "fit") and hasattr(given, "predict") and not isinstance(given, type)


def _by_keyword(function: Callable[..., Any]) -> Callable[[Mapping[str, Any]], Any]:
    return lambda parents: np.asarray(function(**parents))


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
