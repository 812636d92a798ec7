"""Adult income, the paper's table for recourse, and the network DiCE's authors trained on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from suffice.datasets.files import DataFile, locate
from suffice.typing import Values

__all__ = ["adult", "adult_mlp"]

_PREPARED = DataFile(
    "adult/adult_clean.csv",
    "817216df6163240751004efd41b2689e03f5e9b05e2dcb88c5c690afc36861ac",
    "Get adult_clean.csv from the authors' repository, github.com/limorigu/LENS",
)
_WEIGHTS = DataFile(
    "adult/adult_mlp_weights.npz",
    "474fb167066b78f2855975ab5dc4fe70ec8b1a9bec20692fe5317b0833f160b4",
    "Get adult.h5 from github.com/interpretml/DiCE and store its layers as W1, b1, W2, b2 with"
    " numpy.savez",
)
_RANGES = {"age": (17, 90), "hours_per_week": (1, 99)}
_COLUMNS = (
    "age",
    "workclass",
    "education",
    "marital_status",
    "occupation",
    "race",
    "gender",
    "hours_per_week",
)


def adult(data_home: str | Path | None = None, *, verify: bool = True) -> tuple[Any, Any]:
    """32,561 people: a frame of eight features, and what DiCE's network predicts (1: over 50K).

    The file holds numbers scaled to [0, 1] and a column per category; here are years, hours a week
    and categories by name. `data_home` (or SUFFICE_DATA) is the folder that holds
    `adult/adult_clean.csv`; `verify=False` takes another version of the file.

    >>> from suffice import datasets
    >>> X, y = datasets.adult()
    >>> X.shape, int(y.sum())
    ((32561, 8), 9720)
    """
    import pandas as pd

    stored = pd.read_csv(locate(_PREPARED, data_home, verify), index_col=0)
    columns = {}
    for name in _COLUMNS:
        if name in _RANGES:
            low, high = _RANGES[name]
            columns[name] = (stored[name] * (high - low) + low).round().astype(np.int64)
        else:
            block = [c for c in stored.columns if c.startswith(f"{name}_")]
            categories = [c.removeprefix(f"{name}_") for c in block]
            which = stored[block].to_numpy().argmax(axis=1)
            codes = pd.Categorical.from_codes(which, pd.Index(categories))
            columns[name] = pd.Series(codes, index=stored.index)
    return pd.DataFrame(columns), stored["modelPred"].to_numpy().astype(np.int64)


def adult_mlp(data_home: str | Path | None = None, *, verify: bool = True) -> dict[str, Values]:
    """The network's weights: W1 (29, 20), b1, a ReLU, W2 (20, 1), b2, a sigmoid.

    Its 29 inputs are age and hours, scaled from their ranges to [0, 1], then a column for each
    category, feature by feature in the order of the frame's. `data_home` (or SUFFICE_DATA) is the
    folder that holds `adult/adult_mlp_weights.npz`; `verify=False` takes other weights.

    >>> from suffice import datasets
    >>> {name: weights.shape for name, weights in datasets.adult_mlp().items()}
    {'W1': (29, 20), 'b1': (20,), 'W2': (20, 1), 'b2': (1,)}
    """
    with np.load(locate(_WEIGHTS, data_home, verify), allow_pickle=False) as stored:
        return {name: stored[name] for name in ("W1", "b1", "W2", "b2")}
