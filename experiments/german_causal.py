"""German credit with and without the paper's DAG (Sect. 5.3): which flips, and at what cost.

Input row 998, 100 references of the other label, τ = 0.9. Run: python -m experiments.german_causal
"""

import sys
from pathlib import Path

from rich.console import Console

from experiments.german_credit import data_home, setting
from suffice import CausalContext, CausalModel, Explainer, Explanation, InputError

EDGES = [
    *(("Age", effect) for effect in ("Job", "Savings", "Credit", "Purpose")),
    *(("Sex", effect) for effect in ("Job", "Savings")),
    *(("Job", effect) for effect in ("Savings", "Checking", "Housing", "Credit")),
    *(("Savings", effect) for effect in ("Checking", "Duration", "Housing")),
    *(("Housing", effect) for effect in ("Credit", "Purpose")),
    *(("Credit", effect) for effect in ("Duration", "Purpose")),
    ("Duration", "Purpose"),
]
"""The paper's example DAG."""

CATEGORICAL = ["Sex", "Job", "Housing", "Savings", "Checking", "Purpose"]

PLACES = {
    "Age": (0.0, 0.0),
    "Sex": (0.0, 2.2),
    "Job": (1.6, 1.1),
    "Savings": (3.3, 1.1),
    "Housing": (5.1, 1.1),
    "Checking": (5.1, 3.0),
    "Credit": (6.6, -0.6),
    "Duration": (6.9, 2.2),
    "Purpose": (8.6, 1.1),
}
"""Where the figure has each node."""


BENDS = {
    ("Age", "Savings"): 0.22,
    ("Age", "Credit"): 0.22,
    ("Age", "Purpose"): 0.5,
    ("Sex", "Savings"): -0.25,
    ("Job", "Checking"): -0.3,
    ("Job", "Housing"): -0.35,
    ("Job", "Credit"): 0.2,
    ("Savings", "Duration"): -0.3,
    ("Housing", "Purpose"): -0.12,
}
"""Edges that go around what lies between their ends."""


def causal_model(X) -> CausalModel:
    """Linear regressions for numbers, random forests for categories, as in the appendix."""
    return CausalModel(EDGES, X, categorical=CATEGORICAL)


def explain(home: Path, context: CausalContext | None, tau: float = 0.9) -> Explanation:
    model, X, y, _ = setting(home)
    explainer = Explainer(model, X, references=y != y[998], n_references=100, context=context)
    return explainer.explain(X.iloc[998], tau=tau)


def draw(path: Path) -> None:
    """The DAG."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 3.4), layout="constrained")
    ax = figure.add_subplot()
    boxes = {}
    for node, (x, y) in PLACES.items():
        root = not any(effect == node for _, effect in EDGES)
        box = {"boxstyle": "round,pad=0.45", "fc": "#dbe9f6" if root else "white", "ec": "#33536f"}
        text = ax.text(x, y, node, ha="center", va="center", fontsize=10, bbox=box)
        boxes[node] = text.get_bbox_patch()
    for cause, effect in EDGES:
        style = {"arrowstyle": "-|>", "color": "#5b6470", "lw": 1.1, "mutation_scale": 11}
        ends = {"patchA": boxes[cause], "patchB": boxes[effect], "shrinkA": 2, "shrinkB": 2}
        bend = f"arc3,rad={BENDS.get((cause, effect), 0.0)}"
        arrow = {**style, **ends, "connectionstyle": bend}
        ax.annotate("", PLACES[effect], PLACES[cause], arrowprops=arrow)
    ax.set(xlim=(-0.9, 9.5), ylim=(-3.0, 3.6))
    ax.axis("off")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, transparent=False, facecolor="white")


def main() -> None:
    console = Console(highlight=False)
    try:
        _, X, _, _ = setting(data_home())
        contexts = {
            "values swapped": None,
            "causal": CausalContext(causal_model(X)),
            "causal, each row's own noise": CausalContext(causal_model(X), noise="kept"),
        }
        for name, context in contexts.items():
            e = explain(data_home(), context)
            console.print(
                f"\n{name}: {len(e.flip.factors)} sets flip, in {e.provenance.seconds:.2f} s"
            )
            for factor in e.flip.factors:
                console.print(
                    f"  PS {factor.sufficiency:.2f}  cost {factor.cost:5.2f}  "
                    + ", ".join(factor.features)
                )
    except InputError as error:
        sys.exit(f"Error: {error}")


if __name__ == "__main__":
    main()
