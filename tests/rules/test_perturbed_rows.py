"""The rows that Anchors explains: the data's, made to satisfy a rule."""

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

from suffice import Explainer, datasets
from suffice.engines import BlackBox
from suffice.rules import anchor
from suffice.rules.rule_counts import perturb
from tests.effort import examples
from tests.random_problems import has_both_outcomes, problems, subsets
from tests.rules.rule_cases import condition_names, cut_options, lender, with_cuts


@pytest.fixture(scope="module")
def loans():
    return datasets.loans(n=300)[0]


@settings(max_examples=examples(60))
@given(problems(max_d=3), st.integers(0, 3), cut_options)
def test_a_perturbed_row_satisfies_the_rule_and_keeps_what_it_may(world, seed, options):
    assume(has_both_outcomes(world))
    explainer = world.explainer(random_state=seed)
    conditions = anchor(explainer, world.x, **with_cuts(world, options)).conditions
    hybrids = perturb(explainer.decide(world.x), conditions)
    rows = np.array(hybrids.pool.native)
    for s in subsets(len(conditions)):
        held = np.zeros((hybrids.n, hybrids.d), bool)
        held[:, list(s)] = True
        made = hybrids.rows(held, np.arange(hybrids.n))
        assert conditions.holds(made)[:, list(s)].all()
        own = rows[hybrids.chosen]
        fails = ~conditions.holds(hybrids.pool)[hybrids.chosen]
        for j in range(world.d):
            asked = [i for i in s if f"x{j}" in conditions[i].factor.columns()]
            changed = made.column(j) != own[:, j]
            assert not changed[~fails[:, asked].any(axis=1)].any()


@settings(max_examples=examples(60))
@given(problems(max_d=3), cut_options)
def test_equal_keys_are_equal_hybrids(world, options):
    assume(has_both_outcomes(world))
    explainer = world.explainer()
    decision = explainer.decide(world.x)
    hybrids = perturb(decision, anchor(explainer, world.x, **with_cuts(world, options)).conditions)
    held = np.array([[j in s for j in range(hybrids.d)] for s in subsets(hybrids.d)])
    keys = hybrids.keys(held).ravel()
    which = np.repeat(held, hybrids.n, axis=0), np.tile(np.arange(hybrids.n), len(held))
    rows = np.array(hybrids.rows(*which).native)
    for key in set(keys.tolist()):
        assert len(np.unique(rows[keys == key], axis=0)) == 1
    asked = [BlackBox(decision.target, hybrids, decision.y, distinct=d) for d in (True, False)]
    assert (asked[0].outcomes(held) == asked[1].outcomes(held)).all()
    assert asked[0].rows_predicted <= asked[1].rows_predicted


def test_keys_of_more_conditions_than_fit_one_number():
    rng = np.random.default_rng(0)
    data = rng.integers(0, 3, (40, 70))
    explainer = Explainer(lambda rows: rows[:, 0], data, references="all")
    a = anchor(explainer, data[0], bins=3, max_size=1)
    hybrids = perturb(explainer.decide(data[0]), a.conditions)
    assert not hybrids.stable_keys
    held = rng.random((30, hybrids.d)) < 0.5
    keys = hybrids.keys(held)
    made = hybrids.rows(
        np.repeat(held, hybrids.n, axis=0), np.tile(np.arange(hybrids.n), len(held))
    )
    rows = np.concatenate([np.array(made.native), np.tile(hybrids.chosen, 30)[:, None]], axis=1)
    # Each row by itself: there the number of different keys is that of different hybrids.
    for r in range(hybrids.n):
        mine = rows[r :: hybrids.n]
        assert len(np.unique(keys[:, r])) == len(np.unique(mine, axis=0))
    assert not set(keys[:, 0]) & set(keys[:, 1])


def test_donors_are_drawn_uniformly_among_the_rows_that_satisfy():
    data = np.column_stack([np.repeat([1.0, 2.0, 3.0, 4.0, 50.0], 800), np.arange(4000) % 7])
    explainer = Explainer(lambda rows: (rows[:, 0] > 3.5).astype(int), data)
    hybrids = perturb(
        explainer.decide([2.0, 1.0]),
        anchor(explainer, [2.0, 1.0], cuts={"x0": [10]}, features=["x0"]).conditions,
    )
    nothing, inside = hybrids.slots[0].inside
    assert (nothing == hybrids.chosen).all()
    moved = inside != hybrids.chosen
    assert moved.sum() == 800
    values = hybrids.pool.column(0)[inside[moved]]
    _, times = np.unique(values, return_counts=True)
    assert len(times) == 4
    assert (np.abs(times - 200) < 5 * np.sqrt(800 * 0.25 * 0.75)).all()


def test_no_row_lies_where_the_input_does():
    """Its own values then stand in for the donors' that are missing."""
    data = np.column_stack([np.arange(20.0), np.arange(20.0) % 4])
    explainer = Explainer(lambda rows: (rows[:, 0] > 9).astype(int), data)
    rule = anchor(explainer, [100.0, 1.0], cuts={"x0": [50.0]}).rule("x0")
    assert (rule.precision, rule.n, rule.coverage, rule.necessity) == (1.0, 20, 0.0, 0.0)
    observed = anchor(explainer, [100.0, 1.0], cuts={"x0": [50.0]}, distribution="observed")
    rule = observed.rule("x0")
    assert (rule.precision, rule.interval, rule.p_value, rule.n) == (None, None, None, 0)
    assert all(r.n > 0 for r in observed.at(0.01).rules)


@pytest.mark.parametrize("distribution", ["perturbed", "observed"])
def test_the_order_of_rows_and_columns_does_not_matter(loans, distribution):
    x = loans.iloc[8]
    columns = ["income", "debt", "late payments", "home", "age"]
    one = anchor(Explainer(lender, loans[columns]), x[columns], tau=0.9, distribution=distribution)
    mixed = loans.sample(frac=1, random_state=3)[columns[::-1]]
    two = anchor(Explainer(lender, mixed), x[columns], tau=0.9, distribution=distribution)
    numbers = [
        {condition_names(a, r): (r.precision, r.coverage, r.necessity) for r in a.rules}
        for a in (one, two)
    ]
    assert numbers[0] == numbers[1] and numbers[0]


def test_a_sample_of_rows_is_perturbed(loans):
    explainer = Explainer(lender, loans)
    some = anchor(explainer, loans.iloc[8], tau=0.9, n_rows=100)
    assert {r.n for r in some.rules} == {100}
    assert some.rules == anchor(explainer, loans.iloc[8], tau=0.9, n_rows=100).rules
    assert anchor(explainer, loans.iloc[8], tau=0.9, n_rows=10**6).rules == (
        anchor(explainer, loans.iloc[8], tau=0.9).rules
    )
