"""Tree ensembles, exactly: the outcomes of all hybrids from one walk over the trees.

    read = read_trees(model, columns)               # once per model: an Ensemble, or why not
    engine = tree_engine(read, target, hybrids, y)  # once per input: an engine, or why not

A model that is not known, or an event that its score does not tell, is never an error: the reason
is for the provenance, and the black box serves.
"""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np

from suffice.context.swap import SwapHybrids
from suffice.evaluate.columns import split_pipeline
from suffice.evaluate.protocol import Unreadable
from suffice.evaluate.trees.engine import TreeEngine
from suffice.evaluate.trees.ensemble import Ensemble
from suffice.evaluate.trees.margins import read_event
from suffice.tables.frames import as_table
from suffice.tables.table import Table
from suffice.target import Target
from suffice.typing import Reals

__all__ = ["Ensemble", "TreeEngine", "read_trees", "tree_engine"]

_READERS = ("sklearn", "xgboost", "lightgbm", "catboost")
"""A reader is chosen by the library that the model's class comes from, which is then loaded."""

_MOST_PLAYERS = 30
"""A node keeps its player as a bit of a 32-bit number; no sweep of the whole lattice is longer."""


def read_trees(model: Any, columns: tuple[str, ...] = ()) -> Ensemble | str:
    """The trees of a fitted model, or in words why they are not read.

    `columns` names the table that the model is given, for pipelines: steps before the trees may do
    what they like to a column, as long as they keep it apart from the others.
    """
    parts = split_pipeline(model, columns)
    if isinstance(parts, str):
        return parts
    trees = _read_estimator(parts.final)
    if isinstance(trees, str) or not parts.steps:
        return trees
    source = np.arange(len(parts.owner)) if trees.source is None else trees.source

    def matrix(table: Table) -> Reals:
        return trees.matrix(as_table(parts.matrix(table)))

    return replace(trees, matrix=matrix, source=parts.owner[source].astype(np.int32))


def _read_estimator(model: Any) -> Ensemble | str:
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
    model: Any, target: Target, hybrids: SwapHybrids, y: bool, kernel: str | None = None
) -> TreeEngine | str:
    """An engine for this question, or the reason why there is none.

    `model` is the user's own object, or what `read_trees` made of it; `y` the target's value at the
    input; `kernel` "numba" or "numpy" instead of the engine's own choice.
    """
    read = model if isinstance(model, Ensemble | str) else read_trees(model, hybrids.pool.names)
    if isinstance(read, str):
        return read
    if hybrids.d > _MOST_PLAYERS:
        return f"{hybrids.d} players"
    try:
        reading = read_event(read, target.event)
        return TreeEngine(read, reading, target, hybrids, y, kernel)
    except Unreadable as reason:
        return str(reason)
    except Exception as error:  # as above: turning rows into a matrix is the library's own doing
        return f"its rows could not be read ({type(error).__name__}: {error})"
