"""Runs the compiled kernel on one block of references and one slab of the lattice after another."""

from __future__ import annotations

import numpy as np

from suffice.evaluate.trees import kernel
from suffice.evaluate.trees.problem import Problem
from suffice.typing import Words

__all__ = ["CompiledBlock"]


_TWO_WAY_PLAYERS = 12
"""Past so many players, summing a second accumulator costs more than it saves in the walk."""


class CompiledBlock:
    """One block of references; the buffers are its own, so blocks can run in threads."""

    def __init__(self, problem: Problem, block: int, players: int) -> None:
        self._problem = problem
        self._players = players
        self._differs = problem.sides.words(block)
        self._everyone = np.uint64(problem.everyone(block))
        self._stack = np.empty((2 * problem.ensemble.depth + 2, 4), dtype=np.uint64)
        self._above = np.empty(problem.width << players, dtype=np.int32)
        two_way = players <= _TWO_WAY_PLAYERS
        self._below = np.empty(len(self._above) if two_way else 0, dtype=np.int32)

    def slab(self, number: int) -> tuple[Words, Words]:
        """By mask: the lanes for which the event surely holds, and those for which it fails."""
        problem, players = self._problem, self._players
        size = 1 << players
        high = (1 << problem.d) - size
        fixed = number << players
        yes = np.full(size, self._everyone, dtype=np.uint64)
        no = np.zeros(size, dtype=np.uint64)
        for margin, nodes in zip(problem.reading.margins, problem.nodes, strict=True):
            kernel.sum_lattice(
                margin.roots,
                nodes.view(np.uint32),
                self._differs,
                self._everyone,
                np.uint64(fixed),
                np.uint64(high ^ fixed),
                players,
                self._stack,
                self._above,
                self._below,
                problem.width,
            )
            kernel.answer_words(
                self._above,
                self._below,
                problem.width,
                np.int32(margin.no_below),
                np.int32(margin.yes_from),
                np.int32(margin.yes_to),
                np.int32(margin.no_above),
                yes,
                no,
            )
        no &= self._everyone
        return (no, yes) if problem.reading.reverse else (yes, no)
