"""The swap context (Sect. 5, "Contexts"): hybrids of one input and n references.

For a reference r and a set S of players, the hybrid h(S, r) takes the input's values on S and r's
elsewhere. Drawing r uniformly over the references and S uniformly over all subsets, with S
recorded in W, gives D. Reading S as what is held is R2I; reading its complement as what is
replaced is I2R. Both are views of the same hybrids.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from suffice.context.hybrids import Context, KeyedHybrids
from suffice.context.players import Players
from suffice.context.pool import Pool
from suffice.context.sample import Sample
from suffice.factors.lattice import Lattice, masks_of_held
from suffice.tables.cells import distinct_rows, joint_codes
from suffice.tables.table import Table
from suffice.typing import Counts, Held

__all__ = ["PooledHybrids", "SwapContext", "SwapHybrids"]

_EXACT_FLOAT = 2**53
"""Whole numbers below this are exact in float64, so keys can be made by one BLAS product."""


@dataclass(frozen=True, eq=False)
class PooledHybrids:
    """What hybrids share whose every subset takes its values from the same references.

    `pool` holds the input in row 0 and the references below it.
    """

    pool: Table
    players: Players

    @property
    def d(self) -> int:
        """How many players there are."""
        return len(self.players)

    @property
    def n(self) -> int:
        """How many references there are."""
        return len(self.pool) - 1

    def donors(self, held: Held) -> Counts | None:
        """Every subset takes its values from the same references."""
        return np.broadcast_to(np.arange(1, self.n + 1), (len(held), self.n))


@dataclass(frozen=True, eq=False)
class SwapHybrids(PooledHybrids, KeyedHybrids):
    """Hybrids by swapping values, with numbers that tell equal ones before they are built."""

    def rows(self, held: Held, references: Counts) -> Table:
        """Build row i from subset held[i] and reference references[i]."""
        if len(self.players) < len(self.pool.names):
            held = held[:, self.players.of_column]
        return self.pool.splice(held, references + 1)

    @cached_property
    def codes(self) -> Counts:
        """(1 + n, d): equal numbers where two rows agree on all of a player's columns."""
        if isinstance(self.pool, Pool):  # the same numbers, from what is known of the references
            return self.pool.player_codes(self.players)
        columns = self.pool.codes()
        players = (columns[:, list(c)] for c in self.players.columns)
        return np.stack([distinct_rows(player)[0] for player in players], axis=1)

    def keys(self, held: Held) -> Counts:
        """(subsets, n): equal numbers exactly where two hybrids are the same row.

        A hybrid's key is a mixed-radix number with one digit per player, so it differs from the
        input's own by a sum over the players not held: a matrix product, not a loop.
        """
        freed = (~held).astype(np.float64)
        keys = np.zeros((len(held), self.n), dtype=np.int64)
        for chunk, radix in self._chunks:
            digits = (self.codes[1:, chunk] - self.codes[0, chunk]) * radix
            part = (freed[:, chunk] @ digits.T.astype(np.float64)).astype(np.int64)
            if chunk[0] > 0:
                both = np.stack([keys.ravel(), part.ravel()], axis=1)
                part = joint_codes(both).reshape(part.shape)
            keys = part
        return keys

    def distinct(self, held: Held, references: Counts) -> tuple[Counts, Counts]:
        """Number the distinct rows among single hybrids; also where each appears first."""
        return distinct_rows(np.where(held, self.codes[0], self.codes[references + 1]))

    @property
    def stable_keys(self) -> bool:
        """Are keys comparable between calls? Not where they do not fit one number."""
        return len(self._chunks) == 1

    def lasting_keys(self, held: Held, references: Counts) -> Counts | None:
        """(rows,): for single hybrids the numbers of `keys`, where these are comparable.

        Elsewhere what differs from the input, and the reference: two references may then give one
        row under two numbers. They must agree wherever they are not replaced, in data so varied
        that keys do not fit one number.
        """
        if self.stable_keys:
            return np.asarray(np.einsum("ij,ij->i", ~held, self._digits[references]))
        if self.d + int(self.n).bit_length() > 62:
            return None  # so many players that such numbers do not fit either
        like_input = held | (self.codes[references + 1] == self.codes[0])
        other = np.where(like_input.all(axis=1), 0, references)  # the input itself is one row
        return masks_of_held(like_input) * self.n + other

    @cached_property
    def _digits(self) -> Counts:
        """(n, d): what replacing a player adds to the key, where one number has room for it."""
        return np.asarray((self.codes[1:] - self.codes[0]) * self._chunks[0][1])

    @cached_property
    def _chunks(self) -> list[tuple[list[int], Counts]]:
        """Runs of players whose joint number of values stays exact in a float."""
        sizes = [int(s) for s in self.codes.max(axis=0) + 1]
        chunks: list[tuple[list[int], list[int]]] = []
        room = 0
        for player, size in enumerate(sizes):
            if not chunks or room * size >= _EXACT_FLOAT:
                chunks.append(([], []))
                room = 1
            chunks[-1][0].append(player)
            chunks[-1][1].append(room)
            room *= size
        return [(players, np.array(radix, dtype=np.int64)) for players, radix in chunks]

    def among(self, numbers: Sequence[int]) -> SwapHybrids:
        """Hybrids of some of the players only: all others have the input's values in every row.

        The references then carry the input's values there, so it does not matter which player those
        columns are counted with, and the first takes them.
        """
        chosen = [self.players.columns[p] for p in numbers]
        fixed = np.ones(len(self.pool.names), dtype=bool)
        fixed[[j for columns in chosen for j in columns]] = False
        rows = len(self.pool)
        like_input = self.pool.splice(np.broadcast_to(fixed, (rows, len(fixed))), np.arange(rows))
        first = (*chosen[0], *np.flatnonzero(fixed).tolist())
        names = tuple(self.players.names[p] for p in numbers)
        return SwapHybrids(like_input, Players(names, (first, *chosen[1:])))

    def sample(self) -> Sample:
        """D written out in full: every hybrid a row, with what was held in auxiliary columns.

        For few players: it has n · 2^d rows. It is what lets Algorithm 1, which knows nothing of
        hybrids, check everything that is faster.
        """
        lattice = Lattice(self.d)
        held = np.concatenate([lattice.held(size) for size in range(self.d + 1)])
        held = np.repeat(held, self.n, axis=0)
        references = np.tile(np.arange(self.n), 1 << self.d)
        columns = {name: held[:, i] for i, name in enumerate(self.players.names)}
        return Sample.of_hybrids(self.rows(held, references), columns)


@dataclass(frozen=True)
class SwapContext(Context):
    """The paper's R2I and I2R: values are swapped, and nothing else follows from it.

    >>> import numpy as np
    >>> import pandas as pd
    >>> from suffice import Explainer
    >>> people = pd.DataFrame({"income": [20, 30, 60, 70], "debt": [9, 2, 8, 1]})
    >>> def grant(rows):
    ...     return np.where(rows["income"] - 4 * rows["debt"] > 20, "granted", "refused")
    >>> from suffice import SwapContext
    >>> swapped = Explainer(grant, people, context=SwapContext())
    >>> swapped.explain({"income": 25, "debt": 8}).provenance.context.words
    'values swapped'
    """

    kind = "swap"
    is_swap = True

    def bind(self, pool: Table, players: Players, seed: int) -> tuple[SwapHybrids, SwapHybrids]:
        """The same hybrids for both views: replacing a set is holding its complement."""
        hybrids = SwapHybrids(pool, players)
        return hybrids, hybrids

    def describe(self) -> str:
        """Two words for it."""
        return "values swapped"
