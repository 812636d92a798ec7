"""Engines and the black box: evaluators of hybrids, with or without calls of the model.

An evaluator is handed to the search, which never chooses one. All of them give the black box's own
outcomes, exactly; they differ in what that costs.
"""

from suffice.engines.blackbox import BlackBox
from suffice.engines.evaluator import (
    CompiledEvaluator,
    CubeEvaluator,
    Evaluator,
    IdlePlayerEvaluator,
    IdleReason,
    LatticeEvaluator,
    MonotoneEvaluator,
    ProgressCallback,
    register_reader,
)
from suffice.engines.select_engine import EngineSelector, Unreadable

__all__ = [
    "BlackBox",
    "CompiledEvaluator",
    "CubeEvaluator",
    "EngineSelector",
    "Evaluator",
    "IdlePlayerEvaluator",
    "IdleReason",
    "LatticeEvaluator",
    "MonotoneEvaluator",
    "ProgressCallback",
    "Unreadable",
    "register_reader",
]
