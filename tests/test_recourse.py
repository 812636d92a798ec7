"""Recourse against its definition: brute force over all sets and changes of small worlds."""

from dataclasses import dataclass, field, replace
from itertools import product
from time import perf_counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings, strategies as st

from suffice import (
    ConditionalContext,
    Explainer,
    InputError,
    ModelError,
    at_least,
    compare,
    datasets,
    equals,
    versus,
)
from tests.worlds import VALUES, World, subsets, two_sided, worlds

# -- the definition, word by word --------------------------------------------------------


@dataclass(frozen=True)
class Wish:
    """Constraints in a form that plain Python can check."""

    immutable: frozenset = frozenset()
    ranges: dict = field(default_factory=dict)
    up: frozenset = frozenset()
    down: frozenset = frozenset()
    steps: dict = field(default_factory=dict)
    forbidden: tuple = ()
    """Each {column: value}: all of them together may not be."""
    weights: tuple = ()
    tau: float | None = None
    max_cost: float | None = None
    max_size: int | None = None
    grid: bool = False

    def arguments(self) -> dict:
        factors = []
        for pairs in self.forbidden:
            parts = [equals(f"x{j}", v) for j, v in pairs.items()]
            factors.append(parts[0] if len(parts) == 1 else parts[0] & parts[1])
        weights = {f"x{j}": w for j, w in enumerate(self.weights)}  # inf × 0 is no cost
        return {
            "immutable": [f"x{j}" for j in self.immutable],
            "ranges": {f"x{j}": bounds for j, bounds in self.ranges.items()},
            "increasing": [f"x{j}" for j in self.up],
            "decreasing": [f"x{j}" for j in self.down],
            "steps": {f"x{j}": step for j, step in self.steps.items()},
            "forbidden": factors,
            "cost": lambda column, old, new: np.where(
                new == old, 0.0, weights[column] * np.maximum(abs(new - old), 0.5)
            ),
            "tau": self.tau,
            "max_cost": self.max_cost,
            "max_size": self.max_size,
            "values": "grid" if self.grid else "observed",
        }

    def value_ok(self, world: World, j: int, v: int) -> bool:
        old = world.x[j]
        low, high = self.ranges.get(j, (None, None))
        return v == old or (
            (low is None or v >= low)
            and (high is None or v <= high)
            and not (j in self.up and v < old)
            and not (j in self.down and v > old)
            and (v - old) % self.steps.get(j, 1) == 0
        )

    def row_ok(self, world: World, row) -> bool:
        return all(self.value_ok(world, j, v) for j, v in enumerate(row)) and not any(
            all(row[j] == v for j, v in pairs.items()) for pairs in self.forbidden
        )

    def cost(self, world: World, row) -> float:
        return sum(
            self.weights[j] * abs(v - world.x[j]) for j, v in enumerate(row) if v != world.x[j]
        )


@dataclass(frozen=True)
class Truth:
    cost: float
    n: int
    hits: int


def by_definition(world: World, wish: Wish) -> dict:
    """The options: {set: (cost, allowed, hits)}."""
    y = world.f(world.x)
    free = [j for j in range(world.d) if j not in wish.immutable]
    qualified = {}
    for members in subsets(world.d):
        if not members or not set(members) <= set(free):
            continue
        rest = set(range(world.d)) - set(members)
        rows = [world.hybrid(rest, r) for r in world.references]
        allowed = [row for row in rows if wish.row_ok(world, row)]
        hits = [row for row in allowed if world.f(row) != y]
        changes = list(hits)
        if wish.grid:
            changes += [row for row in grid_rows(world, wish, members) if world.f(row) != y]
        limit = np.inf if wish.max_cost is None else wish.max_cost
        prices = [wish.cost(world, row) for row in changes]
        prices = [p for p in prices if p <= limit and p < np.inf]
        if wish.max_size is not None and len(members) > wish.max_size:
            continue
        if wish.tau is not None and not (allowed and len(hits) / len(allowed) >= wish.tau):
            continue
        if prices:
            qualified[members] = Truth(min(prices), len(allowed), len(hits))
    return {
        t: found
        for t, found in qualified.items()
        if not any(set(s) < set(t) and q.cost <= found.cost for s, q in qualified.items())
    }


def grid_rows(world: World, wish: Wish, members):
    """Every combination in which each member has a new value that is observed, or a step away."""
    values = []
    for j in members:
        seen = {r[j] for r in world.references} | {world.x[j]}
        if j in wish.steps:
            low, high = wish.ranges.get(j, (None, None))
            low = min(seen) if low is None else low
            high = max(seen) if high is None else high
            seen = set(range(low, high + 1))
        values.append([v for v in seen if v != world.x[j]])
    for combination in product(*values):
        row = list(world.x)
        for j, v in zip(members, combination, strict=True):
            row[j] = v
        if wish.row_ok(world, row):
            yield tuple(row)


def numbers(option) -> tuple:
    return tuple(int(name[1:]) for name in option.features)


def resulting_row(world: World, option) -> tuple:
    row = list(world.x)
    for name, value in option.values.items():
        row[int(name[1:])] = value
    return tuple(row)


@st.composite
def wishes(draw, d: int) -> Wish:
    columns = st.integers(0, d - 1)
    some = st.frozensets(columns, max_size=max(1, d - 1))
    bound = st.sampled_from([(0, 1), (1, None), (None, 1), (1, 1), (0, 2)])
    pairs = st.dictionaries(columns, st.integers(0, VALUES - 1), min_size=1, max_size=2)
    return Wish(
        immutable=draw(some),
        ranges=draw(st.dictionaries(columns, bound, max_size=2)),
        up=draw(st.frozensets(columns, max_size=1)),
        down=draw(st.frozensets(columns, max_size=1)),
        steps=draw(st.dictionaries(columns, st.sampled_from([1, 2]), max_size=1)),
        forbidden=tuple(draw(st.lists(pairs, max_size=2))),
        weights=tuple(
            draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0, np.inf]), min_size=d, max_size=d))
        ),
        tau=draw(st.sampled_from([None, None, 0.25, 0.5, 1.0])),
        max_cost=draw(st.sampled_from([None, 0.5, 1.0, 3.0])),
        max_size=draw(st.sampled_from([None, None, 1, 2])),
    )


@st.composite
def cases(draw, max_d: int = 4) -> tuple[World, Wish]:
    world = draw(worlds(max_d=max_d))
    return world, draw(wishes(world.d))


# -- properties --------------------------------------------------------------------------


@settings(max_examples=100)
@given(cases(), st.booleans())
def test_options_are_those_of_the_definition(case, grid):
    world, wish = case
    assume(two_sided(world))
    wish = replace(wish, grid=grid)
    r = world.explainer().recourse(world.x, **wish.arguments())
    truth = by_definition(world, wish)
    found = {numbers(o): (o.cost, o.n, round((o.sufficiency or 0) * o.n)) for o in r.options}
    assert found == {t: (q.cost, q.n, q.hits) for t, q in truth.items()}
    assert r.feasible == bool(truth) and r.complete
    costs = [o.cost for o in r.options]
    assert costs == sorted(costs)
    for option in r.options:
        row = resulting_row(world, option)
        assert world.f(row) != world.f(world.x)
        assert wish.row_ok(world, row)
        assert not wish.immutable & set(numbers(option))
        assert wish.cost(world, row) == option.cost
        assert option.reliability == 1.0
        assert option.changes == {
            f"x{j}": (world.x[j], row[j]) for j in range(world.d) if row[j] != world.x[j]
        }


@settings(max_examples=40)
@given(cases())
def test_a_grid_never_costs_more_and_n_takes_the_cheapest(case):
    world, wish = case
    assume(two_sided(world))
    explainer = world.explainer()
    observed = explainer.recourse(world.x, **wish.arguments())
    grid = explainer.recourse(world.x, **replace(wish, grid=True).arguments())
    if observed.feasible:
        assert grid.best.cost <= observed.best.cost
        for option in observed.options:
            assert any(
                set(o.features) <= set(option.features) and o.cost <= option.cost
                for o in grid.options
            )
    for all_of, mode in ((observed, wish), (grid, replace(wish, grid=True))):
        few = explainer.recourse(world.x, n=2, **mode.arguments())
        assert few.options == all_of.options[:2]


@settings(max_examples=40)
@given(cases(max_d=3))
def test_necessity_counts_the_allowed_hybrids(case):
    world, wish = case
    assume(two_sided(world))
    wish = replace(wish, max_size=None)
    free = [j for j in range(world.d) if j not in wish.immutable]
    desired = []
    for members in subsets(world.d):
        if set(members) <= set(free):
            rest = set(range(world.d)) - set(members)
            rows = [world.hybrid(rest, r) for r in world.references]
            rows = [row for row in rows if wish.row_ok(world, row)]
            desired += [set(members) for row in rows if world.f(row) != world.f(world.x)]
    for option in world.explainer().recourse(world.x, **wish.arguments()).options:
        covered = [members for members in desired if set(numbers(option)) <= members]
        assert option.necessity == pytest.approx(len(covered) / len(desired))


@settings(max_examples=50)
@given(cases(max_d=3), st.booleans())
def test_a_reason_names_what_is_binding(case, grid):
    world, wish = case
    assume(two_sided(world))
    wish = replace(wish, grid=grid)
    assume(not by_definition(world, wish))
    r = world.explainer().recourse(world.x, **wish.arguments())
    assert not r.feasible and r.options == () and r.best is None
    lifted = {}
    for j in wish.immutable:
        lifted[f"x{j} is immutable"] = replace(wish, immutable=wish.immutable - {j})
    for j in wish.ranges:
        rest = {k: v for k, v in wish.ranges.items() if k != j}
        lifted[f"x{j} must"] = replace(wish, ranges=rest)
    for j in wish.up:
        lifted[f"x{j} may only increase"] = replace(wish, up=frozenset())
    for j in wish.down:
        lifted[f"x{j} may only decrease"] = replace(wish, down=frozenset())
    for j in wish.steps:
        lifted[f"x{j} changes by multiples"] = replace(wish, steps={})
    for i, factor in enumerate(wish.arguments()["forbidden"]):
        rest = wish.forbidden[:i] + wish.forbidden[i + 1 :]
        lifted[f"{factor!r} is forbidden"] = replace(wish, forbidden=rest)
    if wish.max_cost is not None:
        lifted["max_cost="] = replace(wish, max_cost=None)
    if wish.max_size is not None:
        lifted["max_size="] = replace(wish, max_size=None)
    if wish.tau is not None:
        lifted["tau="] = replace(wish, tau=None)
    alone = False
    for words, relaxed in lifted.items():
        options = by_definition(world, relaxed)
        alone |= bool(options)
        assert (words in r.reason) == bool(options)
        if options:
            cheapest = min(q.cost for q in options.values())
            line = next(line for line in r.reason.splitlines() if words in line)
            assert f"at cost {cheapest:.3g} would do" in line
    everything = by_definition(world, Wish(weights=wish.weights, grid=grid))
    if not alone:
        text = "without all of them" if everything else "No change to observed values"
        assert text in r.reason


@settings(max_examples=30)
@given(cases(max_d=3))
def test_engines_and_repeats_give_the_same_options(case):
    world, wish = case
    assume(two_sided(world))
    first = world.explainer().recourse(world.x, **wish.arguments())
    again = world.explainer(engine="blackbox").recourse(world.x, **wish.arguments())
    assert first == again


# -- outcomes, kinds of data, groups -----------------------------------------------------


def loans_explainer(**options):
    from sklearn.ensemble import RandomForestClassifier

    X, y = datasets.loans(300)
    X = X[["age", "income", "debt", "late payments"]]
    model = RandomForestClassifier(n_estimators=20, random_state=0).fit(X, y)
    return Explainer(model, X, **options), X, model


def changed(X, position, option):
    row = X.iloc[[position]].copy()
    for name, value in option.values.items():
        row[name] = value
    return row


def test_a_tree_engine_serves_and_its_flips_are_real():
    explainer, X, model = loans_explainer()
    slow, _, _ = loans_explainer(engine="blackbox")
    wish = {"immutable": "age", "decreasing": ["debt"], "tau": 0.3}
    r = explainer.recourse(X.iloc[8], **wish)
    assert r == slow.recourse(X.iloc[8], **wish)
    assert r.feasible and r.desired == "granted" and r.outcome == "refused"
    for option in r.options:
        assert model.predict(changed(X, 8, option)).tolist() == ["granted"]
        assert option.sufficiency >= 0.3
        assert option.interval[0] <= option.sufficiency <= option.interval[1]
    frame = r.to_frame()
    assert list(frame["cost"]) == [o.cost for o in r.options]
    assert "From refused to granted" in str(r) and "income 37 →" in str(r)


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


def test_steps_reach_values_that_nobody_has():
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


# -- budgets and width -------------------------------------------------------------------


def test_a_budget_that_ends_the_grid_is_told():
    explainer, X, model = loans_explainer()
    whole = explainer.recourse(X.iloc[8], values="grid")
    assert whole.complete and whole.reason is None
    cut = explainer.recourse(X.iloc[8], values="grid", budget=500)
    assert not cut.complete
    assert "The budget of 500 model rows ended the search of the grid" in cut.reason
    assert cut.best.cost >= whole.best.cost
    for option in cut.options:
        assert model.predict(changed(X, 8, option)).tolist() == ["granted"]
    none = explainer.recourse(X.iloc[8], values="grid", budget=100, actionable=["age"])
    assert not none.feasible and "income is not actionable: if it could change" in none.reason


def test_sixteen_features_stay_in_time_and_memory():
    import tracemalloc

    rng = np.random.default_rng(0)
    data = rng.normal(size=(1500, 20))
    weights = np.linspace(0.2, 1.0, 20)
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression().fit(data, data @ weights + rng.normal(size=1500) > 0)
    x = data[np.argmin(data @ weights)]
    explainer = Explainer(model, data, n_references=700)
    tracemalloc.start()
    started = perf_counter()
    r = explainer.recourse(x, immutable=["x0", "x1", "x2", "x3"], increasing=["x19"], max_cost=20.0)
    took = perf_counter() - started
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert r.feasible and took < 15 and peak < 700e6
    with pytest.raises(InputError, match="data: got 30 features"):
        wide = np.hstack([data, data[:, :10]])
        Explainer(lambda rows: rows[:, 0] > 0, wide, references="all").recourse(wide[0])


def test_many_features_need_a_size_and_then_necessity_is_estimated():
    rng = np.random.default_rng(2)
    data = rng.integers(0, 2, (40, 30))
    explainer = Explainer(lambda rows: (rows[:, 3] & rows[:, 7]).astype(int), data)
    x = np.zeros(30, dtype=int)
    r = explainer.recourse(x, max_size=2)
    assert [o.features for o in r.options] == [("x3", "x7")]
    assert 0.9 <= r.best.necessity <= 1.0
    with pytest.raises(InputError, match="values: got 'grid' with 30 features that can change"):
        explainer.recourse(x, max_size=2, values="grid")
    few = explainer.recourse(x, actionable=["x3", "x4"])
    assert "x7 is not actionable: if it could change, {x3, x7} at cost" in few.reason


# -- what cannot be meant ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ({"immutable": ["incom"]}, "immutable: got unknown feature 'incom'.*Did you mean 'income'"),
        ({"actionable": []}, "actionable: got no name; allowed: one feature or more"),
        (
            {"actionable": ["age"], "immutable": ["age"]},
            "actionable: got 'age', which is also immutable",
        ),
        ({"immutable": 3}, "immutable: got 3; allowed: names of features"),
        ({"ranges": {"debts": (0, 1)}}, "ranges: got unknown column 'debts'.*Did you mean 'debt'"),
        ({"ranges": {"debt": (3, 1)}}, r"ranges: got debt: \(3, 1\); allowed: \(low, high\)"),
        ({"ranges": {"debt": (None, None)}}, r"ranges: got debt: \(None, None\)"),
        ({"ranges": {"debt": 3}}, r"ranges: got debt: 3; allowed: \(low, high\) or a list"),
        ({"ranges": {"debt": []}}, "ranges: got debt: no value"),
        ({"ranges": [1]}, "ranges: got"),
        ({"ranges": {"home": ("owns", "rents")}}, "not numeric.*square brackets"),
        ({"ranges": {"home": ["own"]}}, "ranges: got home: 'own', which .* Did you mean 'owns'"),
        ({"increasing": ["home"]}, "increasing: got 'home' of dtype .*numeric columns, or ordered"),
        ({"steps": {"home": 1}}, "steps: got 'home'"),
        ({"steps": {"debt": 0}}, "steps: got debt: 0; allowed: a positive number"),
        ({"steps": {"debt": 0.5}}, "steps: got debt: 0.5, for a column of whole numbers"),
        ({"forbidden": ["age > 3"]}, "forbidden: got age > 3; allowed: factors"),
        ({"forbidden": "age"}, "forbidden: got age; allowed: factors"),
        ({"forbidden": equals("Age", 3)}, "forbidden: got unknown column 'Age'"),
        ({"forbidden": compare("home", "<", 3)}, "a column that can be compared"),
        ({"tau": 0}, "tau: got 0"),
        ({"n": 0}, "n: got 0; allowed: None or a whole number >= 1"),
        ({"max_size": 0}, "max_size: got 0"),
        ({"max_cost": 0}, "max_cost: got 0; allowed: None or a positive number"),
        ({"max_cost": float("nan")}, "max_cost: got nan"),
        ({"values": "any"}, "values: got 'any'; allowed: one of observed, grid"),
        ({"budget": 10}, "budget: got 10; allowed: None, unless values='grid'"),
        ({"budget": 0, "values": "grid"}, "budget: got 0"),
        ({"cost": {"Debt": 1}}, "cost: got unknown column 'Debt'"),
    ],
)
def test_what_cannot_be_meant_is_said(wish, message):
    X, _ = datasets.loans(60)

    def model(rows):
        return (rows["income"] > 50).to_numpy()

    with pytest.raises(InputError, match=message):
        Explainer(model, X).recourse(X.iloc[int(np.argmin(X["income"]))], **wish)


class Moody:
    """Says 1 where the first column is positive, until it is asked for the `last` time."""

    def __init__(self, last: int = 0) -> None:
        self.last, self.asked = last, 0

    def __call__(self, rows):
        self.asked += 1
        return (rows[:, 0] > 0).astype(int) * (self.asked != self.last)


def test_a_model_of_many_minds_is_told():
    data = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    steady = Moody()
    assert Explainer(steady, data).recourse([0.0, 0.0]).feasible
    with pytest.raises(ModelError, match="differently when asked twice about the same row"):
        Explainer(Moody(last=steady.asked), data).recourse([0.0, 0.0])


def test_values_that_come_with_what_is_held_are_no_choice():
    explainer, X, _ = loans_explainer(context=ConditionalContext())
    with pytest.raises(InputError, match="Recourse needs changes that can be chosen"):
        explainer.recourse(X.iloc[8])


def test_a_budget_too_small_for_any_claim_claims_nothing():
    X = np.random.default_rng(0).normal(size=(200, 4))
    explainer = Explainer(lambda rows: (rows.sum(axis=1) > 0).astype(int), X)
    r = explainer.recourse(X[0], values="grid", budget=10)
    assert not r.complete
    assert "no option is known to be the cheapest" in r.reason
    assert "less than 0 are" not in r.reason


@pytest.mark.parametrize(
    ("wish", "says"),
    [
        ({"cost": {"x0": "dear"}}, "cost: got 'dear' for column 'x0'; allowed: a number"),
        ({"cost": lambda *_: 1 / 0}, "cost: got a function that raised ZeroDivisionError for col"),
        ({"ranges": {"x0": [3.5, 9]}}, r"which the column never has.*a tuple, \(low, high\)"),
    ],
)
def test_costs_and_ranges_that_cannot_be_meant(wish, says):
    X = np.arange(12.0).reshape(6, 2)
    explainer = Explainer(lambda rows: (rows[:, 0] > 5).astype(int), X)
    with pytest.raises(InputError, match=says):
        explainer.recourse(X[0], **wish)


def test_a_value_never_becomes_missing_unless_asked_for():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=80), "b": rng.normal(size=80)})
    X.loc[::2, "b"] = np.nan
    explainer = Explainer(lambda d: np.where(d["b"].isna() | (d["a"] > 1), "Y", "N"), X)
    x = {"a": 0.0, "b": 0.5}
    assert all(o.values.get("b", 0) is not None for o in explainer.recourse(x).options)
    stuck = explainer.recourse(x, immutable=["a"])
    assert not stuck.feasible and "b must not become missing: if it need not" in stuck.reason
    allowed = explainer.recourse(x, immutable=["a"], ranges={"b": [None]})
    assert allowed.best.values == {"b": None}


def test_a_desired_outcome_is_called_so_in_errors():
    X = pd.DataFrame({"a": [0.0, 1.0, 2.0, 3.0]})
    explainer = Explainer(lambda d: np.where(d["a"] > 1, "Y", "N"), X)
    with pytest.raises(InputError, match=r"desired: got unknown class 'Z'"):
        explainer.recourse({"a": 0.0}, desired="Z")
