"""Readers of additive models (linear, logistic, naive Bayes, pipelines): a term for each column.

Each reader computes the terms that its estimator's `predict` adds up, without adding them up. An
estimator is recognised by its exact class, since a subclass may predict differently.

`interpret`'s explainable boosting machines look up a score for the bin of each feature, so their
`eval_terms` on the pool gives the terms. With interaction terms they are not additive in the
features, and are not read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from suffice.context.hybrids import SwapHybrids
from suffice.context.players import Players
from suffice.context.references import Pool
from suffice.engines.additive_margins import AdditiveScores, DecisionRule
from suffice.engines.evaluator import find_reader, has_patched_methods
from suffice.engines.pipeline_columns import (
    ColumnwisePipeline,
    describe_model,
    sklearn_class_name,
    split_pipeline,
)
from suffice.engines.select_engine import Unreadable, unreadable_on_error
from suffice.tables.table import Table
from suffice.typing import Counts, Reals, Values

if TYPE_CHECKING:
    from suffice.engines.text_pipeline import TextPipelineModel


_MAX_TERM_CELLS = 1 << 27
"""Most cells of the transformed pool, 1 GB of terms; beyond it the black box is used."""

_GAMS = ("ExplainableBoostingClassifier", "ExplainableBoostingRegressor")


class InputCheckSchedule:
    """Schedule of checks of a reading against the model's predictions, ever less often.

    For each kind of outcome the first, second, fourth, eighth … input is checked: a reading that
    was right for so many inputs is likely to be right for the next.
    """

    def __init__(self) -> None:
        self._inputs: dict[str, int] = {}
        self.failed = False
        """Whether a check failed, so that the model is not read for any later input."""

    def due(self, kind: str) -> bool:
        """Return whether to check this input, and count it."""
        count = self._inputs[kind] = self._inputs.get(kind, 0) + 1
        return count.bit_count() == 1


def wrong_reading(name: str, rows_predicted: int = 0) -> Unreadable:
    """Return the reason for a model whose predictions differ from those of its reading."""
    return Unreadable(f"{name} does not predict as its parameters say", rows_predicted)


@dataclass(frozen=True, eq=False)
class AdditiveModel:
    """A fitted model known to be additive, perhaps after steps that transform single columns."""

    parts: ColumnwisePipeline
    score_method: str | None
    """Name of the method whose scores a comparison of two classes compares."""
    checks: InputCheckSchedule = field(default_factory=InputCheckSchedule)

    def unchecked(self) -> AdditiveModel:
        """Return the same reading, with no check made yet."""
        return replace(self, checks=InputCheckSchedule())

    @property
    def name(self) -> str:
        """Name of the final estimator's class."""
        return describe_model(self.parts.final)

    @property
    def has_separate_probabilities(self) -> bool:
        """True if probabilities are fitted apart from the scores, as for support vectors."""
        return getattr(self.parts.final, "probability", False) is True

    def scores(self, hybrids: SwapHybrids) -> AdditiveScores:
        """Return the terms of the pool's rows, by player."""
        return self.scores_of_rows(hybrids.pool, hybrids.players)

    def scores_of_rows(self, rows: Table, players: Players) -> AdditiveScores:
        """Return the terms of the rows of a table, by player."""
        final = self.parts.final
        player = players.of_column[self.parts.owner]
        reason = f"{self.name} keeps its parameters in a form that suffice does not know"
        with unreadable_on_error(reason), np.errstate(all="ignore"):
            if _is_gam(final):
                return _read_gam(final, self.parts.seen(rows).native, player, len(players))
            seen = rows.apply_by_row(self._matrix) if isinstance(rows, Pool) else self._matrix(rows)
            return _read_terms(final, seen, player, len(players))

    def _matrix(self, rows: Table) -> Values:
        """Return rows as the final estimator gets them, as numbers in their own precision."""
        values = np.asarray(self.parts.seen(rows).native)
        return values if values.dtype.kind in "fiub" else values.astype(np.float64)


class SupportsAdditiveScores(Protocol):
    """Protocol of a model as the additive engine needs it."""

    @property
    def name(self) -> str:
        """The model's name in sentences."""
        ...

    @property
    def score_method(self) -> str | None:
        """Name of the method whose scores a comparison of two classes compares."""
        ...

    @property
    def has_separate_probabilities(self) -> bool:
        """True if probabilities are fitted apart from the scores, as for support vectors."""
        ...

    @property
    def checks(self) -> InputCheckSchedule:
        """The schedule of checks of the reading against the model."""
        ...

    def scores(self, hybrids: SwapHybrids) -> AdditiveScores:
        """Return the terms of the pool's rows, by player."""
        ...


@runtime_checkable
class TextCellModel(Protocol):
    """Protocol of a text model that predicts rows of cells, which it joins into texts."""

    @property
    def of_texts(self) -> Any:
        """The user's own model."""
        ...

    @property
    def gaps(self) -> Sequence[str]:
        """The separators before the first cell, between two, and after the last."""
        ...

    @property
    def seen(self) -> Sequence[int]:
        """The cells that are columns of the table; the other cells are constant in all its rows."""
        ...


def read_additive(model: Any, columns: tuple[str, ...]) -> AdditiveModel | TextPipelineModel:
    """Read a fitted model as a sum of terms; `Unreadable` gives the reason why it is not read.

    `columns` are the names of the table's columns, which pipelines need.
    """
    if isinstance(model, TextCellModel):
        from suffice.engines.text_pipeline import read_text_pipeline

        return read_text_pipeline(model)
    parts = split_pipeline(model, columns)
    if not (_is_gam(parts.final) or _reader_of(parts.final)):
        raise Unreadable(f"{describe_model(parts.final)} is not known to be additive")
    asked = (m for m in ("predict_proba", "decision_function") if hasattr(model, m))
    return AdditiveModel(parts, next(asked, None))


class LinearWeights(NamedTuple):
    """Weights of a linear model or naive Bayes, whose scores are weighted sums of columns."""

    weights: Reals
    """(K, columns)"""
    base: Reals
    decision: DecisionRule
    dtypes: tuple[Any, ...]


_WEIGHTED_NAIVE_BAYES = ("MultinomialNB", "ComplementNB", "BernoulliNB")


def read_weights(final: Any, columns: int) -> LinearWeights:
    """Return the weights of an estimator; `Unreadable` if its scores are no weighted sums."""
    name = sklearn_class_name(final)
    linear = name in _CLASSIFIERS.split() or name in _REGRESSORS.split()
    if not (linear or name in _WEIGHTED_NAIVE_BAYES):
        raise Unreadable(f"{describe_model(final)} is not known to be additive")
    reading = _READERS[name](final, np.ones((1, columns)))  # a term is a weight where x is 1
    weights = np.stack([terms[0] for terms, _ in reading.terms])
    base = np.asarray(reading.base, dtype=np.float64)
    return LinearWeights(weights, base, reading.decision, reading.dtypes)


def _reader_of(final: Any) -> _Reader | None:
    return _READERS.get(sklearn_class_name(final)) or find_reader("additive", final)


def _is_gam(model: Any) -> bool:
    kind = type(model)
    known = kind.__module__.startswith("interpret.") and kind.__name__ in _GAMS
    return known and not has_patched_methods(model)


class AdditiveReading(NamedTuple):
    """Terms, base and decision rule of an additive model. The terms are produced score by score, so
    that the terms of many classes are never in memory together."""

    terms: Iterator[tuple[Reals, Reals | None]]
    """For each score, (rows, columns) of terms; and of the sizes of the numbers that the model adds
    up, where these are larger than the terms."""
    base: Reals
    """(K,): the constant of each score."""
    decision: DecisionRule
    """How `predict` uses the scores: see `AdditiveScores`."""
    dtypes: tuple[Any, ...] = ()
    """Dtypes of the fitted parameters, from which the model's precision follows; (): float64."""
    extra: int = 0
    """Operations in addition to one product and one sum per column."""
    base_size: Reals | None = None
    """Sum of the sizes of the numbers that the base is the sum of; None: the base's own size."""


def _read_terms(final: Any, seen: Values, player: Counts, d: int) -> AdditiveScores:
    """Return the scores of the rows that an estimator is given; `player` is the player of each
    column."""
    name, read = describe_model(final), _reader_of(final)
    assert read is not None
    rows, columns = seen.shape
    if rows * columns > _MAX_TERM_CELLS:
        raise Unreadable(f"{rows:,} rows of {columns:,} columns before {name} need too much memory")
    reading = read(final, seen.astype(np.float64))
    base = np.asarray(reading.base, dtype=np.float64)
    base_size = np.abs(base) if reading.base_size is None else reading.base_size
    belongs = (player[:, None] == np.arange(d)).astype(np.float64)
    terms, mass = [], []
    for values, sizes in reading.terms:
        size = np.abs(values if sizes is None else sizes).sum(axis=1)
        if not np.isfinite(size).all():
            raise Unreadable(f"the terms of {name} are not all finite on these rows")
        terms.append(values @ belongs)
        mass.append(size)
    return AdditiveScores(
        np.stack(terms),
        np.stack(mass) + base_size[:, None],
        base,
        reading.decision,
        2 * columns + reading.extra,
        coarsest_eps(seen.dtype, *reading.dtypes),
    )


def _read_gam(model: Any, rows: Any, player: Counts, d: int) -> AdditiveScores:
    """Return the scores of rows by an explainable boosting machine; `player` is the player of each
    of its columns."""
    if any(len(features) > 1 for features in model.term_features_):
        raise Unreadable(f"{type(model).__name__} has interactions: fit it with interactions=0")
    if model.link_ not in ("logit", "mlogit", "identity"):
        raise Unreadable(f"{type(model).__name__} has the link {model.link_!r}, which is not read")
    scores = np.asarray(model.eval_terms(rows), dtype=np.float64)
    scores = scores[..., None] if scores.ndim == 2 else scores  # (rows, terms, K)
    of_term = player[[features[0] for features in model.term_features_]]
    belongs = (of_term[:, None] == np.arange(d)).astype(np.float64)
    base = np.broadcast_to(np.ravel(model.intercept_), scores.shape[2]).astype(np.float64)
    decision: DecisionRule = "value"
    if hasattr(model, "classes_"):
        decision = "sign" if len(base) == 1 else "argmax"
    return AdditiveScores(
        np.einsum("rtk,td->krd", scores, belongs),
        np.abs(scores).sum(axis=1).T + np.abs(base)[:, None],
        base,
        decision,
        2 * scores.shape[1],
        float(np.finfo(np.float64).eps),
    )


def coarsest_eps(*dtypes: Any) -> float:
    """Return the machine epsilon of the least precise of these dtypes and float64."""
    floats = [np.dtype(t) for t in dtypes if np.dtype(t).kind == "f"]
    return max(float(np.finfo(t).eps) for t in (*floats, np.dtype(np.float64)))


def _weighted_terms(weights: Reals, X: Reals) -> Iterator[tuple[Reals, Reals | None]]:
    return ((X * row, None) for row in weights)


def _linear_parameters(model: Any) -> tuple[Reals, Reals, tuple[Any, ...]]:
    weights = np.asarray(model.coef_)
    base = np.asarray(model.intercept_)
    dtypes = (weights.dtype, base.dtype)
    weights = np.atleast_2d(weights).astype(np.float64)
    return weights, np.broadcast_to(base.ravel(), len(weights)).astype(np.float64), dtypes


def _linear_classifier(model: Any, X: Reals) -> AdditiveReading:
    weights, base, dtypes = _linear_parameters(model)
    decision: DecisionRule = "sign" if len(weights) == 1 else "argmax"
    return AdditiveReading(_weighted_terms(weights, X), base, decision, dtypes)


def _linear_regressor(model: Any, X: Reals) -> AdditiveReading:
    weights, base, dtypes = _linear_parameters(model)
    if len(weights) > 1:
        raise Unreadable(f"{type(model).__name__} predicts several values")
    return AdditiveReading(_weighted_terms(weights, X), base, "value", dtypes)


def _support_vectors(model: Any, X: Reals) -> AdditiveReading:
    """Read support vectors with a linear kernel; the model sums over them, so it rounds more."""
    regression = type(model).__name__ in ("SVR", "NuSVR")
    if model.kernel != "linear":
        raise Unreadable(f"{type(model).__name__} with kernel={model.kernel!r} is not additive")
    if not regression and len(model.classes_) > 2:
        raise Unreadable(f"{type(model).__name__} lets pairs of its classes vote")
    if hasattr(model.dual_coef_, "toarray"):
        raise Unreadable(f"{type(model).__name__} was fitted on a sparse matrix")
    weights = model.dual_coef_ @ model.support_vectors_
    sizes = np.abs(model.dual_coef_) @ np.abs(model.support_vectors_)
    terms = iter([(X * weights[0], np.abs(X) * sizes[0])])
    decision: DecisionRule = "value" if regression else "sign"
    base = np.asarray(model.intercept_, dtype=np.float64)
    return AdditiveReading(terms, base, decision, (), 2 * len(model.support_vectors_))


def _gaussian_nb(model: Any, X: Reals) -> AdditiveReading:
    def terms() -> Iterator[tuple[Reals, Reals | None]]:
        for mean, variance in zip(model.theta_, model.var_, strict=True):
            yield -0.5 * (X - mean) ** 2 / variance, None

    prior = np.log(model.class_prior_)
    spread = np.array([-0.5 * np.sum(np.log(2.0 * np.pi * row)) for row in model.var_])
    dtypes = (model.theta_.dtype, model.var_.dtype, model.class_prior_.dtype)
    size = np.abs(prior) + np.abs(spread)
    return AdditiveReading(terms(), prior + spread, "argmax", dtypes, 2 * X.shape[1] + 8, size)


def _bernoulli_nb(model: Any, X: Reals) -> AdditiveReading:
    if model.binarize is not None:
        X = np.greater(X, model.binarize).astype(np.float64)
    absent = np.log(1 - np.exp(model.feature_log_prob_))
    base = model.class_log_prior_ + absent.sum(axis=1)
    weights = model.feature_log_prob_ - absent
    return AdditiveReading(_weighted_terms(weights, X), base, "argmax", (weights.dtype, base.dtype))


def _multinomial_nb(model: Any, X: Reals) -> AdditiveReading:
    weights = model.feature_log_prob_
    # Complement naive Bayes leaves the prior out, except for a single class.
    prior = type(model).__name__ == "MultinomialNB" or len(weights) == 1
    base = model.class_log_prior_ if prior else np.zeros(len(weights))
    return AdditiveReading(_weighted_terms(weights, X), base, "argmax", (weights.dtype, base.dtype))


def _categorical_nb(model: Any, X: Reals) -> AdditiveReading:
    def terms() -> Iterator[tuple[Reals, Reals | None]]:
        cells = X.astype(np.int64)
        for k in range(len(model.classes_)):
            tables = [table[k] for table in model.feature_log_prob_]
            yield np.stack([t[cells[:, j]] for j, t in enumerate(tables)], axis=1), None

    return AdditiveReading(terms(), model.class_log_prior_, "argmax", ())


_Reader = Callable[[Any, Reals], AdditiveReading]

_CLASSIFIERS = (
    "LogisticRegression LogisticRegressionCV LinearSVC SGDClassifier RidgeClassifier "
    "RidgeClassifierCV Perceptron PassiveAggressiveClassifier LinearDiscriminantAnalysis"
)
_REGRESSORS = (
    "LinearRegression Ridge RidgeCV Lasso LassoCV ElasticNet ElasticNetCV Lars LarsCV LassoLars "
    "LassoLarsCV LassoLarsIC OrthogonalMatchingPursuit OrthogonalMatchingPursuitCV BayesianRidge "
    "ARDRegression HuberRegressor TheilSenRegressor QuantileRegressor LinearSVR SGDRegressor "
    "PassiveAggressiveRegressor"
)
_READERS: dict[str, _Reader] = {
    **dict.fromkeys(_CLASSIFIERS.split(), _linear_classifier),
    **dict.fromkeys(_REGRESSORS.split(), _linear_regressor),
    **dict.fromkeys(("SVC", "NuSVC", "SVR", "NuSVR"), _support_vectors),
    "GaussianNB": _gaussian_nb,
    "BernoulliNB": _bernoulli_nb,
    "MultinomialNB": _multinomial_nb,
    "ComplementNB": _multinomial_nb,
    "CategoricalNB": _categorical_nb,
}
