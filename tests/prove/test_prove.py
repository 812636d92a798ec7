"""Verdicts over a domain, against every row of small domains and against rows at the thresholds."""

import json
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import suffice
from suffice import Explainer, InputError, Proof, compare, datasets
from suffice.engines.select_engine import EngineSelector
from suffice.prove.branch_and_bound import NO_POINT, POINT, BoxSearch, LeafBoxes
from suffice.prove.domain import _bisected, answer_tests
from suffice.prove.prover import next_candidate
from suffice.tables import as_table
from tests.effort import examples


def numbers(seed, rows=40, d=4, values=4, missing=False):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.integers(0, values, (rows, d)).astype(float), columns=list("abcd")[:d])
    if missing:
        X = X.mask(rng.random(X.shape) < 0.15)
    return X, rng


def forest(X, y, seed):
    return RandomForestClassifier(7, max_depth=3, random_state=seed).fit(X, y)


def extra_trees(X, y, seed):
    # Fully grown on few rows: leaves are pure, so that even numbers of trees tie.
    return ExtraTreesClassifier(6, random_state=seed).fit(X, y)


def tree(X, y, seed):
    return DecisionTreeClassifier(max_depth=3, random_state=seed).fit(X, y)


def gradient_boosting(X, y, seed):
    return GradientBoostingClassifier(n_estimators=5, max_depth=2, random_state=seed).fit(X, y)


def histogram_boosting(X, y, seed):
    return HistGradientBoostingClassifier(max_iter=4, min_samples_leaf=3, random_state=seed).fit(
        X, y
    )


def ada_boost(X, y, seed):
    return AdaBoostClassifier(n_estimators=4, random_state=seed).fit(X, y)


def bagging(X, y, seed):
    stump = DecisionTreeClassifier(max_depth=2)
    return BaggingClassifier(stump, n_estimators=5, max_features=0.7, random_state=seed).fit(X, y)


def xgboost(X, y, seed):
    from xgboost import XGBClassifier

    return XGBClassifier(n_estimators=4, max_depth=2, random_state=seed).fit(X, y)


def lightgbm(X, y, seed):
    from lightgbm import LGBMClassifier

    model = LGBMClassifier(n_estimators=4, min_child_samples=2, verbose=-1, random_state=seed)
    return model.fit(X, y)


def catboost(X, y, seed):
    from catboost import CatBoostClassifier

    model = CatBoostClassifier(
        iterations=4, depth=2, random_seed=seed, verbose=False, allow_writing_files=False
    )
    return model.fit(X, y)


def logistic(X, y, seed):
    return LogisticRegression().fit(X, y)


def scaled_forest(X, y, seed):
    return make_pipeline(StandardScaler(), RandomForestClassifier(5, max_depth=3)).fit(X, y)


MODELS = [
    forest,
    extra_trees,
    tree,
    gradient_boosting,
    histogram_boosting,
    ada_boost,
    bagging,
    xgboost,
    lightgbm,
    catboost,
    scaled_forest,
]
TAKE_MISSING = {forest, tree, histogram_boosting, xgboost, lightgbm, catboost}


def every_row(X, x):
    """All combinations of the values of the data and the input, column by column."""
    columns = [pd.unique(pd.concat([X[c], pd.Series([x[c]])])) for c in X]
    return pd.DataFrame(list(product(*columns)), columns=list(X))


def same(rows, x):
    """(rows, columns): where a row has the input's value; missing values are equal."""
    values = x.to_numpy(dtype=object)
    return np.array([[a == b or (a != a and b != b) for a, b in zip(row, values, strict=True)]
                     for row in rows.to_numpy(dtype=object)])  # fmt: skip


def brute(agrees, keeps, d):
    """For each set, as a bit mask: do all rows that agree with the input on it keep the outcome?"""
    bits = agrees @ (1 << np.arange(d))
    return [bool(keeps[(bits & mask) == mask].all()) for mask in range(1 << d)]


def minimal(holds, d):
    """Minimal sufficient sets, and minimal sets whose change can lose the outcome."""
    everyone = (1 << d) - 1
    sufficient = {m for m in range(1 << d) if holds[m]}
    contrastive = {everyone & ~m for m in range(1 << d) if not holds[m]}
    return tuple(
        {m for m in sets if not any(m & ~(1 << i) in sets for i in range(d) if m >> i & 1)}
        for sets in (sufficient, contrastive)
    )


def masks(verdicts, names):
    return {sum(1 << names.index(f) for f in v.features) for v in verdicts}


def check(explainer, X, x, truth, domain="values"):
    """Compare the proof of all minimal sets, and the verdict on each set, with every row."""
    names, d = tuple(X), X.shape[1]
    rows = every_row(X, x)
    here = truth(x.to_frame().T.astype(X.dtypes))[0]
    holds = brute(same(rows, x), truth(rows) == here, d)
    proof = explainer.prove(x, domain=domain)
    assert proof.complete and proof.stopped is None
    sufficient, contrastive = minimal(holds, d)
    assert masks(proof.sufficient, names) == sufficient
    assert masks(proof.contrastive, names) == contrastive
    sets = [[names[i] for i in range(d) if m >> i & 1] for m in range(1 << d)]
    each = explainer.prove(x, sets, domain=domain)
    assert [v.verdict == "proved" for v in each.verdicts] == holds
    refuted = [v for v in each.verdicts if v.verdict == "refuted"]
    if refuted:
        found = [dict(v.counterexample) for v in refuted]
        against = pd.DataFrame(found, columns=names).astype(X.dtypes)
        assert (truth(against) != here).all()
        for verdict, held in zip(refuted, same(against, x), strict=True):
            assert held[[names.index(f) for f in verdict.features]].all()
    return proof


@pytest.mark.parametrize("fit", MODELS, ids=lambda fit: fit.__name__)
@given(seed=st.integers(0, 10_000))
@settings(max_examples=examples(4))
def test_verdicts_are_those_of_every_row(fit, seed):
    X, rng = numbers(seed, missing=fit in TAKE_MISSING and seed % 2 == 1)
    filled = X.fillna(1.5)
    y = np.where(filled["a"] + filled["b"] * filled["c"] > 3 + rng.integers(0, 2, len(X)), 1, 0)
    if len(set(y)) < 2:
        y[:2] = 0, 1
    model = fit(X, y, seed)
    x = X.iloc[int(rng.integers(len(X)))]
    check(Explainer(model, X), X, x, lambda rows: np.asarray(model.predict(rows)).ravel())


@pytest.mark.parametrize("fit", [forest, extra_trees, gradient_boosting, xgboost, lightgbm])
@given(seed=st.integers(0, 10_000))
@settings(max_examples=examples(4))
def test_several_classes(fit, seed):
    X, rng = numbers(seed)
    y = (X["a"] + X["b"] > 3).astype(int).to_numpy() + (X["c"] > 1)
    y[:3] = 0, 1, 2
    model = fit(X, y, seed)
    x = X.iloc[int(rng.integers(len(X)))]
    predicted = model.predict(x.to_frame().T)[0]
    check(Explainer(model, X), X, x, lambda rows: model.predict(rows) == predicted)


@pytest.mark.parametrize("fit", [forest, extra_trees, tree, xgboost, lightgbm, logistic])
@given(seed=st.integers(0, 10_000))
@settings(max_examples=examples(6))
def test_a_class_of_several_that_the_input_does_not_have(fit, seed):
    """It is reached only where it leads each of the others: sums that must agree."""
    X, rng = numbers(seed)
    y = (X["a"] + X["b"] > 3).astype(int).to_numpy() + (X["c"] > 1) + (X["d"] > 2)
    y[:4] = 0, 1, 2, 3
    model = fit(X, y, seed)
    x = X.iloc[int(rng.integers(len(X)))]
    predicted = int(model.predict(x.to_frame().T)[0])
    other = (predicted + 1 + seed % 3) % 4
    explainer = Explainer(model, X, outcome=other, references="all")
    check(explainer, X, X.loc[x.name], lambda rows: model.predict(rows) == other)
    if fit in (forest, extra_trees):
        foil = Explainer(model, X, outcome=suffice.versus(other, predicted), references="all")
        ahead = np.greater_equal if other < predicted else np.greater  # ties: the first class
        check(foil, X, x, lambda r: ahead(scores(model, r, other), scores(model, r, predicted)))


def scores(model, rows, label):
    return model.predict_proba(rows)[:, list(model.classes_).index(label)]


def naive_bayes(X, y, seed):
    return GaussianNB().fit(X, y)


def scaled_support_vectors(X, y, seed):
    return make_pipeline(StandardScaler(), LinearSVC(random_state=seed)).fit(X, y)


@pytest.mark.parametrize("fit", [logistic, naive_bayes, scaled_support_vectors])
@given(seed=st.integers(0, 10_000))
@settings(max_examples=examples(6))
def test_additive_models(fit, seed):
    X, rng = numbers(seed)
    noise = rng.integers(-1, 2, len(X))
    y = np.where(X["a"] + X["b"] - X["c"] + noise > 2, 1, 0)
    y[:2] = 0, 1
    model = fit(X, y, seed)
    x = X.iloc[int(rng.integers(len(X)))].copy()
    if seed % 2:
        x["a"] = 7.5  # a value of its own
    check(Explainer(model, X), X, x, model.predict)
    if fit is not logistic:
        return
    y[:3] = 0, 1, 2
    several = fit(X, y, seed)
    predicted = several.predict(x.to_frame().T)[0]
    check(Explainer(several, X), X, x, lambda rows: several.predict(rows) == predicted)


def test_scores_exactly_at_the_boundary_are_the_models_own():
    """Of a sum of whole numbers at least 3: many rows are at the threshold, and it includes them."""
    X, _ = numbers(1)
    model = LinearRegression()
    model.coef_, model.intercept_ = np.array([1.0, 1.0, -1.0, 0.0]), 0.0
    model.n_features_in_, model.feature_names_in_ = 4, np.array(list(X), dtype=object)
    for outcome, truth in (
        (suffice.at_least(3), lambda rows: model.predict(rows) >= 3),
        (suffice.at_most(3), lambda rows: model.predict(rows) <= 3),
    ):
        for i in range(6):
            explainer = Explainer(model, X, outcome=outcome, references="all")
            check(explainer, X, X.iloc[i], truth)


@given(seed=st.integers(0, 10_000))
@settings(max_examples=examples(6))
def test_thresholds_bands_and_foils(seed):
    X, rng = numbers(seed)
    value = X["a"] * 2 + X["b"] * X["c"] + rng.random(len(X))
    model = RandomForestRegressor(5, max_depth=3, random_state=0).fit(X, value)
    x = X.iloc[int(rng.integers(len(X)))]
    limit = float(np.median(model.predict(X)))
    at_least = Explainer(model, X, outcome=suffice.at_least(limit))
    check(at_least, X, x, lambda rows: model.predict(rows) >= limit)
    here = model.predict(x.to_frame().T)[0]
    band = Explainer(model, X, outcome=suffice.within(1.25), references="all")
    check(band, X, x, lambda rows: np.abs(model.predict(rows) - here) <= 1.25)
    boosted = HistGradientBoostingRegressor(max_iter=4, min_samples_leaf=3).fit(X, value)
    at_most = Explainer(boosted, X, outcome=suffice.at_most(limit))
    check(at_most, X, x, lambda rows: boosted.predict(rows) <= limit)


@given(seed=st.integers(0, 10_000))
@settings(max_examples=examples(6))
def test_categories_and_pipelines(seed):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "a": rng.integers(0, 4, 40).astype(float),
            "job": rng.choice(list("xyz"), 40),
            "town": pd.Categorical(rng.choice(list("pqr"), 40)),
        }
    )
    y = ((X["a"] > 1) & (X["job"] != "y") | (X["town"] == "q")).astype(int).to_numpy()
    encode = make_column_transformer(
        (OneHotEncoder(), ["job", "town"]), remainder="passthrough", sparse_threshold=0
    )
    model = make_pipeline(encode, RandomForestClassifier(5, max_depth=4, random_state=0)).fit(X, y)
    x = X.iloc[int(rng.integers(len(X)))]
    check(Explainer(model, X), X, x, model.predict)
    numeric = X.drop(columns="job")
    boosted = HistGradientBoostingClassifier(
        max_iter=4, min_samples_leaf=2, categorical_features="from_dtype"
    ).fit(numeric, y)
    for domain in ("values", "range"):
        explainer = Explainer(boosted, numeric)
        proof = explainer.prove(numeric.iloc[3], domain=domain)
        assert proof.complete
    check(Explainer(boosted, numeric), numeric, numeric.iloc[3], boosted.predict)


@pytest.mark.parametrize("fit", [forest, gradient_boosting, histogram_boosting, xgboost, lightgbm])
@given(seed=st.integers(0, 10_000))
@settings(max_examples=examples(3))
def test_no_row_of_a_range_refutes_a_proof(fit, seed):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(60, 3)) * [1, 1e-3, 1e6], columns=list("abc"))
    y = (X["a"] + X["b"] * 1e3 > X["c"] / 1e6).astype(int).to_numpy()
    model = fit(X, y, seed)
    explainer = Explainer(model, X)
    x = X.iloc[0]
    ensemble = EngineSelector("auto", model, tuple(X)).read_trees().ensemble
    edges = []
    for j, name in enumerate(X):
        cuts = ensemble.tests.threshold[ensemble.tests.column == j]
        least, most = X[name].min(), X[name].max()
        # Rows at a threshold and right beside it, in float64 and in float32, and anywhere.
        near = [cuts, np.nextafter(cuts, np.inf), np.nextafter(cuts, -np.inf)]
        single = cuts.astype(np.float32)
        near += [np.nextafter(single, np.float32(s)).astype(float) for s in (np.inf, -np.inf)]
        near += [rng.uniform(least, most, 20), [least, most, x[name]]]
        every = np.concatenate(near)
        edges.append((every[(every >= least) & (every <= most)], every))
    for domain, which in (("range", 0), ("box", 1)):
        proof = explainer.prove(x, domain=domain)
        assert proof.complete
        rows = pd.DataFrame({n: rng.choice(e[which], 3000) for n, e in zip(X, edges, strict=True)})
        for verdict in proof.sufficient:
            held = rows.assign(**{f: x[f] for f in verdict.features})
            assert (model.predict(held) == model.predict(x.to_frame().T)[0]).all()
        for verdict in proof.contrastive:
            row = dict(verdict.counterexample)
            changed = {name for name in X if row[name] != x[name]}
            assert changed == set(verdict.features)
            if domain == "range":
                assert all(X[n].min() <= v <= X[n].max() for n, v in row.items())


def forest_of(X, y):
    return RandomForestClassifier(5, max_depth=4, random_state=0)


def scaled_bag(X, y):
    member = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=4, random_state=0))
    return BaggingClassifier(member, 5, random_state=0)


def partly_scaled(X, y):
    scale = make_column_transformer(
        (StandardScaler(), ["a"]), (MinMaxScaler(), ["c"]), remainder="passthrough"
    )
    return make_pipeline(SimpleImputer().set_output(transform="pandas"), scale, forest_of(X, y))


def scaled_logistic(X, y):
    return make_pipeline(StandardScaler(), LogisticRegression())


@pytest.mark.parametrize("make", [scaled_bag, partly_scaled, scaled_logistic])
@given(seed=st.integers(0, 10_000))
@settings(max_examples=examples(4))
def test_no_number_refutes_a_proof_about_scaled_columns(make, seed):
    """The trees' thresholds are numbers of scaled columns: most lie outside the data's range."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {"a": rng.normal(500, 100, 80), "b": rng.integers(0, 60, 80), "c": rng.normal(size=80)}
    )
    y = (np.abs(X["a"] - 500) / 100 + np.abs(X["b"] - 30) / 20 > 1.2 + X["c"]).astype(int)
    model = make(X, y).fit(X, y)
    x = X.iloc[int(rng.integers(80))]
    explainer = Explainer(model, X, references="all")
    here = model.predict(x.to_frame().T.astype(X.dtypes))[0]
    values = X.apply(lambda column: rng.choice(column, 4000))
    drawn = pd.DataFrame({n: rng.uniform(X[n].min(), X[n].max(), 4000) for n in X})
    rows = pd.concat([values, drawn.round({"b": 0})]).astype(X.dtypes)
    for limits in ({}, {"ranges": {"a": (450.5, None)}, "forbidden": compare("c", ">", 0.25)}):
        proof = explainer.prove(x, domain="range", **limits)
        assert proof.complete
        own = x["a"] == rows["a"]
        inside = rows[((rows["a"] >= 450.5) | own) & (rows["c"] <= 0.25)] if limits else rows
        for verdict in proof.sufficient:
            held = inside.assign(**{f: x[f] for f in verdict.features}).astype(X.dtypes)
            held = held[held["c"] <= 0.25] if limits else held
            assert (model.predict(held) == here).all() if len(held) else True
        for verdict in proof.contrastive:
            row = pd.DataFrame([dict(verdict.counterexample)]).astype(X.dtypes)
            assert model.predict(row)[0] != here
            assert all(row[n][0] >= X[n].min() and row[n][0] <= X[n].max() for n in X)


def test_thresholds_of_scaled_columns_are_found_to_the_bit():
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"a": rng.normal(3e5, 10, 40), "b": rng.integers(-50, 50, 40)})
    y = ((X["a"] > 3e5) & (X["b"] > 3)).astype(int)
    model = make_pipeline(StandardScaler(), DecisionTreeClassifier(random_state=0)).fit(X, y)
    ensemble = EngineSelector("auto", model, tuple(X)).read_trees().ensemble
    data = as_table(X)
    for j, name in enumerate(X):
        found = _bisected(ensemble, data, j, np.flatnonzero(ensemble.tests.column == j))
        assert len(found)
        for last in found:
            step = 1 if name == "b" else np.nextafter(last, np.inf) - last
            rows = pd.DataFrame([X.iloc[0]] * 2).assign(**{name: [last, last + step]})
            paths = answer_tests(ensemble, as_table(rows.astype(X.dtypes)))
            assert (paths[:, 0] & ~paths[:, 1]).any()


def test_numbers_that_stand_for_categories_take_values_of_the_data():
    from lightgbm import LGBMClassifier

    rng = np.random.default_rng(0)
    X = pd.DataFrame({"town": rng.choice([1, 4, 6, 9], 200), "age": rng.normal(size=200)})
    y = np.isin(X["town"], [4, 6]).astype(int)
    few = {"min_child_samples": 2, "min_data_per_group": 2, "cat_smooth": 1.0}
    model = LGBMClassifier(n_estimators=20, verbose=-1, **few)
    model.fit(X, y, categorical_feature=["town"])
    x = pd.Series({"town": 1, "age": 0.123})
    held = Explainer(model, X).prove(x, ["age"], domain="range").verdicts[0]
    assert held.verdict == "refuted"
    assert dict(held.counterexample)["town"] in {4, 6}  # not 1 or 9, the ends of the range


def test_an_input_with_values_of_its_own_joins_the_domain():
    X, _ = numbers(3)
    y = (X["a"] > 1.5).astype(int)
    model = DecisionTreeClassifier(random_state=0).fit(X, y)
    x = pd.Series({"a": 1.6, "b": 9.0, "c": -1.0, "d": 0.5})
    check(Explainer(model, X), X, x, model.predict)


def test_groups_are_held_and_changed_together():
    X, _ = numbers(5)
    y = (X["a"] + X["b"] > 3).astype(int)
    model = forest(X, y, 0)
    grouped = Explainer(model, X, groups={"both": ["a", "b"]}).prove(X.iloc[1])
    assert grouped.complete
    assert {"both"} <= {f for v in grouped.sufficient for f in v.features} | {"none"}
    alone = Explainer(model, X).prove(X.iloc[1], [["a", "b"], ["a", "b", "c"]])
    both = Explainer(model, X, groups={"both": ["a", "b"]}).prove(
        X.iloc[1], [["both"], ["both", "c"]]
    )
    assert [v.verdict for v in alone.verdicts] == [v.verdict for v in both.verdicts]


def test_a_proof_says_more_than_a_count():
    """Sufficient for every reference, and refuted by a row that is none."""
    X = pd.DataFrame({"a": [0, 1, 0, 1.0], "b": [0, 0, 1, 1.0], "c": [0, 0, 0, 1.0]})

    grid = pd.DataFrame(list(product([0, 1.0], repeat=3)), columns=list("abc"))
    y = ((grid["a"] == 1) & (grid["b"] == grid["c"])).astype(int)
    model = DecisionTreeClassifier(random_state=0).fit(grid, y)
    x = pd.Series({"a": 0.0, "b": 0.0, "c": 0.0})
    e = Explainer(model, X).explain(x, tau=1.0)
    proof = Explainer(model, X).prove(x)
    assert (
        [f.features for f in e.keep.factors] == [("a",)] == [v.features for v in proof.sufficient]
    )
    refuted = Explainer(model, X).prove(x, ["b"]).verdicts[0]
    assert dict(refuted.counterexample) == {"a": 1.0, "b": 0.0, "c": 0.0}


def test_work_that_runs_out_leaves_sets_open():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.random((300, 8)), columns=list("abcdefgh"))
    y = ((X.sum(axis=1) + np.sin(9 * X["a"] * X["b"])) > 4).astype(int)
    model = RandomForestClassifier(30, random_state=0).fit(X, y)
    explainer = Explainer(model, X)
    proof = explainer.prove(X.iloc[0], [["a"], list("abcdefgh")], domain="range", max_boxes=1)
    assert not proof.complete
    still, everything = proof.verdicts
    assert (still.verdict, everything.verdict) == ("open", "proved")
    assert 0 < still.bound <= 1
    assert "open, within" in str(proof)
    searched = explainer.prove(X.iloc[0], domain="range", max_boxes=1)
    assert not searched.complete and "Not complete" in str(searched)
    assert "no other set does" not in str(searched)


def test_equal_calls_give_equal_answers():
    X, y = datasets.loans()
    X = X[["age", "income", "debt", "late payments"]]
    model = RandomForestClassifier(20, random_state=0).fit(X, y)
    first, again = (Explainer(model, X).prove(X.iloc[8], domain="range") for _ in range(2))
    assert first == again == Proof.from_json(first.to_json())
    record = json.loads(first.to_json())
    del record["content"]["values"]["debt"]  # which the counterexamples have
    with pytest.raises(InputError, match="a value for each column"):
        Proof.from_json(json.dumps(record))


def test_what_cannot_be_proved_about_is_said():
    X, _ = numbers(0)
    y = (X["a"] > 1).astype(int)
    neighbours = Explainer(KNeighborsClassifier().fit(X, y), X)
    with pytest.raises(InputError, match=r"prove: got a model .*not a tree model .*additive"):
        neighbours.prove(X.iloc[0])
    linear = Explainer(LogisticRegression().fit(X, y), X)
    with pytest.raises(InputError, match="no largest score over domain='box'"):
        linear.prove(X.iloc[0], domain="box")
    bayes = Explainer(GaussianNB().fit(X, y), X)
    with pytest.raises(InputError, match="GaussianNB is not known to be additive"):
        bayes.prove(X.iloc[0], domain="range")
    scaled = Explainer(scaled_forest(X, y, 0), X)
    with pytest.raises(InputError, match="a step of the pipeline changes column"):
        scaled.prove(X.iloc[0], domain="box")
    encoded = make_pipeline(OneHotEncoder(sparse_output=False), forest_of(X, y)).fit(X, y)
    with pytest.raises(InputError, match="changes column 'a' first; domain='values' reads"):
        Explainer(encoded, X).prove(X.iloc[0], domain="range")
    trees = Explainer(forest(X, y, 0), X)
    with pytest.raises(InputError, match="domain: got 'all'"):
        trees.prove(X.iloc[0], domain="all")
    with pytest.raises(InputError, match="unknown feature 'z'"):
        trees.prove(X.iloc[0], ["a", "z"])
    with pytest.raises(InputError, match="time_limit"):
        trees.prove(X.iloc[0], time_limit=0)
    for features in (None, ["a"]):
        late = str(trees.prove(X.iloc[0], features, domain="range", time_limit=1e-9))
        assert "so the answer depends on the machine" in late
        assert features or "No feature set was proved before the search ended; some may be" in late
    conditional = Explainer(forest(X, y, 0), X, context=suffice.ConditionalContext())
    with pytest.raises(InputError, match="only swapped values"):
        conditional.prove(X.iloc[0])


def test_a_model_that_denies_its_trees_proves_nothing(monkeypatch):
    X = pd.DataFrame(np.random.default_rng(0).random((50, 3)), columns=list("abc"))
    y = (X["a"] + X["b"] > 1).astype(int)
    model = DecisionTreeClassifier(random_state=0).fit(X, y)
    same = int(model.predict(X.iloc[:1])[0])
    monkeypatch.setattr(DecisionTreeClassifier, "predict", lambda self, X: np.full(len(X), same))
    explainer = Explainer(model, X, references="all")
    with pytest.raises(InputError, match="does not predict as its parameters say"):
        explainer.prove(X.iloc[0], domain="range")


def test_columns_of_integers_get_integers():
    X, y = datasets.loans()
    X = X[["age", "income", "debt"]]
    model = RandomForestClassifier(10, random_state=0).fit(X, y)
    for domain in ("range", "box"):
        proof = Explainer(model, X).prove(X.iloc[8], domain=domain)
        assert all(type(v) is int for c in proof.contrastive for v in c.counterexample.values())


@given(
    st.lists(st.integers(1, 31), max_size=6),
    st.lists(st.integers(1, 31), max_size=6),
)
def test_candidates_meet_and_miss_what_they_must(to_meet, to_miss):
    def fits(mask):
        return all(mask & c for c in to_meet) and not any(mask & c == c for c in to_miss)

    found = next_candidate(5, to_meet, to_miss)
    if found is None:
        assert not any(map(fits, range(32)))
    else:
        assert fits(found)


@given(st.data())
def test_the_search_finds_a_point_exactly_where_there_is_one(data):
    seed = data.draw(st.integers(0, 10_000))
    rng = np.random.default_rng(seed)
    d, size, trees = 3, 4, 5
    low, high, value, first = [], [], [], [0]
    tables = np.zeros((size,) * d, dtype=int)
    for _ in range(trees):
        boxes = [(np.zeros(d, int), np.full(d, size - 1))]
        for _ in range(3):  # part one of the boxes
            a, b = boxes.pop(int(rng.integers(len(boxes))))
            j = int(rng.integers(d))
            if a[j] == b[j]:
                boxes.append((a, b))
                continue
            cut = int(rng.integers(a[j] + 1, b[j] + 1))
            upper, lower = a.copy(), b.copy()
            upper[j], lower[j] = cut, cut - 1
            boxes += [(a, lower), (upper, b)]
        values = sorted(rng.integers(-9, 9, len(boxes)).tolist(), reverse=True)
        for (a, b), v in zip(boxes, values, strict=True):
            low.append(a), high.append(b), value.append(v)
            tables[tuple(slice(p, q + 1) for p, q in zip(a, b, strict=True))] += v
        first.append(len(value))
    leaves = LeafBoxes(
        np.array(low, np.int32), np.array(high, np.int32), np.array(value, np.int64),
        np.array(first, np.int32), base=2,
    )  # fmt: skip
    start = rng.integers(0, size, d)
    need = int(rng.integers(tables.min(), tables.max() + 3)) + 2
    box_low, box_high = np.zeros(d, int), np.full(d, size - 1)
    box_low[0] = box_high[0] = start[0]
    inside = tables[start[0]] + 2
    for sure in (need, need + 3, 10**6):
        search = BoxSearch(leaves, size)
        search.begin(box_low, box_high, start, need, sure)
        found = set()
        while (verdict := search.go_on(3)) != NO_POINT:
            if verdict == POINT:
                point = tuple(search.point.tolist())
                assert tables[point] + 2 == search.point_sum >= need
                found.add(point)
                if search.point_sum >= sure:
                    break
        assert bool(found) == bool((inside >= need).any())
        if not any(tables[p] + 2 >= sure for p in found):
            assert not (inside >= sure).any()
