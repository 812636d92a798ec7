"""Generalized additive models that give a score per feature: explainable boosting machines.

`interpret`'s models bin each feature and look its score up, so `eval_terms` on the pool is all that
is needed. Models with interaction terms are not additive in the features, and say so here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.evaluate.additive.scores import AdditiveScores, Decision
from suffice.evaluate.protocol import Unreadable
from suffice.typing import Counts

__all__ = ["is_gam", "read_gam"]

_KINDS = ("ExplainableBoostingClassifier", "ExplainableBoostingRegressor")


def is_gam(model: Any) -> bool:
    """Is this a model that `read_gam` is for?"""
    kind = type(model)
    return kind.__module__.startswith("interpret.") and kind.__name__ in _KINDS


def read_gam(model: Any, rows: Any, player: Counts, d: int) -> AdditiveScores:
    """Scores of rows in the model's own kind; `player` tells whose each of its columns is."""
    if any(len(features) > 1 for features in model.term_features_):
        raise Unreadable(f"{type(model).__name__} has interaction terms: pass interactions=0")
    if model.link_ not in ("logit", "mlogit", "identity"):
        raise Unreadable(f"{type(model).__name__} has the link {model.link_!r}")
    scores = np.asarray(model.eval_terms(rows), dtype=np.float64)
    scores = scores[..., None] if scores.ndim == 2 else scores  # (rows, terms, K)
    of_term = player[[features[0] for features in model.term_features_]]
    belongs = (of_term[:, None] == np.arange(d)).astype(np.float64)
    base = np.broadcast_to(np.ravel(model.intercept_), scores.shape[2]).astype(np.float64)
    decision: Decision = "value"
    if hasattr(model, "classes_"):
        decision = "sign" if len(base) == 1 else "argmax"
    return AdditiveScores(
        np.einsum("rtk,td->krd", scores, belongs),
        np.abs(scores).sum(axis=1).T + np.abs(base)[:, None],
        base,
        decision,
        2 * scores.shape[1],
        float(np.finfo(np.float64).eps),
    )
