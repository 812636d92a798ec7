"""`Question`: parameters of a search (τ, test, limits, views); the fewest hits that pass."""

from __future__ import annotations

from dataclasses import dataclass, field

from suffice.errors import InputError
from suffice.inference import fewest_hits
from suffice.search.limits import Limits
from suffice.typing import VIEWS, Adjustment, ViewName


@dataclass(frozen=True)
class Question:
    """Parameters of a search: τ, test, limits, views and the distribution of sets."""

    tau: float = 0.9
    alpha: float | None = None
    adjust: Adjustment = "none"
    limits: Limits = field(default_factory=Limits)
    size_weights: tuple[float, ...] | None = None
    """Probability under D of holding 0, 1, …, d players; None: D is uniform."""
    seed: int = 0
    progress: bool | None = None
    views: tuple[ViewName, ...] = VIEWS
    """Views whose small sets count: one where the other view has a sweep of its own."""

    def fewest_hits(self, n: int, tests: int) -> int:
        """Return the fewest hits among n that pass at τ if `tests` sets are tested; n + 1: none do.

        For searches that decide sets at τ one by one: adjustments that compare the counts of all
        sets are not possible there.
        """
        if self.adjust == "holm" or self.adjust == "bh":
            raise InputError(
                "adjust",
                repr(self.adjust),
                "'none' or 'bonferroni' in a search that decides sets at one τ",
                "Holm and Benjamini-Hochberg compare the counts of all sets, which this search "
                "does not keep: search exhaustively.",
            )
        return fewest_hits(n, self.tau, self.alpha, self.adjust, tests)
