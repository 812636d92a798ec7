"""What follows from a change where features cause each other, in worlds drawn for the input.

Some features are set to new values; their effects follow with the noise of a world. Where noise is
kept and can be told from the row, all worlds are one. Otherwise what follows differs from draw to
draw, and a change is judged by the share of the draws in which it works.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from suffice.context.causal import CausalHybrids
from suffice.context.players import Players
from suffice.decision import Decision
from suffice.errors import InputError
from suffice.randomness import Stream, generator
from suffice.tables.table import Table
from suffice.typing import BoolVector, Counts, Held, Values

__all__ = ["Worlds", "draw_worlds", "the_world"]

_LOOKED_AT = 64
"""Draws that must be the same for noise to count as none."""


def the_world(decision: Decision, players: Players) -> Worlds:
    """The one world of the input, for a grid; an error where there are many."""
    worlds = draw_worlds(decision, _LOOKED_AT, 1)
    if worlds.differ(np.eye(len(players), dtype=bool), players).any():
        raise InputError(
            "values",
            "'grid' where what follows from a change is drawn at random",
            "'observed', or 'grid' with CausalContext(scm, noise='kept')",
            "Each combination would have to be tried in many draws. With noise='kept', nodes whose "
            "capabilities are not 'exact' are drawn, too.",
        )
    return worlds


def draw_worlds(decision: Decision, draws: int, which: int) -> Worlds:
    """So many worlds for the input; `which` tells apart sets of them that have no draw in common.

    The decision's seed decides them.
    """
    seed = int(generator(decision.seed, Stream.NOISE, which).integers(1 << 32))
    copies = decision.row.take(np.zeros(draws + 1, dtype=np.int64))
    _, flip = decision.context.bind(copies, decision.players, seed)
    assert isinstance(flip, CausalHybrids)
    return Worlds(flip)


@dataclass(frozen=True, eq=False)
class Worlds:
    """Worlds of one input, each with a noise for every effect."""

    hybrids: CausalHybrids

    def after(self, rows: Table, was_set: Held, draws: Counts) -> Table:
        """The input with new values in the columns that were set, each row in one of the worlds."""
        scm, before = self.hybrids.scm, self.hybrids.values
        values = scm.read(rows, "context")
        at = {node: rows.names.index(node) for node in scm.nodes}
        after = scm.respond(
            values,
            {node: was_set[:, at[node]] for node in scm.nodes},
            {node: self.hybrids.noise[node][draws] for node in self._effects},
            {node: before[node][np.zeros_like(draws)] for node in scm.nodes}
            if self.hybrids.kept
            else None,
        )
        moved = {at[n]: after[n] for n in self._effects if after[n] is not values[n]}
        return rows.with_columns(moved, "context") if moved else rows

    def differ(self, members: Held, players: Players) -> BoolVector:
        """(sets,): do worlds differ in what follows from setting a set of these players?"""
        scm, names = self.hybrids.scm, self.hybrids.pool.names
        random = [n for n in self._effects if not _same(self.hybrids.noise[n])]
        own, reached = np.zeros((2, len(players), len(random)), dtype=np.float32)
        for player, columns in enumerate(players.columns):
            nodes = {names[j] for j in columns}.intersection(scm.nodes)
            effects = frozenset[str]().union(*map(scm.descendants, nodes))
            own[player] = [node in nodes for node in random]
            reached[player] = [node in effects for node in random]
        sets = members.astype(np.float32)
        return np.asarray(((sets @ reached > 0) & (sets @ own == 0)).any(axis=1))

    @cached_property
    def _effects(self) -> list[str]:
        return [node for node in self.hybrids.scm.nodes if self.hybrids.scm.parents(node)]


def _same(noise: Values) -> bool:
    return bool((noise == noise[:1]).all())
