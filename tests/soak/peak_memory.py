"""Attack on plans: searches of all kinds and sizes, whose peak memory the plan must have foreseen."""

from __future__ import annotations

import ctypes
import json
import multiprocessing
import random
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count as numbers
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from suffice import Explainer
from suffice.engines.work import load_numba
from tests.soak.tally import Tally, Try, count_tries, seeded

SEARCHES = ("auto", "auto", "exhaustive", "pruned", "greedy", "bounds")


def _explainer(kind: str, d: int, references: int) -> tuple[Explainer, pd.DataFrame]:
    rng = np.random.default_rng(d)
    X = pd.DataFrame(
        rng.normal(size=(2 * references + 2000, d)), columns=[f"x{j}" for j in range(d)]
    )
    weights = rng.normal(size=d)
    y = X.to_numpy() @ weights > 0
    few = slice(2000)
    models: dict[str, Any] = {
        "forest": lambda: RandomForestClassifier(20, max_depth=6, random_state=0).fit(
            X[few], y[few]
        ),
        "logistic": lambda: LogisticRegression(max_iter=50).fit(X[few], y[few]),
        "black box": lambda: lambda rows: np.asarray(rows) @ weights > 0,
    }
    return Explainer(models[kind](), X, n_references=references), X


def _memory_status() -> dict[str, int]:
    """Return the numbers of bytes that Linux says of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    pairs = (line.split(":", 1) for line in lines if line.startswith("Vm"))
    return {name: 1024 * int(value.split()[0]) for name, value in pairs}


def measured_peak(work: Callable[[], object]) -> int:
    """Do some work; return the bytes by which the memory of this process grew at its peak."""
    ctypes.CDLL(None).malloc_trim(0)  # else memory that was freed before would be used again
    before = _memory_status()["VmRSS"]
    Path("/proc/self/clear_refs").write_text("5")  # the peak is from here on
    work()
    return _memory_status()["VmHWM"] - before


def _measure(kind: str, d: int, references: int, asked: dict[str, Any], sender: Any) -> None:
    """Send the peak of one search, and what its plan said."""
    explainer, X = _explainer(kind, d, references)
    # What is imported and compiled once is not the search's: 140 MB for numba and its kernels.
    load_numba()
    explainer.explain(X.iloc[1], budget=3 * references)
    small, rows = _explainer(kind, 8, 20)
    small.explain(rows.iloc[1], search=asked["search"])
    plan = explainer.plan(X.iloc[0], **asked)
    peak = measured_peak(lambda: explainer.explain(X.iloc[0], **asked))
    sender.send((peak, plan.memory, plan.way))


def draw_case(chance: random.Random) -> tuple[str, int, int, dict[str, Any]]:
    """Return a model, a number of features, of references, and a question that ends in time."""
    kind = chance.choice(["forest", "logistic", "black box"])
    search = chance.choice(SEARCHES)
    d = chance.choice([4, 8, 12, 16] + [18, 20] * (kind != "black box"))
    if search in ("auto", "greedy"):
        d = chance.choice([d, 25, 60, 200])
    cells = 2**20 if search in ("pruned", "bounds") else 2**24
    references = chance.choice([50, 300, 1000, 5000, 50_000])
    if search in ("exhaustive", "pruned", "bounds"):
        references = max(20, min(references, cells >> d))
    asked: dict[str, Any] = {"search": search}
    if search == "greedy":
        asked["budget"] = 10 * references
    if search == "bounds":
        kind = "forest" if kind == "black box" else kind
    if search == "auto" and d == 200 and kind == "black box":
        asked["max_size"] = 1
    return kind, d, references, asked


def measure_peaks(count: int, seed: int, seconds: float | None = None) -> Tally:
    """Explain in a process of its own; its peak is at most half as much again as the plan says."""
    chance = seeded("peak memory", seed)
    context = multiprocessing.get_context("fork")  # which has imported everything
    shares: list[float] = []

    def tries() -> Iterator[Try]:
        for number in numbers():
            case = draw_case(chance)
            yield f"{number}: {json.dumps(case)}", partial(check, case)

    def check(case: tuple[str, int, int, dict[str, Any]]) -> None:
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=_measure, args=(*case, sender))
        process.start()
        try:
            assert receiver.poll(300), "no answer"
            peak, planned, way = receiver.recv()
        finally:
            process.kill()
            process.join()
        shares.append(peak / planned)
        assert peak <= 1.5 * planned, f"{way}: {peak:,} bytes; the plan said {planned:,.0f}"

    tally = count_tries("peak memory", tries(), count, seconds)
    if shares:
        low, middle, high = np.quantile(shares, (0.05, 0.5, 1))
        tally.notes = [f"peak ÷ plan: {low:.2f} (5%), {middle:.2f} (median), {high:.2f} (highest)"]
    return tally
