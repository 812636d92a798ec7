"""Conditions of rules on a column, and their text."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given, settings, strategies as st

from suffice import Explainer, Rule, auxiliary, between, compare, datasets, equals, isin
from suffice.factors.rule_text import format_rule
from suffice.rules import anchor, score_rule
from suffice.rules.conditions import Conditions
from suffice.rules.rule_counts import perturb
from tests.effort import examples
from tests.rules.rule_cases import lender


@pytest.fixture(scope="module")
def loans():
    return datasets.loans(n=300)[0]


def condition_of(data, x, column, **options):
    model = len(data) * [0, 1]
    explainer = Explainer(lambda rows: np.array(model[: len(rows)]), data, references="all")
    found = {
        c.feature: c for c in anchor(explainer, x, distribution="observed", **options).conditions
    }
    return repr(found[column].factor) if column in found else None


def test_numbers_are_cut_into_quantile_bins():
    data = pd.DataFrame({"a": np.arange(20), "f": np.arange(20) / 7, "b": [0, 1] * 10})
    at = {"f": 1.1, "b": 1}
    assert condition_of(data, {"a": 7, **at}, "a") == "compare('a', '>', 4) & compare('a', '<=', 9)"
    assert condition_of(data, {"a": 4, **at}, "a") == "compare('a', '<=', 4)"
    assert condition_of(data, {"a": 99, **at}, "a") == "compare('a', '>', 14)"
    assert condition_of(data, {"a": 7, **at}, "f") == (
        "compare('f', '>', 0.7) & compare('f', '<=', 1.4)"
    )
    assert condition_of(data, {"a": 7, **at}, "b") == "equals('b', 1)"
    cut = {"cuts": {"b": [0.5], "a": [3, 8.5]}}
    assert condition_of(data, {"a": 7, **at}, "b", **cut) == "compare('b', '>', 0.5)"
    assert condition_of(data, {"a": 8, **at}, "a", **cut) == (
        "compare('a', '>', 3) & compare('a', '<=', 8.5)"
    )
    assert condition_of(data, {"a": 7, **at}, "a", categorical=["a"]) == "equals('a', 7)"
    assert condition_of(data, {"a": 7, **at}, "a", cuts={"a": [100]}) is None


@settings(max_examples=examples(60))
@given(st.lists(st.floats(-1e6, 1e6), min_size=6, max_size=30), st.integers(2, 6), st.data())
def test_short_cuts_part_the_data_as_the_quantiles_do(values, bins, data):
    values = np.array(values)
    assume(len(np.unique(values)) > bins)
    x = data.draw(st.sampled_from(values.tolist()))
    quantiles = np.unique(np.quantile(values, np.arange(1, bins) / bins))
    cell = np.searchsorted(quantiles, values) == np.searchsorted(quantiles, x)
    frame = pd.DataFrame({"v": values, "other": np.arange(len(values)) % 2})
    explainer = Explainer(lambda rows: rows["other"].to_numpy(), frame)
    a = anchor(explainer, {"v": x, "other": 0}, bins=bins, distribution="observed")
    assert (
        a.rule("v").n == cell.sum() if any(c.feature == "v" for c in a.conditions) else cell.all()
    )


def test_missing_values_categories_and_truths():
    data = pd.DataFrame(
        {
            "n": [1.0, 2.0, 3.0, 4.0, 5.0, np.nan] * 3,
            "i": pd.array([1, 2, 3, 4, 5, None] * 3, dtype="Int64"),
            "c": pd.Categorical([3, 4, 3, 4, 3, 4] * 3),
            "s": ["a", None, "b"] * 6,
            "t": [True, False] * 9,
            "same": ["z"] * 18,
        }
    )
    for r, expected in ((5, "equals('{}', None)"), (0, "compare('{}', '<=', 2)")):
        for column in "ni":
            assert condition_of(data, data.iloc[r], column) == expected.format(column)
    assert condition_of(data, data.iloc[0], "c") == "equals('c', 3)"
    assert condition_of(data, data.iloc[1], "s") == "equals('s', None)"
    assert condition_of(data, data.iloc[1], "t") == "equals('t', False)"
    assert condition_of(data, data.iloc[0], "same") is None
    explainer = Explainer(lambda rows: rows["t"].to_numpy(), data)
    for r in range(6):
        a = anchor(explainer, data.iloc[r], bins=3)
        assert a.best.words == ("t = yes" if r % 2 == 0 else "t = no")


def test_numbers_that_are_all_missing_give_no_condition_on_a_number():
    data = pd.DataFrame({"n": [np.nan] * 6, "v": range(6)})
    assert condition_of(data, {"n": 3.0, "v": 1}, "n", bins=2) == "equals('n', 3.0)"
    assert condition_of(data, {"n": np.nan, "v": 1}, "n") is None


def test_a_group_has_one_condition_on_all_of_its_columns(loans):
    explainer = Explainer(lender, loans, groups={"money": ["income", "debt"]})
    a = anchor(explainer, loans.iloc[8], tau=0.9)
    money = next(c for c in a.conditions if c.feature == "money")
    assert set(money.factor.columns()) == {"income", "debt"}
    assert any({"income", "debt"} <= set(rule.columns) for rule in a.rules)
    for rule in a.rules:
        assert score_rule(explainer, loans.iloc[8], rule.factor).precision == rule.precision
    # Where the row fails any of the group's conditions, all of them come from one row.
    hybrids = perturb(explainer.decide(loans.iloc[8]), Conditions([money]))
    made = hybrids.rows(np.ones((hybrids.n, 1), bool), np.arange(hybrids.n))
    pairs = set(map(tuple, loans[["income", "debt"]].to_numpy().tolist()))
    assert set(map(tuple, made.native[["income", "debt"]].to_numpy().tolist())) <= pairs


def test_frames_of_any_kind_give_the_same_rules(loans):
    columns = ["income", "debt", "late payments", "home"]
    as_polars = pl.DataFrame(loans[columns].to_dict(orient="list"))
    found = []
    for data in (loans[columns], as_polars, loans[columns].astype({"home": "category"})):
        ask = lender if isinstance(data, pd.DataFrame) else lambda f: lender(f.to_pandas())
        found.append(anchor(Explainer(ask, data), loans.iloc[8][columns].to_dict(), tau=0.9).rules)
    assert found[0] == found[1] == found[2]
    codes = loans[columns].assign(home=loans["home"] == "owns").to_numpy(dtype=float)

    def on_array(rows):
        frame = pd.DataFrame(rows, columns=columns)
        return lender(frame.assign(home=np.where(frame["home"] == 1, "owns", "rents")))

    a = anchor(Explainer(on_array, codes), codes[8], tau=0.9)
    assert a.best.columns == tuple(f"x{columns.index(name)}" for name in found[0][0].columns)


def test_words():
    assert format_rule(equals("a", None) & compare("a", "!=", 3)) == "a is missing and a ≠ 3"
    assert format_rule(isin("a", ["p", "q"]) | ~equals("b", 2.0)) == "a in {p, q} or not (b = 2)"
    assert format_rule(between("a", 1, 2.5) & auxiliary("w")) == "1 ≤ a ≤ 2.5 and w"
    within_3 = compare("a", "<", 3) & compare("b", ">", 1) & compare("a", ">=", 0.5)
    assert format_rule(within_3) == "0.5 ≤ a < 3 and b > 1"
    assert format_rule(within_3 | equals("c", True)) == "(0.5 ≤ a < 3 and b > 1) or c = yes"


def test_words_lose_no_digit_of_a_bound_and_show_values_as_everywhere():
    third = 1 / 3
    assert format_rule(compare("a", "<=", third)) == f"a ≤ {third!r}"
    assert float(format_rule(compare("a", "<=", third)).split()[-1]) == third
    assert format_rule(compare("a", ">", 1e23) & between("b", -2.0, 1e-7)) == (
        "a > 1e+23 and -2 ≤ b ≤ 1e-07"
    )
    assert format_rule(equals("on", "2020-01-31T00:00:00") & equals("ok", False)) == (
        "on = 2020-01-31 and ok = no"
    )
    assert format_rule(equals("a\x1b[31m", "x\u202e")) == "a␛[31m = x�"
    assert format_rule(equals("a", "")) == 'a = ""'


@pytest.mark.parametrize("dtype", [np.float64, np.float32, object])
def test_an_infinite_value_is_a_condition_and_stored(dtype):
    values = np.array([np.inf, -np.inf, 0.0] * 4, dtype=dtype)
    data = pd.DataFrame({"v": values, "other": range(12)})
    explainer = Explainer(lambda f: (f["v"].astype(float) > 0).to_numpy().astype(int), data)
    for row, words in ((0, "v > "), (1, "v < "), (2, "v = 0")):
        rule = anchor(explainer, data.iloc[row].to_dict(), distribution="observed").rule("v")
        assert rule.words.startswith(words) and (rule.n, rule.precision) == (4, 1.0)
        assert Rule.from_json(rule.to_json()) == rule


def test_numbers_too_far_apart_to_subtract_are_cut_between_them():
    values = np.array([-1.7, -1.6, -1.5, 1.5, 1.6, 1.7]) * 1e308
    data = pd.DataFrame({"v": values, "other": [0, 1, 0] * 2})
    explainer = Explainer(lambda f: (f["v"] > 0).to_numpy().astype(int), data)
    for row in (0, 5):
        rule = anchor(explainer, data.iloc[row], bins=2, distribution="observed").rule("v")
        assert (rule.n, rule.precision, rule.coverage) == (3, 1.0, 0.5)
