"""Cases that tests put to engines: a model, an outcome, an input and its references."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from suffice.context import SwapHybrids, make_players
from suffice.engines import BlackBox, Evaluator, LatticeEvaluator
from suffice.engines.additive_engine import AdditiveEngine
from suffice.engines.additive_model import read_additive
from suffice.engines.select_engine import Unreadable
from suffice.engines.trees import Ensemble, TreeEngine, TreeModel, read_trees
from suffice.factors.lattice import held_of_masks
from suffice.models import wrap_model
from suffice.tables import as_table
from suffice.target import Target, event_for

KERNELS = ["numpy", "numba"]


class Case:
    """A model, an outcome, and rows of which the first is the input and the rest references."""

    def __init__(self, model: Any, rows: Any, outcome: Any = None, groups: Any = None) -> None:
        table = as_table(rows)
        wrapped, answers = wrap_model(model, table)
        self.model = model
        self.target = Target(wrapped, event_for(outcome, wrapped, answers[0]))
        self.hybrids = SwapHybrids(table, make_players(table, groups))
        self.y = bool(self.target(table.take(np.array([0])))[0])

    @property
    def held(self) -> np.ndarray:
        """Every set, in the order of bit masks."""
        d = self.hybrids.d
        return held_of_masks(np.arange(1 << d), d)

    def box(self) -> BlackBox:
        return BlackBox(self.target, self.hybrids, self.y, distinct=False)

    def truth(self) -> np.ndarray:
        """The outcome of every hybrid, as the model gives it."""
        return self.box().outcomes(self.held)

    def trees(self, kernel: Any = None, read: Ensemble | None = None) -> TreeEngine:
        read = read or read_trees(self.model, self.hybrids.pool.names)
        return TreeEngine(TreeModel(read), self.target, self.hybrids, self.y, kernel)

    def additive(self) -> AdditiveEngine:
        read = read_additive(self.model, self.hybrids.pool.names)
        return AdditiveEngine(read, self.target, self.hybrids, self.y)


def unreadable_reason(case: Case, engine: str) -> str:
    """Why an engine, "trees" or "additive", does not serve."""
    with pytest.raises(Unreadable) as refused:
        case.trees() if engine == "trees" else case.additive()
    return str(refused.value)


def sweep_outcomes(engine: LatticeEvaluator) -> np.ndarray:
    """(subsets, references): a sweep's outcomes, put together and checked against its counts."""
    assert isinstance(engine, LatticeEvaluator)
    parts, at = [], 0
    counted = np.concatenate([hits for _, hits in engine.sweep_counts()])
    for start, hits, bits in engine.sweep():
        assert start == at
        at += len(hits)
        np.testing.assert_array_equal(counted[start:at], hits)
        assert bits.shape[1] == (engine.n + 7) // 8
        parts.append(np.unpackbits(bits, axis=1, count=engine.n).astype(bool))
        np.testing.assert_array_equal(parts[-1].sum(axis=1), hits)
        np.testing.assert_array_equal(np.packbits(parts[-1], axis=1), bits)
    return np.concatenate(parts)


def check_trees(case: Case, kernel: Any = "numpy") -> TreeEngine:
    """All three ways of asking the tree engine give the black box's outcomes; gives the engine."""
    if kernel == "numba":
        pytest.importorskip("numba")
    engine, truth = case.trees(kernel), case.truth()
    np.testing.assert_array_equal(sweep_outcomes(engine), truth)
    other = case.trees(kernel)
    if other._lattice.can_list:  # as larger or smaller trees are swept
        other._lattice.by_lists = not other._lattice.by_lists
        np.testing.assert_array_equal(sweep_outcomes(other), truth)
    check_lists(engine, case.held, truth)
    assert engine.note is None
    return engine


def check_lists(engine: Evaluator, held: np.ndarray, truth: np.ndarray) -> None:
    """A list of subsets and single hybrids have the outcomes that they should."""
    np.testing.assert_array_equal(engine.outcomes(held), truth)
    rng = np.random.default_rng(1)
    subset, reference = (rng.integers(size, size=150) for size in truth.shape)
    asked = engine.outcomes_of_hybrids(held[subset], reference)
    np.testing.assert_array_equal(asked, truth[subset, reference])


def tree_data(n: int = 120, d: int = 5, seed: int = 0, missing: bool = False) -> Any:
    """Rows with many equal values, two classes, three classes, and a number."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).round(1)
    X[:, 1] = rng.integers(3, size=n)
    score = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n)
    if missing:
        X[rng.random(X.shape) < 0.15] = np.nan
    three = np.digitize(score, [-0.5, 1.0])
    return X, (score > 0).astype(int), three, 10 * score


def mixed_data(n: int = 200, seed: int = 0) -> Any:
    """A frame of numbers and of categories as texts, some missing; two, three classes, a number."""
    rng = np.random.default_rng(seed)
    kind = rng.choice(list("stuvwxyz"), n).astype(object)
    rows = pd.DataFrame(
        {
            "a": rng.normal(size=n).round(1),
            "kind": kind,
            "home": rng.choice(["own", "rent"], n),
            "b": rng.normal(size=n).round(1),
        }
    )
    score = rows["a"] * np.where(np.isin(kind, list("tvx")), 2, -1) + rng.normal(size=n)
    score += np.where(rows["home"] == "own", 1.0, rows["b"])
    rows.loc[rng.random(n) < 0.1, "a"] = np.nan
    return rows, (score > 0).astype(int), np.digitize(score, [-0.5, 1.0]), 10 * score.to_numpy()


def check_additive(
    model: Any, rows: Any, outcome: Any = None, groups: Any = None
) -> AdditiveEngine:
    """All three ways of asking the additive engine give the black box's outcomes."""
    case = Case(model, rows, outcome, groups)
    engine, truth = case.additive(), case.truth()
    np.testing.assert_array_equal(sweep_outcomes(engine), truth)
    check_lists(engine, case.held, truth)
    assert engine.note is None
    return engine


def linear_data(d: int = 5, n: int = 70, classes: int = 2, seed: int = 0) -> tuple[Any, Any]:
    """Rows of reals, and classes that a sum of them tells nearly."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + 1, d)) * 3
    score = X @ rng.normal(size=d) + rng.normal(size=n + 1)
    return X, np.digitize(score, np.quantile(score, np.arange(1, classes) / classes))
