"""Proofs over restricted domains, against every row that the restrictions allow."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from suffice import Explainer, InputError, Proof, between, compare, equals, isin
from tests.effort import examples
from tests.prove.test_prove import (
    brute,
    every_row,
    forest,
    gradient_boosting,
    lightgbm,
    logistic,
    masks,
    minimal,
    numbers,
    same,
    scaled_forest,
)


def draw_restrictions(rng, x):
    """Restrictions of columns a to d, and the rows of a table that they allow."""
    ranges = {"b": (float(rng.integers(0, 2)), 2.5)} if rng.random() < 0.5 else {"b": [0.0, 3.0]}
    factors = [
        compare("a", ">", 1) & equals("c", x["c"] if rng.random() < 0.5 else 2.0),
        ~(compare("b", "<=", 1) | isin("d", [0, 1])),
        between("a", 1, 2) & (compare("d", "!=", 3.0) | ~compare("c", "<", 2)),
        compare("c", ">=", 0),  # most rows of all
    ]
    return {
        "immutable": list(rng.choice(["", "c", "d"], 1)) if rng.random() < 0.5 else [],
        "ranges": ranges if rng.random() < 0.7 else None,
        "increasing": ["a"] if rng.random() < 0.3 else [],
        "decreasing": ["d"] if rng.random() < 0.3 else [],
        "forbidden": [f for f in factors if rng.random() < 0.4],
    }


def allowed(rows, x, limits):
    kept = np.ones(len(rows), dtype=bool)
    for name in rows:
        own = rows[name].eq(x[name]) | (rows[name].isna() & pd.isna(x[name]))
        meets = pd.Series(True, index=rows.index)
        if name in limits["immutable"]:
            meets &= False
        if name in limits["increasing"]:
            meets &= rows[name] >= x[name]
        if name in limits["decreasing"]:
            meets &= rows[name] <= x[name]
        given = (limits["ranges"] or {}).get(name)
        if isinstance(given, tuple):
            meets &= rows[name].between(*given)
        elif given is not None:
            meets &= rows[name].isin(given)
        kept &= (own | meets).to_numpy()
    for factor in limits["forbidden"]:
        kept &= ~factor({name: rows[name].to_numpy() for name in rows})
    return kept


@pytest.mark.parametrize("fit", [forest, gradient_boosting, lightgbm, scaled_forest, logistic])
@given(seed=st.integers(0, 10_000))
@settings(max_examples=examples(12))
def test_verdicts_are_those_of_every_allowed_row(fit, seed):
    X, rng = numbers(seed, missing=fit in (forest, lightgbm) and seed % 3 == 0)
    filled = X.fillna(1.5)
    y = np.where(filled["a"] + filled["b"] * filled["c"] > 3 + rng.integers(0, 2, len(X)), 1, 0)
    y[:2] = 0, 1
    model = fit(X, y, seed)
    x = X.iloc[int(rng.integers(len(X)))].copy()
    if seed % 4 == 0:
        x["b"] = 1.25  # a value of its own, that ranges may leave out
    limits = draw_restrictions(rng, x)
    limits["immutable"] = [name for name in limits["immutable"] if name]
    for name in limits["immutable"]:
        limits["decreasing"] = [other for other in limits["decreasing"] if other != name]
    rows = every_row(X, x)
    rows = rows[allowed(rows, x, limits)].astype(X.dtypes)
    here = model.predict(x.to_frame().T.astype(X.dtypes))[0]
    keeps = np.asarray(model.predict(rows)) == here if len(rows) else np.ones(0, dtype=bool)
    agrees = same(rows, x) if len(rows) else np.ones((0, 4), dtype=bool)
    holds = brute(agrees, keeps, 4)
    explainer = Explainer(model, X, references="all")
    proof = explainer.prove(x, **limits)
    assert proof.complete
    sufficient, contrastive = minimal(holds, 4)
    names = tuple(X)
    assert masks(proof.sufficient, names) == sufficient
    assert masks(proof.contrastive, names) == contrastive
    found = [dict(v.counterexample) for v in proof.contrastive]
    if found:
        against = pd.DataFrame(found, columns=list(X)).astype(X.dtypes)
        assert allowed(against, x, limits).all()
        assert (np.asarray(model.predict(against)) != here).all()


@given(seed=st.integers(0, 10_000))
@settings(max_examples=examples(10))
def test_no_allowed_number_refutes_a_proof(seed):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(60, 3)), columns=list("abc"))
    X["n"] = rng.integers(0, 50, 60)
    y = (X["a"] + X["b"] + X["n"] / 25 > X["c"] + 1).astype(int)
    model = RandomForestClassifier(5, max_depth=4, random_state=seed).fit(X, y)
    x = X.iloc[0]
    cut = float(model.estimators_[0].tree_.threshold[0])  # a limit right at a threshold
    low = float(np.float32(rng.normal()))
    limits = {
        "immutable": [],
        "increasing": ["c"] if seed % 2 else [],
        "decreasing": [],
        "ranges": {"a": (low, low + 1), "n": (10.5, 40)},
        "forbidden": [compare("b", ">", cut) & compare("n", "<=", 20), between("c", -0.1, 0.1)],
    }
    edges = {}
    for j, name in enumerate(X):
        cuts = np.concatenate([e.tree_.threshold[e.tree_.feature == j] for e in model.estimators_])
        cuts = np.concatenate([cuts, [low, low + 1, 10.5, 40, cut, 20, -0.1, 0.1, x[name]]])
        near = [np.nextafter(cuts, s) for s in (-np.inf, np.inf)]
        near += [np.nextafter(cuts.astype(np.float32), np.float32(s)) for s in (-np.inf, np.inf)]
        drawn = rng.uniform(X[name].min(), X[name].max(), 30)
        every = np.concatenate([cuts, *near, drawn]).astype(float)
        if name == "n":
            every = np.unique(np.concatenate([np.floor(every), np.ceil(every)]))
        edges[name] = every[(every >= X[name].min()) & (every <= X[name].max())]
    here = model.predict(x.to_frame().T)[0]
    explainer = Explainer(model, X, references="all")
    for domain in ("range", "box"):
        proof = explainer.prove(x, domain=domain, **limits)
        assert proof.complete and len(proof.restrictions) >= 4
        for verdict in proof.sufficient:
            rows = pd.DataFrame({n: rng.choice(edges[n], 3000) for n in X})
            rows[list(verdict.features)] = [x[name] for name in verdict.features]
            rows = rows[allowed(rows, x, limits)]
            assert (model.predict(rows) == here).all() if len(rows) else True
        for verdict in proof.contrastive:
            row = pd.DataFrame([dict(verdict.counterexample)])[list(X)]
            assert allowed(row, x, limits).all()
            assert model.predict(row)[0] != here


def test_a_restricted_domain_proves_more():
    X = pd.DataFrame({"age": [20, 30, 40, 50], "debt": [10, 30, 20, 40]})
    model = DecisionTreeClassifier(random_state=0).fit(X, [0, 1, 0, 1])
    explainer = Explainer(model, X, references="all")
    x = {"age": 20, "debt": 10}
    free = explainer.prove(x, [[]], domain="box")
    assert free.verdicts[0].verdict == "refuted"
    held = explainer.prove(x, [[]], domain="box", ranges={"debt": (0, 25)})
    assert held.verdicts[0].verdict == "proved"
    assert held.restrictions == ("debt must lie between 0 and 25",)
    assert "; debt must lie between 0 and 25." in held.sheet.lead[0]
    assert Proof.from_json(held.to_json()) == held
    low, high = (explainer.prove(x, [[]], forbidden=f) for f in (
        compare("debt", ">", 20) & compare("age", "<", 60), compare("debt", ">", 30)
    ))  # fmt: skip
    assert [p.verdicts[0].verdict for p in (low, high)] == ["proved", "refuted"]
    fixed = Explainer(model, X, immutable="debt")  # declared changes do not restrict a proof
    assert fixed.prove(x, [[]]).verdicts[0].verdict == "refuted"
    assert fixed.prove(x, [[]], immutable="debt").verdicts[0].verdict == "proved"


def test_faulty_restrictions_are_refused():
    X = pd.DataFrame({"age": [20, 30, 40, 50], "debt": [10, 30, 20, 40]})
    explainer = Explainer(DecisionTreeClassifier().fit(X, [0, 1, 0, 1]), X)
    x = {"age": 20, "debt": 10}
    with pytest.raises(InputError, match="unknown feature 'dept'"):
        explainer.prove(x, immutable="dept")
    with pytest.raises(InputError, match="ranges: got"):
        explainer.prove(x, ranges={"debt": (3, 2)})
    with pytest.raises(InputError, match="forbidden: got debt > 3"):
        explainer.prove(x, forbidden="debt > 3")
