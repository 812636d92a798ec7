"""A chunk as an Arrow table: it holds what each explanation has by itself."""

import pickle
from datetime import datetime

import cloudpickle
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from suffice import CausalContext, CausalModel, Explainer, InputError, ModelError, at_least
from suffice.batch.arrow import CHUNK_SCHEMA, ChunkToArrow
from suffice.batch.factor_columns import minimal_sets_of_rows
from suffice.batch.stored_row import explanation_from_cells, scalar_from_cells, scalar_to_cells
from suffice.search.exhaustive import Tally
from suffice.search.profile import Profile
from tests.effort import examples

COLUMNS = ("sufficiency", "low", "high", "n", "p_value", "minimal_above", "minimal_up_to", "cost")


def table(seed, d=4, rows=40, missing=False):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({f"x{j}": rng.integers(0, 4, rows) for j in range(d)})
    frame["x1"] = rng.normal(size=rows).round(1)
    frame["x2"] = pd.Categorical.from_codes(frame["x2"], ["own", "rents", "free", "ünknown"])
    if missing:
        frame.loc[rng.random(rows) < 0.2, "x1"] = np.nan
    return frame


def labels(frame):
    return np.where(frame["x0"] + frame["x1"].fillna(0) + frame["x2"].cat.codes > 3, "yes", "no")


def model(kind, X):
    if kind == "function":
        return labels
    y = labels(X)
    numbers = X.assign(x2=X["x2"].cat.codes)

    class OfNumbers:
        def __init__(self, inner):
            self.inner = inner

        def predict(self, rows):
            return self.inner.predict(rows.assign(x2=rows["x2"].cat.codes).fillna(0))

    inner = DecisionTreeClassifier(max_depth=3, random_state=0)
    if kind == "regression":
        inner, y = DecisionTreeRegressor(max_depth=3, random_state=0), (y == "yes") * 1.5
    return OfNumbers(inner.fit(numbers.fillna(0), y))


def check(explainer, rows, question, counts=None):
    """The table's rows against the explanations that `explain` gives one by one."""
    chunk = ChunkToArrow(explainer, question, counts=counts)
    made = pickle.loads(cloudpickle.dumps(chunk))(rows)
    assert made.schema == CHUNK_SCHEMA
    for i, cells in enumerate(made.to_pylist()):
        try:
            e = explainer.explain(rows.iloc[[i]], **question)
        except Exception as error:
            assert (cells["error_kind"], cells["error_message"]) == (
                type(error).__name__,
                str(error),
            )
            assert cells["counts"] is None and cells["outcome"] is None
            continue
        frame = e.to_frame()
        assert cells["row"] == cells["id"] == i
        assert cells["keep_factors"] + cells["flip_factors"] == len(frame)
        assert [f["features"] for f in cells["factors"]] == [list(f) for f in frame["features"]]
        for column in COLUMNS:
            told = [f[column] for f in cells["factors"]]
            assert told == [None if x != x else x for x in frame[column].tolist()], column
        assert (cells["keep_necessity"], cells["flip_necessity"]) == (
            e.keep.necessity,
            e.flip.necessity,
        )
        back = explanation_from_cells(cells, chunk.run_constants)
        yield e, back
        if counts is None:
            assert back == e
            if e.complete:  # up to how long it took
                assert str(back).partition("Data of")[0] == str(e).partition("Data of")[0]


@settings(max_examples=examples(15), deadline=None)
@given(
    seed=st.integers(0, 10**6),
    kind=st.sampled_from(["function", "tree", "regression"]),
    d=st.integers(3, 6),
    alpha=st.sampled_from([None, 0.05, 0.5]),
    tau=st.sampled_from([0.3, 0.5, 0.9, 1.0]),
    groups=st.booleans(),
    missing=st.booleans(),
    references=st.sampled_from(["opposite", "all"]),
)
def test_everything_comes_back_as_it_was(seed, kind, d, alpha, tau, groups, missing, references):
    X = table(seed, d, missing=missing)
    explainer = Explainer(
        model(kind, X),
        X,
        outcome=at_least(0.7) if kind == "regression" else None,
        groups={"both": ["x0", "x2"]} if groups else None,
        references=references,
        n_references=20,
    )
    for e, back in check(explainer, X.iloc[:6], {"tau": tau, "alpha": alpha}):
        for other in (0.2, 0.75, 1.0):
            assert back.at(other).keep.factors == e.at(other).keep.factors
            assert back.at(other).flip.factors == e.at(other).flip.factors
        assert back.keep.curve == e.keep.curve


@pytest.mark.parametrize(
    "question",
    [
        {"alpha": 0.1, "adjust": "holm"},
        {"alpha": 0.1, "adjust": "bh"},
        {"alpha": 0.1, "adjust": "bonferroni"},
        {"max_size": 2},
        {"budget": 500, "search": "exhaustive"},
        {"search": "pruned"},
        {"search": "greedy", "max_size": 1},
    ],
    ids=str,
)
def test_searches_of_every_kind_come_back_too(question):
    X = table(3, 5)
    explainer = Explainer(model("tree", X), X, n_references=20)
    assert len(list(check(explainer, X.iloc[:4], {"tau": 0.8} | question))) == 4


def test_sizes_that_are_not_alike_likely_come_back_too():
    X = table(3, 4)
    explainer = Explainer(model("tree", X), X, n_references=20, size_weights=[1, 2, 3, 2, 1])
    assert len(list(check(explainer, X.iloc[:4], {"tau": 0.8}))) == 4


def test_a_causal_context_has_counts_of_its_own_for_flips():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.integers(0, 2, 60), "b": rng.integers(0, 2, 60)})
    X["c"] = X["a"] ^ (rng.random(60) < 0.2)
    scm = CausalModel([("a", "c")], X)
    explainer = Explainer(lambda r: r["b"] + r["c"] > 1, X, context=CausalContext(scm))
    chunk = ChunkToArrow(explainer, {})(X.iloc[:3])
    assert chunk["flip_counts"].null_count == 0
    assert len(list(check(explainer, X.iloc[:3], {"tau": 0.6}))) == 3


@pytest.mark.parametrize("question", [{}, {"alpha": 0.2}, {"max_size": 2}, {"search": "pruned"}])
def test_without_counts_the_answer_at_its_threshold_is_kept(question):
    X = table(5, 5)
    explainer = Explainer(model("tree", X), X, n_references=20)
    for e, back in check(explainer, X.iloc[:5], {"tau": 0.7} | question, counts=False):
        assert back.complete == e.complete
        for view, other in ((back.keep, e.keep), (back.flip, e.flip)):
            assert [(f.features, f.sufficiency, f.p_value, f.cost) for f in view] == [
                (f.features, f.sufficiency, f.p_value, f.cost) for f in other
            ]
            assert view.necessity == other.necessity
            assert view.necessity_interval == other.necessity_interval
        assert back.cheapest == e.cheapest
        assert str(back)
        # At another τ only what the stored sets show is listed, and nothing more is claimed.
        for known, true in (
            (back.at(0.5).keep, e.at(0.5).keep),
            (back.at(0.5).flip, e.at(0.5).flip),
        ):
            listed = {f.features for f in known}
            assert known.complete <= (listed == {f.features for f in true})
            assert all(true.sufficiency(features) >= 0.5 for features in listed)


@settings(max_examples=examples(60), deadline=None)
@given(
    seed=st.integers(0, 10**6),
    d=st.integers(1, 7),
    rows=st.integers(1, 5),
    tau=st.floats(0.01, 1.0),
    alpha=st.sampled_from([None, 0.05, 0.3]),
)
def test_both_views_of_many_rows_are_those_of_each(seed, d, rows, tau, alpha):
    rng = np.random.default_rng(seed)
    n = rng.integers(1, 30, rows)
    hits = (rng.random((rows, 1 << d)) * (n[:, None] + 1)).astype(np.int32)
    found = minimal_sets_of_rows(hits, n, tau, alpha)
    for i in range(rows):
        profile = Profile(Tally.of_dense(hits[i].astype(np.int64), int(n[i])), alpha)
        mine = found.rows == i
        told = zip(
            found.masks[mine].tolist(),
            found.hits[mine].tolist(),
            found.low[mine].tolist(),
            found.high[mine].tolist(),
            strict=True,
        )
        lattice = profile.tally.lattice
        wanted = [(lattice.mask(m.members), m.hits, m.low, m.high) for m in profile.minimal_at(tau)]
        assert list(told) == wanted
        assert (found.covered[i], found.outcome[i]) == profile.covered(tau)


def tree():
    X = table(1)
    numbers = X.drop(columns="x2")
    y = numbers["x0"] + numbers["x1"] > 2
    return Explainer(DecisionTreeClassifier(max_depth=3).fit(numbers, y), numbers), numbers


IDS = {
    "texts": [f"A{i}" for i in range(5)],
    "numbers": [10**12 + i for i in range(5)],
    "truths": [True, False, True, True, False],
    "dates": pd.to_datetime(["2020-01-31"] * 5) + pd.to_timedelta(range(5), unit="D"),
    "times in a zone": pd.date_range("2020-01-31 09:30", periods=5, freq="h", tz="Europe/Berlin"),
    "categories": pd.Categorical(list("abcab")),
    "decimals": [0.5, 1.5, 2.5, 3.5, 4.5],
    "some missing": ["A", None, "C", "D", None],
}


@pytest.mark.parametrize("ids", IDS.values(), ids=IDS.keys())
def test_ids_keep_their_type(ids):
    explainer, X = tree()
    rows = X.iloc[:5].assign(account=ids)
    chunk = ChunkToArrow(explainer, {}, "account")
    made = chunk(rows)
    back = made["id"].to_pandas()
    assert [None if x != x else x for x in back] == [
        None if x is None or x != x else x for x in rows["account"].astype(object)
    ]
    assert made.column("row").to_pylist() == [0, 1, 2, 3, 4]
    other = ChunkToArrow(explainer, {}, "account", id_type=made["id"].type)(rows.iloc[1:2], 1)
    assert other.equals(made.slice(1, 1).combine_chunks())


def test_ids_of_several_types_are_refused(tmp_path):
    explainer, X = tree()
    rows = X.iloc[:5].assign(account=[1, "b", 3, 4, 5])
    with pytest.raises(InputError, match="id: got 'account', whose values have several types"):
        explainer.explain_to(rows, tmp_path / "one", id="account")
    rows = X.iloc[:20].assign(account=[*range(15), *"abcde"])
    with pytest.raises(InputError, match="id: got 'account', whose values have several types"):
        explainer.explain_to(rows, tmp_path / "two", id="account")
    with pytest.raises(InputError, match=r"unknown column 'acount'.*Did you mean 'account'"):
        explainer.explain_to(rows, tmp_path / "three", id="acount")


def test_tables_of_every_library_give_the_same_chunk():
    explainer, X = tree()
    rows = X.iloc[:5].assign(account=list("abcde"))
    chunk = ChunkToArrow(explainer, {"tau": 0.7}, "account")
    made = chunk(rows)
    assert chunk(pa.Table.from_pandas(rows)).equals(made)
    assert chunk(pl.from_pandas(rows)).equals(made)


def test_spark_and_ray_are_served_by_the_same_object():
    explainer, X = tree()
    rows = X.iloc[:6].assign(account=list("abcdef"))
    chunk = pickle.loads(pickle.dumps(ChunkToArrow(explainer, {"tau": 0.7}, "account")))
    frames = list(chunk.pandas(iter([rows.iloc[:4], rows.iloc[4:]])))
    assert [list(frame["row"]) for frame in frames] == [[0, 1, 2, 3], [4, 5]]
    assert list(frames[1]["id"]) == ["e", "f"]
    assert chunk.batch(pa.Table.from_pandas(rows)).equals(chunk(rows))
    assert chunk.schema.names == CHUNK_SCHEMA.names
    # Ray does not number rows, so that without a column the ids would repeat in every batch.
    with pytest.raises(InputError, match=r"id_column: got None; .* would repeat in every batch"):
        ChunkToArrow(explainer, {"tau": 0.7}).batch(rows)


def test_a_row_s_fault_is_no_other_s():
    explainer, X = tree()
    rows = X.iloc[:4].astype(object)
    rows.loc[2, "x0"] = "many"
    made = ChunkToArrow(explainer, {})(rows, 10).to_pylist()
    assert [cells["error_kind"] for cells in made] == [None, None, "InputError", None]
    assert "'many' for column 'x0'" in made[2]["error_message"]
    assert made[2]["row"] == 12 and made[2]["factors"] is None

    def broken(rows):
        if (rows["x0"] == X["x0"].iloc[1]).all() and len(rows) == 1:
            raise RuntimeError("no such row")
        return rows["x0"] > 1

    made = ChunkToArrow(Explainer(broken, X), {})(X.iloc[1:2]).to_pylist()
    assert made[0]["error_kind"] == ModelError.__name__


def test_a_row_that_no_worker_could_explain_is_reported():
    explainer, X = tree()
    made = ChunkToArrow(explainer, {}).failed_rows(X.iloc[:1], 7, "killed", "the process ended")
    [cells] = made.to_pylist()
    assert (cells["row"], cells["error_kind"], cells["error_message"]) == (
        7,
        "killed",
        "the process ended",
    )


@given(st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text())
def test_a_prediction_of_any_type_comes_back(value):
    if isinstance(value, str) and any("\ud800" <= c <= "\udfff" for c in value):
        return
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return
    back = scalar_from_cells(*scalar_to_cells(value))
    assert (back, type(back)) == (value, type(value))


def test_nothing_depends_on_the_chunk():
    X = table(2)
    explainer = Explainer(model("tree", X), X, n_references=15)
    chunk = ChunkToArrow(explainer, {"tau": 0.6})
    whole = chunk(X.iloc[:12])
    parts = pa.concat_tables([chunk(X.iloc[a:b], a) for a, b in ((0, 1), (1, 7), (7, 12))])
    assert parts.combine_chunks().equals(whole.combine_chunks())


def test_a_linear_model_in_a_chunk_of_any_size_says_the_same():
    X = table(2, 6).drop(columns="x2")
    y = X.sum(axis=1) > 6
    explainer = Explainer(LogisticRegression().fit(X, y), X, n_references=15)
    chunk = ChunkToArrow(explainer, {})
    whole = chunk(X.iloc[:9])
    parts = pa.concat_tables([chunk(X.iloc[i : i + 1], i) for i in range(9)])
    assert parts.combine_chunks().equals(whole.combine_chunks())


def test_dates_among_the_features_come_back():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "since": pd.to_datetime("2020-01-01")
            + pd.to_timedelta(rng.integers(0, 900, 40), unit="D")
        }
    )
    X["n"] = rng.integers(0, 3, 40)
    explainer = Explainer(lambda r: (r["since"] > datetime(2021, 3, 1)) & (r["n"] > 0), X)
    assert len(list(check(explainer, X.iloc[:4], {}))) == 4
