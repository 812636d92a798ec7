"""Models as people bring them: estimators, pipelines and callables, with any kind of table."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import BaseEstimator
from sklearn.compose import make_column_transformer
from sklearn.ensemble import IsolationForest, RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import LinearSVC

from suffice import Explainer, at_least, at_most, datasets, satisfies, versus, within
from suffice.target import PredictionScore, needs_input

X, Y = datasets.loans(200)
NUMERIC = X.select_dtypes("number")


def pipeline(labels):
    columns = make_column_transformer((OneHotEncoder(), ["home", "job"]), remainder="passthrough")
    return make_pipeline(columns, RandomForestClassifier(10, random_state=0)).fit(X, labels)


LABELS = {
    "strings": Y,
    # In the order of the strings, since a forest decides its ties by that order.
    "truth values": Y == "refused",
    "whole numbers": (Y == "refused").astype(int),
    "floats": (Y == "refused").astype(float),
}


def answers(explanation):
    """What was found, free of the labels' names."""
    views = (explanation.keep, explanation.flip)
    return [([(f.features, f.sufficiency) for f in v.factors], v.necessity) for v in views]


def test_labels_of_any_kind_give_the_same_answer():
    found = [answers(Explainer(pipeline(y), X).explain(X.iloc[0])) for y in LABELS.values()]
    assert all(f == found[0] for f in found)
    e = Explainer(pipeline(LABELS["truth values"]), X).explain(X.iloc[0])
    assert e.prediction is True
    assert (e.keep.outcome, e.flip.outcome) == ("True", "False")


def test_tables_of_any_kind_give_the_same_answer():
    model = pipeline(Y)

    def callable_on(make_pandas):
        return lambda rows: model.predict(make_pandas(rows))

    expected = answers(Explainer(model, X).explain(X.iloc[3]))
    pandas = Explainer(callable_on(lambda r: r), X)
    polars = Explainer(callable_on(lambda r: r.to_pandas()), pl.from_pandas(X))
    arrow = Explainer(callable_on(lambda r: r.to_pandas()), pa.Table.from_pandas(X))
    objects = Explainer(
        callable_on(lambda r: pd.DataFrame(r, columns=X.columns).infer_objects()),
        X.to_numpy(dtype=object),
    )
    assert answers(pandas.explain(X.iloc[3].to_dict())) == expected
    assert answers(polars.explain(pl.from_pandas(X)[3])) == expected
    assert answers(arrow.explain(X.iloc[3].to_dict())) == expected
    found = answers(objects.explain(X.iloc[3].tolist()))
    renamed = {f"x{j}": name for j, name in enumerate(X.columns)}
    named = [([(tuple(renamed[n] for n in f), ps) for f, ps in fs], pn) for fs, pn in found]
    assert named == expected


def test_a_row_in_any_form():
    explainer = Explainer(pipeline(Y), X)
    row = X.iloc[5]
    forms = [
        row,
        row.to_dict(),
        X.iloc[[5]],
        row.tolist(),
        row[::-1].to_dict(),
        X.iloc[[5]].to_numpy(),
    ]
    found = [answers(explainer(form)) for form in forms]
    assert all(f == found[0] for f in found)


def test_the_model_gets_its_columns_dtypes_and_order():
    seen = []

    class Watchful(BaseEstimator):
        classes_ = np.array(["granted", "refused"])
        feature_names_in_ = np.array(["job", "age", "home"])

        def predict(self, rows):
            seen.append(rows)
            return np.where(rows["age"] > 40, "granted", "refused")

    frame = X.assign(job=X["job"].astype("category"), age=X["age"].astype("Int32"), label=Y)
    e = Explainer(Watchful(), frame).explain(frame.iloc[0])
    for rows in seen:
        assert list(rows.columns) == ["job", "age", "home"]
        assert rows.dtypes.astype(str).to_dict() == {
            c: str(frame[c].dtype) for c in ("job", "age", "home")
        }
        assert list(rows["job"].cat.categories) == list(frame["job"].cat.categories)
    assert [p.name for p in e.keep.players] == ["job", "age", "home"]
    assert [f.features for f in e.keep.factors] == [("age",)]


def test_arrays_for_a_model_fitted_on_a_frame_and_frames_for_one_fitted_on_arrays():
    on_frame = LogisticRegression(max_iter=5000).fit(NUMERIC, Y)
    on_array = LogisticRegression(max_iter=5000).fit(NUMERIC.to_numpy(float), Y)
    expected = answers(Explainer(on_frame, NUMERIC).explain(NUMERIC.iloc[0]))
    assert answers(Explainer(on_frame, NUMERIC.to_numpy()).explain(NUMERIC.iloc[0])) == expected
    assert answers(Explainer(on_array, NUMERIC).explain(NUMERIC.iloc[0])) == expected


def test_groups_move_together():
    groups = {"means": ["income", "debt"], "life": ["home", "job"]}
    e = Explainer(pipeline(Y), X, groups=groups).explain(X.iloc[0], tau=0.6)
    names = [p.name for p in e.keep.players]
    assert names == ["age", "means", "life", "late payments", "guarantor"]
    assert dict(e.keep.players[1].values) == {"income": X["income"][0], "debt": X["debt"][0]}
    flips = {f.features: f for f in e.flip.barcode}
    assert set(flips[("means",)].change.values) == {"income", "debt"}


def test_multi_class_outcomes():
    third = np.where(NUMERIC["debt"] > 20, "high", np.where(NUMERIC["debt"] > 8, "middle", "low"))
    model = RandomForestClassifier(20, random_state=0).fit(NUMERIC, third)
    row = NUMERIC.iloc[int(np.argmax(third == "high"))]
    rest = Explainer(model, NUMERIC).explain(row)
    assert (rest.keep.outcome, rest.flip.outcome) == ("high", "not high")
    asked = Explainer(model, NUMERIC, outcome="low").explain(row)
    assert (asked.keep.outcome, asked.flip.outcome) == ("not low", "low")
    foil = Explainer(model, NUMERIC, outcome=versus("high", "low")).explain(row)
    assert (foil.keep.outcome, foil.flip.outcome) == (
        "high rather than low",
        "low rather than high",
    )
    assert foil.keep.factors[0].features == ("debt",)

    two = versus("granted", "refused")
    binary = Explainer(LinearSVC().fit(NUMERIC, Y), NUMERIC, outcome=two).explain(row)
    plain = Explainer(LinearSVC().fit(NUMERIC, Y), NUMERIC).explain(row)
    assert answers(binary) == answers(
        plain
    )  # of two classes, one rather than the other is the class


def test_regression_events():
    score = 300 + 4.0 * NUMERIC["income"] - 2.0 * NUMERIC["debt"]
    model = RandomForestRegressor(20, random_state=0).fit(NUMERIC, score)
    row = NUMERIC.iloc[int(np.argmin(score))]
    at = float(model.predict(row.to_frame().T)[0])
    for outcome, keeps in (
        (at_least(500), "prediction < 500"),
        (at_most(500), "prediction ≤ 500"),
        (within(40), f"prediction within 40 of {at:g}"),
        (satisfies(lambda v: v < 500, "a low score"), "a low score"),
    ):
        e = Explainer(model, NUMERIC, outcome=outcome).explain(row)
        assert e.keep.outcome == keeps
        assert e.complete
        assert e.prediction == at
    low = Explainer(model, NUMERIC, outcome=at_least(500)).explain(row, tau=0.8)
    assert low.keep.factors[0].features == ("income",)


def test_callables_returning_labels_probabilities_or_scores():
    model = LogisticRegression(max_iter=5000).fit(NUMERIC, Y)
    row = NUMERIC.iloc[0]
    expected = answers(Explainer(model, NUMERIC).explain(row))
    labels = Explainer(model.predict, NUMERIC)
    columns = Explainer(model.predict_proba, NUMERIC)
    share = Explainer(lambda r: model.predict_proba(r)[:, 1], NUMERIC, outcome=at_least(0.5))
    one_column = Explainer(lambda r: model.predict(r)[:, None], NUMERIC)
    for explainer in (labels, columns, share, one_column):
        assert answers(explainer.explain(row)) == expected
    # A method's owner has the names of the classes; a function of one's own has numbers of them.
    assert columns.explain(row).prediction == labels.explain(row).prediction == "refused"
    two = versus("refused", "granted")
    assert Explainer(model.predict_proba, NUMERIC, outcome=two).explain(row).complete
    numbered = Explainer(lambda r: model.predict_proba(r), NUMERIC)
    assert numbered.explain(row).prediction == 1
    assert answers(numbered.explain(row)) == expected


def test_estimators_without_classes():
    e = Explainer(IsolationForest(random_state=0).fit(NUMERIC), NUMERIC).explain(NUMERIC.iloc[0])
    assert e.prediction in (-1, 1)
    assert Explainer(RidgeClassifier().fit(NUMERIC, Y), NUMERIC).explain(NUMERIC.iloc[0]).complete


def test_references_in_any_form():
    model = pipeline(Y)
    row = X.iloc[0]
    opposite = model.predict(X) != model.predict(X.iloc[[0]])[0]
    expected = answers(Explainer(model, X).explain(row))
    for given in (
        opposite,
        opposite.tolist(),
        pd.Series(opposite),
        X[opposite],
        X.loc[opposite, ::-1],
        lambda data, x: model.predict(data) != model.predict(x)[0],
        lambda data, x: data[opposite],
    ):
        assert answers(Explainer(model, X, references=given).explain(row)) == expected
    sample = Explainer(model, X, n_references=20, random_state=3).explain(row)
    assert sample.provenance.n_references == 20
    assert answers(Explainer(model, X, n_references=10**6).explain(row)) == expected
    again = Explainer(model, X.iloc[::-1], n_references=20, random_state=3).explain(row)
    assert answers(again) == answers(sample)
    everyone = Explainer(model, X, references="all").explain(row)
    assert everyone.provenance.n_references == len(X)


def test_missing_values_are_values():
    frame = NUMERIC.astype(float).assign(debt=lambda f: f["debt"].where(f["debt"] > 10))
    model = RandomForestClassifier(10, random_state=0).fit(frame, Y)
    row = frame.iloc[int(frame["debt"].isna().argmax())]
    e = Explainer(model, frame).explain(row)
    assert e.keep.players[2].values == {"debt": None}
    assert e.provenance.rows_predicted < e.provenance.hybrids
    assert "debt missing" in str(e)


def test_explaining_many_does_not_depend_on_the_workers():
    explainer = Explainer(pipeline(Y), X)
    one = explainer.explain_many(X.iloc[:4], progress=False, tau=0.8)
    two = explainer.explain_many(X.iloc[:4].to_dict("records"), n_jobs=2, progress=False, tau=0.8)
    assert [answers(e) for e in one] == [answers(e) for e in two]
    assert [answers(e) for e in one] == [
        answers(explainer.explain(X.iloc[i], tau=0.8)) for i in range(4)
    ]


def test_distinct_rows_are_predicted_once_and_answers_stay_the_same(monkeypatch):
    from suffice.context import SwapHybrids, make_players
    from suffice.engines import BlackBox, blackbox
    from suffice.factors.lattice import Lattice
    from suffice.models import wrap_model
    from suffice.tables import as_table
    from suffice.target import Target, event_for

    pool = as_table(X.iloc[:60])
    model, labels = wrap_model(pipeline(Y), pool)
    context = SwapHybrids(pool, make_players(pool))
    target = Target(model, event_for(None, model, labels[0]))
    lattice = Lattice(context.d)
    held = np.concatenate([lattice.held(k) for k in range(context.d + 1)])

    asked, plain = (BlackBox(target, context, True, distinct=d) for d in (True, False))
    expected = plain.outcomes(held)
    assert (asked.outcomes(held) == expected).all()
    every = {tuple(r) for i in range(context.n) for r in _hybrids(context, held, i)}
    assert asked.rows_predicted == len(every) < plain.rows_predicted == expected.size

    # In blocks, and with keys too large for one number, the answers stay the same.
    monkeypatch.setattr(blackbox, "_CELLS_PER_CALL", 50 * len(pool.names))
    blocks = BlackBox(target, context, True, distinct=True)
    assert (np.concatenate([blocks.outcomes(h) for h in np.array_split(held, 7)]) == expected).all()
    assert blocks.rows_predicted == len(every)
    import suffice.context.hybrids as swap

    large, swap.MAX_EXACT_INTEGER = swap.MAX_EXACT_INTEGER, 500
    try:
        chunked = SwapHybrids(pool, make_players(pool))
        assert not chunked.stable_keys
        narrow = BlackBox(target, chunked, True, distinct=True)
        assert (narrow.outcomes(held) == expected).all()
        assert narrow.rows_predicted == len(every)
    finally:
        swap.MAX_EXACT_INTEGER = large


def _hybrids(context, held, reference):
    rows = context.rows(held, np.full(len(held), reference)).native
    return rows.itertuples(index=False)


def test_the_predictions_own_score_is_its_probability_score_or_value():
    model = LogisticRegression(max_iter=5000).fit(NUMERIC, Y)
    row = NUMERIC.iloc[0]
    shares = model.predict_proba(NUMERIC.iloc[[0]])[0]

    def own(asked, outcome=None, data=NUMERIC, x=row):
        return Explainer(asked, data, outcome=outcome).decide(x).own_score

    assert own(model) == PredictionScore(shares.max(), "probability")
    assert own(model, versus("granted", "refused")) == own(model, "granted") == own(model)
    assert own(model.predict_proba) == own(model)
    svm = LinearSVC().fit(NUMERIC, Y)
    margin = abs(svm.decision_function(NUMERIC.iloc[[0]])[0])
    assert own(svm) == PredictionScore(margin, "score")
    value = RandomForestRegressor(5, random_state=0).fit(NUMERIC, NUMERIC["debt"] * 2.5)
    assert own(value, at_least(10)) == PredictionScore(value.predict(NUMERIC.iloc[[0]])[0], "value")
    assert own(IsolationForest(random_state=0).fit(NUMERIC)).kind == "score"
    asked = []

    def labels(rows):
        asked.append(len(rows))
        return model.predict(rows)

    assert own(labels) is None
    assert asked == [len(NUMERIC), 31, 31, 1], "a model of labels alone is not asked for scores"


def test_an_outcome_says_whether_it_depends_on_the_input():
    assert within(3).depends_on_input
    for settled in (at_least(3), at_most(3), versus("a", "b"), satisfies(np.isfinite)):
        assert not settled.depends_on_input
        assert not needs_input(settled)
    assert needs_input(None)
    assert needs_input(within(3))
    assert not needs_input("granted")


@pytest.mark.parametrize("kind", ["RandomForestClassifier", "ExtraTreesClassifier"])
@pytest.mark.parametrize("labels", [["no", "yes"], [0, 1], [3, 1, 2]])
def test_a_forests_probabilities_give_the_labels_it_predicts(kind, labels):
    """Ties included: 8 shallow trees on noise agree in half of the rows only."""
    from sklearn import ensemble

    from suffice.models import wrap_model
    from suffice.tables import as_table

    rng = np.random.default_rng(0)
    data = rng.integers(3, size=(300, 4)).astype(float)
    y = rng.choice(labels, size=300)
    model = getattr(ensemble, kind)(8, max_depth=3, random_state=0).fit(data, y)
    table = as_table(data)
    wrapped, _ = wrap_model(model, table)
    found, scores = wrapped.predict_with_scores(table)
    assert (found == model.predict(data)).all()
    assert found.dtype == model.predict(data).dtype
    assert (scores == model.predict_proba(data)).all()


def test_the_input_of_a_forest_is_predicted_once(monkeypatch):
    from sklearn.ensemble import RandomForestClassifier

    data = np.random.default_rng(0).random((60, 3))
    model = RandomForestClassifier(5, random_state=0).fit(data, data[:, 0] > 0.5)
    asked = []
    real = RandomForestClassifier.predict_proba
    monkeypatch.setattr(
        RandomForestClassifier, "predict_proba", lambda m, X: asked.append(len(X)) or real(m, X)
    )
    # By name: to choose between engines, the model would be timed on a row of its own.
    explainer = Explainer(model, data, n_references=5, engine="trees")
    e = explainer.explain(data[0], search="exhaustive")
    assert asked.count(1) == 1
    assert e.score.value == pytest.approx(real(model, data[:1])[0].max())
