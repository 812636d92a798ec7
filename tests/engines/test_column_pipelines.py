"""Pipelines that treat each column by itself keep an engine: which column each number comes from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.frozen import FrozenEstimator
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    KBinsDiscretizer,
    MaxAbsScaler,
    OneHotEncoder,
    OrdinalEncoder,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)

from suffice.engines.pipeline_columns import split_pipeline
from suffice.engines.select_engine import Unreadable
from suffice.tables import as_table
from tests.engines.engine_cases import Case, check_additive, check_trees, linear_data


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


@pytest.mark.filterwarnings("ignore:`TargetEncoder.shuffle`:FutureWarning")
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
def test_pipelines_of_columns_have_the_black_boxs_outcomes(steps: Any) -> None:
    frame, y = table()
    model = make_pipeline(steps, LogisticRegression(max_iter=1000)).fit(frame, y)
    check_additive(model, frame)
    check_additive(model, frame, groups={"person": ["age", "city"], "money": ["debt", "income"]})


def test_pipelines_around_and_inside_others_are_taken_apart() -> None:
    frame, y = table()
    inner = make_pipeline(prepared(remainder="passthrough"), MaxAbsScaler())
    search = GridSearchCV(LogisticRegression(max_iter=1000), {"C": [0.1, 1.0]}, cv=2)
    check_additive(make_pipeline(inner, "passthrough", search).fit(frame, y), frame)
    output = make_pipeline(prepared(one_hot=OrdinalEncoder()), LogisticRegression(max_iter=1000))
    check_additive(output.set_output(transform="pandas").fit(frame, y), frame)


def test_polars_frames_are_taken_apart_too() -> None:
    polars = pytest.importorskip("polars")
    rng = np.random.default_rng(0)
    frame = polars.DataFrame({"a": rng.normal(size=30), "b": rng.choice(["x", "y"], size=30)})
    steps = ColumnTransformer([("b", OneHotEncoder(), ["b"])], remainder="passthrough")
    model = make_pipeline(steps, LogisticRegression()).fit(frame, rng.integers(2, size=30))
    check_additive(model, frame)


@pytest.mark.filterwarnings("ignore:Skipping features without any observed values:UserWarning")
def test_an_imputer_drops_an_empty_column() -> None:
    X, y = linear_data(d=4)
    X[:, 2] = np.nan
    model = make_pipeline(SimpleImputer(), LogisticRegression()).fit(X, y)
    assert split_pipeline(model, ("a", "b", "c", "d")).owner.tolist() == [0, 1, 3]
    check_additive(model, X)


def test_indicators_and_frozen_models_are_taken_apart() -> None:
    frame, y = table()
    both = FeatureUnion([("gaps", MissingIndicator()), ("fill", SimpleImputer())])
    steps = prepared(number=both, one_hot=OrdinalEncoder())
    model = make_pipeline(steps, StandardScaler(), LogisticRegression()).fit(frame, y)
    check_additive(FrozenEstimator(model), frame)


def reason(model: Any, columns: tuple[str, ...]) -> str:
    with pytest.raises(Unreadable) as refused:
        split_pipeline(model, columns)
    return str(refused.value)


def test_columns_that_do_not_match_are_a_reason() -> None:
    frame, y = table()
    model = make_pipeline(prepared(), LogisticRegression(max_iter=1000)).fit(frame, y)
    assert reason(model, tuple(reversed(frame.columns))) == (
        "the step ColumnTransformer was fitted on other columns than the data's"
    )
    X, y = linear_data()
    scaled = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    assert reason(scaled, ("a", "b")) == (
        "the step StandardScaler was fitted on 5 columns and gets 2"
    )
    unfitted = make_pipeline(OneHotEncoder(), LogisticRegression())
    assert reason(unfitted, ("a", "b")) == (
        "the step OneHotEncoder is not fitted, or keeps its parameters in a form that suffice does "
        "not know"
    )


def test_a_tree_ensemble_keeps_its_columns() -> None:
    """What the readers of other models need: the steps, the owners and the estimator."""
    frame, y = table()
    model = make_pipeline(prepared(), RandomForestClassifier(3)).fit(frame, y)
    parts = split_pipeline(model, tuple(frame.columns))
    assert parts.owner.tolist() == [1, 1, 1, 4, 4, 4, 4, 3, 5, 0]
    seen = parts.seen(as_table(frame)).native
    np.testing.assert_array_equal(parts.final.predict(seen), model.predict(frame))


def test_frames_between_steps_keep_their_names_and_categories() -> None:
    """Trees at the end get the frame that they were fitted on, without a warning about names."""
    frame, y = table()
    forest = make_pipeline(prepared(one_hot=OrdinalEncoder()), RandomForestClassifier(3))
    check_trees(Case(forest.set_output(transform="pandas").fit(frame, y), frame))
    kept = ColumnTransformer(
        [("fill", SimpleImputer(), ["debt"])], remainder="passthrough"
    ).set_output(transform="pandas")
    boosted = HistGradientBoostingClassifier(max_iter=4, categorical_features="from_dtype")
    rows = frame.drop(columns="city")
    check_trees(Case(make_pipeline(kept, boosted).fit(rows, y), rows))
