"""A table as courts and banks keep them: categories, numbers, dates, and cells that are missing.

Made here from a seed, with columns like those of COMPAS; no person is behind any row.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd


def mixed_table(n: int = 400, seed: int = 0) -> pd.DataFrame:
    """Sex, origin (a category, some missing), age, priors, days held (some missing), charge, date.

    Priors go with origin and days held with priors, so that one stands in for the other.
    """
    rng = np.random.default_rng(seed)
    sex = rng.choice(["female", "male"], n, p=[0.3, 0.7])
    origin = rng.choice(["a", "b", "c"], n, p=[0.5, 0.35, 0.15])
    age = rng.integers(18, 71, n)
    priors = rng.poisson(np.where(origin == "b", 4.0, 2.0))
    held = np.round(rng.gamma(2.0, 2.0 + priors), 1)
    charge = rng.choice(["misdemeanour", "felony"], n, p=[0.6, 0.4])
    day = pd.Timestamp("2013-01-01") + pd.to_timedelta(rng.integers(0, 700, n), unit="D")
    table = pd.DataFrame(
        {
            "sex": sex,
            "origin": pd.Categorical(origin, categories=["a", "b", "c"]),
            "age": age,
            "priors": priors,
            "days held": held,
            "charge": charge,
            "screened": day,
        }
    )
    table.loc[rng.random(n) < 0.08, "origin"] = np.nan
    table.loc[rng.random(n) < 0.15, "days held"] = np.nan
    table.loc[rng.random(n) < 0.05, "charge"] = None
    table.loc[rng.random(n) < 0.05, "screened"] = pd.NaT
    return table


def rule(rows: pd.DataFrame) -> Any:
    """Scores by rule: priors, youth, days held (the middle where they are missing), a felony."""
    held = rows["days held"].astype(float).fillna(8.0)
    score = rows["priors"].astype(float) + 0.1 * held + 2 * (rows["age"].astype(float) < 30)
    score += 1.5 * (rows["charge"] == "felony").astype(float)
    return np.where(score >= 5, "detained", "released")


def fitted(table: pd.DataFrame, seed: int = 0) -> Any:
    """A pipeline of trees on all columns but the date, fitted to the rule with some noise."""
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder

    words = ["sex", "origin", "charge"]
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    columns = make_column_transformer(
        (encoder, words), ("passthrough", ["age", "priors", "days held"])
    )
    y = rule(table)
    noisy = np.random.default_rng(seed).random(len(y)) < 0.05
    y = np.where(noisy, np.where(y == "detained", "released", "detained"), y)
    model = HistGradientBoostingClassifier(max_iter=30, max_leaf_nodes=8, random_state=seed)
    return make_pipeline(columns, model).fit(table, y)


def people(n=400, seed=0):
    """Return a table in which the job follows from the sex of nine in ten."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], n)
    return pd.DataFrame(
        {
            "sex": sex,
            "job": np.where(rng.random(n) < 0.9, np.where(sex == "m", "smith", "nurse"), "clerk"),
            "pay": rng.integers(20, 80, n),
            "age": rng.integers(18, 70, n),
        }
    )
