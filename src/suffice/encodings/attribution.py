"""What each feature adds to sufficiency, and what features add together: numbers by feature.

Both answers are mappings, from a feature or from a set of features to a number, and say besides
which view and outcome they are about.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import combinations
from math import comb, isfinite
from typing import Any, Literal, TypeVar

from suffice.checks import number, whole
from suffice.errors import InputError
from suffice.results import Column, Panel, Rest, Result, Sheet
from suffice.typing import ViewName
from suffice.wording import large, listed, percent, three_digits

__all__ = ["Index", "ShapleyInteractions", "ShapleyValues"]

Index = Literal["shapley", "shapley-taylor"]
K = TypeVar("K")

_SHOWN = 12


class _Amounts(Result, Mapping[K, float]):
    """A number for each of some keys, that cannot be changed."""

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
        """Another answer must be about the same; a plain mapping only has the same numbers."""
        if isinstance(other, _Amounts):
            return type(self) is type(other) and self._facts() == other._facts()
        return isinstance(other, Mapping) and dict(self) == dict(other)

    def __hash__(self) -> int:
        return hash(self._facts())

    def _facts(self) -> tuple[Any, ...]:
        return tuple(getattr(self, field.name) for field in fields(self))  # type: ignore[arg-type]

    def _ranked(self) -> list[tuple[K, float]]:
        """The largest first, whatever their sign; of equal ones, in the order of the features."""
        return sorted(self.items(), key=lambda pair: -abs(pair[1]))


@dataclass(frozen=True, eq=False, repr=False)
class ShapleyValues(_Amounts[str]):
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
            number(name, getattr(self, name), "a number in [0, 1]", least=0, most=1)
        _check_amounts(self.features, self.amounts, len(self.features))
        if abs(sum(self.amounts) - (self.everything - self.base)) > 1e-9:
            raise InputError("amounts", self.amounts, "numbers that add up to everything - base")

    @cached_property
    def _by_key(self) -> Mapping[str, float]:
        return dict(zip(self.features, self.amounts, strict=True))

    @property
    def sheet(self) -> Sheet:
        """From none of the features to all of them, and what each adds on the way."""
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
        """The values as a pandas frame, a row for each feature."""
        import pandas as pd

        return pd.DataFrame({"feature": list(self), "value": list(self.values())})


@dataclass(frozen=True, eq=False, repr=False)
class ShapleyInteractions(_Amounts[tuple[str, ...]]):
    """Exact interactions: {set of features: what they add together beyond what they add apart}.

    A set is a tuple of names, and may be asked for in any order.

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
    index: Index
    order: int
    """How many features each set has."""
    features: tuple[str, ...]
    amounts: tuple[float, ...]
    """A number for each set of `order` features, in the order of `itertools.combinations`."""

    def __post_init__(self) -> None:
        whole("order", self.order, 1, len(self.features))
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
        who, much = listed(features), three_digits(most)
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
        """The interactions as a pandas frame, a row for each set."""
        import pandas as pd

        return pd.DataFrame({"features": list(self), "interaction": list(self.values())})


def _check_amounts(features: Sequence[str], amounts: Sequence[float], expected: int) -> None:
    if not features or len(set(features)) < len(features):
        raise InputError("features", features, "one feature or more, each once")
    if len(amounts) != expected or not all(map(isfinite, amounts)):
        raise InputError("amounts", amounts, f"{large(expected)} finite numbers")


def _panel(ranked: Sequence[tuple[str, float]], key: str, amount: str) -> Panel:
    return Panel(
        (Column(amount, "number"), Column(key)),
        tuple((value, name) for name, value in ranked[:_SHOWN]),
        more=Rest(len(ranked) - _SHOWN, ".to_frame()"),
    )
