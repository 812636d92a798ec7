"""Contexts other than the swap: near references, a user's sampler, and plausibility."""

import json
import multiprocessing
import os
import pickle
from dataclasses import FrozenInstanceError
from threading import Event, Thread

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from jsonschema import validate
from scipy.spatial.distance import cdist
from sklearn.ensemble import RandomForestClassifier

from suffice import (
    ConditionalContext,
    Explainer,
    Explanation,
    InputError,
    SwapContext,
    datasets,
    result_schema,
)
from suffice.context import make_players
from suffice.context.conditional import Plausibility
from suffice.context.hybrids import SwapHybrids
from suffice.context.references import References
from suffice.tables import as_table
from tests.random_problems import VALUES, has_both_outcomes, problems, subsets


@pytest.fixture(scope="module")
def loans():
    X, y = datasets.loans(300)
    X = X[["age", "income", "debt", "late payments"]]
    return RandomForestClassifier(20, random_state=0).fit(X, y), X


def two_columns(n=400, seed=0):
    """Two columns that always agree, and a model that answers no where they differ."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 5, n)
    return pd.DataFrame({"a": a, "b": a, "c": rng.integers(0, 2, n)})


# -- near references --------------------------------------------------------------------


@given(problems().filter(has_both_outcomes), st.integers(0, 3))
def test_as_many_neighbours_as_references_is_the_marginal_context(world, seed):
    options = {"random_state": seed}
    everyone = ConditionalContext(n_drawn=len(world.references))
    near = world.explainer(context=everyone, **options).explain(world.x)
    plain = world.explainer(**options).explain(world.x)
    for ours, theirs in ((near.keep, plain.keep), (near.flip, plain.flip)):
        assert [level.tolist() for level in ours.tally.levels] == [
            level.tolist() for level in theirs.tally.levels
        ]
    assert near.flip.factors == plain.flip.factors  # the cheapest changes too


@given(problems().filter(has_both_outcomes), st.integers(1, 4), st.integers(0, 3))
def test_hybrids_come_from_the_nearest_references(world, n, seed):
    pool = as_table(np.array([world.x, *world.references]))
    players = make_players(pool)
    context, same = ConditionalContext(n_drawn=n).bind(pool, players, seed)
    assert context is same
    scale = [np.ptp(pool.column(j)) or 1 for j in range(world.d)]
    assert all(scale)
    for members in subsets(world.d):
        held = np.zeros((1, world.d), dtype=bool)
        held[0, list(members)] = True
        donors = context.donors(held)[0]
        assert len(set(donors.tolist())) == context.n == min(n, len(world.references))
        away = context._distances[:, list(members)].sum(axis=1)
        chosen, others = away[donors - 1], np.delete(away, donors - 1)
        assert chosen.max() <= others.min(initial=np.inf) + 1e-9
        rows = context.rows(np.repeat(held, context.n, axis=0), np.arange(context.n)).native
        for row, donor in zip(rows, donors, strict=True):
            assert tuple(row) == world.hybrid(members, pool.native[donor])


@pytest.mark.parametrize(
    "cost", [None, {"b": 9.0}, lambda column, old, new: np.abs(new - old) ** 2]
)
def test_nearness_is_the_cost_of_a_change_in_deviations_of_the_data(cost):
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(90, 3)), columns=list("abc"))
    row, references = X.iloc[[0]], X[X.a.abs() < 0.3].head(12)  # nearer in a than the data are

    def distance(column, old, new):
        if callable(cost):
            return (new - old) ** 2
        away = (X[column] - X[column].median()).abs()
        return abs(new - old) / (away.median() or away.mean()) * (cost or {}).get(column, 1.0)

    decision = Explainer(
        lambda rows: rows["a"] > 0,
        X,
        references=references,
        cost=cost,
        context=ConditionalContext(n_drawn=4),
    ).decide(row)
    below = decision.pool.native.iloc[1:]
    for members in subsets(3):
        held = np.isin(np.arange(3), members)[None]
        near = decision.hybrids[0].donors(held)[0] - 1
        far = np.setdiff1d(np.arange(12), near)
        by_hand = sum(
            (
                distance(name, row[name].iloc[0], below[name].to_numpy())
                for name in X.columns[held[0]]
            ),
            np.zeros(12),
        )
        assert by_hand[near].max() <= by_hand[far].min() + 1e-9


def test_impossible_pairs_are_not_made():
    X = two_columns()

    def agree(rows):
        return np.where(rows["a"] == rows["b"], "possible", "impossible")

    def asked(context):
        seen = []

        def model(rows):
            seen.append(agree(rows))
            return (rows["a"] >= 3).astype(int)

        explainer = Explainer(model, X, references="all", context=context)
        seen.clear()  # what was predicted to see that the model repeats itself
        explainer.explain(X.iloc[0])
        return np.concatenate(seen)

    assert (asked(None) == "impossible").mean() > 0.1
    # Holding one column draws only rows that agree with it on that column, hence on both.
    assert (asked(ConditionalContext(n_drawn=30)) == "possible").all()


@pytest.mark.slow
def test_the_answer_does_not_depend_on_blocks_or_workers(loans):
    model, X = loans
    explainer = Explainer(model, X, context=ConditionalContext(n_drawn=40))
    context = explainer.decide(X.iloc[8]).hybrids[0]
    rng = np.random.default_rng(0)
    held, refs = rng.random((200, 4)) < 0.5, rng.integers(40, size=200)
    whole = context.rows(held, refs).native
    shuffled = rng.permutation(200)
    again = context.rows(held[shuffled], refs[shuffled]).native
    assert whole.iloc[shuffled].reset_index(drop=True).equals(again)
    one, two = (explainer.explain_many(X.iloc[:3], n_jobs=jobs) for jobs in (1, 2))
    assert one == two


def test_conditional_explanations_are_stored_and_read_back(loans):
    model, X = loans
    e = Explainer(model, X, context=ConditionalContext(n_drawn=40)).explain(X.iloc[8])
    assert e.provenance.n_references == 40 and e.keep.tally.n == 40
    assert Explanation.from_json(e.to_json()) == e
    assert json.loads(e.to_json())["content"]["flip_hits"] is None  # one sweep serves both views
    assert "nearest to what is held" in e.provenance.context.words
    assert all(f.cost is not None for f in e.flip.factors)


def test_what_only_two_sweeps_need_may_be_left_out_of_a_record(loans):
    model, X = loans
    e = Explainer(model, X).explain(X.iloc[8])
    record = json.loads(e.to_json())
    del record["content"]["flip_hits"], record["content"]["flip_draws"]
    assert Explanation.from_json(json.dumps(record)) == e


def test_bounded_and_greedy_searches_work_and_pruned_says_why_not(loans):
    model, X = loans
    explainer = Explainer(model, X, context=ConditionalContext(n_drawn=40))
    x = X.iloc[8]
    full = explainer.explain(x)
    small = explainer.explain(x, max_size=1)
    assert [f for f in full.keep.factors if f.size <= 1] == list(small.keep.factors)
    greedy = explainer.explain(x, search="greedy")
    found = {f.features for f in full.keep.factors}
    assert found == {f.features for f in greedy.keep.factors}
    budget = explainer.explain(x, budget=400)
    assert budget.provenance.rows_predicted <= 400 and budget.stopped
    with pytest.raises(InputError, match="'auto' in this context"):
        explainer.explain(x, search="pruned")
    with pytest.raises(InputError, match="only hybrids whose values are swapped are known"):
        Explainer(model, X, context=ConditionalContext(), engine="trees").explain(x)


# -- a user's sampler -------------------------------------------------------------------


def test_a_sampler_of_constant_rows_is_that_one_reference(loans):
    model, X = loans
    other = X.iloc[[11]]

    def always(x, held, n, rng):
        return pd.concat([other] * n, ignore_index=True)

    sampled = Explainer(model, X, context=ConditionalContext(n_drawn=7, sampler=always)).explain(
        X.iloc[8]
    )
    plain = Explainer(model, X, references=other).explain(X.iloc[8])
    for members in (["age"], ["income", "debt"], []):
        assert sampled.keep.sufficiency(members) == plain.keep.sufficiency(members)
    assert "7 rows drawn by always" in sampled.provenance.context.words
    assert all(f.cost is None for f in sampled.flip.factors)


def test_a_sampler_sees_what_is_held_and_its_held_columns_do_not_count(loans):
    model, X = loans
    calls = []

    def sampler(x, held, n, rng):
        calls.append((len(x), held))
        return X.sample(n, random_state=int(rng.integers(1 << 30))).assign(age=-1)

    explainer = Explainer(model, X, context=ConditionalContext(n_drawn=5, sampler=sampler))
    context = explainer.decide(X.iloc[8]).hybrids[0]
    held = np.array([[True, False, True, False]])
    rows = context.rows(np.repeat(held, 5, axis=0), np.arange(5)).native
    assert calls == [(1, ("age", "debt"))]
    assert (rows["age"] == X["age"].iloc[8]).all() and (rows["debt"] == X["debt"].iloc[8]).all()
    again = context.rows(held, np.array([3])).native
    assert again.iloc[0].equals(rows.iloc[3])


@pytest.mark.parametrize(
    ("sampler", "message"),
    [
        (lambda x, held, n, rng: x, "1 rows; allowed: 5 rows, as asked for"),
        (lambda x, held, n, rng: np.zeros((n, 9)), "an array of 9 columns"),
        (
            lambda x, held, n, rng: pd.concat([x] * n)[["age"]],
            "no column 'income', 'debt' or 'late",
        ),
    ],
)
def test_samplers_that_return_something_else_are_reported(loans, sampler, message):
    model, X = loans
    with pytest.raises(InputError, match=f"sampler.*{message}"):
        Explainer(model, X, context=ConditionalContext(n_drawn=5, sampler=sampler)).explain(
            X.iloc[8]
        )


@pytest.mark.parametrize("bad", [0, -1, 2.5, "many", True, None, [3]])
def test_bad_numbers_of_neighbours(bad):
    with pytest.raises(InputError, match=r"n_drawn: got .*; allowed: a whole number >= 1"):
        ConditionalContext(n_drawn=bad)


def test_bad_contexts(loans):
    model, X = loans
    with pytest.raises(InputError, match=r"sampler.*None or a function"):
        ConditionalContext(sampler="near")
    for bad in ("causal", ConditionalContext):
        with pytest.raises(InputError, match=r"context.*ConditionalContext\(…\) or CausalContext"):
            Explainer(model, X, context=bad)


# -- how far hybrids stray --------------------------------------------------------------


def test_swapping_columns_that_belong_together_is_warned_of():
    X = two_columns()
    model = lambda rows: (rows["a"] + rows["c"] >= 3).astype(int)  # noqa: E731
    x = X.iloc[0]
    swapped = Explainer(model, X, references="all").plausibility(x)
    near = Explainer(
        model, X, references="all", context=ConditionalContext(n_drawn=30)
    ).plausibility(x)
    grouped = Explainer(model, X, references="all", groups={"both": ["a", "b"]}).plausibility(x)
    assert swapped.far > 0.3
    assert near.far == grouped.far == 0
    assert "hardly occur" in str(swapped) and "own rows 5% are." in str(near)
    assert swapped.n_hybrids == 1000


def test_plausibility_reads_any_kind_of_column():
    X, _ = datasets.loans(200)
    X = X.assign(home=X["home"].astype("category"), income=X["income"].where(X["age"] > 25))
    model = lambda rows: (rows["debt"] > 10).astype(int)  # noqa: E731
    p = Explainer(model, X).plausibility(X.iloc[0], n_hybrids=200)
    assert 0 <= p.far <= 1
    assert p == Explainer(model, X).plausibility(X.iloc[0], n_hybrids=200)
    with pytest.raises(InputError, match="n_hybrids: got 1; allowed: a whole number >= 2"):
        Explainer(model, X).plausibility(X.iloc[0], n_hybrids=1)


def test_plausibility_is_a_result_like_any_other():
    X = two_columns()
    model = lambda rows: (rows["a"] + rows["c"] >= 3).astype(int)  # noqa: E731
    p = Explainer(model, X, references="all").plausibility(X.iloc[0], n_hybrids=np.int64(200))
    assert type(p).from_json(p.to_json()) == p == pickle.loads(pickle.dumps(p))
    validate(json.loads(p.to_json()), result_schema(Plausibility))
    assert hash(p) == hash(Plausibility(p.far, 200, "values swapped"))
    with pytest.raises(FrozenInstanceError):
        p.far = 0.0
    share = f"{p.far:.0%}"
    assert (
        repr(p) == f"<Plausibility: {share} of 200 hybrids (values swapped) are far from the data>"
    )
    assert p.to_frame().to_dict("records") == [
        {"far": p.far, "n_hybrids": 200, "context": "values swapped"}
    ]
    for shown in (str(p), p.to_html(), p._repr_html_()):
        assert share in shown and "rows of the data" in shown
    with pytest.raises(InputError, match="kind: got 'barcode'; allowed: 'measures'"):
        p.plot("barcode")


@pytest.mark.parametrize("bad", [0, 1, 10**9, True, "many", 2.5, np.array([3, 4])])
def test_bad_numbers_of_hybrids(loans, bad):
    model, X = loans
    with pytest.raises(InputError, match=r"n_hybrids: got .*; allowed: a whole number >= 2"):
        Explainer(model, X).plausibility(X.iloc[0], n_hybrids=bad)


def test_of_data_too_large_to_compare_the_same_sample_serves_in_any_order(monkeypatch):
    """The work is bounded: rows of data × hybrids × columns, whatever the data's size."""
    compared = []

    def counted(some, others, metric):
        compared.append(len(some) * len(others) * some.shape[1])
        return cdist(some, others, metric)

    monkeypatch.setattr("scipy.spatial.distance.cdist", counted)
    monkeypatch.setattr("suffice.context.conditional._COMPARISONS", 10**6)
    monkeypatch.setattr("suffice.context.conditional._FEWEST_ROWS", 50)
    X = two_columns(4000).assign(d=[*"wxyz"] * 1000)
    model = lambda rows: (rows["a"] + rows["c"] >= 3).astype(int)  # noqa: E731
    found = [
        Explainer(model, data, references="all").plausibility(X.iloc[0], n_hybrids=100)
        for data in (X, X.sample(frac=1, random_state=1))
    ]
    assert found[0] == found[1]
    assert found[0].far > 0.3
    assert sum(compared) <= 2 * 10**6


def test_the_order_of_the_datas_rows_does_not_matter():
    X = two_columns(1500)
    model = lambda rows: (rows["a"] + rows["c"] >= 3).astype(int)  # noqa: E731
    found = {
        Explainer(model, data, references="all").plausibility(X.iloc[0], n_hybrids=100)
        for data in (X, X.iloc[::-1], X.sample(frac=1, random_state=1))
    }
    assert len(found) == 1


def test_identical_rows_are_not_far_from_each_other():
    X = pd.DataFrame({"a": [1.0] * 30 + [2.0], "b": ["u"] * 31})
    explainer = Explainer(lambda rows: (rows["a"] > 1.5).astype(int), X)
    assert explainer.plausibility(X.iloc[0], n_hybrids=50).far == 0


def test_the_swap_context_is_a_context_like_the_others(loans):
    model, X = loans
    x = X.iloc[8]
    plain, swapped = Explainer(model, X), Explainer(model, X, context=SwapContext())
    assert swapped.explain(x) == plain.explain(x)
    assert swapped.plausibility(x) == plain.plausibility(x)
    assert swapped.recourse(x) == plain.recourse(x)
    assert swapped.explain(x, search="pruned") == plain.explain(x, search="pruned")
    assert pickle.loads(pickle.dumps(SwapContext())) == SwapContext()


def test_the_swap_context_says_where_its_values_come_from():
    pool = as_table(np.arange(6).reshape(3, 2) % VALUES)
    context = SwapHybrids(pool, make_players(pool))
    assert context.donors(np.ones((2, 2), dtype=bool)).tolist() == [[1, 2], [1, 2]]


def test_what_a_sampler_raises_is_reported_as_its_own():
    def broken(x, held, n, rng):
        raise KeyError("age")

    context = ConditionalContext(n_drawn=5, sampler=broken)
    explainer = Explainer(lambda rows: rows[:, 0] > 0.5, np.eye(3), context=context)
    with pytest.raises(InputError, match="sampler: got a function that raised KeyError: 'age'"):
        explainer.explain([1.0, 0.0, 0.0])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_process_forked_while_a_thread_computes_codes_can_compute_others():
    """Until Python 3.12 one lock of a cached property is that of all instances."""
    entered, release = Event(), Event()

    class Waiting:
        def codes(self):
            entered.set()
            release.wait(60)

    class Ready:
        def codes(self):
            return np.zeros((1, 1), dtype=int)

    thread = Thread(target=lambda: References(Waiting()).codes)
    thread.start()
    assert entered.wait(60)
    child = multiprocessing.get_context("fork").Process(target=lambda: References(Ready()).codes)
    try:
        child.start()
        child.join(30)
        assert child.exitcode == 0
    finally:
        child.kill()
        release.set()
        thread.join()
