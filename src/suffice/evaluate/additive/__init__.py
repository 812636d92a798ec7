"""Additive models, exact: linear models, naive Bayes, and per-column pipelines before them.

    read = read_additive(model, columns)             # once per model
    engine = additive_engine(read, target, hybrids, y)  # once per input

A model that is not known to be additive, or an event that its scores do not tell, raises
`Unreadable`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from suffice.context.swap import SwapHybrids
from suffice.evaluate.additive.engine import AdditiveEngine
from suffice.evaluate.additive.readers import (
    AdditiveModel,
    AdditiveReading,
    AnswersForCells,
    read_additive,
)
from suffice.evaluate.protocol import Evaluator
from suffice.target import Target

if TYPE_CHECKING:
    from suffice.evaluate.additive.vectorised import VectorisedModel

__all__ = [
    "AdditiveEngine",
    "AdditiveModel",
    "AdditiveReading",
    "AnswersForCells",
    "additive_engine",
    "read_additive",
]


def additive_engine(
    read: AdditiveModel | VectorisedModel, target: Target, hybrids: SwapHybrids, y: bool
) -> Evaluator:
    """The engine for what was read: texts are vectors with a norm, as a rule, and no plain sums."""
    if isinstance(read, AdditiveModel) or read.is_sum:
        return AdditiveEngine(read, target, hybrids, y)
    from suffice.evaluate.additive.text_engine import TextEngine

    return TextEngine(read, target, hybrids, y)
