"""What an audit is about: one decision, several, or a stored portfolio, read one after another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from suffice.errors import InputError
from suffice.explanation import Explanation, View
from suffice.typing import BoolVector, Counts, Reals, Scalar
from suffice.wording import and_more, named, show

__all__ = [
    "By",
    "ViewName",
    "as_decisions",
    "group_of",
    "in_closure",
    "inputs",
    "label_of",
    "masks_at",
    "membership",
    "names_of",
    "necessities",
    "same_features",
    "set_words",
    "views",
]

By = str | Callable[[Explanation], Any] | Sequence[Any] | None
"""How decisions are told apart: a column of the input, a function of the explanation, or a label
for each."""

ViewName = Literal["keep", "flip"]

_MOST_PLAYERS = 20
"""Of whose sets a closure can be listed."""


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


def views(e: Explanation) -> tuple[View, View]:
    """Both views, keep first."""
    return e.keep, e.flip


def inputs(e: Explanation) -> dict[str, Scalar]:
    """The input's values by column."""
    players = (*e.players, *(left.player for left in e.left_out))
    return {name: value for player in players for name, value in player.values.items()}


def group_of(by: By, decisions: Sequence[Explanation]) -> Iterator[Any]:
    """Each decision's group, in order; all the same where none was asked for."""
    if by is None:
        yield from (None for _ in decisions)
    elif isinstance(by, str):
        for e in decisions:
            values = inputs(e)
            if by not in values:
                known = and_more(map(repr, values))
                raise InputError("by", repr(by), f"a column of the inputs: {known}")
            yield values[by]
    elif callable(by):
        yield from (by(e) for e in decisions)
    else:
        if not isinstance(by, Iterable) or len(by) != len(decisions):
            got = f"{len(by)} labels" if isinstance(by, Iterable) else by
            raise InputError("by", got, f"one for each of the {len(decisions)} decisions")
        yield from by


def label_of(group: Any) -> str | None:
    """A group's name, as it is shown."""
    return group if group is None or isinstance(group, str) else show(group)


def names_of(decisions: Sequence[Explanation], ids: Sequence[Any] | None) -> list[str]:
    """What each decision is called: as it was given, or its number."""
    if ids is None:
        return [str(number) for number in range(len(decisions))]
    if len(ids) != len(decisions):
        allowed = f"one for each of the {len(decisions)} decisions"
        raise InputError("ids", f"{len(ids)} names", allowed)
    return [str(name) for name in ids]


def set_words(features: Sequence[str]) -> str:
    """A set of features, as a table shows it."""
    return ", ".join(map(named, features)) or "nothing"


def same_features(names: tuple[str, ...], e: Explanation) -> None:
    """Decisions can be added up only where they are about the same features."""
    own = tuple(player.name for player in e.players)
    if own != names:
        odd = sorted(set(own) ^ set(names)) or list(own)
        hint = (
            "Explain all of them with the same groups, and with search='exhaustive' where features "
            "that cannot matter were left out."
        )
        got = f"decisions about other features ({and_more(map(repr, odd), 4)})"
        raise InputError("explanations", got, "decisions about the same features", hint)


def masks_at(view: View, tau: float) -> Counts:
    """The bit masks of the τ-minimal sets, in the order of `factors`."""
    profile = view.profile
    if view.tally.complete and profile.findings is None:
        return profile.bars.places[profile.bars.at(tau)]
    lattice = view.tally.lattice
    return np.array([lattice.mask(m.members) for m in profile.minimal_at(tau)], dtype=object)


def in_closure(view: View, tau: float) -> BoolVector | None:
    """By bit mask: does the set contain a τ-minimal one? None: too many sets to list.

    Where every set was counted its reach says so; else the minimal sets that are known do.
    """
    d, profile = len(view.players), view.profile
    if d > _MOST_PLAYERS:
        return None
    if view.tally.complete and profile.findings is None:
        steps = profile.steps
        return np.asarray(steps.taus[steps.reach] >= tau)
    masks = np.arange(1 << d)
    found = np.zeros(len(masks), dtype=bool)
    for minimal in masks_at(view, tau):
        found |= (masks & int(minimal)) == int(minimal)
    return found


def necessities(view: View) -> Reals | None:
    """By feature: PN of "at least this one is held" (flip: replaced); None where it is not known.

    The same as `view.necessity_of([feature])`, for all features by one product.
    """
    if not view.tally.complete or view.explanation.left_out:
        return None
    d = len(view.players)
    inside = membership(d)
    weight = view.tally.dense * view.profile.weights[inside.sum(axis=1)]
    total = float(weight.sum())
    return np.asarray(weight @ inside) / total if total else None


@lru_cache(maxsize=16)
def membership(d: int) -> BoolVector:
    """(2^d, d): which features each set has, by bit mask."""
    return np.asarray(np.arange(1 << d)[:, None] >> np.arange(d) & 1, dtype=bool)
