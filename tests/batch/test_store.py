"""A folder of explanations: every row exactly once, the same bytes however it came about."""

import json
import os
import random
import stat
from functools import cache
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.tree import DecisionTreeClassifier

import suffice
from suffice import Explainer, InputError, datasets
from suffice.batch.arrow import ChunkToArrow
from suffice.batch.manifest import read_manifest
from suffice.batch.store import TABLE_FOLDERS, ExplanationStore

COLUMNS = ["age", "income", "debt", "late payments"]


@cache
def loans():
    X, y = datasets.loans(200)
    return X[COLUMNS], y


@cache
def explainer(depth=4):
    X, y = loans()
    return Explainer(DecisionTreeClassifier(max_depth=depth, random_state=0).fit(X, y), X)


def rows(n=40):
    return loans()[0].iloc[:n].assign(account=[f"A{i}" for i in range(n)])


def files(folder):
    """Every byte of the data set; the log is no part of it."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "_log.jsonl"
    }


@pytest.fixture(scope="session", name="whole")
def finished_folder(tmp_path_factory):
    """A finished folder; no test writes to it."""
    folder = tmp_path_factory.mktemp("whole") / "out"
    explainer().explain_to(rows(), folder, id="account", rows_per_part=16)
    return folder


@cache
def chunk_of(at, stop):
    chunk = ChunkToArrow(explainer(), {"search": "exhaustive"}, "account", None, pa.string())
    return chunk(rows().iloc[at:stop], at)


def begin(whole, folder, *, resume=False):
    return ExplanationStore.open(folder, read_manifest(whole), resume=resume)


def test_what_is_loaded_is_what_was_explained(whole):
    stored = suffice.load(whole)
    assert len(stored) == 40
    assert stored.finished
    X = rows().drop(columns="account")
    for i, (loaded, made) in enumerate(zip(stored, explainer().explain_many(X), strict=True)):
        assert loaded == made
        assert stored.by_id(f"A{i}") == made
        assert loaded.at(0.7).to_json() == loaded.at(0.7).to_json()
        pd.testing.assert_frame_equal(loaded.at(0.6).to_frame(), made.at(0.6).to_frame())
    assert stored[-1] == stored[39]
    assert stored[3:7] == [stored[i] for i in (3, 4, 5, 6)]
    assert repr(stored) == f"<Stored: 40 explanations, 0 errors in {whole} (finished)>"


def test_only_the_owner_can_read_what_was_written(tmp_path, whole):
    """Whatever the umask; a folder or a file that is there already keeps its permissions."""
    before = os.umask(0)
    try:
        out = tmp_path / "out"
        with begin(whole, out) as store:
            store.add(chunk_of(0, 20))  # a part and a staged chunk
            store.log({"event": "rows"})
            during = list(out.rglob("*"))
        explainer().explain_to(rows(), out, id="account", rows_per_part=16, resume=True)
        page = tmp_path / "why.html"
        shared = tmp_path / "shared.html"
        shared.touch(0o644)
        for path in (page, shared):
            suffice.load(out)[0].to_html(path)
    finally:
        os.umask(before)
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in (out, *out.rglob("*"), page)}
    assert {"_lock", "digests.jsonl"} <= {path.name for path in during}
    assert modes == {path: 0o700 if path.is_dir() else 0o600 for path in modes}
    assert stat.S_IMODE(shared.stat().st_mode) == 0o644


def test_pandas_and_polars_read_each_folder(whole):
    import polars as pl

    for folder in TABLE_FOLDERS:
        path = whole / folder
        frame = pd.read_parquet(path)
        assert len(frame) == len(pl.read_parquet(path / "*.parquet"))
        assert len(frame) == len(pl.read_parquet(path))
        assert frame["id"].dtype == "str" or not len(frame)


def test_duckdb_reads_each_folder(whole):
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed: see `make test-peers`")
    for folder in TABLE_FOLDERS:
        path = whole / folder
        [(n,)] = duckdb.sql(f"SELECT count(*) FROM '{path}/*.parquet'").fetchall()
        assert len(pd.read_parquet(path)) == n
    best = duckdb.sql(
        f"SELECT features, count(*) AS n FROM '{whole}/factors/*.parquet' WHERE view = 'flip' "
        "GROUP BY features ORDER BY n DESC LIMIT 1"
    ).fetchall()
    assert set(best[0][0]) <= set(COLUMNS)


@pytest.mark.parametrize("seed", range(6))
def test_chunks_of_any_size_in_any_order_and_twice_give_the_same_bytes(whole, seed, tmp_path):
    rng = random.Random(seed)
    cuts = [0, *sorted(rng.sample(range(1, 40), rng.randint(0, 12))), 40]
    spans = list(pairwise(cuts))
    spans += rng.choices(spans, k=2)
    rng.shuffle(spans)
    with begin(whole, tmp_path / "out") as store:
        for span in spans:
            store.add(chunk_of(*span))
        store.finish(40)
    assert files(tmp_path / "out") == files(whole)


def test_chunks_that_overlap_give_the_same_bytes(whole, tmp_path):
    with begin(whole, tmp_path / "out") as store:
        for span in [(0, 10), (5, 16), (16, 24), (20, 36), (30, 40)]:
            store.add(chunk_of(*span))
        store.finish(40)
    assert files(tmp_path / "out") == files(whole)


def test_it_continues_where_it_was_left_and_gives_the_same_bytes(whole, tmp_path):
    out = tmp_path / "out"
    with begin(whole, out) as store:
        for span in [(0, 16), (20, 23), (33, 40)]:
            store.add(chunk_of(*span))
        assert store.next_missing(0, 40) == (16, 20)
    (out / "_work" / "part.123.suffice-tmp").write_bytes(b"half")
    assert len(suffice.load(out)) == 16
    assert "not finished" in repr(suffice.load(out))
    explainer().explain_to(rows(), out, id="account", rows_per_part=16, resume=True)
    assert files(out) == files(whole)


def test_a_folder_that_has_explanations_is_not_written_to_again(whole, tmp_path):
    with pytest.raises(
        InputError, match=r"out: got .*which already has explanations; .* resume=True"
    ):
        explainer().explain_to(rows(), whole, id="account", rows_per_part=16)
    (tmp_path / "mine.txt").write_text("precious")
    with pytest.raises(InputError, match=r"out: got .*which is not empty"):
        explainer().explain_to(rows(), tmp_path)
    with pytest.raises(InputError, match=r"out: got .*which is a file"):
        explainer().explain_to(rows(), tmp_path / "mine.txt")


def test_nothing_in_the_manifest_is_of_the_time_or_the_machine(whole, tmp_path):
    manifest = json.loads((whole / "_manifest.json").read_text())
    assert manifest["repeatable"]
    assert manifest["question"]["tau"] == 0.9
    explainer.cache_clear()
    explainer().explain_to(rows(), tmp_path / "again", id="account", rows_per_part=16)
    assert files(tmp_path / "again") == files(whole)


def test_what_differs_from_run_to_run_is_in_the_log_alone(whole):
    log = [json.loads(line) for line in (whole / "_log.jsonl").read_text().splitlines()]
    assert [log[0]["event"], log[-1]["event"]] == ["begin", "end"]
    told = [line for line in log if line["event"] == "rows"]
    assert sum(line["rows"] for line in told) == 40
    assert sum(sum(line["evaluators"].values()) for line in told) == 40
    assert all(line["seconds"] > 0 and line["rows_predicted"] >= 0 for line in told)
    everything = b"".join(files(whole).values())
    assert b'"seconds":0.0' in everything.replace(b" ", b"") and b"evaluators" not in everything


def test_a_run_that_stops_after_a_time_gives_what_is_there_and_continues(whole, tmp_path):
    stored = explainer().explain_to(
        rows(), tmp_path, id="account", rows_per_part=16, stop_after=1e-9
    )
    assert not stored.finished
    assert "Not finished: continue with resume=True" in str(stored)
    explainer().explain_to(rows(), tmp_path, id="account", rows_per_part=16, resume=True)
    assert files(tmp_path) == files(whole)


@pytest.mark.parametrize("counts", [None, True])
def test_more_than_12_features_are_kept_at_their_threshold_unless_counts_are_wanted(
    counts, tmp_path
):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(40, 13)), columns=[f"x{j}" for j in range(13)])
    y = X["x0"] + X["x5"] > 0
    wide = Explainer(
        DecisionTreeClassifier(max_depth=5, random_state=0).fit(X, y), X, n_references=10
    )
    asked = {"counts": counts, "search": "exhaustive"}
    stored = wide.explain_to(X.iloc[:3], tmp_path / "one", **asked)
    made = wide.explain_many(X.iloc[:3], search="exhaustive")
    for loaded, e in zip(stored, made, strict=True):
        assert loaded.keep.digest == e.keep.digest or counts is None
        assert [f.features for f in loaded.flip] == [f.features for f in e.flip]
        assert loaded.flip.necessity == e.flip.necessity
        assert loaded.left_out == e.left_out
    again = wide.explain_to(X.iloc[:3], tmp_path / "two", **asked)
    assert files(again.folder) == files(stored.folder)


def test_counts_by_bit_mask_are_the_model_s_own(whole):
    X, _ = loans()
    frame = pd.read_parquet(whole / "explanations")
    e = explainer().explain(X.iloc[5])
    held = [COLUMNS[j] for j in range(4) if 6 >> j & 1]
    assert frame["counts"][5][6] == e.keep.sufficiency(held) * e.provenance.n_references
    assert np.asarray(frame["counts"][5]).tolist() == e.keep.tally.dense.tolist()
