"""Every set of thirty features at one τ: breast cancer, a forest of 100 trees, 100 references.

It has a process of its own, which tells what memory it took at most.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec

from benchmarks.timing import Row, at_most

_WORK = """
import json, resource, time
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from suffice import Explainer
X, y = load_breast_cancer(return_X_y=True, as_frame=True)
model = RandomForestClassifier(100, random_state=0).fit(X, y)
explainer = Explainer(model, X, n_references=100)
planned = explainer.plan(X.iloc[0], search="exhaustive", tau=0.9).seconds
started = time.perf_counter()
e = explainer.explain(X.iloc[0], search="exhaustive", tau=0.9, progress=True)
took = time.perf_counter() - started
assert e.complete
found = f"{len(e.keep):,} sets keep, {len(e.flip):,} flip; necessity "
found += f"{e.keep.necessity:.6f}, {e.flip.necessity:.6f}"
gib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
print(json.dumps([took, planned, gib, found]))
"""


def rows() -> Iterator[Row]:
    what = "breast cancer, 2^30 sets × 100 references at τ = 0.9"
    if find_spec("numba") is None:
        yield Row(what, "-", "≤ 600 s", None, "numba is not installed")
        return
    ran = subprocess.run([sys.executable, "-c", _WORK], capture_output=True, text=True, check=True)
    took, planned, gib, found = json.loads(ran.stdout)
    progress = "progress shown" if "hybrids" in ran.stderr else "NO PROGRESS SHOWN"
    yield at_most(what, took, 600.0, f"{found}; {progress}", "s")
    yield at_most(f"{what}: memory", gib, 3.0, "the whole process at most", "GiB")
    off = max(took / planned, planned / took)
    detail = f"{planned:.0f} s planned, {took:.0f} s taken"
    yield at_most(f"{what}: plan against time", off, 3.0, detail)
