"""Reason codes: ranked by counts, checked against the catalogue, the same every time."""

import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from suffice import Explainer, InputError, audit
from tests.worlds import subsets, two_sided, worlds

PEOPLE = pd.DataFrame(
    {"pay": [30, 60, 45, 60, 52], "debt": [20, 20, 0, 40, 5], "age": [20, 30, 40, 50, 60]}
)
CATALOGUE = {
    "pay": ("P1", "Income too low"),
    "debt": ("D1", "Debt too high"),
    "age": ("A1", "Age"),
}


def granted(rows):
    return np.where(rows["pay"] - rows["debt"] >= 40, "granted", "refused")


EXPLAINER = Explainer(granted, PEOPLE)
REFUSED = EXPLAINER.explain(PEOPLE.iloc[0])


@given(worlds(max_d=4).filter(two_sided), st.integers(1, 4))
def test_reasons_are_ranked_by_flip_necessity_and_help(world, k):
    e = world.explainer().explain(world.x, tau=0.5, search="exhaustive")
    catalogue = {f"x{i}": (f"C{i}", f"text {i}") for i in range(world.d)}
    (found,) = audit.reasons(e, catalogue, k=k, problems="hold")
    hits = {s: world.flips(s) for s in subsets(world.d)}
    total = sum(hits.values())
    if not total:
        assert found.hold and not found.reasons
        return
    necessity = {i: sum(h for s, h in hits.items() if i in s) / total for i in range(world.d)}
    helping = {i for i in necessity if necessity[i] > 0.5 + 1e-9}
    given_ = [int(r.feature[1:]) for r in found.reasons]
    assert len(given_) == min(k, len(helping)) and set(given_) <= helping
    ranked = [necessity[i] for i in given_]
    assert ranked == pytest.approx(sorted(ranked, reverse=True))
    rest = helping - set(given_)
    assert {int(f[1:]) for f in found.left_out} == rest
    if rest and given_:
        assert max(necessity[i] for i in rest) <= min(ranked) + 1e-9
    covered = sum(h for s, h in hits.items() if set(s) & set(given_)) / total
    assert found.covered == pytest.approx(covered)
    for i in found.equal:
        assert necessity[int(i[1:])] == pytest.approx(ranked[-1])


def test_the_same_question_gives_the_same_codes():
    again = Explainer(granted, PEOPLE.sample(frac=1, random_state=1)).explain(PEOPLE.iloc[0])
    assert audit.reasons(again, CATALOGUE)[0].codes == audit.reasons(REFUSED, CATALOGUE)[0].codes


def test_a_letter_says_the_reasons_in_order():
    found = audit.reasons(REFUSED, CATALOGUE, ids=["A-17"])
    said = found.letter(template="$name: $outcome because of $codes.\n$reasons")
    assert said == "A-17: refused because of P1, D1.\n1. Income too low (P1)\n2. Debt too high (D1)"
    with pytest.raises(InputError, match="template"):
        found.letter(template="$applicant")
    with pytest.raises(InputError, match="at: got 99; allowed: a whole number >= -1 and <= 0"):
        found.letter(99)
    assert found.letter(-1) == found.letter()


def test_entries_by_direction_are_chosen_by_where_the_change_goes():
    catalogue = CATALOGUE | {
        "pay": {"higher": ("P+", "Income too low"), "lower": ("P-", "Income too high")}
    }
    found = audit.reasons(REFUSED, catalogue)
    assert found[0].codes == ("P+", "D1")
    assert found[0].reasons[0].direction == "higher"


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
        audit.reasons(REFUSED, catalogue)


def test_a_reason_without_entry_is_loud_or_held():
    partial = {"pay": ("P1", "Income too low")}
    with pytest.raises(InputError, match=r"'debt'.*has no entry in the catalogue"):
        audit.reasons(REFUSED, partial)
    found = audit.reasons(REFUSED, partial, problems="hold")
    assert found[0].hold and found.held == found.decisions
    with pytest.raises(InputError, match="held for review"):
        found.letter()


def test_a_protected_feature_among_the_reasons_is_loud_or_held():
    with pytest.raises(InputError, match="'debt', a protected feature, is among the reasons"):
        audit.reasons(REFUSED, CATALOGUE, protected="debt")
    assert audit.reasons(REFUSED, CATALOGUE, protected="debt", problems="hold")[0].hold
    assert not audit.reasons(REFUSED, CATALOGUE, protected="age")[0].hold


def test_catalogues_are_read_from_files(tmp_path):
    table = tmp_path / "codes.csv"
    table.write_text(
        "feature,code,text,direction\npay,P1,Income too low,\ndebt,D+,Little debt,higher\n"
        "debt,D-,Debt too high,lower\nage,A1,Age,\n"
    )
    assert audit.reasons(REFUSED, table)[0].codes == ("P1", "D-")
    table.write_text("feature,code\npay,P1\n")
    with pytest.raises(InputError, match="without the column 'text'"):
        audit.reasons(REFUSED, table)
    yaml = pytest.importorskip("yaml")
    other = tmp_path / "codes.yaml"
    other.write_text(yaml.safe_dump({k: list(v) for k, v in CATALOGUE.items()}))
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
