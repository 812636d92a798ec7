"""Figure 2 and its I2R twin: the top k features by SHAP against the best set of k features.

Two rankings stand for SHAP. As practitioners use it: TreeExplainer's values of the model's score
for the predicted class, by size. And the fairest there is: the exact Shapley values of the very
question asked here, the same yes-or-no outcome and the same references (Proposition 1).
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from experiments.runner.drawing import new_figure, tidy
from experiments.runner.lab import Lab
from experiments.runner.result import Claim, Result
from suffice import Explainer, View, shapley_values, top_k
from suffice.plots.tool_comparison import SelectionCurve, SizePoint, draw_selection_curves

__all__ = ["compare", "tree_shap"]

VIEWS = {"keep": "R2I", "flip": "I2R"}
WAYS = {
    "best set": "best set of size k (LENS)",
    "SHAP": "top k by SHAP (TreeExplainer)",
    "exact": "top k by exact Shapley values of PS",
}


def compare(
    lab: Lab,
    title: str,
    explainer: Explainer,
    row: Callable[[int], Any],
    inputs: Sequence[int],
    shap_of: Callable[[Any], Mapping[str, float]],
    settings: dict[str, Any],
) -> Result:
    """Run the comparison on every input and put it together."""
    found = lab.each(
        partial(_one, explainer, row, shap_of),
        [int(i) for i in inputs],
        settings,
        code=(compare,),
    )
    table = _summary(pd.DataFrame([line for lines in found for line in lines]))
    claims = tuple(_claim(table, view, way) for way in ("SHAP", "exact") for view in VIEWS)
    return Result(
        title,
        claims,
        settings,
        tables={"sufficiency-by-k": table},
        figures={"sufficiency-by-k": _draw(table)},
    )


def tree_shap(
    model: Any, background: pd.DataFrame, players: Mapping[str, Sequence[str]] | None = None
):
    """SHAP of the score for the predicted class; a group's value is the sum of its columns'."""
    import shap

    tree = shap.TreeExplainer(model, background)
    columns = list(background.columns)

    def values(row: pd.Series) -> dict[str, float]:
        frame = row.to_frame().T.astype(background.dtypes)
        label = list(model.classes_).index(model.predict(frame)[0])
        out = np.asarray(tree.shap_values(frame, check_additivity=False))
        one = out[0, :, label] if out.ndim == 3 else out[label][0]
        by_column = dict(zip(columns, one.tolist(), strict=True))
        if players is None:
            return by_column
        return {name: sum(by_column[c] for c in members) for name, members in players.items()}

    return values


def _one(
    explainer: Explainer, row: Callable[[int], Any], shap_of: Callable[[Any], Any], i: int
) -> list[dict[str, Any]]:
    e = explainer.explain(row(i), search="exhaustive", progress=False)
    ranking = shap_of(row(i))
    lines = []
    for name, view in ((v, getattr(e, v)) for v in VIEWS):
        exact = shapley_values(view)
        for k in range(1, view.tally.d + 1):
            lines += [
                {"input": i, "view": name, "k": k, "way": way, "PS": ps}
                for way, ps in _sufficiencies(view, k, ranking, exact).items()
            ]
    return lines


def _sufficiencies(view: View, k: int, ranking: Any, exact: Any) -> dict[str, float]:
    by_shap = top_k(view, k, ranking=ranking, absolute=True)
    by_exact = top_k(view, k, ranking=exact)
    return {
        "best set": by_shap.best_sufficiency,
        "SHAP": by_shap.sufficiency,
        "exact": by_exact.sufficiency,
    }


def _summary(lines: pd.DataFrame) -> pd.DataFrame:
    """Means over inputs with 95% confidence intervals (normal, as in the figure)."""
    groups = lines.groupby(["view", "way", "k"], sort=True)["PS"]
    out = groups.agg(["mean", "std", "count"]).reset_index()
    half = 1.96 * out["std"].fillna(0) / np.sqrt(out["count"])
    # The normal interval knows nothing of a share's bounds.
    out["low"] = (out["mean"] - half).clip(lower=0)
    out["high"] = (out["mean"] + half).clip(upper=1)
    return out.drop(columns="std").rename(columns={"mean": "mean PS", "count": "inputs"})


def _claim(table: pd.DataFrame, view: str, way: str) -> Claim:
    mean = table[table["view"] == view].pivot(index="k", columns="way", values="mean PS")
    gap = mean["best set"] - mean[way]
    d = int(gap.index.max())
    widest = int(gap.idxmax())
    return Claim(
        f"at every k the best set's PS is at least that of the top k ({VIEWS[view]})",
        "higher for all cardinalities",
        f"at all {d} sizes; widest at k = {widest}: {mean['best set'][widest]:.2f} against "
        f"{mean[way][widest]:.2f}",
        bool((gap >= 0).all()),
        setting="the paper's" if way == "SHAP" else "fairer: exact Shapley values of the same game",
        note="It must hold: the best of all sets of size k is compared with one of them. What is "
        "measured is how much a ranking loses."
        if (view, way) == ("keep", "SHAP")
        else "",
    )


def _draw(table: pd.DataFrame):
    figure, axes = new_figure(8.0, 3.3, 2, sharey=True)
    for ax, (view, name) in zip(axes, VIEWS.items(), strict=True):
        part = table[table["view"] == view]
        ways = []
        for way, label in WAYS.items():
            lines = part[part["way"] == way]
            rows = zip(lines["k"], lines["mean PS"], lines["low"], lines["high"], strict=True)
            points = tuple(SizePoint(int(k), mean, (low, high)) for k, mean, low, high in rows)
            ways.append(SelectionCurve(label, way == "best set", points))
        draw_selection_curves(ways, ax)
        what = "held" if view == "keep" else "replaced"
        tidy(ax, f"k features {what}", "mean PS" if view == "keep" else "", name)
    return figure
