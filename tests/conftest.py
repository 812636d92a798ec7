"""Settings shared by all tests."""

import os
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# It pins scipy, so it has an environment of its own: `make dowhy`.
collect_ignore = [] if find_spec("dowhy") else ["test_causal_dowhy.py"]

settings.register_profile(
    "suffice", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("suffice")


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
