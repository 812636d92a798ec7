"""`check_search`: the sets reported are minimal (Def. 4); `check_order`: an order is partial.

A search is run on small random problems, in which every set is counted beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from suffice.context.hybrids import Hybrids, SwapHybrids
from suffice.context.players import make_players
from suffice.engines import BlackBox, EngineSelector, Evaluator
from suffice.errors import InputError, short_repr
from suffice.factors.lattice import held_of_masks, members_of
from suffice.factors.order import Order, Relation, check_partial_order as check_axioms
from suffice.factors.predicates import Factor, read_factors
from suffice.inference import fewest_hits
from suffice.models import wrap_model
from suffice.search import LimitKeeper, Limits, Question
from suffice.search.profile import MinimalSet, Profile
from suffice.search.strategies import SearchResult
from suffice.tables.conversion import as_table
from suffice.target import Target, event_for
from suffice.testing.assertions import errors_as_assertions, pickled_copy, require
from suffice.typing import Counts, Outcomes
from suffice.validation import check_choice, check_integer

SearchFunction = Callable[[Evaluator, Hybrids, Question, LimitKeeper], SearchResult]

_ENGINES = "blackbox", "additive", "trees"
_TAUS = 1.0, 0.9, 0.75, 2 / 3, 0.5, 1 / 3
_LEVELS = None, None, 0.3


def check_search(
    search: SearchFunction, *, engine: str = "blackbox", worlds: int = 20, seed: int = 0
) -> int:
    """Check what a search reports in both views against a count of every set.

    Each reported set must pass at τ with the hits it has; a proof of minimality must be true; where
    the answer is called complete, it must be every τ-minimal set, and where it is not, something
    must have stopped it. The same question must give the same sets. A budget of model rows and a
    time limit must be kept, and what was found within them must be as true. Gives the number of
    sets that were reported in all.

    Parameters
    ----------
    search
        (evaluator, hybrids, question, keeper) -> `SearchResult`, as in `suffice.search.strategies`.
    engine
        What evaluates the hybrids: "blackbox", or "additive" or "trees" for a search that wants a
        `LatticeEvaluator` or a `CubeEvaluator`.
    worlds
        How many small worlds are tried.

    Examples
    --------
    >>> from functools import partial
    >>> from suffice.search.strategies import run_search
    >>> from suffice.testing import check_search
    >>> check_search(partial(run_search, "exhaustive"), worlds=5) > 5
    True
    """
    check_choice("engine", engine, _ENGINES)
    require(callable(search), f"{short_repr(search)} is no function that searches")
    rng = np.random.default_rng(check_integer("seed", seed, least=0))
    reported = 0
    for number in range(check_integer("worlds", worlds)):
        world = draw_problem(rng, engine)
        tau, alpha = float(rng.choice(_TAUS)), _LEVELS[number % len(_LEVELS)]
        question = Question(tau=tau, alpha=alpha, seed=number, progress=False)
        whole_answer = _SearchCheck(world, search, question)
        reported += whole_answer.check()
        same = _SearchCheck(world, search, question).sets == whole_answer.sets
        require(same, f"the same question has two answers ({world})")
        budget = 4 * world.hybrids.n + int(rng.integers(20))
        for limits in (Limits(budget=budget), Limits(time_limit=2.0)):
            bounded = Question(tau=tau, alpha=alpha, seed=number, progress=False, limits=limits)
            _SearchCheck(world, search, bounded).check()
    return reported


class _SearchCheck:
    """Checks of one search on one problem."""

    def __init__(self, world: Problem, search: SearchFunction, question: Question) -> None:
        self.world, self.question = world, question
        limits = question.limits
        ticking = iter(range(10**9))  # each look at the clock takes a second
        keeper = LimitKeeper(limits, clock=lambda: float(next(ticking)))
        self.evaluator = world.evaluator(limits.budget)
        with errors_as_assertions(f"the search ({world})"):
            self.answer = search(self.evaluator, world.hybrids, question, keeper)
        require(
            isinstance(self.answer, SearchResult), f"it gives {short_repr(self.answer)}, no Answer"
        )
        keep = self.answer.keep
        self.views = {"keep": keep, "flip": keep.other_view(self.answer.flip_findings)}
        self.sets = {view: p.minimal_at(question.tau) for view, p in self.views.items()}

    def check(self) -> int:
        """Run all checks; return the number of sets reported."""
        budget, asked = self.question.limits.budget, self.evaluator.rows_predicted
        if budget is not None and self.evaluator.name == "blackbox":
            kept = asked <= budget
            require(kept, f"asked the model about {asked} rows, with a budget of {budget}")
        for view, profile in self.views.items():
            self._check_view(view, profile, self.sets[view])
        self._check_flips()
        return sum(map(len, self.sets.values()))

    def _check_view(self, view: str, profile: Profile, sets: list[MinimalSet]) -> None:
        hits, q = self.world.hits(view), self.question
        least = fewest_hits(self.world.hybrids.n, q.tau, q.alpha)
        where = f"in the {view} view at τ = {q.tau:g} ({self.world})"
        seen = [minimal.members for minimal in sets]
        require(len(set(seen)) == len(seen), f"a set is reported twice {where}")
        for minimal in sets:
            self._check_set(minimal, hits, least, where)
        if not profile.complete_at(q.tau):
            require(self.answer.stopped, f"not complete, and nothing says why {where}")
            return
        missing = sorted(set(_minimal(hits, least)) - set(seen))
        require(not missing, f"called complete, and lacks {missing[:3]} {where}")
        if profile.necessity_is_exact(q.tau):
            held = [mask for mask in range(len(hits)) if _has_one(mask, seen)]
            expected = float(hits[held].sum()), float(hits.sum())
            found = profile.covered(q.tau)
            words = f"says that {found} hybrids with the outcome are covered, not {expected}"
            require(np.allclose(found, expected), f"{words} {where}")

    def _check_set(self, minimal: MinimalSet, hits: Counts, least: int, where: str) -> None:
        members = minimal.members
        true = int(hits[_mask(members)])
        words = f"{members} is told to have {minimal.hits} hits and has {true} {where}"
        require(minimal.hits == true, words)
        require(true >= least, f"{members} does not pass, with {true} hits {where}")
        sizes = {"exhaustive": range(len(members)), "one smaller": (len(members) - 1,), "none": ()}
        for size in sizes[minimal.proof]:
            for inside in combinations(members, size) if size >= 0 else ():
                passes = hits[_mask(inside)] >= least
                told = f"proved minimal ({minimal.proof}), and {inside} inside it passes"
                require(not passes, f"{members} is {told} {where}")

    def _check_flips(self) -> None:
        for members, flips in self.answer.flips.items():
            rest = (len(self.world.outcomes) - 1) ^ _mask(members)
            same = np.array_equal(flips, ~self.world.outcomes[rest])
            require(same, f"replacing {members} flips other references than it says ({self.world})")


def _mask(members: tuple[int, ...]) -> int:
    return sum(1 << player for player in members)


def _has_one(mask: int, sets: list[tuple[int, ...]]) -> bool:
    return any(mask & _mask(members) == _mask(members) for members in sets)


def _minimal(hits: Counts, least: int) -> list[tuple[int, ...]]:
    """Return the minimal sets by Definition 4: those that pass, without a subset that does."""
    passing = [mask for mask in range(len(hits)) if hits[mask] >= least]
    return [
        members_of(mask)
        for mask in passing
        if not any(other != mask and other & mask == other for other in passing)
    ]


# Small worlds whose every answer can be counted: a model on a grid, an input, references.


_VALUES = 3


@dataclass(frozen=True, eq=False)
class Problem:
    """A question about one decision, with the outcome of every hybrid."""

    model: Any
    engine: str
    target: Target
    hybrids: SwapHybrids
    y: bool

    def evaluator(self, budget: int | None = None) -> Evaluator:
        """Return a new evaluator that has predicted nothing."""
        names = self.hybrids.pool.names
        selector = EngineSelector(self.engine, self.model, names)
        return selector.make_evaluator(self.target, self.hybrids, self.y, budget)

    @cached_property
    def outcomes(self) -> Outcomes:
        """Outcomes (2^d, n): whether each hybrid has the input's, by bit mask of the set held."""
        d = self.hybrids.d
        box = BlackBox(self.target, self.hybrids, self.y, distinct=False)
        return box.outcomes(held_of_masks(np.arange(1 << d), d))

    def hits(self, view: str) -> Counts:
        """Return the references that keep (flip), by bit mask of the set held (replaced)."""
        kept: Counts = self.outcomes.sum(axis=1)
        return kept if view == "keep" else self.hybrids.n - kept[::-1]

    def __str__(self) -> str:
        rows = np.asarray(self.hybrids.pool.native).tolist()
        return f"input {rows[0]}, references {rows[1:]}"


def draw_problem(rng: np.random.Generator, engine: str) -> Problem:
    """Draw a problem of up to five features and eight references with both outcomes."""
    while True:
        d, n = int(rng.integers(2, 6)), int(rng.integers(1, 9))
        rows = rng.integers(_VALUES, size=(n + 1, d)).astype(float)
        model = _MODELS[engine](rng, d)
        table = as_table(rows)
        wrapped, answers = wrap_model(model, table)
        target = Target(wrapped, event_for(answers[0], wrapped, answers[0]))
        world = Problem(model, engine, target, SwapHybrids(table, make_players(table)), True)
        if not world.outcomes.all():
            return world


class _TruthTable:
    """Model that is an arbitrary Boolean function on a grid."""

    classes_ = 0, 1

    def __init__(self, rng: np.random.Generator, d: int) -> None:
        self.truth = rng.integers(2, size=_VALUES**d)
        self.radix = _VALUES ** np.arange(d)

    def predict(self, rows: Any) -> Any:
        return self.truth[np.asarray(rows, dtype=np.int64) @ self.radix]


def _fitted(model: Any, rng: np.random.Generator, d: int) -> Any:
    rows = rng.integers(_VALUES, size=(60, d)).astype(float)
    labels = (rows @ rng.normal(size=d) + rng.normal(size=60) > 0).astype(int)
    labels[:2] = 0, 1
    return model.fit(rows, labels)


def _additive_model(rng: np.random.Generator, d: int) -> Any:
    from sklearn.linear_model import LogisticRegression

    return _fitted(LogisticRegression(), rng, d)


def _tree_model(rng: np.random.Generator, d: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return _fitted(RandomForestClassifier(5, random_state=int(rng.integers(1000))), rng, d)


_MODELS: dict[str, Any] = {
    "blackbox": _TruthTable,
    "additive": _additive_model,
    "trees": _tree_model,
}


# `check_order`: a custom order is a partial order on any list of factors.


_LISTS = 20


def check_order(order: Order, factors: Sequence[Factor], *, seed: int = 0) -> int:
    """Check that an order is partial on these factors and on lists of some of them.

    The relation must be reflexive, antisymmetric and transitive; of two factors it must say the
    same whichever others are listed, and in whatever order; and it must send itself to other
    processes. Gives the number of pairs that were compared.

    >>> from suffice import CustomOrder, SubsetOrder, compare, equals
    >>> from suffice.testing import check_order
    >>> female, adult = equals("gender", "female"), compare("age", ">=", 40)
    >>> check_order(SubsetOrder(), [female, adult, female & adult])
    9
    >>> check_order(CustomOrder(lambda a, b: True), [female, adult, female & adult])
    Traceback (most recent call last):
        ...
    AssertionError: It is not antisymmetric: ... may not each precede the other. Found: ...
    """
    given = read_factors(factors)
    rng = np.random.default_rng(check_integer("seed", seed, least=0))
    if len(given) < 3:
        raise InputError("factors", f"{len(given)}", "three factors or more, to see the axioms")
    require(isinstance(order, Order), f"{short_repr(order)} has no matrix(factors)")
    relation = _matrix(order, given)
    try:
        check_axioms(relation, given)
    except InputError as error:
        raise AssertionError(f"{error.hint} Found: {error.got}.") from error
    repeated = np.array_equal(relation, _matrix(order, given))
    require(repeated, "asked twice about the same factors, the order answers otherwise")
    _check_lists(order, given, relation, rng)
    empty = _matrix(order, ())
    require(empty.shape == (0, 0), f"of no factors, matrix gives shape {empty.shape}, not (0, 0)")
    _check_copy(order, given, relation)
    return len(given) ** 2


def _matrix(order: Order, factors: Sequence[Factor]) -> Relation:
    with errors_as_assertions(f"matrix of {len(factors)} factors"):
        found = order.matrix(factors)
    size = len(factors)
    require(isinstance(found, np.ndarray), f"matrix gives {short_repr(found)}, no numpy array")
    require(found.dtype == np.dtype(bool), f"matrix holds {found.dtype}, not Booleans")
    require(found.shape == (size, size), f"of {size} factors, matrix has shape {found.shape}")
    return found


def _check_lists(
    order: Order, factors: Sequence[Factor], relation: Relation, rng: np.random.Generator
) -> None:
    for _ in range(_LISTS):
        some = rng.permutation(len(factors))[: rng.integers(2, len(factors) + 1)]
        found = _matrix(order, [factors[i] for i in some])
        for i, j in np.argwhere(found != relation[np.ix_(some, some)])[:1]:
            pair = f"{factors[some[i]]!r} ⪯ {factors[some[j]]!r}"
            raise AssertionError(f"whether {pair} hangs on the other factors that are listed")


def _check_copy(order: Order, factors: Sequence[Factor], relation: Relation) -> None:
    with errors_as_assertions("sending the order to another process"):
        copy: Order = pickled_copy(order)
    same = np.array_equal(relation, _matrix(copy, factors))
    require(same, "sent to another process, the order answers otherwise")
