"""Figure 2 and its twin on German credit: 50 inputs, R2I and I2R."""

import numpy as np

from experiments.german.setting import setting
from experiments.peers.attribution import compare, tree_shap
from experiments.runner.lab import Lab
from experiments.runner.result import Result
from suffice import Explainer

SEED = 0


def run(lab: Lab) -> Result:
    model, X, _, accuracy = setting(lab.data)
    inputs = np.random.default_rng(SEED).choice(len(X), lab.size(50, 5), replace=False)
    background = X.sample(100, random_state=SEED)
    return compare(
        lab,
        "Figure 2: SHAP's top k against the best set of k (German credit)",
        Explainer(model, X),
        lambda i: X.iloc[i],
        inputs,
        tree_shap(model, background),
        {
            "inputs": len(inputs),
            "references": "all rows predicted otherwise",
            "model": f"ExtraTrees, held-out accuracy {accuracy:.2f}",
            "SHAP background": "100 rows",
            "seed": SEED,
        },
    )
