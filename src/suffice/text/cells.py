"""A text as a row of cells, one per span; a reference is another row, a hybrid is spliced of both.

Some cells may be out of sight: words that are not asked about. In the keep view they come with the
reference, as all words do that are not held; in the flip view they are the input's, as all are that
are not replaced. So what is found among the words in sight holds for the text as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from suffice.context import Hybrids, Players, SwapHybrids
from suffice.context.hybrids import Context
from suffice.context.swap import PooledHybrids
from suffice.tables import Table
from suffice.tables.arrays import ArrayTable
from suffice.tables.cells import distinct_rows
from suffice.typing import Counts, Held, Values

__all__ = ["Cells", "InText"]


class Cells(ArrayTable):
    """Rows of strings; only the columns at `seen` are features."""

    def __init__(self, cells: Values, names: Sequence[str], seen: Sequence[int]) -> None:
        super().__init__(cells, [names[j] for j in seen])
        self._every_name = list(names)
        self._seen = list(seen)

    def column(self, position: int) -> Values:
        """One column in sight."""
        return self._array[:, self._seen[position]]

    def codes(self) -> Counts:
        """As for any table; a dictionary numbers a few strings sooner than a hash table is made."""
        out = np.empty((len(self._array), len(self._seen)), dtype=np.int64)
        for j in range(len(self._seen)):
            cells = self.column(j).tolist()
            number = {cell: i for i, cell in enumerate(sorted(set(cells)))}
            out[:, j] = [number[cell] for cell in cells]
        return out

    def take(self, rows: Counts) -> Cells:
        """These rows, whole."""
        return self._like(self._array[rows])

    def stack(self, below: Table) -> Cells:
        """Append rows, whole."""
        return self._like(np.concatenate([self._array, np.asarray(below.native)]))

    def splice(self, first: Held, rows: Counts) -> Cells:
        """As for any table; cells out of sight come from `rows`."""
        whole = first
        if len(self._seen) < self._array.shape[1]:
            whole = np.zeros((len(rows), self._array.shape[1]), dtype=bool)
            whole[:, self._seen] = first
        out = self._array[rows]
        np.copyto(out, self._array[0], where=whole)
        return self._like(out)

    def with_rest_of(self, row: int) -> Cells:
        """The cells out of sight are one row's in all of them."""
        hidden = np.setdiff1d(np.arange(self._array.shape[1]), self._seen)
        out = self._array.copy()
        out[:, hidden] = out[row, hidden]
        return self._like(out)

    def _like(self, cells: Values) -> Cells:
        return Cells(cells, self._every_name, self._seen)


@dataclass(frozen=True)
class InText(Context):
    """Words are swapped; `says` how, and `rest` whether there are words out of sight."""

    kind = "text"

    says: str
    rest: bool = False

    def bind(self, pool: Table, players: Players, seed: int) -> tuple[Hybrids, Hybrids]:
        """The same hybrids for both views where all words are in sight; else each has its own."""
        assert isinstance(pool, Cells)
        if not self.rest:
            hybrids = WordSwap(pool, players)
            return hybrids, hybrids
        flip = WordSwap(pool.with_rest_of(0), players)
        # What is replaced throughout is the same in all texts only where there is one reference.
        if len(pool) == 2:
            return WordSwap(pool.with_rest_of(1), players), flip
        return RestReplaced(pool, players), flip

    def describe(self) -> str:
        """What words are replaced by, and what becomes of those out of sight."""
        rest = "; words not looked at are all replaced (keep) or all held (flip)"
        return self.says + rest * self.rest


class WordSwap(SwapHybrids):
    """A swap of words: where each is a player, its numbers are the column's own."""

    @cached_property
    def codes(self) -> Counts:
        """(1 + n, d): equal numbers where two rows agree on all of a player's words."""
        columns = self.pool.codes()
        if columns.shape[1] == self.d:
            return columns
        players = (columns[:, list(c)] for c in self.players.columns)
        return np.stack([distinct_rows(player)[0] for player in players], axis=1)


@dataclass(frozen=True, eq=False)
class RestReplaced(PooledHybrids):
    """Hybrids of the words in sight, in a text whose other words come with each reference.

    It gives hybrids no keys: equal words in sight do not make equal texts.
    """

    def rows(self, held: Held, references: Counts) -> Table:
        """Build row i from subset held[i] and reference references[i]."""
        if len(self.players) < len(self.pool.names):
            held = held[:, self.players.of_column]
        return self.pool.splice(held, references + 1)
