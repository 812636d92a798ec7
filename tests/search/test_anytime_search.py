"""The anytime search: always something verified, never more than is true, complete when it says so."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from suffice import Explainer
from suffice.context.hybrids import SwapHybrids
from suffice.context.players import Players
from suffice.engines import BlackBox
from suffice.search import LimitKeeper, Limits, Question
from suffice.search.findings import Findings, FoundSet, merge_findings
from suffice.search.strategies import anytime_search
from suffice.tables.conversion import as_table
from tests.effort import examples


def decision(model, d, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (40, d))
    y = X[:, 0] * 2 + X[:, 1] * X[:, 2] + rng.integers(0, 2, 40) > 3
    if len(set(y)) < 2:
        return None
    explainer = Explainer(model.fit(X, y), X)
    if len(set(explainer.answers)) < 2:
        return None
    return explainer, X[0]


MODELS = {
    "tree": lambda: DecisionTreeClassifier(max_depth=5, random_state=0),
    "logistic": LogisticRegression,
}


@pytest.mark.parametrize("kind", MODELS)
@settings(max_examples=examples(15))
@given(seed=st.integers(0, 10_000), rows=st.sampled_from([None, 300, 3000]))
def test_it_reports_nothing_that_exhaustive_search_denies(kind, seed, rows):
    made = decision(MODELS[kind](), 6, seed)
    if made is None:
        return
    explainer, row = made
    whole = explainer.explain(row, search="exhaustive")
    found = explainer.decide(row)
    hybrids = found.hybrids[0]
    limits = Limits(budget=rows)
    evaluator = found.evaluator(hybrids, limits)
    answer = anytime_search(evaluator, hybrids.d, Question(limits=limits), LimitKeeper(limits))
    flip = answer.flip_findings
    for view, findings, minimal in (
        (whole.keep, answer.keep.findings, answer.keep.minimal_at(0.9)),
        (whole.flip, flip, []),
    ):
        names = [p.name for p in whole.players]
        true = {tuple(names.index(f) for f in factor.features) for factor in view}
        if findings is None:  # every set was counted
            continue
        for factor in findings.factors:
            features = [names[j] for j in factor.members]
            assert view.sufficiency(features) * view.tally.n == factor.hits
            assert factor.hits >= 0.9 * view.tally.n
            if factor.proof == "exhaustive":
                assert factor.members in true
        if findings.decided and view.name == "keep":
            assert {m.members for m in minimal} == true


def test_a_set_of_each_view_is_found_even_in_little_time():
    rng = np.random.default_rng(0)
    X = rng.random((100, 40))
    explainer = Explainer(lambda rows: (rows.sum(axis=1) > 20).astype(int), X, n_references=30)
    e = explainer.explain(X[0], budget=3000)
    assert len(e.keep) and len(e.flip)
    for view in (e.keep, e.flip):
        assert all(f.sufficiency >= 0.9 for f in view)
    assert "not all smaller sets inside it were tried" in str(e) or all(
        f.proof != "none" for f in (*e.keep, *e.flip)
    )


def test_the_smallest_set_seen_stands_in_where_none_could_be_made_minimal():
    table = as_table(np.vstack([np.zeros(30), np.ones((20, 30))]))
    players = Players(table.names, tuple((j,) for j in range(30)))
    hybrids = SwapHybrids(table, players)

    class Target:
        model = SimpleNamespace(seconds_per_row=None)

        def __call__(self, rows):
            return np.asarray(rows.native).sum(axis=1) < 15

    limits = Limits(budget=200)
    evaluator = BlackBox(Target(), hybrids, True, distinct=False)
    answer = anytime_search(evaluator, 30, Question(limits=limits), LimitKeeper(limits))
    (factor,) = answer.keep.findings.factors
    assert factor.hits == 20
    assert factor.proof == "none"
    assert evaluator.rows_predicted <= 200


def test_findings_of_several_searches_are_joined():
    first = Findings(
        0.9, (FoundSet((0, 1), 9, "one smaller"), FoundSet((2, 3, 4), 9, "none")), False
    )
    second = Findings(0.9, (FoundSet((0, 1), 9), FoundSet((3,), 10)), False, 2, decided_share=0.25)
    both = merge_findings([first, second], besides=[(5,)])
    assert both.factors == (FoundSet((3,), 10), FoundSet((0, 1), 9))
    assert (both.decided, both.decided_size, both.decided_share) == (False, 2, 0.25)
    assert merge_findings([second], besides=[(3,)]).factors == (FoundSet((0, 1), 9),)
