"""The default search: every set where that takes seconds, else the best in time, said beforehand."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from suffice import ConditionalContext, Explainer, Explanation, InputError, Plan
from suffice.context.players import association_matrix, duplicate_columns
from suffice.search import plan as planning
from suffice.search.limits import DEFAULT_WORK, EXHAUSTIVE_PLAYERS, Limits
from suffice.search.plan import Suggestion
from suffice.tables.conversion import as_table
from tests.fakes import fake_time


@pytest.fixture(scope="module")
def cancer():
    return load_breast_cancer(return_X_y=True, as_frame=True)


@pytest.fixture(scope="module")
def forest(cancer):
    X, y = cancer
    return Explainer(RandomForestClassifier(25, random_state=0).fit(X, y), X, n_references=60)


def few(n, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(40, n)), columns=[f"x{i}" for i in range(n)])
    return X, (X.x0 + X.x1 > 0).astype(int)


def black_box(rows):
    return (rows["x0"] + rows["x1"] > 0).to_numpy().astype(int)


def test_few_features_are_counted_exhaustively():
    X, _ = few(6)
    e = Explainer(black_box, X).explain(X.iloc[0])
    assert e.complete
    assert e.stopped is None
    assert e.provenance.plan.way == "exhaustive"
    assert e.provenance.plan.every_tau
    assert not e.provenance.plan.more


def test_the_first_call_on_a_wide_table_answers_and_says_what_it_did_not_do(
    forest, cancer, monkeypatch
):
    X, _ = cancer
    fake_time(monkeypatch, step=0.01)
    e = forest.explain(X.iloc[0], time_limit=4)
    assert len(e.keep) and len(e.flip)
    for view in (e.keep, e.flip):
        assert all(f.sufficiency >= e.tau for f in view)
    assert not e.complete
    plan = e.provenance.plan
    assert plan.way == "anytime"
    assert plan.limits == Limits(time_limit=4.0)
    assert plan.more and all(more.seconds > 0 for more in plan.more)
    assert Explanation.from_json(e.to_json()) == e


def test_a_plan_predicts_nothing_and_lists_what_would_give_more(forest, cancer):
    X, _ = cancer
    plan = forest.plan(X.iloc[0])
    assert isinstance(plan, Plan)
    assert (plan.way, plan.complete, plan.players) == ("anytime", False, 30)
    assert plan.limits == Limits(work=DEFAULT_WORK)
    assert plan.seconds == 10
    assert plan.more[0].arguments == {"groups": "auto"}
    assert plan.more[0].complete
    assert str(plan.more[0]) == "Explainer(model, data, groups='auto')"
    assert "groups='auto'" in str(plan)


def test_what_the_plan_recommends_is_what_happens(cancer):
    X, y = cancer
    model = RandomForestClassifier(10, random_state=0).fit(X, y)
    row = X.iloc[0]
    plan = Explainer(model, X, n_references=40).plan(row)
    grouped = next(more for more in plan.more if "groups" in more.arguments)
    e = Explainer(model, X, n_references=40, **grouped.arguments).explain(row)
    assert e.complete == grouped.complete


def test_a_time_limit_that_is_long_enough_changes_nothing():
    X, _ = few(6)
    explainer = Explainer(black_box, X)
    timed = explainer.explain(X.iloc[0], time_limit=600)
    assert timed.complete
    assert [f.features for f in timed.keep] == [
        f.features for f in explainer.explain(X.iloc[0]).keep
    ]


@pytest.mark.parametrize("columns", [25, 60, 200])
def test_many_features_of_any_model_are_no_error(columns):
    X, _ = few(columns)
    e = Explainer(black_box, X).explain(X.iloc[0], budget=20_000)
    assert {"x0", "x1"} >= set(e.keep[0].features)
    assert e.provenance.plan.way == "anytime"
    assert e.stopped is not None


def test_features_that_the_model_does_not_read_make_a_wide_table_small():
    X, y = few(60)
    model = RandomForestClassifier(3, max_depth=2, random_state=0).fit(X, y)
    read = {X.columns[j] for tree in model.estimators_ for j in tree.tree_.feature if j >= 0}
    e = Explainer(model, X, engine="trees").explain(X.iloc[0])
    assert e.complete
    assert {p.name for p in e.players} <= read
    assert len(e.players) + len(e.left_out) == 60


def test_an_exhaustive_search_is_refused_where_it_cannot_be_made():
    X, _ = few(31)
    allowed = f"at most {EXHAUSTIVE_PLAYERS} for an exhaustive search. Use search='auto'"
    with pytest.raises(InputError, match=allowed):
        Explainer(black_box, X).explain(X.iloc[0], search="exhaustive")


def test_small_sets_only_are_all_of_the_small_sets():
    X, _ = few(40)
    e = Explainer(black_box, X).explain(X.iloc[0], max_size=2)
    assert e.keep.tally.exhaustive_size == 2
    assert e.provenance.plan.way == "exhaustive"
    assert [more.arguments for more in e.provenance.plan.more] == [{"max_size": 3}]


def test_a_plan_does_not_depend_on_how_fast_the_model_is(monkeypatch):
    X, _ = few(12)
    clock = fake_time(monkeypatch)

    def dear(rows):
        clock.now += 2e-3 * len(rows)
        return black_box(rows)

    plans = [Explainer(model, X).plan(X.iloc[0]) for model in (dear, black_box)]
    assert plans[0] == plans[1]


def test_sentences_of_a_plan_claim_what_will_be_done():
    X, y = few(40)
    explainer = Explainer(black_box, X)
    linear = Explainer(LogisticRegression().fit(X, y), X)
    bounds = linear.plan(X.iloc[0], search="bounds").text
    greedy, small, tested, timed, rows, pruned, few_pruned, brief = (
        str(explainer.plan(X.iloc[0], **question).text)
        for question in (
            {"search": "greedy"},
            {"max_size": 2},
            {"alpha": 0.05, "adjust": "holm"},
            {"search": "pruned", "time_limit": 2},
            {"search": "pruned", "budget": 5000},
            {"search": "pruned", "max_size": 2},
            {"budget": 5000},
            {"search": "exhaustive", "time_limit": 0.01},
        )
    )
    assert "years" not in greedy + bounds
    assert greedy.startswith("small sets are counted, larger ones looked for from many starts")
    assert small.startswith("every set of up to 2 features is counted")
    assert tested == "sets are counted, the smallest first, within 10 s."
    assert timed == "sets are decided at this τ, the smallest first, within 2 s."
    assert rows == timed.replace("within 2 s", "with at most 5,000 model rows")
    assert pruned.startswith("every set of up to 2 features is decided at this τ, with few model")
    assert few_pruned == "the best sets that can be verified with at most 5,000 model rows."
    assert brief == "sets are counted, the smallest first, in under 0.1 s."
    assert "would be decided at one τ" in explainer.plan(X.iloc[0]).sheet.lead[0]


def test_a_search_that_cannot_be_made_has_no_plan():
    X, _ = few(6)
    plain = Explainer(black_box, X)
    near = Explainer(black_box, X, context=ConditionalContext())
    for explainer, search in ((plain, "bounds"), (near, "bounds"), (near, "pruned")):
        for ask in (explainer.plan, explainer.explain):
            with pytest.raises(InputError, match=f"search: got '{search}'; allowed: 'auto'"):
                ask(X.iloc[0], search=search)


def test_predicted_seconds_are_those_that_the_limits_allow():
    X, _ = few(40)
    explainer = Explainer(black_box, X)
    for limits in ({"max_size": 2}, {"budget": 5000}, {"time_limit": 2}):
        for search in ("exhaustive", "pruned", "auto"):
            assert explainer.plan(X.iloc[0], search=search, **limits).seconds <= 2


@pytest.mark.parametrize("references", [255, 256])
def test_hits_that_do_not_fit_in_memory_are_not_streamed_by_default(references, monkeypatch):
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(300, 26)))
    model = LogisticRegression().fit(X, np.arange(300) % 2)
    monkeypatch.setattr(planning, "_MOST_BYTES", 1 << 26)  # a byte for each set
    explainer = Explainer(model, X, references="all", n_references=references)
    way = explainer.plan(X.iloc[0], time_limit=3600).way
    assert way == ("streamed" if references == 255 else "anytime")


def test_a_plan_counts_the_memory_of_wide_references():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(4000, 200)))
    model = LogisticRegression().fit(X[:500], np.arange(500) % 2)
    explainer = Explainer(model, X, references="all", n_references=4000)
    plan = explainer.plan(X.iloc[0], max_size=1)
    again = Explainer(model, X, references="all", n_references=4000)
    tracemalloc.start()
    try:
        again.explain(X.iloc[0], max_size=1)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < plan.memory, peak


def test_copies_are_found():
    X, y = few(14)
    X["twin"] = 3 * X.x0 - 1
    X["mirror"] = -X.x1
    table = as_table(X)
    assert duplicate_columns(table, association_matrix(table)) == (("x0", "twin"), ("x1", "mirror"))
    kinds = as_table(
        pd.DataFrame({"a": list("xxyz") * 5, "b": list("ppqr") * 5, "n": [1, 1, 2, 3] * 5})
    )
    assert duplicate_columns(kinds, association_matrix(kinds)) == (("a", "b"),)
    wide = pd.concat([X, few(20, seed=1)[0].add_prefix("more ")], axis=1)
    model = LogisticRegression().fit(wide, y)
    plan = Explainer(model, wide).plan(wide.iloc[0])
    assert ("x0", "twin") in plan.copies
    assert "Copies of each other: x0, twin." in str(plan)


def test_calls_are_suggested_in_the_words_of_the_interface():
    more = Suggestion({"n_references": 50}, 8.0, complete=True)
    assert str(more) == "Explainer(model, data, n_references=50)"
    assert more.text({"n_references": "--n-references"}) == "--n-references 50"
    assert (
        str(Suggestion({"time_limit": 60.0}, 60.0, complete=False)) == "explain(x, time_limit=60)"
    )


def test_a_plan_is_stored_whole(forest, cancer):
    X, _ = cancer
    plan = forest.plan(X.iloc[0])
    assert Plan.from_json(plan.to_json()) == plan
    assert replace(plan, seconds=1.0) != plan
