"""An engine that does not serve says why, in words about the model and the data; others serve."""

from __future__ import annotations

import re
from math import inf
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import linear_model, naive_bayes
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    StandardScaler,
)
from sklearn.tree import DecisionTreeRegressor

from suffice import ConditionalContext, Explainer, InputError
from suffice.evaluate import choice
from suffice.evaluate.additive import read_additive
from suffice.evaluate.protocol import Unreadable
from suffice.evaluate.trees import TreeEngine, read_trees
from suffice.target import at_least, satisfies, versus, within
from tests.engine_cases import Case, numbers, refusal, tree_data

X, Y = numbers()
FOREST = RandomForestClassifier(5, random_state=0).fit(X, Y)
LINEAR = LogisticRegression().fit(X, Y)


@pytest.fixture(autouse=True)
def dear_model(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which engine is faster depends on the machine: here asking the model takes for ever."""
    if "own_pace" not in request.fixturenames:
        monkeypatch.setattr(choice, "asking_seconds", lambda target, hybrids: inf)


@pytest.fixture
def own_pace() -> None:
    """For tests that look at what asking takes."""


class Stubborn(LogisticRegression):
    """Looks like a logistic regression and is none."""

    def predict(self, X: Any) -> Any:
        return np.repeat(self.classes_[:1], len(X))


class OnlyPredicts(BaseEstimator):
    def predict(self, X: Any) -> Any:
        return (np.asarray(X)[:, 0] > 0).astype(int)


class Mine(RandomForestClassifier):
    pass


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (RandomForestClassifier(3), "RandomForestClassifier is not known to be additive"),
        (Stubborn(), "Stubborn is not known to be additive"),
        (make_pipeline(PCA(2), LogisticRegression()), "the step PCA may mix columns"),
        (
            make_pipeline(PolynomialFeatures(), LogisticRegression()),
            "the step PolynomialFeatures may mix columns",
        ),
        (
            make_pipeline(PowerTransformer(), LogisticRegression()),
            "the step PowerTransformer may mix columns",
        ),
        (
            make_pipeline(FunctionTransformer(abs), LogisticRegression()),
            "the step FunctionTransformer may mix columns: it calls a function",
        ),
        (
            make_pipeline(ColumnTransformer([("a", PCA(1), [0, 1])]), LogisticRegression()),
            "the step PCA may mix columns",
        ),
        (linear_model.TweedieRegressor(), "TweedieRegressor is not known to be additive"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_models_that_are_not_known_to_be_additive(model: Any, reason: str) -> None:
    model.fit(X, Y)
    outcome = None if hasattr(model, "classes_") else at_least(0.5)
    assert refusal(Case(model, X, outcome), "additive") == reason


def test_callables_and_odd_outcomes_are_not_read_from_sums() -> None:
    def first(rows: Any) -> Any:
        return rows[:, 0] > 0

    unknown = {OnlyPredicts(): "OnlyPredicts", first: "a function"}
    for model, name in unknown.items():
        why = refusal(Case(model, X), "additive")
        assert why == f"{name} is not known to be additive"
    for outcome, says in ((satisfies(lambda a: a == 1, "one"), "one"), (at_least(0.5), "≥ 0.5")):
        why = refusal(Case(LINEAR, X, outcome), "additive")
        assert re.fullmatch(f"the outcome '.*{says}' cannot be read from the model's scores", why)


def test_models_that_do_not_do_as_their_parameters_say(monkeypatch: pytest.MonkeyPatch) -> None:
    planted = LogisticRegression().fit(X, Y)
    planted.predict = lambda rows: np.zeros(len(rows), dtype=int)  # type: ignore[method-assign]
    why = "LogisticRegression is not known to be additive"
    assert refusal(Case(planted, X, 0), "additive") == why
    infinite = LogisticRegression().fit(X, Y)
    infinite.coef_ = np.full((1, 5), 1e308)
    with np.errstate(over="ignore", invalid="ignore"):  # the model's own sum
        case = Case(infinite, X * 10)
    assert refusal(case, "additive") == (
        "the terms of LogisticRegression are not all finite on these rows"
    )
    broken = naive_bayes.GaussianNB().fit(X, Y)
    case = Case(broken, X)
    del broken.theta_
    assert refusal(case, "additive") == (
        "GaussianNB keeps its parameters in a form that suffice does not know"
    )
    predict = LogisticRegression.predict
    monkeypatch.setattr(LogisticRegression, "predict", lambda self, rows: 1 - predict(self, rows))
    assert refusal(Case(LINEAR, X, 1), "additive") == (
        "LogisticRegression does not predict as its parameters say"
    )


def test_models_whose_trees_are_not_read() -> None:
    rows, two, _, number = tree_data()
    several = RandomForestRegressor(2).fit(rows, np.stack([number, number], axis=1))
    started = GradientBoostingRegressor(init=DecisionTreeRegressor(), n_estimators=2)
    counts = HistGradientBoostingRegressor(loss="poisson", max_iter=2)
    reasons = {
        LogisticRegression().fit(
            rows, two
        ): "LogisticRegression is not a tree model that suffice can read",
        Mine(2).fit(rows, two): "Mine is not a tree model that suffice can read",
        np.mean: "a function is not a tree model that suffice can read",
        several: "RandomForestRegressor predicts several outputs",
        started.fit(rows, number): "GradientBoostingRegressor starts from another model (init)",
        counts.fit(rows, np.exp(number / 30)): (
            "HistGradientBoostingRegressor with loss='poisson' does not predict the sum of its "
            "leaves"
        ),
        RandomForestClassifier(2): (
            "RandomForestClassifier is not fitted, or keeps its trees in a form that suffice does "
            "not know"
        ),
        make_pipeline(PCA(3), RandomForestClassifier(3)).fit(rows, two): (
            "the step PCA may mix columns"
        ),
    }
    for model, reason in reasons.items():
        with pytest.raises(Unreadable) as refused:
            read_trees(model, ("a", "b", "c", "d", "e"))
        assert str(refused.value) == reason


def test_outcomes_that_trees_do_not_tell() -> None:
    rows, _, three, _ = tree_data()
    forest = RandomForestClassifier(3, random_state=0).fit(rows, three)
    softmax = GradientBoostingClassifier(n_estimators=3, random_state=0).fit(rows, three)
    joined = refusal(Case(forest, rows, within(5)), "trees")
    assert re.fullmatch(r"the outcome '.*' does not set one class against the rest", joined)
    custom = Case(forest, rows, satisfies(lambda labels: labels == 1))
    assert refusal(custom, "trees") == (
        "an outcome given as a function can only be asked of the model"
    )
    assert refusal(Case(softmax, rows, versus(0, 2)), "trees") == (
        "versus compares probabilities, which softmax may round to equal ones"
    )


def note(model: Any, rows: Any = X, **options: Any) -> str | None:
    """What the provenance says of a small explanation."""
    explain = {key: options.pop(key) for key in ("budget", "max_size") if key in options}
    explainer = Explainer(model, rows, **options)
    row = rows.iloc[0] if isinstance(rows, pd.DataFrame) else rows[0]
    return explainer.explain(row, **explain).provenance.note


def test_no_note_where_an_engine_serves_or_none_was_wanted() -> None:
    assert note(LINEAR) is None
    assert note(FOREST) is None
    assert note(FOREST, max_size=1) is None
    assert note(FOREST, engine="blackbox") is None


def test_the_provenance_says_why_no_engine_serves() -> None:
    neighbours = KNeighborsClassifier().fit(X, Y)
    assert note(neighbours) == (
        "additive: KNeighborsClassifier is not known to be additive; "
        "trees: KNeighborsClassifier is not a tree model that suffice can read"
    )
    scaled = make_pipeline(StandardScaler(), PCA(2), LogisticRegression()).fit(X, Y)
    assert note(scaled) == "additive and trees: the step PCA may mix columns"
    assert note(FOREST, budget=1000, n_references=20) == (
        "additive and trees: a budget below 1,024 rows is left to the black box"
    )
    assert note(FOREST, context=ConditionalContext()) == (
        "additive and trees: only hybrids whose values are swapped are known, not this context's"
    )


def test_columns_of_text_are_read_by_the_model_that_takes_them() -> None:
    catboost = pytest.importorskip("catboost")
    rng = np.random.default_rng(0)
    people = pd.DataFrame({"Sex": rng.choice(["Male", "Female"], 80), "Age": rng.normal(size=80)})
    granted = (people["Age"] + (people["Sex"] == "Male") > 0.5).astype(int)
    model = catboost.CatBoostClassifier(
        iterations=5, depth=2, verbose=0, allow_writing_files=False, cat_features=["Sex"]
    ).fit(people, granted)
    assert note(model, people) is None
    encoded = make_pipeline(
        ColumnTransformer([("sex", OrdinalEncoder(), ["Sex"])], remainder="passthrough"),
        RandomForestClassifier(3, random_state=0),
    ).fit(people, granted)
    assert note(encoded, people) is None


def test_an_engine_asked_for_by_name_serves_or_says_why_not() -> None:
    assert Explainer(LINEAR, X, engine="additive").explain(X[0]).provenance.evaluator == "additive"
    with pytest.raises(InputError) as error:
        Explainer(FOREST, X, engine="additive").explain(X[0])
    assert str(error.value) == (
        "engine: got 'additive' (RandomForestClassifier is not known to be additive); allowed: a "
        "model and a context that it knows. Use engine='auto' or 'blackbox'."
    )
    bounded = Explainer(FOREST, X, engine="trees").explain(X[0], max_size=2)
    assert bounded.provenance.evaluator == "trees"
    with pytest.raises(InputError, match="engine: got 'tree'; allowed: 'auto', 'blackbox', 'add"):
        Explainer(FOREST, X, engine="tree")


def test_a_model_is_read_once_for_all_inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    from suffice.evaluate import additive, trees

    read: list[str] = []

    def counted(name: str, reader: Any) -> Any:
        def reading(*given: Any) -> Any:
            read.append(name)
            return reader(*given)

        return reading

    monkeypatch.setattr(additive, "read_additive", counted("additive", read_additive))
    monkeypatch.setattr(trees, "read_trees", counted("trees", read_trees))
    explainer = Explainer(FOREST, X)
    answers = [explainer.explain(row).provenance.evaluator for row in X[:3]]
    assert answers == ["trees"] * 3
    assert read == ["additive", "trees"]


def test_the_model_is_asked_where_that_is_faster(
    own_pace: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choice, "asking_seconds", lambda target, hybrids: -1.0)
    assert note(FOREST) == (
        "additive: RandomForestClassifier is not known to be additive; "
        "trees: asking the model about every row is faster here"
    )
    assert note(FOREST, max_size=1) is None
    named = Explainer(FOREST, X, engine="trees").explain(X[0])
    assert named.provenance.evaluator == "trees"
    asked = Explainer(FOREST, X).explain(X[0])
    assert asked.provenance.evaluator == "blackbox"
    assert asked.keep.to_frame().equals(named.keep.to_frame())


def test_what_is_faster_is_found_out_once(own_pace: None, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[float] = []

    def within(self: TreeEngine, asking: float) -> bool:
        told.append(asking)
        return True

    monkeypatch.setattr(TreeEngine, "sweeps_within", within)
    explainer = Explainer(FOREST, X, n_references=20)
    for row in X[:3]:
        assert explainer.explain(row, search="exhaustive").provenance.evaluator == "trees"
    assert len(told) == 1


def test_asking_takes_what_the_distinct_rows_take(
    own_pace: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = np.array([[0.0, 0, 0, 0, 0], [1, 1, 1, 1, 1], [2, 0, 0, 1, 0], [0, 0, 0, 0, 0]])
    case = Case(FOREST, rows)
    case.target.model.seconds_per_row, case.target.model.rows_timed = 1.0, 100
    finding = 3 * 2**5 * choice._SECONDS_PER_HYBRID
    assert choice.asking_seconds(case.target, case.hybrids) == pytest.approx(32 + 4 + 1 + finding)
    case.target.model.seconds_per_row = 1e-3  # so quick that a call's own start is most of it
    clock = iter([0.0, 0.05])
    monkeypatch.setattr(choice, "perf_counter", lambda: next(clock))
    assert choice.asking_seconds(case.target, case.hybrids) == pytest.approx(37 * 5e-4 + finding)
    case.target.model.seconds_per_row = None
    assert choice.asking_seconds(case.target, case.hybrids) == inf
