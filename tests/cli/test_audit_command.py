"""`suffice audit`: declared in a file, from the table to the sealed folder, and back."""

import json
import pickle
import shutil
import signal
import subprocess
import sys
import tomllib
from collections import Counter
from importlib import import_module

import pandas as pd
import pytest

from suffice import datasets
from suffice.audit import record_seal
from suffice.audit.record_analyses import ANALYSES
from suffice.audit.record_seal import seal_file
from suffice.cli.audit_config import _SECTIONS, example_config, read_audit_config
from suffice.cli.models import train
from tests.cli.command_call import open_files_at_once, run_command

X, Y = datasets.loans(150)
SMALL = X[["age", "income", "debt", "late payments"]]

CONFIG = """
[audit]
title = "Loans"
out = "record"
date = 2026-10-01

[model]
train = "logistic"

[data]
file = "loans.csv"
target = "decision"
id = "loan"
leave_out = ["home"]
decided = "refused"
sample = 6

[question]
tau = 0.8
n_references = 20

[reliance]
protected = ["age"]
by = "home"

[reasons]
catalogue = "reasons.csv"
k = 2

[roles]

[global_recourse]
immutable = ["age"]
max_size = 1
"""


@pytest.fixture(scope="module", autouse=True)
def without_figures():
    """Write pages as they are without matplotlib: `test_audit_record` tests the figures."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(
            import_module("suffice.report.render_result"), "_figures", lambda result: []
        )
        yield


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with a table, some cells missing, a catalogue and a declaration."""
    names = [f"L{i:03d}" for i in range(len(X))]
    table = SMALL.assign(home=X["home"], loan=names, decision=Y)
    table.loc[::7, "debt"] = None
    table.to_csv(tmp_path / "loans.csv", index=False)
    lines = [f"{name},{name[:1].upper()}1,Because of {name},any" for name in SMALL]
    head = "feature,code,text,direction"
    (tmp_path / "reasons.csv").write_text("\n".join([head, *lines]) + "\n")
    (tmp_path / "audit.toml").write_text(CONFIG)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def audited(capsys, *more, config="audit.toml"):
    code, out, err = run_command("audit", "--config", config, *more, capsys=capsys)
    seal = next((line.split()[1] for line in out.splitlines() if line.startswith("Seal: ")), None)
    return code, out, err, seal


def test_from_the_table_to_the_sealed_folder_and_back(place, capsys, monkeypatch):
    code, out, err, seal = audited(capsys)
    assert code == 0, err
    assert "Trained logistic" in err
    assert "6 decisions to audit" in err
    assert "Analysing: reliance, reasons, roles, global_recourse." in err
    assert "  reasons done, 2 of 4" in err
    assert f"suffice audit verify record --seal {seal}" in out
    assert "Keep the seal somewhere else" in out
    assert (place / "record" / "audit.toml").read_text() == CONFIG
    assert json.loads((place / "record" / "manifest.json").read_bytes())["seal"] == seal
    asked = json.loads((place / "record" / "asked.json").read_text())
    assert asked["date"] == "2026-10-01"
    reliance = pd.read_csv(place / "record" / "tables" / "reliance.csv")
    assert reliance["decision"].str.fullmatch(r"L\d{3}").all() and len(reliance) == 6
    assert set(reliance["group"]) <= set(X["home"])
    kinds = {e["kind"] for e in json.loads((place / "record/manifest.json").read_bytes())["facts"]}
    assert kinds == {"model", "data", "catalogue", "question", "version"}

    hashed = Counter()

    def counted(name, path):
        hashed[name] += 1
        return seal_file(name, path)

    monkeypatch.setattr(record_seal, "seal_file", counted)
    code, out, err = run_command(
        "audit", "verify", "record", "--seal", seal, "--rows", 3, capsys=capsys
    )
    assert code == 0, out + err
    assert set(hashed.values()) == {1}  # each file is read and hashed once
    said = " ".join(out.split())
    assert "agrees with a recomputation of 3 of 6 explanations, 4 findings" in said
    code, out, _ = run_command("audit", "verify", "record", "--seal", "0" * 64, capsys=capsys)
    assert code == 1
    assert "its seal is not the one you kept" in " ".join(out.split())
    monkeypatch.chdir(place / "record")  # the files are found beside the record, too
    assert run_command("audit", "verify", place / "record", "--rows", 1, capsys=capsys)[0] == 0


def test_the_same_declaration_gives_the_same_seal_elsewhere(place, tmp_path_factory, capsys):
    _, _, _, seal = audited(capsys)
    other = tmp_path_factory.mktemp("other") / "deep"
    shutil.copytree(place, other, ignore=shutil.ignore_patterns("record"))
    out = tmp_path_factory.mktemp("out") / "r"
    assert audited(capsys, "--out", out, config=other / "audit.toml")[3] == seal


def test_a_changed_byte_ends_in_exit_code_1(place, capsys):
    audited(capsys)
    path = place / "record" / "tables" / "reliance.csv"
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)
    code, out, _ = run_command("audit", "verify", "record", capsys=capsys)
    assert code == 1
    assert "Refused" in out and "tables/reliance.csv" in out


def test_another_table_is_noticed(place, capsys, monkeypatch):
    _, _, _, seal = audited(capsys)
    table = pd.read_csv(place / "loans.csv")
    table.assign(income=table["income"] + 1).to_csv(place / "loans.csv", index=False)
    code, out, _ = run_command("audit", "verify", "record", "--seal", seal, capsys=capsys)
    assert code == 1
    said = " ".join(out.split())
    assert "differs from a recomputation" in said and "data file changed" in said
    (place / "loans.csv").unlink()
    code, _, err = run_command("audit", "verify", "record", capsys=capsys)
    assert code == 2
    assert "[data] file" in err and "which is not there" in err
    hashed = Counter()

    def counted(name, path):
        hashed[name] += 1
        return seal_file(name, path)

    monkeypatch.setattr("suffice.audit.record_seal.seal_file", counted)
    assert run_command("audit", "verify", "record", "--rows", 0, capsys=capsys)[0] == 0
    assert len(hashed) > 10 and set(hashed.values()) == {1}
    table.to_csv(place / "moved.csv", index=False)
    ask = ("audit", "verify", "record", "--seal", seal, "--data", "moved.csv")
    assert run_command(*ask, capsys=capsys)[0] == 0


def test_pickles_only_when_the_command_says_so(place, capsys):
    model = train("logistic", SMALL, Y).model
    (place / "model.pkl").write_bytes(pickle.dumps(model))
    text = CONFIG.replace('train = "logistic"', 'file = "model.pkl"')
    (place / "audit.toml").write_text(text)
    code, _, err, _ = audited(capsys)
    assert code == 2
    assert "[model] file: got model.pkl, a pickle" in err and "--trust-pickle" in err
    trusting = text.replace('"model.pkl"', '"model.pkl"\ntrust_pickle = true')
    (place / "audit.toml").write_text(trusting)
    code, _, err, _ = audited(capsys, "--trust-pickle")
    assert code == 2
    assert "[model] trust_pickle: got True" in err
    assert "Trust is given on the command line (--trust-pickle, --trust-type)" in err
    (place / "audit.toml").write_text(text)
    code, _, err, _ = audited(capsys, "--trust-pickle")
    assert code == 0, err
    code, _, err = run_command("audit", "verify", "record", capsys=capsys)
    assert code == 2 and "--trust-pickle" in err
    code, out, err = run_command("audit", "verify", "record", "--trust-pickle", capsys=capsys)
    assert code == 0, out + err


def test_skops_files_too(place, capsys, monkeypatch):
    import skops.io

    open_files_at_once(monkeypatch)
    model = train("logistic", SMALL, Y).model
    skops.io.dump(model, place / "model.skops")
    types = skops.io.get_untrusted_types(file=place / "model.skops")
    (place / "audit.toml").write_text(
        CONFIG.replace(
            'train = "logistic"',
            'file = "model.skops"',
        )
    )
    trust = [word for kind in types for word in ("--trust-type", kind)]
    code, _, err, _ = audited(capsys, *trust)
    assert code == 0, err
    assert run_command("audit", "verify", "record", *trust, capsys=capsys)[0] == 0


def test_yaml_says_the_same(place, capsys):
    yaml = pytest.importorskip("yaml")
    found = tomllib.loads(CONFIG)
    (place / "audit.yaml").write_text(yaml.safe_dump(found | {"roles": None}))
    code, _, err, _ = audited(capsys, config="audit.yaml")
    assert code == 0, err
    assert run_command("audit", "verify", "record", "--rows", 2, capsys=capsys)[0] == 0


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[roles]", "[rolls]", "--config: got a section [rolls]"),
        ("[roles]", "[rolls]", "Did you mean 'roles'?"),
        ("tau = 0.8", "taus = 0.8", "[question]: got a key 'taus'"),
        ("tau = 0.8", "tau = 8", "[question] tau: got 8"),
        ("tau = 0.8", 'tau = "high"', "[question] tau: got 'high'"),
        ('protected = ["age"]', 'protected = ["ages"]', "[reliance] protected: got 'ages'"),
        ('by = "home"', 'by = "house"', "[reliance] by: got 'house'"),
        ('by = "home"', "wrong = 1", "[reliance]: got 'wrong'; allowed: protected, by, tau"),
        ("k = 2", "k = 0", "[reasons] k: got 0"),
        ('immutable = ["age"]', 'immutable = ["ages"]', "[global_recourse] immutable: got"),
        ('"reasons.csv"', '"no.csv"', "[reasons] catalogue: got"),
        (
            'file = "loans.csv"',
            'file = "loan.csv"',
            "[data] file: got loan.csv, which is not there",
        ),
        ('file = "loans.csv"', "", "[data]: got no file"),
        ('target = "decision"', 'target = "decison"', "[data] target: got unknown column"),
        ('id = "loan"', 'id = "lone"', "[data] id: got unknown column 'lone'"),
        ('["home"]', '["hom"]', "[data] leave_out: got unknown column 'hom'"),
        ('decided = "refused"', 'decided = "refuse"', "Did you mean 'refused'?"),
        ('decided = "refused"', 'rows = "900:"', "[data] rows: got '900:'"),
        ('decided = "refused"', 'rows = "debts=3"', "[data] rows: got unknown column 'debts'"),
        ("sample = 6", "sample = 0", "[data] sample: got 0"),
        ("train =", "trains =", "[model]: got a key 'trains'"),
        ('train = "logistic"', "", "[model]: got both file and train, or neither"),
        ('train = "logistic"', 'train = "trees"', "[model] train: got 'trees'"),
        ('out = "record"', "", "--out: got nothing"),
        ('out = "record"', 'out = "record"\nprevious = "old"', "[audit] previous: got old"),
        ("[audit]", "[audit", "valid TOML"),
    ],
)
def test_mistakes_end_in_a_sentence_of_the_file(place, capsys, old, new, message):
    assert old in CONFIG
    (place / "audit.toml").write_text(CONFIG.replace(old, new))
    code, _, err, _ = audited(capsys)
    assert code == 2
    assert message in err
    assert "Traceback" not in err
    assert not (place / "record" / "manifest.json").exists()


def test_a_declaration_needs_a_model_data_and_an_analysis(place, capsys):
    for without, message in (
        ("[model]", "no section [model]"),
        ("[data]", "no section [data]"),
        (("[r", "[g"), "no analysis"),
    ):
        parts = ("\n" + CONFIG).split("\n[")
        kept = [part for part in parts if not f"[{part}".startswith(without)]
        (place / "audit.toml").write_text("\n[".join(kept))
        code, _, err, _ = audited(capsys)
        assert code == 2
        assert message in err
    code, _, err = run_command("audit", capsys=capsys)
    assert code == 2
    assert "suffice audit --example > audit.toml" in err


def test_what_may_change_is_declared_once_for_all_analyses(place, capsys):
    declared = CONFIG.replace("tau = 0.8", 'tau = 0.8\nimmutable = ["age"]')
    declared = declared.replace('immutable = ["age"]\nmax_size', "max_size")
    (place / "audit.toml").write_text(declared)
    code, out, err, seal = audited(capsys)
    assert code == 0, err
    assert "Changes: age immutable" in out
    changes = pd.read_csv(place / "record" / "tables" / "global_recourse.csv")
    assert not any("age" in name for name in changes["change"].dropna())
    reliance = pd.read_csv(place / "record" / "tables" / "reliance.csv")
    assert reliance["flips_alone"].any() and reliance["change"].isna().all()  # of age
    checked = run_command("audit", "verify", "record", "--seal", seal, "--rows", 1, capsys=capsys)
    assert checked[0] == 0
    (place / "audit.toml").write_text(declared.replace('["age"]\n\n[rel', '["ages"]\n\n[rel'))
    (place / "audit.toml").write_text(CONFIG.replace("tau = 0.8", 'immutable = ["ages"]'))
    code, _, err, _ = audited(capsys, "--out", "other")
    assert code == 2 and "immutable" in err and "Did you mean 'age'?" in err


def test_the_example_names_every_choice_and_can_be_read(place, capsys):
    code, out, _ = run_command("audit", "--example", capsys=capsys)
    assert code == 0
    assert out == example_config()
    (place / "example.toml").write_text(out)
    found = read_audit_config(place / "example.toml")
    assert set(found.analyses) == set(ANALYSES)
    for section, keys in _SECTIONS.items():
        part = out.split(f"[{section}]")[1].split("\n[")[0]
        for key in keys:
            assert f"{key} = " in part or f"(or {key})" in part, (section, key)


@pytest.mark.usefixtures("shap")
def test_other_models_retraining_and_other_tools_are_declared(place, capsys):
    model = train("logistic", SMALL.fillna(0), Y).model
    (place / "old.pkl").write_bytes(pickle.dumps(model))
    head = CONFIG.split("[reliance]", maxsplit=1)[0].replace("sample = 6", "sample = 3")
    more = '[compare]\nwith = "old.pkl"\n[stability]\nk = 1\nrows = 1\n[grade]\nrows = 1\n'
    (place / "audit.toml").write_text(head + more + 'tools = ["shap", "permutation"]\n')
    code, _, err, _ = audited(capsys, "--trust-pickle")
    assert code == 0, err
    grades = pd.read_csv(place / "record" / "tables" / "grade.csv")
    assert set(grades["tool"]) == {"shap", "permutation"}
    code, out, err = run_command("audit", "verify", "record", "--rows", 2, capsys=capsys)
    assert code == 0, out + err
    assert "it needs fit, which records do not store" in " ".join(out.split())
    assert "With --everything, models are trained again and [stability] is checked, too." in err
    ask = ("audit", "verify", "record", "--rows", 2, "--everything")
    code, out, err = run_command(*ask, capsys=capsys)
    assert code == 0, out + err
    assert "not checked" not in out and "--everything" not in err
    (place / "audit.toml").write_text(head + '[grade]\ntools = ["shapp"]\n')
    code, _, err, _ = audited(capsys)
    assert code == 2 and "[grade] tools: got 'shapp'" in err
    (place / "audit.toml").write_text(head + '[compare]\nwith = "none.skops"\n')
    code, _, err, _ = audited(capsys)
    assert code == 2 and "[compare] with: got none.skops, which is not there" in err


def test_a_record_without_a_declaration_is_checked_without_its_model(place, capsys):
    from suffice import Explainer, audit

    rows = SMALL.iloc[:4]
    explainer = Explainer(lambda r: r["income"] > 40, SMALL, n_references=10)
    audit.record(explainer, rows, place / "made", analyses={"roles": {}})
    code, _, err = run_command("audit", "verify", "made", capsys=capsys)
    assert code == 2
    assert "audit.verify(folder, explainer, X)" in err
    assert run_command("audit", "verify", "made", "--rows", 0, capsys=capsys)[0] == 0
    assert run_command("audit", "verify", "nowhere", capsys=capsys)[0] == 2


def test_an_interrupt_between_analyses_says_how_to_go_on(place, capsys):
    command = [sys.executable, "-m", "suffice", "audit", "--config", "audit.toml"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as started:
        for line in started.stderr:
            if line.startswith("Drawing figures"):
                started.send_signal(signal.SIGINT)
                break
        rest = started.stderr.read()
    assert started.returncode == 130
    assert "Decisions that were explained are stored. To continue:" in rest
    assert "suffice audit --config audit.toml --resume" in rest and "Traceback" not in rest
    assert audited(capsys, "--resume")[0] == 0


def test_an_interrupted_run_says_how_to_go_on(place, capsys, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        writer = import_module("suffice.audit.record_writer")
        patched.setattr(writer, "describe_audit", stop)
        patched.setattr(writer, "_dry_run", lambda *_: None)
        code, _, err, _ = audited(capsys)
    assert code == 130
    assert "To continue" in err and "--resume" in err
    code, _, err, _ = audited(capsys)
    assert code == 2 and "where a record was begun" in err
    assert audited(capsys, "--resume")[0] == 0
