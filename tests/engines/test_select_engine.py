"""An engine that does not serve says why, in words about the model and the data; others serve."""

from __future__ import annotations

import copy
import re
from dataclasses import replace
from types import FunctionType
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
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from suffice import ConditionalContext, Explainer, InputError
from suffice.engines import register_reader, select_engine as choice
from suffice.engines.additive_engine import AdditiveEngine
from suffice.engines.additive_model import read_additive
from suffice.engines.select_engine import Unreadable
from suffice.engines.trees import TreeEngine, TreeModel, read_trees
from suffice.target import at_least, satisfies, versus, within
from tests.engines.engine_cases import Case, linear_data, tree_data, unreadable_reason
from tests.fakes import FakeClock, fake_time

X, Y = linear_data()
FOREST = RandomForestClassifier(5, random_state=0).fit(X, Y)
LINEAR = LogisticRegression().fit(X, Y)


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
    assert unreadable_reason(Case(model, X, outcome), "additive") == reason


def test_callables_and_odd_outcomes_are_not_read_from_sums() -> None:
    def first(rows: Any) -> Any:
        return rows[:, 0] > 0

    unknown = {OnlyPredicts(): "OnlyPredicts", first: "a function"}
    for model, name in unknown.items():
        why = unreadable_reason(Case(model, X), "additive")
        assert why == f"{name} is not known to be additive"
    for outcome, says in ((satisfies(lambda a: a == 1, "one"), "one"), (at_least(0.5), "≥ 0.5")):
        why = unreadable_reason(Case(LINEAR, X, outcome), "additive")
        assert re.fullmatch(f"the outcome '.*{says}' cannot be read from the model's scores", why)


def test_models_that_do_not_do_as_their_parameters_say(monkeypatch: pytest.MonkeyPatch) -> None:
    planted = LogisticRegression().fit(X, Y)
    planted.predict = lambda rows: np.zeros(len(rows), dtype=int)  # type: ignore[method-assign]
    why = "LogisticRegression is not known to be additive"
    assert unreadable_reason(Case(planted, X, 0), "additive") == why
    infinite = LogisticRegression().fit(X, Y)
    infinite.coef_ = np.full((1, 5), 1e308)
    with np.errstate(over="ignore", invalid="ignore"):  # the model's own sum
        case = Case(infinite, X * 10)
    assert unreadable_reason(case, "additive") == (
        "the terms of LogisticRegression are not all finite on these rows"
    )
    broken = naive_bayes.GaussianNB().fit(X, Y)
    case = Case(broken, X)
    del broken.theta_
    assert unreadable_reason(case, "additive") == (
        "GaussianNB keeps its parameters in a form that suffice does not know"
    )
    predict = LogisticRegression.predict
    monkeypatch.setattr(LogisticRegression, "predict", lambda self, rows: 1 - predict(self, rows))
    assert unreadable_reason(Case(LINEAR, X, 1), "additive") == (
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
    joined = unreadable_reason(Case(forest, rows, within(5)), "trees")
    assert re.fullmatch(r"the outcome '.*' does not set one class against the rest", joined)
    custom = Case(forest, rows, satisfies(lambda labels: labels == 1))
    assert unreadable_reason(custom, "trees") == (
        "an outcome given as a function can only be asked of the model"
    )
    assert unreadable_reason(Case(softmax, rows, versus(0, 2)), "trees") == (
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


def test_an_engine_chosen_by_name_is_used_or_says_why_not() -> None:
    assert Explainer(LINEAR, X, engine="additive").explain(X[0]).provenance.evaluator == "additive"
    with pytest.raises(InputError) as error:
        Explainer(FOREST, X, engine="additive").explain(X[0])
    assert str(error.value) == (
        "engine: got 'additive'; allowed: 'auto' or 'blackbox' here, since RandomForestClassifier "
        "is not known to be additive."
    )
    bounded = Explainer(FOREST, X, engine="trees").explain(X[0], max_size=2)
    assert bounded.provenance.evaluator == "trees"
    with pytest.raises(InputError, match="engine: got 'tree'; allowed: 'auto', 'blackbox', 'add"):
        Explainer(FOREST, X, engine="tree")


def test_a_model_is_read_once_for_all_inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    from suffice.engines import additive_model, trees

    read: list[str] = []

    def counted(name: str, reader: Any) -> Any:
        def reading(*given: Any) -> Any:
            read.append(name)
            return reader(*given)

        return reading

    monkeypatch.setattr(additive_model, "read_additive", counted("additive", read_additive))
    monkeypatch.setattr(trees, "read_trees", counted("trees", read_trees))
    explainer = Explainer(FOREST, X)
    answers = [explainer.explain(row).provenance.evaluator for row in X[:3]]
    assert answers == ["trees"] * 3
    assert read == ["additive", "trees"]


def test_the_model_predicts_where_that_is_less_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "lattice_work", lambda model, hybrids: -1e9)
    assert note(FOREST) == (
        "additive: RandomForestClassifier is not known to be additive; "
        "trees: predicting every row with the model is less work here"
    )
    assert note(FOREST, max_size=1) is None
    named = Explainer(FOREST, X, engine="trees").explain(X[0])
    assert named.provenance.evaluator == "trees"
    asked = Explainer(FOREST, X).explain(X[0])
    assert asked.provenance.evaluator == "blackbox"
    assert asked.keep.to_frame().equals(named.keep.to_frame())


def test_a_large_forest_on_a_few_coarse_columns_predicts_itself() -> None:
    rows = np.random.default_rng(0).integers(2, size=(400, 3)).astype(float)
    noisy = np.random.default_rng(1).integers(2, size=400)
    large = RandomForestClassifier(3000, max_depth=3, random_state=0).fit(rows, noisy)
    asked = Explainer(large, rows).explain(rows[0])  # 8 distinct rows, 20,000 leaves
    assert asked.provenance.evaluator == "blackbox"


@pytest.mark.parametrize("seconds", [1e-9, 1e3])
def test_a_models_measured_speed_changes_no_answer(seconds: float) -> None:
    # Their sweep takes so much work that asking a model of 1 ns a row would be chosen, if timed.
    forest = RandomForestClassifier(600, random_state=0).fit(X, Y)
    quick, slow = (Explainer(forest, X, references="all") for _ in range(2))
    slow._decider.model.seconds_per_row = seconds
    for row in X[:2]:
        first, second = (e.explain(row).provenance for e in (quick, slow))
        assert first.evaluator == second.evaluator == "trees"
        assert first.rows_predicted == second.rows_predicted


def wide_data(d: int = 15) -> tuple[np.ndarray, np.ndarray]:
    """Rows of which the last column decides nothing."""
    rows = np.random.default_rng(5).integers(3, size=(120, d)).astype(float)
    return rows, (rows[:, 0] + rows[:, 1] > 2).astype(int)


def last_column_decides(rows: Any) -> Any:
    return (np.asarray(rows)[:, -1] > 0).astype(int)


@pytest.mark.parametrize("method", ["predict", "predict_proba"])
def test_no_engine_reads_a_model_with_a_method_of_its_own(method: str) -> None:
    for model in (FOREST, LINEAR):
        patched = copy.deepcopy(model)
        setattr(patched, method, getattr(model, method))
        assert Explainer(patched, X).explain(X[0]).provenance.evaluator == "blackbox"
    inside = copy.deepcopy(FOREST)
    inside.estimators_[2].predict_proba = FOREST.estimators_[0].predict_proba
    assert "was replaced" in unreadable_reason(Case(inside, X), "trees")
    alone = make_pipeline(StandardScaler(), copy.deepcopy(FOREST)).fit(X, Y)
    setattr(alone, method, getattr(FOREST, method))
    assert "was replaced" in unreadable_reason(Case(alone, X), "trees")


def test_no_feature_is_left_out_for_a_model_with_a_method_of_its_own() -> None:
    rows, two = wide_data()
    model = RandomForestClassifier(5, max_depth=2, max_features=2, random_state=0).fit(rows, two)
    model.predict = last_column_decides  # type: ignore[method-assign]
    found = [
        Explainer(model, rows, engine=engine, n_references=10).explain(rows[0], search="exhaustive")
        for engine in ("auto", "blackbox")
    ]
    assert found[0].keep.to_frame().equals(found[1].keep.to_frame())
    assert found[0].left_out == found[1].left_out == ()
    for e in found:  # nor is its label read from its probabilities
        assert e.prediction == last_column_decides(rows[:1])[0]
        assert e.keep.everything.sufficiency == 1.0


def test_a_wrong_reading_leaves_no_feature_out(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, two = wide_data()
    model = RandomForestClassifier(5, max_depth=2, max_features=2, random_state=0).fit(rows, two)
    monkeypatch.setattr(
        RandomForestClassifier, "predict", lambda self, given: last_column_decides(given)
    )
    monkeypatch.setattr(
        RandomForestClassifier,
        "predict_proba",
        lambda self, given: np.eye(2)[last_column_decides(given)],
    )
    assert Case(model, rows[:11]).trees().idle_players() == {}  # checked before it answers
    explainer = Explainer(model, rows, n_references=10)
    for row in rows[:2]:
        found = explainer.explain(row, search="exhaustive")
        assert found.left_out == ()
        assert found.provenance.evaluator == "blackbox"
        assert "disagree with the model's predictions" in str(found.provenance.note)
        plain = Explainer(model, rows, n_references=10, engine="blackbox")
        assert found.keep.to_frame().equals(plain.explain(row, search="exhaustive").keep.to_frame())


def test_a_reading_found_wrong_late_is_searched_again_with_all_features(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows, two = wide_data(14)
    model = RandomForestClassifier(5, max_depth=2, random_state=0).fit(rows, two)
    idle = TreeEngine.idle_players

    def before_checks(self: TreeEngine) -> Any:
        return idle(self) if self._uses_model else {13: "unread"}

    monkeypatch.setattr(TreeEngine, "idle_players", before_checks)
    monkeypatch.setattr(
        RandomForestClassifier, "predict", lambda self, given: last_column_decides(given)
    )
    explainer = Explainer(model, rows, n_references=10)
    first = explainer.explain(rows[0], search="exhaustive")
    assert first.left_out == ()
    assert first.provenance.evaluator == "blackbox"
    again = explainer.explain(rows[0], search="exhaustive")
    assert first.keep.to_frame().equals(again.keep.to_frame())
    assert first.provenance.rows_predicted > again.provenance.rows_predicted


def test_a_sum_denied_after_it_named_idle_features_is_searched_again_with_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows, two = wide_data()
    model = LogisticRegression().fit(rows, two)
    model.coef_[:, 6:] = 0.0  # by its parameters it reads six features only
    monkeypatch.setattr(
        LogisticRegression, "predict", lambda self, given: last_column_decides(given)
    )
    checks = iter([True, False])  # the first hybrids happen to agree
    monkeypatch.setattr(AdditiveEngine, "_agrees_with_model", lambda *_: next(checks))
    found = Explainer(model, rows, n_references=10).explain(rows[0], search="exhaustive")
    assert "does not predict as its parameters say" in str(found.provenance.note)
    assert found.left_out == ()
    plain = Explainer(model, rows, n_references=10, engine="blackbox")
    assert found.keep.to_frame().equals(plain.explain(rows[0], search="exhaustive").keep.to_frame())


@pytest.mark.parametrize("budget", [None, 3000])
def test_rows_of_a_check_that_fails_are_counted(
    monkeypatch: pytest.MonkeyPatch, budget: int | None
) -> None:
    rows, two = wide_data()
    model = LogisticRegression().fit(rows, two)
    predicted: list[int] = []

    def predict(self: LogisticRegression, given: Any) -> Any:
        predicted.append(len(given))
        return last_column_decides(given)

    monkeypatch.setattr(LogisticRegression, "predict", predict)
    explainer = Explainer(model, rows, n_references=10)
    predicted.clear()
    found = explainer.explain(rows[0], search="exhaustive", budget=budget)
    assert "does not predict as its parameters say" in str(found.provenance.note)
    assert found.provenance.rows_predicted == sum(predicted) + 1  # the input's probability
    assert budget is None or sum(predicted) <= budget


def test_an_engine_that_gives_up_keeps_the_time_of_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, largest = fake_time(monkeypatch), []
    predict = RandomForestClassifier.predict

    def slow(self: Any, given: Any) -> Any:
        clock.now += 1e-3 * len(given)
        largest.append(len(given))
        return 1 - predict(self, given)

    monkeypatch.setattr(RandomForestClassifier, "predict", slow)
    case = Case(FOREST, X)
    largest.clear()
    read = TreeModel(read_trees(FOREST))
    found = TreeEngine(read, case.target, case.hybrids, case.y, patience=0.05)
    found.outcomes(case.held)
    assert found.name == "blackbox"
    assert max(largest) <= 50


def slow_model_that_its_trees_misread(
    monkeypatch: pytest.MonkeyPatch, seconds: float
) -> tuple[RandomForestClassifier, FakeClock]:
    rows, two = wide_data(10)
    model = RandomForestClassifier(5, max_depth=2, random_state=0).fit(rows, two)
    clock = fake_time(monkeypatch)

    def predict(self: Any, given: Any) -> Any:
        clock.now += seconds * len(given)
        return last_column_decides(given)

    monkeypatch.setattr(RandomForestClassifier, "predict", predict)
    monkeypatch.setattr(
        RandomForestClassifier,
        "predict_proba",
        lambda self, given: np.eye(2)[last_column_decides(given)],
    )
    return model, clock


@pytest.mark.parametrize("question", ["explain", "recourse"])
@pytest.mark.parametrize("engine", ["auto", "trees"])
def test_a_time_limit_is_kept_where_a_reading_is_denied(
    engine: str, question: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, clock = slow_model_that_its_trees_misread(monkeypatch, 2e-3)
    rows, _ = wide_data(10)
    explainer = Explainer(model, rows, n_references=20, engine=engine)
    for row in rows[:2]:  # for the second the reading is known to be wrong
        started = clock.now
        found = getattr(explainer, question)(row, time_limit=1)
        assert clock.now - started <= 1.1
        assert not found.complete


def test_a_time_limit_is_kept_where_a_reading_is_denied_late(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model, clock = slow_model_that_its_trees_misread(monkeypatch, 2e-3)
    rows, _ = wide_data(10)
    monkeypatch.setattr(TreeEngine, "check_reading", lambda self: True)  # it agreed so far
    explainer = Explainer(model, rows, n_references=20, engine="trees")
    started = clock.now
    found = explainer.recourse(rows[0], time_limit=1)
    assert clock.now - started <= 1.2
    assert not found.complete


@pytest.mark.parametrize("question", ["explain", "recourse"])
def test_a_time_limit_is_kept_by_a_model_that_became_slower(
    question: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, slow = fake_time(monkeypatch), [0.0]

    def last(given: Any) -> Any:
        clock.now += (1e-6 + slow[0]) * len(given)
        return last_column_decides(given)

    rows = np.random.default_rng(0).normal(size=(200, 15))
    explainer = Explainer(last, rows, n_references=20)
    slow[0], started = 2e-3, clock.now
    found = getattr(explainer, question)(rows[0], time_limit=1)
    assert clock.now - started <= 1.1
    assert not found.complete


@pytest.mark.parametrize("engine", ["blackbox", "additive", "trees"])
def test_the_shares_of_an_empty_list_add_up_to_1(engine: str) -> None:
    case = Case({"additive": LINEAR}.get(engine, FOREST), X)
    found = case.box() if engine == "blackbox" else getattr(case, engine)()
    shares: list[float] = []
    assert found.outcomes(case.held[:0], shares.append).shape == (0, found.n)
    assert shares == [1.0]


class Words:
    """A classifier with labels that are words, whose reader forgets to say so."""

    classes_ = np.array(["no", "yes"])

    def __init__(self, numbers: Any = FOREST) -> None:
        self.numbers = numbers

    def predict(self, given: Any) -> Any:
        return self.classes_[self.numbers.predict(given)]

    def predict_proba(self, given: Any) -> Any:
        return self.numbers.predict_proba(given)


register_reader(Words, trees=lambda model: replace(read_trees(model.numbers), classes=None))


@pytest.mark.parametrize("outcome", [None, versus("no", "yes")])
@pytest.mark.parametrize(
    "model",
    [FOREST, GradientBoostingClassifier(n_estimators=3), DecisionTreeClassifier(max_depth=3)],
    ids=lambda model: type(model).__name__,
)
def test_a_reader_that_forgets_the_classes_is_a_reason(model: Any, outcome: Any) -> None:
    words = Words(model.fit(X, Y))
    why = unreadable_reason(Case(words, X, outcome), "trees")
    assert why.startswith("the trees give a number, which does not tell the outcome")
    found = Explainer(words, X, outcome=outcome).explain(X[0])
    assert found.provenance.evaluator == "blackbox"


def test_a_bug_of_suffice_is_no_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    from suffice.engines.trees import sklearn

    def unhashable(*given: Any) -> Any:
        return {[]: given}

    monkeypatch.setattr(sklearn, "class_labels", FunctionType(unhashable.__code__, vars(sklearn)))
    with pytest.raises(TypeError, match="unhashable"):
        read_trees(FOREST)
    # What another library's own code raises is a reason: it may be of another version.
    monkeypatch.setattr(sklearn, "class_labels", unhashable)
    with pytest.raises(Unreadable, match="keeps its trees in a form that suffice does not know"):
        read_trees(FOREST)
