"""Reads xgboost's models, its boosters and their scikit-learn wrappers, from their own JSON.

xgboost compares float32 with `<`, and sums leaves in float32, which is why its slack is wider than
the other libraries'. Its base score has been kept in different forms by different versions, so it
is taken from one prediction instead: the margin of a row of zeros, less the row's leaves.

A model that was fitted on a frame keeps the names of its categories, and numbers the categories of
other frames by them. How it treats a category that it has not seen depends on xgboost's version
(3.2 takes a text for the next in alphabetical order), so the model itself predicts rows with one. A
tree of `booster="dart"` counts with the weight that dropout left it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from importlib import import_module
from itertools import pairwise
from typing import Any

import numpy as np

from suffice.engines.select_engine import Unreadable, unreadable_on_error
from suffice.engines.trees.ensemble import (
    CategorySplit,
    Ensemble,
    LibrarySum,
    Tree,
    booster_classes,
    join_trees,
    not_a_leaf_sum,
    not_a_tree_model,
    to_float_matrix,
)
from suffice.engines.trees.tree_model import leaf_indices
from suffice.tables.table import Table
from suffice.typing import Reals

_CLASSIFIERS = ("XGBClassifier", "XGBRFClassifier")
_REGRESSORS = ("XGBRegressor", "XGBRFRegressor")
_CLASS_OBJECTIVES = {"binary:logistic", "multi:softprob"}
_SUM_OBJECTIVES = {
    "reg:squarederror",
    "reg:absoluteerror",
    "reg:pseudohubererror",
    "reg:quantileerror",
}
"""Objectives whose prediction is the sum of leaves itself."""


def read(model: Any) -> Ensemble:
    """Return the ensemble of a fitted xgboost model; `Unreadable` for models not known here."""
    name = type(model).__name__
    bare = name == "Booster"
    if not bare and name not in _CLASSIFIERS + _REGRESSORS:
        raise not_a_tree_model(model)
    booster = model if bare else model.get_booster()
    whole = json.loads(bytes(booster.save_raw("json")))
    learner = whole["learner"]
    grown, objective = learner["gradient_booster"], learner["objective"]["name"]
    classifier = objective in _CLASS_OBJECTIVES if bare else name in _CLASSIFIERS
    if grown["name"] not in ("gbtree", "dart"):
        raise not_a_leaf_sum(model, f"booster={grown['name']!r}")
    forest = (grown["gbtree"] if grown["name"] == "dart" else grown)["model"]
    if objective not in (_CLASS_OBJECTIVES if classifier else _SUM_OBJECTIVES):
        raise not_a_leaf_sum(model, f"objective={objective!r}")
    # A booster by itself uses all its rounds; the wrappers stop at the best.
    rounds = (0, 0) if bare else model._get_iteration_range(None)
    used = _trees_used(rounds, forest)
    outputs = max(1, int(learner["learner_model_param"]["num_class"]))
    if int(learner["learner_model_param"].get("num_target", 1)) > 1:
        raise Unreadable(f"{name} predicts several outputs")
    weights = grown.get("weight_drop", [1.0] * len(forest["trees"]))
    groups = forest["tree_info"]
    trees = [
        _tree(tree, groups[i], outputs, weights[i]) for i, tree in enumerate(forest["trees"][:used])
    ]
    ensemble = join_trees(
        trees,
        partial(
            _float_matrix, categories=_categories(forest), missing=np.nan if bare else model.missing
        ),
        base=np.zeros(outputs),
        classes=booster_classes(model, bare, outputs) if classifier else None,
        unit=2.0**-24,
        link_slack=2e-6 if classifier else 0.0,
    )
    based = replace(ensemble, base=_base(booster, rounds, ensemble))
    return replace(based, replay=_replay(booster, rounds, ensemble.matrix, whole))


def _trees_used(rounds: tuple[int, int], forest: dict[str, Any]) -> int:
    """Return the number of trees that predictions use: after early stopping, up to the best."""
    return int(forest["iteration_indptr"][rounds[1]]) if rounds[1] else len(forest["trees"])


def _categories(forest: dict[str, Any]) -> dict[int, list[Any]]:
    """Return by column the names of its categories, in the order of their numbers."""
    out: dict[int, list[Any]] = {}
    for column, kept in enumerate(forest.get("cats", {}).get("enc", ())):
        values = kept["values"]
        if values and "offsets" in kept:  # texts, one after another
            text, ends = bytes(v & 255 for v in values), kept["offsets"]
            values = [text[a:b].decode() for a, b in pairwise(ends)]
        if values:
            out[column] = values
    return out


def _tree(tree: dict[str, Any], group: int, outputs: int, weight: float) -> Tree:
    left = np.array(tree["left_children"], dtype=np.int64)
    condition = np.array(tree["split_conditions"], dtype=np.float32)
    if int(tree["tree_param"]["size_leaf_vector"]) > 1:
        raise Unreadable("the leaves of the model hold several outputs")
    values = np.zeros((len(left), outputs))
    values[:, group] = weight * condition.astype(np.float64)
    categories = {}
    listed = zip(
        tree["categories_nodes"],
        tree["categories_segments"],
        tree["categories_sizes"],
        strict=True,
    )
    for node, start, size in listed:
        members = frozenset(int(c) for c in tree["categories"][start : start + size])
        categories[int(node)] = CategorySplit(members, left=False)
    return Tree(
        left=left,
        right=np.array(tree["right_children"], dtype=np.int64),
        column=np.array(tree["split_indices"], dtype=np.int64),
        threshold=np.nextafter(condition, np.float32(-np.inf)).astype(np.float64),
        missing_left=np.array(tree["default_left"], dtype=bool),
        values=values,
        categories=categories,
    )


def _base(booster: Any, rounds: tuple[int, int], ensemble: Ensemble) -> Reals:
    row = np.zeros((1, booster.num_features()))
    leaves = ensemble.values[leaf_indices(ensemble, row)[:, 0]].sum(axis=0)
    return np.asarray(np.ravel(_margins(booster, rounds, row)) - leaves)


def _margins(booster: Any, rounds: tuple[int, int], rows: Reals) -> Any:
    """Return the library's own sums for rows of the trees' matrix."""
    xgboost = import_module("xgboost")
    data = xgboost.DMatrix(
        rows.astype(np.float32), missing=np.nan, feature_types=booster.feature_types
    )
    return booster.predict(
        data,
        output_margin=True,
        validate_features=False,
        iteration_range=rounds,
    )


def _replay(
    booster: Any, rounds: tuple[int, int], matrix: Callable[[Table], Reals], whole: dict[str, Any]
) -> LibrarySum | None:
    """Return how the library adds up: tree by tree to the base, in float32; None if unknown.

    Threads share rows, so they do not change the order. The base is the prediction of the same
    model without trees: they are removed from `whole` here. A `dart` booster adds in another order,
    and so may other devices.
    """
    learner, grown = whole["learner"], whole["learner"]["gradient_booster"]
    with suppress(Unreadable), unreadable_on_error("the booster keeps its settings otherwise"):
        device = json.loads(booster.save_config())["learner"]["generic_param"]["device"]
        if grown["name"] != "gbtree" or device != "cpu":
            return None
        forest = grown["model"]
        forest["trees"], forest["tree_info"], forest["iteration_indptr"] = [], [], [0]
        forest["gbtree_model_param"]["num_trees"] = "0"
        learner["learner_model_param"]["boost_from_average"] = "0"
        bare = import_module("xgboost").Booster(model_file=bytearray(json.dumps(whole).encode()))
        base = _margins(bare, (0, 0), np.zeros((1, booster.num_features())))
        return LibrarySum(partial(_margins_of, booster, rounds, matrix), np.ravel(base))
    return None  # the model predicts hybrids in doubt instead


def _margins_of(
    booster: Any, rounds: tuple[int, int], matrix: Callable[[Table], Reals], rows: Table
) -> Any:
    return _margins(booster, rounds, matrix(rows))


def _float_matrix(table: Table, categories: dict[int, list[Any]], missing: Any) -> Reals:
    """Return the matrix that the trees read, with NaN for the user's own missing value."""
    rows = to_float_matrix(table, single=True, categories=categories, unseen_is_missing=False)
    if missing is not None and not np.isnan(missing):
        rows[rows == np.float32(missing)] = np.nan
    return rows
