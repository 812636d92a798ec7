"""Theorem 1, soundness and completeness: three ways to the τ-minimal factors agree."""

import numpy as np
from hypothesis import assume, given, strategies as st

from suffice import (
    Basis,
    CostOrder,
    Explanation,
    Target,
    held,
    minimal_sufficient_factors as algorithm1,
)
from suffice.context import Sample, make_players
from suffice.context.hybrids import SwapHybrids
from suffice.factors.lattice import (
    Lattice,
    by_level,
    by_mask,
    climb,
    climb_dense,
    climb_levels,
    climb_steps,
)
from suffice.tables import as_table
from suffice.target import Event
from tests.random_problems import (
    Problem,
    has_both_outcomes,
    minimal_by_definition,
    problems,
    subsets,
    thresholds,
)


def names(members) -> tuple[str, ...]:
    return tuple(f"x{j}" for j in members)


class Labels:
    classes = (0, 1)

    def __init__(self, world):
        self.world = world

    def predict(self, rows):
        return self.world.model(rows.native)


def all_hybrids(hybrids: SwapHybrids) -> Sample:
    """Return D in full, n · 2^d rows, with auxiliary columns for the held players."""
    lattice = Lattice(hybrids.d)
    held = np.concatenate([lattice.held(size) for size in range(hybrids.d + 1)])
    held = np.repeat(held, hybrids.n, axis=0)
    references = np.tile(np.arange(hybrids.n), 1 << hybrids.d)
    columns = {name: held[:, i] for i, name in enumerate(hybrids.players.names)}
    return Sample.of_hybrids(hybrids.rows(held, references), columns)


def written_out(world, flip: bool = False) -> Basis:
    """The whole of D as a table, and every "S was held" (for flips: "the rest was") a factor."""
    pool = as_table(np.array([world.x, *world.references]))
    context = all_hybrids(SwapHybrids(pool, make_players(pool)))
    y = int(world.f(world.x))
    event = Event("y", "not y", lambda labels: labels == y)
    everyone = set(range(world.d))
    factors = [held(*names(everyone - set(s) if flip else s)) for s in subsets(world.d)]
    return Basis(Target(Labels(world), event), context, factors)


@given(problems(), thresholds)
def test_lattice_search_is_algorithm_1_is_definition_4(world, tau):
    assume(has_both_outcomes(world))
    explanation = world.explainer().explain(world.x, tau=tau)
    n = len(world.references)

    found = algorithm1(written_out(world), y=True, tau=tau)
    share = {s: world.keeps(s) / n for s in subsets(world.d)}
    by_definition = {names(s) for s in minimal_by_definition(share, tau)}
    assert {f.features for f in explanation.keep.factors} == by_definition
    assert {f.players for f in found.factors} == by_definition
    assert explanation.keep.necessity == found.necessity
    for factor in explanation.keep.factors:
        members = tuple(int(name[1:]) for name in factor.features)
        assert factor.sufficiency == share[members]

    share = {s: world.flips(s) / n for s in subsets(world.d)}
    by_definition = {names(s) for s in minimal_by_definition(share, tau)}
    assert {f.features for f in explanation.flip.factors} == by_definition


@given(problems(max_d=3), thresholds)
def test_flip_is_algorithm_1_under_the_reversed_order(world, tau):
    """Replacing T is holding its complement, so the smaller change is the larger held set."""
    assume(has_both_outcomes(world))
    from suffice import CustomOrder

    basis = written_out(world, flip=True)
    order = CustomOrder(lambda a, b: set(b.players) <= set(a.players))
    basis = Basis(basis.target, basis.sample, basis.factors, order)
    found = algorithm1(basis, y=False, tau=tau)
    view = world.explainer().explain(world.x, tau=tau).flip
    everyone = set(names(range(world.d)))
    assert {frozenset(everyone - set(f.players)) for f in found.factors} == {
        frozenset(f.features) for f in view.factors
    }
    assert view.necessity == found.necessity


@given(
    problems(),
    st.floats(0.01, 0.6),
    st.sampled_from(["none", "bonferroni", "holm", "bh"]),
    thresholds,
)
def test_sample_mode_agrees_with_algorithm_1(world, alpha, adjust, tau):
    assume(has_both_outcomes(world))
    view = world.explainer().explain(world.x, tau=tau, alpha=alpha, adjust=adjust).keep
    found = algorithm1(written_out(world), y=True, tau=tau, alpha=alpha, adjust=adjust)
    near = any(abs(t - tau) < 1e-9 for f in view.barcode for t in f.minimal_for)
    assume(not near)  # p and α are compared in one, τ and L in the other: rounding may differ
    assert {f.features for f in view.factors} == {f.players for f in found.factors}
    assert view.necessity == found.necessity
    by_name = dict(zip([f.players for f in found.factors], found.p_values, strict=True))
    for factor in view.factors:
        assert np.isclose(factor.p_value, by_name[factor.features], rtol=1e-9)


@given(problems(), st.lists(thresholds, min_size=1, max_size=5))
def test_intervals_answer_every_threshold(world, thresholds):
    """What `at` filters is what a new search finds, and what the barcode's bars say."""
    assume(has_both_outcomes(world))
    explainer = world.explainer()
    first = explainer.explain(world.x)
    for tau in thresholds:
        again = explainer.explain(world.x, tau=tau)
        for old, new in ((first.keep, again.keep), (first.flip, again.flip)):
            assert old.at(tau).factors == new.factors
            assert old.at(tau).necessity == new.necessity
            bars = {f.features for f in old.barcode if f.minimal_for[0] < tau <= f.minimal_for[1]}
            assert bars == {f.features for f in new.factors}
            above = [pn for at, pn in old.curve if at >= tau]
            assert (above[0] if above else 0.0) == (new.necessity or 0.0)
        assert Explanation.from_json(again.to_json()) == again


@given(st.integers(1, 5), st.data())
def test_dense_and_level_paths_climb_alike(d, data):
    share = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])
    passes = [
        np.array(data.draw(st.lists(share, min_size=w, max_size=w)))
        for w in map(Lattice(d).width, range(d + 1))
    ]
    dense, levels = climb(passes, d), climb_levels(passes, d)
    for a, b in zip(dense.below + dense.reach, levels.below + levels.reach, strict=True):
        assert (a == b).all()
    taus = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
    numbers = (4 * by_mask(passes)).astype(np.uint8)
    steps = climb_steps(numbers, taus)
    for a, b in zip(by_level(taus[steps.below]), levels.below, strict=True):
        assert (a == b).all()
    for a, b in zip(by_level(taus[steps.reach]), levels.reach, strict=True):
        assert (a == b).all()


def test_long_arrays_climb_as_short_ones_do(d=14):
    """Of long arrays, sets that differ in the first players stand too close to be taken in runs."""
    rng = np.random.default_rng(0)
    for dtype in (np.uint8, np.uint16, np.float64):
        passes = rng.integers(50, size=1 << d).astype(dtype)
        below, reach = climb_dense(passes)
        levels = climb_levels([level.astype(float) for level in by_level(passes)], d)
        assert (below == by_mask(levels.below)).all()
        assert (reach == by_mask(levels.reach)).all()


def by_cost(world, costs, tau):
    """Algorithm 1 under the cost order; `costs` by set of players."""
    basis = written_out(world)
    order = CostOrder(lambda c: costs[tuple(int(p[1:]) for p in c.players)])
    return algorithm1(Basis(basis.target, basis.sample, basis.factors, order), y=True, tau=tau)


def minimal_by_cost(world, costs, tau):
    """Definition 4 word by word: sufficient, and nothing sufficient inside it costs as little."""
    n = len(world.references)
    passing = [s for s in subsets(world.d) if world.keeps(s) / n >= tau]
    return [
        s for s in passing if not any(set(t) < set(s) and costs[t] <= costs[s] for t in passing)
    ]


# Few values, so that many sets cost the same, next to real numbers that hardly ever do; neither is
# made to rise as a set grows. None differ by mere rounding, which counts as equal.
prices = st.one_of(st.integers(0, 2).map(float), st.floats(0, 10).map(lambda p: round(p, 3)))


@given(problems(max_d=3), thresholds, st.data())
def test_cost_order_follows_definition_4_whether_or_not_cost_rises_with_the_set(world, tau, data):
    assume(has_both_outcomes(world))
    costs = {s: data.draw(prices) for s in subsets(world.d)}
    found = by_cost(world, costs, tau)
    minimal = minimal_by_cost(world, costs, tau)
    assert {f.players for f in found.factors} == {names(s) for s in minimal}

    covered = [
        s
        for s in subsets(world.d)
        if any(set(m) <= set(s) and costs[m] <= costs[s] for m in minimal)
    ]
    outcome = sum(world.keeps(s) for s in subsets(world.d))
    if outcome:
        assert np.isclose(sum(world.keeps(s) for s in covered) / outcome, found.necessity)


@given(problems(), thresholds, st.data())
def test_where_cost_rises_with_the_set_the_lattice_search_is_algorithm_1_by_cost(world, tau, data):
    """A set costs what its features cost; some cost nothing, so that a set ties with one inside."""
    assume(has_both_outcomes(world))
    price = data.draw(st.lists(prices, min_size=world.d, max_size=world.d))
    costs = {s: sum(price[j] for j in s) for s in subsets(world.d)}
    found = by_cost(world, costs, tau)
    view = world.explainer().explain(world.x, tau=tau).keep
    assert {f.players for f in found.factors} == {f.features for f in view.factors}
    assert view.necessity == found.necessity


def test_a_larger_set_that_costs_less_is_minimal_too():
    """Whatever is held keeps the outcome; only the cost tells the sets apart."""
    world = Problem(truth=(True,) * 9, x=(1, 1), references=((0, 0), (0, 1)))
    costs = {(): 3.0, (0,): 2.0, (1,): 3.0, (0, 1): 2.0}
    found = by_cost(world, costs, 0.9)
    assert {f.players for f in found.factors} == {(), ("x0",)}


@given(st.integers(1, 5), st.integers(1, 8), thresholds, st.data())
def test_any_factors_under_any_order_follow_definition_4(k, rows, tau, data):
    """Random properties of z and a random partial order, against the definition word by word."""
    import pandas as pd

    from suffice import CustomOrder, Sample, auxiliary

    truth = st.lists(st.booleans(), min_size=rows, max_size=rows)
    table = pd.DataFrame({f"c{i}": data.draw(truth) for i in range(k)} | {"y": data.draw(truth)})
    pairs = data.draw(st.sets(st.tuples(st.integers(0, k - 1), st.integers(0, k - 1))))
    below = np.eye(k, dtype=bool)
    for i, j in pairs:
        below[min(i, j), max(i, j)] = True
    for m in range(k):
        below |= below[:, [m]] & below[[m], :]
    factors = [auxiliary(f"c{i}") for i in range(k)]
    number = {factor: i for i, factor in enumerate(factors)}

    class Outcome:
        classes = (False, True)

        def predict(self, z):
            return np.asarray(z.native["y"])

    context = Sample(table, [f"c{i}" for i in range(k)])
    order = CustomOrder(lambda a, b: below[number[a], number[b]])
    basis = Basis(Target(Outcome(), Event("y", "not y", lambda v: v)), context, factors, order)
    found = algorithm1(basis, y=True, tau=tau)

    y = table["y"].to_numpy()
    share = {i: (y & c).sum() / c.sum() for i in range(k) if (c := table[f"c{i}"].to_numpy()).any()}
    minimal = {
        i
        for i in share
        if share[i] >= tau and not any(j != i and below[j, i] and share[j] >= tau for j in share)
    }
    assert {number[f] for f in found.factors} == minimal
    assert {number[f] for f in found.undefined} == set(range(k)) - set(share)
    closure = [i for i in range(k) if any(below[m, i] for m in minimal)]
    covered = np.logical_or.reduce([table[f"c{i}"].to_numpy() for i in closure] or [~(y | True)])
    assert found.necessity == ((covered & y).sum() / y.sum() if y.any() else None)
