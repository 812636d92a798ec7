"""Rules of proved sets: every row that satisfies one has the outcome, and none can be widened."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from suffice import Explainer, InputError, Proof, Verdict, compare, equals
from tests.effort import examples
from tests.prove.test_prove import (
    every_row,
    forest,
    gradient_boosting,
    lightgbm,
    logistic,
    numbers,
    scaled_forest,
)


def satisfied(rule, rows):
    if rule is None:
        return np.ones(len(rows), dtype=bool)
    return rule({name: rows[name].to_numpy() for name in rows})


def wider(verdict, X, x):
    """The rule's conditions as allowed values of each column, each widened by one value."""
    inside = {}
    for name in verdict.features:
        values = np.unique(np.append(X[name].dropna(), x[name] if x[name] == x[name] else []))
        own = {
            n: np.full(len(values), x[n]) if n != name else values for n in X
        }  # conditions on other columns hold for the input
        inside[name] = values, satisfied(verdict.rule, pd.DataFrame(own))
    for name, (values, allowed) in inside.items():
        place = np.flatnonzero(allowed)
        for new in (place.min() - 1, place.max() + 1):
            if 0 <= new < len(values):
                grown = {n: set(v[a].tolist()) for n, (v, a) in inside.items()}
                grown[name].add(values[new])
                yield grown


@pytest.mark.parametrize("fit", [forest, gradient_boosting, lightgbm, scaled_forest, logistic])
@given(seed=st.integers(0, 10_000))
@settings(max_examples=examples(8))
def test_rules_hold_for_every_row_and_cannot_be_widened(fit, seed):
    X, rng = numbers(seed, missing=fit in (forest, lightgbm) and seed % 3 == 0)
    filled = X.fillna(1.5)
    y = np.where(filled["a"] + filled["b"] * filled["c"] > 3 + rng.integers(0, 2, len(X)), 1, 0)
    y[:2] = 0, 1
    model = fit(X, y, seed)
    x = X.iloc[int(rng.integers(len(X)))].copy()
    if seed % 4 == 0:
        x["b"] = 1.25  # a value of its own
    rows = every_row(X, x).astype(X.dtypes)
    here = model.predict(x.to_frame().T.astype(X.dtypes))[0]
    keeps = np.asarray(model.predict(rows)).ravel() == here
    proof = Explainer(model, X, references="all").prove(x, rules=True)
    assert proof.complete
    for verdict in proof.sufficient:
        inside = satisfied(verdict.rule, rows)
        assert keeps[inside].all()
        assert satisfied(verdict.rule, x.to_frame().T.astype(X.dtypes)).all()
        if verdict.rule is None:
            assert keeps.all()
            continue
        assert set(verdict.rule.columns()) <= set(verdict.features)
        if x[list(verdict.features)].isna().any():
            continue
        for grown in wider(verdict, X, x):
            held = np.logical_and.reduce([rows[n].isin(v) for n, v in grown.items()])
            assert not keeps[held].all()


@given(seed=st.integers(0, 10_000))
@settings(max_examples=examples(8))
def test_no_number_of_a_range_refutes_a_rule(seed):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "a": rng.normal(size=80),
            "n": rng.integers(0, 50, 80),
            "town": pd.Categorical(rng.choice(list("pqrs"), 80)),
            "c": rng.normal(size=80) * 1e5,
        }
    )
    y = (X["a"] + X["n"] / 25 > X["c"] / 1e5 + 1 + X["town"].isin(["p", "r"])).astype(int)
    coded = X.assign(town=X["town"].cat.codes.astype(int))
    for model, frame in (
        (RandomForestClassifier(5, max_depth=4, random_state=seed), coded),
        (LogisticRegression(max_iter=3000), coded.assign(c=coded["c"] / 1e5)),
    ):
        model.fit(frame, y)
        x = frame.iloc[int(rng.integers(80))]
        here = model.predict(x.to_frame().T.astype(frame.dtypes))[0]
        limits = {"forbidden": equals("n", 20)} if seed % 2 else {}
        proof = Explainer(model, frame, references="all").prove(
            x, domain="range", rules=True, **limits
        )
        assert proof.complete
        for verdict in proof.sufficient:
            rows = pd.DataFrame(
                {n: rng.uniform(frame[n].min(), frame[n].max() + 1e-9, 6000) for n in frame}
            )
            # Rows at the ends of the rule's runs, and beside them.
            for atom in verdict.rule.atoms() if verdict.rule else ():
                for end in (getattr(atom, key, None) for key in ("low", "high", "value")):
                    if end is not None:
                        near = [end, np.nextafter(end, -np.inf), np.nextafter(end, np.inf)]
                        rows.loc[rng.integers(6000, size=1500), atom.column] = rng.choice(
                            near, 1500
                        )
            rows = rows.clip(frame.min(), frame.max(), axis=1)
            rows = rows.round({"n": 0, "town": 0}).astype(frame.dtypes)
            if limits:
                rows = rows[rows["n"] != 20]
            inside = rows[satisfied(verdict.rule, rows)]
            assert (model.predict(inside) == here).all() if len(inside) else True


def test_a_rule_is_shown_counted_and_stored():
    X = pd.DataFrame({"age": [20, 30, 40, 50, 60], "debt": [10, 30, 20, 40, 50]})
    model = DecisionTreeClassifier(random_state=0).fit(X, [0, 1, 0, 1, 1])
    explainer = Explainer(model, X)
    proof = explainer.prove({"age": 20, "debt": 10}, "debt", rules=True)
    rule = proof.verdicts[0].rule
    assert rule == compare("debt", "<=", 20.0)
    assert "debt ≤ 20" in str(proof)
    ranged = explainer.prove({"age": 20, "debt": 10}, "debt", domain="range", rules=True)
    assert ranged.verdicts[0].rule == compare("debt", "<=", 25.0)
    upper = explainer.prove({"age": 50, "debt": 40}, "debt", domain="range", rules=True)
    assert upper.verdicts[0].rule == compare("debt", ">=", 26.0)
    assert Proof.from_json(proof.to_json()) == proof
    assert proof.to_frame()["rule"][0] == rule
    counted = explainer.score_rule({"age": 20, "debt": 10}, rule)
    assert counted.precision == 1.0
    assert explainer.prove({"age": 20, "debt": 10}, "debt").verdicts[0].rule is None
    with pytest.raises(InputError, match="None where the set is not proved"):
        Verdict(("debt",), "open", bound=0.5, rule=rule)
