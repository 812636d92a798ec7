"""Every experiment on a small true slice, as anyone would run it, and the page of verdicts."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def reproduce(*arguments, cache=None):
    """In a process of its own: the peers' libraries warn of much when they are loaded."""
    given = {} if cache is None else {"SUFFICE_CACHE": str(cache)}
    run = subprocess.run(
        [sys.executable, "-m", "suffice", "reproduce", *map(str, arguments)],
        cwd=ROOT,
        env=os.environ | {"COLUMNS": "200"} | given,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    return run.returncode, run.stdout + run.stderr


NAMES = [
    "german-shap",
    "spam-shap",
    "imdb-brittle",
    "german-anchors",
    "spam-adversarial",
    "adult-dice",
    "german-causal",
    "german-tau-curve",
    "pearl",
    "german-grades",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_quick_run_writes_figures_tables_and_verdicts(name, data_home, tmp_path):
    options = ("--quick", "--out", tmp_path, "--data", data_home)
    code, out = reproduce(name, *options, cache=tmp_path / "cache")
    assert code == 0, out
    folder = tmp_path / name
    record = json.loads((folder / "result.json").read_text())
    assert record["quick"] and record["claims"] and record["settings"] and record["versions"]
    assert record["figures"]
    for claim in record["claims"]:
        assert claim["says"] and claim["ours"], claim
        assert claim["holds"] in (True, False, None)
    for figure in record["figures"]:
        assert (folder / f"{figure}.svg").stat().st_size > 1000
        assert (folder / f"{figure}.png").read_bytes()[:4] == b"\x89PNG"
    for table in record["tables"]:
        assert (folder / f"{table}.csv").read_text().count("\n") > 1
        assert (folder / f"{table}.md").read_text().startswith("|")
    assert record["title"].split(":")[0] in out


@pytest.mark.parametrize("name", ["german-tau-curve", "pearl", "german-shap"])
def test_a_second_run_gives_the_same_bytes_but_for_the_time(name, data_home, tmp_path):
    for run in ("first", "second"):
        where = tmp_path / run
        assert reproduce(name, "--quick", "--out", where, "--data", data_home)[0] == 0
    first, second = tmp_path / "first" / name, tmp_path / "second" / name
    for file in sorted(path for path in first.iterdir() if path.is_file()):
        one, two = file.read_bytes(), (second / file.name).read_bytes()
        if file.name == "result.json":
            one, two = (json.loads(text) for text in (one, two))
            del one["timings"], two["timings"]
        assert one == two, file.name


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
    code, _ = reproduce("pearl", "--quick", "--out", tmp_path, "--results", page)
    assert code == 0
    text = page.read_text()
    assert "`suffice reproduce pearl --quick`" in text
    assert re.search(r"\| suf\(x, y\) = .* \| yes", text)


def test_unknown_names_and_missing_data_are_told(tmp_path):
    code, out = reproduce("german-shop")
    assert code == 2 and "Did you mean 'german-shap'?" in out
    code, out = reproduce("german-shap", "--data", tmp_path, "--out", tmp_path / "out")
    assert code == 2 and "german_credit_data.csv" in out
