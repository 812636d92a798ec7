"""The tree engine: exact outcomes of all hybrids from the trees of a forest or boosted ensemble.

    trees = TreeModel(read_trees(model, columns))   # once per model
    engine = TreeEngine(trees, target, hybrids, y)  # once per input

A model that is not known, or an event that its score does not tell, raises `Unreadable`: the reason
is for the provenance, and the black box serves.
"""

from suffice.engines.trees.ensemble import Ensemble
from suffice.engines.trees.tree_engine import TreeEngine
from suffice.engines.trees.tree_model import TreeModel, read_trees

__all__ = ["Ensemble", "TreeEngine", "TreeModel", "read_trees"]
