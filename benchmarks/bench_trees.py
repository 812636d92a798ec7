"""How much faster the tree engine is than the models it reads, as ratios within one run.

python benchmarks/bench_trees.py [folder with german/]

- German credit, the paper's setting: one sweep against one vectorised `predict` of all hybrids.
- 16, 20 and 22 features, 100 trees: hybrids per second against rows per second of `predict`.
- xgboost and lightgbm, 300 trees of depth 6, 12 features, 500 references: as on German.

A sweep is everything that an explanation pays for its input: turning the ensemble towards it,
walking, summing, and asking the model about ties. Reading the model is done once and shown apart.
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable
from importlib.util import find_spec
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.model_selection import train_test_split

from suffice import datasets
from suffice.context import SwapContext, as_table, make_players
from suffice.evaluate.trees import read_trees, tree_engine
from suffice.models import as_model
from suffice.target import Target, event_for

REPEATS = 5


def seconds(function: Callable[[], Any], repeats: int = REPEATS) -> float:
    times = []
    for _ in range(repeats):
        started = perf_counter()
        function()
        times.append(perf_counter() - started)
        if sum(times) > 20:
            break
    return median(times)


class Case:
    def __init__(self, model: Any, row: Any, references: Any) -> None:
        self.model = model
        table, below = as_table(row), as_table(references)
        wrapped, answers = as_model(model, table)
        self.target = Target(wrapped, event_for(None, wrapped, answers[0]))
        self.context = SwapContext(table.stack(below), make_players(table))
        self.y = bool(self.target(table)[0])
        started = perf_counter()
        self.read = read_trees(model)
        self.reading = perf_counter() - started
        self.sweep(hits=False)  # numba compiles, or loads, before anything is timed

    def sweep(self, hits: bool = True) -> int:
        engine, why = tree_engine(self.read, self.target, self.context, self.y, "numba")
        assert engine is not None, why
        total = 0
        for _, found, _ in engine.sweep():
            total += int(found.sum()) if hits else 0
        self.asked = engine.rows_predicted
        return total

    def hybrids(self) -> Any:
        d, n = self.context.d, self.context.n
        held = (np.arange(1 << d)[:, None] >> np.arange(d) & 1).astype(bool)
        rows = np.repeat(held, n, axis=0), np.tile(np.arange(n), 1 << d)
        return self.context.hybrids(*rows)


def whole(name: str, case: Case, target: int) -> None:
    """A sweep against one prediction of all the hybrids, which must agree."""
    rows = case.hybrids()
    assert case.sweep() == int((case.target(rows) == case.y).sum()), "the counts differ"
    ours = seconds(case.sweep)
    theirs = seconds(lambda: case.model.predict(rows.native), 3)
    report(name, theirs / ours, target, f"{ours * 1e3:.0f} ms against {theirs:.2f} s", case)


def rates(d: int, target: int, n: int) -> None:
    rng = np.random.default_rng(d)
    X = rng.normal(size=(2000, d))
    y = (X[:, : d // 2].sum(axis=1) + X[:, 0] * X[:, 1] > 0).astype(int)
    model = RandomForestClassifier(100, random_state=0).fit(X, y)
    answers = model.predict(X)
    case = Case(model, X[:1], X[answers != answers[0]][:n])
    theirs = len(X) * 25 / seconds(lambda: model.predict(np.tile(X, (25, 1))), 3)
    ours = case.context.n * 2.0**d / seconds(case.sweep, REPEATS if d < 20 else 3)
    detail = f"{ours:.3g} hybrids/s against {theirs:.3g} rows/s"
    report(f"{d} features, 100 trees, {n} references", ours / theirs, target, detail, case)


def report(name: str, ratio: float, target: int, detail: str, case: Case) -> None:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"{name}: {ratio:.0f}x (target {target}x): {detail}; "
        f"{case.asked} rows asked, read in {case.reading * 1e3:.0f} ms, peak {peak:.2f} GiB",
        flush=True,
    )


def german(folder: str) -> None:
    X, y = datasets.german_credit(folder)
    fitted, _, labels, _ = train_test_split(X, y, test_size=0.2, random_state=42)
    model = ExtraTreesClassifier(random_state=0, max_depth=15).fit(fitted, labels)
    case = Case(model, X.iloc[[998]], X[y != y[998]].reset_index(drop=True))
    whole("German credit, ExtraTrees", case, 25)


def boosted(library: str) -> None:
    if find_spec(library) is None:
        print(f"{library}: not installed, skipped")
        return
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 12))
    y = (X[:, 0] * X[:, 1] + X[:, 2] + np.sin(3 * X[:, 3]) + rng.normal(size=4000) > 0).astype(int)
    if library == "xgboost":
        import xgboost

        model: Any = xgboost.XGBClassifier(n_estimators=300, max_depth=6)
    else:
        import lightgbm

        model = lightgbm.LGBMClassifier(n_estimators=300, max_depth=6, num_leaves=63, verbose=-1)
    model.fit(X, y)
    answers = model.predict(X)
    whole(library, Case(model, X[:1], X[answers != answers[0]][:500]), 50)


if __name__ == "__main__":
    german(sys.argv[1] if len(sys.argv) > 1 else "/work/shared/data")
    for library in ("xgboost", "lightgbm"):
        boosted(library)
    for d, target, n in ((16, 300, 256), (20, 1000, 128), (22, 1000, 128)):
        rates(d, target, n)
