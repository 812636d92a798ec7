"""Every experiment on a small slice of the real data, and the page of verdicts."""

import json
import os
import re
import subprocess
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path

import pytest
from experiments.__main__ import main

ROOT = Path(__file__).parents[2]

NEEDS = {
    "german-shap": ["shap"],
    "spam-shap": ["shap"],
    "imdb-brittle": ["torch", "anchor", "spacy"],
    "german-anchors": ["anchor", "lime"],
    "spam-adversarial": [],
    "adult-dice": ["dice_ml", "torch"],
    "german-causal": [],
    "german-tau-curve": [],
    "pearl": [],
    "german-grades": ["shap", "anchor", "lime", "dice_ml"],
}
"""The packages without which an experiment cannot run."""

RUN_TWICE = ["german-tau-curve", "pearl", "german-shap"]


def skip_without_packages(name):
    missing = [package for package in NEEDS[name] if find_spec(package) is None]
    if missing:
        pytest.skip(f"{name} needs {', '.join(missing)}: see `make test-peers`")


def reproduce(*arguments):
    """Run `python -m experiments` in this process; return its exit code."""
    with pytest.raises(SystemExit) as stop:
        main([*map(str, arguments)])
    return stop.value.code


def quick_run(name, data, out):
    """Run an experiment in this process and return its folder; the peers warn when loaded."""
    from experiments.runner.reproduce import run

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run(name, data, out, quick=True, progress=False)
    return out / name


def test_every_experiment_is_tried():
    from experiments.runner.reproduce import EXPERIMENTS

    assert list(NEEDS) == list(EXPERIMENTS)


def check_files(folder):
    """Check the files of a quick run; return its record."""
    record = json.loads((folder / "result.json").read_text())
    assert record["quick"] and record["claims"] and record["settings"] and record["versions"]
    assert record["figures"]
    for claim in record["claims"]:
        assert claim["says"] and claim["ours"], claim
        assert claim["holds"] in (True, False, None)
    for figure in record["figures"]:
        assert (folder / f"{figure}.svg").stat().st_size > 1000
        assert (folder / f"{figure}.png").read_bytes()[:4] == b"\x89PNG"
        assert (folder / f"{figure}.png").stat().st_size > 10_000
    for table in record["tables"]:
        assert (folder / f"{table}.csv").read_text().count("\n") > 1
        assert (folder / f"{table}.md").read_text().startswith("|")
    return record


@pytest.mark.parametrize("name", [name for name in NEEDS if name not in RUN_TWICE])
def test_a_quick_run_writes_figures_tables_and_verdicts(name, data_home, tmp_path, monkeypatch):
    skip_without_packages(name)
    monkeypatch.setenv("SUFFICE_CACHE", str(tmp_path / "cache"))
    record = check_files(quick_run(name, data_home, tmp_path))
    holds = [claim["holds"] for claim in record["claims"]]
    if name == "spam-shap":
        assert record["title"].startswith("Figure 2")
        assert all(holds)  # the best set of a size cannot lose
    if name == "spam-adversarial":
        assert record["title"].startswith("Tables 3 and 4")
        assert all(holds[:4])  # the MLP is good even on a third of the mails


def test_the_command_writes_the_same_bytes_in_another_process(data_home, tmp_path):
    """All files but the times are equal; and as everywhere, figures, tables and verdicts exist."""
    skip_without_packages("german-shap")
    command = [sys.executable, "-m", "experiments", *RUN_TWICE, "--quick"]
    ran = subprocess.run(
        [*command, "--out", str(tmp_path / "command"), "--data", str(data_home)],
        cwd=ROOT,
        env=os.environ | {"COLUMNS": "200"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    for name in RUN_TWICE:
        first, second = tmp_path / "command" / name, quick_run(name, data_home, tmp_path / "here")
        assert check_files(first)["title"].split(":")[0] in ran.stdout + ran.stderr
        for file in sorted(path for path in first.iterdir() if path.is_file()):
            one, two = file.read_bytes(), (second / file.name).read_bytes()
            if file.name == "result.json":
                one, two = (json.loads(text) for text in (one, two))
                del one["timings"], two["timings"]
            assert one == two, f"{name}: {file.name}"


def test_work_that_was_finished_is_not_done_again(tmp_path):
    from experiments.runner.lab import Lab

    done = []

    def work(item):
        done.append(item)
        if item == 2 and len(done) < 4:
            raise KeyboardInterrupt
        return {"twice": 2 * item}

    lab = Lab("test", tmp_path, tmp_path / "out", progress=False)
    with pytest.raises(KeyboardInterrupt):
        lab.each(work, [0, 1, 2], {"seed": 0})
    again = lab.each(work, [0, 1, 2], {"seed": 0})
    assert again == [{"twice": 0}, {"twice": 2}, {"twice": 4}]
    assert done == [0, 1, 2, 2]
    lab.each(work, [0], {"seed": 1})  # other settings, other work
    assert done == [0, 1, 2, 2, 0]


def test_the_page_of_verdicts_is_written_from_the_runs(tmp_path):
    page = tmp_path / "RESULTS.md"
    assert reproduce("pearl", "--quick", "--out", tmp_path, "--results", page) == 0
    text = page.read_text()
    assert "`python -m experiments pearl --quick`" in text
    assert re.search(r"\| suf\(x, y\) = .* \| yes", text)


def test_unknown_names_and_missing_data_are_reported(tmp_path, capsys):
    assert reproduce("german-shop") == 2
    assert "Did you mean 'german-shap'?" in capsys.readouterr().err
    assert reproduce("german-shap", "--data", tmp_path, "--out", tmp_path / "out") == 2
    assert "german_credit_data.csv" in capsys.readouterr().err
