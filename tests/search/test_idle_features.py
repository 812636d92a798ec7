"""Players that cannot matter are left out, and every number stays what it is with them."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from suffice import Explainer, Explanation, within
from suffice.search import plan as idle
from tests.effort import examples


def explained(monkeypatch, explainer, row, worth, **question):
    monkeypatch.setattr(idle, "SKIP_IDLE_CHECK_UP_TO", worth)
    return explainer.explain(row, search="exhaustive", **question)


def same_answer(narrow: Explanation, wide: Explanation) -> None:
    names = [p.name for p in wide.players]
    for ours, theirs in ((narrow.keep, wide.keep), (narrow.flip, wide.flip)):
        assert [(f.features, f.sufficiency, f.minimal_for) for f in ours.barcode] == [
            (f.features, f.sufficiency, f.minimal_for) for f in theirs.barcode
        ]
        assert ours.necessity == pytest.approx(theirs.necessity)
        assert ours.complete and theirs.complete
        for mask in range(1 << len(names)):
            features = [name for j, name in enumerate(names) if mask >> j & 1]
            assert ours.sufficiency(features) == theirs.sufficiency(features)
        for some in (names[::2], names[1::2]):
            for closed in (True, False):
                assert ours.measures(some, closed) == theirs.measures(some, closed)
        for a, b in zip(ours, theirs, strict=True):
            assert (a.change is None) == (b.change is None)
            assert a.change is None or a.change.cost == pytest.approx(b.change.cost)
    assert (narrow.cheapest is None) == (wide.cheapest is None)
    if narrow.cheapest is not None:
        assert narrow.cheapest.cost == pytest.approx(wide.cheapest.cost)


MODELS = {
    "forest": lambda seed: RandomForestClassifier(5, max_depth=3, random_state=seed),
    "tree": lambda seed: DecisionTreeClassifier(max_depth=2, random_state=seed),
    "logistic": lambda _: LogisticRegression(),
}


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("engine", ["auto", "blackbox"])
@settings(max_examples=examples(12))
@given(seed=st.integers(0, 10_000))
def test_without_idle_players_every_number_is_what_it_is_with_them(kind, engine, seed):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.integers(0, 4, (40, 6)), columns=list("abcdef"))
    X["c"] = 1  # the same in every reference
    y = (X.a + X.b + rng.integers(0, 2, 40) > 3).astype(int)
    if y.nunique() < 2:
        return
    model = MODELS[kind](seed).fit(X, y)
    if len(set(model.predict(X))) < 2:
        return
    explainer = Explainer(model, X, engine=engine)
    with pytest.MonkeyPatch.context() as patch:
        narrow = explained(patch, explainer, X.iloc[0], worth=0)
        wide = explained(patch, explainer, X.iloc[0], worth=12)
    assert not wide.left_out
    assert "c" in {left.player.name for left in narrow.left_out}
    assert len(narrow.players) + len(narrow.left_out) == 6
    same_answer(narrow, wide)
    assert Explanation.from_json(narrow.to_json()) == narrow


def test_the_reasons_are_distinguished(monkeypatch):
    X = pd.DataFrame({"read": [0, 1, 2, 3] * 5, "constant": 7, "unread": range(20)})
    X["far"] = [0, 1] * 10  # split only above every value that occurs
    model = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X[["read"]], X["read"] > 1)
    tree = DecisionTreeClassifier(random_state=0).fit(
        pd.concat([X, X.assign(far=9)]), np.r_[model.predict(X[["read"]]), np.ones(20, dtype=bool)]
    )
    e = explained(monkeypatch, Explainer(tree, X, engine="trees"), X.iloc[0], worth=0)
    reasons = {left.player.name: left.reason for left in e.left_out}
    assert reasons["constant"] == "same"
    assert reasons["unread"] == "unread"
    assert reasons["far"] == "alike"
    assert str(e.left_out[1]) == "unread (the model never reads it)"


def test_a_model_that_nothing_moves_keeps_one_player(monkeypatch):
    X = pd.DataFrame({"a": [1] * 8, "b": [2] * 8})
    explainer = Explainer(
        lambda rows: rows["a"].to_numpy(float), X, references="all", outcome=within(1)
    )
    e = explained(monkeypatch, explainer, X.iloc[0], worth=0)
    assert len(e.players) == 1
    assert e.keep.sufficiency(["a", "b"]) == 1
    assert [f.features for f in e.keep] == [()]


def test_where_d_prefers_some_sizes_all_players_count(monkeypatch):
    X = pd.DataFrame({"a": [0, 1] * 20, "b": 1})
    model = DecisionTreeClassifier(random_state=0).fit(X, X.a)
    explainer = Explainer(model, X, size_weights=[1, 2, 3])
    assert not explained(monkeypatch, explainer, X.iloc[0], worth=0).left_out


def test_many_tests_are_corrected_over_all_players(monkeypatch):
    X = pd.DataFrame({"a": [0, 1] * 20, "b": [0, 0, 1, 1] * 10, "c": 1})
    model = DecisionTreeClassifier(random_state=0).fit(X, X.a)
    question = {"alpha": 0.05, "adjust": "bonferroni", "tau": 0.6}
    narrow = explained(monkeypatch, Explainer(model, X), X.iloc[0], worth=0, **question)
    wide = explained(monkeypatch, Explainer(model, X), X.iloc[0], worth=12, **question)
    assert not narrow.left_out
    assert narrow == wide
