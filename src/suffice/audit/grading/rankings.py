"""Rankings of features, however they are given: by scores or by order, by column or by group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.checks import number
from suffice.errors import InputError
from suffice.factors.reading import condition_column

if TYPE_CHECKING:
    from suffice.audit.grading.claims import About

__all__ = ["Ranking", "ranking_of_pairs", "ranking_of_scores"]


@dataclass(frozen=True)
class Ranking:
    """Features, the most important first: all of them, or only those that the tool names."""

    features: tuple[str, ...]
    scores: tuple[float, ...] | None = None
    """In the same order; None where only the order is known."""

    @classmethod
    def of_names(cls, names: Sequence[str]) -> Ranking:
        """In the order of the names; a group stands where its first column does."""
        return cls(tuple(dict.fromkeys(names)))


def ranking_of_scores(scores: Any, about: About, by_size: bool = True) -> Ranking:
    """Scores in the order of the features, or of the columns where there are groups."""
    values = np.asarray(scores)
    if values.ndim == 2 and 1 in values.shape:
        values = values.ravel()
    names = about.players.names
    if values.ndim == 1 and len(values) != len(names):
        names = about.data.names
    if values.ndim != 1 or len(values) != len(names):
        got = f"scores of shape {values.shape}"
        hint = "Of several classes or rows, pass one: values[i]."
        raise InputError("other", got, f"one for each of the {len(names)} features", hint)
    return _ranked(list(zip(names, values.tolist(), strict=True)), about, by_size)


def ranking_of_pairs(pairs: Sequence[tuple[Any, Any]], about: About) -> Ranking:
    """Scores by name; a name may be a condition, as LIME has it, on a column.

    Features that are not named are not ranked.
    """
    named = []
    for name, score in pairs:
        text = name if isinstance(name, str) else str(name)
        known = text in about.players.names
        named.append((text if known else condition_column(text, about.data, "other"), score))
    return _ranked(named, about)


def _ranked(pairs: Sequence[tuple[str, Any]], about: About, by_size: bool = True) -> Ranking:
    """A group's score is the sum of its columns': Shapley values and weights add up."""
    if about.absolute is not None:
        by_size = about.absolute
    totals: dict[str, float] = {}
    for name, score in pairs:
        allowed = f"a finite number for {name!r}"
        value = number("other", score, allowed)
        player = about.player(name)
        if player == name and player in totals:
            raise InputError("other", f"two scores for {name!r}", "one for each feature")
        totals[player] = totals.get(player, 0.0) + value
    if not totals:
        raise InputError("other", "no scores", "one for each feature")
    order = {name: place for place, name in enumerate(about.players.names)}
    ranked = sorted(
        totals,
        key=lambda name: (-(abs(totals[name]) if by_size else totals[name]), order[name]),
    )
    return Ranking(tuple(ranked), tuple(totals[name] for name in ranked))
