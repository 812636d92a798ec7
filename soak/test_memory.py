"""Memory stays flat, however many rows there are."""

from pathlib import Path

import pytest
from tests.portfolios import peak


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
@pytest.mark.parametrize("workers", [1, 2])
def test_ten_times_the_rows_take_no_more_memory(tmp_path, workers):
    """Within a tenth, of the driver and of the largest worker."""
    few, many = (peak(tmp_path / str(rows), rows, workers) for rows in (10_000, 100_000))
    print(f"\n{workers} worker(s), peak MB: driver {few[0]:.0f} -> {many[0]:.0f}", end="")
    print(f", worker {few[1]:.0f} -> {many[1]:.0f}" if workers > 1 else "")
    for ours, theirs in zip(many, few, strict=True):
        assert ours <= 1.1 * theirs
