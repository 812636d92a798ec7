"""Reads catboost's trees, symmetric or not, from its own JSON.

A split on a number tests `value > border` in float32. A split on a category tests for one category,
or compares a statistic that the model keeps for each category. Both read one column, and catboost
itself evaluates them: a model of stumps, one for each such split, is made from the same JSON, and
its leaf indices are the results. So hashing and counting of categories, and the treatment of unseen
ones, are not reimplemented. Statistics of several columns together are not read.

A symmetric tree has the same test at every node of a level; the results, the first test lowest, are
the bits of the leaf's number. It becomes an ordinary tree here, whose equal tests are then numbered
once.
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

from suffice.engines.pipeline_columns import describe_model
from suffice.engines.select_engine import Unreadable
from suffice.engines.trees.ensemble import (
    Ensemble,
    Tree,
    class_labels,
    join_trees,
    not_a_leaf_sum,
    not_a_tree_model,
    to_float_matrix,
)
from suffice.formatting import join_words
from suffice.tables.table import Table
from suffice.typing import Counts, Reals

_CLASS_LOSSES = {"Logloss", "CrossEntropy", "MultiClass", "MultiClassOneVsAll"}
_SUM_LOSSES = {"RMSE", "MAE", "Quantile", "Huber", "LogCosh", "MAPE"}
"""Losses whose prediction is the sum of leaves itself."""


def read(model: Any) -> Ensemble:
    """Return the ensemble of a fitted catboost model; `Unreadable` for models not known here."""
    name = type(model).__name__
    if name not in ("CatBoostClassifier", "CatBoostRegressor", "CatBoost"):
        raise not_a_tree_model(model)
    loss = str(model.get_all_params().get("loss_function", "")).split(":")[0]
    # A plain `CatBoost` is a classifier if its loss is one of classes, as in `adapt`.
    classifier = name == "CatBoostClassifier" or (name == "CatBoost" and loss in _CLASS_LOSSES)
    if loss not in (_CLASS_LOSSES if classifier else _SUM_LOSSES):
        raise not_a_leaf_sum(model, f"loss_function={loss!r}")
    if classifier and model._object._get_binclass_probability_threshold() != 0.5:
        raise Unreadable(f"{name} has a probability threshold of its own")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        content = json.loads(path.read_text())
    scale, bias = content["scale_and_bias"]
    questions = _SplitColumns(model, content)
    if "oblivious_trees" in content:
        trees = [questions.symmetric(t, len(bias), scale) for t in content["oblivious_trees"]]
    else:
        trees = [questions.nested(tree, len(bias), scale) for tree in content["trees"]]
    return join_trees(
        trees,
        questions.matrix(),
        base=np.array(bias, dtype=np.float64),
        classes=class_labels(model.classes_) if classifier else None,
        link_slack=1e-12 if classifier else 0.0,
        source=questions.source(),
    )


class _SplitColumns:
    """A model's splits as tests on columns of a matrix.

    The matrix has the table's columns first. Then it has, for each category that a split tests for,
    whether the row has it; and for each statistic of categories, the number of the splits' borders
    that the row's statistic exceeds.
    """

    def __init__(self, model: Any, content: dict[str, Any]) -> None:
        self._model = model
        self._content = content
        about = content["features_info"]
        self._floats = about.get("float_features", [])
        self._categorical = about.get("categorical_features", [])
        self._width = len(model.feature_names_)
        # Splits are numbered by borders of numbers, then single categories, then statistics.
        first = sum(len(column["borders"] or ()) for column in self._floats)
        first += sum(len(column.get("values", ())) for column in self._categorical)
        statistics = about.get("ctrs", [])
        of_split = [i for i, kept in enumerate(statistics) for _ in kept["borders"]]
        self._places: dict[int, tuple[int, float]] = {}
        """By number of a split on categories: its column of the matrix, and the threshold there."""
        self._columns: list[tuple[int, list[dict[str, Any]]]] = []
        """Columns after the table's: the source column in the table, and the splits on it."""
        asked: dict[tuple[str, int], dict[int, dict[str, Any]]] = {}
        for split in _splits(content):
            kind, number = split["split_type"], split["split_index"]
            if kind != "FloatFeature":
                what = of_split[number - first] if kind == "OnlineCtr" else number
                asked.setdefault((kind, what), {})[number] = split
        for (kind, what), found in asked.items():
            splits = sorted(found.values(), key=lambda split: float(split.get("border", 0.0)))
            for rank, split in enumerate(splits):
                place = self._width + len(self._columns)
                self._places[split["split_index"]] = place, rank + 0.5
            kept = statistics[what] if kind == "OnlineCtr" else None
            self._columns.append((self._column(splits[0], kept), splits))

    def symmetric(self, tree: dict[str, Any], outputs: int, scale: float) -> Tree:
        """Return a symmetric tree, which has one test for each level."""
        splits = tree["splits"] or []
        depth = len(splits)
        level = np.repeat(np.arange(depth), 1 << np.arange(depth))
        inner, leaves = len(level), 1 << depth
        first = 2 * np.arange(inner) + 1
        pad = np.full(leaves, -1)
        values = np.zeros((inner + leaves, outputs))
        # The first test is the highest bit of a leaf's place here, and the lowest of its number.
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
        """Return a tree of grow_policy Depthwise or Lossguide, whose JSON nests nodes."""
        nodes, left, right = [tree], [-1], [-1]
        for number, node in enumerate(nodes):  # the list grows during the loop
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
        """Return the column that a split tests, its threshold, and whether missing values go
        left."""
        if split["split_type"] == "FloatFeature":
            about = self._floats[split["float_feature_index"]]
            missing_left = about["nan_value_treatment"] != "AsTrue"
            return about["flat_feature_index"], float(np.float32(split["border"])), missing_left
        return *self._places[split["split_index"]], True

    def _column(self, split: dict[str, Any], statistic: dict[str, Any] | None) -> int:
        """Return the table's column that decides a split on categories."""
        if split["split_type"] == "OneHotFeature":
            return int(self._categorical[split["cat_feature_index"]]["flat_feature_index"])
        if statistic is None:
            kind = split["split_type"]
            raise Unreadable(
                f"{describe_model(self._model)} has splits of the kind {kind}, not read here"
            )
        columns = {
            self._categorical[part["cat_feature_index"]]["flat_feature_index"]
            if "cat_feature_index" in part
            else self._floats[part["float_feature_index"]]["flat_feature_index"]
            for part in statistic["elements"]
        }
        if len(columns) > 1:
            names = join_words(repr(str(self._model.feature_names_[j])) for j in sorted(columns))
            raise Unreadable(
                f"{describe_model(self._model)} keeps statistics of several columns together "
                f"({names}): fit it with max_ctr_complexity=1"
            )
        return int(columns.pop())

    def source(self) -> Counts | None:
        """Return the table's column for each column of the matrix."""
        if not self._columns:
            return None
        return np.array([*range(self._width), *(column for column, _ in self._columns)])

    def matrix(self) -> Any:
        """Return the function from rows to the matrix."""
        if not self._categorical:
            return partial(to_float_matrix, single=True)
        floats = [int(column["flat_feature_index"]) for column in self._floats]
        sizes = [len(splits) for _, splits in self._columns]
        return partial(_float_matrix, floats=floats, stumps=self._stumps(), sizes=sizes)

    def _stumps(self) -> Any:
        """Return a model with a stump for each split on categories; None if there are none."""
        if not self._columns:
            return None
        trees = [
            {"leaf_values": [0, 1], "leaf_weights": [1, 1], "splits": [split]}
            for _, splits in self._columns
            for split in splits
        ]
        kept = {key: part for key, part in self._content.items() if key != "trees"}
        kept |= {"oblivious_trees": trees, "scale_and_bias": [1, [0]]}
        stumps = import_module("catboost").CatBoost()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "stumps.json"
            path.write_text(json.dumps(kept))
            stumps.load_model(str(path), format="json")
        return stumps


def _splits(content: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the splits of all trees, with repetitions."""
    for tree in content.get("oblivious_trees", ()):
        yield from tree["splits"] or ()
    nodes = list(content.get("trees", ()))
    while nodes:
        node = nodes.pop()
        if "split" in node:
            yield node["split"]
            nodes += [node["left"], node["right"]]


def _float_matrix(table: Table, floats: list[int], stumps: Any, sizes: list[int]) -> Reals:
    """Return the matrix that the trees read: numbers, zeros for categories, and their tests."""
    rows = np.zeros((len(table), len(table.names)))
    if floats:
        rows[:, floats] = to_float_matrix(table.select(floats), single=True)
    if stumps is None:
        return rows
    answers = stumps.calc_leaf_indexes(table.native)
    starts = np.cumsum([0, *sizes[:-1]])
    return np.concatenate([rows, np.add.reduceat(answers, starts, axis=1)], axis=1)
