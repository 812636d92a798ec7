"""Proposition 1: Shapley values and interactions of a view, against shap and against definitions."""

from fractions import Fraction
from itertools import combinations, permutations, product
from math import comb

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings, strategies as st
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from suffice import Explainer, InputError, NotVisitedError, datasets
from suffice.attribution import shapley_interactions, shapley_values
from suffice.ranking import TopK, top_k
from tests.effort import examples
from tests.random_problems import VALUES, Problem, has_both_outcomes, problems, subsets

INDICES = ("shapley", "shapley-taylor")
some = settings(max_examples=examples(40))


# -- the definitions, slowly, in fractions ----------------------------------------------------


def game(world, view="keep"):
    """v(S) = PS: Proposition 1, for holding or for replacing."""
    hits = world.keeps if view == "keep" else world.flips
    return {frozenset(s): Fraction(hits(s), len(world.references)) for s in subsets(world.d)}


def derivative(v, members, others):
    """What `members` add together to `others`."""
    return sum(
        (-1) ** (len(members) - k) * v[others | frozenset(part)]
        for k in range(len(members) + 1)
        for part in combinations(members, k)
    )


def values_by_orders(v, d):
    """What each adds on arrival, over all orders of arrival: Shapley's own definition."""
    total = [Fraction(0)] * d
    orders = list(permutations(range(d)))
    for order in orders:
        for place, player in enumerate(order):
            before = frozenset(order[:place])
            total[player] += v[before | {player}] - v[before]
    return [t / len(orders) for t in total]


def interaction_by_orders(v, d, members, index):
    """Grabisch–Roubens: the set arrives as one. Shapley–Taylor: when its first member arrives."""
    others = [p for p in range(d) if p not in members]
    arrivals = [*others, members] if index == "shapley" else range(d)
    first = {members} if index == "shapley" else set(members)
    found = []
    for order in permutations(arrivals):
        place = next(i for i, player in enumerate(order) if player in first)
        found.append(derivative(v, members, frozenset(order[:place])))
    return sum(found) / Fraction(len(found))


def names(members):
    return tuple(f"x{j}" for j in members)


@given(problems(), st.sampled_from(["keep", "flip"]))
def test_values_are_those_of_the_definition_to_the_last_bit(world, name):
    assume(has_both_outcomes(world))
    view = getattr(world.explainer().explain(world.x), name)
    v, d = game(world, name), world.d
    found = shapley_values(view)
    assert list(found) == list(names(range(d)))
    assert list(found.values()) == [float(value) for value in values_by_orders(v, d)]
    for j in range(d):  # Eq. (6), word by word
        rest = [s for s in subsets(d) if j not in s]
        by_subsets = sum(
            Fraction(1, d * comb(d - 1, len(s))) * (v[frozenset(s) | {j}] - v[frozenset(s)])
            for s in rest
        )
        assert found[f"x{j}"] == float(by_subsets)
    everyone = view.sufficiency(list(names(range(d))))
    assert np.isclose(sum(found.values()), everyone - view.sufficiency([]), atol=1e-12)


@given(problems(), st.sampled_from(["keep", "flip"]), st.sampled_from(INDICES), st.data())
def test_interactions_are_those_of_the_definition_to_the_last_bit(world, name, index, data):
    assume(has_both_outcomes(world))
    order = data.draw(st.integers(1, world.d))
    view = getattr(world.explainer().explain(world.x), name)
    v = game(world, name)
    assert shapley_interactions(view, order=order, index=index) == {
        names(members): float(interaction_by_orders(v, world.d, members, index))
        for members in combinations(range(world.d), order)
    }


@some
@given(problems(), st.sampled_from(INDICES))
def test_order_one_gives_the_values(world, index):
    assume(has_both_outcomes(world))
    view = world.explainer().explain(world.x).keep
    alone = shapley_interactions(view, order=1, index=index)
    assert {name: value for (name,), value in alone.items()} == shapley_values(view)


@some
@given(problems(), st.data())
def test_sum_rules_of_the_two_interaction_indices(world, data):
    assume(has_both_outcomes(world) and world.d >= 2)
    view, v = world.explainer().explain(world.x).keep, game(world)
    everyone = frozenset(range(world.d))
    # A set's interactions with each further player add up to what it gains from none to all of them.
    order = data.draw(st.integers(2, world.d))
    found = shapley_interactions(view, order=order)
    for members in combinations(range(world.d), order - 1):
        own = sum(value for key, value in found.items() if set(names(members)) <= set(key))
        last = derivative(v, members, everyone - set(members))
        assert np.isclose(own, float(last - derivative(v, members, frozenset())), atol=1e-12)
    # Shapley–Taylor shares out the whole: lower orders from the empty set, the rest at the top.
    lower = sum(
        derivative(v, members, frozenset())
        for size in range(1, order)
        for members in combinations(range(world.d), size)
    )
    top = sum(shapley_interactions(view, order=order, index="shapley-taylor").values())
    assert np.isclose(top + float(lower), float(v[everyone] - v[frozenset()]), atol=1e-12)


@some
@given(problems())
def test_keep_and_flip_are_dual_games(world):
    """PS of replacing T is 1 - PS of holding the rest: the same values, pairs with opposite sign."""
    assume(has_both_outcomes(world))
    e = world.explainer().explain(world.x)
    assert dict(shapley_values(e.flip)) == dict(shapley_values(e.keep))
    for order in range(1, world.d + 1):
        keep, flip = (shapley_interactions(view, order=order) for view in (e.keep, e.flip))
        assert flip == {members: (-1) ** (order + 1) * value for members, value in keep.items()}


# -- Shapley's axioms -------------------------------------------------------------------------


@some
@given(problems(max_d=3), st.data())
def test_a_column_that_the_model_ignores_gets_nothing(world, data):
    assume(has_both_outcomes(world))
    extra = st.integers(0, VALUES - 1)
    wider = Problem(
        tuple(answer for answer in world.truth for _ in range(VALUES)),
        (*world.x, data.draw(extra)),
        tuple((*r, data.draw(extra)) for r in world.references),
    )
    before = shapley_values(world.explainer().explain(world.x).keep)
    view = wider.explainer().explain(wider.x).keep
    ignored = f"x{world.d}"
    assert shapley_values(view) == dict(before) | {ignored: 0.0}
    for index in INDICES:
        pairs = shapley_interactions(view, index=index)
        assert {value for members, value in pairs.items() if ignored in members} == {0.0}


@some
@given(problems(), st.integers(0, VALUES - 1))
def test_players_treated_alike_get_the_same(world, shared):
    """Equal columns, and a model that does not tell them apart."""
    assume(world.d >= 2)
    rows = list(product(range(VALUES), repeat=world.d))
    alike = Problem(
        tuple(world.f((min(r[:2]), max(r[:2]), *r[2:])) for r in rows),
        (shared, shared, *world.x[2:]),
        tuple((r[0], r[0], *r[2:]) for r in world.references),
    )
    assume(has_both_outcomes(alike))
    view = alike.explainer().explain(alike.x).keep
    found = shapley_values(view)
    assert found["x0"] == found["x1"]
    pairs = shapley_interactions(view)
    for j in range(2, alike.d):
        assert pairs["x0", f"x{j}"] == pairs["x1", f"x{j}"]


@some
@given(problems(max_references=8))
def test_values_for_joined_references_are_the_mean(world):
    half = len(world.references) // 2
    parts = [
        Problem(world.truth, world.x, world.references[:half]),
        Problem(world.truth, world.x, world.references[half : 2 * half]),
    ]
    whole = Problem(world.truth, world.x, world.references[: 2 * half])
    assume(half and all(has_both_outcomes(part) for part in parts))
    first, second = (shapley_values(p.explainer().explain(p.x).keep) for p in parts)
    for name, value in shapley_values(whole.explainer().explain(whole.x).keep).items():
        assert np.isclose(value, (first[name] + second[name]) / 2, atol=1e-12)


# -- against shap -----------------------------------------------------------------------------


def exact(shap, function, background):
    masker = shap.maskers.Independent(background, max_samples=len(background))
    return shap.explainers.Exact(function, masker)


def numbers(values):
    return np.array(list(values.values()))


def matrix(pairs, d):
    """Half of each pair's interaction on either side of the diagonal."""
    out = np.zeros((d, d))
    for (i, j), value in zip(combinations(range(d), 2), pairs.values(), strict=True):
        out[i, j] = out[j, i] = value / 2
    return out


def off_diagonal(square):
    return square - np.diag(np.diag(square))


@pytest.fixture(scope="module")
def loans():
    X, y = datasets.loans()
    X = X[["age", "income", "debt", "late payments", "guarantor"]].astype(float)
    return RandomForestClassifier(20, random_state=0, max_depth=6).fit(X, y), X


@pytest.mark.parametrize("row", [0, 8, 31])
def test_shap_exact_agrees_on_loans(shap, loans, row):
    model, X = loans
    x = X.iloc[[row]]
    answers = model.predict(X)
    background = X[answers != answers[row]].iloc[:60]
    e = Explainer(model, X, references=background).explain(x)

    def same(rows):
        return (model.predict(rows) == answers[row]).astype(float)

    found = exact(shap, same, background)(x)
    assert np.allclose(numbers(shapley_values(e.keep)), found.values[0], rtol=0, atol=1e-9)
    assert np.isclose(e.keep.sufficiency([]), found.base_values[0], rtol=0, atol=1e-9)

    # shap misplaces interactions where a column does not vary: here all do.
    assert (background != x.iloc[0]).any().all()
    square = exact(shap, same, background)(x, interactions=True).values[0]
    pairs = shapley_interactions(e.keep, index="shapley-taylor")
    assert np.allclose(matrix(pairs, X.shape[1]), off_diagonal(square), rtol=0, atol=1e-9)
    alone = [e.keep.sufficiency(name) - e.keep.sufficiency([]) for name in X.columns]
    assert np.allclose(alone, np.diag(square), rtol=0, atol=1e-9)


def test_shap_on_each_reference_agrees_with_the_flip_view(shap, loans):
    """To replace a set is to hold the reference's values there, against the input for background."""
    model, X = loans
    x = X.iloc[[8]]
    answers = model.predict(X)
    references = X[answers != answers[8]].iloc[:12]
    e = Explainer(model, X, references=references).explain(x)

    def other(rows):
        return (model.predict(rows) != answers[8]).astype(float)

    found = exact(shap, other, x)(references).values.mean(axis=0)
    assert np.allclose(numbers(shapley_values(e.flip)), found, rtol=0, atol=1e-9)


@some
@given(problems())
def test_shap_exact_agrees_on_any_model(shap, world):
    assume(has_both_outcomes(world))
    e = world.explainer().explain(world.x)
    y, x, background = world.f(world.x), np.array([world.x]), np.array(world.references)
    for view, outcome, sign in ((e.keep, y, 1), (e.flip, not y, -1)):

        def has(rows, outcome=outcome):
            return (world.model(rows) == outcome).astype(float)

        # Holding S for y gains what it loses for the other outcome; flip has the values of keep.
        found = sign * exact(shap, has, background)(x, silent=True).values[0]
        assert np.allclose(numbers(shapley_values(view)), found, rtol=0, atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_shap_trees_agree_on_the_interaction_index(shap, seed):
    """On a full grid columns are independent, so a tree's own paths average as the grid does."""
    grid = np.array(list(product(range(3), repeat=4)), dtype=float)
    rng = np.random.default_rng(seed)
    tree = DecisionTreeClassifier(random_state=0).fit(grid, rng.random(len(grid)) < 0.5)
    x = grid[[rng.integers(len(grid))]]
    view = Explainer(tree, grid, references="all").explain(x[0]).keep
    peer = shap.TreeExplainer(tree, feature_perturbation="tree_path_dependent")
    square = peer.shap_interaction_values(x)[0, :, :, int(tree.predict(x)[0])]
    ours = matrix(shapley_interactions(view), 4)
    assert np.allclose(ours, off_diagonal(square), rtol=0, atol=1e-9)
    # Its diagonal is what is left of each value, so that rows add up to the values.
    left = numbers(shapley_values(view)) - ours.sum(axis=1)
    assert np.allclose(left, np.diag(square), rtol=0, atol=1e-9)


def test_shap_exact_agrees_on_german_credit(shap, data_home):
    X, y = datasets.german_credit(data_home)
    X_train, _, y_train, _ = train_test_split(X, y, test_size=0.2, random_state=42)
    model = ExtraTreesClassifier(random_state=0, max_depth=15).fit(X_train, y_train)
    x, references = X.iloc[[998]], X[y != y[998]].iloc[:30]
    view = Explainer(model, X, references=references).explain(x).keep
    outcome = model.predict(x)[0]

    def same(rows):
        return (model.predict(rows) == outcome).astype(float)

    found = exact(shap, same, references)(x).values[0]
    assert np.allclose(numbers(shapley_values(view)), found, rtol=0, atol=1e-9)


# -- rankings ---------------------------------------------------------------------------------


@some
@given(problems(), st.data())
def test_no_ranking_beats_the_best_set_of_its_size(world, data):
    assume(has_both_outcomes(world))
    view = world.explainer().explain(world.x).keep
    score = st.integers(-2, 2)
    scores = data.draw(st.none() | st.lists(score, min_size=world.d, max_size=world.d))
    absolute = data.draw(st.booleans())
    known = list(shapley_values(view).values()) if scores is None else scores
    order = sorted(range(world.d), key=lambda j: -abs(known[j]) if absolute else -known[j])
    ranked = names(order)
    for k in range(world.d + 1):
        found = top_k(view, k, ranking=scores, absolute=absolute)
        sets = [names(s) for s in combinations(range(world.d), k)]
        assert found.k == k and found.features == ranked[:k]
        assert found.sufficiency == view.sufficiency(found.features)
        assert found.best in sets
        assert found.best_sufficiency == view.sufficiency(found.best)
        assert found.best_sufficiency == max(view.sufficiency(s) for s in sets)
        assert found.best_sufficiency >= found.sufficiency
        if k in (0, world.d):
            assert set(found.best) == set(found.features)
            assert found.best_sufficiency == found.sufficiency


def sum_of_rows(rows):
    return (np.asarray(rows).sum(axis=1) > 3).astype(int)


@pytest.fixture(scope="module")
def six():
    rng = np.random.default_rng(0)
    return Explainer(sum_of_rows, rng.random((40, 6)), references="all"), [
        0.9,
        0.8,
        0.7,
        0.6,
        0.5,
        0.1,
    ]


def test_a_ranking_may_be_given_in_any_usual_form(six):
    explainer, x = six
    view = explainer.explain(x).keep
    scores = {"x5": 0.1, "x4": -3.0, "x0": 2.0, "x1": 2.0, "x2": 0.0, "x3": -1.0}
    expected = top_k(view, 3, ranking=scores)
    assert expected.features == ("x0", "x1", "x5")  # a tie goes by the order of the features
    ordered = [scores[f"x{j}"] for j in range(6)]
    by_name = ["x0", "x1", "x5", "x2", "x3", "x4"]
    for same in (pd.Series(scores), ordered, np.array(ordered), by_name, np.array(by_name)):
        assert top_k(view, np.int64(3), ranking=same) == expected
    assert isinstance(expected, TopK) and hash(expected) == hash(top_k(view, 3, ranking=ordered))
    assert top_k(view, 3, ranking=scores, absolute=True).features == ("x4", "x0", "x1")


def test_a_bounded_search_answers_for_the_sizes_it_visited(six):
    explainer, x = six
    e = explainer.explain(x, max_size=2)
    whole = explainer.explain(x)
    for view, full in ((e.keep, whole.keep), (e.flip, whole.flip)):
        for k in (0, 1, 2, 4, 5, 6):
            assert top_k(view, k, ranking=range(6)) == top_k(full, k, ranking=range(6))
        with pytest.raises(NotVisitedError, match="not all sets of 3 features were evaluated"):
            top_k(view, 3, ranking=range(6))
        for ask in (shapley_values, shapley_interactions, lambda v: top_k(v, 2)):
            with pytest.raises(
                NotVisitedError, match=r"all 64 subsets .* evaluated 44.*exhaustive"
            ):
                ask(view)


def test_neither_threshold_nor_size_weights_change_the_game(six):
    explainer, x = six
    weighted = Explainer(
        sum_of_rows, explainer.data.native, references="all", size_weights=range(1, 8)
    )
    view = explainer.explain(x).keep
    other = weighted.explain(x, tau=0.5, max_size=6).keep
    assert other.profile.size_weights is not None
    assert shapley_values(view) == shapley_values(other) == shapley_values(view.at(0.2, alpha=0.1))


def test_groups_are_players(six):
    explainer, x = six
    grouped = Explainer(
        sum_of_rows, explainer.data.native, references="all", groups={"first two": ["x0", "x1"]}
    )
    view = grouped.explain(x).keep
    assert list(shapley_values(view)) == ["first two", "x2", "x3", "x4", "x5"]
    assert ("first two", "x5") in shapley_interactions(view)
    assert "first two" in top_k(view, 1).features


def test_what_cannot_be_answered_says_why(six):
    explainer, x = six
    e = explainer.explain(x)
    view = e.keep
    scores = {f"x{j}": 1.0 for j in range(6)}
    short = {f"x{j}": 1.0 for j in range(5)}
    for ask in (shapley_values, shapley_interactions, lambda v: top_k(v, 1)):
        with pytest.raises(InputError, match=r"view: got Explanation; .* e\.keep or e\.flip"):
            ask(e)
    for order in (0, 7, 1.5, "2", True):
        with pytest.raises(InputError, match=r"order: .* a whole number >= 1 and <= 6"):
            shapley_interactions(view, order=order)
    with pytest.raises(InputError, match="index: got 'banzhaf'; allowed: 'shapley' or"):
        shapley_interactions(view, index="banzhaf")
    with pytest.raises(InputError, match=r"index: got \['shapley'\]; allowed: 'shapley' or"):
        shapley_interactions(view, index=["shapley"])
    with pytest.raises(InputError, match="absolute: got 'no'; allowed: True or False"):
        top_k(view, 2, absolute="no")
    for k in (-1, 7, 2.0, None):
        with pytest.raises(InputError, match=r"k: .* a whole number >= 0 and <= 6"):
            top_k(view, k)
    for ranking, message in [
        (scores | {"x00": 1.0}, "unknown feature 'x00'; allowed: each feature once. Did you mean"),
        (short, "nothing for 'x5'; allowed: each feature once"),
        ([*short], "nothing for 'x5'"),
        ([*scores, "x0"], "'x0' more than once"),
        ([1.0, 2.0], "2 scores; allowed: one for each of the 6 features"),
        ([], "nothing for 'x0'"),
        ([*range(5), float("nan")], "got nan; allowed: a finite number for each feature"),
        ([*range(5), True], "got True; allowed: a finite number for each feature"),
        ([*range(5), "5"], "got '5'; allowed: a finite number for each feature"),
        (pd.Series([1.0] * 7, index=[*scores, "x0"]), "'x0' more than once"),
        ([*range(5), "x5"], "a finite number for each feature"),
        ([*range(5), None], "a finite number for each feature"),
        (np.ones((1, 6)), "1 scores"),
        ("x0", "scores by feature, scores in order, or names"),
        (3, "scores by feature, scores in order, or names"),
        (np.array(3), "scores by feature, scores in order, or names"),
    ]:
        with pytest.raises(InputError, match=f"ranking: .*{message}"):
            top_k(view, 2, ranking=ranking)
    with pytest.raises(InputError, match="absolute: got True; allowed: False for a ranking by"):
        top_k(view, 2, ranking=list(scores), absolute=True)
