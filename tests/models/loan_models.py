"""Loans as the models of every library take them, and checks of all adapted models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from suffice import Explainer, datasets

X, Y = datasets.loans(150)
X = X.select_dtypes("number")
ROWS = X.to_numpy(float)
SCALED = (ROWS - ROWS.mean(0)) / ROWS.std(0)
SCALED_FRAME = pd.DataFrame(SCALED, columns=X.columns)
TWO_CLASSES = (Y == "granted").astype(int)
THREE_CLASSES = np.digitize(ROWS[:, 2], [6, 18])
WEIGHTS = np.array([[0.1, -1.0, 1.2, 1.0], [0.0, 1.1, -1.0, -0.9], [0.2, 0.1, 0.1, -0.3]])


def factors_and_necessity(explanation: Any) -> Any:
    views = (explanation.keep, explanation.flip)
    found = [([(f.features, f.sufficiency) for f in v.factors], v.necessity) for v in views]
    return found, [v.outcome for v in views]


def assert_same_explanation(
    model: Any, plain: Any, data: Any = SCALED_FRAME, outcome: Any = None
) -> Any:
    """Explain with the model itself and with a callable; the answers must be equal."""
    found = Explainer(model, data, outcome=outcome).explain(data.iloc[3], tau=0.7)
    wanted = Explainer(plain, data, outcome=outcome).explain(data.iloc[3], tau=0.7)
    assert factors_and_necessity(found) == factors_and_necessity(wanted)
    assert found.keep.factors
    return found


def torch_network(outputs: int = 2) -> Any:
    """Weights by hand; dropout and normalisation answer otherwise in training mode."""
    torch = pytest.importorskip("torch")
    nn = torch.nn
    layers = [nn.BatchNorm1d(4), nn.Dropout(0.5), nn.Linear(4, outputs)]
    made = nn.Sequential(*layers)
    with torch.no_grad():
        made[2].weight.copy_(torch.tensor(WEIGHTS[:outputs]))
        made[2].bias.zero_()
    return made.eval()


def torch_callable(module: Any) -> Any:
    import torch

    def plain(rows: Any) -> Any:
        with torch.no_grad():
            return module(torch.tensor(np.asarray(rows), dtype=torch.float32)).numpy()

    return plain


def xgboost_booster(labels: Any, data: Any = X, **params: Any) -> Any:
    xgb = pytest.importorskip("xgboost")
    params |= {"max_depth": 3, "nthread": 1}
    return xgb.train(params, xgb.DMatrix(data, labels), 8)
