"""Costs that differ only by rounding are equal: in what is minimal, in the order, in a limit."""

import tracemalloc
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings, strategies as st

from suffice import CausalContext, CausalModel, Explainer, InputError
from suffice.context.cost import SetCosts, cheapest_first, total_costs
from suffice.factors.lattice import masks_of_held
from suffice.factors.order import cost_at_most
from tests.effort import examples
from tests.random_problems import subsets

# -- a table of numbers and categories, where 8/3 + 1 + 1 is not the float 14/3 -------------

NUMBERS = [0, 0, 3, 3, 3, 6, 6, 14, 8, 0, 3]
MIXED = pd.DataFrame({"n": NUMBERS, "a": list("xxxxxxxxyxx"), "b": list("xxxxxxxxyxx")})
X0 = {"n": 0, "a": "x", "b": "x"}


def accepts(rows):
    return ((rows["n"] >= 14) | ((rows["n"] >= 8) & (rows["a"] == "y") & (rows["b"] == "y"))).values


def test_the_case_is_one_that_rounding_decides():
    assert 8 / 3 + 1 + 1 < 14 / 3
    assert Fraction(8, 3) + 1 + 1 == Fraction(14, 3)


@pytest.mark.parametrize("values", ["observed", "grid"])
def test_a_larger_set_is_not_cheaper_by_rounding(values):
    r = Explainer(accepts, MIXED).recourse(X0, values=values)
    assert [o.features for o in r] == [("n",)]
    assert r.best.cost == pytest.approx(14 / 3)


def test_a_larger_set_is_not_cheaper_by_rounding_where_changes_have_consequences():
    scm = CausalModel({name: [] for name in MIXED.columns}, MIXED)
    r = Explainer(accepts, MIXED, context=CausalContext(scm)).recourse(X0)
    assert [o.features for o in r] == [("n",)]
    few = Explainer(accepts, MIXED, context=CausalContext(scm)).recourse(X0, max_options=1)
    assert few.options == r.options and few.more == 0


@pytest.mark.parametrize("values", ["observed", "grid"])
def test_a_limit_on_the_cost_holds_what_costs_just_as_much(values):
    def dear(rows):
        return ((rows["n"] >= 8) & (rows["a"] == "y") & (rows["b"] == "y")).values

    explainer = Explainer(dear, MIXED)
    at_the_limit = explainer.recourse(X0, max_cost=8 / 3 + 1 + 1 - 1e-15, values=values)
    assert [o.features for o in at_the_limit] == [("n", "a", "b")]
    assert not explainer.recourse(X0, max_cost=4.66, values=values).feasible


@pytest.mark.parametrize("values", ["observed", "grid"])
def test_of_equal_costs_the_smaller_set_stands_first(values):
    def either(rows):
        return ((rows["n"] >= 14) | ((rows["a"] == "y") & (rows["b"] == "y"))).values

    for nearly in (1 - 1e-12, 1, 1 + 1e-12):
        weights = {"n": nearly * 0.3 * 3 / 14, "a": 0.1, "b": 0.2}
        r = Explainer(either, MIXED).recourse(X0, cost=weights, values=values)
        assert [o.features for o in r] == [("n",), ("a", "b")]
        few = Explainer(either, MIXED).recourse(X0, cost=weights, values=values, max_options=1)
        assert few.options == r.options[:1]


# -- a mixed table against exact arithmetic ------------------------------------------------


@st.composite
def mixed_tables(draw):
    """A numeric column whose deviation is 3, two categories, and any rule on the three of them."""
    n = st.sampled_from([0, 1, 2, 3, 4, 6, 8, 14])
    rows = draw(st.lists(st.tuples(n, st.booleans(), st.booleans()), min_size=2, max_size=8))
    accepted = draw(st.sets(st.sampled_from(sorted(set(product(*zip(*rows, strict=True)))))))
    return rows, draw(st.sampled_from(rows)), accepted


@settings(max_examples=examples(60))
@given(mixed_tables(), st.booleans())
def test_options_of_a_mixed_table_are_those_of_exact_arithmetic(case, grid):
    rows, x, accepted = case
    exact = (Fraction(1, 3), 1, 1)
    frame = pd.DataFrame(rows, columns=["n", "a", "b"])

    def model(table):
        return np.array([tuple(row) in accepted for row in table.itertuples(index=False)])

    def cost(column, old, new):
        away = np.abs(new.astype(float) - float(old))
        return away / 3 if column == "n" else away

    y = tuple(x) in accepted
    assume(len({row in accepted for row in rows}) == 2)
    explainer = Explainer(model, frame, outcome=y, references="all")
    r = explainer.recourse(
        dict(zip("nab", x, strict=True)), cost=cost, values="grid" if grid else "observed"
    )
    least = {}
    for members in subsets(3)[1:]:
        news = [tuple(r[j] if j in members else x[j] for j in range(3)) for r in rows]
        if grid:
            seen = [sorted({r[j] for r in rows}) if j in members else [x[j]] for j in range(3)]
            news += [new for new in product(*seen) if all(new[j] != x[j] for j in members)]
        prices = [
            sum(w * abs(int(new[j]) - int(x[j])) for j, w in enumerate(exact))
            for new in news
            if (new in accepted) != y
        ]
        if prices:
            least[members] = min(prices)
    minimal = {
        t: price
        for t, price in least.items()
        if not any(set(s) < set(t) and least[s] <= price for s in least)
    }
    found = {tuple("nab".index(name) for name in o.features): o.cost for o in r}
    assert found == pytest.approx({t: float(price) for t, price in minimal.items()})


# -- adding up and comparing ---------------------------------------------------------------


@settings(max_examples=examples(30))
@given(st.integers(1, 19), st.integers(0, 2**32 - 1))
def test_sums_for_sets_and_for_single_changes_are_the_same_floats(d, seed):
    rng = np.random.default_rng(seed)
    costs = np.where(rng.random((5, d)) < 0.1, np.inf, rng.random((5, d)) / 3)
    members = rng.random((7, d)) < 0.5
    sums = SetCosts(costs).of(members)
    for s, r in product(range(7), range(5)):
        parts = np.where(members[s], costs[r], 0.0)
        assert sums[s, r] == total_costs(parts[None])[0]
        assert sums[s, r] == pytest.approx(parts.sum())
    grown = members.copy()
    grown[:, rng.integers(d)] = True
    assert (SetCosts(costs).of(grown) >= sums).all()


@pytest.mark.parametrize("sets", [3, 200])
def test_sums_for_many_references_are_the_same_and_take_little_memory(sets):
    rng = np.random.default_rng(0)
    costs = np.where(rng.random((20_000, 20)) < 0.1, np.inf, rng.random((20_000, 20)) / 3)
    members = rng.random((sets, 20)) < 0.5
    tracemalloc.start()
    sums = SetCosts(costs).of(members)
    taken = tracemalloc.get_traced_memory()[1] - sums.nbytes
    tracemalloc.stop()
    assert taken < 30e6  # tables of all references would take 84 MB
    for s in (0, sets - 1):
        assert (sums[s] == total_costs(np.where(members[s], costs, 0.0))).all()
    masks = masks_of_held(members)
    assert (SetCosts(costs).of_masks(masks) == sums).all()


def test_comparisons_overlook_rounding_and_nothing_else():
    assert cost_at_most(0.3, 0.1 + 0.2) and cost_at_most(0.1 + 0.2, 0.3)
    assert not cost_at_most(0.3 + 1e-8, 0.3) and cost_at_most(0.3, 0.3 + 1e-8)
    assert cost_at_most(0.0, 0.0) and not cost_at_most(1e-300, 0.0) and cost_at_most(1.0, np.inf)
    assert cheapest_first(np.array([0.1 + 0.2, 0.3, 0.2, 0.3])).tolist() == [2, 0, 1, 3]
    assert cheapest_first(np.empty(0)).tolist() == []


# -- functions of the user's own -------------------------------------------------------------


@pytest.mark.parametrize(
    ("cost", "says"),
    [
        ({"n": "dear"}, "cost: got 'dear' for column 'n'; allowed: a number"),
        ({"N": 1}, "cost: got unknown column 'N'; allowed: columns of data. Known: n, a, b"),
        (lambda *_: 1 / 0, "cost: got a function that raised ZeroDivisionError.*by zero"),
        (lambda column: 0.0, "cost: got a function that raised TypeError"),
        (lambda column, old, new: [1.0], "cost: got shape .* for column 'n'"),
        (lambda column, old, new: -np.ones(len(new)), "cost: got -1.0 for column 'n'"),
        (lambda column, old, new: ["a"] * len(new), "cost: got"),
        ("cheap", "cost: got cheap; allowed: None, a mapping"),
    ],
)
@pytest.mark.parametrize("values", ["observed", "grid"])
def test_costs_that_cannot_be_meant_are_reported_as_the_users_own(cost, says, values):
    with pytest.raises(InputError, match=says):
        Explainer(accepts, MIXED).recourse(X0, cost=cost, values=values)
