"""Curtailed evaluation: stop asking about a subset once nothing left can change its verdict.

Of n references at least k must have the outcome for a set to pass, so n - k + 1 that lack it settle
that it fails, whatever the others do. Those thought most likely to lack it are asked first, and of
these the rows that are hybrids of many subsets.

A set that passes is never cut short: its hits are reported, so all its references are asked. Hence
only failures are worth hurrying, and there is one order of asking, whatever verdict is expected.
Subsets are asked about together, in a few rounds: one row at a time would need a few rows less and
a thousand calls more.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from suffice.context.swap import SwapHybrids
from suffice.evaluate import Evaluator
from suffice.factors.lattice import masks_of_held
from suffice.search.limits import LimitKeeper
from suffice.search.pruned.guess import Guess
from suffice.search.pruned.rows import Numbered, Rows
from suffice.search.stop import Stop
from suffice.typing import BoolVector, Counts, Held, Reals

__all__ = ["Curtailed"]

_LEAST_ASKED = 1.0
"""A round asks for at least so many expected misses, and the next for twice as many: fewer calls,
for a few rows more."""

Signs = NDArray[np.int8]
"""1: the input's outcome, -1: another."""

Weights = NDArray[np.float32]

Passing = list[tuple[int, BoolVector]]
"""Which of the sets given pass, each with the outcomes of its hybrids."""


class Curtailed:
    """Decides subsets of one context: which have at least `least` hits?"""

    def __init__(
        self, evaluator: Evaluator, hybrids: SwapHybrids, least: int, keeper: LimitKeeper
    ) -> None:
        self._evaluator = evaluator
        self._d, self.n = hybrids.d, hybrids.n
        self._enough = hybrids.n - least + 1  # misses that settle a failure
        self._keeper = keeper
        self.stopped: Stop | None = None
        """The limit that forbade to ask about a row that had to be asked about."""
        self._rows = Rows(hybrids, keeper.limits.patience)
        self._guess = Guess(hybrids)
        self.hybrids_at_once = self._rows.hybrids_at_once

    @property
    def whole(self) -> bool:
        """Is every hybrid numbered in advance?"""
        return self._rows.lattice is not None

    def outcomes_of(self, held: Held, references: Counts, keeper: LimitKeeper) -> BoolVector:
        """Outcomes of single hybrids in their order, up to the first that a limit forbids."""
        lattice = self._rows.lattice
        if lattice is None:
            block = self._rows.singles(held, references)
            rows = block.ids[:, 0]
        else:
            block, rows = lattice, lattice.ids[masks_of_held(held), references]
        unknown = rows[block.answers[rows] == 0]
        unknown = unknown[np.sort(np.unique(unknown, return_index=True)[1])]
        self._ask(block, unknown, keeper)
        answers = block.answers[rows]
        known = np.append(np.flatnonzero(answers == 0), len(answers))[0]
        return np.asarray(answers[:known] > 0)

    def decide(self, keep: Held, flip: Held) -> tuple[Passing, Passing]:
        """Held sets that keep the outcome often enough; and that lack it often enough."""
        if not len(keep) + len(flip):
            return [], []
        self._guess.fit()
        block, at = self._place(np.concatenate([keep, flip]))
        wanted = np.ones(len(at), dtype=np.int8)
        wanted[len(keep) :] = -1
        passing: tuple[Passing, Passing] = ([], [])
        for case in self._passing(block, at, wanted).tolist():
            outcomes = block.answers[block.ids[at[case]]] > 0
            if case < len(keep):
                passing[0].append((case, outcomes))
            else:
                passing[1].append((case - len(keep), outcomes))
        return passing

    def ends(self) -> dict[int, int]:
        """Hits of the empty and of the full set, by size, where they are known."""
        block, at = self._place(np.repeat([[False], [True]], self._d, axis=1))
        answers = block.answers[block.ids[at]]
        sizes = (0, self._d)
        return {k: int((row > 0).sum()) for k, row in zip(sizes, answers, strict=True) if row.all()}

    def _place(self, held: Held) -> tuple[Numbered, Counts]:
        """A block that has these sets, and where they are in it."""
        if self._rows.lattice is None:
            return self._rows.block(held), np.arange(len(held))
        return self._rows.lattice, masks_of_held(held)

    def _passing(self, block: Numbered, at: Counts, wanted: Signs) -> Counts:
        """Which cases pass: is wanted[i] the outcome of enough hybrids of subset at[i]?"""
        cases, passed, least = np.arange(len(at)), [], _LEAST_ASKED
        while True:
            ids = block.ids[at[cases]]
            answers = block.answers.take(ids)
            misses = (answers == -wanted[cases, None]).sum(axis=1, dtype=np.int32)
            failed = misses >= self._enough
            known = answers.all(axis=1)
            passed.append(cases[known & ~failed])
            going = ~known & ~failed
            cases = cases[going]
            if not len(cases) or self.stopped is not None:
                return np.sort(np.concatenate(passed))
            lack = np.maximum(self._enough - misses[going], least)
            likely = self._likely_misses(block, at[cases], wanted[cases])
            likely *= answers[going] == 0
            rows = _choose(ids[going], likely, lack, block.weight)
            if self._ask(block, rows, self._keeper) < len(rows):
                self.stopped = self._keeper.forbids()
            least *= 2

    def _likely_misses(self, block: Numbered, at: Counts, wanted: Signs) -> Weights:
        likely = self._guess.hits(block, at)
        keeping = wanted > 0
        likely[keeping] = 1 - likely[keeping]
        return likely

    def _ask(self, block: Numbered, rows: Counts, keeper: LimitKeeper) -> int:
        """Ask about rows that are not known, as far as the limits allow: how many were asked?"""
        subset, reference = np.divmod(block.first[rows], self.n)
        held = block.held[subset]
        outcomes = keeper.ask(self._evaluator, held, reference)
        done = len(outcomes)
        self._rows.note(block, rows[:done], outcomes)
        self._guess.learn(held[:done], reference[:done], block.answers[rows[:done]])
        return done


def _choose(ids: NDArray[np.int32], likely: Weights, lack: Reals, weight: Weights) -> Counts:
    """For each case the rows that should suffice to show `lack` more misses.

    `likely` says how likely each hybrid is to be a miss, and is 0 where that is known.
    """
    # That a miss is likely counts for more than that the row serves many subsets; both count.
    score = likely * likely
    score *= weight.take(ids)
    order = np.argsort(_descending(score), axis=1, kind="stable")
    order += np.arange(0, ids.size, ids.shape[1])[:, None]
    likely = likely.take(order)
    before = np.cumsum(likely, axis=1)
    before -= likely
    chosen = before < lack[:, None].astype(np.float32)
    chosen &= likely > 0
    flags = np.zeros(len(weight), dtype=bool)
    flags[ids.take(order[chosen])] = True
    return np.flatnonzero(flags)


def _descending(score: NDArray[np.float32]) -> NDArray[np.uint16]:
    """Descending, to within a hundredth: the upper half of a float says that much.

    Sorting 16-bit numbers is a radix sort, several times faster than sorting floats.
    """
    return np.uint16(0xFFFF) - (score.view(np.uint32) >> 16).astype(np.uint16)
