"""What changed in one decision: its outcome, its minimal sets, its codes, its ways out.

Counts of both sides are held, not conclusions: how far a set's sufficiency moved, and how surely,
is worked out when it is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from suffice.audit.decisions import ViewName
from suffice.audit.gaps import Share, newcombe, points
from suffice.typing import Scalar

__all__ = ["DecisionDrift", "FactorChange", "Fate", "OptionAgain", "Shift"]

Fate = Literal["gained", "lost", "kept"]
"""What became of a set that was minimal before, or is so after."""


@dataclass(frozen=True)
class Shift:
    """How far a share moved, with Newcombe's 95% interval, reading references as two samples."""

    difference: float
    low: float
    high: float

    @property
    def surely(self) -> bool:
        """Is 0 outside the interval?"""
        return not self.low <= 0 <= self.high

    def __str__(self) -> str:
        return f"{points(self.difference)} ({points(self.low)} to {points(self.high)})"


@dataclass(frozen=True)
class FactorChange:
    """A set of features that is minimal on one side at least, and not as sufficient on both."""

    view: ViewName
    features: tuple[str, ...]
    fate: Fate
    before: Share | None
    """Of the references before, those for which it does what the view asks; None: not counted."""
    after: Share | None
    sufficed: bool | None
    """Was that enough at τ, whether or not it was minimal?"""
    suffices: bool | None

    @property
    def shift(self) -> Shift | None:
        """How far its sufficiency moved; None where one side was not counted."""
        if self.before is None or self.after is None:
            return None
        return Shift(*newcombe(self.after, self.before))

    @property
    def stays(self) -> bool:
        """Is it just as sufficient as before, so far as it was counted?"""
        before, after = self.before, self.after
        return before is None or after is None or before.share == after.share

    @property
    def says(self) -> str:
        """What became of it, in words."""
        if self.fate == "lost":
            return "lost: less suffices" if self.suffices else "lost"
        if self.fate == "gained":
            return "gained: less sufficed" if self.sufficed else "gained"
        return "kept"


@dataclass(frozen=True)
class OptionAgain:
    """An option of recourse, tried on the model after."""

    says: str
    cost: float
    works: bool


@dataclass(frozen=True)
class DecisionDrift:
    """What changed in one decision."""

    name: str
    outcomes: tuple[str, str]
    """Before and after, in words."""
    predictions: tuple[Scalar, Scalar]
    scores: tuple[float | None, float | None]
    """How sure the models are, or the values that they give; None where they say not."""
    factors: tuple[FactorChange, ...]
    """Minimal sets lost, gained, or kept with another sufficiency; none where the outcome is
    another."""
    unmoved: int
    """Minimal sets of both, as sufficient as before."""
    members: tuple[tuple[str, int, int], ...]
    """Each feature, with how many of the minimal sets before and after have it."""
    keep_distance: float | None
    """Between the barcodes: 0 the same at every τ, 1 nothing in common. None where the outcome is
    another, or where not every set was counted."""
    flip_distance: float | None
    codes: tuple[tuple[str, ...], tuple[str, ...]] | None
    """Reason codes before and after; None where none were asked for, where the outcome is another,
    or where those of one side are not known."""
    codes_unknown: tuple[str, ...]
    """Why they are not, of either side."""
    options: tuple[OptionAgain, ...]
    complete: bool
    """Were all minimal sets of both sides known?"""

    @property
    def changed(self) -> bool:
        """Is the outcome another?"""
        return self.outcomes[0] != self.outcomes[1]

    def having(self, fate: Fate) -> tuple[FactorChange, ...]:
        """The sets that were gained, lost, or kept with another sufficiency."""
        return tuple(f for f in self.factors if f.fate == fate)

    @property
    def n_minimal(self) -> tuple[int, int]:
        """How many minimal sets there were, and are."""
        kept = self.unmoved + len(self.having("kept"))
        return kept + len(self.having("lost")), kept + len(self.having("gained"))

    @property
    def other_sets(self) -> bool:
        """Was a minimal set gained or lost?"""
        return any(f.fate != "kept" for f in self.factors)

    @property
    def other_codes(self) -> bool:
        """Are the reason codes others, or in another order?"""
        return self.codes is not None and self.codes[0] != self.codes[1]

    @property
    def distance(self) -> float | None:
        """The larger of the two views' distances."""
        known = [d for d in (self.keep_distance, self.flip_distance) if d is not None]
        return max(known, default=None)

    @property
    def fallen(self) -> tuple[OptionAgain, ...]:
        """Options that no longer work."""
        return tuple(o for o in self.options if not o.works)

    @property
    def nothing(self) -> bool:
        """Is it all as before?"""
        apart = self.changed or bool(self.factors) or bool(self.distance)
        return not (apart or self.other_codes or self.fallen)
