"""The command where things go wrong around it: disks, pipes, encodings, interrupts, odd cells."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from suffice import Explanation, datasets

X, Y = datasets.loans(150)
SMALL = X[["age", "income", "debt"]]


def suffice(*arguments, **options):
    """In a process of its own, as a shell starts it."""
    settings = {"capture_output": True, "timeout": 300, "check": False}
    return subprocess.run(
        [sys.executable, "-m", "suffice", *map(str, arguments)], **(settings | options)
    )


@pytest.fixture
def ask(tmp_path):
    """A question about a table that is written as a user's file."""

    def asked(frame, row=3, train="logistic"):
        path = tmp_path / "table.csv"
        frame.to_csv(path, index=False)
        return ["explain", "--data", path, "--target", "decision", "--train", train, "--row", row]

    return asked


def test_a_table_without_rows_is_told(ask):
    ran = suffice(*ask(SMALL.assign(decision=Y).iloc[:0], row=0))
    assert ran.returncode == 2
    assert "--data: got table.csv, which has no rows" in ran.stderr.decode()


FULL = Path("/dev/full")


@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
def test_a_full_disk_is_told_without_a_traceback(ask):
    question = ask(SMALL.assign(decision=Y))
    for options in ([], ["--json", "-"]):
        with FULL.open("wb") as full:
            ran = suffice(
                *question, *options, stdout=full, stderr=subprocess.PIPE, capture_output=False
            )
        errors = ran.stderr.decode()
        assert ran.returncode == 1, errors
        assert "could not be written (No space left on device)" in errors
        assert "Traceback" not in errors


@pytest.mark.parametrize(
    ("given", "message"),
    [(b"\xff\xfe good", "not utf-8"), (None, "a closed standard input")],
)
def test_a_text_that_cannot_be_read_is_told(tmp_path, given, message):
    import pickle

    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    model = make_pipeline(CountVectorizer(), LogisticRegression())
    path = tmp_path / "model.pkl"
    path.write_bytes(pickle.dumps(model.fit(["good film", "bad film"], [1, 0])))
    command = [sys.executable, "-m", "suffice", "explain", "--text", "-", "--model", path]
    command += ["--trust-pickle"]
    if given is None:
        command = ["sh", "-c", 'exec "$@" <&-', "sh", *command]
    environment = os.environ | {"PYTHONUTF8": "1", "PYTHONIOENCODING": "utf-8"}
    ran = subprocess.run(command, input=given, capture_output=True, check=False, env=environment)
    assert ran.returncode == 2, ran.stderr.decode()
    assert message in ran.stderr.decode()


@pytest.mark.parametrize("after", [0.03, 0.08, 0.15, 0.3])
def test_an_interrupt_at_the_start_ends_without_a_traceback(ask, after):
    command = [sys.executable, "-m", "suffice", *map(str, ask(X.assign(decision=Y)))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as started:
        # Only once Python runs our code can we answer for what happens.
        while not _loads_numpy(started.pid) and started.poll() is None:
            time.sleep(0.002)
        time.sleep(after)
        started.send_signal(signal.SIGINT)
        _, errors = started.communicate(timeout=120)
    assert b"Traceback" not in errors, errors.decode()
    # It had finished; it said so; or Python itself ended by the signal, as a shell expects.
    assert started.returncode in (0, 1, -signal.SIGINT)


def _loads_numpy(pid):
    """Numpy is loaded well after our first line."""
    maps = Path(f"/proc/{pid}/maps")
    return not maps.exists() or b"numpy" in maps.read_bytes()


def test_files_on_standard_output_keep_their_letters_in_any_encoding(ask):
    frame = SMALL.rename(columns={"debt": "Größe €"}).assign(decision=Y)
    environment = os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"}
    ran = suffice(*ask(frame), "--json", "-", env=environment)
    assert ran.returncode == 0, ran.stderr.decode()
    e = Explanation.from_json(ran.stdout)
    assert e.keep.players[2].name == "Größe €"
    ran = suffice(*ask(frame), "--csv", "-", "--tau", "0.6", env=environment)
    assert "Größe €" in ran.stdout.decode("utf-8")


def test_what_the_data_holds_cannot_steer_the_terminal(ask):
    frame = SMALL.rename(columns={"age": "a\x1b[31mge", "income": "\u202ein\x07come"})
    labels = [f"\x1b]0;{y}\x07" for y in Y]
    ran = suffice(*ask(frame.assign(decision=labels)))
    assert ran.returncode == 0, ran.stderr.decode()
    for stream in (ran.stdout.decode(), ran.stderr.decode()):
        assert not set(stream) & set("\x1b\x07\x00\u202e"), stream
    ran = suffice(*ask(frame.assign(decision=labels)), "--outcome", "\x1b[31mred")
    assert ran.returncode == 2
    assert b"\x1b" not in ran.stderr


def test_no_cell_of_a_table_is_taken_for_a_formula(ask):
    labels = ["=HYPERLINK(1)" if y == "granted" else "@SUM(2)" for y in Y]
    ran = suffice(*ask(SMALL.assign(decision=labels)), "--csv", "-", "--tau", "0.6")
    lines = ran.stdout.decode().splitlines()
    assert len(lines) > 1
    for line in lines[1:]:
        assert line.split(",")[1] in ("'=HYPERLINK(1)", "'@SUM(2)")


def test_a_terminal_that_claims_no_columns_is_written_to(ask):
    ran = suffice(*ask(SMALL.assign(decision=Y)), env=os.environ | {"COLUMNS": "0"})
    assert "Keeps “" in ran.stdout.decode()


def test_errors_stay_short_and_speak_of_options(ask):
    frame = SMALL.assign(decision=Y).rename(columns={"age": "a" * 10_000})
    ran = suffice(*ask(frame, row=10**6))
    assert ran.returncode == 2
    assert "--row: got 1000000; allowed: 0 to 149" in ran.stderr.decode()
    ran = suffice(*ask(frame)[:3], "--target", "b" * 10_000, "--train", "logistic", "--row", 0)
    assert ran.returncode == 2
    assert len(ran.stderr) < 2_500
    for option, value in (("--max-size", 0), ("--time-limit", 1e308), ("--n-references", 0)):
        ran = suffice(*ask(SMALL.assign(decision=Y)), option, value)
        message = ran.stderr.decode()
        assert ran.returncode in (0, 2)
        assert ran.returncode == 0 or f"Error: {option}: got" in message, message
        assert "Traceback" not in message


def test_numbers_can_be_learnt_and_asked_about(ask):
    frame = SMALL.assign(decision=X["income"] * 2.5 + X["age"])
    ran = suffice(*ask(frame, train="extra-trees"), "--at-least", 150, "--json", "-")
    assert ran.returncode == 0, ran.stderr.decode()
    assert "of the variance of rows not seen" in ran.stderr.decode()
    assert Explanation.from_json(ran.stdout).keep.outcome
    ran = suffice(*ask(SMALL.assign(decision=Y)), "--at-least", 150)
    assert ran.returncode == 2
    assert "--target: got no numbers" in ran.stderr.decode()


def test_the_screen_names_options_and_not_pythons_names(ask):
    ran = suffice(*ask(SMALL.assign(decision=Y)), "--max-size", 1, "--tau", 1)
    shown = " ".join(ran.stdout.decode().split())
    assert "stopped by --max-size 1." in shown
    assert "max_size" not in shown
    assert ".at(" not in shown


def test_a_column_that_names_rows_is_hinted_at(ask):
    ran = suffice(*ask(SMALL.assign(customer_id=range(len(SMALL)), decision=Y)))
    assert "'customer_id' seems to name rows" in ran.stderr.decode()
    ran = suffice(*ask(SMALL.assign(decision=Y)))
    assert "seems to name rows" not in ran.stderr.decode()
