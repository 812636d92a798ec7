"""What the search asks of an evaluator, and how an engine says that it does not serve."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from suffice.typing import BoolVector, Counts, Held, Outcomes, Reals, SmallCounts

__all__ = [
    "CubeEvaluator",
    "Evaluator",
    "Idle",
    "LatticeEvaluator",
    "ModelReader",
    "OneWayEvaluator",
    "Swept",
    "Tick",
    "Unreadable",
]

Tick = Callable[[float], object]
"""Told the share of a piece of work that was just done."""

Swept = tuple[int, Counts | SmallCounts, NDArray[np.uint8]]
"""A block of consecutive bit masks (player j is bit j): the first of them, the hits of each, and
the outcomes of each as `numpy.packbits` packs them along the references."""


Idle = Literal["same", "unread", "alike"]
"""Why a player cannot matter here: every reference has the input's value; the model never reads it;
or the model treats the input's value and every reference's alike."""


class Evaluator(Protocol):
    """Outcomes of hybrids, and what it took to get them."""

    @property
    def name(self) -> str:
        """What it is called in `engine=` and in the provenance."""
        ...

    @property
    def note(self) -> str | None:
        """Why no faster evaluator serves, or why this one had to ask; None: nothing to say."""
        ...

    @property
    def n(self) -> int:
        """How many references there are."""
        ...

    @property
    def rows_predicted(self) -> int:
        """Rows that the model was really asked about."""
        ...

    @property
    def model_seconds(self) -> float:
        """Time spent inside the model."""
        ...

    def pace(self) -> float | None:
        """About how many seconds a hybrid takes, before the first is asked for; None: not known.

        An engine may have to measure it, so it is asked for and not just there.
        """
        ...

    def outcomes(self, held: Held, tick: Tick | None = None) -> Outcomes:
        """(subsets, references): does the hybrid have the input's outcome?

        `tick` is told the share of this work that was just done; the shares add up to 1.
        """
        ...

    def outcomes_of(self, held: Held, references: Counts) -> BoolVector:
        """(rows,): the same for single hybrids, subset held[i] with reference references[i]."""
        ...


@runtime_checkable
class LatticeEvaluator(Evaluator, Protocol):
    """An evaluator that can also work out all 2^d subsets together, faster than one by one."""

    def sweep(self) -> Iterator[Swept]:
        """Every bit mask from 0 to 2^d - 1, in blocks."""
        ...

    def counts(self) -> Iterator[tuple[int, Counts]]:
        """The first mask and the hits of each block of a sweep, for those who keep no more."""
        ...

    def sweep_seconds(self) -> float:
        """About how long a sweep of the whole lattice takes, measured on a small part of it."""
        ...


@runtime_checkable
class ModelReader(Evaluator, Protocol):
    """An evaluator that knows the model's shape, and so which players it cannot be moved by."""

    def idle(self) -> Mapping[int, Idle]:
        """The players whose being held or replaced changes no hybrid's outcome, and why."""
        ...


@runtime_checkable
class CubeEvaluator(Evaluator, Protocol):
    """An evaluator that can also bound the outcomes over a cube: all sets that hold some players,
    free some others, and do either with the rest."""

    def cubes(self, held: Held, freed: Held) -> tuple[Outcomes, Outcomes]:
        """(cubes, references): do all hybrids of a cube surely have the input's outcome? may some?

        Both are sound and need not be tight; of a cube that is one set, both are its outcomes.
        """
        ...

    def leverage(self) -> Reals:
        """(references, players): about how far each player moves a hybrid's score.

        Only the order of branching hangs on it.
        """
        ...


@runtime_checkable
class OneWayEvaluator(CubeEvaluator, Protocol):
    """An evaluator that also knows players who can only take away from the outcome."""

    def never_helps(self) -> BoolVector:
        """(players,): who, held rather than replaced, brings the outcome about in no hybrid.

        A hybrid with such a player has the outcome only where the one without has it. So a set that
        keeps the outcome keeps it without the player, and one that flips it flips it without
        replacing the player: no minimal set has one.
        """
        ...


class Unreadable(Exception):  # noqa: N818 - no error: a reason, caught where an engine is chosen
    """Why an engine does not serve, in words about the model and the data.

    Its text goes into the provenance, after the engine's name.
    """
