"""A run that is killed and resumed: `python -m tests.batch.killed_run OUT ROWS WORKERS` explains into OUT."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pandas as pd
import psutil

from suffice import Explainer
from tests.batch.faulty_models import DATA, FaultyModel

HOME = Path(__file__).parents[2]


class SlowFaultyModel(FaultyModel):
    """Takes its time, so that there is some to be killed in."""

    def predict(self, rows: pd.DataFrame):
        time.sleep(0.005)
        return super().predict(rows)


def explain(out: str, rows: int, **options: object) -> None:
    table = pd.concat([DATA] * -(-rows // len(DATA)), ignore_index=True).iloc[:rows]
    # One row in every forty has an error, which is part of what must be the same.
    table.loc[table.index % 40 == 17, "a"] = -4
    explainer = Explainer(SlowFaultyModel(), DATA, n_references=10)
    explainer.explain_to(table, out, resume=True, rows_per_part=50, progress=False, **options)


def start(out: Path, rows: int, workers: int) -> psutil.Process:
    command = [sys.executable, "-m", "tests.batch.killed_run", str(out), str(rows), str(workers)]
    return psutil.Popen(command, cwd=HOME, stderr=subprocess.DEVNULL)


def parquet_bytes(out: Path) -> dict[str, bytes]:
    """Everything that is the data set, by name."""
    assert (out / "_SUCCESS").exists()
    found = {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*.parquet")}
    assert found
    return found


def kill_workers(out: Path, rows: int, kills: int, chance: random.Random) -> None:
    """Kill −9 of some worker at so many random moments, in one run that must end well."""
    driver = start(out, rows, 2)
    try:
        while driver.poll() is None and kills:
            time.sleep(chance.uniform(0.05, 1.5))
            with suppress(psutil.NoSuchProcess):
                children = driver.children()
                if children:
                    os.kill(chance.choice(children).pid, signal.SIGKILL)
                    kills -= 1
        assert driver.wait(1200) == 0
    finally:
        with suppress(psutil.NoSuchProcess):
            driver.kill()


def kill_drivers(out: Path, rows: int, kills: int, chance: random.Random) -> None:
    """Kill −9 of the driver at so many random moments; each time it is started again."""
    for _ in range(kills):
        driver = start(out, rows, 2)
        with suppress(psutil.TimeoutExpired):
            driver.wait(chance.uniform(1.0, 6.0))
        children = []
        with suppress(psutil.NoSuchProcess):  # on a fast machine it may have come to its end
            children = driver.children()
            driver.kill()
            driver.wait()
        assert not psutil.wait_procs(children, timeout=120)[1]
    driver = start(out, rows, 2)
    try:
        assert driver.wait(1200) == 0
    finally:
        with suppress(psutil.NoSuchProcess):
            driver.kill()


if __name__ == "__main__":
    # The hash of the model holds its module, which must not be `__main__`.
    from tests.batch import killed_run

    killed_run.explain(sys.argv[1], int(sys.argv[2]), workers=int(sys.argv[3]))
