"""Rules and anchors (Prop. 2): every rule counted as the definitions count it."""

from functools import reduce
from itertools import combinations, product
from operator import and_

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given, settings, strategies as st
from hypothesis.extra.numpy import arrays

from suffice import (
    Basis,
    Explainer,
    InputError,
    NotVisitedError,
    Sample,
    at_least,
    auxiliary,
    between,
    compare,
    datasets,
    equals,
    isin,
    minimal_sufficient_factors,
    versus,
    within,
)
from suffice.encodings.anchors import anchor, score_rule
from suffice.encodings.anchors.conditions import Conditions
from suffice.encodings.anchors.observed import count_by_masks, count_one_by_one
from suffice.encodings.anchors.perturbed import perturb
from suffice.encodings.anchors.wording import in_words
from suffice.evaluate import BlackBox
from tests.worlds import subsets, taus, two_sided, worlds

alphas = st.sampled_from([None, 0.3])
contexts = st.sampled_from(["perturbed", "observed"])


def lender(frame):
    """A model without randomness or fitting, on the made-up loans."""
    score = (
        0.07 * (frame["income"] - 45)
        - 0.1 * (frame["debt"] - 14)
        - 0.9 * frame["late payments"]
        + 0.6 * (frame["home"] == "owns")
    )
    return np.where(np.asarray(score > 0), "granted", "refused")


@pytest.fixture(scope="module")
def loans():
    return datasets.loans(n=300)[0]


def members(a, rule):
    """Which conditions a rule is made of, by their names."""
    names = {name: c.name for c in a.conditions for name in dict.fromkeys(c.factor.columns())}
    return frozenset(names[column] for column in rule.columns)


def every_rule(a):
    names = [c.name for c in a.conditions]
    return {frozenset(s): a.rule(*s) for k in range(len(names) + 1) for s in combinations(names, k)}


# -- against the definitions ----------------------------------------------------------------------


@given(worlds(), taus, alphas, st.sampled_from([2, 4]))
def test_observed_rules_are_those_of_algorithm_1(world, tau, alpha, bins):
    assume(two_sided(world))
    explainer = world.explainer()
    a = anchor(explainer, world.x, tau, alpha, bins=bins, context="observed")
    decision = explainer.decide(world.x)
    always = compare("x0", ">=", 0)  # the empty rule, as a factor
    rules = {
        frozenset(c.name for c in chosen): reduce(and_, [always, *(c.factor for c in chosen)])
        for k in range(len(a.conditions) + 1)
        for chosen in combinations(a.conditions, k)
    }
    basis = Basis(decision.target, Sample(decision.data), list(rules.values()))
    found = minimal_sufficient_factors(basis, decision.y, tau, alpha)
    named = {factor: name for name, factor in rules.items()}
    expected = {named[f]: ps for f, ps in zip(found.factors, found.sufficiency, strict=True)}
    assert {members(a, rule): rule.precision for rule in a.rules} == expected


def rules_by_hand(world, cuts):
    """All that can be asked of numbers by these cuts, as {column: (low, high)}, with its factor.

    A bound comes with the weaker ones that it implies, so that the subset order of Algorithm 1 is
    the order by which one rule asks less than another.
    """
    always = compare("x0", ">=", 0)
    choices = []
    for j, value in enumerate(world.x):
        lower = [compare(f"x{j}", ">", c) for c in cuts if value > c]
        upper = [compare(f"x{j}", "<=", c) for c in reversed(cuts) if value <= c]
        choices.append(
            [
                lower[:low] + upper[:high]
                for low in range(len(lower) + 1)
                for high in range(len(upper) + 1)
            ]
        )
    return {
        tightest([factor for chosen in asked for factor in chosen]): reduce(
            and_, [always, *(factor for chosen in asked for factor in chosen)]
        )
        for asked in product(*choices)
    }


def tightest(factors):
    """What is left of bounds when those that others imply are forgotten."""
    found = {}
    for f in factors:
        side = max if f.relation == ">" else min
        key = f.column, f.relation
        found[key] = side(found.get(key, f.value), f.value)
    return frozenset(found.items())


def asked_by(rule):
    return frozenset() if rule.factor is None else tightest(rule.factor.atoms())


CUTS = [0.5, 1.5]


@settings(max_examples=60)
@given(worlds(max_d=3), taus, alphas)
def test_rules_with_any_bounds_are_those_of_algorithm_1(world, tau, alpha):
    assume(two_sided(world))
    explainer = world.explainer()
    cuts = {f"x{j}": CUTS for j in range(world.d)}
    a = anchor(explainer, world.x, tau, alpha, cuts=cuts, bounds="any", context="observed")
    decision = explainer.decide(world.x)
    rules = rules_by_hand(world, CUTS)
    basis = Basis(decision.target, Sample(decision.data), list(rules.values()))
    found = minimal_sufficient_factors(basis, decision.y, tau, alpha)
    named = {factor: asked for asked, factor in rules.items()}
    expected = {named[f]: ps for f, ps in zip(found.factors, found.sufficiency, strict=True)}
    assert {asked_by(rule): rule.precision for rule in a.rules} == expected


@settings(max_examples=60)
@given(worlds(max_d=2), taus, contexts)
def test_with_any_bounds_too_the_best_rule_covers_most(world, tau, context):
    assume(two_sided(world))
    explainer = world.explainer()
    cuts = {f"x{j}": CUTS for j in range(world.d)}
    a = anchor(explainer, world.x, tau, cuts=cuts, bounds="any", context=context)
    scored = [
        score_rule(explainer, world.x, rule, context=context)
        for rule in rules_by_hand(world, CUTS).values()
    ]
    precise = [r.coverage for r in scored if r.precision is not None and r.precision >= tau]
    assert (a.best.coverage if a.best else None) == max(precise, default=None)
    cells = anchor(explainer, world.x, tau, cuts=cuts, context=context)
    assert cells.best is None or a.best.coverage >= cells.best.coverage


@settings(max_examples=60)
@given(worlds(), taus, alphas)
def test_with_equal_values_the_perturbed_context_is_the_swap_with_all_the_data(world, tau, alpha):
    assume(two_sided(world))
    explainer = world.explainer()
    a = anchor(explainer, world.x, tau, alpha, bins=3)  # at most three values: all must be equal
    for s, rule in every_rule(a).items():
        assert rule.precision == world.keeps([int(n[1:]) for n in s]) / len(world.references)
    keep = explainer.explain(world.x, tau, alpha).keep
    assert {
        members(a, r): (r.precision, r.interval, r.p_value, r.minimal_for) for r in a.rules
    } == {
        frozenset(f.features): (f.sufficiency, f.interval, f.p_value, f.minimal_for)
        for f in keep.factors
    }


@settings(max_examples=60)
@given(worlds(), taus, contexts, st.sampled_from([2, 3]))
def test_the_best_rule_covers_most_of_all_that_are_precise_enough(world, tau, context, bins):
    assume(two_sided(world))
    a = anchor(world.explainer(), world.x, tau, bins=bins, context=context)
    rules = every_rule(a)
    precise = [r for r in rules.values() if r.precision is not None and r.precision >= tau]
    if a.best is None:
        assert not precise
        assert "No rule reaches precision" in a.reason and str(a) == a.reason
    else:
        assert a.reason is None
        assert a.best.precision >= tau
        assert a.best.coverage == max(r.coverage for r in precise)
    data = np.array(world.references)
    outcome = np.array([world.f(r) == world.f(world.x) for r in data])
    table = {f"x{j}": data[:, j] for j in range(world.d)}
    for s, rule in rules.items():
        satisfied = np.ones(len(data), bool) if rule.factor is None else rule.factor(table)
        assert rule.coverage == satisfied.mean()
        assert rule.necessity == (satisfied[outcome].mean() if outcome.any() else None)
        for t, wider in rules.items():
            assert not t <= s or wider.coverage >= rule.coverage


@settings(max_examples=60)
@given(worlds(max_d=3), taus, alphas, contexts)
def test_every_threshold_is_answered_from_the_same_counts(world, tau, alpha, context):
    assume(two_sided(world))
    a = anchor(world.explainer(), world.x, 1.0, bins=2, context=context)
    direct = anchor(world.explainer(), world.x, tau, alpha, bins=2, context=context)
    assert a.at(tau, alpha).rules == direct.rules
    for rule in direct.rules:
        low, high = rule.minimal_for
        assert low < tau <= high


@given(arrays(bool, st.tuples(st.integers(1, 12), st.integers(0, 5))), st.data(), st.integers(0, 5))
def test_counting_by_masks_agrees_with_counting_one_by_one(satisfied, data, largest):
    outcome = data.draw(arrays(bool, len(satisfied)))
    largest = min(largest, satisfied.shape[1])
    fast, slow = (
        count(satisfied, outcome, largest) for count in (count_by_masks, count_one_by_one)
    )
    for left, right in ((fast.hits, slow.hits), (fast.n, slow.n)):
        assert [level.tolist() for level in left] == [level.tolist() for level in right]


# -- the perturbed rows ---------------------------------------------------------------------------


cutting = st.sampled_from([{"bins": 2}, {"bins": 3}, {"cuts": CUTS, "bounds": "any"}])


def with_cuts(world, options):
    """Options of `anchor`, with the same cuts for all columns."""
    if "cuts" not in options:
        return options
    return options | {"cuts": {f"x{j}": options["cuts"] for j in range(world.d)}}


@settings(max_examples=60)
@given(worlds(max_d=3), st.integers(0, 3), cutting)
def test_a_perturbed_row_satisfies_the_rule_and_keeps_what_it_may(world, seed, options):
    assume(two_sided(world))
    explainer = world.explainer(random_state=seed)
    conditions = anchor(explainer, world.x, **with_cuts(world, options)).conditions
    context = perturb(explainer.decide(world.x), conditions)
    rows = np.array(context.pool.native)
    for s in subsets(len(conditions)):
        held = np.zeros((context.n, context.d), bool)
        held[:, list(s)] = True
        made = context.rows(held, np.arange(context.n))
        assert conditions.holds(made)[:, list(s)].all()
        own = rows[context.chosen]
        fails = ~conditions.holds(context.pool)[context.chosen]
        for j in range(world.d):
            asked = [i for i in s if j in conditions[i].columns]
            changed = made.column(j) != own[:, j]
            assert not changed[~fails[:, asked].any(axis=1)].any()


@settings(max_examples=60)
@given(worlds(max_d=3), cutting)
def test_equal_keys_are_equal_hybrids(world, options):
    assume(two_sided(world))
    explainer = world.explainer()
    decision = explainer.decide(world.x)
    context = perturb(decision, anchor(explainer, world.x, **with_cuts(world, options)).conditions)
    held = np.array([[j in s for j in range(context.d)] for s in subsets(context.d)])
    keys = context.keys(held).ravel()
    which = np.repeat(held, context.n, axis=0), np.tile(np.arange(context.n), len(held))
    rows = np.array(context.rows(*which).native)
    for key in set(keys.tolist()):
        assert len(np.unique(rows[keys == key], axis=0)) == 1
    asked = [BlackBox(decision.target, context, decision.y, distinct=d) for d in (True, False)]
    assert (asked[0].outcomes(held) == asked[1].outcomes(held)).all()
    assert asked[0].rows_predicted <= asked[1].rows_predicted


def test_keys_of_more_conditions_than_fit_one_number():
    rng = np.random.default_rng(0)
    data = rng.integers(0, 3, (40, 70))
    explainer = Explainer(lambda rows: rows[:, 0], data, references="all")
    a = anchor(explainer, data[0], bins=3, max_size=1)
    context = perturb(explainer.decide(data[0]), a.conditions)
    assert not context.stable_keys
    held = rng.random((30, context.d)) < 0.5
    keys = context.keys(held)
    made = context.rows(
        np.repeat(held, context.n, axis=0), np.tile(np.arange(context.n), len(held))
    )
    rows = np.concatenate([np.array(made.native), np.tile(context.chosen, 30)[:, None]], axis=1)
    # Each row by itself: there the number of different keys is that of different hybrids.
    for r in range(context.n):
        mine = rows[r :: context.n]
        assert len(np.unique(keys[:, r])) == len(np.unique(mine, axis=0))
    assert not set(keys[:, 0]) & set(keys[:, 1])


def test_donors_are_drawn_uniformly_among_the_rows_that_satisfy():
    data = np.column_stack([np.repeat([1.0, 2.0, 3.0, 4.0, 50.0], 800), np.arange(4000) % 7])
    explainer = Explainer(lambda rows: (rows[:, 0] > 3.5).astype(int), data)
    context = perturb(
        explainer.decide([2.0, 1.0]),
        anchor(explainer, [2.0, 1.0], cuts={"x0": [10]}, columns=["x0"]).conditions,
    )
    nothing, inside = context.slots[0].inside
    assert (nothing == context.chosen).all()
    moved = inside != context.chosen
    assert moved.sum() == 800
    values = context.pool.column(0)[inside[moved]]
    _, times = np.unique(values, return_counts=True)
    assert len(times) == 4
    assert (np.abs(times - 200) < 5 * np.sqrt(800 * 0.25 * 0.75)).all()


def test_no_row_lies_where_the_input_does():
    """Its own values then stand in for the donors' that are missing."""
    data = np.column_stack([np.arange(20.0), np.arange(20.0) % 4])
    explainer = Explainer(lambda rows: (rows[:, 0] > 9).astype(int), data)
    rule = anchor(explainer, [100.0, 1.0], cuts={"x0": [50.0]}).rule("x0")
    assert (rule.precision, rule.n, rule.coverage, rule.necessity) == (1.0, 20, 0.0, 0.0)
    observed = anchor(explainer, [100.0, 1.0], cuts={"x0": [50.0]}, context="observed")
    rule = observed.rule("x0")
    assert (rule.precision, rule.interval, rule.p_value, rule.n) == (None, None, None, 0)
    assert all(r.n > 0 for r in observed.at(0.01).rules)


@pytest.mark.parametrize("context", ["perturbed", "observed"])
def test_the_order_of_rows_and_columns_does_not_matter(loans, context):
    x = loans.iloc[8]
    columns = ["income", "debt", "late payments", "home", "age"]
    one = anchor(Explainer(lender, loans[columns]), x[columns], 0.9, context=context)
    mixed = loans.sample(frac=1, random_state=3)[columns[::-1]]
    two = anchor(Explainer(lender, mixed), x[columns], 0.9, context=context)
    numbers = [
        {members(a, r): (r.precision, r.coverage, r.necessity) for r in a.rules} for a in (one, two)
    ]
    assert numbers[0] == numbers[1] and numbers[0]


def test_a_sample_of_rows_is_perturbed(loans):
    explainer = Explainer(lender, loans)
    some = anchor(explainer, loans.iloc[8], 0.9, n=100)
    assert {r.n for r in some.rules} == {100}
    assert some.rules == anchor(explainer, loans.iloc[8], 0.9, n=100).rules
    assert anchor(explainer, loans.iloc[8], 0.9, n=10**6).rules == (
        anchor(explainer, loans.iloc[8], 0.9).rules
    )


# -- conditions -----------------------------------------------------------------------------------


def condition_of(data, x, column, **options):
    model = len(data) * [0, 1]
    explainer = Explainer(lambda rows: np.array(model[: len(rows)]), data, references="all")
    found = {c.name: c for c in anchor(explainer, x, context="observed", **options).conditions}
    return repr(found[column].factor) if column in found else None


def test_numbers_are_cut_into_quantile_bins():
    data = pd.DataFrame({"a": np.arange(20), "f": np.arange(20) / 7, "b": [0, 1] * 10})
    at = {"f": 1.1, "b": 1}
    assert condition_of(data, {"a": 7, **at}, "a") == "compare('a', '>', 4) & compare('a', '<=', 9)"
    assert condition_of(data, {"a": 4, **at}, "a") == "compare('a', '<=', 4)"
    assert condition_of(data, {"a": 99, **at}, "a") == "compare('a', '>', 14)"
    assert condition_of(data, {"a": 7, **at}, "f") == (
        "compare('f', '>', 0.7) & compare('f', '<=', 1.4)"
    )
    assert condition_of(data, {"a": 7, **at}, "b") == "equals('b', 1)"
    cut = {"cuts": {"b": [0.5], "a": [3, 8.5]}}
    assert condition_of(data, {"a": 7, **at}, "b", **cut) == "compare('b', '>', 0.5)"
    assert condition_of(data, {"a": 8, **at}, "a", **cut) == (
        "compare('a', '>', 3) & compare('a', '<=', 8.5)"
    )
    assert condition_of(data, {"a": 7, **at}, "a", categorical=["a"]) == "equals('a', 7)"
    assert condition_of(data, {"a": 7, **at}, "a", cuts={"a": [100]}) is None


@settings(max_examples=60)
@given(st.lists(st.floats(-1e6, 1e6), min_size=6, max_size=30), st.integers(2, 6), st.data())
def test_short_cuts_part_the_data_as_the_quantiles_do(values, bins, data):
    values = np.array(values)
    assume(len(np.unique(values)) > bins)
    x = data.draw(st.sampled_from(values.tolist()))
    quantiles = np.unique(np.quantile(values, np.arange(1, bins) / bins))
    cell = np.searchsorted(quantiles, values) == np.searchsorted(quantiles, x)
    frame = pd.DataFrame({"v": values, "other": np.arange(len(values)) % 2})
    explainer = Explainer(lambda rows: rows["other"].to_numpy(), frame)
    a = anchor(explainer, {"v": x, "other": 0}, bins=bins, context="observed")
    assert a.rule("v").n == cell.sum() if any(c.name == "v" for c in a.conditions) else cell.all()


def test_missing_values_categories_and_truths():
    data = pd.DataFrame(
        {
            "n": [1.0, 2.0, 3.0, 4.0, 5.0, np.nan] * 3,
            "i": pd.array([1, 2, 3, 4, 5, None] * 3, dtype="Int64"),
            "c": pd.Categorical([3, 4, 3, 4, 3, 4] * 3),
            "s": ["a", None, "b"] * 6,
            "t": [True, False] * 9,
            "same": ["z"] * 18,
        }
    )
    for r, expected in ((5, "equals('{}', None)"), (0, "compare('{}', '<=', 2)")):
        for column in "ni":
            assert condition_of(data, data.iloc[r], column) == expected.format(column)
    assert condition_of(data, data.iloc[0], "c") == "equals('c', 3)"
    assert condition_of(data, data.iloc[1], "s") == "equals('s', None)"
    assert condition_of(data, data.iloc[1], "t") == "equals('t', False)"
    assert condition_of(data, data.iloc[0], "same") is None
    explainer = Explainer(lambda rows: rows["t"].to_numpy(), data)
    for r in range(6):
        a = anchor(explainer, data.iloc[r], bins=3)
        assert str(a.best) == f"t = {r % 2 == 0}"


def test_numbers_that_are_all_missing_ask_nothing_of_a_number():
    data = pd.DataFrame({"n": [np.nan] * 6, "v": range(6)})
    assert condition_of(data, {"n": 3.0, "v": 1}, "n", bins=2) == "equals('n', 3.0)"
    assert condition_of(data, {"n": np.nan, "v": 1}, "n") is None


def test_a_group_asks_for_all_of_its_columns(loans):
    explainer = Explainer(lender, loans, groups={"money": ["income", "debt"]})
    a = anchor(explainer, loans.iloc[8], 0.9)
    money = next(c for c in a.conditions if c.name == "money")
    assert set(money.factor.columns()) == {"income", "debt"}
    assert any({"income", "debt"} <= set(rule.columns) for rule in a.rules)
    for rule in a.rules:
        assert score_rule(explainer, loans.iloc[8], rule.factor).precision == rule.precision
    # Where the row fails any of the group's conditions, all of them come from one row.
    context = perturb(explainer.decide(loans.iloc[8]), Conditions([money]))
    made = context.rows(np.ones((context.n, 1), bool), np.arange(context.n))
    pairs = set(map(tuple, loans[["income", "debt"]].to_numpy().tolist()))
    assert set(map(tuple, made.native[["income", "debt"]].to_numpy().tolist())) <= pairs


def test_frames_of_any_kind_give_the_same_rules(loans):
    columns = ["income", "debt", "late payments", "home"]
    as_polars = pl.DataFrame(loans[columns].to_dict(orient="list"))
    found = []
    for data in (loans[columns], as_polars, loans[columns].astype({"home": "category"})):
        ask = lender if isinstance(data, pd.DataFrame) else lambda f: lender(f.to_pandas())
        found.append(anchor(Explainer(ask, data), loans.iloc[8][columns].to_dict(), 0.9).rules)
    assert found[0] == found[1] == found[2]
    codes = loans[columns].assign(home=loans["home"] == "owns").to_numpy(dtype=float)

    def on_array(rows):
        frame = pd.DataFrame(rows, columns=columns)
        return lender(frame.assign(home=np.where(frame["home"] == 1, "owns", "rents")))

    a = anchor(Explainer(on_array, codes), codes[8], 0.9)
    assert a.best.columns == tuple(f"x{columns.index(name)}" for name in found[0][0].columns)


# -- many conditions, and bounds ------------------------------------------------------------------


@pytest.mark.parametrize("context", ["perturbed", "observed"])
def test_many_features_need_a_bound(context):
    rng = np.random.default_rng(1)
    data = rng.random((60, 30))
    x = np.where(np.isin(np.arange(30), [3, 7]), 0.95, data[0])
    explainer = Explainer(lambda rows: (rows[:, 3] + rows[:, 7] > 1.2).astype(int), data)
    with pytest.raises(InputError, match="max_size: got None with 30 conditions"):
        anchor(explainer, x, context=context)
    bounded = anchor(explainer, x, 0.9, context=context, max_size=2)
    assert not bounded.complete and "larger rules were not looked at" in str(bounded)
    names = [f"x{j}" for j in (2, 3, 5, 7)]
    whole = anchor(explainer, x, 0.9, context=context, columns=names)
    assert whole.complete and len(whole.conditions) == 4
    mine = [r for r in bounded.rules if set(r.columns) <= set(names)]
    assert [r for r in whole.rules if len(r.columns) <= 2] == mine and mine
    with pytest.raises(NotVisitedError, match="raise max_size"):
        bounded.rule("x0", "x1", "x2")
    hopeless = bounded.at(1.0, 0.01)
    assert "allow larger rules (max_size)" in hopeless.reason
    assert "by its lower bound at α = 0.01" in hopeless.reason


@pytest.mark.parametrize("context", ["perturbed", "observed"])
def test_any_bounds_of_few_features(loans, context):
    explainer, x = Explainer(lender, loans), loans.iloc[8]
    whole = anchor(explainer, x, 0.9, bounds="any", context=context)
    few = anchor(explainer, x, 0.9, bounds="any", context=context, max_size=2)
    assert whole.complete and not few.complete
    assert few.rules == tuple(r for r in whole.rules if len(r.columns) <= 2)
    assert max(len(r.columns) for r in whole.rules) > 2
    cell = anchor(explainer, x, 0.9, context=context).rule("income", "debt")
    again = few.rule("income", "debt")
    assert (str(again), again.precision) == (str(cell), cell.precision)
    with pytest.raises(NotVisitedError, match="rules of 3 features"):
        few.rule("income", "debt", "age")
    with pytest.raises(InputError, match=r"max_size: got 2 with \d+ conditions.*bounds='cell'"):
        anchor(explainer, x, bounds="any", bins=12, max_size=2, context=context)


def test_nothing_can_be_asked_of_constant_columns():
    data = np.column_stack([np.ones(6), np.arange(6)])
    explainer = Explainer(lambda rows: (rows[:, 1] > 0).astype(int), data)
    a = anchor(explainer, data[3], 0.8, columns=["x0"])
    assert a.conditions == () and a.complete
    assert str(a.best) == "always" and a.best.factor is None and a.best.columns == ()
    assert (a.best.precision, a.best.coverage, a.best.necessity) == (5 / 6, 1.0, 1.0)
    assert score_rule(explainer, data[3], None).precision == 5 / 6
    assert "the highest is 0.833, of 'always'" in a.at(0.9).reason


# -- any rule -------------------------------------------------------------------------------------


@given(worlds(max_d=3), taus, contexts, cutting)
def test_scoring_a_rule_again_gives_its_numbers(world, tau, context, options):
    assume(two_sided(world))
    explainer, options = world.explainer(), with_cuts(world, options)
    for rule in anchor(explainer, world.x, tau, context=context, **options).rules:
        again = score_rule(explainer, world.x, rule.factor, context=context, tau=tau)
        assert (again.precision, again.interval, again.n, again.p_value) == (
            rule.precision,
            rule.interval,
            rule.n,
            rule.p_value,
        )
        assert (again.coverage, again.necessity) == (rule.coverage, rule.necessity)
        assert again.minimal_for is None


def test_a_rule_that_is_no_conjunction_moves_whole(loans):
    rule = (compare("income", ">", 60) | compare("debt", "<=", 5)) & equals("home", "owns")
    explainer = Explainer(lender, loans, "granted")
    scored = score_rule(explainer, None, rule)
    assert str(scored) == "(income > 60 or debt ≤ 5) and home = owns"
    assert scored.n == len(loans) and scored.columns == ("income", "debt", "home")
    satisfied = ((loans["income"] > 60) | (loans["debt"] <= 5)) & (loans["home"] == "owns")
    granted = lender(loans) == "granted"
    assert scored.coverage == satisfied.mean()
    assert scored.necessity == satisfied[granted].mean()
    observed = score_rule(explainer, None, rule, context="observed")
    assert observed.precision == granted[satisfied].mean() and observed.n == satisfied.sum()


def test_a_sample_of_another_tool(loans):
    rule = compare("income", ">", 60)
    explainer = Explainer(lender, loans, "granted")
    sample = loans.sample(100, random_state=1)
    scored = score_rule(explainer, None, rule, sample=sample)
    fits = sample[sample["income"] > 60]
    assert scored.precision == (lender(fits) == "granted").mean() and scored.n == len(fits)
    assert scored.coverage == (loans["income"] > 60).mean()
    none = score_rule(explainer, None, rule, sample=sample[sample["income"] < 30])
    assert (none.precision, none.interval, none.n) == (None, None, 0)


def test_an_outcome_by_scores():
    """The data's own answers are labels, so the model is asked for their scores."""

    def scores(rows):
        return np.column_stack([rows[:, 0], rows[:, 1], 0.5 + 0 * rows[:, 0]])

    data = np.random.default_rng(0).random((80, 2))
    explainer = Explainer(scores, data, versus(0, 1))
    scored = score_rule(explainer, None, compare("x0", ">", 0.5), context="observed")
    above = data[data[:, 0] > 0.5]
    assert scored.precision == (above[:, 0] > above[:, 1]).mean()


def test_words():
    assert in_words(equals("a", None) & compare("a", "!=", 3)) == "a is missing and a ≠ 3"
    assert in_words(isin("a", ["p", "q"]) | ~equals("b", 2.0)) == "a in {p, q} or not (b = 2)"
    assert in_words(between("a", 1, 2.5) & auxiliary("w")) == "1 ≤ a ≤ 2.5 and auxiliary('w')"
    within_3 = compare("a", "<", 3) & compare("b", ">", 1) & compare("a", ">=", 0.5)
    assert in_words(within_3) == "0.5 ≤ a < 3 and b > 1"
    assert in_words(within_3 | equals("c", True)) == "(0.5 ≤ a < 3 and b > 1) or c = True"


def test_the_answer_as_text_and_frame(loans):
    a = anchor(Explainer(lender, loans), loans.iloc[8], 0.9)
    assert str(a).startswith("refused, with precision at least 0.9, if\n  ")
    frame = a.to_frame()
    assert list(frame["rule"]) == [str(r) for r in a.rules]
    assert list(frame["coverage"]) == sorted(frame["coverage"], reverse=True)
    assert (frame["low"] <= frame["precision"]).all() and (frame["precision"] >= 0.9).all()


# -- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tau": 0}, "tau: got 0"),
        ({"alpha": 2}, "alpha: got 2"),
        ({"bins": 1}, "bins: got 1; allowed: a whole number >= 2"),
        ({"bins": True}, "bins: got True"),
        ({"bounds": "all"}, "bounds: got 'all'; allowed: 'cell' or 'any'"),
        ({"cuts": [1]}, r"cuts: got \[1\]; allowed: \{column"),
        ({"cuts": {"agee": [1]}}, "cuts: got unknown column 'agee'.*Did you mean 'age'"),
        ({"cuts": {"home": [1]}}, "cuts: got column 'home' of dtype"),
        ({"cuts": {"age": [40, 30]}}, r"cuts: got \[40, 30\] for column 'age'"),
        ({"cuts": {"age": []}}, "finite numbers, each larger"),
        ({"cuts": {"age": [np.inf]}}, "finite numbers"),
        ({"cuts": {"age": "30"}}, "finite numbers"),
        ({"cuts": {"age": [30]}, "categorical": ["age"]}, "'age', which is also categorical"),
        ({"categorical": "age"}, "categorical: got 'age'; allowed: a list of columns"),
        ({"categorical": ["agee"]}, "categorical: got unknown column 'agee'"),
        ({"columns": "age"}, "columns: got age; allowed: a list of names"),
        ({"columns": []}, r"columns: got \[\]"),
        ({"columns": ["agee"]}, "columns: got unknown feature 'agee'.*Did you mean 'age'"),
        ({"context": "all"}, "context: got 'all'; allowed: 'perturbed' or 'observed'"),
        ({"n": 0}, "n: got 0"),
        ({"n": 5, "context": "observed"}, "n: got 5; allowed: None with context='observed'"),
        ({"max_size": 0}, "max_size: got 0"),
    ],
)
def test_bad_options(loans, options, message):
    with pytest.raises(InputError, match=message):
        anchor(Explainer(lender, loans), loans.iloc[8], **options)


def test_a_value_that_no_rule_can_name():
    data = pd.DataFrame({"d": pd.date_range("2020-01-01", periods=8), "v": range(8)})
    explainer = Explainer(lambda rows: (rows["v"] > 3).to_numpy(), data)
    with pytest.raises(InputError, match=r"columns: got column 'd'.*columns=\[…\]"):
        anchor(explainer, data.iloc[0])
    assert str(anchor(explainer, data.iloc[0], columns=["v"]).best) == "v ≤ 1"


def test_bad_rules(loans):
    explainer, x = Explainer(lender, loans), loans.iloc[8]
    with pytest.raises(InputError, match="rule: got income > 3; allowed: a factor"):
        score_rule(explainer, x, "income > 3")
    with pytest.raises(InputError, match=r"rule: got unknown column 'incom'.*'income'"):
        score_rule(explainer, x, equals("incom", 3))
    with pytest.raises(InputError, match="no row of the data satisfies"):
        score_rule(explainer, x, compare("income", ">", 10**6))
    with pytest.raises(InputError, match="context: got 'observed' and a sample"):
        score_rule(explainer, x, equals("home", "owns"), sample=loans, context="observed")
    with pytest.raises(InputError, match="sample: got unknown column 'age'"):
        score_rule(explainer, x, equals("home", "owns"), sample=loans[["home"]])
    with pytest.raises(InputError, match="x: got None, and an outcome that depends"):
        score_rule(explainer, None, equals("home", "owns"))
    numbers = loans[["age", "debt"]]
    for outcome, fine in ((within(3), False), (at_least(30), True)):
        valued = Explainer(lambda f: f["age"] + f["debt"] * 1.0, numbers, outcome)
        if fine:
            assert score_rule(valued, None, compare("age", ">", 40)).precision == 1.0
        else:
            with pytest.raises(InputError, match="depends on the input"):
                score_rule(valued, None, compare("age", ">", 40))


@pytest.mark.parametrize("ask", [anchor, lambda e, x: score_rule(e, x, None)])
def test_rules_need_an_explainer_of_a_table(ask):
    with pytest.raises(InputError, match="explainer: got int; allowed: an Explainer"):
        ask(3, [1.0])
