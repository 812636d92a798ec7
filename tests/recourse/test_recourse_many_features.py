"""Recourse for many features: an answer within its time, of verified options, and what was not done."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings, strategies as st
from sklearn.linear_model import LogisticRegression

from suffice import Explainer, InputError
from suffice.context.cost import change_costs
from suffice.engines.work import UNKNOWN_MODEL
from suffice.recourse import RecourseRequest, find_recourse
from suffice.recourse.candidates import Candidate, make_actionable_features, make_set_table
from suffice.recourse.large_sets import LargeSetSearch, minimal_candidates, select_with_large_sets
from suffice.recourse.solver import RecourseSolver
from suffice.search.limits import DEFAULT_WORK, LimitKeeper
from tests.effort import examples
from tests.fakes import FakeClock, limits_timed_by
from tests.random_problems import has_both_outcomes
from tests.recourse.recourse_oracle import (
    feature_numbers,
    options_by_definition,
    recourse_cases,
    resulting_row,
)


class Clocked:
    """A model whose every row takes some of a clock's time."""

    def __init__(self, model, clock, seconds):
        self.model, self.clock, self.seconds = model, clock, seconds
        self.largest = 0

    def __call__(self, rows):
        self.largest = max(self.largest, len(rows))
        self.clock.now += self.seconds * len(rows)
        return self.model(rows)


def asked(model, data, x, seconds, **given):
    """The answer, and the time it took on a clock that moves only when the model is asked."""
    clock = FakeClock()
    explainer = Explainer(Clocked(model, clock, seconds), data)
    decision = explainer.decide(x)
    decision.target.model.seconds_per_row = seconds
    clock.now = 0.0
    if isinstance(model, Clocked):
        model.largest = 0
    with limits_timed_by(clock):
        return find_recourse(decision, RecourseRequest(**given), started=0.0), clock.now


# -- valid, and complete where it says so --------------------------------------------------


def check_valid(r, world, asked_for):
    """Every option is a change that works, keeps to the constraints, and costs what it says."""
    sets = [set(feature_numbers(o)) for o in r]
    for option in r:
        row = resulting_row(world, option)
        assert world.f(row) != world.f(world.x)
        assert asked_for.row_ok(world, row)
        assert option.cost == pytest.approx(float(asked_for.cost(world, row)))
        assert not any(
            inside < set(feature_numbers(option)) and other.cost <= option.cost
            for inside, other in zip(sets, r, strict=True)
        )


@settings(max_examples=examples(25))
@given(recourse_cases(), st.sampled_from([3, 10, 40, 200, 1000]), st.booleans())
def test_a_search_that_is_ended_gives_valid_options_and_all_of_them_if_it_says_so(
    case, rows, by_rows
):
    world, asked_for = case
    assume(has_both_outcomes(world))
    truth = options_by_definition(world, asked_for)
    if by_rows:
        r = world.explainer().recourse(world.x, budget=rows, **asked_for.arguments())
    else:
        clock = FakeClock()
        explainer = world.explainer()
        decision = explainer.decide(np.array(world.x))
        predict = decision.target.model.predict

        def slow(table):
            clock.now += 1e-3 * len(table)
            return predict(table)

        decision.target.model.predict = slow
        decision.target.model.seconds_per_row = 1e-3
        request = RecourseRequest(time_limit=1e-3 * rows, **asked_for.arguments())
        with limits_timed_by(clock):
            r = find_recourse(decision, request, started=0.0)
    check_valid(r, world, asked_for)
    if r.complete:
        assert {feature_numbers(o): (o.n, o.hits) for o in r} == {
            t: (q.n, q.hits) for t, q in truth.items()
        }
    elif asked_for.tau is not None:
        assert all(o.sufficiency >= asked_for.tau for o in r)


def widely(world, asked_for, size):
    """What is found with all sets of up to `size` swept, and the large ones from references."""
    arguments = asked_for.arguments()
    request = RecourseRequest(**arguments)
    decision = world.explainer().decide(np.array(world.x))
    constraints = request.constraints(decision)
    solver, keeper = RecourseSolver(decision, request), LimitKeeper()
    movable = solver._movable_players(constraints, keeper)
    if not movable:
        return None
    features = make_actionable_features(decision, movable, keeper, bounded=True)
    sweep = features.sweep(size, keeper, None)
    large = LargeSetSearch(features, constraints, solver.costs[:, list(movable)], keeper)
    large.search()
    table = make_set_table(constraints, features, sweep, solver.costs, True, keeper)
    numbers = [int(name[1:]) for name in features.players.names]
    return large, numbers, select_with_large_sets(table, large, None)


@settings(max_examples=examples(40))
@given(recourse_cases(max_d=5), st.integers(1, 2))
def test_with_time_enough_large_options_are_those_of_the_definition(case, size):
    world, asked_for = case
    assume(has_both_outcomes(world))
    found = widely(world, asked_for, size)
    truth = options_by_definition(world, asked_for)
    if found is None:
        assert truth == {}
        return
    _, names, selected = found
    for option in selected.candidates:
        members = tuple(names[m] for m in option.members)
        assert members in truth
        assert option.cost == pytest.approx(float(truth[members].cost))
        assert (option.n, option.hits) == (truth[members].n, truth[members].hits)
    small = {t for t in truth if len(t) <= size}
    assert small <= {tuple(names[m] for m in option.members) for option in selected.candidates}


@settings(max_examples=examples(25))
@given(recourse_cases(max_d=5))
def test_no_feature_of_a_shrunk_change_can_be_left_out(case):
    world, asked_for = case
    assume(has_both_outcomes(world))
    asked_for = replace(asked_for, tau=None)
    found = widely(world, asked_for, 1)
    assume(found is not None)
    large, names, _ = found
    rows = decision_rows(world)
    for change in large.known.values():
        reference = rows[change.rows.max() - 1]

        def works(members, reference=reference):
            row = list(world.x)
            for m in members:
                row[names[m]] = int(reference[names[m]])
            return world.f(row) != world.f(world.x) and asked_for.row_ok(world, row)

        members = set(change.members)
        assert works(members)
        assert not any(works(members - {m}) for m in members)


def decision_rows(world):
    """The references in the order in which they are numbered."""
    return np.asarray(world.explainer().decide(np.array(world.x)).references.table.native)


# -- many columns --------------------------------------------------------------------------


def both(rows):
    """Two pairs of features do it, or five together."""
    rows = np.asarray(rows)
    five = rows[:, 8:13].all(axis=1)
    return ((rows[:, 3] & rows[:, 7]) | (rows[:, 1] & rows[:, 20]) | five).astype(int)


@pytest.mark.parametrize("columns", [30, 200])
def test_many_features_are_answered_with_a_fixed_amount_of_work(columns):
    data = np.random.default_rng(2).integers(0, 2, (60, columns))
    r, took = asked(both, data, np.zeros(columns, dtype=int), 1e-4)
    slower, took_slower = asked(both, data, np.zeros(columns, dtype=int), 1.0)
    assert slower == r and took_slower == pytest.approx(1e4 * took)
    assert took / 1e-4 * UNKNOWN_MODEL <= DEFAULT_WORK
    assert {("x3", "x7"), ("x1", "x20")} <= {o.features for o in r}
    assert ("x8", "x9", "x10", "x11", "x12") in {o.features for o in r}
    assert not r.complete
    assert "the work that a search may take where no limit is given, before all refer" in r.reason
    assert "The model verified every change" in str(r)
    assert (
        "To search more: recourse(x, time_limit=60); Explainer(model, data, groups='auto')"
        in r.reason
    )
    for option in r:
        row = np.zeros((1, columns), dtype=int)
        for name, value in option.values.items():
            row[0, int(name[1:])] = value
        assert both(row) == 1


def test_a_short_time_limit_does_not_wait_for_compiled_kernels(monkeypatch):
    from sklearn.ensemble import RandomForestClassifier

    data = np.random.default_rng(0).normal(size=(150, 30)).round(1)
    model = RandomForestClassifier(3, random_state=0).fit(data, data[:, :9].sum(axis=1) > 0)
    explainer = Explainer(model, data)
    monkeypatch.setattr("suffice.engines.trees.tree_engine.numba_is_loaded", lambda: False)
    monkeypatch.setattr("suffice.engines.trees.tree_engine.load_numba", pytest.fail)
    r = explainer.recourse(data[int(np.flatnonzero(~model.predict(data))[0])], time_limit=1.0)
    assert r.feasible and all(option.hits is not None for option in r)


def test_an_engine_is_made_once_for_a_question_that_takes_long(monkeypatch):
    data = np.random.default_rng(0).normal(size=(60, 26)).round(1)
    model = LogisticRegression().fit(data, data.sum(axis=1) > 0)
    explainer, made = Explainer(model, data, n_references=5), []

    def counted(decision, numbers, *more):
        made.append(numbers)
        return make_actionable_features(decision, numbers, *more)

    monkeypatch.setattr("suffice.recourse.solver.make_actionable_features", counted)
    monkeypatch.setattr("suffice.recourse.solver.DEFAULT_WORK", 1e7)
    r = explainer.recourse(data[int(np.flatnonzero(~model.predict(data))[0])])
    assert r.feasible and not r.complete
    assert len(made) == len(set(made)) > 0


@settings(max_examples=examples(60))
@given(
    st.lists(st.tuples(st.sets(st.integers(0, 4), min_size=1), st.integers(1, 4)), max_size=12),
    st.integers(1, 3),
)
def test_minimal_candidates_are_those_without_a_cheaper_subset(found, at_once):
    rows = np.zeros(5, dtype=np.int64)
    candidates = [Candidate(tuple(sorted(s)), float(cost), rows) for s, cost in found]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("suffice.recourse.large_sets._SETS_COMPARED", at_once)
        kept = minimal_candidates(candidates, 5)

    def is_minimal(one):
        inside = [c for c in candidates if set(c.members) < set(one.members)]
        same = [c for c in candidates if c.members == one.members]
        return one.cost == min(c.cost for c in same) and all(c.cost > one.cost for c in inside)

    wanted = {(c.members, c.cost) for c in candidates if is_minimal(c)}
    assert {(c.members, c.cost) for c in kept} == wanted and len(kept) == len(wanted)
    assert [c.cost for c in kept] == sorted(c.cost for c in kept)


def test_a_candidate_is_not_cheaper_than_its_subset_by_rounding():
    rows = np.zeros(2, dtype=np.int64)
    alone = Candidate((0,), 14 / 3, rows)
    both = Candidate((0, 1), 8 / 3 + 1 + 1, rows)
    assert both.cost < alone.cost
    assert minimal_candidates([both, alone], 2) == [alone]


def test_a_slow_model_still_gives_an_option():
    data = np.random.default_rng(2).integers(0, 2, (60, 200))
    r, took = asked(both, data, np.zeros(200, dtype=int), 0.05, time_limit=10)
    assert r.feasible and not r.complete and took <= 11.0


@pytest.mark.parametrize("tau", [None, 0.2])
def test_many_features_under_constraints(tau):
    data = np.random.default_rng(2).integers(0, 2, (60, 40))
    given_ = {"immutable": ["x3", "x1"], "tau": tau, "max_cost": 50.0}
    r, took = asked(both, data, np.zeros(40, dtype=int), 1e-4, **given_)
    found = {o.features for o in r}
    assert found == (set() if tau else {("x8", "x9", "x10", "x11", "x12")})
    assert took / 1e-4 * UNKNOWN_MODEL <= 1.5 * DEFAULT_WORK
    if tau:
        assert "x3 is immutable: if it could change, {x3, x7} at cost" in r.reason


def test_a_grid_of_too_many_features_is_an_error_that_names_actionable():
    data = np.random.default_rng(2).integers(0, 3, (60, 40))
    explainer = Explainer(lambda rows: (rows[:, 2] + rows[:, 5] >= 3).astype(int), data)
    x = np.zeros(40, dtype=int)
    message = r"values: got 'grid' with 40 features .* at most 24 .*or 'observed'.*actionable="
    with pytest.raises(InputError, match=message):
        explainer.recourse(x, values="grid")
    r = explainer.recourse(x, values="grid", actionable=["x2", "x5", "x7"])
    assert r.best.features == ("x2", "x5") and sum(r.best.values.values()) == 3 and r.complete


def test_relaxing_to_a_grid_of_too_many_features_is_no_error():
    """The features named do not suffice, and without that constraint the grid is too wide."""
    data = np.random.default_rng(2).integers(0, 3, (60, 40))
    explainer = Explainer(lambda rows: (rows[:, 2] + rows[:, 5] >= 3).astype(int), data)
    x = np.zeros(40, dtype=int)
    r = explainer.recourse(x, values="grid", actionable=["x7"], max_cost=50.0)
    assert not r.feasible and r.complete
    assert "No option was found without the constraints either, as far as was searched." in r.reason


def test_sizes_with_many_sets_are_used_if_all_their_sets_were_evaluated(monkeypatch):
    monkeypatch.setattr("suffice.recourse.candidates._MOST_SETS_OF_PARTIAL_SIZE", 100)
    rng = np.random.default_rng(0)
    data = rng.normal(size=(40, 9)).round(1)
    explainer = Explainer(lambda rows: (np.asarray(rows).sum(axis=1) > 0).astype(int), data)
    x = data[int(np.argmin(data.sum(axis=1)))]
    r = explainer.recourse(x, max_size=4)  # 126 sets of four features
    assert r.complete and r.reason is None
    assert max(option.size for option in r) == 4
    monkeypatch.undo()
    assert explainer.recourse(x, max_size=4) == r


def test_features_that_no_reference_changes_are_left_out():
    data = np.zeros((60, 200), dtype=int)
    data[:, :8] = np.random.default_rng(2).integers(0, 2, (60, 8))
    explainer = Explainer(lambda rows: (rows[:, 3] & rows[:, 7]).astype(int), data)
    r = explainer.recourse(np.zeros(200, dtype=int))
    few = Explainer(lambda rows: (rows[:, 3] & rows[:, 7]).astype(int), data[:, :8])
    assert r.complete and r == few.recourse(np.zeros(8, dtype=int))


def test_features_that_the_model_never_reads_are_left_out():
    from sklearn.tree import DecisionTreeClassifier

    data = np.random.default_rng(0).normal(size=(200, 60)).round(1)
    labels = (data[:, 4] + data[:, 9] > 0).astype(int)
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(data, labels)
    read = sorted({int(j) for j in model.tree_.feature if j >= 0})
    x = data[int(np.flatnonzero(model.predict(data) == 0)[0])]
    explainer = Explainer(model, data)
    r = explainer.recourse(x)
    assert r.complete and r.feasible
    named = explainer.recourse(x, actionable=[f"x{j}" for j in read])
    assert r.options == named.options
    ruled = explainer.recourse(x, increasing=["x20"], max_size=2)
    assert ruled.feasible


# -- time limits ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "columns"), [("observed", 6), ("observed", 30), ("grid", 6), ("grid", 20)]
)
@pytest.mark.parametrize("seconds", [1e-4, 1e-3, 5e-3, 20e-3])
def test_a_time_limit_is_kept_within_a_tenth_or_one_small_batch(values, columns, seconds):
    data = np.random.default_rng(0).normal(size=(50, columns)).round(1)

    def sums(rows):
        return (np.asarray(rows).sum(axis=1) > 0).astype(int)

    x = data[int(np.argmin(data.sum(axis=1)))]
    model = Clocked(sums, FakeClock(), 0.0)
    r, took = asked(model, data, x, seconds, values=values, time_limit=0.5)
    assert took <= 0.5 + max(0.05, model.largest * seconds)
    assert model.largest <= max(100, 0.1 / seconds)
    assert r.complete or "time_limit=0.5 s" in r.reason


def test_a_limit_is_reported_as_it_was_given():
    data = np.random.default_rng(0).integers(0, 2, (60, 30))
    for given_, told in (
        ({"time_limit": 20}, "Stopped by time_limit=20 s, which depends on the machine, before"),
        ({"budget": 5000}, "Stopped by budget=5000 model rows before"),
    ):
        r, _ = asked(both, data, np.zeros(30, dtype=int), 1e-3, **given_)
        assert told in r.reason and r.feasible


# -- under limits -----------------------------------------------------------------------------


def wide_case():
    """Return an explainer of a sum of 20 of 40 columns, its data, and a refused row."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 40)), columns=[f"c{i}" for i in range(40)])

    def model(rows):
        return np.where(rows.iloc[:, :20].sum(axis=1) > 0, "yes", "no")

    return Explainer(model, X), X[model(X) == "no"].iloc[0]


@pytest.mark.parametrize(
    "limits",
    [
        {"time_limit": 1e-9},
        {"time_limit": 1e-9, "tau": 0.9},
        {"time_limit": 0.3},
        {"budget": 60},
        {"budget": 1000},
    ],
)
def test_a_limit_never_hides_that_replacing_everything_works(limits):
    explainer, x = wide_case()
    found = explainer.recourse(x, **limits)
    assert found.feasible and not found.complete


@pytest.mark.parametrize("limits", [{"time_limit": 1e-9}, {"time_limit": 1.0}, {"budget": 3000}])
def test_options_under_a_limit_cost_the_least_of_their_set(limits):
    explainer, x = wide_case()
    found = explainer.recourse(x, **limits)
    decision = explainer.decide(x)
    costs = change_costs(decision.pool, decision.data, decision.players, decision.cost)
    assert found.options and "Costs are those of the first change" not in found.reason
    for option in found.options:
        at = [decision.players.names.index(name) for name in option.features]
        cheaper = np.flatnonzero(costs[:, at].sum(axis=1) < option.cost * (1 - 1e-9))
        rows = np.zeros((len(cheaper), 40), dtype=np.int64)
        rows[:, at] = 1 + cheaper[:, None]
        flips = decision.target(decision.pool.gather(rows)) != decision.y if len(rows) else []
        assert not np.any(flips)


def test_a_budget_too_small_to_count_says_that_costs_are_not_the_least():
    explainer, x = wide_case()
    found = explainer.recourse(x, budget=60)
    assert "Costs are those of the first change found" in found.reason
    assert all(option.hits is None for option in found.options)
