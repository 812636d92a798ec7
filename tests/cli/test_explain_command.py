"""The command, run as a user runs it."""

import json
import pickle
import subprocess
import sys

import pytest
from click.testing import CliRunner
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from suffice import Explanation, InputError, datasets
from suffice.cli import app
from suffice.cli.models import load_model
from suffice.cli.options import hash_of_model
from tests.cli.command_call import open_files_at_once, run_command
from tests.soak.broken_files import write_external_onnx

X, Y = datasets.loans(150)
NUMERIC = X[["age", "income", "debt"]].astype("float32")


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "loans.csv"
    X.assign(decision=Y).to_csv(path, index=False)
    return path


@pytest.fixture
def numbers(tmp_path):
    path = tmp_path / "numbers.csv"
    NUMERIC.assign(decision=Y).to_csv(path, index=False)
    return path


def test_demo_writes_a_report(tmp_path):
    path = tmp_path / "why.html"
    result = CliRunner().invoke(app, ["demo", "--html", str(path)])
    assert result.exit_code == 0
    assert "Keeps “refused”" in result.output
    # By the rule that made the data: low income, debt and no guarantor count against a loan.
    said = " ".join(result.output.split())
    assert "Holding income = 40, debt = 17 and guarantor = no is enough for “refused”" in said
    assert "flips it to “granted” is income 40 → 45, debt 17 → 15." in said
    applicants, decisions = datasets.loans()
    granted = applicants[decisions == "granted"]
    assert granted["income"].median() > 45 and granted["debt"].median() < 15
    assert f"Report: {path}" in result.output
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_as_a_process():
    ran = subprocess.run(
        [sys.executable, "-m", "suffice", "--help"], capture_output=True, text=True, check=True
    )
    assert "suffice demo" in ran.stdout


@pytest.mark.parametrize("model", ["extra-trees", "logistic", "hist-gradient-boosting"])
def test_train_and_explain(table, capsys, model):
    code, out, err = run_command(
        "explain",
        "--data",
        table,
        "--target",
        "decision",
        "--train",
        model,
        "--row",
        3,
        capsys=capsys,
    )
    assert code == 0
    assert f"Trained {model}" in err
    assert "Keeps “" in out
    assert "Flips to “" in out


def test_one_view_and_files(table, tmp_path, capsys):
    ask = ["explain", "--data", table, "--target", "decision", "--train", "extra-trees", "--row", 3]
    files = {kind: tmp_path / f"why.{kind}" for kind in ("json", "csv", "html")}
    options = [o for kind, path in files.items() for o in (f"--{kind}", path)]
    code, out, err = run_command(
        *ask, "--view", "flip", "--tau", 0.8, "--max-size", 6, *options, capsys=capsys
    )
    assert code == 0
    assert "Keeps" not in out
    assert "Report: " in err
    e = Explanation.from_json(files["json"].read_text())
    assert e.tau == 0.8
    lines = files["csv"].read_text().splitlines()
    assert lines[0].startswith("view,outcome,features")
    assert len(lines) == 1 + len(e.flip.factors)
    assert files["html"].read_text(encoding="utf-8").startswith("<!doctype html>")

    code, out, _ = run_command(*ask, "--json", "-", capsys=capsys)
    assert json.loads(out)["result"] == "Explanation"
    code, out, _ = run_command(*ask, "--csv", "-", capsys=capsys)
    assert out.startswith("view,outcome,features")


def test_skops_models_need_consent(table, tmp_path, capsys):
    import skops.io

    columns = make_column_transformer((OneHotEncoder(), ["home", "job"]), remainder="passthrough")
    model = make_pipeline(columns, RandomForestClassifier(5, random_state=0)).fit(X, Y)
    path = tmp_path / "model.skops"
    skops.io.dump(model, path)
    ask = ["explain", "--data", table, "--target", "decision", "--model", path, "--row", 0]
    types = skops.io.get_untrusted_types(file=path)
    trust = [o for t in types for o in ("--trust-type", t)]
    if types:
        code, _, err = run_command(*ask, capsys=capsys)
        assert code == 2
        assert f"--trust-type {types[0]}" in err
    code, out, _ = run_command(*ask, *trust, capsys=capsys)
    assert code == 0
    assert "Pipeline with RandomForestClassifier" in out


def test_pickles_only_when_trusted(table, tmp_path, capsys):
    columns = make_column_transformer((OneHotEncoder(), ["home", "job"]), remainder="passthrough")
    model = make_pipeline(columns, RandomForestClassifier(5, random_state=0)).fit(X, Y)
    path = tmp_path / "model.pkl"
    path.write_bytes(pickle.dumps(model))
    ask = ["explain", "--data", table, "--target", "decision", "--model", path, "--row", 0]
    code, _, err = run_command(*ask, capsys=capsys)
    assert code == 2
    assert "runs whatever code is in it" in err
    code, out, _ = run_command(*ask, "--trust-pickle", "--outcome", "granted", capsys=capsys)
    assert code == 0
    assert "granted" in out


def test_onnx_models(numbers, table, tmp_path, capsys, monkeypatch):
    from skl2onnx import to_onnx
    from skl2onnx.common.data_types import FloatTensorType, StringTensorType

    path = tmp_path / "model.onnx"
    classifier = RandomForestClassifier(5, random_state=0).fit(NUMERIC.to_numpy(), Y)
    path.write_bytes(to_onnx(classifier, NUMERIC.to_numpy()[:1]).SerializeToString())
    ask = ["explain", "--data", numbers, "--target", "decision", "--model", path, "--row", 0]
    code, out, _ = run_command(*ask, capsys=capsys)
    assert code == 0
    assert "model.onnx, against" in out
    open_files_at_once(monkeypatch)

    regressor = RandomForestRegressor(5, random_state=0).fit(NUMERIC.to_numpy(), NUMERIC["debt"])
    path.write_bytes(to_onnx(regressor, NUMERIC.to_numpy()[:1]).SerializeToString())
    code, _, err = run_command(*ask, capsys=capsys)
    assert code == 2
    assert "--at-least" in err
    assert run_command(*ask, "--at-least", 15, capsys=capsys)[0] == 0
    assert run_command(*ask, "--at-most", 15, capsys=capsys)[0] == 0
    code, _, err = run_command(*ask, "--at-most", 15, "--at-least", 2, capsys=capsys)
    assert code == 2
    assert "one of them at most" in err

    by_column = X[["home", "debt"]].astype({"debt": "float32"})
    columns = make_column_transformer((OneHotEncoder(), ["home"]), remainder="passthrough")
    mixed = make_pipeline(columns, RandomForestClassifier(5, random_state=0)).fit(by_column, Y)
    types = [("home", StringTensorType([None, 1])), ("debt", FloatTensorType([None, 1]))]
    path.write_bytes(to_onnx(mixed, initial_types=types).SerializeToString())
    code, out, _ = run_command(
        "explain", "--data", table, "--model", path, "--row", 0, capsys=capsys
    )
    assert code == 0
    assert "home rents" in out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--target", "decison", "--train", "logistic", "--row", "0"], "Did you mean 'decision'"),
        (["--target", "decision", "--row", "0"], "exactly one of the two"),
        (["--train", "logistic", "--row", "0"], "the label's column, with --train"),
        (["--target", "job", "--train", "logistic", "--row", "0", "--at-least", "1"], "no numbers"),
        (["--target", "income", "--train", "logistic", "--row", "0"], "one of the two"),
        (["--target", "decision", "--train", "logistic", "--row", "150"], "0 to 149"),
        (
            ["--target", "decision", "--train", "logistic", "--row", "0", "--tau", "7"],
            "tau: got 7.0",
        ),
        (
            ["--target", "decision", "--train", "forest", "--row", "0"],
            "Invalid value for '--train'",
        ),
        (["--target", "decision", "--train", "logistic"], "Missing option '--row'"),
        (
            ["--target", "decision", "--train", "logistic", "--row", "0", "--html", "/no/such/x"],
            "output: got",
        ),
    ],
)
def test_a_users_mistakes_end_in_a_sentence(table, capsys, options, message):
    code, _, err = run_command("explain", "--data", table, *options, capsys=capsys)
    assert code == 2
    assert message in err
    assert "Traceback" not in err


def test_bad_files(tmp_path, table, capsys):
    nonsense = tmp_path / "x.csv"
    nonsense.write_text("")
    for name, message in (("x.csv", "a readable table"), ("x.txt", "a .csv, .parquet or .json")):
        (tmp_path / name).write_text("")
        code, _, err = run_command(
            "explain", "--data", tmp_path / name, "--train", "logistic", "--row", 0, capsys=capsys
        )
        assert code == 2
        assert message in err
    for name, message in (("m.onnx", "a readable model file"), ("m.bin", "a .skops, .onnx")):
        (tmp_path / name).write_text("nonsense")
        code, _, err = run_command(
            "explain", "--data", table, "--model", tmp_path / name, "--row", 0, capsys=capsys
        )
        assert code == 2
        assert message in err


def test_a_model_that_fails_exits_1(numbers, tmp_path, capsys):
    path = tmp_path / "model.pkl"
    path.write_bytes(pickle.dumps(RandomForestClassifier(5).fit(NUMERIC, Y).set_params(n_jobs="x")))
    code, _, err = run_command(
        "explain",
        "--data",
        numbers,
        "--target",
        "decision",
        "--model",
        path,
        "--trust-pickle",
        "--row",
        0,
        capsys=capsys,
    )
    assert code == 1
    assert "RandomForestClassifier raised" in err


@pytest.mark.parametrize(
    ("change", "model", "message"),
    [
        (
            lambda f: f.assign(decision=f["decision"].where(f.index > 3)),
            "logistic",
            "4 missing values",
        ),
        (lambda f: f.iloc[[0, 1, 2, 3, 4]], "logistic", "--t"),
        (lambda f: f.assign(debt=float("nan")), "hist-gradient-boosting", "--train"),
    ],
)
def test_tables_that_cannot_be_learnt_from(tmp_path, capsys, change, model, message):
    path = tmp_path / "odd.csv"
    change(X.assign(decision=Y)).to_csv(path, index=False)
    ask = ["explain", "--data", path, "--target", "decision", "--train", model, "--row", 0]
    code, _, err = run_command(*ask, capsys=capsys)
    assert "Traceback" not in err
    assert code == 0 or (code == 2 and message in err)


def test_standard_output_takes_one_file_at_a_time(table, capsys):
    ask = ["explain", "--data", table, "--target", "decision", "--train", "logistic", "--row", 3]
    code, out, err = run_command(*ask, "--html", "-", capsys=capsys)
    assert code == 0
    assert out.startswith("<!doctype html>")
    assert "Report" not in err
    code, _, err = run_command(*ask, "--json", "-", "--csv", "-", capsys=capsys)
    assert code == 2
    assert "one of them on stdout" in err
    assert run_command(*ask, "--seed", -1, capsys=capsys)[0] == 2


def test_a_nameless_index_column_is_no_feature(tmp_path, capsys):
    path = tmp_path / "indexed.csv"
    X.assign(decision=Y).to_csv(path)
    ask = ["explain", "--data", path, "--target", "decision", "--train", "logistic", "--row", 3]
    code, out, err = run_command(*ask, capsys=capsys)
    assert code == 0
    assert "taken as the rows' index" in err
    assert "Unnamed" not in out


@pytest.mark.parametrize("stem", ["model", "m" * 200])
def test_weights_in_a_file_of_their_own_belong_to_an_onnx_model(stem, tmp_path):
    weights = write_external_onnx(tmp_path / f"{stem}.onnx")
    options = {"model": tmp_path / f"{stem}.onnx", "classes": None, "train": None}
    load_model(options["model"])
    whole, content = hash_of_model(options, str), weights.read_bytes()
    weights.write_bytes(bytes([content[0] ^ 1]) + content[1:])
    assert hash_of_model(options, str) != whole
    for broken in (content[:-1], b""):
        weights.write_bytes(broken)
        with pytest.raises(InputError, match=rf"--model: got {stem}\.onnx: "):
            load_model(options["model"])
    weights.unlink()
    with pytest.raises(InputError, match="External data path does not exist"):
        load_model(options["model"])


def test_classes_of_onnx_models_can_be_named(numbers, tmp_path, capsys):
    from skl2onnx import to_onnx

    path = tmp_path / "model.onnx"
    labels = (Y == "granted").astype(int)
    classifier = RandomForestClassifier(5, random_state=0).fit(NUMERIC.to_numpy(), labels)
    path.write_bytes(to_onnx(classifier, NUMERIC.to_numpy()[:1]).SerializeToString())
    ask = ["explain", "--data", numbers, "--target", "decision", "--model", path, "--row", 0]
    assert run_command(*ask, "--outcome", "1", capsys=capsys)[0] == 0


def test_the_choices_are_the_librarys_own():
    from typing import get_args

    from suffice import question_fields as choices
    from suffice.engines.select_engine import ENGINES
    from suffice.search.strategies import STRATEGIES
    from suffice.typing import Adjustment

    assert get_args(Adjustment) == choices.ADJUSTMENTS
    assert STRATEGIES == choices.SEARCHES
    assert ENGINES == choices.ENGINES


def test_a_letter_that_no_file_can_hold_is_spelled_out(tmp_path, capsysbinary):
    from pathlib import Path

    from suffice.cli.output import write_output

    write_output("a \ud800", tmp_path / "a.csv")
    write_output("a \ud800", Path("-"))
    assert (tmp_path / "a.csv").read_bytes() == b"a \\ud800"
    assert capsysbinary.readouterr().out == b"a \\ud800\n"


def test_what_may_change_is_declared_on_the_command(table, tmp_path, capsys):
    ask = ["explain", "--data", table, "--target", "decision", "--train", "extra-trees", "--row", 8]
    ask += ["--json", tmp_path / "why.json"]
    assert run_command(*ask, capsys=capsys)[0] == 0
    free = Explanation.from_json((tmp_path / "why.json").read_text())
    fixed = free.cheapest.features[0]
    code, _, err = run_command(*ask, "--immutable", fixed, capsys=capsys)
    assert code == 0, err
    found = Explanation.from_json((tmp_path / "why.json").read_text())
    assert fixed not in found.cheapest.features
    assert (
        "cannot change" in found.provenance.change_rules or fixed in found.provenance.change_rules
    )
    assert [f.features for f in found.keep.factors] == [f.features for f in free.keep.factors]
    code, _, err = run_command(*ask, "--immutable", "salary", capsys=capsys)
    assert code == 2
    assert "--immutable: got" in err and "salary" in err
    code, _, err = run_command(*ask, "--immutable", "age", "--increasing", "age", capsys=capsys)
    assert code == 2
    assert "--increasing: got 'age', which is also immutable" in err
    code, _, err = run_command("explain", "--text", "a", "--immutable", "a", capsys=capsys)
    assert code == 2
    assert "--immutable cannot be combined with --text" in err


def test_columns_are_left_out(table, tmp_path, capsys):
    ask = ["explain", "--data", table, "--target", "decision", "--train", "extra-trees", "--row", 8]
    code, _, err = run_command(
        *ask, "--leave-out", "age,job", "--json", tmp_path / "why.json", capsys=capsys
    )
    assert code == 0, err
    found = Explanation.from_json((tmp_path / "why.json").read_text())
    names = {p.name for p in (*found.players, *(left.player for left in found.left_out))}
    assert names == set(X.columns) - {"age", "job"}
    code, _, err = run_command(*ask, "--leave-out", "ages", capsys=capsys)
    assert code == 2
    assert "--leave-out: got unknown column 'ages'" in err and "age" in err
