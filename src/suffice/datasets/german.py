"""German credit, the paper's first table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from suffice.datasets.files import DataFile, locate

__all__ = ["CATEGORIES", "german_credit"]

_FILE = DataFile(
    "german/german_credit_data.csv",
    "42be3b82a2e5073bd5ca23bce1d1c31426b78f72d20cd892f3aacaa2ba30a075",
    "Get 'german-credit-data-with-risk' from Kaggle",
)


def german_credit(data_home: str | Path | None = None, *, verify: bool = True) -> tuple[Any, Any]:
    """German credit, prepared as in the paper's appendix: nine features, risk 1 (good) or 0 (bad).

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

    path = locate(_FILE, data_home, verify)
    frame = pd.read_csv(path, index_col=0, keep_default_na=False, na_values=["NA"])
    frame = frame.rename(
        columns={
            "Saving accounts": "Savings",
            "Checking account": "Checking",
            "Credit amount": "Credit",
        }
    )
    for column, categories in (CATEGORIES | {"Risk": ("bad", "good")}).items():
        if column == "Job":  # numbers in the file already
            continue
        numbers = frame[column].map({name: i for i, name in enumerate(categories)})
        frame[column] = numbers.fillna(numbers.mean())
    return frame.drop(columns="Risk"), frame["Risk"].to_numpy()


CATEGORIES = {
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
