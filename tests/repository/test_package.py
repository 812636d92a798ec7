"""What the package promises about itself: start-up, layers' names, versions."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from docs.write_index import SOURCES, first_line, page_with_index

import suffice

ROOT = Path(__file__).parents[2]


def test_importing_loads_nothing_heavy():
    code = (
        "import sys, suffice; heavy = {'pandas', 'sklearn', 'scipy', 'matplotlib', 'numba', "
        "'torch', 'dask', 'distributed', 'starlette', 'jinja2', 'rich', 'joblib', 'pyarrow'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


@pytest.mark.parametrize("package", ["audit", "plots"])
def test_public_functions_are_not_hidden_by_modules_of_the_same_name(package):
    """lazy-loader below 0.6 gave the module once a class of that module had been touched."""
    code = (
        f"from suffice import {package} as p; [getattr(p, name) for _ in range(2) for name in "
        "p.__all__]; print([name for name in p.__all__ if not callable(getattr(p, name))])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (floor,) = (d for d in project["dependencies"] if d.startswith("lazy-loader"))
    least = floor.partition(">=")[2]
    assert tuple(map(int, least.split("."))) >= (0, 6)


def test_report_is_the_function_whichever_module_of_its_package_was_imported_first():
    code = (
        "import suffice.report.html, suffice; import suffice.report.render_result; "
        "from suffice.report.render_result import report; print(suffice.report is report)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "True"


_WITHOUT_PYARROW = """
from importlib.machinery import PathFinder

find = PathFinder.find_spec
PathFinder.find_spec = lambda name, *rest: None if name == "pyarrow" else find(name, *rest)

import numpy as np
import suffice
from suffice import audit
from suffice.errors import SufficeError

explainer = suffice.Explainer(lambda rows: rows[:, 0] > 2, np.array([[1], [2], [3], [4]]))
for ask in (
    lambda: explainer.explain_to([[1]], "out"),
    lambda: suffice.load("out"),
    lambda: audit.record(explainer, [[1]], "out", analyses={"roles": {}}),
    lambda: audit.verify("out"),
    lambda: __import__("suffice.batch.arrow"),
):
    try:
        ask()
    except SufficeError as error:
        print(error)
print(audit.roles(explainer.explain_many([[1], [4]])).n)
"""


def test_what_needs_pyarrow_says_how_to_install_it():
    ran = subprocess.run([sys.executable, "-c", _WITHOUT_PYARROW], capture_output=True, text=True)
    assert ran.stderr == ""
    *errors, decisions = ran.stdout.splitlines()
    assert decisions == "2"
    assert len(errors) == 5
    for error in errors:
        assert re.fullmatch(
            r'.+ needs pyarrow\. Install it with: pip install "suffice\[\w+\]"', error
        )


def test_workflows_call_make_targets_and_hooks_are_local():
    """The commands of the project are in one place, and hooks have the versions of `make lint`."""
    made = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    nightly = re.search(r"target: \[(.*)\]", workflow)
    called = re.findall(r"run: (.*)", workflow)
    assert nightly and "make ${{ matrix.target }}" in called
    called += [f"make {target}" for target in nightly[1].split(", ")]
    script = (ROOT / ".ci" / "run").read_text()
    called += [line for line in script.splitlines() if line.startswith("make ")]
    for call in set(called) - {"make ${{ matrix.target }}"}:
        assert call.split()[0] == "make" and call.split()[1] in made, call
    used = set(re.findall(r"uses: ([\w/-]+)@", workflow))
    assert used == {"actions/checkout", "actions/setup-python"}
    hooks = (ROOT / ".pre-commit-config.yaml").read_text()
    assert re.findall(r"repo: (\S+)", hooks) == ["local"]
    assert re.findall(r"entry: (\S+)", hooks) == [".venv/bin/ruff"] * 2 + [".venv/bin/python"] * 2


def test_versions_agree():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert "version" in project["dynamic"]
    assert "version" not in project
    sections = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    released = [name for name in sections if name != "Unreleased"]
    assert sections.index(released[0]) <= 1
    assert released[0] == suffice.__version__


def test_architecture_names_files_that_exist():
    text = (ROOT / "ARCHITECTURE.md").read_text()
    named = re.findall(r"`((?:src|tests|experiments|benchmarks|docs)/[\w./-]+)`", text)
    assert len(named) > 20
    for path in named:
        assert (ROOT / path).exists(), path


def test_architecture_has_the_current_index_of_modules():
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    assert page == page_with_index(page), "a first line changed: run python -m docs.write_index"


def test_the_first_line_of_each_module_says_what_it_holds():
    """The index is searched by people who see nothing but these lines."""
    lines = {path: first_line(path) for path in SOURCES.rglob("*.py")}
    assert len(set(lines.values())) == len(lines) > 200
    riddle = re.compile(r"(What|Whether|How|Which|Who|That|From|And|It|Its|They)\b")
    for path, line in lines.items():
        assert len(line) >= 30 and line.endswith("."), path
        assert not riddle.match(line), path


def loans_explainer():
    from sklearn.tree import DecisionTreeClassifier

    X, y = suffice.datasets.loans()
    X = X[["age", "income", "debt"]]
    return suffice.Explainer(DecisionTreeClassifier(random_state=0).fit(X, y), X), X


def test_explainer_repr():
    explainer, X = loans_explainer()
    assert repr(explainer) == (
        f"<Explainer: DecisionTreeClassifier, {len(X)} rows of data, 3 features, "
        "references='opposite'>"
    )


def test_call_accepts_several_rows():
    explainer, X = loans_explainer()
    many = explainer(X.iloc[:3], tau=0.8)
    assert many == explainer.explain_many(X.iloc[:3].to_dict("records"), tau=0.8)
    assert many == explainer(X.iloc[:3].to_numpy().tolist(), tau=0.8)
    assert explainer(X.iloc[:1]) == explainer(X.iloc[0]) == explainer.explain(dict(X.iloc[0]))
    with pytest.raises(TypeError):
        explainer.explain(X.iloc[0], 0.9)  # what an argument means is said by its name
