"""Reads fitted models of `dowhy.gcm` as `CausalModel`s."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from threading import RLock
from typing import Any

import numpy as np

from suffice.context.causal.graph import NodeCategories, value_array
from suffice.context.causal.mechanisms import (
    Categorical,
    Empirical,
    Mechanism,
    Parents,
    Recoverability,
    Sampled,
)
from suffice.context.causal.model import CausalModel
from suffice.errors import InputError
from suffice.forks import hold_across_forks
from suffice.typing import Reals, Values

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
        mechanisms[str(node)] = _read_mechanism(str(node), facts[_MECHANISM], parents)
    return CausalModel(dag, mechanisms=mechanisms)


def _read_mechanism(node: str, given: Any, parents: list[str]) -> Mechanism:
    if not parents:
        if hasattr(given, "data"):  # an empirical distribution, whose states can be enumerated
            return Empirical(np.ravel(given.data))
        return Sampled(partial(_draw_seeded, given.draw_samples))
    if hasattr(given, "estimate_probabilities") and hasattr(given, "classifier_model"):
        labels = NodeCategories(value_array(given.classifier_model.classes))
        return Categorical(node, labels, _DowhyProbabilities(given, parents))
    if hasattr(given, "evaluate") and hasattr(given, "draw_noise_samples"):
        return _DowhyMechanism(given, parents)
    raise InputError(
        "model",
        f"a {type(given).__name__} at {node!r}",
        "AdditiveNoiseModel, PostNonlinearModel, ClassifierFCM or another functional model",
        "A mechanism that only draws samples does not say what its noise is.",
    )


class _DowhyMechanism(Mechanism):
    """Mechanism of a dowhy node: evaluate(parents, noise); some also estimate the noise."""

    verify = True

    def __init__(self, model: Any, parents: list[str]) -> None:
        self._model, self._parents = model, parents
        self.recoverable: Recoverability = "exact" if hasattr(model, "estimate_noise") else "none"

    def __repr__(self) -> str:
        return f"dowhy's {type(self._model).__name__}"

    def draw(self, n: int, rng: np.random.Generator) -> Values:
        """Draw noise from the dowhy model."""
        return _draw_seeded(self._model.draw_noise_samples, n, rng)

    def value(self, parents: Parents, noise: Values) -> Values:
        """Return the values that the dowhy model computes."""
        matrix = _parent_matrix(parents, self._parents)
        return np.ravel(self._model.evaluate(matrix, noise.reshape(-1, 1)))

    def abduct(self, parents: Parents, values: Values, rng: np.random.Generator) -> Values:
        """Return the noise that the dowhy model estimates."""
        matrix = _parent_matrix(parents, self._parents)
        return np.ravel(self._model.estimate_noise(values.reshape(-1, 1), matrix))


@dataclass(frozen=True)
class _DowhyProbabilities:
    """Probabilities of a dowhy classifier, with the parents in the order it was fitted on."""

    model: Any
    order: list[str]

    def __call__(self, parents: Parents) -> Reals:
        return np.asarray(self.model.estimate_probabilities(_parent_matrix(parents, self.order)))

    def __repr__(self) -> str:
        return f"dowhy's {type(self.model).__name__}"


def _parent_matrix(parents: Parents, order: list[str]) -> Values:
    """Return the parents as a matrix; of objects if some are labels, as dowhy expects."""
    columns = [parents[name] for name in order]
    kind = object if any(c.dtype.kind not in "biuf" for c in columns) else np.float64
    return np.stack([column.astype(kind) for column in columns], axis=1)


_GLOBAL_GENERATOR_LOCK = RLock()
"""Held while NumPy's global generator is seeded: a second thread would draw from the same state,
and restore a state that the first had seeded."""

hold_across_forks(_GLOBAL_GENERATOR_LOCK)


def _draw_seeded(draw: Callable[[int], Any], n: int, rng: np.random.Generator) -> Values:
    """Return n values drawn by dowhy, which uses NumPy's global generator; restore its state."""
    seed = int(rng.integers(2**32))
    with _GLOBAL_GENERATOR_LOCK:
        state = np.random.get_state()  # noqa: NPY002
        np.random.seed(seed)  # noqa: NPY002
        try:
            return value_array(np.ravel(draw(n)))
        finally:
            np.random.set_state(state)  # noqa: NPY002
