"""Sets decided by bounds: breast cancer (2^30 sets) and planted sets among 200 features.

Breast cancer is asked at τ = 0.9 with 100 references of the other label, of a forest of 100 fully
grown trees, of a hundred boosted trees and of a logistic regression: how long until every set is
decided, or which share is after five minutes. What it takes depends on how many minimal sets there
are: hundreds for the boosted trees, thousands for the sum, a hundred thousand for the forest. There
is no target but for the planted sets, which must all be found, and nothing left open.
"""

from collections.abc import Iterator
from itertools import chain
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.planted_sets import PLANTED, rule
from benchmarks.timing import Row, at_most
from suffice.context import SwapHybrids, make_players
from suffice.engines import CubeEvaluator
from suffice.engines.additive_engine import AdditiveEngine
from suffice.engines.additive_model import read_additive
from suffice.engines.trees import TreeEngine, TreeModel, read_trees
from suffice.models import wrap_model
from suffice.search import Limits, Question
from suffice.search.bounds import bounds_search
from suffice.search.findings import DecidedSets
from suffice.tables import as_table
from suffice.target import Target, event_for

SECONDS = 300.0


def engine(name: str, model: Any, rows: Any) -> tuple[CubeEvaluator, int]:
    """An engine, "trees" or "additive", on an input and references; and how many players."""
    pool = as_table(rows)
    wrapped, answers = wrap_model(model, pool)
    target = Target(wrapped, event_for(None, wrapped, answers[0]))
    hybrids = SwapHybrids(pool, make_players(pool))
    if name == "trees":
        trees = TreeModel(read_trees(model, pool.names))
        return TreeEngine(trees, target, hybrids, True), hybrids.d
    return AdditiveEngine(read_additive(model, pool.names), target, hybrids, True), hybrids.d


def search(name: str, model: Any, rows: Any) -> tuple[DecidedSets, float]:
    evaluator, d = engine(name, model, rows)
    started = perf_counter()
    result = bounds_search(evaluator, d, Question(0.9, limits=Limits(time_limit=SECONDS)))
    return result, perf_counter() - started


def cancer(name: str, model: Any, engine: str = "trees") -> Row:
    X, y = load_breast_cancer(return_X_y=True)
    labels = model.fit(X, y).predict(X)
    others = np.random.default_rng(0).permutation(np.flatnonzero(labels != labels[0]))[:100]
    result, seconds = search(engine, model, X[np.append(0, others)])
    parts = [
        f"{view}: {len(f.factors):,} minimal sets, {100 * (f.decided_share or 0):.2f}% decided, "
        f"all of up to {f.decided_size}"
        for view, f in (("keep", result.keep), ("flip", result.flip))
    ]
    closed = "all decided" if result.stopped is None else f"stopped by {result.stopped}"
    what = f"bounds, breast cancer, {name}: 2^30 sets at τ = 0.9"
    return Row(what, f"{seconds:.1f} s, {closed}", "-", None, "; ".join(parts))


def planted(d: int = 200, n: int = 500) -> Row:
    rng = np.random.default_rng(0)
    X = rng.random((20_000, d))
    forest = RandomForestClassifier(50, max_features=0.5, n_jobs=-1, random_state=0)
    forest.fit(X, rule(X)).set_params(n_jobs=1)
    x = rng.random((1, d))
    x[0, list(chain.from_iterable(PLANTED))] = 0.95
    fresh = rng.random((4 * n, d))
    references = fresh[~forest.predict(fresh)][:n]
    result, seconds = search("trees", forest, np.concatenate([x, references]))
    found = {factor.members for factor in result.keep.factors}
    missed = [members for members in PLANTED if members not in found]
    left = "all 2^200 sets decided" if result.stopped is None else f"stopped by {result.stopped}"
    detail = f"{len(found)} sets keep, {len(missed)} planted missed; {left}"
    row = at_most(f"bounds, d = {d}, forest: planted sets", seconds, 10, detail, "s")
    met = bool(row.met) and not missed and result.stopped is None
    return Row(row.what, row.measured, row.target, met, row.detail)


def rows() -> Iterator[Row]:
    yield planted()
    scaled = make_pipeline(StandardScaler(), LogisticRegression(max_iter=5000))
    yield cancer("logistic regression", scaled, "additive")
    yield cancer("boosted trees", GradientBoostingClassifier(random_state=0))
    yield cancer("forest", RandomForestClassifier(100, random_state=0))
