"""Budgets, time limits and size limits are obeyed and reported."""

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from suffice import Explainer, Explanation, InputError, NotVisitedError
from suffice.search import Limits, Question, Stop, exhaustive_search
from suffice.search.limits import EXHAUSTIVE_PLAYERS, HYBRIDS_PER_ROW
from tests.fakes import FunctionEvaluator
from tests.random_problems import (
    has_both_outcomes,
    minimal_by_definition,
    problems,
    subsets,
    thresholds,
)


class Counting:
    """A model that counts the rows it is asked about."""

    def __init__(self):
        self.rows = 0
        self.largest = 0

    def __call__(self, rows):
        self.rows += len(rows)
        self.largest = max(self.largest, len(rows))
        return (rows.sum(axis=1) > rows.shape[1] / 2).astype(int)


def wide(d, n=40, seed=0):
    """Numbers, so that hardly two hybrids are the same row."""
    return np.random.default_rng(seed).random((n, d))


@given(problems(), thresholds, st.integers(1, 3))
def test_a_bounded_search_is_right_about_what_it_searched(world, tau, max_size):
    assume(has_both_outcomes(world))
    e = world.explainer().explain(world.x, tau=tau, max_size=max_size)
    n = len(world.references)
    for view, count in ((e.keep, world.keeps), (e.flip, world.flips)):
        share = {s: count(s) / n for s in subsets(world.d)}
        true = {tuple(f"x{j}" for j in s) for s in minimal_by_definition(share, tau)}
        assert {f.features for f in view.factors} == {f for f in true if len(f) <= max_size}
    assert e.complete == (max_size >= world.d)
    assert (e.stopped is None) == (max_size >= world.d)
    assert Explanation.from_json(e.to_json()) == e


@given(problems(), thresholds, st.integers(2, 60))
def test_a_budget_is_never_exceeded_and_never_misleads(world, tau, budget):
    assume(has_both_outcomes(world) and budget > 2 * len(world.references))
    e = world.explainer().explain(world.x, tau=tau, budget=budget, search="exhaustive")
    assert e.provenance.rows_predicted <= budget
    full = world.explainer().explain(world.x, tau=tau)
    for part, whole in ((e.keep, full.keep), (e.flip, full.flip)):
        minimal = {f.features for f in whole.factors}
        assert {f.features for f in part.factors if f.proof != "none"} <= minimal
        for factor in part.factors:  # one that nothing proves minimal has a minimal set inside
            assert any(set(inside) <= set(factor.features) for inside in minimal)
        size = part.tally.exhaustive_size
        assert {f.features for f in whole.factors if f.size <= size} <= {
            f.features for f in part.factors
        }
    assert e.complete == (e.unvisited == 0)
    assert (e.stopped is None) == e.complete


def test_a_budget_counts_what_the_model_predicts():
    model = Counting()
    data = wide(12)
    explainer = Explainer(model, data)
    before = model.rows
    e = explainer.explain(data[0], budget=5000)
    # The input's own prediction is one of the rows.
    assert model.rows - before == e.provenance.rows_predicted <= 5000
    assert str(e.stopped) == "budget=5000 model rows"
    assert not e.complete
    assert 0 < e.unvisited < 2**12
    low, high = e.keep.necessity_interval
    assert low <= e.keep.necessity <= high


def test_memory_is_bounded_by_the_batch():
    model = Counting()
    data = wide(16)
    e = Explainer(model, data).explain(data[0], search="exhaustive")
    assert e.complete
    assert model.largest * 16 <= 1 << 22
    assert e.provenance.hybrids == e.provenance.n_references << 16


def test_many_features_need_a_bound_and_work_with_one():
    d = EXHAUSTIVE_PLAYERS + 40
    data = wide(d, n=12)
    data[:, 3] = np.arange(12) % 2

    def model(rows):
        return rows[:, 3].round().astype(int)

    explainer = Explainer(model, data)
    with pytest.raises(InputError, match=rf"{d} features, so 2\^{d} subsets.*max_size.*groups"):
        explainer.explain(data[0], search="exhaustive")
    for bound in ({"max_size": 2}, {"budget": 4000}):
        e = explainer.explain(data[0], search="exhaustive", **bound)
        assert [f.features for f in e.keep.factors] == [("x3",)]
        assert [f.features for f in e.flip.factors] == [("x3",)]
        assert not e.complete
        assert e.keep.necessity > 0.99
        assert np.isclose(e.keep.necessity_of("x0"), 0.5, atol=0.1)
        assert e.keep.necessity_of("x0", upward_closure=False) == 0.0
        assert Explanation.from_json(e.to_json()) == e


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        ({"max_size": 0}, "max_size: got 0; allowed: None or a whole number >= 1"),
        ({"max_size": 1.5}, "max_size: got 1.5"),
        ({"budget": -5}, "budget: got -5; allowed: None or a whole number >= 1"),
        ({"budget": "100"}, "budget: got '100'"),
        ({"budget": float("inf")}, "budget: got inf"),
        (
            {"budget": 3},
            "budget: got 3 rows; allowed: at least 49: 1 set per view on each of 24 references, .*"
            "n_references",
        ),
        ({"time_limit": "soon"}, "time_limit: got 'soon'; allowed: None or a positive number"),
        ({"time_limit": 0}, "time_limit: got 0"),
        ({"time_limit": float("inf")}, "time_limit: got inf"),
        ({"time_limit": 10**400}, "time_limit: got 1000"),
        ({"time_limit": True}, "time_limit: got True"),
        ({"budget": True}, "budget: got True"),
        ({"max_size": np.array([2, 3])}, "max_size: got array"),
        ({"progress": "yes"}, "progress: got 'yes'; allowed: None, True or False"),
    ],
)
def test_limits_that_cannot_be_meant(limit, message):
    data = wide(4)
    with pytest.raises(InputError, match=message):
        Explainer(Counting(), data).explain(data[0], **limit)


def test_the_smallest_budget_still_answers_in_both_views():
    data = wide(6)
    explainer = Explainer(Counting(), data)
    n = explainer.explain(data[0]).provenance.n_references
    with pytest.raises(InputError, match=f"at least {2 * n + 1}: .* references, and 1 before"):
        explainer.explain(data[0], budget=2 * n, search="exhaustive")
    e = explainer.explain(data[0], budget=2 * n + 1, search="exhaustive")
    assert not e.complete
    assert e.provenance.rows_predicted <= 2 * n + 1
    assert e.keep.tally.exhaustive_size == e.flip.tally.exhaustive_size == 0
    assert e.keep.necessity is None
    assert e.keep.necessity_interval is None
    assert e.keep.everything.sufficiency == 1.0
    assert "Necessity was not estimated." in str(e)


@pytest.mark.parametrize("search", ["auto", "exhaustive", "pruned", "greedy", "bounds"])
@pytest.mark.parametrize("budget", [170, 1100, 5000])
def test_views_have_a_verified_set_however_small_the_budget(search, budget):
    data = np.random.default_rng(0).random((150, 14))
    linear = LogisticRegression().fit(data, data @ np.linspace(1, 2, 14) > 10.5)
    for engine in ("auto", "blackbox"):
        if search == "bounds" and (engine == "blackbox" or budget < 1024):
            continue  # bounds are an engine's, and engines need a budget for their checks
        explainer = Explainer(linear, data, n_references=40, engine=engine)
        e = explainer.explain(data[0], search=search, budget=budget)
        assert e.provenance.rows_predicted <= budget
        assert e.keep.factors and e.flip.factors
        assert all(f.sufficiency >= 0.9 for view in (e.keep, e.flip) for f in view.factors)
        assert Explanation.from_json(e.to_json()) == e


@pytest.mark.parametrize("limit", [{"budget": 200}, {"time_limit": 1e-9}])
@pytest.mark.parametrize("search", ["exhaustive", "pruned", "greedy"])
def test_a_set_that_was_not_made_smaller_is_not_said_to_be_minimal(search, limit):
    data = np.random.default_rng(0).normal(size=(60, 10))
    explainer = Explainer(lambda rows: (rows.sum(axis=1) > 0).astype(int), data)
    assert explainer.explain(data[0]).keep.factors[0].size < 10
    said = one_line(explainer.explain(data[0], search=search, tau=1.0, **limit))
    if search != "greedy" or "time_limit" in limit:
        assert "No smaller set was found that keeps “1” in all cases, only all 10 feat" in said
    assert "no smaller set keeps" not in said


# -- limits that bound though nothing has to be asked ------------------------------------------------


def first_two(rows):
    return (rows[:, 0] + rows[:, 1] > 0).astype(int)


def test_a_budget_bounds_hybrids_that_are_known_already():
    """Forty references, each unlike the input in one column: 41 distinct rows make 2^40 sets."""
    explainer = Explainer(first_two, np.eye(40), references="all", outcome=0)
    e = explainer.explain(np.zeros(40), budget=100, search="exhaustive")
    assert e.stopped == Stop("hybrids", 100)
    assert e.provenance.rows_predicted <= 100
    assert e.provenance.hybrids <= 100 * HYBRIDS_PER_ROW
    assert "stopped by budget=100 model rows, at most 1,000 hybrids for each" in one_line(e)


def test_a_budget_bounds_an_engine_that_need_not_ask():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 30))
    model = LogisticRegression().fit(X, (X[:, :5].sum(axis=1) > 0).astype(int))
    e = Explainer(model, X, n_references=20).explain(X[0], budget=1024, search="exhaustive")
    assert e.provenance.evaluator == "additive"
    assert e.stopped == Stop("hybrids", 1024)
    assert e.provenance.hybrids <= 1024 * HYBRIDS_PER_ROW
    assert not e.complete


def test_a_budget_bounds_sets_that_are_decided_without_asking():
    explainer = Explainer(first_two, np.eye(40), references="all", outcome=0)
    e = explainer.explain(np.zeros(40), search="pruned", tau=1.0, budget=81)
    assert e.stopped.limit == 81 and not e.complete
    assert e.provenance.rows_predicted <= 42
    assert [f.features for f in e.keep.factors] == [("x0", "x1")]


def test_where_no_set_can_pass_nothing_is_predicted_and_the_reason_is_given():
    X = np.random.default_rng(0).normal(size=(10, 40))
    e = Explainer(lambda a: (a[:, 0] > 0).astype(int), X).explain(
        X[0], search="pruned", alpha=0.05, budget=3000
    )
    n = e.provenance.n_references
    assert e.complete and e.provenance.rows_predicted == 1  # the input
    assert f"with {n} references not even {n} of {n} would be enough" in one_line(e)
    assert Explanation.from_json(e.to_json()) == e


def test_a_pruned_search_that_was_stopped_says_what_it_decided():
    X = np.random.default_rng(0).normal(size=(10, 40))
    e = Explainer(lambda a: (a.sum(axis=1) > 0).astype(int), X).explain(
        X[0], search="pruned", tau=1.0, budget=3000
    )
    assert e.keep_profile.findings.decided_size == 1
    said = one_line(e)
    assert "No single feature reaches τ = 1: each was decided." in said
    assert "stopped by budget=3000 model rows. Every set of up to 1 feature was decided" in said
    assert "No set of features was evaluated" not in said


def test_limits_are_reported_as_they_were_given_where_a_part_had_a_share():
    data = wide(60, n=80)
    e = Explainer(Counting(), data).explain(data[0], search="greedy", budget=2000)
    assert str(e.stopped) == "budget=2000 model rows"
    assert e.provenance.rows_predicted <= 2000


def test_a_level_that_was_visited_in_part_takes_the_room_of_what_was_visited():
    """Of 150 features there are 551,300 sets of three: two views of a few thousand of them."""
    d, n = 150, 3
    evaluator = FunctionEvaluator(lambda rows: rows[:, 7].astype(int), np.ones(d), np.zeros((n, d)))
    budget = 3 * (2 + 2 * d + 2 * 11_175 + 5000)  # all up to pairs, and a few of three
    sweep = exhaustive_search(evaluator, d, Question(limits=Limits(budget=budget)))
    keep, flip = sweep.tally, sweep.tally.other_view()
    assert keep.exhaustive_size == flip.exhaustive_size == 2
    for tally in (keep, flip):
        assert sum(map(len, tally.levels)) == tally.visited == keep.visited < 30_000
    assert 0 < len(keep.levels[3]) < 10_000 or 0 < len(flip.levels[3]) < 10_000
    assert flip.other_view().hits((7,)) == keep.hits((7,)) == n


@given(problems(), st.integers(2, 40))
def test_both_views_count_the_same_runs(world, budget):
    """Replacing a set is holding its complement, wherever a level was cut."""
    assume(has_both_outcomes(world) and budget > 2 * len(world.references))
    e = world.explainer().explain(world.x, budget=budget, search="exhaustive")
    keep, flip = e.keep.tally, e.flip.tally
    everyone = set(range(world.d))
    for s in subsets(world.d):
        rest = tuple(sorted(everyone - set(s)))
        try:
            hits = keep.hits(s)
        except NotVisitedError:
            with pytest.raises(NotVisitedError):
                flip.hits(rest)
        else:
            assert hits == world.keeps(s) and flip.hits(rest) == world.flips(rest) == keep.n - hits


@pytest.mark.parametrize(
    "question",
    [
        {"max_size": 1},
        {"budget": 3000},
        {"search": "exhaustive", "budget": 3000},
        {"search": "greedy", "budget": 3000},
        {"search": "pruned", "budget": 3000},
        {"search": "pruned", "budget": 3000, "tau": 0.5, "alpha": 0.2, "adjust": "bonferroni"},
    ],
)
def test_a_thousand_features_and_more_are_searched_printed_and_stored(question):
    data = np.random.default_rng(0).normal(size=(12, 1100))
    explainer = Explainer(lambda rows: (rows[:, 0] > 0).astype(int), data, n_references=3)
    e = explainer.explain(data[0], **question)
    assert "12 rows × 1,100 columns" in one_line(e)
    assert Explanation.from_json(e.to_json()) == e
    assert "1,100 columns" in e.to_html()
    if "max_size" in question or question.get("search") == "exhaustive":
        assert "of 1.4e+331 subsets were never evaluated" in one_line(e)


def one_line(e):
    return " ".join(str(e).split())


@pytest.mark.parametrize(
    ("search", "budget", "times"),
    [("auto", None, 10), ("auto", 400, 10), ("auto", 1100, 3), ("greedy", 1100, 2)],
)
def test_every_row_that_a_forest_predicts_is_counted(monkeypatch, search, budget, times):
    """Also those of the first inputs, whose class shares are compared with the engine's."""
    rows = []
    predict_proba = RandomForestClassifier.predict_proba
    monkeypatch.setattr(
        RandomForestClassifier,
        "predict_proba",
        lambda self, X: (rows.append(len(X)), predict_proba(self, X))[1],
    )
    data = np.random.default_rng(0).integers(0, 4, (90, 14)).astype(float)
    model = RandomForestClassifier(5, random_state=0).fit(data, data[:, :3].sum(axis=1) > 4)
    explainer, texts = Explainer(model, data, n_references=9), []
    for _ in range(times):
        rows.clear()
        e = explainer.explain(data[0], search=search, budget=budget)
        assert e.provenance.rows_predicted == sum(rows)
        assert budget is None or sum(rows) <= budget
        texts.append([[f.features for f in view] for view in (e.keep, e.flip)])
    assert all(text == texts[0] for text in texts), "whatever was explained before"
