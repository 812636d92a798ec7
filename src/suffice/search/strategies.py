"""Strategies of search: run the planned one, or combine several (anytime) into one result.

- "auto" is one of the others, or an anytime search: see `plan` for the choice.
- "exhaustive" counts all sets (with `max_size`, all small ones) and so answers at every τ. Where
  the counts do not fit in memory, an engine streams the lattice and decides each set at one τ.
- "bounds" decides sets at one τ in bulk, by bounds over many sets that tree and additive models
  give.
- "pruned" decides every set at one τ with as few model rows as it can: for slow models.
- "greedy" is exhaustive for small sets and looks for larger ones from many starts: for many
  features. Its sets are verified, but it does not claim that there are no others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from suffice.context.hybrids import Hybrids, SwapHybrids
from suffice.engines import CubeEvaluator, Evaluator, LatticeEvaluator, MonotoneEvaluator
from suffice.errors import InputError
from suffice.factors.lattice import Lattice
from suffice.search.exhaustive import Sweep, exhaustive_search
from suffice.search.findings import DecidedSets, Findings, FoundSet, merge_findings
from suffice.search.greedy import greedy_search
from suffice.search.hybrid_sampling import OutcomesOf
from suffice.search.limits import DEFAULT_WORK, LimitKeeper, LimitReached, Stop
from suffice.search.outcome_cache import OutcomeCache
from suffice.search.plan import SearchMethod, require_search_possible
from suffice.search.profile import Profile
from suffice.search.pruned import pruned_search
from suffice.search.question import Question
from suffice.typing import VIEWS, BoolVector, ViewName

STRATEGIES = ("auto", "exhaustive", "bounds", "pruned", "greedy")


def run_search(
    way: SearchMethod,
    evaluator: Evaluator,
    hybrids: Hybrids,
    question: Question,
    keeper: LimitKeeper,
) -> SearchResult:
    """Run the planned search."""
    keeper.expect(evaluator)
    require_search_possible(way, evaluator, hybrids)
    if way == "pruned":
        assert isinstance(hybrids, SwapHybrids)
        return SearchResult.of_decided(
            pruned_search(evaluator, hybrids, question, keeper), question
        )
    if way == "streamed":
        assert isinstance(evaluator, LatticeEvaluator)
        from suffice.search.streamed import streamed_search

        found = streamed_search(evaluator, hybrids.d, question, keeper)
        return SearchResult.of_decided(found, question)
    if way == "bounds":
        assert isinstance(evaluator, CubeEvaluator)
        from suffice.search.bounds import bounds_search

        return SearchResult.of_decided(
            bounds_search(evaluator, hybrids.d, question, keeper), question
        )
    if way == "anytime":
        return anytime_search(evaluator, hybrids.d, question, keeper)
    if way == "greedy":
        return _small_and_greedy_search(evaluator, hybrids.d, question, keeper)
    sweep = exhaustive_search(evaluator, hybrids.d, question, keeper)
    profile = Profile.of(sweep.tally, question, sweep.draws)
    return SearchResult(profile, None, sweep, {}, sweep.stopped)


# Result of a search.


@dataclass(frozen=True, eq=False)
class SearchResult:
    """Result of a search: counts, findings, and the reason why it stopped (None: it did not)."""

    keep: Profile
    flip_findings: Findings | None
    sweep: Sweep | None
    """Sweep with the outcomes of its hybrids, if they were kept."""
    flips: Mapping[tuple[int, ...], BoolVector]
    """References that flip when a factor is replaced, for factors found outside the sweep."""
    stopped: Stop | None
    outcomes_of: OutcomesOf | None = None
    """Outcomes of single hybrids, from the search's cache; None if it has no cache."""

    @classmethod
    def of_decided(cls, found: DecidedSets, question: Question) -> SearchResult:
        """Return the result of a search that decided sets at one τ."""
        draws = None if found.tally.complete else found.draws
        profile = Profile.of(found.tally, question, draws, found.keep)
        members = [factor.members for factor in found.flip.factors]
        flips = {m: ~kept for m, kept in zip(members, found.flip_outcomes, strict=True)}
        return cls(profile, found.flip, None, flips, found.stopped, found.outcomes_of)


# Anytime search: the best sets that can be verified in time, for any model and many features.


_PAIRS_UP_TO = 100
"""Most players for which an anytime search counts all pairs; of more, its starts find the pairs
that matter."""

_ONE_WAY_BOUNDS_SHARE = 0.8
"""Share for bounds if players can only lower a score, as words do: bounds then close nearly all
cubes."""

Members = tuple[int, ...]


@dataclass(frozen=True)
class _Stages:
    """Share of the remaining limits for each stage of an anytime search; 0: no such stage."""

    first: float
    """Share for the first set of each view."""
    small: float
    """Share for all small sets."""
    bounds: float
    """Share for bounds, if the engine has them."""


_ANYTIME, _GREEDY = _Stages(0.3, 0.3, 0.5), _Stages(0.0, 0.5, 0.0)


def anytime_search(evaluator: Evaluator, d: int, q: Question, keeper: LimitKeeper) -> SearchResult:
    """Search until every set is decided, nothing new is found, or a limit is reached."""
    if isinstance(evaluator, MonotoneEvaluator):
        stages = replace(_ANYTIME, bounds=_ONE_WAY_BOUNDS_SHARE)
    else:
        stages = _ANYTIME
    return _search_in_stages(evaluator, d, q, keeper, 2 if d <= _PAIRS_UP_TO else 1, stages)


def _small_and_greedy_search(
    evaluator: Evaluator, d: int, q: Question, keeper: LimitKeeper
) -> SearchResult:
    """Count all small sets, and search larger ones up to `max_size` from many starts."""
    if q.adjust != "none":
        raise InputError(
            "adjust",
            repr(q.adjust),
            "'none' in a greedy search",
            "It has no fixed family of tests: choose a smaller alpha.",
        )
    small = min(_countable_size(evaluator, d), q.limits.largest(d))
    # Counting small sets may use up a time limit.
    stages = replace(_GREEDY, first=_ANYTIME.first) if keeper.timed else _GREEDY
    return _search_in_stages(evaluator, d, q, keeper, small, stages)


def _countable_size(evaluator: Evaluator, d: int) -> int:
    """Return 2 if counting all pairs takes no more work than the default of a search, else 1.

    Decided by counted work, so that every machine counts the same sets. Counting larger sets does
    not pay: the starts find those that matter long before.
    """
    pairs = 2 * Lattice(d).count_up_to(2) * evaluator.n
    return 2 if pairs * evaluator.work_per_hybrid() <= DEFAULT_WORK else 1


def _search_in_stages(
    evaluator: Evaluator, d: int, q: Question, keeper: LimitKeeper, small: int, stages: _Stages
) -> SearchResult:
    """Find a first set of each view, count small sets, close cubes by bounds, search larger sets.

    The most valuable stage comes first: its sets are found whatever ends the search.
    """
    views = q.views
    cache = OutcomeCache(evaluator, d, q.seed)
    found = {view: _ViewFindings(q.tau, view) for view in views}
    if stages.first:
        _find_first_sets(evaluator, d, q, keeper, found, cache, stages.first)
    of_small = replace(q, limits=replace(q.limits, max_size=small))
    sweep = exhaustive_search(evaluator, d, of_small, keeper.part(stages.small))
    profile = Profile.of(sweep.tally, q, sweep.draws)
    largest = q.limits.largest(d)
    no_larger = q.limits.size_stop(d)
    if sweep.tally.complete or (small == largest and sweep.stopped == no_larger):
        return SearchResult(profile, None, sweep, {}, no_larger)
    cache.read(sweep)
    for of_view in found.values():
        of_view.add_counted(sweep, profile)
    if stages.bounds:
        _close_by_bounds(evaluator, d, q, keeper.part(stages.bounds), found)
    stops: list[Stop | None] = []
    for view, share in zip(views, _equal_shares(len(views), 1.0), strict=True):
        if found[view].decided:
            continue
        part, known = keeper.part(share), found[view].known
        larger = greedy_search(evaluator, d, view, q, part, known=known, cache=cache)
        found[view].add(larger.findings, larger.outcomes)
        stops.append(larger.stopped)
        if not found[view].known:
            found[view].take(
                cache.smallest_sufficient(view == "flip", q.fewest_hits(evaluator.n, 1)), largest
            )
    stopped = next((stop for stop in stops if stop is not None), None)
    if stages.bounds and stopped is not None and keeper.forbids(0) is None:
        stopped = _close_by_bounds(evaluator, d, q, keeper, found) or stopped
    if all(of_view.decided for of_view in found.values()):
        stopped = no_larger
    flip = found.get("flip")
    if "keep" in found:
        profile = replace(profile, findings=found["keep"].findings)
    flips = {} if flip is None else flip.outcomes
    return SearchResult(profile, None if flip is None else flip.findings, sweep, flips, stopped)


def _find_first_sets(
    evaluator: Evaluator,
    d: int,
    q: Question,
    keeper: LimitKeeper,
    found: Mapping[ViewName, _ViewFindings],
    cache: OutcomeCache,
    share: float,
) -> None:
    """Search one set in each view, so that no view is empty that has a set.

    The sets of all players, held and replaced, are evaluated first: they usually suffice, and are
    reported if nothing smaller is verified in time. The descents from them ignore the work limit,
    but keep to `share` of the budget and of the time. An engine is fast once its kernels are
    loaded, so that its descents may take all the time that is left.
    """
    share = 1.0 if keeper.timed and isinstance(evaluator, LatticeEvaluator) else share
    ends = np.array([[view == "keep"] * d for view in found])
    with suppress(LimitReached):
        cache.outcomes(ends, evaluator.n, keeper.within_budget())
    for (view, of_view), part in zip(found.items(), _equal_shares(len(found), share), strict=True):
        allowed = keeper.part(part)
        allowed = allowed if keeper.timed else allowed.within_budget()
        first = greedy_search(evaluator, d, view, q, allowed, starts=1, most=1, cache=cache)
        of_view.add(first.findings, first.outcomes)


def _equal_shares(parts: int, share: float) -> list[float]:
    """Return each part's share of what is then left, such that all parts are equal."""
    return [share / (parts - i * share) for i in range(parts)]


def _close_by_bounds(
    evaluator: Evaluator,
    d: int,
    q: Question,
    keeper: LimitKeeper,
    found: dict[ViewName, _ViewFindings],
) -> Stop | None:
    """Close cubes by the engine's bounds; return the limit that ended this, if any."""
    if not isinstance(evaluator, CubeEvaluator) or q.views != VIEWS:
        return None
    # Preparing the bounds takes a while, and may load compiled kernels.
    if (stop := keeper.forbids(0)) is not None:
        return stop
    from suffice.search.bounds import bounds_search

    known = {view: list(found[view].known) for view in found}
    closed: DecidedSets = bounds_search(
        evaluator, d, q, keeper, known_keep=known["keep"], known_flip=known["flip"]
    )
    found["keep"].add(closed.keep, {})
    members = [factor.members for factor in closed.flip.factors]
    outcomes = {m: ~kept for m, kept in zip(members, closed.flip_outcomes, strict=True)}
    found["flip"].add(closed.flip, outcomes)
    return closed.stopped


class _ViewFindings:
    """Findings of one view, collected over several searches."""

    def __init__(self, tau: float, view: ViewName) -> None:
        self._tau = tau
        self._view = view
        self._small: list[Members] = []
        self._parts = [Findings(tau, (), decided=False)]
        self._merged: Findings | None = None
        self.outcomes: dict[Members, BoolVector] = {}

    def add_counted(self, sweep: Sweep, profile: Profile) -> None:
        """Add the minimal sets of a sweep of small sets."""
        if self._view == "flip":
            profile = replace(profile, tally=sweep.tally.other_view())
        self._small = [minimal.members for minimal in profile.minimal_at(self._tau)]
        self._merged = None

    @property
    def findings(self) -> Findings:
        """Factors found, except those of the sweep of small sets."""
        if self._merged is None:  # comparing thousands of sets takes its time
            self._merged = merge_findings(self._parts, self._small)
        return self._merged

    @property
    def known(self) -> Iterable[Members]:
        """Factors found by any stage."""
        return [*self._small, *(factor.members for factor in self.findings.factors)]

    @property
    def decided(self) -> bool:
        """True if every set is decided."""
        return any(part.decided for part in self._parts)

    def add(self, findings: Findings, outcomes: dict[Members, BoolVector]) -> None:
        """Add the findings of another search."""
        self._parts.append(findings)
        self._merged = None
        self.outcomes |= outcomes

    def take(self, best: tuple[Members, BoolVector] | None, largest: int) -> None:
        """Add a sufficient set that there was no time to make smaller.

        Sets of more than `largest` players are not added, since `max_size` excludes them.
        """
        if best is not None and len(best[0]) <= largest:
            members, hits = best
            factor = FoundSet(members, int(np.sum(hits)), "none")
            self.add(Findings(self._tau, (factor,), decided=False), {members: hits})
