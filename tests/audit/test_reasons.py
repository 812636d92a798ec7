"""Reason codes: ranked by counts, checked against the catalogue, the same every time."""

import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from suffice import Explainer, Explanation, InputError, audit
from suffice.context.cost import declared_change_costs
from tests.random_problems import problems, subsets, with_both_answers

PEOPLE = pd.DataFrame(
    {"pay": [30, 60, 45, 60, 52], "debt": [20, 20, 0, 40, 5], "age": [20, 30, 40, 50, 60]}
)
CATALOGUE = {
    "pay": {"higher": ("P1", "Income too low")},
    "debt": {"any": ("D1", "Debt")},
    "age": {"any": ("A1", "Age")},
}


def granted(rows):
    return np.where(rows["pay"] - rows["debt"] >= 40, "granted", "refused")


EXPLAINER = Explainer(granted, PEOPLE)
REFUSED = EXPLAINER.explain(PEOPLE.iloc[0])


@given(problems(max_d=4).map(with_both_answers), st.integers(1, 4))
def test_reasons_are_ranked_by_flip_necessity_and_help(world, k):
    e = world.explainer().explain(world.x, tau=0.5, search="exhaustive")
    catalogue = {f"x{i}": {"any": (f"C{i}", f"text {i}")} for i in range(world.d)}
    (found,) = audit.reasons(e, catalogue, k=k)
    hits = {s: world.flips(s) for s in subsets(world.d)}
    total = sum(hits.values())
    if not total:
        assert found.hold and not found.reasons and found.covered is None
        return
    necessity = {i: sum(h for s, h in hits.items() if i in s) / total for i in range(world.d)}
    helping = {i for i in necessity if necessity[i] > 0.5 + 1e-9}
    given_ = [int(r.feature[1:]) for r in found.reasons]
    assert len(given_) == min(k, len(helping)) and set(given_) <= helping
    ranked = [necessity[i] for i in given_]
    assert ranked == pytest.approx(sorted(ranked, reverse=True))
    if not helping:
        assert "no single feature's change helps" in found.problems[0] and found.covered is None
        return
    rest = helping - set(given_)
    assert {int(f[1:]) for f in found.left_out} == rest
    if rest and given_:
        assert max(necessity[i] for i in rest) <= min(ranked) + 1e-9
    covered = sum(h for s, h in hits.items() if set(s) & set(given_)) / total
    assert found.covered == pytest.approx(covered)
    assert all(r.necessity_baseline == 0.5 for r in found.reasons)
    if given_:
        assert found.covered_baseline == pytest.approx(1 - 0.5 ** len(given_))
    for i in found.equal:
        assert necessity[int(i[1:])] == pytest.approx(ranked[-1])


def test_the_same_question_gives_the_same_codes():
    again = Explainer(granted, PEOPLE.sample(frac=1, random_state=1)).explain(PEOPLE.iloc[0])
    assert audit.reasons(again, CATALOGUE)[0].codes == audit.reasons(REFUSED, CATALOGUE)[0].codes


def test_a_letter_says_the_reasons_in_order():
    found = audit.reasons(REFUSED, CATALOGUE, ids=["A-17"])
    said = found.letter(template="$name: $outcome because of $codes.\n$reasons")
    assert said == "A-17: refused because of P1, D1.\n1. Income too low (P1)\n2. Debt (D1)"
    with pytest.raises(InputError, match="template"):
        found.letter(template="$applicant")
    with pytest.raises(InputError, match="at: got 99; allowed: a whole number >= -1 and <= 0"):
        found.letter(99)
    assert found.letter(-1) == found.letter()


@st.composite
def monotone(draw):
    """Weights of one sign each, a threshold, an input and references on both sides of it."""
    d = draw(st.integers(1, 4))
    whole = st.integers(-4, 4)
    weights = draw(st.lists(whole.filter(bool), min_size=d, max_size=d))
    rows = draw(st.lists(st.tuples(*[whole] * d), min_size=2, max_size=8))
    scores = np.array(rows) @ weights
    return weights, draw(st.sampled_from(scores.tolist())), rows


@given(monotone())
def test_a_direction_that_is_reported_is_the_one_that_helps(world):
    weights, least, rows = world
    table = pd.DataFrame(rows, columns=[f"x{i}" for i in range(len(weights))])
    truth = table.to_numpy() @ weights >= least
    if truth.all():
        return
    explainer = Explainer(lambda rows: rows.to_numpy() @ weights >= least, table)
    e = explainer.explain(table.iloc[0], search="exhaustive")
    (found,) = audit.reasons(e, {name: (name, name) for name in table})
    for r in found.reasons:
        up = (weights[int(r.feature[1:])] > 0) != bool(truth[0])
        assert r.direction in (None, "higher" if up else "lower")


@given(problems(max_d=4).map(with_both_answers))
def test_directions_are_those_of_the_cheapest_changes_that_need_the_feature(world):
    explainer = world.explainer()
    e = explainer.explain(world.x, tau=0.5, search="exhaustive")
    d = explainer.decide(world.x)
    costs = declared_change_costs(d.pool, d.data, d.players, d.cost, d.changes)
    references = np.column_stack([d.pool.column(j)[1:] for j in range(world.d)]).tolist()
    y, expected = world.f(world.x), {}
    for i in range(world.d):
        ways: dict[str, float] = {}
        for s in subsets(world.d):
            if i not in s or world.flips(set(s) - {i}):
                continue
            for r, price in zip(references, costs, strict=True):
                flips = world.f(world.hybrid(set(range(world.d)) - set(s), r)) != y
                if flips and r[i] != world.x[i]:
                    way = "higher" if r[i] > world.x[i] else "lower"
                    ways[way] = min(ways.get(way, np.inf), price[list(s)].sum())
        least = [way for way, cost in ways.items() if cost <= min(ways.values()) * (1 + 1e-9)]
        if least:
            expected[f"x{i}"] = least[0] if len(least) == 1 else "either"
    assert e.directions == expected
    assert Explanation.from_json(e.to_json()).directions == expected


def test_references_as_far_above_as_below_show_no_direction():
    """One set, and two references of equal cost on either side of the input."""
    people = pd.DataFrame({"age": [40, 39, 41, 40], "pay": [5, 5, 5, 6]})
    explainer = Explainer(lambda rows: rows["age"] == 40, people)
    e = explainer.explain(people.iloc[0], search="exhaustive")
    assert e.directions == {"age": "either"}
    (held,) = audit.reasons(e, {"age": {"higher": ("A", "Too young"), "lower": ("B", "Too old")}})
    assert held.hold and "no change shows which way it should go" in held.problems[0]


def test_a_change_to_missing_shows_no_direction():
    people = pd.DataFrame({"age": [40.0, np.nan, 40.0, np.nan], "pay": [5, 5, 6, 6]})
    explainer = Explainer(lambda rows: rows["age"].notna(), people, missing_cost=1.0)
    assert explainer.explain(people.iloc[0], search="exhaustive").directions == {"age": "either"}
    usual = Explainer(lambda rows: rows["age"].notna(), people)
    assert usual.explain(people.iloc[0], search="exhaustive").directions == {}


def test_a_change_that_works_without_a_feature_shows_no_direction_of_it():
    rng = np.random.default_rng(1)
    people = pd.DataFrame({"income": rng.integers(10, 60, 80), "debt": rng.integers(0, 60, 80)})
    explainer = Explainer(lambda rows: rows["income"] - rows["debt"] >= 20, people)
    refused = explainer.explain_many(people[people["income"] - people["debt"] < 20])
    said = {"income": {"any": ("I", "Income")}, "debt": {"any": ("D", "Debt")}}
    told = {(r.feature, r.direction) for d in audit.reasons(refused, said) for r in d.reasons}
    assert told == {("income", "higher"), ("income", None), ("debt", "lower"), ("debt", None)}
    one_way = said | {"income": {"higher": ("I+", "Income too low")}}
    found = audit.reasons(refused, one_way)
    words = "'income' is a reason, no change shows which way it should go"
    assert {d.problems[0].partition(", and")[0] for d in found.held} == {words}
    assert all("Income" not in r.text for d in found.held for r in d.reasons)


def test_what_is_no_number_goes_to_another_value():
    people = pd.DataFrame({"home": ["own", "rent", "rent"], "debt": [1, 2, 3]})
    e = Explainer(lambda rows: rows["home"] == "own", people).explain(people.iloc[1])
    (found,) = audit.reasons(e, {"home": {"other": ("H", "Housing")}, "debt": ("D", "Debt")})
    assert [(r.code, r.direction) for r in found.reasons] == [("H", "other")]


def test_reasons_are_given_for_one_outcome():
    every = EXPLAINER.explain_many(PEOPLE)
    with pytest.raises(InputError) as caught:
        audit.reasons(every, CATALOGUE)
    assert str(caught.value) == (
        "adverse: got None, for decisions with the outcomes 'refused' and 'granted'; allowed: None "
        "where all have the same outcome. Say for which of them reasons are given: "
        "adverse='refused' or adverse='granted'."
    )
    with pytest.raises(InputError, match=r"'refusd'; allowed: an outcome .*Did you mean 'refused'"):
        audit.reasons(every, CATALOGUE, adverse="refusd")
    found = audit.reasons(every, CATALOGUE, adverse="refused", ids=list("abcde"))
    assert [d.name for d in found] == ["a", "d"] and found.others == 3
    assert "3 decisions with another outcome are left out." in found.sheet.lead
    assert audit.Reasons.from_json(found.to_json()) == found
    one = audit.reasons(every[:2], CATALOGUE, adverse="refused")
    assert one.sheet.lead[0] == "1 decision with another outcome is left out."


def test_an_outcome_is_named_as_the_model_has_it():
    people = PEOPLE.assign(age=0)
    explainer = Explainer(lambda rows: rows["pay"] - rows["debt"] >= 40, people)
    found = audit.reasons(explainer.explain_many(people), CATALOGUE, adverse=np.bool_(False))
    assert {d.outcome for d in found} == {"False"} and found.others == 3


def test_features_of_which_the_same_is_said_are_one_reason():
    same = {
        name: {"any": (text[0], text)}
        for name, text in {"pay": "Money", "debt": "Money", "age": "Age"}.items()
    }
    apart = audit.reasons(REFUSED, CATALOGUE)[0].reasons
    for k in (1, 2):
        found = audit.reasons(REFUSED, same, k=k)
        (reason,) = found[0].reasons
        assert reason.features == ("pay", "debt") and found[0].left_out == ()
        assert (reason.rank, reason.necessity) == (1, apart[0].necessity)
        assert found[0].covered == 1.0
        assert found.letter().count("Money") == 1
        assert "pay, debt" in str(found)
    refused = EXPLAINER.explain_many(PEOPLE.iloc[[0, 3, 0]])
    many = audit.reasons(refused, same)
    assert "Given most often: Money (M, 3)." in many.sheet.lead
    assert many.to_frame()["also"].tolist()[0] == "debt"
    assert audit.reasons(REFUSED, same, protected="debt")[0].hold
    blank = {"pay": ("", ""), "debt": ("", "")}
    assert len(audit.reasons(REFUSED, blank)[0].reasons) == 2


def test_where_no_feature_helps_by_itself_somebody_looks():
    same = pd.DataFrame({"a": [1, 1], "b": [1, 1]})
    explainer = Explainer(
        lambda rows: rows["a"] != rows["b"],
        pd.DataFrame({"a": [0, 0], "b": [0, 1]}),
        references=same,
    )
    e, said = explainer.explain([0, 0]), {"a": ("A", "a"), "b": ("B", "b")}
    with pytest.raises(InputError, match="no single feature's change helps more than chance"):
        audit.reasons(e, said, problems="raise")
    found = audit.reasons(e, said)
    assert found[0].hold and found[0].reasons == () and found[0].covered is None


def test_only_reasons_that_are_given_cover():
    found = audit.reasons(REFUSED, {"debt": {"any": ("D1", "Debt")}})[0]
    assert found.codes == ("D1",)
    assert found.covered == pytest.approx(found.reasons[0].necessity)
    assert audit.reasons(REFUSED, {"age": {"any": ("A", "Age")}})[0].covered is None


def test_tables_list_what_was_left_out_and_what_helps_as_much(tmp_path):
    people = pd.DataFrame({"a": [0, 1, 0], "b": [0, 1, 0], "c": [0, 1, 1]})
    explainer = Explainer(lambda rows: rows.sum(axis=1) >= 2, people)
    said = {name: {"any": (name, name)} for name in people}
    found = audit.reasons(explainer.explain_many(people.iloc[[0, 0]]), said, k=1)
    assert [d.equal for d in found] == [("b", "c")] * 2
    words = "In 2 decisions a reason left out helps just as much as the last one given."
    assert words in found.sheet.lead
    found.to_csv(tmp_path / "reasons.csv")
    for table in (found.to_frame(), pd.read_csv(tmp_path / "reasons.csv")):
        assert table["left out"].tolist() == table["equal"].tolist() == ["b, c"] * 2


def test_reasons_that_help_as_much_have_the_same_rank():
    people = pd.DataFrame({"a": [0, 1], "b": [0, 1], "c": [0, 1]})
    explainer = Explainer(lambda rows: (rows["a"] == 1) & (rows["b"] + rows["c"] > 0), people)
    said = {name: (name, name) for name in people}
    (found,) = audit.reasons(explainer.explain(people.iloc[0]), said)
    assert [(r.code, r.rank) for r in found.reasons] == [("a", 1), ("b", 2), ("c", 2)]


def test_entries_by_direction_are_chosen_by_where_the_change_goes():
    catalogue = CATALOGUE | {
        "pay": {"higher": ("P+", "Income too low"), "lower": ("P-", "Income too high")}
    }
    found = audit.reasons(REFUSED, catalogue)
    assert found[0].codes == ("P+", "D1") and not found.held
    assert found[0].reasons[0].direction == "higher"


def test_a_text_without_direction_is_held_for_a_number():
    """ "Income too low" must not be said where a lower income helps."""
    people = pd.DataFrame({"income": [20, 40, 60], "home": ["own", "rent", "own"]})
    explainer = Explainer(lambda rows: (rows["income"] < 50) & (rows["home"] == "own"), people)
    refused = explainer.explain(people.iloc[2])
    said = {"income": ("I", "Income too low"), "home": ("H", "Housing")}
    found = audit.reasons(refused, said)
    assert [(r.feature, r.direction) for r in found[0].reasons] == [("income", "lower")]
    assert found[0].problems == (
        "'income' (lower) is a reason, and its text is for no direction: declare it for 'higher', "
        "'lower' or 'any'",
    )
    with pytest.raises(InputError, match="held for review"):
        found.letter()
    with pytest.raises(InputError, match="its text is for no direction"):
        audit.reasons(refused, said, problems="raise")
    wrong = audit.reasons(refused, said | {"income": {"higher": ("I", "Income too low")}})
    assert wrong[0].problems == ("'income' (lower) is a reason, and has no entry in the catalogue",)
    right = audit.reasons(refused, said | {"income": {"lower": ("I", "Income too high")}})
    assert not right.held and "Income too high" in right.letter()
    many = audit.reasons([refused, refused], said)
    assert "2 decisions are held for review: no letter goes out." in many.sheet.lead
    panel = many.sheet.panels[-1]
    assert panel.heading == "Held for review" and panel.rows[0] == ("0", found[0].problems[0])


def test_a_text_of_a_true_false_feature_is_for_a_direction():
    """ "No guarantor" must not be said of an applicant who has one."""
    people = pd.DataFrame({"guarantor": [True, False], "home": ["own", "rent"]})
    explainer = Explainer(lambda rows: ~rows["guarantor"], people)
    refused = explainer.explain(people.iloc[[0]])
    home = {"home": ("H", "Housing")}
    held = audit.reasons(refused, home | {"guarantor": ("G", "No guarantor")})
    assert held[0].reasons[0].direction == "lower"
    assert held[0].problems == (
        "'guarantor' (lower) is a reason, and its text is for no direction: declare it for "
        "'higher', 'lower' or 'any'",
    )
    none = audit.reasons(refused, home | {"guarantor": {"higher": ("G", "No guarantor")}})
    assert none[0].hold and not none[0].reasons
    right = {"guarantor": {"higher": ("G", "No guarantor"), "lower": ("N", "Has a guarantor")}}
    assert "Has a guarantor (N)" in audit.reasons(refused, home | right).letter()


def test_of_a_missing_value_only_a_text_for_any_direction_is_said():
    people = pd.DataFrame({"income": [None, 30.0, 60.0], "home": [None, "rent", "own"]})
    explainer = Explainer(
        lambda rows: rows["income"].notna() & (rows["home"] == "own").to_numpy(bool), people
    )
    refused = explainer.explain(people.iloc[[0]])
    said = {"income": ("I", "Income too low"), "home": {"any": ("H", "Housing")}}
    (held,) = audit.reasons(refused, said)
    assert held.problems == (
        "'income' is a reason, its value is missing, and its text is for no direction: declare it "
        "for 'any'",
    )
    (held,) = audit.reasons(refused, said | {"income": {"higher": ("I", "Income too low")}})
    assert held.codes == ("H",) and held.problems == (
        "'income' is a reason, its value is missing, and it has no entry in the catalogue for any "
        "direction",
    )
    assert not audit.reasons(refused, said | {"income": {"any": ("I", "Income")}}).held


def test_equally_cheap_changes_in_opposite_directions_show_no_direction():
    """Flipping needs a, with b or with c: with b at a higher value, with c at a lower one."""
    people = pd.DataFrame({"a": [5, 7, 3], "b": [0, 1, 0], "c": [0, 0, 1]})

    def granted(rows):
        return ((rows["a"] > 5) & (rows["b"] == 1)) | ((rows["a"] < 5) & (rows["c"] == 1))

    e = Explainer(granted, people).explain(people.iloc[0], search="exhaustive")
    costs = {change.cost for mask, change in e.changes.items() if mask in (0b011, 0b101)}
    assert len(costs) == 1
    (found,) = audit.reasons(e, {name: {"any": (name, name)} for name in people})
    assert {r.feature: r.direction for r in found.reasons}["a"] is None
    directed = {"a": {"higher": ("A+", "a too low"), "lower": ("A-", "a too high")}}
    (held,) = audit.reasons(e, directed | {name: {"any": (name, name)} for name in "bc"})
    assert held.hold and "no change shows which way it should go" in held.problems[0]


@pytest.mark.parametrize(
    ("catalogue", "says"),
    [
        ({"pya": ("P1", "Income")}, "Did you mean 'pay'"),
        ({"pay": ("P1", "")}, "without text"),
        ({"pay": ("", "Income")}, "without code"),
        ({"pay": "Income"}, "allowed: \\(code, text\\)"),
        ({"pay": {"up": ("P1", "x")}}, "for 'pay'"),
        ({}, "no entries"),
        (3, "a mapping of feature"),
        ("reasons.txt", "reasons.txt"),
    ],
)
def test_a_faulty_catalogue_is_refused(catalogue, says):
    with pytest.raises(InputError, match=says):
        audit.reasons(REFUSED, catalogue, problems="raise")


def test_a_reason_without_entry_is_loud_or_held():
    partial = {"pay": {"higher": ("P1", "Income too low")}}
    with pytest.raises(InputError, match=r"'debt'.*has no entry in the catalogue"):
        audit.reasons(REFUSED, partial, problems="raise")
    found = audit.reasons(REFUSED, partial)
    assert found[0].hold and found.held == found.decisions
    with pytest.raises(InputError, match="held for review"):
        found.letter()


def test_a_protected_feature_among_the_reasons_is_loud_or_held():
    with pytest.raises(InputError, match="'debt', a protected feature, is among the reasons"):
        audit.reasons(REFUSED, CATALOGUE, protected="debt", problems="raise")
    assert audit.reasons(REFUSED, CATALOGUE, protected="debt")[0].hold
    assert not audit.reasons(REFUSED, CATALOGUE, protected="age")[0].hold


def test_catalogues_are_read_from_files(tmp_path):
    table = tmp_path / "codes.csv"
    table.write_text(
        "feature,code,text,direction\npay,P+,Income too low,higher\npay,P-,Much income,lower\n"
        "debt,D1,Debt,any\nage,A1,Age,any\n"
    )
    assert audit.reasons(REFUSED, table)[0].codes == ("P+", "D1")
    table.write_text("feature,code\npay,P1\n")
    with pytest.raises(InputError, match="without the column 'text'"):
        audit.reasons(REFUSED, table)
    yaml = pytest.importorskip("yaml")
    other = tmp_path / "codes.yaml"
    of_lists = {k: {d: list(v) for d, v in said.items()} for k, said in CATALOGUE.items()}
    other.write_text(yaml.safe_dump(of_lists))
    assert audit.reasons(REFUSED, str(other))[0].codes == ("P1", "D1")
    other.write_text("pay: [P1")
    with pytest.raises(InputError, match=r"catalogue: got codes.yaml: .*; allowed: valid YAML"):
        audit.reasons(REFUSED, other)


def test_a_catalogue_in_yaml_needs_pyyaml_and_says_so(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(InputError, match=r"allowed: a .csv file. pip install pyyaml, or write it"):
        audit.reasons(REFUSED, tmp_path / "codes.yaml")


def test_comments_above_a_table_are_left_out_and_features_that_look_like_one_are_not(tmp_path):
    table = tmp_path / "codes.csv"
    table.write_text(
        "# codes.csv\n#\nfeature,code,text\npay,P1,Income too low\n# of late payments,L1,Late\n"
    )
    assert [e.feature for e in audit.read_catalogue(table).entries] == ["pay", "# of late payments"]


def test_a_batch_is_written_to_a_table(tmp_path):
    refused = PEOPLE[granted(PEOPLE) == "refused"]
    found = audit.reasons(EXPLAINER.explain_many(refused), CATALOGUE, k=2, ids=refused.index)
    path = tmp_path / "reasons.csv"
    found.to_csv(path)
    table = pd.read_csv(path)
    assert table["decision"].tolist() == refused.index.tolist()
    assert table["code 1"].tolist() == [d.codes[0] for d in found]
    assert set(table) >= {"reason 1", "code 2", "covered", "hold"}
    assert "Up to 2 reasons for each of" in str(found)
