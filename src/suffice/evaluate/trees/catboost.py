"""Reads catboost's oblivious trees on numeric columns from its own JSON.

An oblivious tree asks the same question at every node of a level, `value > border` in float32; the
answers, first question lowest, are the bits of the leaf's number. It is laid out here as an
ordinary tree, whose equal questions are then numbered once.
"""

from __future__ import annotations

import json
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from suffice.evaluate.protocol import Unreadable
from suffice.evaluate.trees.ensemble import Ensemble
from suffice.evaluate.trees.reading import (
    Tree,
    join_trees,
    labels_of,
    not_a_tree_model,
    not_the_sum,
    numbers,
)

__all__ = ["read"]

_CLASSIFIED = {"Logloss", "CrossEntropy", "MultiClass", "MultiClassOneVsAll"}
_PLAIN = {"RMSE", "MAE", "Quantile", "Huber", "LogCosh", "MAPE"}
"""Losses whose prediction is the sum itself."""


def read(model: Any) -> Ensemble:
    """The ensemble behind a fitted catboost model; Unreadable for those not known here."""
    name = type(model).__name__
    if name not in ("CatBoostClassifier", "CatBoostRegressor"):
        raise not_a_tree_model(model)
    classifier = name == "CatBoostClassifier"
    loss = str(model.get_all_params().get("loss_function", "")).split(":")[0]
    if loss not in (_CLASSIFIED if classifier else _PLAIN):
        raise not_the_sum(model, f"loss_function={loss!r}")
    if classifier and model.get_probability_threshold() != 0.5:
        raise Unreadable(f"{name} has a probability threshold of its own")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        content = json.loads(path.read_text())
    if "oblivious_trees" not in content:
        raise Unreadable(f"{name} grew trees that are not symmetric (grow_policy)")
    columns = content["features_info"]["float_features"]
    scale, bias = content["scale_and_bias"]
    trees = [_tree(tree, columns, len(bias), scale) for tree in content["oblivious_trees"]]
    return join_trees(
        trees,
        partial(numbers, single=True),
        base=np.array(bias, dtype=np.float64),
        classes=labels_of(model.classes_) if classifier else None,
        link_slack=1e-12 if classifier else 0.0,
    )


def _tree(tree: dict[str, Any], columns: list[dict[str, Any]], outputs: int, scale: float) -> Tree:
    splits = tree["splits"] or []
    if any(split["split_type"] != "FloatFeature" for split in splits):
        raise Unreadable("the model splits on categories, which are not read from catboost")
    asked = [columns[split["float_feature_index"]] for split in splits]
    depth = len(splits)
    level = np.repeat(np.arange(depth), 1 << np.arange(depth))
    inner, leaves = len(level), 1 << depth
    first = 2 * np.arange(inner) + 1
    pad = np.full(leaves, -1)
    values = np.zeros((inner + leaves, outputs))
    # A leaf's place among the leaves has the first answer as its highest bit, its number as lowest.
    number = sum((np.arange(leaves) >> i & 1) << (depth - 1 - i) for i in range(depth))
    values[inner:] = scale * np.array(tree["leaf_values"]).reshape(leaves, outputs)[number]

    def spread(of_split: list[Any], filler: Any) -> Any:
        return np.concatenate([np.array(of_split)[level], np.full(leaves, filler)])

    if depth == 0:
        none = np.full(1, -1)
        return Tree(none, none, none, np.zeros(1), np.zeros(1, dtype=bool), values)
    borders = [float(np.float32(split["border"])) for split in splits]
    return Tree(
        left=np.concatenate([first, pad]),
        right=np.concatenate([first + 1, pad]),
        column=spread([c["flat_feature_index"] for c in asked], -1),
        threshold=spread(borders, 0.0),
        missing_left=spread([c["nan_value_treatment"] != "AsTrue" for c in asked], False),
        values=values,
    )
