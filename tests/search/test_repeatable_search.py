"""Bounded by counted work: the same answer whatever the clock, and never an empty first one."""

import msgspec
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import RandomForestClassifier

from suffice import Explainer, datasets
from suffice.engines import work as backend
from suffice.explanation import cheapest_changes, explain
from suffice.recourse import solver
from suffice.search import plan
from tests.fakes import fake_time


@pytest.fixture
def little_work(monkeypatch):
    monkeypatch.setattr(plan, "DEFAULT_WORK", 2e8)
    monkeypatch.setattr(solver, "DEFAULT_WORK", 2e9)  # of which it takes a tenth


def facts(e):
    """The stored content of an explanation without how long it took."""
    return msgspec.json.decode(e.to_json(volatile=False))["content"]


def wide(d=18, n=60):
    rng = np.random.default_rng(1)
    return pd.DataFrame(rng.normal(size=(n, d)), columns=[f"x{i}" for i in range(d)])


def black_box(rows):
    return (rows["x0"] + rows["x1"] * rows["x2"] > 0).to_numpy().astype(int)


def forest(data):
    y = (data["x0"] + data["x1"] - data["x2"] > 0).astype(int)
    return RandomForestClassifier(15, random_state=0).fit(data, y)


@pytest.mark.parametrize("kind", ["black box", "trees"])
def test_equal_calls_give_equal_answers_whatever_the_clock(kind, little_work, monkeypatch):
    data = wide(26 if kind == "trees" else 18)
    explainer = Explainer(forest(data) if kind == "trees" else black_box, data)
    first = explainer.explain(data.iloc[0])
    assert first.provenance.plan.way == "anytime"
    assert first.stopped is not None and first.stopped.kind == "work"
    for step in (1e-4, 0.3, 20.0):
        fake_time(monkeypatch, step=step)
        again = explainer.explain(data.iloc[0])
        assert facts(again) == facts(first)


@pytest.mark.parametrize("kind", ["black box", "trees"])
def test_the_cheapest_change_of_a_bounded_search_is_that_of_recourse(kind, little_work):
    data = wide(26 if kind == "trees" else 18)
    explainer = Explainer(forest(data) if kind == "trees" else black_box, data, immutable="x3")
    dearer = 0
    for i in range(3):
        e, best = explainer.explain(data.iloc[i]), explainer.recourse(data.iloc[i]).best
        assert not e.flip.tally.complete
        assert (e.cheapest.features, e.cheapest.values) == (best.features, best.values)
        assert e.cheapest.cost == best.cost and "x3" not in best.features
        dearer += all(f.change is None or f.change.cost > best.cost for f in e.flip)
    assert dearer  # so the sets of the search alone would not tell


def test_recourse_does_not_follow_a_search_with_a_limit(little_work, monkeypatch):
    def fail(*_):
        raise AssertionError("recourse was asked")

    data = wide()
    monkeypatch.setattr(cheapest_changes, "find_cheapest_options", fail)
    explainer = Explainer(black_box, data, n_references=20)
    for limit in ({"budget": 5000}, {"max_size": 2}, {"time_limit": 0.1}):
        assert explainer.explain(data.iloc[0], **limit).cheapest is not None
    with pytest.raises(AssertionError, match="recourse was asked"):
        explainer.explain(data.iloc[0])


def test_what_is_installed_does_not_change_the_answer(little_work, monkeypatch):
    data = wide(26)
    model = forest(data)
    compiled = Explainer(model, data).explain(data.iloc[1])
    backend.numba_is_installed.cache_clear()
    monkeypatch.setattr(backend, "numba_is_installed", lambda: False)
    monkeypatch.setattr(plan, "numba_is_installed", lambda: False)
    slow = (
        "numba is not installed here, and without it the same search takes 20 to 100 times as long."
    )
    assert slow in " ".join(str(Explainer(model, data).plan(data.iloc[1])).split())
    assert "numba" not in str(Explainer(black_box, data).plan(data.iloc[1]))
    assert facts(Explainer(model, data).explain(data.iloc[1])) == facts(compiled)


def wide_tables():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    yield "breast cancer", RandomForestClassifier(30, random_state=0).fit(X, y), X
    digits, labels = load_digits(return_X_y=True, as_frame=True)
    yield "digits", RandomForestClassifier(20, random_state=0).fit(digits, labels), digits
    lightgbm = pytest.importorskip("lightgbm")
    table = wide(60, 300)
    boosted = lightgbm.LGBMClassifier(n_estimators=30, verbose=-1, n_jobs=1)
    yield "60 columns", boosted.fit(table, table.iloc[:, :12].sum(axis=1) > 0), table


@pytest.mark.parametrize("work", [1.0, 2e8])
def test_the_first_answer_on_a_wide_table_is_not_empty(work, monkeypatch):
    for module in (plan, solver):
        monkeypatch.setattr(module, "DEFAULT_WORK", work)
    for name, model, data in wide_tables():
        e = Explainer(model, data, n_references=50).explain(data.iloc[0])
        for view in (e.keep, e.flip):
            assert len(view), name
            assert all(f.sufficiency >= 0.9 and f.proof != "none" for f in view), name


def test_a_time_limit_that_is_over_at_once_still_gives_a_set_of_each_view(monkeypatch):
    data = wide(30)
    explainer = Explainer(black_box, data)
    fake_time(monkeypatch, step=1.0)
    e = explainer.explain(data.iloc[0], time_limit=0.1)
    assert len(e.keep) and len(e.flip)
    assert e.stopped is not None and e.stopped.kind == "time_limit"
    for result in (e, e.keep, e.at(0.8)):
        assert "depends on the machine" in " ".join(str(result).split())
    assert "depends on the machine" not in str(explainer.explain(data.iloc[0], budget=2000))


def test_suggestions_are_made_when_they_are_read(little_work, monkeypatch):
    def fail(*_):
        raise AssertionError("the columns were compared")

    data = wide(26)
    e = Explainer(forest(data), data).explain(data.iloc[0])
    monkeypatch.setattr(explain, "association_matrix", fail)
    with pytest.raises(AssertionError, match="columns were compared"):
        print(e.provenance.plan.more)
    monkeypatch.undo()
    assert e.provenance.plan.more


@pytest.mark.parametrize("search", ["auto", "exhaustive", "pruned", "greedy"])
@pytest.mark.parametrize("budget", [170, 300, 1001])
def test_every_row_counts_once_and_the_budget_is_kept(search, budget):
    X, _ = datasets.loans(120)
    X = X[["age", "income", "debt", "late payments"]].astype(float)
    rows = 0

    class Model:
        classes_ = np.array(["granted", "refused"])

        def predict(self, table):
            nonlocal rows
            rows += len(table)
            return np.where(table["income"] > 3 * table["debt"], "granted", "refused")

        def predict_proba(self, table):
            nonlocal rows
            rows += len(table)
            return np.tile([0.5, 0.5], (len(table), 1))

    explainer = Explainer(Model(), X, n_references=40)
    rows = 0
    e = explainer.explain(X.iloc[0], search=search, budget=budget)
    assert rows == e.provenance.rows_predicted <= budget


@pytest.mark.parametrize("kind", ["black box", "trees"])
@pytest.mark.parametrize("rounded", [False, True])
def test_every_complete_search_reports_the_same_cheapest_changes(kind, rounded, monkeypatch):
    """Also one that decides sets without counting them, and so sees few of all changes."""
    data, rows = wide(6, 40), 0
    data = data.round() if rounded else data  # equal costs, and rows that several sets share
    y = (data["x0"] + data["x1"] * data["x2"] - data["x3"] > 0).astype(int).to_numpy()
    model = RandomForestClassifier(5, max_depth=3, random_state=0).fit(data, y)

    def asked(table):
        nonlocal rows
        rows += len(table)
        return model.predict(table)

    explainer = Explainer(model if kind == "trees" else asked, data)
    for row in range(2):
        x = data.iloc[row]
        whole, complete = explainer.explain(x, search="exhaustive"), []
        for search in ("pruned", "greedy", "bounds", "streamed"):
            if kind == "black box" and search in ("bounds", "streamed"):
                continue
            rows = 0
            with monkeypatch.context() as patch:
                if search == "streamed":
                    patch.setattr(plan, "EXHAUSTIVE_PLAYERS", 3)
                e = explainer.explain(x, search="exhaustive" if search == "streamed" else search)
            assert kind == "trees" or rows == e.provenance.rows_predicted
            if e.complete:
                complete.append(search)
                assert (e.cheapest, e.cheapest_ties) == (whole.cheapest, whole.cheapest_ties)
                assert [f.features for f in e.flip] == [f.features for f in whole.flip]
        assert "pruned" in complete and (kind == "black box" or "streamed" in complete)
