"""Exhaustive to 30 players at one τ, for evaluators that know the whole lattice.

The subsets go by in the order of their bit masks, and of each only the hits are kept (`seen.py`).
Then one view after the other is decided (`decide.py`): all its minimal sets, and their necessity,
exactly. The flip view is the same hits read backwards.

Under a time limit or a budget the small sets of both views are counted first, since of a stream
that was stopped nothing follows for the flip view: the smallest sets replaced go by last.
"""

from __future__ import annotations

from dataclasses import replace
from math import comb

import numpy as np

from suffice.evaluate import LatticeEvaluator
from suffice.progress import progress_bar
from suffice.search.decided import Decided
from suffice.search.findings import Found
from suffice.search.limits import LimitKeeper
from suffice.search.profile import Profile
from suffice.search.question import Question
from suffice.search.stop import Stop
from suffice.search.streamed.decide import Known, Rule, counted, decide
from suffice.search.streamed.seen import Seen, end_size, stream
from suffice.search.sweep import DRAWS, Draws, Sweep, draw_hybrids, run_sweep
from suffice.search.tally import Tally
from suffice.typing import BoolVector

__all__ = ["streamed_search"]

_STREAMING = 0.9
"""Of the time that is allowed. Deciding takes a small part of the time that counting took."""

_HYBRIDS_AT_ONCE = 1 << 20


def streamed_search(
    evaluator: LatticeEvaluator, d: int, question: Question, keeper: LimitKeeper | None = None
) -> Decided:
    """Find the τ-minimal factors of both views, and how much they cover, exactly.

    A time limit counts from now, unless a `keeper` is given that has counted before. It and a
    budget are kept to within a block of the stream, whose model rows are known only afterwards.
    """
    n, largest = evaluator.n, question.limits.max_size
    largest = d if largest is None else min(largest, d)
    rule = Rule(question.fewest_hits(n, sum(comb(d, k) for k in range(largest + 1))), largest)
    keeper = LimitKeeper(question.limits) if keeper is None else keeper
    if rule.least > n:  # not even a set that hits for every reference would pass
        tally, keep = Tally(d, n, (np.empty(0, dtype=np.int64),) * (d + 1)), Known((), largest, 1.0)
        flip, stopped, draws = keep, None, _draw(evaluator, d, question, keeper)
    else:
        small = _small_sets(evaluator, d, question, keeper)
        seen = stream(evaluator, d, question.progress, keeper.part(_STREAMING))
        tally, keep, flip = _views(seen, small, rule, question)
        # All that was not seen may contain what was found.
        whole = keep.decided_size == flip.decided_size == d
        stopped = None if whole else seen.stopped or keep.stopped or flip.stopped
        draws = _draw(evaluator, d, question, keeper) if small is None else small.draws
    if stopped is None and largest < d:
        stopped = Stop("max_size", largest)
    return Decided(
        tally,
        keep.findings(question.tau, keep.decided_size == d == largest),
        flip.findings(question.tau, flip.decided_size == d == largest),
        _flip_outcomes(evaluator, d, flip.factors),
        draws,
        stopped,
    )


def _views(
    seen: Seen, small: Sweep | None, rule: Rule, question: Question
) -> tuple[Tally, Known, Known]:
    """Counts to hand on, and what is known of keep and flip."""
    with progress_bar("sets", 4 << seen.players, question.progress) as bar:
        if seen.stopped is None:
            tally = seen.ends()
            weights = Profile.of(tally, question).weights
            keep = decide(seen, rule, bar, weights)
            return tally, keep, decide(seen.other_view(), rule, bar, weights[::-1])
        assert small is not None, "nothing but a limit stops a stream"
        keep = decide(seen, rule, bar).joined(counted(small.tally, rule))
    # Sets that went by are known to pass or not; but not what is smaller, so that none is minimal.
    flip = Known((), -1, seen.share).joined(counted(small.tally.other_view(), rule))
    return small.tally, keep, flip


def _small_sets(
    evaluator: LatticeEvaluator, d: int, question: Question, keeper: LimitKeeper
) -> Sweep | None:
    """Under limits: small sets of both views and a sample of D, for a part of what is allowed."""
    if not keeper.timed and keeper.rows_left is None:
        return None
    limits = question.limits
    size = min(end_size(d), d if limits.max_size is None else limits.max_size)
    of_small = replace(question, limits=replace(limits, max_size=size))
    return run_sweep(evaluator, d, of_small, keeper.part(0.2))


def _draw(
    evaluator: LatticeEvaluator, d: int, question: Question, keeper: LimitKeeper
) -> Draws | None:
    """A sample of D, for the necessity of single sets: only that of all factors is added up."""
    n, weights = evaluator.n, question.size_weights
    held, references = draw_hybrids(d, n, question.seed, DRAWS, weights)
    outcomes = keeper.ask(evaluator, held, references)
    count = len(outcomes)
    return Draws(held[:count], outcomes, references[:count]) if count else None


def _flip_outcomes(
    evaluator: LatticeEvaluator, d: int, factors: tuple[Found, ...]
) -> tuple[BoolVector, ...]:
    """By factor: the references that keep the outcome when the factor is replaced."""
    held = np.ones((len(factors), d), dtype=bool)
    for row, factor in zip(held, factors, strict=True):
        row[list(factor.members)] = False
    step = max(1, _HYBRIDS_AT_ONCE // evaluator.n)
    parts = [evaluator.outcomes(held[at : at + step]) for at in range(0, len(held), step)]
    return tuple(outcomes for part in parts for outcomes in part)
