"""Small worlds whose every answer can be counted: a model on a grid, an input, references."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from suffice.context.players import make_players
from suffice.context.swap import SwapHybrids
from suffice.evaluate import BlackBox, Choice, Evaluator
from suffice.factors.lattice import held_of_masks
from suffice.models import as_model
from suffice.tables.frames import as_table
from suffice.target import Target, event_for
from suffice.typing import Counts, Outcomes

__all__ = ["World", "draw_world"]

_VALUES = 3


@dataclass(frozen=True, eq=False)
class World:
    """A question about one decision, and what every set answers."""

    model: Any
    engine: str
    target: Target
    hybrids: SwapHybrids
    y: bool

    def evaluator(self, budget: int | None = None) -> Evaluator:
        """One that nothing was asked of yet."""
        names = self.hybrids.pool.names
        choice = Choice(self.engine, self.model, names)
        return choice.evaluator(self.target, self.hybrids, self.y, budget)

    @cached_property
    def outcomes(self) -> Outcomes:
        """(2^d, n): by bit mask of what is held, whether each hybrid has the input's outcome."""
        d = self.hybrids.d
        box = BlackBox(self.target, self.hybrids, self.y, distinct=False)
        return box.outcomes(held_of_masks(np.arange(1 << d), d))

    def hits(self, view: str) -> Counts:
        """By bit mask of what is held (flip: replaced): how many references keep (flip) it."""
        kept: Counts = self.outcomes.sum(axis=1)
        return kept if view == "keep" else self.hybrids.n - kept[::-1]

    def __str__(self) -> str:
        rows = np.asarray(self.hybrids.pool.native).tolist()
        return f"input {rows[0]}, references {rows[1:]}"


def draw_world(rng: np.random.Generator, engine: str) -> World:
    """A world of up to five features and eight references, in which both outcomes occur."""
    while True:
        d, n = int(rng.integers(2, 6)), int(rng.integers(1, 9))
        rows = rng.integers(_VALUES, size=(n + 1, d)).astype(float)
        model = _MODELS[engine](rng, d)
        table = as_table(rows)
        wrapped, answers = as_model(model, table)
        target = Target(wrapped, event_for(answers[0], wrapped, answers[0]))
        world = World(model, engine, target, SwapHybrids(table, make_players(table)), True)
        if not world.outcomes.all():
            return world


class _Grid:
    """Any function on the grid: a table of truth values."""

    classes_ = 0, 1

    def __init__(self, rng: np.random.Generator, d: int) -> None:
        self.truth = rng.integers(2, size=_VALUES**d)
        self.radix = _VALUES ** np.arange(d)

    def predict(self, rows: Any) -> Any:
        return self.truth[np.asarray(rows, dtype=np.int64) @ self.radix]


def _fitted(model: Any, rng: np.random.Generator, d: int) -> Any:
    rows = rng.integers(_VALUES, size=(60, d)).astype(float)
    labels = (rows @ rng.normal(size=d) + rng.normal(size=60) > 0).astype(int)
    labels[:2] = 0, 1
    return model.fit(rows, labels)


def _sum(rng: np.random.Generator, d: int) -> Any:
    from sklearn.linear_model import LogisticRegression

    return _fitted(LogisticRegression(), rng, d)


def _trees(rng: np.random.Generator, d: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return _fitted(RandomForestClassifier(5, random_state=int(rng.integers(1000))), rng, d)


_MODELS: dict[str, Any] = {"blackbox": _Grid, "additive": _sum, "trees": _trees}
