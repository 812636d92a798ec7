"""`top_k`: the features that a ranking puts first, against the best set of that size (Fig. 2).

A ranking scores features one by one, so its first k need not suffice well together. The sweep
counted every set of k features: the best of them shows what the ranking leaves on the table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from suffice.attribution import require_view, shapley_values
from suffice.errors import InputError, NotVisitedError, did_you_mean
from suffice.explanation.view import View
from suffice.formatting import join_words, percent
from suffice.results import Column, Panel, Result, Sheet
from suffice.tables import utf8_text
from suffice.typing import ViewName
from suffice.validation import check_bool, check_integer, check_number

Ranking = Mapping[str, float] | Sequence[float] | Sequence[str]


@dataclass(frozen=True, repr=False)
class TopK(Result):
    """The k features that a ranking puts first, and the best set of that size (Fig. 2)."""

    plots = ("compare",)

    view: ViewName
    """Whether sets are held, to keep the outcome, or replaced, to flip it."""
    outcome: str
    """The outcome, in words, that sets of features suffice for."""
    k: int
    features: tuple[str, ...]
    """The k features ranked highest, the first one first."""
    sufficiency: float
    """Their PS."""
    best: tuple[str, ...]
    """The set of k features with the highest PS; of several, the first in the lattice's order."""
    best_sufficiency: float
    """Its PS: never less than the ranking's."""

    def __post_init__(self) -> None:
        for name in ("features", "best"):
            given = getattr(self, name)
            if len(given) != self.k or len(set(given)) < self.k:
                raise InputError(name, given, f"{self.k} features, each once")
        check_number("sufficiency", self.sufficiency, "a number in [0, 1]", least=0, most=1)
        allowed = "a number up to 1, and no less than the ranking's"
        least = self.sufficiency
        check_number("best_sufficiency", self.best_sufficiency, allowed, least=least, most=1)

    @property
    def sheet(self) -> Sheet:
        """Table of both sets with their sufficiency."""
        rows = (
            ("ranked first", self.sufficiency, ", ".join(self.features)),
            ("the best set", self.best_sufficiency, ", ".join(self.best)),
        )
        columns = (Column("set"), Column("sufficiency", "share"), Column("features"))
        return Sheet(
            f"The {self.k} features ranked first, towards “{self.outcome}”",
            lead=(self._summed_up,),
            panels=(Panel(columns, rows),),
        )

    def to_frame(self) -> Any:
        """Return both sets as a pandas frame, with a row each."""
        import pandas as pd

        return pd.DataFrame(
            {
                "set": ["ranked first", "best"],
                "features": [self.features, self.best],
                "sufficiency": [self.sufficiency, self.best_sufficiency],
            }
        )

    @property
    def _summed_up(self) -> str:
        who = join_words(self.features) or "Nothing"
        does = "suffices" if len(self.features) <= 1 else "suffice together"
        share = percent(self.sufficiency)
        if self.best_sufficiency == self.sufficiency:
            return f"{who} {does} for {share} of the references, and no set of that size for more."
        other = percent(self.best_sufficiency)
        return f"{who} {does} for {share} of the references, {join_words(self.best)} for {other}."


def top_k(view: View, k: int, *, ranking: Ranking | None = None, absolute: bool = False) -> TopK:
    """Return the sufficiency of the k features that a ranking puts first, and of the best k.

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

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from suffice import Explainer
    >>> people = pd.DataFrame({"income": [20, 30, 60, 70], "debt": [9, 2, 8, 1]})
    >>> def grant(rows):
    ...     return np.where(rows["income"] - 4 * rows["debt"] > 20, "granted", "refused")
    >>> e = Explainer(grant, people).explain({"income": 25, "debt": 8}, tau=0.6)
    >>> from suffice import top_k
    >>> found = top_k(e.keep, 1)
    >>> found.features, found.sufficiency
    (('income',), 0.6666666666666666)
    """
    require_view(view)
    tally, names = view.tally, [player.name for player in view.players]
    k = check_integer("k", k, 0, tally.d)
    absolute = check_bool("absolute", absolute)
    level = tally.levels[k]
    if len(level) < tally.lattice.width(k):
        raise NotVisitedError(
            f"not all sets of {k} features were evaluated: the search was bounded, and exhaustive "
            f"up to size {tally.exhaustive_size}. Raise max_size, budget or time_limit."
        )
    first = _rank_features(shapley_values(view) if ranking is None else ranking, names, absolute)[
        :k
    ]
    place = int(level.argmax())
    members = tally.lattice.members(k, place, place + 1)[0].tolist()
    return TopK(
        view.name,
        view.outcome,
        k,
        tuple(first),
        view.sufficiency(first),
        tuple(names[m] for m in members),
        int(level[place]) / tally.n,
    )


def _rank_features(ranking: object, names: list[str], absolute: bool) -> list[str]:
    """Return the names in order of rank, the highest first."""
    given, scores = _read_ranking(ranking, names)
    _check_ranked_names(given, names)
    if scores is None:
        if absolute:
            allowed = "False for a ranking by names, which has no sign"
            raise InputError("absolute", True, allowed)
        return given
    allowed = "a finite number for each feature"
    sizes = dict(
        zip(given, [check_number("ranking", score, allowed) for score in scores], strict=True)
    )
    return sorted(names, key=lambda name: -(abs(sizes[name]) if absolute else sizes[name]))


def _read_ranking(ranking: object, names: list[str]) -> tuple[list[str], list[Any] | None]:
    """Return the features and their scores; None for scores where names are given in order."""
    from pandas import Series

    if isinstance(ranking, Series):
        return [utf8_text(name) for name in ranking.index], list(ranking)
    if isinstance(ranking, Mapping):
        return [utf8_text(name) for name in ranking], list(ranking.values())
    allowed = "scores by feature, scores in order, or names"
    if isinstance(ranking, str | bytes):
        raise InputError("ranking", ranking, allowed)
    try:
        given = list(ranking)  # type: ignore[call-overload]
    except TypeError as error:  # nothing to go through, or an array of no dimension
        raise InputError("ranking", ranking, allowed) from error
    if all(isinstance(name, str) for name in given):
        return [str(name) for name in given], None
    if len(given) != len(names):
        allowed = f"one for each of the {len(names)} features"
        raise InputError("ranking", f"{len(given)} scores", allowed)
    return names, given


def _check_ranked_names(given: list[str], names: list[str]) -> None:
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
