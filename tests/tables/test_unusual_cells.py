"""Cells that are rare and right: explained on every kind of table, stored, shown and read back."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from enum import Enum

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from suffice import (
    CausalContext,
    CausalModel,
    ConditionalContext,
    Explainer,
    Explanation,
    InputError,
    ModelError,
    SufficeError,
    equals,
)
from suffice.factors import factor_from_json
from suffice.tables.cells import object_array
from tests.public_api.invalid_values import message_fault

LONE = "\ud800"


def in_pandas(cells):
    return pd.DataFrame({"v": pd.Series(cells, dtype=object), "n": range(len(cells))})


def in_inferred(cells):
    return pd.DataFrame({"v": cells, "n": range(len(cells))})


def in_polars(cells):
    return pl.DataFrame({"v": cells, "n": range(len(cells))})


def in_pyarrow(cells):
    return pa.table({"v": cells, "n": list(range(len(cells)))})


def in_numpy(cells):
    return np.stack([object_array([cell, i]) for i, cell in enumerate(cells)])


KINDS = {"pandas": in_pandas, "polars": in_polars, "pyarrow": in_pyarrow, "numpy": in_numpy}
EVERY = pytest.mark.parametrize("made", KINDS.values(), ids=KINDS)


def column(rows, j):
    if isinstance(rows, pa.Table):
        return rows.column(j).to_pylist()
    if isinstance(rows, pl.DataFrame):
        return rows.to_series(j).to_list()
    return np.asarray(rows, dtype=object)[:, j].tolist()


def first_row(data):
    return data.iloc[[0]] if isinstance(data, pd.DataFrame) else data[:1]


def by_number(rows):
    """A model that looks at the other column only."""
    return np.array([int(n) % 5 > 1 for n in column(rows, 1)]).astype(int)


# -- what a model may tell apart --------------------------------------------------------


@pytest.mark.parametrize("engine", ["auto", "blackbox"])
@EVERY
def test_a_model_that_reads_the_sign_of_zero_predicts_both_zeros(made, engine):
    data = made([0.0, -0.0, -0.0, 1.0, -0.0, 2.0])

    def negative(rows):
        return np.signbit(np.array(column(rows, 0), dtype=float)).astype(int)

    e = Explainer(negative, data, references="all", engine=engine).explain(first_row(data))
    assert e.keep.sufficiency([]) == 0.5
    assert e.flip.sufficiency(e.players[0].name) == 0.5
    assert e.keep.sufficiency(e.players[0].name) == 1.0


@EVERY
def test_a_model_that_reads_a_nul_predicts_both_texts(made):
    data = made(["", "\x00", "\x00", ""])

    def empty(rows):
        return np.array([cell == "" for cell in column(rows, 0)]).astype(int)

    e = Explainer(empty, data, references="all").explain(first_row(data))
    assert e.keep.sufficiency([]) == 0.5 and e.flip.sufficiency(e.players[0].name) == 0.5
    assert Explanation.from_json(e.to_json()) == e


# -- infinite and very large numbers ----------------------------------------------------


@pytest.mark.parametrize(
    "cells",
    [
        [np.inf, 1.0, np.inf, -np.inf, 2.0, 3.0],
        [1e308, -1e308, 1e308, 0.0, 5.0, -1e308],
        [np.inf] * 6,
        [np.nan, np.inf, -np.inf, 1.0, 5e-324, 1e308],
        [1.0, 1.0, 1.0, 1.0, 1.0, np.inf],
    ],
)
@pytest.mark.parametrize("made", [in_inferred, in_polars, in_pyarrow, in_numpy])
def test_infinite_and_very_large_numbers_have_costs_and_distances(made, cells):
    data = made(cells)
    for context in (None, ConditionalContext(n_drawn=3)):
        explainer = Explainer(by_number, data, references="all", context=context)
        for row in range(len(cells)):
            x = data.iloc[[row]] if isinstance(data, pd.DataFrame) else data[row : row + 1]
            e = explainer.explain(x, tau=0.1)
            assert all(f.change is None or 0 <= f.cost < np.inf for f in e.flip.barcode)
            assert Explanation.from_json(e.to_json()) == e
        assert 0 <= explainer.plausibility(x, n_hybrids=50).far <= 1
    assert Explainer(by_number, data).recourse(first_row(data)).options


def test_cost_of_infinite_values():
    data = pd.DataFrame({"v": [np.inf, 1.0, -np.inf, np.inf, np.nan, 3.0, 5.0]})
    explainer = Explainer(lambda rows: (rows["v"] == 3).astype(int), data)
    assert explainer.explain({"v": 5.0}).flip.factors[0].cost == 1.0  # |5 - 3| by a MAD of 2
    assert explainer.explain({"v": np.nan}).flip.factors[0].cost is None  # from missing: never
    assert explainer.explain({"v": np.inf}).flip.factors[0].change is None  # from inf: never
    wide = pd.DataFrame({"v": [1e308, -1e308, 0.0], "n": [0, 1, 2]})
    flips = Explainer(lambda rows: (rows["v"] > 0).astype(int), wide).explain(wide.iloc[0]).flip
    assert flips.factors[0].cost == 1.0  # zero is one deviation of 1e308 away


def test_references_that_are_infinitely_far_come_last():
    data = pd.DataFrame({"v": [0.0, 1.0, np.inf, -np.inf], "n": [3.0, 1.0, 2.0, 3.0]})
    context = ConditionalContext(n_drawn=1)
    hybrids = (
        Explainer(by_number, data, references="all", context=context)
        .decide(data.iloc[1])
        .hybrids[0]
    )
    held = np.array([[True, False], [False, True], [True, True]])
    chosen = hybrids.pool.native["v"].iloc[hybrids.donors(held)[:, 0]].tolist()
    assert chosen == [1.0, 1.0, 1.0]


# -- lists, records, missing values of every kind ---------------------------------------

NESTED = {
    "lists": [[1, 2], [3], [1, 2], [4, 5], [], [3]],
    "records": [{"p": 1}, {"p": 2}, {"p": 1}, {"p": 3}, {"p": 4}, {"p": 2}],
}


@pytest.mark.parametrize("cells", NESTED.values(), ids=NESTED)
@EVERY
def test_nested_cells_are_held_and_replaced_whole(made, cells):
    data = made(cells)

    def model(rows):
        return np.array([cell == cells[0] for cell in column(rows, 0)]).astype(int)

    explainer = Explainer(model, data, references="all")
    e = explainer.explain(first_row(data))
    assert e.keep.sufficiency([]) == 2 / 6
    assert e.flip.sufficiency(e.players[0].name) == 4 / 6
    assert e.players[0].values[e.players[0].name] == str(cells[0])
    named = dict(zip([p.name for p in e.players], (cells[0], 0), strict=True))
    assert explainer.explain(named) == e
    assert Explanation.from_json(e.to_json()) == e
    assert str(cells[0]) in str(e)
    assert explainer.plausibility(first_row(data), n_hybrids=20).far <= 1
    assert explainer.recourse(first_row(data)).options


@pytest.mark.parametrize(
    "cells",
    [
        ["a", pd.NA, None, "b", np.nan, "a"],
        [Decimal("1.5"), Decimal("NaN"), None, Decimal("2"), Decimal("NaN"), Decimal("1.5")],
        [True, pd.NA, None, False, pd.NA, True],
    ],
)
@pytest.mark.parametrize("made", [in_pandas, in_numpy])
def test_every_kind_of_missing_value_is_missing(made, cells):
    data = made(cells)
    name = "v" if isinstance(data, pd.DataFrame) else "x0"

    def model(rows):
        return np.array([not pd.isna(v) for v in column(rows, 0)]).astype(int)

    explainer = Explainer(model, data, references="all")
    for row in range(len(cells)):
        x = data.iloc[row] if isinstance(data, pd.DataFrame) else data[row]
        e = explainer.explain(x)
        assert e.keep.sufficiency([]) == 0.5
        assert e.keep.sufficiency(name) == e.flip.sufficiency([name, e.players[1].name]) * 2 == 1
        assert (e.players[0].values[name] is None) == (row in (1, 2, 4))
        assert Explanation.from_json(e.to_json()) == e
    assert explainer.plausibility(x, n_hybrids=20).n_hybrids == 20


# -- text that no file can hold ---------------------------------------------------------


def ways_to_bring_a_lone_surrogate():
    cells = in_pandas([LONE, "b"] * 5)
    named = in_inferred([1, 2] * 5)
    named.columns = pd.Index(["v" + LONE, "n"], dtype=object)
    grouped = in_inferred([1, 2] * 5)

    def labels(rows):
        return object_array([LONE if n > 4 else "no" for n in column(rows, 1)])

    yield "a cell", Explainer(by_number, cells), cells.iloc[0]
    yield "a cell of an array", Explainer(by_number, in_numpy([LONE, "b"] * 5)), [LONE, 0]
    yield "a column's name", Explainer(by_number, named), {"v" + LONE: 1, "n": 0}
    yield "a group's name", Explainer(by_number, grouped, groups={LONE: ["v"]}), grouped.iloc[0]
    yield "a label", Explainer(labels, grouped), grouped.iloc[9]
    yield "an outcome", Explainer(labels, grouped, outcome=LONE), grouped.iloc[9]


@pytest.mark.parametrize(
    ("explainer", "x"),
    [case[1:] for case in ways_to_bring_a_lone_surrogate()],
    ids=[case[0] for case in ways_to_bring_a_lone_surrogate()],
)
def test_lone_surrogates_are_shown_and_stored_as_escapes(explainer, x, tmp_path):
    for result in (explainer.explain(x), explainer.recourse(x), explainer.anchor(x)):
        text = result.to_json()
        assert type(result).from_json(text.encode()) == result
        page = tmp_path / "page.html"
        result.to_html(page)
        for shown in (page.read_text(encoding="utf-8"), str(result), repr(result)):
            shown.encode()
    assert "\\\\ud800" in explainer.explain(x).to_json()


def test_a_factor_with_a_lone_surrogate_is_read_back():
    factor = equals("v", LONE)
    assert factor_from_json(factor.to_json()) == factor
    assert factor({"v": object_array([LONE, "b"])}).tolist() == [True, False]


# -- one bad row among many -------------------------------------------------------------


def test_the_error_of_one_among_many_rows_names_it():
    data = in_inferred([1, 2] * 5)
    explainer = Explainer(by_number, data)
    rows = data.to_dict("records")
    rows[7] = {"v": "one", "n": 1}
    with pytest.raises(InputError, match=r"^row 7: x: got 'one' for column 'v'; allowed: .*int64"):
        explainer.explain_many(rows)
    rows[7] = {"v": 1}
    with pytest.raises(InputError, match=r"^row 7: x: got no value for 'n'"):
        explainer.explain_many(rows)
    with pytest.raises(InputError, match=r"^row 2: x: got .*nan.* for column 'v'"):
        explainer.explain_many(pd.DataFrame({"v": [1, 2, None], "n": [1, 2, 3]}))
    with pytest.raises(
        InputError, match=r"X: got a mapping; allowed: a frame, .* explain takes one"
    ):
        explainer.explain_many(rows[0])
    with pytest.raises(InputError, match="X: got 'one row'; allowed: a frame"):
        explainer.explain_many("one row")
    with pytest.raises(InputError, match=r"^row 0: outcome: got unknown class 'maybe'"):
        Explainer(by_number, data, outcome="maybe").explain_many(data)
    with pytest.raises(InputError, match=r"^tau: got 2"):  # which is no row's fault
        explainer.explain_many(data, tau=2)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_what_fails_while_a_row_is_explained_names_it_too(n_jobs):
    data = in_inferred([1, 2] * 5)

    def brittle(rows):
        if 99 in column(rows, 0):
            raise KeyError("the database is away")
        return by_number(rows)

    rows = [{"v": 1, "n": 0}, {"v": 1, "n": 1}, {"v": 99, "n": 1}]
    with pytest.raises(ModelError, match=r"^row 2: brittle raised KeyError on 1 row"):
        Explainer(brittle, data).explain_many(rows, n_jobs=n_jobs)

    def none_at_all(table, x):
        return np.zeros(len(table), bool) if x["v"].iloc[0] == 99 else "all"

    with pytest.raises(InputError, match=r"^row 2: references: got none: no row of data is chosen"):
        Explainer(by_number, data, references=none_at_all).explain_many(rows, n_jobs=n_jobs)


# Columns of any kind, asked every question: each is answered, or refused in words.


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
                assert message_fault(error, ("",)) is None
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
    with pytest.raises(
        InputError, match=r"steps: got c: 1, which makes more than 10\^15 values; allow"
    ):
        explainer.recourse({"c": 2.0, "k": 1}, values="grid", steps={"c": 1})
