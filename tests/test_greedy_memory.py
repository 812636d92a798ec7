"""A greedy search asks nothing twice, and says that it is complete when it has seen everything."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from suffice import Explainer
from suffice.context import make_players
from suffice.context.swap import SwapHybrids
from suffice.evaluate.blackbox import BlackBox
from suffice.evaluate.remembered import Remembered
from suffice.search import LimitKeeper, Question, run_sweep
from suffice.search.greedy import Memo, greedy_search, memo as memo_module
from suffice.search.profile import Profile
from suffice.search.strategy import answer
from suffice.tables import as_table
from suffice.target import Event, Target
from tests.effort import examples
from tests.plain import Plain
from tests.worlds import taus, worlds


class Recording:
    """A model that remembers every row it is asked about."""

    classes = (0, 1)
    seconds_per_row = None

    def __init__(self, predict):
        self.asked = []
        self._predict = predict

    def predict(self, rows):
        self.asked += map(tuple, np.asarray(rows.native).tolist())
        return self._predict(rows.native)


def setting(predict, x, references):
    model = Recording(predict)
    pool = as_table(np.array([x, *references]))
    hybrids = SwapHybrids(pool, make_players(pool))
    y = predict(np.array([x]))[0]
    target = Target(model, Event("y", "not y", lambda labels: labels == y))
    return model, hybrids, BlackBox(target, hybrids, True, distinct=True)


class Sets(Plain):
    """Remembers the sets and references it was asked about, as they were asked."""

    def __init__(self, *given):
        super().__init__(*given)
        self.asked = []

    def outcomes_of(self, held, references):
        self.asked += zip(map(bytes, np.packbits(held, axis=1)), references.tolist(), strict=True)
        return super().outcomes_of(held, references)


@st.composite
def wider_worlds(draw, values=3):
    """Up to ten players, by a seed: what a world of that size has cannot be drawn cell by cell."""
    d, n = draw(st.integers(1, 10)), draw(st.integers(1, 9))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    rows = rng.integers(0, values, (n + 1, d))
    effects, order = rng.normal(size=(d, values)), draw(st.integers(1, 3))

    def predict(rows):
        score = effects[np.arange(d), np.asarray(rows, dtype=int)]
        return (np.abs(score.sum(axis=1)) % order > order / 3).astype(int)

    return predict, rows[0], rows[1:]


def by_counting(hybrids, evaluator, question):
    tally = run_sweep(evaluator, hybrids.d).tally
    return tuple(
        {m.members: m.hits for m in Profile.of(counts, question).minimal_at(question.tau)}
        for counts in (tally, tally.other_view())
    )


def assert_true(greedy, world, view, question):
    _, hybrids, evaluator = setting(*world)
    keep, flip = by_counting(hybrids, evaluator, question)
    true = keep if view == "keep" else flip
    assert greedy.findings.decided == (greedy.stopped is None)
    if greedy.findings.decided:
        assert {f.members: f.hits for f in greedy.findings.factors} == true
    for factor in greedy.findings.factors:
        if factor.proof == "exhaustive":
            assert true[factor.members] == factor.hits


@given(wider_worlds(), taus, st.sampled_from([None, 0.3]), st.integers(0, 3))
@settings(max_examples=examples(30))
def test_no_row_is_asked_twice_and_what_is_complete_is_what_counting_gives(world, tau, alpha, seed):
    question = Question(tau, alpha, seed=seed)
    model, hybrids, evaluator = setting(*world)
    found = answer("greedy", evaluator, hybrids, question, LimitKeeper())
    assert len(set(model.asked)) == len(model.asked)
    _, hybrids, counting = setting(*world)
    true = by_counting(hybrids, counting, question)
    assert len(model.asked) <= counting.rows_predicted
    flip = found.keep.__class__.of(
        found.keep.tally.other_view(), question, None, found.flip_findings
    )
    for profile, minimal in zip((found.keep, flip), true, strict=True):
        mine = {m.members: m for m in profile.minimal_at(tau)}
        near = alpha is not None  # a bound may differ from the test by rounding
        for members, factor in mine.items():
            if factor.proof == "exhaustive" and not near:
                assert minimal[members] == factor.hits
        if profile.complete and not near:
            assert mine.keys() == minimal.keys()
    if found.stopped is None:
        assert found.keep.complete and flip.complete


@given(wider_worlds(), taus, st.sampled_from(["keep", "flip"]))
@settings(max_examples=examples(30))
def test_with_starts_without_end_all_is_seen_or_it_says_that_it_is_not(world, tau, view):
    predict, x, references = world
    evaluator = Sets(predict, x, references)
    d, n = len(x), len(references)
    greedy = greedy_search(evaluator, d, view, Question(tau), starts=500)
    assert_true(greedy, world, view, Question(tau))
    assert len({held for held, _ in evaluator.asked}) <= 1 << d
    assert evaluator.rows_predicted <= (n << d) + n * (1 << d) // 8


@given(worlds(), taus, st.integers(0, 3))
def test_what_one_view_asked_the_other_knows(world, tau, seed):
    evaluator = Sets(world.model, world.x, world.references)
    question = Question(tau, seed=seed)
    memo = Memo(evaluator, world.d, seed)
    for view in ("keep", "flip"):
        greedy_search(evaluator, world.d, view, question, memo=memo)
    # Single hybrids that show who is strong come besides: at most an eighth of all.
    most = len(world.references) << world.d
    assert evaluator.rows_predicted <= most + most // 8
    assert len({held for held, _ in evaluator.asked}) <= 1 << world.d


@given(worlds(), taus, st.integers(0, 3))
def test_what_a_sweep_counted_is_not_asked_again(world, tau, seed):
    evaluator = Sets(world.model, world.x, world.references)
    sweep = run_sweep(evaluator, world.d)
    asked = evaluator.rows_predicted
    memo = Memo(evaluator, world.d, seed, sweep)
    memo.effects = lambda _: (np.zeros(world.d), np.ones(world.d))
    for view, count in (("keep", world.keeps), ("flip", world.flips)):
        greedy = greedy_search(evaluator, world.d, view, Question(tau, seed=seed), memo=memo)
        assert greedy.findings.decided
        assert all(f.hits == count(f.members) for f in greedy.findings.factors)
    assert evaluator.rows_predicted == asked


@given(wider_worlds(), st.sampled_from(["keep", "flip"]), st.integers(0, 3))
@settings(max_examples=examples(30))
def test_a_memo_that_must_forget_still_tells_the_truth(world, view, seed):
    predict, x, references = world
    memo = Memo(Plain(predict, x, references), len(x), seed)
    memo.most = 3
    question = Question(0.8, seed=seed)
    greedy = greedy_search(memo.evaluator, len(x), view, question, starts=4, memo=memo)
    assert len(memo) <= 3
    assert_true(greedy, world, view, question)


def test_a_memo_has_room_for_what_its_bytes_hold(monkeypatch):
    monkeypatch.setattr(memo_module, "_BYTES", 10_000)
    evaluator = Plain(lambda rows: rows.sum(axis=1) > 4, np.ones(8), np.zeros((16, 8)))
    memo = Memo(evaluator, 8)
    assert memo.most == 10_000 // (320 + 2 + 1)
    greedy_search(evaluator, 8, "keep", Question(), memo=memo)
    assert 0 < len(memo) <= memo.most


def test_a_text_of_eight_words_has_256_versions_and_no_more_are_asked():
    rows = []

    def model(versions):
        rows.extend(map(tuple, np.asarray(versions).tolist()))
        return (np.asarray(versions)[:, [1, 4, 6]].sum(axis=1) > 1).astype(int)

    data = np.zeros((1, 8))
    e = Explainer(model, data, references="all", outcome=1, engine="blackbox").explain(
        np.ones(8), search="greedy"
    )
    assert e.complete and e.stopped is None
    assert [f.features for f in e.keep.factors] == [("x1", "x4"), ("x1", "x6"), ("x4", "x6")]
    assert e.provenance.rows_predicted <= 256
    assert {f.proof for v in (e.keep, e.flip) for f in v.factors} == {"exhaustive"}


def test_the_same_seed_gives_the_same_sets_and_rows():
    rng = np.random.default_rng(0)
    data = rng.random((60, 30))

    def model(rows):
        return (np.asarray(rows)[:, :9] > 0.5).sum(axis=1) > 4

    once, again = (
        Explainer(model, data, random_state=3).explain(data[0], search="greedy", budget=20_000)
        for _ in range(2)
    )
    assert once.provenance.random_state == 3
    assert (once.keep.factors, once.flip.factors) == (again.keep.factors, again.flip.factors)
    assert once.provenance.rows_predicted == again.provenance.rows_predicted


# -- answers by key --------------------------------------------------------------------------------


@given(st.lists(st.lists(st.integers(0, 200), max_size=30), max_size=12))
def test_answers_are_remembered_by_key(batches):
    remembered, true = Remembered(), {}
    for batch in batches:
        new = np.array(sorted(set(batch) - true.keys(), key=lambda k: (k % 7, k)), dtype=np.int64)
        remembered.note(new, new % 3 == 0)
        true |= {k: 1 if k % 3 == 0 else -1 for k in new.tolist()}
        assert remembered.recall(np.arange(201)).tolist() == [true.get(k, 0) for k in range(201)]
    assert len(remembered) == len(true)


def test_answers_past_the_room_are_not_kept(monkeypatch):
    monkeypatch.setattr("suffice.evaluate.remembered._MOST", 5)
    remembered = Remembered()
    remembered.note(np.arange(4), np.ones(4, dtype=bool))
    remembered.note(np.arange(4, 8), np.ones(4, dtype=bool))
    assert remembered.recall(np.arange(8)).tolist() == [1] * 4 + [0] * 4


@pytest.mark.parametrize("values", [2, 1000])
@pytest.mark.parametrize("d", [6, 30, 80])
def test_lasting_keys_tell_rows_apart(values, d):
    rng = np.random.default_rng(0)
    rows = rng.integers(0, values, (20, d))
    rows[1:, ::2] = rows[0, ::2]
    pool = as_table(rows)
    hybrids = SwapHybrids(pool, make_players(pool))
    held, references = rng.random((500, d)) < 0.5, rng.integers(19, size=500)
    keys = hybrids.lasting_keys(held, references)
    if d == 80 and not hybrids.stable_keys:
        assert keys is None
        return
    made = [tuple(r) for r in np.where(held, rows[0], rows[references + 1]).tolist()]
    by_key = dict(zip(keys.tolist(), made, strict=True))
    assert [by_key[k] for k in keys.tolist()] == made
    if hybrids.stable_keys:
        assert len(by_key) == len(set(made))
        assert (hybrids.keys(held)[np.arange(500), references] == keys).all()
