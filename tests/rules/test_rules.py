"""Rules and anchors (Prop. 2): every rule counted as the definitions count it."""

from functools import reduce
from itertools import combinations, product
from operator import and_

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st
from hypothesis.extra.numpy import arrays

from suffice import (
    Basis,
    Explainer,
    InputError,
    NotVisitedError,
    Sample,
    compare,
    datasets,
    minimal_sufficient_factors,
)
from suffice.rules import anchor, score_rule
from suffice.rules.rule_counts import count_by_masks, count_one_by_one, observe_patterns
from tests.effort import examples
from tests.random_problems import has_both_outcomes, problems, thresholds
from tests.rules.rule_cases import (
    CUTS,
    alphas,
    condition_names,
    distributions,
    every_rule,
    lender,
    unwrapped,
)


@pytest.fixture(scope="module")
def loans():
    return datasets.loans(n=300)[0]


@given(problems(), thresholds, alphas, st.sampled_from([2, 4]))
def test_observed_rules_are_those_of_algorithm_1(world, tau, alpha, bins):
    assume(has_both_outcomes(world))
    explainer = world.explainer()
    a = anchor(explainer, world.x, tau=tau, alpha=alpha, bins=bins, distribution="observed")
    decision = explainer.decide(world.x)
    always = compare("x0", ">=", 0)  # the empty rule, as a factor
    rules = {
        frozenset(c.feature for c in chosen): reduce(and_, [always, *(c.factor for c in chosen)])
        for k in range(len(a.conditions) + 1)
        for chosen in combinations(a.conditions, k)
    }
    basis = Basis(decision.target, Sample(decision.data), list(rules.values()))
    found = minimal_sufficient_factors(basis, y=decision.y, tau=tau, alpha=alpha)
    named = {factor: name for name, factor in rules.items()}
    expected = {named[f]: ps for f, ps in zip(found.factors, found.sufficiency, strict=True)}
    assert {condition_names(a, rule): rule.precision for rule in a.rules} == expected


def rules_by_hand(world, cuts):
    """All that can be asked of numbers by these cuts, as {column: (low, high)}, with its factor.

    A bound comes with the weaker ones that it implies, so that the subset order of Algorithm 1 is
    the order by which one rule asks less than another.
    """
    always = compare("x0", ">=", 0)
    choices = []
    for j, value in enumerate(world.x):
        lower = [compare(f"x{j}", ">", c) for c in cuts if value > c]
        upper = [compare(f"x{j}", "<=", c) for c in reversed(cuts) if value <= c]
        choices.append(
            [
                lower[:low] + upper[:high]
                for low in range(len(lower) + 1)
                for high in range(len(upper) + 1)
            ]
        )
    return {
        tightest([factor for chosen in asked for factor in chosen]): reduce(
            and_, [always, *(factor for chosen in asked for factor in chosen)]
        )
        for asked in product(*choices)
    }


def tightest(factors):
    """What is left of bounds when those that others imply are forgotten."""
    found = {}
    for f in factors:
        side = max if f.relation == ">" else min
        key = f.column, f.relation
        found[key] = side(found.get(key, f.value), f.value)
    return frozenset(found.items())


def asked_by(rule):
    return frozenset() if rule.factor is None else tightest(rule.factor.atoms())


@settings(max_examples=examples(30))
@given(problems(max_d=3), thresholds, alphas)
def test_rules_with_any_bounds_are_those_of_algorithm_1(world, tau, alpha):
    assume(has_both_outcomes(world))
    explainer = world.explainer()
    cuts = {f"x{j}": CUTS for j in range(world.d)}
    a = anchor(
        explainer,
        world.x,
        tau=tau,
        alpha=alpha,
        cuts=cuts,
        bounds="any",
        distribution="observed",
    )
    decision = explainer.decide(world.x)
    rules = rules_by_hand(world, CUTS)
    basis = Basis(decision.target, Sample(decision.data), list(rules.values()))
    found = minimal_sufficient_factors(basis, y=decision.y, tau=tau, alpha=alpha)
    named = {factor: asked for asked, factor in rules.items()}
    expected = {named[f]: ps for f, ps in zip(found.factors, found.sufficiency, strict=True)}
    assert {asked_by(rule): rule.precision for rule in a.rules} == expected


@settings(max_examples=examples(30))
@given(problems(max_d=2), thresholds, distributions)
def test_with_any_bounds_too_the_best_rule_covers_most(world, tau, distribution):
    assume(has_both_outcomes(world))
    explainer = world.explainer()
    cuts = {f"x{j}": CUTS for j in range(world.d)}
    a = anchor(explainer, world.x, tau=tau, cuts=cuts, bounds="any", distribution=distribution)
    scored = [
        score_rule(explainer, world.x, rule, distribution=distribution)
        for rule in rules_by_hand(world, CUTS).values()
    ]
    precise = [r.coverage for r in scored if r.precision is not None and r.precision >= tau]
    assert (a.best.coverage if a.best else None) == max(precise, default=None)
    cells = anchor(explainer, world.x, tau=tau, cuts=cuts, distribution=distribution)
    assert cells.best is None or a.best.coverage >= cells.best.coverage


@settings(max_examples=examples(30))
@given(problems(), thresholds, alphas)
def test_with_equal_values_perturbing_is_the_swap_with_all_the_data(world, tau, alpha):
    assume(has_both_outcomes(world))
    explainer = world.explainer()
    a = anchor(
        explainer, world.x, tau=tau, alpha=alpha, bins=3
    )  # at most three values: all must be equal
    for s, rule in every_rule(a).items():
        assert rule.precision == world.keeps([int(n[1:]) for n in s]) / len(world.references)
    keep = explainer.explain(world.x, tau=tau, alpha=alpha).keep
    assert {
        condition_names(a, r): (r.precision, r.interval, r.p_value, r.minimal_for) for r in a.rules
    } == {
        frozenset(f.features): (f.sufficiency, f.interval, f.p_value, f.minimal_for)
        for f in keep.factors
    }


@settings(max_examples=examples(30))
@given(problems(), thresholds, distributions, st.sampled_from([2, 3]))
def test_the_best_rule_covers_most_of_all_that_are_precise_enough(world, tau, distribution, bins):
    assume(has_both_outcomes(world))
    a = anchor(world.explainer(), world.x, tau=tau, bins=bins, distribution=distribution)
    rules = every_rule(a)
    precise = [r for r in rules.values() if r.precision is not None and r.precision >= tau]
    if a.best is None:
        assert not precise
        assert "No rule reaches precision" in a.reason and a.reason in unwrapped(str(a))
    else:
        assert a.reason is None
        assert a.best.precision >= tau
        assert a.best.coverage == max(r.coverage for r in precise)
    data = np.array(world.references)
    outcome = np.array([world.f(r) == world.f(world.x) for r in data])
    table = {f"x{j}": data[:, j] for j in range(world.d)}
    for s, rule in rules.items():
        satisfied = np.ones(len(data), bool) if rule.factor is None else rule.factor(table)
        assert rule.coverage == satisfied.mean()
        assert rule.necessity == (satisfied[outcome].mean() if outcome.any() else None)
        for t, wider in rules.items():
            assert not t <= s or wider.coverage >= rule.coverage


@settings(max_examples=examples(30))
@given(problems(max_d=3), thresholds, alphas, distributions)
def test_every_threshold_is_answered_from_the_same_counts(world, tau, alpha, distribution):
    assume(has_both_outcomes(world))
    a = anchor(world.explainer(), world.x, tau=1.0, bins=2, distribution=distribution)
    direct = anchor(
        world.explainer(), world.x, tau=tau, alpha=alpha, bins=2, distribution=distribution
    )
    assert a.at(tau, alpha=alpha).rules == direct.rules
    for rule in direct.rules:
        low, high = rule.minimal_for
        assert low < tau <= high


@given(arrays(bool, st.tuples(st.integers(1, 12), st.integers(0, 5))), st.data(), st.integers(0, 5))
def test_counting_by_masks_agrees_with_counting_one_by_one(satisfied, data, largest):
    observed = observe_patterns(satisfied, data.draw(arrays(bool, len(satisfied))))
    sizes = range(min(largest, satisfied.shape[1]) + 1)
    fast, slow = (count(observed, sizes) for count in (count_by_masks, count_one_by_one))
    for left, right in ((fast.hits, slow.hits), (fast.n, slow.n)):
        assert [level.tolist() for level in left] == [level.tolist() for level in right]


# -- many conditions, and bounds ------------------------------------------------------------------


@pytest.mark.parametrize("distribution", ["perturbed", "observed"])
def test_many_features_need_a_bound(distribution):
    rng = np.random.default_rng(1)
    data = rng.random((60, 30))
    x = np.where(np.isin(np.arange(30), [3, 7]), 0.95, data[0])
    explainer = Explainer(lambda rows: (rows[:, 3] + rows[:, 7] > 1.2).astype(int), data)
    with pytest.raises(InputError, match="max_size: got None with 30 conditions"):
        anchor(explainer, x, distribution=distribution)
    bounded = anchor(explainer, x, tau=0.9, distribution=distribution, max_size=2)
    assert not bounded.complete and "Larger rules were not looked at" in str(bounded)
    names = [f"x{j}" for j in (2, 3, 5, 7)]
    whole = anchor(explainer, x, tau=0.9, distribution=distribution, features=names)
    assert whole.complete and len(whole.conditions) == 4
    mine = [r for r in bounded.rules if set(r.columns) <= set(names)]
    assert [r for r in whole.rules if len(r.columns) <= 2] == mine and mine
    with pytest.raises(NotVisitedError, match="raise max_size"):
        bounded.rule("x0", "x1", "x2")
    hopeless = bounded.at(1.0, alpha=0.01)
    assert "allow larger rules (max_size)" in hopeless.reason
    assert "by its lower bound at α = 0.01" in hopeless.reason


@pytest.mark.parametrize("distribution", ["perturbed", "observed"])
def test_a_feature_may_be_bounded_from_both_sides_where_neither_bound_implies_another(distribution):
    """One cut on each side of every value: no chains, but more conditions than features."""
    data = np.array([[a, b] for a in range(3) for b in range(3)])
    explainer = Explainer(lambda rows: ((rows == 1).all(axis=1)).astype(int), data)
    cuts = {"x0": CUTS, "x1": CUTS}
    a = anchor(explainer, [1, 1], tau=1.0, cuts=cuts, bounds="any", distribution=distribution)
    assert [r.words for r in a] == ["0.5 < x0 ≤ 1.5 and 0.5 < x1 ≤ 1.5"]
    assert a.complete and a.rule("x0", "x1").precision == 1.0
    few = anchor(explainer, [1, 1], cuts=cuts, bounds="any", distribution=distribution, max_size=1)
    assert not few and not few.complete and few.rule("x0").words == "0.5 < x0 ≤ 1.5"
    with pytest.raises(NotVisitedError, match="rules of 2 features"):
        few.rule("x0", "x1")


@pytest.mark.parametrize("distribution", ["perturbed", "observed"])
def test_any_bounds_of_few_features(loans, distribution):
    explainer, x = Explainer(lender, loans), loans.iloc[8]
    whole = anchor(explainer, x, tau=0.9, bounds="any", distribution=distribution)
    few = anchor(explainer, x, tau=0.9, bounds="any", distribution=distribution, max_size=2)
    assert whole.complete and not few.complete
    assert few.rules == tuple(r for r in whole.rules if len(r.columns) <= 2)
    assert max(len(r.columns) for r in whole.rules) > 2
    cell = anchor(explainer, x, tau=0.9, distribution=distribution).rule("income", "debt")
    again = few.rule("income", "debt")
    assert (again.words, again.precision) == (cell.words, cell.precision)
    with pytest.raises(NotVisitedError, match="rules of 3 features"):
        few.rule("income", "debt", "age")
    with pytest.raises(InputError, match=r"max_size: got 2 with \d+ conditions.*bounds='cell'"):
        anchor(explainer, x, bounds="any", bins=12, max_size=2, distribution=distribution)


def test_constant_columns_have_no_conditions():
    data = np.column_stack([np.ones(6), np.arange(6)])
    explainer = Explainer(lambda rows: (rows[:, 1] > 0).astype(int), data)
    a = anchor(explainer, data[3], tau=0.8, features=["x0"])
    assert a.conditions == () and a.complete
    assert a.best.words == "always" and a.best.factor is None and a.best.columns == ()
    assert (a.best.precision, a.best.coverage, a.best.necessity) == (5 / 6, 1.0, 1.0)
    assert score_rule(explainer, data[3], None).precision == 5 / 6
    assert "the highest is 0.833, of 'always'" in a.at(0.9).reason
