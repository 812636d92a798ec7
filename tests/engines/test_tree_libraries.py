"""Trees of xgboost, lightgbm and catboost are read as these libraries themselves read them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings, strategies as st
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    RandomForestRegressor,
)

from suffice.engines.select_engine import Unreadable
from suffice.engines.trees import TreeModel, lattice_sweep, read_trees
from suffice.engines.trees.encoded_input import encode_input
from suffice.engines.trees.lattice_sweep import LatticeSweep
from suffice.engines.work import numba_is_installed
from suffice.models import wrap_model
from suffice.tables import as_table
from suffice.target import at_least, at_most, versus, within
from tests.effort import examples
from tests.engines.engine_cases import (
    KERNELS,
    Case,
    check_trees,
    mixed_data,
    sweep_outcomes,
    tree_data,
    unreadable_reason,
)


def reason(model: Any) -> str:
    with pytest.raises(Unreadable) as refused:
        read_trees(model)
    return str(refused.value)


def boosters(library: str) -> Any:
    """A classifier and a regressor, small and in one thread."""
    module = pytest.importorskip(library)
    if library == "xgboost":
        common: Any = {"n_estimators": 10, "max_depth": 3, "n_jobs": 1}
        return module.XGBClassifier(**common), module.XGBRegressor(**common)
    if library == "lightgbm":
        common = {"n_estimators": 10, "num_leaves": 7, "n_jobs": 1, "verbose": -1}
        return module.LGBMClassifier(**common), module.LGBMRegressor(**common)
    common = {"iterations": 10, "depth": 3, "verbose": 0, "thread_count": 1}
    common |= {"allow_writing_files": False}
    return module.CatBoostClassifier(**common), module.CatBoostRegressor(**common)


LIBRARIES = ["xgboost", "lightgbm", "catboost"]


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("library", LIBRARIES)
def test_every_librarys_outcomes_are_its_own(library: str, missing: bool) -> None:
    classifier, regressor = boosters(library)
    X, two, three, number = tree_data(missing=missing)
    kernel = "numba" if numba_is_installed() else "numpy"
    check_trees(Case(classifier.fit(X, two), X), kernel)
    check_trees(Case(classifier, X, versus(0, 1)), kernel)
    classifier = boosters(library)[0].fit(X, three)
    for outcome in (0, 1, 2):
        check_trees(Case(classifier, X, outcome), kernel)
    regressor.fit(X, number)
    at_a_row = float(regressor.predict(X)[3])
    for outcome in (at_least(at_a_row), at_most(0.0), within(3.0)):
        check_trees(Case(regressor, X, outcome), kernel)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
def test_boosters_without_their_wrappers_are_read(library: str, missing: bool) -> None:
    module = pytest.importorskip(library)
    X, two, three, number = tree_data(missing=missing)
    frame = pd.DataFrame(X, columns=list("abcde"))

    def train(labels: Any, objective: str, rows: Any = X, **params: Any) -> Any:
        params |= {"objective": objective}
        if library == "xgboost":
            params |= {"nthread": 1, "max_depth": 3}
            return module.train(params, module.DMatrix(rows, labels), 10)
        params |= {"num_threads": 1, "num_leaves": 7, "verbose": -1}
        return module.train(params, module.Dataset(rows, labels), 10)

    names = {
        "xgboost": ("binary:logistic", "multi:softprob", "reg:squarederror"),
        "lightgbm": ("binary", "multiclass", "regression"),
    }
    for_two, for_three, for_number = names[library]
    booster = train(two, for_two)
    for outcome in (0, versus(0, 1), at_least(1)):
        check_trees(Case(booster, X, outcome), "numpy")
    check_trees(Case(train(two, for_two, frame), frame), "numpy")
    booster = train(three, for_three, num_class=3)
    for outcome in (0, 1, 2):
        check_trees(Case(booster, X, outcome), "numpy")
    booster = train(number, for_number, frame)
    at_a_row = float(wrap_model(booster, as_table(frame))[1][3])
    for outcome in (at_least(at_a_row), within(3.0)):
        check_trees(Case(booster, frame, outcome), "numpy")


def test_boosters_that_stopped_early_use_the_trees_they_use_themselves() -> None:
    X, y, _, _ = tree_data(300)
    xgboost = pytest.importorskip("xgboost")
    train, test = (xgboost.DMatrix(X[s], y[s]) for s in (slice(200), slice(200, 300)))
    params: Any = {"objective": "binary:logistic", "max_depth": 3, "nthread": 1}
    booster = xgboost.train(
        params, train, 60, evals=[(test, "e")], early_stopping_rounds=4, verbose_eval=False
    )
    assert booster.best_iteration + 1 < booster.num_boosted_rounds()
    check_trees(Case(booster, X[:90]), "numpy")  # asked by itself it uses all rounds
    lightgbm = pytest.importorskip("lightgbm")
    params = {"objective": "binary", "num_leaves": 7, "verbose": -1, "num_threads": 1}
    stopped = lightgbm.train(
        params,
        lightgbm.Dataset(X[:200], y[:200]),
        60,
        valid_sets=[lightgbm.Dataset(X[200:], y[200:])],
        callbacks=[lightgbm.early_stopping(4, verbose=False)],
    )
    assert 0 < stopped.best_iteration < 60
    check_trees(Case(stopped, X[:90]), "numpy")


@pytest.mark.parametrize("library", LIBRARIES)
def test_values_at_a_threshold_fall_on_the_librarys_side(library: str) -> None:
    model = boosters(library)[0]
    X, y, _, _ = tree_data()
    model.fit(X, y)
    read = read_trees(model)
    rows = X.copy()
    for column in range(X.shape[1]):
        limits = read.tests.threshold[read.tests.column == column]
        if len(limits):
            near = np.resize(limits, len(rows)).astype(np.float32)
            above = np.nextafter(near, np.float32(np.inf))
            rows[:, column] = np.where(np.arange(len(rows)) % 2, near, above)
    check_trees(Case(model, rows), "numpy")


def test_lightgbm_reads_categories_and_zeros_as_it_was_set() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    X, y, _, _ = tree_data(300)
    kind = np.random.default_rng(1).integers(8, size=300)
    y = np.where(np.isin(kind, [1, 4, 6]), y, 1 - y)
    rows = pd.DataFrame(X, columns=list("abcde"))
    rows["kind"] = pd.Categorical(np.array(list("stuvwxyz"))[kind])
    rows.loc[3, "kind"] = np.nan
    common = {"n_estimators": 8, "verbose": -1, "n_jobs": 1, "min_child_samples": 5}
    model = lightgbm.LGBMClassifier(**common, min_data_per_group=5, cat_smooth=1).fit(rows, y)
    assert read_trees(model).tests.categories
    check_trees(Case(model, rows[:90]), "numpy")
    X[np.random.default_rng(3).random(X.shape) < 0.3] = 0.0
    model = lightgbm.LGBMClassifier(**common, zero_as_missing=True).fit(X, y)
    check_trees(Case(model, X[:90]), "numpy")
    forest = lightgbm.LGBMRegressor(
        **common, boosting_type="rf", subsample=0.7, subsample_freq=1
    ).fit(X, X[:, 0])
    check_trees(Case(forest, X[:90], at_least(0.1)), "numpy")
    linear = lightgbm.LGBMRegressor(**common, linear_tree=True).fit(X, X[:, 0])
    assert reason(linear) == "the leaves of the model hold linear models (linear_tree)"
    poisson = lightgbm.LGBMRegressor(**common, objective="poisson").fit(X, np.abs(X[:, 0]))
    why = "LGBMRegressor with objective='poisson' does not predict the sum of its leaves"
    assert reason(poisson) == why
    hasty = lightgbm.LGBMClassifier(**common, pred_early_stop=True).fit(X, y)
    why = "LGBMClassifier does not use all its trees in a prediction (pred_early_stop)"
    assert reason(hasty) == why


@pytest.mark.parametrize("boosting", ["dart", "rf", "goss"])
def test_lightgbm_is_read_however_it_boosts(boosting: str) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    X, two, three, number = tree_data(200, missing=True)
    common: Any = {"n_estimators": 8, "num_leaves": 7, "n_jobs": 1, "verbose": -1}
    common |= {"boosting_type": boosting, "min_child_samples": 5, "random_state": 0}
    common |= {"dart": {"drop_rate": 0.5}, "rf": {"subsample": 0.7, "subsample_freq": 1}}.get(
        boosting, {}
    )
    classifier = lightgbm.LGBMClassifier(**common).fit(X, two)
    for asked in (classifier, classifier.booster_):
        check_trees(Case(asked, X[:60]), "numpy")
    check_trees(Case(lightgbm.LGBMClassifier(**common).fit(X, three), X[:60], 1), "numpy")
    regressor = lightgbm.LGBMRegressor(**common).fit(X, number)
    check_trees(Case(regressor, X[:60], within(3.0)), "numpy")


def test_a_category_that_lightgbm_does_not_know_is_a_missing_one() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    rows, y, _, _ = mixed_data()
    rows = rows.astype({"kind": "category", "home": "category"})
    rows.loc[5:20, "kind"] = np.nan
    common: Any = {"n_estimators": 8, "n_jobs": 1, "verbose": -1, "min_child_samples": 5}
    common |= {"min_data_per_group": 5, "cat_smooth": 1}
    model = lightgbm.LGBMClassifier(**common).fit(rows, y)
    assert read_trees(model).tests.categories
    strange = rows.assign(kind=rows["kind"].cat.rename_categories({"t": "new"}))
    turned = rows.assign(kind=rows["kind"].cat.reorder_categories(list("zyxwvuts")))
    for asked in (model, model.booster_):
        for table in (rows, strange, turned):
            check_trees(Case(asked, table[:60]), "numpy")
    numbered = rows.assign(kind=rows["kind"].cat.codes, home=0.0).to_numpy()
    model = lightgbm.LGBMClassifier(**common).fit(numbered, y, categorical_feature=[1])
    numbered[:12, 1] = np.repeat([77, -3, 2.7, np.nan], 3)
    check_trees(Case(model, numbered[:60]), "numpy")


def test_xgboost_reads_categories_early_stopping_and_missing_marks() -> None:
    xgboost = pytest.importorskip("xgboost")
    X, y, _, _ = tree_data(300)
    X[:, 3] = np.random.default_rng(1).integers(8, size=300)
    y = np.where(np.isin(X[:, 3], [1, 4, 6]), y, 1 - y)
    common = {"n_estimators": 8, "max_depth": 3, "n_jobs": 1}
    model = xgboost.XGBClassifier(
        **common, feature_types=["q", "q", "q", "c", "q"], enable_categorical=True
    ).fit(X, y)
    assert read_trees(model).tests.categories
    check_trees(Case(model, X[:90]), "numpy")
    stopped = xgboost.XGBClassifier(
        n_estimators=60, early_stopping_rounds=2, max_depth=3, n_jobs=1
    ).fit(X[:200], y[:200], eval_set=[(X[200:], y[200:])], verbose=False)
    assert stopped.best_iteration + 1 < 60
    check_trees(Case(stopped, X[:90]), "numpy")
    marked = X.copy()
    marked[::4, 0] = -999.0
    model = xgboost.XGBClassifier(**common, missing=-999.0).fit(marked, y)
    check_trees(Case(model, marked[:90]), "numpy")
    linear = xgboost.XGBClassifier(n_estimators=8, booster="gblinear").fit(X, y)
    assert reason(linear) == (
        "XGBClassifier with booster='gblinear' does not predict the sum of its leaves"
    )
    labels = xgboost.train(
        {"objective": "multi:softmax", "num_class": 2, "nthread": 1}, xgboost.DMatrix(X, y), 3
    )
    assert reason(labels) == (
        "Booster with objective='multi:softmax' does not predict the sum of its leaves"
    )


@pytest.mark.parametrize("grow_policy", ["SymmetricTree", "Depthwise", "Lossguide"])
@pytest.mark.parametrize("one_hot", [2, 20])
def test_catboost_answers_its_splits_on_categories_itself(grow_policy: str, one_hot: int) -> None:
    catboost = pytest.importorskip("catboost")
    rows, two, three, number = mixed_data(300)
    rows["level"] = np.arange(300) % 5
    common: Any = {"iterations": 8, "depth": 4, "verbose": 0, "allow_writing_files": False}
    common |= {"thread_count": 1, "grow_policy": grow_policy, "one_hot_max_size": one_hot}
    common |= {"max_ctr_complexity": 1, "cat_features": ["kind", "home", "level"]}
    strange = rows[:50].copy()
    strange.loc[5:9, "kind"] = "new"
    strange.loc[8:12, "level"] = 77
    classifier = catboost.CatBoostClassifier(**common).fit(rows, two)
    source = read_trees(classifier).source
    assert source is not None and {1, 4} <= set(source[5:].tolist())
    check_trees(Case(classifier, rows[:50]), "numpy")
    check_trees(Case(classifier, strange.astype({"kind": "category"})), "numpy")
    classifier = catboost.CatBoostClassifier(**common).fit(rows, three)
    check_trees(Case(classifier, strange, 1), "numpy")
    regressor = catboost.CatBoostRegressor(**common).fit(rows, number)
    at_a_row = float(regressor.predict(rows)[3])
    check_trees(Case(regressor, strange, at_least(at_a_row)), "numpy")


@pytest.mark.parametrize("grow_policy", ["Depthwise", "Lossguide"])
def test_catboost_trees_that_are_not_symmetric_are_read(grow_policy: str) -> None:
    catboost = pytest.importorskip("catboost")
    common: Any = {"iterations": 8, "depth": 4, "verbose": 0, "allow_writing_files": False}
    common |= {"thread_count": 1, "grow_policy": grow_policy}
    X, two, three, number = tree_data(missing=True)
    for model in (catboost.CatBoostClassifier(**common), catboost.CatBoost(common)):
        loss = {} if type(model).__name__ != "CatBoost" else {"loss_function": "Logloss"}
        check_trees(Case(model.set_params(**loss).fit(X, two), X), "numpy")
    check_trees(Case(catboost.CatBoostClassifier(**common).fit(X, three), X, 2), "numpy")
    check_trees(Case(catboost.CatBoost(common).fit(X, number), X, within(3.0)), "numpy")


def test_what_catboost_computes_otherwise_is_a_reason() -> None:
    catboost = pytest.importorskip("catboost")
    X, y, _, _ = tree_data()
    common = {"iterations": 5, "depth": 3, "verbose": 0, "allow_writing_files": False}
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.choice(list("pqrst"), (400, 2)), columns=["kind", "home"])
    same = (rows["kind"] == rows["home"]).astype(int)
    model = catboost.CatBoostClassifier(
        **common | {"iterations": 30}, cat_features=["kind", "home"], max_ctr_complexity=2
    ).fit(rows, same)
    assert reason(model) == (
        "CatBoostClassifier keeps statistics of several columns together ('kind' and 'home'): "
        "fit it with max_ctr_complexity=1"
    )
    poisson = catboost.CatBoostRegressor(**common, loss_function="Poisson").fit(X, np.abs(X[:, 0]))
    assert reason(poisson) == (
        "CatBoostRegressor with loss_function='Poisson' does not predict the sum of its leaves"
    )
    model = catboost.CatBoostClassifier(**common).fit(X, y)
    model.set_probability_threshold(0.3)
    assert reason(model) == "CatBoostClassifier has a probability threshold of its own"


@pytest.mark.parametrize("booster", ["gbtree", "dart"])
@pytest.mark.parametrize("one_hot", [1, 20])
def test_xgboost_reads_the_categories_of_a_frame_by_their_names(booster: str, one_hot: int) -> None:
    xgboost = pytest.importorskip("xgboost")
    rows, two, three, number = mixed_data()
    rows = rows.astype({"kind": "category", "home": "category"}).assign(
        level=pd.Categorical(np.arange(200) % 7 + 30)
    )
    rows.loc[5:20, "kind"] = np.nan
    common: Any = {"n_estimators": 6, "max_depth": 4, "n_jobs": 1, "enable_categorical": True}
    common |= {"booster": booster, "max_cat_to_onehot": one_hot}
    if booster == "dart":
        common |= {"rate_drop": 0.5, "random_state": 0}
    model = xgboost.XGBClassifier(**common).fit(rows, two)
    assert read_trees(model).tests.categories
    turned = rows.assign(kind=rows["kind"].cat.reorder_categories(list("zyxwvuts")))
    for asked in (model, model.get_booster()):
        check_trees(Case(asked, rows[:60]), "numpy")
        check_trees(Case(asked, turned[:60]), "numpy")
    check_trees(Case(xgboost.XGBClassifier(**common).fit(rows, three), rows[:60], 1), "numpy")
    regressor = xgboost.XGBRegressor(**common).fit(rows, number)
    at_a_row = float(regressor.predict(rows)[3])
    check_trees(Case(regressor, rows[:60], at_least(at_a_row)), "numpy")


def test_a_category_that_xgboost_does_not_know_is_a_reason() -> None:
    xgboost = pytest.importorskip("xgboost")
    rows, y, _, _ = mixed_data()
    rows = rows.astype({"kind": "category", "home": "category"})
    model = xgboost.XGBClassifier(n_estimators=3, n_jobs=1, enable_categorical=True).fit(rows, y)
    strange = rows.assign(kind=rows["kind"].cat.rename_categories({"t": "new"}))
    assert unreadable_reason(Case(model, strange), "trees") == (
        "column 'kind' holds 'new', a category that the model was not fitted on"
    )
    numbered = rows.assign(kind=rows["kind"].cat.codes, home=rows["home"].cat.codes)
    model = xgboost.XGBClassifier(
        n_estimators=3, n_jobs=1, feature_types=["q", "c", "c", "q"], enable_categorical=True
    ).fit(numbered.to_numpy(), y)
    assert unreadable_reason(Case(model, rows), "trees") == (
        "column 'kind' holds categories, and how the model numbers them is not read"
    )


def test_xgboost_weighs_the_trees_of_dart_as_it_does_itself() -> None:
    xgboost = pytest.importorskip("xgboost")
    X, two, three, number = tree_data(missing=True)
    common: Any = {"n_estimators": 12, "max_depth": 3, "n_jobs": 1, "booster": "dart"}
    for seed, kind in enumerate(("tree", "forest")):
        common |= {"rate_drop": 0.4, "normalize_type": kind, "random_state": seed}
        check_trees(Case(xgboost.XGBClassifier(**common).fit(X, two), X), "numpy")
        check_trees(Case(xgboost.XGBClassifier(**common).fit(X, three), X, 2), "numpy")
        check_trees(Case(xgboost.XGBRegressor(**common).fit(X, number), X, within(3.0)), "numpy")


def test_what_lightgbm_takes_for_zero_goes_where_zero_goes() -> None:
    model = boosters("lightgbm")[0]
    rows = np.random.default_rng(0).choice([-1.0, 0.0, 1.0], size=(400, 2))
    model.set_params(min_child_samples=1).fit(rows, rows[:, 0] < 0)
    zero = float(np.float32(1e-35))  # below it lies the threshold that splits -1 from 0
    tiny = [-zero, zero, -1e-36, 0.0, np.nextafter(-zero, -1), -2 * zero]
    check_trees(Case(model, np.stack([tiny, np.zeros(len(tiny))], axis=1)), "numpy")
    assert len(set(model.predict(np.array([[-zero, 0.0], [-2 * zero, 0.0]])))) == 2


def grown(kind: str, missing: bool, rows: int, seed: int) -> tuple[Any, Any]:
    """A fitted model with up to about as many leaves a tree as rows, and rows with categories."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 5)).round(2)
    X[:, 0] = rng.integers(6, size=rows)
    three, number = rng.integers(3, size=rows), rng.normal(size=rows)
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    few: Any = {"n_estimators": 4, "random_state": seed}
    if kind == "extra":
        return ExtraTreesClassifier(**few).fit(np.nan_to_num(X), three), np.nan_to_num(X)
    if kind == "forest":
        return RandomForestRegressor(**few, min_samples_leaf=2).fit(X, number), X
    if kind == "histogram":
        made: Any = HistGradientBoostingClassifier(
            max_iter=3, max_leaf_nodes=None, min_samples_leaf=1, categorical_features=[0]
        )
        return made.fit(X, three), X
    if kind == "xgboost":
        module = pytest.importorskip(kind)
        made = module.XGBClassifier(n_estimators=3, max_depth=9, min_child_weight=0, n_jobs=1)
        return made.fit(X, three), X
    if kind == "lightgbm":
        module = pytest.importorskip(kind)
        leaves: Any = {"num_leaves": rows, "min_child_samples": 1, "n_jobs": 1, "verbose": -1}
        categories = {"categorical_feature": [0]}
        return module.LGBMRegressor(n_estimators=3, **leaves).fit(X, number, **categories), X
    module = pytest.importorskip(kind)
    quiet: Any = {"verbose": 0, "thread_count": 1, "allow_writing_files": False}
    return module.CatBoostClassifier(iterations=4, depth=8, **quiet).fit(X, three), X


@pytest.mark.skipif(not numba_is_installed(), reason="numba is not installed")
@settings(max_examples=examples(25), deadline=None)
@given(
    kind=st.sampled_from(["extra", "forest", "histogram", *LIBRARIES]),
    missing=st.booleans(),
    rows=st.sampled_from([12, 60, 300, 1500, 6000]),
    references=st.integers(1, 200),
    room=st.sampled_from([0, 1 << 12]),
    together=st.sampled_from([1, 16]),
    seed=st.integers(0, 100),
)
@example("forest", True, 6000, 150, 0, 16, 0)
@example("extra", False, 6000, 70, 0, 1, 1)
def test_all_kernels_decide_the_same_hybrids_and_leave_the_same_open(
    kind: str, missing: bool, rows: int, references: int, room: int, together: int, seed: int
) -> None:
    model, X = grown(kind, missing, rows, seed)
    outcome = None if hasattr(model, "classes_") else at_least(0.0)
    case = Case(model, X[: 1 + references], outcome)
    trees = read_trees(model)
    margins = TreeModel(trees).event_margins(case.target.event)
    problem = encode_input(trees, margins, case.hybrids)
    found = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lattice_sweep, "_LEAST_ROOM", room)  # 0: all lists are full after some trees
        patch.setattr(lattice_sweep, "_LISTED_BLOCKS", together)
        for kernel, by_lists in ((KERNELS[0], False), (KERNELS[1], False), (KERNELS[1], True)):
            sweep = LatticeSweep(problem, kernel)
            sweep.by_lists = by_lists
            found.append(sweep.run(0, True))
    for words, undecided in found[1:]:
        np.testing.assert_array_equal(words, found[0][0])
        np.testing.assert_array_equal(undecided, found[0][1])


@pytest.mark.skipif(not numba_is_installed(), reason="numba is not installed")
def test_lists_of_leaves_that_fill_up_are_added_before_they_overflow() -> None:
    from suffice.engines.trees import numba_kernels

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(5000, 8)), rng.normal(size=5000)
    model = ExtraTreesRegressor(30, random_state=0).fit(X, y)
    case = Case(model, X[:65], at_least(0.0))
    leaves = read_trees(model).leaves / 30
    assert leaves > 4500
    walks = []
    with pytest.MonkeyPatch.context() as patch:
        walk = numba_kernels.list_leaves

        def counted(*given: Any) -> Any:
            *_, entries, counts = given
            tree = walk(*given)
            walks.append(int(counts.max()))
            assert walks[-1] <= len(entries) // len(counts)
            return tree

        patch.setattr(numba_kernels, "list_leaves", counted)
        patch.setattr(lattice_sweep, "_LEAST_ROOM", 0)
        engine = case.trees("numba")
        assert engine._lattice.by_lists
        np.testing.assert_array_equal(sweep_outcomes(engine), case.truth())
    assert len(walks) > 4  # a few for each of two sweeps
    assert max(walks) > 256  # more than one tree's
