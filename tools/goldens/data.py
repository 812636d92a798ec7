"""Small tables, models and explainers that the goldens are about; everything is seeded."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd

import suffice
from suffice import Explainer, datasets


@cache
def loans() -> tuple[Any, Any]:
    """Return 200 made-up loan applications with seven features, and their decisions."""
    return datasets.loans(200)


NUMBERS = ["age", "income", "debt", "late payments"]


@cache
def random_table(columns: int) -> tuple[Any, Any]:
    """Return a seeded table of numbers, and labels that follow a noisy rule with an interaction."""
    rng = np.random.default_rng(columns)
    names = [f"x{j}" for j in range(columns)]
    X = pd.DataFrame(rng.normal(size=(200, columns)).round(2), columns=names)
    score = X.to_numpy() @ np.linspace(1, 0.2, columns) + 2 * X["x0"] * X["x1"]
    return X, np.where(score + rng.normal(size=200) > 0, "yes", "no")


def lender(rows: Any) -> Any:
    """Decide on loans by a rule, as a callable model."""
    score = 0.07 * (rows["income"] - 45) - 0.1 * (rows["debt"] - 14) - 0.9 * rows["late payments"]
    return np.where(np.asarray(score + 0.6 * (rows["home"] == "owns") > 0), "granted", "refused")


@cache
def model(name: str, columns: int | None = None) -> Any:
    """Return a fitted model: of all features of the loans, or of a random table."""
    from sklearn import ensemble, linear_model
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    X, y = loans() if columns is None else random_table(columns)
    fitted = {
        "forest": ensemble.RandomForestClassifier(10, max_depth=5, random_state=0),
        "boosting": ensemble.GradientBoostingClassifier(n_estimators=10, random_state=0),
        "logistic": linear_model.LogisticRegression(max_iter=1000),
        "regression": linear_model.LinearRegression(),
        "regression forest": ensemble.RandomForestRegressor(5, max_depth=4, random_state=0),
    }[name]
    if name.startswith("regression"):
        X, y = X.drop(columns="x0"), X["x0"] + X["x1"]
    if columns is None:
        encode = OneHotEncoder(sparse_output=False), ["home", "job"]
        fitted = make_pipeline(make_column_transformer(encode, remainder="passthrough"), fitted)
    return fitted.fit(X, y)


@cache
def explainer(name: str, engine: str = "blackbox", columns: int | None = None) -> Explainer:
    """Return an explainer of 40 references with an engine that the clock does not choose."""
    X, _ = loans() if columns is None else random_table(columns)
    X = X.drop(columns="x0") if name.startswith("regression") else X
    made = lender if name == "callable" else model(name, columns)
    return Explainer(made, X, n_references=40, engine=engine)


@cache
def simple(seed: int = 0, engine: str = "trees") -> Explainer:
    """Return an explainer of four numbers by a forest: what most goldens are about."""
    from sklearn.ensemble import RandomForestClassifier

    X, y = loans()
    forest = RandomForestClassifier(10, random_state=seed).fit(X[NUMBERS], y)
    return Explainer(forest, X[NUMBERS], engine=engine)


def applicant(at: int = 8) -> Any:
    """Return one row of the loans that `simple` explains."""
    return loans()[0][NUMBERS].iloc[at]


@cache
def explanation() -> suffice.Explanation:
    """Return the explanation of one decision."""
    return simple().explain(applicant())


@cache
def several(seed: int = 0) -> list[suffice.Explanation]:
    """Return the explanations of twelve decisions."""
    return simple(seed).explain_many(loans()[0][NUMBERS].iloc[:12])


@cache
def causes() -> suffice.CausalModel:
    """Return a causal model of the four numbers, fitted to the loans."""
    edges = [("age", "income"), ("income", "debt"), ("debt", "late payments")]
    return suffice.CausalModel(edges, loans()[0][NUMBERS])


@cache
def reader(kind: str, **options: Any) -> suffice.TextExplainer:
    """Return an explainer of texts: by a rule, or by counts of words that an engine reads."""
    if kind == "rule":
        return suffice.TextExplainer(judge_text, **options)
    from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    texts = ["a fine film", "great music", "fine and great", "too long", "a dull film", "not fine"]
    counted = CountVectorizer() if kind == "counts" else TfidfVectorizer()
    fitted = make_pipeline(counted, LogisticRegression(C=10)).fit(texts, [1, 1, 1, 0, 0, 0])
    return suffice.TextExplainer(fitted, **options)


def judge_text(texts: Any) -> list[str]:
    """Judge texts by a rule, as a callable model."""
    return ["good" if "fine" in t or ("great" in t and "dull" not in t) else "bad" for t in texts]
