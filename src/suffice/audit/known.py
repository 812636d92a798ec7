"""What is known of each decision, as audits add it up: counts by bit mask, minimal sets, changes.

The general path reads an explanation. Stored ones with all their counts are read group by group
without making an explanation of each (`stored.py`); both give the same numbers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from suffice.audit.decisions import ViewName, as_decisions, inputs, masks_at
from suffice.audit.groups import names_of
from suffice.checks import threshold
from suffice.errors import InputError, NotVisitedError
from suffice.explanation import Change, Explanation, View
from suffice.explanation.changes import CheapestChanges
from suffice.progress import progress_bar
from suffice.typing import BoolVector, Reals, Scalar, SmallCounts

__all__ = ["Known", "Levels", "Priced", "read_decisions"]


class Levels(NamedTuple):
    """By bit mask: the largest τ at which the set suffices is `taus[which[mask]]`.

    That is the share of references itself; or, with a test, the bound that it gives.
    """

    which: SmallCounts
    taus: Reals

    def at_least(self, tau: float) -> BoolVector:
        """Which sets suffice at τ."""
        return np.asarray(self.taus >= tau)[self.which]


class Priced(NamedTuple):
    """Sets of features that were priced, as bit masks, and what the cheapest change costs."""

    masks: Any
    costs: Reals

    def cheapest(self, which: BoolVector) -> int | None:
        """The mask of the cheapest of these; the first of equals; None of none."""
        some = np.flatnonzero(which)
        return int(self.masks[some[self.costs[some].argmin()]]) if len(some) else None


class Known(ABC):
    """One decision. Bit masks are over `features`; those that are `idle` never matter."""

    number: int
    name: str
    outcome: str
    tau: float
    features: tuple[str, ...]
    idle: tuple[str, ...]
    n: int
    """How many references."""
    complete: bool
    """Are all minimal sets known?"""

    @property
    @abstractmethod
    def explanation(self) -> Explanation:
        """The whole of it."""

    @abstractmethod
    def hits(self, view: ViewName) -> SmallCounts | None:
        """References with the view's outcome, by bit mask; None: not every set was counted."""

    @abstractmethod
    def levels(self, view: ViewName) -> Levels:
        """Of every set; only where all were counted."""

    @abstractmethod
    def minimal(self, view: ViewName) -> list[int]:
        """The τ-minimal sets, in the order of `factors`."""

    @abstractmethod
    def weights(self, view: ViewName) -> Reals:
        """By size: how much a set counts in D."""

    def size_weights(self, view: ViewName) -> tuple[float, ...] | None:
        """How likely D is to hold (flip: replace) so many features; None: all sets alike."""
        return None

    @abstractmethod
    def values(self, player: int) -> Mapping[str, Scalar]:
        """The input's values of one feature's columns."""

    @property
    @abstractmethod
    def inputs(self) -> Mapping[str, Scalar]:
        """The input's values by column."""

    @property
    @abstractmethod
    def priced(self) -> Priced:
        """The changes that flip, set by set."""

    @abstractmethod
    def change(self, mask: int) -> Change:
        """The cheapest change of a set that was priced."""

    @property
    @abstractmethod
    def cheapest_cost(self) -> float | None:
        """Of the cheapest change of all."""

    @property
    @abstractmethod
    def cheapest(self) -> Change | None:
        """The cheapest change of all."""

    @property
    def counted(self) -> bool:
        """Was every set counted, in both views?"""
        return self.hits("keep") is not None and self.hits("flip") is not None

    def mask(self, names: Iterable[str]) -> int:
        """A set by its names, without those that never matter."""
        wanted = set(names)
        return sum(1 << i for i, name in enumerate(self.features) if name in wanted)

    def count(self, view: ViewName, mask: int) -> int | None:
        """References with the view's outcome; None where this set was not counted."""
        hits = self.hits(view)
        if hits is not None:
            return int(hits[mask])
        profile = getattr(self.explanation, view).profile
        try:
            return int(profile.hits([i for i in range(len(self.features)) if mask >> i & 1]))
        except NotVisitedError:
            return None

    def require_counts(self) -> None:
        """Refuse a decision of which not every set was counted."""
        if self.counted:
            return
        got = f"decision {self.name}, of which not every set was counted"
        allowed = "decisions with all their counts"
        hint = (
            "Explain with search='exhaustive' and fewer features (groups); where they are stored, "
            "write them with counts=True."
        )
        raise InputError("explanations", got, allowed, hint)


class FromExplanation(Known):
    """The general path."""

    def __init__(self, number: int, name: str, e: Explanation, tau: float | None) -> None:
        self.number, self.name, self._e = number, name, e
        self.outcome, self.tau = e.outcome, e.tau if tau is None else tau
        self.features = tuple(player.name for player in e.players)
        self.idle = tuple(left.player.name for left in e.left_out)
        self.n, self.complete = e.keep_profile.tally.n, e.complete

    @property
    def explanation(self) -> Explanation:
        return self._e

    def hits(self, view: ViewName) -> SmallCounts | None:
        tally = self._view(view).tally
        return tally.dense if tally.complete else None

    def levels(self, view: ViewName) -> Levels:
        steps = self._view(view).profile.steps
        return Levels(steps.passes, steps.taus)

    def minimal(self, view: ViewName) -> list[int]:
        try:
            return [int(mask) for mask in masks_at(self._view(view), self.tau)]
        except NotVisitedError as error:
            got = f"{self.tau:g}, and decision {self.name} was decided at τ = {self._e.tau:g} only"
            allowed = "None: each decision's own"
            hint = "Or explain with search='exhaustive', and store with counts=True."
            raise InputError("tau", got, allowed, hint) from error

    def weights(self, view: ViewName) -> Reals:
        return self._view(view).profile.weights

    def size_weights(self, view: ViewName) -> tuple[float, ...] | None:
        return self._view(view).profile.size_weights

    def values(self, player: int) -> Mapping[str, Scalar]:
        return self._e.players[player].values

    @property
    def inputs(self) -> Mapping[str, Scalar]:
        return inputs(self._e)

    @property
    def priced(self) -> Priced:
        changes = self._e.changes
        if isinstance(changes, CheapestChanges):
            masks, costs = changes.priced.masks, changes.priced.costs
        else:
            masks, costs = list(changes), np.array([c.cost for c in changes.values()], dtype=float)
        return Priced(np.array(masks, dtype=object), np.asarray(costs, dtype=float))

    def change(self, mask: int) -> Change:
        return self._e.changes[mask]

    @property
    def cheapest_cost(self) -> float | None:
        return None if self._e.cheapest is None else self._e.cheapest.cost

    @property
    def cheapest(self) -> Change | None:
        return self._e.cheapest

    def _view(self, view: ViewName) -> View:
        return self._e.keep if view == "keep" else self._e.flip


def read_decisions(
    given: Any, *, tau: float | None, ids: Sequence[Any] | None, progress: bool | None
) -> Iterator[Known]:
    """Decisions one after another, at their own τ or at this one."""
    found = as_decisions(given)
    asked = None if tau is None else threshold(tau)
    called = names_of(found, ids)
    with progress_bar("decisions", len(found), progress) as bar:
        for known in _each(found, called, asked):
            yield known
            bar.update(1)


def _each(
    found: Sequence[Explanation], called: Sequence[str], tau: float | None
) -> Iterator[Known]:
    stored: Any = found
    if hasattr(stored, "tables"):  # what was loaded; where nothing was, pyarrow need not be there
        from suffice.audit.stored import from_stored

        yield from from_stored(stored, called, tau)
        return
    for number, e in enumerate(found):
        if not isinstance(e, Explanation):
            raise InputError("explanations", f"a {type(e).__name__} among them", "explanations")
        yield FromExplanation(number, called[number], e, tau)
