"""Global factors: the fewest feature sets that together suffice for a share of the decisions.

Which sets suffice in which decisions is a Boolean table; the fewest sets that cover a share of the
decisions is a set cover (`set_cover`). If it could not be solved in time, the best cover found is
returned with a lower bound on the number of sets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any

import numpy as np

from suffice.audit.decision_counts import FeatureIndex, read_decision_counts
from suffice.audit.decisions import as_explanations
from suffice.audit.set_cover import rows_needed, smallest_cover
from suffice.errors import InputError
from suffice.formatting import format_features, percent, plural
from suffice.inference import Share
from suffice.results import Field, Result, Sheet, make_frame, make_panel
from suffice.typing import VIEWS, BoolVector, NaturalNumber, Outcomes, Proportion, ViewName
from suffice.validation import check_choice, check_integer, check_number

_MAX_SETS = 1 << 20
"""Limit on sets that are considered; above it, only those that are minimal in some decision."""
_MAX_CANDIDATES = 2000
"""Limit on candidates of the cover: the sets that suffice most often."""


@dataclass(frozen=True)
class GlobalFactor:
    """A feature set with the decisions it suffices for, and the new ones among them."""

    features: tuple[str, ...]
    suffices: NaturalNumber
    """Number of decisions."""
    new: NaturalNumber
    """Decisions for which no set before it in the list suffices."""


@dataclass(frozen=True, repr=False)
class GlobalFactors(Result):
    """The fewest feature sets that together suffice for a share of decisions."""

    plots = ("cover", "measures")

    view: ViewName
    n: NaturalNumber
    wanted: Proportion
    max_size: NaturalNumber | None
    sets: tuple[GlobalFactor, ...]
    covered: NaturalNumber
    could_be: NaturalNumber
    """Lower bound on the number of sets; equal to their number if that is proved fewest."""
    left: tuple[NaturalNumber, ...]
    """Numbers of the decisions for which none of the sets suffices."""
    left_names: tuple[str, ...]
    """Names of the decisions in `left`."""
    every_set: bool = False
    """Whether every set up to `max_size` was considered, not only the most frequent."""

    def __post_init__(self) -> None:
        for hits in (self.covered, *(s.suffices for s in self.sets)):
            if not (0 <= hits <= self.n and self.n):
                raise InputError("hits", hits, f"0 to {self.n}")

    @property
    def proved(self) -> bool:
        """True if it is proved that no fewer sets suffice."""
        return self.could_be == len(self.sets)

    @property
    def reached(self) -> bool:
        """True if the wanted share is covered."""
        return self.covered >= rows_needed(self.wanted, self.n)

    @property
    def share(self) -> Share:
        """Share of decisions that are covered."""
        return Share(self.covered, self.n)

    @property
    def sheet(self) -> Sheet:
        """Summary: the sets, the share they cover, and the decisions left."""
        proof = (
            "No fewer would do."
            if self.proved
            else (f"Fewer might do, but not fewer than {self.could_be}.")
        )
        size = "" if self.max_size is None else f" of at most {plural(self.max_size, 'feature')}"
        if not self.reached:
            proof = (
                f"{percent(self.wanted)} cannot be reached: no set{size} suffices for the rest."
                if self.every_set
                else f"{percent(self.wanted)} was not reached by the sets that were looked at."
            )
        lead = (
            f"{plural(len(self.sets), 'set')} of features suffice{'s' * (len(self.sets) == 1)} to "
            f"{self.view} {percent(self.share.share)} of {plural(self.n, 'decision')}. {proof}"
        )
        if not self.sets:
            lead = f"No set{size} suffices to {self.view} any of {plural(self.n, 'decision')}."
        share = Field("", "suffices for", "share", value=lambda s: s.suffices / self.n)
        panel = make_panel((_FIELDS[0], share, _FIELDS[-1]), self.sets)
        left = ", ".join(self.left_names[:20]) + (", …" if len(self.left) > 20 else "")
        notes = (f"For these decisions none suffices: {left}.",) if self.left else ()
        return Sheet("Few sets for many decisions", (lead,), (panel,), notes)

    def to_frame(self) -> Any:
        """Return a pandas frame with a row for each set."""
        return make_frame(_FIELDS, self.sets)


_FIELDS = (
    Field("features", "set", show=format_features),
    Field("size", value=lambda s: len(s.features)),
    Field("suffices"),
    Field("new", "decisions it adds", "number"),
)


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
    """Find the fewest feature sets of which one suffices in a share `cover` of the decisions.

    Sets have at most `max_size` features: all features together always keep a decision, which would
    be no finding. With `tau` None each decision is read at its own τ. `ids` names the decisions;
    without it they have their stored ids or numbers.

    >>> from sklearn.linear_model import LogisticRegression
    >>> from suffice import Explainer, audit, datasets
    >>> X, y = datasets.loans()
    >>> X = X[["age", "income", "debt", "late payments"]]
    >>> explainer = Explainer(LogisticRegression(max_iter=1000).fit(X, y), X, n_references=50)
    >>> found = audit.global_factors(explainer.explain_many(X.iloc[:40]), cover=0.8)
    >>> [s.features for s in found.sets], found.proved
    ([('income', 'debt', 'late payments')], True)
    """
    found = as_explanations(explanations)
    wanted = check_number("cover", cover, "a share in (0, 1]", above=0, most=1)
    side = check_choice("view", view, VIEWS)
    largest = None if max_size is None else check_integer("max_size", max_size, also="None")
    index = FeatureIndex()
    minimal: set[int] = set()
    names: list[str] = []
    suffices: _Suffices = []
    for decision in read_decision_counts(found, tau=tau, ids=ids, progress=progress):
        decision.require_counts()
        index.add(decision)
        minimal.update(index.to_shared_masks(decision.features, decision.minimal_masks(side)))
        suffices.append((decision.features, decision.levels(side).at_least(decision.tau)))
        names.append(decision.name)
    candidates, every_set = _candidates(suffices, minimal, index, largest)
    table = _sufficiency_table(suffices, candidates, index)
    sizes = [mask.bit_count() for mask in candidates]
    cover_of, bound = smallest_cover(table, wanted)
    chosen = _shrink_chosen(table, cover_of, sizes, wanted)
    factors, covered = [], np.zeros(len(table), dtype=bool)
    # The set that suffices most often first, then what each next one adds.
    for j in sorted(chosen, key=lambda j: -int(table[:, j].sum())):
        new = int((table[:, j] & ~covered).sum())
        covered |= table[:, j]
        factors.append(
            GlobalFactor(index.names_of_mask(candidates[j]), int(table[:, j].sum()), new)
        )
    left = tuple(np.flatnonzero(~covered).tolist())
    return GlobalFactors(
        view=side,
        n=len(table),
        wanted=wanted,
        max_size=largest,
        sets=tuple(factors),
        covered=int(covered.sum()),
        # A cover of a part of the sets bounds nothing: a set that was not considered might do it
        # alone.
        could_be=bound if every_set else min(bound, 1),
        left=left,
        left_names=tuple(names[i] for i in left),
        every_set=every_set,
    )


_Suffices = list[tuple[tuple[str, ...], BoolVector]]
"""Features of each decision, and by bit mask whether the set suffices."""


def _candidates(
    suffices: _Suffices, minimal: set[int], index: FeatureIndex, largest: int | None
) -> tuple[list[int], bool]:
    """Return sets that suffice in some decision, the most frequent first, and whether all."""
    d = len(index.names)
    most = d if largest is None else min(largest, d)
    # A set that suffices for many may be minimal for none: consider all sets if that is possible.
    all_of_them = sum(comb(d, k) for k in range(most + 1)) <= _MAX_SETS
    sets = (
        _masks_up_to_size(d, most) if all_of_them else [m for m in minimal if m.bit_count() <= most]
    )
    own = {
        features: np.array(index.to_own_masks(features, sets), dtype=np.int64)
        for features, _ in suffices
    }
    often = np.zeros(len(sets), dtype=np.int64)
    for features, by_mask in suffices:
        often += by_mask[own[features]]
    # Ties by size and mask, so that the limit cuts the same candidates every time.
    order = sorted(np.flatnonzero(often), key=lambda j: (-often[j], sets[j].bit_count(), sets[j]))
    return [sets[j] for j in order[:_MAX_CANDIDATES]], all_of_them and len(order) <= _MAX_CANDIDATES


def _masks_up_to_size(d: int, most: int) -> list[int]:
    """Return the bit masks of all sets of at most `most` of d features."""
    return [
        sum(1 << i for i in chosen) for k in range(most + 1) for chosen in combinations(range(d), k)
    ]


def _sufficiency_table(suffices: _Suffices, masks: list[int], index: FeatureIndex) -> Outcomes:
    """Return a (decisions, sets) table of whether the set suffices."""
    own = {features: index.to_own_masks(features, masks) for features, _ in suffices}
    rows = [by_mask[own[features]] for features, by_mask in suffices]
    return np.array(rows, dtype=bool).reshape(len(rows), len(masks))


def _shrink_chosen(table: Outcomes, chosen: list[int], sizes: list[int], share: float) -> list[int]:
    """Replace each chosen column by the one of fewest features that still reaches the share."""
    found = list(chosen)
    reached = int(table[:, found].any(axis=1).sum()) if found else 0
    needed = min(rows_needed(share, len(table)), reached)
    for at, own in enumerate(found):
        others = np.asarray(table[:, found[:at] + found[at + 1 :]].any(axis=1))
        enough = np.flatnonzero((table | others[:, None]).sum(axis=0) >= needed)
        # The integer program minimises the number of sets only; of equal covers, smaller sets say
        # more.
        found[at] = min((int(j) for j in enough), key=lambda j: (sizes[j], j), default=own)
    return found
