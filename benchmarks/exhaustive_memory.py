"""Twenty players, a cheap model, exhaustively: memory stays bounded."""

import subprocess
import sys
from collections.abc import Iterator

from benchmarks.timing import Row, at_most

_WORK = """
import resource, time
import numpy as np
from sklearn.linear_model import LogisticRegression
from suffice import Explainer
rng = np.random.default_rng(0)
data = rng.normal(size=(2000, 20))
labels = (data @ rng.normal(size=20) > 0).astype(int)
model = LogisticRegression(max_iter=1000).fit(data, labels)
explainer = Explainer(model, data, n_references=100, engine='blackbox')
started = time.perf_counter()
e = explainer.explain(data[0], search='exhaustive', progress=True)
assert e.complete and e.provenance.hybrids == 100 << 20
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, time.perf_counter() - started)
"""


def rows() -> Iterator[Row]:
    ran = subprocess.run([sys.executable, "-c", _WORK], capture_output=True, text=True, check=True)
    gib, took = map(float, ran.stdout.split())
    progress = "progress shown" if "hybrids" in ran.stderr else "NO PROGRESS SHOWN"
    detail = f"104,857,600 hybrids in {took:.1f} s; {progress}"
    yield at_most("d = 20, 100 references, logistic: memory", gib, 4.0, detail, "GiB")
