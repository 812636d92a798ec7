"""Bad input: one sentence that names the argument, what was given, what is allowed, and a hint."""

from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_matrix
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from suffice import Explainer, InputError, ModelError, at_least, datasets, versus
from suffice.target import satisfies

X, Y = datasets.loans(120)
X = X[["age", "income", "debt"]]
ROW = X.iloc[0]


@cache
def fitted():
    return LogisticRegression(max_iter=5000).fit(X, Y)


@cache
def forest():
    return RandomForestClassifier(5, random_state=0).fit(X, Y)


def explain(model=None, data=X, x=ROW, question=None, **options):
    explainer = Explainer(fitted() if model is None else model, data, **options)
    return explainer.explain(x, **(question or {}))


def labels(rows):
    return (np.asarray(rows)[:, 0] > 40).astype(int)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        # the input
        (
            lambda: explain(x=ROW.rename({"age": "agee"})),
            "x: got extra column 'agee'.*Did you mean 'age'",
        ),
        (
            lambda: explain(x={"age": 1, "income": 2}),
            "x: got no value for 'debt'; allowed: a value for each",
        ),
        (
            lambda: explain(x=[1, 2]),
            "x: got 2 values; allowed: one value for each of the 3 columns",
        ),
        (lambda: explain(x=X.iloc[:2]), "x: got 2 rows; allowed: exactly one row. Pass one"),
        (lambda: explain(x=X.to_numpy()), "x: got 120 rows; allowed: exactly one row"),
        (lambda: explain(x=5), "x: got 5; allowed: a mapping, a series"),
        (lambda: explain(x=ROW.to_dict() | {"age": "old"}), "x: got 'old' for column 'age'.*int64"),
        (
            lambda: explain(x=ROW.to_dict() | {"age": 23.5}),
            "x: got 23.5 for column 'age'.*dtype, int64",
        ),
        (lambda: explain(x=ROW.to_dict() | {"age": None}), "x: got None for column 'age'"),
        (
            lambda: explain(labels, X.to_numpy(), x=["old", 1, 2]),
            "x: got 'old' for column 'x0'; allowed: a value that fits its dtype, int64",
        ),
        (lambda: explain(labels, X.to_numpy(), x=[23.5, 1, 2]), "x: got 23.5 for column 'x0'"),
        (
            lambda: explain(labels, pl.from_pandas(X), x={"age": "old", "income": 1, "debt": 1}),
            "x: got 'old' for column 'age'.*Int64",
        ),
        (
            lambda: explain(labels, pl.from_pandas(X), x={"age": 1.5, "income": 1, "debt": 1}),
            "x: got 1.5 for column 'age'.*Int64",
        ),
        (
            lambda: explain(lambda r: r[:, 0] % 2, np.ones((3, 2), np.uint8), x=[300, 1]),
            "got 300 for",
        ),
        (lambda: Explainer(fitted(), X).explain_many([]), "X: got no rows"),
        # the question
        (lambda: explain(question={"tau": 0}), r"tau: got 0; allowed: a number in \(0, 1\]"),
        (lambda: explain(question={"tau": "high"}), "tau: got 'high'"),
        (
            lambda: explain(question={"alpha": 1}),
            r"alpha: got 1; allowed: None or a number in \(0, 1\)",
        ),
        (lambda: explain(question={"alpha": 0.05, "adjust": "x"}), "adjust: got 'x'"),
        (lambda: explain(question={"adjust": "holm"}), "adjust: got 'holm' without alpha"),
        (lambda: explain().keep.sufficiency(None), "features: got None"),
        (lambda: explain(engine="fast"), "engine: got 'fast'; allowed: 'auto', 'blackbox'"),
        (lambda: explain(forest(), engine="additive"), "engine: got 'additive'"),
        # the data
        (
            lambda: explain(data=X.drop(columns="age")),
            "data: got no column 'age'; allowed: the columns that the model was fitted on: age, inc",
        ),
        (
            lambda: explain(labels, data=X.set_axis(["a", "b", "a"], axis=1)),
            "data: got duplicate column name 'a'; allowed: distinct names",
        ),
        (lambda: explain(labels, data=X.iloc[:0]), "data: got no rows or no columns"),
        (lambda: explain(labels, data=[1, 2, 3]), "data: got an array of 1 dimension; "),
        (lambda: explain(labels, data=csr_matrix(np.eye(3))), r"a sparse matrix.*data.toarray\(\)"),
        (lambda: explain(labels, data=pl.from_pandas(X).lazy()), "data: got LazyFrame"),
        (
            lambda: explain(data=X.to_numpy()[:, :2]),
            "data: got an array of 2 columns; allowed: the 3 columns.*age, income, debt",
        ),
        (
            lambda: explain(LogisticRegression().fit(X.to_numpy(), Y), X.assign(more=1)),
            "data: got 4 columns; allowed: the 3 columns that the model was.*Drop the others",
        ),
        # references
        (
            lambda: explain(references="others"),
            "references: got 'others'; allowed: 'opposite', 'all'",
        ),
        (
            lambda: explain(references=np.ones(5, bool)),
            "a mask of 5 values; allowed: one for each of the 120",
        ),
        (
            lambda: explain(references=np.zeros(len(X), bool)),
            "none: no row of data is chosen by the mask; .*at least one reference. It is False for",
        ),
        (
            lambda: explain(references=["opposite"]),
            r"references: got \['opposite'\]; allowed: 'opp",
        ),
        (lambda: explain(references=[[1, 2, 3], [1, 2]]), "references: got rows of 2, 3 values"),
        (
            lambda: explain(references=[0, 1, 2]),
            r"references: got \[0, 1, 2\]; allowed: 'opposite'",
        ),
        (
            lambda: explain(references=lambda data, x: data.nothing),
            "references: got a function that raised AttributeError: .*nothing.*; allowed: a function",
        ),
        (lambda: explain(references=None), "references: got None; allowed: 'opposite'"),
        (lambda: explain(references=lambda data: data), "a function that raised TypeError"),
        (lambda: explain(references=lambda data, x: "others"), "references: got 'others'"),
        (lambda: explain(references=X.set_axis([0, 1, 2], axis=1)), "references: got no column"),
        (
            lambda: explain(data=X[fitted().predict(X) == fitted().predict(X.iloc[[0]])[0]]),
            "references: got none: no row of data is predicted otherwise than the input.*outcome",
        ),
        (lambda: explain(references=X[["age"]]), "references: got no column 'income' or 'debt'"),
        (
            lambda: explain(references=X.astype(float)),
            "column 'age' of dtype float64; allowed: the dtype it has in data, int64",
        ),
        (
            lambda: explain(references=pl.from_pandas(X)),
            "references: got a polars DataFrame; allowed: the same kind as data, a pandas DataFrame",
        ),
        (
            lambda: explain(n_references=0),
            "n_references: got 0; allowed: None or a whole number >= 1",
        ),
        (lambda: explain(n_references=True), "n_references: got True; allowed: None or a whole"),
        (lambda: explain(random_state=-1), "random_state: got -1"),
        (lambda: explain(random_state=True), "random_state: got True"),
        (lambda: explain(random_state=np.array([[1]])), r"random_state: got array\(\[\[1\]\]\)"),
        (lambda: explain(random_state=np.random.default_rng(0)), "random_state: got Generator"),
        # groups
        (
            lambda: explain(groups={"g": ["agee"]}),
            "groups: got unknown column 'agee'.*Did you mean 'age'",
        ),
        (lambda: explain(groups={"g": ["age"], "h": ["age"]}), "'age' in both 'g' and 'h'"),
        (lambda: explain(groups={"g": []}), r"groups: got 'g': \[\]; allowed: a list of columns"),
        (lambda: explain(groups={"g": None}), "groups: got 'g': None; allowed: a list of columns"),
        (
            lambda: explain(groups={"g": "age"}),
            "groups: got 'g': 'age'; allowed: a list of columns",
        ),
        (lambda: explain(groups={"g": 5}), "groups: got 'g': 5; allowed: a list of columns"),
        (
            lambda: explain(groups={1: ["age"]}),
            "groups: got the name 1; allowed: names that are text",
        ),
        (lambda: explain(groups={None: ["age"]}), "groups: got the name None"),
        (lambda: explain(groups=[["age"]]), "groups: got"),
        (lambda: explain(groups=np.array(["age"])), r"groups: got array\(\['age'\]"),
        (
            lambda: explain(groups={"debt": ["age"]}),
            "group 'debt', which is also a column outside it",
        ),
        # costs
        (lambda: explain(cost=0), "cost: got 0; allowed: None, a mapping"),
        (lambda: explain(cost={"agee": 1}), "cost: got unknown column 'agee'"),
        (
            lambda: explain(cost={"age": -1}),
            r"cost: got -\S+ for column 'age'; allowed: a number >= 0",
        ),
        (lambda: explain(cost=lambda c, a, b: b * np.nan), "cost: got nan for column 'age'"),
        (lambda: explain(cost=lambda c, a, b: [1]), r"cost: got shape \(1,\) for column 'age'"),
        (lambda: explain(cost={"age": True}), "cost: got True for column 'age'; allowed: a number"),
        (
            lambda: explain(cost={"age": np.nan}),
            "cost: got nan for column 'age'; allowed: a number",
        ),
        (lambda: explain(cost={0: 1}), "cost: got unknown column 0"),
        (
            lambda: explain(cost=lambda c, a, b: ["dear"] * len(b)),
            r"cost: got \['dear'.* for column 'age'; allowed: a function .* which are numbers",
        ),
        (
            lambda: explain(cost=lambda c, a, b: b[c]),
            "cost: got a function that raised IndexError for column 'age': .*allowed: a function",
        ),
        (
            lambda: explain(cost=lambda c, a: 0),
            "cost: got a function that raised TypeError for col",
        ),
        (lambda: explain(size_weights=5), "size_weights: got 5"),
        (lambda: explain(size_weights=[1, 1]), "size_weights: got .*; allowed: 4 positive numbers"),
        (lambda: explain(size_weights=[0, 0, 0, -1]), "size_weights: got"),
        # outcomes
        (
            lambda: explain(outcome="grnted"),
            "outcome: got unknown class 'grnted'.*Did you mean 'granted'",
        ),
        (
            lambda: explain(outcome=at_least(1)),
            r"at_least\(1\) for a model that returns classes.*predict_proba",
        ),
        (lambda: explain(outcome=versus("granted", "granted")), "two different classes"),
        (lambda: at_least(float("nan")), "threshold: got nan; allowed: a finite number"),
        (
            lambda: explain(lambda r: np.asarray(r)[:, 0] * 0.5),
            r"a model that returns numbers.*at_least\(0.5\)",
        ),
        (lambda: explain(labels, outcome=versus(1, 0)), "gives no score per class"),
        (
            lambda: explain(lambda r: np.asarray(r)[:, 0] * 0.5, outcome=versus(1, 0)),
            "a model without classes",
        ),
        (
            lambda: explain(KNeighborsClassifier().fit(X, np.ones(len(X)))),
            "model: got a model that gives one class, 1.0, to every row",
        ),
        (
            lambda: explain(outcome=satisfies(lambda a: 5)),
            "a predicate giving one Boolean per row",
        ),
        (
            lambda: explain("model.pkl"),
            "model: got str; allowed: a fitted estimator with predict, or a callable",
        ),
    ],
)
def test_input_errors(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_a_models_own_words_on_missing_values_are_kept():
    with pytest.raises(
        ModelError, match=r"LogisticRegression raised ValueError on 1 row.*contains NaN"
    ):
        Explainer(fitted(), X.astype(float)).explain(ROW.astype(float).where(ROW.index != "age"))


def test_an_unseen_category_is_not_quietly_missing():
    frame = X.assign(kind=pd.Categorical(["a", "b"] * 60))
    with pytest.raises(
        InputError, match=r"x: got 'c' for column 'kind'; allowed: one of its categories: 'a', 'b'"
    ):
        explain(labels, frame, x=ROW.to_dict() | {"kind": "c"})


def test_long_values_are_cut_in_messages():
    with pytest.raises(InputError, match="…") as caught:
        explain(x={"age": "o" * 500, "income": 1, "debt": 1})
    assert len(str(caught.value)) < 300
