"""Figure 2: the features that an attribution ranks first, against the best set of that size.

A ranking scores features one by one, so its first k need not suffice well together. The sweep
counted every set of k features: the best of them shows what the ranking leaves on the table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.encodings.shapley import check_view, shapley_values
from suffice.errors import InputError, NotVisitedError, did_you_mean
from suffice.explanation.view import View
from suffice.search.tally import UNSEEN

__all__ = ["Ranking", "TopK", "top_k"]

Ranking = Mapping[str, float] | Sequence[float] | Sequence[str]


@dataclass(frozen=True)
class TopK:
    """A ranking's first k features beside the best set of that size (Fig. 2)."""

    k: int
    features: tuple[str, ...]
    """The k features ranked highest, the first one first."""
    sufficiency: float
    """Their PS."""
    best: tuple[str, ...]
    """The set of k features with the highest PS; of several, the first in the lattice's order."""
    best_sufficiency: float
    """Its PS: never less than the ranking's."""


def top_k(view: View, k: int, ranking: Ranking | None = None, absolute: bool = False) -> TopK:
    """How much the k features that a ranking puts first suffice, and how much any k could.

    Parameters
    ----------
    view
        `e.keep` or `e.flip`, with all sets of k features evaluated.
    k
        How many features: 0, 1, …, d.
    ranking
        Scores by feature (a mapping or a series), scores in the order of the features (one row of
        shap's values), or names, the most important first. None: the exact Shapley values, for
        which all subsets must have been evaluated. Equal scores rank in the order of the features.
    absolute
        Rank by the size of scores, whatever their sign.
    """
    check_view(view)
    tally, names = view.tally, [player.name for player in view.players]
    if not isinstance(k, int | np.integer) or not 0 <= k <= tally.d:
        raise InputError("k", k, f"a whole number from 0 to the {tally.d} features")
    k = int(k)
    level = tally.levels[k]
    if len(level) < tally.lattice.width(k) or (level == UNSEEN).any():
        raise NotVisitedError(
            f"not all sets of {k} features were evaluated: the search was bounded, and exhaustive "
            f"up to size {tally.exhaustive_size}. Raise max_size, budget or time_limit."
        )
    first = _ranked(shapley_values(view) if ranking is None else ranking, names, absolute)[:k]
    place = int(level.argmax())
    members = tally.lattice.members(k, place, place + 1)[0].tolist()
    return TopK(
        k,
        tuple(first),
        view.sufficiency(first),
        tuple(names[m] for m in members),
        int(level[place]) / tally.n,
    )


def _ranked(ranking: Ranking, names: list[str], absolute: bool) -> list[str]:
    """The names, the one ranked highest first."""
    if isinstance(ranking, str) or not hasattr(ranking, "__len__"):
        raise InputError("ranking", ranking, "scores by feature, scores in order, or names")
    if not hasattr(ranking, "keys") and all(isinstance(name, str) for name in ranking):
        if absolute:
            raise InputError("absolute", True, "False for a ranking by names, which has no sign")
        _check_named(given := [str(name) for name in ranking], names)
        return given
    scores = _scores(ranking, names)
    try:
        numbers = np.array([float(score) for score in scores])
    except (TypeError, ValueError) as error:
        raise InputError("ranking", ranking, "a number for each feature") from error
    if not np.isfinite(numbers).all():
        raise InputError("ranking", numbers.tolist(), "finite numbers")
    numbers = np.abs(numbers) if absolute else numbers
    return [names[place] for place in np.argsort(-numbers, kind="stable")]


def _scores(ranking: Any, names: list[str]) -> list[Any]:
    """A score per name, from a mapping (or a series, which has keys too) or in order."""
    if hasattr(ranking, "keys"):
        given = {str(name): score for name, score in dict(ranking).items()}
        _check_named(list(given), names)
        return [given[name] for name in names]
    if len(ranking) != len(names):
        allowed = f"one for each of the {len(names)} features"
        raise InputError("ranking", f"{len(ranking)} scores", allowed)
    return list(ranking)


def _check_named(given: list[str], names: list[str]) -> None:
    allowed = "each feature once"
    for name in given:
        if name not in names:
            hint = did_you_mean(name, names)
            raise InputError("ranking", f"unknown feature {name!r}", allowed, hint)
    missing = [name for name in names if name not in given]
    if missing:
        raise InputError("ranking", f"nothing for {', '.join(map(repr, missing[:12]))}", allowed)
    if len(given) > len(names):
        twice = next(name for name in given if given.count(name) > 1)
        raise InputError("ranking", f"{twice!r} more than once", allowed)
