"""The tree engine gives the black box's outcomes, exactly, for every model it says it can read."""

from __future__ import annotations

import os
import tracemalloc
import warnings
from dataclasses import replace
from itertools import pairwise
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

from suffice.engines import work as backend
from suffice.engines.trees import lattice_sweep as blocks, read_trees, tree_engine as engine
from suffice.engines.trees.encoded_input import (
    ThresholdRanks,
    _zero_common_leaves,
    read_event_margins,
)
from suffice.engines.work import SkiRental, choose_backend, estimate_seconds
from suffice.factors.lattice import held_of_masks
from suffice.target import at_least, at_most, versus, within
from tests.effort import examples
from tests.engines.engine_cases import (
    KERNELS,
    Case,
    check_lists,
    check_trees,
    sweep_outcomes,
    tree_data,
)

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


def test_labels_that_are_dates_are_distinguished() -> None:
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
    assert sum(int(hits.sum()) for _, hits in found.sweep_counts()) == case.truth().sum()
    assert (model.predict_proba(X) == 0.5).any()  # the case at hand
    assert found.rows_predicted <= 32


@pytest.mark.parametrize("kernel", KERNELS)
def test_ties_of_mixed_leaves_are_predicted_once_each(kernel: str) -> None:
    if kernel == "numba":
        pytest.importorskip("numba")
    X, y, _, _ = tree_data(seed=4)
    X = np.sign(X)
    model = ExtraTreesClassifier(6, max_depth=2, random_state=0).fit(X, y)
    rows = np.concatenate([X, X])  # every hybrid at least twice
    case = Case(model, rows)
    found = case.trees(kernel)
    assert sum(int(hits.sum()) for _, hits in found.sweep_counts()) == case.truth().sum()
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
    from suffice.engines.trees import encoded_input as problem

    X, y, _, _ = tree_data(d=7, n=100)
    case = Case(CLASSIFIERS["extra"].fit(X, y), X)
    whole = sweep_outcomes(case.trees(kernel))
    monkeypatch.setattr(blocks, "_SLAB_CELLS", 256)
    monkeypatch.setattr(blocks, "_RUN_BYTES", 200)
    monkeypatch.setattr(problem, "_WIDE_PLAYERS", 3)
    monkeypatch.setattr(problem, "_SORTED_HYBRIDS", 0)
    assert len(list(case.trees(kernel).sweep())) > 1
    assert (sweep_outcomes(case.trees(kernel)) == whole).all()


def test_one_way_accumulation_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    from suffice.engines.trees import numba_blocks as compiled

    X, _, y, _ = tree_data()
    case = Case(CLASSIFIERS["extra"].fit(X, y), X)
    both = sweep_outcomes(case.trees("numba"))
    monkeypatch.setattr(compiled, "_TWO_WAY_PLAYERS", 0)
    assert (sweep_outcomes(case.trees("numba")) == both).all()


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_work_of_a_sweep_is_counted_without_asking_the_model(kernel: str) -> None:
    if kernel == "numba":
        pytest.importorskip("numba")
    X, y, _, _ = tree_data()
    found = Case(CLASSIFIERS["forest"].fit(X, y), X).trees(kernel)
    assert 0 < found.sweep_work() < 1e9
    assert found.sweep_work() == Case(CLASSIFIERS["forest"], X).trees("numpy").sweep_work()
    assert found.rows_predicted == 0


@settings(max_examples=examples(25), deadline=None)
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
    assert (sweep_outcomes(case.trees("numpy")) == want).all()
    if backend.numba_is_installed():
        assert (sweep_outcomes(case.trees("numba")) == want).all()


@pytest.mark.parametrize("kernel", KERNELS)
def test_counts_come_in_short_blocks(kernel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if kernel == "numba":
        pytest.importorskip("numba")
    X, y, _, _ = tree_data()
    case = Case(CLASSIFIERS["forest"].fit(X, y), X)
    monkeypatch.setattr(blocks, "_RUN_BYTES", 64)
    found = list(case.trees(kernel).sweep_counts())
    assert [start for start, _ in found] == list(range(0, 32, 4))
    hits = np.concatenate([hits for _, hits in found])
    np.testing.assert_array_equal(hits, case.truth().sum(axis=1))


def test_a_reading_that_proves_wrong_is_given_up() -> None:
    X, y, _, _ = tree_data()
    case = Case(CLASSIFIERS["forest"].fit(X, y), X)
    read = read_trees(case.model)
    wrong = replace(read, values=read.values[:, ::-1])
    found = case.trees("numpy", wrong)
    assert (sweep_outcomes(found) == case.truth()).all()
    assert found.name == "blackbox"
    assert found.note == (
        "the trees, as they were read, disagree with the model's predictions, so the model "
        "predicted every hybrid"
    )
    assert found.rows_predicted > 1000


def test_a_reading_that_proves_wrong_is_given_up_before_a_list_is_answered() -> None:
    X, y, _, _ = tree_data()
    case = Case(CLASSIFIERS["forest"].fit(X, y), X)
    read = read_trees(case.model)
    wrong = replace(read, values=read.values[:, ::-1])
    found, shares = case.trees("numpy", wrong), []
    assert (found.outcomes(case.held, shares.append) == case.truth()).all()
    assert sum(shares) == pytest.approx(1)
    assert found.note is not None and "disagree with the model's predictions" in found.note
    assert found.seconds_per_hybrid() == found._box.seconds_per_hybrid()
    single = case.trees("numpy", wrong)
    assert single.outcomes_of_hybrids(case.held[[5]], np.array([3]))[0] == case.truth()[5, 3]
    assert single.note == found.note
    assert (single.outcomes(case.held) == case.truth()).all()
    assert single.outcomes_of_hybrids(case.held[[6]], np.array([4]))[0] == case.truth()[6, 4]


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_reading_that_proves_wrong_late_gives_up_the_whole_list(
    kernel: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Checks that agree by chance: what was found in the same list is asked for again."""
    if kernel == "numba":
        pytest.importorskip("numba")
    X, y, _, _ = tree_data()
    case = Case(CLASSIFIERS["forest"].fit(X, y), X)
    found, shares, asked = case.trees(kernel), [], []
    monkeypatch.setattr(engine, "_ROWS_AT_ONCE", 2 * found.n)
    monkeypatch.setattr(
        found, "_resolve_verdicts", lambda *given: disagreeing(found, asked, *given)
    )
    assert (found.outcomes(case.held, shares.append) == case.truth()).all()
    assert len(asked) == 3
    assert sum(shares) == pytest.approx(1)
    assert found.note is not None


def disagreeing(found: Any, asked: list[int], verdicts: Any, *rest: Any) -> Any:
    """Wrong outcomes at first, and the model's objection the third time."""
    asked.append(len(verdicts))
    if len(asked) < 3:
        return np.ones(len(verdicts), dtype=bool)
    return found._fall_back()


def many_players(d: int, rows: int = 90) -> Case:
    """A forest on more columns than masks have bits, some values missing."""
    rng = np.random.default_rng(d)
    X = rng.normal(size=(300, d)).round(1)
    y = (X[:, :6].sum(axis=1) + X[:, -1] * X[:, -2] > 0).astype(int)
    X[rng.random(X.shape) < 0.05] = np.nan
    model = HistGradientBoostingClassifier(max_iter=12, min_samples_leaf=5, random_state=0)
    return Case(model.fit(X, y), X[:rows])


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("d", [40, 200])
def test_lists_of_many_players_have_the_black_boxs_outcomes(d: int, kernel: str) -> None:
    if kernel == "numba":
        pytest.importorskip("numba")
    case, rng = many_players(d), np.random.default_rng(0)
    held = rng.random((150, d)) < rng.random((150, 1))
    held[0], held[1] = False, True
    found, shares = case.trees(kernel), []
    assert (found.outcomes(held, shares.append) == case.box().outcomes(held)).all()
    assert sum(shares) == pytest.approx(1)
    check_lists(found, held, case.box().outcomes(held))
    assert found.note is None
    assert found.rows_predicted < 100
    assert found.outcomes(held[:0]).shape == (0, 89)
    assert found.outcomes_of_hybrids(held[:0], np.arange(0)).shape == (0,)


def test_lattices_too_large_to_sweep_are_refused_and_have_much_work() -> None:
    found = many_players(40).trees("numpy")
    assert estimate_seconds(found.sweep_work()) > 3600
    with pytest.raises(ValueError, match="at most 30 players; got 40"):
        next(found.sweep())


def test_in_many_small_lists_the_model_predicts_few_rows() -> None:
    case = many_players(40)
    found, rng = case.trees("numpy"), np.random.default_rng(0)
    held = rng.random((200, 40)) < 0.5
    truth = case.box().outcomes(held)
    for subset, outcomes in zip(held, truth, strict=True):
        assert (found.outcomes(subset[None]) == outcomes).all()
    assert found.rows_predicted <= 32 + 8 * 12


@pytest.mark.parametrize("kernel", KERNELS)
def test_hybrids_in_doubt_are_predicted_once(kernel: str) -> None:
    if kernel == "numba":
        pytest.importorskip("numba")
    X, y, _, _ = tree_data(seed=4)
    X = np.sign(X)
    case = Case(ExtraTreesClassifier(6, max_depth=2, random_state=0).fit(X, y), X)
    found, truth = case.trees(kernel), case.truth()
    for _ in range(3):
        for subset, outcomes in zip(case.held, truth, strict=True):
            assert (found.outcomes(subset[None]) == outcomes).all()
    assert found.rows_predicted <= 32 + 3**5 + 8 * 5


@pytest.mark.parametrize("kernel", KERNELS)
def test_pieces_of_a_list_make_no_difference(kernel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if kernel == "numba":
        pytest.importorskip("numba")
    from suffice.engines.trees import subset_lists as lists

    X, _, y, _ = tree_data(d=8)
    case = Case(CLASSIFIERS["forest"].fit(X, y), X)
    whole = case.trees(kernel).outcomes(case.held)
    monkeypatch.setattr(engine, "_ROWS_AT_ONCE", 1000)
    monkeypatch.setattr(lists, "_MAX_WALK_BYTES", 0)
    monkeypatch.setattr(lists, "_MIN_WORK_FOR_THREADS", 0.0)
    monkeypatch.setattr(lists, "_ENTRIES_AT_ONCE", 7)
    pieces, shares = case.trees(kernel), []
    assert (pieces.outcomes(case.held, shares.append) == whole).all()
    assert sum(share > 0 for share in shares) == 32
    assert sum(shares) == pytest.approx(1)


def test_a_limit_raised_by_a_tick_ends_a_list() -> None:
    def over(share: float) -> None:
        raise TimeoutError

    with pytest.raises(TimeoutError):
        many_players(40).trees("numpy").outcomes(np.ones((1, 40), dtype=bool), over)


@settings(max_examples=examples(25), deadline=None)
@given(data=st.data(), seed=st.integers(0, 10_000), d=st.integers(1, 12), missing=st.booleans())
def test_any_list_has_the_sweeps_and_the_black_boxs_outcomes(
    data: st.DataObject, seed: int, d: int, missing: bool
) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(data.draw(st.integers(1, 5)), size=(40, d)).astype(float)
    y = rng.integers(3, size=40)
    if missing:
        X[rng.random(X.shape) < 0.2] = np.nan
    trees, depth = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 6))
    model = RandomForestClassifier(trees, max_depth=depth, random_state=seed).fit(X, y)
    case = Case(model, X[: data.draw(st.integers(2, 40))], int(y[0]))
    masks = rng.integers(1 << d, size=data.draw(st.sampled_from([1, 5, 64, 65, 200])))
    held = held_of_masks(masks, d)
    truth = case.box().outcomes(held)
    for kernel in KERNELS if backend.numba_is_installed() else ["numpy"]:
        found = case.trees(kernel)
        check_lists(found, held, truth)
        assert (sweep_outcomes(found)[masks] == truth).all()


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


def test_numba_is_loaded_when_numpy_time_exceeds_its_load_time() -> None:
    rental = SkiRental(price=1.0)
    assert not rental.should_buy(0.6)
    rental.pay(0.6)
    assert not rental.should_buy(0.4)
    assert rental.should_buy(0.5)
    assert SkiRental(price=1.0).should_buy(1.1)


def test_numba_is_started_only_where_it_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    monkeypatch.setattr(backend, "numba_is_loaded", lambda: False)
    dear, paid_up, short = SkiRental(price=1e9), SkiRental(price=1e9), 1.0
    monkeypatch.setattr(backend, "NUMBA_STARTUP", dear)
    assert choose_backend(short) == "numpy"
    paid_up.pay(1e9)  # many small questions add up
    monkeypatch.setattr(backend, "NUMBA_STARTUP", paid_up)
    assert choose_backend(short) == "numba"
    monkeypatch.setattr(backend, "load_numba", lambda: False)
    assert choose_backend(short) == "numpy"
    monkeypatch.setattr(backend, "load_numba", never)
    monkeypatch.setattr(backend, "numba_is_loaded", lambda: True)
    monkeypatch.setattr(backend, "NUMBA_STARTUP", dear)
    assert choose_backend(short) == "numba"
    monkeypatch.setattr(backend, "numba_is_installed", lambda: False)
    assert choose_backend(short) == "numpy"


def never() -> bool:
    raise AssertionError("numba is loaded already")


def test_a_numba_that_does_not_load_is_done_without(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> None:
        tried.append(name)
        raise ImportError(f"{name} needs another numpy")

    tried: list[str] = []
    monkeypatch.setattr(backend, "import_module", refuse)
    backend.load_numba.cache_clear()
    assert not backend.load_numba()
    assert not backend.load_numba()
    backend.load_numba.cache_clear()
    assert len(tried) == 1


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_every_task_is_done_once_by_any_thread(workers: int) -> None:
    for tasks in (0, 1, 3, 40):
        done: list[int] = []
        backend.run_in_threads(done.append, tasks, workers)
        assert sorted(done) == list(range(tasks))


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_after_an_error_no_task_is_begun_and_none_is_at_work(workers: int) -> None:
    begun: list[int] = []
    ended: list[int] = []

    def work(task: int) -> None:
        begun.append(task)
        if task == 2:
            ended.append(task)
            raise KeyboardInterrupt("stop")
        ended.append(task)

    with pytest.raises(KeyboardInterrupt, match="stop"):
        backend.run_in_threads(work, 1000, workers)
    assert sorted(begun) == sorted(ended)
    done: list[int] = []
    backend.run_in_threads(done.append, 3, workers)  # and the threads are fit for more
    assert sorted(done) == [0, 1, 2]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no processes are forked here")
def test_threads_are_started_again_in_a_forked_process() -> None:
    backend.run_in_threads(lambda task: None, 4, 2)
    with warnings.catch_warnings():
        # Python 3.12 warns of threads in the parent; in the child nothing may raise.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        done: list[int] = []
        backend.run_in_threads(done.append, 8, 3)
        os._exit(0 if sorted(done) == list(range(8)) else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_leaves_too_many_to_keep_are_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    from suffice.engines.trees import numba_blocks as compiled

    X, _, y, _ = tree_data()
    case = Case(CLASSIFIERS["extra"].fit(X, y), X)
    kept = sweep_outcomes(case.trees("numba"))
    monkeypatch.setattr(compiled, "_MAX_PORTION", 50)
    monkeypatch.setattr(compiled, "_FIRST_PORTION", 16)
    monkeypatch.setattr(blocks, "_SLAB_CELLS", 512)
    assert (sweep_outcomes(case.trees("numba")) == kept).all()


@pytest.mark.parametrize("installed", [True, False])
def test_the_same_rows_are_predicted_on_every_machine(
    installed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backend, "numba_is_installed", lambda: False)
    X, y, _, _ = tree_data(d=8)
    case = Case(CLASSIFIERS["forest"].fit(X, y), X)
    want = rows_of_a_list_and_a_sweep(case)
    if installed:
        pytest.importorskip("numba")
        monkeypatch.setattr(backend, "numba_is_installed", lambda: True)
        monkeypatch.setattr(backend, "numba_is_loaded", lambda: True)
    monkeypatch.setattr(backend, "available_cores", lambda: 7)
    clock = iter(np.cumsum(np.random.default_rng(0).random(100_000)).tolist())
    monkeypatch.setattr("suffice.engines.blackbox.perf_counter", lambda: next(clock))
    assert rows_of_a_list_and_a_sweep(case) == want


def rows_of_a_list_and_a_sweep(case: Case) -> list[int]:
    found = case.trees(None)
    asked = []
    for _ in range(3):
        found.outcomes(case.held)
        asked.append(found.rows_predicted)
    sweep_outcomes(found)
    return [*asked, found.rows_predicted]


@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesClassifier])
def test_the_commonest_leaf_of_each_tree_adds_nothing(kind: Any) -> None:
    X, _, y, _ = tree_data()
    trees = read_trees(kind(7, max_depth=6, random_state=0).fit(X, y))
    for margin in read_event_margins(trees, Case(kind(3).fit(X, y), X, 1).target.event).margins:
        for start, end in pairwise([*trees.roots.tolist(), len(trees.test)]):
            leaves = margin.value[start:end][trees.test[start:end] < 0]
            values, counts = np.unique(leaves, return_counts=True)
            assert counts[values == 0].tolist() == [counts.max()]
    # Values so large that their sums might not fit are left as they are.
    sign = np.where(np.arange(len(trees.test)) % 2, 1, -1)
    wide = replace(margin, value=np.where(trees.test < 0, sign * 2**29, 0).astype(np.int32))
    assert _zero_common_leaves(trees, wide) is wide
    # Others are moved together with the bounds, and what is no bound stays none.
    raised = replace(
        margin,
        value=np.where(trees.test < 0, margin.value + 5, 0).astype(np.int32),
        no_below=margin.no_below + 7 * 5,
        yes_from=margin.yes_from + 7 * 5,
    )
    moved = _zero_common_leaves(trees, raised)
    assert (moved.value == margin.value).all()
    for bound in ("no_below", "yes_from", "yes_to", "no_above"):
        assert getattr(moved, bound) == getattr(margin, bound)


def test_references_compared_with_thresholds_take_four_bytes_a_value() -> None:
    X, y, _, _ = tree_data(n=20_000)
    tests = read_trees(RandomForestClassifier(3, random_state=0).fit(X[:500], y[:500])).tests
    assert len(np.unique(tests.column)) == X.shape[1]
    tracemalloc.start()
    try:
        ranks = ThresholdRanks(tests, X.copy())
        taken = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert ranks.left(np.arange(64)).any()
    assert taken < 4.5 * X.size
