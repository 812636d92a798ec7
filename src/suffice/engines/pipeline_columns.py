"""Source columns of pipelines: the input column that each transformed column comes from.

Scalers, encoders, binnings and imputers transform one column at a time, so after any number of them
each number that the final estimator gets comes from one column of the user's table. The players are
then groups of transformed columns, and engines can use that the estimator is additive or a forest.
No step is reimplemented: the fitted steps transform the pool, and this module only keeps track of
columns.

A step is recognised by its exact class, since a subclass may do anything. Steps that mix columns
(PCA, PolynomialFeatures, Normalizer, KNNImputer) are not read; neither is a FunctionTransformer,
whose function may read any column, nor a PowerTransformer, whose powers may differ in the last bit
between a pool and a batch of hybrids.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from inspect import isroutine
from typing import Any

import numpy as np

from suffice.engines.evaluator import has_patched_methods
from suffice.engines.select_engine import Unreadable
from suffice.tables.conversion import as_table
from suffice.tables.table import Table
from suffice.typing import BoolVector, Counts

_SEARCHES = frozenset(
    {"GridSearchCV", "RandomizedSearchCV", "HalvingGridSearchCV", "HalvingRandomSearchCV"}
)


@dataclass(frozen=True, eq=False)
class ColumnwisePipeline:
    """A model as steps that transform single columns, and the final estimator."""

    steps: tuple[Any, ...]
    owner: Counts
    """For each column that the final estimator gets: the input column it comes from."""
    final: Any

    def seen(self, rows: Table) -> Table:
        """Return the rows as the final estimator gets them: a frame, or else a dense array."""
        out = rows.native
        for step in self.steps:
            out = step.transform(out)
        seen = as_table(out.toarray() if hasattr(out, "toarray") else out)
        if len(seen.names) != len(self.owner):
            raise Unreadable(
                f"the steps before {describe_model(self.final)} gave {len(seen.names)} columns, "
                f"not {len(self.owner)}"
            )
        return seen


def split_pipeline(model: Any, columns: tuple[str, ...]) -> ColumnwisePipeline:
    """Split a fitted model into steps and estimator; `Unreadable` for a step that may mix columns.

    `columns` are the names of the table's columns. A model that is no pipeline has no steps and is
    its own final estimator.

    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> model = make_pipeline(StandardScaler(), LogisticRegression())
    >>> model = model.fit([[0.0, 1.0], [1.0, 0.0]], [0, 1])
    >>> split_pipeline(model, ("a", "b")).owner.tolist()
    [0, 1]
    """
    steps, final = pipeline_steps(model)
    owner = np.arange(len(columns))
    for step in steps:
        owner = _source_columns_after(step, owner, columns if step is steps[0] else None)
    return ColumnwisePipeline(tuple(steps), owner, final)


def increasing_columns(parts: ColumnwisePipeline, columns: int) -> BoolVector:
    """Return which columns that the final estimator sees never fall where the input column rises.

    Missing values aside. `columns` is the number of input columns.
    """
    known = np.ones(columns, dtype=bool)
    for step in parts.steps:
        known = _increasing_after(step, known)
    return known


def _increasing_after(step: Any, known: BoolVector) -> BoolVector:
    """Return for a step's outputs what `known` says of its inputs."""
    name = sklearn_class_name(step)
    if name == "Pipeline":
        for _, inner in step.steps:
            if inner is not None and inner != "passthrough":
                known = _increasing_after(inner, known)
        return known
    if name == "ColumnTransformer":
        taken = step._transformer_to_input_indices
        parts = []
        for key, inner, _ in step.transformers_:
            given = known[np.asarray(taken[key], dtype=np.int64)]
            if isinstance(inner, str):
                parts.append(given if inner == "passthrough" else given[:0])
            else:
                parts.append(_increasing_after(inner, given) if len(given) else given)
        return np.concatenate(parts)
    if name == "FeatureUnion":
        inners = [inner for _, inner in step.transformer_list if inner != "drop"]
        return np.concatenate(
            [known if i == "passthrough" else _increasing_after(i, known) for i in inners]
        )
    owner = _source_columns_after(step, np.arange(len(known)))
    # An imputer may be told that some number is a missing value, which it then moves.
    missing = getattr(step, "missing_values", np.nan)
    keeps = name in _KEEP_ORDER and isinstance(missing, float) and np.isnan(missing)
    return np.asarray(known[owner] & keeps)


def pipeline_steps(model: Any) -> tuple[list[Any], Any]:
    """Return the steps of a pipeline that change rows, and the estimator at its end."""
    model = _unwrap(model)
    steps: list[Any] = []
    while sklearn_class_name(model) == "Pipeline":
        steps += [s for _, s in model.steps[:-1] if s is not None and s != "passthrough"]
        model = _unwrap(model.steps[-1][1])
    return steps, model


def _unwrap(model: Any) -> Any:
    """Return the estimator inside a search over parameters or a frozen estimator."""
    while True:
        name = sklearn_class_name(model)
        if name in _SEARCHES and hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        elif name == "FrozenEstimator":
            model = model.estimator
        else:
            return model


def describe_model(model: Any) -> str:
    """Return the name of a model for reasons."""
    return "a function" if isroutine(model) else type(model).__name__


def sklearn_class_name(thing: Any) -> str:
    """Return the name of a scikit-learn class; "" for a subclass, or if a method was replaced."""
    kind = type(thing)
    known = kind.__module__.startswith("sklearn.") and not has_patched_methods(thing)
    return kind.__name__ if known else ""


def _source_columns_after(step: Any, owner: Counts, names: tuple[str, ...] | None = None) -> Counts:
    """Return the source columns of a step's outputs, from those of its inputs."""
    name = sklearn_class_name(step)
    rule = _RULES.get(name)
    if rule is None:
        raise Unreadable(f"the step {describe_model(step)} may mix columns")
    fitted = getattr(step, "feature_names_in_", None)
    if names is not None and fitted is not None and tuple(map(str, fitted)) != names:
        raise Unreadable(f"the step {name} was fitted on other columns than the data's")
    width = getattr(step, "n_features_in_", None)
    if width is not None and width != len(owner):
        raise Unreadable(f"the step {name} was fitted on {width} columns and gets {len(owner)}")
    try:
        return rule(step, owner)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        # Not fitted, or fitted by a version with other attributes.
        raise Unreadable(
            f"the step {name} is not fitted, or keeps its parameters in a form that suffice does "
            "not know"
        ) from error


def _unchanged_columns(step: Any, owner: Counts) -> Counts:
    return owner


def _function(step: Any, owner: Counts) -> Counts:
    if step.func is not None:
        raise Unreadable("the step FunctionTransformer may mix columns: it calls a function")
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
            owner = _source_columns_after(inner, owner)
    return owner


def _union(step: Any, owner: Counts) -> Counts:
    parts: list[Counts] = []
    for _, inner in step.transformer_list:
        if inner != "drop":
            parts.append(owner if inner == "passthrough" else _source_columns_after(inner, owner))
    return np.concatenate(parts)


def _column_transformer(step: Any, owner: Counts) -> Counts:
    taken: dict[str, Any] = step._transformer_to_input_indices
    parts: list[Counts] = []
    for name, inner, _ in step.transformers_:
        given = owner[np.asarray(taken[name], dtype=np.int64)]
        if isinstance(inner, str):
            part = given if inner == "passthrough" else given[:0]
        else:
            part = _source_columns_after(inner, given) if len(given) else given
        where = step.output_indices_[name]
        if where.stop - where.start != len(part):
            raise Unreadable(f"ColumnTransformer does not list the columns that {name!r} gives")
        parts.append(part)
    return np.concatenate(parts)


_KEEP_ORDER = {
    "StandardScaler",
    "MinMaxScaler",
    "RobustScaler",
    "MaxAbsScaler",
    "Binarizer",
    "SimpleImputer",
    "SelectKBest",
    "SelectPercentile",
    "VarianceThreshold",
    "SelectFromModel",
    "RFE",
    "RFECV",
    "SequentialFeatureSelector",
    "FunctionTransformer",
}
"""Steps whose outputs do not fall where their input rises: subtracting and dividing by a positive
number keep the order in floating point, too. (A FunctionTransformer that is read does nothing.)"""

_Rule = Callable[[Any, Counts], Counts]


def _rule_for_each(names: Iterable[str], rule: _Rule) -> dict[str, _Rule]:
    return dict.fromkeys(names, rule)


_RULES: dict[str, _Rule] = {
    **_rule_for_each(
        ("StandardScaler", "MinMaxScaler", "RobustScaler", "MaxAbsScaler"), _unchanged_columns
    ),
    **_rule_for_each(("OrdinalEncoder", "Binarizer", "QuantileTransformer"), _unchanged_columns),
    **_rule_for_each(
        ("SelectKBest", "SelectPercentile", "VarianceThreshold", "SelectFromModel"), _selector
    ),
    **_rule_for_each(("RFE", "RFECV", "SequentialFeatureSelector"), _selector),
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
