"""Recourse where changes have consequences: only the features set are paid for and constrained."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings

from suffice import Explainer, InputError
from suffice.context.causal import CausalContext, CausalModel, additive
from tests.recourse_oracle import by_definition, cases, numbers
from tests.worlds import two_sided

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


def test_reliability_is_the_share_of_draws_in_which_these_values_work():
    noisy = additive(lambda school: 10.0 * school, std=8.0)
    causal, scm = explainer(noisy, random_state=3)
    n = int((granted(PEOPLE) == "granted").sum())
    noise = scm.draw(n, np.random.default_rng([3, 2]))["income"]
    works = {s: float(np.mean(10 * s + noise >= 30)) for s in range(5)}
    assert works[2] < 0.5 < works[3] < 0.6 < works[4] < 0.95
    for tau, school in ((None, 3.0), (0.6, 4.0)):
        r = causal.recourse(X0, tau=tau, actionable=["school"])
        assert r.best.values == {"school": school}
        assert r.best.reliability == pytest.approx(works[school])
    sure = causal.recourse(X0, tau=0.95, actionable=["school"])
    assert not sure.feasible and "tau=0.95: if one verified change is enough" in sure.reason
    assert "works" in str(causal.recourse(X0, actionable="school"))


def test_luck_is_not_recourse_and_the_bound_on_tries_is_told():
    never = additive(lambda school: 25 + 0.0 * school, std=20.0)
    causal, _ = explainer(never)
    r = causal.recourse(X0, actionable=["school", "age"])
    assert not r.feasible and not r.complete
    assert "the 10 cheapest changes work in fewer than 50% of the draws" in r.reason
    assert "income is not actionable: if it could change, {income} at cost" in r.reason


@settings(max_examples=30)
@given(cases(max_d=3))
def test_without_edges_it_is_plain_recourse(case):
    world, asked = case
    assume(two_sided(world))
    names = [f"x{j}" for j in range(world.d)]
    frame = pd.DataFrame(np.array([world.x, *world.references]), columns=names)
    scm = CausalModel({name: [] for name in names}, frame)
    asked = replace(asked, grid=False)
    r = world.explainer(context=CausalContext(scm)).recourse(world.x, **asked.arguments())
    truth = by_definition(world, asked)
    assert {numbers(o): o.n for o in r} == {t: q.n for t, q in truth.items()}
    assert [o.cost for o in r] == pytest.approx([float(truth[numbers(o)].cost) for o in r])


def test_a_grid_is_refused():
    causal, _ = explainer(lambda school: 10.0 * school)
    with pytest.raises(InputError, match="values: got 'grid' in a causal context"):
        causal.recourse(X0, values="grid")


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
