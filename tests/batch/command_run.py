"""A small portfolio in files, and the command run on it in a process of its own."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

ROOT = Path(__file__).parents[2]
COLUMNS = ("age", "income", "debt", "late")


def write_portfolio(folder: Path, rows: int, width: int = 4) -> None:
    """`t.parquet` with a column of ids, and `m.joblib`."""
    rng = np.random.default_rng(0)
    names = [*COLUMNS, *(f"x{j}" for j in range(width))][:width]
    X = pd.DataFrame(rng.normal(size=(rows, width)).round(3), columns=names)
    some = X.iloc[:2000]
    y = np.where(some.to_numpy() @ np.linspace(1, -1, width) > 0.2, "granted", "refused")
    joblib.dump(LogisticRegression().fit(some, y), folder / "m.joblib")
    X.assign(who=[f"p{i}" for i in range(rows)]).to_parquet(folder / "t.parquet", index=False)


HOLDING_AGE = 1000.0
"""An age that makes a `HeldModel` wait."""


class HeldModel:
    """A model that waits in the middle of a run until the test lets it go on.

    The first rows with `HOLDING_AGE` make it write the file `held`; from then on every process that
    predicts waits until there is a file `go`. So a test can stop a run that is certainly at work,
    however fast or busy the machine is.
    """

    classes_ = ("granted", "refused")

    def __init__(self, folder: Path) -> None:
        self.held, self.go = folder / "held", folder / "go"

    def predict(self, rows: pd.DataFrame) -> np.ndarray:
        if (rows["age"] == HOLDING_AGE).any():
            self.held.touch()
        while self.held.exists() and not self.go.exists():
            time.sleep(0.01)
        good = rows.to_numpy(float) @ np.linspace(1, -1, rows.shape[1]) > 0.2
        return np.where(good, "granted", "refused")


def write_held_portfolio(folder: Path, rows: int, at: int) -> None:
    """Write a portfolio whose run waits at a row, and `references.parquet` without that row."""
    write_portfolio(folder, rows)
    joblib.dump(HeldModel(folder), folder / "m.joblib")
    frame = pd.read_parquet(folder / "t.parquet")
    frame.drop(index=at).to_parquet(folder / "references.parquet", index=False)
    frame.loc[at, "age"] = HOLDING_AGE
    frame.to_parquet(folder / "t.parquet", index=False)


def wait_until_held(folder: Path, driver: subprocess.Popen, seconds: float = 600.0) -> None:
    """Wait until the run of `driver` is held in the middle of its rows."""
    until = time.monotonic() + seconds
    while not (folder / "held").exists():
        assert driver.poll() is None, driver.communicate()[0]
        assert time.monotonic() < until, "the run did not come to the row that holds it"
        time.sleep(0.02)


def command(folder: Path, out: str, *options: object) -> list[str]:
    """`suffice batch` on that portfolio."""
    words = ["batch", "--data", folder / "t.parquet", "--model", folder / "m.joblib"]
    words += ["--trust-pickle", "--id", "who", "--out", folder / out, *options]
    return [sys.executable, "-m", "suffice", *map(str, words)]


def start(command: list[str], **options) -> subprocess.Popen:
    """Start a command in a process group of its own, so that what it leaves behind can be found."""
    settings = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    settings["env"] = os.environ | {"PYTHONPATH": str(ROOT)}  # for `HeldModel`
    return subprocess.Popen(command, start_new_session=True, **(settings | options))


def result_bytes(out: Path) -> dict[str, bytes]:
    """What is the result, and no log."""
    return {
        str(path.relative_to(out)): path.read_bytes()
        for path in sorted(out.rglob("*"))
        if path.is_file() and not path.name.startswith(("_log", "_lock"))
    }


def kill_and_resume(command: list[str], kills: int, seed: int, longest: float) -> int:
    """Kill the driver at so many random moments, then let it end; how many kills hit it at work."""
    moments = random.Random(seed)
    hit = 0
    for _ in range(kills):
        driver = start([*command, "--resume"])
        try:
            driver.wait(moments.uniform(0.5, longest))
        except subprocess.TimeoutExpired:
            os.kill(driver.pid, signal.SIGKILL)
            hit += 1
        driver.communicate()
    end = start([*command, "--resume"])
    said, _ = end.communicate(timeout=600)
    assert end.returncode == 0, said
    return hit


def group_has_ended(group: int, seconds: float = 300.0) -> bool:
    """Has every process of a group ended?"""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False


def peak_memory(pid: int) -> dict[int, int]:
    """Kilobytes that a process and its children have held at most, by process."""
    found = {}
    for process in [pid, *_children(pid)]:
        try:
            status = Path(f"/proc/{process}/status").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue
        for line in status.splitlines():
            if line.startswith("VmHWM"):
                found[process] = int(line.split()[1])
    return found


def _children(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, task.read_text().split()):
            found += [child, *_children(child)]
    return found


def peak_megabytes(
    folder: Path, rows: int, workers: int, rows_per_part: int = 2000
) -> tuple[float, float]:
    """Megabytes that the driver, and the largest of its workers, held at most."""
    folder.mkdir()
    write_portfolio(folder, rows, width=3)
    options = [] if workers == 1 else ["--workers", workers]
    words = command(folder, "out", "--n-references", 20, "--rows-per-part", rows_per_part, *options)
    driver = start(words, stdout=subprocess.DEVNULL)
    held: dict[int, int] = {}
    while driver.poll() is None:
        for process, kilobytes in peak_memory(driver.pid).items():
            held[process] = max(held.get(process, 0), kilobytes)
        try:
            driver.wait(0.2)
        except subprocess.TimeoutExpired:
            continue
    assert driver.returncode == 0
    own = held.pop(driver.pid)
    return own / 1024, max(held.values(), default=0) / 1024
