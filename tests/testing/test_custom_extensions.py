"""Two contexts written from what CONTRIBUTING says of contexts and nothing else.

In one, each replaced feature comes from a reference of its own, as if features had nothing to do with
each other. In the other, a total follows from its parts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from suffice import Explainer, Explanation
from suffice.context import Context
from suffice.engines import Unreadable, register_reader
from suffice.engines.trees.ensemble import Tree, join_trees, to_float_matrix
from suffice.testing import check_context, check_reader


@dataclass(frozen=True)
class Independent(Context):
    """Every replaced feature takes its value from a reference of its own."""

    careless: bool = False

    def bind(self, pool: Any, players: Any, seed: int) -> tuple[Any, Any]:
        hybrids = Shuffled(pool, players, seed, self.careless)
        return hybrids, hybrids

    def describe(self) -> str:
        return "each value from a reference of its own"


@dataclass(frozen=True, eq=False)
class Shuffled:
    pool: Any
    players: Any
    seed: int
    careless: bool

    @property
    def d(self) -> int:
        return len(self.players)

    @property
    def n(self) -> int:
        return len(self.pool) - 1

    def rows(self, held: Any, references: Any) -> Any:
        rng = np.random.default_rng(None if self.careless else self.seed)
        mixed = np.stack([1 + rng.permutation(self.n) for _ in range(self.d)], axis=1)
        by_player = np.where(held, 0, mixed[references])
        return self.pool.gather(by_player[:, self.players.of_column])

    def donors(self, held: Any) -> None:
        """The rows are made: no reference has all the values of one."""


@dataclass(frozen=True)
class Books(Context):
    """`total` is always the sum of `food` and `rent`, unless it is set itself."""

    is_causal = True

    def bind(self, pool: Any, players: Any, seed: int) -> tuple[Any, Any]:
        return Entries(pool, players, True), Entries(pool, players, False)

    def describe(self) -> str:
        return "a total follows from its parts"


@dataclass(frozen=True, eq=False)
class Entries:
    pool: Any
    players: Any
    keeps: bool

    @property
    def d(self) -> int:
        return len(self.players)

    @property
    def n(self) -> int:
        return len(self.pool) - 1

    def rows(self, held: Any, references: Any) -> Any:
        by_column = held[:, self.players.of_column]
        swapped = self.pool.splice(by_column, references + 1)
        food, rent, total = (self.pool.names.index(name) for name in ("food", "rent", "total"))
        set_itself = by_column[:, total] if self.keeps else ~by_column[:, total]
        sums = swapped.column(food) + swapped.column(rent)
        return swapped.with_columns({total: np.where(set_itself, swapped.column(total), sums)})

    def donors(self, held: Any) -> Any:
        return np.tile(np.arange(1, self.n + 1), (len(held), 1))


RNG = np.random.default_rng(0)
SPENT = pd.DataFrame({"food": RNG.integers(1, 9, 40), "rent": RNG.integers(1, 9, 40)})
SPENT["total"] = SPENT["food"] + SPENT["rent"]


def thrifty(rows: Any) -> Any:
    return np.where(np.asarray(rows["total"]) <= 9, "thrifty", "not")


@pytest.mark.parametrize("context", [Independent(), Books()], ids=lambda c: type(c).__name__)
def test_the_toys_keep_the_contract(context: Any) -> None:
    assert check_context(context, SPENT.iloc[:8], seed=4) >= 8 * 7
    assert check_context(context, SPENT.iloc[:8], groups={"parts": ["food", "rent"]})


def test_explanations_in_a_toy_context_count_its_hybrids() -> None:
    x = SPENT[SPENT["total"] <= 9].iloc[0]
    explainer = Explainer(thrifty, SPENT, context=Independent(), random_state=7)
    e = explainer.explain(x, tau=0.7)
    assert e.provenance.context.words == "each value from a reference of its own"
    assert e.keep.sufficiency(["total"]) == 1.0
    hybrids = explainer.decide(x).hybrids[0]
    for features in (["food"], ["food", "rent"], []):
        held = np.isin(SPENT.columns, features)
        rows = hybrids.rows(np.tile(held, (hybrids.n, 1)), np.arange(hybrids.n)).native
        assert e.keep.sufficiency(features) == (thrifty(rows) == "thrifty").mean()
    assert Explanation.from_json(e.to_json()) == e
    assert explainer.explain_many(SPENT.iloc[:2], tau=0.7)[0] == explainer.explain(
        SPENT.iloc[0], tau=0.7
    )


def test_what_follows_counts_where_a_context_is_causal() -> None:
    """The model reads the total alone, so with swapped values its parts could flip nothing."""
    x = SPENT[SPENT["total"] <= 9].iloc[0]
    plain = Explainer(thrifty, SPENT).explain(x)
    booked = Explainer(thrifty, SPENT, context=Books()).explain(x)
    assert plain.flip.sufficiency(["food", "rent"]) == 0.0
    assert booked.flip.sufficiency(["food", "rent"]) == 1.0
    assert booked.flip.sufficiency(["total"]) == 1.0
    found = [f.features for f in booked.flip]
    assert ("food", "rent") in found or ("rent",) in found or ("food",) in found


def test_a_toy_that_forgets_its_seed_is_found_out() -> None:
    with pytest.raises(AssertionError, match="the context gives other hybrids in another order"):
        check_context(Independent(careless=True), SPENT.iloc[:8])


def test_a_toy_whose_total_lags_behind_is_found_out() -> None:
    class Late(Books):
        def bind(self, pool: Any, players: Any, seed: int) -> tuple[Any, Any]:
            keep, flip = super().bind(pool, players, seed)
            return flip, keep

    with pytest.raises(AssertionError, match=r"in the keep view, holding .*has not the input's"):
        check_context(Late(), SPENT.iloc[:8])
    unsaid = type("Unsaid", (Books,), {"is_causal": False})
    with pytest.raises(AssertionError, match=r"'total' is replaced and has not the donor's value"):
        check_context(unsaid(), SPENT.iloc[:8])
    assert replace(Independent(), careless=False) == Independent()


# A reader of a made-up model, written from what CONTRIBUTING says of readers and nothing else.


class Stumps:
    """Adds up the weights of the stumps that a row passes; above zero it is approved."""

    classes_ = "declined", "approved"

    def __init__(self, stumps: list[tuple[int, float, float, float]]) -> None:
        self.stumps = stumps
        """Of each: the column, the threshold, the weight below it, the weight from it on."""
        self.asked = 0

    def score(self, rows: Any) -> Any:
        values = np.asarray(rows, dtype=float)
        parts = [np.where(values[:, j] < at, low, high) for j, at, low, high in self.stumps]
        return np.sum(parts, axis=0)

    def predict(self, rows: Any) -> Any:
        self.asked += len(rows)
        return np.where(self.score(rows) > 0, "approved", "declined")


def read_stumps(model: Any) -> Any:
    if not model.stumps:
        raise Unreadable("a model of no stumps decides nothing")
    trees = [
        Tree(
            left=np.array([1, -1, -1]),
            right=np.array([2, -1, -1]),
            column=np.array([column, 0, 0]),
            # It compares with <, so a row goes left up to the next smaller number.
            threshold=np.array([np.nextafter(at, -np.inf), 0.0, 0.0]),
            missing_left=np.zeros(3, dtype=bool),  # nothing is below a threshold if it is missing
            values=np.array([[0.0], [low], [high]]),
        )
        for column, at, low, high in model.stumps
    ]
    return join_trees(trees, to_float_matrix, base=np.zeros(1), classes=model.classes_)


register_reader(Stumps, trees=read_stumps)

ROWS = pd.DataFrame(np.random.default_rng(1).normal(size=(30, 4)), columns=list("abcd"))
ROWS.iloc[3, 2] = np.nan
MODEL = Stumps([(0, 0.0, -1.0, 1.0), (1, 0.3, 0.5, -0.5), (2, -0.2, -0.7, 0.4), (0, 1.0, 0.1, 0.1)])


def test_the_toy_reader_keeps_the_contract() -> None:
    assert check_reader(MODEL, ROWS, engine="trees", outcomes=[None, "approved", "declined"])


def test_ties_are_the_models_own() -> None:
    """Weights that add up to exactly nothing: the model declines, and so does what is read."""
    even = Stumps([(0, 0.0, -1.0, 1.0), (1, 0.0, -1.0, 1.0)])
    assert (even.score(ROWS) == 0).any()
    assert check_reader(even, ROWS, engine="trees")


def test_it_explains_as_the_black_box_does_and_predicts_next_to_nothing() -> None:
    rows = pd.concat([ROWS] * 10, ignore_index=True)
    by_trees = Explainer(MODEL, rows, engine="trees").explain(ROWS.iloc[0], tau=0.8)
    MODEL.asked = 0
    again = Explainer(MODEL, rows, engine="trees").explain(ROWS.iloc[0], tau=0.8)
    few, MODEL.asked = MODEL.asked - len(rows), 0
    asked = Explainer(MODEL, rows, engine="blackbox").explain(ROWS.iloc[0], tau=0.8)
    assert by_trees.provenance.evaluator == "trees" and again == by_trees
    assert [f.features for f in by_trees.keep] == [f.features for f in asked.keep]
    assert by_trees.flip.tally.dense.tolist() == asked.flip.tally.dense.tolist()
    assert few < MODEL.asked - len(rows)


def test_what_the_reader_does_not_know_is_left_to_the_black_box() -> None:
    class Louder(Stumps):
        def predict(self, rows: Any) -> Any:
            return np.where(self.score(rows) > 0.3, "approved", "declined")

    louder = Explainer(Louder(MODEL.stumps), ROWS).explain(ROWS.iloc[0])
    assert louder.provenance.evaluator == "blackbox"
    assert "Louder is not a tree model that suffice can read" in str(louder.provenance.note)
    silent = Explainer(lambda rows: MODEL.score(rows) > 0, ROWS).explain(ROWS.iloc[0])
    assert silent.provenance.evaluator == "blackbox"


def test_a_reader_with_the_wrong_side_of_a_threshold_is_found_out() -> None:
    """Read with <= where the model says <: only a row on the threshold tells."""

    class Careless(Stumps): ...

    def read(model: Any) -> Any:
        right = read_stumps(model)
        right.tests.threshold[:] = np.nextafter(right.tests.threshold, np.inf)
        return right

    register_reader(Careless, trees=read)
    with pytest.raises(AssertionError, match=r"is read to (have|lack) the input's|given up"):
        check_reader(Careless(MODEL.stumps), ROWS, engine="trees")


def test_a_reader_that_gives_no_trees_is_reported() -> None:
    class Odd(Stumps): ...

    register_reader(Odd, trees=lambda model: [1, 2])
    with pytest.raises(AssertionError, match=r"the reader of Odd gives \[1, 2\], no Ensemble"):
        check_reader(Odd(MODEL.stumps), ROWS, engine="trees")
