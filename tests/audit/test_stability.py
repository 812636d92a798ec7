"""Stability over retrained models, against a direct count over these models."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import suffice
from suffice import Explainer, InputError, audit, datasets
from suffice.inference import Share
from suffice.plots.audit_charts import stability_chart
from suffice.progress import listen_to_progress
from tests.effort import examples
from tests.plots.image_comparison import texts_in, texts_outside
from tests.random_problems import (
    VALUES,
    Problem,
    minimal_by_definition,
    subsets,
    thresholds,
    with_both_answers,
)

COLUMNS = ["income", "debt", "late payments"]


@pytest.fixture(scope="module")
def loans():
    X, y = datasets.loans(150)
    return X[COLUMNS], np.asarray(y)


def tree(seed=0):
    return DecisionTreeClassifier(max_depth=3, random_state=seed)


class Recorder:
    """A way to fit that keeps what it made."""

    def __init__(self, make):
        self.make, self.seen = make, []

    def __call__(self, X, y, seed):
        model = self.make(seed).fit(X, y)
        self.seen.append((X, y, seed, model))
        return model


@st.composite
def families(draw):
    """Several models of the same rows, and an input."""
    d = draw(st.integers(1, 3))
    row = st.tuples(*[st.integers(0, VALUES - 1)] * d)
    references = draw(st.lists(row, min_size=2, max_size=5))
    truths = st.lists(st.booleans(), min_size=VALUES**d, max_size=VALUES**d)
    x = draw(row)
    if set(references) == {x}:
        references.append(((x[0] + 1) % VALUES, *x[1:]))
    return [with_both_answers(Problem(tuple(draw(truths)), x, tuple(references))) for _ in range(4)]


@settings(max_examples=examples(40))
@given(families(), thresholds)
def test_what_holds_is_counted_model_by_model(family, tau):
    base, *others = family
    todo = [w.model for w in others]
    data = np.array(base.references)
    found = audit.stability(
        lambda X, y: todo.pop(0),
        data,
        np.zeros(len(data)),
        k=len(others),
        model=base.model,
        rows=[list(base.x)],
        tau=tau,
        outcome=int(base.f(base.x)),
        references="all",
        n_references=None,
    )
    (d,) = found
    agree = [w for w in others if w.f(w.x) == base.f(base.x)]
    assert d.same == Share(len(agree), len(others))
    minimal = {}
    for view in ("keep", "flip"):
        share = {}
        for w in (base, *agree):
            hits = w.keeps if view == "keep" else w.flips
            share[w] = {s: hits(s) / len(w.references) for s in subsets(w.d)}
        minimal[view] = {id(w): minimal_by_definition(share[w], tau) for w in (base, *agree)}
        own = {f.features: f for f in d.factors if f.view == view}
        named = {tuple(f"x{i}" for i in m): m for m in minimal[view][id(base)]}
        assert own.keys() == named.keys()
        for features, members in named.items():
            f = own[features]
            shares = [share[w][members] for w in agree]
            assert f.sufficiency.share == share[base][members]
            assert f.holds == Share(sum(s >= tau for s in shares), len(others))
            assert f.minimal == sum(members in minimal[view][id(w)] for w in agree)
            assert f.lowest == (min(shares) if shares else None)
            assert f.highest == (max(shares) if shares else None)
        every = [m for w in agree for m in minimal[view][id(w)]]
        wanted = {
            (tuple(f"x{i}" for i in m), every.count(m))
            for m in set(every) - minimal[view][id(base)]
            if 2 * every.count(m) >= len(others)
        }
        told = {(s.features, s.minimal.hits) for s in d.others if s.view == view}
        assert told == wanted


def test_a_model_that_is_always_the_same_holds_in_all(loans):
    X, y = loans
    model = tree().fit(X, y)
    found = audit.stability(lambda X, y: model, X, y, k=4, model=model, rows=5, recourse=True)
    assert found.agreed == Share(5, 5)
    assert all(f.holds == Share(4, 4) and f.minimal == 4 for f in found.factors)
    assert found.options and all(o.works == Share(4, 4) for o in found.options)
    assert all(d.distance == 0 and d.others == () for d in found)


def test_each_number_is_that_of_the_models_that_were_fitted(loans):
    X, y = loans
    fit = Recorder(tree)
    rows = X.iloc[[8, 20, 31]]
    found = audit.stability(fit, X, y, k=4, rows=rows, recourse={"max_options": 3}, ids=list("abc"))
    base, *again = [model for *_, model in fit.seen]
    first = Explainer(base, X, n_references=100)
    for number, d in enumerate(found):
        row = rows.iloc[number]
        e = first.explain(row)
        assert (d.name, d.outcome) == ("abc"[number], e.outcome)
        others = [Explainer(m, X, n_references=100).explain(row) for m in again]
        agree = [o for o in others if o.outcome == e.outcome]
        assert d.same.hits == len(agree)
        for f in d.factors:
            assert f.holds.hits == sum(
                getattr(o, f.view).sufficiency(f.features) >= 0.9 for o in agree
            )
        apart = [
            audit.barcode_distance(getattr(e, v), getattr(o, v))
            for o in agree
            for v in ("keep", "flip")
        ]
        assert d.distance == pytest.approx(np.mean(apart))
        for told, option in zip(d.options, first.recourse(row, max_options=3), strict=True):
            changed = pd.DataFrame([{**row, **option.values}])[COLUMNS]
            assert told.works.hits == sum(m.predict(changed)[0] != e.outcome for m in again)
            assert told.text == option.text
    frame = found.to_frame()
    assert set(frame["kind"]) == {"outcome", "keep", "flip", "recourse"}
    assert (frame["low"] <= frame["share"]).all() and (frame["share"] <= frame["high"]).all()
    assert f"{found.options[0].works.hits} of 4" in str(found)


def test_rows_are_drawn_again_and_seeds_differ(loans):
    X, y = loans
    X = X.assign(number=np.arange(len(X)))
    fit = Recorder(tree)
    audit.stability(fit, X, y, k=3, rows=1)
    (first, _, seed, _), *again = fit.seen
    assert first.equals(X) and seed == 0
    assert len({s for _, _, s, _ in again}) == 3
    for drawn, labels, _, _ in again:
        assert len(drawn) == len(X)
        assert 0.5 < drawn["number"].nunique() / len(X) < 0.8
        assert (labels == y[drawn["number"]]).all()
    fit = Recorder(tree)
    audit.stability(fit, X, y, k=2, rows=1, resample="seed")
    assert all(drawn.equals(X) for drawn, *_ in fit.seen)


def test_the_same_question_has_the_same_answer_and_another_seed_another(loans):
    X, y = loans
    one, same, other = (
        audit.stability(tree(), X, y, k=3, rows=6, random_state=s) for s in (0, 0, 1)
    )
    assert one == same and one != other
    assert [d.name for d in one] == ["0", "30", "60", "89", "119", "149"]
    assert one.chosen and "These are 6 of 150 rows, evenly spread." in " ".join(str(one).split())


def test_an_estimator_is_cloned_and_its_seeds_are_set(loans):
    X, y = loans
    given = make_pipeline(StandardScaler(), tree(7))
    found = audit.stability(given, X, y, k=2, rows=2, resample="seed")
    assert not hasattr(given[-1], "tree_") and given[-1].random_state == 7
    assert found.agreed.n == 2
    # A straight line does not hang on chance: other seeds change nothing.
    line = audit.stability(LogisticRegression(max_iter=500), X, y, k=2, rows=3, resample="seed")
    assert all(f.holds.hits == 2 for f in line.factors)


def test_a_feature_that_is_noise_holds_less_than_one_that_matters():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 4)), columns=["real", "a", "b", "c"])
    y = X["real"] > 0
    found = audit.stability(DecisionTreeClassifier(random_state=0), X, y, k=5, rows=10)
    held = [f.holds.share for f in found.factors if f.features == ("real",)]
    assert held and np.mean(held) > 0.9


def test_tables_of_other_libraries_and_missing_values(loans):
    polars = pytest.importorskip("polars")
    from sklearn.ensemble import HistGradientBoostingClassifier

    X, y = loans
    gaps = X.astype(float).mask(np.random.default_rng(0).random(X.shape) < 0.1)
    quick = HistGradientBoostingClassifier(max_iter=5, random_state=0)
    asked = {"k": 2, "rows": 3, "n_references": 30, "recourse": True}
    frame = audit.stability(quick, gaps, y, **asked)
    array = audit.stability(quick, gaps.to_numpy(), y, **asked)
    other = audit.stability(quick, polars.from_pandas(gaps), polars.Series(y.tolist()), **asked)
    holds = [[f.holds for f in s.factors] for s in (frame, array, other)]
    assert holds[0] == holds[1] == holds[2]
    assert [o.works for o in frame.options] == [o.works for o in other.options]


def test_progress_is_shown_model_by_model(loans):
    X, y = loans
    heard = []
    with listen_to_progress(lambda what, done, total: heard.append((what, done, total))):
        audit.stability(tree(), X, y, k=2, rows=1)
    models = [h for h in heard if h[0] == "models"]
    assert models[0] == ("models", 0, 3) and models[-1] == ("models", 3, 3)


def test_what_cannot_be_done_is_refused_in_words(loans):
    X, y = loans

    def broken(X, y):
        raise RuntimeError("out of memory")

    def flat(X, y):
        return lambda rows: np.zeros(len(rows), dtype=int)

    cases = [
        ({"fit": DecisionTreeClassifier}, r"fit: got .*Pass DecisionTreeClassifier\(\)"),
        ({"fit": 3}, "fit: got 3; allowed: an estimator, or a function"),
        ({"fit": broken}, "fit: got a function that raised RuntimeError for all rows: out of mem"),
        ({"fit": flat, "model": tree().fit(X, y)}, "retrained model 1 of 2: .*gives one class"),
        ({"y": y[:3]}, r"y: got an array of shape \(3,\); allowed: one value for each of the 150"),
        ({"y": "word"}, "y: got 'word'"),
        (
            {"X": X[:40], "y": np.arange(40), "model": tree().fit(X, y)},
            r"y: got .* so rarely that draws of rows have none of it.*resample='seed'",
        ),
        ({"X": 3}, "X: got"),
        ({"k": 0}, "k: got 0"),
        ({"rows": 0}, "rows: got 0; allowed: a table of rows, None or a whole number"),
        ({"rows": "all"}, "rows: got 'all'"),
        ({"rows": [[1, 2]]}, "rows: row 0: x: got"),
        ({"rows": X.iloc[:2], "ids": ["a"]}, "ids: got 1 names"),
        ({"tau": 0}, "tau: got 0"),
        ({"resample": "none"}, "resample: got 'none'; allowed: 'bootstrap' or 'seed'"),
        (
            {"fit": lambda X, y: 0, "resample": "seed"},
            "resample: got 'seed', with models that take",
        ),
        ({"fit": GaussianNB(), "resample": "seed"}, "resample: got 'seed', with models that take"),
        ({"recourse": "yes"}, "recourse: got 'yes'; allowed: None, True, or options"),
        (
            {"recourse": {"immutables": []}},
            "an option called 'immutables'.*Did you mean 'immutable",
        ),
        ({"random_state": -1}, "random_state: got -1"),
        ({"n_references": 0}, "n_references: got 0"),
        ({"progress": "no"}, "progress: got 'no'"),
    ]
    for asked, message in cases:
        given = {"fit": tree(), "X": X, "y": y, "k": 2, "rows": 1} | asked
        with pytest.raises(InputError, match=message):
            audit.stability(given.pop("fit"), given.pop("X"), given.pop("y"), **given)


def test_the_figure_shows_what_holds_in_how_many(loans):
    pytest.importorskip("matplotlib")
    X, y = loans
    one = audit.stability(tree(), X, y, k=3, rows=X.iloc[[8]], recourse=True)
    chart = stability_chart(one, 20)
    (d,) = one
    assert len(chart.rows) == 1 + len(d.factors) + len(d.options)
    assert chart.rows[0].cells[0].text.startswith(f"{d.same.hits} of 3 (")
    ax = one.plot()
    assert not texts_outside(ax)
    assert any("a recourse option, cost" in words for words in texts_in(ax))
    many = audit.stability(tree(), X, y, k=3, rows=5, recourse=True)
    chart = stability_chart(many, 2)
    assert len(chart.rows) == 2 and chart.more == "and 3 more: .to_frame()"
    assert len(chart.columns) == 3
    assert chart.rows[0].cells[0].value == min(d.same.share for d in many)
    least = min(many, key=lambda d: d.same.hits)
    held = np.mean([f.holds.share for f in least.factors])
    assert chart.rows[0].cells[1].value == least.sets_hold == pytest.approx(held)
    assert chart.rows[0].cells[2].value == least.options_work
    assert not texts_outside(suffice.plots.stability(many))
    with pytest.raises(InputError, match=r"result: got .*a result of audit\.stability"):
        suffice.plots.stability(3)
    with pytest.raises(InputError, match=r"result: got .*a result of audit\.compare"):
        suffice.plots.drift(one)
