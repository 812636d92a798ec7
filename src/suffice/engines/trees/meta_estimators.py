"""Reads models that are made of models: bags, votes, boosted votes, and calibrated classifiers.

If each member's output is a sum of leaves and the model adds these outputs up, the model is one
larger ensemble, with each member's leaves times its weight. That holds for shares of classes
(trees, forests, bags of them), for values, and for votes of single trees, where a leaf is a vote.
It does not hold for probabilities that are a link function or a calibration of a sum:
`mix_probabilities` bounds a mean of these, for two classes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from suffice.engines.pipeline_columns import describe_model
from suffice.engines.select_engine import Unreadable
from suffice.engines.trees.ensemble import (
    Ensemble,
    EnsembleMember,
    MemberContribution,
    class_labels,
    combine_ensembles,
)
from suffice.engines.trees.tree_model import read_trees
from suffice.tables.conversion import as_table
from suffice.tables.table import Table
from suffice.typing import Reals


def read(model: Any, columns: tuple[str, ...]) -> Ensemble:
    """Return the ensemble of a fitted model of models; `Unreadable` if it is no sum of leaves."""
    return _META_ESTIMATORS[type(model).__name__](model, columns)


def _as_array(model: Any, table: Table) -> Table:
    """Return the array that a model converts a table to before its members get their columns."""
    from sklearn.utils.validation import validate_data

    rows = validate_data(model, table.native, dtype=None, ensure_all_finite=False, reset=False)
    return as_table(rows)


def _column_names(model: Any, columns: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of a model's columns: the user's, else those that it was fitted with."""
    own = getattr(model, "feature_names_in_", range(model.n_features_in_))
    return columns or tuple(map(str, own))


def _members(
    model: Any, estimators: Sequence[Any], columns: tuple[str, ...], features: Any = None
) -> list[EnsembleMember]:
    """Return the members with their trees; `features` are the columns that each gets."""
    out = []
    for number, estimator in enumerate(estimators):
        given = np.arange(len(columns)) if features is None else np.asarray(features[number])
        try:
            read = read_trees(estimator, tuple(columns[j] for j in given))
        except Unreadable as reason:
            raise Unreadable(
                f"a member of {describe_model(model)} is not read: {reason}"
            ) from reason
        out.append(EnsembleMember(estimator, read, given))
    return out


def _bagging(model: Any, columns: tuple[str, ...]) -> Ensemble:
    """Return the mean of the members' shares, or of their values."""
    members = _members(
        model, model.estimators_, _column_names(model, columns), model.estimators_features_
    )
    prepare = partial(_as_array, model)
    weights = np.ones(len(members))
    if not hasattr(model, "classes_"):
        return _mean_value(members, weights, prepare)
    return _mean_share(model, members, weights, prepare)


def _mean_share(
    model: Any,
    members: Sequence[EnsembleMember],
    weights: Reals,
    prepare: Callable[[Table], Table] | None = None,
) -> Ensemble:
    """Return the weighted mean of members that predict probabilities."""
    classes = class_labels(model.classes_)
    if not all(member.trees.shares for member in members):
        return mix_probabilities(model, members, weights, classes, prepare)
    # Members are fitted on class numbers, and the sample of a member may lack some classes.
    total, parts = float(weights.sum()), []
    for member, weight in zip(members, weights, strict=True):
        trees, known = member.trees, np.asarray(member.trees.classes, dtype=np.int64)
        leaves, base = np.zeros((len(trees.test), len(classes))), np.zeros(len(classes))
        leaves[:, known] = trees.values * (weight / trees.divisor)
        base[known] = trees.base * (weight / total)
        parts.append(MemberContribution(trees, leaves, base, member.given))
    return combine_ensembles(parts, prepare, divisor=total, classes=classes, shares=True)


def _mean_value(
    members: Sequence[EnsembleMember],
    weights: Reals,
    prepare: Callable[[Table], Table] | None = None,
) -> Ensemble:
    """Return the weighted mean of members that predict numbers."""
    total = float(weights.sum())
    parts = [
        MemberContribution(
            member.trees,
            member.trees.values * (weight / member.trees.divisor),
            member.trees.base * (weight / total),
            member.given,
        )
        for member, weight in zip(members, weights, strict=True)
    ]
    return combine_ensembles(parts, prepare, divisor=total)


def _voting_regressor(model: Any, columns: tuple[str, ...]) -> Ensemble:
    members = _members(model, model.estimators_, _column_names(model, columns))
    return _mean_value(members, _weights(model))


def _weights(model: Any) -> Reals:
    given = model._weights_not_none
    weights = np.ones(len(model.estimators_)) if given is None else np.asarray(given, dtype=float)
    if (weights < 0).any():
        raise Unreadable(f"{describe_model(model)} has negative weights")
    return weights


def _voting_classifier(model: Any, columns: tuple[str, ...]) -> Ensemble:
    members = _members(model, model.estimators_, _column_names(model, columns))
    weights = _weights(model)
    if model.voting == "soft":
        return _mean_share(model, members, weights)
    classes = class_labels(model.classes_)
    each = np.eye(len(classes))
    parts = []
    for member, weight in zip(members, weights, strict=True):
        _require_tree(model, member, "; voting='soft' is")
        leaves = _leaf_votes(member, weight * each)
        parts.append(MemberContribution(member.trees, leaves, np.zeros(len(each)), member.given))
    return combine_ensembles(parts, classes=classes)


def _require_tree(model: Any, member: EnsembleMember, instead: str = "") -> None:
    if not member.trees.leaf_answers:
        raise Unreadable(
            f"{describe_model(model)} counts the vote of {describe_model(member.model)}, which is "
            "the winner of "
            f"sums and no sum itself: votes of single trees are read{instead}"
        )


def _leaf_votes(member: EnsembleMember, of_class: Reals) -> Reals:
    """Return (nodes, outputs): for each leaf of a single tree, the row of its class."""
    trees = member.trees
    return np.asarray(of_class[trees.values.argmax(axis=1)] * (trees.test < 0)[:, None])


def _ada_boost(model: Any, columns: tuple[str, ...]) -> Ensemble:
    """Return the weighted votes of single trees (SAMME); for two classes the second's lead."""
    classes = class_labels(model.classes_)
    members = _members(model, model.estimators_, tuple(map(str, range(model.n_features_in_))))
    weights = np.asarray(model.estimator_weights_, dtype=np.float64)[: len(members)]
    count = len(classes)
    if count == 1:
        raise Unreadable(f"{describe_model(model)} was fitted on one class")
    parts = []
    for member, weight in zip(members, weights, strict=True):
        _require_tree(model, member)
        each = np.where(np.eye(count) > 0, weight, -weight / (count - 1))
        if count == 2:
            each = each[:, 1:] - each[:, :1]
        known = [classes.index(label) for label in member.trees.classes or ()]
        parts.append(
            MemberContribution(
                member.trees,
                _leaf_votes(member, each[known]),
                np.zeros(each.shape[1]),
                member.given,
            )
        )
    return combine_ensembles(
        parts,
        partial(_as_array, model),
        divisor=float(weights.sum()),
        classes=classes,
        link_slack=1e-12,
    )


def _ada_boost_regressor(model: Any, columns: tuple[str, ...]) -> Ensemble:
    raise Unreadable(
        f"{describe_model(model)} predicts the weighted median of its trees, which is no sum"
    )


def _calibrated_classifier(model: Any, columns: tuple[str, ...]) -> Ensemble:
    kept = model.calibrated_classifiers_
    members = _members(model, [one.estimator for one in kept], _column_names(model, columns))
    return mix_calibrations(model, members)


_META_ESTIMATORS: dict[str, Callable[[Any, tuple[str, ...]], Ensemble]] = {
    "BaggingClassifier": _bagging,
    "BaggingRegressor": _bagging,
    "VotingClassifier": _voting_classifier,
    "VotingRegressor": _voting_regressor,
    "AdaBoostClassifier": _ada_boost,
    "AdaBoostRegressor": _ada_boost_regressor,
    "CalibratedClassifierCV": _calibrated_classifier,
}
"""By the name of scikit-learn's class."""


# Two classes decided by a mean of probabilities that are functions of sums, not sums themselves.


_GRID_CELLS = 1 << 11
"""Most cells of the grid of all members together; a single member may have more."""
_GRID_CELLS_OF_ONE = 1 << 18
_MOST_UNSURE = 0.4
"""Largest share of the range of u that may be left to the model."""
_MEAN_ROUNDING = 1e-9
"""Generous bound of the rounding error of a mean of probabilities in float64."""

_Link = Callable[[Reals, float], Reals]
"""Monotone function from sums to the second class's probability; its second argument is the error
of the number that a calibration gets."""


class _MixtureTerm(NamedTuple):
    member: EnsembleMember
    weight: float
    curve: _Link

    @property
    def sums(self) -> tuple[Reals, float]:
        """The values by node that add up to the link's argument, and its constant."""
        trees = self.member.trees
        at = 1 if trees.shares else 0
        return trees.values[:, at] / trees.divisor, float(trees.base[at])

    @property
    def range(self) -> tuple[float, float]:
        """The smallest and the largest sum."""
        values, base = self.sums
        least, most = self.member.trees.leaf_ranges(values)
        return base + float(least.sum()), base + float(most.sum())

    @property
    def rounding(self) -> float:
        """A bound on the rounding error of the library's sum."""
        trees, (values, base) = self.member.trees, self.sums
        largest = np.maximum.reduceat(np.abs(values), trees.roots).sum() + abs(base)
        return trees.rounding_bound(float(largest))

    def bounds(self, low: Reals, high: Reals) -> tuple[Reals, Reals]:
        """Return the least and the most that sums from `low` to `high` add to the mean."""
        error = 64 * self.member.trees.unit
        ends = [self.curve(end, e) for end in (low, high) for e in (-error, error)]
        return self.weight * np.minimum.reduce(ends), self.weight * np.maximum.reduce(ends)


def mix_probabilities(
    model: Any,
    members: Sequence[EnsembleMember],
    weights: Reals,
    classes: tuple[Any, ...],
    prepare: Callable[[Table], Table] | None = None,
) -> Ensemble:
    """Return a mean of probabilities, some of which are logistic functions of sums."""
    linked = next(member for member in members if not member.trees.shares)
    if any(len(member.trees.classes or ()) != 2 for member in members) or len(classes) != 2:
        raise Unreadable(
            f"{describe_model(model)} averages the probabilities of {len(classes)} classes, and "
            "those of "
            f"{describe_model(linked.model)} are no sums of leaves: that is read for two classes"
        )
    terms = [
        _MixtureTerm(member, float(weight), _probability_link(model, member))
        for member, weight in zip(members, weights, strict=True)
    ]
    return _mix_terms(model, terms, classes, prepare)


def mix_calibrations(model: Any, members: Sequence[EnsembleMember]) -> Ensemble:
    """Return a CalibratedClassifierCV as the mean of its members' calibrated probabilities."""
    classes, kept = class_labels(model.classes_), model.calibrated_classifiers_
    if len(classes) != 2:
        return _multiclass_sigmoid(model, members, classes)
    terms = []
    for member, one in zip(members, kept, strict=True):
        if member.trees.classes is None or len(member.trees.classes) != 2:
            raise Unreadable(f"a member of {describe_model(model)} was fitted on one class")
        margin = hasattr(member.model, "decision_function")
        answer = _identity_link if margin else _probability_link(model, member)
        if margin and (member.trees.shares or member.trees.unsure != (0.0, 0.0)):
            raise _nested(model, member)
        terms.append(_MixtureTerm(member, 1.0, partial(_calibrated_link, one, answer, margin)))
    return _mix_terms(model, terms, classes, None)


def _probability_link(model: Any, member: EnsembleMember) -> _Link:
    """Return the function from a member's sums to its probability of the second class."""
    trees = member.trees
    if trees.shares:
        return _identity_link
    if not trees.margin or trees.unsure != (0.0, 0.0):
        raise _nested(model, member)
    return partial(_logistic_link, trees.steepness)


def _nested(model: Any, member: EnsembleMember) -> Unreadable:
    return Unreadable(
        f"{describe_model(model)} averages what {describe_model(member.model)} has averaged or "
        "calibrated before"
    )


def _identity_link(sums: Reals, error: float) -> Reals:
    return sums + error


def _logistic_link(steepness: float, sums: Reals, error: float) -> Reals:
    from scipy.special import expit

    return np.asarray(expit(steepness * sums)) + error


def _calibrated_link(one: Any, answer: _Link, margin: bool, sums: Reals, error: float) -> Reals:
    """Return the calibrated probability for a member's answers, for two classes."""
    given = answer(sums, error)
    calibration = one.calibrators[0]
    if one.method != "temperature":
        return np.asarray(calibration.predict(given))
    if margin:
        return np.asarray(calibration.predict(given[:, None])[:, 1])
    shares = np.clip(given, 0.0, 1.0)
    return np.asarray(calibration.predict(np.stack([1.0 - shares, shares], axis=1))[:, 1])


def _mix_terms(
    model: Any,
    terms: Sequence[_MixtureTerm],
    classes: tuple[Any, ...],
    prepare: Callable[[Table], Table] | None,
) -> Ensemble:
    # Slopes over the whole range of sums suit flat curves, slopes near one half steep ones.
    tried = [(_undecided_range(terms, slopes), slopes) for slopes in _slopes(terms)]
    (share, unsure), slopes = min(tried, key=lambda found: found[0][0])
    if share > _MOST_UNSURE:
        raise Unreadable(
            f"{describe_model(model)} averages {len(terms)} probabilities that are no sums of "
            "leaves, and "
            f"{share:.0%} of what their sums can be would leave the class open"
        )
    parts = []
    for term, slope in zip(terms, slopes, strict=True):
        values, base = term.sums
        member = term.member
        leaves = np.array([base * slope])
        parts.append(
            MemberContribution(member.trees, slope * values[:, None], leaves, member.given)
        )
    return combine_ensembles(parts, prepare, classes=classes, unsure=unsure)


def _slopes(terms: Sequence[_MixtureTerm]) -> list[list[float]]:
    out = []
    for share in (1.0, 0.5, 0.25, 0.125) if len(terms) > 1 else (1.0,):
        slopes = []
        for term in terms:
            low, high = term.range
            grid = np.linspace(low, high, 1001)
            middle = float(grid[np.abs(term.curve(grid, 0.0) - 0.5).argmin()])
            half = max((high - low) * share / 2, np.finfo(float).tiny)
            start, end = max(low, middle - half), min(high, middle + half)
            ends = term.weight * term.curve(np.array([start, end]), 0.0)
            slopes.append(float(ends[1] - ends[0]) / (end - start) if end > start else 0.0)
        out.append(slopes)
    return out


def _undecided_range(
    terms: Sequence[_MixtureTerm], slopes: Sequence[float]
) -> tuple[float, tuple[float, float]]:
    """Return the range of sums u that are in doubt: its share of all, and its two ends."""
    ranges = [
        sorted(slope * end for end in term.range) for term, slope in zip(terms, slopes, strict=True)
    ]
    whole = sum(high - low for low, high in ranges)
    step = whole / (_GRID_CELLS_OF_ONE if len(terms) == 1 else _GRID_CELLS) or 1.0
    least = most = np.zeros(1)
    for term, slope, (low, high) in zip(terms, slopes, ranges, strict=True):
        edges: Reals = low + step * np.arange(int((high - low) / step) + 2, dtype=np.float64)
        if slope:  # one more cell on either side covers the rounding
            wider = max(step, abs(slope) * term.rounding)
            lower, upper = term.bounds((edges[:-1] - wider) / slope, (edges[1:] + wider) / slope)
        else:
            lower, upper = term.bounds(*(np.array([end]) for end in term.range))
        least, most = _min_plus(least, lower, np.minimum), _min_plus(most, upper, np.maximum)
    half = sum(term.weight for term in terms) / 2
    slack = _MEAN_ROUNDING + 64 * half * max(term.member.trees.unit for term in terms)
    first_open = _first_true(most > half - slack, len(most))
    last_open = len(least) - 1 - _first_true((least <= half + slack)[::-1], len(least))
    bottom = sum(low for low, _ in ranges)
    # The sum of members in cells i, j, … lies up to as many cells above i + j + … as there are.
    unsure = bottom + step * first_open, bottom + step * (last_open + 1 + len(terms))
    open_range = min(unsure[1], bottom + whole) - max(unsure[0], bottom)
    return max(0.0, open_range) / (whole or 1.0), unsure


def _first_true(holds: Any, otherwise: int) -> int:
    return int(holds.argmax()) if holds.any() else otherwise


def _min_plus(all_before: Reals, one: Reals, best: Any) -> Reals:
    """Return, at each i + j, the best all_before[i] + one[j] (`best`: np.minimum or np.maximum)."""
    worst = np.inf if best is np.minimum else -np.inf
    out = np.full(len(all_before) + len(one) - 1, worst)
    for i, before in enumerate(all_before):
        here = out[i : i + len(one)]
        best(here, before + one, out=here)
    return out


def _multiclass_sigmoid(
    model: Any, members: Sequence[EnsembleMember], classes: tuple[Any, ...]
) -> Ensemble:
    """Return an ensemble with one sum a x + b per class: the largest sigmoid's class wins."""
    kept = model.calibrated_classifiers_
    why = f"{describe_model(model)} of {len(classes)} classes"
    if len(kept) > 1:
        raise Unreadable(f"{why} averages {len(kept)} calibrations: ensemble=False fits one")
    one, member = kept[0], members[0]
    if one.method != "sigmoid":
        raise Unreadable(f"{why} is read with method='sigmoid', not with {one.method!r}")
    trees, count = member.trees, len(classes)
    if not (trees.shares or hasattr(member.model, "decision_function")) or trees.margin:
        raise Unreadable(
            f"{why} calibrates {describe_model(member.model)}, whose softmax is no sum"
        )
    if len(one.calibrators) != count or trees.values.shape[1] != count:
        raise Unreadable(f"{why} has a member that was fitted on fewer")
    slope, shift = (np.array([getattr(c, name) for c in one.calibrators]) for name in ("a_", "b_"))
    leaves = -slope * trees.values / trees.divisor
    base = -(slope * trees.base + shift)
    largest = np.maximum.reduceat(np.abs(leaves).max(axis=1), trees.roots).sum()
    # Near one, sigmoids that differ round to the same number.
    slack = 1e-12 + 1e-15 * float(np.exp(min(700.0, largest + np.abs(base).max())))
    return combine_ensembles(
        [MemberContribution(trees, leaves, base, member.given)], classes=classes, link_slack=slack
    )
