"""Limits of a search for recourse: they bound it, and what they leave out is reported."""

import numpy as np
import pandas as pd
import pytest

from suffice import CausalContext, CausalModel, Explainer, compare
from suffice.context.causal import additive
from suffice.recourse import RecourseRequest, find_recourse
from tests.fakes import FakeClock, limits_timed_by
from tests.recourse.loan_cases import changed, loans_explainer


class Counted:
    """A model that counts the rows it is asked about, each of which takes `seconds` of its clock."""

    def __init__(self, model, seconds=0.0):
        self.model, self.seconds, self.rows = model, seconds, 0
        self.clock = FakeClock()

    def __call__(self, rows):
        self.rows += len(rows)
        self.clock.now += self.seconds * len(rows)
        return self.model(rows)


def sums(rows):
    return (np.asarray(rows).sum(axis=1) > 0).astype(int)


DATA = np.random.default_rng(0).normal(size=(200, 4)).round(1)
X0 = DATA[int(np.argmin(DATA.sum(axis=1)))]


def asked(model, **given):
    """The answer, and how many rows it took besides the input itself."""
    counted = Counted(model)
    explainer = Explainer(counted, DATA)
    before = counted.rows
    r = explainer.recourse(X0, **given)
    return r, counted.rows - before - 1


# -- budgets -----------------------------------------------------------------------------


@pytest.mark.parametrize("values", ["observed", "grid"])
@pytest.mark.parametrize("budget", [1, 2, 10, 97, 500, 1955, 20_000])
def test_no_more_rows_are_predicted_than_the_budget_allows(values, budget):
    r, rows = asked(sums, values=values, budget=budget)
    assert rows <= budget
    assert r.complete == (r.reason is None)
    for option in r:
        row = [option.values.get(f"x{j}", X0[j]) for j in range(4)]
        assert sums([row]) == 1
    if not r.complete:
        assert f"budget={budget} model rows" in r.reason


@pytest.mark.parametrize("values", ["observed", "grid"])
@pytest.mark.parametrize("budget", [1, 500, 1500, 3000])
def test_rows_that_check_an_engine_are_counted(values, budget, monkeypatch):
    from sklearn.linear_model import LogisticRegression

    explainer = Explainer(LogisticRegression().fit(DATA, DATA.sum(axis=1) > 0), DATA)
    rows = []
    score = LogisticRegression.decision_function

    def counted(self, table):
        rows.append(len(table))
        return score(self, table)

    monkeypatch.setattr(LogisticRegression, "decision_function", counted)
    r = explainer.recourse(X0, values=values, budget=budget, max_cost=0.5)
    assert not r.feasible and sum(rows) - 1 <= budget


@pytest.mark.parametrize("values", ["observed", "grid"])
@pytest.mark.parametrize("budget", [1, 300, 5000])
def test_finding_out_why_there_is_no_way_keeps_to_the_budget(values, budget):
    given = {"immutable": ["x0", "x1"], "max_cost": 0.5, "values": values}
    r, rows = asked(sums, budget=budget, **given)
    assert rows <= budget and not r.feasible
    assert "with or without the constraints" not in r.reason
    whole, _ = asked(sums, **given)
    assert "max_cost=0.5: at a higher price" in whole.reason


@pytest.mark.parametrize("values", ["observed", "grid"])
@pytest.mark.parametrize("tau", [None, 0.5])
def test_a_budget_that_is_large_enough_changes_nothing(values, tau):
    whole, rows = asked(sums, values=values, tau=tau)
    bounded, _ = asked(sums, values=values, tau=tau, budget=4 * rows)
    assert bounded == whole and whole.complete


def test_without_any_constraint_nothing_is_claimed_that_was_not_searched():
    r, _ = asked(sums, budget=1)
    assert not r.complete and not r.feasible
    assert "before all references were tried on any feature set: each takes up to 1" in r.reason
    assert "with or without the constraints" not in r.reason


@pytest.mark.parametrize("values", ["observed", "grid"])
def test_with_tau_only_sets_that_were_counted_are_options(values):
    whole, _ = asked(sums, tau=0.3, values=values)
    cut, _ = asked(sums, tau=0.3, values=values, budget=800)
    assert not cut.complete
    assert all(option.sufficiency >= 0.3 for option in cut)
    counted = {o.features: (o.n, o.hits) for o in whole}
    assert all(counted[o.features] == (o.n, o.hits) for o in cut if o.features in counted)


def test_a_budget_that_ends_the_grid_is_reported():
    explainer, X, model = loans_explainer()
    whole = explainer.recourse(X.iloc[8], values="grid")
    assert whole.complete and whole.reason is None
    cut = explainer.recourse(X.iloc[8], values="grid", budget=500)
    assert not cut.complete
    assert "Stopped by budget=500 model rows during the search of the grid" in cut.reason
    assert cut.best.cost >= whole.best.cost
    for option in cut.options:
        assert model.predict(changed(X, 8, option)).tolist() == ["granted"]
    given = {"values": "grid", "actionable": ["age"]}
    none = explainer.recourse(X.iloc[8], budget=20_000, **given)
    assert not none.feasible and "income is not actionable: if it could change" in none.reason


def test_options_of_references_are_verified_before_a_grid_takes_all_rows():
    observed, few = asked(sums)
    _, many = asked(sums, values="grid")
    assert few < many
    for budget in (2 * few + 1200, (few + many) // 2, many // 2):
        cut, rows = asked(sums, values="grid", budget=budget)
        assert not cut.complete and rows <= budget
        for option in observed:  # each is there, or something inside it that costs no more
            assert any(
                set(o.features) <= set(option.features) and o.cost <= option.cost * (1 + 1e-9)
                for o in cut
            )


def test_a_grid_of_forbidden_rows_ends_though_nothing_is_predicted():
    data = np.random.default_rng(1).normal(size=(300, 7))
    explainer = Explainer(sums, data)
    never = compare("x0", ">=", -np.inf)
    r = explainer.recourse(data[0], values="grid", forbidden=never, budget=2)
    assert not r.feasible and not r.complete


def test_a_budget_too_small_for_any_claim_claims_nothing():
    r, _ = asked(lambda rows: (np.asarray(rows).sum(axis=1) > -0.5).astype(int), values="grid")
    assert r.feasible
    r, _ = asked(sums, values="grid", budget=10, cost=lambda column, old, new: np.zeros(len(new)))
    assert not r.complete
    assert "no option is known to be the cheapest" in r.reason
    assert "less than 0 are" not in r.reason


def test_a_budget_is_kept_where_changes_have_consequences():
    frame = pd.DataFrame(DATA, columns=list("abcd"))
    scm = CausalModel([("a", "b")], frame, mechanisms={"b": additive(lambda a: a, std=0.5)})
    for budget in (1, 500, 3000):
        counted = Counted(lambda rows: sums(rows.to_numpy()))
        explainer = Explainer(counted, frame, context=CausalContext(scm))
        before = counted.rows
        r = explainer.recourse(dict(zip("abcd", X0, strict=True)), budget=budget)
        assert counted.rows - before - 1 <= budget
        assert r.complete == (r.reason is None)


# -- time --------------------------------------------------------------------------------


@pytest.mark.parametrize("values", ["observed", "grid"])
def test_a_time_limit_ends_the_search_and_is_reported(values):
    _, all_rows = asked(sums, values=values)
    slow = Counted(sums, seconds=0.002)
    decision = Explainer(slow, DATA).decide(X0)
    decision.target.model.seconds_per_row = slow.seconds
    before, started = slow.rows, slow.clock.now
    request = RecourseRequest(values=values, time_limit=0.3)
    with limits_timed_by(slow.clock):
        r = find_recourse(decision, request, started)
    assert slow.rows - before < all_rows
    assert slow.clock.now - started <= 0.33
    assert not r.complete and "time_limit=0.3 s" in r.reason
    assert "which depends on the machine" in r.reason


@pytest.mark.parametrize("values", ["observed", "grid"])
def test_time_enough_changes_nothing(values):
    whole, _ = asked(sums, values=values)
    bounded, _ = asked(sums, values=values, time_limit=3600)
    assert bounded == whole


# -- many features -----------------------------------------------------------------------


def test_many_features_are_bounded_by_a_budget():
    rng = np.random.default_rng(2)
    data = rng.integers(0, 2, (40, 30))
    explainer = Explainer(lambda rows: (rows[:, 3] & rows[:, 7]).astype(int), data)
    r = explainer.recourse(np.zeros(30, dtype=int), budget=20_000)
    assert [o.features for o in r] == [("x3", "x7")] and not r.complete
    assert "before all references were tried on all sets of more than 3 features" in r.reason
    assert "Larger sets come from the changes of" in r.reason


def test_sixteen_features_stay_in_memory():
    import tracemalloc

    rng = np.random.default_rng(0)
    data = rng.normal(size=(1500, 20))
    weights = np.linspace(0.2, 1.0, 20)
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression().fit(data, data @ weights + rng.normal(size=1500) > 0)
    x = data[np.argmin(data @ weights)]
    explainer = Explainer(model, data, n_references=700)
    tracemalloc.start()
    r = explainer.recourse(x, immutable=["x0", "x1", "x2", "x3"], increasing=["x19"], max_cost=20.0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert r.feasible and peak < 700e6


def test_a_request_without_rules_copies_no_data():
    import tracemalloc

    data = np.random.default_rng(0).normal(size=(4000, 50))
    explainer = Explainer(lambda rows: rows[:, 0] > 0, data)
    decision = explainer.decide(data[0])
    tracemalloc.start()
    assert not RecourseRequest().constraints(decision).rules
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < data.nbytes / 4, peak


def test_with_many_features_necessity_is_estimated():
    rng = np.random.default_rng(2)
    data = rng.integers(0, 2, (40, 30))
    explainer = Explainer(lambda rows: (rows[:, 3] & rows[:, 7]).astype(int), data)
    x = np.zeros(30, dtype=int)
    r = explainer.recourse(x, max_size=2)
    assert [o.features for o in r.options] == [("x3", "x7")]
    assert 0.9 <= r.best.necessity <= 1.0
    few = explainer.recourse(x, actionable=["x3", "x4"])
    assert "x7 is not actionable: if it could change, {x3, x7} at cost" in few.reason


def test_a_grid_that_found_options_does_not_say_that_nothing_was_looked_at():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({c: rng.integers(0, 6, 80) for c in "abcde"})
    explainer = Explainer(lambda r: r.sum(axis=1) > 13, X)
    found = explainer.recourse([2, 2, 2, 2, 3], values="grid", budget=40)
    assert not found.complete
    assert "before all references were tried on any feature set" in found.reason
    assert "before any" not in found.reason
