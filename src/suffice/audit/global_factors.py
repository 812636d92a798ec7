"""Global factors: the fewest feature sets that together suffice for a share of the decisions.

Which sets suffice in which decisions is a table of truths; the fewest that cover a share of them is
a covering problem. It is solved exactly (by integer programming) where that ends in time; else the
best cover found is told with how many sets fewer there could be at most.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.audit.decisions import (
    ViewName,
    as_decisions,
    masks_at,
    same_features,
    set_words,
)
from suffice.audit.gaps import Share
from suffice.checks import choice, number, threshold, whole
from suffice.errors import InputError
from suffice.factors.lattice import members_of
from suffice.results import Column, Panel, Result, Sheet
from suffice.typing import Outcomes
from suffice.wording import count, percent

__all__ = ["GlobalFactor", "GlobalFactors", "cover_with_fewest", "global_factors"]

_CANDIDATES = 2000
"""Sets among which is chosen: those that suffice most often."""
_SECONDS = 10.0


@dataclass(frozen=True)
class GlobalFactor:
    """A set, for how many decisions it suffices, and for how many that no set before it did."""

    features: tuple[str, ...]
    suffices: int
    new: int


@dataclass(frozen=True, repr=False)
class GlobalFactors(Result):
    """Sets that together suffice for a share of decisions."""

    view: ViewName
    n: int
    wanted: float
    max_size: int | None
    sets: tuple[GlobalFactor, ...]
    covered: int
    could_be: int
    """No fewer sets than this can do it: as many as there are where the choice is proved best."""
    left: tuple[int, ...]
    """The decisions for which none of them suffices."""

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
        return self.covered >= _needed(self.wanted, self.n)

    @property
    def share(self) -> Share:
        """Of the decisions covered."""
        return Share(self.covered, self.n)

    @property
    def sheet(self) -> Sheet:
        """The sets, in the order in which they add most."""
        does = "keep" if self.view == "keep" else "flip"
        proof = (
            "No fewer would do."
            if self.proved
            else (f"Fewer might do, but not fewer than {self.could_be}.")
        )
        if not self.reached:
            size = "" if self.max_size is None else f" of at most {count(self.max_size, 'feature')}"
            proof = f"{percent(self.wanted)} cannot be reached: no set{size} suffices for the rest."
        lead = (
            f"{count(len(self.sets), 'set')} of features suffice to {does} "
            f"{percent(self.share.share)} of {count(self.n, 'decision')}. {proof}"
        )
        rows = tuple((set_words(s.features), s.suffices / self.n, s.new) for s in self.sets)
        columns = (
            Column("set"),
            Column("suffices for", "share"),
            Column("decisions it adds", "number"),
        )
        left = ", ".join(map(str, self.left[:20])) + (", …" if len(self.left) > 20 else "")
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
) -> GlobalFactors:
    """The fewest sets of features such that one of them suffices in a share `cover` of decisions.

    Sets have at most `max_size` features: all features together always keep a decision, and say
    nothing. `tau` None takes each decision's own.

    >>> from sklearn.linear_model import LogisticRegression
    >>> from suffice import Explainer, audit, datasets
    >>> X, y = datasets.loans()
    >>> X = X[["age", "income", "debt", "late payments"]]
    >>> explainer = Explainer(LogisticRegression(max_iter=1000).fit(X, y), X, n_references=50)
    >>> found = audit.global_factors(explainer.explain_many(X.iloc[:40]), cover=0.8)
    >>> [s.features for s in found.sets], found.proved
    ([('income', 'debt', 'late payments')], True)
    """
    decisions = as_decisions(explanations)
    wanted = number("cover", cover, "a share in (0, 1]", above=0, most=1)
    sides: tuple[ViewName, ...] = ("keep", "flip")
    side = choice("view", view, sides)
    asked = None if tau is None else threshold(tau)
    largest = None if max_size is None else whole("max_size", max_size, also="None")
    names: tuple[str, ...] = ()
    minimal: dict[int, int] = {}
    shares = []
    for e in decisions:
        names = names or tuple(player.name for player in e.players)
        same_features(names, e)
        own = e.keep if side == "keep" else e.flip
        if not own.tally.complete:
            hint = "Ask with search='exhaustive' and fewer features (groups), or store counts."
            raise InputError("explanations", "one without counts", "all their counts", hint)
        at = e.tau if asked is None else asked
        for mask in masks_at(own, at).tolist():
            if largest is not None and mask.bit_count() > largest:
                continue
            minimal[mask] = minimal.get(mask, 0) + 1
        shares.append(own.tally.dense / own.tally.n >= at)
    candidates = sorted(minimal, key=lambda m: (-minimal[m], m.bit_count(), m))[:_CANDIDATES]
    table = np.array([row[candidates] for row in shares]).reshape(len(shares), len(candidates))
    chosen, bound = cover_with_fewest(table, wanted)
    sets, known = [], np.zeros(len(table), dtype=bool)
    for j in sorted(chosen, key=lambda j: -int(table[:, j].sum())):
        new = int((table[:, j] & ~known).sum())
        known |= table[:, j]
        features = tuple(names[i] for i in members_of(candidates[j]))
        sets.append(GlobalFactor(features, int(table[:, j].sum()), new))
    left = tuple(np.flatnonzero(~known).tolist())
    if len(minimal) > len(candidates):
        bound = min(bound, 1)  # nothing is proved of sets that were not looked at
    covered = int(known.sum())
    return GlobalFactors(side, len(table), wanted, largest, tuple(sets), covered, bound, left)


def cover_with_fewest(table: Outcomes, share: float) -> tuple[list[int], int]:
    """Columns, as few as can be, one of which is true in so large a share of rows; and a bound.

    Where that share cannot be reached, as large a one as can. The bound: no fewer columns do.

    >>> table = np.array([[1, 0, 1], [1, 0, 0], [0, 1, 1], [0, 1, 0]], dtype=bool)
    >>> cover_with_fewest(table, 1.0), cover_with_fewest(table, 0.5)
    (([0, 1], 2), ([0], 1))
    """
    reachable = int(table.any(axis=1).sum()) if table.size else 0
    needed = min(_needed(share, len(table)), reachable)
    greedy = _greedy(table, needed)
    if len(greedy) <= 1:
        return greedy, len(greedy)
    exact, bound = _exact(table, needed)
    if exact is not None and len(exact) <= len(greedy):
        return exact, bound
    return greedy, bound


def _needed(share: float, n: int) -> int:
    return int(np.ceil(share * n - 1e-9))


def _greedy(table: Outcomes, needed: int) -> list[int]:
    """The column that adds most, again and again; the first among equals."""
    known = np.zeros(len(table), dtype=bool)
    chosen: list[int] = []
    while known.sum() < needed:
        chosen.append(int((table & ~known[:, None]).sum(axis=0).argmax()))
        known |= table[:, chosen[-1]]
    return chosen


def _exact(table: Outcomes, needed: int) -> tuple[list[int] | None, int]:
    """By integer programming: a column is chosen or not, a row is covered or not.

    Rows that are alike are one, with their number; so are columns.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array, eye_array, hstack

    columns = np.unique(table, axis=1, return_index=True)[1]
    columns.sort()
    rows, times = np.unique(table[:, columns], axis=0, return_counts=True)
    n, m = rows.shape
    covers = hstack([csr_array(rows.astype(float)), -eye_array(n)]).tocsr()
    cost = np.concatenate([np.ones(m), np.zeros(n)])
    total = np.concatenate([np.zeros(m), times.astype(float)])[None, :]
    found = milp(
        cost,
        integrality=np.concatenate([np.ones(m), np.zeros(n)]),
        bounds=Bounds(0, 1),
        constraints=[LinearConstraint(covers, lb=0), LinearConstraint(total, lb=needed - 1e-6)],
        options={"time_limit": _SECONDS},
    )
    bound = 1 if found.mip_dual_bound is None else int(np.ceil(found.mip_dual_bound - 1e-6))
    if found.x is None:
        return None, max(1, bound)
    chosen = [int(columns[j]) for j in np.flatnonzero(found.x[:m] > 0.5)]
    known = table[:, chosen].any(axis=1).sum()
    return (chosen if known >= needed else None), max(1, bound)
