"""Columns of any kind, asked every question: each is answered, or refused in words."""

from datetime import date
from decimal import Decimal
from enum import Enum

import numpy as np
import pandas as pd
import polars as pl
import pytest

from suffice import (
    CausalContext,
    CausalModel,
    ConditionalContext,
    Explainer,
    InputError,
    SufficeError,
    equals,
)
from tests.odd_values import what_is_wrong


class Colour(Enum):
    RED = 1
    BLUE = 2


DAYS = ["2020-01-01", "2021-01-01", None, "2020-01-01", "2022-01-01", "2020-01-02"]
NA = pd.NA


def objects(*cells):
    return pd.Series(cells, dtype=object)


COLUMNS = {
    "infinite": [np.inf, 1.0, 2.0, np.inf, 3.0, -np.inf],
    "huge": [1e308, -1e308, 1e308, 0.0, 1e308, 5.0],
    "missing numbers": [np.nan, 1.0, np.nan, 2.0, 3.0, 4.0],
    "signed zeros": [0.0, -0.0, 0.0, -0.0, 1.0, 2.0],
    "complex": [1j, 2.0, 1.0, 0.0, 1j, 3.0],
    "long integers": objects(10**30, 1, 2, 10**30, 3, 4),
    "decimals": objects(*map(Decimal, ["1", "NaN", "2", "1", "3", "4"])),
    "lists": objects([1], [2], [1, 2], [], [1], None),
    "tuples": objects((1,), (2,), (1, 2), (), (1,), None),
    "mappings": objects({"a": 1}, {"a": 2}, {}, None, {"a": 1}, {"b": 1}),
    "arrays": objects(*[np.arange(k) for k in (1, 2, 1, 0, 1, 3)]),
    "text with NA": objects(NA, "a", "b", "a", NA, "b"),
    "odd text": objects("\ud800", "a", "\x00", "", "a", "=1+1"),
    "bytes": objects(b"a", b"b", b"", b"a", b"c", b"a"),
    "kinds mixed": objects(1, "1", True, 1.0, None, b"1"),
    "enums": objects(Colour.RED, Colour.BLUE, Colour.RED, Colour.RED, Colour.BLUE, None),
    "dates": objects(*[day and date.fromisoformat(day) for day in DAYS]),
    "moments": pd.to_datetime(DAYS),
    "moments of a zone": pd.to_datetime(DAYS, utc=True),
    "durations": pd.to_timedelta([1, 2, None, 1, 2, 3], unit="s"),
    "periods": pd.period_range("2020", periods=6, freq="D"),
    "intervals": pd.interval_range(0, 6),
    "nullable numbers": pd.array([NA, 1, 2, 3, 4, 5], dtype="Int64"),
    "nullable text": pd.array([NA, "a", "b", "a", "b", "a"], dtype="string"),
    "nullable truth": pd.array([True, NA, False, True, False, True], dtype="boolean"),
    "categories": pd.Categorical(["a", "b", None, "a", "b", "c"]),
    "ordered categories": pd.Categorical(["a", "b", None, "a", "b", "c"], ordered=True),
    "sparse": pd.arrays.SparseArray([0, 0, 1, 0, 1, 2]),
    "constant": [1] * 6,
}


def odd(rows):
    return [int(k) % 2 for k in rows["k"]]


def explained(**options):
    return lambda data, x: Explainer(odd, data).explain(x, **options)


def by(context):
    return lambda data, x: Explainer(odd, data, context=context(data)).explain(x)


def caused(*edge):
    return by(lambda data: CausalContext(CausalModel([edge], data, fit="paper")))


def recourse(**options):
    return lambda data, x: Explainer(odd, data).recourse(x, **options)


QUESTIONS = [
    explained(),
    explained(search="greedy"),
    explained(search="pruned"),
    lambda data, x: Explainer(odd, data, groups="auto").explain(x),
    by(lambda data: ConditionalContext(n_drawn=2)),
    caused("c", "k"),
    caused("k", "c"),
    recourse(forbidden=equals("c", "a")),
    recourse(values="grid"),
    recourse(values="grid", steps={"c": 1}),
    recourse(increasing="c"),
    recourse(ranges={"c": (0, 3)}),
    lambda data, x: Explainer(odd, data).anchor(x, tau=0.5),
    lambda data, x: Explainer(odd, data).score_rule(x, equals("c", "a")),
    lambda data, x: Explainer(odd, data).plausibility(x, n_hybrids=10),
]


def tables(column):
    frame = pd.DataFrame({"c": column, "k": range(1, 7)})
    yield frame, frame.iloc[[0]]
    try:
        other = pl.from_pandas(frame)
    except Exception:  # a kind of cell that polars has no column for
        return
    yield other, other[0]


@pytest.mark.parametrize("column", COLUMNS)
def test_every_question_of_every_kind_of_column_is_answered_or_refused_in_words(column):
    for data, x in tables(COLUMNS[column]):
        answered = 0
        for ask in QUESTIONS:
            try:
                answer = ask(data, x)
            except SufficeError as error:
                assert what_is_wrong(error, ("",)) is None
                continue
            answered += 1
            assert type(answer).from_json(answer.to_json()) == answer
            assert str(answer) and answer.to_html() and answer.to_frame() is not None
        assert answered >= 7  # all but those that need an order, or a probability


def test_no_step_leads_to_infinity_or_from_it():
    explainer = Explainer(odd, pd.DataFrame({"c": COLUMNS["infinite"], "k": range(1, 7)}))
    grid = {"values": "grid", "steps": {"c": 0.5, "k": 1}}
    for option in explainer.recourse({"c": 2.0, "k": 1}, **grid):
        assert np.isfinite(option.values.get("c", 0.0))
    for option in explainer.recourse({"c": np.inf, "k": 1}, **grid):
        assert "c" not in option.changes


def test_steps_through_huge_numbers_are_too_many():
    explainer = Explainer(odd, pd.DataFrame({"c": COLUMNS["huge"], "k": range(1, 7)}))
    with pytest.raises(InputError, match=r"steps: got c: 1, which makes no end of values; allow"):
        explainer.recourse({"c": 2.0, "k": 1}, values="grid", steps={"c": 1})
