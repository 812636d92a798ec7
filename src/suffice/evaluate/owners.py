"""Bookkeeping of columns: which of a step's inputs does each of its outputs come from?

A step is known by its exact class: a subclass may do anything. Steps that mix columns (PCA,
PolynomialFeatures, Normalizer, KNNImputer) are not known; neither is a FunctionTransformer, whose
function may look anywhere, nor a PowerTransformer, whose powers may differ in the last bit between
a pool and a batch of hybrids.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from suffice.evaluate.protocol import Unreadable
from suffice.typing import Counts

__all__ = ["owners_after", "sklearn_name"]


def sklearn_name(thing: Any) -> str:
    """The name of a scikit-learn class; nothing for a subclass or for a tampered instance."""
    kind = type(thing)
    own = vars(thing) if hasattr(thing, "__dict__") else {}
    tampered = {"predict", "transform", "decision_function"} & own.keys()
    return kind.__name__ if kind.__module__.startswith("sklearn.") and not tampered else ""


def owners_after(step: Any, owner: Counts, names: tuple[str, ...] | None = None) -> Counts:
    """Owners of a step's outputs, from those of its inputs."""
    name = sklearn_name(step)
    rule = _RULES.get(name)
    if rule is None:
        raise Unreadable(f"{type(step).__name__} may mix columns")
    fitted = getattr(step, "feature_names_in_", None)
    if names is not None and fitted is not None and tuple(map(str, fitted)) != names:
        raise Unreadable(f"{name} was fitted on other columns than the data's")
    width = getattr(step, "n_features_in_", None)
    if width is not None and width != len(owner):
        raise Unreadable(f"{name} was fitted on {width} columns and gets {len(owner)}")
    return rule(step, owner)


def _same(step: Any, owner: Counts) -> Counts:
    return owner


def _function(step: Any, owner: Counts) -> Counts:
    if step.func is not None:
        raise Unreadable("FunctionTransformer may mix columns")
    return owner


def _one_hot(step: Any, owner: Counts) -> Counts:
    return np.repeat(owner, step._n_features_outs)


def _bins(step: Any, owner: Counts) -> Counts:
    return owner if step.encode == "ordinal" else np.repeat(owner, step.n_bins_)


def _spline(step: Any, owner: Counts) -> Counts:
    return np.repeat(owner, step.n_features_out_ // len(owner))


def _target_encoder(step: Any, owner: Counts) -> Counts:
    return np.repeat(owner, len(step.encodings_) // len(owner))


def _imputer(step: Any, owner: Counts) -> Counts:
    import pandas as pd

    kept = np.ones(len(owner), dtype=bool)
    if step.strategy != "constant" and not step.keep_empty_features:
        kept = ~np.asarray(pd.isna(step.statistics_))  # columns with nothing to learn are dropped
    indicated = step.indicator_.features_ if step.add_indicator else np.empty(0, dtype=np.int64)
    return np.concatenate([owner[kept], owner[indicated]])


def _indicator(step: Any, owner: Counts) -> Counts:
    return np.asarray(owner[step.features_])


def _selector(step: Any, owner: Counts) -> Counts:
    return np.asarray(owner[step.get_support()])


def _pipeline(step: Any, owner: Counts) -> Counts:
    for _, inner in step.steps:
        if inner is not None and inner != "passthrough":
            owner = owners_after(inner, owner)
    return owner


def _union(step: Any, owner: Counts) -> Counts:
    parts: list[Counts] = []
    for _, inner in step.transformer_list:
        if inner != "drop":
            parts.append(owner if inner == "passthrough" else owners_after(inner, owner))
    return np.concatenate(parts)


def _column_transformer(step: Any, owner: Counts) -> Counts:
    taken: dict[str, Any] = step._transformer_to_input_indices
    parts: list[Counts] = []
    for name, inner, _ in step.transformers_:
        given = owner[np.asarray(taken[name], dtype=np.int64)]
        if isinstance(inner, str):
            part = given if inner == "passthrough" else given[:0]
        else:
            part = owners_after(inner, given) if len(given) else given
        where = step.output_indices_[name]
        if where.stop - where.start != len(part):
            raise Unreadable(f"the columns of {name!r} in its ColumnTransformer could not be told")
        parts.append(part)
    return np.concatenate(parts)


_Rule = Callable[[Any, Counts], Counts]


def _all(names: Iterable[str], rule: _Rule) -> dict[str, _Rule]:
    return dict.fromkeys(names, rule)


_RULES: dict[str, _Rule] = {
    **_all(("StandardScaler", "MinMaxScaler", "RobustScaler", "MaxAbsScaler"), _same),
    **_all(("OrdinalEncoder", "Binarizer", "QuantileTransformer"), _same),
    **_all(("SelectKBest", "SelectPercentile", "VarianceThreshold", "SelectFromModel"), _selector),
    **_all(("RFE", "RFECV", "SequentialFeatureSelector"), _selector),
    "FunctionTransformer": _function,
    "OneHotEncoder": _one_hot,
    "KBinsDiscretizer": _bins,
    "SplineTransformer": _spline,
    "TargetEncoder": _target_encoder,
    "SimpleImputer": _imputer,
    "MissingIndicator": _indicator,
    "Pipeline": _pipeline,
    "FeatureUnion": _union,
    "ColumnTransformer": _column_transformer,
}
