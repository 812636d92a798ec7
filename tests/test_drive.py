"""Driving a team: every row is done once, whatever is lost; limits and signals stop it gently."""

import os
import signal
import threading
from collections import deque

import pytest
from hypothesis import given, strategies as st

from suffice.many.brake import Brake
from suffice.many.drive import drive
from suffice.many.team import Done, Here, Lost, Piece, RowsInHand
from tests.plain import FakeClock


class Scripted:
    """A team that loses what the script says: rows that end it, and pieces lost by chance."""

    def __init__(self, workers=2, deadly=(), chance=(), seconds=0.1):
        self.workers, self.deadly = workers, set(deadly)
        self.chance, self.seconds = deque(chance), seconds
        self.given, self.sizes, self.most = deque(), [], 0

    def submit(self, piece):
        self.given.append(piece)
        self.sizes.append(len(piece))
        self.most = max(self.most, len(self.given))

    def wait(self, seconds):
        # From the other end, so that results come in another order than they were given.
        piece = self.given.pop() if len(self.given) > 1 else self.given.popleft()
        if self.deadly & set(piece.rows):
            return [Lost(piece, "the process ended with signal 11", by_chance=True)]
        if self.chance and self.chance.popleft():
            return [Lost(piece, "the process ended with signal 9", by_chance=True)]
        return [Done(piece, [10 * row for row in piece.rows], self.seconds * len(piece))]


def gone(piece, lost):
    return [lost.reason]


def told(rows, team, **options):
    """What each row gave, in the order of rows; each exactly once."""
    found = {}
    for piece, result in drive(RowsInHand(list(range(rows))), team, failed=gone, **options):
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
    team = Scripted(workers, deadly, seconds=seconds)
    dead = "the process ended with signal 11"
    assert told(rows, team) == [dead if i in deadly else 10 * i for i in range(rows)]
    assert team.most <= 2 * workers


@given(st.integers(1, 200), st.lists(st.booleans(), max_size=30), st.integers(1, 3))
def test_workers_killed_by_chance_lose_nothing(rows, chance, workers):
    # A single row is given up when three workers in a row died of it: chance does not do that here.
    killed = [c and not (chance[i - 1] or chance[i - 2]) for i, c in enumerate(chance)]
    assert told(rows, Scripted(workers, chance=killed)) == [10 * i for i in range(rows)]


def test_pieces_grow_to_the_time_they_should_take_and_shrink_at_the_end():
    team = Scripted(workers=1, seconds=0.01)
    told(2000, team)
    assert team.sizes[0] == 2
    assert max(team.sizes) == 200
    assert team.sizes[-1] < 200
    slow = Scripted(workers=1, seconds=5)
    told(20, slow)
    assert set(slow.sizes[2:]) == {1}


def test_nothing_is_read_ahead_of_what_is_asked_for():
    taken = []

    class Counted(RowsInHand):
        def take(self, most):
            piece = super().take(most)
            taken.append(0 if piece is None else len(piece))
            return piece

    work = drive(Counted(list(range(1000))), Scripted(workers=2), failed=gone)
    next(work)
    assert sum(taken) <= 2 * 2 * 2


def test_a_limit_of_time_finishes_what_is_in_hand():
    clock = FakeClock()
    brake = Brake(time_limit=90, clock=clock)
    team = Scripted(workers=1)
    work = drive(RowsInHand(list(range(1000))), team, failed=gone, brake=brake)
    found = list(next(work)[1])
    clock.now += 100
    found += [value for _, result in work for value in result]
    assert brake.reason == "the time limit of 2 min was reached"
    assert sorted(found) == [10 * i for i in range(sum(team.sizes))]
    assert len(found) < 1000


def test_too_many_errors_stop_the_work_and_say_so():
    brake = Brake(max_errors=2)
    found = told(500, Scripted(deadly=range(0, 500, 3)), brake=brake)
    assert len(found) < 500
    assert brake.reason == "there were more than the 2 errors that max_errors allows"
    brake = Brake(max_errors=2)
    assert len(told(500, Scripted(deadly=[7, 300]), brake=brake)) == 500
    assert brake.reason is None


def test_errors_within_results_count():
    brake = Brake(max_errors=3)
    told(500, Scripted(), brake=brake, errors=lambda result: sum(v % 20 == 0 for v in result))
    assert brake.reason == "there were more than the 3 errors that max_errors allows"


def test_the_bar_is_told_of_rows_and_errors():
    heard = []

    class Bar:
        def update(self, n=1):
            heard.append(n)

        def set_postfix_str(self, s=""):
            heard.append(s)

    told(20, Scripted(deadly=[3]), bar=Bar())
    assert sum(n for n in heard if not isinstance(n, str)) == 20
    assert "1 error" in heard


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_finishes_what_is_in_hand_and_a_second_stops_at_once(number):
    said = []
    brake = Brake(say=said.append)
    before = signal.getsignal(number)
    with brake.heeding_signals():
        work = drive(RowsInHand(list(range(1000))), Scripted(), failed=gone, brake=brake)
        next(work)
        os.kill(os.getpid(), number)
        assert 0 < len(list(work)) < 50
        assert brake.reason == f"{number.name} asked to stop"
        assert said == [f"{number.name}: finishing what is in hand. Once more to stop at once."]
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)
    assert signal.getsignal(number) == before


def test_a_thread_that_is_not_the_main_one_leaves_signals_alone():
    before, seen = signal.getsignal(signal.SIGINT), []

    def work():
        with Brake().heeding_signals():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before]


def test_here_a_function_that_raises_costs_only_its_row():
    def picky(piece):
        return [1 // (row - 5) for row in piece.rows]

    with Here(picky) as team:
        found = told(10, team)
    assert found[5] == "ZeroDivisionError: integer division or modulo by zero"
    assert found[6] == 1


def test_a_piece_of_any_table_is_split_by_rows():
    pa, pd = pytest.importorskip("pyarrow"), pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": range(5)})
    for rows in (frame, pa.Table.from_pandas(frame), list(range(5))):
        parts = Piece(7, rows, "note").split(3)
        assert [(p.first, len(p), p.note) for p in parts] == [
            (7, 1, "note"),
            (8, 2, "note"),
            (10, 2, "note"),
        ]
        assert len(Piece(0, rows).split()) == 5
