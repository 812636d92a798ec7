"""Reads models that are made of models: bags, votes, boosted votes, and calibrated classifiers.

Where each member's answer is a sum of leaves and the whole adds these answers up, the whole is one
larger ensemble: each member's leaves count with its weight. So it is for shares of classes (trees,
forests, bags of them), for values, and for votes of single trees, whose leaf is their vote. A
probability that a link function or a calibration makes of a sum is no sum: `mixtures` bounds what a
mean of such can be, for two classes.

A member may see the table in its own way (some of the columns, after steps of its own), so the
matrix of the whole has what each of them sees side by side; members that all see the numbers of the
table rounded to float32 share one set of columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from suffice.evaluate.columns import kind_of
from suffice.evaluate.protocol import Unreadable
from suffice.evaluate.trees.ensemble import Ensemble
from suffice.evaluate.trees.reading import Tree, join_trees, labels_of, read_trees
from suffice.tables.frames import as_table
from suffice.tables.table import Table
from suffice.typing import Counts, Reals

__all__ = ["Member", "Part", "combine", "read"]


def read(model: Any, columns: tuple[str, ...]) -> Ensemble:
    """The ensemble behind a fitted model of models; Unreadable for what is no sum of leaves."""
    return _COMPOSITIONS[type(model).__name__](model, columns)


class Member(NamedTuple):
    """A model among others, with its trees."""

    model: Any
    trees: Ensemble
    given: Counts
    """The columns of the table that it is given."""


class Part(NamedTuple):
    """A member, and what each of its leaves adds to the scores of the whole."""

    trees: Ensemble
    leaves: Reals
    """(nodes, outputs of the whole)"""
    base: Reals
    """(outputs of the whole,)"""
    given: Counts
    """The columns of the table that the member is given."""


def combine(
    parts: Sequence[Part], prepare: Callable[[Table], Table] | None = None, **rest: Any
) -> Ensemble:
    """One ensemble of all members' trees; `prepare` makes of a table what members are given."""
    looks: list[_Look] = []
    source: list[Counts] = []
    trees: list[Tree] = []
    shared: int | None = None
    for part in parts:
        sees = part.given if part.trees.source is None else part.given[part.trees.source]
        if part.trees.single:
            # A member of a bag knows some columns only, so that the table is rounded as a whole.
            if shared is None:
                shared = sum(map(len, source))
                every = np.arange(int(max(p.given.max() for p in parts)) + 1)
                alone = prepare is None
                looks.append(
                    _Look(part.trees.matrix if alone else _rounded, None if alone else every)
                )
                source.append(every)
            place = shared + part.given
        else:
            place = sum(map(len, source)) + np.arange(len(sees))
            looks.append(_Look(part.trees.matrix, None if prepare is None else part.given))
            source.append(sees)
        trees += _split(part, place)
    unit = max(part.trees.unit for part in parts)
    # A member rounds its constant at every tree that it adds, and constants may cancel in the end.
    constants = sum(float(np.abs(part.base).max()) for part in parts)
    rest["link_slack"] = rest.get("link_slack", 0.0) + 2 * (len(trees) + 8) * unit * constants
    return join_trees(
        trees,
        _SideBySide(prepare, tuple(looks)),
        base=np.sum([part.base for part in parts], axis=0),
        unit=unit,
        source=np.concatenate(source).astype(np.int32),
        **rest,
    )


def _split(part: Part, place: Counts) -> list[Tree]:
    """A member's trees, one by one, asking the columns at these places."""
    ensemble, tests = part.trees, part.trees.tests
    out = []
    for start, end in zip(
        ensemble.roots, np.append(ensemble.roots, len(ensemble.test))[1:], strict=True
    ):
        here = slice(int(start), int(end))
        test = ensemble.test[here]
        leaf = test < 0
        out.append(
            Tree(
                left=np.where(leaf, -1, ensemble.left[here] - start),
                right=np.where(leaf, -1, ensemble.right[here] - start),
                column=_of_test(place[tests.column], test),
                threshold=_of_test(tests.threshold, test),
                missing_left=_of_test(tests.missing_left, test),
                values=part.leaves[here],
                categories={
                    node: tests.categories[t]
                    for node, t in enumerate(test.tolist())
                    if t in tests.categories
                },
            )
        )
    return out


def _of_test(values: Any, test: Any) -> Any:
    """What nodes have of their tests; at a leaf, nothing."""
    return np.append(values, np.zeros(1, dtype=values.dtype))[test]


class _Look(NamedTuple):
    matrix: Callable[[Table], Reals]
    columns: Counts | None


@dataclass(frozen=True)
class _SideBySide:
    """What members see of a table, one beside the other."""

    prepare: Callable[[Table], Table] | None
    looks: tuple[_Look, ...]

    def __call__(self, table: Table) -> Reals:
        table = table if self.prepare is None else self.prepare(table)
        seen = [
            look.matrix(table if look.columns is None else table.select(look.columns.tolist()))
            for look in self.looks
        ]
        return np.concatenate(seen, axis=1)


def _rounded(table: Table) -> Reals:
    return np.asarray(table.native, dtype=np.float32).astype(np.float64)


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


def _shares(member: Member, weight: float, places: Any, outputs: int) -> Part:
    """A member whose scores are shares of classes; `places` are these among the whole's."""
    trees = member.trees
    leaves, base = np.zeros((len(trees.test), outputs)), np.zeros(outputs)
    leaves[:, places] = trees.values * (weight / trees.divisor)
    base[places] = weight * trees.base
    return Part(trees, leaves, base, member.given)


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
        from suffice.evaluate.trees.mixtures import mean_of_links

        return mean_of_links(model, members, weights, classes, prepare)
    # Members are fitted on numbers of classes, of which the sample of one may lack some.
    parts = [
        _shares(member, weight, np.asarray(member.trees.classes, dtype=np.int64), len(classes))
        for member, weight in zip(members, weights, strict=True)
    ]
    return combine(parts, prepare, divisor=float(weights.sum()), classes=classes, shares=True)


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
        parts.append(Part(member.trees, _votes(member, weight * each), each[0] * 0, member.given))
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
    from suffice.evaluate.trees.mixtures import calibrated

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
