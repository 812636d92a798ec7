"""The best sets that can be verified in time, whatever the model and however many features.

What comes first is what an answer needs most: one set of each view, found from a single start.
Then all small sets are counted; what an engine can bound is closed in bulk, which may decide every
set there is; and the rest of the time goes to larger sets, from many starts. Where these find no
more and there is time left, bounds get it: all that was found closes cubes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from suffice.evaluate import CubeEvaluator, Evaluator, OneWayEvaluator
from suffice.search.answer import Answer
from suffice.search.decided import Decided
from suffice.search.findings import Findings, Found, joined
from suffice.search.greedy import Greedy, Memo, greedy_search
from suffice.search.limits import LimitKeeper
from suffice.search.profile import Profile
from suffice.search.question import Ends, Question
from suffice.search.stop import Stop
from suffice.search.sweep import Sweep, run_sweep
from suffice.typing import BoolVector, ViewName

__all__ = ["anytime_search"]

_VIEWS: dict[Ends, tuple[ViewName, ...]] = {
    "both": ("keep", "flip"),
    "held": ("keep",),
    "replaced": ("flip",),
}

_FIRST, _SMALL, _BOUNDS, _ONE_WAY = 0.3, 0.3, 0.5, 0.8
"""Shares of what is left: for one set of each view, for all small sets, and for bounds."""

_PAIRS_UP_TO = 100
"""With more players than this, even pairs are left to the starts."""

Members = tuple[int, ...]


def anytime_search(evaluator: Evaluator, d: int, q: Question, keeper: LimitKeeper) -> Answer:
    """Search until every set is decided, nothing new is found, or a limit is reached."""
    views = _VIEWS[q.ends]
    memo = Memo(evaluator, d, q.seed)
    first = {
        view: greedy_search(evaluator, d, view, q, keeper.part(share), starts=1, memo=memo)
        for view, share in zip(views, _shares(len(views), _FIRST), strict=True)
    }
    small = replace(q.limits, max_size=2 if d <= _PAIRS_UP_TO else 1)
    sweep = run_sweep(evaluator, d, replace(q, limits=small), keeper.part(_SMALL))
    profile = Profile.of(sweep.tally, q, sweep.draws)
    if sweep.tally.complete:
        return Answer(profile, None, sweep, {}, None)
    memo.read(sweep)
    found = {view: _Found(q.tau, view, sweep, profile, first[view]) for view in views}
    # Where words can only take away, bounds mostly close everything.
    share = _ONE_WAY if isinstance(evaluator, OneWayEvaluator) else _BOUNDS
    _close(evaluator, d, q, keeper.part(share), found)
    stops: list[Stop | None] = []
    for view, share in zip(views, _shares(len(views), 1.0), strict=True):
        if found[view].decided:
            continue
        part, known = keeper.part(share), found[view].known
        larger = greedy_search(evaluator, d, view, q, part, known=known, memo=memo)
        found[view].add(larger.findings, larger.outcomes)
        stops.append(larger.stopped)
        if not found[view].known:
            found[view].take(memo.smallest(view == "flip", q.fewest_hits(evaluator.n, 1)))
    stopped = next((stop for stop in stops if stop is not None), None)
    if stopped is not None and keeper.forbids(0) is None:
        stopped = _close(evaluator, d, q, keeper, found) or stopped
    if all(of_view.decided for of_view in found.values()):
        stopped = None
    flip = found.get("flip")
    if "keep" in found:
        profile = replace(profile, findings=found["keep"].findings)
    flips = {} if flip is None else flip.outcomes
    return Answer(profile, None if flip is None else flip.findings, sweep, flips, stopped)


def _shares(parts: int, share: float) -> list[float]:
    """Of what is left when each begins, so that all of them have as much."""
    return [share / (parts - i * share) for i in range(parts)]


def _close(
    evaluator: Evaluator, d: int, q: Question, keeper: LimitKeeper, found: dict[ViewName, _Found]
) -> Stop | None:
    """Let an engine close what it can by bounds; the limit that ended that, if any."""
    if not isinstance(evaluator, CubeEvaluator) or q.ends != "both":
        return None
    from suffice.search.bounds import bounded_search

    known = {view: list(found[view].known) for view in found}
    closed: Decided = bounded_search(
        evaluator, d, q, keeper, known_keep=known["keep"], known_flip=known["flip"]
    )
    found["keep"].add(closed.keep, {})
    members = [factor.members for factor in closed.flip.factors]
    outcomes = {m: ~kept for m, kept in zip(members, closed.flip_outcomes, strict=True)}
    found["flip"].add(closed.flip, outcomes)
    return closed.stopped


class _Found:
    """What was found in one view, by one search after another."""

    def __init__(
        self, tau: float, view: ViewName, sweep: Sweep, profile: Profile, first: Greedy
    ) -> None:
        counted = profile
        if view == "flip":
            counted = replace(profile, tally=sweep.tally.other_view())
        self._tau = tau
        self._small = [minimal.members for minimal in counted.minimal_at(tau)]
        self._parts = [first.findings]
        self.outcomes: dict[Members, BoolVector] = dict(first.outcomes)

    @property
    def findings(self) -> Findings:
        """Everything found but what the sweep of small sets counted."""
        return joined(self._parts, self._small)

    @property
    def known(self) -> Iterable[Members]:
        """Every factor known, whoever found it."""
        return [*self._small, *(factor.members for factor in self.findings.factors)]

    @property
    def decided(self) -> bool:
        """Is every set decided?"""
        return any(part.decided for part in self._parts)

    def add(self, findings: Findings, outcomes: dict[Members, BoolVector]) -> None:
        """Note what another search found."""
        self._parts.append(findings)
        self.outcomes |= outcomes

    def take(self, best: tuple[Members, BoolVector] | None) -> None:
        """Note a set that suffices, where there was no time to make it smaller."""
        if best is not None:
            members, hits = best
            factor = Found(members, int(np.sum(hits)), "none")
            self.add(Findings(self._tau, (factor,), decided=False), {members: hits})
