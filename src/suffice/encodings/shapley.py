"""Proposition 1: the value that Shapley values share out is a probability of sufficiency.

With v(S) = PS(c_S, y), a view's counts hold the whole game, so its Shapley values are a weighted
sum of counts, without another model call. Which distribution fills in what is not held (marginal,
conditional, interventional) is the context's choice; here it only shows in the counts.

Counts are whole numbers and so are the weights up to a common denominator. All sums are therefore
exact, and each result is rounded once, at the end: players that the model treats alike get equal
values to the last bit, and one that it ignores gets 0.0.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import factorial
from typing import Literal

import numpy as np

from suffice.errors import InputError, NotVisitedError
from suffice.explanation.view import View
from suffice.typing import Reals

__all__ = ["Index", "check_view", "shapley_interactions", "shapley_values"]

Index = Literal["shapley", "shapley-taylor"]


def shapley_values(view: View) -> dict[str, float]:
    """Exact Shapley values of a view's features: how much each adds to sufficiency (Eq. 6).

    The game is v(S) = `view.sufficiency(S)`: in `e.keep` the share of references that keep the
    outcome when S is held, in `e.flip` the share that flip when S is replaced. Where replacing a
    set is holding its complement (not in a causal context) the two are dual games, and both views
    give the same values. They add up to PS(all) - PS(none); the base value,
    what a SHAP plot starts from, is `view.sufficiency([])`.

    All subsets must have been evaluated. `size_weights` and `tau` play no part.
    """
    return {player: value for (player,), value in shapley_interactions(view, order=1).items()}


def shapley_interactions(
    view: View, order: int = 2, index: Index = "shapley"
) -> dict[tuple[str, ...], float]:
    """Exact interaction values of every set of `order` features, in the order of the features.

    Above 0, the features together add more to sufficiency than apart; below 0, one makes up for
    another. Order 1 gives the Shapley values. Where the views are dual, `e.flip` has the values of
    `e.keep`, with the opposite sign where the order is even: substitutes for keeping must be
    changed together to flip.

    Parameters
    ----------
    view
        `e.keep` or `e.flip`, with all subsets evaluated.
    order
        How many features each set has: 1, 2, …, d.
    index
        "shapley": the Shapley interaction index (Grabisch and Roubens 1999), of which shap's
        `TreeExplainer` puts half on either side of the diagonal. "shapley-taylor": the top order of
        the Shapley–Taylor index (Sundararajan, Dhamdhere and Agarwal 2020), of which shap's `Exact`
        puts half on either side. The two differ as soon as there are other features.
    """
    hits = _all_hits(view)
    d, n = view.tally.d, view.tally.n
    if not isinstance(order, int | np.integer) or not 1 <= order <= d:
        raise InputError("order", order, f"a whole number from 1 to the {d} features")
    if index not in ("shapley", "shapley-taylor"):
        raise InputError("index", repr(index), '"shapley" or "shapley-taylor"')
    order, rest = int(order), d - int(order)
    if index == "shapley":
        weights = [factorial(s) * factorial(rest - s) for s in range(rest + 1)]
        whole = factorial(rest + 1)
    else:
        weights = [order * factorial(s) * factorial(d - 1 - s) for s in range(rest + 1)]
        whole = factorial(d)
    names = [player.name for player in view.players]
    sizes = np.bitwise_count(np.arange(1 << rest)).astype(np.intp)
    out = {}
    for members, gains in _differences(hits, order):
        by_size = np.bincount(sizes, weights=gains).tolist()
        total = sum(w * int(gain) for w, gain in zip(weights, by_size, strict=True))
        out[tuple(names[m] for m in members)] = total / (whole * n)
    return out


def _all_hits(view: View) -> Reals:
    """Hits by bit mask. As floats, which hold them and all their sums without rounding."""
    check_view(view)
    tally = view.tally
    if not tally.complete:
        raise NotVisitedError(
            f"Shapley values weigh all {tally.lattice.count:,} subsets of the features, and this "
            f"search evaluated {tally.visited:,}. Explain again with search='exhaustive' and "
            "without max_size, budget or time_limit; where there are too many features for that, "
            "join some with groups."
        )
    return tally.dense.astype(np.float64)


def _differences(
    values: Reals, order: int, first: int = 0
) -> Iterator[tuple[tuple[int, ...], Reals]]:
    """For each set T of `order` players from `first` on: what T adds to every set of the others.

    That is the discrete derivative: the sum over L in T of (-1)^(|T| - |L|) v(S + L), here for
    every S without T, by bit mask. Sets that share their first members share the work for them.

    >>> values = np.array([0.0, 1.0, 2.0, 7.0])
    >>> [(members, gains.tolist()) for members, gains in _differences(values, 1)]
    [((0,), [1.0, 5.0]), ((1,), [2.0, 6.0])]
    """
    if not order:
        yield (), values
        return
    players = len(values).bit_length() - 1
    for player in range(first, players - order + 1):
        halves = values.reshape(-1, 2, 1 << player)
        gains = (halves[:, 1] - halves[:, 0]).ravel()
        for others, result in _differences(gains, order - 1, player):
            yield (player, *(other + 1 for other in others)), result  # one place up: it was taken


def check_view(view: View) -> None:
    """Raise for anything else than a view, such as the explanation that has two of them."""
    if not isinstance(view, View):
        raise InputError(
            "view", f"{type(view).__name__}", "a view of an explanation: e.keep or e.flip"
        )
