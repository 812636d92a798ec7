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
from math import comb, factorial
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from suffice.checks import choice, whole
from suffice.encodings.attribution import Index, ShapleyInteractions, ShapleyValues
from suffice.errors import InputError, NotVisitedError
from suffice.explanation.explanation import Explanation
from suffice.explanation.view import View
from suffice.progress import progress_bar
from suffice.typing import VIEWS, Reals, ViewName
from suffice.wording import large

__all__ = [
    "Explains",
    "check_view",
    "shapley",
    "shapley_interactions",
    "shapley_of_counts",
    "shapley_values",
]


@runtime_checkable
class Explains(Protocol):
    """What an explainer is to those who need its explanations."""

    def explain(
        self, x: Any, /, *, search: Literal["exhaustive"], progress: bool | None
    ) -> Explanation:
        """The explanation of one input."""
        ...


def shapley(
    explainer: Explains, x: Any, *, view: ViewName = "keep", progress: bool | None = None
) -> ShapleyValues:
    """Exact Shapley values for one input: every set of features is counted, then weighed.

    Parameters
    ----------
    explainer
        An `Explainer`; its features are few enough to count all sets of them.
    x
        The input.
    view
        "keep": what holding a feature adds to keeping the outcome. "flip": what replacing it adds
        to flipping it. In a causal context the two differ; elsewhere they are the same numbers.
    progress
        Show a progress bar. None: on a terminal, for work over a second.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from suffice import Explainer, datasets
    >>> X, y = datasets.loans()
    >>> X = X[["age", "income", "debt", "late payments"]]
    >>> model = RandomForestClassifier(random_state=0).fit(X, y)
    >>> values = shapley(Explainer(model, X), X.iloc[8])
    >>> round(values["income"], 3), values.base, values.everything
    (0.423, 0.0, 1.0)
    """
    name = choice("view", view, VIEWS)
    given: object = explainer
    if isinstance(given, type) or not isinstance(given, Explains):
        raise InputError("explainer", given, "an Explainer")
    explanation = explainer.explain(x, search="exhaustive", progress=progress)
    return shapley_values(explanation.keep if name == "keep" else explanation.flip)


def shapley_values(view: View) -> ShapleyValues:
    """Exact Shapley values of a view's features: how much each adds to sufficiency (Eq. 6).

    The game is v(S) = `view.sufficiency(S)`: in `e.keep` the share of references that keep the
    outcome when S is held, in `e.flip` the share that flip when S is replaced. Where replacing a
    set is holding its complement (not in a causal context) the two are dual games, and both views
    give the same values. They add up to PS(all) - PS(none); the base value,
    what a SHAP plot starts from, is PS(none).

    All subsets must have been evaluated. `size_weights` and `tau` play no part.

    >>> import numpy as np
    >>> import pandas as pd
    >>> from suffice import Explainer
    >>> people = pd.DataFrame({"income": [20, 30, 60, 70], "debt": [9, 2, 8, 1]})
    >>> def grant(rows):
    ...     return np.where(rows["income"] - 4 * rows["debt"] > 20, "granted", "refused")
    >>> e = Explainer(grant, people).explain({"income": 25, "debt": 8}, tau=0.6)
    >>> from suffice import shapley_values
    >>> {name: round(value, 3) for name, value in shapley_values(e.keep).items()}
    {'income': 0.667, 'debt': 0.333}
    """
    hits = _all_hits(view)
    return ShapleyValues(
        view.name,
        view.outcome,
        base=int(hits[0]) / view.tally.n,
        everything=int(hits[-1]) / view.tally.n,
        features=tuple(player.name for player in view.players),
        amounts=shapley_of_counts(hits, view.tally.n),
    )


def shapley_of_counts(hits: NDArray[Any], n: int) -> tuple[float, ...]:
    """The values of all players, from hits among n references by bit mask of every set.

    >>> shapley_of_counts(np.array([0, 1, 1, 4]), 4)
    (0.5, 0.5)
    """
    return tuple(_weighed(hits.astype(np.float64), n, 1, "shapley", progress=False))


def shapley_interactions(
    view: View, *, order: int = 2, index: Index = "shapley", progress: bool | None = None
) -> ShapleyInteractions:
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
    progress
        Show a progress bar. None: on a terminal, for work over a second.

    Examples
    --------
    >>> import pandas as pd
    >>> from suffice import Explainer, shapley_interactions
    >>> people = pd.DataFrame({"income": [20, 30, 60, 70], "debt": [9, 2, 8, 1]})
    >>> both = Explainer(lambda rows: (rows["income"] > 40) & (rows["debt"] < 5), people)
    >>> e = both.explain({"income": 70, "debt": 1})
    >>> {pair: round(value, 3) for pair, value in shapley_interactions(e.keep).items()}
    {('income', 'debt'): 0.333}
    """
    hits = _all_hits(view)
    order = whole("order", order, 1, view.tally.d)
    known: tuple[Index, ...] = ("shapley", "shapley-taylor")
    index = choice("index", index, known)
    return ShapleyInteractions(
        view.name,
        view.outcome,
        index,
        order,
        features=tuple(player.name for player in view.players),
        amounts=tuple(_weighed(hits, view.tally.n, order, index, progress)),
    )


def _weighed(
    hits: Reals, n: int, order: int, index: Index, progress: bool | None
) -> Iterator[float]:
    """What each set of players adds to sets of the others, on average as the index weighs them."""
    d = len(hits).bit_length() - 1
    rest = d - order
    if index == "shapley":
        weights = [factorial(s) * factorial(rest - s) for s in range(rest + 1)]
        common = factorial(rest + 1)
    else:
        weights = [order * factorial(s) * factorial(d - 1 - s) for s in range(rest + 1)]
        common = factorial(d)
    sizes = np.bitwise_count(np.arange(1 << rest)).astype(np.intp)
    with progress_bar("sets", comb(d, order), progress) as bar:
        for gains in _differences(hits, order):
            by_size = np.bincount(sizes, weights=gains).tolist()
            total = sum(w * int(gain) for w, gain in zip(weights, by_size, strict=True))
            bar.update(1)
            yield total / (common * n)


def _all_hits(view: View) -> Reals:
    """Hits by bit mask. As floats, which hold them and all their sums without rounding."""
    check_view(view)
    tally = view.tally
    if not tally.complete:
        raise NotVisitedError(
            f"Shapley values weigh all {large(tally.lattice.count)} subsets of the features, and "
            f"this search evaluated {large(tally.visited)}. Explain again with "
            "search='exhaustive' and without max_size, budget or time_limit; where there are too "
            "many features for that, join some with groups."
        )
    return tally.dense.astype(np.float64)


def _differences(values: Reals, order: int, first: int = 0) -> Iterator[Reals]:
    """For each set T of `order` players from `first` on: what T adds to every set of the others.

    That is the discrete derivative: the sum over L in T of (-1)^(|T| - |L|) v(S + L), here for
    every S without T, by bit mask. Sets T come as `itertools.combinations` has them; those that
    share their first members share the work for them.

    >>> values = np.array([0.0, 1.0, 2.0, 7.0])
    >>> [gains.tolist() for gains in _differences(values, 1)]
    [[1.0, 5.0], [2.0, 6.0]]
    """
    if not order:
        yield values
        return
    players = len(values).bit_length() - 1
    for player in range(first, players - order + 1):
        halves = values.reshape(-1, 2, 1 << player)
        gains = (halves[:, 1] - halves[:, 0]).ravel()
        # The player is taken, so those after it have moved one place down.
        yield from _differences(gains, order - 1, player)


def check_view(view: object) -> None:
    """Raise for anything else than a view, such as the explanation that has two of them."""
    if not isinstance(view, View):
        raise InputError(
            "view", f"{type(view).__name__}", "a view of an explanation: e.keep or e.flip"
        )
