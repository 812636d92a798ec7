"""An explainer with another contrast answers as one that was made with it."""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable
from functools import cache
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from suffice import ConditionalContext, Explainer, InputError, at_least, datasets, within

X, y = datasets.loans()
X = X[["age", "income", "debt", "late payments"]]


class Counting:
    """A model that counts the rows it is asked about."""

    def __init__(self):
        self.rows = 0

    def __call__(self, rows):
        self.rows += len(rows)
        return (rows["income"] - 2 * rows["debt"] > 10).map({True: "granted", False: "refused"})


@pytest.mark.parametrize(
    "changes",
    [
        {"references": "all"},
        {"references": (X["age"] > 40).to_numpy(), "n_references": 20},
        {"outcome": "granted", "n_references": 30},
        {"groups": {"money": ["income", "debt"]}},
        {"context": ConditionalContext(), "n_references": 20},
        {"immutable": "debt", "increasing": ["income"]},
        {"actionable": ["income"], "decreasing": "debt"},
    ],
)
def test_but_equals_a_new_explainer_with_the_same_options(changes):
    made = Explainer(Counting(), X, **changes).explain(X.iloc[8], search="exhaustive")
    other = Explainer(Counting(), X).but(**changes).explain(X.iloc[8], search="exhaustive")
    pd.testing.assert_frame_equal(made.to_frame(), other.to_frame())
    assert made.keep.curve == other.keep.curve
    assert made.cheapest == other.cheapest


def test_rules_on_changes_that_are_not_given_keep_their_values():
    declared = Explainer(Counting(), X, immutable="age", missing_cost=2.0)
    rules = declared.but(increasing="income").decider.changes
    assert (rules.immutable, rules.increasing, rules.missing_cost) == (("age",), ("income",), 2.0)
    with pytest.raises(InputError, match="increasing: got 'age', which is also immutable"):
        declared.but(increasing="age")


def test_the_model_does_not_predict_the_data_again():
    model = Counting()
    explainer = Explainer(model, X)
    before = model.rows
    explainer.but(references="all", n_references=10)
    assert model.rows == before


def test_the_first_explainer_stays_as_it_was():
    explainer = Explainer(Counting(), X)
    explainer.but(references="all", groups={"money": ["income", "debt"]}, n_references=3)
    assert len(explainer.explain(X.iloc[8]).players) == 4


def test_but_rejects_unknown_options():
    with pytest.raises(InputError, match="but: got 'engine'; allowed: outcome, references"):
        Explainer(Counting(), X).but(engine="trees")


# An explainer can be stored, copied and sent before its first explanation and after it.


ROWS, LABELS = datasets.loans()
ROWS = ROWS[["age", "income", "debt", "late payments", "job"]]
NUMBERS = ROWS.drop(columns="job")


def encoded(final: Any) -> Any:
    columns = make_column_transformer((OneHotEncoder(), ["job"]), remainder="passthrough")
    return make_pipeline(columns, final)


def booster(library: str, name: str, **options: Any) -> Callable[[], Any]:
    return lambda: getattr(pytest.importorskip(library), name)(**options)


MODELS: dict[str, tuple[Callable[[], Any], pd.DataFrame, str]] = {
    "forest": (lambda: RandomForestClassifier(5, random_state=0), NUMBERS, "trees"),
    "tree": (lambda: DecisionTreeClassifier(random_state=0), NUMBERS, "trees"),
    "boosting": (lambda: GradientBoostingClassifier(n_estimators=5), NUMBERS, "trees"),
    "histogram": (lambda: HistGradientBoostingClassifier(max_iter=5), NUMBERS, "trees"),
    "forest in a pipeline": (
        lambda: encoded(RandomForestClassifier(5, random_state=0)),
        ROWS,
        "trees",
    ),
    "xgboost": (booster("xgboost", "XGBClassifier", n_estimators=5, n_jobs=1), NUMBERS, "trees"),
    "lightgbm": (
        booster("lightgbm", "LGBMClassifier", n_estimators=5, n_jobs=1, verbose=-1),
        NUMBERS,
        "trees",
    ),
    "catboost": (
        booster(
            "catboost", "CatBoostClassifier", iterations=5, verbose=0, allow_writing_files=False
        ),
        NUMBERS,
        "trees",
    ),
    "logistic": (lambda: encoded(LogisticRegression(max_iter=5000)), ROWS, "additive"),
    "neighbours": (lambda: KNeighborsClassifier(), NUMBERS, "blackbox"),
}


@cache
def fitted(name: str) -> Any:
    make, rows, _ = MODELS[name]
    labels = LABELS if name != "xgboost" else np.unique(LABELS, return_inverse=True)[1]
    return make().fit(rows, labels)


def by_pickle(explainer: Explainer) -> Any:
    return pickle.loads(pickle.dumps(explainer))


def by_joblib(explainer: Explainer) -> Any:
    file = io.BytesIO()
    joblib.dump(explainer, file)
    file.seek(0)
    return joblib.load(file)


def answers(explainer: Explainer, rows: pd.DataFrame) -> list[Any]:
    """All that is counted, for a row that is explained and one that was not before."""
    found = [explainer.explain(rows.iloc[i]) for i in (8, 20)]
    return [
        (
            e.prediction,
            e.provenance.evaluator,
            [(f.features, f.sufficiency) for f in e.keep.factors],
            [(f.features, f.sufficiency) for f in e.flip.factors],
            e.keep.necessity,
            e.flip.necessity,
        )
        for e in found
    ]


@pytest.mark.parametrize("way", [by_pickle, copy.deepcopy, by_joblib])
@pytest.mark.parametrize("name", MODELS)
def test_a_copy_gives_the_same_answers_after_an_explanation(name: str, way: Any) -> None:
    _, rows, engine = MODELS[name]
    explainer = Explainer(fitted(name), rows, n_references=30)
    before = way(explainer)
    explained = explainer.explain(rows.iloc[8])
    assert explained.provenance.evaluator == engine
    after = way(explainer)
    expected = answers(explainer, rows)
    assert answers(before, rows) == expected
    assert answers(after, rows) == expected


@pytest.mark.parametrize("model", [RandomForestRegressor(5, random_state=0), LinearRegression()])
@pytest.mark.parametrize("outcome", [at_least(5), within(5)], ids=repr)
def test_outcomes_of_numbers_are_stored_with_it(model: Any, outcome: Any) -> None:
    rows = NUMBERS.drop(columns="debt")
    model.fit(rows, NUMBERS["debt"])
    explainer = Explainer(model, rows, outcome=outcome, references="all", n_references=30)
    assert explainer.explain(rows.iloc[8]).provenance.evaluator in ("trees", "additive")
    assert answers(by_pickle(explainer), rows) == answers(explainer, rows)


def test_rows_join_the_references_whatever_chose_them():
    X = pd.DataFrame({"income": [30, 60, 45, 60], "debt": [20, 20, 0, 40]})

    def decide(rows):
        return rows["income"] - rows["debt"] >= 40

    x = X.iloc[0]
    new = pd.DataFrame({"income": [45, 30], "debt": [5, 30]})
    chosen = {
        "opposite": ("opposite", [[45, 5]]),  # the other one is refused as the input is
        "all": ("all", new.to_numpy().tolist()),
        "a mask": ([False, True, False, True], new.to_numpy().tolist()),
        "a frame": (X.iloc[1:3], new.to_numpy().tolist()),
        "a function": (lambda data, x: data.iloc[1:], new.to_numpy().tolist()),
    }
    for name, (references, joined) in chosen.items():
        explainer = Explainer(decide, X, references=references)
        before = explainer.decide(x).references.table.native.to_numpy().tolist()
        for rows in (new, [dict(row) for _, row in new.iterrows()]):
            wider = explainer.with_references(rows)
            after = wider.decide(x).references.table.native.to_numpy().tolist()
            assert sorted(after) == sorted(before + joined), name
            whole = Explainer(
                decide, pd.concat([X, new]), references=pd.DataFrame(after, columns=list(X))
            )
            assert wider.explain(x).keep.factors == whole.explain(x).keep.factors
        assert len(explainer.data) == 4
    with pytest.raises(InputError, match="extra column 'rent'"):
        explainer.with_references({"income": 3, "rent": 4})
