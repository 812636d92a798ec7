"""Rules on changes that are declared to `Explainer`, and hold in headlines, recourse and audits."""

import numpy as np
import pandas as pd
import pytest

from suffice import Explainer, InputError, audit

PEOPLE = pd.DataFrame(
    {
        "age": [20, 23, 40, 60, 35, 50],
        "income": [30, 30, 80, 70, 20, 90],
        "debt": [20, 18, 10, 5, 30, 2],
    }
)


def grant(rows):
    """Grant by age and by what is left of the income."""
    return (rows["age"] / 10 + rows["income"] / 10 - rows["debt"] / 5 >= 1.6).to_numpy()


APPLICANT = {"age": 20, "income": 30, "debt": 20}


def test_undeclared_the_cheapest_change_is_one_of_age():
    e = Explainer(grant, PEOPLE).explain(APPLICANT)
    assert "age" in {f for factor in e.flip.factors for f in factor.change.values}
    assert "age" in e.cheapest.values


@pytest.mark.parametrize(
    "declared", [{"immutable": "age"}, {"actionable": ["income", "debt"]}, {"decreasing": "age"}]
)
def test_declared_rules_hold_in_headlines_recourse_and_audits(declared):
    explainer = Explainer(grant, PEOPLE, **declared)
    e = explainer.explain(APPLICANT, tau=0.5)
    changes = [factor.change for factor in e.flip.factors if factor.change is not None]
    assert changes and all(change.values.get("age", 20) == 20 for change in changes)
    assert e.cheapest.values.get("age", 20) == 20 and "age 20 →" not in str(e)
    assert "the cheapest allowed change" in " ".join(str(e).split())
    options = explainer.recourse(APPLICANT).options
    assert options and all("age" not in option.changes for option in options)
    assert options[0].cost == e.cheapest.cost
    refused = PEOPLE[~grant(PEOPLE)]
    found = audit.global_recourse(explainer, refused)
    assert found.changes and all("age" not in change.features for change in found.changes)


def test_an_increasing_column_never_falls():
    explainer = Explainer(grant, PEOPLE, increasing=["income", "debt"], immutable=["age"])
    e = explainer.explain(APPLICANT)
    assert e.cheapest.values == {"income": 70}
    assert explainer.recourse(APPLICANT).best.changes == {"income": (30, 70)}


def test_a_call_adds_to_the_declared_rules():
    explainer = Explainer(grant, PEOPLE, immutable="age")
    found = explainer.recourse(APPLICANT, immutable=["income", "debt"])
    assert not found.feasible and "age is immutable" in found.reason
    with pytest.raises(InputError, match="'age', though for this Explainer age is immutable"):
        explainer.recourse(APPLICANT, actionable=["age", "income"])


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({"immutable": "age", "increasing": "age"}, "increasing: got 'age', which is also immut"),
        ({"immutable": "age", "decreasing": "age"}, "decreasing: got 'age', which is also immut"),
        ({"immutable": "age", "actionable": "age"}, "actionable: got 'age', which is also immut"),
        ({"increasing": "age", "decreasing": "age"}, "decreasing: got 'age', which is also incre"),
        ({"immutable": "agee"}, "unknown feature 'agee'.*Did you mean 'age'"),
        ({"increasing": "agee"}, "increasing: .*'agee'"),
        ({"missing_cost": -1}, "missing_cost: got -1"),
        ({"missing_cost": {"agee": 1}}, "missing_cost: .*'agee'"),
        ({"missing_cost": {"age": "x"}}, "missing_cost: got .*for column 'age'"),
    ],
)
def test_contradictory_and_unknown_rules_are_errors_everywhere(declared, message):
    with pytest.raises(InputError, match=message):
        Explainer(grant, PEOPLE, **declared)
    with pytest.raises(InputError, match=message):
        Explainer(grant, PEOPLE).recourse(APPLICANT, **declared)
    with pytest.raises(InputError, match=message):
        audit.global_recourse(Explainer(grant, PEOPLE), PEOPLE[~grant(PEOPLE)], **declared)


def test_groups_with_an_immutable_column_do_not_change():
    explainer = Explainer(grant, PEOPLE, immutable="age", groups={"person": ["age", "income"]})
    e = explainer.explain(APPLICANT)
    assert e.cheapest is None or e.cheapest.features == ("debt",)
    assert all(
        factor.change is None or factor.change.values.get("age", 20) == 20
        for factor in e.flip.factors
    )


def test_a_run_with_other_rules_cannot_be_resumed(tmp_path):
    pytest.importorskip("pyarrow")
    Explainer(grant, PEOPLE).explain_to(PEOPLE, tmp_path / "run")
    with pytest.raises(InputError, match="immutable"):
        Explainer(grant, PEOPLE, immutable="age").explain_to(PEOPLE, tmp_path / "run", resume=True)


# -- missing values ---------------------------------------------------------------------------

SCORED = pd.DataFrame(
    {
        "score": [np.nan, 368.0, 700.0, 650.0, np.nan, 400.0],
        "income": [30.0, 30.0, 80.0, 70.0, 20.0, 90.0],
    }
)


def accept(rows):
    """Accept any known score, and high incomes."""
    return (rows["score"].notna() | (rows["income"] >= 70)).to_numpy()


def reject_known(rows):
    """Accept missing scores, and high incomes."""
    return (rows["score"].isna() | (rows["income"] >= 70)).to_numpy()


@pytest.mark.parametrize("values", ["observed", "grid"])
def test_a_missing_value_is_not_set_unless_a_cost_is_given(values):
    unknown = {"score": np.nan, "income": 30.0}
    explainer = Explainer(accept, SCORED)
    e, found = explainer.explain(unknown), explainer.recourse(unknown, values=values)
    assert e.cheapest.values == {"income": 70.0}
    assert all("score" not in option.changes for option in found)
    assert found.best.changes == {"income": (30.0, 70.0)}
    priced = Explainer(accept, SCORED, missing_cost=0.25)
    found = priced.recourse(unknown, values=values)
    assert found.best.cost == 0.25 and set(found.best.changes) == {"score"}
    assert priced.explain(unknown).cheapest.cost == 0.25
    by_column = explainer.recourse(unknown, values=values, missing_cost={"score": 0.5})
    assert by_column.best.cost == 0.5
    none = explainer.recourse(unknown, values=values, immutable="income")
    assert not none.feasible
    assert "score must stay missing without missing_cost: if it need not" in none.reason


@pytest.mark.parametrize("values", ["observed", "grid"])
def test_a_value_becomes_missing_only_at_a_cost(values):
    known = {"score": 400.0, "income": 30.0}
    explainer = Explainer(reject_known, SCORED)
    assert explainer.explain(known).cheapest.values == {"income": 70.0}
    assert explainer.recourse(known, values=values).best.changes == {"income": (30.0, 70.0)}
    priced = explainer.recourse(known, values=values, missing_cost=0.25)
    assert priced.best.cost == 0.25 and priced.best.values["score"] is None


def test_global_recourse_neither_sets_nor_removes_missing_values():
    rows = SCORED[~accept(SCORED)]
    found = audit.global_recourse(Explainer(accept, SCORED), rows)
    assert all(change.features == ("income",) for change in found.changes)
    priced = audit.global_recourse(Explainer(accept, SCORED, missing_cost=0.25), rows)
    assert [change.features for change in priced.changes] == [("score",)]
    assert priced.rows[0].costs[0] == 0.25
