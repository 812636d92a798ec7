"""Parameters of a search (τ, α, sizes), and which features cannot matter and are left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeGuard

import numpy as np

from suffice.context.hybrids import Hybrids, SwapHybrids
from suffice.engines import Evaluator, IdlePlayerEvaluator, IdleReason
from suffice.errors import InputError
from suffice.inference import Adjustment, fewest_hits
from suffice.search.limits import Limits

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

    def fewest_hits(self, n: int, tests: int) -> int:
        """The fewest hits among n that pass at τ, where so many sets are tested; n + 1: none do.

        For searches that decide sets at τ without counting them all: those know of no count but the
        one at hand, which is too little for the adjustments that compare counts.
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


@dataclass(frozen=True, eq=False)
class SearchTask:
    """A question about those players that may matter."""

    hybrids: tuple[Hybrids, Hybrids]
    """Of the keep view and of the flip view."""
    question: Question
    players: tuple[int, ...]
    """The numbers that its players have among all."""
    idle: Mapping[int, IdleReason]
    """Those that were left out, and why."""

    @classmethod
    def of_all(cls, hybrids: tuple[Hybrids, Hybrids], question: Question) -> SearchTask:
        """No player is left out."""
        return cls(hybrids, question, tuple(range(hybrids[0].d)), {})


# Players that cannot matter for this input and these references: left out, and nothing changes.


SKIP_IDLE_CHECK_UP_TO = 12
"""With so few players all their sets take less time than finding out which of them matter."""


def drop_idle_players(hybrids: SwapHybrids, question: Question, evaluator: Evaluator) -> SearchTask:
    """Leave out what `find_idle_players` finds, where that changes no number of the answer."""
    idle = find_idle_players(hybrids, evaluator)
    if not idle:
        return SearchTask.of_all((hybrids, hybrids), question)
    players = tuple(p for p in range(hybrids.d) if p not in idle)
    among = hybrids.restrict_to(players)
    return SearchTask((among, among), question, players, idle)


def may_drop_idle_players(hybrids: Hybrids, question: Question) -> TypeGuard[SwapHybrids]:
    """Return whether idle players can be left out without a change of any number, and at a gain.

    They cannot where a correction for many tests counts all sets, with idle players or without;
    nor where D prefers sets of some sizes, so that it does matter how many idle players are held.
    """
    counted = question.adjust != "none" or question.size_weights is not None
    swapped = isinstance(hybrids, SwapHybrids) and hybrids.d > SKIP_IDLE_CHECK_UP_TO
    return swapped and not counted


def find_idle_players(hybrids: SwapHybrids, evaluator: Evaluator) -> Mapping[int, IdleReason]:
    """The idle players and why; at least one player is left.

    What the references share is said before what the model does: it can be seen without it.
    """
    idle: dict[int, IdleReason] = {}
    if isinstance(evaluator, IdlePlayerEvaluator):
        idle |= evaluator.idle_players()
    same = (hybrids.codes[1:] == hybrids.codes[0]).all(axis=0)
    idle |= {int(player): "same" for player in np.flatnonzero(same)}
    if len(idle) == hybrids.d:
        del idle[min(idle)]
    return dict(sorted(idle.items()))


VIEW_ENDS: tuple[Ends, Ends] = ("held", "replaced")
"""Whose small sets the keep view and the flip view read, where each has a sweep of its own."""
