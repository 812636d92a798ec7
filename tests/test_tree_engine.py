"""The tree engine gives the black box's outcomes, exactly, for every model it says it can read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
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
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from threadpoolctl import threadpool_limits

from suffice.context import SwapHybrids, make_players
from suffice.evaluate import BlackBox, LatticeEvaluator
from suffice.evaluate.trees import Ensemble, TreeEngine, engine, read_trees, tree_engine
from suffice.models import as_model
from suffice.tables import as_table
from suffice.target import Target, at_least, at_most, event_for, satisfies, versus, within

KERNELS = ["numpy", "numba"]


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """On a busy machine, small fits by several OpenMP threads wait for each other for seconds."""
    with threadpool_limits(1):
        yield


def require(kernel: str) -> None:
    if kernel == "numba":
        pytest.importorskip("numba")


class Question:
    """A model, an outcome, and rows of which the first is the input and the rest references."""

    def __init__(self, model: Any, rows: Any, outcome: Any = None, groups: Any = None) -> None:
        table = as_table(rows)
        wrapped, answers = as_model(model, table)
        self.model = model
        self.target = Target(wrapped, event_for(outcome, wrapped, answers[0]))
        self.context = SwapHybrids(table, make_players(table, groups))
        self.y = bool(self.target(table.take(np.array([0])))[0])

    def black_box(self) -> np.ndarray:
        d = self.context.d
        held = (np.arange(1 << d)[:, None] >> np.arange(d) & 1).astype(bool)
        return BlackBox(self.target, self.context, self.y).outcomes(held)

    def engine(self, kernel: str | None = None, read: Any = None) -> TreeEngine:
        found = tree_engine(read or self.model, self.target, self.context, self.y, kernel)
        assert not isinstance(found, str), found
        assert isinstance(found, LatticeEvaluator)
        return found

    def outcomes(self, kernel: str | None = None) -> np.ndarray:
        found = self.engine(kernel)
        out = swept(found)
        assert found.note is None
        return out


def swept(found: TreeEngine) -> np.ndarray:
    parts, at = [], 0
    for start, hits, bits in found.sweep():
        assert start == at
        at += len(hits)
        parts.append(np.unpackbits(bits, axis=1, count=found.n).astype(bool))
        assert (parts[-1].sum(axis=1) == hits).all()
    return np.concatenate(parts)


def check(question: Question, kernel: str) -> None:
    require(kernel)
    assert (question.outcomes(kernel) == question.black_box()).all()


def data(n: int = 120, d: int = 5, seed: int = 0, missing: bool = False) -> Any:
    """Rows with many equal values, two classes, three classes, and a number."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).round(1)
    X[:, 1] = rng.integers(3, size=n)
    score = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n)
    if missing:
        X[rng.random(X.shape) < 0.15] = np.nan
    three = np.digitize(score, [-0.5, 1.0])
    return X, (score > 0).astype(int), three, 10 * score


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
def test_binary_classes(name: str, kernel: str) -> None:
    X, y, _, _ = data()
    model = CLASSIFIERS[name].fit(X, y)
    check(Question(model, X), kernel)
    check(Question(model, X, versus(0, 1)), kernel)
    check(Question(model, X, at_least(1)), kernel)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_three_string_classes(name: str, kernel: str) -> None:
    X, _, y, _ = data()
    labels = np.array(["low", "middle", "high"])[y]
    model = CLASSIFIERS[name].fit(X, labels)
    for outcome in (None, "high", "middle", "low"):
        check(Question(model, X, outcome), kernel)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", REGRESSORS)
def test_numbers(name: str, kernel: str) -> None:
    X, _, _, y = data()
    model = REGRESSORS[name].fit(X, y)
    at_a_row = float(model.predict(X)[7])
    for outcome in (at_least(1.0), at_most(-2.0), within(4.0), at_least(at_a_row)):
        check(Question(model, X, outcome), kernel)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", ["tree", "forest", "histogram"])
def test_missing_values(name: str, kernel: str) -> None:
    X, two, three, number = data(missing=True)
    assert np.isnan(X[0]).any() or np.isnan(X[1]).any()
    check(Question(CLASSIFIERS[name].fit(X, two), X), kernel)
    check(Question(CLASSIFIERS[name].fit(X, three), X), kernel)
    check(Question(REGRESSORS[name].fit(X, number), X, at_least(0.0)), kernel)


@pytest.mark.parametrize("kernel", KERNELS)
def test_missing_values_that_training_never_saw(kernel: str) -> None:
    X, y, _, _ = data()
    model = CLASSIFIERS["histogram"].fit(X, y)
    check(Question(model, data(missing=True)[0]), kernel)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("as_frame", [True, False])
def test_categorical_splits_of_histogram_boosting(as_frame: bool, kernel: str) -> None:
    X, y, _, _ = data(300)
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
    assert isinstance(read := read_trees(model), Ensemble)
    assert read.tests.categories
    check(Question(model, rows), kernel)


@pytest.mark.parametrize("kernel", KERNELS)
def test_unknown_categories_go_with_the_missing(kernel: str) -> None:
    X, y, _, _ = data(200)
    X[:, 1] = np.random.default_rng(2).integers(5, size=200)
    model = HistGradientBoostingClassifier(
        max_iter=5, min_samples_leaf=3, categorical_features=[1], random_state=0
    ).fit(X, y)
    rows = X[:80].copy()
    rows[::3, 1] = 9.0
    rows[1::7, 1] = -0.5
    check(Question(model, rows), kernel)


@pytest.mark.parametrize("kernel", KERNELS)
def test_ties_of_pure_trees_need_no_asking(kernel: str) -> None:
    require(kernel)
    X, y, _, _ = data(seed=3)
    model = RandomForestClassifier(4, random_state=0).fit(X, y)
    question = Question(model, X)
    found = question.engine(kernel)
    assert (swept(found) == question.black_box()).all()
    assert (model.predict_proba(X) == 0.5).any()  # the case at hand
    assert found.rows_predicted <= 32


@pytest.mark.parametrize("kernel", KERNELS)
def test_ties_of_mixed_leaves_are_asked_once_each(kernel: str) -> None:
    require(kernel)
    X, y, _, _ = data(seed=4)
    X = np.sign(X)
    model = ExtraTreesClassifier(6, max_depth=2, random_state=0).fit(X, y)
    rows = np.concatenate([X, X])  # every hybrid at least twice
    question = Question(model, rows)
    found = question.engine(kernel)
    assert (swept(found) == question.black_box()).all()
    assert found.rows_predicted <= 32 + 3**5


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("model", [DecisionTreeClassifier(), RandomForestClassifier(5)])
def test_values_that_round_onto_a_threshold(model: Any, kernel: str) -> None:
    X, y, _, _ = data()
    model = model.set_params(random_state=0).fit(X, y)
    read = read_trees(model)
    assert isinstance(read, Ensemble)
    rows = X.copy()
    for column in range(X.shape[1]):
        limits = read.tests.threshold[read.tests.column == column]
        if len(limits):
            near = np.resize(limits, len(rows))
            steps = np.resize([0.0, 1e-9, -1e-9, 1e-16], len(rows))
            rows[:, column] = near * (1 + steps)
    check(Question(model, rows), kernel)


@pytest.mark.parametrize("kernel", KERNELS)
def test_trees_that_never_split(kernel: str) -> None:
    X, _, _, number = data()
    flat = DecisionTreeRegressor().fit(X, np.ones(len(X)))
    assert flat.tree_.node_count == 1
    check(Question(flat, X, at_least(0.5)), kernel)
    forest = RandomForestRegressor(3, random_state=0).fit(X, np.ones(len(X)))
    check(Question(forest, X, at_least(1.0)), kernel)
    stump = DecisionTreeRegressor(max_depth=1).fit(X, number)
    check(Question(stump, X, within(1.0)), kernel)


@pytest.mark.parametrize("kernel", KERNELS)
def test_constant_features_and_few_references(kernel: str) -> None:
    X, y, _, _ = data()
    X[:, 2] = 7.0
    model = CLASSIFIERS["forest"].fit(X, y)
    for n in (1, 7, 8, 9, 33):
        check(Question(model, X[: n + 1]), kernel)


@pytest.mark.parametrize("kernel", KERNELS)
def test_groups_of_columns_are_players(kernel: str) -> None:
    X, y, _, _ = data(d=7)
    model = CLASSIFIERS["extra"].fit(X, y)
    question = Question(model, X, groups={"both": ["x1", "x4"], "rest": ["x2", "x5", "x6"]})
    assert question.context.d == 4
    check(question, kernel)


@pytest.mark.parametrize("kernel", KERNELS)
def test_frames(kernel: str) -> None:
    X, y, _, _ = data()
    frame = pd.DataFrame(X, columns=list("abcde")).astype({"b": "int8", "c": "float32"})
    model = CLASSIFIERS["forest"].fit(frame, y)
    check(Question(model, frame), kernel)


@pytest.mark.parametrize("kernel", KERNELS)
def test_slabs_blocks_and_order_make_no_difference(
    kernel: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from suffice.evaluate.trees import problem

    X, y, _, _ = data(d=7, n=100)
    question = Question(CLASSIFIERS["extra"].fit(X, y), X)
    whole = question.outcomes(kernel)
    monkeypatch.setattr(engine, "_SLAB_CELLS", 256)
    monkeypatch.setattr(engine, "_BLOCK_BYTES", 200)
    monkeypatch.setattr(problem, "_WIDE_PLAYERS", 3)
    monkeypatch.setattr(problem, "_SORTED_HYBRIDS", 0)
    assert len(list(question.engine(kernel).sweep())) > 1
    assert (question.outcomes(kernel) == whole).all()


def test_one_way_accumulation_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    from suffice.evaluate.trees import compiled

    X, _, y, _ = data()
    question = Question(CLASSIFIERS["extra"].fit(X, y), X)
    both = question.outcomes("numba")
    monkeypatch.setattr(compiled, "_TWO_WAY_PLAYERS", 0)
    assert (question.outcomes("numba") == both).all()


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    d=st.integers(1, 6),
    trees=st.integers(1, 6),
    depth=st.integers(1, 6),
    levels=st.integers(1, 5),
)
def test_any_forest(seed: int, d: int, trees: int, depth: int, levels: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(levels, size=(40, d)).astype(float)
    y = rng.integers(3, size=40)
    model = ExtraTreesClassifier(trees, max_depth=depth, random_state=seed).fit(X, y)
    question = Question(model, X, int(y[0]))
    want = question.black_box()
    assert (question.outcomes("numpy") == want).all()
    if engine.find_numba():
        assert (question.outcomes("numba") == want).all()


def test_a_reading_that_proves_wrong_is_given_up() -> None:
    X, y, _, _ = data()
    question = Question(CLASSIFIERS["forest"].fit(X, y), X)
    read = read_trees(question.model)
    assert isinstance(read, Ensemble)
    wrong = replace(read, values=read.values[:, ::-1], readings={})
    found = question.engine("numpy", wrong)
    assert (swept(found) == question.black_box()).all()
    assert found.name == "blackbox"
    assert "disagree" in str(found.note)


def test_single_hybrids_are_asked() -> None:
    X, y, _, _ = data()
    question = Question(CLASSIFIERS["forest"].fit(X, y), X)
    found = question.engine()
    held = np.array([[True, False, True, False, False]])
    assert (found.outcomes(held) == question.black_box()[5]).all()
    assert found.outcomes_of(held, np.array([3]))[0] == question.black_box()[5, 3]
    assert found.rows_predicted


def reason(question: Question) -> str:
    found = tree_engine(question.model, question.target, question.context, question.y)
    assert isinstance(found, str)
    assert found
    return found


def test_what_is_not_read_is_said() -> None:
    X, y, three, number = data()

    class Mine(RandomForestClassifier):
        pass

    assert "LogisticRegression" in reason(Question(LogisticRegression().fit(X, y), X))
    assert "Mine" in reason(Question(Mine(2).fit(X, y), X))
    assert "function" in reason(Question(lambda rows: rows[:, 0] > 0, X, True))
    forest = RandomForestClassifier(3, random_state=0).fit(X, three)
    assert "several classes" in reason(Question(forest, X, within(5)))
    predicate = satisfies(lambda labels: labels == 1)
    assert "function" in reason(Question(forest, X, predicate))
    started = GradientBoostingRegressor(init=DecisionTreeRegressor(), n_estimators=2)
    assert "init" in reason(Question(started.fit(X, number), X, at_least(0.0)))
    poisson = HistGradientBoostingRegressor(loss="poisson", max_iter=2).fit(X, np.exp(number / 30))
    assert "poisson" in reason(Question(poisson, X, at_least(1.0)))
    softmax = CLASSIFIERS["boosting"].fit(X, three)
    assert "softmax" in reason(Question(softmax, X, versus(0, 2)))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("final", [RandomForestClassifier(8), HistGradientBoostingClassifier()])
def test_pipelines_that_keep_columns_apart(final: Any, kernel: str) -> None:
    X, y, _, _ = data()
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
    check(Question(model, rows), kernel)
    check(Question(model, rows, groups={"two": ["a", "kind"]}), kernel)
    mixing = make_pipeline(PCA(3), RandomForestClassifier(3, random_state=0)).fit(X, y)
    assert "PCA may mix columns" in reason(Question(mixing, X))


def test_a_reader_that_fails_is_a_reason_too() -> None:
    model = RandomForestClassifier(2)  # not fitted
    why = read_trees(model)
    assert isinstance(why, str)
    assert "could not be read" in why


def test_numba_is_started_only_where_it_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, _, _ = data()
    problem = Question(CLASSIFIERS["tree"].fit(X, y), X).engine()._problem
    monkeypatch.setattr(engine, "numba_is_loaded", lambda: False)
    monkeypatch.setattr(engine, "_rent", [0.0])
    assert engine.choose_kernel(problem) == "numpy"
    assert engine._rent[0] > 0
    monkeypatch.setattr(engine, "_NUMBA_START", engine._rent[0])  # the next question pays for it
    assert engine.choose_kernel(problem) == ("numba" if engine.find_numba() else "numpy")
    monkeypatch.setattr(engine, "import_module", refuse)
    assert engine.choose_kernel(problem) == "numpy"
    monkeypatch.setattr(engine, "find_numba", lambda: False)
    assert engine.choose_kernel(problem) == "numpy"


def refuse(name: str) -> None:
    raise ImportError(f"{name} needs another numpy")


# Other libraries.


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


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("library", LIBRARIES)
def test_other_libraries(library: str, missing: bool) -> None:
    classifier, regressor = boosters(library)
    X, two, three, number = data(missing=missing)
    kernel = "numba" if engine.find_numba() else "numpy"
    check(Question(classifier.fit(X, two), X), kernel)
    check(Question(classifier, X, versus(0, 1)), kernel)
    classifier = boosters(library)[0].fit(X, three)
    for outcome in (0, 1, 2):
        check(Question(classifier, X, outcome), kernel)
    regressor.fit(X, number)
    at_a_row = float(regressor.predict(X)[3])
    for outcome in (at_least(at_a_row), at_most(0.0), within(3.0)):
        check(Question(regressor, X, outcome), kernel)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
def test_boosters_without_their_wrappers(library: str, missing: bool) -> None:
    module = pytest.importorskip(library)
    X, two, three, number = data(missing=missing)
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
        check(Question(booster, X, outcome), "numpy")
    check(Question(train(two, for_two, frame), frame), "numpy")
    booster = train(three, for_three, num_class=3)
    for outcome in (0, 1, 2):
        check(Question(booster, X, outcome), "numpy")
    booster = train(number, for_number, frame)
    at_a_row = float(as_model(booster, as_table(frame))[1][3])
    for outcome in (at_least(at_a_row), within(3.0)):
        check(Question(booster, frame, outcome), "numpy")


@pytest.mark.filterwarnings("ignore")
def test_boosters_that_stopped_early() -> None:
    X, y, _, _ = data(300)
    xgboost = pytest.importorskip("xgboost")
    train, test = (xgboost.DMatrix(X[s], y[s]) for s in (slice(200), slice(200, 300)))
    params: Any = {"objective": "binary:logistic", "max_depth": 3, "nthread": 1}
    booster = xgboost.train(
        params, train, 60, evals=[(test, "e")], early_stopping_rounds=4, verbose_eval=False
    )
    assert booster.best_iteration + 1 < booster.num_boosted_rounds()
    check(Question(booster, X[:90]), "numpy")  # asked by itself it uses all rounds
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
    check(Question(stopped, X[:90]), "numpy")
    assert "softmax" in reason(
        Question(
            xgboost.train({"objective": "multi:softmax", "num_class": 2, "nthread": 1}, train, 3),
            X,
        )
    )


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("library", LIBRARIES)
def test_other_libraries_at_their_thresholds(library: str) -> None:
    model = boosters(library)[0]
    X, y, _, _ = data()
    model.fit(X, y)
    read = read_trees(model)
    assert isinstance(read, Ensemble)
    rows = X.copy()
    for column in range(X.shape[1]):
        limits = read.tests.threshold[read.tests.column == column]
        if len(limits):
            near = np.resize(limits, len(rows)).astype(np.float32)
            above = np.nextafter(near, np.float32(np.inf))
            rows[:, column] = np.where(np.arange(len(rows)) % 2, near, above)
    check(Question(model, rows), "numpy")


@pytest.mark.filterwarnings("ignore")
def test_lightgbm_categories_and_zeros() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    X, y, _, _ = data(300)
    kind = np.random.default_rng(1).integers(8, size=300)
    y = np.where(np.isin(kind, [1, 4, 6]), y, 1 - y)
    rows = pd.DataFrame(X, columns=list("abcde"))
    rows["kind"] = pd.Categorical(np.array(list("stuvwxyz"))[kind])
    rows.loc[3, "kind"] = np.nan
    common = {"n_estimators": 8, "verbose": -1, "n_jobs": 1, "min_child_samples": 5}
    model = lightgbm.LGBMClassifier(**common, min_data_per_group=5, cat_smooth=1).fit(rows, y)
    assert isinstance(read := read_trees(model), Ensemble)
    assert read.tests.categories
    check(Question(model, rows[:90]), "numpy")
    X[np.random.default_rng(3).random(X.shape) < 0.3] = 0.0
    model = lightgbm.LGBMClassifier(**common, zero_as_missing=True).fit(X, y)
    check(Question(model, X[:90]), "numpy")
    forest = lightgbm.LGBMRegressor(
        **common, boosting_type="rf", subsample=0.7, subsample_freq=1
    ).fit(X, X[:, 0])
    check(Question(forest, X[:90], at_least(0.1)), "numpy")
    linear = lightgbm.LGBMRegressor(**common, linear_tree=True).fit(X, X[:, 0])
    assert "linear" in reason(Question(linear, X, at_least(0.0)))
    poisson = lightgbm.LGBMRegressor(**common, objective="poisson").fit(X, np.abs(X[:, 0]))
    assert "poisson" in reason(Question(poisson, X, at_least(0.0)))


@pytest.mark.filterwarnings("ignore")
def test_xgboost_categories_early_stopping_and_missing_marks() -> None:
    xgboost = pytest.importorskip("xgboost")
    X, y, _, _ = data(300)
    X[:, 3] = np.random.default_rng(1).integers(8, size=300)
    y = np.where(np.isin(X[:, 3], [1, 4, 6]), y, 1 - y)
    common = {"n_estimators": 8, "max_depth": 3, "n_jobs": 1}
    model = xgboost.XGBClassifier(
        **common, feature_types=["q", "q", "q", "c", "q"], enable_categorical=True
    ).fit(X, y)
    assert isinstance(read := read_trees(model), Ensemble)
    assert read.tests.categories
    check(Question(model, X[:90]), "numpy")
    stopped = xgboost.XGBClassifier(
        n_estimators=60, early_stopping_rounds=2, max_depth=3, n_jobs=1
    ).fit(X[:200], y[:200], eval_set=[(X[200:], y[200:])], verbose=False)
    assert stopped.best_iteration + 1 < 60
    check(Question(stopped, X[:90]), "numpy")
    marked = X.copy()
    marked[::4, 0] = -999.0
    model = xgboost.XGBClassifier(**common, missing=-999.0).fit(marked, y)
    check(Question(model, marked[:90]), "numpy")
    dart = xgboost.XGBClassifier(**common, booster="dart").fit(X, y)
    assert "dart" in reason(Question(dart, X))


@pytest.mark.filterwarnings("ignore")
def test_catboost_beyond_oblivious_numeric_trees() -> None:
    catboost = pytest.importorskip("catboost")
    X, y, _, _ = data()
    common = {"iterations": 5, "depth": 3, "verbose": 0, "allow_writing_files": False}
    model = catboost.CatBoostClassifier(**common, grow_policy="Depthwise").fit(X, y)
    assert reason(Question(model, X))
    rows = pd.DataFrame(X, columns=list("abcde")).assign(kind=np.where(y, "u", "v"))
    model = catboost.CatBoostClassifier(**common, cat_features=["kind"]).fit(rows, y)
    assert reason(Question(model, rows))
    poisson = catboost.CatBoostRegressor(**common, loss_function="Poisson").fit(X, np.abs(X[:, 0]))
    assert "Poisson" in reason(Question(poisson, X, at_least(0.5)))


def test_leaves_too_many_to_keep_are_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    from suffice.evaluate.trees import compiled

    X, _, y, _ = data()
    question = Question(CLASSIFIERS["extra"].fit(X, y), X)
    kept = question.outcomes("numba")
    monkeypatch.setattr(compiled, "_LEAVES_KEPT", 50)
    monkeypatch.setattr(compiled, "_FIRST_ROOM", 16)
    monkeypatch.setattr(engine, "_SLAB_CELLS", 512)
    assert (question.outcomes("numba") == kept).all()
