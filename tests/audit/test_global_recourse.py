"""Global recourse against its definition, every change applied by hand, and its sentences."""

from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, event, given, strategies as st

from suffice import (
    CausalContext,
    CausalModel,
    Explainer,
    InputError,
    at_least,
    audit,
    compare,
    datasets,
    equals,
    within,
)
from suffice.audit.set_cover import cheapest_cover
from tests.audit.mixed_table import fitted, mixed_table, rule
from tests.random_problems import Problem
from tests.recourse.recourse_oracle import Constraints, constraint_sets
from tests.rules.rule_cases import lender, unwrapped

# -- by definition ------------------------------------------------------------------------


@st.composite
def refusals(draw):
    """Rows of one model, some of them refused, and what a change must respect.

    Drawn by a seed: most tables that hypothesis begins with have nothing to change.
    """
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    d = draw(st.integers(1, 3))
    truth = tuple((rng.random(3**d) < rng.uniform(0.1, 0.6)).tolist())
    references, rows = (
        [tuple(row) for row in rng.integers(0, 3, (n, d)).tolist()] for n in rng.integers(3, 8, 2)
    )
    world = Problem(truth, rows[0], tuple(references))
    assume(len({world.f(r) for r in references}) == 2)
    assume(not all(map(world.f, rows)))
    strict = replace(draw(constraint_sets(d)), steps={}, tau=None)
    weights = tuple(Fraction(int(w), 3) for w in rng.integers(1, 9, d))
    free = replace(Constraints(), weights=weights, max_size=strict.max_size)
    loose = replace(free, max_cost=strict.max_cost, up=strict.up, forbidden=strict.forbidden)
    asked = draw(st.sampled_from([free, loose, strict]))
    return world, rows, asked, draw(st.sampled_from([0.4, 0.75, 1.0]))


def all_arguments(asked):
    told = asked.arguments()
    return {name: told[name] for name in told if name not in ("steps", "tau", "values")}


def moved(row, change):
    """A change is {column: (which way, value)}."""
    new = list(row)
    for j, (up, value) in change.items():
        new[j] = max(row[j], value) if up else min(row[j], value)
    return tuple(new)


def candidates_by_definition(world, refused, asked, explainer):
    """The ways that rows' own recourse moves columns, with every reference's values."""
    patterns = set()
    for row in refused:
        for option in explainer.recourse(row, desired=1, **all_arguments(asked)):
            changes = option.changes.items()
            patterns.add(tuple((int(name[1:]), new > old) for name, (old, new) in changes))
    free = replace(asked, up=frozenset(), down=frozenset())
    nowhere = Problem(world.truth, (-9,) * world.d, world.references)
    return {
        tuple((j, (up, r[j])) for j, up in sorted(pattern))
        for pattern in patterns
        for r in world.references
        if all(free.value_ok(nowhere, j, r[j]) for j, _ in pattern)
    }


def cost_by_definition(world, row, change, asked):
    """What a change costs a row; infinite where it is not allowed or does not work."""
    new = moved(row, dict(change))
    here = Problem(world.truth, row, world.references)
    cost = asked.cost(here, new)
    limit = np.inf if asked.max_cost is None else asked.max_cost
    fine = new != row and asked.row_ok(here, new) and world.f(new) and cost <= limit
    return float(cost) if fine else np.inf


@given(refusals())
def test_the_fewest_and_cheapest_are_found_and_what_they_cost_is_true(case):
    world, rows, asked, cover = case
    explainer = Explainer(world.model, np.array(world.references), references="all")
    found = audit.global_recourse(
        explainer, np.array(rows), cover, desired=1, max_candidates=None, **all_arguments(asked)
    )
    refused = [row for row in rows if not world.f(row)]
    assert found.already == len(rows) - len(refused)
    assert [row.number for row in found.rows] == [i for i, r in enumerate(rows) if not world.f(r)]
    candidates = sorted(candidates_by_definition(world, refused, asked, explainer))
    assert found.tried == found.possible == len(candidates)
    table = np.array(
        [[cost_by_definition(world, row, c, asked) for c in candidates] for row in refused]
    ).reshape(len(refused), len(candidates))
    reachable = int(np.isfinite(table).any(axis=1).sum())
    needed = min(int(np.ceil(cover * len(refused) - 1e-9)), reachable)
    fewest, least = by_all_choices(table, needed)
    event(f"{fewest} changes of {min(len(candidates), 8)} or more")
    assert len(found.changes) == found.fewest == found.could_be == fewest
    assert found.proved
    assert found.reached == (needed == int(np.ceil(cover * len(refused) - 1e-9)))
    for place, row in enumerate(found.rows):
        for change, cost in zip(found.changes, row.costs, strict=True):
            own = {int(m.column[1:]): (m.how == "at least", m.value) for m in change.moves}
            truth = cost_by_definition(world, refused[place], own.items(), asked)
            assert (np.inf if cost is None else cost) == pytest.approx(truth)
        best = table[place].min(initial=np.inf)
        assert (np.inf if row.own is None else row.own) == pytest.approx(best)
    if fewest:
        paid = sorted(np.inf if row.cost is None else row.cost for row in found.rows)[:needed]
        assert found.cheapest
        assert sum(paid) == pytest.approx(least)
        assert found.prices[0] * needed == pytest.approx(least)


def by_all_choices(table, needed):
    """How many columns it takes to have so many rows, and the least that these rows pay."""
    for k in range(table.shape[1] + 1):
        prices = [
            np.sort(table[:, list(c)].min(axis=1, initial=np.inf))[:needed].sum()
            for c in combinations(range(table.shape[1]), k)
        ]
        if min(prices) < np.inf:
            return k, min(prices)
    raise AssertionError("all columns together cover what can be covered")


@given(st.integers(0, 2**32 - 1), st.integers(1, 4))
def test_more_changes_are_the_cheapest_of_so_many(seed, at_most):
    rng = np.random.default_rng(seed)
    table = np.where(rng.random((9, 6)) < 0.4, rng.integers(1, 9, (9, 6)) / 3, np.inf)
    found = cheapest_cover(table, 0.6, at_most)
    needed = min(6, int(np.isfinite(table).any(axis=1).sum()))
    fewest, _ = by_all_choices(table, needed)
    assert found.fewest == found.could_be == fewest
    assert fewest <= len(found.chosen) <= max(fewest, at_most)
    k = len(found.chosen)
    prices = [
        np.sort(table[:, list(c)].min(axis=1, initial=np.inf))[:needed].sum()
        for c in combinations(range(6), k)
    ]
    paid = np.sort(table[:, list(found.chosen)].min(axis=1, initial=np.inf))[:needed].sum()
    assert paid == pytest.approx(min(prices))
    assert list(found.prices) == sorted(found.prices, reverse=True)


# -- row by row ---------------------------------------------------------------------------


@cache
def loans():
    return datasets.loans(200)[0]


@cache
def answered():
    return audit.global_recourse(
        Explainer(lender, loans(), n_references=40),
        loans(),
        0.8,
        desired="granted",
        immutable=["age"],
        increasing=["income"],
        ranges={"debt": (3, None), "home": ["owns", "rents"]},
        forbidden=equals("job", "temporary") & compare("income", ">", 60),
        max_size=2,
        max_searched=30,
        by="home",
    )


def applied(frame, change):
    """The change, by hand."""
    new = frame.copy()
    for move in change.moves:
        if move.how == "to":
            new[move.column] = move.value
        elif move.how == "at least":
            new[move.column] = new[move.column].clip(lower=move.value)
        else:
            new[move.column] = new[move.column].clip(upper=move.value)
    return new


def test_every_change_is_verified_on_every_row_by_asking_the_model():
    found, X = answered(), loans()
    refused = X[lender(X) == "refused"]
    assert [row.number for row in found.rows] == refused.index.tolist()
    assert found.reached
    for j, change in enumerate(found.changes):
        new = applied(refused, change)
        works = (lender(new) == "granted") & ~(
            (new["job"] == "temporary") & (new["income"] > 60)
        ).to_numpy()
        assert [row.costs[j] is not None for row in found.rows] == works.tolist()
        assert found.worths[j].works.hits == works.sum()


def test_constraints_are_respected():
    for change in answered().changes:
        assert len(change.features) <= 2
        assert "age" not in change.features
        for move in change.moves:
            assert move.column != "income" or move.how == "at least"
            assert move.column != "debt" or move.value >= 3
            assert move.column != "home" or move.value in ("owns", "rents")


def test_a_row_that_has_as_much_already_pays_nothing_for_it():
    people = pd.DataFrame({"income": [10, 50, 60, 20], "debt": [9, 9, 0, 0]})

    def decide(rows):
        return (rows["income"] >= 50) & (rows["debt"] <= 1)

    explainer = Explainer(decide, people, cost=lambda column, old, new: abs(new - old) * 1.0)
    found = audit.global_recourse(explainer, people, 1.0, desired=True)
    (change,) = found.changes
    assert change.text == "income to at least 60, debt to at most 0"
    # From (10, 9), (50, 9) and (20, 0): what is missing to 60, and what is over 0.
    assert [(row.number, row.cost) for row in found.rows] == [(0, 59), (1, 19), (3, 40)]


def test_counts_by_change_add_up():
    found = answered()
    assert sum(w.new for w in found.worths) == found.share.hits == found.n - len(found.left)
    assert sum(w.taken for w in found.worths) == found.share.hits
    assert found.worths[0].new == found.worths[0].works.hits
    for j, worth in enumerate(found.worths):
        costs = [row.costs[j] for row in found.rows if row.costs[j] is not None]
        assert worth.mean_cost == pytest.approx(np.mean(costs))
        assert worth.median_cost == pytest.approx(np.median(costs))


def test_a_frame_has_a_row_for_each_refused_row():
    found = answered()
    frame = found.to_frame()
    assert len(frame) == found.n
    assert frame["left_out"].sum() == len(found.left)
    assert frame.loc[frame["left_out"], "change"].isna().all()
    assert (frame["own_cost"] <= frame["cost"] + 1e-9)[~frame["left_out"]].all()


def test_the_same_question_has_the_same_answer():
    asked = {"desired": "granted", "max_candidates": 50, "max_searched": 10, "max_size": 2}
    explainer = Explainer(lender, loans(), n_references=30)
    one = audit.global_recourse(explainer, loans(), **asked)
    other = audit.global_recourse(Explainer(lender, loans(), n_references=30), loans(), **asked)
    assert one == other
    assert one.tried == 50 < one.possible
    assert one.searched == 10
    assert "50 changes of" in unwrapped(str(one))


# -- groups -------------------------------------------------------------------------------


def test_groups_show_who_is_helped_and_what_it_costs():
    found = answered()
    every, *groups = found.groups
    assert every.covered == found.share
    assert [g.group for g in groups] == sorted(loans()["home"].unique())
    assert sum(g.covered.n for g in groups) == found.n
    for g in groups:
        own = [row for row in found.rows if row.group == g.group]
        paid = [row.cost for row in own if row.cost is not None]
        assert (g.covered.hits, g.covered.n) == (len(paid), len(own))
        assert g.mean_cost == pytest.approx(np.mean(paid))
        assert g.hopeless == sum(row.own is None for row in own)
    assert len(found.gaps) == 3
    for between in found.gaps:
        one, other = (next(g for g in groups if g.group == name) for name in between.groups)
        assert between.covered.difference == pytest.approx(one.covered.share - other.covered.share)
        assert between.covered.low <= between.covered.difference <= between.covered.high
        assert between.cost == pytest.approx(one.mean_cost - other.mean_cost)
        low, high = between.cost_interval
        assert low < between.cost < high


def test_groups_may_be_columns_the_model_does_not_know_functions_or_labels():
    X = loans()[["income", "debt"]]

    def decide(rows):
        return np.where(rows["income"] - rows["debt"] > 30, "yes", "no")

    explainer = Explainer(decide, X, n_references=20)
    sex = np.where(np.arange(len(X)) % 3 == 0, "f", "m")
    asked = {"desired": "yes", "max_searched": 5}
    by_labels = audit.global_recourse(explainer, X, by=sex, **asked)
    assert [g.group for g in by_labels.groups] == [None, "f", "m"]
    by_function = audit.global_recourse(explainer, X, by=lambda row: row["income"] > 40, **asked)
    assert [g.group for g in by_function.groups] == [None, "no", "yes"]
    known = X.assign(sex=sex)
    assert audit.global_recourse(explainer, known, by="sex", **asked) == by_labels
    by_function = audit.global_recourse(explainer, known, by=lambda row: row["sex"], **asked)
    assert by_function == by_labels
    with pytest.raises(InputError, match="extra column 'sex'"):
        audit.global_recourse(explainer, known, **asked)
    table = mixed_table(60)
    found = audit.global_recourse(
        Explainer(rule, table, n_references=10), table, desired="released", by="sex", max_searched=3
    )
    assert {g.group for g in found.groups} == {None, "female", "male"}


def test_gaps_without_costs_or_variance_are_none():
    people = pd.DataFrame({"pay": [1, 1, 1, 5, 5], "sex": ["f", "f", "m", "m", "f"]})
    explainer = Explainer(lambda rows: rows["pay"] > 3, people)
    found = audit.global_recourse(explainer, people, desired=True, by="sex")
    (between,) = found.gaps
    assert between.cost == 0
    assert between.cost_interval is None
    alone = audit.global_recourse(
        explainer, people, desired=True, by="sex", forbidden=equals("sex", "m"), immutable="sex"
    )
    assert alone.gaps[0].cost is None
    assert alone.left == ("2",)
    assert "none of the changes that were tried works" in unwrapped(str(alone))


# -- tables as they are -------------------------------------------------------------------


def test_a_mixed_table_with_missing_cells():
    table = mixed_table(100)
    model = fitted(table)
    explainer = Explainer(model, table, n_references=15)
    found = audit.global_recourse(
        explainer, table, 0.7, desired="released", immutable=["sex", "origin", "age"], by="origin",
        max_searched=6,
    )  # fmt: skip
    assert found.changes
    assert "missing" in {g.group for g in found.groups}
    refused = table[model.predict(table) == "detained"]
    for j, change in enumerate(found.changes):
        new = refused.copy()
        for move in change.moves:
            assert move.value is not None
            column = new[move.column]
            enough = {"at least": column.ge, "at most": column.le, "to": column.eq}[move.how]
            stays = enough(move.value).fillna(False).astype(bool)
            new[move.column] = column.where(stays, move.value)
        works = model.predict(new) == "released"
        assert [row.costs[j] is not None for row in found.rows] == works.tolist()
    assert audit.GlobalRecourse.from_json(found.to_json()) == found


def test_ordered_categories_have_directions_and_groups_of_columns_move_together():
    levels = pd.CategoricalDtype(["none", "school", "college"], ordered=True)
    people = pd.DataFrame(
        {
            "education": pd.Series(["none", "school", "college", "college"] * 3, dtype=levels),
            "a": [0, 1, 0, 1] * 3,
            "b": [1, 0, 1, 0] * 3,
        }
    )

    def decide(rows):
        return (rows["education"].cat.codes >= 1) & (rows["a"].astype(int) == 1)

    explainer = Explainer(decide, people, groups={"kind": ["a", "b"]})
    found = audit.global_recourse(explainer, people, 1.0, desired=True, max_size=None)
    assert found.reached
    moves = [move for change in found.changes for move in change.moves]
    assert {m.how for m in moves if m.column == "education"} == {"at least"}
    for change in found.changes:
        if "kind" in change.features:
            assert {("a", "to", 1), ("b", "to", 0)} <= {
                (m.column, m.how, m.value) for m in change.moves
            }


def test_arrays_numbers_and_other_frames():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 9, (25, 3))
    explainer = Explainer(lambda rows: np.asarray(rows).sum(axis=1) * 1.0, X, outcome=at_least(15))
    found = audit.global_recourse(explainer, X, 0.9, desired=at_least(15))
    assert "15" in found.desired
    assert found.reached
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame(X, schema=["x0", "x1", "x2"], orient="row")
    other = Explainer(lambda rows: rows.to_numpy().sum(axis=1) * 1.0, frame)
    again = audit.global_recourse(other, frame, 0.9, desired=at_least(15))
    assert again.rows == found.rows


def test_desired_may_be_left_out_where_all_have_the_same_outcome():
    X = loans()
    refused = X[lender(X) == "refused"]
    explainer = Explainer(lender, X, n_references=30)
    asked = {"max_searched": 10, "max_size": 2}
    found = audit.global_recourse(explainer, refused, **asked)
    assert (found.outcome, found.desired, found.already) == ("refused", "granted", 0)
    named = audit.global_recourse(explainer, refused, desired="granted", **asked)
    assert named.rows == found.rows


def test_no_way_at_all_is_an_answer():
    people = pd.DataFrame({"pay": [1, 2, 5], "age": [30, 40, 50]})
    explainer = Explainer(lambda rows: rows["pay"] > 3, people)
    found = audit.global_recourse(explainer, people, desired=True, immutable="pay")
    assert not found.changes
    assert not found.reached
    assert found.left == ("0", "1")
    assert "No change that was tried works for any of 2 refused rows" in unwrapped(str(found))
    assert found.plot() is not None


def test_more_changes_cost_less():
    explainer = Explainer(lender, loans(), n_references=40)
    asked = {"desired": "granted", "immutable": "age", "max_size": 2, "max_searched": 20}
    few = audit.global_recourse(explainer, loans(), **asked)
    more = audit.global_recourse(explainer, loans(), n_changes=len(few.changes) + 2, **asked)
    assert len(more.changes) == len(few.changes) + 2
    assert more.prices == few.prices
    assert more.fewest == len(few.changes)
    assert more.groups[0].mean_cost < few.groups[0].mean_cost
    assert "would do, at a higher cost" in unwrapped(str(more))


def test_rows_have_the_names_they_are_given():
    X = loans()
    names = [f"case {i}" for i in range(len(X))]
    explainer = Explainer(lender, X, n_references=20)
    found = audit.global_recourse(explainer, X, desired="granted", ids=names, max_searched=2)
    assert all(row.name == f"case {row.number}" for row in found.rows)


# -- what cannot be asked -----------------------------------------------------------------


def causal():
    scm = CausalModel([("income", "debt")], loans()[["income", "debt"]])
    return Explainer(
        lambda r: r["income"] > r["debt"] + 30,
        loans()[["income", "debt"]],
        context=CausalContext(scm),
    )


def granted():
    return loans()[lender(loans()) == "granted"]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"explainer": lender}, "explainer: got .*allowed: an Explainer of a table's rows"),
        (
            lambda: {"explainer": causal()},
            "explainer: got one in whose context .*but\\(context=None\\)",
        ),
        ({"cover": 0}, r"cover: got 0; allowed: a share in \(0, 1\]"),
        ({"desired": None}, "desired: got None, where .* of X are .*; allowed: the outcome wanted"),
        ({"desired": "grantd"}, "desired: .*Did you mean 'granted'"),
        ({"desired": within(3)}, "desired: .*means the same for every row"),
        ({"X": 3}, "X: got 3"),
        (lambda: {"X": granted()}, "X: got .* that have the desired outcome"),
        (lambda: {"X": loans().drop(columns="job")}, "row 0: x: .*'job'"),
        ({"by": "hoem"}, "by: got 'hoem'; allowed: a column of X.*Did you mean 'home'"),
        ({"by": ["f", "m"]}, "by: got 2 labels; allowed: .*one for each of the 200 rows"),
        ({"by": "income"}, "by: got .* groups; allowed: at most 50.*lambda row"),
        ({"by": lambda row: row["sex"]}, "by: got a function that raised KeyError for row 0"),
        ({"ids": [1]}, "ids: got 1 names; allowed: one for each of the 200 rows"),
        ({"immutable": "incom"}, "immutable: got unknown feature 'incom'"),
        ({"ranges": {"debt": 3}}, "ranges: got debt: 3"),
        ({"max_candidates": 0}, "max_candidates: got 0; allowed: None or a whole number >= 1"),
        ({"max_searched": 0}, "max_searched: got 0; allowed: None or a whole number >= 1"),
        ({"n_changes": 0}, "n_changes: got 0; allowed: None or a whole number >= 1"),
        ({"max_cost": -1}, "max_cost: got -1; allowed: None or a positive number"),
        ({"progress": "no"}, "progress: got 'no'; allowed: None, True or False"),
    ],
    ids=lambda given: next(iter(given)) if isinstance(given, dict) else "",
)
def test_questions_that_cannot_be_answered_are_refused(asked, said):
    explainer = Explainer(lender, loans(), n_references=20)
    given = {"explainer": explainer, "X": loans(), "desired": "granted", "max_searched": 2}
    given |= asked() if callable(asked) else asked
    with pytest.raises(InputError, match=said):
        audit.global_recourse(**given)


def test_a_stored_answer_that_makes_no_sense_is_refused():
    stored = answered().to_json()
    with pytest.raises(InputError, match=r"text: .*cost"):
        audit.GlobalRecourse.from_json(stored.replace('"own":', '"own":-1,"_":', 1))
    with pytest.raises(InputError, match="text: "):
        audit.GlobalRecourse.from_json(stored.replace('"changes":[', '"changes":[],"_":[', 1))
