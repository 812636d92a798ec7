"""The examples of the gallery: each is run as it stands, says something and draws something."""

import re
import runpy
from pathlib import Path

import pytest
from benchmarks.__main__ import NAMES, write_results
from benchmarks.timing import Row

EXAMPLES = [
    path
    for path in sorted((Path(__file__).parents[2] / "examples").glob("*.py"))
    if path.name != "portfolio_on_dask.py"  # which needs a cluster
]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_says_something_and_draws(request, path, capsys, monkeypatch, tmp_path):
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("agg")
    text = path.read_text(encoding="utf-8")
    if "import duckdb" in text:
        pytest.importorskip("duckdb", reason="duckdb is not installed: see `make test-peers`")
    if "import shap" in text:
        request.getfixturevalue("shap")
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(path))
    assert capsys.readouterr().out.strip()
    assert plt.get_fignums()
    assert not list(tmp_path.iterdir()), "an example leaves nothing behind"


def test_examples_have_a_title_prose_and_a_place_in_the_gallery():
    assert len(EXAMPLES) >= 14
    for path in EXAMPLES:
        text = path.read_text(encoding="utf-8")
        title, line = text.splitlines()[1:3]
        assert set(line) == {"="} and len(line) >= len(title), path.name
        assert len(re.findall(r"^# %%\n# ", text, flags=re.MULTILINE)) >= 2, path.name
        assert len(text.splitlines()) <= 100, path.name


def test_benchmark_results_keep_the_sections_of_benchmarks_not_run(tmp_path):
    path = tmp_path / "RESULTS.md"
    write_results(path, {"trees": [Row("forest", "0.5 ×", "≤ 1 ×", True)]})
    write_results(path, {"additive": [Row("sum", "9 ×", "≥ 5 ×", True)]})
    write_results(path, {"trees": [Row("forest", "1.4 ×", "≤ 1 ×", False)]})
    head = "| what | measured | target | |\n|---|---|---|---|\n"
    assert path.read_text(encoding="utf-8").partition("## ")[2] == (
        f"trees\n\n{head}| forest | 1.4 × | ≤ 1 × | MISSED |\n\n"
        f"## additive\n\n{head}| sum | 9 × | ≥ 5 × | ok |\n"
    )


@pytest.mark.parametrize("name", NAMES)
def test_named_benchmarks_exist(name):
    source = (Path(__file__).parents[2] / "benchmarks" / f"{name}.py").read_text(encoding="utf-8")
    assert "\ndef rows() -> Iterator[Row]:" in source
