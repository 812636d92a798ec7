"""What the package promises about itself: start-up, layers' names, versions."""

import subprocess
import sys
import tomllib
from pathlib import Path

import suffice

ROOT = Path(__file__).parents[1]


def test_importing_loads_nothing_heavy():
    code = (
        "import sys, suffice; heavy = {'pandas', 'sklearn', 'scipy', 'matplotlib', 'numba', "
        "'torch', 'dask', 'distributed', 'starlette', 'jinja2', 'rich', 'joblib', 'pyarrow'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_versions_agree():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert suffice.__version__ == declared
    assert f"## {declared}" in (ROOT / "CHANGELOG.md").read_text()


def test_everything_exported_exists_and_is_documented():
    for name in suffice.__all__:
        assert getattr(suffice, name).__doc__, name


def test_architecture_names_files_that_exist():
    text = (ROOT / "ARCHITECTURE.md").read_text()
    import re

    named = re.findall(r"`((?:src|tests|experiments|benchmarks|docs)/[\w./-]+)`", text)
    assert len(named) > 20
    for path in named:
        assert (ROOT / path).exists(), path
