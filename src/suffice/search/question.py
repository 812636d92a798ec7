"""What is asked of a search, whatever way it takes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from suffice.inference import Adjustment
from suffice.search.limits import Limits

__all__ = ["Ends", "Question", "ViewName"]

ViewName = Literal["keep", "flip"]

Ends = Literal["both", "held", "replaced"]
"""Whose small sets are visited first: one view's, or both in turn."""


@dataclass(frozen=True)
class Question:
    """At which τ, under which test, within which limits, over which distribution of sets."""

    tau: float = 0.9
    alpha: float | None = None
    adjust: Adjustment = "none"
    limits: Limits = field(default_factory=Limits)
    size_weights: tuple[float, ...] | None = None
    """How likely D is to hold 0, 1, …, d players; None: all sets alike."""
    seed: int = 0
    progress: bool | None = None
    ends: Ends = "both"
    """Whose small sets count: both views', or one's where the other has a sweep of its own."""
