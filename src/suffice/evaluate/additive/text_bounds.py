"""How far the margin of a text can go while some of its words are undecided.

A cube of sets holds some players, frees others, and leaves the rest open. Over all its sets the
margin is Σ w_t v_t / N + b, with N the norm of v: its sign is that of A + b N. A term that one open
player has a part in has two values, so that its part in A and in Q = N² is a step of that player
(for the norm l1, N itself is such a sum). A term that several have a part in lies between its
values at its least and its largest count. And b √Q lies between two straight lines in Q: the root
is concave, so it is above its chord and below its tangents. What is left is a sum of steps, and its
least and its largest value are found by taking each step or not. No set is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from suffice.typing import BoolVector, Held, Reals

__all__ = ["MarginBounds"]

_ROUNDINGS = 8.0
"""The bounds add up the same numbers once more, in another order: several times the slack."""

_TANGENTS = (0.1, 0.5, 1.0)
"""Where between the least and the largest Q to touch the root; the best of them is taken."""


@dataclass(frozen=True, eq=False)
class MarginBounds:
    """Bounds on the margins of all hybrids of one reference, over cubes of sets."""

    values: Callable[[Reals], Reals]
    """(…, T) counts -> values: none falls while its count rises."""
    proportional: bool
    """Is a value a multiple of its count?"""
    norm: str | None
    held: Reals
    """(d, T): what a player adds to the counts where it is held."""
    replaced: Reals
    rest: Reals
    """(T,): what is always there."""
    weights: Reals
    """(M, T)"""
    base: Reals
    slack: Reals

    def settle(self, held: Held, freed: Held) -> tuple[BoolVector, BoolVector]:
        """(cubes,), twice: does the event hold for all sets of a cube? Does it for none?"""
        cubes = _Cubes(self, held.astype(np.float64), freed.astype(np.float64))
        always, never = np.ones(len(held), dtype=bool), np.zeros(len(held), dtype=bool)
        size = cubes.size
        reach = np.ones(len(held)) if size is None else np.maximum(size.highest, 0.0)
        reach = np.sqrt(reach) if self.norm == "l2" else reach
        nothing = reach == 0  # no word that is known: the base alone decides
        for weights, base, slack in self._margins:
            part = cubes.weighted(weights)
            least = self._least(part, size, base)
            most = -self._least(part.negated, size, -base)
            always &= np.where(nothing, base > slack, least > slack * reach)
            never |= np.where(nothing, base < -slack, most < -slack * reach)
        return always, never

    @property
    def leverage(self) -> Reals:
        """(d,): about how far each player moves a margin, by itself and by the norm."""
        change = self.values(self.held) - self.values(self.replaced)
        direct = np.abs(change @ self.weights.T).max(axis=1, initial=0.0)
        if self.norm is None:
            return np.asarray(direct)
        size = np.abs(change).sum(axis=1)
        return np.asarray(direct + np.abs(self.base).max() * size / 2)

    @property
    def _margins(self) -> Iterator[tuple[Reals, float, float]]:
        """Weights, base and slack of one margin after the other."""
        slack = (_ROUNDINGS * self.slack).tolist()
        return zip(self.weights, self.base.tolist(), slack, strict=True)

    def _least(self, part: _Sum, size: _Sum | None, base: float) -> Reals:
        """(cubes,): A + base · N is nowhere less."""
        if size is None:
            return part.lowest + base
        if self.norm == "l1":
            return part.plus(size, np.full(len(part.start), base)).lowest
        low, high = np.maximum(size.lowest, 0.0), np.maximum(size.highest, 0.0)
        if base >= 0:
            both = np.sqrt(low) + np.sqrt(high)
            slope = np.divide(base, both, out=np.zeros_like(both), where=both > 0)
            return np.asarray(part.plus(size, slope).lowest + base * np.sqrt(low) - slope * low)
        found = np.full(len(low), -np.inf)
        for share in _TANGENTS:
            root = np.sqrt(low + share * (high - low))
            slope = np.divide(base / 2, root, out=np.zeros_like(root), where=root > 0)
            found = np.maximum(found, part.plus(size, slope).lowest + base * root / 2)
        return found


class _Sum(NamedTuple):
    """start + Σ steps of the open players held + something between two bounds, of each cube."""

    start: Reals
    """(cubes,): with every open player freed."""
    steps: Reals
    """(cubes, d): what each adds when it is held; 0 of those that are not open."""
    least: Reals
    """(cubes,): of the terms that several open players have a part in."""
    most: Reals

    @property
    def lowest(self) -> Reals:
        """No set has less."""
        return np.asarray(self.start + self.least + np.minimum(self.steps, 0.0).sum(axis=1))

    @property
    def highest(self) -> Reals:
        """No set has more."""
        return np.asarray(self.start + self.most + np.maximum(self.steps, 0.0).sum(axis=1))

    @property
    def negated(self) -> _Sum:
        """With the sign turned."""
        return _Sum(-self.start, -self.steps, -self.most, -self.least)

    def plus(self, other: _Sum, times: Reals) -> _Sum:
        """With a multiple of another sum, one factor for each cube."""
        ends = other.least * times, other.most * times
        return _Sum(
            self.start + other.start * times,
            self.steps + other.steps * times[:, None],
            self.least + np.minimum(*ends),
            self.most + np.maximum(*ends),
        )


class _Cubes:
    """Some cubes, the values of terms over them, and whose the open terms are."""

    def __init__(self, of: MarginBounds, held: Reals, freed: Reals) -> None:
        self._of = of
        self._open = 1.0 - held - freed
        self._fixed = held @ of.held + freed @ of.replaced + of.rest
        low, high = np.minimum(of.held, of.replaced), np.maximum(of.held, of.replaced)
        # (cubes, T): values at the least and at the largest count.
        self._least = of.values(self._fixed + self._open @ low)
        self._most = of.values(self._fixed + self._open @ high)
        self._sign = np.sign(of.held - of.replaced)
        self._shared = self._open @ np.abs(self._sign) > 1
        # Has its only open player the lesser value where it is held?
        self._falls = self._open @ self._sign < 0

    @property
    def size(self) -> _Sum | None:
        """The norm l1, or the square of l2; None where there is no norm."""
        if self._of.norm is None:
            return None
        size: Callable[[Reals], Reals] = np.abs if self._of.norm == "l1" else np.square
        least, most = size(self._least), size(self._most)
        # Hashed counts have either sign, and several of them may also come to 0.
        through = (self._least < 0) & (self._most > 0)
        return self._summed(least, most, np.where(through, 0.0, np.minimum(least, most)))

    def weighted(self, weights: Reals) -> _Sum:
        """Σ w_t v_t."""
        of = self._of
        if not of.proportional:
            ends = self._least * weights, self._most * weights
            return self._summed(*ends, np.minimum(*ends))
        # A sum over players, whoever else has a part in their terms.
        start = of.values(self._fixed + self._open @ of.replaced) @ weights
        steps = self._open * ((of.values(of.held) - of.values(of.replaced)) @ weights)
        return _Sum(start, steps, np.zeros_like(start), np.zeros_like(start))

    def _summed(self, at_least: Reals, at_most: Reals, lowest: Reals) -> _Sum:
        """The sum over terms of what is so much at their least and at their largest count.

        Terms with several open players come to no less than `lowest`.
        """
        shared = self._shared
        freed = np.where(self._falls, at_most, at_least)
        moves = np.where(shared, 0.0, at_most - at_least)
        return _Sum(
            np.where(shared, 0.0, freed).sum(axis=1),
            self._open * (moves @ self._sign.T),
            np.where(shared, lowest, 0.0).sum(axis=1),
            np.where(shared, np.maximum(at_least, at_most), 0.0).sum(axis=1),
        )
