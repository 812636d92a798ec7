"""Bags, votes, boosted votes and calibrations of trees are read as one ensemble, or say why not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier

from suffice import Explainer
from suffice.engines.select_engine import Unreadable
from suffice.engines.trees import read_trees
from suffice.target import at_least, versus, within
from tests.effort import examples
from tests.engines.engine_cases import Case, check_trees, mixed_data, tree_data

X, TWO, THREE, NUMBER = tree_data(150)
WORDS = np.array(["no", "yes"])[TWO]


def reason(model: Any) -> str:
    with pytest.raises(Unreadable) as refused:
        read_trees(model)
    return str(refused.value)


def tree(depth: int | None = 3, seed: int = 0) -> DecisionTreeClassifier:
    return DecisionTreeClassifier(max_depth=depth, random_state=seed)


def forest(trees: int = 5) -> RandomForestClassifier:
    return RandomForestClassifier(trees, random_state=0)


def check(model: Any, labels: Any, outcome: Any = None, rows: Any = X) -> Any:
    return check_trees(Case(model.fit(rows, labels), rows[:60], outcome))


@pytest.mark.parametrize("labels", [TWO, THREE, WORDS], ids=["two", "three", "words"])
@pytest.mark.parametrize("depth", [1, 3, None])
def test_a_bag_is_the_mean_of_its_members_on_their_columns(labels: Any, depth: int | None) -> None:
    check(BaggingClassifier(tree(depth), 8, max_features=0.6, random_state=0), labels)
    scaled = make_pipeline(StandardScaler(), tree(depth))  # it takes a sample, not its weights
    few = BaggingClassifier(scaled, 8, max_samples=4, bootstrap_features=True, random_state=0).fit(
        X, labels
    )
    assert min(len(member.classes_) for member in few.estimators_) < len(few.classes_)
    check_trees(Case(few, X[:60], few.classes_[0]))
    check_trees(Case(few, X[:60], versus(few.classes_[1], few.classes_[0])))


def test_constants_of_members_that_cancel_leave_their_rounding_behind() -> None:
    members: list[Any] = [
        (str(shift), GradientBoostingRegressor(n_estimators=5, random_state=0))
        for shift in (1e9, -1e9)
    ]
    model = VotingRegressor(members).fit(X, NUMBER)
    for shift, member in zip((1e9, -1e9), model.estimators_, strict=True):
        member.init_.constant_ += shift
    for value in np.unique(model.predict(X))[:5]:
        check_trees(Case(model, X[:60], at_least(float(value))))


def test_a_bag_of_other_readable_models_is_read() -> None:
    check(BaggingClassifier(forest(4), 3, max_features=0.6, random_state=0), THREE)
    wide = BaggingRegressor(DecisionTreeRegressor(), 8, max_features=0.5, random_state=0)
    at_a_row = float(wide.fit(X, NUMBER).predict(X[3:4])[0])
    check(wide, NUMBER, at_least(at_a_row))
    check(wide, NUMBER, within(3.0))
    boosted = HistGradientBoostingRegressor(max_iter=5)
    check(BaggingRegressor(boosted, 4, max_features=0.5, random_state=0), NUMBER, at_least(0.0))
    frame = pd.DataFrame(X, columns=list("abcde"))
    check(BaggingClassifier(tree(), 5, max_features=0.6, random_state=0), TWO, rows=frame)
    scaled = make_pipeline(StandardScaler(), tree())
    check(BaggingClassifier(scaled, 5, max_features=0.6, random_state=0), TWO, rows=frame)


def test_missing_values_go_where_members_send_them() -> None:
    rows, two, _, number = tree_data(150, missing=True)
    check(BaggingClassifier(tree(), 6, max_features=0.6, random_state=0), two, rows=rows)
    check(BaggingRegressor(n_estimators=6, random_state=0), number, at_least(0.0), rows)
    members = [("a", forest()), ("b", HistGradientBoostingClassifier(max_iter=10))]
    check(VotingClassifier(members, voting="soft"), two, rows=rows)
    check(CalibratedClassifierCV(forest(), ensemble=False, cv=2), two, rows=rows)


@pytest.mark.parametrize("labels", [TWO, THREE, WORDS], ids=["two", "three", "words"])
@pytest.mark.parametrize("depth", [1, 3])
def test_boosted_votes_of_trees_are_sums(labels: Any, depth: int) -> None:
    model = AdaBoostClassifier(tree(depth), n_estimators=12, random_state=0)
    check(model, labels)
    check(model, labels, model.classes_[0])


def test_boosted_votes_compare_two_classes_as_their_probabilities_do() -> None:
    model = AdaBoostClassifier(tree(1), n_estimators=12, random_state=0)
    check(model, TWO, versus(1, 0))
    check(model, THREE, 2)
    equal = AdaBoostClassifier(tree(1), n_estimators=4, random_state=0).fit(X, TWO)
    equal.estimator_weights_[:] = 1.0  # ties in plenty, which go to the first class
    assert (equal.decision_function(X) == 0).any()
    check_trees(Case(equal, X[:60]))


@pytest.mark.parametrize("labels", [TWO, THREE, WORDS], ids=["two", "three", "words"])
@pytest.mark.parametrize("weights", [None, [2, 1, 1], [0.3, 1.0, 1.7]])
def test_votes_of_readable_models_are_read(labels: Any, weights: Any) -> None:
    scaled = make_pipeline(StandardScaler(), ExtraTreesClassifier(5, max_depth=4, random_state=0))
    members = [("forest", forest()), ("tree", tree()), ("scaled", scaled)]
    check(VotingClassifier(members, voting="soft", weights=weights), labels)
    trees = [("a", tree(1)), ("b", tree(4)), ("c", ExtraTreeClassifier(max_depth=4))]
    check(VotingClassifier(trees, weights=weights), labels)


def test_a_tie_of_votes_goes_where_scikit_learn_gives_it() -> None:
    pairs = [("a", tree(1)), ("b", tree(None)), ("c", tree(2)), ("d", ExtraTreeClassifier())]
    for labels in (TWO, THREE):
        model = VotingClassifier(pairs).fit(X, labels)
        votes = model.transform(X)
        assert ((votes == votes[:, :1]).sum(axis=1) == 2).any()
        check_trees(Case(model, X[:60]))
        check_trees(Case(VotingClassifier(pairs, voting="soft").fit(X, labels), X[:60]))


@pytest.mark.parametrize("weights", [None, [0.3, 2.0, 1.0]])
def test_a_vote_of_regressors_is_their_mean(weights: Any) -> None:
    members = [
        ("forest", RandomForestRegressor(6, random_state=0)),
        ("boosted", GradientBoostingRegressor(n_estimators=10, random_state=0)),
        ("histogram", HistGradientBoostingRegressor(max_iter=10)),
    ]
    model = VotingRegressor(members, weights=weights).fit(X, NUMBER + 1e6)
    at_a_row = float(model.predict(X[3:4])[0])
    for outcome in (at_least(at_a_row), within(3.0)):
        check_trees(Case(model, X[:60], outcome))


LINKED = {
    "exponential": GradientBoostingClassifier(n_estimators=6, loss="exponential", random_state=0),
    "histogram": HistGradientBoostingClassifier(max_iter=6),
    "ada": AdaBoostClassifier(n_estimators=5, random_state=0),
}


@pytest.mark.parametrize("linked", list(LINKED))
def test_a_vote_of_a_boosted_model_is_certain_but_near_one_half(linked: str) -> None:
    members = [("forest", forest()), ("boosted", LINKED[linked])]
    for weights in (None, [3, 1]):
        engine = check(VotingClassifier(members, voting="soft", weights=weights), WORDS)
        assert engine.rows_predicted < 60 * 2**5
    check(VotingClassifier(members, voting="soft"), WORDS, versus("no", "yes"))


@pytest.mark.parametrize("library", ["xgboost", "lightgbm", "catboost"])
def test_boosters_of_other_libraries_vote_and_are_calibrated(library: str) -> None:
    module = pytest.importorskip(library)
    boosted = {
        "xgboost": lambda: module.XGBClassifier(n_estimators=8, max_depth=3, n_jobs=1),
        "lightgbm": lambda: module.LGBMClassifier(
            n_estimators=8, num_leaves=7, n_jobs=1, verbose=-1, sigmoid=1.7
        ),
        "catboost": lambda: module.CatBoostClassifier(
            iterations=8, depth=3, verbose=0, thread_count=1, allow_writing_files=False
        ),
    }[library]
    members = [("forest", forest()), ("boosted", boosted())]
    check(VotingClassifier(members, voting="soft"), TWO)
    for method in ("sigmoid", "isotonic"):
        check(CalibratedClassifierCV(boosted(), method=method, ensemble=False, cv=2), TWO)


BASES = {
    "forest": forest(),
    "tree": tree(4),
    "boosted": GradientBoostingClassifier(n_estimators=6, random_state=0),
    "histogram": HistGradientBoostingClassifier(max_iter=6),
    "ada": AdaBoostClassifier(n_estimators=5, random_state=0),
    "scaled": make_pipeline(StandardScaler(), forest()),
}


@pytest.mark.parametrize("method", ["sigmoid", "isotonic", "temperature"])
@pytest.mark.parametrize("base", list(BASES))
def test_a_calibrated_model_is_its_margin_at_another_threshold(base: str, method: str) -> None:
    estimator = BASES[base].fit(X[:90], WORDS[:90])
    fixed = CalibratedClassifierCV(FrozenEstimator(estimator), method=method)
    check_trees(Case(fixed.fit(X[90:], WORDS[90:]), X[:60]))
    whole = CalibratedClassifierCV(estimator, method=method, ensemble=False, cv=2)
    check(whole, WORDS, versus("yes", "no"))


@pytest.mark.parametrize("method", ["sigmoid", "isotonic", "temperature"])
@pytest.mark.parametrize("base", ["forest", "tree", "histogram"])
def test_several_calibrations_are_certain_where_any_sums_would_agree(
    base: str, method: str
) -> None:
    model = CalibratedClassifierCV(BASES[base], method=method, cv=3).fit(X, TWO)
    try:
        check_trees(Case(model, X[:60]))
    except Unreadable as refused:  # which of them are readable depends on their curves
        assert method != "sigmoid"
        assert "3 probabilities that are no sums of leaves, and" in str(refused)


def test_pipelines_may_be_within_and_around() -> None:
    rows, two, _, _ = mixed_data(150)
    encoded = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["kind", "home"]), remainder="passthrough"
    )
    within_it = make_pipeline(encoded, forest())
    strange = rows[:60].replace({"kind": {"t": "new"}})
    for ensemble in (False, True):
        model = CalibratedClassifierCV(within_it, ensemble=ensemble, cv=2).fit(rows, two)
        check_trees(Case(model, strange))
    members = [("a", within_it), ("b", make_pipeline(encoded, tree()))]
    check_trees(Case(VotingClassifier(members, voting="soft").fit(rows, two), strange))
    check_trees(Case(VotingClassifier(members[1:]).fit(rows, two), strange))
    frame = pd.DataFrame(X, columns=list("abcde"))
    scaler = StandardScaler().set_output(transform="pandas")
    inner = VotingClassifier(
        [("a", make_pipeline(StandardScaler(), tree())), ("b", forest())], voting="soft"
    )
    check(make_pipeline(scaler, inner), TWO, rows=frame)
    check(make_pipeline(StandardScaler(), AdaBoostClassifier(n_estimators=5)), TWO, rows=frame)


@given(seed=st.integers(0, 10**6), members=st.integers(1, 3), trees=st.integers(1, 5))
@settings(max_examples=examples(8), deadline=None, suppress_health_check=list(HealthCheck))
def test_any_composition_has_the_black_boxs_outcomes(seed: int, members: int, trees: int) -> None:
    rows, two, three, number = tree_data(60, d=3, seed=seed)
    rng = np.random.default_rng(seed)
    depths = [None if depth > 3 else int(depth) for depth in rng.integers(1, 6, size=members)]
    weights = rng.choice([0.5, 1.0, 1.3], size=members).tolist()
    labels = (two, three)[seed % 2]
    single = [(str(i), tree(depth, seed)) for i, depth in enumerate(depths)]
    several: list[Any] = [
        (str(i), BaggingClassifier(member, trees, random_state=seed))
        for i, (_, member) in enumerate(single)
    ]
    models = [
        AdaBoostClassifier(single[0][1], n_estimators=trees, random_state=seed),
        VotingClassifier(single, weights=weights),
        VotingClassifier(several, voting="soft", weights=weights),
        BaggingClassifier(several[0][1], 2, random_state=seed),
    ]
    for model in models:
        check_trees(Case(model.fit(rows, labels), rows[:20]))
    calibrated = CalibratedClassifierCV(several[0][1], ensemble=False, cv=2)
    check_trees(Case(calibrated.fit(rows, labels), rows[:20]))
    many = [(str(i), RandomForestRegressor(trees, random_state=i)) for i in range(members)]
    model = VotingRegressor(many, weights=weights).fit(rows, number)
    check_trees(Case(model, rows[:20], at_least(float(model.predict(rows[3:4])[0]))))


@given(seed=st.integers(0, 10**6), folds=st.integers(2, 3))
@settings(max_examples=examples(8), deadline=None, suppress_health_check=list(HealthCheck))
def test_any_mean_of_links_has_the_black_boxs_outcomes(seed: int, folds: int) -> None:
    rows, two, _, _ = tree_data(80, d=3, seed=seed)
    rng = np.random.default_rng(seed)
    base = (forest(5), tree(3, seed), AdaBoostClassifier(n_estimators=4), LINKED["exponential"])
    method = ("sigmoid", "isotonic", "temperature")[seed % 3]
    calibrated = CalibratedClassifierCV(base[seed % 4], method=method, cv=folds)
    members = [(str(i), base[i]) for i in (seed % 2, 2, 3)]
    vote = VotingClassifier(members, voting="soft", weights=rng.uniform(0.2, 2.0, 3))
    for model in (calibrated, vote):
        try:
            check_trees(Case(model.fit(rows, two), rows[:20]))
        except Unreadable as refused:
            assert "would leave the class open" in str(refused)


@given(seed=st.integers(0, 10**6), falling=st.booleans())
@settings(max_examples=examples(12), deadline=None, suppress_health_check=list(HealthCheck))
def test_outside_what_is_unsure_any_sums_agree(seed: int, falling: bool) -> None:
    """Whatever sums the members have: below the range class 0 is certain, above it class 1."""
    rng = np.random.default_rng(seed)
    rows, two, _, _ = tree_data(60, d=3, seed=seed)
    model = CalibratedClassifierCV(forest(3), cv=3, method="sigmoid").fit(rows, two)
    for one in model.calibrated_classifiers_:
        calibration = one.calibrators[0]
        calibration.a_ = rng.uniform(0.5, 9.0) * (1 if falling else -1)
        calibration.b_ = -calibration.a_ * rng.uniform(0.3, 0.7)
    try:
        whole = read_trees(model)
    except Unreadable:
        return
    total, mean = np.full(2000, whole.base[0]), np.zeros(2000)
    roots = iter(whole.roots)
    for one in model.calibrated_classifiers_:
        shares = []
        for member in one.estimator.estimators_:
            leaves = np.flatnonzero(member.tree_.children_left < 0)
            chosen = rng.choice(leaves, 2000)
            total += whole.values[next(roots) + chosen, 0]
            shares.append(member.tree_.value[chosen, 0, 1])
        mean += one.calibrators[0].predict(np.mean(shares, axis=0)) / 3
    assert (mean[total <= whole.unsure[0]] <= 0.5).all()
    assert (mean[total >= whole.unsure[1]] > 0.5).all()
    assert (total <= whole.unsure[0]).any() or (total >= whole.unsure[1]).any()


def test_one_sigmoid_for_each_of_several_classes_is_a_sum_for_each() -> None:
    for base in ("forest", "boosted", "ada", "tree"):
        model = CalibratedClassifierCV(BASES[base], ensemble=False, cv=2).fit(X, THREE)
        for outcome in (0, 1, 2):
            check_trees(Case(model, X[:60], outcome))


def test_what_is_no_sum_of_leaves_is_a_reason() -> None:
    neighbours = KNeighborsClassifier()
    unread = VotingClassifier([("forest", forest()), ("near", neighbours)]).fit(X, TWO)
    assert reason(unread) == (
        "a member of VotingClassifier is not read: KNeighborsClassifier is not a tree model that "
        "suffice can read"
    )
    hard = VotingClassifier([("forest", forest()), ("tree", tree())]).fit(X, TWO)
    assert reason(hard) == (
        "VotingClassifier counts the vote of RandomForestClassifier, which is the winner of sums "
        "and no sum itself: votes of single trees are read; voting='soft' is"
    )
    members = [("forest", forest()), ("boosted", HistGradientBoostingClassifier(max_iter=5))]
    soft = VotingClassifier(members, voting="soft").fit(X, THREE)
    assert reason(soft) == (
        "VotingClassifier averages the probabilities of 3 classes, and those of "
        "HistGradientBoostingClassifier are no sums of leaves: that is read for two classes"
    )
    votes = AdaBoostClassifier(forest(3), n_estimators=2).fit(X, TWO)
    assert reason(votes) == (
        "AdaBoostClassifier counts the vote of RandomForestClassifier, which is the winner of sums "
        "and no sum itself: votes of single trees are read"
    )
    assert reason(AdaBoostRegressor(n_estimators=3).fit(X, NUMBER)) == (
        "AdaBoostRegressor predicts the weighted median of its trees, which is no sum"
    )
    trees = [(name, DecisionTreeRegressor(max_depth=2)) for name in "ab"]
    against = VotingRegressor(trees, weights=[1, -0.5]).fit(X, NUMBER)
    assert reason(against) == "VotingRegressor has negative weights"


def test_calibrations_that_are_not_read_say_why() -> None:
    three = CalibratedClassifierCV(forest(), cv=3).fit(X, THREE)
    assert reason(three) == (
        "CalibratedClassifierCV of 3 classes averages 3 calibrations: ensemble=False fits one"
    )
    steps = CalibratedClassifierCV(forest(), method="isotonic", ensemble=False, cv=2).fit(X, THREE)
    assert reason(steps) == (
        "CalibratedClassifierCV of 3 classes is read with method='sigmoid', not with 'isotonic'"
    )
    twice = VotingClassifier(
        [("once", CalibratedClassifierCV(forest(), ensemble=False, cv=2)), ("tree", tree())],
        voting="soft",
    ).fit(X, TWO)
    assert reason(twice) == (
        "VotingClassifier averages what CalibratedClassifierCV has averaged or calibrated before"
    )


def test_a_mean_that_would_be_open_nearly_everywhere_is_a_reason() -> None:
    """Two calibrations that jump, each at its own place: what one says the other may undo."""
    model = CalibratedClassifierCV(forest(20), method="isotonic", cv=2).fit(X, TWO)
    for one in model.calibrated_classifiers_:
        steps = np.array([0.0, 0.45, 0.55, 1.0])
        one.calibrators[0].fit(steps, np.array([0.0, 0.0, 1.0, 1.0]))
    assert reason(model) == (
        "CalibratedClassifierCV averages 2 probabilities that are no sums of leaves, and 45% of "
        "what their sums can be would leave the class open"
    )


@pytest.mark.parametrize(
    "model", [AdaBoostClassifier(n_estimators=4), BaggingClassifier(n_estimators=4)]
)
def test_the_explainer_reads_them_as_well(model: Any) -> None:
    found = Explainer(model.fit(X, TWO), X).explain(X[0])
    assert found.provenance.evaluator == "trees", found.provenance.note
