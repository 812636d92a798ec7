"""Search for the factors at one τ that asks an expensive black box about as few rows as it can.

Level by level, smaller sets first, in both views together. What contains a found factor is never
evaluated; on German credit that leaves 431 of 512 sets, so it is not where the saving is. The
saving is in curtailed evaluation: see `curtailed.py`. The factors and their hits are those of an
exhaustive search; necessity, which counts all hybrids, is estimated from a sample.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

import numpy as np

from suffice.context.swap import SwapHybrids
from suffice.evaluate import Evaluator
from suffice.factors.lattice import Lattice
from suffice.progress import progress_bar
from suffice.search.decided import Decided
from suffice.search.findings import Findings, Found
from suffice.search.limits import LimitKeeper
from suffice.search.open_sets import OpenSets
from suffice.search.pruned.curtailed import Curtailed
from suffice.search.question import Question
from suffice.search.stop import Stop
from suffice.search.sweep import DRAWS, MOST_COUNTED, Draws, draw_hybrids
from suffice.search.tally import Tally
from suffice.typing import BoolVector, Held

__all__ = ["pruned_search"]


def pruned_search(
    evaluator: Evaluator,
    hybrids: SwapHybrids,
    question: Question,
    keeper: LimitKeeper | None = None,
) -> Decided:
    """Find the τ-minimal factors of both views, with exact hits, within the limits.

    A time limit counts from now, unless a `keeper` is given that has counted before.
    """
    d, n, tau = hybrids.d, hybrids.n, question.tau
    limits = question.limits.checked(d)
    keeper = LimitKeeper(limits) if keeper is None else keeper
    largest = d if limits.max_size is None else min(limits.max_size, d)
    least = question.fewest_hits(n, sum(Lattice(d).width(k) for k in range(largest + 1)))
    keep, flip = _Side(d), _Side(d)
    draws, decided, stopped = None, largest, None
    levels = [np.empty(0, dtype=np.int64)] * (d + 1)
    if least <= n:  # else not even a set that hits for every reference would pass
        curtailed = Curtailed(evaluator, hybrids, least, keeper)
        # The sample comes first: it is asked for anyway, and tells where to look.
        draws = _sample(curtailed, hybrids, question, keeper)
        decided, stopped = _climb(curtailed, keep, flip, largest, keeper, question.progress)
        for size, hits in curtailed.ends().items():
            levels[size] = np.array([hits])
    if stopped is None and largest < d:
        stopped = Stop("max_size", largest)
    return Decided(
        Tally(d, n, tuple(levels)),
        keep.findings(tau, True, decided, stopped is None),
        flip.findings(tau, False, decided, stopped is None),
        tuple(flip.outcomes),
        draws,
        stopped,
    )


def _sample(
    curtailed: Curtailed, hybrids: SwapHybrids, question: Question, keeper: LimitKeeper
) -> Draws | None:
    left = keeper.rows_left
    count = DRAWS if left is None else min(DRAWS, left // 10)
    if not count:
        return None
    weights = question.size_weights
    held, references = draw_hybrids(hybrids.d, hybrids.n, question.seed, count, weights)
    # Of the time a fifth will do: what is decided matters more.
    asking = keeper.part(0.2) if keeper.timed else keeper
    outcomes = curtailed.outcomes_of(held, references, asking)
    return Draws(held[: len(outcomes)], outcomes)


def _climb(
    curtailed: Curtailed,
    keep: _Side,
    flip: _Side,
    largest: int,
    keeper: LimitKeeper,
    progress: bool | None,
) -> tuple[int, Stop | None]:
    """Decide sets from the smallest up: to which size all were, and the limit that ended it."""
    lattice, blocks = Lattice(keep.d), keeper.part(1.0)
    total = sum(lattice.width(size) for size in range(largest + 1))
    with progress_bar("sets", total if total < MOST_COUNTED else None, progress) as bar:
        for size in range(largest + 1):
            start, undominated = 0, 0
            while start < lattice.width(size):
                limit = keeper.forbids(0)
                if limit is not None:
                    return size - 1, limit
                step = max(1, blocks.paced(curtailed.hybrids_at_once // 2) // curtailed.n)
                stop = min(start + step, lattice.width(size))
                with blocks.counting(None, (stop - start) * curtailed.n):
                    sets = lattice.held(size, start, stop)
                    open_keep, open_flip = keep.undominated(sets), flip.undominated(sets)
                    undominated += len(open_keep) + len(open_flip)
                    passing = curtailed.decide(open_keep, ~open_flip)
                    keep.add(open_keep, passing[0])
                    flip.add(open_flip, passing[1])
                if curtailed.stopped is not None:
                    return size - 1, curtailed.stopped
                bar.update(stop - start)
                start = stop
            if not undominated:  # then all larger sets are dominated, too
                break
    return largest, None


class _Side:
    """What one view has found."""

    def __init__(self, d: int) -> None:
        self.d = d
        self.sets: Held = np.empty((0, d), dtype=bool)
        self.outcomes: list[BoolVector] = []

    def undominated(self, sets: Held) -> Held:
        """Those of some sets that have no found factor inside."""
        lacking = (~sets).astype(np.float32) @ self.sets.T.astype(np.float32)
        return sets[(lacking > 0).all(axis=1)]

    def add(self, sets: Held, found: Iterable[tuple[int, BoolVector]]) -> None:
        places = []
        for place, outcomes in found:
            places.append(place)
            self.outcomes.append(outcomes)
        self.sets = np.concatenate([self.sets, sets[places]])

    def findings(self, tau: float, outcome: bool, size: int, complete: bool) -> Findings:
        """The factors, with the number of references that have the view's outcome.

        All sets of up to `size` were decided, or all there are.
        """
        factors = tuple(
            Found(tuple(np.flatnonzero(members).tolist()), int((outcomes == outcome).sum()))
            for members, outcomes in zip(self.sets, self.outcomes, strict=True)
        )
        share = 1.0 if complete else self._share(size)
        return Findings(tau, factors, complete, size, only_at_tau=True, decided_share=share)

    def _share(self, size: int) -> float:
        """The share of all sets that have at most so many players, or a factor inside.

        Among many players only factors of a single one are counted, so that it is at least this.
        """
        open_sets = OpenSets(self.d)
        open_sets.close_up_to(size)
        for members in self.sets:
            open_sets.close_above(np.flatnonzero(members).tolist())
        share = open_sets.closed_share
        if share is not None:
            return share
        rest = Lattice(self.d - int(self.sets[self.sets.sum(axis=1) == 1].any(axis=0).sum()))
        undecided = sum(rest.width(k) for k in range(size + 1, rest.d + 1))
        return float(1 - Fraction(undecided, 1 << self.d))
