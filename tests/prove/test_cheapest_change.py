"""`recourse(values="any")`: certified changes, against every row and against random rows."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from suffice import Explainer, InputError, Recourse, at_least, compare, datasets, equals
from suffice.prove import cheapest_change
from tests.effort import examples


def mad(values):
    away = np.abs(values - np.median(values))
    return np.median(away) or np.mean(np.abs(values - np.median(values))) or 1.0


def every_row_of_range(X):
    grids = [np.arange(X[n].min(), X[n].max() + 1) for n in X]
    return pd.DataFrame(list(product(*grids)), columns=list(X)).astype(X.dtypes)


def costs(rows, x, X, weights):
    return sum(np.abs(rows[n] - x[n]) / mad(X[n].to_numpy()) * weights.get(n, 1) for n in X)


def integers(seed):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.integers(0, [9, 7, 6, 4], (60, 4)), columns=list("abcd"))
    y = (X["a"] + X["b"] * X["c"] / 3 + rng.integers(-2, 3, 60) > 8).to_numpy(dtype=int, copy=True)
    y[:2] = 0, 1
    return X, y, rng


MODELS = {
    "forest": lambda s: RandomForestClassifier(7, max_depth=4, random_state=s),
    "tied votes": lambda s: ExtraTreesClassifier(6, random_state=s),
    "boosting": lambda s: GradientBoostingClassifier(n_estimators=8, max_depth=2, random_state=s),
    "histograms": lambda s: HistGradientBoostingClassifier(max_iter=6, min_samples_leaf=3),
    "scaled": lambda s: make_pipeline(StandardScaler(), RandomForestClassifier(5, random_state=s)),
}


@pytest.mark.parametrize("name", MODELS)
@given(seed=st.integers(0, 10_000))
@settings(max_examples=examples(10))
def test_no_row_of_the_range_is_cheaper(name, seed):
    X, y, rng = integers(seed)
    model = MODELS[name](seed).fit(X, y)
    x = X.iloc[int(rng.integers(60))]
    rows = every_row_of_range(X)
    wins = np.asarray(model.predict(rows)) != model.predict(x.to_frame().T)[0]
    limits, kept = {}, np.ones(len(rows), dtype=bool)
    weights = {"a": 2.0} if seed % 2 else {}
    if rng.random() < 0.4:
        limits["immutable"] = ["b"]
        kept &= rows["b"] == x["b"]
    if rng.random() < 0.4:
        limits["increasing"] = ["c"]
        kept &= rows["c"] >= x["c"]
    if rng.random() < 0.4:
        limits["ranges"] = {"a": (1.5, 6)}
        kept &= rows["a"].between(2, 6) | (rows["a"] == x["a"])
    if rng.random() < 0.4:
        limits["forbidden"] = compare("d", ">", 1) & equals("c", 4)
        kept &= ~((rows["d"] > 1) & (rows["c"] == 4))
    found = Explainer(model, X, references="all").recourse(
        x, values="any", cost=weights or None, **limits
    )
    assert found.certified and found.complete
    possible = costs(rows[wins & kept], x, X, weights)
    if not len(possible):
        assert found.best is None and "Proved: no row" in found.reason
        assert found.radius == np.inf
        return
    assert found.best.cost == pytest.approx(possible.min(), rel=2e-6)
    assert found.gap == 0 and found.radius == found.best.cost
    assert "none with the desired outcome is cheaper" in " ".join(str(found).split())
    new = pd.DataFrame([dict(x) | dict(found.best.values)])[list(X)].astype(X.dtypes)
    assert model.predict(new)[0] != model.predict(x.to_frame().T)[0]
    assert costs(new, x, X, weights)[0] == pytest.approx(found.best.cost)
    cheap = 0.999 * found.best.cost
    none = Explainer(model, X, references="all").recourse(
        x, values="any", cost=weights or None, max_cost=cheap, **limits
    )
    assert none.best is None and none.certified


@given(seed=st.integers(0, 10_000))
@settings(max_examples=examples(8))
def test_no_number_is_cheaper(seed):
    """Of floats: rows at random, and rows right beside thresholds, cost as much or more."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(80, 3)) * [1, 1e-3, 1e5], columns=list("abc"))
    y = (X["a"] + X["b"] * 1e3 > X["c"] / 1e5).astype(int)
    model = RandomForestClassifier(5, max_depth=4, random_state=seed).fit(X, y)
    x = X.iloc[0]
    found = Explainer(model, X).recourse(x, values="any")
    assert found.certified
    here = model.predict(x.to_frame().T)[0]
    cuts = {
        n: np.concatenate([t.tree_.threshold[t.tree_.feature == j] for t in model.estimators_])
        for j, n in enumerate(X)
    }
    rows = {}
    for n in X:
        single = cuts[n].astype(np.float32)
        near = np.concatenate(
            [single, np.nextafter(single, np.float32(np.inf)), np.full(len(single), x[n])]
        )
        rows[n] = np.clip(rng.choice(near.astype(float), 20_000), X[n].min(), X[n].max())
    drawn = pd.DataFrame(rows)
    price = costs(drawn, x, X, {})
    cheaper = drawn[price < found.best.cost * (1 - 2e-6)]
    assert (model.predict(cheaper) == here).all() if len(cheaper) else True


def test_categories_missing_values_and_desired_outcomes():
    rng = np.random.default_rng(3)
    X = pd.DataFrame(
        {
            "job": pd.Categorical(rng.choice(["clerk", "cook", "none"], 120)),
            "income": rng.normal(40, 10, 120).round(1),
        }
    )
    X.loc[::10, "income"] = np.nan
    y = ((X["job"] != "none") & (X["income"].fillna(60) > 42)).astype(int)
    model = HistGradientBoostingClassifier(
        max_iter=10, min_samples_leaf=3, categorical_features="from_dtype"
    ).fit(X, y)
    x = {"job": "none", "income": 50.0}
    found = Explainer(model, X).recourse(x, values="any", desired=1)
    assert found.certified and found.best.features == ("job",)
    assert found.best.cost == 1.0
    poor = {"job": "cook", "income": 30.0}
    kept = Explainer(model, X).recourse(poor, values="any")
    assert not pd.isna(kept.best.values["income"])  # missing values need a cost
    lost = Explainer(model, X).recourse(poor, values="any", missing_cost=0.01)
    assert model.predict(X.assign(income=np.nan).iloc[[0]].assign(job="cook"))[0] == 1
    assert lost.best.cost == 0.01 and pd.isna(lost.best.values["income"])


def test_a_threshold_of_a_regression():
    X, _, _ = integers(5)
    value = X["a"] * 2.0 + X["b"] * X["c"]
    model = RandomForestRegressor(6, max_depth=4, random_state=0).fit(X, value)
    rows = every_row_of_range(X)
    x = X.iloc[int(np.argmin(model.predict(X)))]
    found = Explainer(model, X).recourse(x, values="any", desired=at_least(15))
    possible = costs(rows[model.predict(rows) >= 15], x, X, {})
    assert found.best.cost == pytest.approx(possible.min(), rel=2e-6)


def test_work_that_runs_out_leaves_a_gap(monkeypatch):
    X, y, _ = integers(1)
    model = RandomForestClassifier(30, random_state=0).fit(X, y)
    explainer = Explainer(model, X)
    whole = explainer.recourse(X.iloc[4], values="any")
    assert whole.certified
    for work in range(1, 400, 26):  # wherever it ends, the box in hand is among those left
        monkeypatch.setattr(cheapest_change, "_BOXES", work)
        cut = explainer.recourse(X.iloc[4], values="any")
        assert cut.certified or cut.gap > 0
        assert cut.best is None or cut.radius <= whole.best.cost * (1 + 1e-6)
    monkeypatch.setattr(cheapest_change, "_BOXES", 30)
    cut = explainer.recourse(X.iloc[4], values="any")
    assert not cut.certified and not cut.complete
    assert cut.gap > 0
    assert cut.radius <= whole.best.cost <= cut.best.cost
    assert "Not proved cheapest" in str(cut) and "could save" in str(cut)


def test_results_are_stored_and_unfit_questions_refused():
    X, y = datasets.loans()
    X = X[["age", "income", "debt", "late payments"]]
    model = RandomForestClassifier(20, random_state=0).fit(X, y)
    explainer = Explainer(model, X)
    found = explainer.recourse(X.iloc[17], values="any")
    grid = explainer.recourse(X.iloc[17], values="grid")
    assert found.best.cost <= grid.best.cost
    assert "the cheapest change, proved" in str(found)
    assert Recourse.from_json(found.to_json()) == found
    for argument in ({"tau": 0.9}, {"max_size": 2}, {"budget": 100}, {"steps": {"age": 1}}):
        with pytest.raises(InputError, match=f"{next(iter(argument))}: got"):
            explainer.recourse(X.iloc[17], values="any", **argument)
    grouped = Explainer(model, X, groups={"money": ["income", "debt"]})
    with pytest.raises(InputError, match="with the group 'money'"):
        grouped.recourse(X.iloc[17], values="any")
    assert grouped.recourse(X.iloc[17], values="any", immutable="money").certified
    linear = Explainer(LogisticRegression(max_iter=3000).fit(X, y), X)
    with pytest.raises(InputError, match="without certificates"):
        linear.recourse(X.iloc[17], values="any")
