"""The data that references are drawn from: what pandas reads, or a sample of it with its dtypes."""

import numpy as np
import pandas as pd
import pytest

from suffice.batch import reference_data as background, table_files as files
from suffice.batch.reference_data import read_background
from suffice.batch.table_files import open_file
from suffice.errors import InputError

N = 300


def people():
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 90, N),
            "income": rng.normal(size=N),
            "owns": rng.random(N) < 0.5,
            "asked": [None if i == 250 else bool(i % 2) for i in range(N)],
            "job": rng.choice(["none", "skilled"], N),
            "since": pd.date_range("2020-01-01", periods=N).astype(str),
            "children": [np.nan if i == 299 else i % 4 for i in range(N)],
            "codes": ["007" if i == 298 else "A" for i in range(N)],
            "nothing": [np.nan] * N,
        }
    )


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr(files, "BATCH_ROWS", 40)


def test_a_small_csv_file_is_what_pandas_reads(tmp_path):
    path = tmp_path / "t.csv"
    people().to_csv(path, index=False)
    found = read_background(open_file(path), seed=0)
    pd.testing.assert_frame_equal(found.frame, pd.read_csv(path))
    assert (found.total, found.sampled, found.non_numeric) == (N, False, ())


def test_a_small_parquet_file_is_what_pandas_reads(tmp_path):
    path = tmp_path / "t.parquet"
    frame = people().assign(
        region=pd.Categorical(["north", "south", "west"] * (N // 3)),
        when=pd.date_range("2020-01-01", periods=N),
        small=np.arange(N, dtype=np.float32),
        bits=np.arange(N) % 2 == 0,
    )
    frame["n"] = pd.array([None if i == 5 else i for i in range(N)], dtype="Int64")
    frame.to_parquet(path, row_group_size=70)
    found = read_background(open_file(path), seed=0)
    whole = pd.read_parquet(path)
    pd.testing.assert_frame_equal(found.frame[list(whole.columns)], whole)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_sample_has_the_dtypes_of_the_whole(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(background, "MAX_BACKGROUND_ROWS", 30)
    path = tmp_path / f"t.{kind}"
    frame = people()
    frame["region"] = pd.Categorical(["rare"] + ["north", "south"] * (N // 2 - 1) + ["south"])
    frame.to_csv(path, index=False) if kind == "csv" else frame.to_parquet(path)
    found = read_background(open_file(path), seed=0)
    whole = pd.read_csv(path) if kind == "csv" else pd.read_parquet(path)
    assert found.frame.dtypes.tolist() == whole.dtypes.tolist()
    assert (len(found.frame), found.total, found.sampled) == (30, N, True)
    again = read_background(open_file(path), seed=0).frame
    pd.testing.assert_frame_equal(found.frame, again)
    other = read_background(open_file(path), seed=1).frame
    assert found.frame["income"].tolist() != other["income"].tolist()
    assert set(found.frame["income"]) <= set(whole["income"])


def test_a_cell_that_is_no_number_does_not_make_text_of_a_column(tmp_path):
    path = tmp_path / "t.csv"
    frame = people().astype({"age": object})
    frame.loc[[17, 90], "age"] = ["unknown", "1_0"]
    frame.to_csv(path, index=False)
    found = read_background(open_file(path), seed=0)
    [spoiled] = found.non_numeric
    assert (spoiled.column, spoiled.cells, spoiled.example, spoiled.row) == (
        "age",
        2,
        "unknown",
        17,
    )
    assert found.frame["age"].dtype == np.int64
    assert len(found.frame) == N - 2


def test_a_column_with_more_such_cells_is_one_of_text(tmp_path):
    path = tmp_path / "t.csv"
    pd.DataFrame({"children": ["0", "1", "2", "3+"] * 20}).to_csv(path, index=False)
    found = read_background(open_file(path), seed=0)
    assert found.non_numeric == ()
    assert found.frame["children"].tolist()[:4] == ["0", "1", "2", "3+"]


def test_empty_table_raises(tmp_path):
    for path in (tmp_path / "t.csv", tmp_path / "t.parquet"):
        empty = people()[:0]
        empty.to_csv(path, index=False) if path.suffix == ".csv" else empty.to_parquet(path)
        with pytest.raises(InputError, match=f"{path.name}, which has no rows"):
            read_background(open_file(path), seed=0)
