"""A model that some rows do harm to, and what of it the tests of processes and clusters share."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import numpy as np
import pandas as pd

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
