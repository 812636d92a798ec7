"""Rows a second of a plain loop over `explain`.

Run it with `python -m benchmarks.explain_loop "German forest, 100"`. It uses nothing but
`Explainer.explain`, so it measures an older checkout just as well:
`PYTHONPATH=OTHER/src:. python -m benchmarks.explain_loop CASE`. `benchmarks.batch_throughput` does
that by turns with the present code where SUFFICE_OLD names the other checkout's `src`.
"""

import sys
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from experiments.german.setting import setting
from experiments.runner.lab import data_home
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from suffice import Explainer


class Case(NamedTuple):
    """An explainer, the table whose rows it is asked about, and how many of them a loop takes."""

    explainer: Explainer
    X: Any
    looped: int


def cases(home: Path) -> dict[str, Case]:
    model, X, y, _ = setting(home)
    X_train, _, y_train, _ = train_test_split(X, y, test_size=0.2, random_state=42)
    logistic = LogisticRegression(max_iter=5000).fit(X_train, y_train)
    return {
        "German forest, 100": Case(Explainer(model, X, n_references=100), X, 100),
        # The paper's: all 700 of the other label.
        "German forest, 700": Case(Explainer(model, X, references=y != y[998]), X, 40),
        "German logistic, 100": Case(Explainer(logistic, X, n_references=100), X, 200),
    }


def loop(case: Case) -> float:
    """Rows a second."""
    started = perf_counter()
    for i in range(case.looped):
        case.explainer.explain(case.X.iloc[[i]], progress=False)
    return case.looped / (perf_counter() - started)


if __name__ == "__main__":
    chosen = cases(data_home())[sys.argv[1]]
    chosen.explainer.explain(chosen.X.iloc[[0]], progress=False)  # kernels are loaded
    print(loop(chosen))
