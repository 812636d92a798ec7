"""Evaluators: the outcomes of hybrids, by asking the model or by knowing its shape.

An evaluator is handed to the search, which never chooses one. All of them give the black box's own
outcomes, exactly; they differ in what that costs.
"""

from suffice.evaluate.blackbox import BlackBox
from suffice.evaluate.choice import Choice
from suffice.evaluate.protocol import (
    CubeEvaluator,
    Evaluator,
    Idle,
    LatticeEvaluator,
    ModelReader,
    OneWayEvaluator,
    Tick,
    Unreadable,
)
from suffice.evaluate.registry import register_reader

__all__ = [
    "BlackBox",
    "Choice",
    "CubeEvaluator",
    "Evaluator",
    "Idle",
    "LatticeEvaluator",
    "ModelReader",
    "OneWayEvaluator",
    "Tick",
    "Unreadable",
    "register_reader",
]
