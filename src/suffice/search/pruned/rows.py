"""Which hybrids are the same row, and what the model has said of each so far.

A search that asks for some hybrids of some subsets must not ask for a row twice: not for two
references, not for two subsets, and not at two levels. In a small lattice every hybrid is numbered
before the search begins. In a large one only those of the subsets at hand are, and what was asked
is remembered by key. Either way the numbers tell how many hybrids a row stands for, which is what
makes it worth asking about.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from suffice.context.swap import SwapHybrids
from suffice.evaluate.remembered import Known, Remembered
from suffice.factors.lattice import held_of_masks, masks_of_held
from suffice.tables.cells import first_seen
from suffice.typing import BoolVector, Counts, Held

__all__ = ["Numbered", "Rows"]

_WHOLE = 1 << 22
"""Up to so many hybrids are all numbered in advance: some hundred megabytes."""
_SECONDS_EACH = 1e-6
"""About what numbering a hybrid takes, so that a time limit bounds how many are."""
_AT_ONCE = 1 << 20
"""Of more, so many at a time."""


@dataclass(frozen=True, eq=False)
class Numbered:
    """Some subsets' hybrids, numbered by the row that they are."""

    held: Held
    ids: NDArray[np.int32]
    """(subsets, references): which row the hybrid is."""
    answers: Known
    """By row; filled in as the model is asked."""
    weight: NDArray[np.float32]
    """By row: how many hybrids of the whole lattice it stands for, or an estimate of that."""
    first: Counts
    """By row: the first of its hybrids, as subset · n + reference."""
    keys: Counts | None
    """By row: what it is remembered by; None where nothing has to be."""
    whole: bool
    """Are these all subsets, in the order of their bit masks?"""


class Rows:
    """Numbers hybrids and remembers answers, for one context.

    `patience` is how many seconds it may take to number all of them in advance; None: any number.
    """

    def __init__(self, hybrids: SwapHybrids, patience: float | None = None) -> None:
        most = _WHOLE if patience is None else int(min(_WHOLE, patience / _SECONDS_EACH))
        self._hybrids = hybrids
        self._n = hybrids.n
        self._same = hybrids.codes[1:] == hybrids.codes[0]
        self._remembered = Remembered()
        self.lattice = self._whole() if hybrids.n << hybrids.d <= most else None
        self.hybrids_at_once = _AT_ONCE if self.lattice is None else 2 * hybrids.n << hybrids.d

    def block(self, held: Held) -> Numbered:
        """Number some subsets' hybrids, with the answers that are known."""
        keys = self._hybrids.keys(held).ravel()
        ids, first = first_seen(keys)
        # A reference that equals the input on e players gives the same row for 2^e subsets.
        alike = np.exp2(np.minimum(self._same.sum(axis=1), 60))
        weight = np.bincount(ids, weights=np.tile(alike, len(held)), minlength=len(first))
        subset, reference = np.divmod(first, self._n)
        lasting = (
            keys[first]
            if self._hybrids.stable_keys
            else self._hybrids.lasting_keys(held[subset], reference)
        )
        unknown = np.zeros(len(first), dtype=np.int8)
        return Numbered(
            held,
            ids.astype(np.int32).reshape(len(held), self._n),
            unknown if lasting is None else self._remembered.recall(lasting),
            weight.astype(np.float32),
            first,
            lasting,
            whole=False,
        )

    def singles(self, held: Held, references: Counts) -> Numbered:
        """Number single hybrids, subset held[i] with reference references[i]: one column of ids."""
        lasting = self._hybrids.lasting_keys(held, references)
        if lasting is None:
            ids, first = self._hybrids.distinct(held, references)
        else:
            ids, first = first_seen(lasting)
        unknown = np.zeros(len(first), dtype=np.int8)
        return Numbered(
            held,
            ids.astype(np.int32)[:, None],
            unknown if lasting is None else self._remembered.recall(lasting[first]),
            np.ones(len(first), dtype=np.float32),
            first * self._n + references[first],
            None if lasting is None else lasting[first],
            whole=False,
        )

    def note(self, block: Numbered, rows: Counts, outcomes: BoolVector) -> None:
        """Put the model's answers about some rows, none known before, into the block."""
        block.answers[rows] = np.where(outcomes, 1, -1)
        if block.keys is not None:
            self._remembered.note(block.keys[rows], outcomes)

    def _whole(self) -> Numbered:
        """All 2^d subsets. Most hybrids need no key.

        Where a reference equals the input, holding the player changes nothing: the hybrids of S and
        of S with all such players are one row, so only the latter are compared by key.
        """
        d, n = self._hybrids.d, self._n
        masks = np.arange(1 << d, dtype=np.int32)
        held = held_of_masks(masks, d)
        closed = masks[:, None] | masks_of_held(self._same).astype(np.int32)
        closed *= np.int32(n)
        closed += np.arange(n, dtype=np.int32)
        closed = closed.ravel()
        cells = np.flatnonzero(closed == np.arange(len(closed), dtype=np.int32))
        keys = self._hybrids.keys(held).ravel()[cells]
        numbers, first = first_seen(keys)
        ids = np.zeros(len(closed), dtype=np.int32)
        ids[cells] = numbers
        ids = ids.take(closed)
        # A reference that equals the input on e players gives each of its rows 2^e times.
        alike = np.exp2(self._same.sum(axis=1))[cells % n]
        weight = np.bincount(numbers, weights=alike).astype(np.float32)
        answers = np.zeros(len(first), dtype=np.int8)
        return Numbered(held, ids.reshape(-1, n), answers, weight, cells[first], None, whole=True)
