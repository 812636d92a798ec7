"""Additive models, exact: linear models, naive Bayes, and per-column pipelines before them."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.context.swap import SwapHybrids
from suffice.evaluate.additive.engine import AdditiveEngine
from suffice.evaluate.additive.gam import is_gam, read_gam
from suffice.evaluate.additive.readers import read_scores
from suffice.evaluate.additive.scores import margins_of
from suffice.evaluate.columns import PerColumn, split_pipeline
from suffice.evaluate.protocol import Unreadable
from suffice.target import Target

__all__ = ["AdditiveEngine", "PerColumn", "additive_engine", "split_pipeline"]

_PROBES = 64


def additive_engine(
    model: Any, target: Target, hybrids: SwapHybrids, y: bool
) -> AdditiveEngine | str:
    """An engine for this question, or the reason why there is none.

    `model` is the user's own object, which `target` asks; `y` is the input's truth value.

    A model is read by its class and its fitted parameters, which another version of its library may
    use otherwise. So a few hybrids are put to the model as well; one difference is reason enough.
    """
    if getattr(target.model, "original", model) is not model:
        return "the target asks another model"
    try:
        with np.errstate(all="ignore"):
            engine = _read(model, target, hybrids, y)
    except Unreadable as reason:
        return str(reason)
    except Exception as error:  # private attributes of another version, data it cannot take, …
        return f"{type(model).__name__} could not be read ({type(error).__name__}: {error})"
    if not engine.agrees_with_model(_PROBES):
        return f"{type(model).__name__} does not predict as its parameters say"
    return engine


def _read(model: Any, target: Target, hybrids: SwapHybrids, y: bool) -> AdditiveEngine:
    parts = split_pipeline(model, hybrids.pool.names)
    if isinstance(parts, str):
        raise Unreadable(parts)
    player = hybrids.players.of_column[parts.owner]
    if is_gam(parts.final):
        scores = read_gam(parts.final, parts.transform(hybrids.pool), player, hybrids.d)
    else:
        scores = read_scores(parts.final, parts.matrix(hybrids.pool), player, hybrids.d)
    if target.event.kind == "versus" and getattr(parts.final, "probability", False) is True:
        raise Unreadable("the probabilities of its support vectors are a fit of their own")
    asked = next((m for m in ("predict_proba", "decision_function") if hasattr(model, m)), None)
    margins = margins_of(target.event, scores, target.model.classes or (), asked)
    if isinstance(margins, str):
        raise Unreadable(margins)
    return AdditiveEngine(target, hybrids, y, margins)
