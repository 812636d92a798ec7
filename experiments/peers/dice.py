"""DiCE as it comes (dice-ml), on the same model: counterfactual rows that the model confirms.

The paper's DiCE descended gradients in TensorFlow. Its code for PyTorch does the same and is run
here on the same weights ("gradient"); it takes half a minute per input. "random" and "genetic" ask
the model for probabilities only. Every run is seeded and starts from a new object, so that the
answer depends on the input alone and not on what was asked before.
"""

from typing import Any

import numpy as np
import pandas as pd

from experiments.adult.model import NUMBERS, AdultMLP
from suffice.cli.peer_tools import seeded_and_quiet

__all__ = ["GENERATIONS", "METHODS", "counterfactuals"]

METHODS = ("random", "genetic", "gradient")
GENERATIONS = 50
"""The most that the genetic search may run. It mostly stops after 6 or 7; where one of those it
would propose does not flip the prediction, its default is to go on for 500."""
OUTCOME = "income"


def counterfactuals(
    model: AdultMLP,
    weights: dict[str, np.ndarray],
    X: pd.DataFrame,
    row: pd.DataFrame,
    method: str,
    total: int,
    seed: int,
) -> pd.DataFrame:
    """Up to `total` distinct rows, made sparse as DiCE shows them, that the model takes for 1."""
    # The genetic search and the gradients' first guesses draw from the global states.
    with seeded_and_quiet(seed):
        found = _ask(model, weights, X, row, method, total, seed)
    if found is None or not len(found):
        return X.iloc[:0]
    rows = found[list(X.columns)].astype(dict.fromkeys(NUMBERS, float)).astype(X.dtypes.to_dict())
    rows = rows.drop_duplicates(ignore_index=True)
    return rows[model.predict(rows) == 1].reset_index(drop=True)


def _ask(
    model: AdultMLP,
    weights: dict[str, np.ndarray],
    X: pd.DataFrame,
    row: pd.DataFrame,
    method: str,
    total: int,
    seed: int,
) -> Any:
    import dice_ml
    from raiutils.exceptions import UserConfigValidationException

    categories = dict.fromkeys(X.columns.drop(NUMBERS), str)  # DiCE wants strings
    frame = X.astype(categories).assign(**{OUTCOME: model.predict(X)})
    data = dice_ml.Data(dataframe=frame, continuous_features=NUMBERS, outcome_name=OUTCOME)
    if method == "gradient":
        network = _network(weights, seed)
        wrapped = dice_ml.Model(model=network, backend="PYT", func="ohe-min-max")
    else:
        wrapped = dice_ml.Model(model=model, backend="sklearn")
    dice = dice_ml.Dice(data, wrapped, method=method)
    options = {"random": {"random_seed": seed}, "genetic": {"maxiterations": GENERATIONS}}
    try:
        answer = dice.generate_counterfactuals(
            row.astype(categories),
            total_CFs=total,
            desired_class=1,
            verbose=False,
            **options.get(method, {}),
        )
    except UserConfigValidationException:  # DiCE's way to say that it found none
        return None
    shown = answer.cf_examples_list[0]
    sparse = shown.final_cfs_df_sparse
    return shown.final_cfs_df if sparse is None else sparse


def _network(weights: dict[str, np.ndarray], seed: int) -> Any:
    """The same weights in PyTorch."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    layers = torch.nn.Sequential(
        torch.nn.Linear(29, 20), torch.nn.ReLU(), torch.nn.Linear(20, 1), torch.nn.Sigmoid()
    )
    for layer, w, b in ((layers[0], "W1", "b1"), (layers[2], "W2", "b2")):
        layer.weight.data = torch.tensor(weights[w].T.copy())
        layer.bias.data = torch.tensor(weights[b])
    return layers
