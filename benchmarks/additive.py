"""Logistic regression, d = 20, 500 references: the additive engine against predicting all hybrids.

The engine's time is the whole of it: reading the model, the probes, all 2^d · n outcomes counted
and packed. Of the hybrids' 524 million rows a slice is predicted, and its time per row extrapolated
to all of them. In predict's favour, building the rows is not counted and BLAS has one thread: for
products this thin, on a busy machine, two take several times as long.
"""

from collections.abc import Iterator
from statistics import median
from time import perf_counter

import numpy as np
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from benchmarks.timing import Row, at_least, seconds
from suffice.context import SwapHybrids, make_players
from suffice.engines.additive_engine import AdditiveEngine
from suffice.engines.additive_model import read_additive
from suffice.models import wrap_model
from suffice.tables import as_table
from suffice.target import Target, event_for

SLICE = 1 << 16


def rows() -> Iterator[Row]:
    with threadpool_limits(1):
        yield _logistic(d=20, n=500)


def _logistic(d: int, n: int) -> Row:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n + 1, d))
    model = LogisticRegression().fit(X, X @ rng.normal(size=d) + rng.normal(size=n + 1) > 0)
    table = as_table(X)
    wrapped, answers = wrap_model(model, table)
    target = Target(wrapped, event_for(None, wrapped, answers[0]))
    hybrids = SwapHybrids(table, make_players(table))
    held = rng.random((SLICE, d)) < 0.5
    some = hybrids.rows(held, rng.integers(n, size=len(held))).native
    ratios, times = [], []
    for _ in range(5):
        per_row = seconds(lambda: model.predict(some), 20) / len(some)
        started = perf_counter()
        engine = AdditiveEngine(read_additive(model, table.names), target, hybrids, y=True)
        swept = sum(len(hits) * n for _, hits, _ in engine.sweep())
        times.append(perf_counter() - started)
        ratios.append(per_row * swept / times[-1])
    detail = f"{swept:,} hybrids in {median(times):.2f} s; predict {per_row * 1e9:.0f} ns a row"
    return at_least(f"logistic, d = {d}, {n} references", median(ratios), 20, detail)
