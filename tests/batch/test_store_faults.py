"""Faults of a folder of results: reported clearly, nothing corrupted, repaired by resuming."""

import json
import os
import pickle
import re
import resource
import shutil
import subprocess
import sys
from contextlib import contextmanager
from copy import deepcopy
from functools import cache
from itertools import count

import msgspec
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.tree import DecisionTreeClassifier

import suffice
from suffice import Explainer, InputError, at_least
from suffice.batch import explain_to
from suffice.batch.atomic_write import TEMPORARY_SUFFIX, lock_folder
from suffice.batch.hashing import hash_model, hash_object
from suffice.batch.manifest import Manifest
from tests.batch.test_store import (  # noqa: F401 - a fixture
    begin,
    chunk_of,
    explainer,
    files,
    finished_folder,
    loans,
    rows,
)
from tests.soak import broken_files, stores
from tests.soak.stores import read_all


def again(out, other=None, data=None, **question):
    given = {"id": "account", "rows_per_part": 16, "resume": True} | question
    return (other or explainer()).explain_to(rows() if data is None else data, out, **given)


@pytest.fixture
def copy(whole, tmp_path):
    """A finished folder that may be spoiled."""
    return shutil.copytree(whole, tmp_path / "out")


@pytest.mark.parametrize("folder", ["explanations", "factors", "errors"])
@pytest.mark.parametrize("spoil", ["truncated", "empty", "foreign", "gone"])
def test_a_bad_part_is_named_and_written_again_by_resuming(whole, copy, folder, spoil):
    path = copy / folder / "part-000000000016.parquet"
    content = path.read_bytes()
    if spoil == "gone":
        path.unlink()
    elif spoil == "foreign":
        pd.DataFrame({"a": [1]}).to_parquet(path)
    else:
        path.write_bytes(content[: len(content) // 2] if spoil == "truncated" else b"")
    if folder == "explanations" and spoil != "gone":
        with pytest.raises(InputError, match=rf"folder: got .*{path.name} .*--resume"):
            suffice.load(copy)
    again(copy)
    assert files(copy) == files(whole)
    assert len(suffice.load(copy)) == 40


def test_a_part_of_another_run_is_named(whole, copy, tmp_path):
    X, _ = loans()
    other = Explainer(explainer().decider.engine_selector.model, X, random_state=7, n_references=30)
    other.explain_to(rows(), tmp_path / "other", id="account", rows_per_part=16)
    name = "explanations/part-000000000000.parquet"
    shutil.copy(tmp_path / "other" / name, copy / name)
    with pytest.raises(InputError, match=r"part-000000000000.parquet \(a part of another run\)"):
        suffice.load(copy)
    again(copy)
    assert files(copy) == files(whole)


def test_damage_inside_a_part_is_named_when_it_is_read(whole, copy):
    path = copy / "explanations" / "part-000000000000.parquet"
    content = bytearray(path.read_bytes())
    content[100:2000] = b"\xff" * 1900
    path.write_bytes(content)
    stored = suffice.load(copy)
    with pytest.raises(InputError, match=r"part-000000000000\.parquet .*resume=True"):
        list(stored)
    again(copy)
    assert files(copy) == files(whole)


@pytest.mark.parametrize(
    ("name", "cells"),
    [("other_outcome", None), ("outcome", None), ("prediction", ["granted"]), ("tau", "0.9")],
)
def test_cells_of_another_type_are_refused(copy, name, cells):
    broken_files.without_digests(copy)
    path = copy / "explanations" / "part-000000000000.parquet"
    table = pq.read_table(path, partitioning=None)
    column = pa.array([cells] * len(table))
    pq.write_table(table.set_column(table.column_names.index(name), name, column), path)
    with pytest.raises(InputError, match=r"part-000000000000\.parquet"):
        broken_files.use_store(copy)


@pytest.mark.parametrize("folder", ["explanations", "factors"])
def test_a_single_byte_that_changed_is_found_and_written_again(whole, copy, folder):
    path = copy / folder / "part-000000000000.parquet"
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 1
    path.write_bytes(content)
    again(copy)
    assert files(copy) == files(whole)


def test_a_finished_folder_that_lost_a_part_is_refused(whole, copy):
    (copy / "explanations" / "part-000000000000.parquet").unlink()
    with pytest.raises(InputError, match=r"part-000000000000\.parquet \(is missing\)"):
        suffice.load(copy)
    again(copy)
    assert files(copy) == files(whole)


@pytest.mark.parametrize("folder", ["explanations", "factors", "errors"])
@pytest.mark.parametrize("swap", [True, False])
def test_parts_that_changed_places_are_refused(whole, copy, folder, swap):
    first, second = (copy / folder / f"part-{n:012d}.parquet" for n in (0, 16))
    contents = first.read_bytes(), second.read_bytes()
    if folder == "errors" and contents[0] == contents[1]:
        pytest.skip("both parts are without errors")
    first.write_bytes(contents[1])
    if swap:
        second.write_bytes(contents[0])
    with pytest.raises(InputError, match=r"part-0000000000\d\d\.parquet .*resume"):
        read_all(copy)
    again(copy)
    assert files(copy) == files(whole)


def test_the_attack_on_stores_finds_no_fault_in_a_copy(tmp_path):
    stores.write_store(tmp_path / "whole")
    shutil.copytree(tmp_path / "whole", tmp_path / "copy")
    assert stores.read_all(tmp_path / "copy") == stores.read_all(tmp_path / "whole")


@pytest.mark.parametrize(
    ("attack", "count"),
    [
        (stores.corrupt_stores, 11),
        (stores.cut_off_runs, 3),
        (stores.read_while_written, 1),
        (broken_files.break_stores, 4),
    ],
)
def test_a_store_withstands(attack, count):
    """A slice of `make soak`."""
    tally = attack(count, seed=0)
    assert tally.tries == count
    assert not tally.failures, tally.failures[0]


def test_a_clock_that_jumps_back_changes_no_answer_and_no_limit(tmp_path, monkeypatch):
    """Only dates follow the clock that people set; limits follow one that never goes back."""
    stores.write_store(tmp_path / "whole")
    hours = count(1_000_000, -1)

    def clock():
        return 3600.0 * next(hours)

    for name in ("time.time", "tqdm.std.time"):  # of which tqdm's is the one of progress bars
        monkeypatch.setattr(name, clock)
    monkeypatch.setattr(explain_to, "_utc_now", lambda: str(clock()))
    explainer, out = stores.loans_explainer(), tmp_path / "back"
    rows = (
        stores.loans()[0].iloc[: stores.ROWS].assign(account=[f"A{i}" for i in range(stores.ROWS)])
    )
    explainer.explain_to(rows, out, id="account", rows_per_part=8, stop_after=3600.0, progress=True)
    assert suffice.load(out).finished
    assert stores.stored_bytes(out) == stores.stored_bytes(tmp_path / "whole")
    e = explainer.explain(rows.iloc[[0]][stores.COLUMNS], time_limit=3600.0)
    assert e.complete and e.provenance.seconds >= 0


def test_a_run_that_ended_before_its_manifest_can_be_begun_again(whole, tmp_path):
    out = tmp_path / "out"
    (out / "_work").mkdir(parents=True)
    (out / "_lock").touch()
    (out / "_work" / f"out-_manifest.json.1{TEMPORARY_SUFFIX}").write_bytes(b"{")
    again(out)
    assert files(out) == files(whole)


VALUES = [None, -1, "x", {}, [[[0]]], 1e300, broken_files.DEEP]


@pytest.mark.parametrize("field", [field.name for field in msgspec.structs.fields(Manifest)])
def test_any_field_of_a_manifest_may_be_broken(copy, field, monkeypatch):
    """Even if the hash fits, it is refused in a sentence, or what is stored can be read."""
    path = copy / "_manifest.json"
    whole = json.loads(path.read_text())
    monkeypatch.setattr(
        Manifest, "with_hash", lambda m: msgspec.structs.replace(m, check=whole["check"])
    )
    for place in broken_files.places(whole[field], (field,)):
        for value in VALUES:
            record = deepcopy(whole)
            at = record
            for key in place[:-1]:
                at = at[key]
            at[place[-1]] = value
            path.write_text(broken_files.write_json(record))
            try:
                stored = suffice.load(copy)
                assert str(stored)
                assert stored[0].to_json()
            except InputError as error:
                assert error.argument == "folder", (place, value)
                assert len(str(error)) < 1000, (place, value)


def test_a_changed_chunk_of_an_unfinished_part_is_explained_again(whole, tmp_path):
    out = tmp_path / "out"
    with begin(whole, out) as store:
        store.add(chunk_of(0, 16))
        store.add(chunk_of(16, 20))
    [chunk] = (out / "_work").glob("rows-*.arrow")
    content = bytearray(chunk.read_bytes())
    at = content.index(b"refused") if b"refused" in content else content.index(b"granted")
    content[at] ^= 1
    chunk.write_bytes(content)
    again(out)
    assert files(out) == files(whole)


def test_a_folder_of_an_older_version_without_digests_is_read_and_continued(whole, copy):
    totals = json.loads((copy / "_SUCCESS").read_bytes())
    del totals["files"]
    (copy / "_SUCCESS").write_text(json.dumps(totals))
    assert len(suffice.load(copy)) == 40
    again(copy)
    assert files(copy) == files(whole)


def test_an_interrupted_run_says_what_is_stored_and_how_it_is_continued(tmp_path):
    X, _ = loans()
    calls = []

    def model(frame):
        calls.append(len(frame))
        if len(calls) > 20:
            raise KeyboardInterrupt
        return np.where(frame["income"] > 30, "granted", "refused")

    interrupted = Explainer(model, X)
    with pytest.raises(KeyboardInterrupt) as caught:
        interrupted.explain_to(X, tmp_path / "out", rows_per_part=16)
    stored = len(suffice.load(tmp_path / "out"))
    said = str(caught.value)
    assert f"{stored} rows of 200 are stored in {tmp_path / 'out'}" in said
    assert "resume=True continues the run" in said
    assert caught.value.__suppress_context__  # no traceback of the interrupted line


def test_a_full_disk_while_the_lock_is_taken_leaves_no_lock(whole, tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    with (
        pytest.raises(InputError, match=r"out: got .*_lock \(File too large\)"),
        files_of_at_most(0),
    ):
        lock_folder(folder)
    lock_folder(folder)()
    again(folder)
    assert files(folder) == files(whole)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda text: text.replace('"tau": 0.9', '"tau": 0.8'), "which was edited"),
        (
            lambda text: re.sub('"version": 1$', '"version": 9', text, flags=re.M),
            "of version 9; allowed",
        ),
        (lambda text: text[:200], "which is not a valid manifest"),
        (lambda text: "[]", "which is not a valid manifest"),
        (lambda text: "", "which is not a valid manifest"),
    ],
)
def test_an_edited_manifest_is_refused(copy, edit, message):
    path = copy / "_manifest.json"
    path.write_text(edit(path.read_text(encoding="utf-8")), encoding="utf-8")
    before = files(copy)
    for call in (lambda: suffice.load(copy), lambda: again(copy)):
        with pytest.raises(InputError, match=message):
            call()
    assert files(copy) == before


def changed_model():
    X, y = loans()
    return {"other": Explainer(DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y), X)}


def changed_data():
    X, _ = loans()
    return {"other": Explainer(explainer().decider.engine_selector.model, X.iloc[:150])}


def changed_cell():
    data = rows()
    data.loc[3, "age"] += 1
    return {"data": data}


CHANGES = {
    "model": (changed_model, r"the model changed: hash [0-9a-f]{8}… → [0-9a-f]{8}…"),
    "data": (changed_data, r"the data changed: hash [0-9a-f]{8}… → [0-9a-f]{8}…"),
    "input": (changed_cell, r"the input changed: hash [0-9a-f]{8}… → [0-9a-f]{8}…"),
    "fewer rows": (lambda: {"data": rows(39)}, "the input changed"),
    "tau": (lambda: {"tau": 0.8}, r"tau: 0\.9 → 0\.8"),
    "alpha": (lambda: {"alpha": 0.05}, r"alpha: none → 0\.05"),
    "several": (lambda: {"tau": 0.8, "max_size": 2}, r"tau: 0\.9 → 0\.8; max_size: none → 2"),
    "id": (lambda: {"id": None}, "id: account → none; id_type: string → int64"),
    "counts": (lambda: {"counts": False}, "counts: none → no"),
    "parts": (lambda: {"rows_per_part": 8}, "rows_per_part: 16 → 8"),
    "search": (lambda: {"search": "greedy"}, "search: auto → greedy"),
    "seed": (
        lambda: {
            "other": Explainer(
                explainer().decider.engine_selector.model, loans()[0], random_state=1
            )
        },
        "random_state: 0 → 1",
    ),
}


@pytest.mark.parametrize(("change", "message"), CHANGES.values(), ids=CHANGES.keys())
def test_another_run_is_not_continued_and_the_difference_is_named(copy, change, message):
    (copy / "_SUCCESS").unlink()
    before = files(copy)
    with pytest.raises(InputError, match=rf"resume: got a folder of another run \(.*{message}"):
        again(copy, **change())
    assert files(copy) == before


def test_resuming_where_nothing_was_begun_begins(whole, tmp_path):
    again(tmp_path / "new")
    assert files(tmp_path / "new") == files(whole)


def test_only_one_writes_to_a_folder(whole, copy):
    free = lock_folder(copy)
    with pytest.raises(InputError, match=rf"out: got .*which process {os.getpid()}, this one"):
        again(copy)
    free()
    code = f"import time; from pathlib import Path; from suffice.batch.atomic_write import TEMPORARY_SUFFIX, lock_folder; lock_folder(Path({str(copy)!r})); print('locked', flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as other:
        try:
            other.stdout.readline()
            with pytest.raises(InputError, match=rf"which process {other.pid} on .* writes to"):
                again(copy)
        finally:
            other.kill()
    assert (copy / "_lock").exists()  # nobody's any more
    again(copy)
    assert files(copy) == files(whole)


def test_a_folder_that_cannot_be_written_to_is_named(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match=r"out: got .*file/out \(Not a directory\)"):
        explainer().explain_to(rows(), tmp_path / "file" / "out")
    with pytest.raises(InputError, match=r"out: got /proc/none .*; allowed: a folder that can be"):
        explainer().explain_to(rows(), "/proc/none")


@contextmanager
def files_of_at_most(size):
    """Let the system refuse to make a file larger, as it does where a disk is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("room", [100, 6_000, 12_000])
def test_a_disk_that_is_full_is_reported_and_loses_nothing(tmp_path, whole, room):
    out = tmp_path / "out"
    message = (
        r"out: got .*\(File too large\); allowed: a folder .* with free space\. "
        r"Files written before are complete: make room, then continue with resume=True"
    )
    with pytest.raises(InputError, match=message), files_of_at_most(room):
        explainer().explain_to(rows(), out, id="account", rows_per_part=16)
    assert not [path for path in out.rglob("*") if path.suffix == TEMPORARY_SUFFIX]
    if (out / "_manifest.json").exists():
        for loaded in suffice.load(out):
            assert loaded.complete
    again(out)
    assert files(out) == files(whole)


HASH = """
import sys, pickle
from tests.batch.test_store import loans
from suffice import Explainer
from suffice.batch.hashing import hash_model
with open(sys.argv[1], "rb") as file:
    fitted = pickle.load(file)
for name, model in fitted.items():
    print(name, hash_model(Explainer(model, loans()[0]).decider))
"""


def scores(rows):
    return (rows["income"] - rows["debt"] > 20).to_numpy()


@cache
def models():
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from xgboost import XGBClassifier

    X, y = loans()
    return {
        "forest": RandomForestClassifier(5, random_state=0).fit(X, y),
        "boosted": HistGradientBoostingClassifier(max_iter=5, random_state=0).fit(X, y),
        "pipeline": make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y),
        "xgboost": XGBClassifier(n_estimators=3, n_jobs=1).fit(X, y == y[0]),
        "function": scores,
    }


def test_two_processes_agree_on_the_hash_of_a_model(tmp_path):
    fitted = models()  # once: threads may add up what they learn in another order
    (tmp_path / "models").write_bytes(pickle.dumps(fitted))
    seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
    there = subprocess.run(
        [sys.executable, "-c", HASH, str(tmp_path / "models")],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONHASHSEED": seed},
    ).stdout.splitlines()
    here = [f"{n} {hash_model(Explainer(m, loans()[0]).decider)}" for n, m in fitted.items()]
    assert there == here
    kinds = [line.split()[1].partition(":")[0] for line in here]
    assert kinds == ["state", "state", "state", "state", "code"]


def test_a_model_has_the_same_hash_after_predictions_and_when_read_back():
    X, _ = loans()
    for model in models().values():
        explainer = Explainer(model, X, n_references=20)
        before = hash_model(explainer.decider)
        explainer.explain(X.iloc[0])
        assert hash_model(explainer.decider) == before
        back = pickle.loads(pickle.dumps(model))
        assert hash_model(Explainer(back, X).decider) == before


def test_functions_are_distinguished_by_what_they_do():
    def make(limit):
        return lambda rows: rows["income"] > limit

    assert hash_object(make(30)) == hash_object(make(30))
    assert hash_object(make(30)) != hash_object(make(31))
    assert hash_object(at_least(3)) == hash_object(at_least(3))
    assert hash_object(at_least(3)) != hash_object(at_least(4))


def test_a_model_that_cannot_be_pickled_is_identified_by_its_predictions():
    class Session:
        def __init__(self, limit):
            self.limit = limit

        def __reduce__(self):
            raise TypeError("an open session")

        def predict(self, rows):
            return np.where(rows["income"] > self.limit, "yes", "no")

    X, _ = loans()
    one, same, other = (hash_model(Explainer(Session(limit), X).decider) for limit in (40, 40, 60))
    assert one == same != other
    assert one.startswith("answers:")


def test_a_search_that_ends_with_its_time_is_not_repeatable_and_says_so(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(30, 40)), columns=[f"x{j}" for j in range(40)])

    def model(rows):
        return rows.to_numpy()[:, :3].sum(axis=1) > 0

    wide = Explainer(model, X, n_references=5)
    stored = wide.explain_to(X.iloc[:2], tmp_path / "timed", budget=20_000)
    assert stored.manifest.repeatable
    timed = wide.explain_to(X.iloc[:1], tmp_path / "not", search="greedy", time_limit=0.2)
    assert not timed.manifest.repeatable
    manifest = json.loads((tmp_path / "not" / "_manifest.json").read_text())
    assert manifest["repeatable"] is False
    assert "another run may differ" in str(timed)
