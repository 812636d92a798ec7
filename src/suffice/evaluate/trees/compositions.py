"""Reads models that are made of models: bags, votes, boosted votes, and calibrated classifiers.

Where each member's answer is a sum of leaves and the whole adds these answers up, the whole is one
larger ensemble: each member's leaves count with its weight. So it is for shares of classes (trees,
forests, bags of them), for values, and for votes of single trees, whose leaf is their vote. A
probability that a link function or a calibration makes of a sum is no sum: `mixtures` bounds what a
mean of such can be, for two classes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from suffice.evaluate.columns import kind_of
from suffice.evaluate.protocol import Unreadable
from suffice.evaluate.trees.ensemble import Ensemble
from suffice.evaluate.trees.joining import Member, Part, combine
from suffice.evaluate.trees.mixtures import calibrated, mean_of_links
from suffice.evaluate.trees.reading import labels_of, read_trees
from suffice.tables.frames import as_table
from suffice.tables.table import Table
from suffice.typing import Reals

__all__ = ["read"]


def read(model: Any, columns: tuple[str, ...]) -> Ensemble:
    """The ensemble behind a fitted model of models; Unreadable for what is no sum of leaves."""
    return _COMPOSITIONS[type(model).__name__](model, columns)


def _as_array(model: Any, table: Table) -> Table:
    """The array that a model makes of a table before its members get their columns of it."""
    from sklearn.utils.validation import validate_data

    rows = validate_data(model, table.native, dtype=None, ensure_all_finite=False, reset=False)
    return as_table(rows)


def _names(model: Any, columns: tuple[str, ...]) -> tuple[str, ...]:
    """The columns that a model is given: as the user names them, else as it knows them itself."""
    own = getattr(model, "feature_names_in_", range(model.n_features_in_))
    return columns or tuple(map(str, own))


def _members(
    model: Any, estimators: Sequence[Any], columns: tuple[str, ...], features: Any = None
) -> list[Member]:
    """The members with their trees; `features` says which columns each is given."""
    out = []
    for number, estimator in enumerate(estimators):
        given = np.arange(len(columns)) if features is None else np.asarray(features[number])
        try:
            read = read_trees(estimator, tuple(columns[j] for j in given))
        except Unreadable as reason:
            raise Unreadable(f"a member of {kind_of(model)} is not read: {reason}") from reason
        out.append(Member(estimator, read, given))
    return out


def _bagging(model: Any, columns: tuple[str, ...]) -> Ensemble:
    """The mean of the members' shares, or of their values."""
    members = _members(model, model.estimators_, _names(model, columns), model.estimators_features_)
    prepare = partial(_as_array, model)
    weights = np.ones(len(members))
    if not hasattr(model, "classes_"):
        return _mean_value(members, weights, prepare)
    return _mean_share(model, members, weights, prepare)


def _mean_share(
    model: Any,
    members: Sequence[Member],
    weights: Reals,
    prepare: Callable[[Table], Table] | None = None,
) -> Ensemble:
    """The weighted mean of members that give probabilities."""
    classes = labels_of(model.classes_)
    if not all(member.trees.shares for member in members):
        return mean_of_links(model, members, weights, classes, prepare)
    # Members are fitted on numbers of classes, of which the sample of one may lack some.
    total, parts = float(weights.sum()), []
    for member, weight in zip(members, weights, strict=True):
        trees, known = member.trees, np.asarray(member.trees.classes, dtype=np.int64)
        leaves, base = np.zeros((len(trees.test), len(classes))), np.zeros(len(classes))
        leaves[:, known] = trees.values * (weight / trees.divisor)
        base[known] = trees.base * (weight / total)
        parts.append(Part(trees, leaves, base, member.given))
    return combine(parts, prepare, divisor=total, classes=classes, shares=True)


def _mean_value(
    members: Sequence[Member],
    weights: Reals,
    prepare: Callable[[Table], Table] | None = None,
) -> Ensemble:
    """The weighted mean of members that give numbers."""
    total = float(weights.sum())
    parts = [
        Part(
            member.trees,
            member.trees.values * (weight / member.trees.divisor),
            member.trees.base * (weight / total),
            member.given,
        )
        for member, weight in zip(members, weights, strict=True)
    ]
    return combine(parts, prepare, divisor=total)


def _voting_regressor(model: Any, columns: tuple[str, ...]) -> Ensemble:
    members = _members(model, model.estimators_, _names(model, columns))
    return _mean_value(members, _weights(model))


def _weights(model: Any) -> Reals:
    given = model._weights_not_none
    weights = np.ones(len(model.estimators_)) if given is None else np.asarray(given, dtype=float)
    if (weights < 0).any():
        raise Unreadable(f"{kind_of(model)} has negative weights")
    return weights


def _voting_classifier(model: Any, columns: tuple[str, ...]) -> Ensemble:
    members = _members(model, model.estimators_, _names(model, columns))
    weights = _weights(model)
    if model.voting == "soft":
        return _mean_share(model, members, weights)
    classes = labels_of(model.classes_)
    each = np.eye(len(classes))
    parts = []
    for member, weight in zip(members, weights, strict=True):
        _require_tree(model, member, "; voting='soft' is")
        leaves = _votes(member, weight * each)
        parts.append(Part(member.trees, leaves, np.zeros(len(each)), member.given))
    return combine(parts, classes=classes)


def _require_tree(model: Any, member: Member, instead: str = "") -> None:
    if not member.trees.leaf_answers:
        raise Unreadable(
            f"{kind_of(model)} counts the vote of {kind_of(member.model)}, which is the winner of "
            f"sums and no sum itself: votes of single trees are read{instead}"
        )


def _votes(member: Member, of_class: Reals) -> Reals:
    """(nodes, outputs): for each leaf of a single tree, the row of the class that it answers."""
    trees = member.trees
    return np.asarray(of_class[trees.values.argmax(axis=1)] * (trees.test < 0)[:, None])


def _ada_boost(model: Any, columns: tuple[str, ...]) -> Ensemble:
    """Weighted votes of single trees (SAMME); of two classes, the second's lead."""
    classes = labels_of(model.classes_)
    members = _members(model, model.estimators_, tuple(map(str, range(model.n_features_in_))))
    weights = np.asarray(model.estimator_weights_, dtype=np.float64)[: len(members)]
    count = len(classes)
    if count == 1:
        raise Unreadable(f"{kind_of(model)} was fitted on one class")
    parts = []
    for member, weight in zip(members, weights, strict=True):
        _require_tree(model, member)
        each = np.where(np.eye(count) > 0, weight, -weight / (count - 1))
        if count == 2:
            each = each[:, 1:] - each[:, :1]
        known = [classes.index(label) for label in member.trees.classes or ()]
        parts.append(
            Part(member.trees, _votes(member, each[known]), np.zeros(each.shape[1]), member.given)
        )
    return combine(
        parts,
        partial(_as_array, model),
        divisor=float(weights.sum()),
        classes=classes,
        link_slack=1e-12,
    )


def _ada_boost_regressor(model: Any, columns: tuple[str, ...]) -> Ensemble:
    raise Unreadable(f"{kind_of(model)} predicts the weighted median of its trees, which is no sum")


def _calibrated(model: Any, columns: tuple[str, ...]) -> Ensemble:
    kept = model.calibrated_classifiers_
    members = _members(model, [one.estimator for one in kept], _names(model, columns))
    return calibrated(model, members)


_COMPOSITIONS: dict[str, Callable[[Any, tuple[str, ...]], Ensemble]] = {
    "BaggingClassifier": _bagging,
    "BaggingRegressor": _bagging,
    "VotingClassifier": _voting_classifier,
    "VotingRegressor": _voting_regressor,
    "AdaBoostClassifier": _ada_boost,
    "AdaBoostRegressor": _ada_boost_regressor,
    "CalibratedClassifierCV": _calibrated,
}
"""By the name of scikit-learn's class."""
