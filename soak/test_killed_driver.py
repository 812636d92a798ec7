"""kill -9 of the whole run at twenty random moments: not one byte of the result differs."""

import subprocess

import pytest
from tests.portfolios import command, data_set, kill_and_resume, write_portfolio


@pytest.mark.parametrize("workers", [1, 2])
def test_a_driver_killed_twenty_times_leaves_the_bytes_of_one_that_was_not(tmp_path, workers):
    """And at least half of the kills strike a run at work."""
    write_portfolio(tmp_path, 40_000, width=8)
    options = ["--n-references", 50, "--rows-per-part", 3000]
    options += [] if workers == 1 else ["--workers", workers]
    whole = subprocess.run(command(tmp_path, "whole", *options), check=True, capture_output=True)
    assert whole.returncode == 0
    hit = kill_and_resume(command(tmp_path, "killed", *options), 20, seed=workers, longest=12)
    print(f"\n{hit} of 20 kills struck a run at work")
    assert hit >= 10
    assert data_set(tmp_path / "killed") == data_set(tmp_path / "whole")
