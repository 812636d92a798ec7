"""Choosing the evaluator: the fastest that knows the model's shape, else the black box."""

from __future__ import annotations

from typing import Any

from suffice.context.swap import SwapContext
from suffice.errors import InputError
from suffice.evaluate.blackbox import BlackBox
from suffice.evaluate.protocol import Evaluator
from suffice.target import Target

__all__ = ["ENGINES", "choose_evaluator"]

ENGINES = ("auto", "blackbox", "additive")

_LEAST_BUDGET = 1024
"""An engine checks itself against the model on a few rows; below this they would be the budget."""


def choose_evaluator(
    engine: str,
    target: Target,
    context: SwapContext,
    y: bool,
    budget: int | None = None,
) -> tuple[Evaluator, str | None]:
    """An evaluator, and a note on why no faster one serves (None where one does).

    `engine` names one outright: then it serves or an error says why it cannot.
    """
    reasons: list[str] = []
    if engine == "auto" and budget is not None and budget < _LEAST_BUDGET:
        reasons.append(f"a budget below {_LEAST_BUDGET} rows is left to the black box")
    elif engine != "blackbox":
        for name, make in _engines(engine):
            found = make(getattr(target.model, "original", None), target, context, y)
            if not isinstance(found, str):
                return found, None
            reasons.append(f"{name}: {found}")
        if engine != "auto":
            hint = "Use engine='auto' or 'blackbox'."
            raise InputError("engine", f"{engine!r} ({reasons[-1]})", "a model it knows", hint)
    # A budget is in rows, so each is asked for once whatever finding them costs.
    blackbox = BlackBox(target, context, y, distinct=None if budget is None else True)
    return blackbox, "; ".join(reasons) or None


def _engines(wanted: str) -> list[tuple[str, Any]]:
    """Names and makers, the cheapest to try first."""
    from suffice.evaluate.additive import additive_engine

    makers = [("additive", additive_engine)]
    return [(name, make) for name, make in makers if wanted in ("auto", name)]
