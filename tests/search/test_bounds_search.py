"""Bounds ≡ exhaustive: what is closed by bounds holds no factor, and what is left is all of them."""

import tracemalloc
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from suffice import InputError, at_least, within
from suffice.engines import CubeEvaluator
from suffice.engines.trees import cube_bounds
from suffice.progress import listen_to_progress
from suffice.search import (
    Limits,
    Question,
    Stop,
    bounds as frontier,
    exhaustive_search,
    findings as passing,
)
from suffice.search.bounds import bounds_search
from suffice.search.limits import LimitKeeper
from suffice.search.profile import Profile
from suffice.typing import VIEWS
from tests.effort import examples
from tests.engines.engine_cases import KERNELS, Case, linear_data, tree_data

# -- cases: one engine each, small enough to count every set -----------------------------


def forest_case(seed, d=5, rows=24, kernel="numpy", **options):
    X, y, _, _ = tree_data(d=d, seed=seed)
    model = RandomForestClassifier(7, random_state=seed, **options).fit(X, y)
    return Case(model, X[seed : seed + rows]).trees(kernel)


def classes_case(seed, d=5, rows=20, kernel="numpy"):
    X, _, three, _ = tree_data(d=d, seed=seed)
    model = RandomForestClassifier(5, max_depth=3, random_state=seed).fit(X, three)
    return Case(model, X[seed : seed + rows]).trees(kernel)


def votes_case(seed, d=6, rows=20, kernel="numpy"):
    """Fully grown trees on three classes: a lead is a vote more, one less, or none."""
    X, _, three, _ = tree_data(d=d, seed=seed)
    model = RandomForestClassifier(5, random_state=seed).fit(X, three)
    return Case(model, X[seed : seed + rows]).trees(kernel)


def boosted_case(seed, d=6, rows=20, kernel="numpy"):
    X, y, _, _ = tree_data(d=d, seed=seed, n=80)
    model = GradientBoostingClassifier(n_estimators=8, random_state=seed).fit(X, y)
    return Case(model, X[seed : seed + rows]).trees(kernel)


def ties_case(seed, d=5, rows=18, kernel="numpy"):
    """Two trees of whole votes: many hybrids are a tie."""
    X, y, _, _ = tree_data(d=d, seed=seed)
    model = ExtraTreesClassifier(2, random_state=seed).fit(X, y)
    return Case(model, X[seed : seed + rows]).trees(kernel)


def tree_case(seed, d=5, rows=30, kernel="numpy"):
    X, _, three, _ = tree_data(d=d, seed=seed)
    model = DecisionTreeClassifier(random_state=seed).fit(X, three)
    return Case(model, X[seed : seed + rows]).trees(kernel)


def band_case(seed, d=5, rows=20, kernel="numpy"):
    X, _, _, value = tree_data(d=d, seed=seed)
    model = GradientBoostingRegressor(n_estimators=6, random_state=seed).fit(X, value)
    return Case(model, X[seed : seed + rows], within(4.0)).trees(kernel)


def linear_case(seed, d=7, rows=30, classes=2):
    X, y = linear_data(d=d, classes=classes, seed=seed)
    return Case(LogisticRegression().fit(X, y), X[: rows + 1]).additive()


def linear_classes_case(seed):
    return linear_case(seed, d=5, classes=3)


def linear_ties_case(seed, d=6, rows=20):
    """Whole coefficients and whole values: sums that are exactly the boundary are asked."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, size=(rows + 1, d)).astype(float)
    model = LinearRegression().fit(X, X @ rng.integers(-2, 3, size=d))
    model.coef_, model.intercept_ = np.rint(model.coef_), 0.0
    return Case(model, X, at_least(float(rng.integers(-2, 3)))).additive()


TREES = [forest_case, classes_case, votes_case, boosted_case, ties_case, tree_case, band_case]
ADDITIVE = [linear_case, linear_classes_case, linear_ties_case]
engine_of = cache(lambda make, seed, **options: make(seed, **options))
engines = st.builds(engine_of, st.sampled_from(TREES + ADDITIVE), st.integers(0, 3))
taus = st.sampled_from([0.5, 0.7, 0.8, 0.9, 1.0])
tests_at = st.sampled_from([(None, "none"), (0.05, "none"), (0.3, "none"), (0.3, "bonferroni")])


def players(engine):
    return engine.leverage().shape[1]


counted = cache(lambda engine: exhaustive_search(engine, players(engine)))


def full(engine, alpha=None, adjust="none", max_size=None):
    sweep = counted(engine)
    keep = Profile(sweep.tally, alpha, adjust, max_size)
    return keep, replace(keep, tally=sweep.tally.other_view())


def minimal(profile, tau):
    return {m.members: m.hits for m in profile.minimal_at(tau)}


def found(findings):
    return {f.members: f.hits for f in findings.factors}


def bounded(engine, tau=0.9, known_keep=(), known_flip=(), keeper=None, **question):
    known = {"known_keep": known_keep, "known_flip": known_flip}
    return bounds_search(engine, players(engine), Question(tau, **question), keeper, **known)


found_alone = cache(bounded)
"""By engine and τ, with no other question: searched once for all tests."""


# -- bounds over cubes -------------------------------------------------------------------


def sets_of(held, freed):
    """Every set of a cube."""
    undecided = np.flatnonzero(~(held | freed))
    sets = np.repeat(held[None], 1 << len(undecided), axis=0)
    sets[:, undecided] = np.arange(len(sets))[:, None] >> np.arange(len(undecided)) & 1
    return sets


def random_cubes(rng, count, d):
    fixed = rng.random((count, d)) < rng.random((count, 1))
    held = fixed & (rng.random((count, d)) < rng.random((count, 1)))
    return held, fixed & ~held


def check_bounds(engine, seed, count):
    held, freed = random_cubes(np.random.default_rng(seed), count, players(engine))
    surely, may = engine.bound_cubes(held, freed)
    for i in range(len(held)):
        outcomes = engine.outcomes(sets_of(held[i], freed[i]))
        assert not (surely[i] & ~outcomes.all(axis=0)).any()
        assert not (outcomes.any(axis=0) & ~may[i]).any()


@given(engines, st.integers(0, 1000))
def test_bounds_hold_for_every_set_of_a_cube(engine, seed):
    check_bounds(engine, seed, count=6)


def lacking_case(seed, d=5, rows=20, kernel="numpy"):
    """Trees whose event does not hold for the input."""
    X, _, _, value = tree_data(d=d, seed=seed)
    model = GradientBoostingRegressor(n_estimators=6, random_state=seed).fit(X, value)
    above = at_least(float(model.predict(X[seed : seed + 1])[0]) + 0.1)
    return Case(model, X[seed : seed + rows], above).trees(kernel)


@pytest.mark.parametrize("make", [lacking_case, linear_ties_case])
def test_bounds_hold_where_the_event_does_not_hold_for_the_input(make):
    check_bounds(engine_of(make, 0), seed=0, count=40)


@given(engines, st.integers(0, 1000))
def test_a_cube_of_one_set_has_its_outcomes(engine, seed):
    held = np.random.default_rng(seed).random((5, players(engine))) < 0.5
    surely, may = engine.bound_cubes(held, ~held)
    np.testing.assert_array_equal(surely, engine.outcomes(held))
    np.testing.assert_array_equal(may, surely)


@given(st.integers(0, 9), st.integers(0, 1000))
def test_additive_bounds_are_exact(seed, cubes):
    engine = engine_of(linear_case, seed)
    held, freed = random_cubes(np.random.default_rng(cubes), 6, players(engine))
    surely, may = engine.bound_cubes(held, freed)
    for i in range(len(held)):
        outcomes = engine.outcomes(sets_of(held[i], freed[i]))
        np.testing.assert_array_equal(surely[i], outcomes.all(axis=0))
        np.testing.assert_array_equal(may[i], outcomes.any(axis=0))


@pytest.mark.parametrize("make", TREES)
@settings(max_examples=examples(15))
@given(st.integers(0, 1000))
def test_both_kernels_give_the_same_bounds(make, seed):
    pytest.importorskip("numba")
    rng = np.random.default_rng(seed)
    both = [engine_of(make, seed % 4, kernel=kernel) for kernel in KERNELS]
    cubes = random_cubes(rng, 40, players(both[0]))
    for mine, other in zip(*(engine.bound_cubes(*cubes) for engine in both), strict=True):
        np.testing.assert_array_equal(mine, other)


@pytest.mark.parametrize("make", [forest_case, classes_case, boosted_case])
@pytest.mark.parametrize("cells", [1 << 24, 3000])
def test_leverage_is_the_same_in_pieces(make, cells, monkeypatch):
    """Of 3,000 cells, only a sample of the references is used."""
    monkeypatch.setattr(cube_bounds, "_LEVERAGE_CELLS", cells)
    engine = engine_of(make, 0, rows=90 if make is forest_case else 70)
    whole = engine.leverage()
    monkeypatch.setattr(cube_bounds, "_LEVERAGE_AT_ONCE", 1)
    np.testing.assert_array_equal(engine.leverage(), whole)


def test_leverage_of_many_references_takes_little_memory():
    X, y, _, _ = tree_data(d=6, n=4000)
    model = RandomForestClassifier(20, max_depth=6, random_state=0).fit(X, y)
    engine = Case(model, X).trees("numpy")
    engine.bound_cubes(*np.zeros((2, 1, 6), dtype=bool))  # prepares words and nodes
    tracemalloc.start()
    try:
        found = engine.leverage()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.any()
    assert peak < 16e6, peak


def test_fully_grown_forests_vote_and_others_do_not():
    pytest.importorskip("numba")
    from suffice.engines.trees.cube_bounds import RankedTrees, _player_numbers_by_tree
    from suffice.engines.trees.numba_cube_bounds import find_equal_steps

    steps = {}
    for make in (forest_case, votes_case, boosted_case):
        problem = make(1)._problem
        trees = RankedTrees(problem, problem.margins.margins[0], _player_numbers_by_tree(problem))
        votes = find_equal_steps(trees)
        steps[make] = None if votes is None else votes.steps.max()
    assert steps == {forest_case: 1, votes_case: 2, boosted_case: None}


def test_one_tree_is_bounded_exactly():
    """Along a path a player is held or freed throughout, however often it is tested."""
    engine = tree_case(3)
    held, freed = random_cubes(np.random.default_rng(0), 200, players(engine))
    surely, may = engine.bound_cubes(held, freed)
    for i in range(len(held)):
        outcomes = engine.outcomes(sets_of(held[i], freed[i]))
        np.testing.assert_array_equal(may[i], outcomes.any(axis=0))
        np.testing.assert_array_equal(surely[i], outcomes.all(axis=0))


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_tree_of_more_than_64_players_is_bounded_soundly(kernel):
    if kernel == "numba":
        pytest.importorskip("numba")
    d, rng = 90, np.random.default_rng(0)
    X = rng.normal(size=(400, d))
    model = GradientBoostingRegressor(
        n_estimators=2, max_depth=12, max_features=1, random_state=0
    ).fit(X, rng.normal(size=400))
    first = model.estimators_[0, 0].tree_.feature
    assert len(set(first[first >= 0])) > 64
    engine = Case(model, X[:30], at_least(float(model.predict(X[:1])[0]))).trees(kernel)
    held, freed = random_cubes(rng, 40, d)
    surely, may = engine.bound_cubes(held, freed)
    for i in range(len(held)):
        sets = held[i] | (rng.random((50, d)) < 0.5) & ~freed[i]
        outcomes = engine.outcomes(sets)
        assert not (surely[i] & ~outcomes.all(axis=0)).any()
        assert not (outcomes.any(axis=0) & ~may[i]).any()


def test_engines_say_that_they_bound_cubes():
    assert isinstance(forest_case(0), CubeEvaluator)
    assert isinstance(linear_case(0), CubeEvaluator)


# -- the search --------------------------------------------------------------------------


@given(engines, taus, tests_at)
def test_finds_what_the_exhaustive_search_finds(engine, tau, test):
    alpha, adjust = test
    result = bounded(engine, tau, alpha=alpha, adjust=adjust)
    profiles = full(engine, alpha, adjust)
    for findings, profile in zip((result.keep, result.flip), profiles, strict=True):
        assert found(findings) == minimal(profile, tau)
        assert {f.proof for f in findings.factors} <= {"exhaustive"}
        assert findings.decided
        assert findings.decided_share == 1.0
        assert findings.decided_size == players(engine)
    assert result.stopped is None


@given(engines, taus)
def test_outcomes_of_flip_factors_are_those_of_their_hybrids(engine, tau):
    result = found_alone(engine, tau)
    for factor, kept in zip(result.flip.factors, result.flip_outcomes, strict=True):
        held = np.ones((1, players(engine)), dtype=bool)
        held[0, list(factor.members)] = False
        np.testing.assert_array_equal(kept, engine.outcomes(held)[0])
        assert factor.hits == (~kept).sum()
    everybody = np.repeat([[False], [True]], players(engine), axis=1)
    ends = [result.tally.levels[0].tolist(), result.tally.levels[-1].tolist()]
    assert ends == [[hits] for hits in engine.outcomes(everybody).sum(axis=1)]
    assert len(result.draws.outcomes) == 1024
    drawn = engine.outcomes_of_hybrids(result.draws.held, result.draws.references)
    np.testing.assert_array_equal(result.draws.outcomes, drawn)


@given(engines, taus, st.integers(1, 4), tests_at)
def test_a_bounded_size_is_right_about_what_it_searched(engine, tau, max_size, test):
    alpha, adjust = test
    limits = Limits(max_size=max_size)
    result = bounded(engine, tau, alpha=alpha, adjust=adjust, limits=limits)
    profiles = full(engine, alpha, adjust, max_size)
    for findings, profile in zip((result.keep, result.flip), profiles, strict=True):
        assert found(findings) == minimal(profile, tau)
        assert findings.decided_size == max_size
        assert not findings.decided
        assert {f.proof for f in findings.factors} <= {"exhaustive"}
    assert result.stopped == Stop("max_size", max_size)


@given(engines, taus, st.integers(0, 400))
def test_a_search_that_is_stopped_says_so_and_reports_what_is_verified(engine, tau, budget):
    d, n = players(engine), engine.n
    result = bounded(engine, tau, limits=Limits(budget=budget * n // 10 + 1))
    for findings, profile in zip((result.keep, result.flip), full(engine), strict=True):
        exact = minimal(profile, tau)
        assert findings.decided == (result.stopped is None)
        assert (findings.decided_share == 1.0) or not findings.decided
        if findings.decided:
            assert found(findings) == exact
        known = {m: hits for m, hits in exact.items() if len(m) <= findings.decided_size}
        assert known.items() <= found(findings).items()
        for factor in findings.factors:
            assert profile.hits(factor.members) == factor.hits
            assert factor.hits >= tau * n
            if factor.proof == "exhaustive":
                assert factor.members in exact
            smaller = [[j for j in factor.members if j != i] for i in factor.members]
            assert all(profile.hits(members) < tau * n for members in smaller)
        assert -1 <= findings.decided_size <= d


@given(engines, taus, st.integers(0, 100))
def test_known_sets_change_nothing_but_the_work(engine, tau, seed):
    """Minimal ones or not: of the sets that pass, some are given."""
    rng = np.random.default_rng(seed)
    d, known = players(engine), {}
    for view, profile in zip(("keep", "flip"), full(engine), strict=True):
        sets = [np.flatnonzero(rng.random(d) < 0.6).tolist() for _ in range(20)]
        known[f"known_{view}"] = [s for s in sets if profile.hits(s) >= tau * engine.n]
    result, plain = bounded(engine, tau, **known), found_alone(engine, tau)
    assert (result.keep, result.flip) == (plain.keep, plain.flip)


def test_a_crowded_frontier_takes_the_large_sets_first_and_finds_the_same(monkeypatch):
    engine = linear_case(4, d=10, rows=30)
    plain = bounded(engine)
    monkeypatch.setattr(frontier, "_MOST_BYTES", 16)
    crowded = bounded(engine)
    assert (crowded.keep, crowded.flip) == (plain.keep, plain.flip)


class Misread:
    """An engine that finds out in the middle of a search that it had read the model wrongly.

    With `whole` it is right about the cube of all sets.
    """

    def __init__(self, engine, after, whole=False):
        self._engine, self._left, self.whole = engine, after, whole
        self.note, self.name, self.n = None, engine.name, engine.n
        self.rows_predicted, self.model_seconds = 0, 0.0

    def seconds_per_hybrid(self):
        return None

    def leverage(self):
        return self._engine.leverage()

    def outcomes(self, held, tick=None):
        return self._engine.outcomes(held, tick)

    def outcomes_of_hybrids(self, held, references):
        return self._engine.outcomes_of_hybrids(held, references)

    def bound_cubes(self, held, freed):
        self._left -= len(held)
        told = not self.whole or (held | freed).any(axis=1).all()
        if self._left > 0 and told:  # nothing passes, it says
            nobody = np.zeros((len(held), self.n), dtype=bool)
            return nobody, nobody
        self.note = "misread" if self._left <= 0 else None
        return self._engine.bound_cubes(held, freed)


@pytest.mark.parametrize("after", [1, 2])
def test_what_a_wrong_reading_closed_is_opened_again(after):
    engine = linear_case(1)
    result, plain = bounded(Misread(engine, after)), bounded(engine)
    assert (result.keep, result.flip) == (plain.keep, plain.flip)


def test_progress_does_not_fall_where_all_is_opened_again(monkeypatch):
    monkeypatch.setattr(frontier, "_CUBES_AT_ONCE", 1)
    engine, shown = linear_case(1), []
    with listen_to_progress(lambda what, done, total: shown.append(done)):
        found = bounded(Misread(engine, 5, whole=True))
    assert found.keep == bounded(engine).keep
    assert shown == sorted(shown) and shown[-1] == pytest.approx(100)


def test_nothing_can_pass_with_too_few_references():
    result = bounded(forest_case(1, rows=9), 0.9, alpha=0.05)
    assert result.stopped is None
    for findings in (result.keep, result.flip):
        assert (findings.factors, findings.decided, findings.decided_share) == ((), True, 1.0)


def test_one_view_is_searched_without_the_other():
    engine = boosted_case(2)
    both = bounded(engine)
    held, replaced = (bounded(engine, views=(view,)) for view in VIEWS)
    assert (held.keep, replaced.flip) == (both.keep, both.flip)
    for findings in (held.flip, replaced.keep):
        assert (findings.factors, findings.decided, findings.decided_share) == ((), False, 0.0)


@pytest.mark.parametrize("adjust", ["holm", "bh"])
def test_adjustments_that_need_all_counts_are_refused(adjust):
    with pytest.raises(InputError, match=r"decides sets at one τ.*search exhaustively"):
        bounded(linear_case(0), alpha=0.05, adjust=adjust)


def test_a_time_limit_ends_the_search_with_what_is_decided():
    """The clock ticks once per look: the same on any machine."""
    engine, now = linear_case(4, d=14, rows=60), iter(range(10**9))
    limits = Limits(time_limit=60.0)
    keeper = LimitKeeper(limits, clock=lambda: float(next(now)))
    result = bounded(engine, limits=limits, keeper=keeper)
    assert result.stopped == Stop("time_limit", 60.0)
    for findings, profile in zip((result.keep, result.flip), full(engine), strict=True):
        assert not findings.decided
        assert 0.0 < findings.decided_share < 1.0
        exact = minimal(profile, 0.9)
        assert {m for m in exact if len(m) <= findings.decided_size} <= set(found(findings))


# -- many players ------------------------------------------------------------------------


def sparse_rows(d, rows, seed=0):
    return np.random.default_rng(seed).normal(size=(rows, d))


def opposite_rows(model, X, count):
    """The first row, and so many that are given another label."""
    labels = model.predict(X)
    return np.concatenate([X[:1], X[labels != labels[0]][:count]])


def by_hand(engine, few, d, tau):
    """The minimal sets among a few players, where the others are known not to matter."""
    sets = np.zeros((1 << len(few), d), dtype=bool)
    sets[:, few] = np.arange(1 << len(few))[:, None] >> np.arange(len(few)) & 1
    kept = engine.outcomes(sets).sum(axis=1)
    lost = engine.n - engine.outcomes(~sets).sum(axis=1)
    views = []
    for hits in (kept, lost):
        passes = {frozenset(np.flatnonzero(s).tolist()): h for s, h in zip(sets, hits, strict=True)}
        passes = {s: int(h) for s, h in passes.items() if h >= tau * engine.n}
        inside = {s for s in passes if not any(other < s for other in passes)}
        views.append({tuple(sorted(s)): passes[s] for s in inside})
    return views


def test_26_players_of_a_boosted_model_are_closed():
    d, few = 26, [1, 4, 9, 16, 25]
    X = sparse_rows(d, 300)
    y = (X[:, few] @ [3, -2, 2, 1, 1] > 0.3).astype(int)
    model = GradientBoostingClassifier(
        n_estimators=20, max_depth=2, min_samples_leaf=30, random_state=0
    ).fit(X, y)
    engine = Case(model, opposite_rows(model, X, 80)).trees()
    result = bounded(engine)
    assert result.stopped is None
    used = np.flatnonzero(model.feature_importances_).tolist()
    assert set(few) <= set(used)
    assert len(used) <= 16
    assert [found(result.keep), found(result.flip)] == by_hand(engine, used, d, 0.9)
    assert [f.decided_share for f in (result.keep, result.flip)] == [1.0, 1.0]


@pytest.mark.parametrize("d", [100, 200])
def test_hundreds_of_players_of_a_sparse_sum_are_closed(d):
    few = [3, 17, 42, 60, 77, 99]
    X = sparse_rows(d, 400)
    y = (X[:, few] @ [3, -2, 2, 1, 1, 0.5] > 0.3).astype(int)
    model = LogisticRegression().fit(X, y)
    used = np.argsort(-np.abs(model.coef_[0]))[:12]
    model.coef_ = np.where(np.isin(np.arange(d), used), model.coef_, 0.0)
    engine = Case(model, opposite_rows(model, X, 60)).additive()
    result = bounded(engine)
    assert result.stopped is None
    assert [found(result.keep), found(result.flip)] == by_hand(engine, used, d, 0.9)
    assert [f.decided_share for f in (result.keep, result.flip)] == [1.0, 1.0]


def test_two_hundred_players_of_small_trees_are_closed():
    d, few = 200, [3, 17, 42, 60]
    X = sparse_rows(d, 400)
    y = ((X[:, 3] > 0) & (X[:, 17] > -0.5) | (X[:, 42] > 0.8) & (X[:, 60] > 0)).astype(int)
    model = GradientBoostingClassifier(
        n_estimators=12, max_depth=2, min_samples_leaf=20, random_state=0
    ).fit(X, y)
    engine = Case(model, opposite_rows(model, X, 50)).trees()
    result = bounded(engine)
    assert result.stopped is None
    used = np.flatnonzero(model.feature_importances_).tolist()
    assert set(few) <= set(used)
    assert [found(result.keep), found(result.flip)] == by_hand(engine, used, d, 0.9)


def test_an_engine_that_has_given_up_bounds_nothing():
    engine = forest_case(2)
    engine._fall_back()
    held, freed = random_cubes(np.random.default_rng(0), 20, players(engine))
    single = (held | freed).all(axis=1)
    surely, may = engine.bound_cubes(held, freed)
    assert not surely[~single].any()
    assert may[~single].all()
    np.testing.assert_array_equal(surely[single], engine.outcomes(held[single]))


# -- comparing sets ----------------------------------------------------------------------


@given(st.integers(1, 20), st.integers(0, 90), st.integers(0, 1000))
def test_sets_are_compared_alike_by_words_and_by_products(d, count, seed):
    pytest.importorskip("numba")
    rng = np.random.default_rng(seed)
    known, others = rng.random((count, d)) < 0.1, rng.random((9, d)) < 0.6
    plain = [[int((k <= o).all()) for k in known] for o in others]
    completing = [
        [not o[j] and any(((k & ~o).sum() == 1) and k[j] for k in known) for j in range(d)]
        for o in others
    ]
    index = passing.SubsetIndex(known)
    for compare in (index._compare_products, index._compare_words):
        inside, found_completing = np.zeros(9, dtype=np.int64), np.zeros_like(others)
        if count:
            compare(others, inside, found_completing)
        assert inside.tolist() == [sum(row) for row in plain]
        np.testing.assert_array_equal(found_completing, completing)


@pytest.mark.parametrize("loaded", [False, True])
def test_many_factors_are_the_same_however_they_are_compared(loaded, monkeypatch):
    if loaded:
        pytest.importorskip("numba")
    monkeypatch.setattr(passing, "choose_backend", lambda work: "numba" if loaded else "numpy")
    engine = linear_case(4, d=10, rows=30)
    result = bounded(engine, 0.7)
    assert [found(result.keep), found(result.flip)] == [minimal(p, 0.7) for p in full(engine)]
