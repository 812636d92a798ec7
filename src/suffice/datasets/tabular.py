"""Tabular data sets: loans (generated), German credit, Adult and its network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from suffice.datasets.data_files import DataFile, locate
from suffice.typing import Values
from suffice.validation import check_integer


def loans(n: int = 600, random_state: int = 7) -> tuple[Any, Any]:
    """Return made-up loan applications: a pandas frame of seven features, and the decisions.

    The decisions follow a rule with noise: debts weigh against income, late payments weigh
    heavily, a guarantor helps those who own little.

    >>> X, y = loans()
    >>> X.shape, sorted(set(y.tolist()))
    ((600, 7), ['granted', 'refused'])
    """
    import pandas as pd

    n = check_integer("n", n)
    rng = np.random.default_rng(check_integer("random_state", random_state, least=0))
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


# German credit, the paper's first table.


_GERMAN = DataFile(
    "german/german_credit_data.csv",
    "42be3b82a2e5073bd5ca23bce1d1c31426b78f72d20cd892f3aacaa2ba30a075",
    "Get 'german-credit-data-with-risk' from Kaggle",
)


def german_credit(data_home: str | Path | None = None, *, verify: bool = True) -> tuple[Any, Any]:
    """Return German credit as in the paper's appendix: nine features, risk 1 (good) or 0 (bad).

    Categories become numbers, missing savings and checking accounts their column's mean.
    `data_home` (or the environment variable SUFFICE_DATA) is the folder that holds
    `german/german_credit_data.csv`, the Kaggle variant of the UCI table.
    `verify=False` takes another version of the file.

    >>> from suffice import datasets
    >>> X, y = datasets.german_credit()
    >>> X.shape, int(y.sum())
    ((1000, 9), 700)
    """
    import pandas as pd

    path = locate(_GERMAN, data_home, verify)
    frame = pd.read_csv(path, index_col=0, keep_default_na=False, na_values=["NA"])
    frame = frame.rename(
        columns={
            "Saving accounts": "Savings",
            "Checking account": "Checking",
            "Credit amount": "Credit",
        }
    )
    for column, categories in (GERMAN_CATEGORIES | {"Risk": ("bad", "good")}).items():
        if column == "Job":  # numbers in the file already
            continue
        numbers = frame[column].map({name: i for i, name in enumerate(categories)})
        frame[column] = numbers.fillna(numbers.mean())
    return frame.drop(columns="Risk"), frame["Risk"].to_numpy()


GERMAN_CATEGORIES = {
    "Sex": ("male", "female"),
    "Job": ("unskilled, not resident", "unskilled", "skilled", "highly skilled"),
    "Housing": ("own", "free", "rent"),
    "Savings": ("little", "moderate", "quite rich", "rich"),
    "Checking": ("little", "moderate", "rich"),
    "Purpose": (
        "radio/TV",
        "education",
        "furniture/equipment",
        "car",
        "business",
        "domestic appliances",
        "repairs",
        "vacation/others",
    ),
}
"""What the numbers of each column of categories stand for: its first is 0."""


# Adult income, the paper's table for recourse, and the network DiCE's authors trained on it.


_ADULT = DataFile(
    "adult/adult_clean.csv",
    "817216df6163240751004efd41b2689e03f5e9b05e2dcb88c5c690afc36861ac",
    "Get adult_clean.csv from the authors' repository, github.com/limorigu/LENS",
)
_ADULT_MLP = DataFile(
    "adult/adult_mlp_weights.npz",
    "474fb167066b78f2855975ab5dc4fe70ec8b1a9bec20692fe5317b0833f160b4",
    "Get adult.h5 from github.com/interpretml/DiCE and store its layers as W1, b1, W2, b2 with"
    " numpy.savez",
)
_ADULT_RANGES = {"age": (17, 90), "hours_per_week": (1, 99)}
_ADULT_COLUMNS = (
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
    """Return Adult: 32,561 people, eight features, and DiCE's predictions (1: over 50K).

    The file holds numbers scaled to [0, 1] and a column per category; here are years, hours a week
    and categories by name. `data_home` (or SUFFICE_DATA) is the folder that holds
    `adult/adult_clean.csv`; `verify=False` takes another version of the file.

    >>> from suffice import datasets
    >>> X, y = datasets.adult()
    >>> X.shape, int(y.sum())
    ((32561, 8), 9720)
    """
    import pandas as pd

    stored = pd.read_csv(locate(_ADULT, data_home, verify), index_col=0)
    columns = {}
    for name in _ADULT_COLUMNS:
        if name in _ADULT_RANGES:
            low, high = _ADULT_RANGES[name]
            columns[name] = (stored[name] * (high - low) + low).round().astype(np.int64)
        else:
            block = [c for c in stored.columns if c.startswith(f"{name}_")]
            categories = [c.removeprefix(f"{name}_") for c in block]
            which = stored[block].to_numpy().argmax(axis=1)
            codes = pd.Categorical.from_codes(which, pd.Index(categories))
            columns[name] = pd.Series(codes, index=stored.index)
    return pd.DataFrame(columns), stored["modelPred"].to_numpy().astype(np.int64)


def adult_mlp(data_home: str | Path | None = None, *, verify: bool = True) -> dict[str, Values]:
    """Return the weights of DiCE's network: W1 (29, 20), b1, a ReLU, W2 (20, 1), b2, a sigmoid.

    Its 29 inputs are age and hours, scaled from their ranges to [0, 1], then a column for each
    category, feature by feature in the order of the frame's. `data_home` (or SUFFICE_DATA) is the
    folder that holds `adult/adult_mlp_weights.npz`; `verify=False` takes other weights.

    >>> from suffice import datasets
    >>> {name: weights.shape for name, weights in datasets.adult_mlp().items()}
    {'W1': (29, 20), 'b1': (20,), 'W2': (20, 1), 'b2': (1,)}
    """
    with np.load(locate(_ADULT_MLP, data_home, verify), allow_pickle=False) as stored:
        return {name: stored[name] for name in ("W1", "b1", "W2", "b2")}
