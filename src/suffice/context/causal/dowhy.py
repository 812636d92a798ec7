"""Fitted models of `dowhy.gcm`, read as causal models of our own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from suffice.context.causal.domains import Labels, as_values
from suffice.context.causal.learned import Categorical
from suffice.context.causal.mechanisms import Empirical, Mechanism, Parents, Recoverable, Sampled
from suffice.context.causal.model import CausalModel
from suffice.errors import InputError
from suffice.typing import Reals, Values

__all__ = ["from_dowhy"]

_MECHANISM, _PARENTS = "causal_mechanism", "parents_during_fit"
"""The attributes under which dowhy keeps these at a node."""


def from_dowhy(model: Any) -> CausalModel:
    """Read a fitted `dowhy.gcm` model: probabilistic, structural, or invertible.

    Nodes without causes keep their distribution; additive noise and other invertible models are
    recovered exactly, classifiers by their class probabilities.
    """
    graph: Any = getattr(model, "graph", None)
    if not hasattr(graph, "nodes") or not hasattr(graph, "edges"):
        raise InputError("model", model, "a model of dowhy.gcm")
    mechanisms = {}
    dag: dict[str, list[str]] = {}
    for node in graph.nodes:
        facts = graph.nodes[node]
        if _MECHANISM not in facts or _PARENTS not in facts:
            raise InputError(
                "model",
                f"an unfitted mechanism of {str(node)!r}",
                "a fitted model",
                "Call gcm.fit(model, data) first.",
            )
        parents = [str(parent) for parent in facts[_PARENTS]]
        dag[str(node)] = parents
        mechanisms[str(node)] = _mechanism(str(node), facts[_MECHANISM], parents)
    return CausalModel(dag, mechanisms=mechanisms)


def _mechanism(node: str, given: Any, parents: list[str]) -> Mechanism:
    if not parents:
        if hasattr(given, "data"):  # an empirical distribution, whose states can be enumerated
            return Empirical(np.ravel(given.data))
        return Sampled(partial(_seeded, given.draw_samples))
    if hasattr(given, "estimate_probabilities") and hasattr(given, "classifier_model"):
        labels = Labels(as_values(given.classifier_model.classes))
        return Categorical(node, labels, _Probabilities(given, parents))
    if hasattr(given, "evaluate") and hasattr(given, "draw_noise_samples"):
        return _Functional(given, parents)
    raise InputError(
        "model",
        f"a {type(given).__name__} at {node!r}",
        "AdditiveNoiseModel, PostNonlinearModel, ClassifierFCM or another functional model",
        "A mechanism that only draws samples does not say what its noise is.",
    )


class _Functional(Mechanism):
    """value = evaluate(parents, noise), where some models also estimate the noise."""

    verify = True

    def __init__(self, model: Any, parents: list[str]) -> None:
        self._model, self._parents = model, parents
        self.recoverable: Recoverable = "exact" if hasattr(model, "estimate_noise") else "none"

    def __repr__(self) -> str:
        return f"dowhy's {type(self._model).__name__}"

    def draw(self, n: int, rng: np.random.Generator) -> Values:
        """Draw the model's own noise."""
        return _seeded(self._model.draw_noise_samples, n, rng)

    def value(self, parents: Parents, noise: Values) -> Values:
        """Ask the model."""
        matrix = _matrix(parents, self._parents)
        return np.ravel(self._model.evaluate(matrix, noise.reshape(-1, 1)))

    def abduct(self, parents: Parents, values: Values, rng: np.random.Generator) -> Values:
        """Ask the model for its noise."""
        matrix = _matrix(parents, self._parents)
        return np.ravel(self._model.estimate_noise(values.reshape(-1, 1), matrix))


@dataclass(frozen=True)
class _Probabilities:
    """A classifier's probabilities, asked with the parents in the order it was fitted on."""

    model: Any
    order: list[str]

    def __call__(self, parents: Parents) -> Reals:
        return np.asarray(self.model.estimate_probabilities(_matrix(parents, self.order)))

    def __repr__(self) -> str:
        return f"dowhy's {type(self.model).__name__}"


def _matrix(parents: Parents, order: list[str]) -> Values:
    """The parents side by side; with labels among them as objects, as dowhy has them."""
    columns = [parents[name] for name in order]
    kind = object if any(c.dtype.kind not in "biuf" for c in columns) else np.float64
    return np.stack([column.astype(kind) for column in columns], axis=1)


def _seeded(draw: Callable[[int], Any], n: int, rng: np.random.Generator) -> Values:
    """Draw with dowhy, which knows only numpy's global generator: seeded, and then put back."""
    state = np.random.get_state()  # noqa: NPY002
    np.random.seed(int(rng.integers(2**32)))  # noqa: NPY002
    try:
        return as_values(np.ravel(draw(n)))
    finally:
        np.random.set_state(state)  # noqa: NPY002
