"""Data to try things on: one made-up table inside the package, and a loader for a real one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from suffice.errors import InputError

__all__ = ["german_credit", "loans"]


def loans(n: int = 600, random_state: int = 7) -> tuple[Any, Any]:
    """Made-up loan applications: a pandas frame of seven features, and the decision of each.

    The decisions follow a rule with noise: debts weigh against income, late payments weigh
    heavily, a guarantor helps those who own little.

    >>> X, y = loans()
    >>> X.shape, sorted(set(y.tolist()))
    ((600, 7), ['granted', 'refused'])
    """
    import pandas as pd

    rng = np.random.default_rng(random_state)
    age = rng.integers(20, 70, n)
    income = (18 + rng.gamma(4.0, 7.0, n) + 0.25 * (age - 20)).round(0).astype(int)
    home = rng.choice(["rents", "owns", "with family"], n, p=[0.45, 0.4, 0.15])
    job = rng.choice(["permanent", "temporary", "self-employed"], n, p=[0.6, 0.25, 0.15])
    debt = (rng.gamma(1.6, 9.0, n)).round(0).astype(int)
    late = np.minimum(rng.poisson(0.7, n), 5)
    guarantor = rng.random(n) < 0.2
    score = (
        0.07 * (income - 45)
        - 0.10 * (debt - 14)
        - 0.9 * late
        + 0.6 * (home == "owns")
        - 0.5 * (job == "temporary")
        + 1.2 * (guarantor & (home != "owns"))
        + rng.logistic(0.0, 0.35, n)
    )
    frame = pd.DataFrame(
        {
            "age": age,
            "income": income,
            "home": home,
            "job": job,
            "debt": debt,
            "late payments": late,
            "guarantor": guarantor,
        }
    )
    return frame, np.where(score > 0.2, "granted", "refused")


def german_credit(data_home: str | Path | None = None) -> tuple[Any, Any]:
    """German credit, prepared as in the paper's appendix: nine features, risk 1 (good) or 0 (bad).

    Categories become numbers, missing savings and checking accounts their column's mean.
    `data_home` (or the environment variable SUFFICE_DATA) is the folder that holds
    `german/german_credit_data.csv`, the Kaggle variant of the UCI table.
    """
    import pandas as pd

    place = Path(data_home or os.environ.get("SUFFICE_DATA", "data")) / "german"
    path = place / "german_credit_data.csv"
    if not path.exists():
        raise InputError(
            "data_home",
            f"a folder without {path}",
            "a folder with german/german_credit_data.csv",
            "Get 'german-credit-data-with-risk' from Kaggle, or set SUFFICE_DATA.",
        )
    frame = pd.read_csv(path, index_col=0, keep_default_na=False, na_values=["NA"])
    for column, categories in _GERMAN.items():
        numbers = frame[column].map({name: i for i, name in enumerate(categories)})
        frame[column] = numbers.fillna(numbers.mean())
    frame = frame.rename(
        columns={
            "Saving accounts": "Savings",
            "Checking account": "Checking",
            "Credit amount": "Credit",
        }
    )
    return frame.drop(columns="Risk"), frame["Risk"].to_numpy()


_GERMAN = {
    "Sex": ["male", "female"],
    "Housing": ["own", "free", "rent"],
    "Saving accounts": ["little", "moderate", "quite rich", "rich"],
    "Checking account": ["little", "moderate", "rich"],
    "Purpose": [
        "radio/TV",
        "education",
        "furniture/equipment",
        "car",
        "business",
        "domestic appliances",
        "repairs",
        "vacation/others",
    ],
    "Risk": ["bad", "good"],
}
