"""Kill −9 of workers and of the driver: what is stored is what an undisturbed run stores.

A few moments here; twenty of each under `make soak-tests`.
"""

import os
import random
import signal
import subprocess
import threading
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")

from tests.batch.command_run import (
    command,
    kill_and_resume,
    peak_megabytes,
    result_bytes,
    write_portfolio,
)
from tests.batch.killed_run import explain, kill_drivers, kill_workers, parquet_bytes

ROWS = 100


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    out = tmp_path_factory.mktemp("undisturbed") / "out"
    explain(str(out), ROWS)
    return parquet_bytes(out)


def test_killed_workers_change_no_byte(tmp_path, undisturbed):
    kill_workers(tmp_path / "out", ROWS, 3, random.Random(0))
    assert parquet_bytes(tmp_path / "out") == undisturbed


def test_killed_drivers_change_no_byte_once_resumed(tmp_path, undisturbed):
    kill_drivers(tmp_path / "out", ROWS, 2, random.Random(1))
    assert parquet_bytes(tmp_path / "out") == undisturbed


# -- `make soak-tests` ------------------------------------------------------------------------


MANY_ROWS, KILLS = 2000, 20


@pytest.fixture(scope="module")
def undisturbed_large(tmp_path_factory):
    out = tmp_path_factory.mktemp("undisturbed") / "out"
    explain(str(out), MANY_ROWS)
    return parquet_bytes(out)


@pytest.mark.soak
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("seed", range(3))
def test_twenty_kills_of_workers_change_no_byte(tmp_path, undisturbed_large, seed):
    kill_workers(tmp_path / "out", MANY_ROWS, KILLS, random.Random(seed))
    assert parquet_bytes(tmp_path / "out") == undisturbed_large


@pytest.mark.soak
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("seed", range(3))
def test_twenty_kills_of_drivers_change_no_byte_once_resumed(tmp_path, undisturbed_large, seed):
    kill_drivers(tmp_path / "out", MANY_ROWS, KILLS, random.Random(seed))
    assert parquet_bytes(tmp_path / "out") == undisturbed_large


@pytest.mark.soak
@pytest.mark.timeout(7200)
@pytest.mark.filterwarnings("default")
def test_killed_dask_workers_change_no_byte(tmp_path, undisturbed_large):
    import dask
    import distributed

    chance, ended = random.Random(0), threading.Event()
    settings = {"distributed.deploy.lost-worker-timeout": "1 hour"}
    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            2, threads_per_worker=1, dashboard_address="127.0.0.1:0"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):

        def kill() -> None:
            for _ in range(KILLS):
                if ended.wait(chance.uniform(0.5, 4.0)):
                    return
                pids = [w.process.pid for w in cluster.workers.values() if w.process]
                alive = [pid for pid in pids if pid is not None]
                if alive:
                    os.kill(chance.choice(alive), signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        try:
            explain(str(tmp_path / "out"), MANY_ROWS, client=client)
        finally:
            ended.set()
            killer.join()
    assert parquet_bytes(tmp_path / "out") == undisturbed_large


@pytest.mark.soak
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("workers", [1, 2])
def test_a_command_killed_twenty_times_writes_the_same_bytes(tmp_path, workers):
    """At least half of the kills hit a running process."""
    write_portfolio(tmp_path, 40_000, width=8)
    options = ["--n-references", 50, "--rows-per-part", 3000]
    options += [] if workers == 1 else ["--workers", workers]
    whole = subprocess.run(command(tmp_path, "whole", *options), check=True, capture_output=True)
    assert whole.returncode == 0
    hit = kill_and_resume(command(tmp_path, "killed", *options), 20, seed=workers, longest=12)
    print(f"\n{hit} of 20 kills hit a running process")
    assert hit >= 10
    assert result_bytes(tmp_path / "killed") == result_bytes(tmp_path / "whole")


@pytest.mark.soak
@pytest.mark.timeout(7200)
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
@pytest.mark.parametrize("workers", [1, 2])
def test_ten_times_the_rows_take_no_more_memory(tmp_path, workers):
    """Within a tenth, of the driver and of the largest worker."""
    few, many = (peak_megabytes(tmp_path / str(rows), rows, workers) for rows in (10_000, 100_000))
    print(f"\n{workers} worker(s), peak MB: driver {few[0]:.0f} -> {many[0]:.0f}", end="")
    print(f", worker {few[1]:.0f} -> {many[1]:.0f}" if workers > 1 else "")
    for ours, theirs in zip(many, few, strict=True):
        assert ours <= 1.1 * theirs
