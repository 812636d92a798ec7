"""Thirty features, as people bring them from shap: breast cancer and a forest of 100 trees.

Each call has a process of its own, which tells what memory it took at most.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

from benchmarks.measure import Row, at_most

_WORK = """
import json, resource, sys, time
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from suffice import Explainer
X, y = load_breast_cancer(return_X_y=True, as_frame=True)
model = RandomForestClassifier(100, random_state=0).fit(X, y)
made, asked = json.loads(sys.argv[1])
explainer = Explainer(model, X, **made)
planned = explainer.plan(X.iloc[0], **asked).seconds
started = time.perf_counter()
e = explainer.explain(X.iloc[0], progress=True, **asked)
took = time.perf_counter() - started
told = dict(
    took=took, planned=planned, gib=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    keep=len(e.keep), flip=len(e.flip), complete=e.complete, n=e.provenance.n_references,
    necessity=[e.keep.necessity, e.flip.necessity],
)
print(json.dumps(told))
"""


def rows() -> Iterator[Row]:
    told = _run({}, {})
    what = f"breast cancer, all {told['n']} references, first call"
    both = told["keep"] > 0 and told["flip"] > 0
    detail = f"{_found(told)}; {'complete' if told['complete'] else 'not complete'}"
    row = at_most(what, told["took"], 12.0, detail, "s")
    yield row if both else Row(row.what, row.measured, row.target, False, detail)
    if find_spec("numba") is None:
        yield Row("breast cancer, exhaustive", "-", "≤ 600 s", None, "numba is not installed")
        return
    told = _run({"n_references": 100}, {"search": "exhaustive", "tau": 0.9})
    assert told["complete"], "an exhaustive search is complete"
    what = "breast cancer, 100 references, exhaustive at τ = 0.9"
    keep, flip = told["necessity"]
    detail = f"{_found(told)}; necessity {keep:.4f}, {flip:.4f}"
    yield at_most(what, told["took"], 600.0, detail, "s")
    yield at_most(f"{what}: memory", told["gib"], 3.0, "the whole process at most", "GiB")
    off = max(told["took"] / told["planned"], told["planned"] / told["took"])
    detail = f"{told['planned']:.0f} s planned, {told['took']:.0f} s taken"
    yield at_most(f"{what}: plan against time", off, 3.0, detail)


def _run(made: dict[str, Any], asked: dict[str, Any]) -> Any:
    work = [sys.executable, "-c", _WORK, json.dumps([made, asked])]
    ran = subprocess.run(work, capture_output=True, text=True, check=True)
    return json.loads(ran.stdout)


def _found(told: Any) -> str:
    return f"{told['keep']:,} sets keep, {told['flip']:,} flip"
