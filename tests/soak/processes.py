"""Attacks on runs in processes: kills of workers and drivers, interrupts, and shared explainers."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import random
import shutil
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from itertools import count as numbers
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import psutil
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from suffice import Explainer
from tests.batch.killed_run import explain, parquet_bytes, start
from tests.soak.tally import Tally, Try, count_tries, seeded

_ROWS = 100


def kill_runs(count: int, seed: int, seconds: float | None = None) -> Tally:
    """Kill −9 a worker or the driver at a random moment: once resumed, every byte is the same."""
    chance = seeded("kills", seed)
    with TemporaryDirectory() as folder:
        explain(str(Path(folder) / "whole"), _ROWS)
        whole = parquet_bytes(Path(folder) / "whole")

        def tries() -> Iterator[Try]:
            for number in numbers():
                moment, worker = chance.uniform(0.05, 5.0), bool(number % 2)
                yield (
                    f"{'worker' if worker else 'driver'} after {moment:.2f} s",
                    partial(check, Path(folder) / str(number), moment, worker),
                )

        def check(out: Path, moment: float, worker: bool) -> None:
            driver = start(out, _ROWS, 2)
            try:
                with suppress(psutil.TimeoutExpired):
                    driver.wait(moment)
                with suppress(psutil.NoSuchProcess):  # on a fast machine it may have ended
                    children = driver.children()
                    victim = chance.choice(children) if worker and children else driver
                    os.kill(victim.pid, signal.SIGKILL)
                    if victim is driver:
                        driver.wait()
                        assert not psutil.wait_procs(children, timeout=60)[1], "workers live on"
                        driver = start(out, _ROWS, 2)
                assert driver.wait(600) == 0
                assert parquet_bytes(out) == whole
            finally:
                with suppress(psutil.NoSuchProcess):
                    driver.kill()
                shutil.rmtree(out, ignore_errors=True)

        return count_tries("kills", tries(), count, seconds)


def interrupt_runs(count: int, seed: int, seconds: float | None = None) -> Tally:
    """Interrupt a program at a random moment: it ends at once, and leaves no process and no file."""
    from tests.batch.test_interrupts import interrupt_after

    chance = seeded("interrupts", seed)
    with TemporaryDirectory() as folder:

        def tries() -> Iterator[Try]:
            for number in numbers():
                call, moment = chance.choice(["explain_many", "explain_to"]), chance.uniform(0.1, 6)
                yield (
                    f"{call} after {moment:.2f} s",
                    partial(check, Path(folder) / str(number), call, moment),
                )

        def check(place: Path, call: str, moment: float) -> None:
            outcome, _ = interrupt_after(place, call, moment)
            assert outcome in ("finished", "interrupted", "killed"), outcome

        return count_tries("interrupts", tries(), count, seconds)


# -- one explainer in threads, forked and spawned processes, and an event loop -----------------


class Rule:
    """A black box that takes a while, so that other threads get their turn within a call."""

    def predict(self, rows: pd.DataFrame) -> np.ndarray:
        time.sleep(random.Random(len(rows)).random() / 500)
        return (rows.sum(axis=1) > 16).to_numpy().astype(int)


def _table(d: int = 4) -> pd.DataFrame:
    return pd.DataFrame(
        np.random.default_rng(0).integers(0, 9, (80, d)), columns=list("abcdef")[:d]
    )


def _explainer(kind: str) -> Explainer:
    X = _table()
    y = (X.sum(axis=1) > 16).astype(int)
    models: dict[str, Any] = {
        "black box": Rule(),
        "forest": RandomForestClassifier(10, random_state=0).fit(X, y),
        "logistic": LogisticRegression().fit(X, y),
    }
    return Explainer(models[kind], X, n_references=30)


def _answers(explainer: Explainer, rows: list[int]) -> list[Any]:
    """Return what may not depend on where it was computed."""
    found = []
    for row in rows:
        e = explainer.explain(_table().iloc[row])
        views = [[(f.features, f.sufficiency, f.cost) for f in v.factors] for v in (e.keep, e.flip)]
        # Not the rows predicted: what the first call computes serves the later ones.
        asked = (e.provenance.hybrids, e.provenance.evaluator, e.complete)
        found.append((views, e.keep.necessity, e.flip.necessity, asked))
    return found


def _answers_of(kind: str, rows: list[int]) -> list[Any]:
    return _answers(_explainer(kind), rows)


async def _asynchronously(explainer: Explainer, rows: list[int]) -> list[Any]:
    found = await asyncio.gather(*(asyncio.to_thread(_answers, explainer, [row]) for row in rows))
    return [answer for [answer] in found]


def share_explainers(count: int, seed: int, seconds: float | None = None) -> Tally:
    """Explain the same rows in 8 threads, in forked and spawned processes, and in an event loop."""
    chance = seeded("shared explainers", seed)
    ways = ("threads", "event loop", "explain_many", "fork", "spawn")

    def tries() -> Iterator[Try]:
        for number in numbers():
            kind, way = ("black box", "forest", "logistic")[number % 3], ways[number // 3 % 5]
            rows = [chance.randrange(80) for _ in range(16)]
            yield f"{kind}, {way}, rows {rows}", partial(check, kind, way, rows)

    def check(kind: str, way: str, rows: list[int]) -> None:
        wanted, explainer = _answers_of(kind, rows), _explainer(kind)
        if way == "threads":
            with ThreadPoolExecutor(8) as threads:
                found = [a for [a] in threads.map(lambda row: _answers(explainer, [row]), rows)]
        elif way == "event loop":
            found = asyncio.run(_asynchronously(explainer, rows))
        elif way == "explain_many":
            explained = explainer.explain_many(_table().iloc[rows])
            for e, (views, *_) in zip(explained, wanted, strict=True):
                for view, listed in zip((e.keep, e.flip), views, strict=True):
                    assert [(f.features, f.sufficiency, f.cost) for f in view.factors] == listed
            return
        else:
            explainer.explain(_table().iloc[0])  # a child starts with what was computed here
            context = multiprocessing.get_context(way)
            with context.Pool(2) as pool:
                parts = pool.starmap_async(_answers_of, [(kind, rows[:8]), (kind, rows[8:])])
                found = [answer for part in parts.get(timeout=300) for answer in part]
        assert found == wanted

    return count_tries("shared explainers", tries(), count, seconds)
