"""A library's own additions are repeated to the bit, so that ties need no call of the model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from suffice import Explainer, at_least, datasets, versus
from suffice.context.references import CachedRows
from suffice.engines.trees import TreeEngine, TreeModel, read_trees
from suffice.engines.trees.encoded_input import encode_input
from suffice.engines.trees.tree_engine import read_library_sums, scores_match, sum_like_library
from suffice.engines.work import numba_is_installed
from suffice.tables import as_table
from suffice.target import at_most, within
from tests.effort import examples
from tests.engines.engine_cases import KERNELS, Case, sweep_outcomes, tree_data


def xgboost(kind: str, **options: Any) -> Any:
    library = pytest.importorskip("xgboost")
    return getattr(library, kind)(n_jobs=1, **options)


def lightgbm(kind: str, **options: Any) -> Any:
    library = pytest.importorskip("lightgbm")
    return getattr(library, kind)(n_jobs=1, min_child_samples=2, verbose=-1, **options)


CLASSIFIERS = {
    "forest": lambda trees, seed: RandomForestClassifier(trees, max_depth=3, random_state=seed),
    "extra": lambda trees, seed: ExtraTreesClassifier(trees, max_depth=3, random_state=seed),
    "boosting": lambda trees, seed: GradientBoostingClassifier(
        n_estimators=trees, max_depth=2, random_state=seed
    ),
    "exponential": lambda trees, seed: GradientBoostingClassifier(
        n_estimators=trees, max_depth=2, loss="exponential", random_state=seed
    ),
    "histogram": lambda trees, seed: HistGradientBoostingClassifier(
        max_iter=trees, max_depth=2, min_samples_leaf=2, random_state=seed
    ),
    "xgboost": lambda trees, seed: xgboost(
        "XGBClassifier", n_estimators=trees, max_depth=3, random_state=seed
    ),
    "xgboost forest": lambda trees, seed: xgboost(
        "XGBRFClassifier", n_estimators=trees, max_depth=3, random_state=seed
    ),
    "lightgbm": lambda trees, seed: lightgbm("LGBMClassifier", n_estimators=trees),
    "lightgbm forest": lambda trees, seed: lightgbm(
        *("LGBMClassifier",),
        n_estimators=trees,
        boosting_type="rf",
        bagging_freq=1,
        bagging_fraction=0.7,
        random_state=seed,
    ),
}
REGRESSORS = {
    "forest": lambda trees, seed: RandomForestRegressor(trees, max_depth=3, random_state=seed),
    "extra": lambda trees, seed: ExtraTreesRegressor(trees, max_depth=3, random_state=seed),
    "boosting": lambda trees, seed: GradientBoostingRegressor(
        n_estimators=trees, max_depth=2, random_state=seed
    ),
    "histogram": lambda trees, seed: HistGradientBoostingRegressor(
        max_iter=trees, max_depth=2, min_samples_leaf=2, random_state=seed
    ),
    "xgboost": lambda trees, seed: xgboost(
        "XGBRegressor", n_estimators=trees, max_depth=3, random_state=seed
    ),
    "lightgbm": lambda trees, seed: lightgbm("LGBMRegressor", n_estimators=trees),
}


def sums_of_all(case: Case, kernel: Any) -> tuple[Any, Any]:
    """The ensemble, and the sums of every hybrid in the order of `all_rows`."""
    model = TreeModel(read_trees(case.model, case.hybrids.pool.names))
    problem = encode_input(model.ensemble, model.event_margins(case.target.event), case.hybrids)
    return model.ensemble, sum_like_library(problem, *all_hybrids(case), kernel)


def all_hybrids(case: Case) -> tuple[Any, Any]:
    n = case.hybrids.n
    return np.repeat(case.held, n, axis=0), np.tile(np.arange(n), len(case.held))


def check_replay(case: Case) -> Any:
    """Scores are the library's to the bit, and what is sure is the model's own answer.

    Gives the sums.
    """
    ensemble = read_trees(case.model, case.hybrids.pool.names)
    scores = ensemble.replay.scores(case.hybrids.rows(*all_hybrids(case)))
    truth = case.truth().ravel()
    for kernel in KERNELS:
        if kernel == "numba" and not numba_is_installed():
            continue
        ensemble, sums = sums_of_all(case, kernel)
        assert scores_match(ensemble, sums, scores), kernel
        holds, sure = read_library_sums(ensemble, case.target.event, sums)
        np.testing.assert_array_equal((holds == case.y)[sure], truth[sure], kernel)
        assert sure.mean() > 0.9
    return sums


def rows_of_few_values(seed: int, d: int, levels: int, classes: int) -> tuple[Any, Any]:
    """Labels that are symmetrical in the columns: many hybrids then tie."""
    rng = np.random.default_rng(seed)
    X = rng.integers(levels, size=(60, d)).astype(float)
    X[-classes:, 0] = 0
    y = rng.integers(classes, size=60)
    y[-classes:] = np.arange(classes)
    return X, y


@pytest.mark.parametrize("name", CLASSIFIERS)
@settings(max_examples=examples(8), deadline=None)
@given(
    seed=st.integers(0, 1000),
    trees=st.integers(1, 12),
    d=st.integers(1, 5),
    levels=st.integers(2, 3),
    classes=st.integers(2, 3),
)
def test_scores_of_classes_are_the_librarys_to_the_bit(
    name: str, seed: int, trees: int, d: int, levels: int, classes: int
) -> None:
    classes = 2 if name == "exponential" else classes
    X, y = rows_of_few_values(seed, d, levels, classes)
    model = CLASSIFIERS[name](trees, seed).fit(X, y)
    check_replay(Case(model, X[:40], int(y[0])))
    if classes == 2:
        check_replay(Case(model, X[:40], versus(0, 1)))
        check_replay(Case(model, X[:40], versus(1, 0)))


@pytest.mark.parametrize("name", REGRESSORS)
@settings(max_examples=examples(8), deadline=None)
@given(
    seed=st.integers(0, 1000),
    trees=st.integers(1, 12),
    d=st.integers(1, 5),
    at=st.integers(0, 39),
)
def test_values_are_the_librarys_to_the_bit(
    name: str, seed: int, trees: int, d: int, at: int
) -> None:
    X, y = rows_of_few_values(seed, d, 3, 3)
    model = REGRESSORS[name](trees, seed).fit(X, y / 3)
    threshold = float(model.predict(X)[at])  # the value of a row: a tie with itself
    for outcome in (at_least(threshold), at_most(threshold), within(0.1)):
        check_replay(Case(model, X[:40], outcome))


def balanced() -> tuple[Any, Any]:
    """All rows of zeros and ones but those with as many of each, and which there are more of."""
    X = (np.arange(64)[:, None] >> np.arange(6) & 1).astype(float)
    X = X[X.sum(axis=1) != 3]
    return X, (X.sum(axis=1) > 3).astype(int)


def tied() -> Case:
    """A forest of stumps, one column's as good as another's: its hybrids are tied by the dozen."""
    X, y = balanced()
    model = ExtraTreesClassifier(12, max_depth=1, max_features=1, random_state=2).fit(X, y)
    return Case(model, X[:40])


@settings(max_examples=examples(15), deadline=None)
@given(seed=st.integers(0, 1000), trees=st.integers(2, 24), depth=st.integers(1, 2))
def test_ties_that_rounding_alone_decides_fall_as_the_library_lets_them(
    seed: int, trees: int, depth: int
) -> None:
    X, y = balanced()
    for kind in (ExtraTreesClassifier, RandomForestClassifier):
        model = kind(trees, max_depth=depth, max_features=1, bootstrap=False, random_state=seed)
        check_replay(Case(model.fit(X, y), X[:30]))


def test_rounding_alone_decides_ties_either_way() -> None:
    _, sums = sums_of_all(tied(), "numpy")
    ties = np.abs(sums[:, 0] - sums[:, 1]) < 1e-9
    assert ties.sum() == 328
    assert (sums[ties, 0] < sums[ties, 1]).sum() == 124


def engine_of(case: Case, trees: TreeModel, kernel: Any = "numpy") -> TreeEngine:
    return TreeEngine(trees, case.target, case.hybrids, case.y, kernel)


def tree_model(case: Case) -> TreeModel:
    return TreeModel(read_trees(case.model, case.hybrids.pool.names))


@pytest.mark.parametrize("kernel", KERNELS)
def test_ties_need_no_call_once_the_model_is_known(kernel: str) -> None:
    if kernel == "numba":
        pytest.importorskip("numba")
    case = tied()
    trees, truth = tree_model(case), case.truth()
    assert (sweep_outcomes(engine_of(case, trees, kernel)) == truth).all()
    assert trees.sums_match
    again = engine_of(case, trees, kernel)
    assert (engine_of(case, trees, kernel).outcomes(case.held) == truth).all()
    assert (sweep_outcomes(again) == truth).all()
    assert again.rows_predicted <= 8


def test_german_ties_are_the_forests_own(data_home: Any) -> None:
    X, y = datasets.german_credit(data_home)
    model = ExtraTreesClassifier(random_state=0, max_depth=15).fit(X[:800], y[:800])
    rows = np.concatenate([[998], np.flatnonzero(y != y[998])[:40]])
    case = Case(model, X.iloc[rows])
    sums = check_replay(case)
    assert (np.abs(sums[:, 0] - sums[:, 1]) < 1e-9).sum() > 50
    holds, sure = read_library_sums(
        read_trees(model, case.hybrids.pool.names), case.target.event, sums
    )
    assert sure.all()
    np.testing.assert_array_equal(holds == case.y, case.truth().ravel())


def test_a_replay_that_proves_wrong_is_not_used() -> None:
    """Leaves off by less than the integers see: reading is right, sums are not the library's."""
    case = tied()
    read = read_trees(case.model)
    trees = TreeModel(replace(read, values=read.values * (1 + 2.0**-50)))
    found = engine_of(case, trees)
    assert (sweep_outcomes(found) == case.truth()).all()
    assert trees.sums_match is False
    assert found.note is None
    before = found.rows_predicted
    again = engine_of(case, trees)
    assert (sweep_outcomes(again) == case.truth()).all()
    assert 0 < again.rows_predicted <= before  # each distinct tie is asked for


def test_a_forest_with_threads_predicts_its_ties() -> None:
    """It adds in the order in which they finish, and so may answer otherwise the next time."""
    case = tied()
    _, sums = sums_of_all(case, "numpy")
    decided = np.abs(sums[:, 0] - sums[:, 1]) > 1e-9
    truth = case.truth().ravel()
    for jobs in (2, -1):
        assert read_trees(case.model.set_params(n_jobs=jobs)).replay is None
        trees = tree_model(case)
        assert trees.sums_match is False
        found = engine_of(case, trees)
        assert (found.outcomes(case.held).ravel() == truth)[decided].all()
        assert found.rows_predicted >= 20  # so many distinct rows are tied
    assert read_trees(case.model.set_params(n_jobs=1)).replay is not None


def test_models_that_add_up_in_other_ways_predict_their_ties() -> None:
    from sklearn.ensemble import BaggingClassifier
    from sklearn.tree import DecisionTreeClassifier

    X, y, _, _ = tree_data()
    bag = BaggingClassifier(DecisionTreeClassifier(max_depth=2), 6, random_state=0).fit(X, y)
    assert read_trees(bag).replay is None
    dart = xgboost("XGBClassifier", booster="dart", n_estimators=3).fit(X, y)
    assert read_trees(dart).replay is None


def test_pipelines_and_missing_values_are_repeated_to_the_bit() -> None:
    X, y, _, _ = tree_data(missing=True)
    for final in (
        RandomForestClassifier(9, max_depth=3, random_state=0),
        HistGradientBoostingClassifier(max_iter=9, min_samples_leaf=3, random_state=0),
    ):
        check_replay(Case(final.fit(X, y), X[:50]))
        check_replay(Case(make_pipeline(StandardScaler(), final).fit(X, y), X[:50]))


def test_boosters_by_themselves_are_repeated_to_the_bit() -> None:
    X, y, three, _ = tree_data()
    for labels in (y, three):
        check_replay(Case(CLASSIFIERS["xgboost"](9, 0).fit(X, labels).get_booster(), X))
        check_replay(Case(CLASSIFIERS["lightgbm"](9, 0).fit(X, labels).booster_, X))


def test_margins_that_a_link_might_round_are_left_to_the_model() -> None:
    X, y, three, _ = tree_data()
    for name, unit in (("lightgbm", 2.0**-53), ("xgboost", 2.0**-24)):
        ensemble = read_trees(CLASSIFIERS[name](3, 0).fit(X, y))
        case = Case(CLASSIFIERS[name](3, 0).fit(X, y), X, 1)
        margins = unit * np.array([[-9.0], [0.0], [0.9], [2.0], [4.0]])
        holds, sure = read_library_sums(ensemble, case.target.event, margins)
        assert sure.tolist() == [True, True, True, False, True]
        assert holds.tolist() == [False, False, False, False, True]
        model = CLASSIFIERS[name](3, 0).fit(X, three)
        near = np.array([[0.0, 0.5, 0.5], [0.5 - unit, 0.5, 0.0], [0.5, 0.5 - unit, 0.0]])
        holds, sure = read_library_sums(read_trees(model), Case(model, X, 1).target.event, near)
        assert sure.tolist() == [True, False, True]
        assert holds.tolist() == [True, True, False]


def test_a_reading_is_checked_once_for_all_inputs_and_now_and_then() -> None:
    X, y, _, _ = tree_data()
    model = RandomForestClassifier(10, random_state=0).fit(X, y)
    trees = TreeModel(read_trees(model))
    asked = []
    for i in range(20):
        case = Case(model, np.roll(X, -i, axis=0))
        found = engine_of(case, trees)
        for _ in found.sweep():
            pass
        asked.append(found.rows_predicted)
    assert 20 <= asked[0] <= 32
    assert np.flatnonzero(asked).tolist() == [0, 3, 15]
    assert max(asked[1:]) <= 8


def test_a_reading_that_is_denied_late_is_given_up_for_all_that_follow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, y, _, _ = tree_data()
    model = RandomForestClassifier(10, random_state=0).fit(X, y)
    trees = TreeModel(read_trees(model))
    first, second, third = (Case(model, np.roll(X, -i, axis=0)) for i in range(3))
    assert (sweep_outcomes(engine_of(first, trees)) == first.truth()).all()
    assert not trees.disagrees
    # The library turns out to be of another mind: its leaves are read the wrong way round.
    trees.ensemble = replace(trees.ensemble, values=trees.ensemble.values[:, ::-1])
    trees._readings.clear()
    monkeypatch.setattr(trees.checks, "count", lambda hybrids: 8)
    for case in (second, third):
        found = engine_of(case, trees)
        assert (found.note is not None) == (case is third)
        assert (sweep_outcomes(found) == case.truth()).all()
        assert found.note is not None and "disagree with the model's predictions" in found.note
    assert trees.disagrees


def test_explanations_of_a_tied_forest_predict_no_row_after_the_first() -> None:
    case = tied()
    X, _ = balanced()
    explainer = Explainer(case.model, X, references="all", engine="trees")
    boxed = Explainer(case.model, X, references="all", engine="blackbox")
    rows = []
    for i in range(6):
        e, want = explainer.explain(X[i]), boxed.explain(X[i])
        assert (e.keep.tally.dense == want.keep.tally.dense).all()
        rows.append(e.provenance.rows_predicted)
    assert rows[0] > 0
    assert rows.count(0) >= 3


def test_the_inputs_own_shares_need_no_call_once_they_were_the_librarys_to_the_bit() -> None:
    X, y, _, _ = tree_data()
    model = RandomForestClassifier(9, max_depth=4, random_state=0).fit(X, y)
    calls, ask = [], model.predict_proba
    trees = TreeModel(read_trees(model))
    theirs = ask(X)

    def counted(rows: Any) -> Any:
        calls.append(len(rows))
        return ask(rows)

    object.__setattr__(trees.ensemble.replay, "scores", lambda rows: counted(rows.native))
    for i in range(30):
        assert (trees.class_shares(CachedRows(as_table(X[i : i + 1])))[0] == theirs[i]).all()
    assert sum(calls) == 8
    # Leaves that are not quite the model's are noticed at the first input.
    wrong = replace(trees.ensemble, values=trees.ensemble.values * (1 + 2.0**-50))
    other = TreeModel(wrong)
    assert (other.class_shares(CachedRows(as_table(X[:1])))[0] == theirs[0]).all()
    assert other.sums_match is False and other.class_shares(CachedRows(as_table(X[1:2])))[0] is None


def test_only_forests_have_class_shares_for_rows_that_they_take() -> None:
    X, y, _, _ = tree_data()
    boosted = GradientBoostingClassifier(n_estimators=3).fit(X, y)
    assert TreeModel(read_trees(boosted)).class_shares(CachedRows(as_table(X[:1])))[0] is None
    threads = RandomForestClassifier(3, n_jobs=2, random_state=0).fit(X, y)
    assert TreeModel(read_trees(threads)).class_shares(CachedRows(as_table(X[:1])))[0] is None
    forest = TreeModel(read_trees(threads.set_params(n_jobs=None)))
    few = CachedRows(as_table(X[:1, :3]))
    assert forest.class_shares(few)[0] is None  # the model will say what is wrong


def test_numbers_of_a_frame_are_cast_as_the_models_own_checks_cast_them() -> None:
    X, y, _, _ = tree_data()
    columns = {"a": X[:, 0], "b": (100 * X[:, 1]).astype(np.int64), "c": X[:, 2] * 1e-40}
    columns |= {"d": np.full(len(X), 2**62 - 2**37), "e": X[:, 3].astype(np.float32)}
    frame = pd.DataFrame(columns)
    model = RandomForestClassifier(3, random_state=0).fit(frame, y)
    matrix = read_trees(model).matrix
    np.testing.assert_array_equal(matrix(as_table(frame)), model._validate_X_predict(frame))
    for bad in (np.inf, 1e300):  # refused by the model, which says why
        with np.errstate(over="ignore"), pytest.raises(ValueError, match="too large"):
            matrix(as_table(frame.assign(a=bad)))
    with pytest.raises(ValueError, match="feature names"):
        matrix(as_table(frame[["b", "a", "c", "d", "e"]]))
    missing = as_table(frame.assign(a=np.nan))
    assert np.isnan(matrix(missing)[:, 0]).all()


def test_explanations_say_the_models_own_prediction_and_probability() -> None:
    X, y, _, _ = tree_data()
    model = RandomForestClassifier(9, max_depth=4, random_state=0).fit(X, y)
    explainer = Explainer(model, X, engine="trees")
    for i in range(12):
        e = explainer.explain(X[i])
        assert e.prediction == model.predict(X[i : i + 1])[0]
        assert e.score.value == model.predict_proba(X[i : i + 1])[0].max()
