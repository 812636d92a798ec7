"""Reads catboost's trees, symmetric or not, from its own JSON.

A split on a number asks `value > border` in float32. A split on a category asks whether it is one
category (few of them), or compares a statistic that the model keeps of each. Both are functions of
one column, and catboost itself answers them: a model of stumps, one for each such split, is made of
the same JSON, and the leaves that it gives to rows are the answers. So nothing is reimplemented of
how categories are hashed and counted, nor of what becomes of one that was never seen. A statistic
of several columns together is no function of one, and is not read.

A symmetric tree asks the same question at every node of a level; the answers, first question
lowest, are the bits of the leaf's number. It is laid out here as an ordinary tree, whose equal
questions are then numbered once.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from suffice.evaluate.columns import kind_of
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
from suffice.tables.table import Table
from suffice.typing import Counts, Reals
from suffice.wording import listed

__all__ = ["read"]

_CLASSIFIED = {"Logloss", "CrossEntropy", "MultiClass", "MultiClassOneVsAll"}
_PLAIN = {"RMSE", "MAE", "Quantile", "Huber", "LogCosh", "MAPE"}
"""Losses whose prediction is the sum itself."""


def read(model: Any) -> Ensemble:
    """The ensemble behind a fitted catboost model; Unreadable for those not known here."""
    name = type(model).__name__
    if name not in ("CatBoostClassifier", "CatBoostRegressor", "CatBoost"):
        raise not_a_tree_model(model)
    loss = str(model.get_all_params().get("loss_function", "")).split(":")[0]
    # By itself a model is read by its loss, as `adapt` reads it.
    classifier = name == "CatBoostClassifier" or (name == "CatBoost" and loss in _CLASSIFIED)
    if loss not in (_CLASSIFIED if classifier else _PLAIN):
        raise not_the_sum(model, f"loss_function={loss!r}")
    if classifier and model._object._get_binclass_probability_threshold() != 0.5:
        raise Unreadable(f"{name} has a probability threshold of its own")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        content = json.loads(path.read_text())
    scale, bias = content["scale_and_bias"]
    questions = _Questions(model, content)
    if "oblivious_trees" in content:
        trees = [questions.symmetric(t, len(bias), scale) for t in content["oblivious_trees"]]
    else:
        trees = [questions.nested(tree, len(bias), scale) for tree in content["trees"]]
    return join_trees(
        trees,
        questions.matrix(),
        base=np.array(bias, dtype=np.float64),
        classes=labels_of(model.classes_) if classifier else None,
        link_slack=1e-12 if classifier else 0.0,
        source=questions.source(),
    )


class _Questions:
    """A model's splits, as questions to columns of a matrix.

    The matrix has the table's columns first, and then, for each split on categories, a column of
    its answers.
    """

    def __init__(self, model: Any, content: dict[str, Any]) -> None:
        self._model = model
        self._content = content
        about = content["features_info"]
        self._floats = about.get("float_features", [])
        self._categorical = about.get("categorical_features", [])
        self._width = len(model.feature_names_)
        self._asked: dict[int, tuple[int, dict[str, Any]]] = {}
        """By number of a split on categories: its place among them, and the split."""
        self._statistics = dict(enumerate(_statistics(about), start=_first_statistic(about)))

    def symmetric(self, tree: dict[str, Any], outputs: int, scale: float) -> Tree:
        """A tree with one question for each level."""
        splits = tree["splits"] or []
        depth = len(splits)
        level = np.repeat(np.arange(depth), 1 << np.arange(depth))
        inner, leaves = len(level), 1 << depth
        first = 2 * np.arange(inner) + 1
        pad = np.full(leaves, -1)
        values = np.zeros((inner + leaves, outputs))
        # A leaf's place among the leaves has the first answer as highest bit, its number as lowest.
        number = sum((np.arange(leaves) >> i & 1) << (depth - 1 - i) for i in range(depth))
        values[inner:] = scale * np.array(tree["leaf_values"]).reshape(leaves, outputs)[number]
        asked = np.array([self._ask(split) for split in splits]).reshape(depth, 3)[level]
        column, threshold, missing = np.concatenate([asked, np.zeros((leaves, 3))]).T
        return Tree(
            left=np.concatenate([first, pad]),
            right=np.concatenate([first + 1, pad]),
            column=column.astype(np.int64),
            threshold=threshold,
            missing_left=missing > 0,
            values=values,
        )

    def nested(self, tree: dict[str, Any], outputs: int, scale: float) -> Tree:
        """A tree of grow_policy Depthwise or Lossguide: nodes within nodes."""
        nodes, left, right = [tree], [-1], [-1]
        for number, node in enumerate(nodes):  # which grows on the way
            if "split" in node:
                left[number], right[number] = len(nodes), len(nodes) + 1
                nodes += [node["left"], node["right"]]
                left += [-1, -1]
                right += [-1, -1]
        asked = [self._ask(n["split"]) if "split" in n else (0, 0.0, False) for n in nodes]
        column, threshold, missing = np.array(asked, dtype=np.float64).T
        values = [np.ravel(node.get("value", np.zeros(outputs))) for node in nodes]
        return Tree(
            left=np.array(left),
            right=np.array(right),
            column=column.astype(np.int64),
            threshold=threshold,
            missing_left=missing > 0,
            values=scale * np.array(values),
        )

    def _ask(self, split: dict[str, Any]) -> tuple[int, float, bool]:
        """The column that a split asks, its threshold, and whether missing values go left."""
        if split["split_type"] == "FloatFeature":
            about = self._floats[split["float_feature_index"]]
            missing_left = about["nan_value_treatment"] != "AsTrue"
            return about["flat_feature_index"], float(np.float32(split["border"])), missing_left
        number = split["split_index"]
        if number not in self._asked:
            self._column(split)
            self._asked[number] = len(self._asked), split
        return self._width + self._asked[number][0], 0.5, True

    def _column(self, split: dict[str, Any]) -> int:
        """The table's column that tells a split on categories."""
        if split["split_type"] == "OneHotFeature":
            return int(self._categorical[split["cat_feature_index"]]["flat_feature_index"])
        if split["split_type"] != "OnlineCtr":
            kind = split["split_type"]
            raise Unreadable(f"{kind_of(self._model)} has splits of the kind {kind}, not read here")
        columns = {
            self._categorical[part["cat_feature_index"]]["flat_feature_index"]
            if "cat_feature_index" in part
            else self._floats[part["float_feature_index"]]["flat_feature_index"]
            for part in self._statistics[split["split_index"]]["elements"]
        }
        if len(columns) > 1:
            names = listed(repr(str(self._model.feature_names_[j])) for j in sorted(columns))
            raise Unreadable(
                f"{kind_of(self._model)} keeps statistics of columns together ({names}), which no "
                "column tells by itself: max_ctr_complexity=1 keeps them apart"
            )
        return int(columns.pop())

    def source(self) -> Counts | None:
        """For each column of the matrix, the table's."""
        if not self._asked:
            return None
        of_answers = [self._column(split) for _, split in self._asked.values()]
        return np.concatenate([np.arange(self._width), of_answers]).astype(np.int64)

    def matrix(self) -> Any:
        """The function from rows to the matrix."""
        if not self._categorical:
            return partial(numbers, single=True)
        floats = [int(column["flat_feature_index"]) for column in self._floats]
        return partial(_rows, floats=floats, stumps=self._stumps())

    def _stumps(self) -> Any:
        """A model whose trees are the splits on categories, one each; None where there is none."""
        if not self._asked:
            return None
        trees = [
            {"leaf_values": [0, 1], "leaf_weights": [1, 1], "splits": [split]}
            for _, split in self._asked.values()
        ]
        kept = {key: part for key, part in self._content.items() if key != "trees"}
        kept |= {"oblivious_trees": trees, "scale_and_bias": [1, [0]]}
        stumps = import_module("catboost").CatBoost()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "stumps.json"
            path.write_text(json.dumps(kept))
            stumps.load_model(str(path), format="json")
        return stumps


def _statistics(about: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Statistics of categories, once for each of their borders, in the order of split numbers."""
    for statistic in about.get("ctrs", []):
        for _ in statistic["borders"]:
            yield statistic


def _first_statistic(about: dict[str, Any]) -> int:
    """Splits are numbered by borders of numbers, then single categories, then statistics."""
    numbered = sum(len(f["borders"] or ()) for f in about.get("float_features", []))
    return numbered + sum(len(c.get("values", ())) for c in about.get("categorical_features", []))


def _rows(table: Table, floats: list[int], stumps: Any) -> Reals:
    """The table as the trees see it: numbers, nothing for categories, and answers about them."""
    rows = np.zeros((len(table), len(table.names)))
    if floats:
        rows[:, floats] = numbers(table.select(floats), single=True)
    if stumps is None:
        return rows
    return np.concatenate([rows, stumps.calc_leaf_indexes(table.native)], axis=1)
