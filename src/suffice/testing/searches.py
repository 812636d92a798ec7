"""The contract of a search: what it reports holds by Definition 4, and what it leaves out is said.

It is put to small worlds in which every set is counted beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np

from suffice.checks import choice, whole
from suffice.context.hybrids import Hybrids
from suffice.errors import shorten
from suffice.evaluate import Evaluator
from suffice.explanation.explanation import mirrored
from suffice.factors.lattice import members_of
from suffice.inference import fewest_hits
from suffice.search import LimitKeeper, Limits, Question
from suffice.search.answer import Answer
from suffice.search.profile import Minimal, Profile
from suffice.testing.claims import claim, raising
from suffice.testing.worlds import World, draw_world
from suffice.typing import Counts

__all__ = ["Search", "check_search"]

Search = Callable[[Evaluator, Hybrids, Question, LimitKeeper], Answer]

_ENGINES = "blackbox", "additive", "trees"
_TAUS = 1.0, 0.9, 0.75, 2 / 3, 0.5, 1 / 3
_LEVELS = None, None, 0.3


def check_search(
    search: Search, *, engine: str = "blackbox", worlds: int = 20, seed: int = 0
) -> int:
    """Check what a search reports of both views, against a count of every set.

    Each reported set must pass at τ with the hits it has; a proof of minimality must be true; where
    the answer is called complete, it must be every τ-minimal set, and where it is not, something
    must have stopped it. The same question must give the same sets. A budget of model rows and a
    time limit must be kept, and what was found within them must be as true. Gives the number of
    sets that were reported in all.

    Parameters
    ----------
    search
        (evaluator, hybrids, question, keeper) -> `Answer`, as in `suffice.search.strategy`.
    engine
        What evaluates the hybrids: "blackbox", or "additive" or "trees" for a search that wants a
        `LatticeEvaluator` or a `CubeEvaluator`.
    worlds
        How many small worlds are tried.

    Examples
    --------
    >>> from functools import partial
    >>> from suffice.search.strategy import answer
    >>> from suffice.testing import check_search
    >>> check_search(partial(answer, "exhaustive"), worlds=5) > 5
    True
    """
    choice("engine", engine, _ENGINES)
    claim(callable(search), f"{shorten(search)} is no function that searches")
    rng = np.random.default_rng(whole("seed", seed, least=0))
    reported = 0
    for number in range(whole("worlds", worlds)):
        world = draw_world(rng, engine)
        tau, alpha = float(rng.choice(_TAUS)), _LEVELS[number % len(_LEVELS)]
        question = Question(tau=tau, alpha=alpha, seed=number, progress=False)
        whole_answer = _Searched(world, search, question)
        reported += whole_answer.check()
        same = _Searched(world, search, question).sets == whole_answer.sets
        claim(same, f"the same question has two answers ({world})")
        budget = 4 * world.hybrids.n + int(rng.integers(20))
        for limits in (Limits(budget=budget), Limits(time_limit=2.0)):
            bounded = Question(tau=tau, alpha=alpha, seed=number, progress=False, limits=limits)
            _Searched(world, search, bounded).check()
    return reported


class _Searched:
    """One question put to the search in one world."""

    def __init__(self, world: World, search: Search, question: Question) -> None:
        self.world, self.question = world, question
        limits = question.limits
        ticking = iter(range(10**9))  # each look at the clock takes a second
        keeper = LimitKeeper(limits, clock=lambda: float(next(ticking)))
        self.evaluator = world.evaluator(limits.budget)
        with raising(f"the search ({world})"):
            self.answer = search(self.evaluator, world.hybrids, question, keeper)
        claim(isinstance(self.answer, Answer), f"it gives {shorten(self.answer)}, no Answer")
        keep = self.answer.keep
        self.views = {"keep": keep, "flip": mirrored(keep, self.answer.flip_findings)}
        self.sets = {view: p.minimal_at(question.tau) for view, p in self.views.items()}

    def check(self) -> int:
        """All claims; how many sets were reported."""
        budget, asked = self.question.limits.budget, self.evaluator.rows_predicted
        if budget is not None and self.evaluator.name == "blackbox":
            kept = asked <= budget
            claim(kept, f"asked the model about {asked} rows, with a budget of {budget}")
        for view, profile in self.views.items():
            self._check_view(view, profile, self.sets[view])
        self._check_flips()
        return sum(map(len, self.sets.values()))

    def _check_view(self, view: str, profile: Profile, sets: list[Minimal]) -> None:
        hits, q = self.world.hits(view), self.question
        least = fewest_hits(self.world.hybrids.n, q.tau, q.alpha)
        where = f"in the {view} view at τ = {q.tau:g} ({self.world})"
        seen = [minimal.members for minimal in sets]
        claim(len(set(seen)) == len(seen), f"a set is reported twice {where}")
        for minimal in sets:
            self._check_set(minimal, hits, least, where)
        if not profile.complete:
            claim(self.answer.stopped, f"not complete, and nothing says why {where}")
            return
        missing = sorted(set(_minimal(hits, least)) - set(seen))
        claim(not missing, f"called complete, and lacks {missing[:3]} {where}")
        if profile.covers_exactly(q.tau):
            held = [mask for mask in range(len(hits)) if _has_one(mask, seen)]
            expected = float(hits[held].sum()), float(hits.sum())
            found = profile.covered(q.tau)
            words = f"says that {found} hybrids with the outcome are covered, not {expected}"
            claim(np.allclose(found, expected), f"{words} {where}")

    def _check_set(self, minimal: Minimal, hits: Counts, least: int, where: str) -> None:
        members = minimal.members
        true = int(hits[_mask(members)])
        words = f"{members} is told to have {minimal.hits} hits and has {true} {where}"
        claim(minimal.hits == true, words)
        claim(true >= least, f"{members} does not pass, with {true} hits {where}")
        sizes = {"exhaustive": range(len(members)), "one smaller": (len(members) - 1,), "none": ()}
        for size in sizes[minimal.proof]:
            for inside in combinations(members, size) if size >= 0 else ():
                passes = hits[_mask(inside)] >= least
                told = f"proved minimal ({minimal.proof}), and {inside} inside it passes"
                claim(not passes, f"{members} is {told} {where}")

    def _check_flips(self) -> None:
        for members, flips in self.answer.flips.items():
            rest = (len(self.world.outcomes) - 1) ^ _mask(members)
            same = np.array_equal(flips, ~self.world.outcomes[rest])
            claim(same, f"replacing {members} flips other references than it says ({self.world})")


def _mask(members: tuple[int, ...]) -> int:
    return sum(1 << player for player in members)


def _has_one(mask: int, sets: list[tuple[int, ...]]) -> bool:
    return any(mask & _mask(members) == _mask(members) for members in sets)


def _minimal(hits: Counts, least: int) -> list[tuple[int, ...]]:
    """Definition 4, word by word: what passes, and holds no smaller set that does."""
    passing = [mask for mask in range(len(hits)) if hits[mask] >= least]
    return [
        members_of(mask)
        for mask in passing
        if not any(other != mask and other & mask == other for other in passing)
    ]
