"""Any rule measured: precision, coverage and necessity of a user's own."""

import numpy as np
import pytest
from hypothesis import assume, given

from suffice import Explainer, compare, datasets, equals, versus
from suffice.rules import anchor, score_rule
from tests.random_problems import has_both_outcomes, problems, thresholds
from tests.rules.rule_cases import cut_options, distributions, lender, with_cuts


@pytest.fixture(scope="module")
def loans():
    return datasets.loans(n=300)[0]


@given(problems(max_d=3), thresholds, distributions, cut_options)
def test_scoring_a_rule_again_gives_its_numbers(world, tau, distribution, options):
    assume(has_both_outcomes(world))
    explainer, options = world.explainer(), with_cuts(world, options)
    for rule in anchor(explainer, world.x, tau=tau, distribution=distribution, **options).rules:
        again = score_rule(explainer, world.x, rule.factor, distribution=distribution, tau=tau)
        assert (again.precision, again.interval, again.n, again.p_value) == (
            rule.precision,
            rule.interval,
            rule.n,
            rule.p_value,
        )
        assert (again.coverage, again.necessity) == (rule.coverage, rule.necessity)
        assert again.minimal_for is None


def test_a_rule_that_is_no_conjunction_moves_whole(loans):
    rule = (compare("income", ">", 60) | compare("debt", "<=", 5)) & equals("home", "owns")
    explainer = Explainer(lender, loans, outcome="granted")
    scored = score_rule(explainer, None, rule)
    assert scored.words == "(income > 60 or debt ≤ 5) and home = owns"
    assert scored.n == len(loans) and scored.columns == ("income", "debt", "home")
    satisfied = ((loans["income"] > 60) | (loans["debt"] <= 5)) & (loans["home"] == "owns")
    granted = lender(loans) == "granted"
    assert scored.coverage == satisfied.mean()
    assert scored.necessity == satisfied[granted].mean()
    observed = score_rule(explainer, None, rule, distribution="observed")
    assert observed.precision == granted[satisfied].mean() and observed.n == satisfied.sum()


def test_a_sample_of_another_tool(loans):
    rule = compare("income", ">", 60)
    explainer = Explainer(lender, loans, outcome="granted")
    sample = loans.sample(100, random_state=1)
    scored = score_rule(explainer, None, rule, sample=sample)
    fits = sample[sample["income"] > 60]
    assert scored.precision == (lender(fits) == "granted").mean() and scored.n == len(fits)
    assert scored.coverage == (loans["income"] > 60).mean()
    none = score_rule(explainer, None, rule, sample=sample[sample["income"] < 30])
    assert (none.precision, none.interval, none.n) == (None, None, 0)


def test_an_outcome_by_scores():
    """The data's own answers are labels, so the model is asked for their scores."""

    def scores(rows):
        return np.column_stack([rows[:, 0], rows[:, 1], 0.5 + 0 * rows[:, 0]])

    data = np.random.default_rng(0).random((80, 2))
    explainer = Explainer(scores, data, outcome=versus(0, 1))
    scored = score_rule(explainer, None, compare("x0", ">", 0.5), distribution="observed")
    above = data[data[:, 0] > 0.5]
    assert scored.precision == (above[:, 0] > above[:, 1]).mean()
