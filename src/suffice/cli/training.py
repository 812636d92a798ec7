"""Models that the command can train for those who bring only a table."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.errors import InputError

__all__ = ["MODELS", "train"]

MODELS = ("extra-trees", "logistic", "hist-gradient-boosting")

_MOST_CLASSES = 50


def train(name: str, X: Any, y: Any, random_state: int = 0) -> tuple[Any, float]:
    """Fit a pipeline on 80% of the rows; also give its accuracy on the rest."""
    from sklearn.model_selection import train_test_split

    missing = int(y.isna().sum()) if hasattr(y, "isna") else 0
    if missing:
        raise InputError("--target", f"{missing} missing values", "a label in every row")
    labels, counts = np.unique(np.asarray(y), return_counts=True)
    if not 2 <= len(labels) <= _MOST_CLASSES or counts.min() < 2:
        raise InputError(
            "--target",
            f"{len(labels)} distinct values, the rarest {counts.min()} time(s)",
            f"2 to {_MOST_CLASSES} classes of at least two rows each to train on",
            "For a numeric target pass your own model with --model.",
        )
    try:
        split = train_test_split(X, y, test_size=0.2, random_state=random_state, stratify=y)
        X_train, X_test, y_train, y_test = split
        model = _pipeline(name, X, random_state).fit(X_train, y_train)
        return model, float(model.score(X_test, y_test))
    except (TypeError, ValueError) as error:  # too few rows, a column without any value, …
        raise InputError("--train", f"{name}: {error}", "a table it can learn from") from error


def _pipeline(name: str, X: Any, random_state: int) -> Any:
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

    numbers = make_column_selector(dtype_include=["number", "bool"])
    others = make_column_selector(dtype_exclude=["number", "bool"])
    if name == "logistic":
        columns = make_column_transformer(
            (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numbers),
            (OneHotEncoder(handle_unknown="ignore"), others),
        )
        return make_pipeline(columns, LogisticRegression(max_iter=1000))
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    if name == "hist-gradient-boosting":
        columns = make_column_transformer(("passthrough", numbers), (codes, others))
        return make_pipeline(columns, HistGradientBoostingClassifier(random_state=random_state))
    columns = make_column_transformer((SimpleImputer(strategy="median"), numbers), (codes, others))
    return make_pipeline(columns, ExtraTreesClassifier(random_state=random_state, max_depth=15))
