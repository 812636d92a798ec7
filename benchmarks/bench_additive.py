"""Logistic regression, d = 20, 500 references: the additive engine against predicting all hybrids.

    python benchmarks/bench_additive.py [--players 20] [--references 500]

Both are timed in the same run, in turn, and the ratio is the median of five. The engine's time is
the whole of it: reading the model, the probes, all 2^d · n outcomes counted and packed. Of the
hybrids' 524 million rows a slice is predicted, and its time per row extrapolated to all of them. In
predict's favour, building the rows is not counted and BLAS has one thread: for products this
thin, on a busy machine, two take several times as long.
"""

from __future__ import annotations

import argparse
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from suffice.context import SwapContext, as_table, make_players
from suffice.evaluate.additive import AdditiveEngine, additive_engine
from suffice.models import as_model
from suffice.target import Target, event_for

CALLS = 20
ROWS_PER_CALL = 1 << 16


def seconds_of_predict(model: LogisticRegression, rows: Any) -> float:
    started = perf_counter()
    model.predict(rows)
    return perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--players", type=int, default=20)
    parser.add_argument("--references", type=int, default=500)
    parser.add_argument("--repeat", type=int, default=5)
    arguments = parser.parse_args()
    d, n = arguments.players, arguments.references

    rng = np.random.default_rng(0)
    X = rng.normal(size=(n + 1, d))
    model = LogisticRegression().fit(X, X @ rng.normal(size=d) + rng.normal(size=n + 1) > 0)
    table = as_table(X)
    wrapped, answers = as_model(model, table)
    target = Target(wrapped, event_for(None, wrapped, answers[0]))
    context = SwapContext(table, make_players(table))
    held = rng.random((ROWS_PER_CALL, d)) < 0.5
    rows = context.hybrids(held, rng.integers(n, size=len(held))).native

    ratios = []
    for _ in range(arguments.repeat):
        per_row = median(seconds_of_predict(model, rows) for _ in range(CALLS)) / len(rows)
        started = perf_counter()
        engine = additive_engine(model, target, context, y=True)
        assert isinstance(engine, AdditiveEngine), engine
        hybrids = sum(len(hits) * n for _, hits, _ in engine.sweep())
        seconds = perf_counter() - started
        ratios.append(per_row * hybrids / seconds)
        print(
            f"predict {per_row * 1e9:5.1f} ns/row, so {per_row * hybrids:6.2f} s for {hybrids:,}; "
            f"additive {seconds:.3f} s ({engine.rows_predicted} rows predicted): "
            f"{ratios[-1]:.1f} x"
        )
    print(f"additive engine, d = {d}, {n} references: {median(ratios):.1f} x (median)")


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
