"""What must hold of the two views whatever the model: identities, monotonicity, invariance."""

from math import comb

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, strategies as st

from suffice import CausalContext, CausalModel, Explainer, Explanation, InputError, NotVisitedError
from suffice.context.cost import change_costs
from tests.random_problems import Problem, has_both_outcomes, problems, subsets, thresholds


def names(members):
    return [f"x{j}" for j in members]


@given(problems())
def test_every_subset_is_counted_as_the_definition_counts_it(world):
    assume(has_both_outcomes(world))
    e = world.explainer().explain(world.x)
    n = len(world.references)
    everyone = set(range(world.d))
    for s in subsets(world.d):
        assert e.keep.sufficiency(names(s)) == world.keeps(s) / n
        assert e.flip.sufficiency(names(s)) == world.flips(s) / n
        # One sweep, two views: replacing S flips where holding the rest does not keep.
        rest = names(everyone - set(s))
        assert np.isclose(e.flip.sufficiency(names(s)), 1 - e.keep.sufficiency(rest))


@given(problems())
def test_measures_and_contrapositives_are_direct_counts(world):
    """Remark 1, against a table of all hybrids written out."""
    assume(has_both_outcomes(world))
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
            baseline = sum(holds) / len(holds)
            assert m.baseline == baseline
            assert np.isclose(view.necessity_baseline_of(names(c), closure), baseline)
            unknown = m.necessity is None
            assert m.lift is None if unknown else np.isclose(m.lift, m.necessity / baseline)


@given(problems(), thresholds, st.data())
def test_another_distribution_of_subsets_is_a_weighted_count(world, tau, data):
    assume(has_both_outcomes(world))
    size = st.integers(1, 4)
    weights = data.draw(st.lists(size, min_size=world.d + 1, max_size=world.d + 1))
    e = world.explainer(size_weights=weights).explain(world.x, tau=tau)
    assert Explanation.from_json(e.to_json()) == e
    for view, count, chosen in (
        (e.keep, world.keeps, lambda s: len(s)),
        (e.flip, world.flips, lambda s: world.d - len(s)),
    ):
        minimal = [{int(n[1:]) for n in f.features} for f in view.factors]
        covered = total = closure = everywhere = 0.0
        for s in subsets(world.d):
            chance = weights[chosen(s)] / comb(world.d, len(s))
            mass = chance * count(s)
            total += mass
            covered += mass * any(m <= set(s) for m in minimal)
            everywhere += chance
            closure += chance * any(m <= set(s) for m in minimal)
        assert np.isclose(view.necessity_baseline, closure / everywhere)
        for c in subsets(world.d):
            chance = view.measures(names(c), upward_closure=True).baseline
            assert np.isclose(view.necessity_baseline_of(names(c)), chance)
        if total:
            assert np.isclose(view.necessity, covered / total)
            everything = view.measures([], upward_closure=True)
            assert np.isclose(everything.necessity, 1.0)
            assert np.isclose(everything.factor, everything.total)


@given(problems(), thresholds)
def test_cumulative_necessity_is_a_direct_count(world, tau):
    assume(has_both_outcomes(world))
    view = world.explainer().explain(world.x, tau=tau).keep
    minimal = [{int(n[1:]) for n in f.features} for f in view.factors]
    covered = total = 0
    for s in subsets(world.d):
        hits = world.keeps(s)
        total += hits
        covered += hits * any(m <= set(s) for m in minimal)
    assert view.necessity == (covered / total if total else None)


@given(problems(), thresholds)
def test_the_baseline_of_necessity_is_the_share_of_all_hybrids(world, tau):
    assume(has_both_outcomes(world))
    e = world.explainer().explain(world.x, tau=tau)
    # Another search counts all hybrids without keeping the counts; its closure is the same.
    pruned = world.explainer().explain(world.x, tau=tau, search="pruned")
    for view, other in ((e.keep, pruned.keep), (e.flip, pruned.flip)):
        minimal = [{int(n[1:]) for n in f.features} for f in view.factors]
        closure = [any(m <= set(s) for m in minimal) for s in subsets(world.d)]
        assert view.necessity_baseline == sum(closure) / len(closure)
        unrelated = view.necessity is None or not any(closure)
        lift = None if unrelated else view.necessity * len(closure) / sum(closure)
        assert view.necessity_lift == (lift and pytest.approx(lift))
        if other.complete and other.profile.necessity_is_exact(tau):
            assert other.necessity_baseline == view.necessity_baseline


@given(problems())
def test_necessity_never_rises_with_the_threshold(world):
    assume(has_both_outcomes(world))
    e = world.explainer().explain(world.x)
    assert e.keep.curve or e.flip.curve  # one of the outcomes comes about
    for view in (e.keep, e.flip):
        shares = [pn for _, pn in view.curve]
        assert shares == sorted(shares, reverse=True)
        assert [view.at(tau).necessity for tau, _ in view.curve] == shares


@given(problems(), st.randoms(use_true_random=False))
def test_row_order_and_feature_order_change_nothing(world, random):
    assume(has_both_outcomes(world))
    e = world.explainer(n_references=4).explain(world.x)

    rows = list(world.references)
    random.shuffle(rows)
    again = Problem(world.truth, world.x, tuple(rows)).explainer(n_references=4).explain(world.x)
    assert again.keep.factors == e.keep.factors
    assert again.flip.factors == e.flip.factors

    order = list(range(world.d))
    random.shuffle(order)
    frame = pd.DataFrame(world.references, columns=names(range(world.d)))

    def model(rows):
        return world.model(rows[names(range(world.d))].to_numpy())

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


@given(problems())
def test_a_reported_change_flips_and_none_is_cheaper(world):
    assume(has_both_outcomes(world))
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


def distance(column, old, new):
    return np.abs(new - old)


@given(problems(), st.sampled_from([None, distance, {"x0": 0.5}]))
def test_the_cheapest_change_is_what_recourse_gives_first(world, cost):
    assume(has_both_outcomes(world))
    explainer = world.explainer(cost=cost)
    e = explainer.explain(world.x)
    best = explainer.recourse(world.x).best
    assert (e.cheapest is None) == (best is None)
    if best is None:
        return
    assert np.isclose(e.cheapest.cost, best.cost, rtol=1e-9)
    assert e.cheapest.features == best.features
    assert e.cheapest.values == best.values
    changed = list(world.x)
    for name, value in e.cheapest.values.items():
        assert value != world.x[int(name[1:])]
        changed[int(name[1:])] = value
    assert world.f(changed) != world.f(world.x)
    # No set is cheaper than the cheapest of all.
    assert all(f.cost >= e.cheapest.cost * (1 - 1e-9) for f in e.flip.barcode)


@given(problems(), st.sampled_from([None, distance, {"x0": 0.0}]), st.booleans())
def test_ties_are_all_other_changes_of_the_least_cost(world, cost, fixed):
    assume(has_both_outcomes(world))
    explainer = world.explainer(cost=cost, immutable=["x0"] if fixed and world.d > 1 else ())
    e = explainer.explain(world.x)
    prices = change_costs_of(world, cost)
    found = {}
    for members in subsets(world.d):
        for i, r in enumerate(sorted(world.references)):  # as an explainer orders them
            new = tuple(r[j] for j in members)
            moves = all(r[j] != world.x[j] for j in members)
            flips = world.f(world.hybrid(set(range(world.d)) - set(members), r)) != world.f(world.x)
            if moves and flips and not (fixed and world.d > 1 and 0 in members):
                found[members, new] = sum(prices[i][j] for j in members)
    if not found:
        assert e.cheapest is None and not e.cheapest_ties
        return
    least = min(found.values()) * (1 + 1e-9)
    equal = {key for key, price in found.items() if price <= least}
    smallest = {(s, v) for s, v in equal if not any(set(t) < set(s) for t, _ in equal)}
    told = [e.cheapest, *e.cheapest_ties]
    assert len(told) == min(len(smallest), 9) == len({str(change) for change in told})
    for change in told:
        members = tuple(int(name[1:]) for name in change.features)
        assert (members, tuple(change.values.values())) in smallest
        assert np.isclose(change.cost, least, rtol=1e-8)


def change_costs_of(world, cost):
    """By reference and feature, from the explainer's own measure."""
    explainer = world.explainer(cost=cost)
    decision = explainer.decide(world.x)
    return change_costs(decision.pool, decision.data, decision.players, decision.cost)


def test_a_tie_is_named_in_the_headline_and_survives_storing():
    rows = np.array([[4, 0], [0, 4], [9, 9]])
    explainer = Explainer(
        lambda r: (r.sum(axis=1) >= 4).astype(int), rows, outcome=0, references="all", cost=distance
    )
    e = explainer.explain([0, 0])
    assert (e.cheapest.values, [tie.values for tie in e.cheapest_ties]) == ({"x0": 4}, [{"x1": 4}])
    text = " ".join(str(e).split())
    assert "is x0 0 → 4 (or x1 0 → 4, at the same cost)" in text
    assert "of one reference: x0 0 → 4 (cost 4); or x1 0 → 4, at the same cost." in text
    assert Explanation.from_json(e.to_json()).cheapest_ties == e.cheapest_ties


def test_where_every_minimal_set_may_not_change_a_larger_one_is_found():
    """x0 alone flips at τ <= 1/2, by a reference whose value of x0 is not allowed."""
    rows = np.array([[5, 7], [1, 1]])

    def model(r):
        return (((r[:, 0] == 5) & (r[:, 1] == 0)) | ((r[:, 0] == 1) & (r[:, 1] == 1))).astype(int)

    only_near = {"outcome": 0, "references": "all", "cost": never_five}
    explainer = Explainer(model, rows, **only_near)
    e = explainer.explain([0, 0])
    assert e.cheapest.values == {"x0": 1, "x1": 1} == explainer.recourse([0, 0]).best.values


def never_five(column, old, new):
    return np.where(new == 5, np.inf, np.abs(new - old))


def test_the_cheapest_change_may_be_of_a_set_that_is_minimal_nowhere():
    """x0 alone flips for one reference at 5; with x1 it flips for the other, and only that, at 2."""
    rows = np.array([[5, 7], [1, 1]])

    def model(r):
        return (((r[:, 0] == 5) & (r[:, 1] == 0)) | ((r[:, 0] == 1) & (r[:, 1] == 1))).astype(int)

    explainer = Explainer(model, rows, outcome=0, references="all", cost=distance)
    e = explainer.explain([0, 0])
    assert [(f.features, f.cost) for f in e.flip.barcode] == [(("x0",), 5)]
    assert e.cheapest.features == ("x0", "x1")
    assert e.cheapest.cost == 2 == explainer.recourse([0, 0]).best.cost
    assert "cheapest change that flips it to “1” is x0 0 → 1, x1 0 → 1." in str(e).replace(
        "\n ", ""
    )


@pytest.mark.parametrize("needed", [1, 4, 9, 13])
def test_the_cheapest_change_is_found_however_many_features_it_needs(needed):
    """Where thousands of sets cost less and flip nothing, too."""
    rng = np.random.default_rng(needed)
    rows = rng.integers(1, 4, (40, 13))
    explainer = Explainer(
        lambda r: ((np.asarray(r) > 0).sum(axis=1) >= needed).astype(int),
        rows,
        outcome=0,
        references="all",
        cost=distance,
    )
    e = explainer.explain(np.zeros(13, dtype=int))
    assert e.cheapest.cost == np.sort(rows, axis=1)[:, :needed].sum(axis=1).min()
    assert len(e.cheapest.players) == needed


def test_the_cheapest_change_leaves_no_value_missing():
    rows = np.array([[np.nan, 1.0], [3.0, 1.0], [9.0, 1.0]])
    explainer = Explainer(
        lambda r: (~(r[:, 0] < 2)).astype(int),
        rows,
        outcome=0,
        references="all",
        cost=nothing_missing,
    )
    e = explainer.explain([0.0, 1.0])
    assert e.cheapest.values == {"x0": 3.0}
    assert [f.change.values for f in e.flip] == [{"x0": 3.0}]
    assert explainer.recourse([0.0, 1.0]).best.values == {"x0": 3.0}


def nothing_missing(column, old, new):
    """What is missing would be cheapest, if anyone could go missing."""
    return np.where(np.isnan(new.astype(float)), 0.1, np.abs(new.astype(float) - float(old)))


def test_in_a_causal_context_luck_is_no_change():
    frame = pd.DataFrame({"a": [0, 1] * 10, "b": [0, 1, 1, 0] * 5})
    context = CausalContext(CausalModel([("a", "b")], frame))
    explainer = Explainer(lambda r: r["b"].to_numpy(), frame, outcome=0, context=context)
    e = explainer.explain({"a": 0, "b": 0})
    assert e.flip.barcode[0].features  # some set flips, if only downstream and by chance
    assert all(e.cheapest.values[name] == 1 for name in e.cheapest.features)
    assert e.cheapest.cost > 0


@pytest.mark.parametrize("noise", ["sampled", "kept"])
@pytest.mark.parametrize("immutable", [(), ("b",)])
def test_in_a_causal_context_the_cheapest_change_is_recourse_with_its_reliability(noise, immutable):
    rng = np.random.default_rng(1)
    a = rng.integers(0, 4, 60).astype(float)
    frame = pd.DataFrame({"a": a, "b": a + rng.normal(0, 1.5, 60), "c": rng.normal(size=60)})
    context = CausalContext(CausalModel([("a", "b")], frame), noise=noise)
    explainer = Explainer(
        lambda r: np.where(r["b"] + 0.2 * r["c"] > 2.5, "yes", "no"),
        frame,
        context=context,
        immutable=immutable,
        n_references=12,
    )
    refused = frame[frame["b"] < 0.5].iloc[:4]
    reliabilities = []
    for _, x in refused.iterrows():
        e, best = explainer.explain(x), explainer.recourse(x).best
        assert (e.cheapest is None) == (best is None)
        if best is not None:
            assert (e.cheapest.features, e.cheapest.values) == (best.features, best.values)
            assert (e.cheapest.cost, e.cheapest.reliability) == (best.cost, best.reliability)
            assert Explanation.from_json(e.to_json()).cheapest == e.cheapest
            reliabilities.append(best.reliability)
    if noise == "sampled" and immutable:
        assert reliabilities and 0.5 <= min(reliabilities) < 1


def test_a_lucky_draw_is_no_headline():
    """One reference's draw of b is lucky; of many draws of the same change few flip."""
    frame = pd.DataFrame({"a": [0.0, 1.0] * 40, "b": [0.0] * 78 + [1.0, 1.0]})
    context = CausalContext(CausalModel([("a", "b")], frame))
    explainer = Explainer(
        lambda r: r["b"].to_numpy() > 0.5, frame, outcome=False, context=context,
        references="all", immutable="b",
    )  # fmt: skip
    e = explainer.explain({"a": 0.0, "b": 0.0})
    assert explainer.recourse({"a": 0.0, "b": 0.0}).best is None
    assert e.cheapest is None


def test_a_view_is_a_sequence_of_its_factors():
    e = MAJORITY.explainer().explain(MAJORITY.x, tau=0.2)
    assert len(e.keep) == len(e.keep.factors) > 1
    assert list(e.keep) == list(e.keep.factors)
    assert e.keep[0] == e.keep.factors[0]
    assert e.keep[-1] == e.keep.factors[-1]
    assert e.keep[:2] == e.keep.factors[:2]
    assert e.keep.explanation is e
    with pytest.raises(IndexError):
        e.keep[len(e.keep)]


def test_a_factor_is_shown_on_one_line():
    e = MAJORITY.explainer().explain(MAJORITY.x)
    assert str(e.keep[0]) == "holding x0 = 2, x1 = 2 keeps it for 100% of 4 references"
    flips = "replacing x0, x1, x2 flips it for 100% of 4 references; cheapest change of this set: "
    assert str(e.flip[0]) == f"{flips}x0 2 → 0, x1 2 → 0, x2 2 → 1 (cost 20)"
    assert repr(e.keep[0]) == f"<SufficientFactor: {e.keep[0]}>"


MAJORITY = Problem(
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
    all_two = Problem(
        tuple(i == 26 for i in range(27)), (2, 2, 2), ((0, 2, 2), (2, 0, 2), (1, 1, 1))
    )
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


def test_views_can_be_read_with_another_test():
    view = MAJORITY.explainer().explain(MAJORITY.x, tau=0.5).keep
    tested = view.at(alpha=0.2, adjust="holm")
    assert tested.alpha == 0.2
    assert len(tested.factors) <= len(view.factors)
    assert tested.at(0.5, alpha=None, adjust="none").factors == view.factors
