"""Changes of one decision between two explanations, totals over many, and barcode distance.

`DecisionDrift` holds the counts of both sides, not conclusions: the shift of a set's sufficiency
and its interval are computed when they are read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import msgspec
import numpy as np

from suffice.audit.decision_counts import own_masks
from suffice.errors import InputError
from suffice.explanation import View
from suffice.inference import Share, Shift, newcombe_interval
from suffice.search.limits import EXHAUSTIVE_PLAYERS
from suffice.typing import (
    VIEWS,
    Counts,
    NaturalNumber,
    NonNegative,
    Reals,
    RoundedShare,
    Scalar,
    SmallCounts,
    ViewName,
)

Fate = Literal["gained", "lost", "kept"]
"""Fate of a set that is minimal before, after, or on both sides."""


@dataclass(frozen=True)
class FactorChange:
    """A feature set that is minimal on one side at least, with its counts on both sides."""

    view: ViewName
    features: tuple[str, ...]
    fate: Fate
    before: Share | None
    """Share of the references before that have the view's outcome; None if not counted."""
    after: Share | None
    sufficed: bool | None
    """Whether the set sufficed at τ before, minimal or not."""
    suffices: bool | None

    @property
    def shift(self) -> Shift | None:
        """Change of its sufficiency, references read as two samples; None if not counted."""
        if self.before is None or self.after is None:
            return None
        return Shift(*newcombe_interval(self.after, self.before))

    @property
    def stays(self) -> bool:
        """True if its sufficiency is the same on both sides, or not counted on one."""
        before, after = self.before, self.after
        return before is None or after is None or before.share == after.share

    @property
    def text(self) -> str:
        """The fate as text, with whether a subset suffices in place of the set."""
        if self.fate == "lost":
            return "lost: a subset suffices" if self.suffices else "lost"
        if self.fate == "gained":
            return "gained: a subset sufficed" if self.sufficed else "gained"
        return "kept"


# Stored under the name that the field had in version 0.5.0.
class RetestedOption(msgspec.Struct, frozen=True, rename={"text": "says"}):
    """A recourse option, retested on the model after."""

    text: str
    """The change as text."""
    cost: NonNegative
    works: bool


@dataclass(frozen=True)
class DecisionDrift:
    """Changes of one decision: outcome, minimal sets, reason codes, recourse options."""

    name: str
    outcomes: tuple[str, str]
    """Outcomes before and after, as text."""
    predictions: tuple[Scalar, Scalar]
    scores: tuple[float | None, float | None]
    """Scores before and after: probabilities or values; None if a model gives none."""
    factors: tuple[FactorChange, ...]
    """Minimal sets lost, gained, or kept with another sufficiency; empty if the outcome changed."""
    unmoved: NaturalNumber
    """Number of minimal sets of both sides that are as sufficient as before."""
    members: tuple[tuple[str, NaturalNumber, NaturalNumber], ...]
    """Each feature with the number of minimal sets before and after that have it."""
    keep_distance: RoundedShare | None
    """Distance between the barcodes: 0 equal at every τ, 1 nothing in common. None if the outcome
    changed, or not every set was counted."""
    flip_distance: RoundedShare | None
    codes: tuple[tuple[str, ...], tuple[str, ...]] | None
    """Reason codes before and after; None without a catalogue, if the outcome changed, or if the
    codes of one side are not known."""
    codes_unknown: tuple[str, ...]
    """Problems because of which the codes of either side are not known."""
    options: tuple[RetestedOption, ...]
    complete: bool
    """Whether all minimal sets of both sides are known."""

    @property
    def changed(self) -> bool:
        """True if the outcome changed."""
        return self.outcomes[0] != self.outcomes[1]

    def having(self, fate: Fate) -> tuple[FactorChange, ...]:
        """Return the sets that were gained, lost, or kept with another sufficiency."""
        return tuple(f for f in self.factors if f.fate == fate)

    @property
    def n_minimal(self) -> tuple[int, int]:
        """Numbers of minimal sets before and after."""
        kept = self.unmoved + len(self.having("kept"))
        return kept + len(self.having("lost")), kept + len(self.having("gained"))

    @property
    def other_sets(self) -> bool:
        """True if a minimal set was gained or lost."""
        return any(f.fate != "kept" for f in self.factors)

    @property
    def other_codes(self) -> bool:
        """True if the reason codes or their order changed."""
        return self.codes is not None and self.codes[0] != self.codes[1]

    @property
    def distance(self) -> float | None:
        """The larger of the distances of the two views."""
        known = [d for d in (self.keep_distance, self.flip_distance) if d is not None]
        return max(known, default=None)

    @property
    def fallen(self) -> tuple[RetestedOption, ...]:
        """Recourse options that no longer work."""
        return tuple(o for o in self.options if not o.works)

    @property
    def nothing(self) -> bool:
        """True if nothing changed in this decision."""
        apart = self.changed or bool(self.factors) or bool(self.distance)
        return not (apart or self.other_codes or self.fallen)


@dataclass(frozen=True)
class SetDrift:
    """Decisions of one outcome in which a feature set was lost or gained."""

    view: ViewName
    outcome: str
    features: tuple[str, ...]
    lost: NaturalNumber
    gained: NaturalNumber
    decisions: NaturalNumber
    """Number of decisions with this outcome on both sides."""


@dataclass(frozen=True)
class FeatureDrift:
    """Share of the minimal sets that have a feature, before and after."""

    feature: str
    before: RoundedShare
    """Mean over the decisions of the share of minimal sets that have the feature."""
    after: RoundedShare
    fell: NaturalNumber
    """Number of decisions in which that share fell."""
    rose: NaturalNumber
    decisions: NaturalNumber
    """Number of decisions with minimal sets on both sides."""

    @property
    def difference(self) -> float:
        """Share after minus share before."""
        return self.after - self.before


def set_drifts(decisions: Iterable[DecisionDrift]) -> tuple[SetDrift, ...]:
    """Return the sets gained or lost in some decision, those of most decisions first.

    All decisions must have the same outcome on both sides.
    """
    lost: Counter[tuple[ViewName, str, tuple[str, ...]]] = Counter()
    gained: Counter[tuple[ViewName, str, tuple[str, ...]]] = Counter()
    of: Counter[str] = Counter()
    for d in decisions:
        of[d.outcomes[0]] += 1
        for f in d.factors:
            if f.fate != "kept":
                counted = lost if f.fate == "lost" else gained
                counted[f.view, d.outcomes[0], f.features] += 1
    # A set may be lost in some decisions and gained in others, so both counts share a row.
    found = [SetDrift(*key, lost[key], gained[key], of[key[1]]) for key in {**lost, **gained}]
    return tuple(sorted(found, key=_set_order))


def _set_order(s: SetDrift) -> tuple[int, int, str, int, tuple[str, ...]]:
    most = max(s.lost, s.gained)
    return -most, VIEWS.index(s.view), s.outcome, len(s.features), s.features


def feature_drifts(decisions: Iterable[DecisionDrift]) -> tuple[FeatureDrift, ...]:
    """Return the share of minimal sets that have each feature, the largest change first.

    Counts decisions that have minimal sets on both sides; all must have the same outcome on both.
    """
    shares: dict[str, list[tuple[float, float]]] = {}
    # Without minimal sets on one side there is no share of them that has a feature.
    known = [d for d in decisions if all(d.n_minimal)]
    for d in known:
        before, after = d.n_minimal
        for name, old, new in d.members:
            shares.setdefault(name, []).append((old / before, new / after))
    found = [
        FeatureDrift(
            name,
            sum(old for old, _ in pairs) / len(known),
            sum(new for _, new in pairs) / len(known),
            sum(new < old for old, new in pairs),
            sum(new > old for old, new in pairs),
            len(known),
        )
        for name, pairs in shares.items()
    ]
    return tuple(sorted(found, key=lambda f: -abs(f.difference)))


def barcode_distance(one: View, other: View) -> float | None:
    """Return the distance between the barcodes of two views, from 0 (equal) to 1 (disjoint).

    That is the mean over all thresholds of the Jaccard distance between the sets that contain a
    minimal set of the one view and of the other. None if not every set was counted.

    >>> import pandas as pd
    >>> from suffice import Explainer, audit
    >>> people = pd.DataFrame({"pay": [30, 60, 45, 60], "debt": [20, 20, 0, 40]})
    >>> before = Explainer(lambda rows: rows["pay"] >= 40, people).explain([30, 20])
    >>> after = Explainer(lambda rows: rows["pay"] - rows["debt"] >= 40, people).explain([30, 20])
    >>> audit.barcode_distance(before.keep, before.keep)
    0.0
    >>> round(audit.barcode_distance(before.keep, after.keep), 3)
    0.167
    """
    for argument, view in (("one", one), ("other", other)):
        given: object = view
        if not isinstance(given, View):
            raise InputError(argument, given, "a view of an explanation: e.keep or e.flip")
    if not all(view.tally.complete and view.profile.findings is None for view in (one, other)):
        return None
    features = tuple(dict.fromkeys(player.name for view in (one, other) for player in view.players))
    if len(features) > EXHAUSTIVE_PLAYERS:
        return None
    (taus, first), (others, second) = (_reach_by_mask(view, features) for view in (one, other))
    return _mean_jaccard(taus, first, others, second)


def _reach_by_mask(view: View, features: tuple[str, ...]) -> tuple[Reals, SmallCounts]:
    """Return the thresholds, and by bit mask of `features` the index of the last one reached."""
    steps, own = view.profile.steps, tuple(player.name for player in view.players)
    if own == features:
        return steps.taus, steps.reach
    return steps.taus, steps.reach[own_masks(own, features)]


def _mean_jaccard(taus: Reals, first: SmallCounts, others: Reals, second: SmallCounts) -> float:
    """Integrate over τ the Jaccard distance of the sets that reach it in either view."""
    # Between two neighbouring thresholds neither barcode changes, so the integral is a finite sum.
    every = np.union1d(taus, others)  # both begin with 0
    one, other = np.searchsorted(every, taus)[first], np.searchsorted(every, others)[second]
    # A set is in both closures up to the lower of its two thresholds, and in either up to the
    # higher.
    both = _count_reaching(np.minimum(one, other), len(every))
    either = _count_reaching(np.maximum(one, other), len(every))
    # Where no set reaches a threshold in either view, the views agree: distance 0.
    apart = np.where(either > 0, 1 - both / np.maximum(either, 1), 0.0)
    return float(np.diff(every) @ apart[1:])


def _count_reaching(numbers: Counts, n: int) -> Counts:
    """Return the number of sets that reach each of n thresholds."""
    return np.asarray(np.bincount(numbers, minlength=n)[::-1].cumsum()[::-1])
