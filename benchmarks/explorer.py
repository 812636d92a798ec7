"""The explorer: a page of a million rows, a what-if, and thirty-two visitors at once."""

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

import httpx
import numpy as np
import pandas as pd

from benchmarks.timing import Row, at_most, seconds

_VISITORS = 32
_ASKED_BY_EACH = 8

_SERVED = """
import sys
from pathlib import Path
from experiments.german.setting import setting
from suffice.web.session import Session
from suffice.web.server import run_server
model, X, y, _ = setting(Path(sys.argv[1]))
session = Session({"forest": model}, X, n_references=100)
run_server(session, token="bench", ready=lambda a: print(a, flush=True))
"""


def rows() -> Iterator[Row]:
    yield from _million()
    yield from _german()


def _million() -> Iterator[Row]:
    """A million rows of eight columns, and a model as quick as a sum."""
    rng = np.random.default_rng(0)
    columns = {f"x{i}": rng.random(1_000_000).round(3) for i in range(6)}
    columns |= {
        "job": rng.choice(["clerk", "cook", "none"], 1_000_000),
        "age": rng.integers(18, 90, 1_000_000),
    }
    with tempfile.TemporaryDirectory() as folder:
        table, script = Path(folder, "table.parquet"), Path(folder, "served.py")
        pd.DataFrame(columns).to_parquet(table)
        script.write_text(
            "import sys\nimport pandas as pd\nfrom suffice.web.session import Session\n"
            "from suffice.web.server import run_server\n"
            "data = pd.read_parquet(sys.argv[1])\n"
            "session = Session({'sum': lambda rows: rows['x0'] + rows['x1'] > 1}, data)\n"
            "run_server(session, token='bench', ready=lambda a: print(a, flush=True))\n"
        )
        with _served(script, str(table)) as client:
            first = seconds(lambda: _answer(client, "rows", count=50))
            sort = perf_counter()
            _answer(client, "rows", count=50, sort="x3")
            sort = perf_counter() - sort
            where = [{"column": "job", "test": "is", "value": "cook"}]
            found = seconds(lambda: _answer(client, "rows", count=50, sort="x3", where=where))
    detail = f"first sort {sort:.2f} s, then filtered and sorted {found:.2f} s"
    yield at_most("explorer: first page of 1,000,000 rows", first, 1.0, detail, "s")


def _german() -> Iterator[Row]:
    from experiments.runner.lab import data_home

    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "served.py")
        script.write_text(_SERVED)
        with _served(script, str(data_home())) as client:
            ages = iter(range(19, 75))
            _ask(client, 0, next(ages))
            edit = seconds(lambda: _ask(client, 0, next(ages)))
            yield at_most("explorer: what-if edit to new answer", edit, 0.3, "German forest", "s")
            alone = [_timed(client, row) for row in range(_ASKED_BY_EACH)]
            with ThreadPoolExecutor(_VISITORS) as visitors:
                took = sorted(
                    t
                    for part in visitors.map(lambda v: _visit(client, v), range(_VISITORS))
                    for t in part
                )
            one, p95 = statistics.median(alone), took[int(0.95 * len(took))]
            detail = f"one {one:.3f} s, p95 of {len(took)} by {_VISITORS} visitors {p95:.3f} s"
            yield at_most("explorer: p95 of 32 visitors / one alone", p95 / one, 10, detail, "×")
            before = _memory(client)
            for row in range(1000):
                _ask(client, row % 700, 20 + row % 50)
            grown = _memory(client) / before
            yield at_most("explorer: memory after 1,000 requests / before", grown, 1.1, "", "×")


def _visit(client: httpx.Client, visitor: int) -> list[float]:
    return [_timed(client, 20 + visitor * _ASKED_BY_EACH + i) for i in range(_ASKED_BY_EACH)]


def _timed(client: httpx.Client, row: int) -> float:
    started = perf_counter()
    _ask(client, row)
    return perf_counter() - started


def _ask(client: httpx.Client, row: int, age: int | None = None) -> None:
    values = {} if age is None else {"Age": age}
    _answer(client, "explain", input={"row": row, "values": values})


def _answer(client: httpx.Client, path: str, **asked: object) -> object:
    told = json.loads(client.post(f"/api/{path}", json=asked).text.splitlines()[-1])
    assert "answer" in told, told
    return told["answer"]


def _memory(client: httpx.Client) -> float:
    status = Path(f"/proc/{client.headers['x-process']}/status").read_text()
    return float(next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS")))


@contextmanager
def _served(script: Path, *arguments: str) -> Iterator[httpx.Client]:
    process = subprocess.Popen(
        [sys.executable, str(script), *arguments], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        limits = httpx.Limits(max_connections=_VISITORS)
        with httpx.Client(
            base_url=address.partition("?")[0],
            timeout=300,
            follow_redirects=True,
            limits=limits,
            headers={"x-process": str(process.pid)},
        ) as client:
            client.get(address)
            yield client
    finally:
        process.terminate()
        process.wait(30)
