"""Memory stays flat, however many rows there are."""

import subprocess
from pathlib import Path

import pytest
from tests.portfolios import command, peak_memory, started, write_portfolio


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
@pytest.mark.parametrize("workers", [1, 2])
def test_ten_times_the_rows_take_no_more_memory(tmp_path, workers):
    """Within a tenth, of the driver and of the largest worker."""
    few, many = (peak(tmp_path / str(rows), rows, workers) for rows in (10_000, 100_000))
    print(f"\n{workers} worker(s), peak MB: driver {few[0]:.0f} -> {many[0]:.0f}", end="")
    print(f", worker {few[1]:.0f} -> {many[1]:.0f}" if workers > 1 else "")
    for ours, theirs in zip(many, few, strict=True):
        assert ours <= 1.1 * theirs


def peak(folder, rows, workers):
    """Megabytes that the driver, and the largest of its workers, held at most."""
    folder.mkdir()
    write_portfolio(folder, rows, width=3)
    options = [] if workers == 1 else ["--workers", workers]
    words = command(folder, "out", "--n-references", 20, "--rows-per-part", 2000, *options)
    driver = started(words, stdout=subprocess.DEVNULL)
    held: dict[int, int] = {}
    while driver.poll() is None:
        for process, kilobytes in peak_memory(driver.pid).items():
            held[process] = max(held.get(process, 0), kilobytes)
        try:
            driver.wait(0.2)
        except subprocess.TimeoutExpired:
            continue
    assert driver.returncode == 0
    own = held.pop(driver.pid)
    return own / 1024, max(held.values(), default=0) / 1024
