"""Exact Shapley values and interactions of a view (Prop. 1): v(S) is the sufficiency of S.

With v(S) = PS(c_S, y), a view's counts hold the whole game, so its Shapley values are a weighted
sum of counts, without another model call. Which distribution fills in what is not held (marginal,
conditional, interventional) is the context's choice; here it only shows in the counts.

Counts are whole numbers and so are the weights up to a common denominator. All sums are therefore
exact, and each result is rounded once, at the end: players that the model treats alike get equal
values to the last bit, and one that it ignores gets 0.0.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import combinations
from math import comb, factorial, isfinite
from typing import Any, Literal, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from suffice.errors import InputError, NotVisitedError
from suffice.explanation.explanation import Explanation
from suffice.explanation.view import View
from suffice.formatting import format_integer, join_words, percent, three_digits
from suffice.progress import progress_bar
from suffice.results import Column, OmittedRows, Panel, Result, Sheet
from suffice.typing import VIEWS, Reals, ViewName
from suffice.validation import check_choice, check_integer, check_number


@runtime_checkable
class SupportsExplain(Protocol):
    """Protocol of an explainer as `shapley` needs it."""

    def explain(
        self, x: Any, /, *, search: Literal["exhaustive"], progress: bool | None
    ) -> Explanation:
        """Return the explanation of one input."""
        ...


def shapley(
    explainer: SupportsExplain, x: Any, *, view: ViewName = "keep", progress: bool | None = None
) -> ShapleyValues:
    """Return exact Shapley values for one input, from the count of every set of features.

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
    name = check_choice("view", view, VIEWS)
    given: object = explainer
    if isinstance(given, type) or not isinstance(given, SupportsExplain):
        raise InputError("explainer", given, "an Explainer")
    explanation = explainer.explain(x, search="exhaustive", progress=progress)
    return shapley_values(explanation.keep if name == "keep" else explanation.flip)


def shapley_values(view: View) -> ShapleyValues:
    """Return exact Shapley values of a view's features: how much each adds to sufficiency (Eq. 6).

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
        amounts=shapley_from_counts(hits, view.tally.n),
    )


def shapley_from_counts(hits: NDArray[Any], n: int) -> tuple[float, ...]:
    """Return the values of all players, from hits among n references by bit mask of every set.

    >>> shapley_from_counts(np.array([0, 1, 1, 4]), 4)
    (0.5, 0.5)
    """
    return tuple(_weighted_differences(hits.astype(np.float64), n, 1, "shapley", progress=False))


def shapley_interactions(
    view: View, *, order: int = 2, index: InteractionIndex = "shapley", progress: bool | None = None
) -> ShapleyInteractions:
    """Return exact interaction values of every set of `order` features, in feature order.

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
    order = check_integer("order", order, 1, view.tally.d)
    known: tuple[InteractionIndex, ...] = ("shapley", "shapley-taylor")
    index = check_choice("index", index, known)
    return ShapleyInteractions(
        view.name,
        view.outcome,
        index,
        order,
        features=tuple(player.name for player in view.players),
        amounts=tuple(_weighted_differences(hits, view.tally.n, order, index, progress)),
    )


def _weighted_differences(
    hits: Reals, n: int, order: int, index: InteractionIndex, progress: bool | None
) -> Iterator[float]:
    """Yield what each set of players adds to sets of the others, weighted by the index."""
    d = len(hits).bit_length() - 1
    rest = d - order
    if index == "shapley":
        # Integer weights over one common denominator: the sum is exact, and rounded once.
        weights = [factorial(s) * factorial(rest - s) for s in range(rest + 1)]
        common = factorial(rest + 1)
    else:
        weights = [order * factorial(s) * factorial(d - 1 - s) for s in range(rest + 1)]
        common = factorial(d)
    sizes = np.bitwise_count(np.arange(1 << rest)).astype(np.intp)
    with progress_bar("sets", comb(d, order), progress) as bar:
        for gains in _differences(hits, order):
            # The weight depends on the size of a set only, so gains are added up by size first.
            by_size = np.bincount(sizes, weights=gains).tolist()
            total = sum(w * int(gain) for w, gain in zip(weights, by_size, strict=True))
            bar.update(1)
            yield total / (common * n)


def _all_hits(view: View) -> Reals:
    """Return hits by bit mask, as floats, which hold them and all their sums exactly."""
    require_view(view)
    tally = view.tally
    if not tally.complete:
        raise NotVisitedError(
            f"Shapley values weigh all {format_integer(tally.lattice.count)} subsets of the "
            "features, and "
            f"this search evaluated {format_integer(tally.visited)}. Explain again with "
            "search='exhaustive' and without max_size, budget or time_limit; where there are too "
            "many features for that, join some with groups."
        )
    return tally.dense.astype(np.float64)


def _differences(values: Reals, order: int, first: int = 0) -> Iterator[Reals]:
    """Yield, for each set T of `order` players from `first` on, what T adds to sets of the others.

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
        # By bit mask: sets without the player and with it alternate in blocks of 2^player.
        halves = values.reshape(-1, 2, 1 << player)
        gains = (halves[:, 1] - halves[:, 0]).ravel()
        # The player is taken, so those after it have moved one place down.
        yield from _differences(gains, order - 1, player)


def require_view(view: object) -> None:
    """Raise for anything but a view, such as an explanation, which has two of them."""
    if not isinstance(view, View):
        raise InputError(
            "view", f"{type(view).__name__}", "a view of an explanation: e.keep or e.flip"
        )


# What each feature adds to sufficiency, and what features add together: numbers by feature.


InteractionIndex = Literal["shapley", "shapley-taylor"]
K = TypeVar("K")

_ROWS_SHOWN = 12


class _ValuesByKey(Result, Mapping[K, float]):
    """Immutable mapping of keys to numbers."""

    @cached_property
    @abstractmethod
    def _by_key(self) -> Mapping[K, float]: ...

    def __getitem__(self, key: K) -> float:
        return self._by_key[key]

    def __iter__(self) -> Iterator[K]:
        return iter(self._by_key)

    def __len__(self) -> int:
        return len(self._by_key)

    def __eq__(self, other: object) -> bool:
        """Compare facts and numbers with another result, only numbers with a plain mapping."""
        if isinstance(other, _ValuesByKey):
            return type(self) is type(other) and self._facts() == other._facts()
        return isinstance(other, Mapping) and dict(self) == dict(other)

    def __hash__(self) -> int:
        return hash(self._facts())

    def _facts(self) -> tuple[Any, ...]:
        return tuple(getattr(self, field.name) for field in fields(self))  # type: ignore[arg-type]

    def _ranked(self) -> list[tuple[K, float]]:
        """Return the pairs by absolute value, the largest first, ties in the order of features."""
        return sorted(self.items(), key=lambda pair: -abs(pair[1]))


@dataclass(frozen=True, eq=False, repr=False)
class ShapleyValues(_ValuesByKey[str]):
    """Exact Shapley values: {feature: what it adds to sufficiency}, in the order of the features.

    They add up to `everything` - `base`.

    >>> import numpy as np
    >>> import pandas as pd
    >>> from suffice import Explainer
    >>> people = pd.DataFrame({"income": [20, 30, 60, 70], "debt": [9, 2, 8, 1]})
    >>> def grant(rows):
    ...     return np.where(rows["income"] - 4 * rows["debt"] > 20, "granted", "refused")
    >>> e = Explainer(grant, people).explain({"income": 25, "debt": 8}, tau=0.6)
    >>> from suffice import shapley_values
    >>> values = shapley_values(e.keep)
    >>> round(values["income"], 3), len(values)
    (0.667, 2)
    """

    plots = ("shapley",)

    view: ViewName
    """Whether sets are held, to keep the outcome, or replaced, to flip it."""
    outcome: str
    """The outcome, in words, that sets of features suffice for."""
    base: float
    """PS of no feature: what a SHAP plot starts from."""
    everything: float
    """PS of all features together."""
    features: tuple[str, ...]
    amounts: tuple[float, ...]
    """A value for each feature."""

    def __post_init__(self) -> None:
        for name in ("base", "everything"):
            check_number(name, getattr(self, name), "a number in [0, 1]", least=0, most=1)
        _check_amounts(self.features, self.amounts, len(self.features))
        # Efficiency, an axiom of Shapley values: stored ones that break it were edited.
        if abs(sum(self.amounts) - (self.everything - self.base)) > 1e-9:
            raise InputError("amounts", self.amounts, "numbers that add up to everything - base")

    @cached_property
    def _by_key(self) -> Mapping[str, float]:
        return dict(zip(self.features, self.amounts, strict=True))

    @property
    def sheet(self) -> Sheet:
        """Return the path from no feature to all features, with what each adds."""
        done = "held" if self.view == "keep" else "replaced"
        first, most = self._ranked()[0]
        return Sheet(
            f"What each feature adds towards “{self.outcome}”",
            lead=(
                f"With no feature {done}, {percent(self.base)} of the references give this "
                f"outcome; with all of them, {percent(self.everything)}. The values share out the "
                f"difference: {first} has the largest ({three_digits(most)}).",
            ),
            panels=(_panel(self._ranked(), "feature", "value"),),
            notes=("Exact Shapley values, from the counts of all sets of features.",),
        )

    def to_frame(self) -> Any:
        """Return the values as a pandas frame, with a row for each feature."""
        import pandas as pd

        return pd.DataFrame({"feature": list(self), "value": list(self.values())})


@dataclass(frozen=True, eq=False, repr=False)
class ShapleyInteractions(_ValuesByKey[tuple[str, ...]]):
    """Exact interactions: {set of features: what they add together beyond what they add apart}.

    A set is a tuple of names, in any order.

    >>> import pandas as pd
    >>> from suffice import Explainer, shapley_interactions
    >>> people = pd.DataFrame({"income": [20, 30, 60, 70], "debt": [9, 2, 8, 1]})
    >>> both = Explainer(lambda rows: (rows["income"] > 40) & (rows["debt"] < 5), people)
    >>> e = both.explain({"income": 70, "debt": 1})
    >>> pairs = shapley_interactions(e.keep)
    >>> round(pairs["income", "debt"], 3)
    0.333
    """

    plots = ("shapley",)

    view: ViewName
    outcome: str
    index: InteractionIndex
    order: int
    """Number of features of each set."""
    features: tuple[str, ...]
    amounts: tuple[float, ...]
    """A number for each set of `order` features, in the order of `itertools.combinations`."""

    def __post_init__(self) -> None:
        check_integer("order", self.order, 1, len(self.features))
        _check_amounts(self.features, self.amounts, comb(len(self.features), self.order))

    @cached_property
    def _by_key(self) -> Mapping[tuple[str, ...], float]:
        return dict(zip(combinations(self.features, self.order), self.amounts, strict=True))

    @cached_property
    def _places(self) -> Mapping[str, int]:
        return {name: place for place, name in enumerate(self.features)}

    def __getitem__(self, features: object) -> float:
        if not isinstance(features, tuple):
            raise KeyError(features)
        return self._by_key[tuple(sorted(features, key=self._places.__getitem__))]

    @property
    def sheet(self) -> Sheet:
        """The strongest interactions first."""
        ranked = self._ranked()
        features, most = ranked[0]
        who, much = join_words(features), three_digits(most)
        does = "do more together than apart" if most > 0 else "make up for each other"
        lead = f"{who} {does} ({much})." if most else "No features work together."
        if self.order == 1:
            lead = f"{who} adds most ({much})."
        rows = [(", ".join(names), amount) for names, amount in ranked]
        return Sheet(
            f"Which features work together towards “{self.outcome}”",
            lead=(lead,),
            panels=(_panel(rows, "features", "interaction"),),
            notes=(
                "Above 0: together they add more to sufficiency than apart. Below 0: one makes up "
                "for another.",
            ),
        )

    def to_frame(self) -> Any:
        """Return the interactions as a pandas frame, with a row for each set."""
        import pandas as pd

        return pd.DataFrame({"features": list(self), "interaction": list(self.values())})


def _check_amounts(features: Sequence[str], amounts: Sequence[float], expected: int) -> None:
    if not features or len(set(features)) < len(features):
        raise InputError("features", features, "one feature or more, each once")
    if len(amounts) != expected or not all(map(isfinite, amounts)):
        raise InputError("amounts", amounts, f"{format_integer(expected)} finite numbers")


def _panel(ranked: Sequence[tuple[str, float]], key: str, amount: str) -> Panel:
    return Panel(
        (Column(amount, "number"), Column(key)),
        tuple((value, name) for name, value in ranked[:_ROWS_SHOWN]),
        more=OmittedRows(len(ranked) - _ROWS_SHOWN, ".to_frame()"),
    )
