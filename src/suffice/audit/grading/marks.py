"""One set of features, held against every other: how surely it suffices, and what would do as well.

A set *does as well* as another if it reaches τ where the other does, and else is at least as
sufficient. So what can be left out of a set that suffices leaves a set that suffices.

Where every set was counted, all of this is read from the counts. Where not, the sets that are asked
about are counted by asking the model, and what only all sets could tell is None.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb

import numpy as np

from suffice.checks import number, whole
from suffice.decision import Decision
from suffice.errors import InputError, NotVisitedError
from suffice.explanation import View
from suffice.factors.lattice import members_of, sizes_by_mask
from suffice.inference import clopper_pearson, fewest_hits
from suffice.typing import Counts

__all__ = ["Mark", "Marker"]

_SUBSETS = 1 << 12
"""So many sets inside one are asked about, where not all are counted."""


@dataclass(frozen=True)
class Mark:
    """One set of features and what was possible instead."""

    features: tuple[str, ...]
    n: int
    """How many references."""
    hits: int
    """For how many of them the set suffices."""
    reaches: bool
    """Is that a share τ of them?"""
    necessity: float | None
    """PN: of the hybrids with the outcome, the share in which at least these features are held
    (flip: replaced). None where not every set was counted."""
    best: tuple[str, ...] | None
    """A set of as many features that suffices most surely; None where that is not known."""
    best_hits: int | None
    better: int | None
    """Of the sets of this size, how many suffice more surely."""
    worse: int | None
    """And how many less."""
    sets: int | None
    """How many there are; None where not all were counted."""
    spare: tuple[str, ...] | None
    """The most that can be left out, so that the rest does as well: () for nothing, None where that
    is not known."""
    smaller: tuple[str, ...] | None
    """The smallest set of any features that does as well; None where none smaller is known."""

    def __post_init__(self) -> None:
        whole("n", self.n)
        whole("hits", self.hits, 0, self.n)
        if self.best_hits is not None:
            whole("best_hits", self.best_hits, self.hits, self.n)
        if self.necessity is not None:
            number("necessity", self.necessity, "a share", least=0, most=1)
        counts = self.better, self.worse, self.sets
        if any(count is not None for count in counts):
            better, worse, sets = (whole("better, worse, sets", count, 0) for count in counts)
            whole("sets", sets, better + worse + 1)
        if (self.best is None) != (self.best_hits is None):
            raise InputError("best", self.best, "a set with its hits, or neither")
        if not set(self.spare or ()) <= set(self.features):
            raise InputError("spare", self.spare, "some of the set's features")

    @property
    def size(self) -> int:
        """How many features it names."""
        return len(self.features)

    @property
    def sufficiency(self) -> float:
        """PS: the share of references for which the outcome came about."""
        return self.hits / self.n

    @property
    def interval(self) -> tuple[float, float]:
        """Exact 95% Clopper–Pearson interval, reading the references as a sample."""
        low, high = clopper_pearson(self.hits, self.n)
        return float(low), float(high)

    @property
    def best_sufficiency(self) -> float | None:
        """What a set of this size can reach."""
        return None if self.best_hits is None else self.best_hits / self.n

    @property
    def as_good(self) -> bool | None:
        """Does no set of this size suffice more surely?"""
        return None if self.better is None else self.better == 0

    @property
    def beats(self) -> float | None:
        """Of the other sets of this size, the share that suffice less surely; None where there is
        no other."""
        if self.worse is None or self.sets is None or self.sets < 2:
            return None
        return self.worse / (self.sets - 1)

    @property
    def minimal(self) -> bool | None:
        """Is it τ-minimal (Def. 4): does it reach τ, and nothing inside it? None: not known."""
        if not self.reaches:
            return False
        return None if self.spare is None else not self.spare


class Marker:
    """Marks sets of one view of one decision."""

    def __init__(self, view: View, decision: Decision) -> None:
        self.view, self._decision = view, decision
        self._tally = view.tally
        self.n = view.tally.n
        self._names = tuple(player.name for player in view.players)
        self._idle = tuple(left.player.name for left in view.explanation.left_out)

    @property
    def names(self) -> tuple[str, ...]:
        """All features, in the data's order."""
        known = {*self._names, *self._idle}
        return tuple(name for name in self._decision.players.names if name in known)

    @cached_property
    def needed(self) -> int:
        """The fewest references that are a share τ of them."""
        return fewest_hits(self.n, self.view.tau)

    def mark(self, features: Iterable[str]) -> Mark:
        """Everything about one set."""
        asked = set(features)
        features = tuple(name for name in self.names if name in asked)
        size = len(features)
        (hits,) = self.hits([features])
        level = min(hits, self.needed)
        best, best_hits = self.best(size) or (None, None)
        better, worse, sets = self._rank(size, hits) or (None, None, None)
        inside = self._smallest_inside(features, level)
        return Mark(
            features=features,
            n=self.n,
            hits=hits,
            reaches=hits >= self.needed,
            necessity=self.view.necessity_of(features) if self._tally.complete else None,
            best=best,
            best_hits=best_hits,
            better=better,
            worse=worse,
            sets=sets,
            spare=None if inside is None else tuple(f for f in features if f not in inside),
            smaller=self._smallest(level, size),
        )

    def hits(self, sets: Sequence[Iterable[str]]) -> list[int]:
        """For how many references each set suffices: from the counts, or by asking."""
        try:
            return [round(self.view.sufficiency(list(one)) * self.n) for one in sets]
        except NotVisitedError:
            return self._asked(sets)

    def best(self, size: int) -> tuple[tuple[str, ...], int] | None:
        """The surest set of this size, the first in the lattice's order, and its hits."""
        found: tuple[int, int, int] | None = None
        for of_players, _ in self._levels(size):
            level = self._level(of_players)
            if level is None:
                return None
            place = int(level.argmax())
            if found is None or level[place] > found[0]:
                found = int(level[place]), of_players, place
        if found is None:
            return None
        hits, of_players, place = found
        members = self._tally.lattice.members(of_players, place, place + 1)[0].tolist()
        chosen = {*(self._names[m] for m in members), *self._idle[: size - of_players]}
        return tuple(name for name in self.names if name in chosen), hits

    def smallest(self) -> tuple[str, ...] | None:
        """The smallest set that reaches τ, of several the surest; None where none is known."""
        return self.view[0].features if len(self.view) else None

    # -- all sets of a size ---------------------------------------------------------------

    def _levels(self, size: int) -> Iterator[tuple[int, int]]:
        """How many of a set's features may matter, and in how many ways the others are chosen."""
        idle = len(self._idle)
        for of_players in range(min(size, len(self._names)), max(0, size - idle) - 1, -1):
            yield of_players, comb(idle, size - of_players)

    def _level(self, size: int) -> Counts | None:
        """The hits of all sets of players of this size; None where not all were counted."""
        tally = self._tally
        return tally.levels[size] if tally.listed(size) == tally.lattice.width(size) else None

    def _rank(self, size: int, hits: int) -> tuple[int, int, int] | None:
        """Of the sets of this size: how many have more hits, how many fewer, and how many all."""
        better = worse = sets = 0
        for of_players, ways in self._levels(size):
            level = self._level(of_players)
            if level is None:
                return None
            better += ways * int((level > hits).sum())
            worse += ways * int((level < hits).sum())
            sets += ways * len(level)
        return better, worse, sets

    def _smallest(self, level: int, below: int) -> tuple[str, ...] | None:
        """The smallest set of any features with so many hits, of several the surest."""
        for size in range(min(below, len(self._names) + 1)):
            counts = self._level(size)
            if counts is None:
                break
            if len(counts) and counts.max() >= level:
                found = self.best(size)
                return None if found is None else found[0]
        if level < self.needed:
            return None
        known = self.smallest()
        return known if known is not None and len(known) < below else None

    # -- inside one set -------------------------------------------------------------------

    def _smallest_inside(self, features: tuple[str, ...], level: int) -> tuple[str, ...] | None:
        """The smallest set inside (perhaps the set itself) with so many hits, of several the
        surest; None where there are too many to ask about."""
        matter = tuple(name for name in features if name in self._names)
        if self._tally.complete:
            hits = self._inside(matter)
            sizes = sizes_by_mask(len(matter))
            does = np.flatnonzero(hits >= level)
            does = does[sizes[does] == sizes[does].min()]
            best = does[hits[does].argmax()]
            return tuple(matter[m] for m in members_of(int(best)))
        if 1 << len(matter) > _SUBSETS:
            return None
        for size in range(len(matter) + 1):
            sets = list(combinations(matter, size))
            found = self.hits(sets)
            if max(found) >= level:
                return sets[int(np.argmax(found))]
        return matter

    def _inside(self, features: tuple[str, ...]) -> Counts:
        """The hits of all sets inside one, by bit mask over its own features."""
        d = len(self._names)
        cube = self._tally.dense.reshape((2,) * d)  # the last axis is the first player
        index = tuple(
            slice(None) if self._names[d - 1 - axis] in features else 0 for axis in range(d)
        )
        return np.asarray(cube[index], dtype=np.int64).ravel()

    def _asked(self, sets: Sequence[Iterable[str]]) -> list[int]:
        """The same counts, by asking the model about each set's hybrids."""
        players = self._decision.players
        held = np.zeros((len(sets), len(players)), dtype=bool)
        for row, one in zip(held, sets, strict=True):
            row[list(players.numbers(list(one), "other"))] = True
        keep, flip = self._decision.hybrids
        if self.view.name == "keep":
            outcomes = self._decision.evaluator(keep, exhaustive=False).outcomes(held)
        else:
            outcomes = ~self._decision.evaluator(flip, exhaustive=False).outcomes(~held)
        return [int(count) for count in outcomes.sum(axis=1)]
