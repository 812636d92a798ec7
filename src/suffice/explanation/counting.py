"""Necessity by counts: of any one set, and of all minimal sets at every τ."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suffice.errors import NotVisitedError
from suffice.measures import Measures
from suffice.search.profile import Profile

__all__ = ["Asked", "measures_of", "necessity_curve", "necessity_estimate"]


@dataclass(frozen=True)
class Asked:
    """A set that is asked about: its players, and how many it has of those that were left out."""

    members: tuple[int, ...]
    idle: int
    all_idle: int
    """How many were left out of the search."""

    def sets(self, closed: bool) -> int:
        """How many sets of all features there are for each of the players that hold these."""
        return 1 << (self.all_idle - self.idle) if closed else 1


def measures_of(profile: Profile, asked: Asked, closed: bool) -> Measures:
    """The four measures of "just these were held", or `closed` upwards: "at least these were".

    Taken over the sets of all features: players that were left out change no outcome, so each set
    of the others counts once for every way to hold them.
    """
    members = asked.members
    tally, weights = profile.tally, profile.weights
    if not tally.complete:
        raise NotVisitedError(
            "necessity and the contrapositives are taken over all subsets, and the search was "
            f"bounded ({tally.evaluated_whole}). Use sufficiency, or "
            "necessity_of for an estimate."
        )
    n, total = tally.n, tally.n << (tally.d + asked.all_idle)
    outcome = profile.outcome * (1 << asked.all_idle)
    if not closed:
        u = float(weights[len(members)])
        return Measures(u * tally.hits(members), u * n, outcome, total)
    wanted = tally.lattice.mask(members)
    above = np.flatnonzero((np.arange(1 << tally.d) & wanted) == wanted)
    each = weights[np.bitwise_count(above)] * asked.sets(closed)
    hits = float((each * tally.dense[above]).sum())
    return Measures(hits, float(each.sum()) * n, outcome, total)


def necessity_estimate(profile: Profile, asked: Asked, closed: bool) -> float | None:
    """PN of the same factor from a sample of D; None where none was drawn."""
    if profile.draws is None:
        return None
    held = profile.draws.held[profile.draws.outcomes]
    holds = held[:, list(asked.members)].all(axis=1)
    if not closed:
        holds &= held.sum(axis=1) == len(asked.members)
    share = asked.sets(closed) / (1 << asked.all_idle)
    return float(np.mean(holds)) * share if len(held) else None


def necessity_curve(profile: Profile) -> tuple[tuple[float, float], ...]:
    """Steps (τ, cumulative PN): each PN holds for thresholds up to and including its τ."""
    findings = profile.findings
    if findings is not None and findings.only_at_tau:
        raise NotVisitedError(
            f"this search decided every set at τ = {findings.tau:g} only: search exhaustively to "
            "have necessity at every τ"
        )
    taus, shares = profile.necessity_steps()
    pairs = zip(taus.tolist(), shares.tolist(), strict=True)
    return tuple((tau, necessity) for tau, necessity in pairs if tau > 0)
