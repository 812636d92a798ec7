"""Boosters without their wrappers: the answer is the wrapper's."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from suffice import Explainer, at_least, datasets, versus
from suffice.errors import InputError
from suffice.models import adapt, wrap_model
from suffice.tables import as_table
from suffice.target import PredictionScore
from tests.models.loan_models import (
    ROWS,
    THREE_CLASSES,
    TWO_CLASSES,
    X,
    Y,
    assert_same_explanation,
    factors_and_necessity,
    xgboost_booster,
)


def test_xgboost_boosters() -> None:
    xgb = pytest.importorskip("xgboost")
    two = xgboost_booster(TWO_CLASSES, objective="binary:logistic")

    def raw(booster: Any) -> Any:
        return lambda rows: booster.predict(xgb.DMatrix(rows))

    e = assert_same_explanation(two, lambda rows: (raw(two)(rows) > 0.5).astype(int), X)
    assert e.provenance.model == "xgboost Booster"
    wrapper = xgb.XGBClassifier(n_estimators=8, max_depth=3, n_jobs=1).fit(X, TWO_CLASSES)
    bare = adapt(wrapper.get_booster())
    assert np.array_equal(bare.predict(X), wrapper.predict(X))
    assert np.array_equal(bare.predict_proba(X), wrapper.predict_proba(X))
    assert bare.classes_.tolist() == [0, 1]
    named = adapt(two, classes=("refused", "granted"), threshold=0.8)
    assert np.array_equal(named.predict(X) == "granted", raw(two)(X) > 0.8)
    assert np.array_equal(named.predict_proba(X).argmax(1), (raw(two)(X) > 0.8).astype(int))

    kinds = {"num_class": 3}
    share = xgboost_booster(THREE_CLASSES, objective="multi:softprob", **kinds)
    winner = xgboost_booster(THREE_CLASSES, objective="multi:softmax", **kinds)
    assert_same_explanation(share, raw(share), X)
    assert_same_explanation(winner, lambda rows: raw(winner)(rows).astype(int), X)
    assert np.array_equal(adapt(winner).predict_proba(X).argmax(1), adapt(winner).predict(X))
    assert set(adapt(winner, classes=list("abc")).predict(X)) <= set("abc")
    Explainer(winner, X, outcome=versus(0, 2)).explain(X.iloc[3])

    value = xgboost_booster(ROWS[:, 1], objective="reg:squarederror")
    assert_same_explanation(value, raw(value), X, at_least(50.0))
    logit = xgboost_booster(TWO_CLASSES, objective="binary:logitraw")
    assert np.array_equal(adapt(logit).predict(X), (raw(logit)(X) > 0).astype(int))
    before = two.save_raw("json"), two.feature_names
    Explainer(two, X.assign(label=1)).explain(X.iloc[3])
    assert (two.save_raw("json"), two.feature_names) == before
    nameless = xgboost_booster(TWO_CLASSES, ROWS, objective="binary:logistic")
    assert_same_explanation(
        nameless, lambda rows: (raw(nameless)(np.asarray(rows)) > 0.5).astype(int), X
    )
    assert nameless.feature_names is None
    assert np.array_equal(adapt(two).predict(ROWS), adapt(two).predict(pl.from_pandas(X)))
    by_hand = adapt(nameless, preprocess=lambda rows: xgb.DMatrix(np.asarray(rows)), batch_size=30)
    assert np.array_equal(by_hand.predict(X), adapt(nameless).predict(X))


def test_what_boosters_refuse() -> None:
    two = xgboost_booster(TWO_CLASSES, objective="binary:logistic")
    with pytest.raises(InputError, match="whose objective has two"):
        adapt(two, classes=list("abc"))
    share = xgboost_booster(THREE_CLASSES, objective="multi:softprob", num_class=3)
    with pytest.raises(InputError, match=r"classes: got .*; allowed: 3 for"):
        adapt(share, classes=list("ab"))
    with pytest.raises(InputError, match="None for xgboost Booster with 3 classes"):
        adapt(share, threshold=0.5, classes=list("abc"))
    many = xgboost_booster(ROWS[:, :2], objective="reg:squarederror")
    with pytest.raises(InputError, match="2 targets"):
        Explainer(many, X)


@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
def test_boosters_on_frames_with_categories(library: str) -> None:
    module = pytest.importorskip(library)
    rows = datasets.loans(150)[0][["home", "job", "debt"]]
    rows = rows.astype({"home": "category", "job": "category"})
    if library == "xgboost":
        wrapper = module.XGBClassifier(
            n_estimators=8, max_depth=3, n_jobs=1, enable_categorical=True
        )
        booster = wrapper.fit(rows, TWO_CLASSES).get_booster()
    else:
        wrapper = module.LGBMClassifier(n_estimators=8, n_jobs=1, verbose=-1, cat_smooth=1)
        booster = wrapper.fit(rows, TWO_CLASSES).booster_
    assert np.array_equal(adapt(booster).predict(rows), wrapper.predict(rows))
    assert_same_explanation(booster, wrapper.predict, rows)


def test_lightgbm_boosters() -> None:
    lgb = pytest.importorskip("lightgbm")

    def booster(labels: Any, data: Any = X, **params: Any) -> Any:
        params |= {"verbose": -1, "num_threads": 1, "num_leaves": 7}
        return lgb.train(params, lgb.Dataset(data, labels), 8)

    two = booster(TWO_CLASSES, objective="binary")
    e = assert_same_explanation(two, lambda rows: (two.predict(rows) > 0.5).astype(int), X)
    assert e.provenance.model == "lightgbm Booster"
    wrapper = lgb.LGBMClassifier(n_estimators=8, num_leaves=7, n_jobs=1, verbose=-1).fit(
        X, TWO_CLASSES
    )
    bare = adapt(wrapper.booster_)
    assert np.array_equal(bare.predict(X), wrapper.predict(X))
    assert np.array_equal(bare.predict_proba(X), wrapper.predict_proba(X))
    three = booster(THREE_CLASSES, objective="multiclass", num_class=3)
    assert_same_explanation(three, three.predict, X)
    value = booster(ROWS[:, 1], objective="regression")
    assert_same_explanation(value, value.predict, X, at_least(50.0))
    nameless = booster(TWO_CLASSES, ROWS, objective="binary")
    assert_same_explanation(nameless, lambda rows: (nameless.predict(rows) > 0.5).astype(int), X)
    with pytest.raises(InputError, match="the 4 columns that the model was fitted on"):
        Explainer(nameless, X.assign(more=1))
    assert np.array_equal(adapt(two).predict(pa.Table.from_pandas(X)), adapt(two).predict(X))


def test_catboost_models() -> None:
    cat = pytest.importorskip("catboost")
    common = {"iterations": 8, "depth": 3, "verbose": 0, "allow_writing_files": False}
    common |= {"thread_count": 1, "random_seed": 0}

    def raw(loss: str, labels: Any, data: Any = X) -> Any:
        return cat.CatBoost({"loss_function": loss, **common}).fit(data, labels)

    two = raw("Logloss", Y)
    e = assert_same_explanation(two, lambda rows: two.predict(rows, prediction_type="Class"), X)
    assert e.provenance.model == "CatBoost"
    wrapper = cat.CatBoostClassifier(**common).fit(X, Y)
    assert np.array_equal(adapt(two).predict(X), wrapper.predict(X))
    assert np.array_equal(adapt(two).predict_proba(X), wrapper.predict_proba(X))
    Explainer(two, X, outcome=versus("granted", "refused")).explain(X.iloc[3])
    moved = adapt(two, classes=("yes", "no"), threshold=0.3)
    assert np.array_equal(moved.predict(X) == "no", wrapper.predict_proba(X)[:, 1] > 0.3)
    renamed = adapt(two, classes=("yes", "no"))
    assert np.array_equal(renamed.predict(X) == "yes", wrapper.predict(X) == "granted")
    three = raw("MultiClass", THREE_CLASSES, ROWS)
    assert_same_explanation(
        three, lambda rows: three.predict(rows, prediction_type="Class")[:, 0], X
    )
    value = raw("RMSE", ROWS[:, 1])
    assert_same_explanation(value, value.predict, X, at_least(50.0))
    with pytest.raises(InputError, match="as many as the model's own: 'granted', 'refused'"):
        adapt(two, classes=list("abc"))
    assert_same_explanation(wrapper, wrapper.predict, X)
    assert set(adapt(wrapper, classes=("yes", "no")).predict(X)) == {"yes", "no"}
    regressor = cat.CatBoostRegressor(**common).fit(X, ROWS[:, 1])
    assert_same_explanation(regressor, regressor.predict, X, at_least(50.0))


def test_a_regressor_of_catboost_gives_numbers_and_no_class() -> None:
    cat = pytest.importorskip("catboost")
    quiet = {"iterations": 8, "depth": 3, "verbose": 0, "allow_writing_files": False}
    model = cat.CatBoostRegressor(**quiet, thread_count=1, random_seed=0).fit(X, ROWS[:, 1])
    wrapped, values = wrap_model(model, as_table(X))
    assert wrapped.classes is None
    assert np.array_equal(values, model.predict(X))
    with pytest.raises(InputError, match=r"a model that returns numbers; allowed: at_least\(t\)"):
        Explainer(model, X).explain(X.iloc[3])
    with pytest.raises(InputError, match="versus for a model without classes"):
        Explainer(model, X, outcome=versus(0, 1)).explain(X.iloc[3])
    own = Explainer(model, X, outcome=at_least(50.0)).decide(X.iloc[3]).own_score
    assert own == PredictionScore(float(model.predict(X.iloc[[3]])[0]), "value")


def test_columns_that_lightgbm_renamed_are_found_in_any_order() -> None:
    lgb = pytest.importorskip("lightgbm")
    model = lgb.LGBMClassifier(n_estimators=4, num_leaves=5, n_jobs=1, verbose=-1).fit(
        X, TWO_CLASSES
    )
    assert "late_payments" in model.feature_name_
    turned = X.assign(label=1)[["label", *reversed(X.columns)]]
    for asked in (model, model.booster_):
        e = Explainer(asked, turned).explain(X.iloc[3])
        assert [p.name for p in e.keep.players] == list(X.columns)
        assert (
            factors_and_necessity(e)[0]
            == factors_and_necessity(Explainer(asked, X).explain(X.iloc[3]))[0]
        )
    with pytest.raises(InputError, match="data: got no column 'late_payments'; allowed: the col"):
        Explainer(model, X.drop(columns="late payments").assign(more=1))
