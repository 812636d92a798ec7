"""Recourse against its definition, and on the kinds of data that people bring."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings, strategies as st

from suffice import ConditionalContext, Explainer, InputError, at_least, datasets, equals, versus
from tests.effort import examples
from tests.random_problems import has_both_outcomes, subsets
from tests.recourse.loan_cases import changed, loans_explainer
from tests.recourse.recourse_oracle import (
    Constraints,
    feature_numbers,
    options_by_definition,
    recourse_cases,
    resulting_row,
)

# -- properties --------------------------------------------------------------------------


@given(recourse_cases(), st.booleans())
def test_options_are_those_of_the_definition(case, grid):
    world, asked = case
    assume(has_both_outcomes(world))
    asked = replace(asked, grid=grid)
    r = world.explainer().recourse(world.x, **asked.arguments())
    truth = options_by_definition(world, asked)
    assert {feature_numbers(o): (o.n, o.hits) for o in r} == {
        t: (q.n, q.hits) for t, q in truth.items()
    }
    assert r.feasible == bool(truth) and r.complete
    order = [(truth[feature_numbers(o)].cost, o.size) for o in r]
    assert order == sorted(order)  # cheapest first, and of equal cost the smallest
    for option in r:
        assert option.cost == pytest.approx(float(truth[feature_numbers(option)].cost), rel=1e-12)
        row = resulting_row(world, option)
        assert world.f(row) != world.f(world.x)
        assert asked.row_ok(world, row)
        assert not asked.immutable & set(feature_numbers(option))
        assert asked.cost(world, row) == truth[feature_numbers(option)].cost
        assert option.reliability == 1.0
        assert option.changes == {
            f"x{j}": (world.x[j], row[j]) for j in range(world.d) if row[j] != world.x[j]
        }


@settings(max_examples=examples(25))
@given(recourse_cases())
def test_a_grid_never_costs_more_and_few_options_are_the_cheapest(case):
    world, asked = case
    assume(has_both_outcomes(world))
    explainer = world.explainer()
    observed = explainer.recourse(world.x, **asked.arguments())
    grid = explainer.recourse(world.x, **replace(asked, grid=True).arguments())
    if observed.feasible:
        assert grid.best.cost <= observed.best.cost * (1 + 1e-9)
        for option in observed.options:
            assert any(
                set(o.features) <= set(option.features) and o.cost <= option.cost * (1 + 1e-9)
                for o in grid
            )
    for all_of, mode in ((observed, asked), (grid, replace(asked, grid=True))):
        few = explainer.recourse(world.x, max_options=2, **mode.arguments())
        assert few.options == all_of.options[:2]
        assert all_of.more == 0
        left_out = max(0, len(all_of) - 2)
        assert few.more == left_out or (mode.grid and few.more is None and len(few) == 2)


@settings(max_examples=examples(25))
@given(recourse_cases(max_d=3))
def test_necessity_counts_the_allowed_hybrids(case):
    world, asked = case
    assume(has_both_outcomes(world))
    asked = replace(asked, max_size=None)
    free = [j for j in range(world.d) if j not in asked.immutable]
    desired = []
    for members in subsets(world.d):
        if set(members) <= set(free):
            rest = set(range(world.d)) - set(members)
            rows = [world.hybrid(rest, r) for r in world.references]
            rows = [row for row in rows if asked.row_ok(world, row)]
            desired += [set(members) for row in rows if world.f(row) != world.f(world.x)]
    for option in world.explainer().recourse(world.x, **asked.arguments()).options:
        covered = [members for members in desired if set(feature_numbers(option)) <= members]
        assert option.necessity == pytest.approx(len(covered) / len(desired))


@settings(max_examples=examples(25))
@given(recourse_cases(max_d=3), st.booleans())
def test_a_reason_names_what_is_binding(case, grid):
    world, asked = case
    assume(has_both_outcomes(world))
    asked = replace(asked, grid=grid)
    assume(not options_by_definition(world, asked))
    r = world.explainer().recourse(world.x, **asked.arguments())
    assert not r.feasible and r.options == () and r.best is None
    lifted = {}
    for j in asked.immutable:
        lifted[f"x{j} is immutable"] = replace(asked, immutable=asked.immutable - {j})
    for j in asked.ranges:
        rest = {k: v for k, v in asked.ranges.items() if k != j}
        lifted[f"x{j} must"] = replace(asked, ranges=rest)
    for j in asked.up:
        lifted[f"x{j} may only increase"] = replace(asked, up=frozenset())
    for j in asked.down:
        lifted[f"x{j} may only decrease"] = replace(asked, down=frozenset())
    for j in asked.steps:
        lifted[f"x{j} changes by multiples"] = replace(asked, steps={})
    for i, factor in enumerate(asked.arguments()["forbidden"]):
        rest = asked.forbidden[:i] + asked.forbidden[i + 1 :]
        lifted[f"{factor!r} is forbidden"] = replace(asked, forbidden=rest)
    if asked.max_cost is not None:
        lifted["max_cost="] = replace(asked, max_cost=None)
    if asked.max_size is not None:
        lifted["max_size="] = replace(asked, max_size=None)
    if asked.tau is not None:
        lifted["tau="] = replace(asked, tau=None)
    alone = False
    for words, relaxed in lifted.items():
        options = options_by_definition(world, relaxed)
        alone |= bool(options)
        assert (words in r.reason) == bool(options)
        if options:
            cheapest = float(min(q.cost for q in options.values()))
            line = next(line for line in r.reason.splitlines() if words in line)
            assert f"at cost {cheapest:.3g} would do" in line
    everything = options_by_definition(world, Constraints(weights=asked.weights, grid=grid))
    if not alone:
        works = "No combination of observed values" if grid else "No reference's values give"
        text = "without all of them" if everything else works
        assert text in r.reason


@settings(max_examples=examples(25))
@given(recourse_cases(max_d=3))
def test_engines_and_repeats_give_the_same_options(case):
    world, asked = case
    assume(has_both_outcomes(world))
    first = world.explainer().recourse(world.x, **asked.arguments())
    again = world.explainer(engine="blackbox").recourse(world.x, **asked.arguments())
    assert first == again


def test_values_that_no_reference_has_are_not_ruled_out():
    """The data has income 140, but the references given do not: only a grid may use it."""
    data = np.array([[10.0, 0.0], [20.0, 1.0], [140.0, 0.0]])
    explainer = Explainer(lambda rows: (rows[:, 0] > 100).astype(int), data, references=data[:2])
    x = [10.0, 5.0]
    r = explainer.recourse(x)
    assert not r.feasible and r.complete
    assert r.reason.startswith("No reference's values give 1 on any feature set")
    assert "values='grid'" in r.reason
    assert explainer.recourse(x, values="grid").best.values == {"x0": 140.0}
    none = explainer.recourse(x, values="grid", cost={"x0": np.inf})
    assert none.reason.startswith("No combination of observed values gives 1 at a finite cost, wi")


# -- outcomes, kinds of data, groups -----------------------------------------------------


def test_a_tree_engine_serves_and_its_flips_are_real():
    explainer, X, model = loans_explainer()
    slow, _, _ = loans_explainer(engine="blackbox")
    asked = {"immutable": "age", "decreasing": ["debt"], "tau": 0.3}
    r = explainer.recourse(X.iloc[8], **asked)
    assert r == slow.recourse(X.iloc[8], **asked)
    assert r.feasible and r.desired == "granted" and r.outcome == "refused"
    for option in r.options:
        assert model.predict(changed(X, 8, option)).tolist() == ["granted"]
        assert option.sufficiency >= 0.3
        assert option.interval[0] <= option.sufficiency <= option.interval[1]
    frame = r.to_frame()
    assert list(frame["cost"]) == [o.cost for o in r.options]


def test_a_chosen_class_among_several():
    rng = np.random.default_rng(0)
    data = rng.integers(0, 6, (80, 3))

    def scores(rows):
        rows = np.asarray(rows)
        return np.stack([rows[:, 0], rows[:, 1], 2 + 0 * rows[:, 2]], axis=1).astype(float)

    class Three:
        classes_ = np.array(["a", "b", "c"])

        def predict_proba(self, rows):
            s = np.exp(scores(rows))
            return s / s.sum(axis=1, keepdims=True)

        def predict(self, rows):
            return self.classes_[scores(rows).argmax(axis=1)]

    x = [1, 0, 0]
    explainer = Explainer(Three(), data)
    to_b = explainer.recourse(x, desired="b")
    assert to_b.desired == "b"
    assert [o.features for o in to_b.options] == [("x1",)]
    assert to_b.best.values == {"x1": 2}  # level with c, and listed before it
    anything = explainer.recourse(x)
    assert {o.features for o in anything.options} == {("x0",), ("x1",)}
    rather = explainer.recourse(x, desired=versus("b", "a"))
    assert rather.best.values["x1"] >= 2 or rather.best.values.get("x0") == 0
    with pytest.raises(InputError, match="desired: got c, which the input has already"):
        explainer.recourse(x, desired="c")


def test_a_target_for_a_regression():
    rng = np.random.default_rng(1)
    data = rng.integers(0, 20, (60, 2)).astype(float)
    explainer = Explainer(lambda rows: 10.0 * rows[:, 0] + rows[:, 1], data, outcome=at_least(0))
    r = explainer.recourse([3.0, 4.0], desired=at_least(60), values="grid")
    assert r.desired == "prediction ≥ 60"
    top = data[:, 1].max()
    assert {o.features for o in r.options} >= {("x0",)}
    for option in r.options:
        values = {"x0": 3.0, "x1": 4.0} | option.values
        assert 10 * values["x0"] + values["x1"] >= 60 and values["x1"] <= top


def test_a_group_moves_as_one_and_is_immutable_as_one():
    data = np.array([[0, 1, 0, 0], [0, 0, 1, 0], [1, 0, 0, 1], [1, 0, 1, 1]])
    names = pd.DataFrame(data, columns=["a", "red", "blue", "b"])
    explainer = Explainer(
        lambda X: (X["blue"] + X["b"]).to_numpy() >= 1,
        names,
        groups={"colour": ["red", "blue"]},
        references="all",
    )
    x = {"a": 0, "red": 1, "blue": 0, "b": 0}
    r = explainer.recourse(x, values="grid")
    assert {o.features for o in r.options} == {("colour",), ("b",)}
    colour = next(o for o in r.options if o.features == ("colour",))
    assert (colour.values["red"], colour.values["blue"]) in [(0, 1)]  # observed together
    r = explainer.recourse(x, immutable=["red", "b"])
    assert not r.feasible
    assert "colour is immutable, as its column red is: if it could change, {colour}" in r.reason
    with pytest.raises(InputError, match="'red', one column of the group 'colour'"):
        explainer.recourse(x, actionable=["red"])
    whole = explainer.recourse(x, actionable=["red", "blue"])
    assert [o.features for o in whole.options] == [("colour",)]


def categories():
    X, y = datasets.loans(200)
    X = X.assign(
        home=pd.Categorical(X["home"]),
        job=pd.Categorical(
            X["job"], categories=["temporary", "self-employed", "permanent"], ordered=True
        ),
    )
    return X[["income", "home", "job", "guarantor"]], y


def rule(X):
    X = X.to_pandas() if hasattr(X, "to_pandas") else X
    good = (X["income"] > 60) | (
        (X["job"].astype(str) == "permanent") & (X["home"].astype(str) == "owns")
    )
    return np.where(good, "granted", "refused")


X0 = {"income": 40, "home": "rents", "job": "temporary", "guarantor": False}


def test_categories_orders_and_lists_of_values_in_pandas():
    X, _ = categories()
    explainer = Explainer(rule, X)
    r = explainer.recourse(X0, increasing=["job"])
    assert {o.features for o in r.options} == {("income",), ("home", "job")}
    cost = {o.features: o.cost for o in r.options}
    assert cost["home", "job"] == 2.0
    up = explainer.recourse({**X0, "job": "permanent"}, decreasing="job", immutable=["income"])
    assert [o.features for o in up.options] == [("home",)]
    barred = explainer.recourse(
        X0, ranges={"home": ["rents", "with family"], "income": (None, 60)}, tau=None
    )
    assert not barred.feasible
    assert "home must be one of rents, with family: if it need not, {home, job}" in barred.reason
    assert "income must be at most 60: if it need not, {income}" in barred.reason
    never = explainer.recourse(X0, forbidden=equals("home", "owns") & equals("job", "permanent"))
    assert {o.features for o in never.options} == {("income",)}


def test_polars_frames_and_enums():
    pl = pytest.importorskip("polars")
    X, _ = categories()
    jobs = ["temporary", "self-employed", "permanent"]
    frame = pl.DataFrame(
        {
            "income": X["income"].to_numpy(),
            "home": X["home"].astype(str).to_list(),
            "job": pl.Series(X["job"].astype(str).to_list(), dtype=pl.Enum(jobs)),
            "guarantor": X["guarantor"].to_numpy(),
        }
    )

    def polars_rule(rows):
        good = (pl.col("income") > 60) | (
            (pl.col("job").cast(pl.String) == "permanent") & (pl.col("home") == "owns")
        )
        return rows.select(pl.when(good).then(pl.lit("granted")).otherwise(pl.lit("refused")))[
            "literal"
        ].to_numpy()

    for values in ("observed", "grid"):
        r = Explainer(polars_rule, frame).recourse(
            X0, increasing=["job"], values=values, steps={"income": 7}
        )
        assert {o.features for o in r.options} == {("income",), ("home", "job")}
        income = next(o for o in r.options if o.features == ("income",))
        assert income.values["income"] % 7 == 40 % 7


def test_steps_reach_values_that_no_row_has():
    data = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]])
    explainer = Explainer(
        lambda rows: (rows.sum(axis=1) >= 4.9).astype(int), data, references="all"
    )
    r = explainer.recourse([0.0, 0.0], values="grid", steps={"x0": 2.5}, ranges={"x0": (None, 30)})
    assert r.best.values == {"x0": 5.0} and r.best.cost == pytest.approx(1.5)
    assert r.best.n == 3 and r.best.sufficiency == pytest.approx(1 / 3)
    off = explainer.recourse([0.0, 0.0], values="grid", steps={"x0": 3.0}, actionable="x0")
    assert off.best.values == {"x0": 6.0}
    assert off.best.n == 2  # unchanged references are allowed, 10 is no multiple of 3
    assert not explainer.recourse([0.0, 0.0], steps={"x0": 3.0}, actionable="x0").feasible


def test_infinite_weights_forbid():
    explainer, X, _ = loans_explainer()
    r = explainer.recourse(X.iloc[8], cost={"income": np.inf, "debt": np.inf})
    assert all(not {"income", "debt"} & set(o.changes) for o in r.options)


def test_values_that_come_with_what_is_held_are_no_choice():
    explainer, X, _ = loans_explainer(context=ConditionalContext())
    with pytest.raises(InputError, match="Recourse needs changes that can be chosen"):
        explainer.recourse(X.iloc[8])


def test_a_set_stays_an_option_of_a_grid_beside_a_larger_set_that_costs_less():
    def flips(rows):
        a, b = rows.T
        return (a >= 10) | ((a >= 1) & (b >= 1))

    explainer = Explainer(flips, np.array([[0.0, 0.0], [20.0, 1.0]]), references="all")
    apart = {"values": "grid", "steps": {"x0": 1.0}, "cost": lambda _, old, new: abs(new - old)}
    found = explainer.recourse([0.0, 0.0], **apart)
    assert [(o.features, o.cost) for o in found] == [(("x0", "x1"), 2.0), (("x0",), 10.0)]
