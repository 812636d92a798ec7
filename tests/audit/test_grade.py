"""Marks for other tools' claims: against their definitions, and with the tools' own objects."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.inspection import permutation_importance
from sklearn.tree import DecisionTreeClassifier

from suffice import Explainer, InputError, anchor, audit, compare, datasets, equals, score_rule
from suffice.audit.grade_claims import ClaimContext, read_claim
from suffice.plots.tool_comparison import grade_figure_of
from tests.fakes import fake_time
from tests.random_problems import Problem, problems, subsets, thresholds, with_both_answers

COLUMNS = ["age", "income", "debt", "late payments", "home"]


def name(i):
    return f"x{i}"


def numbers(features):
    return tuple(int(feature[1:]) for feature in features)


def shares(world: Problem, view: str) -> dict:
    hits = world.keeps if view == "keep" else world.flips
    return {s: hits(s) for s in subsets(world.d)}


def check(mark, hits, n, tau):
    """A mark is what its definitions say, by looking at every set."""
    own = numbers(mark.features)
    alike = [s for s in hits if len(s) == len(own)]
    assert (mark.hits, mark.n) == (hits[own], n)
    assert mark.reaches == (hits[own] / n >= tau)
    assert mark.best_hits == max(hits[s] for s in alike) == hits[numbers(mark.best)]
    assert mark.better == sum(hits[s] > hits[own] for s in alike)
    assert mark.worse == sum(hits[s] < hits[own] for s in alike)
    assert mark.sets == len(alike)

    def as_well(s):
        return hits[s] / n >= tau if mark.reaches else hits[s] >= hits[own]

    inside = [s for s in hits if set(s) <= set(own) and as_well(s)]
    rest = tuple(i for i in own if name(i) not in mark.spare)
    assert rest in inside and len(rest) == min(map(len, inside))
    assert mark.minimal == (mark.reaches and inside == [own])
    smallest = min(len(s) for s in hits if as_well(s))
    if smallest < len(own):
        assert len(mark.smaller) == smallest and as_well(numbers(mark.smaller))
    else:
        assert mark.smaller is None
    total = sum(hits.values())
    if total:
        above = sum(h for s, h in hits.items() if set(s) >= set(own))
        assert mark.necessity == pytest.approx(above / total)
        assert mark.necessity_baseline == pytest.approx(0.5 ** len(own))


@given(
    problems(max_d=4).map(with_both_answers),
    thresholds,
    st.data(),
    st.sampled_from(["keep", "flip"]),
)
def test_marks_of_a_set_are_their_definitions(world, tau, data, view):
    own = data.draw(st.sampled_from(subsets(world.d)))
    found = audit.grade(world.explainer(), world.x, frozenset(map(name, own)), tau=tau, view=view)
    assert (found.kind, found.view, found.complete) == ("set", view, True)
    assert numbers(found.mark.features) == own
    check(found.mark, shares(world, view), len(world.references), tau)


@given(
    problems(max_d=4).map(with_both_answers),
    thresholds,
    st.data(),
    st.sampled_from(["keep", "flip"]),
)
def test_a_ranking_is_marked_at_every_size(world, tau, data, view):
    order = data.draw(st.permutations(range(world.d)))
    some = order[: data.draw(st.integers(1, world.d))]
    hits, n = shares(world, view), len(world.references)
    found = audit.grade(world.explainer(), world.x, list(map(name, some)), tau=tau, view=view)
    for k, mark in enumerate(found.marks, start=1):
        assert numbers(mark.features) == tuple(sorted(some[:k]))
        check(mark, hits, n, tau)
    reach = [k for k in range(1, len(some) + 1) if hits[tuple(sorted(some[:k]))] / n >= tau]
    assert found.first == min(reach, default=None)
    enough = [len(s) for s in hits if hits[s] / n >= tau]
    if enough:
        assert len(found.smallest) == min(enough)
        assert found.mark.size == min(max(1, min(enough)), len(some))


@given(problems(max_d=4).map(with_both_answers), st.data())
def test_counterfactual_rows_are_predicted_by_the_model(world, data):
    row = st.tuples(*[st.integers(0, 2)] * world.d)
    rows = data.draw(st.lists(row, min_size=1, max_size=3))
    explainer = world.explainer(cost=lambda column, old, new: np.abs(new - old) * 1.0)
    found = audit.grade(
        explainer, world.x, [dict(zip(map(name, range(world.d)), r, strict=True)) for r in rows]
    )
    y, hits = world.f(world.x), shares(world, "flip")
    for mark, row_mark, cells in zip(found.marks, found.rows, rows, strict=True):
        changed = tuple(i for i in range(world.d) if cells[i] != world.x[i])
        assert numbers(row_mark.features) == changed
        assert mark.hits == hits[changed]
        assert row_mark.flips == (world.f(cells) != y)
        assert row_mark.cost == sum(abs(cells[i] - world.x[i]) for i in changed)
        if not row_mark.flips:
            assert row_mark.spare is None
            continue
        parts = [
            part
            for k in range(len(changed) + 1)
            for part in combinations(changed, k)
            if world.f([cells[i] if i in part else world.x[i] for i in range(world.d)]) != y
        ]
        cost = min(sum(abs(cells[i] - world.x[i]) for i in part) for part in parts)
        assert row_mark.spare_cost == cost
        rest = tuple(i for i in changed if name(i) not in row_mark.spare)
        assert rest in parts and sum(abs(cells[i] - world.x[i]) for i in rest) == cost
    flips = [r.cost for r in found.rows if r.flips]
    if flips:
        assert found.row.flips and found.row.cost == min(flips)
    assert found.valid == len(flips)


# -- a table of loans ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def loans():
    X, y = datasets.loans(300)
    X = X[COLUMNS].assign(home=X["home"].astype("category").cat.codes.astype(int))
    model = RandomForestClassifier(15, random_state=0).fit(X, y)
    return model, X, y


@pytest.fixture(scope="module")
def explainer(loans):
    model, X, _ = loans
    return Explainer(model, X)


def test_features_that_cannot_matter_count_as_any_others(loans):
    _, X, y = loans
    rng = np.random.default_rng(0)
    names = [*COLUMNS, *(f"noise {i}" for i in range(8))]
    X = X.assign(**{name: rng.integers(0, 9, len(X)) for name in names[5:]})
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    x = X.iloc[8]
    counted = Explainer(tree, X, n_references=20, engine="trees")
    idle = counted.explain(x)
    assert idle.left_out
    every = Explainer(tree, X, n_references=20, engine="blackbox").explain(x)
    assert not every.left_out
    for view in ("keep", "flip"):
        whole = getattr(every, view)
        for k in (1, 2, 3, 11, 13):
            hits = {s: whole.sufficiency(s) for s in combinations(names, k)}
            for features, own in list(hits.items())[::97]:
                mark = audit.grade(counted, x, set(features), view=view).mark
                assert mark.sufficiency == own
                assert mark.best_sufficiency == max(hits.values())
                assert hits[mark.best] == mark.best_sufficiency
                assert mark.better == sum(h > own for h in hits.values())
                assert mark.worse == sum(h < own for h in hits.values())
                assert mark.sets == len(hits)
                assert mark.necessity == pytest.approx(whole.necessity_of(features))


def test_of_many_features_sets_are_counted_and_the_best_is_left_open(monkeypatch):
    fake_time(monkeypatch, step=0.001)
    rng = np.random.default_rng(0)
    data = pd.DataFrame(rng.integers(0, 3, (40, 30)), columns=[f"f{i}" for i in range(30)])

    def model(rows):
        return np.asarray(rows).sum(axis=1) + 5 * np.asarray(rows)[:, 0] > 33

    explainer = Explainer(model, data)
    x = data.iloc[int(np.argmax(model(data)))]
    ranking = ["f0", *(f"f{i}" for i in range(29, 14, -1))]
    found = audit.grade(explainer, x, ranking, time_limit=0.3)
    assert not found.complete
    references = data[model(data) != model(x.to_frame().T)[0]]
    for mark in found.marks:
        hybrids = references.copy()
        hybrids[list(mark.features)] = x[list(mark.features)].to_numpy()
        assert mark.hits == int((model(hybrids) == model(x.to_frame().T)[0]).sum())
        assert mark.n == len(references)
    wide = found.marks[-1]
    assert (wide.best, wide.better, wide.beats, wide.necessity) == (None, None, None, None)
    assert wide.spare is None  # 2^16 sets inside it
    assert found.marks[2].spare is not None
    text = " ".join(str(audit.grade(explainer, x, set(ranking), time_limit=0.3)).split())
    assert "not all sets of 16 were counted" in text and "the others are not known" in text


def test_a_rule_has_its_precision_and_what_could_be_left_out(loans, explainer):
    _, X, _ = loans
    x = X.iloc[8]
    parts = [
        compare("debt", ">", 10),
        compare("income", "<=", 45),
        compare("age", "<=", 60),
        equals("home", int(x["home"])),
    ]
    rule = parts[0] & parts[1] & parts[2] & parts[3]
    found = audit.grade(explainer, x, rule, tau=0.8)
    scored = score_rule(explainer, x, rule, tau=0.8)
    assert found.rule.rule == scored
    assert found.rule.holds and found.rule.conditions == 4
    level = min(0.8, scored.precision)

    def precision(some):
        factor = None
        for part in some:
            factor = part if factor is None else factor & part
        return score_rule(explainer, x, factor).precision

    enough = [
        k for k in range(5) if any(precision(some) >= level for some in combinations(parts, k))
    ]
    assert 4 - len(found.rule.spare) == min(enough)
    assert found.mark.features == ("age", "income", "debt", "home")
    told = audit.grade(
        explainer, x, f"debt > 10 and income <= 45 and age <= 60 and home = {x['home']}"
    )
    assert told.rule.rule.precision == scored.precision
    elsewhere = audit.grade(explainer, x, "debt <= 1")
    assert not elsewhere.rule.holds and "does not hold of this very input" in str(elsewhere)
    always = audit.grade(explainer, x, "always")
    assert always.mark.features == () and always.rule.rule.words == "always"


def test_a_rule_that_no_row_meets_has_no_precision(explainer, loans):
    found = audit.grade(explainer, loans[1].iloc[8], "debt > 100000")
    assert found.rule.rule.precision is None and found.rule.reaches is None
    assert "No row meets the rule" in str(found)


def test_the_words_say_what_was_found(explainer, loans):
    model, X, _ = loans
    found = audit.grade(explainer, X.iloc[8], {"home": 3.0, "age": -2, "income": 1, "debt": 0.5})
    text, mark = " ".join(str(found).split()), found.mark
    assert "Marks for a ranking: what keeps “refused”" in text
    assert f"the best set of {mark.size}, " in text and mark.better > 0
    assert f"It takes its first {found.first} features to reach 90%" in text
    spare = next(m for m in found.marks if m.spare)
    assert ", ".join(spare.spare) in text
    other = int(np.flatnonzero(model.predict(X) == "granted")[0])
    rows = audit.grade(explainer, X.iloc[8], X.iloc[[other, 8]])
    assert "1 of 2 rows really flips the outcome." in str(rows)
    assert rows.rows[1].change == "nothing" and not rows.rows[1].flips
    none = audit.grade(explainer, X.iloc[8], X.iloc[:0])
    assert none.mark is None and "It gives no counterfactual." in str(none)


# -- what is read -------------------------------------------------------------------------


def test_rankings_in_every_form_are_the_same(explainer, loans):
    x = loans[1].iloc[8]
    scores = [0.1, -0.5, 0.3, 0.0, 0.2]
    pairs = list(zip(COLUMNS, scores, strict=True))
    order = ("income", "debt", "home", "age", "late payments")
    for other in (
        scores,
        np.array(scores),
        np.array([scores]),
        dict(pairs),
        pd.Series(dict(pairs)),
        pairs,
        [("20.00 < age <= 40.00", 0.1), ("income > 40.50", -0.5), ("debt <= 3", 0.3),
         ("late payments=2", 0.0), ("home=1", 0.2)],
        list(order),
        tuple(order),
        np.array(order),
    ):  # fmt: skip
        found = audit.grade(explainer, x, other)
        assert [set(m.features) for m in found.marks] == [set(order[:k]) for k in range(1, 6)]
    signed = audit.grade(explainer, x, scores, absolute=False, k=1)
    assert signed.mark.features == ("debt",)


def test_groups_are_ranked_by_the_sum_of_their_columns(loans):
    model, X, _ = loans
    grouped = Explainer(model, X, groups={"money": ["income", "debt"]})
    x = X.iloc[8]
    found = audit.grade(grouped, x, dict(zip(COLUMNS, [0.3, 0.2, 0.2, 0.0, 0.1], strict=True)))
    assert found.marks[0].features == ("money",)
    assert audit.grade(grouped, x, {"income", "debt"}).mark.features == ("money",)
    assert audit.grade(grouped, x, "debt > 3").mark.features == ("money",)
    with pytest.raises(InputError, match="'debt', a column of the group 'money'"):
        audit.grade(grouped, x, {"debt"})


def test_answers_of_this_package_are_claims(explainer, loans):
    x = loans[1].iloc[8]
    e = explainer.explain(x)
    assert audit.grade(explainer, x, e.keep).mark.minimal
    assert audit.grade(explainer, x, e.flip[0], view="flip").mark.minimal
    recourse = explainer.recourse(x)
    found = audit.grade(explainer, x, recourse)
    assert found.valid == len(recourse) == len(found.rows)
    assert found.row.cost == pytest.approx(recourse.best.cost) == pytest.approx(found.cheapest.cost)
    assert audit.grade(explainer, x, recourse.best).row.spare == ()
    rules = anchor(explainer, x, tau=0.8)
    assert audit.grade(explainer, x, rules, tau=0.8).rule.spare == ()
    assert (
        audit.grade(explainer, x, rules.best, tau=0.8).rule.rule.precision == rules.best.precision
    )
    with pytest.raises(InputError, match=r"two views.*other.keep or other.flip"):
        audit.grade(explainer, x, e)


def test_shap_values_of_one_row_are_ranked_for_the_outcome(shap, explainer, loans):
    model, X, _ = loans
    values = shap.TreeExplainer(model, X.iloc[:50])(X.iloc[:4], check_additivity=False)
    assert values.values.shape == (4, 5, 2)
    label = list(model.classes_).index(model.predict(X.iloc[[2]])[0])
    order = np.argsort(-np.abs(values.values[2, :, label]), kind="stable")
    for other in (values[2], values[2:3], values[2, :, label]):
        found = audit.grade(explainer, X.iloc[2], other)
        assert [set(m.features) for m in found.marks] == [
            {COLUMNS[j] for j in order[:k]} for k in range(1, 6)
        ]
        assert "shap cuts a background given as a table to 100 rows" in " ".join(str(found).split())
    scores = audit.grade(explainer, X.iloc[2], dict(zip(COLUMNS, range(5), strict=True)))
    assert scores.caution == ""
    with pytest.raises(InputError, match=r"shap values of shape \(4, 5, 2\).*explanation\[i\]"):
        audit.grade(explainer, X.iloc[2], values)
    many = audit.grade(explainer, X.iloc[:4], {"shap": values})
    assert many.entries[2].grade.marks == found.marks
    assert many.of("shap").kind == "ranking" and many.of("shap").as_good.n == 4


def test_lime_is_read_by_its_map_and_by_its_list(explainer, loans):
    tabular = pytest.importorskip("lime.lime_tabular")
    model, X, _ = loans
    lime = tabular.LimeTabularExplainer(X.to_numpy(), feature_names=COLUMNS, random_state=0)
    exp = lime.explain_instance(
        X.iloc[8].to_numpy(), lambda rows: model.predict_proba(pd.DataFrame(rows, columns=COLUMNS)),
        num_features=3,
    )  # fmt: skip
    by_object = audit.grade(explainer, X.iloc[8], exp)
    by_list = audit.grade(explainer, X.iloc[8], exp.as_list())
    assert by_object.marks == by_list.marks and len(by_object.marks) == 3


class LimeWeights:
    """An explanation with the one method of LIME's that is read: weights by class."""

    def __init__(self, **by_class):
        self.by_class = {int(name[1:]): weights for name, weights in by_class.items()}

    def as_map(self):
        return self.by_class


def test_lime_weights_of_another_class_are_refused():
    X = pd.DataFrame({"a": [0.0, 1, 2] * 4, "b": [0.0, 0, 1, 1] * 3})
    of_three = Explainer(DecisionTreeClassifier(random_state=0).fit(X, X["a"].astype(int)), X)
    weights = [(1, 0.9), (0, 0.1)]
    found = audit.grade(of_three, X.iloc[1], LimeWeights(c1=weights))
    assert found.marks[0].features == ("b",)
    message = r"other: got weights of LIME without those of the outcome's class, 1.*labels=\[1\]"
    with pytest.raises(InputError, match=message):
        audit.grade(of_three, X.iloc[1], LimeWeights(c2=weights))


def test_lime_weights_of_the_other_of_two_classes_rank_by_size_only():
    X = pd.DataFrame({"a": [0.0, 1, 0, 1], "b": [0.0, 0, 1, 1]})
    of_two = Explainer(DecisionTreeClassifier(random_state=0).fit(X, X["a"].astype(int)), X)
    other = LimeWeights(c1=[(1, 0.2), (0, -0.9)])
    assert audit.grade(of_two, X.iloc[0], other).marks[0].features == ("a",)
    with pytest.raises(InputError, match="without those of the outcome's class, 0"):
        audit.grade(of_two, X.iloc[0], other, absolute=False)


def test_permutation_importance_ranks_by_sign(explainer, loans):
    model, X, y = loans
    found = permutation_importance(model, X, y, n_repeats=2, random_state=0)
    order = np.argsort(-found.importances_mean, kind="stable")
    marks = audit.grade(explainer, X.iloc[8], found).marks
    assert marks[0].features == (COLUMNS[order[0]],)
    many = audit.grade(explainer, X.iloc[:3], {"permutation": found})  # the same for all
    assert [e.grade.marks[0].features for e in many.entries] == [marks[0].features] * 3


def test_a_rule_of_anchor_exp_is_read_as_it_is_written(explainer, loans):
    tabular = pytest.importorskip("anchor.anchor_tabular")
    model, X, _ = loans
    homes = {4: ["owns", "rents", "with family"]}
    peer = tabular.AnchorTabularExplainer(["no", "yes"], COLUMNS, X.to_numpy(dtype=float), homes)

    def predict(rows):
        return (model.predict(pd.DataFrame(rows, columns=COLUMNS)) == "granted").astype(int)

    np.random.seed(0)  # noqa: NPY002 - the generator that anchor-exp draws from
    for i in (8, 2, 30):
        exp = peer.explain_instance(X.iloc[i].to_numpy(dtype=float), predict, threshold=0.9)
        found = audit.grade(explainer, X.iloc[i], exp, labels={"home": homes[4]})
        assert found.rule.holds
        assert set(found.mark.features) == {COLUMNS[f] for f in exp.features()}
        near = 4 * np.sqrt(0.1 / 300 + 0.1 / 100)  # its precision is an estimate from its draws
        assert abs(found.rule.rule.precision - exp.precision()) < near


@dataclass
class Alibi:
    """Stands in for alibi's Explanation, which keeps what `explain` found in `data`."""

    data: dict
    meta: dict


def test_a_rule_in_alibis_form_is_read():
    X = pd.DataFrame({"age": [20, 30, 40, 50], "job": ["clerk", "smith", "clerk", "smith"]})
    explainer = Explainer(lambda rows: (rows["age"] > 35) & (rows["job"] == "smith"), X)
    exp = Alibi({"anchor": ["age > 40.00", "job = smith"], "precision": 1.0, "raw": {}}, {})
    found = audit.grade(explainer, X.iloc[3], exp)
    assert found.rule.rule.words == "age > 40 and job = smith"
    assert found.rule.rule.precision == 1.0 and found.rule.spare == ()


def test_dice_rows_are_predicted_again(explainer, loans):
    dice_ml = pytest.importorskip("dice_ml")
    model, X, _ = loans

    class Numbered:
        classes_ = np.array([0, 1])

        def predict_proba(self, rows):
            return model.predict_proba(rows.astype(X.dtypes.to_dict()))[:, ::-1]

        def predict(self, rows):
            return (model.predict(rows.astype(X.dtypes.to_dict())) == "granted").astype(int)

    frame = X.astype({"home": str}).assign(granted=Numbered().predict(X))
    data = dice_ml.Data(dataframe=frame, continuous_features=COLUMNS[:4], outcome_name="granted")
    dice = dice_ml.Dice(data, dice_ml.Model(model=Numbered(), backend="sklearn"), method="random")
    rows = frame.iloc[[8, 2]].drop(columns="granted")
    found = dice.generate_counterfactuals(
        rows, total_CFs=3, desired_class="opposite", random_seed=0, verbose=False
    )
    one = audit.grade(explainer, X.iloc[8], found.cf_examples_list[0])
    assert len(one.rows) == 3 and one.valid == 3  # of a tool that checks its rows itself
    assert one.kind == "counterfactuals" and one.view == "flip"
    assert one.cheapest.cost == explainer.explain(X.iloc[8]).cheapest.cost
    with pytest.raises(InputError, match=r"counterfactuals of 2 inputs.*cf_examples_list\[i\]"):
        audit.grade(explainer, X.iloc[8], found)
    both = audit.grade(explainer, X.iloc[[8, 2]], {"DiCE": found})
    assert both.entries[0].grade.rows == one.rows
    assert both.of("DiCE").valid.n == 6


# -- several ------------------------------------------------------------------------------


def broken(row):
    raise RuntimeError("out of memory")


def test_tools_are_marked_row_by_row_and_failures_are_reported(explainer, loans):
    _, X, _ = loans
    asked = []

    def by_hand(row):
        asked.append(row)
        return ["debt", "income"] if len(asked) != 2 else None

    tools = {
        "by hand": by_hand,
        "broken": broken,
        "rules": ["debt > 10", "nonsense > 3", "income <= 45"],
        "rows": [X.iloc[:2], X.iloc[:0], X.iloc[2:4]],
        "set": frozenset({"age"}),
    }
    found = audit.grade(explainer, X.iloc[[8, 2, 30]], tools, ids=["Ann", "Bo", "Cy"], k=2)
    assert [type(row) for row in asked] == [pd.DataFrame] * 3
    assert [len(row) for row in asked] == [1] * 3
    hand, bad, rules, rows, one = found.tools
    assert (hand.asked, hand.failed, hand.nothing, hand.size) == (3, 1, 0, 2.0)
    assert (bad.kind, bad.failed, bad.sufficiency) == (None, 3, None)
    assert (rules.failed, rules.precise.n) == (1, 2)
    assert (rows.failed, rows.nothing, rows.valid.n) == (0, 1, 4)
    assert one.size == 1.0
    marks = [e.grade.mark for e in found.entries if e.tool == "by hand" and e.grade]
    assert hand.sufficiency == pytest.approx(np.mean([m.sufficiency for m in marks]))
    assert hand.best == pytest.approx(np.mean([m.best_sufficiency for m in marks]))
    assert hand.as_good.hits == sum(m.better == 0 for m in marks)
    whys = {(e.tool, found.decision_names[e.row]): e.failed for e in found.failed}
    assert whys["broken", "Ann"] == "it raised RuntimeError: out of memory"
    assert whys["by hand", "Bo"] == "it said nothing"
    assert "nonsense > 3" in whys["rules", "Bo"]
    assert ("rows", "Bo") in whys
    text = str(found)
    assert "Where there is nothing to mark" in text and "out of memory" in text
    frame = found.to_frame()
    assert set(frame["decision"]) == {"Ann", "Bo", "Cy"}
    assert len(frame[frame["failed"].notna()]) == 5
    assert found.to_tool_frame()["tool"].tolist() == list(tools)


def test_one_row_and_several_tools_make_a_table(explainer, loans):
    found = audit.grade(explainer, loans[1].iloc[8], {"a": ["debt"], "b": {"age", "debt"}})
    assert found.decision_names == ("0",)
    assert [e.grade.kind for e in found.entries] == ["ranking", "set"]


def test_the_figure_is_made_from_the_marks(explainer, loans):
    _, X, _ = loans
    tools = {
        "up": COLUMNS,
        "short": ["debt", "income"],
        "rule": "debt > 10",
        "rows": lambda row: X.iloc[:6],
        "set": frozenset({"age", "debt"}),
    }
    found = audit.grade(explainer, X.iloc[[8, 2, 30, 31]], tools)
    facts = grade_figure_of(found)
    best, up, short = facts.curves
    assert best.best and [p.k for p in best.points] == [1, 2, 3, 4, 5]
    assert [p.k for p in short.points] == [1, 2]
    for way, index in ((up, 0), (short, 1)):
        for point in way.points:
            marks = [
                e.grade.marks[point.k - 1]
                for e in found.entries
                if e.tool == found.tool_names[index]
            ]
            assert point.sufficiency == pytest.approx(np.mean([m.sufficiency for m in marks]))
            low, high = point.interval
            assert low <= point.sufficiency <= high
    assert all(b.sufficiency >= u.sufficiency for b, u in zip(best.points, up.points, strict=True))
    ((_, precisions),) = facts.rules
    assert list(precisions) == sorted(
        e.grade.rule.rule.precision for e in found.entries if e.grade.rule
    )
    ((_, costs),) = facts.costs
    assert costs == tuple(
        (e.grade.cheapest.cost, e.grade.row.cost) for e in found.entries if e.tool == "rows"
    )
    ((_, sets),) = facts.sets
    assert all(best >= own for best, own in sets)
    plt = pytest.importorskip("matplotlib.pyplot")
    ax = found.plot()
    assert len(ax.child_axes) == 4
    one = found.entries[0].grade.plot()
    assert len(one.child_axes) == 1
    plt.close("all")


# -- errors -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("other", "asked", "message"),
    [
        ("age", {}, r"other: got 'age'; allowed: a ranking .*A set of one is \{'age'\}"),
        ("agee > 3", {}, r"at “agee > 3”.*Did you mean 'age'"),
        (["agee"], {}, r"unknown feature 'agee'.*Did you mean 'age'"),
        ([1.0, 2.0], {}, r"scores of shape \(2,\); allowed: one for each of the 5 features"),
        ([[1.0] * 5] * 2, {}, "other: got"),
        (np.ones((3, 5)), {}, r"scores of shape \(3, 5\).*values\[i\]"),
        ({"age": np.nan}, {}, "other: got nan; allowed: a finite number for 'age'"),
        ([("age", 1.0), ("age", 2.0)], {}, "two scores for 'age'"),
        (equals("agee", 3), {}, "other: got unknown column 'agee'|agee"),
        (pd.DataFrame({"age": [3]}), {}, "rows without 'income', 'debt', 'late payments'"),
        ([{"age": "old"}], {}, r"counterfactual 0: other: got 'old' for column 'age'"),
        ([{"agee": 3}], {}, r"counterfactual 0: other: got extra column 'agee'"),
        ({"age"}, {"k": 1}, "k: got 1; allowed: None where there is no ranking"),
        (["age"], {"k": 2}, "k: got 2 of a ranking of 1; allowed: up to 1 features"),
        (["age"], {"absolute": True}, "absolute: got True; allowed: None where nothing has scores"),
        ("age > 3", {"view": "flip"}, "view: got 'flip'; allowed: None or 'keep' for rules"),
        ([{"age": 3}], {"view": "keep"}, "view: got 'keep'; allowed: None or 'flip' for counterf"),
        (["age"], {"ids": ["a"]}, "ids: got .*None for one input"),
        (["age"], {"labels": {"agee": ["a"]}}, "labels: got"),
        (["age"], {"labels": {"age": "old"}}, "labels: got 'old' for 'age'"),
        (b"x", {}, "other: got b'x'; allowed: a ranking"),
        ([], {}, "other: got nothing; allowed: a ranking"),
        (broken, {}, "other: got a function that raised RuntimeError: out of memory"),
    ],
)
def test_what_cannot_be_marked_is_named(explainer, loans, other, asked, message):
    with pytest.raises(InputError, match=message):
        audit.grade(explainer, loans[1].iloc[8], other, **asked)


def test_of_several_inputs_too_few_claims_are_refused(explainer, loans):
    X = loans[1].iloc[:3]
    with pytest.raises(InputError, match="2 of 'rules'; allowed: one for each of the 3 inputs"):
        audit.grade(explainer, X, {"rules": ["age > 3", "age > 4"]})
    with pytest.raises(InputError, match=r"one frame of 'rows'.*Pass counterfactuals as a list"):
        audit.grade(explainer, X, {"rows": loans[1].iloc[:2]})
    with pytest.raises(InputError, match="ids: got 1 names; allowed: one for each of the 3"):
        audit.grade(explainer, X, COLUMNS, ids=["a"])
    with pytest.raises(InputError, match="row 0: other: got unknown feature 'agee'"):
        audit.grade(explainer, X, ["agee"])
    with pytest.raises(InputError, match="explainer: got 3"):
        audit.grade(3, X, COLUMNS)


def test_labels_name_the_models_codes_in_rows_as_well(explainer, loans):
    x = loans[1].iloc[8]
    names = ["owns", "rents", "with family"]
    other = next(i for i in range(3) if i != x["home"])
    told = audit.grade(explainer, x, [{"home": names[other]}], labels={"home": names})
    plain = audit.grade(explainer, x, [{"home": other}])
    assert told.rows == plain.rows
    by_value = {"home": dict(enumerate(names))}
    rule = audit.grade(explainer, x, f"home = {names[other]}", labels=by_value)
    assert rule.rule.rule.factor == equals("home", other)


def test_a_claim_of_several_classes_needs_those_of_the_model():
    @dataclass
    class Explanation:
        values: np.ndarray
        base_values: float = 0.0
        feature_names: tuple = ("a", "b")

    X = pd.DataFrame({"a": [0, 1, 2, 3], "b": [3, 2, 1, 0]})
    explainer = Explainer(lambda rows: np.where(rows["a"] > 1, "up", "down"), X)
    about = ClaimContext(explainer.decide(X.iloc[3]))
    claim = read_claim(Explanation(np.array([[1.0, 5.0], [3.0, 0.0]])), about)
    assert claim.features == ("a", "b")  # "up" is the second class
    with pytest.raises(InputError, match=r"shap values for 3 outputs.*one for each of 2 classes"):
        read_claim(Explanation(np.ones((2, 3))), about)
