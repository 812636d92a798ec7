"""Starting up, with a warm cache: seconds are the promise here, so seconds are the target."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import joblib
from experiments.german.setting import setting
from experiments.runner.lab import data_home

from benchmarks.timing import Row, at_most, seconds


def rows() -> Iterator[Row]:
    command = Path(sys.executable).with_name("suffice")
    bare = seconds(lambda: _run(sys.executable, "-c", "pass"))
    whole = seconds(lambda: _run(sys.executable, "-c", "import suffice"))
    detail = f"python {bare:.2f} s, with the import {whole:.2f} s"
    yield at_most("import suffice", whole - bare, 0.35, detail, "s")
    yield at_most("suffice --help", seconds(lambda: _run(str(command), "--help")), 0.4, "", "s")
    yield _first_question()


_FIRST = """
import sys, time
import joblib, numpy, pandas, scipy.stats, sklearn.ensemble
from suffice import Explainer
import suffice.engines, suffice.explanation, suffice.search
model, X, y = joblib.load(sys.argv[1])
started = time.perf_counter()
Explainer(model, X, references=y != y[998]).explain(X.iloc[998])
print(time.perf_counter() - started)
"""
"""A fresh process after its imports: the model is read, its pace told, and a row explained."""


def _first_question() -> Row:
    what = "German: first question of a process, 700 references, after the imports"
    home = data_home()
    if not home.is_dir():
        return Row(what, "-", "≤ 0.25 s", None, f"no data at {home}: set SUFFICE_DATA")
    model, X, y, _ = setting(home)
    with TemporaryDirectory() as folder:
        file = Path(folder) / "german.joblib"
        joblib.dump((model, X, y), file)
        command = [sys.executable, "-c", _FIRST, str(file)]
        told = [
            float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            for _ in range(5)
        ]
    return at_most(what, median(told), 0.25, "an ExtraTrees forest of 100", "s")


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)
