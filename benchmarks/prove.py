"""Proofs over a domain: all minimal sets, single sets and rules, by whole calls.

German credit (ExtraTrees of 100 trees, depth 15), xgboost of 100 trees of depth 4 on ten made
columns, and a random forest of 100 full trees on breast cancer. Times are of `Explainer.prove`,
the model's own prediction of the input included; kernels are compiled before. Rows are drawn with a
seed of their own. Targets hold on a quiet machine of two cores.
"""

from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any

import numpy as np
from experiments.german.setting import setting
from experiments.runner.lab import data_home

from benchmarks.timing import Row
from suffice import Explainer

ROWS = 20


def rows() -> Iterator[Row]:
    yield from _german()
    yield from _xgboost()
    yield from _breast_cancer()


def _times(what: str, inputs: Any, work: Callable[[Any], Any], limit: float, most: float) -> Row:
    """Return the median and the largest time of one call for each input."""
    work(inputs[0])
    took, complete = [], 0
    for x in inputs[1:]:
        started = perf_counter()
        found = work(x)
        took.append(perf_counter() - started)
        complete += bool(found.complete)
    middle, worst = float(np.median(took)), max(took)
    return Row(
        what,
        f"{middle:.3f} / {worst:.3f} s",
        f"≤ {limit:g} / {most:g} s",
        middle <= limit and worst <= most,
        f"median / largest of {len(took)} rows; {complete} complete",
    )


def _drawn(X: Any, seed: int = 11) -> list[Any]:
    chosen = np.random.default_rng(seed).choice(len(X), ROWS + 1, replace=False)
    return [X.iloc[i] if hasattr(X, "iloc") else X[i] for i in chosen]


def _german() -> Iterator[Row]:
    home = data_home()
    if not home.is_dir():
        yield Row("proofs on German", "-", "-", None, f"no data at {home}: set SUFFICE_DATA")
        return
    model, X, _, _ = setting(home)
    explainer = Explainer(model, X, references="all")
    inputs = _drawn(X)
    yield _times("German, values: all sets", inputs, explainer.prove, 0.05, 0.15)

    def ranged(x: Any) -> Any:
        return explainer.prove(x, domain="range")

    def ruled(x: Any) -> Any:
        return explainer.prove(x, domain="range", rules=True)

    yield _times("German, range: all sets", inputs, ranged, 0.1, 0.4)
    yield _times("German, range: all sets and rules", inputs[:5], ruled, 2.0, 10.0)


def _xgboost() -> Iterator[Row]:
    from xgboost import XGBClassifier

    rng = np.random.default_rng(1)
    X = rng.normal(size=(2000, 10))
    y = (X[:, 0] * X[:, 1] + X[:, 2] + rng.normal(size=2000) > 0).astype(int)
    explainer = Explainer(XGBClassifier(n_estimators=100, max_depth=4, n_jobs=1).fit(X, y), X)

    def ranged(x: Any) -> Any:
        return explainer.prove(x, domain="range")

    yield _times("xgboost 100 × 4, d = 10, range: all sets", _drawn(X), ranged, 0.05, 0.5)


def _breast_cancer() -> Iterator[Row]:
    from sklearn.datasets import load_breast_cancer
    from sklearn.ensemble import RandomForestClassifier

    X, y = load_breast_cancer(return_X_y=True)
    model = RandomForestClassifier(100, random_state=0).fit(X[:400], y[:400])
    explainer = Explainer(model, X[:400])

    def one_set(x: Any) -> Any:
        """Ask about dropping each feature alone, as a first step of a deletion loop."""
        every = range(X.shape[1])
        sets = [[f"x{i}" for i in every if i != left] for left in every]
        return explainer.prove(x, sets, domain="range")

    yield _times("breast cancer, range: 30 sets of 29", _drawn(X[400:]), one_set, 0.5, 3.0)
