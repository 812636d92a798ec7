"""Ways to search: count every set, decide each at one τ with few rows, or look greedily for more.

- "exhaustive" counts all sets (or, bounded, all small ones) and so answers at every τ.
- "pruned" decides every set at one τ with as few model rows as it can: for dear models.
- "greedy" is exhaustive for small sets and looks for larger ones from many starts: for many
  features. What it finds is verified; that nothing else exists is not claimed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Literal

from suffice.context.hybrids import Hybrids
from suffice.context.swap import SwapHybrids
from suffice.errors import InputError
from suffice.evaluate import Evaluator
from suffice.inference import Adjustment
from suffice.search.greedy import Greedy, greedy_search
from suffice.search.limits import Limits
from suffice.search.profile import Findings, Profile
from suffice.search.pruned import pruned_search
from suffice.search.sweep import Ends, Sweep, run_sweep
from suffice.typing import BoolVector

__all__ = ["STRATEGIES", "Answer", "Question", "answer"]

STRATEGIES = ("exhaustive", "pruned", "greedy")

VIEW_ENDS: tuple[Ends, Ends] = ("held", "replaced")
"""Whose small sets the keep view and the flip view read, where each has a sweep of its own."""

_PAIRS_UP_TO = 100
"""With more players than this, the greedy search leaves even pairs to its starts."""


@dataclass(frozen=True)
class Question:
    """What is asked of a search, beside the context."""

    tau: float
    alpha: float | None = None
    adjust: Adjustment = "none"
    limits: Limits = field(default_factory=Limits)
    size_weights: tuple[float, ...] | None = None
    seed: int = 0
    progress: bool | None = None
    started: float = field(default_factory=perf_counter)
    ends: Ends = "both"
    """Whose small sets count: both views', or one's where the other has a sweep of its own."""


@dataclass(frozen=True, eq=False)
class Answer:
    """What a search found: counts, findings, and why it stopped (None: it did not)."""

    keep: Profile
    flip_findings: Findings | None
    sweep: Sweep | None
    """The swept hybrids' outcomes, where they were kept."""
    flips: Mapping[tuple[int, ...], BoolVector]
    """For factors found outside the sweep: the references that flip when it is replaced."""
    stopped: str | None


def answer(strategy: str, evaluator: Evaluator, hybrids: Hybrids, question: Question) -> Answer:
    """Search in the way named."""
    if strategy == "pruned":
        return _pruned(evaluator, hybrids, question)
    if strategy == "greedy":
        return _greedy(evaluator, hybrids, question)
    q = question
    sweep = _sweep(evaluator, hybrids, q, q.limits)
    return Answer(_profile(sweep, q, q.limits.max_size), None, sweep, {}, sweep.stopped)


def _pruned(evaluator: Evaluator, hybrids: Hybrids, q: Question) -> Answer:
    if not isinstance(hybrids, SwapHybrids):
        hint = (
            "It orders hybrids by the values they share, which are not known before they are made."
        )
        raise InputError("search", "'pruned'", "'exhaustive' or 'greedy' in this context", hint)
    found = pruned_search(
        evaluator,
        hybrids,
        q.tau,
        q.alpha,
        q.adjust,
        q.limits,
        q.seed,
        q.progress,
        q.started,
        q.size_weights,
    )
    profile = Profile(
        found.tally,
        q.alpha,
        q.adjust,
        q.limits.max_size,
        q.size_weights,
        None if found.tally.complete else found.draws,
        found.keep,
    )
    members = [factor.members for factor in found.flip.factors]
    flips = {m: ~kept for m, kept in zip(members, found.flip_outcomes, strict=True)}
    return Answer(profile, found.flip, None, flips, found.stopped)


def _greedy(evaluator: Evaluator, hybrids: Hybrids, q: Question) -> Answer:
    """Half of what is allowed goes to the sweep of small sets, a quarter to each view's larger."""
    if q.adjust != "none":
        raise InputError(
            "adjust",
            repr(q.adjust),
            "'none' in a greedy search",
            "It has no fixed family of tests: choose a smaller alpha.",
        )
    small = q.limits.max_size or (2 if hybrids.d <= _PAIRS_UP_TO else 1)
    sweep = _sweep(evaluator, hybrids, q, replace(q.limits.share(0.5), max_size=small))
    profile = _profile(sweep, q, None)
    if sweep.tally.complete:
        return Answer(profile, None, sweep, {}, None)
    keep = flip = None
    if q.ends != "replaced":
        keep = _larger(evaluator, hybrids, q, "keep", profile, 0.75 if q.ends == "both" else 1.0)
        profile = replace(profile, findings=keep.findings)
    if q.ends != "held":
        other = replace(profile, tally=sweep.tally.other_view(), findings=None)
        flip = _larger(evaluator, hybrids, q, "flip", other, 1.0)
    stopped = next(search.stopped for search in (keep, flip) if search is not None)
    if flip is None:
        return Answer(profile, None, sweep, {}, stopped)
    return Answer(profile, flip.findings, sweep, flip.outcomes, stopped)


def _larger(
    evaluator: Evaluator,
    hybrids: Hybrids,
    q: Question,
    view: Literal["keep", "flip"],
    profile: Profile,
    share: float,
) -> Greedy:
    known = [minimal.members for minimal in profile.minimal_at(q.tau)]
    limits = replace(q.limits.share(share), max_size=None)
    return greedy_search(
        evaluator,
        hybrids.d,
        view,
        q.tau,
        q.alpha,
        limits,
        q.seed,
        known=known,
        progress=q.progress,
        started=q.started,
    )


def _sweep(evaluator: Evaluator, hybrids: Hybrids, q: Question, limits: Limits) -> Sweep:
    return run_sweep(
        evaluator, hybrids.d, limits, q.seed, q.progress, q.started, q.size_weights, q.ends
    )


def _profile(sweep: Sweep, q: Question, max_size: int | None) -> Profile:
    return Profile(sweep.tally, q.alpha, q.adjust, max_size, q.size_weights, sweep.draws)
