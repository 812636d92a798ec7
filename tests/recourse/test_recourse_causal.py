"""Recourse where changes have consequences: only the features set are paid for and constrained."""

from dataclasses import replace
from itertools import count

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from scipy.stats import norm

from suffice import Explainer, InputError
from suffice.context.causal import CausalContext, CausalModel, additive
from suffice.recourse import RecourseRequest, find_recourse
from suffice.recourse.causal import VERIFICATION_DRAWS, draw_worlds
from tests.effort import examples
from tests.fakes import limits_timed_by
from tests.random_problems import has_both_outcomes
from tests.recourse.recourse_oracle import feature_numbers, options_by_definition, recourse_cases

PEOPLE = pd.DataFrame(
    {"school": np.tile([0.0, 1.0, 2.0, 3.0, 4.0], 40), "age": np.repeat(np.arange(20.0, 60.0), 5)}
)
PEOPLE["income"] = 10 * PEOPLE["school"]


def granted(rows):
    return np.where(rows["income"] >= 30, "granted", "refused")


def explainer(income, **options):
    scm = CausalModel(
        [("school", "income")],
        PEOPLE,
        mechanisms={"income": income},
    )
    return Explainer(granted, PEOPLE, context=CausalContext(scm), **options), scm


X0 = {"school": 1.0, "age": 30.0, "income": 10.0}


def test_what_follows_is_free_and_may_break_what_binds_only_changes():
    causal, _ = explainer(lambda school: 10.0 * school)
    plain = Explainer(granted, PEOPLE)
    asked = {"immutable": ["income"], "ranges": {"income": (None, 20)}}
    assert not plain.recourse(X0, **asked).feasible
    r = causal.recourse(X0, **asked)
    assert [(o.features, o.values, o.reliability) for o in r.options] == [
        (("school",), {"school": 3.0}, 1.0)
    ]
    assert r.best.cost == pytest.approx(2 / 1.0)  # the median deviation of 0, 1, 2, 3, 4 is 1
    both = causal.recourse(X0)
    assert {o.features for o in both.options} == {("school",), ("income",)}


def test_reliability_is_the_share_of_fresh_draws_in_which_these_values_work():
    noisy = additive(lambda school: 10.0 * school + 1.0, std=8.0)
    causal, _ = explainer(noisy, random_state=3)
    works = {s: float(norm.cdf((10 * s + 1 - 30) / 8)) for s in range(5)}
    assert works[2] < 0.2 < 0.54 < works[3] < 0.6 < works[4] < 0.95
    for tau, school in ((None, 3.0), (0.65, 4.0)):
        r = causal.recourse(X0, tau=tau, actionable=["school"])
        assert r.best.values == {"school": school} and r.complete
        assert r.best.reliability == pytest.approx(works[school], abs=0.06)
        fresh = draw_worlds(causal.decide(X0), VERIFICATION_DRAWS, 2).hybrids.noise["income"]
        assert r.best.reliability == np.mean(10 * school + 1 + fresh >= 30)
    sure = causal.recourse(X0, tau=0.95, actionable=["school"])
    assert not sure.feasible and "tau=0.95: if one verified change is enough" in sure.reason
    assert "works" in str(causal.recourse(X0, actionable="school"))
    assert causal.recourse(X0) == causal.recourse(X0)


def test_luck_is_not_recourse():
    never = additive(lambda school: 25 + 0.0 * school, std=20.0)
    causal, _ = explainer(never)
    r = causal.recourse(X0, actionable=["school", "age"])
    assert not r.feasible and r.complete
    assert "income is not actionable: if it could change, {income} at cost" in r.reason


def test_the_default_reliability_is_named_where_it_rules_changes_out():
    rarely = additive(lambda school: 10.0 * school - 5.0, std=10.0)
    causal, _ = explainer(rarely, random_state=1)
    given_ = {"actionable": ["school"], "ranges": {"school": (None, 3.0)}}
    works = float(norm.cdf((10 * 3 - 5 - 30) / 10))  # in 31% of the draws
    lower = causal.recourse(X0, tau=0.2, **given_)
    assert lower.best.values == {"school": 3.0}
    assert lower.best.reliability == pytest.approx(works, abs=0.06)
    r = causal.recourse(X0, **given_)
    assert not r.feasible
    line = next(line for line in r.reason.splitlines() if line.startswith("Without tau"))
    assert line.startswith(
        "Without tau a change must work in 50% of the draws: with a smaller tau, {school} at cost 2"
    )
    assert f"in {lower.best.reliability:.0%} of the draws (school 1 → 3)" in line


# -- salaries: the cheapest changes that happened to work once are not the ones to look at ---------


def earners(n=600):
    rng = np.random.default_rng(0)
    education = rng.integers(8, 21, n).astype(float)
    salary = (6000 * education + rng.normal(0, 9000, n)).round(-3)
    savings = 0.5 * salary + rng.normal(0, 5000, n)
    return pd.DataFrame({"education": education, "salary": salary, "savings": savings})


EARNERS = earners()
POOR = {"education": 10.0, "salary": 60_000.0, "savings": 30_000.0}


def lends(rows):
    return np.where(rows["savings"] >= 45_000, "granted", "refused")


def lender(noise="sampled", **options):
    scm = CausalModel(
        [("education", "salary"), ("salary", "savings")],
        EARNERS,
        mechanisms={
            "salary": additive(lambda education: 6000 * education, std=9000.0),
            "savings": additive(lambda salary: 0.5 * salary, std=5000.0),
        },
    )
    return Explainer(lends, EARNERS, context=CausalContext(scm, noise=noise), **options)


def surely(salary):
    """How likely a loan is at this salary."""
    return norm.cdf((0.5 * salary - 45_000) / 5000)


@pytest.mark.parametrize(("tau", "least"), [(None, 0.5), (0.8, 0.8), (0.95, 0.95)])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_cheapest_salary_that_works_often_enough_is_found(tau, least, seed):
    """110,000 works in 98% of the draws; over a hundred cheaper salaries work now and then."""
    assert surely(110_000) == pytest.approx(0.977, abs=0.001)
    r = lender(random_state=seed).recourse(POOR, tau=tau, actionable=["salary"])
    assert r.feasible and r.complete and r.reason is None
    found = r.best.values["salary"]
    assert found <= 110_000 and r.best.reliability >= least
    assert surely(found) == pytest.approx(r.best.reliability, abs=0.06)
    salaries = EARNERS["salary"][lends(EARNERS) == "granted"]
    cheaper = salaries[abs(salaries - 60_000) < abs(found - 60_000)]
    assert len(cheaper) > 20 and surely(cheaper.max()) < least + 0.05


def test_with_tau_a_change_is_judged_by_itself_and_not_by_other_peoples_values():
    """Most references' salaries work in fewer than 95% of the draws, and that is no matter."""
    r = lender().recourse(POOR, tau=0.95, actionable=["salary"])
    assert r.best.sufficiency < 0.95 <= r.best.reliability


def test_education_works_through_two_draws():
    r = lender().recourse(POOR, actionable=["education"])
    share = norm.cdf((3000 * r.best.values["education"] - 45_000) / np.hypot(4500, 5000))
    assert r.best.values["education"] == 15.0 or share >= 0.5
    assert share == pytest.approx(r.best.reliability, abs=0.06)


def test_limits_of_a_search_among_draws_are_reported():
    r = lender().recourse(POOR, tau=0.95, budget=3000)
    assert not r.complete and "Stopped by budget=3000 model rows before" in r.reason


# -- without randomness ------------------------------------------------------------------------


@settings(max_examples=examples(30))
@given(recourse_cases(max_d=3))
def test_without_edges_it_is_plain_recourse(case):
    world, asked = case
    assume(has_both_outcomes(world))
    names = [f"x{j}" for j in range(world.d)]
    frame = pd.DataFrame(np.array([world.x, *world.references]), columns=names)
    scm = CausalModel({name: [] for name in names}, frame)
    asked = replace(asked, grid=False)
    r = world.explainer(context=CausalContext(scm)).recourse(world.x, **asked.arguments())
    truth = options_by_definition(world, asked)
    assert {feature_numbers(o): o.n for o in r} == {t: q.n for t, q in truth.items()}
    assert [o.cost for o in r] == pytest.approx([float(truth[feature_numbers(o)].cost) for o in r])


def test_a_grid_where_noise_is_kept_finds_the_cheapest_value_of_all():
    explainer = lender(noise="kept")
    observed = explainer.recourse(POOR, actionable=["salary", "education"])
    grid = explainer.recourse(POOR, actionable=["salary", "education"], values="grid")
    # Savings were what the salary says, so half of the new salary must do.
    needed = EARNERS["salary"][EARNERS["salary"] >= 90_000].min()
    assert {o.features: o.values for o in grid}[("salary",)] == {"salary": needed}
    assert grid.best.cost <= observed.best.cost and grid.complete
    for option in grid:
        scm = explainer.decide(POOR).context.scm
        assert lends(scm.counterfactual(POOR, dict(option.values))) == ["granted"]


@settings(max_examples=examples(40))
@given(recourse_cases(max_d=3))
def test_a_grid_without_edges_is_a_plain_grid(case):
    world, asked = case
    assume(has_both_outcomes(world))
    names = [f"x{j}" for j in range(world.d)]
    frame = pd.DataFrame(np.array([world.x, *world.references]), columns=names)
    scm = CausalModel({name: [] for name in names}, frame)
    asked = replace(asked, grid=True, tau=None)
    r = world.explainer(context=CausalContext(scm)).recourse(world.x, **asked.arguments())
    truth = options_by_definition(world, asked)
    assert {feature_numbers(o): o.n for o in r} == {t: q.n for t, q in truth.items()}
    assert [o.cost for o in r] == pytest.approx([float(truth[feature_numbers(o)].cost) for o in r])


def test_a_grid_is_refused_where_consequences_are_drawn():
    with pytest.raises(InputError, match="values: got 'grid' where the consequences of a change"):
        lender().recourse(POOR, values="grid")
    causal, _ = explainer(lambda school: 10.0 * school)  # fresh noise, of which there is none
    assert causal.recourse(X0, values="grid", actionable="school").best.values == {"school": 3.0}


def test_setting_a_feature_to_what_it_is_is_no_way_out():
    """With fresh noise do(school = 1) alone flips now and then; no one can act on that."""
    lucky = additive(lambda school: 10.0 * school, std=25.0)
    causal, _ = explainer(lucky, references="all")
    flips = causal.explain(X0, tau=0.05).flip
    assert flips.sufficiency(["school"]) > 0.2
    for r in (causal.recourse(X0), causal.recourse(X0, tau=0.2)):
        assert r.feasible
        for option in r.options:
            assert set(option.changes) == set(option.features)
            assert str(option)


# -- limits ------------------------------------------------------------------------------------


def wide_causal_case():
    """Return a decision on ten causes with one random effect each, and its columns."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 20)), columns=[f"c{i}" for i in range(20)])
    edges = [(f"c{i - 1}", f"c{i}") for i in range(1, 20, 2)]
    for cause, effect in edges:
        X[effect] += X[cause]
    scm = CausalModel(edges, X)

    def model(rows):
        return np.where(rows.sum(axis=1) > 0, "yes", "no")

    return Explainer(model, X, context=CausalContext(scm)), X[model(X) == "no"].iloc[[0]]


@pytest.mark.parametrize("limits", [{"time_limit": 1e-9}, {"budget": 40}])
def test_a_limit_never_hides_a_change_of_everything(limits):
    explainer, x = wide_causal_case()
    r = explainer.recourse(x, **limits)
    assert r.feasible and not r.complete and r.best.reliability >= 0.5
    assert "Stopped by" in r.reason


def test_fewer_changes_are_sorted_where_little_time_is_left():
    explainer, x = wide_causal_case()
    looks = count()
    request = RecourseRequest(time_limit=1.0)
    with limits_timed_by(lambda: 0.9 + 2e-3 * next(looks)):
        r = find_recourse(explainer.decide(x), request, started=0.0)
    assert r.feasible and "Sets of more than 1 feature are too many to be tried." in r.reason
