"""Curtailed ≡ full: the pruned search finds what the exhaustive one finds, from fewer rows."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

from suffice import InputError, Target, datasets
from suffice.context import make_players
from suffice.context.hybrids import SwapHybrids
from suffice.engines.blackbox import BlackBox
from suffice.search import Limits, Question, Stop, exhaustive_search, pruned as rows_module
from suffice.search.profile import Profile
from suffice.search.pruned import CurtailedEvaluation, pruned_search
from suffice.tables import as_table
from suffice.target import Event
from suffice.typing import VIEWS
from tests.effort import examples
from tests.random_problems import has_both_outcomes, problems, subsets, thresholds


class Recording:
    """A truth table that remembers every row it is asked about."""

    classes = (0, 1)
    seconds_per_row = None

    def __init__(self, predict):
        self.asked = []
        self._predict = predict

    def predict(self, rows):
        self.asked += map(tuple, np.asarray(rows.native).tolist())
        return self._predict(rows.native)


def setting(predict, x, references):
    """A recording model, a context and a fresh evaluator."""
    model = Recording(predict)
    pool = as_table(np.array([x, *references]))
    context = SwapHybrids(pool, make_players(pool))
    y = predict(np.array([x]))[0]
    target = Target(model, Event("y", "not y", lambda labels: labels == y))
    return model, context, BlackBox(target, context, True, distinct=False)


def pruned(world, tau, **question):
    model, context, evaluator = setting(world.model, world.x, world.references)
    return pruned_search(evaluator, context, Question(tau, **question)), model


def full(world, alpha=None, adjust="none", max_size=None):
    _, context, evaluator = setting(world.model, world.x, world.references)
    sweep = exhaustive_search(evaluator, context.d)
    profile = Profile(sweep.tally, alpha, adjust, max_size)
    return profile, replace(profile, tally=sweep.tally.other_view())


def minimal(profile, tau):
    return {m.members: m.hits for m in profile.minimal_at(tau)}


def found(findings):
    return {f.members: f.hits for f in findings.factors}


@pytest.fixture(params=["numbered in advance", "level by level", "a few sets at a time"])
def numbering(request, monkeypatch):
    """Lattices too large to number are rare in tests, so the bounds are lowered instead."""
    if request.param != "numbered in advance":
        monkeypatch.setattr(rows_module, "_MOST_NUMBERED", 0)
    if request.param == "a few sets at a time":
        monkeypatch.setattr(rows_module, "_HYBRIDS_AT_ONCE", 100)
    return request.param


tests_at = st.sampled_from([(None, "none"), (0.05, "none"), (0.3, "none"), (0.3, "bonferroni")])
each_numbering = pytest.mark.usefixtures("numbering")
some = settings(max_examples=examples(25))
"""Each such test runs with every numbering."""


@each_numbering
@some
@given(problems(), thresholds, tests_at)
def test_finds_what_the_exhaustive_search_finds(world, tau, test):
    alpha, adjust = test
    result, model = pruned(world, tau, alpha=alpha, adjust=adjust)
    for findings, profile in zip(
        (result.keep, result.flip), full(world, alpha, adjust), strict=True
    ):
        assert found(findings) == minimal(profile, tau)
        assert findings.decided
        assert findings.tau == tau
    assert result.stopped is None
    assert len(set(model.asked)) == len(model.asked)


@each_numbering
@some
@given(problems(), thresholds)
def test_counts_and_outcomes_are_those_of_the_hybrids(world, tau):
    result, _ = pruned(world, tau)
    y = world.f(world.x)
    everyone = set(range(world.d))
    for factor in result.keep.factors:
        kept = [world.f(world.hybrid(factor.members, r)) == y for r in world.references]
        assert factor.hits == sum(kept)
    for factor, outcomes in zip(result.flip.factors, result.flip_outcomes, strict=True):
        rest = everyone - set(factor.members)
        hybrids = [world.hybrid(rest, r) for r in world.references]
        assert outcomes.tolist() == [world.f(h) == y for h in hybrids]
        assert factor.hits == (~outcomes).sum()
    whole, _ = full(world)
    for mine, true in zip(result.tally.levels, whole.tally.levels, strict=True):
        assert mine.tolist() in ([], true.tolist())


@each_numbering
@some
@given(problems(), thresholds, st.integers(1, 60))
def test_a_budget_is_never_exceeded_and_never_misleads(world, tau, budget):
    result, model = pruned(world, tau, limits=Limits(budget=budget))
    assert len(model.asked) <= budget
    for findings, profile in zip((result.keep, result.flip), full(world), strict=True):
        assert found(findings).items() <= minimal(profile, tau).items()
        assert findings.decided == (result.stopped is None)
        if findings.decided:
            assert found(findings) == minimal(profile, tau)
    assert result.stopped in (None, Stop("budget", budget))


@each_numbering
@some
@given(problems(), thresholds, st.integers(1, 60))
def test_what_is_said_to_be_decided_is(world, tau, budget):
    """The share counts the sets of each size that was gone through, and what holds a factor."""
    result, _ = pruned(world, tau, limits=Limits(budget=budget))
    for findings in (result.keep, result.flip):
        factors = [set(f.members) for f in findings.factors]
        decided = [
            s
            for s in subsets(world.d)
            if len(s) <= findings.decided_size or any(f <= set(s) for f in factors)
        ]
        share = 1.0 if findings.decided else len(decided) / 2**world.d
        assert np.isclose(findings.decided_share, share)
        assert all(f.proof == "exhaustive" for f in findings.factors)


def test_among_many_players_the_share_decided_is_at_least_what_is_said():
    data = numbers(40, 30)
    data[:, 3] = np.arange(30) % 2
    _, context, evaluator = setting(
        lambda rows: np.asarray(rows)[:, 3].astype(int), data[0], data[1::2]
    )
    result = pruned_search(evaluator, context, Question(limits=Limits(max_size=1)))
    for findings in (result.keep, result.flip):  # half of all sets hold the factor
        assert [f.members for f in findings.factors] == [(3,)]
        assert findings.decided_size == 1
        assert np.isclose(findings.decided_share, 0.5, atol=1e-9) and findings.decided_share > 0.5


@each_numbering
@some
@given(problems(), thresholds, st.integers(1, 4), tests_at)
def test_a_bounded_search_is_right_about_what_it_searched(world, tau, max_size, test):
    alpha, adjust = test
    limits = Limits(max_size=max_size)
    result, _ = pruned(world, tau, alpha=alpha, adjust=adjust, limits=limits)
    profiles = full(world, alpha, adjust, max_size)
    for findings, profile in zip((result.keep, result.flip), profiles, strict=True):
        assert found(findings) == minimal(profile, tau)
        assert findings.decided == (max_size >= world.d)
    assert result.stopped == (None if max_size >= world.d else Stop("max_size", max_size))


@each_numbering
@some
@given(problems(), thresholds, st.integers(0, 3))
def test_same_seed_same_rows(world, tau, seed):
    first, one = pruned(world, tau, seed=seed)
    second, other = pruned(world, tau, seed=seed)
    assert one.asked == other.asked
    assert first.keep == second.keep
    assert (first.draws.held == second.draws.held).all()


@each_numbering
@some
@given(problems(), st.sampled_from([None, "ends"]))
def test_the_sample_is_of_the_context(world, weights):
    """The draws' outcomes are the hybrids' own, and their necessity is near the exact one."""
    assume(has_both_outcomes(world))
    weights = weights and [1.0] + [0.0] * (world.d - 1) + [1.0]
    result, _ = pruned(world, 0.8, size_weights=weights)
    assert len(result.draws.outcomes) == 1024
    if weights:
        assert set(result.draws.held.sum(axis=1)) <= {0, world.d}
    exact, _ = full(world)
    exact = replace(exact, size_weights=weights)
    profile = Profile(
        result.tally, draws=result.draws, findings=result.keep, size_weights=exact.size_weights
    )
    (covered, total), (true, of) = profile.covered(0.8), exact.covered(0.8)
    assert (total == 0) == (of == 0)
    if of:
        assert abs(covered / total - true / of) < 0.25  # small worlds may have few hits to draw


def numbers(d, n, seed=0):
    """So varied that keys do not fit one number, and that hardly two hybrids are the same row."""
    return np.random.default_rng(seed).random((n, d))


def majority(rows):
    return (np.asarray(rows)[:, :5].sum(axis=1) > 2.6).astype(int)


@each_numbering
def test_varied_numbers_are_predicted_once_with_the_same_result():
    data = numbers(7, 600)
    y = majority(data)
    x, references = data[0], data[y != y[0]]
    model, context, evaluator = setting(majority, x, references)
    assert not context.stable_keys
    result = pruned_search(evaluator, context, Question())
    sweep = exhaustive_search(setting(majority, x, references)[2], context.d)
    keep, flip = Profile(sweep.tally), Profile(sweep.tally.other_view())
    assert found(result.keep) == minimal(keep, 0.9)
    assert found(result.flip) == minimal(flip, 0.9)
    assert len(set(model.asked)) == len(model.asked) == evaluator.rows_predicted
    assert len(model.asked) < 0.5 * (1 << 7) * len(references)


def test_many_players_need_a_bound_and_work_with_one():
    data = numbers(80, 30)
    data[:, 3] = np.arange(30) % 2

    def third(rows):
        return np.asarray(rows)[:, 3].astype(int)

    def search(limits):
        _, context, evaluator = setting(third, data[0], data[1::2])
        return pruned_search(evaluator, context, Question(limits=limits))

    with pytest.raises(InputError, match=r"80 features, so 2\^80 subsets.*max_size"):
        search(Limits())
    for limits in (Limits(max_size=2), Limits(budget=4000)):
        result = search(limits)
        assert [f.members for f in result.keep.factors] == [(3,)]
        assert [f.members for f in result.flip.factors] == [(3,)]
        assert not result.keep.decided
        assert result.stopped is not None


def random_world(seed, d=6, n=90):
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 3, (n, d))
    effects = rng.normal(size=(d, 3)) * rng.choice([0.5, 2.0], size=(d, 1))
    pairs = rng.normal(size=(3, 3))

    def predict(rows):
        rows = np.asarray(rows)
        score = effects[np.arange(d), rows].sum(axis=1) + pairs[rows[:, 0], rows[:, 1]]
        return (score > 0).astype(int)

    y = predict(rows)
    return predict, rows[0], rows[y != y[0]]


@each_numbering
@pytest.mark.parametrize("seed", range(3))
def test_many_references_and_rounds(seed, monkeypatch):
    predict, x, references = random_world(seed)
    given_sets = ([], [])

    def spy(self, keep, flip):
        given_sets[0].extend(keep)
        given_sets[1].extend(~flip)
        return decide(self, keep, flip)

    decide = CurtailedEvaluation.decide
    monkeypatch.setattr(CurtailedEvaluation, "decide", spy)
    for tau in (0.7, 0.9, 1.0):
        model, context, evaluator = setting(predict, x, references)
        sweep = exhaustive_search(setting(predict, x, references)[2], context.d)
        for sets in given_sets:
            sets.clear()
        result = pruned_search(evaluator, context, Question(tau))
        profiles = Profile(sweep.tally), Profile(sweep.tally.other_view())
        for sets, findings, profile in zip(
            given_sets, (result.keep, result.flip), profiles, strict=True
        ):
            factors = found(findings)
            assert factors == minimal(profile, tau)
            # Nothing that contains a factor is evaluated, and nothing else is left out.
            inside = [{m for m in factors if s[list(m)].all()} for s in sets]
            assert all(
                m == {tuple(np.flatnonzero(s))} for m, s in zip(inside, sets, strict=True) if m
            )
            rest = [s for s in subsets(context.d) if not any(set(m) < set(s) for m in factors)]
            assert len(sets) == len(rest)
        assert len(set(model.asked)) == len(model.asked)


def test_german_credit_needs_few_rows(data_home):
    """A linear rule: a tenth of the rows; the benchmark has the figures of dearer models."""
    X, y = datasets.german_credit(data_home)
    x, references = X.iloc[998].to_numpy(float), X[y != y[998]].to_numpy(float)
    scale = X.to_numpy(float).std(axis=0)
    weights = np.array([-1, 0, 1, 1, 2, 4, -1, -3, 1]) / scale

    def predict(rows):
        score = np.asarray(rows) @ weights
        return (score > x @ weights - 1).astype(int)

    model, context, evaluator = setting(predict, x, references)
    result = pruned_search(evaluator, context, Question())
    full_model, _, exhaustive = setting(predict, x, references)
    sweep = exhaustive_search(exhaustive, context.d)
    assert found(result.keep) == minimal(Profile(sweep.tally), 0.9)
    assert found(result.flip) == minimal(Profile(sweep.tally.other_view()), 0.9)
    assert len(model.asked) < 0.25 * len(set(full_model.asked))


@pytest.mark.parametrize("adjust", ["holm", "bh"])
def test_adjustments_that_need_all_counts_are_refused(adjust):
    data = numbers(3, 10)
    _, context, evaluator = setting(majority, data[0], data[1:])
    with pytest.raises(InputError, match=r"decides sets at one τ.*search exhaustively"):
        pruned_search(evaluator, context, Question(alpha=0.05, adjust=adjust))


def test_with_one_view_only_that_one_is_decided():
    answers = {}
    for views in (VIEWS, ("keep",), ("flip",)):
        model, hybrids, evaluator = setting(*random_world(0))
        answers[views] = (
            pruned_search(evaluator, hybrids, Question(0.9, views=views)),
            len(model.asked),
        )
    (both, rows), (held, few), (replaced, _) = answers.values()
    assert found(held.keep) == found(both.keep) and found(replaced.flip) == found(both.flip)
    assert not held.flip.factors and not held.flip.decided
    assert not replaced.keep.factors and not replaced.keep.decided
    assert few < rows
