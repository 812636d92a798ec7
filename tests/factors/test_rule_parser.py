"""Rules written as text: read as they are meant, and errors that point at the place."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from suffice import InputError, Sample, compare, equals, isin
from suffice.factors.rule_text import format_rule, parse_rule
from suffice.tables import as_table

FRAME = pd.DataFrame(
    {
        "age": [20, 35, 41, 50],
        "late payments": [0, 1, 2, 1],
        "late": [5, 6, 7, 8],
        "job": ["clerk", "bread and butter", "not in work", "smith"],
        "own": [True, False, True, False],
        "rate": [0.651815181, 1.0, None, 1.25],
    }
)
DATA = as_table(FRAME)


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("age > 30 and job = smith", [3]),
        ("30 < age <= 41", [1, 2]),
        ("30 < age ≤ 41 and job = bread and butter", [1]),
        ("late payments <= 1.00", [0, 1, 3]),
        ("late >= 7", [2, 3]),
        ("'late payments' = 2 or `age` = 20", [0, 2]),
        ("not (age = 20 or age = 50)", [1, 2]),
        ("NOT age = 20 AND own = yes", [2]),
        ("job in {clerk, not in work} and own = true", [0, 2]),
        ("job not in [clerk]", [1, 2, 3]),
        ("job = 'bread and butter'", [1]),
        ('"job" != "clerk"', [1, 2, 3]),
        ("job = Clerk", [0]),
        ("rate = 0.65", [0]),
        ("rate = 0.651815", [0]),
        ("rate is missing", [2]),
        ("rate is not missing and rate < 1.1", [0, 1]),
        ("age between 35 and 41 & own = no", [1]),
        ("age>30,job=smith", [3]),
        ("own=False", [1, 3]),
        ("50 = age", [3]),
        ("age > -5 and age < 2.5e1", [0]),
    ],
)
def test_a_text_means_these_rows(text, rows):
    assert np.flatnonzero(parse_rule(text, DATA)(Sample(DATA))).tolist() == rows


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("age >", "at its end; allowed: a value for 'age'"),
        ("age > and job = clerk", "at “and job = clerk”; allowed: a value for 'age'"),
        ("agee > 3", "at “agee > 3”; allowed: a condition on a column, .*Did you mean 'age'"),
        ("age > 3 and", "at its end; allowed: a condition"),
        ("age > 3 job = clerk", "at “job = clerk”; allowed: 'and', 'or', or the end"),
        ("age = 99", "at “99”; allowed: a value that 'age' has in the data. Known: 20, 35, 41, 50"),
        ("job = smth", "at “smth”; allowed: a value that 'job' has.*Did you mean 'smith'"),
        ("(age > 3", r"at its end; allowed: '\)' here"),
        ("job in clerk", r"at “clerk”; allowed: values in braces, such as \{a, b\}"),
        ("age", "at its end; allowed: =, <, <=, >, >=, != or 'in' after 'age'"),
        ("age > old", "at “old”; allowed: a number after 'age' >"),
        ("rate = 1.", None),
        ("late payments = 1 or or", "at “or”; allowed: a condition"),
        ("", "rule: got '', at its end"),
        ("(" * 60, "at most 50 brackets"),
        ("__import__('os').system('true')", "a condition on a column"),
    ],
)
def test_what_cannot_be_read_is_pointed_at(text, message):
    if message is None:
        assert parse_rule(text, DATA) == equals("rate", 1.0)
        return
    with pytest.raises(InputError, match=message):
        parse_rule(text, DATA)


def test_values_that_round_alike_are_not_guessed():
    data = as_table(pd.DataFrame({"rate": [0.651, 0.652, 1.0]}))
    with pytest.raises(InputError, match=r"more digits: 0.651, 0.652 are all written so"):
        parse_rule("rate = 0.65", data)


def test_what_codes_are_called_elsewhere_is_read():
    data = as_table(pd.DataFrame({"job": [0, 1, 2]}))
    names = {"job": ["head clerk", "smith", "none"]}
    assert parse_rule("job = head clerk", data, names) == equals("job", 0)
    by_value = {"job": {2: "none of these"}}
    assert parse_rule("job in {none of these, 1}", data, by_value) == isin("job", [2, 1])


number = st.sampled_from([20, 35.5, 41, -3])
atoms = st.one_of(
    st.builds(lambda s, v: compare("age", s, v), st.sampled_from(["<", "<=", ">", ">="]), number),
    st.builds(lambda v: equals("job", v), st.sampled_from(list(FRAME["job"]))),
    st.builds(lambda v: isin("job", v), st.lists(st.sampled_from(list(FRAME["job"])), min_size=1)),
    st.builds(lambda v: equals("own", v), st.booleans()),
    st.just(equals("rate", None)),
    st.builds(lambda v: compare("job", "!=", v), st.sampled_from(list(FRAME["job"]))),
)
rules = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.builds(lambda a, b: a & b, inner, inner),
        st.builds(lambda a, b: a | b, inner, inner),
        st.builds(lambda a: ~a, inner),
    ),
    max_leaves=6,
)


@given(rules)
def test_what_a_factor_says_is_read_back(rule):
    again = parse_rule(format_rule(rule), DATA)
    assert again(Sample(DATA)).tolist() == rule(Sample(DATA)).tolist()
