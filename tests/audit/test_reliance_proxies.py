"""A protected cause that acts through its effects: what swapping misses, and the graph finds."""

import numpy as np
import pytest
from experiments.german.causal import causal_model
from experiments.german.setting import setting

from suffice import CausalContext, CausalModel, Explainer, audit
from tests.audit.test_roles_reliance_cohorts import people


def reads_the_proxy_alone(rows):
    """Sex is never looked at."""
    return (rows["job"] != "nurse") & (rows["pay"] >= 30)


def planted(n=200):
    data = people(n)
    data["job"] = np.where(data["sex"] == "m", "smith", "nurse")
    scm = CausalModel(
        [("sex", "job")],
        data,
        mechanisms={"job": lambda sex: np.where(np.asarray(sex) == "m", "smith", "nurse")},
    )
    return data, CausalContext(scm)


def test_swapping_a_cause_shows_nothing_and_its_graph_shows_every_decision():
    data, context = planted()
    asked = data.iloc[:60]
    naive, through = (
        audit.reliance(
            Explainer(reads_the_proxy_alone, data, n_references=40, context=c).explain_many(asked),
            "sex",
        )
        for c in (None, context)
    )
    assert naive.groups[0].flipped.hits == 0 and naive.groups[0].flipped.interval[1] < 0.07
    assert "no decision of 60 was found to rest on it" in str(naive)
    # Whoever earns enough is decided by the job, and so by what sex makes of it.
    rests = set(np.flatnonzero(asked["pay"] >= 30).tolist())
    assert {r.number for r in through.rows if r.flips_alone} == rests
    assert through.groups[0].flipped.hits == len(rests)
    low, high = through.groups[0].flipped.interval
    assert 0 < low < len(rests) / 60 < high < 1
    assert {r.change for r in through.worst} <= {"sex f → m", "sex m → f"}
    assert "effects follow a causal model" in through.sheet.notes[0]


def test_a_model_that_reads_neither_is_cleared_through_the_graph_too():
    data, context = planted()
    explainer = Explainer(lambda rows: rows["pay"] >= 40, data, n_references=30, context=context)
    (whole,) = audit.reliance(explainer.explain_many(data.iloc[:40]), "sex").groups
    assert (whole.flipped.hits, whole.in_some.hits, whole.falls.hits) == (0, 0, 0)


@pytest.mark.parametrize("ask", [audit.roles, audit.cohort, audit.global_factors])
def test_audits_read_both_sweeps_of_a_causal_context(ask):
    data, context = planted(80)
    es = Explainer(reads_the_proxy_alone, data, n_references=15, context=context).explain_many(
        data.iloc[:8]
    )
    assert not es[0].one_sweep
    found = ask(es)
    if ask is audit.roles:
        assert found.of("sex", "flip").relevant > 0
    assert str(found)


def test_on_german_credit_sex_acts_through_its_effects_in_a_model_that_never_reads_it(data_home):
    """The paper's DAG: Sex is a cause of Job and Savings, and through them of most of the rest."""
    model, X, y, _ = setting(data_home)
    others = [name for name in X.columns if name != "Sex"]
    blind = type(model)(50, max_depth=8, random_state=0).fit(X[others], y)
    context = CausalContext(causal_model(X), noise="kept")
    close = np.abs(blind.predict_proba(X[others])[:, 0] - 0.5).argsort()[:8]
    asked = X.iloc[close]  # decisions that little would flip

    def reads_all_but_sex(rows):
        return blind.predict(rows[others])

    naive, through = (
        audit.reliance(
            Explainer(reads_all_but_sex, X, n_references=12, context=c).explain_many(asked), "Sex"
        )
        for c in (None, context)
    )
    assert naive.groups[0].flipped.hits == naive.groups[0].in_some.hits == 0
    assert through.groups[0].flipped.hits > 0
    assert through.worst[0].flips_alone > 0 and through.worst[0].change.startswith("Sex ")
