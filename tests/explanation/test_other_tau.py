"""Another τ of an answer that was decided at one τ: what is known there, and no claim beyond."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from sklearn.linear_model import LogisticRegression

from suffice import Explainer, Explanation, audit

TAUS = (0.3, 0.5, 0.7, 0.85, 0.9, 0.97, 1.0)


def explained(seed, search, tau=0.9, **limits):
    rng = np.random.default_rng(seed)
    data = pd.DataFrame(rng.integers(0, 4, (60, 7)), columns=list("abcdefg"))
    weights = rng.integers(-2, 4, 7)
    explainer = Explainer(lambda rows: rows.to_numpy() @ weights >= 6, data)
    return explainer.explain(data.iloc[0], search=search, tau=tau, **limits)


def test_a_set_found_at_one_threshold_is_listed_at_a_higher_one():
    data = pd.DataFrame(np.random.default_rng(0).integers(0, 4, (80, 8)), columns=list("abcdefgh"))
    explainer = Explainer(lambda rows: rows[list("abcde")].sum(axis=1) >= 9, data)
    e = explainer.explain(data.iloc[0], search="greedy")
    (factor,) = e.keep.factors
    assert factor.sufficiency == 1.0
    higher = e.at(0.97)
    assert [f.features for f in higher.keep] == [factor.features]
    assert higher.keep.complete
    assert "Complete at τ = 0.97: each of 256 subsets was decided" in str(higher.keep)
    assert "Not complete at τ = 0.97" in str(higher) and not higher.complete
    assert higher.keep.necessity == e.keep.necessity
    assert not e.at(0.5).complete
    assert "decided every set at τ = 0.9, not at this τ" in str(e.at(0.5))
    # The best is looked for among what was counted and what was found.
    assert higher.flip.best.features == e.flip.factors[0].features
    text = " ".join(str(higher.flip).split())
    assert (
        "No set of fewer features that was tried reaches τ = 0.97 (all 8 features together do)"
        in text
    )
    assert "The best of those flips 91%: a, b, c." in text


@pytest.mark.parametrize("search", ["bounds", "pruned"])
def test_sizes_decided_at_one_threshold_are_claimed_at_no_other(search):
    data = pd.DataFrame(np.random.default_rng(0).integers(0, 4, (80, 8)), columns=list("abcdefgh"))
    model = LogisticRegression().fit(data, data[list("abcde")].sum(axis=1) >= 8)
    explainer = Explainer(model, data)
    e = explainer.explain(data.iloc[0], search=search, tau=0.8)
    other = e.at(0.97)
    assert e.complete and not len(other.keep) and not len(other.flip)
    assert explainer.explain(data.iloc[0], search="exhaustive", tau=0.97).keep.factors
    for text in (str(other), other.to_html(), str(Explanation.from_json(other.to_json()))):
        assert "each was decided" not in text and "of up to" not in text
        assert "The best of those keeps 90%: a, c." in " ".join(text.split())
        assert "search again at this τ" in text and ".at(0.89)" in text
    lower = str(e.at(0.5))
    assert "not all smaller sets inside it were tried" in lower
    assert "Not complete at τ = 0.5" in lower
    assert "in every set found" in str(audit.roles(other.at(0.8).at(0.5)))


def test_audits_at_another_threshold_speak_of_the_sets_found():
    e = explained(3, "pruned")
    known, partly = (audit.roles(e, tau=tau) for tau in (0.9, 0.3))
    assert known.complete and "set found" not in str(known) + known.to_html()
    assert not partly.complete
    assert "minimal set" not in str(partly).replace("minimal sets", "").replace(
        "Not every minimal set is known", ""
    )
    assert "in some set found of 1 of the decisions" in str(audit.reliance(e, "a", tau=0.3))


@pytest.mark.parametrize("search", ["greedy", "pruned"])
@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 10**6), tau=st.sampled_from(TAUS))
def test_what_is_listed_at_another_threshold_is_true(search, seed, tau):
    try:
        everything = explained(seed, "exhaustive").at(tau)
    except ValueError:  # a model that gives one outcome for all of the data
        return
    e = Explanation.from_json(explained(seed, search).at(tau).to_json())
    for view, whole in ((e.keep, everything.keep), (e.flip, everything.flip)):
        true = {f.features for f in whole}
        for factor in view:
            assert factor.sufficiency == whole.sufficiency(factor.features) >= tau
            assert factor.features in true or factor.proof == "none"
        if view.complete:
            assert {f.features for f in view} == true
        assert e.at(0.9).keep.factors == explained(seed, search).keep.factors


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 10**6), tau=st.sampled_from(TAUS))
def test_necessity_at_another_threshold_has_bounds(seed, tau):
    try:
        everything = explained(seed, "exhaustive").at(tau)
    except ValueError:  # a model that gives one outcome for all of the data
        return
    e = explained(seed, "pruned").at(tau)
    for view, whole in ((e.keep, everything.keep), (e.flip, everything.flip)):
        exact = whole.necessity
        assert whole.necessity_bounds == (None if exact is None else (exact, exact))
        if view.necessity_bounds is not None and exact is not None:
            low, high = view.necessity_bounds
            assert low - 0.05 <= exact <= high + 0.05  # the ends are of 95% intervals
            if tau < 0.9 and not view.complete:
                assert high == 1.0
            if tau > 0.9 and not view.complete:
                assert high <= view.at(0.9).necessity_interval[1]
                assert "All minimal sets that exist at this τ cover at most" in str(view)


def test_a_bounded_answer_is_complete_at_no_other_threshold():
    e = explained(3, "pruned", budget=800)
    for tau in TAUS:
        assert not e.at(tau).complete or e.complete
