"""d = 200, 500 references, a forest: are all planted sufficient sets of size <= 3 found in 10 s?

The labels follow a rule with planted sufficient sets; a forest learns it, so nothing outside the
forest tells which sets are truly sufficient for *it*. That is settled first, by asking the forest
about each planted set and all of its subsets on every reference. The searches' time is the whole
of it after the model is fitted: both views.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, combinations
from time import perf_counter

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from benchmarks.timing import Row, at_most
from suffice.context import SwapHybrids, make_players
from suffice.engines import BlackBox
from suffice.inference import passing_taus
from suffice.models import wrap_model
from suffice.search import Question
from suffice.search.greedy import greedy_search
from suffice.tables import as_table
from suffice.target import Target, event_for

Members = tuple[int, ...]

PLANTED = ((3, 17), (42, 77, 120), (60, 150, 199), (151,))


def rule(X: np.ndarray) -> np.ndarray:
    above = X > 0.5
    return np.any([above[:, list(s)].all(axis=1) for s in PLANTED[:3]] + [X[:, 151] > 0.9], axis=0)


@dataclass(frozen=True)
class Figure:
    """Which planted sets are minimal for the forest, which of them were found, and how fast."""

    true: list[Members]
    missed: list[Members]
    seconds: float
    rows: int

    def __str__(self) -> str:
        found = len(self.true) - len(self.missed)
        return (
            f"{found} of {len(self.true)} planted sets found in {self.seconds:.1f} s, "
            f"{self.rows:,} rows predicted"
        )


def measure(
    d: int = 200, n: int = 500, tau: float = 0.9, alpha: float | None = None, seed: int = 0
) -> Figure:
    rng = np.random.default_rng(0)
    X = rng.random((20_000, d))
    forest = RandomForestClassifier(50, max_features=0.5, n_jobs=-1, random_state=0)
    forest.fit(X, rule(X)).set_params(n_jobs=1)
    x = rng.random((1, d))
    x[0, list(chain.from_iterable(PLANTED))] = 0.95
    fresh = rng.random((4 * n, d))
    references = fresh[~forest.predict(fresh)][:n]
    pool = as_table(np.concatenate([x, references]))
    wrapped, answers = wrap_model(forest, pool)
    target = Target(wrapped, event_for(None, wrapped, answers[0]))
    context = SwapHybrids(pool, make_players(pool))

    judge = BlackBox(target, context, y=True)
    true = [s for s in PLANTED if minimal(judge, d, s, tau, alpha)]

    evaluator = BlackBox(target, context, y=True)
    started = perf_counter()
    found: dict[str, set[Members]] = {}
    for view in ("keep", "flip"):
        greedy = greedy_search(evaluator, d, view, Question(tau, alpha, seed=seed))
        found[view] = set(greedy.outcomes)
    seconds = perf_counter() - started
    missed = [s for s in true if s not in found["keep"]]
    return Figure(true, missed, seconds, evaluator.rows_predicted)


def rows() -> Iterator[Row]:
    figure = measure()
    row = at_most("d = 200, forest: planted sets", figure.seconds, 10, str(figure), "s")
    yield replace(row, met=bool(row.met and figure.true and not figure.missed))


def minimal(
    evaluator: BlackBox, d: int, members: tuple[int, ...], tau: float, alpha: float | None
) -> bool:
    """Word by word: the set passes and nothing inside it does."""
    inside = [s for k in range(len(members) + 1) for s in combinations(members, k)]
    held = np.zeros((len(inside), d), dtype=bool)
    for row, s in zip(held, inside, strict=True):
        row[list(s)] = True
    hits = evaluator.outcomes(held).sum(axis=1)
    passed = passing_taus(hits, evaluator.n, alpha, "none", 1) >= tau
    return bool(passed[-1] and not passed[:-1].any())
