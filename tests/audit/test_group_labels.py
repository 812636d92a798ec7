"""Names of groups and decisions: two that differ never have one name."""

import datetime

import numpy as np
import pandas as pd
import pytest

from suffice import Explainer, InputError, audit
from suffice.audit.cohort import CohortCounts
from suffice.audit.decisions import as_label

PEOPLE = pd.DataFrame({"pay": [1, 2, 5, 6, 1, 2, 5, 6], "debt": [4, 0, 4, 0, 0, 4, 0, 4]})
NEAR = [123456.71, 123456.72] * 4
NAMES = ["123456.71", "123456.72"]


def explainer():
    return Explainer(lambda rows: rows["pay"] - rows["debt"] > 2, PEOPLE)


def groups(by):
    found = audit.cohort(explainer().explain_many(PEOPLE), by=by)
    return sorted({part.group for part in found.parts})


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (1, "1"),
        (1.0, "1"),
        (-0.0, "0"),
        (1234567.5, "1234567.5"),
        (0.1 + 0.2, "0.30000000000000004"),
        (np.float64(1e300), "1e+300"),
        (float("inf"), "inf"),
        (10**17 + 1, "100000000000000001"),
        (np.bool_(True), "yes"),
        ("", ""),
        ("a" * 300, "a" * 300),
        (datetime.date(2020, 1, 31), "2020-01-31"),
        (None, "missing"),
        (float("nan"), "missing"),
        (pd.NA, "missing"),
        (pd.NaT, "missing"),
        (np.datetime64("NaT"), "missing"),
    ],
)
def test_a_name_has_all_that_distinguishes_it_from_others(value, name):
    assert as_label(value) == name


def test_groups_whose_numbers_are_near_stay_apart():
    assert groups(NEAR) == groups(np.array(NEAR)) == NAMES
    at = iter(NEAR)
    assert groups(lambda e: next(at)) == NAMES
    found = audit.reliance(explainer().explain_many(PEOPLE), "pay", by=NEAR)
    assert [g.group for g in found.groups] == [None, *NAMES]
    part = audit.cohort(explainer().explain_many(PEOPLE), by=NEAR).part("keep", group=123456.72)
    assert part.group == "123456.72"


@pytest.mark.parametrize("audited", [audit.cohort, lambda es, by: audit.reliance(es, "pay", by=by)])
def test_more_than_fifty_groups_are_refused(audited):
    """Every two groups are compared, so that tests would grow with the square of the labels."""
    table = pd.concat([PEOPLE] * 8, ignore_index=True).assign(age=range(64))
    of_pay = Explainer(lambda rows: rows["pay"] - rows["debt"] > 2, table, n_references=4)
    es = of_pay.explain_many(table)
    with pytest.raises(InputError, match="by: got 64 groups; allowed: at most 50"):
        audited(es, by=list(range(64)))
    numbers = iter(range(64))
    for by in ("age", lambda e: next(numbers)):
        with pytest.raises(InputError, match="by: got more than 50 groups; allowed: at most 50"):
            audited(es, by=by)
    assert audited(es, by=[i % 50 for i in range(64)]) is not None


def test_counts_of_a_group_are_read_once_however_many_groups_it_is_compared_with(monkeypatch):
    table = pd.concat([PEOPLE] * 3, ignore_index=True)
    es = Explainer(lambda rows: rows["pay"] - rows["debt"] > 2, table).explain_many(table)
    read = []
    shares = CohortCounts.shares
    monkeypatch.setattr(CohortCounts, "shares", lambda *given: read.append(1) or shares(*given))
    found = audit.cohort(es, by=[i // 3 for i in range(24)])
    assert len(found.differences) > len(read) == len(found.parts)


def test_whatever_is_missing_is_one_group():
    days = [pd.NaT, pd.Timestamp("2020-01-31")]
    assert groups(pd.array(["m", None] * 4, dtype="string")) == ["m", "missing"]
    assert groups(days * 4) == ["2020-01-31T00:00:00", "missing"]
    assert groups([None, float("nan"), pd.NA, pd.NaT] * 2) == ["missing"]


def test_rows_and_their_groups_are_called_as_decisions_are():
    asked = {"desired": True, "cover": 0.5}
    numbers = np.arange(8) + 0.123456
    found = audit.global_recourse(explainer(), PEOPLE, by=NEAR, ids=numbers, **asked)
    assert {row.group for row in found.rows} == set(NAMES)
    assert {row.name for row in found.rows} <= {f"{i}.123456" for i in range(8)}
    table = PEOPLE.assign(rate=NEAR)
    found = audit.global_recourse(explainer(), table, by="rate", **asked)
    assert {row.group for row in found.rows} == set(NAMES)


def test_a_record_calls_its_decisions_and_groups_so_too(tmp_path):
    table = PEOPLE.assign(case=1234567.0 + np.arange(8), rate=[*NEAR[:7], None])
    analyses = {"cohort": {"by": "rate"}, "reliance": {"protected": "pay"}}
    record = audit.record(explainer(), table, tmp_path / "record", analyses=analyses, id="case")
    assert [row.name for row in record["reliance"].rows] == [str(1234567 + i) for i in range(8)]
    assert {part.group for part in record["cohort"].parts} == {*NAMES, "missing"}
    assert audit.verify(tmp_path / "record", explainer(), table, seal=record.seal).ok


@pytest.mark.parametrize("nothing", [None, float("nan"), pd.NA, pd.NaT])
def test_a_name_that_is_missing_is_refused(nothing):
    message = "ids: got no name for some of them; allowed: one for each of the 8"
    with pytest.raises(InputError, match=f"{message} decisions"):
        audit.cohort(explainer().explain_many(PEOPLE), ids=[*range(7), nothing])
    with pytest.raises(InputError, match=f"{message} rows"):
        audit.global_recourse(explainer(), PEOPLE, desired=True, ids=[*range(7), nothing])


def test_what_cannot_name_them_is_said():
    es = explainer().explain_many(PEOPLE)
    allowed = "a column of the inputs, a function of an explanation, or labels, one for each of"
    with pytest.raises(InputError, match=f"by: got 3; allowed: {allowed} the 8 decisions"):
        audit.cohort(es, by=3)
    with pytest.raises(InputError, match="by: got 1 labels; allowed: one for each of the 8"):
        audit.cohort(es, by=np.array(3))
    with pytest.raises(InputError, match="ids: got 'abc'; allowed: None, or names, one for each"):
        audit.cohort(es, ids="abc")
