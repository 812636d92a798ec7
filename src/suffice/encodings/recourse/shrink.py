"""Options among large sets: a reference's whole change, less what it does not need.

Many features have more sets than can be looked at. But a reference with the desired outcome *is* a
change that works, if a dear one. Taken in the order of some preference, a first part of it works
already; that part is found by halving, and then whatever can be dropped is dropped, the dearest
first. What is left works, and does not without any one of its features. References are taken from
the cheapest on, all of a block together, so that the model is asked about many rows at once.

The first preference is for cheap features, the second for those that were of use before, and then
chance decides, with cheap features more likely to come first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from suffice.context.cost import SetCosts, total_costs
from suffice.encodings.recourse.constraints import AllowedReferences, Constraints
from suffice.evaluate import Evaluator, LatticeEvaluator
from suffice.factors.order import no_dearer
from suffice.randomness import Stream, generator
from suffice.search.limits import LimitKeeper, LimitReached
from suffice.typing import BoolVector, Counts, Held, Outcomes, Reals

__all__ = ["Change", "LargeSets", "undominated"]

_FIRST, _TOGETHER = 64, 256
"""References whose changes are made small together: few at first, so that something is found."""
_AT_RANDOM = 8
"""Rounds through the references in which chance decides the order of features."""
_FRUITLESS = 4
"""So many blocks in a row that bring nothing new end the search."""
_PAIRS = 1 << 13
"""A set with more smaller changes than this is not checked for them."""
_HYBRIDS = 1 << 18
"""Hybrids counted together."""
_CELLS = 1 << 21
"""Nor one whose subsets have more hybrids."""


@dataclass(frozen=True)
class Change:
    """A set of players, the cheapest reference known to succeed on it, and the counts if known."""

    members: tuple[int, ...]
    cost: float
    reference: int
    n: int = 0
    hits: int | None = None
    """None: not counted."""


@dataclass(eq=False)
class LargeSets:
    """Looks for changes of large sets, for one input under some constraints."""

    evaluator: Evaluator
    model: Evaluator
    """The model itself, for what must be there before any engine is ready."""
    allowed: AllowedReferences
    constraints: Constraints
    costs: Reals
    """(references, players)."""
    changes: Held
    """(references, players): is the reference's value another than the input's?"""
    keeper: LimitKeeper
    seed: int
    known: dict[tuple[int, ...], Change] = field(default_factory=dict)
    of_use: set[int] = field(default_factory=set)
    """References whose change works, or a part of it."""

    def find_whole(self) -> None:
        """Ask the model itself whether the cheapest references' whole changes work."""
        with suppress(LimitReached):
            references = self._by_cost[:_FIRST]
            works = self._works(self._usable[references], references, self.model)
            self._note_all(references[works], self._usable[references[works]])

    @cached_property
    def _usable(self) -> Held:
        """(references, players): does the value differ, is it allowed, and can it be paid for?"""
        return self.changes & self.allowed.alone() & np.isfinite(self.costs)

    @cached_property
    def _by_cost(self) -> Counts:
        """The references by what their whole change costs."""
        order = np.argsort(np.where(self._usable, self.costs, 0.0).sum(axis=1), kind="stable")
        return order[self._usable[order].any(axis=1)]

    def find(self) -> None:
        """Make the references' changes small, until nothing new is found or a limit is reached."""
        usable, by_cost = self._usable, self._by_cost
        fruitless = 0
        try:
            for round_, preference in enumerate(self._preferences()):
                for references in _blocks(by_cost):
                    new = self._shrink(references, usable[references], preference[references])
                    fruitless = 0 if new else fruitless + 1
                    if round_ > 1 and fruitless >= _FRUITLESS:
                        return
        except LimitReached:
            return

    def _preferences(self) -> Iterator[Reals]:
        """(references, players): features with small numbers come first."""
        yield self.costs
        used = np.zeros(self.costs.shape[1])
        for change in self.known.values():
            used[list(change.members)] += 1
        yield self.costs / (1 + used)
        for round_ in range(_AT_RANDOM):
            rng = generator(self.seed, Stream.STARTS, round_)
            yield self.costs * rng.exponential(size=self.costs.shape) / (1 + used)

    # -- one block of references ----------------------------------------------------------

    def _shrink(self, references: Counts, usable: Held, preference: Reals) -> int:
        """Make these references' changes small; how many of them are new and worth having."""
        order = np.argsort(np.where(usable, preference, np.inf), axis=1, kind="stable")
        place = np.argsort(order, axis=1)  # of each player in its reference's order
        length = usable.sum(axis=1)
        works = np.zeros(len(references), dtype=np.int64)
        before = len(self.known)
        try:
            self._first_part(references, place, length, works)
        finally:  # where a limit ends it, what works so far works
            some = works > 0
            references, members = references[some], place[some] < works[some, None]
            self.of_use |= set(references.tolist())
            try:
                self._drop(references, members)
            finally:
                self._note_all(references, members)
        return len(self.known) - before

    def _note_all(self, references: Counts, members: Held) -> None:
        costs = total_costs(np.where(members, self.costs[references], 0.0))
        for i in np.argsort(costs, kind="stable"):
            found = tuple(np.flatnonzero(members[i]).tolist())
            self.note(Change(found, float(costs[i]), int(references[i])))

    def note(self, change: Change) -> None:
        """Remember a change that works, if it may be an option and is its set's cheapest."""
        constraints, old = self.constraints, self.known.get(change.members)
        too_large = constraints.max_size is not None and len(change.members) > constraints.max_size
        if too_large or not no_dearer(change.cost, constraints.max_cost):
            return
        if old is None or change.cost < old.cost:
            self.known[change.members] = change

    def _first_part(self, references: Counts, place: Counts, length: Counts, works: Counts) -> None:
        """Write into `works` how many features of each order work, and do not without the last.

        If all do not, which constraints can bring about, then halves, quarters and so on are tried.
        """
        searching = length > 0
        while searching.any():
            at = np.flatnonzero(searching)
            found = self._works(place[at] < length[at, None], references[at])
            works[at[found]] = length[at[found]]
            length = length // 2
            searching &= (works == 0) & (length > 0)
        low = np.zeros_like(works)
        while (open_ := works - low > 1).any():
            at = np.flatnonzero(open_)
            middle = (low[at] + works[at]) // 2
            found = self._works(place[at] < middle[:, None], references[at])
            works[at[found]], low[at[~found]] = middle[found], middle[~found]

    def _drop(self, references: Counts, members: Held) -> None:
        """Leave out features, the dearest first, where the rest still works: in place.

        First many together, then ever fewer, at last each alone until none can be left out.
        """
        piece = int(members.sum(axis=1).max(initial=0)) // 2
        changing = np.ones(len(members), dtype=bool)
        while changing.any():
            piece = max(1, piece)
            dropped = self._drop_pieces(references, members, piece, changing)
            if piece == 1:  # dropping one may make another needless that was not before
                changing = dropped
            piece //= 2

    def _drop_pieces(
        self, references: Counts, members: Held, piece: int, changing: BoolVector
    ) -> BoolVector:
        """Try to do without each run of so many features; which changes became smaller."""
        price = np.where(members, self.costs[references], -1.0)
        dearest = np.argsort(-price, axis=1, kind="stable")
        sizes = members.sum(axis=1)
        dropped = np.zeros(len(members), dtype=bool)
        for start in range(0, int(sizes[changing].max(initial=0)), piece):
            at = np.flatnonzero(changing & (start < sizes))
            trial = members[at]
            np.put_along_axis(trial, dearest[at, start : start + piece], False, axis=1)
            works = self._works(trial, references[at])
            members[at[works]] = trial[works]
            dropped[at[works]] = True
        return dropped

    def _works(
        self, members: Held, references: Counts, evaluator: Evaluator | None = None
    ) -> BoolVector:
        """Is each change allowed, and does it give the desired outcome?"""
        out = self.allowed.pairs(members, references) & members.any(axis=1)
        at = np.flatnonzero(out)
        held = ~members[at]
        kept = self.keeper.ask(evaluator or self.evaluator, held, references[at])
        if len(kept) < len(at):
            self.keeper.check()
            raise AssertionError("a limit left rows out and then forbids nothing")
        out[at] = ~kept
        return out

    # -- sets on all references -----------------------------------------------------------

    def count(self, sets: Sequence[tuple[int, ...]]) -> list[Change | None]:
        """Each set's counts over the references, and its cheapest change; None: none succeeds."""
        which = self._which(sets)
        kept, ok = self._kept(which), self.allowed.on(which)
        works = ok & ~kept
        prices = np.where(works, SetCosts(self.costs).of(which), np.inf)
        best = prices.argmin(axis=1)
        out: list[Change | None] = []
        for i, members in enumerate(sets):
            cost, counts = float(prices[i, best[i]]), (int(ok[i].sum()), int(works[i].sum()))
            out.append(Change(members, cost, int(best[i]), *counts) if cost < np.inf else None)
        return out

    def _which(self, sets: Sequence[tuple[int, ...]]) -> Held:
        out = np.zeros((len(sets), self.costs.shape[1]), dtype=bool)
        for i, members in enumerate(sets):
            out[i, list(members)] = True
        return out

    def reaches(self, change: Change) -> bool:
        """Is the set's sufficiency, once counted, as large as it must be?"""
        tau = self.constraints.tau
        if tau is None:
            return True
        return change.hits is not None and change.n > 0 and change.hits / change.n >= tau

    def inside(self, change: Change, known_size: int) -> list[tuple[int, ...]] | None:
        """The sets strictly inside one with a change that works and costs no more.

        Those of up to `known_size` players are left out: all that they have is known. None: there
        are too many to look at.
        """
        size, n = len(change.members), len(self.costs)
        if n << size > _CELLS:
            return None
        masks = np.arange(1, (1 << size) - 1)
        masks = masks[np.bitwise_count(masks.astype(np.uint32)) > known_size]
        part = (masks[:, None] >> np.arange(size) & 1).astype(bool)
        which = np.zeros((len(part), self.costs.shape[1]), dtype=bool)
        which[:, list(change.members)] = part
        cheap = no_dearer(SetCosts(self.costs[:, list(change.members)]).of(part), change.cost)
        if isinstance(self.evaluator, LatticeEvaluator):
            # An engine is many times faster on sets with all references than on single hybrids.
            works = cheap & self.allowed.on(which) & ~self._kept(which)
        elif cheap.sum() > _PAIRS:
            return None
        else:
            sets, references = np.nonzero(cheap)
            works = np.zeros_like(cheap)
            works[sets, references] = self._works(which[sets], references)
        found = which[works.any(axis=1)]
        return [tuple(np.flatnonzero(row).tolist()) for row in found]

    def _kept(self, which: Held) -> Outcomes:
        """(sets, references): does replacing the set keep the outcome? As far as limits allow."""
        n, parts = self.evaluator.n, [np.empty((0, self.evaluator.n), dtype=bool)]
        done = 0
        while done < len(which):
            some = which[done : done + self.keeper.batch(_HYBRIDS, n)]
            if not len(some):
                self.keeper.check(n)
            with self.keeper.counting(self.evaluator, len(some) * n):
                parts.append(self.evaluator.outcomes(~some))
            done += len(some)
        return np.concatenate(parts)


def _blocks(references: Counts) -> Iterator[Counts]:
    start, size = 0, _FIRST
    while start < len(references):
        yield references[start : start + size]
        start, size = start + size, min(4 * size, _TOGETHER)


def undominated(changes: list[Change], d: int) -> list[Change]:
    """Those with no set inside them that costs as little: the cheapest first, then the smallest."""
    changes = sorted(changes, key=lambda change: (change.cost, len(change.members), change.members))
    costs = np.array([change.cost for change in changes])
    sets = np.zeros((len(changes), d), dtype=bool)
    for i, change in enumerate(changes):
        sets[i, list(change.members)] = True
    kept = np.ones(len(changes), dtype=bool)
    for i in range(len(changes)):
        if kept[i]:
            around = (sets[i] <= sets).all(axis=1) & no_dearer(costs[i], costs)
            # The same set twice: the first, which is the cheapest, stays.
            around &= (sets[i] < sets).any(axis=1) | (np.arange(len(sets)) > i)
            kept &= ~around
    return [change for change, stays in zip(changes, kept, strict=True) if stays]
