"""Budgets, time limits and size limits: obeyed, and said plainly."""

import time

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

from suffice import Explainer, Explanation, InputError
from suffice.search.limits import EXHAUSTIVE_PLAYERS
from tests.worlds import minimal_by_definition, subsets, taus, two_sided, worlds


class Counting:
    """A model that counts the rows it is asked about, and may be slow."""

    def __init__(self, seconds_per_row=0.0):
        self.rows = 0
        self.largest = 0
        self.seconds = seconds_per_row

    def __call__(self, rows):
        self.rows += len(rows)
        self.largest = max(self.largest, len(rows))
        if self.seconds:
            time.sleep(self.seconds * len(rows))
        return (rows.sum(axis=1) > rows.shape[1] / 2).astype(int)


def wide(d, n=40, seed=0):
    """Numbers, so that hardly two hybrids are the same row."""
    return np.random.default_rng(seed).random((n, d))


@given(worlds(), taus, st.integers(1, 3))
def test_a_bounded_search_is_right_about_what_it_searched(world, tau, max_size):
    assume(two_sided(world))
    e = world.explainer().explain(world.x, tau=tau, max_size=max_size)
    n = len(world.references)
    for view, count in ((e.keep, world.keeps), (e.flip, world.flips)):
        share = {s: count(s) / n for s in subsets(world.d)}
        true = {tuple(f"x{j}" for j in s) for s in minimal_by_definition(share, tau)}
        assert {f.features for f in view.factors} == {f for f in true if len(f) <= max_size}
    assert e.complete == (max_size >= world.d)
    assert (e.stopped is None) == (max_size >= world.d)
    assert Explanation.from_json(e.to_json()) == e


@given(worlds(), taus, st.integers(2, 60))
def test_a_budget_is_never_exceeded_and_never_misleads(world, tau, budget):
    assume(two_sided(world) and budget >= 2 * len(world.references))
    e = world.explainer().explain(world.x, tau=tau, budget=budget)
    assert e.provenance.rows_predicted <= budget
    full = world.explainer().explain(world.x, tau=tau)
    for part, whole in ((e.keep, full.keep), (e.flip, full.flip)):
        assert {f.features for f in part.factors} <= {f.features for f in whole.factors}
        size = part.tally.exhaustive_size
        assert {f.features for f in whole.factors if f.size <= size} <= {
            f.features for f in part.factors
        }
    assert e.complete == (e.unvisited == 0)
    assert (e.stopped is None) == e.complete


def test_a_budget_counts_what_the_model_is_asked():
    model = Counting()
    data = wide(12)
    explainer = Explainer(model, data)
    before = model.rows
    e = explainer.explain(data[0], budget=5000)
    # One row is the input's own prediction; the sweep is what is budgeted.
    assert model.rows - before - 1 == e.provenance.rows_predicted <= 5000
    assert str(e.stopped) == "budget=5000 model rows"
    assert not e.complete
    assert 0 < e.unvisited < 2**12
    low, high = e.keep.necessity_interval
    assert low <= e.keep.necessity <= high


def test_a_time_limit_is_obeyed_within_a_batch():
    model = Counting(seconds_per_row=20e-6)
    data = wide(14)
    started = time.perf_counter()
    e = Explainer(model, data).explain(data[0], time_limit=1.0)
    assert time.perf_counter() - started < 2.0
    assert str(e.stopped) == "time_limit=1 s"
    assert e.keep.tally.exhaustive_size >= 1


def test_memory_is_bounded_by_the_batch():
    model = Counting()
    data = wide(16)
    e = Explainer(model, data).explain(data[0])
    assert e.complete
    assert model.largest * 16 <= 1 << 22
    assert e.provenance.hybrids == e.provenance.n_references << 16


def test_many_features_need_a_bound_and_work_with_one():
    d = EXHAUSTIVE_PLAYERS + 40
    data = wide(d, n=12)
    data[:, 3] = np.arange(12) % 2

    def model(rows):
        return rows[:, 3].round().astype(int)

    explainer = Explainer(model, data)
    with pytest.raises(
        InputError, match=rf"{d} features, so 2\^{d} subsets.*max_size.*groups.*budget"
    ):
        explainer.explain(data[0])
    for bound in ({"max_size": 2}, {"budget": 4000}, {"time_limit": 0.3}):
        e = explainer.explain(data[0], **bound)
        assert [f.features for f in e.keep.factors] == [("x3",)]
        assert [f.features for f in e.flip.factors] == [("x3",)]
        assert not e.complete
        assert e.keep.necessity > 0.99
        assert np.isclose(e.keep.necessity_of("x0"), 0.5, atol=0.1)
        assert e.keep.necessity_of("x0", upward_closure=False) == 0.0
        assert Explanation.from_json(e.to_json()) == e


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        ({"max_size": 0}, "max_size: got 0; allowed: None or a whole number >= 1"),
        ({"max_size": 1.5}, "max_size: got 1.5"),
        ({"budget": -5}, "budget: got -5; allowed: None or a whole number >= 1"),
        ({"budget": "100"}, "budget: got '100'"),
        ({"budget": float("inf")}, "budget: got inf"),
        ({"budget": 3}, "budget: got 3 rows; allowed: at least .* set.s. per view.*n_references"),
        ({"time_limit": "soon"}, "time_limit: got 'soon'; allowed: None or a positive number"),
    ],
)
def test_limits_that_cannot_be_meant(limit, message):
    data = wide(4)
    with pytest.raises(InputError, match=message):
        Explainer(Counting(), data).explain(data[0], **limit)


def test_the_smallest_budget_still_answers_in_both_views():
    data = wide(6)
    explainer = Explainer(Counting(), data)
    n = explainer.explain(data[0]).provenance.n_references
    e = explainer.explain(data[0], budget=2 * n)
    assert not e.complete
    assert e.provenance.rows_predicted <= 2 * n
    assert e.keep.tally.exhaustive_size == e.flip.tally.exhaustive_size == 0
    assert e.keep.necessity is None
    assert e.keep.necessity_interval is None
    assert e.keep.everything.sufficiency == 1.0
    assert "Necessity was not estimated." in str(e)


def test_a_slow_model_is_not_asked_past_its_time():
    data = wide(14)
    explainer = Explainer(Counting(seconds_per_row=1e-3), data)
    started = time.perf_counter()
    e = explainer.explain(data[0], time_limit=0.5)
    assert time.perf_counter() - started < 2.0  # it once took 17 s
    assert str(e.stopped) == "time_limit=0.5 s"


def test_progress_can_be_shown_and_silenced(capsys):
    data = wide(10)
    explainer = Explainer(Counting(seconds_per_row=60e-6), data)
    explainer.explain(data[0], progress=False)
    explainer.explain(data[0])
    assert "hybrids" not in capsys.readouterr().err  # not a terminal: no bar unless asked for
    explainer.explain(data[0], progress=True)
    assert "hybrids" in capsys.readouterr().err
