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
collect_ignore = [] if find_spec("dowhy") else ["test_causal_dowhy.py"]

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

_MARKERS = {
    "browser": ["test_page_in_browser", "test_explorer_browser", "test_notebook"],
    "processes": [
        "test_audit_command",
        "test_batch",
        "test_command_under_stress",
        "test_dask",
        "test_explaining_together",
        "test_interrupts",
        "test_killed_runs",
        "test_processes",
        "test_spark",
        "test_store_faults",
    ],
    "peers": ["test_anchors_peer", "test_recourse_dice", "test_other_tools"],
    "experiments": [
        "test_experiments_adult",
        "test_experiments_anchors",
        "test_experiments_imdb",
        "test_experiments_spam",
        "test_reproduce",
    ],
    "slow": [
        "test_audit_global_recourse",
        "test_audit_groups",
        "test_audit_proxies",
        "test_audit_read",
        "test_audit_record",
        "test_booster_files",
        "test_chunks",
        "test_composed_trees",
        "test_contracts",
        "test_every_door_checks_its_arguments",
        "test_every_kind_of_column",
        "test_front_end",
        "test_keras_models",
        "test_mail",
        "test_plots_audits",
        "test_plots_others",
        "test_reading_path",
    ],
    "docs": [
        "test_audit_guide",
        "test_dist",
        "test_docs",
        "test_examples",
        "test_notebooks",
        "test_theory_page",
    ],
}
"""Files whose tests need a browser, processes, other tools, the real data, pages or much time."""

_MARKER_OF = {file: marker for marker, files in _MARKERS.items() for file in files}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of a file by what they need, so that `make check` can leave them out."""
    for item in items:
        marker = "docs" if item.path.suffix == ".md" else _MARKER_OF.get(item.path.stem)
        if marker is not None:
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
