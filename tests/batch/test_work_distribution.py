"""`run_pieces`: every row runs once whatever is lost; limits and signals stop the loop."""

import os
import signal
import threading
from collections import deque

import pytest
from hypothesis import given, strategies as st

from suffice import InputError
from suffice.batch.workers import (
    CompletedPiece,
    LocalWorker,
    LostPiece,
    Piece,
    RowsInMemory,
    RunStopper,
    run_pieces,
)
from tests.fakes import FakeClock


class ScriptedWorkers:
    """Workers that lose chosen pieces: those with deadly rows, and those lost by chance."""

    def __init__(self, workers=2, deadly=(), chance=(), seconds=0.1):
        self.n_workers, self.deadly = workers, set(deadly)
        self.chance, self.seconds = deque(chance), seconds
        self.queue, self.sizes, self.most = deque(), [], 0

    def submit(self, piece):
        self.queue.append(piece)
        self.sizes.append(len(piece))
        self.most = max(self.most, len(self.queue))

    def wait(self, seconds):
        # From the other end, so that results come back in another order.
        piece = self.queue.pop() if len(self.queue) > 1 else self.queue.popleft()
        if self.deadly & set(piece.rows):
            return [LostPiece(piece, "the process ended with signal 11", retryable=True)]
        if self.chance and self.chance.popleft():
            return [LostPiece(piece, "the process ended with signal 9", retryable=True)]
        return [CompletedPiece(piece, [10 * row for row in piece.rows], self.seconds * len(piece))]


def reason_as_result(piece, lost):
    return [lost.reason]


def results_by_row(rows, workers, **options):
    """Return the result of each row in order, after checking that each row came back once."""
    found = {}
    for piece, result in run_pieces(
        RowsInMemory(list(range(rows))), workers, failed=reason_as_result, **options
    ):
        assert len(piece) == len(result)
        for number, value in enumerate(result, piece.first):
            assert number not in found
            found[number] = value
    return [found[i] for i in sorted(found)]


@given(
    st.integers(1, 300),
    st.integers(1, 4),
    st.sets(st.integers(0, 299), max_size=4),
    st.floats(1e-4, 20),
)
def test_every_row_comes_back_once_and_only_deadly_ones_fail(rows, workers, deadly, seconds):
    scripted = ScriptedWorkers(workers, deadly, seconds=seconds)
    dead = "the process ended with signal 11"
    assert results_by_row(rows, scripted) == [dead if i in deadly else 10 * i for i in range(rows)]
    assert scripted.most <= 2 * workers


@given(st.integers(1, 200), st.lists(st.booleans(), max_size=30), st.integers(1, 3))
def test_workers_killed_by_chance_lose_nothing(rows, chance, workers):
    # A single row is given up after three deaths in a row, which do not occur by chance here.
    killed = [c and not (chance[i - 1] or chance[i - 2]) for i, c in enumerate(chance)]
    assert results_by_row(rows, ScriptedWorkers(workers, chance=killed)) == [
        10 * i for i in range(rows)
    ]


def test_pieces_grow_to_the_target_duration_and_shrink_at_the_end():
    scripted = ScriptedWorkers(workers=1, seconds=0.01)
    results_by_row(2000, scripted)
    assert scripted.sizes[0] == 2
    assert max(scripted.sizes) == 200
    assert scripted.sizes[-1] < 200
    slow = ScriptedWorkers(workers=1, seconds=5)
    results_by_row(20, slow)
    assert set(slow.sizes[2:]) == {1}


def test_at_most_two_pieces_per_worker_are_read_ahead():
    taken = []

    class Counted(RowsInMemory):
        def take(self, most):
            piece = super().take(most)
            taken.append(0 if piece is None else len(piece))
            return piece

    work = run_pieces(
        Counted(list(range(1000))), ScriptedWorkers(workers=2), failed=reason_as_result
    )
    next(work)
    assert sum(taken) <= 2 * 2 * 2


def test_a_time_limit_finishes_running_pieces():
    clock = FakeClock()
    stopper = RunStopper(stop_after=90, clock=clock)
    scripted = ScriptedWorkers(workers=1)
    work = run_pieces(
        RowsInMemory(list(range(1000))), scripted, failed=reason_as_result, stopper=stopper
    )
    found = list(next(work)[1])
    clock.now += 100
    found += [value for _, result in work for value in result]
    assert stopper.reason == "the time limit of 2 min was reached"
    assert sorted(found) == [10 * i for i in range(sum(scripted.sizes))]
    assert len(found) < 1000


def test_too_many_errors_stop_the_run_with_a_reason():
    stopper = RunStopper(max_errors=2)
    found = results_by_row(500, ScriptedWorkers(deadly=range(0, 500, 3)), stopper=stopper)
    assert len(found) < 500
    assert stopper.reason == "more than 2 rows ended in an error"
    stopper = RunStopper(max_errors=2)
    assert len(results_by_row(500, ScriptedWorkers(deadly=[7, 300]), stopper=stopper)) == 500
    assert stopper.reason is None


def test_errors_within_results_are_counted():
    stopper = RunStopper(max_errors=3)
    results_by_row(
        500,
        ScriptedWorkers(),
        stopper=stopper,
        errors=lambda result: sum(v % 20 == 0 for v in result),
    )
    assert stopper.reason == "more than 3 rows ended in an error"


def test_the_progress_bar_shows_rows_and_errors():
    shown = []

    class Bar:
        def update(self, n=1):
            shown.append(n)

        def set_postfix_str(self, s=""):
            shown.append(s)

    results_by_row(20, ScriptedWorkers(deadly=[3]), bar=Bar())
    assert sum(n for n in shown if not isinstance(n, str)) == 20
    assert "1 error" in shown


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_finishes_running_pieces_and_a_second_one_stops_at_once(number):
    messages = []
    stopper = RunStopper(on_signal=messages.append)
    before = signal.getsignal(number)
    with stopper.handle_signals():
        work = run_pieces(
            RowsInMemory(list(range(1000))),
            ScriptedWorkers(),
            failed=reason_as_result,
            stopper=stopper,
        )
        next(work)
        os.kill(os.getpid(), number)
        assert 0 < len(list(work)) < 50
        assert (stopper.signal, stopper.reason) == (number, f"{number.name} was received")
        assert messages == [
            f"{number.name}: the rows that are running will be finished. Repeat to stop at once."
        ]
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)
    assert signal.getsignal(number) == before


def test_only_the_main_thread_changes_signal_handlers():
    before, seen = signal.getsignal(signal.SIGINT), []

    def work():
        with RunStopper().handle_signals():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before]


def test_an_exception_in_this_process_costs_only_its_row():
    def picky(piece):
        return [1 // (row - 5) for row in piece.rows]

    with LocalWorker(picky) as worker:
        found = results_by_row(10, worker)
    assert found[5] == "ZeroDivisionError: integer division or modulo by zero"
    assert found[6] == 1


def test_a_piece_of_any_table_is_split_by_rows():
    pa, pd = pytest.importorskip("pyarrow"), pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": range(5)})
    for rows in (frame, pa.Table.from_pandas(frame), list(range(5))):
        parts = Piece(7, rows, "question").split(3)
        assert [(p.first, len(p), p.context_data) for p in parts] == [
            (7, 1, "question"),
            (8, 2, "question"),
            (10, 2, "question"),
        ]
        assert len(Piece(0, rows).split()) == 5


def test_a_signal_during_the_time_limit_sets_the_exit_signal():
    """The reason of a stop is text for the user: callers read the signal from its own field."""
    stopper = RunStopper(stop_after=1, clock=FakeClock())
    stopper.stop("the disk is full")
    assert stopper.signal is None
    with stopper.handle_signals():
        os.kill(os.getpid(), signal.SIGTERM)
    assert stopper.signal == signal.SIGTERM


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"stop_after": 0}, "stop_after: got 0; allowed: None or seconds > 0"),
        ({"max_errors": -1}, "max_errors: got -1; allowed: None or a whole number >= 0"),
    ],
)
def test_impossible_limits_are_refused(limits, message):
    with pytest.raises(InputError, match=message):
        RunStopper(**limits)
