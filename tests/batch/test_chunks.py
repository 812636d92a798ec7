"""Rows explained together get the answers that each gets alone, from fewer calls of the model."""

from __future__ import annotations

import json
import pickle
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    GradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from suffice import (
    ConditionalContext,
    Explainer,
    Explanation,
    ModelError,
    at_least,
    datasets,
    satisfies,
    versus,
    within,
)
from suffice.batch.explain_many import explain_rows
from suffice.context.hybrids import SwapHybrids
from suffice.context.players import make_players
from suffice.context.references import CachedRows, Pool, ReferenceCache, References
from suffice.tables import as_table
from tests.effort import examples

ROWS, LABELS = datasets.loans(160)
ROWS = ROWS[["age", "income", "debt", "late payments", "job"]]
NUMBERS = ROWS.drop(columns="job")
MIXED = ROWS.assign(
    debt=ROWS["debt"].astype("Int64").where(ROWS["debt"] > 4),
    job=ROWS["job"].astype("category"),
    age=ROWS["age"].astype("float32"),
)
THREE = np.where(ROWS["income"] > 45, "high", np.where(ROWS["age"] < 35, "young", "other"))


def encoded(final: Any) -> Any:
    columns = make_column_transformer((OneHotEncoder(), ["job"]), remainder=StandardScaler())
    return make_pipeline(columns, final)


def by_rule(rows: pd.DataFrame) -> np.ndarray:
    debt = rows["debt"].fillna(0).to_numpy(dtype=float)
    good = (rows["income"].to_numpy() - 2 * debt > 20) | (rows["job"] == "clerk").to_numpy()
    return np.where(good, "granted", "refused")


def granted(answers: Any) -> Any:
    return answers == "granted"


def some_near(data: Any, x: Any) -> np.ndarray:
    return (abs(data["age"] - float(x["age"].iloc[0])) < 12).to_numpy()


@cache
def explainers() -> dict[str, tuple[Explainer, Any]]:
    """An explainer for each way to work, and the rows that it is asked about."""
    forest = RandomForestClassifier(12, random_state=0)
    regressor = RandomForestRegressor(6, random_state=0).fit(NUMBERS, NUMBERS["debt"])
    line = LinearRegression().fit(NUMBERS[["age", "income"]], NUMBERS["debt"])
    three = RandomForestClassifier(9, random_state=1, max_depth=4)
    arrays = NUMBERS.to_numpy(dtype=float)
    trees = {"engine": "trees", "n_references": 20}
    asked = {"engine": "blackbox", "n_references": 20}
    sums = {"engine": "additive", "n_references": 20}
    return {
        "forest": (Explainer(forest.fit(NUMBERS, LABELS), NUMBERS, **trees), NUMBERS),
        "boosting": (
            Explainer(
                GradientBoostingClassifier(n_estimators=6).fit(arrays, LABELS), arrays, **trees
            ),
            arrays,
        ),
        "forest after steps": (
            Explainer(
                encoded(RandomForestClassifier(8, random_state=2)).fit(ROWS, LABELS), ROWS, **trees
            ),
            ROWS,
        ),
        "classes": (
            Explainer(three.fit(NUMBERS, THREE), NUMBERS, references="all", **trees),
            NUMBERS,
        ),
        "versus": (
            Explainer(three.fit(NUMBERS, THREE), NUMBERS, outcome=versus("high", "other"), **trees),
            NUMBERS,
        ),
        "threshold": (Explainer(regressor, NUMBERS, outcome=at_least(12), **trees), NUMBERS),
        "band": (
            Explainer(regressor, NUMBERS, outcome=within(3), references="opposite", **trees),
            NUMBERS,
        ),
        "logistic": (
            Explainer(encoded(LogisticRegression()).fit(ROWS, LABELS), ROWS, **sums),
            ROWS,
        ),
        "line": (
            Explainer(line, NUMBERS[["age", "income"]], outcome=at_least(10), **sums),
            NUMBERS[["age", "income"]],
        ),
        "line's band": (
            Explainer(line, NUMBERS[["age", "income"]], outcome=within(2), **sums),
            NUMBERS[["age", "income"]],
        ),
        "neighbours": (
            Explainer(KNeighborsClassifier().fit(NUMBERS, LABELS), NUMBERS, **asked),
            NUMBERS,
        ),
        "network": (
            Explainer(
                encoded(MLPClassifier((5,), tol=9.0, random_state=0)).fit(ROWS, LABELS),
                ROWS,
                groups={"money": ["income", "debt"]},
                **asked,
            ),
            ROWS,
        ),
        "function of mixed columns": (Explainer(by_rule, MIXED, **asked), MIXED),
        "predicate": (
            Explainer(by_rule, MIXED, outcome=satisfies(granted), **asked),
            MIXED,
        ),
        "own references": (
            Explainer(by_rule, MIXED, references=some_near, cost={"age": 3}, **asked),
            MIXED,
        ),
        "mask": (
            Explainer(by_rule, MIXED, references=np.arange(len(MIXED)) % 3 == 0, **asked),
            MIXED,
        ),
        "frame": (Explainer(by_rule, MIXED, references=MIXED.iloc[5:30], **asked), MIXED),
        "conditional": (
            Explainer(by_rule, ROWS, context=ConditionalContext(), n_references=12),
            ROWS,
        ),
    }


QUESTIONS: list[dict[str, Any]] = [
    {},
    {"tau": 0.7},
    {"tau": 0.6, "alpha": 0.1},
    {"max_size": 2},
    {"search": "pruned"},
    {"search": "greedy"},
    {"tau": 0.8, "alpha": 0.2, "adjust": "bonferroni"},
]


def rows_of(data: Any, which: list[int]) -> Any:
    return data.iloc[which] if isinstance(data, pd.DataFrame) else data[which]


def alone(explainer: Explainer, row: Any, question: dict[str, Any]) -> Any:
    try:
        return explainer.explain(row, **question)
    except Exception as error:
        return error


WAYS = [
    "forest",
    "boosting",
    "forest after steps",
    "classes",
    "versus",
    "threshold",
    "band",
    "logistic",
    "line",
    "line's band",
    "neighbours",
    "network",
    "function of mixed columns",
    "predicate",
    "own references",
    "mask",
    "frame",
    "conditional",
]


def test_every_way_is_tried() -> None:
    assert list(explainers()) == WAYS


@pytest.mark.parametrize("name", WAYS)
@settings(deadline=None, max_examples=examples(5))
@given(draw=st.data())
def test_rows_together_get_the_answers_that_each_gets_alone(name: str, draw: Any) -> None:
    explainer, data = explainers()[name]
    which = draw.draw(st.lists(st.integers(0, len(data) - 1), min_size=1, max_size=7))
    size = draw.draw(st.integers(1, len(which)))
    question = {**draw.draw(st.sampled_from(QUESTIONS)), "progress": False}
    fresh = pickle.loads(pickle.dumps(explainer)) if draw.draw(st.booleans()) else explainer
    rows = fresh._read_many(rows_of(data, which))
    found: list[Any] = []
    for start in range(0, len(rows), size):
        found += explain_rows(fresh, rows[start : start + size], question)
    expected = [alone(explainer, rows_of(data, [i]), question) for i in which]
    assert list(map(comparable, found)) == list(map(comparable, expected))


COLUMNS = st.sampled_from(
    [
        [0.0, -0.0, 1.5, np.nan],
        [-np.inf, -2.5, 1e-300, np.inf, np.nan],
        [1, 2, 3],
        [-(2**62), -1, 2**62],
        [True, False],
        ["a", "b", None],
        ["a", 1, 2.0, None],
        [pd.Timestamp("2020-01-01"), pd.Timestamp("2021-05-05"), pd.NaT],
    ]
)


@settings(deadline=None, max_examples=examples(80))
@given(draw=st.data())
def test_a_pool_reads_as_the_table_that_it_stands_for(draw: Any) -> None:
    n, inputs = draw.draw(st.integers(1, 6)), draw.draw(st.integers(1, 4))
    columns = {}
    for name in "abc"[: draw.draw(st.integers(1, 3))]:
        values = draw.draw(COLUMNS)
        cells = draw.draw(
            st.lists(st.sampled_from(values), min_size=n + inputs, max_size=n + inputs)
        )
        kind = draw.draw(st.sampled_from([None, "Int64", "category", "float32", "object"]))
        column = pd.Series(cells, dtype=object if values[:2] == ["a", 1] else None)
        numbers = all(isinstance(v, int) and not isinstance(v, bool) for v in values)
        if kind == "category" or kind == "object" or (numbers and kind):
            column = column.astype(kind)
        if kind == "Int64" and numbers:
            column = column.where(np.arange(n + inputs) % 3 > 0)
        columns[name] = column
    frame = pd.DataFrame(columns)
    above = as_table(frame.iloc[:inputs].reset_index(drop=True))
    below = as_table(frame.iloc[inputs:].reset_index(drop=True))
    names = list(columns)
    players = make_players(above, {"both": names[:2]} if draw.draw(st.booleans()) else None)
    shared, references = CachedRows(above), References(below)
    for place in range(inputs):
        pool, whole = Pool(shared, place, references), above.take(np.array([place])).stack(below)
        assert len(pool) == len(whole)
        np.testing.assert_array_equal(pool.codes(), whole.codes())
        of_pool, of_whole = SwapHybrids(pool, players), SwapHybrids(whole, players)
        np.testing.assert_array_equal(of_pool.codes, of_whole.codes)
        for j in range(len(names)):
            assert repr(pool.column(j).tolist()) == repr(whole.column(j).tolist())
        alone = above.take(np.array([place]))
        shown = [repr(cell) for cell in shared.row_values(place)]
        assert shown == [repr(cell) for cell in CachedRows(alone).row_values(0)]


class Recording:
    """A model that notes how many rows it is asked about at a time."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.calls: list[int] = []
        self.classes_ = model.classes_

    def predict(self, rows: Any) -> Any:
        self.calls.append(len(rows))
        return self.model.predict(rows)


def test_inputs_of_a_chunk_are_predicted_in_one_call() -> None:
    recording = Recording(LogisticRegression(max_iter=5000).fit(NUMBERS, LABELS))
    explainer = Explainer(recording, NUMBERS, n_references=10)
    recording.calls.clear()
    explainer.explain_many(NUMBERS.iloc[:50], progress=False)
    assert recording.calls[0] == 50
    assert 1 not in recording.calls


def test_hybrids_of_several_rows_are_predicted_together() -> None:
    recording = Recording(KNeighborsClassifier().fit(NUMBERS, LABELS))
    explainer = Explainer(recording, NUMBERS, n_references=10, engine="blackbox")
    recording.calls.clear()
    together = explainer.explain_many(NUMBERS.iloc[:50], progress=False)
    calls = list(recording.calls)
    assert len(calls) == 2
    one_by_one = [explainer.explain(NUMBERS.iloc[i]) for i in range(50)]
    assert list(map(comparable, together)) == list(map(comparable, one_by_one))
    alone = [e.provenance.rows_predicted for e in one_by_one]
    assert [e.provenance.rows_predicted for e in together] == alone
    assert calls[1] < sum(alone)  # what rows share is predicted once, and counts for each of them
    recording.calls.clear()
    explainer.explain_many(NUMBERS.iloc[:3], budget=500, progress=False)
    assert len(recording.calls) > 3  # a budget is each row's own


def test_references_of_one_outcome_are_prepared_once() -> None:
    explainer, data = explainers()["forest"]
    fresh = pickle.loads(pickle.dumps(explainer))
    decided = fresh.decide_many(fresh._read_many(data.iloc[:40]))
    assert len({id(d.references) for d in decided}) == 2
    again = fresh.decide(data.iloc[0])
    assert again.references is decided[0].references
    assert fresh.but(references="all").decide(data.iloc[0]).references is not again.references


def labelled(labels: np.ndarray) -> Any:
    def model(rows: pd.DataFrame) -> np.ndarray:
        return labels[rows["a"].to_numpy()]

    return model


def test_labels_that_are_equal_but_not_the_same_are_not_mixed_up() -> None:
    frame = pd.DataFrame({"a": [0, 1, 2, 3], "b": [0, 0, 1, 1]})
    labels = np.array([1, True, "x", "x"], dtype=object)
    explainer = Explainer(labelled(labels), frame)
    one, true = explainer.explain_many(frame.iloc[:2], progress=False)
    assert (one.prediction, true.prediction) == (1, True)
    assert [type(e.prediction) for e in (one, true)] == [int, bool]
    assert comparable(true) == comparable(Explainer(labelled(labels), frame).explain(frame.iloc[1]))


def test_what_is_sent_elsewhere_carries_nothing_that_can_be_worked_out_again() -> None:
    explainer, data = explainers()["forest"]
    fresh = pickle.loads(pickle.dumps(explainer))
    before = len(pickle.dumps(fresh))
    found = fresh.explain_many(data.iloc[:30], progress=False)
    assert len(pickle.dumps(fresh)) < before + 500  # a few small numbers of the table's columns
    rows = fresh._read_many(data.iloc[:5])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(rows))[3].native, data.iloc[[3]])
    assert pickle.loads(pickle.dumps(found[0])) == found[0]


def test_few_sets_of_references_are_kept() -> None:
    sets = ReferenceCache()
    table = as_table(NUMBERS)
    for key in range(100):
        sets.get_or_choose(key, lambda: table)
    assert len(sets) == 64
    wide = as_table(np.zeros((1000, 3000)))
    for key in range(5):
        sets.get_or_choose(("wide", key), lambda: wide)
    assert len(sets) == 1
    assert len(pickle.loads(pickle.dumps(sets))) == 0


def poisoned(rows: pd.DataFrame) -> Any:
    out = np.where(rows["income"] - rows["debt"] > 20, 1.0, 0.0)
    if (rows["age"] == 1001).any():
        raise ValueError("no such age")
    return np.where(rows["age"] == 1000, np.nan, out)


def test_the_fault_of_a_row_is_no_others() -> None:
    explainer = Explainer(poisoned, NUMBERS, outcome=at_least(0.5), n_references=10)
    rows = NUMBERS.iloc[:12].copy()
    rows.iloc[3, 0], rows.iloc[8, 0] = 1000, 1001
    read = explainer._read_many(rows)
    found = explain_rows(explainer, read, {"progress": False})
    alone_each = [alone(explainer, rows.iloc[[i]], {}) for i in range(12)]
    assert list(map(comparable, found)) == list(map(comparable, alone_each))
    assert str(found[3]) == "poisoned returned NaN for 1 of 1 rows"
    assert str(found[8]) == "poisoned raised ValueError on 1 row: no such age"
    of_labels = Explainer(lambda r: np.where(poisoned(r) > 0, "yes", "no"), NUMBERS)
    others = explain_rows(of_labels, read, {"progress": False})
    assert [i for i, e in enumerate(others) if isinstance(e, ModelError)] == [8]
    with pytest.raises(ModelError, match=r"^row 3: poisoned returned NaN for 1 of 1 rows"):
        explainer.explain_many(rows, progress=False)


def test_an_invalid_question_is_no_rows_fault() -> None:
    explainer, data = explainers()["forest"]
    found = explain_rows(explainer, explainer._read_many(data.iloc[:3]), {"tau": 2.0})
    assert [str(e).startswith("tau: got 2") for e in found] == [True] * 3


# Are two explanations the same answer, whatever way it came about?


VOLATILE_PROVENANCE = ("seconds", "model_seconds", "created", "rows_predicted", "hybrids", "plan")
"""Facts of the provenance that may differ between a row explained alone and among others: the time
it took and was made at, the rows that the model was asked about for it (and the hybrids, where
those are the same), the time it was thought to take. Nothing else may, unless "auto" chooses
another evaluator by its pace."""


def comparable(answer: Explanation | Exception) -> Any:
    """All that an answer says, in plain values; of an error its type and its words."""
    if isinstance(answer, Exception):
        return type(answer).__name__, str(answer)
    record = json.loads(answer.to_json())["content"]
    for fact in VOLATILE_PROVENANCE:
        record["provenance"].pop(fact, None)
    changes = [f.change for f in answer.flip.factors]
    return record, [(c.cost, c.values) if c else None for c in changes], answer.cheapest
