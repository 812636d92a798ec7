"""`suffice batch`, run as a user runs it: what it writes, what it says, and what it survives."""

import gc
import os
import runpy
import shlex
import signal
import sys
import tracemalloc
from contextlib import contextmanager
from functools import partial

import joblib
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.linear_model import LinearRegression

import suffice
from suffice import Explainer, datasets
from suffice.batch import explain_to as to
from suffice.cli import app
from suffice.cli.output import RowCounter
from tests.batch.command_run import (
    COLUMNS,
    ROOT,
    command,
    group_has_ended,
    result_bytes,
    start,
    wait_until_held,
    write_held_portfolio,
    write_portfolio,
)
from tests.cli.command_call import run_command

N = 40


@pytest.fixture
def portfolio(tmp_path):
    write_portfolio(tmp_path, N)
    return tmp_path


def batch(folder, out, *options, capsys, data="t.parquet"):
    words = ["batch", "--data", folder / data, "--model", folder / "m.joblib", "--trust-pickle"]
    return run_command(*words, "--out", folder / out, *options, capsys=capsys)


def test_every_row_is_explained_as_explain_does(portfolio, capsys):
    code, out, err = batch(portfolio, "out", "--id", "who", "--tau", 0.8, capsys=capsys)
    assert code == 0, err
    assert f"{N} rows in {portfolio / 'out'}: {N} explanations, no errors." in out
    table = pd.read_parquet(portfolio / "t.parquet")
    model = joblib.load(portfolio / "m.joblib")
    explainer = Explainer(model, table[list(COLUMNS)], n_references=100)
    stored = suffice.load(portfolio / "out")
    for i in (0, 7, N - 1):
        expected = explainer.explain(table[list(COLUMNS)].iloc[[i]], tau=0.8)
        assert stored.by_id(f"p{i}").keep.factors == expected.keep.factors
        assert stored[i].flip.factors == expected.flip.factors


def test_it_says_where_references_come_from_and_how_to_read_the_result(portfolio, capsys):
    _, out, err = batch(portfolio, "out", capsys=capsys)
    assert (
        f"References: at most 500 for each row, predicted otherwise, from the {N} rows of "
        "t.parquet." in err
    )
    assert "rows in" in out
    assert "On disk: " in out
    assert f"FROM '{portfolio / 'out'}/factors/*.parquet'" in out
    python = out.split("or in Python: ")[1].splitlines()[0]
    exec(python)
    assert "Keeps" in capsys.readouterr().out


def test_the_query_it_shows_runs_in_duckdb(portfolio, capsys):
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed: see `make test-peers`")
    _, out, _ = batch(portfolio, "out", capsys=capsys)
    query = out.split("in DuckDB: ")[1].splitlines()[0]
    assert duckdb.sql(query).fetchall()


def test_a_csv_file_gives_what_the_same_parquet_file_does(portfolio, capsys):
    pd.read_parquet(portfolio / "t.parquet").to_csv(portfolio / "t.csv", index=False)
    for name in ("t.parquet", "t.csv"):
        batch(portfolio, name[2:], "--id", "who", data=name, capsys=capsys)
    ours, theirs = (
        pd.read_parquet(portfolio / kind / "factors").drop(columns="id")
        for kind in ("csv", "parquet")
    )
    pd.testing.assert_frame_equal(ours, theirs)


def test_a_bad_row_is_an_error_of_its_own_and_reported(tmp_path, capsys):
    write_portfolio(tmp_path, 200)
    frame = pd.read_parquet(tmp_path / "t.parquet").astype({"age": object})
    frame.loc[17, "age"] = "unknown"
    frame.to_csv(tmp_path / "t.csv", index=False)
    code, out, err = batch(
        tmp_path, "out", "--id", "who", "--rows", "0:30", data="t.csv", capsys=capsys
    )
    assert code == 0, err
    assert "'age' is a column of numbers, but 1 cell is not ('unknown' in row 17)" in err
    assert "from the 199 of 200 rows of t.csv whose numbers are all numbers." in err
    assert "29 explanations, 1 error (InputError: 1)." in out
    [failed] = suffice.load(tmp_path / "out").errors.to_dict("records")
    assert (failed["id"], failed["row"], failed["kind"]) == ("p17", 17, "InputError")
    assert "'unknown' for column 'age'" in failed["message"]


@pytest.mark.parametrize(
    ("rows", "numbers"),
    [("3:6", [3, 4, 5]), ("5,9,12", [5, 9, 12]), ("who=p7", [7])],
)
def test_only_the_requested_rows(portfolio, capsys, rows, numbers):
    code, _, err = batch(portfolio, "out", "--rows", rows, capsys=capsys)
    assert code == 0, err
    assert pd.read_parquet(portfolio / "out" / "explanations")["id"].tolist() == numbers


def test_rows_that_are_not_there_are_reported(portfolio, capsys):
    code, _, err = batch(portfolio, "out", "--rows", "30:99", capsys=capsys)
    assert code == 2
    assert f"--rows: got '30:99'; allowed: 0 to {N - 1}, which are the rows of t.parquet" in err


def test_ids_that_are_shared_are_reported(portfolio, capsys):
    frame = pd.read_parquet(portfolio / "t.parquet")
    frame.loc[9, "who"] = "p3"
    frame.to_parquet(portfolio / "t.parquet")
    code, _, err = batch(portfolio, "out", "--id", "who", "--rows", "0:2", capsys=capsys)
    assert code == 0, err
    assert "'who' has 1 row with the id of an earlier one ('p3': rows 3 and 9)" in err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--workers", 2, "--dask", "tcp://x:1"), "--workers, --dask: got both"),
        (("--row-time-limit", 3), "needs worker processes: add --workers 1 or more"),
        (("--id", "whom"), "--id: got unknown column 'whom'"),
        (("--rows", "a"), "--rows: got 'a'"),
        (("--tau", 2), "--tau: got 2.0"),
        (("--max-errors", -1), "--max-errors: got -1"),
        (("--time-limit", -1), "--time-limit: got -1"),
        (("--rows-per-part", 0), "--rows-per-part: got 0"),
        (("--train", "logistic"), "--model, --train: got both or neither"),
        (("--id", "who", "--target", "who"), "--id: got 'who', which is the label too"),
    ],
)
def test_a_mistake_in_the_call_is_reported_before_anything_is_written(
    portfolio, capsys, options, message
):
    code, _, err = batch(portfolio, "out", *options, capsys=capsys)
    assert code == 2
    assert message in err
    assert not (portfolio / "out").exists()


def test_a_model_of_numbers_needs_an_outcome(portfolio, capsys):
    frame = pd.read_parquet(portfolio / "t.parquet")[list(COLUMNS)]
    joblib.dump(LinearRegression().fit(frame, frame["age"]), portfolio / "m.joblib")
    code, _, err = batch(portfolio, "out", capsys=capsys)
    assert code == 2
    assert "--at-least, --at-most: got neither, of a model that gives numbers" in err
    code, _, err = batch(portfolio, "out", "--at-least", 0.1, capsys=capsys)
    assert code == 0, err


def test_what_may_change_and_what_is_left_out_hold_for_every_row(tmp_path, capsys):
    X, y = datasets.loans(60)
    X.assign(decision=y).to_csv(tmp_path / "t.csv", index=False)
    ask = ["batch", "--data", tmp_path / "t.csv", "--target", "decision", "--rows", "0:8"]
    ask += ["--train", "extra-trees", "--out", tmp_path / "out", "--leave-out", "job"]
    code, _, err = run_command(*ask, "--immutable", "income,age", capsys=capsys)
    assert code == 0, err
    changes = [e.cheapest for e in suffice.load(tmp_path / "out") if e.cheapest is not None]
    assert changes
    assert not {f for c in changes for f in c.features} & {"income", "age", "job"}
    code, _, err = run_command(*ask, "--immutable", "age", "--resume", capsys=capsys)
    assert code == 2
    assert "immutable" in err


def test_references_from_another_table(portfolio, capsys):
    other = pd.read_parquet(portfolio / "t.parquet").iloc[:25]
    other.to_csv(portfolio / "other.csv", index=False)
    code, _, err = batch(
        portfolio, "out", "--id", "who", "--background", portfolio / "other.csv", capsys=capsys
    )
    assert code == 0, err
    assert "from the 25 rows of other.csv" in err


def test_a_sample_of_a_large_table_is_reported(portfolio, capsys, monkeypatch):
    monkeypatch.setattr("suffice.batch.reference_data.MAX_BACKGROUND_ROWS", 30)
    code, _, err = batch(portfolio, "out", "--id", "who", capsys=capsys)
    assert code == 0, err
    assert f"from 30 rows drawn from the {N} of t.parquet (seed 0)." in err


def test_a_model_trained_on_the_table(tmp_path, capsys):
    X, y = datasets.loans(150)
    X.assign(decision=y).to_csv(tmp_path / "loans.csv", index=False)
    words = ["--data", tmp_path / "loans.csv", "--target", "decision", "--train", "logistic"]
    code, out, err = run_command(
        "batch", *words, "--rows", "0:5", "--out", tmp_path / "out", capsys=capsys
    )
    assert code == 0, err
    assert "Trained logistic" in err
    assert "5 explanations, no errors" in out
    again = run_command(
        "batch", *words, "--rows", "0:5", "--out", tmp_path / "out", "--resume", capsys=capsys
    )
    assert again[0] == 0, again[2]


def test_a_changed_model_file_is_not_resumed(portfolio, capsys):
    batch(portfolio, "out", "--rows", "0:5", capsys=capsys)
    model = joblib.load(portfolio / "m.joblib")
    model.coef_ = model.coef_ * 1.01
    joblib.dump(model, portfolio / "m.joblib")
    code, _, err = batch(portfolio, "out", "--rows", "0:5", "--resume", capsys=capsys)
    assert code == 2
    assert "the model changed" in err


def test_a_folder_that_is_there_is_not_written_over_but_resumed(portfolio, capsys):
    batch(portfolio, "out", "--rows", "0:5", capsys=capsys)
    code, _, err = batch(portfolio, "out", "--rows", "0:5", capsys=capsys)
    assert code == 2
    assert "--out: got" in err
    assert "--resume" in err
    code, out, _ = batch(portfolio, "out", "--rows", "0:5", "--resume", capsys=capsys)
    assert code == 0
    assert "5 explanations" in out


def test_another_question_in_the_same_folder_is_refused_with_what_changed(portfolio, capsys):
    batch(portfolio, "out", "--rows", "0:5", capsys=capsys)
    code, _, err = batch(portfolio, "out", "--rows", "0:5", "--resume", "--tau", 0.7, capsys=capsys)
    assert code == 2
    assert "tau" in err
    assert "0.7" in err
    frame = pd.read_parquet(portfolio / "t.parquet")
    frame.loc[39, "age"] += 1
    frame.to_parquet(portfolio / "t.parquet")
    code, _, err = batch(portfolio, "out", "--rows", "0:5", "--resume", capsys=capsys)
    assert code == 2
    assert "input" in err


def test_a_time_limit_stops_and_says_how_to_continue(portfolio, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["suffice", "batch", "--out", "a folder"])
    code, _, err = batch(portfolio, "out", "--time-limit", 1e-9, capsys=capsys)
    assert code == 1
    assert "the time limit of under 0.1 s was reached" in err
    assert "  suffice batch --out 'a folder' --resume\n" in err
    code, out, _ = batch(portfolio, "out", "--resume", capsys=capsys)
    assert code == 0
    assert f"{N} explanations" in out


def test_too_many_errors_stop_it_and_say_how_to_go_on(portfolio, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["suffice", "batch", "--max-errors", "3"])
    frame = pd.read_parquet(portfolio / "t.parquet")
    frame.to_parquet(portfolio / "whole.parquet")
    frame["age"] = frame["age"].where(frame.index % 2 == 0, np.nan)
    frame.to_parquet(portfolio / "t.parquet")
    options = ["--background", portfolio / "whole.parquet"]
    code, _, err = batch(portfolio, "out", "--max-errors", 3, *options, capsys=capsys)
    assert code == 1
    assert "Stopped: more than 3 rows ended in an error. " in err
    assert "  suffice batch --max-errors 3 --resume\n" in err
    code, out, _ = batch(portfolio, "out", "--resume", *options, capsys=capsys)
    assert code == 0
    assert f"{N // 2} explanations, {N // 2} errors (ModelError: {N // 2})." in out


HELD_ROWS = 120


def held_options(folder):
    background = folder / "references.parquet"
    return ["--rows-per-part", 4, "--n-references", 10, "--background", background]


@contextmanager
def held_run(folder, *options):
    """Start `suffice batch`, and give the process once it is in the middle of its rows."""
    write_held_portfolio(folder, HELD_ROWS, at=10)
    words = command(folder, "out", *held_options(folder), *options)
    with start(words) as driver:
        try:
            wait_until_held(folder, driver)
            yield driver
        finally:
            (folder / "go").touch()  # the workers of a driver that was killed end, too
            driver.kill()
    assert group_has_ended(driver.pid)


def explained_at_once(folder, capsys):
    """The bytes of a run that nothing stopped."""
    code, _, err = batch(folder, "whole", "--id", "who", *held_options(folder), capsys=capsys)
    assert code == 0, err
    return result_bytes(folder / "whole")


def resume(words, capsys):
    """Run a command of `suffice` in this process."""
    code, _, err = run_command(*words, capsys=capsys)
    assert code == 0, err


@pytest.mark.parametrize(
    ("number", "code", "workers"),
    [(signal.SIGTERM, 143, []), (signal.SIGINT, 130, ["--workers", 2])],
)
def test_a_signal_finishes_what_is_in_hand_and_the_printed_command_resumes(
    tmp_path, capsys, number, code, workers
):
    with held_run(tmp_path, *workers) as driver:
        os.killpg(driver.pid, number)  # to the workers, too, as Ctrl-C in a terminal
        said = []
        while "rows that are running will be finished" not in "".join(said):
            said.append(driver.stdout.readline())
            assert said[-1], said
        (tmp_path / "go").touch()
        said = "".join(said) + driver.communicate()[0]
        assert driver.returncode == code, said
    stored = suffice.load(tmp_path / "out")
    reason = f"{signal.Signals(number).name} was received"
    assert f"Stopped: {reason}. {len(stored)} rows are stored. To continue:" in said
    assert "Traceback" not in said
    assert not stored.finished
    assert 0 < len(stored) < HELD_ROWS
    again = shlex.split(said.rstrip().splitlines()[-1])
    assert again[:3] == ["suffice", "batch", "--data"]
    assert again[-1] == "--resume"
    if workers:  # which change no byte
        at = again.index("--workers")
        del again[at : at + 2]
    resume(again[1:], capsys)
    assert result_bytes(tmp_path / "out") == explained_at_once(tmp_path, capsys)


@pytest.mark.parametrize("workers", [[], ["--workers", 2]], ids=["alone", "workers"])
def test_a_killed_driver_is_resumed_to_the_same_bytes(tmp_path, capsys, workers):
    with held_run(tmp_path, *workers) as driver:
        os.kill(driver.pid, signal.SIGKILL)
        driver.wait()
    assert any((tmp_path / "out").glob("*/*"))  # something was done
    assert not suffice.load(tmp_path / "out").finished
    resume([*command(tmp_path, "out", *held_options(tmp_path))[3:], "--resume"], capsys)
    assert result_bytes(tmp_path / "out") == explained_at_once(tmp_path, capsys)


@pytest.fixture
def distributed(tmp_path):
    """Dask's package; what clusters write goes to a folder of the test."""
    package = pytest.importorskip("distributed")
    import dask

    with dask.config.set({"temporary-directory": str(tmp_path)}):
        yield package


def test_a_dask_cluster_gives_the_same_bytes(portfolio, capsys, distributed):
    options = ["--id", "who", "--rows-per-part", 16]
    code, _, err = batch(portfolio, "here", *options, capsys=capsys)
    assert code == 0, err
    # The worker is a thread here; in tests/batch/test_dask.py it is a process.
    with distributed.LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        processes=False,
        protocol="tcp",
        dashboard_address="127.0.0.1:0",
    ) as cluster:
        address = cluster.scheduler_address
        code, out, err = batch(portfolio, "dask", *options, "--dask", address, capsys=capsys)
    assert code == 0, err
    assert f"{N} explanations, no errors" in out
    assert result_bytes(portfolio / "dask") == result_bytes(portfolio / "here")


def test_a_scheduler_that_is_not_there_is_reported(portfolio, capsys, monkeypatch):
    monkeypatch.setattr(sys.modules["suffice.cli.batch"], "_CONNECT_TIMEOUT", "1s")
    code, _, err = batch(portfolio, "out", "--dask", "tcp://127.0.0.1:9", capsys=capsys)
    assert code == 2
    assert "--dask: got tcp://127.0.0.1:9" in err


def test_four_times_the_rows_hold_no_more_memory(tmp_path, capsys, monkeypatch):
    """What this process holds between pieces; `make soak-tests` measures what whole processes hold."""
    write_portfolio(tmp_path, 10)
    frame = pd.read_parquet(tmp_path / "t.parquet")
    options = ["--background", tmp_path / "t.parquet", "--rows-per-part", 10]
    held, tables = [], []

    def run_pieces(*given, real=to.run_pieces, **options):
        # How many rows a piece has follows the clock, and memory follows the piece: one row here.
        for done in real(*given, piece_seconds=1e-9, **options):
            gc.collect()  # what waits in cycles for the collector is not held by the run
            held.append(tracemalloc.get_traced_memory()[0])
            tables.append(pa.total_allocated_bytes())
            yield done

    monkeypatch.setattr(to, "run_pieces", run_pieces)

    def most(copies):
        """Bytes of Python's objects and arrays, and of Arrow's tables."""
        name = f"{copies}.parquet"
        pd.concat([frame] * copies).to_parquet(tmp_path / name, index=False)
        held.clear()
        tables.clear()
        tracemalloc.start()
        try:
            code, _, err = batch(tmp_path, f"{copies}", *options, data=name, capsys=capsys)
            assert code == 0, err
            assert len(held) > copies
            return max(held), max(tables)
        finally:
            tracemalloc.stop()

    most(1)  # what is imported and kept once
    (few, few_tables), (many, many_tables) = most(2), most(8)
    # A stored part leaves its digests, some hundred bytes for a row; an explanation is ten times that.
    assert many - few <= 60 * 1500
    assert many_tables <= 2 * few_tables  # rows to explain are read in larger batches than these


def test_every_option_has_a_word_of_help():
    batch_command = app.commands["batch"]
    without = [p.opts for p in batch_command.params if not getattr(p, "help", None)]
    assert without == []


def test_options_that_explain_has_too_mean_the_same():
    ours, theirs = ({p.name: p for p in app.commands[name].params} for name in ("batch", "explain"))
    shared = ours.keys() & theirs.keys() - {"data", "time_limit", "n_references"}
    assert {"tau", "alpha", "search", "target", "model", "train", "trust_pickle"} <= shared
    for name in shared:
        assert (ours[name].opts, ours[name].help) == (theirs[name].opts, theirs[name].help)


def test_without_a_terminal_a_line_comes_now_and_then(capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("tqdm.std.time", lambda: now[0])
    counter = RowCounter(lambda: 2)
    for done, at in ((100, 0.0), (150, 10.0), (700, 30.0), (800, 35.0), (1100, 60.0)):
        now[0] = at
        counter.see("hybrids", 3, 16)
        counter.see("explanations", done, 1100)
    assert capsys.readouterr().err.splitlines() == [
        "700 of 1100 rows, 20.00 rows/s, 00:20 left, 2 errors",
        "1100 of 1100 rows, 16.67 rows/s, 00:00 left, 2 errors",
    ]
    assert counter.rows == 1000
    silent = RowCounter(None)  # an audit does not count errors, and shows none
    silent.see("explanations", 0, 2)
    now[0] += 60
    silent.see("explanations", 2, 2)
    assert capsys.readouterr().err == "2 of 2 rows,  0.03 rows/s, 00:00 left\n"


@pytest.mark.filterwarnings("ignore:`sklearn.utils.parallel.delayed`:UserWarning")
def test_the_example_runs_as_it_is(tmp_path, capsys, monkeypatch, distributed):
    pytest.importorskip("duckdb", reason="duckdb is not installed: see `make test-peers`")
    script = str(ROOT / "examples" / "portfolio_on_dask.py")
    # Threads as workers; processes are tested in tests/batch/test_dask.py.
    in_threads = partial(
        distributed.LocalCluster,
        processes=False,
        dashboard_address="127.0.0.1:0",
    )
    monkeypatch.setattr(distributed, "LocalCluster", in_threads)
    monkeypatch.setattr(sys, "argv", [script, str(tmp_path / "out"), "60"])
    for _ in range(2):  # the second time it finds all there
        runpy.run_path(script, run_name="__main__")
        out = capsys.readouterr().out
        assert "60 explanations, 0 errors" in out
        assert "loans" in out
    runpy.run_path(script, run_name="__mp_main__")  # as a worker process imports it
    assert not capsys.readouterr().out
