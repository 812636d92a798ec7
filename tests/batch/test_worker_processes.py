"""Processes are killed, crash, hang and cannot start: every other row is done, and none is left."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
import warnings

import pytest

from suffice import InputError
from suffice.batch import process_pool as processes
from suffice.batch.process_pool import ProcessPool
from suffice.batch.workers import Piece, RowsInMemory, WorkerError, run_pieces
from tests.batch.faulty_models import gone, skipping_clock


def doubled(piece):
    return [2 * row for row in piece.rows]


def told(team, rows, **options):
    found = {}
    failed = lambda piece, lost: [lost.reason]  # noqa: E731
    for piece, result in run_pieces(
        RowsInMemory(list(range(rows))), team, failed=failed, **options
    ):
        found |= enumerate(result, piece.first)
    return [found[i] for i in range(rows)]


def test_rows_that_crash_or_raise_are_found_and_the_rest_is_done():
    def perilous(piece):
        for row in piece.rows:
            if row == 3:
                os._exit(7)
            if row == 9:
                os.kill(os.getpid(), signal.SIGSEGV)
            if row == 20:
                raise KeyError("the database is away")
        return [2 * row for row in piece.rows]

    with ProcessPool(perilous, workers=2) as team:
        found = told(team, 40)
        pids = team.pids
    reasons = {
        3: "the process ended with code 7",
        9: "the process ended with signal 11 (SIGSEGV)",
        20: "KeyError: 'the database is away'",
    }
    assert found == [reasons.get(i, 2 * i) for i in range(40)]
    assert gone(pids)


def test_a_row_that_hangs_is_found_and_the_rest_is_done(tmp_path, monkeypatch):
    def hangs(piece):
        if 12 in piece.rows:
            (tmp_path / str(os.getpid())).touch()
            time.sleep(10**6)
        return [2 * row for row in piece.rows]

    monkeypatch.setattr(processes, "monotonic", skipping_clock(tmp_path))
    with ProcessPool(hangs, workers=1, row_time_limit=3000) as team:
        found = told(team, 40)
        pids = team.pids
    assert found == ["took longer than 3000 s" if i == 12 else 2 * i for i in range(40)]
    assert gone(pids)


@pytest.mark.parametrize("seed", range(2))
def test_processes_killed_at_random_moments_lose_nothing(seed):
    chance = random.Random(seed)

    def slow(piece):
        time.sleep(0.01 * len(piece))
        return [2 * row for row in piece.rows]

    with ProcessPool(slow, workers=2) as team:
        work = run_pieces(
            RowsInMemory(list(range(200))),
            team,
            failed=lambda p, lost: [lost.reason],
            piece_seconds=0.2,
        )
        found = {}
        for piece, result in work:
            found |= enumerate(result, piece.first)
            if chance.random() < 0.15 and team.pids:
                os.kill(chance.choice(team.pids), signal.SIGKILL)
    assert [found[i] for i in range(200)] == [2 * i for i in range(200)]


def test_a_process_whose_child_holds_its_pipe_open_is_seen_to_end(tmp_path):
    def leaves_a_child(piece):
        child = os.fork()
        if child == 0:
            time.sleep(10**6)
        (tmp_path / str(child)).touch()
        os.kill(os.getpid(), signal.SIGKILL)

    try:
        with ProcessPool(leaves_a_child, workers=1) as team:
            team.submit(Piece(0, [1]))
            [lost] = team.wait(300)
    finally:
        for file in tmp_path.iterdir():
            os.kill(int(file.name), signal.SIGKILL)
    assert lost.reason == "the process ended with signal 9 (SIGKILL)"


def test_the_function_is_sent_once_and_again_only_if_it_is_another(tmp_path):
    class Noted:
        def __init__(self, factor):
            self.factor = factor

        def __setstate__(self, state):
            self.__dict__ |= state
            with (tmp_path / "read").open("a") as file:
                file.write("x")

        def __call__(self, piece):
            return [self.factor * row for row in piece.rows]

    def times_read():
        return len((tmp_path / "read").read_text())

    with ProcessPool(Noted(2), workers=1) as team:
        assert told(team, 30) == [2 * i for i in range(30)]
        team.set_function(Noted(2))
        assert told(team, 30) == [2 * i for i in range(30)]
        assert times_read() == 1
        team.set_function(Noted(3))
        assert told(team, 30) == [3 * i for i in range(30)]
        assert times_read() == 2


def test_what_cannot_be_sent_is_reported_before_anything_starts():
    lock = threading.Lock()
    with pytest.raises(
        InputError,
        match=r"workers: got a model that cannot be sent .*cannot pickle.*Leave workers out",
    ):
        ProcessPool(lambda piece: lock, workers=2)


def test_what_cannot_be_read_by_a_process_is_reported_once_with_the_reason():
    class Unreadable:
        def __setstate__(self, state):
            raise ModuleNotFoundError("No module named 'secret'")

        def __call__(self, piece):
            return []

    sent = Unreadable()
    sent.kept = 1
    with ProcessPool(sent, workers=2) as team:
        with pytest.raises(
            WorkerError, match=r"cannot unpickle the model \(ModuleNotFoundError: No module"
        ):
            told(team, 10)
        pids = team.pids
    assert gone(pids)


def test_processes_that_end_before_they_are_ready_are_not_started_for_ever(tmp_path):
    class Deadly:
        def __setstate__(self, state):
            with (tmp_path / "starts").open("a") as file:
                file.write("x")
            os._exit(9)

        def __call__(self, piece):
            return []

    sent = Deadly()
    sent.kept = 1
    with ProcessPool(sent, workers=1) as team, pytest.raises(WorkerError, match=r"code 9, 5 times"):
        told(team, 10)
    assert (tmp_path / "starts").read_text() == "xxxxx"


def test_what_a_function_prints_is_not_taken_for_an_answer(capfd):
    def talks(piece):
        print("a model's own words")
        os.write(1, b"and from below\n")
        return doubled(piece)

    with ProcessPool(talks, workers=1) as team:
        assert told(team, 5) == [0, 2, 4, 6, 8]
    assert "a model's own words" in capfd.readouterr().err


def test_cores_are_shared_out_among_the_processes(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "64")

    def cores_used(piece):
        from suffice.engines.work import available_cores

        return [(available_cores(), os.environ["OPENBLAS_NUM_THREADS"])]

    with ProcessPool(cores_used, workers=os.cpu_count() or 1) as team:
        team.submit(Piece(0, [0]))
        [done] = team.wait(300)
    assert done.result == [(1, "1")]


def test_a_pool_that_is_not_needed_any_more_ends():
    team = ProcessPool(doubled, workers=2)
    assert told(team, 10) == [2 * i for i in range(10)]
    pids = team.pids
    assert pids
    del team
    assert gone(pids)


def test_answers_that_cannot_be_sent_back_are_errors_of_their_rows():
    def locks(piece):
        return [threading.Lock() if row == 4 else row for row in piece.rows]

    with ProcessPool(locks, workers=1) as team:
        found = told(team, 6)
    assert found[4].startswith("TypeError: cannot pickle '_thread.lock' object")
    assert found[:4] + found[5:] == [0, 1, 2, 3, 5]


def test_a_program_that_cannot_be_executed_is_reported(monkeypatch):
    monkeypatch.setattr(processes, "get_executable", lambda: "/nowhere/python")
    with (
        ProcessPool(doubled, workers=2) as team,
        pytest.raises(WorkerError, match=r"can be started: FileNotFoundError: .*5 times in a row"),
    ):
        told(team, 10)


@pytest.fixture
def interruptible():
    """Let SIGINT raise KeyboardInterrupt: a shell that starts tests in the background ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_while_a_process_starts_leaves_no_process(monkeypatch):
    started = []

    def interrupted(*given):
        process = start(*given)
        started.append(process.pid)
        signal.raise_signal(signal.SIGINT)
        return process

    start = processes._start
    monkeypatch.setattr(processes, "_start", interrupted)
    with pytest.raises(KeyboardInterrupt), ProcessPool(doubled, workers=2) as team:
        try:
            team.submit(Piece(0, [1]))
        finally:
            assert team.pids == started
    assert len(started) == 1
    assert gone(started)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_while_processes_are_ended_leaves_no_process(monkeypatch):
    def interrupted(process):
        kill(process)
        signal.raise_signal(signal.SIGINT)

    kill = subprocess.Popen.kill
    team = ProcessPool(doubled, workers=3)
    for first in range(3):
        team.submit(Piece(first, [first]))
    pids = team.pids
    assert len(pids) == 3
    before = signal.getsignal(signal.SIGINT)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(subprocess.Popen, "kill", interrupted)
        team.close()
    assert gone(pids)
    assert signal.getsignal(signal.SIGINT) is before


def test_a_process_that_reads_nothing_holds_no_other_up():
    large = bytes(30_000_000)  # more than a socket holds

    def first_byte(piece):
        return [large[0] + row for row in piece.rows]

    with ProcessPool(first_byte, workers=1) as team:
        team.submit(Piece(0, [5]))
        [pid] = team.pids
        os.kill(pid, signal.SIGSTOP)
        assert team.wait(0.3) == []
        os.kill(pid, signal.SIGKILL)
        [done] = team.wait(300)
    assert done.result == [5]
    assert gone([pid])


def test_a_fork_does_not_end_the_processes_of_its_parent():
    with ProcessPool(doubled, workers=1) as team:
        team.submit(Piece(0, [1]))
        [done] = team.wait(300)
        pids = team.pids
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a process with threads is forked
            child = os.fork()
        if child == 0:
            team.close()
            os._exit(0)
        os.waitpid(child, 0)
        team.submit(Piece(1, [2]))
        [again] = team.wait(300)
        assert team.pids == pids
    assert (done.result, again.result) == ([2], [4])


ORPHANS = """
import ctypes, os, sys, time
from suffice.batch.process_pool import ProcessPool
from suffice.batch.workers import Piece

def hangs(piece):
    if piece.first:
        print(os.getpid(), flush=True)
        time.sleep(10**6)
    os.write(2, f"{os.getpid()}\\n".encode())
    ctypes.PyDLL(None).sleep(10**6)  # which holds the interpreter's lock

team = ProcessPool(hangs, workers=2)
for first in range(2):
    team.submit(Piece(first, [0]))
team.wait(10**6)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends native code")
def test_no_process_outlives_a_driver_that_was_killed():
    program = subprocess.Popen([sys.executable, "-c", ORPHANS], stderr=subprocess.PIPE, text=True)
    with program:
        pids = [int(program.stderr.readline()) for _ in range(2)]
        program.kill()
    assert gone(pids)
