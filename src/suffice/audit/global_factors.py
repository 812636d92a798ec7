"""Global factors: the fewest feature sets that together suffice for a share of the decisions.

Which sets suffice in which decisions is a table of truths; the fewest that cover a share of them is
a covering problem (`covering.py`). Where it could not be solved in time, the best cover found is
told with how many sets fewer there could be at most.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any

import numpy as np

from suffice.audit.all_features import AllFeatures
from suffice.audit.covering import cover_with_fewest, rows_needed
from suffice.audit.decisions import VIEWS, ViewName, as_decisions, set_words
from suffice.audit.gaps import Share
from suffice.audit.known import read_decisions
from suffice.checks import choice, number, whole
from suffice.errors import InputError
from suffice.results import Column, Panel, Result, Sheet
from suffice.typing import BoolVector, Outcomes
from suffice.wording import count, percent

__all__ = ["GlobalFactor", "GlobalFactors", "global_factors"]

_LISTED = 1 << 20
"""So many sets are looked at; where there are more, those that are minimal in some decision."""
_CANDIDATES = 2000
"""Sets among which is chosen: those that suffice most often."""


@dataclass(frozen=True)
class GlobalFactor:
    """A set, for how many decisions it suffices, and for how many that no set before it did."""

    features: tuple[str, ...]
    suffices: int
    new: int


@dataclass(frozen=True, repr=False)
class GlobalFactors(Result):
    """Sets that together suffice for a share of decisions."""

    plots = ("cover", "measures")

    view: ViewName
    n: int
    wanted: float
    max_size: int | None
    sets: tuple[GlobalFactor, ...]
    covered: int
    could_be: int
    """No fewer sets than this can do it: as many as there are where the choice is proved best."""
    left: tuple[int, ...]
    """The decisions for which none of them suffices, by number."""
    left_names: tuple[str, ...]
    """The same by name."""
    every_set: bool = False
    """Was every set of that size looked at, or only those that suffice most often?"""

    def __post_init__(self) -> None:
        for hits in (self.covered, *(s.suffices for s in self.sets)):
            if not (0 <= hits <= self.n and self.n):
                raise InputError("hits", hits, f"0 to {self.n}")

    @property
    def proved(self) -> bool:
        """Is it proved that no fewer sets would do?"""
        return self.could_be == len(self.sets)

    @property
    def reached(self) -> bool:
        """Is the share wanted covered?"""
        return self.covered >= rows_needed(self.wanted, self.n)

    @property
    def share(self) -> Share:
        """Of the decisions covered."""
        return Share(self.covered, self.n)

    @property
    def sheet(self) -> Sheet:
        """The sets, in the order in which they add most."""
        proof = (
            "No fewer would do."
            if self.proved
            else (f"Fewer might do, but not fewer than {self.could_be}.")
        )
        size = "" if self.max_size is None else f" of at most {count(self.max_size, 'feature')}"
        if not self.reached:
            proof = (
                f"{percent(self.wanted)} cannot be reached: no set{size} suffices for the rest."
                if self.every_set
                else f"{percent(self.wanted)} was not reached by the sets that were looked at."
            )
        lead = (
            f"{count(len(self.sets), 'set')} of features suffice{'s' * (len(self.sets) == 1)} to "
            f"{self.view} {percent(self.share.share)} of {count(self.n, 'decision')}. {proof}"
        )
        if not self.sets:
            lead = f"No set{size} suffices to {self.view} any of {count(self.n, 'decision')}."
        rows = tuple((set_words(s.features), s.suffices / self.n, s.new) for s in self.sets)
        columns = (
            Column("set"),
            Column("suffices for", "share"),
            Column("decisions it adds", "number"),
        )
        left = ", ".join(self.left_names[:20]) + (", …" if len(self.left) > 20 else "")
        notes = (f"For these decisions none suffices: {left}.",) if self.left else ()
        return Sheet("Few sets for many decisions", (lead,), (Panel(columns, rows),), notes)

    def to_frame(self) -> Any:
        """A row for each set."""
        import pandas as pd

        rows = [
            {"features": s.features, "size": len(s.features), "suffices": s.suffices, "new": s.new}
            for s in self.sets
        ]
        return pd.DataFrame(rows, columns=["features", "size", "suffices", "new"])


def global_factors(
    explanations: Any,
    *,
    cover: float = 0.9,
    view: ViewName = "keep",
    tau: float | None = None,
    max_size: int | None = 3,
    ids: Sequence[Any] | None = None,
    progress: bool | None = None,
) -> GlobalFactors:
    """The fewest sets of features such that one of them suffices in a share `cover` of decisions.

    Sets have at most `max_size` features: all features together always keep a decision, and say
    nothing. `tau` None takes each decision's own; `ids` names the decisions (else they are called
    as they were stored, or by their numbers).

    >>> from sklearn.linear_model import LogisticRegression
    >>> from suffice import Explainer, audit, datasets
    >>> X, y = datasets.loans()
    >>> X = X[["age", "income", "debt", "late payments"]]
    >>> explainer = Explainer(LogisticRegression(max_iter=1000).fit(X, y), X, n_references=50)
    >>> found = audit.global_factors(explainer.explain_many(X.iloc[:40]), cover=0.8)
    >>> [s.features for s in found.sets], found.proved
    ([('income', 'debt', 'late payments')], True)
    """
    found = as_decisions(explanations)
    wanted = number("cover", cover, "a share in (0, 1]", above=0, most=1)
    side = choice("view", view, VIEWS)
    largest = None if max_size is None else whole("max_size", max_size, also="None")
    everything = AllFeatures()
    minimal: set[int] = set()
    called: list[str] = []
    suffices: _Suffices = []
    for known in read_decisions(found, tau=tau, ids=ids, progress=progress):
        known.require_counts()
        everything.take(known)
        minimal.update(everything.outwards(known.features, known.minimal(side)))
        suffices.append((known.features, known.levels(side).at_least(known.tau)))
        called.append(known.name)
    candidates, every_set = _candidates(suffices, minimal, everything, largest)
    table = _table(suffices, candidates, everything)
    sizes = [mask.bit_count() for mask in candidates]
    cover_of, bound = cover_with_fewest(table, wanted)
    chosen = _smaller(table, cover_of, sizes, wanted)
    factors, known_so_far = [], np.zeros(len(table), dtype=bool)
    for j in sorted(chosen, key=lambda j: -int(table[:, j].sum())):
        new = int((table[:, j] & ~known_so_far).sum())
        known_so_far |= table[:, j]
        factors.append(GlobalFactor(everything.named(candidates[j]), int(table[:, j].sum()), new))
    left = tuple(np.flatnonzero(~known_so_far).tolist())
    return GlobalFactors(
        view=side,
        n=len(table),
        wanted=wanted,
        max_size=largest,
        sets=tuple(factors),
        covered=int(known_so_far.sum()),
        could_be=bound if every_set else min(bound, 1),
        left=left,
        left_names=tuple(called[i] for i in left),
        every_set=every_set,
    )


_Suffices = list[tuple[tuple[str, ...], BoolVector]]
"""Of each decision its features, and which sets of them suffice, by bit mask."""


def _candidates(
    suffices: _Suffices, minimal: set[int], everything: AllFeatures, largest: int | None
) -> tuple[list[int], bool]:
    """Sets that suffice in some decision, in most first; and whether these are all there are."""
    d = len(everything.names)
    most = d if largest is None else min(largest, d)
    # A set that suffices for many may be minimal for none, so all are looked at where that can be.
    all_of_them = sum(comb(d, k) for k in range(most + 1)) <= _LISTED
    sets = _sets(d, most) if all_of_them else [m for m in minimal if m.bit_count() <= most]
    own = {
        features: np.array(everything.inwards(features, sets), dtype=np.int64)
        for features, _ in suffices
    }
    often = np.zeros(len(sets), dtype=np.int64)
    for features, by_mask in suffices:
        often += by_mask[own[features]]
    order = sorted(np.flatnonzero(often), key=lambda j: (-often[j], sets[j].bit_count(), sets[j]))
    return [sets[j] for j in order[:_CANDIDATES]], all_of_them and len(order) <= _CANDIDATES


def _sets(d: int, most: int) -> list[int]:
    """All sets of at most so many of d features, as bit masks."""
    return [
        sum(1 << i for i in chosen) for k in range(most + 1) for chosen in combinations(range(d), k)
    ]


def _table(suffices: _Suffices, masks: list[int], everything: AllFeatures) -> Outcomes:
    """(decisions, sets): does the set suffice?"""
    own = {features: everything.inwards(features, masks) for features, _ in suffices}
    rows = [by_mask[own[features]] for features, by_mask in suffices]
    return np.array(rows, dtype=bool).reshape(len(rows), len(masks))


def _smaller(table: Outcomes, chosen: list[int], sizes: list[int], share: float) -> list[int]:
    """As many columns that reach the share, each of the fewest features that still do."""
    found = list(chosen)
    reached = int(table[:, found].any(axis=1).sum()) if found else 0
    needed = min(rows_needed(share, len(table)), reached)
    for at, own in enumerate(found):
        others = np.asarray(table[:, found[:at] + found[at + 1 :]].any(axis=1))
        enough = np.flatnonzero((table | others[:, None]).sum(axis=0) >= needed)
        found[at] = min((int(j) for j in enough), key=lambda j: (sizes[j], j), default=own)
    return found
