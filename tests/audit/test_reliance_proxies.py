"""A protected cause that acts through its effects: what swapping misses, and the graph finds."""

import numpy as np
import pandas as pd
import pytest
from experiments.german.causal import causal_model
from experiments.german.setting import setting

from suffice import CausalContext, CausalModel, Explainer, InputError, audit
from suffice.context.causal import noisy
from suffice.randomness import Stream, generator
from tests.audit.mixed_table import people


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


ROWS = pd.DataFrame(
    [(s, j, p) for s in "fm" for j in ("nurse", "smith") for p in (10, 40, 50)],
    columns=["sex", "job", "pay"],
)


def through_noise(job, model, noise="sampled"):
    """Explanations of all rows, where `job` computes the job from its noise and sex."""
    scm = CausalModel(
        [("sex", "job")], ROWS, mechanisms={"job": noisy(job, noise={False: 0.5, True: 0.5})}
    )
    context = CausalContext(scm, noise=noise)
    explainer = Explainer(model, ROWS, references="all", context=context, random_state=1)
    return scm, explainer, explainer.explain_many(ROWS)


def a_job_by_chance(noise, sex):
    return np.where(noise, "smith", "nurse")


def a_job_for_men(noise, sex):
    return np.where(noise | (np.asarray(sex) == "m"), "smith", "nurse")


@pytest.mark.parametrize(("job", "effect"), [(a_job_by_chance, False), (a_job_for_men, True)])
def test_noise_accuses_no_feature_and_hides_no_effect(job, effect):
    """A model that reads the job and not sex, with a job that does or does not depend on sex."""
    scm, explainer, es = through_noise(job, reads_the_proxy_alone)
    unknown = audit.reliance(es, "sex")
    assert unknown.noise == "open" and unknown.groups[0].flipped.n == 0
    assert "flip any decision is not known (effects are drawn anew" in unknown.findings[0]
    assert {row.in_some for row in unknown.rows} == {None}

    found = audit.reliance(es, "sex", explainer=explainer)
    noise = scm.draw(len(ROWS), generator(1, Stream.NOISE))["job"]
    granted = reads_the_proxy_alone(ROWS)
    of_references = explainer.decide(ROWS.iloc[0]).pool.column(0)[1:]
    assert sorted(of_references) == sorted(ROWS["sex"])
    for row, y, (_, x) in zip(found.rows, granted, ROWS.iterrows(), strict=True):
        with_own, with_other = (
            (x["pay"] >= 30) & (job(noise, sex) == "smith")
            for sex in (np.full(len(ROWS), x["sex"]), of_references)
        )
        flips = (with_own == y) & (with_other != y)
        assert row.flips_alone == flips.mean()
        assert not flips[of_references == x["sex"]].any()
        assert (row.change is None) == (not flips.any())
    # Fresh noise alone flips most of them.
    assert sum(e.flip.sufficiency(["sex"]) > 0 for e in es) == 8
    assert found.groups[0].flipped.hits == (len({r.name for r in found.rows if r.change}))
    assert (found.groups[0].flipped.hits > 0) == effect
    assert found.groups[0].in_some.n == 0
    assert ("no decision of 12 was found to rest on it" in found.findings[0]) != effect
    assert any("both with the same noise" in note for note in found.sheet.notes)
    mean = sum(row.flips_alone for row in found.rows) / len(found.rows)
    assert (
        f"(up to 12 references, {mean:.0%} of them on average; the" in found.findings[0]
    ) == effect


def test_a_direct_effect_is_found_beside_random_ones_and_groups_take_the_worst_subset():
    _, explainer, es = through_noise(a_job_by_chance, lambda rows: rows["sex"] == "m")
    (row, *_) = audit.reliance(es[:1], ["sex", "pay"], explainer=explainer).rows
    assert row.flips_alone == row.flips_most == 0.5
    assert row.change == "sex f → m"


def test_reliance_refuses_an_explainer_that_gives_other_counts():
    _, _, es = through_noise(a_job_by_chance, reads_the_proxy_alone)
    _, other, _ = through_noise(a_job_by_chance, lambda rows: rows["pay"] >= 30)
    with pytest.raises(InputError, match="does not give the counts of decision 1"):
        audit.reliance(es[1:2], "sex", explainer=other, ids=["1"])
    with pytest.raises(InputError, match="explainer: got"):
        audit.reliance(es, "sex", explainer=reads_the_proxy_alone)
