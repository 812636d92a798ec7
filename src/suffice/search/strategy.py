"""Ways to search: count every set, decide each at one τ with few rows, or look greedily for more.

- "auto" is one of the others, or an anytime search: `plan` says which, and why.
- "exhaustive" counts all sets (or, bounded, all small ones) and so answers at every τ; past what
  memory holds, engines stream the lattice and decide every set at one τ.
- "pruned" decides every set at one τ with as few model rows as it can: for dear models.
- "greedy" is exhaustive for small sets and looks for larger ones from many starts: for many
  features. What it finds is verified; that nothing else exists is not claimed.
"""

from __future__ import annotations

from dataclasses import replace

from suffice.context.hybrids import Hybrids
from suffice.context.swap import SwapHybrids
from suffice.errors import InputError
from suffice.evaluate import CubeEvaluator, Evaluator, LatticeEvaluator
from suffice.search.answer import Answer
from suffice.search.greedy import Greedy, Memo, greedy_search
from suffice.search.limits import LimitKeeper
from suffice.search.plan import Way
from suffice.search.profile import Profile
from suffice.search.pruned import pruned_search
from suffice.search.question import Ends, Question
from suffice.search.sweep import run_sweep
from suffice.typing import ViewName

__all__ = ["STRATEGIES", "answer"]

STRATEGIES = ("auto", "exhaustive", "bounds", "pruned", "greedy")

VIEW_ENDS: tuple[Ends, Ends] = ("held", "replaced")
"""Whose small sets the keep view and the flip view read, where each has a sweep of its own."""

_PAIRS_UP_TO = 100
"""With more players than this, the greedy search leaves even pairs to its starts."""


def answer(
    way: Way, evaluator: Evaluator, hybrids: Hybrids, question: Question, keeper: LimitKeeper
) -> Answer:
    """Search in the way planned."""
    if way == "pruned":
        if not isinstance(hybrids, SwapHybrids):
            raise InputError("search", "'pruned'", "'auto' in this context", _ORDERS)
        return Answer.of_decided(pruned_search(evaluator, hybrids, question, keeper), question)
    if way == "streamed":
        assert isinstance(evaluator, LatticeEvaluator)
        from suffice.search.streamed import streamed_search

        found = streamed_search(evaluator, hybrids.d, question, keeper)
        return Answer.of_decided(found, question)
    if way == "bounds":
        if not isinstance(evaluator, CubeEvaluator):
            raise InputError("search", "'bounds'", "'auto' for this model and context", _BOUNDS)
        from suffice.search.bounds import bounded_search

        return Answer.of_decided(bounded_search(evaluator, hybrids.d, question, keeper), question)
    if way == "anytime":
        from suffice.search.anytime import anytime_search

        return anytime_search(evaluator, hybrids.d, question, keeper)
    if way == "greedy":
        return _greedy(evaluator, hybrids, question, keeper)
    sweep = run_sweep(evaluator, hybrids.d, question, keeper)
    profile = Profile.of(sweep.tally, question, sweep.draws)
    return Answer(profile, None, sweep, {}, sweep.stopped)


_BOUNDS = "Only tree and additive models that an engine reads, on swapped values, tell bounds."
_ORDERS = "It orders hybrids by the values they share, which are not known before they are made."


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

    memo = Memo(evaluator, hybrids.d, q.seed, sweep)

    def larger(view: ViewName, counted: Profile, share: float) -> Greedy:
        known = [minimal.members for minimal in counted.minimal_at(q.tau)]
        part = keeper.part(share)
        return greedy_search(evaluator, hybrids.d, view, q, part, known=known, memo=memo)

    keep = flip = None
    if q.ends != "replaced":
        keep = larger("keep", profile, 0.5 if q.ends == "both" else 1.0)
        profile = replace(profile, findings=keep.findings)
    if q.ends != "held":
        other = replace(profile, tally=sweep.tally.other_view(), findings=None)
        flip = larger("flip", other, 1.0)
    stops = [search.stopped for search in (keep, flip) if search is not None]
    stopped = next((stop for stop in stops if stop is not None), None)
    if flip is None:
        return Answer(profile, None, sweep, {}, stopped)
    return Answer(profile, flip.findings, sweep, flip.outcomes, stopped)
