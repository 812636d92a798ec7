"""What must hold of the two views whatever the model: identities, monotonicity, invariance."""

from math import comb

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

from suffice import Explanation, InputError, NotVisitedError
from tests.worlds import World, subsets, taus, two_sided, worlds


def names(members):
    return [f"x{j}" for j in members]


@given(worlds())
def test_every_subset_is_counted_as_the_definition_counts_it(world):
    assume(two_sided(world))
    e = world.explainer().explain(world.x)
    n = len(world.references)
    everyone = set(range(world.d))
    for s in subsets(world.d):
        assert e.keep.sufficiency(names(s)) == world.keeps(s) / n
        assert e.flip.sufficiency(names(s)) == world.flips(s) / n
        # One sweep, two views: replacing S flips where holding the rest does not keep.
        rest = names(everyone - set(s))
        assert np.isclose(e.flip.sufficiency(names(s)), 1 - e.keep.sufficiency(rest))


@given(worlds())
def test_measures_and_contrapositives_are_direct_counts(world):
    """Remark 1, against a table of all hybrids written out."""
    assume(two_sided(world))
    view = world.explainer().explain(world.x).keep
    table = [
        (s, world.f(world.hybrid(s, r)) == world.f(world.x))
        for s in subsets(world.d)
        for r in world.references
    ]
    for c in subsets(world.d):
        for closure in (False, True):
            m = view.measures(names(c), upward_closure=closure)
            holds = [set(c) <= set(s) if closure else s == c for s, _ in table]
            y = [hit for _, hit in table]
            pairs = list(zip(holds, y, strict=True))

            def share(part, whole, pairs=pairs):
                given_ = [p for p in pairs if whole(p)]
                return sum(map(part, given_)) / len(given_) if given_ else None

            assert m.sufficiency == share(lambda p: p[1], lambda p: p[0])
            assert m.necessity == share(lambda p: p[0], lambda p: p[1])
            assert m.negative_predictive_value == share(lambda p: not p[1], lambda p: not p[0])
            assert m.true_negative_rate == share(lambda p: not p[0], lambda p: not p[1])
            assert m.contrapositive.contrapositive == m
            assert view.necessity_of(names(c), closure) == m.necessity


@given(worlds(), taus, st.data())
def test_another_distribution_of_subsets_is_a_weighted_count(world, tau, data):
    assume(two_sided(world))
    size = st.integers(1, 4)
    weights = data.draw(st.lists(size, min_size=world.d + 1, max_size=world.d + 1))
    e = world.explainer(size_weights=weights).explain(world.x, tau=tau)
    assert Explanation.from_json(e.to_json()) == e
    for view, count, chosen in (
        (e.keep, world.keeps, lambda s: len(s)),
        (e.flip, world.flips, lambda s: world.d - len(s)),
    ):
        minimal = [{int(n[1:]) for n in f.features} for f in view.factors]
        covered = total = 0.0
        for s in subsets(world.d):
            mass = weights[chosen(s)] / comb(world.d, len(s)) * count(s)
            total += mass
            covered += mass * any(m <= set(s) for m in minimal)
        if total:
            assert np.isclose(view.necessity, covered / total)
            everything = view.measures([], upward_closure=True)
            assert np.isclose(everything.necessity, 1.0)
            assert np.isclose(everything.factor, everything.total)


@given(worlds(), taus)
def test_cumulative_necessity_is_a_direct_count(world, tau):
    assume(two_sided(world))
    view = world.explainer().explain(world.x, tau=tau).keep
    minimal = [{int(n[1:]) for n in f.features} for f in view.factors]
    covered = total = 0
    for s in subsets(world.d):
        hits = world.keeps(s)
        total += hits
        covered += hits * any(m <= set(s) for m in minimal)
    assert view.necessity == (covered / total if total else None)


@given(worlds())
def test_necessity_never_rises_with_the_threshold(world):
    assume(two_sided(world))
    for view in world.explainer().explain(world.x).__dict__.values():
        if hasattr(view, "curve"):
            shares = [pn for _, pn in view.curve]
            assert shares == sorted(shares, reverse=True)


@given(worlds(), st.randoms(use_true_random=False))
def test_row_order_and_feature_order_change_nothing(world, random):
    assume(two_sided(world))
    e = world.explainer(n_references=4).explain(world.x)

    rows = list(world.references)
    random.shuffle(rows)
    again = World(world.truth, world.x, tuple(rows)).explainer(n_references=4).explain(world.x)
    assert again.keep.factors == e.keep.factors
    assert again.flip.factors == e.flip.factors

    order = list(range(world.d))
    random.shuffle(order)
    import pandas as pd

    frame = pd.DataFrame(world.references, columns=names(range(world.d)))

    def model(rows):
        return world.model(rows[names(range(world.d))].to_numpy())

    from suffice import Explainer

    shuffled = frame[names(order)]
    plain = [
        Explainer(model, data, outcome=int(world.f(world.x)), references="all").explain(
            dict(zip(names(range(world.d)), world.x, strict=True))
        )
        for data in (frame, shuffled)
    ]
    for a, b in ((plain[0].keep, plain[1].keep), (plain[0].flip, plain[1].flip)):
        assert {(frozenset(f.features), f.sufficiency) for f in a.factors} == {
            (frozenset(f.features), f.sufficiency) for f in b.factors
        }
        assert a.necessity == b.necessity


@given(worlds())
def test_a_reported_change_flips_and_none_is_cheaper(world):
    assume(two_sided(world))
    e = world.explainer(cost=lambda column, old, new: np.abs(new - old)).explain(world.x, tau=0.01)
    for factor in e.flip.barcode:
        replaced = {int(name[1:]) for name in factor.features}
        changed = list(world.x)
        for name, value in factor.change.values.items():
            changed[int(name[1:])] = value
        assert world.f(changed) != world.f(world.x)
        prices = [
            sum(abs(r[j] - world.x[j]) for j in replaced)
            for r in world.references
            if world.f(world.hybrid(set(range(world.d)) - replaced, r)) != world.f(world.x)
        ]
        assert factor.cost == min(prices)


MAJORITY = World(
    tuple(sum((i // 9 % 3, i // 3 % 3, i % 3)) >= 3 for i in range(27)),
    (2, 2, 2),
    ((0, 0, 0), (0, 0, 1), (1, 0, 0), (0, 1, 0)),
)


def test_factors_come_small_first_then_surest():
    factors = MAJORITY.explainer().explain(MAJORITY.x, tau=0.2).keep.factors
    keys = [(f.size, -f.sufficiency) for f in factors]
    assert keys == sorted(keys)


def test_no_factor_reaching_tau_is_an_answer():
    """A model that asks for everything: only the full set keeps it, and it always does."""
    all_two = World(tuple(i == 26 for i in range(27)), (2, 2, 2), ((0, 2, 2), (2, 0, 2), (1, 1, 1)))
    view = all_two.explainer().explain(all_two.x, max_size=2).keep
    assert view.factors == ()
    assert view.best.features == ("x0", "x1")
    assert view.best.sufficiency == 2 / 3
    assert view.everything.sufficiency == 1.0
    assert not view.complete


def test_unknown_feature_and_unvisited_subset():
    e = MAJORITY.explainer().explain(MAJORITY.x)
    with pytest.raises(InputError, match=r"unknown feature 'x9'.*Known: x0, x1, x2"):
        e.keep.sufficiency(["x9"])
    with pytest.raises(InputError, match=r"tau: got 1.2; allowed: a number in \(0, 1\]"):
        e.keep.at(1.2)

    wide = np.zeros((3, 30), dtype=int)
    wide[1:] = 1
    from suffice import Explainer

    bounded = Explainer(lambda X: (X.sum(axis=1) > 2).astype(int), wide).explain(
        wide[0], max_size=1
    )
    with pytest.raises(NotVisitedError, match="exhaustive up to size 1"):
        bounded.keep.sufficiency([f"x{j}" for j in range(15)])
    few = Explainer(
        lambda X: (X.sum(axis=1) > 2).astype(int), wide, size_weights=[1e9] + [1e-9] * 30
    )
    drawn = few.explain(wide[0], max_size=1)
    assert not drawn.keep.profile.draws.held.any()
    assert drawn.flip.profile.draws.held.all()
    with pytest.raises(NotVisitedError, match="over all subsets"):
        bounded.keep.measures("x0")


def test_views_can_be_asked_with_another_test():
    view = MAJORITY.explainer().explain(MAJORITY.x, tau=0.5).keep
    tested = view.at(alpha=0.2, adjust="holm")
    assert tested.alpha == 0.2
    assert len(tested.factors) <= len(view.factors)
    assert tested.at(0.5, alpha=None, adjust="none").factors == view.factors
