"""A reader of a made-up model, written from what CONTRIBUTING says of readers and nothing else.

The model: a few stumps vote, each with a weight; it compares with <, in float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from suffice import Explainer
from suffice.evaluate import Unreadable, register_reader
from suffice.evaluate.trees.reading import Tree, join_trees, numbers
from suffice.testing import check_reader


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
    return join_trees(trees, numbers, base=np.zeros(1), classes=model.classes_)


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


def test_it_explains_as_the_black_box_does_and_asks_next_to_nothing() -> None:
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


def test_a_reader_that_gives_no_trees_is_told_so() -> None:
    class Odd(Stumps): ...

    register_reader(Odd, trees=lambda model: [1, 2])
    with pytest.raises(AssertionError, match=r"the reader of Odd gives \[1, 2\], no Ensemble"):
        check_reader(Odd(MODEL.stumps), ROWS, engine="trees")
