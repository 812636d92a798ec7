"""DiCE's pretrained network on Adult income, asked about people as the frame describes them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from suffice import datasets

__all__ = ["NUMBERS", "AdultMLP", "setting"]

NUMBERS = ["age", "hours_per_week"]


class AdultMLP:
    """29 inputs, 20 hidden units, one probability of an income over 50K.

    Numbers are scaled by their ranges in the data, categories stand in a column each: the encoding
    the network was trained on. Multiplying a row of zeros and a one by W1 is picking a row of W1.
    No matrix product is used: its rounding may depend on the other rows of the batch.
    """

    classes_ = np.array([0, 1])

    def __init__(self, weights: Mapping[str, Any], X: pd.DataFrame) -> None:
        w1, self._b1, w2, self._b2 = (weights[k].astype(float) for k in ("W1", "b1", "W2", "b2"))
        self._w2 = w2[:, 0]
        self._scaled = [(c, X[c].min(), X[c].max(), w1[i]) for i, c in enumerate(NUMBERS)]
        self._picked = []
        start = len(NUMBERS)
        for column in X.columns.drop(NUMBERS):
            categories = X[column].cat.categories
            self._picked.append((column, categories, w1[start : start + len(categories)]))
            start += len(categories)

    def score(self, rows: pd.DataFrame) -> np.ndarray:
        """Log odds of an income over 50K."""
        hidden = np.tile(self._b1, (len(rows), 1))
        for column, low, high, weights in self._scaled:
            share = (rows[column].to_numpy(dtype=float) - low) / (high - low)
            hidden += share[:, None] * weights
        for column, categories, weights in self._picked:
            hidden += weights[pd.Categorical(rows[column], categories=categories).codes]
        return (np.maximum(hidden, 0) * self._w2).sum(axis=1) + self._b2[0]

    def predict(self, rows: pd.DataFrame) -> np.ndarray:
        return (self.score(rows) > 0).astype(int)

    def predict_proba(self, rows: pd.DataFrame) -> np.ndarray:
        over = 1 / (1 + np.exp(-self.score(rows)))
        return np.stack([1 - over, over], axis=1)


def setting(home: Path) -> tuple[AdultMLP, pd.DataFrame, np.ndarray]:
    """The model, the table, and the predictions that came with the table."""
    X, predicted = datasets.adult(home)
    return AdultMLP(datasets.adult_mlp(home), X), X, predicted
