"""Roles, cohorts, global factors and reliance against their definitions, word by word."""

from functools import cache
from itertools import combinations
from math import comb

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from scipy import optimize

from suffice import Explainer, InputError, audit
from suffice.audit import Reliance, set_cover
from suffice.audit.set_cover import smallest_cover
from suffice.inference import Share, compare_groups, compare_shares
from tests.audit.mixed_table import people
from tests.random_problems import (
    Problem,
    has_both_outcomes,
    minimal_by_definition,
    problems,
    subsets,
    thresholds,
    with_both_answers,
)


def shares(world: Problem, view: str) -> dict:
    hits = world.keeps if view == "keep" else world.flips
    return {s: hits(s) / len(world.references) for s in subsets(world.d)}


def name(i: int) -> str:
    return f"x{i}"


def two_sided_worlds(**sizes):
    return problems(**sizes).map(with_both_answers)


@st.composite
def portfolios(draw):
    """Several inputs of one model with their own references."""
    first = draw(two_sided_worlds(max_d=3, max_references=4))
    row = st.tuples(*[st.integers(0, 2)] * first.d)
    rows = draw(st.lists(row, max_size=4))
    # Of the rows whose outcome all references have, nothing can be explained.
    others = filter(has_both_outcomes, [Problem(first.truth, x, first.references) for x in rows])
    return [first, *others]


def explained(portfolio, tau):
    return [w.explainer().explain(w.x, tau=tau, search="exhaustive") for w in portfolio]


@given(two_sided_worlds(max_d=4), thresholds)
def test_roles_are_their_definitions(world, tau):
    e = world.explainer().explain(world.x, tau=tau, search="exhaustive")
    found = audit.roles(e)
    for view in ("keep", "flip"):
        share = shares(world, view)
        minimal = minimal_by_definition(share, tau)
        winning = [s for s in share if any(set(m) <= set(s) for m in minimal)]
        members = sum(len(m) for m in minimal)
        total = sum(share.values())
        for i in range(world.d):
            role = found.of(name(i), view)
            own = [m for m in minimal if i in m]
            assert role.indispensable == (bool(minimal) and len(own) == len(minimal))
            assert role.relevant == bool(own)
            if not minimal:
                assert role.decisions == 0
                continue
            if members:
                assert role.holler == pytest.approx(len(own) / members)
                voting = [m for m in minimal if m]
                votes = sum(1 / len(m) for m in own) / len(voting)
                assert role.deegan_packel == pytest.approx(votes)
            pivotal = [
                s for s in winning if i in s and not any(set(m) <= set(s) - {i} for m in minimal)
            ]
            assert role.pivotal == pytest.approx(len(pivotal) / len(winning))
            if total:
                with_it = sum(p for s, p in share.items() if i in s)
                assert role.necessity == pytest.approx(with_it / total)
                assert role.necessity_baseline == 0.5  # every feature is in half of all sets
                assert role.necessity_lift == pytest.approx(2 * with_it / total)


@given(two_sided_worlds(max_d=4), thresholds)
def test_indices_of_all_features_add_up_to_one(world, tau):
    found = audit.roles(world.explainer().explain(world.x, tau=tau, search="exhaustive"))
    for view in ("keep", "flip"):
        own = [r for r in found.rows if r.view == view]
        if own and own[0].holler is not None:
            assert sum(r.holler for r in own) == pytest.approx(1)
            assert sum(r.deegan_packel for r in own) == pytest.approx(1)


@given(portfolios(), thresholds)
def test_a_cohort_adds_up_counts_and_decisions(portfolio, tau):
    es = explained(portfolio, tau)
    found = audit.cohort(es)
    assert sum(p.decisions for p in found.parts if p.view == "keep") == len(portfolio)
    for part in found.parts:
        own = [w for w, e in zip(portfolio, es, strict=True) if e.outcome == part.outcome]
        assert part.decisions == len(own)
        every = [shares(w, part.view) for w in own]
        minimal = [minimal_by_definition(s, tau) for s in every]
        seen = {m for ms in minimal for m in ms}
        assert len(part.sets) + part.more == len(seen)
        for s in part.sets:
            members = tuple(int(f[1:]) for f in s.features)
            assert s.minimal == sum(members in ms for ms in minimal)
            assert s.suffices == sum(share[members] >= tau for share in every)
            pooled = sum(share[members] for share in every) / len(every)
            assert s.sufficiency == pytest.approx(pooled)
            for at in (0.25, 0.5, 1.0, tau):
                wanted = sum(share[members] >= at for share in every) / len(every)
                assert s.at(at) == pytest.approx(wanted)


def test_a_cohort_leads_with_the_set_that_is_minimal_most_often_and_not_with_all_features():
    data = people(80)
    model = lambda rows: np.where(rows["pay"] > 40, "yes", "no")  # noqa: E731
    found = audit.cohort(Explainer(model, data).explain_many(data.iloc[:10]))
    assert all("): pay suffices to " in words for words in found.sheet.lead)
    assert found.sheet.lead[0].endswith("100% of them; no set is minimal more often.")
    assert found.sheet.notes == ("Shares of decisions have exact 95% intervals (Clopper–Pearson).",)


@given(
    portfolios(),
    thresholds,
    st.sampled_from([0.5, 0.8, 1.0]),
    st.sampled_from(["keep", "flip"]),
    st.sampled_from([1, 2, None]),
)
def test_global_factors_are_the_fewest(portfolio, tau, cover, view, max_size):
    found = audit.global_factors(
        explained(portfolio, tau), cover=cover, view=view, tau=tau, max_size=max_size
    )
    every = [shares(w, view) for w in portfolio]
    most = max_size or portfolio[0].d
    candidates = {m for s in every for m in s if len(m) <= most and s[m] >= tau}
    covered = {m: {i for i, s in enumerate(every) if s[m] >= tau} for m in candidates}
    reachable = set().union(*covered.values()) if covered else set()
    needed = min(int(np.ceil(cover * len(portfolio) - 1e-9)), len(reachable))
    fewest = next(
        k
        for k in range(len(candidates) + 1)
        if any(
            len(set().union(*(covered[m] for m in chosen))) >= needed
            for chosen in combinations(sorted(candidates), k)
        )
    )
    assert len(found.sets) == fewest
    assert found.proved
    assert found.covered >= needed
    assert found.reached == (found.covered >= int(np.ceil(cover * len(portfolio) - 1e-9)))
    assert set(found.left) == set(range(len(portfolio))) - set().union(
        *(covered[tuple(int(f[1:]) for f in s.features)] for s in found.sets), set()
    )


def test_a_set_that_suffices_for_all_need_be_minimal_for_none():
    data = pd.DataFrame({"a": [1, 0, 0, 1], "b": [0, 1, 0, 1]})
    model = lambda rows: np.where((rows["a"] == 1) | (rows["b"] == 1), "yes", "no")  # noqa: E731
    decisions = Explainer(model, data).explain_many(data.iloc[:2])
    found = audit.global_factors(decisions, cover=1.0)
    assert [s.features for s in found.sets] == [("a", "b")]
    assert found.proved
    alone = audit.global_factors(decisions, cover=1.0, max_size=1)
    assert [s.features for s in alone.sets] == [("a",), ("b",)]
    assert alone.proved


def test_a_global_factor_has_no_feature_more_than_it_needs():
    data = people(80)
    model = lambda rows: np.where(rows["pay"] > 40, "yes", "no")  # noqa: E731
    found = audit.global_factors(Explainer(model, data).explain_many(data.iloc[:10]), cover=0.8)
    assert [s.features for s in found.sets] == [("pay",)]


@given(st.integers(0, 2**32 - 1))
def test_a_cover_of_many_sets_is_the_fewest(seed):
    rng = np.random.default_rng(seed)
    table = rng.random((12, 7)) < 0.35
    chosen, bound = smallest_cover(table, 0.75)
    needed = min(9, int(table.any(axis=1).sum()))
    fewest = next(
        k
        for k in range(8)
        if any(table[:, list(c)].any(axis=1).sum() >= needed for c in combinations(range(7), k))
    )
    assert len(chosen) == fewest == bound
    assert table[:, chosen].any(axis=1).sum() >= needed


def test_covers_are_bounded_by_counted_work_and_not_by_the_clock(monkeypatch):
    asked, scipy_milp = [], optimize.milp

    def milp(*args, options, **more):
        asked.append(dict(options))
        return scipy_milp(*args, options=options, **more)

    monkeypatch.setattr(optimize, "milp", milp)
    table = np.random.default_rng(0).random((60, 60)) < 0.1
    exact, least = smallest_cover(table, 1.0)
    assert len(exact) == least
    assert asked and all("time_limit" not in options for options in asked)
    assert all(options["node_limit"] >= 1 for options in asked)
    monkeypatch.setattr(set_cover, "_MOST_CELLS", 60 * 59)
    asked.clear()
    greedy, bound = smallest_cover(table, 1.0)  # too large a table: no integer program
    assert not asked and table[:, greedy].any(axis=1).all()
    assert 1 < bound <= least <= len(greedy)


@given(two_sided_worlds(max_d=4), thresholds, st.data())
def test_reliance_is_its_definition(world, tau, data):
    numbers = data.draw(st.sets(st.integers(0, world.d - 1), min_size=1))
    e = world.explainer().explain(world.x, tau=tau, search="exhaustive")
    (row,) = audit.reliance(e, [name(i) for i in sorted(numbers)]).rows
    n = len(world.references)
    others = tuple(i for i in range(world.d) if i not in numbers)
    assert row.flips_alone == world.flips(tuple(numbers)) / n
    assert row.stands_freed == (world.keeps(others) / n >= tau)
    minimal = [
        set(m) for view in ("keep", "flip") for m in minimal_by_definition(shares(world, view), tau)
    ]
    assert row.in_some == any(m & numbers for m in minimal)
    assert row.in_every == (bool(minimal) and all(m & numbers for m in minimal))
    low, high = row.interval
    assert low <= row.flips_alone <= high


def test_a_decision_stands_where_exactly_a_share_of_tau_keeps_it():
    applicants = pd.DataFrame({"pay": [5, 1], "sex": ["f", "m"]})
    explainer = Explainer(
        lambda rows: (rows["pay"] > 3) & (rows["sex"] == "f"), applicants, references="all"
    )
    e = explainer.explain(applicants.iloc[0], search="exhaustive")
    stands = [audit.reliance(e, "sex", tau=tau).rows[0].stands_freed for tau in (0.5, 0.51)]
    assert stands == [True, False]


@pytest.mark.parametrize("adjust", ["none", "holm"])
def test_with_alpha_a_decision_stands_only_where_the_test_passes(adjust):
    """Three references of three are no evidence at the 5% level for a share of one half."""
    applicants = pd.DataFrame({"pay": [5, 1, 1, 1], "sex": ["f", "m", "m", "m"]})
    explainer = Explainer(lambda rows: rows["pay"] > 3, applicants)
    stands = {}
    for alpha in (0.5, 0.05):
        e = explainer.explain(applicants.iloc[0], tau=0.5, alpha=alpha, adjust=adjust)
        (row,) = audit.reliance(e, "sex").rows
        stands[alpha] = row.stands_freed
    assert (
        audit.reliance(explainer.explain(applicants.iloc[0], tau=0.5), "sex").rows[0].stands_freed
    )
    assert stands == {0.5: True, 0.05: False}


def decisions(model, rows=100):
    return Explainer(model, people(), n_references=40).explain_many(people().iloc[:rows])


def relied_on(model, protected="sex", **asked):
    return audit.reliance(decisions(model), protected, **asked)


def test_a_model_that_uses_a_protected_feature_for_few_rows_is_found():
    def model(rows):  # only between 45 and 50, a tenth of the rows
        odd = (rows["pay"] >= 45) & (rows["pay"] < 51)
        return np.where(odd, rows["sex"] == "m", rows["pay"] >= 48)

    found = relied_on(model)
    (whole,) = found.groups
    odd = people().iloc[:100]["pay"].between(45, 50)
    assert whole.flipped.hits == int(odd.sum())
    assert 0.05 < whole.flipped.share < 0.2
    low, high = whole.flipped.interval
    assert low < whole.flipped.share < high
    assert {int(r.name) for r in found.rows if r.flips_alone} == set(np.flatnonzero(odd))
    assert found.worst[0].change in ("sex f → m", "sex m → f")
    assert "changing it alone flips" in str(found)


def test_a_model_that_never_reads_it_is_cleared_with_an_interval():
    found = relied_on(lambda rows: rows["pay"] >= 48)
    (whole,) = found.groups
    assert (whole.flipped.hits, whole.in_some.hits, whole.falls.hits) == (0, 0, 0)
    assert 0 < whole.flipped.interval[1] < 0.04
    assert "no decision of 100 was found to rest on it" in str(found)


def test_a_proxy_is_found_as_a_group_and_not_by_the_feature_alone():
    def model(rows):
        return (rows["job"] != "nurse") & (rows["pay"] >= 30)

    found = relied_on(model, {"sex": ["sex"], "sex and job": ["sex", "job"]})
    alone, together = found.groups
    assert alone.flipped.hits == 0
    assert together.flipped.hits > 25


def test_groups_are_compared_with_an_interval():
    def model(rows):
        return (rows["pay"] >= 48) | ((rows["sex"] == "m") & (rows["pay"] >= 40))

    es = decisions(model)
    found = audit.reliance(es, "sex", by="sex")
    assert {g.group for g in found.groups} == {None, "f", "m"}
    (between,) = found.gaps
    assert between.groups == ("f", "m")
    assert between.gap.low <= between.gap.difference <= between.gap.high
    assert between.p_adjusted == between.gap.p_value > 0.05 and not between.found
    of_jobs = [b.gap for b in audit.reliance(es, "sex", by="job").gaps]
    assert len(of_jobs) > 2
    assert of_jobs == sorted(of_jobs, key=lambda g: (g.p_value, -abs(g.difference)))


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(1, 12)), min_size=2, max_size=4))
def test_gaps_have_fishers_p_adjusted_by_holm(groups):
    """Against both definitions: every table with the same sums; every step of Holm's."""
    shares = [(min(hits, n), n) for hits, n in groups]
    e = flipped_or_not()
    es = [e[i < hits] for hits, n in shares for i in range(n)]
    found = audit.reliance(
        es, "sex", by=[f"{g}" for g, (_, n) in enumerate(shares) for _ in "x" * n]
    )
    for between in found.gaps:
        (a, n), (b, m) = (shares[int(g)] for g in between.groups)
        ways = {k: comb(n, k) * comb(m, a + b - k) for k in range(a + b + 1)}
        as_odd = sum(w for w in ways.values() if w <= ways[a])
        assert between.gap.p_value == pytest.approx(as_odd / sum(ways.values()))
    p = [between.gap.p_value for between in found.gaps]
    assert len(p) == comb(len(shares), 2)
    for between in found.gaps:
        steps = [(len(p) - sum(q < r for q in p)) * r for r in p if r <= between.gap.p_value]
        assert between.p_adjusted == pytest.approx(min(1, max(steps)))
        assert between.found == (between.p_adjusted <= 0.05)
    frame = found.gap_frame()
    assert frame["p_adjusted"].tolist() == sorted(b.p_adjusted for b in found.gaps)
    assert sorted(frame["p_value"]) == sorted(p)
    assert Reliance.from_json(found.to_json()) == found


@cache
def flipped_or_not():
    """A decision that sex alone does not flip, and one that it does."""
    data = pd.DataFrame({"sex": ["f", "m"] * 2, "pay": [1, 1, 9, 9]})
    explainer = Explainer(lambda rows: (rows["sex"] == "m") & (rows["pay"] > 5), data)
    return explainer.explain_many(pd.DataFrame({"sex": ["f", "f"], "pay": [1, 9]}))


def test_groups_drawn_at_random_are_seldom_said_to_differ():
    """Of 28 pairs the surest is often beyond its own interval; over all of them it is not."""
    rng, e = np.random.default_rng(0), flipped_or_not()
    alone = told = 0
    for _ in range(40):
        es = [e[int(hit)] for hit in rng.random(150) < 0.6]
        found = audit.reliance(es, "sex", by=rng.integers(0, 8, 150).tolist())
        alone += any(not b.gap.low <= 0 <= b.gap.high for b in found.gaps)
        told += not found.differing.startswith("No difference")
    assert alone > 15 and told <= 4
    assert len(found.gaps) == 28 and "25 of 28 pairs not shown" in found.sheet.lead[1]
    notes = " ".join(found.sheet.notes)
    assert "both adjusted for 28 comparisons (Bonferroni, Holm)" in notes
    assert "No difference between groups could be shown with 150 decisions" in found.differing
    for gap in found.gaps:
        assert gap.adjusted.low < gap.gap.low and gap.gap.high < gap.adjusted.high
    frame = found.gap_frame()
    assert frame["low_adjusted"].tolist() == [gap.adjusted.low for gap in found.gaps]
    assert "adjusted p = " in found.sheet.lead[2]
    assert "Bonferroni, Holm" in found.to_html()


def test_groups_that_are_flipped_otherwise_are_said_to_be():
    e = flipped_or_not()
    found = audit.reliance([e[i % 2] for i in range(80)], "sex", by=["a", "b"] * 40)
    (between,) = found.gaps
    assert between.found
    assert found.sheet.lead[1] == ("1 difference between groups was found (adjusted p ≤ 0.05).")


def test_the_cheapest_of_several_is_called_what_is_known():
    """Only sets that are minimal at some threshold are priced."""
    e = flipped_or_not()
    found = audit.reliance(e, ["sex", "pay"])
    headings = {c.heading for panel in found.sheet.panels for c in panel.columns}
    assert "cheapest change known" in headings and "may flip a decision for less" in str(found)
    one = audit.reliance(e, "sex")
    headings = {c.heading for panel in one.sheet.panels for c in panel.columns}
    assert "cheapest change known" in headings and "for less" not in str(one)


def test_every_share_of_decisions_has_its_interval():
    found = audit.reliance(flipped_or_not(), "pay")
    (whole,) = found.groups
    shares = whole.falls, whole.flipped, whole.in_some, whole.in_every
    cells = tuple(share.estimate for share in shares)
    assert found.sheet.panels[0].rows == (("pay", "all", 2, *cells),)
    assert found.sheet.panels[0].texts[0][3] == "0% (0–84%)"


def test_a_feature_is_named_once():
    e = flipped_or_not()
    for protected in (["sex", "sex"], {"sex": ["sex", "sex"]}):
        with pytest.raises(InputError, match="protected: got 'sex' twice; allowed: each feature o"):
            audit.reliance(e, protected)
    assert len(audit.reliance(e, {"one": "sex", "two": "sex"}).groups) == 2


def test_names_that_are_no_features_are_refused():
    data = people(50)
    e = Explainer(lambda rows: rows["pay"] > 40, data, groups={"person": ["sex", "age"]}).explain(
        data.iloc[0]
    )
    with pytest.raises(InputError, match="a column of the group 'person'"):
        audit.reliance(e, "sex")
    with pytest.raises(InputError, match="Did you mean 'pay'"):
        audit.reliance(e, "pya")
    with pytest.raises(InputError, match=r"Known: person, job, pay\.$"):  # in the order of the data
        audit.reliance(e, "zzzzzz")
    with pytest.raises(InputError, match="at least one feature"):
        audit.reliance(e, [])
    found = audit.roles(e)
    with pytest.raises(InputError, match="view: got 'held'; allowed: 'keep' or 'flip'"):
        found.of("pay", "held")
    said = "feature: got 'pya'; allowed: one of the features: .*'pay'.*Did you mean 'pay'"
    with pytest.raises(InputError, match=said):
        found.of("pya")


def test_a_part_that_is_not_there_is_refused_by_its_argument():
    data = people(50)
    es = Explainer(lambda rows: rows["pay"] > 40, data).explain_many(data.iloc[:4])
    sexes = ["f", "f", "m", "m"]
    found = audit.cohort(es, by=sexes)
    outcome = found.parts[0].outcome
    assert found.part("flip", outcome, found.parts[0].group).view == "flip"
    with pytest.raises(InputError, match="view: got 'held'; allowed: 'keep' or 'flip'"):
        found.part("held")
    with pytest.raises(
        InputError, match=f"outcome: got 'maybe'; allowed: None, or one of .*{outcome}"
    ):
        found.part("keep", "maybe")
    with pytest.raises(InputError, match=r"group: got 'x'; allowed: None, or one of '[fm]'"):
        found.part("keep", group="x")
    with pytest.raises(InputError, match=r"group: got 'f'; allowed: None: there are no groups.*by"):
        audit.cohort(es).part("keep", group="f")


def test_decisions_about_other_features_cannot_be_added_up():
    data = people(50)
    model = lambda rows: rows["pay"] > 40  # noqa: E731
    one = Explainer(model, data).explain(data.iloc[0])
    other = Explainer(model, data, groups={"person": ["sex", "age"]}).explain(data.iloc[1])
    with pytest.raises(InputError, match="the same features"):
        audit.cohort([one, other])


def test_groups_that_differ_are_reported_and_others_are_not():
    def model(rows):  # for women only pay counts, for men pay and age
        man = rows["sex"] == "m"
        return np.where(man, (rows["pay"] > 40) | (rows["age"] > 45), rows["pay"] > 40)

    es = decisions(model, rows=200)
    found = audit.cohort(es, by="sex")
    assert any("pay" in d.features for d in found.found)
    assert found.found == tuple(d for d in found.differences if d.p_adjusted <= 0.05)
    none = audit.cohort(es, by=["odd", "even"] * 100)
    assert none.differences and none.found == ()
    assert all(d.p_adjusted >= d.gap.p_value for d in none.differences)


some_of_many = st.integers(1, 30).flatmap(lambda n: st.builds(Share, st.integers(0, n), st.just(n)))


@given(some_of_many, some_of_many)
def test_a_gap_lies_in_its_interval_and_turns_with_its_sides(a, b):
    one, other = compare_shares(a, b), compare_shares(b, a)
    assert one.low <= one.difference <= one.high
    assert one.difference == pytest.approx(-other.difference)
    assert one.low == pytest.approx(-other.high)


def test_one_comparison_needs_no_wider_interval():
    ((_, alone),) = compare_groups([(None, [("a", Share(3, 9)), ("b", Share(8, 9))])])
    ends = alone.adjusted.low, alone.adjusted.high
    assert ends == pytest.approx((alone.gap.low, alone.gap.high))
