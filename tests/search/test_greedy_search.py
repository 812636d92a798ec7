"""Searches among many features: greedy results are verified, sequential tests keep their level."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st
from scipy.stats import binom

from suffice import Explainer
from suffice.context import make_players
from suffice.context.hybrids import SwapHybrids
from suffice.engines.blackbox import BlackBox, PredictionCache
from suffice.inference import p_value
from suffice.search import outcome_cache as memo_module
from suffice.search.exhaustive import exhaustive_search
from suffice.search.greedy import greedy_search, hitting_set
from suffice.search.limits import LimitKeeper, Limits
from suffice.search.outcome_cache import (
    OutcomeCache,
    alpha_spent,
    curtailed_boundary,
    sequential_boundary,
    verdicts_by_looks,
)
from suffice.search.profile import Profile
from suffice.search.question import Question
from suffice.search.strategies import run_search
from suffice.tables import as_table
from suffice.target import Event, Target
from tests.effort import examples
from tests.fakes import FakeClock, FunctionEvaluator
from tests.random_problems import minimal_by_definition, problems, subsets, thresholds

# -- greedy search, on small worlds where everything can be counted ---------------------------


def of_world(world):
    return FunctionEvaluator(world.model, world.x, world.references)


def passing(world, view, tau, alpha):
    """Every subset's verdict, worked out slowly and plainly."""
    n = len(world.references)
    count = {"keep": world.keeps, "flip": world.flips}[view]
    hits = {s: count(s) for s in subsets(world.d)}
    if alpha is None:
        return {s for s, k in hits.items() if k / n >= tau}
    return {s for s, k in hits.items() if p_value(k, n, tau) <= alpha}


def search(evaluator, d, view, tau, starts=32, known=(), **question):
    asked = Question(tau, **question)
    return greedy_search(evaluator, d, view, asked, starts=starts, known=known)


views = st.sampled_from(["keep", "flip"])
alphas = st.sampled_from([None, 0.05, 0.5])


@given(problems(max_references=12), views, thresholds, alphas, st.integers(0, 5), st.data())
def test_greedy_results_are_verified(world, view, tau, alpha, seed, data):
    passed = passing(world, view, tau, alpha)
    minimal = minimal_by_definition({s: float(s in passed) for s in subsets(world.d)}, 1.0)
    known = data.draw(st.sets(st.sampled_from(sorted(minimal)))) if minimal else set()
    greedy = search(of_world(world), world.d, view, tau, alpha=alpha, seed=seed, known=known)
    assert greedy.findings.tau == tau
    assert greedy.findings.decided == (greedy.stopped is None)
    if greedy.findings.decided:
        assert set(greedy.outcomes) == minimal - known
    for found in greedy.findings.factors:
        members = found.members
        assert members in passed
        assert found.proof == "exhaustive"
        assert not any(set(k) <= set(members) for k in known)
        for j in members:
            assert tuple(i for i in members if i != j) not in passed
        # At most five players, so that all inside was compared, and not only what is one smaller.
        assert members in minimal
        count = world.keeps(members) if view == "keep" else world.flips(members)
        assert found.hits == count == greedy.outcomes[members].sum()
    assert {f.members for f in greedy.findings.factors} == set(greedy.outcomes)


@given(problems(), views, thresholds, st.integers(0, 5))
def test_the_same_seed_finds_the_same(world, view, tau, seed):
    once, again = (search(of_world(world), world.d, view, tau, seed=seed) for _ in range(2))
    assert once.findings == again.findings
    assert (once.starts, once.stopped) == (again.starts, again.stopped)


@given(problems(), views, thresholds)
def test_all_is_found_where_sufficiency_is_monotone(world, view, tau):
    passed = passing(world, view, tau, None)
    up = all(tuple(sorted({*s, j})) in passed for s in passed for j in range(world.d))
    assume(up)
    greedy = search(of_world(world), world.d, view, tau, starts=64)
    minimal = minimal_by_definition({s: float(s in passed) for s in subsets(world.d)}, 1.0)
    assert {f.members for f in greedy.findings.factors} == minimal


@given(problems(), views, thresholds, st.integers(1, 80))
def test_a_budget_is_obeyed_and_what_was_found_is_returned(world, view, tau, budget):
    evaluator = of_world(world)
    greedy = search(evaluator, world.d, view, tau, limits=Limits(budget=budget))
    assert evaluator.rows_predicted <= budget
    passed = passing(world, view, tau, None)
    assert {f.members for f in greedy.findings.factors} <= passed


# -- greedy search, among many players ---------------------------------------------------------

PLANTED = ((3, 17), (9,), (20, 41, 55), (30, 31, 32, 33, 34, 35, 36))


def planted(rows):
    """A rule with four sufficient sets, as cheap as a model gets."""
    true = np.asarray(rows) > 0.5
    return np.any([true[:, list(s)].all(axis=1) for s in PLANTED], axis=0).astype(int)


def many(n=100, d=60, seed=0):
    rng = np.random.default_rng(seed)
    x = np.full(d, 0.9)
    rows = rng.random((40 * n, d))
    return x, rows[planted(rows) == 0][:n]


@pytest.mark.parametrize("alpha", [None, 0.05])
def test_planted_sets_are_found(alpha):
    x, references = many()
    keep = search(FunctionEvaluator(planted, x, references), 60, "keep", 0.9, alpha=alpha)
    assert [f.members for f in keep.findings.factors] == sorted(PLANTED, key=lambda m: (len(m), m))
    assert str(keep.stopped) == "32 starts in a row brought nothing new"
    flip = search(FunctionEvaluator(planted, x, references), 60, "flip", 0.9, alpha=alpha)
    for found in flip.findings.factors:  # to flip, each planted set has to be broken
        assert all(set(found.members) & set(s) for s in PLANTED)
    assert flip.findings.factors


def test_known_factors_are_not_found_again_nor_what_contains_them():
    x, references = many()
    evaluator = FunctionEvaluator(planted, x, references)
    greedy = search(evaluator, 60, "keep", 0.9, known=PLANTED[:2])
    assert {f.members for f in greedy.findings.factors} == set(PLANTED[2:])


def test_greedy_findings_stand_beside_the_counts_of_an_exhaustive_search():
    x, references = many()
    evaluator = FunctionEvaluator(planted, x, references)
    sweep = exhaustive_search(evaluator, 60, Question(limits=Limits(max_size=2)))
    profile = Profile(sweep.tally, draws=sweep.draws)
    known = [minimal.members for minimal in profile.minimal_at(0.9)]
    assert known == [(9,), (3, 17)]
    greedy = search(evaluator, 60, "keep", 0.9, known=known)
    both = replace(profile, findings=greedy.findings)
    assert {m.members: m.proof for m in both.minimal_at(0.9)} == {
        (9,): "exhaustive",
        (3, 17): "exhaustive",
        (20, 41, 55): "exhaustive",
        (30, 31, 32, 33, 34, 35, 36): "one smaller",
    }
    assert not both.complete_at(0.9)


def test_sizes_past_max_size_are_not_returned():
    x, references = many()
    evaluator = FunctionEvaluator(planted, x, references)
    greedy = search(evaluator, 60, "keep", 0.9, limits=Limits(max_size=3))
    assert {f.members for f in greedy.findings.factors} == set(PLANTED[:3])


def test_sequential_steps_predict_fewer_rows():
    x, references = many(n=400)
    rows = []
    for alpha in (None, 0.05):
        evaluator = FunctionEvaluator(planted, x, references)
        greedy = search(evaluator, 60, "keep", 0.8, alpha=alpha)
        assert set(PLANTED[:3]) <= set(greedy.outcomes)
        rows.append(evaluator.rows_predicted)
    assert rows[1] < 0.8 * rows[0]


def test_limits_stop_a_search_that_would_go_on():
    def majority(rows):
        return (np.asarray(rows) > 0.5).mean(axis=1) > 0.5

    rng = np.random.default_rng(0)
    x, references = np.ones(41), rng.random((50, 41)) * 0.6

    clock = FakeClock()
    evaluator = FunctionEvaluator(majority, x, references, clock, seconds=20e-6)
    asked = Question(0.9, limits=Limits(time_limit=1.0))
    keeper = LimitKeeper(asked.limits, clock=clock)
    greedy = greedy_search(evaluator, 41, "keep", asked, keeper)
    assert clock.now <= 1.05
    assert str(greedy.stopped) == "time_limit=1 s"
    assert greedy.findings.factors  # what was found until then

    evaluator = FunctionEvaluator(majority, x, references)
    greedy = search(evaluator, 41, "keep", 0.9, limits=Limits(budget=30_000))
    assert str(greedy.stopped) == "budget=30000 model rows"
    assert 15_000 < evaluator.rows_predicted <= 30_000
    assert greedy.findings.factors

    greedy = search(FunctionEvaluator(majority, x, references), 41, "keep", 0.9, starts=1)
    assert str(greedy.stopped) == "16 starts"


def test_where_nothing_is_needed_and_where_nothing_can_pass():
    x, references = many()
    same = FunctionEvaluator(lambda rows: np.ones(len(rows)), x, references)
    greedy = search(same, 60, "keep", 0.9)
    assert [f.members for f in greedy.findings.factors] == [()]
    assert greedy.stopped is None and greedy.findings.decided
    asked = same.rows_predicted
    assert search(same, 60, "keep", 0.9, known=[()]).findings.factors == ()
    assert same.rows_predicted == asked
    assert search(same, 60, "flip", 0.9).findings.factors == ()
    few = FunctionEvaluator(planted, x, references[:5])
    greedy = search(few, 60, "keep", 0.9, alpha=0.01)
    assert greedy.findings.factors == ()
    assert greedy.stopped is None and greedy.findings.decided
    assert few.rows_predicted == 0


def test_growing_finds_what_is_sufficient_only_in_part():
    """All of it flips nothing, yet single players do: no superset of a sufficient set need be."""

    def odd(rows):
        return (np.asarray(rows) > 0.5).sum(axis=1) % 2

    evaluator = FunctionEvaluator(odd, np.ones(8), np.zeros((10, 8)))
    greedy = search(evaluator, 8, "flip", 0.9)
    assert {f.members for f in greedy.findings.factors} == {(j,) for j in range(8)}


sets = st.sets(st.frozensets(st.integers(0, 7), min_size=1), max_size=8)


@given(sets, st.integers(0, 9))
def test_hitting_sets_hit_and_are_minimal(sets, seed):
    family = sorted(tuple(sorted(s)) for s in sets)
    chosen = set(np.flatnonzero(hitting_set(family, 8, np.random.default_rng(seed))).tolist())
    assert all(chosen & set(s) for s in family)
    for player in chosen:
        assert not all((chosen - {player}) & set(s) for s in family)


# -- sequential tests --------------------------------------------------------------------------


class Coins:
    """Subsets that are numbers written in bits; reference r hits subset i by chance `share`."""

    def __init__(self, share, subsets, n, seed=0):
        self.hits = np.random.default_rng(seed).random((subsets, n)) < share
        self.held = (np.arange(subsets)[:, None] >> np.arange(20)) % 2 == 1
        self.rows = 0

    def among_the_first(self, order):
        """Which references hit, in an order; what was asked before is not asked again."""
        known = np.zeros_like(self.hits)

        def hits_of(sets, seen):
            at = sets @ (1 << np.arange(20))
            self.rows += int((~known[at][:, order[:seen]]).sum())
            known[at[:, None], order[:seen]] = True
            return self.hits[at][:, order[:seen]]

        return hits_of


levels = st.sampled_from([0.01, 0.05, 0.2])


def in_some_order(n, seed=0):
    return np.random.default_rng(seed).permutation(n)


@given(st.integers(1, 300), st.floats(0.05, 1.0), levels)
def test_type_one_error_is_at_most_alpha_exactly(n, tau, alpha):
    """Over all paths of hits, by dynamic programming, for a subset with PS = τ."""
    boundary = sequential_boundary(n, tau, alpha)
    alive, error, before = np.array([1.0]), 0.0, 0
    for seen, passes, fails in zip(*boundary, strict=True):
        more = seen - before
        alive = np.convolve(alive, binom.pmf(np.arange(more + 1), more, tau))
        error += alive[passes:].sum()
        hits = np.arange(len(alive))
        alive = np.where((hits < passes) & (hits >= fails), alive, 0.0)
        before = seen
    assert alive.sum() == 0  # every subset is decided in the end
    assert error <= alpha + 1e-12


def test_type_one_error_is_at_most_alpha_in_a_sample():
    coins = Coins(share=0.8, subsets=20_000, n=200)
    boundary = sequential_boundary(200, 0.8, 0.05)
    hits_of = coins.among_the_first(in_some_order(200))
    verdicts = verdicts_by_looks(hits_of, coins.held, boundary)
    assert verdicts.passed.mean() <= 0.05
    assert coins.rows == boundary.seen[verdicts.looks - 1].sum()
    assert set(verdicts.looks.tolist()) <= {1, 2, 3, 4}


@pytest.mark.parametrize(("share", "passes"), [(1.0, True), (0.99, True), (0.3, False)])
def test_clear_cases_predict_few_rows(share, passes):
    coins = Coins(share, subsets=200, n=400)
    boundary = sequential_boundary(400, 0.9, 0.05)
    hits_of = coins.among_the_first(in_some_order(400))
    verdicts = verdicts_by_looks(hits_of, coins.held, boundary)
    assert (verdicts.passed == passes).mean() > 0.95
    assert coins.rows < 0.5 * 200 * 400


@given(st.integers(1, 40), st.integers(0, 42), st.integers(0, 3))
def test_curtailed_verdicts_are_those_of_the_full_test(n, need, seed):
    coins = Coins(share=0.6, subsets=30, n=n, seed=seed)
    boundary = curtailed_boundary(n, need)
    hits_of = coins.among_the_first(in_some_order(n, seed))
    verdicts = verdicts_by_looks(hits_of, coins.held, boundary)
    assert (verdicts.passed == (coins.hits.sum(axis=1) >= need)).all()
    assert coins.rows == boundary.seen[verdicts.looks - 1].sum() <= 30 * n


@given(levels)
def test_all_of_alpha_is_spent_and_no_more(alpha):
    curve = alpha_spent(np.array([0.125, 0.25, 0.5, 1.0]), alpha)
    assert np.isclose(curve[-1], alpha)
    assert (np.diff(curve, prepend=0.0) >= 0).all()


# A greedy search asks nothing twice, and says that it is complete when it has seen everything.


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


class Sets(FunctionEvaluator):
    """Remembers the sets and references it was asked about, as they were asked."""

    def __init__(self, *given):
        super().__init__(*given)
        self.asked = []

    def outcomes_of_hybrids(self, held, references):
        self.asked += zip(map(bytes, np.packbits(held, axis=1)), references.tolist(), strict=True)
        return super().outcomes_of_hybrids(held, references)


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
    tally = exhaustive_search(evaluator, hybrids.d).tally
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


@given(wider_worlds(), thresholds, st.sampled_from([None, 0.3]), st.integers(0, 3))
@settings(max_examples=examples(30))
def test_no_row_is_predicted_twice_and_what_is_complete_is_what_counting_gives(
    world, tau, alpha, seed
):
    question = Question(tau, alpha, seed=seed)
    model, hybrids, evaluator = setting(*world)
    found = run_search("greedy", evaluator, hybrids, question, LimitKeeper())
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
        if profile.complete_at(tau) and not near:
            assert mine.keys() == minimal.keys()
    if found.stopped is None:
        assert found.keep.complete_at(tau) and flip.complete_at(tau)


@given(wider_worlds(), thresholds, st.sampled_from(["keep", "flip"]))
@settings(max_examples=examples(30))
def test_with_starts_without_end_all_is_seen_or_it_says_that_it_is_not(world, tau, view):
    predict, x, references = world
    evaluator = Sets(predict, x, references)
    d, n = len(x), len(references)
    greedy = greedy_search(evaluator, d, view, Question(tau), starts=500)
    assert_true(greedy, world, view, Question(tau))
    assert len({held for held, _ in evaluator.asked}) <= 1 << d
    assert evaluator.rows_predicted <= (n << d) + n * (1 << d) // 8


@given(problems(), thresholds, st.integers(0, 3))
def test_outcomes_of_one_view_are_known_to_the_other(world, tau, seed):
    evaluator = Sets(world.model, world.x, world.references)
    question = Question(tau, seed=seed)
    cache = OutcomeCache(evaluator, world.d, seed)
    for view in ("keep", "flip"):
        greedy_search(evaluator, world.d, view, question, cache=cache)
    # Single hybrids that show who is strong come besides: at most an eighth of all.
    most = len(world.references) << world.d
    assert evaluator.rows_predicted <= most + most // 8
    assert len({held for held, _ in evaluator.asked}) <= 1 << world.d


@given(problems(), thresholds, st.integers(0, 3))
def test_what_a_sweep_counted_is_not_predicted_again(world, tau, seed):
    evaluator = Sets(world.model, world.x, world.references)
    sweep = exhaustive_search(evaluator, world.d)
    asked = evaluator.rows_predicted
    cache = OutcomeCache(evaluator, world.d, seed, sweep)
    cache.effects = lambda _: (np.zeros(world.d), np.ones(world.d))
    for view, count in (("keep", world.keeps), ("flip", world.flips)):
        greedy = greedy_search(evaluator, world.d, view, Question(tau, seed=seed), cache=cache)
        assert greedy.findings.decided
        assert all(f.hits == count(f.members) for f in greedy.findings.factors)
    assert evaluator.rows_predicted == asked


@given(wider_worlds(), st.sampled_from(["keep", "flip"]), st.integers(0, 3))
@settings(max_examples=examples(30))
def test_a_cache_that_drops_entries_is_still_right(world, view, seed):
    predict, x, references = world
    cache = OutcomeCache(FunctionEvaluator(predict, x, references), len(x), seed)
    cache.most = 3
    question = Question(0.8, seed=seed)
    greedy = greedy_search(cache.evaluator, len(x), view, question, starts=4, cache=cache)
    assert len(cache) <= 3
    assert_true(greedy, world, view, question)


def test_a_memo_has_room_for_what_its_bytes_hold(monkeypatch):
    monkeypatch.setattr(memo_module, "_MOST_BYTES", 10_000)
    evaluator = FunctionEvaluator(lambda rows: rows.sum(axis=1) > 4, np.ones(8), np.zeros((16, 8)))
    cache = OutcomeCache(evaluator, 8)
    assert cache.most == 10_000 // (320 + 2 + 1)
    greedy_search(evaluator, 8, "keep", Question(), cache=cache)
    assert 0 < len(cache) <= cache.most


def test_a_text_of_eight_words_has_256_versions_and_no_more_are_predicted():
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
    assert e.provenance.rows_predicted <= 1 + 256  # the input was predicted before
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
    remembered, true = PredictionCache(), {}
    for batch in batches:
        new = np.array(sorted(set(batch) - true.keys(), key=lambda k: (k % 7, k)), dtype=np.int64)
        remembered.add(new, new % 3 == 0)
        true |= {k: 1 if k % 3 == 0 else -1 for k in new.tolist()}
        assert remembered.get(np.arange(201)).tolist() == [true.get(k, 0) for k in range(201)]
    assert len(remembered) == len(true)


def test_answers_past_the_room_are_not_kept(monkeypatch):
    monkeypatch.setattr("suffice.engines.blackbox._MAX_CACHED_ROWS", 5)
    remembered = PredictionCache()
    remembered.add(np.arange(4), np.ones(4, dtype=bool))
    remembered.add(np.arange(4, 8), np.ones(4, dtype=bool))
    assert remembered.get(np.arange(8)).tolist() == [1] * 4 + [0] * 4


@pytest.mark.parametrize("values", [2, 1000])
@pytest.mark.parametrize("d", [6, 30, 80])
def test_lasting_keys_distinguish_rows(values, d):
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
