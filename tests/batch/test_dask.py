"""A real Dask cluster of worker processes: what becomes of rows when workers die, hang and go."""

import os
import random
import signal
import subprocess
import sys
import time

import pytest

from suffice import Explainer, InputError
from suffice.batch.dask import DaskWorkers
from suffice.batch.explain_many import ExplainPiece
from suffice.batch.workers import RowsInMemory, WorkerError, run_pieces
from tests.batch.faulty_models import DATA, FaultyModel, rows_with_faults

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")

pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture(scope="module")
def client():
    # Workers that die of a row are expected here, so one death is enough to look closer.
    settings = {
        "distributed.scheduler.allowed-failures": 1,
        "distributed.comm.timeouts.connect": "60s",
        # A local cluster gives a worker up that is being started again after so long.
        "distributed.deploy.lost-worker-timeout": "1 hour",
    }
    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


def told(team, rows, **options):
    found = {}
    failed = lambda piece, lost: [lost.reason]  # noqa: E731
    for piece, result in run_pieces(
        RowsInMemory(list(range(rows))), team, failed=failed, **options
    ):
        found |= enumerate(result, piece.first)
    return [found[i] for i in range(rows)]


def test_rows_that_crash_hang_or_raise_are_found_and_the_rest_is_done(client):
    def perilous(piece):
        for row in piece.rows:
            if row == 5:
                os._exit(7)
            if row == 11:
                time.sleep(10**6)
            if row == 20:
                raise KeyError("the database is away")
        return [2 * row for row in piece.rows]

    # Pieces of one row, so that few workers need to die. A row that was late because the machine
    # is busy is tried again by itself.
    with DaskWorkers(perilous, client=client, row_time_limit=8) as team:
        found = told(team, 30, piece_seconds=1e-9)
    reasons = {
        5: "the worker ended, 2 times",
        11: "took longer than 8 s",
        20: "KeyError: 'the database is away'",
    }
    assert found == [reasons.get(i, 2 * i) for i in range(30)]


def test_workers_killed_at_random_moments_lose_nothing(client):
    chance = random.Random(0)

    def slow(piece):
        time.sleep(0.02 * len(piece))
        return [2 * row for row in piece.rows]

    found = {}
    with DaskWorkers(slow, client=client) as team:
        kills = 2
        for piece, result in run_pieces(
            RowsInMemory(list(range(100))),
            team,
            failed=lambda piece, lost: [lost.reason],
            piece_seconds=0.2,
        ):
            found |= enumerate(result, piece.first)
            if kills and chance.random() < 0.2:
                pids = list(client.run(os.getpid).values())
                os.kill(chance.choice(pids), signal.SIGKILL)
                kills -= 1
    assert [found[i] for i in range(100)] == [2 * i for i in range(100)]


def test_explanations_are_those_of_this_process(client):
    rows = rows_with_faults([0, 0, -4, 0], 12)
    explainer = Explainer(FaultyModel(), DATA)
    with DaskWorkers(ExplainPiece(explainer), client=client) as team:
        pieces = RowsInMemory(explainer._read_many(rows), {"progress": False})
        found = {}
        for piece, result in run_pieces(pieces, team, failed=lambda piece, lost: [lost.reason]):
            found |= enumerate(result, piece.first)
    assert "FaultyModel raised KeyError" in str(found.pop(2))
    for number, explanation in found.items():
        alone = explainer.explain(rows.iloc[number])
        assert explanation.keep.to_frame().equals(alone.keep.to_frame())
        assert explanation.flip.to_frame().equals(alone.flip.to_frame())


def test_a_function_that_workers_cannot_read_is_reported_once(client):
    class Unreadable:
        def __init__(self):
            self.kept = 1

        def __setstate__(self, state):
            raise ModuleNotFoundError("No module named 'secret'")

        def __call__(self, piece):
            return []

    with pytest.raises(WorkerError, match=r"cannot unpickle the model \(ModuleNotFoundError: No"):
        DaskWorkers(Unreadable(), client=client)
    with DaskWorkers(lambda piece: piece.rows, client=client) as team:
        assert told(team, 10) == list(range(10))


def test_what_is_no_cluster_is_reported(client, monkeypatch):
    import threading

    with pytest.raises(InputError, match=r"client: got 7; allowed: None or a distributed.Client"):
        DaskWorkers(len, client=7)
    with pytest.raises(InputError, match=r"a model that cannot be sent .*cannot pickle"):
        lock = threading.Lock()
        DaskWorkers(lambda piece: lock, client=client)
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(
        InputError, match=r"Dask clusters need distributed\. Install it with: .*suffice\[dask\]"
    ):
        DaskWorkers(len, client="tcp://127.0.0.1:9")


def test_a_scheduler_that_goes_away_is_reported(tmp_path):
    file = tmp_path / "scheduler.json"
    scheduler = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "distributed.cli.dask_scheduler",
            "--port",
            "0",
            "--no-dashboard",
            "--scheduler-file",
            str(file),
        ],
        stderr=subprocess.DEVNULL,
    )
    worker = None
    try:
        client = distributed.Client(scheduler_file=str(file), timeout=120, set_as_default=False)
        worker = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "distributed.cli.dask_worker",
                client.scheduler.address,
                "--no-dashboard",
                "--nthreads",
                "1",
                "--no-nanny",
            ],
            stderr=subprocess.DEVNULL,
        )
        client.wait_for_workers(1, timeout=120)

        def slow(piece):
            time.sleep(0.1)
            return piece.rows

        with pytest.raises(
            WorkerError, match=r"The connection to the Dask scheduler at tcp://.* lost"
        ):
            team = DaskWorkers(slow, client=client)
            for _ in run_pieces(
                RowsInMemory(list(range(1000))), team, failed=lambda p, lost: [], piece_seconds=0.1
            ):
                scheduler.kill()
        team.close()
        client.close()
    finally:
        for process in (scheduler, worker):
            if process is not None:
                process.kill()
                process.wait()
