"""Groups of correlated columns."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from suffice import InputError
from suffice.context import make_players
from suffice.context.players import association_matrix, auto_groups
from suffice.tables import as_table


def blocks(seed=0, n=400):
    """Three numbers that go together, two categories, a number with a category, and the rest."""
    rng = np.random.default_rng(seed)
    base = rng.normal(size=n)
    colour = rng.choice(["red", "green", "blue"], size=n)
    kind = rng.choice(["a", "b"], size=n)
    return pd.DataFrame(
        {
            "income": base,
            "age": rng.normal(size=n),
            "debt": -np.exp(base + rng.normal(size=n) / 10),
            "colour": colour,
            "spent": base**3,
            "shade": np.where(colour == "red", "warm", "cold"),
            "constant": 1.0,
            "kind": kind,
            "size": (kind == "a") * 5 + rng.random(n),
            "id": [f"row {i}" for i in range(n)],
        }
    )


PLANTED = {
    "income + debt … +1": ["income", "debt", "spent"],
    "colour + shade": ["colour", "shade"],
    "kind + size": ["kind", "size"],
}


def test_planted_blocks_are_recovered():
    table = as_table(blocks())
    groups = auto_groups(table)
    assert groups == PLANTED
    players = make_players(table, groups)
    assert set(players.names) == {*PLANTED, "age", "constant", "id"}


@given(st.integers(0, 1000))
def test_the_order_of_rows_does_not_matter(seed):
    frame = blocks(n=60)
    shuffled = frame.sample(frac=1, random_state=seed)
    assert (association_matrix(as_table(frame)) == association_matrix(as_table(shuffled))).all()


def test_missing_values_are_left_out_pair_by_pair():
    frame = blocks()
    holes = np.random.default_rng(1).random(frame.shape) < 0.2
    assert auto_groups(as_table(frame.mask(holes))) == PLANTED
    nullable = frame.mask(holes).convert_dtypes()
    assert auto_groups(as_table(nullable)) == PLANTED
    frame["age"] = np.nan
    frame["kind"] = None
    with_gaps = auto_groups(as_table(frame))
    assert with_gaps == {k: v for k, v in PLANTED.items() if k != "kind + size"}


def test_spearman_is_the_usual_one():
    rng = np.random.default_rng(2)
    data = rng.integers(0, 5, size=(50, 4)).astype(float)
    usual = pd.DataFrame(data).corr(method="spearman").abs().to_numpy()
    np.testing.assert_allclose(association_matrix(as_table(data)), usual, atol=1e-8)


def test_booleans_and_dates_are_ordered():
    days = pd.date_range("2024-01-01", periods=40)
    frame = pd.DataFrame({"day": days, "late": np.arange(40) >= 20, "n": np.arange(40)})
    assert auto_groups(as_table(frame)) == {"day + late … +1": ["day", "late", "n"]}


def test_numbers_kept_as_objects_are_numbers():
    rows = [[1, "a", 9.0], [2, "b", 6.5], [None, "a", 5], [4, "b", 2.0], [5, "a", 1]]
    table = as_table(np.array(rows, dtype=object), names=["up", "label", "down"])
    assert auto_groups(table) == {"up + down": ["up", "down"]}


def test_names_stay_distinct():
    numbers = np.arange(10.0)
    noise = np.random.default_rng(0).random(10)
    frame = pd.DataFrame({"a": numbers, "b": numbers, "a + b": noise})
    assert auto_groups(as_table(frame)) == {"a + b (group)": ["a", "b"]}


def test_a_single_column_has_nothing_to_join():
    assert auto_groups(as_table([[1.0], [2.0]])) == {}


@pytest.mark.parametrize("threshold", [0, 1.5, "high"])
def test_a_threshold_that_cannot_be_meant(threshold):
    with pytest.raises(InputError, match="threshold"):
        auto_groups(as_table([[1.0, 2.0]]), threshold)
