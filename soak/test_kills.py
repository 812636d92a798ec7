"""`make soak`: kill −9 at twenty random moments: of workers, of the driver, of Dask's workers."""

import os
import random
import signal
import threading

import pytest
from tests.killing import explain, kill_drivers, kill_workers, parts

ROWS, KILLS = 2000, 20


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    out = tmp_path_factory.mktemp("undisturbed") / "out"
    explain(str(out), ROWS)
    return parts(out)


@pytest.mark.parametrize("seed", range(3))
def test_killed_workers_change_no_byte(tmp_path, undisturbed, seed):
    kill_workers(tmp_path / "out", ROWS, KILLS, random.Random(seed))
    assert parts(tmp_path / "out") == undisturbed


@pytest.mark.parametrize("seed", range(3))
def test_killed_drivers_change_no_byte_once_resumed(tmp_path, undisturbed, seed):
    kill_drivers(tmp_path / "out", ROWS, KILLS, random.Random(seed))
    assert parts(tmp_path / "out") == undisturbed


@pytest.mark.filterwarnings("default")
def test_killed_dask_workers_change_no_byte(tmp_path, undisturbed):
    import dask
    import distributed

    chance, ended = random.Random(0), threading.Event()
    settings = {"distributed.deploy.lost-worker-timeout": "1 hour"}
    with (
        dask.config.set(settings),
        distributed.LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster,
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
            explain(str(tmp_path / "out"), ROWS, client=client)
        finally:
            ended.set()
            killer.join()
    assert parts(tmp_path / "out") == undisturbed
