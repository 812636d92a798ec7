"""d = 200, 500 references, a forest: are all planted sufficient sets of size <= 3 found in 60 s?

    python benchmarks/bench_many.py [--players 200] [--references 500] [--tau 0.9] [--alpha A]

The labels follow a rule with planted sufficient sets; a forest learns it, so nothing outside the
forest tells which sets are truly sufficient for *it*. That is settled first, by asking the forest
about each planted set and all of its subsets on every reference. The searches' time is the whole
of it after the model is fitted: both views.
"""

from __future__ import annotations

import argparse
from itertools import chain, combinations
from time import perf_counter

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from suffice.context import SwapContext, as_table, make_players
from suffice.evaluate import BlackBox
from suffice.models import as_model
from suffice.search.greedy import greedy_search
from suffice.target import Target, event_for

PLANTED = ((3, 17), (42, 77, 120), (60, 150, 199), (151,))


def rule(X: np.ndarray) -> np.ndarray:
    above = X > 0.5
    return np.any([above[:, list(s)].all(axis=1) for s in PLANTED[:3]] + [X[:, 151] > 0.9], axis=0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--players", type=int, default=200)
    parser.add_argument("--references", type=int, default=500)
    parser.add_argument("--tau", type=float, default=0.9)
    parser.add_argument("--alpha", type=float)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    d, n, tau = arguments.players, arguments.references, arguments.tau

    rng = np.random.default_rng(0)
    X = rng.random((20_000, d))
    forest = RandomForestClassifier(50, max_features=0.5, n_jobs=-1, random_state=0)
    forest.fit(X, rule(X)).set_params(n_jobs=1)
    x = rng.random((1, d))
    x[0, list(chain.from_iterable(PLANTED))] = 0.95
    fresh = rng.random((4 * n, d))
    references = fresh[~forest.predict(fresh)][:n]
    pool = as_table(np.concatenate([x, references]))
    wrapped, answers = as_model(forest, pool)
    target = Target(wrapped, event_for(None, wrapped, answers[0]))
    context = SwapContext(pool, make_players(pool))
    accuracy = (forest.predict(fresh) == rule(fresh)).mean()
    print(f"d = {d}, {context.n} references, accuracy {accuracy:.3f}")

    judge = BlackBox(target, context, y=True)
    true = [s for s in PLANTED if minimal(judge, d, s, tau, arguments.alpha)]
    print(f"planted sets that are minimal for the forest at τ = {tau:g}: {true}")

    evaluator = BlackBox(target, context, y=True)
    started = perf_counter()
    found = {}
    for view in ("keep", "flip"):
        before, rows = perf_counter(), evaluator.rows_predicted
        greedy = greedy_search(evaluator, d, view, tau, arguments.alpha, seed=arguments.seed)
        found[view] = {f.members: f.hits / n for f in greedy.findings.factors}
        print(
            f"{view}: {len(found[view])} sets in {perf_counter() - before:.1f} s, "
            f"{greedy.starts} starts, {evaluator.rows_predicted - rows:,} rows; {greedy.stopped}"
        )
        for members, share in list(found[view].items())[:12]:
            print(f"  {members} {share:.3f}")
    seconds = perf_counter() - started
    missed = [s for s in true if s not in found["keep"]]
    met = not missed and len(true) and seconds < 60
    print(
        f"{len(true) - len(missed)} of {len(true)} planted sets found in {seconds:.1f} s", end=" "
    )
    print(f"(target: all, under 60 s) {'ok' if met else 'MISSED'}")


def minimal(
    evaluator: BlackBox, d: int, members: tuple[int, ...], tau: float, alpha: float | None
) -> bool:
    """Word by word: the set passes and nothing inside it does."""
    from suffice.inference import passing_levels

    inside = [s for k in range(len(members) + 1) for s in combinations(members, k)]
    held = np.zeros((len(inside), d), dtype=bool)
    for row, s in zip(held, inside, strict=True):
        row[list(s)] = True
    hits = evaluator.outcomes(held).sum(axis=1)
    passed = passing_levels(hits, evaluator.n, alpha, "none", 1) >= tau
    return bool(passed[-1] and not passed[:-1].any())


if __name__ == "__main__":
    main()
