"""Reads lightgbm's models from their own text, which lists each tree as arrays.

Values are compared as float64 with `<=`. What a missing value is depends on the column: NaN; or,
with zero_as_missing, zero; or, where training saw none, nothing at all, and NaN is read as zero.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from suffice.engines.select_engine import Unreadable
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
from suffice.models.input_columns import to_pandas
from suffice.tables.table import Table
from suffice.typing import Counts, Reals

_CLASS_OBJECTIVES = {"binary", "multiclass"}
_SUM_OBJECTIVES = {"regression", "regression_l1", "huber", "fair", "quantile", "mape"}
"""Objectives whose prediction is the sum of leaves itself."""

_CATEGORICAL, _DEFAULT_LEFT = 1, 2
_ZERO_IS_MISSING = 1
_ZERO = float(np.float32(1e-35))
"""Largest absolute value that lightgbm takes for zero (its kZeroThreshold)."""


def read(model: Any) -> Ensemble:
    """Return the ensemble of a fitted lightgbm model; `Unreadable` for models not known here."""
    name = type(model).__name__
    bare = name == "Booster"
    if not bare and name not in ("LGBMClassifier", "LGBMRegressor"):
        raise not_a_tree_model(model)
    settings = model.params if bare else model.get_params()
    if any(key.startswith("pred_early_stop") for key in settings):
        raise Unreadable(f"{name} does not use all its trees in a prediction (pred_early_stop)")
    booster = model if bare else model.booster_
    head, *blocks = booster.model_to_string().split("\nend of trees")[0].split("\nTree=")
    about = dict(line.partition("=")[::2] for line in head.splitlines())
    objective = about.get("objective", "a function of the user's")
    classified = objective.split(" ")[0] in _CLASS_OBJECTIVES
    classifier = classified if bare else name == "LGBMClassifier"
    known = _CLASS_OBJECTIVES if classifier else _SUM_OBJECTIVES
    if objective.split(" ")[0] not in known or (not classifier and " " in objective):
        raise not_a_leaf_sum(model, f"objective={objective!r}")
    outputs = int(about["num_tree_per_iteration"])
    trees = [_tree(block, i % outputs, outputs) for i, block in enumerate(blocks)]
    divisor = float(len(trees) // outputs) if "average_output" in head else 1.0
    return join_trees(
        trees,
        partial(_float_matrix, categories=booster.pandas_categorical, zeros=_zero_columns(blocks)),
        base=np.zeros(outputs),
        divisor=divisor,
        classes=booster_classes(model, bare, outputs) if classifier else None,
        link_slack=1e-12 if classifier else 0.0,
        steepness=float(objective.partition("sigmoid:")[2] or 1.0),
        replay=LibrarySum(partial(_raw_scores, model, bare, divisor), np.zeros(outputs)),
    )


def _raw_scores(model: Any, bare: bool, divisor: float, rows: Table) -> Any:
    """Return the library's raw scores over the divisor: raw scores are sums, averaged later."""
    given = to_pandas(rows.native) if bare else rows.native
    return np.asarray(model.predict(given, raw_score=True)) / divisor


def _fields(block: str) -> dict[str, str]:
    return dict(line.partition("=")[::2] for line in block.splitlines()[1:])


def _array(text: str, kind: type = float) -> Any:
    return np.array(text.split(), dtype=kind)


def _tree(block: str, output: int, outputs: int) -> Tree:
    """Return a tree, inner nodes first, then leaves; lightgbm numbers leaf i as child -1 - i."""
    field = _fields(block)
    if field.get("is_linear", "0") != "0":
        raise Unreadable("the leaves of the model hold linear models (linear_tree)")
    leaves = _array(field["leaf_value"])
    inner = int(field["num_leaves"]) - 1
    values = np.zeros((inner + len(leaves), outputs))
    values[inner:, output] = leaves
    if inner == 0:
        none = np.full(1, -1)
        return Tree(none, none, none, np.zeros(1), np.zeros(1, dtype=bool), values)
    kind = _array(field["decision_type"], int)
    threshold = _array(field["threshold"])
    missing = np.where((kind >> 2 & 3) == 0, threshold >= 0, (kind & _DEFAULT_LEFT) > 0) & (
        (kind & _CATEGORICAL) == 0
    )
    pad = np.full(len(leaves), -1)
    children = [
        np.concatenate([np.where(side < 0, inner - 1 - side, side), pad])
        for side in (_array(field["left_child"], int), _array(field["right_child"], int))
    ]
    return Tree(
        left=children[0],
        right=children[1],
        column=np.concatenate([_array(field["split_feature"], int), pad]),
        threshold=np.concatenate([threshold, np.zeros(len(leaves))]),
        missing_left=np.concatenate([missing, np.zeros(len(leaves), dtype=bool)]),
        values=values,
        categories=_categories(field, kind, threshold),
    )


def _categories(field: dict[str, str], kind: Counts, threshold: Reals) -> dict[int, CategorySplit]:
    """Return the categorical splits; a threshold is the number of a set of 32-bit words."""
    out = {}
    for node in np.flatnonzero(kind & _CATEGORICAL).tolist():
        edges = _array(field["cat_boundaries"], int)
        words = _array(field["cat_threshold"], int).astype("<u4")
        i = int(threshold[node])
        bits = np.unpackbits(words[edges[i] : edges[i + 1]].view(np.uint8), bitorder="little")
        out[node] = CategorySplit(frozenset(np.flatnonzero(bits).tolist()))
    return out


def _zero_columns(blocks: list[str]) -> list[int]:
    """Return the columns in which zero is a missing value."""
    zero: set[int] = set()
    other: set[int] = set()
    for block in blocks:
        field = _fields(block)
        if int(field["num_leaves"]) == 1:
            continue
        kinds, columns = _array(field["decision_type"], int), _array(field["split_feature"], int)
        for kind, column in zip(kinds.tolist(), columns.tolist(), strict=True):
            (zero if (kind >> 2 & 3) == _ZERO_IS_MISSING else other).add(column)
    if zero & other:
        raise Unreadable("a zero is missing to some splits on a column and a number to others")
    return sorted(zero)


def _float_matrix(table: Table, categories: Any, zeros: list[int]) -> Reals:
    """Return the matrix that the trees read, with NaN for every zero that counts as missing."""
    listed = [j for j in range(len(table.names)) if table.categories(j) is not None]
    # lightgbm keeps the categories of a frame's columns one after another, without their names.
    known = dict(zip(listed, categories or (), strict=False))
    rows = to_float_matrix(table, categories=known)
    # Predictions keep only cells above this size, as in a sparse row: all others become zero.
    rows[np.abs(rows) <= _ZERO] = 0.0
    for column in zeros:
        rows[np.abs(rows[:, column]) <= _ZERO, column] = np.nan
    return rows
