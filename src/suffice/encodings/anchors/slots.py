"""Donors: for each row that may be perturbed, the row it would take a feature's values from.

A rule asks one of a few things of a feature: nothing, its only condition, or some pair of bounds.
These are the feature's *states*. In a state that a row satisfies it keeps its own values; else they
come from a donor, drawn uniformly among the rows of the data that satisfy it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from zlib import crc32

import numpy as np

from suffice.encodings.anchors.conditions import Condition, Conditions
from suffice.errors import InputError
from suffice.randomness import Stream, generator
from suffice.tables.table import Table
from suffice.typing import Counts, Held

__all__ = ["Slot", "make_slots"]


@dataclass(frozen=True, eq=False)
class Slot:
    """The columns that move together, the chains of conditions on them, and everyone's donors."""

    columns: tuple[int, ...]
    chains: tuple[tuple[int, ...], ...]
    """By chain, the positions of its conditions: the weakest first."""
    inside: Counts
    """(states, rows): the row of the pool to take values from; a row's own number to keep them."""

    def states(self, held: Held) -> Counts:
        """What each set of conditions asks: the place of the tightest in each chain, as one number.

        A condition implies the weaker ones before it, whether they are held or not.
        """
        state = np.zeros(len(held), dtype=np.int64)
        for chain in self.chains:
            places = held[:, list(chain)] * np.arange(1, len(chain) + 1)
            state = state * (len(chain) + 1) + places.max(axis=1)
        return state

    def chosen(self, rows: Counts) -> Slot:
        """The same for some of the rows."""
        return Slot(self.columns, self.chains, self.inside[:, rows])


def make_slots(conditions: Conditions, pool: Table, seed: int) -> tuple[Slot, ...]:
    """Draw donors for every row of the pool below the input, in every state."""
    satisfied = conditions.holds(pool)
    by_columns: dict[tuple[int, ...], list[int]] = {}
    for i, condition in enumerate(conditions):
        by_columns.setdefault(condition.columns, []).append(i)
    own = np.arange(1, len(pool))
    slots = []
    for columns, mine in by_columns.items():
        chains = _chains(conditions, mine)
        # Seeded by the columns' names: the same draws in whatever rule or order of columns.
        names = "\0".join(sorted(pool.names[j] for j in columns))
        luck = generator(seed, Stream.SLOTS, crc32(names.encode())).random(len(own))
        inside = []
        for places in product(*(range(len(chain) + 1) for chain in chains)):
            tightest = [chain[p - 1] for chain, p in zip(chains, places, strict=True) if p]
            holds = np.asarray(satisfied[:, tightest].all(axis=1))
            options = 1 + np.flatnonzero(holds[1:])
            if not len(options):
                options = _input_alone(conditions[tightest[0]], bool(holds[0]))
            drawn = np.minimum((luck * len(options)).astype(np.int64), len(options) - 1)
            inside.append(np.where(holds[1:], own, options[drawn]))
        slots.append(Slot(columns, chains, np.stack(inside)))
    return tuple(slots)


def _chains(conditions: Sequence[Condition], mine: list[int]) -> tuple[tuple[int, ...], ...]:
    chains: list[list[int]] = []
    for i in mine:
        if conditions[i].after is None:
            chains.append([])
        chains[-1].append(i)
    return tuple(map(tuple, chains))


def _input_alone(condition: Condition, satisfied: bool) -> Counts:
    """No row of the data satisfies the condition; the input may."""
    if not satisfied:
        raise InputError(
            "rule",
            f"{condition.factor!r}, which no row of the data satisfies",
            "a rule whose conditions hold somewhere",
            "Pass rows that satisfy it as sample=….",
        )
    return np.array([0])
