"""What a search gives to those who tell of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from suffice.search.decided import Decided
from suffice.search.findings import Findings
from suffice.search.profile import Profile
from suffice.search.question import Question
from suffice.search.stop import Stop
from suffice.search.sweep import Sweep
from suffice.typing import BoolVector

__all__ = ["Answer"]


@dataclass(frozen=True, eq=False)
class Answer:
    """What a search found: counts, findings, and why it stopped (None: it did not)."""

    keep: Profile
    flip_findings: Findings | None
    sweep: Sweep | None
    """The swept hybrids' outcomes, where they were kept."""
    flips: Mapping[tuple[int, ...], BoolVector]
    """For factors found outside the sweep: the references that flip when it is replaced."""
    stopped: Stop | None

    @classmethod
    def of_decided(cls, found: Decided, question: Question) -> Answer:
        """What a search gives that decides sets at one τ."""
        draws = None if found.tally.complete else found.draws
        profile = Profile.of(found.tally, question, draws, found.keep)
        members = [factor.members for factor in found.flip.factors]
        flips = {m: ~kept for m, kept in zip(members, found.flip_outcomes, strict=True)}
        return cls(profile, found.flip, None, flips, found.stopped)
