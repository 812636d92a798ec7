"""The decisions that little would flip: the smallest sets, the cheapest changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf

from suffice.audit.cohort.result import Brittle
from suffice.audit.known import Known
from suffice.factors.lattice import members_of

__all__ = ["Least", "how_cheap", "how_small"]

_BRITTLE = 20


class Least:
    """The decisions that come first in some order, of as many as are offered."""

    def __init__(self, order: Callable[[Brittle], tuple[float, float, int]]) -> None:
        self._order = order
        self.found: tuple[Brittle, ...] = ()

    def offer(self, known: Known, group: str | None) -> None:
        """Keep it, if it is among the first so far: only then is its change put into words."""
        minimal, cost = known.minimal("flip"), known.cheapest_cost
        smallest = minimal[0] if minimal else None
        hits = known.hits("flip")
        one = Brittle(
            known.number,
            known.name,
            known.outcome,
            group,
            tuple(known.features[i] for i in members_of(smallest or 0)),
            0.0 if smallest is None or hits is None else int(hits[smallest]) / known.n,
            None,
            cost,
        )
        if len(self.found) == _BRITTLE and self._order(one) > self._order(self.found[-1]):
            return
        one = replace(one, change=None if cost is None else str(known.cheapest))
        self.found = tuple(sorted((*self.found, one), key=self._order)[:_BRITTLE])


def how_small(b: Brittle) -> tuple[float, float, int]:
    """An order: the fewest features first, then the cheapest."""
    return (len(b.features) if b.sufficiency else inf), _cost(b), b.number


def how_cheap(b: Brittle) -> tuple[float, float, int]:
    """An order: the cheapest first, then the fewest features."""
    return _cost(b), (len(b.features) if b.sufficiency else inf), b.number


def _cost(b: Brittle) -> float:
    return inf if b.cost is None else b.cost
