"""The first call on a wide table, and whether plans hold what they say."""

from collections.abc import Iterator
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier

from benchmarks.timing import Row, at_most
from suffice import Explainer


def rows() -> Iterator[Row]:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    forest = RandomForestClassifier(100, random_state=0).fit(X, y)
    for number in (0, 19):  # one malignant, one benign
        row = X.iloc[number]
        started = perf_counter()
        e = Explainer(forest, X).explain(row, progress=False)
        took = perf_counter() - started
        sure = all(f.sufficiency >= e.tau for view in (e.keep, e.flip) for f in view)
        n = e.provenance.n_references
        found = f"{len(e.keep)} + {len(e.flip)} verified sets against {n} references"
        what = f"breast cancer, forest of 100, first call: row {number}"
        good = took <= 12 and bool(len(e.keep) and len(e.flip)) and sure
        yield Row(what, f"{took:.1f} s", "≤ 12 s, sets in both views", good, found)
    yield from _plans(X, y, forest)


def _plans(X: Any, y: Any, forest: Any) -> Iterator[Row]:
    """How far off is the predicted time of searches that run to their end?"""
    wide, labels = make_classification(800, 18, n_informative=10, random_state=0)
    narrow, few = make_classification(500, 11, n_informative=6, random_state=0)
    logistic = LogisticRegression(max_iter=1000).fit(wide, labels)
    mlp = MLPClassifier((16,), max_iter=400, random_state=0).fit(narrow, few)
    knn = KNeighborsClassifier().fit(narrow, few)
    trees = RandomForestClassifier(100, random_state=0).fit(wide, labels)
    cases = {
        "forest, joined columns": (Explainer(forest, X, groups="auto"), X.iloc[0]),
        "forest, 18 features": (Explainer(trees, wide, n_references=200), wide[0]),
        "logistic, 18 features": (Explainer(logistic, wide), wide[0]),
        "MLP, 11 features": (Explainer(mlp, narrow), narrow[0]),
        "nearest neighbours, 11 features": (Explainer(knn, narrow, n_references=40), narrow[0]),
    }
    worst, details = 1.0, []
    for name, (explainer, row) in cases.items():
        explainer.explain(row, progress=False)  # libraries are loaded, kernels compiled
        plan = explainer.plan(row)
        started = perf_counter()
        explainer.explain(row, progress=False)
        took = perf_counter() - started
        details.append(f"{name} {plan.way} {plan.seconds:.2f} / {took:.2f} s")
        # What takes a moment either way is no plan that anyone waits for.
        off = max(plan.seconds, 0.3) / max(took, 0.3)
        worst = max(worst, off, 1 / off)
    what = "plans: predicted time / time taken, the farthest off"
    yield at_most(what, float(np.round(worst, 2)), 3.0, "; ".join(details))
