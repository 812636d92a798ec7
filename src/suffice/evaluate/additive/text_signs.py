"""Words that can only take away from an outcome: no minimal set has one.

Let player i, held rather than replaced, never bring the outcome about: whoever else is held, and
for each reference, a hybrid with i has it only where the hybrid without i has it. Then a set that
keeps the outcome keeps it without i, and one that flips it flips it with i left in place. So i is
in no minimal set of either view, though it counts in how sufficient and how necessary others are.

With a norm the sign of the margin is that of A + b N. Holding i changes A and Q = N² by what its
terms have more then, at any count that the others can give; N changes by less the larger it is.
Where A + b N falls by more than rounding could undo, the word never helps.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from suffice.evaluate.additive.text_bounds import MarginBounds
from suffice.typing import BoolVector, Reals

__all__ = ["never_raising"]

_ROUNDINGS = 16.0
"""Times the slack: both margins are rounded, by the model and here."""


def never_raising(bounds: MarginBounds, sign: float) -> BoolVector:
    """(d,): whose being held never raises a margin; with sign -1, never lowers one."""
    out = np.ones(len(bounds.held), dtype=bool)
    changes = _Changes(bounds)
    for weights, base, slack in zip(bounds.weights, bounds.base, bounds.slack, strict=True):
        most = changes.weighted(sign * weights)
        reach = 1.0
        if bounds.norm is not None:
            least_n, most_n = changes.of_norm()
            most = most + np.maximum(sign * base * least_n, sign * base * most_n)
            reach = changes.largest
            # With nothing in it that is known, a text has the base alone.
            out &= bool(sign * base <= 0 or changes.smallest > 0)
        out &= most < -_ROUNDINGS * slack * reach
    return out


class _Changes:
    """What each player adds when held, at the least and at the most, whoever else is held."""

    def __init__(self, bounds: MarginBounds) -> None:
        self._bounds = bounds
        low = np.minimum(bounds.held, bounds.replaced)
        high = np.maximum(bounds.held, bounds.replaced)
        everyone = bounds.rest + low.sum(axis=0), bounds.rest + high.sum(axis=0)
        # (d, T): what the others come to.
        self._low, self._high = everyone[0] - low, everyone[1] - high
        self.smallest, self.largest = bounds.norms

    def weighted(self, weights: Reals) -> Reals:
        """(d,): the most that Σ w_t v_t can rise by."""
        least, most = self._between(self._bounds.values)
        return np.asarray(np.maximum(least * weights, most * weights).sum(axis=1))

    def of_norm(self) -> tuple[Reals, Reals]:
        """(d,), twice: how much the norm changes by, at the least and at the most."""
        bounds = self._bounds
        size: Callable[[Reals], Reals] = np.abs if bounds.norm == "l1" else np.square
        least, most = (
            change.sum(axis=1) for change in self._between(lambda c: size(bounds.values(c)))
        )
        if bounds.norm == "l1":
            return least, most
        # The root of a larger Q moves less: a step of q by q / (√Q + √(Q + q)).
        low, high = self.smallest, max(self.largest, np.finfo(float).tiny)
        far = [np.abs(q) / (low + np.sqrt(low**2 + np.abs(q)) + (q == 0)) for q in (least, most)]
        near = [np.abs(q) / (2 * high) for q in (least, most)]
        return np.where(least < 0, -far[0], near[0]), np.where(most > 0, far[1], -near[1])

    def _between(self, function: Callable[[Reals], Reals]) -> tuple[Reals, Reals]:
        """(d, T), twice: the least and the most that f(count) changes by when a player is held."""
        bounds = self._bounds
        least, most = np.full(self._low.shape, np.inf), np.full(self._low.shape, -np.inf)
        for count in np.arange(self._low.min(initial=0), self._high.max(initial=0) + 1):
            change = function(count + bounds.held) - function(count + bounds.replaced)
            possible = (self._low <= count) & (count <= self._high)
            least = np.where(possible, np.minimum(least, change), least)
            most = np.where(possible, np.maximum(most, change), most)
        return least, most
