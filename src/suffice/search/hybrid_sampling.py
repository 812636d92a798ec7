"""Random sampling of hybrids from D, to estimate necessity where not every set is counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from suffice.randomness import Stream, generator
from suffice.search.limits import LimitKeeper
from suffice.search.question import Question
from suffice.typing import BoolVector, Counts, HeldSets

SAMPLE_SIZE = 1024
"""Hybrids drawn to estimate necessity: an interval of about ±0.03."""


@dataclass(frozen=True, eq=False)
class HybridSample:
    """Hybrids drawn at random from D, to estimate what a bounded sweep cannot count."""

    held: HeldSets
    outcomes: BoolVector
    references: Counts | None = None
    """Number of the reference of each hybrid; None where it was not stored."""


OutcomesOf = Callable[[HeldSets, Counts], BoolVector]
"""Returns the outcomes of single hybrids in their order, up to the first that a limit forbids."""


def sample_size(keeper: LimitKeeper) -> int:
    """Return how many hybrids to draw: a tenth of the rows that are left, at most."""
    left = keeper.rows_left
    return SAMPLE_SIZE if left is None else min(SAMPLE_SIZE, left // 10)


def sample_hybrids(
    outcomes_of: OutcomesOf, d: int, n_references: int, question: Question, count: int
) -> HybridSample | None:
    """Draw hybrids with references and evaluate them; None if a limit allows none."""
    if not count:
        return None
    held, references = draw_hybrids(d, n_references, question.seed, count, question.size_weights)
    outcomes = outcomes_of(held, references)
    n = len(outcomes)
    return HybridSample(held[:n], outcomes, references[:n]) if n else None


def draw_hybrids(
    d: int, n: int, seed: int, count: int, weights: Sequence[float] | None
) -> tuple[HeldSets, Counts]:
    """Return a seeded sample of D: S as D draws it, r uniform over the references."""
    rng = generator(seed, Stream.NECESSITY)
    if weights is None:
        held = rng.random((count, d)) < 0.5
    else:
        sizes = rng.choice(d + 1, size=count, p=np.array(weights) / np.sum(weights))
        held = rng.random((count, d)).argsort(axis=1).argsort(axis=1) < sizes[:, None]
    return held, rng.integers(n, size=count)
