"""A small world for pictures: counts are chosen, so that every number in a picture is known."""

from functools import cache

import numpy as np
import pandas as pd

import suffice

HOME = ["rents", "owns", "rents", "owns", "rents", "owns", "rents", "owns", "rents", "owns"]
ROWS = pd.DataFrame(
    {
        "income": [20, 30, 40, 50, 60, 70, 80, 90, 35, 45],
        "debt": [5, 9, 2, 7, 1, 8, 3, 6, 4, 0],
        "home": HOME,
    }
)
APPLICANT = {"income": 25, "debt": 8, "home": "rents"}


def grant(rows):
    """Granted to whoever earns enough for their debts; owners need a little less."""
    owns = np.asarray(rows["home"] == "owns")
    left = np.asarray(rows["income"], dtype=float) - 4 * np.asarray(rows["debt"], dtype=float)
    return np.where(left + 8 * owns >= 20, "granted", "refused")


@cache
def explainer():
    return suffice.Explainer(grant, ROWS)


@cache
def refused_explanation():
    """Why the applicant is refused, at τ = 0.8."""
    return explainer().explain(APPLICANT, tau=0.8)


def renamed_explanation(names):
    """The same decision, with other names for the features; both ways are black boxes."""
    columns = dict(zip(ROWS.columns, names, strict=True))
    back = {new: old for old, new in columns.items()}
    made = suffice.Explainer(
        lambda rows: grant(rows.rename(columns=back)), ROWS.rename(columns=columns)
    )
    return made.explain({columns[old]: value for old, value in APPLICANT.items()}, tau=0.8)


def nine_feature_explanation(search="exhaustive"):
    """Nine questions, any four of which suffice: 126 minimal sets to keep, 84 to flip."""
    names = [f"question {i}" for i in range(1, 10)]
    rows = pd.DataFrame(np.zeros((4, 9), dtype=int), columns=names)

    def pass_mark(given):
        return np.asarray(given).sum(axis=1) >= 4

    asked = suffice.Explainer(pass_mark, rows)
    return asked.explain(dict.fromkeys(names, 1), tau=0.9, search=search)


@cache
def many_sets():
    """More sets than fit."""
    return nine_feature_explanation()


@cache
def pruned_sets():
    """Of a search that decides at one τ."""
    return nine_feature_explanation("pruned")
