"""A model that fails on some rows, and helpers of the tests of processes and clusters."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import numpy as np
import pandas as pd
import psutil

FAULTS = {
    -1: "crash",
    -2: "segfault",
    -3: "hang",
    -4: "raise",
    -5: "nan",
}
"""By the value of column a."""

rng = np.random.default_rng(0)
DATA = pd.DataFrame(rng.integers(0, 9, size=(80, 4)), columns=list("abcd"))


def rows_with_faults(numbers: list[int], rows: int = 12) -> pd.DataFrame:
    """Rows of the data; the one at place i of the list has the i-th poison, if any."""
    found = DATA.iloc[:rows].reset_index(drop=True)
    for place, poison in enumerate(numbers):
        if poison:
            found.loc[place, "a"] = poison
    return found


class FaultyModel:
    """Yes where the sum is large; rows with a poison do what it says."""

    classes_ = np.array(["no", "yes"])

    def __init__(self, once: Path | None = None) -> None:
        self.once = once
        """A file that is made when a poison has worked: the next time it is harmless."""

    def predict(self, rows: pd.DataFrame) -> np.ndarray:
        told = set(rows["a"].tolist()) & set(FAULTS)
        if told and (self.once is None or not self.once.exists()):
            if self.once is not None:
                self.once.touch()
            self.harm(FAULTS[max(told)])
        return self.classes_[(rows.sum(axis=1) > 16).to_numpy().astype(int)]

    def harm(self, how: str) -> None:
        if how == "crash":
            os._exit(7)
        elif how == "segfault":
            os.kill(os.getpid(), signal.SIGSEGV)
        elif how == "hang":
            time.sleep(10**6)
        raise KeyError("the database is away")


class NanModel(FaultyModel):
    """Answers with numbers, and with none where the poison is that."""

    def predict(self, rows: pd.DataFrame) -> np.ndarray:
        return np.where(rows["a"] == -5, np.nan, rows.sum(axis=1).to_numpy(float))


def gone(pids):
    """Are all of these ended? Waited for, since an end takes its time."""
    left = [psutil.Process(pid) for pid in pids if psutil.pid_exists(pid)]
    return not psutil.wait_procs(left, timeout=120)[1]


def skipping_clock(folder):
    """Return a clock on which an hour goes by at every look while a process hangs.

    A process that is going to hang makes a file of the folder, whose name is its number. Nothing
    else is ever late, however busy the machine is, as long as it is the only process.
    """
    skipped = 0

    def clock():
        nonlocal skipped
        if any(psutil.pid_exists(int(file.name)) for file in folder.iterdir()):
            skipped += 3600
        return time.monotonic() + skipped

    return clock
