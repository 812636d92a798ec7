"""Audits of 10,000 stored decisions about 10 features: `python -m benchmarks.audit`.

The decisions are made first, by a forest on a made-up table. The audits are timed in a process of
their own that has no model to call; so its peak memory is theirs. Seconds of the clock are shown
beside those of the processor: other work on the machine adds to the first alone.
"""

import argparse
import json
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

import numpy as np
import pandas as pd

from benchmarks.timing import Row, at_most

ROWS, FEATURES = 10_000, 10
_CATALOGUE = {f"x{i}": {"any": (f"R{i:02}", f"Reason {i}")} for i in range(FEATURES)}


def rows() -> Iterator[Row]:
    with TemporaryDirectory() as name:
        folder = Path(name) / "decisions"
        made = store(folder)
        asked = [sys.executable, "-m", "benchmarks.audit", "--folder", str(folder)]
        found = json.loads(subprocess.run(asked, check=True, capture_output=True).stdout)
    parts = ", ".join(
        f"{what} {took['wall']:.1f} s ({took['cpu']:.1f} s of a core)"
        for what, took in found["seconds"].items()
    )
    total = sum(took["wall"] for took in found["seconds"].values())
    what = f"Audit: {found['decisions']:,} decisions, {FEATURES} features"
    yield at_most(f"{what}, in all", total, 60, f"{parts}; stored in {made:.0f} s", unit="s")
    yield at_most(f"{what}, peak memory", found["peak"], 2, unit="GiB")


def table(n: int = ROWS, seed: int = 0) -> pd.DataFrame:
    """Numbers and categories that go together a little."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=n)
    found = {f"x{i}": (common + 2 * rng.normal(size=n)).round(1) for i in range(FEATURES - 3)}
    found |= {f"x{i}": rng.integers(0, 4, n) for i in range(FEATURES - 3, FEATURES)}
    return pd.DataFrame(found)


def store(folder: Path, n: int = ROWS) -> float:
    """Explain all rows and store them; how many seconds that took."""
    from sklearn.ensemble import ExtraTreesClassifier

    from suffice import Explainer

    X = table(n)
    weights = np.linspace(1.5, 0.2, FEATURES)
    y = np.where(X.to_numpy() @ weights + X["x0"] * (X["x9"] > 1) > 2, "granted", "refused")
    model = ExtraTreesClassifier(30, max_depth=7, random_state=0, n_jobs=1).fit(X, y)
    explainer = Explainer(model, X, n_references=100)
    started = perf_counter()
    ids = [f"case-{i:05}" for i in range(len(X))]
    explainer.explain_to(X.assign(case=ids), folder, id="case", workers=2, progress=False)
    return perf_counter() - started


def audits(folder: Path) -> dict:
    """What each audit takes, from the stored decisions alone."""
    import suffice

    asked = {
        "reliance": lambda es: suffice.audit.reliance(
            es, {"x8": "x8", "x8, x9": ["x8", "x9"]}, by="x7"
        ),
        "cohort": lambda es: suffice.audit.cohort(es, by="x7"),
        "reasons": lambda es: suffice.audit.reasons(es, _CATALOGUE, adverse="refused"),
    }
    seconds, decisions = {}, 0
    for what, ask in asked.items():
        wall, cpu = perf_counter(), process_time()
        stored = suffice.load(folder)
        ask(stored)
        seconds[what] = {"wall": perf_counter() - wall, "cpu": process_time() - cpu}
        decisions = len(stored)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {"seconds": seconds, "decisions": decisions, "peak": peak}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--folder", type=Path, help="audit what is stored there, and say so as JSON"
    )
    options = parser.parse_args()
    if options.folder:
        print(json.dumps(audits(options.folder)))
        return
    for row in rows():
        print(f"{row.what}: {row.measured} (target {row.target}) {row.detail}")


if __name__ == "__main__":
    main()
