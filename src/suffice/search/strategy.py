"""Ways to search: count every set, decide each at one τ with few rows, or look greedily for more.

- "auto" is one of the others, or an anytime search: `plan` says which, and why.
- "exhaustive" counts all sets (or, bounded, all small ones) and so answers at every τ; past what
  memory holds, engines stream the lattice and decide every set at one τ.
- "pruned" decides every set at one τ with as few model rows as it can: for dear models.
- "greedy" is exhaustive for small sets and looks for larger ones from many starts: for many
  features. What it finds is verified; that nothing else exists is not claimed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from suffice.context.hybrids import Hybrids
from suffice.context.swap import SwapHybrids
from suffice.errors import InputError
from suffice.evaluate import Evaluator, LatticeEvaluator
from suffice.search.decided import Decided
from suffice.search.findings import Findings
from suffice.search.greedy import Greedy, greedy_search
from suffice.search.limits import LimitKeeper
from suffice.search.plan import Way
from suffice.search.profile import Profile
from suffice.search.pruned import pruned_search
from suffice.search.question import Ends, Question, ViewName
from suffice.search.stop import Stop
from suffice.search.sweep import Sweep, run_sweep
from suffice.typing import BoolVector

__all__ = ["STRATEGIES", "Answer", "answer"]

STRATEGIES = ("auto", "exhaustive", "bounds", "pruned", "greedy")

VIEW_ENDS: tuple[Ends, Ends] = ("held", "replaced")
"""Whose small sets the keep view and the flip view read, where each has a sweep of its own."""

_PAIRS_UP_TO = 100
"""With more players than this, the greedy search leaves even pairs to its starts."""


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


def answer(
    way: Way, evaluator: Evaluator, hybrids: Hybrids, question: Question, keeper: LimitKeeper
) -> Answer:
    """Search in the way planned."""
    if way == "pruned":
        if not isinstance(hybrids, SwapHybrids):
            raise InputError("search", "'pruned'", "'auto' in this context", _ORDERS)
        return _of_decided(pruned_search(evaluator, hybrids, question, keeper), question)
    if way == "streamed":
        assert isinstance(evaluator, LatticeEvaluator)
        from suffice.search.streamed import streamed_search

        return _of_decided(streamed_search(evaluator, hybrids.d, question, keeper), question)
    if way in ("greedy", "anytime"):
        return _greedy(evaluator, hybrids, question, keeper)
    sweep = run_sweep(evaluator, hybrids.d, question, keeper)
    profile = Profile.of(sweep.tally, question, sweep.draws)
    return Answer(profile, None, sweep, {}, sweep.stopped)


_ORDERS = "It orders hybrids by the values they share, which are not known before they are made."


def _of_decided(found: Decided, q: Question) -> Answer:
    draws = None if found.tally.complete else found.draws
    profile = Profile.of(found.tally, q, draws, found.keep)
    members = [factor.members for factor in found.flip.factors]
    flips = {m: ~kept for m, kept in zip(members, found.flip_outcomes, strict=True)}
    return Answer(profile, found.flip, None, flips, found.stopped)


def _greedy(evaluator: Evaluator, hybrids: Hybrids, q: Question, keeper: LimitKeeper) -> Answer:
    """Half of what is allowed goes to the sweep of small sets, a quarter to each view's larger."""
    if q.adjust != "none":
        raise InputError(
            "adjust",
            repr(q.adjust),
            "'none' in a greedy search",
            "It has no fixed family of tests: choose a smaller alpha.",
        )
    small = q.limits.max_size or (2 if hybrids.d <= _PAIRS_UP_TO else 1)
    of_small = replace(q, limits=replace(q.limits, max_size=small))
    q = replace(q, limits=replace(q.limits, max_size=None))
    sweep = run_sweep(evaluator, hybrids.d, of_small, keeper.part(0.5))
    profile = Profile.of(sweep.tally, q, sweep.draws)
    if sweep.tally.complete:
        return Answer(profile, None, sweep, {}, None)

    def larger(view: ViewName, counted: Profile, share: float) -> Greedy:
        known = [minimal.members for minimal in counted.minimal_at(q.tau)]
        return greedy_search(evaluator, hybrids.d, view, q, keeper.part(share), known=known)

    keep = flip = None
    if q.ends != "replaced":
        keep = larger("keep", profile, 0.5 if q.ends == "both" else 1.0)
        profile = replace(profile, findings=keep.findings)
    if q.ends != "held":
        other = replace(profile, tally=sweep.tally.other_view(), findings=None)
        flip = larger("flip", other, 1.0)
    stopped = next(search.stopped for search in (keep, flip) if search is not None)
    if flip is None:
        return Answer(profile, None, sweep, {}, stopped)
    return Answer(profile, flip.findings, sweep, flip.outcomes, stopped)
