"""Inputs that people really bring, and that once went wrong or easily could."""

import pickle
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeRegressor

from suffice import (
    Basis,
    Explainer,
    Explanation,
    InputError,
    ModelError,
    Sample,
    at_least,
    auxiliary,
    between,
    compare,
    datasets,
    equals,
    factor_from_json,
    held,
    make_target,
    minimal_sufficient_factors,
)

X, Y = datasets.loans(200)
X = X[["age", "income", "debt", "late payments"]]
ROW = X.iloc[8]


@cache
def forest():
    return RandomForestClassifier(20, random_state=0).fit(X, Y)


def rule(frame):
    return np.where(frame["income"] - 2 * frame["debt"] > 10, "yes", "no")


def test_rows_with_many_values_are_distinguished():
    """Mixed-radix keys of many columns do not fit one integer, and must not wrap around."""
    rng = np.random.default_rng(0)
    d = 12
    data = rng.random((255, d))
    data[0] = 2

    def model(rows):
        return ((rows[:, [0, 3, 8]] > 0.5).sum(axis=1) >= 2).astype(int)

    explainer = Explainer(model, data, engine="blackbox", references="all")
    e = explainer.explain(-np.ones(d), search="exhaustive")
    swapped = data.copy()
    swapped[:, 3] = -1
    assert e.keep.sufficiency("x3") == (model(swapped) == 0).mean()
    assert e.keep.everything.sufficiency == 1.0


def test_arrays_of_another_width_are_refused():
    narrow = X[["age", "income", "debt"]]
    model = RandomForestClassifier(5, random_state=0).fit(narrow, Y)
    array = narrow.to_numpy()
    for call in (
        lambda: Explainer(model, X).explain_many(X.to_numpy()[:2]),
        lambda: Explainer(lambda r: r[:, 1], array, references=np.c_[array, array]).explain(
            array[0]
        ),
        lambda: Explainer(model, narrow).explain_many(array[:2, :2]),
    ):
        with pytest.raises(
            InputError, match=r"columns; allowed: an array of 3 columns|returns numbers"
        ):
            call()
    with pytest.raises(ModelError, match="predicts 2 outputs per row"):
        Explainer(DecisionTreeRegressor().fit(X, np.c_[X["income"], X["debt"]]), X)


def test_an_infinite_cost_means_never():
    for cost in (
        {"age": float("inf")},
        lambda column, a, b: np.where(b != a, np.inf, 0.0) if column == "age" else np.abs(b - a),
    ):
        e = Explainer(forest(), X, cost=cost).explain(ROW, tau=0.5)
        for factor in e.flip.barcode:
            if factor.change is not None:
                assert np.isfinite(factor.cost)
                assert factor.change.values.get("age", ROW["age"]) == ROW["age"]
        assert Explanation.from_json(e.to_json()) == e
    wide = X.astype(float)
    wide.loc[3, "debt"] = np.inf
    e = Explainer(lambda d: (d["age"] > 40).astype(int), wide).explain(wide.iloc[3])
    assert Explanation.from_json(e.to_json()) == e


def test_reported_factors_pass_the_test_they_were_reported_by():
    rng = np.random.default_rng(3)
    data = rng.random((60, 3))
    explainer = Explainer(lambda r: (r[:, 0] + 0.3 * r[:, 1] > 0.7).astype(int), data)
    for adjust in ("bonferroni", "holm", "bh"):
        e = explainer.explain([0.9, 0.5, 0.5], alpha=0.05, adjust=adjust, max_size=2)
        for tau in np.linspace(0.5, 0.99, 200):
            for view in (e.keep, e.flip):
                assert all(f.p_value <= 0.05 + 1e-9 for f in view.at(float(tau)).factors)


def test_categories_of_other_frames_are_not_mixed_in():
    frame = pd.DataFrame({"c": pd.Categorical(list("abc") * 9), "a": range(27)})
    other = frame.assign(c=pd.Categorical(list("abd") * 9))
    with pytest.raises(
        InputError, match="references: got column 'c' of dtype category of 'a', 'b', 'd'"
    ):
        Explainer(lambda d: (d["a"] > 9).astype(int), frame, references=other).explain(
            frame.iloc[0]
        )


def test_one_and_true_are_different_cells():
    frame = pd.DataFrame({"s": pd.Series([1, True, "1", 0] * 10, dtype=object), "a": range(40)})

    def model(rows):
        return np.array([isinstance(v, bool) for v in rows["s"]]).astype(int)

    e = Explainer(model, frame).explain({"s": True, "a": 1})
    assert e.keep.sufficiency("s") == 1.0
    assert e.flip.sufficiency("s") == e.flip.sufficiency(["s", "a"]) == 1.0


def test_column_order_does_not_change_the_sample():
    answers = [
        Explainer(rule, data, n_references=30).explain(ROW)
        for data in (X, X[X.columns[::-1]], X.sample(frac=1, random_state=0))
    ]
    shares = [[e.keep.sufficiency([c]) for c in X.columns] for e in answers]
    assert shares[0] == shares[1] == shares[2]


def test_a_model_may_write_into_what_it_is_given():
    data = X.copy()

    def model(rows):
        rows["ratio"] = rows["debt"] / rows["income"]
        return np.where(rows["ratio"] > 0.4, "bad", "good")

    assert Explainer(model, data).explain(ROW).complete
    assert list(data.columns) == list(X.columns)

    array = X.to_numpy(float)
    before = array.copy()

    def careless(rows):
        rows[:, 0] = 0
        return (rows[:, 1] > 40).astype(int)

    assert Explainer(careless, array).explain(array[0]).complete
    assert (array == before).all()


def test_references_come_in_the_kind_of_the_data_given():
    on_arrays = RandomForestClassifier(5, random_state=0).fit(X.to_numpy(), Y)
    granted = Y == "granted"
    by_mask = Explainer(on_arrays, X, references=granted).explain(ROW)
    assert (
        Explainer(on_arrays, X, references=X[granted]).explain(ROW).keep.factors
        == by_mask.keep.factors
    )
    array = X.to_numpy()
    by_rows = Explainer(forest(), array, references=array[granted]).explain(ROW)
    assert (
        by_rows.keep.factors
        == Explainer(forest(), array, references=granted).explain(ROW).keep.factors
    )


def test_explanations_are_frozen_equal_and_travel():
    explainer = Explainer(forest(), X)
    e = explainer.explain(ROW)
    with pytest.raises(TypeError, match="read-only"):
        e.keep.factors[0].values["income"] = 1
    assert explainer.explain(ROW) == e
    assert hash(explainer.explain(ROW)) == hash(e)
    assert pickle.loads(pickle.dumps(e)) == e


def test_numpy_numbers_are_numbers():
    explainer = Explainer(forest(), X)
    e = explainer.explain(
        ROW,
        tau=np.float32(0.75),
        alpha=np.float64(0.05),
        max_size=np.int64(2),
        budget=np.int64(5000),
    )
    assert Explanation.from_json(e.to_json()) == e
    assert Explanation.from_json(e.at(np.linspace(0.5, 0.9, 3)[1]).to_json()).tau == 0.7


def test_nullable_dates_and_booleans():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "a": rng.integers(0, 9, 40),
            "s": ["u", "v"] * 20,
            "b": [True, False] * 20,
            "f": rng.random(40),
            "when": pd.date_range("2020-01-01", periods=40),
        }
    ).convert_dtypes()
    frame.loc[4, ["s", "b", "f"]] = pd.NA
    explainer = Explainer(lambda d: (d["a"] > 4).to_numpy(bool), frame, references="all")
    for row in (0, 4):
        e = explainer.explain(frame.iloc[row], tau=0.3)
        assert Explanation.from_json(e.to_json()) == e
    assert e.keep.players[1].values == {"s": None}
    assert e.keep.players[4].values["when"].startswith("2020-01-05")
    many = explainer.explain_many(frame.iloc[:2], progress=False)
    assert many[0] == explainer.explain(frame.iloc[0])
    as_text = frame.iloc[0].to_dict() | {"when": "2020-01-01"}
    assert explainer.explain(as_text) == many[0]

    eager = pl.DataFrame(
        {"when": pl.Series(["2020-01-01", "2021-01-01"] * 9).str.to_datetime(), "a": range(18)}
    )
    dates = Explainer(lambda d: (d["a"] > 9).to_numpy(), eager)
    assert dates.explain_many(eager[:2], progress=False)[0] == dates.explain(eager[0])


def test_columns_with_any_kind_of_name():
    numbered = pd.DataFrame(np.random.default_rng(0).random((30, 3)))

    def model(rows):
        return (rows.iloc[:, 1] > 0.5).astype(int)

    e = Explainer(model, numbered, groups={"both": [0, 2]}).explain(numbered.iloc[[0]])
    assert [p.name for p in e.keep.players] == ["both", "1"]
    assert e.keep.sufficiency([1]) == 1.0
    tall = numbered.set_axis(pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)]), axis=1)
    assert Explainer(model, tall).explain(tall.iloc[[0]]).complete
    one = numbered[[1]]
    assert (
        Explainer(lambda r: (r.iloc[:, 0] > 0.5).astype(int), one).explain(one.iloc[[0]]).complete
    )


def test_lightgbm_renames_its_columns():
    lightgbm = pytest.importorskip("lightgbm")
    model = lightgbm.LGBMClassifier(n_estimators=5, verbose=-1).fit(X, Y)
    for engine in ("auto", "blackbox"):
        e = Explainer(model, X, engine=engine).explain(ROW)
        assert "late payments" in [p.name for p in e.keep.players]


def test_any_model_in_a_basis():
    model = LogisticRegression(max_iter=5000).fit(X, Y)
    context = Sample(X.assign(tag=Y == "granted"), auxiliaries=["tag"])
    factors = [compare("debt", ">", 25), auxiliary("tag")]
    for fitted in (model, LogisticRegression(max_iter=5000).fit(X.to_numpy(), Y), model.predict):
        target = make_target(fitted, X, "refused")
        found = minimal_sufficient_factors(Basis(target, context, factors), y=True, tau=0.8)
        assert found.factors == (compare("debt", ">", 25),)
    scores = make_target(lambda r: r["income"].to_numpy(float), X, at_least(60.0))
    assert (
        minimal_sufficient_factors(Basis(scores, context, factors), y=False, tau=0.5).necessity > 0
    )
    with pytest.raises(InputError, match="outcome: got None"):
        make_target(model, X, None)
    with pytest.raises(InputError, match="y: got 'refused'; allowed: True"):
        minimal_sufficient_factors(Basis(target, context, factors), y="refused", tau=0.8)
    with pytest.raises(InputError, match="'debt' is a column of x"):
        Basis(target, context, [auxiliary("debt") & auxiliary("tag")])
    with pytest.raises(InputError, match="hybrids, which record what was held"):
        minimal_sufficient_factors(Basis(target, context, [held()]), y=True, tau=0.8)


def test_predicates_on_values_that_do_not_fit_them():
    z = {"w": np.array(["False", "no"], dtype=object), "b": np.array([True, False])}
    with pytest.raises(InputError, match="Booleans, none missing"):
        auxiliary("w")(z)
    with pytest.raises(InputError, match="Booleans, none missing"):
        auxiliary("n")({"n": np.array([1.0, np.nan])})
    with pytest.raises(InputError, match="a column that can be compared"):
        compare("w", ">=", 3)(z)
    with pytest.raises(InputError, match="high: got inf; allowed: a finite number"):
        between("a", 40, float("inf"))
    assert equals("a", float("nan")) == equals("a", None)
    with pytest.raises(InputError, match=r"JSON written by Factor.to_json"):
        factor_from_json('{"kind": "nothing"}')


def test_half_precision_numbers_are_explained():
    small = np.array([[0.1], [0.7]], dtype=np.float16)
    assert Explainer(lambda r: (r[:, 0] > 0.5).astype(int), small).explain([0.1]).complete


class RandomModel:
    """A fifth of its answers are drawn at random."""

    def __init__(self, share: float = 0.2, safe: int = 0) -> None:
        self.rng, self.share, self.safe = np.random.default_rng(0), share, safe

    def predict(self, rows: Any) -> Any:
        rows = np.asarray(rows)
        answers = (rows[:, 0] > 0).astype(int)
        drawn = self.rng.random(len(rows)) < self.share
        drawn &= rows[:, 1] >= self.safe  # rows below are predicted for sure
        return np.where(drawn, 1 - answers, answers)


ROWS = np.random.default_rng(3).integers(-2, 3, size=(40, 3)).astype(float)


def test_a_model_that_answers_at_random_is_an_error() -> None:
    explainer = Explainer(RandomModel(), ROWS)
    for ask in (explainer.explain, explainer.recourse, explainer.plan):
        with pytest.raises(ModelError, match=r"contradicts itself: it predicted \d+ of the first"):
            ask(ROWS[0])
    assert explainer.explain(ROWS[0], alpha=0.05).provenance.rows_predicted > 0


def test_a_model_that_answers_at_random_beyond_its_data_is_an_error() -> None:
    """A service that remembers its answers repeats those for the data, and draws all others."""
    model, known = RandomModel(share=0.5, safe=-2), {}

    def remembered(rows: Any) -> Any:
        answers = model.predict(rows)
        if not known:
            known.update({row.tobytes(): answer for row, answer in zip(rows, answers, strict=True)})
        return np.array([known.get(r.tobytes(), a) for r, a in zip(rows, answers, strict=True)])

    data = np.random.default_rng(0).normal(size=(40, 3))
    explainer = Explainer(remembered, data)
    with pytest.raises(ModelError, match=r"predicted \d+ of 15 hybrids of rows of data otherwise"):
        explainer.explain(data[0])


def test_an_input_that_loses_its_outcome_is_an_error() -> None:
    data = np.where(np.arange(3) == 1, -1.0, ROWS)  # the data's own rows are predicted for sure
    explainer = Explainer(RandomModel(share=1.0), data)
    model = explainer._decider.model
    assert not model.contradiction  # all answers are the others, always
    flickering = Explainer(RandomModel(share=0.5, safe=0), data)
    assert not flickering._decider.model.contradiction
    with pytest.raises(ModelError, match="contradicts itself: it predicted the input otherwise"):
        for x in range(20):
            flickering.explain([x / 20, 1.0, 0.0], search="exhaustive")


@pytest.mark.parametrize("search", ["exhaustive", "pruned"])
def test_an_input_among_its_references_that_loses_its_outcome_is_an_error(search: str) -> None:
    explained: list[int] = []

    def model(rows: Any) -> Any:
        predicted = (np.asarray(rows)[:, 0] > 0).astype(int)
        if len(rows) == 1 and not explained:  # the input, when it is predicted for the first time
            explained.append(1)
            return 1 - predicted
        return predicted

    data = np.random.default_rng(0).normal(size=(40, 3))
    explainer = Explainer(model, data)
    explained.clear()
    with pytest.raises(ModelError, match="contradicts itself: it predicted the input otherwise"):
        explainer.explain(data[0], search=search)


def test_rounding_in_another_batch_is_no_contradiction() -> None:
    def rounded(rows: Any) -> Any:  # a product that is rounded by where a row stands in its batch
        return rows[:, 0] + 1e-12 * len(rows)

    explainer = Explainer(rounded, ROWS, outcome=at_least(1.0))
    assert explainer.explain(ROWS[0]).keep.factors is not None
