"""Attack on growth: time and memory as rows, references, columns, trees and classes become more.

Each try explains at three sizes, each four times the one before, and compares the last two. A power
above the expected one is a bug. Time is that of the processor, so that other programs count little.
"""

from __future__ import annotations

import math
import multiprocessing
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count as numbers, product
from time import process_time
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from suffice import Explainer
from tests.soak.peak_memory import measured_peak
from tests.soak.tally import Tally, Try, count_tries


class Size(NamedTuple):
    """How large a question is; the work that is measured begins with its table and its model."""

    rows: int = 3000
    references: int = 100
    columns: int = 10
    trees: int = 20
    classes: int = 2


class Axis(NamedTuple):
    """What grows, the question, and the highest powers that its work explains."""

    name: str
    sizes: tuple[int, int, int]
    asked: dict[str, Any]
    time: float
    memory: float


AXES = (
    Axis("rows", (5_000, 20_000, 80_000), {}, 1, 1),
    Axis("references", (250, 1000, 4000), {}, 1, 1),
    # Pairs of columns, each a row of so many cells.
    Axis("columns", (10, 40, 160), {"search": "exhaustive", "max_size": 2}, 3, 3),
    # Bounded by counted work, but for what is done once for each pair of columns.
    Axis("columns", (30, 120, 480), {"budget": 5000}, 2, 2),
    Axis("trees", (20, 80, 320), {}, 1, 1),
    Axis("classes", (3, 12, 48), {}, 1, 1),
)
MODELS = ("forest", "logistic", "black box")

TOLERANCE = 0.35
"""Above the expected power: caches of the processor alone make large work slower."""


def _prepare(model: str, size: Size) -> Callable[..., object]:
    rng = np.random.default_rng(0)
    names = [f"x{j}" for j in range(size.columns)]
    X = pd.DataFrame(rng.normal(size=(size.rows, size.columns)), columns=names)
    scores = X.to_numpy()[:, :4].sum(axis=1)
    y = np.digitize(scores, np.quantile(scores, np.arange(1, size.classes) / size.classes))
    some = slice(2000)
    if model == "logistic":
        fitted: Any = LogisticRegression(max_iter=30).fit(X[some], y[some])
    else:
        fitted = RandomForestClassifier(size.trees, max_depth=6, random_state=0, n_jobs=1)
        fitted.fit(X[some], y[some])
    asked = fitted.predict if model == "black box" else fitted

    def work(**options: Any) -> object:
        return Explainer(asked, X, n_references=size.references).explain(X.iloc[0], **options)

    return work


def _measure(model: str, size: Size, asked: dict[str, Any], sender: Any) -> None:
    """Send the processor's time and the peak memory of one question."""
    work = _prepare(model, size)
    _prepare(model, Size(rows=2000))(budget=2000)  # what is imported and compiled once
    began = process_time()
    peak = measured_peak(partial(work, **asked))
    sender.send((process_time() - began, peak))


def _measured(model: str, size: Size, asked: dict[str, Any]) -> tuple[float, int]:
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_measure, args=(model, size, asked, sender))
    process.start()
    try:
        assert receiver.poll(300), "no answer"
        found: tuple[float, int] = receiver.recv()
    finally:
        process.kill()
        process.join()
    return found


_LEAST_SECONDS, _LEAST_BYTES = 0.05, 8_000_000
"""What is less is noise, and taken as so much."""


def measure_growth(count: int, seed: int, seconds: float | None = None) -> Tally:
    """Explain at growing sizes: neither time nor memory grows by a higher power than expected.

    The exponents are listed with the tally; `seed` changes nothing.
    """
    notes: list[str] = []
    cases = [
        (axis, model)
        for axis, model in product(AXES, MODELS)
        if axis.name != "trees" or model == "forest"
    ]

    def tries() -> Iterator[Try]:
        for number in numbers():
            axis, model = cases[number % len(cases)]
            yield f"{axis.name} {axis.sizes}, {model}, {axis.asked}", partial(check, axis, model)

    def check(axis: Axis, model: str) -> None:
        found = [
            _measured(model, Size()._replace(**{axis.name: s}), axis.asked) for s in axis.sizes
        ]
        (_, time_before, time_after), (_, before, after) = (
            [max(least, value) for value in values]
            for least, values in zip(
                (_LEAST_SECONDS, _LEAST_BYTES), zip(*found, strict=True), strict=True
            )
        )
        grown = math.log(axis.sizes[2] / axis.sizes[1])
        time, memory = math.log(time_after / time_before) / grown, math.log(after / before) / grown
        said = f"time^{time:.2f} ({time_after:.2f} s), memory^{memory:.2f} ({after / 1e6:.0f} MB)"
        notes.append(f"{axis.name} to {axis.sizes[2]:,}, {model}, {axis.asked}: {said}")
        assert time <= axis.time + TOLERANCE, said
        assert memory <= axis.memory + TOLERANCE, said

    tally = count_tries("growth", tries(), min(count, len(cases)), seconds)
    tally.notes = notes
    return tally
