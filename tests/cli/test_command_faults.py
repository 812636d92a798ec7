"""The command where things go wrong around it: disks, pipes, encodings, interrupts, odd cells."""

import io
import os
import pickle
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from suffice import Explanation, InputError, datasets, load
from suffice.cli import app
from suffice.web.api import notebook_code
from suffice.web.requests import ExplainRequest, Input
from suffice.web.session import Session
from tests.cli.command_call import run_command

X, Y = datasets.loans(150)
SMALL = X[["age", "income", "debt"]]


def as_process(*arguments, **options):
    """Run the command in a process of its own, as a shell starts it."""
    settings = {"capture_output": True, "check": False}
    return subprocess.run(
        [sys.executable, "-m", "suffice", *map(str, arguments)], **(settings | options)
    )


@pytest.fixture
def suffice(capsys):
    """Runs the command in this process."""

    def ran(*arguments):
        code, out, err = run_command(*arguments, capsys=capsys)
        return SimpleNamespace(returncode=code, stdout=out, stderr=err)

    return ran


@pytest.fixture
def ask(tmp_path):
    """A question about a table that is written as a user's file."""

    def asked(frame, row=3, train="logistic"):
        path = tmp_path / "table.csv"
        frame.to_csv(path, index=False)
        return ["explain", "--data", path, "--target", "decision", "--train", train, "--row", row]

    return asked


def test_empty_table_raises(ask, suffice):
    ran = suffice(*ask(SMALL.assign(decision=Y).iloc[:0], row=0))
    assert ran.returncode == 2
    assert "--data: got table.csv, which has no rows" in ran.stderr


FULL = Path("/dev/full")


@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
def test_a_full_disk_is_reported_without_a_traceback(ask):
    with FULL.open("wb") as full:
        ran = as_process(
            *ask(SMALL.assign(decision=Y)),
            stdout=full,
            stderr=subprocess.PIPE,
            capture_output=False,
        )
    errors = ran.stderr.decode()
    assert ran.returncode == 1, errors
    assert "could not be written (No space left on device)" in errors
    assert "Traceback" not in errors


@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
def test_a_full_disk_is_reported_of_a_file_on_standard_output(ask, suffice, monkeypatch):
    question = ask(SMALL.assign(decision=Y))
    with FULL.open("w", encoding="utf-8") as full:
        monkeypatch.setattr(sys, "stdout", full)
        ran = suffice(*question, "--json", "-")
        monkeypatch.undo()
    assert ran.returncode == 1, ran.stderr
    assert "could not be written (No space left on device)" in ran.stderr


@pytest.fixture
def ask_about_text(tmp_path):
    """A question about a text that is given on standard input."""
    model = make_pipeline(CountVectorizer(), LogisticRegression())
    path = tmp_path / "model.pkl"
    path.write_bytes(pickle.dumps(model.fit(["good film", "bad film"], [1, 0])))
    return ["explain", "--text", "-", "--model", path, "--trust-pickle"]


def test_a_text_that_is_not_utf_8_is_reported(ask_about_text, suffice, monkeypatch):
    given = io.TextIOWrapper(io.BytesIO(b"\xff\xfe good"), encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", given)
    ran = suffice(*ask_about_text)
    assert ran.returncode == 2, ran.stderr
    assert "not utf-8" in ran.stderr


def test_a_standard_input_that_is_closed_is_reported(ask_about_text):
    command = [sys.executable, "-m", "suffice", *ask_about_text]
    command = ["sh", "-c", 'exec "$@" <&-', "sh", *command]
    ran = subprocess.run(command, capture_output=True, check=False)
    assert ran.returncode == 2, ran.stderr.decode()
    assert "a closed standard input" in ran.stderr.decode()


@pytest.mark.parametrize("after", [0.03, 0.08, 0.15, 0.3])
def test_an_interrupt_at_the_start_ends_without_a_traceback(ask, after):
    command = [sys.executable, "-m", "suffice", *map(str, ask(X.assign(decision=Y)))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as started:
        # Only once Python runs our code can we answer for what happens.
        while not _loads_numpy(started.pid) and started.poll() is None:
            time.sleep(0.002)
        time.sleep(after)
        started.send_signal(signal.SIGINT)
        _, errors = started.communicate()
    assert b"Traceback" not in errors, errors.decode()
    # It had finished; it said so; or Python itself ended by the signal, as a shell expects.
    assert started.returncode in (0, 130, -signal.SIGINT)
    assert started.returncode != 130 or b"Stopped: " in errors


def _loads_numpy(pid):
    """Numpy is loaded well after our first line."""
    maps = Path(f"/proc/{pid}/maps")
    return not maps.exists() or b"numpy" in maps.read_bytes()


def test_files_on_standard_output_keep_their_letters_in_any_encoding(ask, suffice, monkeypatch):
    frame = SMALL.rename(columns={"debt": "Größe €"}).assign(decision=Y)
    environment = os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"}
    ran = as_process(*ask(frame), "--json", "-", env=environment)
    assert ran.returncode == 0, ran.stderr.decode()
    e = Explanation.from_json(ran.stdout)
    assert e.keep.players[2].name == "Größe €"
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii"))
    ran = suffice(*ask(frame), "--csv", "-", "--tau", "0.6")
    assert ran.returncode == 0, ran.stderr
    assert "Größe €" in written.getvalue().decode("utf-8")


def test_what_the_data_holds_cannot_steer_the_terminal(ask, suffice):
    frame = SMALL.rename(columns={"age": "a\x1b[31mge", "income": "\u202ein\x07come"})
    labels = [f"\x1b]0;{y}\x07" for y in Y]
    ran = suffice(*ask(frame.assign(decision=labels)))
    assert ran.returncode == 0, ran.stderr
    for stream in (ran.stdout, ran.stderr):
        assert not set(stream) & set("\x1b\x07\x00\u202e"), stream
    ran = suffice(*ask(frame.assign(decision=labels)), "--outcome", "\x1b[31mred")
    assert ran.returncode == 2
    assert "\x1b" not in ran.stderr


def test_no_cell_of_a_table_is_taken_for_a_formula(ask, suffice):
    labels = ["=HYPERLINK(1)" if y == "granted" else "@SUM(2)" for y in Y]
    ran = suffice(*ask(SMALL.assign(decision=labels)), "--csv", "-", "--tau", "0.6")
    lines = ran.stdout.splitlines()
    assert len(lines) > 1
    for line in lines[1:]:
        assert line.split(",")[1] in ("'=HYPERLINK(1)", "'@SUM(2)")


def test_a_terminal_that_claims_no_columns_is_written_to(ask, suffice, monkeypatch):
    monkeypatch.setenv("COLUMNS", "0")
    ran = suffice(*ask(SMALL.assign(decision=Y)))
    assert "Keeps “" in ran.stdout


def test_errors_stay_short_and_speak_of_options(ask, suffice):
    frame = SMALL.assign(decision=Y).rename(columns={"age": "a" * 10_000})
    ran = suffice(*ask(frame, row=10**6))
    assert ran.returncode == 2
    assert "--row: got 1000000; allowed: 0 to 149" in ran.stderr
    ran = suffice(*ask(frame)[:3], "--target", "b" * 10_000, "--train", "logistic", "--row", 0)
    assert ran.returncode == 2
    assert len(ran.stderr) < 2_500
    for option, value in (("--max-size", 0), ("--time-limit", 1e308), ("--n-references", 0)):
        ran = suffice(*ask(SMALL.assign(decision=Y)), option, value)
        message = ran.stderr
        if option == "--time-limit":  # any number of seconds is one
            assert ran.returncode == 0, message
        else:
            assert ran.returncode == 2 and f"Error: {option}: got" in message, message
        assert "Traceback" not in message


def test_numbers_can_be_learnt_and_explained(ask, suffice):
    frame = SMALL.assign(decision=X["income"] * 2.5 + X["age"])
    ran = suffice(*ask(frame, train="extra-trees"), "--at-least", 150, "--json", "-")
    assert ran.returncode == 0, ran.stderr
    assert "of the variance of rows not seen" in ran.stderr
    assert Explanation.from_json(ran.stdout).keep.outcome
    ran = suffice(*ask(SMALL.assign(decision=Y)), "--at-least", 150)
    assert ran.returncode == 2
    assert "--target: got no numbers" in ran.stderr


def test_the_screen_names_options_and_not_pythons_names(ask, suffice):
    ran = suffice(*ask(SMALL.assign(decision=Y)), "--max-size", 1, "--tau", 1)
    shown = " ".join(ran.stdout.split())
    assert "stopped by --max-size 1." in shown
    assert "max_size" not in shown
    assert ".at(" not in shown


def test_a_column_that_names_rows_is_hinted_at(ask, suffice):
    ran = suffice(*ask(SMALL.assign(customer_id=range(len(SMALL)), decision=Y)))
    assert "'customer_id' seems to name rows" in ran.stderr
    ran = suffice(*ask(SMALL.assign(decision=Y)))
    assert "seems to name rows" not in ran.stderr


def test_a_hint_for_a_flag_names_the_flag_without_a_value(ask, suffice, tmp_path):
    ask(SMALL.assign(decision=Y))
    words = ["batch", "--data", tmp_path / "table.csv", "--target", "decision", "--rows", "0:2"]
    words += ["--train", "logistic", "--out", tmp_path / "out"]
    assert suffice(*words).returncode == 0
    ran = suffice(*words)
    assert ran.returncode == 2
    assert "--resume continues an unfinished run" in ran.stderr
    assert "=True" not in ran.stderr


def test_a_graph_that_cannot_be_read_is_an_error_of_its_option(ask, suffice, tmp_path):
    ask(SMALL.assign(decision=Y))
    graph = tmp_path / "graph.txt"
    graph.write_bytes(b"\xff\xfe age")
    words = ["serve", "--data", tmp_path / "table.csv", "--target", "decision"]
    ran = suffice(*words, "--train", "logistic", "--graph", graph)
    assert ran.returncode == 2, ran.stderr
    assert f"--graph: got {graph}" in ran.stderr


def test_two_models_of_one_name_are_opened_and_exported_each_from_its_own_file(tmp_path):
    from suffice.cli.serve import _open_models, _opening_code

    options = dict.fromkeys(("at_least", "at_most", "classes", "target", "graph", "leave_out"))
    options |= {"trust_pickle": True, "trust_types": (), "seed": 0, "trains": ("logistic",)}
    options |= {
        "data": tmp_path / "table.csv",
        "models": (tmp_path / "a/m 2.pkl", tmp_path / "b/m.pkl", tmp_path / "c/m.pkl"),
    }
    options["data"].touch()
    for path, depth in zip(options["models"], (1, 3, 5), strict=True):
        path.parent.mkdir()
        path.write_bytes(pickle.dumps(DecisionTreeClassifier(max_depth=depth).fit(SMALL, Y)))
    models, sources = _open_models(options, SMALL, Y)
    code = _opening_code(options, sources)
    assert [getattr(model, "max_depth", None) for model in models.values()] == [1, 3, 5, None]
    for name, path in zip(models, options["models"], strict=False):
        assert f"model = joblib.load({str(path)!r})" in code(name)
    assert "train('logistic', data, labels, 0)" in code("logistic")[-1]


def test_serve_declares_what_may_change_and_exports_it(tmp_path, monkeypatch):
    table = tmp_path / "table.csv"
    SMALL.assign(decision=Y, number=range(len(SMALL))).to_csv(table)  # with a column of indices
    started = {}
    module = import_module("suffice.cli.serve")  # as an attribute, `serve` is the command
    monkeypatch.setattr(module, "run_explorer", lambda *a, **k: started.update(k, args=a))
    words = ["serve", "--data", str(table), "--target", "decision", "--leave-out", "number"]
    words += ["--train", "logistic", "--immutable", "age", "--increasing", "income,debt"]
    assert CliRunner().invoke(app, words, catch_exceptions=False).exit_code == 0
    models, data = started["args"]
    assert list(data.columns) == list(SMALL.columns)
    rules = {"immutable": ["age"], "increasing": ["income", "debt"]}
    assert {name: started[name] for name in rules} == rules
    session = Session(models, data, **rules, opening=started["opening"], n_references=20)
    code = notebook_code(session, ExplainRequest(input=Input(row=3)))
    room = {}
    exec(code, room)
    assert list(room["data"].columns) == list(SMALL.columns)
    assert room["e"].cheapest == session.explain(ExplainRequest(input=Input(row=3))).cheapest
    with pytest.raises(InputError, match="decreasing: got 'age', which is also immutable"):
        Session(models, data, **rules, decreasing="age")


def test_a_model_that_cannot_read_texts_is_refused_without_quoting_them(suffice, tmp_path):
    texts = [f"confidential {i}" for i in range(20)]
    table = tmp_path / "letters.csv"
    pd.DataFrame({"letter": texts, "label": ["a", "b"] * 10}).to_csv(table, index=False)
    words = ["serve", "--data", table, "--target", "label", "--text", "letter"]
    ran = suffice(*words, "--train", "logistic")
    assert ran.returncode == 2
    assert "--train: got logistic with --text" in ran.stderr
    assert "confidential" not in ran.stderr + ran.stdout
    ran = suffice(*words[:-1], "leter", "--train", "logistic")
    assert "Did you mean 'letter'?" in ran.stderr
    model = tmp_path / "table.pkl"
    model.write_bytes(pickle.dumps(DecisionTreeClassifier().fit([[0], [1]], ["a", "b"])))
    ran = suffice(*words, "--model", model, "--trust-pickle")
    assert ran.returncode != 0 and "Traceback" not in ran.stderr
    assert ran.stderr.count("confidential") <= 1, ran.stderr


def test_explain_and_batch_use_the_same_references_by_default(tmp_path, suffice):
    table, y = datasets.loans(1500)
    table = table[["age", "income", "debt"]].assign(decision=y)
    table.to_csv(tmp_path / "table.csv", index=False)
    words = ["--data", tmp_path / "table.csv", "--target", "decision", "--train", "logistic"]
    assert suffice("batch", *words, "--rows", "3", "--out", tmp_path / "out").returncode == 0
    ran = suffice("explain", *words, "--row", 3, "--json", tmp_path / "e.json")
    assert ran.returncode == 0
    [stored] = load(tmp_path / "out")
    alone = Explanation.from_json((tmp_path / "e.json").read_text())
    assert stored.provenance.n_references == alone.provenance.n_references == 500
    assert stored.keep.factors == alone.keep.factors
    assert stored.flip.necessity == alone.flip.necessity
