"""Explanations under a causal context, against the definition worked out row by row."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

from suffice import CausalContext, CausalModel, Explainer, Explanation, InputError, shapley_values
from tests.effort import examples
from tests.random_problems import subsets

NODES = ("a", "b", "c")
DAGS = (
    [("a", "b"), ("b", "c")],
    [("a", "c"), ("b", "c")],
    [("a", "b"), ("a", "c")],
    [("a", "b"), ("a", "c"), ("b", "c")],
)


@st.composite
def boolean_worlds(draw):
    """A DAG on three Booleans with deterministic mechanisms, a model, an input, references."""
    edges = draw(st.sampled_from(DAGS))
    parents = {node: [a for a, b in edges if b == node] for node in NODES}
    tables = {
        node: draw(st.lists(st.booleans(), min_size=2 ** len(p), max_size=2 ** len(p)))
        for node, p in parents.items()
        if p
    }
    truth = draw(st.lists(st.booleans(), min_size=8, max_size=8).filter(lambda t: len(set(t)) == 2))
    row = st.tuples(*[st.booleans()] * 3)
    return edges, parents, tables, truth, draw(row), draw(st.lists(row, min_size=1, max_size=5))


def mechanism(table, parents):
    def function(**causes):
        at = sum(np.asarray(causes[p], dtype=int) << k for k, p in enumerate(parents))
        return np.asarray(table)[at]

    return function


def follow(start, fixed, parents, tables):
    """One row under an intervention: only what has an intervened ancestor is worked out anew."""
    row, moved = dict(zip(NODES, start, strict=True)) | fixed, set(fixed)
    for node in NODES:  # in topological order
        if node not in fixed and moved & set(parents[node]):
            at = sum(int(row[p]) << k for k, p in enumerate(parents[node]))
            row[node] = tables[node][at]
            moved.add(node)
    return tuple(row[node] for node in NODES)


@settings(max_examples=examples(60))
@given(boolean_worlds(), st.sampled_from(["sampled", "kept"]))
def test_both_views_count_what_the_definition_says(world, noise):
    edges, parents, tables, truth, x, references = world
    f = lambda row: truth[sum(int(v) << k for k, v in enumerate(row))]  # noqa: E731
    mechanisms = {n: mechanism(t, parents[n]) for n, t in tables.items()}
    mechanisms |= {n: 0.5 for n in NODES if not parents[n]}
    scm = CausalModel(edges, mechanisms=mechanisms)
    data = pd.DataFrame(list(product([False, True], repeat=3)), columns=NODES)
    explainer = Explainer(
        lambda rows: np.array([f(r) for r in rows.to_numpy()]),
        data,
        outcome=f(x),
        references=pd.DataFrame(references, columns=NODES),
        context=CausalContext(scm, noise=noise),
    )
    try:
        e = explainer.explain(x)
    except InputError as error:
        # A row that the mechanisms cannot give has no noise to keep.
        assert noise == "kept" and "rows that the model can produce" in str(error)
        return
    assert not e.one_sweep
    for members in subsets(3):
        names = [NODES[m] for m in members]
        kept = [
            f(follow(r, {n: x[NODES.index(n)] for n in names}, parents, tables)) == f(x)
            for r in references
        ]
        flipped = [
            f(follow(x, {n: r[NODES.index(n)] for n in names}, parents, tables)) != f(x)
            for r in references
        ]
        if noise == "sampled":
            assert e.keep.sufficiency(names) == np.mean(kept)
            assert e.flip.sufficiency(names) == np.mean(flipped)
    assert Explanation.from_json(e.to_json()) == e


@pytest.fixture(scope="module")
def chain():
    rng = np.random.default_rng(0)
    school = rng.choice(["none", "college"], 400)
    income = (25 + 20 * (school == "college") + rng.normal(0, 6, 400)).round(1)
    savings = (income / 2 + rng.normal(0, 4, 400)).round(1)
    X = pd.DataFrame({"school": school, "income": income, "savings": savings})
    X["hobby"] = rng.choice(["chess", "football"], 400)

    def model(rows):
        return np.where(rows["income"] + rows["savings"] > 50, "grant", "refuse")

    return model, X, CausalModel([("school", "income"), ("income", "savings")], X)


X_INPUT = {"school": "none", "income": 24.0, "savings": 12.0, "hobby": "chess"}


def test_root_causes_enter_and_what_causes_nothing_does_not(chain):
    model, X, scm = chain
    plain = Explainer(model, X).explain(X_INPUT, tau=0.8)
    causal = Explainer(model, X, context=CausalContext(scm)).explain(X_INPUT, tau=0.8)
    named = lambda view: {name for f in view.factors for name in f.features}  # noqa: E731
    assert "school" not in named(plain.flip) | named(plain.keep)
    assert "school" in named(causal.flip) and "school" in named(causal.keep)
    assert shapley_values(causal.keep)["hobby"] == 0 == shapley_values(causal.flip)["hobby"]
    assert shapley_values(causal.keep)["school"] > 0.2


def test_interventional_shapley_values_are_those_of_the_interventional_distribution(chain):
    """v(S) = E[f(X) | do(x_S)], here by drawing from the causal model itself."""
    model, X, scm = chain
    e = Explainer(model, X, references="all", context=CausalContext(scm)).explain(X_INPUT)
    for held in (["school"], ["income"], ["school", "savings"], ["savings"]):
        do = {name: X_INPUT[name] for name in held}
        drawn = scm.sample(20_000, do=do, random_state=1)
        expected = np.mean(model(drawn) == "refuse")
        low, high = e.keep.factor(held).interval
        assert low - 0.03 < expected < high + 0.03, held


def test_costs_count_what_is_set_and_not_what_follows(chain):
    model, X, scm = chain
    e = Explainer(model, X, context=CausalContext(scm, noise="kept")).explain(X_INPUT, tau=0.8)
    by_set = {f.features: f for f in e.flip.factors}
    assert by_set["school",].cost == 1.0  # a category, whatever income it brings
    assert set(by_set["school",].change.values) == {"school"}


def test_limits_and_searches_hold_in_both_sweeps(chain):
    model, X, scm = chain
    explainer = Explainer(model, X, context=CausalContext(scm))
    full = explainer.explain(X_INPUT)
    small = explainer.explain(X_INPUT, max_size=1)
    for view in ("keep", "flip"):
        singles = [f for f in getattr(full, view).factors if f.size <= 1]
        assert singles == list(getattr(small, view).factors)
    assert not small.complete and full.complete
    assert Explanation.from_json(small.to_json()) == small
    n = full.provenance.n_references
    bounded = explainer.explain(X_INPUT, budget=12 * n)
    assert bounded.provenance.rows_predicted <= 12 * n and bounded.stopped.kind == "budget"
    assert Explanation.from_json(bounded.to_json()) == bounded
    greedy = explainer.explain(X_INPUT, search="greedy")
    assert {f.features for f in greedy.flip.factors} == {f.features for f in full.flip.factors}
    with pytest.raises(InputError, match=r"budget.*2 sets per view"):
        explainer.explain(X_INPUT, budget=3 * n)


def test_it_says_that_effects_follow(chain):
    model, X, scm = chain
    e = Explainer(model, X, context=CausalContext(scm)).explain(X_INPUT, tau=0.8)
    text = str(e)
    assert "effects follow a causal model of 3 nodes, fresh noise" in " ".join(text.split())
    assert "let their effects follow" in text
    assert "let all others vary" not in text


def test_plausibility_draws_from_both_views(chain):
    model, X, scm = chain
    swapped = Explainer(model, X).plausibility(X_INPUT)
    causal = Explainer(model, X, context=CausalContext(scm)).plausibility(X_INPUT)
    assert causal.far < swapped.far


def test_a_dag_on_other_columns_is_refused(chain):
    _, X, scm = chain
    with pytest.raises(InputError, match=r"node 'savings' of the DAG, which is no column"):
        Explainer(
            lambda rows: (rows["income"] > 40).astype(int),
            X[["school", "income"]],
            context=CausalContext(scm),
        ).explain({"school": "none", "income": 24.0})


def test_a_bound_is_reported_as_it_was_given_for_both_views():
    scm = CausalModel([("a", "b")], X := _chain())
    explainer = Explainer(lambda rows: rows["c"] > 0, X, context=CausalContext(scm))
    e = explainer.explain(X.iloc[0], budget=4 * len(X), search="exhaustive")
    assert str(e.stopped) == f"budget={4 * len(X)} model rows"
    e = explainer.explain(X.iloc[0], time_limit=1e-9)
    assert str(e.stopped) == "time_limit=1e-09 s"


def _chain():
    rng = np.random.default_rng(0)
    a, c = rng.normal(size=(2, 40))
    return pd.DataFrame({"a": a, "b": a + rng.normal(size=40), "c": c})


def test_a_bound_is_spent_on_each_views_own_small_sets(chain):
    model, X, scm = chain
    explainer = Explainer(model, X, context=CausalContext(scm))
    full = explainer.explain(X_INPUT)
    n = full.provenance.n_references
    # Of four features: the whole set, the empty set and the singletons of each view, and what is
    # kept back.
    e = explainer.explain(X_INPUT, budget=14 * n, search="exhaustive")
    assert e.keep.tally.exhaustive_size >= 1 and e.flip.tally.exhaustive_size >= 1
    for view in ("keep", "flip"):
        singles = [f.features for f in getattr(full, view).factors if f.size == 1]
        found = [f.features for f in getattr(e, view).factors if f.size == 1]
        assert found == singles and singles
