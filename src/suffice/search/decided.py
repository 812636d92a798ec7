"""What a search gives that decides every set at one τ, rather than counting all of them."""

from __future__ import annotations

from dataclasses import dataclass

from suffice.search.findings import Findings
from suffice.search.stop import Stop
from suffice.search.sweep import Draws
from suffice.search.tally import Tally
from suffice.typing import BoolVector

__all__ = ["Decided"]


@dataclass(frozen=True, eq=False)
class Decided:
    """The factors of both views at one τ, and how the work went."""

    tally: Tally
    """Hits of those sets that were counted all the same: the empty and the full one, mostly."""
    keep: Findings
    flip: Findings
    flip_outcomes: tuple[BoolVector, ...]
    """By flip factor: which references still have the input's outcome when the factor is replaced;
    the others flip."""
    draws: Draws | None
    """A sample of D, for necessity; None where none was needed, or there was no room for one."""
    stopped: Stop | None
    """What ended the search; None if every set is decided."""
