"""Time against the number of features, for us and the peers: the figure of "How it is fast".

    python -m benchmarks.time_by_features [file.svg]

A forest of 100 trees and 100 references. Peers that are not installed are left out.
"""

import sys
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from suffice import Explainer

SIZES = (4, 6, 8, 10, 12, 14, 16, 18, 20)
REFERENCES = 100
PATIENCE = 4.0
"""A way that takes longer than this is not tried at larger sizes."""

Points = dict[str, list[tuple[int, float]]]


def measure(sizes: tuple[int, ...] = SIZES) -> Points:
    """Seconds by name and number of features."""
    points: Points = {}
    given_up: set[str] = set()
    for d in sizes:
        for name, work in _ways(d).items():
            if name in given_up:
                continue
            work()
            started = perf_counter()
            work()
            took = perf_counter() - started
            points.setdefault(name, []).append((d, took))
            if took > PATIENCE:
                given_up.add(name)
    return points


def _ways(d: int) -> dict[str, Callable[[], object]]:
    rng = np.random.default_rng(d)
    X = rng.normal(size=(1000, d))
    y = (X[:, : d // 2].sum(axis=1) + X[:, 0] * X[:, 1] > 0).astype(int)
    model = RandomForestClassifier(100, random_state=0).fit(X, y)
    references = X[model.predict(X) != model.predict(X[:1])[0]][:REFERENCES]
    held = (np.arange(1 << min(d, 14))[:, None] >> np.arange(d) & 1).astype(bool)

    def predict_all() -> None:
        model.predict(np.where(held[:, None], X[0], references).reshape(-1, d))

    ways: dict[str, Callable[[], object]] = {}
    for engine in ("trees", "blackbox"):
        explainer = Explainer(model, X, references=references, engine=engine)
        ways[f"suffice, all 2^d subsets ({engine})"] = partial(explainer.explain, X[0])
    if d <= 14:
        ways["one predict of all 2^d hybrids"] = predict_all
    if find_spec("shap"):
        import shap

        masker = shap.maskers.Independent(references, max_samples=len(references))
        peer = shap.TreeExplainer(model, masker, feature_perturbation="interventional")
        ways["shap TreeExplainer: d values"] = lambda: peer.shap_values(
            X[:1], check_additivity=False
        )
    return ways


def draw(points: Points, path: Path) -> None:
    """Seconds on a logarithmic scale."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 4.2), layout="constrained")
    axes = figure.subplots()
    colours = ("#0b7a75", "#5aa9a4", "#8a8f98", "#a8327d")
    for (name, line), colour in zip(points.items(), colours, strict=False):
        x, y = zip(*line, strict=True)
        axes.plot(x, y, marker="o", markersize=4, color=colour, label=name)
    axes.set(yscale="log", xlabel="features d", ylabel="seconds for one input")
    axes.set_title(f"Forest of 100 trees, {REFERENCES} references", fontsize=11)
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, facecolor="white", dpi=160)


def main() -> None:
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/pictures/time-against-d.svg")
    draw(measure(), path)
    print(path)


if __name__ == "__main__":
    main()
