"""One greedy search: from a universe of players down to a set that cannot be made smaller.

Written as a generator that asks (`Probe`) and is told the verdicts, so that many searches run
in step and their questions go to the model together.

Shrinking takes the players in a random order and halves: the shortest sufficient prefix ends in a
player that is needed there; that player goes to the front and the rest is tried again (the
dichotomic search for minimal unsatisfiable subsets; Junker's QuickXplain, AAAI 2004, is its
cousin). A set of k out of d players takes about k log d questions. The search acts only on
verdicts it was given, so that PS is not monotone costs it finds, never their correctness: before
a set is returned, every set one smaller was asked about, and for small sets every one inside.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import NamedTuple, TypeAlias

import numpy as np

from suffice.factors.lattice import Lattice
from suffice.typing import BoolVector, Counts, Held

__all__ = ["ALL_INSIDE", "Probe", "Search", "find_one"]

ALL_INSIDE = 5
"""Sets of up to this size are compared with all that is inside: at most 31 subsets."""
_CHAIN = 12


class Probe(NamedTuple):
    """Are these sets sufficient? `quick`: a sequential test will do, for now."""

    sets: Held
    quick: bool


Search: TypeAlias = Generator[Probe, BoolVector, tuple[int, ...] | None]


def find_one(order: Counts, d: int) -> Search:
    """Look for a minimal set among the players in `order`, tried in that order; None: none found.

    >>> search = find_one(np.array([2, 0, 1]), d=3)
    >>> question = next(search)
    >>> try:
    ...     while True:  # sufficient: whatever holds player 0
    ...         question = search.send(question.sets[:, 0])
    ... except StopIteration as end:
    ...     end.value
    (0,)
    """
    for quick in (True, False):
        sufficient = yield from _grow(order, d, quick)
        if sufficient is None:
            return None
        smaller = yield from _shrink(sufficient, d, quick)
        settled = yield from _settle(smaller, d)
        if settled is not None:
            return settled
        # A sequential test passed what the full one does not: once more, by the full one.
    return None


def _grow(order: Counts, d: int, quick: bool) -> Generator[Probe, BoolVector, Counts | None]:
    """All of `order` if it is sufficient, else the first of its prefixes that is.

    More can be less: where the whole is not sufficient, a part of it may be.
    """
    if (yield Probe(_sets([order], d), quick))[0]:
        return order
    lengths = np.unique(np.geomspace(1, max(1, len(order)), _CHAIN).round().astype(int))
    chain = [order[:length] for length in (0, *lengths[lengths < len(order)].tolist())]
    passed = yield Probe(_sets(chain, d), quick)
    return chain[int(np.argmax(passed))] if passed.any() else None


def _shrink(order: Counts, d: int, quick: bool) -> Generator[Probe, BoolVector, Counts]:
    """Drop what can be dropped. `order` is sufficient, and so is what is returned."""
    needed, gap = 0, (len(order) + 1) // 2
    while needed < len(order):
        # Needed players are as far apart as the last two were, or so: go down from there.
        low, high = needed, len(order)
        step = gap
        while high > needed:
            shorter = max(needed, high - step)
            if not (yield Probe(_sets([order[:shorter]], d), quick))[0]:
                low = shorter
                break
            high, step = shorter, 2 * step
        else:
            return order[:needed]
        while high - low > 1:
            middle = (low + high) // 2
            if (yield Probe(_sets([order[:middle]], d), quick))[0]:
                high = middle
            else:
                low = middle
        gap = len(order) - high + 1
        order = np.concatenate([order[high - 1 : high], order[: high - 1]])
        needed += 1
    return order


def _settle(order: Counts, d: int) -> Generator[Probe, BoolVector, tuple[int, ...] | None]:
    """Descend until nothing inside passes the full test; None if the set itself does not."""
    if not (yield Probe(_sets([order], d), False))[0]:
        return None
    while len(order):
        inside = _inside(order)
        passed = yield Probe(_sets(inside, d), False)
        if not passed.any():
            break
        if len(order) <= ALL_INSIDE:
            order = inside[int(np.argmax(passed))]
            continue
        # What can be dropped alone can often be dropped together: 1, 2, 4, … of them.
        spare = np.flatnonzero(passed)[::-1]  # the last in the order first
        together = [np.delete(order, spare[: 1 << k]) for k in range(len(spare).bit_length() + 1)]
        passed = yield Probe(_sets(together, d), False)
        order = together[int(np.flatnonzero(passed)[-1])]
    return tuple(sorted(order.tolist()))


def _inside(order: Counts) -> list[Counts]:
    """The proper subsets to compare a set with, smallest first; or those one smaller."""
    size = len(order)
    if size > ALL_INSIDE:
        return [np.delete(order, i) for i in range(size)]
    lattice = Lattice(size)
    return [order[row] for k in range(size) for row in lattice.members(k)]


def _sets(members: list[Counts], d: int) -> Held:
    out = np.zeros((len(members), d), dtype=bool)
    for row, players in zip(out, members, strict=True):
        row[players] = True
    return out
