"""Bounds on additive margins over a cube of the lattice: exact, reference by reference.

A margin is start + Σ_{j held} delta. Over all sets that hold some players and free some others, it
is largest with those undecided players held whose delta is positive, and smallest with the rest:
both are margins of hybrids in the cube, summed like any other, so the slack holds for them too. One
margin's extremes are thus exact up to rounding; of several, each bounds what all of them say.
"""

from __future__ import annotations

import numpy as np

from suffice.evaluate.additive.scores import Margins
from suffice.typing import Held, Outcomes, Reals

__all__ = ["bound_cubes", "leverage"]


def bound_cubes(margins: Margins, held: Held, freed: Held) -> tuple[Outcomes, Outcomes]:
    """(cubes, references): does the event surely hold, and may it?"""
    chosen, undecided = held.astype(np.float64), (~(held | freed)).astype(np.float64)
    surely = np.ones((len(held), margins.starts.shape[1]), dtype=bool)
    may = np.ones_like(surely)
    for start, delta, slack in zip(margins.starts, margins.deltas, margins.slack, strict=True):
        fixed = chosen @ delta.T + start
        surely &= fixed + undecided @ np.minimum(delta, 0.0).T > slack
        may &= fixed + undecided @ np.maximum(delta, 0.0).T >= -slack
    return surely, may


def leverage(margins: Margins) -> Reals:
    """(references, players): how far each player moves a margin, all margins together."""
    return np.asarray(np.abs(margins.deltas).sum(axis=0))
