"""Time limits are obeyed by every search, on a clock that moves only when the model is called."""

import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from suffice import Explainer, Explanation, Target
from suffice.context import make_players
from suffice.context.hybrids import SwapHybrids
from suffice.engines.blackbox import BlackBox
from suffice.progress import progress_bar
from suffice.search import LimitKeeper, Limits, Question, Stop, exhaustive_search
from suffice.search.greedy import greedy_search
from suffice.search.limits import LimitReached
from suffice.search.pruned import CurtailedEvaluation, pruned_search
from suffice.search.strategies import run_search
from suffice.tables import as_table
from suffice.target import Event
from tests.fakes import FakeClock, FunctionEvaluator, fake_time
from tests.soak.questions import CountedModel

SECONDS = 0.5
Timed = Question(limits=Limits(time_limit=SECONDS))


def majority(rows):
    return (np.asarray(rows) > 0.5).mean(axis=1) > 0.5


def timed(seconds, d=21, n=12):
    """A clock, its keeper, hybrids and an evaluator that takes so many seconds a row."""
    clock = FakeClock()
    x, references = np.ones(d), np.random.default_rng(0).random((n, d)) * 0.6
    pool = as_table(np.array([x, *references]))
    evaluator = FunctionEvaluator(majority, x, references, clock, seconds)
    keeper = LimitKeeper(Timed.limits, clock=clock)
    return clock, keeper, SwapHybrids(pool, make_players(pool)), evaluator


@pytest.mark.parametrize("strategy", ["exhaustive", "greedy", "pruned"])
@pytest.mark.parametrize("seconds", [1e-5, 1e-3, 5e-3, 20e-3])
def test_a_time_limit_is_kept_within_a_tenth_or_one_small_batch(strategy, seconds):
    clock, keeper, hybrids, evaluator = timed(seconds)
    found = run_search(strategy, evaluator, hybrids, Timed, keeper)
    small_batch = max(16, hybrids.n) * seconds
    assert clock.now <= SECONDS + max(0.1 * SECONDS, small_batch)
    assert clock.now >= 0.8 * SECONDS - small_batch
    assert found.stopped == Stop("time_limit", SECONDS)


@pytest.mark.parametrize("strategy", ["exhaustive", "greedy", "pruned"])
def test_half_for_one_part_is_reported_as_the_limit_that_was_given(strategy):
    clock, keeper, hybrids, evaluator = timed(1e-3)
    found = run_search(strategy, evaluator, hybrids, Timed, keeper.part(0.5))
    assert str(found.stopped) == "time_limit=0.5 s"
    assert clock.now <= 0.6 * SECONDS


@pytest.mark.parametrize("strategy", ["exhaustive", "pruned"])
def test_after_its_time_nothing_is_predicted(strategy):
    clock, keeper, hybrids, evaluator = timed(1e-3)
    clock.now = 9.0
    found = run_search(strategy, evaluator, hybrids, Timed, keeper)
    assert evaluator.rows_predicted == 0
    assert found.stopped == Stop("time_limit", SECONDS)
    assert found.keep.tally.visited == 0
    assert found.keep.minimal_at(0.9) == []


@pytest.mark.parametrize("strategy", ["anytime", "greedy"])
def test_after_its_time_one_set_of_each_view_is_verified_and_no_more(strategy):
    clock, keeper, hybrids, evaluator = timed(1e-3)
    clock.now = 9.0
    found = run_search(strategy, evaluator, hybrids, Timed, keeper)
    assert evaluator.rows_predicted == 2 * hybrids.n  # all held, all replaced
    assert found.stopped == Stop("time_limit", SECONDS)
    assert [f.hits for f in found.keep.findings.factors] == [hybrids.n]
    assert [f.hits for f in found.flip_findings.factors] == [hybrids.n]


class SlowEngine(FunctionEvaluator):
    """An engine that takes its time, as with trees whose compiled kernels are not loaded."""

    def sweep(self):
        raise AssertionError("so wide a lattice is not swept")

    sweep_counts = sweep_work = bound_cubes = sweep

    def leverage(self):
        raise AssertionError("no time is left for bounds")


@pytest.mark.parametrize("strategy", ["anytime", "greedy"])
def test_first_sets_of_a_slow_engine_keep_the_time_limit(strategy):
    clock, keeper, hybrids, _ = timed(0.0)
    references = np.random.default_rng(0).random((hybrids.n, hybrids.d)) * 0.6
    two_sets = SECONDS / (2 * hybrids.n)
    engine = SlowEngine(majority, np.ones(hybrids.d), references, clock, two_sets)
    found = run_search(strategy, engine, hybrids, Timed, keeper)
    assert clock.now <= 2 * SECONDS
    assert found.stopped == Stop("time_limit", SECONDS)
    assert found.keep.findings.factors and found.flip_findings.factors


def test_what_was_visited_in_time_is_exact_and_necessity_is_estimated():
    clock = FakeClock()
    x, references = np.ones(64), np.zeros((11, 64))
    evaluator = FunctionEvaluator(lambda rows: rows[:, 3].astype(int), x, references, clock, 1e-5)
    keeper = LimitKeeper(Timed.limits, clock=clock)
    sweep = exhaustive_search(evaluator, 64, Timed, keeper)
    assert sweep.tally.exhaustive_size >= 1
    assert sweep.tally.hits((3,)) == 11 and sweep.tally.hits((4,)) == 0
    assert len(sweep.draws.outcomes) > 100
    assert (sweep.draws.outcomes == sweep.draws.held[:, 3]).all()


def test_a_set_that_takes_too_long_is_given_up():
    """One set alone takes longer than there is: the evaluator tells how far it is, and is ended."""
    clock = FakeClock()

    class Ticking(FunctionEvaluator):
        def outcomes(self, held, tick=None):
            for _ in range(self.n):
                clock.now += 0.01
                tick(1 / self.n)
            raise AssertionError("nobody ended this")

    evaluator = Ticking(majority, np.ones(5), np.zeros((100, 5)))
    keeper = LimitKeeper(Timed.limits, clock=clock)
    sweep = exhaustive_search(evaluator, 5, Timed, keeper)
    assert sweep.stopped == Stop("time_limit", SECONDS)
    assert sweep.tally.visited == 0
    assert clock.now <= 1.1 * SECONDS


def test_a_black_box_calls_a_slow_model_with_rows_that_fit():
    calls = []

    class Slow:
        seconds_per_row = 5e-3
        classes = (False, True)

        def predict(self, rows):
            calls.append(len(rows))
            return np.zeros(len(rows), dtype=bool)

    pool = as_table(np.random.default_rng(0).random((101, 6)))
    target = Target(Slow(), Event("yes", "no", lambda labels: labels))
    hybrids = SwapHybrids(pool, make_players(pool))
    limits = Limits(time_limit=1.0)
    box = BlackBox(target, hybrids, y=True, distinct=False, patience=limits.batch_seconds)
    ticked = []
    box.outcomes(np.eye(6, dtype=bool), ticked.append)
    assert calls[0] == 10  # a twentieth of the limit
    assert np.isclose(sum(ticked), 1.0)
    assert BlackBox(target, hybrids, y=True).outcomes(np.eye(6, dtype=bool)).shape == (6, 100)
    assert max(calls) > 100


@pytest.mark.parametrize("per_row", [1e-6, 1e-5])
def test_calls_that_cost_much_for_any_number_of_rows_stay_large(monkeypatch, per_row):
    """A forest of 100 trees takes 12 ms for one row, and hardly more for a hundred."""
    clock, calls = fake_time(monkeypatch), []

    def model(rows):
        calls.append(len(rows))
        clock.now += 12e-3 + per_row * len(rows)
        return (rows.sum(axis=1) > 15).astype(int)

    data = np.random.default_rng(0).random((1000, 30))
    explainer, n = Explainer(model, data, n_references=500), 500
    for row in data[:3]:
        calls.clear()
        started = clock.now
        e = explainer.explain(row, time_limit=0.1)
        assert clock.now - started <= 0.15
        assert e.keep.factors and e.flip.factors
        assert len(calls) <= 10 and np.median(calls) >= n / 10


def test_a_pruned_search_numbers_in_advance_what_its_time_has_room_for():
    """819,200 hybrids take a second to number, before the first row is asked."""
    _, keeper, hybrids, evaluator = timed(1e-3, d=12, n=200)
    long = LimitKeeper(Limits(time_limit=100.0))
    at_once = [
        CurtailedEvaluation(evaluator, hybrids, 180, given).hybrids_at_once
        for given in (LimitKeeper(), keeper, long)
    ]
    assert at_once == [2 * 819_200, 1 << 20, 2 * 819_200]


def test_a_pruned_search_that_is_stopped_keeps_what_it_decided():
    clock = FakeClock()
    d = 12
    x, references = np.ones(d), np.zeros((40, d))
    references[:, 5:] = np.random.default_rng(0).random((40, d - 5)) * 0.6
    pool = as_table(np.array([x, *references]))
    hybrids = SwapHybrids(pool, make_players(pool))

    def first_three(rows):
        return np.asarray(rows)[:, :3].sum(axis=1) > 1.5

    evaluator = FunctionEvaluator(first_three, x, references, clock, seconds=1e-3)
    keeper = LimitKeeper(Limits(time_limit=4.0), clock=clock)
    found = run_search("pruned", evaluator, hybrids, Question(limits=keeper.limits), keeper)
    assert found.stopped == Stop("time_limit", 4.0)
    findings = found.keep.findings
    assert [f.members for f in findings.factors] == [(0, 1), (0, 2), (1, 2)]
    assert findings.decided_size >= 2
    assert 0.5 < findings.decided_share < 1  # half of all sets hold two of the three
    assert clock.now <= 4.4


@pytest.mark.parametrize("search", ["exhaustive", "greedy", "pruned"])
def test_an_age_is_a_time_limit_too(search):
    data = np.random.default_rng(0).random((30, 6))
    explainer = Explainer(lambda rows: (rows[:, 0] > 0.5).astype(int), data)
    e = explainer.explain(data[0], search=search, time_limit=1e308)
    assert [f.features for f in e.keep.factors] == [("x0",)]
    e = explainer.explain(data[0], search=search, time_limit=1e-9)
    assert e.stopped == Stop("time_limit", 1e-9)
    assert "time_limit=1e-09 s" in " ".join(str(e).split())
    assert e.keep.necessity_baseline is None  # not even one hybrid was drawn
    assert Explanation.from_json(e.to_json()) == e


@pytest.mark.parametrize("search", ["auto", "exhaustive", "greedy", "pruned", "bounds"])
@pytest.mark.parametrize("alpha", [None, 0.05])
def test_views_have_a_verified_set_however_short_the_time(search, alpha):
    data = np.random.default_rng(0).random((150, 14))
    linear = LogisticRegression().fit(data, data @ np.linspace(1, 2, 14) > 10.5)
    counted = CountedModel(linear)
    model = linear if search == "bounds" else counted
    explainer = Explainer(model, data, n_references=40)
    before = counted.rows
    e = explainer.explain(data[0], search=search, time_limit=1e-9, alpha=alpha)
    assert e.stopped.kind == "time_limit"
    assert e.keep.factors and e.flip.factors
    for view in (e.keep, e.flip):
        assert all(f.sufficiency >= 0.9 for f in view.factors)
        assert str(view)
    assert Explanation.from_json(e.to_json()) == e
    if model is counted:
        assert counted.rows - before == e.provenance.rows_predicted
    e = explainer.explain(data[0], search="exhaustive", time_limit=1e-9, max_size=13)
    assert e.keep.factors == e.flip.factors == ()  # so large a set was not asked for


# -- the keeper itself -----------------------------------------------------------------------------


def test_reading_a_keeper_changes_nothing():
    clock = FakeClock()
    keeper = LimitKeeper(Limits(budget=100, time_limit=2.0), clock=clock)
    for _ in range(3):
        assert keeper.forbids(100) is None
        assert keeper.forbids(101) == Stop("budget", 100)
        assert keeper.batch(1000) == 16
        assert keeper.rows_left == 100
    clock.now = 2.0
    assert keeper.forbids(0) == Stop("time_limit", 2.0)
    assert keeper.batch(1000) == 0


def test_parts_share_the_books_and_name_the_limit_that_was_given():
    keeper = LimitKeeper(Limits(budget=2000))
    first = keeper.part(0.5)
    first.note(rows=1000)
    assert first.forbids() == Stop("budget", 2000)
    assert str(first.forbids()) == "budget=2000 model rows"
    assert keeper.forbids() is None
    assert keeper.rows_left == 1000
    assert keeper.part(0.5).rows_left == 500
    assert keeper.reserving(300).rows_left == 700


def test_hybrids_that_cost_no_row_are_bounded_by_the_budget_too():
    keeper = LimitKeeper(Limits(budget=5))
    keeper.cover(4999)
    assert keeper.forbids(1) is None
    keeper.cover(1)
    assert keeper.forbids(1) == Stop("hybrids", 5)
    assert str(keeper.forbids(1)) == "budget=5 model rows, at most 1,000 hybrids for each"
    with pytest.raises(LimitReached, match="budget=5"):
        keeper.check()


def test_batches_grow_to_a_small_part_of_the_time():
    clock = FakeClock()
    keeper = LimitKeeper(Limits(time_limit=20.0), clock=clock)
    evaluator = FunctionEvaluator(majority, np.ones(3), np.zeros((4, 3)), clock, seconds=1e-3)
    held, references = np.zeros((5000, 3), dtype=bool), np.zeros(5000, dtype=int)
    assert len(keeper.ask(evaluator, held, references)) == 5000
    assert evaluator.largest == 1000  # a twentieth of 20 s, at a thousand rows a second
    assert keeper.rows == 5000
    known = LimitKeeper(Limits(time_limit=20.0), clock=clock)
    evaluator.seconds_per_hybrid = lambda: 0.1
    known.expect(evaluator)
    assert known.batch(1 << 20) == 10


def test_without_a_time_limit_no_search_reads_the_clock():
    def broken():
        raise AssertionError

    keeper = LimitKeeper(Limits(budget=10_000), clock=broken, started=0.0)
    evaluator = FunctionEvaluator(majority, np.ones(3), np.zeros((4, 3)))
    exhaustive_search(evaluator, 3, Question(limits=Limits(budget=10_000)), keeper)
    greedy_search(evaluator, 3, "keep", Question(), keeper)
    pool = as_table(np.array([np.ones(3), *np.zeros((4, 3))]))
    pruned_search(evaluator, SwapHybrids(pool, make_players(pool)), Question(), keeper)


# -- progress --------------------------------------------------------------------------------------


class Recorded:
    """Bars in place of the real one: what each was asked to show, and how far it came."""

    def __init__(self):
        self.bars = []

    def __call__(self, what, total=None, progress=None):
        self.bars.append([what, total, progress, 0.0])
        return self

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False

    def update(self, n=1):
        self.bars[-1][3] += n


def test_progress_can_be_shown_and_silenced(monkeypatch):
    recorded = Recorded()
    monkeypatch.setattr("suffice.search.exhaustive.progress_bar", recorded)
    data = np.random.default_rng(0).random((40, 6))
    explainer = Explainer(lambda rows: (rows.sum(axis=1) > 3).astype(int), data, engine="blackbox")
    for progress in (None, True, False):
        e = explainer.explain(data[0], progress=progress)
        what, total, shown, done = recorded.bars[-1]
        assert (what, total, shown) == ("hybrids", e.provenance.n_references << 6, progress)
        assert np.isclose(done, total)


def test_a_bar_is_drawn_after_a_second_and_where_it_is_wanted(monkeypatch, capsys):
    clock = FakeClock()
    monkeypatch.setattr("tqdm.std.time", clock)
    for progress, seconds, drawn in ((True, 2, True), (True, 0.5, False), (False, 2, False)):
        with progress_bar("rows", 10, progress=progress) as bar:
            clock.now += seconds
            bar.update(5)
        assert ("rows" in capsys.readouterr().err) == drawn


def test_an_interrupt_says_that_nothing_is_kept_and_how_a_search_ends_by_itself():
    data = pd.DataFrame(np.random.default_rng(0).integers(0, 2, (20, 4)), columns=list("abcd"))
    interrupt = False

    def model(rows):
        if interrupt:
            raise KeyboardInterrupt
        return rows["a"] + rows["b"] > 0

    explainer = Explainer(model, data)
    interrupt = True
    for ask in (explainer.explain, explainer.recourse):
        with pytest.raises(KeyboardInterrupt, match=r"nothing is kept .* a budget, max_size or"):
            ask(data.iloc[0])


def test_a_script_that_is_interrupted_prints_a_sentence_and_no_traceback(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import os, signal, pandas as pd\n"
        "from suffice import Explainer\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "data, pressed = pd.DataFrame({'a': [0, 1], 'b': [0, 1]}), False\n"
        "def model(rows):\n"
        "    if pressed:\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "    return rows['a'] > 0\n"
        "explainer, pressed = Explainer(model, data), True\n"
        "CALL\n"
    )
    call, other = "explainer.explain(data.iloc[0])", "raise KeyboardInterrupt('of the script')"
    code = script.read_text()
    ends = []
    for line in (call, f"try: {call}\nexcept KeyboardInterrupt: {other}"):
        script.write_text(code.replace("CALL", line))
        ends.append(subprocess.run([sys.executable, script], capture_output=True, text=True))
    ours, theirs = ends
    assert ours.stderr.startswith("interrupted: nothing is kept of this search; with a budget")
    assert ours.stderr.count("\n") == 1
    assert theirs.stderr.endswith("KeyboardInterrupt: of the script\n")
    assert "Traceback" in theirs.stderr
    # Ended by the signal, as shells expect of an interrupted program.
    assert ours.returncode == theirs.returncode == -signal.SIGINT
