"""The additive engine against the black box: the same outcome for every hybrid, ties included."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from sklearn import discriminant_analysis, linear_model, naive_bayes, svm
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, MinMaxScaler

from suffice.engines import additive_engine as engine, additive_margins as split, blackbox
from suffice.engines.additive_margins import subset_sums, transpose_bits
from suffice.factors.lattice import held_of_masks
from suffice.search import Limits, Question, exhaustive_search
from suffice.tables.cells import distinct_rows
from suffice.target import at_least, at_most, versus, within
from tests.effort import examples
from tests.engines.engine_cases import (
    Case,
    check_additive,
    check_lists,
    linear_data,
    sweep_outcomes,
    unreadable_reason,
)


def check_fickle(case: Case) -> None:
    """As `check_additive`, for a model that may answer otherwise about the same row in another
    batch: about no other row may the two differ.
    """
    found, truth = case.additive(), case.truth()
    for got in (found.outcomes(case.held), sweep_outcomes(found)):
        for subset, reference in zip(*(truth != got).nonzero(), strict=True):
            answers = set()
            for copies in (1, 2, 3, 5, 8, 64, 67):
                many = np.repeat(case.held[[subset]], copies, axis=0)
                box = case.box()
                answers |= set(box.outcomes_of_hybrids(many, np.full(copies, reference)).tolist())
            assert answers | {bool(truth[subset, reference])} == {True, False}


@pytest.fixture(params=["direct", "split"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways to sweep, whatever the number of players would choose."""
    monkeypatch.setattr(engine, "_FEW_PLAYERS", 30 if request.param == "direct" else 7)
    return str(request.param)


CLASSIFIERS = [
    LogisticRegression(),
    linear_model.LogisticRegressionCV(cv=2, Cs=2, max_iter=1000),
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


@pytest.mark.filterwarnings("ignore::FutureWarning")  # defaults of LogisticRegressionCV
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("model", CLASSIFIERS, ids=name_of)
def test_classifiers_have_the_black_boxs_outcomes(model: Any, classes: int, way: str) -> None:
    X, y = linear_data(d=8, n=67, classes=classes)
    labels = np.array(["red", "green", "blue", "white"])[y]
    model.fit(X, labels)
    for label in sorted(set(labels))[:2]:
        found = check_additive(model, X, label)
        assert found.rows_predicted < 0.01 * 67 * 2**8


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
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
def test_regressors_have_the_black_boxs_outcomes(model: Any, outcome: Any, way: str) -> None:
    X, _ = linear_data(d=8, n=20)
    model.fit(X, X @ np.arange(8) / 8 + np.sin(X[:, 0]))
    check_additive(model, X, outcome)


@pytest.mark.parametrize("kind", [svm.SVC, svm.NuSVC])
def test_linear_kernels_of_two_classes_are_additive(kind: Any) -> None:
    X, y = linear_data()
    check_additive(kind(kernel="linear").fit(X, y), X)
    curved = Case(kind(kernel="rbf").fit(X, y), X)
    assert (
        unreadable_reason(curved, "additive")
        == f"{kind.__name__} with kernel='rbf' is not additive"
    )
    X, y = linear_data(classes=3)
    voting = Case(kind(kernel="linear").fit(X, y), X)
    assert (
        unreadable_reason(voting, "additive") == f"{kind.__name__} lets pairs of its classes vote"
    )


def whole(values: Any, classes: int) -> LogisticRegression:
    """A logistic regression with small whole coefficients, so that ties are exact and many."""
    coefficients = np.asarray(values, dtype=float).reshape(1 if classes == 2 else classes, -1)
    d = coefficients.shape[1]
    X, y = linear_data(d=d, n=30, classes=classes)
    model = LogisticRegression().fit(X, y)
    model.coef_, model.intercept_ = coefficients, np.zeros(len(coefficients))
    return model


@settings(max_examples=examples(40), deadline=None)
@given(data=st.data())
def test_exact_ties_are_the_models_own(data: st.DataObject) -> None:
    classes = data.draw(st.sampled_from([2, 3]))
    d = data.draw(st.sampled_from([1, 3, 10]))
    rows = 1 if classes == 2 else classes
    small = st.integers(-3, 3)
    model = whole(data.draw(st.lists(small, min_size=d * rows, max_size=d * rows)), classes)
    n = data.draw(st.integers(1, 9))
    cells = data.draw(st.lists(small, min_size=(n + 1) * d, max_size=(n + 1) * d))
    X = np.array(cells, dtype=float).reshape(n + 1, d)
    label = data.draw(st.integers(0, classes - 1))
    check_additive(model, X, label)


def test_the_model_predicts_each_tied_row_once() -> None:
    model = whole(np.ones(10), 2)
    X = np.ones((9, 10))
    X[1:] = -1.0  # every hybrid with five players of each is a tie, for each of the same references
    found = Case(model, X).additive()
    before = found.rows_predicted
    list(found.sweep())
    assert found.rows_predicted - before == 252
    held = held_of_masks(np.arange(1 << 10), 10)
    asked = found.rows_predicted
    for part in (held[:500], held[500:], held):
        found.outcomes(part)
    assert found.rows_predicted - asked == 252


@settings(max_examples=examples(25), deadline=None)
@given(
    seed=st.integers(0, 10**6),
    scale=st.sampled_from([1e-150, 1e-3, 1.0, 1e8, 1e150]),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_near_ties_of_any_size_are_the_models_own(seed: int, scale: float, dtype: Any) -> None:
    """Sums that cancel to the last bit: 0.1 + 0.2 - 0.3, in whatever order the model adds."""
    rng = np.random.default_rng(seed)
    if dtype is np.float32:
        scale = float(np.clip(scale, 1e-3, 1e8))
    model = whole(rng.choice([-3.0, -2.0, -1.0, 1.0, 2.0], size=10), 2)
    model.coef_ = model.coef_.astype(dtype)
    model.intercept_ = model.intercept_.astype(dtype)
    X = (rng.integers(-3, 4, size=(9, 10)) / 10 * scale).astype(dtype)
    check_fickle(Case(model, X))


@pytest.mark.parametrize("threshold", [0.0, 2.0, -1.0])
def test_scores_at_a_threshold_are_predicted_by_the_model(threshold: float) -> None:
    rng = np.random.default_rng(3)
    X = rng.integers(-2, 3, size=(12, 9)).astype(float)
    model = LinearRegression().fit(X, X.sum(axis=1))
    model.coef_, model.intercept_ = np.ones(9), 0.0
    for outcome in (at_least(threshold), at_most(threshold), within(2.0)):
        assert check_additive(model, X, outcome).rows_predicted > 0


@pytest.mark.parametrize("model", [LogisticRegression(), naive_bayes.GaussianNB()], ids=name_of)
def test_versus_is_read_where_scores_are_not_rounded(model: Any) -> None:
    X, y = linear_data()
    check_additive(model.fit(X, y), X, versus(1, 0))
    X, y = linear_data(classes=3)
    rounded = Case(model.fit(X, y), X, versus(1, 0))
    assert unreadable_reason(rounded, "additive") == (
        "versus compares predict_proba, which rounds different scores alike"
    )
    check_additive(svm.LinearSVC(dual=False).fit(X, y), X, versus(2, 0))
    check_additive(svm.SVC(kernel="linear").fit(X, y > 1), X, versus(True, False))
    check_additive(
        whole([1, 1, -1], 2), np.array([[1.0, 0, 1], [2, 0, 1], [-1, 2, 0]]), versus(1, 0)
    )


@pytest.mark.filterwarnings("ignore:The `probability` parameter:FutureWarning")
def test_versus_by_probabilities_that_are_fitted_apart_is_not_read() -> None:
    X, y = linear_data()
    model = svm.SVC(kernel="linear", probability=True).fit(X, y)
    check_additive(model, X)
    assert unreadable_reason(Case(model, X, versus(1, 0)), "additive") == (
        "the probabilities of SVC are fitted apart from its scores"
    )


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


def test_explainable_boosting_machines_without_interactions_are_additive() -> None:
    X, _ = linear_data(d=3)
    check_additive(make_gam(), X)
    assert unreadable_reason(Case(make_gam(interactions=True), X), "additive") == (
        "ExplainableBoostingClassifier has interactions: fit it with interactions=0"
    )
    assert unreadable_reason(Case(make_gam("probit"), X), "additive") == (
        "ExplainableBoostingClassifier has the link 'probit', which is not read"
    )


def test_a_sweep_counts_the_same_with_and_without_it() -> None:
    X, y = linear_data(d=11, n=40)
    model = LogisticRegression().fit(X, y)
    case = Case(model, X)
    found, box, d = case.additive(), case.box(), case.hybrids.d
    for limits in (Limits(), Limits(max_size=2)):
        asked = Question(limits=limits, progress=False)
        fast, slow = (exhaustive_search(e, d, asked) for e in (found, box))
        for a, b in zip(fast.tally.levels, slow.tally.levels, strict=True):
            np.testing.assert_array_equal(a, b)
        for a, b in zip(fast.bits, slow.bits, strict=True):
            np.testing.assert_array_equal(a, b)
    assert found.rows_predicted <= 64  # the probes: nothing was in doubt


def test_blocks_of_any_size_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:

    monkeypatch.setattr(split, "_WORDS_PER_BLOCK", 1)
    monkeypatch.setattr(engine, "_SUMS_AT_ONCE", 100)
    monkeypatch.setattr(blackbox, "_HYBRIDS_PER_LOOKUP", 10)
    monkeypatch.setattr(split, "_DOUBTS_PER_CALL", 30)
    rng = np.random.default_rng(0)
    for d in (6, 13):
        X = rng.integers(-1, 2, size=(4, d)).astype(float)
        check_additive(whole(rng.choice([-1, 1, 2], size=d), 2), X)


def test_rows_are_distinguished_however_many_values_they_have() -> None:
    rng = np.random.default_rng(0)
    codes = np.stack([rng.permutation(5000) for _ in range(9)], axis=1)
    held = rng.random((400, 9)) < 0.5
    references = rng.integers(3, size=400)
    rows = np.where(held, codes[0], codes[references + 1])
    identity, first = distinct_rows(rows)
    np.testing.assert_array_equal(rows[first][identity], rows)
    assert len(first) == len(np.unique(rows, axis=0))


def test_subset_sums_and_transposed_bits_are_what_they_say() -> None:
    rng = np.random.default_rng(0)
    deltas = rng.integers(-9, 9, size=(2, 7)).astype(float)
    held = (np.arange(128)[:, None] >> np.arange(7) & 1).astype(float)
    np.testing.assert_array_equal(subset_sums(deltas), deltas @ held.T)
    square = rng.integers(2, size=(64, 3, 64)).astype(np.uint8)
    words = np.packbits(square, axis=2, bitorder="little").view("<u8")[..., 0]
    transpose_bits(words)
    back = np.unpackbits(words[..., None].view(np.uint8), axis=2, bitorder="little")
    np.testing.assert_array_equal(back, square.transpose(2, 1, 0))


@pytest.mark.parametrize("d", [40, 200])
def test_lists_of_many_players_have_the_black_boxs_outcomes(
    d: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "_NUMBERS_AT_ONCE", 5000)
    X, y = linear_data(d=d, n=60)
    case = Case(LogisticRegression(max_iter=1000).fit(X, y), X)
    held = np.random.default_rng(0).random((150, d)) < 0.5
    found, shares = case.additive(), []
    assert (found.outcomes(held, shares.append) == case.box().outcomes(held)).all()
    assert sum(share > 0 for share in shares) > 1
    assert sum(shares) == pytest.approx(1)
    check_lists(found, held, case.box().outcomes(held))


@pytest.mark.parametrize("d", [3, 10, 14, 40])
def test_the_work_of_a_sweep_is_counted_without_asking_the_model(d: int) -> None:
    found = Case(whole(np.ones(d), 2), np.ones((4, d))).additive()
    asked = found.rows_predicted
    assert found.sweep_work() > found.work_per_hybrid() > 0
    assert found.rows_predicted == asked
