"""Outputs of models: labels, values or scores are read as such, anything else is an error."""

import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from suffice import (
    Explainer,
    InputError,
    ModelError,
    adapt,
    at_least,
    at_most,
    datasets,
    make_target,
    satisfies,
    within,
)
from suffice.models import fitted_columns
from suffice.tables import as_table

LOANS, Y = datasets.loans(80)
X = LOANS[["age", "income", "debt"]]
ROW = X.iloc[0]
N = len(X)


def old(rows):
    return np.asarray(rows)[:, 0] > 40


def answering(answers):
    """A model that gives these answers, cut to as many rows as it is asked about."""
    return lambda rows: answers[: len(rows)]


def filled(value, first=None):
    out = np.empty(N, dtype=object)
    out[:] = [value] * N
    if first is not None:
        out[0] = first
    return out


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        (pd.array([1, None] * 40, dtype="Int64"), "returned NaN for 40 of 80 rows"),
        (pd.Series(["a", pd.NA] * 40, dtype="string"), "returned NaN for 40 of 80 rows"),
        (filled("a", pd.NA), "returned NaN for 1 of 80 rows"),
        ([pd.NA, *["a"] * 79], "returned NaN for 1 of 80 rows"),
        (filled(Decimal(1), Decimal("NaN")), "returned NaN for 1 of 80 rows"),
        (filled(Decimal(1), Decimal("sNaN")), "returned NaN for 1 of 80 rows"),
        (np.array(["NaT", "2020-01-01"] * 40, dtype="datetime64[D]"), "NaN for 40 of 80"),
        (np.full(N, np.nan), "returned NaN for 80 of 80 rows"),
        (np.full((N, 2), np.nan), "returned NaN for 80 of 80 rows"),
        ([None, np.nan, *["a"] * 78], "returned NaN for 1 of 80 rows"),
        ([[1, 2], [3]] * 40, "returned rows of different lengths, from 1 to 2: it must"),
        ([["a", "b"], ["c"]] * 40, "returned rows of different lengths"),
        (
            np.array([["a", "b"]] * N),
            r"returned 'a' among <U1 of shape \(80, 2\).*array of objects",
        ),
        ([("a", "b"), ("c", "d")] * 40, "a label that is a tuple goes into an array of objects"),
        (pd.DataFrame({"a": ["x"] * N, "b": 1}).to_numpy(), "returned 'x' among object of shape"),
        (np.full(N, 1 + 2j), r"returned \(1\+2j\) among complex128"),
        (filled({"a": 1}), "cannot be hashed: {'a': 1}"),
        (filled((1, [2])), r"cannot be hashed: \(1, \[2\]\)"),
        (np.zeros((N, 0)), "it must return one label"),
    ],
)
def test_answers_that_cannot_be_read_are_reported_as_the_models(answers, message):
    with pytest.raises(ModelError, match=message) as caught:
        Explainer(answering(answers), X).explain(ROW)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("answer", "got"),
    [
        (None, "NoneType"),
        ("yes", "str"),
        ({"a": 1}, "dict"),
        (3.0, "float"),
        ((i for i in range(80)), "generator"),
        (np.zeros(79), r"shape \(79,\)"),
        (np.zeros((80, 2, 2)), r"shape \(80, 2, 2\)"),
        ([], r"shape \(0,\)"),
    ],
)
def test_answers_of_another_length_name_what_was_returned(answer, got):
    with pytest.raises(ModelError, match=rf"returned {got} for 80 rows: it must return one"):
        Explainer(lambda rows: answer, X)


def test_a_column_of_labels_is_labels_and_objects_that_are_numbers_are_numbers():
    as_columns = Explainer(lambda r: np.where(old(r), "old", "young")[:, None], X).explain(ROW)
    assert as_columns.prediction == ("old" if ROW["age"] > 40 else "young")
    objects = Explainer(
        lambda r: np.asarray(r)[:, 0].astype(object) * 0.5, X, outcome=at_least(20)
    ).explain(ROW)
    assert objects.prediction == ROW["age"] / 2
    scores = np.array([[0.2, 0.8], [0.7, 0.3]], dtype=object)
    columns = Explainer(lambda r: scores[old(r).astype(int)], X).explain(ROW)
    assert columns.prediction == int(ROW["age"] <= 40)
    listed = Explainer(lambda r: ["old" if o else 0 for o in old(r)], X).explain(ROW)
    assert listed.prediction == ("old" if ROW["age"] > 40 else 0)


def test_numbers_that_stand_for_classes_are_pointed_to_their_names():
    def zero_or_one(rows):
        return old(rows).astype(float)

    with pytest.raises(InputError, match=r'suffice\.adapt\(model, classes=\("no", "yes"\)\)'):
        Explainer(zero_or_one, X).explain(ROW)
    named = adapt(zero_or_one, classes=("no", "yes"))
    assert Explainer(named, X).explain(ROW).prediction == ("yes" if ROW["age"] > 40 else "no")
    three = adapt(lambda r: np.digitize(np.asarray(r)[:, 0], [30, 50]) * 1.0, classes=list("abc"))
    assert set(three.predict(X)) == set("abc")
    with pytest.raises(ModelError, match=r"expected \(80, 3\), a score for each of 3"):
        adapt(lambda r: np.asarray(r)[:, 0] * 0 + 0.5, classes=list("abc")).predict(X)
    with pytest.raises(InputError) as caught:
        Explainer(lambda r: np.asarray(r)[:, 0] / 7, X).explain(X.iloc[1])
    assert "adapt" not in str(caught.value), "a number that is no class is not taken for one"


def test_a_method_of_a_model_has_the_classes_and_columns_of_its_owner():
    model = LogisticRegression(max_iter=5000).fit(X, Y)
    wide = LOANS[["debt", "home", "age", "income"]]
    for method in (model.predict, model.predict_proba, model.decision_function):
        outcome = at_least(0.0) if method == model.decision_function else None
        e = Explainer(method, wide, outcome=outcome).explain(ROW.to_dict() | {"home": "own"})
        assert [p.name for p in e.keep.players] == ["age", "income", "debt"]
        if outcome is None:
            assert e.prediction == model.predict(X.iloc[[0]])[0]
    with pytest.raises(InputError, match=r"unknown class 1; allowed: .*'granted', 'refused'"):
        Explainer(model.predict_proba, X, outcome=1).explain(ROW)
    value = LinearRegression().fit(X, X["debt"])
    with pytest.raises(InputError, match="a model that returns numbers"):
        Explainer(value.predict, X).explain(ROW)


def test_scores_as_many_as_the_classes_that_a_callable_names():
    class Named:
        classes_ = ("young", "old", "ancient")

        def __init__(self, width):
            self.width = width

        def __call__(self, rows):
            return np.eye(3)[old(rows).astype(int)][:, : self.width]

    e = Explainer(Named(3), X).explain(ROW)
    assert e.prediction == ("old" if ROW["age"] > 40 else "young")
    with pytest.raises(ModelError, match="returned 2 scores per row for 3 classes"):
        Explainer(Named(2), X)


# -- outcomes --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: at_least("a"), "threshold: got 'a'; allowed: a finite number"),
        (lambda: at_least(None), "threshold: got None; allowed: a finite number"),
        (lambda: at_most(True), "threshold: got True; allowed: a finite number"),
        (lambda: at_most(10**400), "threshold: got 1000.*…; allowed: a finite number"),
        (lambda: at_least([1]), r"threshold: got \[1\]; allowed: a finite number"),
        (lambda: within(-1), "delta: got -1; allowed: a positive number"),
        (lambda: within("1"), "delta: got '1'; allowed: a positive number"),
        (lambda: satisfies(5), "predicate: got 5; allowed: a function from the model's answers"),
        (lambda: satisfies(np.isfinite, 5), "name: got 5; allowed: a text"),
    ],
)
def test_outcomes_that_make_no_sense(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_a_threshold_no_value_reaches_is_a_threshold():
    def whole(rows):
        return np.asarray(rows)[:, 0].astype(np.int64)

    e = Explainer(whole, X, outcome=at_least(10**30), references="all").explain(ROW)
    assert e.keep.outcome == "prediction < 1e+30"
    assert e.keep.sufficiency([]) == 1.0
    assert repr(at_least(np.float64(0.1))) == "at_least(0.1)"


@pytest.mark.parametrize(
    ("predicate", "message"),
    [
        (
            lambda v: 1 / 0,
            "outcome: got a function that raised ZeroDivisionError: division by zero",
        ),
        (lambda v: v["a"], "outcome: got a function that raised IndexError"),
        (lambda v: sys.exit(3), "outcome: got a function that raised SystemExit: 3"),
        (lambda v: v, r"outcome: got float64 of shape \(1,\) for 1 row; allowed: a predicate"),
        (lambda v: True, r"outcome: got bool of shape \(\)"),
        (lambda v: None, r"outcome: got object of shape \(\)"),
    ],
)
def test_a_predicate_that_fails_is_reported_as_the_users(predicate, message):
    model = LinearRegression().fit(X, X["debt"])
    with pytest.raises(InputError, match=message):
        Explainer(model, X, outcome=satisfies(predicate)).explain(ROW)


# -- models that fail ------------------------------------------------------------------------


def test_a_model_that_lacks_columns_says_which():
    model = LogisticRegression(max_iter=5000).fit(X, Y)
    with pytest.raises(
        InputError,
        match=r"^data: got no column 'age' or 'debt'; allowed: the columns that the model was "
        r"fitted on: age, income, debt\.$",
    ):
        Explainer(model, X[["income"]])
    with pytest.raises(InputError, match=r"no column 'age'.*Did you mean 'Age'\?"):
        Explainer(model, X.rename(columns={"age": "Age"}))


def test_a_models_long_message_is_shown_on_one_line():
    many = X.assign(kind=[f"a kind with a long name, number {i}" for i in range(N)])
    encoder = make_column_transformer((OneHotEncoder(), ["kind"]), remainder="passthrough")
    model = make_pipeline(encoder, LogisticRegression(max_iter=9000)).fit(many, Y)
    with pytest.raises(
        ModelError, match=r"raised ValueError on 1 row.*unknown categories"
    ) as caught:
        Explainer(model, many).explain(many.iloc[0].to_dict() | {"kind": "unseen"})
    assert "\n" not in str(caught.value)

    def wordy(rows):
        raise TypeError("a dtype\n" + "that is printed\n" * 99)

    with pytest.raises(
        ModelError, match=r"wordy raised TypeError on 80 row.*a dtype that"
    ) as caught:
        Explainer(wordy, X)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400

    frame = X.assign(kind=pd.Categorical(many["kind"]))
    with pytest.raises(InputError, match="x: got 'unseen' for column 'kind'") as caught:
        Explainer(old, frame).explain(ROW.to_dict() | {"kind": "unseen"})
    assert "\n" not in str(caught.value)


class Quits:
    """Ends the program, as it hopes, when it is asked about any rows but the data."""

    classes_ = np.array(["old", "young"])

    def predict(self, rows):
        if len(rows) not in (N, 31):
            sys.exit("no licence")
        return np.where(old(rows), "old", "young")


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_model_that_ends_the_program_is_a_failed_model(n_jobs):
    explainer = Explainer(Quits(), X)
    with pytest.raises(ModelError, match=r"Quits raised SystemExit on 1 row: no licence"):
        explainer.explain(ROW)
    with pytest.raises(ModelError, match=r"Quits raised SystemExit on 1 row: no licence"):
        explainer.explain_many(X.iloc[:2], n_jobs=n_jobs, progress=False)


def test_a_series_in_another_order_than_the_rows_is_refused():
    data = pd.DataFrame({"a": [3.0, 1.0, 2.0, 0.0]}, index=[2, 0, 3, 1])

    def in_order(rows):
        return (rows["a"] > 1).astype(int)

    with pytest.raises(ModelError, match="returned its answers in another order than the rows"):
        Explainer(lambda rows: in_order(rows).sort_index(ascending=False), data)
    wanted = Explainer(in_order, data).explain(data.iloc[0]).keep.factors
    # An index of its own counts the rows.
    by_place = Explainer(lambda rows: in_order(rows).reset_index(drop=True), data)
    assert by_place.explain(data.iloc[0]).keep.factors == wanted


def test_a_forest_of_one_class_has_nothing_to_explain():
    X = np.arange(12.0).reshape(6, 2)
    model = RandomForestClassifier(3, random_state=0).fit(X, [1] * 6)
    with pytest.raises(InputError, match="model: got a model that gives one class, 1, to every"):
        Explainer(model, X, references="all").explain(X[0])


def test_no_rows_are_answered_without_asking():
    calls = []

    def model(rows):
        calls.append(len(rows))
        return np.where(old(rows), "old", "young")

    for asked in (model, LogisticRegression(max_iter=5000).fit(X, Y)):
        f = make_target(asked, X, "old" if asked is model else "granted")
        assert f(as_table(X).take(np.arange(0))).tolist() == []
    assert calls == [N, 31, 31]  # a few rows twice, to find models that answer at random


def test_errors_arrive_from_other_processes():
    import pickle

    error = InputError("x", 5, "a row", "Pass one.")
    assert error.hint == pickle.loads(pickle.dumps(error)).hint == "Pass one."
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_an_array_of_another_width_is_blamed_on_the_argument_it_was_given_as():
    fitted = LinearRegression().fit(X, X["debt"])
    with pytest.raises(InputError, match="references: got an array of 2 columns; allowed: the 3 "):
        fitted_columns(fitted, as_table(np.zeros((1, 2))), "references")
