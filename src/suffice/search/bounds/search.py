"""Search for the factors at one τ that closes whole cubes of the lattice by bounds.

Both views search the same lattice, each from its own small sets up, a batch of cubes in turn: what
one leaves of the time is the other's. When nothing is open, the answer is that of an exhaustive
search at this τ, whatever the number of players. When a limit ends it before, the share of the
lattice that is decided is known, and what was found is verified: it passes, and no set inside that
is one smaller does (or no set inside at all, where all of those are decided).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import comb

import numpy as np

from suffice.evaluate import CubeEvaluator
from suffice.progress import progress_bar
from suffice.search.bounds.side import Side
from suffice.search.decided import Decided
from suffice.search.findings import Findings, Found, Proof
from suffice.search.limits import EXHAUSTIVE_PLAYERS, LimitKeeper
from suffice.search.question import Question
from suffice.search.stop import Stop
from suffice.search.sweep import DRAWS, Draws, draw_hybrids
from suffice.search.tally import Tally
from suffice.typing import BoolVector, Held

__all__ = ["bounded_search"]

Sets = Iterable[Sequence[int]]

_CUBES = 4096
"""Bounded together: enough to share the work, few enough to stop between."""
_HYBRIDS = 1 << 20
"""Of single sets that are counted together."""
_VERIFIED_AT_ONCE = 256
_MOST_TESTS = 10**300
"""Past counting, some huge number."""
_SEARCHING = 0.95
"""Of what is allowed; the rest is kept to verify what was found, should the search not end."""


def bounded_search(
    evaluator: CubeEvaluator,
    d: int,
    question: Question,
    keeper: LimitKeeper | None = None,
    *,
    known_keep: Sets = (),
    known_flip: Sets = (),
) -> Decided:
    """Find the τ-minimal factors of both views, with exact hits, within the limits.

    Sets that are known to pass (of another search, say) close what contains them from the start. A
    time limit counts from now, unless a `keeper` is given that has counted before.
    """
    # No limit has to be given: sets are closed, not counted, and may be done with at any number.
    limits = question.limits.checked(min(d, EXHAUSTIVE_PLAYERS))
    keeper = LimitKeeper(limits) if keeper is None else keeper
    largest = d if limits.max_size is None else min(limits.max_size, d)
    tests = min(sum(comb(d, size) for size in range(largest + 1)), _MOST_TESTS)
    least, leverage = question.fewest_hits(evaluator.n, tests), evaluator.leverage()
    keep = Side("keep", evaluator, leverage, least=least, largest=largest)
    flip = Side("flip", evaluator, leverage, least=least, largest=largest)
    asked = {"both": (keep, flip), "held": (keep,), "replaced": (flip,)}[question.ends]
    draws = _sample(evaluator, d, question, keeper)
    tally = _ends(evaluator, d, keeper)
    searching = keeper.part(_SEARCHING)
    for side, known in ((keep, known_keep), (flip, known_flip)):
        _count(side, _held(known, d, largest), searching)
    stopped = _search(evaluator, asked, searching, question.progress)
    if stopped is None and largest < d:
        stopped = Stop("max_size", largest)
    of_keep, _ = _findings(keep, question.tau, stopped is None and keep in asked, keeper)
    of_flip, outcomes = _findings(flip, question.tau, stopped is None and flip in asked, keeper)
    return Decided(tally, of_keep, of_flip, outcomes, draws, stopped)


def _search(
    evaluator: CubeEvaluator, sides: Sequence[Side], keeper: LimitKeeper, progress: bool | None
) -> Stop | None:
    """Close cubes until none is open, or up to the limit that is given back."""
    n, note, shown = evaluator.n, evaluator.note, 0.0
    with progress_bar("% of all sets decided", 100.0, progress) as bar:
        while any(side.open for side in sides):
            for side in sides:
                if not side.open:
                    continue
                cubes = keeper.batch(_CUBES * n, n)
                if not cubes:
                    return keeper.forbids(n)
                with keeper.counting(evaluator, min(cubes, len(side.open)) * n):
                    side.step(cubes)
                if evaluator.note != note:
                    # It gave up its reading of the model: what that has closed may not be so.
                    note = evaluator.note
                    for each in sides:
                        each.restart()
            share = 100 * sum(side.decided_share for side in sides) / len(sides)
            bar.update(share - shown)
            shown = share
    return None


def _findings(
    side: Side, tau: float, all_decided: bool, keeper: LimitKeeper
) -> tuple[Findings, tuple[BoolVector, ...]]:
    """What a view found, as far as it is verified; and the outcomes of each factor's hybrids."""
    one_smaller = _verify(side, keeper)
    factors, outcomes = [], []
    sets, kept = side.passing.sets, side.passing.outcomes
    for members, row, hits in zip(sets, kept, side.hits(kept).tolist(), strict=True):
        # No set inside that is decided passes: then this one would not be listed.
        known = int(members.sum()) <= side.decided_size + 1
        if known or members.tobytes() in one_smaller:
            proof: Proof = "exhaustive" if known else "one smaller"
            factors.append(Found(tuple(np.flatnonzero(members).tolist()), hits, proof))
            outcomes.append(row)
    order = sorted(range(len(factors)), key=lambda i: (len(factors[i].members), factors[i].members))
    findings = Findings(
        tau,
        tuple(factors[i] for i in order),
        decided=all_decided,
        decided_size=side.decided_size,
        only_at_tau=True,
        decided_share=side.decided_share,
    )
    return findings, tuple(outcomes[i] for i in order)


def _verify(side: Side, keeper: LimitKeeper) -> set[bytes]:
    """Compare sets that have undecided ones inside with those one smaller, as limits allow.

    What has one that passes gives way to it, which is compared in its turn.
    """
    verified: set[bytes] = set()
    while True:
        sets = side.passing.sets[side.passing.sets.sum(axis=1) > side.decided_size + 1]
        todo = [row for row in sets if row.tobytes() not in verified][:_VERIFIED_AT_ONCE]
        if not todo:
            return verified
        if not _count(side, np.concatenate([_one_smaller(row) for row in todo]), keeper):
            return verified
        verified |= {row.tobytes() for row in todo}


def _one_smaller(members: BoolVector) -> Held:
    players = np.flatnonzero(members)
    out = np.repeat(members[None], len(players), axis=0)
    out[np.arange(len(players)), players] = False
    return out


def _count(side: Side, sets: Held, keeper: LimitKeeper) -> bool:
    """Count sets as far as the limits allow: were all of them?"""
    n, start = side.evaluator.n, 0
    while start < len(sets):
        some = sets[start : start + keeper.batch(_HYBRIDS, n)]
        if not len(some):
            return False
        with keeper.counting(side.evaluator, len(some) * n):
            side.count(some)
        start += len(some)
    return True


def _ends(evaluator: CubeEvaluator, d: int, keeper: LimitKeeper) -> Tally:
    """The counts of the empty and of the full set, where there is room for them."""
    levels = [np.empty(0, dtype=np.int64)] * (d + 1)
    if keeper.batch(_HYBRIDS, evaluator.n) >= 2:
        held = np.repeat([[False], [True]], d, axis=1)
        with keeper.counting(evaluator, 2 * evaluator.n):
            hits = evaluator.outcomes(held).sum(axis=1, dtype=np.int64)
        levels[0], levels[d] = hits[:1], hits[1:]
    return Tally(d, evaluator.n, tuple(levels))


def _sample(
    evaluator: CubeEvaluator, d: int, question: Question, keeper: LimitKeeper
) -> Draws | None:
    left = keeper.rows_left
    count = DRAWS if left is None else min(DRAWS, left // 10)
    held, references = draw_hybrids(d, evaluator.n, question.seed, count, question.size_weights)
    outcomes = keeper.part(0.1).ask(evaluator, held, references)
    done = len(outcomes)
    return Draws(held[:done], outcomes, references[:done]) if done else None


def _held(sets: Sets, d: int, largest: int) -> Held:
    rows = [list(members) for members in sets]
    out = np.zeros((len(rows), d), dtype=bool)
    for row, members in zip(out, rows, strict=True):
        row[members] = True
    return np.asarray(out[out.sum(axis=1) <= largest])
