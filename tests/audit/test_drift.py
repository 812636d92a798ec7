"""Drift between two explanations of the same rows, against its definition, word by word."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import suffice
from suffice import Explainer, InputError, TextExplainer, audit, datasets
from suffice.inference import Share, newcombe_interval
from suffice.plots.audit_charts import drift_chart
from tests.plots.image_comparison import texts_in, texts_outside
from tests.random_problems import (
    VALUES,
    Problem,
    minimal_by_definition,
    subsets,
    thresholds,
    with_both_answers,
)

LOANS = ["age", "income", "debt", "late payments"]


@st.composite
def rivals(draw, n=2, max_d=4):
    """Several models of one input, each with references of its own."""
    d = draw(st.integers(1, max_d))
    row = st.tuples(*[st.integers(0, VALUES - 1)] * d)
    x = draw(row)
    truths = st.lists(st.booleans(), min_size=VALUES**d, max_size=VALUES**d)
    found = []
    for _ in range(n):
        references = draw(st.lists(row, min_size=1, max_size=5))
        if set(references) == {x}:
            references.append(((x[0] + 1) % VALUES, *x[1:]))
        found.append(with_both_answers(Problem(tuple(draw(truths)), x, tuple(references))))
    return found


def shares(world, view):
    hits = world.keeps if view == "keep" else world.flips
    return {s: hits(s) / len(world.references) for s in subsets(world.d)}


def explained(world, tau=0.9, **options):
    return world.explainer().explain(world.x, tau=tau, search="exhaustive", **options)


def named(members):
    return tuple(f"x{i}" for i in sorted(members))


def closure(share, tau):
    """The sets that contain a τ-minimal one."""
    minimal = minimal_by_definition(share, tau)
    return {s for s in share if any(set(m) <= set(s) for m in minimal)}


def distance_by_definition(one, other):
    """The mean of Jaccard's distance over τ, piece by piece between all shares there are."""
    ends = sorted({0.0, 1.0, *one.values(), *other.values()})
    total = 0.0
    for low, high in pairwise(ends):
        a, b = (closure(share, (low + high) / 2) for share in (one, other))
        total += (high - low) * (1 - len(a & b) / len(a | b) if a | b else 0.0)
    return total


@given(rivals(), thresholds)
def test_a_comparison_is_its_definition(pair, tau):
    before, after = pair
    (found,) = audit.compare(*(explained(w, tau) for w in pair))
    assert found.changed == (before.f(before.x) != after.f(after.x))
    if found.changed:
        assert found.factors == () and found.distance is None
        return
    assert len(found.factors) + found.unmoved == sum(
        len(
            minimal_by_definition(shares(before, v), tau)
            | minimal_by_definition(shares(after, v), tau)
        )
        for v in ("keep", "flip")
    )
    for view in ("keep", "flip"):
        old, new = shares(before, view), shares(after, view)
        was, now = minimal_by_definition(old, tau), minimal_by_definition(new, tau)
        told = {f.features: f for f in found.factors if f.view == view}
        for fate, sets in (("lost", was - now), ("gained", now - was)):
            assert {f for f in told if told[f].fate == fate} == set(map(named, sets))
        moved = {s for s in was & now if old[s] != new[s]}
        assert {f for f in told if told[f].fate == "kept"} == set(map(named, moved))
        for members in was | now:
            if named(members) in told:
                f = told[named(members)]
                assert (f.before.share, f.after.share) == (old[members], new[members])
                assert f.sufficed == (old[members] >= tau)
                assert f.suffices == (new[members] >= tau)
                assert f.shift.low <= f.shift.difference <= f.shift.high
                assert f.shift.difference == pytest.approx(new[members] - old[members])
        apart = found.keep_distance if view == "keep" else found.flip_distance
        assert apart == pytest.approx(distance_by_definition(old, new), abs=1e-12)


@given(rivals(n=3, max_d=3), st.sampled_from(["keep", "flip"]))
def test_the_distance_is_a_metric(three, view):
    a, b, c = (getattr(explained(w), view) for w in three)
    ab, bc, ac = (audit.barcode_distance(*pair) for pair in ((a, b), (b, c), (a, c)))
    assert ab == pytest.approx(audit.barcode_distance(b, a), abs=1e-12)
    assert all(0 <= d <= 1 + 1e-12 for d in (ab, bc, ac))
    assert ac <= ab + bc + 1e-12
    bars = [{(f.features, f.minimal_for) for f in v.barcode} for v in (a, b)]
    assert (ab == 0) == (bars[0] == bars[1])


@given(rivals(n=1), st.sampled_from([None, 0.2]))
def test_the_distance_ignores_what_cannot_matter(one, alpha):
    (world,) = one
    plain = explained(world, alpha=alpha)
    # The same with a column before the others that no model reads.
    data = np.array(world.references)
    wide = Explainer(
        lambda rows: world.model(np.asarray(rows)[:, 1:]),
        np.column_stack([np.arange(len(data)), data]),
        outcome=int(world.f(world.x)),
        references="all",
    ).explain((9, *world.x), search="exhaustive", alpha=alpha)
    names = ["new", *(p.name for p in plain.players)]
    renamed = replace(
        wide,
        players=tuple(
            replace(p, name=n, values={n: next(iter(p.values.values()))})
            for p, n in zip(wide.players, names, strict=True)
        ),
    )
    for view in ("keep", "flip"):
        assert audit.barcode_distance(getattr(plain, view), getattr(renamed, view)) == 0
    found = audit.compare(plain, renamed)
    assert found.nothing
    assert found.features == ((), ("new",))
    assert "Known after only: new." in str(found)


@given(rivals(n=1), thresholds)
def test_a_model_and_itself_differ_in_nothing(one, tau):
    found = audit.compare(*[explained(one[0], tau)] * 2)
    assert found.nothing
    assert found.mean_distance == 0
    assert "Nothing changed" in str(found)


def mixed(n=600, seed=0):
    """A table of numbers, words and missing values."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "pay": np.where(rng.random(n) < 0.1, np.nan, rng.integers(20, 80, n)),
            "job": pd.Categorical(rng.choice(["smith", "nurse", None], n)),
            "age": rng.integers(18, 70, n),
            "late": rng.integers(0, 4, n).astype(float),
        }
    )
    score = X["pay"].fillna(30) - 12 * X["late"] + 6 * (X["job"] == "smith")
    return X, np.where(score > 30, "granted", "refused")


def fitted(X, y):
    return HistGradientBoostingClassifier(
        max_iter=25, categorical_features="from_dtype", random_state=0
    ).fit(X, y)


@pytest.fixture(scope="module")
def shuffled():
    """Explainers of a model, and of one for which a feature was shuffled; rows to explain."""
    X, y = mixed()
    other = X.assign(late=np.random.default_rng(1).permutation(X["late"]))
    models = fitted(X, y), fitted(other, y)
    return *(Explainer(m, X, n_references=60) for m in models), X.iloc[:40]


@pytest.fixture(scope="module")
def explanations(shuffled):
    old, new, rows = shuffled
    return old.explain_many(rows), new.explain_many(rows)


def test_a_shuffled_feature_is_found(explanations):
    before, after = explanations
    found = audit.compare(before, after)
    assert not found.nothing
    assert found.by_feature[0].feature == "late"
    assert found.by_feature[0].difference < -0.2
    assert "moved most for late" in str(found)
    assert found.changed.hits == sum(
        a.prediction != b.prediction for a, b in zip(before, after, strict=True)
    )
    assert 0 < found.changed.hits < 40
    assert found.mean_distance > 0.05
    assert "late" in max(found.sets, key=lambda s: s.lost).features
    surest = found.farthest[0]
    assert surest.distance == max(d.distance for d in found if d.distance is not None)


def test_nothing_is_found_between_two_runs_of_one_model(shuffled, explanations):
    old, _, rows = shuffled
    again = audit.compare(explanations[0], old.explain_many(rows), tau=0.8)
    assert again.nothing and again.tau == 0.8
    assert again.fallen == Share(0, 0)
    assert set(again.to_frame()["keep_distance"]) == {0.0}
    assert len(again.to_factor_frame()) == 0


def test_shares_over_all_decisions_are_counts_of_them(explanations):
    found = audit.compare(*explanations)
    same = [d for d in found if not d.changed]
    assert found.other_sets == Share(sum(d.other_sets for d in same), len(same))
    lost = sum(s.lost for s in found.sets)
    assert lost == sum(len(d.having("lost")) for d in same)
    assert sum(s.gained for s in found.sets) == sum(len(d.having("gained")) for d in same)
    frame = found.to_factor_frame()
    assert (frame["fate"] == "lost").sum() == lost
    for feature in found.by_feature:
        before = [
            {n: old for n, old, _ in d.members}.get(feature.feature, 0) / d.n_minimal[0]
            for d in same
            if all(d.n_minimal)
        ]
        assert feature.before == pytest.approx(np.mean(before))
        assert feature.decisions == len(before)


def test_stored_batches_are_paired_by_id(shuffled, explanations, tmp_path):
    old, new, rows = shuffled
    named_rows = rows.assign(who=[f"p{i}" for i in range(len(rows))])
    a = old.explain_to(named_rows, tmp_path / "a", id="who")
    new.explain_to(named_rows.iloc[::-1][:30], tmp_path / "b", id="who")
    found = audit.compare(a, suffice.load(tmp_path / "b"))
    assert found.unpaired == (10, 0)
    assert [d.name for d in found] == [f"p{i}" for i in range(10, 40)]
    listed = audit.compare(
        explanations[0][10:], explanations[1][10:], ids=[f"p{i}" for i in range(10, 40)]
    )
    assert found.decisions == listed.decisions
    assert "10 decisions only before" in str(found)
    # By place where one side is a list.
    assert audit.compare(a, explanations[1]).changed == audit.compare(*explanations).changed


def test_stored_batches_without_a_common_id_or_with_one_twice(shuffled, tmp_path):
    old, _, rows = shuffled
    few = rows.iloc[:4]
    a = old.explain_to(few.assign(who=list("abcd")), tmp_path / "a", id="who")
    b = old.explain_to(few.assign(who=list("efgh")), tmp_path / "b", id="who")
    c = old.explain_to(few.assign(who=list("aabc")), tmp_path / "c", id="who")
    with pytest.raises(InputError, match=r"b: got no id that a has.*list\(suffice.load"):
        audit.compare(a, b)
    with pytest.raises(InputError, match="b: got several decisions with the id 'a'; allowed: one"):
        audit.compare(a, c)
    assert audit.compare(list(a), list(c)).nothing


def test_another_outcome_is_reported_and_its_sets_are_not_compared():
    people = pd.DataFrame({"pay": [30, 60, 45, 60], "debt": [20, 20, 0, 40]})
    old = Explainer(lambda rows: rows["pay"] >= 40, people)
    new = Explainer(lambda rows: rows["pay"] - rows["debt"] >= 40, people)
    found = audit.compare(old.explain(people.iloc[3]), new.explain(people.iloc[3]))
    assert found[0].changed and found[0].outcomes == ("True", "False")
    assert found[0].factors == () and found[0].distance is None
    assert "The outcome was “True”, and is “False”." in str(found)
    many = audit.compare(old.explain_many(people), new.explain_many(people))
    assert many.changed == Share(1, 4)
    assert "Another outcome: 1 of 4 decisions" in str(many)
    assert "they are not compared" in str(many)


def test_a_set_that_is_needlessly_large_now_is_distinguished_from_one_that_fails():
    X = pd.DataFrame({"a": [0] * 8, "b": [0, 1] * 4, "c": [0, 0, 1, 1] * 2})
    both = Explainer(lambda r: (r["a"] + r["b"] * 0 > 0) & (r["c"] >= 0), X, references="all")
    x = {"a": 1, "b": 1, "c": 1}
    either = Explainer(lambda r: (r["a"] > 0) & (r["b"] > 0), X, references="all")
    (found,) = audit.compare(either.explain(x), both.explain(x))
    told = {(f.view, f.features): f.text for f in found.factors}
    assert told["keep", ("a", "b")] == "lost: a subset suffices"
    assert told["keep", ("a",)] == "gained"
    (back,) = audit.compare(both.explain(x), either.explain(x))
    told = {(f.view, f.features): f.text for f in back.factors}
    assert told["keep", ("a", "b")] == "gained: a subset sufficed"
    assert told["keep", ("a",)] == "lost"


def test_codes_that_are_not_known_are_not_taken_for_unchanged(explanations):
    before, after = explanations
    found = audit.compare(before, after, catalogue={"pay": {"any": ("P", "Pay")}})
    known = [d for d in found if d.codes is not None]
    lacking = [d for d in found if d.codes_unknown]
    assert lacking and not set(known) & set(lacking)
    assert found.other_codes.n == len(known)
    assert all("has no entry in the catalogue" in d.codes_unknown[0] for d in lacking)
    assert f"Reason codes of {len(lacking)} decision" in str(found)


def test_a_catalogue_may_have_features_that_one_side_lacks():
    data = pd.DataFrame({"pay": [30, 60, 45, 50], "debt": [5, 5, 9, 1], "age": [30, 40, 50, 60]})
    one = Explainer(lambda rows: rows["pay"] > 40, data)
    other = Explainer(lambda rows: rows["pay"] > 40, data[["pay", "debt"]])
    catalogue = {name: {"any": (name, name)} for name in data.columns}
    sides = one.explain_many(data), other.explain_many(data[["pay", "debt"]])
    found = audit.compare(*sides, catalogue=catalogue)
    assert all(d.codes == (("pay",), ("pay",)) for d in found)
    with pytest.raises(InputError, match="an entry for 'pya', which is no feature"):
        audit.compare(*sides, catalogue={"pya": ("P", "Pay")})


def test_what_is_no_explanation_and_k_for_nothing_are_refused(explanations):
    before, after = explanations
    with pytest.raises(InputError, match="b: got a int among them; allowed: explanations"):
        audit.compare(before[:2], [after[0], 3])
    with pytest.raises(InputError, match="k: got 2 without a catalogue; allowed: None"):
        audit.compare(before, after, k=2)


def test_reason_codes_that_changed_are_those_of_reasons(explanations):
    names = "pay", "job", "age", "late"
    catalogue = {name: {"any": (name[0].upper(), name)} for name in names}
    found = audit.compare(*explanations, catalogue=catalogue, k=2)
    for d, a, b in zip(found, *explanations, strict=True):
        if d.changed:
            assert d.codes is None
            continue
        wanted = tuple(audit.reasons(e, catalogue, k=2, problems="hold")[0].codes for e in (a, b))
        assert d.codes == wanted
        assert d.other_codes == (wanted[0] != wanted[1])
    known = [d for d in found if d.codes is not None]
    assert found.other_codes == Share(sum(d.other_codes for d in known), len(known))
    assert "Reason codes changed in" in str(found)


def test_options_are_tried_on_the_model_after(shuffled, explanations):
    old, new, rows = shuffled
    refused = [i for i, e in enumerate(explanations[0]) if e.outcome == "refused"][:8]
    a, b = ([es[i] for i in refused] for es in explanations)
    ways = [old.recourse(rows.iloc[i], max_options=4) for i in refused]
    found = audit.compare(a, b, recourse=ways, explainer=new)
    model = new.decider.model
    for d, i, way in zip(found, refused, ways, strict=True):
        for told, option in zip(d.options, way.options, strict=True):
            row = rows.iloc[[i]].copy()
            for column, value in option.values.items():
                row[column] = pd.Series([value], index=row.index).astype(rows[column].dtype)
            assert told.works == (model.predict(suffice.tables.as_table(row))[0] == "granted")
            assert (told.text, told.cost) == (option.text, option.cost)
    assert found.fallen.hits == sum(not o.works for d in found for o in d.options)
    assert 0 < found.fallen.hits < found.fallen.n
    assert "Recourse options that no longer work" in str(found)
    # On the old model all of them work.
    again = audit.compare(a, a, recourse=ways, explainer=old)
    assert again.nothing and again.fallen == Share(0, found.fallen.n)
    # One decision, and one that nothing was asked for.
    assert audit.compare(a[0], b[0], recourse=ways[0], explainer=new)[0].options
    some = audit.compare(a[:2], b[:2], recourse=[None, ways[1]], explainer=new)
    assert some[0].options == () and some[1].options == found[1].options


def test_options_for_a_desired_event_are_tried_for_it():
    X = pd.DataFrame({"pay": [10.0, 20, 30, 40, 50], "debt": [5.0, 4, 3, 2, 1]})
    old = Explainer(lambda r: r["pay"] - r["debt"], X, outcome=suffice.at_least(30))
    new = Explainer(lambda r: r["pay"] - 4 * r["debt"], X, outcome=suffice.at_least(30))
    a, b = (e.explain(X.iloc[0]) for e in (old, new))
    way = old.recourse(X.iloc[0])
    assert way.desired == "prediction ≥ 30"
    found = audit.compare(a, b, recourse=way, explainer=new)
    wanted = []
    for option in way:
        row = {"pay": 10.0, "debt": 5.0} | dict(option.values)
        wanted.append(row["pay"] - 4 * row["debt"] >= 30)
    assert [o.works for o in found[0].options] == wanted
    further = old.recourse(X.iloc[0], desired=suffice.at_least(35))
    with pytest.raises(InputError, match=r"recourse: got options from .*Pass desired="):
        audit.compare(a, b, recourse=further, explainer=new)
    found = audit.compare(a, b, recourse=further, explainer=new, desired=suffice.at_least(35))
    assert len(found[0].options) == len(further)


def test_bounded_searches_are_compared_so_far_as_they_went():
    X, y = datasets.loans(300)
    X = X[LOANS]
    one, other = (
        Explainer(RandomForestClassifier(8, random_state=s).fit(X, y), X, n_references=40)
        for s in (0, 1)
    )
    a, b = (e.explain(X.iloc[8], search="pruned", tau=0.8) for e in (one, other))
    full = audit.compare(*(e.explain(X.iloc[8], tau=0.8) for e in (one, other)))[0]
    (found,) = audit.compare(a, b)
    assert found.distance is None and found.complete
    fates = [{(f.view, f.features, f.fate) for f in d.factors if f.fate != "kept"}
             for d in (found, full)]  # fmt: skip
    assert fates[0] == fates[1]
    assert audit.compare(a, a).nothing
    assert a.complete and b.complete
    assert not audit.compare(a, b, tau=0.9)[0].complete  # other sets may be minimal at 0.9
    c, d = (e.explain(X.iloc[8], max_size=1) for e in (one, other))
    assert not (c.complete or d.complete)
    assert "Of 1 decision not all minimal sets are known" in str(audit.compare(c, d))


def test_texts_are_compared_by_their_words():
    def loud(word):
        return TextExplainer(lambda texts: ["bad" if word in t.split() else "good" for t in texts])

    text = "a dull film"
    found = audit.compare(loud("dull").explain(text), loud("film").explain(text))
    assert {f.features for f in found[0].having("lost")} == {("dull",)}
    assert {f.features for f in found[0].having("gained")} == {("film",)}
    with pytest.raises(InputError, match="b: got decision 0, with another text"):
        audit.compare(loud("dull").explain(text), loud("dull").explain("a dull play"))


def test_what_cannot_be_compared_is_refused_in_words(explanations):
    X, y = datasets.loans(120)
    X = X[LOANS]
    explainer = Explainer(LogisticRegression(max_iter=1000).fit(X, y), X, n_references=30)
    es = explainer.explain_many(X.iloc[:3])
    way = explainer.recourse(X.iloc[0], max_options=2)
    cases = [
        (lambda: audit.compare(es, es[:2]), r"b: got 2 decisions; allowed: as many as a has, 3"),
        (
            lambda: audit.compare(es, es[::-1]),
            r"b: got decision 0 with age = .*, where a has .*same order.*paired by id",
        ),
        (lambda: audit.compare([], es), "a: got none; allowed: at least one explanation"),
        (lambda: audit.compare(es, 3), "b: got 3; allowed: an explanation"),
        (lambda: audit.compare(es[0], explanations[0][0]), "b: got decision 0"),
        (
            lambda: audit.compare(es[0], es[0].at(0.5)),
            r"tau: got decision 0 at τ = 0.5, where a has 0.9; .*compare\(a, b, tau=0.9\)",
        ),
        (lambda: audit.compare(es[0], es[0].at(alpha=0.05)), "b: got decision 0 with alpha=0.05"),
        (lambda: audit.compare(es, es, tau=2), "tau: got 2"),
        (lambda: audit.compare(es, es, k=0), "k: got 0"),
        (lambda: audit.compare(es, es, ids=["x"]), "ids: got 1 names; allowed: one for each"),
        (lambda: audit.compare(es, es, catalogue={"agee": ("A", "a")}), "catalogue: got"),
        (lambda: audit.compare(es, es, explainer=explainer), "explainer: got explainer without"),
        (lambda: audit.compare(es, es, desired="x"), "desired: got desired without recourse"),
        (lambda: audit.compare(es, es, recourse=[way] * 3), "explainer: got None; allowed: an Exp"),
        (lambda: audit.compare(es, es, recourse=way, explainer=explainer), "recourse: got 1 of th"),
        (lambda: audit.compare(es[0], es[0], recourse=3, explainer=explainer), "recourse: got 3"),
        (
            lambda: audit.compare(es[0], es[0], recourse=[3], explainer=explainer),
            "recourse: got 3; allowed: one Recourse",
        ),
        (
            lambda: audit.compare(es[1], es[1], recourse=way, explainer=explainer),
            "recourse: got options for a row with .*, where decision 0 has",
        ),
        (lambda: audit.compare(es[0], es[0], recourse=way, explainer=3), "explainer: got 3"),
        (lambda: audit.barcode_distance(es[0], es[0].keep), "one: got .*allowed: a view of an"),
        (lambda: audit.barcode_distance(es[0].keep, "x"), "other: got x; allowed: a view of an"),
    ]
    for call, message in cases:
        with pytest.raises(InputError, match=message):
            call()
    grouped = explainer.but(groups={"money": ["income", "debt"]}).explain(X.iloc[0])
    with pytest.raises(
        InputError, match=r"'income' belongs to 'money'.*Explain both with the same"
    ):
        audit.compare(es[0], grouped)


def test_the_figure_of_many_shows_shares_and_what_moved(explanations):
    pytest.importorskip("matplotlib")
    found = audit.compare(*explanations)
    chart = drift_chart(found, most=2)
    assert [line.labels[0] for line in chart.rows] == [
        "another outcome",
        "other minimal sets",
        *(f"minimal sets with {f.feature}" for f in found.by_feature[:2]),
    ]
    late = chart.rows[2].cells[0]
    assert (late.before, late.value) == (found.by_feature[0].before, found.by_feature[0].after)
    assert chart.rows[0].cells[0].interval == found.changed.interval
    assert chart.more == "and 2 more features: .by_feature"
    assert not texts_outside(found.plot())


def test_the_figure_of_one_shows_each_set_before_and_after(explanations):
    pytest.importorskip("matplotlib")
    before, after = explanations
    at = next(i for i, d in enumerate(audit.compare(before, after)) if len(d.factors) > 1)
    found = audit.compare(before[at], after[at])
    chart = drift_chart(found, most=1)
    (line,) = chart.rows
    first = found[0].factors[0]
    assert line.cells[0].before == first.before.share
    assert line.cells[1].value == first.shift.difference
    assert chart.columns[0].reference == 0.9
    ax = found.plot()
    assert not texts_outside(ax)
    assert "A ring is before, a dot after." in texts_in(ax)
    assert drift_chart(audit.compare(before[0], before[0]), 3).rows == ()


def test_newcombes_interval_is_the_one_he_published():
    # Newcombe (1998), Table II, method 10: examples (a) and (c).
    assert newcombe_interval(Share(56, 70), Share(48, 80)) == pytest.approx(
        (0.2, 0.0524, 0.3339), abs=5e-5
    )
    assert newcombe_interval(Share(9, 10), Share(3, 10)) == pytest.approx(
        (0.6, 0.1705, 0.8090), abs=5e-5
    )
