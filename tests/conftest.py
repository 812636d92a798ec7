"""Settings shared by all tests."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

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
        pytest.skip(f"no data sets at {place}: set SUFFICE_DATA to the folder that holds them")
    return place
