"""Settings shared by all tests."""

import os
import sys
from collections.abc import Generator
from importlib.util import find_spec
from pathlib import Path

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import HealthCheck, settings

# jsonschema would build a parser of international resource identifiers when it is imported, which
# takes two seconds. No schema of this package has that format, and jsonschema does without.
sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]

# It pins scipy, so it has an environment of its own: `make test-dowhy`.
collect_ignore = [] if find_spec("dowhy") else ["context/test_dowhy.py"]

# `--hypothesis-profile` chooses another one; see `tests/effort.py` for tests with counts of their own.
for name, count in {"check": 15, "test": 60, "soak": 600}.items():
    settings.register_profile(
        name,
        max_examples=count,
        deadline=None,
        # Every run of `make test` draws the same examples; the soak draws new ones.
        derandomize=name != "soak",
        suppress_health_check=[HealthCheck.too_slow],
    )
settings.load_profile("test")

_FOLDER_MARKERS = {"browser": "browser", "experiments": "experiments", "repository": "docs"}
"""Folders whose tests need a browser, the real data, or built pages and packages."""

_FILE_MARKERS = {
    "processes": [
        "test_audit_command",
        "test_batch_command",
        "test_command_faults",
        "test_dask",
        "test_explain_many",
        "test_interrupts",
        "test_killed_runs",
        "test_spark",
        "test_store_faults",
        "test_worker_processes",
    ],
    "peers": ["test_anchor_exp", "test_peer_tools", "test_recourse_dice"],
    "slow": [
        "test_argument_validation",
        "test_audit_plots",
        "test_booster_files",
        "test_chunks",
        "test_extension_checks",
        "test_frontend_bundle",
        "test_global_recourse",
        "test_group_labels",
        "test_keras",
        "test_meta_estimators",
        "test_record",
        "test_reliance_proxies",
        "test_result_plots",
        "test_source_layout",
        "test_stored_decisions",
        "test_unusual_cells",
    ],
    # In a folder of slow tests, but quick: what one breaks most often.
    "": ["test_architecture_drawing", "test_mutations", "test_package"],
}
"""Files whose tests need processes, other tools or much time."""

_MARKER_OF = {file: marker for marker, files in _FILE_MARKERS.items() for file in files}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of a file by what they need, so that `make check` can leave them out."""
    for item in items:
        by_folder = _FOLDER_MARKERS.get(item.path.parent.name)
        marker = "docs" if item.path.suffix == ".md" else _MARKER_OF.get(item.path.stem, by_folder)
        if marker:
            item.add_marker(marker)


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Look for examples in the docstrings of the package, not in those of its tests."""
    found = yield
    return [collector for collector in found if not isinstance(collector, DoctestModule)]


@pytest.fixture(scope="session")
def data_home() -> Path:
    """Where the real data sets are; tests that need them skip where they are not."""
    beside = Path(__file__).parents[2] / "shared" / "data"
    place = Path(os.environ.get("SUFFICE_DATA", beside))
    if not place.is_dir():
        pytest.skip(NO_DATA)
    return place


NO_DATA = "the real data sets are not here"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was not tested, why, and what to do about it."""
    skipped = terminalreporter.stats.get("skipped", [])
    without_data = sum(NO_DATA in str(report.longrepr) for report in skipped)
    if without_data:
        terminalreporter.write_line(
            f"{without_data} tests were skipped because {NO_DATA}. To run them, set SUFFICE_DATA "
            "to the folder that holds german/, adult/, spam/, imdb/, glove/ and stopwords/ (see "
            "suffice.datasets for where to get each).",
            yellow=True,
        )
    others = len(skipped) - without_data
    if others:
        terminalreporter.write_line(f"{others} other tests were skipped:", yellow=True)
        for reason in sorted(
            {str(r.longrepr[-1]) for r in skipped if NO_DATA not in str(r.longrepr)}
        ):
            terminalreporter.write_line(f"  {reason}")
