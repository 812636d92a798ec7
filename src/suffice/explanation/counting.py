"""Necessity by counts: of any one set, and of all minimal sets at every τ."""

from __future__ import annotations

import numpy as np

from suffice.errors import NotVisitedError
from suffice.measures import Measures
from suffice.search.profile import Profile

__all__ = ["measures_of", "necessity_curve", "necessity_estimate"]


def measures_of(profile: Profile, members: tuple[int, ...], closed: bool) -> Measures:
    """The four measures of "just these were held", or `closed` upwards: "at least these were"."""
    tally, weights = profile.tally, profile.weights
    if not tally.complete:
        raise NotVisitedError(
            "necessity and the contrapositives are taken over all subsets, and the search was "
            f"bounded (exhaustive up to size {tally.exhaustive_size}). Use sufficiency, or "
            "necessity_of for an estimate."
        )
    n, total = tally.n, tally.n << tally.d
    outcome = float(sum((level * u).sum() for level, u in profile.weighted_levels()))
    if not closed:
        u = float(weights[len(members)])
        return Measures(u * tally.hits(members), u * n, outcome, total)
    wanted = tally.lattice.mask(members)
    above = np.flatnonzero((np.arange(1 << tally.d) & wanted) == wanted)
    each = weights[np.bitwise_count(above)]
    hits = float((each * tally.dense[above]).sum())
    return Measures(hits, float(each.sum()) * n, outcome, total)


def necessity_estimate(profile: Profile, members: tuple[int, ...], closed: bool) -> float | None:
    """PN of the same factor from a sample of D; None where none was drawn."""
    if profile.draws is None:
        return None
    held = profile.draws.held[profile.draws.outcomes]
    holds = held[:, list(members)].all(axis=1)
    if not closed:
        holds &= held.sum(axis=1) == len(members)
    return float(np.mean(holds)) if len(held) else None


def necessity_curve(profile: Profile) -> tuple[tuple[float, float], ...]:
    """Steps (τ, cumulative PN): each PN holds for thresholds up to and including its τ."""
    findings = profile.findings
    if findings is not None and findings.only_at_tau:
        raise NotVisitedError(
            f"this search decided every set at τ = {findings.tau:g} only: search exhaustively to "
            "have necessity at every τ"
        )
    reach, weight = profile.reach_of_outcome()
    total = weight.sum()
    if not total:
        return ()
    steps, which = np.unique(reach, return_inverse=True)
    mass = np.bincount(which, weights=weight, minlength=len(steps))
    share = mass[::-1].cumsum()[::-1] / total
    return tuple((float(t), float(pn)) for t, pn in zip(steps, share, strict=True) if t > 0)
