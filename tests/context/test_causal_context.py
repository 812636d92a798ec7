"""Hybrids whose effects follow: the causal contexts, keep and flip."""

from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

from suffice import InputError
from suffice.context import SwapHybrids, make_players
from suffice.context.causal import CausalContext, CausalModel, additive
from suffice.datasets import german_credit
from suffice.randomness import Stream, generator
from suffice.tables import as_table
from tests.context.causal_cases import fitted_causal_model, people, random_models
from tests.effort import examples

PEOPLE = people()


def bound(scm, data, n=12, groups=None, noise="sampled", seed=0):
    pool = as_table(data).take(np.arange(n + 1))
    return CausalContext(scm, noise=noise).bind(pool, make_players(pool, groups), seed)


def asked(d, n, rows=80, seed=0):
    rng = np.random.default_rng(seed)
    return rng.random((rows, d)) < 0.5, rng.integers(n, size=rows)


def frame(table):
    return table.native.reset_index(drop=True)


@given(random_models(), st.integers(0, 5), st.sampled_from(["kept", "sampled"]))
@settings(max_examples=examples(40))
def test_only_what_is_moved_and_its_effects_differ_from_where_the_row_started(world, seed, noise):
    scm, data = world
    keep, flip = bound(scm, data, noise=noise, seed=seed)
    held, references = asked(keep.d, keep.n, seed=seed)
    names = keep.pool.names
    reference_rows = data.iloc[references + 1].reset_index(drop=True)
    input_rows = data.iloc[np.zeros(len(held), int)].reset_index(drop=True)
    for view, start, other, moved in (
        (keep, reference_rows, input_rows, held),
        (flip, input_rows, reference_rows, ~held),
    ):
        out = frame(view.rows(held, references))
        assert (out.dtypes == data.dtypes).all()
        for j, node in enumerate(names):
            causes = [names.index(a) for a in scm.ancestors(node)]
            reached = moved[:, causes].any(axis=1)
            assert (out[node] == other[node])[moved[:, j]].all()
            assert (out[node] == start[node])[~moved[:, j] & ~reached].all()


@given(random_models(), st.integers(0, 5), st.sampled_from(["kept", "sampled"]))
@settings(max_examples=examples(30))
def test_a_row_is_the_same_in_any_batch_and_order(world, seed, noise):
    scm, data = world
    for view in bound(scm, data, noise=noise, seed=seed):
        held, references = asked(view.d, view.n, seed=seed)
        whole = frame(view.rows(held, references))
        order = np.random.default_rng(seed).permutation(len(held))
        parts = [frame(view.rows(held[i], references[i])) for i in np.array_split(order, 3)]
        pd.testing.assert_frame_equal(
            pd.concat(parts, ignore_index=True),
            whole.iloc[order].reset_index(drop=True),
            check_exact=True,
        )


@pytest.mark.parametrize("noise", ["kept", "sampled"])
@pytest.mark.parametrize("groups", [None, {"work": ["job", "income"]}])
def test_without_edges_it_is_the_swap_context(noise, groups):
    scm = CausalModel({name: [] for name in PEOPLE}, PEOPLE)
    keep, flip = bound(scm, PEOPLE, groups=groups, noise=noise)
    swap = SwapHybrids(keep.pool, keep.players)
    held, references = asked(swap.d, swap.n)
    expected = frame(swap.rows(held, references))
    for view in (keep, flip):
        assert (view.d, view.n) == (swap.d, swap.n)
        out = frame(view.rows(held, references))
        pd.testing.assert_frame_equal(out, expected, check_exact=True)


def test_an_effect_of_the_input_follows_a_reference_and_the_other_way_round():
    scm = CausalModel(
        [("x", "m"), ("m", "y")],
        mechanisms={
            "x": lambda n, rng: rng.normal(size=n),
            "m": additive(lambda x: 2 * x, std=1),
            "y": additive(lambda m: -m, std=1),
        },
    )
    data = scm.sample(6, random_state=5).assign(other=range(6))
    keep, flip = bound(scm, data, n=5, noise="kept")
    held = np.tile([[True, False, False, False]], (5, 1))  # x alone
    references = np.arange(5)
    start, first = data.iloc[1:].reset_index(drop=True), data.iloc[0]
    out = frame(keep.rows(held, references))
    assert np.allclose(out.m, start.m + 2 * (first.x - start.x))
    assert np.allclose(out.y, start.y - 2 * (first.x - start.x))
    assert (out.other == start.other).all()
    out = frame(flip.rows(~held, references))
    assert np.allclose(out.m, first.m + 2 * (start.x - first.x))
    assert np.allclose(out.y, first.y - 2 * (start.x - first.x))
    assert (out.other == first.other).all()
    # The same as the model's own counterfactual.
    inputs = data.iloc[[0] * 5].reset_index(drop=True)
    expected = scm.counterfactual(inputs, {"x": start.x})
    assert np.allclose(out[["x", "m", "y"]], expected[["x", "m", "y"]])


def test_sampled_noise_is_drawn_once_per_reference():
    scm = CausalModel(
        [("x", "y")], mechanisms={"x": {0.0: 0.5, 1.0: 0.5}, "y": additive(lambda x: x, std=1.0)}
    )
    data = scm.sample(30, random_state=2)
    keep, flip = bound(scm, data, n=20)
    held = np.array([[True, False]] * 20)
    out = frame(keep.rows(held, np.arange(20)))
    scm_noise = scm.draw(20, generator(0, Stream.NOISE))["y"]
    assert np.allclose(out.y, data.x[0] + scm_noise)
    flipped = frame(flip.rows(~held, np.arange(20)))
    assert np.allclose(flipped.y, data.x[1:21] + scm_noise)
    other, _ = bound(scm, data, n=20, seed=1)
    assert not np.allclose(frame(other.rows(held, np.arange(20))).y, out.y)


def test_kept_noise_moves_nothing_where_nothing_changes():
    """A reference that is the input again: every hybrid is the input, however it is made."""
    scm = fitted_causal_model(PEOPLE)
    same = pd.concat([PEOPLE.head(1)] * 9, ignore_index=True)
    held, references = asked(5, 8)
    for view in bound(scm, same, n=8, noise="kept"):
        out = frame(view.rows(held, references))
        pd.testing.assert_frame_equal(out, pd.concat([PEOPLE.head(1)] * 80, ignore_index=True))
    out = frame(bound(scm, same, n=8)[0].rows(held, references))
    assert out.nunique()[["age", "sex"]].tolist() == [1, 1] and out.income.nunique() > 1


def test_groups_move_together():
    scm = fitted_causal_model(PEOPLE)
    keep, _ = bound(scm, PEOPLE, groups={"who": ["age", "sex"], "money": ["income", "owns"]})
    assert keep.players.names == ("who", "job", "money")
    held = np.array([[True, False, True]] * 12)
    out = frame(keep.rows(held, np.arange(12)))
    assert (
        (out[["age", "sex", "income", "owns"]] == PEOPLE[["age", "sex", "income", "owns"]].iloc[0])
        .all()
        .all()
    )
    assert (out.job != PEOPLE.job.iloc[1:13].reset_index(drop=True)).any()


@pytest.mark.parametrize("convert", [pl.from_pandas, lambda d: pl.from_pandas(d).to_arrow()])
def test_every_kind_of_frame(convert):
    scm = fitted_causal_model(PEOPLE)
    held, references = asked(5, 12)
    for ours, theirs in zip(bound(scm, PEOPLE), bound(scm, convert(PEOPLE)), strict=True):
        expected = pl.from_pandas(frame(ours.rows(held, references)))
        assert pl.DataFrame(theirs.rows(held, references).native).equals(expected)


def test_categories_are_compared_as_labels():
    scm = fitted_causal_model(PEOPLE)
    typed = PEOPLE.assign(
        job=PEOPLE.job.astype("category"),
        sex=PEOPLE.sex.astype("category"),
        owns=PEOPLE.owns.astype("boolean"),
    )
    held, references = asked(5, 12)
    for ours, theirs in zip(bound(scm, PEOPLE), bound(scm, typed), strict=True):
        out = frame(theirs.rows(held, references))
        assert (out.dtypes == typed.dtypes).all()
        assert (out.astype(str) == frame(ours.rows(held, references)).astype(str)).all().all()


def test_arrays_of_numbers():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 2)) @ [[1.0, 0.5], [0.0, 1.0]]
    scm = CausalModel([("x0", "x1")], as_table(x))
    keep, _ = bound(scm, x)
    out = keep.rows(*asked(2, 12)).native
    assert out.dtype == x.dtype and out.shape == (80, 2)


def test_a_label_that_the_model_makes_must_fit_the_table():
    narrow = PEOPLE[PEOPLE.job != "farm"].head(13).assign(job=lambda d: d.job.astype("category"))
    keep, _ = bound(fitted_causal_model(PEOPLE), narrow)
    held, references = asked(5, 12)
    with pytest.raises(InputError, match="'farm' for column 'job'; allowed: one of its categories"):
        keep.rows(held, references)


def test_numbers_too_large_for_a_mechanism_are_reported():
    scm = CausalModel([("age", "income")], PEOPLE)
    steep = PEOPLE.assign(age=PEOPLE.age * 1e305)
    keep, _ = bound(
        CausalModel([("age", "income")], mechanisms={"age": [1.0], "income": steeply}), steep
    )
    with pytest.raises(InputError, match=r"mechanisms\['income'\]: got a mechanism that gave inf"):
        keep.rows(np.array([[True] + [False] * 4]), np.array([0]))
    assert "income ← age" in repr(CausalContext(scm)) and "noise='sampled'" in repr(
        CausalContext(scm)
    )


def steeply(age):
    return age * 1e9


def test_what_a_context_cannot_be_made_of():
    scm = fitted_causal_model(PEOPLE)
    with pytest.raises(InputError, match="node 'job' of the DAG, which is no column of the data"):
        bound(scm, PEOPLE.drop(columns="job"))
    with pytest.raises(InputError, match="context: got sex = 'x'; allowed: a category seen"):
        bound(scm, PEOPLE.assign(sex="x"))
    with pytest.raises(InputError, match="context: got a missing value for 'income'"):
        bound(scm, PEOPLE.assign(income=np.nan))
    with pytest.raises(InputError, match="context: got income = inf; allowed: a finite number"):
        bound(scm, PEOPLE.assign(income=np.inf))
    with pytest.raises(InputError, match="noise: got 'fresh'"):
        CausalContext(scm, noise="fresh")
    with pytest.raises(InputError, match="scm: got 3; allowed: a CausalModel"):
        CausalContext(3)


GERMAN = [
    ("Age", "Job"), ("Age", "Savings"), ("Age", "Credit"), ("Age", "Purpose"),
    ("Sex", "Job"), ("Sex", "Savings"),
    ("Job", "Savings"), ("Job", "Checking"), ("Job", "Housing"), ("Job", "Credit"),
    ("Savings", "Checking"), ("Savings", "Duration"), ("Savings", "Housing"),
    ("Housing", "Credit"), ("Housing", "Purpose"),
    ("Credit", "Duration"), ("Credit", "Purpose"), ("Duration", "Purpose"),
]  # fmt: skip
"""The DAG of the paper's Sect. 5."""


LABELS = ["Sex", "Job", "Housing", "Savings", "Checking", "Purpose"]


@cache
def german(data_home):
    X, _ = german_credit(data_home)
    return CausalModel(GERMAN, X, fit="paper", categorical=LABELS), X


@pytest.mark.parametrize("noise", ["kept", "sampled"])
def test_german_credit_all_subsets_of_all_references(data_home, noise):
    scm, X = german(data_home)
    keep, flip = bound(scm, X, n=40, noise=noise)
    held = ((np.arange(512)[:, None] >> np.arange(9)) & 1).astype(bool)
    held, references = np.repeat(held, 40, axis=0), np.tile(np.arange(40), 512)
    tables = [view.rows(held, references) for view in (keep, flip)]
    for table in tables:
        out = frame(table)
        assert (out.dtypes == X.dtypes).all() and len(out) == 20_480
        for name in LABELS:
            assert set(out[name]) <= set(X[name])
    # A root has no causes: it only ever is the input's or the reference's.
    sex = frame(tables[1])["Sex"].to_numpy()
    position = keep.players.names.index("Sex")
    expected = np.where(held[:, position], X.Sex[0], X.Sex.to_numpy()[references + 1])
    assert (sex == expected).all()


def test_columns_are_written_in_the_dtype_they_have():
    wide = as_table(
        pd.DataFrame(
            {
                "small": np.array([1, 2], dtype="uint8"),
                "half": np.array([1, 2], dtype="float32"),
                "truth": [True, False],
                "maybe": pd.array([1, None], dtype="Int64"),
                "text": ["a", "b"],
                "mixed": np.array(["a", 1], dtype=object),
                "kind": pd.Categorical(["a", "b"], categories=["b", "a", "c"], ordered=True),
            }
        )
    )
    columns = {
        "small": np.array([2.6, 255.4]),
        "half": np.array([0.5, 0.25]),
        "truth": np.array([0, 1]),
        "maybe": np.array([2.2, 3.0]),
        "text": np.array(["long", "b"], dtype=object),
        "mixed": np.array([2, "b"], dtype=object),
        "kind": np.array(["c", "c"], dtype=object),
    }
    out = wide.with_columns({j: columns[name] for j, name in enumerate(wide.names)})
    assert (out.native.dtypes == wide.native.dtypes).all()
    assert out.native.small.tolist() == [3, 255] and out.native.maybe.tolist() == [2, 3]
    assert out.native.truth.tolist() == [False, True] and out.native.kind.tolist() == ["c", "c"]
    assert wide.native.small.tolist() == [1, 2]
    misfits = {"small": 256.0, "truth": 2, "maybe": np.inf, "kind": "d", "half": "x", "text": 3}
    for name, value in misfits.items():
        fits = "one of its categories: 'b', 'a', 'c'" if name == "kind" else "a value that fits"
        with pytest.raises(InputError, match=f"for column '{name}'; allowed: {fits}"):
            wide.with_columns(
                {
                    wide.names.index(name): np.array(
                        [value, value], dtype=object if isinstance(value, str) else None
                    )
                }
            )


@pytest.mark.parametrize("arrow", [False, True])
def test_columns_of_other_frames_and_of_arrays(arrow):
    given = pl.DataFrame({"n": [1, 2], "k": ["a", "b"], "t": [True, False], "f": [0.5, 1.5]})
    table = as_table(given.to_arrow() if arrow else given)
    out = table.with_columns(
        {
            0: np.array([2.6, 1.0]),
            1: np.array(["c", "d"], dtype=object),
            2: np.array([0, 1]),
            3: np.array([1, 2]),
        }
    )
    assert [out.dtype(j) for j in range(4)] == [table.dtype(j) for j in range(4)]
    assert pl.DataFrame(out.native).rows() == [(3, "c", False, 1.0), (1, "d", True, 2.0)]
    with pytest.raises(InputError, match="'x' for column 'n'"):
        table.with_columns({0: np.array(["x", "y"], dtype=object)})
    array = as_table(np.array([["a", "b"]]))
    assert array.with_columns({0: np.array(["c"], dtype=object)}).native.tolist() == [["c", "b"]]
    with pytest.raises(InputError, match="'long' for column 'x0'"):
        array.with_columns({0: np.array(["long"], dtype=object)})
