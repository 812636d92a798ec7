"""Many features: more sets than can be looked at, so that the best that were found are given.

Small sets are looked at on every reference, as far as there is time; larger ones come from the
references' own changes (`shrink`). A set that was found so is counted on every reference, which may
show a cheaper change of it; and all that lies inside it is looked at for changes that cost no more.
If there are none, it is as minimal as if all sets had been looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from suffice.encodings.recourse.choose import Candidates, Choices, Chosen
from suffice.encodings.recourse.result import beyond
from suffice.encodings.recourse.shrink import Change, LargeSets, undominated
from suffice.search.limits import LimitReached

__all__ = ["choose_widely"]

_TOGETHER = 32
"""Sets counted together."""


def choose_widely(candidates: Candidates, large: LargeSets, most: int | None) -> Choices:
    """The minimal ones among the sets that were swept and the larger ones that were found."""
    swept = [_swept(candidates, int(p)) for p in candidates.minimal(candidates.affordable)]
    whole = candidates.whole
    found = [change for change in large.known.values() if len(change.members) > whole]
    d = candidates.counts.sets.d
    improved = _Improved(large, whole, [])
    improved.run(_not_in(undominated([*swept, *found], d), swept), most)
    options = undominated([*swept, *improved.options], d)
    chosen = [_chosen(candidates, change) for change in options[:most]]
    kept = {change.members for change in options[:most]}
    unsure = sum(change.members in kept for change in improved.unsure)
    more = None if improved.ended_early else beyond(most, len(options))
    return Choices(candidates.decision.pool, chosen, _said(large, unsure, len(chosen)), more)


def _swept(candidates: Candidates, position: int) -> Change:
    counts = candidates.counts
    members, reference = counts.sets.members(position), int(counts.reference[position])
    return Change(members, float(counts.cost[position]), reference, *counts.of(members))


def _not_in(changes: list[Change], known: list[Change]) -> list[Change]:
    there = {change.members for change in known}
    return [change for change in changes if change.members not in there]


@dataclass(eq=False)
class _Improved:
    """Counts large sets, cheapest first, and replaces each by what makes it needless."""

    large: LargeSets
    whole: int
    """All sets of up to this size are known."""
    options: list[Change]

    def __post_init__(self) -> None:
        self.unsure: list[Change] = []
        self.ended_early = False

    def run(self, changes: list[Change], most: int | None) -> None:
        """Go through them, as far as the limits allow; without τ those left uncounted count too."""
        queue = [(change.cost, change.members, change) for change in changes]
        heapify(queue)
        seen = {change.members for change in changes}
        while queue and (most is None or len(self.options) < most):
            some = [heappop(queue)[2] for _ in range(min(_TOGETHER, most or _TOGETHER, len(queue)))]
            try:
                inner = self._improve(some)
            except LimitReached:
                left = [*some, *(change for _, _, change in queue)]
                taken = {change.members for change in self.options}
                left = [c for c in left if c.members not in taken and self.large.reaches(c)]
                self.unsure += left
                self.options += left
                return
            for better in inner:
                if better.members not in seen:
                    seen.add(better.members)
                    heappush(queue, (better.cost, better.members, better))
        self.ended_early = bool(queue)

    def _improve(self, changes: list[Change]) -> list[Change]:
        """Take the sets that may be options; of the others those inside that cost no more."""
        large = self.large
        asked = [change.members for change in changes if change.hits is None]
        known = [change for change in changes if change.hits is not None]
        counted = [*known, *(found for found in large.count(asked) if found is not None)]
        counted = [change for change in counted if large.reaches(change)]
        out: list[Change] = []
        for change in counted:
            inside = large.inside(change, self.whole)
            better = [found for found in large.count(inside or []) if found is not None]
            better = [found for found in better if large.reaches(found)]
            out += better
            if inside is None:
                self.unsure.append(change)
            if not better:
                self.options.append(change)
        return out


def _chosen(candidates: Candidates, change: Change) -> Chosen:
    rows = candidates.rows_of(change.members, 1 + change.reference)
    n = change.n if change.hits is not None else candidates.counts.allowed_on(change.members)
    return Chosen(change.members, change.cost, rows, counts=(n, change.hits))


def _said(large: LargeSets, unsure: int, options: int) -> tuple[str, ...]:
    tried, of = len(large.of_use), len(large.costs)
    among = f" of {of:,}" if tried < of else ""
    said = (
        f"Larger sets come from the changes of {tried:,}{among} references, less what they do not "
        "need: others may be missing."
    )
    if not options:
        return (said,)
    parts = f"of {unsure} of the {options:,} it is not known whether a part would do for as little"
    if not unsure:
        parts = "of none would a part do for as little"
    return (f"{said} Every option is verified with the model; {parts}.",)
