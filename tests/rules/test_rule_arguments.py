"""Errors about arguments of anchor and score_rule that cannot be used."""

from inspect import signature
from typing import get_type_hints

import numpy as np
import pandas as pd
import pytest

from suffice import Explainer, Factor, InputError, at_least, compare, datasets, equals, within
from suffice.rules import AnchorOptions, ScoreOptions, anchor, score_rule
from tests.rules.rule_cases import lender


@pytest.fixture(scope="module")
def loans():
    return datasets.loans(n=300)[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tau": 0}, "tau: got 0"),
        ({"tau": True}, r"tau: got True; allowed: a number in \(0, 1\]"),
        ({"tau": np.array([0.9, 0.8])}, "tau: got array"),
        ({"alpha": 2}, "alpha: got 2"),
        ({"alpha": "0.05"}, "alpha: got '0.05'; allowed: None or a number"),
        ({"bins": 1}, "bins: got 1; allowed: a whole number >= 2"),
        ({"bins": True}, "bins: got True"),
        ({"bounds": "all"}, "bounds: got 'all'; allowed: 'cell' or 'any'"),
        ({"bounds": np.array(["cell", "any"])}, "bounds: got array.*; allowed: 'cell' or 'any'"),
        ({"cuts": [1]}, r"cuts: got \[1\]; allowed: \{column"),
        ({"cuts": {"agee": [1]}}, "cuts: got unknown column 'agee'.*Did you mean 'age'"),
        ({"cuts": {"home": [1]}}, "cuts: got column 'home' of dtype"),
        ({"cuts": {"age": [40, 30]}}, r"cuts: got \[40, 30\] for column 'age'"),
        ({"cuts": {"age": []}}, "finite numbers, each larger"),
        ({"cuts": {"age": [np.inf]}}, "finite numbers"),
        ({"cuts": {"age": "30"}}, "finite numbers"),
        ({"cuts": {"age": None}}, "cuts: got None for column 'age'"),
        ({"cuts": {"age": [[30], [40, 50]]}}, r"cuts: got \[\[30\], \[40, 50\]\] for column"),
        ({"cuts": {"age": [30]}, "categorical": ["age"]}, "'age', which is also categorical"),
        ({"cuts": {"age": [30]}, "categorical": "age"}, "'age', which is also categorical"),
        ({"categorical": 3}, "categorical: got 3; allowed: a column or a list of columns"),
        ({"categorical": ["agee"]}, "categorical: got unknown column 'agee'"),
        ({"features": []}, r"features: got \[\]; allowed: a name or a list of names"),
        ({"features": 3}, "features: got 3"),
        ({"features": np.array(3)}, r"features: got array\(3\)"),
        ({"features": ["agee"]}, "features: got unknown feature 'agee'.*Did you mean 'age'"),
        ({"distribution": "all"}, "distribution: got 'all'; allowed: 'perturbed' or 'observed'"),
        ({"distribution": ["observed"]}, r"distribution: got \['observed'\]; allowed: 'perturbed'"),
        ({"n_rows": 0}, "n_rows: got 0"),
        ({"n_rows": 2.0}, "n_rows: got 2.0; allowed: a whole number >= 1"),
        (
            {"n_rows": 5, "distribution": "observed"},
            "n_rows: got 5; allowed: None with distribution='observed'",
        ),
        ({"max_size": 0}, "max_size: got 0"),
        ({"max_size": True}, "max_size: got True"),
    ],
)
def test_an_option_that_cannot_be_used_is_named(loans, options, message):
    with pytest.raises(InputError, match=message):
        anchor(Explainer(lender, loans), loans.iloc[8], **options)


def test_one_name_is_as_good_as_a_list_of_one(loans):
    explainer, x = Explainer(lender, loans), loans.iloc[8]
    assert anchor(explainer, x, features="debt") == anchor(explainer, x, features=["debt"])
    assert anchor(explainer, x, categorical="age") == anchor(explainer, x, categorical=["age"])


def test_everything_after_the_input_is_given_by_name(loans):
    with pytest.raises(TypeError, match="takes 2 positional arguments"):
        anchor(Explainer(lender, loans), loans.iloc[8], 0.9)


def test_more_conditions_than_any_number_has_digits_for():
    data = np.random.default_rng(0).random((5, 1200))
    explainer = Explainer(lambda rows: (rows[:, 0] > 0.5).astype(int), data, references="all")
    with pytest.raises(InputError, match=r"None with 1200 conditions, so 1\.7e\+361 sets of them"):
        anchor(explainer, data[0])


def test_a_value_that_no_rule_can_name():
    data = pd.DataFrame({"d": pd.date_range("2020-01-01", periods=8), "v": range(8)})
    explainer = Explainer(lambda rows: (rows["v"] > 3).to_numpy(), data)
    with pytest.raises(InputError, match=r"column 'd', whose value '2020-01-01'.*features=\[…\]"):
        anchor(explainer, data.iloc[0])
    assert anchor(explainer, data.iloc[0], features=["v"]).best.words == "v ≤ 1"


class Broken(Factor, frozen=True, tag="broken"):
    """A factor of a user's own."""

    answer: object

    def __call__(self, z):
        if self.answer is None:
            raise KeyError("no such thing")
        return self.answer

    def columns(self):
        return iter(["age"])


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (None, "rule: got a function that raised KeyError: 'no such thing'; allowed: a factor"),
        (np.ones(3, bool), r"rule: got bool of shape \(3,\); allowed: a factor that gives one"),
        (np.ones(300), r"rule: got float64 of shape \(300,\)"),
    ],
)
def test_a_users_factor_that_fails_is_reported_as_theirs(loans, answer, message):
    with pytest.raises(InputError, match=message):
        score_rule(Explainer(lender, loans), loans.iloc[8], Broken(answer))


def test_a_rule_that_cannot_be_used_is_named(loans):
    explainer, x = Explainer(lender, loans), loans.iloc[8]
    with pytest.raises(InputError, match="rule: got income > 3; allowed: a factor"):
        score_rule(explainer, x, "income > 3")
    with pytest.raises(InputError, match=r"rule: got unknown column 'incom'.*'income'"):
        score_rule(explainer, x, equals("incom", 3))
    with pytest.raises(InputError, match="no row of the data satisfies"):
        score_rule(explainer, x, compare("income", ">", 10**6))
    with pytest.raises(InputError, match="distribution: got 'observed' and a sample"):
        score_rule(explainer, x, equals("home", "owns"), sample=loans, distribution="observed")
    with pytest.raises(InputError, match="sample: got no column 'age', 'income', 'job'"):
        score_rule(explainer, x, equals("home", "owns"), sample=loans[["home"]])
    with pytest.raises(InputError, match="x: got None, and an outcome that depends"):
        score_rule(explainer, None, equals("home", "owns"))
    numbers = loans[["age", "debt"]]
    for outcome, fine in ((within(3), False), (at_least(30), True)):
        valued = Explainer(lambda f: f["age"] + f["debt"] * 1.0, numbers, outcome=outcome)
        if fine:
            assert score_rule(valued, None, compare("age", ">", 40)).precision == 1.0
        else:
            with pytest.raises(InputError, match="depends on the input"):
                score_rule(valued, None, compare("age", ">", 40))


@pytest.mark.parametrize("ask", [anchor, lambda e, x: score_rule(e, x, None)])
def test_rules_need_an_explainer_of_a_table(ask):
    with pytest.raises(InputError, match="explainer: got int; allowed: an Explainer"):
        ask(3, [1.0])


@pytest.mark.parametrize(
    ("function", "options", "positional"),
    [(anchor, AnchorOptions, 2), (score_rule, ScoreOptions, 3)],
)
def test_the_door_names_every_option(function, options, positional):
    named = list(signature(function).parameters)[positional:]
    assert named == list(get_type_hints(options))


def test_the_door_answers_as_the_functions_do(loans):
    explainer, x = Explainer(lender, loans), loans.iloc[8]
    assert explainer.anchor(x, max_size=2) == anchor(explainer, x, max_size=2)
    rule = equals("home", "owns")
    assert explainer.score_rule(x, rule, tau=0.5) == score_rule(explainer, x, rule, tau=0.5)
