"""What is released: the wheel holds the package and nothing else, and says of itself what is true.

`make dist` also installs it into clean environments and runs the demo there; that needs the package
index, and minutes.
"""

from __future__ import annotations

import email
import tomllib
from pathlib import Path
from zipfile import ZipFile

import pytest
from tools.dist import VERSIONS, archive_files, build, find_python, own_files, wheel_faults

import suffice

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def needed(library: str) -> None:
    """Skip the test where a library that builds or checks the wheel is not installed."""
    reason = f"{library} is not installed here: `make test-peers` tests the wheel"
    pytest.importorskip(library, reason=reason)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """With what is installed here: no package index is asked."""
    for library in ("build", "hatchling"):
        needed(library)
    return build(tmp_path_factory.mktemp("dist"), "--no-isolation")


def test_the_wheel_holds_the_package_and_nothing_else(built: tuple[Path, Path]) -> None:
    wheel, _ = built
    assert wheel_faults(wheel) == []
    needed = {
        "suffice/py.typed",
        "suffice/__init__.pyi",
        "suffice/audit/__init__.pyi",
        "suffice/testing/__init__.pyi",
        "suffice/report/bundle.js",
        "suffice/report/templates/document.html.j2",
        "suffice/web/explorer.css",
    }
    assert needed <= own_files()
    assert wheel.stat().st_size < 2_000_000


def test_a_wheel_with_too_little_or_too_much_is_found_out(tmp_path: Path) -> None:
    wheel = tmp_path / "wrong.whl"
    with ZipFile(wheel, "w") as archive:
        for name in sorted(own_files() - {"suffice/py.typed"}):
            archive.writestr(name, "")
        archive.writestr("tests/repository/test_distribution.py", "")
    assert wheel_faults(wheel) == [
        "the wheel lacks suffice/py.typed",
        "the wheel also holds tests/repository/test_distribution.py",
    ]


def test_the_source_archive_is_small_and_can_be_built(built: tuple[Path, Path]) -> None:
    _, archive = built
    files = archive_files(archive)
    assert {f"src/{name}" for name in own_files()} <= files
    assert {"README.md", "CHANGELOG.md", "CITATION.cff", "LICENSE", "pyproject.toml"} <= files
    assert not {name for name in files if name.endswith((".png", ".svg")) or "/test" in name} - {
        name for name in files if name.startswith("src/suffice/testing/")
    }
    assert archive.stat().st_size < 1_500_000


def test_the_wheel_says_of_itself_what_is_true(built: tuple[Path, Path]) -> None:
    with ZipFile(built[0]) as wheel:
        (name,) = (n for n in wheel.namelist() if n.endswith(".dist-info/METADATA"))
        told = email.message_from_bytes(wheel.read(name))
        (scripts,) = (n for n in wheel.namelist() if n.endswith("entry_points.txt"))
        assert b"suffice = suffice.__main__:main" in wheel.read(scripts)
    assert told["Version"] == suffice.__version__
    assert told["License-Expression"] == "MIT" and told["License-File"] == "LICENSE"
    assert told["Requires-Python"] == ">=3.11"
    assert {f"Programming Language :: Python :: {v}" for v in VERSIONS} <= set(
        told.get_all("Classifier", [])
    )
    # Only addresses that are known to be true are told.
    assert all("proceedings.mlr.press" in url for url in PROJECT["urls"].values())


def test_the_readme_is_shown_by_the_package_index(built: tuple[Path, Path]) -> None:
    needed("twine")
    from twine.commands.check import check

    assert not check([str(path) for path in built], strict=True)


def test_the_citation_says_who_and_claims_no_other_version() -> None:
    yaml = pytest.importorskip("yaml")
    told = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors"} <= told.keys()
    assert told["license"] == PROJECT["license"]
    assert told.get("version", suffice.__version__) == suffice.__version__
    paper = told["preferred-citation"]
    assert paper["year"] == 2021 and len(paper["authors"]) == 4


def test_a_python_that_is_not_here_is_not_found() -> None:
    assert find_python("3.0") is None
    here = [version for version in VERSIONS if find_python(version)]
    assert here, f"this runs on a Python that is none of {VERSIONS}"
