"""A made-up table that needs no file."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.checks import whole

__all__ = ["loans"]


def loans(n: int = 600, random_state: int = 7) -> tuple[Any, Any]:
    """Made-up loan applications: a pandas frame of seven features, and the decision of each.

    The decisions follow a rule with noise: debts weigh against income, late payments weigh
    heavily, a guarantor helps those who own little.

    >>> X, y = loans()
    >>> X.shape, sorted(set(y.tolist()))
    ((600, 7), ['granted', 'refused'])
    """
    import pandas as pd

    n = whole("n", n)
    rng = np.random.default_rng(whole("random_state", random_state, least=0))
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
