"""Recourse for many features: an answer within its time, of verified options, and what was not done."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

from suffice import Explainer
from suffice.encodings.recourse import RecourseRequest, find_recourse
from suffice.encodings.recourse.actionable_sweep import find_actionable, sweep_actionable
from suffice.encodings.recourse.choose import find_candidates
from suffice.encodings.recourse.solve import Solver
from suffice.encodings.recourse.wide import choose_widely
from suffice.search.limits import LimitKeeper
from tests.effort import examples
from tests.plain import FakeClock
from tests.recourse_oracle import by_definition, cases, numbers, resulting_row
from tests.worlds import two_sided


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
    request = RecourseRequest(clock=clock, started=0.0, **given)
    return find_recourse(decision, request), clock.now


# -- valid, and complete where it says so --------------------------------------------------


def check_valid(r, world, asked_for):
    """Every option is a change that works, keeps to the constraints, and costs what it says."""
    sets = [set(numbers(o)) for o in r]
    for option in r:
        row = resulting_row(world, option)
        assert world.f(row) != world.f(world.x)
        assert asked_for.row_ok(world, row)
        assert option.cost == pytest.approx(float(asked_for.cost(world, row)))
        assert not any(
            inside < set(numbers(option)) and other.cost <= option.cost
            for inside, other in zip(sets, r, strict=True)
        )


@settings(max_examples=examples(25))
@given(cases(), st.sampled_from([3, 10, 40, 200, 1000]), st.booleans())
def test_a_search_that_is_ended_gives_valid_options_and_all_of_them_if_it_says_so(
    case, rows, by_rows
):
    world, asked_for = case
    assume(two_sided(world))
    truth = by_definition(world, asked_for)
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
        given_ = {"time_limit": 1e-3 * rows, "clock": clock, "started": 0.0}
        r = find_recourse(decision, RecourseRequest(**given_, **asked_for.arguments()))
    check_valid(r, world, asked_for)
    if r.complete:
        assert {numbers(o): (o.n, o.hits) for o in r} == {
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
    solver, keeper = Solver(decision, request), LimitKeeper()
    free = solver._free(constraints, "observed", keeper)
    if not free:
        return None
    actionable = find_actionable(decision, free, keeper, bounded=True)
    swept = sweep_actionable(actionable, size, keeper, 0, None)
    large = solver._large_sets(actionable, constraints, keeper)
    large.find()
    candidates = find_candidates(decision, constraints, swept, solver.costs, True, keeper)
    names = [int(actionable.players.names[m][1:]) for m in range(len(free))]
    choices = choose_widely(candidates, large, None)
    return large, names, choices


@settings(max_examples=examples(40))
@given(cases(max_d=5), st.integers(1, 2))
def test_with_time_enough_large_options_are_those_of_the_definition(case, size):
    world, asked_for = case
    assume(two_sided(world))
    found = widely(world, asked_for, size)
    truth = by_definition(world, asked_for)
    if found is None:
        assert truth == {}
        return
    _, names, choices = found
    for option in choices.chosen:
        members = tuple(names[m] for m in option.members)
        assert members in truth
        assert option.cost == pytest.approx(float(truth[members].cost))
        assert option.counts == (truth[members].n, truth[members].hits)
    small = {t for t in truth if len(t) <= size}
    assert small <= {tuple(names[m] for m in option.members) for option in choices.chosen}


@settings(max_examples=examples(25))
@given(cases(max_d=5))
def test_no_feature_of_a_shrunk_change_can_be_left_out(case):
    world, asked_for = case
    assume(two_sided(world))
    asked_for = replace(asked_for, tau=None)
    found = widely(world, asked_for, 1)
    assume(found is not None)
    large, names, _ = found
    rows = decision_rows(world)
    for change in large.known.values():

        def works(members, reference=rows[change.reference]):
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
def test_many_features_are_answered_within_ten_seconds(columns):
    data = np.random.default_rng(2).integers(0, 2, (60, columns))
    r, took = asked(both, data, np.zeros(columns, dtype=int), 1e-4)
    assert {("x3", "x7"), ("x1", "x20")} <= {o.features for o in r}
    assert ("x8", "x9", "x10", "x11", "x12") in {o.features for o in r}
    assert not r.complete and took <= 11.0
    assert "its 10 s, the time it takes where no time_limit is given, before all sets" in r.reason
    assert "Every option is verified with the model" in r.reason
    assert "recourse(x, time_limit=60); Explainer(model, data, groups='auto')" in r.reason
    for option in r:
        row = np.zeros((1, columns), dtype=int)
        for name, value in option.values.items():
            row[0, int(name[1:])] = value
        assert both(row) == 1


def test_a_slow_model_still_gives_a_way():
    data = np.random.default_rng(2).integers(0, 2, (60, 200))
    r, took = asked(both, data, np.zeros(200, dtype=int), 0.05)
    assert r.feasible and not r.complete and took <= 11.0


@pytest.mark.parametrize("tau", [None, 0.2])
def test_many_features_under_constraints(tau):
    data = np.random.default_rng(2).integers(0, 2, (60, 40))
    given_ = {"immutable": ["x3", "x1"], "tau": tau, "max_cost": 50.0}
    r, took = asked(both, data, np.zeros(40, dtype=int), 1e-4, **given_)
    found = {o.features for o in r}
    assert found == (set() if tau else {("x8", "x9", "x10", "x11", "x12")})
    assert took <= 16.0
    if tau:
        assert "x3 is immutable: if it could change, {x3, x7} at cost" in r.reason


def test_a_grid_of_many_features_is_made_of_some():
    data = np.random.default_rng(2).integers(0, 3, (60, 40))

    def sums(rows):
        rows = np.asarray(rows)
        return (rows[:, 2] + rows[:, 5] >= 3).astype(int)

    r, took = asked(sums, data, np.zeros(40, dtype=int), 1e-4, values="grid")
    assert took <= 11.0 and not r.complete
    assert r.best.features == ("x2", "x5") and sum(r.best.values.values()) == 3
    assert "40 features are too many for a grid: it was made of 12" in r.reason


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


@pytest.mark.parametrize("values", ["observed", "grid"])
@pytest.mark.parametrize("columns", [6, 30])
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


def test_a_limit_is_told_as_it_was_given():
    data = np.random.default_rng(0).integers(0, 2, (60, 30))
    for given_, told in (
        ({"time_limit": 20}, "Stopped by time_limit=20 s before"),
        ({"budget": 5000}, "Stopped by budget=5000 model rows before"),
    ):
        r, _ = asked(both, data, np.zeros(30, dtype=int), 1e-3, **given_)
        assert told in r.reason and r.feasible
