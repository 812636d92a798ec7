"""Sets of features as audits add them up: those of all decisions together, and of each alone."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from suffice.audit.decisions import ViewName
from suffice.audit.known import Known
from suffice.errors import InputError
from suffice.factors.lattice import held_of_masks, members_of, over_subsets, sizes_by_mask
from suffice.typing import BoolVector, Counts, Reals
from suffice.wording import and_more

__all__ = ["MOST_FEATURES", "AllFeatures", "Ways", "in_closure", "ways"]

MOST_FEATURES = 20
"""Of whose sets a list is made."""


class AllFeatures:
    """The features of all decisions together, and each decision's sets among theirs.

    A decision whose idle features were left out has fewer players: a set suffices for it as the set
    without them does.
    """

    def __init__(self) -> None:
        self.names: tuple[str, ...] = ()

    def take(self, known: Known) -> None:
        """Learn the names, or refuse a decision about others."""
        if not self.names:
            self.names = (*known.features, *known.idle)
            self._all = frozenset(self.names)
        if known.features == self.names:
            return
        own = frozenset((*known.features, *known.idle))
        if own != self._all:
            odd = and_more(map(repr, sorted(own ^ self._all)), 4)
            got = f"decisions about other features ({odd})"
            hint = "Explain all of them with the same groups."
            raise InputError("explanations", got, "decisions about the same features", hint)

    def places(self, features: tuple[str, ...]) -> tuple[int, ...]:
        """The number of each of a decision's features among all."""
        return _places(features, self.names)

    def outwards(self, features: tuple[str, ...], masks: Iterable[int]) -> list[int]:
        """A decision's own bit masks, over all features."""
        if features == self.names:
            return list(masks)
        places = self.places(features)
        return [_moved(mask, places) for mask in masks]

    def inwards(self, features: tuple[str, ...], masks: Iterable[int]) -> list[int]:
        """Sets of all features as a decision's own bit masks: idle ones fall away."""
        if features == self.names:
            return list(masks)
        places = self.places(features)
        return [sum((mask >> at & 1) << i for i, at in enumerate(places)) for mask in masks]

    def spread(self, features: tuple[str, ...], by_mask: Any) -> Any:
        """What stands by a decision's own bit masks, by those of all features."""
        if features == self.names:
            return by_mask
        return by_mask[_inward_table(self.places(features), len(self.names))]

    def named(self, mask: int) -> tuple[str, ...]:
        """A set of all features by its names."""
        return tuple(self.names[i] for i in members_of(mask))


@lru_cache(maxsize=256)
def _places(features: tuple[str, ...], names: tuple[str, ...]) -> tuple[int, ...]:
    return tuple(map(names.index, features))


def _moved(mask: int, places: tuple[int, ...]) -> int:
    return sum(1 << at for i, at in enumerate(places) if mask >> i & 1)


@lru_cache(maxsize=16)
def _inward_table(places: tuple[int, ...], d: int) -> Counts:
    masks = np.arange(1 << d)
    found = np.zeros_like(masks)
    for i, at in enumerate(places):
        found |= (masks >> at & 1) << i
    return found


def in_closure(minimal: list[int], d: int) -> BoolVector | None:
    """By bit mask: does the set contain a minimal one? None: too many sets to list."""
    if d > MOST_FEATURES:
        return None
    found = np.zeros(1 << d, dtype=bool)
    found[minimal] = True
    return over_subsets(found, np.logical_or)


class Ways(NamedTuple):
    """The hybrids that have a view's outcome, set by set, as D weighs them."""

    inside: BoolVector
    """(sets, features): which features each set holds (flip: replaces), by bit mask."""
    each: Reals
    """By bit mask: how much the set counts in D."""
    weight: Reals
    """That, times the references with the outcome."""

    @property
    def total(self) -> float:
        """Of all sets; 0 where nothing has the outcome."""
        return float(self.weight.sum())

    @property
    def necessities(self) -> Reals:
        """By feature: PN of "at least this one is held" (flip: replaced).

        The same as `view.necessity_of([feature])`, for all features by one product.
        """
        return np.asarray(self.weight @ self.inside) / self.total

    @property
    def expected(self) -> Reals:
        """By feature: how likely D is to hold (flip: replace) it, whatever comes of it."""
        return np.asarray(self.each @ self.inside) / float(self.each.sum())

    def share_with(self, features: list[int]) -> float:
        """The share that has at least one of these."""
        return float(self.weight[self.inside[:, features].any(axis=1)].sum()) / self.total


def ways(known: Known, view: ViewName) -> Ways | None:
    """Of one decision; None where not every set was counted."""
    hits, d = known.hits(view), len(known.features)
    if hits is None:
        return None
    each = known.weights(view)[sizes_by_mask(d)]
    return Ways(_membership(d), each, hits * each)


@lru_cache(maxsize=16)
def _membership(d: int) -> BoolVector:
    return held_of_masks(np.arange(1 << d), d)
