"""Searches among many features: greedy results are verified, sequential tests keep their level."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st
from scipy.stats import binom

from suffice.inference import p_value
from suffice.search.greedy import greedy_search
from suffice.search.greedy.starts import hitting_set
from suffice.search.greedy.verdicts import (
    curtailed_boundary,
    sequential_boundary,
    spent,
    verdicts_by_looks,
)
from suffice.search.limits import LimitKeeper, Limits
from suffice.search.profile import Profile
from suffice.search.question import Question
from suffice.search.sweep import run_sweep
from tests.plain import FakeClock, Plain
from tests.worlds import minimal_by_definition, subsets, taus, worlds

# -- greedy search, on small worlds where everything can be counted ---------------------------


def of_world(world):
    return Plain(world.model, world.x, world.references)


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


@given(worlds(max_references=12), views, taus, alphas, st.integers(0, 5), st.data())
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


@given(worlds(), views, taus, st.integers(0, 5))
def test_the_same_seed_finds_the_same(world, view, tau, seed):
    once, again = (search(of_world(world), world.d, view, tau, seed=seed) for _ in range(2))
    assert once.findings == again.findings
    assert (once.starts, once.stopped) == (again.starts, again.stopped)


@given(worlds(), views, taus)
def test_all_is_found_where_sufficiency_is_monotone(world, view, tau):
    passed = passing(world, view, tau, None)
    up = all(tuple(sorted({*s, j})) in passed for s in passed for j in range(world.d))
    assume(up)
    greedy = search(of_world(world), world.d, view, tau, starts=64)
    minimal = minimal_by_definition({s: float(s in passed) for s in subsets(world.d)}, 1.0)
    assert {f.members for f in greedy.findings.factors} == minimal


@given(worlds(), views, taus, st.integers(1, 80))
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
    keep = search(Plain(planted, x, references), 60, "keep", 0.9, alpha=alpha)
    assert [f.members for f in keep.findings.factors] == sorted(PLANTED, key=lambda m: (len(m), m))
    assert str(keep.stopped) == "32 starts in a row brought nothing new"
    flip = search(Plain(planted, x, references), 60, "flip", 0.9, alpha=alpha)
    for found in flip.findings.factors:  # to flip, each planted set has to be broken
        assert all(set(found.members) & set(s) for s in PLANTED)
    assert flip.findings.factors


def test_known_factors_are_not_found_again_nor_what_contains_them():
    x, references = many()
    evaluator = Plain(planted, x, references)
    greedy = search(evaluator, 60, "keep", 0.9, known=PLANTED[:2])
    assert {f.members for f in greedy.findings.factors} == set(PLANTED[2:])


def test_greedy_findings_stand_beside_the_counts_of_an_exhaustive_search():
    x, references = many()
    evaluator = Plain(planted, x, references)
    sweep = run_sweep(evaluator, 60, Question(limits=Limits(max_size=2)))
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
    assert not both.complete


def test_sizes_past_max_size_are_not_returned():
    x, references = many()
    evaluator = Plain(planted, x, references)
    greedy = search(evaluator, 60, "keep", 0.9, limits=Limits(max_size=3))
    assert {f.members for f in greedy.findings.factors} == set(PLANTED[:3])


def test_sequential_steps_ask_fewer_rows():
    x, references = many(n=400)
    rows = []
    for alpha in (None, 0.05):
        evaluator = Plain(planted, x, references)
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
    evaluator = Plain(majority, x, references, clock, seconds=20e-6)
    asked = Question(0.9, limits=Limits(time_limit=1.0))
    keeper = LimitKeeper(asked.limits, clock=clock)
    greedy = greedy_search(evaluator, 41, "keep", asked, keeper)
    assert clock.now <= 1.05
    assert str(greedy.stopped) == "time_limit=1 s"
    assert greedy.findings.factors  # what was found until then

    evaluator = Plain(majority, x, references)
    greedy = search(evaluator, 41, "keep", 0.9, limits=Limits(budget=30_000))
    assert str(greedy.stopped) == "budget=30000 model rows"
    assert 15_000 < evaluator.rows_predicted <= 30_000
    assert greedy.findings.factors

    greedy = search(Plain(majority, x, references), 41, "keep", 0.9, starts=1)
    assert str(greedy.stopped) == "16 starts"


def test_where_nothing_is_needed_and_where_nothing_can_pass():
    x, references = many()
    same = Plain(lambda rows: np.ones(len(rows)), x, references)
    greedy = search(same, 60, "keep", 0.9)
    assert [f.members for f in greedy.findings.factors] == [()]
    assert greedy.stopped is None and greedy.findings.decided
    asked = same.rows_predicted
    assert search(same, 60, "keep", 0.9, known=[()]).findings.factors == ()
    assert same.rows_predicted == asked
    assert search(same, 60, "flip", 0.9).findings.factors == ()
    few = Plain(planted, x, references[:5])
    greedy = search(few, 60, "keep", 0.9, alpha=0.01)
    assert greedy.findings.factors == ()
    assert greedy.stopped is None and greedy.findings.decided
    assert few.rows_predicted == 0


def test_growing_finds_what_is_sufficient_only_in_part():
    """All of it flips nothing, yet single players do: no superset of a sufficient set need be."""

    def odd(rows):
        return (np.asarray(rows) > 0.5).sum(axis=1) % 2

    evaluator = Plain(odd, np.ones(8), np.zeros((10, 8)))
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
def test_clear_cases_ask_few_rows(share, passes):
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
    curve = spent(np.array([0.125, 0.25, 0.5, 1.0]), alpha)
    assert np.isclose(curve[-1], alpha)
    assert (np.diff(curve, prepend=0.0) >= 0).all()
