"""Tree ensembles, exactly: the outcomes of all hybrids from one walk over the trees.

    read = read_trees(model)                          # once per model: an Ensemble, or why not
    engine, why = tree_engine(read, target, context, y)   # once per input: an engine, or why not

A model that is not known, or an event that its score does not tell, is never an error: the reason
is for the provenance, and the black box serves.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from suffice.context.swap import SwapContext
from suffice.evaluate.trees.engine import TreeEngine
from suffice.evaluate.trees.ensemble import Ensemble, Unreadable
from suffice.evaluate.trees.margins import read_event
from suffice.target import Target

__all__ = ["Ensemble", "TreeEngine", "read_trees", "tree_engine"]

_READERS = ("sklearn", "xgboost", "lightgbm", "catboost")
"""A reader is chosen by the library that the model's class comes from, which is then loaded."""

_MOST_PLAYERS = 30
"""A node keeps its player as a bit of a 32-bit number; no sweep of the whole lattice is longer."""


def read_trees(model: Any) -> Ensemble | str:
    """The trees of a fitted model, or in words why they are not read."""
    library = type(model).__module__.split(".")[0]
    if library not in _READERS:
        return f"{type(model).__name__} is not a tree model that suffice can read"
    reader = import_module(f"suffice.evaluate.trees.{library}")
    try:
        ensemble = reader.read(model)
    except Unreadable as reason:
        return str(reason)
    except Exception as error:  # readers look inside other libraries, whose insides change
        return f"{type(model).__name__} could not be read ({type(error).__name__}: {error})"
    assert isinstance(ensemble, Ensemble)
    return ensemble


def tree_engine(
    model: Any, target: Target, context: SwapContext, y: bool, kernel: str | None = None
) -> tuple[TreeEngine | None, str | None]:
    """An engine for this question, or None and the reason.

    `model` is the user's own object, or what `read_trees` made of it; `y` the target's value at the
    input; `kernel` "numba" or "numpy" instead of the engine's own choice.
    """
    read = model if isinstance(model, Ensemble | str) else read_trees(model)
    if isinstance(read, str):
        return None, read
    if context.d > _MOST_PLAYERS:
        return None, f"{context.d} players"
    try:
        reading = read_event(read, target.event)
        return TreeEngine(read, reading, target, context, y, kernel), None
    except Unreadable as reason:
        return None, str(reason)
    except Exception as error:  # as above: turning rows into a matrix is the library's own doing
        return None, f"its rows could not be read ({type(error).__name__}: {error})"
