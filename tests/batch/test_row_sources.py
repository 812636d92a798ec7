"""Sources of rows: the same cells in every slice, whatever the file or the slice."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st
from pyarrow import parquet

from suffice import Explainer
from suffice.batch import row_sources as source_module, table_files as files
from suffice.batch.hashing import hash_rows
from suffice.batch.row_sources import open_source, parse_selection
from suffice.batch.table_files import conform_dtypes, find_repeated_ids, open_file
from suffice.errors import InputError
from suffice.tables import as_table, read_row
from suffice.tables.cells import matches_text
from tests.effort import examples

N = 103


def people(n=N):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "income": rng.normal(size=n) * 1e4,
            "owns": rng.random(n) < 0.5,
            "job": rng.choice(["none", "skilled", 'NaN-like, "quoted"\nline'], n),
            "since": pd.date_range("2020-01-01", periods=n, freq="D"),
            "region": pd.Categorical(rng.choice(["north", "south"], n)),
            "rank": pd.Categorical.from_codes(rng.integers(0, 3, n), [10, 20, 30], ordered=True),
            "children": pd.array([None if i % 7 == 0 else i % 4 for i in range(n)], dtype="Int64"),
        }
    )


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    """So that a few rows are many batches."""
    for module in (source_module, files):
        monkeypatch.setattr(module, "BATCH_ROWS", 10)


def stored(frame, folder: Path, kind: str) -> Path:
    path = folder / f"people.{kind}"
    if kind == "csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path, row_group_size=17)
    return path


def slices_of(source, cuts):
    edges = zip([0, *cuts], [*cuts, 10**6], strict=True)
    return [source.rows(first, last).native for first, last in edges]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@settings(max_examples=examples(15))
@given(cuts=st.lists(st.integers(1, N - 1), unique=True, max_size=6).map(sorted))
def test_a_file_gives_the_rows_of_the_table_whatever_the_slices(tmp_path_factory, kind, cuts):
    frame = people()
    path = stored(frame, tmp_path_factory.mktemp("t"), kind)
    like = as_table(frame)
    found = slices_of(open_source(path, like), cuts)
    assert [len(part) for part in found] == np.diff([0, *cuts, N]).tolist()
    pd.testing.assert_frame_equal(pd.concat(found, ignore_index=True), frame)
    read = [read_row(part.iloc[[0]], like).native for part in found]
    pd.testing.assert_frame_equal(
        pd.concat(read, ignore_index=True), frame.iloc[[0, *cuts]].reset_index(drop=True)
    )


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_dtypes_are_those_of_the_data_in_every_slice(tmp_path, kind):
    frame = people()
    source = open_source(stored(frame, tmp_path, kind), as_table(frame))
    for first in range(0, N, 9):
        dtypes = source.rows(first, first + 9).native.dtypes
        assert dtypes.tolist() == frame.dtypes.tolist()


def test_whole_numbers_beyond_floats_survive_a_missing_one_beside_them(tmp_path):
    large = 2**53 + 1
    like = as_table(pd.DataFrame({"n": [1, large]}))
    table = pa.table({"n": pa.array([large, None, large], pa.int64())})
    parquet.write_table(table, tmp_path / "n.parquet")
    (tmp_path / "n.csv").write_text(f"n,m\n{large},1\n,1\n{large},1\n")
    for name in ("n.parquet", "n.csv"):
        rows = open_source(tmp_path / name, like).rows(0, 10).native
        assert [read_row(rows.iloc[[i]], like).cell(0, 0) for i in (0, 2)] == [large, large]
        with pytest.raises(
            InputError, match="for column 'n'; allowed: a value that fits its dtype"
        ):
            read_row(rows.iloc[[1]], like)


def test_a_cell_that_is_no_number_is_the_fault_of_its_row_only(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(
        "age,income,owns,region\n30,1.5,True,north\nold,1_000,maybe,west\n50,2.5,,south\n"
    )
    like = as_table(people()[["age", "income", "owns", "region"]])
    rows = open_source(path, like).rows(0, 3).native
    assert read_row(rows.iloc[[0]], like).native.iloc[0].tolist() == [30, 1.5, True, "north"]
    for bad in (1, 2):
        with pytest.raises(InputError):
            read_row(rows.iloc[[bad]], like)
    with pytest.raises(InputError, match="'old' for column 'age'"):
        read_row(rows.iloc[[1]], like)


def test_texts_that_look_like_numbers_stay_texts(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("code\n007\n12\nA1\n")
    like = as_table(pd.DataFrame({"code": ["007", "A1"]}))
    assert open_source(path, like).rows(0, 9).native["code"].tolist() == ["007", "12", "A1"]


def test_going_back_reads_again_and_skipping_ahead_does_not_read_all(tmp_path):
    frame = people()
    for kind in ("csv", "parquet"):
        source = open_source(stored(frame, tmp_path, kind), as_table(frame))
        assert source.rows(95, 200).native["age"].tolist() == frame["age"].tolist()[95:]
        assert source.rows(0, 3).native["age"].tolist() == frame["age"].tolist()[:3]
        assert source.rows(N, N + 1) is None


def test_parquet_says_how_many_rows_it_has_and_csv_does_not(tmp_path):
    frame = people()
    like = as_table(frame)
    assert open_source(stored(frame, tmp_path, "parquet"), like).total == N
    assert open_source(stored(frame, tmp_path, "csv"), like).total is None
    assert open_source(frame, like).total == N


def test_a_folder_of_parquet_files_is_one_table(tmp_path):
    frame = people()
    for i, start in enumerate(range(0, N, 40)):
        frame[start : start + 40].to_parquet(tmp_path / f"part-{i}.parquet", index=False)
    source = open_source(tmp_path, as_table(frame))
    assert source.total == N
    assert source.rows(35, 85).native["age"].tolist() == frame["age"].tolist()[35:85]
    frame[["age"]].to_parquet(tmp_path / "part-9.parquet")
    with pytest.raises(
        InputError, match=r"part-9.parquet, whose columns differ from those of part-0"
    ):
        open_source(tmp_path, as_table(frame))


def frames_of(frame, step):
    return (frame[i : i + step] for i in range(0, len(frame), step))


@pytest.mark.parametrize("step", [1, 9, 50])
def test_an_iterator_of_frames_is_read_once(step):
    frame = people()
    source = open_source(frames_of(frame, step), as_table(frame))
    assert source.total is None
    assert source.rows(20, 47).native["age"].tolist() == frame["age"].tolist()[20:47]
    assert source.rows(47, 200).native["age"].tolist() == frame["age"].tolist()[47:]
    with pytest.raises(InputError, match="an iterator, which was already read past the row needed"):
        source.rows(0, 10)


def test_looking_at_the_first_rows_and_leaping_ahead_spend_no_iterator():
    frame = people()
    source = open_source(frames_of(frame, 7), as_table(frame))
    assert source.peek(20).native["age"].tolist() == frame["age"].tolist()[:20]
    assert source.peek(8).native["age"].tolist() == frame["age"].tolist()[:8]
    assert source.rows(0, 5).native["age"].tolist() == frame["age"].tolist()[:5]
    assert source.rows(30, 35).native["age"].tolist() == frame["age"].tolist()[30:35]
    assert source.rows(300, 305) is None


def test_a_list_of_frames_can_be_read_again():
    frame = people()
    source = open_source(list(frames_of(frame, 25)), as_table(frame))
    for _ in range(2):
        assert source.rows(20, 60).native["age"].tolist() == frame["age"].tolist()[20:60]


def test_frames_of_other_dtypes_are_brought_to_the_datas_before_they_are_joined():
    large = 2**53 + 1
    like = as_table(pd.DataFrame({"n": [large]}))
    parts = [pd.DataFrame({"n": [large]}), pd.DataFrame({"n": [2.0]}), pd.DataFrame({"n": ["x"]})]
    rows = open_source(parts, like).rows(0, 3).native
    assert read_row(rows.iloc[[0]], like).cell(0, 0) == large
    assert read_row(rows.iloc[[1]], like).cell(0, 0) == 2
    with pytest.raises(InputError, match="'x' for column 'n'"):
        read_row(rows.iloc[[2]], like)


def test_frames_of_two_kinds_are_reported():
    frame = people()[["age"]]
    mixed = [frame, pl.DataFrame({"age": [1]})]
    with pytest.raises(InputError, match="a polars DataFrame after a pandas DataFrame"):
        open_source(mixed, as_table(frame)).rows(0, 999)


def test_other_frames_and_arrays_come_in_their_own_kind():
    frame = pl.DataFrame({"age": [1, 2, 3], "job": ["a", "b", "c"]})
    rows = open_source(frame, as_table(frame)).rows(1, 3)
    assert rows.native.equals(frame[1:])
    array = np.arange(6.0).reshape(3, 2)
    assert open_source(array, as_table(array)).rows(1, 3).native.tolist() == [[2, 3], [4, 5]]
    table = frame.to_arrow()
    assert open_source(table, as_table(table)).rows(0, 2).native.column_names == ["age", "job"]


def test_only_the_columns_that_are_explained_and_the_id_are_read(tmp_path):
    frame = people().assign(who=[f"p{i}" for i in range(N)], decision=1)
    like = as_table(people())
    for X in (frame, stored(frame, tmp_path, "csv"), stored(frame, tmp_path, "parquet")):
        source = open_source(X, like, id="who")
        assert source.id == "who"
        assert source.rows(0, 5).names == (*like.names, "who")
    with pytest.raises(InputError, match=r"unknown column 'whom'.*Did you mean 'who'"):
        open_source(tmp_path / "people.csv", like, id="whom")


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("3:6", [3, 4, 5]), ("60,5,9", [5, 9, 60]), ("100:", [100, 101, 102]), (":2,50", [0, 1, 50])],
)
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_rows_by_number_keep_their_numbers_as_names(tmp_path, kind, text, numbers):
    frame = people()
    source = open_source(stored(frame, tmp_path, kind), as_table(frame), rows=text)
    rows = source.rows(0, 999).native
    assert rows[source.id].tolist() == numbers
    assert rows["age"].tolist() == frame["age"].iloc[numbers].tolist()
    assert source.rows(1, 2).native[source.id].tolist() == numbers[1:2]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_rows_by_a_value_of_any_column(tmp_path, kind):
    frame = people().assign(branch=[i % 3 for i in range(N)])
    path = stored(frame, tmp_path, kind)
    for text, mask in (
        ("region=north", frame["region"] == "north"),
        ("branch=2", frame["branch"] == 2),
        ("owns=true", frame["owns"]),
        ("children=", frame["children"].isna()),
    ):
        source = open_source(path, as_table(people()), rows=text)
        rows = source.rows(0, 999)
        assert rows.names == (*people().columns, "row")
        assert rows.native["row"].tolist() == np.flatnonzero(mask).tolist()


@pytest.mark.parametrize("text", ["", "a", "5:3", "-1", "1:2:3", "=3", "1,1", "0:5,4", "5:,9"])
def test_rows_that_say_nothing_are_refused(text):
    with pytest.raises(InputError, match="rows: got"):
        parse_selection(text)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_rows_past_the_end_are_reported_and_never_silently_fewer(tmp_path, kind):
    frame = people()
    with pytest.raises(InputError, match=f"0 to {N - 1}, which are the rows of people.{kind}"):
        open_source(stored(frame, tmp_path, kind), as_table(frame), rows="90:999").rows(0, 2000)


@pytest.mark.parametrize(
    "text", ["3:6", "60,5,9", "100:", "region=north", "branch=2", "owns=true", "children="]
)
def test_an_audit_selects_the_rows_that_a_batch_does(tmp_path, text):
    frame = people().assign(branch=[float(i % 3) for i in range(N)])
    source = open_source(stored(frame, tmp_path, "parquet"), as_table(people()), rows=text)
    numbers = parse_selection(text, "[data] rows").numbers(as_table(frame))
    assert source.rows(0, 999).native["row"].tolist() == list(numbers)


def test_an_audit_refuses_rows_past_the_end():
    with pytest.raises(InputError, match=r"\[data\] rows: got '90:999'; allowed: 0 to"):
        parse_selection("90:999", "[data] rows").numbers(as_table(people()))


def test_a_cell_is_what_is_written():
    assert matches_text(3, "3.0")
    assert not matches_text("3.0", "3")
    assert not matches_text(3, "north")


def test_the_fingerprint_differs_for_another_table_and_not_for_another_slicing(tmp_path):
    frame = people()
    like = as_table(frame)
    other = frame.assign(age=frame["age"].where(frame.index != 50, 1))
    assert open_source(frame, like).fingerprint() == open_source(frame.copy(), like).fingerprint()
    assert open_source(frame, like).fingerprint() != open_source(other, like).fingerprint()
    assert open_source(frames_of(frame, 9), like).fingerprint() is None
    whole = as_table(frame)
    parts = [hash_rows(whole.take(np.arange(i, min(i + 9, N)))) for i in range(0, N, 9)]
    assert b"".join(parts) == hash_rows(whole)
    path = stored(frame, tmp_path, "csv")
    before = open_source(path, like).fingerprint()
    assert before != open_source(path, like, rows="0:5").fingerprint()
    path.write_text(path.read_text().replace("skilled", "Skilled"))
    assert before != open_source(path, like).fingerprint()


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ({"age": 1}, "a mapping"),
        (3, "got 3"),
        ("nowhere.csv", "which does not exist"),
        (Path(__file__), "test_row_sources.py"),
    ],
)
def test_what_is_no_table_is_reported(X, message):
    with pytest.raises(InputError, match=message):
        open_source(X, as_table(people()))


def test_broken_files_are_reported(tmp_path):
    like = as_table(people())
    (tmp_path / "t.parquet").write_bytes(b"PAR1 no")
    (tmp_path / "t.csv").write_bytes(b"")
    (tmp_path / "empty").mkdir()
    for name, message in (
        ("t.parquet", "t.parquet: "),
        ("t.csv", "t.csv: "),
        ("empty", "a folder without .parquet files"),
    ):
        with pytest.raises(InputError, match=message):
            open_source(tmp_path / name, like)


def test_moments_are_read_once_for_a_slice_and_only_as_such(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("since,n\n2020-01-31,1\n,1\n2020,1\n")
    like = as_table(pd.DataFrame({"since": pd.to_datetime(["2020-01-01", None]), "n": [1, 2]}))
    good = open_source(path, like).rows(0, 9).native
    assert good["since"].dtype == like.native["since"].dtype
    assert good["since"].tolist()[::2] == [pd.Timestamp("2020-01-31"), pd.Timestamp("2020-01-01")]
    path.write_text("since,n\n2020-01-31,1\n31 February,1\n")
    rows = open_source(path, like).rows(0, 9).native
    assert read_row(rows.iloc[[0]], like).cell(0, 0) == pd.Timestamp("2020-01-31")
    with pytest.raises(InputError, match="'31 February' for column 'since'; allowed: a date"):
        read_row(rows.iloc[[1]], like)
    numbers = conform_dtypes(as_table(pd.DataFrame({"since": [2020], "n": [1]})), like).native
    with pytest.raises(InputError, match="2020 for column 'since'; allowed: a date"):
        read_row(numbers, like)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_ids_that_name_two_rows_or_none_are_reported_before_a_run(tmp_path, kind):
    ids = [f"p{i}" for i in range(N)]
    frame = pd.DataFrame({"who": ids, "age": 1})
    assert find_repeated_ids(open_file(stored(frame, tmp_path, kind)), "who") is None
    ids[90], ids[50] = "p3", None
    found = find_repeated_ids(open_file(stored(frame.assign(who=ids), tmp_path, kind)), "who")
    assert (found.n_repeated, found.example, found.row_numbers, found.missing) == (
        1,
        "p3",
        (3, 90),
        1,
    )
    assert (
        str(found)
        == "1 row with the id of an earlier one ('p3': rows 3 and 90) and 1 row without one"
    )


def test_rows_of_other_dtypes_are_read_together_as_they_are_one_by_one():
    frame = people().drop(columns="since")
    explainer = Explainer(lambda rows: rows["age"] > 50, frame)
    odd = frame.astype({"age": float, "region": object, "owns": object, "rank": object})
    odd["income"] = odd["income"].astype(object)
    odd.loc[40, "income"] = "much"
    odd.loc[41, "region"] = "west"
    odd.loc[77, "age"] = 30.5
    found = explainer.read_rows(odd)
    for i, row in enumerate(found):
        if i in (40, 41, 77):
            with pytest.raises(InputError, match=re.escape(str(row))):
                read_row(odd.iloc[[i]], as_table(frame))
        else:
            alone = read_row(odd.iloc[[i]], as_table(frame)).native
            pd.testing.assert_frame_equal(row.native.reset_index(drop=True), alone)
