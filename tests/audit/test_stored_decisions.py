"""Audits agree on decisions in memory, stored, with features left out, or unfinished."""

from dataclasses import replace
from itertools import compress
from math import comb

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from sklearn.tree import DecisionTreeClassifier

import suffice
from suffice import CausalContext, CausalModel, Explainer, InputError, audit
from tests.audit.mixed_table import fitted, mixed_table, rule
from tests.effort import examples

NAMES = ["a", "b", "c", "d"]


def answers(es, catalogue, protected, by=None, **asked):
    """What every audit says."""
    adverse = (es if isinstance(es, suffice.Explanation) else es[0]).outcome
    return {
        "roles": audit.roles(es),
        "reliance": audit.reliance(es, protected, by=by, **asked),
        "reasons": audit.reasons(es, catalogue, adverse=adverse, problems="hold", **asked),
        "cohort": audit.cohort(es, by=by, **asked),
        "keep": audit.global_factors(es, cover=0.8, **asked),
        "flip": audit.global_factors(es, cover=0.8, view="flip", max_size=None, **asked),
    }


def texts(names):
    return {name: {"any": (name[:1].upper(), f"Because of {name}")} for name in names}


def random_case(seed, causal=False):
    """A model that is any truth table on a small grid of numbers and words."""
    rng = np.random.default_rng(seed)
    data = pd.DataFrame(rng.integers(0, 3, (40, 4)), columns=NAMES)
    data["d"] = np.array(["x", "y", "z"])[data["d"]]
    truth = rng.random(3**4) < 0.5

    def model(rows):
        words = rows["d"].map({"x": 0, "y": 1, "z": 2}).astype(int)
        at = ((rows["a"].astype(int) * 3 + rows["b"].astype(int)) * 3 + rows["c"].astype(int)) * 3
        return truth[(at + words).to_numpy() % 81]

    context = None
    if causal:
        scm = CausalModel(
            [("a", "b")], data, mechanisms={"b": lambda a: (np.asarray(a).astype(int) + 1) % 3}
        )
        context = CausalContext(scm)
    return Explainer(model, data, n_references=12, context=context), data


@settings(max_examples=examples(8), deadline=None)
@given(seed=st.integers(0, 10_000), alpha=st.sampled_from([None, 0.3]), causal=st.booleans())
def test_stored_decisions_say_what_explanations_say(tmp_path_factory, seed, alpha, causal):
    explainer, data = random_case(seed, causal)
    folder = tmp_path_factory.mktemp("stored")
    rows = data.iloc[:12].assign(case=[f"n-{i}" for i in range(12)])
    explainer.explain_to(rows, folder, id="case", tau=0.6, alpha=alpha, progress=False)
    stored = suffice.load(folder)
    asked = {"catalogue": texts(NAMES), "protected": ["a", "d"], "by": "d"}
    fast, slow = answers(stored, **asked), answers(list(stored), ids=stored.ids, **asked)
    for what in fast:
        assert fast[what] == slow[what], what
    other = audit.reliance(stored, "a", tau=0.8), audit.cohort(stored, tau=0.8)
    assert other[0] == audit.reliance(list(stored), "a", tau=0.8, ids=stored.ids)
    assert other[1] == audit.cohort(list(stored), tau=0.8, ids=stored.ids)


@pytest.mark.parametrize("asked", [{"adjust": "holm", "alpha": 0.4}, {"max_size": 2}])
def test_stored_decisions_that_need_the_general_path_take_it(tmp_path, asked):
    explainer, data = random_case(3)
    explainer.explain_to(data.iloc[:8], tmp_path / "out", tau=0.6, progress=False, **asked)
    stored = suffice.load(tmp_path / "out")
    for result in (audit.roles, audit.cohort):
        assert result(stored) == result(list(stored))


def test_stored_decisions_are_called_as_they_were_stored(tmp_path):
    explainer, data = random_case(1)
    rows = data.iloc[:10].assign(case=[f"loan {i}" for i in range(10)])
    explainer.explain_to(rows, tmp_path / "out", id="case", progress=False)
    stored = suffice.load(tmp_path / "out")
    assert stored.ids == [f"loan {i}" for i in range(10)]
    found = audit.cohort(stored)
    assert {b.name for b in found.brittle} <= set(stored.ids)
    assert [r.name for r in audit.reliance(stored, "a").rows] == stored.ids
    adverse = [e.outcome == stored[0].outcome for e in stored]
    given = audit.reasons(stored, texts(NAMES), adverse=stored[0].outcome, problems="hold")
    assert [d.name for d in given] == [*compress(stored.ids, adverse)]
    assert given.others == adverse.count(False)
    few = audit.global_factors(stored, cover=0.2, max_size=1)
    assert [stored.ids[i] for i in few.left] == list(few.left_names)
    assert audit.reliance(stored, "a", ids=range(10)).rows[3].name == "3"


def test_what_was_stored_without_counts_is_refused_or_answered_at_its_tau(tmp_path):
    explainer, data = random_case(2)
    explainer.explain_to(data.iloc[:6], tmp_path / "out", tau=0.6, counts=False, progress=False)
    stored = suffice.load(tmp_path / "out")
    full = explainer.explain_many(data.iloc[:6], tau=0.6)
    kinds = [(r.feature, r.view, r.kind, r.holler) for r in audit.roles(stored).rows]
    assert kinds == [(r.feature, r.view, r.kind, r.holler) for r in audit.roles(full).rows]
    rests, known = audit.reliance(stored, "a"), audit.reliance(full, "a")
    assert [r.in_every for r in rests.rows] == [r.in_every for r in known.rows]
    unasked = sum(r.flips_alone is None for r in rests.rows)
    assert unasked and "more were not counted" in rests.sheet.lead[0]
    assert "flips none" not in rests.sheet.lead[0]
    with pytest.raises(InputError, match=r"decision 0, of which not every.*counts=True"):
        audit.cohort(stored)
    with pytest.raises(InputError, match=r"of which not every set was counted"):
        audit.global_factors(stored)
    assert audit.roles(stored).complete and not audit.roles(stored, tau=0.8).complete
    with pytest.raises(InputError, match="not every set was counted, so reasons cannot be ranked"):
        audit.reasons(stored, texts(NAMES), problems="raise")
    found = audit.reasons(stored, texts(NAMES), adverse=full[0].outcome, problems="hold")
    assert len(found.held) == len(found)


# -- features that were left out ----------------------------------------------------------


def many_columns(n=300, d=14):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 5, (n, d)), columns=[f"x{i}" for i in range(d)])
    y = (X["x0"] > 2) & (X["x3"] > 1) | (X["x1"] > 3) & (X["x2"] < 2)
    return X, DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)


def test_features_that_were_left_out_never_matter_and_rows_may_leave_out_others():
    X, model = many_columns()
    explainer = Explainer(model, X, n_references=3)
    some = explainer.explain_many(X.iloc[:12])
    assert len({tuple(p.name for p in e.players) for e in some}) > 1
    # The same with nothing left out: where D is told, every one of the 2^14 sets is counted.
    uniform = tuple(float(comb(14, size)) for size in range(15))
    told = Explainer(model, X, n_references=3, size_weights=uniform)
    full = [told.explain(X.iloc[i], search="exhaustive") for i in range(12)]
    assert not any(e.left_out for e in full)
    few, all_ = audit.roles(some), audit.roles(full)
    for view in ("keep", "flip"):
        for name in X.columns:
            one, other = few.of(name, view), all_.of(name, view)
            assert (one.kind, one.decisions, one.relevant) == (
                other.kind,
                other.decisions,
                other.relevant,
            )
            for index in ("holler", "deegan_packel", "pivotal", "necessity", "shapley"):
                assert getattr(one, index) == pytest.approx(getattr(other, index)), index
    protected = {"one": ["x0"], "never read": ["x13"], "both": ["x0", "x13"]}
    one, other = audit.reliance(some, protected), audit.reliance(full, protected)
    # Which changes were priced may differ where equal sets are: all else may not.
    assert [replace(r, change=None, cost=None) for r in one.rows] == [
        replace(r, change=None, cost=None) for r in other.rows
    ]
    said = texts(X.columns)
    given = (audit.reasons(es, said, adverse=some[0].outcome) for es in (some, full))
    for one, other in zip(*given, strict=True):
        assert one.codes == other.codes
        assert one.covered == pytest.approx(other.covered)
        assert one.left_out == other.left_out
    for view in ("keep", "flip"):
        one, other = (audit.global_factors(es, view=view, max_size=None) for es in (some, full))
        assert (one.covered, len(one.sets)) == (other.covered, len(other.sets))
    one, other = audit.cohort(some), audit.cohort(full)
    for part, whole in zip(one.parts, other.parts, strict=True):
        sets = {frozenset(s.features): s for s in whole.sets}
        assert len(part.sets) == len(whole.sets)
        for s in part.sets:
            same = sets[frozenset(s.features)]
            assert (s.suffices, s.minimal, s.hits) == (same.suffices, same.minimal, same.hits)
            assert s.steps == same.steps
        assert np.array(part.curve) == pytest.approx(np.array(whole.curve))
        bars = {(frozenset(f), low, high) for f, low, high in part.barcode}
        assert bars == {(frozenset(f), low, high) for f, low, high in whole.barcode}


def test_so_many_features_that_no_list_has_all_sets_are_still_added_up():
    X, model = many_columns(d=26)
    some = Explainer(model, X, n_references=20).explain_many(X.iloc[:10])
    found = audit.cohort(some)
    assert all(p.barcode is None and p.curve is None for p in found.parts)
    assert sum(p.decisions for p in found.parts if p.view == "keep") == 10
    for part in found.parts:
        own = [e for e in some if e.outcome == part.outcome]
        for s in part.sets:
            shares = [getattr(e, part.view).sufficiency(list(s.features)) for e in own]
            assert s.suffices == sum(share >= 0.9 for share in shares)
            assert s.hits == round(sum(20 * share for share in shares))
    assert "too many features" in str(found)


def test_a_bounded_search_is_refused_by_sums_and_noted_by_roles():
    X, model = many_columns(d=8)
    e = Explainer(model, X, n_references=20).explain(X.iloc[0], max_size=2)
    bounded = Explainer(lambda r: model.predict(r), X, n_references=20).explain(
        X.iloc[0], budget=300, search="exhaustive"
    )
    assert not bounded.complete
    assert "Not every minimal set is known" in str(audit.roles(bounded))
    assert "not every minimal set is known" in str(audit.reliance(bounded, "x0"))
    with pytest.raises(InputError, match="of which not every set was counted"):
        audit.cohort([bounded])
    assert audit.roles(e).of("x0").decisions in (0, 1)


def test_decisions_at_different_thresholds_are_each_taken_at_their_own():
    explainer, data = random_case(5)
    es = [explainer.explain(data.iloc[i], tau=t) for i, t in enumerate((0.5, 0.9, 1.0))]
    rows = audit.reliance(es, "a").rows
    for e, row in zip(es, rows, strict=True):
        assert row == replace(audit.reliance(e, "a").rows[0], number=row.number, name=row.name)
    same = audit.reliance(es, "a", tau=0.7).rows
    assert same[2].stands_freed == (es[2].keep.sufficiency(["b", "c", "d"]) >= 0.7)


def test_with_a_test_a_set_suffices_where_it_passes():
    explainer, data = random_case(7)
    es = explainer.explain_many(data.iloc[:10], tau=0.5, alpha=0.2)
    for part in audit.cohort(es).parts:
        own = [getattr(e, part.view) for e in es if e.outcome == part.outcome]
        for s in part.sets:
            passing = [v.factor(list(s.features)).p_value <= 0.2 for v in own]
            assert s.suffices == sum(passing) >= s.minimal


# -- a table as there are -----------------------------------------------------------------


@pytest.mark.parametrize("make", [lambda X: rule, fitted], ids=["rule", "trees"])
def test_categories_dates_and_missing_cells(make, tmp_path):
    X = mixed_table(250)
    explainer = Explainer(make(X), X, n_references=25)
    es = explainer.explain_many(X.iloc[:50])
    said = texts(X.columns)
    missing = int(X.iloc[:50]["origin"].isna().sum())
    assert missing > 0
    found = answers(
        es, catalogue=said, protected={"sex": "sex", "all": ["sex", "origin"]}, by="origin"
    )
    groups = {g.group: g.decisions for g in found["reliance"].groups if g.protected == "sex"}
    assert groups["missing"] == missing and groups[None] == 50
    assert sum(n for group, n in groups.items() if group is not None) == 50
    assert sum(p.decisions for p in found["cohort"].parts if p.view == "flip") == 50
    directions = {r.direction for d in found["reasons"] for r in d.reasons}
    assert directions <= {"higher", "lower", "other", None} and len(directions) > 2
    explainer.explain_to(X.iloc[:50], tmp_path / "out", progress=False)
    stored = suffice.load(tmp_path / "out")
    again = answers(
        stored, catalogue=said, protected={"sex": "sex", "all": ["sex", "origin"]}, by="origin"
    )
    for what in found:
        assert again[what] == found[what], what
        assert type(found[what]).from_json(found[what].to_json()) == found[what]


def test_one_decision_alone_and_what_is_none():
    explainer, data = random_case(4)
    e = explainer.explain(data.iloc[0])
    for found in answers(e, catalogue=texts(NAMES), protected="a").values():
        assert str(found)
    for audited in (audit.roles, audit.cohort, audit.global_factors):
        with pytest.raises(InputError, match="explanations: got a str among them"):
            audited([e, "no"])
    with pytest.raises(InputError, match="by: got 2 labels; allowed: one for each of the 1"):
        audit.cohort(e, by=["u", "v"])
    with pytest.raises(InputError, match="by: got 'salary'; allowed: a column of the inputs"):
        audit.cohort(e, by="salary")
    with pytest.raises(InputError, match="ids: got 2 names; allowed: one for each of the 1"):
        audit.cohort(e, ids=["u", "v"])


def test_an_audit_at_another_threshold_is_not_called_complete():
    data = pd.DataFrame(np.random.default_rng(0).integers(0, 4, (80, 8)), columns=list("abcdefgh"))
    explainer = suffice.Explainer(lambda rows: rows[list("abcde")].sum(axis=1) >= 9, data)
    e = explainer.explain(data.iloc[0], search="greedy")
    assert e.complete and audit.roles(e).complete
    assert not audit.roles(e, tau=0.5).complete
    assert not audit.compare([e], [e], tau=0.5).decisions[0].complete
