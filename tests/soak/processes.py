"""Attacks on runs in processes: kills of workers and drivers, interrupts, and shared explainers."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import random
import shutil
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from itertools import count as numbers, product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import psutil
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from suffice import Explainer, TextExplainer
from tests.batch.killed_run import explain, parquet_bytes, start
from tests.soak.tally import Tally, Try, count_tries, seeded

_ROWS = 100


def kill_runs(count: int, seed: int, seconds: float | None = None) -> Tally:
    """Kill −9 a worker or the driver at a random moment: once resumed, every byte is the same.

    Moments are shares of a whole run, so that a busy machine is not only killed while it starts.
    """
    chance = seeded("kills", seed)
    states: Counter[str] = Counter()
    with TemporaryDirectory() as folder:
        began = time.monotonic()
        assert start(Path(folder) / "whole", _ROWS, 2).wait(600) == 0
        length = time.monotonic() - began
        whole = parquet_bytes(Path(folder) / "whole")

        def tries() -> Iterator[Try]:
            for number in numbers():
                share, worker = chance.uniform(0.05, 1.0), bool(number % 2)
                yield (
                    f"{'worker' if worker else 'driver'} after {share:.0%} of {length:.1f} s",
                    partial(check, Path(folder) / str(number), share * length, worker),
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
                    states[_state(out)] += 1
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

        tally = count_tries("kills", tries(), count, seconds)
    tally.notes = [", ".join(f"{state}: {n}" for state, n in sorted(states.items()))]
    return tally


def _state(out: Path) -> str:
    """Return what a run that writes to a folder has come to."""
    if (out / "_SUCCESS").exists():
        return "ending"
    return "explaining" if (out / "_manifest.json").exists() else "starting"


def kill_cluster_workers(count: int, seed: int, seconds: float | None = None) -> Tally:
    """Kill −9 a worker of a Dask cluster at a random moment: the run ends, with the same bytes."""
    import dask
    import distributed

    chance = seeded("killed Dask workers", seed)
    # A local cluster gives up a worker that is being started again after so long.
    settings = {"distributed.deploy.lost-worker-timeout": "1 hour"}
    with (
        TemporaryDirectory() as folder,
        dask.config.set(settings),
        distributed.LocalCluster(
            2, threads_per_worker=1, dashboard_address="127.0.0.1:0"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        explain(str(Path(folder) / "whole"), _ROWS)
        whole = parquet_bytes(Path(folder) / "whole")

        def tries() -> Iterator[Try]:
            for number in numbers():
                moment = chance.uniform(0.0, 2.0)
                yield (
                    f"worker after {moment:.2f} s",
                    partial(check, Path(folder) / str(number), moment),
                )

        def check(out: Path, moment: float) -> None:
            killer = threading.Timer(moment, kill)
            killer.start()
            try:
                explain(str(out), _ROWS, client=client)
            finally:
                killer.cancel()
                killer.join()
            assert parquet_bytes(out) == whole
            shutil.rmtree(out)

        def kill() -> None:
            pids = [worker.pid for worker in cluster.workers.values() if worker.pid]
            with suppress(ProcessLookupError):  # one that was killed before is being started again
                os.kill(chance.choice(pids), signal.SIGKILL)

        return count_tries("killed Dask workers", tries(), count, seconds)


def interrupt_runs(count: int, seed: int, seconds: float | None = None) -> Tally:
    """Interrupt a program at a random moment: it ends at once, and leaves no process and no file."""
    from tests.batch.test_interrupts import interrupt_after

    chance = seeded("interrupts", seed)
    outcomes: Counter[str] = Counter()
    with TemporaryDirectory() as folder:
        calls = ("explain_many", "explain_to")
        whole = {call: interrupt_after(Path(folder) / call, call, 600) for call in calls}

        def tries() -> Iterator[Try]:
            for number in numbers():
                call, share = chance.choice(calls), chance.uniform(0.02, 1.0)
                yield (
                    f"{call} after {share:.0%} of {whole[call][1]:.1f} s",
                    partial(check, Path(folder) / str(number), call, share),
                )

        def check(place: Path, call: str, share: float) -> None:
            outcome, _ = interrupt_after(place, call, share * whole[call][1])
            assert outcome in ("finished", "interrupted", "killed"), outcome
            outcomes[outcome] += 1

        tally = count_tries("interrupts", tries(), count, seconds)
    tally.notes = [", ".join(f"{outcome}: {n}" for outcome, n in sorted(outcomes.items()))]
    return tally


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


_TEXTS = (
    *("good film of great joy", "bad film and awful plot", "great plot good joy"),
    *("awful bad boring film", "good good joy of plot", "boring awful plot of film"),
)


def _network(X: pd.DataFrame, y: np.ndarray) -> Any:
    import torch

    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(X.shape[1], 8), torch.nn.ReLU(), torch.nn.Linear(8, 2)
    )


MODELS: dict[str, Callable[[pd.DataFrame, np.ndarray], Any]] = {
    "black box": lambda X, y: Rule(),
    "forest": lambda X, y: RandomForestClassifier(10, random_state=0).fit(X, y),
    "logistic": lambda X, y: LogisticRegression().fit(X, y),
    "network": _network,
    "boosting": lambda X, y: HistGradientBoostingClassifier(max_iter=10, random_state=0).fit(X, y),
    "words": lambda X, y: make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(
        _TEXTS, [1, 0, 1, 0, 1, 0]
    ),
}
"""A model for each engine, and two more that have threads or locks of their own."""


def _explainer(kind: str) -> Any:
    X = _table()
    model = MODELS[kind](X, (X.sum(axis=1) > 16).astype(int).to_numpy())
    if kind == "words":
        return TextExplainer(model, mask="delete")
    return Explainer(model, X, n_references=30)


def _row(kind: str, row: int) -> Any:
    return _TEXTS[row % len(_TEXTS)] if kind == "words" else _table().iloc[row]


def _answers(explainer: Any, kind: str, rows: list[int]) -> list[Any]:
    """Return what may not depend on where it was computed."""
    found = []
    for row in rows:
        e = explainer.explain(_row(kind, row))
        views = [[(f.features, f.sufficiency, f.cost) for f in v.factors] for v in (e.keep, e.flip)]
        # Not the rows predicted: what the first call computes serves the later ones.
        asked = (e.provenance.hybrids, e.provenance.evaluator, e.complete)
        found.append((views, e.keep.necessity, e.flip.necessity, asked))
    return found


_inherited: list[Any] = []
"""The explainer that a forked process finds in its memory."""


def _inherited_answers(kind: str, rows: list[int]) -> list[Any]:
    return _answers(_inherited[-1], kind, rows)


async def _asynchronously(explainer: Any, kind: str, rows: list[int]) -> list[Any]:
    found = await asyncio.gather(
        *(asyncio.to_thread(_answers, explainer, kind, [row]) for row in rows)
    )
    return [answer for [answer] in found]


def share_explainers(count: int, seed: int, seconds: float | None = None) -> Tally:
    """Explain the same rows in 8 threads, in forked and spawned processes, and in an event loop.

    A forked process uses the explainer that it inherits while another thread goes on, a spawned one
    a pickled copy of it.
    """
    chance = seeded("shared explainers", seed)
    ways = ("threads", "event loop", "explain_many", "fork", "spawn")
    # A forked process cannot go on with OpenMP, which boosters and torch use: a plain `predict`
    # hangs there. Texts have no explain_many.
    impossible = {("fork", "boosting"), ("fork", "network"), ("explain_many", "words")}
    cases = [case for case in product(ways, MODELS) if case not in impossible]

    def tries() -> Iterator[Try]:
        for number in numbers():
            way, kind = cases[number * 7 % len(cases)]
            rows = [chance.randrange(80) for _ in range(16)]
            yield f"{kind}, {way}, rows {rows}", partial(check, kind, way, rows)

    def check(kind: str, way: str, rows: list[int]) -> None:
        wanted, explainer = _answers(_explainer(kind), kind, rows), _explainer(kind)
        if way == "threads":
            with ThreadPoolExecutor(8) as threads:
                one = partial(_answers, explainer, kind)
                found = [a for [a] in threads.map(lambda row: one([row]), rows)]
        elif way == "event loop":
            found = asyncio.run(_asynchronously(explainer, kind, rows))
        elif way == "explain_many":
            explained = explainer.explain_many([_row(kind, row) for row in rows])
            for e, (views, *_) in zip(explained, wanted, strict=True):
                for view, listed in zip((e.keep, e.flip), views, strict=True):
                    assert [(f.features, f.sufficiency, f.cost) for f in view.factors] == listed
            return
        elif way == "fork":
            _inherited.append(explainer)
            _answers(explainer, kind, [3])  # else a fork may come during an import
            with _in_use(explainer, kind):
                found = _in_processes(
                    "fork", _inherited_answers, [(kind, rows[:8]), (kind, rows[8:])]
                )
            _inherited.clear()
        else:
            explainer.explain(_row(kind, 0))  # what this computes is not sent along
            parts = [(explainer, kind, rows[:8]), (explainer, kind, rows[8:])]
            found = _in_processes("spawn", _answers, parts)
        assert found == wanted

    return count_tries("shared explainers", tries(), count, seconds)


@contextmanager
def _in_use(explainer: Any, kind: str) -> Iterator[None]:
    """Let a thread use an explainer, so that a fork may come while it holds a lock."""
    ended = threading.Event()

    def work() -> None:
        while not ended.is_set():
            _answers(explainer, kind, [3])

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _in_processes(way: str, function: Callable[..., list[Any]], parts: list[Any]) -> list[Any]:
    with multiprocessing.get_context(way).Pool(2) as pool:
        found = pool.starmap_async(function, parts, chunksize=1).get(timeout=300)
    return [answer for part in found for answer in part]
