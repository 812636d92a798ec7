"""Many rows: chunks against a loop over `explain`, two workers against one, and what storing adds.

Medians of several turns, each of which measures all ways one after another, so that a busy moment
strikes all. Where SUFFICE_OLD is the `src` of an older checkout, its own loop is measured in the
same turns, in a process of its own (see `benchmarks/explain_loop.py`).
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

from experiments.runner.lab import data_home

from benchmarks.explain_loop import Case, cases, loop
from benchmarks.timing import Row, at_least, at_most

TURNS = 3
GOALS = {"German forest, 100": 150.0, "German forest, 700": 60.0, "German logistic, 100": 500.0}
"""Rows a second on two cores."""


@dataclass
class Rates:
    """Rows a second, of each turn."""

    loop: list[float] = field(default_factory=list)
    one: list[float] = field(default_factory=list)
    two: list[float] = field(default_factory=list)
    stored: list[float] = field(default_factory=list)
    old: list[float] = field(default_factory=list)

    def times(self, ours: str, theirs: str) -> float:
        """How much faster, as the median of the turns' ratios."""
        pairs = zip(getattr(self, ours), getattr(self, theirs), strict=True)
        return median(a / b for a, b in pairs)


def measure(name: str, case: Case, turns: int = TURNS) -> Rates:
    rates = Rates()
    case.explainer.explain_many(case.X.iloc[:50], progress=False)
    case.explainer.explain_many(case.X.iloc[:50], n_jobs=2, progress=False)  # workers are up
    for _ in range(turns):
        rates.loop.append(loop(case))
        rates.one.append(together(case, 1))
        rates.two.append(together(case, 2))
        rates.stored.append(stored(case))
        if old := os.environ.get("SUFFICE_OLD"):
            rates.old.append(old_loop(name, old))
    return rates


def together(case: Case, jobs: int) -> float:
    started = perf_counter()
    case.explainer.explain_many(case.X, n_jobs=jobs, progress=False)
    return len(case.X) / (perf_counter() - started)


def stored(case: Case) -> float:
    """By one process, as `together` with one."""
    with TemporaryDirectory() as folder:
        started = perf_counter()
        case.explainer.explain_to(case.X, Path(folder) / "out", progress=False)
        return len(case.X) / (perf_counter() - started)


def old_loop(name: str, source: str) -> float:
    path = os.pathsep.join([source, str(Path(__file__).parents[1])])
    command = [sys.executable, "-m", "benchmarks.explain_loop", name]
    ran = subprocess.run(
        command, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, check=True
    )
    return float(ran.stdout)


def rows() -> Iterator[Row]:
    home = data_home()
    if not home.is_dir():
        yield Row("many rows", "-", "-", None, f"no data at {home}: set SUFFICE_DATA")
        return
    for name, case in cases(home).items():
        rates = measure(name, case)
        one, two, looped = median(rates.one), median(rates.two), median(rates.loop)
        detail = f"one process {one:.0f}, loop over explain {looped:.0f} rows/s"
        yield at_least(f"{name} references, 2 workers", two, GOALS[name], detail, "rows/s")
        detail = f"{one:.0f} / {looped:.0f} rows/s, one process"
        if rates.old:
            times = rates.times("two", "old")
            detail = f"{two:.0f} / {median(rates.old):.0f} rows/s"
            yield at_least(f"{name} references: many / a loop of the old", times, 5, detail)
        else:
            times = rates.times("one", "loop")
            yield Row(f"{name} references: many / a loop", f"{times:.1f} ×", "-", None, detail)
        yield at_least(f"{name} references: 2 workers / 1", rates.times("two", "one"), 1.8)
        # Storing explains, too.
        times = rates.times("one", "stored")
        detail = f"{median(rates.stored):.0f} rows/s stored"
        yield at_most(f"{name} references: explain_to / explain_many", times, 1.1, detail)


def table() -> str:
    """The table of `docs/guides/portfolio.md`, measured now."""
    lines = [
        "| | a loop over `explain` | one process | two workers | 2 ÷ 1 | stored ÷ explained |",
        "|---|---|---|---|---|---|",
    ]
    for name, case in cases(data_home()).items():
        r = measure(name, case)
        lines.append(
            f"| {name} references | {median(r.loop):.0f} rows/s | {median(r.one):.0f} rows/s | "
            f"{median(r.two):.0f} rows/s | {r.times('two', 'one'):.2f} | "
            f"{r.times('one', 'stored'):.2f} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
