"""The tree engine gives the black box's outcomes, exactly, for every model it says it can read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from sklearn.base import clone
from sklearn.compose import make_column_transformer
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
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from threadpoolctl import threadpool_limits

from suffice.evaluate.trees import blocks, engine, read_trees
from suffice.evaluate.trees.blocks import SkiRental, choose_kernel
from suffice.evaluate.trees.margins import read_event
from suffice.evaluate.trees.problem import Problem, make_problem
from suffice.target import at_least, at_most, versus, within
from tests.engine_cases import KERNELS, Case, check_trees, swept, tree_data


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """On a busy machine, small fits by several OpenMP threads wait for each other for seconds."""
    with threadpool_limits(1):
        yield


CLASSIFIERS = {
    "tree": DecisionTreeClassifier(max_depth=4, random_state=0),
    "forest": RandomForestClassifier(10, random_state=0),
    "extra": ExtraTreesClassifier(10, max_depth=4, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=8, random_state=0),
    "histogram": HistGradientBoostingClassifier(max_iter=8, min_samples_leaf=5, random_state=0),
}
REGRESSORS = {
    "tree": DecisionTreeRegressor(max_depth=4, random_state=0),
    "forest": RandomForestRegressor(8, random_state=0),
    "extra": ExtraTreesRegressor(8, max_depth=4, random_state=0),
    "boosting": GradientBoostingRegressor(n_estimators=8, random_state=0),
    "histogram": HistGradientBoostingRegressor(max_iter=8, min_samples_leaf=5, random_state=0),
}


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_two_classes_have_the_black_boxs_outcomes(name: str, kernel: str) -> None:
    X, y, _, _ = tree_data()
    model = CLASSIFIERS[name].fit(X, y)
    check_trees(Case(model, X), kernel)
    check_trees(Case(model, X, versus(0, 1)), kernel)
    check_trees(Case(model, X, at_least(1)), kernel)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_three_named_classes_have_the_black_boxs_outcomes(name: str, kernel: str) -> None:
    X, _, y, _ = tree_data()
    labels = np.array(["low", "middle", "high"])[y]
    model = CLASSIFIERS[name].fit(X, labels)
    for outcome in (None, "high", "middle", "low"):
        check_trees(Case(model, X, outcome), kernel)


def test_labels_that_are_dates_are_told_apart() -> None:
    X, y, _, _ = tree_data()
    days = np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[ns]")
    for name in ("tree", "forest"):
        check_trees(Case(clone(CLASSIFIERS[name]).fit(X, days[y]), X, days[1]))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", REGRESSORS)
def test_numbers_have_the_black_boxs_outcomes(name: str, kernel: str) -> None:
    X, _, _, y = tree_data()
    model = REGRESSORS[name].fit(X, y)
    at_a_row = float(model.predict(X)[7])
    for outcome in (at_least(1.0), at_most(-2.0), within(4.0), at_least(at_a_row)):
        check_trees(Case(model, X, outcome), kernel)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", ["tree", "forest", "histogram"])
def test_missing_values_go_where_the_library_sends_them(name: str, kernel: str) -> None:
    X, two, three, number = tree_data(missing=True)
    assert np.isnan(X[0]).any() or np.isnan(X[1]).any()
    check_trees(Case(CLASSIFIERS[name].fit(X, two), X), kernel)
    check_trees(Case(CLASSIFIERS[name].fit(X, three), X), kernel)
    check_trees(Case(REGRESSORS[name].fit(X, number), X, at_least(0.0)), kernel)


@pytest.mark.parametrize("kernel", KERNELS)
def test_missing_values_go_right_where_training_saw_none(kernel: str) -> None:
    X, y, _, _ = tree_data()
    model = CLASSIFIERS["histogram"].fit(X, y)
    check_trees(Case(model, tree_data(missing=True)[0]), kernel)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("as_frame", [True, False])
def test_categorical_splits_of_histogram_boosting_are_read(as_frame: bool, kernel: str) -> None:
    X, y, _, _ = tree_data(300)
    kind = np.random.default_rng(1).integers(6, size=300)
    y = np.where(np.isin(kind, [1, 4]), y, 1 - y)
    if as_frame:  # a category in the middle: the model puts categorical columns first
        rows = pd.DataFrame(X[:, :3], columns=["a", "b", "c"])
        rows["kind"] = pd.Categorical(np.array(list("uvwxyz"))[kind])
        rows["e"] = X[:, 4]
        model = HistGradientBoostingClassifier(
            max_iter=8, min_samples_leaf=3, categorical_features="from_dtype", random_state=0
        )
    else:
        rows = np.column_stack([X[:, :3], kind, X[:, 4]]).astype(float)
        rows[5, 3] = np.nan
        model = HistGradientBoostingClassifier(
            max_iter=8, min_samples_leaf=3, categorical_features=[3], random_state=0
        )
    model.fit(rows[20:], y[20:])
    assert read_trees(model).tests.categories
    check_trees(Case(model, rows), kernel)


@pytest.mark.parametrize("kernel", KERNELS)
def test_unknown_categories_go_with_the_missing(kernel: str) -> None:
    X, y, _, _ = tree_data(200)
    X[:, 1] = np.random.default_rng(2).integers(5, size=200)
    model = HistGradientBoostingClassifier(
        max_iter=5, min_samples_leaf=3, categorical_features=[1], random_state=0
    ).fit(X, y)
    rows = X[:80].copy()
    rows[::3, 1] = 9.0
    rows[1::7, 1] = -0.5
    check_trees(Case(model, rows), kernel)


@pytest.mark.parametrize("kernel", KERNELS)
def test_ties_of_pure_trees_need_no_asking(kernel: str) -> None:
    if kernel == "numba":
        pytest.importorskip("numba")
    X, y, _, _ = tree_data(seed=3)
    model = RandomForestClassifier(4, random_state=0).fit(X, y)
    case = Case(model, X)
    found = case.trees(kernel)
    assert sum(int(hits.sum()) for _, hits in found.counts()) == case.truth().sum()
    assert (model.predict_proba(X) == 0.5).any()  # the case at hand
    assert found.rows_predicted <= 32


@pytest.mark.parametrize("kernel", KERNELS)
def test_ties_of_mixed_leaves_are_asked_once_each(kernel: str) -> None:
    if kernel == "numba":
        pytest.importorskip("numba")
    X, y, _, _ = tree_data(seed=4)
    X = np.sign(X)
    model = ExtraTreesClassifier(6, max_depth=2, random_state=0).fit(X, y)
    rows = np.concatenate([X, X])  # every hybrid at least twice
    case = Case(model, rows)
    found = case.trees(kernel)
    assert sum(int(hits.sum()) for _, hits in found.counts()) == case.truth().sum()
    assert found.rows_predicted <= 32 + 3**5


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("model", [DecisionTreeClassifier(), RandomForestClassifier(5)])
def test_values_that_round_onto_a_threshold_fall_on_the_librarys_side(
    model: Any, kernel: str
) -> None:
    X, y, _, _ = tree_data()
    model = model.set_params(random_state=0).fit(X, y)
    read = read_trees(model)
    rows = X.copy()
    for column in range(X.shape[1]):
        limits = read.tests.threshold[read.tests.column == column]
        if len(limits):
            near = np.resize(limits, len(rows))
            steps = np.resize([0.0, 1e-9, -1e-9, 1e-16], len(rows))
            rows[:, column] = near * (1 + steps)
    check_trees(Case(model, rows), kernel)


@pytest.mark.parametrize("kernel", KERNELS)
def test_trees_that_never_split_are_read(kernel: str) -> None:
    X, _, _, number = tree_data()
    flat = DecisionTreeRegressor().fit(X, np.ones(len(X)))
    assert flat.tree_.node_count == 1
    check_trees(Case(flat, X, at_least(0.5)), kernel)
    forest = RandomForestRegressor(3, random_state=0).fit(X, np.ones(len(X)))
    check_trees(Case(forest, X, at_least(1.0)), kernel)
    stump = DecisionTreeRegressor(max_depth=1).fit(X, number)
    check_trees(Case(stump, X, within(1.0)), kernel)


@pytest.mark.parametrize("kernel", KERNELS)
def test_constant_features_and_few_references_make_no_difference(kernel: str) -> None:
    X, y, _, _ = tree_data()
    X[:, 2] = 7.0
    model = CLASSIFIERS["forest"].fit(X, y)
    for n in (1, 7, 8, 9, 33):
        check_trees(Case(model, X[: n + 1]), kernel)


@pytest.mark.parametrize("kernel", KERNELS)
def test_groups_of_columns_are_players(kernel: str) -> None:
    X, y, _, _ = tree_data(d=7)
    model = CLASSIFIERS["extra"].fit(X, y)
    case = Case(model, X, groups={"both": ["x1", "x4"], "rest": ["x2", "x5", "x6"]})
    assert case.hybrids.d == 4
    check_trees(case, kernel)


@pytest.mark.parametrize("kernel", KERNELS)
def test_frames_of_several_dtypes_are_read(kernel: str) -> None:
    X, y, _, _ = tree_data()
    frame = pd.DataFrame(X, columns=list("abcde")).astype({"b": "int8", "c": "float32"})
    model = CLASSIFIERS["forest"].fit(frame, y)
    check_trees(Case(model, frame), kernel)


@pytest.mark.parametrize("kernel", KERNELS)
def test_slabs_blocks_and_order_make_no_difference(
    kernel: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from suffice.evaluate.trees import problem

    X, y, _, _ = tree_data(d=7, n=100)
    case = Case(CLASSIFIERS["extra"].fit(X, y), X)
    whole = swept(case.trees(kernel))
    monkeypatch.setattr(engine, "_SLAB_CELLS", 256)
    monkeypatch.setattr(engine, "_BLOCK_BYTES", 200)
    monkeypatch.setattr(problem, "_WIDE_PLAYERS", 3)
    monkeypatch.setattr(problem, "_SORTED_HYBRIDS", 0)
    assert len(list(case.trees(kernel).sweep())) > 1
    assert (swept(case.trees(kernel)) == whole).all()


def test_one_way_accumulation_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    from suffice.evaluate.trees import compiled

    X, _, y, _ = tree_data()
    case = Case(CLASSIFIERS["extra"].fit(X, y), X)
    both = swept(case.trees("numba"))
    monkeypatch.setattr(compiled, "_TWO_WAY_PLAYERS", 0)
    assert (swept(case.trees("numba")) == both).all()


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_sweeps_time_is_told_without_asking_the_model(kernel: str) -> None:
    if kernel == "numba":
        pytest.importorskip("numba")
    X, y, _, _ = tree_data()
    found = Case(CLASSIFIERS["forest"].fit(X, y), X).trees(kernel)
    assert 0 < found.sweep_seconds() < 60
    assert found.rows_predicted == 0


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    d=st.integers(1, 6),
    trees=st.integers(1, 6),
    depth=st.integers(1, 6),
    levels=st.integers(1, 5),
)
def test_any_forest_has_the_black_boxs_outcomes(
    seed: int, d: int, trees: int, depth: int, levels: int
) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(levels, size=(40, d)).astype(float)
    y = rng.integers(3, size=40)
    model = ExtraTreesClassifier(trees, max_depth=depth, random_state=seed).fit(X, y)
    case = Case(model, X, int(y[0]))
    want = case.truth()
    assert (swept(case.trees("numpy")) == want).all()
    if blocks.find_numba():
        assert (swept(case.trees("numba")) == want).all()


def test_a_reading_that_proves_wrong_is_given_up() -> None:
    X, y, _, _ = tree_data()
    case = Case(CLASSIFIERS["forest"].fit(X, y), X)
    read = read_trees(case.model)
    wrong = replace(read, values=read.values[:, ::-1])
    found = case.trees("numpy", wrong)
    assert (swept(found) == case.truth()).all()
    assert found.name == "trees"  # it is what it is, and says what it had to do
    assert found.note == (
        "the trees, as they were read, disagree with the model's predictions, so that it was asked "
        "about every hybrid"
    )
    assert found.rows_predicted > 1000


def test_single_hybrids_are_asked() -> None:
    X, y, _, _ = tree_data()
    case = Case(CLASSIFIERS["forest"].fit(X, y), X)
    found = case.trees()
    held = np.array([[True, False, True, False, False]])
    assert (found.outcomes(held) == case.truth()[5]).all()
    assert found.outcomes_of(held, np.array([3]))[0] == case.truth()[5, 3]
    assert found.rows_predicted


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("final", [RandomForestClassifier(8), HistGradientBoostingClassifier()])
def test_pipelines_that_keep_columns_apart_are_read(final: Any, kernel: str) -> None:
    X, y, _, _ = tree_data()
    rows = pd.DataFrame(X, columns=list("abcde"))
    rows["kind"] = np.random.default_rng(2).choice(["r", "s", "t"], len(rows))
    rows.loc[4, "b"] = np.nan
    columns = make_column_transformer(
        (OneHotEncoder(), ["kind"]),
        (make_pipeline(SimpleImputer(), StandardScaler()), list("abc")),
        ("drop", ["d"]),
        remainder="passthrough",
    )
    model = make_pipeline(columns, final.set_params(random_state=0)).fit(rows, y)
    check_trees(Case(model, rows), kernel)
    check_trees(Case(model, rows, groups={"two": ["a", "kind"]}), kernel)


def problem_of(case: Case) -> Problem:
    read = read_trees(case.model)
    return make_problem(read, read_event(read, case.target.event), case.hybrids)


def test_skis_are_bought_once_the_rents_would_exceed_their_price() -> None:
    rental = SkiRental(price=1.0)
    assert not rental.should_buy(0.6)
    rental.pay(0.6)
    assert not rental.should_buy(0.4)
    assert rental.should_buy(0.5)
    assert SkiRental(price=1.0).should_buy(1.1)


def test_numba_is_started_only_where_it_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    X, y, _, _ = tree_data()
    problem = problem_of(Case(CLASSIFIERS["tree"].fit(X, y), X))
    monkeypatch.setattr(blocks, "numba_is_loaded", lambda: False)
    dear, paid_up = SkiRental(price=1e9), SkiRental(price=1e9)
    assert choose_kernel(problem, dear) == "numpy"
    paid_up.pay(1e9)  # many small questions add up
    assert choose_kernel(problem, paid_up) == "numba"
    monkeypatch.setattr(blocks, "load_numba", lambda: False)
    assert choose_kernel(problem, paid_up) == "numpy"
    monkeypatch.setattr(blocks, "load_numba", never)
    monkeypatch.setattr(blocks, "numba_is_loaded", lambda: True)
    assert choose_kernel(problem, dear) == "numba"
    monkeypatch.setattr(blocks, "find_numba", lambda: False)
    assert choose_kernel(problem, paid_up) == "numpy"


def never() -> bool:
    raise AssertionError("numba is loaded already")


def test_a_numba_that_does_not_load_is_done_without(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> None:
        raise ImportError(f"{name} needs another numpy")

    monkeypatch.setattr(blocks, "import_module", refuse)
    assert not blocks.load_numba()


def test_leaves_too_many_to_keep_are_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    from suffice.evaluate.trees import compiled

    X, _, y, _ = tree_data()
    case = Case(CLASSIFIERS["extra"].fit(X, y), X)
    kept = swept(case.trees("numba"))
    monkeypatch.setattr(compiled, "_LEAVES_KEPT", 50)
    monkeypatch.setattr(compiled, "_FIRST_ROOM", 16)
    monkeypatch.setattr(engine, "_SLAB_CELLS", 512)
    assert (swept(case.trees("numba")) == kept).all()
