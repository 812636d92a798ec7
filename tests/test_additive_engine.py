"""The additive engine against the black box: the same outcome for every hybrid, ties included."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from sklearn import discriminant_analysis, linear_model, naive_bayes, svm
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.frozen import FrozenEstimator
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)

from suffice.context import SwapHybrids, make_players
from suffice.evaluate import BlackBox, LatticeEvaluator
from suffice.evaluate.additive import AdditiveEngine, additive_engine, engine, split_pipeline
from suffice.evaluate.additive.bits import subset_sums, transpose_bits
from suffice.models import as_model
from suffice.search import Limits, Question, run_sweep
from suffice.tables import as_table
from suffice.tables.distinct import distinct_rows
from suffice.target import Target, at_least, at_most, event_for, satisfies, versus, within


def ask(
    model: Any, rows: Any, outcome: Any = None, groups: Any = None
) -> tuple[AdditiveEngine | str, BlackBox, SwapHybrids]:
    """Row 0 is the input, all the others are references."""
    table = as_table(rows)
    wrapped, answers = as_model(model, table)
    target = Target(wrapped, event_for(outcome, wrapped, answers[0]))
    y = bool(target(table.take(np.array([0])))[0])
    context = SwapHybrids(table, make_players(table, groups))
    found = additive_engine(model, target, context, y)
    return found, BlackBox(target, context, y, distinct=False), context


def check(
    model: Any, rows: Any, outcome: Any = None, groups: Any = None, fickle: bool = False
) -> AdditiveEngine:
    """Compare all three ways of asking the engine with the black box; give the engine.

    A `fickle` model may answer otherwise about the same row in another batch; about no other row
    may the two differ.
    """
    found, blackbox, context = ask(model, rows, outcome, groups)
    assert isinstance(found, AdditiveEngine), found
    assert isinstance(found, LatticeEvaluator)
    d, n = context.d, context.n
    held = (np.arange(1 << d)[:, None] >> np.arange(d) & 1).astype(bool)
    truth = blackbox.outcomes(held)
    if fickle:
        truth = with_second_thoughts(blackbox, held, truth, found.outcomes(held))
        sweep = np.concatenate([bits for _, _, bits in found.sweep()])
        asked = np.unpackbits(sweep, axis=1, count=n).astype(bool)
        with_second_thoughts(blackbox, held, truth, asked)
        return found
    expected = 0
    for first, hits, bits in found.sweep():
        assert first == expected
        part = slice(first, first + len(hits))
        np.testing.assert_array_equal(hits, truth[part].sum(axis=1))
        np.testing.assert_array_equal(bits, np.packbits(truth[part], axis=1))
        expected += len(hits)
    assert expected == 1 << d
    np.testing.assert_array_equal(found.outcomes(held), truth)
    rng = np.random.default_rng(1)
    subset, reference = rng.integers(1 << d, size=50), rng.integers(n, size=50)
    np.testing.assert_array_equal(
        found.outcomes_of(held[subset], reference), truth[subset, reference]
    )
    return found


def with_second_thoughts(blackbox: BlackBox, held: Any, truth: Any, got: Any) -> Any:
    """The same truth, provided that the model itself has given both answers where they differ."""
    for subset, reference in zip(*(truth != got).nonzero(), strict=True):
        answers = set()
        for copies in (1, 2, 3, 5, 8, 64, 67):
            many = np.repeat(held[[subset]], copies, axis=0)
            answers |= set(blackbox.outcomes_of(many, np.full(copies, reference)).tolist())
        assert answers | {bool(truth[subset, reference])} == {True, False}
    return truth


def numbers(d: int = 5, n: int = 70, classes: int = 2, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + 1, d)) * 3
    score = X @ rng.normal(size=d) + rng.normal(size=n + 1)
    return X, np.digitize(score, np.quantile(score, np.arange(1, classes) / classes))


@pytest.fixture(params=["direct", "split"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways to sweep, whatever the number of players would choose."""
    monkeypatch.setattr(engine, "_FEW_PLAYERS", 30 if request.param == "direct" else 7)
    return str(request.param)


CLASSIFIERS = [
    LogisticRegression(),
    linear_model.LogisticRegressionCV(cv=2, Cs=2),
    svm.LinearSVC(),
    linear_model.SGDClassifier(random_state=0),
    linear_model.RidgeClassifier(),
    linear_model.RidgeClassifierCV(),
    linear_model.Perceptron(),
    discriminant_analysis.LinearDiscriminantAnalysis(),
    naive_bayes.GaussianNB(),
    naive_bayes.BernoulliNB(binarize=0.3),
    make_pipeline(MinMaxScaler(clip=True), naive_bayes.MultinomialNB()),
    make_pipeline(MinMaxScaler(clip=True), naive_bayes.ComplementNB()),
    make_pipeline(KBinsDiscretizer(4, encode="ordinal"), naive_bayes.CategoricalNB()),
]


def name_of(model: Any) -> str:
    return type(model.steps[-1][1] if hasattr(model, "steps") else model).__name__


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("model", CLASSIFIERS, ids=name_of)
def test_classifiers(model: Any, classes: int, way: str) -> None:
    X, y = numbers(d=8, n=67, classes=classes)
    labels = np.array(["red", "green", "blue", "white"])[y]
    model.fit(X, labels)
    for label in sorted(set(labels))[:2]:
        found = check(model, X, label)
        assert found.rows_predicted < 0.01 * 67 * 2**8


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "model",
    [
        LinearRegression(),
        linear_model.Ridge(),
        linear_model.RidgeCV(),
        linear_model.Lasso(),
        linear_model.ElasticNet(),
        linear_model.BayesianRidge(),
        linear_model.HuberRegressor(),
        linear_model.SGDRegressor(random_state=0),
        svm.LinearSVR(),
        svm.SVR(kernel="linear"),
    ],
    ids=name_of,
)
@pytest.mark.parametrize("outcome", [at_least(0.3), at_most(-0.5), within(1.5)], ids=repr)
def test_regressors(model: Any, outcome: Any, way: str) -> None:
    X, _ = numbers(d=8, n=20)
    model.fit(X, X @ np.arange(8) / 8 + np.sin(X[:, 0]))
    check(model, X, outcome)


@pytest.mark.parametrize("kind", [svm.SVC, svm.NuSVC])
def test_linear_kernel_machines(kind: Any) -> None:
    X, y = numbers()
    check(kind(kernel="linear").fit(X, y), X)
    assert "kernel" in str(ask(kind(kernel="rbf").fit(X, y), X)[0])
    X, y = numbers(classes=3)
    assert "vote" in str(ask(kind(kernel="linear").fit(X, y), X)[0])


def whole(values: Any, classes: int) -> LogisticRegression:
    """A logistic regression with small whole coefficients, so that ties are exact and many."""
    coefficients = np.asarray(values, dtype=float).reshape(1 if classes == 2 else classes, -1)
    d = coefficients.shape[1]
    X, y = numbers(d=d, n=30, classes=classes)
    model = LogisticRegression().fit(X, y)
    model.coef_, model.intercept_ = coefficients, np.zeros(len(coefficients))
    return model


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_exact_ties(data: st.DataObject) -> None:
    classes = data.draw(st.sampled_from([2, 3]))
    d = data.draw(st.sampled_from([1, 3, 10]))
    rows = 1 if classes == 2 else classes
    small = st.integers(-3, 3)
    model = whole(data.draw(st.lists(small, min_size=d * rows, max_size=d * rows)), classes)
    n = data.draw(st.integers(1, 9))
    cells = data.draw(st.lists(small, min_size=(n + 1) * d, max_size=(n + 1) * d))
    X = np.array(cells, dtype=float).reshape(n + 1, d)
    label = data.draw(st.integers(0, classes - 1))
    check(model, X, label)


def test_ties_ask_the_model_about_each_row_once() -> None:
    model = whole(np.ones(10), 2)
    X = np.ones((9, 10))
    X[1:] = -1.0  # every hybrid with five players of each is a tie, for each of the same references
    found, _, _ = ask(model, X)
    assert isinstance(found, AdditiveEngine)
    before = found.rows_predicted
    list(found.sweep())
    assert found.rows_predicted - before == 252
    assert found.model_seconds > 0


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    scale=st.sampled_from([1e-150, 1e-3, 1.0, 1e8, 1e150]),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_near_ties_of_any_size(seed: int, scale: float, dtype: Any) -> None:
    """Sums that cancel to the last bit: 0.1 + 0.2 - 0.3, in whatever order the model adds."""
    rng = np.random.default_rng(seed)
    if dtype is np.float32:
        scale = float(np.clip(scale, 1e-3, 1e8))
    model = whole(rng.choice([-3.0, -2.0, -1.0, 1.0, 2.0], size=10), 2)
    model.coef_ = model.coef_.astype(dtype)
    model.intercept_ = model.intercept_.astype(dtype)
    X = (rng.integers(-3, 4, size=(9, 10)) / 10 * scale).astype(dtype)
    check(model, X, fickle=True)


@pytest.mark.parametrize("threshold", [0.0, 2.0, -1.0])
def test_regression_thresholds_that_are_met_exactly(threshold: float) -> None:
    rng = np.random.default_rng(3)
    X = rng.integers(-2, 3, size=(12, 9)).astype(float)
    model = LinearRegression().fit(X, X.sum(axis=1))
    model.coef_, model.intercept_ = np.ones(9), 0.0
    for outcome in (at_least(threshold), at_most(threshold), within(2.0)):
        assert check(model, X, outcome).rows_predicted > 0


@pytest.mark.parametrize("model", [LogisticRegression(), naive_bayes.GaussianNB()], ids=name_of)
def test_versus(model: Any) -> None:
    X, y = numbers()
    check(model.fit(X, y), X, versus(1, 0))
    X, y = numbers(classes=3)
    assert "predict_proba" in str(ask(model.fit(X, y), X, versus(1, 0))[0])
    check(svm.LinearSVC(dual=False).fit(X, y), X, versus(2, 0))
    check(svm.SVC(kernel="linear").fit(X, y > 1), X, versus(True, False))
    check(whole([1, 1, -1], 2), np.array([[1.0, 0, 1], [2, 0, 1], [-1, 2, 0]]), versus(1, 0))


@pytest.mark.filterwarnings("ignore")
def test_versus_by_probabilities_that_are_fitted_apart() -> None:
    X, y = numbers()
    model = svm.SVC(kernel="linear", probability=True).fit(X, y)
    check(model, X)
    assert "fit of their own" in str(ask(model, X, versus(1, 0))[0])


def table(n: int = 60) -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 70, size=n),
            "job": pd.Categorical(rng.choice(["none", "clerk", "nurse"], size=n)),
            "income": rng.gamma(2.0, 1000.0, size=n),
            "owns": rng.choice([True, False], size=n),
            "city": rng.choice(["Ulm", "Bonn", "Kiel", "Jena"], size=n).astype(object),
            "debt": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
        }
    )
    risk = frame["age"] / 50 + (frame["job"] == "none") + (frame["city"] == "Ulm")
    return frame, np.where(risk + rng.normal(size=n) / 3 > 1.6, "bad", "good")


def prepared(*, one_hot: Any = None, number: Any = None, remainder: Any = "drop") -> Any:
    steps = [
        ("words", one_hot or OneHotEncoder(handle_unknown="ignore"), ["job", "city"]),
        ("plain", "passthrough", ["owns"]),
        ("gone", "drop", ["income"]),
        ("numbers", number or make_pipeline(SimpleImputer(), StandardScaler()), ["debt", "age"]),
    ]
    return ColumnTransformer(steps, remainder=remainder)


@pytest.mark.parametrize(
    "steps",
    [
        prepared(),
        prepared(one_hot=OneHotEncoder(drop="if_binary", min_frequency=15)),
        prepared(one_hot=OneHotEncoder(drop="first", sparse_output=False)),
        prepared(one_hot=OrdinalEncoder()),
        prepared(one_hot=TargetEncoder(cv=2, random_state=0)),
        prepared(number=make_pipeline(SimpleImputer(add_indicator=True), RobustScaler())),
        prepared(number=make_pipeline(SimpleImputer(), KBinsDiscretizer(3))),
        prepared(number=make_pipeline(SimpleImputer(), SplineTransformer(include_bias=False))),
        prepared(
            number=make_pipeline(SimpleImputer(), QuantileTransformer(n_quantiles=9), Binarizer())
        ),
        prepared(
            number=make_pipeline(
                SimpleImputer(strategy="median"),
                FeatureUnion([("a", MaxAbsScaler()), ("b", KBinsDiscretizer(3))]),
                SelectKBest(k=3),
            )
        ),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_pipelines_of_columns(steps: Any) -> None:
    frame, y = table()
    model = make_pipeline(steps, LogisticRegression(max_iter=1000)).fit(frame, y)
    check(model, frame)
    check(model, frame, groups={"person": ["age", "city"], "money": ["debt", "income"]})


def test_pipelines_around_and_inside() -> None:
    frame, y = table()
    inner = make_pipeline(prepared(remainder="passthrough"), MaxAbsScaler())
    search = GridSearchCV(LogisticRegression(max_iter=1000), {"C": [0.1, 1.0]}, cv=2)
    check(make_pipeline(inner, "passthrough", search).fit(frame, y), frame)
    output = make_pipeline(prepared(one_hot=OrdinalEncoder()), LogisticRegression(max_iter=1000))
    check(output.set_output(transform="pandas").fit(frame, y), frame)


def test_polars_and_empty_columns() -> None:
    polars = pytest.importorskip("polars")
    rng = np.random.default_rng(0)
    frame = polars.DataFrame({"a": rng.normal(size=30), "b": rng.choice(["x", "y"], size=30)})
    steps = ColumnTransformer([("b", OneHotEncoder(), ["b"])], remainder="passthrough")
    model = make_pipeline(steps, LogisticRegression()).fit(frame, rng.integers(2, size=30))
    check(model, frame)


def test_imputer_drops_an_empty_column() -> None:
    X, y = numbers(d=4)
    X[:, 2] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make_pipeline(SimpleImputer(), LogisticRegression()).fit(X, y)
        parts = split_pipeline(model, ("a", "b", "c", "d"))
        assert not isinstance(parts, str)
        assert parts.owner.tolist() == [0, 1, 3]
        check(model, X)


def test_indicators_and_frozen_models() -> None:
    frame, y = table()
    both = FeatureUnion([("gaps", MissingIndicator()), ("fill", SimpleImputer())])
    steps = prepared(number=both, one_hot=OrdinalEncoder())
    model = make_pipeline(steps, StandardScaler(), LogisticRegression()).fit(frame, y)
    check(FrozenEstimator(model), frame)


def test_columns_that_do_not_match_give_a_reason() -> None:
    frame, y = table()
    model = make_pipeline(prepared(), LogisticRegression(max_iter=1000)).fit(frame, y)
    assert "other columns" in str(split_pipeline(model, tuple(reversed(frame.columns))))
    X, y = numbers()
    scaled = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    assert "was fitted on 5 columns" in str(split_pipeline(scaled, ("a", "b")))
    unfitted = make_pipeline(OneHotEncoder(), LogisticRegression())
    assert "could not be read" in str(split_pipeline(unfitted, ("a", "b")))


def test_a_tree_ensemble_keeps_its_columns() -> None:
    """What the readers of other models need: the steps, the owners and the estimator."""
    frame, y = table()
    model = make_pipeline(prepared(), RandomForestClassifier(3)).fit(frame, y)
    parts = split_pipeline(model, tuple(frame.columns))
    assert not isinstance(parts, str)
    assert parts.owner.tolist() == [1, 1, 1, 4, 4, 4, 4, 3, 5, 0]
    seen = parts.matrix(as_table(frame))
    np.testing.assert_array_equal(parts.final.predict(seen), model.predict(frame))


class Stubborn(LogisticRegression):
    """Looks like a logistic regression and is none."""

    def predict(self, X: Any) -> Any:
        return np.repeat(self.classes_[:1], len(X))


class Callable_(BaseEstimator):  # noqa: N801
    def predict(self, X: Any) -> Any:
        return (np.asarray(X)[:, 0] > 0).astype(int)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (RandomForestClassifier(3), "RandomForestClassifier is not known to be additive"),
        (Stubborn(), "Stubborn is not known"),
        (make_pipeline(PCA(2), LogisticRegression()), "PCA may mix columns"),
        (make_pipeline(PolynomialFeatures(), LogisticRegression()), "PolynomialFeatures may mix"),
        (make_pipeline(PowerTransformer(), LogisticRegression()), "PowerTransformer"),
        (
            make_pipeline(FunctionTransformer(abs), LogisticRegression()),
            "FunctionTransformer may mix columns",
        ),
        (
            make_pipeline(ColumnTransformer([("a", PCA(1), [0, 1])]), LogisticRegression()),
            "PCA may mix columns",
        ),
        (linear_model.TweedieRegressor(), "TweedieRegressor is not known"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_models_that_cannot_be_read_give_a_reason(model: Any, reason: str) -> None:
    X, y = numbers()
    model.fit(X, y)
    outcome = at_least(0.5) if not hasattr(model, "classes_") else None
    found, _, _ = ask(model, X, outcome)
    assert isinstance(found, str)
    assert reason in found


def test_callables_and_odd_outcomes_give_a_reason() -> None:
    X, y = numbers()
    model = LogisticRegression().fit(X, y)
    assert "not known" in str(ask(Callable_(), X)[0])
    assert "not known" in str(ask(lambda rows: rows[:, 0] > 0, X)[0])
    assert "outcome" in str(ask(model, X, satisfies(lambda a: a == 1, "one"))[0])
    assert "outcome" in str(ask(model, X, at_least(0.5))[0])


def test_broken_models_give_a_reason() -> None:
    X, y = numbers()
    model = LogisticRegression().fit(X, y)
    model.predict = lambda rows: np.zeros(len(rows), dtype=int)  # type: ignore[method-assign]
    assert "not known" in str(ask(model, X)[0])
    infinite = LogisticRegression().fit(X, y)
    infinite.coef_ = np.full((1, 5), 1e308)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert "finite" in str(ask(infinite, X * 10)[0])
    other = naive_bayes.GaussianNB().fit(X, y)
    _, blackbox, context = ask(other, X)
    assert "another model" in str(additive_engine(model, blackbox._target, context, True))
    del other.theta_
    assert "could not be read" in str(additive_engine(other, blackbox._target, context, True))


def test_a_model_that_does_not_do_what_its_parameters_say(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = numbers()
    model = LogisticRegression().fit(X, y)
    predict = LogisticRegression.predict
    monkeypatch.setattr(LogisticRegression, "predict", lambda self, rows: 1 - predict(self, rows))
    found, _, _ = ask(model, X, 1)
    assert found == "LogisticRegression does not predict as its parameters say"


def make_gam(link: str = "logit", interactions: bool = False) -> Any:
    """A stand-in with the shape of interpret's explainable boosting machine."""

    class ExplainableBoostingClassifier:
        term_features_ = [(0,), (2,), (1,)] + ([(0, 1)] if interactions else [])
        intercept_ = np.array([0.25])
        classes_ = np.array(["no", "yes"])
        link_ = link

        def eval_terms(self, X: Any) -> Any:
            return np.stack([np.floor(X[:, 0]), np.sin(X[:, 2]), X[:, 1] ** 2 - 3], axis=1)

        def predict(self, X: Any) -> Any:
            score = self.eval_terms(X).sum(axis=1) + self.intercept_
            return self.classes_[(score > 0).astype(int)]

    ExplainableBoostingClassifier.__module__ = "interpret.glassbox"
    return ExplainableBoostingClassifier()


def test_generalized_additive_models() -> None:
    X, _ = numbers(d=3)
    check(make_gam(), X)
    assert "interaction" in str(ask(make_gam(interactions=True), X)[0])
    assert "link" in str(ask(make_gam("probit"), X)[0])


def test_the_search_takes_it() -> None:
    X, y = numbers(d=11, n=40)
    model = LogisticRegression().fit(X, y)
    found, blackbox, context = ask(model, X)
    assert isinstance(found, AdditiveEngine)
    for limits in (Limits(), Limits(max_size=2)):
        fast, slow = (run_sweep(e, context.d, Question(limits=limits)) for e in (found, blackbox))
        for a, b in zip(fast.tally.levels, slow.tally.levels, strict=True):
            np.testing.assert_array_equal(a, b)
        for a, b in zip(fast.bits, slow.bits, strict=True):
            np.testing.assert_array_equal(a, b)
    assert found.rows_predicted <= 64  # the probes: nothing was in doubt


def test_many_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    from suffice.evaluate.additive import split

    monkeypatch.setattr(split, "_WORDS", 1)
    monkeypatch.setattr(engine, "_SUMS", 100)
    monkeypatch.setattr(engine, "_ASK", 10)
    monkeypatch.setattr(split, "_ASK", 30)
    rng = np.random.default_rng(0)
    for d in (6, 13):
        X = rng.integers(-1, 2, size=(4, d)).astype(float)
        check(whole(rng.choice([-1, 1, 2], size=d), 2), X)


def test_rows_are_told_apart_however_many_values_they_have() -> None:
    rng = np.random.default_rng(0)
    codes = np.stack([rng.permutation(5000) for _ in range(9)], axis=1)
    held = rng.random((400, 9)) < 0.5
    references = rng.integers(3, size=400)
    rows = np.where(held, codes[0], codes[references + 1])
    identity, first = distinct_rows(rows)
    np.testing.assert_array_equal(rows[first][identity], rows)
    assert len(first) == len(np.unique(rows, axis=0))


def test_kernels_on_their_own() -> None:
    rng = np.random.default_rng(0)
    deltas = rng.integers(-9, 9, size=(2, 7)).astype(float)
    held = (np.arange(128)[:, None] >> np.arange(7) & 1).astype(float)
    np.testing.assert_array_equal(subset_sums(deltas), deltas @ held.T)
    square = rng.integers(2, size=(64, 3, 64)).astype(np.uint8)
    words = np.packbits(square, axis=2, bitorder="little").view("<u8")[..., 0]
    transpose_bits(words)
    back = np.unpackbits(words[..., None].view(np.uint8), axis=2, bitorder="little")
    np.testing.assert_array_equal(back, square.transpose(2, 1, 0))
