"""Reads scikit-learn's own trees: single trees, forests, and both kinds of gradient boosting.

Only classes of scikit-learn itself are read: a subclass may predict as it likes. Rows are turned
into a matrix by the model's own validation, or by the cast that it amounts to, so that its rounding
to float32 (all but HistGradientBoosting) and its encoding of categories are the model's.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from suffice.engines.evaluator import has_patched_methods
from suffice.engines.select_engine import Unreadable
from suffice.engines.trees.ensemble import (
    ZERO_IS_SECOND_CLASS,
    CategorySplit,
    Ensemble,
    LibrarySum,
    Tree,
    class_labels,
    join_trees,
    not_a_leaf_sum,
    not_a_tree_model,
)
from suffice.tables.backends import PandasTable
from suffice.tables.table import Table
from suffice.typing import Counts, Reals

_META_ESTIMATOR_NAMES = (
    *("BaggingClassifier", "BaggingRegressor", "VotingClassifier", "VotingRegressor"),
    *("AdaBoostClassifier", "AdaBoostRegressor", "CalibratedClassifierCV"),
)
"""Models that are made of models."""


def read(model: Any, columns: tuple[str, ...]) -> Ensemble:
    """Return the ensemble of a fitted scikit-learn model; `Unreadable` for models not known here.

    `columns` are the names of the table's columns, for members that are pipelines.
    """
    name = type(model).__name__
    if getattr(model, "n_outputs_", 1) != 1:
        raise Unreadable(f"{name} predicts several outputs")
    if name in ("DecisionTreeClassifier", "ExtraTreeClassifier"):
        return _forest(model, [model], classes=True)
    if name in ("DecisionTreeRegressor", "ExtraTreeRegressor"):
        return _forest(model, [model], classes=False)
    if name in ("RandomForestClassifier", "ExtraTreesClassifier"):
        return _forest(model, model.estimators_, classes=True)
    if name in ("RandomForestRegressor", "ExtraTreesRegressor"):
        return _forest(model, model.estimators_, classes=False)
    if name in ("GradientBoostingClassifier", "GradientBoostingRegressor"):
        return _boosting(model)
    if name in ("HistGradientBoostingClassifier", "HistGradientBoostingRegressor"):
        return _histogram_boosting(model)
    if name in _META_ESTIMATOR_NAMES:
        from suffice.engines.trees import meta_estimators as compositions

        return compositions.read(model, columns)
    raise not_a_tree_model(model)


def _forest(model: Any, estimators: list[Any], classes: bool) -> Ensemble:
    """Return a forest: class shares or means of the leaves, averaged over the trees in float64."""
    if any(has_patched_methods(e) for e in estimators):
        raise Unreadable(f"a method of a tree of this {type(model).__name__} was replaced")
    trees = [_tree(e.tree_, e.tree_.value[:, 0, :]) for e in estimators]
    return join_trees(
        trees,
        partial(_float32_matrix, model),
        base=np.zeros(trees[0].values.shape[1]),
        divisor=float(len(trees)),
        leaf_answers=hasattr(model, "tree_"),
        classes=class_labels(model.classes_) if classes else None,
        single=True,
        shares=classes,
        replay=_forest_replay(model, trees[0].values.shape[1], classes),
    )


def _forest_replay(model: Any, outputs: int, classes: bool) -> LibrarySum | None:
    """Trees are added to zero one by one; by several threads, in the order in which they finish."""
    if hasattr(model, "tree_") or model.n_jobs not in (None, 1):
        return None
    scores = model.predict_proba if classes else model.predict
    return LibrarySum(partial(_own_scores, scores), np.zeros(outputs))


def _boosting(model: Any) -> Ensemble:
    """Return a boosted model: leaf means times the learning rate, added to a constant."""
    constant = type(model.init_).__module__ == "sklearn.dummy"
    if not constant and model.init_ != "zero":
        raise Unreadable(f"{type(model).__name__} starts from another model (init)")
    stages, outputs = model.estimators_.shape
    trees = []
    for stage in range(stages):
        for output in range(outputs):
            tree = model.estimators_[stage, output].tree_
            values = np.zeros((tree.node_count, outputs))
            values[:, output] = model.learning_rate * tree.value[:, 0, 0]
            trees.append(_tree(tree, values))
    row = np.zeros((1, model.n_features_in_), dtype=np.float32)
    base = np.asarray(model._raw_predict_init(row)[0], dtype=np.float64)
    classes = getattr(model, "classes_", None)
    return join_trees(
        trees,
        partial(_float32_matrix, model),
        base=base,
        classes=None if classes is None else class_labels(classes),
        tie_to_first=outputs > 1,  # the binary margin is read as >= 0
        link_slack=1e-12,
        single=True,
        steepness=2.0 if model.loss == "exponential" else 1.0,
        replay=LibrarySum(_margin_of(model), base, ZERO_IS_SECOND_CLASS),
    )


def _margin_of(model: Any) -> Callable[[Table], Any]:
    """Return the function that gives a boosted model's scores before any link."""
    margin = model.decision_function if hasattr(model, "classes_") else model.predict
    return partial(_own_scores, margin)


def _own_scores(scores: Callable[[Any], Any], rows: Table) -> Any:
    return scores(rows.native)


def _tree(tree: Any, values: Reals) -> Tree:
    nodes = tree.node_count
    missing = getattr(tree, "missing_go_to_left", None)
    return Tree(
        left=tree.children_left,
        right=tree.children_right,
        column=tree.feature,
        threshold=tree.threshold,
        missing_left=np.zeros(nodes, dtype=bool) if missing is None else missing.astype(bool),
        values=np.asarray(values, dtype=np.float64),
    )


def _float32_matrix(model: Any, table: Table) -> Reals:
    """The table as float32, by the model's own checks, widened."""
    if (plain := _plain_float32_matrix(model, table)) is not None:
        return plain
    if hasattr(model, "tree_"):
        rows = model._validate_X_predict(table.native, True)
    elif hasattr(model, "_validate_X_predict"):
        rows = model._validate_X_predict(table.native)
    else:
        from sklearn.utils.validation import validate_data

        rows = validate_data(model, table.native, dtype=np.float32, reset=False)
    return np.asarray(rows, dtype=np.float64)


def _plain_float32_matrix(model: Any, table: Table) -> Reals | None:
    """Return the matrix of a frame that the model's checks accept and only cast; else None.

    The checks take as long as a tenth of an explanation. They accept finite numbers under the names
    that the model was fitted on.
    """
    if not isinstance(table, PandasTable) or not table.is_plain:
        return None
    if list(table.native.columns) != list(getattr(model, "feature_names_in_", ())):
        return None
    columns = [table.column(j) for j in range(len(table.names))]
    with np.errstate(over="ignore"):  # left to the model, which refuses what is too large
        rows = np.stack([values.astype(np.float32) for values in columns], axis=1)
    return rows.astype(np.float64) if np.isfinite(rows).all() else None


def _histogram_boosting(model: Any) -> Ensemble:
    """Return a histogram-based model: leaves contain the learning rate; values are float64."""
    loss = model._loss
    if not hasattr(model, "classes_") and type(loss.link).__name__ != "IdentityLink":
        raise not_a_leaf_sum(model, f"loss={model.loss!r}")
    sets, place = model._bin_mapper.make_known_categories_bitsets()
    known = {
        int(c): _bitset_members(sets[i]) for c, i in enumerate(place) if _is_categorical(model, c)
    }
    outputs = model.n_trees_per_iteration_
    trees = [
        _histogram_tree(predictor, output, outputs, known)
        for stage in model._predictors
        for output, predictor in enumerate(stage)
    ]
    classes = getattr(model, "classes_", None)
    base = np.asarray(model._baseline_prediction, dtype=np.float64).ravel()
    return join_trees(
        trees,
        partial(_encoded_matrix, model, categorical=sorted(known)),
        base=base,
        classes=None if classes is None else class_labels(classes),
        link_slack=1e-12 if classes is not None else 0.0,
        source=_encoded_order(model),
        # Versions differ in whether labels follow from the margin or from the probability.
        replay=LibrarySum(_margin_of(model), base, (0.0, 4 * 2.0**-53)),
    )


def _encoded_matrix(model: Any, table: Table, *, categorical: list[int]) -> Reals:
    """Return the matrix that the trees read; a negative category counts as missing."""
    rows = np.array(model._preprocess_X(table.native, reset=False), dtype=np.float64)
    for column in categorical:
        values = rows[:, column]
        if (values >= 256).any():  # scikit-learn keeps categories in eight bits
            raise Unreadable(
                f"{type(model).__name__} keeps categories in eight bits, and a column holds one "
                "above 255"
            )
        values[values < 0] = np.nan
    return rows


def _histogram_tree(
    predictor: Any, output: int, outputs: int, known: dict[int, frozenset[int]]
) -> Tree:
    nodes = predictor.nodes
    leaf = nodes["is_leaf"].astype(bool)
    values = np.zeros((len(nodes), outputs))
    values[:, output] = nodes["value"]
    categories = {}
    for node in np.flatnonzero(nodes["is_categorical"].astype(bool) & ~leaf).tolist():
        members = _bitset_members(predictor.raw_left_cat_bitsets[nodes["bitset_idx"][node]])
        categories[node] = CategorySplit(members, True, known[int(nodes["feature_idx"][node])])
    return Tree(
        left=np.where(leaf, -1, nodes["left"].astype(np.int64)),
        right=np.where(leaf, -1, nodes["right"].astype(np.int64)),
        column=nodes["feature_idx"],
        threshold=nodes["num_threshold"].astype(np.float64),
        missing_left=nodes["missing_go_to_left"].astype(bool),
        values=values,
        categories=categories,
    )


def _is_categorical(model: Any, column: int) -> bool:
    flags = model._is_categorical_remapped
    return flags is not None and bool(flags[column])


def _bitset_members(words: Any) -> frozenset[int]:
    """Return the numbers in a set that is stored as 32-bit words."""
    bits = np.unpackbits(np.ascontiguousarray(words).view(np.uint8), bitorder="little")
    return frozenset(np.flatnonzero(bits).tolist())


def _encoded_order(model: Any) -> Counts | None:
    """Return the order of the columns after the model's encoder, categorical ones first."""
    if model._preprocessor is None:
        return None
    flags = np.asarray(model.is_categorical_)
    return np.concatenate([np.flatnonzero(flags), np.flatnonzero(~flags)])
