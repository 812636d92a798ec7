"""Tables of every kind: cells are distinguished, kept unchanged, and read from any form of row."""

import csv
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from io import StringIO

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from suffice import InputError
from suffice.cli.options import identifier_columns
from suffice.context import make_players
from suffice.context.hybrids import SwapHybrids
from suffice.context.references import canonical_order
from suffice.tables import as_scalar, as_table, column_codes, read_row
from suffice.tables.backends import HiddenColumnTable
from suffice.tables.cells import is_missing, object_array
from suffice.tables.conversion import as_csv
from suffice.tables.table import conform, same_value
from suffice.text.text_model import CellTable


def objects(rows):
    return np.stack([object_array(row) for row in rows])


def in_pandas(cells, dtype=None):
    return pd.DataFrame({"v": pd.Series(cells, dtype=dtype), "n": range(len(cells))})


def in_polars(cells):
    return pl.DataFrame({"v": cells, "n": range(len(cells))})


def in_pyarrow(cells):
    return pa.table({"v": cells, "n": list(range(len(cells)))})


def in_numpy(cells):
    return objects([[cell, i] for i, cell in enumerate(cells)])


LIBRARIES = pytest.mark.parametrize(
    "made",
    [in_pandas, in_polars, in_pyarrow, in_numpy],
    ids=["pandas", "polars", "pyarrow", "numpy"],
)


# -- which cells are the same -----------------------------------------------------------


@LIBRARIES
def test_signed_zero_and_trailing_nul_are_distinct_cells(made):
    assert as_table(made([0.0, -0.0, 1.0, 0.0])).codes()[:, 0].tolist() == [1, 0, 2, 1]
    assert as_table(made(["", "\x00", "a", ""])).codes()[:, 0].tolist() == [0, 1, 2, 0]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "longdouble", "complex128"])
def test_the_sign_of_zero_counts_in_every_float(dtype):
    codes = column_codes(np.array([0.0, -0.0, 3.0, -0.0], dtype=dtype))
    assert len(set(codes.tolist())) == 3 and codes[1] == codes[3] != codes[0]


def test_zeros_of_one_sign_need_no_second_number():
    for zero in (0.0, -0.0):
        assert column_codes(np.array([zero, 2.0, -1.0, zero])).tolist() == [1, 2, 0, 1]


@pytest.mark.parametrize(
    "cells",
    [
        [None, "a", np.nan, "b", pd.NA, pd.NaT],
        [Decimal("NaN"), Decimal("1"), Decimal("sNaN"), Decimal("2"), None, np.nan],
        [np.nan, 1.5, None, 2.5, pd.NA, Decimal("NaN")],
    ],
)
def test_missing_values_are_one_and_come_last(cells):
    assert column_codes(object_array(cells)).tolist() == [2, 0, 2, 1, 2, 2]


@pytest.mark.parametrize(
    ("cells", "codes"),
    [
        ([3, 1, 2, 1], [2, 0, 1, 0]),
        ([True, False, None], [1, 0, 2]),
        ([Decimal("10"), Decimal("9.5"), Decimal("9.50")], [2, 0, 1]),
        ([10, 9.5, Decimal("9.7")], [2, 0, 1]),
        ([datetime(2021, 1, 1), datetime(2020, 1, 1)], [1, 0]),
        ([time(9), time(8), time(9)], [1, 0, 1]),
        ([timedelta(2), timedelta(1)], [1, 0]),
        ([date(2021, 1, 1), None, date(2020, 1, 1)], [1, 2, 0]),
        ([b"b", b"a\x00", b"a"], [2, 1, 0]),
    ],
)
def test_larger_values_have_larger_numbers(cells, codes):
    assert column_codes(object_array(cells)).tolist() == codes


@pytest.mark.parametrize(
    "cells",
    [
        [1, True, 1.0, "1", Decimal(1)],
        [[1, 2], [1, 2.0], (1, 2), [2, 1], [[1], 2]],
        [{"p": 1}, {"p": 2}, {"q": 1}, {"p": True}],
        [{1, 2}, {1}, frozenset({1})],
        [np.arange(5000), np.arange(5000)[::-1], np.arange(5000.0), np.arange(5000).reshape(2, -1)],
        ["\ud800", "\ud801", "", "\\ud800"],
    ],
)
def test_cells_of_any_type_are_distinguished_by_what_they_are(cells):
    again = [cell.copy() if hasattr(cell, "copy") else cell for cell in cells]
    codes = column_codes(object_array(cells + again)).tolist()
    assert len(set(codes)) == len(cells)
    assert codes[: len(cells)] == codes[len(cells) :]


def test_cells_that_only_look_alike_are_distinguished():
    class Point:
        def __init__(self, x):
            self.x = x

        def __repr__(self):
            return "a point"

        def __eq__(self, other):
            return self.x == other.x

        def __hash__(self):
            return hash(self.x)

    assert len(set(column_codes(object_array([Point(1), Point(2), Point(1)])).tolist())) == 2


@pytest.mark.parametrize("made", [in_polars, in_pyarrow, lambda c: in_pandas(c, "Int64")])
def test_large_whole_numbers_beside_missing_ones_are_not_rounded(made):
    codes = as_table(made([2**53, 2**53 + 1, None, 2**53])).codes()[:, 0]
    assert codes.tolist() == [0, 1, 2, 0]
    assert as_table(made([5, 7, None, 5])).column(0).dtype == float


def test_a_column_of_whole_numbers_may_be_missing_throughout():
    for table in (
        as_table(in_pandas([None, None], "Int64")[["v"]]),
        as_table(pl.DataFrame({"v": [None, None]}, schema={"v": pl.Int64})),
        as_table(pa.table({"v": pa.array([None, None], pa.int64())})),
    ):
        assert table.codes()[:, 0].tolist() == [0, 0]
        assert as_scalar(read_row({"v": None}, table).cell(0, 0)) is None


_VALUES = st.one_of(
    st.sampled_from([0.0, -0.0, 1, True, 1.0, None, float("nan"), "", "\x00", "1", (1,), (True,)]),
    st.floats(allow_nan=False, width=16),
    st.text(max_size=2),
)


@given(st.lists(st.tuples(_VALUES, _VALUES, _VALUES), min_size=2, max_size=6), st.data())
def test_hybrids_have_one_key_exactly_where_they_are_the_same_row(rows, data):
    """The same: of one type and repr in every cell, save that all missing values are one."""
    pool = as_table(objects(rows), names=["a", "b", "c"])
    hybrids = SwapHybrids(pool, make_players(pool, {"both": ["a", "b"]}))
    held = np.array(data.draw(st.lists(st.tuples(*[st.booleans()] * 2), min_size=1, max_size=4)))
    keys = hybrids.keys(held).ravel()
    references = np.tile(np.arange(hybrids.n), len(held))
    built = hybrids.rows(np.repeat(held, hybrids.n, axis=0), references).native
    words = [tuple("-" if is_missing(v) else f"{type(v)} {v!r}" for v in row) for row in built]
    for i in range(len(words)):
        for j in range(i):
            assert (keys[i] == keys[j]) == (words[i] == words[j])


@given(st.lists(st.tuples(*[st.integers(0, 2)] * 4), min_size=1, max_size=30), st.randoms())
def test_the_canonical_order_is_that_of_the_values(rows, random):
    names = ["d", "b", "a", "c"]
    frame = pd.DataFrame(rows, columns=names)
    expected = frame.sort_values(["a", "b", "c", "d"]).to_numpy().tolist()
    random.shuffle(names)
    shuffled = frame.sample(frac=1, random_state=random.randint(0, 99))[names]
    order = canonical_order(as_table(shuffled))
    assert shuffled.iloc[order][["d", "b", "a", "c"]].to_numpy().tolist() == expected


def test_the_canonical_order_of_many_columns_looks_at_all_that_matter():
    rng = np.random.default_rng(0)
    data = rng.integers(0, 2, size=(60, 90)).astype(float)
    data[:, :80] = 0.5  # only the last columns tell rows apart
    order = canonical_order(as_table(data, names=[f"{j:02d}" for j in range(90)]))
    assert data[order].tolist() == sorted(data.tolist())


# -- rows keep what they are ------------------------------------------------------------


def test_object_columns_stay_object_columns():
    """pandas guesses a dtype for an array of objects: text, or points in time."""
    days = [datetime(2020, 1, 1), datetime(2020, 1, 2), datetime(2020, 1, 3)]
    frame = pd.DataFrame(
        {
            "word": pd.Series(["a", "b", "c"], dtype=object),
            "day": pd.Series(days, dtype=object),
            "pair": pd.Series([(1, 2), (3, 4), (5, 6)], dtype=object),
        }
    )
    table = as_table(frame)
    first = np.array([[True, False, False]])
    for made in (
        table.splice(first, np.array([2])),
        table.gather(np.array([[0, 2, 2]])),
        table.from_cells([["a"], [days[2]], [(5, 6)]]),
        table.take(np.array([2])).with_columns({0: np.array(["a"], dtype=object)}),
    ):
        assert set(made.native.dtypes) == {np.dtype(object)}
        assert made.native.iloc[0].tolist() == ["a", days[2], (5, 6)]
        assert type(made.native.iloc[0, 1]) is datetime


@LIBRARIES
def test_lists_and_records_are_picked_whole(made):
    for cells in ([[1, 2], [3], [1, 2]], [{"p": 1}, {"p": 2}, {"p": 1}]):
        table = as_table(made(cells))
        assert table.codes()[:, 0].tolist() == [0, 1, 0]
        spliced = table.splice(np.array([[True, False], [False, True]]), np.array([1, 1]))
        assert [table.cell(i, 0) for i in range(3)] == cells
        assert [spliced.cell(i, 0) for i in range(2)] == [cells[0], cells[1]]
        assert read_row({table.names[0]: cells[1], table.names[1]: 0}, table).cell(0, 0) == cells[1]


# -- one row in any form ----------------------------------------------------------------

FRAME = pd.DataFrame({"age": [41, 23], "debt": [12.5, 0.0], "home": ["own", "rents"]})


@pytest.mark.parametrize(
    "row",
    [
        {"home": "own", "age": 41, "debt": 12.5},
        FRAME.iloc[0],
        FRAME.iloc[[0]],
        FRAME.iloc[[0]][["home", "debt", "age"]],
        FRAME.iloc[[0]].astype(object),
        pl.from_pandas(FRAME)[0],
        pl.from_pandas(FRAME)[0].cast(
            {"age": pl.Float32, "debt": pl.Float32, "home": pl.Categorical}
        ),
        pa.Table.from_pandas(FRAME, preserve_index=False).slice(0, 1),
        [41, 12.5, "own"],
        (41.0, 12.5, "own"),
        [[41, 12.5, "own"]],
        FRAME.to_numpy()[0],
        FRAME.to_numpy()[:1],
        next(FRAME.itertuples(index=False)),
    ],
)
@pytest.mark.parametrize(
    "data",
    [FRAME, pl.from_pandas(FRAME), pa.Table.from_pandas(FRAME, preserve_index=False)],
    ids=["pandas", "polars", "pyarrow"],
)
def test_a_row_comes_in_any_form_and_leaves_in_the_datas(row, data):
    table = as_table(data)
    read = read_row(row, table)
    assert type(read.native) is type(data)
    assert [read.cell(0, j) for j in range(3)] == [41, 12.5, "own"]
    assert all(table.same_dtype(j, read) for j in range(3))
    assert len(read.stack(table)) == 3


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (pd.Series([1, 2, "own", 9], ["age", "debt", "home", "age"]), "two values for 'age'"),
        (FRAME.iloc[[0], [0, 1, 2, 0]], "two values for 'age'"),
        ({"age": 1, "debt": 2, "home": "own", 3: 0, "3": 0}, "two values for '3'"),
        ({"age": 1, "debt": 2, "home": "own", "a": 1, "b": 2}, "extra columns 'a', 'b'; allowed"),
        ({"age": 1}, "no value for 'debt', 'home'; allowed: a value for each of the 3 columns"),
        ([[1, 2, "own"], [1, 2, "own"]], "2 rows; allowed: exactly one row"),
        ([[1, 2], [3], 4], r"\[1, 2\] for column 'age'; allowed: a value that fits"),
        ([[1, 2], [3]], "2 values; allowed: one value for each of the 3"),
        ("own", "'own'; allowed: a mapping"),
        (None, "None; allowed: a mapping"),
        ({"age": 1.5, "debt": 2, "home": "own"}, "1.5 for column 'age'.*dtype, int64"),
        ({"age": 10**30, "debt": 2, "home": "own"}, "10+ for column 'age'.*dtype, int64"),
        ({"age": [1], "debt": 2, "home": "own"}, r"\[1\] for column 'age'.*dtype, int64"),
        ({"age": 1, "debt": "2", "home": "own"}, "'2' for column 'debt'.*dtype, float64"),
        ({"age": 1, "debt": 2, "home": 5}, "5 for column 'home'.*dtype, str"),
        ({"age": 1, "debt": 2, "home": "\ud800"}, ".* for column 'home'.*dtype, str"),
    ],
)
def test_rows_that_cannot_be_read_say_why(row, message):
    with pytest.raises(InputError, match=f"x: got {message}"):
        read_row(row, as_table(FRAME))


@pytest.mark.parametrize(
    ("data", "bad"),
    [
        (pl.DataFrame({"v": [1, 2]}), 1.5),
        (pl.DataFrame({"v": [1, 2]}, schema={"v": pl.UInt8}), 300),
        (pl.DataFrame({"v": ["a", "b"]}), 5),
        (pl.DataFrame({"v": ["a", "b"]}), "\ud800"),
        (pl.DataFrame({"v": [Decimal("1.50")]}), Decimal("1.5049")),
        (pa.table({"v": [1, 2]}), 1.5),
        (pa.table({"v": ["a", "b"]}), 5),
        (pa.table({"v": [True, False]}), "yes"),
        (np.array([[1], [2]], dtype=np.uint8), 300),
        (np.array([[1.0], [2.0]]), "1.0"),
        (np.array([["a"], ["b"]]), 5),
    ],
)
def test_what_a_columns_dtype_cannot_hold_is_refused_by_name(data, bad):
    table = as_table(data, names=["v"])
    with pytest.raises(
        InputError, match=r"x: got .* for column 'v'; allowed: a value that fits its"
    ):
        read_row({"v": bad}, table)


def test_what_a_columns_dtype_can_hold_is_cast():
    assert read_row({"v": Decimal("1.5")}, as_table(pl.DataFrame({"v": [Decimal("2.50")]}))).cell(
        0, 0
    ) == Decimal("1.50")
    longer = read_row({"v": "longer"}, as_table(np.array([["a"], ["b"]]), names=["v"]))
    assert longer.native.tolist() == [["longer"]]
    assert longer.stack(as_table(np.array([["a"]]))).native.tolist() == [["longer"], ["a"]]
    for missing in (None, pd.NA, float("nan"), Decimal("NaN"), pd.NaT):
        for made in (in_pandas, in_polars, in_pyarrow):
            table = as_table(made(["a", None]))
            assert as_scalar(read_row({"v": missing, "n": 0}, table).cell(0, 0)) is None


def test_equal_categories_in_another_order_are_cast_to_the_datas():
    table = as_table(pd.DataFrame({"c": pd.Categorical(["a", "b"], categories=["a", "b"])}))
    row = pd.DataFrame({"c": pd.Categorical(["b"], categories=["b", "a"])})
    assert read_row(row, table).native["c"].cat.codes.tolist() == [1]


def test_labels_that_only_look_like_the_datas_become_the_datas():
    table = as_table(pd.DataFrame([[1, 2], [3, 4]]))
    row = read_row(pd.DataFrame([[5, 6]], columns=["1", "0"]), table)
    assert row.native.columns.tolist() == [0, 1]
    assert row.stack(table).native.to_numpy().tolist() == [[6, 5], [1, 2], [3, 4]]


# -- dates ------------------------------------------------------------------------------

DAYS = [date(2020, 1, 31), date(2021, 6, 1)]
MOMENTS = [datetime(2020, 1, 31), datetime(2021, 6, 1)]


@pytest.mark.parametrize(
    "data",
    [
        pd.DataFrame({"day": pd.to_datetime(DAYS)}),
        pd.DataFrame({"day": pd.to_datetime(DAYS).tz_localize("UTC")}),
        pl.DataFrame({"day": DAYS}),
        pl.DataFrame({"day": MOMENTS}),
        pa.table({"day": DAYS}),
        pa.table({"day": MOMENTS}),
        np.array([DAYS], dtype="datetime64[D]").T,
    ],
    ids=["pandas", "pandas-zone", "polars-date", "polars", "pyarrow-date", "pyarrow", "numpy"],
)
def test_a_date_is_given_as_a_date_or_as_text_and_never_as_a_number(data):
    table = as_table(data, names=["day"])
    given = ["2020-01-31", date(2020, 1, 31), datetime(2020, 1, 31), np.datetime64("2020-01-31")]
    for value in (*given, pd.Timestamp("2020-01-31")):
        kept = read_row({"day": value}, table)
        assert as_scalar(kept.cell(0, 0)).startswith("2020-01-31")
        assert len(kept.stack(table)) == 3
    assert as_scalar(read_row({"day": None}, table).cell(0, 0)) is None
    for number in (2020, 2020.0, np.int64(2020), True, "soon", ""):
        with pytest.raises(
            InputError, match=r"for column 'day'; allowed: a date, such as '2020-01"
        ):
            read_row({"day": number}, table)


def test_a_day_has_no_hour_to_keep():
    with pytest.raises(InputError, match="a date, such as"):
        read_row({"day": datetime(2020, 1, 31, 9)}, as_table(pl.DataFrame({"day": DAYS})))


@pytest.mark.parametrize("made", [in_pandas, in_polars, in_pyarrow])
def test_durations_are_durations(made):
    table = as_table(made([timedelta(days=1), timedelta(days=2)]))
    row = read_row({"v": timedelta(days=1), "n": 0}, table)
    assert as_scalar(row.column(0)[0]) == as_scalar(timedelta(days=1)) == "1 days 00:00:00"
    with pytest.raises(InputError, match="column 'v'"):
        read_row({"v": 5, "n": 0}, table)


def test_a_frame_of_the_datas_kind_keeps_its_nanoseconds():
    times = pl.Series("t", [1_600_000_000_123_456_789, 0]).cast(pl.Datetime("ns"))
    table = as_table(pl.DataFrame({"t": times}))
    read = read_row(pl.DataFrame({"t": times})[0], table)
    assert read.column(0)[0] == table.column(0)[0]


# -- tables that cannot be read ---------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([[1, 2], [3]], "rows of 1, 2 values; allowed: .*as many values in each row"),
        ([{"a": 1}, {"a": 2}], r"a list of mappings; .*Pass pandas.DataFrame\(data\)"),
        ({"a": [1, 2]}, r"a mapping; .*Pass pandas.DataFrame\(data\)"),
        (np.ma.array([[1, 2]], mask=[[0, 1]]), "a masked array; .*Pass data.filled"),
        (None, "None; allowed: a pandas, polars or pyarrow frame"),
        (5, "5; allowed: a pandas"),
        (np.zeros((2, 2, 2)), "an array of 3 dimensions; "),
    ],
)
def test_tables_that_cannot_be_read_say_why(data, message):
    with pytest.raises(InputError, match=f"data: got {message}"):
        as_table(data)


def test_numbers_beside_texts_in_a_list_stay_numbers():
    assert as_table([[1, "a"], [2, "b"]]).native.tolist() == [[1, "a"], [2, "b"]]
    assert as_table([["1", "a"], ["2", "b"]]).column(0).tolist() == ["1", "2"]


# -- how a cell is shown ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        (np.datetime64("2020-01-31", "ns"), "2020-01-31T00:00:00"),
        (np.timedelta64(5, "D"), "5 days 00:00:00"),
        (np.timedelta64("NaT"), None),
        (Decimal("1.50"), "1.50"),
        (Decimal("sNaN"), None),
        (float("inf"), "inf"),
        (-0.0, -0.0),
        ([[1], [2, 3]], "[[1], [2, 3]]"),
        (np.array([1, 2]), "[1, 2]"),
        ({"p": None}, "{'p': None}"),
        ("a\ud800", "a\\ud800"),
        (["\ud800"], "['\\ud800']"),
        (time(9, 30), "09:30:00"),
    ],
)
def test_cells_are_shown_and_stored_as_plain_values(cell, shown):
    assert as_scalar(cell) == shown


def test_a_cast_keeps_a_value_or_does_not():
    assert same_value([1.0, 2.0], np.array([1, 2])) and not same_value([1, 2], [1, 2, 3])
    assert same_value(float("inf"), float("inf")) and not same_value(float("inf"), 1e308)
    assert same_value(None, pd.NA) and not same_value(None, "")


# -- columns that identify rows ---------------------------------------------------------


def test_columns_that_identify_rows_are_found_and_measurements_are_not():
    n = 40
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "ID": range(n),
            "customer_id": rng.permutation(n) + 10**15,
            "accountId": [f"{i:08x}" for i in range(n)],
            "who": [f"Person {i}" for i in range(n)],
            "income": rng.normal(size=n),
            "steps": rng.permutation(n),
            "paid": range(n),
            "branch_id": [i % 5 for i in range(n)],
            "score_id": rng.random(n),
            "home": ["own", "rents"] * (n // 2),
            "said": [f"{i}: " + "a long review of something " * 5 for i in range(n)],
            "day": pd.date_range("2020-01-01", periods=n),
            "maybe_id": pd.Series([None, *range(1, n)], dtype="Int64"),
        }
    )
    found = ("ID", "customer_id", "accountId", "who")
    assert identifier_columns(as_table(frame)) == found
    assert identifier_columns(as_table(pl.from_pandas(frame))) == found
    assert identifier_columns(as_table(pa.Table.from_pandas(frame))) == found
    assert identifier_columns(as_table(frame.iloc[:10])) == ()


def test_csv_escapes_formulas_in_cells_and_headings_and_takes_any_column_name():
    frame = pd.DataFrame(
        [["=2+2", pd.Timestamp("2020-01-31"), -1, True], ["b", pd.NaT, 2, False]],
        columns=["=1+1", 7, "@sum", "ok"],
    )
    frame["kind"] = pd.Categorical(["-x", None])
    assert as_csv(frame).splitlines() == [
        "'=1+1,7,'@sum,ok,kind",
        "'=2+2,2020-01-31,-1,True,'-x",
        "b,,2,False,",
    ]


@pytest.mark.parametrize("text", ["a\r=1+1", "\r=1+1", "a\r\n=1+1", "\n=1+1", "＝1+1"])
def test_no_reader_of_csv_finds_a_cell_that_begins_like_a_formula(text):
    frame = pd.DataFrame({"who": [text, "b"], text: [1, 2]})
    # Spreadsheets end a row at "\r" as at "\n" unless it is quoted, as does Python's reader.
    for row in csv.reader(StringIO(as_csv(frame), newline="")):
        assert len(row) == 2
        assert not any(cell.startswith(("=", "\r", "\n", "＝")) for cell in row)


@LIBRARIES
def test_several_tables_are_stacked_at_once(made):
    table = as_table(made(["a", "b"]))
    stacked = table.stack(table.take(np.array([1])), table)
    assert stacked.cells(0) == ["a", "b", "b", "a", "b"]
    assert table.stack().cells(0) == ["a", "b"]
    assert all(table.same_dtype(j, stacked) for j in range(2))


def test_rows_of_cells_out_of_sight_are_stacked_whole():
    table = CellTable(objects([["a", "b", "c"], ["d", "e", "f"]]), ["x", "y", "z"], [0, 2])
    assert table.stack(table, table).native.tolist() == table.native.tolist() * 3
    assert table.stack(table).names == ("x", "z")


def test_columns_of_other_libraries_have_no_dtype_in_common():
    tables = [as_table(made([1, 2])) for made in (in_numpy, in_pandas, in_polars, in_pyarrow)]
    for one in tables:
        for other in tables:
            assert one.same_dtype(0, other) == (one is other)


@LIBRARIES
def test_conform_returns_the_rows_that_fit_and_an_error_for_each_other(made):
    like = as_table(pd.DataFrame({"n": [1, 2], "v": [7, 8]}))
    given = as_table(made([1.0, 2.5, 3.0, None, 5.0]), names=["v", "n"])
    found, errors = conform(given, like)
    assert sorted(errors) == [1, 3]
    assert found.native.to_dict("list") == {"n": [0, 2, 4], "v": [1, 3, 5]}
    assert all(like.same_dtype(j, found) for j in range(2))
    assert str(errors[1]).startswith("x: got 2.5 for column 'v'")


def test_conform_names_columns_that_are_lacking_or_unknown_for_every_row():
    like = as_table(pd.DataFrame({"age": [1, 2]}))
    found, errors = conform(as_table(pd.DataFrame({"agee": [1, 2]})), like)
    assert found is None and sorted(errors) == [0, 1]
    assert "extra column 'agee'" in str(errors[0])
    kept, none = conform(as_table(pd.DataFrame({"id": [1], "age": [2.0]})), like, ignored=["id"])
    assert kept.native["age"].tolist() == [2] and not none
    assert kept.native["age"].dtype == like.native["age"].dtype


def test_several_rows_in_place_of_one_get_a_hint_that_is_right_for_every_question():
    with pytest.raises(InputError, match=r"exactly one row\. Pass one row at a time; explain_many"):
        read_row([[1, 2], [3, 4]], as_table([[1, 2]]))


def test_large_integers_that_became_floats_are_refused() -> None:
    frame = pd.DataFrame({"id": [2**53 + 1, 2**53 + 5], "x": [0.5, 1.5]})
    data = as_table(frame)
    with pytest.raises(InputError, match=r"perhaps rounded; .* pass df.iloc\[\[i\]\], not df.iloc"):
        read_row(frame.iloc[0], data)
    assert read_row(frame.iloc[[0]], data).native["id"].item() == 2**53 + 1
    assert read_row({"id": 2**53 + 1, "x": 0.5}, data).native["id"].item() == 2**53 + 1
    small = pd.DataFrame({"id": [2**52, 3], "x": [0.5, 1.5]})
    assert read_row(small.iloc[0], as_table(small)).native["id"].item() == 2**52


def test_hidden_columns_follow_the_first_feature():
    table = HiddenColumnTable(np.arange(12).reshape(3, 4), list("abcd"), [1, 3])
    made = table.gather(np.array([[2, 0], [1, 1]]))
    assert np.asarray(made.native).tolist() == [[8, 9, 10, 3], [4, 5, 6, 7]]
    assert [made.column(j).tolist() for j in (0, 1)] == [[9, 5], [3, 7]]


@given(
    cells=st.lists(
        st.sampled_from([0, -3, 2**53 + 1, 2**63, 1.5, -0.0, 4.0, 2.0**53, 1e300])
        | st.sampled_from([np.inf, np.nan, np.int64(7), np.float64(2.5), np.float64(9), True, "8"]),
        min_size=1,
        max_size=3,
    ),
    dtype=st.sampled_from([np.int64, np.float64]),
)
def test_numbers_are_cast_to_a_columns_dtype_as_pandas_casts_them(cells, dtype):
    table = as_table(pd.DataFrame({"v": np.zeros(2, dtype=dtype)}))
    try:
        expected = pd.Series(cells, dtype=dtype)
    except (TypeError, ValueError, OverflowError):
        expected = None
    kept = expected is not None and all(map(same_value, list(expected), cells))
    try:
        found = table.from_cells([cells])
    except InputError:
        rounded = [c for c in cells if isinstance(c, float) and abs(c) >= 2**53]
        assert not kept or (dtype == np.int64 and rounded)
        return
    assert kept
    assert repr(found.column(0).tolist()) == repr(expected.tolist())
    assert repr(found.native["v"].tolist()) == repr(expected.tolist())
