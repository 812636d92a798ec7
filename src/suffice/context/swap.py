"""The swap context, which is the default: hybrids that swap values of an input and a reference.

For a reference r and a set S of players, the hybrid h(S, r) has the input's values on S and those
of r elsewhere (Sect. 5, "Contexts"). Drawing r uniformly from the references and S from all
subsets, with S recorded in W, gives D. Reading S as held is R2I; reading its complement as replaced
is I2R. Both are views of the same hybrids.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from suffice.context.hybrids import Context, KeyedHybrids
from suffice.context.players import Players
from suffice.context.references import Pool
from suffice.factors.lattice import masks_of_held
from suffice.tables.cells import MAX_EXACT_INTEGER, distinct_rows, joint_codes
from suffice.tables.table import Table
from suffice.typing import Counts, HeldSets


@dataclass(frozen=True, eq=False)
class PooledHybrids:
    """Base class of hybrids in which every subset takes new values from the same references.

    `pool` has the input in row 0 and the references below.
    """

    pool: Table
    players: Players

    @property
    def d(self) -> int:
        """Number of players."""
        return len(self.players)

    @property
    def n(self) -> int:
        """Number of references."""
        return len(self.pool) - 1

    def rows(self, held: HeldSets, references: Counts) -> Table:
        """Return hybrids: row i has the input's values on held[i], else those of references[i]."""
        if len(self.players) < len(self.pool.names):
            held = held[:, self.players.of_column]
        return self.pool.splice(held, references + 1)

    def donors(self, held: HeldSets) -> Counts | None:
        """Return (subsets, n): the rows of the pool that new values come from: all references."""
        return np.broadcast_to(np.arange(1, self.n + 1), (len(held), self.n))


@dataclass(frozen=True, eq=False)
class SwapHybrids(PooledHybrids, KeyedHybrids):
    """Hybrids that swap values, with keys that identify equal rows before they are built."""

    @cached_property
    def codes(self) -> Counts:
        """Codes (1 + n, d): integers, equal where two rows agree on all columns of a player."""
        if isinstance(self.pool, Pool):  # the same codes, from those cached with the references
            return self.pool.player_codes(self.players)
        return self.players.codes(self.pool.codes())

    def keys(self, held: HeldSets) -> Counts:
        """Return (subsets, n): integers, equal exactly where two hybrids are the same row.

        A key is a mixed-radix number with one digit per player. It differs from the input's by a
        sum over the players not held, so all keys are one matrix product. BLAS computes it in
        float64, which is exact up to 2^53: players beyond that form another block.
        """
        freed = (~held).astype(np.float64)
        keys = np.zeros((len(held), self.n), dtype=np.int64)
        for block, radix in self._radix_blocks:
            digits = (self.codes[1:, block] - self.codes[0, block]) * radix
            part = (freed[:, block] @ digits.T.astype(np.float64)).astype(np.int64)
            if block[0] > 0:
                part = joint_codes([keys.ravel(), part.ravel()], keys.size).reshape(part.shape)
            keys = part
        return keys

    def distinct(self, held: HeldSets, references: Counts) -> tuple[Counts, Counts]:
        """Return the number of each hybrid among the distinct ones, and where each is first."""
        return distinct_rows(np.where(held, self.codes[0], self.codes[references + 1]))

    @property
    def stable_keys(self) -> bool:
        """True if keys are comparable between calls: all players fit one block."""
        return len(self._radix_blocks) == 1

    def lasting_keys(self, held: HeldSets, references: Counts) -> Counts | None:
        """Return (rows,): keys of single hybrids that are comparable between calls, else None.

        Without stable keys, a key consists of the players that differ from the input and the
        reference. Two references may then give one row under two keys, which is rare in data so
        varied that keys need several blocks.
        """
        if self.stable_keys:
            return np.asarray(np.einsum("ij,ij->i", ~held, self._digits[references]))
        if self.d + int(self.n).bit_length() > 62:
            return None  # too many players for such a key as well
        like_input = held | (self.codes[references + 1] == self.codes[0])
        other = np.where(like_input.all(axis=1), 0, references)  # the input itself is one row
        return masks_of_held(like_input) * self.n + other

    @cached_property
    def _digits(self) -> Counts:
        """Changes (n, d) of the key when a player is replaced; for keys of one block."""
        return np.asarray((self.codes[1:] - self.codes[0]) * self._radix_blocks[0][1])

    @cached_property
    def _radix_blocks(self) -> list[tuple[list[int], Counts]]:
        """Runs of players and the weights of their digits, each run exact in float64."""
        sizes = [int(s) for s in self.codes.max(axis=0) + 1]
        blocks: list[tuple[list[int], list[int]]] = []
        room = 0
        for player, size in enumerate(sizes):
            if not blocks or room * size >= MAX_EXACT_INTEGER:
                blocks.append(([], []))
                room = 1
            blocks[-1][0].append(player)
            blocks[-1][1].append(room)
            room *= size
        return [(players, np.array(radix, dtype=np.int64)) for players, radix in blocks]

    def restrict_to(self, numbers: Sequence[int]) -> SwapHybrids:
        """Return hybrids of some players only; the others have the input's values in every row.

        The references get the input's values in the columns of the other players. It then makes no
        difference which player those columns belong to, and the first player gets them.
        """
        some = self.players.take(numbers)
        fixed = np.ones(len(self.pool.names), dtype=bool)
        fixed[[j for columns in some.columns for j in columns]] = False
        rows = len(self.pool)
        like_input = self.pool.splice(np.broadcast_to(fixed, (rows, len(fixed))), np.arange(rows))
        first = (*some.columns[0], *np.flatnonzero(fixed).tolist())
        return SwapHybrids(like_input, Players(some.names, (first, *some.columns[1:])))


@dataclass(frozen=True)
class SwapContext(Context):
    """Context that swaps values, the paper's R2I and I2R: a change has no further effects.

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
        """Return the same hybrids for both views: replacing a set is holding its complement."""
        hybrids = SwapHybrids(pool, players)
        return hybrids, hybrids

    def describe(self) -> str:
        """Return the context's description, "values swapped"."""
        return "values swapped"
