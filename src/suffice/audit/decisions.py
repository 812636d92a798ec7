"""What an audit is about: one decision, several, or a stored portfolio."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from suffice.errors import InputError, NotVisitedError
from suffice.explanation import Explanation, View
from suffice.factors.lattice import members_of
from suffice.typing import VIEWS, Counts, Scalar, ViewName
from suffice.wording import named

__all__ = [
    "FEW",
    "VIEWS",
    "ViewName",
    "as_decisions",
    "count_of",
    "inputs",
    "masks_at",
    "minimal_sets",
    "set_words",
    "spread",
]

FEW = 20
"""Decisions that models are retrained or tools graded on, unless said: it takes long for each."""


def as_decisions(given: Any, argument: str = "explanations") -> Sequence[Explanation]:
    """One explanation, or several, as a sequence; a stored portfolio stays where it is.

    >>> as_decisions([])
    Traceback (most recent call last):
    suffice.errors.InputError: explanations: got none; allowed: at least one explanation.
    """
    if isinstance(given, Explanation):
        return (given,)
    allowed = "an explanation, a list of them, or suffice.load(folder)"
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise InputError(argument, given, allowed)
    found = given if isinstance(given, Sequence) else list(given)
    if not len(found):
        raise InputError(argument, "none", "at least one explanation")
    if not isinstance(found[0], Explanation):
        raise InputError(argument, f"a list of {type(found[0]).__name__}", allowed)
    return found


def inputs(e: Explanation) -> dict[str, Scalar]:
    """The input's values by column."""
    players = (*e.players, *(left.player for left in e.left_out))
    return {name: value for player in players for name, value in player.values.items()}


def masks_at(view: View, tau: float) -> Counts:
    """The bit masks of the τ-minimal sets, in the order of `factors`."""
    profile = view.profile
    if view.tally.complete and profile.findings is None:
        return profile.bars.places[profile.bars.at(tau)]
    lattice = view.tally.lattice
    return np.array([lattice.mask(m.members) for m in profile.minimal_at(tau)], dtype=object)


def minimal_sets(view: View, tau: float) -> Iterator[frozenset[str]]:
    """The τ-minimal sets by the names of their features, in the order of `factors`."""
    names = [player.name for player in view.players]
    for mask in masks_at(view, tau).tolist():
        yield frozenset(names[i] for i in members_of(int(mask)))


def count_of(view: View, features: Iterable[str], tau: float) -> tuple[int | None, bool | None]:
    """For how many references a set of any features suffices, and whether that is enough at τ.

    A feature that the explanation does not know changes no count: it was left out because it cannot
    matter, or the model never had it. (None, None) where the set was not counted.
    """
    wanted, profile = set(features), view.profile
    members = [i for i, player in enumerate(view.players) if player.name in wanted]
    try:
        hits = profile.hits(members)
    except NotVisitedError:
        return None, None
    if profile.alpha is None:
        return hits, hits / view.tally.n >= tau
    if view.tally.complete and profile.findings is None:
        steps = profile.steps
        return hits, bool(steps.taus[steps.passes[view.tally.lattice.mask(members)]] >= tau)
    return hits, profile.p_value(hits, tau) <= profile.alpha


def set_words(features: Sequence[str]) -> str:
    """A set of features, as a table shows it."""
    return ", ".join(map(named, features)) or "nothing"


def spread(few: int, n: int) -> Counts:
    """The numbers of a few of n rows, spread evenly over all; of all where there are no more.

    >>> spread(3, 11).tolist(), spread(3, 2).tolist()
    ([0, 5, 10], [0, 1])
    """
    return np.unique(np.linspace(0, n - 1, min(few, n)).round().astype(np.int64))
