"""A guess at each hybrid's outcome, to ask first where the answer is likely to decide.

Guesses never enter an answer: they only choose what the model is asked first. So a crude one will
do if it is cheap: a ridge regression of the outcome on what each replaced player brings (a larger
value than the input's or a smaller one, and by how much in rank), which is one matrix product for
all subsets and references. In a small lattice it is mixed with the known outcomes of the same
reference when one player more or one less is held.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from suffice.context.swap import SwapHybrids
from suffice.search.pruned.rows import Numbered
from suffice.typing import Counts, Held

__all__ = ["Guess"]

Shares = NDArray[np.float32]

_RIDGE = 3.0
_MOST_PLAYERS = 200
"""With more players the regression would take longer than what it saves: then it is of none."""
_SMALL = 1 << 18
"""Multiplications in one product, so few that BLAS does them on one thread, which is faster."""
_MOST = 1 << 25
"""Multiplications for one lesson."""
_TRUST = 1.0
"""The regression counts as much as this many neighbours."""
_NEVER = 0.02
"""No outcome is thought less likely than this, nor more likely than one minus this."""


class Guess:
    """Learns from answers as they come; the order of the answers does not matter."""

    def __init__(self, hybrids: SwapHybrids) -> None:
        self._players = hybrids.d if hybrids.d <= _MOST_PLAYERS else 0
        codes = hybrids.codes[:, : self._players]
        away = (codes[1:] - codes[0]) / np.maximum(1, np.ptp(codes, axis=0))
        self._moves = np.stack([away > 0, away < 0, away], axis=2).astype(np.float32)
        size = 1 + 3 * self._players
        self._gram = np.eye(size) * _RIDGE
        self._moment = np.zeros(size)
        self.fit()

    def learn(self, held: Held, references: Counts, outcomes: NDArray[np.int8]) -> None:
        """Take note of outcomes, 1 or -1; of very many, a part teaches enough."""
        work = len(self._moment) ** 2
        some = slice(None, None, 1 + len(held) * work // _MOST)
        held, references, outcomes = held[some], references[some], outcomes[some]
        step = max(256, _SMALL // work)
        for start in range(0, len(held), step):
            part = slice(start, start + step)
            moved = self._moves[references[part]] * ~held[part, : self._players, None]
            rows = np.ones((len(moved), len(self._moment)), dtype=np.float32)
            rows[:, 1:] = moved.reshape(len(moved), -1)
            self._gram += rows.T @ rows
            self._moment += outcomes[part].astype(np.float32) @ rows

    def fit(self) -> None:
        """Work out the regression from what was learnt so far."""
        weights = np.linalg.solve(self._gram, self._moment).astype(np.float32)
        self._level = weights[0]
        self._by_player = np.einsum("rjk,jk->rj", self._moves, weights[1:].reshape(-1, 3))

    def hits(self, block: Numbered, subsets: Counts) -> Shares:
        """(subsets, references): how likely is the input's outcome?"""
        replaced = ~block.held[subsets, : self._players]
        mean = replaced.astype(np.float32) @ self._by_player.T
        mean += self._level
        np.clip(mean, -1, 1, out=mean)
        if block.whole:
            total, known = _neighbours(block, subsets)
            mean *= _TRUST
            mean += total
            mean /= known + np.float32(_TRUST)
        mean += 1
        mean /= 2
        np.clip(mean, _NEVER, 1 - _NEVER, out=mean)
        return np.asarray(mean)


def _neighbours(block: Numbered, subsets: Counts) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """The sum of the known outcomes one player away, and how many are known."""
    near = subsets[:, None] ^ (1 << np.arange(block.held.shape[1]))
    place = np.zeros(len(block.held), dtype=np.int64)
    place[near] = 1
    wanted = np.flatnonzero(place)
    place[wanted] = np.arange(len(wanted))
    answers = block.answers.take(block.ids[wanted])
    seen = answers & 1
    total = np.zeros((len(subsets), block.ids.shape[1]), dtype=np.int8)
    known = np.zeros_like(total)
    for column in place[near].T:
        total += answers[column]
        known += seen[column]
    return total, known
