"""Recourse under constraints on German credit, and the first call on tables of many columns.

German: one applicant, 700 references, ExtraTrees. Age and sex cannot change, the duration may only
shrink, the amount is bounded, and a combination is forbidden. Values are a reference's own, or any
combination of observed ones (a grid). Breast cancer has 30 features, and a made table 200 of which
12 matter; a forest of 100 trees is asked without any limit.
"""

from collections.abc import Iterator
from time import perf_counter

import numpy as np
from experiments.german.setting import setting
from experiments.runner.lab import data_home

from benchmarks.timing import Row, at_most, seconds
from suffice import Explainer, compare, equals

LIMIT = 0.5
"""Seconds: as long as a person waits without noticing."""


FIRST_ANSWER = 12.0
"""Seconds that a first call on a wide table may take."""


def rows() -> Iterator[Row]:
    yield from _german()
    yield from _wide()


def _wide() -> Iterator[Row]:
    from sklearn.datasets import load_breast_cancer
    from sklearn.ensemble import RandomForestClassifier

    rng = np.random.default_rng(0)
    made = rng.normal(size=(800, 200)).round(2)
    weights = np.where(np.arange(200) < 12, 2 * rng.normal(size=200), 0.0)
    made_labels = made @ weights + 0.3 * rng.normal(size=800) > 0
    tables = {
        "breast cancer": load_breast_cancer(return_X_y=True),
        "200 columns": (made, made_labels),
    }
    for name, (X, y) in tables.items():
        explainer = Explainer(RandomForestClassifier(random_state=0).fit(X, y), X)
        started = perf_counter()
        found = explainer.recourse(X[0])
        took = perf_counter() - started
        detail = f"{len(found)} options, the best at {found.best.cost:.3f}"
        told = found.reason.splitlines()[0] if found.reason else "complete"
        yield at_most(f"{name}: first recourse", took, FIRST_ANSWER, f"{detail}; {told}", "s")


def _german() -> Iterator[Row]:
    home = data_home()
    if not home.is_dir():
        yield Row("recourse on German", "-", "-", None, f"no data at {home}: set SUFFICE_DATA")
        return
    model, X, y, _ = setting(home)
    explainer = Explainer(model, X, references=y != y[998])
    given = {
        "immutable": ["Age", "Sex"],
        "decreasing": ["Duration"],
        "ranges": {"Credit": (1000, 10000)},
        "forbidden": equals("Housing", 2) & compare("Job", ">=", 3),
    }
    for values in ("observed", "grid"):

        def ask(values: str = values) -> object:
            return explainer.recourse(X.iloc[998], values=values, **given)

        found = ask()  # the first call compiles what the engine needs
        detail = (
            f"{len(found.options)} options, the best at {found.best.cost:.3f}: {found.best.text}"
        )
        took = seconds(ask, runs=5)
        yield at_most(f"German: recourse, {values} values", took, LIMIT, detail, "s")
