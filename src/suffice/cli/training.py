"""Models that the command can train for those who bring only a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.errors import InputError
from suffice.wording import percent

__all__ = ["MODELS", "Trained", "train"]

MODELS = ("extra-trees", "logistic", "hist-gradient-boosting")

_MOST_CLASSES = 50


@dataclass(frozen=True)
class Trained:
    """A fitted pipeline, and how well it does on rows it has not seen."""

    model: Any
    success: str
    """In words: "91% right on rows it has not seen"."""


def train(name: str, X: Any, y: Any, random_state: int = 0, numbers: bool | None = None) -> Trained:
    """Fit a pipeline on 80% of the rows, and try it on the rest.

    A target of more numbers than classes could be is learnt as numbers; `numbers` says it outright.
    """
    from sklearn.model_selection import train_test_split

    missing = int(y.isna().sum()) if hasattr(y, "isna") else 0
    if missing:
        raise InputError("--target", f"{missing} missing values", "a label in every row")
    labels, counts = np.unique(np.asarray(y), return_counts=True)
    is_number = np.asarray(y).dtype.kind in "iuf"
    if numbers is None:
        numbers = is_number and (len(labels) > _MOST_CLASSES or counts.min() < 2)
    if numbers and not is_number:
        raise InputError("--target", "no numbers", "numbers, with --at-least or --at-most")
    if not numbers and (not 2 <= len(labels) <= _MOST_CLASSES or counts.min() < 2):
        raise InputError(
            "--target",
            f"{len(labels)} distinct values, the rarest {counts.min()} time(s)",
            f"2 to {_MOST_CLASSES} classes of at least two rows each, or numbers, to train on",
            "For other targets pass your own model with --model.",
        )
    try:
        stratify = None if numbers else y
        split = train_test_split(X, y, test_size=0.2, random_state=random_state, stratify=stratify)
        X_train, X_test, y_train, y_test = split
        model = _pipeline(name, numbers, random_state).fit(X_train, y_train)
        score = float(model.score(X_test, y_test))
    except (TypeError, ValueError) as error:  # too few rows, a column without any value, …
        raise InputError("--train", f"{name}: {error}", "a table it can learn from") from error
    if numbers:
        share = percent(max(score, 0.0))
        return Trained(model, f"explains {share} of the variance of rows not seen (R²)")
    return Trained(model, f"{percent(score)} right on rows it has not seen")


def _pipeline(name: str, numbers: bool, random_state: int) -> Any:
    from sklearn import ensemble, linear_model
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

    measured = make_column_selector(dtype_include=["number", "bool"])
    others = make_column_selector(dtype_exclude=["number", "bool"])
    if name == "logistic":
        columns = make_column_transformer(
            (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), measured),
            (OneHotEncoder(handle_unknown="ignore"), others),
        )
        # Of numbers the linear model that goes with it.
        linear = linear_model.Ridge() if numbers else linear_model.LogisticRegression(max_iter=1000)
        return make_pipeline(columns, linear)
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    if name == "hist-gradient-boosting":
        kind = (
            ensemble.HistGradientBoostingRegressor
            if numbers
            else ensemble.HistGradientBoostingClassifier
        )
        columns = make_column_transformer(("passthrough", measured), (codes, others))
        return make_pipeline(columns, kind(random_state=random_state))
    forest = ensemble.ExtraTreesRegressor if numbers else ensemble.ExtraTreesClassifier
    columns = make_column_transformer((SimpleImputer(strategy="median"), measured), (codes, others))
    return make_pipeline(columns, forest(random_state=random_state, max_depth=15))
